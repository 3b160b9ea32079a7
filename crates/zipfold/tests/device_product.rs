//! Networks with joins on a device against the host alone.

use zipfold::Overrides;
use zipfold::devices::{Runtime, Wanted, Which};
use zipfold::network::{Inferred, Settings, infer};
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Task};
use zipfold_core::{Precision, Random};

/// A ring of variables with some chords, so that joins are products of matrices and of more tables.
fn network(random: &mut Random, variables: usize, wild: bool) -> Network {
    let cards: Vec<usize> = (0..variables).map(|_| 2 + random.below(2)).collect();
    let edges = (0..variables).flat_map(|v| {
        [
            (v, (v + 1) % variables),
            (v, (v + 3) % variables),
            (v, (v + variables / 2) % variables),
        ]
    });
    let mut factors: Vec<Factor> = vec![];
    for (a, b) in edges.collect::<Vec<_>>() {
        if a != b {
            let entry = |random: &mut Random| match random.below(7) {
                0 if random.below(3) == 0 => 0.0,
                _ if wild => (random.unit() * 1200.0 - 600.0).exp2(),
                _ => random.unit() + 0.01,
            };
            let values = (0..cards[a] * cards[b]).map(|_| entry(random)).collect();
            factors.push(Factor::new(vec![a, b], values, &cards).unwrap());
        }
    }
    Network::new(Kind::Markov, cards, factors).unwrap()
}

fn ask(
    network: &Network,
    task: &Task,
    overrides: &[(&str, &str)],
    settings: &Settings,
) -> Inferred {
    let overrides = Overrides::read(overrides.iter().copied()).unwrap();
    infer(
        network,
        &Evidence::none(),
        task,
        &Settings {
            overrides,
            ..settings.clone()
        },
    )
    .unwrap()
}

fn close(a: f64, b: f64, within: f64) -> bool {
    a == b || (a - b).abs() <= within * (1.0 + b.abs())
}

fn compare(got: &Answer, want: &Answer, within: f64, what: &str) {
    let all = |a: &[f64], b: &[f64]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(*a, *b, within))
    };
    let same = match (got, want) {
        (Answer::Pr(a), Answer::Pr(b)) => close(*a, *b, within),
        (Answer::Mar(a, x), Answer::Mar(b, y)) => {
            close(*a, *b, within) && all(&x.concat(), &y.concat())
        }
        (Answer::Map(a, x), Answer::Map(b, y)) => close(*a, *b, within) && x == y,
        (Answer::Mmap(a, x), Answer::Mmap(b, y)) => close(*a, *b, within) && x == y,
        (Answer::Sum(_, x, a), Answer::Sum(_, y, b)) => {
            let scaled: Vec<f64> = x.iter().map(|v| v * 10f64.powf(a - b)).collect();
            all(&scaled, y)
        }
        (Answer::Samples(a, x), Answer::Samples(b, y)) => {
            close(*a, *b, within) && x.len() == y.len()
        }
        (Answer::Impossible, Answer::Impossible) => true,
        _ => false,
    };
    assert!(same, "{what}: got {got:?}, expected {want:?}");
}

#[test]
#[ignore = "needs opencl"]
fn every_task_has_the_answer_of_the_host() {
    let mut random = Random::new(4);
    let host = Settings {
        device: Wanted::Cpu,
        ..Settings::default()
    };
    let mut joined = 0;
    for round in 0..6 {
        let network = network(&mut random, 8 + round, round % 3 == 2);
        let kept = vec![1, 4];
        let tasks = [
            Task::Pr,
            Task::Mar,
            Task::Map,
            Task::Sum(kept.clone()),
            Task::Mmap(kept),
            Task::Samples(3),
        ];
        for task in tasks {
            for (precision, within) in [(Precision::F64, 1e-12), (Precision::F32, 1e-4)] {
                if precision == Precision::F32 && matches!(task, Task::Map | Task::Mmap(_)) {
                    continue;
                }
                let host = Settings {
                    precision,
                    ..host.clone()
                };
                let beside = Settings {
                    device: Wanted::Devices(Runtime::OpenCl, Which::one(0)),
                    ..host.clone()
                };
                let want = ask(&network, &task, &[], &host);
                let got = ask(&network, &task, &[("product.joins", "all")], &beside);
                compare(
                    &got.answer,
                    &want.answer,
                    within,
                    &format!("round {round} {task:?} {precision:?}"),
                );
                assert!(
                    want.device.is_none() && got.warnings.is_empty(),
                    "{:?}",
                    got.warnings
                );
                assert!(
                    got.device.is_some()
                        || got.plan.whole().is_none()
                        || matches!(task, Task::Mmap(_)),
                    "{task:?}"
                );
                joined += usize::from(got.device.is_some());
            }
        }
    }
    assert!(joined > 40, "{joined} of 60 had joins on the device");
}

#[test]
#[ignore = "needs opencl"]
fn slices_on_a_device_have_the_answer_of_the_host() {
    const SIDE: usize = 8;
    let mut random = Random::new(7);
    let cards = vec![2; SIDE * SIDE];
    let edges = (0..SIDE * SIDE).flat_map(|at| {
        let (row, column) = (at / SIDE, at % SIDE);
        [
            (at, row * SIDE + (column + 1) % SIDE),
            (at, (row + 1) % SIDE * SIDE + column),
        ]
    });
    let table = |(a, b)| {
        Factor::new(
            vec![a, b],
            (0..4).map(|_| random.unit() + 0.1).collect(),
            &cards,
        )
        .unwrap()
    };
    let network = Network::new(Kind::Markov, cards.clone(), edges.map(table).collect()).unwrap();
    for task in [Task::Pr, Task::Mar] {
        let host = Settings {
            device: Wanted::Cpu,
            ..Settings::default()
        };
        let want = ask(&network, &task, &[], &host);
        let memory = want.peak_bytes * 3 / 4;
        let beside = Settings {
            device: Wanted::Devices(Runtime::OpenCl, Which::one(0)),
            memory,
            ..host
        };
        let got = ask(&network, &task, &[("product.joins", "all")], &beside);
        assert!(
            got.device.is_some() && got.plan.whole().is_some_and(|p| !p.sliced.is_empty()),
            "{task:?} not sliced"
        );
        compare(
            &got.answer,
            &want.answer,
            1e-12,
            &format!("{task:?} in slices"),
        );
    }
}

#[test]
#[ignore = "needs opencl"]
fn a_device_that_fails_or_is_full_leaves_its_joins_to_the_host() {
    let mut random = Random::new(5);
    let host = Settings {
        device: Wanted::Cpu,
        ..Settings::default()
    };
    // One that simplification does not settle.
    let joined = |n: &Network| {
        ask(n, &Task::Pr, &[], &host)
            .plan
            .whole()
            .is_some_and(|p| p.nodes.iter().any(|n| n.is_join()))
    };
    let network = std::iter::repeat_with(|| network(&mut random, 16, false))
        .find(joined)
        .unwrap();
    let beside = Settings {
        device: Wanted::Devices(Runtime::OpenCl, Which::one(0)),
        ..host.clone()
    };
    for task in [Task::Pr, Task::Mar, Task::Map] {
        let want = ask(&network, &task, &[], &host);
        for launches in ["0", "1", "5"] {
            let got = ask(
                &network,
                &task,
                &[("product.joins", "all"), ("device.launches", launches)],
                &beside,
            );
            compare(
                &got.answer,
                &want.answer,
                1e-12,
                &format!("{task:?} {launches}"),
            );
            let told: Vec<String> = got.warnings.iter().map(|w| w.to_string()).collect();
            // The last one may come after all joins.
            assert!(
                told.len() == 1 || launches == "5" && told.is_empty(),
                "{task:?} {launches} {told:?} {:?} {:?}",
                got.device,
                got.plan.prediction()
            );
            assert!(
                told.iter()
                    .all(|t| t.contains("is lost") && t.contains("goes on on the host")),
                "{told:?}"
            );
        }
        let got = ask(
            &network,
            &task,
            &[("product.joins", "all"), ("device.memory", "1000")],
            &beside,
        );
        compare(
            &got.answer,
            &want.answer,
            1e-12,
            &format!("{task:?} in 1000 bytes"),
        );
        let told: Vec<String> = got.warnings.iter().map(|w| w.to_string()).collect();
        assert_eq!(
            told,
            ["opencl:0 could not take some of the joins; the host did those"]
        );
    }
}

#[test]
fn choices_of_plans_over_pairs_are_refused() {
    let mut random = Random::new(6);
    let network = network(&mut random, 6, false);
    let overrides = Overrides::read([("prune", "on")]).unwrap();
    let e = infer(
        &network,
        &Evidence::none(),
        &Task::Pr,
        &Settings {
            overrides,
            ..Settings::default()
        },
    )
    .unwrap_err();
    assert!(
        e.to_string()
            .contains("'prune=on' is a choice of plans over pairs"),
        "{e}"
    );
}

//! Networks with joins on a device against the host alone.

use zipfold::Overrides;
use zipfold::devices::{DeviceSelector, Runtime, Which};
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
        device: DeviceSelector::Cpu,
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
                    device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
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

/// A grid on a torus, of binary variables.
fn torus(side: usize) -> Network {
    let mut random = Random::new(7);
    let cards = vec![2; side * side];
    let edges = (0..side * side).flat_map(|at| {
        let (row, column) = (at / side, at % side);
        [
            (at, row * side + (column + 1) % side),
            (at, (row + 1) % side * side + column),
        ]
    });
    let table = |(a, b)| {
        let values = (0..4).map(|_| random.unit() + 0.1).collect();
        Factor::new(vec![a, b], values, &cards).unwrap()
    };
    Network::new(Kind::Markov, cards.clone(), edges.map(table).collect()).unwrap()
}

#[test]
#[ignore = "needs opencl"]
fn slices_on_a_device_have_the_answer_of_the_host() {
    let network = torus(8);
    for task in [Task::Pr, Task::Mar] {
        let host = Settings {
            device: DeviceSelector::Cpu,
            ..Settings::default()
        };
        let want = ask(&network, &task, &[], &host);
        let memory = want.peak_bytes * 3 / 4;
        let beside = Settings {
            device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
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

/// What says that this process has several devices.
const SEVERAL: &str = "ZIPFOLD_SEVERAL_DEVICES";

/// Whether this process has several devices; where it has one, `me` was run in another.
fn has_several(me: &str) -> bool {
    if std::env::var_os(SEVERAL).is_some() {
        return true;
    }
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args([me, "--exact", "--ignored", "--nocapture"])
        .envs([(SEVERAL, "1"), ("POCL_DEVICES", "basic basic pthread")])
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    false
}

#[test]
#[ignore = "needs opencl"]
fn several_devices_share_out_slices_and_change_no_bit() {
    if !has_several("several_devices_share_out_slices_and_change_no_bit") {
        return;
    }
    let network = torus(6);
    let host = Settings {
        device: DeviceSelector::Cpu,
        ..Settings::default()
    };
    let cut = ("product.slices", "8");
    let all = ("product.joins", "all");
    // Others may leave a device no slice to be lost at.
    let mut told = 0;
    for task in [
        Task::Pr,
        Task::Mar,
        Task::Map,
        Task::Sum(vec![3, 20]),
        Task::Samples(5),
    ] {
        let want = ask(&network, &task, &[cut], &host);
        assert_eq!(want.plan.whole().map(|plan| plan.slices()), Some(8));
        let on = |devices: &str| Settings {
            device: DeviceSelector::parse(devices).unwrap(),
            ..host.clone()
        };
        let one = ask(&network, &task, &[cut, all], &on("opencl:0"));
        compare(&one.answer, &want.answer, 1e-12, &format!("{task:?}"));
        for devices in ["opencl:0,1", "opencl:0,1,2"] {
            let got = ask(&network, &task, &[cut, all], &on(devices));
            assert_eq!(
                format!("{:?}", got.answer),
                format!("{:?}", one.answer),
                "{task:?} on {devices}"
            );
            assert_eq!(got.device.unwrap().device, devices);
            // Lost in the midst of slices: the others take theirs, the host those of the last.
            for (faulty, launches) in [("1", "0"), ("1", "7"), ("2", "40"), ("3", "60")] {
                let lost = [
                    cut,
                    all,
                    ("fault.devices", faulty),
                    ("fault.launches", launches),
                ];
                let got = ask(&network, &task, &lost, &on(devices));
                compare(
                    &got.answer,
                    &want.answer,
                    1e-12,
                    &format!("{task:?} {lost:?}"),
                );
                told += usize::from(!got.warnings.is_empty());
            }
        }
    }
    assert!(told > 20, "{told} of 40 runs lost a device");
}

#[test]
#[ignore = "needs opencl"]
fn a_device_that_fails_or_is_full_leaves_its_joins_to_the_host() {
    let mut random = Random::new(5);
    let host = Settings {
        device: DeviceSelector::Cpu,
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
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        ..host.clone()
    };
    for task in [Task::Pr, Task::Mar, Task::Map] {
        let want = ask(&network, &task, &[], &host);
        for launches in ["0", "1", "5"] {
            let got = ask(
                &network,
                &task,
                &[("product.joins", "all"), ("fault.launches", launches)],
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

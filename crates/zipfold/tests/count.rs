//! Counts of components: what is chosen when, beyond the width of elimination, limits, refusals.

use zipfold::internals::infer::{Inferred, Settings, Why, explain, infer};
use zipfold::internals::plan::Overrides;
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Task};
use zipfold_core::{Blame, Random, Result};

fn settings(method: &str) -> Settings {
    Settings {
        overrides: Overrides::read([("product.method", method)]).unwrap(),
        ..Settings::default()
    }
}

fn ask(network: &Network, task: &Task, settings: &Settings) -> Result<Inferred> {
    infer(network, &Evidence::none(), task, settings)
}

/// Variables of which at most one is 1, with a weight each: every pair has a table, so that no
/// order is narrower than all of them.
fn at_most_one(many: usize) -> (Network, Vec<f64>) {
    let cards = vec![2; many];
    let weights: Vec<f64> = (0..many).map(|v| 0.5 + v as f64).collect();
    let mut factors: Vec<Factor> = weights
        .iter()
        .enumerate()
        .map(|(v, w)| Factor::new(vec![v], vec![1.0, *w], &cards).unwrap())
        .collect();
    for a in 0..many {
        for b in a + 1..many {
            factors.push(Factor::new(vec![a, b], vec![1.0, 1.0, 1.0, 0.0], &cards).unwrap());
        }
    }
    (Network::new(Kind::Markov, cards, factors).unwrap(), weights)
}

#[test]
fn what_elimination_refuses_is_counted() {
    let (network, weights) = at_most_one(60);
    let z = 1.0 + weights.iter().sum::<f64>();
    let refused = ask(&network, &Task::Pr, &settings("elimination")).unwrap_err();
    assert_eq!(refused.blame(), Blame::Resource, "{refused}");
    let usual = Settings::default();
    let done = ask(&network, &Task::Pr, &usual).unwrap();
    let Answer::Pr(log10) = done.answer else {
        panic!("{:?}", done.answer)
    };
    assert!((log10 - z.log10()).abs() < 1e-12, "{log10} {z}");
    let counting = done.plan.counted().expect("a count");
    assert!(matches!(counting.why, Why::Refused(_)), "{counting:?}");
    assert!(counting.work.is_some_and(|w| w.nodes >= 59), "{counting:?}");
    let Answer::Mar(_, rows) = ask(&network, &Task::Mar, &usual).unwrap().answer else {
        panic!("no marginals")
    };
    for (row, weight) in rows.iter().zip(&weights) {
        assert!((row[1] - weight / z).abs() < 1e-12, "{row:?} {weight}");
    }
    let sum = ask(&network, &Task::Sum(vec![7, 3]), &usual)
        .unwrap()
        .answer;
    let Answer::Sum(_, values, log10) = sum else {
        panic!("{sum:?}")
    };
    let own = [z - weights[7] - weights[3], weights[3], weights[7], 0.0];
    for (value, want) in values.iter().zip(own) {
        assert!(
            (value * 10f64.powf(log10) - want).abs() < 1e-9,
            "{values:?} {own:?}"
        );
    }
    let (_, plan, _) = explain(&network, &Evidence::none(), &Task::Pr, &usual).unwrap();
    let counting = plan.counted().expect("a count");
    assert!(counting.work.is_none() && matches!(counting.why, Why::Refused(_)));
}

/// A torus of variables with couplings and no zero.
fn torus(side: usize) -> Network {
    let mut random = Random::new(6);
    let cards = vec![2; side * side];
    let mut factors = Vec::new();
    for at in 0..side * side {
        let (row, column) = (at / side, at % side);
        let beside = [
            row * side + (column + 1) % side,
            (row + 1) % side * side + column,
        ];
        for next in beside {
            let values = (0..4).map(|_| random.unit() + 0.1).collect();
            factors.push(Factor::new(vec![at, next], values, &cards).unwrap());
        }
    }
    Network::new(Kind::Markov, cards, factors).unwrap()
}

#[test]
fn a_count_that_does_not_end_says_what_is_known() {
    let (network, large) = (torus(14), torus(40));
    let short = Settings {
        time_limit: 0.3,
        ..settings("components")
    };
    let e = ask(&network, &Task::Pr, &short).unwrap_err();
    let text = e.to_string();
    assert_eq!(e.blame(), Blame::Resource, "{text}");
    assert!(
        text.contains("did not end within") && text.contains("of the sum"),
        "{text}"
    );
    // By default both refusals are told, after a part of the time limit.
    let both = Settings {
        time_limit: 2.0,
        ..Settings::default()
    };
    let text = ask(&large, &Task::Mar, &both).unwrap_err().to_string();
    assert!(
        text.contains("too wide") && text.contains("did not end"),
        "{text}"
    );
    let little = Settings {
        memory: 1 << 21,
        ..settings("components")
    };
    let text = ask(&network, &Task::Mar, &little).unwrap_err().to_string();
    assert!(text.contains("more memory"), "{text}");
}

#[test]
fn tasks_that_are_no_sum_refuse_a_count() {
    let network = torus(3);
    for task in [Task::Map, Task::Mmap(vec![0]), Task::Samples(3)] {
        let e = ask(&network, &task, &settings("components")).unwrap_err();
        assert!(e.to_string().contains("expected pr, mar or sum"), "{e}");
    }
}

#[test]
fn threads_change_no_bit_of_a_count() {
    let network = torus(5);
    let own = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let done = pool.install(|| ask(&network, &Task::Mar, &settings("components")));
        done.unwrap().answer
    };
    assert_eq!(own(1), own(3));
}

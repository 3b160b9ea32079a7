//! Tables whose products leave the range of f64 by far, against enumeration in logarithms: every
//! task, precision and method.

use zipfold::internals::plan::Overrides;
use zipfold::network::{Settings, infer};
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Task};
use zipfold_core::{Precision, Random};

/// A network of up to 7 variables whose tables share variables, with zeros and entries from 1e-290
/// to 1e290. The tables of a variable pull in opposite directions.
fn wide(random: &mut Random) -> Network {
    let n = 1 + random.below(7);
    let cards: Vec<usize> = (0..n).map(|_| 1 + random.below(3)).collect();
    let zeros = [0.0, 0.1, 0.4][random.below(3)];
    let reach = [20.0, 200.0, 290.0][random.below(3)];
    let middle = [0.0, 250.0 - reach, reach - 250.0][random.below(3)];
    let factors = (0..1 + random.below(3 * n))
        .map(|_| {
            let mut scope: Vec<usize> = (0..1 + random.below(3)).map(|_| random.below(n)).collect();
            let mut seen = std::collections::HashSet::new();
            scope.retain(|v| seen.insert(*v));
            let entries = scope.iter().map(|v| cards[*v]).product();
            let values = (0..entries).map(|_| match random.unit() < zeros {
                true => 0.0,
                false => {
                    let log10 = middle + reach * (2.0 * random.unit() - 1.0);
                    10f64.powf(log10.clamp(-300.0, 300.0))
                }
            });
            let values = values.collect();
            Factor::new(scope, values, &cards).unwrap()
        })
        .collect();
    Network::new(Kind::Markov, cards, factors).unwrap()
}

/// The natural logarithm of the product of all tables at `x`.
fn weight(network: &Network, x: &[usize]) -> f64 {
    let entry = |f: &Factor| {
        let place = |at, v: &usize| at * network.cards()[*v] + x[*v];
        f.values()[f.scope().iter().fold(0, place)].ln()
    };
    network.factors().iter().map(entry).sum()
}

fn log_sum(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + logs.iter().map(|l| (l - top).exp()).sum::<f64>().ln()
}

/// Natural logarithms of the weights of all configurations, by states of `keep`, last fastest.
fn by_states(network: &Network, keep: &[usize]) -> Vec<Vec<f64>> {
    let cards = network.cards();
    let rows = keep.iter().map(|v| cards[*v]).product();
    let mut out = vec![Vec::new(); rows];
    for mut at in 0..cards.iter().product() {
        let mut x = vec![0; cards.len()];
        for v in (0..cards.len()).rev() {
            x[v] = at % cards[v];
            at /= cards[v];
        }
        let row = keep.iter().fold(0, |at, v| at * cards[*v] + x[*v]);
        out[row].push(weight(network, &x));
    }
    out
}

/// Natural logarithms of the table over `keep`.
fn table(network: &Network, keep: &[usize]) -> Vec<f64> {
    by_states(network, keep)
        .iter()
        .map(|row| log_sum(row))
        .collect()
}

/// The row of `states` in a table over their variables.
fn row(network: &Network, states: &[(usize, usize)]) -> usize {
    states
        .iter()
        .fold(0, |at, (v, s)| at * network.cards()[*v] + s)
}

fn check(network: &Network, answer: &Answer, (task, within): (&Task, f64), what: &str) {
    let all = table(network, &[])[0];
    let near = |log10: f64, ln: f64| {
        let want = ln * std::f64::consts::LOG10_E;
        let close = log10 == want || (log10 - want).abs() <= within * (1.0 + 1e-3 * want.abs());
        assert!(close, "{what}: {log10}, want {want} for {network:?}");
    };
    match (answer, task) {
        (Answer::Impossible, _) => assert_eq!(all, f64::NEG_INFINITY, "{what}: {network:?}"),
        (Answer::Pr(z), Task::Pr) => near(*z, all),
        (Answer::Mar(z, rows), Task::Mar) => {
            near(*z, all);
            for (v, row) in rows.iter().enumerate() {
                for (got, want) in row.iter().zip(table(network, &[v])) {
                    let want = (want - all).exp();
                    let close = (got - want).abs() <= 10.0 * within;
                    assert!(close, "{what}: {got}, want {want} for {network:?}");
                }
            }
        }
        (Answer::Map(z, x), Task::Map) => {
            let logs = by_states(network, &[]).remove(0);
            near(*z, logs.into_iter().fold(f64::NEG_INFINITY, f64::max));
            near(*z, weight(network, x));
        }
        (Answer::Mmap(z, states), Task::Mmap(keep)) => {
            let sums = table(network, keep);
            near(*z, sums.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            near(*z, sums[row(network, states)]);
        }
        (Answer::Sum(_, values, scale), Task::Sum(keep)) => {
            let sums = table(network, keep);
            let top = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for (got, want) in values.iter().zip(&sums) {
                assert!(got.is_finite(), "{what}: {values:?} for {network:?}");
                // What is further below the largest entry has no f64 of all digits.
                if *want == f64::NEG_INFINITY {
                    assert_eq!(*got, 0.0, "{what}: {values:?} for {network:?}");
                } else if top - want < 600.0 {
                    near(got.log10() + scale, *want);
                }
            }
        }
        (Answer::Samples(z, samples), Task::Samples(many)) => {
            near(*z, all);
            assert_eq!(samples.len(), *many);
            for x in samples {
                assert!(weight(network, x).is_finite(), "{what}: {x:?}");
            }
        }
        (other, _) => panic!("{what}: {other:?}"),
    }
}

#[test]
fn products_beyond_f64_are_those_of_logarithms() {
    let mut random = Random::new(20_261_127);
    let methods = ["elimination", "search", "components"];
    for round in 0..600 {
        let net = wide(&mut random);
        let mut keep: Vec<usize> = (0..net.cards().len()).collect();
        keep.retain(|_| random.below(2) == 0);
        if round % 2 == 0 {
            keep.reverse();
        }
        let tasks = [
            Task::Pr,
            Task::Mar,
            Task::Map,
            Task::Mmap(keep.clone()),
            Task::Sum(keep),
            Task::Samples(3),
        ];
        for (task, method) in tasks.iter().flat_map(|t| methods.map(|m| (t, m))) {
            for (precision, within) in [(Precision::F64, 1e-10), (Precision::F32, 1e-4)] {
                let settings = Settings {
                    precision,
                    overrides: Overrides::read([("product.method", method)]).unwrap(),
                    ..Settings::default()
                };
                let what = format!("round {round}, {task:?}, {method}, {precision:?}");
                match infer(&net, &Evidence::none(), task, &settings) {
                    Ok(done) => check(&net, &done.answer, (task, within), &what),
                    // Not every method has every task.
                    Err(e) => assert!(e.to_string().contains("product.method"), "{what}: {e}"),
                }
            }
        }
    }
}

/// Sums of two components that support opposite states differ by more than f64 holds, though every
/// entry is mild.
#[test]
fn long_chains_that_disagree_have_a_marginal_map() {
    let steps = 2000;
    let cards = vec![2; 1 + 2 * steps];
    let mut factors = vec![Factor::new(vec![0], vec![0.5, 0.5], &cards).unwrap()];
    for (chain, good) in [(0, [0.9, 0.1]), (1, [0.1, 0.9])] {
        for step in 0..steps {
            let at = 1 + chain * steps + step;
            let mut values: Vec<f64> = good.iter().flat_map(|g| [0.6 * g, 0.4 * g]).collect();
            let mut scope = vec![0, at];
            if step > 0 {
                scope = vec![0, at - 1, at];
                values = good
                    .iter()
                    .flat_map(|g| [0.7 * g, 0.3 * g, 0.3 * g, 0.7 * g])
                    .collect();
            }
            factors.push(Factor::new(scope, values, &cards).unwrap());
        }
    }
    let net = Network::new(Kind::Markov, cards, factors).unwrap();
    let want = 0.5f64.log10() + steps as f64 * (0.9f64.log10() + 0.1f64.log10());
    for precision in [Precision::F64, Precision::F32] {
        let settings = Settings {
            precision,
            ..Settings::default()
        };
        let task = Task::Mmap(vec![0]);
        let done = infer(&net, &Evidence::none(), &task, &settings).unwrap();
        let Answer::Mmap(log10, _) = done.answer else {
            panic!("{:?}", done.answer)
        };
        let within = match precision {
            Precision::F64 => 1e-9,
            Precision::F32 => 1e-3,
        };
        assert!((log10 - want).abs() <= within * 1e3, "{log10} {want}");
    }
}

/// A sum that is barren and has no f64.
#[test]
fn sums_of_entries_near_the_end_of_f64() {
    let entries = vec![1e308, 1e308, 1.5e308];
    let net = Factor::new(vec![0], entries, &[3]).unwrap();
    let net = Network::new(Kind::Markov, vec![3], vec![net]).unwrap();
    for method in ["elimination", "search", "components"] {
        let settings = Settings {
            overrides: Overrides::read([("product.method", method)]).unwrap(),
            ..Settings::default()
        };
        let done = infer(&net, &Evidence::none(), &Task::Pr, &settings).unwrap();
        let Answer::Pr(log10) = done.answer else {
            panic!("{:?}", done.answer)
        };
        assert!((log10 - 308.0 - 3.5f64.log10()).abs() < 1e-12, "{log10}");
    }
}

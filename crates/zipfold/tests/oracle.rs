//! Random networks against enumeration: every task, with zeros, evidence, one-state variables,
//! repeated scopes and slices.

use zipfold::internals::plan::Overrides;
use zipfold::internals::product::plan::Grouping;
use zipfold::network::{Planned, explain};
use zipfold::network::{Settings, infer};
use zipfold_core::Random;
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Oracle, Task};

/// A random network of up to `most` variables whose configurations can be enumerated.
fn network(random: &mut Random, most: usize, binary: bool) -> Network {
    let n = 1 + random.below(most);
    let mut total = 1usize;
    let cards: Vec<usize> = (0..n)
        .map(|_| {
            let c = if binary { 2 } else { 1 + random.below(4) };
            let c = if total * c > 1 << 14 { 1 } else { c };
            total *= c;
            c
        })
        .collect();
    let zeros = [0.0, 0.0, 0.2, 0.5][random.below(4)];
    let wild = random.below(5) == 0;
    let factors = (0..random.below(2 * n) + 1)
        .map(|_| {
            let mut scope: Vec<usize> = (0..random.below(5)).map(|_| random.below(n)).collect();
            let mut seen = std::collections::HashSet::new();
            scope.retain(|v| seen.insert(*v));
            let entries = scope.iter().map(|v| cards[*v]).product();
            // Some tables tie two variables one to one.
            let tied = zeros > 0.0
                && !wild
                && scope.len() > 1
                && cards[scope[0]] == cards[scope[1]]
                && (scope[0] + 5 * scope[1] + n).is_multiple_of(3);
            let turn = scope.first().map_or(0, |v| v + n);
            let value = |r: &mut Random| match r.unit() < zeros {
                true => 0.0,
                false if wild => (r.unit() * 60.0 - 30.0).exp2().powi(12),
                false => r.unit() + 0.01,
            };
            let inner: usize = scope.iter().skip(2).map(|v| cards[*v]).product();
            let apart =
                |at: usize, card: usize| (at / inner / card + turn) % card != at / inner % card;
            let values = (0..entries).map(|at| {
                let own = value(random);
                if tied && apart(at, cards[scope[1]]) {
                    0.0
                } else {
                    own
                }
            });
            let values = values.collect();
            Factor::new(scope, values, &cards).unwrap()
        })
        .collect();
    Network::new(Kind::Markov, cards, factors).unwrap()
}

fn evidence(random: &mut Random, network: &Network) -> Evidence {
    let mut out = Evidence::none();
    for (v, c) in network.cards().iter().enumerate() {
        if random.below(6) == 0 {
            out.add(v, random.below(*c), network.cards()).unwrap();
        }
    }
    out
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance
}

fn compare(got: &Answer, want: &Answer, tolerance: f64, network: &Network, what: &str) {
    let same = match (got, want) {
        (Answer::Impossible, Answer::Impossible) => true,
        (Answer::Pr(a), Answer::Pr(b)) => near(*a, *b, tolerance),
        (Answer::Mar(a, x), Answer::Mar(b, y)) => {
            near(*a, *b, tolerance)
                && x.iter()
                    .flatten()
                    .zip(y.iter().flatten())
                    .all(|(p, q)| near(*p, *q, tolerance))
        }
        (Answer::Map(a, x), Answer::Map(b, _)) => {
            let none = Evidence::none();
            near(*a, *b, tolerance)
                && near(
                    Oracle::new(network, &none).unwrap().weight(x).log10(),
                    *b,
                    10.0 * tolerance,
                )
        }
        (Answer::Mmap(a, _), Answer::Mmap(b, _)) => near(*a, *b, tolerance),
        (Answer::Sum(_, x, s), Answer::Sum(_, y, _)) => {
            let scale = 10f64.powf(*s);
            let top = y.iter().copied().fold(0.0, f64::max);
            x.len() == y.len()
                && (!top.is_finite()
                    || !scale.is_finite()
                    || scale == 0.0
                    || x.iter()
                        .zip(y)
                        .all(|(p, q)| near(p * scale / top, q / top, 1e3 * tolerance)))
        }
        (Answer::Impossible, Answer::Sum(_, y, _)) => y.iter().all(|v| *v == 0.0),
        _ => false,
    };
    assert!(same, "{what}: got {got:?}, want {want:?} for {network:?}");
}

#[test]
fn every_task_agrees_with_enumeration() {
    let mut random = Random::new(20_261_121);
    let mut components = 0;
    for round in 0..1500 {
        let net = network(&mut random, 14, false);
        let seen = evidence(&mut random, &net);
        let oracle = Oracle::new(&net, &seen).unwrap();
        let mut asked: Vec<usize> = (0..net.cards().len()).collect();
        asked.retain(|_| random.below(3) == 0);
        if round % 2 == 0 {
            asked.reverse();
        }
        if oracle
            .table(&[])
            .iter()
            .any(|z| !z.is_finite() || (*z > 0.0 && *z < 1e-250))
        {
            continue;
        }
        for task in [
            Task::Pr,
            Task::Mar,
            Task::Map,
            Task::Sum(asked.clone()),
            Task::Mmap(asked.clone()),
        ] {
            let settings = Settings {
                order_seconds: (round % 3 == 0).then_some(0.002),
                ..Settings::default()
            };
            let got = infer(&net, &seen, &task, &settings).unwrap().answer;
            let what = format!("round {round}, {task:?}, {seen:?}");
            let want = oracle.answer(&task);
            compare(&got, &want, 1e-11, &net, &what);
            if matches!(task, Task::Pr | Task::Mar | Task::Sum(_)) {
                let settings = Settings {
                    overrides: Overrides::read([("product.method", "components")]).unwrap(),
                    ..settings
                };
                let counted = infer(&net, &seen, &task, &settings).unwrap();
                compare(&counted.answer, &want, 1e-11, &net, &what);
                let counting = counted.plan.counted().expect("a count");
                components += counting.work.expect("it ran").nodes;
            }
        }
    }
    assert!(components > 5000, "{components} components");
}

#[test]
fn bare_tables_over_any_semiring() {
    use zipfold::internals::contract::{contract_maxima, contract_minima, contract_sums};
    use zipfold::network::{contract, contract_logs};
    use zipfold_core::factor::{LogSumExp, MaxProduct, MinSum, OrAnd, SumProduct};
    let mut random = Random::new(77);
    for round in 0..200 {
        let net = network(&mut random, 8, false);
        let tables: Vec<(Vec<usize>, Vec<f64>)> = net
            .factors()
            .iter()
            .map(|f| {
                (
                    f.scope().to_vec(),
                    f.values()
                        .iter()
                        .map(|v| if *v == 0.0 { 0.0 } else { v.clamp(1e-3, 1e3) })
                        .collect(),
                )
            })
            .collect();
        let factors = tables
            .iter()
            .map(|(s, v)| Factor::new(s.clone(), v.clone(), net.cards()).unwrap())
            .collect();
        let net = Network::new(Kind::Markov, net.cards().to_vec(), factors).unwrap();
        let mut keep: Vec<usize> = (0..net.cards().len())
            .filter(|_| random.below(3) == 0)
            .collect();
        keep.reverse();
        let settings = Settings::default();
        let none = Evidence::none();
        let want = Oracle::new(&net, &none).unwrap().table(&keep);
        let sums = contract(&SumProduct, net.cards(), &tables, &keep, &settings).unwrap();
        let logs: Vec<(Vec<usize>, Vec<f64>)> = tables
            .iter()
            .map(|(s, v)| (s.clone(), v.iter().map(|x| x.ln()).collect()))
            .collect();
        let summed = contract(&LogSumExp, net.cards(), &logs, &keep, &settings).unwrap();
        let fast = contract_logs(net.cards(), &logs, &keep, &settings).unwrap();
        let same = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= 1e-11 * (1.0 + b.abs());
        assert!(
            fast.len() == summed.len() && fast.iter().zip(&summed).all(same),
            "round {round}: {fast:?} {summed:?}"
        );
        let best = contract(&MaxProduct, net.cards(), &tables, &keep, &settings).unwrap();
        let costs: Vec<(Vec<usize>, Vec<f64>)> = logs
            .iter()
            .map(|(s, v)| (s.clone(), v.iter().map(|x| -x).collect()))
            .collect();
        let least = contract(&MinSum, net.cards(), &costs, &keep, &settings).unwrap();
        let near = |a: &[f64], b: &[f64], what: &str| {
            let same = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= 1e-12 * b.abs().max(1.0);
            let all = a.len() == b.len() && a.iter().zip(b).all(same);
            assert!(all, "round {round}, {what}: {a:?} {b:?}");
        };
        let relative = |a: &[f64]| {
            a.iter()
                .zip(&want)
                .map(|(a, w)| if *w > 0.0 { a / w } else { *a })
                .collect::<Vec<_>>()
        };
        let kernels = contract_sums(net.cards(), &tables, &keep, &settings).unwrap();
        near(&relative(&kernels), &relative(&sums), "sums");
        let kernels = contract_maxima(net.cards(), &tables, &keep, &settings).unwrap();
        near(&relative(&kernels), &relative(&best), "maxima");
        let kernels = contract_minima(net.cards(), &costs, &keep, &settings).unwrap();
        near(&kernels, &least, "minima");
        // Numbers of both signs: what cancels leaves the rounding of the terms.
        let signed: Vec<(Vec<usize>, Vec<f64>)> = tables
            .iter()
            .map(|(s, v)| {
                let sign = |x: &f64| {
                    if x.to_bits().is_multiple_of(3) {
                        -x
                    } else {
                        *x
                    }
                };
                (s.clone(), v.iter().map(sign).collect())
            })
            .collect();
        let counted = contract(&SumProduct, net.cards(), &signed, &keep, &settings).unwrap();
        let kernels = contract_sums(net.cards(), &signed, &keep, &settings).unwrap();
        near(&relative(&kernels), &relative(&counted), "signed sums");
        let bits: Vec<(Vec<usize>, Vec<bool>)> = tables
            .iter()
            .map(|(s, v)| (s.clone(), v.iter().map(|x| *x > 0.0).collect()))
            .collect();
        let some = contract(&OrAnd, net.cards(), &bits, &keep, &settings).unwrap();
        for at in 0..want.len() {
            let w = want[at];
            assert!(
                (sums[at] - w).abs() <= 1e-11 * w,
                "round {round}: {} {w}",
                sums[at]
            );
            assert!(
                w == 0.0 && summed[at] == f64::NEG_INFINITY || (summed[at] - w.ln()).abs() <= 1e-9,
                "round {round}: {} {}",
                summed[at],
                w.ln()
            );
            assert!(
                best[at] == 0.0 && least[at] == f64::INFINITY
                    || (best[at].ln() + least[at]).abs() <= 1e-9,
                "round {round}"
            );
            assert_eq!(some[at], best[at] > 0.0, "round {round}");
        }
    }
}

/// What a semiring does not have is refused, whichever way computes it.
#[test]
fn entries_that_break_the_laws_are_refused() {
    use zipfold::internals::contract::{contract_maxima, contract_minima};
    use zipfold::network::{Bare, contract, contract_logs};
    use zipfold_core::factor::{LogSumExp, MaxProduct, MinSum};
    let how = Settings::default();
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for bad in [-3.0, -1e-300, nan, inf, -inf] {
        let tables: [Bare<f64>; 2] = [(vec![0], vec![1.0, 2.0]), (vec![0], vec![1.0, bad])];
        let asked = [
            (
                contract(&MaxProduct, &[2], &tables, &[0], &how),
                contract_maxima(&[2], &tables, &[0], &how),
                true,
                "a finite number from 0",
            ),
            (
                contract(&MinSum, &[2], &tables, &[0], &how),
                contract_minima(&[2], &tables, &[0], &how),
                bad.is_nan() || bad == -inf,
                "a cost above -inf",
            ),
            (
                contract(&LogSumExp, &[2], &tables, &[0], &how),
                contract_logs(&[2], &tables, &[0], &how),
                bad.is_nan() || bad == inf,
                "the logarithm of an entry",
            ),
        ];
        for (counted, kernels, refused, expected) in asked {
            for got in [counted, kernels] {
                let Err(e) = got else {
                    assert!(!refused, "{bad}: {got:?}");
                    continue;
                };
                let e = e.to_string();
                let told = refused && e.contains("table 1") && e.contains(expected);
                assert!(told, "{bad}: {e}");
            }
        }
    }
}

/// Variables without values: the zero of each semiring, and no entries for those that are kept.
#[test]
fn folds_over_nothing_are_zeros() {
    use zipfold::internals::contract::{contract_maxima, contract_minima, contract_sums};
    use zipfold::network::{Bare, contract, contract_logs};
    use zipfold_core::factor::{LogSumExp, MaxProduct, MinSum, OrAnd, SumProduct};
    let how = Settings::default();
    let cards = [0, 3, 2];
    let inf = f64::INFINITY;
    for keep in [vec![], vec![1], vec![2, 1], vec![0], vec![2, 0]] {
        let len: usize = keep.iter().map(|v: &usize| cards[*v]).product();
        for second in [1.0, -1.0] {
            let tables: [Bare<f64>; 2] = [(vec![0, 1], vec![]), (vec![1, 2], vec![second; 6])];
            let sums = [
                contract(&SumProduct, &cards, &tables, &keep, &how),
                contract_sums(&cards, &tables, &keep, &how),
            ];
            for got in sums {
                assert_eq!(got.unwrap(), vec![0.0; len]);
            }
            let least = [
                contract(&MinSum, &cards, &tables, &keep, &how),
                contract_minima(&cards, &tables, &keep, &how),
            ];
            for got in least {
                assert_eq!(got.unwrap(), vec![inf; len]);
            }
            let logs = [
                contract(&LogSumExp, &cards, &tables, &keep, &how),
                contract_logs(&cards, &tables, &keep, &how),
            ];
            for got in logs {
                assert_eq!(got.unwrap(), vec![-inf; len]);
            }
        }
        let tables: [Bare<f64>; 2] = [(vec![0, 1], vec![]), (vec![1, 2], vec![1.0; 6])];
        let best = [
            contract(&MaxProduct, &cards, &tables, &keep, &how),
            contract_maxima(&cards, &tables, &keep, &how),
        ];
        for got in best {
            assert_eq!(got.unwrap(), vec![0.0; len]);
        }
        let truths: [Bare<bool>; 2] = [(vec![0, 1], vec![]), (vec![1, 2], vec![true; 6])];
        let some = contract(&OrAnd, &cards, &truths, &keep, &how);
        assert_eq!(some.unwrap(), vec![false; len]);
    }
}

/// A random Bayesian network of up to `most` variables, in one or more components, with
/// deterministic tables and rows without any parent; sometimes a table twice.
fn bayesian(random: &mut Random, most: usize) -> Network {
    let n = random.below(most + 1);
    let mut total = 1usize;
    let cards: Vec<usize> = (0..n)
        .map(|_| {
            let c = 1 + random.below(3);
            let c = if total * c > 1 << 13 { 1 } else { c };
            total *= c;
            c
        })
        .collect();
    let (islands, certain) = (1 + random.below(3), random.below(4));
    let mut factors = Vec::new();
    for v in 0..n {
        let mut scope: Vec<usize> = (0..v)
            .filter(|u| u % islands == v % islands && random.below(v.min(6) + 1) < 2)
            .collect();
        scope.truncate(3);
        let rows = scope.iter().map(|u| cards[*u]).product();
        scope.push(v);
        let mut values = Vec::new();
        for _ in 0..rows {
            let row: Vec<f64> = match random.below(4) < certain {
                true => {
                    let only = random.below(cards[v]);
                    (0..cards[v])
                        .map(|s| f64::from(u8::from(s == only)))
                        .collect()
                }
                false => (0..cards[v]).map(|_| random.unit() + 0.01).collect(),
            };
            let sum: f64 = row.iter().sum();
            values.extend(row.iter().map(|p| p / sum));
        }
        let table = Factor::new(scope, values, &cards).unwrap();
        if random.below(12) == 0 {
            factors.push(table.clone());
        }
        if random.below(15) > 0 {
            factors.push(table);
        }
    }
    Network::new(Kind::Markov, cards, factors).unwrap()
}

/// Marginals planned all at once and by groups, against enumeration; each variable is asked in one
/// group.
#[test]
fn groups_of_variables_answer_as_all_at_once() {
    let mut random = Random::new(20_261_124);
    let (mut split, mut impossible, mut many) = (0, 0, 0);
    for round in 0..1500 {
        let net = if round % 3 == 0 {
            network(&mut random, 12, false)
        } else {
            bayesian(&mut random, 12)
        };
        let seen = if round % 4 == 0 {
            Evidence::none()
        } else {
            evidence(&mut random, &net)
        };
        let oracle = Oracle::new(&net, &seen).unwrap();
        if oracle
            .table(&[])
            .iter()
            .any(|z| !z.is_finite() || (*z > 0.0 && *z < 1e-250))
        {
            continue;
        }
        let want = oracle.answer(&Task::Mar);
        impossible += usize::from(want == Answer::Impossible);
        for grouping in [Grouping::Joint, Grouping::Split, Grouping::Auto] {
            let settings = Settings {
                grouping,
                ..Settings::default()
            };
            let done = infer(&net, &seen, &Task::Mar, &settings).unwrap();
            compare(
                &done.answer,
                &want,
                1e-12,
                &net,
                &format!("round {round}, {grouping:?}, {seen:?}"),
            );
            let (reduced, planned, _) = explain(&net, &seen, &Task::Mar, &settings).unwrap();
            assert_eq!(planned.plans().len(), done.plan.plans().len());
            let Planned::Groups(groups) = planned else {
                assert!(
                    grouping != Grouping::Split || done.plan.plans().is_empty(),
                    "round {round}: {reduced:?}"
                );
                continue;
            };
            assert_eq!(
                grouping,
                Grouping::Split,
                "a plan of microseconds is not split"
            );
            let mut asked: Vec<usize> = groups
                .groups
                .iter()
                .flat_map(|g| g.asked.iter().copied())
                .collect();
            asked.sort_unstable();
            assert_eq!(
                asked,
                (0..reduced.cards.len()).collect::<Vec<_>>(),
                "round {round}"
            );
            split += 1;
            many += usize::from(groups.groups.len() > 1);
        }
    }
    assert!(
        split > 800 && many > 400 && impossible > 50,
        "{split} split, {many} in several groups, {impossible} impossible"
    );
}

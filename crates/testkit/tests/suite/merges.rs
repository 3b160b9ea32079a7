//! Sums merge in any order: tiles that are dealt out to shares at random, shares that are merged in
//! trees at random, have the bits of one run.

use zipfold::internals::cpu::pairs::load;
use zipfold::internals::identity::Identity;
use zipfold::internals::partial::{Partial, decode, encode};
use zipfold::internals::plan::executor::Nowhere;
use zipfold::internals::plan::{Plan, Stop, Tile, choose, parts};
use zipfold_core::fold::rows::{ReduceAxis, sum_of_lanes};
use zipfold_core::fold::{BLOCK, ReduceOp, State};
use zipfold_core::oracle::{self, PairValues};
use zipfold_core::problem::{FoldSpec, Input, NanPolicy};
use zipfold_core::{Data, Domain, Job, Precision, Problem, Result, Table, describe};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{Numbers, difference, of_state, same};
use zipfold_testkit::runner::{isas, numbers, plain};

/// One number, and several.
const VALUES: [&str; 2] = ["exp(-sum(abs(x - y))) * cos(sum((x - y)^2))", "abs(x - y)"];

/// Every operation along every axis, with weights of one column and of several.
fn folds(value: &str) -> Vec<(FoldSpec, usize)> {
    use ReduceOp::{Argmin, Count, Logsumexp, Max, Mean, Softmax, Sum};
    let ops: &[(ReduceOp, usize)] = match value == VALUES[1] {
        true => &[(Sum, 0), (Mean, 0), (Sum, 1), (Mean, 2)],
        false => &[
            (Sum, 0),
            (Mean, 0),
            (Sum, 1),
            (Sum, 3),
            (Mean, 2),
            (Logsumexp, 0),
            (Logsumexp, 1),
            (Softmax, 2),
            (Max, 0),
            (Argmin, 0),
            (Count, 0),
        ],
    };
    let axes = [ReduceAxis::Row, ReduceAxis::Column, ReduceAxis::All];
    let each = axes.into_iter().flat_map(|axis| {
        ops.iter().map(move |(op, columns)| {
            let weights = (*columns > 0).then(|| Input::named("w"));
            let fold = FoldSpec::Reduce {
                op: *op,
                axis,
                weights,
            };
            (fold, *columns)
        })
    });
    each.collect()
}

struct Asked {
    value: &'static str,
    /// Rows of x, and of y if that is another table.
    rows: (usize, Option<usize>),
    domain: Option<Domain>,
    precision: Precision,
    more: &'static str,
}

fn question(lcg: &mut Lcg, asked: &Asked) -> Option<(Problem, Job)> {
    let mut table = |rows: usize, columns: usize| {
        let items = (0..rows * columns).map(|_| lcg.between(-1.0, 1.5));
        Table::f64(rows, columns, items.collect()).unwrap()
    };
    let (n, m) = (asked.rows.0, asked.rows.1.unwrap_or(asked.rows.0));
    let keys = |rows: usize| (0..rows).map(|row| (row * row % 3) as f64).collect();
    let named = |x: Table| {
        let keys = Table::f64(x.rows(), 1, keys(x.rows())).unwrap();
        let keys = keys.with_names(vec!["kind".into()]).unwrap();
        x.with_attributes(keys).unwrap()
    };
    let (x, y) = (named(table(n, 2)), asked.rows.1.map(|m| named(table(m, 2))));
    let text = format!(
        "schema = 1\nx = {{ name = 'x' }}\npair = {{ formula = '{}' }}\nfolds = []\n{}",
        asked.value, asked.more
    );
    let problem: Problem = toml::from_str(&text).unwrap();
    let once = |fold: &FoldSpec| {
        let all = |axis: &ReduceAxis| *axis == ReduceAxis::Row;
        asked.more.is_empty() || matches!(fold, FoldSpec::Reduce { axis, .. } if all(axis))
    };
    let mut kept = vec![];
    for (fold, columns) in folds(asked.value)
        .into_iter()
        .filter(|(fold, _)| once(fold))
    {
        let weights = (columns > 0).then(|| [table(n, columns), table(m, columns)]);
        // Weights of one table are those of one side.
        let weights = weights.map(|[a, b]| match &y {
            Some(_) => [a, b],
            None => [a.clone(), a],
        });
        let alone = Problem {
            y: y.as_ref().map(|_| Input::named("y")),
            domain: asked.domain,
            precision: Some(asked.precision),
            nan: NanPolicy::Propagate,
            folds: vec![fold.clone()],
            ..problem.clone()
        };
        let data = |weights| Data {
            pairs: None,
            x: x.clone(),
            y: y.clone(),
            weights,
        };
        // Some folds have no weights over half of the pairs.
        if describe(&alone, data(vec![weights.clone()])).is_ok() {
            kept.push((fold, weights));
        }
    }
    let (folds, weights) = kept.into_iter().unzip();
    let problem = Problem {
        y: y.as_ref().map(|_| Input::named("y")),
        domain: asked.domain,
        precision: Some(asked.precision),
        nan: NanPolicy::Propagate,
        folds,
        ..problem
    };
    let data = Data {
        pairs: None,
        x,
        y,
        weights,
    };
    let job = describe(&problem, data).ok()?;
    Some((problem, job))
}

/// The states of every share of some tiles, each of which is computed apart.
fn shares(lcg: &mut Lcg, job: &Job, plan: &Plan, tiles: &[Tile]) -> Result<Vec<Vec<State>>> {
    let (executor, _) = load::<f64>(job, plan)?;
    let count = 1 + lcg.below(9);
    let mut dealt: Vec<Vec<Tile>> = vec![vec![]; count];
    // Runs of tiles and single ones.
    let mut of = 0;
    for tile in tiles {
        if lcg.below(3) == 0 {
            of = lcg.below(count);
        }
        dealt[of].push(tile.clone());
    }
    let mut made = vec![];
    for mut tiles in dealt {
        if lcg.below(2) == 0 {
            tiles.reverse();
        }
        let mut all: Vec<State> = job.folds.iter().map(|fold| fold.part(&(0..0))).collect();
        for batch in tiles.chunks(1 + lcg.below(5)) {
            let found = executor.run(batch, &Nowhere, Stop(None))?;
            merge(job, &mut all, found.states);
        }
        made.push(all);
    }
    Ok(made)
}

fn merge(job: &Job, into: &mut [State], from: Vec<State>) {
    for ((fold, into), from) in job.folds.iter().zip(into).zip(from) {
        fold.merge(into, from);
    }
}

/// Merges two shares, again and again, and then the rest one by one; some through their bytes.
fn merged(lcg: &mut Lcg, job: &Job, mut shares: Vec<Vec<State>>) -> Vec<Numbers> {
    let (n, m) = (job.space.n, job.space.m);
    while shares.len() > 1 && lcg.below(4) > 0 {
        let mut from = shares.swap_remove(lcg.below(shares.len()));
        if lcg.below(2) == 0 {
            let bytes = encode(&Partial::start(Identity::default(), from)).unwrap();
            from = decode(&bytes, "part").unwrap().states;
        }
        let into = lcg.below(shares.len());
        merge(job, &mut shares[into], from);
    }
    let mut all: Vec<State> = job.folds.iter().map(|fold| fold.start(n, m)).collect();
    while !shares.is_empty() {
        let from = shares.swap_remove(lcg.below(shares.len()));
        let fits = job.folds.iter().zip(&from);
        assert!(
            fits.into_iter()
                .all(|(fold, state)| fold.takes(state, n, m))
        );
        merge(job, &mut all, from);
    }
    let numbers = job.folds.iter().zip(&mut all).map(|(fold, state)| {
        // What is read before the end is what the end leaves.
        let before = of_state(fold, state);
        fold.close(state, None);
        let after = of_state(fold, state);
        assert!(difference(&before, &after, same).is_none());
        after
    });
    numbers.collect()
}

fn check(lcg: &mut Lcg, asked: &Asked, by_oracle: bool) -> usize {
    let Some((problem, job)) = question(lcg, asked) else {
        return 0;
    };
    let tile = [128, 256, 384, 1024][lcg.below(4)];
    let isa = isas()[lcg.below(isas().len())];
    let mut options = plain(isa, 1, tile).options();
    options.overrides.set("prune", "off").unwrap();
    let machine = zipfold::internals::cpu::detect(1, 1 << 32);
    let plan = choose(&job, &machine, &options.overrides).unwrap();
    let tiles = parts::tiles_of_run(&job, &plan);
    let in_order = || {
        let (executor, _) = load::<f64>(&job, &plan).unwrap();
        let found = executor.run(&tiles, &Nowhere, Stop(None)).unwrap();
        vec![found.states]
    };
    let wanted = match by_oracle {
        true => numbers(&job, &oracle::run(&job).unwrap()),
        false => merged(&mut Lcg::new(0), &job, in_order()),
    };
    // A run over many blocks has many tiles to deal out, and takes long.
    for _ in 0..if by_oracle { 3 } else { 1 } {
        let shares = shares(lcg, &job, &plan, &tiles).unwrap();
        let got = merged(lcg, &job, shares);
        for ((fold, got), wanted) in problem.folds.iter().zip(&got).zip(&wanted) {
            let odd = difference(got, wanted, same);
            let what = || format!("{:?} {:?} {tile} {isa} {fold:?}", job.space, asked.more);
            assert!(odd.is_none(), "{}: {}", what(), odd.unwrap_or_default());
        }
    }
    problem.folds.len()
}

const DOMAINS: [Domain; 4] = [
    Domain::Square,
    Domain::Ordered,
    Domain::Triangle,
    Domain::Diagonal,
];

#[test]
fn sums_have_the_bits_of_the_oracle_in_any_order_of_shares() {
    let (mut lcg, mut compared) = (Lcg::new(81), 0);
    for value in VALUES {
        for n in [0, 1, 127, 128, 129, 1000] {
            for domain in DOMAINS {
                let asked = Asked {
                    value,
                    rows: (n, None),
                    domain: Some(domain),
                    precision: Precision::F64,
                    more: "",
                };
                compared += check(&mut lcg, &asked, true);
            }
        }
        for (n, m) in [(1, 5000), (130, 1000), (700, 129), (0, 300), (5000, 3)] {
            let asked = Asked {
                value,
                rows: (n, Some(m)),
                domain: None,
                precision: Precision::F64,
                more: "",
            };
            compared += check(&mut lcg, &asked, true);
        }
    }
    assert!(compared > 400, "{compared}");
}

#[test]
fn sums_over_many_blocks_have_the_bits_of_one_run() {
    let mut lcg = Lcg::new(82);
    for domain in DOMAINS {
        let asked = Asked {
            value: VALUES[0],
            rows: (2700, None),
            domain: Some(domain),
            precision: Precision::F64,
            more: "",
        };
        assert!(check(&mut lcg, &asked, false) > 5);
    }
}

/// Groups, keys and bands of places, whose rows have gaps.
#[test]
fn sums_of_groups_and_bands_have_the_bits_of_the_oracle() {
    let (mut lcg, mut compared) = (Lcg::new(83), 0);
    for more in [
        "by = 'kind'",
        "within = 'same:kind'",
        "batch = 'kind'",
        "within = 'band:200'",
        "within = 'earlier'",
    ] {
        for (n, domain) in [129, 1000]
            .into_iter()
            .flat_map(|n| DOMAINS.map(|d| (n, d)))
        {
            let asked = Asked {
                value: VALUES[0],
                rows: (n, None),
                domain: Some(domain),
                precision: Precision::F64,
                more,
            };
            compared += check(&mut lcg, &asked, true);
        }
    }
    assert!(compared > 60, "{compared}");
}

/// The tree as it is defined, of the blocks of a row.
fn tree(blocks: &[f64]) -> f64 {
    match blocks {
        [] => 0.0,
        [one] => *one,
        _ => {
            let (left, right) = blocks.split_at(blocks.len().next_power_of_two() / 2);
            tree(left) + tree(right)
        }
    }
}

/// The oracle shares the tree with engines, so it is held to a definition that shares nothing.
#[test]
fn sums_of_the_oracle_are_those_of_the_tree() {
    let mut lcg = Lcg::new(84);
    for (domain, m) in [Domain::Square, Domain::Triangle]
        .into_iter()
        .flat_map(|domain| [1, 127, 129, 700, 2000].map(|m| (domain, m)))
    {
        let asked = Asked {
            value: VALUES[0],
            rows: (m, None),
            domain: Some(domain),
            precision: Precision::F64,
            more: "",
        };
        let (_, job) = question(&mut lcg, &asked).unwrap();
        let got = numbers(&job, &oracle::run(&job).unwrap());
        let (mut pair, mut out) = (PairValues::new(&job), vec![]);
        for row in (0..m).step_by(1 + m / 9) {
            let mut value = |a: usize, b: usize| {
                pair.get(a, b, &mut out);
                out[0][0]
            };
            let blocks = (0..m).step_by(BLOCK).map(|first| {
                let (mut down, mut lanes) = (0.0, [0.0; 8]);
                for j in first..m.min(first + BLOCK) {
                    match job.space.domain {
                        // Half of the pairs: a column takes its values one after another.
                        Domain::Triangle if j < row => down += value(j, row),
                        Domain::Triangle | Domain::Ordered if j == row => {}
                        _ => lanes[j % 8] += value(row, j),
                    }
                }
                down + sum_of_lanes(lanes)
            });
            let blocks: Vec<f64> = blocks.collect();
            let wanted = tree(&blocks);
            assert_eq!(
                got[0][0].1[row].to_bits(),
                wanted.to_bits(),
                "{domain:?} {m} {row}"
            );
        }
    }
}

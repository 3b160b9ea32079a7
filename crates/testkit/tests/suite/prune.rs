//! Pruned runs give the bits of the oracle: folds, spaces, boxes, formulas and rows of every kind,
//! in shares too.

use zipfold::Overrides;
use zipfold::internals::identity::Identity;
use zipfold::internals::partial::{decode, encode};
use zipfold::internals::run::run;
use zipfold::internals::shards::{merge_states, part};
use zipfold::{Options, Outcome, Output, Target};
use zipfold_core::fold::State;
use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Table, Tally, describe, oracle};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{difference, of_output, of_state, same};
use zipfold_testkit::runner::{isas, numbers, plain};

const FOLDS: [&str; 12] = [
    r#"{ kind = "nearest", k = 5 }"#,
    r#"{ kind = "nearest", k = 40, largest = true }"#,
    r#"{ kind = "histogram", axes = [{ bins = 20, range = [0.0, 3.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 4, range = [0.5, 30.0] }], mean = true, closed = "half-open" }"#,
    r#"{ kind = "histogram", axes = [{ bins = 9, range = [0.0, 3.0] }], weights = "w" }"#,
    r#"{ kind = "histogram", axes = [{ bins = 5, range = [0.0, 3.0] }, { value = "abs(x[0] - y[0])", edges = [0.1, 0.5, 4.0] }] }"#,
    r#"{ kind = "join", where = "sum(abs(x - y)) < 0.7" }"#,
    r#"{ kind = "join", where = "max(abs(x - y)) < 1 or x[0] * y[0] > 14", value = "x[0] + y[0]" }"#,
    r#"{ kind = "join", where = "euclidean(x, y) < 0.2", join_kind = "semi" }"#,
    r#"{ kind = "join", where = "euclidean(x, y) < 0.2", join_kind = "anti" }"#,
    r#"{ kind = "reduce", op = "argmin" }"#,
    r#"{ kind = "reduce", op = "max", axis = "all" }"#,
];
const MORE: [&str; 3] = [
    r#"{ kind = "reduce", op = "min" }"#,
    r#"{ kind = "reduce", op = "argmax", axis = "all" }"#,
    r#"{ kind = "reduce", op = "count" }"#,
];

/// Rows of a kind, on a coarse grid now and then, so that values tie.
pub(crate) fn table(lcg: &mut Lcg, kind: usize, n: usize, d: usize) -> Table {
    let mut middle = vec![0.0; d];
    let strange = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        5e-324,
        1e300,
    ];
    let mut items = vec![];
    for i in 0..n {
        if i % 60 == 0 {
            middle = (0..d).map(|_| lcg.between(0.0, 4.0)).collect();
        }
        items.extend((0..d).map(|k| match kind {
            0 => lcg.between(0.0, 4.0),
            1 => middle[k] + lcg.between(-0.01, 0.01),
            2 => (lcg.between(0.0, 4.0) * 4.0).round() / 4.0,
            3 => 1.0,
            4 => 1e9 + lcg.between(0.0, 4.0),
            5 => lcg.unit() * 1e-310,
            _ if lcg.below(40) == 0 => strange[lcg.below(6)],
            _ => lcg.between(0.0, 4.0),
        }));
    }
    Table::f64(n, d, items).unwrap()
}

pub(crate) fn problem(folds: &str, metric: &str) -> Problem {
    let text = format!(
        "schema = 1\nx = {{ name = \"x\" }}\npair = {{ metric = \"{metric}\" }}\nfolds = [{folds}]\n"
    );
    toml::from_str(&text).unwrap()
}

/// The question of one table.
pub(crate) fn of_one(problem: &Problem, x: Table, weights: Vec<Option<[Table; 2]>>) -> Job {
    let data = Data {
        pairs: None,
        x,
        y: None,
        weights,
    };
    describe(problem, data).unwrap()
}

pub(crate) fn weights(problem: &Problem, n: usize, m: usize) -> Vec<Option<[Table; 2]>> {
    let one = |n: usize| Table::f64(n, 1, (0..n).map(|i| 0.25 + (i % 7) as f64).collect()).unwrap();
    let weighed = |f: &FoldSpec| {
        matches!(
            f,
            FoldSpec::Histogram {
                weights: Some(_),
                ..
            }
        )
    };
    problem
        .folds
        .iter()
        .map(|f| weighed(f).then(|| [one(n), one(m)]))
        .collect()
}

fn pruned(
    isa: &'static str,
    threads: usize,
    tile: usize,
    shard: Option<(usize, usize)>,
) -> Options<'static> {
    let mut options = Options {
        shard,
        ..plain(isa, threads, tile).options()
    };
    options.overrides.set("prune", "on").unwrap();
    options
}

fn outcome(problem: &Problem, job: &Job, options: &Options<'_>) -> (Vec<Output>, Tally) {
    let done = run_of(problem, job, options);
    (done.outputs, done.tally)
}

fn run_of(problem: &Problem, job: &Job, options: &Options<'_>) -> Outcome {
    let plan = zipfold::internals::plan::choose(
        job,
        &zipfold::internals::cpu::detect(2, 1 << 32),
        &options.overrides,
    )
    .unwrap();
    run(problem, job, plan, &Target::Memory, options).unwrap()
}

/// Runs pruned, every way, against the oracle; the pairs that were not evaluated, of how many.
fn check(problem: &Problem, job: &Job, what: &str) -> [u64; 2] {
    let answer = oracle::run(job).unwrap();
    let wanted = numbers(job, &answer);
    let mut left_out = 0;
    for (at, isa) in isas().into_iter().rev().enumerate() {
        for (threads, tile) in if at == 0 {
            vec![(2, 0), (1, 128), (1, 384)]
        } else {
            vec![(1, 0)]
        } {
            let (outputs, tally) = outcome(problem, job, &pruned(isa, threads, tile, None));
            for (fold, (output, wanted)) in job
                .folds
                .iter()
                .zip(&outputs)
                .zip(&wanted)
                .map(|((f, o), w)| (f, (o, w)))
            {
                let odd = difference(&of_output(fold, output), wanted, same);
                assert!(
                    odd.is_none(),
                    "{what} {isa} x{threads} tile {tile}: {}",
                    odd.unwrap_or_default()
                );
            }
            let theirs = (
                answer.tally.counted,
                answer.tally.beyond_cutoff,
                answer.tally.nan,
                answer.tally.first_nan,
            );
            assert_eq!(
                (
                    tally.counted,
                    tally.beyond_cutoff,
                    tally.nan,
                    tally.first_nan
                ),
                theirs,
                "{what} {isa} tile {tile}"
            );
            left_out = tally.skipped + tally.settled;
        }
    }
    [left_out, job.space.size().unwrap()]
}

fn shards(problem: &Problem, job: &Job, what: &str) {
    let whole = outcome(problem, job, &pruned("scalar", 2, 256, None)).0;
    let mut merged: Vec<State> = job
        .folds
        .iter()
        .map(|f| f.start(job.space.n, job.space.m))
        .collect();
    for index in 0..3 {
        let done = run_of(problem, job, &pruned("scalar", 2, 256, Some((index, 3))));
        let part = part(problem, &done, (index, 3)).unwrap();
        let part = decode(&encode(&part).unwrap(), "part").unwrap();
        part.check(job, "part").unwrap();
        merge_states(job, &mut merged, part);
    }
    for ((fold, got), wanted) in job.folds.iter().zip(&merged).zip(&whole) {
        let odd = difference(&of_state(fold, got), &of_output(fold, wanted), same);
        assert!(odd.is_none(), "{what}, shares: {}", odd.unwrap_or_default());
    }
}

#[test]
fn every_fold_in_every_space() {
    let mut lcg = Lcg::new(61);
    let spaces = [
        None,
        Some(Domain::Square),
        Some(Domain::Ordered),
        Some(Domain::Triangle),
        Some(Domain::Diagonal),
    ];
    let mut sum = [0, 0];
    for fold in FOLDS.iter().chain(&MORE) {
        for domain in spaces {
            for kind in [0, 1, 2, 6] {
                let mut problem = problem(fold, if kind == 2 { "cityblock" } else { "euclidean" });
                problem.domain = domain;
                problem.nan = [NanPolicy::Skip, NanPolicy::Propagate][lcg.below(2)];
                problem.periodic_box = (lcg.below(3) == 0 && kind != 2).then(|| vec![3.0, 2.5]);
                problem.cutoff = (lcg.below(3) == 0).then_some(0.8);
                let (n, m) = (400 + lcg.below(300), 300);
                let x = table(&mut lcg, kind, n, 2);
                let y = domain.is_none().then(|| table(&mut lcg, kind, m, 2));
                let m = if domain.is_none() { m } else { n };
                let weights = weights(&problem, n, m);
                let Ok(job) = describe(
                    &problem,
                    Data {
                        pairs: None,
                        x,
                        y,
                        weights,
                    },
                ) else {
                    continue;
                };
                let what = format!(
                    "{domain:?} kind {kind} box {:?} cutoff {:?} {fold}",
                    problem.periodic_box, problem.cutoff
                );
                let [left_out, all] = check(&problem, &job, &what);
                sum = [sum[0] + left_out, sum[1] + all];
                if kind == 1 {
                    shards(&problem, &job, &what);
                }
            }
        }
    }
    assert!(sum[0] * 3 > sum[1], "{sum:?}");
}

#[test]
fn strange_rows_and_small_inputs() {
    let mut lcg = Lcg::new(67);
    for fold in FOLDS.iter().chain(&MORE) {
        for n in [0usize, 1, 2, 17, 129, 300] {
            for kind in 0..7 {
                let dim = 2 + lcg.below(2);
                let mut problem = problem(fold, "euclidean");
                problem.nan = NanPolicy::Propagate;
                let x = table(&mut lcg, kind, n, dim);
                let weights = weights(&problem, n, n);
                let job = of_one(&problem, x, weights);
                if zipfold::internals::plan::prune::mode(&job).is_some() {
                    check(&problem, &job, &format!("{n} rows of kind {kind} {fold}"));
                }
            }
        }
    }
}

#[test]
fn several_folds_in_one_walk() {
    let mut lcg = Lcg::new(71);
    for domain in [Domain::Square, Domain::Ordered, Domain::Triangle] {
        let half = domain == Domain::Triangle;
        let folds = if half {
            [&FOLDS[2..4], &FOLDS[6..8]].concat()
        } else {
            FOLDS.to_vec()
        };
        for kind in [0, 1, 6] {
            let mut problem = problem(&folds.join(","), "euclidean");
            problem.domain = Some(domain);
            problem.nan = NanPolicy::Skip;
            let x = table(&mut lcg, kind, 500, 3);
            let weights = weights(&problem, 500, 500);
            let job = of_one(&problem, x, weights);
            check(&problem, &job, &format!("{domain:?} kind {kind}"));
        }
    }
}

#[test]
fn triclinic_boxes() {
    let mut lcg = Lcg::new(73);
    for fold in &FOLDS[..7] {
        for periodic_box in [
            vec![3.0, 4.0, 5.0, 70.0, 80.0, 100.0],
            vec![2.0, 2.0, 6.0, 60.0, 60.0, 60.0],
        ] {
            for kind in [0, 1] {
                let mut problem = problem(fold, "euclidean");
                problem.periodic_box = Some(periodic_box.clone());
                let x = table(&mut lcg, kind, 500, 3);
                let weights = weights(&problem, 500, 500);
                let job = of_one(&problem, x, weights);
                check(
                    &problem,
                    &job,
                    &format!("box {periodic_box:?} kind {kind} {fold}"),
                );
            }
        }
    }
}

/// Joins of tables by columns that the sides do not share, by inequalities, equality and ranges.
#[test]
fn inequality_joins() {
    let mut lcg = Lcg::new(79);
    let names = |n: &[&str]| n.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    for text in [
        "x.price < y.price and x.time > y.time",
        "y.time >= x.time and y.time <= x.time + 0.05",
        "x.price == y.price",
        "abs(x.price - y.price) < 0.01 and x.time != y.time",
        "not (x.price > y.price - 3.9)",
        "if(x.time < 1, x.price < y.time, x.price > y.time + 3.5)",
    ] {
        for kind in [0, 1, 2] {
            let x = table(&mut lcg, kind, 600, 2)
                .with_names(names(&["time", "price"]))
                .unwrap();
            let y = table(&mut lcg, kind, 500, 3)
                .with_names(names(&["price", "id", "time"]))
                .unwrap();
            let fold = format!(r#"{{ kind = "join", where = "{text}" }}"#);
            let mut problem = problem(&fold, "euclidean");
            problem.pair.metric = None;
            let job = describe(
                &problem,
                Data {
                    pairs: None,
                    x,
                    y: Some(y),
                    weights: vec![None],
                },
            )
            .unwrap();
            check(&problem, &job, &format!("{text} kind {kind}"));
        }
    }
}

/// The share of pairs that a column grid is expected to count, next to the share of a ball in the
/// box: also of reaches within which the sample has no pair, where a row must not meet itself.
#[test]
fn shares_of_short_reaches_are_foretold() {
    use std::f64::consts::{FRAC_PI_4, FRAC_PI_6};
    let mut lcg = Lcg::new(131);
    for (at, reach) in [4e-4, 4e-3, 0.04, 0.4_f64].into_iter().enumerate() {
        for (dim, ball) in [(1, 1.0), (2, FRAC_PI_4), (3, FRAC_PI_6)] {
            let fold = format!(
                r#"{{ kind = "histogram", axes = [{{ bins = 9, range = [0.0, {reach}] }}] }}"#
            );
            let mut problem = problem(&fold, "euclidean");
            problem.domain = Some([Domain::Triangle, Domain::Square][at % 2]);
            problem.periodic_box = Some(vec![4.0; dim]);
            let job = of_one(&problem, table(&mut lcg, 0, 30_000, dim), vec![None]);
            let mut options = pruned(isas().pop().unwrap(), 2, 0, None);
            options.overrides.set("column_grid", "1").unwrap();
            let machine = zipfold::internals::cpu::detect(2, 1 << 32);
            let plan = zipfold::internals::plan::choose(&job, &machine, &options.overrides);
            let grid = plan.unwrap().prune.column_grid.unwrap();
            let ratio = grid.below / (ball * (0.5 * reach).powi(dim as i32));
            assert!(
                (0.25..4.0).contains(&ratio) && grid.evaluated >= grid.below,
                "{dim} axes, {reach}: {ratio}, {grid:?}"
            );
        }
    }
}

/// Short histograms of distances, as cells of every width leave them: also the same number of pairs
/// visited by shares.
#[test]
fn column_grids_prune_short_histograms() {
    let mut lcg = Lcg::new(83);
    let folds = [
        r#"{ kind = "histogram", axes = [{ bins = 7, range = [0.0, 0.7] }] }"#,
        r#"{ kind = "histogram", axes = [{ bins = 30, range = [0.1, 0.25] }], closed = "half-open" }"#,
        r#"{ kind = "histogram", axes = [{ edges = [0.01, 0.02, 0.05, 0.1, 0.3, 0.9] }] }"#,
        r#"{ kind = "histogram", axes = [{ edges = [0.0, 0.02, 0.05, 0.1, 0.3, 0.9] }], weights = "w", mean = true }"#,
        r#"{ kind = "histogram", axes = [{ bins = 1100, range = [0.0, 0.4] }], weights = "w" }"#,
    ];
    let (mut column_grids, mut sum) = (0, [0, 0]);
    for (at, fold) in folds.iter().cycle().take(60).enumerate() {
        let (dim, kind) = (1 + at % 4, [0, 1, 2, 4, 5, 0][at % 6]);
        let mut problem = problem(fold, "euclidean");
        let second = lcg.below(3) == 0;
        problem.domain = (!second).then(|| [Domain::Triangle, Domain::Square][lcg.below(2)]);
        problem.periodic_box = (lcg.below(2) == 0).then(|| [4.0, 2.5, 1.3, 0.9][..dim].to_vec());
        let n = 600 + lcg.below(300);
        let x = table(&mut lcg, kind, n, dim);
        let y = second.then(|| table(&mut lcg, kind, 500, dim));
        let mut weights = |rows: usize| table(&mut lcg, 1, rows, 1);
        let wx = weights(n);
        let wy = if second { weights(500) } else { wx.clone() };
        let weights = vec![fold.contains("weights").then_some([wx, wy])];
        let Ok(job) = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y,
                weights,
            },
        ) else {
            continue;
        };
        let what = format!(
            "{:?} kind {kind} dim {dim} box {:?} {fold}",
            problem.domain, problem.periodic_box
        );
        let [left_out, all] = check(&problem, &job, &what);
        sum = [sum[0] + left_out, sum[1] + all];
        shards(&problem, &job, &what);
        let wanted = outcome(&problem, &job, &plain("scalar", 1, 0).options()).0;
        let mut keys = vec![];
        for parts in ["1", "2", "3", "7", "off"] {
            let mut options = pruned(isas().pop().unwrap(), 2, [0, 256][lcg.below(2)], None);
            options.overrides.set("column_grid", parts).unwrap();
            let plan = zipfold::internals::plan::choose(
                &job,
                &zipfold::internals::cpu::detect(2, 1 << 32),
                &options.overrides,
            )
            .unwrap();
            column_grids += usize::from(
                plan.prune
                    .column_grid
                    .is_some_and(|m| m.parts.to_string() == parts),
            );
            let key = Identity::of_run(&problem, &job, &plan, None);
            assert!(
                !keys.contains(&key),
                "{what}, {parts} cells: tiles of other rows with the same key"
            );
            keys.push(key);
            let got = outcome(&problem, &job, &options).0;
            let odd = difference(
                &of_output(&job.folds[0], &got[0]),
                &of_output(&job.folds[0], &wanted[0]),
                same,
            );
            assert!(
                odd.is_none(),
                "{what}, {parts} cells: {}",
                odd.unwrap_or_default()
            );
        }
    }
    assert!(
        column_grids > 120 && sum[0] * 2 > sum[1],
        "{column_grids} column grids, {sum:?}"
    );
    let job = describe(
        &problem(folds[0], "euclidean"),
        Data {
            pairs: None,
            x: table(&mut lcg, 0, 9, 2),
            y: None,
            weights: vec![None],
        },
    );
    drop(job.unwrap());
    let refused = Overrides::read([("prune", "on"), ("column_grid", "none")]).unwrap_err();
    assert!(
        refused.to_string().contains("overrides.column_grid"),
        "{refused}"
    );
}

/// A fold by row within a cut-off, in words too; none where the question means nothing or bounds do
/// not serve it.
fn row_question(lcg: &mut Lcg, turn: usize) -> Option<(Problem, Job, String)> {
    const OPS: [&str; 9] = [
        "sum",
        "mean",
        "min",
        "max",
        "argmin",
        "argmax",
        "count",
        "logsumexp",
        "softmax",
    ];
    const FORMULAS: [&str; 5] = [
        "1 / (0.1 + sum((x - y)^2))",
        "(x - y) / (0.1 + sum((x - y)^2))",
        "sum(abs(x - y)) - 0.5",
        "log(sum((x - y)^2) - 0.01)",
        "x[0] - 2 * y[0]",
    ];
    const SPACES: [Option<Domain>; 5] = [
        None,
        Some(Domain::Square),
        Some(Domain::Ordered),
        Some(Domain::Triangle),
        Some(Domain::Diagonal),
    ];
    let (op, formula) = (OPS[turn % OPS.len()], FORMULAS[lcg.below(FORMULAS.len())]);
    let axis = ["row", "all", "row"][lcg.below(3)];
    let dim = 1 + lcg.below(4);
    let mut problem = problem(
        &format!(r#"{{ kind = "reduce", op = "{op}", axis = "{axis}" }}"#),
        "euclidean",
    );
    problem.pair.metric = None;
    problem.pair.formula = Some(formula.into());
    problem.domain = SPACES[lcg.below(SPACES.len())];
    problem.nan = [NanPolicy::Skip, NanPolicy::Propagate, NanPolicy::Error][lcg.below(3)];
    problem.cutoff = Some([0.05, 0.3, 0.8, 1.7, 5.0, 1e-200, 1e200][lcg.below(7)]);
    let triclinic = vec![3.0, 4.0, 5.0, 70.0, 80.0, 100.0];
    problem.periodic_box = match lcg.below(3) {
        0 => (dim < 4).then(|| [3.0, 2.5, 7.0][..dim].to_vec()),
        1 => (dim == 3).then_some(triclinic),
        _ => None,
    };
    let kind = [0, 1, 2, 3, 4, 5, 6, 0, 1, 2][lcg.below(10)];
    let few = [0, 1, 2, 3, 130];
    let mut rows = || {
        if lcg.below(4) == 0 {
            few[lcg.below(5)]
        } else {
            150 + lcg.below(300)
        }
    };
    let (n, m) = (rows(), rows());
    let x = table(lcg, kind, n, dim);
    let y = problem.domain.is_none().then(|| table(lcg, kind, m, dim));
    let others = if y.is_some() { m } else { n };
    let weighs = matches!(op, "sum" | "mean" | "logsumexp" | "softmax")
        && (op == "softmax" || lcg.below(2) == 0);
    let wide = if op == "logsumexp" || formula.starts_with('(') {
        1
    } else {
        1 + lcg.below(2)
    };
    let weights = weighs.then(|| {
        let one = |n: usize| {
            Table::f64(
                n,
                wide,
                (0..n * wide).map(|i| 0.25 + (i % 7) as f64).collect(),
            )
            .unwrap()
        };
        [one(n), one(others)]
    });
    let data = Data {
        pairs: None,
        x,
        y,
        weights: vec![weights],
    };
    let job = describe(&problem, data).ok()?;
    zipfold::internals::plan::prune::mode(&job)?;
    let what = format!(
        "turn {turn} {op} {axis} {formula} {:?} {n} x {others} kind {kind} cutoff {:?} box {:?} {:?}",
        problem.domain, problem.cutoff, problem.periodic_box, problem.nan
    );
    Some((problem, job, what))
}

/// Folds by row within a cut-off: every operation, space, box, weights, width and policy, with the
/// bits of a run that looks at every pair.
#[test]
fn folds_by_row_within_a_cut_off() {
    let mut lcg = Lcg::new(89);
    let (mut left, mut all) = (0, 0);
    for turn in 0..600 {
        let Some((problem, job, what)) = row_question(&mut lcg, turn) else {
            continue;
        };
        if problem.nan == NanPolicy::Error && oracle::run(&job).unwrap().tally.first_nan.is_some() {
            let plan = zipfold::internals::plan::choose(
                &job,
                &zipfold::internals::cpu::detect(2, 1 << 32),
                &pruned("scalar", 2, 0, None).overrides,
            );
            run(
                &problem,
                &job,
                plan.unwrap(),
                &Target::Memory,
                &pruned("scalar", 2, 0, None),
            )
            .unwrap_err();
            continue;
        }
        let [skipped, pairs] = check(&problem, &job, &what);
        if turn % 5 == 0 {
            shards(&problem, &job, &what);
        }
        (left, all) = (left + skipped, all + pairs);
    }
    assert!(left * 3 > all && all > 3_000_000, "{left} of {all}");
}

/// Several folds by row in one walk within a cut-off.
#[test]
fn several_folds_by_row_within_a_cut_off() {
    let mut lcg = Lcg::new(97);
    let folds = ["sum", "mean", "count", "logsumexp", "argmax"]
        .map(|op| format!(r#"{{ kind = "reduce", op = "{op}" }}"#));
    for (turn, domain) in [
        Domain::Square,
        Domain::Ordered,
        Domain::Triangle,
        Domain::Diagonal,
    ]
    .into_iter()
    .cycle()
    .take(12)
    .enumerate()
    {
        let mut problem = problem(&folds.join(","), "euclidean");
        (problem.domain, problem.cutoff) = (Some(domain), Some(0.4));
        problem.periodic_box = (turn % 3 == 0).then(|| vec![4.0, 4.0, 4.0]);
        let x = table(&mut lcg, turn % 3, 700, 3);
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y: None,
                weights: vec![None; folds.len()],
            },
        )
        .unwrap();
        check(&problem, &job, &format!("{domain:?} {turn}"));
    }
}

/// Histograms that the points kernels do not count: several axes, other values, weights, spaces and
/// boxes, with a cut-off and without, by a grid and by boxes.
#[test]
fn grids_of_histograms() {
    let mut lcg = Lcg::new(101);
    let rp =
        r#"{ value = "sqrt((x[0] - y[0])^2 + (x[1] - y[1])^2)", edges = [0.05, 0.1, 0.3, 0.6] }"#;
    let axes = [
        format!(r#"[{rp}, {{ value = "abs(x[2] - y[2])", bins = 4, range = [0.0, 0.8] }}]"#),
        format!(r#"[{rp}, {{ value = "x[2] - y[2]", bins = 4, range = [-0.5, 0.8] }}]"#),
        r#"[{ bins = 6, range = [0.0, 0.6] }, { value = "abs(x[2] - y[2]) / norm(x - y)", bins = 5, range = [0.0, 1.0] }]"#.into(),
        r#"[{ bins = 3, range = [0.2, 0.7] }, { value = "x[0] + y[0]", edges = [0.0, 1.0, 9.0] }, { value = "y[1]", bins = 2, range = [0.0, 2.0] }]"#.into(),
        r#"[{ value = "sum(abs(x - y))", bins = 7, range = [0.1, 0.9] }]"#.into(),
        r#"[{ value = "max(abs(x - y)) + 2 * abs(x[0] - y[0])", bins = 3, range = [0.0, 1.0] }]"#.into(),
        r#"[{ value = "log(sum((x - y)^2))", bins = 3, range = [-2.0, 1.0] }, { bins = 2, range = [0.0, 1.5] }]"#.into(),
    ];
    let spaces = [
        None,
        Some(Domain::Square),
        Some(Domain::Ordered),
        Some(Domain::Triangle),
        Some(Domain::Diagonal),
    ];
    let (mut grids, mut sum) = (0, [0, 0]);
    for turn in 0..220 {
        let axes = &axes[turn % axes.len()];
        let rest = [
            "",
            ", weights = \"w\"",
            ", mean = true",
            ", closed = \"half-open\"",
            ", values = { v = { formula = \"(x[0] - y[1])^2 / 2 - 1e-3\", keep = [\"sum\", \"variance\", \"min\", \"max\"] } }",
            ", weight = \"1e3 / (x[2] - y[2])\", values = { v = \"x[1]\", w = \"log(x[0] + 1)\" }",
        ][lcg.below(6)];
        let fold = format!(r#"{{ kind = "histogram", axes = {axes}{rest} }}"#);
        let mut problem = problem(&fold, "euclidean");
        problem.domain = spaces[lcg.below(spaces.len())];
        problem.nan = [NanPolicy::Skip, NanPolicy::Propagate][lcg.below(2)];
        problem.cutoff = (lcg.below(4) == 0).then_some(0.5);
        problem.periodic_box = match lcg.below(3) {
            0 => Some(vec![3.0, 2.5, 7.0]),
            1 => Some(vec![3.0, 4.0, 5.0, 70.0, 80.0, 100.0]),
            _ => None,
        };
        let kind = [0, 1, 2, 3, 0, 4, 5, 6][lcg.below(8)];
        let n = [0, 1, 2, 200 + lcg.below(300), 300 + lcg.below(300)][lcg.below(5)];
        let x = table(&mut lcg, kind, n, 3);
        let y = problem
            .domain
            .is_none()
            .then(|| table(&mut lcg, kind, 280, 3));
        let m = if problem.domain.is_none() { 280 } else { n };
        let weights = weights(&problem, n, m);
        let Ok(job) = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y,
                weights,
            },
        ) else {
            continue;
        };
        if zipfold::internals::plan::prune::mode(&job).is_none() {
            continue;
        }
        let what = format!(
            "turn {turn} {:?} kind {kind} {n} x {m} cutoff {:?} box {:?} {fold}",
            problem.domain, problem.cutoff, problem.periodic_box
        );
        let [left_out, all] = check(&problem, &job, &what);
        sum = [sum[0] + left_out, sum[1] + all];
        if turn % 5 == 0 {
            shards(&problem, &job, &what);
        }
        let mut options = pruned(isas().pop().unwrap(), 2, 0, None);
        let plan = |options: &Options<'_>| {
            zipfold::internals::plan::choose(
                &job,
                &zipfold::internals::cpu::detect(2, 1 << 32),
                &options.overrides,
            )
            .unwrap()
        };
        grids += usize::from(plan(&options).prune.grid.is_some());
        options.overrides.set("column_grid", "off").unwrap();
        assert!(plan(&options).prune.grid.is_none());
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = outcome(&problem, &job, &options).0;
        let odd = difference(&of_output(&job.folds[0], &got[0]), &wanted[0], same);
        assert!(
            odd.is_none(),
            "{what} by boxes: {}",
            odd.unwrap_or_default()
        );
    }
    assert!(grids > 80 && sum[0] * 3 > sum[1], "{grids} grids, {sum:?}");
}

/// A NaN on one of several axes is not looked at where another leaves the pair out.
#[test]
fn nan_of_pairs_that_another_axis_leaves_out() {
    let fold = |from: f64| {
        format!(
            r#"{{ kind = "histogram", axes = [{{ bins = 2, range = [{from}, 1.0] }}, {{ value = "abs(x[0] - y[0]) / norm(x - y)", bins = 2, range = [0.0, 1.0] }}] }}"#
        )
    };
    // The first two are one point: 0 / 0 on the second axis.
    let x = Table::f64(4, 2, vec![0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 9.0]).unwrap();
    for set in [
        vec![],
        vec![("prune", "on")],
        vec![("prune", "on"), ("column_grid", "off")],
        vec![("family", "vm")],
    ] {
        let mut options = plain(isas().pop().unwrap(), 1, 0).options();
        set.iter()
            .for_each(|(key, value)| options.overrides.set(key, value).unwrap());
        let plan = |job: &Job| {
            zipfold::internals::plan::choose(
                job,
                &zipfold::internals::cpu::detect(2, 1 << 32),
                &options.overrides,
            )
            .unwrap()
        };
        let problem_from = |from| problem(&fold(from), "euclidean");
        let data = || Data {
            pairs: None,
            x: x.clone(),
            y: None,
            weights: vec![None],
        };
        let left_out = describe(&problem_from(0.1), data()).unwrap();
        let (outputs, tally) = outcome(&problem_from(0.1), &left_out, &options);
        let counts = &of_output(&left_out.folds[0], &outputs[0])[0].1;
        let (all, outside) = (counts.iter().sum::<f64>(), counts[counts.len() - 1]);
        assert_eq!((all, outside, tally.first_nan), (6.0, 4.0, None), "{set:?}");
        let taken_in = describe(&problem_from(0.0), data()).unwrap();
        let e = run(
            &problem_from(0.0),
            &taken_in,
            plan(&taken_in),
            &Target::Memory,
            &options,
        )
        .unwrap_err();
        assert!(e.to_string().contains("NaN"), "{set:?} {e}");
    }
}

/// Sums of formulas that are 0 beyond a limit look at near pairs alone, with the bits of a run that
/// looks at every pair.
#[test]
fn sums_of_formulas_that_vanish() {
    let mut lcg = Lcg::new(103);
    let formulas = [
        "if(sum((x - y)^2) < 0.3, 1 / (0.1 + sum((x - y)^2)), 0)",
        "if(norm(x - y) <= 0.5 and x[0] > 1, log(sum((x - y)^2)), 0)",
        "if(sum((x - y)^2) < 0.3, 1 / (0.1 + sum((x - y)^2)), 0) * (x - y)",
        "2 * if(max(abs(x - y)) < 0.4, x[0] - 2.5, 0) - if(sum(abs(x - y)) < 0.6, y[0] * 3, 0)",
    ];
    let spaces = [
        None,
        Some(Domain::Square),
        Some(Domain::Ordered),
        Some(Domain::Triangle),
        Some(Domain::Diagonal),
    ];
    let (mut left, mut all, mut grids) = (0, 0, 0);
    for turn in 0..160 {
        let formula = formulas[turn % formulas.len()];
        let op = ["sum", "mean"][lcg.below(2)];
        let axis = ["row", "all"][lcg.below(2)];
        let dim = 2 + lcg.below(2);
        let mut problem = problem(
            &format!(r#"{{ kind = "reduce", op = "{op}", axis = "{axis}" }}"#),
            "euclidean",
        );
        problem.pair.metric = None;
        problem.pair.formula = Some(formula.into());
        problem.domain = spaces[lcg.below(spaces.len())];
        problem.nan = [NanPolicy::Skip, NanPolicy::Propagate][lcg.below(2)];
        problem.periodic_box = match lcg.below(3) {
            0 => Some([3.0, 2.5, 7.0][..dim].to_vec()),
            1 => (dim == 3).then(|| vec![3.0, 4.0, 5.0, 70.0, 80.0, 100.0]),
            _ => None,
        };
        let (n, m) = ([1, 2, 260, 450][lcg.below(4)], 300);
        let kind = [0, 1, 2, 3, 6][lcg.below(5)];
        let x = table(&mut lcg, kind, n, dim);
        let y = problem
            .domain
            .is_none()
            .then(|| table(&mut lcg, kind, m, dim));
        let others = if y.is_some() { m } else { n };
        let weights = (op == "sum" && lcg.below(3) == 0).then(|| {
            let one = |n: usize| {
                Table::f64(n, 1, (0..n).map(|i| 0.25 + (i % 7) as f64).collect()).unwrap()
            };
            [one(n), one(others)]
        });
        let Ok(job) = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y,
                weights: vec![weights],
            },
        ) else {
            continue;
        };
        if zipfold::internals::plan::prune::mode(&job).is_none() {
            continue;
        }
        grids += 1;
        let what = format!(
            "turn {turn} {op} {axis} {formula} {:?} {n} kind {kind} {:?}",
            problem.domain, problem.periodic_box
        );
        let [skipped, pairs] = check(&problem, &job, &what);
        (left, all) = (left + skipped, all + pairs);
    }
    assert!(
        grids > 60 && left * 3 > all,
        "{grids} grids, {left} of {all}"
    );
}

//! Random questions on a device beside the oracle: verbs, formulas, shapes, ranges of values, types, cells, cut-offs and policies of
//! NaN in any combination. Counts, joins, neighbours and extremes must be those of the oracle to the bit.

use crate::gpu::{device, every, on_device};
use zipfold_core::fold::{Fold, RowOp};
use zipfold_core::problem::{NanPolicy, Problem};
use zipfold_core::{Data, Domain, Precision, Table, describe, oracle};
use zipfold_testkit::compare::{Numbers, close, difference, same};
use zipfold_testkit::runner::numbers;
use zipfold_testkit::{Lcg, formulas};

/// Formulas whose values single precision filters, and such that it does not: signs, quotients, functions, reductions without a start.
const FORMULAS: [&str; 15] = [
    "sum((x - y)^2)",
    "sqrt(sum((x - y)^2))",
    "sum(x * y)",
    "x[0] - y[0]",
    "sum(abs(x - y))",
    "sqrt(max(sum(x * x) + sum(y * y) - 2 * sum(x * y), 0))",
    "sum(x * y) / (norm(x) * norm(y))",
    "max(abs(x - y)) - 1",
    "sum(abs(x - y)^3)",
    "reduce(|a, b| max(a, b), abs(x - y))",
    "sum(popcount(floor(abs(x - y) * 8)))",
    "reduce(|a, b| a * 0.5 + b, x - y)",
    "1 / (sum((x - y)^2) + 0.01)",
    "if(x[0] < y[0], sum(abs(x - y)), -sum(abs(x - y)))",
    "sum(abs(x - y) / (abs(x) + abs(y) + 0.25))",
];

fn rows(lcg: &mut Lcg, n: usize, d: usize, single: bool) -> Table {
    let kind = lcg.below(6);
    let centre = [0.0, 1e4][lcg.below(6) / 5];
    let items: Vec<f64> = (0..n * d)
        .map(|_| match kind {
            0 => lcg.between(-2.0, 2.0),
            1 => lcg.unit(),
            2 => (lcg.between(-3.0, 4.0)).floor(),
            3 => lcg.below(4) as f64 + lcg.between(-1e-3, 1e-3),
            4 => lcg.between(-1.0, 1.0) * 10f64.powi(lcg.below(13) as i32 - 6),
            _ => centre + lcg.unit(),
        })
        .collect();
    if single {
        return Table::f32(n, d, items.iter().map(|v| *v as f32).collect()).unwrap();
    }
    Table::f64(n, d, items).unwrap()
}

/// A fold by its text in a problem file.
fn fold(lcg: &mut Lcg, formula: &str) -> String {
    let bins = [1, 2, 10, 100, 300, 1000, 5000, 20000][lcg.below(8)];
    let (lo, hi) = ([0.0, 0.0, 0.001, -1.5][lcg.below(4)], 0.5 + 5.0 * lcg.unit());
    let op = ["min", "max", "argmin", "argmax", "sum", "mean", "logsumexp"][lcg.below(7)];
    let along = ["row", "row", "column", "all"][lcg.below(4)];
    let join = ["inner", "inner", "semi", "anti"][lcg.below(4)];
    let limit = 3.0 * lcg.unit();
    match lcg.below(8) {
        0..=2 => format!("{{ kind = \"histogram\", axes = [{{ bins = {bins}, range = [{lo:?}, {hi:?}] }}] }}"),
        3 => "{ kind = \"histogram\", axes = [{ edges = [0.0, 0.1, 0.5, 3.0] }, { value = \"abs(x[0] - y[0])\", bins = 7, range = [0.0, 2.0] }] }".into(),
        4 => format!("{{ kind = \"nearest\", k = {}, largest = {} }}", [1, 5, 17, 40][lcg.below(4)], lcg.below(3) == 0),
        5 => format!("{{ kind = \"select\", predicate = \"{formula} < {limit}\", join = \"{join}\" }}"),
        6 => "{ kind = \"matrix\" }".into(),
        _ => format!("{{ kind = \"reduce\", op = \"{op}\", along = \"{along}\" }}"),
    }
}

/// The problem of number `seed`, its rows, and the choices made by hand.
fn asked(seed: u64) -> (Problem, Data, Vec<(&'static str, &'static str)>) {
    let lcg = &mut Lcg::new(seed);
    let d = [1, 2, 3, 3, 3, 4, 7, 8, 12, 16, 17, 31, 32, 33, 65, 130][lcg.below(16)];
    let size = |lcg: &mut Lcg| [1, 2, 33, 127, 128, 129, 200, 257, 300][lcg.below(9)];
    let (n, m) = (size(lcg), size(lcg));
    let single = lcg.below(3) > 0;
    let random = lcg.below(4) == 0;
    let depth = 1 + lcg.below(2);
    let formula = if random { formulas::scalar(lcg, depth, d) } else { FORMULAS[lcg.below(14)].to_string() };
    let fold = fold(lcg, &formula);
    let near = match lcg.below(6) {
        0 => format!("near = {}\n", 0.2 + 2.0 * lcg.unit()),
        _ => String::new(),
    };
    let text =
        format!("schema = 1\nx = {{ name = \"x\" }}\npair = {{ formula = \"{formula}\" }}\n{near}folds = [{fold}]");
    let mut problem: Problem = toml::from_str(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    problem.precision = Some(Precision::F64);
    problem.nan = if random { NanPolicy::Skip } else { NanPolicy::Error };
    let two = lcg.below(2) == 0;
    if !two && lcg.below(3) == 0 {
        problem.cells = Some(Domain::Ordered);
    }
    let x = rows(lcg, n, d, single);
    let y = two.then(|| rows(lcg, m, d, single));
    let sets = [
        ("filter", "off"),
        ("points.input", "cache"),
        ("points.input", "both"),
        ("device.tile", "128"),
        ("hist.copies", "4"),
        ("points.anchors", "1"),
        ("load.vector", "1"),
        ("device.rows", "streamed"),
    ];
    let by_hand = lcg.below(3) == 0;
    let set = if by_hand { vec![sets[lcg.below(8)]] } else { vec![] };
    (problem, Data { x, y, weights: vec![None] }, set)
}

/// Whether `got` is the answer: to the bit where the fold decides, within rounding of the largest term where it adds.
fn odd(fold: &Fold, got: &Numbers, wanted: &Numbers, exact: bool) -> Option<String> {
    match fold {
        Fold::Rows(f) if matches!(f.op, RowOp::Sum | RowOp::Mean | RowOp::Logsumexp | RowOp::Softmax) => {
            let most =
                wanted.iter().flat_map(|(_, v)| v).fold(0.0f64, |a, v| if v.is_finite() { a.max(v.abs()) } else { a });
            difference(got, wanted, |a, b| close(a, b, 1e-9) || (a - b).abs() <= 1e-9 * most)
        }
        _ if exact => difference(got, wanted, same),
        _ => difference(got, wanted, |a, b| close(a, b, 1e-9)),
    }
}

#[test]
#[ignore = "needs opencl"]
fn random_questions_have_the_answers_of_the_oracle() {
    let (device, _turn) = device();
    let first = std::env::var("ZIPFOLD_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1u64);
    let count = if every(2) == 1 { 1500 } else { 24 };
    let (mut failures, mut answered) = (vec![], 0);
    for seed in first..first + count {
        let (problem, data, set) = asked(seed);
        let Ok(job) = describe(&problem, data) else { continue };
        let Ok(answer) = oracle::run(&job) else { continue };
        let (wanted, has_nan) = (numbers(&job, &answer), answer.tally.first_nan.is_some());
        let exact = zipfold::plan::device::rounding::is_exact(&job.low);
        match on_device(&problem, &job, device, &set) {
            Ok(got) => {
                answered += 1;
                failures.extend(
                    odd(&job.folds[0], &got[0], &wanted[0], exact).map(|d| format!("seed {seed} {set:?}: {d}")),
                );
            }
            // A value that is NaN, which the policy refuses; the oracle takes it.
            Err(e) if e.blame() == zipfold::Blame::Input && problem.nan == NanPolicy::Error && has_nan => {}
            // A choice by hand that this device has no room for.
            Err(e) if e.blame() == zipfold::Blame::Request && !set.is_empty() => {}
            Err(e) => failures.push(format!("seed {seed} {set:?}: {e}")),
        }
    }
    assert!(failures.is_empty(), "{} of {answered} failed:\n{}", failures.len(), failures.join("\n"));
    assert!(answered * 2 > count, "only {answered} of {count} questions were answered");
}

/// Questions that went wrong once.
#[test]
#[ignore = "needs opencl"]
fn questions_that_went_wrong_are_right() {
    let (device, _turn) = device();
    let lcg = &mut Lcg::new(9);
    let cases = [
        // Values below the first edge, which is 0.
        (3, "sum(x * y)", "{ kind = \"histogram\", axes = [{ bins = 10, range = [0.0, 2.0] }] }", true),
        (64, "sum(x * y)", "{ kind = \"histogram\", axes = [{ bins = 10, range = [0.0, 2.0] }] }", true),
        (2, "x[0] - y[0]", "{ kind = \"histogram\", axes = [{ bins = 10, range = [0.0, 2.0] }] }", true),
        (
            3,
            "sqrt(sum(x*x) + sum(y*y) - 2*sum(x*y))",
            "{ kind = \"histogram\", axes = [{ bins = 10, range = [0.0, 2.0] }] }",
            true,
        ),
        // A reduction without a start in a dense tile.
        (12, "reduce(|a, b| max(a, b), abs(x - y))", "{ kind = \"matrix\" }", false),
        (16, "reduce(|a, b| a * 0.5 + b, x - y)", "{ kind = \"matrix\" }", true),
        // Many bins beside rows of 31 numbers in double precision.
        (31, "euclidean(x, y)", "{ kind = \"histogram\", axes = [{ bins = 5000, range = [0.0, 9.0] }] }", false),
    ];
    for (d, formula, fold, single) in cases {
        let text = format!(
            "schema = 1\nx = {{ name = \"x\" }}\npair = {{ formula = \"{formula}\" }}\nnan = \"skip\"\nfolds = [{fold}]"
        );
        let mut problem: Problem = toml::from_str(&text).unwrap();
        problem.precision = Some(Precision::F64);
        let items: Vec<f64> = (0..300 * d).map(|_| lcg.between(-2.0, 2.0)).collect();
        let x = match single {
            true => Table::f32(300, d, items.iter().map(|v| *v as f32).collect()).unwrap(),
            false => Table::f64(300, d, items).unwrap(),
        };
        let job = describe(&problem, Data { x, y: None, weights: vec![None] }).unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, &[]).unwrap_or_else(|e| panic!("{formula}: {e}"));
        assert_eq!(difference(&got[0], &wanted[0], same), None, "{formula}, {fold}");
    }
}

/// Sums by row have the same bits for every tiling: spans are those of the job, not of the device's grid.
#[test]
#[ignore = "needs opencl"]
fn sums_have_the_same_bits_for_every_tile() {
    let (device, _turn) = device();
    let lcg = &mut Lcg::new(4);
    for (single, cells) in [(false, Domain::Cross), (true, Domain::Diagonal), (false, Domain::Square)] {
        let text = "schema = 1\nx = { name = \"x\" }\npair = { formula = \"exp(-sum((x - y)^2) * 10)\" }\nfolds = [{ kind = \"reduce\", op = \"sum\" }]";
        let mut problem: Problem = toml::from_str(text).unwrap();
        problem.cells = Some(cells);
        let table = |lcg: &mut Lcg| {
            let items: Vec<f64> = (0..3300 * 3).map(|_| lcg.unit()).collect();
            match single {
                true => Table::f32(3300, 3, items.iter().map(|v| *v as f32).collect()).unwrap(),
                false => Table::f64(3300, 3, items).unwrap(),
            }
        };
        let x = table(lcg);
        let y = (cells == Domain::Cross).then(|| table(lcg));
        let job = describe(&problem, Data { x, y, weights: vec![None] }).unwrap();
        let whole = on_device(&problem, &job, device, &[]).unwrap();
        for tile in ["128", "1000", "2048"] {
            let got = on_device(&problem, &job, device, &[("device.tile", tile)]).unwrap();
            assert_eq!(difference(&got[0], &whole[0], same), None, "{cells:?}, tiles of {tile}");
        }
    }
}

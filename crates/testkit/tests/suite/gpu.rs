//! Every case that holds the CPU holds each device present.

use crate::nudged;
use std::sync::{Mutex, MutexGuard};
use zipfold::internals::device::{Runtime, Wanted, Which, find, list};
use zipfold::internals::plan::device::Work;
use zipfold::internals::plan::device::matrix::Kernel;
use zipfold::internals::plan::low_precision::LowPrecision;
use zipfold::internals::run::run;
use zipfold::{Options, Target};
use zipfold_core::fold::{Fold, RowOp};
use zipfold_core::oracle;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::{Formula, Scope, parse};
use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Precision, Table, describe};
use zipfold_testkit::compare::{Numbers, close, difference, of_output, same};
use zipfold_testkit::runner::numbers;
use zipfold_testkit::{Lcg, formulas, load};

/// One test at a time on the device: PoCL does not compile from many threads.
static TURN: Mutex<()> = Mutex::new(());

/// The device that `ZIPFOLD_TEST_DEVICE` names, or the first OpenCL device.
pub(crate) fn device() -> (Wanted, MutexGuard<'static, ()>) {
    let turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Ok(name) = std::env::var("ZIPFOLD_TEST_DEVICE") {
        return (Wanted::parse(&name).unwrap(), turn);
    }
    match list(Runtime::OpenCl) {
        Ok(found) if !found.is_empty() => (Wanted::Devices(Runtime::OpenCl, Which::one(0)), turn),
        Ok(_) => panic!("no OpenCL device"),
        Err(e) => panic!("{e}"),
    }
}

/// Every how many cases one is run. PoCL compiles for seconds a kernel: all are run where
/// `ZIPFOLD_LONG` is set, or where `ZIPFOLD_TEST_DEVICE` names a device.
pub(crate) fn every(many: usize) -> usize {
    let all = ["ZIPFOLD_LONG", "ZIPFOLD_TEST_DEVICE"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if all { 1 } else { many }
}

pub(crate) fn on_device(
    problem: &Problem,
    job: &Job,
    device: Wanted,
    set: &[(&str, &str)],
) -> Result<Vec<Numbers>, zipfold::Error> {
    answered(problem, job, device, set).map(|outcome| all_numbers(job, &outcome))
}

/// The numbers of every fold.
pub(crate) fn all_numbers(job: &Job, outcome: &zipfold::Outcome) -> Vec<Numbers> {
    job.folds
        .iter()
        .zip(&outcome.outputs)
        .map(|(f, o)| of_output(f, o))
        .collect()
}

/// What a device answers. An answer that the host gave in its place is an error, but where a choice
/// asks for that.
pub(crate) fn answered(
    problem: &Problem,
    job: &Job,
    device: Wanted,
    set: &[(&str, &str)],
) -> Result<zipfold::Outcome, zipfold::Error> {
    let outcome = outcome_of(problem, job, device, set)?;
    let asked_for = set
        .iter()
        .any(|(key, _)| ["device.launches", "device.memory", "device.compiles"].contains(key));
    let lost = outcome
        .warnings
        .iter()
        .map(ToString::to_string)
        .find(|w| w.contains("the work goes on"));
    match lost.filter(|_| !asked_for) {
        Some(why) => Err(zipfold::Error::device(why)),
        None => Ok(outcome),
    }
}

/// What a run on `device` gives.
pub(crate) fn outcome_of(
    problem: &Problem,
    job: &Job,
    device: Wanted,
    set: &[(&str, &str)],
) -> Result<zipfold::Outcome, zipfold::Error> {
    let overrides = zipfold::Overrides::read(set.iter().copied())?;
    let options = Options {
        threads: 1,
        device,
        overrides,
        ..Options::default()
    };
    let plan = zipfold::internals::plan::choose(
        job,
        &zipfold::internals::cpu::detect(1, 1 << 32),
        &options.overrides,
    )?;
    run(problem, job, plan, &Target::Memory, &options)
}

/// Sums may be added in another order, and functions may differ in the last bits; all else has the
/// bits of the oracle.
fn equal(fold: &Fold, exact: bool) -> fn(f64, f64) -> bool {
    let summed = |op| {
        matches!(
            op,
            RowOp::Sum | RowOp::Mean | RowOp::Logsumexp | RowOp::Softmax
        )
    };
    match fold {
        Fold::Rows(f) if summed(f.op) => |a, b| close(a, b, 1e-12),
        _ if !exact => |a, b| close(a, b, 1e-12),
        _ => same,
    }
}

fn check(folder: &str) {
    let (device, _turn) = device();
    let mut failures = vec![];
    let cases = load(folder).unwrap();
    for (at, case) in cases
        .iter()
        .filter(|c| c.rest.error.is_none())
        .step_by(every(8))
        .enumerate()
    {
        let problem = case.problem().unwrap();
        let data = case.data(&problem).unwrap();
        let problem = zipfold::internals::ranges::with_ranges(&problem, &data, &Options::default())
            .unwrap()
            .into_owned();
        let wide = Problem {
            precision: Some(Precision::F64),
            ..problem.clone()
        };
        let job = describe(&wide, data.clone()).unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let exact = zipfold::internals::plan::device::rounding::is_exact(&job.low);
        // Small tiles for some: every other kernel is another one to compile.
        let sets = [&[][..], &[("device.tile", "128"), ("filter", "off")][..]];
        for set in &sets[..if at % 5 == 0 { 2 } else { 1 }] {
            match on_device(&wide, &job, device, set) {
                Err(e) => failures.push(format!("{} {set:?}: {e}", case.name)),
                Ok(got) => {
                    for ((fold, g), w) in job.folds.iter().zip(&got).zip(&wanted) {
                        let odd = difference(g, w, equal(fold, exact));
                        failures.extend(odd.map(|d| format!("{} {set:?}: {d}", case.name)));
                    }
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
#[ignore = "needs opencl"]
fn pairs() {
    check("pairs");
}
#[test]
#[ignore = "needs opencl"]
fn histogram() {
    check("histogram");
}
#[test]
#[ignore = "needs opencl"]
fn join() {
    check("join");
}
#[test]
#[ignore = "needs opencl"]
fn neighbours() {
    check("neighbours");
}
#[test]
#[ignore = "needs opencl"]
fn reduce() {
    check("reduce");
}
#[test]
#[ignore = "needs opencl"]
fn near() {
    check("near");
}
#[test]
#[ignore = "needs opencl"]
fn nan() {
    check("nan");
}

/// How many random formulas, and from which seed.
fn formulas_wanted() -> (usize, u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    (
        number("ZIPFOLD_FORMULAS").unwrap_or(2000) as usize,
        number("ZIPFOLD_SEED").unwrap_or(11),
    )
}

/// Random formulas, fifty a kernel.
#[test]
#[ignore = "needs opencl"]
fn random_formulas_on_the_device_have_the_bits_of_the_oracle() {
    let (wanted, _turn) = device();
    let Wanted::Devices(runtime, which) = wanted else {
        return;
    };
    let device =
        zipfold::internals::gpu::open(runtime, find(runtime, which).unwrap()[0].index).unwrap();
    let (count, seed) = formulas_wanted();
    let mut lcg = Lcg::new(seed);
    for program in 0..count.div_ceil(50) {
        let (texts, job) = random_job(&mut lcg, 50);
        let got = zipfold::internals::gpu::engine::values_of(&device, &job);
        let got = got.unwrap_or_else(|e| panic!("program {program} of seed {seed}: {e}"));
        let cells = job.space.n * job.space.m;
        let mut pair = oracle::PairValues::new(&job);
        let mut values = vec![];
        for cell in 0..cells {
            pair.get(cell / job.space.m, cell % job.space.m, &mut values);
            for (at, (text, exact)) in texts.iter().enumerate() {
                let (g, w) = (got[at * cells + cell], values[at][0]);
                let near = !exact
                    && (close(g, w, 1e-6)
                        || nudged::explains(
                            &job,
                            text,
                            (cell / job.space.m, cell % job.space.m),
                            w,
                            g,
                        ));
                assert!(
                    same(g, w) || near,
                    "program {program}: {text}: {g:e}, wanted {w:e}"
                );
            }
        }
    }
}

/// One job whose roots are `count` random formulas; with each whether devices give its bits.
fn random_job(lcg: &mut Lcg, count: usize) -> (Vec<(String, bool)>, Job) {
    let dim = 1 + lcg.below(5);
    let mut rows = |n: usize| {
        let items = (0..n * dim).map(|_| {
            (lcg.between(-3.0, 3.0) * 8.0).round() / 8.0
                + if lcg.below(2) == 0 { lcg.unit() } else { 0.0 }
        });
        Table::f64(n, dim, items.collect()).unwrap()
    };
    let (x, y) = (rows(2), rows(31));
    let asked = zipfold::pairs(&x)
        .with(&y)
        .formula("sum(x * y)")
        .fold(FoldSpec::Matrix {});
    let problem = Problem {
        nan: NanPolicy::Propagate,
        precision: Some(Precision::F64),
        ..asked.problem().clone()
    };
    let mut job = describe(
        &problem,
        Data {
            x,
            y: Some(y),
            weights: vec![],
        },
    )
    .unwrap();
    let scope = Scope {
        dim: Some(dim),
        ..Default::default()
    };
    let mut formula = Formula::new();
    let mut texts = vec![];
    while texts.len() < count {
        let depth = 1 + lcg.below(3);
        let text = formulas::scalar(lcg, depth, dim);
        let root = parse(&mut formula, &text, &scope).unwrap();
        let mut alone = formula.clone();
        alone.roots = vec![root];
        let exact = zipfold::internals::plan::device::rounding::is_exact(
            &Lowered::new(&alone, dim, false).unwrap(),
        );
        formula.roots.push(root);
        texts.push((text, exact));
    }
    job.low = std::sync::Arc::new(Lowered::new(&formula, dim, false).unwrap());
    (texts, job)
}

fn cloud(seed: u64, n: usize, d: usize) -> Table {
    let mut lcg = Lcg::new(seed);
    Table::f32(
        n,
        d,
        (0..n * d).map(|_| lcg.between(0.0, 8.0) as f32).collect(),
    )
    .unwrap()
}

fn problem(text: &str) -> Problem {
    toml::from_str(&format!("schema = 1\nx = {{ name = \"x\" }}\n{text}")).unwrap()
}

/// Folds of single-precision rows, where filters and private counters are at work.
const FOLDS: [&str; 14] = [
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 13.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 20000, range = [0.5, 12.0] }], closed = "half-open" }"#,
    r#"{ kind = "histogram", axes = [{ edges = [0.0, 0.5, 1.0, 3.0, 9.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 9, range = [0.0, 13.0] }, { value = "abs(x[0] - y[0])", bins = 7, range = [0.0, 8.0] }] }"#,
    r#"{ kind = "nearest", k = 10 }"#,
    r#"{ kind = "nearest", k = 200 }"#,
    r#"{ kind = "nearest", k = 3, largest = true }"#,
    r#"{ kind = "select", predicate = "euclidean(x, y) < 1.5" }"#,
    r#"{ kind = "select", predicate = "sum((x - y)^2) < 9 and abs(x[0] - y[0]) < 1", value = "x[1]" }"#,
    r#"{ kind = "select", predicate = "euclidean(x, y) < 0.2", join = "semi" }"#,
    r#"{ kind = "select", predicate = "x[0] < y[0]" }"#,
    r#"{ kind = "reduce", op = "argmin" }"#,
    r#"{ kind = "reduce", op = "max", along = "column" }"#,
    r#"{ kind = "reduce", op = "count" }"#,
];

#[test]
#[ignore = "needs opencl"]
fn exact_folds_of_single_precision_rows_are_exact() {
    let (device, _turn) = device();
    let (x, y) = (cloud(3, 1100, 3), cloud(4, 700, 3));
    let mut failures = vec![];
    for (at, fold) in FOLDS.iter().enumerate().step_by(every(4)) {
        for cells in [Domain::Cross, [Domain::Triangle, Domain::Ordered][at % 2]] {
            let asymmetric = fold.contains("x[0] < y[0]") || fold.contains("\"x[1]\"");
            if cells == Domain::Triangle && asymmetric {
                continue;
            }
            let problem = Problem {
                cells: Some(cells),
                ..problem(&format!("folds = [{fold}]"))
            };
            let y = (cells == Domain::Cross).then(|| y.clone());
            let job = describe(
                &problem,
                Data {
                    x: x.clone(),
                    y,
                    weights: vec![],
                },
            )
            .unwrap();
            let wanted = numbers(&job, &oracle::run(&job).unwrap());
            let by_hand = [
                ("points.anchors", "1"),
                ("device.tile", "512"),
                ("hist.copies", "4"),
            ];
            let inputs = [
                ("points.input", ["cache", "both"][at / 4 % 2]),
                ("hist.copies", "0"),
                ("select.output", "count"),
                ("load.vector", ["2", "1"][at / 4 % 2]),
            ];
            let sets = [&[][..], &inputs[..], &by_hand[..]];
            for set in &sets[if cells == Domain::Cross { 0..2 } else { 2..3 }] {
                let got = on_device(&problem, &job, device, set).unwrap();
                let odd = difference(&got[0], &wanted[0], same);
                failures.extend(odd.map(|d| format!("{fold} {cells:?} {set:?}: {d}")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Slices that are copied past the registers, and threads of 8 × 16 cells: what CUDA does by
/// default, and other shapes.
#[test]
#[ignore = "needs opencl"]
fn dense_tiles_by_a_pipeline_are_those_of_the_oracle() {
    let (device, _turn) = device();
    let stages = |stages, across, slice, load| {
        [
            ("dense.stages", stages),
            ("dense.across", across),
            ("dense.slice", slice),
            ("load.vector", load),
        ]
    };
    let cases = [
        (
            "cityblock",
            37,
            Domain::Diagonal,
            Precision::F32,
            stages("3", "16", "8", "2"),
        ),
        (
            "sqeuclidean",
            300,
            Domain::Square,
            Precision::F32,
            stages("4", "8", "8", "1"),
        ),
        (
            "chebyshev",
            16,
            Domain::Triangle,
            Precision::F64,
            stages("2", "16", "4", "1"),
        ),
        (
            "cosine",
            9,
            Domain::Diagonal,
            Precision::F32,
            stages("0", "16", "16", "1"),
        ),
        (
            "cityblock",
            1100,
            Domain::Square,
            Precision::F32,
            stages("3", "16", "16", "4"),
        ),
    ];
    for (metric, dim, cells, precision, set) in cases.into_iter().step_by(every(5)) {
        let text = format!("pair = {{ metric = \"{metric}\" }}\nfolds = [{{ kind = \"matrix\" }}]");
        let problem = Problem {
            cells: Some(cells),
            precision: Some(precision),
            ..problem(&text)
        };
        let job = describe(
            &problem,
            Data {
                x: cloud(6, 261, dim),
                y: None,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, &set).unwrap();
        let single = precision == Precision::F32;
        let equal = |a: f64, b: f64| {
            if single {
                close(a, b, 1e-5)
            } else {
                same(a, b)
            }
        };
        assert_eq!(
            difference(&got[0], &wanted[0], equal),
            None,
            "{metric} {dim} {set:?}"
        );
    }
}

/// The panel of a block's own rows, shared evenly by its threads: every pair once, whatever the
/// anchors and their inputs.
#[test]
#[ignore = "needs opencl"]
fn a_balanced_diagonal_counts_every_pair_once() {
    let (device, _turn) = device();
    let sets = [
        ("panel", "4", Domain::Triangle),
        ("both", "2", Domain::Triangle),
        ("cache", "1", Domain::Diagonal),
    ];
    for (at, (input, anchors, cells)) in sets.into_iter().enumerate().step_by(every(2)) {
        for (dim, filter) in [(3, "on"), (40, "off")]
            .into_iter()
            .take(if at == 2 { 2 } else { 1 })
        {
            let problem = Problem {
                cells: Some(cells),
                ..problem(&format!("folds = [{}]", FOLDS[0]))
            };
            let job = describe(
                &problem,
                Data {
                    x: cloud(21, 1100, dim),
                    y: None,
                    weights: vec![],
                },
            )
            .unwrap();
            let wanted = numbers(&job, &oracle::run(&job).unwrap());
            let set = [
                ("tile.diagonal", "balanced"),
                ("points.input", input),
                ("points.anchors", anchors),
                ("filter", filter),
            ];
            let got = on_device(&problem, &job, device, &set).unwrap();
            assert_eq!(difference(&got[0], &wanted[0], same), None, "{set:?} {dim}");
        }
    }
    let cross = Problem {
        cells: Some(Domain::Cross),
        ..problem(&format!("folds = [{}]", FOLDS[0]))
    };
    let job = describe(
        &cross,
        Data {
            x: cloud(21, 300, 3),
            y: Some(cloud(22, 300, 3)),
            weights: vec![],
        },
    )
    .unwrap();
    let refused = on_device(&cross, &job, device, &[("tile.diagonal", "balanced")]).unwrap_err();
    assert!(refused.to_string().contains("half spaces"), "{refused}");
}

/// Rows too wide for registers: cells of dense tiles go straight to the fold, of whole and of half
/// spaces, ragged ends included.
#[test]
#[ignore = "needs opencl"]
fn folds_of_wide_rows_take_their_cells_from_dense_tiles() {
    let (device, _turn) = device();
    let cases = [
        (r#"{ kind = "nearest", k = 10 }"#, Domain::Cross, 40),
        (
            r#"{ kind = "histogram", axes = [{ bins = 300, range = [5.0, 30.0] }] }"#,
            Domain::Triangle,
            40,
        ),
        (
            r#"{ kind = "reduce", op = "argmin" }"#,
            Domain::Triangle,
            64,
        ),
        (
            r#"{ kind = "nearest", k = 40, largest = true }"#,
            Domain::Ordered,
            33,
        ),
        (r#"{ kind = "reduce", op = "max" }"#, Domain::Cross, 300),
        (
            r#"{ kind = "histogram", axes = [{ bins = 2000, range = [0.0, 40.0] }], closed = "half-open" }"#,
            Domain::Diagonal,
            12,
        ),
        (r#"{ kind = "reduce", op = "sum" }"#, Domain::Diagonal, 64),
        (
            r#"{ kind = "reduce", op = "sum", along = "column" }"#,
            Domain::Cross,
            35,
        ),
    ];
    for (fold, cells, dim) in cases.into_iter().step_by(every(2)) {
        let problem = Problem {
            cells: Some(cells),
            ..problem(&format!("folds = [{fold}]"))
        };
        let y = (cells == Domain::Cross).then(|| cloud(42, 413, dim));
        let job = describe(
            &problem,
            Data {
                x: cloud(41, 555, dim),
                y,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let sums = fold.contains("sum");
        let equal = |a: f64, b: f64| if sums { close(a, b, 1e-5) } else { same(a, b) };
        let got = on_device(&problem, &job, device, &[("fold.tiles", "dense")]).expect(fold);
        assert_eq!(
            difference(&got[0], &wanted[0], equal),
            None,
            "{fold} {cells:?} {dim}"
        );
    }
}

/// Predicates over wide rows: joins whose tiles fill several pages, rows with a match, counts by
/// row and by column, and cosines, whose equal rows are a case of their own.
#[test]
#[ignore = "needs opencl"]
fn predicates_of_wide_rows_take_their_cells_from_dense_tiles() {
    let (device, _turn) = device();
    let join = |predicate, kind| {
        format!("folds = [{{ kind = \"select\", predicate = \"{predicate}\", join = \"{kind}\" }}]")
    };
    let count = |pair, along| {
        format!(
            "pair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"reduce\", op = \"count\", along = \"{along}\" }}]"
        )
    };
    let some = "sum((x - y)^2) < 380 or sum((x - y)^2) <= 120";
    let cosine = |fold| format!("pair = {{ metric = \"cosine\" }}\nfolds = [{{ {fold} }}]");
    let cases = [
        (join(some, "inner"), Domain::Triangle, 40, "120000000"),
        (
            join("sum((x - y)^2) < 1e6", "inner"),
            Domain::Cross,
            33,
            "1500000",
        ),
        (
            join("cosine(x, y) < 0.12", "semi"),
            Domain::Ordered,
            37,
            "120000000",
        ),
        (join(some, "anti"), Domain::Triangle, 40, "120000000"),
        (count(some, "row"), Domain::Diagonal, 40, "120000000"),
        (
            count("cosine(x, y) < 0.2 and x[0] < y[0]", "column"),
            Domain::Cross,
            64,
            "120000000",
        ),
        (
            cosine("kind = \"nearest\", k = 5"),
            Domain::Square,
            40,
            "120000000",
        ),
    ];
    for (text, cells, dim, memory) in cases.iter().step_by(every(2)) {
        let problem = Problem {
            cells: Some(*cells),
            ..problem(text)
        };
        let y = (*cells == Domain::Cross).then(|| cloud(42, 413, *dim));
        let job = describe(
            &problem,
            Data {
                x: cloud(41, 555, *dim),
                y,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let set = [("fold.tiles", "dense"), ("device.memory", memory)];
        let got = on_device(&problem, &job, device, &set).expect(text);
        assert_eq!(
            difference(&got[0], &wanted[0], same),
            None,
            "{text} {cells:?} {dim}"
        );
    }
}

/// Short rows: counts of a predicate, and cosines, are decided by single precision where it can.
#[test]
#[ignore = "needs opencl"]
fn predicates_and_cosines_of_short_rows_are_exact() {
    let (device, _turn) = device();
    let texts = [
        (
            "pair = { formula = \"sum((x - y)^2) < 4 and x[0] < y[1]\" }\nfolds = [{ kind = \"reduce\", op = \"count\" }]",
            Domain::Ordered,
        ),
        (
            "pair = { formula = \"sum(x * y) / (1 + sum(x * x)) < 1\" }\nfolds = [{ kind = \"reduce\", op = \"count\" }]",
            Domain::Square,
        ),
        (
            "pair = { metric = \"cosine\" }\nfolds = [{ kind = \"histogram\", axes = [{ bins = 50, range = [0.0, 1.0] }] }]",
            Domain::Square,
        ),
        (
            "pair = { metric = \"cosine\" }\nfolds = [{ kind = \"nearest\", k = 4 }]",
            Domain::Square,
        ),
    ];
    for (text, cells) in texts.into_iter().step_by(every(2)) {
        let problem = Problem {
            cells: Some(cells),
            ..problem(text)
        };
        let job = describe(
            &problem,
            Data {
                x: cloud(43, 700, 3),
                y: None,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, &[]).expect(text);
        assert_eq!(difference(&got[0], &wanted[0], same), None, "{text}");
    }
}

/// Rows of numbers of 16 bits, as float16 containers hold them: multiplied as such where every
/// number is one, or where asked.
#[test]
#[ignore = "needs opencl"]
fn inner_products_of_16_bit_rows_are_those_of_single_precision() {
    let (device, _turn) = device();
    let cases = [
        (
            "sum(x * y)",
            37,
            Domain::Diagonal,
            LowPrecision::F16,
            "matrix",
        ),
        (
            "sum(x * y) / sqrt(sum(x * x) * sum(y * y))",
            9,
            Domain::Cross,
            LowPrecision::Bf16,
            "matrix",
        ),
        (
            "1 - sum(x * y) / sqrt(sum(x * x) * sum(y * y))",
            300,
            Domain::Triangle,
            LowPrecision::F16,
            "condensed",
        ),
        (
            "sum(x * y) + 1",
            64,
            Domain::Square,
            LowPrecision::Bf16,
            "matrix",
        ),
    ];
    let machine = zipfold::internals::cpu::detect(1, 1 << 32);
    for (pair, dim, cells, half, kind) in cases.into_iter().step_by(every(2)) {
        let text = format!("pair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"{kind}\" }}]");
        let problem = Problem {
            cells: Some(cells),
            ..problem(&text)
        };
        // Beyond the largest f16 where bf16 is to be found.
        let scale = if half == LowPrecision::F16 { 1.0 } else { 1e6 };
        let rounded = |t: Table| {
            let all = (0..t.rows() * t.cols())
                .map(|at| half.value(half.of(t.elements().get(at) as f32 * scale)));
            Table::f32(t.rows(), dim, all.collect()).unwrap()
        };
        let other = (cells == Domain::Cross).then(|| rounded(cloud(32, 190, dim)));
        let data = Data {
            x: rounded(cloud(31, 301, dim)),
            y: other,
            weights: vec![],
        };
        let job = describe(&problem, data).unwrap();
        let facts = list(Runtime::OpenCl)
            .ok()
            .and_then(|f| f.into_iter().next());
        if let Some(facts) = facts {
            let plan =
                zipfold::internals::plan::choose(&job, &machine, &Default::default()).unwrap();
            let plan = zipfold::internals::plan::device::plan_for(
                &job,
                plan,
                &facts,
                &Default::default(),
                None,
            )
            .unwrap();
            let Some(Work::Matrix(matrix)) = plan.device.map(|on| on.work) else {
                panic!("{pair}")
            };
            assert_eq!(matrix.kernel, Kernel::Products(half), "{pair}");
        }
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, &[]).unwrap();
        assert_eq!(
            difference(&got[0], &wanted[0], |a, b| (a - b).abs()
                <= 1e-5 * b.abs().max(1.0)),
            None,
            "{pair} {dim} {half:?}"
        );
    }
    // Numbers of single precision are rounded where asked, and only there.
    let problem = problem("pair = { formula = \"sum(x * y)\" }\nfolds = [{ kind = \"matrix\" }]");
    let job = describe(
        &problem,
        Data {
            x: cloud(33, 150, 20),
            y: None,
            weights: vec![],
        },
    )
    .unwrap();
    let wanted = numbers(&job, &oracle::run(&job).unwrap());
    let plain = on_device(&problem, &job, device, &[]).unwrap();
    let asked = on_device(&problem, &job, device, &[("dense.input", "bf16")]).unwrap();
    assert_eq!(
        difference(&plain[0], &wanted[0], |a, b| close(a, b, 1e-5)),
        None
    );
    assert!(
        difference(&asked[0], &wanted[0], |a, b| close(a, b, 1e-5)).is_some(),
        "nothing was rounded"
    );
    assert_eq!(
        difference(&asked[0], &wanted[0], |a, b| (a - b).abs() <= 1.0),
        None
    );
}

/// Rows too short for slices of components, and formulas without one loop: whole cells by thread,
/// under every map.
#[test]
#[ignore = "needs opencl"]
fn short_rows_have_the_bits_of_the_oracle_under_every_map() {
    let (device, _turn) = device();
    let maps = ["bb", "utm", "rb", "rec", "ltm"];
    let (by, roots) = (
        [("tile.by", "block"), ("tile.by", "thread")],
        ["sqrt", "newton", "reciprocal", "table"],
    );
    let mut sets: Vec<Vec<(&str, &str)>> = vec![];
    for map in maps {
        let fits = |by: &(&str, &str)| map != "rec" || by.1 == "block";
        sets.extend(
            by.iter()
                .filter(|by| fits(by))
                .map(|by| vec![("tile.map", map), *by]),
        );
    }
    sets.extend(
        roots[1..]
            .iter()
            .map(|root| vec![("tile.map", "ltm"), ("tile.root", *root)]),
    );
    let kinds = [
        ("matrix", Domain::Diagonal),
        ("condensed", Domain::Triangle),
        ("matrix", Domain::Triangle),
    ];
    for (at, set) in sets.iter_mut().enumerate() {
        let (kind, cells) = kinds[at % 3];
        if at % 4 == 0 {
            set.push(("device.tile", "128"));
        }
        let precision = [Precision::F64, Precision::F32][at % 2];
        let text =
            format!("pair = {{ metric = \"euclidean\" }}\nfolds = [{{ kind = \"{kind}\" }}]");
        let problem = Problem {
            cells: Some(cells),
            precision: Some(precision),
            ..problem(&text)
        };
        let job = describe(
            &problem,
            Data {
                x: cloud(8, 301, 1 + at % 4),
                y: None,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, set).unwrap();
        let single = precision == Precision::F32;
        let equal = |a: f64, b: f64| {
            if single {
                close(a, b, 1e-5)
            } else {
                same(a, b)
            }
        };
        assert_eq!(
            difference(&got[0], &wanted[0], equal),
            None,
            "{set:?} {kind}"
        );
    }
}

/// Rows, results and both in device memory that is made small: tile by tile, in halves, and on the
/// host where nothing fits.
#[test]
#[ignore = "needs opencl"]
fn memory_that_is_too_small_changes_no_answer() {
    let (device, _turn) = device();
    let (x, y) = (cloud(9, 2300, 3), cloud(10, 1900, 3));
    let cases = [
        (FOLDS[0], Domain::Triangle, "120000"),
        (FOLDS[4], Domain::Cross, "150000"),
        (FOLDS[7], Domain::Cross, "400000"),
        (r#"{ kind = "matrix" }"#, Domain::Diagonal, "900000"),
        (
            r#"{ kind = "reduce", op = "sum" }"#,
            Domain::Triangle,
            "200000",
        ),
        (FOLDS[11], Domain::Ordered, "3000"),
    ];
    for (fold, cells, bytes) in cases {
        let problem = Problem {
            cells: Some(cells),
            ..problem(&format!("folds = [{fold}]"))
        };
        let y = (cells == Domain::Cross).then(|| y.clone());
        let job = describe(
            &problem,
            Data {
                x: x.clone(),
                y,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let exact = !fold.contains("sum") && !fold.contains("matrix");
        let equal = |a: f64, b: f64| if exact { same(a, b) } else { close(a, b, 1e-5) };
        let got = on_device(&problem, &job, device, &[("device.memory", bytes)]).unwrap();
        assert_eq!(
            difference(&got[0], &wanted[0], equal),
            None,
            "{fold} in {bytes} bytes"
        );
    }
}

/// The rows of one tile at a time, at every family's addresses.
#[test]
#[ignore = "needs opencl"]
fn streamed_rows_are_found_at_their_places() {
    let (device, _turn) = device();
    let folds = [
        FOLDS[0],
        FOLDS[5],
        FOLDS[7],
        FOLDS[3],
        r#"{ kind = "matrix" }"#,
    ];
    for (at, fold) in folds.into_iter().enumerate() {
        for dim in [2, 40] {
            if dim == 40 && ![0, 1, 4].contains(&at) {
                continue;
            }
            let cells = [Domain::Triangle, Domain::Ordered, Domain::Square][at % 3];
            let problem = Problem {
                cells: Some(cells),
                precision: Some(Precision::F64),
                ..problem(&format!("folds = [{fold}]"))
            };
            let job = describe(
                &problem,
                Data {
                    x: cloud(12, 700, dim),
                    y: None,
                    weights: vec![],
                },
            )
            .unwrap();
            let wanted = numbers(&job, &oracle::run(&job).unwrap());
            let set = [("device.rows", "streamed"), ("device.tile", "256")];
            let got = on_device(&problem, &job, device, &set).unwrap();
            assert_eq!(difference(&got[0], &wanted[0], same), None, "{fold} {dim}");
        }
    }
}

/// A device that is lost in the middle: the host goes on, with the same answer.
#[test]
#[ignore = "needs opencl"]
fn the_host_goes_on_where_a_device_is_lost() {
    let (device, _turn) = device();
    for fold in [FOLDS[0], FOLDS[4], r#"{ kind = "matrix" }"#] {
        let problem = Problem {
            precision: Some(Precision::F64),
            ..problem(&format!("folds = [{fold}]"))
        };
        let job = describe(
            &problem,
            Data {
                x: cloud(13, 900, 3),
                y: None,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let set = [("device.launches", "3"), ("device.tile", "256")];
        let got = on_device(&problem, &job, device, &set).unwrap();
        assert_eq!(difference(&got[0], &wanted[0], same), None, "{fold}");
    }
}

/// A source that the device's compiler refuses: the host answers, and a warning names the compiler
/// and who goes on.
#[test]
#[ignore = "needs opencl"]
fn the_host_answers_where_generated_code_does_not_compile() {
    let (device, _turn) = device();
    for fold in [
        FOLDS[0],
        FOLDS[4],
        FOLDS[7],
        FOLDS[11],
        r#"{ kind = "matrix" }"#,
        r#"{ kind = "top", k = 3 }"#,
    ] {
        let problem = Problem {
            precision: Some(Precision::F64),
            ..problem(&format!("folds = [{fold}]"))
        };
        let job = describe(
            &problem,
            Data {
                x: cloud(13, 300, 3),
                y: None,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let done = outcome_of(&problem, &job, device, &[("device.compiles", "0")]).unwrap();
        assert_eq!(
            difference(
                &of_output(&job.folds[0], &done.outputs[0]),
                &wanted[0],
                same
            ),
            None,
            "{fold}"
        );
        assert_eq!(done.plan.backend, "cpu", "{fold}");
        let said: Vec<String> = done.warnings.iter().map(ToString::to_string).collect();
        let told = |w: &String| {
            w.contains("refused a generated kernel") && w.contains("on the host's processor")
        };
        assert!(said.iter().any(told), "{fold}: {said:?}");
    }
}

#[test]
#[ignore = "needs opencl"]
fn dense_tiles_have_the_bits_of_the_oracle_under_every_map() {
    let (device, _turn) = device();
    let x = cloud(5, 300, 37);
    let metrics = [
        "cityblock",
        "euclidean",
        "chebyshev",
        "cosine",
        "braycurtis",
        "canberra",
        "correlation",
    ];
    let maps = ["bb", "ltm", "utm", "rb", "rec"];
    // Each metric under one shape and precision in turn: kernels are large, and PoCL compiles them
    // slowly.
    for (at, metric) in metrics.iter().enumerate().step_by(every(7)) {
        let cells = [Domain::Diagonal, Domain::Square, Domain::Triangle][at % 3];
        let precision = [Precision::F64, Precision::F32][at % 2];
        let text = format!("pair = {{ metric = \"{metric}\" }}\nfolds = [{{ kind = \"matrix\" }}]");
        let problem = Problem {
            cells: Some(cells),
            precision: Some(precision),
            ..problem(&text)
        };
        let job = describe(
            &problem,
            Data {
                x: x.clone(),
                y: None,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let sets: &[(&str, &str)] = &[("tile.map", maps[at % 5]), ("device.tile", "128")];
        for set in sets.iter().take(if at == 0 { 3 - every(2) } else { 1 }) {
            let got = on_device(&problem, &job, device, &[*set]).unwrap();
            let single = precision == Precision::F32;
            let equal = |a: f64, b: f64| {
                if single {
                    close(a, b, 1e-5)
                } else {
                    same(a, b)
                }
            };
            let odd = difference(&got[0], &wanted[0], equal);
            assert!(
                odd.is_none(),
                "{metric} {cells:?} {precision:?} {set:?}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

#[test]
#[ignore = "needs opencl"]
fn sums_of_single_precision_rows_stay_within_their_bound() {
    let (device, _turn) = device();
    let x = cloud(6, 900, 3);
    for op in ["sum", "mean"] {
        let text = format!(
            "pair = {{ formula = \"exp(-sum((x - y)^2))\" }}\nfolds = [{{ kind = \"reduce\", op = \"{op}\" }}]"
        );
        let problem = problem(&text);
        let job = describe(
            &problem,
            Data {
                x: x.clone(),
                y: None,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, &[]).unwrap();
        assert_eq!(
            difference(&got[0], &wanted[0], |a, b| close(a, b, 1e-5)),
            None
        );
    }
}

/// Ranges of histograms are found on the device, by its folds, with the bits of the host; no pair
/// is outside of them.
#[test]
#[ignore = "needs opencl"]
fn ranges_are_found_on_the_device() {
    let (device, _turn) = device();
    let mut lcg = Lcg::new(5);
    let items: Vec<f64> = (0..1200).map(|_| lcg.below(30) as f64 * 0.1).collect();
    let tables = [
        Table::f64(400, 3, items.clone()).unwrap(),
        Table::f32(24, 50, items.iter().map(|v| *v as f32).collect()).unwrap(),
    ];
    for (pair, x) in [
        ("metric = \"euclidean\"", 0),
        ("metric = \"cityblock\"", 1),
        ("formula = \"x[0] - y[1]\"", 0),
    ] {
        let fold = "{ kind = \"histogram\", axes = [{ bins = 30 }] }";
        let text =
            format!("schema = 1\nx = {{ name = \"x\" }}\npair = {{ {pair} }}\nfolds = [{fold}]\n");
        let problem: Problem = toml::from_str(&text).unwrap();
        let data = Data {
            x: tables[x].clone(),
            y: None,
            weights: vec![None],
        };
        let on = |device| Options {
            threads: 1,
            device,
            ..Options::default()
        };
        let host = zipfold::internals::ranges::find(&problem, &data, &on(Wanted::Cpu)).unwrap();
        let ranged = zipfold::internals::ranges::find(&problem, &data, &on(device)).unwrap();
        assert_eq!(ranged.problem, host.problem, "{pair}");
        let found = ranged.found.unwrap();
        assert!(
            found.plans.iter().all(|plan| plan.backend != "cpu"),
            "{pair}: {:?}",
            found.plans
        );
        let job = describe(&ranged.problem, data.clone()).unwrap();
        let counts = &on_device(&ranged.problem, &job, device, &[]).unwrap()[0][0].1;
        assert_eq!((counts[0], counts[31]), (0.0, 0.0), "{pair}");
        assert_eq!(
            counts.iter().sum::<f64>(),
            job.space.size().unwrap() as f64,
            "{pair}"
        );
    }
}

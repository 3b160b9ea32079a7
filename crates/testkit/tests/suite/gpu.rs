//! Every case that holds the CPU holds each device present.

mod groups;
mod lost;
mod products;
mod pruned;
mod tiles;

use crate::nudged;
use std::sync::{Mutex, MutexGuard};
use zipfold::internals::device::{DeviceSelector, Runtime, Which, find, list};
use zipfold::internals::run::run;
use zipfold::{Options, Target};
use zipfold_core::fold::{Fold, ReduceOp};
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
pub(crate) fn device() -> (DeviceSelector, MutexGuard<'static, ()>) {
    let turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Ok(name) = std::env::var("ZIPFOLD_TEST_DEVICE") {
        return (DeviceSelector::parse(&name).unwrap(), turn);
    }
    match list(Runtime::OpenCl) {
        Ok(found) if !found.is_empty() => (
            DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
            turn,
        ),
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
    device: DeviceSelector,
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

/// Checks that what a device answered has the bits of the oracle and counts its pairs, without a
/// warning.
pub(crate) fn check_bits(problem: &Problem, job: &Job, outcome: &zipfold::Outcome, what: &str) {
    let answer = oracle::run(job).unwrap();
    let got = all_numbers(job, outcome);
    for (got, wanted) in got.iter().zip(&numbers(job, &answer)) {
        let odd = difference(got, wanted, same);
        assert!(
            odd.is_none(),
            "{what}: {} {problem:?}",
            odd.unwrap_or_default()
        );
    }
    let (tally, wanted) = (&outcome.tally, &answer.tally);
    assert_eq!(
        [tally.counted, tally.beyond_cutoff, tally.nan],
        [wanted.counted, wanted.beyond_cutoff, wanted.nan],
        "{what}"
    );
    let warnings = warnings_but_of_time(outcome);
    assert!(warnings.is_empty(), "{what}: {warnings:?}");
}

/// The warnings of an outcome without the one of a device that was far slower than predicted: a
/// busy machine takes seconds to compile kernels.
pub(crate) fn warnings_but_of_time(outcome: &zipfold::Outcome) -> Vec<String> {
    let texts = outcome.warnings.iter().map(ToString::to_string);
    texts
        .filter(|text| !text.contains("s were predicted"))
        .collect()
}

/// What a device answers. An answer that the host gave in its place is an error, but where a choice
/// asks for that.
pub(crate) fn answered(
    problem: &Problem,
    job: &Job,
    device: DeviceSelector,
    set: &[(&str, &str)],
) -> Result<zipfold::Outcome, zipfold::Error> {
    let outcome = outcome_of(problem, job, device, set)?;
    let asked_for = set
        .iter()
        .any(|(key, _)| ["fault.launches", "device.memory", "fault.compiles"].contains(key));
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
    device: DeviceSelector,
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
            ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Logsumexp | ReduceOp::Softmax
        )
    };
    match fold {
        Fold::Reduce(f) if summed(f.op) => |a, b| close(a, b, 1e-12),
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
fn cutoff() {
    check("cutoff");
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
    let DeviceSelector::Devices(runtime, which) = wanted else {
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
        let pairs = job.space.n * job.space.m;
        let mut pair = oracle::PairValues::new(&job);
        let mut values = vec![];
        for at in 0..pairs {
            pair.get(at / job.space.m, at % job.space.m, &mut values);
            for (root, (text, exact)) in texts.iter().enumerate() {
                let (g, w) = (got[root * pairs + at], values[root][0]);
                let near = !exact
                    && (close(g, w, 1e-6)
                        || nudged::explains(
                            &job,
                            text,
                            (at / job.space.m, at % job.space.m),
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
            pairs: None,
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

/// The problem described for one table, without weights.
fn alone(problem: &Problem, x: Table) -> Job {
    let data = Data {
        pairs: None,
        x,
        y: None,
        weights: vec![],
    };
    describe(problem, data).unwrap()
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
    r#"{ kind = "join", where = "euclidean(x, y) < 1.5" }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 9 and abs(x[0] - y[0]) < 1", value = "x[1]" }"#,
    r#"{ kind = "join", where = "euclidean(x, y) < 0.2", join_kind = "semi" }"#,
    r#"{ kind = "join", where = "x[0] < y[0]" }"#,
    r#"{ kind = "reduce", op = "argmin" }"#,
    r#"{ kind = "reduce", op = "max", axis = "column" }"#,
    r#"{ kind = "reduce", op = "count" }"#,
];

#[test]
#[ignore = "needs opencl"]
fn exact_folds_of_single_precision_rows_are_exact() {
    let (device, _turn) = device();
    let (x, y) = (cloud(3, 1100, 3), cloud(4, 700, 3));
    let mut failures = vec![];
    for (at, fold) in FOLDS.iter().enumerate().step_by(every(4)) {
        for domain in [Domain::Cross, [Domain::Triangle, Domain::Ordered][at % 2]] {
            let asymmetric = fold.contains("x[0] < y[0]") || fold.contains("\"x[1]\"");
            if domain == Domain::Triangle && asymmetric {
                continue;
            }
            let problem = Problem {
                domain: Some(domain),
                ..problem(&format!("folds = [{fold}]"))
            };
            let y = (domain == Domain::Cross).then(|| y.clone());
            let job = describe(
                &problem,
                Data {
                    pairs: None,
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
                ("join.output", "count"),
                ("load.vector", ["2", "1"][at / 4 % 2]),
            ];
            let sets = [&[][..], &inputs[..], &by_hand[..]];
            for set in &sets[if domain == Domain::Cross { 0..2 } else { 2..3 }] {
                let got = on_device(&problem, &job, device, set).unwrap();
                let odd = difference(&got[0], &wanted[0], same);
                failures.extend(odd.map(|d| format!("{fold} {domain:?} {set:?}: {d}")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
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
        let job = alone(&problem, x.clone());
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
            pairs: None,
            x: tables[x].clone(),
            y: None,
            weights: vec![None],
        };
        let on = |device| Options {
            threads: 1,
            device,
            ..Options::default()
        };
        let host =
            zipfold::internals::ranges::find(&problem, &data, &on(DeviceSelector::Cpu)).unwrap();
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

//! Random questions on a device beside the oracle. Counts, joins, neighbours and extremes must be
//! those of the oracle to the bit, sums and matrices within rounding. Every source also compiles
//! for NVIDIA architectures.

use crate::gpu::{all_numbers, answered, device, every, on_device, outcome_of};
use std::collections::BTreeSet;
use std::fmt::Write;
use zipfold::devices::{DeviceSelector, Facts, Runtime};
use zipfold::internals::plan::device::rounding::is_exact;
use zipfold_core::fold::{Fold, ReduceOp};
use zipfold_core::problem::{NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Precision, Table, describe, oracle};
use zipfold_testkit::compare::{Numbers, close, difference, same};
use zipfold_testkit::runner::numbers;
use zipfold_testkit::{Lcg, Question, specification};

/// How many data a question is asked of: its kernels are compiled once.
const DATA: usize = 10;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no whole number: {text}"))
    })
}

/// The questions of part `part` of two. `ZIPFOLD_PROBLEMS` says how many problems there are in all,
/// `ZIPFOLD_SEED` the first question.
fn questions(part: u64, problems: u64) -> impl Iterator<Item = Question> {
    let (first, problems) = (
        number("ZIPFOLD_SEED").unwrap_or(1),
        number("ZIPFOLD_PROBLEMS").unwrap_or(problems),
    );
    let count = problems.div_ceil(DATA as u64);
    (first..first + count)
        .filter(move |seed| seed % 2 == part)
        .map(Question::new)
}

/// What came of the problems of some questions.
#[derive(Default)]
struct Told {
    asked: usize,
    on_device: usize,
    failures: Vec<String>,
}

impl Told {
    fn ask(&mut self, question: &Question, at: usize, device: DeviceSelector) {
        let data = question.data(at);
        let options = zipfold::Options {
            threads: 1,
            ..Default::default()
        };
        // Questions that zipfold refuses, whatever answers them, are none of a device.
        let Ok(problem) =
            zipfold::internals::ranges::with_ranges(&question.problem, &data, &options)
        else {
            return;
        };
        let Ok(job) = describe(&problem, data) else {
            return;
        };
        let Ok(answer) = oracle::run(&job) else {
            return;
        };
        self.asked += 1;
        let wanted = numbers(&job, &answer);
        let (n, m, d) = (job.space.n, job.space.m, job.low.dim);
        let what = format!(
            "ZIPFOLD_SEED={} data {at}, {n} x {m} of {d}, {:?} {problem:?}",
            question.seed, question.set
        );
        let set = set_of(question, &job);
        match answered(&problem, &job, device, &set) {
            Ok(outcome) => {
                self.on_device += usize::from(outcome.plan.backend != "cpu");
                let got = all_numbers(&job, &outcome);
                let single = (job.precision == Precision::F32).then(|| on_host(&problem, &job));
                for (fold, f) in job.folds.iter().enumerate() {
                    let host = single.as_ref().map(|host| &host[fold]);
                    let odd = odd(&job, f, &got[fold], &wanted[fold], host);
                    let odd = odd.filter(|_| {
                        host.is_some() || !specification::differences(&job, &got).is_empty()
                    });
                    self.failures
                        .extend(odd.map(|d| format!("{what}: fold {fold}: {d}")));
                }
            }
            // A value that is NaN, which the policy refuses; the oracle takes it.
            Err(e)
                if e.blame() == zipfold::Blame::Input
                    && job.nan == NanPolicy::Error
                    && answer.tally.first_nan.is_some() => {}
            // A choice by hand that this question, or this device, has no room for.
            Err(e) if e.blame() == zipfold::Blame::Request && !set.is_empty() => {}
            Err(e) => self.failures.push(format!("{what}: {e}")),
        }
    }
}

/// The choices of a question; one of three that bounds can prune is pruned.
fn set_of(question: &Question, job: &Job) -> Vec<(&'static str, &'static str)> {
    let mut set = question.set.clone();
    let pruned =
        question.seed.is_multiple_of(3) && zipfold::internals::plan::prune::mode(job).is_some();
    set.extend(pruned.then_some(("prune", "on")));
    set
}

fn on_host(problem: &Problem, job: &Job) -> Vec<Numbers> {
    all_numbers(
        job,
        &outcome_of(problem, job, DeviceSelector::Cpu, &[]).unwrap(),
    )
}

/// What differs in `got`: decisions have the bits of the oracle. Sums, and values of functions, are
/// within 10⁻⁹ of the largest; what `host` answers in single precision within 10⁻⁵ of it, or four
/// times as far off as the host.
fn odd(
    job: &Job,
    fold: &Fold,
    got: &Numbers,
    wanted: &Numbers,
    host: Option<&Numbers>,
) -> Option<String> {
    let adds = matches!(fold, Fold::Reduce(f) if matches!(f.op, ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Logsumexp | ReduceOp::Softmax));
    // Sums by bin are whole numbers; only functions that devices round otherwise change a mean.
    let rounds = adds
        || fold.is_dense()
        || matches!(fold, Fold::Histogram(h) if h.mean && !is_exact(&job.low));
    if !rounds || (!adds && fold.is_dense() && is_exact(&job.low) && host.is_none()) {
        return difference(got, wanted, same);
    }
    let finite = |numbers: &Numbers| {
        numbers
            .iter()
            .flat_map(|(_, v)| v)
            .filter(|v| v.is_finite())
            .fold(0.0f64, |a, v| a.max(v.abs()))
    };
    let most = finite(wanted);
    let Some(host) = host else {
        return difference(got, wanted, |a, b| {
            close(a, b, 1e-9) || (a - b).abs() <= 1e-9 * most
        });
    };
    let mut found = None;
    for ((part, got), ((_, wanted), (_, host))) in got.iter().zip(wanted.iter().zip(host)) {
        for (at, ((a, b), h)) in got.iter().zip(wanted).zip(host).enumerate() {
            let within =
                close(*a, *b, 1e-5) || (a - b).abs() <= (1e-5 * most).max(4.0 * (h - b).abs());
            if !within && h.is_finite() && found.is_none() {
                found = Some(format!(
                    "{part}[{at}] is {a:e}, wanted {b:e}, {h:e} on the host"
                ));
            }
        }
    }
    found
}

/// Asks 350 problems, half of all; `ZIPFOLD_PROBLEMS=10000 ZIPFOLD_TEST_DEVICE=cuda` is for a GPU.
fn random(part: u64) {
    let (device, _turn) = device();
    let mut told = Told::default();
    for question in questions(part, 700) {
        for at in 0..DATA {
            let asked = std::panic::AssertUnwindSafe(|| told.ask(&question, at, device));
            if std::panic::catch_unwind(asked).is_err() {
                told.failures.push(format!(
                    "ZIPFOLD_SEED={} data {at} {:?}: a panic",
                    question.seed, question.problem
                ));
            }
        }
    }
    let Told {
        asked,
        on_device,
        failures,
    } = told;
    println!(
        "{asked} problems, {on_device} answered by the device, {} wrong",
        failures.len()
    );
    assert!(
        failures.is_empty(),
        "{} of {asked} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(
        on_device * 10 > asked * 6,
        "only {on_device} of {asked} problems were answered by the device"
    );
}

#[test]
#[ignore = "needs opencl"]
fn random_questions_of_even_numbers_have_the_answers_of_the_oracle() {
    random(0);
}

#[test]
#[ignore = "needs opencl"]
fn random_questions_of_odd_numbers_have_the_answers_of_the_oracle() {
    random(1);
}

/// Sources of random questions compile for NVIDIA architectures, in turn: 32 of half of the questions,
/// all of 300 questions where `ZIPFOLD_LONG` is set.
fn compile_sources(part: u64) {
    use zipfold::internals::gpu::runtime::nvrtc;
    assert!(nvrtc::is_present(), "no libnvrtc");
    let (mut seen, mut failures) = (BTreeSet::new(), String::new());
    for question in questions(part, 300 * DATA as u64) {
        if seen.len() >= 32 && every(2) > 1 {
            break;
        }
        let data = question.data(0);
        let options = zipfold::Options {
            threads: 1,
            ..Default::default()
        };
        let Ok(problem) =
            zipfold::internals::ranges::with_ranges(&question.problem, &data, &options)
        else {
            continue;
        };
        let Ok(job) = describe(&problem, data.clone()) else {
            continue;
        };
        let overrides = zipfold::Overrides::read(set_of(&question, &job)).unwrap();
        let Ok(plan) = zipfold::internals::plan::choose(
            &job,
            &zipfold::internals::cpu::detect(1, 1 << 32),
            &overrides,
        ) else {
            continue;
        };
        let arch = [80, 90, 100][seen.len() % 3];
        let facts = Facts {
            capability: arch,
            ..Facts::described(Runtime::Cuda)
        };
        let ranges = zipfold::internals::gpu::rows::data_facts(
            &job,
            std::slice::from_ref(&facts),
            &overrides,
        );
        let plan = zipfold::internals::plan::device::plan_for(
            &job,
            plan,
            &facts,
            &overrides,
            ranges.as_ref(),
        );
        // Choices by hand that do not go together.
        let Ok(plan) = plan else { continue };
        for (name, source) in
            zipfold::internals::gpu::engine::sources(&job, &plan, Runtime::Cuda).unwrap()
        {
            if let (true, Err(e)) = (seen.insert(source.clone()), nvrtc::compile(&source, arch)) {
                let _ = writeln!(
                    failures,
                    "ZIPFOLD_SEED={} {name} sm_{arch}: {e}\n  {problem:?}",
                    question.seed
                );
            }
        }
    }
    println!("{} sources", seen.len());
    assert!(failures.is_empty(), "{failures}");
    assert!(seen.len() >= 32, "only {} sources", seen.len());
}

#[test]
#[ignore = "needs nvrtc"]
fn sources_of_even_random_questions_compile_for_nvidia() {
    compile_sources(0);
}

#[test]
#[ignore = "needs nvrtc"]
fn sources_of_odd_random_questions_compile_for_nvidia() {
    compile_sources(1);
}

/// Questions that went wrong once.
#[test]
#[ignore = "needs opencl"]
fn questions_that_went_wrong_are_right() {
    let (device, _turn) = device();
    let lcg = &mut Lcg::new(9);
    let cases = [
        // Values below the first edge, which is 0.
        (
            3,
            "sum(x * y)",
            "{ kind = \"histogram\", axes = [{ bins = 10, range = [0.0, 2.0] }] }",
            true,
        ),
        (
            64,
            "sum(x * y)",
            "{ kind = \"histogram\", axes = [{ bins = 10, range = [0.0, 2.0] }] }",
            true,
        ),
        (
            2,
            "x[0] - y[0]",
            "{ kind = \"histogram\", axes = [{ bins = 10, range = [0.0, 2.0] }] }",
            true,
        ),
        (
            3,
            "sqrt(sum(x*x) + sum(y*y) - 2*sum(x*y))",
            "{ kind = \"histogram\", axes = [{ bins = 10, range = [0.0, 2.0] }] }",
            true,
        ),
        // A reduction without a start in a dense tile.
        (
            12,
            "reduce(|a, b| max(a, b), abs(x - y))",
            "{ kind = \"matrix\" }",
            false,
        ),
        (
            16,
            "reduce(|a, b| a * 0.5 + b, x - y)",
            "{ kind = \"matrix\" }",
            true,
        ),
        // A branch of threads before the barrier of a join's next step: padded rows were taken for
        // rows.
        (
            16,
            "pearson(x, y)",
            "{ kind = \"join\", where = \"x[0] < y[0] and abs(x[0] - y[0]) < 0.3\" }",
            false,
        ),
        // Many bins beside rows of 31 numbers in double precision.
        (
            31,
            "euclidean(x, y)",
            "{ kind = \"histogram\", axes = [{ bins = 5000, range = [0.0, 9.0] }] }",
            false,
        ),
    ];
    for (d, formula, fold, single) in cases {
        let cutoff = if formula.starts_with("pearson") {
            "cutoff = 2.1\n"
        } else {
            ""
        };
        let text = format!(
            "schema = 1\nx = {{ name = \"x\" }}\npair = {{ formula = \"{formula}\" }}\nnan = \"skip\"\n{cutoff}folds = [{fold}]"
        );
        let mut problem: Problem = toml::from_str(&text).unwrap();
        problem.precision = Some(Precision::F64);
        let items: Vec<f64> = (0..300 * d).map(|_| lcg.between(-2.0, 2.0)).collect();
        let x = match single {
            true => Table::f32(300, d, items.iter().map(|v| *v as f32).collect()).unwrap(),
            false => Table::f64(300, d, items).unwrap(),
        };
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y: None,
                weights: vec![None],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got =
            on_device(&problem, &job, device, &[]).unwrap_or_else(|e| panic!("{formula}: {e}"));
        assert_eq!(
            difference(&got[0], &wanted[0], same),
            None,
            "{formula}, {fold}"
        );
    }
}

/// Sums by row have the same bits for every tiling: spans are those of the job, not of the device's
/// grid.
#[test]
#[ignore = "needs opencl"]
fn sums_have_the_same_bits_for_every_tile() {
    let (device, _turn) = device();
    let lcg = &mut Lcg::new(4);
    for (single, domain) in [
        (false, Domain::Cross),
        (true, Domain::Diagonal),
        (false, Domain::Square),
    ] {
        let text = "schema = 1\nx = { name = \"x\" }\npair = { formula = \"exp(-sum((x - y)^2) * 10)\" }\nfolds = [{ kind = \"reduce\", op = \"sum\" }]";
        let mut problem: Problem = toml::from_str(text).unwrap();
        problem.domain = Some(domain);
        let table = |lcg: &mut Lcg| {
            let items: Vec<f64> = (0..3300 * 3).map(|_| lcg.unit()).collect();
            match single {
                true => Table::f32(3300, 3, items.iter().map(|v| *v as f32).collect()).unwrap(),
                false => Table::f64(3300, 3, items).unwrap(),
            }
        };
        let x = table(lcg);
        let y = (domain == Domain::Cross).then(|| table(lcg));
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y,
                weights: vec![None],
            },
        )
        .unwrap();
        let whole = on_device(&problem, &job, device, &[]).unwrap();
        for tile in ["128", "1000", "2048"] {
            let got = on_device(&problem, &job, device, &[("device.tile", tile)]).unwrap();
            assert_eq!(
                difference(&got[0], &whole[0], same),
                None,
                "{domain:?}, tiles of {tile}"
            );
        }
    }
}

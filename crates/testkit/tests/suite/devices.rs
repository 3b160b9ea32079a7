//! Several devices in one run: the bits of one device for every fold, also where some are lost, and
//! where a run goes on with others. PoCL gives as many devices as its environment says, so these
//! tests run in a process of their own.

use crate::gpu::{all_numbers, device, every, warnings_but_of_time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use zipfold::Outcome;
use zipfold::Overrides;
use zipfold::internals::device::{DeviceSelector, find};
use zipfold::internals::run::run;
use zipfold::{Options, Target};
use zipfold_core::problem::{FoldSpec, Problem};
use zipfold_core::{Data, Domain, Job, Precision, Table, describe};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{Numbers, difference, same};

/// What says that this process has several devices.
const SEVERAL: &str = "ZIPFOLD_SEVERAL_DEVICES";

/// The devices by their first `count`, for counts from 1 on; none in a process that has one device,
/// where the test `me` was run in another process instead.
fn several(me: &str) -> Vec<DeviceSelector> {
    let named = std::env::var("ZIPFOLD_TEST_DEVICE").is_ok();
    if !named && std::env::var_os(SEVERAL).is_none() {
        // The last of them has as many threads as the machine has cores.
        let done = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                &format!("devices::{me}"),
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .envs([(SEVERAL, "1"), ("POCL_DEVICES", "basic basic pthread")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stdout).to_string()
            + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
        return vec![];
    }
    let DeviceSelector::Devices(runtime, which) = device().0 else {
        panic!("no device")
    };
    let name = runtime.name();
    let all = if named {
        find(runtime, which).unwrap()
    } else {
        zipfold::devices::list(runtime).unwrap()
    };
    assert!(named || all.len() == 3, "{} devices", all.len());
    let ids: Vec<String> = all.iter().map(|facts| facts.index.to_string()).collect();
    (1..=ids.len())
        .map(|count| DeviceSelector::parse(&format!("{name}:{}", ids[..count].join(","))).unwrap())
        .collect()
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

fn asked(folds: &str, domain: Domain, rows: usize) -> (Problem, Job) {
    let text = format!("schema = 1\nx = {{ name = \"x\" }}\nfolds = [{folds}]");
    let problem: Problem = toml::from_str(&text).unwrap();
    let problem = Problem {
        domain: Some(domain),
        ..problem
    };
    let y = (domain == Domain::Cross).then(|| cloud(42, rows - 200, 3));
    let other = y.as_ref().map_or(rows, Table::rows);
    let weights = |fold: &FoldSpec| match fold {
        FoldSpec::Reduce {
            weights: Some(_), ..
        }
        | FoldSpec::Histogram {
            weights: Some(_), ..
        } => Some([weights_of(rows), weights_of(other)]),
        _ => None,
    };
    let made = problem.folds.iter().map(weights).collect();
    let job = describe(
        &problem,
        Data {
            pairs: None,
            x: cloud(41, rows, 3),
            y,
            weights: made,
        },
    )
    .unwrap();
    (problem, job)
}

fn weights_of(rows: usize) -> Table {
    let mut lcg = Lcg::new(6);
    Table::f64(rows, 1, (0..rows).map(|_| lcg.unit()).collect()).unwrap()
}

fn ran((problem, job): &(Problem, Job), device: DeviceSelector, set: &[(&str, &str)]) -> Outcome {
    let overrides = Overrides::read(set.iter().copied()).unwrap();
    ran_by(
        problem,
        job,
        &Options {
            threads: 2,
            device,
            overrides,
            ..Options::default()
        },
    )
    .unwrap()
}

fn ran_by(problem: &Problem, job: &Job, options: &Options<'_>) -> zipfold::Result<Outcome> {
    let machine = zipfold::internals::cpu::detect(options.threads, 1 << 32);
    let plan = zipfold::internals::plan::choose(job, &machine, &options.overrides)?;
    run(problem, job, plan, &Target::Memory, options)
}

fn equal(job: &Job, got: &Outcome, wanted: &[Numbers], what: &str) {
    for (got, wanted) in all_numbers(job, got).iter().zip(wanted) {
        assert_eq!(difference(got, wanted, same), None, "{what}");
    }
}

const FOLDS: [&str; 18] = [
    r#"{ kind = "matrix" }"#,
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 13.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ edges = [0.0, 0.5, 1.0, 3.0, 9.0] }], weights = "w", mean = true }"#,
    r#"{ kind = "nearest", k = 10 }"#,
    r#"{ kind = "nearest", k = 40, largest = true }"#,
    r#"{ kind = "join", where = "euclidean(x, y) < 1.5" }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 9", value = "x[1] + y[1]" }"#,
    r#"{ kind = "join", where = "euclidean(x, y) < 0.2", join_kind = "semi" }"#,
    r#"{ kind = "join", where = "euclidean(x, y) < 0.2", join_kind = "anti" }"#,
    r#"{ kind = "reduce", op = "sum" }"#,
    r#"{ kind = "reduce", op = "mean", axis = "column" }"#,
    r#"{ kind = "reduce", op = "sum", axis = "all" }"#,
    r#"{ kind = "reduce", op = "argmin" }"#,
    r#"{ kind = "reduce", op = "count" }"#,
    r#"{ kind = "reduce", op = "logsumexp" }"#,
    r#"{ kind = "reduce", op = "softmax", weights = { name = "w" } }"#,
    r#"{ kind = "top", k = 9 }"#,
    r#"{ kind = "nearest", k = 3 }, { kind = "reduce", op = "max" }"#,
];

#[test]
#[ignore = "needs opencl"]
fn several_devices_have_the_bits_of_one() {
    for wanted in several("several_devices_have_the_bits_of_one").chunks(3) {
        for (at, folds) in FOLDS.iter().enumerate() {
            let domains = [Domain::Triangle, Domain::Cross, Domain::Ordered];
            let domain = if at == 7 || at == 8 {
                Domain::Cross
            } else {
                domains[at % 3]
            };
            let asked = asked(folds, domain, 900);
            // A tile of its own for each, those that the plan makes for their number, and blocks.
            let tile = ("device.tile", "256");
            let sets = [
                &[tile, ("batch", "1")][..],
                &[],
                &[tile, ("device.rows", "block")],
                &[tile, ("device.rows", "overlap")],
            ];
            // PoCL compiles the kernels of each: the plan's, and one of the others in turn.
            let turn = [0, 2, 3][at / 3 % 3];
            let chosen = |which: usize| every(3) == 1 || which == 1 || which == turn;
            for set in (0..sets.len())
                .filter(|which| chosen(*which))
                .map(|which| sets[which])
            {
                let one = ran(&asked, wanted[0], set);
                let numbers = all_numbers(&asked.1, &one);
                for device in &wanted[1..] {
                    let got = ran(&asked, *device, set);
                    let what = format!("{folds} {domain:?} {device:?} {set:?}");
                    assert!(
                        got.plan.backend.contains(','),
                        "{what}: {}",
                        got.plan.backend
                    );
                    let warnings = warnings_but_of_time(&got);
                    assert!(warnings.is_empty(), "{what}: {warnings:?}");
                    equal(&asked.1, &got, &numbers, &what);
                }
            }
        }
    }
}

/// Runs until the faulty devices have all had batches.
const TURNS: usize = 50;

/// One, two or all of the devices are lost in mid-run, or none of their kernels compile, or one has
/// little memory.
#[test]
#[ignore = "needs opencl"]
fn lost_devices_leave_their_tiles_to_the_others() {
    let wanted = several("lost_devices_leave_their_tiles_to_the_others");
    let Some(all) = wanted.last().filter(|_| wanted.len() > 1) else {
        return;
    };
    let count = wanted.len();
    for folds in [FOLDS[1], FOLDS[3], FOLDS[5], FOLDS[9], FOLDS[0]] {
        // Tiles of sums are as wide as their spans.
        let rows = if folds == FOLDS[9] { 4200 } else { 900 };
        let (problem, _) = asked(folds, Domain::Triangle, rows);
        let problem = Problem {
            precision: Some(Precision::F64),
            ..problem
        };
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x: cloud(41, rows, 3),
                y: None,
                weights: vec![None],
            },
        )
        .unwrap();
        let asked = (problem, job);
        let small = [("device.tile", "128"), ("batch", "1")];
        let one = all_numbers(&asked.1, &ran(&asked, wanted[0], &small));
        for drill in [
            ("fault.launches", "3"),
            ("fault.launches", "0"),
            ("fault.compiles", "0"),
        ] {
            for faulty in 1..=count {
                let many = faulty.to_string();
                let set = [small[0], small[1], drill, ("fault.devices", &many)];
                // A device that the others leave no batch to is not lost: such a run is right and
                // shows nothing, and is made again.
                let exact = (0..TURNS).any(|_| {
                    let got = ran(&asked, *all, &set);
                    let said = warnings_but_of_time(&got);
                    let what = format!("{folds} {set:?}: {} {said:?}", got.plan.backend);
                    let others = said
                        .iter()
                        .filter(|w| w.contains("on the other device"))
                        .count();
                    let host = said.iter().any(|w| w.contains("on the host's processor"));
                    let lost = said.len();
                    assert!(lost <= faulty, "{what}");
                    assert_eq!(
                        (host, others),
                        (lost == count, lost.min(count - 1)),
                        "{what}"
                    );
                    // A sum of the host is one of other spans, within rounding.
                    if !(host && folds == FOLDS[9]) {
                        equal(&asked.1, &got, &one, &what);
                    }
                    lost == faulty
                });
                assert!(
                    exact,
                    "{folds} {set:?}: not all of the faulty devices were lost in {TURNS} runs"
                );
            }
        }
        for rows in ["block", "overlap"] {
            let set = [
                small[0],
                ("device.rows", rows),
                ("fault.devices", "1"),
                ("fault.launches", "2"),
            ];
            let whose = if rows == "block" {
                "host"
            } else {
                "other device"
            };
            // As above: a neighbour may take the tiles of the faulty device before it launches twice.
            let lost = (0..TURNS).any(|_| {
                let got = ran(&asked, *all, &set);
                let said = warnings_but_of_time(&got);
                let what = format!("{folds} in {rows}: {said:?}");
                if !(rows == "block" && folds == FOLDS[9]) {
                    equal(&asked.1, &got, &one, &what);
                }
                assert!(said.iter().all(|w| w.contains(whose)), "{what}");
                assert!(said.len() <= 1, "{what}");
                said.len() == 1
            });
            assert!(
                lost,
                "{folds} in {rows}: the device was not lost in {TURNS} runs"
            );
        }
        let poor = [
            small[0],
            small[1],
            ("device.memory", "60000"),
            ("fault.devices", "1"),
        ];
        equal(&asked.1, &ran(&asked, *all, &poor), &one, "little memory");
    }
}

/// A run that is interrupted goes on with fewer and with more devices, tile by tile as it began.
#[test]
#[ignore = "needs opencl"]
fn a_run_goes_on_with_another_number_of_devices() {
    let wanted = several("a_run_goes_on_with_another_number_of_devices");
    let folder = std::env::temp_dir().join(format!("zipfold-devices-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut resumed = 0;
    for folds in [FOLDS[1], FOLDS[3], FOLDS[9], FOLDS[0]]
        .into_iter()
        .filter(|_| !wanted.is_empty())
    {
        let (problem, job) = asked(folds, Domain::Cross, 4200);
        let small = Overrides::read([("batch", "1"), ("device.tile", "512")]).unwrap();
        let whole = Options {
            threads: 2,
            device: wanted[0],
            overrides: small.clone(),
            ..Options::default()
        };
        let one = all_numbers(&job, &ran_by(&problem, &job, &whole).unwrap());
        let path = folder.join(format!("run{}", folds.len()));
        for (at, device) in [wanted.len() - 1, 0]
            .into_iter()
            .chain(0..wanted.len())
            .enumerate()
        {
            let (stop, more) = (AtomicBool::new(false), at < 2);
            let tell = |_: zipfold::Progress| stop.store(more, Ordering::Relaxed);
            let options = Options {
                checkpoint: Some(path.clone()),
                checkpoint_every: Duration::ZERO,
                resume: true,
                progress: Some(&tell),
                stop: Some(&stop),
                device: wanted[device],
                threads: 2,
                overrides: small.clone(),
                ..Options::default()
            };
            match ran_by(&problem, &job, &options) {
                // Batches behind a slow one may all be done when it is.
                Ok(done) => {
                    resumed += usize::from(done.before > 0);
                    equal(&job, &done, &one, folds);
                    break;
                }
                Err(e) => assert!(
                    more && e.blame() == zipfold::Blame::Interrupted,
                    "{folds}: {e}"
                ),
            }
        }
    }
    assert!(wanted.is_empty() || resumed > 1, "{resumed} runs went on");
    std::fs::remove_dir_all(folder).unwrap();
}

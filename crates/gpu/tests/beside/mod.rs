//! What tests of folds on a device share: the device, the oracle beside it, and what differs.

use zipfold_core::fold::{Fold, State, Tally};
use zipfold_core::problem::Problem;
use zipfold_core::{Job, Random, oracle};
use zipfold_gpu::rows::data_facts;
use zipfold_gpu::{DeviceSelector, Engine, Runtime, open, open_all};
use zipfold_plan::device::{self, DeviceWork};
use zipfold_plan::executor::{Executor, Nowhere, Stop};
use zipfold_plan::{Machine, Overrides, Plan, choose};

/// The device of the test.
pub(crate) fn device() -> zipfold_gpu::Device {
    match std::env::var("ZIPFOLD_TEST_DEVICE").map(|name| DeviceSelector::parse(&name)) {
        Ok(Ok(DeviceSelector::Devices(runtime, which))) => {
            open_all(runtime, which).expect("a device").remove(0)
        }
        _ => open(Runtime::OpenCl, 0).expect("an OpenCL device"),
    }
}

/// A whole number below `end`.
pub(crate) fn below(random: &mut Random, end: usize) -> usize {
    (random.bits() % end as u64) as usize
}

/// A problem over a table x.
pub(crate) fn problem(text: &str) -> Problem {
    toml::from_str(&format!("schema = 1\nx = {{ name = \"x\" }}\n{text}")).unwrap()
}

/// The numbers of a state, column by column.
fn numbers(job: &Job, fold: &Fold, state: &State) -> Vec<f64> {
    let answer = fold.columns(state, job.space.n, job.space.m).unwrap();
    let columns = answer.columns.iter().map(|column| answer.all(column));
    columns
        .flat_map(|c| (0..c.len()).map(|at| c.get(at)).collect::<Vec<f64>>())
        .collect()
}

/// The plan for a device, with the facts of the rows.
pub(crate) fn planned(job: &Job, device: &zipfold_gpu::Device, set: &[(&str, &str)]) -> Plan {
    let overrides = Overrides::read(set.iter().copied()).unwrap();
    let plan = choose(job, &Machine::default(), &overrides).unwrap();
    let rows = data_facts(job, std::slice::from_ref(&device.facts), &overrides);
    device::plan_for(job, plan, &device.facts, &overrides, rows.as_ref()).unwrap()
}

/// What is wrong with the answer of the device, which must fold `job` itself.
pub(crate) fn odd(job: &Job, set: &[(&str, &str)], bound: f64) -> Option<String> {
    let device = device();
    let plan = planned(job, &device, set);
    let work = &plan.device.as_ref().unwrap().work;
    if !matches!(work, DeviceWork::Sweeps(folds) if folds.len() == job.folds.len()) {
        return Some(format!("{work:?}"));
    }
    let engine = match Engine::load(job, &plan, (device, 0), None) {
        Ok(engine) => engine,
        Err(e) => return Some(e.to_string()),
    };
    let wanted = oracle::run(job).unwrap();
    let (n, m) = (job.space.n, job.space.m);
    let mut states: Vec<State> = job.folds.iter().map(|fold| fold.start(n, m)).collect();
    // Batches of two tiles, merged in their order.
    let tiles = plan.tiling.tiles(&job.space);
    let mut tally = Tally::default();
    for batch in tiles.chunks(2) {
        let found = engine.run(batch, &Nowhere, Stop::default()).unwrap();
        tally.merge(&found.tally);
        for ((fold, state), part) in job.folds.iter().zip(&mut states).zip(found.states) {
            fold.merge(state, part);
        }
    }
    if tally.counted != wanted.tally.counted {
        return Some(format!("{} pairs", tally.counted));
    }
    if tally.beyond_cutoff != wanted.tally.beyond_cutoff {
        return Some(format!("{} pairs beyond", tally.beyond_cutoff));
    }
    let mut each = job.folds.iter().zip(states.iter().zip(&wanted.states));
    each.find_map(|(fold, (got, wanted))| {
        let (mut got, mut wanted) = (numbers(job, fold, got), numbers(job, fold, wanted));
        if matches!(fold, Fold::Join(_)) {
            // Matches of a batch come in any order.
            got.sort_by(f64::total_cmp);
            wanted.sort_by(f64::total_cmp);
        }
        let same = |a: f64, b: f64| {
            a.to_bits() == b.to_bits()
                || (a.is_nan() && b.is_nan())
                || (a - b).abs() <= bound * b.abs().max(1.0)
        };
        let at = (0..got.len().max(wanted.len())).find(|at| {
            got.get(*at)
                .zip(wanted.get(*at))
                .is_none_or(|(a, b)| !same(*a, *b))
        })?;
        Some(format!(
            "{at}: {:?}, wanted {:?}",
            got.get(at),
            wanted.get(at)
        ))
    })
}

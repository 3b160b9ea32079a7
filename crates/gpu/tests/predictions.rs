//! What the planner predicts of the workloads of the record, beside what was measured.

#[path = "../examples/device_rate/works.rs"]
mod works;

use zipfold_gpu::{Facts, Runtime};
use zipfold_plan::{Machine, Overrides, choose, device};

/// How far a prediction may be from the measured time, as a factor.
const WITHIN: f64 = 1.25;

/// Predicted seconds of a workload on an H200 whose matrix units take rows in this way. Few rows are
/// described, and counted as all of them.
fn predicted(work: &works::Work, units: &str) -> f64 {
    let mut job = works::job(work, 64, usize::MAX).unwrap();
    (job.space.n, job.space.m) = (work.1, if work.2 == 0 { work.1 } else { work.2 });
    let pairs = work.7.split(',').filter_map(|c| c.split_once('='));
    // Warpgroups do not take all numbers.
    let pairs = pairs.chain((units == "warp").then_some(("matrix.units", units)));
    let overrides = Overrides::read(pairs).unwrap();
    let facts = Facts::described(Runtime::Cuda);
    let plan = choose(&job, &Machine::default(), &overrides).unwrap();
    let plan = device::plan_for(&job, plan, &facts, &overrides, None).unwrap();
    device::kernel_seconds(&job, &facts, plan.pairs, &plan.device.unwrap().work)
}

/// The text of `"key":…` in a line of JSON, up to a comma or brace.
fn number(line: &str, key: &str) -> Option<f64> {
    let from = line.find(&format!("\"{key}\":"))? + key.len() + 3;
    let rest = &line[from..];
    rest[..rest.find([',', '}'])?].trim().parse().ok()
}

fn is_of(line: &str, work: &works::Work) -> bool {
    let rows = if work.2 == 0 { work.1 } else { work.2 };
    let numbers = [("n", work.1), ("m", rows), ("d", work.3)];
    // The record has the names of its day.
    let set = work.7.replace("join.output", "select.output");
    let texts = line.contains(&format!("\"work\":\"{}\",\"set\":\"{set}\"", work.0));
    texts
        && numbers
            .iter()
            .all(|(key, v)| number(line, key) == Some(*v as f64))
}

/// What is predicted of `works`, by matrix units that take rows in this way, further than a quarter from
/// what `record` measured.
fn far<'w>(works: impl Iterator<Item = &'w works::Work>, record: &str, units: &str) -> Vec<String> {
    let measured = |line: &&str| line.contains("\"seconds\":");
    // Records are written with and without spaces.
    let lines: Vec<String> = record
        .lines()
        .filter(measured)
        .map(|line| line.replace("\": ", "\":").replace(", \"", ",\""))
        .collect();
    let mut far = vec![];
    for work in works {
        let Some(line) = lines.iter().find(|l| is_of(l, work)) else {
            far.push(format!("{} {} is not in the record", work.0, work.7));
            continue;
        };
        let (predicted, measured) = (predicted(work, units), number(line, "seconds").unwrap());
        let ratio = predicted / measured;
        println!("{ratio:.2} {} n = {} {}", work.0, work.1, work.7);
        if !(1.0 / WITHIN..=WITHIN).contains(&ratio) {
            far.push(format!(
                "{} n = {} {}: {predicted} s predicted, {measured} s measured",
                work.0, work.1, work.7
            ));
        }
    }
    far
}

/// Every workload of the newest record is predicted within a quarter.
#[test]
fn workloads_of_the_record_are_predicted_within_a_quarter() {
    let record = include_str!("../../../bench/records/h200/2026-11-21-second.json");
    let far = far(works::WORKS.iter(), record, "warp");
    assert!(far.is_empty(), "{}", far.join("\n"));
}

/// Images, cut-offs and bins of any spacing, by what the planner picks, on an H100 whose units are
/// those of an H200.
#[test]
fn filters_of_the_record_are_predicted_within_a_quarter() {
    let record = include_str!("../../../bench/records/h100/2026-11-26-filters.jsonl");
    let picked = works::filters::WORKS.iter().filter(|w| !w.7.contains('='));
    let far = far(picked, record, "warpgroup");
    assert!(far.is_empty(), "{}", far.join("\n"));
}

/// Matrices by matrix units, on an H100 whose units are those of an H200.
#[test]
fn products_of_the_record_are_predicted_within_a_quarter() {
    let record = include_str!("../../../bench/records/h100/2026-11-26-warpgroups.jsonl");
    let of_units = |work: &&works::Work| {
        work.0.starts_with("dense dot")
            && (work.0.contains("f16") || work.7.contains("dense.input"))
    };
    let far = far(works::WORKS.iter().filter(of_units), record, "warpgroup");
    assert!(far.is_empty(), "{}", far.join("\n"));
}

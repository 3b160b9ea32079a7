//! Random buckets of the sum-product paper (section 7.2.2) on a device: `buckets FILE.jsonl DEVICE
//! [COUNT=40]`.
//!
//! Each line of the file has `dom`, `scopes`, `summed` and `flop`, the paper's count; COUNT of them
//! are taken evenly over their complexity. All tables stay on the device. By bucket and type:
//! seconds of the plan's joins one after another, of the paper's kernel with its cache, and of that
//! kernel with the caches of the hardware alone; the seconds that its model predicts; the bytes of
//! all tables once. Each time is the median of five, host clock around the work and the wait for
//! it.

use std::time::Instant;
use zipfold_core::{Precision, Random, Result};
use zipfold_gpu::contract::Contractor;
use zipfold_gpu::paged::{Bucket, Contraction, Unroll};
use zipfold_gpu::{Device, DeviceSelector, find, open};
use zipfold_product::cpu::Fold;
use zipfold_product::cpu::bucket::Mode;
use zipfold_product::cpu::shape::Shape;
use zipfold_product::plan::paged::{Knapsack, Paged, Unit};
use zipfold_product::plan::{Options, Pass, Plan, Rates, Reduced, Source, Table, plan};
use zipfold_product::remote::{Items, ItemsMut, Numbers, Remote};

#[derive(serde::Deserialize)]
struct Line {
    dom: Vec<usize>,
    scopes: Vec<Vec<usize>>,
    summed: Vec<usize>,
    flop: f64,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, device, rest @ ..] = &args[..] else {
        eprintln!("usage: buckets FILE.jsonl DEVICE [COUNT]");
        return Ok(());
    };
    let count: usize = rest.first().and_then(|c| c.parse().ok()).unwrap_or(40);
    let DeviceSelector::Devices(runtime, which) = DeviceSelector::parse(device)? else {
        return Ok(());
    };
    let index = find(runtime, which)?[0].index;
    let text = std::fs::read_to_string(file).expect("the file of buckets");
    let mut lines: Vec<Line> = text
        .lines()
        .map(|l| serde_json::from_str(l).expect("a bucket"))
        .collect();
    lines.retain(|l| {
        l.flop > 1e6 && entries(l, &kept(l)) < 2e9 && l.scopes.iter().all(|s| entries(l, s) < 1e9)
    });
    lines.sort_by(|a, b| a.flop.total_cmp(&b.flop));
    let count = count.min(lines.len());
    for at in 0..count {
        let line = &lines[at * (lines.len() - 1) / (count - 1).max(1)];
        for precision in [Precision::F32, Precision::F64] {
            match measure(
                line,
                precision,
                open(runtime, index)?,
                open(runtime, index)?,
            ) {
                Ok(row) => println!("{row}"),
                Err(e) => println!(
                    "{}",
                    serde_json::json!({"flop": line.flop, "error": e.to_string()})
                ),
            }
        }
    }
    Ok(())
}

fn entries(line: &Line, scope: &[usize]) -> f64 {
    scope.iter().map(|v| line.dom[*v] as f64).product()
}

fn kept(line: &Line) -> Vec<usize> {
    let held = |v: &usize| line.scopes.iter().any(|s| s.contains(v));
    (0..line.dom.len())
        .filter(|v| !line.summed.contains(v) && held(v))
        .collect()
}

fn planned(line: &Line) -> Result<Plan> {
    let reduced = Reduced::as_given(
        &line.dom,
        line.scopes
            .iter()
            .map(|s| Table {
                scope: s.clone(),
                values: Vec::new(),
            })
            .collect(),
    );
    let options = Options {
        seed: 1,
        order_seconds: None,
        patience: Options::PATIENCE,
        memory: 60 << 30,
        held: 0,
        time_limit: 1e9,
        pass: Pass::Forward,
        rates: Rates::default(),
    };
    plan(&reduced, &kept(line), &options)
}

fn measure(
    line: &Line,
    precision: Precision,
    device: Device,
    other: Device,
) -> Result<serde_json::Value> {
    let plan = planned(line)?;
    let bytes = if precision == Precision::F32 {
        4.0
    } else {
        8.0
    };
    let once = bytes
        * (line.scopes.iter().map(|s| entries(line, s)).sum::<f64>() + entries(line, &kept(line)));
    let contractor = Contractor::new(device, precision)?;
    let joins = joins(&plan, &contractor, precision)?;
    let rank: Vec<u32> = plan.rank.clone();
    let sorted = |scope: &[usize]| {
        let mut scope = scope.to_vec();
        scope.sort_by_key(|v| rank[*v]);
        scope
    };
    let scopes: Vec<Vec<usize>> = line.scopes.iter().map(|s| sorted(s)).collect();
    let shape = Shape::new(
        &scopes.iter().map(|s| &s[..]).collect::<Vec<_>>(),
        &sorted(&kept(line)),
        &rank,
        &line.dom,
    );
    let mut row = serde_json::json!({"flop": line.flop, "type": format!("{precision:?}"), "tables": line.scopes.len(), "once": once,
        "joins": joins});
    for (name, knapsack) in [
        ("greedy", Knapsack::Greedy),
        ("exact", Knapsack::Exact),
        ("none", Knapsack::None),
    ] {
        let told = match paged(&shape, precision, &other, knapsack) {
            Ok((seconds, plan)) => {
                serde_json::json!({"seconds": seconds, "predicted": plan.seconds, "page": plan.page,
                "pages_per_block": plan.pages_per_block, "segments": plan.segments, "intensity": plan.traffic.intensity()})
            }
            Err(e) => {
                serde_json::json!({"error": e.to_string().chars().take(200).collect::<String>()})
            }
        };
        row[name] = told;
    }
    Ok(row)
}

/// The middle of five times.
fn median(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    call()?;
    let mut times = vec![];
    for _ in 0..5 {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[2])
}

fn numbers(len: usize) -> Vec<f64> {
    let mut random = Random::new(len as u64);
    let some: Vec<f64> = (0..len.min(1 << 16))
        .map(|_| 0.1 + 0.9 * random.unit())
        .collect();
    some.iter().copied().cycle().take(len).collect()
}

/// Seconds of all joins, and of each with its operations and the sizes of its tables.
fn joins(plan: &Plan, contractor: &Contractor, precision: Precision) -> Result<serde_json::Value> {
    let mut tables: Vec<Option<Numbers>> = Vec::new();
    let mut shapes = Vec::new();
    for node in &plan.nodes {
        let len: usize = node.scope.iter().map(|v| plan.cards[*v]).product();
        match &node.source {
            Source::Input(_) => {
                let values = numbers(len);
                let singles: Vec<f32> = values.iter().map(|v| *v as f32).collect();
                let items = if precision == Precision::F32 {
                    Items::F32(&singles)
                } else {
                    Items::F64(&values)
                };
                tables.push(Some(contractor.send(items)?));
            }
            Source::Join(inputs) => {
                let scopes: Vec<&[usize]> =
                    inputs.iter().map(|n| &plan.nodes[*n].scope[..]).collect();
                let shape = Shape::new(&scopes, &node.scope, &plan.rank, &plan.cards);
                let held: Vec<&Numbers> =
                    inputs.iter().filter_map(|n| tables[*n].as_ref()).collect();
                let made = contractor.contract(&shape, &held, Fold::Sum)?;
                shapes.push((shape, inputs.clone()));
                tables.push(Some(made));
            }
        }
    }
    let all = median(|| {
        for (shape, inputs) in &shapes {
            let held: Vec<&Numbers> = inputs.iter().filter_map(|n| tables[*n].as_ref()).collect();
            contractor.contract(shape, &held, Fold::Sum)?;
        }
        contractor.finish()
    })?;
    let mut each = vec![];
    for (shape, inputs) in &shapes {
        let held: Vec<&Numbers> = inputs.iter().filter_map(|n| tables[*n].as_ref()).collect();
        let seconds = median(|| {
            contractor.contract(shape, &held, Fold::Sum)?;
            contractor.finish()
        })?;
        let digits: Vec<String> = shape
            .digits
            .iter()
            .map(|d| describe(d, shape.inputs))
            .collect();
        each.push(
            serde_json::json!({"visits": shape.visits(), "out": shape.out_len, "seconds": seconds,
            "digits": digits.join(" ")}),
        );
    }
    let mut some = [0.0f32; 1];
    if let (Some(Some(last)), Precision::F32) = (tables.last(), precision) {
        contractor.bring(last, ItemsMut::F32(&mut some))?;
    }
    Ok(serde_json::json!({"seconds": all, "each": each}))
}

fn describe(d: &zipfold_product::cpu::shape::Digit, inputs: usize) -> String {
    let held: String = (0..inputs)
        .map(|f| if d.strides[f] > 0 { '1' } else { '0' })
        .collect();
    format!("{}{}:{held}", if d.summed { "S" } else { "" }, d.card)
}

fn paged(
    shape: &Shape,
    precision: Precision,
    device: &Device,
    knapsack: Knapsack,
) -> Result<(f64, Paged)> {
    let bytes = if precision == Precision::F32 { 4 } else { 8 };
    let facts = &device.facts;
    let lanes = if precision == Precision::F32 {
        128.0
    } else {
        64.0
    };
    let unit = Unit {
        entries: facts.shared / bytes / 2,
        threads: 256,
        blocks: 8 * facts.units,
        operations: 2.0 * lanes * facts.units as f64 * facts.clock,
        memory: 3e12 / bytes as f64,
    };
    let plan = Paged::new(&shape.bucket(), &unit, knapsack);
    let bucket = Bucket {
        shape: shape.clone(),
        plan: plan.clone(),
        mode: Mode::Sum,
        precision,
        unroll: Unroll::Whole,
    };
    let contraction = Contraction::new(device, &bucket)?;
    let len = |f: usize| {
        1 + shape
            .digits
            .iter()
            .map(|d| (d.card - 1) * d.strides[f])
            .sum::<usize>()
    };
    let upload = |f: usize| match precision {
        Precision::F64 => device.upload(&numbers(len(f))),
        Precision::F32 => device.upload(
            &numbers(len(f))
                .iter()
                .map(|v| *v as f32)
                .collect::<Vec<f32>>(),
        ),
    };
    let tables = (0..shape.inputs).map(upload).collect::<Result<Vec<_>>>()?;
    let out = device.allocate(shape.out_len * bytes)?;
    let inputs: Vec<_> = tables.iter().collect();
    let seconds = median(|| {
        contraction.run(device, &inputs, &out)?;
        device.finish()
    })?;
    Ok((seconds, plan))
}

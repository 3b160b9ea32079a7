//! Rates of device kernels: `device_rate [cuda|opencl[:i]] [small] [NAME|edm] [+key=value,…]…`. One
//! JSON line a workload; dense results stay on the device. With choices after `+`, the workloads of
//! that name without choices of their own are run with each of them.

mod folds;
mod products;
mod wide;
mod works;

use works::{L2, WORKS, Work};
use zipfold_core::{Domain, Job};
use zipfold_gpu::rows::data_facts;
use zipfold_gpu::{DeviceSelector, Engine, find, open};
use zipfold_plan::parts::tiles_of_run;
use zipfold_plan::{
    Machine, Overrides, Plan, Tile, choose, device::groups::swept_whole, device::plan_for,
};

/// Loads a workload with choices, and hands it on.
fn with_engine<R>(
    work: &Work,
    set: &str,
    wanted: DeviceSelector,
    small: bool,
    then: impl FnOnce(&Job, &Plan, &Engine<'_>) -> zipfold_core::Result<R>,
) -> zipfold_core::Result<R> {
    let job = if small {
        works::job(work, 2000, 64)
    } else {
        works::job(work, usize::MAX, usize::MAX)
    }?;
    let DeviceSelector::Devices(runtime, which) = wanted else {
        return Err(zipfold_core::Error::request(
            "a device is wanted: cuda or opencl",
        ));
    };
    let device = open(runtime, find(runtime, which)?[0].index)?;
    let pairs = set.split(',').filter_map(|c| c.split_once('='));
    // Tiles as they are: what bounds leave has no rate by pairs.
    let tile = (1usize << 20).to_string();
    let overrides = Overrides::read([("device.tile", tile.as_str()), ("prune", "off")])?
        .and(&Overrides::read(pairs)?);
    let rows = data_facts(
        &swept_whole(&job),
        std::slice::from_ref(&device.facts),
        &overrides,
    );
    let plan = plan_for(
        &job,
        choose(&job, &Machine::default(), &overrides)?,
        &device.facts,
        &overrides,
        rows.as_ref(),
    )?;
    let engine = Engine::load(&job, &plan, (device, 0), None)?;
    then(&job, &plan, &engine)
}

/// The median of the seconds of a workload.
fn seconds_of(
    work: &Work,
    set: &str,
    wanted: DeviceSelector,
    small: bool,
) -> zipfold_core::Result<f64> {
    with_engine(work, set, wanted, small, |job, plan, engine| {
        let mut seconds = timed(engine, &tiles_of_run(job, plan), if small { 1 } else { 5 })?;
        seconds.sort_by(f64::total_cmp);
        Ok(seconds[seconds.len() / 2])
    })
}

fn measure(
    work: &Work,
    set: &str,
    wanted: DeviceSelector,
    small: bool,
) -> zipfold_core::Result<String> {
    with_engine(work, set, wanted, small, |job, plan, engine| {
        report(work, set, small, (job, plan, engine))
    })
}

fn report(
    work: &Work,
    set: &str,
    small: bool,
    (job, plan, engine): (&Job, &Plan, &Engine<'_>),
) -> zipfold_core::Result<String> {
    let tiles = tiles_of_run(job, plan);
    let repeats = if small { 1 } else { 5 };
    let mut seconds = timed(engine, &tiles, repeats)?;
    seconds.sort_by(f64::total_cmp);
    let s = seconds[seconds.len() / 2];
    let on = plan
        .device
        .as_ref()
        .ok_or_else(|| zipfold_core::Error::internal("a plan for the host"))?;
    let pairs = job.pairs()? as f64;
    let dims = if engine.family() == "dense" {
        job.low.dim as f64
    } else {
        1.0
    };
    Ok(format!(
        "{{\"work\":\"{}\",\"set\":\"{}\",\"family\":\"{}\",\"n\":{},\"m\":{},\"d\":{},\"predicted\":{:.5},\"seconds\":{s:.5},\"least\":{:.5},\"giga_per_second\":{:.1}}}",
        work.0,
        set,
        engine.family(),
        job.space.n,
        job.space.m,
        job.low.dim,
        // Dense results stay on the device, so the prediction for kernels stands beside them.
        zipfold_plan::device::kernel_seconds(
            &swept_whole(job),
            engine.facts(),
            plan.pairs,
            &on.work
        ),
        seconds[0],
        pairs * dims / s / 1e9
    ))
}

/// Seconds of so many measurements; short kernels are launched many times in each.
fn timed(engine: &Engine<'_>, tiles: &[Tile], repeats: usize) -> zipfold_core::Result<Vec<f64>> {
    let once = engine.time(tiles, 1)?;
    let launches = if engine.family() == "dense" && repeats > 1 {
        (0.02 / once.max(1e-6)).clamp(1.0, 200.0)
    } else {
        1.0
    };
    (0..repeats)
        .map(|_| engine.time(tiles, launches as usize))
        .collect()
}

const HALF: &str = r#"{ kind = "condensed" }"#;

/// Choices of the triangle maps, the bounding box by block first: others are told as times faster
/// than it.
const MAPS: [&str; 11] = [
    "tile.map=bb",
    "tile.map=bb,tile.by=thread",
    "tile.map=ltm",
    "tile.map=ltm,tile.root=newton",
    "tile.map=ltm,tile.root=reciprocal",
    "tile.map=ltm,tile.root=table",
    "tile.map=utm",
    "tile.map=utm,tile.by=thread",
    "tile.map=rb",
    "tile.map=rb,tile.by=thread",
    "tile.map=rec",
];
const ROWS: [usize; 9] = [1024, 2048, 4096, 8192, 12288, 16384, 20480, 25600, 30720];

/// I(n) of the triangle paper: Euclidean matrices of 1 to 4 features, one half, by every map.
fn triangles(wanted: DeviceSelector, small: bool) {
    for d in 1..=4 {
        for n in ROWS.into_iter().filter(|n| !small || *n == 1024) {
            let mut box_seconds = None;
            for set in MAPS {
                let work = ("edm", n, 0, d, Domain::Triangle, L2, HALF, set);
                let line = seconds_of(&work, set, wanted, small).map(|s| {
                    let first = *box_seconds.get_or_insert(s);
                    format!("{{\"work\":\"edm\",\"d\":{d},\"n\":{n},\"set\":\"{set}\",\"seconds\":{s:.7},\"improvement\":{:.3}}}", first / s)
                });
                println!(
                    "{}",
                    line.unwrap_or_else(|e| format!(
                        "{{\"work\":\"edm\",\"set\":\"{set}\",\"error\":{:?}}}",
                        e.to_string()
                    ))
                );
            }
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wanted = DeviceSelector::parse(args.first().map_or("cuda", String::as_str));
    let small = args.iter().any(|a| a == "small");
    let only = args
        .iter()
        .skip(1)
        .find(|a| *a != "small" && !a.starts_with('+'));
    if only.is_some_and(|o| o == "edm") {
        if let Ok(wanted) = wanted {
            triangles(wanted, small);
        }
        return;
    }
    let sets: Vec<&str> = args.iter().filter_map(|a| a.strip_prefix('+')).collect();
    for work in WORKS
        .iter()
        .chain(&folds::WORKS)
        .chain(&wide::WORKS)
        .chain(&works::filters::WORKS)
        .chain(&products::WORKS)
        .filter(|w| only.is_none_or(|o| w.0.contains(o.as_str())))
    {
        let mut run = vec![work.7];
        if !sets.is_empty() {
            run = if work.7.is_empty() {
                sets.clone()
            } else {
                vec![]
            };
        }
        for set in run {
            match wanted.clone().and_then(|w| measure(work, set, w, small)) {
                Ok(line) => println!("{line}"),
                Err(e) => println!(
                    "{{\"work\":\"{}\",\"set\":\"{set}\",\"error\":{:?}}}",
                    work.0,
                    e.to_string()
                ),
            }
        }
    }
}

//! Rates of device kernels: `device_rate [cuda|opencl[:i]] [small] [NAME|edm] [+key=value,…]…`. One JSON line a workload; dense
//! results stay on the device. With choices after `+`, the workloads of that name without choices of their own are run with
//! each of them.

use std::collections::BTreeMap;
use zipfold_core::problem::Problem;
use zipfold_core::{Cells, Data, Job, Precision, Table, describe};
use zipfold_gpu::{Engine, Wanted, open};
use zipfold_plan::half::Half;
use zipfold_plan::{Machine, Plan, Tile, choose, device::plan_for};

/// A workload: name, rows of x, rows of y (0: x itself), components, cells, pair, fold, choices.
type Work = (&'static str, usize, usize, usize, Cells, &'static str, &'static str, &'static str);

const DENSE: &str = r#"{ kind = "matrix" }"#;
const HALF: &str = r#"{ kind = "condensed" }"#;
const SDH: [&str; 3] = [
    r#"{ kind = "histogram", axes = [{ bins = 50, range = [0.0, 1.7320508] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 1000, range = [0.0, 1.7320508] }] }"#,
];
const SUM: &str = r#"{ kind = "reduce", op = "sum" }"#;
const MIN: &str = r#"{ kind = "reduce", op = "min" }"#;
const LSE: &str = r#"{ kind = "reduce", op = "logsumexp" }"#;
const KNN: &str = r#"{ kind = "nearest", k = 10 }"#;
const JOIN: &str = r#"{ kind = "select", predicate = "sum((x - y)^2) < 0.00001" }"#;
const NEAR: [&str; 5] = [
    r#"{ kind = "select", predicate = "sum((x - y)^2) < 0.25" }"#,
    r#"{ kind = "select", predicate = "sum((x - y)^2) < 3.4" }"#,
    r#"{ kind = "select", predicate = "sum((x - y)^2) < 10.9" }"#,
    r#"{ kind = "select", predicate = "sum((x - y)^2) < 64.1" }"#,
    r#"{ kind = "select", predicate = "sum((x - y)^2) < 0.1" }"#,
];
const ANGLE: &str = r#"{ kind = "select", predicate = "cosine(x, y) < 0.12" }"#;
const ANGLES: &str = "cosine(x, y)";
const COUNT: &str = r#"{ kind = "reduce", op = "count" }"#;
const L2: &str = "euclidean(x, y)";
const L1: &str = "cityblock(x, y)";
const N: usize = 16384;
const S: usize = 524_288;

const GAUSS: &str = "exp(-sum((x - y)^2) * 10)";
const FINE: &str = r#"{ kind = "histogram", axes = [{ bins = 1000000, range = [0.0, 1.7320508] }] }"#;
const WIDE: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 8.0] }] }"#;
const COS: &str = "1 - sum(x * y) / sqrt(sum(x * x) * sum(y * y))";
const CUBE: &str = "sum(abs(x - y)^3)";
const MILLION: usize = 1_000_000;

/// First what the planner picks, of every workload; variants by hand after it.
const WORKS: [Work; 89] = [
    ("dense dot f32", N, N, 512, Cells::Cross, "sum(x * y)", DENSE, ""),
    ("dense dot f32", N, N, 512, Cells::Cross, "sum(x * y)", DENSE, "dense.stages=0,dense.across=8,dense.slice=16"),
    ("dense cosine f32", N, N, 512, Cells::Cross, ANGLES, DENSE, ""),
    ("dense L1 f32", N, N, 512, Cells::Cross, L1, DENSE, ""),
    ("dense L1 f32", N, N, 512, Cells::Cross, L1, DENSE, "dense.stages=0"),
    ("dense L2 f32", N, N, 512, Cells::Cross, L2, DENSE, ""),
    ("dense p=3 f32", N, N, 512, Cells::Cross, CUBE, DENSE, ""),
    ("dense Chebyshev f32", N, N, 512, Cells::Cross, "chebyshev(x, y)", DENSE, ""),
    ("dense L1 f32 d=5419", 6000, 6000, 5419, Cells::Cross, L1, DENSE, ""),
    ("dense L2 f32 d=5419", 6000, 6000, 5419, Cells::Cross, L2, DENSE, ""),
    ("dense L1 f64", N / 2, N / 2, 512, Cells::Cross, L1, DENSE, "f64"),
    ("triangle L1 f32", N, 0, 512, Cells::Diagonal, L1, DENSE, ""),
    ("triangle L1 f32", N, 0, 512, Cells::Diagonal, L1, DENSE, "tile.map=ltm"),
    ("triangle L1 f32", N, 0, 512, Cells::Diagonal, L1, DENSE, "tile.map=utm"),
    ("triangle L1 f32", N, 0, 512, Cells::Diagonal, L1, DENSE, "tile.map=rec"),
    ("triangle L1 f32", N, 0, 512, Cells::Diagonal, L1, DENSE, "tile.map=bb"),
    ("sdh 50", S, 0, 3, Cells::Triangle, L2, SDH[0], ""),
    ("sdh 50", S, 0, 3, Cells::Triangle, L2, SDH[0], "bins=fast"),
    ("sdh 300", S, 0, 3, Cells::Triangle, L2, SDH[1], ""),
    ("sdh 300", S, 0, 3, Cells::Triangle, L2, SDH[1], "bins=fast"),
    ("sdh 300", S, 0, 3, Cells::Triangle, L2, SDH[1], "bins=fast,points.anchors=2,points.unroll=2"),
    ("sdh 300", S, 0, 3, Cells::Triangle, L2, SDH[1], "bins=fast,hist.copies=2"),
    ("sdh 300", S / 4, 0, 3, Cells::Triangle, L2, SDH[1], "hist.copies=0"),
    ("sdh 300", S / 4, 0, 3, Cells::Triangle, L2, SDH[1], "filter=off"),
    ("sdh 1000", S, 0, 3, Cells::Triangle, L2, SDH[2], ""),
    ("sdh 1000", S, 0, 3, Cells::Triangle, L2, SDH[2], "bins=fast"),
    ("sdh 1000000 bins", S / 4, 0, 3, Cells::Triangle, L2, FINE, ""),
    ("gaussian sum d=3", S, S, 3, Cells::Cross, GAUSS, SUM, ""),
    ("gaussian sum d=3", 2 * S, 2 * S, 3, Cells::Cross, GAUSS, SUM, ""),
    ("gaussian sum d=3", S, S, 3, Cells::Cross, GAUSS, SUM, "points.input=cache"),
    ("gaussian sum d=3", S, S, 3, Cells::Cross, GAUSS, SUM, "points.input=both"),
    ("gaussian sum d=3", S, S, 3, Cells::Cross, GAUSS, SUM, "points.input=shuffle"),
    ("logsumexp d=3", S / 4, S / 4, 3, Cells::Cross, L2, LSE, ""),
    ("logsumexp d=3", S, S, 3, Cells::Cross, L2, LSE, ""),
    ("row minimum L1 d=3", S, S, 3, Cells::Cross, L1, MIN, ""),
    ("row minimum L1 d=3", 2 * S, 2 * S, 3, Cells::Cross, L1, MIN, ""),
    ("nearest 10 d=3", S / 4, S, 3, Cells::Cross, L2, KNN, ""),
    ("nearest 10 d=3", S, S, 3, Cells::Cross, L2, KNN, ""),
    ("nearest 10 d=3", S, S, 3, Cells::Cross, L2, KNN, "points.input=cache"),
    ("nearest 10 d=3", S, S, 3, Cells::Cross, L2, KNN, "points.input=shuffle"),
    ("nearest 1000 d=3", S / 256, S / 4, 3, Cells::Cross, L2, r#"{ kind = "nearest", k = 1000 }"#, ""),
    ("nearest 1000 d=3", S / 16, S / 4, 3, Cells::Cross, L2, r#"{ kind = "nearest", k = 1000 }"#, ""),
    ("join 1M x 1M d=3", MILLION, MILLION, 3, Cells::Cross, L2, JOIN, ""),
    ("join 1M x 1M d=3", MILLION, MILLION, 3, Cells::Cross, L2, JOIN, "select.output=count"),
    ("row minimum d=64", S / 4, S / 4, 64, Cells::Cross, L1, MIN, ""),
    ("row minimum d=64", S / 4, S / 4, 64, Cells::Cross, L1, MIN, "fold.tiles=sweep"),
    ("nearest 10 d=64", S / 8, S / 8, 64, Cells::Cross, L2, KNN, ""),
    ("nearest 10 d=64", S / 8, S / 8, 64, Cells::Cross, L2, KNN, "fold.tiles=sweep"),
    ("gaussian sum d=64", S / 4, S / 4, 64, Cells::Cross, GAUSS, SUM, ""),
    ("gaussian sum d=64", S / 4, S / 4, 64, Cells::Cross, GAUSS, SUM, "fold.tiles=sweep"),
    ("histogram d=64", S / 4, 0, 64, Cells::Triangle, L2, WIDE, ""),
    ("histogram d=64", S / 4, 0, 64, Cells::Triangle, L2, WIDE, "fold.tiles=sweep"),
    ("row minimum d=16", S / 4, S / 4, 16, Cells::Cross, L1, MIN, ""),
    ("row minimum d=16", S / 4, S / 4, 16, Cells::Cross, L1, MIN, "fold.tiles=dense"),
    ("nearest 10 d=16", S / 8, S / 8, 16, Cells::Cross, L2, KNN, ""),
    ("nearest 10 d=16", S / 8, S / 8, 16, Cells::Cross, L2, KNN, "fold.tiles=dense"),
    ("gaussian sum d=16", S / 4, S / 4, 16, Cells::Cross, GAUSS, SUM, ""),
    ("gaussian sum d=16", S / 4, S / 4, 16, Cells::Cross, GAUSS, SUM, "fold.tiles=dense"),
    ("histogram d=16", S / 4, 0, 16, Cells::Triangle, L2, WIDE, ""),
    ("histogram d=16", S / 4, 0, 16, Cells::Triangle, L2, WIDE, "fold.tiles=dense"),
    ("join L2 d=12", S / 4, S / 4, 12, Cells::Cross, L2, NEAR[4], ""),
    ("join L2 d=12", S / 4, S / 4, 12, Cells::Cross, L2, NEAR[4], "fold.tiles=dense"),
    ("join L2 d=16", S / 4, S / 4, 16, Cells::Cross, L2, NEAR[0], ""),
    ("join L2 d=16", S / 4, S / 4, 16, Cells::Cross, L2, NEAR[0], "fold.tiles=sweep"),
    ("join L2 d=64", S / 4, S / 4, 64, Cells::Cross, L2, NEAR[1], ""),
    ("join L2 d=64", S / 4, S / 4, 64, Cells::Cross, L2, NEAR[1], "fold.tiles=sweep"),
    ("join L2 d=128", S / 4, S / 4, 128, Cells::Cross, L2, NEAR[2], ""),
    ("join L2 d=512", S / 4, S / 4, 512, Cells::Cross, L2, NEAR[3], ""),
    ("join cosine d=64", S / 4, S / 4, 64, Cells::Cross, ANGLES, ANGLE, ""),
    ("join cosine d=64", S / 4, S / 4, 64, Cells::Cross, ANGLES, ANGLE, "fold.tiles=sweep"),
    ("join cosine d=512", S / 4, S / 4, 512, Cells::Cross, ANGLES, ANGLE, ""),
    ("count L2 d=3", S, S, 3, Cells::Cross, "sum((x - y)^2) < 0.05", COUNT, ""),
    ("count L2 d=16", S / 4, S / 4, 16, Cells::Cross, "sum((x - y)^2) < 2", COUNT, ""),
    ("count L2 d=16", S / 4, S / 4, 16, Cells::Cross, "sum((x - y)^2) < 2", COUNT, "fold.tiles=sweep"),
    ("count L2 d=64", S / 4, S / 4, 64, Cells::Cross, "sum((x - y)^2) < 10", COUNT, ""),
    ("count L2 d=64", S / 4, S / 4, 64, Cells::Cross, "sum((x - y)^2) < 10", COUNT, "fold.tiles=sweep"),
    ("count L2 d=512", S / 4, S / 4, 512, Cells::Cross, "sum((x - y)^2) < 80", COUNT, ""),
    ("nearest 10 cosine d=64", S / 8, S / 8, 64, Cells::Cross, ANGLES, KNN, ""),
    ("dense dot f16", N, N, 512, Cells::Cross, "sum(x * y)", DENSE, ""),
    ("dense dot f16", N, N, 4096, Cells::Cross, "sum(x * y)", DENSE, ""),
    ("dense cosine f16", N, N, 512, Cells::Cross, COS, DENSE, ""),
    ("dense dot f32", N, N, 512, Cells::Cross, "sum(x * y)", DENSE, "dense.input=bf16"),
    ("triangle dot f16", N, 0, 512, Cells::Diagonal, "sum(x * y)", DENSE, ""),
    ("gaussian sum d=3", S, S, 3, Cells::Cross, GAUSS, SUM, "load.vector=1"),
    ("gaussian sum d=3", S, S, 3, Cells::Cross, GAUSS, SUM, "load.vector=2"),
    ("dense L1 f32", N, N, 512, Cells::Cross, L1, DENSE, "load.vector=1"),
    ("dense L1 f32", N, N, 512, Cells::Cross, L1, DENSE, "load.vector=2"),
    ("sdh 300", N, 0, 3, Cells::Triangle, L2, SDH[1], ""),
    ("sdh 300", N, 0, 3, Cells::Triangle, L2, SDH[1], "tile.diagonal=balanced"),
];

/// Random numbers of 0 to 1, as those of 16 bits where asked.
fn table(seed: u64, n: usize, d: usize, half: Option<Half>) -> Table {
    let mut state = seed;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let v = (state >> 40) as f32 / (1u32 << 24) as f32;
        half.map_or(v, |h| h.value(h.of(v)))
    };
    // INVARIANT: n·d numbers fill n rows of d.
    Table::f32(n, d, (0..n * d).map(|_| draw()).collect()).unwrap()
}

fn job(work: &Work, small: bool) -> zipfold_core::Result<Job> {
    let (_, n, m, d, cells, pair, fold, set) = *work;
    let scale = |v: usize| if small { v.min(2000) } else { v };
    let d = if small { d.min(64) } else { d };
    let text = format!("schema = 1\nx = {{ name = \"x\" }}\npair = {{ formula = \"{pair}\" }}\nfolds = [{fold}]");
    let problem: Problem = toml::from_str(&text).map_err(|e| zipfold_core::Error::request(e.to_string()))?;
    let precision = if set.contains("f64") { Precision::F64 } else { Precision::F32 };
    let problem = Problem { cells: Some(cells), precision: Some(precision), ..problem };
    let half = work.0.contains("f16").then_some(Half::F16);
    let y = (m > 0).then(|| table(2, scale(m), d, half));
    describe(&problem, Data { x: table(1, scale(n), d, half), y, weights: vec![] })
}

/// Loads a workload with choices, and hands it on.
fn with_engine<R>(
    work: &Work,
    set: &str,
    wanted: Wanted,
    small: bool,
    then: impl FnOnce(&Job, &Plan, &Engine<'_>) -> zipfold_core::Result<R>,
) -> zipfold_core::Result<R> {
    let job = job(work, small)?;
    let Wanted::Device(runtime, index) = wanted else {
        return Err(zipfold_core::Error::request("a device is wanted: cuda or opencl"));
    };
    let device = open(runtime, index)?;
    let pairs = set.split(',').filter_map(|c| c.split_once('='));
    let mut settings: BTreeMap<String, String> = pairs.map(|(k, v)| (k.into(), v.into())).collect();
    settings.entry("device.tile".into()).or_insert((1usize << 20).to_string());
    let plan = plan_for(&job, choose(&job, &Machine::default(), &settings)?, &device.facts, &settings)?;
    let engine = Engine::load(&job, &plan, device)?;
    then(&job, &plan, &engine)
}

/// The median of the seconds of a workload.
fn seconds_of(work: &Work, set: &str, wanted: Wanted, small: bool) -> zipfold_core::Result<f64> {
    with_engine(work, set, wanted, small, |job, plan, engine| {
        let mut seconds = timed(engine, &plan.tiling.tiles(&job.space), if small { 1 } else { 5 })?;
        seconds.sort_by(f64::total_cmp);
        Ok(seconds[seconds.len() / 2])
    })
}

fn measure(work: &Work, set: &str, wanted: Wanted, small: bool) -> zipfold_core::Result<String> {
    with_engine(work, set, wanted, small, |job, plan, engine| report(work, set, small, (job, plan, engine)))
}

fn report(
    work: &Work,
    set: &str,
    small: bool,
    (job, plan, engine): (&Job, &Plan, &Engine<'_>),
) -> zipfold_core::Result<String> {
    let tiles = plan.tiling.tiles(&job.space);
    let repeats = if small { 1 } else { 5 };
    let mut seconds = timed(engine, &tiles, repeats)?;
    seconds.sort_by(f64::total_cmp);
    let s = seconds[seconds.len() / 2];
    let pairs = job.space.size()? as f64;
    let dims = if engine.family() == "dense" { job.low.dim as f64 } else { 1.0 };
    Ok(format!(
        "{{\"work\":\"{}\",\"set\":\"{}\",\"family\":\"{}\",\"n\":{},\"m\":{},\"d\":{},\"predicted\":{:.5},\"seconds\":{s:.5},\"least\":{:.5},\"giga_per_second\":{:.1}}}",
        work.0,
        set,
        engine.family(),
        job.space.n,
        job.space.m,
        job.low.dim,
        // Dense results stay on the device, so the prediction for kernels stands beside them.
        zipfold_plan::device::kernel_seconds(job, engine.facts(), plan),
        seconds[0],
        pairs * dims / s / 1e9
    ))
}

/// Seconds of so many measurements; short kernels are launched many times in each.
fn timed(engine: &Engine<'_>, tiles: &[Tile], repeats: usize) -> zipfold_core::Result<Vec<f64>> {
    let once = engine.time(tiles, 1)?;
    let launches =
        if engine.family() == "dense" && repeats > 1 { (0.02 / once.max(1e-6)).clamp(1.0, 200.0) } else { 1.0 };
    (0..repeats).map(|_| engine.time(tiles, launches as usize)).collect()
}

/// Choices of the triangle maps, the bounding box by block first: others are told as times faster than it.
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
fn triangles(wanted: Wanted, small: bool) {
    for d in 1..=4 {
        for n in ROWS.into_iter().filter(|n| !small || *n == 1024) {
            let mut box_seconds = None;
            for set in MAPS {
                let work = ("edm", n, 0, d, Cells::Triangle, L2, HALF, set);
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
    let wanted = Wanted::parse(args.first().map_or("cuda", String::as_str));
    let small = args.iter().any(|a| a == "small");
    let only = args.iter().skip(1).find(|a| *a != "small" && !a.starts_with('+'));
    if only.is_some_and(|o| o == "edm") {
        if let Ok(wanted) = wanted {
            triangles(wanted, small);
        }
        return;
    }
    let sets: Vec<&str> = args.iter().filter_map(|a| a.strip_prefix('+')).collect();
    for work in WORKS.iter().filter(|w| only.is_none_or(|o| w.0.contains(o.as_str()))) {
        let mut run = vec![work.7];
        if !sets.is_empty() {
            run = if work.7.is_empty() { sets.clone() } else { vec![] };
        }
        for set in run {
            match wanted.clone().and_then(|w| measure(work, set, w, small)) {
                Ok(line) => println!("{line}"),
                Err(e) => println!("{{\"work\":\"{}\",\"set\":\"{set}\",\"error\":{:?}}}", work.0, e.to_string()),
            }
        }
    }
}

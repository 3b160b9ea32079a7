//! The workloads of `bench/records/h200`.

#[path = "filters.rs"]
pub(crate) mod filters;

use zipfold_core::problem::Problem;
use zipfold_core::{Data, Domain, Job, Precision, Table, describe};
use zipfold_plan::low_precision::LowPrecision;

/// A workload: name, rows of x, rows of y (0: x itself), components, domain, pair, fold, choices.
pub(crate) type Work = (
    &'static str,
    usize,
    usize,
    usize,
    Domain,
    &'static str,
    &'static str,
    &'static str,
);

/// A workload over half of the pairs of `n` rows of three components.
pub(crate) const fn half(
    name: &'static str,
    n: usize,
    pair: &'static str,
    fold: &'static str,
    set: &'static str,
) -> Work {
    (name, n, 0, 3, Domain::Triangle, pair, fold, set)
}

/// A workload over all pairs of two tables of `n` rows of three components.
pub(crate) const fn square(
    name: &'static str,
    n: usize,
    pair: &'static str,
    fold: &'static str,
    set: &'static str,
) -> Work {
    (name, n, n, 3, Domain::Cross, pair, fold, set)
}

pub(crate) const DENSE: &str = r#"{ kind = "matrix" }"#;
const SDH: [&str; 3] = [
    r#"{ kind = "histogram", axes = [{ bins = 50, range = [0.0, 1.7320508] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 1000, range = [0.0, 1.7320508] }] }"#,
];
const SUM: &str = r#"{ kind = "reduce", op = "sum" }"#;
const MIN: &str = r#"{ kind = "reduce", op = "min" }"#;
const LSE: &str = r#"{ kind = "reduce", op = "logsumexp" }"#;
const KNN: &str = r#"{ kind = "nearest", k = 10 }"#;
const JOIN: &str = r#"{ kind = "join", where = "sum((x - y)^2) < 0.00001" }"#;
const NEAR: [&str; 5] = [
    r#"{ kind = "join", where = "sum((x - y)^2) < 0.25" }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 3.4" }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 10.9" }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 64.1" }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 0.1" }"#,
];
const ANGLE: &str = r#"{ kind = "join", where = "cosine(x, y) < 0.12" }"#;
pub(crate) const ANGLES: &str = "cosine(x, y)";
const COUNT: &str = r#"{ kind = "reduce", op = "count" }"#;
pub(crate) const L2: &str = "euclidean(x, y)";
const L1: &str = "cityblock(x, y)";
pub(crate) const N: usize = 16384;
const S: usize = 524_288;

const GAUSS: &str = "exp(-sum((x - y)^2) * 10)";
const FINE: &str =
    r#"{ kind = "histogram", axes = [{ bins = 1000000, range = [0.0, 1.7320508] }] }"#;
const WIDE: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 8.0] }] }"#;
const COS: &str = "1 - sum(x * y) / sqrt(sum(x * x) * sum(y * y))";
const CUBE: &str = "sum(abs(x - y)^3)";
const MILLION: usize = 1_000_000;

/// First what the planner picks, of every workload; variants by hand after it.
pub(crate) const WORKS: [Work; 88] = [
    (
        "dense dot f32",
        N,
        N,
        512,
        Domain::Cross,
        "sum(x * y)",
        DENSE,
        "",
    ),
    (
        "dense dot f32",
        N,
        N,
        512,
        Domain::Cross,
        "sum(x * y)",
        DENSE,
        "dense.stages=0,dense.across=8,dense.slice=16",
    ),
    (
        "dense cosine f32",
        N,
        N,
        512,
        Domain::Cross,
        ANGLES,
        DENSE,
        "",
    ),
    ("dense L1 f32", N, N, 512, Domain::Cross, L1, DENSE, ""),
    (
        "dense L1 f32",
        N,
        N,
        512,
        Domain::Cross,
        L1,
        DENSE,
        "dense.stages=0",
    ),
    ("dense L2 f32", N, N, 512, Domain::Cross, L2, DENSE, ""),
    ("dense p=3 f32", N, N, 512, Domain::Cross, CUBE, DENSE, ""),
    (
        "dense Chebyshev f32",
        N,
        N,
        512,
        Domain::Cross,
        "chebyshev(x, y)",
        DENSE,
        "",
    ),
    (
        "dense L1 f32 d=5419",
        6000,
        6000,
        5419,
        Domain::Cross,
        L1,
        DENSE,
        "",
    ),
    (
        "dense L2 f32 d=5419",
        6000,
        6000,
        5419,
        Domain::Cross,
        L2,
        DENSE,
        "",
    ),
    (
        "dense L1 f64",
        N / 2,
        N / 2,
        512,
        Domain::Cross,
        L1,
        DENSE,
        "f64",
    ),
    (
        "triangle L1 f32",
        N,
        0,
        512,
        Domain::Diagonal,
        L1,
        DENSE,
        "",
    ),
    (
        "triangle L1 f32",
        N,
        0,
        512,
        Domain::Diagonal,
        L1,
        DENSE,
        "tile.map=ltm",
    ),
    (
        "triangle L1 f32",
        N,
        0,
        512,
        Domain::Diagonal,
        L1,
        DENSE,
        "tile.map=utm",
    ),
    (
        "triangle L1 f32",
        N,
        0,
        512,
        Domain::Diagonal,
        L1,
        DENSE,
        "tile.map=rec",
    ),
    (
        "triangle L1 f32",
        N,
        0,
        512,
        Domain::Diagonal,
        L1,
        DENSE,
        "tile.map=bb",
    ),
    ("sdh 50", S, 0, 3, Domain::Triangle, L2, SDH[0], ""),
    ("sdh 50", S, 0, 3, Domain::Triangle, L2, SDH[0], "bins=fast"),
    ("sdh 300", S, 0, 3, Domain::Triangle, L2, SDH[1], ""),
    (
        "sdh 300",
        S,
        0,
        3,
        Domain::Triangle,
        L2,
        SDH[1],
        "bins=fast",
    ),
    (
        "sdh 300",
        S,
        0,
        3,
        Domain::Triangle,
        L2,
        SDH[1],
        "bins=fast,points.anchors=2,points.unroll=2",
    ),
    (
        "sdh 300",
        S,
        0,
        3,
        Domain::Triangle,
        L2,
        SDH[1],
        "bins=fast,hist.copies=2",
    ),
    (
        "sdh 300",
        S / 4,
        0,
        3,
        Domain::Triangle,
        L2,
        SDH[1],
        "hist.copies=0",
    ),
    ("sdh 1000", S, 0, 3, Domain::Triangle, L2, SDH[2], ""),
    (
        "sdh 1000",
        S,
        0,
        3,
        Domain::Triangle,
        L2,
        SDH[2],
        "bins=fast",
    ),
    (
        "sdh 1000000 bins",
        S / 4,
        0,
        3,
        Domain::Triangle,
        L2,
        FINE,
        "",
    ),
    ("gaussian sum d=3", S, S, 3, Domain::Cross, GAUSS, SUM, ""),
    (
        "gaussian sum d=3",
        2 * S,
        2 * S,
        3,
        Domain::Cross,
        GAUSS,
        SUM,
        "",
    ),
    (
        "gaussian sum d=3",
        S,
        S,
        3,
        Domain::Cross,
        GAUSS,
        SUM,
        "points.input=cache",
    ),
    (
        "gaussian sum d=3",
        S,
        S,
        3,
        Domain::Cross,
        GAUSS,
        SUM,
        "points.input=both",
    ),
    (
        "gaussian sum d=3",
        S,
        S,
        3,
        Domain::Cross,
        GAUSS,
        SUM,
        "points.input=shuffle",
    ),
    ("logsumexp d=3", S / 4, S / 4, 3, Domain::Cross, L2, LSE, ""),
    ("logsumexp d=3", S, S, 3, Domain::Cross, L2, LSE, ""),
    ("row minimum L1 d=3", S, S, 3, Domain::Cross, L1, MIN, ""),
    (
        "row minimum L1 d=3",
        2 * S,
        2 * S,
        3,
        Domain::Cross,
        L1,
        MIN,
        "",
    ),
    ("nearest 10 d=3", S / 4, S, 3, Domain::Cross, L2, KNN, ""),
    ("nearest 10 d=3", S, S, 3, Domain::Cross, L2, KNN, ""),
    (
        "nearest 10 d=3",
        S,
        S,
        3,
        Domain::Cross,
        L2,
        KNN,
        "points.input=cache",
    ),
    (
        "nearest 10 d=3",
        S,
        S,
        3,
        Domain::Cross,
        L2,
        KNN,
        "points.input=shuffle",
    ),
    (
        "nearest 1000 d=3",
        S / 256,
        S / 4,
        3,
        Domain::Cross,
        L2,
        r#"{ kind = "nearest", k = 1000 }"#,
        "",
    ),
    (
        "nearest 1000 d=3",
        S / 16,
        S / 4,
        3,
        Domain::Cross,
        L2,
        r#"{ kind = "nearest", k = 1000 }"#,
        "",
    ),
    (
        "join 1M x 1M d=3",
        MILLION,
        MILLION,
        3,
        Domain::Cross,
        L2,
        JOIN,
        "",
    ),
    (
        "join 1M x 1M d=3",
        MILLION,
        MILLION,
        3,
        Domain::Cross,
        L2,
        JOIN,
        "join.output=count",
    ),
    (
        "row minimum d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        L1,
        MIN,
        "",
    ),
    (
        "row minimum d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        L1,
        MIN,
        "fold.tiles=sweep",
    ),
    (
        "nearest 10 d=64",
        S / 8,
        S / 8,
        64,
        Domain::Cross,
        L2,
        KNN,
        "",
    ),
    (
        "nearest 10 d=64",
        S / 8,
        S / 8,
        64,
        Domain::Cross,
        L2,
        KNN,
        "fold.tiles=sweep",
    ),
    (
        "gaussian sum d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        GAUSS,
        SUM,
        "",
    ),
    (
        "gaussian sum d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        GAUSS,
        SUM,
        "fold.tiles=sweep",
    ),
    (
        "histogram d=64",
        S / 4,
        0,
        64,
        Domain::Triangle,
        L2,
        WIDE,
        "",
    ),
    (
        "histogram d=64",
        S / 4,
        0,
        64,
        Domain::Triangle,
        L2,
        WIDE,
        "fold.tiles=sweep",
    ),
    (
        "row minimum d=16",
        S / 4,
        S / 4,
        16,
        Domain::Cross,
        L1,
        MIN,
        "",
    ),
    (
        "row minimum d=16",
        S / 4,
        S / 4,
        16,
        Domain::Cross,
        L1,
        MIN,
        "fold.tiles=dense",
    ),
    (
        "nearest 10 d=16",
        S / 8,
        S / 8,
        16,
        Domain::Cross,
        L2,
        KNN,
        "",
    ),
    (
        "nearest 10 d=16",
        S / 8,
        S / 8,
        16,
        Domain::Cross,
        L2,
        KNN,
        "fold.tiles=dense",
    ),
    (
        "gaussian sum d=16",
        S / 4,
        S / 4,
        16,
        Domain::Cross,
        GAUSS,
        SUM,
        "",
    ),
    (
        "gaussian sum d=16",
        S / 4,
        S / 4,
        16,
        Domain::Cross,
        GAUSS,
        SUM,
        "fold.tiles=dense",
    ),
    (
        "histogram d=16",
        S / 4,
        0,
        16,
        Domain::Triangle,
        L2,
        WIDE,
        "",
    ),
    (
        "histogram d=16",
        S / 4,
        0,
        16,
        Domain::Triangle,
        L2,
        WIDE,
        "fold.tiles=dense",
    ),
    (
        "join L2 d=12",
        S / 4,
        S / 4,
        12,
        Domain::Cross,
        L2,
        NEAR[4],
        "",
    ),
    (
        "join L2 d=12",
        S / 4,
        S / 4,
        12,
        Domain::Cross,
        L2,
        NEAR[4],
        "fold.tiles=dense",
    ),
    (
        "join L2 d=16",
        S / 4,
        S / 4,
        16,
        Domain::Cross,
        L2,
        NEAR[0],
        "",
    ),
    (
        "join L2 d=16",
        S / 4,
        S / 4,
        16,
        Domain::Cross,
        L2,
        NEAR[0],
        "fold.tiles=sweep",
    ),
    (
        "join L2 d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        L2,
        NEAR[1],
        "",
    ),
    (
        "join L2 d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        L2,
        NEAR[1],
        "fold.tiles=sweep",
    ),
    (
        "join L2 d=128",
        S / 4,
        S / 4,
        128,
        Domain::Cross,
        L2,
        NEAR[2],
        "",
    ),
    (
        "join L2 d=512",
        S / 4,
        S / 4,
        512,
        Domain::Cross,
        L2,
        NEAR[3],
        "",
    ),
    (
        "join cosine d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        ANGLES,
        ANGLE,
        "",
    ),
    (
        "join cosine d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        ANGLES,
        ANGLE,
        "fold.tiles=sweep",
    ),
    (
        "join cosine d=512",
        S / 4,
        S / 4,
        512,
        Domain::Cross,
        ANGLES,
        ANGLE,
        "",
    ),
    (
        "count L2 d=3",
        S,
        S,
        3,
        Domain::Cross,
        "sum((x - y)^2) < 0.05",
        COUNT,
        "",
    ),
    (
        "count L2 d=16",
        S / 4,
        S / 4,
        16,
        Domain::Cross,
        "sum((x - y)^2) < 2",
        COUNT,
        "",
    ),
    (
        "count L2 d=16",
        S / 4,
        S / 4,
        16,
        Domain::Cross,
        "sum((x - y)^2) < 2",
        COUNT,
        "fold.tiles=sweep",
    ),
    (
        "count L2 d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        "sum((x - y)^2) < 10",
        COUNT,
        "",
    ),
    (
        "count L2 d=64",
        S / 4,
        S / 4,
        64,
        Domain::Cross,
        "sum((x - y)^2) < 10",
        COUNT,
        "fold.tiles=sweep",
    ),
    (
        "count L2 d=512",
        S / 4,
        S / 4,
        512,
        Domain::Cross,
        "sum((x - y)^2) < 80",
        COUNT,
        "",
    ),
    (
        "nearest 10 cosine d=64",
        S / 8,
        S / 8,
        64,
        Domain::Cross,
        ANGLES,
        KNN,
        "",
    ),
    (
        "dense dot f16",
        N,
        N,
        512,
        Domain::Cross,
        "sum(x * y)",
        DENSE,
        "",
    ),
    (
        "dense dot f16",
        N,
        N,
        4096,
        Domain::Cross,
        "sum(x * y)",
        DENSE,
        "",
    ),
    ("dense cosine f16", N, N, 512, Domain::Cross, COS, DENSE, ""),
    (
        "dense dot f32",
        N,
        N,
        512,
        Domain::Cross,
        "sum(x * y)",
        DENSE,
        "dense.input=bf16",
    ),
    (
        "triangle dot f16",
        N,
        0,
        512,
        Domain::Diagonal,
        "sum(x * y)",
        DENSE,
        "",
    ),
    (
        "gaussian sum d=3",
        S,
        S,
        3,
        Domain::Cross,
        GAUSS,
        SUM,
        "load.vector=1",
    ),
    (
        "gaussian sum d=3",
        S,
        S,
        3,
        Domain::Cross,
        GAUSS,
        SUM,
        "load.vector=2",
    ),
    (
        "dense L1 f32",
        N,
        N,
        512,
        Domain::Cross,
        L1,
        DENSE,
        "load.vector=1",
    ),
    (
        "dense L1 f32",
        N,
        N,
        512,
        Domain::Cross,
        L1,
        DENSE,
        "load.vector=2",
    ),
    ("sdh 300", N, 0, 3, Domain::Triangle, L2, SDH[1], ""),
    (
        "sdh 300",
        N,
        0,
        3,
        Domain::Triangle,
        L2,
        SDH[1],
        "tile.diagonal=balanced",
    ),
];

/// Random numbers of 0 to 1, as those of 16 bits where asked.
fn table(seed: u64, n: usize, d: usize, half: Option<LowPrecision>) -> Table {
    let mut state = seed;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let v = (state >> 40) as f32 / (1u32 << 24) as f32;
        half.map_or(v, |h| h.value(h.round(v)))
    };
    // INVARIANT: n·d numbers fill n rows of d.
    Table::f32(n, d, (0..n * d).map(|_| draw()).collect()).unwrap()
}

/// Weights of `n` rows for a fold, by the name of its workload: three columns, single numbers, or of
/// double precision, of many sizes, or whole.
fn weights(name: &str, n: usize) -> Table {
    if name.contains("columns") {
        return table(3, n, 3, None);
    }
    let plain = table(3, n, 1, None).elements().every(1);
    let item = |row: usize| match plain[row] {
        w if name.contains("double") => w / 3.0 + 0.5,
        w if name.contains("wide") => w * 1e-9 + f64::from(row as u32 % 2) / 3.0,
        w if name.contains("whole") => (w * 9.0).floor(),
        w => w,
    };
    // INVARIANT: n numbers fill n rows of one.
    Table::f64(n, 1, (0..n).map(item).collect()).unwrap()
}

/// The job of a workload, of `most` rows at most and with components up to `longest`.
///
/// # Errors
/// Those of its description.
pub(crate) fn job(work: &Work, most: usize, longest: usize) -> zipfold_core::Result<Job> {
    let (_, n, m, d, domain, pair, fold, set) = *work;
    let scale = |v: usize| v.min(most);
    let d = d.min(longest);
    let (space, fold) = (filters::space(work.0), filters::fold(fold));
    let text = format!(
        "schema = 1\nx = {{ name = \"x\" }}\n{space}\npair = {{ formula = \"{pair}\" }}\nfolds = [{fold}]"
    );
    let problem: Problem =
        toml::from_str(&text).map_err(|e| zipfold_core::Error::request(e.to_string()))?;
    let precision = if work.0.contains("f64") || set.contains("f64") {
        Precision::F64
    } else {
        Precision::F32
    };
    let problem = Problem {
        domain: Some(domain),
        precision: Some(precision),
        ..problem
    };
    let half = work.0.contains("f16").then_some(LowPrecision::F16);
    let y = (m > 0).then(|| table(2, scale(m), d, half));
    let others = if m > 0 { m } else { n };
    let of_both = || [n, others].map(|rows| weights(work.0, scale(rows)));
    let weights = if fold.contains("weights") {
        vec![Some(of_both())]
    } else {
        vec![]
    };
    let x = filters::in_groups(work.0, table(1, scale(n), d, half))?;
    let pairs = None;
    let data = Data {
        pairs,
        x,
        y,
        weights,
    };
    describe(&problem, data)
}

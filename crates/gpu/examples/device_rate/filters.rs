//! What single precision filters beyond distances in open space: minimum images, cut-offs, bins of
//! other spacings and more of them, grids of two axes.

use super::{L2, Work};
use zipfold_core::Domain;

const S: usize = 524_288;
const FEW: usize = S / 4;
const HIST: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }] }"#;
const IMAGES: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 0.8660254] }] }"#;
const WITHIN: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 0.5] }] }"#;
const LOG: &str = r#"{ kind = "histogram", axes = [{ edges = [LOGARITHMIC] }] }"#;
const MANY: &str = r#"{ kind = "histogram", axes = [{ bins = 10000, range = [0.0, 1.7320508] }] }"#;
const MOST: &str = r#"{ kind = "histogram", axes = [{ bins = 50000, range = [0.0, 1.7320508] }] }"#;
const MORE: &str = r#"{ kind = "histogram", axes = [{ bins = 20000, range = [0.0, 1.7320508] }] }"#;
const GRID: &str = r#"{ kind = "histogram", axes = [{ bins = 20, range = [0.0, 0.5] }, { bins = 40, range = [0.0, 0.5], value = "abs(x[2] - y[2])" }] }"#;
const ACROSS: &str = "sqrt((x[0] - y[0])^2 + (x[1] - y[1])^2)";
const KNN: &str = r#"{ kind = "nearest", k = 10 }"#;
const COUNT: &str = r#"{ kind = "reduce", op = "count" }"#;
const OFF: &str = "filter=off";

/// The box or cut-off of a workload of this name.
pub(crate) fn space(name: &str) -> &'static str {
    match name {
        "filter box" | "filter box nearest 10" | "filter box count" => "box = [1.1, 1.1, 1.1]",
        "filter oblique" => "box = [1.1, 1.1, 1.1, 70.0, 80.0, 110.0]",
        "filter octahedron" => "box = [1.1, 1.1, 1.1, 70.528779, 109.471221, 70.528779]",
        "filter cut-off" => "cutoff = 0.5",
        "filter box, cut-off" => "box = [1.1, 1.1, 1.1]\ncutoff = 0.5",
        _ => "",
    }
}

/// A fold with its edges: 40 bins of equal ratio.
pub(crate) fn fold(text: &str) -> String {
    let edges: Vec<String> = (0..=40)
        .map(|at| format!("{:?}", 1e-3 * 1.2f64.powi(at)))
        .collect();
    text.replace("LOGARITHMIC", &edges.join(", "))
}

const fn of(
    name: &'static str,
    n: usize,
    pair: &'static str,
    fold: &'static str,
    set: &'static str,
) -> Work {
    (name, n, 0, 3, Domain::Triangle, pair, fold, set)
}

/// First what the planner picks, then double precision alone.
pub(crate) const WORKS: [Work; 27] = [
    of("filter none", S, L2, HIST, ""),
    of("filter f64 rows", S, L2, HIST, "f64"),
    of("filter box", S, L2, IMAGES, ""),
    of("filter oblique", S, L2, IMAGES, ""),
    of("filter octahedron", S, L2, IMAGES, ""),
    of("filter cut-off", S, L2, WITHIN, ""),
    of("filter box, cut-off", S, L2, WITHIN, ""),
    of("filter logarithmic", S, L2, LOG, ""),
    of("filter 10000 bins", S, L2, MANY, ""),
    of("filter 20000 bins", S, L2, MORE, ""),
    of("filter 50000 bins", S, L2, MOST, ""),
    of("filter grid", S, ACROSS, GRID, ""),
    ("filter box nearest 10", S, S, 3, Domain::Cross, L2, KNN, ""),
    (
        "filter box count",
        S,
        S,
        3,
        Domain::Cross,
        "euclidean(x, y) < 0.2",
        COUNT,
        "",
    ),
    of("filter none", FEW, L2, HIST, OFF),
    of("filter f64 rows", FEW, L2, HIST, "f64,filter=off"),
    of("filter box", FEW, L2, IMAGES, OFF),
    of("filter oblique", FEW, L2, IMAGES, OFF),
    of("filter octahedron", FEW, L2, IMAGES, OFF),
    of("filter cut-off", FEW, L2, WITHIN, OFF),
    of("filter box, cut-off", FEW, L2, WITHIN, OFF),
    of("filter logarithmic", FEW, L2, LOG, OFF),
    of("filter 10000 bins", FEW, L2, MANY, OFF),
    of("filter 20000 bins", FEW, L2, MORE, OFF),
    of("filter grid", FEW, ACROSS, GRID, OFF),
    (
        "filter box nearest 10",
        FEW,
        FEW,
        3,
        Domain::Cross,
        L2,
        KNN,
        OFF,
    ),
    (
        "filter box count",
        FEW,
        FEW,
        3,
        Domain::Cross,
        "euclidean(x, y) < 0.2",
        COUNT,
        OFF,
    ),
];

//! What single precision filters beyond distances in open space: minimum images, cut-offs, bins of
//! other spacings and more of them, grids of two axes.

use super::{L2, Work, half, square};
use zipfold_core::Table;

pub(crate) const S: usize = 524_288;
const FEW: usize = S / 4;
pub(crate) const HIST: &str =
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }] }"#;
pub(crate) const IMAGES: &str =
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 0.8660254] }] }"#;
const WITHIN: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 0.5] }] }"#;
const LOG: &str = r#"{ kind = "histogram", axes = [{ edges = [LOGARITHMIC] }] }"#;
const UNEVEN: &str = r#"{ kind = "histogram", axes = [{ edges = [UNEVENLY 40] }] }"#;
const UNEVENS: &str = r#"{ kind = "histogram", axes = [{ edges = [UNEVENLY 300] }] }"#;
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
        "filter 8 kinds" | "filter 20 kinds" | "filter 8 kinds weights" => "by = \"kind\"",
        "filter 8 kinds box" => "by = \"kind\"\nbox = [1.1, 1.1, 1.1]",
        "filter box, cut-off" => "box = [1.1, 1.1, 1.1]\ncutoff = 0.5",
        _ => "",
    }
}

/// The rows `x` in as many groups as a workload of this name asks for.
pub(crate) fn in_groups(name: &str, x: Table) -> zipfold_core::Result<Table> {
    let asked = name.strip_prefix("filter ").unwrap_or_default();
    let count = asked
        .split_once(" kinds")
        .and_then(|(count, _)| count.parse().ok());
    let Some(count): Option<usize> = count else {
        return Ok(x);
    };
    let kinds = (0..x.rows())
        .map(|row| (row * 7919 % count) as f64)
        .collect();
    let kinds = Table::f64(x.rows(), 1, kinds)?.with_names(vec!["kind".into()])?;
    x.with_attributes(kinds)
}

/// A fold with its edges: 40 bins of equal ratio, or bins whose edges go by the power 1.3.
pub(crate) fn fold(text: &str) -> String {
    let listed = |bins: i32, edge: &dyn Fn(i32) -> f64| {
        let edges: Vec<String> = (0..=bins).map(|at| format!("{:?}", edge(at))).collect();
        edges.join(", ")
    };
    let uneven = |bins: i32| {
        listed(bins, &|at| {
            1.7320508 * (f64::from(at) / f64::from(bins)).powf(1.3)
        })
    };
    text.replace("LOGARITHMIC", &listed(40, &|at| 1e-3 * 1.2f64.powi(at)))
        .replace("UNEVENLY 40", &uneven(40))
        .replace("UNEVENLY 300", &uneven(300))
}

/// First what the planner picks, then double precision alone.
pub(crate) const WORKS: [Work; 31] = [
    half("filter none", S, L2, HIST, ""),
    half("filter f64 rows", S, L2, HIST, "f64"),
    half("filter box", S, L2, IMAGES, ""),
    half("filter oblique", S, L2, IMAGES, ""),
    half("filter octahedron", S, L2, IMAGES, ""),
    half("filter cut-off", S, L2, WITHIN, ""),
    half("filter box, cut-off", S, L2, WITHIN, ""),
    half("filter logarithmic", S, L2, LOG, ""),
    half("filter uneven 40", S, L2, UNEVEN, ""),
    half("filter uneven 300", S, L2, UNEVENS, ""),
    half("filter 10000 bins", S, L2, MANY, ""),
    half("filter 20000 bins", S, L2, MORE, ""),
    half("filter 50000 bins", S, L2, MOST, ""),
    half("filter grid", S, ACROSS, GRID, ""),
    square("filter box nearest 10", S, L2, KNN, ""),
    square("filter box count", S, "euclidean(x, y) < 0.2", COUNT, ""),
    half("filter none", FEW, L2, HIST, OFF),
    half("filter f64 rows", FEW, L2, HIST, "f64,filter=off"),
    half("filter box", FEW, L2, IMAGES, OFF),
    half("filter oblique", FEW, L2, IMAGES, OFF),
    half("filter octahedron", FEW, L2, IMAGES, OFF),
    half("filter cut-off", FEW, L2, WITHIN, OFF),
    half("filter box, cut-off", FEW, L2, WITHIN, OFF),
    half("filter logarithmic", FEW, L2, LOG, OFF),
    half("filter uneven 40", FEW, L2, UNEVEN, OFF),
    half("filter uneven 300", FEW, L2, UNEVENS, OFF),
    half("filter 10000 bins", FEW, L2, MANY, OFF),
    half("filter 20000 bins", FEW, L2, MORE, OFF),
    half("filter grid", FEW, ACROSS, GRID, OFF),
    square("filter box nearest 10", FEW, L2, KNN, OFF),
    square("filter box count", FEW, "euclidean(x, y) < 0.2", COUNT, OFF),
];

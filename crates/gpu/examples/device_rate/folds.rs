//! Folds beyond counts and sums: weights and means by bin, vectors, several folds. Rows of
//! `device.family=values` are the same questions folded by one thread of the host.

use crate::works::{L2, Work};
use zipfold_core::Domain;

const S: usize = 524_288;
const FEW: usize = 8192;
const COUNTS: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }] }"#;
const WEIGHTS: &str =
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }], weights = "w" }"#;
const MEANS: &str =
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }], mean = true }"#;
const BOTH: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }], weights = "w", mean = true }"#;
const FINE: &str =
    r#"{ kind = "histogram", axes = [{ bins = 10000, range = [0.0, 1.7320508] }], weights = "w" }"#;
const SUM: &str = r#"{ kind = "reduce", op = "sum", weights = { name = "w" } }"#;
const SEVERAL: &str = r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 1.7320508] }] }, { kind = "reduce", op = "min" }, { kind = "reduce", op = "sum" }"#;
const FORCES: &str = "(x - y) / (sum((x - y)^2) + 0.01)^1.5";
const HOST: &str = "device.family=values";

/// A workload over all pairs of one table, or of two.
const fn of(
    name: &'static str,
    n: usize,
    pair: &'static str,
    fold: &'static str,
    set: &'static str,
) -> Work {
    (name, n, 0, 3, Domain::Triangle, pair, fold, set)
}
const fn cross(
    name: &'static str,
    n: usize,
    pair: &'static str,
    fold: &'static str,
    set: &'static str,
) -> Work {
    (name, n, n, 3, Domain::Cross, pair, fold, set)
}

/// First what the planner picks, then the host's way.
pub(crate) const WORKS: [Work; 20] = [
    of("fold counts", S, L2, COUNTS, ""),
    of("fold counts", S / 4, L2, COUNTS, "filter=off"),
    of("fold weights", S, L2, WEIGHTS, ""),
    of("fold weights", S, L2, WEIGHTS, "hist.copies=4"),
    of("fold weights, double", S, L2, WEIGHTS, ""),
    of("fold weights, wide", S / 4, L2, WEIGHTS, ""),
    of("fold weights, whole", S, L2, WEIGHTS, ""),
    of("fold weights 10000 bins", S / 16, L2, FINE, ""),
    of("fold means", S, L2, MEANS, ""),
    of("fold weights and means", S, L2, BOTH, ""),
    cross("fold forces", S, FORCES, SUM, ""),
    cross("fold vectors", S, "x - y", SUM, ""),
    cross("fold columns", S, L2, SUM, ""),
    cross("fold several", S, L2, SEVERAL, ""),
    of("fold counts", FEW, L2, COUNTS, HOST),
    of("fold weights", FEW, L2, WEIGHTS, HOST),
    of("fold means", FEW, L2, MEANS, HOST),
    cross("fold forces", FEW, FORCES, SUM, HOST),
    cross("fold several", FEW, L2, SEVERAL, HOST),
    of("fold weights", FEW, L2, WEIGHTS, ""),
];

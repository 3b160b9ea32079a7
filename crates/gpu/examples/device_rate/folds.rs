//! Folds beyond counts and sums: weights and means by bin, vectors, several folds. Rows of
//! `device.family=values` are the same questions folded by one thread of the host.

use crate::works::{L2, Work, half, square};

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

/// First what the planner picks, then the host's way.
pub(crate) const WORKS: [Work; 20] = [
    half("fold counts", S, L2, COUNTS, ""),
    half("fold counts", S / 4, L2, COUNTS, "filter=off"),
    half("fold weights", S, L2, WEIGHTS, ""),
    half("fold weights", S, L2, WEIGHTS, "hist.copies=4"),
    half("fold weights, double", S, L2, WEIGHTS, ""),
    half("fold weights, wide", S / 4, L2, WEIGHTS, ""),
    half("fold weights, whole", S, L2, WEIGHTS, ""),
    half("fold weights 10000 bins", S / 16, L2, FINE, ""),
    half("fold means", S, L2, MEANS, ""),
    half("fold weights and means", S, L2, BOTH, ""),
    square("fold forces", S, FORCES, SUM, ""),
    square("fold vectors", S, "x - y", SUM, ""),
    square("fold columns", S, L2, SUM, ""),
    square("fold several", S, L2, SEVERAL, ""),
    half("fold counts", FEW, L2, COUNTS, HOST),
    half("fold weights", FEW, L2, WEIGHTS, HOST),
    half("fold means", FEW, L2, MEANS, HOST),
    square("fold forces", FEW, FORCES, SUM, HOST),
    square("fold several", FEW, L2, SEVERAL, HOST),
    half("fold weights", FEW, L2, WEIGHTS, ""),
];

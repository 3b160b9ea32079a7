//! Matrices of inner products by matrix units, and in double precision without them; histograms by
//! groups.

use crate::works::filters::{HIST, IMAGES, S};
use crate::works::{ANGLES, DENSE, L2, N, Work, half};
use zipfold_core::Domain;

const WEIGHTS: &str =
    r#"{ kind = "histogram", weights = "w", axes = [{ bins = 300, range = [0.0, 1.7320508] }] }"#;

/// First what the planner picks.
pub(crate) const WORKS: [Work; 12] = [
    half("filter 8 kinds", S, L2, HIST, ""),
    half("filter 20 kinds", S, L2, HIST, ""),
    half("filter 8 kinds box", S, L2, IMAGES, ""),
    half("filter weights", S, L2, WEIGHTS, ""),
    half("filter 8 kinds weights", S, L2, WEIGHTS, ""),
    (
        "dense dot f64",
        N / 2,
        N / 2,
        512,
        Domain::Cross,
        "sum(x * y)",
        DENSE,
        "dense.input=f64",
    ),
    (
        "dense dot f64",
        N / 2,
        N / 2,
        512,
        Domain::Cross,
        "sum(x * y)",
        DENSE,
        "",
    ),
    (
        "dense cosine f64",
        N / 2,
        N / 2,
        512,
        Domain::Cross,
        ANGLES,
        DENSE,
        "dense.input=f64",
    ),
    (
        "dense cosine f64",
        N / 2,
        N / 2,
        512,
        Domain::Cross,
        ANGLES,
        DENSE,
        "",
    ),
    (
        "dense L2 f64",
        N / 2,
        N / 2,
        512,
        Domain::Cross,
        L2,
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
        "dense.input=tf32",
    ),
    (
        "dense dot f32",
        N,
        N,
        512,
        Domain::Cross,
        "sum(x * y)",
        DENSE,
        "dense.input=tf32x3",
    ),
];

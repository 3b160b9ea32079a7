//! Matrices of inner products by matrix units, and in double precision without them.

use crate::works::{ANGLES, DENSE, L2, N, Work};
use zipfold_core::Domain;

/// First what the planner picks.
pub(crate) const WORKS: [Work; 7] = [
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

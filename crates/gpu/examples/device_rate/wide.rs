//! Decisions about wide rows: neighbours, the nearest of few centres, pairs within a distance.

use crate::works::Work;
use zipfold_core::Domain;

const SQUARED: &str = "sum((x - y)^2)";
const KNN: &str = r#"{ kind = "nearest", k = 10 }"#;
const NEAREST: &str = r#"{ kind = "reduce", op = "argmin" }"#;
/// Rows in the cube, of which some hundred pairs are so near.
const WITHIN: [&str; 2] = [
    r#"{ kind = "join", where = "sum((x - y)^2) < 9.5" }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 62" }"#,
];
const COUNT: &str = r#"{ kind = "reduce", op = "count" }"#;
const N: usize = 262_144;
const MANY: usize = 4_194_304;

/// Of every workload what the planner picks, and what `device_rate NAME +key=value` adds.
pub(crate) const WORKS: [Work; 9] = [
    (
        "wide nearest 10 d=32",
        N,
        N,
        32,
        Domain::Cross,
        SQUARED,
        KNN,
        "",
    ),
    (
        "wide nearest 10 d=64",
        N,
        N,
        64,
        Domain::Cross,
        SQUARED,
        KNN,
        "",
    ),
    (
        "wide nearest 10 d=128",
        N,
        N,
        128,
        Domain::Cross,
        SQUARED,
        KNN,
        "",
    ),
    (
        "wide nearest 10 d=256",
        N,
        N,
        256,
        Domain::Cross,
        SQUARED,
        KNN,
        "",
    ),
    (
        "wide nearest 10 cosine d=128",
        N,
        N,
        128,
        Domain::Cross,
        "cosine(x, y)",
        KNN,
        "",
    ),
    (
        "wide argmin d=128",
        MANY,
        1024,
        128,
        Domain::Cross,
        SQUARED,
        NEAREST,
        "",
    ),
    (
        "wide join d=128",
        N,
        N,
        128,
        Domain::Cross,
        SQUARED,
        WITHIN[0],
        "",
    ),
    (
        "wide join d=512",
        N / 2,
        N / 2,
        512,
        Domain::Cross,
        SQUARED,
        WITHIN[1],
        "",
    ),
    (
        "wide count d=128",
        N,
        N,
        128,
        Domain::Cross,
        "sum((x - y)^2) < 14.5",
        COUNT,
        "",
    ),
];

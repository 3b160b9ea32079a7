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
const MANY: usize = 1 << 23;

const MILLION: usize = 1 << 20;
/// Two rows of the cube in 64 and 256 components, so near as some hundred pairs are.
const NEAR: [&str; 2] = [
    r#"{ kind = "join", where = "sum((x - y)^2) < 2.6" }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 25.5" }"#,
];

/// A search for neighbours, or a join, in `d` components of `n` rows on both sides.
const fn of(name: &'static str, n: usize, d: usize, fold: &'static str) -> Work {
    (name, n, n, d, Domain::Cross, SQUARED, fold, "")
}

/// Of every workload what the planner picks, and what `device_rate NAME +key=value` adds.
pub(crate) const WORKS: [Work; 14] = [
    of("wide nearest 10 d=32", N, 32, KNN),
    of("wide nearest 10 d=64", N, 64, KNN),
    of("wide nearest 10 d=128", N, 128, KNN),
    of("wide nearest 10 d=256", N, 256, KNN),
    of("million nearest 10 d=64", MILLION, 64, KNN),
    of("million nearest 10 d=128", MILLION, 128, KNN),
    of("million nearest 10 d=256", MILLION, 256, KNN),
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
    of("wide join d=64", N, 64, NEAR[0]),
    of("wide join d=128", N, 128, WITHIN[0]),
    of("wide join d=256", N, 256, NEAR[1]),
    of("wide join d=512", N / 2, 512, WITHIN[1]),
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

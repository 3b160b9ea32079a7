//! Family *matrix*: inner products of rows of 16-bit numbers, by the matrix units where a device
//! has them.

use super::fill;
use super::maps::{self, Placing};
use super::pair::{RootText, pair_text};
use super::values::NO_ACCESS;
use std::fmt::Write;
use zipfold_core::{Job, Precision};
use zipfold_plan::low_precision::LowPrecision;

/// Threads of a block.
pub const THREADS: u32 = 128;
/// Rows and columns of a tile of pairs.
pub const TILE: usize = 128;
/// Components of a group, which one load takes, and groups of a slice.
pub const GROUP: usize = 8;
const SLICE: usize = 4;
/// Slices that shared memory holds: 48 KiB of them.
const STAGES: usize = 3;

/// Groups of a packed row, whole slices of them.
pub fn groups(dim: usize) -> usize {
    dim.div_ceil(GROUP * SLICE) * SLICE
}

/// What multiplies slices, before the kernels.
pub fn functions() -> &'static str {
    include_str!("../kernels/halves.h")
}

/// The kernel `name` for root `root` of `job`. With `mirror`, values also go to their transposed
/// place.
pub fn kernel(
    name: &str,
    job: &Job,
    root: usize,
    half: LowPrecision,
    placing: Placing,
    mirror: bool,
) -> String {
    let low = &job.low;
    let pair = pair_text(low, None, Precision::F32);
    let value = match &pair.roots[root] {
        RootText::Numbers(n) => n[0].clone(),
        RootText::Components(..) => "0".into(),
    };
    let mut access = format!(
        "#define DIM {}u\n#define CV(v, k) c[(v) * {}u + (k)]\n",
        low.dim, low.dim
    );
    for (upper, lower) in [("X", "x"), ("Y", "y")] {
        let _ = writeln!(
            access,
            "#define {upper}A(a) {lower}_numbers[{lower}_at + (a) * (size_t)128]"
        );
    }
    let reduce = low.stages[0].reduces[0].0;
    let places = [
        (
            "MIRROR",
            if mirror {
                include_str!("../kernels/matrix_turn.c").into()
            } else {
                String::new()
            },
        ),
        ("NAME", name.to_string()),
        ("MAP", maps::text(placing)),
        ("COPY", copy()),
        ("STAGES", STAGES.to_string()),
        ("WAIT", (STAGES - 2).to_string()),
        ("GROUPS", groups(low.dim).to_string()),
        ("HALF", half.name().to_string()),
        ("XA", low.row_scalars[0].len().to_string()),
        ("YA", low.row_scalars[1].len().to_string()),
        ("SUM", format!("v{reduce}")),
        ("FINISH", pair.finish.clone()),
        ("VALUE", value),
    ];
    access + &fill(include_str!("../kernels/matrix.c"), &places) + NO_ACCESS
}

/// Copies slice `k8` of both sides into stage `into`, a group of a row each time.
fn copy() -> String {
    let mut out = String::new();
    for (side, name) in ["x", "y"].into_iter().enumerate() {
        for g in 0..SLICE {
            let _ = writeln!(
                out,
                "ZF_COPY16(&slices[into * 1024u + {}u + (tid ^ {}u)], &{name}[{name}_panel + (k8 + {g}u) * (size_t)128 + tid]);",
                side * 512 + g * 128,
                g * 2
            );
        }
    }
    out
}

//! Matrices of any pair function with one number, rows of any length: family *dense* where there
//! are no slices of components to reuse. A thread computes whole pairs.

use super::maps::{self, Placing};
use super::pair::{RootText, SHORT, pair_text};
use super::values::{NO_ACCESS, RowsFrom, access, width};
use super::{fill, type_name};
use zipfold_core::{Job, Precision};

/// Rows and columns of a tile of pairs.
pub const TILE: usize = 32;
/// Threads of a block.
pub const THREADS: u32 = 256;

/// The kernel `name` for root `root` of `job`. With `mirror`, values also go to their transposed
/// place.
pub fn kernel(
    name: &str,
    job: &Job,
    root: usize,
    precision: Precision,
    placing: Placing,
    mirror: bool,
) -> String {
    let low = &job.low;
    let pair = pair_text(low, job.periodic_box.as_ref(), precision);
    let value = match &pair.roots[root] {
        RootText::Numbers(n) => n[0].clone(),
        RootText::Components(..) => "0".into(),
    };
    let ty = type_name(precision);
    let widths = [width(low, 0), width(low, 1)];
    let short = widths[1] <= SHORT * 2;
    let load = format!(
        "{ty} yr[{}];\n    ZF_UNROLL for (zf_u32 w = 0; w < {}u; w++) yr[w] = y[y_at + w * 128u];",
        widths[1].max(1),
        widths[1]
    );
    let (fragment, turned) = if placing.by_thread {
        (
            include_str!("../kernels/cell.c"),
            "mirror[(size_t)block_j * rows + block_i] = cell;",
        )
    } else {
        (
            include_str!("../kernels/cells.c"),
            include_str!("../kernels/turn.c"),
        )
    };
    let when = |text: String| if mirror { text } else { String::new() };
    let places = [
        ("TURNED", when(format!("ZF_SHARED {ty} turned[32 * 33];"))),
        (
            "TURN",
            when("turned[tx * 33u + p * 8u + ty] = cell;".into()),
        ),
        ("MIRROR", when(turned.into())),
        ("NAME", name.to_string()),
        ("MAP", maps::text(placing)),
        ("YLOAD", if short { load } else { String::new() }),
        ("PAIR", pair.whole()),
        ("VALUE", value),
        ("XW", widths[0].to_string()),
        ("YW", widths[1].to_string()),
        ("T", ty.to_string()),
    ];
    access(low, [RowsFrom::Columns, RowsFrom::short(short)]) + &fill(fragment, &places) + NO_ACCESS
}

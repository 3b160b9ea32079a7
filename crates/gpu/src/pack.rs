//! Packed rows: hoisted vectors and numbers of 128 rows a panel, component by component, as every
//! kernel reads them.

use crate::emit::matrix::{GROUP, groups};
use crate::emit::values::width;
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::Table;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::tree::Side;
use zipfold_plan::low_precision::LowPrecision;

/// Rows of a panel.
pub const PANEL: usize = 128;

/// Packs the rows of `table`, as `side` of `low`, from panel `first` on into `out`, which has whole
/// panels, each number by way of `as_type`. Rows past the last repeat it.
pub fn pack_panels<T: Send>(
    low: &Lowered,
    table: &Table,
    side: Side,
    first: usize,
    out: &mut [T],
    as_type: impl Fn(f64) -> T + Sync,
) {
    let panel = (PANEL * width(low, side as usize)).max(1);
    let parts = out.par_chunks_mut(panel).enumerate();
    parts.for_each(|(at, part)| {
        fill(low, table, side, first + at, |at, v| part[at] = as_type(v));
    });
}

/// Panels of rows of 16-bit numbers: groups of 8 components of 128 rows, one vector a row, and
/// zeros after the last component; and the hoisted numbers of the rows, in panels of their own.
pub fn pack_halves(
    low: &Lowered,
    table: &Table,
    side: Side,
    half: LowPrecision,
    panels: Range<usize>,
) -> (Vec<u16>, Vec<f32>) {
    let (groups, row_scalars) = (groups(low.dim), low.row_scalars[side as usize].len());
    let size = PANEL * groups * GROUP;
    let (mut rows, mut numbers) = (
        vec![0; panels.len() * size],
        vec![0.0; panels.len() * PANEL * row_scalars.max(1)],
    );
    let parts = rows
        .par_chunks_mut(size.max(1))
        .zip(numbers.par_chunks_mut(PANEL * row_scalars.max(1)));
    parts.enumerate().for_each(|(panel, (rows, numbers))| {
        fill(low, table, side, panels.start + panel, |at, v| {
            let (w, lane) = (at / PANEL, at % PANEL);
            match w.checked_sub(low.dim) {
                None => rows[(w / GROUP * PANEL + lane) * GROUP + w % GROUP] = half.round(v as f32),
                Some(attr) => numbers[attr * PANEL + lane] = v as f32,
            }
        });
    });
    (rows, numbers)
}

fn fill(low: &Lowered, table: &Table, side: Side, panel: usize, mut put: impl FnMut(usize, f64)) {
    let mut hoister = low.hoister(side);
    let (row_vectors, row_scalars) = (
        low.row_vectors[side as usize].len(),
        low.row_scalars[side as usize].len(),
    );
    for lane in 0..PANEL {
        let row = (panel * PANEL + lane).min(table.rows() - 1);
        hoister.load(table, row);
        for s in 0..row_vectors {
            let values = hoister.stream(s);
            values
                .iter()
                .enumerate()
                .for_each(|(k, v)| put((s * low.dim + k) * PANEL + lane, *v));
        }
        (0..row_scalars)
            .for_each(|a| put((row_vectors * low.dim + a) * PANEL + lane, hoister.attr(a)));
    }
}

//! Packed rows: hoisted vectors and numbers of 128 rows a panel, component by component, as every
//! kernel reads them.

use crate::emit::matrix::{GROUP, groups};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::tree::Side;
use zipfold_core::{Precision, Table};
use zipfold_plan::low_precision::LowPrecision;

/// Rows of a panel.
pub const PANEL: usize = 128;

/// Rows of one side in both precisions, as far as wanted.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    /// In double precision.
    pub wide: Vec<f64>,
    /// In single precision.
    pub narrow: Vec<f32>,
}

/// Packs the rows of `table` as `side` of `low`. Rows past the last repeat it.
pub fn pack(low: &Lowered, table: &Table, side: Side, precision: Precision) -> Packed {
    pack_panels(low, table, side, precision, 0..table.rows().div_ceil(PANEL))
}

/// Packs some panels of the rows of `table`, as [`pack`] does.
pub fn pack_panels(
    low: &Lowered,
    table: &Table,
    side: Side,
    precision: Precision,
    panels: Range<usize>,
) -> Packed {
    let width = crate::emit::values::width(low, side as usize);
    let total = panels.len() * PANEL * width;
    let mut out = Packed::default();
    if total == 0 {
        return out;
    }
    let first = panels.start;
    match precision {
        Precision::F64 => {
            out.wide = vec![0.0; total];
            let parts = out.wide.par_chunks_mut(PANEL * width).enumerate();
            parts.for_each(|(panel, part)| {
                fill(low, table, side, first + panel, |at, v| part[at] = v)
            });
        }
        Precision::F32 => {
            out.narrow = vec![0.0; total];
            let parts = out.narrow.par_chunks_mut(PANEL * width).enumerate();
            parts.for_each(|(panel, part)| {
                fill(low, table, side, first + panel, |at, v| part[at] = v as f32)
            });
        }
    }
    out
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
    let (groups, attrs) = (groups(low.dim), low.attrs[side as usize].len());
    let size = PANEL * groups * GROUP;
    let (mut rows, mut numbers) = (
        vec![0; panels.len() * size],
        vec![0.0; panels.len() * PANEL * attrs.max(1)],
    );
    let parts = rows
        .par_chunks_mut(size.max(1))
        .zip(numbers.par_chunks_mut(PANEL * attrs.max(1)));
    parts.enumerate().for_each(|(panel, (rows, numbers))| {
        fill(low, table, side, panels.start + panel, |at, v| {
            let (w, lane) = (at / PANEL, at % PANEL);
            match w.checked_sub(low.dim) {
                None => rows[(w / GROUP * PANEL + lane) * GROUP + w % GROUP] = half.of(v as f32),
                Some(attr) => numbers[attr * PANEL + lane] = v as f32,
            }
        });
    });
    (rows, numbers)
}

fn fill(low: &Lowered, table: &Table, side: Side, panel: usize, mut put: impl FnMut(usize, f64)) {
    let mut hoister = low.hoister(side);
    let (streams, attrs) = (
        low.streams[side as usize].len(),
        low.attrs[side as usize].len(),
    );
    for lane in 0..PANEL {
        let row = (panel * PANEL + lane).min(table.rows() - 1);
        hoister.load(table, row);
        for s in 0..streams {
            let values = hoister.stream(s);
            values
                .iter()
                .enumerate()
                .for_each(|(k, v)| put((s * low.dim + k) * PANEL + lane, *v));
        }
        (0..attrs).for_each(|a| put((streams * low.dim + a) * PANEL + lane, hoister.attr(a)));
    }
}

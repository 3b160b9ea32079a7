//! Packed rows: hoisted vectors and numbers of 128 rows a panel, component by component, as every
//! kernel reads them.

use crate::emit::matrix::{GROUP, groups};
use crate::emit::values::width;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use zipfold_core::Table;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::tree::Side;
use zipfold_plan::device::products::{ProductForm, Rounding};
use zipfold_plan::low_precision::LowPrecision;

/// Rows of a panel.
pub const PANEL: usize = 128;

/// How the numbers of 128 rows lie in a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Number after number: threads with rows side by side read one piece of memory.
    Columns,
    /// Four numbers of a row, then those of the next: threads with any rows use all that a read
    /// brings.
    Fours,
}

impl Layout {
    /// Numbers of a panel of rows of `width` numbers.
    pub fn size(self, width: usize) -> usize {
        match self {
            Layout::Columns => PANEL * width,
            Layout::Fours => PANEL * width.next_multiple_of(4),
        }
    }
    /// The place of the number that is at `at` in columns.
    fn place(self, at: usize) -> usize {
        let (number, lane) = (at / PANEL, at % PANEL);
        match self {
            Layout::Columns => at,
            Layout::Fours => number / 4 * 4 * PANEL + lane * 4 + number % 4,
        }
    }
}

/// The rows of one side of a formula, in the order in which tiles number them.
#[derive(Clone, Copy)]
pub struct SideRows<'a> {
    /// What is hoisted of a row.
    pub low: &'a Lowered,
    /// The rows as given.
    pub table: &'a Table,
    /// The side that they are.
    pub side: Side,
    /// Which row of the table each is, where that is another.
    pub order: Option<&'a [u32]>,
}

impl SideRows<'_> {
    /// Numbers of a row.
    fn width(&self) -> usize {
        width(self.low, self.side as usize)
    }
    /// Packs the rows from panel `first` on into `out`, which has whole panels, each number by way
    /// of `as_type`. Rows past the last repeat it.
    pub fn pack<T: Send>(
        &self,
        layout: Layout,
        first: usize,
        out: &mut [T],
        as_type: impl Fn(f64) -> T + Sync,
    ) {
        let panel = layout.size(self.width()).max(1);
        let parts = out.par_chunks_mut(panel).enumerate();
        parts.for_each(|(at, part)| {
            self.fill(first + at, |at, v| part[layout.place(at)] = as_type(v));
        });
    }
    /// Hands the numbers of a panel to `put`, with the place of each in columns.
    fn fill(&self, panel: usize, mut put: impl FnMut(usize, f64)) {
        let (low, side) = (self.low, self.side as usize);
        let mut hoister = low.hoister(self.side);
        let (row_vectors, row_scalars) = (low.row_vectors[side].len(), low.row_scalars[side].len());
        for lane in 0..PANEL {
            let place = (panel * PANEL + lane).min(self.table.rows() - 1);
            let row = self.order.map_or(place, |order| order[place] as usize);
            hoister.load(self.table, row);
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
}

/// How rows become numbers of 16 bits.
#[derive(Clone, Debug)]
pub enum Halves {
    /// Each number is rounded.
    Plain(LowPrecision),
    /// Numbers are moved and scaled before; where squared differences are wanted, the squared length
    /// of a row is one more number of it.
    Scaled {
        /// How.
        rounding: Arc<Rounding>,
        /// Whether rows r and r + 8 of x are paired.
        paired: bool,
    },
}

impl Halves {
    /// Numbers of a row of `side` next to its components.
    pub fn numbers(&self, low: &Lowered, side: usize) -> usize {
        low.row_scalars[side].len() + usize::from(self.has_norms())
    }
    fn has_norms(&self) -> bool {
        match self {
            Halves::Plain(_) => false,
            Halves::Scaled { rounding, .. } => rounding.form == ProductForm::Squares,
        }
    }
    /// Component `k` of a row of `side` before it is rounded.
    fn scaled(&self, side: Side, k: usize, value: f64) -> f64 {
        match self {
            Halves::Plain(_) => value,
            Halves::Scaled { rounding, .. } => rounding.scaled(side, k, value),
        }
    }
    /// The place of component `w` of row `lane` in a panel of `side`. Rows r and r + 8 may be
    /// paired, those of a matrix are: their places hold components 0 to 3 of both, by twos, then 4 to 7.
    fn place(&self, side: Side, (w, lane): (usize, usize)) -> usize {
        let (group, k) = (w / GROUP * PANEL, w % GROUP);
        match (self, side) {
            (Halves::Plain(_) | Halves::Scaled { paired: true, .. }, Side::X) => {
                let (upper, half) = (lane & !8, lane / 8 % 2);
                (group + upper + k / 4 * 8) * GROUP + k % 4 / 2 * 4 + half * 2 + k % 2
            }
            (Halves::Plain(_) | Halves::Scaled { .. }, _) => (group + lane) * GROUP + k,
        }
    }
    fn round(&self, value: f64) -> u16 {
        match self {
            Halves::Plain(half) => half.round(value as f32),
            Halves::Scaled { .. } => Rounding::TYPE.round(value as f32),
        }
    }
    /// What undoes the scale of a squared length of `side`.
    fn unscaled(&self, side: Side) -> f64 {
        match self {
            Halves::Plain(_) => 1.0,
            Halves::Scaled { rounding, .. } => rounding.scale[side as usize].powi(-2),
        }
    }
}

/// Panels of rows of 16-bit numbers: groups of 8 components of 128 rows, one vector a row, and
/// zeros after the last component; and the hoisted numbers of the rows, in panels of their own.
pub fn pack_halves(
    source: &SideRows<'_>,
    halves: &Halves,
    panels: Range<usize>,
) -> (Vec<u16>, Vec<f32>) {
    let (low, side) = (source.low, source.side);
    let (groups, many) = (groups(low.dim), halves.numbers(low, side as usize).max(1));
    let size = PANEL * groups * GROUP;
    let (mut rows, mut numbers) = (
        vec![0; panels.len() * size],
        vec![0.0; panels.len() * PANEL * many],
    );
    let parts = rows
        .par_chunks_mut(size.max(1))
        .zip(numbers.par_chunks_mut(PANEL * many));
    let unscaled = halves.unscaled(side);
    parts.enumerate().for_each(|(panel, (rows, numbers))| {
        let mut squares = [0.0; PANEL];
        source.fill(panels.start + panel, |at, v| {
            let (w, lane) = (at / PANEL, at % PANEL);
            match w.checked_sub(low.dim) {
                None => {
                    let scaled = halves.scaled(side, w, v);
                    squares[lane] += scaled * scaled;
                    rows[halves.place(side, (w, lane))] = halves.round(scaled);
                }
                Some(attr) => numbers[attr * PANEL + lane] = v as f32,
            }
        });
        if halves.has_norms() {
            let norms = &mut numbers[(many - 1) * PANEL..];
            let pairs = norms.iter_mut().zip(squares);
            pairs.for_each(|(norm, square)| *norm = (square * unscaled) as f32);
        }
    });
    (rows, numbers)
}

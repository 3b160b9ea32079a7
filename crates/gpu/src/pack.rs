//! Packed rows: hoisted vectors and numbers of 128 rows a panel, component by component, as every
//! kernel reads them.

use crate::emit::matrix::{group, groups};
use crate::emit::values::width;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::tree::Side;
use zipfold_core::{Precision, Table};
use zipfold_plan::device::products::{ProductForm, Rounding};
use zipfold_plan::low_precision::{ProductType, tf32};

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

/// How rows become what matrix units multiply.
#[derive(Clone, Debug)]
pub enum ProductRows {
    /// Each number is rounded.
    Plain {
        /// To this type.
        input: ProductType,
        /// Whether rows r and r + 8 of x are paired, where they are of single precision or less.
        paired: bool,
    },
    /// Numbers are moved and scaled before; where squared differences are wanted, the squared length
    /// of a row is one more number of it.
    Scaled {
        /// How.
        rounding: Arc<Rounding>,
        /// Whether rows r and r + 8 of x are paired.
        paired: bool,
    },
}

impl ProductRows {
    /// The type that is multiplied.
    pub fn input(&self) -> ProductType {
        match self {
            ProductRows::Plain { input, .. } => *input,
            ProductRows::Scaled { .. } => ProductType::Half(Rounding::TYPE),
        }
    }
    /// Numbers of a row of `side` next to its components.
    pub fn numbers(&self, low: &Lowered, side: usize) -> usize {
        low.row_scalars[side].len() + usize::from(self.has_norms())
    }
    fn has_norms(&self) -> bool {
        match self {
            ProductRows::Plain { .. } => false,
            ProductRows::Scaled { rounding, .. } => rounding.form == ProductForm::Squares,
        }
    }
    /// Component `k` of a row of `side` before it is rounded.
    fn scaled(&self, side: Side, k: usize, value: f64) -> f64 {
        match self {
            ProductRows::Plain { .. } => value,
            ProductRows::Scaled { rounding, .. } => rounding.scaled(side, k, value),
        }
    }
    /// Whether rows r and r + 8 of `side` share their places.
    fn is_paired(&self, side: Side) -> bool {
        let paired = match self {
            ProductRows::Plain { input, paired } => *paired && input.precision() == Precision::F32,
            ProductRows::Scaled { paired, .. } => *paired,
        };
        paired && side == Side::X
    }
    /// Puts component `k` of row `lane` into the `words` of a panel of `side`. A group of components
    /// is four words of a row. Rows r and r + 8 may be paired: their places hold the first two words
    /// of both in turn, then the last two.
    fn put(&self, words: &mut [u32], side: Side, (k, lane): (usize, usize), value: f64) {
        let input = self.input();
        let (first, k) = (k / group(input) * PANEL, k % group(input));
        let (word, low) = (k * input.bytes() / 4, k * input.bytes() % 4 * 8);
        let at = match self.is_paired(side) {
            true => (first + (lane & !8) + word / 2 * 8) * 4 + word % 2 * 2 + lane / 8 % 2,
            false => (first + lane) * 4 + word,
        };
        match input {
            ProductType::Half(half) => {
                words[at] |= u32::from(half.round(value as f32)) << low;
            }
            ProductType::Tf32 => words[at] = tf32(value as f32),
            ProductType::Tf32x3 => words[at] = (value as f32).to_bits(),
            ProductType::F64 => words[at..at + 2].copy_from_slice(&halves(value)),
        }
    }
    /// What undoes the scale of a squared length of `side`.
    fn unscaled(&self, side: Side) -> f64 {
        match self {
            ProductRows::Plain { .. } => 1.0,
            ProductRows::Scaled { rounding, .. } => rounding.scale[side as usize].powi(-2),
        }
    }
}

/// The lower and the upper word of a number of double precision.
fn halves(value: f64) -> [u32; 2] {
    let bits = value.to_bits();
    [bits as u32, (bits >> 32) as u32]
}

/// The words of `values`, each in `precision`.
pub fn words(values: &[f64], precision: Precision) -> Vec<u32> {
    match precision {
        Precision::F32 => values.iter().map(|v| (*v as f32).to_bits()).collect(),
        Precision::F64 => values.iter().flat_map(|v| halves(*v)).collect(),
    }
}

/// Panels of rows for matrix units: groups of components of 128 rows, one vector a row, and zeros
/// after the last component; and the hoisted numbers of the rows, in panels of their own. Both in
/// words.
pub fn pack_products(
    source: &SideRows<'_>,
    form: &ProductRows,
    panels: Range<usize>,
) -> [Vec<u32>; 2] {
    let (low, side, input) = (source.low, source.side, form.input());
    let precision = input.precision();
    let many = form.numbers(low, side as usize).max(1) * PANEL;
    let [size, each] = [
        PANEL * groups(low.dim, input) * 4,
        many * precision.bytes() / 4,
    ];
    let [mut rows, mut numbers] = [size, each].map(|of_panel| vec![0; panels.len() * of_panel]);
    let parts = rows
        .par_chunks_mut(size.max(1))
        .zip(numbers.par_chunks_mut(each));
    let unscaled = form.unscaled(side);
    parts.enumerate().for_each(|(panel, (rows, packed))| {
        let mut squares = [0.0; PANEL];
        let mut numbers = vec![0.0; many];
        source.fill(panels.start + panel, |at, v| {
            let (w, lane) = (at / PANEL, at % PANEL);
            match w.checked_sub(low.dim) {
                None => {
                    let scaled = form.scaled(side, w, v);
                    squares[lane] += scaled * scaled;
                    form.put(rows, side, (w, lane), scaled);
                }
                Some(attr) => numbers[attr * PANEL + lane] = v,
            }
        });
        if form.has_norms() {
            let norms = &mut numbers[many - PANEL..];
            let pairs = norms.iter_mut().zip(squares);
            pairs.for_each(|(norm, square)| *norm = square * unscaled);
        }
        packed.copy_from_slice(&words(&numbers, precision));
    });
    [rows, numbers]
}

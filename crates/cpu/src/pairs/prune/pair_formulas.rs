//! Values of formulas for the pairs that a column grid finds: sums by bin next to the counts.
//!
//! ```text
//! for some queued pairs, whose bins are known
//!     for each number that the formulas read: that of every pair, side by side        kernels/histogram/queued.rs
//!     for each block of 128 pairs
//!         values = program over these numbers                                          paired.rs
//!         a NaN among them: tell it; left out if NaN is skipped
//!         sums of the bins += values, as a run                                         core/fold/histogram.rs
//! ```
//!
//! Why this shape: a formula is evaluated for the pairs in bins alone, and always for whole vectors of
//! them, though a row meets few columns at a time.

use super::tree::Hoisted;
use crate::kernels::histogram::{BEHIND, MOST_QUEUED, Points, QueuedPairs, TakesPairs};
use crate::pairs::paired::paired;
use crate::pairs::program::{Program, Src, compile};
use crate::pairs::rows::Rows;
use crate::pairs::vm::{Scratch, Vm};
use std::sync::Arc;
use zipfold_core::fold::{BLOCK, Histogram, HistogramState, Tally};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Job, Side, Table};
use zipfold_plan::Isa;
use zipfold_vector::simd::{self, Element, Kernel, Lanes};

/// Room for the numbers of a queue, and a vector behind them.
const ROOM: usize = (MOST_QUEUED + BEHIND).next_multiple_of(BLOCK);

/// The formulas of a histogram, and the numbers that they read.
#[derive(Debug)]
pub(super) struct PairFormulas {
    program: Arc<Program>,
    /// The roots that are summed.
    roots: Vec<usize>,
    /// By number, its value in every place of x; of y.
    numbers: [Vec<Vec<f64>>; 2],
    /// The row in every place of x; of y.
    rows: [Vec<u32>; 2],
}

impl PairFormulas {
    /// Takes the formulas of `fold`, whose rows of x and of y lie in `places`; none where they read more
    /// than numbers of rows and the distance.
    pub(super) fn new(job: &Job, fold: &Histogram, places: [&[u32]; 2]) -> Option<Self> {
        let mut roots: Vec<usize> = fold.values.iter().map(|value| value.root).collect();
        roots.extend(fold.pair_weight);
        let low = &job.low;
        let program = paired(low, &compile(low), &roots, fold.axes[0].root)?;
        let side = |side: Side, table: &Table| {
            let hoisted = Hoisted::new(low, table, side);
            let first = low.row_vectors[side as usize].len() * low.dim;
            let number = |at: usize| {
                // Places without a row are met by no pair within the edges.
                let of = |row: &u32| hoisted.values.get(*row as usize * hoisted.width + at);
                let mut all: Vec<f64> = places[side as usize]
                    .iter()
                    .map(|row| of(row).copied().unwrap_or(0.0))
                    .collect();
                all.resize(all.len() + BEHIND, 0.0);
                all
            };
            (first..hoisted.width).map(number).collect::<Vec<_>>()
        };
        Some(PairFormulas {
            program: Arc::new(program),
            roots,
            numbers: [side(Side::X, &job.x), side(Side::Y, job.other())],
            rows: places.map(<[u32]>::to_vec),
        })
    }
    /// Begins a batch.
    pub(super) fn begin<'e>(
        &'e self,
        job: &'e Job,
        fold: &'e Histogram,
        points: [&'e Points; 2],
        isas: (Isa, simd::Isa),
    ) -> FormulaSums<'e> {
        let numbers = self.numbers.iter().map(Vec::len).sum::<usize>() + 1;
        let vm = Vm {
            program: self.program.clone(),
            y: Rows::room_of_numbers(numbers),
            ..Vm::idle(&job.low, isas.0)
        };
        let steps = self.program.finish.iter().flat_map(|inst| inst.src);
        let mut read = steps.chain(self.program.roots.iter().flatten().copied());
        let squared = read.any(|src| src == Src::YAttr(numbers - 1));
        FormulaSums {
            formulas: self,
            job,
            fold,
            points,
            isa: isas.1,
            scratch: vm.scratch(),
            vm,
            squared,
            gathered: vec![vec![0.0; ROOM]; numbers],
            state: HistogramState::new(fold),
            tally: Tally::default(),
        }
    }
}

/// The sums of one batch.
pub(super) struct FormulaSums<'e> {
    formulas: &'e PairFormulas,
    job: &'e Job,
    fold: &'e Histogram,
    points: [&'e Points; 2],
    isa: simd::Isa,
    vm: Vm<'e, f64>,
    scratch: Scratch<f64>,
    /// Whether a formula reads the squared distance.
    squared: bool,
    /// By number, its value for every queued pair.
    gathered: Vec<Vec<f64>>,
    /// Sums of the pairs that were taken, without their counts.
    pub(super) state: HistogramState,
    /// NaN that was met; the number of pairs left out for it.
    pub(super) tally: Tally,
}

impl std::fmt::Debug for FormulaSums<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FormulaSums").finish_non_exhaustive()
    }
}

impl TakesPairs for FormulaSums<'_> {
    fn take(&mut self, pairs: &QueuedPairs<'_>, slots: &mut [i32], shift: i32) {
        self.gather(pairs);
        for (block, slots) in slots.chunks_mut(BLOCK).enumerate() {
            for (number, gathered) in self.gathered.iter().enumerate() {
                let to = self.vm.y.number_panel(number);
                to.copy_from_slice(&gathered[block * BLOCK..][..BLOCK]);
            }
            self.vm.eval(&mut self.scratch, 0, 1, 0, &(0..slots.len()));
            self.leave_out_nan(pairs, block * BLOCK, slots, shift);
            let sums = AddRun {
                fold: self.fold,
                state: &mut self.state,
                scratch: &self.scratch,
                slots,
                shift,
            };
            f64::dispatch(self.isa, sums);
        }
    }
}

impl FormulaSums<'_> {
    /// Puts the numbers of the pairs side by side.
    fn gather(&mut self, pairs: &QueuedPairs<'_>) {
        let [of_rows, of_columns] = &self.formulas.numbers;
        let (x, rest) = self.gathered.split_at_mut(of_rows.len());
        let (y, squared) = rest.split_at_mut(of_columns.len());
        for (numbers, to) in of_rows.iter().zip(x) {
            f64::dispatch(self.isa, pairs.of_rows(numbers, to));
        }
        for (numbers, to) in of_columns.iter().zip(y) {
            f64::dispatch(self.isa, pairs.of_columns(numbers, to));
        }
        if self.squared {
            let [x, y] = self.points;
            let mut to = squared[0].iter_mut();
            for (i, j, bits) in pairs.vectors() {
                let lanes = (0..BEHIND).filter(|lane| bits >> lane & 1 == 1);
                let values = lanes.map(|lane| x.squared_distance(i, y, j + lane));
                values.zip(&mut to).for_each(|(value, to)| *to = value);
            }
        }
    }
    /// Tells the pairs in bins of which a value is NaN, the first of them number `first` of the queue;
    /// gives them the slot of NaN where they are skipped.
    fn leave_out_nan(
        &mut self,
        pairs: &QueuedPairs<'_>,
        first: usize,
        slots: &mut [i32],
        shift: i32,
    ) {
        let values = |root: &usize| &self.scratch.root(*root)[0][..slots.len()];
        let any = |root: &usize| values(root).iter().fold(false, |any, v| any | v.is_nan());
        if !self.formulas.roots.iter().any(any) {
            return;
        }
        let bins = self.fold.axes[0].bins();
        let half = self.job.space.is_triangular();
        for (lane, slot) in slots.iter_mut().enumerate() {
            let value = |root: &usize| self.scratch.root(*root)[0][lane];
            let is_in_bin = ((*slot >> shift) as usize).wrapping_sub(1) < bins;
            if !(is_in_bin && self.formulas.roots.iter().any(|root| value(root).is_nan())) {
                continue;
            }
            let (i, j) = pairs.pair(first + lane);
            let [i, j] = [self.formulas.rows[0][i], self.formulas.rows[1][j]].map(u64::from);
            let is_turned = half && i > j;
            self.tally.note_nan(if is_turned { (j, i) } else { (i, j) });
            if self.job.nan == NanPolicy::Skip {
                self.tally.nan += 1;
                *slot = ((bins + 2) << shift) as i32;
            }
        }
    }
}

/// Adds the values of a block of pairs to the sums of their bins.
struct AddRun<'a> {
    fold: &'a Histogram,
    state: &'a mut HistogramState,
    scratch: &'a Scratch<f64>,
    slots: &'a [i32],
    shift: i32,
}

impl Kernel<f64> for AddRun<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, _: S) {
        let (mut cells, mut values) = ([0u64; BLOCK], [0.0; BLOCK]);
        let count = self.slots.len();
        for (cell, slot) in cells.iter_mut().zip(self.slots) {
            *cell = (*slot >> self.shift) as u64;
        }
        let scratch = self.scratch;
        // Cells of one axis are its slots.
        let fill = |root: usize, to: &mut [f64]| {
            to.copy_from_slice(&scratch.root(root)[0][..to.len()]);
        };
        let (cells, values) = (&mut cells[..count], &mut values[..count]);
        self.state.sum_lists(self.fold, cells, values, fill);
    }
}

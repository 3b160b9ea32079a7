//! Histograms of values on one to three axes, with weights and means per bin.
//!
//! The answer has the same bits for every tiling and every order of pairs. Counts are u64. Sums of
//! weights and values are whole numbers of 128 bits ([`Scale`]), whose addition is associative;
//! only the finished sum is rounded.
//!
//! A value is placed by comparing it with edges, never by arithmetic alone: a division may guess
//! the bin, and the two edges around the guess decide. If the value is a distance, the square under
//! its root is compared with squared edges (`number/squares.rs`), which decides every value as the
//! root would and costs no root.
//!
//! ```text
//! edges 0, 1, 2, 3        places: 0 under | 1 2 3 bins | 4 over      value 1.0 → place 2
//! ```
//!
//! Of several axes the grid has all places of each axis, last axis fastest. A pair that one axis
//! leaves out is counted in the last cell, regardless of what the other axes say.

mod axis;
mod bounded;
mod formulas;
mod odd;
mod values;

pub use axis::Axis;
pub use formulas::SummedTerms;
use odd::{INF, NEGATIVE_INF, add, note};
use values::ValueState;
pub use values::{BinStatistic, BinValue, BinValueSpec};

use super::BLOCK;
use super::scale::{Scale, add_run, lowest_digit};
use super::{
    Accumulate, Column, Columns, Layout, Lent, Line, Numbers, Role, Traits, Value, ValuedPair,
};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::opt::Opt;
use crate::space::Domain;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// What happens to a value equal to the last edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Closed {
    /// It belongs to the last bin, as in `numpy.histogram`.
    Last,
    /// It is over, as in Corrfunc: all bins are half-open.
    HalfOpen,
}

impl Closed {
    /// The rule in words, for the comments of a file.
    fn rule(self) -> &'static str {
        match self {
            Closed::Last => "bins half-open, the last one closed (numpy.histogram)",
            Closed::HalfOpen => "bins half-open (Corrfunc)",
        }
    }
}

/// A histogram fold.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// One to three axes.
    pub axes: Vec<Axis>,
    /// The rule for the last edge.
    pub closed: Closed,
    /// Weights of the rows of x and of y; the weight of a pair is their product.
    pub weights: Option<[Vec<f64>; 2]>,
    /// How sums of weights are kept.
    weight_scale: Scale,
    /// How sums of values are kept.
    value_scale: Scale,
    /// Whether the mean value of each bin is kept, of the first axis.
    pub mean: bool,
    /// The root of a pair weight that is a formula.
    pub pair_weight: Option<usize>,
    /// Formulas whose values are summed by bin.
    pub values: Vec<BinValue>,
    /// As [`BinValue`]'s, of the pair weight.
    weight_size: i32,
}

impl Histogram {
    /// Counts the cells of the grid, places under and over of every axis included. Saturates, so
    /// that a request for too many is refused and does not overflow.
    pub fn cells(&self) -> usize {
        self.axes
            .iter()
            .map(|a| a.bins() + 2)
            .fold(1, usize::saturating_mul)
    }
    /// Returns how sums of weights are kept.
    pub fn weight_scale(&self) -> Scale {
        self.weight_scale
    }
    /// Returns how sums of values of the first axis are kept.
    pub fn value_scale(&self) -> Scale {
        self.value_scale
    }
    /// Returns a histogram without weights.
    pub fn new(axes: Vec<Axis>, closed: Closed, mean: bool) -> Self {
        let value_scale = scale_of_values(&axes[0].edges);
        Histogram {
            axes,
            closed,
            weights: None,
            weight_scale: Scale::below(1.0),
            value_scale,
            mean,
            pair_weight: None,
            values: vec![],
            weight_size: 0,
        }
    }
    /// Returns the same histogram with the scales of a state of all rows, so that the sums of some
    /// rows add up with it.
    pub(crate) fn with_scales_of(self, state: &HistogramState) -> Self {
        let [weight_scale, value_scale] = state.scales;
        Histogram {
            weight_scale,
            value_scale,
            ..self
        }
    }
    /// Returns the same histogram with weights of the rows of x and of y.
    ///
    /// The scale must hold every product, so the smallest and the largest product are found from
    /// the weights of each side alone: O(n + m), not O(n·m).
    ///
    /// # Errors
    /// `Input` where the product of two is beyond double precision.
    pub fn weighted(self, weights: [Vec<f64>; 2]) -> Result<Self> {
        // Zeros take no part: they add nothing, and would make the smallest product 0.
        let sizes = |w: &[f64]| {
            w.iter()
                .map(|w| w.abs())
                .filter(|w| *w > 0.0)
                .collect::<Vec<f64>>()
        };
        let [a, b] = [sizes(&weights[0]), sizes(&weights[1])];
        let product = |pick: fn(f64, f64) -> f64, start: f64| {
            a.iter().fold(start, |m, w| pick(m, *w)) * b.iter().fold(start, |m, w| pick(m, *w))
        };
        // The largest product of two weights is that of the largest ones.
        let largest = product(f64::max, 0.0);
        if !largest.is_finite() {
            let e = Error::input("the product of two weights is beyond double precision")
                .at_place(Opt::Weights);
            return Err(e.remedy(
                "divide all weights by the same number, and leave out those that are infinite",
            ));
        }
        let weight_scale = if a.is_empty() || b.is_empty() {
            Scale::below(largest)
        } else {
            // A product that is rounded to 0 adds nothing.
            let smallest = product(f64::min, f64::INFINITY).max(f64::from_bits(1));
            let lowest = |w: &[f64]| w.iter().map(|w| lowest_digit(*w)).min().unwrap_or(0);
            Scale::between(smallest, largest.max(smallest), lowest(&a) + lowest(&b))
        };
        Ok(Histogram {
            weights: Some(weights),
            weight_scale,
            ..self
        })
    }
    /// Counts the numbers of a cell: its count, and two words for each window of its sums. Eight
    /// bytes each: a sum is an i128.
    pub fn numbers(&self) -> usize {
        let of_values: usize = self.values.iter().map(BinValue::numbers).sum();
        1 + 2 * (self.weight_scale.windows() + self.value_scale.windows()) + of_values
    }
    /// Returns the cell of a pair from its values by root. Of several axes, a pair that one of them
    /// leaves out is in the last cell.
    #[inline]
    pub fn cell(&self, values: impl Fn(usize) -> f64) -> usize {
        // Row-major index over the places of all axes, the last axis fastest.
        let (mut cell, mut inside) = (0, true);
        for axis in &self.axes {
            let place = axis.place(values(axis.root));
            inside &= place >= 1 && place <= axis.bins();
            cell = cell * (axis.bins() + 2) + place;
        }
        if inside || self.axes.len() == 1 {
            cell
        } else {
            self.cells() - 1
        }
    }
    /// Returns whether one of several axes leaves a pair out, or the only axis a pair whose other
    /// formulas matter in a bin alone. A NaN leaves none out: it is an error, or skipped.
    pub fn leaves_out(&self, values: impl Fn(usize) -> f64) -> bool {
        let outside = |axis: &Axis| {
            let value = values(axis.root);
            let place = axis.place(value);
            !value.is_nan() && (place == 0 || place > axis.bins())
        };
        self.looks_inside() && self.axes.iter().any(outside)
    }
    /// Returns whether values of pairs outside of the bins of an axis are not looked at: those of
    /// other axes, and of formulas that matter in a bin alone.
    pub fn looks_inside(&self) -> bool {
        self.axes.len() > 1 || self.sums_formulas()
    }
    /// Moves the pairs that one of several axes leaves out to the last cell, for kernels that count
    /// by axis.
    pub fn gather_outside(&self, counts: &mut [u64]) {
        if self.axes.len() == 1 {
            return;
        }
        let mut outside = 0;
        for cell in (0..counts.len()).filter(|cell| !self.inside(*cell)) {
            outside += std::mem::take(&mut counts[cell]);
        }
        counts[self.cells() - 1] = outside;
    }
    /// Lists the cells that are bins, neither under nor over on any axis, the last axis fastest:
    /// the lines of the answer.
    pub fn inner_cells(&self) -> Vec<usize> {
        let outer = |cells: Vec<usize>, axis: &Axis| {
            let width = axis.bins() + 2;
            cells
                .iter()
                .flat_map(|cell| (1..=axis.bins()).map(move |place| cell * width + place))
                .collect()
        };
        self.axes.iter().fold(vec![0], outer)
    }
    /// Returns whether a cell is a bin on every axis. Only bins keep sums of weights and values.
    #[inline]
    fn inside(&self, cell: usize) -> bool {
        let mut rest = cell;
        self.axes.iter().rev().all(|axis| {
            let place = rest % (axis.bins() + 2);
            rest /= axis.bins() + 2;
            place >= 1 && place <= axis.bins()
        })
    }
    /// The lower and upper edge of the bins of axis `at`, for each cell of a grid of `shape`.
    fn edge_columns<'a>(&'a self, at: usize, shape: &[usize]) -> [Column<'a>; 2] {
        let axis = &self.axes[at];
        // Line l is bin l / faster % bins of this axis; `faster` counts the bins of the axes after
        // it.
        let (bins, faster) = (shape[at], shape[at + 1..].iter().product::<usize>().max(1));
        let edge = move |upper: usize| {
            move |lines: &Range<usize>| -> Numbers<'a> {
                let edges = lines
                    .clone()
                    .map(|line| axis.edges[line / faster % bins + upper]);
                edges.collect::<Vec<f64>>().into()
            }
        };
        let number = if at == 0 {
            String::new()
        } else {
            (at + 1).to_string()
        };
        let lower = Column::made("lo", Role::From(at), edge(0)).called(format!("lo{number}"));
        let upper = Column::made("hi", Role::To(at), edge(1)).called(format!("hi{number}"));
        [lower.as_index(), upper.as_index()]
    }
}

/// Runs of at least this length are placed together; shorter ones one by one.
pub const LONG_RUN: usize = 8;

impl Accumulate for Histogram {
    type State = HistogramState;

    fn traits(&self) -> Traits {
        // A guess, its conversion, two corrections and a count for each axis.
        let operations = 24.0 * self.axes.len() as f64;
        Traits {
            bounded: true,
            fixed_size: true,
            operations,
            ..Traits::default()
        }
    }
    fn domain(&self, symmetric: bool) -> Domain {
        if symmetric {
            Domain::Triangle
        } else {
            Domain::Ordered
        }
    }
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        // Axes first: the order in which a line is read.
        let axes = self.axes.iter().map(|axis| axis.root);
        let values = self.values.iter().map(|value| value.root);
        axes.chain(self.pair_weight).chain(values).any(test)
    }
    fn start(&self, _: usize, _: usize) -> HistogramState {
        HistogramState::new(self)
    }
    fn part(&self, _: &Range<usize>) -> HistogramState {
        HistogramState::new(self)
    }
    fn bytes(&self, _: usize, _: usize) -> u64 {
        (self.cells() as u64).saturating_mul(8 * self.numbers() as u64)
    }
    fn takes(&self, state: &HistogramState, n: usize, m: usize) -> bool {
        state.fits(self, n, m)
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, state: &mut HistogramState, line: &Line<'_, T>, _: Lent<'_>) {
        if line.len < LONG_RUN {
            for l in 0..line.len {
                state.absorb(self, line.row, line.first + l, |root| {
                    line.scalars(root)[l].into()
                });
            }
            return;
        }
        let column = |at: usize| line.first + at;
        state.absorb_some(self, line.row, (column, line.len), |root, to| {
            to.iter_mut()
                .zip(line.scalars(root))
                .for_each(|(w, v)| *w = (*v).into());
        });
    }
    fn absorb_pair(&self, state: &mut HistogramState, pair: &ValuedPair<'_>) {
        state.absorb(self, pair.i, pair.j, |root| pair.scalar(root));
    }
    fn merge(&self, into: &mut HistogramState, from: HistogramState) {
        into.merge(&from);
    }
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!(
            "{:?} {} {} {:?}",
            self.closed,
            self.mean,
            self.weights.is_some(),
            self.pair_weight
        ));
        self.values.iter().for_each(|value| value.identify(hash));
        // By their bits, which decide the place of every value.
        for axis in &self.axes {
            hash.text(&format!("{} {} {}", axis.root, axis.squared, axis.closed));
            hash.doubles(&axis.edges);
            hash.doubles(&axis.compared);
        }
    }
    fn identify_weights(&self, hash: &mut Hash) {
        self.weights.iter().flatten().for_each(|w| hash.doubles(w));
    }
    fn leaves_out(&self, value: &dyn Fn(usize) -> f64) -> bool {
        Histogram::leaves_out(self, value)
    }
    fn columns<'a>(&'a self, state: &'a HistogramState, _: usize, _: usize) -> Columns<'a> {
        let shape: Vec<usize> = self.axes.iter().map(Axis::bins).collect();
        // Only bins become lines; pairs under and over are told apart from them, in `beyond`.
        let cells = self.inner_cells();
        let counts: Vec<u64> = cells.iter().map(|cell| state.counts[*cell]).collect();
        let inside: u64 = counts.iter().sum();
        let mut columns: Vec<Column<'a>> = (0..self.axes.len())
            .flat_map(|at| self.edge_columns(at, &shape))
            .collect();
        let pick = |all: Vec<f64>| cells.iter().map(|cell| all[*cell]).collect::<Vec<f64>>();
        columns.push(Column::new("counts", Role::Count, counts).called("count"));
        let weights = state
            .weights()
            .map(|all| Column::new("weights", Role::Value, pick(all)).called("weight"));
        let means = state
            .means()
            .map(|all| Column::new("means", Role::Value, pick(all)).called("mean"));
        columns.extend(weights.into_iter().chain(means));
        let statistics = self.statistics(state);
        columns.extend(statistics.map(|(name, all)| Column::new(name, Role::Value, pick(all))));
        let beyond = match self.axes.as_slice() {
            [_] => vec![
                ("under", state.counts[0]),
                ("over", state.counts[state.counts.len() - 1]),
            ],
            _ => vec![("outside", state.total() - inside)],
        };
        let edges = self.axes.iter().map(|axis| &axis.edges[..]).collect();
        Columns {
            edges,
            beyond,
            rule: Some(self.closed.rule()),
            ..Columns::new(Layout::Table, shape, columns)
        }
    }
    fn describe(&self) -> String {
        let bins: Vec<String> = self
            .axes
            .iter()
            .map(|axis| axis.bins().to_string())
            .collect();
        format!("counts in {} bins", bins.join(" × "))
    }
    /// The scales stay those of all rows, so that sums of parts add up.
    fn of_rows(&self, rows: [&[u32]; 2]) -> Self {
        let weights = self.weights.as_ref().map(|weights| {
            [0, 1].map(|side| {
                rows[side]
                    .iter()
                    .map(|r| weights[side][*r as usize])
                    .collect()
            })
        });
        Histogram {
            axes: self.axes.clone(),
            values: self.values.clone(),
            weights,
            ..*self
        }
    }
    /// A pair weighs the product of the weights of its rows.
    fn weigh(self, weights: &[Table; 2], rows: [usize; 2]) -> Result<Self> {
        let column = |t: &Table| t.elements().every(t.cols());
        for (table, rows) in weights.iter().zip(rows) {
            super::weights::check(table, rows)?;
        }
        let [a, b] = weights;
        self.weighted([column(a), column(b)])
    }
}

/// Returns how values between `edges` are summed: to 2⁻⁴⁸ of the ends of their bin. The smallest
/// bin end that is not zero takes the place of the smallest value.
fn scale_of_values(edges: &[f64]) -> Scale {
    let largest = edges[0].abs().max(edges[edges.len() - 1].abs());
    let ends = edges.windows(2).map(|w| w[0].abs().max(w[1].abs()));
    let smallest = ends.filter(|e| *e > 0.0).fold(largest, f64::min);
    if largest > 0.0 {
        Scale::between(smallest.min(f64::MAX), largest, i32::MIN / 2)
    } else {
        Scale::below(largest)
    }
}

/// Counts and sums of a histogram.
///
/// Equal for any order of pairs, in all its parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistogramState {
    /// Pairs by cell of the grid.
    pub counts: Vec<u64>,
    /// Sums by cell, as many numbers each as the scale has windows; empty without weights.
    weights: Vec<i128>,
    sums: Vec<i128>,
    scales: [Scale; 2],
    /// What is kept of the values of each formula.
    values: Vec<ValueState>,
    /// By cell, which terms that are not finite its sums of weights and of values have had. A map,
    /// because hardly any cell has such terms.
    odd: [BTreeMap<u64, u8>; 2],
}

impl HistogramState {
    /// Returns a state without pairs.
    pub fn new(fold: &Histogram) -> Self {
        let cells = fold.cells();
        let kept =
            |wanted: bool, scale: Scale| vec![0; if wanted { cells * scale.windows() } else { 0 }];
        HistogramState {
            counts: vec![0; cells],
            weights: kept(fold.is_weighted(), fold.weight_scale),
            sums: kept(fold.mean, fold.value_scale),
            scales: [fold.weight_scale, fold.value_scale],
            values: fold
                .values
                .iter()
                .map(|value| ValueState::new(value, cells))
                .collect(),
            odd: [BTreeMap::new(), BTreeMap::new()],
        }
    }
    /// Returns whether `fold` over `n` × `m` rows can have this state: its grid, its scales, and at
    /// most n·m pairs.
    pub(super) fn fits(&self, fold: &Histogram, n: usize, m: usize) -> bool {
        let cells = fold.cells();
        let scales = [fold.weight_scale, fold.value_scale];
        let kept = |sums: &[i128], wanted: bool, at: usize| {
            sums.len()
                == if wanted {
                    cells.saturating_mul(scales[at].windows())
                } else {
                    0
                }
                && self.odd[at].keys().all(|cell| *cell < cells as u64)
        };
        let pairs = (n as u64).saturating_mul(m as u64);
        let counted = self
            .counts
            .iter()
            .try_fold(0u64, |sum, count| sum.checked_add(*count));
        self.counts.len() == cells
            && counted.is_some_and(|counted| counted <= pairs)
            && self.scales == scales
            && kept(&self.weights, fold.is_weighted(), 0)
            && kept(&self.sums, fold.mean, 1)
            && self.values.len() == fold.values.len()
            && fold
                .values
                .iter()
                .zip(&self.values)
                .all(|(value, state)| state.fits(value, cells))
    }
    /// Counts the pair (i, j) with `values` by root.
    #[inline]
    pub fn absorb(&mut self, fold: &Histogram, i: usize, j: usize, values: impl Fn(usize) -> f64) {
        let cell = fold.cell(&values);
        self.counts[cell] += 1;
        if fold.weights.is_some() || fold.mean {
            self.sum(fold, cell, (i, j), || values(fold.axes[0].root));
        }
        if fold.sums_formulas() && fold.inside(cell) {
            self.sum_formulas(fold, cell, &values);
        }
    }
    /// Adds the weight that is a formula, and the values of formulas, of a pair in a bin.
    #[inline]
    fn sum_formulas(&mut self, fold: &Histogram, cell: usize, values: impl Fn(usize) -> f64) {
        if let Some(root) = fold.pair_weight {
            self.add_weight(cell, values(root));
        }
        for (value, state) in fold.values.iter().zip(&mut self.values) {
            state.add(cell, values(value.root));
        }
    }
    /// Adds a term to the sum of weights of a cell.
    #[inline]
    fn add_weight(&mut self, cell: usize, term: f64) {
        let scale = self.scales[0];
        add(&mut self.weights, &mut self.odd[0], scale, cell, term);
    }
    /// Counts the pairs of row `i` with some rows, at most a block: `column` gives their numbers,
    /// `fill` the values by root. All axes are placed in loops over the run, then the counts are
    /// incremented one by one, since two values of a run may share a cell.
    #[inline(always)]
    pub fn absorb_some(
        &mut self,
        fold: &Histogram,
        i: usize,
        (column, len): (impl Fn(usize) -> usize, usize),
        mut fill: impl FnMut(usize, &mut [f64]),
    ) {
        let (mut held, mut places, mut cells) = ([0.0; BLOCK], [0; BLOCK], [0; BLOCK]);
        let (values, places, cells) = (&mut held[..len], &mut places[..len], &mut cells[..len]);
        // One axis needs no product of places, and no patch for pairs outside.
        if let [axis] = fold.axes.as_slice() {
            fill(axis.root, values);
            axis.places(values, cells);
        } else {
            let mut outside = [0; BLOCK];
            for axis in &fold.axes {
                fill(axis.root, values);
                axis.places(values, places);
                // place − 1 ≥ bins in unsigned arithmetic is true for 0 (which wraps) and for bins
                // + 1: one comparison instead of two.
                let (bins, width) = (axis.bins() as u64, axis.bins() as u64 + 2);
                for ((cell, out), place) in cells.iter_mut().zip(&mut outside).zip(&*places) {
                    *cell = *cell * width + place;
                    *out |= u64::from(place.wrapping_sub(1) >= bins);
                }
            }
            let over = self.counts.len() as u64 - 1;
            cells
                .iter_mut()
                .zip(&outside)
                .for_each(|(cell, out)| *cell = if *out != 0 { over } else { *cell });
        }
        cells
            .iter()
            .for_each(|cell| self.counts[*cell as usize] += 1);
        if fold.weights.is_some() || fold.mean {
            fill(fold.axes[0].root, values);
            for (at, cell) in cells.iter().enumerate() {
                self.sum(fold, *cell as usize, (i, column(at)), || values[at]);
            }
        }
        if fold.sums_formulas() {
            self.sum_lists(fold, cells, values, fill);
        }
    }
    /// Adds the values of formulas of a run of pairs, at most a block, whose cells are known and
    /// counted elsewhere. `cells` and `values` are room afterwards.
    #[inline(always)]
    pub fn sum_lists(
        &mut self,
        fold: &Histogram,
        cells: &mut [u64],
        values: &mut [f64],
        mut fill: impl FnMut(usize, &mut [f64]),
    ) {
        // Runs of one axis that have no other pair are known by vectors, without a division.
        let all = match fold.axes.as_slice() {
            [axis] => {
                let bins = axis.bins() as u64;
                cells
                    .iter()
                    .fold(true, |all, cell| all & (cell.wrapping_sub(1) < bins))
            }
            _ => false,
        };
        // Else the pairs in bins, side by side.
        let (mut lanes, mut inside) = ([0u8; BLOCK], if all { cells.len() } else { 0 });
        let open = if all { 0 } else { cells.len() };
        for (lane, cell) in cells[..open].iter().enumerate() {
            lanes[inside] = lane as u8;
            inside += usize::from(match fold.axes.as_slice() {
                [axis] => cell.wrapping_sub(1) < axis.bins() as u64,
                _ => fold.inside(*cell as usize),
            });
        }
        let moved = if inside == cells.len() { 0 } else { inside };
        let lanes = &lanes[..moved];
        let pick = |numbers: &mut [f64]| {
            let lanes = lanes.iter().enumerate();
            lanes.for_each(|(at, lane)| numbers[at] = numbers[usize::from(*lane)]);
        };
        for (at, lane) in lanes.iter().enumerate() {
            cells[at] = cells[usize::from(*lane)];
        }
        let cells = &cells[..inside];
        if let Some(root) = fold.pair_weight {
            fill(root, values);
            pick(values);
            self.add_weights(cells, &values[..inside]);
        }
        for (value, state) in fold.values.iter().zip(&mut self.values) {
            fill(value.root, values);
            pick(values);
            state.add_run(cells, &values[..inside]);
        }
    }
    /// Adds pair weights that are a formula to the sums of their cells.
    #[inline(always)]
    fn add_weights(&mut self, cells: &[u64], terms: &[f64]) {
        if terms.iter().fold(true, |all, term| all & term.is_finite()) {
            return add_run(&mut self.weights, cells, terms);
        }
        for (cell, term) in cells.iter().zip(terms) {
            self.add_weight(*cell as usize, *term);
        }
    }
    /// Adds the weight and the value of pair (i, j) to the sums of its cell.
    #[inline]
    fn sum(
        &mut self,
        fold: &Histogram,
        cell: usize,
        (i, j): (usize, usize),
        value: impl Fn() -> f64,
    ) {
        // Pairs outside of the grid are counted, and have no place for sums.
        if !fold.inside(cell) {
            return;
        }
        if let Some([a, b]) = &fold.weights {
            self.add_weight(cell, a[i] * b[j]);
        }
        if fold.mean {
            let v = if fold.axes[0].squared {
                value().sqrt()
            } else {
                value()
            };
            add(&mut self.sums, &mut self.odd[1], self.scales[1], cell, v);
        }
    }
    /// Adds sums per cell that a kernel computed with the scales of the fold. They begin with the
    /// second cell: the first is for values under all edges.
    ///
    /// Integers add in any order, so these sums have the bits of values taken one by one.
    pub fn add_sums(&mut self, weights: &[i128], values: &[i128]) {
        let [of_weights, of_values] = self.scales.map(|s| s.windows());
        self.weights
            .iter_mut()
            .skip(of_weights)
            .zip(weights)
            .for_each(|(a, b)| *a += b);
        self.sums
            .iter_mut()
            .skip(of_values)
            .zip(values)
            .for_each(|(a, b)| *a += b);
    }
    /// Adds what a device has summed of a cell: `words` in units of 2^`exponent`
    /// ([`Scale::of_words`]), and bits of [`SummedTerms::ODD`] for terms that are not finite.
    pub fn add_cell(
        &mut self,
        terms: SummedTerms,
        cell: usize,
        (words, exponent): (&[u32], i32),
        odd: u8,
    ) {
        let [weights, means] = &mut self.odd;
        let (scale, (sums, map)) = match terms {
            SummedTerms::Weights => (self.scales[0], (&mut self.weights[..], weights)),
            SummedTerms::Means => (self.scales[1], (&mut self.sums[..], means)),
            SummedTerms::Values(at) => (Scale::everything(), self.values[at].kept(false)),
            SummedTerms::Squares(at) => (Scale::everything(), self.values[at].kept(true)),
        };
        let sum = sums[cell * scale.windows()..].iter_mut();
        sum.zip(scale.of_words(words, exponent))
            .for_each(|(a, b)| *a = a.wrapping_add(b));
        if odd != 0 {
            note(map, cell as u64, odd);
        }
    }
    /// Adds another state.
    ///
    /// All parts are additions of integers and unions of bits, so the order of merges does not
    /// matter.
    pub fn merge(&mut self, other: &HistogramState) {
        self.counts
            .iter_mut()
            .zip(&other.counts)
            .for_each(|(a, b)| *a += b);
        // Sums of a file may be any numbers, so additions wrap instead of panicking.
        self.weights
            .iter_mut()
            .zip(&other.weights)
            .for_each(|(a, b)| *a = a.wrapping_add(*b));
        self.sums
            .iter_mut()
            .zip(&other.sums)
            .for_each(|(a, b)| *a = a.wrapping_add(*b));
        for (mine, more) in self.values.iter_mut().zip(&other.values) {
            mine.merge(more);
        }
        for (mine, odd) in self.odd.iter_mut().zip(&other.odd) {
            odd.iter().for_each(|(cell, what)| note(mine, *cell, *what));
        }
    }
    /// Returns the sum of weights by cell, if weights were given.
    pub fn weights(&self) -> Option<Vec<f64>> {
        (!self.weights.is_empty()).then(|| self.values(&self.weights, 0).collect())
    }
    /// Returns the mean value by cell (NaN for an empty one), if requested.
    pub fn means(&self) -> Option<Vec<f64>> {
        let mean = |(s, c): (f64, &u64)| s / *c as f64;
        (!self.sums.is_empty()).then(|| {
            self.values(&self.sums, 1)
                .zip(&self.counts)
                .map(mean)
                .collect()
        })
    }
    /// Returns sums as f64, each rounded once. A cell that has had ∞ and −∞, or a NaN, is NaN.
    fn values<'s>(&'s self, sums: &'s [i128], which: usize) -> impl Iterator<Item = f64> + 's {
        let (scale, odd) = (self.scales[which], &self.odd[which]);
        sums.chunks(scale.windows())
            .enumerate()
            // Infinities of one sign stay; those of both signs, or a NaN, make the sum NaN, as
            // adding them would.
            .map(move |(cell, sum)| match odd.get(&(cell as u64)) {
                None => scale.value(sum),
                Some(&INF) => f64::INFINITY,
                Some(&NEGATIVE_INF) => f64::NEG_INFINITY,
                Some(_) => f64::NAN,
            })
    }
    /// Returns the number of pairs, those under and over included.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

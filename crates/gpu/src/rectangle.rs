//! Values of a rectangle of pairs as a device gives them, and the numbers that they are.

use crate::runtime::Plain;
use std::ops::Range;
use zipfold_core::fold::Value;
use zipfold_plan::executor;

/// Numbers that devices compute.
pub trait Number: Plain + Default + Send + Sync + Value + executor::ValueType {
    /// Not a number.
    const NAN: Self;
    /// Widened.
    fn wide(self) -> f64;
}
impl Number for f32 {
    const NAN: f32 = f32::NAN;
    fn wide(self) -> f64 {
        f64::from(self)
    }
}
impl Number for f64 {
    const NAN: f64 = f64::NAN;
    fn wide(self) -> f64 {
        self
    }
}

/// Values of a rectangle of pairs: parts (numbers of roots), rows, columns.
#[derive(Debug)]
pub struct Rectangle<T> {
    /// Rows of x.
    pub rows: Range<usize>,
    /// Rows of y.
    pub cols: Range<usize>,
    /// The numbers.
    pub items: Vec<T>,
}

impl<T: Number> Rectangle<T> {
    fn place(&self, part: usize, i: usize, j: usize) -> usize {
        (part * self.rows.len() + i - self.rows.start) * self.cols.len() + j - self.cols.start
    }
    /// Number `part` of pair (i, j), widened.
    pub fn number(&self, part: usize, i: usize, j: usize) -> f64 {
        self.items[self.place(part, i, j)].wide()
    }
    /// The numbers of the pairs of row `i` from column `j` on, and how far apart those of one pair
    /// are.
    pub fn numbers(&self, i: usize, j: usize) -> (&[T], usize) {
        (
            &self.items[self.place(0, i, j)..],
            self.rows.len() * self.cols.len(),
        )
    }
    /// Number `part` of the pairs of row `i` in `run`.
    pub fn run(&self, part: usize, i: usize, run: &Range<usize>) -> &[T] {
        let at = self.place(part, i, run.start);
        &self.items[at..at + run.len()]
    }
}

//! Tables as mantissas and one power of two, with bounds on the mantissas: the log domain at the speed of the linear one.

use super::held::Held;
use super::real::Real;
use rayon::prelude::*;
use zipfold_core::{Budget, Result};
use zipfold_plan::product::Scalar;

/// The entries of a table.
#[derive(Debug)]
pub enum Data<T> {
    /// Mantissas: the entry is `mantissa · 2^exponent`.
    Linear(Held<T>),
    /// Natural logarithms, for tables whose dynamic range exceeds the type: the entry is `e^log · 2^exponent`.
    Log(Held<f64>),
}

/// A table in the scaled form. Nonzero mantissas lie in [2^low, 2^high].
#[derive(Debug)]
pub struct Scaled<T> {
    /// The entries.
    pub data: Data<T>,
    /// The common power of two.
    pub exponent: i64,
    /// Lower bound.
    pub low: i32,
    /// Upper bound.
    pub high: i32,
}

impl<T: Real> Scaled<T> {
    /// A linear table with unknown bounds and `exponent`, brought to the middle of the type's range.
    pub fn linear(items: Held<T>, exponent: i64) -> Self {
        let mut out = Scaled { data: Data::Linear(items), exponent, low: 0, high: 0 };
        out.settle();
        out
    }
    /// A table of f64 values; in logarithms when the type cannot hold their range.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn of(values: &[f64], budget: &Budget) -> Result<Self> {
        let (low, high) = range(values);
        let shift = -(low + high) / 2;
        if (high - low) / 2 >= T::LIMIT {
            let logs = Held::make(values.len(), budget, "a table", |at| values[at].ln())?;
            return Ok(Scaled { data: Data::Log(logs), exponent: 0, low: 0, high: 0 });
        }
        let items = Held::make(values.len(), budget, "a table", |at| T::of(shifted(values[at], shift)))?;
        Ok(Scaled {
            data: Data::Linear(items),
            exponent: -i64::from(shift),
            low: low + shift - 1,
            high: high + shift + 1,
        })
    }
    /// Finds the true bounds and, where they are far from the middle, moves the mantissas there (exactly).
    pub fn settle(&mut self) {
        let Data::Linear(items) = &mut self.data else { return };
        (self.low, self.high) = range(&items.items);
        let middle = (self.low + self.high) / 2;
        if self.low >= -T::LIMIT / 8 && self.high <= T::LIMIT / 8 {
            return;
        }
        let factor = T::of(f64::from(-middle).exp2());
        items.items.par_iter_mut().with_min_len(1 << 15).for_each(|v| *v = *v * factor);
        self.exponent += i64::from(middle);
        self.low -= middle;
        self.high -= middle;
    }
    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Number of entries.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Linear(x) => x.items.len(),
            Data::Log(x) => x.items.len(),
        }
    }
    /// Natural logarithm of entry `at`, without the common exponent.
    pub fn ln(&self, at: usize) -> f64 {
        match &self.data {
            Data::Linear(x) => x.items[at].f64().ln(),
            Data::Log(x) => x.items[at],
        }
    }
    /// Entry `at`.
    pub fn scalar(&self, at: usize) -> Scalar {
        let one = match &self.data {
            Data::Linear(x) => Scalar::of(x.items[at].f64()),
            Data::Log(x) => Scalar::exp(x.items[at]),
        };
        if one.is_zero() { one } else { Scalar { exponent: one.exponent + self.exponent, ..one } }
    }
    /// Whether every entry is zero.
    pub fn is_zero(&self) -> bool {
        match &self.data {
            Data::Linear(x) => x.items.iter().all(|v| v.f64() == 0.0),
            Data::Log(x) => x.items.iter().all(|v| *v == f64::NEG_INFINITY),
        }
    }
}

/// `value · 2^shift` in two exact steps, so that subnormal numbers and far shifts survive.
fn shifted(value: f64, shift: i32) -> f64 {
    value * f64::from(shift / 2).exp2() * f64::from(shift - shift / 2).exp2()
}

/// Exponents of the smallest and one above the largest nonzero value.
fn range<T: Real>(values: &[T]) -> (i32, i32) {
    let (low, high) = if values.len() < 1 << 15 {
        ends(values)
    } else {
        let merge = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        values.par_chunks(1 << 14).map(ends).reduce(|| (f64::INFINITY, 0.0), merge)
    };
    if high == 0.0 { (0, 0) } else { (exponent(low), exponent(high) + 1) }
}

/// The smallest and the largest nonzero value, over eight lanes.
fn ends<T: Real>(values: &[T]) -> (f64, f64) {
    let (mut low, mut high) = ([f64::INFINITY; 8], [0.0f64; 8]);
    for chunk in values.chunks(8) {
        for ((l, h), v) in low.iter_mut().zip(&mut high).zip(chunk) {
            let v = v.f64();
            let positive = if v > 0.0 { v } else { f64::INFINITY };
            *l = if positive < *l { positive } else { *l };
            *h = if v > *h { v } else { *h };
        }
    }
    (low.into_iter().fold(f64::INFINITY, f64::min), high.into_iter().fold(0.0, f64::max))
}

fn exponent(v: f64) -> i32 {
    Scalar::of(v).exponent as i32
}

//! Tables as mantissas and one power of two, with bounds on the mantissas: the log domain at the
//! speed of the linear one.
//!
//! ```text
//! table entry = mantissa · 2^exponent          one exponent for the table
//! product     bounds of the result from the bounds of the inputs, before anything is computed
//!             if they fit the type's range: multiply mantissas, add exponents
//!             else: logarithms for this join, and back where the result allows it
//! settle      find the true bounds; if far from the middle, multiply all mantissas by a power of 2
//! ```
//!
//! Why: a log-sum-exp costs an exponential for each term, a multiply-add costs half a cycle. Most
//! tables span far less than a type's range (about 2^±126 for f32), so that one exponent for the
//! table is enough, and the bounds decide it without a look at the entries.

use super::bounds::Ends;
use super::buffer_pool::{Held, Room};
use super::gather::Picked;
use super::real::Real;
use super::slices;
use crate::plan::Scalar;
use rayon::prelude::*;
use zipfold_core::Result;

/// The entries of a table.
#[derive(Debug)]
pub enum Data<T: Real> {
    /// Mantissas: the entry is `mantissa · 2^exponent`.
    Linear(Held<T>),
    /// Natural logarithms, for tables whose dynamic range exceeds the type: the entry is `e^log ·
    /// 2^exponent`.
    Log(Held<f64>),
}

/// A table in the scaled form. Nonzero mantissas lie in [2^low, 2^high].
#[derive(Debug)]
pub struct Scaled<T: Real> {
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
    /// A linear table with unknown bounds and `exponent`, brought to the middle of the type's
    /// range.
    pub fn linear(items: Held<T>, exponent: i64) -> Self {
        let mut out = Scaled {
            data: Data::Linear(items),
            exponent,
            low: 0,
            high: 0,
        };
        out.settle();
        out
    }
    /// A table of f64 values; in logarithms when the type cannot hold their range.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn of_values(values: &[f64], room: &Room) -> Result<Self> {
        Self::gathered(
            &Picked {
                values,
                base: 0,
                digits: &[(values.len(), 1)],
            },
            Entries::Values,
            room,
        )
    }
    /// The table that `picked` says, of values or of natural logarithms.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn gathered(picked: &Picked<'_>, entries: Entries, room: &Room) -> Result<Self> {
        match entries {
            Entries::Values => Self::from_values(picked, room),
            Entries::Logs => Self::from_logs(picked, room),
        }
    }
    fn from_values(picked: &Picked<'_>, room: &Room) -> Result<Self> {
        // Bounds over the whole table hold for what is picked from it.
        let (low, high) = range(picked.values);
        let shift = -(low + high) / 2;
        if (high - low) / 2 >= T::LIMIT {
            let mut logs = Held::blank(picked.len(), room, "a table")?;
            picked.copy(&mut logs.items, |v| v.ln());
            return Ok(Scaled {
                data: Data::Log(logs),
                exponent: 0,
                low: 0,
                high: 0,
            });
        }
        let mut items = Held::blank(picked.len(), room, "a table")?;
        if shift == 0 {
            picked.copy(&mut items.items, T::from_f64);
        } else {
            // Two exact steps, so that subnormal numbers and far shifts survive.
            let steps = [
                f64::from(shift / 2).exp2(),
                f64::from(shift - shift / 2).exp2(),
            ];
            picked.copy(&mut items.items, |v| T::from_f64(v * steps[0] * steps[1]));
        }
        Ok(Scaled {
            data: Data::Linear(items),
            exponent: -i64::from(shift),
            low: low + shift - 1,
            high: high + shift + 1,
        })
    }
    fn from_logs(picked: &Picked<'_>, room: &Room) -> Result<Self> {
        // Bounds over the whole table hold for what is picked from it.
        let Some(range) = LogRange::found(picked.values) else {
            return Self::of_values(&vec![0.0; picked.len()], room);
        };
        if !range.fits::<T>() {
            let mut logs = Held::blank(picked.len(), room, "a table")?;
            picked.copy(&mut logs.items, |v| v);
            return Ok(Scaled {
                data: Data::Log(logs),
                exponent: 0,
                low: 0,
                high: 0,
            });
        }
        let mut items = Held::blank(picked.len(), room, "a table")?;
        picked.exponentials(range.shift(), &mut items.items);
        Ok(Self::within(items, range.ends()))
    }
    /// Mantissas of the logarithms `logs`, which have the range given.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub(super) fn of_logs(logs: &[f64], range: LogRange, room: &Room) -> Result<Self> {
        let mut items = Held::blank(logs.len(), room, "a table")?;
        exponentials(logs, range.shift(), &mut items.items);
        Ok(Self::within(items, range.ends()))
    }
    /// Mantissas within known bounds.
    pub(super) fn within(items: Held<T>, ends: Ends) -> Self {
        Scaled {
            data: Data::Linear(items),
            exponent: ends.exponent,
            low: ends.low,
            high: ends.high,
        }
    }
    /// A table of logarithms, whose range nobody knows.
    pub(super) fn logarithms(logs: Held<f64>) -> Self {
        Scaled {
            data: Data::Log(logs),
            exponent: 0,
            low: 0,
            high: 0,
        }
    }
    /// Natural logarithms of all entries.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn logs(&self, room: &Room) -> Result<Held<f64>> {
        let shift = self.exponent as f64 * std::f64::consts::LN_2;
        let mut out = Held::blank(self.len(), room, "logarithms of a table")?;
        if let (Data::Linear(x), true) = (&self.data, out.items.len() < SHARED) {
            slices::logarithms_of(&x.items, shift, &mut out.items);
            return Ok(out);
        }
        let chunks = out.items.par_chunks_mut(PART).enumerate();
        match &self.data {
            Data::Linear(x) => chunks.for_each(|(at, to)| {
                slices::logarithms_of(&x.items[at * PART..][..to.len()], shift, to)
            }),
            Data::Log(x) => chunks.for_each(|(at, to)| {
                to.iter_mut()
                    .zip(&x.items[at * PART..])
                    .for_each(|(t, l)| *t = l + shift);
            }),
        }
        Ok(out)
    }
    /// The same table in logarithms, in its own memory where the type allows.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn in_logs(self, room: &Room) -> Result<Self> {
        let Scaled { data, exponent, .. } = self;
        let data = match data {
            Data::Linear(items) => Data::Log(in_logs(items, room)?),
            logs => logs,
        };
        Ok(Scaled {
            data,
            exponent,
            low: 0,
            high: 0,
        })
    }
    /// Finds the true bounds and, where they are far from the middle, moves the mantissas there
    /// (exactly).
    pub fn settle(&mut self) {
        let Data::Linear(items) = &mut self.data else {
            return;
        };
        (self.low, self.high) = range(&items.items);
        let middle = (self.low + self.high) / 2;
        if self.low >= -T::LIMIT / 8 && self.high <= T::LIMIT / 8 {
            return;
        }
        let factor = T::from_f64(f64::from(-middle).exp2());
        items
            .items
            .par_iter_mut()
            .with_min_len(1 << 15)
            .for_each(|v| *v = *v * factor);
        self.exponent += i64::from(middle);
        self.low -= middle;
        self.high -= middle;
    }
    /// What is known of its mantissas.
    pub(super) fn bounds(&self) -> Ends {
        Ends {
            exponent: self.exponent,
            low: self.low,
            high: self.high,
        }
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
            Data::Linear(x) => x.items[at].to_f64().ln(),
            Data::Log(x) => x.items[at],
        }
    }
    /// Entry `at`.
    pub fn scalar(&self, at: usize) -> Scalar {
        let one = match &self.data {
            Data::Linear(x) => Scalar::from_f64(x.items[at].to_f64()),
            Data::Log(x) => Scalar::exp(x.items[at]),
        };
        one.shifted(self.exponent)
    }
    /// Whether every entry is zero.
    pub fn is_zero(&self) -> bool {
        match &self.data {
            Data::Linear(x) => x.items.iter().all(|v| v.to_f64() == 0.0),
            Data::Log(x) => x.items.iter().all(|v| *v == f64::NEG_INFINITY),
        }
    }
}

/// Natural logarithms of `items`: in their own memory where they are doubles.
fn in_logs<T: Real>(items: Held<T>, room: &Room) -> Result<Held<f64>> {
    let any: Box<dyn std::any::Any> = Box::new(items);
    match any.downcast::<Held<f64>>() {
        Ok(mut logs) => {
            logs.items
                .par_iter_mut()
                .with_min_len(PART)
                .for_each(|v| *v = v.ln());
            Ok(*logs)
        }
        Err(any) => match any.downcast::<Held<T>>() {
            Ok(items) => Held::make(items.items.len(), room, "logarithms of a table", |at| {
                items.items[at].to_f64().ln()
            }),
            Err(_) => Held::blank(0, room, "no table"),
        },
    }
}

/// The finite logarithms of an input, in powers of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogRange {
    low: f64,
    high: f64,
}

impl LogRange {
    /// That of natural logarithms; `None` where all are −∞.
    pub(super) fn found(logs: &[f64]) -> Option<Self> {
        let (low, high) = log_range(logs);
        let powers = |log: f64| log * std::f64::consts::LOG2_E;
        (low <= high).then(|| LogRange {
            low: powers(low),
            high: powers(high),
        })
    }
    /// Whether the type holds mantissas that reach as far.
    pub(super) fn fits<T: Real>(self) -> bool {
        (self.high - self.low) / 2.0 < f64::from(T::LIMIT) - 2.0
    }
    /// The power of two in the middle: the common exponent.
    fn middle(self) -> f64 {
        ((self.low + self.high) / 2.0).round()
    }
    /// What every natural logarithm is less in the mantissas.
    pub(super) fn shift(self) -> f64 {
        self.middle() * std::f64::consts::LN_2
    }
    /// Bounds of the mantissas.
    pub(super) fn ends(self) -> Ends {
        let middle = self.middle();
        Ends {
            exponent: middle as i64,
            low: (self.low - middle).floor() as i32 - 1,
            high: (self.high - middle).ceil() as i32 + 1,
        }
    }
}

/// What the numbers of an input table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// The entries themselves.
    Values,
    /// Their natural logarithms.
    Logs,
}

/// Entries of a part that one thread takes, and from which both share the work.
const PART: usize = 1 << 13;
const SHARED: usize = 1 << 15;

/// `to = e^(from - shift)` on all threads.
pub(super) fn exponentials<T: Real>(from: &[f64], shift: f64, to: &mut [T]) {
    if to.len() < SHARED {
        return slices::exponentials_of_wide(from, shift, to);
    }
    to.par_chunks_mut(PART)
        .zip(from.par_chunks(PART))
        .for_each(|(to, from)| slices::exponentials_of_wide(from, shift, to));
}

/// The least and the greatest finite logarithm, on all threads.
pub(super) fn log_range(logs: &[f64]) -> (f64, f64) {
    slices::shared_ends(logs, f64::NEG_INFINITY)
}

/// Exponents of the smallest and one above the largest nonzero value.
fn range<T: Real>(values: &[T]) -> (i32, i32) {
    exponents(slices::shared_ends(values, T::ZERO))
}

/// Exponents of the least and one above the greatest number above zero.
pub(super) fn exponents((low, high): (f64, f64)) -> (i32, i32) {
    if high == 0.0 {
        (0, 0)
    } else {
        (exponent(low), exponent(high) + 1)
    }
}

fn exponent(v: f64) -> i32 {
    Scalar::from_f64(v).exponent as i32
}

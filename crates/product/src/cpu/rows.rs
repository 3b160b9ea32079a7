//! Log-sum-exp at the cost of sums of products: every row of a table has an exponent of its own.
//!
//! A row is the entries of a table that differ in summed variables only. Divided by their largest,
//! they are mantissas in [0, 1]; the logarithm of that largest depends on kept variables alone, so
//! it leaves the sum. One exponential for an entry of an input and one logarithm for an entry of
//! the result are left, and the linear kernels do the rest.

use super::buffer_pool::{Held, Room};
use super::products::{Contracted, Fold};
use super::shape::{Digit, Shape, offsets};
use super::slices;
use rayon::prelude::*;
use zipfold_core::Result;

/// Entries of a block: its places in the table of peaks come from one list.
const BLOCK: usize = 1 << 10;
/// Natural logarithm of the smallest mantissa product that is far above the subnormal numbers.
const DEEP: f64 = -690.0;
/// Results above this have lost nothing to underflow: what vanished is below 2⁻¹⁰²² for each term.
const SURE: f64 = 1e-200;

/// The peaks of a table's rows.
struct Peaks {
    values: Held<f64>,
    /// Offsets of blocks and, within a block, of its entries.
    outer: Vec<usize>,
    inner: Vec<usize>,
}

/// The log-sum-exp contraction of tables of logarithms; `None` where a row's range exceeds f64 and
/// a sum may have lost terms.
///
/// # Errors
/// `Resource` when the budget is spent.
pub(super) fn contract(shape: &Shape, logs: &[&[f64]], room: &Room) -> Result<Option<Held<f64>>> {
    let mut peaks = Vec::with_capacity(logs.len());
    let mut mantissas = Vec::with_capacity(logs.len());
    let mut deepest = 0.0;
    for (i, table) in logs.iter().enumerate() {
        let own: Vec<&Digit> = shape.digits.iter().filter(|d| d.strides[i] > 0).collect();
        let of_row = Peaks::new(&own, table, room)?;
        let mut scaled = Held::blank(table.len(), room, "mantissas of a table")?;
        deepest += of_row.divide(table, &mut scaled.items);
        peaks.push(of_row);
        mantissas.push(scaled);
    }
    let mut out = Held::blank(shape.out_len, room, "a table of the contraction")?;
    f64::products(
        shape,
        &mantissas.iter().map(|m| &m.items[..]).collect::<Vec<_>>(),
        Fold::Sum,
        &mut out.items,
    );
    if deepest < DEEP && out.items.iter().any(|v| *v < SURE) {
        return Ok(None);
    }
    restore(shape, &peaks, &mut out.items);
    Ok(Some(out))
}

/// Takes logarithms of sums, and adds the peaks of the rows that were taken off.
fn restore(shape: &Shape, peaks: &[Peaks], out: &mut [f64]) {
    let shown: Vec<Shown<'_>> = peaks
        .iter()
        .enumerate()
        .map(|(i, p)| Shown::new(shape, i, &p.values.items))
        .collect();
    out.par_chunks_mut(shown.first().map_or(1, |s| s.block))
        .enumerate()
        .with_min_len(16)
        .for_each(|(at, to)| {
            slices::logarithms_in_place(to);
            for s in &shown {
                let base = s.outer[at];
                to.iter_mut()
                    .zip(&s.inner)
                    .for_each(|(t, o)| *t += s.peaks[base + o]);
            }
        });
}

/// Digits from which a block of the fastest begins.
fn cut(cards: impl DoubleEndedIterator<Item = usize>) -> (usize, usize) {
    let (mut taken, mut block) = (0, 1);
    for card in cards.rev() {
        if taken > 0 && block * card > BLOCK {
            break;
        }
        taken += 1;
        block *= card;
    }
    (taken, block)
}

impl Peaks {
    fn new(own: &[&Digit], table: &[f64], room: &Room) -> Result<Self> {
        let mut len = 1;
        let mut places: Vec<(usize, usize)> = Vec::with_capacity(own.len());
        for d in own.iter().rev() {
            places.push((d.card, if d.summed { 0 } else { len }));
            len *= if d.summed { 1 } else { d.card };
        }
        places.reverse();
        let (taken, block) = cut(own.iter().map(|d| d.card));
        let (slow, fast) = places.split_at(places.len() - taken);
        let mut out = Peaks {
            values: Held::blank(len, room, "exponents of rows")?,
            outer: offsets(slow),
            inner: offsets(fast),
        };
        out.values.items.fill(f64::NEG_INFINITY);
        for (part, base) in table.chunks(block).zip(&out.outer) {
            for (l, o) in part.iter().zip(&out.inner) {
                let peak = &mut out.values.items[base + o];
                *peak = if *l > *peak { *l } else { *peak };
            }
        }
        // A row of zeros has no exponent.
        out.values
            .items
            .iter_mut()
            .filter(|p| **p == f64::NEG_INFINITY)
            .for_each(|p| *p = 0.0);
        Ok(out)
    }
    /// Entries by the largest of their row; the least finite logarithm of a mantissa.
    fn divide(&self, table: &[f64], to: &mut [f64]) -> f64 {
        let block = self.inner.len();
        let one = |((to, from), base): ((&mut [f64], &[f64]), &usize)| {
            let peaks = &self.values.items[*base..];
            to.iter_mut()
                .zip(from)
                .zip(&self.inner)
                .for_each(|((t, f), o)| *t = f - peaks[*o]);
            let least = slices::ends_above(to, f64::NEG_INFINITY).0;
            slices::exponentials_in_place(to);
            least
        };
        let parts = to
            .par_chunks_mut(block)
            .zip(table.par_chunks(block))
            .zip(&self.outer)
            .with_min_len(16);
        parts.map(one).reduce(|| 0.0, f64::min)
    }
}

/// The peaks of a table, seen from the result.
struct Shown<'a> {
    peaks: &'a [f64],
    block: usize,
    outer: Vec<usize>,
    inner: Vec<usize>,
}

impl<'a> Shown<'a> {
    fn new(shape: &Shape, i: usize, peaks: &'a [f64]) -> Self {
        let mut stride = 1;
        let mut places: Vec<(usize, usize)> = Vec::new();
        for d in shape.digits.iter().rev().filter(|d| !d.summed) {
            let own = d.strides[i] > 0;
            places.push((d.card, if own { stride } else { 0 }));
            stride *= if own { d.card } else { 1 };
        }
        places.reverse();
        let (taken, block) = cut(places.iter().map(|p| p.0));
        let (slow, fast) = places.split_at(places.len() - taken);
        Shown {
            peaks,
            block,
            outer: offsets(slow),
            inner: offsets(fast),
        }
    }
}

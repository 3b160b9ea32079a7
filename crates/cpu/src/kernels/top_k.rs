//! The k smallest values of a row: by value, then index, NaN last.
//!
//! ```text
//! offer(values):
//!     until there is a bound: insert each value
//!     for each vector of values, four at a time
//!         skip it if no value is ≤ bound                              most vectors
//!         insert the values that are
//! insert, k ≤ 32:  shift larger entries up by one; bound = the last
//! insert, k > 32:  append; at 2k + 64 entries select the k smallest in linear time; bound = the worst of them
//! ```
//!
//! A sorted list is fastest while it fits a few lines of memory; a long list would be shifted for
//! every insertion, so candidates gather and are selected in bulk. The bound may then be too large,
//! which lets in a few candidates more and never loses one.

use std::cmp::Ordering;
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes, array_of, first_lanes};

/// Entries up to which every candidate is inserted at once; beyond, candidates gather and are
/// selected in bulk.
const INSERTED: usize = 32;

/// The k smallest values seen so far, with their indices.
#[derive(Clone, Debug)]
pub struct TopK<T> {
    k: usize,
    /// The best so far, sorted if k ≤ INSERTED; up to twice k and some in any order otherwise.
    entries: Vec<(T, u32)>,
    /// Once there are k entries: the worst of a set of k of them.
    worst: Option<(T, u32)>,
}

/// By value, then index; NaN behind all numbers.
#[inline(always)]
fn order<T: Element>(a: &(T, u32), b: &(T, u32)) -> Ordering {
    if a.0 < b.0 {
        return Ordering::Less;
    }
    let nan = |x: T| x.partial_cmp(&x).is_none();
    let values =
        a.0.partial_cmp(&b.0)
            .unwrap_or_else(|| nan(a.0).cmp(&nan(b.0)));
    values.then(a.1.cmp(&b.1))
}

impl<T: Element> TopK<T> {
    /// An empty list of at most `k`.
    pub fn new(k: usize) -> TopK<T> {
        TopK {
            k,
            entries: Vec::with_capacity(if k <= INSERTED { k + 1 } else { capacity(k) }),
            worst: None,
        }
    }

    /// Forgets the entries.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.worst = None;
    }

    /// The value that a later candidate must not exceed; none while there are fewer than k.
    pub fn bound(&self) -> Option<T> {
        self.worst.map(|w| w.0)
    }

    /// Offers `values`, whose indices start at `base`. Rows may come in pieces and in any order.
    pub fn offer(&mut self, isa: Isa, values: &[T], base: u32) {
        if self.k > 0 {
            T::dispatch(
                isa,
                CandidateRow {
                    top: self,
                    values,
                    name: |at| base.wrapping_add(at as u32),
                },
            );
        }
    }

    /// Offers `values` under the indices `names` (as many); they may come in any order.
    pub fn offer_named(&mut self, isa: Isa, values: &[T], names: &[u32]) {
        if self.k > 0 {
            let values = &values[..values.len().min(names.len())];
            T::dispatch(
                isa,
                CandidateRow {
                    top: self,
                    values,
                    name: |at| names[at],
                },
            );
        }
    }

    /// The entries in order, at most k.
    pub fn finish(&mut self) -> &[(T, u32)] {
        self.entries.sort_unstable_by(order);
        self.entries.truncate(self.k);
        &self.entries
    }

    /// Offers one value.
    #[cold]
    #[inline(never)]
    pub fn push(&mut self, entry: (T, u32)) {
        if self
            .worst
            .is_some_and(|worst| order(&entry, &worst) != Ordering::Less)
        {
            return;
        }
        if self.k <= INSERTED {
            // By steps from the end: lists are short, and most that enter enter late.
            if self.entries.len() < self.k {
                self.entries.push(entry);
            }
            let mut at = self.entries.len() - 1;
            while at > 0 && order(&entry, &self.entries[at - 1]) == Ordering::Less {
                self.entries[at] = self.entries[at - 1];
                at -= 1;
            }
            self.entries[at] = entry;
            self.worst = if self.entries.len() == self.k {
                self.entries.last().copied()
            } else {
                None
            };
        } else {
            self.entries.push(entry);
            if self.entries.len() == capacity(self.k)
                || (self.worst.is_none() && self.entries.len() == self.k)
            {
                let (_, &mut worst, _) = self.entries.select_nth_unstable_by(self.k - 1, order);
                self.entries.truncate(self.k);
                self.worst = Some(worst);
            }
        }
    }
}

/// Entries at which candidates are selected.
fn capacity(k: usize) -> usize {
    k.saturating_mul(2).saturating_add(64)
}

struct CandidateRow<'a, T, F> {
    top: &'a mut TopK<T>,
    values: &'a [T],
    /// The index of a value by its place.
    name: F,
}

impl<T: Element, F: Fn(usize) -> u32> Kernel<T> for CandidateRow<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        let CandidateRow { top, values, name } = self;
        let mut at = 0;
        while at < values.len() {
            // Until there is a bound that is a number, everything is a candidate.
            let Some(bound) = top.bound().filter(|b| b.partial_cmp(b).is_some()) else {
                top.push((values[at], name(at)));
                at += 1;
                continue;
            };
            let (next, bits) = scan(s, values, at, bound);
            for lane in 0..S::N {
                if bits >> lane & 1 == 1 {
                    top.push((values[next + lane], name(next + lane)));
                }
            }
            at = next + S::N;
        }
    }
}

/// The first vector from `at` on with a value up to `bound`, and the bits of those values.
#[inline(always)]
fn scan<T: Element, S: Lanes<T>>(s: S, values: &[T], mut at: usize, bound: T) -> (usize, u32) {
    let limit = s.splat(bound);
    while at + 4 * S::N <= values.len() {
        let m: [S::M; 4] = array_of(|i| {
            // SAFETY: `at` and the offsets stay N or more below the end.
            let four = unsafe { s.load(values.as_ptr().add(at + i * S::N)) };
            s.le(four, limit)
        });
        if s.any(s.or(s.or(m[0], m[1]), s.or(m[2], m[3]))) {
            break;
        }
        at += 4 * S::N;
    }
    while at + S::N <= values.len() {
        // SAFETY: at + N ≤ len.
        let bits = s.bits(s.le(unsafe { s.load(values.as_ptr().add(at)) }, limit));
        if bits != 0 {
            return (at, bits);
        }
        at += S::N;
    }
    let rest = values.get(at..).unwrap_or(&[]);
    let mut last = [T::ZERO; 16];
    last[..rest.len()].copy_from_slice(rest);
    // SAFETY: the array holds 16 ≥ N values.
    let bits = s.bits(s.le(unsafe { s.load(last.as_ptr()) }, limit));
    (at, bits & first_lanes(rest.len()))
}

//! Sums by bin next to the counts: products of weights, and values. Terms are whole numbers of a
//! small unit, so that sums are exact and the same in every order, as those of
//! [`zipfold_core::fold::HistogramState`].
//!
//! ```text
//! term (up to 2⁸⁰ units)  =  h · 2⁵⁴ + m · 2²⁷ + l            three f64 of at most 27 bits, split without rounding
//! for each 128 terms
//!     split them into three arrays, vector by vector
//!     for each term: parts[slot][k mod 4] += (h, m, l)        four copies, so that sums of one slot do not wait
//! after at most 2²⁶ terms: totals[slot] += h · 2⁵⁴ + m · 2²⁷ + l in i128, parts = 0
//! ```
//!
//! Additions of 128 bits are a chain of two instructions that no vector unit has. Three f64
//! additions are exact as long as sums stay below 2⁵³, which 2²⁶ terms of 2²⁶ do, and take a third
//! of the time of the rest of the loop. Scales with several windows are rare and go term by term.

use zipfold_core::fold::Scale;
use zipfold_vector::simd::{Isa, Kernel, Lanes, each_of};

/// What is summed for the pairs of two sets of points.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'w> {
    /// Weights of the points of x and of y, all finite, and [`BEHIND`] numbers more each; a pair
    /// weighs the product.
    pub weights: Option<[&'w [f64]; 2]>,
    /// How sums of weights are kept. Where by one unit, no product of weights has more than 2⁸⁰.
    pub weight_scale: Scale,
    /// Values are summed too: the distance, or its square where `squares`.
    pub values: bool,
    /// How sums of values are kept. Where by one unit, no value below the last edge has more than
    /// 2⁸⁰.
    pub value_scale: Scale,
    /// Values are squares.
    pub squares: bool,
}

/// Numbers behind the last weight: vectors may run over it.
pub const BEHIND: usize = 16;

/// Sums in the making.
#[derive(Debug)]
pub struct Sums<'w> {
    /// What is summed.
    pub terms: Terms<'w>,
    /// By slot: the sums of weights and of values, as many numbers each as their scale has windows.
    pub totals: [Vec<i128>; 2],
    /// The same, what is not in `totals` yet: multiples of 2⁵⁴, of 2²⁷, and the rest; some copies of
    /// each slot.
    parts: [Vec<Parts>; 2],
    copies: usize,
    /// Terms in `parts`.
    pub pending: usize,
}

/// A whole number, h · 2⁵⁴ + m · 2²⁷ + l.
pub type Parts = [f64; 3];

/// Sums of a slot, which terms take in turn: most pairs lie in few slots, and a sum would wait for
/// its last term. Of more slots than [`COPIED`] each has one sum: copies would leave the second cache.
const COPIES: usize = 4;
const COPIED: usize = 4096;
const HIGH: f64 = (1u64 << 54) as f64;
/// The unit of the middle part, and that of the high part over it.
pub const MID: f64 = (1u64 << 27) as f64;
/// Terms of parts of up to 2²⁶ (and a half) whose sums stay within 53 bits.
pub const MOST: usize = 1 << 26;
/// Terms that are taken apart at once: their parts stay in the nearest cache.
const SOME: usize = 128;

impl<'w> Sums<'w> {
    /// Sums of `slots` slots, all 0.
    pub fn new(terms: Terms<'w>, slots: usize) -> Self {
        let wanted = [terms.weights.is_some(), terms.values];
        let of = |which: usize| if wanted[which] { slots } else { 0 };
        let scales = [terms.weight_scale, terms.value_scale];
        let totals = [0, 1].map(|which| vec![0; of(which) * scales[which].windows()]);
        let copies = if slots > COPIED { 1 } else { COPIES };
        let parts = [0, 1].map(|which| {
            vec![
                [0.0; 3];
                if scales[which].is_plain() {
                    of(which) * copies
                } else {
                    0
                }
            ]
        });
        Sums {
            terms,
            totals,
            parts,
            copies,
            pending: 0,
        }
    }
    /// Adds the terms of pair (i, j), which lies in `slot`; `r2` is its squared distance.
    pub fn add(&mut self, i: usize, j: usize, slot: usize, r2: f64) {
        self.reserve(1);
        let weight = self
            .terms
            .weights
            .map(|[x, y]| x[i] * y[j] * self.terms.weight_scale.unit());
        let value = self.terms.values.then(|| self.terms.value(r2));
        let scales = [self.terms.weight_scale, self.terms.value_scale];
        for (which, term) in [weight, value].into_iter().enumerate() {
            let Some(term) = term else { continue };
            if !scales[which].is_plain() {
                scales[which].add_to_window(
                    windows_of(&mut self.totals[which], scales[which], slot),
                    term,
                );
                continue;
            }
            self.parts[which][slot * self.copies]
                .iter_mut()
                .zip(apart(term))
                .for_each(|(sum, part)| *sum += part);
        }
    }
    /// Adds weights, or values: term k to the slot that k's number of `slots` names, shifted left
    /// by `shift`. Sums of slots that are no bins hold anything.
    pub fn add_all(&mut self, isa: Isa, values: bool, terms: &[f64], slots: &[i32], shift: i32) {
        use zipfold_vector::simd::Element;
        let scale = if values {
            self.terms.value_scale
        } else {
            self.terms.weight_scale
        };
        if !scale.is_plain() {
            let totals = &mut self.totals[usize::from(values)];
            for (term, slot) in terms.iter().zip(slots).filter(|(term, _)| term.is_finite()) {
                scale.add_to_window(windows_of(totals, scale, (*slot >> shift) as usize), *term);
            }
            return;
        }
        self.reserve(terms.len());
        let parts = &mut self.parts[usize::from(values)];
        f64::dispatch(
            isa,
            Scatter {
                terms,
                slots,
                shift,
                parts,
                copies: self.copies,
            },
        );
    }
    /// Makes room for this many terms.
    fn reserve(&mut self, terms: usize) {
        if self.pending + terms > MOST {
            self.flush();
        }
        self.pending += terms;
    }
    /// Adds the parts to the totals, out of line as the flush of counts.
    #[cold]
    #[inline(never)]
    fn flush(&mut self) {
        for (totals, parts) in self.totals.iter_mut().zip(&mut self.parts) {
            for (total, parts) in totals.iter_mut().zip(parts.chunks_exact_mut(self.copies)) {
                // Of many slots, most are empty.
                for part in parts.iter_mut().filter(|part| **part != [0.0; 3]) {
                    let [high, mid, low] = part.map(|p| p as i128);
                    *total += (high << 54) + (mid << 27) + low;
                    *part = [0.0; 3];
                }
            }
        }
        self.pending = 0;
    }
    /// The sums of weights and of values by slot, of the ones that are wanted.
    pub fn finish(mut self) -> [Vec<i128>; 2] {
        self.flush();
        self.totals
    }
}

impl Terms<'_> {
    /// The term of a value.
    pub fn value(&self, r2: f64) -> f64 {
        (if self.squares { r2 } else { r2.sqrt() }) * self.value_scale.unit()
    }
}

/// The numbers that keep the sum of a slot.
fn windows_of(totals: &mut [i128], scale: Scale, slot: usize) -> &mut [i128] {
    let windows = scale.windows();
    &mut totals[slot * windows..(slot + 1) * windows]
}

/// The whole part of a term of up to 2⁸⁰ units; all steps are exact.
pub fn apart(term: f64) -> Parts {
    let whole = term.trunc();
    let high = (whole / HIGH).round_ties_even();
    let rest = whole - high * HIGH;
    let mid = (rest / MID).round_ties_even();
    [high, mid, rest - mid * MID]
}

/// Adds terms to the sums of their slots.
struct Scatter<'a> {
    terms: &'a [f64],
    slots: &'a [i32],
    shift: i32,
    parts: &'a mut [Parts],
    /// A power of two.
    copies: usize,
}

impl Kernel<f64> for Scatter<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) {
        let mut apart = [[0.0; SOME]; 3];
        let [high, low_of_high, mid, low_of_mid] =
            each_of([1.0 / HIGH, -HIGH, 1.0 / MID, -MID], |x| s.splat(x));
        let mut padded = [0.0; SOME];
        for (terms, slots) in self.terms.chunks(SOME).zip(self.slots.chunks(SOME)) {
            // Whole vectors: behind the last terms are others.
            padded[..terms.len()].copy_from_slice(terms);
            for at in (0..terms.len()).step_by(S::N) {
                // SAFETY: N divides SOME, so a vector at `at` lies within all arrays.
                unsafe {
                    let term = s.load(padded.as_ptr().add(at));
                    let size = s.abs(term);
                    let whole = s.toward(s.sub(size, s.fract(size)), term);
                    let h = s.round(s.mul(whole, high));
                    let rest = s.mul_add(h, low_of_high, whole);
                    let m = s.round(s.mul(rest, mid));
                    s.store(h, apart[0].as_mut_ptr().add(at));
                    s.store(m, apart[1].as_mut_ptr().add(at));
                    s.store(
                        s.mul_add(m, low_of_mid, rest),
                        apart[2].as_mut_ptr().add(at),
                    );
                }
            }
            for (at, slot) in slots.iter().enumerate().take(terms.len()) {
                let copy = at & (self.copies - 1);
                let parts = &mut self.parts[(*slot >> self.shift) as usize * self.copies + copy];
                for (sum, part) in parts.iter_mut().zip(&apart) {
                    *sum += part[at];
                }
            }
        }
    }
}

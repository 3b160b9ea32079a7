//! Spearman's correlation over the samples that two rows have in common, each ranked among them.
//!
//! ```text
//! once    2 · rank of each sample among those of its row        mean rank of equal ones; 0 missing
//! pair    c = common samples
//!         for each sample s of x that y lacks                    few: ranks move down
//!             rank(t) −= [x(t) > x(s)] + [x(t) ≥ x(s)]           vectors of 16-bit integers
//!         many: walk the samples of x in their order             one pass
//!         a = rank − (c + 1), 0 where not common; b the same
//!         r = Σab / √(Σa² Σb²)
//! ```
//!
//! A rank among the common samples is the rank among all of the row, less the samples below that
//! are left out. So ranks are not sorted again. All sums are integers: r depends on no order.

use super::presence::has;
use super::{Line, Presence, Values};
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes, array_of};

/// Values of a vector, so that rows begin at one.
const WIDE: usize = 32;
/// Left-out samples up to which ranks move down one by one.
const FEW: u32 = 40;
/// Samples up to which sums of products fit 32 bits.
const SHORT: usize = 2048;

/// Rows of doubled ranks.
#[derive(Clone, Debug)]
pub struct RankRows {
    ranks: Vec<[i16; WIDE]>,
    /// −1 for each sample that is there.
    masks: Vec<[i16; WIDE]>,
    /// The samples of each row in ascending order, missing ones last.
    order: Vec<u16>,
    presence: Presence,
    samples: usize,
}

impl RankRows {
    /// The most samples whose doubled ranks fit.
    pub const MOST: usize = 16_000;

    /// Rows of `samples` values each; NaN is missing.
    ///
    /// # Panics
    /// If there are more than [`RankRows::MOST`] samples.
    pub fn new(values: &[f64], samples: usize) -> Self {
        assert!(samples <= Self::MOST, "more samples than ranks hold");
        let mut rows = RankRows {
            ranks: vec![],
            masks: vec![],
            order: Vec::with_capacity(values.len()),
            presence: Presence::new(values, samples),
            samples,
        };
        values.chunks(samples.max(1)).for_each(|row| rows.push(row));
        rows
    }
    fn push(&mut self, row: &[f64]) {
        let ranks = doubled_ranks(row);
        for part in 0..row.len().div_ceil(WIDE) {
            let at = |lane: usize| ranks.get(part * WIDE + lane).copied().unwrap_or(0) as i16;
            let ranks: [i16; WIDE] = array_of(at);
            self.masks.push(ranks.map(|rank| -i16::from(rank > 0)));
            self.ranks.push(ranks);
        }
        let mut order: Vec<u16> = (0..row.len() as u16).collect();
        // Missing samples have rank 0: they go last.
        order.sort_by_key(|at| (ranks[usize::from(*at)] as u32).wrapping_sub(1));
        self.order.extend(order);
    }
    /// Correlations of a line of pairs.
    pub fn correlate(&self, isa: Isa, line: Line, other: &RankRows, out: Values<'_>) {
        let (x, y) = (self, other);
        match self.samples <= SHORT {
            true => f64::dispatch(isa, CorrelateRanks::<false> { x, y, line, out }),
            false => f64::dispatch(isa, CorrelateRanks::<true> { x, y, line, out }),
        }
    }
    #[inline(always)]
    fn parts(&self) -> usize {
        self.samples.div_ceil(WIDE)
    }
    #[inline(always)]
    fn row<'a>(&self, all: &'a [[i16; WIDE]], row: usize) -> &'a [[i16; WIDE]] {
        &all[row * self.parts()..][..self.parts()]
    }
    /// Writes the doubled ranks of `row` among the samples of `others`.
    #[inline(always)]
    fn ranked(&self, row: usize, others: &[u64], out: &mut [[i16; WIDE]]) {
        let ranks = self.row(&self.ranks, row);
        let own = self.presence.row(row);
        let less: u32 = own
            .iter()
            .zip(others)
            .map(|(a, b)| (a & !b).count_ones())
            .sum();
        if less > FEW {
            return self.walk(row, others, out);
        }
        out.copy_from_slice(ranks);
        // No closure: its body would not be compiled for the instruction set of the kernel.
        for (word, (own, others)) in own.iter().zip(others).enumerate() {
            let mut left = own & !others;
            while left != 0 {
                let at = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                move_down(ranks, ranks[at / WIDE][at % WIDE], out);
            }
        }
    }
    /// The same by a pass over the samples of `row` in their order.
    fn walk(&self, row: usize, others: &[u64], out: &mut [[i16; WIDE]]) {
        let ranks = self.row(&self.ranks, row);
        let rank = |at: u16| ranks[usize::from(at) / WIDE][usize::from(at) % WIDE];
        let order = &self.order[row * self.samples..][..self.samples];
        let mut before = 0;
        for tie in order.chunk_by(|a, b| rank(*a) == rank(*b)) {
            if rank(tie[0]) == 0 {
                return;
            }
            let common = tie.iter().filter(|at| has(others, usize::from(**at)));
            let count = common.clone().count() as i16;
            common.for_each(|at| {
                out[usize::from(*at) / WIDE][usize::from(*at) % WIDE] = 2 * before + count + 1;
            });
            before += count;
        }
    }
}

/// Moves ranks down by a sample of rank `gone` that is left out.
#[inline(always)]
fn move_down(ranks: &[[i16; WIDE]], gone: i16, out: &mut [[i16; WIDE]]) {
    for (out, ranks) in out.iter_mut().zip(ranks) {
        for lane in 0..WIDE {
            let rank = ranks[lane];
            out[lane] -= i16::from(rank > gone) + i16::from(rank >= gone);
        }
    }
}

/// Doubled ranks, from 2; equal values have their mean; 0 of NaN.
pub(super) fn doubled_ranks(row: &[f64]) -> Vec<i32> {
    let mut order: Vec<usize> = (0..row.len()).filter(|at| !row[*at].is_nan()).collect();
    order.sort_unstable_by(|a, b| row[*a].total_cmp(&row[*b]));
    let (mut out, mut before) = (vec![0; row.len()], 0);
    for tie in order.chunk_by(|a, b| row[*a] == row[*b]) {
        tie.iter()
            .for_each(|at| out[*at] = 2 * before + tie.len() as i32 + 1);
        before += tie.len() as i32;
    }
    out
}

struct CorrelateRanks<'a, const LONG: bool> {
    x: &'a RankRows,
    y: &'a RankRows,
    line: Line,
    out: Values<'a>,
}

impl<const LONG: bool> Kernel<f64> for CorrelateRanks<'_, LONG> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, _: S) {
        let (x, y, row) = (self.x, self.y, self.line.row);
        let mut a = vec![[0; WIDE]; x.parts()];
        let mut b = a.clone();
        for (at, other) in self.line.others.clone().enumerate() {
            let count = x.presence.common(row, &y.presence, other);
            self.out.counts[at] = count;
            x.ranked(row, y.presence.row(other), &mut a);
            y.ranked(other, x.presence.row(row), &mut b);
            let masks = [x.row(&x.masks, row), y.row(&y.masks, other)];
            let sums = match LONG {
                false => short_sums(&a, &b, masks, count as i16 + 1),
                true => long_sums(&a, &b, masks, count as i16 + 1),
            };
            self.out.values[at] = coefficient(sums);
        }
    }
}

/// The correlation of Σab, Σa², Σb².
#[inline(always)]
fn coefficient([ab, aa, bb]: [i64; 3]) -> f64 {
    // 0 / 0 of ranks that are all equal.
    (ab as f64 / (aa as f64 * bb as f64).sqrt()).clamp(-1.0, 1.0)
}

/// Sums of products of ranks less their middle, over samples that both masks have.
#[inline(always)]
fn short_sums(
    a: &[[i16; WIDE]],
    b: &[[i16; WIDE]],
    [in_a, in_b]: [&[[i16; WIDE]]; 2],
    middle: i16,
) -> [i64; 3] {
    let mut sums = [[0i32; WIDE]; 3];
    for ((a, b), (in_a, in_b)) in a.iter().zip(b).zip(in_a.iter().zip(in_b)) {
        for lane in 0..WIDE {
            let mask = in_a[lane] & in_b[lane];
            let p = i32::from((a[lane] - middle) & mask);
            let q = i32::from((b[lane] - middle) & mask);
            sums[0][lane] += p * q;
            sums[1][lane] += p * p;
            sums[2][lane] += q * q;
        }
    }
    sums.map(|lanes| lanes.iter().map(|v| i64::from(*v)).sum())
}

/// The same of many samples.
#[inline(always)]
fn long_sums(
    a: &[[i16; WIDE]],
    b: &[[i16; WIDE]],
    [in_a, in_b]: [&[[i16; WIDE]]; 2],
    middle: i16,
) -> [i64; 3] {
    let mut sums = [0; 3];
    for part in 0..a.len() {
        let one = |all: &[[i16; WIDE]]| -> [[i16; WIDE]; 1] { [all[part]] };
        let masks = [&one(in_a)[..], &one(in_b)[..]];
        // 32 products below 2³⁰ need more than 32 bits, one for each lane does not.
        let some = short_sums(&one(a), &one(b), masks, middle);
        (0..3).for_each(|k| sums[k] += some[k]);
    }
    sums
}

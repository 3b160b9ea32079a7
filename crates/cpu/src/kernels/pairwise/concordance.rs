//! Kendall's concordance of two rows over the samples that both have.
//!
//! ```text
//! few samples     for each two samples s < t of a row: a bit "greater", a bit "less"
//!     pair        concordant  = popcount(gₓ & g_y | lₓ & l_y)
//!                 discordant  = popcount(gₓ & l_y | lₓ & g_y)
//!                 untied in x = popcount((gₓ | lₓ) & both samples in y), and the other way round
//! many samples    Knight 1966: order by (x, y), merge sort by y counts the exchanges
//! ```
//!
//! A sample that is missing has neither bit with any other, so products need no mask. n (n − 1) / 2
//! pairs of samples are n² / 128 words: 28 words of 60 samples, where a sort takes 400 steps.

use super::presence::{has, within};
use super::ranks::doubled_ranks;
use super::{Line, Presence};
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes};

/// Samples up to which pairs of samples are kept as bits.
const FEW: usize = 512;

/// Counts of pairs of samples that a pair of rows has in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Common samples.
    pub count: u32,
    /// Concordant less discordant pairs of samples.
    pub difference: i64,
    /// Pairs of samples that differ in x, and in y.
    pub untied: [u64; 2],
}

/// Sums over groups of t equal values, as the variance of Kendall's statistic takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TieSums {
    /// Σ t (t − 1) / 2.
    pub pairs: f64,
    /// Σ t (t − 1) (t − 2).
    pub triples: f64,
    /// Σ t (t − 1) (2t + 5).
    pub weighted: f64,
}

/// Rows prepared for concordance.
#[derive(Clone, Debug)]
pub struct ConcordanceRows {
    bits: Option<Bits>,
    /// Doubled ranks, 0 where missing; equal values have equal ranks.
    ranks: Vec<i32>,
    /// The samples of each row in ascending order, missing ones last.
    order: Vec<u32>,
    /// By row, whether some of its values are equal.
    ties: Vec<bool>,
    presence: Presence,
    samples: usize,
}

/// Bits of pairs of samples, row by row.
#[derive(Clone, Debug)]
struct Bits {
    words: usize,
    greater: Vec<u64>,
    less: Vec<u64>,
    /// Whether both samples are there.
    both: Vec<u64>,
}

impl ConcordanceRows {
    /// Rows of `samples` values each; NaN is missing.
    pub fn new(values: &[f64], samples: usize) -> Self {
        let rows = || values.chunks(samples.max(1));
        let ranks: Vec<i32> = rows().flat_map(doubled_ranks).collect();
        let order = |ranks: &[i32]| {
            let mut order: Vec<u32> = (0..samples as u32).collect();
            order.sort_by_key(|at| (ranks[*at as usize] as u32).wrapping_sub(1));
            order
        };
        let order: Vec<u32> = ranks.chunks(samples.max(1)).flat_map(order).collect();
        let mut out = ConcordanceRows {
            bits: (samples <= FEW).then(|| Bits::new(&ranks, samples)),
            ties: vec![],
            ranks,
            order,
            presence: Presence::new(values, samples),
            samples,
        };
        out.ties = (0..out.ranks.len() / samples.max(1))
            .map(|row| out.tie_sums(row, None).pairs > 0.0)
            .collect();
        out
    }
    /// The same rows, whose pairs of samples are sorted and not looked up as bits.
    #[doc(hidden)]
    pub fn without_bits(mut self) -> Self {
        self.bits = None;
        self
    }
    /// Bytes that rows of this size take.
    pub fn bytes(rows: usize, samples: usize) -> u64 {
        let words = (samples * samples.saturating_sub(1) / 2).div_ceil(64);
        let bits = if samples <= FEW { 24 * words } else { 0 };
        rows as u64 * (bits + samples * 8) as u64
    }
    /// Counts of a line of pairs.
    pub fn balance(&self, isa: Isa, line: Line, other: &ConcordanceRows, out: &mut [Balance]) {
        let (x, y) = (self, other);
        match (&x.bits, &y.bits) {
            (Some(bits_x), Some(bits_y)) => f64::dispatch(
                isa,
                CountBits {
                    rows: [x, y],
                    bits: [bits_x, bits_y],
                    line,
                    out,
                },
            ),
            _ => {
                let mut sorted = Exchanged::default();
                for (at, other) in line.others.enumerate() {
                    out[at] = sorted.balance(x, line.row, y, other);
                }
            }
        }
    }
    /// The ties of `row`, among the samples of row `at` of another where one is given.
    pub fn tie_sums(&self, row: usize, other: Option<(&ConcordanceRows, usize)>) -> TieSums {
        let mut sums = TieSums::default();
        if self.ties.get(row) == Some(&false) {
            return sums;
        }
        let others = other.map(|(rows, at)| rows.presence.row(at));
        let ranks = self.ranks(row);
        let order = &self.order[row * self.samples..][..self.samples];
        for tie in order.chunk_by(|a, b| ranks[*a as usize] == ranks[*b as usize]) {
            if ranks[tie[0] as usize] == 0 {
                break;
            }
            let common = |at: &&u32| others.is_none_or(|words| has(words, **at as usize));
            let t = tie.iter().filter(common).count() as f64;
            sums.pairs += t * (t - 1.0) / 2.0;
            sums.triples += t * (t - 1.0) * (t - 2.0);
            sums.weighted += t * (t - 1.0) * (2.0 * t + 5.0);
        }
        sums
    }
    /// Whether the samples of `row` are all in row `at` of `other`.
    pub fn within(&self, row: usize, other: &ConcordanceRows, at: usize) -> bool {
        within(self.presence.row(row), other.presence.row(at))
    }
    fn ranks(&self, row: usize) -> &[i32] {
        &self.ranks[row * self.samples..][..self.samples]
    }
}

impl Bits {
    fn new(ranks: &[i32], samples: usize) -> Self {
        let words = (samples * samples.saturating_sub(1) / 2).div_ceil(64);
        let rows = ranks.len() / samples.max(1);
        let none = || vec![0u64; rows * words];
        let (mut greater, mut less, mut both) = (none(), none(), none());
        for (row, ranks) in ranks.chunks(samples.max(1)).enumerate() {
            let mut place = row * words * 64;
            for (s, a) in ranks.iter().enumerate() {
                for b in &ranks[s + 1..] {
                    let there = *a > 0 && *b > 0;
                    let set = |into: &mut [u64], bit: bool| {
                        into[place / 64] |= u64::from(bit) << (place % 64);
                    };
                    set(&mut greater, there && a > b);
                    set(&mut less, there && a < b);
                    set(&mut both, there);
                    place += 1;
                }
            }
        }
        Bits {
            words,
            greater,
            less,
            both,
        }
    }
    #[inline(always)]
    fn row(&self, row: usize) -> [&[u64]; 3] {
        [&self.greater, &self.less, &self.both].map(|all| &all[row * self.words..][..self.words])
    }
}

struct CountBits<'a> {
    rows: [&'a ConcordanceRows; 2],
    bits: [&'a Bits; 2],
    line: Line,
    out: &'a mut [Balance],
}

impl Kernel<f64> for CountBits<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, _: S) {
        let [x, y] = self.rows;
        let row = self.bits[0].row(self.line.row);
        for (at, other) in self.line.others.clone().enumerate() {
            let (difference, untied) = counted(row, self.bits[1].row(other));
            self.out[at] = Balance {
                count: x.presence.common(self.line.row, &y.presence, other),
                difference,
                untied,
            };
        }
    }
}

/// Concordant less discordant pairs of samples, and pairs that differ in x and in y.
#[inline(always)]
fn counted([gx, lx, both_x]: [&[u64]; 3], [gy, ly, both_y]: [&[u64]; 3]) -> (i64, [u64; 2]) {
    let (mut more, mut less, mut untied_x, mut untied_y) = (0u64, 0u64, 0u64, 0u64);
    let words = gx.len();
    // One length for all, so that the loop has no other end.
    let (lx, both_x) = (&lx[..words], &both_x[..words]);
    let (gy, ly, both_y) = (&gy[..words], &ly[..words], &both_y[..words]);
    for w in 0..words {
        let same = gx[w] & gy[w] | lx[w] & ly[w];
        let reverse = gx[w] & ly[w] | lx[w] & gy[w];
        more += u64::from(same.count_ones());
        less += u64::from(reverse.count_ones());
        untied_x += u64::from(((gx[w] | lx[w]) & both_y[w]).count_ones());
        untied_y += u64::from(((gy[w] | ly[w]) & both_x[w]).count_ones());
    }
    (more as i64 - less as i64, [untied_x, untied_y])
}

/// Knight's method, with its memory.
#[derive(Default)]
struct Exchanged {
    pairs: Vec<(i32, i32)>,
    seconds: Vec<i32>,
    spare: Vec<i32>,
}

impl Exchanged {
    fn balance(
        &mut self,
        x: &ConcordanceRows,
        row: usize,
        y: &ConcordanceRows,
        at: usize,
    ) -> Balance {
        let (a, b) = (x.ranks(row), y.ranks(at));
        self.pairs.clear();
        let order = &x.order[row * x.samples..][..x.samples];
        let common = order.iter().map(|s| (a[*s as usize], b[*s as usize]));
        self.pairs.extend(common.filter(|(a, b)| *a > 0 && *b > 0));
        // Exchanged by x already: equal ones are put in the order of y.
        for tie in self.pairs.chunk_by_mut(|p, q| p.0 == q.0) {
            tie.sort_unstable_by_key(|p| p.1);
        }
        let count = self.pairs.len() as u64;
        let all = count * count.saturating_sub(1) / 2;
        let ties_x = ties(self.pairs.chunk_by(|p, q| p.0 == q.0).map(<[_]>::len));
        let ties_both = ties(self.pairs.chunk_by(|p, q| p == q).map(<[_]>::len));
        self.seconds.clear();
        self.seconds.extend(self.pairs.iter().map(|p| p.1));
        self.spare.resize(self.seconds.len(), 0);
        let exchanges = exchanges(&mut self.seconds, &mut self.spare);
        let ties_y = ties(self.seconds.chunk_by(|p, q| p == q).map(<[_]>::len));
        // Pairs that differ in both are concordant, or exchanged.
        let differ = all + ties_both - ties_x - ties_y;
        Balance {
            count: count as u32,
            difference: differ as i64 - 2 * exchanges as i64,
            untied: [all - ties_x, all - ties_y],
        }
    }
}

/// Pairs within groups of these sizes.
fn ties(groups: impl Iterator<Item = usize>) -> u64 {
    groups.map(|t| t as u64 * (t as u64 - 1) / 2).sum()
}

/// Sorts, and counts the pairs that were in the other order.
fn exchanges(values: &mut [i32], spare: &mut [i32]) -> u64 {
    let n = values.len();
    if n < 2 {
        return 0;
    }
    let (low, high) = values.split_at_mut(n / 2);
    let (spare_low, spare_high) = spare.split_at_mut(n / 2);
    let mut count = exchanges(low, spare_low) + exchanges(high, spare_high);
    let (mut i, mut j) = (0, 0);
    for place in spare.iter_mut() {
        let from_high = i == low.len() || j < high.len() && high[j] < low[i];
        if from_high {
            count += (low.len() - i) as u64;
            *place = high[j];
            j += 1;
        } else {
            *place = low[i];
            i += 1;
        }
    }
    values.copy_from_slice(spare);
    count
}

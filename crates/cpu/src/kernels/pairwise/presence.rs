//! Which samples of each row are there, as bits.

/// Bits of samples, row by row.
///
/// ```
/// use zipfold_cpu::kernels::pairwise::Presence;
/// let there = Presence::new(&[1.0, f64::NAN, 2.0, 3.0], 2);
/// assert_eq!((there.count(0), there.common(0, &there, 1)), (1, 1));
/// assert!(!there.is_whole());
/// ```
#[derive(Clone, Debug)]
pub struct Presence {
    words: Vec<u64>,
    per_row: usize,
    samples: usize,
}

impl Presence {
    /// Those of rows of `samples` values each, where NaN is a sample that is missing.
    pub fn new(values: &[f64], samples: usize) -> Self {
        let per_row = samples.div_ceil(64);
        let mut words = Vec::with_capacity(values.len() / samples.max(1) * per_row);
        for row in values.chunks(samples.max(1)) {
            let word = |part: &[f64]| {
                let bit = |(at, v): (usize, &f64)| u64::from(!v.is_nan()) << at;
                part.iter().enumerate().map(bit).sum::<u64>()
            };
            words.extend(row.chunks(64).map(word));
        }
        Presence {
            words,
            per_row,
            samples,
        }
    }
    /// The words of a row.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.per_row..][..self.per_row]
    }
    /// Samples of a row.
    pub fn count(&self, row: usize) -> u32 {
        self.row(row).iter().map(|word| word.count_ones()).sum()
    }
    /// Samples that a row and row `at` of `other` both have.
    #[inline(always)]
    pub fn common(&self, row: usize, other: &Presence, at: usize) -> u32 {
        let pairs = self.row(row).iter().zip(other.row(at));
        pairs.map(|(a, b)| (a & b).count_ones()).sum()
    }
    /// Whether no sample is missing.
    pub fn is_whole(&self) -> bool {
        let rows = self.words.len() / self.per_row.max(1);
        (0..rows).all(|row| self.count(row) as usize == self.samples)
    }
}

/// Whether `values` differ over the samples that are both in `a` and in `b`.
#[inline(always)]
pub(super) fn vary(values: &[f64], a: &[u64], b: &[u64]) -> bool {
    let mut first = None;
    for (part, (a, b)) in values.chunks(64).zip(a.iter().zip(b)) {
        let mut common = a & b;
        while common != 0 {
            let v = part[common.trailing_zeros() as usize];
            if v != *first.get_or_insert(v) {
                return true;
            }
            common &= common - 1;
        }
    }
    false
}

/// Whether all bits of `a` are in `b`.
#[inline(always)]
pub(super) fn within(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a & !b == 0)
}

/// Whether a sample is there.
#[inline(always)]
pub(super) fn has(words: &[u64], at: usize) -> bool {
    words[at / 64] >> (at % 64) & 1 == 1
}

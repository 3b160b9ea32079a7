//! How devices keep the sums of weights and of values of a histogram: whole numbers of some words,
//! whose addition is associative, so that sums have the bits of the host.
//!
//! A term t is the whole number ⌊t / 2^lowest⌋ toward zero, as in `fold/scale.rs`. In the shared
//! memory of a block a sum has as few words as hold its terms with bits to spare; what overflows the
//! last of them goes to the sum in device memory, which has room for 2⁶² terms.
//!
//! Nobody knows how large the values of a formula are. Their sums have words for every finite term;
//! those around the largest of some sampled terms are in shared memory. A term that is not within
//! them goes to device memory, so a sample that says little costs time and no digit.
//!
//! ```text
//! words 0 … 67 of a sum   2^−1074 … 2^1102
//! shared                  4 of them, around the sampled size; of squares 7, whose rests are smaller
//! behind the words        three marks: a term was NaN, infinite, negative infinite
//! ```

use zipfold_core::fold::scale::{LEAST, exponent, lowest_digit};
use zipfold_core::fold::{Fold, Histogram, SummedTerms};

/// Bits of a word.
const WORD: i32 = 32;
/// Bits that the private words leave free: their last one overflows every 2¹² terms at most.
const SPARE: i32 = 12;
/// The most private words of terms that are split by that many additions.
const SPLIT: i32 = 4;
/// The most private words.
const MOST: i32 = 16;
/// Bits for the number of terms of a sum.
const TERMS: i32 = 62;
/// Exponents whose powers of two scale a term without rounding it.
const SCALED: i32 = 900;
/// Bits of an f64 behind its first.
const DIGITS: i32 = 52;
/// The exponent field of 1.
const BIAS: i64 = 1023;
/// The exponent of the largest number.
const MOST_EXPONENT: i32 = 1023;
/// Words that a kernel adds for a term where it does not split it.
const DIGIT_WORDS: i32 = 3;
/// Words of a sum of terms of any size, and marks behind it of terms that are not finite.
const ALL_WORDS: i32 = (MOST_EXPONENT + 1 - LEAST + 1 + TERMS) / WORD + 1;
const MARKS: usize = 3;
/// Private words of a sum, and of one of squares with what is left of their rounding.
const NEAR: [i32; 2] = [4, 7];
/// Binades that private words hold above the largest sampled term.
const ABOVE: i32 = 8;
/// Bytes of sums of formulas up to which a device keeps them.
const MOST_BYTES: usize = 1 << 28;

/// How one kind of sums is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The exponent of the unit.
    pub lowest: i32,
    /// Words of a sum in device memory.
    pub words: usize,
    /// Words of a sum in shared memory; none for terms of too many sizes.
    pub private: Option<usize>,
    /// Whether a term times [`Self::unit`] is split into words by additions, not by its digits.
    pub split: bool,
    /// Whether all terms are multiples of the unit, so that none has to be cut off.
    pub whole: bool,
    /// Of terms of any size: the first of the words that are in shared memory, too.
    pub any: Option<usize>,
}

impl Fixed {
    /// Returns how terms of magnitudes between `smallest` and `largest` are kept, in units of
    /// 2^`lowest`.
    fn new(lowest: i32, [smallest, largest]: [f64; 2], whole: bool) -> Self {
        // Terms that are all 0 have no bits.
        let bits = if largest > 0.0 {
            exponent(largest) + 1 - lowest
        } else {
            0
        };
        let private = (bits + SPARE + WORD - 1).div_euclid(WORD).max(1);
        let split = private <= SPLIT && lowest.abs() <= SCALED;
        let private = if split {
            private
        } else {
            private.max(DIGIT_WORDS)
        };
        Fixed {
            lowest,
            words: ((bits.max(0) + 1 + TERMS) / WORD + 1) as usize,
            private: (private <= MOST).then_some(private as usize),
            split,
            whole: whole || (smallest > 0.0 && exponent(smallest) - DIGITS >= lowest),
            any: None,
        }
    }
    /// Returns how terms of any size are kept, the largest of about 2^`size`; of squares, or of
    /// other numbers.
    fn of_any_size(size: i32, squares: bool) -> Self {
        let near = NEAR[usize::from(squares)];
        // A term takes three words from the one with its last bit on.
        let first = (size + ABOVE - DIGITS - LEAST).clamp(0, MOST_EXPONENT - DIGITS - LEAST);
        let end = first / WORD + DIGIT_WORDS;
        Fixed {
            lowest: LEAST,
            words: ALL_WORDS as usize,
            private: Some(near as usize),
            split: false,
            whole: true,
            any: Some((end - near).max(0) as usize),
        }
    }
    /// Returns the words of a cell in device memory, with its marks.
    pub fn cell_words(&self) -> usize {
        self.words + if self.any.is_some() { MARKS } else { 0 }
    }
    /// Returns what a term is multiplied by, to be a number of units; 1 if no power of two is.
    pub fn unit(&self) -> f64 {
        let exponent = if self.split { -self.lowest } else { 0 };
        f64::from_bits(((BIAS + i64::from(exponent)) as u64) << DIGITS)
    }
}

/// The sums that a histogram keeps in addition to its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BinSums {
    /// Of weights.
    pub weights: Option<Fixed>,
    /// Of values, for their means.
    pub values: Option<Fixed>,
    /// Of formulas: which, and their roots.
    pub formulas: Vec<(SummedTerms, usize, Fixed)>,
}

impl BinSums {
    /// Returns how a device keeps the sums of `h`; `None` if a weight or an edge is not finite, or
    /// for what [`hindrance`] tells, so that the host keeps them.
    pub fn for_histogram(h: &Histogram) -> Option<Self> {
        if hindrance(h).is_some() {
            return None;
        }
        let weights = h.weights.as_ref().map(|weights| of_weights(h, weights));
        let values = h.mean.then(|| of_values(h));
        Some(BinSums {
            weights: weights.map_or(Some(None), |w| w.map(Some))?,
            values: values.map_or(Some(None), |v| v.map(Some))?,
            formulas: of_formulas(h),
        })
    }
    /// Returns how each kind of sums is kept, in the order of a kernel's parameters.
    pub fn all(&self) -> impl Iterator<Item = (SummedTerms, Fixed)> + '_ {
        let weights = self.weights.map(|fixed| (SummedTerms::Weights, fixed));
        let means = self.values.map(|fixed| (SummedTerms::Means, fixed));
        let formulas = self
            .formulas
            .iter()
            .map(|(terms, _, fixed)| (*terms, *fixed));
        weights.into_iter().chain(means).chain(formulas)
    }
    /// Returns the private words of a cell without its count; `None` if one kind of sums has none.
    pub fn private(&self) -> Option<usize> {
        self.all().map(|(_, fixed)| fixed.private).sum()
    }
}

/// Returns why the host keeps what `h` sums of formulas, if it does.
pub fn hindrance(h: &Histogram) -> Option<&'static str> {
    if h.keeps_ends() {
        return Some("the least and the largest value by bin are kept by the host");
    }
    let kinds = h.summed_terms().len();
    let words = h
        .cells()
        .saturating_mul(kinds * (ALL_WORDS as usize + MARKS));
    (words > MOST_BYTES / 4)
        .then_some("exact sums of formulas in these bins take more than 256 MiB of a device")
}

fn of_formulas(h: &Histogram) -> Vec<(SummedTerms, usize, Fixed)> {
    let one = |(terms, root, size)| {
        let squares = matches!(terms, SummedTerms::Squares(_));
        (terms, root, Fixed::of_any_size(size, squares))
    };
    h.summed_terms().into_iter().map(one).collect()
}

/// Returns how the sums of `fold` are kept, in words for `explain`, if it has any; `copies` of its
/// counters are in shared memory.
pub(super) fn described(fold: &Fold, copies: usize) -> Option<String> {
    let Fold::Histogram(h) = fold else {
        return None;
    };
    let sums = BinSums::for_histogram(h)?;
    let one = |(terms, fixed): (SummedTerms, Fixed)| {
        let what = match terms {
            SummedTerms::Weights => "weights",
            SummedTerms::Means => "values",
            SummedTerms::Values(_) => "a formula",
            SummedTerms::Squares(_) => "squares of a formula",
        };
        let (words, place) = match fixed.private.filter(|_| copies > 0) {
            Some(words) => (words, "shared"),
            None => (fixed.words, "device"),
        };
        format!("sums of {what} are whole numbers of {words} words in {place} memory")
    };
    let texts: Vec<String> = sums.all().map(one).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn of_weights(h: &Histogram, weights: &[Vec<f64>; 2]) -> Option<Fixed> {
    if !weights.iter().flatten().all(|w| w.is_finite()) {
        return None;
    }
    let sizes = |at: usize| weights[at].iter().map(|w| w.abs()).filter(|w| *w > 0.0);
    let least = |at: usize| sizes(at).fold(f64::INFINITY, f64::min);
    let most = |at: usize| sizes(at).fold(0.0, f64::max);
    let digit = |at: usize| sizes(at).map(lowest_digit).min();
    let first = h.weight_scale().first_exponent();
    let (Some(a), Some(b)) = (digit(0), digit(1)) else {
        return Some(Fixed::new(first, [0.0, 0.0], true));
    };
    // Products are multiples of the product of the last digits, also after rounding.
    let lowest = first.max(a + b);
    let ends = [least(0) * least(1), most(0) * most(1)];
    Some(Fixed::new(lowest, ends, a + b >= lowest))
}

fn of_values(h: &Histogram) -> Option<Fixed> {
    let edges = &h.axes[0].edges;
    let ends = [edges[0].abs(), edges[edges.len() - 1].abs()];
    let finite = ends.iter().all(|end| end.is_finite());
    let lowest = h.value_scale().first_exponent();
    finite.then(|| Fixed::new(lowest, [0.0, ends[0].max(ends[1])], false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::fold::{Axis, Closed};

    fn weighed(a: Vec<f64>, b: Vec<f64>) -> Histogram {
        let axis = Axis::uniform(0, [0.0, 1.0], 10, false, Closed::Last);
        let plain = Histogram::new(vec![axis], Closed::Last, false);
        plain.weighted([a, b]).unwrap()
    }

    #[test]
    fn weights_of_few_digits_take_few_words() {
        let words = |a: Vec<f64>, b: Vec<f64>| {
            let sums = BinSums::for_histogram(&weighed(a, b)).unwrap();
            sums.weights.unwrap()
        };
        let few = words(vec![1.0, 3.0, 0.0], vec![-2.0, 5.0]);
        assert_eq!((few.private, few.whole), (Some(1), true));
        let single = words(vec![f64::from(0.7f32)], vec![f64::from(0.9f32), 1.0]);
        assert_eq!((single.private, single.whole), (Some(2), true));
        let double = words(vec![0.7], vec![1.0 / 3.0]);
        assert_eq!((double.private, double.whole), (Some(3), true));
        let wide = words(vec![1e-15, 1.1], vec![1e15, 0.3]);
        assert!(wide.private.is_some() && !wide.split);
        let widest = words(vec![1e-150, 1.1], vec![1e150, 0.3]);
        assert_eq!((widest.private, widest.split), (None, false));
        let none = words(vec![0.0], vec![1.0]);
        assert_eq!(none.private, Some(1));
    }

    #[test]
    fn words_of_terms_of_any_size_are_those_of_the_sum() {
        // Squares of the least and the largest number have these sizes, too.
        for size in [-2147, -1074, -1023, -30, 0, 7, 1000, 1023, 2047] {
            for squares in [false, true] {
                let fixed = Fixed::of_any_size(size, squares);
                let (first, near) = (fixed.any.unwrap(), fixed.private.unwrap());
                assert!(first + near <= fixed.words, "{size} {squares} {fixed:?}");
                // A number of the sampled size, and of 2^ABOVE times that, has its words there.
                for exponent in [size, size + ABOVE] {
                    let last = exponent.clamp(LEAST, MOST_EXPONENT) - DIGITS - LEAST;
                    let word = last.max(0) as usize / WORD as usize;
                    let fits = word >= first && word + DIGIT_WORDS as usize <= first + near;
                    assert!(fits, "{size} {squares} {exponent} {fixed:?}");
                }
            }
        }
    }

    #[test]
    fn sums_that_are_not_finite_are_those_of_the_host() {
        assert!(BinSums::for_histogram(&weighed(vec![f64::NAN, 1.0], vec![1.0])).is_none());
        let axis = Axis::new(0, vec![0.0, 1.0, f64::INFINITY], false, Closed::Last);
        let mean = Histogram::new(vec![axis], Closed::Last, true);
        assert!(BinSums::for_histogram(&mean).is_none());
    }
}

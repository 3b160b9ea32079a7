//! How many entries and pieces of memory some configurations of digits touch in a table: counted
//! from strides, without a walk over addresses.

use zipfold_product::cpu::shape::Digit;

/// Digits with how many of their values are covered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cover<'s>(Vec<(&'s Digit, usize)>);

impl<'s> Cover<'s> {
    /// Configurations side by side of `digits`, slowest first.
    pub(crate) fn of_run(digits: &[&'s Digit], configurations: usize) -> Self {
        let mut left = configurations.max(1);
        let take = |digit: &&'s Digit| {
            let own = left.min(digit.card);
            left = left.div_ceil(digit.card);
            (*digit, own)
        };
        Cover(digits.iter().rev().map(take).collect())
    }
    /// All configurations of `digits`.
    pub(crate) fn of_all(digits: &[&'s Digit]) -> Self {
        Cover(digits.iter().map(|d| (*d, d.card)).collect())
    }
    /// The same `times` at places as far apart as the digits allow: a thread takes columns
    /// that are apart.
    pub(crate) fn widened(mut self, times: usize) -> Self {
        let mut left = times;
        for (digit, many) in self.0.iter_mut().rev() {
            let more = left.min((digit.card / *many).max(1));
            left = left.div_ceil(more);
            *many *= more;
        }
        self
    }
    /// Both at once.
    pub(crate) fn and(mut self, other: Cover<'s>) -> Self {
        self.0.extend(other.0);
        self
    }
    /// Entries that are touched.
    #[cfg(test)]
    fn entries(&self, stride: &dyn Fn(&Digit) -> usize) -> f64 {
        let own = self.0.iter().filter(|(d, _)| stride(d) > 0);
        own.map(|(_, many)| *many as f64).product()
    }
    /// Pieces of `piece` entries that are touched: values that lie within a piece or side by side
    /// share pieces, others have pieces of their own.
    pub(crate) fn pieces(&self, piece: usize, stride: &dyn Fn(&Digit) -> usize) -> f64 {
        let steps = self.0.iter().map(|(d, many)| (stride(d), *many));
        let mut steps: Vec<(usize, usize)> = steps.filter(|(step, _)| *step > 0).collect();
        steps.sort_unstable();
        let (mut span, mut apart, mut entries) = (1, 1.0, 1.0);
        for (step, many) in steps {
            entries *= many as f64;
            if step < piece || step <= span {
                span += step * (many - 1);
            } else {
                apart *= many as f64;
            }
        }
        (apart * span.div_ceil(piece) as f64).min(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use zipfold_core::Random;
    use zipfold_product::cpu::shape::MOST_INPUTS;

    fn digit(card: usize, stride: usize) -> Digit {
        let mut strides = [0; MOST_INPUTS];
        strides[0] = stride;
        Digit {
            card,
            strides,
            out: 1,
            summed: false,
        }
    }

    #[test]
    fn pieces_are_near_those_of_the_walk_over_addresses() {
        let (mut random, mut sum) = (Random::new(3), 0.0);
        for _ in 0..500 {
            let mut stride = 1;
            let mut digits = Vec::new();
            for _ in 0..1 + random.below(4) {
                let card = 2 + random.below(6);
                let held = random.below(3) > 0;
                digits.push(digit(card, if held { stride } else { 0 }));
                stride *= if held { card } else { 1 };
                // A gap, as of digits whose values are given.
                stride *= 1 + random.below(3);
            }
            digits.reverse();
            let digits: Vec<&Digit> = digits.iter().collect();
            let all: usize = digits.iter().map(|d| d.card).product();
            let cover = Cover::of_run(&digits, all);
            let place = |mut at: usize| {
                let mut place = 0;
                for d in digits.iter().rev() {
                    place += at % d.card * d.strides[0];
                    at /= d.card;
                }
                place
            };
            let walked: BTreeSet<usize> = (0..all).map(place).collect();
            let pieces: BTreeSet<usize> = walked.iter().map(|p| p / 8).collect();
            assert_eq!(cover.entries(&|d| d.strides[0]), walked.len() as f64);
            let ratio = cover.pieces(8, &|d| d.strides[0]) / pieces.len() as f64;
            // A run may lie across the ends of pieces, which is not counted.
            assert!((0.5..=2.0).contains(&ratio), "{ratio} {digits:?}");
            sum += ratio.ln();
        }
        let mean = (sum / 500.0).exp();
        assert!((0.9..=1.1).contains(&mean), "{mean} in the mean");
    }

    #[test]
    fn runs_of_whole_pieces_are_counted_as_they_are() {
        // 3 runs of 4 · 8 entries, 64 apart, which stand still along a digit without a stride.
        let digits = [digit(3, 64), digit(5, 0), digit(4, 8), digit(8, 1)];
        let digits: Vec<&Digit> = digits.iter().collect();
        let stride = |d: &Digit| d.strides[0];
        let all = Cover::of_all(&digits);
        assert_eq!(all.pieces(8, &stride), 12.0);
        assert_eq!(all.pieces(16, &stride), 6.0);
        // The first 16 side by side, and the same with the rest of the slower digits.
        let some = Cover::of_run(&digits, 16);
        assert_eq!(some.pieces(8, &stride), 2.0);
        // Six times as many: three along the slowest digit, two along the digit without a stride.
        assert_eq!(some.widened(6).pieces(8, &stride), 6.0);
    }
}

//! Offsets of all configurations of some digits, without a list of them all.

use super::shape::offsets;
use std::ops::Range;

/// Offsets of the configurations of digits, the last digit fastest: those of the slow digits and
/// those of the fast ones are listed, and every offset is a sum of two.
#[derive(Debug)]
pub(super) struct DigitPlaces {
    slow: Vec<usize>,
    fast: Fast,
}

#[derive(Debug)]
enum Fast {
    /// Listed.
    List(Vec<usize>),
    /// A number of values and the stride of one long digit.
    Digit(usize, usize),
}

/// Most listed configurations of the fast digits.
const LISTED: usize = 1 << 12;

impl DigitPlaces {
    /// Of digits as (number of values, stride), slowest first.
    pub(super) fn new(digits: &[(usize, usize)]) -> Self {
        if let Some(((card, stride), slow)) = digits.split_last()
            && *card > LISTED
        {
            return DigitPlaces {
                slow: offsets(slow),
                fast: Fast::Digit(*card, *stride),
            };
        }
        let (mut cut, mut len) = (digits.len(), 1);
        while cut > 0 && len * digits[cut - 1].0 <= LISTED {
            cut -= 1;
            len *= digits[cut].0;
        }
        DigitPlaces {
            slow: offsets(&digits[..cut]),
            fast: Fast::List(offsets(&digits[cut..])),
        }
    }
    fn period(&self) -> usize {
        match &self.fast {
            Fast::List(list) => list.len(),
            Fast::Digit(card, _) => *card,
        }
    }
    /// Number of configurations.
    pub(super) fn len(&self) -> usize {
        self.slow.len() * self.period()
    }
    /// The offset of configuration `index`.
    pub(super) fn offset(&self, index: usize) -> usize {
        let (slow, fast) = (index / self.period(), index % self.period());
        self.slow[slow]
            + match &self.fast {
                Fast::List(list) => list[fast],
                Fast::Digit(_, stride) => fast * stride,
            }
    }
    /// Writes the offsets of a range of configurations to `to`, instead of what it held.
    pub(super) fn list(&self, range: Range<usize>, to: &mut Vec<usize>) {
        to.clear();
        let period = self.period();
        let mut at = range.start;
        while at < range.end {
            let (slow, first) = (self.slow[at / period], at % period);
            let end = period.min(first + range.end - at);
            match &self.fast {
                Fast::List(list) => to.extend(list[first..end].iter().map(|o| slow + o)),
                Fast::Digit(_, stride) => to.extend((first..end).map(|i| slow + i * stride)),
            }
            at += end - first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_offsets() {
        for digits in [
            vec![],
            vec![(3, 7)],
            vec![(2, 90_000), (9000, 3)],
            vec![(5, 1), (50, 40), (60, 2000), (3, 9)],
        ] {
            let (all, places) = (offsets(&digits), DigitPlaces::new(&digits));
            assert_eq!(places.len(), all.len());
            let mut list = Vec::new();
            for range in [
                0..all.len(),
                all.len() / 3..all.len() / 2,
                all.len() - 1..all.len(),
            ] {
                places.list(range.clone(), &mut list);
                assert_eq!(list, all[range.clone()]);
                range.for_each(|i| assert_eq!(places.offset(i), all[i]));
            }
        }
    }
}

//! Sums that carry their rounding errors along (Neumaier 1974).

/// A sum that is good to the last bits, in any order of its terms.
///
/// The first number is the plain sum, the second what its roundings lost.
#[derive(Clone, Copy, Default)]
pub(crate) struct CompensatedSum(f64, f64);

impl CompensatedSum {
    /// Adds a term.
    pub(crate) fn add(&mut self, x: f64) {
        let t = self.0 + x;
        // The error of the sum is recovered from the larger operand (Neumaier).
        self.1 += if self.0.abs() >= x.abs() {
            (self.0 - t) + x
        } else {
            (x - t) + self.0
        };
        self.0 = t;
    }
    /// Returns the sum.
    pub(crate) fn value(self) -> f64 {
        // An infinite sum has lost nothing: ∞ − ∞ is not a rounding.
        match self.0.is_finite() {
            true => self.0 + self.1,
            false => self.0,
        }
    }
}

/// Returns the sum of `values`.
pub(crate) fn compensated(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = CompensatedSum::default();
    values.for_each(|value| sum.add(value));
    sum.value()
}

#[cfg(test)]
mod tests {
    use super::compensated;

    #[test]
    fn what_roundings_lose_is_kept() {
        assert_eq!(compensated([1e100, 1.0, -1e100].into_iter()), 1.0);
        assert_eq!(compensated([0.1; 10].into_iter()), 1.0);
        assert_eq!(compensated([1.0, f64::INFINITY].into_iter()), f64::INFINITY);
        assert!(compensated([f64::INFINITY, f64::NEG_INFINITY].into_iter()).is_nan());
        assert_eq!(compensated([].into_iter()), 0.0);
    }
}

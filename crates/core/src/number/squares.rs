//! Limits of squares: how to compare √s with a number by comparing s with another one, for every s
//! and in all bits.
//!
//! Square roots are correctly rounded, and rounding never reverses an order. So for a number r the
//! squares s with √s ≥ r are all numbers from some s₀ on, and √s ≥ r ⇔ s ≥ s₀. The limit s₀ is near
//! r² but need not be fl(r²): √(fl(r²)) may round to r from below. It is found by trying
//! neighbours.
//!
//! ```text
//! r = 5        s₀ = 25 − 2⁻⁴⁸, the number before 25: its root rounds to 5
//! ```
//!
//! Thresholds (`parse.rs`) and edges of histograms (`fold/histogram.rs`) use it to compare squares
//! of distances and take no root per pair.

/// Returns the smallest s ≥ 0 with √s ≥ `root`: −∞ for a root below zero, which every s exceeds; ∞
/// if only an infinite s has such a root; NaN for NaN.
pub fn least_square(root: f64) -> f64 {
    if root <= 0.0 || root.is_nan() {
        return if root < 0.0 {
            f64::NEG_INFINITY
        } else {
            root.abs()
        };
    }
    // A few steps from the rounded square: roots lie less close than squares, but where squares are
    // the smallest numbers.
    let mut square = (root * root).min(f64::MAX);
    while square.sqrt() < root {
        square = square.next_up();
    }
    while square > 0.0 && square.next_down().sqrt() >= root {
        square = square.next_down();
    }
    square
}

/// Returns the largest s ≥ 0 with √s ≤ `root`: −∞ below zero, where none exists. The number before
/// the least square of the next root is the last one whose root is at most `root`.
pub fn largest_square(root: f64) -> f64 {
    match root {
        below if below < 0.0 => f64::NEG_INFINITY,
        root if root.is_finite() => least_square(root.next_up()).next_down(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_compared_as_their_roots() {
        let extremes = [
            0.0,
            5e-324,
            1e-170,
            1e-162,
            1.5e-162,
            1e-160,
            1e-154,
            1.4e-154,
            1e154,
            1.3407807929942596e154,
        ];
        let large = [
            1.3407807929942597e154,
            1e155,
            1e200,
            1e201,
            f64::MAX,
            f64::INFINITY,
        ];
        let plain = (1..400).map(|k| f64::from(k) * 0.1);
        let roots = plain.clone().map(f64::sqrt);
        for root in extremes.into_iter().chain(large).chain(plain).chain(roots) {
            let (least, largest) = (least_square(root), largest_square(root));
            assert!(least.sqrt() >= root && largest.sqrt() <= root, "{root:e}");
            assert!(least == 0.0 || least.next_down().sqrt() < root, "{root:e}");
            assert!(
                largest == f64::INFINITY || largest.next_up().sqrt() > root,
                "{root:e}"
            );
        }
        assert_eq!(
            (least_square(1e-170), largest_square(1e-170)),
            (5e-324, 0.0)
        );
        assert_eq!(
            (least_square(1e200), largest_square(1e200)),
            (f64::INFINITY, f64::MAX)
        );
        assert_eq!(
            (least_square(-1.0), largest_square(-1.0)),
            (f64::NEG_INFINITY, f64::NEG_INFINITY)
        );
        assert_eq!((least_square(0.0), largest_square(0.0)), (0.0, 0.0));
        assert!(least_square(f64::NAN).is_nan() && largest_square(f64::NAN).is_nan());
    }
}

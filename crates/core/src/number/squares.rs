//! Limits of squares: √s compared with a number as s is compared with another, for every s. Roots
//! are rounded to nearest, and rounding never reverses an order, so the squares whose roots reach a
//! number are all from one square on.

/// The smallest s with √s ≥ `root`, for s ≥ 0: −∞ below zero, ∞ where only an infinite s has such a
/// root.
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

/// The largest s with √s ≤ `root`, for s ≥ 0: −∞ below zero, where there is none.
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

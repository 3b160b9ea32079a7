//! Semirings: what ⊕ and ⊗ mean in ⊕ over states of ⊗ over factors (Aji and McEliece 2000, "the
//! generalized distributive law"). Elimination is right for every commutative semiring, because it
//! only uses associativity, commutativity and distributivity.

use std::fmt::Debug;

/// A commutative semiring. ⊕ and ⊗ are associative and commutative, ⊗ distributes over ⊕, and
/// `zero` annihilates.
///
/// No inverse of ⊕ or ⊗ is assumed, so elimination never divides or subtracts.
pub trait Semiring: Sync {
    /// The values of tables.
    type Value: Copy + Send + Sync + PartialEq + Debug;
    /// The identity of ⊕.
    fn zero(&self) -> Self::Value;
    /// The identity of ⊗.
    fn unit(&self) -> Self::Value;
    /// a ⊕ b.
    fn add(&self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// a ⊗ b.
    fn mul(&self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// Returns what a table should hold instead, where `value` breaks one of the laws above.
    fn expected_instead_of(&self, _value: Self::Value) -> Option<&'static str> {
        None
    }
}

macro_rules! semiring {
    ($(#[$doc:meta])* $name:ident, $value:ty, $zero:expr, $one:expr, $add:expr, $mul:expr, $lacks:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl Semiring for $name {
            type Value = $value;
            fn zero(&self) -> $value { $zero }
            fn unit(&self) -> $value { $one }
            fn add(&self, a: $value, b: $value) -> $value { $add(a, b) }
            fn mul(&self, a: $value, b: $value) -> $value { $mul(a, b) }
            fn expected_instead_of(&self, value: $value) -> Option<&'static str> { $lacks(value) }
        }
    };
}

semiring!(/// (+, ×): partition functions and marginals.
    SumProduct, f64, 0.0, 1.0, |a, b| a + b, |a, b| a * b, |_| None);
semiring!(/// (max, ×) over numbers that are not negative: most probable states. A factor below zero turns
    /// the order around, so that the product of maxima is not the largest product.
    MaxProduct, f64, 0.0, 1.0, f64::max, |a, b| a * b,
    |v: f64| (!v.is_finite() || v < 0.0).then_some("a finite number from 0"));
semiring!(/// (log-sum-exp, +) over natural logarithms; -∞ is zero.
    LogSumExp, f64, f64::NEG_INFINITY, 0.0, log_add, |a, b| a + b,
    |v: f64| (v.is_nan() || v == f64::INFINITY).then_some("the logarithm of an entry"));
semiring!(/// (min, +): least cost; +∞ is zero.
    MinSum, f64, f64::INFINITY, 0.0, f64::min, |a, b| a + b,
    |v: f64| (v.is_nan() || v == f64::NEG_INFINITY).then_some("a cost above -inf"));
semiring!(/// (or, and): satisfiability.
    OrAnd, bool, false, true, |a, b| a || b, |a, b| a && b, |_| None);

/// Computes ln(eᵃ + eᵇ) without overflow, by the difference of the two. Two −∞ give −∞.
///
/// The difference is at most 0, so its exponential is at most 1.
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + libm::log1p(libm::exp(low - high))
    }
}

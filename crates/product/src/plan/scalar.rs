//! One non-negative number as mantissa × 2^exponent, so that products of thousands of tables
//! neither over- nor underflow.

/// `mantissa · 2^exponent`; the mantissa is 0 or in [1, 2).
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Scalar {
    /// 0, or in [1, 2).
    pub mantissa: f64,
    /// The power of two.
    pub exponent: i64,
}

impl Default for Scalar {
    fn default() -> Self {
        Scalar::ZERO
    }
}

impl Scalar {
    /// 1.
    pub const ONE: Scalar = Scalar {
        mantissa: 1.0,
        exponent: 0,
    };
    /// 0.
    pub const ZERO: Scalar = Scalar {
        mantissa: 0.0,
        exponent: 0,
    };

    /// The number `value` (finite, at least 0).
    pub fn from_f64(value: f64) -> Self {
        if value <= 0.0 {
            return Self::ZERO;
        }
        let (mantissa, exponent) = split(value);
        Scalar { mantissa, exponent }
    }
    /// `value · 2^exponent`.
    pub fn scaled(value: f64, exponent: i64) -> Self {
        Self::from_f64(value).shifted(exponent)
    }
    /// This number times 2^`by`. 0 stays as it is: its exponent says nothing about its size.
    #[must_use]
    pub fn shifted(self, by: i64) -> Self {
        if self.is_zero() {
            return self;
        }
        Scalar {
            exponent: self.exponent + by,
            ..self
        }
    }
    /// e^x.
    pub fn exp(x: f64) -> Self {
        if x == f64::NEG_INFINITY {
            return Self::ZERO;
        }
        let bits = (x * std::f64::consts::LOG2_E).floor();
        Self::scaled((x - bits * std::f64::consts::LN_2).exp(), bits as i64)
    }
    /// The product.
    pub fn times(self, other: Self) -> Self {
        Self::scaled(
            self.mantissa * other.mantissa,
            self.exponent + other.exponent,
        )
    }
    /// The quotient by a number that is not 0.
    pub fn over(self, other: Self) -> Self {
        Self::scaled(
            self.mantissa / other.mantissa,
            self.exponent - other.exponent,
        )
    }
    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        let (low, high) = if self.is_zero() || (!other.is_zero() && self.exponent < other.exponent)
        {
            (self, other)
        } else {
            (other, self)
        };
        if low.is_zero() {
            return high;
        }
        let shift = (low.exponent - high.exponent).max(-1074) as i32;
        Self::scaled(
            high.mantissa + low.mantissa * (f64::from(shift)).exp2(),
            high.exponent,
        )
    }
    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }
    /// log10; -∞ for 0.
    pub fn log10(self) -> f64 {
        self.mantissa.log10() + self.exponent as f64 * std::f64::consts::LOG10_2
    }
    /// Natural logarithm; -∞ for 0.
    pub fn ln(self) -> f64 {
        self.mantissa.ln() + self.exponent as f64 * std::f64::consts::LN_2
    }
    /// As f64, which may over- or underflow.
    pub fn value(self) -> f64 {
        // 0 times a power of two beyond f64 would be NaN.
        if self.is_zero() {
            return 0.0;
        }
        let half = self.exponent.clamp(-3000, 3000) / 2;
        let rest = self.exponent.clamp(-3000, 3000) - half;
        self.mantissa * (half as f64).exp2() * (rest as f64).exp2()
    }
}

/// A positive finite number as mantissa in [1, 2) and exponent, exactly.
fn split(value: f64) -> (f64, i64) {
    let bits = value.to_bits();
    match (bits >> 52) as i64 & 0x7ff {
        0 => {
            let (m, e) = split(value * (1u64 << 54) as f64);
            (m, e - 54)
        }
        field => (
            f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52)),
            field - 1023,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::Scalar;

    #[test]
    fn zero_is_zero_with_every_exponent() {
        for exponent in [i64::MIN, -5000, -1, 0, 2046, 2047, 2048, 5000, i64::MAX] {
            let zero = Scalar {
                mantissa: 0.0,
                exponent,
            };
            assert_eq!(zero.value(), 0.0, "{exponent}");
            assert_eq!(Scalar::ZERO.shifted(exponent), Scalar::ZERO);
            assert_eq!(Scalar::scaled(0.0, exponent), Scalar::ZERO);
        }
    }

    #[test]
    fn values_beyond_f64_are_its_ends() {
        for (exponent, want) in [(1024, f64::INFINITY), (5000, f64::INFINITY), (-5000, 0.0)] {
            assert_eq!(Scalar::ONE.shifted(exponent).value(), want, "{exponent}");
        }
        for exponent in [-1074, -1023, -1022, 0, 1023] {
            let one = Scalar::ONE.shifted(exponent);
            assert_eq!(Scalar::from_f64(one.value()), one, "{exponent}");
        }
    }
}

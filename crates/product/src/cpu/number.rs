//! The element types of tables, as numbers.

use zipfold_vector::math::Transcendental;

/// f32 or f64.
pub trait Number:
    Transcendental
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::AddAssign
{
    /// Powers of two that products may reach either way before the true log domain takes over.
    const LIMIT: i32;
    /// Entries of a logical vector, 512 bits: the unit in which tables are packed, whatever vectors
    /// the machine has.
    const LANES: usize;
    /// Columns of the matrix kernel's tile.
    const COLUMNS: usize = 8;
    /// The larger.
    fn larger(self, other: Self) -> Self;
    /// `self · factor + more`, in one rounding where the machine has an instruction for it.
    fn fused<const FMA: bool>(self, factor: Self, more: Self) -> Self;
}

macro_rules! number {
    ($t:ty, $limit:expr, $lanes:expr) => {
        impl Number for $t {
            const LIMIT: i32 = $limit;
            const LANES: usize = $lanes;
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self < other { other } else { self }
            }
            #[inline(always)]
            fn fused<const FMA: bool>(self, factor: Self, more: Self) -> Self {
                if FMA {
                    self.mul_add(factor, more)
                } else {
                    self * factor + more
                }
            }
        }
    };
}
number!(f64, 1000, 8);
number!(f32, 120, 16);

//! The element types of tables.

use super::held::{Spare, Spares};
use super::permute::Packing;
use super::pick::{Pick, Places, Steps};
use std::sync::Mutex;
use zipfold_vector::math::Transcendental;

/// f32 or f64.
pub trait Real:
    Transcendental
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::AddAssign
{
    /// Powers of two that products may reach either way before the true log domain takes over.
    const LIMIT: i32;
    /// Entries of a logical vector, 512 bits: the unit in which tables are packed, whatever vectors the machine has.
    const LANES: usize;
    /// Columns of the matrix kernel's tile.
    const COLUMNS: usize = 8;
    /// The blocks of this type that wait in `spares`.
    fn spares(spares: &Spares) -> &Mutex<Vec<Spare<Self>>>;
    /// The larger.
    fn larger(self, other: Self) -> Self;
    /// `self · factor + more`, in one rounding where the machine has an instruction for it.
    fn fused<const FMA: bool>(self, factor: Self, more: Self) -> Self;
    /// `to[k · apart + r] = from[r][k]` for eight rows and depths; see [`super::pack`].
    ///
    /// # Safety
    /// Eight entries lie at each of `from`, and the places are within `to`.
    unsafe fn square(from: [*const Self; 8], to: *mut Self, apart: usize);
    /// Packs rows of a table; see [`super::permute`].
    fn pack(job: &Packing<'_, Self>, to: &mut [Self]);
    /// Copies the vectors that `picks` name at each of `places`; see [`super::pick`].
    fn pick(from: &[Self], places: Places<'_>, picks: &[Pick], steps: Steps, to: &mut [Self]);
}

macro_rules! real {
    ($t:ty, $spares:ident, $limit:expr, $lanes:expr, $pick:path, $square:path, $pack:path) => {
        impl Real for $t {
            const LIMIT: i32 = $limit;
            const LANES: usize = $lanes;
            fn spares(spares: &Spares) -> &Mutex<Vec<Spare<Self>>> {
                &spares.$spares
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self < other { other } else { self }
            }
            #[inline(always)]
            fn fused<const FMA: bool>(self, factor: Self, more: Self) -> Self {
                if FMA { self.mul_add(factor, more) } else { self * factor + more }
            }
            unsafe fn square(from: [*const Self; 8], to: *mut Self, apart: usize) {
                // SAFETY: the caller's promise.
                unsafe { $square(from, to, apart) }
            }
            fn pack(job: &Packing<'_, Self>, to: &mut [Self]) {
                $pack(job, to)
            }
            fn pick(from: &[Self], places: Places<'_>, picks: &[Pick], steps: Steps, to: &mut [Self]) {
                $pick(from, places, picks, steps, to)
            }
        }
    };
}
real!(f64, doubles, 1000, 8, super::pick::pick_f64, super::pack::square_f64, super::permute::pack_f64);
real!(f32, singles, 120, 16, super::pick::pick_f32, super::pack::square, super::permute::pack_f32);

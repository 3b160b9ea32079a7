//! The element types of tables.

use super::held::{Spare, Spares};
use super::permute::Packing;
use super::pick::{Pick, Places, Steps};
use super::tiles::Job;
use std::sync::Mutex;

/// f32 or f64.
pub trait Real:
    zipfold_vector::memory::Plain
    + Send
    + Sync
    + PartialOrd
    + Default
    + std::fmt::Debug
    + 'static
    + std::ops::Add<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::AddAssign
{
    /// Powers of two that products may reach either way before the true log domain takes over.
    const LIMIT: i32;
    /// Lanes of a 512-bit vector.
    const LANES: usize;
    /// Columns of the matrix kernel's tile.
    const COLUMNS: usize = 8;
    /// 1.
    const ONE: Self;
    /// Rounds from f64.
    fn of(x: f64) -> Self;
    /// Widens to f64.
    fn f64(self) -> f64;
    /// The blocks of this type that wait in `spares`.
    fn spares(spares: &Spares) -> &Mutex<Vec<Spare<Self>>>;
    /// The larger.
    fn larger(self, other: Self) -> Self;
    /// `self · factor + more`, in one rounding where the machine has an instruction for it.
    fn fused<const FMA: bool>(self, factor: Self, more: Self) -> Self;
    /// `tile[column][row] = fold over k of a[k][row] * b[k][column]` for `rows` vectors of rows; see [`super::micro`].
    fn tile(rows: usize, depth: usize, a: &[Self], b: &[Self], max: bool, tile: &mut [Self]);
    /// `tile[row][column][lane] = fold over k of a[k][row][lane] * b[k][column][lane]` for `sides.0` rows and `sides.1` columns;
    /// see [`super::micro`].
    fn vector_tile(sides: (usize, usize), depth: usize, a: &[Self], b: &[Self], max: bool, tile: &mut [Self]);
    /// `to[k · apart + r] = from[r][k]` for eight rows and depths; see [`super::pack`].
    ///
    /// # Safety
    /// Eight entries lie at each of `from`, and the places are within `to`.
    unsafe fn square(from: [*const Self; 8], to: *mut Self, apart: usize);
    /// Makes the rows of a job at `out`; `past`: whole lines go past the caches; see [`super::tiles`].
    ///
    /// # Safety
    /// The tables and `out` hold as many entries as [`Job::reach`] says, and no other thread touches those of `out`.
    unsafe fn tiles(job: &Job<'_, Self>, out: *mut Self, past: bool);
    /// Packs rows of a table; see [`super::permute`].
    fn pack(job: &Packing<'_, Self>, to: &mut [Self]);
    /// The least finite and the greatest of `logs`.
    fn ends(logs: &[Self]) -> (Self, Self);
    /// `to = e^(from - shift)`.
    fn exponentials(from: &[Self], shift: Self, to: &mut [Self]);
    /// Copies the vectors that `picks` name at each of `places`; see [`super::pick`].
    fn pick(from: &[Self], places: Places<'_>, picks: &[Pick], steps: Steps, to: &mut [Self]);
}

macro_rules! real {
    ($t:ty, $spares:ident, $limit:expr, $lanes:expr, $micro:path, $vectors:path, $pick:path, $square:path, $tiles:path, $pack:path, $exps:path, $ends:path) => {
        impl Real for $t {
            const LIMIT: i32 = $limit;
            const LANES: usize = $lanes;
            const ONE: Self = 1.0;
            fn of(x: f64) -> Self {
                x as $t
            }
            fn f64(self) -> f64 {
                self as f64
            }
            fn spares(spares: &Spares) -> &Mutex<Vec<Spare<Self>>> {
                &spares.$spares
            }
            fn larger(self, other: Self) -> Self {
                if self < other { other } else { self }
            }
            #[inline(always)]
            fn fused<const FMA: bool>(self, factor: Self, more: Self) -> Self {
                if FMA { self.mul_add(factor, more) } else { self * factor + more }
            }
            fn tile(rows: usize, depth: usize, a: &[Self], b: &[Self], max: bool, tile: &mut [Self]) {
                $micro(rows, depth, a, b, max, tile)
            }
            fn vector_tile(sides: (usize, usize), depth: usize, a: &[Self], b: &[Self], max: bool, tile: &mut [Self]) {
                $vectors(sides, depth, a, b, max, tile)
            }
            unsafe fn square(from: [*const Self; 8], to: *mut Self, apart: usize) {
                // SAFETY: the caller's promise.
                unsafe { $square(from, to, apart) }
            }
            unsafe fn tiles(job: &Job<'_, Self>, out: *mut Self, past: bool) {
                // SAFETY: the caller's promise.
                unsafe { $tiles(job, out, past) }
            }
            fn pack(job: &Packing<'_, Self>, to: &mut [Self]) {
                $pack(job, to)
            }
            fn ends(logs: &[Self]) -> (Self, Self) {
                $ends(logs)
            }
            fn exponentials(from: &[Self], shift: Self, to: &mut [Self]) {
                $exps(from, shift, to)
            }
            fn pick(from: &[Self], places: Places<'_>, picks: &[Pick], steps: Steps, to: &mut [Self]) {
                $pick(from, places, picks, steps, to)
            }
        }
    };
}
real!(
    f64,
    doubles,
    1000,
    8,
    super::micro::tile_f64,
    super::micro::vectors_f64,
    super::pick::pick_f64,
    super::pack::square_f64,
    super::tiles::tiles_f64,
    super::permute::pack_f64,
    super::slices::exponentials_f64,
    super::slices::ends_f64
);
real!(
    f32,
    singles,
    120,
    16,
    super::micro::tile_f32,
    super::micro::vectors_f32,
    super::pick::pick_f32,
    super::pack::square,
    super::tiles::tiles_f32,
    super::permute::pack_f32,
    super::slices::exponentials_f32,
    super::slices::ends_f32
);

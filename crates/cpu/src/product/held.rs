//! Entries of a table together with the budget they take.

use super::real::Real;
use zipfold_core::{Budget, Error, Reservation, Result, budget::human_bytes};

/// A vector and its reservation.
#[derive(Debug)]
pub struct Held<T> {
    /// The entries.
    pub items: Vec<T>,
    _room: Reservation,
}

/// Bytes from which fresh memory is asked for in large pages: a first touch then costs a tenth.
const LARGE: u64 = 4 << 20;

/// Asks the system to back fresh memory by large pages; it may refuse, which changes nothing but the speed.
#[cfg(target_os = "linux")]
fn large_pages(start: *mut u8, bytes: u64) {
    const PAGE: usize = 4096;
    const HUGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(start: *mut std::ffi::c_void, len: usize, advice: i32) -> i32;
    }
    if bytes < LARGE {
        return;
    }
    let skip = start.align_offset(PAGE);
    let len = (bytes as usize).saturating_sub(skip) / PAGE * PAGE;
    // SAFETY: the range lies within one allocation of `bytes` at `start`, and the advice changes no content.
    unsafe { madvise(start.add(skip).cast(), len, HUGE) };
}

/// Elsewhere pages are as the system makes them.
#[cfg(not(target_os = "linux"))]
fn large_pages(_: *mut u8, _: u64) {}

impl<T: Real> Held<T> {
    /// `len` zeros, straight from the system: fresh pages are zero already, and the threads that fill them fault them in.
    ///
    /// # Errors
    /// `Resource` when the budget or the allocator refuses.
    pub fn zeros(len: usize, budget: &Budget, purpose: &str) -> Result<Self> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let room = budget.reserve(bytes, purpose)?;
        let refused = || {
            Error::resource(format!("the system has no {} for {purpose}", human_bytes(bytes)))
                .remedy("close other programs or give a smaller --memory, so that the network is sliced")
        };
        if len == 0 {
            return Ok(Held { items: Vec::new(), _room: room });
        }
        let layout = std::alloc::Layout::array::<T>(len).map_err(|_| refused())?;
        // SAFETY: the layout has a size above zero.
        let start = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<T>();
        if start.is_null() {
            return Err(refused());
        }
        large_pages(start.cast(), bytes);
        // SAFETY: `start` was allocated by the global allocator for `len` items of `T`, and zero bits are the number 0 of f32
        // and f64, the only types that implement `Real`.
        let items = unsafe { Vec::from_raw_parts(start, len, len) };
        Ok(Held { items, _room: room })
    }
    /// `len` items made by `make` from their numbers.
    ///
    /// # Errors
    /// As [`Held::zeros`].
    pub fn make(len: usize, budget: &Budget, purpose: &str, make: impl Fn(usize) -> T + Sync) -> Result<Self> {
        use rayon::prelude::*;
        let mut out = Self::zeros(len, budget, purpose)?;
        if len < 1 << 15 {
            out.items.iter_mut().enumerate().for_each(|(at, slot)| *slot = make(at));
        } else {
            out.items.par_iter_mut().with_min_len(1 << 13).enumerate().for_each(|(at, slot)| *slot = make(at));
        }
        Ok(out)
    }
}

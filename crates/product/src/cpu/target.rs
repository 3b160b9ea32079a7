//! The result of a contraction, shared by tasks that write different entries.

use super::number::Number;
use zipfold_vector::prefetch;

/// A result that several tasks write to.
pub(super) struct Target<T> {
    start: *mut T,
    len: usize,
    /// Whether it is larger than the caches, so that whole lines go past them.
    large: bool,
}
// SAFETY: tasks write disjoint entries: every (batch, vector, row, column) belongs to one task, and
// offsets are one-to-one.
unsafe impl<T: Send> Sync for Target<T> {}

/// How a value comes to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It replaces what is there, and more will come.
    Over,
    /// It replaces what is there for good.
    Last,
    /// It is added.
    Add,
    /// The larger stays.
    Larger,
}

impl Put {
    /// How what is found later comes to it.
    pub(super) fn more(max: bool) -> Self {
        if max { Put::Larger } else { Put::Add }
    }
}

/// Bytes of a result from which its lines go past the caches.
const LARGE: usize = 32 << 20;
/// Bytes of a line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

impl<T: Number> Target<T> {
    /// The entries of `out`, which must outlive it.
    pub(super) fn new(out: &mut [T]) -> Self {
        Target {
            start: out.as_mut_ptr(),
            len: out.len(),
            large: size_of_val(out) >= LARGE,
        }
    }
    /// Asks for the line of entry `at` ahead of its change.
    #[inline(always)]
    pub(super) fn ask(&self, at: usize) {
        prefetch::written(self.start.wrapping_add(at));
    }
    /// Whether entries that are put for good go past the caches.
    #[inline(always)]
    pub(super) fn past(&self) -> bool {
        self.large
    }
    /// Puts `from` at `at`.
    #[inline(always)]
    pub(super) fn run(&self, at: usize, from: &[T], put: Put) {
        assert!(at + from.len() <= self.len, "offset beyond the result");
        // SAFETY: in bounds by the assertion, and these entries belong to this task alone.
        let to = unsafe { std::slice::from_raw_parts_mut(self.start.add(at), from.len()) };
        match put {
            Put::Last if self.large => past(to, from),
            Put::Over | Put::Last => to.copy_from_slice(from),
            Put::Add => to.iter_mut().zip(from).for_each(|(t, f)| *t += *f),
            Put::Larger => to.iter_mut().zip(from).for_each(|(t, f)| *t = t.larger(*f)),
        }
    }
    /// The same for entries at `offsets` from `base`.
    #[inline(always)]
    pub(super) fn scatter(&self, base: usize, offsets: &[usize], from: &[T], put: Put) {
        assert!(
            offsets.iter().all(|o| base + o < self.len),
            "offset beyond the result"
        );
        // SAFETY: in bounds by the assertion, and these entries belong to this task alone.
        let to = |offset: &usize| unsafe { &mut *self.start.add(base + offset) };
        match put {
            Put::Over | Put::Last => offsets.iter().zip(from).for_each(|(o, f)| *to(o) = *f),
            Put::Add => offsets.iter().zip(from).for_each(|(o, f)| *to(o) += *f),
            Put::Larger => offsets
                .iter()
                .zip(from)
                .for_each(|(o, f)| *to(o) = to(o).larger(*f)),
        }
    }
    /// Makes what went past the caches seen by all threads; every task calls it last.
    pub(super) fn settle(&self) {
        #[cfg(target_arch = "x86_64")]
        if self.large {
            // SAFETY: a fence changes no memory, and every machine of this architecture has it.
            unsafe { std::arch::x86_64::_mm_sfence() }
        }
    }
}

/// Copies whole lines past the caches, which otherwise read a line before they write it; other
/// entries as usual.
#[inline(always)]
fn past<T: Number>(to: &mut [T], from: &[T]) {
    #[cfg(target_arch = "x86_64")]
    if (to.as_ptr() as usize).is_multiple_of(LINE) && size_of_val(from).is_multiple_of(LINE) {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let pieces = size_of_val(from) / size_of::<__m128i>();
        let (to, from) = (
            to.as_mut_ptr().cast::<__m128i>(),
            from.as_ptr().cast::<__m128i>(),
        );
        for at in 0..pieces {
            // SAFETY: `pieces` lie within both slices, which are equally long, and `to` begins at a
            // line.
            unsafe { _mm_stream_si128(to.add(at), _mm_loadu_si128(from.add(at))) };
        }
        return;
    }
    to.copy_from_slice(from);
}

//! The result of a contraction, shared by tasks that write different entries.

use super::real::Real;

/// A result that several tasks write to.
pub struct Target<T> {
    start: *mut T,
    len: usize,
}
// SAFETY: tasks write disjoint entries: every (batch, vector, row, column) belongs to one task, and offsets are one-to-one.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T: Real> Target<T> {
    /// The entries of `out`, which must outlive it.
    pub fn new(out: &mut [T]) -> Self {
        Target { start: out.as_mut_ptr(), len: out.len() }
    }
    /// Asks for the line of entry `at` ahead of its change.
    #[inline(always)]
    pub fn ask(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads and writes nothing, and every machine of this architecture has it.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_ET0>(self.start.wrapping_add(at).cast());
        }
    }
    /// Puts `from` at `at`, or adds it to what is there, or keeps the larger.
    #[inline(always)]
    pub fn run(&self, at: usize, from: &[T], more: bool, max: bool) {
        assert!(at + from.len() <= self.len, "offset beyond the result");
        // SAFETY: in bounds by the assertion, and these entries belong to this task alone.
        let to = unsafe { std::slice::from_raw_parts_mut(self.start.add(at), from.len()) };
        match (more, max) {
            (false, _) => to.copy_from_slice(from),
            (true, false) => to.iter_mut().zip(from).for_each(|(t, f)| *t += *f),
            (true, true) => to.iter_mut().zip(from).for_each(|(t, f)| *t = t.larger(*f)),
        }
    }
    /// The same for entries at `offsets` from `base`.
    #[inline(always)]
    pub fn scatter(&self, base: usize, offsets: &[usize], from: &[T], more: bool, max: bool) {
        assert!(offsets.iter().all(|o| base + o < self.len), "offset beyond the result");
        // SAFETY: in bounds by the assertion, and these entries belong to this task alone.
        let to = |offset: &usize| unsafe { &mut *self.start.add(base + offset) };
        match (more, max) {
            (false, _) => offsets.iter().zip(from).for_each(|(o, f)| *to(o) = *f),
            (true, false) => offsets.iter().zip(from).for_each(|(o, f)| *to(o) += *f),
            (true, true) => offsets.iter().zip(from).for_each(|(o, f)| *to(o) = to(o).larger(*f)),
        }
    }
}

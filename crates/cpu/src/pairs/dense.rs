//! Dense results in memory, written by many threads at once in runs that never overlap.

use std::cell::UnsafeCell;

/// A vector that threads fill in disjoint runs.
#[derive(Debug)]
pub struct SharedMatrix<T>(Vec<UnsafeCell<T>>);

// SAFETY: the only shared access is `put`, whose callers write disjoint runs (tiles of one space are disjoint).
unsafe impl<T: Send> Sync for SharedMatrix<T> {}

impl<T: Copy> SharedMatrix<T> {
    /// Takes over a vector.
    pub fn new(items: Vec<T>) -> Self {
        SharedMatrix(items.into_iter().map(UnsafeCell::new).collect())
    }
    /// Writes a run at element `at`; a run beyond the end is refused.
    ///
    /// # Safety
    /// No other thread touches the same elements at the same time.
    pub unsafe fn put(&self, at: usize, run: &[T]) -> bool {
        match self.0.get(at..at + run.len()) {
            // SAFETY: inside the slice, UnsafeCell<T> has the layout of T, and the caller promises disjointness.
            Some(cells) => unsafe {
                std::ptr::copy_nonoverlapping(run.as_ptr(), UnsafeCell::raw_get(cells.as_ptr()), run.len());
                true
            },
            None => false,
        }
    }
    /// The vector back.
    pub fn into_vec(self) -> Vec<T> {
        self.0.into_iter().map(UnsafeCell::into_inner).collect()
    }
}

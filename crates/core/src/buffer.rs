//! Read-only items that several tables share, whoever owns them.
//!
//! A table made from a NumPy array borrows its memory, one from a file owns a vector, one from a
//! reader owns a reservation too. A buffer hides the difference, so that tables are cloned without
//! copying.

use crate::budget::Reserved;
use std::fmt;
use std::sync::Arc;

/// Shared read-only items owned by anything: a vector, a reservation, memory of another language.
#[derive(Clone)]
pub struct Buffer<T>(Arc<dyn AsRef<[T]> + Send + Sync>);

impl<T> Buffer<T> {
    /// Shares what `owner` owns.
    pub fn new(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        Buffer(Arc::new(owner))
    }
}
// One call through the table of the owner for a whole slice; loops then run over plain memory.
impl<T> std::ops::Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        (*self.0).as_ref()
    }
}
impl<T: Send + Sync + 'static> From<Vec<T>> for Buffer<T> {
    fn from(items: Vec<T>) -> Self {
        Buffer::new(items)
    }
}
impl<T: Send + Sync + 'static> From<Reserved<T>> for Buffer<T> {
    fn from(items: Reserved<T>) -> Self {
        Buffer::new(items)
    }
}
// How many, not which: a failed assertion must not print a million numbers.
impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} items)", self.len())
    }
}

//! A cache of what backends make of a formula: programs and machine code.
//!
//! Compiling a formula may take longer than a small question. The artifacts are kept with the
//! lowered formula, so that asking the same question again reuses them. `core` does not know their
//! types, which belong to the backends: they are stored as `Any` and found by type and number.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// An artifact with the number that it was requested under.
type Entry = (u64, Arc<dyn Any + Send + Sync>);

/// The artifacts of one formula, by type and number (such as an instruction set). A clone of the
/// formula begins with none, because it may be changed.
#[derive(Default)]
pub struct ArtifactCache(Mutex<Vec<Entry>>);

impl ArtifactCache {
    /// Returns the `T` of this `number`, made by `make` on the first request.
    ///
    /// `make` runs without the lock, so other threads are not blocked while it compiles. Two
    /// threads may therefore both make one; `make` must give the same each time, and one of the two
    /// is never found.
    pub fn get<T: Any + Send + Sync>(&self, number: u64, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(have) = self.find(number) {
            return have;
        }
        let made = Arc::new(make());
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((number, made.clone()));
        made
    }
    /// Finds an artifact. A poisoned lock is used all the same: entries are only ever added whole.
    fn find<T: Any + Send + Sync>(&self, number: u64) -> Option<Arc<T>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut same = entries.iter().filter(|(n, _)| *n == number);
        same.find_map(|(_, made)| made.clone().downcast().ok())
    }
}

impl Clone for ArtifactCache {
    fn clone(&self) -> Self {
        ArtifactCache::default()
    }
}

impl std::fmt::Debug for ArtifactCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ArtifactCache")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_made_once_for_each_type_and_number() {
        let made = ArtifactCache::default();
        assert_eq!(*made.get(0, || 1u32), 1);
        assert_eq!(*made.get(0, || 2u32), 1);
        assert_eq!(*made.get(1, || 3u32), 3);
        assert_eq!(*made.get(0, || 4u64), 4);
        assert_eq!(*made.clone().get(0, || 5u32), 5);
    }
}

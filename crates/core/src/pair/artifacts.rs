//! What backends make of a formula, kept beside it: a program, machine code.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// A made thing, with the number it was asked for under.
type Entry = (u64, Arc<dyn Any + Send + Sync>);

/// Things made of one formula, by type and number. A clone of the formula begins with none.
#[derive(Default)]
pub struct ArtifactCache(Mutex<Vec<Entry>>);

impl ArtifactCache {
    /// The `T` of this `number`, made by `make` when it is asked for first. `make` may run more
    /// than once when several threads ask at the same time, and must give the same each time.
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

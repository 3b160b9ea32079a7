//! Dense results in memory, filled by many threads at once. Elements are atomics stored relaxed, which costs nothing on
//! the machines we know and needs no promise that runs are disjoint.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Numbers that have an atomic of their size.
pub trait Shared: Copy {
    /// The atomic.
    type Atom: Debug + Send + Sync;
    /// A new atomic.
    fn atom(self) -> Self::Atom;
    /// Stores.
    fn store(self, to: &Self::Atom);
    /// The number back.
    fn back(atom: Self::Atom) -> Self;
}

macro_rules! shared {
    ($t:ty, $atom:ty) => {
        impl Shared for $t {
            type Atom = $atom;
            fn atom(self) -> $atom {
                <$atom>::new(self.to_bits())
            }
            #[inline(always)]
            fn store(self, to: &$atom) {
                to.store(self.to_bits(), Relaxed);
            }
            fn back(atom: $atom) -> Self {
                <$t>::from_bits(atom.into_inner())
            }
        }
    };
}
shared!(f32, AtomicU32);
shared!(f64, AtomicU64);

/// A vector that threads fill in runs.
#[derive(Debug)]
pub struct SharedMatrix<T: Shared>(Vec<T::Atom>);

impl<T: Shared> SharedMatrix<T> {
    /// Takes over a vector (in place).
    pub fn new(items: Vec<T>) -> Self {
        SharedMatrix(items.into_iter().map(Shared::atom).collect())
    }
    /// Writes a run at element `at`; false, and nothing written, when it reaches beyond the end.
    pub fn put(&self, at: usize, run: &[T]) -> bool {
        match self.0.get(at..at + run.len()) {
            Some(atoms) => {
                atoms.iter().zip(run).for_each(|(a, v)| v.store(a));
                true
            }
            None => false,
        }
    }
    /// The vector back (in place).
    pub fn into_vec(self) -> Vec<T> {
        self.0.into_iter().map(T::back).collect()
    }
}

//! Dense results in memory, filled by many threads at once. Elements are atomics stored relaxed, or by machine code that
//! does the same, which needs no promise that runs are disjoint.

use super::store::{LONG, copies, copy};
use std::alloc::Layout;
use std::fmt::Debug;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Numbers that have an atomic of their size.
pub trait Shared: Copy {
    /// The atomic.
    type Atom: Debug + Send + Sync;
    /// A new atomic.
    fn atom(self) -> Self::Atom;
    /// Stores.
    fn store(self, to: &Self::Atom);
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
        }
    };
}
shared!(f32, AtomicU32);
shared!(f64, AtomicU64);

/// A vector that threads fill in runs.
#[derive(Debug)]
pub struct SharedMatrix<T: Shared>(Vec<T::Atom>);

impl<T: Shared> SharedMatrix<T> {
    /// `len` zeros, of pages that nobody has touched; none where the system has no memory.
    pub fn zeros(len: usize) -> Option<Self> {
        const { assert!(size_of::<T>() == size_of::<T::Atom>() && align_of::<T>() == align_of::<T::Atom>()) };
        let layout = Layout::array::<T::Atom>(len).ok()?;
        if layout.size() == 0 {
            return Some(SharedMatrix(vec![]));
        }
        // SAFETY: the layout has a size.
        let start = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<T::Atom>();
        // SAFETY: the allocator gave this much for this layout, and zero bits are an atomic of 0.
        (!start.is_null()).then(|| SharedMatrix(unsafe { Vec::from_raw_parts(start, len, len) }))
    }
    /// Whether runs should be long.
    pub fn is_long(&self) -> bool {
        size_of_val(self.0.as_slice()) >= LONG
    }
    /// Takes over a vector (in place).
    pub fn new(items: Vec<T>) -> Self {
        SharedMatrix(items.into_iter().map(Shared::atom).collect())
    }
    /// Writes a run at element `at`; false, and nothing written, when it reaches beyond the end.
    pub fn put(&self, at: usize, run: &[T]) -> bool {
        match self.0.get(at..at + run.len()) {
            Some(atoms) if copies(size_of_val(run)) => {
                // SAFETY: an atom has the size of its number and may be written through a shared reference. Stores of the
                // machine by other threads to the same numbers would be as with relaxed atomics.
                unsafe { copy(atoms.as_ptr().cast::<u8>().cast_mut(), run.as_ptr().cast(), size_of_val(run)) };
                true
            }
            Some(atoms) => {
                atoms.iter().zip(run).for_each(|(a, v)| v.store(a));
                true
            }
            None => false,
        }
    }
    /// The vector back (in place).
    pub fn into_vec(self) -> Vec<T> {
        const { assert!(size_of::<T>() == size_of::<T::Atom>() && align_of::<T>() == align_of::<T::Atom>()) };
        let mut atoms = ManuallyDrop::new(self.0);
        // SAFETY: an atom has the size, the alignment and the bits of its number, and nobody else
        // holds the vector.
        unsafe { Vec::from_raw_parts(atoms.as_mut_ptr().cast::<T>(), atoms.len(), atoms.capacity()) }
    }
}

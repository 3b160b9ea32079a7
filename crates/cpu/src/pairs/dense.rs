//! Dense results in memory, filled by many threads at once. Elements are atomics stored relaxed,
//! which needs no promise that runs are disjoint; whole lines of long results are stored past the
//! caches.

use super::store::{LINE, LONG, LONGEST, stream, streams};
use std::alloc::Layout;
use std::fmt::Debug;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use zipfold_vector::memory::large_pages;

/// Numbers that have an atomic of their size.
pub trait Shared: Copy {
    /// The atomic.
    type Atom: Debug + Send + Sync;
    /// Stores.
    fn store(self, to: &Self::Atom);
    /// Loads.
    fn load(from: &Self::Atom) -> Self;
}

macro_rules! shared {
    ($t:ty, $atom:ty) => {
        impl Shared for $t {
            type Atom = $atom;
            #[inline(always)]
            fn store(self, to: &$atom) {
                to.store(self.to_bits(), Relaxed);
            }
            #[inline(always)]
            fn load(from: &$atom) -> Self {
                Self::from_bits(from.load(Relaxed))
            }
        }
    };
}
shared!(f32, AtomicU32);
shared!(f64, AtomicU64);

/// A vector that threads fill in runs.
#[derive(Debug)]
pub struct SharedMatrix<T: Shared>(Vec<T::Atom>);

/// Stores the elements that make up whole lines past the caches; which these are.
fn stream_lines<T: Shared>(atoms: &[T::Atom], run: &[T]) -> Range<usize> {
    let (to, size) = (atoms.as_ptr().cast::<u8>().cast_mut(), size_of::<T>());
    let lead = (to.align_offset(LINE) / size).min(run.len());
    let lines = (run.len() - lead) * size / LINE;
    // SAFETY: an atom has the size of its number and may be written through a shared reference;
    // these lines lie within the atoms and the run. Stores of the machine by other threads to the
    // same numbers would be as with relaxed atomics.
    unsafe { stream(to.add(lead * size), run.as_ptr().add(lead).cast(), lines) };
    lead..lead + lines * LINE / size
}

impl<T: Shared> SharedMatrix<T> {
    /// `len` zeros, of pages that nobody has touched; none where the system has no memory.
    pub fn zeros(len: usize) -> Option<Self> {
        const {
            assert!(
                size_of::<T>() == size_of::<T::Atom>() && align_of::<T>() == align_of::<T::Atom>()
            )
        };
        let layout = Layout::array::<T::Atom>(len).ok()?;
        if layout.size() == 0 {
            return Some(SharedMatrix(vec![]));
        }
        // SAFETY: the layout has a size.
        let start = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<T::Atom>();
        if start.is_null() {
            return None;
        }
        // SAFETY: the allocator gave this much for this layout, and zero bits are an atomic of 0.
        let mut zeros = unsafe { Vec::from_raw_parts(start, len, len) };
        large_pages(&mut zeros);
        Some(SharedMatrix(zeros))
    }
    /// Whether the runs of a tile should come together.
    pub fn gathers(&self) -> bool {
        size_of_val(self.0.as_slice()) >= LONGEST
    }
    /// Writes a run at element `at`; false, and nothing written, when it reaches beyond the end.
    pub fn put(&self, at: usize, run: &[T]) -> bool {
        match self.0.get(at..at + run.len()) {
            Some(atoms) => {
                let whole = match size_of_val(self.0.as_slice()) >= LONG && streams() {
                    true => stream_lines(atoms, run),
                    false => 0..0,
                };
                for rest in [0..whole.start, whole.end..run.len()] {
                    atoms[rest.clone()]
                        .iter()
                        .zip(&run[rest])
                        .for_each(|(a, v)| v.store(a));
                }
                true
            }
            None => false,
        }
    }
    /// Fills `run` with what was put from element `at` on; false, and nothing read, when it reaches
    /// beyond the end.
    pub fn get(&self, at: usize, run: &mut [T]) -> bool {
        match self.0.get(at..at + run.len()) {
            Some(atoms) => {
                run.iter_mut().zip(atoms).for_each(|(v, a)| *v = T::load(a));
                true
            }
            None => false,
        }
    }
    /// The vector back (in place).
    pub fn into_vec(self) -> Vec<T> {
        const {
            assert!(
                size_of::<T>() == size_of::<T::Atom>() && align_of::<T>() == align_of::<T::Atom>()
            )
        };
        let mut atoms = ManuallyDrop::new(self.0);
        // SAFETY: an atom has the size, the alignment and the bits of its number, and nobody else
        // holds the vector.
        unsafe {
            Vec::from_raw_parts(
                atoms.as_mut_ptr().cast::<T>(),
                atoms.len(),
                atoms.capacity(),
            )
        }
    }
}

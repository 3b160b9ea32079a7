//! Memory for tables, rows and packed panels: zeroed by the system, aligned to cache lines.

use memmap2::MmapMut;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Bytes that every block is aligned to: a line of the cache, and a vector. A vector across two
/// lines takes twice the time.
const ALIGNED: usize = 64;

/// Bytes from which fresh memory is requested in large pages: a first touch then costs a tenth.
const LARGE: usize = LARGE_PAGE;

/// Bytes of a large page.
const LARGE_PAGE: usize = 2 << 20;

/// Numbers of which zero bits are one.
///
/// # Safety
/// Every pattern of bits is a value, and none needs to be dropped.
pub unsafe trait Plain: Copy {}
// SAFETY: every pattern of bits is a number, or a NaN.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}
// SAFETY: every pattern of bits is a number.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}

/// What holds the entries of a block.
#[derive(Debug)]
enum Memory {
    /// What the allocator gave, and how; it takes it back.
    Heap(NonNull<u8>, Layout),
    /// Pages of the system.
    Pages(MmapMut),
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Memory::Heap(start, layout) = self
            && layout.size() > 0
        {
            // SAFETY: allocated with this layout, and dropped once.
            unsafe { dealloc(start.as_ptr(), *layout) }
        }
    }
}

impl Memory {
    /// This many zeros, of pages that nobody has touched where these are many: an allocator that
    /// uses memory again would write zeros into it at once, on one thread.
    fn zeros(bytes: usize, align: usize) -> Option<Self> {
        if bytes >= LARGE {
            // Where the system gives no pages the allocator is asked.
            if let Ok(mut pages) = MmapMut::map_anon(bytes.checked_next_multiple_of(LARGE_PAGE)?) {
                large_pages(&mut pages[..]);
                return Some(Memory::Pages(pages));
            }
        }
        let layout = Layout::from_size_align(bytes, align).ok()?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Memory::Heap(start, layout))
    }
    fn start(&mut self) -> NonNull<u8> {
        match self {
            Memory::Heap(start, _) => *start,
            Memory::Pages(pages) => NonNull::from(&mut pages[..]).cast(),
        }
    }
}

/// A slice that owns its memory.
#[derive(Debug)]
pub struct Block<T> {
    /// The first entry.
    start: NonNull<T>,
    _memory: Memory,
    len: usize,
    capacity: usize,
}

// SAFETY: a block owns its entries.
unsafe impl<T: Send> Send for Block<T> {}
// SAFETY: as above; shared access reads only.
unsafe impl<T: Sync> Sync for Block<T> {}

impl<T> Default for Block<T> {
    fn default() -> Self {
        let none = Memory::Heap(NonNull::dangling(), Layout::new::<()>());
        Block {
            start: NonNull::dangling(),
            _memory: none,
            len: 0,
            capacity: 0,
        }
    }
}

impl<T: Plain> Block<T> {
    /// `len` zeros, where large straight from the system, where the threads that fill them fault
    /// the pages in; `None` where there is no more memory.
    pub fn try_zeros(len: usize) -> Option<Self> {
        if len == 0 {
            return Some(Self::default());
        }
        let bytes = len.checked_mul(size_of::<T>())?.checked_add(ALIGNED)?;
        let mut memory = Memory::zeros(bytes, align_of::<T>())?;
        let whole = memory.start();
        let skip = whole.as_ptr().align_offset(ALIGNED).min(ALIGNED);
        // SAFETY: `skip` is at most the bytes that the memory has beyond the entries, and a
        // multiple of the type's alignment.
        let start = unsafe { whole.add(skip) }.cast::<T>();
        Some(Block {
            start,
            _memory: memory,
            len,
            capacity: len,
        })
    }
    /// The same; where the system has no more memory the program ends as a vector would end it.
    pub fn zeros(len: usize) -> Self {
        Self::try_zeros(len).unwrap_or_else(|| std::alloc::handle_alloc_error(Layout::new::<T>()))
    }
    /// Entries that it may have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
    /// Makes it as long as its capacity allows, at most `len`. What entries hold is unspecified.
    pub fn resize(&mut self, len: usize) {
        self.len = len.min(self.capacity);
    }
    /// At least `len` entries; what they hold is unspecified. Packed panels are small: a refusal
    /// ends the program as that of a vector would.
    pub fn at_least(&mut self, len: usize) {
        if self.capacity < len {
            *self = Self::zeros(len);
        }
        self.len = self.capacity;
    }
}

impl<T: Plain> Clone for Block<T> {
    fn clone(&self) -> Self {
        let mut clone = Self::zeros(self.len);
        clone.copy_from_slice(self);
        clone
    }
}

impl<T> std::ops::Deref for Block<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `capacity ≥ len` entries were allocated as zeros, which are values: only plain
        // types are allocated; an empty block has an aligned start.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> std::ops::DerefMut for Block<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the exclusive borrow keeps others away.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// Asks the system to back fresh memory by large pages; it may refuse, which changes nothing but
/// the speed.
#[cfg(target_os = "linux")]
pub fn large_pages<T>(fresh: &mut [T]) {
    const PAGE: usize = 4096;
    const HUGE: i32 = 14;
    // SAFETY: this is the declaration of the system's C library, which every program of the
    // standard library is linked with.
    unsafe extern "C" {
        fn madvise(start: *mut std::ffi::c_void, len: usize, advice: i32) -> i32;
    }
    let (start, bytes) = (fresh.as_mut_ptr().cast::<u8>(), size_of_val(fresh));
    if bytes < LARGE {
        return;
    }
    let skip = start.align_offset(PAGE);
    let len = bytes.saturating_sub(skip) / PAGE * PAGE;
    // SAFETY: the range lies within `fresh`, and the advice changes no content.
    unsafe { madvise(start.add(skip).cast(), len, HUGE) };
}

/// Gives memory that was freed back to the system. The allocator of glibc keeps what threads have freed
/// in their arenas, where the next step of a run, which allocates other sizes, does not find it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_freed_back() {
    // SAFETY: this is the declaration of the C library that the program is linked with.
    unsafe extern "C" {
        fn malloc_trim(kept: usize) -> i32;
    }
    // SAFETY: it changes no memory that is in use, and may be called from any thread.
    unsafe { malloc_trim(0) };
}

/// Other allocators decide for themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_freed_back() {}

/// Elsewhere pages are as the system makes them.
#[cfg(not(target_os = "linux"))]
pub fn large_pages<T>(_: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_begin_at_a_line_and_hold_zeros() {
        for len in [1usize, 7, 1000, (4 << 20) + 3] {
            let mut block = Block::<f32>::zeros(len);
            assert!((block.as_ptr() as usize).is_multiple_of(ALIGNED));
            assert!(block.len() == len && block.iter().all(|v| *v == 0.0));
            block.fill(2.0);
            block.resize(len / 2);
            assert!(block.len() == len / 2 && block.capacity() == len);
            block.resize(2 * len);
            assert!(block.len() == len && block.iter().all(|v| *v == 2.0));
        }
        assert!(Block::<f64>::default().is_empty() && Block::<f64>::zeros(0).is_empty());
        assert!(Block::<f64>::try_zeros(usize::MAX / 4).is_none());
        assert!(Block::<u32>::try_zeros(1 << 60).is_none());
        let copy = Block::<u32>::zeros(5).clone();
        assert!(copy.len() == 5 && copy.iter().all(|v| *v == 0));
    }
}

//! Memory of the jit: pages that hold code, and data that starts on a cache line.

#[cfg(target_arch = "x86_64")]
use std::io;

/// A cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Numbers of type `T` (`f32`, `f64`, or an array of either) that start on a cache line.
#[derive(Debug)]
pub struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: crate::pairs::lanes::Real> Aligned<T> {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let lines = (len * size_of::<T>()).div_ceil(size_of::<Line>());
        Aligned { lines: vec![Line([0; 8]); lines], len, element: std::marker::PhantomData }
    }
}

impl<T> std::ops::Deref for Aligned<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `zeros` made room for `len` numbers, and zero bits are a float.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T> std::ops::DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the lines are borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// Machine code in pages that may be executed and not written.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub struct Executable(memmap2::Mmap);

#[cfg(target_arch = "x86_64")]
impl Executable {
    /// Takes over `code`.
    ///
    /// # Errors
    /// Those of the system, which may forbid executable memory.
    pub fn new(code: &[u8]) -> io::Result<Self> {
        let mut pages = memmap2::MmapMut::map_anon(code.len().max(1))?;
        pages[..code.len()].copy_from_slice(code);
        pages.make_exec().map(Executable)
    }
    /// The address of byte `at`.
    pub fn address(&self, at: usize) -> *const u8 {
        self.0[at..].as_ptr()
    }
}

/// Whether the system lets this process execute what it has written.
pub fn is_executable() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        static MAY: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        // `ret`
        *MAY.get_or_init(|| Executable::new(&[0xc3]).is_ok())
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

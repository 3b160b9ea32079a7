//! Memory of the jit: pages that hold code.

use std::io;

/// Machine code in pages that may be executed and not written.
#[derive(Debug)]
pub(super) struct Executable(memmap2::Mmap);

impl Executable {
    /// Takes over `code`.
    ///
    /// # Errors
    /// Those of the system, which may forbid executable memory.
    pub(super) fn new(code: &[u8]) -> io::Result<Self> {
        let mut pages = memmap2::MmapMut::map_anon(code.len().max(1))?;
        pages[..code.len()].copy_from_slice(code);
        pages.make_exec().map(Executable)
    }
    /// The address of byte `at`.
    pub(super) fn address(&self, at: usize) -> *const u8 {
        self.0[at..].as_ptr()
    }
}

/// Whether the system lets this process execute what it has written.
pub fn is_executable() -> bool {
    static MAY: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    // `ret`
    *MAY.get_or_init(|| Executable::new(&[0xc3]).is_ok())
}

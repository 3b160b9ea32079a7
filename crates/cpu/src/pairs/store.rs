//! Runs of results on their way to memory. Long results bypass the caches: lines that are written
//! whole are not read first, which halves the traffic. The runs of a tile leave the longest results
//! together.
//!
//! The copies are machine code, not accesses of the language, so that they may meet relaxed atomic
//! stores of other threads elsewhere in the same result. [`settle`] orders them before what a
//! thread does next.

/// Bytes of a result from which the caches are bypassed: more than they hold.
pub const LONG: usize = 32 << 20;

/// Bytes of a result in memory from which the runs of a tile leave it together: runs of one block
/// of columns, each in another page, wait for memory more than they take.
pub const LONGEST: usize = 256 << 20;

/// Bytes of a line.
pub const LINE: usize = 64;

/// Whether [`stream`] works here.
pub fn streams() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Copies `bytes` bytes, whole lines past the caches where `bypass`.
///
/// # Safety
/// `from` is readable and `to` is writable for this many bytes, which do not overlap; no other
/// thread reads or writes them meanwhile.
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize, bypass: bool) {
    let lead = to.align_offset(LINE).min(bytes);
    let lines = (bytes - lead) / LINE;
    if !bypass || lines == 0 || !streams() {
        // SAFETY: the caller's promise.
        return unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
    }
    let rest = lead + lines * LINE;
    // SAFETY: the three parts cover the bytes once, and the middle one begins on a line.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, lead);
        stream(to.add(lead), from.add(lead), lines);
        std::ptr::copy_nonoverlapping(from.add(rest), to.add(rest), bytes - rest);
    }
}

/// Copies whole lines past the caches.
///
/// # Safety
/// `from` is readable for this many lines and `to` writable, and aligned to one; they do not
/// overlap, and [`streams`] said so.
pub unsafe fn stream(to: *mut u8, from: *const u8, lines: usize) {
    if lines > 0 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller's promise.
        unsafe {
            stream_avx(to, from, lines);
        }
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to, lines * LINE);
        }
    }
}

/// # Safety
/// As [`stream`], for one line or more; the processor has AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn stream_avx(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: the caller's promise; the loop ends with the last line.
    unsafe {
        std::arch::asm!(
            "2:",
            "vmovups {a}, ymmword ptr [{from}]",
            "vmovups {b}, ymmword ptr [{from} + 32]",
            "vmovntps ymmword ptr [{to}], {a}",
            "vmovntps ymmword ptr [{to} + 32], {b}",
            "add {from}, 64",
            "add {to}, 64",
            "dec {lines}",
            "jnz 2b",
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            lines = inout(reg) lines => _,
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            options(nostack),
        );
    }
}

/// Orders the copies of this thread before all that follows.
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

//! Runs of results on their way to memory.
//!
//! The copies are machine code, not accesses of the language, so that they may meet relaxed atomic stores of other threads
//! elsewhere in the same result. Ordinary stores: those past the caches were measured no faster for runs of one block of
//! columns, whose first and last lines belong to others too.

/// Bytes of a result in memory from which the runs of a tile leave it together: runs of one block of columns, each in another
/// page, wait for memory more than they take.
pub const LONG: usize = 256 << 20;
/// Bytes of a vector.
const VECTOR: usize = 32;

/// Whether [`copy`] can copy so many bytes.
#[inline]
pub fn copies(bytes: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    return bytes >= VECTOR && std::arch::is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Copies some bytes, of which [`copies`] said that it can.
///
/// # Safety
/// `from` is readable and `to` is writable for so many bytes, which do not overlap; no other thread reads or writes them
/// meanwhile but by relaxed atomics.
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    debug_assert!(bytes >= VECTOR);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise.
    unsafe {
        copy_avx(to, from, bytes);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, bytes);
    }
}

/// # Safety
/// As [`copy`]; the processor has AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn copy_avx(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise; whole vectors, and the last one again from the end.
    unsafe {
        std::arch::asm!(
            "lea {last_to}, [{to} + {bytes} - 32]",
            "vmovups {a}, ymmword ptr [{from} + {bytes} - 32]",
            "vmovups ymmword ptr [{last_to}], {a}",
            "2:",
            "cmp {to}, {last_to}",
            "jae 3f",
            "vmovups {a}, ymmword ptr [{from}]",
            "vmovups ymmword ptr [{to}], {a}",
            "add {from}, 32",
            "add {to}, 32",
            "jmp 2b",
            "3:",
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            bytes = in(reg) bytes,
            last_to = out(reg) _,
            a = out(ymm_reg) _,
            options(nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_whole_at_every_offset() {
        let from: Vec<u8> = (0..1000).map(|i| (i * 7 % 251) as u8).collect();
        for (start, bytes) in
            (0..70).flat_map(|start| [32, 33, 63, 64, 65, 95, 96, 200, 900].map(|bytes| (start, bytes)))
        {
            if !copies(bytes) {
                continue;
            }
            let mut to = vec![0u8; 1000];
            // SAFETY: start + bytes is at most 970.
            unsafe { copy(to.as_mut_ptr().add(start), from.as_ptr(), bytes) };
            assert!(to[..start].iter().chain(&to[start + bytes..]).all(|b| *b == 0));
            assert_eq!(to[start..start + bytes], from[..bytes]);
        }
    }
}

//! Requests for lines of memory ahead of their use. They read nothing, so any address will do;
//! where the architecture is not known they do nothing.

/// A function that asks for the line of an address: its name, the hint of x86-64 and the operation
/// of 64-bit ARM.
macro_rules! request {
    ($(#[$doc:meta])* $name:ident, $hint:ident, $operation:literal) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T>(at: *const T) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a prefetch reads and writes nothing, and every machine of this architecture
            // has it.
            unsafe {
                use std::arch::x86_64::{$hint, _mm_prefetch};
                _mm_prefetch::<$hint>(at.cast());
            }
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            unsafe {
                std::arch::asm!(
                    concat!("prfm ", $operation, ", [{at}]"),
                    at = in(reg) at,
                    options(nostack, preserves_flags, readonly)
                );
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            let _ = at;
        }
    };
}

request! {
    /// Asks for the line of `at` into the nearest cache.
    nearest, _MM_HINT_T0, "pldl1keep"
}
request! {
    /// Asks for the line of `at` into the second cache.
    second, _MM_HINT_T1, "pldl2keep"
}
request! {
    /// Asks for the line of `at` into the nearest cache, to be written.
    written, _MM_HINT_ET0, "pstl1keep"
}

//! Arrays made one element at a time, in the function that calls.
//!
//! `std::array::from_fn`, `[T; N]::map` and `Iterator::zip` call functions that are not marked for
//! inlining. Only a pass over all units of a crate puts them into a kernel (thin-local LTO).
//! Without it each is a call to code without the instruction set of the kernel: `l1` took 9.8 times
//! as long, `cosine` 24 times. With these functions the speed of kernels does not depend on the
//! settings of a build.

use std::mem::MaybeUninit;

/// Returns the array whose element i is `of(i)`.
#[inline(always)]
pub fn array_of<T: Copy, const N: usize>(mut of: impl FnMut(usize) -> T) -> [T; N] {
    let mut all = [const { MaybeUninit::uninit() }; N];
    let mut at = 0;
    // No iterator, which is a function, too. `of` is called in one place, so that it is inlined.
    while at < N {
        all[at] = MaybeUninit::new(of(at));
        at += 1;
    }
    // SAFETY: all N elements are written, and `MaybeUninit<T>` lies in memory as `T` does.
    unsafe { all.as_ptr().cast::<[T; N]>().read() }
}

/// Changes each element of `all` by the one of `with` at its place.
#[inline(always)]
pub fn change_each<T, U: Copy, const N: usize>(
    all: &mut [T; N],
    with: [U; N],
    mut change: impl FnMut(&mut T, U),
) {
    let mut at = 0;
    while at < N {
        change(&mut all[at], with[at]);
        at += 1;
    }
}

/// Returns the array whose elements are `of` those of `from`.
#[inline(always)]
pub fn each_of<T: Copy, U: Copy, const N: usize>(
    from: [T; N],
    mut of: impl FnMut(T) -> U,
) -> [U; N] {
    array_of(|at| of(from[at]))
}

/// The numbers of the set bits of an index below 16, in order, and zeros behind.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) const FRONT: [[u32; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut bits = 0;
    while bits < 16 {
        let (mut lane, mut at) = (0, 0);
        while lane < 4 {
            if bits >> lane & 1 == 1 {
                table[bits][at] = lane;
                at += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};

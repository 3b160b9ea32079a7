//! Facts of this machine.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;
use zipfold_plan::{Isa, Machine};

/// Threads that this process may use. Asking the system reads files, which takes longer than a
/// small matrix.
fn threads() -> usize {
    static ALL: OnceLock<usize> = OnceLock::new();
    *ALL.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Cycles a second of a core, by a chain of multiplications that wait for each other: shift,
/// exclusive or and product take one, one and three cycles on the processors we know. To a tenth of
/// a gigahertz; the fastest of a few turns counts.
fn clock() -> f64 {
    static CLOCK: OnceLock<f64> = OnceLock::new();
    const CYCLES: f64 = 5.0;
    const STEPS: u32 = 2000;
    *CLOCK.get_or_init(|| {
        let turn = || {
            let start = Instant::now();
            let mut v = black_box(0x9e37_79b9_7f4a_7c15u64);
            for _ in 0..STEPS {
                v = (v ^ (v >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            }
            black_box(v);
            start.elapsed().as_secs_f64()
        };
        let least = (0..8).map(|_| turn()).fold(f64::INFINITY, f64::min);
        let found = (CYCLES * f64::from(STEPS) / least / 1e8).round() * 1e8;
        // A clock that tells no such times, or a debugger in between.
        if (5e8..1e10).contains(&found) {
            found
        } else {
            zipfold_plan::machine::CLOCK
        }
    })
}

/// The best instruction set of this machine.
pub fn isa() -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        if cfg!(not(zipfold_without_avx512))
            && std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vl")
        {
            return Isa::Avx512;
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            return Isa::Avx2;
        }
    }
    if cfg!(target_arch = "aarch64") {
        Isa::Neon
    } else {
        Isa::Scalar
    }
}

/// Facts of this machine for `threads` threads (0: all there are) and `memory` bytes.
pub fn detect(threads: usize, memory: u64) -> Machine {
    let threads = if threads == 0 {
        self::threads()
    } else {
        threads
    };
    let executable = crate::jit::is_executable();
    Machine {
        threads,
        isa: isa(),
        executable,
        clock: clock(),
        memory,
        ..Machine::default()
    }
}

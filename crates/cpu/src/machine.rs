//! Facts of this machine.

use std::sync::OnceLock;
use zipfold_plan::{Isa, Machine};

/// Threads that this process may use. Asking the system reads files, which takes longer than a small matrix.
fn threads() -> usize {
    static ALL: OnceLock<usize> = OnceLock::new();
    *ALL.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The best instruction set of this machine.
pub fn isa() -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vl")
        {
            return Isa::Avx512;
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            return Isa::Avx2;
        }
    }
    Isa::Scalar
}

/// Facts of this machine for `threads` threads (0: all there are) and `memory` bytes.
pub fn detect(threads: usize, memory: u64) -> Machine {
    let threads = if threads == 0 { self::threads() } else { threads };
    let executable = crate::jit::is_executable();
    Machine { threads, isa: isa(), executable, memory, ..Machine::default() }
}

//! Measured facts of a machine, an input of the planner.

use serde::{Deserialize, Serialize};

/// Instruction sets of the CPU backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isa {
    /// SSE2 on x86-64, and what the compiler makes of arrays on processors of other kinds than x86-64 and
    /// ARM: 2 f64 lanes.
    Scalar,
    /// NEON of 64-bit ARM: 2 f64 lanes.
    Neon,
    /// AVX2 with FMA: 4 f64 lanes.
    Avx2,
    /// AVX-512 F, BW, DQ, VL: 8 f64 lanes.
    Avx512,
}

impl Isa {
    /// All instruction sets.
    pub const ALL: [Isa; 4] = [Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512];

    /// Those of a machine whose best one is this, worst first.
    pub fn up_to(self) -> Vec<Isa> {
        let all = match self {
            Isa::Scalar => &[Isa::Scalar][..],
            Isa::Neon => &[Isa::Neon],
            Isa::Avx2 | Isa::Avx512 => &[Isa::Scalar, Isa::Avx2, Isa::Avx512],
        };
        all.iter().copied().filter(|i| *i <= self).collect()
    }
    /// Whether code is made for formulas on it (family *jit*).
    pub fn is_generated(self) -> bool {
        matches!(self, Isa::Avx2 | Isa::Avx512)
    }
    /// The name that `--set isa=` takes.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
    /// f64 lanes of a vector.
    pub fn lanes(self) -> usize {
        match self {
            Isa::Scalar | Isa::Neon => 2,
            Isa::Avx2 => 4,
            Isa::Avx512 => 8,
        }
    }
}

/// Bytes a second into memory that was written before, and into memory that is new to the process,
/// all cores together.
pub const WRITE: f64 = 16e9;
/// See [`WRITE`].
pub const FRESH: f64 = 1.5e9;

/// Cycles a second of the cores that were measured.
pub const CLOCK: f64 = 3.7e9;

/// Facts of a CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Threads that may run.
    pub threads: usize,
    /// The best instruction set there is.
    pub isa: Isa,
    /// Whether the system lets a process execute what it has written.
    pub executable: bool,
    /// Bytes of first-level data cache a core.
    pub l1: usize,
    /// Bytes of second-level cache a core.
    pub l2: usize,
    /// Cycles a second of a core.
    pub clock: f64,
    /// Bytes a second to memory, all cores together.
    pub write_rate: f64,
    /// Bytes a second to memory that is new to the process, which the system hands out page by
    /// page.
    pub fresh_rate: f64,
    /// Memory that this process may use, in bytes.
    pub memory: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            threads: 1,
            isa: Isa::Scalar,
            executable: false,
            l1: 32 << 10,
            l2: 1 << 20,
            clock: CLOCK,
            write_rate: WRITE,
            fresh_rate: FRESH,
            memory: 4 << 30,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(isa: Isa) -> Vec<&'static str> {
        isa.up_to().into_iter().map(Isa::name).collect()
    }

    #[test]
    fn a_machine_has_no_set_of_another_architecture() {
        assert_eq!(sets(Isa::Scalar), ["scalar"]);
        assert_eq!(sets(Isa::Neon), ["neon"]);
        assert_eq!(sets(Isa::Avx2), ["scalar", "avx2"]);
        assert_eq!(sets(Isa::Avx512), ["scalar", "avx2", "avx512"]);
    }
}

//! Measured facts of a machine, an input of the planner.

use serde::{Deserialize, Serialize};

/// Instruction sets of the CPU backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isa {
    /// What every machine of the architecture has.
    Scalar,
    /// AVX2 with FMA: 4 f64 lanes.
    Avx2,
    /// AVX-512 F, BW, DQ, VL: 8 f64 lanes.
    Avx512,
}

impl Isa {
    /// The name that `--set isa=` takes.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
    /// f64 lanes of a vector.
    pub fn lanes(self) -> usize {
        match self {
            Isa::Scalar => 2,
            Isa::Avx2 => 4,
            Isa::Avx512 => 8,
        }
    }
}

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
    /// Vector operations of the evaluator a second and core (an operation of all lanes counts once).
    pub vector_rate: f64,
    /// Bytes a second to memory, all cores together.
    pub write_rate: f64,
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
            vector_rate: 1.6e9,
            write_rate: 10e9,
            memory: 4 << 30,
        }
    }
}

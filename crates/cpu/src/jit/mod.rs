//! Family *jit*: any formula as straight-line AVX2 or AVX-512 code for a register tile.
//!
//! A tile is R rows of x and one vector of lanes of y (or one row and S vectors): as many
//! accumulators as registers hold. The components run in a loop inside the code, in ascending
//! order; f64 is never contracted, so it has the bits of the evaluator (`pairs/vm.rs`). Functions
//! without instructions are called on the lanes of a whole tile.
//!
//! ```text
//! lowered formula
//!   → program      one instruction a pair node                                    pairs/program.rs
//!   → steps        reductions as instructions, unread ones out, segments          steps.rs
//!                  products of factors, differences turned round       products.rs, differences.rs
//!   → listing      instructions of a tile over virtual registers     tile.rs, arithmetic.rs, ir.rs
//!   → placement    registers of the machine, frame                                registers.rs
//!   → bytes        AVX2 or AVX-512                                                encode.rs
//!   → code         executable pages; how its tiles run over rows and lanes      memory.rs, code.rs
//! ```

#[cfg(target_arch = "x86_64")]
mod arithmetic;
#[cfg(target_arch = "x86_64")]
mod calls;
#[cfg(target_arch = "x86_64")]
mod code;
#[cfg(target_arch = "x86_64")]
mod differences;
#[cfg(target_arch = "x86_64")]
mod encode;
#[cfg(target_arch = "x86_64")]
mod ir;
#[cfg(target_arch = "x86_64")]
mod memory;
#[cfg(not(target_arch = "x86_64"))]
mod none;
#[cfg(target_arch = "x86_64")]
mod products;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod step;
#[cfg(target_arch = "x86_64")]
mod steps;
#[cfg(target_arch = "x86_64")]
mod tile;

#[cfg(target_arch = "x86_64")]
pub use code::Code;
#[cfg(target_arch = "x86_64")]
pub use memory::is_executable;
#[cfg(not(target_arch = "x86_64"))]
pub use none::{NoCode as Code, is_executable};

use zipfold_plan::Isa;

/// Rows that one evaluation covers at most: their results stay in the first-level cache.
pub const GROUP: usize = 16;

/// Bytes of the lanes of a sum: column modulo this many numbers, regardless of the instruction set.
pub const SUM: usize = 64;

/// Results of a row that are stored one after another, numbers of `size` bytes: a group of rows
/// stays in the nearest cache.
pub const fn line(size: usize) -> usize {
    2048 / size
}

/// What becomes of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// They are stored lane by lane, a block of columns after another number or row.
    Blocks,
    /// They are stored lane by lane, a line after another row.
    Lines,
    /// They are added up.
    Sums,
    /// They are added up, each times the number behind the hoisted ones of its column.
    WeightedSums,
}

impl Results {
    /// Whether they are added up, to sums of a vector of [`SUM`] bytes each.
    pub fn are_added(self) -> bool {
        matches!(self, Results::Sums | Results::WeightedSums)
    }
}

/// Where the operands of an evaluation lie. Pointers are to the first row and to the first strip.
#[derive(Clone, Copy, Debug)]
pub struct Operands<T> {
    /// Hoisted vectors of the first row of x; rows follow each other.
    pub x: *const T,
    /// Its numbers.
    pub x_attr: *const T,
    /// Strips of a block of y.
    pub y: *const T,
    /// Numbers of its lanes.
    pub y_attr: *const T,
    /// Differences in a box: by row, component, lane.
    pub deltas: *const T,
    /// Recognised reductions of the first row.
    pub reductions: *const T,
    /// Results, or sums of results: by row, number, lane.
    pub out: *mut T,
}

/// Lanes of a strip of y on `isa`.
pub fn lanes<T>(isa: Isa) -> usize {
    if isa == Isa::Avx512 {
        64 / size_of::<T>()
    } else {
        32 / size_of::<T>()
    }
}

//! Sum-products as data: networks of discrete variables and factor tables, evidence, tasks,
//! semirings, and their oracle.
//!
//! The value of a task is ⊕ over the states of some variables of ⊗ over all factors. This module
//! says what that means; the planner and the kernels are in the crate `product`.
//!
//! A table over variables `(a, b, c)` is stored with the last variable of its scope fastest, as in
//! UAI files: for domains of 2, 3 and 4 states, entry (a, b, c) is at (a·3 + b)·4 + c.

pub mod evidence;
pub mod network;
pub mod oracle;
pub mod semiring;
pub mod table;
pub mod task;

pub use evidence::Evidence;
pub use network::{Kind, Names, Network};
pub use oracle::Oracle;
pub use semiring::{LogSumExp, MaxProduct, MinSum, OrAnd, Semiring, SumProduct};
pub use table::Factor;
pub use task::{Answer, Assignment, Log10, Task};

/// A variable: its number in the network, from 0.
pub type Var = usize;

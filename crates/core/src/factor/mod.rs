//! Sum-product problems: networks of discrete variables and factor tables, evidence, tasks,
//! semirings and their oracle.
//!
//! A table over variables `(a, b, c)` is stored with the last variable of its scope running
//! fastest, as in UAI files.

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

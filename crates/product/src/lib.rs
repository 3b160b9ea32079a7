//! The sum-product engine: it sums a product of tables over discrete variables.
//!
//! [`plan`] simplifies a network, orders its eliminations, and slices them to the memory. It reads
//! no file and no clock. [`cpu`] executes such a plan, forward and backward. Networks, evidence and
//! tasks are those of [`zipfold_core::factor`]. Nothing here knows pairs of rows.

pub mod branch;
pub mod count;
pub mod cpu;
pub mod plan;
pub mod remote;

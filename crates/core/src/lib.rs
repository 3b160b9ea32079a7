//! The words of zipfold and their meaning. No I/O, threads, clock, `unsafe` or platform `cfg`.
#![forbid(unsafe_code)]

pub mod budget;
pub mod error;
pub mod factor;
pub mod table;

pub use budget::{Budget, Reservation, Reserved};
pub use error::{Blame, Error, Result, Span};
pub use table::{Buffer, Elements, Precision, Table};

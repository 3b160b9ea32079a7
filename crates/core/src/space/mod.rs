//! Where the rows live: periodic boxes.

pub mod cell;

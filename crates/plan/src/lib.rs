//! plan

pub mod product;

//! Kernels and small parts, each against a plain definition.
//!
//! They stand outside the crate: unit tests within it would compile all kernels a second time.

mod bin_sums;
mod bits;
mod biweight;
mod bvh;
mod compress;
mod concordance;
mod dense;
mod filter;
mod group_pairs;
mod histogram;
mod keys;
mod moments;
mod panels;
mod ranks;
mod splines;
mod store;
mod top_k;
mod worst_row;

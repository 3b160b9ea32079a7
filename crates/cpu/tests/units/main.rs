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

/// A small generator of repeatable numbers.
struct Lcg(u64);

impl Lcg {
    /// The next number of [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

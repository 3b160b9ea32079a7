//! Fast loop nests over the vector layer: what a tile of pairs costs is decided here.

pub mod bits;
pub mod bvh;
pub mod compress;
pub mod dense;
pub mod filter;
pub mod histogram;
pub mod pairwise;
pub mod panels;
pub mod top_k;

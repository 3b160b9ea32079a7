//! How packed rows lie that matrix units multiply: groups of 16 bytes, whole slices of four groups.

use zipfold_plan::low_precision::ProductType;

/// Rows and columns of a tile of pairs.
pub const TILE: usize = 128;
/// Bytes of a group of components, which one load takes, and groups of a slice.
pub(super) const GROUP: usize = 16;
pub(super) const SLICE: usize = 4;

/// Components of a group of numbers of this type.
pub fn group(input: ProductType) -> usize {
    GROUP / input.bytes()
}

/// Groups of a packed row, whole slices of them.
pub fn groups(dim: usize, input: ProductType) -> usize {
    dim.div_ceil(group(input) * SLICE) * SLICE
}

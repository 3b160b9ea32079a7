//! The element types of tables, with all that kernels do by type.

use super::buffer_pool::Kept;
use super::pack::Transpose;
use super::permute::Permute;
use super::pick::Pickable;
use zipfold_core::Precision;

/// Numbers on the host.
#[derive(Clone, Copy, Debug)]
pub enum Items<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// Memory of the host that takes numbers.
#[derive(Debug)]
pub enum ItemsMut<'a> {
    /// Single precision.
    F32(&'a mut [f32]),
    /// Double precision.
    F64(&'a mut [f64]),
}

/// f32 or f64.
pub trait Real: Kept + Transpose + Permute + Pickable {
    /// The precision of the type.
    const PRECISION: Precision;
    /// Numbers of this type for a device.
    fn items(numbers: &[Self]) -> Items<'_>;
    /// Memory for numbers of this type from a device.
    fn items_mut(numbers: &mut [Self]) -> ItemsMut<'_>;
}
impl Real for f32 {
    const PRECISION: Precision = Precision::F32;
    fn items(numbers: &[Self]) -> Items<'_> {
        Items::F32(numbers)
    }
    fn items_mut(numbers: &mut [Self]) -> ItemsMut<'_> {
        ItemsMut::F32(numbers)
    }
}
impl Real for f64 {
    const PRECISION: Precision = Precision::F64;
    fn items(numbers: &[Self]) -> Items<'_> {
        Items::F64(numbers)
    }
    fn items_mut(numbers: &mut [Self]) -> ItemsMut<'_> {
        ItemsMut::F64(numbers)
    }
}

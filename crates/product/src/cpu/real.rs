//! The element types of tables, with all that kernels do by type.

use super::held::Kept;
use super::pack::Transpose;
use super::permute::Permute;
use super::pick::Pickable;

/// f32 or f64.
pub trait Real: Kept + Transpose + Permute + Pickable {}
impl Real for f32 {}
impl Real for f64 {}

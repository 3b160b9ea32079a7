//! The GPU backend of zipfold: kernels generated from the lowered formula, compiled at run time by
//! NVRTC (CUDA) or by the OpenCL runtime. Drivers are loaded dynamically; their absence is an
//! ordinary state.

pub mod ceilings;
pub mod choice;
pub mod contract;
mod counts;
mod cover;
pub mod dense;
pub mod emit;
pub mod engine;
mod form;
mod groups;
pub mod host_fold;
mod join;
pub mod join_code;
mod known;
mod model;
mod open;
pub mod pack;
pub mod paged;
pub mod pages;
pub mod points;
pub mod rectangle;
mod roles;
mod row_pieces;
pub mod rows;
mod runs;
pub mod runtime;
pub mod selector;
pub mod skeleton;
mod tile;
pub mod trials;
pub mod twin;
mod visit;
mod visit_text;

pub use engine::Engine;
pub use runtime::Device;
pub use selector::{DeviceSelector, Which, find, list, open, open_all};
pub use zipfold_plan::device::{Facts, Runtime};

//! What a device does for a plan: the part of a plan that its executor reads.

use super::matrix::{Matrix, MatrixKernel};
use super::sweeps::Sweeps;
use crate::overrides::Residency;
use serde::{Serialize, Serializer};
use std::fmt;

/// The part of a plan for devices.
#[derive(Clone, Debug, PartialEq)]
pub struct OnDevice {
    /// How many devices share out the tiles.
    pub devices: usize,
    /// Where the rows are kept.
    pub rows: Residency,
    /// Its kernels.
    pub work: DeviceWork,
}

impl OnDevice {
    /// Whether each device has a block of tiles of its own.
    pub fn is_in_blocks(&self) -> bool {
        match self.rows {
            Residency::Held | Residency::Streamed => false,
            Residency::Block | Residency::Overlap => true,
        }
    }
}

/// The work of a device.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceWork {
    /// It computes one matrix.
    Matrix(Matrix),
    /// It folds.
    Sweeps(Sweeps),
    /// It computes values, the host folds them.
    Values,
}

/// For people: `register-blocked tiles`.
impl fmt::Display for DeviceWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceWork::Matrix(Matrix {
                kernel: MatrixKernel::Products(_),
                ..
            }) => "matrix units",
            DeviceWork::Matrix(Matrix {
                kernel: MatrixKernel::Blocks(_),
                ..
            }) => "register-blocked tiles",
            DeviceWork::Matrix(Matrix {
                kernel: MatrixKernel::Pairs,
                ..
            }) => "a thread a pair",
            DeviceWork::Sweeps(sweeps) => match (sweeps.is_tiled(), sweeps.filter.is_some()) {
                (true, true) => "register-blocked tiles, single precision where it can decide",
                (true, false) => "register-blocked tiles",
                (false, true) => "a sweep, single precision where it can decide",
                (false, false) => "a sweep",
            },
            DeviceWork::Values => "values that the host folds",
        })
    }
}

impl Serialize for OnDevice {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(&self.work)
    }
}

//! What a device does for a plan: the part of a plan that its executor reads.
//!
//! The planner fills it and the executor of devices reads it; nothing is decided again from the
//! job.

use super::matrix::{Matrix, MatrixKernel};
use super::sweeps::{Sweeps, THREADS};
use crate::overrides::Residency;
use serde::{Serialize, Serializer};
use std::fmt;

/// Rows of x that meet the same panels, where a device sweeps what bounds leave open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pruned {
    /// Rows of a group.
    pub group: usize,
    /// The share of pairs that is expected to be swept.
    pub swept: f64,
}

/// The part of a plan for devices.
///
/// A plan for the host has none. The host's own strategies stay in the plan, for units of devices
/// that fail.
#[derive(Clone, Debug, PartialEq)]
pub struct OnDevice {
    /// How many devices share out the tiles.
    pub devices: usize,
    /// Where the rows are kept.
    pub rows: Residency,
    /// Groups of rows whose pairs bounds leave out or settle on the host; the rows are sorted then.
    pub pruned: Option<Pruned>,
    /// Its kernels.
    pub work: DeviceWork,
}

impl OnDevice {
    /// Returns whether each device has a block of tiles of its own. Then units are not taken from
    /// one queue.
    pub fn is_in_blocks(&self) -> bool {
        match self.rows {
            Residency::Held | Residency::Streamed => false,
            Residency::Block | Residency::Overlap => true,
        }
    }
}

/// The work of a device.
///
/// In the order of preference. `Values` serves every formula and fold, at the price of copying all
/// values.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceWork {
    /// It computes one matrix.
    Matrix(Matrix),
    /// It folds: the sweeps of every fold.
    Sweeps(Vec<Sweeps>),
    /// It computes values, the host folds them.
    Values,
}

impl DeviceWork {
    /// Returns the work over what bounds leave open of groups of `group` rows. A thread block of
    /// every fold takes a group, not more and not less.
    pub(super) fn listed(self, group: usize) -> Self {
        let listed = |sweeps: Sweeps| sweeps.listed(group / THREADS);
        match self {
            DeviceWork::Sweeps(folds) => {
                DeviceWork::Sweeps(folds.into_iter().map(listed).collect())
            }
            DeviceWork::Matrix(_) | DeviceWork::Values => self,
        }
    }
}

/// Writes it for people: `register-blocked tiles`.
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
            DeviceWork::Sweeps(folds) => return swept(folds, f),
            DeviceWork::Values => "values that the host folds",
        })
    }
}

/// Names the sweeps of folds, each kind once.
fn swept(folds: &[Sweeps], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = |sweeps: &Sweeps| match (sweeps.is_tiled(), sweeps.filter.is_some()) {
        _ if sweeps.products.is_some() => "matrix units where they can decide",
        (true, true) => "register-blocked tiles, single precision where it can decide",
        (true, false) => "register-blocked tiles",
        (false, true) => "a sweep, single precision where it can decide",
        (false, false) => "a sweep",
    };
    let mut names: Vec<&str> = folds.iter().map(name).collect();
    names.dedup();
    f.write_str(&names.join("; "))
}

// Reports name what a device does; the numbers of its kernels are for `emit`.
impl Serialize for OnDevice {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.pruned {
            Some(_) => serializer.collect_str(&format_args!("{}, of what bounds leave", self.work)),
            None => serializer.collect_str(&self.work),
        }
    }
}

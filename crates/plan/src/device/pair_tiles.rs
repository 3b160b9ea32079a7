//! Tiles of pairs from which folds of wide rows take their values.

use super::facts::Common;
use super::matrix;
use super::products::{self, Rounding, STAYING};
use crate::low_precision::ProductType;
use crate::overrides::{MatrixUnits, Overrides};
use zipfold_core::pair::tree::Side;
use zipfold_core::{Job, Result};

/// Tiles from which a fold takes its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PairTiles {
    /// Register-blocked tiles of vector units.
    Registers(matrix::MatrixShape),
    /// Products of rounded rows, by matrix units.
    Products {
        /// How matrix units take the rows.
        units: MatrixUnits,
        /// Whether rows r and r + 8 of x are packed in pairs, as the products of a warp take them. Rows
        /// that stay in shared memory are paired there.
        paired: bool,
    },
}

impl PairTiles {
    /// Returns the tiles of products for the sides of `job` that are `anchors`.
    ///
    /// # Errors
    /// `Request` for units that the devices do not have.
    pub(super) fn for_products(
        job: &Job,
        anchors: &[Side],
        common: Common,
        overrides: &Overrides,
    ) -> Result<PairTiles> {
        let units = products::units(ProductType::Half(Rounding::TYPE), common, overrides)?;
        let warps = units == MatrixUnits::Warps;
        Ok(PairTiles::Products {
            units,
            paired: warps && job.low.dim > STAYING && anchors == [Side::X],
        })
    }
    /// Returns how matrix units take rows, if they compute the pairs.
    pub fn units(self) -> Option<MatrixUnits> {
        match self {
            PairTiles::Registers(_) => None,
            PairTiles::Products { units, .. } => Some(units),
        }
    }
    /// Why pairs come from them.
    pub(super) fn reason(self) -> &'static str {
        match self {
            PairTiles::Registers(_) => {
                "rows too wide for registers: pairs of register-blocked tiles go straight to the fold"
            }
            PairTiles::Products { .. } => {
                "products of rows rounded to f16 leave few pairs open, which double precision decides"
            }
        }
    }
}

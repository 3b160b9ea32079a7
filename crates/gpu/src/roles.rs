//! Which joins of two tables are products of matrices.

use crate::tile::Tile;
use zipfold_product::cpu::shape::{Digit, Shape};

/// The digits of two tables by what they are in a product of matrices.
pub(crate) struct Roles<'s> {
    /// Whether the second table is the one with the rows.
    pub swapped: bool,
    pub rows: Vec<&'s Digit>,
    pub columns: Vec<&'s Digit>,
    pub batch: Vec<&'s Digit>,
    /// By table, in the order of the kernel: whether its entries lie along the folded index.
    pub along: [bool; 2],
}

impl<'s> Roles<'s> {
    /// Roles for a shape of two tables with the same folded variables.
    pub(crate) fn of_shape(shape: &'s Shape) -> Option<Self> {
        let depth: Vec<&Digit> = shape.digits.iter().filter(|d| d.summed).collect();
        if shape.inputs != 2
            || depth.is_empty()
            || depth.iter().any(|d| d.strides[0] == 0 || d.strides[1] == 0)
        {
            return None;
        }
        if shape.kept().any(|d| d.strides[0] == 0 && d.strides[1] == 0) {
            return None;
        }
        // The fastest digit of the result that only one table has runs along the threads.
        let single = |d: &&Digit| d.strides[0] == 0 || d.strides[1] == 0;
        let swapped = shape
            .kept()
            .filter(single)
            .last()
            .is_some_and(|d| d.strides[0] > 0);
        let (a, b) = if swapped { (1, 0) } else { (0, 1) };
        let all =
            |of: &dyn Fn(&Digit) -> bool| shape.kept().filter(|d| of(d)).collect::<Vec<&Digit>>();
        let (rows, columns) = (all(&|d| d.strides[b] == 0), all(&|d| d.strides[a] == 0));
        let nearest = |digits: &[&Digit], f: usize| {
            digits
                .iter()
                .map(|d| d.strides[f])
                .min()
                .unwrap_or(usize::MAX)
        };
        let along = [
            nearest(&depth, a) < nearest(&rows, a),
            nearest(&depth, b) < nearest(&columns, b),
        ];
        Some(Roles {
            swapped,
            batch: all(&|d| d.strides[0] > 0 && d.strides[1] > 0),
            rows,
            columns,
            along,
        })
    }
    pub(crate) fn sizes(&self) -> [usize; 3] {
        [&self.rows, &self.columns, &self.batch]
            .map(|digits| digits.iter().map(|d| d.card).product())
    }
    /// Tiles of the result.
    pub(crate) fn tiles(&self, tile: Tile) -> usize {
        let [rows, columns, batch] = self.sizes();
        rows.div_ceil(tile.rows) * columns.div_ceil(tile.columns) * batch
    }
}

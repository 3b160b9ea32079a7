//! The order in which the blocks of a tile are visited. It changes which rows are still in a cache,
//! and no answer: results of blocks are put in canonical order before they are added.
//!
//! By the default a panel of columns stays in a cache while all rows of the tile pass over it.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use zipfold_core::space::curve::{Coordinates, order_of};

/// An order of blocks.
///
/// Users choose it by `order` to compare; the planner always takes the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Column after column: a panel of columns serves all rows of the tile.
    #[default]
    Column,
    /// Row after row.
    Row,
    /// Row after row, every other one backwards: what the end of a row read last begins the next
    /// (the scheme for the Cell processor of Sarje and Aluru 2013).
    Snake,
    /// Along Hilbert's curve: near in time is near in rows and in columns.
    Hilbert,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 4] = [Order::Column, Order::Row, Order::Snake, Order::Hilbert];

    /// The name that `--set order=` takes.
    ///
    /// Help and errors use the same word.
    pub fn name(self) -> &'static str {
        match self {
            Order::Column => "column",
            Order::Row => "row",
            Order::Snake => "snake",
            Order::Hilbert => "hilbert",
        }
    }
    /// Lists the blocks `rows` × `cols`, each once, as (row, column). A list and not an iterator,
    /// because the curve needs all of them to sort.
    pub fn blocks(self, rows: Range<usize>, cols: Range<usize>) -> Vec<(usize, usize)> {
        let along = |row: usize| cols.clone().map(move |col| (row, col));
        match self {
            Order::Column => cols
                .clone()
                .flat_map(|col| rows.clone().map(move |row| (row, col)))
                .collect(),
            Order::Row => rows.clone().flat_map(along).collect(),
            Order::Snake => {
                let turned = |row: usize| -> Vec<(usize, usize)> {
                    if (row - rows.start).is_multiple_of(2) {
                        along(row).collect()
                    } else {
                        along(row).rev().collect()
                    }
                };
                rows.clone().flat_map(turned).collect()
            }
            Order::Hilbert => {
                let all: Vec<(usize, usize)> = rows.clone().flat_map(along).collect();
                let values: Vec<f64> = all
                    .iter()
                    .flat_map(|(row, col)| [*row as f64, *col as f64])
                    .collect();
                // The curve of rows serves blocks, too: two coordinates in one group have one
                // scale.
                let order = order_of(&Coordinates {
                    values: &values,
                    width: 2,
                    groups: vec![vec![0, 1]],
                });
                order.into_iter().map(|at| all[at as usize]).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_visits_every_block_once() {
        for (rows, cols) in [
            (0..1, 0..1),
            (3..9, 2..4),
            (0..8, 0..8),
            (5..6, 0..32),
            (2..2, 0..4),
        ] {
            for order in Order::ALL {
                let mut blocks = order.blocks(rows.clone(), cols.clone());
                assert_eq!(blocks.len(), rows.len() * cols.len(), "{}", order.name());
                blocks.sort_unstable();
                blocks.dedup();
                assert_eq!(blocks.len(), rows.len() * cols.len(), "{}", order.name());
            }
        }
    }

    #[test]
    fn neighbours_in_time_are_neighbours() {
        let apart = |a: &(usize, usize), b: &(usize, usize)| a.0.abs_diff(b.0) + a.1.abs_diff(b.1);
        for order in [Order::Snake, Order::Hilbert] {
            let blocks = order.blocks(0..8, 0..8);
            assert!(
                blocks.windows(2).all(|w| apart(&w[0], &w[1]) == 1),
                "{}",
                order.name()
            );
        }
    }
}

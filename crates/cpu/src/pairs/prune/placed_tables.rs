//! Rows of tables in the places of a column grid: the rows that have a group, or all.
//!
//! ```text
//! coordinates of the members → columns → places, sorted rows, by the numbers of members
//! numbers of members → numbers of rows
//! no grid can place the points: members stay in their order
//! ```

use crate::kernels::histogram::{ColumnGrid, Columns, Frame, GriddedPoints, Points};
use crate::pairs::points::{arranged, frame};
use rayon::prelude::*;
use zipfold_core::parts::KeyParts;
use zipfold_core::{Job, Side, Table};
use zipfold_vector::memory::Block;

/// Rows that a thread takes at a time.
pub(super) const CHUNK: usize = 4096;

/// Rows in the places of points.
pub(super) struct PlacedTables {
    /// The grid, and the columns of x, and of y if it is another input; none where single precision
    /// cannot place the points.
    pub(super) grid: Option<(ColumnGrid, Vec<Columns>)>,
    /// By side, the sorted rows.
    pub(super) orders: Vec<Vec<u32>>,
    /// The points of x, and of y if it is another input.
    pub(super) points: [Option<Points>; 2],
    /// By side, the row in each place.
    rows: Vec<Vec<u32>>,
}

/// A table, and its rows that have a group, where not all have one.
struct Members<'t> {
    table: &'t Table,
    rows: Option<&'t [u32]>,
}

impl PlacedTables {
    /// Puts rows into columns of cells as wide as the last edge over a number of parts; none where no
    /// grid can place them, and the question has no groups.
    pub(super) fn new(job: &Job, keys: Option<&KeyParts>, cells: (f64, usize)) -> Option<Self> {
        let members = |side: Side, table| {
            let rows = keys.map(|keys| keys.members(side));
            // All rows stay in their order.
            let rows = rows.filter(|rows| rows.len() < Table::rows(table));
            Members { table, rows }
        };
        let mut sides = vec![members(Side::X, &job.x)];
        sides.extend(job.y.as_ref().map(|y| members(Side::Y, y)));
        let values: Vec<Block<f64>> = sides.iter().map(Members::coordinates).collect();
        let slices: Vec<&[f64]> = values.iter().map(|v| &v[..]).collect();
        let frame = frame(job, || Frame::open_rows(&values[0], job.low.dim));
        match GriddedPoints::new(&frame, &slices, cells.0, cells.1) {
            Some(gridded) => Some(Self::in_grid(gridded, &sides)),
            // Others have strategies that take over; no part of a question takes over its tiles.
            None => keys.map(|_| Self::in_order(&frame, &sides)),
        }
    }
    fn in_grid(gridded: GriddedPoints, sides: &[Members<'_>]) -> Self {
        let columns = || gridded.columns.iter().zip(sides);
        let places = |(columns, side): (&Columns, &Members<'_>)| side.named(&columns.places());
        let order = |(columns, side): (&Columns, &Members<'_>)| side.named(&columns.order);
        let mut points = gridded.points.into_iter();
        PlacedTables {
            rows: columns().map(places).collect(),
            orders: columns().map(order).collect(),
            points: [points.next(), points.next()],
            grid: Some((gridded.column_grid, gridded.columns)),
        }
    }
    fn in_order(frame: &Frame, sides: &[Members<'_>]) -> Self {
        let orders: Vec<Vec<u32>> = sides.iter().map(Members::all).collect();
        let mut points = sides.iter().zip(&orders);
        let mut next = || {
            let (side, order) = points.next()?;
            Some(arranged(frame, side.table, Some(order)))
        };
        PlacedTables {
            grid: None,
            points: [next(), next()],
            rows: orders.clone(),
            orders,
        }
    }
    /// The row in each place of x and of y.
    pub(super) fn places(&self) -> [&[u32]; 2] {
        [0, self.rows.len() - 1].map(|side| &self.rows[side][..])
    }
    /// Sorted rows of x and of y.
    pub(super) fn members(&self) -> [usize; 2] {
        [0, self.orders.len() - 1].map(|side| self.orders[side].len())
    }
    /// The sorted rows of x, and behind them those of all `rows` that have no group.
    pub(super) fn order(&self, rows: usize) -> Vec<u32> {
        let mut order = self.orders[0].clone();
        if order.len() < rows {
            let mut has_group = vec![false; rows];
            order.iter().for_each(|row| has_group[*row as usize] = true);
            order.extend((0..rows as u32).filter(|row| !has_group[*row as usize]));
        }
        order
    }
}

impl Members<'_> {
    /// The coordinates, row by row.
    fn coordinates(&self) -> Block<f64> {
        let dimensions = self.table.cols();
        let count = self.rows.map_or(self.table.rows(), <[u32]>::len);
        let mut values = Block::zeros(count * dimensions);
        let chunks = values.par_chunks_mut((CHUNK * dimensions).max(1));
        chunks.enumerate().for_each(|(chunk, values)| {
            for (at, to) in values.chunks_exact_mut(dimensions).enumerate() {
                let at = chunk * CHUNK + at;
                let row = self.rows.map_or(at, |rows| rows[at] as usize);
                self.table.row_into(row, to);
            }
        });
        values
    }
    /// The numbers of rows, of numbers among the members. Places without a row stay.
    fn named(&self, members: &[u32]) -> Vec<u32> {
        let Some(rows) = self.rows else {
            return members.to_vec();
        };
        let name = |member: &u32| rows.get(*member as usize).copied().unwrap_or(*member);
        members.iter().map(name).collect()
    }
    /// All members.
    fn all(&self) -> Vec<u32> {
        let every = || (0..self.table.rows() as u32).collect();
        self.rows.map_or_else(every, <[u32]>::to_vec)
    }
}

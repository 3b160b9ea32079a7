//! The points of a pattern in their window.

use crate::marked::{
    labelled, numbers, position_columns, refuse_odd, refuse_squares, side_by_side,
};
use crate::tables::SideTable;
use std::f64::consts::PI;
use zipfold_core::budget::Reservation;
use zipfold_core::{Budget, Error, Opt, Random, Result, Table};

/// The attribute that has the number of the kind of a point.
pub(super) const KIND: &str = "kind";
/// The attribute that has its distance to the nearest side.
pub(super) const INSIDE: &str = "inside";
/// Attributes that have its distances to both sides of an axis.
pub(super) const SIDES: [[&str; 2]; 2] = [["left", "right"], ["below", "above"]];

/// Which points of a table are asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedPoints<'a> {
    /// Their columns of positions.
    pub(super) columns: Option<&'a [String]>,
    /// The column of their kinds, and the option that names it.
    pub(super) kinds: Option<(&'a String, Opt)>,
    /// The ends of the window.
    pub(super) window: Option<&'a [f64]>,
}

/// Points, and what they hold of the budget.
pub(super) type HeldPoints = (PointSet, Reservation);

/// Points with kinds, in a box.
#[derive(Clone, Debug)]
pub(super) struct PointSet {
    /// By axis, the coordinates.
    pub(super) positions: Vec<Vec<f64>>,
    /// The kinds, in ascending order; one that is called `all` without kinds.
    pub(super) kinds: Vec<String>,
    /// By point, the number of its kind.
    pub(super) codes: Vec<u32>,
    /// By axis, the least and the largest coordinate of the window.
    pub(super) window: Vec<[f64; 2]>,
}

impl PointSet {
    /// The points of a table.
    ///
    /// # Errors
    /// `Request` for columns that there are not, and a window of other axes; `Input` for positions
    /// that are not finite or outside of the window, rows without a kind, and fewer than two points.
    /// `Resource` beyond the budget.
    pub(super) fn read(
        side: &SideTable,
        asked: AskedPoints<'_>,
        budget: &Budget,
    ) -> Result<HeldPoints> {
        let AskedPoints {
            columns,
            kinds,
            window,
        } = asked;
        let others: Vec<String> = kinds.iter().map(|(column, _)| (*column).clone()).collect();
        let names = position_columns(side, columns, &others)?;
        // Positions, the same of a simulation or on the way to a table, codes twice, and the labels
        // that codes are found by.
        let row = 16 * names.len() as u64 + 8 + if kinds.is_some() { 32 } else { 0 };
        let bytes = (side.rows() as u64).saturating_mul(row);
        let held = budget.reserve(bytes, "the points of a pattern")?;
        let read = |name: &String| numbers(side, name, Opt::Positions);
        let positions = names.iter().map(read).collect::<Result<Vec<_>>>()?;
        for column in &positions {
            refuse_odd(column, "positions", &side.name)?;
        }
        if side.rows() < 2 {
            let what = format!("expected two points or more, got {}", side.rows());
            let e = Error::input(what).at_place(side.name.clone());
            return Err(e.remedy("a table with more points"));
        }
        let (kinds, codes) = match kinds {
            Some((column, option)) => labelled(side, column, option)?,
            None => (vec!["all".to_string()], vec![0; side.rows()]),
        };
        let window = match window {
            Some(window) => given(window, &names)?,
            None => positions.iter().map(|column| extent(column)).collect(),
        };
        let points = PointSet {
            positions,
            kinds,
            codes,
            window,
        };
        points.check(side)?;
        Ok((points, held))
    }
    /// Refuses points outside of the window, and a window without a volume.
    fn check(&self, side: &SideTable) -> Result<()> {
        for (axis, ([lo, hi], column)) in self.window.iter().zip(&self.positions).enumerate() {
            if lo == hi {
                let what = format!(
                    "expected points at different places along axis {}",
                    axis + 1
                );
                let e = Error::input(what).at_place(side.name.clone());
                return Err(e.remedy(Opt::Window.like("XMIN,XMAX,YMIN,YMAX")));
            }
            if let Some(row) = column.iter().position(|v| v < lo || v > hi) {
                let what = format!(
                    "expected points from {lo} to {hi} along axis {}, got {} in row {row} (from 0)",
                    axis + 1,
                    column[row]
                );
                let e = Error::input(what).at_place(side.name.clone());
                return Err(e.remedy("a larger window, or leave the row out"));
            }
        }
        refuse_squares(&self.sides(), &side.name)?;
        Ok(())
    }
    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }
    /// Lengths of the sides of the window.
    pub(super) fn sides(&self) -> Vec<f64> {
        self.window.iter().map(|[lo, hi]| hi - lo).collect()
    }
    /// Points of each kind.
    pub(super) fn sizes(&self) -> Vec<u64> {
        let mut sizes = vec![0; self.kinds.len()];
        self.codes
            .iter()
            .for_each(|code| sizes[*code as usize] += 1);
        sizes
    }
    /// As many points of each kind, anywhere in the window.
    pub(super) fn scattered(&self, random: &mut Random) -> PointSet {
        let count = self.len();
        let mut draw = |[lo, hi]: &[f64; 2]| -> Vec<f64> {
            let place = |_| (lo + (hi - lo) * random.unit()).clamp(*lo, *hi);
            (0..count).map(place).collect()
        };
        PointSet {
            positions: self.window.iter().map(&mut draw).collect(),
            ..self.clone()
        }
    }
    /// The same points, their kinds in another order (Fisher and Yates).
    pub(super) fn relabelled(&self, random: &mut Random) -> PointSet {
        let mut codes = self.codes.clone();
        for at in (1..codes.len()).rev() {
            codes.swap(at, random.below(at + 1));
        }
        PointSet {
            codes,
            ..self.clone()
        }
    }
    /// The table of a question: positions, and as attributes the kinds and what else is `wanted`.
    pub(super) fn table(&self, wanted: PointMarks, budget: &Budget) -> Result<Table> {
        let names = ["x", "y", "z"].map(String::from);
        let own: Vec<(String, Vec<f64>)> = names.into_iter().zip(self.positions.clone()).collect();
        let mut beside = vec![];
        if wanted.kinds {
            let codes = self.codes.iter().map(|code| f64::from(*code)).collect();
            beside.push((KIND.to_string(), codes));
        }
        if wanted.inside {
            beside.push((INSIDE.to_string(), self.inside()));
        }
        if wanted.sides {
            let axes = self.positions.iter().zip(&self.window).zip(SIDES);
            for ((column, [lo, hi]), [low, high]) in axes {
                beside.push((low.into(), column.iter().map(|v| v - lo).collect()));
                beside.push((high.into(), column.iter().map(|v| hi - v).collect()));
            }
        }
        let table = side_by_side(&own, budget, "positions")?;
        match beside.is_empty() {
            true => Ok(table),
            false => table.with_attributes(side_by_side(&beside, budget, "what points have")?),
        }
    }
    /// By point, the distance to the nearest side.
    pub(super) fn inside(&self) -> Vec<f64> {
        let nearest = |row: usize| {
            let axes = self.positions.iter().zip(&self.window);
            let gaps = axes.map(|(column, [lo, hi])| (column[row] - lo).min(hi - column[row]));
            gaps.fold(f64::INFINITY, f64::min)
        };
        (0..self.len()).map(nearest).collect()
    }
}

/// What a table has next to positions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PointMarks {
    pub(super) kinds: bool,
    pub(super) inside: bool,
    pub(super) sides: bool,
}

/// A window that was given, for these columns.
fn given(window: &[f64], names: &[String]) -> Result<Vec<[f64; 2]>> {
    if window.len() != 2 * names.len() {
        let what = format!(
            "expected two ends for each of {} axes, got {} numbers",
            names.len(),
            window.len()
        );
        let e = Error::request(what).at_place(Opt::Window);
        return Err(e.remedy(Opt::Window.like("XMIN,XMAX,YMIN,YMAX")));
    }
    Ok(window.chunks(2).map(|ends| [ends[0], ends[1]]).collect())
}

/// The least and the largest number.
fn extent(column: &[f64]) -> [f64; 2] {
    column
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], v| {
            [lo.min(*v), hi.max(*v)]
        })
}

/// The volume of a ball: a length of one axis, an area of two.
pub(super) fn ball(radius: f64, axes: usize) -> f64 {
    match axes {
        1 => 2.0 * radius,
        2 => PI * radius * radius,
        _ => 4.0 / 3.0 * PI * radius * radius * radius,
    }
}

/// The radius of the ball of a volume.
pub(super) fn radius(volume: f64, axes: usize) -> f64 {
    match axes {
        1 => volume / 2.0,
        2 => (volume / PI).sqrt(),
        _ => (volume * 3.0 / (4.0 * PI)).cbrt(),
    }
}

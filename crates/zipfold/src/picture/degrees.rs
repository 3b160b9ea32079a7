//! Pictures of networks: how many rows have how many edges.

use super::page::{axes, themed};
use super::radial::COLOURS;
use plotters::prelude::*;
use std::collections::BTreeMap;
use zipfold_core::Result;

const SIZE: (u32, u32) = (720, 480);

/// Rows by their number of edges, as points with logarithmic axes. Rows without edges are counted in
/// the title.
///
/// # Errors
/// `Internal` where it cannot be drawn.
pub fn degrees_svg(degrees: &[u64]) -> Result<String> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for degree in degrees {
        *counts.entry(*degree).or_default() += 1;
    }
    let alone = counts.remove(&0).unwrap_or(0);
    let points: Vec<(f64, f64)> = counts
        .iter()
        .map(|(degree, rows)| ((*degree as f64).log10(), (*rows as f64).log10()))
        .collect();
    let end = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(1.0, f64::max).ceil();
    let (last, top) = (end(|p| p.0), end(|p| p.1));
    let edges = degrees.iter().sum::<u64>() / 2;
    let title = format!("{edges} edges of {} rows, {alone} without", degrees.len());
    let (x, y) = ("log₁₀ of edges of a row", "log₁₀ of rows");
    themed(SIZE, |root| {
        let mut chart = axes(root, &title, x, y, (-0.05, last), (-0.05, top))?;
        let dots = points
            .iter()
            .map(|p| Circle::new(*p, 3, COLOURS[0].filled()));
        chart.draw_series(dots)?;
        Ok(())
    })
}

//! Histograms and their axes as problem files describe them: checks, defaults and limits.
//!
//! `{ bins = 100, range = [0, 2] }` becomes an [`Axis`] with 101 edges over root 0. A range must be
//! there: if the problem has none, `open_axes.rs` has found one before.

use super::roots::Roots;
use super::{Axis, Closed, Histogram};
use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::problem::AxisSpec;

/// The most cells of a grid: 2³² counters take 32 GiB.
const MOST_CELLS: usize = 1 << 32;
/// The most bins of an axis. More have no use at the resolution of any file, and edges alone would
/// take gigabytes.
const MOST_BINS: usize = 100_000_000;
/// The bins of an axis if the problem does not say. Enough for a picture of a
/// distribution.
pub(crate) const USUAL_BINS: usize = 100;

impl Histogram {
    /// The fold, as it is requested.
    ///
    /// Axes are checked one by one before the grid is, so a message names the axis that is wrong.
    ///
    /// # Errors
    /// `Request` for axes that are too many, too fine, or mean nothing.
    pub(super) fn asked(
        axes: &[AxisSpec],
        closed: Closed,
        mean: bool,
        roots: &mut Roots<'_>,
    ) -> Result<Histogram> {
        if axes.is_empty() || axes.len() > 3 {
            return Err(
                Error::request(format!("a histogram of {} axes", axes.len())).limit("1 to 3 axes"),
            );
        }
        let axes = axes
            .iter()
            .map(|spec| Axis::asked(spec, closed, roots))
            .collect::<Result<Vec<_>>>()?;
        let fold = Histogram::new(axes, closed, mean);
        match fold.cells() {
            0..=MOST_CELLS => Ok(fold),
            cells => Err(Error::request(format!("a grid of {cells} bins"))
                .limit(format!("{MOST_CELLS} bins"))),
        }
    }
}

impl Axis {
    /// Makes an axis: over edges if there are any, else over even bins.
    fn asked(spec: &AxisSpec, closed: Closed, roots: &mut Roots<'_>) -> Result<Axis> {
        let at = match &spec.value {
            Some(text) => roots.number(text)?,
            None => roots.value(),
        };
        if !roots.is_number(at) {
            return Err(Error::request(
                "a histogram takes single numbers, the pair is a vector",
            ));
        }
        // A distance is binned by its square.
        // Comparing squares with squared edges places every value alike and saves a root per pair.
        let (root, squared) = roots.ordered(at);
        if let Some(edges) = &spec.edges {
            // Equal edges would make a bin that no value belongs to.
            let ascending =
                edges.windows(2).all(|w| w[0] < w[1]) && edges.iter().all(|e| !e.is_nan());
            if edges.len() < 2 || !ascending {
                let e = Error::request(
                    "bin edges are two or more numbers, each larger than the one before",
                );
                return Err(e
                    .at_place(Opt::Edges)
                    .remedy("sort them and drop duplicates"));
            }
            return Ok(Axis::new(root, edges.clone(), squared, closed));
        }
        let bins = spec.bins.unwrap_or(USUAL_BINS);
        let Some([lo, hi]) = spec.range else {
            return Err(Error::internal(
                "a histogram reached its description without a range",
            ));
        };
        // `lo.lt(&hi)` is false for NaN, too.
        if bins == 0 || bins > MOST_BINS || !lo.lt(&hi) || !lo.is_finite() || !hi.is_finite() {
            let e = Error::request(format!("{bins} bins from {lo} to {hi}")).at_place(format!(
                "{}, {}",
                Opt::Bins,
                Opt::Range
            ));
            return Err(e.limit(format!("1 to {MOST_BINS} bins over a finite range LO < HI")));
        }
        Ok(Axis::uniform(root, [lo, hi], bins, squared, closed))
    }
}

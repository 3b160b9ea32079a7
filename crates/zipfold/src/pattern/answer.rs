//! Ripley's functions as rows, files and pictures.

use super::asked::Correction;
use super::shape::radius;
#[cfg(feature = "plot")]
use crate::saved;
use crate::tables::{JoinedColumn, JoinedRows};
use zipfold_core::{Result, Words};
use zipfold_io::OutputOptions;
use zipfold_io::rows_write::Cells;

/// The functions from the points of one kind to those of another.
///
/// ```
/// use zipfold::internals::pattern::RipleyCurve;
/// fn is_clustered(curve: &RipleyCurve) -> bool {
///     curve.k.iter().zip(&curve.k_high).any(|(k, usual)| k > usual)
/// }
/// # let _ = is_clustered;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct RipleyCurve {
    /// The numbers of both kinds.
    pub kinds: [usize; 2],
    /// By bin, its pairs: of one kind both ways round.
    pub counts: Vec<u64>,
    /// By bin, K at its upper edge; NaN where no point is far enough from the edge of the window.
    pub k: Vec<f64>,
    /// By bin, the radius of the ball that has the volume K.
    pub l: Vec<f64>,
    /// By bin, the pair correlation.
    pub g: Vec<f64>,
    /// By bin, the least and the largest K of the simulations; empty without them.
    pub k_low: Vec<f64>,
    /// The largest.
    pub k_high: Vec<f64>,
    /// By bin, the least g of the simulations.
    pub g_low: Vec<f64>,
    /// The largest.
    pub g_high: Vec<f64>,
}

/// What rows take of a curve.
type CurveValues<'a> = &'a dyn Fn(&RipleyCurve) -> Vec<f64>;

impl RipleyCurve {
    pub(super) fn new(
        kinds: [usize; 2],
        counts: Vec<u64>,
        k: Vec<f64>,
        g: Vec<f64>,
        axes: usize,
    ) -> RipleyCurve {
        RipleyCurve {
            l: k.iter().map(|k| radius(*k, axes)).collect(),
            kinds,
            counts,
            k,
            g,
            k_low: vec![],
            k_high: vec![],
            g_low: vec![],
            g_high: vec![],
        }
    }
    /// Takes a simulation into the envelopes.
    pub(super) fn widen(&mut self, other: &RipleyCurve) {
        let take = |low: &mut Vec<f64>, high: &mut Vec<f64>, values: &[f64]| {
            if low.is_empty() {
                (*low, *high) = (values.to_vec(), values.to_vec());
            }
            low.iter_mut().zip(values).for_each(|(a, b)| *a = a.min(*b));
            high.iter_mut()
                .zip(values)
                .for_each(|(a, b)| *a = a.max(*b));
        };
        take(&mut self.k_low, &mut self.k_high, &other.k);
        take(&mut self.g_low, &mut self.g_high, &other.g);
    }
}

/// Ripley's functions of the points of a window.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::io::OutputOptions;
/// use zipfold::{Options, Table};
/// use zipfold::internals::pattern::{Ripley, RipleyAnswer};
/// let name = |suffix: &str| format!("{}/zipfold-{}-k.{suffix}", std::env::temp_dir().display(), std::process::id());
/// let grid = (0..100).flat_map(|k| [f64::from(k % 10), f64::from(k / 10)]).collect();
/// let points = Table::f64(100, 2, grid)?.with_names(vec!["x".into(), "y".into()])?;
/// let answer: RipleyAnswer = Ripley { simulations: 9, ..Ripley::new("points") }.of_table(points, &Options::default())?;
/// assert_eq!(answer.curves[0].k[10], 0.0); // no two points of a grid are near
/// answer.save(&name("csv"), OutputOptions::default())?;
/// answer.save(&name("svg"), OutputOptions::default())?;
/// # ["csv", "svg"].iter().for_each(|suffix| std::fs::remove_file(name(suffix)).expect("the example's file"));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct RipleyAnswer {
    /// The kinds, in ascending order; one that is called `all` without a column of kinds.
    pub kinds: Vec<String>,
    /// Points of each kind.
    pub sizes: Vec<u64>,
    /// By axis, the least and the largest coordinate of the window.
    pub window: Vec<[f64; 2]>,
    /// Edges of the distances.
    pub edges: Vec<f64>,
    /// From each kind to each kind.
    pub curves: Vec<RipleyCurve>,
    /// By bin, K of points without structure.
    pub theory: Vec<f64>,
    /// How the edge of the window was accounted for.
    pub correction: Correction,
    /// Number of simulations.
    pub simulations: u64,
    /// Pairs that were visited, those of simulations too.
    pub pairs: u64,
}

impl RipleyAnswer {
    /// The columns of rows, by name.
    fn cells(&self) -> Vec<(&'static str, Cells)> {
        let bins = self.edges.len() - 1;
        let each =
            |value: CurveValues<'_>| -> Vec<f64> { self.curves.iter().flat_map(value).collect() };
        let kind = |side: usize| {
            let words = Words::from_words("kind", self.kinds.iter().map(String::as_str));
            let codes = self.curves.iter();
            let codes = codes.flat_map(|c| std::iter::repeat_n(c.kinds[side] as i64, bins));
            Cells::Words(words, codes.collect())
        };
        let mut columns = vec![];
        if self.kinds.len() > 1 {
            columns.extend([("from", kind(0)), ("to", kind(1))]);
        }
        let counts = |c: &RipleyCurve| c.counts.iter().map(|n| *n as f64).collect::<Vec<f64>>();
        let numbers = |value: CurveValues<'_>| Cells::Numbers(each(value));
        columns.extend([
            ("low", numbers(&|_| self.edges[..bins].to_vec())),
            ("r", numbers(&|_| self.edges[1..].to_vec())),
            ("count", Cells::Whole(each(&counts))),
            ("k", numbers(&|c| c.k.clone())),
            ("l", numbers(&|c| c.l.clone())),
            ("g", numbers(&|c| c.g.clone())),
            ("k_random", numbers(&|_| self.theory.clone())),
        ]);
        if self.simulations > 0 {
            columns.extend([
                ("k_low", numbers(&|c| c.k_low.clone())),
                ("k_high", numbers(&|c| c.k_high.clone())),
                ("g_low", numbers(&|c| c.g_low.clone())),
                ("g_high", numbers(&|c| c.g_high.clone())),
            ]);
        }
        columns
    }
    /// A row for each pair of kinds and distance: the kinds where there are several, the edges, the
    /// count, K, L, g, and the envelopes where there are simulations.
    #[must_use]
    pub fn rows(&self) -> JoinedRows {
        let column = |(name, cells): (&str, Cells)| JoinedColumn {
            name: name.to_string(),
            cells,
        };
        JoinedRows {
            rows: ((self.edges.len() - 1) * self.curves.len()) as u64,
            columns: self.cells().into_iter().map(column).collect(),
            pairs: self.pairs,
            rule: self.rule(),
        }
    }
    /// What the numbers mean, in a line.
    fn rule(&self) -> String {
        let ends = |[lo, hi]: &[f64; 2]| format!("{lo} to {hi}");
        let window: Vec<String> = self.window.iter().map(ends).collect();
        let mut rule = format!(
            "correction {}; ordered pairs of different points, low <= distance < r; k, l at r; window {}",
            self.correction.name(),
            window.join(" x ")
        );
        if self.simulations > 0 {
            rule += &format!("; envelopes of {} simulations", self.simulations);
        }
        rule
    }
    /// Writes the rows in the format of the suffix of `path`; `.npz` has the numbers of kinds.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        self.rows().write_numbered(path, how)
    }
    /// L(r) - r as the text of an SVG file, for light and dark surroundings, with the envelope of one
    /// kind.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        use crate::picture::{Bars, CurveStyle, Curves, DrawnCurve, curves_svg};
        let (r, axes) = (&self.edges[1..], self.window.len());
        let less = |l: &[f64]| -> Vec<f64> { l.iter().zip(r).map(|(l, r)| l - r).collect() };
        let values: Vec<Vec<f64>> = self.curves.iter().map(|curve| less(&curve.l)).collect();
        let name = |curve: &RipleyCurve| match self.kinds.len() {
            1 => format!("L(r) - r, correction {}", self.correction.name()),
            _ => format!(
                "{} → {}",
                self.kinds[curve.kinds[0]], self.kinds[curve.kinds[1]]
            ),
        };
        let both = self.curves.iter().zip(&values);
        let curves: Vec<DrawnCurve<'_>> = both
            .map(|(curve, values)| DrawnCurve {
                name: name(curve),
                places: r,
                values,
                style: CurveStyle::Line,
            })
            .collect();
        let ends = |k: &[f64]| less(&k.iter().map(|k| radius(*k, axes)).collect::<Vec<f64>>());
        let envelope = match self.curves.as_slice() {
            [curve] if self.simulations > 0 => Some((ends(&curve.k_low), ends(&curve.k_high))),
            _ => None,
        };
        let counts: Option<Vec<f64>> = match self.curves.as_slice() {
            [curve] => Some(curve.counts.iter().map(|n| *n as f64).collect()),
            _ => None,
        };
        curves_svg(&Curves {
            title: "Ripley's L",
            axes: ["r", "L(r) - r"],
            range: [self.edges[0], self.edges[self.edges.len() - 1]],
            curves: &curves,
            band: envelope
                .as_ref()
                .map(|(low, high)| (r, &low[..], &high[..])),
            level: Some(0.0),
            bars: counts.as_ref().map(|counts| Bars {
                name: "pairs",
                edges: &self.edges,
                counts,
            }),
        })
    }
    /// Writes the picture to a `path` that ends with `.svg`, the rows to any other.
    ///
    /// # Errors
    /// Those of [`RipleyAnswer::svg`] and [`RipleyAnswer::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        saved::save(path, how, || self.svg(), || self.write(path, how))
    }
    /// The answer as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let curve = |c: &RipleyCurve| {
            serde_json::json!({
                "from": self.kinds[c.kinds[0]],
                "to": self.kinds[c.kinds[1]],
                "counts": c.counts,
                "k": c.k,
                "l": c.l,
                "g": c.g,
                "k_low": c.k_low,
                "k_high": c.k_high,
                "g_low": c.g_low,
                "g_high": c.g_high,
            })
        };
        serde_json::json!({
            "kinds": self.kinds,
            "sizes": self.sizes,
            "window": self.window,
            "edges": self.edges,
            "theory": self.theory,
            "curves": self.curves.iter().map(curve).collect::<Vec<_>>(),
            "correction": self.correction,
            "simulations": self.simulations,
            "pairs": self.pairs,
            "rule": self.rule(),
        })
    }
}

//! Which kinds occur together: the share of a kind around points of another, over its share around all.
//!
//! ```text
//! n(a, b)      ordered pairs of a point of kind a and one of kind b at a distance in the interval
//! P(b)       = Σ_a n(a, b) / Σ n          P(b | a) = n(a, b) / Σ_b n(a, b)
//! ratio      = P(b | a) / P(b)            0 where either is of no pairs
//! ```
//!
//! This is the ratio of squidpy (`gr.co_occurrence`), which since 2024 (its pull request 816) counts
//! all pairs up to the end of an interval: `cumulative`.

use super::asked::USUAL_BINS;
use super::counts::PairQuestion;
use super::shape::{AskedPoints, PointMarks, PointSet};
use crate::asked_edges::AskedEdges;
use crate::one_table::TableQuestion;
use crate::options::Options;
use crate::saved;
use crate::tables::{JoinedColumn, JoinedRows, SideTable};
use serde::{Deserialize, Serialize};
use zipfold_core::budget::Reservation;
use zipfold_core::{Error, Message, Opt, Result, Words};
use zipfold_io::OutputOptions;
use zipfold_io::rows_write::Cells;

/// Which kinds of points occur together, as a question. Its TOML has the same keys.
///
/// Errors: `Request` for columns that there are not, intervals that mean nothing, and one kind; `Input`
/// for positions that are not finite and points without a kind; `Resource` beyond the budget.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::{Options, Table};
/// use zipfold::internals::pattern::Cooccurrence;
/// let names = ["x", "y", "kind"].map(String::from).to_vec();
/// let cells = vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 9.0, 0.0, 2.0, 9.0, 1.0, 2.0];
/// let cells = Table::f64(4, 3, cells)?.with_names(names)?;
/// let asked = Cooccurrence { max: Some(2.0), bins: Some(1), ..Cooccurrence::new("cells", "kind") };
/// let answer = asked.of_table(cells, &Options::default())?;
/// assert_eq!((answer.ratios(0, 0), answer.ratios(0, 1)), (&[2.0][..], &[0.0][..]));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cooccurrence {
    /// The table.
    pub data: String,
    /// The columns of positions, one to three; by default x, y and z.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// The column of kinds, text or numbers.
    pub labels: String,
    /// The largest distance; by default half of the diagonal of all positions.
    #[serde(default)]
    pub max: Option<f64>,
    /// The number of intervals; 50 by default.
    #[serde(default)]
    pub bins: Option<usize>,
    /// Edges of the intervals instead.
    #[serde(default)]
    pub edges: Option<Vec<f64>>,
    /// Count all pairs up to the end of an interval.
    #[serde(default)]
    pub cumulative: bool,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default)]
    pub header: Option<bool>,
}

/// Which kinds occur together.
///
/// ```
/// use zipfold::internals::pattern::Occurrences;
/// fn attracts(answer: &Occurrences, a: usize, b: usize) -> bool {
///     answer.ratios(a, b)[0] > 1.0
/// }
/// # let _ = attracts;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrences {
    /// The kinds, in ascending order.
    pub kinds: Vec<String>,
    /// Points of each kind.
    pub sizes: Vec<u64>,
    /// Edges of the intervals.
    pub edges: Vec<f64>,
    /// Ordered pairs by first kind, second kind and interval.
    pub all_counts: Vec<u64>,
    /// Ratios by condition, kind and interval.
    pub all_ratios: Vec<f64>,
    /// Whether an interval has all pairs up to its end.
    pub cumulative: bool,
    /// Pairs that were visited.
    pub pairs: u64,
}

impl Cooccurrence {
    /// Co-occurrence of the kinds in a column of `data`, in 50 intervals.
    pub fn new(data: impl Into<String>, labels: impl Into<String>) -> Cooccurrence {
        Cooccurrence {
            data: data.into(),
            columns: None,
            labels: labels.into(),
            max: None,
            bins: None,
            edges: None,
            cumulative: false,
            header: None,
        }
    }
    /// Refuses what means nothing, before a file is opened.
    fn check(&self) -> Result<()> {
        self.asked_edges().check()
    }
    fn asked_edges(&self) -> AskedEdges<'_> {
        AskedEdges {
            edges: self.edges.as_deref(),
            max: self.max,
            bins: self.bins,
            counted: Opt::Bins,
            usual: USUAL_BINS,
        }
    }
    /// The points with what they hold of the budget, and the edges.
    fn points(
        &self,
        side: &SideTable,
        options: &Options<'_>,
    ) -> Result<(PointSet, Reservation, Vec<f64>)> {
        self.check()?;
        let asked = AskedPoints {
            columns: self.columns.as_deref(),
            kinds: Some((&self.labels, Opt::Labels)),
            window: None,
        };
        let (points, held) = PointSet::read(side, asked, &options.budget)?;
        if points.kinds.len() < 2 {
            let e = Error::request("expected two kinds or more, got one").at_place(Opt::Labels);
            return Err(e.remedy("a column whose labels divide the points"));
        }
        let sides = points.sides();
        let diagonal = sides.iter().map(|s| s * s).sum::<f64>().sqrt();
        let edges = self.asked_edges().all(diagonal / 2.0)?;
        Ok((points, held, edges))
    }
    fn question<'a>(&'a self, edges: &'a [f64]) -> PairQuestion<'a> {
        PairQuestion {
            name: &self.data,
            edges,
            beside: None,
            weight: None,
            periodic: None,
            ordered: false,
            wanted: PointMarks::default(),
        }
    }
}

impl TableQuestion for Cooccurrence {
    type Answer = Occurrences;
    fn name(&self) -> &str {
        &self.data
    }
    fn read(&self, options: &Options<'_>) -> Result<SideTable> {
        self.check()?;
        let needed = self.columns.as_ref().map(|columns| {
            let more = Some(&self.labels).filter(|labels| !columns.contains(labels));
            columns.iter().chain(more).cloned().collect()
        });
        SideTable::read(&self.data, self.header, (needed, None), &options.budget)
    }
    fn explain_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Message> {
        let (points, _held, edges) = self.points(side, options)?;
        let plan = self.question(&edges).explain(&points, options)?;
        let text = format!(
            "cooccurrence {} points of {} kinds, {} intervals to {}\n\n{}",
            points.len(),
            points.kinds.len(),
            edges.len() - 1,
            edges[edges.len() - 1],
            plan.marked().trim_end()
        );
        Ok(Message::from(text))
    }
    fn of_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Self::Answer> {
        saved::whole(options, "one run of the whole question, with more threads")?;
        let (points, _held, edges) = self.points(side, options)?;
        let counted = self.question(&edges).counted(&points, options)?;
        let mut counts = counted.counts;
        if self.cumulative {
            for bins in counts.chunks_mut(edges.len() - 1) {
                (1..bins.len()).for_each(|at| bins[at] += bins[at - 1]);
            }
        }
        let all_ratios = ratios(&counts, points.kinds.len(), edges.len() - 1);
        Ok(Occurrences {
            sizes: points.sizes(),
            kinds: points.kinds,
            edges,
            all_counts: counts,
            all_ratios,
            cumulative: self.cumulative,
            pairs: counted.visited,
        })
    }
}

/// Ratios by condition, kind and interval.
fn ratios(counts: &[u64], kinds: usize, bins: usize) -> Vec<f64> {
    let mut out = vec![0.0; counts.len()];
    for bin in 0..bins {
        let count = |a: usize, b: usize| counts[(a * kinds + b) * bins + bin];
        // The same over rows and over columns: every pair is there both ways round.
        let of: Vec<u64> = (0..kinds)
            .map(|a| (0..kinds).map(|b| count(a, b)).sum())
            .collect();
        let all = of.iter().sum::<u64>() as f64;
        for a in (0..kinds).filter(|a| of[*a] > 0) {
            for b in (0..kinds).filter(|b| of[*b] > 0) {
                let given = count(a, b) as f64 / of[a] as f64;
                out[(a * kinds + b) * bins + bin] = given / (of[b] as f64 / all);
            }
        }
    }
    out
}

impl Occurrences {
    fn lines_of(&self, a: usize, b: usize) -> std::ops::Range<usize> {
        let bins = self.edges.len() - 1;
        let at = (a * self.kinds.len() + b) * bins;
        at..at + bins
    }
    /// Ordered pairs of a point of kind `a` and one of kind `b`, by interval.
    #[must_use]
    pub fn counts(&self, a: usize, b: usize) -> &[u64] {
        &self.all_counts[self.lines_of(a, b)]
    }
    /// P(b | a) / P(b) by interval.
    #[must_use]
    pub fn ratios(&self, a: usize, b: usize) -> &[f64] {
        &self.all_ratios[self.lines_of(a, b)]
    }
    /// A row for each condition, kind and interval.
    #[must_use]
    pub fn rows(&self) -> JoinedRows {
        let (kinds, bins) = (self.kinds.len(), self.edges.len() - 1);
        let both = || (0..kinds * kinds).map(|at| (at / kinds, at % kinds));
        let words = |codes: Vec<i64>| {
            let words = Words::from_words("kind", self.kinds.iter().map(String::as_str));
            Cells::Words(words, codes)
        };
        let repeated = |code: usize| std::iter::repeat_n(code as i64, bins);
        let low = match self.cumulative {
            true => vec![self.edges[0]; bins],
            false => self.edges[..bins].to_vec(),
        };
        let columns = vec![
            (
                "condition",
                words(both().flat_map(|(a, _)| repeated(a)).collect()),
            ),
            (
                "kind",
                words(both().flat_map(|(_, b)| repeated(b)).collect()),
            ),
            ("low", Cells::Numbers(low.repeat(kinds * kinds))),
            (
                "high",
                Cells::Numbers(self.edges[1..].repeat(kinds * kinds)),
            ),
            (
                "count",
                Cells::Whole(self.all_counts.iter().map(|n| *n as f64).collect()),
            ),
            ("ratio", Cells::Numbers(self.all_ratios.clone())),
        ];
        let column = |(name, cells): (&str, Cells)| JoinedColumn {
            name: name.to_string(),
            cells,
        };
        JoinedRows {
            rows: (kinds * kinds * bins) as u64,
            columns: columns.into_iter().map(column).collect(),
            pairs: self.pairs,
            rule:
                "ratio = P(kind | condition) / P(kind) over ordered pairs; low <= distance < high"
                    .into(),
        }
    }
    /// Writes the rows in the format of the suffix of `path`; `.npz` has the numbers of kinds.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        self.rows().write_numbered(path, how)
    }
    /// The ratios as the text of an SVG file, for light and dark surroundings: a panel for each of the
    /// first conditions.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        use crate::picture::{MOST_PANELS, Panel, Series, panels_svg};
        let shown = self.kinds.len().min(2 * MOST_PANELS);
        let panel = |a: usize| {
            let line = |b: usize| (self.kinds[b].clone(), self.ratios(a, b).to_vec());
            Panel {
                title: format!("around {}", self.kinds[a]),
                series: Series::Lines((0..self.kinds.len()).map(line).collect()),
                level: 1.0,
            }
        };
        let panels: Vec<Panel> = (0..shown).map(panel).collect();
        let more = match self.kinds.len() - shown {
            0 => String::new(),
            more => format!(", and around {more} more"),
        };
        let title = format!("co-occurrence: P(kind | condition) / P(kind) by distance{more}");
        panels_svg(&title, &self.edges, shown.min(3), &panels)
    }
    /// Writes the picture to a `path` that ends with `.svg`, the rows to any other.
    ///
    /// # Errors
    /// Those of [`Occurrences::svg`] and [`Occurrences::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        saved::save(path, how, || self.svg(), || self.write(path, how))
    }
    /// The answer as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let kinds = self.kinds.len();
        let pair = |at: usize| {
            let (a, b) = (at / kinds, at % kinds);
            serde_json::json!({
                "condition": self.kinds[a],
                "kind": self.kinds[b],
                "counts": self.counts(a, b),
                "ratios": self.ratios(a, b),
            })
        };
        serde_json::json!({
            "kinds": self.kinds,
            "sizes": self.sizes,
            "edges": self.edges,
            "cumulative": self.cumulative,
            "ratios": (0..kinds * kinds).map(pair).collect::<Vec<_>>(),
            "pairs": self.pairs,
        })
    }
}

//! From counts to rates and probabilities, and to rows, files and pictures.

#[cfg(feature = "plot")]
use crate::saved;
use crate::tables::{JoinedColumn, JoinedRows};
use serde::{Deserialize, Serialize};
use zipfold_core::{Result, Words};
use zipfold_io::OutputOptions;
use zipfold_io::rows_write::Cells;

/// What the values of a correlogram are, of N pairs of spikes at a lag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LagUnits {
    /// N.
    #[default]
    Count,
    /// N over the spikes of the reference and the width of a bin: spikes per unit of time around a
    /// spike of the reference.
    Rate,
    /// N over the spikes of the reference: spikes in the bin of a spike of the reference.
    Probability,
}

impl LagUnits {
    /// Its name.
    fn name(self) -> &'static str {
        match self {
            LagUnits::Count => "count",
            LagUnits::Rate => "rate",
            LagUnits::Probability => "probability",
        }
    }
}

/// Correlograms of all pairs of units.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::io::OutputOptions;
/// use zipfold::{Options, Table};
/// use zipfold::internals::correlogram::{Correlogram, Correlograms, LagUnits};
/// let name = |suffix: &str| format!("{}/zipfold-{}-c.{suffix}", std::env::temp_dir().display(), std::process::id());
/// let beats = Table::f64(50, 1, (0..50).map(f64::from).collect())?.with_names(vec!["time".into()])?;
/// let asked = Correlogram { single: true, max: 2.5, bins: 5, normalise: LagUnits::Probability, ..Correlogram::new("beats") };
/// let answer: Correlograms = asked.of_table(beats, &Options::default())?;
/// assert_eq!((answer.values(0, 0)[2], answer.values(0, 0)[3]), (0.0, 49.0 / 50.0));
/// answer.save(&name("csv"), OutputOptions::default())?;
/// answer.save(&name("svg"), OutputOptions::default())?;
/// # ["csv", "svg"].iter().for_each(|suffix| std::fs::remove_file(name(suffix)).expect("the example's file"));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Correlograms {
    /// The edges of the lags.
    pub edges: Vec<f64>,
    /// The units, in ascending order.
    pub units: Vec<String>,
    /// The spikes of each unit.
    pub spikes: Vec<u64>,
    /// The time from the first spike to the last.
    pub span: f64,
    /// What the values are.
    pub normalise: LagUnits,
    /// Pairs of spikes by reference, target and lag.
    pub all_counts: Vec<u64>,
    /// Pairs that were asked about.
    pub pairs: u64,
}

impl Correlograms {
    /// The pairs of a spike of unit `reference` and one of `target` by lag, time of the target less
    /// time of the reference.
    #[must_use]
    pub fn counts(&self, reference: usize, target: usize) -> &[u64] {
        let bins = self.edges.len() - 1;
        let at = (reference * self.units.len() + target) * bins;
        &self.all_counts[at..at + bins]
    }
    /// The values of a pair of units by lag, as they were asked.
    #[must_use]
    pub fn values(&self, reference: usize, target: usize) -> Vec<f64> {
        let spikes = self.spikes[reference] as f64;
        let bins = self
            .counts(reference, target)
            .iter()
            .zip(self.edges.windows(2));
        let value = |(count, edges): (&u64, &[f64])| match self.normalise {
            LagUnits::Count => *count as f64,
            LagUnits::Rate => *count as f64 / (spikes * (edges[1] - edges[0])),
            LagUnits::Probability => *count as f64 / spikes,
        };
        bins.map(value).collect()
    }
    /// The value of a bin in the middle where units have nothing to do with each other, over the
    /// time from the first spike to the last; NaN where that is 0.
    #[must_use]
    pub fn expected(&self, reference: usize, target: usize) -> f64 {
        let same = u64::from(reference == target);
        let others = self.spikes[target].saturating_sub(same) as f64;
        let width = 2.0 * self.edges[self.edges.len() - 1] / (self.edges.len() - 1) as f64;
        let rate = others / self.span;
        let value = match self.normalise {
            LagUnits::Count => self.spikes[reference] as f64 * rate * width,
            LagUnits::Rate => rate,
            LagUnits::Probability => rate * width,
        };
        if value.is_finite() { value } else { f64::NAN }
    }
    /// By lag, its middle.
    #[must_use]
    pub fn lags(&self) -> Vec<f64> {
        self.edges.windows(2).map(|e| 0.5 * (e[0] + e[1])).collect()
    }
    /// A row for each pair of units and lag: the units, the edges of the lag, the count, and the
    /// value where that is not the count.
    #[must_use]
    pub fn rows(&self) -> JoinedRows {
        let (units, bins) = (self.units.len(), self.edges.len() - 1);
        let (mut low, mut high) = (vec![], vec![]);
        let (mut from, mut to) = (vec![], vec![]);
        let (mut counts, mut values) = (vec![], vec![]);
        for reference in 0..units {
            for target in 0..units {
                low.extend(&self.edges[..bins]);
                high.extend(&self.edges[1..]);
                from.extend(std::iter::repeat_n(reference as i64, bins));
                to.extend(std::iter::repeat_n(target as i64, bins));
                let all = self.counts(reference, target).iter();
                counts.extend(all.map(|n| *n as f64));
                values.extend(self.values(reference, target));
            }
        }
        let words = || Words::from_words("unit", self.units.iter().map(String::as_str));
        let mut columns = vec![
            ("reference", Cells::Words(words(), from)),
            ("target", Cells::Words(words(), to)),
            ("low", Cells::Numbers(low)),
            ("high", Cells::Numbers(high)),
            ("count", Cells::Whole(counts)),
        ];
        if self.normalise != LagUnits::Count {
            columns.push((self.normalise.name(), Cells::Numbers(values)));
        }
        let column = |(name, cells): (&str, Cells)| JoinedColumn {
            name: name.to_string(),
            cells,
        };
        JoinedRows {
            rows: (units * units * bins) as u64,
            columns: columns.into_iter().map(column).collect(),
            pairs: self.pairs,
            rule: "lag = time of the target - time of the reference; low <= lag < high; no spike with itself".into(),
        }
    }
    /// Writes a row for each pair of units and lag, in the format of the suffix of `path`; `.npz` has
    /// the numbers of units.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        self.rows().write_numbered(path, how)
    }
    /// The correlograms as the text of an SVG file, for light and dark surroundings: a panel for each
    /// pair of the first units.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        use crate::picture::{MOST_PANELS, Panel, Series, panels_svg};
        let shown = self.units.len().min(MOST_PANELS);
        let mut panels = vec![];
        for reference in 0..shown {
            for target in 0..shown {
                panels.push(Panel {
                    title: format!("{} → {}", self.units[reference], self.units[target]),
                    series: Series::Bars(self.values(reference, target)),
                    level: self.expected(reference, target),
                });
            }
        }
        let more = match self.units.len() - shown {
            0 => String::new(),
            more => format!(", and {more} more units"),
        };
        let title = format!("correlograms: {} by lag{more}", self.normalise.name());
        panels_svg(&title, &self.edges, shown, &panels)
    }
    /// Writes the picture to a `path` that ends with `.svg`, the rows to any other.
    ///
    /// # Errors
    /// Those of [`Correlograms::svg`] and [`Correlograms::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        saved::save(path, how, || self.svg(), || self.write(path, how))
    }
    /// The units with their spikes, their rates, and the lag that most of their own pairs have.
    #[must_use]
    pub fn lines(&self) -> String {
        let lags = self.lags();
        let mut lines = vec![format!(
            "{:>10} {:>10} {:>12}  strongest partner",
            "unit", "spikes", "rate"
        )];
        for (at, unit) in self.units.iter().enumerate().take(20) {
            let rate = self.spikes[at] as f64 / self.span;
            let others = (0..self.units.len()).filter(|other| *other != at);
            let peaks = others.filter_map(|other| {
                let counts = self.counts(at, other).iter().enumerate();
                let (bin, most) = counts.max_by_key(|(_, n)| **n)?;
                Some((*most, other, lags[bin]))
            });
            let told = match peaks.max_by_key(|(most, ..)| *most) {
                Some((most, other, lag)) => {
                    format!("{} at {lag:.6}, {most} pairs", self.units[other])
                }
                None => "none".into(),
            };
            lines.push(format!(
                "{unit:>10} {:>10} {rate:>12.4}  {told}",
                self.spikes[at]
            ));
        }
        lines.join("\n")
    }
    /// The answer as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let units = self.units.len();
        let pair = |at: usize| {
            let (reference, target) = (at / units, at % units);
            serde_json::json!({
                "reference": self.units[reference],
                "target": self.units[target],
                "counts": self.counts(reference, target),
                "values": self.values(reference, target),
                "expected": self.expected(reference, target),
            })
        };
        serde_json::json!({
            "edges": self.edges,
            "units": self.units,
            "spikes": self.spikes,
            "span": self.span,
            "normalise": self.normalise,
            "correlograms": (0..units * units).map(pair).collect::<Vec<_>>(),
            "pairs": self.pairs,
        })
    }
}

//! From sums by lag to variograms with their models, and to columns, files and pictures.

use super::asked::Variogram;
use super::lags::{LagSums, ValuedPlaces, WantedSum};
use super::models::{FitWeights, Fitted, FittedModel, VariogramModel};
use crate::one_table::TableQuestion;
use crate::options::Options;
use crate::saved;
use crate::tables::SideTable;
use zipfold_core::{Error, Message, Opt, Result};
use zipfold_io::{Column, OutputOptions};

/// One estimator, by lag.
///
/// ```
/// use zipfold::internals::variogram::LagCurve;
/// fn far(curve: &LagCurve) -> Option<f64> {
///     curve.values.iter().copied().filter(|v| !v.is_nan()).last()
/// }
/// # let _ = far;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct LagCurve {
    /// The estimator; of two columns of values also what it is of: `matheron zinc*lead`.
    pub name: String,
    /// By lag, the estimate; NaN without pairs.
    pub values: Vec<f64>,
    /// The models, in the order in which they were asked.
    pub models: Vec<FittedModel>,
}

/// The pairs of a direction, by lag.
///
/// ```
/// use zipfold::internals::variogram::Direction;
/// fn pairs(direction: &Direction) -> u64 {
///     direction.counts.iter().sum()
/// }
/// # let _ = pairs;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Degrees clockwise from the second axis; none for all pairs.
    pub azimuth: Option<f64>,
    /// Pairs, each once.
    pub counts: Vec<u64>,
    /// The mean distance of the pairs; NaN without.
    pub distances: Vec<f64>,
    /// The estimators.
    pub curves: Vec<LagCurve>,
}

/// Variograms of a table.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::io::OutputOptions;
/// use zipfold::{Options, Table};
/// use zipfold::internals::variogram::{Variogram, VariogramModel, Variograms};
/// let name = |suffix: &str| format!("{}/zipfold-{}-v.{suffix}", std::env::temp_dir().display(), std::process::id());
/// let rows = (0..40).flat_map(|k| [f64::from(k), f64::from(k).sqrt()]).collect();
/// let line = Table::f64(40, 2, rows)?.with_names(vec!["x".into(), "depth".into()])?;
/// let asked = Variogram { models: vec![VariogramModel::Gaussian], ..Variogram::new("line", ["depth"]) };
/// let answer: Variograms = asked.of_table(line, &Options::default())?;
/// assert_eq!(answer.directions[0].curves[0].models.len(), 1);
/// answer.save(&name("csv"), OutputOptions::default())?;
/// answer.save(&name("svg"), OutputOptions::default())?;
/// # ["csv", "svg"].iter().for_each(|suffix| std::fs::remove_file(name(suffix)).expect("the example's file"));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Variograms {
    /// The edges of the lags.
    pub edges: Vec<f64>,
    /// All pairs, or each direction that was asked.
    pub directions: Vec<Direction>,
    /// The variance of each column of values, over n.
    pub variances: Vec<f64>,
    /// Rows with values.
    pub rows: u64,
    /// Rows that were left out, as they lack a value.
    pub left_out: u64,
    /// Pairs that were visited.
    pub pairs: u64,
    /// The rules, in a line.
    #[doc(hidden)]
    pub rule: String,
}

impl Variogram {
    /// The directions that are asked; one of all pairs without.
    fn directions(&self) -> Vec<Option<f64>> {
        match self.azimuth.is_empty() {
            true => vec![None],
            false => self.azimuth.iter().copied().map(Some).collect(),
        }
    }
    /// A direction with its estimators and their models.
    fn direction(
        &self,
        azimuth: Option<f64>,
        sums: LagSums,
        wanted: &[WantedSum],
    ) -> Result<Direction> {
        let curve = |(wanted, values): (&WantedSum, Vec<f64>)| {
            let fitted = Fitted {
                counts: &sums.counts,
                distances: &sums.distances,
                values: &values,
                is_cross: wanted.is_cross,
            };
            // A covariogram falls where these models rise.
            let models = self.models.iter().filter(|_| wanted.rises());
            let fit = |model: &VariogramModel| {
                let fit = fitted.fit(*model, self.fit_weights.unwrap_or_default());
                fit.ok_or_else(|| too_few_lags(azimuth))
            };
            Ok(LagCurve {
                name: wanted.name.clone(),
                models: models.map(fit).collect::<Result<_>>()?,
                values,
            })
        };
        let curves = wanted.iter().zip(sums.estimates).map(curve);
        Ok(Direction {
            azimuth,
            curves: curves.collect::<Result<_>>()?,
            counts: sums.counts,
            distances: sums.distances,
        })
    }
    /// What the numbers mean, for the comments of a file.
    fn rule(&self, places: &ValuedPlaces) -> String {
        let mut rule =
            "each pair once; lags low <= distance < high, the last one closed".to_string();
        if !self.azimuth.is_empty() {
            rule += &format!("; within {} degrees of a direction", self.tolerance());
        }
        if let Some(bandwidth) = self.bandwidth {
            rule += &format!(" and {bandwidth} of its line");
        }
        if let Some(dip) = self.dip.filter(|dip| *dip != 0.0) {
            rule += &format!(", which points {dip} degrees down");
        }
        if !self.models.is_empty() {
            rule += match self.fit_weights.unwrap_or_default() {
                FitWeights::PairsOverSquare => "; lags weigh count / distance^2 in fits",
                FitWeights::Pairs => "; lags weigh count in fits",
                FitWeights::Equal => "; lags weigh the same in fits",
            };
        }
        if places.left_out > 0 {
            rule += &format!("; {} rows left out", places.left_out);
        }
        rule
    }
}

impl TableQuestion for Variogram {
    type Answer = Variograms;
    fn name(&self) -> &str {
        &self.data
    }
    /// The table: its positions and values, or all of its columns.
    fn read(&self, options: &Options<'_>) -> Result<SideTable> {
        self.check()?;
        let mut needed = self.columns.clone();
        if let Some(columns) = &mut needed {
            let more = self.value.iter().filter(|value| !columns.contains(value));
            let more: Vec<String> = more.cloned().collect();
            columns.extend(more);
        }
        SideTable::read(&self.data, self.header, (needed, None), &options.budget)
    }
    fn explain_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Message> {
        self.check()?;
        let places = self.places(side, &options.budget)?;
        let edges = self.all_edges(places.diagonal)?;
        let mut text = format!(
            "variogram  {} of {} places, {} axes, {} lags to {}\n",
            self.value.join(", "),
            places.rows(),
            places.axes,
            edges.len() - 1,
            edges[edges.len() - 1],
        );
        for azimuth in self.directions() {
            let plan = self.explain_direction(&places, &edges, azimuth, options)?;
            let name = azimuth.map_or("all pairs".into(), |a| format!("direction {a}°"));
            text += &format!("\n{name}:\n{}\n", plan.marked().trim_end());
        }
        Ok(Message::from(text.trim_end().to_string()))
    }
    fn of_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Self::Answer> {
        self.check()?;
        saved::whole(options, "one run of the whole question, with more threads")?;
        let places = self.places(side, &options.budget)?;
        let edges = self.all_edges(places.diagonal)?;
        let wanted = self.wanted();
        let (mut directions, mut pairs) = (vec![], 0);
        for azimuth in self.directions() {
            let sums = self.summed(&places, &edges, azimuth, options)?;
            pairs += sums.visited;
            let direction = self.direction(azimuth, sums, &wanted)?;
            warn(&direction, options);
            directions.push(direction);
        }
        Ok(Variograms {
            rule: self.rule(&places),
            edges,
            directions,
            rows: places.rows() as u64,
            left_out: places.left_out,
            variances: places.variances,
            pairs,
        })
    }
}

/// Tells models whose range is at the end of the search.
fn warn(direction: &Direction, options: &Options<'_>) {
    for curve in &direction.curves {
        for fit in curve.models.iter().filter(|fit| !fit.is_settled) {
            options.warnings.add(format!(
                "{}: the values reach no sill within the lags, so the range and the sill of the {} model are lower ends",
                curve.name,
                fit.model.name()
            ));
        }
    }
}

fn too_few_lags(azimuth: Option<f64>) -> Error {
    let of = azimuth.map_or(String::new(), |a| format!(" of direction {a}"));
    let what = format!("expected at least three lags{of} with pairs to fit a model");
    let e = Error::request(what).at_place(Opt::Models);
    e.remedy("a larger distance, fewer lags, or no model")
}

impl Variograms {
    /// A name of a column: of several directions with the azimuth.
    fn named(&self, what: &str, direction: &Direction) -> String {
        match direction.azimuth {
            Some(azimuth) if self.directions.len() > 1 => format!("{what} {azimuth}°"),
            _ => what.to_string(),
        }
    }
    /// The columns by name: of each direction `count`, `distance`, and each estimator with the
    /// models that were fitted to it.
    #[doc(hidden)]
    pub fn columns(&self) -> Vec<(String, Column<'_>)> {
        let mut columns = vec![];
        for direction in &self.directions {
            let named = |what: &str| self.named(what, direction);
            columns.push((named("count"), Column::U64(&direction.counts)));
            columns.push((named("distance"), Column::F64(&direction.distances)));
            for curve in &direction.curves {
                columns.push((named(&curve.name), Column::F64(&curve.values)));
                for fit in &curve.models {
                    let name = format!("{} {}", curve.name, fit.model.name());
                    columns.push((named(&name), Column::F64(&fit.values)));
                }
            }
        }
        columns
    }
    /// Writes the columns in the format that the suffix of `path` names: the edges `low` and `high`
    /// of each lag, then those of the directions.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        let lags = self.edges.len() - 1;
        let mut columns = vec![
            ("low".to_string(), Column::F64(&self.edges[..lags])),
            ("high".to_string(), Column::F64(&self.edges[1..])),
        ];
        columns.extend(self.columns());
        saved::write(path, &columns, &self.notes(), how)
    }
    /// What is above the columns.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            format!("rule: {}", self.rule),
            format!("rows: {}", self.rows),
        ];
        notes.extend(self.variances.iter().map(|v| format!("variance: {v:?}")));
        notes.extend(self.fits());
        notes
    }
    /// The models, a line each.
    fn fits(&self) -> impl Iterator<Item = String> {
        let curves = self
            .directions
            .iter()
            .flat_map(|direction| direction.curves.iter().map(move |curve| (direction, curve)));
        let fits =
            curves.flat_map(|(d, curve)| curve.models.iter().map(move |fit| (d, curve, fit)));
        fits.map(|(direction, curve, fit)| {
            format!(
                "{}: {}, nugget {:?}, sill {:?}, range {:?}, practical range {:?}",
                self.named(&curve.name, direction),
                fit.model.name(),
                fit.nugget,
                fit.sill,
                fit.range,
                fit.practical_range
            )
        })
    }
    /// The models as lines of text.
    #[must_use]
    pub fn fit_lines(&self) -> String {
        self.fits().collect::<Vec<_>>().join("\n")
    }
    /// The middles of the lags.
    #[must_use]
    pub fn middles(&self) -> Vec<f64> {
        self.edges.windows(2).map(|e| 0.5 * (e[0] + e[1])).collect()
    }
    /// The variograms as the text of an SVG file, for light and dark surroundings: estimators and
    /// models above the counts of their lags.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        use crate::picture::{Bars, CurveStyle, Curves, DrawnCurve, curves_svg};
        let mut curves = vec![];
        for direction in &self.directions {
            for curve in &direction.curves {
                curves.push(DrawnCurve {
                    name: self.named(&curve.name, direction),
                    places: &direction.distances,
                    values: &curve.values,
                    style: match curve.models.is_empty() {
                        true => CurveStyle::Joined,
                        false => CurveStyle::Points,
                    },
                });
                curves.extend(curve.models.iter().map(|fit| DrawnCurve {
                    name: self.named(fit.model.name(), direction),
                    places: &direction.distances,
                    values: &fit.values,
                    style: CurveStyle::Line,
                }));
            }
        }
        let counts = match self.directions.as_slice() {
            [one] => one.counts.iter().map(|n| *n as f64).collect(),
            _ => vec![],
        };
        curves_svg(&Curves {
            title: "variogram",
            axes: ["distance", "semivariance"],
            range: [self.edges[0], self.edges[self.edges.len() - 1]],
            curves: &curves,
            band: None,
            level: (self.variances.len() == 1).then(|| self.variances[0]),
            bars: (!counts.is_empty()).then_some(Bars {
                name: "pairs",
                edges: &self.edges,
                counts: &counts,
            }),
        })
    }
    /// Writes the picture to a `path` that ends with `.svg`, the columns to any other.
    ///
    /// # Errors
    /// Those of [`Variograms::svg`] and [`Variograms::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        saved::save(path, how, || self.svg(), || self.write(path, how))
    }
    /// The answer as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let curve = |curve: &LagCurve| serde_json::json!({"name": curve.name, "values": curve.values, "models": curve.models});
        let direction = |d: &Direction| {
            serde_json::json!({
                "azimuth": d.azimuth,
                "counts": d.counts,
                "distances": d.distances,
                "curves": d.curves.iter().map(curve).collect::<Vec<_>>(),
            })
        };
        serde_json::json!({
            "edges": self.edges,
            "directions": self.directions.iter().map(direction).collect::<Vec<_>>(),
            "variances": self.variances,
            "rows": self.rows,
            "left_out": self.left_out,
            "pairs": self.pairs,
            "rule": self.rule,
        })
    }
}

//! The answer: counts, correlation functions, errors; as columns, files and pictures.

use super::asked::{Estimator, PairCount, Resample, Separation};
use super::catalogue::Catalogues;
use super::counts::CountedTerm;
use super::estimate::{Named, Sums};
use crate::options::Options;
use crate::saved;
use zipfold_core::budget::Reservation;
use zipfold_core::{Budget, Error, Message, Opt, Result};
use zipfold_io::{Column, OutputOptions, write_array};

/// Pairs of two catalogues by bin.
///
/// ```
/// use zipfold::internals::paircount::Term;
/// fn mean_weight(term: &Term, bin: usize) -> f64 {
///     term.sums[bin] / term.counts[bin] as f64
/// }
/// # let _ = mean_weight;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Which catalogues: `DD`, `DR`, `RR`; `D1R2` and so on of two of data; S are shifted randoms.
    pub name: String,
    /// Ordered pairs by bin, so each pair of one catalogue counts twice.
    pub counts: Vec<u64>,
    /// Sums of the weights of these pairs, or the counts.
    pub sums: Vec<f64>,
    /// The sum over all pairs that there are, in bins or not.
    pub total: f64,
}

/// A function of the first axis: ξ, w, wp, a multipole or a wedge; `dd`, the share of all pairs,
/// without an estimator.
///
/// ```
/// use zipfold::internals::paircount::Correlation;
/// fn first(curve: &Correlation) -> String {
///     format!("{} = {} ± {:?}", curve.name, curve.values[0], curve.errors.as_ref().map(|e| e[0]))
/// }
/// # let _ = first;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// Its name.
    pub name: String,
    /// By bin of the first axis.
    pub values: Vec<f64>,
    /// The roots of the diagonal of the covariance, where there are regions.
    pub errors: Option<Vec<f64>>,
}

/// Pairs by separation, and what they make.
///
/// ```
/// use zipfold::internals::paircount::{Catalogues, PairCount, PairCounts};
/// use zipfold::{Options, Table};
/// let names = || ["x", "y", "z"].map(String::from).to_vec();
/// let line = |step: f64| Table::f64(20, 3, (0..20).flat_map(|i| [i as f64 * step, 0.0, 0.0]).collect());
/// let tables = Catalogues {
///     data: line(0.5)?.with_names(names())?,
///     randoms: Some(line(0.53)?.with_names(names())?),
///     ..Catalogues::default()
/// };
/// let asked = PairCount { edges: Some(vec![0.1, 2.0, 4.0]), randoms: Some("randoms".into()), ..PairCount::new("data") };
/// let answer: PairCounts = asked.count(&tables, &Options::default())?;
/// assert_eq!(answer.terms.len(), 3); // DD, DR, RR
/// assert_eq!(answer.curves[0].name, "xi");
/// assert!(answer.svg()?.starts_with("<svg"));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct PairCounts {
    /// Names of the axes: `r`; `rp`, `pi`; `s`, `mu`; `theta`.
    pub axes: Vec<&'static str>,
    /// Their edges; each bin has its lower edge and not its upper one.
    pub edges: Vec<Vec<f64>>,
    /// Pairs of the catalogues, the last axis fastest.
    pub terms: Vec<Term>,
    /// The correlation function of each bin.
    pub xi: Option<Vec<f64>>,
    /// Functions of the first axis.
    pub curves: Vec<Correlation>,
    /// All curves, one after another, of each sample.
    pub samples: Option<Vec<Vec<f64>>>,
    /// The covariance of all curves, one after another.
    pub covariance: Option<Vec<f64>>,
    /// Number of regions.
    pub regions: usize,
    /// Pairs that were visited.
    pub pairs: u64,
    /// The rules, in a line.
    #[doc(hidden)]
    pub rule: String,
}

impl PairCount {
    /// Reads the catalogues and counts their pairs.
    ///
    /// # Errors
    /// Those of [`PairCount::read`] and [`PairCount::count`].
    pub fn run(&self, options: &Options<'_>) -> Result<PairCounts> {
        self.check_all(options)?;
        self.count(&self.read(&options.budget)?, options)
    }
    /// Counts the pairs of `tables`, which the question names.
    ///
    /// # Errors
    /// `Request` for edges, boxes and estimators that mean nothing together; `Input` for positions,
    /// angles, weights and regions that are none, with the row; `Resource` beyond the budget.
    pub fn count(&self, tables: &Catalogues, options: &Options<'_>) -> Result<PairCounts> {
        self.check_all(options)?;
        let edges = self.all_edges()?;
        let prepared = self.prepare(tables, &options.budget)?;
        let dims = prepared.all().map(|c| c.table.cols()).next().unwrap_or(3);
        self.check_box(&edges, dims)?;
        let estimator = self.chosen();
        let terms: Vec<CountedTerm> = self
            .terms(estimator)
            .into_iter()
            .map(|sides| self.counted(&edges, sides, &prepared, options))
            .collect::<Result<_>>()?;
        let made = Making {
            asked: self,
            estimator,
            edges: &edges,
            expected: self.expected(&edges, dims)?,
        };
        let sums: Sums = terms.iter().map(|t| (t.sides, t.sums.clone())).collect();
        let (xi, curves) = made.curves(&sums);
        let length: usize = curves.iter().map(|curve| curve.values.len()).sum();
        let _held = self.reserve_samples(length, prepared.regions, &options.budget)?;
        let samples = (prepared.regions > 0)
            .then(|| self.sampled(&terms, prepared.regions, &|sums| made.joined(sums)));
        let covariance = samples.as_ref().map(|samples| self.covariance(samples));
        Ok(PairCounts {
            axes: self.separation.axes().to_vec(),
            edges: edges.iter().map(|e| shown(self.separation, e)).collect(),
            pairs: terms.iter().map(|term| term.visited).sum(),
            terms: terms.into_iter().map(|term| self.term(term)).collect(),
            xi: estimator.map(|_| xi),
            curves: with_errors(curves, covariance.as_deref()),
            samples,
            covariance,
            regions: prepared.regions,
            rule: self.rule(estimator),
        })
    }
    /// The memory of the samples of curves of `length` numbers, and of their covariance.
    fn reserve_samples(
        &self,
        length: usize,
        regions: usize,
        budget: &Budget,
    ) -> Result<Option<[Reservation; 2]>> {
        if regions == 0 {
            return Ok(None);
        }
        let numbers = |rows: usize| (rows as u64).saturating_mul(length as u64 * 8);
        Ok(Some([
            budget.reserve(numbers(self.sample_count(regions)), "the samples")?,
            budget.reserve(numbers(length), "the covariance")?,
        ]))
    }
    fn term(&self, counted: CountedTerm) -> Term {
        let mut sums = counted.sums;
        let total = sums.pop().unwrap_or(0.0);
        Term {
            name: self.name(counted.sides),
            counts: counted.counts,
            sums,
            total,
        }
    }
    /// Refuses everything that can be refused before a file is opened.
    fn check_all(&self, options: &Options<'_>) -> Result<()> {
        saved::whole(
            options,
            "one run of the whole question, with more threads or a device",
        )?;
        self.check()?;
        self.check_curves()?;
        self.all_edges().map(|_| ())
    }
    /// Says how each term would be counted.
    ///
    /// # Errors
    /// Those of [`PairCount::run`].
    pub fn explain(&self, options: &Options<'_>) -> Result<Message> {
        self.check_all(options)?;
        self.explain_tables(&self.read(&options.budget)?, options)
    }
    /// Says how each term of `tables` would be counted.
    ///
    /// # Errors
    /// Those of [`PairCount::count`].
    pub fn explain_tables(&self, tables: &Catalogues, options: &Options<'_>) -> Result<Message> {
        self.check_all(options)?;
        let (edges, prepared) = (self.all_edges()?, self.prepare(tables, &options.budget)?);
        let mut text = format!("paircount  {}\n", self.rule(self.chosen()));
        for sides in self.terms(self.chosen()) {
            let plan = self.explain_term(&edges, sides, &prepared, options)?;
            text += &format!("\n{}:\n{}\n", self.name(sides), plan.marked().trim_end());
        }
        Ok(Message::from(text.trim_end().to_string()))
    }
    /// What the numbers mean, in a line.
    fn rule(&self, estimator: Option<Estimator>) -> String {
        let made = match estimator {
            None => "counts alone",
            Some(Estimator::Natural) if self.randoms.is_none() => {
                "DD / RR - 1, RR of the periodic box"
            }
            Some(Estimator::Natural) => "DD / RR - 1",
            Some(Estimator::LandySzalay) => "(DD - DR - RD + RR) / RR",
            Some(Estimator::DavisPeebles) => "DD / DR - 1",
            Some(Estimator::Hamilton) => "DD RR / (DR RD) - 1",
        };
        let errors = match (&self.regions, self.resample) {
            (None, _) => "",
            (_, Resample::Jackknife) => "; errors of a jackknife over regions",
            (_, Resample::Bootstrap) => "; errors of a bootstrap over regions",
        };
        format!("{made}; pairs from both sides; bins half-open{errors}")
    }
}

/// What makes curves of sums.
struct Making<'a> {
    asked: &'a PairCount,
    estimator: Option<Estimator>,
    edges: &'a [Vec<f64>],
    /// The share of all pairs in each bin of a periodic box.
    expected: Option<Vec<f64>>,
}

impl Making<'_> {
    /// ξ of each bin, and the functions of the first axis.
    fn curves(&self, sums: &Sums) -> (Vec<f64>, Vec<Named>) {
        let (asked, estimator) = (self.asked, self.estimator);
        let xi = asked.correlation(estimator, sums, self.expected.as_deref());
        let curves = asked.curves(&xi, self.edges, estimator.is_some());
        (xi, curves)
    }
    /// The values of all curves, one after another.
    fn joined(&self, sums: &Sums) -> Vec<f64> {
        let curves = self.curves(sums).1.into_iter();
        curves.flat_map(|curve| curve.values).collect()
    }
}

/// Edges as they are shown: μ ends with 1.
fn shown(separation: Separation, edges: &[f64]) -> Vec<f64> {
    match separation {
        Separation::Smu if edges.last().is_some_and(|e| *e == 1.0f64.next_up()) => {
            edges.iter().map(|e| e.min(1.0)).collect()
        }
        Separation::R | Separation::RpPi | Separation::Smu | Separation::Theta => edges.to_vec(),
    }
}

fn with_errors(curves: Vec<Named>, covariance: Option<&[f64]>) -> Vec<Correlation> {
    let length: usize = curves.iter().map(|curve| curve.values.len()).sum();
    let mut first = 0;
    let mut one = |curve: Named| {
        let places = first..first + curve.values.len();
        first = places.end;
        let errors = covariance.map(|c| places.map(|at| c[at * length + at].sqrt()).collect());
        Correlation {
            name: curve.name,
            values: curve.values,
            errors,
        }
    };
    curves.into_iter().map(&mut one).collect()
}

/// Columns of a table that are made for it.
type Made = Vec<(String, Vec<f64>)>;

impl PairCounts {
    /// Lower and upper edges of axis `at`, for each line of a table of the first `axes`.
    fn edge_columns(&self, axes: usize) -> Made {
        let shape: Vec<usize> = self.edges[..axes].iter().map(|e| e.len() - 1).collect();
        let lines: usize = shape.iter().product();
        let mut made = vec![];
        for (axis, bins) in shape.iter().enumerate() {
            let faster: usize = shape[axis + 1..].iter().product();
            for (what, upper) in [("low", 0), ("high", 1)] {
                let edge = |line: usize| self.edges[axis][line / faster % bins + upper];
                let name = match axis {
                    0 => what.to_string(),
                    _ => format!("{what} {}", self.axes[axis]),
                };
                made.push((name, (0..lines).map(edge).collect()));
            }
        }
        made
    }
    /// Middles of the bins of the first axis.
    #[must_use]
    pub fn middles(&self) -> Vec<f64> {
        self.edges[0]
            .windows(2)
            .map(|e| 0.5 * (e[0] + e[1]))
            .collect()
    }
    /// The counts by name, in the table of all bins.
    fn count_columns(&self) -> Vec<(String, Column<'_>)> {
        let mut columns = vec![];
        for term in &self.terms {
            columns.push((format!("{} count", term.name), Column::U64(&term.counts)));
            columns.push((term.name.clone(), Column::F64(&term.sums)));
        }
        if let (Some(xi), true) = (&self.xi, self.edges.len() > 1) {
            columns.push(("xi".to_string(), Column::F64(xi)));
        }
        columns
    }
    /// Writes the functions of the first axis, with their errors and, of one axis, the counts; of
    /// two axes without an estimator the counts. The suffix of `path` names the format.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, options: OutputOptions) -> Result<()> {
        if self.edges.len() > 1 && self.xi.is_none() {
            return self.write_counts(path, options);
        }
        let (edges, middles) = (self.edge_columns(1), self.middles());
        let mut columns = vec![(self.axes[0].to_string(), Column::F64(&middles))];
        columns.extend(edges.iter().map(|(name, v)| (name.clone(), Column::F64(v))));
        for curve in &self.curves {
            columns.push((curve.name.clone(), Column::F64(&curve.values)));
            if let Some(errors) = &curve.errors {
                columns.push((format!("{} error", curve.name), Column::F64(errors)));
            }
        }
        if self.edges.len() == 1 {
            columns.extend(self.count_columns());
        }
        saved::write(path, &columns, &self.notes(), options)
    }
    /// Writes the counts of all bins.
    ///
    /// # Errors
    /// Those of [`PairCounts::write`].
    pub fn write_counts(&self, path: &str, options: OutputOptions) -> Result<()> {
        let edges = self.edge_columns(self.edges.len());
        let mut columns: Vec<(String, Column<'_>)> = edges
            .iter()
            .map(|(name, v)| (name.clone(), Column::F64(v)))
            .collect();
        columns.extend(self.count_columns());
        saved::write(path, &columns, &self.notes(), options)
    }
    /// Writes the covariance of all curves, as a matrix: .npy, .csv or .tsv.
    ///
    /// # Errors
    /// `Request` without regions; those of [`PairCounts::write`].
    pub fn write_covariance(&self, path: &str, options: OutputOptions) -> Result<()> {
        let covariance = self.covariance.as_ref().ok_or_else(no_regions)?;
        let length = self.length();
        write_array(path, &[length, length], Column::F64(covariance), options)
    }
    /// Writes the map of the covariance to a `path` that ends with `.svg`, the matrix to any other.
    ///
    /// # Errors
    /// Those of [`PairCounts::covariance_svg`] and [`PairCounts::write_covariance`].
    #[cfg(feature = "plot")]
    pub fn save_covariance(&self, path: &str, options: OutputOptions) -> Result<()> {
        let svg = || self.covariance_svg();
        saved::save(path, options, svg, || self.write_covariance(path, options))
    }
    /// Writes the curves of each sample, a row each: .npy, .csv or .tsv.
    ///
    /// # Errors
    /// `Request` without regions; those of [`PairCounts::write`].
    pub fn write_samples(&self, path: &str, options: OutputOptions) -> Result<()> {
        let samples = self.samples.as_ref().ok_or_else(no_regions)?;
        let all = samples.concat();
        let shape = [samples.len(), self.length()];
        write_array(path, &shape, Column::F64(&all), options)
    }
    /// Numbers of all curves.
    fn length(&self) -> usize {
        self.curves.iter().map(|curve| curve.values.len()).sum()
    }
    /// What is above the columns.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!("rule: {}", self.rule)];
        let totals = self.terms.iter();
        notes.extend(totals.map(|term| format!("total {}: {:?}", term.name, term.total)));
        if self.regions > 0 {
            notes.push(format!("regions: {}", self.regions));
        }
        notes
    }
    /// The answer as JSON.
    pub fn json(&self) -> serde_json::Value {
        let term = |t: &Term| serde_json::json!({"name": t.name, "counts": t.counts, "sums": t.sums, "total": t.total});
        let curve = |c: &Correlation| serde_json::json!({"name": c.name, "values": c.values, "errors": c.errors});
        let terms: Vec<serde_json::Value> = self.terms.iter().map(term).collect();
        let curves: Vec<serde_json::Value> = self.curves.iter().map(curve).collect();
        serde_json::json!({
            "axes": self.axes,
            "edges": self.edges,
            "terms": terms,
            "xi": self.xi,
            "curves": curves,
            "regions": self.regions,
            "covariance": self.covariance,
            "samples": self.samples,
            "pairs": self.pairs,
            "rule": self.rule,
        })
    }
    /// Returns the curves times the power of the first axis that is usual (r² ξ, rp wp, s² ξℓ; w of
    /// angles as it is) with their errors, as the text of an SVG file.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        let (axis, power) = match (self.axes[0], self.xi.is_some()) {
            (axis, false) => (axis, 0),
            ("rp", true) => ("rp", 1),
            ("theta", true) => ("theta", 0),
            (axis, true) => (axis, 2),
        };
        let curves: Vec<crate::picture::ErrorCurve<'_>> = self
            .curves
            .iter()
            .map(|c| (c.name.as_str(), c.values.as_slice(), c.errors.as_deref()))
            .collect();
        crate::picture::correlation_svg((axis, power), &self.middles(), &curves)
    }
    /// Returns the correlation matrix of all curves as a map, as the text of an SVG file.
    ///
    /// # Errors
    /// `Request` without regions; `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn covariance_svg(&self) -> Result<String> {
        let covariance = self.covariance.as_ref().ok_or_else(no_regions)?;
        crate::picture::covariance_svg(covariance, self.length())
    }
    /// Writes the picture to a `path` that ends with `.svg`, the columns to any other.
    ///
    /// # Errors
    /// Those of [`PairCounts::svg`] and [`PairCounts::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, options: OutputOptions) -> Result<()> {
        saved::save(path, options, || self.svg(), || self.write(path, options))
    }
}

fn no_regions() -> Error {
    Error::request("expected regions for a covariance, got none")
        .at_place(Opt::Regions)
        .remedy(Opt::Regions.to(100))
}

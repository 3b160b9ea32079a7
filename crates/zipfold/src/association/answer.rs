//! The answer: edges, fits of powers, what was left out.

use super::asked::{Association, Measure};
use super::expression::Expression;
use super::measures::{Measured, Pair};
use super::scale_free::ScaleFree;
use super::sweep::Swept;
use crate::options::Options;
use crate::query::Query;
use crate::saved;
use zipfold_core::budget::human_bytes;
use zipfold_core::figures::grouped;
use zipfold_core::number::pow;
use zipfold_core::{Message, Result, Words};

/// Edges, in the order of their rows.
///
/// ```
/// use zipfold::internals::association::Edges;
/// fn strongest(edges: &Edges) -> Option<(i64, i64)> {
///     let by_value = |a: &usize, b: &usize| edges.values[*a].total_cmp(&edges.values[*b]);
///     (0..edges.i.len()).max_by(by_value).map(|at| (edges.i[at], edges.j[at]))
/// }
/// # let _ = strongest;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edges {
    /// The first row of each edge.
    pub i: Vec<i64>,
    /// The second row, after the first one.
    pub j: Vec<i64>,
    /// Values of the measure.
    pub values: Vec<f64>,
    /// Samples that both rows have.
    pub counts: Vec<u64>,
    /// p-values; none of mutual information without permutations.
    pub p: Option<Vec<f64>>,
    /// The least false discovery rate at which an edge is a discovery, where one is asked.
    pub q: Option<Vec<f64>>,
    /// Powers of values, where one is asked.
    pub weights: Option<Vec<f64>>,
}

/// Rows that go together.
///
/// ```
/// use zipfold::internals::association::{Association, AssociationNetwork, Expression};
/// use zipfold::{Options, Table};
/// let asked = Association { fdr: Some(0.05), ..Association::new("genes") };
/// let line = |slope: f64| (0..20).map(move |s| slope * s as f64 + (s * s % 7) as f64);
/// let table = Table::f64(3, 20, line(1.0).chain(line(-2.0)).chain(line(0.0)).collect())?;
/// let options = Options::default();
/// let rows = Expression::new(&table, &asked, &options.budget)?;
/// let network: AssociationNetwork = asked.network(&rows, &options)?;
/// assert_eq!((network.tested, network.edges.i.len()), (3, 1));
/// // SciPy: scipy.stats.false_discovery_control of the three p-values.
/// assert!(network.edges.q.as_ref().is_some_and(|q| (q[0] - 2.87645703e-9).abs() < 1e-16));
/// assert_eq!(network.degrees(), [1, 1, 0]);
/// assert!(network.svg()?.starts_with("<svg"));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct AssociationNetwork {
    /// Names of the rows.
    pub names: Words,
    /// Number of samples.
    pub samples: usize,
    /// The measure.
    pub measure: Measure,
    /// The edges that are kept.
    pub edges: Edges,
    /// Pairs that have a value, from which false discovery rates are counted.
    pub tested: u64,
    /// Rows that never vary, and so have no edges.
    pub constant: usize,
    /// Fits of powers to a scale-free network.
    pub fits: Vec<ScaleFree>,
    /// The power of weights.
    pub power: Option<f64>,
    /// Pairs that were computed, in all sweeps.
    pub pairs: u64,
    /// The rules, in a line.
    #[doc(hidden)]
    pub rule: String,
}

impl AssociationNetwork {
    /// Edges of each row.
    #[must_use]
    pub fn degrees(&self) -> Vec<u64> {
        let mut degrees = vec![0; self.names.rows()];
        for row in self.edges.i.iter().chain(&self.edges.j) {
            degrees[*row as usize] += 1;
        }
        degrees
    }
}

impl Association {
    /// Reads the table and finds the network.
    ///
    /// # Errors
    /// Those of [`Expression::read`] and [`Association::network`].
    pub fn run(&self, options: &Options<'_>) -> Result<AssociationNetwork> {
        self.check_all(options)?;
        self.network(&Expression::read(self, &options.budget)?, options)
    }
    /// Finds the network of `rows`.
    ///
    /// # Errors
    /// `Request` for options that mean nothing together, and for a device that cannot compute the
    /// measure; `Resource` for more edges than the memory holds; `Interrupted`.
    pub fn network(&self, rows: &Expression, options: &Options<'_>) -> Result<AssociationNetwork> {
        self.check_all(options)?;
        self.warn(rows, options);
        let swept = self.sweep(rows, options)?;
        Ok(AssociationNetwork {
            names: rows.names.clone(),
            samples: rows.samples,
            measure: self.measure,
            edges: self.edges(&swept),
            tested: swept.tested,
            constant: rows.constant(),
            power: swept.power,
            pairs: swept.visited,
            fits: swept.fits,
            rule: self.rule(),
        })
    }
    fn edges(&self, swept: &Swept) -> Edges {
        let pairs = &swept.pairs;
        let weight = |power: f64| {
            let one = |pair: &Pair| pow(self.sign.base(pair.value), power);
            pairs.iter().map(one).collect()
        };
        Edges {
            i: pairs.iter().map(|pair| pair.i as i64).collect(),
            j: pairs.iter().map(|pair| pair.j as i64).collect(),
            values: pairs.iter().map(|pair| pair.value).collect(),
            counts: pairs.iter().map(|pair| u64::from(pair.count)).collect(),
            p: swept.p.clone(),
            q: swept.q.clone(),
            weights: swept.power.map(weight),
        }
    }
    /// Tells of rows that have no edges.
    pub(super) fn warn(&self, rows: &Expression, options: &Options<'_>) {
        let constant = rows.constant();
        if constant > 0 {
            let told = match constant {
                1 => "1 row never varies".to_string(),
                _ => format!("{constant} rows never vary"),
            };
            options.warnings.add(format!("{told}: no edges"));
        }
        let short = rows.varies.iter().filter(|fine| !**fine).count() - constant.min(rows.rows());
        if short > 0 {
            let least = self.min_periods;
            options.warnings.add(format!(
                "{} fewer than {least} values: no edges",
                if short == 1 {
                    "1 row has".to_string()
                } else {
                    format!("{short} rows have")
                }
            ));
        }
    }
    /// Refuses everything that can be refused before a file is opened.
    pub(super) fn check_all(&self, options: &Options<'_>) -> Result<()> {
        saved::whole(options, "one run over all pairs, with more threads")?;
        self.check()
    }
    /// Says how the pairs would be computed.
    ///
    /// # Errors
    /// Those of [`Association::run`].
    pub fn explain(&self, options: &Options<'_>) -> Result<Message> {
        self.check_all(options)?;
        self.explain_rows(&Expression::read(self, &options.budget)?, options)
    }
    /// The sweeps, in words.
    fn sweeps(&self) -> String {
        match (self.fdr.is_some(), self.permutations) {
            (false, 0) => "one sweep".to_string(),
            (true, 0) => "two sweeps: counts by evidence, then edges".to_string(),
            (true, count) => format!("two sweeps, the first with {count} permutations"),
            (false, count) => format!("one sweep with {count} permutations"),
        }
    }
    /// Says how the pairs of `rows` would be computed.
    ///
    /// # Errors
    /// Those of [`Association::network`].
    pub fn explain_rows(&self, rows: &Expression, options: &Options<'_>) -> Result<Message> {
        self.check_all(options)?;
        let measured = Measured::new(self, rows, options)?;
        let n = rows.rows();
        let height = measured.height();
        let strips = n.div_ceil(height);
        let pairs = grouped((n as u64) * (n as u64).saturating_sub(1) / 2);
        let sweeps = self.sweeps();
        let mut text = format!(
            "network  {}\n  rows    {} by {} samples, {} values missing\n  pairs   {pairs}, in {strips} strips of {height} rows ({} each)\n  sweeps  {sweeps}\n  by      {}\n",
            self.rule(),
            grouped(n as u64),
            grouped(rows.samples() as u64),
            grouped(rows.missing() as u64),
            human_bytes(measured.bytes()),
            measured.how(),
        );
        if n > 0
            && let Some((problem, data)) = measured.question(0..height)?
        {
            let plan = Query::new(&problem, &data, options).explain()?.text(false);
            text += &format!("\na strip:\n{}\n", plan.marked().trim_end());
        }
        Ok(Message::from(text.trim_end().to_string()))
    }
}

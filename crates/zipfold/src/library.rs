//! The short way in from Rust: `pairs(&a).with(&b).metric("cityblock").matrix()`.

use crate::options::Options;
use crate::outcome::{Outcome, Output};
use crate::query::{Answer, Query};
use zipfold_core::data::Data;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Fold, ReduceOp, State};
use zipfold_core::pair::parse::Param;
use zipfold_core::param_axis::ParamAxis;
use zipfold_core::problem::{AxisSpec, FoldSpec, Input, PairSpec, Problem};
use zipfold_core::{Domain, Error, Job, Result, Table};

/// A question about all pairs of rows, under construction.
///
/// ```
/// use zipfold::problem::{Domain, FoldSpec, ReduceOp};
/// use zipfold::{Options, Table, pairs};
/// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
/// let y = Table::f64(1, 1, vec![2.0])?;
/// assert_eq!(pairs(&x).with(&y).metric("cityblock").matrix()?, [2.0, 1.0, 1.0]);
/// assert_eq!(pairs(&x).formula("k * abs(x[0] - y[0])").param("k", 10.0).condensed()?, [10.0, 30.0, 20.0]);
/// assert_eq!(pairs(&x).periodic(&[4.0]).condensed()?, [1.0, 1.0, 2.0]);
/// assert_eq!(pairs(&x).domain(Domain::Triangle).histogram(3, 0.0, 3.0)?, [0, 1, 2]);
/// assert_eq!(pairs(&x).rows(ReduceOp::Max)?, [3.0, 2.0, 3.0]);
/// let (rows, distances) = pairs(&x).domain(Domain::Ordered).nearest(1)?;
/// assert_eq!((rows, distances), (vec![1, 0, 1], vec![1.0, 1.0, 2.0]));
/// // Several folds, and options of the run.
/// let question = pairs(&x).fold(FoldSpec::Matrix {}).fold(FoldSpec::Nearest { k: 1, largest: None });
/// let options = Options { threads: 1, ..Options::default() };
/// assert!(question.query(&options).explain()?.seconds() > 0.0);
/// assert_eq!(question.run(&options)?.outcome.outputs.len(), 2);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[must_use = "a question does nothing until it is run"]
#[derive(Clone, Debug)]
pub struct Pairs {
    problem: Problem,
    data: Data,
}

/// All pairs of rows of `x`; add [`Pairs::with`] for pairs of rows of two tables.
///
/// ```
/// let x = zipfold::Table::f64(2, 1, vec![0.0, 2.0])?;
/// assert_eq!(zipfold::pairs(&x).matrix()?, [0.0, 2.0, 2.0, 0.0]);
/// # Ok::<(), zipfold::Error>(())
/// ```
pub fn pairs(x: &Table) -> Pairs {
    let input = |name: &str| Input::named(name);
    let problem = Problem::new(input("x"), PairSpec::default(), vec![]);
    Pairs {
        problem,
        data: Data {
            pairs: None,
            x: x.clone(),
            y: None,
            weights: vec![],
        },
    }
}

impl Pairs {
    /// Pairs of a row of x with a row of `y`.
    pub fn with(mut self, y: &Table) -> Self {
        self.problem.y = Some(Input::named("y"));
        self.data.y = Some(y.clone());
        self
    }
    /// The pair is a named metric.
    pub fn metric(mut self, name: &str) -> Self {
        self.problem.pair.metric = Some(name.into());
        self
    }
    /// The pair is a formula.
    pub fn formula(mut self, text: &str) -> Self {
        self.problem.pair.formula = Some(text.into());
        self
    }
    /// Binds a number of the formula or metric.
    pub fn param(mut self, name: &str, value: f64) -> Self {
        self.problem
            .pair
            .params
            .insert(name.into(), Param::Number(value));
        self
    }
    /// Puts the rows into a periodic box: lengths, or lengths and angles in degrees.
    pub fn periodic(mut self, periodic_box: &[f64]) -> Self {
        self.problem.periodic_box = Some(periodic_box.to_vec());
        self
    }
    /// Visits these pairs instead of the ones that the fold suggests.
    pub fn domain(mut self, domain: Domain) -> Self {
        self.problem.domain = Some(domain);
        self
    }
    /// Keeps the results of groups of rows apart, by a column of labels or numbers.
    ///
    /// ```
    /// use zipfold::problem::{AxisSpec, Closed, FoldSpec};
    /// use zipfold::{Options, Table, pairs};
    /// let kinds = Table::f64(3, 1, vec![1.0, 8.0, 1.0])?.with_names(vec!["kind".into()])?;
    /// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?.with_attributes(kinds)?;
    /// let nearest = FoldSpec::Nearest { k: 1, largest: None };
    /// let (question, options) = (pairs(&x).by("kind").fold(nearest), Options::default());
    /// let answer = question.run(&options)?;
    /// // Three rows, each with the nearest of two groups.
    /// assert_eq!(answer.columns(0)?.map(|columns| columns.shape), Some(vec![3, 2, 1]));
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn by(mut self, column: &str) -> Self {
        self.problem.by = Some(column.into());
        self
    }
    /// Visits only pairs of rows with the same key (`same:COLUMN`) or another one (`other:COLUMN`);
    /// `same` and `other` alone are about the groups. `band:ROWS` keeps |i − j| up to a number of rows,
    /// `window:COLUMN:WIDTH` differences of a sorted column up to a width, `earlier` j < i. ` and `
    /// joins conditions.
    ///
    /// ```
    /// use zipfold::problem::FoldSpec;
    /// use zipfold::{Options, Table, pairs};
    /// let samples = Table::f64(4, 1, vec![1.0, 1.0, 2.0, 2.0])?.with_names(vec!["sample".into()])?;
    /// let x = Table::f64(4, 1, vec![0.0, 1.0, 3.0, 3.5])?.with_attributes(samples)?;
    /// let nearest = FoldSpec::Nearest { k: 1, largest: None };
    /// let (question, options) = (pairs(&x).within("same:sample").fold(nearest), Options::default());
    /// assert_eq!(question.run(&options)?.outcome.pairs, 4);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn within(mut self, condition: &str) -> Self {
        self.problem.within = Some(condition.into());
        self
    }
    /// Asks the question of the rows of each key of `column` alone; the answers follow one another in
    /// the order of keys. Of two tables, of equal keys.
    ///
    /// ```
    /// let frames = zipfold::Table::f64(4, 1, vec![7.0, 7.0, 8.0, 8.0])?;
    /// let frames = frames.with_names(vec!["frame".into()])?;
    /// let x = zipfold::Table::f64(4, 1, vec![0.0, 1.0, 3.0, 5.0])?.with_attributes(frames)?;
    /// assert_eq!(zipfold::pairs(&x).batch("frame").condensed()?, [1.0, 2.0]);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn batch(mut self, column: &str) -> Self {
        self.problem.batch = Some(column.into());
        self
    }
    /// Visits the pairs in the rows of `table` alone: a row of x and a row of y (of x, without y) in
    /// each, from 0. A pair counts as often as it is listed, for its row of x; the matrix is a value
    /// for each pair, in the order of the list.
    ///
    /// ```
    /// let x = zipfold::Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// let bonds = zipfold::Table::f64(2, 2, vec![2.0, 0.0, 0.0, 1.0])?;
    /// assert_eq!(zipfold::pairs(&x).listed(&bonds).matrix()?, [3.0, 1.0]);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn listed(mut self, table: &Table) -> Self {
        self.problem.pairs = Some(Input::named("pairs"));
        self.data.pairs = Some(table.clone());
        self
    }
    /// Asks the question for each of some values of a parameter, in one sweep; answers have one more
    /// axis.
    ///
    /// ```
    /// use zipfold::problem::{FoldSpec, ReduceAxis, ReduceOp};
    /// let x = zipfold::Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// let sum = FoldSpec::Reduce { op: ReduceOp::Sum, axis: ReduceAxis::Row, weights: None };
    /// let question = zipfold::pairs(&x).formula("h * norm(x - y)").param_axis("h", &[1.0, 10.0]).fold(sum);
    /// let options = zipfold::Options::default();
    /// let answer = question.run(&options)?;
    /// let columns = answer.columns(0)?.expect("sums");
    /// assert_eq!(columns.shape, [3, 2]);
    /// assert_eq!(columns.all(&columns.columns[0]).get(1), 40.0);
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn param_axis(mut self, name: &str, values: &[f64]) -> Self {
        self.problem.param = Some(ParamAxis {
            name: name.into(),
            values: values.to_vec(),
        });
        self
    }
    /// Folds the results of rows once more: their `sum`, `mean`, `min`, `max`, `median` or
    /// `quantile:Q`.
    ///
    /// ```
    /// use zipfold::problem::FoldSpec;
    /// let x = zipfold::Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
    /// let nearest = FoldSpec::Nearest { k: 1, largest: None };
    /// let (question, options) = (zipfold::pairs(&x).fold(nearest).then("max"), zipfold::Options::default());
    /// let answer = question.run(&options)?;
    /// let columns = answer.columns(0)?.expect("the row that is farthest from its nearest");
    /// let numbers: Vec<f64> = columns.columns.iter().map(|c| columns.all(c).get(0)).collect();
    /// assert_eq!(numbers, [2.0, 1.0, 2.0]); // row 2, whose nearest is row 1
    /// # Ok::<(), zipfold::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn then(mut self, what: &str) -> Self {
        self.problem.then = Some(what.into());
        self
    }
    /// Adds a fold.
    pub fn fold(mut self, fold: FoldSpec) -> Self {
        self.problem.folds.push(fold);
        self.data.weights.push(None);
        self
    }
    /// The problem so far.
    #[doc(hidden)]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
    /// The question, to be explained or run with `options`.
    pub fn query<'a>(&'a self, options: &'a Options<'a>) -> Query<'a> {
        Query::new(&self.problem, &self.data, options)
    }
    /// Runs all folds in one sweep.
    ///
    /// # Errors
    /// Those of [`Query::run`].
    pub fn run<'a>(&'a self, options: &'a Options<'a>) -> Result<Answer<'a>> {
        self.query(options).run()
    }
    /// Runs all folds with the options that are usual.
    fn answered(&self) -> Result<(Job, Outcome)> {
        if self.problem.param.is_some() || self.problem.then.is_some() {
            let what = "expected a question with plain numbers, got one with an axis of values or a second stage";
            return Err(Error::request(what).remedy("run it, and take the columns of the answer"));
        }
        let options = Options::default();
        let answer = self.run(&options)?;
        Ok((answer.job, answer.outcome))
    }
    /// The n × m matrix, row-major.
    ///
    /// # Errors
    /// Those of [`Query::run`].
    pub fn matrix(self) -> Result<Vec<f64>> {
        dense(self.fold(FoldSpec::Matrix {}))
    }
    /// SciPy's condensed order of i < j.
    ///
    /// # Errors
    /// Those of [`Query::run`].
    pub fn condensed(self) -> Result<Vec<f64>> {
        dense(self.fold(FoldSpec::Condensed {}))
    }
    /// Counts of `bins` uniform bins from `lo` to `hi` (last edge closed).
    ///
    /// # Errors
    /// Those of [`Query::run`].
    pub fn histogram(self, bins: usize, lo: f64, hi: f64) -> Result<Vec<u64>> {
        let axis = AxisSpec {
            bins: Some(bins),
            range: Some([lo, hi]),
            ..AxisSpec::default()
        };
        let spec = FoldSpec::Histogram {
            axes: vec![axis],
            closed: zipfold_core::fold::Closed::Last,
            weights: None,
            mean: false,
            weight: None,
            values: Default::default(),
        };
        let (_, outcome) = self.fold(spec).answered()?;
        match outcome.outputs.into_iter().next() {
            Some(Output::State(State::Histogram(h))) => Ok(h.counts[1..=bins].to_vec()),
            _ => Err(Error::internal("a histogram gave no counts")),
        }
    }
    /// One number per row of x.
    ///
    /// # Errors
    /// Those of [`Query::run`].
    pub fn rows(self, op: ReduceOp) -> Result<Vec<f64>> {
        let (job, outcome) = self
            .fold(FoldSpec::Reduce {
                op,
                axis: ReduceAxis::Row,
                weights: None,
            })
            .answered()?;
        let state = outcome.outputs.into_iter().next();
        let (Some(Output::State(State::Reduce(s))), Fold::Reduce(f)) = (state, &job.folds[0])
        else {
            return Err(Error::internal("a fold by rows gave no rows"));
        };
        Ok(s.finish(f))
    }
    /// Indices and values of the k nearest of every row, each rows × k.
    ///
    /// # Errors
    /// Those of [`Query::run`].
    pub fn nearest(self, k: usize) -> Result<(Vec<i64>, Vec<f64>)> {
        let (job, outcome) = self
            .fold(FoldSpec::Nearest { k, largest: None })
            .answered()?;
        let state = outcome.outputs.into_iter().next();
        let (Some(Output::State(State::Nearest(s))), Fold::Nearest(f)) = (state, &job.folds[0])
        else {
            return Err(Error::internal("a fold to neighbours gave none"));
        };
        Ok(s.finish(f))
    }
}

fn dense(pairs: Pairs) -> Result<Vec<f64>> {
    let (job, outcome) = pairs.answered()?;
    match outcome.outputs.into_iter().next() {
        Some(Output::State(state)) => listed(&job.folds[0], &state),
        Some(Output::F64(v)) => Ok(v),
        Some(Output::F32(v)) => Ok(v.into_iter().map(f64::from).collect()),
        _ => Err(Error::internal("a dense fold gave no values")),
    }
}

/// The values of listed pairs, or of batches.
fn listed(fold: &Fold, state: &State) -> Result<Vec<f64>> {
    let answer = fold.columns(state, 0, 0);
    let answer = answer.filter(|_| fold.shows_nan());
    let nothing = || Error::internal("a dense fold gave no values");
    let answer = answer.ok_or_else(nothing)?;
    let values = answer.arrays().next().map(|column| answer.all(column));
    let values = values.ok_or_else(nothing)?;
    Ok((0..values.len()).map(|at| values.get(at)).collect())
}

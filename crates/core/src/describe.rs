//! Turns a problem and its tables into a [`Job`]: names are resolved, everything is checked, and
//! the formula is lowered. No pair is computed yet.
//!
//! All refusals of a wrong request are made here, before any work. After [`describe`] a job can be
//! planned and run on any backend, and the backends need not check again. The steps, in order:
//!
//! 1. the schema, NaN in the tables, the hashes of the data;
//! 2. metrics that need whole tables prepare them (ranks, whitening);
//! 3. rows whose weight is missing are marked (`weights`);
//! 4. the meaning of the problem: formula, folds, roots, symmetry (`meaning.rs`, which caches it);
//! 5. weights go into their folds;
//! 6. the domain: as requested, or what the folds suggest, triangular only with a proof of
//!    symmetry.
//!
//! ```text
//! problem  metric "euclidean", histogram of 100 bins in [0, 2]
//! job      low: sum((x − y)²)   space: triangle, n × n   folds: edges compared as squares
//! ```

use self::pair::named_pair;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fold::{Fold, Grouped, Histogram, Listed};
use crate::meaning::{Asked, meaning};
use crate::opt::Opt;
use crate::pair::lower::Lowered;
use crate::pair::named::{self, Params, Stop};
use crate::pair::parse::PreparedMetrics;
use crate::pair_values::PairValues;
use crate::param_axis::ParamAxis;
use crate::parts::KeyParts;
use crate::problem::{FoldSpec, NanPolicy, Problem, SCHEMA};
use crate::random::Random;
use crate::space::{Domain, PeriodicBox, Space, Window, half};
use crate::table::{Precision, Table};
use crate::then::SecondStage;
use std::sync::Arc;

mod keys;
mod listed;
pub(crate) mod pair;
mod param;
mod parts;
pub(crate) mod weights;

/// A problem that is ready to be planned and run: everything is resolved, nothing is a name any
/// more.
///
/// Engines and planner take a job and never a [`Problem`]: nothing in it can be refused any more.
#[derive(Clone, Debug)]
pub struct Job {
    /// The lowered formula, shared by all jobs that ask the same question of rows of the same kind.
    pub low: Arc<Lowered>,
    /// The domain.
    pub space: Space,
    /// The folds: of each value of a parameter one after another.
    pub folds: Vec<Fold>,
    /// The parameter with several values, whose folds these are. Answers have an axis for it.
    pub param: Option<Arc<ParamAxis>>,
    /// What becomes of the results of rows, in the answer.
    pub then: Option<SecondStage>,
    /// The root that a cut-off compares with its square: the squared length of the difference.
    pub cutoff_root: Option<usize>,
    /// What happens to NaN.
    pub nan: NanPolicy,
    /// The periodic box, if there is one.
    pub periodic_box: Option<PeriodicBox>,
    /// Rows of x, prepared.
    pub x: Table,
    /// Rows of y, prepared; `None` if x is paired with itself.
    pub y: Option<Table>,
    /// The type in which values are computed if all folds round, and matrices are kept. Decisions
    /// are those of f64 in any case.
    pub precision: Precision,
    /// Whether it is proved that the value is the same with the rows exchanged. Every root counts,
    /// also conditions and the cut-off.
    pub symmetric: bool,
    /// Whether pairs are left out because a weight is missing. One of the roots is then NaN for
    /// them.
    pub holes: bool,
    /// Which pairs are kept by the places of their rows; [`Space::band`] says it by row. That of a
    /// question with parts is in these.
    pub window: Window,
    /// The parts of a question about groups or within keys. All folds are then
    /// [`Fold::Grouped`].
    pub parts: Option<Arc<KeyParts>>,
    /// By fold: what a value must not exceed to matter to each row of x, as the fold keeps it, where
    /// other questions have answered some of its pairs. Whoever prunes may leave out what is beyond.
    /// Empty where every value matters.
    pub limits: Vec<Vec<f64>>,
}

impl Job {
    /// Returns whether a pair has a NaN that matters: the mark of a row without weight, the
    /// distance that a cut-off compares, or a value that some fold would take.
    ///
    /// One decision for all folds of a pair: they share one tally, and skipping must mean the same
    /// to each.
    pub fn meets_nan(&self, is_nan: impl Fn(usize) -> bool, value: impl Fn(usize) -> f64) -> bool {
        // The root that marks rows without weight is the last one.
        let mark = (self.holes).then(|| self.low.formula.roots.len() - 1);
        mark.into_iter().chain(self.cutoff_root).any(&is_nan)
            || self.folds.iter().any(|f| f.meets_nan(&is_nan, &value))
    }
    /// Returns the rows of y, or those of x paired with itself.
    pub fn other(&self) -> &Table {
        self.y.as_ref().unwrap_or(&self.x)
    }
}

/// Returns the bytes that [`describe`] takes in passing to sort and divide a list of pairs; 0 without
/// one. What stays of it is [`KeyParts::listed_bytes`].
pub fn passing_bytes(problem: &Problem, data: &Data) -> u64 {
    listed::passing_bytes(problem, data)
}

/// Resolves `problem` over `data`.
///
/// # Errors
/// `Request` for formulas, metrics, options and combinations that mean nothing; `Input` for data
/// that do not fit.
pub fn describe(problem: &Problem, data: Data) -> Result<Job> {
    describe_until(problem, data, &|| false)
}

/// Returns the refusal of quantiles over half of the pairs: a row needs all of its values.
fn half_of_rows() -> Error {
    let (ordered, square) = (Opt::Domain.to("ordered"), Opt::Domain.to("square"));
    Error::request("quantiles of rows need all pairs of a row, the domain has half of them")
        .at_place(Opt::Domain)
        .remedy(format!("{ordered} or {square}, or one run for each fold"))
}

/// As [`describe`]; preparations of whole tables end when `stop` says so.
///
/// # Errors
/// As [`describe`]; `Interrupted` when it was stopped.
pub fn describe_until(problem: &Problem, data: Data, stop: Stop<'_>) -> Result<Job> {
    if problem.schema != SCHEMA {
        let e =
            Error::request(format!("a problem of schema {}", problem.schema)).at_place("schema");
        return Err(e
            .limit(format!("schema {SCHEMA}"))
            .remedy(format!("schema = {SCHEMA}")));
    }
    // Before anything is computed: a NaN in the tables may make every later step meaningless.
    check_tables(problem, &data)?;
    check_hashes(problem, &data)?;
    // Metrics complete their options, but for the one that has several values.
    let first = problem.param.as_ref().map(|_| problem.with_value(0));
    let first = first.as_ref().unwrap_or(problem);
    // Copies, because preparations replace tables and complete options. Tables share their
    // elements.
    let (mut data, mut params) = (data, first.pair.params.clone());
    let prepared = prepare(first, &mut data, &mut params, stop)?;
    let periodic_box = problem
        .periodic_box
        .clone()
        .map(PeriodicBox::try_from)
        .transpose()?;
    // After the preparation, which replaces tables; the marks become attributes of the new ones.
    let holes = weights::holes(problem, &mut data)?;
    if problem.folds.is_empty() {
        return Err(Error::request("nothing to keep: the problem has no fold").at_place("folds"));
    }
    let dims = periodic_box.as_ref().map(PeriodicBox::dims);
    let what = meaning(&Asked {
        problem,
        params: &params,
        box_dims: dims,
        data: &data,
        holes,
        prepared,
    })?;
    let folds = weighed(problem, &what.folds, &data)?;
    let (low, cutoff_root, symmetric) = (what.low.clone(), what.cutoff_root, what.symmetric);
    let precision = problem
        .precision
        .unwrap_or_else(|| natural_precision(&data));
    let asked = Asking {
        problem,
        data: &data,
        cost: what.first.as_ref().unwrap_or(&low).as_ref(),
        symmetric,
        weighed: what.weighed_symmetric,
    };
    let ByGroups {
        space,
        window,
        parts,
        folds,
    } = match lists(problem, &data)? {
        true => asked.listed(folds)?,
        false => asked.in_domain(folds, precision)?,
    };
    let then = problem.then.as_deref();
    let then = then.map(|text| SecondStage::asked(text, &folds, problem.nan));
    let (nan, holes) = (problem.nan, holes.any());
    Ok(sized(Job {
        limits: vec![],
        low,
        space,
        folds,
        param: problem.param.clone().map(Arc::new),
        then: then.transpose()?,
        cutoff_root,
        nan,
        periodic_box,
        x: data.x,
        y: data.y,
        precision,
        symmetric,
        holes,
        window,
        parts,
    }))
}

/// Pairs by which [`sized`] guesses.
const SIZED: usize = 256;

/// Notes how large the formulas are that histograms sum, by some pairs: devices keep sums where
/// most terms are. No answer depends on it.
fn sized(mut job: Job) -> Job {
    fn histogram(fold: &mut Fold) -> Option<&mut Histogram> {
        if let Fold::Grouped(grouped) = fold {
            return histogram(&mut grouped.inner);
        }
        if let Fold::Histogram(h) = fold
            && h.sums_formulas()
        {
            return Some(h);
        }
        None
    }
    let (n, m) = (job.space.n, job.space.m);
    let there = job.x.rows() == n && job.other().rows() == m && n > 0 && m > 0;
    if !there || !job.folds.iter_mut().any(|f| histogram(f).is_some()) {
        return job;
    }
    let mut largest = vec![0f64; job.low.formula.roots.len()];
    let tables = [&job.x, job.other()];
    let mut values = PairValues::of_tables(tables, &job.low, job.periodic_box.as_ref());
    let mut out = vec![];
    let mut random = Random::new(0);
    for _ in 0..SIZED {
        values.get(random.below(n), random.below(m), &mut out);
        for (largest, values) in largest.iter_mut().zip(&out) {
            let sizes = values.iter().map(|v| v.abs()).filter(|v| v.is_finite());
            *largest = sizes.fold(*largest, f64::max);
        }
    }
    let folds = job.folds.iter_mut().filter_map(histogram);
    folds.for_each(|h| h.note_sizes(&largest));
    job
}

/// Whether the question lists its pairs.
fn lists(problem: &Problem, data: &Data) -> Result<bool> {
    match (&problem.pairs, &data.pairs) {
        (None, None) => Ok(false),
        (Some(_), Some(_)) => Ok(true),
        (asked, _) => {
            let what = match asked {
                Some(_) => "expected the table of listed pairs, got none",
                None => "expected no table of pairs, since the problem lists none, got one",
            };
            Err(Error::request(what).at_place(Opt::Pairs))
        }
    }
}

/// A question whose pairs are found.
struct Asking<'a> {
    problem: &'a Problem,
    data: &'a Data,
    /// The formula whose cost decides whether half of the pairs are visited: of several values of a
    /// parameter that of the first, so that a value has the bits of a question of its own.
    cost: &'a Lowered,
    symmetric: bool,
    /// Whether the value would be symmetric if no weight were missing, for a message.
    weighed: bool,
}

impl Asking<'_> {
    /// The pairs of a domain.
    fn in_domain(&self, folds: Vec<Fold>, precision: Precision) -> Result<ByGroups> {
        let (problem, data) = (self.problem, self.data);
        let folds = match problem.batch {
            Some(_) => folds.into_iter().map(batched).collect(),
            None => folds,
        };
        let space = space(problem, &folds, data, self.symmetric, self.weighed)?;
        // A fold of whole rows cannot take half of the pairs, so all folds visit all of them.
        let rows = folds.iter().any(|fold| fold.traits().whole_rows);
        // The domain allows half of the pairs; whether that is faster is decided by the problem
        // alone.
        let space = if half::pays(self.cost, precision, &folds) && !rows {
            space
        } else {
            whole(space, problem, &folds)
        };
        if space.is_triangular() && rows {
            return Err(half_of_rows());
        }
        grouped(problem, data, space, folds)
    }
    /// The pairs of a list, in parts.
    fn listed(&self, folds: Vec<Fold>) -> Result<ByGroups> {
        let (problem, data) = (self.problem, self.data);
        let space = listed::space(problem, data)?;
        let half = problem.domain == Some(Domain::Diagonal);
        if half {
            halvable(self.symmetric, self.weighed)?;
        }
        let folds: Vec<Fold> = folds.into_iter().map(listed::fold).collect::<Result<_>>()?;
        let kept = keys::Conditions::read(problem, data)?;
        if kept.is_earlier() && (!space.is_self() || half) {
            earlier(space.clone(), problem)?;
        }
        let pairs = listed::read(problem, data)?;
        let taken = listed::Taken::by(&folds, half)?;
        let parts = Arc::new(kept.listed(pairs, taken, half)?);
        let fold = |fold| {
            let fold = taken.placed(fold);
            Grouped::new(fold, parts.clone(), &space).map(Fold::Grouped)
        };
        let folds = folds.into_iter().map(fold).collect::<Result<_>>()?;
        Ok(ByGroups {
            space,
            window: Window::default(),
            parts: Some(parts),
            folds,
        })
    }
}

/// The fold of batches that a matrix becomes: the values of each, one batch after another; others
/// stay.
fn batched(fold: Fold) -> Fold {
    match fold.dense() {
        Some(dense) => Fold::Listed(Listed::of_batches(*dense)),
        None => fold,
    }
}

/// What groups and conditions make of a question.
struct ByGroups {
    space: Space,
    window: Window,
    parts: Option<Arc<KeyParts>>,
    folds: Vec<Fold>,
}

/// Leaves out pairs by the places of their rows, and divides the others into parts, if the problem
/// asks for groups or for pairs within conditions.
fn grouped(problem: &Problem, data: &Data, space: Space, folds: Vec<Fold>) -> Result<ByGroups> {
    if problem.by.is_none() && problem.within.is_none() && problem.batch.is_none() {
        return Ok(ByGroups {
            space,
            window: Window::default(),
            parts: None,
            folds,
        });
    }
    let kept = keys::Conditions::read(problem, data)?;
    let space = match kept.is_earlier() {
        true => earlier(space, problem)?,
        false => space,
    };
    if !kept.has_keys() {
        if let Some(matrix) = folds.iter().find(|fold| fold.is_dense()) {
            return Err(leaves_out(matrix));
        }
        return Ok(ByGroups {
            space: kept.space(space)?,
            window: kept.window,
            parts: None,
            folds,
        });
    }
    // Parts give results to their rows of x, so pairs are visited from the side of these alone.
    let by_row = folds.iter().all(|fold| fold.traits().by_row);
    let space = match by_row {
        true => whole(space, problem, &folds),
        false => space,
    };
    let whole_rows = folds.iter().any(|fold| fold.traits().whole_rows);
    let parts = Arc::new(kept.parts(&space, whole_rows)?);
    let fold = |fold| Grouped::new(fold, parts.clone(), &space).map(Fold::Grouped);
    let folds = folds.into_iter().map(fold).collect::<Result<_>>()?;
    Ok(ByGroups {
        space,
        window: Window::default(),
        parts: Some(parts),
        folds,
    })
}

/// The refusal of a fold that has a place for every pair, where pairs are left out.
fn leaves_out(fold: &Fold) -> Error {
    let what = format!(
        "expected a fold that may leave pairs out, got {}",
        fold.describe()
    );
    Error::request(what)
        .at_place(Opt::Within)
        .remedy("a join with the formula as its value lists the pairs that stay")
}

/// Returns all pairs of one table, of which `earlier` keeps those with j < i.
fn earlier(space: Space, problem: &Problem) -> Result<Space> {
    if !space.is_self() {
        let e = Error::request("expected one table, whose rows have an order, got two");
        return Err(e
            .at_place(Opt::Within)
            .remedy(Opt::Within.to("window:COLUMN:WIDTH")));
    }
    if matches!(problem.domain, Some(Domain::Triangle | Domain::Diagonal)) {
        let e = Error::request("expected all pairs, of which those of earlier rows are kept");
        return Err(e.at_place(Opt::Domain).remedy(Opt::Domain.to("ordered")));
    }
    // No row is earlier than itself, so nobody needs to cut out the diagonal.
    Ok(Space {
        domain: Domain::Square,
        ..space
    })
}

/// Returns the folds for the pairs that the user chose, with the weights that come with the data.
/// Folds of the cached meaning have no weights, because weights are data and differ from call to
/// call.
fn weighed(problem: &Problem, folds: &[Fold], data: &Data) -> Result<Vec<Fold>> {
    let half = matches!(problem.domain, Some(Domain::Triangle | Domain::Diagonal));
    let rows = [data.x.rows(), data.other().rows()];
    // Each value of a parameter has as many folds as the problem.
    let asked = problem.folds.len();
    let weigh = |(at, fold): (usize, &Fold)| {
        let weights = data.weights.get(at % asked).and_then(Option::as_ref);
        let fold = match half {
            true => fold.clone().of_half(weights.is_some())?,
            false => fold.clone(),
        };
        match weights {
            Some(weights) => fold.weigh(weights, rows),
            None => Ok(fold),
        }
    };
    folds.iter().enumerate().map(weigh).collect()
}

/// Returns f32 if all inputs are f32, else f64: values of f32 inputs gain nothing from a wider
/// type.
///
/// Decisions stay in f64 in any case, so this chooses the speed and the last bits of rounded
/// answers only.
fn natural_precision(data: &Data) -> Precision {
    let all_single = [Some(&data.x), data.y.as_ref()]
        .into_iter()
        .flatten()
        .all(|t| t.precision() == Precision::F32);
    if all_single {
        Precision::F32
    } else {
        Precision::F64
    }
}

/// Refuses NaN in the tables if the policy is to refuse, with row and column of the first one.
fn check_tables(problem: &Problem, data: &Data) -> Result<()> {
    // With other policies NaN reach the folds, or are left out pair by pair.
    if problem.nan != NanPolicy::Error {
        return Ok(());
    }
    let metric = problem.pair.metric.as_deref().and_then(named::find);
    // A metric made for missing values answers for them; only its own NaN is then an error.
    if metric.is_some_and(|m| m.domain == named::RowValues::Missing) {
        return Ok(());
    }
    // The first NaN is enough: the message names its place and the two ways to go on.
    for (table, name) in [
        (Some(&data.x), problem.x.name.as_str()),
        (data.y.as_ref(), input_name(problem)),
    ] {
        if let Some((row, col)) = table.and_then(Table::first_nan) {
            let column = table
                .and_then(Table::names)
                .map_or_else(|| format!("{col} (from 0)"), |n| format!("'{}'", n[col]));
            let e = Error::input(table.map_or("", |t| t.missing(col)))
                .at_place(format!("{name}, row {row} (from 0), column {column}"));
            return Err(e.remedy(format!(
                "{} leaves such pairs out, {} lets them through",
                Opt::Nan.to("skip"),
                Opt::Nan.to("propagate")
            )));
        }
    }
    Ok(())
}

/// Refuses data whose hash differs from the one in the problem. Nothing is hashed if the problem
/// has none, because hashing reads all data.
fn check_hashes(problem: &Problem, data: &Data) -> Result<()> {
    let weights = problem.folds.iter().filter_map(|f| {
        if let FoldSpec::Reduce { weights, .. } = f {
            weights.as_ref()
        } else {
            None
        }
    });
    let tables = [Some(&problem.x), problem.y.as_ref(), problem.pairs.as_ref()];
    let mut inputs = tables.into_iter().flatten().chain(weights);
    // All data are read for it.
    if inputs.all(|input| input.hash.is_none()) {
        return Ok(());
    }
    for (input, found) in data.hashes(problem) {
        // Hexadecimal digits of either case are the same hash.
        if let Some(wanted) = input
            .hash
            .as_ref()
            .filter(|wanted| !wanted.eq_ignore_ascii_case(&found))
        {
            let e = Error::input(format!(
                "the data have the hash {found}, the problem asks for {wanted}"
            ));
            return Err(e
                .at_place(input.name.clone())
                .remedy("take the data that the problem was made for, or leave its hash out"));
        }
    }
    Ok(())
}

/// Returns the name of the second input for messages.
fn input_name(problem: &Problem) -> &str {
    problem
        .y
        .as_ref()
        .map_or("the second input", |y| y.name.as_str())
}

/// Returns whether a metric of `problem` prepares whole tables. A pair then depends on more than its
/// two rows.
///
/// # Errors
/// `Request` for an unknown metric.
pub fn needs_whole_tables(problem: &Problem) -> Result<bool> {
    let of_pair = named_pair(problem)?.is_some_and(|named| named.prepare.is_some());
    let mut in_formulas = problem.formulas().into_iter().flat_map(named::prepared_in);
    Ok(of_pair || in_formulas.next().is_some())
}

/// Lets metrics prepare the tables and complete their options: the metric of the pair, and metrics
/// that formulas call. At most one of them may replace the rows, since each would need the rows as
/// they were.
fn prepare(
    problem: &Problem,
    data: &mut Data,
    params: &mut Params,
    stop: Stop<'_>,
) -> Result<PreparedMetrics> {
    // By name in the text: formulas cannot be parsed before the tables are final.
    let in_formulas = problem.formulas().into_iter().flat_map(named::prepared_in);
    let (mut out, mut changed) = (PreparedMetrics::default(), None);
    for named in named_pair(problem)?.into_iter().chain(in_formulas) {
        // A metric that several formulas call prepares once.
        let Some(prepare) = named.prepare.filter(|_| !out.metrics.contains(&named.name)) else {
            continue;
        };
        out.metrics.push(named.name);
        let Some(done) = prepare(&data.x, data.y.as_ref(), params, stop)? else {
            continue;
        };
        // Two of them would each need the rows that the other has replaced.
        if let Some(first) = out.rows.replace(named.name) {
            let what = format!(
                "expected one metric that changes whole rows, got '{first}' and '{}'",
                named.name
            );
            return Err(Error::request(what)
                .at_place("formula")
                .remedy("a run of its own for each"));
        }
        changed = Some(done);
    }
    if let Some(done) = changed {
        // Ranks and whitened rows are not positions, so a box means nothing for them.
        if problem.periodic_box.is_some() {
            let e = Error::request(
                "this metric prepares whole rows, so no box is about what it compares",
            )
            .at_place(Opt::Box);
            return Err(e.remedy(format!(
                "leave out {}, or write the pair with 'x - y'",
                Opt::Box
            )));
        }
        // The new rows keep the names and attributes of the old ones.
        data.x = done.x.beside(&data.x);
        data.y = done.y.map(|y| y.beside(data.y.as_ref().unwrap_or(&data.x)));
    }
    Ok(out)
}

/// Refuses half of the pairs where they do not stand for all. `weighed` says whether the value would
/// be symmetric if no weight were missing, for a message that names the cause.
fn halvable(symmetric: bool, weighed: bool) -> Result<()> {
    if symmetric {
        return Ok(());
    }
    // The pair is symmetric but for rows without weight, which the two sides of a pair treat
    // differently.
    if weighed {
        let e = Error::input(
            "expected a weight for every row where half of the pairs stand for all, got NaN",
        );
        return Err(e.at_place("weights").remedy(format!(
            "leave out these rows, or visit all pairs: {}",
            Opt::Domain.to("ordered")
        )));
    }
    let e = Error::request(
        "the value changes when x and y change places, so half of the pairs do not stand for all",
    );
    Err(e.remedy(format!("visit all of them: {}", Opt::Domain.to("ordered"))))
}

/// Returns the domain: as requested, or what the first fold suggests.
fn space(
    problem: &Problem,
    folds: &[Fold],
    data: &Data,
    symmetric: bool,
    weighed: bool,
) -> Result<Space> {
    // Without y, x is paired with itself.
    let (n, m) = (
        data.x.rows(),
        data.y.as_ref().map_or(data.x.rows(), Table::rows),
    );
    let domain = match (problem.domain, data.y.is_some()) {
        (None, true) | (Some(Domain::Cross), true) => Domain::Cross,
        (Some(other), true) => {
            return Err(
                Error::request(format!("{other:?} is for one input, here are two"))
                    .remedy(Opt::Domain.to("cross")),
            );
        }
        (Some(Domain::Cross), false) => Domain::Square,
        (Some(given), false) => given,
        (None, false) => folds[0].domain(symmetric),
    };
    // Half of the pairs represents all of them only if the value is the same with the rows
    // exchanged.
    let half = matches!(domain, Domain::Triangle | Domain::Diagonal);
    if half {
        halvable(symmetric, weighed)?;
    }
    // SciPy's condensed order has a place for i < j only.
    let condensed = folds.iter().any(Fold::is_condensed);
    if condensed && domain != Domain::Triangle {
        return Err(
            Error::request("the condensed order is for i < j of one input")
                .remedy("leave out the second input"),
        );
    }
    let space = Space {
        domain,
        n,
        m,
        cutoff: problem.cutoff,
        band: None,
    };
    // Refused here if it does not fit 64 bits, so that no later count can overflow.
    space.size()?;
    Ok(space)
}

/// Returns the domain with all pairs instead of half of them, if the answer stays the same: it does
/// for folds with a result for each row. One result over half of the pairs stays if the user chose
/// the half.
fn whole(space: Space, problem: &Problem, folds: &[Fold]) -> Space {
    // The user's choice of half of the pairs is kept, unless every result is by row and would be
    // the same.
    let free = problem.domain.is_none() || folds.iter().all(|fold| fold.traits().by_side);
    let domain = match space.domain {
        Domain::Triangle if free => Domain::Ordered,
        Domain::Diagonal if free => Domain::Square,
        other => other,
    };
    Space { domain, ..space }
}

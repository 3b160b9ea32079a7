//! The one way from a question to its plan and its answer, which the command, Python and Rust take.

use crate::device::place;
use crate::options::{Options, Target};
use crate::outcome::Outcome;
#[cfg(feature = "plot")]
use crate::picture::write_picture;
use crate::planned_question::{PlannedQuestion, run};
use crate::ranges::{self, Found, with_ranges};
use crate::row_names::RowNames;
#[cfg(feature = "plot")]
use crate::suffix::{is_page, is_picture};
use crate::written;
use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Instant;
use zipfold_core::advice::advice;
use zipfold_core::data::Data;
use zipfold_core::describe::{describe_until, passing_bytes};
use zipfold_core::fold::Columns;
use zipfold_core::message::Wording;
use zipfold_core::problem::Problem;
use zipfold_core::{Error, Job, Message, Result};
use zipfold_io::OutputOptions;
use zipfold_plan::{Machine, Plan, choose, explain};

/// A problem, its data, and how it is to be run.
///
/// ```
/// use zipfold::{Options, Output, Query, Table, Target, pairs};
/// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
/// let asked = pairs(&x).metric("cityblock").fold(zipfold::problem::FoldSpec::Matrix {});
/// let options = Options::default();
/// let query = asked.query(&options);
/// assert_eq!(query.plan()?.pairs, 6); // i <= j
/// assert!(query.explain()?.text(false).to_string().starts_with("pairs "));
/// let answer = query.run()?;
/// let Some(Output::F64(matrix)) = answer.outcome.outputs.first() else { panic!("no matrix") };
/// assert_eq!(matrix[..3], [0.0, 1.0, 3.0]);
/// // The same of a problem and its data, to any target.
/// let (problem, data) = (answer.problem, zipfold::Data { pairs: None, x, y: None, weights: vec![None] });
/// let answer = Query::new(&problem, &data, &options).run_to(&Target::Memory)?;
/// assert_eq!(answer.outcome.pairs, 6);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[must_use = "a question does nothing until it is run"]
#[derive(Clone, Copy)]
pub struct Query<'a> {
    pub(crate) problem: &'a Problem,
    data: &'a Data,
    options: &'a Options<'a>,
}

/// A question that is planned up to its last pass.
#[derive(Debug)]
pub struct Ready<'a> {
    /// The problem, with the ranges that were found.
    pub problem: Cow<'a, Problem>,
    /// The problem described.
    #[doc(hidden)]
    pub job: Job,
    /// How the host would run it.
    pub plan: Plan,
    /// How ranges were found, where some were missing.
    pub range: Option<Found>,
    /// Seconds of description and planning.
    pub seconds: f64,
    /// Devices that are open already.
    _held: Option<ranges::Held>,
}

impl Ready<'_> {
    /// The same with the devices that `options` ask for, to be run whole or in shares.
    ///
    /// # Errors
    /// Those of opening devices.
    pub(crate) fn prepared(&self, options: &Options<'_>) -> Result<PlannedQuestion<'_>> {
        PlannedQuestion::new(&self.problem, &self.job, self.plan.clone(), options)
    }
}

/// What a question would take, without running it.
///
/// ```
/// use zipfold::{Explained, Options, Table, pairs};
/// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
/// let (question, options) = (pairs(&x).fold(zipfold::problem::FoldSpec::Matrix {}), Options::default());
/// let explained: Explained = question.query(&options).explain()?;
/// println!("{}", explained.text(true));
/// assert!(explained.seconds() < 1.0 && !explained.on_device);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[must_use]
#[non_exhaustive]
#[derive(Debug)]
pub struct Explained {
    /// The problem described. A range that is missing is that of a sample.
    #[doc(hidden)]
    pub job: Job,
    /// The plan of the last pass, for the device where one would run it.
    pub plan: Plan,
    /// The plans of the passes that would find missing ranges.
    pub ranges: Vec<Plan>,
    /// Whether a device would run it.
    pub on_device: bool,
}

/// The answer of a question.
///
/// ```
/// use zipfold::io::OutputOptions;
/// use zipfold::{Answer, Options, Table, pairs};
/// let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0])?;
/// let question = pairs(&x).fold(zipfold::problem::FoldSpec::Nearest { k: 1, largest: None });
/// let options = Options::default();
/// let answer: Answer = question.run(&options)?;
/// assert_eq!(answer.columns(0)?.map(|columns| columns.lines()), Some(3));
/// assert!(answer.svg()?.starts_with("<svg"));
/// let name = |suffix: &str| format!("{}/zipfold-{}.{suffix}", std::env::temp_dir().display(), std::process::id());
/// let (table, picture) = (name("csv"), name("svg"));
/// answer.write(&table, OutputOptions::default())?;
/// assert_eq!(answer.save(&picture, OutputOptions::default())?, [picture.clone()]);
/// assert!(std::fs::read_to_string(&table).is_ok_and(|text| text.starts_with("i,")));
/// # [table, picture].iter().for_each(|path| std::fs::remove_file(path).expect("the example's file"));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[must_use]
#[non_exhaustive]
#[derive(Debug)]
pub struct Answer<'a> {
    /// The problem, with the ranges that were found.
    pub problem: Cow<'a, Problem>,
    /// The problem described.
    #[doc(hidden)]
    pub job: Job,
    /// What the run gave.
    pub outcome: Outcome,
    /// How ranges were found, where some were missing.
    pub range: Option<Found>,
    /// Seconds of description and planning.
    pub planning: f64,
    /// The names of the rows.
    #[doc(hidden)]
    pub names: RowNames,
}

impl<'a> Query<'a> {
    /// Asks `problem` of `data`.
    pub fn new(problem: &'a Problem, data: &'a Data, options: &'a Options<'a>) -> Self {
        Query {
            problem,
            data,
            options,
        }
    }
    /// Describes the question for this machine. Ranges that are missing are found first.
    ///
    /// # Errors
    /// Those of [`zipfold_core::describe()`].
    #[doc(hidden)]
    pub fn describe(&self) -> Result<(Job, Machine)> {
        let problem = with_ranges(self.problem, self.data, self.options)?;
        self.described(&problem)
    }
    fn described(&self, problem: &Problem) -> Result<(Job, Machine)> {
        let options = self.options;
        let _edges = options.budget.reserve(
            crate::run::grid_bytes(problem),
            "the edges and counts of the bins",
        )?;
        for text in advice(problem, self.data) {
            options.warnings.add(text);
        }
        let stop = || {
            options
                .stop
                .is_some_and(|stop| stop.load(Ordering::Relaxed))
        };
        // What stays of it is reserved by the run.
        let _list = options
            .budget
            .reserve(passing_bytes(problem, self.data), "the list of pairs")?;
        let job = describe_until(problem, self.data.clone(), &stop)?;
        Ok((
            job,
            zipfold_cpu::detect(options.threads, options.budget.limit()),
        ))
    }
    /// Runs the passes before the last one, and plans the last one.
    ///
    /// # Errors
    /// Those of [`zipfold_core::describe()`], [`choose()`] and [`run`].
    #[doc(hidden)]
    pub fn ready(&self) -> Result<Ready<'a>> {
        let ranged = ranges::find(self.problem, self.data, self.options)?;
        let start = Instant::now();
        let (job, machine) = self.described(&ranged.problem)?;
        let plan = choose(&job, &machine, &self.options.choices())?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Ready {
            problem: ranged.problem,
            job,
            plan,
            range: ranged.found,
            seconds,
            _held: ranged.held,
        })
    }
    /// Plans the last pass: its strategies, tiles, and predicted seconds and bytes. Runs nothing.
    ///
    /// # Errors
    /// Those of [`Query::explain`].
    pub fn plan(&self) -> Result<Plan> {
        Ok(self.explain()?.plan)
    }
    /// Plans all passes and runs none.
    ///
    /// # Errors
    /// Those of [`zipfold_core::describe()`], [`choose()`] and [`place`].
    pub fn explain(&self) -> Result<Explained> {
        let (job, plan, ranges) = self.foreseen()?;
        let (plan, devices) = place(&job, plan, self.options)?;
        Ok(Explained {
            job,
            plan,
            ranges,
            on_device: !devices.is_empty(),
        })
    }
    /// The plan of the host for every pass, without running one.
    ///
    /// # Errors
    /// Those of [`zipfold_core::describe()`] and [`choose()`].
    #[doc(hidden)]
    pub fn explain_on_host(&self) -> Result<Explained> {
        let (job, plan, ranges) = self.foreseen()?;
        Ok(Explained {
            job,
            plan,
            ranges,
            on_device: false,
        })
    }
    fn foreseen(&self) -> Result<(Job, Plan, Vec<Plan>)> {
        let (problem, ranges) = ranges::foresee(self.problem, self.data, self.options)?;
        let (job, machine) = self.described(&problem)?;
        let plan = choose(&job, &machine, &self.options.choices())?;
        Ok((job, plan, ranges))
    }
    /// Runs all passes. Dense results stay in memory, within the budget.
    ///
    /// # Errors
    /// Those of [`zipfold_core::describe()`], [`choose()`] and the run.
    pub fn run(&self) -> Result<Answer<'a>> {
        self.run_to(&Target::Memory)
    }
    /// Runs all passes. Dense results go to `target`.
    ///
    /// # Errors
    /// Those of [`Query::run`].
    pub fn run_to(&self, target: &Target) -> Result<Answer<'a>> {
        let Ready {
            problem,
            job,
            plan,
            range,
            seconds,
            _held,
        } = self.ready()?;
        let outcome = run(&problem, &job, plan, target, self.options)?;
        Ok(Answer {
            problem,
            job,
            outcome,
            range,
            planning: seconds,
            names: RowNames::from_data(self.data),
        })
    }
}

impl Answer<'_> {
    /// Returns the columns of answer `at`, one for each fold of the problem: rows, edges, counts and
    /// values by name; none where the result is in its file or in memory of the caller.
    ///
    /// # Errors
    /// `Request` where there is no such answer.
    pub fn columns(&self, at: usize) -> Result<Option<Columns<'_>>> {
        self.outcome.columns(&self.job, at)
    }
    /// Writes the result of every fold in the format that the suffix of `path` names, and returns
    /// the names of the files. Several folds get a number before the suffix.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, options: OutputOptions) -> Result<Vec<String>> {
        written::write(path, &self.job, &self.outcome, &self.names, options)
    }
    /// Returns the picture of the first fold as the text of an SVG file: bars of a histogram, a map
    /// of a matrix, a line of rows or neighbours, points of matches.
    ///
    /// # Errors
    /// `Request` where the result has no picture.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        crate::picture::svg(&self.job, &self.outcome)
    }
    /// Writes the result to `path`: the picture of the first fold where that ends with `.svg`, a page
    /// about the answer where it ends with `.html`, the columns of all otherwise. Returns the names of the files.
    ///
    /// # Errors
    /// Those of [`Answer::svg`] and [`Answer::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, options: OutputOptions) -> Result<Vec<String>> {
        if is_page(path) {
            self.write_page(path, options)?;
        } else if is_picture(path) {
            write_picture(path, &self.svg()?, options)?;
        } else {
            return self.write(path, options);
        }
        Ok(vec![path.to_string()])
    }
}

/// A plan as JSON, options in the words of `wording`.
///
/// # Errors
/// `Internal` where the plan cannot be written.
pub fn plan_json(plan: &Plan, wording: Wording) -> Result<serde_json::Value> {
    let internal = |e: serde_json::Error| Error::internal(e.to_string());
    let mut value = serde_json::to_value(plan).map_err(internal)?;
    for (key, texts) in [("reasons", &plan.reasons), ("warnings", &plan.warnings)] {
        value[key] = texts.iter().map(|text| text.told(wording)).collect();
    }
    Ok(value)
}

impl Explained {
    /// The same of an answer that goes to `target`: some take matches that memory does not hold.
    #[doc(hidden)]
    pub fn going_to(mut self, target: &Target) -> Self {
        let matches = self.plan.matches;
        self.plan.matches = matches.map(|matches| matches.going(target.goal()));
        self
    }
    /// The plan as text for people; `all` adds how the engine goes about it.
    #[must_use]
    pub fn text(&self, all: bool) -> Message {
        explain::explain_all(&self.job, &self.plan, &self.ranges, all)
    }
    /// The plan as JSON, options in the words of `wording`; the plans for missing ranges are its
    /// member `range`.
    ///
    /// # Errors
    /// `Internal` where a plan cannot be written.
    #[doc(hidden)]
    pub fn json(&self, wording: Wording) -> Result<serde_json::Value> {
        let mut value = plan_json(&self.plan, wording)?;
        if !self.ranges.is_empty() {
            let ranges = self.ranges.iter().map(|plan| plan_json(plan, wording));
            value["range"] = ranges.collect::<Result<_>>()?;
        }
        Ok(value)
    }
    /// Predicted seconds of all passes.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.plan.seconds + self.ranges.iter().map(|plan| plan.seconds).sum::<f64>()
    }
}

//! Distances of two sets of rows: Hausdorff's and Chamfer's. Descriptions on top of one question for
//! each direction, without kernels of their own.
//!
//! ```text
//! forward    the nearest row of y of each row of x, then the largest of them, or a quantile, or the mean
//! backward   the nearest row of x of each row of y, likewise
//! Hausdorff  the larger of both        Chamfer  their sum
//! ```
//!
//! Two sweeps and not one: a search for the nearest rows of x leaves out far boxes of y, and most of
//! a sweep over all pairs.

use crate::options::Options;
use crate::query::{Answer, Query};
use crate::reading::read_data;
use crate::row_names::RowNames;
use crate::saved;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zipfold_core::fold::{Numbers as ColumnNumbers, Role};
use zipfold_core::pair::{Param, Side, named};
use zipfold_core::problem::{FoldSpec, Input, NanPolicy, PairSpec, Problem};
use zipfold_core::then::Then;
use zipfold_core::{Data, Error, Message, Opt, Result, Table, Words};
use zipfold_io::{Column, OutputOptions};

/// What the distances of rows to their nearest become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetMeasure {
    /// The largest, or a quantile; of both directions the larger one.
    #[default]
    Hausdorff,
    /// The mean; of both directions the sum.
    Chamfer,
}

impl SetMeasure {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SetMeasure::Hausdorff => "hausdorff",
            SetMeasure::Chamfer => "chamfer",
        }
    }
}

/// Whose rows have distances to the other set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetDirection {
    /// The rows of x, and those of y.
    #[default]
    Both,
    /// The rows of x.
    Forward,
    /// The rows of y.
    Backward,
}

/// The distance of two sets of rows, as a question. Its TOML has the same keys but for the measure,
/// which is the verb.
///
/// Errors: `Request` for a similarity, for a pair that changes when x and y change places where both
/// directions are asked, and for a quantile that is none; `Input` for a set without rows; those of
/// questions.
///
/// ```
/// use zipfold::internals::set_distance::{SetDistance, SetMeasure};
/// use zipfold::{Data, Options, Table};
/// let table = |rows: Vec<f64>| Table::f64(rows.len(), 1, rows);
/// let data = Data { pairs: None, x: table(vec![0.0, 1.0])?, y: Some(table(vec![1.0, 5.0])?), weights: vec![None] };
/// let mut asked = SetDistance::new(SetMeasure::Hausdorff, "x", "y");
/// assert_eq!(asked.of_data(&data, &Options::default())?.lines[0].value, 4.0); // from 5 to 1
/// asked.measure = SetMeasure::Chamfer;
/// assert_eq!(asked.of_data(&data, &Options::default())?.lines[0].value, 0.5 + 2.0);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetDistance {
    /// What the distances become.
    #[serde(skip)]
    pub measure: SetMeasure,
    /// The table of the first set.
    pub x: String,
    /// The table of the second set.
    pub y: String,
    /// The coordinates; by default all columns of numbers.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Columns that name the rows.
    #[serde(default)]
    pub ids: Vec<String>,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default)]
    pub header: Option<bool>,
    /// The distance: a metric (by default `euclidean`).
    #[serde(default)]
    pub metric: Option<String>,
    /// The distance: a formula.
    #[serde(default)]
    pub formula: Option<String>,
    /// Values of the formula, or options of the metric.
    #[serde(default)]
    pub params: BTreeMap<String, Param>,
    /// A periodic box.
    #[serde(default, rename = "box")]
    pub periodic_box: Option<Vec<f64>>,
    /// A column of labels: the rows of each label are a set of their own in both tables.
    #[serde(default)]
    pub batch: Option<String>,
    /// Whose rows have distances.
    #[serde(default)]
    pub direction: SetDirection,
    /// Of Hausdorff's distance: a quantile of the distances of rows in place of the largest.
    #[serde(default)]
    pub quantile: Option<f64>,
    /// What happens to NaN.
    #[serde(default)]
    pub nan: NanPolicy,
}

/// What the rows of one set have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Directed {
    /// The largest distance, or the quantile or the mean; NaN of no rows.
    pub value: f64,
    /// The row of x and that of y that are this far apart, of the largest distance.
    pub rows: Option<[usize; 2]>,
}

/// The distance of two sets.
#[derive(Clone, Copy, Debug)]
pub struct SetDistanceLine {
    /// Their distance.
    pub value: f64,
    /// From the rows of x.
    pub forward: Option<Directed>,
    /// From the rows of y.
    pub backward: Option<Directed>,
}

/// Distances of sets: one, or one for each batch.
///
/// ```
/// use zipfold::internals::set_distance::SetDistances;
/// fn farthest(answer: &SetDistances) -> f64 {
///     answer.lines.iter().map(|line| line.value).fold(0.0, f64::max)
/// }
/// # let _ = farthest;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct SetDistances {
    /// What they are.
    pub measure: SetMeasure,
    /// The distances, by batch.
    pub lines: Vec<SetDistanceLine>,
    /// The column of batches, and their labels.
    pub batches: Option<(String, Vec<String>)>,
    /// Pairs that were visited, of both directions.
    pub pairs: u64,
    names: RowNames,
}

/// The plain question about the rows of one side, and its rows.
struct Way {
    side: Side,
    problem: Problem,
    data: Data,
}

impl Way {
    fn explained(&self, options: &Options<'_>) -> Result<String> {
        let plan = Query::new(&self.problem, &self.data, options).explain()?;
        let (from, to) = match self.side {
            Side::X => ("x", "y"),
            Side::Y => ("y", "x"),
        };
        let plan = plan.text(false);
        let plan = plan.marked().trim_end();
        Ok(format!("\n\nfrom rows of {from} to rows of {to}\n{plan}"))
    }
}

impl SetDistance {
    /// The distance of the rows of `x` and those of `y`, in both directions.
    pub fn new(measure: SetMeasure, x: impl Into<String>, y: impl Into<String>) -> SetDistance {
        SetDistance {
            measure,
            x: x.into(),
            y: y.into(),
            columns: None,
            ids: vec![],
            header: None,
            metric: None,
            formula: None,
            params: BTreeMap::new(),
            periodic_box: None,
            batch: None,
            direction: SetDirection::Both,
            quantile: None,
            nan: NanPolicy::Error,
        }
    }
    /// Reads the tables, and answers.
    ///
    /// # Errors
    /// Those of the readers and of [`SetDistance::of_data`].
    pub fn run(&self, options: &Options<'_>) -> Result<SetDistances> {
        self.of_data(&self.read(options)?, options)
    }
    /// Answers for tables in memory.
    ///
    /// # Errors
    /// Those of the type.
    pub fn of_data(&self, data: &Data, options: &Options<'_>) -> Result<SetDistances> {
        let mut from: [Vec<Directed>; 2] = [vec![], vec![]];
        let (mut pairs, mut batches) = (0, None);
        for way in self.ways(data, options)? {
            let answer = Query::new(&way.problem, &way.data, options).run()?;
            pairs += answer.outcome.pairs;
            let (found, names) = directed(&answer, way.side)?;
            batches = names.or(batches);
            from[way.side as usize] = found;
        }
        let count = from[0].len().max(from[1].len());
        let way = |side: usize, at: usize| from[side].get(at).copied();
        let lines = (0..count).map(|at| self.line(way(0, at), way(1, at)));
        Ok(SetDistances {
            measure: self.measure,
            lines: lines.collect(),
            batches: self.batch.clone().zip(batches),
            pairs,
            names: RowNames::from_data(data),
        })
    }
    /// Says how it would be answered.
    ///
    /// # Errors
    /// Those of [`SetDistance::run`].
    pub fn explain(&self, options: &Options<'_>) -> Result<Message> {
        self.explain_data(&self.read(options)?, options)
    }
    /// As [`SetDistance::explain`], of tables in memory.
    ///
    /// # Errors
    /// Those of [`SetDistance::of_data`].
    pub fn explain_data(&self, data: &Data, options: &Options<'_>) -> Result<Message> {
        let ways = self.ways(data, options)?;
        let rule = match (self.measure, ways.len()) {
            (_, 1) => "one sweep",
            (SetMeasure::Hausdorff, _) => "two sweeps, the larger of their answers",
            (SetMeasure::Chamfer, _) => "two sweeps, the sum of their answers",
        };
        let plans = ways.iter().map(|way| way.explained(options));
        let plans: String = plans.collect::<Result<_>>()?;
        let text = format!("{} {rule}{plans}", self.measure.name());
        Ok(Message::from(text))
    }
    fn read(&self, options: &Options<'_>) -> Result<Data> {
        self.check(options)?;
        read_data(&self.problem()?, &options.budget)
    }
    /// Refuses what has no meaning, before anything is read.
    fn check(&self, options: &Options<'_>) -> Result<()> {
        saved::whole(
            options,
            "one run of the whole question, with more threads or a device",
        )?;
        let metric = self.metric.as_deref().and_then(named::find);
        if metric.is_some_and(|metric| metric.similarity) {
            let e = Error::request("expected a distance of rows, got a similarity");
            let e = e.at_place(Opt::Metric);
            return Err(e.remedy(Opt::Metric.to("euclidean")));
        }
        match self.quantile {
            Some(_) if self.measure == SetMeasure::Chamfer => {
                let e = Error::request("expected no quantile of a mean, got one");
                Err(e.at_place(Opt::Quantile).remedy("leave it out"))
            }
            Some(q) if !(0.0..=1.0).contains(&q) => {
                let e = Error::request(format!("expected a quantile from 0 to 1, got {q}"));
                Err(e.at_place(Opt::Quantile).remedy(Opt::Quantile.to(0.95)))
            }
            _ => Ok(()),
        }
    }
    /// The question about the rows of x.
    fn problem(&self) -> Result<Problem> {
        let input = |name: &String| Input {
            columns: self.columns.clone(),
            ids: self.ids.clone(),
            header: self.header,
            ..Input::named(name)
        };
        let then = match (self.measure, self.quantile) {
            (SetMeasure::Chamfer, _) => Then::Mean,
            (SetMeasure::Hausdorff, None) => Then::Max,
            (SetMeasure::Hausdorff, Some(q)) => Then::Quantile(q),
        };
        let pair = PairSpec {
            metric: self.metric.clone(),
            formula: self.formula.clone(),
            params: self.params.clone(),
        };
        let nearest = FoldSpec::Nearest {
            k: 1,
            largest: Some(false),
        };
        Ok(Problem {
            y: Some(input(&self.y)),
            periodic_box: self.periodic_box.clone(),
            batch: self.batch.clone(),
            nan: self.nan,
            then: Some(then.to_string()),
            ..Problem::new(input(&self.x), pair, vec![nearest])
        })
    }
    /// The questions of the directions that are asked.
    fn ways(&self, data: &Data, options: &Options<'_>) -> Result<Vec<Way>> {
        self.check(options)?;
        let y = data.y.as_ref();
        let y = y.ok_or_else(|| Error::request("expected two sets of rows, got one"))?;
        let problem = self.problem()?;
        some_rows(&data.x, &self.x)?;
        some_rows(y, &self.y)?;
        let plain = |x: &Table, y: &Table| Data {
            pairs: None,
            x: x.clone(),
            y: Some(y.clone()),
            weights: vec![None],
        };
        let forward = Way {
            side: Side::X,
            data: plain(&data.x, y),
            problem: problem.clone(),
        };
        if self.direction != SetDirection::Forward {
            exchangeable(&forward, options)?;
        }
        let backward = Way {
            side: Side::Y,
            data: plain(y, &data.x),
            problem: exchanged(&problem),
        };
        Ok(match self.direction {
            SetDirection::Both => vec![forward, backward],
            SetDirection::Forward => vec![forward],
            SetDirection::Backward => vec![backward],
        })
    }
    fn line(&self, forward: Option<Directed>, backward: Option<Directed>) -> SetDistanceLine {
        let values = [forward, backward];
        let values = values.iter().flatten().map(|way| way.value);
        let join = |a: f64, b: f64| match self.measure {
            SetMeasure::Chamfer => a + b,
            SetMeasure::Hausdorff if a.is_nan() || b.is_nan() => f64::NAN,
            SetMeasure::Hausdorff => a.max(b),
        };
        SetDistanceLine {
            value: values.reduce(join).unwrap_or(f64::NAN),
            forward,
            backward,
        }
    }
}

/// Refuses a set without rows.
fn some_rows(table: &Table, name: &str) -> Result<()> {
    if table.rows() > 0 {
        return Ok(());
    }
    let e = Error::input("expected rows in both sets, got none").at_place(name.to_string());
    Err(e.remedy("a set with at least one row"))
}

/// Refuses to search from the rows of y with a pair that is another one then.
fn exchangeable(forward: &Way, options: &Options<'_>) -> Result<()> {
    let (job, _) = Query::new(&forward.problem, &forward.data, options).describe()?;
    if job.symmetric {
        return Ok(());
    }
    let what = "the value changes when x and y change places, so the rows of y have no distances of this kind";
    let e = Error::request(what).at_place(Opt::Direction);
    Err(e.remedy(Opt::Direction.to("forward")))
}

/// The question with x and y in each other's place.
fn exchanged(problem: &Problem) -> Problem {
    let y = problem.y.clone().unwrap_or_else(|| problem.x.clone());
    Problem {
        x: y,
        y: Some(problem.x.clone()),
        ..problem.clone()
    }
}

/// What the rows of `side` have, by batch, and the labels of batches.
fn directed(answer: &Answer<'_>, side: Side) -> Result<(Vec<Directed>, Option<Vec<String>>)> {
    let columns = answer.columns(0)?;
    let columns = columns.ok_or_else(|| Error::internal("distances without columns"))?;
    let column = |role: Role| columns.with_role(role).map(|column| columns.all(column));
    let values = column(Role::Value);
    let values = values.ok_or_else(|| Error::internal("distances without values"))?;
    // The question has its rows as x, whichever they are.
    let (mine, its) = (column(Role::Row(Side::X)), column(Role::Row(Side::Y)));
    let found = (0..values.len()).map(|at| {
        let row = |rows: &Option<ColumnNumbers<'_>>| rows.as_ref()?.row(at);
        let rows = row(&mine).zip(row(&its)).map(|(mine, its)| match side {
            Side::X => [mine, its],
            Side::Y => [its, mine],
        });
        Directed {
            value: values.get(at),
            rows,
        }
    });
    let names = columns.groups.as_ref().map(|names| names.to_vec());
    Ok((found.collect(), names))
}

impl SetDistanceLine {
    /// The rows that are as far apart as the sets, if one pair is: of the direction that decides.
    #[must_use]
    pub fn rows(&self) -> Option<[usize; 2]> {
        let ways = [self.forward, self.backward];
        let decides = |way: &&Directed| way.value == self.value;
        ways.iter().flatten().find(decides)?.rows
    }
}

impl SetDistances {
    /// Whether rows are as far apart as the sets.
    fn has_rows(&self) -> bool {
        let ways = |line: &SetDistanceLine| [line.forward, line.backward];
        let mut ways = self.lines.iter().flat_map(ways).flatten();
        ways.any(|way| way.rows.is_some())
    }
    /// The columns of the answer after those of batches: the distances, the rows that are as far
    /// apart, those of each direction.
    fn columns(&self) -> Vec<(String, DistanceColumn)> {
        let values = self.lines.iter().map(|line| line.value).collect();
        let name = self.measure.name().to_string();
        let mut all = vec![(name, DistanceColumn::Values(values))];
        if self.has_rows() {
            all.extend(self.rows("", &SetDistanceLine::rows));
        }
        all.extend(self.way("forward", &|line| line.forward));
        all.extend(self.way("backward", &|line| line.backward));
        all
    }
    /// The columns of a direction, if it was asked.
    fn way(
        &self,
        name: &str,
        of: &dyn Fn(&SetDistanceLine) -> Option<Directed>,
    ) -> Vec<(String, DistanceColumn)> {
        if self.lines.iter().all(|line| of(line).is_none()) {
            return vec![];
        }
        let value = |line: &SetDistanceLine| of(line).map_or(f64::NAN, |way| way.value);
        let values = self.lines.iter().map(value).collect();
        let mut all = vec![(name.to_string(), DistanceColumn::Values(values))];
        if self.has_rows() {
            let rows = |line: &SetDistanceLine| of(line).and_then(|way| way.rows);
            all.extend(self.rows(&format!("{name}_"), &rows));
        }
        all
    }
    /// Two columns of rows, below 0 where there is none.
    fn rows(
        &self,
        before: &str,
        of: &dyn Fn(&SetDistanceLine) -> Option<[usize; 2]>,
    ) -> [(String, DistanceColumn); 2] {
        [("i", 0), ("j", 1)].map(|(name, side)| {
            let row = |line: &SetDistanceLine| of(line).map_or(-1, |rows| rows[side] as i64);
            let rows = self.lines.iter().map(row).collect();
            (format!("{before}{name}"), DistanceColumn::Rows(rows))
        })
    }
    /// Writes a line for each pair of sets, in the format of the suffix of `path`, with the names of
    /// the rows that are as far apart; `.npz` has the numbers of batches and no names.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        let columns = self.columns();
        let codes: Vec<i64> = (0..self.lines.len() as i64).collect();
        let words = self.batches.as_ref();
        let words =
            words.map(|(name, labels)| Words::from_words(name, labels.iter().map(String::as_str)));
        let mut all: Vec<(String, Column<'_>)> = vec![];
        all.extend(words.iter().map(|words| {
            let column = match path.ends_with(".npz") {
                true => Column::I64(&codes),
                false => Column::Words(words, &codes),
            };
            (words.name.clone(), column)
        }));
        all.extend(
            columns
                .iter()
                .map(|(name, numbers)| (name.clone(), numbers.written())),
        );
        let (i, j) = (self.side(0), self.side(1));
        if self.has_rows() {
            all.extend(self.names.columns(path, [&i, &j]));
        }
        saved::write(path, &all, &[], how)
    }
    /// The rows of a side that are as far apart as the sets, below 0 where there is none.
    fn side(&self, side: usize) -> Vec<i64> {
        let row = |line: &SetDistanceLine| line.rows().map_or(-1, |rows| rows[side] as i64);
        self.lines.iter().map(row).collect()
    }
    /// The distances as lines of text.
    #[must_use]
    pub fn shown_lines(&self) -> String {
        let Some((name, labels)) = &self.batches else {
            let lines = self.lines.iter().map(|line| self.told(line));
            return lines.collect::<Vec<_>>().join("\n");
        };
        let lines = labels.iter().zip(&self.lines).take(SHOWN);
        let line = |(label, line)| format!("{name} {label}: {}", self.told(line));
        let mut lines: Vec<String> = lines.map(line).collect();
        if labels.len() > SHOWN {
            lines.push(format!("… {} in all", labels.len()));
        }
        lines.join("\n")
    }
    /// A distance, its rows, and those of both directions.
    fn told(&self, line: &SetDistanceLine) -> String {
        let mut words = format!("{:?}", line.value);
        if let Some([i, j]) = line.rows() {
            let [i, j] = [self.named(0, i), self.named(1, j)];
            words += &format!("  row {i} of x, row {j} of y");
        }
        if let (Some(forward), Some(backward)) = (line.forward, line.backward) {
            let [forward, backward] = [forward.value, backward.value];
            words += &format!("  (forward {forward:?}, backward {backward:?})");
        }
        words
    }
    /// The name of a row, or its number.
    fn named(&self, side: usize, row: usize) -> String {
        let name = self.names.get(side, row);
        name.map_or_else(|| row.to_string(), str::to_string)
    }
    /// The distances as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let way = |way: &Option<Directed>| {
            way.map(|way| serde_json::json!({"value": in_json(way.value), "rows": way.rows}))
        };
        let line = |(at, line): (usize, &SetDistanceLine)| {
            let label = self.batches.as_ref().and_then(|(_, labels)| labels.get(at));
            serde_json::json!({
                "batch": label,
                "value": in_json(line.value),
                "rows": line.rows(),
                "forward": way(&line.forward),
                "backward": way(&line.backward),
            })
        };
        let lines = self.lines.iter().enumerate().map(line);
        serde_json::json!({
            "measure": self.measure.name(),
            "distances": lines.collect::<Vec<_>>(),
            "pairs": self.pairs,
        })
    }
    /// The distances of batches in their order, as the text of an SVG file; nothing of one distance.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<Option<String>> {
        use crate::picture::{CurveStyle, Curves, DrawnCurve, curves_svg};
        let Some((name, labels)) = &self.batches else {
            return Ok(None);
        };
        let places: Vec<f64> = (0..labels.len()).map(|at| at as f64).collect();
        let values: Vec<f64> = self.lines.iter().map(|line| line.value).collect();
        let curve = DrawnCurve {
            name: self.measure.name().into(),
            places: &places,
            values: &values,
            style: CurveStyle::Line,
        };
        let drawn = curves_svg(&Curves {
            title: &format!("{} distances by {name}", self.measure.name()),
            axes: [name.as_str(), "distance"],
            range: [0.0, labels.len() as f64],
            curves: &[curve],
            band: None,
            level: None,
            bars: None,
        });
        drawn.map(Some)
    }
    /// Writes the picture to a `path` that ends with `.svg`, the distances to any other.
    ///
    /// # Errors
    /// Those of [`SetDistances::svg`] and [`SetDistances::write`]; `Request` for a picture of one
    /// distance.
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        let none = || Error::request("one distance has no picture, only those of batches have");
        let svg = || self.svg()?.ok_or_else(none);
        saved::save(path, how, svg, || self.write(path, how))
    }
}

/// Lines that are shown.
const SHOWN: usize = 20;

/// The numbers of a column.
enum DistanceColumn {
    Values(Vec<f64>),
    Rows(Vec<i64>),
}

impl DistanceColumn {
    fn written(&self) -> Column<'_> {
        match self {
            DistanceColumn::Values(values) => Column::F64(values),
            DistanceColumn::Rows(rows) => Column::I64(rows),
        }
    }
}

/// A number in JSON, which has no NaN and no ∞.
fn in_json(value: f64) -> serde_json::Value {
    match value.is_finite() {
        true => value.into(),
        false => value.to_string().to_lowercase().into(),
    }
}

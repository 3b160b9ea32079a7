//! Silhouettes of labelled rows: how much nearer a row is to its own group than to the next one
//! (Rousseeuw 1987). A description on top of one question, without a kernel of its own.
//!
//! ```text
//! sums of distances by row and group       a question of the engine: reduce sum, by the labels
//! a = sum of the own group / (rows - 1)    b = the least sum of another group / its rows
//! s = (b - a) / max(a, b)                  0 for the only row of a group
//! ```

use crate::marked::{Labelled, labelled};
use crate::one_table::TableQuestion;
use crate::options::Options;
use crate::query::Query;
use crate::saved;
use crate::tables::{Arranged, KEY, SideTable, naming};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{ReduceOp, Role};
use zipfold_core::pair::Param;
use zipfold_core::problem::{FoldSpec, NanPolicy, PairSpec, Problem};
use zipfold_core::{Data, Domain, Error, Message, Opt, Result, Words};
use zipfold_io::rows_write::{CellKind, Cells, RowsWriter, is_streamed};
use zipfold_io::{Column, OutputOptions};

/// Silhouettes of labelled rows, as a question. Its TOML has the same keys.
///
/// Errors: `Request` for columns that there are not, for a similarity, and for one group or as many
/// groups as rows; `Input` for a row without a label; `Resource` beyond the budget.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::{Options, Table};
/// use zipfold::internals::silhouette::Silhouette;
/// let rows = Table::f64(4, 2, vec![0.0, 7.0, 1.0, 7.0, 5.0, 9.0, 6.0, 9.0])?;
/// let rows = rows.with_names(vec!["x".into(), "kind".into()])?;
/// let answer = Silhouette::new("rows", "kind").of_table(rows, &Options::default())?;
/// assert_eq!(answer.groups, ["7", "9"]);
/// assert!((answer.values[0] - 4.5 / 5.5).abs() < 1e-15); // 1 to its own group, 5.5 to the other
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silhouette {
    /// The table.
    pub data: String,
    /// The column of labels: text or numbers.
    pub labels: String,
    /// The coordinates; by default all columns of numbers but the labels.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// The distance: a metric (by default `euclidean`).
    #[serde(default)]
    pub metric: Option<String>,
    /// The distance: a formula.
    #[serde(default)]
    pub formula: Option<String>,
    /// Values of the formula, or options of the metric.
    #[serde(default)]
    pub params: BTreeMap<String, Param>,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default)]
    pub header: Option<bool>,
}

/// Silhouettes by row.
///
/// ```
/// use zipfold::internals::silhouette::Silhouettes;
/// fn poor(answer: &Silhouettes) -> usize {
///     answer.values.iter().filter(|s| **s < 0.0).count()
/// }
/// # let _ = poor;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Silhouettes {
    /// The labels, in ascending order.
    pub groups: Vec<String>,
    /// By row, the number of its label.
    pub codes: Vec<u32>,
    /// By row, its silhouette, from -1 to 1.
    pub values: Vec<f64>,
    /// By row, the mean distance to the other rows of its group; NaN for the only one.
    pub own: Vec<f64>,
    /// By row, the mean distance to the next group.
    pub next: Vec<f64>,
    /// By row, the number of the next group.
    pub neighbours: Vec<u32>,
    /// By group, its rows and their mean silhouette.
    pub by_group: Vec<(u64, f64)>,
    /// The mean silhouette of all rows.
    pub mean: f64,
    /// Pairs that were visited.
    pub pairs: u64,
}

impl Silhouette {
    /// Silhouettes of the rows of `data` with the labels of a column, by Euclidean distances.
    pub fn new(data: impl Into<String>, labels: impl Into<String>) -> Silhouette {
        Silhouette {
            data: data.into(),
            labels: labels.into(),
            columns: None,
            metric: None,
            formula: None,
            params: BTreeMap::new(),
            header: None,
        }
    }
    /// The labels in ascending order, and the number of that of each row.
    fn labelled(&self, side: &SideTable, options: &Options<'_>) -> Result<Labelled> {
        saved::whole(
            options,
            "one run of the whole question, with more threads or a device",
        )?;
        let (groups, codes) = labelled(side, &self.labels, Opt::Labels)?;
        let most = side.rows().saturating_sub(1);
        if groups.len() < 2 || groups.len() > most {
            let what = match most {
                0 | 1 => format!("expected 3 rows or more, got {}", side.rows()),
                _ => format!("expected 2 to {most} labels, got {}", groups.len()),
            };
            let e = Error::request(what).at_place(Opt::Labels);
            return Err(e.remedy("a column whose labels divide the rows"));
        }
        Ok((groups, codes))
    }
    /// The question about sums of distances, and its rows.
    fn question(
        &self,
        side: &SideTable,
        codes: &[u32],
        options: &Options<'_>,
    ) -> Result<(Problem, Data)> {
        let metric = self.metric.as_deref();
        let named = metric.and_then(zipfold_core::pair::named::find);
        if named.is_some_and(|metric| metric.similarity) {
            let what = "expected a distance for silhouettes, got a similarity";
            let e = Error::request(what).at_place(Opt::Metric);
            return Err(e.remedy(Opt::Metric.to("euclidean")));
        }
        let mut problem = naming([&self.data, &self.data], self.formula.as_deref());
        problem.y = None;
        let named = problem.named_columns();
        let numbers: Vec<f64> = codes.iter().map(|code| f64::from(*code)).collect();
        let both = [numbers.clone(), numbers];
        let arranged = Arranged {
            coordinates: self.columns.as_deref(),
            keys: [vec![self.labels.clone()], vec![self.labels.clone()]],
            codes: Some(&both),
            named,
        };
        let data = arranged.data(&problem, [side, side], &options.budget)?;
        problem.pair = PairSpec {
            metric: self.metric.clone(),
            formula: self.formula.clone(),
            params: self.params.clone(),
        };
        problem.nan = NanPolicy::Error;
        problem.by = Some(KEY.to_string());
        problem.domain = Some(Domain::Ordered);
        problem.folds = vec![FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        }];
        let weights = vec![None];
        Ok((problem, Data { weights, ..data }))
    }
}

impl TableQuestion for Silhouette {
    type Answer = Silhouettes;
    fn name(&self) -> &str {
        &self.data
    }
    /// The table: its labels and the chosen coordinates, or all of its columns.
    fn read(&self, options: &Options<'_>) -> Result<SideTable> {
        let mut needed = self.columns.clone().filter(|_| self.formula.is_none());
        if let Some(columns) = needed.as_mut().filter(|all| !all.contains(&self.labels)) {
            columns.push(self.labels.clone());
        }
        SideTable::read(&self.data, self.header, (needed, None), &options.budget)
    }
    fn explain_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Message> {
        let (groups, codes) = self.labelled(side, options)?;
        let (problem, data) = self.question(side, &codes, options)?;
        let plan = Query::new(&problem, &data, options).explain()?.text(false);
        let text = format!(
            "silhouette sums of distances by row and group, {} groups of {}\n\n{}",
            groups.len(),
            self.labels,
            plan.marked().trim_end()
        );
        Ok(Message::from(text))
    }
    fn of_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Self::Answer> {
        let (groups, codes) = self.labelled(side, options)?;
        let (problem, data) = self.question(side, &codes, options)?;
        let bytes = side.rows() as u64 * (groups.len() as u64 + 8) * 8;
        let _held = options
            .budget
            .reserve(bytes, "the distances by row and group")?;
        let answer = Query::new(&problem, &data, options).run()?;
        let columns = answer.columns(0)?;
        let columns = columns.ok_or_else(|| Error::internal("sums without columns"))?;
        let sums = columns.with_role(Role::Value);
        let sums = sums.ok_or_else(|| Error::internal("sums without values"))?;
        let sums = columns.all(sums);
        if sums.len() != codes.len() * groups.len() {
            let e = Error::request("expected one number for each pair, got a vector");
            return Err(e.at_place(Opt::Pair).remedy(Opt::Pair.to("norm(x - y)")));
        }
        let sum = |row: usize, group: usize| sums.get(row * groups.len() + group);
        Ok(Silhouettes {
            pairs: answer.outcome.pairs,
            ..silhouettes(groups.clone(), codes, &sum)
        })
    }
}

/// The second stage: from sums by row and group to silhouettes.
fn silhouettes(
    groups: Vec<String>,
    codes: Vec<u32>,
    sum: &dyn Fn(usize, usize) -> f64,
) -> Silhouettes {
    let mut rows = vec![0u64; groups.len()];
    codes.iter().for_each(|code| rows[*code as usize] += 1);
    let n = codes.len();
    let (mut values, mut own) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut next, mut neighbours) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for (row, code) in codes.iter().enumerate() {
        let mine = *code as usize;
        // Of one row, 0 / 0: no other row is there.
        let a = sum(row, mine) / (rows[mine] - 1) as f64;
        let others = (0..groups.len()).filter(|group| *group != mine);
        let mean = |group: usize| (sum(row, group) / rows[group] as f64, group);
        let nearer = |a: (f64, usize), b: (f64, usize)| if b.0 < a.0 { b } else { a };
        let (b, group) = others.map(mean).reduce(nearer).unwrap_or((f64::NAN, mine));
        // The only row of a group has 0 by definition, and so have rows at no distance from both.
        let value = (b - a) / a.max(b);
        values.push(if rows[mine] == 1 || value.is_nan() {
            0.0
        } else {
            value
        });
        own.push(a);
        next.push(b);
        neighbours.push(group as u32);
    }
    Silhouettes {
        by_group: means_by_group(&rows, &codes, &values),
        mean: values.iter().sum::<f64>() / n as f64,
        groups,
        codes,
        values,
        own,
        next,
        neighbours,
        pairs: 0,
    }
}

/// By group, its rows and the mean of their values.
fn means_by_group(rows: &[u64], codes: &[u32], values: &[f64]) -> Vec<(u64, f64)> {
    let mut sums = vec![0.0; rows.len()];
    let both = codes.iter().zip(values);
    both.for_each(|(code, value)| sums[*code as usize] += value);
    let means = rows.iter().zip(&sums).map(|(n, sum)| (*n, sum / *n as f64));
    means.collect()
}

impl Silhouettes {
    /// The columns of the answer: label, silhouette, the mean distances to the own and the next
    /// group, and the next group.
    fn columns(&self) -> Vec<(String, Cells)> {
        let words = Words::from_words("label", self.groups.iter().map(String::as_str));
        let labels = |codes: &[u32]| {
            let rows = codes.iter().map(|code| i64::from(*code)).collect();
            Cells::Words(words.clone(), rows)
        };
        let numbers = |values: &[f64]| Cells::Numbers(values.to_vec());
        vec![
            ("label".into(), labels(&self.codes)),
            ("silhouette".into(), numbers(&self.values)),
            ("own".into(), numbers(&self.own)),
            ("next".into(), numbers(&self.next)),
            ("next_label".into(), labels(&self.neighbours)),
        ]
    }
    /// Writes a row for each row, in the format of the suffix of `path`; `.npz` has the numbers of
    /// labels.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        let notes = [format!("mean silhouette {:?}", self.mean)];
        if is_streamed(path) {
            let columns = self.columns();
            let kinds = columns
                .iter()
                .map(|(name, cells)| (name.clone(), cells.kind()));
            let kinds: Vec<(String, CellKind)> = kinds.collect();
            let mut file = RowsWriter::create(path, &kinds, &notes, how)?;
            let cells: Vec<Cells> = columns.into_iter().map(|(_, cells)| cells).collect();
            file.push(&cells)?;
            return file.finish();
        }
        let wide = |codes: &[u32]| codes.iter().map(|c| u64::from(*c)).collect::<Vec<u64>>();
        let (codes, neighbours) = (wide(&self.codes), wide(&self.neighbours));
        let columns = [
            ("label".to_string(), Column::U64(&codes)),
            ("silhouette".to_string(), Column::F64(&self.values)),
            ("own".to_string(), Column::F64(&self.own)),
            ("next".to_string(), Column::F64(&self.next)),
            ("next_label".to_string(), Column::U64(&neighbours)),
        ];
        saved::write(path, &columns, &notes, how)
    }
    /// The silhouettes of each group, ascending, one group after another, as the text of an SVG file.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        use crate::picture::{CurveStyle, Curves, DrawnCurve, curves_svg};
        let mut by_group = vec![vec![]; self.groups.len()];
        for (code, value) in self.codes.iter().zip(&self.values) {
            by_group[*code as usize].push(*value);
        }
        let mut from = 0;
        let placed = by_group.iter_mut().map(|values| {
            values.sort_unstable_by(f64::total_cmp);
            let places = (from..from + values.len()).map(|at| at as f64).collect();
            from += values.len();
            places
        });
        let places: Vec<Vec<f64>> = placed.collect();
        let curve = |(at, name): (usize, &String)| DrawnCurve {
            name: format!("{name}: {:.3}", self.by_group[at].1),
            places: &places[at],
            values: &by_group[at],
            style: CurveStyle::Line,
        };
        let curves: Vec<DrawnCurve<'_>> = self.groups.iter().enumerate().map(curve).collect();
        curves_svg(&Curves {
            title: &format!("silhouettes, mean {:.4}", self.mean),
            axes: ["rows, by group", "silhouette"],
            range: [0.0, self.values.len() as f64],
            curves: &curves,
            band: None,
            level: Some(self.mean),
            bars: None,
        })
    }
    /// Writes the picture to a `path` that ends with `.svg`, the rows to any other.
    ///
    /// # Errors
    /// Those of [`Silhouettes::svg`] and [`Silhouettes::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        saved::save(path, how, || self.svg(), || self.write(path, how))
    }
    /// The groups with their rows and mean silhouettes, as lines of text.
    #[must_use]
    pub fn lines(&self) -> String {
        let wide = self
            .groups
            .iter()
            .map(|g| g.chars().count())
            .max()
            .unwrap_or(0)
            .max(5);
        let mut lines = vec![format!("{:<wide$}  {:>9}  silhouette", "label", "rows")];
        for (group, (rows, mean)) in self.groups.iter().zip(&self.by_group).take(20) {
            lines.push(format!("{group:<wide$}  {rows:>9}  {mean:.6}"));
        }
        let n = self.codes.len();
        lines.push(format!("{:<wide$}  {n:>9}  {:.6}", "all", self.mean));
        lines.join("\n")
    }
    /// The mean silhouettes as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let group = |(name, (rows, mean)): (&String, &(u64, f64))| serde_json::json!({"label": name, "rows": rows, "silhouette": mean});
        let groups = self.groups.iter().zip(&self.by_group).map(group);
        serde_json::json!({
            "rows": self.codes.len(),
            "silhouette": self.mean,
            "groups": groups.collect::<Vec<_>>(),
            "pairs": self.pairs,
        })
    }
}

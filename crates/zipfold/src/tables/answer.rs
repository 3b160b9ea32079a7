//! The answer of a join of tables: rows in memory, or in a file.

use super::asked::TableJoin;
use super::found::{Found, Matching, NearestRows, Wanted, naming};
use super::keys::RowsByKey;
use super::output::{Output, Sink};
use super::select::{Item, Source, items};
use super::sides::{Arranged, SideTable};
use crate::options::Options;
use crate::saved;
use zipfold_core::{Data, Error, Message, Opt, Result, Table};
use zipfold_io::rows_write::{CellKind, Cells, is_streamed};
use zipfold_io::{Column, OutputOptions};

/// A column of an answer.
///
/// ```
/// use zipfold::internals::io::rows_write::Cells;
/// use zipfold::internals::tables::JoinedColumn;
/// let column = JoinedColumn { name: "gap".into(), cells: Cells::Numbers(vec![0.5, f64::NAN]) };
/// assert_eq!(column.cells.len(), 2); // the second one is a null
/// ```
#[derive(Clone, Debug)]
pub struct JoinedColumn {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: Cells,
}

/// The rows of a join of tables.
///
/// ```
/// use zipfold::internals::tables::{JoinedRows, TableJoin};
/// use zipfold::{Options, Table};
/// let day = |days: Vec<f64>| Table::f64(days.len(), 1, days)?.with_names(vec!["day".into()]);
/// let join = TableJoin { nearest: Some(1), ..TableJoin::new("visits", "tests") };
/// let tables = (day(vec![3.0, 9.0])?, Some(day(vec![1.0, 8.0])?));
/// let answer: JoinedRows = join.of_tables(tables, &Options::default())?;
/// assert_eq!((answer.rows, answer.names()), (2, vec!["x.day", "y.day", "value"]));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct JoinedRows {
    /// The columns; of rows that went to a file, without cells.
    pub columns: Vec<JoinedColumn>,
    /// Number of rows.
    pub rows: u64,
    /// Pairs that were visited.
    pub pairs: u64,
    /// The rules, in a line.
    #[doc(hidden)]
    pub rule: String,
}

/// The numbers of the rows of a join of tables.
///
/// ```
/// use zipfold::internals::tables::{MatchedRows, TableJoin};
/// use zipfold::{Options, Table};
/// let day = |days: Vec<f64>| Table::f64(days.len(), 1, days)?.with_names(vec!["day".into()]);
/// let join = TableJoin { on: vec!["day".into()], ..TableJoin::new("visits", "tests") };
/// let tables = (day(vec![3.0, 9.0])?, Some(day(vec![9.0, 9.0])?));
/// let found: MatchedRows = join.rows_of_tables(tables, &Options::default())?;
/// assert_eq!((found.i, found.j), (vec![1, 1], vec![0, 1]));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct MatchedRows {
    /// Rows of x.
    pub i: Vec<u64>,
    /// Rows of y; below 0 where there is none.
    pub j: Vec<i64>,
    /// The value of each, where one is asked.
    pub values: Vec<f64>,
    /// Values of the formulas of the output, in their order.
    pub formulas: Vec<Vec<f64>>,
    /// The columns of the output: its name, and the table (0, 1) and the name of a column there, or
    /// 2 and what it is.
    pub columns: Vec<(String, usize, String)>,
}

/// Two tables, the keys of their rows, and what is asked of them.
struct PreparedJoin {
    x: SideTable,
    /// None for a join of x with itself.
    y: Option<SideTable>,
    keys: Option<RowsByKey>,
    data: Data,
    wanted: Wanted,
    items: Vec<Item>,
}

impl PreparedJoin {
    fn sides(&self) -> [&SideTable; 2] {
        [&self.x, self.y.as_ref().unwrap_or(&self.x)]
    }
}

/// Rows that a terminal shows.
const SHOWN: usize = 20;

impl TableJoin {
    /// Reads the tables and joins them; all rows of the output are in memory.
    ///
    /// # Errors
    /// Those of the readers and of [`TableJoin::of_tables`].
    pub fn run(&self, options: &Options<'_>) -> Result<JoinedRows> {
        let sink = Sink::Memory(vec![], vec![]);
        self.joined(&self.read(options)?, sink, options)
    }
    /// Reads the tables and joins them; keeps the first rows of the output alone, and counts all.
    ///
    /// # Errors
    /// Those of [`TableJoin::run`].
    pub fn preview(&self, options: &Options<'_>) -> Result<JoinedRows> {
        self.joined(&self.read(options)?, Sink::First(vec![], SHOWN), options)
    }
    /// Joins tables; their words are their labels.
    ///
    /// # Errors
    /// `Request` for columns that there are not, formulas that are none and options that mean
    /// nothing together; `Resource` beyond the budget.
    pub fn of_tables(
        &self,
        tables: (Table, Option<Table>),
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        let prepared = self.prepare(tables, options)?;
        self.joined(&prepared, Sink::Memory(vec![], vec![]), options)
    }
    /// Joins tables; gives the numbers of rows and no cells.
    ///
    /// # Errors
    /// Those of [`TableJoin::of_tables`].
    pub fn rows_of_tables(
        &self,
        tables: (Table, Option<Table>),
        options: &Options<'_>,
    ) -> Result<MatchedRows> {
        let prepared = self.prepare(tables, options)?;
        let output = self.output(&prepared, options)?;
        let mut out = MatchedRows {
            columns: prepared.described(&output),
            ..MatchedRows::default()
        };
        let mut held = vec![];
        self.matching(&prepared, options).each(&mut |found| {
            let bytes = (found.i.len() * (16 + 8 * output.columns.len())) as u64;
            held.push(options.budget.reserve(bytes, "the rows of the join")?);
            out.i.extend(&found.i);
            out.j.extend(&found.j);
            out.values.extend(&found.values);
            let formulas = output.formula_values(found)?;
            out.formulas.resize(formulas.len(), vec![]);
            out.formulas
                .iter_mut()
                .zip(formulas)
                .for_each(|(to, from)| to.extend(from));
            Ok(())
        })?;
        Ok(out)
    }
    /// Reads the tables, joins them, and writes the rows to `path`, of a `.csv`, `.tsv` or
    /// `.parquet` file while they are found.
    ///
    /// # Errors
    /// Those of [`TableJoin::run`]; `Request` for another suffix, or for an output that exists;
    /// those of the file system.
    pub fn run_to(
        &self,
        path: &str,
        how: OutputOptions,
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        self.write_tables(self.tables(options)?, path, how, options)
    }
    /// As [`TableJoin::run_to`], of tables in memory.
    ///
    /// # Errors
    /// Those of [`TableJoin::run_to`].
    pub fn write_tables(
        &self,
        tables: (Table, Option<Table>),
        path: &str,
        how: OutputOptions,
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        let prepared = self.prepare(tables, options)?;
        if !is_streamed(path) {
            let answer = self.joined(&prepared, Sink::Memory(vec![], vec![]), options)?;
            answer.write(path, how)?;
            return Ok(answer);
        }
        let output = self.output(&prepared, options)?;
        let sink = Sink::file(path, &output, &[self.rule()], how)?;
        drop(output);
        self.joined(&prepared, sink, options)
    }
    /// Says how the tables would be joined.
    ///
    /// # Errors
    /// Those of [`TableJoin::run`].
    pub fn explain(&self, options: &Options<'_>) -> Result<Message> {
        self.explain_tables(self.tables(options)?, options)
    }
    /// As [`TableJoin::explain`], of tables in memory.
    ///
    /// # Errors
    /// Those of [`TableJoin::of_tables`].
    pub fn explain_tables(
        &self,
        tables: (Table, Option<Table>),
        options: &Options<'_>,
    ) -> Result<Message> {
        let prepared = self.prepare(tables, options)?;
        let output = self.output(&prepared, options)?;
        let plan = self.matching(&prepared, options).explain()?;
        let names: Vec<&str> = output
            .columns
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let keys = match &prepared.keys {
            Some(keys) => format!(
                "keys       {} that both have: {} of {} rows of x, {} of {} rows of y\n",
                keys.count,
                keys.rows[0].len(),
                prepared.x.rows(),
                keys.rows[1].len(),
                prepared.sides()[1].rows()
            ),
            None => String::new(),
        };
        let text = format!(
            "join       {}\n{keys}columns    {}\n\n{}",
            self.rule(),
            names.join(", "),
            plan.marked().trim_end()
        );
        Ok(Message::from(text))
    }
    /// The tables that the question names.
    fn tables(&self, options: &Options<'_>) -> Result<(Table, Option<Table>)> {
        self.check()?;
        whole(options)?;
        let read = |name: &String| SideTable::read(name, self.header, &options.budget);
        let x = read(&self.x)?.table;
        let y = self.y.as_ref().map(read).transpose()?;
        Ok((x, y.map(|y| y.table)))
    }
    fn read(&self, options: &Options<'_>) -> Result<PreparedJoin> {
        self.prepare(self.tables(options)?, options)
    }
    fn prepare(
        &self,
        (x, y): (Table, Option<Table>),
        options: &Options<'_>,
    ) -> Result<PreparedJoin> {
        self.check()?;
        whole(options)?;
        if y.is_some() != self.y.is_some() {
            return Err(Error::request(
                "expected the tables that the question names",
            ));
        }
        let x = SideTable::new(&self.x, x)?;
        let y = match (&self.y, y) {
            (Some(name), Some(table)) => Some(SideTable::new(name, table)?),
            _ => None,
        };
        let sides = [&x, y.as_ref().unwrap_or(&x)];
        let items = self.items(sides)?;
        let keys = match self.on.is_empty() {
            true => None,
            false => Some(RowsByKey::read(&self.on, sides, &options.budget)?),
        };
        let wanted = self.wanted();
        let data = self.data(sides, keys.as_ref(), &wanted, &items, options)?;
        Ok(PreparedJoin {
            x,
            keys,
            data,
            wanted,
            items,
            y,
        })
    }
    /// The columns of the output: those selected; all, and the value, where nothing is.
    fn items(&self, sides: [&SideTable; 2]) -> Result<Vec<Item>> {
        let valued = self.value_formula().is_some() && self.kind.has_pairs();
        if !self.select.is_empty() {
            let all = items(&self.select, sides, valued)?;
            let of_y = |item: &&Item| !matches!(item.source, Source::Column(0, _));
            if let (false, Some(item)) = (self.kind.has_pairs(), all.iter().find(of_y)) {
                let what = format!("expected columns of x alone, got '{}'", item.name());
                let e = Error::request(what).at_place(Opt::Select);
                return Err(e.remedy("another kind of join, whose rows have a row of y"));
            }
            return Ok(all);
        }
        let what: &[&str] = match (self.kind.has_pairs(), valued) {
            (false, _) => &["x.*"],
            (true, false) => &["*"],
            (true, true) => &["*", "value"],
        };
        let texts: Vec<String> = what.iter().map(|w| (*w).to_string()).collect();
        items(&texts, sides, valued)
    }
    fn wanted(&self) -> Wanted {
        let y = self.y.as_ref().unwrap_or(&self.x);
        Wanted {
            names: [self.x.clone(), y.clone()],
            same: self.y.is_none(),
            ordered: self.ordered,
            predicate: self.predicate.clone(),
            pair: self.pair(),
            value: self.value_formula(),
            kind: self.kind,
            nearest: self.nearest.map(|k| NearestRows {
                k,
                ties: self.ties,
                within: self.within_distance,
            }),
        }
    }
    /// The rows as the engine takes them.
    fn data(
        &self,
        sides: [&SideTable; 2],
        keys: Option<&RowsByKey>,
        wanted: &Wanted,
        items: &[Item],
        options: &Options<'_>,
    ) -> Result<Data> {
        let formulas = items.iter().filter_map(|item| match &item.source {
            Source::Formula(text) => Some(text.as_str()),
            Source::Column(..) | Source::Value => None,
        });
        let all = formulas
            .chain(wanted.predicate.as_deref())
            .chain(wanted.value.as_deref());
        let mut problem = naming([&self.x, &wanted.names[1]], all);
        let mut named = problem.named_columns();
        if wanted.same {
            problem.y = None;
            named = problem.named_columns();
        }
        let arranged = Arranged {
            coordinates: self.columns.as_deref(),
            keys: keys.map_or_else(Default::default, |keys| keys.columns.clone()),
            codes: keys.map(|keys| &keys.codes),
            named,
        };
        arranged.data(&problem, sides, &options.budget)
    }
    fn output<'p>(&self, prepared: &'p PreparedJoin, options: &Options<'_>) -> Result<Output<'p>> {
        let items = prepared.items.clone();
        let sides = prepared.sides();
        Output::new(items, sides, &prepared.data, &self.params, options.threads)
    }
    fn matching<'p>(&self, prepared: &'p PreparedJoin, options: &'p Options<'p>) -> Matching<'p> {
        let keys = prepared.keys.as_ref();
        Matching::new(&prepared.wanted, keys, &prepared.data, options)
    }
    fn joined(
        &self,
        prepared: &PreparedJoin,
        mut sink: Sink,
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        let output = self.output(prepared, options)?;
        let mut rows = 0;
        let pairs = self.matching(prepared, options).each(&mut |found| {
            rows += found.i.len() as u64;
            sink.take(&output, found, &options.budget)
        })?;
        let cells = match sink {
            Sink::File(file) => {
                file.finish()?;
                vec![]
            }
            Sink::Memory(cells, _) | Sink::First(cells, _) => cells,
        };
        let cells = match cells.is_empty() {
            true => output.cells(&Found::default())?,
            false => cells,
        };
        let columns = output
            .columns
            .iter()
            .zip(cells)
            .map(|((name, _), cells)| JoinedColumn {
                name: name.clone(),
                cells,
            });
        Ok(JoinedRows {
            columns: columns.collect(),
            rows,
            pairs,
            rule: self.rule(),
        })
    }
    /// What the rows are, in a line.
    fn rule(&self) -> String {
        let mut parts = vec![];
        if !self.on.is_empty() {
            parts.push(format!("equal {}", self.on.join(", ")));
        }
        parts.extend(self.predicate.clone());
        if let (Some(k), Some(value)) = (self.nearest, self.value_formula()) {
            parts.push(format!("the {k} nearest by {value}"));
        }
        let kind = format!("{:?}", self.kind).to_lowercase();
        format!(
            "{kind}: {}; nulls match nothing; rows of x, then of y, ascend",
            parts.join("; ")
        )
    }
}

/// Refuses a shard and a checkpoint.
fn whole(options: &Options<'_>) -> Result<()> {
    saved::whole(
        options,
        "one run of the whole join, with more threads or a device",
    )
}

impl PreparedJoin {
    /// The columns of the output: name, table, and column there.
    fn described(&self, output: &Output<'_>) -> Vec<(String, usize, String)> {
        let one = |(item, (name, _)): (&Item, &(String, CellKind))| match &item.source {
            Source::Column(side, place) => {
                let column = self.sides()[*side].columns().find(|(_, at)| at == place);
                let column = column.map_or(String::new(), |(name, _)| name.to_string());
                (name.clone(), *side, column)
            }
            Source::Formula(_) => (name.clone(), 2, "formula".to_string()),
            Source::Value => (name.clone(), 2, "value".to_string()),
        };
        self.items.iter().zip(&output.columns).map(one).collect()
    }
}

impl JoinedRows {
    /// Names of the columns.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.columns
            .iter()
            .map(|column| column.name.as_str())
            .collect()
    }
    /// Writes the rows in memory to `path`, in the format of its suffix.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        let notes = [self.rule.clone()];
        if is_streamed(path) {
            let kind = |cells: &Cells| match cells {
                Cells::Numbers(_) => CellKind::Number,
                Cells::Whole(_) => CellKind::Whole,
                Cells::Words(..) => CellKind::Word,
            };
            let columns: Vec<(String, CellKind)> = self
                .columns
                .iter()
                .map(|column| (column.name.clone(), kind(&column.cells)))
                .collect();
            let mut file = zipfold_io::rows_write::RowsWriter::create(path, &columns, &notes, how)?;
            let cells: Vec<Cells> = self.columns.iter().map(|c| c.cells.clone()).collect();
            file.push(&cells)?;
            return file.finish();
        }
        let columns: Vec<(String, Column<'_>)> = self
            .columns
            .iter()
            .map(|column| {
                let cells = match &column.cells {
                    Cells::Numbers(values) | Cells::Whole(values) => Column::F64(values),
                    Cells::Words(words, rows) => Column::Words(words, rows),
                };
                (column.name.clone(), cells)
            })
            .collect();
        saved::write(path, &columns, &notes, how)
    }
    /// The first rows as lines of text, below the names of the columns.
    #[must_use]
    pub fn lines(&self) -> String {
        let rows = self.columns.first().map_or(0, |c| c.cells.len()).min(SHOWN);
        let mut lines = vec![String::new(); rows + 1];
        for column in &self.columns {
            let mut texts = vec![column.name.clone()];
            for row in 0..rows {
                let mut text = String::new();
                column.cells.show(row, &mut text);
                texts.push(text);
            }
            let wide = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0);
            for (line, text) in lines.iter_mut().zip(texts) {
                let gap = if line.is_empty() { "" } else { "  " };
                *line += &format!("{gap}{text:<wide$}");
            }
        }
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n")
    }
    /// The answer as JSON: how many rows, the columns, and the rules.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "rows": self.rows,
            "pairs": self.pairs,
            "columns": self.names(),
            "rule": self.rule,
        })
    }
}

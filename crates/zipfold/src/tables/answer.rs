//! From the question of a join of tables to its rows.

use super::asked::TableJoin;
use super::found::{Matching, NearestRows, Taker, Wanted, names_of, naming};
use super::gathered::{Destination, JoinedRows, MatchedRows, gathered, numbers};
use super::keys::RowsByKey;
use super::output::OutputColumns;
use super::select::{Item, Source, items, needed};
use super::sides::{Arranged, SideTable};
use crate::options::Options;
use crate::saved;
use zipfold_core::{Budget, Data, Error, Labels, Message, Opt, Result, Table};
use zipfold_io::OutputOptions;

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
    fn matching<'p>(&'p self, options: &'p Options<'p>) -> Matching<'p> {
        Matching::new(&self.wanted, self.keys.as_ref(), &self.data, options)
    }
}

/// The value of a match in the columns of an output.
const VALUE: &str = "value";
/// A condition that all pairs meet.
const EVERY_PAIR: &str = "1 == 1";

impl TableJoin {
    /// Reads the tables and joins them; all rows of the output are in memory.
    ///
    /// # Errors
    /// Those of the readers and of [`TableJoin::of_tables`].
    pub fn run(&self, options: &Options<'_>) -> Result<JoinedRows> {
        self.joined(self.tables(options)?, Destination::Memory, options)
    }
    /// Reads the tables and joins them; keeps the first rows of the output alone, and counts all.
    ///
    /// # Errors
    /// Those of [`TableJoin::run`].
    pub fn preview(&self, options: &Options<'_>) -> Result<JoinedRows> {
        self.joined(self.tables(options)?, Destination::First, options)
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
        self.joined(tables, Destination::Memory, options)
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
        let finder = |sink: &mut Taker<'_>| prepared.matching(options).each(sink);
        numbers(&finder, &output, options)
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
        self.joined(self.tables(options)?, Destination::File(path, how), options)
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
        self.joined(tables, Destination::File(path, how), options)
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
        let plan = prepared.matching(options).explain()?;
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
        self.read_beside([None, None], &options.budget)
    }
    /// Reads the tables that are not among the `known` ones: the columns that the question reads,
    /// or all where it reads whole rows or selects all.
    ///
    /// # Errors
    /// Those of the readers.
    pub fn read_beside(
        &self,
        known: [Option<Table>; 2],
        budget: &Budget,
    ) -> Result<(Table, Option<Table>)> {
        let [x, y] = self.needed();
        let [first, second] = known;
        let read = |name: &String, known: Option<Table>, needed| match known {
            Some(table) => Ok(table),
            None => {
                Ok(SideTable::read(name, self.header, (needed, Some(&self.ids)), budget)?.table)
            }
        };
        let Some(name) = &self.y else {
            let both = x.zip(y).map(|(x, y)| [x, y].concat());
            let table = read(&self.x, first, both.map(once))?;
            self.check_ids([&table, &table])?;
            return Ok((table, None));
        };
        let (first, second) = (read(&self.x, first, x)?, read(name, second, y)?);
        self.check_ids([&first, &second])?;
        Ok((first, Some(second)))
    }
    /// Refuses columns of words that neither table has.
    fn check_ids(&self, tables: [&Table; 2]) -> Result<()> {
        let words = tables.iter().filter_map(|table| table.labels());
        let words: Vec<&str> = words
            .flat_map(Labels::columns)
            .map(|column| &*column.name)
            .collect();
        match self.ids.iter().find(|id| !words.contains(&id.as_str())) {
            Some(id) => {
                let what = format!("expected a column by name, got '{id}'");
                let e = Error::request(what).at_place(Opt::Ids);
                Err(e.remedy("a column that the join reads, as a key"))
            }
            None => Ok(()),
        }
    }
    /// By side, the columns that the question reads.
    fn needed(&self) -> [Option<Vec<String>>; 2] {
        let value = self.value_formula();
        let formulas: Vec<&str> = self
            .predicate
            .iter()
            .chain(&value)
            .map(String::as_str)
            .collect();
        // Chosen coordinates are all that whole rows are.
        let formulas = match &self.columns {
            None => formulas,
            Some(_) => vec![],
        };
        let mut sides = needed(&self.select, &formulas);
        if self.columns.is_some() {
            let of = self.predicate.iter().chain(&value).map(String::as_str);
            let named = names_of(of).columns;
            let both = sides.iter_mut().zip(named);
            both.for_each(|(side, named)| side.iter_mut().for_each(|s| s.extend(named.clone())));
        }
        for (at, side) in sides.iter_mut().enumerate() {
            let Some(side) = side else { continue };
            side.extend(self.columns.iter().flatten().cloned());
            side.extend(
                self.on
                    .iter()
                    .map(|on| RowsByKey::names(on)[at].to_string()),
            );
        }
        sides.map(|side| side.map(once))
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
            let all = items(&self.select, sides, (valued, VALUE))?;
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
        items(&texts, sides, (valued, VALUE))
    }
    fn wanted(&self) -> Wanted {
        let y = self.y.as_ref().unwrap_or(&self.x);
        let value = self.value_formula();
        // Pairs of equal keys are listed, and have no values: a value takes the engine.
        let any = value.is_some() && self.nearest.is_none() && self.kind.has_pairs();
        let any = any.then(|| EVERY_PAIR.to_string());
        Wanted {
            names: [self.x.clone(), y.clone()],
            same: self.y.is_none(),
            ordered: self.ordered,
            predicate: self.predicate.clone().or(any),
            pair: self.pair(),
            value,
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
    fn output<'p>(
        &self,
        prepared: &'p PreparedJoin,
        options: &Options<'_>,
    ) -> Result<OutputColumns<'p>> {
        let items = prepared.items.clone();
        let sides = prepared.sides();
        OutputColumns::new(items, sides, &prepared.data, &self.params, options.threads)
    }
    fn joined(
        &self,
        tables: (Table, Option<Table>),
        destination: Destination<'_>,
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        let prepared = self.prepare(tables, options)?;
        let output = self.output(&prepared, options)?;
        let finder = |sink: &mut Taker<'_>| prepared.matching(options).each(sink);
        gathered(&finder, &output, destination, self.rule(), options)
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

/// Each of `names` once.
fn once(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

//! Matches of two catalogues by position: on the sky or in space, nearest or all within a radius. A
//! description on top of questions about pairs, without kernels of its own.
//!
//! ```text
//! ra, dec → unit vectors        a chord decides: 2 sin(radius / 2)
//! unit vectors → separation     2 atan2(|a − b|, |a + b|), exact at all angles
//! ```
//!
//! Positions on the sky are rounded to 10⁻¹⁶ of a radian, 5·10⁻¹¹ arcseconds.

use crate::options::Options;
use crate::paircount::{refuse_nan, sky};
use crate::saved;
use crate::tables::{
    Arranged, ColumnPlace, Destination, Item, JoinedRows, MatchBatch, MatchedRows, Matching,
    NearestRows, OutputColumns, SideTable, Source, TableKind, Taker, Ties, Wanted, gathered,
    hand_on, items, naming, needed, numbers, reserve_lists,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zipfold_core::problem::PairSpec;
use zipfold_core::{Budget, Data, Error, Message, Opt, Result, Table};
use zipfold_io::OutputOptions;
use zipfold_plan::Stop;

/// Arcseconds of a radian.
const ARCSECONDS: f64 = 648_000.0 / std::f64::consts::PI;
/// Arcseconds of half a turn.
const HALF_TURN: f64 = 648_000.0;
/// The value of a match in the columns of an output.
const SEPARATION: &str = "separation";

/// Matches of two catalogues by position, as a question. Its TOML has the same keys.
///
/// ```
/// use zipfold::{Options, Table};
/// use zipfold::internals::crossmatch::CrossMatch;
/// let names = || vec!["ra".to_string(), "dec".to_string()];
/// let a = Table::f64(2, 2, vec![10.0, 0.0, 200.0, 45.0])?.with_names(names())?;
/// let b = Table::f64(2, 2, vec![10.0, 0.0005, 80.0, 45.0])?.with_names(names())?;
/// let asked = CrossMatch { radius: Some(2.0), ..CrossMatch::new("a", "b") }; // arcseconds
/// let found = asked.rows_of_tables((a, b), &Options::default())?;
/// assert_eq!((found.i, found.j), (vec![0], vec![0]));
/// assert!((found.values[0] - 1.8).abs() < 1e-9);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossMatch {
    /// The catalogue called x.
    pub x: String,
    /// The catalogue called y.
    pub y: String,
    /// The columns of positions. By default those called ra and dec, else x, y, z, else x, y.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Those of y; by default the same.
    #[serde(default)]
    pub columns2: Option<Vec<String>>,
    /// The chosen columns are right ascension and declination in degrees.
    #[serde(default)]
    pub sky: bool,
    /// The largest separation of a match: arcseconds on the sky, else in the units of the columns.
    #[serde(default)]
    pub radius: Option<f64>,
    /// Which rows of y are matched.
    #[serde(default)]
    pub find: Find,
    /// Of the nearest, how many for each row of x.
    #[serde(default = "one_row")]
    pub nearest: usize,
    /// What becomes of the matches.
    #[serde(default, rename = "join_kind")]
    pub kind: TableKind,
    /// The columns of the output, as those of a join of tables; `separation` is the value. By
    /// default all, and the separation.
    #[serde(default)]
    pub select: Vec<String>,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default)]
    pub header: Option<bool>,
}

fn one_row() -> usize {
    1
}

/// Which rows of y are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Find {
    /// The nearest ones of each row of x.
    #[default]
    Nearest,
    /// All within the radius.
    All,
    /// Pairs of rows that are the nearest of each other.
    Mutual,
}

/// Two catalogues, and their positions.
struct PreparedMatch {
    sides: [SideTable; 2],
    positions: Data,
    /// What formulas of the output read.
    data: Data,
    items: Vec<Item>,
    on_sky: bool,
}

impl CrossMatch {
    /// The nearest row of `y` for each row of `x`.
    pub fn new(x: impl Into<String>, y: impl Into<String>) -> CrossMatch {
        CrossMatch {
            x: x.into(),
            y: y.into(),
            columns: None,
            columns2: None,
            sky: false,
            radius: None,
            find: Find::Nearest,
            nearest: 1,
            kind: TableKind::Inner,
            select: vec![],
            header: None,
        }
    }
    /// Reads the catalogues and matches them; all rows of the output are in memory.
    ///
    /// # Errors
    /// Those of the readers and of [`CrossMatch::rows_of_tables`].
    pub fn run(&self, options: &Options<'_>) -> Result<JoinedRows> {
        self.joined(self.tables(options)?, Destination::Memory, options)
    }
    /// Reads the catalogues and matches them; keeps the first rows of the output alone, and counts
    /// all.
    ///
    /// # Errors
    /// Those of [`CrossMatch::run`].
    pub fn preview(&self, options: &Options<'_>) -> Result<JoinedRows> {
        self.joined(self.tables(options)?, Destination::First, options)
    }
    /// Reads the catalogues, matches them, and writes the rows to `path` while they are found.
    ///
    /// # Errors
    /// Those of [`CrossMatch::run`]; `Request` for another suffix, or for an output that exists;
    /// those of the file system.
    pub fn run_to(
        &self,
        path: &str,
        how: OutputOptions,
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        self.joined(self.tables(options)?, Destination::File(path, how), options)
    }
    /// Matches catalogues; all rows of the output are in memory.
    ///
    /// # Errors
    /// Those of [`CrossMatch::rows_of_tables`].
    pub fn of_tables(&self, tables: (Table, Table), options: &Options<'_>) -> Result<JoinedRows> {
        self.joined(tables, Destination::Memory, options)
    }
    /// As [`CrossMatch::run_to`], of tables in memory.
    ///
    /// # Errors
    /// Those of [`CrossMatch::run_to`].
    pub fn write_tables(
        &self,
        tables: (Table, Table),
        path: &str,
        how: OutputOptions,
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        self.joined(tables, Destination::File(path, how), options)
    }
    /// Matches catalogues; gives the numbers of rows and their separations, and no cells.
    ///
    /// # Errors
    /// `Request` for columns that there are not and options that mean nothing together; `Input` for
    /// angles out of range and positions that are none, with the row; `Resource` beyond the budget.
    pub fn rows_of_tables(
        &self,
        tables: (Table, Table),
        options: &Options<'_>,
    ) -> Result<MatchedRows> {
        let prepared = self.prepare(tables, options)?;
        let output = prepared.output(options)?;
        numbers(
            &|sink| self.each(&prepared, options, sink),
            &output,
            options,
        )
    }
    /// Says how the catalogues would be matched.
    ///
    /// # Errors
    /// Those of [`CrossMatch::run`].
    pub fn explain(&self, options: &Options<'_>) -> Result<Message> {
        self.explain_tables(self.tables(options)?, options)
    }
    /// As [`CrossMatch::explain`], of tables in memory.
    ///
    /// # Errors
    /// Those of [`CrossMatch::rows_of_tables`].
    pub fn explain_tables(&self, tables: (Table, Table), options: &Options<'_>) -> Result<Message> {
        let prepared = self.prepare(tables, options)?;
        let wanted = self.wanted(prepared.on_sky);
        let plan = Matching::new(&wanted, None, &prepared.positions, options).explain()?;
        let rule = self.rule(prepared.on_sky);
        let text = format!("crossmatch {rule}\n\n{}", plan.marked().trim_end());
        Ok(Message::from(text))
    }
    fn joined(
        &self,
        tables: (Table, Table),
        destination: Destination<'_>,
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        let prepared = self.prepare(tables, options)?;
        let (output, rule) = (prepared.output(options)?, self.rule(prepared.on_sky));
        let finder = |sink: &mut Taker<'_>| self.each(&prepared, options, sink);
        gathered(&finder, &output, destination, rule, options)
    }
    /// The catalogues that the question names.
    fn tables(&self, options: &Options<'_>) -> Result<(Table, Table)> {
        self.check(options)?;
        self.read_beside([None, None], &options.budget)
    }
    /// Reads the catalogues that are not among the `known` ones: the columns that the question
    /// reads where it names positions and selects columns, else all.
    ///
    /// # Errors
    /// Those of the readers.
    pub fn read_beside(
        &self,
        known: [Option<Table>; 2],
        budget: &Budget,
    ) -> Result<(Table, Table)> {
        let positions = [
            &self.columns,
            self.columns2
                .as_ref()
                .map_or(&self.columns, |_| &self.columns2),
        ];
        let select = needed(&self.select, &[]);
        let read = |(name, known): (&String, Option<Table>), at: usize| match known {
            Some(table) => Ok(table),
            None => {
                let both = positions[at].clone().zip(select[at].clone());
                let columns = both.map(|(mut columns, more)| {
                    columns.extend(more);
                    columns.sort();
                    columns.dedup();
                    columns
                });
                Ok(SideTable::read(name, self.header, (columns, None), budget)?.table)
            }
        };
        let [x, y] = known;
        Ok((read((&self.x, x), 0)?, read((&self.y, y), 1)?))
    }
    /// Refuses what has no meaning together.
    fn check(&self, options: &Options<'_>) -> Result<()> {
        saved::whole(
            options,
            "one run of the whole question, with more threads or a device",
        )?;
        let refuse = |what: &str, place: Opt, remedy: String| {
            Err(Error::request(what.to_string())
                .at_place(place)
                .remedy(remedy))
        };
        if let Some(radius) = self.radius.filter(|r| !(*r >= 0.0 && r.is_finite())) {
            let what = format!("expected a radius from 0 on, got {radius}");
            return refuse(&what, Opt::Radius, Opt::Radius.to(2));
        }
        if self.find == Find::All && self.radius.is_none() {
            let what = "expected the radius of all matches, got none";
            return refuse(what, Opt::Radius, Opt::Radius.to(2));
        }
        if self.nearest == 0 {
            let what = "expected at least 1 row, got 0";
            return refuse(what, Opt::Nearest, Opt::Nearest.to(1));
        }
        if self.nearest > 1 && self.find != Find::Nearest {
            let what = "expected nearest rows for their number, got others";
            return refuse(what, Opt::Nearest, Opt::Find.to("nearest"));
        }
        if self.sky && self.columns.is_none() {
            let what = "expected the columns of angles, got none";
            return refuse(what, Opt::Positions, Opt::Positions.like("RA,DEC"));
        }
        if self.columns2.is_some() && self.columns.is_none() {
            let what = "expected the columns of x beside those of y, got none";
            return refuse(what, Opt::Positions, Opt::Positions.like("RA,DEC"));
        }
        Ok(())
    }
    fn prepare(&self, (x, y): (Table, Table), options: &Options<'_>) -> Result<PreparedMatch> {
        self.check(options)?;
        let sides = [SideTable::new(&self.x, x)?, SideTable::new(&self.y, y)?];
        let both = [&sides[0], &sides[1]];
        let (columns, on_sky) = self.columns(both)?;
        if let (true, Some(radius)) = (on_sky, self.radius.filter(|r| *r > HALF_TURN)) {
            let e = Error::request(format!(
                "expected at most half a turn, got {radius} arcseconds"
            ));
            return Err(e
                .at_place(Opt::Radius)
                .limit("648000 arcseconds")
                .remedy(Opt::Radius.to(2)));
        }
        let [of_x, of_y] = self.options();
        let [x, y] = [
            positions(both[0], (&columns[0], of_x), on_sky, &options.budget)?,
            positions(both[1], (&columns[1], of_y), on_sky, &options.budget)?,
        ];
        if x.cols() != y.cols() {
            let what = format!(
                "expected as many coordinates in both, got {} and {}",
                x.cols(),
                y.cols()
            );
            let e = Error::request(what).at_place(of_y);
            return Err(e.remedy("as many columns of x as of y"));
        }
        let positions = Data {
            pairs: None,
            x,
            y: Some(y),
            weights: vec![None],
        };
        let items = self.items(both)?;
        let data = self.data(both, &items, options)?;
        Ok(PreparedMatch {
            positions,
            data,
            items,
            on_sky,
            sides,
        })
    }
    /// What asks for the columns of x and of y, as messages name it.
    fn options(&self) -> [Opt; 2] {
        let of_y = self.columns2.as_ref().map(|_| Opt::Columns2);
        [Opt::Positions, of_y.unwrap_or(Opt::Positions)]
    }
    /// The columns of positions of x and of y, and whether they are angles.
    fn columns(&self, sides: [&SideTable; 2]) -> Result<([Vec<String>; 2], bool)> {
        if let Some(columns) = &self.columns {
            let other = self.columns2.as_ref().unwrap_or(columns);
            let counts = if self.sky { 2..=2 } else { 1..=usize::MAX };
            for (columns, option) in [columns, other].into_iter().zip(self.options()) {
                if !counts.contains(&columns.len()) {
                    let (what, remedy) = match self.sky {
                        true => ("two columns of angles", "right ascension and declination"),
                        false => ("the columns of positions", "at least one column"),
                    };
                    let what = format!("expected {what}, got {}", columns.len());
                    return Err(Error::request(what).at_place(option).remedy(remedy));
                }
            }
            return Ok(([columns.clone(), other.clone()], self.sky));
        }
        if let Some(usual) = usual_columns(sides) {
            return Ok(usual);
        }
        let what = "expected columns called ra and dec, x, y and z, or x and y in both, got others";
        let e = Error::request(what).at_place(Opt::Positions);
        Err(e.remedy(Opt::Positions.like("RA,DEC")))
    }
    fn items(&self, sides: [&SideTable; 2]) -> Result<Vec<Item>> {
        let valued = self.kind.has_pairs();
        let own: &[&str] = match valued {
            true => &["*", SEPARATION],
            false => &["x.*"],
        };
        let texts: Vec<String> = match self.select.is_empty() {
            true => own.iter().map(|text| (*text).to_string()).collect(),
            false => self.select.clone(),
        };
        items(&texts, sides, (valued, SEPARATION))
    }
    /// The rows that formulas of the output read.
    fn data(&self, sides: [&SideTable; 2], items: &[Item], options: &Options<'_>) -> Result<Data> {
        let formulas = items.iter().filter_map(|item| match &item.source {
            Source::Formula(text) => Some(text.as_str()),
            Source::Column(..) | Source::Value => None,
        });
        let problem = naming([&self.x, &self.y], formulas);
        let arranged = Arranged {
            coordinates: None,
            keys: Default::default(),
            codes: None,
            named: problem.named_columns(),
        };
        arranged.data(&problem, sides, &options.budget)
    }
    /// The question about pairs of positions, by their distance.
    fn wanted(&self, on_sky: bool) -> Wanted {
        let limit = self.radius.map(|radius| match on_sky {
            true => 2.0 * (radius / ARCSECONDS / 2.0).sin(),
            false => radius,
        });
        let (predicate, nearest) = match self.find {
            Find::All => (limit.map(|limit| format!("norm(x - y) <= {limit:?}")), None),
            Find::Nearest | Find::Mutual => {
                let nearest = NearestRows {
                    k: self.nearest,
                    ties: Ties::First,
                    within: limit,
                };
                (None, Some(nearest))
            }
        };
        Wanted {
            names: [self.x.clone(), self.y.clone()],
            same: false,
            ordered: false,
            predicate,
            pair: PairSpec::default(),
            value: Some("norm(x - y)".into()),
            kind: self.kind,
            nearest,
        }
    }
    /// Finds the matches, with their separations.
    fn each(
        &self,
        prepared: &PreparedMatch,
        options: &Options<'_>,
        sink: &mut Taker<'_>,
    ) -> Result<u64> {
        let wanted = self.wanted(prepared.on_sky);
        let data = &prepared.positions;
        let mut separated = |found: &MatchBatch| match prepared.on_sky {
            true => sink(&separations(found, data)),
            false => sink(found),
        };
        if self.find != Find::Mutual {
            return Matching::new(&wanted, None, data, options).each(&mut separated);
        }
        let one_way = Wanted {
            kind: TableKind::Inner,
            ..wanted.clone()
        };
        let back = Data {
            pairs: None,
            x: data.other().clone(),
            y: Some(data.x.clone()),
            weights: vec![None],
        };
        let budget = &options.budget;
        let bytes = back.x.rows() as u64 * 8;
        let _back = budget.reserve(bytes, "the nearest rows of y")?;
        // Parts of x would have other rows that are nearest to each other.
        let _lists = reserve_lists(budget, data.x.rows(), 1)
            .map_err(|e| e.remedy(format!("more {}", Opt::Memory)))?;
        let mut nearest = vec![u64::MAX; back.x.rows()];
        let mut pairs = Matching::new(&one_way, None, &back, options).each(&mut |found| {
            for (j, i) in found.i.iter().zip(&found.j) {
                nearest[*j as usize] = *i as u64;
            }
            Ok(())
        })?;
        let mut lists = vec![vec![]; data.x.rows()];
        pairs += Matching::new(&one_way, None, data, options).each(&mut |found| {
            for ((i, j), value) in found.i.iter().zip(&found.j).zip(&found.values) {
                if nearest[*j as usize] == *i {
                    lists[*i as usize].push((*value, *j as u64));
                }
            }
            Ok(())
        })?;
        hand_on(self.kind, &lists, Stop(options.stop), &mut separated)?;
        Ok(pairs)
    }
    /// What the rows are, in a line.
    fn rule(&self, on_sky: bool) -> String {
        let unit = if on_sky { " arcsec" } else { "" };
        let within = self
            .radius
            .map_or(String::new(), |radius| format!(" within {radius}{unit}"));
        let what = match self.find {
            Find::Nearest => format!("the {} nearest{within}", self.nearest),
            Find::All => format!("all{within}"),
            Find::Mutual => format!("nearest of each other{within}"),
        };
        let kind = format!("{:?}", self.kind).to_lowercase();
        format!("{kind}: {what}; rows of x, then of y, ascend")
    }
}

impl PreparedMatch {
    fn output(&self, options: &Options<'_>) -> Result<OutputColumns<'_>> {
        let sides = [&self.sides[0], &self.sides[1]];
        OutputColumns::new(
            self.items.clone(),
            sides,
            &self.data,
            &BTreeMap::new(),
            options.threads,
        )
    }
}

/// The columns of positions of x and of y by their usual names, and whether they are angles.
fn usual_columns(sides: [&SideTable; 2]) -> Option<([Vec<String>; 2], bool)> {
    let usual: [(&[&str], bool); 3] = [
        (&["ra", "dec"], true),
        (&["x", "y", "z"], false),
        (&["x", "y"], false),
    ];
    for (wanted, on_sky) in usual {
        let found = |side: &SideTable| {
            let own = |name: &&str| {
                let same = |(have, _): &(&str, ColumnPlace)| have.eq_ignore_ascii_case(name);
                side.columns().find(same).map(|(have, _)| have.to_string())
            };
            wanted.iter().map(own).collect::<Option<Vec<String>>>()
        };
        if let (Some(x), Some(y)) = (found(sides[0]), found(sides[1])) {
            return Some(([x, y], on_sky));
        }
    }
    None
}

/// Positions: unit vectors of angles, or the columns as they are.
fn positions(
    side: &SideTable,
    (columns, option): (&[String], Opt),
    on_sky: bool,
    budget: &Budget,
) -> Result<Table> {
    let column = |name: &String| side.column(name, option);
    let place = |name: &String| match column(name)? {
        ColumnPlace::Number(at) => Ok(at),
        ColumnPlace::Word(_) => {
            let e = Error::request(format!(
                "expected numbers for positions, got text in '{name}' of {}",
                side.name
            ));
            Err(e.at_place(option).remedy("columns of numbers"))
        }
    };
    let places: Vec<usize> = columns.iter().map(place).collect::<Result<_>>()?;
    refuse_nan(&side.table, &places, &side.name)?;
    if on_sky {
        let _held = budget.reserve(side.rows() as u64 * 5 * 8, "the positions of a catalogue")?;
        return sky(&side.table, &places, &side.name);
    }
    let picked = side.table.picked(&places, budget, "the positions")?;
    let names = (0..picked.cols()).map(|at| format!("c{at}")).collect();
    Table::new(picked.rows(), picked.cols(), picked.elements().clone())?.with_names(names)
}

/// `found` with separations in arcseconds for values.
fn separations(found: &MatchBatch, data: &Data) -> MatchBatch {
    let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
    let mut one = |(i, j): (&u64, &i64)| match usize::try_from(*j) {
        Err(_) => f64::NAN,
        Ok(j) => {
            data.x.row_into(*i as usize, &mut a);
            data.other().row_into(j, &mut b);
            separation(&a, &b)
        }
    };
    let values = match found.values.is_empty() {
        true => vec![],
        false => found.i.iter().zip(&found.j).map(&mut one).collect(),
    };
    MatchBatch {
        i: found.i.clone(),
        j: found.j.clone(),
        values,
    }
}

/// The angle between unit vectors, in arcseconds: 2 atan2(|a − b|, |a + b|) (Kahan), which has all
/// digits near 0 and near half a turn.
fn separation(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let length = |sign: f64| {
        let square = |at: usize| (a[at] + sign * b[at]).powi(2);
        (0..3).map(square).sum::<f64>().sqrt()
    };
    2.0 * length(-1.0).atan2(length(1.0)) * ARCSECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separations_have_all_digits_near_and_far() {
        let at = |ra: f64, dec: f64| {
            let (ra, dec) = (ra.to_radians(), dec.to_radians());
            [dec.cos() * ra.cos(), dec.cos() * ra.sin(), dec.sin()]
        };
        for (dec, expected) in [
            (0.001 / 3600.0, 0.001),
            (90.0, 324_000.0),
            (-30.0, 108_000.0),
        ] {
            let found = separation(&at(10.0, 0.0), &at(10.0, dec));
            assert!(
                (found - expected).abs() < 1e-9,
                "{dec}: {found} for {expected}"
            );
        }
        let far = separation(&at(10.0, 20.0), &at(190.0, -20.0 + 0.5 / 3600.0));
        assert!((far - (648_000.0 - 0.5)).abs() < 1e-9, "{far}");
    }
}

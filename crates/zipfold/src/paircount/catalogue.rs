//! Catalogues: from tables with columns to positions, weights and regions.

use super::asked::{PairCount, Regions, Separation};
use crate::marked::expect;
use std::collections::BTreeSet;
use zipfold_core::problem::{FoldSpec, Input, PairSpec};
use zipfold_core::{Budget, Error, Opt, Problem, Result, Table};
use zipfold_io::{ReadOptions, read_table};

/// The attribute that has the region of a row.
pub(super) const REGION: &str = "region of the row";
/// The attribute that has the weight of a row, where a formula reads it.
pub(super) const WEIGHT: &str = "row_weight";
/// The attributes that have the realisations of a row, each with its number behind.
pub(super) const BITS: &str = "realisations_";

/// The tables of a question, with their columns by name. A catalogue that the question does not
/// name is none.
///
/// ```
/// use zipfold::internals::paircount::{Catalogues, PairCount};
/// use zipfold::{Options, Table};
/// let names = ["x", "y", "z"].map(String::from).to_vec();
/// let data = Table::f64(2, 3, vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0])?.with_names(names)?;
/// let asked = PairCount { edges: Some(vec![0.5, 2.0]), ..PairCount::new("data") };
/// let tables = Catalogues { data, ..Catalogues::default() };
/// assert_eq!(asked.count(&tables, &Options::default())?.terms[0].counts, [2]);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Catalogues {
    /// The catalogue.
    pub data: Table,
    /// The second catalogue.
    pub data2: Option<Table>,
    /// Points without structure.
    pub randoms: Option<Table>,
    /// Those of the second catalogue.
    pub randoms2: Option<Table>,
    /// Randoms that were moved with the data.
    pub shifted: Option<Table>,
}

impl Default for Catalogues {
    fn default() -> Self {
        let nothing = zipfold_core::Elements::F64(Vec::new().into());
        Catalogues {
            // INVARIANT: no rows of one column hold no elements.
            data: Table::new(0, 1, nothing).expect("no rows"),
            data2: None,
            randoms: None,
            randoms2: None,
            shifted: None,
        }
    }
}

/// Positions of a catalogue, and what belongs to them.
#[derive(Clone, Debug)]
pub(super) struct Catalogue {
    /// What messages call it.
    pub(super) name: String,
    /// Positions, and attributes that formulas read.
    pub(super) table: Table,
    pub(super) weights: Option<Vec<f64>>,
    /// By row, what the column of regions has.
    pub(super) marks: Option<Vec<f64>>,
    /// By row, the number of its region among those of all catalogues.
    pub(super) regions: Option<Vec<u32>>,
}

/// All catalogues of a question.
pub(super) struct PreparedCatalogues {
    /// Data, and the second data.
    pub(super) data: [Option<Catalogue>; 2],
    pub(super) randoms: [Option<Catalogue>; 2],
    pub(super) shifted: Option<Catalogue>,
    /// Number of regions; 0 without.
    pub(super) regions: usize,
}

/// What a catalogue is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Randoms,
}

impl PairCount {
    /// Reads the catalogues: CSV, TSV, NPY, NPZ, Parquet, Arrow and FITS.
    ///
    /// # Errors
    /// Those of the readers.
    pub fn read(&self, budget: &Budget) -> Result<Catalogues> {
        self.read_beside(&|_| None, budget)
    }
    /// Reads the catalogues that are not `known` by their names.
    ///
    /// # Errors
    /// Those of [`PairCount::read`].
    pub fn read_beside(
        &self,
        known: &dyn Fn(&str) -> Option<Table>,
        budget: &Budget,
    ) -> Result<Catalogues> {
        let read = |path: &String, kind: Kind| {
            if let Some(table) = known(path) {
                return Ok(table);
            }
            let options = ReadOptions {
                columns: self.wanted(kind),
                ..ReadOptions::default()
            };
            read_table(path, &options, budget)
        };
        let randoms = |path: &Option<String>| {
            path.as_ref()
                .map(|path| read(path, Kind::Randoms))
                .transpose()
        };
        Ok(Catalogues {
            data: read(&self.data, Kind::Data)?,
            data2: self
                .data2
                .as_ref()
                .map(|path| read(path, Kind::Data))
                .transpose()?,
            randoms: randoms(&self.randoms)?,
            randoms2: randoms(&self.randoms2)?,
            shifted: randoms(&self.shifted)?,
        })
    }
    /// The columns of a catalogue, where those of positions are chosen.
    fn wanted(&self, kind: Kind) -> Option<Vec<String>> {
        let mut all = self.columns.clone()?;
        for name in self.others(kind) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        Some(all)
    }
    /// The columns next to positions.
    fn others(&self, kind: Kind) -> Vec<String> {
        let mut all: Vec<String> = self.weights.iter().cloned().collect();
        if let Some(Regions::Column(name)) = &self.regions {
            all.push(name.clone());
        }
        if let (Some(pip), Kind::Data) = (&self.pip, kind) {
            all.extend(pip.columns.iter().cloned());
        }
        all.extend(self.read_by_cut());
        all
    }
    /// The columns that the formula of the cut reads by name.
    fn read_by_cut(&self) -> Vec<String> {
        let Some(cut) = &self.cut else {
            return vec![];
        };
        let problem = Problem::new(
            Input::named("x"),
            PairSpec {
                formula: Some(cut.value.clone()),
                ..PairSpec::default()
            },
            vec![FoldSpec::Matrix {}],
        );
        let [names, _] = problem.named_columns().columns;
        names
    }
    /// Positions and all that belongs to them, of every catalogue.
    pub(super) fn prepare(
        &self,
        tables: &Catalogues,
        budget: &Budget,
    ) -> Result<PreparedCatalogues> {
        let given =
            |table: &Option<Table>, name: &Option<String>| table.is_some() == name.is_some();
        let as_asked = given(&tables.data2, &self.data2)
            && given(&tables.randoms, &self.randoms)
            && given(&tables.randoms2, &self.randoms2)
            && given(&tables.shifted, &self.shifted);
        if !as_asked {
            return Err(Error::request(
                "expected the catalogues that the question names",
            ));
        }
        let one =
            |table: &Table, name: &String, kind: Kind| self.catalogue(table, (name, kind), budget);
        let maybe = |table: &Option<Table>, name: &Option<String>, kind: Kind| {
            let both = table.as_ref().zip(name.as_ref());
            both.map(|(table, name)| one(table, name, kind)).transpose()
        };
        let mut prepared = PreparedCatalogues {
            data: [
                Some(one(&tables.data, &self.data, Kind::Data)?),
                maybe(&tables.data2, &self.data2, Kind::Data)?,
            ],
            randoms: [
                maybe(&tables.randoms, &self.randoms, Kind::Randoms)?,
                maybe(&tables.randoms2, &self.randoms2, Kind::Randoms)?,
            ],
            shifted: maybe(&tables.shifted, &self.shifted, Kind::Randoms)?,
            regions: 0,
        };
        let dims = prepared
            .all()
            .map(|c| c.table.cols())
            .collect::<BTreeSet<_>>();
        if dims.len() > 1 {
            return Err(
                Error::input("expected as many coordinates in all catalogues")
                    .at_place(Opt::Columns)
                    .remedy(Opt::Columns.like("x,y,z")),
            );
        }
        self.set_regions(&mut prepared)?;
        Ok(prepared)
    }
    fn catalogue(
        &self,
        table: &Table,
        (name, kind): (&String, Kind),
        budget: &Budget,
    ) -> Result<Catalogue> {
        let wanted = self.wanted(kind);
        let find = |column: &String| {
            place(table, wanted.as_deref(), column).map_err(|e| e.at_least(name.as_str()))
        };
        let places = self
            .positions(table, wanted.as_deref())
            .map_err(|e| e.at_least(name.as_str()))?;
        let _held = budget.reserve(
            table.rows() as u64 * (places.len() as u64 + 2) * 8,
            "the positions of a catalogue",
        )?;
        refuse_nan(table, &places, name)?;
        let positions = match self.is_sky() {
            true => sky(table, &places, name)?,
            false => table.picked(&places, budget, "the positions")?,
        };
        let weights = self.weights.as_ref().map(&find).transpose()?;
        let weights = weights.map(|at| column(table, at));
        weights.iter().try_for_each(|w| check_weights(w, name))?;
        let marks = match &self.regions {
            Some(Regions::Column(name)) => Some(column(table, find(name)?)),
            Some(Regions::Made(_)) | None => None,
        };
        let own = positions.names().unwrap_or_default();
        let beside = self.beside(kind, own, weights.as_deref(), &|name| {
            Ok(column(table, find(name)?))
        })?;
        Ok(Catalogue {
            name: name.clone(),
            table: with_beside(positions, beside)?,
            weights,
            marks,
            regions: None,
        })
    }
    /// The columns that formulas read next to positions, whose names are `own`.
    fn beside(
        &self,
        kind: Kind,
        own: &[String],
        weights: Option<&[f64]>,
        read: &dyn Fn(&String) -> Result<Vec<f64>>,
    ) -> Result<Vec<(String, Vec<f64>)>> {
        let mut beside: Vec<(String, Vec<f64>)> = vec![];
        if let (Some(pip), Kind::Data) = (&self.pip, kind) {
            for (number, bits) in pip.columns.iter().enumerate() {
                let values = read(bits)?;
                check_bits(&values, bits)?;
                beside.push((format!("{BITS}{number}"), values));
            }
        }
        for named in self.read_by_cut() {
            if !own.contains(&named) {
                let values = read(&named)?;
                beside.push((named, values));
            }
        }
        if let (Some(weights), true) = (weights, self.weighs_by_formula()) {
            beside.push((WEIGHT.into(), weights.to_vec()));
        }
        Ok(beside)
    }
    /// Whether positions are angles.
    pub(super) fn is_sky(&self) -> bool {
        self.sky || self.separation == Separation::Theta
    }
    /// Whether the weight of a pair of data is a formula.
    pub(super) fn weighs_by_formula(&self) -> bool {
        self.pip.is_some() || self.upweights.is_some()
    }
    /// The places of the columns of positions.
    fn positions(&self, table: &Table, wanted: Option<&[String]>) -> Result<Vec<usize>> {
        let (least, most) = match (self.separation, self.sky) {
            // An angle has no distance: a third column would scale it.
            (Separation::Theta, _) => (2, 2),
            (_, true) => (3, 3),
            (Separation::R, false) => (1, 3),
            (Separation::RpPi | Separation::Smu, false) => (3, 3),
        };
        let places = match &self.columns {
            Some(columns) => columns
                .iter()
                .map(|column| place(table, wanted, column))
                .collect::<Result<Vec<_>>>()?,
            None => self.guessed(table, most)?,
        };
        if !(least..=most).contains(&places.len()) {
            let range = match least == most {
                true => least.to_string(),
                false => format!("{least} to {most}"),
            };
            let what = format!(
                "expected {range} columns of positions, got {}",
                places.len()
            );
            let form = match (self.is_sky(), least) {
                (true, 3) => "ra,dec,distance",
                (true, _) => "ra,dec",
                (false, _) => "x,y,z",
            };
            return Err(Error::request(what)
                .at_place(Opt::Columns)
                .remedy(Opt::Columns.like(form)));
        }
        Ok(places)
    }
    /// The columns of positions where none are chosen: by their usual names, or the first ones of a
    /// table without names.
    fn guessed(&self, table: &Table, most: usize) -> Result<Vec<usize>> {
        let usual: &[&str] = match (self.separation, self.is_sky()) {
            (Separation::Theta, _) => &["ra", "dec"],
            (_, true) => &["ra", "dec", "distance"],
            (_, false) => &["x", "y", "z"],
        };
        let Some(names) = table.names() else {
            let beside = self.others(Kind::Data).len();
            return Ok((0..table.cols().saturating_sub(beside).min(most)).collect());
        };
        let find = |wanted: &&str| {
            names
                .iter()
                .position(|name| name.eq_ignore_ascii_case(wanted))
        };
        usual
            .iter()
            .map(find)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| {
                let what = format!("expected columns called {}, got others", usual.join(", "));
                Error::request(what).remedy(Opt::Columns.like(usual.join(",")))
            })
    }
}

/// The place of a column of a table that was read with the columns `wanted`.
pub(super) fn place(table: &Table, wanted: Option<&[String]>, name: &str) -> Result<usize> {
    let by_list = wanted.and_then(|all| all.iter().position(|one| one == name));
    match by_list.filter(|at| *at < table.cols() && table.names().is_none()) {
        Some(at) => Ok(at),
        None => table
            .column(name)
            .or_else(|e| by_list.filter(|at| *at < table.cols()).ok_or(e)),
    }
}

/// A column as numbers.
pub(super) fn column(table: &Table, at: usize) -> Vec<f64> {
    (0..table.rows()).map(|row| table.get(row, at)).collect()
}

fn with_beside(positions: Table, beside: Vec<(String, Vec<f64>)>) -> Result<Table> {
    if beside.is_empty() {
        return Ok(positions);
    }
    let (names, columns): (Vec<String>, Vec<Vec<f64>>) = beside.into_iter().unzip();
    let rows = positions.rows();
    let items = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row]));
    let attributes = Table::f64(rows, columns.len(), items.collect())?.with_names(names)?;
    positions.with_attributes(attributes)
}

/// `table` with one more attribute.
pub(super) fn with_attribute(
    table: &Table,
    name: &str,
    values: impl Iterator<Item = f64>,
) -> Result<Table> {
    let mut beside: Vec<(String, Vec<f64>)> = vec![];
    if let Some(attributes) = table.attributes() {
        let names = attributes.names().unwrap_or_default();
        beside.extend(
            names
                .iter()
                .enumerate()
                .map(|(at, name)| (name.clone(), column(attributes, at))),
        );
    }
    beside.push((name.to_string(), values.collect()));
    let own = Table::new(table.rows(), table.cols(), table.elements().clone())?;
    let own = match table.names() {
        Some(names) => own.with_names(names[..table.cols()].to_vec())?,
        None => own,
    };
    with_beside(own, beside)
}

/// Refuses positions that are none.
pub(crate) fn refuse_nan(table: &Table, places: &[usize], name: &str) -> Result<()> {
    for row in 0..table.rows() {
        for at in places {
            let value = table.get(row, *at);
            if !value.is_finite() {
                let what = format!("expected finite positions, got {value} in row {row} (from 0)");
                return Err(Error::input(what)
                    .at_place(name)
                    .remedy("leave the row out"));
            }
        }
    }
    Ok(())
}

fn check_weights(weights: &[f64], name: &str) -> Result<()> {
    let fine = |w: f64| w.is_finite() && w >= 0.0;
    expect(weights, fine, "weights from 0 on", name)
        .map_err(|e| e.remedy("leave the row out, or weigh it 0"))
}

/// Refuses numbers without bits: what double precision may have rounded, fractions, and what is below 0.
fn check_bits(bits: &[f64], name: &str) -> Result<()> {
    let whole = |v: f64| (0.0..9_007_199_254_740_992.0).contains(&v) && v.fract() == 0.0;
    expect(bits, whole, "whole numbers from 0 to 2^53 - 1", name)
        .map_err(|e| e.remedy("several columns of at most 53 bits each"))
}

/// Refuses angles out of range, with a hint where the columns look swapped.
fn check_angles(ra: &[f64], dec: &[f64], name: &str) -> Result<()> {
    let outside =
        |values: &[f64], [lo, hi]: [f64; 2]| values.iter().position(|v| !(lo..=hi).contains(v));
    if let Some(row) = outside(dec, [-90.0, 90.0]) {
        let swapped = outside(ra, [-90.0, 90.0]).is_none();
        let what = format!(
            "expected declinations from -90 to 90 degrees, got {} in row {row} (from 0)",
            dec[row]
        );
        let remedy = match swapped {
            true => format!(
                "the columns look swapped: {} names right ascension first",
                Opt::Columns.like("RA,DEC")
            ),
            false => format!("angles in degrees, {}", Opt::Columns.like("RA,DEC")),
        };
        return Err(Error::input(what).at_place(name).remedy(remedy));
    }
    if let Some(row) = outside(ra, [-180.0, 360.0]) {
        let what = format!(
            "expected right ascensions from -180 to 360 degrees, got {} in row {row} (from 0)",
            ra[row]
        );
        return Err(Error::input(what)
            .at_place(name)
            .remedy("angles in degrees"));
    }
    Ok(())
}

/// The column of distances, where positions have three.
fn distances(table: &Table, places: &[usize], name: &str) -> Result<Option<Vec<f64>>> {
    let distance = (places.len() == 3).then(|| column(table, places[2]));
    if let Some(row) = distance
        .as_ref()
        .and_then(|d| d.iter().position(|d| *d < 0.0))
    {
        let what =
            format!("expected distances from 0 on, got a negative one in row {row} (from 0)");
        return Err(Error::input(what)
            .at_place(name)
            .remedy("leave the row out"));
    }
    Ok(distance)
}

/// Positions on the unit sphere, or at the distances of a third column.
pub(crate) fn sky(table: &Table, places: &[usize], name: &str) -> Result<Table> {
    let (ra, dec) = (column(table, places[0]), column(table, places[1]));
    check_angles(&ra, &dec, name)?;
    let distance = distances(table, places, name)?;
    let mut items = Vec::with_capacity(3 * ra.len());
    for (row, (ra, dec)) in ra.iter().zip(&dec).enumerate() {
        let (ra, dec) = (ra.to_radians(), dec.to_radians());
        let far = distance.as_ref().map_or(1.0, |d| d[row]);
        items.extend([
            far * (dec.cos() * ra.cos()),
            far * (dec.cos() * ra.sin()),
            far * dec.sin(),
        ]);
    }
    let names = ["x", "y", "z"].map(String::from).to_vec();
    Table::f64(ra.len(), 3, items)?.with_names(names)
}

impl PreparedCatalogues {
    /// All catalogues there are.
    pub(super) fn all(&self) -> impl Iterator<Item = &Catalogue> {
        self.data
            .iter()
            .chain(&self.randoms)
            .chain([&self.shifted])
            .flatten()
    }
    /// All catalogues there are.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Catalogue> {
        self.data
            .iter_mut()
            .chain(&mut self.randoms)
            .chain([&mut self.shifted])
            .flatten()
    }
}

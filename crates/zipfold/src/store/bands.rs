//! Bands of rows whose workers read their own rows of x: bytes of an NPY file, row groups of Parquet,
//! chunks of Zarr.
//!
//! ```text
//! plan      for each band: its rows, and a hash of them
//! worker    rows of y, once; for each share the rows of its band, among others of no meaning
//! ```
//!
//! A share looks at no other row of x, so its part is that of a worker with all rows. Other rows of the
//! file may be holes: a mirror of an object store has the rows of its shares alone. What a worker
//! decides by looking at all rows, such as how to prune, keeps a question out of here; the plan tries it
//! without a row of x.

use super::files::Files;
use super::kinds::PIECES;
use super::manifest::{Manifest, OwnRows};
use crate::identity::Key;
use crate::options::Options;
use crate::query::Query;
use crate::warnings::Warnings;
use std::ops::Range;
use zipfold_core::describe::needs_whole_tables;
use zipfold_core::problem::{Input, Problem};
use zipfold_core::{Blame, Budget, Data, Elements, Error, Hash, Job, Result, Table};
use zipfold_io::{ReadOptions, read_rows, read_table};
use zipfold_plan::shares::{self, Cut};
use zipfold_plan::{Overrides, Plan};

/// The most shares whose rows the plan lists.
const MOST: usize = 1 << 16;

/// The rows that each of `shares` shares reads, where a share needs no other row of x.
///
/// # Errors
/// Those of planning; `Input` where the file cannot be read.
pub(super) fn own_rows(
    (problem, data): (&Problem, &Data),
    (job, plan): (&Job, &Plan),
    shares: usize,
    options: &Options<'_>,
) -> Result<Option<Vec<OwnRows>>> {
    let few = (2..=MOST).contains(&shares);
    let bands = few && shares::shape(job, plan, shares) == Cut::Bands;
    if !bands || plan.prune.is_on() || !is_plain(problem, data)? {
        return Ok(None);
    }
    let none = match read_rows(
        &problem.x.name,
        &(0..0),
        &chosen(&problem.x),
        &options.budget,
    ) {
        // Not worth more memory than the question itself.
        Err(e) if e.blame() == Blame::Resource => return Ok(None),
        none => none?,
    };
    let Some(x) = none else {
        return Ok(None);
    };
    let none = Data { x, ..data.clone() };
    let key = key_over(problem, &none, shares, options)?;
    if key != Key::of_plan(job, plan, shares) {
        return Ok(None);
    }
    let rows = |index| {
        let tiles = shares::share(job, plan, index, shares).tiles;
        let ends = tiles.iter().map(|tile| [tile.rows.start, tile.rows.end]);
        let all = ends.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]);
        all.map_or(0..0, |[start, end]| start..end)
    };
    let own = |rows: Range<usize>| OwnRows {
        hash: hash_of(&data.x, &rows),
        rows: [rows.start, rows.end],
    };
    Ok(Some((0..shares).map(rows).map(own).collect()))
}

/// Whether a pair depends on its two rows alone, and these are the numbers of two files.
fn is_plain(problem: &Problem, data: &Data) -> Result<bool> {
    let named = problem.named_columns();
    let nothing_named = named.columns.iter().all(Vec::is_empty) && named.texts.is_empty();
    let plain = |input: &Input| {
        let columns = input.columns.clone();
        *input
            == Input {
                columns,
                ..Input::named(&input.name)
            }
    };
    let both = plain(&problem.x) && problem.y.as_ref().is_some_and(plain);
    let alone = problem.pairs.is_none() && data.weights.iter().all(Option::is_none);
    let keys = problem.key_columns().is_empty();
    Ok(both && alone && keys && nothing_named && !needs_whole_tables(problem)?)
}

/// How numbers come about over `data`, without pruning.
fn key_over(problem: &Problem, data: &Data, shares: usize, options: &Options<'_>) -> Result<Key> {
    let options = Options {
        overrides: unpruned(&options.overrides)?,
        warnings: Warnings::default(),
        checkpoint: None,
        ..options.clone()
    };
    let explained = Query::new(problem, data, &options).explain()?;
    Ok(Key::of_plan(&explained.job, &explained.plan, shares))
}

/// These choices, and that no rows are looked at for bounds.
pub(super) fn unpruned(overrides: &Overrides) -> Result<Overrides> {
    let mut all = overrides.clone();
    all.set("prune", "off")?;
    Ok(all)
}

/// The chosen columns of an input.
fn chosen(input: &Input) -> ReadOptions {
    ReadOptions {
        columns: input.columns.clone(),
        ..ReadOptions::default()
    }
}

/// The hash of some rows of a table.
fn hash_of(table: &Table, rows: &Range<usize>) -> String {
    let (mut hash, cols) = (Hash::default(), table.cols());
    let places = rows.start * cols..rows.end * cols;
    match table.elements() {
        Elements::F32(items) => hash.singles(&items[places]),
        Elements::F64(items) => hash.doubles(&items[places]),
    }
    format!("{:032x}", hash.finish())
}

/// What a worker at bands has of the inputs: all of y.
#[derive(Debug)]
pub(crate) struct BandInputs {
    y: Table,
}

impl BandInputs {
    /// The inputs of the store with this plan, if its shares read their own rows.
    ///
    /// # Errors
    /// `Request` with the name of a file that differs; those of the readers.
    pub(super) fn read(
        manifest: &Manifest,
        files: &dyn Files,
        budget: &Budget,
    ) -> Result<Option<Self>> {
        let (Some(_), Some(y)) = (&manifest.bands, &manifest.problem.y) else {
            return Ok(None);
        };
        // Then x has holes, and the rows of shares alone.
        let in_pieces = files.age(PIECES)?.is_some();
        let x = in_pieces.then_some(&*manifest.problem.x.name);
        manifest.check_inputs(x, budget)?;
        let y = read_table(&y.name, &chosen(y), budget)?;
        let data = Data {
            pairs: None,
            x: y.clone(),
            y: Some(y),
            weights: vec![None; manifest.problem.folds.len()],
        };
        manifest.check_hashes(&data, 1..2)?;
        let y = data.y.ok_or_else(|| Error::internal("y is gone"))?;
        Ok(Some(BandInputs { y }))
    }
    /// The data as share `index` sees them.
    ///
    /// # Errors
    /// `Request` where its rows are others than planned; those of the reader.
    pub(super) fn of_share(
        &self,
        manifest: &Manifest,
        index: usize,
        budget: &Budget,
    ) -> Result<Data> {
        let own = manifest.bands.as_ref().and_then(|bands| bands.get(index));
        let own = own.ok_or_else(|| Error::input("the plan has no rows for the share"))?;
        let data = self.with_rows(manifest, &own.range(), budget)?;
        let got = hash_of(&data.x, &own.range());
        match got == own.hash {
            true => Ok(data),
            false => {
                let (first, end) = (own.rows[0], own.rows[1]);
                let e = Error::request(format!(
                    "rows {first} to {} are not those that the store was planned with: expected the hash {}, got {got}",
                    end.saturating_sub(1),
                    own.hash
                ));
                Err(e
                    .at_place(manifest.problem.x.name.clone())
                    .remedy("plan the question anew, or bring the data back"))
            }
        }
    }
    /// The data without a row of x, by which a worker plans.
    ///
    /// # Errors
    /// Those of the reader.
    pub(super) fn to_plan(&self, manifest: &Manifest, budget: &Budget) -> Result<Data> {
        self.with_rows(manifest, &(0..0), budget)
    }
    fn with_rows(&self, manifest: &Manifest, rows: &Range<usize>, budget: &Budget) -> Result<Data> {
        let other = || Error::request("not the file that the store was planned with");
        let x = &manifest.problem.x;
        let own = read_rows(&x.name, rows, &chosen(x), budget)?;
        // A file may have grown. Bands have all rows.
        let bands = manifest.bands.iter().flatten();
        let all = bands.map(|band| band.rows[1]).max();
        let own = own.filter(|own| Some(own.rows()) == all);
        Ok(Data {
            pairs: None,
            x: own.ok_or_else(|| other().at_place(x.name.clone()))?,
            y: Some(self.y.clone()),
            weights: vec![None; manifest.problem.folds.len()],
        })
    }
}

/// Bytes that a worker reads for its largest share, the rows of y among them.
pub(super) fn share_bytes(bands: &[OwnRows], data: &Data) -> u64 {
    let row = |table: &Table| (table.cols() * table.precision().bytes()) as u64;
    let own = bands.iter().map(|band| band.range().len() as u64).max();
    let y = data.other();
    own.unwrap_or(0) * row(&data.x) + y.rows() as u64 * row(y)
}

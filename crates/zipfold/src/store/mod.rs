//! Stores: a question that is worked on in shares, by any workers that see one folder.
//!
//! ```text
//! plan.json          the question, its inputs by reference, the cut into shares
//! data               rows that were sent by value
//! squares            places by share, where shares are made of squares     squares.rs
//! rows/x000001 …     the rows of the squares, by range of places           rows.rs
//! leases/000001 …    who works on a share now                              lease.rs
//! running/000001 …   checkpoints inside shares                             attempt.rs
//! parts/000001 …     results of shares, each put once                      work.rs, worker.rs
//! matches/000001.runs/0-…  matches of shares that their parts do not hold
//! failed/000001 …    errors of shares
//! told/000001 …      seconds and bytes of shares that are done
//! clocks/            files whose age is the time of the store
//! ```
//!
//! Shares are pure: a share that is computed twice gives the same bytes, and the second part is not
//! put. So a store needs no server and no locks, workers may be lost at any time, and any scheduler
//! may start them.

mod attempt;
mod bands;
mod checkpoint;
mod files;
pub(crate) mod kinds;
mod lease;
mod manifest;
mod numbers;
mod rows;
mod sent;
mod squares;
mod status;
mod work;
mod worker;

pub(crate) use attempt::Attempt;
pub use files::{Files, Folder, Patient};
pub use lease::Who;
pub use manifest::{Manifest, OwnRows, Predicted, Reference};
pub(crate) use numbers::index_of;
pub(crate) use sent::MOST as SENT;
pub use status::{Running, Status};
pub use work::Loaded;
pub use worker::{DoneShare, Failure, Habits, Worked};
pub(crate) use worker::{Worker, lacking, part_name, put_part};

use crate::identity::{Key, runtime_of};
use crate::options::{Options, Target, all_rows};
use crate::partial;
use crate::query::{Answer, Query};
use crate::reading::read_data;
use crate::sharding::merge_each;
use bands::BandInputs;
use squares::{FoundSquares, SquaresOfStore};
use std::path::{Path, PathBuf};
use std::time::Duration;
use work::ShareOfPairs;
use zipfold_core::fold::Fold;
use zipfold_core::message::Wording;
use zipfold_core::{Blame, Budget, Data, Error, Job, Opt, Problem, Result};
use zipfold_gpu::DeviceSelector;
use zipfold_io::read::refuse_store;
use zipfold_plan::shares::{self, Cut};
use zipfold_plan::{Overrides, Plan, dense_bytes};

/// Seconds of a share, unless its number is given.
const SECONDS: f64 = 120.0;
/// The part of a worker's memory that the result of a share may take.
const OF_MEMORY: u64 = 4;
/// Shares that a store may have.
const MOST: usize = 999_999;

/// A question that is worked on in shares.
pub struct Store {
    files: Box<dyn Files>,
    who: Who,
}

/// How a question is planned.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShareCount {
    /// Into how many shares it is cut; by the predicted time and the memory if that is not said.
    pub shares: Option<usize>,
}

impl Store {
    /// The store in the folder `root`.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        let who = Who::this();
        let folder = Folder::new(root, &who.name());
        let files = Patient::new(folder, 6, Duration::from_millis(20));
        Store {
            files: Box::new(files),
            who,
        }
    }
    /// A store over files of another kind.
    #[must_use]
    pub fn over(files: Box<dyn Files>, who: Who) -> Self {
        Store { files, who }
    }
    /// Plans `problem` over files in the folder `root`, which becomes a store.
    ///
    /// # Errors
    /// `Request` when the folder is a store already, when inputs are no files, or when there cannot
    /// be this many shares; those of reading and planning.
    pub fn plan(
        root: &Path,
        problem: &Problem,
        planning: ShareCount,
        options: &Options<'_>,
    ) -> Result<(Store, Manifest)> {
        let mut problem = problem.clone();
        let inputs = manifest::refer(&mut problem, &options.budget)?;
        let data = read_data(&problem, &options.budget)?;
        Store::make(root, (&problem, &data, inputs), planning, options)
    }
    /// Plans `problem` over `data`, which are sent by value.
    ///
    /// # Errors
    /// As [`Store::plan`], and `Request` for data that are too large to be sent.
    pub fn plan_sent(
        root: &Path,
        (problem, data): (&Problem, &Data),
        planning: ShareCount,
        options: &Options<'_>,
    ) -> Result<(Store, Manifest)> {
        Store::make(root, (problem, data, vec![]), planning, options)
    }
    fn make(
        root: &Path,
        (problem, data, inputs): (&Problem, &Data, Vec<Reference>),
        planning: ShareCount,
        options: &Options<'_>,
    ) -> Result<(Store, Manifest)> {
        if problem.folds.is_empty() {
            return Err(Error::request(
                "the problem has no folds, so nothing to answer",
            ));
        }
        let store = Store::open(root);
        let taken = || kinds::taken(root);
        // Before anything is written there, and before the work of planning.
        refuse_store(&root.to_string_lossy())?;
        if store.files.get(manifest::NAME, &options.budget)?.is_some() {
            return Err(taken());
        }
        let (manifest, squares) = plan_shares(problem, data, inputs, planning, options)?;
        if manifest.inputs.is_empty() {
            sent::Sent::refuse_large(data)?;
        }
        Folder::new(root, &store.who.name()).make(manifest::NAME)?;
        if store.files.list("parts")?.is_empty() {
            if manifest.inputs.is_empty() {
                sent::Sent::write(store.files.as_ref(), data)?;
            }
            if let Some(squares) = squares {
                squares.write(store.files.as_ref(), data)?;
            }
        }
        let text =
            serde_json::to_vec_pretty(&manifest).map_err(|e| Error::internal(e.to_string()))?;
        if !store.files.put_new(manifest::NAME, &text)? {
            return Err(taken());
        }
        Ok((store, manifest))
    }
    /// The plan of the store.
    ///
    /// # Errors
    /// `Request` when there is none; `Input` when it is damaged.
    pub fn manifest(&self, budget: &Budget) -> Result<Manifest> {
        Manifest::read(self.files.as_ref(), budget)
    }
    /// The plan and the data of the store, for merging and for any work. Files that are not those it
    /// was planned with are refused by name.
    ///
    /// # Errors
    /// Those of [`Store::manifest`], of the files and of their readers.
    pub fn load(&self, budget: &Budget) -> Result<Loaded> {
        let mut loaded = self.load_to_work(budget)?;
        if loaded.data.is_none() {
            loaded.data = Some(loaded.manifest.data(self.files.as_ref(), budget)?);
        }
        Ok(loaded)
    }
    /// The plan of the store, with the data only if its shares need more than their own rows.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn load_to_work(&self, budget: &Budget) -> Result<Loaded> {
        let manifest = self.manifest(budget)?;
        let squares = SquaresOfStore::read(self.files.as_ref(), &manifest, budget)?;
        let bands = BandInputs::read(&manifest, self.files.as_ref(), budget)?;
        let by_share = squares.as_ref().is_some_and(SquaresOfStore::are_enough) || bands.is_some();
        let data = match by_share {
            true => None,
            false => Some(manifest.data(self.files.as_ref(), budget)?),
        };
        Ok(Loaded {
            manifest,
            data,
            squares,
            bands,
        })
    }
    /// The names of the files beyond the plan that share `number`, from 1, reads; none where it needs all
    /// that the plan has. So a worker may fetch them alone to where it works.
    ///
    /// # Errors
    /// `Request` for a number that no share has; those of [`Store::manifest`] and of the squares.
    pub fn files_of_share(&self, number: usize, budget: &Budget) -> Result<Option<Vec<String>>> {
        let manifest = self.manifest(budget)?;
        let index = manifest.index(number)?;
        let squares = SquaresOfStore::read(self.files.as_ref(), &manifest, budget)?;
        Ok(squares.and_then(|squares| squares.files_of_share(index, manifest.shares)))
    }
    /// Works on share `number`, from 1, or on shares until none is left. An interruption keeps a
    /// checkpoint inside the share, from which the next worker goes on. A worker that leaves the device
    /// open ([`DeviceSelector::Auto`]) takes that of the plan, since bits may depend on it.
    ///
    /// # Errors
    /// `Request` where this worker would compute in another way than planned, or for a share that
    /// another worker has; those of the store; `Interrupted`.
    pub fn work(
        &self,
        loaded: &Loaded,
        number: Option<usize>,
        (habits, wording): (&Habits, Wording),
        options: &Options<'_>,
    ) -> Result<Worked> {
        let number = number
            .map(|number| loaded.manifest.index(number))
            .transpose()?;
        let options = Options {
            overrides: all_rows(&loaded.manifest.overrides()?.and(&options.overrides)),
            device: match options.device {
                DeviceSelector::Auto => DeviceSelector::parse(&loaded.manifest.device)?,
                named => named,
            },
            checkpoint: None,
            shard: None,
            ..options.clone()
        };
        let ready = loaded.ready(&options)?;
        let prepared = ready.as_ref().map(|ready| ready.prepared(&options));
        let shares = ShareOfPairs {
            files: self.files.as_ref(),
            loaded,
            options: &options,
            who: &self.who,
            prepared: prepared.transpose()?,
        };
        shares.check()?;
        let worker = Worker {
            files: self.files.as_ref(),
            shares: loaded.manifest.shares,
            habits,
            who: self.who.clone(),
            stop: options.stop,
            budget: &options.budget,
            wording,
            compute: &|index| shares.compute(index),
        };
        worker.work(number)
    }
    /// How far the store is; workers without a sign of life for longer than `life` are lost.
    ///
    /// # Errors
    /// Those of the store.
    pub fn status(&self, life: Duration, budget: &Budget) -> Result<Status> {
        let manifest = self.manifest(budget)?;
        let facts = (manifest.shares, &manifest.predicted);
        Status::read(self.files.as_ref(), facts, life, budget)
    }
    /// The answer of the parts that are there, dense results in `target`, and the numbers, from 1,
    /// of the shares that are not.
    ///
    /// # Errors
    /// `Request` where shares are missing, unless the answer may be `incomplete`, and for parts that
    /// do not belong together; those of the store and of the target.
    pub fn merge<'a>(
        &self,
        loaded: &'a Loaded,
        (target, incomplete): (&Target, bool),
        options: &'a Options<'a>,
    ) -> Result<(Answer<'a>, Vec<usize>)> {
        let mut there = self.files.list("parts")?;
        // What else somebody has put there, such as a copy that is on its way.
        there.retain(|name| loaded.manifest.is_share(name));
        let all = 0..loaded.manifest.shares;
        let missing = all.filter(|i| there.binary_search(&Manifest::share_name(*i)).is_err());
        let missing: Vec<usize> = missing.map(|index| index + 1).collect();
        if !missing.is_empty() && (!incomplete || there.is_empty()) {
            let (files, shares) = (self.files.as_ref(), loaded.manifest.shares);
            return Err(lacking(
                (files, manifest::NAME),
                (&missing, shares),
                true,
                &options.budget,
            )?);
        }
        let read = |name: &String| {
            let (part, matches) = (format!("parts/{name}"), format!("matches/{name}"));
            let place = self.files.path(&part).to_string_lossy().into_owned();
            let bytes = self.files.get(&part, &options.budget)?;
            let bytes = bytes.ok_or_else(|| {
                let e = Error::request("the part was removed meanwhile");
                e.at_place(place.clone())
                    .remedy("have workers do its share again")
            })?;
            let mut part = partial::decode(&bytes, &place)?;
            part.place = self.files.path(&matches);
            Ok((place, part))
        };
        let mut parts = there.iter().map(read);
        let question = (&loaded.manifest.problem, loaded.all_data()?);
        let (answer, _) = merge_each(question, &mut parts, (target, incomplete), options)
            .map_err(|e| self.made_again(e))?;
        Ok((answer, missing))
    }
    /// What is wrong with a file that workers made, and how to have it made again: a share whose part
    /// is there is done.
    ///
    /// Matches are read when the answer is written, so whoever writes it asks, too.
    #[must_use]
    pub fn made_again(&self, e: Error) -> Error {
        let place = e.place().map(|place| PathBuf::from(place.marked()));
        let Some(place) = place.filter(|_| e.blame() == Blame::Input) else {
            return e;
        };
        if place.starts_with(self.files.path("parts")) {
            return e.remedy("remove this file, and have workers do its share again");
        }
        let run = place.strip_prefix(self.files.path("matches")).ok();
        match run.and_then(|run| run.iter().next()?.to_str()?.split('.').next()) {
            None => e,
            Some(share) => e.remedy(format!(
                "remove this file and parts/{share}, and have workers do its share again"
            )),
        }
    }
}

/// The plan of `problem` in shares.
///
/// # Errors
/// Those of planning; `Request` for more shares than there are tiles.
fn plan_shares(
    problem: &Problem,
    data: &Data,
    inputs: Vec<Reference>,
    planning: ShareCount,
    options: &Options<'_>,
) -> Result<(Manifest, Option<FoundSquares>)> {
    let options = &Options {
        overrides: all_rows(&options.overrides),
        ..options.clone()
    };
    // Ranges are found once, not by every worker.
    let problem = crate::ranges::with_ranges(problem, data, options)?.into_owned();
    let explained = Query::new(&problem, data, options).explain()?;
    let (job, plan) = (&explained.job, explained.plan);
    let (plan, squares, shares) = cut((&problem, data), (job, plan), planning, options)?;
    for text in &plan.warnings {
        options.warnings.add(text.clone());
    }
    let shape = shares::shape(job, &plan, shares);
    let of_store = squares.as_ref().map(|found| &found.squares);
    let counts = of_store.map(SquaresOfStore::counts);
    let otherwise = squares.is_some() || inputs.is_empty();
    let (bands, overrides) =
        with_own_rows((&problem, data), (job, &plan), (shares, otherwise), options)?;
    let input_bytes = match (of_store.filter(|squares| squares.are_enough()), &bands) {
        (Some(squares), _) => squares.share_bytes(data, shares),
        (None, Some(bands)) => bands::share_bytes(bands, data),
        (None, None) => inputs.iter().map(|input| input.bytes).sum(),
    };
    let seconds = seconds(&plan, shape) + of_store.map_or(0.0, SquaresOfStore::seconds);
    let key = match counts {
        Some(counts) => Key::of_squares(job, counts, options)?,
        None => Key::of_plan(job, &plan, shares),
    };
    let manifest = Manifest {
        layout: manifest::LAYOUT,
        version: env!("CARGO_PKG_VERSION").into(),
        shares,
        shape: counts
            .map_or(shape.name(), |_| "squares of ranges along a curve")
            .into(),
        device: device(options.device, &plan, &key).to_string(),
        key,
        squares: counts,
        overrides: manifest::texts(&overrides),
        hashes: manifest::hashes(&problem, data),
        predicted: Predicted {
            pairs: plan.pairs,
            seconds,
            share_seconds: seconds / shares as f64,
            part_bytes: part_bytes(job, &plan, shape, shares),
            input_bytes,
            threads: plan.threads,
        },
        bands,
        inputs,
        problem,
    };
    Ok((manifest, squares))
}

/// Where workers of `plan` run unless they name a device. What a plan has chosen itself binds them where
/// bits depend on it.
fn device(asked: DeviceSelector, plan: &Plan, key: &Key) -> DeviceSelector {
    match asked {
        DeviceSelector::Auto if !key.is_of_any_machine() => {
            DeviceSelector::parse(runtime_of(plan)).unwrap_or(asked)
        }
        _ => asked,
    }
}

/// The rows that each share reads, where it needs no others, and the choices of all workers. Shares that
/// read something else, squares or rows that are sent, are cut as `(shares, true)`.
///
/// # Errors
/// Those of planning.
fn with_own_rows(
    question: (&Problem, &Data),
    planned: (&Job, &Plan),
    (shares, otherwise): (usize, bool),
    options: &Options<'_>,
) -> Result<(Option<Vec<OwnRows>>, Overrides)> {
    let bands = match otherwise {
        true => None,
        false => bands::own_rows(question, planned, shares, options)?,
    };
    let overrides = match &bands {
        // Workers that have some rows of x must not look at all of them.
        Some(_) => bands::unpruned(&options.overrides)?,
        None => options.overrides.clone(),
    };
    Ok((bands, overrides))
}

/// How the question is cut: the plan of its shares, squares where shares are made of them, and the
/// number of shares.
///
/// # Errors
/// Those of planning; `Request` for more shares than there are tiles.
fn cut(
    question: (&Problem, &Data),
    (job, plan): (&Job, Plan),
    planning: ShareCount,
    options: &Options<'_>,
) -> Result<(Plan, Option<FoundSquares>, usize)> {
    if let Some(by_bounds) = squares::plan_by_bounds(job, &plan, options)? {
        let (asked, part) = (planning.shares, options.budget.limit() / OF_MEMORY);
        let find = |wanted: usize| match (1..=MOST).contains(&wanted) {
            // Any number of shares can have bands; tiles give a limited number.
            true => SquaresOfStore::find(question, (job, &by_bounds), (wanted, part), options),
            false => Ok(None),
        };
        let enough = |more: f64| enough(job, &by_bounds, more, options).clamp(1, MOST);
        let mut wanted = asked.unwrap_or_else(|| enough(0.0));
        let mut found = find(wanted)?;
        // What workers do to read rows is known of squares alone, and may ask for more shares.
        if let (None, Some(squares)) = (asked, &found) {
            wanted = enough(squares.squares.seconds());
            if wanted > squares.squares.most() {
                found = find(wanted)?;
            }
        }
        if let Some(found) = found {
            // Unless the number is given, no share is without a band.
            let shares = asked.unwrap_or(wanted.min(found.squares.most()));
            return Ok((by_bounds, Some(found), shares));
        }
    }
    let shares = of_tiles(job, &plan, planning, options)?;
    Ok((plan, None, shares))
}

/// The number of shares of tiles: the given one, or what time and memory ask for.
///
/// # Errors
/// `Request` for a number that the tiles do not give.
fn of_tiles(job: &Job, plan: &Plan, planning: ShareCount, options: &Options<'_>) -> Result<usize> {
    let most = shares::most(job, plan).clamp(1, MOST);
    match planning.shares {
        Some(shares) if (1..=most).contains(&shares) => Ok(shares),
        Some(shares) => Err(too_many(shares, most)),
        None => Ok(enough(job, plan, 0.0, options).clamp(1, most)),
    }
}

/// The refusal of a number of shares that the tiles do not give.
fn too_many(shares: usize, most: usize) -> Error {
    Error::request(format!("expected a number of shares, got {shares}"))
        .at_place(Opt::Shares)
        .limit(format!("1 to {most}, the strips of tiles that there are"))
        .remedy(format!("{}, or leave it out", Opt::Shares.to(most)))
}

/// Predicted seconds: crosses compute half of the pairs twice.
fn seconds(plan: &Plan, shape: Cut) -> f64 {
    plan.seconds * if shape == Cut::Crosses { 2.0 } else { 1.0 }
}

/// Shares of about two minutes, whose results fit into a part of the memory, where all take these
/// seconds `more` than the plan says.
fn enough(job: &Job, plan: &Plan, more: f64, options: &Options<'_>) -> usize {
    // How many there are decides the shape, and the shape how many.
    let shape = shares::shape(job, plan, (plan.seconds / SECONDS).ceil() as usize);
    let by_time = ((seconds(plan, shape) + more) / SECONDS).ceil();
    let room = (options.budget.limit() / OF_MEMORY).max(1);
    let by_memory = result_bytes(job, plan).div_ceil(room);
    (by_time as usize).max(by_memory as usize)
}

/// Bytes of the merged result.
fn result_bytes(job: &Job, plan: &Plan) -> u64 {
    let (n, m) = (job.space.n, job.space.m);
    let of = |fold: &Fold| {
        let dense = dense_bytes(fold, n, m, plan.precision);
        dense.saturating_add(fold.bytes(n, m))
    };
    job.folds.iter().map(of).fold(0, u64::saturating_add)
}

/// Bytes of the parts of all shares.
fn part_bytes(job: &Job, plan: &Plan, shape: Cut, parts: usize) -> u64 {
    let whole = result_bytes(job, plan);
    match shape {
        // Each has a result of its own, or of its rows and columns.
        Cut::Cells if job.space.is_triangular() => shares::cell_bytes(job, parts),
        Cut::Cells => whole.saturating_mul(parts as u64),
        Cut::Bands | Cut::Columns | Cut::Crosses | Cut::Strips => whole,
    }
}

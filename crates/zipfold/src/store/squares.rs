//! Shares of squares: the squares are found once, when the question is planned, and kept in the
//! store; a share computes those of its bands, each as a question of its own.
//!
//! ```text
//! squares            which places a band has, and what settled pairs give
//! rows/x000001 …     the rows at these places                             rows.rs
//! share 1            its bands, and what the settled pairs give
//! share 2 …          their bands
//! ```

use super::attempt::Attempt;
use super::checkpoint::continued;
use super::files::{ANEW, Files};
use super::manifest::Manifest;
use super::rows::{self, BandRows, HeldRows, Reader};
use crate::device::place;
use crate::identity::{Identity, Key};
use crate::options::{Options, Progress, Target};
use crate::outcome::{Outcome, Output};
use crate::partial::{self, Partial, open_sealed, seal};
use crate::planned_question::run;
use crate::pool::Workers;
use crate::query::Query;
use crate::run::{Growth, conservation, refuse_nan};
use crate::runs::{HELD_BY_PART, MatchStores, RunPlace, folder_of};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;
use zipfold_core::budget::human_bytes;
use zipfold_core::describe::needs_whole_tables;
use zipfold_core::fold::{Fold, JoinState, State, Tally};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Blame, Budget, Data, Domain, Error, Job, Opt, Problem, Result, Space};
use zipfold_cpu::pairs::prune::RowsByPlace;
use zipfold_plan::overrides::Pruning;
use zipfold_plan::squares::{PieceKind, SquareBand, SquareCounts, Squares, is_by_row, serve};
use zipfold_plan::{Machine, Overrides, Plan, choose, sorted_bytes};

/// The file with the squares.
const NAME: &str = "squares";
const MAGIC: &[u8; 8] = b"ZFSQRS\x00\x01";
/// Ranges a side for each share, so that shares of whole bands have about as much work.
const RANGES: usize = 4;
/// The fewest and the most ranges a side, and the fewest rows that a range is worth.
const FEWEST: usize = 16;
const MOST: usize = 1024;
const ROWS: usize = 32;
/// Rows of a range of neighbours, of which a band has some: the fewer, the more boxes tell of the k-th best.
const ROWS_OF_BEST: usize = 256;
/// Matches of a piece that are given the rows of the question at a time.
const MATCHES: usize = 1 << 16;
/// Seconds that a worker takes to read a row of a band, to put it in its place and to lay it out (`bench/shares_plans.py --work`).
const ROW_SECONDS: f64 = 190e-9;
/// The part of the pairs that squares must settle to be worth their files and copies.
const WORTH: f64 = 0.5;

/// The squares of a store.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SquaresOfStore {
    /// What decides the answer.
    identity: Identity,
    squares: Squares,
    /// The shape of its pairs: the domain, the rows of x and of y, and the cut-off.
    shape: (Domain, usize, usize, Option<f64>),
    /// The columns of x and of y, where the files of the rows hold all that a share needs.
    columns: Option<[HeldRows; 2]>,
}

/// The squares of a question that is planned, and the rows by place.
pub(super) struct FoundSquares {
    pub squares: SquaresOfStore,
    orders: RowsByPlace,
}

impl FoundSquares {
    /// Puts the squares and the rows into the store.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn write(&self, files: &dyn Files, data: &Data) -> Result<()> {
        let found = &self.squares;
        let places = (&self.orders, found.squares.sizes);
        rows::write(files, (data, found.identity), places, found.are_enough())?;
        let payload =
            postcard::to_stdvec(&self.squares).map_err(|e| Error::internal(e.to_string()))?;
        files.replace(NAME, &seal(MAGIC, &payload))
    }
}

impl SquaresOfStore {
    /// The squares of `job` for `shares` shares, where bounds settle most of its pairs by squares.
    /// The rows of a band take at most `part` bytes, where ranges can be small enough.
    ///
    /// # Errors
    /// `Resource` when the system refuses threads.
    pub(super) fn find(
        (problem, data): (&Problem, &Data),
        (job, plan): (&Job, &Plan),
        (shares, part): (usize, u64),
        options: &Options<'_>,
    ) -> Result<Option<FoundSquares>> {
        // A worker that has all rows sorts and boxes them once, for all of its shares.
        let by_hand = options.overrides.prune == Some(Pruning::On);
        if shares < 2 || by_row(job) && !by_hand && whole_rows(job, data) <= part {
            return Ok(None);
        }
        let bytes = sorted_bytes(job);
        let Ok(_room) = options.budget.reserve(bytes, "the sorted rows of squares") else {
            return Ok(None);
        };
        let largest = |squares: &Squares| largest_band(squares, data);
        let found = search((job, plan), shares, |squares| largest(squares) <= part)?;
        let worth = |squares: &Squares| {
            squares.counts.settled as f64 >= WORTH * job.space.size().unwrap_or(u64::MAX) as f64
        };
        let Some((squares, orders)) = found.filter(|(squares, _)| worth(squares)) else {
            return Ok(None);
        };
        if largest(&squares) > part {
            let text = format!(
                "the rows of a share take up to {}, more than a quarter of {}",
                human_bytes(largest(&squares)),
                Opt::Memory
            );
            options.warnings.add(text);
        }
        // A pair depends on its two rows alone, unless tables are prepared.
        let alone = !needs_whole_tables(problem)?;
        Ok(Some(FoundSquares {
            squares: SquaresOfStore {
                identity: Identity::of_run(problem, job, plan, None),
                squares,
                shape: (job.space.domain, job.space.n, job.space.m, job.space.cutoff),
                columns: alone.then(|| HeldRows::columns(data)).transpose()?,
            },
            orders,
        }))
    }
    /// The pairs of the question.
    fn space(&self) -> Space {
        let (domain, n, m, cutoff) = self.shape;
        Space {
            domain,
            n,
            m,
            cutoff,
            band: None,
        }
    }
    /// Whether the files of the rows hold all that a share needs.
    pub(super) fn are_enough(&self) -> bool {
        self.columns.is_some()
    }
    pub(crate) fn counts(&self) -> SquareCounts {
        self.squares.counts
    }
    /// Shares that have bands.
    pub(crate) fn most(&self) -> usize {
        self.squares.bands.len().max(1)
    }
    /// Predicted seconds that workers read and lay out the rows of all bands.
    pub(super) fn seconds(&self) -> f64 {
        ROW_SECONDS * rows::rows_read(&self.squares) as f64
    }
    /// The files that share `index` of `shares` reads, where they hold all that it needs.
    pub(super) fn files_of_share(&self, index: usize, shares: usize) -> Option<Vec<String>> {
        let bands = &self.squares.bands[self.squares.share(index, shares)];
        let named = || {
            let rows = rows::names(&self.squares, &self.space(), bands);
            std::iter::once(NAME.to_owned()).chain(rows).collect()
        };
        self.are_enough().then(named)
    }
    /// The most bytes of rows that a share of `parts` reads: each band its own.
    pub(super) fn share_bytes(&self, data: &Data, parts: usize) -> u64 {
        let row = rows::row_bytes(data);
        let of_share = |index| {
            let bands = &self.squares.bands[self.squares.share(index, parts)];
            let bytes = bands
                .iter()
                .map(|band| rows::band_bytes(&self.squares, band, row));
            bytes.sum()
        };
        (0..parts).map(of_share).max().unwrap_or(0)
    }
    /// The squares of the store with this plan, if its shares are made of squares.
    ///
    /// # Errors
    /// `Input` when they are not there or damaged.
    pub(crate) fn read(
        files: &dyn Files,
        manifest: &Manifest,
        budget: &Budget,
    ) -> Result<Option<Self>> {
        if manifest.squares.is_none() {
            return Ok(None);
        }
        let place = files.path(NAME).to_string_lossy().into_owned();
        let Some(bytes) = files.get(NAME, budget)? else {
            return Err(Error::input("the squares of the store are not there")
                .at_place(place)
                .remedy(ANEW));
        };
        budget.spend(bytes.len() as u64 * 2, "the squares of the store")?;
        let found: SquaresOfStore =
            open_sealed(MAGIC, &bytes, &place).map_err(|e| e.remedy(ANEW))?;
        match Some(found.counts()) == manifest.squares {
            true => Ok(Some(found)),
            false => Err(Error::input("the squares are not those of the plan")
                .at_place(place)
                .remedy(ANEW)),
        }
    }
}

impl Key {
    /// The key of shares of squares of `job`, which nobody has all rows of.
    ///
    /// # Errors
    /// Those of planning and of opening devices.
    pub(super) fn of_squares(
        job: &Job,
        counts: SquareCounts,
        options: &Options<'_>,
    ) -> Result<Self> {
        let machine = zipfold_cpu::detect(options.threads, options.budget.limit());
        let frame = job.of_rows([&[], &[]], Domain::Cross)?;
        // Bounds have nothing to prune without rows.
        let overrides = Overrides {
            prune: None,
            ..options.overrides.clone()
        };
        let plan = choose(&frame, &machine, &overrides)?;
        let (plan, _) = place(&frame, plan, options)?;
        let [x, y] = counts.ranges;
        Ok(Key {
            cut: format!("squares of {x} by {y} ranges"),
            ..Key::of_plan(&frame, &plan, 1)
        })
    }
}

/// The bytes that all rows take in a worker.
fn whole_rows(job: &Job, data: &Data) -> u64 {
    let [x, y] = rows::row_bytes(data);
    let others = if job.space.is_self() { 0 } else { job.space.m };
    let bytes = x * job.space.n as u64 + y * others as u64;
    bytes.saturating_mul(rows::COPIES)
}

/// The most bytes that the rows of a band take in a worker.
fn largest_band(squares: &Squares, data: &Data) -> u64 {
    let row = rows::row_bytes(data);
    let bands = squares.bands.iter();
    let bytes = bands.map(|band| rows::band_bytes(squares, band, row));
    bytes.max().unwrap_or(0).saturating_mul(rows::COPIES)
}

/// The squares of `job` for `shares` shares, of as many ranges as it takes until their bands are
/// small enough, and the rows by place.
///
/// # Errors
/// `Resource` when the system refuses threads.
fn search(
    (job, plan): (&Job, &Plan),
    shares: usize,
    is_small: impl Fn(&Squares) -> bool,
) -> Result<Option<(Squares, RowsByPlace)>> {
    let rows = job.space.n.max(job.space.m);
    let most = (rows / ROWS).clamp(1, MOST);
    let fine = match by_row(job) {
        true => rows / ROWS_OF_BEST,
        false => 0,
    };
    let workers = Workers::for_plan(job, plan)?;
    let mut bands = shares.saturating_mul(RANGES).max(FEWEST).min(most);
    loop {
        let ranges = bands.max(fine).min(most);
        let found = workers.install(|| zipfold_cpu::pairs::prune::squares(job, (ranges, bands)));
        if bands == most || found.as_ref().is_none_or(|(squares, _)| is_small(squares)) {
            return Ok(found);
        }
        bands = bands.saturating_mul(4).min(most);
    }
}

/// The plan of `job` by bounds, if these settle pairs and its shares may be squares. A run of the
/// whole may have no memory for bounds that a share has.
///
/// # Errors
/// Those of planning.
pub(super) fn plan_by_bounds(
    job: &Job,
    plan: &Plan,
    options: &Options<'_>,
) -> Result<Option<Plan>> {
    if !serve(job) {
        return Ok(None);
    }
    if plan.prune.is_on() || options.overrides.prune.is_some() {
        return Ok(plan.prune.is_on().then(|| plan.clone()));
    }
    let machine = Machine {
        memory: u64::MAX / 16,
        ..zipfold_cpu::detect(options.threads, options.budget.limit())
    };
    let ample = choose(job, &machine, &options.overrides)?;
    Ok(ample.prune.is_on().then_some(ample))
}

/// A share on its way.
pub(super) struct SquareShare<'a> {
    pub files: &'a dyn Files,
    pub problem: &'a Problem,
    /// All rows, where those of a share are not enough.
    pub data: Option<&'a Data>,
    pub manifest: &'a Manifest,
    pub squares: &'a SquaresOfStore,
    pub options: &'a Options<'a>,
    /// Where the share keeps what it has.
    pub checkpoint: &'a Path,
}

impl SquareShare<'_> {
    fn is_stopped(&self) -> bool {
        let stop = self.options.stop;
        stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
    /// The question without the hashes of its inputs, of which a share has a part.
    fn unhashed(&self) -> Problem {
        let mut problem = self.problem.clone();
        problem.x.hash = None;
        problem.y.iter_mut().for_each(|input| input.hash = None);
        problem
    }
    /// The question about all rows, if these are here.
    fn whole(&self) -> Result<Option<Job>> {
        let described = |data| Query::new(self.problem, data, self.options).describe();
        Ok(self.data.map(described).transpose()?.map(|(job, _)| job))
    }
    /// How this worker would compute.
    ///
    /// # Errors
    /// Those of the rows and of planning.
    pub(super) fn key(&self, counts: SquareCounts) -> Result<Key> {
        let (problem, whole) = (self.unhashed(), self.whole()?);
        let stop = || self.is_stopped();
        let reader = self.reader((&problem, whole.as_ref()), &stop);
        let frame = reader.frame(self.squares.columns.as_ref())?;
        Key::of_squares(&frame, counts, self.options)
    }
    fn reader<'r>(
        &'r self,
        question: (&'r Problem, Option<&'r Job>),
        stop: &'r dyn Fn() -> bool,
    ) -> Reader<'r> {
        let SquaresOfStore {
            squares, identity, ..
        } = self.squares;
        Reader::new(
            self.files,
            question,
            (squares, self.squares.space(), *identity),
            (&self.options.budget, stop),
        )
    }
    /// Computes share `index`.
    ///
    /// # Errors
    /// Those of the run; `Input` for squares that do not fit the rows; `Interrupted` once the
    /// pieces that are done are kept.
    pub(super) fn compute(&self, index: usize) -> Result<Partial> {
        let (problem, whole) = (self.unhashed(), self.whole()?);
        let stop = || self.is_stopped();
        let mut reader = self.reader((&problem, whole.as_ref()), &stop);
        let job = reader.frame(self.squares.columns.as_ref())?;
        let squares = &self.squares.squares;
        if job.space != self.squares.space()
            || !squares.fits(&job.space)
            || squares.states.len() != job.folds.len()
        {
            return Err(Error::input("the squares of the store are damaged"));
        }
        let shard = (index, self.manifest.shares);
        let bands = &squares.bands[squares.share(index, self.manifest.shares)];
        let place = RunPlace {
            folder: folder_of(self.checkpoint),
            output: None,
            owner: Some(self.checkpoint.to_owned()),
            identity: self.squares.identity.number(shard),
        };
        let stores = MatchStores::new(&job, Some(place), &self.options.budget);
        let mut merged = self.begin((&job, &stores), shard, bands)?;
        let total = pairs_of(&job.space, bands);
        let mut work = PieceWork {
            share: self,
            job: &job,
            stores: &stores,
            total,
            growth: Growth::default(),
            saved: Instant::now(),
        };
        // Pieces are counted over all bands; those of an earlier worker are passed over.
        let (mut piece, mut first) = (0, 0);
        for band in bands {
            let kinds: Vec<PieceKind> = Squares::pieces(band).collect();
            let places = first..first + band.rows.len();
            first = places.end;
            piece += kinds.len();
            if piece <= merged.tiles_done {
                continue;
            }
            let rows = reader.band(band)?;
            if by_row(&job) {
                merged.order[places.clone()].copy_from_slice(&rows.rows[0]);
            }
            let left = kinds.len() - (piece - merged.tiles_done);
            for kind in &kinds[left..] {
                work.add((&rows, *kind), places.start, &mut merged)?;
            }
        }
        conservation(&merged)?;
        refuse_nan(&job, &merged.tally)?;
        close(&stores, &mut merged, shard)?;
        Ok(Partial {
            // What is complete belongs to no run: the same share has the same bytes.
            run: 0,
            tiles_done: 0,
            problem: serde_json::to_vec(self.problem)
                .map_err(|e| Error::internal(e.to_string()))?,
            ..merged
        })
    }
    /// What there is before the first piece, or what an earlier worker has kept. Of folds by row it
    /// has the places of all rows, and names the rows of the bands that were begun.
    fn begin(
        &self,
        (job, stores): (&Job, &MatchStores),
        shard: (usize, usize),
        bands: &[SquareBand],
    ) -> Result<Partial> {
        let squares = &self.squares.squares;
        let rows: usize = bands.iter().map(|band| band.rows.len()).sum();
        let pieces: usize = bands.iter().map(|b| Squares::pieces(b).count()).sum();
        let found = partial::read_if_there(self.checkpoint, &self.options.budget);
        let ours = |found: &Partial| {
            let sized = match by_row(job) {
                true => found.order.len() == rows,
                false => found.order.is_empty(),
            };
            found.identity == self.squares.identity
                && (found.shard, &found.key) == (Some(shard), &self.manifest.key)
                && (found.tiles_done <= pieces && sized)
                && found.check(job, "").is_ok()
                && stores.recall(&found.runs).is_ok()
        };
        if let Some(found) = found.ok().flatten().filter(ours) {
            return Ok(found);
        }
        let (n, m) = (job.space.n, job.space.m);
        let state = |(fold, settled): (&Fold, &State)| match (is_by_row(fold), shard.0) {
            (true, _) => fold.band(&(0..rows)),
            (false, 0) => settled.clone(),
            (false, _) => fold.start(n, m),
        };
        let states = job.folds.iter().zip(&squares.states).map(state).collect();
        let tally = if shard.0 == 0 {
            squares.tally
        } else {
            Tally::default()
        };
        Ok(Partial {
            pairs: tally.seen().unwrap_or(0),
            tally,
            shard: Some(shard),
            key: self.manifest.key.clone(),
            order: vec![0; if by_row(job) { rows } else { 0 }],
            ..Partial::start(self.squares.identity, states)
        })
    }
}

/// Whether a fold of `job` has a result for each row of x.
fn by_row(job: &Job) -> bool {
    job.folds.iter().any(is_by_row)
}

/// The pieces of a share, one after another.
struct PieceWork<'a> {
    share: &'a SquareShare<'a>,
    /// The question about all rows, of which nobody has all.
    job: &'a Job,
    /// Pairs of the share.
    total: u64,
    /// Where matches go that memory does not hold, and the room for the others.
    stores: &'a MatchStores,
    growth: Growth,
    saved: Instant,
}

impl PieceWork<'_> {
    /// Adds a piece, whose first row of x has this place in the share, to `merged`.
    ///
    /// # Errors
    /// Those of the run; `Interrupted` once `merged` is kept.
    fn add(
        &mut self,
        (rows, kind): (&BandRows, PieceKind),
        first: usize,
        merged: &mut Partial,
    ) -> Result<()> {
        let outcome = match self.piece((rows, kind), first, merged) {
            Err(e) if e.blame() == Blame::Interrupted => {
                self.keep(merged)?;
                return Err(e);
            }
            done => done?,
        };
        self.take((rows.rows_of(kind), first), outcome, merged)?;
        merged.tiles_done += 1;
        if self.saved.elapsed() >= self.share.options.checkpoint_every {
            self.keep(merged)?;
            self.saved = Instant::now();
        }
        partial::discard(&Attempt::of_piece(self.share.checkpoint));
        Ok(())
    }
    /// Keeps what there is as the checkpoint of the share.
    fn keep(&self, merged: &Partial) -> Result<()> {
        self.stores.sync(merged.runs.iter().flatten())?;
        partial::keep_partial(self.share.checkpoint, merged)
    }
    /// Adds what a piece has given, with the rows of the question.
    fn take(
        &mut self,
        of_question: ([&[u32]; 2], usize),
        outcome: Outcome,
        merged: &mut Partial,
    ) -> Result<()> {
        let (mut states, mut written) = (vec![], vec![]);
        for (at, output) in outcome.outputs.into_iter().enumerate() {
            states.push(match output {
                Output::State(state) => state,
                Output::Runs(runs) => {
                    written.push((at, runs));
                    State::Join(JoinState::default())
                }
                Output::F32(_) | Output::F64(_) | Output::Stored => {
                    return Err(Error::internal("a dense result of a square"));
                }
            });
        }
        let job = self.job;
        let (states, tally) = job.of_some_rows(of_question, states, outcome.tally)?;
        for ((fold, into), from) in job.folds.iter().zip(&mut merged.states).zip(states) {
            fold.merge(into, from);
        }
        merged.tally.merge(&tally);
        merged.pairs += outcome.pairs;
        self.hold(&outcome.plan, merged)?;
        for (at, runs) in written {
            runs.each(MATCHES, &mut |some| {
                let mut some = some.clone();
                job.matches_of_some_rows(of_question.0, &mut some);
                job.folds[at].merge(&mut merged.states[at], State::Join(some));
                self.hold(&outcome.plan, merged)
            })?;
        }
        Ok(())
    }
    /// Holds the matches so far, or writes them.
    fn hold(&mut self, plan: &Plan, merged: &mut Partial) -> Result<()> {
        let both = (&mut merged.states[..], &mut merged.runs[..]);
        let plan = (plan, self.share.options);
        self.growth.cover_or_write(both, vec![], self.stores, plan)
    }
    /// What a piece gives, as a question of its own.
    fn piece(
        &self,
        (rows, kind): (&BandRows, PieceKind),
        first: usize,
        merged: &Partial,
    ) -> Result<Outcome> {
        let (given, base) = (self.share.options, merged.pairs);
        // The policy is that of the question, whose rows an error names.
        let nan = match self.job.nan {
            NanPolicy::Error => NanPolicy::Propagate,
            NanPolicy::Skip | NanPolicy::Propagate => self.job.nan,
        };
        let part = Job {
            nan,
            ..rows.question(&self.job.space, kind)?
        };
        // Rows have met each other before: few have anything nearer in another band.
        let part = match kind {
            PieceKind::Own => part,
            PieceKind::Others => {
                part.with_limits_of(&merged.states, &(first..first + rows.rows[0].len()))
            }
        };
        let machine = zipfold_cpu::detect(given.threads, given.budget.limit());
        let plan = choose(&part, &machine, &given.overrides)?;
        let tell = |p: Progress| {
            if let Some(progress) = given.progress {
                progress(Progress::new(p.phase, [base + p.pairs, self.total, base]));
            }
        };
        let checkpoint = Attempt::of_piece(self.share.checkpoint);
        let problem = self.share.problem;
        let run = |resume: bool| {
            let options = Options {
                checkpoint: Some(checkpoint.clone()),
                resume,
                progress: Some(&tell),
                shard: None,
                ..given.clone()
            };
            let target = Target::Runs(folder_of(&checkpoint), None);
            run(problem, &part, plan.clone(), &target, &options)
        };
        continued(&checkpoint, &given.budget, run)
    }
}

/// Closes the matches of a part: they are in its state, or in the runs that it names from now on.
fn close(stores: &MatchStores, part: &mut Partial, shard: (usize, usize)) -> Result<()> {
    let number = part.identity.number(shard);
    for (at, state) in part.states.iter_mut().enumerate() {
        let runs = std::mem::take(&mut part.runs[at]);
        let written = stores.finish(at, (&runs, vec![]), state, HELD_BY_PART)?;
        part.runs[at].extend(written.iter().map(|runs| runs.as_one(at, number)));
        part.matches.push(written);
    }
    Ok(())
}

/// The pairs of all pieces of `bands`.
fn pairs_of(space: &Space, bands: &[SquareBand]) -> u64 {
    let of_band = |band| Squares::pieces(band).map(move |kind| Squares::pairs(space, band, kind));
    bands.iter().flat_map(of_band).fold(0, u64::saturating_add)
}

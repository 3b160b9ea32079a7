//! Shares of squares: the squares are found once, when the question is planned, and kept in the
//! store; a share computes those of its bands, each as a question of its own.
//!
//! ```text
//! squares            which rows a band has, and what settled pairs give
//! share 1            its bands, and what the settled pairs give
//! share 2 …          their bands
//! ```

use super::checkpoint::continued;
use super::files::Files;
use super::manifest::Manifest;
use crate::identity::{Identity, Key};
use crate::options::{Options, Progress, Target};
use crate::outcome::Output;
use crate::partial::{self, Partial, open_sealed, seal};
use crate::pool::Workers;
use crate::query::Query;
use crate::run::{conservation, refuse_nan, run};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;
use zipfold_core::fold::{Fold, JoinState, Kept, State, Tally};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Blame, Budget, Data, Error, Job, Problem, Reservation, Result};
use zipfold_plan::squares::{Piece, SquareCounts, Squares, is_by_row, serve};
use zipfold_plan::{Machine, Plan, choose};

/// The file with the squares.
const NAME: &str = "squares";
const MAGIC: &[u8; 8] = b"ZFSQRS\x00\x01";
/// Ranges a side for each share, so that shares of whole bands have about as much work.
const RANGES: usize = 4;
/// The fewest and the most ranges a side, and the fewest rows that a range is worth.
const FEWEST: usize = 16;
const MOST: usize = 1024;
const ROWS: usize = 32;
/// Rows of a range of neighbours: the fewer, the more boxes tell of the k-th best.
const ROWS_OF_BEST: usize = 1024;
/// The part of the pairs that squares must settle to be worth their files and copies.
const WORTH: f64 = 0.5;

/// The squares of a store.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SquaresOfStore {
    /// What decides the answer.
    identity: Identity,
    squares: Squares,
}

impl SquaresOfStore {
    /// The squares of `job` for `shares` shares, where bounds settle most of its pairs by squares.
    ///
    /// # Errors
    /// `Resource` when the system refuses threads.
    pub(crate) fn find(
        problem: &Problem,
        (job, plan): (&Job, &Plan),
        shares: usize,
    ) -> Result<Option<Self>> {
        if shares < 2 || !plan.prune.is_on() || !serve(job) {
            return Ok(None);
        }
        let rows = job.space.n.max(job.space.m);
        let most = (rows / ROWS).clamp(1, MOST);
        let fine = match job.folds.iter().any(is_by_row) {
            true => rows / ROWS_OF_BEST,
            false => 0,
        };
        let wanted = shares
            .saturating_mul(RANGES)
            .max(FEWEST)
            .max(fine)
            .min(most);
        let workers = Workers::for_plan(job, plan)?;
        let found = workers.install(|| zipfold_cpu::pairs::prune::squares(job, wanted));
        let worth = |squares: &Squares| {
            squares.counts.settled as f64 >= WORTH * job.space.size().unwrap_or(u64::MAX) as f64
        };
        Ok(found.filter(worth).map(|squares| SquaresOfStore {
            identity: Identity::of_run(problem, job, plan, None),
            squares,
        }))
    }
    pub(crate) fn counts(&self) -> SquareCounts {
        self.squares.counts
    }
    /// Shares that have bands.
    pub(crate) fn most(&self) -> usize {
        self.squares.bands.len().max(1)
    }
    pub(crate) fn write(&self, files: &dyn Files) -> Result<()> {
        let payload = postcard::to_stdvec(self).map_err(|e| Error::internal(e.to_string()))?;
        files.replace(NAME, &seal(MAGIC, &payload))
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
            return Err(Error::input("the squares of the store are not there").at_place(place));
        };
        budget.spend(bytes.len() as u64 * 2, "the squares of the store")?;
        let found: SquaresOfStore = open_sealed(MAGIC, &bytes, &place)?;
        match Some(found.counts()) == manifest.squares {
            true => Ok(Some(found)),
            false => Err(Error::input("the squares are not those of the plan").at_place(place)),
        }
    }
}

impl Key {
    /// The key of shares of squares of `job` by `plan`.
    pub(crate) fn of_squares(job: &Job, plan: &Plan, counts: SquareCounts) -> Self {
        let [x, y] = counts.ranges;
        Key {
            cut: format!("squares of {x} by {y} ranges"),
            ..Key::of_plan(job, plan, 1)
        }
    }
}

/// A share on its way.
pub(super) struct SquareShare<'a> {
    pub problem: &'a Problem,
    pub data: &'a Data,
    pub manifest: &'a Manifest,
    pub squares: &'a SquaresOfStore,
    pub options: &'a Options<'a>,
    /// Where the share keeps what it has.
    pub checkpoint: &'a Path,
}

impl SquareShare<'_> {
    /// Computes share `index`.
    ///
    /// # Errors
    /// Those of the run; `Input` for squares that do not fit the rows; `Interrupted` once the
    /// pieces that are done are kept.
    pub(super) fn compute(&self, index: usize) -> Result<Partial> {
        let query = Query::new(self.problem, self.data, self.options);
        let (job, machine) = query.describe()?;
        let squares = &self.squares.squares;
        if !squares.fits(&job.space) || squares.states.len() != job.folds.len() {
            return Err(Error::input("the squares of the store are damaged"));
        }
        let shard = (index, self.manifest.shares);
        let (pieces, order) = self.pieces(&job, index);
        let mut merged = self.begin(&job, shard, (pieces.len(), order))?;
        let mut held: Vec<Reservation> = vec![];
        let (total, mut saved) = (pairs_of(&job, &pieces), Instant::now());
        for piece in &pieces[merged.tiles_done..] {
            let base = [merged.pairs, total];
            let (states, tally, pairs) = match self.piece((&job, &machine), piece, base) {
                Err(e) if e.blame() == Blame::Interrupted => {
                    partial::keep_partial(self.checkpoint, &merged)?;
                    return Err(e);
                }
                done => done?,
            };
            held.extend(self.hold(&states)?);
            for ((fold, into), from) in job.folds.iter().zip(&mut merged.states).zip(states) {
                fold.merge(into, from);
            }
            merged.tally.merge(&tally);
            merged.pairs += pairs;
            merged.tiles_done += 1;
            if saved.elapsed() >= self.options.checkpoint_every {
                partial::keep_partial(self.checkpoint, &merged)?;
                saved = Instant::now();
            }
            partial::discard(&self.of_piece());
        }
        conservation(&merged)?;
        refuse_nan(&job, &merged.tally)?;
        Ok(Partial {
            // What is complete belongs to no run: the same share has the same bytes.
            run: 0,
            tiles_done: 0,
            problem: serde_json::to_vec(self.problem)
                .map_err(|e| Error::internal(e.to_string()))?,
            ..merged
        })
    }
    /// The pieces of share `index`, each with the place of its first row, and the rows of x by
    /// place, where results have rows.
    fn pieces(&self, job: &Job, index: usize) -> (Vec<(Piece, usize)>, Vec<u32>) {
        let squares = &self.squares.squares;
        let (mut pieces, mut first, mut order) = (vec![], 0, vec![]);
        for band in &squares.bands[squares.share(index, self.manifest.shares)] {
            let of_band = squares.pieces(&job.space, band);
            if let Some(piece) = of_band.first().filter(|_| job.folds.iter().any(is_by_row)) {
                order.extend_from_slice(&piece.rows);
            }
            pieces.extend(of_band.into_iter().map(|piece| (piece, first)));
            first += band.rows.len();
        }
        (pieces, order)
    }
    /// What there is before the first piece, or what an earlier worker has kept.
    fn begin(
        &self,
        job: &Job,
        shard: (usize, usize),
        (pieces, order): (usize, Vec<u32>),
    ) -> Result<Partial> {
        let squares = &self.squares.squares;
        let found = partial::read_if_there(self.checkpoint, &self.options.budget);
        let ours = |found: &Partial| {
            found.identity == self.squares.identity
                && (found.shard, &found.key) == (Some(shard), &self.manifest.key)
                && (found.tiles_done <= pieces && found.order == order)
                && found.check(job, "").is_ok()
        };
        if let Some(found) = found.ok().flatten().filter(ours) {
            return Ok(found);
        }
        let (n, m) = (job.space.n, job.space.m);
        let state = |(fold, settled): (&Fold, &State)| match (is_by_row(fold), shard.0) {
            (true, _) => fold.part(&(0..order.len())),
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
            order,
            ..Partial::start(self.squares.identity, states)
        })
    }
    /// Where the run of a piece keeps what it has.
    fn of_piece(&self) -> PathBuf {
        let mut name = self.checkpoint.as_os_str().to_os_string();
        name.push("-piece");
        name.into()
    }
    /// The states, counts and pairs of a piece, with the rows of the question.
    fn piece(
        &self,
        (job, machine): (&Job, &Machine),
        (piece, first): &(Piece, usize),
        [base, total]: [u64; 2],
    ) -> Result<(Vec<State>, Tally, u64)> {
        let rows = [&piece.rows[..], &piece.cols];
        // The policy is that of the question, whose rows an error names.
        let nan = match job.nan {
            NanPolicy::Error => NanPolicy::Propagate,
            NanPolicy::Skip | NanPolicy::Propagate => job.nan,
        };
        let part = Job {
            nan,
            ..job.of_rows(rows, piece.domain)?
        };
        let plan = choose(&part, machine, &self.options.overrides)?;
        let tell = |p: Progress| {
            if let Some(progress) = self.options.progress {
                progress(Progress::new(p.phase, [base + p.pairs, total, base]));
            }
        };
        let checkpoint = self.of_piece();
        let run = |resume: bool| {
            let options = Options {
                checkpoint: Some(checkpoint.clone()),
                resume,
                progress: Some(&tell),
                shard: None,
                overrides: self.options.overrides.clone(),
                budget: self.options.budget.clone(),
                device: self.options.device,
                warnings: self.options.warnings.clone(),
                ..*self.options
            };
            run(self.problem, &part, plan.clone(), &Target::Memory, &options)
        };
        let outcome = continued(&checkpoint, &self.options.budget, run)?;
        let states = outcome.outputs.into_iter().map(|output| match output {
            Output::State(state) => Ok(state),
            Output::F32(_) | Output::F64(_) | Output::Stored => {
                Err(Error::internal("a dense result of a square"))
            }
        });
        let states = states.collect::<Result<_>>()?;
        let (states, tally) = job.of_some_rows((rows, *first), states, outcome.tally)?;
        Ok((states, tally, outcome.pairs))
    }
    /// Room for the matches of a piece until the share ends.
    fn hold(&self, states: &[State]) -> Result<Option<Reservation>> {
        let bytes = |state: &State| JoinState::within(state).map_or(0, JoinState::bytes);
        let bytes: u64 = states.iter().map(bytes).sum();
        match bytes {
            0 => Ok(None),
            _ => {
                let budget = &self.options.budget;
                budget.reserve(bytes, "the matches found so far").map(Some)
            }
        }
    }
}

/// The pairs of `pieces`.
fn pairs_of(job: &Job, pieces: &[(Piece, usize)]) -> u64 {
    let of = |(piece, _): &(Piece, usize)| {
        let space = zipfold_core::Space {
            domain: piece.domain,
            n: piece.rows.len(),
            m: piece.cols.len(),
            cutoff: job.space.cutoff,
            band: None,
        };
        space.size().unwrap_or(u64::MAX)
    };
    pieces.iter().map(of).fold(0, u64::saturating_add)
}

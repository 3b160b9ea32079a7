//! Chooses a plan for the CPU.
//!
//! The order of decisions matters, since each reads the ones before: instruction set and precision,
//! kernel family, pruning (does leaving out pairs pay?), threads (is there memory for all of
//! them?), tiles, tiles per batch, and at last the predicted time of exactly that.
//!
//! Tile sides come from the problem, not from the machine, so that shards of one question that are
//! made on different machines fit together. What a machine changes is threads, family and the batch
//! of tiles.

use crate::bytes::working_bytes;
use crate::cost::{self, Term, Work};
use crate::filter::{Form, Question};
use crate::machine::{Isa, Machine};
use crate::matches::MatchPlan;
use crate::overrides::{Family, Overrides, Pruning};
use crate::plan::Plan;
use crate::prune::{self, Prune};
use crate::strategy::Strategy;
use crate::tiles::Tiling;
use crate::worst_row;
use zipfold_core::budget::{human_bytes, human_bytes_up};
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::{Error, Job, Message, Opt, Precision, Result, Table};

/// Rows of tiles that a problem is cut into if it is large enough, so that threads stay busy to the
/// end. A constant, because a number of threads would give another machine other tiles.
const PARTS: usize = 16;

/// Parts of a question that may share the time of one plan: one of them is sampled for all.
const ALIKE: usize = 16;

/// Plans `job` for `machine`.
///
/// # Errors
/// `Request` for overrides that do not exist, do not apply, or exclude each other.
pub fn choose(job: &Job, machine: &Machine, overrides: &Overrides) -> Result<Plan> {
    let plan = whole(job, machine, overrides)?;
    let inputs = [Some(&job.x), job.y.as_ref()].into_iter().flatten();
    let taken = inputs
        .map(table_bytes)
        .fold(plan.peak_bytes, u64::saturating_add);
    let free = machine.memory.saturating_sub(taken);
    let matches = MatchPlan::of_job(job, free)?;
    Ok(Plan { matches, ..plan })
}

/// The plan without what becomes of matches.
fn whole(job: &Job, machine: &Machine, overrides: &Overrides) -> Result<Plan> {
    match &job.parts {
        Some(parts) => {
            let alike = parts.list.len().clamp(1, ALIKE);
            let by_parts =
                crate::parts::plan(job, parts, |part| plain(part, alike, machine, overrides))?;
            let whole = |job: &Job| plain(job, 1, machine, overrides);
            crate::groups::plan(job, by_parts, overrides, whole)
        }
        None => plain(job, 1, machine, overrides),
    }
}

/// Plans a question that is one of `alike` parts.
fn plain(job: &Job, alike: usize, machine: &Machine, overrides: &Overrides) -> Result<Plan> {
    let isa = isa(machine, overrides)?;
    let precision = precision(job);
    // Kept apart from other reasons: they are dropped if pruning replaces the family.
    let mut of_family = vec![];
    let family = crate::family::choose(job, machine, isa, precision, overrides, &mut of_family)?;
    let draft = Draft {
        job,
        overrides,
        isa,
        precision,
        family,
        code: crate::family::hindrance(job, machine, isa, precision).is_none(),
        pairs: job.space.size()?,
    };
    let mut reasons: Vec<Message> = vec![];
    let all = Prune::default();
    let every_pair = draft.strategies(&all);
    // Pruning is worth trying only if evaluating all pairs takes longer than sampling and sorting.
    let cycles = draft.cost(machine, (all, &every_pair), 1, cost::cycles_of_pairs);
    let mut prune = prune::choose(job, overrides, cycles * alike as f64, &mut reasons)?;
    let mut warnings = vec![];
    // The machine as it is stays the measure of tiles; only the work may get fewer threads.
    let mut at_work = machine.clone();
    // A user who requested pruning gets it, or an error when memory is reserved; the planner's own
    // choice gives way.
    if prune.is_on() && overrides.prune.is_none() {
        let by_bounds = draft.strategies(&prune);
        let seconds = |machine: &Machine, prune: Prune| {
            let strategies = if prune.is_on() {
                &by_bounds
            } else {
                &every_pair
            };
            seconds(&draft.cost(machine, (prune, strategies), 1, cost::terms))
        };
        let room = |machine: &Machine, prune| draft.room(machine, prune);
        if let Some(short) = short_of_memory(machine, prune, room, seconds)? {
            at_work.threads = short.threads;
            prune = if short.bounds { prune } else { all };
            reasons.push(short.warning.clone());
            warnings.push(short.warning);
        }
    }
    let tiling = tiling(job, machine, overrides, prune, &mut reasons)?;
    // Bounds have kernels of their own: what speaks for a family says nothing then.
    if !prune.is_on() {
        reasons.extend(of_family);
    }
    let strategies = if prune.is_on() {
        draft.strategies(&prune)
    } else {
        every_pair
    };
    draft.finish(&at_work, (prune, strategies), tiling, reasons, warnings)
}

/// What is settled of a plan before its bounds and tiles are.
///
/// These decisions depend on nothing that comes later, so the cost model can be asked with and
/// without pruning.
struct Draft<'a> {
    job: &'a Job,
    overrides: &'a Overrides,
    isa: Isa,
    precision: Precision,
    family: Family,
    /// Whether code can be made for the formula.
    code: bool,
    pairs: u64,
}

impl Draft<'_> {
    /// Returns the strategies with bounds as `prune` has them, the best first.
    fn strategies(&self, prune: &Prune) -> Vec<Strategy> {
        let by_hand = self.overrides.family.is_some();
        let mut list = Strategy::list(self.job, self.family, by_hand, self.code, prune);
        if by_pieces(self.job, prune, self.overrides) {
            list.insert(0, Strategy::Farthest);
        }
        list
    }
    /// Returns what `model` says of the first of `strategies`, in this many batches. The cost
    /// model is asked several times, with and without pruning and with fewer threads.
    fn cost<R>(
        &self,
        machine: &Machine,
        (prune, strategies): (Prune, &[Strategy]),
        batches: usize,
        model: impl FnOnce(&Work<'_>) -> R,
    ) -> R {
        model(&Work {
            job: self.job,
            machine,
            isa: self.isa,
            // The prediction is for the first: a later one runs only if that does not load.
            strategy: strategies.first().unwrap_or(&Strategy::LAST),
            precision: self.precision,
            prune,
            pairs: self.pairs,
            batches,
        })
    }
    /// Returns the memory of a plan: inputs, states of folds, and what threads hold.
    ///
    /// An upper bound, from the functions by which the run reserves.
    fn room(&self, machine: &Machine, prune: Prune) -> Result<u64> {
        let job = self.job;
        let inputs = [Some(&job.x), job.y.as_ref()].into_iter().flatten();
        let inputs: u64 = inputs.map(table_bytes).sum();
        let tiling = tiling(job, machine, self.overrides, prune, &mut vec![])?;
        let working = working_bytes(job, machine.threads, tiling, prune);
        Ok(inputs.saturating_add(states(job)).saturating_add(working))
    }
    /// The plan, of which batches and predictions are left to find.
    fn finish(
        self,
        machine: &Machine,
        (prune, strategies): (Prune, Vec<Strategy>),
        tiling: Tiling,
        reasons: Vec<Message>,
        warnings: Vec<Message>,
    ) -> Result<Plan> {
        let job = self.job;
        // Tiles of the domain that is walked: a pruned run may visit both halves of a triangle.
        let tiles = tiling.count(&prune::walked(job, prune));
        let left = prune.evaluated.filter(|_| prune.is_on()).unwrap_or(1.0);
        let tiles_per_batch = batch(job, (tiles, left), machine.threads, self.overrides)?;
        let (per_component, per_pair) = job.low.operations();
        let operations = (per_component * job.low.dim + per_pair) as f64 + fold_operations(job);
        let batches = tiles.div_ceil(tiles_per_batch);
        let terms = self.cost(machine, (prune, &strategies), batches, cost::terms);
        Ok(Plan {
            backend: "cpu".into(),
            strategies,
            family: self.family,
            isa: self.isa,
            threads: machine.threads,
            tiling,
            order: self.overrides.order.unwrap_or_default(),
            tiles_per_batch,
            precision: self.precision,
            pairs: self.pairs,
            tiles,
            operations,
            peak_bytes: states(job) + working_bytes(job, machine.threads, tiling, prune),
            seconds: seconds(&terms),
            // Terms are sorted, so the first is the largest.
            bound: terms.first().map_or_else(String::new, |t| t.what.clone()),
            terms,
            prune,
            hulls: self.overrides.prune != Some(Pruning::Off),
            leaves_rows: worst_row::leaves_rows(job, self.overrides),
            reasons,
            device: None,
            part: None,
            by_parts: None,
            matches: None,
            warnings,
        })
    }
}

/// Returns whether rows meet the rows of y in pieces, and are left in between: tiles then have all
/// columns.
fn by_pieces(job: &Job, prune: &Prune, overrides: &Overrides) -> bool {
    let free = overrides.family.is_none() && overrides.tile_cols.is_none();
    free && !prune.is_on() && worst_row::by_pieces(job, overrides)
}

/// Adds up the terms: each is an upper bound of something that does not overlap with the others.
fn seconds(terms: &[Term]) -> f64 {
    terms.iter().map(|t| t.seconds).sum()
}

/// Bytes of the numbers of a table.
fn table_bytes(table: &Table) -> u64 {
    (table.rows() * table.cols() * table.precision().bytes()) as u64
}

/// Bytes of the states of all folds, and of the sums that wait for others.
fn states(job: &Job) -> u64 {
    let (n, m, half) = (job.space.n, job.space.m, job.space.is_triangular());
    let bytes = |fold: &Fold| fold.bytes(n, m).saturating_add(fold.waiting(n, m, half));
    job.folds.iter().map(bytes).fold(0, u64::saturating_add)
}

/// What is given up if memory has no room for pruning by all threads.
///
/// Giving up either is slower and has the same answer, so the run goes on with a warning.
struct Short {
    threads: usize,
    bounds: bool,
    warning: Message,
}

/// Returns what to give up if a pruned run does not fit the memory: some threads, if the rest are
/// still faster than all threads over all pairs; else pruning. `room` gives the bytes of a plan,
/// `seconds` its time. One sixteenth of the memory is kept free for what no plan counts.
fn short_of_memory(
    machine: &Machine,
    prune: Prune,
    room: impl Fn(&Machine, Prune) -> Result<u64>,
    seconds: impl Fn(&Machine, Prune) -> f64,
) -> Result<Option<Short>> {
    let (wanted, most) = (room(machine, prune)?, machine.memory / 16 * 15);
    if wanted <= most {
        return Ok(None);
    }
    let mut fewer = machine.clone();
    // Threads hold most of what a pruned run needs, so fewer of them need less.
    while fewer.threads > 1 && room(&fewer, prune)? > most {
        fewer.threads -= 1;
    }
    // Pruning by few threads against all pairs by all threads: the model decides.
    let bounds =
        room(&fewer, prune)? <= most && seconds(&fewer, prune) < seconds(machine, Prune::default());
    let threads = if bounds {
        fewer.threads
    } else {
        machine.threads
    };
    let slower = match bounds {
        true => format!(
            "threads at work: {threads} of {}, for want of memory",
            machine.threads
        ),
        false => "all pairs are evaluated, for want of memory".into(),
    };
    let limit = human_bytes(machine.memory);
    let rest = format!(
        "the sorted rows that bounds need make it {} in all (limit {limit})",
        human_bytes(wanted)
    );
    // The inverse of the sixteenth that is kept free, rounded up.
    let enough = human_bytes_up((wanted / 15 + 1) * 16);
    Ok(Some(Short {
        threads,
        bounds,
        warning: format!("{slower}: {rest}; {} is enough", Opt::Memory.to(enough)).into(),
    }))
}

/// Returns the instruction set: the machine's best, or a lesser one that the user names.
///
/// A better one than the machine has would end the process with an illegal instruction.
fn isa(machine: &Machine, overrides: &Overrides) -> Result<Isa> {
    let Some(isa) = overrides.isa else {
        return Ok(machine.isa);
    };
    let have = machine.isa.up_to();
    if have.contains(&isa) {
        return Ok(isa);
    }
    // All 64-bit ARM has NEON, so nothing is compiled for less.
    if isa == Isa::Scalar {
        return Ok(have[0]);
    }
    let have: Vec<&str> = have.iter().map(|i| i.name()).collect();
    let e = Error::request(format!(
        "this machine has no instruction set '{}'",
        isa.name()
    ));
    Err(e.at_place(Opt::Set.like("isa")).remedy(have.join(", ")))
}

/// Returns the type of values: the precision of the job if every fold rounds anyway (matrices,
/// sums), else f64. Counts, joins, neighbours and extremes are decided by the reference value, and
/// so is a cut-off. Sums are kept in f64 in any case.
fn precision(job: &Job) -> Precision {
    let rounded = job.folds.iter().all(|fold| fold.traits().rounds);
    // A cut-off decides in f64, like every predicate.
    if rounded && job.cutoff_root.is_none() {
        job.precision
    } else {
        Precision::F64
    }
}

/// Returns the sides of tiles.
///
/// A tile is swept block by block: a panel of 128 columns stays in the second cache while the rows
/// of the tile pass over it. Beyond that each kind of fold has its own wish:
///
/// | fold | tile | why |
/// |---|---|---|
/// | nearest, filtered extremes | few rows, wide | the k-th best so far is beaten less and less often along a row |
/// | matrix into a file | whole rows if they fit | lines of the file follow each other |
/// | symmetric matrix | squares | the transposed lines are as long |
/// | pruned | few rows, all columns | the tree of boxes is walked from its top |
/// | quantiles | a block of rows, all columns | a row is finished when all its values are there |
fn tiling(
    job: &Job,
    machine: &Machine,
    overrides: &Overrides,
    prune: Prune,
    reasons: &mut Vec<Message>,
) -> Result<Tiling> {
    let filtered =
        Form::for_job(job).is_some_and(|form| matches!(form.question, Question::Best(_)));
    let nearest = filtered || job.folds.iter().any(|f| matches!(f, Fold::Nearest(_)));
    // The bytes of a panel of columns, for `explain`.
    let panel = BLOCK * job.low.dim.max(1) * 8;
    reasons.push(
        format!(
            "a panel of {BLOCK} columns holds {panel} bytes; second-level cache {} bytes",
            machine.l2
        )
        .into(),
    );
    if nearest {
        reasons.push("wide tiles, so that the k-th neighbour so far is rarely beaten".into());
    }
    let (rows, wide) = match by_pieces(job, &prune, overrides) {
        // What a piece of columns needs is made for each tile.
        true => (
            (job.space.n / PARTS).clamp(2 * BLOCK, 64 * BLOCK),
            job.space.m,
        ),
        false => sides(job, prune, nearest),
    };
    // The longer a row goes on, the fewer of its values beat the best so far and need a second
    // look.
    // As wide as leaves 4 · 16 tiles for the threads.
    let long = job.space.m * job.space.n.div_ceil(rows) / (4 * PARTS);
    let wide = if filtered {
        wide.max(job.space.m.min(long))
    } else {
        wide
    };
    // Whole rows are finished one block of them at a time.
    let whole = job.folds.iter().any(|fold| fold.traits().whole_rows);
    let (rows, wide) = if whole {
        (BLOCK, job.space.m)
    } else {
        (rows, wide)
    };
    let by_hand = [overrides.tile_rows, overrides.tile_cols].map(|side| side.map(|v| v.get()));
    // Folds that take values in the order of columns want all of them in one tile.
    let by_hand = if prune.is_on() && prune.grid.is_some() {
        [by_hand[0], None]
    } else {
        by_hand
    };
    let chosen = Tiling::new(by_hand[0].unwrap_or(rows), by_hand[1].unwrap_or(wide)).in_spans(job);
    // Tiles of dense results stay small on their way into a file, rows that are finished whole too.
    let fixed =
        whole || by_hand.iter().any(Option::is_some) || job.folds.iter().any(Fold::is_dense);
    Ok(match fixed {
        true => chosen,
        false => chosen.listed(&prune::walked(job, prune)),
    })
}

/// Returns the rows and columns of a tile that suit the folds of `job`, some of which may look for
/// the `nearest`. Sides depend on the problem alone: shards made on different machines must have
/// the same tiles.
fn sides(job: &Job, prune: Prune, nearest: bool) -> (usize, usize) {
    let (n, m) = (job.space.n, job.space.m);
    if prune.is_on() {
        // All columns, so that the tree is walked from its top; enough tiles for every thread to
        // find work at the end.
        return ((n / (8 * PARTS)).clamp(2 * BLOCK, 32 * BLOCK), m);
    }
    let rows = if nearest { 2 * BLOCK } else { 8 * BLOCK };
    let rows = rows.min(n.div_ceil(PARTS).max(1));
    let mut dense = job.folds.iter().filter_map(Fold::dense);
    let mirrored = dense.any(|f| f.is_mirrored(&job.space));
    match (job.folds.iter().all(Fold::is_dense), mirrored) {
        // Whole rows follow each other in a file.
        (true, false) => {
            let wide = m.next_multiple_of(BLOCK).clamp(BLOCK, 32 * BLOCK);
            // At most 32 blocks of cells in all, so that a tile on its way to the file stays small.
            (rows.min(32 * BLOCK * BLOCK / wide), wide)
        }
        // Squares, so that the transposed lines are as long. An eighth of the side leaves 36 tiles
        // for the threads.
        (true, true) => {
            let side = (n / 8).clamp(BLOCK, 8 * BLOCK);
            (side, side)
        }
        _ => (rows, if nearest { 64 * BLOCK } else { 8 * BLOCK }),
    }
}

/// Returns how many consecutive tiles a thread folds into one partial state.
///
/// Merging a state of fixed size (a histogram) costs as much as its counters, so a batch should
/// evaluate at least 16 pairs per counter. On the other side there should be 8 batches per thread,
/// so that no thread waits long at the end. If a state is so large that even that is too many
/// merges, there is one batch per thread.
///
/// ```text
/// 100 bins, 10⁸ pairs in 1024 tiles, 8 threads: 510 words, a tile has 10⁵ pairs > 16 · 510  →  1 tile per batch
/// 10⁷ bins:  5·10⁷ words, 16 · 5·10⁷ > all pairs  →  1024 / 8 = 128 tiles per batch
/// ```
fn batch(
    job: &Job,
    (tiles, share): (usize, f64),
    threads: usize,
    overrides: &Overrides,
) -> Result<usize> {
    if let Some(by_hand) = overrides.batch {
        return Ok(by_hand.get());
    }
    let state: u64 = job
        .folds
        .iter()
        .filter(|f| f.traits().fixed_size)
        .map(|f| f.bytes(job.space.n, job.space.m))
        .sum();
    let counters = state / 8;
    // Pairs that are left out give the counters nothing to do.
    let pairs = (job.space.size()? as f64 * share) as u64;
    // Pairs of a tile, on average.
    let of_tile = (pairs / tiles.max(1) as u64).clamp(1, (BLOCK * BLOCK * 64) as u64);
    let by_state = usize::try_from((counters * 16).div_ceil(of_tile)).unwrap_or(usize::MAX);
    // Threads are kept even by parts, as many as have enough pairs for their counters.
    let enough = pairs / counters.saturating_mul(16 * threads as u64).max(1);
    let parts = threads * enough.clamp(1, 8) as usize;
    Ok(by_state.clamp(1, (tiles / parts).max(1)))
}

/// Adds up the operations per value of all folds, as `explain` shows them.
fn fold_operations(job: &Job) -> f64 {
    job.folds.iter().map(|fold| fold.traits().operations).sum()
}

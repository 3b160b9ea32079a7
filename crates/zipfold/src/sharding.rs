//! Shards of a run as values: made anywhere, merged to the bits of one run.

use crate::frame::{Block, Frame};
use crate::identity::{Identity, differs};
use crate::options::{Options, Target};
use crate::outcome::{Outcome, Output};
use crate::partial::Partial;
use crate::places::{Places, Run, Typed, UnitPlaces};
use crate::query::{Answer, Query, Ready};
use crate::row_names::RowNames;
use crate::run::{Growth, outputs};
use crate::runs::{MatchRuns, RunFacts};
use zipfold_core::data::Data;
use zipfold_core::fold::{Fold, State, Tally};
use zipfold_core::{Error, Job, Opt, Precision, Problem, Reservation, Result};
use zipfold_plan::executor::ValueType;
use zipfold_plan::{Plan, Sink, dense_bytes, shares};

/// The mergeable result of the shard `shard` (index from 0, parts) that gave `outcome`.
///
/// # Errors
/// `Internal` when the run was none of a shard.
pub fn part(problem: &Problem, outcome: &Outcome, shard: (usize, usize)) -> Result<Partial> {
    let whole = || Error::internal("a shard that was run as a whole");
    let shared = outcome.shared.as_ref().ok_or_else(whole)?;
    let identity = outcome.identity.ok_or_else(whole)?;
    let (mut states, mut blocks) = (vec![], vec![]);
    let (mut runs, mut matches) = (vec![], vec![]);
    for (at, (output, frame)) in outcome.outputs.iter().zip(&shared.frames).enumerate() {
        let there = match output {
            Output::Runs(there) => Some(there.clone()),
            Output::F32(_) | Output::F64(_) | Output::Stored | Output::State(_) => None,
        };
        let run = |there: &MatchRuns| there.as_one(at, identity.number(shard));
        runs.push(there.iter().map(run).collect());
        matches.push(there);
        let (state, block) = match (output, frame) {
            (Output::Runs(there), _) => (there.rest(), Block::None),
            (Output::State(state), None) => (state.clone(), Block::None),
            (Output::F32(values), Some(frame)) => {
                (WRITTEN, Block::F32(frame.clone(), values.clone()))
            }
            (Output::F64(values), Some(frame)) => {
                (WRITTEN, Block::F64(frame.clone(), values.clone()))
            }
            _ => {
                return Err(Error::internal(
                    "a dense result of a shard without its rows",
                ));
            }
        };
        states.push(state);
        blocks.push(block);
    }
    Ok(Partial {
        pairs: outcome.pairs,
        tally: outcome.tally,
        problem: serde_json::to_vec(problem).map_err(|e| Error::internal(e.to_string()))?,
        shard: Some(shard),
        key: shared.key.clone(),
        order: shared.order.clone(),
        blocks,
        runs,
        matches,
        // What is complete belongs to no run: the same shard has the same bytes.
        run: 0,
        ..Partial::start(identity, states)
    })
}

/// The state of a dense fold: its values are elsewhere.
const WRITTEN: State = State::Dense(zipfold_core::fold::Written);

/// The problem inside the partial result called `name`.
///
/// # Errors
/// `Input` when it holds none.
pub fn problem_of(name: &str, part: &Partial) -> Result<Problem> {
    if part.problem.is_empty() {
        let e = Error::request("this is the checkpoint of a run that has not ended, not a shard")
            .at_place(name);
        return Err(e.remedy(format!(
            "go on with the command that made it and {}",
            Opt::Resume
        )));
    }
    serde_json::from_slice(&part.problem)
        .map_err(|e| Error::input(format!("invalid problem inside: {e}")).at_place(name))
}

/// Merges the named partial results of all shards of `problem` over `data`.
///
/// # Errors
/// `Request` when a shard is missing, there twice, of another problem, of other data, or computed in
/// another way; `Input` when one is damaged or the shards do not cover the space; and those of
/// [`Query::ready`].
pub fn merge<'a>(
    problem: &'a Problem,
    data: &'a Data,
    mut parts: Vec<(String, Partial)>,
    options: &'a Options<'a>,
) -> Result<Answer<'a>> {
    parts.sort_by_key(|(_, p)| p.shard);
    let mut parts = parts.into_iter().map(Ok);
    let (answer, _) = merge_each(
        (problem, data),
        &mut parts,
        (&Target::Memory, false),
        options,
    )?;
    Ok(answer)
}

/// Merges partial results one after another, in the order of their shards; dense results go to the
/// target. With `incomplete` shards may be missing; their numbers, from 0, come with the answer.
///
/// # Errors
/// Those of [`merge`], of the parts and of the target.
pub fn merge_each<'a>(
    (problem, data): (&'a Problem, &'a Data),
    parts: &mut dyn Iterator<Item = Result<(String, Partial)>>,
    (target, incomplete): (&Target, bool),
    options: &'a Options<'a>,
) -> Result<(Answer<'a>, Vec<usize>)> {
    let Some(first) = parts.next().transpose()? else {
        return Err(Error::request("no partial results to merge"));
    };
    problem_of(&first.0, &first.1)?;
    let single = first.1.blocks.iter().any(|b| matches!(b, Block::F32(..)));
    let mut ready = Query::new(problem, data, options).ready()?;
    if ready.job.folds.iter().any(Fold::is_dense) {
        ready.plan.precision = if single {
            Precision::F32
        } else {
            Precision::F64
        };
    }
    let names = RowNames::from_data(data);
    match ready.plan.precision {
        Precision::F32 => {
            merge_typed::<f32>((ready, names), first, parts, (target, incomplete), options)
        }
        Precision::F64 => {
            merge_typed::<f64>((ready, names), first, parts, (target, incomplete), options)
        }
    }
}

fn merge_typed<'a, T: Typed + ValueType>(
    (ready, names): (Ready<'a>, RowNames),
    first: (String, Partial),
    parts: &mut dyn Iterator<Item = Result<(String, Partial)>>,
    (target, incomplete): (&Target, bool),
    options: &'a Options<'a>,
) -> Result<(Answer<'a>, Vec<usize>)> {
    let Ready {
        problem: ranged,
        job,
        plan,
        seconds,
        ..
    } = ready;
    let own = Identity::of_run(&ranged, &job, &plan, None);
    let _held = reserve(&job, &plan, target, options)?;
    let run = Run {
        number: 0,
        checkpoint: None,
        resumed: false,
    };
    let places = Places::<T>::new(&job, target, &options.budget, run)?;
    let mut merging = Merging::new((&job, &plan), (own, &first.1), &places, options);
    for part in std::iter::once(Ok(first)).chain(parts) {
        let (name, part) = part?;
        merging.add(&name, part)?;
    }
    merging.end(incomplete)?;
    let (states, tally, pairs, missing) = (
        merging.states,
        merging.tally,
        merging.pairs,
        merging.missing,
    );
    let (runs, matches) = (merging.runs, merging.matches);
    let workers = crate::pool::Workers::for_plan(&job, &plan)?;
    let outputs = outputs(places, (states, &runs, matches), u64::MAX, &workers)?;
    let outcome = Outcome {
        plan,
        outputs,
        tally,
        pairs,
        before: 0,
        kernel_seconds: 0.0,
        load_seconds: 0.0,
        warnings: options.warnings.all(),
        identity: Some(own),
        shared: None,
    };
    let answer = Answer {
        problem: ranged,
        job,
        outcome,
        range: None,
        planning: seconds,
        names,
    };
    Ok((answer, missing))
}

/// Memory of the merged result.
fn reserve(
    job: &Job,
    plan: &Plan,
    target: &Target,
    options: &Options<'_>,
) -> Result<Vec<Reservation>> {
    let (n, m) = (job.space.n, job.space.m);
    let mut held = vec![];
    for fold in &job.folds {
        held.push(
            options
                .budget
                .reserve(fold.bytes(n, m), "the merged result")?,
        );
        let waiting = fold.waiting(n, m, job.space.is_triangular());
        // Shares of other tiles leave gaps on both sides of what is there.
        let both = waiting.saturating_mul(2);
        held.push(options.budget.reserve(both, "sums of some columns")?);
        if matches!(target, Target::Memory | Target::Runs(..)) {
            let bytes = dense_bytes(fold, n, m, plan.precision);
            held.push(options.budget.reserve(bytes, "the matrix")?);
        }
    }
    Ok(held)
}

/// A merge under way.
struct Merging<'m, T: Typed> {
    job: &'m Job,
    plan: &'m Plan,
    /// The identity of the inputs of the merge.
    own: Identity,
    /// The first part, without its results.
    first: Partial,
    states: Vec<State>,
    tally: Tally,
    pairs: u64,
    /// The shard that comes next.
    next: usize,
    missing: Vec<usize>,
    /// Of shards that sorted their rows: the rows that are there.
    rows: Vec<bool>,
    places: &'m Places<T>,
    /// By fold: the runs of matches that memory does not hold, and those of the parts.
    runs: Vec<Vec<RunFacts>>,
    matches: Vec<Vec<MatchRuns>>,
    growth: Growth,
    options: &'m Options<'m>,
}

impl<'m, T: Typed + ValueType> Merging<'m, T> {
    /// Nothing merged yet.
    fn new(
        (job, plan): (&'m Job, &'m Plan),
        (own, first): (Identity, &Partial),
        places: &'m Places<T>,
        options: &'m Options<'m>,
    ) -> Self {
        let (n, m) = (job.space.n, job.space.m);
        Merging {
            job,
            plan,
            own,
            first: Partial {
                states: vec![],
                blocks: vec![],
                order: vec![],
                matches: vec![],
                ..first.clone()
            },
            states: job.folds.iter().map(|f| f.start(n, m)).collect(),
            tally: Tally::default(),
            pairs: 0,
            next: 0,
            missing: vec![],
            rows: vec![],
            places,
            runs: vec![vec![]; job.folds.len()],
            matches: job.folds.iter().map(|_| vec![]).collect(),
            growth: Growth::default(),
            options,
        }
    }
    fn total(&self) -> usize {
        self.first.shard.map_or(0, |shard| shard.1)
    }
    /// Adds the next part.
    ///
    /// # Errors
    /// `Request` for a part of something else, or of a shard that was there; `Input` for a damaged
    /// one.
    fn add(&mut self, name: &str, mut part: Partial) -> Result<()> {
        self.check(name, &part)?;
        part.open_matches(self.job, &self.options.budget)?;
        let there = part.matches.drain(..);
        let all = self.matches.iter_mut().zip(there);
        all.for_each(|(all, there)| all.extend(there));
        let index = part.shard.map_or(0, |shard| shard.0);
        if index < self.next || index >= self.total() {
            return Err(self.twice(index).at_place(name.to_string()));
        }
        self.missing.extend(self.next..index);
        self.next = index + 1;
        self.note_rows(name, &part)?;
        let sink = UnitPlaces::new(self.places);
        for (at, block) in part.blocks.iter().enumerate() {
            if block.frame().is_some() {
                block.place(&|first, values| sink.put(at, first, values))?;
            }
        }
        self.tally.merge(&part.tally);
        self.pairs = self.pairs.checked_add(part.pairs).ok_or_else(uncovered)?;
        merge_states(self.job, &mut self.states, part);
        let merged = (&mut self.states[..], &mut self.runs[..]);
        let stores = &self.places.stores;
        (self.growth).cover_or_write(merged, vec![], stores, (self.plan, self.options))
    }
    fn twice(&self, index: usize) -> Error {
        let total = self.total();
        Error::request(format!(
            "shard {} of {total} is missing or there twice",
            index.saturating_add(1)
        ))
    }
    /// Refuses a part of another question, of other data, or computed in another way.
    fn check(&self, name: &str, part: &Partial) -> Result<()> {
        problem_of(name, part)?;
        let otherwise = part
            .key
            .difference(&self.first.key)
            .map(|(what, here, there)| {
                computed_otherwise(what, [here, there], self.shard_words(part))
                    .at_place(name.to_string())
            });
        if let Some(what) = part.identity.answer_difference(&self.first.identity) {
            // The precision is a word of the problem, too, which a hash does not name.
            let named = otherwise.filter(|_| part.key.precision != self.first.key.precision);
            return Err(named.unwrap_or_else(|| run_otherwise(what, name)));
        }
        if let Some(e) = otherwise {
            return Err(e);
        }
        if part.problem != self.first.problem || part.shard.map(|s| s.1) != Some(self.total()) {
            let e = Error::request("the partial results belong to different problems")
                .at_place(name.to_string());
            return Err(e.remedy("merge the shards of one command"));
        }
        if let Some(what) = self.own.answer_difference(&part.identity) {
            let e = differs(what, "what this shard was run on").at_place(name.to_string());
            return Err(e.remedy(
                "merge over the inputs that the shards were run on, or run the shards again",
            ));
        }
        part.check(self.job, name)
    }
    /// The numbers of a part and of the first one, from 1.
    fn shard_words(&self, part: &Partial) -> [usize; 2] {
        [part, &self.first].map(|p| p.shard.map_or(0, |shard| shard.0) + 1)
    }
    /// Where parts sorted their rows, each is there once.
    fn note_rows(&mut self, name: &str, part: &Partial) -> Result<()> {
        if !part.order.is_empty() {
            self.rows.resize(self.job.space.n, false);
        }
        for row in &part.order {
            if std::mem::replace(&mut self.rows[*row as usize], true) {
                let e = Error::input(format!("row {row} is in several shards"));
                return Err(e.at_place(name.to_string()).remedy("run the shards again"));
            }
        }
        Ok(())
    }
    /// Everything is there, or what is missing may be.
    fn end(&mut self, incomplete: bool) -> Result<()> {
        let folds = self.job.folds.iter().zip(&mut self.states);
        folds.for_each(|(fold, state)| fold.close(state, None));
        self.missing.extend(self.next..self.total());
        if self.missing.is_empty() {
            return match self.pairs == self.job.pairs()? {
                true => Ok(()),
                false => Err(uncovered()),
            };
        }
        if !incomplete {
            let missing = self.missing.iter().map(|at| at + 1).collect::<Vec<_>>();
            let e = Error::request(format!(
                "{} of {} shards: missing {}",
                self.total() - missing.len(),
                self.total(),
                ranges_of(&missing)
            ));
            return Err(e.remedy("give all of them"));
        }
        self.fill_missing()
    }
    /// The values of dense results that no shard has given are NaN.
    fn fill_missing(&self) -> Result<()> {
        let sink = UnitPlaces::new(self.places);
        for (at, fold) in self
            .job
            .folds
            .iter()
            .enumerate()
            .filter(|(_, f)| f.is_dense())
        {
            for index in &self.missing {
                let share = shares::share(self.job, self.plan, *index, self.total());
                let Some(frame) = Frame::of_share(self.job, fold, &share) else {
                    continue;
                };
                let values = vec![f64::NAN; frame.elements()];
                let block = match self.plan.precision {
                    Precision::F64 => Block::F64(frame, values),
                    Precision::F32 => Block::F32(frame, vec![f32::NAN; values.len()]),
                };
                block.place(&|first, values| sink.put(at, first, values))?;
            }
        }
        Ok(())
    }
}

/// Adds the results of a part. Those of sorted rows are put in the places of their rows.
pub fn merge_states(job: &Job, states: &mut [State], part: Partial) {
    let own = job.folds.iter().zip(&part.states);
    let spans = own.map(|(fold, state)| fold.span(state));
    let start = spans
        .filter(|s| !s.is_empty())
        .map(|s| s.start)
        .max()
        .unwrap_or(0);
    let mut order = vec![0; if part.order.is_empty() { 0 } else { start }];
    order.extend(&part.order);
    for ((fold, into), from) in job.folds.iter().zip(states).zip(part.states) {
        if part.order.is_empty() {
            fold.merge(into, from);
        } else {
            fold.merge_sorted(into, from, &order);
        }
    }
}

/// Ascending numbers in few words: `1, 4-7, 9`.
pub fn ranges_of(numbers: &[usize]) -> String {
    let mut words: Vec<String> = vec![];
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        words.push(match run {
            [one] => one.to_string(),
            [a, b] => format!("{a}, {b}"),
            [first, .., last] => format!("{first}-{last}"),
            [] => continue,
        });
    }
    words.join(", ")
}

fn uncovered() -> Error {
    Error::input("the shards do not hold the pairs of the space, each once")
        .remedy("run the shards again on the same inputs")
}

fn run_otherwise(what: &str, name: &str) -> Error {
    let (set, memory, device) = (Opt::Set, Opt::Memory, Opt::Device);
    differs(what, "what the first shard was run on")
        .at_place(name.to_string())
        .remedy(format!(
            "run all shards on the same inputs, with the same {set}, {memory} and {device}"
        ))
}

/// The refusal of a shard whose numbers came about in another way than those of the first.
fn computed_otherwise(what: &str, [here, there]: [&str; 2], [this, first]: [usize; 2]) -> Error {
    Error::request(format!(
        "{what} is not the same: shard {this} has {here}, shard {first} has {there}"
    ))
    .remedy(format!(
        "run all shards by one version, with the same {}, {} and {}",
        Opt::Precision,
        Opt::Set,
        Opt::Device
    ))
}

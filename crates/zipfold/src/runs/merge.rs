//! The k-way merge of sorted runs, with a block of each in memory.
//!
//! ```text
//! heap of the first record of each run
//! take the least run; copy its records up to the least of the others; read its next block where it ends
//! more runs than memory has blocks for: some become one run, until they are few enough
//! ```

use super::facts::RunFacts;
use super::records::RecordForm;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zipfold_core::budget::Reserved;
use zipfold_core::fold::{JoinState, State};
use zipfold_core::{Budget, Error, Opt, Result};
use zipfold_io::runs::{BLOCK_RECORDS, RunFile, RunFolder, RunReader, RunWriter, files_left};

/// Records that are handed on at a time.
const SOME: usize = 4 * BLOCK_RECORDS;
/// The fewest runs that are merged at once, and the most: each is an open file.
const FEWEST: usize = 8;
/// The fewest where the process may open few files: a run grows by one other at least.
const TWO: usize = 2;
const MOST: usize = 512;
/// The part of the free memory that blocks of runs may take.
const PART: u64 = 4;
/// Records that are compared one by one before they are searched.
const NEAR: usize = 8;

/// The matches of a join in sorted runs, in the order of their rows.
#[derive(Clone, Debug)]
pub struct MatchRuns {
    runs: Vec<RunFile>,
    form: RecordForm,
    records: u64,
    budget: Budget,
    /// The state of their fold, without them.
    rest: State,
    /// The folder that goes with the last answer that has runs in it.
    _folder: Option<Arc<RunFolder>>,
}

impl MatchRuns {
    /// The matches of these runs. Where they are more than are merged at once, some become one, in
    /// files that `place` names; the blocks of runs leave `kept` bytes.
    ///
    /// # Errors
    /// `Input` for damaged runs; `Resource` when the disk is full.
    pub(crate) fn new(
        (mut runs, form): (Vec<RunFile>, RecordForm),
        place: &dyn Fn() -> Result<(PathBuf, u128)>,
        budget: &Budget,
        kept: u64,
    ) -> Result<MatchRuns> {
        let records = runs.iter().map(RunFile::records).sum();
        let block = RunReader::block_bytes(form.width());
        let free = budget.free();
        let room = ((free / PART).min(free.saturating_sub(kept)) / block) as usize;
        let fewest = if kept == 0 { FEWEST } else { TWO };
        let most = room.clamp(fewest, MOST).min(files_left()).max(TWO);
        while runs.len() > most {
            // The first ones are the smallest: later ones were merged already.
            let more = (runs.len() - most + 1).clamp(2, most);
            let (path, identity) = place()?;
            let some: Vec<RunFile> = runs.drain(..more).collect();
            let written = write(&some, form, (&path, identity), budget)?;
            some.into_iter().for_each(RunFile::pass);
            let key = (identity, form.width(), written);
            runs.push(RunFile::check(&path, key, budget)?.passing(true));
        }
        Ok(MatchRuns {
            runs,
            form,
            records,
            budget: budget.clone(),
            rest: State::Join(JoinState::default()),
            _folder: None,
        })
    }
    /// The least bytes that their blocks take while they are written.
    pub(crate) fn least_bytes(form: RecordForm) -> u64 {
        TWO as u64 * RunReader::block_bytes(form.width())
    }
    /// Bytes of [`MatchRuns::starts`].
    pub(crate) fn bytes_of_starts(n: usize) -> u64 {
        (n as u64)
            .saturating_add(1)
            .saturating_mul(size_of::<i64>() as u64)
    }
    /// Room for where each of `n` rows begins, and where the last one ends.
    ///
    /// # Errors
    /// `Resource` when the budget has none.
    pub(crate) fn starts(&self, n: usize) -> Result<Reserved<i64>> {
        self.budget.vec(n + 1, 0, "where rows begin")
    }
    /// How many there are.
    pub fn records(&self) -> u64 {
        self.records
    }
    /// The matches of runs that are there, however many.
    ///
    /// # Errors
    /// `Resource` for more runs than are merged at once.
    pub(crate) fn there(
        runs: Vec<RunFile>,
        form: RecordForm,
        budget: &Budget,
    ) -> Result<MatchRuns> {
        let place = || Err(Error::internal("a shard of many runs of matches"));
        MatchRuns::new((runs, form), &place, budget, 0)
    }
    /// The same, with runs in a folder that is there as long as this is.
    pub(crate) fn within(self, folder: Option<Arc<RunFolder>>) -> Self {
        MatchRuns {
            _folder: folder,
            ..self
        }
    }
    /// The same, of a fold whose state without matches is `rest`.
    pub(crate) fn of_fold(self, rest: State) -> Self {
        MatchRuns { rest, ..self }
    }
    /// The state of their fold, without them.
    pub(crate) fn rest(&self) -> State {
        self.rest.clone()
    }
    /// The runs.
    pub(crate) fn files(&self) -> &[RunFile] {
        &self.runs
    }
    /// What a part says of these matches of fold `at`: one run, whose bytes are those of the matches
    /// alone. Runs of other parts have other names, so a part and its runs are never mixed.
    pub(crate) fn as_one(&self, at: usize, identity: u128) -> RunFacts {
        RunFacts {
            name: format!("{at}-{identity}"),
            identity,
            records: self.records,
        }
    }
    /// Hands all matches to `take`, `some` at a time, in the order of their rows.
    ///
    /// # Errors
    /// Those of `take`; `Input` for damaged runs; `Resource` when the budget has no room for the
    /// blocks and `some` matches.
    pub fn each(&self, some: usize, take: &mut dyn FnMut(&JoinState) -> Result<()>) -> Result<()> {
        let bytes = RunReader::block_bytes(self.form.width()) * self.runs.len() as u64
            + (some as u64).min(self.records) * self.form.listed_bytes();
        let _held = self
            .budget
            .reserve(bytes, "the blocks of runs of matches")?;
        let width = self.form.width();
        let mut chunk = JoinState::default();
        let mut push = |records: &[u64]| {
            let mut rest = records;
            while !rest.is_empty() {
                let room = some.max(1) - chunk.i.len();
                let (now, later) = rest.split_at(rest.len().min(room * width));
                self.form.listed(now, &mut chunk);
                rest = later;
                if chunk.i.len() >= some.max(1) {
                    take(&chunk)?;
                    empty(&mut chunk);
                }
            }
            Ok(())
        };
        merged((&self.runs, self.form), &self.budget, &mut push)?;
        match chunk.i.is_empty() {
            true => Ok(()),
            false => take(&chunk),
        }
    }
    /// Appends all matches of `parts` to those in memory.
    ///
    /// # Errors
    /// `Resource` when the budget does not hold them; `Input` for damaged runs.
    pub(crate) fn hold_all(parts: &[MatchRuns], state: &mut JoinState) -> Result<()> {
        let Some(MatchRuns { form, budget, .. }) = parts.first() else {
            return Ok(());
        };
        let records = parts.iter().map(MatchRuns::records);
        let records = records.fold(0, u64::saturating_add);
        // Once more for sorting.
        let bytes = records.saturating_mul(2 * form.listed_bytes());
        let taken = budget.spend(bytes, "the matches");
        taken.map_err(in_memory)?;
        form.make_room(state, records as usize);
        let mut push = |records: &[u64]| {
            form.listed(records, state);
            Ok(())
        };
        let mut parts = parts.iter();
        parts.try_for_each(|part| merged((&part.runs, *form), budget, &mut push))
    }
    /// Writes all matches as one run, and returns their number.
    ///
    /// # Errors
    /// `Input` for damaged runs; `Resource` when the disk is full.
    pub(crate) fn write_as_one(&self, path: &Path, identity: u128) -> Result<u64> {
        write(&self.runs, self.form, (path, identity), &self.budget)
    }
}

/// The refusal of matches that memory should hold.
pub(crate) fn in_memory(e: Error) -> Error {
    let streamed = Opt::Output.like("matches.parquet");
    e.remedy(format!(
        "{streamed}, which takes matches that memory does not hold, or a larger {}",
        Opt::Memory
    ))
}

fn empty(chunk: &mut JoinState) {
    chunk.i.clear();
    chunk.j.clear();
    chunk.values.clear();
}

fn write(
    runs: &[RunFile],
    form: RecordForm,
    (path, identity): (&Path, u128),
    budget: &Budget,
) -> Result<u64> {
    let mut out = RunWriter::create(path, identity, form.width(), true)?;
    merged((runs, form), budget, &mut |records| out.push(records))?;
    out.finish()
}

/// Hands the records of all runs to `take` in their order.
fn merged(
    (runs, form): (&[RunFile], RecordForm),
    budget: &Budget,
    take: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let open = runs.iter().map(|run| run.open(budget));
    let open: Vec<RunReader> = open.collect::<Result<_>>()?;
    match form.width() {
        1 => merged_as::<1>(&open, take),
        2 => merged_as::<2>(&open, take),
        _ => merged_as::<3>(&open, take),
    }
}

/// A run under way: a block of it.
struct Cursor<'r, const W: usize> {
    run: &'r RunReader,
    words: Vec<u64>,
    /// The next block, and the next record of this one.
    block: u64,
    at: usize,
}

impl<'r, const W: usize> Cursor<'r, W> {
    fn begin(run: &'r RunReader) -> Result<Self> {
        let mut cursor = Cursor {
            run,
            words: vec![],
            block: 0,
            at: 0,
        };
        cursor.next_block()?;
        Ok(cursor)
    }
    fn next_block(&mut self) -> Result<()> {
        self.run.block(self.block, &mut self.words)?;
        (self.block, self.at) = (self.block + 1, 0);
        Ok(())
    }
    /// The records of the block that are left.
    fn left(&self) -> &[[u64; W]] {
        &self.words.as_chunks::<W>().0[self.at..]
    }
}

fn merged_as<const W: usize>(
    runs: &[RunReader],
    take: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let cursors = runs.iter().map(Cursor::<W>::begin);
    let mut cursors: Vec<Cursor<'_, W>> = cursors.collect::<Result<_>>()?;
    let firsts = cursors.iter().enumerate();
    let firsts = firsts.filter_map(|(at, cursor)| Some(Reverse((*cursor.left().first()?, at))));
    let mut heap: BinaryHeap<Reverse<([u64; W], usize)>> = firsts.collect();
    let mut out: Vec<u64> = Vec::with_capacity(SOME * W);
    while let Some(Reverse((_, at))) = heap.pop() {
        let limit = heap.peek().map(|Reverse((record, _))| *record);
        let cursor = &mut cursors[at];
        loop {
            let left = cursor.left();
            let now = limit.map_or(left.len(), |limit| below(left, limit));
            let ends = now == left.len();
            out.extend_from_slice(left[..now].as_flattened());
            if out.len() >= SOME * W {
                take(&out)?;
                out.clear();
            }
            cursor.at += now;
            if !ends {
                break;
            }
            cursor.next_block()?;
            if cursor.left().is_empty() {
                break;
            }
        }
        if let Some(next) = cursor.left().first() {
            heap.push(Reverse((*next, at)));
        }
    }
    take(&out)
}

/// How many of these sorted records are no greater than `limit`.
fn below<const W: usize>(records: &[[u64; W]], limit: [u64; W]) -> usize {
    let near = &records[..records.len().min(NEAR)];
    match near.iter().position(|record| *record > limit) {
        Some(at) => at,
        None => records.partition_point(|record| *record <= limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::fold::{Join, JoinKind};

    /// 40 runs of every 40th match each, merged where memory has blocks of eight.
    #[test]
    fn runs_that_became_another_one_go_unless_a_file_names_them() {
        let join = Join {
            root: 0,
            value: None,
            kind: JoinKind::Inner,
        };
        let form = RecordForm::new(&join, 1000, 1000);
        let budget = Budget::new(2 << 20);
        let mut left = vec![];
        for passes in [true, false] {
            let name = format!("zipfold-cascade-{passes}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let held = RunFolder::hold(&folder, &[], None).unwrap();
            let runs = (0..40u64).map(|first| {
                let path = held.file(&format!("0-{first}"));
                let mut out = RunWriter::create(&path, 7, form.width(), false).unwrap();
                let words: Vec<u64> = (0..25).map(|at| at * 40 + first).collect();
                out.push(&words).unwrap();
                let key = (7, form.width(), out.finish().unwrap());
                RunFile::check(&path, key, &budget).unwrap().passing(passes)
            });
            let next = std::cell::Cell::new(100);
            let place = || {
                next.set(next.get() + 1);
                Ok((held.file(&format!("0-{}", next.get())), 7))
            };
            let all = MatchRuns::new((runs.collect(), form), &place, &budget, 1 << 20).unwrap();
            let mut rows = vec![];
            all.each(64, &mut |some| {
                rows.extend_from_slice(&some.j);
                Ok(())
            })
            .unwrap();
            assert_eq!(rows, (0..1000).collect::<Vec<u64>>());
            assert!(all.files().len() <= 8 && next.get() > 101, "{}", next.get());
            // But for the lock.
            left.push((
                all.files().len(),
                std::fs::read_dir(&folder).unwrap().count() - 1,
            ));
        }
        assert_eq!(left[0].0, left[0].1, "all others are gone");
        assert!(left[1].1 >= 40, "{left:?}");
    }
}

//! Slices of a network as tiles: as many at a time as the memory holds, added in their order, kept
//! in a checkpoint meanwhile.

use crate::batches::{Then, by_devices};
use crate::partial::{is_there, keep, read_sealed};
use crate::warnings::Warnings;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use zipfold_core::{Blame, Budget, Error, Hash, Opt, Result};
use zipfold_product::plan::{Plan, Scalar, Table};

const MAGIC: &[u8; 8] = b"ZFSLICE\x03";

/// Where a run over slices keeps what it has.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The file. Stages of MMAP append their number. It stays until the answer is kept:
    /// [`crate::partial::discard`] removes it.
    pub path: PathBuf,
    /// Time between two writes.
    pub every: Duration,
    /// Go on from the file, if there is one.
    pub resume: bool,
}

/// What slices have come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Folded {
    /// Identifies plan, tables and task: a checkpoint of another key is refused.
    key: String,
    /// Slices in it.
    pub done: usize,
    /// Their sum or maximum.
    pub total: Scalar,
    /// Sums of tables: marginals by variable, the kept table, or the slices' own totals.
    pub tables: Vec<Vec<Scalar>>,
    /// Values of the variables at the maximum.
    pub states: Vec<usize>,
}

impl Folded {
    /// One slice.
    pub fn one_slice(total: Scalar, tables: Vec<Vec<Scalar>>, states: Vec<usize>) -> Self {
        Folded {
            key: String::new(),
            done: 1,
            total,
            tables,
            states,
        }
    }
    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> u64 {
        let numbers: usize = self.tables.iter().map(Vec::len).sum();
        let lists = self.tables.len() * size_of::<Vec<Scalar>>();
        let states = self.states.len() * size_of::<usize>();
        (numbers * size_of::<Scalar>() + lists + states + size_of::<Folded>()) as u64
    }
    /// Adds slices that come after these.
    pub fn add(&mut self, other: Folded) {
        self.done += other.done;
        self.total = self.total.plus(other.total);
        for (own, more) in self.tables.iter_mut().zip(other.tables) {
            own.iter_mut().zip(more).for_each(|(o, m)| *o = o.plus(m));
        }
    }
    /// Adds slices that come after these; tables that only one of both has are taken over.
    pub fn join(&mut self, mut other: Folded) {
        for (own, more) in self.tables.iter_mut().zip(&mut other.tables) {
            if own.is_empty() {
                std::mem::swap(own, more);
            }
        }
        self.add(other);
    }
    /// Keeps the larger maximum; of equal ones the earlier.
    pub fn best(&mut self, other: Folded) {
        self.done += other.done;
        if self.total.is_zero() || (!other.total.is_zero() && other.total.ln() > self.total.ln()) {
            (self.total, self.states) = (other.total, other.states);
        }
    }
    /// Appends the first table of slices that come after these.
    pub fn append(&mut self, other: Folded) {
        self.done += other.done;
        self.total = self.total.plus(other.total);
        self.tables
            .iter_mut()
            .zip(other.tables)
            .for_each(|(own, more)| own.extend(more));
    }
}

/// A run over slices.
#[derive(Debug)]
pub struct Slices<'a> {
    /// How many there are.
    pub many: usize,
    /// How many run at one time on the host.
    pub wave: usize,
    /// How many devices share them out; 1 for the host.
    pub lanes: usize,
    /// Where they are kept, and the key of the run.
    pub kept: Option<(&'a Checkpoint, String)>,
    /// What may be held.
    pub budget: &'a Budget,
    /// Takes that a checkpoint could not be written.
    pub warnings: &'a Warnings,
    /// Set to stop before the next slice.
    pub stop: Option<&'a AtomicBool>,
}

impl Slices<'_> {
    /// Runs `one`, of a lane and a slice, for every slice that no checkpoint holds, and merges in
    /// the order of slices. With several lanes each takes the next slice when it is done with one,
    /// and a lane that gives nothing ends: another takes its slice.
    ///
    /// # Errors
    /// Those of `one`; `Request` for the checkpoint of another run, `Input` for a damaged one. One
    /// that cannot be written is warned of, once, and the run goes on.
    pub fn fold(
        &self,
        one: impl Fn(usize, usize) -> Result<Option<Folded>> + Sync,
        merge: impl Fn(&mut Folded, Folded) + Send,
    ) -> Result<Folded> {
        let mut sum = SliceSum {
            all: self.resumed()?,
            saved: Instant::now(),
            slices: self,
            merge,
        };
        if self.lanes > 1 {
            self.by_lanes(&one, &mut sum)?;
        } else {
            let alone = |slice: usize| one(0, slice)?.ok_or_else(nobody);
            self.by_waves(alone, &mut sum)?;
        }
        sum.all
            .ok_or_else(|| Error::internal("a plan without slices"))
    }
    fn by_waves<M: Fn(&mut Folded, Folded)>(
        &self,
        one: impl Fn(usize) -> Result<Folded> + Sync,
        sum: &mut SliceSum<'_, M>,
    ) -> Result<()> {
        while sum.done() < self.many {
            self.check_stop()?;
            let done = sum.done();
            let wave = done..(done + self.wave.max(1)).min(self.many);
            let parts: Vec<Result<Folded>> = if wave.len() == 1 {
                wave.map(&one).collect()
            } else {
                wave.into_par_iter().map(&one).collect()
            };
            for (at, part) in parts.into_iter().enumerate() {
                // What does not fit next to the others may fit alone.
                sum.add(match part {
                    Err(e) if e.blame() == Blame::Resource && self.wave > 1 => one(done + at)?,
                    other => other?,
                });
            }
            sum.keep();
        }
        Ok(())
    }
    /// Each lane has a thread that waits for its device, and its share of the threads: what one
    /// lane has others do is never work of another lane.
    fn by_lanes<M: Fn(&mut Folded, Folded) + Send>(
        &self,
        one: &(impl Fn(usize, usize) -> Result<Option<Folded>> + Sync),
        sum: &mut SliceSum<'_, M>,
    ) -> Result<()> {
        let threads = rayon::current_num_threads().div_ceil(self.lanes);
        let pools = (0..self.lanes)
            .map(|_| crate::pool::start(threads))
            .collect::<Result<Vec<_>>>()?;
        let work = |lane: usize, slice: usize| pools[lane].install(|| one(lane, slice).transpose());
        let left = sum.done()..self.many;
        let take = |_, part: Result<Folded>| {
            sum.add(part?);
            sum.keep();
            self.check_stop()?;
            Ok(Then::GoOn)
        };
        let left = by_devices(self.lanes, (left, None), 2 * self.lanes, work, take)?;
        if left.next < self.many {
            return Err(nobody());
        }
        Ok(())
    }
    /// Ends a run that is to stop.
    pub(crate) fn check_stop(&self) -> Result<()> {
        match self.stop.is_some_and(|stop| stop.load(Relaxed)) {
            true => Err(Error::new(Blame::Interrupted, "interrupted")),
            false => Ok(()),
        }
    }
    fn resumed(&self) -> Result<Option<Folded>> {
        let Some((checkpoint, key)) = self.kept.as_ref().filter(|(c, _)| c.resume) else {
            return Ok(None);
        };
        if !is_there(&checkpoint.path)? {
            return Ok(None);
        }
        let found: Folded = read_sealed(MAGIC, &checkpoint.path, self.budget)
            .map_err(|e| e.remedy(format!("run it without {} to start again", Opt::Resume)))?;
        if found.key != *key || found.done > self.many {
            return Err(Error::request(
                "the checkpoint belongs to another network, other evidence or another plan",
            )
            .at_place(checkpoint.path.to_string_lossy())
            .remedy("run with the same arguments, or delete it and start again"));
        }
        Ok(Some(found))
    }
}

/// The sum of slices so far.
struct SliceSum<'a, M> {
    all: Option<Folded>,
    saved: Instant,
    slices: &'a Slices<'a>,
    merge: M,
}

impl<M: Fn(&mut Folded, Folded)> SliceSum<'_, M> {
    fn done(&self) -> usize {
        self.all.as_ref().map_or(0, |all| all.done)
    }
    fn add(&mut self, part: Folded) {
        match &mut self.all {
            None => self.all = Some(part),
            Some(all) => (self.merge)(all, part),
        }
    }
    /// Writes the checkpoint when it is time.
    fn keep(&mut self) {
        if let (Some((checkpoint, key)), Some(all)) = (&self.slices.kept, &mut self.all)
            && self.saved.elapsed() >= checkpoint.every
        {
            all.key.clone_from(key);
            if let Err(e) = keep(MAGIC, &checkpoint.path, all) {
                self.slices.warnings.add(format!(
                    "no checkpoint: {}; the run went on",
                    e.what().marked()
                ));
            }
            self.saved = Instant::now();
        }
    }
}

fn nobody() -> Error {
    Error::internal("a slice that no lane takes")
}

/// What makes a run another one, by parts: processes that share it out are told which one differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunKey {
    /// The task and its settings, in words.
    pub(crate) asked: String,
    /// A hash of the plans: variables, their order, the slices.
    pub(crate) plan: String,
    /// A hash of the numbers of the tables, in which evidence is put.
    pub(crate) tables: String,
}

impl RunKey {
    /// All parts, as a checkpoint keeps them.
    pub(crate) fn text(&self) -> String {
        format!("{}; {}; {}", self.asked, self.plan, self.tables)
    }
}

/// The key of a run: its plans, its tables, and what is asked.
pub fn key(plans: &[&Plan], tables: &[Table], asked: &str) -> RunKey {
    let (mut plan_hash, mut hash) = (Hash::default(), Hash::default());
    let text = |plan: &&Plan| {
        format!(
            "{:?} {:?} {:?} {:?} ",
            plan.cards, plan.nodes, plan.rank, plan.sliced
        )
    };
    plans
        .iter()
        .map(text)
        .for_each(|plan| plan_hash.text(&plan));
    tables.iter().for_each(|table| hash.doubles(&table.values));
    RunKey {
        asked: asked.into(),
        plan: format!("{:032x}", plan_hash.finish()),
        tables: format!("{:032x}", hash.finish()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn slice(at: usize) -> Folded {
        let value = Scalar::from_f64(1.0 / (at as f64 + 3.0));
        Folded::one_slice(value, vec![vec![value; 2]], vec![at])
    }

    fn whole() -> Folded {
        Slices {
            many: 9,
            wave: 1,
            lanes: 1,
            kept: None,
            budget: &Budget::new(1 << 20),
            warnings: &Warnings::default(),
            stop: None,
        }
        .fold(|_, at| Ok(Some(slice(at))), Folded::add)
        .unwrap()
    }

    #[test]
    fn waves_do_not_change_a_bit() {
        for wave in [2, 4, 100] {
            let run = Slices {
                many: 9,
                wave,
                lanes: 1,
                kept: None,
                budget: &Budget::new(1 << 20),
                warnings: &Warnings::default(),
                stop: None,
            };
            assert_eq!(
                run.fold(|_, at| Ok(Some(slice(at))), Folded::add).unwrap(),
                whole()
            );
        }
    }

    #[test]
    fn lanes_share_out_slices_in_their_order_and_end_when_they_are_lost() {
        for (lanes, lost) in [(2, vec![]), (3, vec![1]), (3, vec![0, 2])] {
            let run = Slices {
                many: 9,
                wave: 1,
                lanes,
                kept: None,
                budget: &Budget::new(1 << 20),
                warnings: &Warnings::default(),
                stop: None,
            };
            let one = |lane: usize, at: usize| {
                std::thread::sleep(Duration::from_millis(3));
                Ok((at < 3 || !lost.contains(&lane)).then(|| slice(at)))
            };
            assert_eq!(run.fold(one, Folded::add).unwrap(), whole());
        }
    }

    #[test]
    fn a_slice_that_does_not_fit_beside_others_runs_alone() {
        let budget = Budget::new(1 << 20);
        let running = AtomicUsize::new(0);
        let tight = |_: usize, at: usize| {
            let beside = running.fetch_add(1, Relaxed);
            std::thread::sleep(Duration::from_millis(20));
            running.fetch_sub(1, Relaxed);
            if beside > 0 {
                Err(Error::resource("no memory"))
            } else {
                Ok(Some(slice(at)))
            }
        };
        let run = Slices {
            many: 9,
            wave: 4,
            lanes: 1,
            kept: None,
            budget: &budget,
            warnings: &Warnings::default(),
            stop: None,
        };
        assert_eq!(run.fold(tight, Folded::add).unwrap(), whole());
    }

    #[test]
    fn an_interrupted_run_goes_on_where_it_was() {
        let folder = std::env::temp_dir().join(format!("zipfold-slices-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let checkpoint = Checkpoint {
            path: folder.join("run"),
            every: Duration::ZERO,
            resume: true,
        };
        let budget = Budget::new(1 << 20);
        let warnings = Warnings::default();
        let run = |key: &str| Slices {
            many: 9,
            wave: 2,
            lanes: 1,
            kept: Some((&checkpoint, key.to_string())),
            budget: &budget,
            warnings: &warnings,
            stop: None,
        };
        let fails = |_: usize, at: usize| {
            if at == 5 {
                Err(Error::resource("no memory"))
            } else {
                Ok(Some(slice(at)))
            }
        };
        assert!(run("a").fold(fails, Folded::add).is_err());
        assert!(
            run("b")
                .fold(fails, Folded::add)
                .unwrap_err()
                .to_string()
                .contains("another network")
        );
        let count = AtomicUsize::new(0);
        let counted = |_: usize, at: usize| {
            count.fetch_add(1, Relaxed);
            Ok(Some(slice(at)))
        };
        let done = run("a").fold(counted, Folded::add).unwrap();
        assert_eq!(
            count.load(Relaxed),
            5,
            "slices 0 to 3 are in the checkpoint"
        );
        assert_eq!((done.total, done.tables), (whole().total, whole().tables));
        let mut bytes = std::fs::read(&checkpoint.path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&checkpoint.path, bytes).unwrap();
        assert!(
            run("a")
                .fold(fails, Folded::add)
                .unwrap_err()
                .to_string()
                .contains("damaged")
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_earlier_of_equal_maxima_stays() {
        let part = |total: f64, state: usize| {
            Folded::one_slice(Scalar::from_f64(total), Vec::new(), vec![state])
        };
        let parts = [
            part(0.0, 0),
            part(2.0, 1),
            part(3.0, 2),
            part(3.0, 3),
            part(0.0, 4),
        ];
        let run = Slices {
            many: 5,
            wave: 2,
            lanes: 1,
            kept: None,
            budget: &Budget::new(1 << 20),
            warnings: &Warnings::default(),
            stop: None,
        };
        let done = run
            .fold(|_, at| Ok(Some(parts[at].clone())), Folded::best)
            .unwrap();
        assert_eq!((done.total, done.states), (Scalar::from_f64(3.0), vec![2]));
    }
}

//! The run loop on executors of the test's own: every pair reaches an executor once, whoever that
//! is.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use zipfold::internals::plan::{Executor, Folded, Overrides, Sink, Stop, Tile, Values};
use zipfold::internals::run::{Outcome, Output, run_by};
use zipfold::{Budget, Error, Options, Target, pairs};
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Fold, ReduceOp, Tally};
use zipfold_core::problem::{FoldSpec, Problem};
use zipfold_core::{Data, Domain, Job, Result, Table, describe};

/// An executor that gives every pair its number, i · m + j, and keeps a record of what it was asked
/// for.
struct Numbered<'j> {
    job: &'j Job,
    /// Devices that take batches each at a time.
    devices: usize,
    /// Batches that each device takes before it is lost.
    lost_after: usize,
    taken: [AtomicUsize; 4],
    /// Batches at work.
    busy: AtomicUsize,
    /// Batches from which on it fails.
    fails_after: usize,
    log: &'j Log,
}

#[derive(Default)]
struct Log {
    batches: AtomicUsize,
    /// The most batches at work at a time.
    most: AtomicUsize,
    tiles: Mutex<Vec<Tile>>,
}

impl Executor for Numbered<'_> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        stop.check()?;
        let log = self.log;
        if log.batches.fetch_add(1, Ordering::SeqCst) >= self.fails_after {
            return Err(Error::device("the device is gone"));
        }
        let busy = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
        log.most.fetch_max(busy, Ordering::SeqCst);
        let (space, mut tally) = (&self.job.space, Tally::default());
        for tile in tiles {
            for i in tile.rows.clone() {
                for run in space.columns(i, &tile.cols) {
                    let values: Vec<f64> = run.clone().map(|j| (i * space.m + j) as f64).collect();
                    for (at, fold) in self.job.folds.iter().enumerate() {
                        let Some(dense) = fold.dense() else { continue };
                        if !run.is_empty() {
                            sink.put(at, dense.place(space, i, run.start), Values::F64(&values))?;
                        }
                    }
                    tally.counted += run.len() as u64;
                }
            }
        }
        log.tiles.lock().unwrap().extend_from_slice(tiles);
        self.busy.fetch_sub(1, Ordering::SeqCst);
        let states = self
            .job
            .folds
            .iter()
            .map(|fold: &Fold| fold.part(&(0..0)))
            .collect();
        Ok(Folded { states, tally })
    }
    fn devices(&self) -> usize {
        self.devices
    }
    fn run_on(
        &self,
        at: usize,
        tiles: &[Tile],
        sink: &dyn Sink,
        stop: Stop<'_>,
    ) -> Result<Option<Folded>> {
        assert!(at < self.devices);
        let lost =
            self.taken[at].fetch_add(1, Ordering::SeqCst) >= self.lost_after.saturating_mul(at + 1);
        if lost {
            Ok(None)
        } else {
            self.run(tiles, sink, stop).map(Some)
        }
    }
    fn backend(&self) -> String {
        "numbered".into()
    }
}

fn asked(n: usize, m: Option<usize>, fold: FoldSpec) -> (Problem, Job) {
    let table = |rows: usize| Table::f64(rows, 1, vec![0.5; rows]).unwrap();
    let (x, y) = (table(n), m.map(table));
    let mut asked = pairs(&x).formula("sum(abs(x - y))").fold(fold);
    if let Some(y) = &y {
        asked = asked.with(y);
    } else {
        asked = asked.domain(Domain::Ordered);
    }
    let problem = asked.problem().clone();
    let job = describe(
        &problem,
        Data {
            pairs: None,
            x,
            y,
            weights: vec![],
        },
    )
    .unwrap();
    (problem, job)
}

fn run_numbered(
    (problem, job): (&Problem, &Job),
    options: &Options<'_>,
    (devices, fails_after): (usize, usize),
    log: &Log,
) -> Result<Outcome> {
    let plan = zipfold::internals::plan::choose(
        job,
        &zipfold::internals::cpu::detect(options.threads, 1 << 32),
        &options.overrides,
    )?;
    run_by(problem, job, plan, &Target::Memory, options, |_| {
        let (busy, taken) = Default::default();
        // Where several are at work, each is lost in the end.
        let lost_after = if devices > 1 { 3 } else { usize::MAX };
        Ok(Box::new(Numbered {
            job,
            devices,
            lost_after,
            taken,
            busy,
            fails_after,
            log,
        }) as Box<dyn Executor>)
    })
}

fn options(threads: usize, tile: &str, batch: &str) -> Options<'static> {
    let made = [
        ("tile.rows", tile),
        ("tile.cols", tile),
        ("batch", batch),
        ("prune", "off"),
    ];
    let overrides = Overrides::read(made).unwrap();
    Options {
        threads,
        overrides,
        budget: Budget::unlimited(),
        ..Options::default()
    }
}

#[test]
fn every_pair_reaches_the_executor_once() {
    for (n, m) in [
        (1, Some(1)),
        (3, Some(700)),
        (129, Some(257)),
        (300, None),
        (0, Some(5)),
    ] {
        for (threads, devices) in [(1, 0), (3, 0), (3, 1), (1, 2), (2, 4)] {
            for batch in ["1", "3"] {
                let (problem, job) = asked(n, m, FoldSpec::Matrix {});
                let (options, log) = (options(threads, "128", batch), Log::default());
                let done =
                    run_numbered((&problem, &job), &options, (devices, usize::MAX), &log).unwrap();
                assert_eq!(done.tally.counted, job.space.size().unwrap());
                assert_eq!(done.plan.backend, "numbered");
                let [Output::F64(values)] = done.outputs.as_slice() else {
                    panic!("no matrix")
                };
                for (at, value) in values.iter().enumerate() {
                    let own = m.is_none() && at / job.space.m == at % job.space.m;
                    assert!(
                        own || *value == at as f64,
                        "{n} x {m:?}: pair {at} has {value}"
                    );
                }
                let most = log.most.load(Ordering::SeqCst);
                assert!(
                    devices != 1 || most <= 1,
                    "{most} batches of a device at the same time"
                );
            }
        }
    }
}

#[test]
fn shards_are_disjoint_and_cover_all() {
    let (problem, job) = asked(
        900,
        Some(700),
        FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        },
    );
    let mut seen = vec![];
    for index in 0..5 {
        let (options, log) = (
            Options {
                shard: Some((index, 5)),
                ..options(2, "128", "2")
            },
            Log::default(),
        );
        let _ = run_numbered((&problem, &job), &options, (0, usize::MAX), &log).unwrap();
        seen.extend(log.tiles.into_inner().unwrap());
    }
    let key = |tile: &Tile| {
        (
            tile.rows.start,
            tile.cols.start,
            tile.rows.end,
            tile.cols.end,
        )
    };
    seen.sort_by_key(key);
    let all = zipfold::internals::plan::Tiling::new(128, 128).tiles(&job.space);
    assert_eq!(seen, all);
}

#[test]
fn an_executor_that_fails_ends_the_run_and_one_that_is_told_to_stop_does_nothing() {
    let (problem, job) = asked(600, Some(600), FoldSpec::Matrix {});
    for devices in [0, 1, 3] {
        let log = Log::default();
        let refused = run_numbered(
            (&problem, &job),
            &options(2, "128", "1"),
            (devices, 4),
            &log,
        )
        .unwrap_err();
        assert!(
            refused.to_string().contains("the device is gone"),
            "{refused}"
        );
        let (stop, log) = (AtomicBool::new(true), Log::default());
        let stopped = Options {
            stop: Some(&stop),
            ..options(2, "128", "1")
        };
        let refused =
            run_numbered((&problem, &job), &stopped, (devices, usize::MAX), &log).unwrap_err();
        assert_eq!(refused.blame(), zipfold::Blame::Interrupted);
        assert!(log.tiles.into_inner().unwrap().is_empty());
    }
}

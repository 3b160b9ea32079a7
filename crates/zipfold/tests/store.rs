//! Stores that are slow, or fail at random, before or after they have done what they were told: all
//! shares are done, and their parts merge to the bits of one run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use zipfold::internals::core::Error as CoreError;
use zipfold::internals::store::{Files, Folder, Habits, Loaded, Patient, ShareCount, Store, Who};
use zipfold::{Budget, Data, Options, Output, Problem, Query, Result, Table, Target};

/// A store that fails, or waits, now and then.
struct Shim {
    inner: Folder,
    state: AtomicU64,
    /// Of 1000 calls: those that fail before they do anything, and those that fail after.
    fails: [u64; 2],
    delay: Duration,
    failed: AtomicU64,
}

impl Shim {
    fn draw(&self) -> u64 {
        let next = |s: u64| {
            s.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        };
        let old = self
            .state
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |s| Some(next(s)));
        (old.unwrap() >> 33) % 1000
    }
    fn call<T>(&self, inner: impl FnOnce(&Folder) -> Result<T>) -> Result<T> {
        std::thread::sleep(self.delay);
        let fail = |what: &str| {
            self.failed.fetch_add(1, Ordering::SeqCst);
            Err(CoreError::resource(what.to_string()))
        };
        if self.draw() < self.fails[0] {
            return fail("the store failed before");
        }
        let done = inner(&self.inner)?;
        if self.draw() < self.fails[1] {
            return fail("the store failed after");
        }
        Ok(done)
    }
}

impl Files for Shim {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        self.call(|inner| inner.put_new(name, bytes))
    }
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.call(|inner| inner.replace(name, bytes))
    }
    fn get(&self, name: &str, budget: &Budget) -> Result<Option<Vec<u8>>> {
        self.call(|inner| inner.get(name, budget))
    }
    fn take(&self, name: &str, to: &str) -> Result<bool> {
        self.call(|inner| inner.take(name, to))
    }
    fn remove(&self, name: &str) -> Result<bool> {
        self.call(|inner| inner.remove(name))
    }
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.call(|inner| inner.list(folder))
    }
    fn age(&self, name: &str) -> Result<Option<Duration>> {
        self.call(|inner| inner.age(name))
    }
    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(name)
    }
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("zipfold-stores-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn question() -> (Problem, Data) {
    let numbers = (0..1200 * 2)
        .map(|at| f64::from(at * 7919 % 1009))
        .collect();
    let x = Table::f64(1200, 2, numbers).unwrap();
    let problem: Problem = serde_json::from_value(serde_json::json!({
        "schema": 1, "x": "x", "domain": "square", "pair": {"metric": "cityblock"},
        "folds": [{"kind": "nearest", "k": 3}],
    }))
    .unwrap();
    let weights = vec![None];
    (
        problem,
        Data {
            pairs: None,
            x,
            y: None,
            weights,
        },
    )
}

fn options() -> Options<'static> {
    let mut options = Options {
        threads: 1,
        ..Options::default()
    };
    options.overrides.set("tile.rows", "128").unwrap();
    options
}

fn worker(
    root: &Path,
    seed: u64,
    fails: [u64; 2],
    delay: Duration,
    loaded: &Loaded,
) -> (Vec<usize>, u64) {
    let who = Who::this();
    let shim = Shim {
        inner: Folder::new(root, &who.name()),
        state: AtomicU64::new(seed),
        fails,
        delay,
        failed: AtomicU64::new(0),
    };
    let files: &'static Shim = Box::leak(Box::new(shim));
    let patient = Patient::new(Lent(files), 12, Duration::from_micros(200));
    let store = Store::over(Box::new(patient), who);
    let habits = Habits {
        lease: Duration::from_secs(1),
        retries: 100,
        ..Habits::default()
    };
    let options = options();
    let worked = store.work(
        loaded,
        None,
        (&habits, |opt, _| opt.key().to_string()),
        &options,
    );
    let worked = worked.unwrap();
    assert!(worked.failed.is_empty(), "{:?}", worked.failed);
    (worked.done, files.failed.load(Ordering::SeqCst))
}

/// A shim that outlives its store, to be asked how often it failed.
struct Lent(&'static Shim);

impl Files for Lent {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        self.0.put_new(name, bytes)
    }
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.0.replace(name, bytes)
    }
    fn get(&self, name: &str, budget: &Budget) -> Result<Option<Vec<u8>>> {
        self.0.get(name, budget)
    }
    fn take(&self, name: &str, to: &str) -> Result<bool> {
        self.0.take(name, to)
    }
    fn remove(&self, name: &str) -> Result<bool> {
        self.0.remove(name)
    }
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.0.list(folder)
    }
    fn age(&self, name: &str) -> Result<Option<Duration>> {
        self.0.age(name)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }
}

fn disturbed(name: &str, fails: [u64; 2], delay: Duration, workers: u64) -> u64 {
    let (root, options, (problem, data)) = (folder(name), options(), question());
    let planning = ShareCount { shares: Some(7) };
    let (store, _) = Store::plan_sent(&root, (&problem, &data), planning, &options).unwrap();
    let loaded = store.load(&options.budget).unwrap();
    let (mut done, mut failed) = (vec![], 0);
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..workers)
            .map(|seed| {
                scope.spawn({
                    let (root, loaded) = (&root, &loaded);
                    move || worker(root, seed * 97 + 5, fails, delay, loaded)
                })
            })
            .collect();
        for worker in started {
            let (shares, times) = worker.join().unwrap();
            done.extend(shares);
            failed += times;
        }
    });
    done.sort_unstable();
    done.dedup();
    assert_eq!(done, [1, 2, 3, 4, 5, 6, 7]);
    let whole = Query::new(&problem, &data, &options).run().unwrap();
    let (merged, missing) = store
        .merge(&loaded, (&Target::Memory, false), &options)
        .unwrap();
    assert!(missing.is_empty());
    let pair = (&merged.outcome.outputs[0], &whole.outcome.outputs[0]);
    let (Output::State(got), Output::State(wanted)) = pair else {
        panic!("no neighbours")
    };
    assert_eq!(format!("{got:?}"), format!("{wanted:?}"));
    let status = store
        .status(Duration::from_secs(1), &options.budget)
        .unwrap();
    assert_eq!((status.done, status.failed.len()), (7, 0));
    std::fs::remove_dir_all(root).unwrap();
    failed
}

#[test]
fn a_store_that_fails_at_random_loses_nothing() {
    let failed = disturbed("fails", [60, 60], Duration::ZERO, 3);
    assert!(failed > 10, "{failed} calls failed");
}

#[test]
fn a_slow_store_loses_nothing() {
    disturbed("slow", [0, 0], Duration::from_millis(10), 2);
}

/// What a plan chooses itself binds workers where bits depend on it alone; a device that is named always does.
#[test]
fn a_plan_binds_workers_to_a_device_where_bits_depend_on_it() {
    let (problem, data) = question();
    for (fold, asked, device) in [
        (r#"{"kind": "nearest", "k": 3}"#, "auto", "auto"),
        (r#"{"kind": "reduce", "op": "sum"}"#, "auto", "cpu"),
        (r#"{"kind": "nearest", "k": 3}"#, "cpu", "cpu"),
    ] {
        let problem = Problem {
            folds: vec![serde_json::from_str(fold).unwrap()],
            ..problem.clone()
        };
        // Too few pairs for `auto` to take a GPU.
        let options = Options {
            device: zipfold::devices::DeviceSelector::parse(asked).unwrap(),
            ..options()
        };
        let root = folder("binds");
        let made = Store::plan_sent(&root, (&problem, &data), ShareCount::default(), &options);
        assert_eq!(made.unwrap().1.device, device, "{fold}, {asked}");
        std::fs::remove_dir_all(root).unwrap();
    }
}

/// Rows that are sent by value come back as they were: precision, names, attributes, words.
#[test]
fn rows_that_are_sent_are_the_same_rows() {
    let (root, options) = (folder("sent"), options());
    let x = Table::f32(3, 2, vec![0.5, 1.0, f32::INFINITY, -0.0, 3.0, 1e-40]).unwrap();
    let names = ["a", "b"].map(String::from).to_vec();
    let beside = Table::f64(3, 1, vec![1.0, 2.0, 3.0]).unwrap();
    let beside = beside.with_names(vec!["mass".into()]).unwrap();
    let x = x
        .with_names(names)
        .unwrap()
        .with_attributes(beside)
        .unwrap();
    let y = Some(Table::f64(1, 2, vec![1.0, f64::MIN_POSITIVE / 4.0]).unwrap());
    let problem: Problem = serde_json::from_value(serde_json::json!({
        "schema": 1, "x": "x", "y": "y", "folds": [{"kind": "nearest", "k": 1}],
    }))
    .unwrap();
    let data = Data {
        pairs: None,
        x,
        y,
        weights: vec![None],
    };
    let made = Store::plan_sent(&root, (&problem, &data), ShareCount::default(), &options).unwrap();
    let again = made.0.load(&options.budget).unwrap().data.unwrap();
    assert_eq!(format!("{:?}", again), format!("{data:?}"));
    // Bytes that were changed are refused.
    let path = root.join("data");
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(made.0.load(&options.budget).is_err());
    std::fs::remove_dir_all(root).unwrap();
}

/// The parts of a store that one worker did, or one worker for each share.
fn parts_of(root: &Path, question: &(Problem, Data), prune: &str, alone: bool) -> Vec<Vec<u8>> {
    let mut options = options();
    options.overrides.set("tile.cols", "128").unwrap();
    options.overrides.set("prune", prune).unwrap();
    let planning = ShareCount { shares: Some(4) };
    let (problem, data) = question;
    let (store, _) = Store::plan_sent(root, (problem, data), planning, &options).unwrap();
    let loaded = store.load_to_work(&options.budget).unwrap();
    let habits = Habits::default();
    let shares = match alone {
        true => (1..=4).rev().map(Some).collect(),
        false => vec![None],
    };
    for share in shares {
        let words = |opt: zipfold::internals::core::Opt,
                     _: zipfold::internals::core::opt::Given<'_>| {
            opt.key().to_string()
        };
        let worked = store.work(&loaded, share, (&habits, words), &options);
        assert_eq!(worked.unwrap().failed, vec![]);
    }
    let part = |at: usize| std::fs::read(root.join(format!("parts/{at:06}"))).unwrap();
    (1..=4).map(part).collect()
}

#[test]
fn a_share_is_the_same_whatever_its_worker_did_before() {
    for (name, fold, domain) in [
        ("nearest", r#"{"kind": "nearest", "k": 3}"#, "square"),
        ("top", r#"{"kind": "top", "k": 300}"#, "triangle"),
        (
            "least",
            r#"{"kind": "reduce", "op": "min", "axis": "all"}"#,
            "triangle",
        ),
        ("sums", r#"{"kind": "reduce", "op": "sum"}"#, "triangle"),
        (
            "matches",
            r#"{"kind": "join", "where": "value < 40"}"#,
            "triangle",
        ),
        (
            "both",
            r#"{"kind": "top", "k": 9}, {"kind": "top", "k": 2, "largest": true}"#,
            "square",
        ),
    ] {
        let (about, data) = question();
        let mut text = serde_json::to_value(about).unwrap();
        text["domain"] = domain.into();
        text["folds"] = serde_json::from_str(&format!("[{fold}]")).unwrap();
        let problem: Problem = serde_json::from_value(text).unwrap();
        let weights = vec![None; problem.folds.len()];
        let asked = (problem, Data { weights, ..data });
        for prune in ["on", "off"].into_iter().skip(usize::from(name == "sums")) {
            let root = folder(&format!("{name}-{prune}"));
            let [one, each] = ["one", "each"].map(|how| {
                let root = root.join(how);
                parts_of(&root, &asked, prune, how == "each")
            });
            assert!(one == each, "{name}, prune {prune}");
            std::fs::remove_dir_all(root).unwrap();
        }
    }
}

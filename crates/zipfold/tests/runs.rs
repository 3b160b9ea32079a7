//! Matches that memory does not hold go to sorted runs: files have the bytes of an answer in memory,
//! for any memory, threads, interruptions, shards and stores.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use zipfold::internals::core::opt::Given;
use zipfold::internals::core::{Labels, Opt, Words};
use zipfold::internals::destination::target;
use zipfold::internals::shards::merge_each;
use zipfold::internals::store::{Habits, ShareCount, Store};
use zipfold::io::OutputOptions;
use zipfold::{
    Blame, Budget, Data, Options, Output, Problem, Query, Result, Table, Target, shards,
};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("zipfold-written-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn rows(seed: u64, n: usize) -> Table {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    Table::f64(n, 3, (0..3 * n).map(|_| next()).collect()).unwrap()
}

fn one(n: usize) -> Data {
    let weights = vec![None];
    Data {
        pairs: None,
        x: rows(1, n),
        y: None,
        weights,
    }
}

fn two(n: usize, m: usize) -> Data {
    Data {
        y: Some(rows(2, m)),
        ..one(n)
    }
}

fn problem(data: &Data, about: &str) -> Problem {
    let y = if data.y.is_some() {
        r#""y": "y", "#
    } else {
        ""
    };
    let text =
        format!(r#"{{"schema": 1, "x": "x", {y}"pair": {{"metric": "euclidean"}}, {about}}}"#);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn join(condition: &str) -> String {
    format!(r#""folds": [{{"kind": "join", {condition}}}]"#)
}

/// About a million matches of a thousand rows, within a few MiB.
const SMALL: u64 = 9 << 20;
const AMPLE: u64 = 2 << 30;

fn options(memory: u64, threads: usize) -> Options<'static> {
    Options {
        threads,
        budget: Budget::new(memory),
        ..Options::default()
    }
}

const FORCE: OutputOptions = OutputOptions {
    force: true,
    durable: false,
};

fn target_of(path: &Path, problem: &Problem) -> Target {
    target(&path.to_string_lossy(), problem, FORCE)
}

/// Asks and writes to `path`; whether matches were written to runs, and the peak of the budget.
fn asked(
    path: &Path,
    (problem, data): (&Problem, &Data),
    options: &Options<'_>,
) -> Result<(bool, u64)> {
    let answer = Query::new(problem, data, options).run_to(&target_of(path, problem))?;
    answer.write(&path.to_string_lossy(), FORCE)?;
    let outputs = &answer.outcome.outputs;
    Ok((
        outputs.iter().any(|o| matches!(o, Output::Runs(_))),
        options.budget.peak(),
    ))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Files written by way of runs are those of an answer in memory.
fn same(name: &str, (data, about): (&Data, &str), set: &[(&str, &str)], suffixes: &[&str]) {
    let (folder, problem) = (folder(name), problem(data, about));
    for suffix in suffixes {
        let right = folder.join(format!("right.{suffix}"));
        let with = |memory, threads| {
            let mut options = options(memory, threads);
            set.iter()
                .for_each(|(key, value)| options.overrides.set(key, value).unwrap());
            options
        };
        let (written, _) = asked(&right, (&problem, data), &with(AMPLE, 2)).unwrap();
        assert!(!written, "{name}: memory holds all");
        for threads in [1, 2, 5] {
            let path = folder.join(format!("out.{suffix}"));
            let (written, peak) = asked(&path, (&problem, data), &with(SMALL, threads)).unwrap();
            assert!(
                written && peak <= SMALL,
                "{name} .{suffix}, {threads} threads: {written}, {peak}"
            );
            assert!(
                fs::read(&path).unwrap() == fs::read(&right).unwrap(),
                "{name} .{suffix}, {threads} threads"
            );
            assert_eq!(
                names(&folder),
                [format!("out.{suffix}"), format!("right.{suffix}")]
            );
        }
        fs::remove_file(right).unwrap();
        fs::remove_file(folder.join(format!("out.{suffix}"))).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_format_has_the_bytes_of_memory() {
    let all = ["csv", "tsv", "npz", "csr.npz", "parquet"];
    let about = join(r#""where": "value < 0.8", "value": "value""#);
    // A group of Parquet rows takes more than the least memory.
    same("formats", (&one(1200), &about), &[], &all[..4]);
    let (folder, data) = (folder("parquet"), one(2400));
    let problem = problem(&data, &about);
    let written = |name: &str, memory: u64| {
        let path = folder.join(name);
        let there = asked(&path, (&problem, &data), &options(memory, 2))
            .unwrap()
            .0;
        (there, fs::read(path).unwrap())
    };
    let (right, out) = (
        written("right.parquet", AMPLE),
        written("out.parquet", 48 << 20),
    );
    assert!(!right.0 && out.0 && right.1 == out.1);
    fs::remove_dir_all(folder).unwrap();
}

/// Runs again in a process that may open few files: each run is one while it is merged.
#[test]
fn few_open_files_are_enough() {
    const HERE: &str = "ZIPFOLD_TEST_FEW_FILES";
    if std::env::var_os(HERE).is_none() {
        let script = r#"ulimit -n 40 && exec "$0" --exact few_open_files_are_enough"#;
        let mut again = std::process::Command::new("sh");
        again.args(["-c", script]).env(HERE, "1");
        let done = again
            .arg(std::env::current_exe().unwrap())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        return;
    }
    let (folder, data) = (folder("few-files"), one(2500));
    let problem = problem(&data, &join(r#""where": "value < 0.8""#));
    let (right, out) = (folder.join("right.csv"), folder.join("out.csv"));
    asked(&right, (&problem, &data), &options(AMPLE, 2)).unwrap();
    assert!(
        asked(&out, (&problem, &data), &options(12 << 20, 2))
            .unwrap()
            .0
    );
    assert!(fs::read(&out).unwrap() == fs::read(&right).unwrap());
    fs::remove_dir_all(folder).unwrap();
}

/// A file that takes more rows at a time than memory holds is refused before the work, or as soon as
/// the matches are counted that it cannot take.
#[test]
fn an_output_that_needs_more_memory_is_refused_early() {
    let (folder, data) = (folder("early"), one(2500));
    let about = join(r#""where": "value < 0.8""#);
    let problem = problem(&data, &about);
    for (name, memory) in [("out.parquet", SMALL), ("out.csr.npz", 1 << 20)] {
        let begun = AtomicBool::new(false);
        let told = |p: zipfold::Progress| {
            begun.fetch_or(p.pairs > p.total / 2, Ordering::Relaxed);
        };
        let options = Options {
            progress: Some(&told),
            ..options(memory, 2)
        };
        let e = asked(&folder.join(name), (&problem, &data), &options).unwrap_err();
        assert_eq!(e.blame(), Blame::Resource, "{name}: {e}");
        assert!(!begun.load(Ordering::Relaxed), "{name}: {e}");
        assert_eq!(names(&folder), Vec::<String>::new());
        if name == "out.parquet" {
            assert!(e.to_string().contains("the output takes"), "{e}");
        }
    }
    // Few matches need little.
    let few = self::problem(&data, &join(r#""where": "value < 0.05""#));
    asked(
        &folder.join("few.parquet"),
        (&few, &data),
        &options(SMALL, 2),
    )
    .unwrap();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_way_to_find_matches_writes_runs() {
    let near = join(r#""where": "value < 0.7""#);
    for (name, set) in [
        ("search", &[("prune", "on")][..]),
        ("sweep", &[("prune", "off")]),
        ("vm", &[("prune", "off"), ("family", "vm")]),
        (
            "tiles",
            &[("prune", "off"), ("tile.rows", "128"), ("tile.cols", "256")],
        ),
    ] {
        same(name, (&one(1300), &near), set, &["csv"]);
    }
    let valued = join(r#""where": "value < 0.7", "value": "x[0] - y[1]""#);
    same(
        "bounds",
        (&two(900, 1100), &valued),
        &[("prune", "on")],
        &["csv"],
    );
    // Boxes that match as a whole.
    let all = join(r#""where": "value < 9""#);
    same(
        "whole",
        (&two(700, 1500), &all),
        &[("prune", "on")],
        &["csv", "npz"],
    );
    same(
        "dense",
        (&two(1500, 700), &all),
        &[("prune", "off")],
        &["csv"],
    );
    let ordered = format!(r#""domain": "ordered", "cutoff": 0.9, {near}"#);
    same("ordered", (&one(1000), &ordered), &[], &["tsv"]);
}

#[test]
fn names_go_with_their_rows() {
    let words = Words::from_words(
        "who",
        (0..1100).map(|at| if at % 7 == 0 { "a,b" } else { "c" }),
    );
    let x = rows(3, 1100).with_labels(Labels::new(vec![words])).unwrap();
    let data = Data { x, ..one(0) };
    same(
        "names",
        (&data, &join(r#""where": "value < 0.9""#)),
        &[],
        &["csv"],
    );
}

#[test]
fn answers_in_memory_are_refused_with_the_remedy() {
    let (data, options) = (one(1300), options(SMALL, 2));
    let problem = problem(&data, &join(r#""where": "value < 0.7""#));
    let refused = Query::new(&problem, &data, &options).run().unwrap_err();
    assert_eq!(refused.blame(), Blame::Resource);
    assert!(
        refused
            .told(|opt, _| opt.key().into())
            .contains("which takes matches that memory does not hold"),
        "{refused}"
    );
    // Few matches, or none, leave no trace.
    let folder = folder("few");
    for condition in ["value < 0.001", "value < 0"] {
        let problem = self::problem(&data, &join(&format!(r#""where": "{condition}""#)));
        assert!(
            !asked(&folder.join("out.csv"), (&problem, &data), &options)
                .unwrap()
                .0
        );
        assert_eq!(names(&folder), ["out.csv"]);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn explain_says_where_matches_go() {
    let data = one(1300);
    let problem = problem(&data, &join(r#""where": "value < 0.7""#));
    let (small, ample) = (options(SMALL, 2), options(AMPLE, 2));
    let plan = |options: &Options<'_>| Query::new(&problem, &data, options).explain().unwrap();
    let text = |options: &Options<'_>| plan(options).text(false).to_string();
    assert!(
        text(&small).contains("written to sorted runs next to the output, "),
        "{}",
        text(&small)
    );
    assert!(
        text(&ample).contains("held in memory, and written to sorted runs"),
        "{}",
        text(&ample)
    );
    // The sample is near: 2048 pairs of 844 350.
    let predicted = plan(&small).plan.matches.unwrap().predicted as f64;
    let path = folder("counted").join("out.csv");
    asked(&path, (&problem, &data), &ample).unwrap();
    let counted = fs::read_to_string(&path).unwrap().lines().count() as f64 - 1.0;
    assert!(
        (predicted / counted - 1.0).abs() < 0.1,
        "{predicted} of {counted}"
    );
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn interrupted_runs_go_on_with_their_runs() {
    let (folder, data) = (folder("resumed"), one(1800));
    let problem = problem(&data, &join(r#""where": "value < 0.7", "value": "value""#));
    let (right, out) = (folder.join("right.csv"), folder.join("out.csv"));
    asked(&right, (&problem, &data), &options(AMPLE, 2)).unwrap();
    let checkpoint = folder.join("kept");
    let tiles = |options: &mut Options<'_>| {
        options.overrides.set("tile.rows", "128").unwrap();
        options.overrides.set("tile.cols", "256").unwrap();
    };
    let (mut ended, mut resumed) = (0, 0);
    for attempt in 0..200 {
        let stop = AtomicBool::new(false);
        let told = |p: zipfold::Progress| {
            if p.pairs > p.before + p.total / 7 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let mut options = Options {
            checkpoint: Some(checkpoint.clone()),
            checkpoint_every: Duration::ZERO,
            resume: attempt > 0,
            stop: Some(&stop),
            progress: Some(&told),
            ..options(SMALL, 2)
        };
        tiles(&mut options);
        match asked(&out, (&problem, &data), &options) {
            Ok((written, _)) => {
                assert!(written);
                ended += 1;
                break;
            }
            Err(e) => assert_eq!(e.blame(), Blame::Interrupted, "{e}"),
        }
        let runs = folder.join("kept.runs");
        resumed += usize::from(!names(&runs).is_empty());
        if attempt == 2 {
            // A file that no checkpoint names, and another process' run.
            fs::write(runs.join("0-999999"), b"left by a run that was killed").unwrap();
        }
    }
    assert!(ended == 1 && resumed > 2, "{ended} {resumed}");
    assert!(fs::read(&out).unwrap() == fs::read(&right).unwrap());
    zipfold::internals::partial::discard(&checkpoint);
    assert_eq!(names(&folder), ["out.csv", "right.csv"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn damaged_runs_of_a_checkpoint_are_refused() {
    let (folder, data) = (folder("damaged"), one(1800));
    let problem = problem(&data, &join(r#""where": "value < 0.7""#));
    let checkpoint = folder.join("kept");
    let stop = AtomicBool::new(false);
    let told = |p: zipfold::Progress| stop.store(p.pairs > p.total / 2, Ordering::Relaxed);
    let asked = |resume: bool| {
        let options = Options {
            checkpoint: Some(checkpoint.clone()),
            checkpoint_every: Duration::ZERO,
            resume,
            stop: Some(&stop),
            progress: Some(&told),
            ..options(SMALL, 2)
        };
        asked(&folder.join("out.csv"), (&problem, &data), &options)
    };
    assert_eq!(asked(false).unwrap_err().blame(), Blame::Interrupted);
    let runs = folder.join("kept.runs");
    let first = names(&runs)
        .into_iter()
        .find(|name| name != "lock")
        .unwrap();
    let good = fs::read(runs.join(&first)).unwrap();
    for bad in [&good[..good.len() - 1], b"nothing", &[0; 64]] {
        fs::write(runs.join(&first), bad).unwrap();
        let refused = asked(true).unwrap_err();
        assert_eq!(refused.blame(), Blame::Request, "{refused}");
    }
    fs::remove_file(runs.join(&first)).unwrap();
    let refused = asked(true).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("the matches of the checkpoint"),
        "{refused}"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// Parts of `problem` in files, made within a small memory.
fn parts(folder: &Path, (problem, data): (&Problem, &Data), count: usize) -> Vec<PathBuf> {
    let one = |index: usize| {
        let path = folder.join(format!("{index}.part"));
        let options = Options {
            shard: Some((index, count)),
            ..options(SMALL, 2)
        };
        let answer = Query::new(problem, data, &options)
            .run_to(&target_of(&path, problem))
            .unwrap();
        let part = shards::part(problem, &answer.outcome, (index, count)).unwrap();
        shards::write(&path, &part, false).unwrap();
        path
    };
    (0..count).map(one).collect()
}

/// The merge of parts into `out`, within this memory.
fn merged(
    out: &Path,
    (problem, data): (&Problem, &Data),
    parts: &[PathBuf],
    memory: u64,
) -> Result<bool> {
    let options = options(memory, 2);
    let read = |path: &PathBuf| {
        Ok((
            path.to_string_lossy().into_owned(),
            shards::read(path, &options.budget)?,
        ))
    };
    let mut all = parts.iter().map(read);
    let target = match out.as_os_str().is_empty() {
        true => Target::Memory,
        false => target_of(out, problem),
    };
    let (answer, _) = merge_each((problem, data), &mut all, (&target, false), &options)?;
    if !out.as_os_str().is_empty() {
        answer.write(&out.to_string_lossy(), FORCE)?;
    }
    assert!(options.budget.peak() <= memory);
    Ok(matches!(answer.outcome.outputs[0], Output::Runs(_)))
}

#[test]
fn shards_write_runs_and_merge_within_a_small_memory() {
    let (folder, data) = (folder("shards"), one(1700));
    let problem = problem(&data, &join(r#""where": "value < 0.7", "value": "value""#));
    let (right, out) = (folder.join("right.csv"), folder.join("out.csv"));
    asked(&right, (&problem, &data), &options(AMPLE, 2)).unwrap();
    let parts = parts(&folder, (&problem, &data), 5);
    let sizes: Vec<u64> = parts
        .iter()
        .map(|p| fs::metadata(p).unwrap().len())
        .collect();
    assert!(sizes.iter().all(|bytes| *bytes < 4096), "{sizes:?}");
    assert!(merged(&out, (&problem, &data), &parts, SMALL).unwrap());
    assert!(fs::read(&out).unwrap() == fs::read(&right).unwrap());
    // Into memory: refused where they do not fit, the answer where they do.
    let none = Path::new("");
    let refused = merged(none, (&problem, &data), &parts, SMALL).unwrap_err();
    assert_eq!(refused.blame(), Blame::Resource);
    assert!(refused.to_string().contains("matches.parquet"), "{refused}");
    assert!(!merged(none, (&problem, &data), &parts, AMPLE).unwrap());
    // The runs of another part, a damaged one, none.
    let run = |at: usize| folder.join(format!("{at}.part.runs/0"));
    let keep = fs::read(run(1)).unwrap();
    fs::copy(run(2), run(1)).unwrap();
    let refused = merged(&out, (&problem, &data), &parts, SMALL).unwrap_err();
    assert!(
        refused.to_string().contains("belongs to another run"),
        "{refused}"
    );
    let mut bad = keep.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    fs::write(run(1), &bad).unwrap();
    let refused = merged(&out, (&problem, &data), &parts, SMALL).unwrap_err();
    assert!(
        refused.to_string().contains("a checksum does not match"),
        "{refused}"
    );
    fs::remove_file(run(1)).unwrap();
    assert!(merged(&out, (&problem, &data), &parts, SMALL).is_err());
    fs::write(run(1), &keep).unwrap();
    assert!(merged(&out, (&problem, &data), &parts, SMALL).unwrap());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn stores_keep_matches_in_runs() {
    for (name, about, set) in [
        (
            "cells",
            r#""where": "value < 0.7""#,
            &[("prune", "off")][..],
        ),
        (
            "squares",
            r#""where": "value < 0.25", "value": "value""#,
            &[("prune", "on")],
        ),
    ] {
        let data = if name == "cells" {
            one(1700)
        } else {
            // A rod, most of whose rows are far from each other.
            let of = |at: usize, v: f64| v * [10.0, 0.1, 0.1][at % 3];
            let all = rows(1, 9000);
            let items = (0..27_000).map(|at| of(at, all.get(at / 3, at % 3)));
            let x = Table::f64(9000, 3, items.collect()).unwrap();
            Data { x, ..one(0) }
        };
        let folder = folder(name);
        let problem = problem(&data, &join(about));
        let (right, out) = (folder.join("right.csv"), folder.join("out.csv"));
        asked(&right, (&problem, &data), &options(AMPLE, 2)).unwrap();
        let with = |memory| {
            let mut options = options(memory, 2);
            set.iter()
                .for_each(|(key, value)| options.overrides.set(key, value).unwrap());
            options
        };
        let root = folder.join("store");
        let planning = ShareCount { shares: Some(3) };
        let (store, manifest) =
            Store::plan_sent(&root, (&problem, &data), planning, &with(AMPLE)).unwrap();
        assert_eq!(manifest.squares.is_some(), name == "squares");
        let small = with(if name == "cells" { SMALL } else { 2 * SMALL });
        let loaded = store.load_to_work(&small.budget).unwrap();
        let words = |opt: Opt, _: Given<'_>| opt.key().to_string();
        let worked = store
            .work(&loaded, None, (&Habits::default(), words), &small)
            .unwrap();
        assert!(worked.failed.is_empty(), "{name}: {:?}", worked.failed);
        assert_eq!(names(&root.join("matches")).len(), 3, "{name}");
        assert_eq!(names(&root.join("running")), Vec::<String>::new(), "{name}");
        let options = options(2 * SMALL, 2);
        let loaded = store.load(&options.budget).unwrap();
        let target = target_of(&out, &problem);
        let (answer, _) = store.merge(&loaded, (&target, false), &options).unwrap();
        answer.write(&out.to_string_lossy(), FORCE).unwrap();
        assert!(
            matches!(answer.outcome.outputs[0], Output::Runs(_)),
            "{name}"
        );
        drop(answer);
        assert!(
            fs::read(&out).unwrap() == fs::read(&right).unwrap(),
            "{name}"
        );
        // Into memory there is no room, and the remedy is said.
        let tight = self::options(2 * SMALL, 2);
        let loaded = store.load(&tight.budget).unwrap();
        let refused = store
            .merge(&loaded, (&Target::Memory, false), &tight)
            .unwrap_err();
        assert!(
            refused.to_string().contains("matches.parquet"),
            "{name}: {refused}"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}

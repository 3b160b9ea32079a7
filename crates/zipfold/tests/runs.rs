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

/// Rows with a key, every one of which many rows have, in an order of no meaning.
fn keyed(n: usize, keys: usize) -> Data {
    let all = (0..n).map(|at| (at * 7919 % n * keys / n) as f64);
    let beside = Table::f64(n, 1, all.collect()).unwrap();
    let beside = beside.with_names(vec!["key".into()]).unwrap();
    let x = rows(1, n).with_attributes(beside).unwrap();
    Data { x, ..one(0) }
}

#[test]
fn matches_within_keys_write_runs() {
    let near = join(r#""where": "value < 0.9""#);
    let valued = join(r#""where": "value < 0.9", "value": "x[0] - y[1]""#);
    // As few rows as have matches beyond the small memory.
    let (few, twice, many) = (keyed(2400, 3), keyed(1500, 3), keyed(6000, 24));
    for (name, data, about) in [
        ("few", &few, format!(r#""within": "same:key", {near}"#)),
        ("many", &many, format!(r#""within": "same:key", {valued}"#)),
        (
            "both-ways",
            &twice,
            format!(r#""within": "same:key", "domain": "ordered", {near}"#),
        ),
        (
            "other",
            &twice,
            format!(r#""within": "other:key", {valued}"#),
        ),
    ] {
        // Each format of two questions by each way: formats take matches that runs have sorted.
        let formats = match name {
            "few" | "other" => ["csv", "csr.npz"],
            _ => ["csr.npz", "csv"],
        };
        for ((way, prune), format) in [("swept", "off"), ("pruned", "on")]
            .into_iter()
            .zip(formats)
        {
            let set = &[("prune", prune)];
            same(&format!("{name}-{way}"), (data, &about), set, &[format]);
        }
    }
    let about = problem(&many, &format!(r#""within": "same:key", {near}"#));
    // Shards, merged within a small memory and within an ample one.
    let folder = folder("keyed-shards");
    let (right, out) = (folder.join("right.csv"), folder.join("out.csv"));
    asked(&right, (&about, &many), &options(AMPLE, 2)).unwrap();
    let parts = parts(&folder, (&about, &many), 3);
    assert!(merged(&out, (&about, &many), &parts, SMALL).unwrap());
    assert!(fs::read(&out).unwrap() == fs::read(&right).unwrap());
    assert!(merged(Path::new(""), (&about, &many), &parts, SMALL).is_err());
    assert!(!merged(Path::new(""), (&about, &many), &parts, AMPLE).unwrap());
    fs::remove_dir_all(folder).unwrap();
    // What is predicted of parts.
    let query = options(SMALL, 2);
    let plan = Query::new(&about, &many, &query).explain().unwrap().plan;
    let counted = right_lines(&about, &many);
    let ratio = plan.matches.unwrap().predicted as f64 / counted;
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

fn right_lines(problem: &Problem, data: &Data) -> f64 {
    let ample = options(AMPLE, 2);
    let answer = Query::new(problem, data, &ample).run().unwrap();
    answer.columns(0).unwrap().unwrap().lines() as f64
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

/// Joins so selective that a sample of some thousand pairs meets no match: their number is still foreseen.
#[test]
fn matches_of_selective_joins_are_foreseen() {
    let least = options(1 << 22, 2);
    let planned = |data: &Data, condition: &str| {
        let problem = problem(data, &join(&format!(r#""where": "{condition}""#)));
        let query = Query::new(&problem, data, &least);
        query.explain().unwrap().plan.matches.unwrap()
    };
    let counted = |data: &Data, condition: &str| {
        let problem = problem(data, &join(&format!(r#""where": "{condition}""#)));
        let ample = options(AMPLE, 2);
        let answer = Query::new(&problem, data, &ample).run().unwrap();
        match &answer.outcome.outputs[0] {
            Output::State(zipfold::internals::core::fold::State::Join(state)) => state.i.len(),
            other => panic!("{other:?}"),
        }
    };
    let near = |data: &Data, condition: &str, within: f64| {
        let (planned, counted) = (planned(data, condition), counted(data, condition));
        let ratio = planned.predicted as f64 / counted as f64;
        assert!(
            (1.0 / within..within).contains(&ratio),
            "{condition}: {} of {counted}",
            planned.predicted
        );
    };
    // One pair in 10⁶ and fewer, as distances, squares and magnitudes; of one table and of two.
    let (one, two) = (one(60_000), two(60_000, 50_000));
    for data in [&one, &two] {
        near(data, "value < 0.006", 1.6);
        near(data, "sum((x - y)^2) < 0.0001", 1.6);
        near(data, "sum(abs(x - y)) < 0.01", 1.6);
    }
    // Other conditions by a larger sample: one in 5 000; none.
    near(&one, "x[0] * y[1] > 0.98", 1.6);
    let none = planned(&two, "x[0] + y[0] > 2");
    assert_eq!(none.predicted, 0);
    assert!((20_000..30_000).contains(&none.seen), "{}", none.seen);
    // All joins of a question count.
    let both = problem(
        &one,
        r#""folds": [{"kind": "join", "where": "value < 0.3"}, {"kind": "join", "where": "value < 0.4", "value": "value"}]"#,
    );
    let both = Query::new(&both, &one, &least).explain().unwrap();
    let [first, second] =
        ["value < 0.3", "value < 0.4"].map(|limit| planned(&one, limit).predicted);
    let ratio = both.plan.matches.unwrap().predicted as f64 / (first + second) as f64;
    assert!((0.8..1.2).contains(&ratio), "{ratio}");
}

#[test]
fn explain_says_where_matches_go() {
    let data = one(1300);
    let problem = problem(&data, &join(r#""where": "value < 0.7""#));
    let (small, ample) = (options(SMALL, 2), options(AMPLE, 2));
    let plan = |options: &Options<'_>| Query::new(&problem, &data, options).explain().unwrap();
    let file = target_of(Path::new("matches.parquet"), &problem);
    let text = |options: &Options<'_>| plan(options).going_to(&file).text(false).to_string();
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
    // Of an answer in memory it says that it is refused, and what would do; of one to any place both.
    let told = |explained: zipfold::Explained| explained.text(false).to_string();
    let in_memory = plan(&small).going_to(&Target::Memory);
    assert!(!in_memory.plan.matches.unwrap().written);
    let in_memory = told(in_memory);
    for words in ["so refused", "matches.parquet"] {
        assert!(in_memory.contains(words), "{in_memory}");
    }
    let anywhere = told(plan(&small));
    assert!(
        anywhere.contains("so for a file") && anywhere.contains("matches.parquet"),
        "{anywhere}"
    );
    let fits = told(plan(&ample).going_to(&Target::Memory));
    assert!(
        fits.contains("held in memory; ") && fits.contains("beyond"),
        "{fits}"
    );
    // The sample is near: some rows against all of 844 350 pairs.
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
    let run = |at: usize| {
        let runs = folder.join(format!("{at}.part.runs"));
        runs.join(&names(&runs)[0])
    };
    let run = [run(0), run(1), run(2)];
    let keep = fs::read(&run[1]).unwrap();
    fs::copy(&run[2], &run[1]).unwrap();
    let refused = merged(&out, (&problem, &data), &parts, SMALL).unwrap_err();
    assert!(
        refused.to_string().contains("belongs to another run"),
        "{refused}"
    );
    let mut bad = keep.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    fs::write(&run[1], &bad).unwrap();
    let refused = merged(&out, (&problem, &data), &parts, SMALL).unwrap_err();
    assert!(
        refused.to_string().contains("a checksum does not match"),
        "{refused}"
    );
    fs::remove_file(&run[1]).unwrap();
    assert!(merged(&out, (&problem, &data), &parts, SMALL).is_err());
    fs::write(&run[1], &keep).unwrap();
    assert!(merged(&out, (&problem, &data), &parts, SMALL).unwrap());
    fs::remove_dir_all(folder).unwrap();
}

/// The part of all rows in one shard, with its run or, where it is small, without.
fn whole_part(folder: &Path, (problem, data): (&Problem, &Data)) -> shards::Partial {
    let options = Options {
        shard: Some((0, 1)),
        ..options(AMPLE, 2)
    };
    let target = target_of(&folder.join("none.csv"), problem);
    let answer = Query::new(problem, data, &options).run_to(&target).unwrap();
    shards::part(problem, &answer.outcome, (0, 1)).unwrap()
}

#[test]
fn a_part_and_the_runs_of_another_are_never_mixed() {
    let (folder, data) = (folder("rewritten"), one(1200));
    let asked = |limit: &str| problem(&data, &join(&format!(r#""where": "value < {limit}""#)));
    let [many, more, few] = ["0.6", "0.7", "0.02"].map(asked);
    let (path, runs) = (folder.join("p.part"), folder.join("p.part.runs"));
    shards::write(&path, &whole_part(&folder, (&many, &data)), false).unwrap();
    let first = names(&runs);
    assert_eq!(first.len(), 1);
    let kept = fs::read(runs.join(&first[0])).unwrap();
    // Refused before anything is written.
    let refused = shards::write(&path, &whole_part(&folder, (&more, &data)), false).unwrap_err();
    assert!(refused.to_string().contains("exists already"), "{refused}");
    assert_eq!(names(&runs), first);
    assert!(fs::read(runs.join(&first[0])).unwrap() == kept);
    // Another part under the name: its run in the place of the earlier one.
    shards::write(&path, &whole_part(&folder, (&more, &data)), true).unwrap();
    let second = names(&runs);
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
    assert!(
        merged(
            &folder.join("out.csv"),
            (&more, &data),
            std::slice::from_ref(&path),
            AMPLE
        )
        .is_ok()
    );
    // Bytes alone do not say where their matches are.
    let bytes = zipfold::internals::partial::decode(&fs::read(&path).unwrap(), "part 0").unwrap();
    let parts = vec![("part 0".to_string(), bytes)];
    let ample = options(AMPLE, 2);
    let refused = shards::merge(&more, &data, parts, &ample).unwrap_err();
    assert!(
        refused.to_string().contains("give the path of its file"),
        "{refused}"
    );
    // And one without runs.
    shards::write(&path, &whole_part(&folder, (&few, &data)), true).unwrap();
    assert_eq!(names(&folder), ["out.csv", "p.part"]);
    fs::remove_dir_all(folder).unwrap();
}

/// A rod, most of whose rows are far from each other.
fn rod() -> Data {
    let of = |at: usize, v: f64| v * [10.0, 0.1, 0.1][at % 3];
    let all = rows(1, 9000);
    let items = (0..27_000).map(|at| of(at, all.get(at / 3, at % 3)));
    let x = Table::f64(9000, 3, items.collect()).unwrap();
    Data { x, ..one(0) }
}

fn worked(
    root: &Path,
    (share, lease, threads): (Option<usize>, Duration, usize),
    tell: &(dyn Fn(zipfold::Progress) + Sync),
) {
    let mut options = options(2 * SMALL, threads);
    options.progress = Some(tell);
    options.checkpoint_every = Duration::ZERO;
    let store = Store::open(root);
    let loaded = store.load_to_work(&options.budget).unwrap();
    let habits = Habits {
        lease,
        ..Habits::default()
    };
    let words = |opt: Opt, _: Given<'_>| opt.key().to_string();
    let worked = store.work(&loaded, share, (&habits, words), &options);
    assert_eq!(worked.unwrap().failed, vec![]);
}

/// A worker that is taken to be lost lives on: the one that takes its share over has a folder of its own.
#[test]
fn a_share_of_a_worker_that_lives_is_taken_over() {
    for (name, data, about, prune) in [
        ("cells", one(2400), r#""where": "value < 0.9""#, "off"),
        (
            "squares",
            rod(),
            r#""where": "value < 0.25", "value": "value""#,
            "on",
        ),
    ] {
        let folder = folder(&format!("taken-{name}"));
        let problem = problem(&data, &join(about));
        let (right, out) = (folder.join("right.csv"), folder.join("out.csv"));
        asked(&right, (&problem, &data), &options(AMPLE, 2)).unwrap();
        let root = folder.join("store");
        let mut ample = options(AMPLE, 1);
        ample.overrides.set("prune", prune).unwrap();
        let planning = ShareCount { shares: Some(2) };
        let (_, manifest) = Store::plan_sent(&root, (&problem, &data), planning, &ample).unwrap();
        assert_eq!(manifest.squares.is_some(), name == "squares");
        let running = root.join("running");
        let has_runs = || names(&running).iter().any(|file| file.ends_with(".runs"));
        let (begun, done) = (AtomicBool::new(false), AtomicBool::new(false));
        // A minute at most: a failure elsewhere must not hang here.
        let wait = |flag: &AtomicBool| {
            let mut times = 0..60_000;
            while !flag.load(Ordering::SeqCst) && times.next().is_some() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let met = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // It stops in the midst of its share, with runs of matches, and beats on.
            scope.spawn(|| {
                let tell = |_: zipfold::Progress| {
                    if has_runs() {
                        met.store(true, Ordering::SeqCst);
                        begun.store(true, Ordering::SeqCst);
                        wait(&done);
                    }
                };
                worked(&root, (Some(1), Duration::from_secs(60), 1), &tell);
                begun.store(true, Ordering::SeqCst);
            });
            wait(&begun);
            std::thread::sleep(Duration::from_millis(30));
            // Its threads are not those of the first one, which wait.
            worked(&root, (Some(1), Duration::from_millis(10), 2), &|_| {});
            done.store(true, Ordering::SeqCst);
        });
        assert!(met.load(Ordering::SeqCst), "{name}: no runs");
        worked(&root, (None, Duration::from_secs(60), 1), &|_| {});
        assert_eq!(names(&running), Vec::<String>::new(), "{name}");
        let options = options(AMPLE, 2);
        let store = Store::open(&root);
        let loaded = store.load(&options.budget).unwrap();
        let target = target_of(&out, &problem);
        let (answer, _) = store.merge(&loaded, (&target, false), &options).unwrap();
        answer.write(&out.to_string_lossy(), FORCE).unwrap();
        assert!(
            fs::read(&out).unwrap() == fs::read(&right).unwrap(),
            "{name}"
        );
        drop(answer);
        fs::remove_dir_all(folder).unwrap();
    }
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
        let data = if name == "cells" { one(1700) } else { rod() };
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

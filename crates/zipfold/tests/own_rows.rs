//! Shares that are bands of rows read their own rows of x alone, and give the bits of one run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zipfold::internals::core::Opt;
use zipfold::internals::core::opt::Given;
use zipfold::internals::store::{Habits, Manifest, ShareCount, Store};
use zipfold::io::{OutputOptions, read_data};
use zipfold::{Budget, Options, Problem, Query, Target};
use zipfold_io::Column;
use zipfold_io::write::ColumnsWriter;

/// Numbers of a generator of one line.
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| next()).collect()
}

/// The bytes of an NPY file of `rows` × 3 numbers of this type.
fn npy(rows: usize, seed: u64, single: bool) -> Vec<u8> {
    let descr = if single { "<f4" } else { "<f8" };
    let about = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, 3), }}");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(118u16.to_le_bytes());
    out.extend(format!("{about:<117}\n").bytes());
    for number in numbers(seed, rows * 3) {
        match single {
            true => out.extend((number as f32).to_le_bytes()),
            false => out.extend(number.to_le_bytes()),
        }
    }
    out
}

/// Where row `at` begins in such a file.
fn place(at: usize, single: bool) -> usize {
    128 + at * 3 * if single { 4 } else { 8 }
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("zipfold-own-rows-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn problem(folder: &Path, about: &str) -> Problem {
    let (x, y) = (folder.join("x.npy"), folder.join("y.npy"));
    let text = format!(
        r#"{{"schema": 1, "x": {x:?}, "y": {y:?}, "pair": {{"metric": "euclidean"}}, {about}}}"#
    );
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn options() -> Options<'static> {
    let mut options = Options {
        threads: 2,
        ..Options::default()
    };
    options.overrides.set("tile.rows", "128").unwrap();
    options.overrides.set("prune", "off").unwrap();
    options
}

fn wording(opt: Opt, _: Given<'_>) -> String {
    opt.key().to_string()
}

fn planned(root: &Path, problem: &Problem, shares: usize) -> (Store, Manifest) {
    let planning = ShareCount {
        shares: Some(shares),
    };
    Store::plan(root, problem, planning, &options()).unwrap()
}

/// What is told of a share that this worker tries.
fn tried(root: &Path, share: usize) -> std::result::Result<(), String> {
    let (store, options) = (Store::open(root), options());
    let loaded = store.load_to_work(&options.budget).unwrap();
    let habits = (&Habits::default(), wording as fn(Opt, Given<'_>) -> String);
    let worked = store.work(&loaded, Some(share), habits, &options).unwrap();
    match worked.failed.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

const FORCE: OutputOptions = OutputOptions {
    force: true,
    durable: false,
};

#[test]
fn every_fold_of_bands_has_the_bits_of_one_run() {
    let folds = [
        ("sum", r#"{"kind": "reduce", "op": "sum"}"#, "npy"),
        ("softmax", r#"{"kind": "reduce", "op": "logsumexp"}"#, "npy"),
        ("minima", r#"{"kind": "reduce", "op": "argmin"}"#, "npy"),
        ("nearest", r#"{"kind": "nearest", "k": 4}"#, "csv"),
        (
            "quantile",
            r#"{"kind": "quantile", "q": [0.3, 0.5]}"#,
            "npy",
        ),
        ("matrix", r#"{"kind": "matrix"}"#, "npy"),
        (
            "semi",
            r#"{"kind": "join", "where": "value < 0.05", "join_kind": "semi"}"#,
            "csv",
        ),
    ];
    for single in [false, true] {
        for (name, fold, suffix) in folds {
            let folder = folder(&format!("{name}-{single}"));
            fs::write(folder.join("x.npy"), npy(1500, 1, single)).unwrap();
            fs::write(folder.join("y.npy"), npy(700, 2, single)).unwrap();
            let problem = problem(&folder, &format!(r#""folds": [{fold}]"#));
            let root = folder.join("store");
            let (store, manifest) = planned(&root, &problem, 4);
            let bands = manifest
                .bands
                .unwrap_or_else(|| panic!("{name}: reads all"));
            assert_eq!(bands.len(), 4, "{name}");
            let row = if single { 12 } else { 24 };
            assert!(manifest.predicted.input_bytes < row * (700 + 600), "{name}");
            (1..=4).for_each(|share| tried(&root, share).unwrap());
            let options = options();
            let data = read_data(&problem, &options.budget).unwrap();
            let [one, many] = ["one", "many"].map(|name| folder.join(name).with_extension(suffix));
            let whole = Query::new(&problem, &data, &options).run().unwrap();
            whole.write(&one.to_string_lossy(), FORCE).unwrap();
            let loaded = store.load(&options.budget).unwrap();
            let (answer, _) = store
                .merge(&loaded, (&Target::Memory, false), &options)
                .unwrap();
            answer.write(&many.to_string_lossy(), FORCE).unwrap();
            assert!(
                fs::read(&one).unwrap() == fs::read(&many).unwrap(),
                "{name} {single}"
            );
            fs::remove_dir_all(folder).unwrap();
        }
    }
}

/// Sums of 1500 rows by 700 in a folder of this name, and a place for their store.
fn sums(name: &str) -> (PathBuf, Problem, PathBuf) {
    let folder = folder(name);
    fs::write(folder.join("x.npy"), npy(1500, 1, false)).unwrap();
    fs::write(folder.join("y.npy"), npy(700, 2, false)).unwrap();
    let problem = problem(&folder, r#""folds": [{"kind": "reduce", "op": "sum"}]"#);
    let root = folder.join("store");
    (folder, problem, root)
}

/// Writes the file of a table as row groups of 100 rows.
fn write_parquet(path: &Path, rows: usize, seed: u64) {
    let all = numbers(seed, rows * 3);
    let part = |from: usize, at: usize| -> Vec<f64> {
        let end = rows.min(from + 100);
        (from..end).map(|row| all[row * 3 + at]).collect()
    };
    let path = path.to_string_lossy();
    let head = ["a", "b", "c"].map(|name| (name, Column::F64(&[0.0])));
    let mut file = ColumnsWriter::create(&path, &head, &[], FORCE).unwrap();
    for from in (0..rows).step_by(100) {
        let [a, b, c] = [0, 1, 2].map(|at| part(from, at));
        let columns = [
            ("a", Column::F64(&a)),
            ("b", Column::F64(&b)),
            ("c", Column::F64(&c)),
        ];
        file.push(&columns).unwrap();
    }
    file.finish().unwrap();
}

/// Writes the folder of a Zarr array (version 2, chunks of 100 rows by 2 columns).
fn write_zarr(path: &Path, rows: usize, seed: u64) {
    let all = numbers(seed, rows * 3);
    fs::create_dir_all(path).unwrap();
    let about = format!(
        r#"{{"zarr_format": 2, "shape": [{rows}, 3], "chunks": [100, 2], "dtype": "<f8",
            "compressor": null, "fill_value": 0.0, "order": "C", "filters": null}}"#
    );
    fs::write(path.join(".zarray"), about).unwrap();
    for (down, over) in (0..rows.div_ceil(100)).flat_map(|down| [(down, 0), (down, 1)]) {
        let places = (0..200).map(|at| (down * 100 + at / 2, over * 2 + at % 2));
        let number = |(row, col)| match row < rows && col < 3 {
            true => all[row * 3 + col],
            false => 0.0,
        };
        let bytes = places.flat_map(|place| number(place).to_le_bytes());
        fs::write(
            path.join(format!("{down}.{over}")),
            bytes.collect::<Vec<u8>>(),
        )
        .unwrap();
    }
}

#[test]
fn rows_of_parquet_and_zarr_are_read_by_groups_and_chunks() {
    let folder = folder("formats");
    fs::write(folder.join("x.npy"), npy(1500, 1, false)).unwrap();
    write_parquet(&folder.join("x.parquet"), 1500, 1);
    write_zarr(&folder.join("x.zarr"), 1500, 1);
    write_parquet(&folder.join("y.parquet"), 700, 2);
    let answers = ["x.npy", "x.parquet", "x.zarr"].map(|x| {
        let columns = [r#""columns": ["2", "0"]"#, r#""columns": ["c", "a"]"#];
        let columns = |name: &str| columns[usize::from(name.ends_with(".parquet"))];
        let [x, y] = [x, "y.parquet"].map(|name| {
            let path = folder.join(name);
            format!(r#"{{"name": {path:?}, {}}}"#, columns(name))
        });
        let fold = r#"{"kind": "reduce", "op": "sum"}"#;
        let pair = r#""pair": {"metric": "euclidean"}"#;
        let text = format!(r#"{{"schema": 1, "x": {x}, "y": {y}, {pair}, "folds": [{fold}]}}"#);
        let problem: Problem = serde_json::from_str(&text).unwrap();
        let root = folder.join(format!("store-{}", text.len()));
        let (store, manifest) = planned(&root, &problem, 3);
        assert_eq!(manifest.bands.unwrap_or_default().len(), 3, "{text}");
        (1..=3).for_each(|share| tried(&root, share).unwrap());
        let options = options();
        let data = read_data(&problem, &options.budget).unwrap();
        let whole = Query::new(&problem, &data, &options).run().unwrap();
        let loaded = store.load(&options.budget).unwrap();
        let merged = store.merge(&loaded, (&Target::Memory, false), &options);
        let merged = merged.unwrap().0;
        let [one, many] = [&whole, &merged].map(|a| format!("{:?}", a.outcome.outputs));
        assert!(one == many, "{text}");
        fs::remove_dir_all(root).unwrap();
        one
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    fs::remove_dir_all(folder).unwrap();
}

/// Writes a byte of row `at` of x anew; the file looks as it did.
fn change(folder: &Path, at: usize) {
    let path = folder.join("x.npy");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[place(at, false) + 3] ^= 1;
    fs::write(&path, bytes).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(modified)
        .unwrap();
}

#[test]
fn a_share_reads_no_other_rows_and_refuses_others_than_planned() {
    let (folder, problem, root) = sums("changed");
    planned(&root, &problem, 3);
    // In the last share: the others do not look at it.
    change(&folder, 1499);
    tried(&root, 1).unwrap();
    let error = tried(&root, 3).unwrap_err();
    for words in [
        "rows 1024 to 1499 are not those",
        "x.npy",
        "expected the hash",
    ] {
        assert!(error.contains(words), "{error}");
    }
    // It is brought back.
    change(&folder, 1499);
    tried(&root, 3).unwrap();
    tried(&root, 2).unwrap();
    fs::remove_dir_all(folder).unwrap();
}

/// A file that grows while a worker is at it is another one, although the rows of the band are there.
#[test]
fn a_file_that_has_grown_is_refused() {
    let (folder, problem, root) = sums("grown");
    let (store, _) = planned(&root, &problem, 3);
    let options = options();
    let loaded = store.load_to_work(&options.budget).unwrap();
    let longer = npy(3000, 1, false);
    assert!(longer[place(0, false)..].starts_with(&npy(1500, 1, false)[place(0, false)..]));
    fs::write(folder.join("x.npy"), longer).unwrap();
    let habits = (&Habits::default(), wording as fn(Opt, Given<'_>) -> String);
    let error = store.work(&loaded, Some(2), habits, &options).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not the file that the store was planned with"),
        "{error}"
    );
    fs::write(folder.join("x.npy"), npy(1500, 1, false)).unwrap();
    let worked = store.work(&loaded, Some(2), habits, &options).unwrap();
    assert_eq!(worked.done, [2]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn questions_that_look_at_all_rows_read_all() {
    let folder = folder("all");
    fs::write(folder.join("x.npy"), npy(1500, 1, false)).unwrap();
    fs::write(folder.join("y.npy"), npy(700, 2, false)).unwrap();
    for (name, about) in [
        (
            "metric",
            r#""pair": {"metric": "seuclidean"}, "folds": [{"kind": "reduce", "op": "sum"}]"#,
        ),
        (
            "cells",
            r#""folds": [{"kind": "histogram", "axes": [{"bins": 9, "range": [0, 2]}]}]"#,
        ),
        (
            "columns",
            r#""folds": [{"kind": "reduce", "op": "sum", "axis": "column"}]"#,
        ),
    ] {
        let mut text = serde_json::to_value(problem(&folder, r#""folds": []"#)).unwrap();
        let about: serde_json::Value = serde_json::from_str(&format!("{{{about}}}")).unwrap();
        for (key, value) in about.as_object().unwrap() {
            text[key] = value.clone();
        }
        let problem: Problem = serde_json::from_value(text).unwrap();
        // Several strips of columns: with one, cells of a grid are bands.
        let mut options = options();
        options.overrides.set("tile.cols", "128").unwrap();
        let planning = ShareCount { shares: Some(2) };
        let root = folder.join(name);
        let (_, manifest) = Store::plan(&root, &problem, planning, &options).unwrap();
        assert_eq!(manifest.bands, None, "{name}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// A worker that has too little memory for shares leaves them to others, and uses up none of their
/// tries.
#[test]
fn shares_that_do_not_fit_are_left_to_others() {
    let folder = folder("too-little");
    fs::write(folder.join("x.npy"), npy(1500, 1, false)).unwrap();
    fs::write(folder.join("y.npy"), npy(700, 2, false)).unwrap();
    let problem = problem(&folder, r#""folds": [{"kind": "nearest", "k": 300}]"#);
    let root = folder.join("store");
    let (store, _) = planned(&root, &problem, 4);
    let work = |bytes: Option<u64>| {
        let options = Options {
            budget: bytes.map_or_else(Budget::unlimited, Budget::new),
            ..options()
        };
        let loaded = store.load_to_work(&options.budget).unwrap();
        let habits = Habits {
            retries: 2,
            ..Habits::default()
        };
        let habits = (&habits, wording as fn(Opt, Given<'_>) -> String);
        store.work(&loaded, None, habits, &options).unwrap()
    };
    for _ in 0..3 {
        let worked = work(Some(400_000));
        assert_eq!((worked.done.len(), worked.failed.len()), (0, 4));
        let memory = |(_, error): &(usize, String)| error.contains("memory");
        assert!(worked.failed.iter().all(memory), "{:?}", worked.failed);
    }
    let status = store
        .status(Duration::from_secs(60), &Budget::unlimited())
        .unwrap();
    assert_eq!(status.failed.len(), 4);
    assert!(
        status
            .failed
            .iter()
            .all(|one| one.no_room && one.times == 0)
    );
    assert_eq!(work(None).done.len(), 4);
    fs::remove_dir_all(folder).unwrap();
}

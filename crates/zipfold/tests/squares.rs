//! Shares of squares: what bounds settle is counted in the plan, the rest merges to the bits of one
//! run, for every domain and number of shares, and workers may stop at any time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use zipfold::internals::core::Opt;
use zipfold::internals::core::fold::{Fold, State};
use zipfold::internals::core::opt::Given;
use zipfold::internals::store::{Habits, Loaded, Manifest, ShareCount, Store};
use zipfold::{
    Answer, Data, Options, Outcome, Output, Problem, Progress, Query, Result, Table, Target,
};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("zipfold-squares-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// Numbers of a generator of one line.
fn numbers(seed: u64, count: usize, most: f64) -> Vec<f64> {
    let mut state = seed;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 * most
    };
    (0..count).map(|_| next()).collect()
}

fn rows(seed: u64, n: usize) -> Table {
    Table::f64(n, 3, numbers(seed, n * 3, 100.0)).unwrap()
}

fn problem(about: &str) -> Problem {
    let pair = match about.contains("\"pair\"") {
        true => "",
        false => r#""pair": {"metric": "euclidean"}, "#,
    };
    let text = format!(r#"{{"schema": 1, "x": "x", {pair}{about}}}"#);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{about}: {e}"))
}

fn options() -> Options<'static> {
    let mut options = Options {
        threads: 2,
        ..Options::default()
    };
    options.overrides.set("prune", "on").unwrap();
    options
}

fn planned(
    root: &Path,
    (problem, data): (&Problem, &Data),
    shares: usize,
) -> Result<(Store, Manifest)> {
    let planning = ShareCount {
        shares: Some(shares),
    };
    Store::plan_sent(root, (problem, data), planning, &options())
}

fn wording(opt: Opt, _: Given<'_>) -> String {
    opt.key().to_string()
}

fn work(store: &Store, loaded: &Loaded, options: &Options<'_>) -> Result<Vec<usize>> {
    let worked = store.work(loaded, None, (&Habits::default(), wording), options)?;
    assert!(worked.failed.is_empty(), "{:?}", worked.failed);
    Ok(worked.done)
}

/// The states of all folds, matches in order, and what became of the pairs. Of folds that keep more than
/// their answer (candidates, counts of values) it is that, over these rows.
fn told(answer: &Answer<'_>) -> String {
    let (job, Outcome { outputs, tally, .. }) = (&answer.job, &answer.outcome);
    let state = |(fold, output): (&Fold, &Output)| match output {
        Output::State(state @ (State::Top(_) | State::Reduce(_))) => {
            let answer = fold.columns(state, job.space.n, job.space.m).unwrap();
            let numbers = |column| {
                let all = answer.all(column);
                (0..answer.lines()).map(move |line| all.get(line)).collect()
            };
            let all: Vec<Vec<f64>> = answer.columns.iter().map(numbers).collect();
            format!("{all:?}")
        }
        Output::State(state) => format!("{state:?}"),
        _ => panic!("a dense result"),
    };
    let states: Vec<String> = job.folds.iter().zip(outputs).map(state).collect();
    let (counted, beyond, nan, first) = (
        tally.counted,
        tally.beyond_cutoff,
        tally.nan,
        tally.first_nan,
    );
    format!("{states:?} {counted} {beyond} {nan} {first:?}")
}

/// The answer of a store over these shares is the one of one run, bit by bit.
fn same(name: &str, (problem, data): (&Problem, &Data), shares: usize) {
    let (root, options) = (folder(name), options());
    let (store, manifest) = planned(&root, (problem, data), shares).unwrap();
    let squares = manifest
        .squares
        .unwrap_or_else(|| panic!("{name}: no squares"));
    assert!(
        squares.left < squares.all && squares.settled > 0,
        "{name}: {squares:?}"
    );
    let loaded = store.load_to_work(&options.budget).unwrap();
    assert_eq!(work(&store, &loaded, &options).unwrap().len(), shares);
    let loaded = store.load(&options.budget).unwrap();
    let whole = Query::new(problem, data, &options).run().unwrap();
    let merged = store.merge(&loaded, (&Target::Memory, false), &options);
    let merged = merged.unwrap().0;
    assert_eq!(merged.outcome.pairs, whole.outcome.pairs, "{name}");
    let [got, wanted] = [&merged, &whole].map(told);
    assert!(got == wanted, "{name} in {shares} shares:\n{got}\n{wanted}");
    std::fs::remove_dir_all(root).unwrap();
}

const SHORT: &str = r#"{"kind": "histogram", "axes": [{"bins": 12, "range": [0.0, 6.0]}]}"#;
const NEAR: &str = r#"{"kind": "join", "where": "euclidean(x, y) < 4", "value": "x[0] * y[0]"}"#;

/// Bounds prune sums and means of conditions as they do counts, but no square has the pairs of rows.
#[test]
fn sums_and_means_of_conditions_have_shares_of_their_rows() {
    let data = Data {
        pairs: None,
        x: rows(31, 2000),
        y: Some(rows(32, 1500)),
        weights: vec![None; 3],
    };
    let near = problem(
        r#""y": "y", "pair": {"formula": "norm(x - y) < 4"}, "folds": [{"kind": "reduce", "op": "sum", "axis": "row"}, {"kind": "reduce", "op": "mean", "axis": "row"}, {"kind": "reduce", "op": "count", "axis": "all"}]"#,
    );
    let (root, options) = (folder("conditions"), options());
    let (store, manifest) = planned(&root, (&near, &data), 3).unwrap();
    assert!(manifest.squares.is_none());
    let loaded = store.load_to_work(&options.budget).unwrap();
    assert_eq!(work(&store, &loaded, &options).unwrap().len(), 3);
    let loaded = store.load(&options.budget).unwrap();
    let whole = Query::new(&near, &data, &options).run().unwrap();
    let merged = store.merge(&loaded, (&Target::Memory, false), &options);
    let merged = merged.unwrap().0;
    assert!(whole.outcome.tally.skipped > 0);
    assert_eq!(told(&merged), told(&whole));
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn every_domain_has_the_bits_of_one_run() {
    let data = Data {
        pairs: None,
        x: rows(1, 3000),
        y: None,
        weights: vec![None],
    };
    for (at, domain) in ["triangle", "diagonal", "ordered", "square"]
        .iter()
        .enumerate()
    {
        for (kind, fold) in [("counts", SHORT), ("matches", NEAR)] {
            let problem = problem(&format!(r#""domain": "{domain}", "folds": [{fold}]"#));
            let shares = [2, 3, 7, 12][at];
            same(&format!("{domain}-{kind}"), (&problem, &data), shares);
        }
    }
}

/// Ties are by row: points on a grid, many of which are twice there, in an order of no meaning.
fn grid(seed: u64, n: usize) -> Table {
    let places = numbers(seed, n * 3, 24.0);
    Table::f64(n, 3, places.into_iter().map(f64::round).collect()).unwrap()
}

/// The same rows, 32 times as long along the first axis.
fn long(table: &Table) -> Table {
    let stretch = |at: usize| if at.is_multiple_of(3) { 32.0 } else { 1.0 };
    let number = |at: usize| table.get(at / 3, at % 3) * stretch(at);
    let items = (0..table.rows() * 3).map(number).collect();
    Table::f64(table.rows(), 3, items).unwrap()
}

#[test]
fn best_pairs_minima_and_counts_have_the_bits_of_one_run() {
    let folds = [
        ("best", r#"{"kind": "top", "k": 40}"#),
        ("single", r#"{"kind": "top", "k": 1}"#),
        ("minima", r#"{"kind": "reduce", "op": "min"}"#),
        ("argmin", r#"{"kind": "reduce", "op": "argmin"}"#),
        ("least", r#"{"kind": "reduce", "op": "min", "axis": "all"}"#),
        (
            "both",
            r#"{"kind": "reduce", "op": "argmin"}, {"kind": "nearest", "k": 3}"#,
        ),
        (
            "with counts",
            r#"{"kind": "top", "k": 7}, {"kind": "histogram", "axes": [{"bins": 5, "range": [0.0, 4.0]}]}"#,
        ),
    ];
    for (name, fold) in folds {
        for (at, domain) in ["cross", "ordered", "square"].iter().enumerate() {
            for table in ["random", "grid"] {
                // A rod, most of whose rows are far from each other.
                let made = |seed, n| match table {
                    "grid" => long(&grid(seed, n)),
                    _ => long(&rows(seed, n)),
                };
                let two = *domain == "cross";
                let y = if two { r#""y": "y", "# } else { "" };
                let data = Data {
                    pairs: None,
                    x: made(3, 2600),
                    y: two.then(|| made(4, 2900)),
                    weights: vec![None; 2][..1 + usize::from(fold.contains("}, {"))].to_vec(),
                };
                let problem = problem(&format!(r#"{y}"domain": "{domain}", "folds": [{fold}]"#));
                let shares = [2, 5, 9][at];
                same(
                    &format!("{domain}-{name}-{table}"),
                    (&problem, &data),
                    shares,
                );
            }
        }
    }
    // Counts of the pairs for which something holds, by row.
    let data = Data {
        pairs: None,
        x: rows(5, 3000),
        y: Some(rows(6, 2000)),
        weights: vec![None],
    };
    let about = r#""y": "y", "pair": {"formula": "euclidean(x, y) < 5"}, "folds": [{"kind": "reduce", "op": "count"}]"#;
    same("counts", (&problem(about), &data), 4);
}

#[test]
fn two_tables_have_the_bits_of_one_run() {
    let data = Data {
        pairs: None,
        x: rows(2, 2500),
        y: Some(rows(3, 1700)),
        weights: vec![None, None],
    };
    let problem = problem(&format!(r#""y": "y", "folds": [{SHORT}, {NEAR}]"#));
    same("cross", (&problem, &data), 5);
}

#[test]
fn weights_values_cut_offs_and_boxes_have_the_bits_of_one_run() {
    let x = rows(4, 2600);
    let weight = Table::f64(2600, 1, numbers(9, 2600, 3.0)).unwrap();
    let weighed = Data {
        pairs: None,
        x: x.clone(),
        y: None,
        weights: vec![Some([weight.clone(), weight])],
    };
    let fold = r#"{"kind": "histogram", "axes": [{"edges": [0.0, 1.0, 5.0]}], "weights": "w"}"#;
    same(
        "weights",
        (&problem(&format!(r#""folds": [{fold}]"#)), &weighed),
        4,
    );
    let plain = Data {
        pairs: None,
        x,
        y: None,
        weights: vec![None],
    };
    let cut = problem(&format!(r#""cutoff": 5.0, "folds": [{SHORT}]"#));
    same("cutoff", (&cut, &plain), 4);
    let boxed = problem(&format!(
        r#""box": [100.0, 100.0, 100.0], "folds": [{SHORT}]"#
    ));
    same("box", (&boxed, &plain), 4);
}

/// Neighbours of one table and of two, near and far, of few and of all rows.
#[test]
fn neighbours_have_the_bits_of_one_run() {
    let near = |k: usize| format!(r#"{{"kind": "nearest", "k": {k}}}"#);
    let plane = |seed, n| Table::f64(n, 2, numbers(seed, n * 2, 100.0)).unwrap();
    let grid = (0..3000).flat_map(|at| [at % 50, at / 50].map(f64::from));
    let ties = Table::f64(3000, 2, grid.collect()).unwrap();
    // A band of many rows has several ranges.
    let many = ("many", plane(13, 12_000));
    for (name, x) in [("random", plane(11, 3000)), ("ties", ties), many] {
        let data = |y, folds| Data {
            pairs: None,
            x: x.clone(),
            y,
            weights: vec![None; folds],
        };
        for (domain, shares) in [("ordered", 5), ("square", 6)] {
            let question = problem(&format!(r#""domain": "{domain}", "folds": [{}]"#, near(4)));
            same(
                &format!("{name}-{domain}"),
                (&question, &data(None, 1)),
                shares,
            );
        }
        if name == "many" {
            // Two lengths of lists have limits of their own.
            let lists = format!(
                r#""domain": "ordered", "folds": [{}, {}]"#,
                near(1),
                near(20)
            );
            same("many-lists", (&problem(&lists), &data(None, 2)), 5);
        }
        let mixed = format!(r#""domain": "ordered", "folds": [{}, {NEAR}]"#, near(3));
        same(
            &format!("{name}-mixed"),
            (&problem(&mixed), &data(None, 2)),
            7,
        );
        let two = problem(&format!(r#""y": "y", "folds": [{}]"#, near(2)));
        same(
            &format!("{name}-two"),
            (&two, &data(Some(plane(12, 2000)), 1)),
            6,
        );
    }
}

/// Rows in one place, far from the origin, and without a number.
#[test]
fn odd_rows_have_the_bits_of_one_run() {
    let mut values = numbers(5, 2400 * 3, 90.0);
    values[..900].iter_mut().for_each(|v| *v = 1e9 + 1.0);
    values[900..1200].iter_mut().for_each(|v| *v = 7.0);
    let (mut holes, whole) = (values.clone(), values);
    holes[2000] = f64::NAN;
    holes[6001] = f64::NAN;
    for (name, values) in [("odd", whole), ("holes", holes)] {
        let data = Data {
            pairs: None,
            x: Table::f64(2400, 3, values).unwrap(),
            y: None,
            weights: vec![None],
        };
        let problem = problem(&format!(r#""nan": "skip", "folds": [{SHORT}]"#));
        same(name, (&problem, &data), 6);
    }
}

#[test]
fn a_value_that_is_none_is_named_by_its_rows() {
    let mut values = numbers(6, 2000 * 3, 100.0);
    // The difference of two infinite numbers is none.
    values[1500 * 3] = f64::INFINITY;
    values[3 * 3] = f64::INFINITY;
    let data = Data {
        pairs: None,
        x: Table::f64(2000, 3, values).unwrap(),
        y: None,
        weights: vec![None],
    };
    let (root, options, problem) = (
        folder("nan"),
        options(),
        problem(&format!(r#""folds": [{SHORT}]"#)),
    );
    let (store, manifest) = planned(&root, (&problem, &data), 3).unwrap();
    assert!(manifest.squares.is_some());
    let loaded = store.load(&options.budget).unwrap();
    let worked = store
        .work(&loaded, None, (&Habits::default(), wording), &options)
        .unwrap();
    let errors: Vec<&String> = worked.failed.iter().map(|(_, error)| error).collect();
    assert!(
        !errors.is_empty() && errors.iter().all(|e| e.contains("(3, 1500)")),
        "{errors:?}"
    );
    std::fs::remove_dir_all(root).unwrap();
}

/// A worker that is stopped again and again ends all the same, and its parts are those of one that
/// was not.
#[test]
fn a_share_goes_on_from_its_checkpoint() {
    let problem_of = |about: String| problem(&about);
    let short = problem_of(format!(r#""folds": [{SHORT}, {NEAR}]"#));
    goes_on("short", &short, rows(7, 4000));
    let nearest = r#"{"kind": "nearest", "k": 4}"#;
    let near = problem_of(format!(r#""domain": "ordered", "folds": [{nearest}]"#));
    let plane = |n: usize| Table::f64(n, 2, numbers(7, 2 * n, 100.0)).unwrap();
    goes_on("nearest", &near, plane(4000));
    // Bands of several ranges, whose other rows are searched within what their own have.
    goes_on("nearest-many", &near, plane(12_000));
}

/// A worker that is stopped at every third look ends in about as many goes as there are looks.
fn goes_on(name: &str, problem: &Problem, x: Table) {
    let data = Data {
        pairs: None,
        x,
        y: None,
        weights: vec![None; problem.folds.len()],
    };
    let parts = |root: &Path| {
        let part = |at| std::fs::read(root.join(format!("parts/00000{at}"))).unwrap();
        (1..=2).map(part).collect::<Vec<_>>()
    };
    let (root, stopped_root) = (
        folder(&format!("whole-{name}")),
        folder(&format!("stopped-{name}")),
    );
    let (store, manifest) = planned(&root, (problem, &data), 2).unwrap();
    assert!(manifest.squares.is_some(), "{name}");
    let loaded = store.load(&options().budget).unwrap();
    work(&store, &loaded, &options()).unwrap();
    let (stopped, _) = planned(&stopped_root, (problem, &data), 2).unwrap();
    let loaded = stopped.load(&options().budget).unwrap();
    let mut stops = 0;
    loop {
        let stop = AtomicBool::new(false);
        let looks = std::sync::atomic::AtomicU64::new(0);
        let tell = |_: Progress| {
            if looks.fetch_add(1, Ordering::SeqCst) == 2 {
                stop.store(true, Ordering::SeqCst);
            }
        };
        let options = Options {
            stop: Some(&stop),
            progress: Some(&tell),
            checkpoint_every: Duration::ZERO,
            ..options()
        };
        match work(&stopped, &loaded, &options) {
            Ok(_) => break,
            Err(e) => assert_eq!(e.blame(), zipfold::Blame::Interrupted, "{e}"),
        }
        stops += 1;
        assert!(stops < 1000);
    }
    assert!(stops > 3, "{name}: {stops} stops");
    assert!(parts(&root) == parts(&stopped_root));
    assert_eq!(
        std::fs::read_dir(stopped_root.join("running"))
            .unwrap()
            .count(),
        0
    );
    for root in [root, stopped_root] {
        std::fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn squares_that_were_changed_are_refused() {
    let data = Data {
        pairs: None,
        x: rows(8, 2000),
        y: None,
        weights: vec![None],
    };
    let problem = problem(&format!(r#""folds": [{SHORT}]"#));
    let root = folder("changed");
    let (store, _) = planned(&root, (&problem, &data), 2).unwrap();
    let path = root.join("squares");
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(store.load(&options().budget).is_err());
    std::fs::remove_file(&path).unwrap();
    let error = store.load(&options().budget).unwrap_err().to_string();
    assert!(error.contains("squares"), "{error}");
    std::fs::remove_dir_all(root).unwrap();
}

/// A question whose bounds settle little is cut as without squares.
#[test]
fn long_histograms_have_no_squares() {
    let data = Data {
        pairs: None,
        x: rows(1, 2000),
        y: None,
        weights: vec![None],
    };
    let fold = r#"{"kind": "histogram", "axes": [{"bins": 12, "range": [0.0, 200.0]}]}"#;
    let root = folder("long");
    let question = problem(&format!(r#""folds": [{fold}]"#));
    let (_, manifest) = planned(&root, (&question, &data), 2).unwrap();
    assert!(manifest.squares.is_none());
    std::fs::remove_dir_all(root).unwrap();
}

/// Every file of the store, by its bytes.
fn rows_of_store(root: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(root.join("rows"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

/// A share reads the files of its own rows: the others may be gone, and so may the inputs.
#[test]
fn a_share_reads_its_own_rows() {
    let root = folder("own-rows");
    let (inputs, store_root) = (root.join("inputs"), root.join("store"));
    std::fs::create_dir_all(&inputs).unwrap();
    let path = inputs.join("x.csv");
    let values = numbers(21, 6000 * 3, 100.0);
    let lines: Vec<String> = values
        .chunks(3)
        .map(|row| format!("{},{},{}\n", row[0], row[1], row[2]))
        .collect();
    std::fs::write(&path, format!("a,b,c\n{}", lines.concat())).unwrap();
    let mut question = problem(&format!(r#""folds": [{SHORT}]"#));
    question.x.name = path.to_string_lossy().into_owned();
    let options = options();
    let planning = ShareCount { shares: Some(9) };
    let (store, manifest) = Store::plan(&store_root, &question, planning, &options).unwrap();
    assert!(manifest.squares.is_some());
    let whole = std::fs::metadata(&path).unwrap().len();
    assert!(
        manifest.predicted.input_bytes < whole,
        "{} of {whole} bytes",
        manifest.predicted.input_bytes
    );
    std::fs::rename(&path, inputs.join("elsewhere.csv")).unwrap();
    let files = rows_of_store(&store_root);
    let hidden = |file: &PathBuf| file.with_extension("gone");
    let loaded = store.load_to_work(&options.budget).unwrap();
    assert!(loaded.data.is_none());
    let mut missed = 0;
    for share in 1..=9 {
        // Files that share does not need are found by taking each away.
        let needed = |file: &PathBuf| {
            std::fs::rename(file, hidden(file)).unwrap();
            let worked = store
                .work(
                    &loaded,
                    Some(share),
                    (&Habits::default(), wording),
                    &options,
                )
                .unwrap();
            std::fs::rename(hidden(file), file).unwrap();
            let done = worked.failed.is_empty();
            if done {
                std::fs::remove_file(store_root.join(format!("parts/00000{share}"))).unwrap();
            } else {
                assert!(worked.failed[0].1.contains("rows"), "{:?}", worked.failed);
            }
            !done
        };
        missed += files.iter().filter(|file| needed(file)).count();
        work_on(&store, &loaded, share);
    }
    assert!(
        missed < 9 * files.len() * 2 / 3,
        "{missed} of {}",
        files.len()
    );
    std::fs::rename(inputs.join("elsewhere.csv"), &path).unwrap();
    let loaded = store.load(&options.budget).unwrap();
    let merged = store.merge(&loaded, (&Target::Memory, false), &options);
    let merged = merged.unwrap().0;
    let data = Data {
        pairs: None,
        x: Table::f64(6000, 3, values).unwrap(),
        y: None,
        weights: vec![None],
    };
    let whole = Query::new(&question, &data, &options).run().unwrap();
    let [got, wanted] = [&merged, &whole].map(told);
    assert!(got == wanted, "{got}\n{wanted}");
    std::fs::remove_dir_all(root).unwrap();
}

fn work_on(store: &Store, loaded: &Loaded, share: usize) {
    let options = options();
    let worked = store.work(loaded, Some(share), (&Habits::default(), wording), &options);
    let worked = worked.unwrap();
    assert_eq!(
        (&worked.done[..], &worked.failed[..]),
        (&[share][..], &[][..])
    );
}

/// Metrics that look at whole tables: workers read all rows then.
#[test]
fn questions_of_whole_tables_have_the_bits_of_one_run() {
    let data = Data {
        pairs: None,
        x: rows(31, 2600),
        y: None,
        weights: vec![None],
    };
    let near = r#"{"kind": "histogram", "axes": [{"bins": 9, "range": [0.0, 0.2]}]}"#;
    for metric in ["seuclidean", "mahalanobis"] {
        let pair = format!(r#""pair": {{"metric": "{metric}"}}, "folds": [{near}]"#);
        same(metric, (&problem(&pair), &data), 5);
    }
}

/// Rows of single precision, with attributes that the formula reads, and words.
#[test]
fn attributes_and_words_go_with_their_rows() {
    let x = Table::f32(
        2600,
        3,
        numbers(51, 2600 * 3, 100.0)
            .iter()
            .map(|v| *v as f32)
            .collect(),
    );
    let names = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let kinds: Vec<f64> = numbers(52, 2600 * 2, 3.0)
        .iter()
        .map(|v| v.floor())
        .collect();
    let kinds = Table::f64(2600, 2, kinds).unwrap();
    let kinds = kinds.with_names(names(&["kind", "mass"])).unwrap();
    let x = x.unwrap().with_names(names(&["a", "b", "c"])).unwrap();
    let data = Data {
        pairs: None,
        x: x.with_attributes(kinds).unwrap(),
        y: None,
        weights: vec![None],
    };
    let fold = r#"{"kind": "join", "where": "norm(x - y) < 4 and x.kind == y.kind", "value": "x.mass * y.mass"}"#;
    let pair = r#""pair": {"formula": "norm(x - y)"}"#;
    let question = problem(&format!(r#"{pair}, "folds": [{fold}]"#));
    same("attributes", (&question, &data), 5);
    let question = problem(&format!(r#"{pair}, "folds": [{SHORT}]"#));
    same("single", (&question, &data), 5);
}

/// Rows of another question are refused, also in a file of the same size.
#[test]
fn rows_of_another_plan_are_refused() {
    let question = problem(&format!(r#""folds": [{SHORT}]"#));
    let roots = [folder("one-plan"), folder("other-plan")];
    let plan = |at: usize| {
        let data = Data {
            pairs: None,
            x: rows(61 + at as u64, 3000),
            y: None,
            weights: vec![None],
        };
        planned(&roots[at], (&question, &data), 2).unwrap().0
    };
    let (store, _) = (plan(0), plan(1));
    let loaded = store.load_to_work(&options().budget).unwrap();
    let works = || {
        let worked = store.work(&loaded, None, (&Habits::default(), wording), &options());
        worked.unwrap().failed
    };
    let name = "rows/x000001";
    let own = std::fs::read(roots[0].join(name)).unwrap();
    for other in [roots[1].join(name), roots[0].join("rows/x000002")] {
        std::fs::copy(other, roots[0].join(name)).unwrap();
        let failed = works();
        assert!(!failed.is_empty());
        assert!(
            failed.iter().all(|(_, e)| e.contains("another")),
            "{failed:?}"
        );
    }
    std::fs::write(roots[0].join(name), own).unwrap();
    // The share was left alone; asked for by its number it is computed.
    for share in 1..=2 {
        let worked = store.work(
            &loaded,
            Some(share),
            (&Habits::default(), wording),
            &options(),
        );
        assert_eq!(worked.unwrap().failed, []);
    }
    roots
        .iter()
        .for_each(|root| std::fs::remove_dir_all(root).unwrap());
}

/// Rows that were changed or lost fail their share by name, and no other.
#[test]
fn rows_that_were_changed_fail_their_share() {
    let data = Data {
        pairs: None,
        x: rows(33, 4000),
        y: None,
        weights: vec![None],
    };
    let question = problem(&format!(r#""folds": [{SHORT}]"#));
    let root = folder("changed-rows");
    let (store, _) = planned(&root, (&question, &data), 4).unwrap();
    let files = rows_of_store(&root);
    let last = files.last().unwrap();
    let mut bytes = std::fs::read(last).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(last, bytes).unwrap();
    let loaded = store.load_to_work(&options().budget).unwrap();
    let worked = store
        .work(&loaded, None, (&Habits::default(), wording), &options())
        .unwrap();
    let named = last.file_name().unwrap().to_string_lossy().into_owned();
    assert!(!worked.failed.is_empty() && !worked.done.is_empty());
    assert!(
        worked.failed.iter().all(|(_, e)| e.contains(&named)),
        "{:?}",
        worked.failed
    );
    std::fs::remove_dir_all(root).unwrap();
}

/// Where a run of the whole has no memory for bounds, shares of squares still have them.
#[test]
fn little_memory_leaves_the_squares() {
    let data = Data {
        pairs: None,
        x: Table::f64(60_000, 3, numbers(41, 180_000, 100.0)).unwrap(),
        y: None,
        weights: vec![None],
    };
    let fold = r#"{"kind": "histogram", "axes": [{"bins": 5, "range": [0.0, 2.0]}]}"#;
    let question = problem(&format!(r#""folds": [{fold}]"#));
    let with = |bytes: u64| Options {
        threads: 2,
        budget: zipfold::Budget::new(bytes),
        ..Options::default()
    };
    let is_pruned = |bytes: u64| {
        let plan = Query::new(&question, &data, &with(bytes)).plan().unwrap();
        plan.prune.is_on()
    };
    assert!(is_pruned(1 << 30));
    let mut bytes = 1u64 << 30;
    while is_pruned(bytes) {
        bytes = bytes / 8 * 7;
    }
    let (root, options) = (folder("little-memory"), with(bytes));
    let planning = ShareCount { shares: Some(4) };
    let (store, manifest) =
        Store::plan_sent(&root, (&question, &data), planning, &options).unwrap();
    assert!(manifest.squares.is_some(), "{bytes} bytes");
    assert!(options.warnings.all().is_empty());
    let loaded = store.load_to_work(&options.budget).unwrap();
    assert_eq!(work(&store, &loaded, &options).unwrap().len(), 4);
    let ample = with(1 << 30);
    let loaded = store.load(&ample.budget).unwrap();
    let merged = store.merge(&loaded, (&Target::Memory, false), &ample);
    let merged = merged.unwrap().0;
    let whole = Query::new(&question, &data, &ample).run().unwrap();
    let [got, wanted] = [&merged, &whole].map(told);
    assert!(got == wanted, "{got}\n{wanted}");
    std::fs::remove_dir_all(root).unwrap();
}

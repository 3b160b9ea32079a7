//! Windows of rows and of a sorted column, and pairs with an earlier row: the oracle against a double
//! loop over pairs, every way of the engine against the oracle, shards against one run.

use crate::groups::{alone, check, weighed};
use zipfold::{Options, Query};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Data, Problem, Table, describe};
use zipfold_testkit::inputs::Lcg;

/// Folds that may leave pairs out, each in a problem of its own.
const FOLDS: [&str; 16] = [
    "{ kind = 'histogram', axes = [{ bins = 7, range = [0.0, 1.1] }] }",
    "{ kind = 'histogram', weights = 'w', mean = true, axes = [{ edges = [0.0, 0.2, 0.25, 0.9] }] }",
    "{ kind = 'histogram', values = { v = { formula = 'x[0] * y[0] + 1e6', keep = ['sum', 'variance', 'min'] } }, axes = [{ bins = 4, range = [0.1, 0.7] }] }",
    "{ kind = 'reduce', op = 'sum' }",
    "{ kind = 'reduce', op = 'sum', axis = 'all' }",
    "{ kind = 'reduce', op = 'mean', axis = 'column' }",
    "{ kind = 'reduce', op = 'logsumexp' }",
    "{ kind = 'reduce', op = 'argmin' }",
    "{ kind = 'reduce', op = 'count' }",
    "{ kind = 'reduce', op = 'max', axis = 'all' }",
    "{ kind = 'nearest', k = 3 }",
    "{ kind = 'quantile', q = [0.25, 0.5] }",
    "{ kind = 'join', where = 'value < 0.2', value = 'value' }",
    "{ kind = 'join', where = 'value < 0.05', join_kind = 'semi' }",
    "{ kind = 'join', where = 'value < 0.05', join_kind = 'anti' }",
    "{ kind = 'top', k = 9 }",
];
/// Windows: empty ones, narrower and wider than a block, as wide as the table.
const WINDOWS: [&str; 9] = [
    "band:0",
    "band:1",
    "band:40",
    "band:150",
    "band:1000000",
    "window:time:0",
    "window:time:3.5",
    "window:time:1e300",
    "band:90 and window:time:30",
];
/// Those of one table.
const EARLIER: [&str; 3] = [
    "earlier",
    "earlier and band:33",
    "earlier and window:time:9",
];

/// `n` rows of two numbers, some equal; times that never fall, some equal; two kinds.
fn rows(lcg: &mut Lcg, n: usize) -> Table {
    let items = (0..2 * n).map(|_| (lcg.unit() * 64.0).floor() / 64.0 + lcg.below(2) as f64 * 1e-3);
    let x = Table::f64(n, 2, items.collect()).unwrap();
    let mut time = -20.0;
    let beside = (0..n).flat_map(|_| {
        time += [0.0, 0.0, 0.25, 1.0, 7.0][lcg.below(5)];
        [time, lcg.below(2) as f64]
    });
    let names = ["time", "kind"].map(str::to_string).to_vec();
    let beside = Table::f64(n, 2, beside.collect()).unwrap();
    x.with_attributes(beside.with_names(names).unwrap())
        .unwrap()
}

fn data(lcg: &mut Lcg, n: usize, two: bool, fold: &str) -> Data {
    let x = rows(lcg, n);
    let y = two.then(|| rows(lcg, n / 2 + 1));
    weighed(lcg, x, y, fold.contains("weights"))
}

fn problem(within: &str, fold: &str, domain: Option<&str>, two: bool, more: &str) -> Problem {
    let domain = domain.map_or_else(String::new, |domain| format!("domain = '{domain}'"));
    let y = if two { "y = 'y'" } else { "" };
    let text = format!(
        "schema = 1\nx = 'x'\n{y}\npair = 'euclidean'\nwithin = '{within}'\n{domain}\n{more}\nfolds = [{fold}]"
    );
    toml::from_str(&text).unwrap()
}

/// Rows of x, whether there is a y, the domain, and what else is said.
type Asked = (usize, bool, Option<&'static str>, &'static str);

const ASKED: [Asked; 10] = [
    (0, false, None, ""),
    (1, false, None, ""),
    (2, false, Some("square"), ""),
    (130, false, None, ""),
    (300, false, Some("triangle"), ""),
    (290, false, Some("diagonal"), ""),
    (333, false, Some("ordered"), ""),
    (257, false, Some("square"), "cutoff = 0.4"),
    (300, true, None, ""),
    (280, true, None, "by = 'kind'"),
];

/// Whether the question has an answer, which is then the right one.
fn is_answered(problem: &Problem, data: &Data) -> bool {
    match check(problem, data) {
        Ok(()) => true,
        Err(e) => {
            assert!(e.to_string().contains("expected"), "{problem:?}: {e}");
            false
        }
    }
}

#[test]
fn windows_have_the_answer_of_a_double_loop() {
    let mut lcg = Lcg::new(133);
    let mut found = [0, 0];
    for (at, (n, two, domain, more)) in ASKED.into_iter().enumerate() {
        for (of, fold) in FOLDS.iter().enumerate() {
            // Every fold with a third of the windows in each domain.
            for window in WINDOWS.iter().skip((at + of) % 3).step_by(3) {
                let data = data(&mut lcg, n, two, fold);
                let problem = problem(window, fold, domain, two, more);
                found[usize::from(is_answered(&problem, &data))] += 1;
            }
        }
    }
    assert!(found[1] > 350 && found[0] < 70, "{found:?}");
}

/// Whether a fold has no answer by groups.
fn is_found(fold: &str) -> bool {
    ["join", "top", "axis ="]
        .iter()
        .any(|word| fold.contains(word))
}

#[test]
fn earlier_rows_have_the_answer_of_a_double_loop() {
    let mut lcg = Lcg::new(134);
    for (n, domain, more) in [
        (0, None, ""),
        (1, None, ""),
        (300, None, ""),
        (263, Some("square"), "cutoff = 0.4"),
        (280, Some("ordered"), ""),
        (150, None, "by = 'kind'"),
    ] {
        let by = more.starts_with("by");
        for fold in FOLDS.iter().filter(|fold| !(by && is_found(fold))) {
            for window in EARLIER {
                let data = data(&mut lcg, n, false, fold);
                check(&problem(window, fold, domain, false, more), &data).unwrap();
            }
        }
    }
}

#[test]
fn earlier_rows_are_half_of_all_others() {
    let mut lcg = Lcg::new(138);
    for n in [0, 1, 2, 129] {
        let problem = problem("earlier", FOLDS[3], None, false, "");
        let job = describe(&problem, data(&mut lcg, n, false, "")).unwrap();
        assert!(!job.space.is_triangular());
        let pairs = n * n.saturating_sub(1) / 2;
        assert_eq!(job.pairs().unwrap(), pairs as u64);
    }
}

/// Kernels that compute whole blocks, and sums that leave registers as totals only, meet bands that
/// cover some blocks and cut others.
#[test]
fn bands_of_long_rows_and_of_single_precision_have_the_bits_of_the_oracle() {
    let mut lcg = Lcg::new(135);
    let is_long = std::env::var_os("ZIPFOLD_LONG").is_some();
    for (size, (n, dim)) in [(700, 20), (2100, 3)].into_iter().enumerate() {
        let items: Vec<f64> = (0..n * dim).map(|_| lcg.unit()).collect();
        let single = items.iter().map(|v| *v as f32).collect();
        let double = alone(Table::f64(n, dim, items).unwrap());
        let single = alone(Table::f32(n, dim, single).unwrap());
        // Each window with rows of one of both lengths in turn; with both where `ZIPFOLD_LONG` is set.
        let windows = ["band:300", "band:20", "earlier", "earlier and band:500"];
        for (at, window) in windows.into_iter().enumerate() {
            if !is_long && at % 2 != size {
                continue;
            }
            for fold in LONG {
                let problem = problem(window, fold, None, false, "");
                check(&problem, &double).unwrap();
                // Sums of single precision are within its rounding of the specification only.
                if !fold.contains("sum") {
                    check(&problem, &single).unwrap();
                }
            }
        }
    }
}

/// Folds of long rows.
const LONG: [&str; 5] = [
    "{ kind = 'reduce', op = 'sum' }",
    "{ kind = 'reduce', op = 'min' }",
    "{ kind = 'nearest', k = 4 }",
    "{ kind = 'histogram', axes = [{ bins = 9, range = [0.0, 3.0] }] }",
    "{ kind = 'join', where = 'value < 1.2' }",
];

#[test]
fn windows_that_mean_nothing_are_refused() {
    let mut lcg = Lcg::new(136);
    for (window, two, words) in [
        ("near:4", false, "band:ROWS"),
        ("band:-1", false, "number of rows"),
        ("window:time:-1", false, "width"),
        ("window:age:1", false, "age"),
        ("earlier", true, "one table"),
        ("same:kind and other:kind", false, "one condition on keys"),
    ] {
        let data = data(&mut lcg, 9, two, "");
        refused(&problem(window, FOLDS[8], None, two, ""), &data, words);
    }
    let one = data(&mut lcg, 9, false, "");
    let half = problem("earlier", FOLDS[8], Some("triangle"), false, "");
    refused(&half, &one, "earlier rows");
    let matrix = problem("band:3", "{ kind = 'matrix' }", None, false, "");
    refused(&matrix, &one, "may leave pairs out");
}

fn refused(problem: &Problem, data: &Data, words: &str) {
    let e = describe(problem, data.clone()).unwrap_err().to_string();
    assert!(e.contains(words), "{e}");
}

#[test]
fn columns_that_are_not_sorted_are_refused() {
    for (odd, words) in [(f64::NAN, "row 5"), (-1e9, "row 5"), (1e9, "row 6")] {
        let mut times: Vec<f64> = (0..9).map(f64::from).collect();
        times[5] = odd;
        let times = Table::f64(9, 1, times).unwrap();
        let times = times.with_names(vec!["time".into()]).unwrap();
        let x = Table::f64(9, 1, vec![0.0; 9]).unwrap();
        let mut problem = problem("window:time:1", FOLDS[8], None, false, "");
        problem.nan = NanPolicy::Skip;
        refused(&problem, &alone(x.with_attributes(times).unwrap()), words);
    }
}

#[test]
fn the_cost_of_a_band_follows_its_pairs() {
    let n = 200_000;
    let items = (0..n).map(|i| (i % 97) as f64).collect();
    let data = alone(Table::f64(n, 1, items).unwrap());
    for fold in [FOLDS[0], FOLDS[3]] {
        let problem = problem("band:10", fold, Some("ordered"), false, "");
        let options = Options::default();
        let answer = Query::new(&problem, &data, &options).run().unwrap();
        // 20 others each, but for the rows next to the ends: 2 · (1 + … + 10) fewer.
        assert_eq!(answer.outcome.pairs, 20 * n as u64 - 110);
        assert_eq!(answer.outcome.tally.counted, answer.outcome.pairs);
        // A strip meets three tiles at most, of 196.
        let tiles = zipfold::internals::plan::Tiling::new(1024, 1024).count(&answer.job.space);
        assert!(tiles <= 3 * n.div_ceil(1024), "{tiles}");
    }
}

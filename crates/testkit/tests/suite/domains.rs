//! Windows of rows and of a sorted column, and pairs with an earlier row: the oracle against a double
//! loop over pairs, every way of the engine against the oracle, shards against one run.

use zipfold::internals::partial::{decode, encode};
use zipfold::internals::shards;
use zipfold::{Error, Options, Query};
use zipfold_core::{Data, Job, Problem, Table, describe, oracle};
use zipfold_testkit::compare::{difference, of_output, same};
use zipfold_testkit::inputs::Lcg;
use zipfold_testkit::runner::{Variant, chosen, isas, numbers, on_engine};
use zipfold_testkit::specification;

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

fn data(lcg: &mut Lcg, n: usize, two: bool, weighed: bool) -> Data {
    let x = rows(lcg, n);
    let y = two.then(|| rows(lcg, n / 2 + 1));
    let mut weights = |n: usize| {
        let items = (0..n).map(|_| lcg.between(-1.0, 1.0)).collect();
        Table::f64(n, 1, items).unwrap()
    };
    let w = weights(n);
    let v = y.as_ref().map_or(w.clone(), |y| weights(y.rows()));
    Data {
        x,
        y,
        weights: vec![weighed.then_some([w, v])],
    }
}

fn problem(within: &str, fold: &str, domain: Option<&str>, two: bool, more: &str) -> Problem {
    let domain = domain.map_or_else(String::new, |domain| format!("domain = '{domain}'"));
    let y = if two { "y = 'y'" } else { "" };
    let text = format!(
        "schema = 1\nx = 'x'\n{y}\npair = 'euclidean'\nwithin = '{within}'\n{domain}\n{more}\nfolds = [{fold}]"
    );
    toml::from_str(&text).unwrap()
}

/// Ways of the engine.
fn ways() -> Vec<Variant> {
    let choices: [&[(&str, &str)]; 4] = [
        &[],
        &[("family", "vm")],
        &[("order", "hilbert")],
        &[("batch", "3")],
    ];
    let way = |(at, choices): (usize, &&[(&'static str, &'static str)])| Variant {
        isa: isas()[isas().len() - 1],
        threads: 1 + at % 2,
        tile: [0, 128][at / 2],
        overrides: chosen(choices.iter().copied()),
    };
    choices.iter().enumerate().map(way).collect()
}

/// The answer by every way, or why it is refused.
fn check(problem: &Problem, data: &Data) -> Result<Job, Error> {
    let job = describe(problem, data.clone())?;
    let wanted = numbers(&job, &oracle::run(&job)?);
    if job.precision == zipfold_core::Precision::F64 {
        let odd = specification::differences(&job, &wanted);
        assert!(odd.is_empty(), "{problem:?}\n{}", odd.join("\n"));
    }
    for variant in ways() {
        let got = on_engine(problem, &job, &variant)?;
        let odd = difference(&got[0], &wanted[0], same);
        assert!(
            odd.is_none(),
            "{problem:?} {}: {}",
            variant.overrides,
            odd.unwrap_or_default()
        );
    }
    let options = |shard| Options {
        threads: 2,
        shard,
        ..Options::default()
    };
    let mut parts = vec![];
    for index in 0..3 {
        let options = options(Some((index, 3)));
        let answer = Query::new(problem, data, &options).run()?;
        let part = shards::part(&answer.problem, &answer.outcome, (index, 3))?;
        let name = format!("part {index}");
        parts.push((name.clone(), decode(&encode(&part)?, &name)?));
    }
    let options = options(None);
    let merged = shards::merge(problem, data, parts, &options)?;
    let pairs = job.pairs()?;
    assert_eq!(merged.outcome.pairs, pairs);
    let got = of_output(&merged.job.folds[0], &merged.outcome.outputs[0]);
    let odd = difference(&got, &wanted[0], same);
    assert!(
        odd.is_none(),
        "merged {problem:?}: {}",
        odd.unwrap_or_default()
    );
    Ok(job)
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

#[test]
fn windows_have_the_answer_of_a_double_loop() {
    let mut lcg = Lcg::new(133);
    let (mut answered, mut refused) = (0, 0);
    for (at, (n, two, domain, more)) in ASKED.into_iter().enumerate() {
        for (of, fold) in FOLDS.iter().enumerate() {
            // Every fold with a third of the windows in each domain.
            let windows = WINDOWS.iter().enumerate();
            for (_, window) in windows.filter(|(w, _)| (w + at + of) % 3 == 0) {
                let data = data(&mut lcg, n, two, fold.contains("weights"));
                match check(&problem(window, fold, domain, two, more), &data) {
                    Ok(_) => answered += 1,
                    Err(e) => {
                        assert!(e.to_string().contains("expected"), "{window} {fold}: {e}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(answered > 350 && refused < 70, "{answered} {refused}");
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
        for fold in FOLDS {
            let found = fold.contains("join") || fold.contains("top") || fold.contains("axis =");
            if more.starts_with("by") && found {
                continue;
            }
            for window in EARLIER {
                let data = data(&mut lcg, n, false, fold.contains("weights"));
                let problem = problem(window, fold, domain, false, more);
                let job = check(&problem, &data).unwrap();
                assert!(!job.space.is_triangular());
                if window == "earlier" && more.is_empty() {
                    let pairs = n * n.saturating_sub(1) / 2;
                    assert_eq!(job.pairs().unwrap(), pairs as u64);
                }
            }
        }
    }
}

/// Kernels that compute whole blocks, and sums that leave registers as totals only, meet bands that
/// cover some blocks and cut others.
#[test]
fn bands_of_long_rows_and_of_single_precision_have_the_bits_of_the_oracle() {
    let mut lcg = Lcg::new(135);
    for (n, dim) in [(700, 20), (2100, 3)] {
        for window in ["band:300", "earlier", "earlier and band:500", "band:20"] {
            let items: Vec<f64> = (0..n * dim).map(|_| lcg.unit()).collect();
            let x = Table::f64(n, dim, items.clone()).unwrap();
            let single = items.iter().map(|v| *v as f32).collect();
            let single = Table::f32(n, dim, single).unwrap();
            for fold in [
                "{ kind = 'reduce', op = 'sum' }",
                "{ kind = 'reduce', op = 'min' }",
                "{ kind = 'nearest', k = 4 }",
                "{ kind = 'histogram', axes = [{ bins = 9, range = [0.0, 3.0] }] }",
                "{ kind = 'join', where = 'value < 1.2' }",
            ] {
                let problem = problem(window, fold, None, false, "");
                let sum = fold.contains("sum");
                for x in [Some(&x), Some(&single).filter(|_| !sum)]
                    .into_iter()
                    .flatten()
                {
                    let data = Data {
                        x: x.clone(),
                        y: None,
                        weights: vec![None],
                    };
                    check(&problem, &data).unwrap();
                }
            }
        }
    }
}

#[test]
fn windows_that_mean_nothing_are_refused() {
    let mut lcg = Lcg::new(136);
    let count = FOLDS[8];
    let refused = |problem: &Problem, data: &Data, words: &str| {
        let e = describe(problem, data.clone()).unwrap_err().to_string();
        assert!(e.contains(words), "{e}");
    };
    let one = data(&mut lcg, 9, false, false);
    let two = data(&mut lcg, 9, true, false);
    let ask = |window: &str, two| problem(window, count, None, two, "");
    refused(&ask("near:4", false), &one, "band:ROWS");
    refused(&ask("band:-1", false), &one, "number of rows");
    refused(&ask("window:time:-1", false), &one, "width");
    refused(&ask("window:age:1", false), &one, "age");
    refused(&ask("earlier", true), &two, "one table");
    let half = problem("earlier", count, Some("triangle"), false, "");
    refused(&half, &one, "earlier rows");
    let keys = "same:kind and other:kind";
    refused(&ask(keys, false), &one, "one condition on keys");
    let matrix = problem("band:3", "{ kind = 'matrix' }", None, false, "");
    refused(&matrix, &one, "may leave pairs out");
    for (odd, words) in [(f64::NAN, "row 5"), (-1e9, "row 5"), (1e9, "row 6")] {
        let mut times: Vec<f64> = (0..9).map(f64::from).collect();
        times[5] = odd;
        let times = Table::f64(9, 1, times).unwrap();
        let x = Table::f64(9, 1, vec![0.0; 9]).unwrap();
        let x = x.with_attributes(times.with_names(vec!["time".into()]).unwrap());
        let data = Data {
            x: x.unwrap(),
            y: None,
            weights: vec![None],
        };
        let mut problem = ask("window:time:1", false);
        problem.nan = zipfold_core::problem::NanPolicy::Skip;
        refused(&problem, &data, words);
    }
}

#[test]
fn the_cost_of_a_band_follows_its_pairs() {
    let n = 200_000;
    let items = (0..n).map(|i| (i % 97) as f64).collect();
    let data = Data {
        x: Table::f64(n, 1, items).unwrap(),
        y: None,
        weights: vec![None],
    };
    for fold in [FOLDS[0], FOLDS[3]] {
        let problem = problem("band:10", fold, Some("ordered"), false, "");
        let options = Options::default();
        let answer = Query::new(&problem, &data, &options).run().unwrap();
        // 20 others each, but for the rows next to the ends: 2 · (1 + … + 10) fewer.
        assert_eq!(answer.outcome.pairs, 20 * n as u64 - 110);
        assert_eq!(answer.outcome.tally.counted, answer.outcome.pairs);
        // All 4 · 10¹⁰ pairs would be a thousand times as many tiles.
        let tiles = zipfold::internals::plan::Tiling::new(1024, 1024).count(&answer.job.space);
        assert!(tiles < 3 * n / 1024, "{tiles}");
    }
}

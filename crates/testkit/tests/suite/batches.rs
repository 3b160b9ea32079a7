//! Batches: the oracle against a double loop over pairs, every way of the engine against the oracle,
//! shards against one run, and the answer of each batch against a question about its rows alone.

use crate::groups::{alone, check, weighed};
use zipfold::{Options, Output, Query};
use zipfold_core::fold::{Kept, ListedState, State};
use zipfold_core::{Data, Problem, Table, describe};
use zipfold_testkit::compare::of_output;
use zipfold_testkit::inputs::Lcg;

/// Folds of batches.
const FOLDS: [&str; 18] = [
    "{ kind = 'matrix' }",
    "{ kind = 'condensed' }",
    "{ kind = 'histogram', axes = [{ bins = 7, range = [0.0, 1.1] }] }",
    "{ kind = 'histogram', weights = 'w', mean = true, axes = [{ edges = [0.0, 0.2, 0.25, 0.9] }] }",
    "{ kind = 'histogram', values = { v = { formula = 'x[0] * y[0] + 1e6', keep = ['sum', 'variance', 'min'] } }, axes = [{ bins = 4, range = [0.1, 0.7] }] }",
    "{ kind = 'reduce', op = 'sum' }",
    "{ kind = 'reduce', op = 'argmin' }",
    "{ kind = 'reduce', op = 'sum', axis = 'column' }",
    "{ kind = 'reduce', op = 'argmax', axis = 'column' }",
    "{ kind = 'reduce', op = 'sum', axis = 'all' }",
    "{ kind = 'reduce', op = 'mean', axis = 'all' }",
    "{ kind = 'reduce', op = 'argmin', axis = 'all' }",
    "{ kind = 'reduce', op = 'count', axis = 'all' }",
    "{ kind = 'nearest', k = 3 }",
    "{ kind = 'quantile', q = [0.25, 0.5] }",
    "{ kind = 'join', where = 'value < 0.2', value = 'value' }",
    "{ kind = 'join', where = 'value < 0.05', join_kind = 'semi' }",
    "{ kind = 'top', k = 4 }",
];

/// `n` rows of two numbers, some equal, in one of `count` frames, in no order.
fn rows(lcg: &mut Lcg, n: usize, (count, missing): (usize, bool)) -> Table {
    let items = (0..2 * n).map(|_| (lcg.unit() * 64.0).floor() / 64.0 + lcg.below(2) as f64 * 1e-3);
    let x = Table::f64(n, 2, items.collect()).unwrap();
    let frame = (0..n).map(|_| match missing && lcg.below(9) == 0 {
        true => f64::NAN,
        false => lcg.below(count) as f64 - 1.0,
    });
    let frames = Table::f64(n, 1, frame.collect()).unwrap();
    let frames = frames.with_names(vec!["frame".into()]).unwrap();
    x.with_attributes(frames).unwrap()
}

fn problem(fold: &str, two: bool, more: &str) -> Problem {
    let y = if two { "y = 'y'" } else { "" };
    let text = format!(
        "schema = 1\nx = 'x'\n{y}\npair = 'euclidean'\nbatch = 'frame'\n{more}\nprecision = 'f64'\nfolds = [{fold}]"
    );
    toml::from_str(&text).unwrap()
}

/// Rows of x, frames, whether there is a y, and what else is said.
const ASKED: [(usize, usize, bool, &str); 11] = [
    (0, 1, false, ""),
    (1, 1, false, ""),
    (60, 70, false, ""),
    (160, 5, false, ""),
    (150, 1, false, "domain = 'square'"),
    (90, 4, false, "domain = 'triangle'"),
    (90, 4, false, "domain = 'diagonal'"),
    (120, 6, true, ""),
    (100, 5, true, "cutoff = 0.4"),
    (100, 5, false, "nan = 'skip'"),
    (120, 3, false, "within = 'band:30'"),
];

#[test]
fn batches_have_the_answer_of_a_double_loop() {
    let mut lcg = Lcg::new(145);
    let mut found = [0, 0];
    for (n, count, two, more) in ASKED {
        for fold in FOLDS {
            let missing = more.contains("nan");
            let x = rows(&mut lcg, n, (count, missing));
            let y = two.then(|| rows(&mut lcg, n / 2 + 1, (count + 1, missing)));
            let data = weighed(&mut lcg, x, y, fold.contains("weights"));
            let problem = problem(fold, two, more);
            let answer = check(&problem, &data);
            if let Err(e) = &answer {
                let e = e.to_string();
                let known = ["expected", "condensed"]
                    .iter()
                    .any(|word| e.contains(word));
                assert!(known && !e.contains("damaged"), "{problem:?} {e}");
            }
            found[usize::from(answer.is_ok())] += 1;
        }
    }
    assert!(found[1] > 165 && found[0] < 33, "{found:?}");
}

fn numbers(problem: &Problem, data: &Data) -> Vec<f64> {
    let options = Options::default();
    let answer = Query::new(problem, data, &options).run().unwrap();
    let all = of_output(&answer.job.folds[0], &answer.outcome.outputs[0]);
    all[0].1.clone()
}

/// The answer of each batch is the one of a question about its rows alone, with all its bits.
#[test]
fn each_batch_has_the_answer_of_its_rows_alone() {
    let mut lcg = Lcg::new(146);
    let count = 7;
    let x = rows(&mut lcg, 400, (count, false));
    let frame = x.attributes().unwrap();
    let of = |batch: usize| -> Vec<u32> {
        let own = |row: &u32| frame.get(*row as usize, 0) == batch as f64 - 1.0;
        (0..400).filter(own).collect()
    };
    for (fold, width, keys) in [
        ("{ kind = 'condensed' }", 4, 3),
        ("{ kind = 'reduce', op = 'sum', axis = 'all' }", 2, 1),
        ("{ kind = 'top', k = 5 }", 4, 3),
    ] {
        let all = numbers(&problem(fold, false, ""), &alone(x.clone()));
        let mut lines = all.chunks(width);
        for batch in 0..count {
            let rows = of(batch);
            let mut own = problem(fold, false, "");
            own.batch = None;
            let wanted = numbers(&own, &alone(x.of_rows(&rows).unwrap()));
            // The best pairs have their rows before the value.
            let wanted: Vec<f64> = match fold.contains("top") {
                true => wanted.iter().skip(2).step_by(3).copied().collect(),
                false => wanted,
            };
            assert!(!wanted.is_empty());
            for value in wanted {
                let line = lines.next().unwrap();
                assert_eq!(line[0], batch as f64);
                assert_eq!(line[keys].to_bits(), value.to_bits(), "{fold} {batch}");
            }
        }
        assert!(lines.next().is_none(), "{fold}");
    }
}

/// Sums of rows have the bits of the rows alone where these meet all others from their own side. A
/// costly formula is computed by half, and then sums of the rows alone have another order.
#[test]
fn sums_of_rows_of_batches_are_those_of_their_rows_alone() {
    let mut lcg = Lcg::new(150);
    let x = rows(&mut lcg, 400, (5, false));
    let frame = x.attributes().unwrap();
    let all = "{ kind = 'reduce', op = 'sum' }";
    for (formula, may_differ) in [
        ("sum((x - y)^2)", 0.0),
        ("exp(-sin(cos(tanh(sqrt(sum((x - y)^2))))))", 1e-13),
    ] {
        let asked = |batch: bool| {
            let mut asked = problem(all, false, "");
            (asked.pair.metric, asked.pair.formula) = (None, Some(formula.into()));
            asked.batch = asked.batch.filter(|_| batch);
            asked
        };
        let together = numbers(&asked(true), &alone(x.clone()));
        for batch in 0..5 {
            let own = |row: &u32| frame.get(*row as usize, 0) == f64::from(batch) - 1.0;
            let own: Vec<u32> = (0..400).filter(own).collect();
            let wanted = numbers(&asked(false), &alone(x.of_rows(&own).unwrap()));
            assert_eq!(wanted.len(), own.len());
            for (row, wanted) in own.iter().zip(wanted) {
                let got = together[*row as usize];
                assert!(
                    (got - wanted).abs() <= may_differ * wanted.abs(),
                    "{formula}"
                );
            }
        }
    }
}

/// A symmetric matrix is computed by half, row after row, and mirrored in the answer.
#[test]
fn symmetric_matrices_of_batches_are_computed_by_half() {
    let mut lcg = Lcg::new(151);
    let x = rows(&mut lcg, 300, (4, false));
    let problem = problem("{ kind = 'matrix' }", false, "");
    let data = alone(x.clone());
    let options = Options::default();
    let answer = Query::new(&problem, &data, &options).run().unwrap();
    let frame = x.attributes().unwrap();
    let of = |batch: usize| (0..300).filter(move |row| frame.get(*row, 0) == batch as f64 - 1.0);
    let sizes: Vec<u64> = (0..4).map(|batch| of(batch).count() as u64).collect();
    let half: u64 = sizes.iter().map(|n| n * (n + 1) / 2).sum();
    assert_eq!(answer.outcome.pairs, half);
    let all = of_output(&answer.job.folds[0], &answer.outcome.outputs[0]);
    assert_eq!(
        all[0].1.len() as u64,
        4 * sizes.iter().map(|n| n * n).sum::<u64>()
    );
    // A run for each row that a tile has, not one for each value.
    let Output::State(State::Grouped(state)) = &answer.outcome.outputs[0] else {
        panic!("expected a state by parts");
    };
    let runs = state
        .states()
        .filter_map(ListedState::within)
        .map(ListedState::runs);
    assert!(runs.sum::<usize>() < 300 * 3);
    check(&problem, &data).unwrap();
}

#[test]
fn listed_pairs_of_batches_are_those_of_one_frame() {
    let mut lcg = Lcg::new(147);
    let x = rows(&mut lcg, 80, (4, false));
    let pairs: Vec<f64> = (0..600).map(|_| lcg.below(80) as f64).collect();
    let data = Data {
        pairs: Some(Table::f64(300, 2, pairs).unwrap()),
        ..alone(x)
    };
    let mut answered = 0;
    for fold in FOLDS.iter().filter(|fold| !fold.contains("weights")) {
        let problem = problem(fold, false, "pairs = 'pairs.csv'");
        match check(&problem, &data) {
            Ok(()) => answered += 1,
            Err(e) => assert!(e.to_string().contains("expected"), "{e}"),
        }
    }
    assert!(answered > 13, "{answered}");
}

#[test]
fn batches_that_mean_nothing_are_refused() {
    let mut lcg = Lcg::new(148);
    let data = alone(rows(&mut lcg, 9, (3, false)));
    for (more, words) in [
        ("by = 'frame'", "groups or batches, got both"),
        ("within = 'same:frame'", "a condition on keys, got both"),
    ] {
        let e = describe(&problem(FOLDS[2], false, more), data.clone()).unwrap_err();
        assert!(e.to_string().contains(words), "{e}");
    }
    let mut unknown = problem(FOLDS[2], false, "");
    unknown.batch = Some("time".into());
    let e = describe(&unknown, data).unwrap_err().to_string();
    assert!(e.contains("batch: no column 'time'"), "{e}");
}

//! Listed pairs: the oracle against a double loop over the list, every way of the engine against the
//! oracle, shards against one run, and all of it against what the list says by itself.

use crate::groups::{check, weighed};
use zipfold::{Options, Output, Query};
use zipfold_core::fold::{Kept, ReduceState, State};
use zipfold_core::{Budget, Data, Problem, Table, describe};
use zipfold_testkit::compare::of_output;
use zipfold_testkit::inputs::Lcg;

/// Folds of listed pairs.
const FOLDS: [&str; 19] = [
    "{ kind = 'matrix' }",
    "{ kind = 'histogram', axes = [{ bins = 7, range = [0.0, 1.1] }] }",
    "{ kind = 'histogram', weights = 'w', mean = true, axes = [{ edges = [0.0, 0.2, 0.25, 0.9] }] }",
    "{ kind = 'histogram', values = { v = { formula = 'x[0] * y[1] + 1e6', keep = ['sum', 'variance', 'min'] } }, axes = [{ bins = 4, range = [0.1, 0.7] }] }",
    "{ kind = 'reduce', op = 'sum' }",
    "{ kind = 'reduce', op = 'mean' }",
    "{ kind = 'reduce', op = 'logsumexp' }",
    "{ kind = 'reduce', op = 'argmin' }",
    "{ kind = 'reduce', op = 'count' }",
    "{ kind = 'nearest', k = 3 }",
    "{ kind = 'quantile', q = [0.25, 0.5] }",
    "{ kind = 'reduce', op = 'sum', axis = 'column' }",
    "{ kind = 'reduce', op = 'argmax', axis = 'column' }",
    "{ kind = 'reduce', op = 'mean', axis = 'all' }",
    "{ kind = 'reduce', op = 'argmin', axis = 'all' }",
    "{ kind = 'join', where = 'value < 0.2', value = 'value' }",
    "{ kind = 'join', where = 'value < 0.05', join_kind = 'semi' }",
    "{ kind = 'join', where = 'value < 0.05', join_kind = 'anti' }",
    "{ kind = 'top', k = 9 }",
];

/// `n` rows of two numbers, some equal; times that never fall; two kinds, some missing.
fn rows(lcg: &mut Lcg, n: usize, missing: bool) -> Table {
    let items = (0..2 * n).map(|_| match missing && lcg.below(20) == 0 {
        true => f64::NAN,
        false => (lcg.unit() * 64.0).floor() / 64.0 + lcg.below(2) as f64 * 1e-3,
    });
    let x = Table::f64(n, 2, items.collect()).unwrap();
    let beside = (0..n).flat_map(|at| [(at / 3) as f64, lcg.below(2) as f64]);
    let names = ["time", "kind"].map(str::to_string).to_vec();
    let beside = Table::f64(n, 2, beside.collect()).unwrap();
    x.with_attributes(beside.with_names(names).unwrap())
        .unwrap()
}

/// What a list looks like.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Empty,
    /// Any pairs, in any order.
    Random,
    /// Few pairs, each many times.
    Twice,
    /// Rows with themselves.
    Diagonal,
    /// All pairs of one row, backwards.
    OneRow,
    /// All pairs with one row of y.
    OneColumn,
    /// All pairs, in order.
    All,
    /// Runs of consecutive columns.
    Runs,
}

const SHAPES: [Shape; 8] = [
    Shape::Empty,
    Shape::Random,
    Shape::Twice,
    Shape::Diagonal,
    Shape::OneRow,
    Shape::OneColumn,
    Shape::All,
    Shape::Runs,
];

fn list(lcg: &mut Lcg, shape: Shape, [n, m]: [usize; 2]) -> Vec<[usize; 2]> {
    if n == 0 || m == 0 {
        return vec![];
    }
    match shape {
        Shape::Empty => vec![],
        Shape::Random => (0..700).map(|_| [lcg.below(n), lcg.below(m)]).collect(),
        Shape::Twice => (0..300)
            .map(|_| [lcg.below(n.min(3)), lcg.below(m.min(2))])
            .collect(),
        Shape::Diagonal => (0..n.min(m)).map(|at| [at, at]).collect(),
        Shape::OneRow => (0..m).rev().map(|j| [n / 2, j]).collect(),
        Shape::OneColumn => (0..n).map(|i| [i, m - 1]).collect(),
        Shape::All => (0..n * m).map(|at| [at / m, at % m]).collect(),
        Shape::Runs => (0..20)
            .flat_map(|_| {
                let (i, first) = (lcg.below(n), lcg.below(m));
                (first..m.min(first + 50)).map(move |j| [i, j])
            })
            .collect(),
    }
}

fn table(pairs: &[[usize; 2]]) -> Table {
    let items = pairs.iter().flatten().map(|row| *row as f64).collect();
    Table::f64(pairs.len(), 2, items).unwrap()
}

fn problem(fold: &str, two: bool, more: &str) -> Problem {
    let y = if two { "y = 'y'" } else { "" };
    let text = format!(
        "schema = 1\nx = 'x'\n{y}\npair = 'euclidean'\npairs = 'pairs.csv'\n{more}\nprecision = 'f64'\nfolds = [{fold}]"
    );
    toml::from_str(&text).unwrap()
}

/// Rows of x and y, and a list of pairs of them.
fn data(lcg: &mut Lcg, n: usize, two: bool, (shape, fold): (Shape, &str), missing: bool) -> Data {
    let x = rows(lcg, n, missing);
    let y = two.then(|| rows(lcg, n / 2 + 1, missing));
    let m = y.as_ref().map_or(n, Table::rows);
    let pairs = list(lcg, shape, [n, m]);
    Data {
        pairs: Some(table(&pairs)),
        ..weighed(lcg, x, y, fold.contains("weights"))
    }
}

/// Rows of x, whether there is a y, and what else is said.
const ASKED: [(usize, bool, &str); 10] = [
    (0, false, ""),
    (1, false, ""),
    (40, false, ""),
    (170, false, "domain = 'square'"),
    (150, true, ""),
    (130, true, "cutoff = 0.4"),
    (90, false, "within = 'band:30 and earlier'"),
    (60, false, "nan = 'skip'"),
    (80, false, "domain = 'diagonal'"),
    (70, false, "domain = 'diagonal'\nby = 'kind'"),
];

#[test]
fn listed_pairs_have_the_answer_of_a_loop_over_the_list() {
    let (mut lcg, mut answered) = (Lcg::new(140), 0);
    for (at, (n, two, more)) in ASKED.into_iter().enumerate() {
        for (of, fold) in FOLDS.iter().enumerate() {
            for shape in SHAPES.iter().skip((at + of) % 2).step_by(2) {
                let missing = more.contains("nan");
                let data = data(&mut lcg, n, two, (*shape, fold), missing);
                let problem = problem(fold, two, more);
                match check(&problem, &data) {
                    Ok(()) => answered += 1,
                    // Half of the pairs stands for all where the value is symmetric, and groups have
                    // tables or results by row.
                    Err(e) => {
                        let known = ["change places", "expected"];
                        let known = known.iter().any(|words| e.to_string().contains(words));
                        let may = more.contains("diagonal") && known;
                        assert!(may, "{problem:?} {shape:?} {e}");
                    }
                }
            }
        }
    }
    assert!(answered > 650, "{answered}");
}

#[test]
fn groups_and_keys_of_listed_pairs_have_the_answer_of_a_loop() {
    let mut lcg = Lcg::new(141);
    let asked = [
        "by = 'kind'",
        "by = 'kind'\nwithin = 'other'",
        "within = 'same:kind'",
        "within = 'same:kind and window:time:9'",
    ];
    let mut answered = 0;
    for more in asked {
        for fold in FOLDS {
            for (two, shape) in [
                (false, Shape::Random),
                (true, Shape::All),
                (true, Shape::Twice),
            ] {
                let data = data(&mut lcg, 50, two, (shape, fold), false);
                match check(&problem(fold, two, more), &data) {
                    Ok(()) => answered += 1,
                    Err(e) => assert!(e.to_string().contains("expected"), "{e}"),
                }
            }
        }
    }
    assert!(answered > 180, "{answered}");
}

/// The numbers of an answer.
fn numbers(problem: &Problem, data: &Data) -> Vec<f64> {
    let options = Options::default();
    let answer = Query::new(problem, data, &options).run().unwrap();
    let all = of_output(&answer.job.folds[0], &answer.outcome.outputs[0]);
    all[0].1.clone()
}

/// Against loops that know nothing of zipfold: values in the order of the list, sums and counts of the
/// rows of x, and of both rows where the domain says so.
#[test]
fn values_are_in_the_order_of_the_list_and_a_pair_counts_for_its_row_of_x() {
    let mut lcg = Lcg::new(142);
    let x: Vec<f64> = (0..60).map(|_| lcg.below(1000) as f64).collect();
    let pairs = list(&mut lcg, Shape::Random, [60, 60]);
    let data = Data {
        x: Table::f64(60, 1, x.clone()).unwrap(),
        y: None,
        pairs: Some(table(&pairs)),
        weights: vec![None],
    };
    let apart = |[i, j]: [usize; 2]| (x[i] - x[j]).abs();
    let values = numbers(&problem("{ kind = 'matrix' }", false, ""), &data);
    let wanted = pairs
        .iter()
        .flat_map(|p| [p[0] as f64, p[1] as f64, apart(*p)]);
    assert_eq!(values, wanted.collect::<Vec<f64>>());
    // Sums of whole numbers are exact in any order.
    let sum = "{ kind = 'reduce', op = 'sum' }";
    let (mut own, mut both) = (vec![0.0; 60], vec![0.0; 60]);
    for pair in &pairs {
        let [i, j] = *pair;
        own[i] += apart(*pair);
        both[i] += apart(*pair);
        both[j] += if i == j { 0.0 } else { apart(*pair) };
    }
    assert_eq!(numbers(&problem(sum, false, ""), &data), own);
    let half = problem(sum, false, "domain = 'diagonal'");
    assert_eq!(numbers(&half, &data), both);
    check(&half, &data).unwrap();
    let mut degrees = vec![0.0; 60];
    for [i, j] in &pairs {
        degrees[*i] += 1.0;
        degrees[*j] += if i == j { 0.0 } else { 1.0 };
    }
    let count = "{ kind = 'reduce', op = 'mean' }";
    let means = numbers(&problem(count, false, "domain = 'diagonal'"), &data);
    for row in (0..60).filter(|row| degrees[*row] > 0.0) {
        assert_eq!(means[row], both[row] / degrees[row]);
    }
}

/// Next to results by column the list is sorted by row of y, and values still lie where their pairs
/// are listed.
#[test]
fn values_next_to_results_by_column_are_in_the_order_of_the_list() {
    let mut lcg = Lcg::new(149);
    for more in ["", "cutoff = 0.4", "within = 'band:30'"] {
        for shape in SHAPES {
            let data = data(&mut lcg, 40, false, (shape, ""), false);
            let data = Data {
                weights: vec![None; 2],
                ..data
            };
            let both = format!("{}, {}", FOLDS[0], FOLDS[11]);
            check(&problem(&both, false, more), &data).unwrap();
            let of = |fold: &str| {
                let own = Data {
                    weights: vec![None; 1 + usize::from(fold == both)],
                    ..data.clone()
                };
                numbers(&problem(fold, false, more), &own)
            };
            let [together, alone] = [&both, FOLDS[0]].map(of);
            let bits = |all: &[f64]| all.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&together), bits(&alone), "{more} {shape:?}");
        }
    }
}

/// Pairs without order are named by their lower row, and equal values by these names.
#[test]
fn the_best_of_equal_pairs_without_order_is_the_first_by_its_lower_row() {
    // Values of 1, 1 and 0.
    let data = Data {
        pairs: Some(table(&[[3, 0], [1, 2], [2, 3]])),
        ..crate::groups::alone(Table::f64(4, 1, vec![0.0, 0.0, 1.0, 1.0]).unwrap())
    };
    let problem = problem("{ kind = 'top', k = 2 }", false, "domain = 'diagonal'");
    check(&problem, &data).unwrap();
    assert_eq!(numbers(&problem, &data), [2.0, 3.0, 0.0, 0.0, 3.0, 1.0]);
}

/// Several parts, and a row that has more pairs than a part.
#[test]
fn long_lists_have_the_same_bits_in_any_order_of_the_list() {
    let mut lcg = Lcg::new(143);
    let n = 900;
    let items = (0..3 * n).map(|_| lcg.unit()).collect();
    let x = Table::f64(n, 3, items).unwrap();
    let mut pairs: Vec<[usize; 2]> = (0..150_000)
        .map(|at| match at % 3 {
            0 => [17, lcg.below(n)],
            _ => [lcg.below(n), lcg.below(n)],
        })
        .collect();
    let of = |pairs: &[[usize; 2]]| Data {
        pairs: Some(table(pairs)),
        ..crate::groups::alone(x.clone())
    };
    let sorted = of(&pairs);
    for at in (1..pairs.len()).rev() {
        pairs.swap(at, lcg.below(at + 1));
    }
    let shuffled = of(&pairs);
    for fold in [
        "{ kind = 'reduce', op = 'sum' }",
        "{ kind = 'reduce', op = 'sum', axis = 'column' }",
        "{ kind = 'histogram', axes = [{ bins = 9, range = [0.0, 1.5] }] }",
        "{ kind = 'nearest', k = 4 }",
    ] {
        let problem = problem(fold, false, "");
        check(&problem, &shuffled).unwrap();
        let [a, b] = [&sorted, &shuffled].map(|data| numbers(&problem, data));
        assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    let values = numbers(&problem("{ kind = 'matrix' }", false, ""), &shuffled);
    assert_eq!(values.len(), 3 * pairs.len());
}

#[test]
fn lists_that_mean_nothing_are_refused() {
    let mut lcg = Lcg::new(144);
    let row = FOLDS[4];
    for (more, fold, words) in [
        ("domain = 'triangle'", row, "no domain"),
        ("", "{ kind = 'condensed' }", "expected a matrix"),
        ("within = 'near'", row, "band:ROWS"),
        ("by = 'kind'", FOLDS[0], "results by row"),
        (
            "",
            "{ kind = 'reduce', op = 'sum' }, { kind = 'reduce', op = 'sum', axis = 'column' }",
            "by row or by column",
        ),
        (
            "domain = 'diagonal'",
            "{ kind = 'reduce', op = 'sum' }, { kind = 'matrix' }",
            "both of its rows",
        ),
    ] {
        let data = data(&mut lcg, 9, false, (Shape::Random, ""), false);
        refused(&problem(fold, false, more), &data, words);
    }
    let one = |cols: usize, items: Vec<f64>| Data {
        pairs: Some(Table::f64(items.len() / cols, cols, items).unwrap()),
        ..crate::groups::alone(rows(&mut Lcg::new(1), 9, false))
    };
    for (cols, items, words) in [
        (3, vec![0.0, 1.0, 2.0], "two columns"),
        (2, vec![0.0, 1.0, 9.0, 0.0], "from 0 to 8, got 9"),
        (2, vec![0.0, -1.0], "got -1"),
        (2, vec![0.0, 1.5], "got 1.5"),
        (2, vec![0.0, f64::NAN], "got NaN"),
        (2, vec![0.0, 1.0, 1e10, 0.0], "row 1"),
    ] {
        refused(&problem(row, false, ""), &one(cols, items), words);
    }
    // A hash of the list alone is looked at, too.
    let mut other = problem(row, false, "");
    let pairs = other.pairs.as_mut().unwrap();
    pairs.hash = Some("0".repeat(32));
    refused(&other, &one(2, vec![0.0, 1.0]), "asks for 0000");
    let mut unasked = problem(row, false, "");
    unasked.pairs = None;
    refused(&unasked, &one(2, vec![0.0, 1.0]), "lists none");
    let mut without = one(2, vec![]);
    without.pairs = None;
    refused(&problem(row, false, ""), &without, "listed pairs");
}

fn refused(problem: &Problem, data: &Data, words: &str) {
    let e = describe(problem, data.clone()).unwrap_err().to_string();
    assert!(e.contains(words), "{e}");
}

/// A row of many pairs is cut where pairs are found, and held by one thread where it is whole.
#[test]
fn the_row_of_a_hub_is_cut_or_held_once() {
    let (mut lcg, n) = (Lcg::new(152), 500);
    let hub = 1 << 19;
    let pairs: Vec<[usize; 2]> = (0..4 * hub)
        .map(|at| [if at < hub { 7 } else { lcg.below(n) }, lcg.below(n)])
        .collect();
    let data = Data {
        pairs: Some(table(&pairs)),
        ..crate::groups::alone(rows(&mut lcg, n, false))
    };
    let of = |fold: &str, threads: usize| {
        let options = Options {
            threads,
            ..Options::default()
        };
        let problem = problem(fold, false, "");
        let found = Query::new(&problem, &data, &options).explain().unwrap();
        let parts = found.job.parts.unwrap();
        let most = parts
            .list
            .iter()
            .map(|part| part.space(None).size().unwrap());
        (most.max().unwrap(), found.plan.peak_bytes)
    };
    for fold in [FOLDS[15], FOLDS[18]] {
        assert!(of(fold, 1).0 <= 1 << 15, "{fold}");
    }
    let [(most, one), (_, four)] = [1, 4].map(|threads| of(FOLDS[4], threads));
    assert!(most >= hub as u64);
    // A pair of the hub has a row of y of two numbers.
    let copies = (four - one) / (16 * hub as u64);
    assert_eq!(copies, 0, "{one} {four}");
}

/// The sorted list, its parts and what they are made of come from the budget.
#[test]
fn a_list_beyond_the_budget_is_refused() {
    let mut lcg = Lcg::new(151);
    let pairs: Vec<f64> = (0..2_000_000).map(|_| lcg.below(10) as f64).collect();
    let data = Data {
        pairs: Some(Table::f64(1_000_000, 2, pairs).unwrap()),
        ..crate::groups::alone(rows(&mut Lcg::new(1), 10, false))
    };
    let of = |budget: u64, more: &str| {
        let options = Options {
            threads: 1,
            budget: Budget::new(budget),
            ..Options::default()
        };
        let problem = problem(FOLDS[4], false, more);
        let answer = Query::new(&problem, &data, &options).run();
        answer.map(|_| options.budget.peak())
    };
    for (more, ways) in [("", 1), ("domain = 'diagonal'", 2)] {
        let e = of(ways * 50_000_000, more).unwrap_err().to_string();
        assert!(e.contains("list of pairs"), "{e}");
        let peak = of(ways * 80_000_000, more).unwrap();
        assert!(peak >= ways * 56_000_000, "{peak}");
    }
}

/// The time and the memory follow the list: a few pairs of many rows are few parts of few rows.
#[test]
fn the_cost_of_a_list_follows_its_pairs() {
    let n = 300_000;
    let items = (0..n).map(|i| (i % 97) as f64).collect();
    let data = Data {
        pairs: Some(table(&[[0, n - 1], [n - 1, 0], [5, 5]])),
        ..crate::groups::alone(Table::f64(n, 1, items).unwrap())
    };
    let problem = problem(FOLDS[4], false, "");
    let options = Options::default();
    let answer = Query::new(&problem, &data, &options).run().unwrap();
    assert_eq!(answer.outcome.pairs, 3);
    let parts = answer.job.parts.as_ref().unwrap();
    assert_eq!(parts.list.len(), 1);
    assert_eq!([parts.rows(0).len(), parts.cols(0).len()], [3, 3]);
    let Output::State(State::Grouped(state)) = &answer.outcome.outputs[0] else {
        panic!("expected a state by parts");
    };
    let rows: usize = state
        .states()
        .filter_map(ReduceState::within)
        .map(|state| state.counts().len())
        .sum();
    assert_eq!(rows, 3);
}

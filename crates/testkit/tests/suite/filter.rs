//! What single precision filters has the answer of the oracle, to the last bit: on random rows and
//! on those that are made to mislead single precision.

use zipfold::pairs;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{JoinKind, ReduceOp};
use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Table, describe, oracle};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{difference, same};
use zipfold_testkit::runner::{Variant, chosen, isas, numbers, on_engine, plain};

/// Rows of a kind: plain; far from 0; on a lattice, with ties; one row and its neighbours in the
/// last place; huge; tiny; too large to filter; rows of small integers.
fn rows(lcg: &mut Lcg, n: usize, d: usize, kind: usize) -> Table {
    let row: Vec<f32> = (0..d).map(|_| lcg.between(-1.0, 1.0) as f32).collect();
    let items = (0..n * d).map(|at| {
        let v = lcg.between(-1.0, 1.0) as f32;
        match kind {
            0 => v,
            1 => 1e6 + v,
            2 => (v * 3.0).round() * 0.1,
            3 => f32::from_bits(row[at % d].to_bits() + lcg.below(3) as u32),
            4 => v * 9e9,
            5 => v * 1e-38,
            6 => v * 1e13,
            _ => (v * 2.0).round(),
        }
    });
    Table::f32(n, d, items.collect()).unwrap()
}

fn join(predicate: &str, value: Option<&str>, kind: JoinKind) -> FoldSpec {
    FoldSpec::Join {
        predicate: predicate.into(),
        value: value.map(Into::into),
        kind,
    }
}

fn reduce(op: ReduceOp) -> FoldSpec {
    FoldSpec::Reduce {
        op,
        axis: ReduceAxis::Row,
        weights: None,
    }
}

/// Runs each fold alone, as the filter does, on every instruction set, and compares it with the
/// oracle, which answers all folds in one run: how many could be filtered.
fn check(all: &Problem, data: &Data, what: &str) -> usize {
    let mut reference = None;
    let mut filtered = 0;
    for (at, fold) in all.folds.iter().enumerate() {
        let problem = Problem {
            folds: vec![fold.clone()],
            ..all.clone()
        };
        let job: Job = describe(&problem, data.clone()).unwrap();
        if zipfold::internals::plan::filter::Form::for_job(&job).is_none() {
            continue;
        }
        filtered += 1;
        let reference = reference.get_or_insert_with(|| {
            let job = describe(all, data.clone()).unwrap();
            numbers(&job, &oracle::run(&job).unwrap())
        });
        for isa in isas() {
            let overrides = chosen([("family", "filter")]);
            let got = on_engine(
                &problem,
                &job,
                &Variant {
                    overrides,
                    ..plain(isa, 2, 0)
                },
            )
            .unwrap();
            let odd = difference(&got[0], &reference[at], same);
            assert!(
                odd.is_none(),
                "{what} {fold:?} {isa}: {}",
                odd.unwrap_or_default()
            );
        }
    }
    filtered
}

/// Checks `value` of all rows of `x` and of `y` in each of the folds: how many were filtered.
fn across(x: &Table, y: &Table, value: &str, folds: &[FoldSpec], what: &str) -> usize {
    let data = Data {
        pairs: None,
        x: x.clone(),
        y: Some(y.clone()),
        weights: vec![],
    };
    let question = pairs(x).with(y).formula(value);
    let question = folds.iter().cloned().fold(question, |q, fold| q.fold(fold));
    check(question.problem(), &data, &format!("{what} {value}"))
}

/// The same of all rows of `x` and themselves; joins take every pair once.
fn within(x: &Table, value: &str, folds: &[FoldSpec], what: &str) -> usize {
    let data = Data {
        pairs: None,
        x: x.clone(),
        y: None,
        weights: vec![],
    };
    let inner = |fold: &&FoldSpec| {
        matches!(
            fold,
            FoldSpec::Join {
                kind: JoinKind::Inner,
                ..
            }
        )
    };
    let (once, twice): (Vec<&FoldSpec>, Vec<&FoldSpec>) = folds.iter().partition(inner);
    [(Domain::Triangle, once), (Domain::Ordered, twice)]
        .into_iter()
        .map(|(domain, folds)| {
            let question = pairs(x).formula(value).domain(domain);
            let question = folds
                .into_iter()
                .cloned()
                .fold(question, |q, fold| q.fold(fold));
            check(question.problem(), &data, &format!("self {what} {value}"))
        })
        .sum()
}

#[test]
fn filtered_answers_are_those_of_the_oracle() {
    let mut lcg = Lcg::new(77);
    let mut filtered = 0;
    let values = [
        "sqrt(sum((x - y)^2))",
        "sum((x - y)^2)",
        "sum(abs(x - y))",
        "max(abs(x - y))",
        "sum(abs(x - y)^3)",
        "sum(x * y)",
        "1 - sum((x / sqrt(sum(x^2))) * (y / sqrt(sum(y^2))))",
        "3 - 2 * sqrt(sum((x - y)^2)) / 7",
    ];
    for round in 0..16 {
        let kind = round % 8;
        let (n, m, d) = (
            1 + lcg.below(150),
            300 + lcg.below(200),
            16 + lcg.below(300),
        );
        let (x, y) = (rows(&mut lcg, n, d, kind), rows(&mut lcg, m, d, kind));
        let value = values[(round * 5 + round / 8) % 8];
        // A limit that is the very value of a pair.
        let probe = pairs(&x).with(&y).formula(value).matrix().unwrap();
        let limit = probe[lcg.below(probe.len())];
        let folds = [
            FoldSpec::Nearest {
                k: 1 + lcg.below(2),
                largest: Some(round % 3 == 0),
            },
            reduce(
                [
                    ReduceOp::Min,
                    ReduceOp::Argmin,
                    ReduceOp::Max,
                    ReduceOp::Argmax,
                ][round % 4],
            ),
            join(&format!("{value} < {limit}"), None, JoinKind::Inner),
            join(&format!("{value} <= {limit}"), Some(value), JoinKind::Inner),
            join(&format!("{value} > {limit}"), None, JoinKind::Anti),
        ];
        let what = format!("round {round} {n}×{m} d={d}");
        filtered += across(&x, &y, value, &folds, &what) + within(&y, value, &folds, &what);
    }
    assert!(filtered >= 100, "{filtered} jobs were filtered");
}

#[test]
fn rows_with_nan_are_not_filtered_but_answered() {
    let mut lcg = Lcg::new(5);
    let clean = rows(&mut lcg, 400, 32, 0);
    let mut items: Vec<f32> = (0..400 * 32)
        .map(|at| clean.elements().get(at) as f32)
        .collect();
    items[77 * 32 + 3] = f32::NAN;
    let x = Table::f32(400, 32, items).unwrap();
    let question = pairs(&x)
        .metric("euclidean")
        .domain(Domain::Ordered)
        .fold(FoldSpec::Nearest {
            k: 1,
            largest: Some(false),
        });
    let problem = Problem {
        nan: NanPolicy::Skip,
        ..question.problem().clone()
    };
    let data = Data {
        pairs: None,
        x,
        y: None,
        weights: vec![],
    };
    assert_eq!(check(&problem, &data, "a row with NaN"), 1);
}

/// Rows of few directions: equal rows, multiples of each other of either sign from the smallest to
/// the largest numbers of single precision, neighbours in the last place, and zero rows where
/// `zeros`.
fn directions(lcg: &mut Lcg, n: usize, d: usize, zeros: bool) -> Table {
    let few: Vec<Vec<f32>> = (0..5)
        .map(|_| (0..d).map(|_| lcg.between(-1.0, 1.0) as f32).collect())
        .collect();
    let scales = [1.0, -1.0, 1.0, 3.0, -0.1, 1e-40, 1e-30, -1e30, 3e38];
    let mut items = vec![];
    for _ in 0..n {
        let row = &few[lcg.below(few.len())];
        let scale = scales[lcg.below(scales.len())];
        let zero = zeros && lcg.below(12) == 0;
        let near = lcg.below(4) == 0;
        items.extend(row.iter().enumerate().map(|(k, v)| {
            let v = if zero { 0.0 } else { v * scale };
            if near && k == d / 2 && !zero {
                f32::from_bits(v.to_bits() ^ 1)
            } else {
                v
            }
        }));
    }
    Table::f32(n, d, items).unwrap()
}

/// Asks the filter and the oracle for all folds of an angle.
fn check_angles(value: &str, zeros: bool) {
    let mut lcg = Lcg::new(78);
    let mut filtered = 0;
    for kind in 0..8 {
        let (n, m, d) = (
            1 + lcg.below(60),
            300 + lcg.below(100),
            16 + lcg.below(if kind == 1 { 300 } else { 40 }),
        );
        let mut made = |n| match kind {
            0..4 => directions(&mut lcg, n, d, zeros),
            // Not too large, since these rows are brought to length 1.
            4..8 => rows(&mut lcg, n, d, [1, 3, 6, 7][kind - 4]),
            _ => rows(&mut lcg, n, d, 0),
        };
        let (x, y) = (made(n), made(m));
        let probe = pairs(&x).with(&y).formula(value).matrix().unwrap();
        // The very value of a pair, the ends of the range, and beyond.
        let limits = [
            probe[lcg.below(probe.len())],
            0.0,
            1.0,
            -1.0,
            2.0,
            1.5,
            -1.5,
            1.0 - 1e-16,
            2e-16,
        ];
        let limit = limits[if kind == 0 {
            0
        } else {
            lcg.below(limits.len())
        }];
        let folds = [
            FoldSpec::Nearest {
                k: 1 + lcg.below(2),
                largest: Some(kind % 3 == 0),
            },
            FoldSpec::Nearest {
                k: 1,
                largest: Some(kind % 3 != 0),
            },
            reduce([ReduceOp::Min, ReduceOp::Max][kind % 2]),
            reduce([ReduceOp::Argmin, ReduceOp::Argmax][kind % 2]),
            join(&format!("{value} < {limit}"), None, JoinKind::Inner),
            join(&format!("{value} <= {limit}"), Some(value), JoinKind::Inner),
            join(&format!("{value} > {limit}"), Some(value), JoinKind::Inner),
            join(&format!("{value} >= {limit}"), None, JoinKind::Anti),
        ];
        let what = format!("{value}, kind {kind}, {n}×{m} d={d}");
        filtered += across(&x, &y, value, &folds, &what) + within(&y, value, &folds, &what);
    }
    assert!(filtered >= 100, "{filtered} jobs were filtered");
}

#[test]
fn filtered_cosines_are_those_of_the_oracle() {
    check_angles("cosine(x, y)", false);
}

#[test]
fn filtered_cosine_similarities_are_those_of_the_oracle() {
    check_angles("cosine_similarity(x, y)", true);
}

#[test]
fn filtered_correlations_are_those_of_the_oracle() {
    check_angles("correlation(x, y)", false);
}

#[test]
fn filtered_coefficients_of_pearson_are_those_of_the_oracle() {
    check_angles("pearson(x, y)", false);
}

#[test]
fn branches_that_are_apart_are_answered() {
    let mut lcg = Lcg::new(79);
    // Equal rows have inner products from 4e-7 on, whose error is far below the gap to some of the
    // values that they get.
    let few = rows(&mut lcg, 40, 20, 0);
    let items = (0..300 * 20).map(|at| few.elements().get(at % (40 * 20)) as f32 * 3e-4);
    let x = Table::f32(300, 20, items.collect()).unwrap();
    let dot = "sum(x * y)";
    for same in ["1e-7", "-2e-7", "if(sum(x * y) == 0, 7, 9e-7)", "3"] {
        let value = format!("if({dot} == sum(x * x) and sum(y * y) == {dot}, {same}, {dot})");
        let limits = ["1.5e-7", "1e-7", "8e-7", "9e-7", "-1e-7", "2"];
        let mut folds: Vec<FoldSpec> = limits
            .iter()
            .flat_map(|limit| ["<", ">="].map(|op| format!("{value} {op} {limit}")))
            .map(|predicate| join(&predicate, Some(&value), JoinKind::Inner))
            .collect();
        folds.extend([ReduceOp::Argmin, ReduceOp::Argmax].map(reduce));
        folds.push(FoldSpec::Nearest {
            k: 1,
            largest: Some(false),
        });
        assert_eq!(
            within(&x, &value, &folds, same),
            folds.len(),
            "filtered with {same}"
        );
    }
}

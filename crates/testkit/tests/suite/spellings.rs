//! A formula may be written in many ways: those that mean the same have the same answer, whatever
//! is kept of the values, in a box or not, within a cut-off, with nulls.

use zipfold::pairs;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Closed, JoinKind, ReduceOp};
use zipfold_core::problem::{AxisSpec, FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Precision, Table, describe, oracle};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{Numbers, difference};
use zipfold_testkit::everywhere::everywhere;
use zipfold_testkit::runner::numbers;

const DIM: usize = 3;

/// Two spellings of one formula.
type Two = [String; 2];

fn two(lcg: &mut Lcg, a: String, ways: &[String]) -> Two {
    let at = lcg.below(ways.len() + 1);
    [a.clone(), if at == 0 { a } else { ways[at - 1].clone() }]
}

/// Spellings of a vector of differences.
fn gap(lcg: &mut Lcg) -> Two {
    // Of differences that are not 0 all these are exact.
    let ways = [
        "(-(y - x))",
        "(-y + x)",
        "((0.5*x - 0.5*y) * 2)",
        "((x/4 - y/4) * 4)",
    ]
    .map(str::to_string);
    two(lcg, "(x - y)".into(), &ways)
}

fn component(lcg: &mut Lcg) -> Two {
    let k = lcg.below(DIM);
    let ways = [
        format!("(-(y[{k}] - x[{k}]))"),
        format!("(2*x[{k}] - 2*y[{k}]) / 2"),
    ];
    two(lcg, format!("(x[{k}] - y[{k}])"), &ways)
}

fn scalar(lcg: &mut Lcg, depth: usize) -> Two {
    if depth == 0 {
        return match lcg.below(5) {
            0 => component(lcg),
            1 => two(lcg, "x.w".into(), &["(x.w + 0)".into()]),
            2 => {
                let c = format!("{}", lcg.below(9) as f64 * 0.25);
                [c.clone(), c]
            }
            _ => {
                let [a, b] = gap(lcg);
                let ways = [
                    format!("sum({b} * {b})"),
                    "sum((y - x)^2)".into(),
                    format!("dot({b}, {b})"),
                ];
                two(lcg, format!("sum({a}^2)"), &ways)
            }
        };
    }
    let [a, a2] = scalar(lcg, depth - 1);
    let [b, b2] = scalar(lcg, depth - 1);
    match lcg.below(8) {
        0 => [format!("({a} + {b})"), format!("({b2} + {a2})")],
        1 => [format!("({a} * {b})"), format!("({b2} * {a2})")],
        2 => [format!("abs({a} - {b})"), format!("abs({b2} - {a2})")],
        3 => [format!("({a} / 8)"), format!("({a2} * (1 / 8))")],
        4 => [format!("max({a}, {b})"), format!("max({b2}, {a2})")],
        5 => [format!("({a} - {b})^2"), format!("({b2} - {a2})^2")],
        6 => [
            format!("(norm(x - y) + {a})"),
            format!("({a2} + sqrt(sum((y - x)^2)))"),
        ],
        _ => {
            let [p, p2] = truth(lcg, depth - 1);
            [
                format!("if({p}, {a}, {b})"),
                format!("if(not ({p2}), {b2}, {a2})"),
            ]
        }
    }
}

fn truth(lcg: &mut Lcg, depth: usize) -> Two {
    let [a, a2] = scalar(lcg, depth);
    let [b, b2] = scalar(lcg, depth);
    let plain = match lcg.below(6) {
        0 => [format!("({a} < {b})"), format!("({b2} > {a2})")],
        1 => [format!("({a} <= {b})"), format!("({b2} >= {a2})")],
        2 => [format!("({a} != {b})"), format!("(not ({a2} == {b2}))")],
        3 => [format!("({a} == {b})"), format!("(not ({b2} != {a2}))")],
        4 => [
            "(norm(x - y) < 1.5)".into(),
            "(1.5 > sqrt(sum((y - x)^2)))".into(),
        ],
        _ => [format!("({a} > {b})"), format!("({b2} < {a2})")],
    };
    if depth == 0 || lcg.below(2) == 0 {
        return plain;
    }
    let ([p, p2], [q, q2]) = (plain, truth(lcg, depth - 1));
    match lcg.below(4) {
        0 => [format!("({p} and {q})"), format!("({q2} and {p2})")],
        1 => [
            format!("({p} or {q})"),
            format!("(not (not {p2} and not {q2}))"),
        ],
        2 => [format!("({p} xor {q})"), format!("({q2} xor {p2})")],
        _ => [format!("(not {p})"), format!("(not (not (not {p2})))")],
    }
}

fn rows(lcg: &mut Lcg, n: usize, nulls: bool) -> Table {
    // No two components are equal: the sign of a zero is no part of the law.
    let items = (0..n * DIM).map(|_| lcg.between(-3.0, 3.0)).collect();
    let of_w = |lcg: &mut Lcg| {
        if nulls && lcg.below(4) == 0 {
            f64::NAN
        } else {
            lcg.below(9) as f64 * 0.25
        }
    };
    let beside = Table::f64(n, 1, (0..n).map(|_| of_w(lcg)).collect())
        .unwrap()
        .with_names(vec!["w".into()])
        .unwrap();
    Table::f64(n, DIM, items)
        .unwrap()
        .with_attributes(beside)
        .unwrap()
}

fn folds(predicate: &str) -> Vec<FoldSpec> {
    let axis = AxisSpec {
        bins: Some(7),
        range: Some([-3.0, 9.0]),
        ..Default::default()
    };
    let reduce = |op, axis| FoldSpec::Reduce {
        op,
        axis,
        weights: None,
    };
    vec![
        FoldSpec::Matrix {},
        reduce(ReduceOp::Sum, ReduceAxis::Row),
        reduce(ReduceOp::Min, ReduceAxis::Column),
        reduce(ReduceOp::Count, ReduceAxis::All),
        FoldSpec::Nearest {
            k: 3,
            largest: Some(false),
        },
        FoldSpec::Histogram {
            axes: vec![axis],
            closed: Closed::Last,
            weights: None,
            mean: true,
            weight: None,
            values: Default::default(),
        },
        FoldSpec::Join {
            predicate: predicate.into(),
            value: None,
            kind: JoinKind::Inner,
        },
        FoldSpec::Join {
            predicate: predicate.into(),
            value: None,
            kind: JoinKind::Anti,
        },
    ]
}

/// Equal numbers, or both none.
fn alike(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

#[test]
fn spellings_have_one_answer() {
    let mut lcg = Lcg::new(2_026);
    for round in 0..400 {
        let (nulls, boxed, cutoff) = (round % 3 == 0, round % 2 == 0, round % 5 == 0);
        let (x, y) = (rows(&mut lcg, 9, nulls), rows(&mut lcg, 14, nulls));
        let (value, condition) = (
            scalar(&mut lcg, 1 + round % 3),
            truth(&mut lcg, 1 + round % 2),
        );
        let answers: Vec<Vec<Numbers>> = (0..2)
            .map(|which| {
                let mut asked = pairs(&x).with(&y).formula(&value[which]);
                for fold in folds(&condition[which]) {
                    asked = asked.fold(fold);
                }
                // Every question has a difference for the box to be about.
                let mut problem = asked.problem().clone();
                problem.nan = if nulls {
                    NanPolicy::Propagate
                } else {
                    NanPolicy::Error
                };
                problem.cutoff = (cutoff || boxed).then_some(2.5);
                problem.periodic_box = boxed.then(|| vec![4.0, 5.0, 6.0]);
                problem.precision = Some(Precision::F64);
                let data = Data {
                    pairs: None,
                    x: x.clone(),
                    y: Some(y.clone()),
                    weights: vec![None; problem.folds.len()],
                };
                match round % 10 {
                    0 => everywhere(&problem, &data).unwrap(),
                    _ => {
                        let job = describe(&problem, data)
                            .unwrap_or_else(|e| panic!("{}: {e}", value[which]));
                        numbers(&job, &oracle::run(&job).unwrap())
                    }
                }
            })
            .collect();
        for (fold, (a, b)) in answers[0].iter().zip(&answers[1]).enumerate() {
            let odd = difference(a, b, alike);
            assert!(
                odd.is_none(),
                "round {round} fold {fold}: {value:?} {condition:?}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

fn matrix(problem: &Problem, x: &Table) -> Result<Vec<f64>, String> {
    let data = Data {
        pairs: None,
        x: x.clone(),
        y: None,
        weights: vec![None],
    };
    everywhere(problem, &data)
        .map(|n| n[0][0].1.clone())
        .map_err(|e| e.to_string())
}

#[test]
fn in_a_box_every_difference_crosses_the_walls() {
    let x = Table::f64(2, 2, vec![1.0, 1.0, 9.0, 9.5]).unwrap();
    let of = |text: &str| {
        let asked = pairs(&x)
            .formula(text)
            .domain(Domain::Square)
            .periodic(&[10.0, 10.0])
            .fold(FoldSpec::Matrix {});
        matrix(asked.problem(), &x)
    };
    for (text, wanted) in [
        ("x[0] - y[0]", 2.0),
        ("y[0] - x[0]", -2.0),
        ("sum(x - y)", 3.5),
        ("sum(y - x)", -3.5),
        ("sum(0.5*x - 0.5*y)", 1.75),
        ("sum(-0.5*y + x/2)", 1.75),
        ("sum((x - 3) - (y - 4))", 5.5),
        ("sum(2*(x - y) + y - x)", 3.5),
        ("sum(abs(y - x))", 3.5),
        ("(y[0] - x[0]) / sum((x - y)^2)", -2.0 / 6.25),
        ("(x[0] - x[1]) - (y[0] - y[1])", 0.5),
        ("sum((y - x) * (x[0] - y[0]))", -7.0),
    ] {
        assert_eq!(of(text).unwrap()[1], wanted, "{text}");
    }
    for text in [
        "x[0] * y[0]",
        "sum(x * y) + sum(x - y)",
        "x[0] + y[0]",
        "sum(x - 2*y)",
        "if(x[0] < y[0], 1, sum(x - y))",
        "sum((x - y)^2) + x[0]",
        "max(x[0], y[0]) - min(x[0], y[0])",
        "sum(x - y) + norm(x)",
    ] {
        let e = of(text).unwrap_err();
        assert!(
            e.contains("expected coordinates in a box only inside differences"),
            "{text}: {e}"
        );
    }
    // Beside coordinates there may be anything.
    let beside = Table::f64(2, 1, vec![3.0, 5.0])
        .unwrap()
        .with_names(vec!["m".into()])
        .unwrap();
    let massive = x.clone().with_attributes(beside).unwrap();
    let asked = pairs(&massive)
        .formula("y.m * (y[0] - x[0])")
        .periodic(&[10.0, 10.0])
        .fold(FoldSpec::Matrix {});
    assert_eq!(matrix(asked.problem(), &massive).unwrap()[1], -10.0);
    let asked = pairs(&x)
        .metric("spearman")
        .periodic(&[10.0, 10.0])
        .fold(FoldSpec::Matrix {});
    assert!(matrix(asked.problem(), &x).unwrap_err().contains("box"));
}

#[test]
fn nulls_match_nothing() {
    let values = [f64::NAN, 1.0, 2.0];
    let column = |name: &str| {
        Table::f64(3, 1, values.to_vec())
            .unwrap()
            .with_names(vec![name.into()])
            .unwrap()
    };
    let (x, y) = (column("v"), column("v"));
    // True, false, or neither, as SQL has it.
    type Logic = fn(f64, f64) -> Option<bool>;
    let cases: [(&str, Logic); 9] = [
        ("x.v != y.v", |a, b| {
            (!a.is_nan() && !b.is_nan()).then_some(a != b)
        }),
        ("not (x.v == y.v)", |a, b| {
            (!a.is_nan() && !b.is_nan()).then_some(a != b)
        }),
        ("not (x.v > y.v)", |a, b| {
            (!a.is_nan() && !b.is_nan()).then_some(a <= b)
        }),
        ("x.v == y.v or x.v != y.v", |a, b| {
            (!a.is_nan() && !b.is_nan()).then_some(true)
        }),
        ("x.v < y.v or y.v == 1", |a, b| {
            let p = (!a.is_nan() && !b.is_nan()).then_some(a < b);
            let q = (!b.is_nan()).then_some(b == 1.0);
            if p == Some(true) || q == Some(true) {
                Some(true)
            } else {
                p.and(q)
            }
        }),
        ("not (x.v < y.v and y.v == 1)", |a, b| {
            let p = (!a.is_nan() && !b.is_nan()).then_some(a < b);
            let q = (!b.is_nan()).then_some(b == 1.0);
            if p == Some(false) || q == Some(false) {
                Some(true)
            } else {
                p.and(q).map(|_| false)
            }
        }),
        ("x.v == 1 xor y.v == 1", |a, b| {
            (!a.is_nan() && !b.is_nan()).then_some((a == 1.0) != (b == 1.0))
        }),
        ("isnan(x.v) and not isnan(y.v)", |a, b| {
            Some(a.is_nan() && !b.is_nan())
        }),
        ("any(x != y)", |a, b| {
            (!a.is_nan() && !b.is_nan()).then_some(a != b)
        }),
    ];
    for (text, logic) in cases {
        for policy in [NanPolicy::Propagate, NanPolicy::Skip] {
            let spec = FoldSpec::Join {
                predicate: text.into(),
                value: None,
                kind: JoinKind::Inner,
            };
            let asked = pairs(&x).with(&y).fold(spec);
            let problem = Problem {
                nan: policy,
                ..asked.problem().clone()
            };
            let data = Data {
                pairs: None,
                x: x.clone(),
                y: Some(y.clone()),
                weights: vec![None],
            };
            let got = everywhere(&problem, &data).unwrap()[0][0].1.clone();
            let all = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
            let wanted: Vec<f64> = all
                .filter(|(i, j)| logic(values[*i], values[*j]) == Some(true))
                .flat_map(|(i, j)| [i as f64, j as f64])
                .collect();
            assert_eq!(got, wanted, "{text}");
        }
    }
}

#[test]
fn text_is_compared_and_nothing_else() {
    let table = |items: Vec<f64>| {
        let names = vec!["n".into(), "v".into()];
        Table::f64(2, 2, items)
            .unwrap()
            .with_names(names)
            .unwrap()
            .with_texts(vec![0])
    };
    let (x, y) = (
        table(vec![0.0, 5.0, 2.0, 6.0]),
        table(vec![1.0, 5.0, 2.0, 7.0]),
    );
    let ask = |text: &str| {
        let spec = FoldSpec::Join {
            predicate: text.into(),
            value: None,
            kind: JoinKind::Inner,
        };
        let asked = pairs(&x).with(&y).fold(spec);
        let data = Data {
            pairs: None,
            x: x.clone(),
            y: Some(y.clone()),
            weights: vec![None],
        };
        everywhere(asked.problem(), &data)
            .map(|n| n[0][0].1.clone())
            .map_err(|e| e.to_string())
    };
    assert_eq!(ask("x.n == y.n").unwrap(), [1.0, 1.0]);
    assert_eq!(ask("x.n < y.n and x.v < 9").unwrap(), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(ask("not (x.n != y.n)").unwrap(), [1.0, 1.0]);
    for text in [
        "x.n - y.n < 1",
        "x.n < 1",
        "x.n == y.v",
        "x.n + 0 == y.n",
        "abs(x.n) == 1",
        "euclidean(x, y) < 1",
        "sum(x) < 1",
        "max(x.n, y.n) == y.n",
        "if(x.v < 1, x.n, y.n) == y.n",
    ] {
        let e = ask(text).unwrap_err();
        assert!(
            e.contains("text column 'x.n'") || e.contains("text column 'y.n'"),
            "{text}: {e}"
        );
    }
}

#[test]
fn metrics_that_prepare_tables_are_the_same_in_formulas() {
    let mut lcg = Lcg::new(77);
    let mut table = |rows: usize| {
        Table::f64(
            rows,
            4,
            (0..rows * 4)
                .map(|_| lcg.between(-3.0, 3.0).round())
                .collect(),
        )
        .unwrap()
    };
    let (x, y) = (table(60), table(41));
    let mass = |rows: usize| Table::f64(rows, 1, (0..rows).map(|k| k as f64).collect()).unwrap();
    let beside = |t: &Table| {
        let names = vec!["mass".to_string()];
        t.clone()
            .with_attributes(mass(t.rows()).with_names(names).unwrap())
            .unwrap()
    };
    let (x, y) = (beside(&x), beside(&y));
    let propagate = |problem: &Problem| Problem {
        nan: NanPolicy::Propagate,
        ..problem.clone()
    };
    let join = |text: String| FoldSpec::Join {
        predicate: text,
        value: None,
        kind: JoinKind::Inner,
    };
    for (metric, limit) in [
        ("spearman", 0.5),
        ("mahalanobis", 1.5),
        ("seuclidean", 1.5),
        ("mahal", 1.5),
    ] {
        for other in [Some(&y), None] {
            let data = |folds| Data {
                pairs: None,
                x: x.clone(),
                y: other.cloned(),
                weights: vec![None; folds],
            };
            let one = || other.map_or_else(|| pairs(&x), |y| pairs(&x).with(y));
            let named = one().metric(metric).fold(FoldSpec::Matrix {});
            let wanted = everywhere(&propagate(named.problem()), &data(1)).unwrap()[0][0]
                .1
                .clone();
            let call = format!("{metric}(x, y)");
            let condition = format!("x.mass < 40 and {call} < {limit}");
            let asked = one()
                .formula(&format!("{call} * 2"))
                .fold(FoldSpec::Matrix {})
                .fold(join(condition));
            let mut problem = propagate(asked.problem());
            problem.domain = other.is_none().then_some(zipfold_core::Domain::Square);
            let got = everywhere(&problem, &data(2)).unwrap();
            let doubled: Vec<u64> = wanted.iter().map(|v| (v * 2.0).to_bits()).collect();
            assert_eq!(
                got[0][0].1.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
                doubled,
                "{call}"
            );
            let cols = other.unwrap_or(&x).rows();
            let found = wanted
                .iter()
                .enumerate()
                .filter(|(at, v)| at / cols < 40 && **v < limit);
            let matches: Vec<f64> = found
                .flat_map(|(at, _)| [(at / cols) as f64, (at % cols) as f64])
                .collect();
            assert_eq!(got[1][0].1, matches, "{call}");
        }
    }
}

#[test]
fn rows_that_a_metric_changed_are_not_read_beside_it() {
    let x = Table::f64(5, 2, vec![0.0, 1.0, 3.0, 2.0, 5.0, 5.0, 1.0, 0.0, 2.0, 7.0]).unwrap();
    let x = x.with_names(vec!["a".into(), "b".into()]).unwrap();
    let refused = |text: &str| {
        let asked = pairs(&x).formula(text).fold(FoldSpec::Matrix {});
        zipfold_core::describe(
            asked.problem(),
            Data {
                pairs: None,
                x: x.clone(),
                y: None,
                weights: vec![None],
            },
        )
        .unwrap_err()
        .to_string()
    };
    for (text, got) in [
        ("spearman(x, y) + sum(x * y)", "got 'x'"),
        ("x[0] * spearman(x, y)", "got 'x'"),
        ("if(x.a < y.a, spearman(x, y), 0)", "got 'a'"),
        ("mahalanobis(x, y) + euclidean(x, y)", "got 'x'"),
        (
            "spearman(x, y) + mahalanobis(x, y)",
            "'spearman' and 'mahalanobis'",
        ),
        ("spearman(y, x)", "'spearman(x, y)'"),
        ("spearman(x[0:1], y)", "'spearman(x, y)'"),
    ] {
        let e = refused(text);
        assert!(e.contains(got), "{text}: {e}");
    }
    // Variances of columns leave rows as they are.
    let asked = pairs(&x)
        .formula("seuclidean(x, y) + x[0]")
        .fold(FoldSpec::Matrix {});
    zipfold_core::describe(
        asked.problem(),
        Data {
            pairs: None,
            x: x.clone(),
            y: None,
            weights: vec![None],
        },
    )
    .unwrap();
}

#[test]
fn ones_are_counted_in_whole_numbers_alone() {
    let top = 2f64.powi(53);
    let mut values = vec![
        0.0,
        -0.0,
        1.0,
        3.0,
        255.0,
        256.0,
        0.5,
        -1.0,
        top - 1.0,
        top,
        top + 2.0,
        1e300,
        1e-300,
    ];
    values.extend([
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        4_294_967_295.0,
        4_294_967_296.0,
        top - 2.0,
        6.000_000_1,
    ]);
    values.extend((0..300).map(|k| f64::from(k * k * 7919)));
    let ones = |v: &f64| {
        let whole = (0.0..top).contains(v) && v.fract() == 0.0;
        if whole {
            format!("{:b}", *v as u64).matches('1').count() as f64
        } else {
            f64::NAN
        }
    };
    let rows = values.len();
    let (x, y) = (
        Table::f64(rows, 1, values.clone()).unwrap(),
        Table::f64(2, 1, vec![0.0, 1.0]).unwrap(),
    );
    let join = FoldSpec::Join {
        predicate: "popcount(x[0] * y[0]) > 3".into(),
        value: None,
        kind: JoinKind::Inner,
    };
    let asked = pairs(&x)
        .with(&y)
        .formula("popcount(x[0] * y[0])")
        .fold(FoldSpec::Matrix {})
        .fold(join);
    let problem = Problem {
        nan: NanPolicy::Propagate,
        ..asked.problem().clone()
    };
    let data = Data {
        pairs: None,
        x,
        y: Some(y),
        weights: vec![None, None],
    };
    let got = everywhere(&problem, &data).unwrap();
    let wanted: Vec<f64> = values.iter().map(ones).collect();
    for (at, (value, wanted)) in values.iter().zip(&wanted).enumerate() {
        let got = got[0][0].1[at * 2 + 1];
        assert!(
            got == *wanted || got.is_nan() && wanted.is_nan(),
            "{value}: {got}, wanted {wanted}"
        );
    }
    let many = wanted
        .iter()
        .enumerate()
        .filter(|(_, w)| **w > 3.0)
        .flat_map(|(i, _)| [i as f64, 1.0]);
    assert_eq!(got[1][0].1, many.collect::<Vec<_>>());
}

#[test]
fn error_and_gamma_functions_are_those_of_the_reference() {
    let values: Vec<f64> = (0..300).map(|k| f64::from(k) * 0.037 - 5.0).collect();
    let (x, y) = (
        Table::f64(300, 1, values.clone()).unwrap(),
        Table::f64(2, 1, vec![0.0, 1.5]).unwrap(),
    );
    let join = |text: &str| FoldSpec::Join {
        predicate: text.into(),
        value: None,
        kind: JoinKind::Inner,
    };
    type One = (&'static str, fn(f64) -> f64);
    let of: [One; 4] = [
        ("erf(x[0] - y[0])", libm::erf),
        ("erfc(x[0] - y[0])", libm::erfc),
        ("lgamma(x[0] - y[0])", libm::lgamma),
        ("ln(e^(x[0] - y[0]))", |v| v),
    ];
    for (text, f) in of {
        let asked = pairs(&x)
            .with(&y)
            .formula(text)
            .fold(FoldSpec::Matrix {})
            .fold(join(&format!("{text} > 0.25")));
        let data = Data {
            pairs: None,
            x: x.clone(),
            y: Some(y.clone()),
            weights: vec![None, None],
        };
        let got = everywhere(asked.problem(), &data).unwrap();
        for (at, v) in values.iter().enumerate() {
            let (got, wanted) = (got[0][0].1[at * 2 + 1], f(v - 1.5));
            assert!(
                got == wanted || (got - wanted).abs() < 1e-12,
                "{text} of {v}: {got}, wanted {wanted}"
            );
        }
    }
}

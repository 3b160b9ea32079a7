//! Folds by rows, along columns and of everything, of one table with itself and of two, with
//! weights of one column and of several: the bits of the oracle, whatever the instruction set, the
//! threads, the tiles and the family.

use zipfold::pairs;
use zipfold_core::fold::ReduceOp;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::problem::{FoldSpec, Input, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Precision, Table, describe, oracle};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{close, difference, same};
use zipfold_testkit::runner::{Variant, chosen, isas, numbers, on_engine, plain};

const OPS: [ReduceOp; 9] = [
    ReduceOp::Sum,
    ReduceOp::Mean,
    ReduceOp::Logsumexp,
    ReduceOp::Softmax,
    ReduceOp::Min,
    ReduceOp::Max,
    ReduceOp::Argmin,
    ReduceOp::Argmax,
    ReduceOp::Count,
];

/// A cheap value, one that is dear, one that decides, one of several numbers, one that is not
/// symmetric.
const VALUES: [&str; 6] = [
    "sum((x - y)^2)",
    "sin(exp(-sum(abs(x - y)))) * cos(sum((x - y)^2))",
    "sum((x - y)^2) < 0.7",
    "abs(x - y)",
    "(x - y) / (sum((x - y)^2) + 0.1)",
    "sum(x * y) - x[0]",
];

fn table(lcg: &mut Lcg, n: usize, d: usize, odd: bool) -> Table {
    let mut items: Vec<f64> = (0..n * d).map(|_| lcg.between(-1.0, 1.0)).collect();
    if odd && n > 2 {
        (items[d], items[(n / 2) * d]) = (f64::NAN, f64::INFINITY);
    }
    Table::f64(n, d, items).unwrap()
}

/// Columns of weights that a fold may take: none, one, or several.
fn wide(lcg: &mut Lcg, op: ReduceOp, vector: bool) -> usize {
    match op {
        ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Softmax if !vector => {
            [0, 1, 3, 20][lcg.below(4)]
        }
        ReduceOp::Sum | ReduceOp::Mean => lcg.below(2),
        ReduceOp::Logsumexp => lcg.below(2),
        _ => 0,
    }
}

fn asked(lcg: &mut Lcg, op: ReduceOp, value: &str, precision: Precision) -> Option<(Problem, Job)> {
    let (d, n, odd) = (
        1 + lcg.below(3),
        [1, 7, 130, 300][lcg.below(4)],
        lcg.below(4) == 0,
    );
    let d = if lcg.below(3) == 0 {
        16 + lcg.below(5)
    } else {
        d
    };
    let x = table(lcg, n, d, odd);
    let domain = [
        None,
        Some(Domain::Triangle),
        Some(Domain::Diagonal),
        Some(Domain::Ordered),
        Some(Domain::Square),
    ];
    let (y, domain) = match lcg.below(3) {
        0 => {
            let m = [5, 128, 270][lcg.below(3)];
            (Some(table(lcg, m, d, odd)), None)
        }
        _ => (None, domain[lcg.below(5)]),
    };
    let axis = [
        ReduceAxis::Row,
        ReduceAxis::Row,
        ReduceAxis::Column,
        ReduceAxis::All,
    ][lcg.below(4)];
    let vector = matches!(value, "abs(x - y)" | "(x - y) / (sum((x - y)^2) + 0.1)");
    let columns = wide(lcg, op, vector && d > 1);
    let rows = if axis == ReduceAxis::Column {
        n
    } else {
        y.as_ref().map_or(n, Table::rows)
    };
    let weights = (columns > 0).then(|| {
        let w = Table::f64(
            rows,
            columns,
            (0..rows * columns)
                .map(|_| lcg.between(-1.0, 2.0))
                .collect(),
        )
        .unwrap();
        [w.clone(), w]
    });
    let input = weights.as_ref().map(|_| Input::named("w"));
    let mut question = pairs(&x).formula(value).fold(FoldSpec::Reduce {
        op,
        axis,
        weights: input,
    });
    if let Some(y) = &y {
        question = question.with(y);
    }
    let nan = if odd {
        [NanPolicy::Propagate, NanPolicy::Skip][lcg.below(2)]
    } else {
        NanPolicy::Error
    };
    let problem = Problem {
        nan,
        domain,
        precision: Some(precision),
        ..question.problem().clone()
    };
    let job = describe(
        &problem,
        Data {
            pairs: None,
            x,
            y,
            weights: vec![weights],
        },
    )
    .ok()?;
    Some((problem, job))
}

#[test]
fn folds_by_rows_have_the_bits_of_the_oracle() {
    let mut lcg = Lcg::new(71);
    let mut compared = 0;
    for (op, value) in (0..8)
        .flat_map(|_| OPS)
        .flat_map(|op| VALUES.map(|value| (op, value)))
    {
        let Some((problem, job)) = asked(&mut lcg, op, value, Precision::F64) else {
            continue;
        };
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        for (isa, (tile, family)) in isas()
            .into_iter()
            .flat_map(|isa| [(0, ""), (128, ""), (0, "vm")].map(|v| (isa, v)))
        {
            let mut overrides = chosen([("prune", "off")]);
            if !family.is_empty() {
                overrides.set("family", family).unwrap();
            }
            let got = on_engine(
                &problem,
                &job,
                &Variant {
                    overrides,
                    ..plain(isa, 2, tile)
                },
            )
            .unwrap();
            let odd = difference(&got[0], &wanted[0], same);
            let (space, fold) = (&job.space, &problem.folds[0]);
            assert!(
                odd.is_none(),
                "{value} {fold:?} {space:?} {isa} {tile} '{family}': {}",
                odd.unwrap_or_default()
            );
        }
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

/// In single precision, a table with itself against itself beside a copy, which no half of a space
/// is for.
#[test]
fn a_table_with_itself_has_the_answer_of_a_table_and_its_copy() {
    let mut lcg = Lcg::new(72);
    for (value, op) in VALUES[..4]
        .iter()
        .flat_map(|v| [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Logsumexp].map(|op| (*v, op)))
    {
        for (n, d) in [(300, 1), (1100, 3), (200, 17)] {
            if op == ReduceOp::Logsumexp && (value == VALUES[2] || value == VALUES[3]) {
                continue;
            }
            let items = (0..n * d).map(|_| lcg.between(-1.0, 1.0) as f32).collect();
            let x = Table::f32(n, d, items).unwrap();
            let fold = FoldSpec::Reduce {
                op,
                axis: ReduceAxis::Row,
                weights: None,
            };
            let of_itself = pairs(&x).formula(value).fold(fold.clone());
            let of_copies = pairs(&x).with(&x.clone()).formula(value).fold(fold);
            let run = |question: &zipfold::Pairs, y: Option<Table>| {
                let job = describe(
                    question.problem(),
                    Data {
                        pairs: None,
                        x: x.clone(),
                        y,
                        weights: vec![None],
                    },
                )
                .unwrap();
                on_engine(
                    question.problem(),
                    &job,
                    &plain(isas()[isas().len() - 1], 2, 0),
                )
                .unwrap()
            };
            let (a, b) = (run(&of_itself, None), run(&of_copies, Some(x.clone())));
            let odd = difference(&a[0], &b[0], |a, b| close(a, b, 1e-5));
            assert!(
                odd.is_none(),
                "{value} {op:?} {n} × {d}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

/// Both halves are visited where a value costs less than what crediting both rows does.
#[test]
fn halves_are_for_values_that_cost_more() {
    let mut lcg = Lcg::new(73);
    let x = table(&mut lcg, 40, 3, false);
    let fold = |op, axis| FoldSpec::Reduce {
        op,
        axis,
        weights: None,
    };
    let domain = |value: &str, spec: FoldSpec, domain: Option<Domain>| {
        let question = pairs(&x).formula(value).fold(spec);
        let problem = Problem {
            domain,
            ..question.problem().clone()
        };
        describe(
            &problem,
            Data {
                pairs: None,
                x: x.clone(),
                y: None,
                weights: vec![None],
            },
        )
        .unwrap()
        .space
        .domain
    };
    let by_row = || fold(ReduceOp::Sum, ReduceAxis::Row);
    assert_eq!(domain(VALUES[0], by_row(), None), Domain::Square);
    assert_eq!(
        domain(VALUES[0], by_row(), Some(Domain::Triangle)),
        Domain::Ordered
    );
    assert_eq!(domain(VALUES[1], by_row(), None), Domain::Diagonal);
    assert_eq!(
        domain(VALUES[1], by_row(), Some(Domain::Triangle)),
        Domain::Triangle
    );
    assert_eq!(
        domain(VALUES[0], fold(ReduceOp::Min, ReduceAxis::Row), None),
        Domain::Diagonal
    );
    // Whoever asks for half of the pairs of one number gets that half.
    assert_eq!(
        domain(
            VALUES[0],
            fold(ReduceOp::Sum, ReduceAxis::All),
            Some(Domain::Triangle)
        ),
        Domain::Triangle
    );
    assert_eq!(
        domain(VALUES[0], FoldSpec::Matrix {}, None),
        Domain::Diagonal
    );
}

/// Sums taken the plain way, one value after another: what the oracle and the engines share is held
/// to it.
#[test]
fn sums_are_those_of_one_value_after_another() {
    let mut lcg = Lcg::new(74);
    for (n, domain) in [0usize, 1, 2, 9, 131, 260]
        .into_iter()
        .flat_map(|n| [Domain::Triangle, Domain::Square].map(|c| (n, c)))
    {
        for columns in [0usize, 1, 3, 4, 7, 9] {
            let x = table(&mut lcg, n, 2, false);
            let items: Vec<f64> = (0..n * columns).map(|_| lcg.between(-1.0, 2.0)).collect();
            let weights = (columns > 0).then(|| Table::f64(n, columns, items.clone()).unwrap());
            for op in [
                ReduceOp::Sum,
                ReduceOp::Mean,
                ReduceOp::Softmax,
                ReduceOp::Logsumexp,
            ] {
                if op == ReduceOp::Logsumexp && columns > 1 {
                    continue;
                }
                let input = weights.as_ref().map(|_| Input::named("w"));
                let question = pairs(&x).formula(VALUES[0]).fold(FoldSpec::Reduce {
                    op,
                    axis: ReduceAxis::Row,
                    weights: input,
                });
                let problem = Problem {
                    domain: Some(domain),
                    ..question.problem().clone()
                };
                let both = weights.clone().map(|w| [w.clone(), w]);
                let Ok(job) = describe(
                    &problem,
                    Data {
                        pairs: None,
                        x: x.clone(),
                        y: None,
                        weights: vec![both],
                    },
                ) else {
                    continue;
                };
                let got = numbers(&job, &oracle::run(&job).unwrap());
                let mut wanted = vec![];
                for i in 0..n {
                    let others = || (0..n).filter(|j| domain == Domain::Square || *j != i);
                    let value = |j: usize| {
                        (0..2)
                            .map(|k| (x.get(i, k) - x.get(j, k)).powi(2))
                            .sum::<f64>()
                    };
                    let weight = |j: usize, c: usize| {
                        if columns == 0 {
                            1.0
                        } else {
                            items[j * columns + c]
                        }
                    };
                    let sum = |term: &dyn Fn(usize) -> f64| others().map(term).sum::<f64>();
                    for c in 0..columns.max(1) {
                        wanted.push(match op {
                            ReduceOp::Sum => sum(&|j| value(j) * weight(j, c)),
                            ReduceOp::Mean => {
                                sum(&|j| value(j) * weight(j, c)) / sum(&|j| weight(j, c))
                            }
                            ReduceOp::Softmax => {
                                sum(&|j| value(j).exp() * weight(j, c)) / sum(&|j| value(j).exp())
                            }
                            _ => sum(&|j| value(j).exp() * weight(j, c)).ln(),
                        });
                    }
                }
                let (what, values) = got[0][0].clone();
                let odd = difference(&vec![(what, values)], &vec![(what, wanted)], |a, b| {
                    close(a, b, 1e-9)
                });
                assert!(
                    odd.is_none(),
                    "{op:?} {n} {domain:?} {columns}: {}",
                    odd.unwrap_or_default()
                );
            }
        }
    }
}

/// Exponentials of single precision, from the smallest differences to those that single precision
/// cannot hold.
#[test]
fn log_sums_of_single_precision_are_near_those_of_double() {
    let mut lcg = Lcg::new(75);
    for scale in [1e-3, 1.0, 30.0, 400.0] {
        for (n, m) in [(1, 1), (3, 129), (40, 300)] {
            let side = |lcg: &mut Lcg, rows: usize| {
                let items = (0..rows * 2)
                    .map(|_| lcg.between(-scale, scale) as f32)
                    .collect();
                Table::f32(rows, 2, items).unwrap()
            };
            let (x, y) = (side(&mut lcg, n), side(&mut lcg, m));
            let items: Vec<f64> = (0..m).map(|_| lcg.between(0.0, 2.0)).collect();
            let w = Table::f64(m, 1, items).unwrap();
            for op in [ReduceOp::Logsumexp, ReduceOp::Softmax] {
                let spec = FoldSpec::Reduce {
                    op,
                    axis: ReduceAxis::Row,
                    weights: Some(Input::named("w")),
                };
                let question = pairs(&x)
                    .with(&y)
                    .formula("x[0] - y[0] + x[1] * 0.5")
                    .fold(spec);
                let both = || vec![Some([w.clone(), w.clone()])];
                let job = describe(
                    question.problem(),
                    Data {
                        pairs: None,
                        x: x.clone(),
                        y: Some(y.clone()),
                        weights: both(),
                    },
                )
                .unwrap();
                assert_eq!(job.precision, Precision::F32);
                let wanted = numbers(&job, &oracle::run(&job).unwrap());
                for isa in isas() {
                    let got = on_engine(question.problem(), &job, &plain(isa, 2, 0)).unwrap();
                    // A value itself errs by that much of its size.
                    let odd = difference(&got[0], &wanted[0], |a, b| {
                        (a - b).abs() <= 1e-6 * (b.abs() + scale + 1.0)
                    });
                    assert!(
                        odd.is_none(),
                        "{op:?} {scale} {n} × {m} {isa}: {}",
                        odd.unwrap_or_default()
                    );
                }
            }
        }
    }
}

//! Code made for a formula gives the bits of the evaluator that takes it step by step: random
//! formulas, with what numbers can be, for more rows than a tile, on every instruction set. 2 000
//! formulas; 10⁵ where `ZIPFOLD_LONG` is set.

use std::sync::Arc;
use zipfold::internals::cpu::jit::{Code, Results};
use zipfold::internals::cpu::pairs::code::compiled;
use zipfold::internals::cpu::pairs::program::compile;
use zipfold::internals::plan::{Family, Isa, Machine, Overrides};
use zipfold::pairs;
use zipfold_core::fold::ReduceOp;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Precision, Table, describe, oracle};
use zipfold_testkit::compare::{Numbers, difference, same};
use zipfold_testkit::runner::{Variant, chosen, isas, numbers, on_engine, plain};
use zipfold_testkit::{Lcg, formulas};

/// What makes code differ from code: signed zeros, denormals, the ends of the range, NaN.
const ODD: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    5e-324,
    -2.2e-308,
    1e308,
    -1e308,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    0.5,
];

fn rows(lcg: &mut Lcg, n: usize, d: usize, odd: bool) -> Table {
    let one = |lcg: &mut Lcg| match lcg.below(if odd { 3 } else { 12 }) {
        0 if odd => ODD[lcg.below(ODD.len())],
        1 => lcg.between(-3.0, 3.0).round(),
        _ => lcg.between(-3.0, 3.0),
    };
    let items = (0..n * d).map(|_| one(lcg)).collect();
    Table::f64(n, d, items).unwrap()
}

fn by(family: &str, isa: &'static str, problem: &Problem, job: &Job) -> Vec<Numbers> {
    let overrides = chosen([("family", family)]);
    let variant = Variant {
        overrides,
        ..plain(isa, 1, 0)
    };
    on_engine(problem, job, &variant).unwrap_or_else(|e| panic!("{family} on {isa}: {e}"))
}

/// Whether code is made for the formula: an engine that gets none goes step by step.
fn made(isa: &str, job: &Job) -> Result<(), &'static str> {
    let isa = if isa == "avx512" {
        Isa::Avx512
    } else {
        Isa::Avx2
    };
    Code::<f64>::compile(&job.low, &compile(&job.low), isa, false, Results::Blocks).map(|_| ())
}

/// A random formula of rows of a random length, and its job.
fn random(lcg: &mut Lcg, round: usize) -> Option<(String, Problem, Job)> {
    let dim = match lcg.below(8) {
        0 => 1 + lcg.below(300),
        1 => 16 + lcg.below(24),
        _ => 1 + lcg.below(9),
    };
    let depth = 1 + lcg.below(4);
    let vector = lcg.below(8) == 0 && dim < 20;
    let text = if vector {
        formulas::vector(lcg, depth, dim)
    } else {
        formulas::scalar(lcg, depth, dim)
    };
    let odd = round.is_multiple_of(3);
    let (n, m) = (1 + lcg.below(19), 1 + lcg.below(150));
    let (x, y) = (rows(lcg, n, dim, odd), rows(lcg, m, dim, odd));
    let fold = match vector {
        true => FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        },
        false => FoldSpec::Matrix {},
    };
    // A matrix alone is stored by lines of several blocks, one beside another fold by blocks.
    let mut asked = pairs(&x).with(&y).formula(&text).fold(fold);
    if round.is_multiple_of(2) {
        asked = asked.fold(FoldSpec::Reduce {
            op: ReduceOp::Max,
            axis: ReduceAxis::Row,
            weights: None,
        });
    }
    let problem = Problem {
        nan: NanPolicy::Propagate,
        precision: Some(Precision::F64),
        ..asked.problem().clone()
    };
    let job = describe(
        &problem,
        Data {
            pairs: None,
            x,
            y: Some(y),
            weights: vec![],
        },
    )
    .ok()?;
    Some((text, problem, job))
}

#[test]
#[ignore = "needs avx2"]
fn code_has_the_bits_of_the_evaluator_and_of_the_oracle() {
    let long = std::env::var_os("ZIPFOLD_LONG").is_some();
    let wide: Vec<&'static str> = isas()
        .into_iter()
        .filter(|isa| isa.starts_with("avx"))
        .collect();
    assert!(!wide.is_empty(), "neither AVX2 nor AVX-512");
    let mut lcg = Lcg::new(if long { 41 } else { 40 });
    let (wanted, mut done) = (if long { 100_000 } else { 2000 }, 0);
    for round in 0usize.. {
        let Some((text, problem, job)) = random(&mut lcg, round) else {
            continue;
        };
        let step_by_step = by("vm", wide[wide.len() - 1], &problem, &job);
        for isa in &wide {
            made(isa, &job).unwrap_or_else(|e| panic!("round {round} {isa}: {text}: {e}"));
            let got = by("jit", isa, &problem, &job);
            let odd = difference(&got[0], &step_by_step[0], same);
            let sizes = (job.space.n, job.space.m, job.low.dim);
            assert!(
                odd.is_none(),
                "round {round} {isa} {sizes:?}: {text}: {}",
                odd.unwrap_or_default()
            );
        }
        let reference = numbers(&job, &oracle::run(&job).unwrap());
        let odd = difference(&step_by_step[0], &reference[0], same);
        assert!(
            odd.is_none(),
            "round {round}: {text}: {}",
            odd.unwrap_or_default()
        );
        done += 1;
        if done == wanted {
            break;
        }
    }
}

/// Of more columns than a line has, whatever the pairs and tiles; with two numbers of a column,
/// which do not go on from block to block.
#[test]
fn lines_of_matrices_have_the_bits_of_the_oracle() {
    let mut lcg = Lcg::new(48);
    let formulas = [
        "sqrt(sum((x - y)^2))",
        "sum(abs(x - y)) / (sum(y * y) + max(y)) + sum(x)",
    ];
    let kinds = [
        Domain::Cross,
        Domain::Square,
        Domain::Ordered,
        Domain::Triangle,
        Domain::Diagonal,
    ];
    for (at, domain) in [1, 2]
        .into_iter()
        .flat_map(|dim| kinds.map(|domain| (dim, domain)))
    {
        let formula = formulas[at % 2];
        let x = rows(&mut lcg, 700, 1 + 2 * at, true);
        let y = (domain == Domain::Cross).then(|| rows(&mut lcg, 1300, 1 + 2 * at, false));
        let asked = match &y {
            Some(y) => pairs(&x).with(y),
            None => pairs(&x).domain(domain),
        };
        let half = matches!(domain, Domain::Triangle | Domain::Diagonal);
        let fold = if domain == Domain::Triangle {
            FoldSpec::Condensed {}
        } else {
            FoldSpec::Matrix {}
        };
        let asked = asked
            .formula(if half { formulas[0] } else { formula })
            .fold(fold);
        let problem = Problem {
            nan: NanPolicy::Propagate,
            precision: Some(Precision::F64),
            ..asked.problem().clone()
        };
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x: x.clone(),
                y: y.clone(),
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let tilings = [
            (1024, 1024, "row"),
            (128, 128, "hilbert"),
            (256, 640, "snake"),
        ];
        for (isa, (rows, cols, order)) in isas()
            .into_iter()
            .flat_map(|isa| tilings.map(|tiling| (isa, tiling)))
        {
            let set = [
                ("tile.rows", rows.to_string()),
                ("tile.cols", cols.to_string()),
                ("order", order.to_string()),
            ];
            let overrides = chosen(set);
            let got = on_engine(
                &problem,
                &job,
                &Variant {
                    overrides,
                    ..plain(isa, 2, 0)
                },
            )
            .unwrap();
            let odd = difference(&got[0], &wanted[0], same);
            assert!(
                odd.is_none(),
                "{isa} {domain:?} {rows} × {cols}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

#[test]
#[ignore = "needs avx2"]
fn code_is_made_once_for_a_question() {
    let x = Table::f64(3, 2, vec![1.0; 6]).unwrap();
    let asked = pairs(&x)
        .formula("sum(abs(x - y)) + 0.0625")
        .fold(FoldSpec::Matrix {});
    let job = || {
        describe(
            asked.problem(),
            Data {
                pairs: None,
                x: x.clone(),
                y: None,
                weights: vec![],
            },
        )
        .unwrap()
    };
    let plan = zipfold::internals::plan::choose(
        &job(),
        &zipfold::internals::cpu::detect(1, 1 << 30),
        &Overrides::default(),
    )
    .unwrap();
    assert_eq!(plan.family, Family::Jit);
    let code = |job: Job| compiled::<f64>(&plan, &job.low, &compile(&job.low), false).unwrap();
    assert!(Arc::ptr_eq(&code(job()), &code(job())));
}

/// Whatever this machine is.
#[test]
fn no_code_is_made_for_neon() {
    let x = Table::f64(3, 2, vec![1.0; 6]).unwrap();
    let asked = pairs(&x)
        .formula("sum(abs(x - y)) + 0.125")
        .fold(FoldSpec::Matrix {});
    let job = describe(
        asked.problem(),
        Data {
            pairs: None,
            x: x.clone(),
            y: None,
            weights: vec![],
        },
    )
    .unwrap();
    let machine = Machine {
        isa: Isa::Neon,
        executable: true,
        ..Machine::default()
    };
    let choose = |key: &str, value: &str| {
        zipfold::internals::plan::choose(&job, &machine, &chosen([(key, value)]))
    };
    let plan = choose("isa", "neon").unwrap();
    assert_eq!((plan.isa, plan.family), (Isa::Neon, Family::Vm));
    assert!(
        plan.seconds > 0.0 && plan.reasons.iter().any(|r| r.to_string().contains("AVX2")),
        "{:?}",
        plan.reasons
    );
    for (key, value) in [("family", "jit"), ("isa", "avx2")] {
        assert!(choose(key, value).is_err(), "{key}={value}");
    }
}

fn single(lcg: &mut Lcg, n: usize, d: usize) -> Table {
    Table::f32(
        n,
        d,
        (0..n * d).map(|_| lcg.between(-2.0, 2.0) as f32).collect(),
    )
    .unwrap()
}

/// Results that are a number, products of numbers, a vector, and a vector times a number of the
/// pair or of a row.
const SUMMED: [&str; 9] = [
    "exp(-sum((x - y)^2))",
    "(y - x) / (sum((x - y)^2) + 0.1)",
    "(y - x) * (sum((x - y)^2) + 0.1)^(-1.5)",
    "sum(x * y) * sin(sum(abs(x - y)))",
    "(sum(x * x) + 1)^(-0.5) * abs(y - x)",
    "cos(x - y) * (y + 0.5)",
    "(y - x) * exp(-(x - y)^2)",
    "(y - x) / sum(exp(-(x - y)^2)) * exp(-(x - y)^2)",
    "if(sum((x - y)^2)^(-0.5) > 0.4, y, x)",
];

/// In single precision, without weights, and with weights of which one is nothing or next to it, or
/// too large for single precision.
#[test]
fn sums_are_those_of_the_oracle() {
    let mut lcg = Lcg::new(42);
    for round in 0..4 * 2 * SUMMED.len() {
        let (formula, rest) = (SUMMED[round % SUMMED.len()], round / SUMMED.len());
        let (n, m) = (1 + lcg.below(200), [90, 128, 300, 515, 1100][round % 5]);
        let (x, y) = (single(&mut lcg, n, 3), single(&mut lcg, m, 3));
        let mut weights: Vec<f64> = (0..m).map(|_| lcg.between(-1.0, 1.0)).collect();
        weights[m / 2] = [1.0, 0.0, 1e-30, 1e39][rest % 4];
        let axis = [ReduceAxis::Row, ReduceAxis::All][rest / 4];
        let fold = FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis,
            weights: None,
        };
        let problem = pairs(&x)
            .with(&y)
            .formula(formula)
            .fold(fold)
            .problem()
            .clone();
        let mut job = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y: Some(y),
                weights: vec![],
            },
        )
        .unwrap();
        let zipfold_core::fold::Fold::Reduce(rows) = &mut job.folds[0] else {
            panic!("a fold by rows")
        };
        match rest % 4 {
            0 => weights = vec![1.0; m],
            _ => rows.weights = Some(weights.clone()),
        }
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        // Terms are at most 20 times their weight; the largest weight is that of one term of a row.
        let rows = if axis == ReduceAxis::All {
            n as f64
        } else {
            1.0
        };
        let bound = 20.0
            * rows
            * weights
                .iter()
                .map(|w| w.abs())
                .filter(|w| *w < 2.0)
                .sum::<f64>();
        for isa in isas() {
            let got = on_engine(&problem, &job, &plain(isa, 2, 0)).unwrap();
            let odd = match rest % 4 {
                3 => difference(&got[0], &wanted[0], |a, b| {
                    (a - b).abs() <= 1e-4 * b.abs().max(1e36 * rows)
                }),
                _ => difference(&got[0], &wanted[0], |a, b| (a - b).abs() <= 1e-6 * bound),
            };
            assert!(
                odd.is_none(),
                "round {round} {isa} {n} × {m} {formula}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

/// Weights whose products with a shared factor would leave single precision, and results that do.
#[test]
fn sums_of_terms_at_the_ends_of_single_precision_are_those_of_the_oracle() {
    let mut lcg = Lcg::new(45);
    for (size, weight) in [
        (1e12, 1e-9),
        (1e12, 1.7e-7),
        (1e11, 1e14),
        (1e-10, 1e-14),
        (1e-10, 1e14),
        (1e12, 1e-14),
    ] {
        let points = |lcg: &mut Lcg, n: usize| {
            Table::f32(
                n,
                3,
                (0..n * 3)
                    .map(|_| (size * lcg.between(-1.0, 1.0)) as f32)
                    .collect(),
            )
            .unwrap()
        };
        let (x, y) = (points(&mut lcg, 20), points(&mut lcg, 700));
        let fold = FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        };
        let asked = pairs(&x)
            .with(&y)
            .formula("(y - x) * sum((x - y)^2)^(-1.5)")
            .fold(fold);
        let mut job = describe(
            asked.problem(),
            Data {
                pairs: None,
                x,
                y: Some(y),
                weights: vec![],
            },
        )
        .unwrap();
        let zipfold_core::fold::Fold::Reduce(rows) = &mut job.folds[0] else {
            panic!("a fold by rows")
        };
        rows.weights = Some(
            (0..700)
                .map(|at| weight * (1.0 + f64::from(at % 7)))
                .collect(),
        );
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        // The nearest of 700 is no nearer than about a hundredth: terms of 10⁴, most of them of 1.
        let bound = 700.0 * weight / size / size;
        for isa in isas() {
            let got = on_engine(asked.problem(), &job, &plain(isa, 1, 0)).unwrap();
            let odd = difference(&got[0], &wanted[0], |a, b| {
                (a - b).abs() <= 1e-4 * bound + 1e-6 * b.abs()
            });
            assert!(
                odd.is_none(),
                "{isa} {size:e} {weight:e}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

/// Six numbers of a pair in a box: fewer rows at a time than of one number.
#[test]
fn sums_of_many_numbers_in_a_box_are_those_of_the_oracle() {
    let mut lcg = Lcg::new(46);
    let (x, y) = (single(&mut lcg, 40, 3), single(&mut lcg, 600, 3));
    let d = |k: usize| format!("(x[{k}] - y[{k}])");
    let terms = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        .map(|(a, b)| format!("{} * {}", d(a), d(b)));
    for precision in [Precision::F32, Precision::F64] {
        let fold = FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        };
        let asked = pairs(&x)
            .with(&y)
            .periodic(&[3.0, 3.5, 2.5])
            .formula(&format!("vec({})", terms.join(", ")))
            .fold(fold);
        let problem = Problem {
            precision: Some(precision),
            ..asked.problem().clone()
        };
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x: x.clone(),
                y: Some(y.clone()),
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        for isa in isas() {
            let got = on_engine(&problem, &job, &plain(isa, 1, 0)).unwrap();
            let off = if precision == Precision::F32 {
                1e-3
            } else {
                0.0
            };
            let odd = difference(&got[0], &wanted[0], |a, b| (a - b).abs() <= off);
            assert!(
                odd.is_none(),
                "{isa} {precision:?}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

/// Rows that have no finite sum, or not in single precision, beside rows that do: in a span and in
/// the columns behind the last whole one; with NaN skipped and not, of rows too short for dense
/// kernels and not, sums and means of two numbers of a pair together.
#[test]
fn sums_of_rows_that_fail_are_those_of_the_oracle() {
    let mut lcg = Lcg::new(47);
    for (round, (dim, m)) in [
        (3, 1100),
        (20, 1100),
        (3, 515),
        (20, 130),
        (3, 128),
        (20, 2000),
    ]
    .into_iter()
    .enumerate()
    {
        let (n, nan) = (150, [NanPolicy::Propagate, NanPolicy::Skip][round % 2]);
        let mut items: Vec<f32> = (0..n * dim)
            .map(|_| lcg.between(-1.0, 1.0) as f32)
            .collect();
        for (row, odd) in [
            (3, f32::NAN),
            (4, 1.5e19),
            (70, f32::INFINITY),
            (129, f32::NAN),
        ] {
            items[row * dim + lcg.below(dim)] = odd;
        }
        let mut others: Vec<f32> = (0..m * dim)
            .map(|_| lcg.between(-1.0, 1.0) as f32)
            .collect();
        if round > 3 {
            others[(m - 1) * dim] = f32::NAN;
        }
        let (x, y) = (
            Table::f32(n, dim, items).unwrap(),
            Table::f32(m, dim, others).unwrap(),
        );
        let fold = |op| FoldSpec::Reduce {
            op,
            axis: ReduceAxis::Row,
            weights: None,
        };
        for ops in [
            [ReduceOp::Sum, ReduceOp::Mean],
            [ReduceOp::Mean, ReduceOp::Max],
        ] {
            let asked = pairs(&x)
                .with(&y)
                .formula("sum((x - y)^2)")
                .fold(fold(ops[0]))
                .fold(fold(ops[1]));
            let problem = Problem {
                nan,
                ..asked.problem().clone()
            };
            let job = describe(
                &problem,
                Data {
                    pairs: None,
                    x: x.clone(),
                    y: Some(y.clone()),
                    weights: vec![],
                },
            )
            .unwrap();
            let wanted = numbers(&job, &oracle::run(&job).unwrap());
            for isa in isas() {
                let got = on_engine(&problem, &job, &plain(isa, 2, 0)).unwrap();
                let near = |a: f64, b: f64| same(a, b) || (a - b).abs() <= 2e-6 * b.abs();
                for (at, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                    let odd = difference(got, wanted, near);
                    assert!(
                        odd.is_none(),
                        "{isa} {dim} {m} {nan:?} {ops:?} {at}: {}",
                        odd.unwrap_or_default()
                    );
                }
            }
        }
    }
}

/// The largest difference of long rows, which dense kernels take where no NaN can be passed over.
#[test]
fn largest_differences_of_rows_that_are_not_finite_are_those_of_the_oracle() {
    let mut lcg = Lcg::new(49);
    for (odd, nan) in [
        (None, NanPolicy::Error),
        (None, NanPolicy::Propagate),
        (Some(f64::NAN), NanPolicy::Propagate),
        (Some(f64::NAN), NanPolicy::Skip),
        (Some(f64::INFINITY), NanPolicy::Error),
        (Some(f64::INFINITY), NanPolicy::Propagate),
        (Some(f64::INFINITY), NanPolicy::Skip),
    ] {
        let mut items: Vec<f64> = (0..150 * 20).map(|_| lcg.between(-3.0, 3.0)).collect();
        if let Some(odd) = odd {
            (items[5 * 20 + 3], items[77 * 20 + 3]) = (odd, odd);
        }
        let (x, y) = (
            Table::f64(150, 20, items).unwrap(),
            rows(&mut lcg, 200, 20, false),
        );
        for y in [None, Some(y)] {
            let asked = match &y {
                Some(y) => pairs(&x).with(y),
                None => pairs(&x).domain(Domain::Square),
            };
            let fold = FoldSpec::Reduce {
                op: ReduceOp::Max,
                axis: ReduceAxis::Row,
                weights: None,
            };
            let asked = asked.formula("max(abs(x - y))").fold(FoldSpec::Matrix {});
            // What is not finite is refused where another fold would take it.
            let asked = if nan == NanPolicy::Error {
                asked
            } else {
                asked.fold(fold)
            };
            let problem = Problem {
                nan,
                ..asked.problem().clone()
            };
            let job = describe(
                &problem,
                Data {
                    pairs: None,
                    x: x.clone(),
                    y: y.clone(),
                    weights: vec![],
                },
            )
            .unwrap();
            let wanted = numbers(&job, &oracle::run(&job).unwrap());
            for isa in isas() {
                let got = on_engine(&problem, &job, &plain(isa, 2, 0)).unwrap();
                for (got, wanted) in got.iter().zip(&wanted) {
                    let odd = difference(got, wanted, same);
                    assert!(
                        odd.is_none(),
                        "{isa} {nan:?} {odd:?}: {}",
                        odd.clone().unwrap_or_default()
                    );
                }
            }
        }
    }
}

#[test]
fn sums_in_single_precision_do_not_depend_on_tiles() {
    let mut lcg = Lcg::new(43);
    let (x, y) = (single(&mut lcg, 150, 3), single(&mut lcg, 2100, 3));
    for formula in SUMMED {
        let fold = FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        };
        let asked = pairs(&x).with(&y).formula(formula).fold(fold);
        let job = describe(
            asked.problem(),
            Data {
                pairs: None,
                x: x.clone(),
                y: Some(y.clone()),
                weights: vec![],
            },
        )
        .unwrap();
        let by = |(rows, cols): (usize, usize), order: &str| {
            let set = [
                ("tile.rows", rows.to_string()),
                ("tile.cols", cols.to_string()),
                ("order", order.to_string()),
            ];
            let overrides = chosen(set);
            on_engine(
                asked.problem(),
                &job,
                &Variant {
                    overrides,
                    ..plain(isas()[isas().len() - 1], 2, 0)
                },
            )
            .unwrap()
        };
        let wanted = by((1024, 1024), "row");
        for (tile, order) in [
            ((128, 128), "column"),
            ((128, 640), "snake"),
            ((256, 1600), "hilbert"),
            ((64, 1 << 20), "row"),
        ] {
            let odd = difference(&by(tile, order)[0], &wanted[0], same);
            assert!(
                odd.is_none(),
                "{formula} {tile:?} {order}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

/// Powers below 0 of 0, of denormals, of infinity and of what overflows, among some that
/// are next to nothing, and what they decide.
#[test]
fn reciprocal_roots_of_odd_numbers_are_those_of_the_oracle() {
    let odd = [
        0.0,
        -0.0,
        1e-44,
        1e-38,
        1e-30,
        1e-20,
        1e30,
        3e38,
        f32::INFINITY,
    ];
    let mut lcg = Lcg::new(44);
    for (value, power) in odd
        .into_iter()
        .flat_map(|v| [-0.5, -1.5, -2.5].map(|p| (v, p)))
    {
        let mut items = vec![3e37f32; 700];
        items[lcg.below(700)] = value;
        let (x, y) = (
            Table::f32(2, 1, vec![1.0, 1.0]).unwrap(),
            Table::f32(700, 1, items).unwrap(),
        );
        let fold = FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        };
        let formulas = [
            format!("(x[0] * y[0])^({power})"),
            format!("if((x[0] * y[0])^({power}) > 2, 1, 0)"),
        ];
        for formula in formulas {
            let asked = pairs(&x).with(&y).formula(&formula).fold(fold.clone());
            let job = describe(
                asked.problem(),
                Data {
                    pairs: None,
                    x: x.clone(),
                    y: Some(y.clone()),
                    weights: vec![],
                },
            )
            .unwrap();
            let wanted = numbers(&job, &oracle::run(&job).unwrap());
            for isa in isas() {
                let got = on_engine(asked.problem(), &job, &plain(isa, 1, 0)).unwrap();
                // Of 700 terms each may be half a unit of the smallest numbers off, and the 64 of a
                // lane, nearly all equal, may be rounded alike.
                let within = |a: f64, b: f64| (a - b).abs() <= 2e-6 * b + 1e-42;
                let near =
                    |a: f64, b: f64| a == b || within(a, b) || (b > 3e38 && a == f64::INFINITY);
                let odd = difference(&got[0], &wanted[0], near);
                assert!(
                    odd.is_none(),
                    "{isa} {value:e} {formula}: {}",
                    odd.unwrap_or_default()
                );
            }
        }
    }
}

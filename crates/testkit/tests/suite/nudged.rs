//! What a formula may come to where devices round the last bits of its functions otherwise: the
//! oracle's values of the formula with each such function moved by a few of its last bits, this way
//! or that.

use std::sync::Arc;
use zipfold_core::oracle::PairValues;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::{Formula, Scope, parse};
use zipfold_core::{Job, describe};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{close, same};

/// Functions of random formulas whose last bits devices round otherwise.
const INEXACT: [&str; 6] = ["log1p(", "sin(", "cos(", "tanh(", "atan(", "expm1("];
/// Ways in which the functions of a formula are moved.
const WAYS: usize = 16;

/// `text` with every inexact function multiplied by 1 and a few last bits, up or down.
fn nudged(text: &str, lcg: &mut Lcg) -> String {
    let mut out = String::new();
    // Where each open bracket's function ends, if it is one to be moved.
    let mut open = vec![];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after_word = out.ends_with(|c: char| c.is_ascii_alphanumeric());
        if let Some(name) = INEXACT
            .iter()
            .find(|name| rest.starts_with(**name) && !after_word)
        {
            out += "(";
            out += name;
            open.push(true);
            rest = &rest[name.len()..];
            continue;
        }
        if rest.starts_with("^1.5") {
            out += &format!("^1.5 * {}", factor(lcg));
            rest = &rest[4..];
            continue;
        }
        out.push(c);
        match c {
            '(' => open.push(false),
            ')' if open.pop() == Some(true) => out += &format!(" * {})", factor(lcg)),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// 1 and one or eight of its last bits, up or down: OpenCL lets a function of double precision err
/// by four, some by more.
fn factor(lcg: &mut Lcg) -> String {
    let step = [f64::EPSILON, 8.0 * f64::EPSILON][lcg.below(2)];
    format!(
        "{:?}",
        if lcg.below(2) == 0 {
            1.0 + step
        } else {
            1.0 - step
        }
    )
}

/// Whether `got` is explained by last bits of functions: it is what some way gives, or lies among
/// what all of them give.
pub(crate) fn explains(
    job: &Job,
    text: &str,
    (i, j): (usize, usize),
    wanted: f64,
    got: f64,
) -> bool {
    let mut lcg = Lcg::new(5);
    let mut values = vec![wanted];
    for _ in 0..WAYS {
        let mut formula = Formula::new();
        let scope = Scope {
            dim: Some(job.low.dim),
            ..Default::default()
        };
        let root = parse(&mut formula, &nudged(text, &mut lcg), &scope).unwrap();
        formula.roots = vec![root];
        let low = Arc::new(Lowered::new(&formula, job.low.dim, false).unwrap());
        let one = Job { low, ..job.clone() };
        let mut found = vec![];
        PairValues::new(&one).get(i, j, &mut found);
        values.push(found[0][0]);
    }
    if values.iter().any(|v| same(*v, got) || close(got, *v, 1e-6)) {
        return true;
    }
    let finite = values.iter().filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
        (l.min(*v), h.max(*v))
    });
    (low..=high).contains(&got)
}

#[test]
fn every_inexact_function_is_moved_and_nothing_else() {
    let text = nudged(
        "sum(sin(x) + sin(cos(y[0])) + asin(x)) + (abs(x[0])^1.5)",
        &mut Lcg::new(1),
    );
    assert_eq!(text.matches(" * ").count(), 4, "{text}");
    assert!(
        text.starts_with("sum((sin(x) * ") && text.contains("+ asin(x))"),
        "{text}"
    );
}

/// Wrong code is not explained, also where a formula jumps.
#[test]
fn only_last_bits_are_explained() {
    use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
    use zipfold_core::{Data, Precision, Table};
    let rows = |seed: f64| {
        Table::f64(4, 2, (0..8).map(|at| seed + f64::from(at) * 0.37).collect()).unwrap()
    };
    let (x, y) = (rows(0.1), rows(-1.3));
    let asked = zipfold::pairs(&x)
        .with(&y)
        .formula("sum(x * y)")
        .fold(FoldSpec::Matrix {});
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
    .unwrap();
    // A tie that the last bit of the cosine decides; a comparison far from any tie.
    let tie = "if(cos(x[0] * 0) * 3.25 < 3.25, 7, 8)";
    assert!(explains(&job, tie, (0, 0), 8.0, 7.0) && !explains(&job, tie, (0, 0), 8.0, 9.0));
    let clear = "if(sin(x[0]) < 5, 7, 8)";
    assert!(explains(&job, clear, (1, 1), 7.0, 7.0) && !explains(&job, clear, (1, 1), 7.0, 8.0));
    assert!(
        !explains(&job, clear, (1, 1), 7.0, f64::NAN)
            && !explains(&job, clear, (1, 1), 7.0, f64::INFINITY)
    );
}

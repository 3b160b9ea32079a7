//! What the parser accepts and refuses, and what it says.

use zipfold_core::Error;
use zipfold_core::pair::{Evaluator, Formula, Param, Rows, Scope, parse};

fn value(formula: &Formula, x: &[f64], y: &[f64]) -> f64 {
    let delta: Vec<f64> = x.iter().zip(y).map(|(a, b)| a - b).collect();
    let mut eval = Evaluator::new(formula, x.len());
    eval.run(Rows {
        x,
        y,
        delta: &delta,
    });
    let mut out = vec![];
    eval.push_root(0, &mut out);
    out[0]
}

fn evaluate(text: &str, x: &[f64], y: &[f64]) -> f64 {
    let mut formula = Formula::new();
    let root = parse(&mut formula, text, &Scope::default()).unwrap();
    formula.roots = vec![root];
    value(&formula, x, y)
}

fn refused(text: &str) -> Error {
    let scope = Scope {
        params: [("eps".to_string(), Param::Number(1.0))].into(),
        dim: Some(3),
        ..Scope::default()
    };
    parse(&mut Formula::new(), text, &scope).expect_err(text)
}

#[test]
fn operators_bind_as_written() {
    let at = |text: &str| evaluate(text, &[3.0, 4.0], &[1.0, 1.0]);
    assert_eq!(at("1 + 2 * 3"), 7.0);
    assert_eq!(at("-2^2"), -4.0);
    assert_eq!(at("2^3^2"), 512.0);
    assert_eq!(at("2**-1"), 0.5);
    assert_eq!(at("10 - 4 - 3"), 3.0);
    assert_eq!(at("16 / 4 / 2"), 2.0);
    assert_eq!(at("x[0] - y[0] * 2"), 1.0);
    assert_eq!(at("sum(x) > 6 and not sum(y) > 2"), 1.0);
    assert_eq!(at("x[0] < 0 or x[0] > 0 and y[0] < 0"), 0.0);
    assert_eq!(at("(x[0] < 0 or x[0] > 0) and y[0] > 0"), 1.0);
    assert_eq!(at("-x[0] < 0"), 1.0);
    assert_eq!(at("1e1 + .5 + 2.E0"), 12.5);
}

#[test]
fn errors_point_at_their_place() {
    let shown = |text: &str| refused(text).to_string();
    assert!(
        shown("sum(abs(x - z))").contains("    sum(abs(x - z))\n                ^"),
        "{}",
        shown("sum(abs(x - z))")
    );
    assert!(shown("1 +").contains("the formula ends"));
    assert!(shown("sum(x").contains("')'"));
    assert!(shown("x[3]").contains("component 3 of rows that have 3"));
    assert!(
        shown("sum(x) $ 2").contains("    sum(x) $ 2\n           ^"),
        "{}",
        shown("sum(x) $ 2")
    );
    assert!(shown("sum(x) 2").contains("found '2'"));
    let span = refused("1 + sum(2)").span_ref().cloned().unwrap();
    assert_eq!(&span.text[span.range], "sum(2)");
}

#[test]
fn unknown_names_get_suggestions() {
    assert_eq!(
        refused("summ(x - y)")
            .remedy_text()
            .map(ToString::to_string)
            .as_deref(),
        Some("'sum'")
    );
    assert_eq!(
        refused("ep + sum(x)")
            .remedy_text()
            .map(ToString::to_string)
            .as_deref(),
        Some("give it a value: params.ep = VALUE")
    );
    assert_eq!(
        refused("cosin(x, y)")
            .remedy_text()
            .map(ToString::to_string)
            .as_deref(),
        Some("'cosine'")
    );
    assert!(
        refused("mahalanobis(x, y)")
            .remedy_text()
            .is_some_and(|r| r.to_string().contains("metric = \"mahalanobis\""))
    );
    assert!(
        refused("euclidean(y, x)")
            .what()
            .to_string()
            .contains("'euclidean(x, y)'")
    );
}

#[test]
fn depth_and_length_have_limits() {
    let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert_eq!(evaluate(&nested(90), &[], &[]), 1.0);
    for deep in [
        nested(101),
        nested(20_000),
        "-".repeat(5000) + "1",
        "not ".repeat(5000) + "x",
        "2^".repeat(5000) + "2",
    ] {
        assert!(
            refused(&deep).what().to_string().contains("deep"),
            "{}",
            &deep[..20]
        );
    }
    let long = "1 + ".repeat(20_000) + "1";
    assert!(refused(&long).what().to_string().contains("too long"));
    let many = (0..5000)
        .map(|k| format!("x[0] * {k}.5"))
        .collect::<Vec<_>>()
        .join(" + ");
    assert!(
        refused(&many[..60_000])
            .what()
            .to_string()
            .contains("too long")
    );
}

#[test]
fn vectors_and_scalars_mix() {
    let at = |text: &str| evaluate(text, &[3.0, 4.0], &[1.0, 1.0]);
    assert_eq!(at("sum(x * 2 + sum(y))"), 18.0);
    assert_eq!(at("sum(max(x, 3.5))"), 7.5);
    assert_eq!(at("count(x > y)"), 2.0);
    assert_eq!(at("sum(if(x > 3, x, 0))"), 4.0);
    assert_eq!(at("sum((x != 0) * (y != 0))"), 2.0);
    assert!(
        refused("sum(3)")
            .what()
            .to_string()
            .contains("one number per component")
    );
    assert!(
        refused("count(x)")
            .what()
            .to_string()
            .contains("truth values")
    );
    assert!(
        refused("any(x)")
            .what()
            .to_string()
            .contains("truth values")
    );
    assert!(refused("not x").what().to_string().contains("truth value"));
    assert!(
        refused("sum(vec(x[0], y[0]))")
            .what()
            .to_string()
            .contains("component")
    );
}

#[test]
fn comparisons_do_not_chain() {
    for text in ["1 < sum(x) < 2", "x[0] == y[0] == 1", "0 <= x[0] < 1"] {
        assert!(
            refused(text)
                .remedy_text()
                .is_some_and(|r| r.to_string().contains("do not chain")),
            "{text}"
        );
    }
    assert_eq!(
        evaluate("sqrt(sum((x - y)^2)) <= 5", &[3.0, 4.0], &[0.0, 0.0]),
        1.0
    );
    assert_eq!(
        evaluate("5 > sqrt(sum((x - y)^2))", &[3.0, 4.0], &[0.0, 0.0]),
        0.0
    );
}

//! Slices of rows are what their components written out are.

use zipfold_core::pair::{Formula, Id, Param, Scope, parse};

fn parsed(formula: &mut Formula, text: &str) -> Result<Id, String> {
    let names: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
    let params = [("w".to_string(), Param::Vector(vec![2.0, 3.0]))].into();
    let scope = Scope {
        params,
        dim: Some(5),
        columns: [Some(&names), Some(&names)],
        ..Scope::default()
    };
    parse(formula, text, &scope).map_err(|e| e.to_string())
}

#[test]
fn slices_are_their_components() {
    for (sliced, written) in [
        (
            "sum((x[0:3] - y[0:3])^2)",
            "((x[0] - y[0])^2 + (x[1] - y[1])^2) + (x[2] - y[2])^2",
        ),
        (
            "norm(x[0:2] - y[0:2])",
            "sqrt((x[0] - y[0])^2 + (x[1] - y[1])^2)",
        ),
        ("sum(x[:2] * y[3:])", "x[0] * y[3] + x[1] * y[4]"),
        (
            "sum(w * (x[0:2] - y[0:2])^2)",
            "2 * (x[0] - y[0])^2 + 3 * (x[1] - y[1])^2",
        ),
        ("sum(x[:] * y[0:5])", "sum(x * y)"),
        ("dot(x[1:3], y[1:3])", "x[1] * y[1] + x[2] * y[2]"),
        (
            "mean(x[0:2]) + mean(y[4:5])",
            "(x[0] + x[1]) / 2 + y[4] / 1",
        ),
        (
            "max(abs(x[0:4] - y[0:4]))",
            "max(max(abs(x.a - y.a), abs(x.b - y.b)), max(abs(x.c - y.c), abs(x.d - y.d)))",
        ),
        (
            "sum(max(x[0:2], y[0:2]))",
            "max(x[0], y[0]) + max(x[1], y[1])",
        ),
        (
            "prod(if(x[0:2] < y[1:3], x[0:2], 2))",
            "if(x[0] < y[1], x[0], 2) * if(x[1] < y[2], x[1], 2)",
        ),
        ("any(x[0:2] == y[0:2])", "x[0] == y[0] or x[1] == y[1]"),
        (
            "all(x[0:3] == 0)",
            "(x[0] == 0 and x[1] == 0) and x[2] == 0",
        ),
        ("count(x[0:2] != y[0:2])", "(x[0] != y[0]) + (x[1] != y[1])"),
        ("count(x[0:1] != y[0:1])", "if(x[0] != y[0], 1, 0)"),
        ("sum(x[0:1] != y[0:1])", "if(x[0] != y[0], 1, 0)"),
        ("max(x[0:1] > 0) + 1", "if(x[0] > 0, 1, 0) + 1"),
        (
            "sum(x[0:2] * sum(y[0:3]))",
            "x[0] * ((y[0] + y[1]) + y[2]) + x[1] * ((y[0] + y[1]) + y[2])",
        ),
        (
            "sum(x[0:2]) * sum(y[0:3] * max(x))",
            "(x[0] + x[1]) * ((y[0] * max(x) + y[1] * max(x)) + y[2] * max(x))",
        ),
        (
            "reduce(|p, q| p + 2 * q, 1, x[0:2])",
            "(1 + 2 * x[0]) + 2 * x[1]",
        ),
        (
            "reduce(|p, q| max(p, q), x[0:3])",
            "max(max(x[0], x[1]), x[2])",
        ),
        ("x[0:2] - y[0:2]", "vec(x[0] - y[0], x[1] - y[1])"),
        ("hypot(x[0:2], 1)", "vec(hypot(x[0], 1), hypot(x[1], 1))"),
        (
            "sum(abs(x[0:2] - y[0:2])) + sum(abs(x[3:5] - y[3:5]))",
            "(abs(x[0] - y[0]) + abs(x[1] - y[1])) + (abs(x[3] - y[3]) + abs(x[4] - y[4]))",
        ),
    ] {
        let mut formula = Formula::new();
        let (got, wanted) = (parsed(&mut formula, sliced), parsed(&mut formula, written));
        assert!(wanted.is_ok(), "{written}: {wanted:?}");
        assert_eq!(got, wanted, "{sliced} and {written}");
    }
}

#[test]
fn slices_that_do_not_fit_are_refused() {
    for (text, said) in [
        (
            "sum(x[0:3] - y[0:2])",
            "expected a slice of 3 components as before, got one of 2",
        ),
        (
            "sum(w * x[0:3])",
            "expected a slice of 2 components as before, got one of 3",
        ),
        ("sum(w * x)", "'w' has 2 numbers"),
        (
            "sum(x[0:3] - y)",
            "expected vectors of one length, got slices of 3 components and whole rows",
        ),
        ("sum(x[2:2])", "expected a slice with components, got [2:2]"),
        ("sum(x[3:1])", "got [3:1]"),
        ("sum(x[3:6])", "component 5 of rows that have 5"),
        ("sum(x[0:3:2])", "']'"),
        ("sum(x[-1:3])", "a component is numbered"),
        (
            "any(x[0:3] - y[0:3])",
            "'any' and 'all' take truth values, here numbers",
        ),
        ("euclidean(x[0:3], y[0:3])", "a metric takes both rows"),
        (
            "reduce(|a, b| a + b, x[0:2], y[0:2])",
            "the initial value of 'reduce' is a single number",
        ),
        (
            "sum(reduce(|a, b| a + b, x, y[0:2]))",
            "the initial value of 'reduce' is a single number",
        ),
        (
            "reduce(|a, b| a + b * w, x[0:2])",
            "may use its two operands and numbers only",
        ),
        (
            "reduce(|a, b| a + b * w, 0, x[0:2])",
            "may use its two operands and numbers only",
        ),
        (
            "reduce(|a, b| a + b * x[0:1], y[0:2])",
            "may use its two operands and numbers only",
        ),
        ("sum(x[0:1] != y[0:1]) and x[0] > 1", "truth"),
        ("prod(x[0:1] != y[0:1]) and x[0] > 1", "truth"),
    ] {
        let error = parsed(&mut Formula::new(), text).expect_err(text);
        assert!(error.contains(said), "{text}: {error}");
    }
    let mut formula = Formula::new();
    let wide = Scope {
        dim: Some(2000),
        ..Scope::default()
    };
    let error = parse(&mut formula, "x[0:17]", &wide)
        .unwrap_err()
        .to_string();
    assert!(error.contains("a value of 17 numbers"), "{error}");
    assert!(parse(&mut formula, "sum(abs(x[0:500] - y[0:500]))", &wide).is_ok());
    // Names of vectors are looked up in a time that does not grow with the formula.
    let scope = Scope {
        params: [("w".to_string(), Param::Vector(vec![1.0; 900]))].into(),
        ..wide.clone()
    };
    let terms = vec!["0*w"; 12_000].join("+");
    let begun = std::time::Instant::now();
    let _ = parse(
        &mut Formula::new(),
        &format!("sum({terms}+x[0:900])"),
        &scope,
    );
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    // What is read again for each component, in one another, ends within a second.
    let nested = (0..20).fold("x[0:900]".to_string(), |inner, _| {
        format!("sum(x[0:900] * {inner})")
    });
    let begun = std::time::Instant::now();
    assert!(parse(&mut Formula::new(), &nested, &wide).is_err());
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    assert!(parse(&mut Formula::new(), "sum(x[1:])", &Scope::default()).is_err());
}

#[test]
fn rows_of_two_lengths_have_slices_of_their_own() {
    let params: std::collections::BTreeMap<_, _> =
        [("w".to_string(), Param::Vector(vec![2.0, 3.0, 4.0, 5.0]))].into();
    let scope = |cols| Scope {
        params: params.clone(),
        dim: Some(4),
        cols: Some(cols),
        ..Scope::default()
    };
    let same = |cols: [usize; 2], sliced: &str, written: &str| {
        let mut formula = Formula::new();
        let got = parse(&mut formula, sliced, &scope(cols)).map_err(|e| e.to_string());
        let wanted = parse(&mut formula, written, &scope(cols)).map_err(|e| e.to_string());
        assert!(wanted.is_ok(), "{written}: {wanted:?}");
        assert_eq!(got, wanted, "{sliced} and {written} of {cols:?}");
    };
    let all = "((x[0] + x[1]) + (x[2] + x[3]))";
    for whole in ["sum(x[0:4])", "sum(x[:4])", "sum(x[:])", "sum(x[0:])"] {
        same([4, 1], &format!("{whole} * y[0]"), &format!("{all} * y[0]"));
    }
    same([4, 1], "x[3] - y[0]", "x[3] - y[0]");
    same([1, 4], "sum(y[2:]) - sum(x[:])", "(y[2] + y[3]) - x[0]");
    same([2, 4], "sum(x[:] - y[2:])", "(x[0] - y[2]) + (x[1] - y[3])");
    same(
        [4, 2],
        "sum(w * x[:]) + y[1]",
        "((2 * x[0] + 3 * x[1]) + (4 * x[2] + 5 * x[3])) + y[1]",
    );
    same([4, 4], "sum(x[0:4] - y[:])", "sum(x - y)");
    for (cols, text, said) in [
        (
            [4, 1],
            "sum(x[0:4] - y[0:4])",
            "component 3 of rows that have 1",
        ),
        (
            [1, 4],
            "sum(x[1:])",
            "expected a slice with components, got [1:1]",
        ),
        ([1, 4], "x[3] + y[3]", "component 3 of rows that have 1"),
        (
            [2, 4],
            "sum(x[:] - y[:])",
            "expected a slice of 2 components as before, got one of 4",
        ),
    ] {
        let error = parse(&mut Formula::new(), text, &scope(cols))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{text} of {cols:?}: {error}");
    }
}

//! An axis of parameter values: its answers have the bits of a question for each value.

use zipfold::columns::{Columns, Role};
use zipfold::internals::core::Random;
use zipfold::problem::{
    AxisSpec, Closed, Domain, FoldSpec, NanPolicy, QuantileSpec, ReduceAxis, ReduceOp,
};
use zipfold::{Options, Overrides, Problem, Query, Table, pairs};

/// Formulas that read `h`, over rows of two components and the attribute `m`.
const FORMULAS: &[&str] = &[
    "exp(-sum((x - y)^2) / (2*h^2))",
    "sum(abs(x - y))^h",
    "(1 + sum((x - y)^2))^-h",
    "norm(x - y) < h",
    "max(0, 1 - norm(x - y) / h)",
    "if(norm(x - y) < h, h, norm(x - y))",
    "tanh(h + dot(x, y))",
    "x.m * y.m * exp(-h * norm(x - y))",
    "h * x[0] - y[0]",
    "sin(h * norm(x - y)) / (1 + h * norm(x - y))",
    "h",
];

fn rows(random: &mut Random, n: usize) -> Table {
    let number = |random: &mut Random| match random.below(12) {
        0 => 1e9,
        1 => 5e-324,
        2 => 0.25,
        _ => random.unit() * 4.0 - 2.0,
    };
    let items = (0..2 * n).map(|_| number(random)).collect();
    let beside = (0..2 * n).map(|at| match at % 2 {
        0 => random.unit(),
        _ => random.below(3) as f64,
    });
    let names = vec!["m".to_string(), "kind".to_string()];
    let beside = Table::f64(n, 2, beside.collect())
        .unwrap()
        .with_names(names);
    let table = Table::f64(n, 2, items).unwrap();
    table.with_attributes(beside.unwrap()).unwrap()
}

fn reduce(op: ReduceOp, axis: ReduceAxis) -> FoldSpec {
    FoldSpec::Reduce {
        op,
        axis,
        weights: None,
    }
}

fn histogram(value: Option<&str>, weight: Option<&str>) -> FoldSpec {
    FoldSpec::Histogram {
        axes: vec![AxisSpec {
            value: value.map(str::to_string),
            bins: Some(7),
            range: Some([0.0, 3.0]),
            edges: None,
        }],
        closed: Closed::Last,
        weights: None,
        mean: true,
        weight: weight.map(str::to_string),
        values: Default::default(),
    }
}

fn folds() -> Vec<FoldSpec> {
    use ReduceAxis::{All, Column, Row};
    use ReduceOp::{Argmax, Count, Logsumexp, Max, Mean, Min, Sum};
    let mut all = vec![];
    for op in [Sum, Mean, Min, Max, Argmax, Count, Logsumexp] {
        all.extend([Row, Column, All].map(|axis| reduce(op, axis)));
    }
    all.push(FoldSpec::Nearest {
        k: 2,
        largest: None,
    });
    all.push(FoldSpec::Quantile(QuantileSpec { q: vec![0.1, 0.5] }));
    all.push(histogram(None, None));
    all.push(histogram(Some("norm(x - y)"), Some("value + h")));
    all
}

/// The numbers of all columns but that of the parameter, by line.
fn numbers(columns: &Columns<'_>) -> Vec<Vec<u64>> {
    let kept = columns.columns.iter();
    let kept = kept.filter(|column| column.role != Role::Parameter);
    let bits = |value: f64| match value.is_nan() {
        true => f64::NAN.to_bits(),
        false => value.to_bits(),
    };
    kept.map(|column| {
        let all = columns.all(column);
        (0..all.len()).map(|at| bits(all.get(at))).collect()
    })
    .collect()
}

/// The lines of value `at` of `count` of a column.
fn slice(
    columns: &Columns<'_>,
    numbers: &[u64],
    at: usize,
    by_row: bool,
    count: usize,
) -> Vec<u64> {
    if !by_row {
        let each = numbers.len() / count;
        return numbers[at * each..][..each].to_vec();
    }
    let rows = columns.shape[0];
    let each = numbers.len() / (rows * count).max(1);
    let lines = |row: usize| &numbers[(row * count + at) * each..][..each];
    (0..rows).flat_map(lines).copied().collect()
}

/// Compares a question with an axis with one question for each value; returns what differs.
fn compare(problem: &Problem, data: &zipfold::Data, options: &Options<'_>) -> Result<(), String> {
    let answer = Query::new(problem, data, options).run();
    let axis = problem.param.as_ref().unwrap();
    let alone: Vec<Problem> = (0..axis.len()).map(|at| problem.with_value(at)).collect();
    let alone = alone.iter().map(|one| Query::new(one, data, options).run());
    let alone: Vec<_> = alone.collect();
    let answer = match (answer, alone.iter().any(Result::is_err)) {
        (Ok(answer), false) => answer,
        // A value whose question is refused refuses all.
        (Err(_), true) => return Ok(()),
        (Ok(_), true) => return Err("refused alone".into()),
        (Err(e), false) => return Err(format!("refused with all values: {e}")),
    };
    for (at, alone) in alone.iter().flatten().enumerate() {
        for fold in 0..problem.folds.len() {
            let both = answer.columns(fold).unwrap().unwrap();
            let one = alone.columns(fold).unwrap().unwrap();
            let by_row = both.shape.len() > 1 && both.with_role(Role::Parameter).is_none()
                || matches!(problem.folds[fold], FoldSpec::Nearest { .. });
            for (mine, wanted) in numbers(&both).iter().zip(numbers(&one)) {
                let mine = slice(&both, mine, at, by_row, axis.len());
                if mine != wanted {
                    let odd = mine.iter().zip(&wanted).position(|(a, b)| a != b);
                    let told = odd
                        .map(|odd| (odd, f64::from_bits(mine[odd]), f64::from_bits(wanted[odd])));
                    return Err(format!("value {at}, fold {fold}: {told:?}"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn answers_are_those_of_a_question_for_each_value() {
    let mut random = Random::new(5);
    let options = Options::default();
    let all = folds();
    for turn in 0..120 {
        let sizes = [0, 1, 2, 130, 300];
        let (n, m) = (sizes[random.below(5)], sizes[random.below(5)]);
        let (x, y) = (rows(&mut random, n), rows(&mut random, m));
        let formula = FORMULAS[random.below(FORMULAS.len())];
        let values: Vec<f64> = (0..1 + random.below(5))
            .map(|_| [0.5, 2.0, 1.0, 0.3, -1.5, f64::INFINITY, 0.0][random.below(7)])
            .collect();
        let mut question = pairs(&x).formula(formula).param_axis("h", &values);
        let two = random.below(2) == 0;
        if two {
            question = question.with(&y);
        }
        match random.below(5) {
            0 => question = question.by("kind"),
            1 => question = question.batch("kind"),
            2 => question = question.within("band:40"),
            _ => {}
        }
        for _ in 0..=random.below(2) {
            question = question.fold(all[random.below(all.len())].clone());
        }
        let mut problem = question.problem().clone();
        problem.nan = NanPolicy::Propagate;
        problem.cutoff = (random.below(4) == 0).then_some(1.5);
        // Where the cost depends on the value, the first one decides whether half of the pairs are
        // visited, and sums by row differ in their last bits.
        let uneven = ["^", "/ h"].iter().any(|part| formula.contains(part));
        problem.domain = match (two, random.below(3)) {
            (false, _) if uneven => Some(Domain::Ordered),
            (false, 0) => Some(Domain::Ordered),
            (false, 1) => Some(Domain::Triangle),
            _ => None,
        };
        let data = zipfold::Data {
            pairs: None,
            x,
            y: two.then_some(y),
            weights: vec![None; problem.folds.len()],
        };
        let told = compare(&problem, &data, &options);
        assert_eq!(told, Ok(()), "turn {turn}: {n} × {m}, {problem:?}");
    }
}

/// Formulas of which bounds leave pairs out, for each value.
const BOUNDED: &[&str] = &[
    "norm(x - y) < h",
    "norm(x - y) >= h",
    "h > max(abs(x - y)) or x.m < 0.1",
    "if(norm(x - y) <= h and y.kind < 2, 1, 0)",
    "sum((x - y)^2) / h < 1",
    "norm(x - y) / h",
    "abs(norm(x - y) - h)",
    "h * norm(x - y)",
    "x[0] < h",
];

#[test]
fn bounds_leave_out_what_no_value_needs() {
    let mut random = Random::new(15);
    let how = |prune: &str| Options {
        overrides: Overrides::read([("prune".to_string(), prune.to_string())]).unwrap(),
        ..Options::default()
    };
    let (on, off) = (how("on"), how("off"));
    let mut left_out = 0;
    for turn in 0..240 {
        let (n, m) = (
            [1, 130, 400, 777][random.below(4)],
            [2, 300, 500][random.below(3)],
        );
        let (mut x, y) = (rows(&mut random, n), rows(&mut random, m));
        let formula = BOUNDED[random.below(BOUNDED.len())];
        let values: Vec<f64> = (0..1 + random.below(6))
            .map(|_| [0.5, 2.0, 1.0, 0.05, 0.3, -1.5, f64::INFINITY, 0.0][random.below(8)])
            .collect();
        if random.below(4) == 0 {
            let mut items = x.elements().every(1);
            items[0] = f64::NAN;
            let beside = x.clone();
            x = Table::f64(n, 2, items[..2 * n].to_vec()).unwrap();
            x = match beside.attributes() {
                Some(beside) => x.with_attributes(beside.clone()).unwrap(),
                None => x,
            };
        }
        let mut question = pairs(&x).formula(formula).param_axis("h", &values);
        let two = random.below(2) == 0;
        if two {
            question = question.with(&y);
        }
        match random.below(8) {
            0 => question = question.by("kind"),
            1 => question = question.batch("kind"),
            2 if !formula.contains("x[0]") => question = question.periodic(&[4.0, 4.0]),
            _ => {}
        }
        use ReduceAxis::{All, Row};
        use ReduceOp::{Argmax, Argmin, Count, Max, Mean, Min, Sum};
        let counts = [
            (Count, Row),
            (Count, All),
            (Sum, Row),
            (Sum, All),
            (Mean, Row),
        ];
        let best = [
            (Min, Row),
            (Max, Row),
            (Argmin, Row),
            (Argmax, Row),
            (Min, All),
        ];
        let list = if random.below(2) == 0 { counts } else { best };
        for _ in 0..=random.below(2) {
            let (op, axis) = list[random.below(5)];
            question = question.fold(reduce(op, axis));
        }
        let mut problem = question.problem().clone();
        problem.nan = NanPolicy::Propagate;
        problem.domain = match (two, random.below(3)) {
            (false, 0) => Some(Domain::Ordered),
            (false, 1) => Some(Domain::Triangle),
            _ => None,
        };
        let data = zipfold::Data {
            pairs: None,
            x,
            y: two.then_some(y),
            weights: vec![None; problem.folds.len()],
        };
        // Sums of other values need every pair in order: bounds cannot leave any out.
        let answer = match Query::new(&problem, &data, &on).run() {
            Ok(answer) => answer,
            Err(e) => {
                let refused = Query::new(&problem, &data, &off).run().is_err();
                let unbounded = e.to_string().contains("cannot prune");
                assert!(refused || unbounded, "turn {turn}: {e}");
                continue;
            }
        };
        left_out += usize::from(answer.outcome.tally.skipped > 0);
        let swept = Query::new(&problem, &data, &off).run().unwrap();
        for fold in 0..problem.folds.len() {
            let [mine, its] =
                [&answer, &swept].map(|a| numbers(&a.columns(fold).unwrap().unwrap()));
            assert!(mine == its, "turn {turn}: {n} × {m}, {problem:?}");
        }
        let told = compare(&problem, &data, &off);
        assert_eq!(told, Ok(()), "turn {turn}: {n} × {m}, {problem:?}");
    }
    assert!(left_out > 30, "{left_out}");
}

#[test]
fn a_box_weights_and_both_families_of_kernels_change_nothing() {
    let mut random = Random::new(6);
    let x = rows(&mut random, 200);
    let weights = Table::f64(200, 1, (0..200).map(|_| random.unit()).collect()).unwrap();
    for family in ["jit", "vm"] {
        let options = Options {
            overrides: Overrides::read([("family".to_string(), family.to_string())]).unwrap(),
            ..Options::default()
        };
        for periodic in [false, true] {
            let mut question = pairs(&x)
                .formula("exp(-norm(x - y) / h)")
                .param_axis("h", &[0.1, 0.1, 3.0])
                .fold(reduce(ReduceOp::Sum, ReduceAxis::Row))
                .fold(reduce(ReduceOp::Mean, ReduceAxis::Column));
            if periodic {
                question = question.periodic(&[4.0, 4.0]);
            }
            let problem = question.problem().clone();
            let weights = Some([weights.clone(), weights.clone()]);
            let data = zipfold::Data {
                pairs: None,
                x: x.clone(),
                y: None,
                weights: vec![weights.clone(), weights],
            };
            assert_eq!(
                compare(&problem, &data, &options),
                Ok(()),
                "{family} {periodic}"
            );
        }
    }
}

#[test]
fn many_values_are_one_sweep() {
    let mut random = Random::new(7);
    let x = rows(&mut random, 140);
    let values: Vec<f64> = (1..=300).map(|k| f64::from(k) / 100.0).collect();
    let question = pairs(&x)
        .formula("exp(-sum((x - y)^2) / (2*h^2))")
        .param_axis("h", &values)
        .fold(reduce(ReduceOp::Sum, ReduceAxis::All));
    let (problem, options) = (question.problem().clone(), Options::default());
    let data = zipfold::Data {
        pairs: None,
        x,
        y: None,
        weights: vec![None],
    };
    assert_eq!(compare(&problem, &data, &options), Ok(()));
    let answer = Query::new(&problem, &data, &options).run().unwrap();
    assert_eq!(answer.outcome.pairs, 140 * 141 / 2);
    let text = answer.columns(0).unwrap().unwrap();
    assert_eq!(
        (text.shape.clone(), text.columns[0].name.as_ref()),
        (vec![300], "h")
    );
}

#[test]
fn second_stages_fold_each_value() {
    let mut random = Random::new(8);
    let x = rows(&mut random, 90);
    let question = pairs(&x)
        .formula("norm(x - y)^h")
        .param_axis("h", &[1.0, 2.0])
        .fold(FoldSpec::Nearest {
            k: 1,
            largest: None,
        })
        .then("max");
    let options = Options::default();
    let answer = question.run(&options).unwrap();
    let columns = answer.columns(0).unwrap().unwrap();
    let names: Vec<&str> = columns.columns.iter().map(|c| c.name.as_ref()).collect();
    assert_eq!(names, ["h", "i", "j", "values"]);
    for at in 0..2 {
        let alone = question.problem().with_value(at);
        let data = zipfold::Data {
            pairs: None,
            x: x.clone(),
            y: None,
            weights: vec![None],
        };
        let alone = Query::new(&alone, &data, &options).run().unwrap();
        let one = alone.columns(0).unwrap().unwrap();
        for (mine, its) in numbers(&columns).iter().zip(numbers(&one)) {
            assert_eq!(mine[at..=at], its[..]);
        }
    }
}

#[test]
fn a_range_that_is_missing_is_that_of_all_values() {
    let x = Table::f64(3, 1, vec![0.0, 1.0, 3.0]).unwrap();
    let question = pairs(&x)
        .formula("h * norm(x - y)")
        .param_axis("h", &[1.0, 10.0, -1.0])
        .fold(FoldSpec::Histogram {
            axes: vec![AxisSpec {
                bins: Some(4),
                ..AxisSpec::default()
            }],
            closed: Closed::Last,
            weights: None,
            mean: false,
            weight: None,
            values: Default::default(),
        });
    let options = Options::default();
    let answer = question.run(&options).unwrap();
    let columns = answer.columns(0).unwrap().unwrap();
    assert_eq!((columns.edges[0][0], columns.edges[0][4]), (-3.0, 30.0));
    assert_eq!(columns.shape, [3, 4]);
}

#[test]
fn what_has_no_meaning_is_refused() {
    let names = vec!["a".to_string(), "b".to_string()];
    let x = Table::f64(2, 2, vec![0.0, 1.0, 2.0, 3.0]).unwrap();
    let x = x.with_names(names).unwrap();
    let options = Options::default();
    let sum = || reduce(ReduceOp::Sum, ReduceAxis::Row);
    let formula = |text: &str| pairs(&x).formula(text);
    for (question, says) in [
        (
            formula("h * norm(x - y)").param_axis("h", &[]).fold(sum()),
            "got none",
        ),
        (
            formula("h * norm(x - y)")
                .param_axis("h", &[1.0, f64::NAN])
                .fold(sum()),
            "NaN as value 1",
        ),
        (
            formula("h * norm(x - y)")
                .param_axis("h", &[1.0; 2000])
                .fold(sum()),
            "at most 1024",
        ),
        (
            formula("norm(x - y)").param_axis("h", &[1.0]).fold(sum()),
            "without it",
        ),
        (
            formula("x.a - y.a").param_axis("a", &[1.0]).fold(sum()),
            "a column",
        ),
        (
            formula("x[0] - y[0]").param_axis("x", &[1.0]).fold(sum()),
            "have already",
        ),
        (
            formula("exp(x[0] - y[0])")
                .param_axis("exp", &[1.0])
                .fold(sum()),
            "have already",
        ),
        (
            formula("h * x[0]").param_axis("h h", &[1.0]).fold(sum()),
            "no name",
        ),
        (
            formula("h * x[0]")
                .param("h", 2.0)
                .param_axis("h", &[1.0])
                .fold(sum()),
            "a value already",
        ),
        (
            formula("h * norm(x - y)")
                .param_axis("h", &[1.0])
                .fold(FoldSpec::Matrix {}),
            "a matrix",
        ),
        (
            pairs(&x)
                .metric("euclidean")
                .param_axis("h", &[1.0])
                .fold(sum()),
            "option 'h'",
        ),
    ] {
        let told = question.run(&options).unwrap_err().to_string();
        assert!(told.contains(says), "{says}: {told}");
    }
    // Options of metrics, and formulas of folds.
    let question = pairs(&x)
        .metric("minkowski")
        .param_axis("p", &[1.0, 2.0])
        .fold(sum());
    assert_eq!(
        question
            .run(&options)
            .unwrap()
            .columns(0)
            .unwrap()
            .unwrap()
            .shape,
        [2, 2]
    );
    let weighed = histogram(None, Some("exp(-value / h)"));
    let question = pairs(&x)
        .metric("euclidean")
        .param_axis("h", &[1.0, 2.0])
        .fold(weighed);
    assert_eq!(
        question
            .run(&options)
            .unwrap()
            .columns(0)
            .unwrap()
            .unwrap()
            .shape,
        [2, 7]
    );
}

//! Second stages, and Hausdorff's and Chamfer's distances, against double loops over rows.

use std::sync::atomic::{AtomicBool, Ordering};
use zipfold::columns::{Columns, Role, Side};
use zipfold::internals::core::Random;
use zipfold::internals::device::DeviceSelector;
use zipfold::internals::set_distance::{SetDirection, SetDistance, SetDistanceLine, SetMeasure};
use zipfold::io::{OutputOptions, ReadOptions, read_table};
use zipfold::problem::{Domain, FoldSpec, NanPolicy, QuantileSpec, ReduceAxis, ReduceOp};
use zipfold::{Answer, Blame, Data, Options, Overrides, Progress, Table, pairs};

/// Rows on a coarse lattice, so that many distances are equal; with a label each.
struct Set {
    rows: Vec<Vec<f64>>,
    labels: Vec<f64>,
}

impl Set {
    fn random(random: &mut Random, n: usize, dim: usize, labels: usize) -> Set {
        let number = |random: &mut Random| random.below(9) as f64 / 4.0;
        Set {
            rows: (0..n)
                .map(|_| (0..dim).map(|_| number(random)).collect())
                .collect(),
            labels: (0..n).map(|_| random.below(labels) as f64).collect(),
        }
    }
    fn table(&self, dim: usize) -> Table {
        let table = Table::f64(self.rows.len(), dim, self.rows.concat()).unwrap();
        let labels = Table::f64(self.rows.len(), 1, self.labels.clone()).unwrap();
        let labels = labels.with_names(vec!["label".into()]).unwrap();
        table.with_attributes(labels).unwrap()
    }
    /// The rows with a label, or all.
    fn labelled(&self, label: Option<f64>) -> Vec<usize> {
        let has = |row: &usize| label.is_none_or(|label| self.labels[*row] == label);
        (0..self.rows.len()).filter(has).collect()
    }
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    let squares = x.iter().zip(y).map(|(a, b)| (a - b) * (a - b));
    squares.fold(0.0, |sum, square| sum + square).sqrt()
}

/// The nearest of some rows of `to`, the first of equals; none of no rows.
fn nearest(from: &[f64], to: &Set, rows: &[usize]) -> (f64, Option<usize>) {
    let mut best = (f64::NAN, None);
    for j in rows {
        let d = distance(from, &to.rows[*j]);
        if best.1.is_none() || d < best.0 {
            best = (d, Some(*j));
        }
    }
    best
}

/// The largest distance from some rows to the nearest of others, and its rows.
fn directed(x: &Set, y: &Set, label: Option<f64>) -> (f64, Option<[usize; 2]>) {
    let mut worst = (f64::NAN, None);
    for i in x.labelled(label) {
        let (d, j) = nearest(&x.rows[i], y, &y.labelled(label));
        let Some(j) = j else {
            return (f64::NAN, None);
        };
        if worst.1.is_none() || d > worst.0 {
            worst = (d, Some([i, j]));
        }
    }
    worst
}

fn mean_of_nearest(x: &Set, y: &Set, label: Option<f64>) -> f64 {
    let rows = x.labelled(label);
    let all = rows
        .iter()
        .map(|i| nearest(&x.rows[*i], y, &y.labelled(label)).0);
    all.sum::<f64>() / rows.len() as f64
}

fn data(x: Table, y: Table) -> Data {
    Data {
        pairs: None,
        x,
        y: Some(y),
        weights: vec![None],
    }
}

fn close(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= 1e-14 * a.abs().max(b.abs())
}

fn swapped(rows: Option<[usize; 2]>) -> Option<[usize; 2]> {
    rows.map(|[i, j]| [j, i])
}

#[test]
fn distances_of_sets_are_those_of_double_loops() {
    let mut random = Random::new(1);
    let options = Options::default();
    for (n, m, dim) in [
        (1, 1, 1),
        (1, 9, 2),
        (130, 257, 2),
        (300, 40, 3),
        (65, 129, 17),
    ] {
        let (x, y) = (
            Set::random(&mut random, n, dim, 3),
            Set::random(&mut random, m, dim, 3),
        );
        let data = data(x.table(dim), y.table(dim));
        for batch in [false, true] {
            let mut asked = SetDistance::new(SetMeasure::Hausdorff, "x", "y");
            asked.batch = batch.then(|| "label".to_string());
            let found = asked.of_data(&data, &options).unwrap();
            asked.measure = SetMeasure::Chamfer;
            let means = asked.of_data(&data, &options).unwrap();
            let labels: Vec<Option<f64>> = match &found.batches {
                None => vec![None],
                Some((_, names)) => names.iter().map(|name| name.parse().ok()).collect(),
            };
            assert_eq!(found.lines.len(), labels.len());
            for ((label, line), mean) in labels.iter().zip(&found.lines).zip(&means.lines) {
                let what = format!("{n} × {m}, {dim}, {label:?}");
                let (forward, rows) = directed(&x, &y, *label);
                let (backward, back) = directed(&y, &x, *label);
                let (ahead, behind) = (line.forward.unwrap(), line.backward.unwrap());
                assert!(
                    close(ahead.value, forward) && close(behind.value, backward),
                    "{what}"
                );
                assert_eq!((ahead.rows, behind.rows), (rows, swapped(back)), "{what}");
                let larger = match forward.is_nan() || backward.is_nan() {
                    true => f64::NAN,
                    false => forward.max(backward),
                };
                assert!(close(line.value, larger), "{what}");
                let of = [
                    mean_of_nearest(&x, &y, *label),
                    mean_of_nearest(&y, &x, *label),
                ];
                assert!(close(mean.forward.unwrap().value, of[0]), "{what}");
                assert!(close(mean.value, of[0] + of[1]), "{what}");
            }
        }
    }
}

/// The first line of the distances of `asked`, with these choices of the plan.
fn line_of(asked: &SetDistance, data: &Data, set: &[(&str, &str)]) -> SetDistanceLine {
    asked.of_data(data, &choosing(set)).unwrap().lines[0]
}

/// A run with these choices of the plan.
fn choosing(set: &[(&str, &str)]) -> Options<'static> {
    Options {
        overrides: Overrides::read(set.iter().copied()).unwrap(),
        ..Options::default()
    }
}

/// The nearest row of each row.
fn nearest_one() -> FoldSpec {
    FoldSpec::Nearest {
        k: 1,
        largest: None,
    }
}

#[test]
fn rows_that_are_left_early_never_have_the_answer() {
    let mut random = Random::new(9);
    let euclidean = "sqrt(sum((x - y)^2))";
    // Each formula with sets of every kind and size in turn; all with each where `ZIPFOLD_LONG` is set.
    let formulas = [euclidean, "0 - sum((x - y)^2)", "max(abs(x - y))"];
    let is_long = std::env::var_os("ZIPFOLD_LONG").is_some();
    for (size, (n, m, dim)) in [
        (300, 1100, 3),
        (1025, 1300, 24),
        (1100, 1500, 2),
        (700, 2100, 70),
    ]
    .into_iter()
    .enumerate()
    {
        // Ties everywhere; sets that lie apart; rows that are all the same.
        for (kind, (moved, same)) in [(0.0, false), (2.0, false), (0.5, true)]
            .into_iter()
            .enumerate()
        {
            let (mut x, mut y) = (
                Set::random(&mut random, n, dim, 3),
                Set::random(&mut random, m, dim, 3),
            );
            y.rows.iter_mut().flatten().for_each(|v| *v += moved);
            if same {
                x.rows.fill(vec![1.0; dim]);
                y.rows[m / 2..].fill(vec![0.5; dim]);
            }
            let wanted = [directed(&x, &y, None), directed(&y, &x, None)];
            let data = data(x.table(dim), y.table(dim));
            let some = formulas.iter().enumerate();
            let some = some.filter(|(at, _)| is_long || *at == (size + kind) % 3);
            let some = some.map(|(_, formula)| Some(*formula));
            for formula in std::iter::once(None).chain(some) {
                let mut asked = SetDistance::new(SetMeasure::Hausdorff, "x", "y");
                asked.formula = formula.map(str::to_string);
                let swept = line_of(&asked, &data, &[("family", "vm"), ("prune", "off")]);
                for set in [
                    &[][..],
                    &[("prune", "on")],
                    &[("tile.rows", "256"), ("prune", "off")],
                ] {
                    // Boxes of long rows are refused.
                    if dim > 64 && set == [("prune", "on")] {
                        continue;
                    }
                    let line = line_of(&asked, &data, set);
                    let what = format!("{n} × {m}, {dim}, {moved}, {formula:?}, {set:?}");
                    for (mine, its) in [
                        (line.forward, swept.forward),
                        (line.backward, swept.backward),
                    ] {
                        assert_eq!(mine, its, "{what}");
                    }
                    if formula.is_none() {
                        let (ahead, behind) = (line.forward.unwrap(), line.backward.unwrap());
                        assert_eq!((ahead.value, ahead.rows), wanted[0], "{what}");
                        assert_eq!(
                            (behind.value, behind.rows),
                            (wanted[1].0, swapped(wanted[1].1)),
                            "{what}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_plan_says_which_rows_are_left_early() {
    let mut random = Random::new(10);
    let options = Options::default();
    for (n, dim, says) in [
        (300_000, 3, "on, by bounds of groups of rows"),
        (3_000, 70, "on, by rows that meet some columns at a time"),
    ] {
        let x = Set::random(&mut random, n, dim, 1);
        let table = x.table(dim);
        let question = pairs(&table).with(&table).fold(nearest_one());
        let text = question
            .clone()
            .then("max")
            .query(&options)
            .explain()
            .unwrap();
        let text = text.text(false).to_string();
        assert!(
            text.contains(says) && text.contains("a row is left"),
            "{text}"
        );
        for then in ["min", "mean"] {
            let text = question
                .clone()
                .then(then)
                .query(&options)
                .explain()
                .unwrap();
            assert!(
                !text.text(false).to_string().contains("a row is left"),
                "{then}"
            );
        }
    }
}

/// Values that are NaN, infinite or too large to square, with each of the policies: what is said, too,
/// is that of a sweep.
#[test]
fn rows_without_finite_values_are_not_left_for_them() {
    let mut random = Random::new(13);
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200, -1e200];
    for (dim, columns) in [(3, 1500), (70, 1300)] {
        for kinds in [&odd[..1], &odd[1..3], &odd[3..], &odd[..]] {
            let (mut x, mut y) = (
                Set::random(&mut random, 500, dim, 1),
                Set::random(&mut random, columns, dim, 1),
            );
            for (at, value) in kinds.iter().enumerate() {
                x.rows[at * 97 + 5][at % dim] = *value;
                y.rows[at * 173 + 7][dim - 1] = *value;
            }
            let data = data(x.table(dim), y.table(dim));
            for nan in [NanPolicy::Error, NanPolicy::Propagate, NanPolicy::Skip] {
                let mut asked = SetDistance::new(SetMeasure::Hausdorff, "x", "y");
                asked.nan = nan;
                let answer = |set: &[(&str, &str)]| match asked.of_data(&data, &choosing(set)) {
                    Ok(found) => format!("{:?}", found.lines),
                    Err(e) => e.to_string(),
                };
                let swept = answer(&[("family", "vm"), ("prune", "off")]);
                for set in [&[][..], &[("prune", "off")]] {
                    assert_eq!(answer(set), swept, "{dim} {kinds:?} {nan:?} {set:?}");
                }
            }
        }
    }
}

/// A device that is lost leaves its rows to the host, which has no rows that it left early.
#[test]
#[ignore = "needs opencl"]
fn a_device_leaves_no_row_early() {
    let mut random = Random::new(14);
    let (x, y) = (
        Set::random(&mut random, 700, 70, 1),
        Set::random(&mut random, 5000, 70, 1),
    );
    let (x, y) = (x.table(70), y.table(70));
    let question = pairs(&x).with(&y).fold(nearest_one()).then("max");
    let plain = Options::default();
    let here = question.run(&plain).unwrap();
    assert!(here.outcome.tally.skipped > 0);
    for launches in [None, Some("0"), Some("1")] {
        let set: Vec<_> = launches
            .map(|count| ("fault.launches", count))
            .into_iter()
            .collect();
        let options = Options {
            device: DeviceSelector::parse("opencl").unwrap(),
            ..choosing(&set)
        };
        let there = question.run(&options).unwrap();
        let plan = &there.outcome.plan;
        assert!(
            launches.is_some() || plan.device.is_some(),
            "{}",
            plan.backend
        );
        assert_eq!(there.outcome.tally.skipped, 0, "{launches:?}");
        assert_eq!(numbers(&there), numbers(&here), "{launches:?}");
    }
}

/// A run that goes on from a checkpoint has rows that were left before; those of a share have their
/// results, and the plan says so.
#[test]
fn a_run_that_goes_on_leaves_rows_early_and_a_share_does_not() {
    let mut random = Random::new(15);
    for dim in [3, 70] {
        let (x, y) = (
            Set::random(&mut random, 6000, dim, 1),
            Set::random(&mut random, 1300, dim, 1),
        );
        let (x, y) = (x.table(dim), y.table(dim));
        let question = pairs(&x).with(&y).fold(nearest_one()).then("max");
        let path =
            std::env::temp_dir().join(format!("zipfold-stages-{dim}-{}", std::process::id()));
        let narrow = || choosing(&[("tile.rows", "256"), ("batch", "1")]);
        let at_once = narrow();
        let plain = question.run(&at_once).unwrap();
        let stop = AtomicBool::new(false);
        let tell = |told: Progress| stop.store(told.pairs > 0, Ordering::Relaxed);
        let begun = Options {
            checkpoint: Some(path.clone()),
            progress: Some(&tell),
            stop: Some(&stop),
            ..narrow()
        };
        let error = question.run(&begun).map(|_| ()).unwrap_err();
        assert_eq!(error.blame(), Blame::Interrupted, "{error}");
        let resumed = Options {
            checkpoint: Some(path.clone()),
            resume: true,
            ..narrow()
        };
        let whole = question.run(&resumed).unwrap();
        let _ = std::fs::remove_file(path);
        assert!(whole.outcome.before > 0);
        assert!(whole.outcome.tally.skipped > 0);
        assert_eq!(numbers(&plain), numbers(&whole), "{dim}");
        for shard in [None, Some((1, 3))] {
            let options = Options { shard, ..narrow() };
            let text = question.query(&options).explain().unwrap();
            let says = text.text(false).to_string().contains("a row is left");
            assert_eq!(says, shard.is_none(), "{dim} {shard:?}");
            if shard.is_some() && dim == 70 {
                assert_eq!(question.run(&options).unwrap().outcome.tally.skipped, 0);
            }
        }
    }
}

/// Groups of equal size have one plan for pairs of two groups and for pairs within one, where no row
/// meets itself.
#[test]
fn rows_of_groups_are_left_early_and_never_meet_themselves() {
    let mut random = Random::new(12);
    let mut x = Set::random(&mut random, 2 * 1100, 70, 1);
    for (at, label) in x.labels.iter_mut().enumerate() {
        *label = (at % 2) as f64;
    }
    let table = x.table(70);
    let question = pairs(&table).fold(nearest_one()).then("max");
    for (question, leaves) in [
        (question.clone().by("label"), true),
        (question.clone().batch("label"), false),
        (question.within("same:label"), false),
    ] {
        let run = |family: Option<&str>| {
            let set: Vec<_> = family
                .map(|family| ("family", family))
                .into_iter()
                .collect();
            let options = choosing(&set);
            let answer = question.run(&options).unwrap();
            let rows = [Side::X, Side::Y].map(|side| {
                let columns = answer.columns(0).unwrap().unwrap();
                rows_of(&columns, side)
            });
            // Pairs of two groups are left out where the family is not given.
            let left_out = answer.outcome.tally.skipped > 0;
            assert_eq!(left_out, leaves && family.is_none());
            (numbers(&answer), rows)
        };
        let (mine, swept) = (run(None), run(Some("vm")));
        assert_eq!(mine, swept);
        assert!(mine.0.iter().all(|value| *value > 0.0), "{mine:?}");
    }
}

#[test]
fn minima_and_maxima_of_rows_are_left_early_too() {
    let mut random = Random::new(11);
    let (x, y) = (
        Set::random(&mut random, 900, 3, 3),
        Set::random(&mut random, 700, 3, 3),
    );
    let (tx, ty) = (x.table(3), y.table(3));
    for formula in ["norm(x - y)", "sum(x * y) - 1", "exp(-h * norm(x - y))"] {
        for (op, then) in [
            (ReduceOp::Min, "max"),
            (ReduceOp::Max, "min"),
            (ReduceOp::Max, "max"),
        ] {
            let question = pairs(&tx).with(&ty).formula(formula);
            let question = match formula.contains("h ") {
                true => question.param_axis("h", &[0.5, 2.0, -1.0]),
                false => question,
            };
            let question = question
                .by("label")
                .fold(reduce(op, ReduceAxis::Row))
                .then(then);
            let question = [question.clone(), question.within("same:label")];
            for question in question {
                let run = |prune: &str| {
                    let options = choosing(&[("prune", prune)]);
                    let answer = question.run(&options).unwrap();
                    let rows = rows_of(&answer.columns(0).unwrap().unwrap(), Side::X);
                    (numbers(&answer), rows)
                };
                assert_eq!(run("on"), run("off"), "{formula} {op:?} {then}");
            }
        }
    }
}

#[test]
fn a_direction_and_a_quantile_are_asked_alone() {
    let mut random = Random::new(2);
    let (x, y) = (
        Set::random(&mut random, 100, 2, 1),
        Set::random(&mut random, 50, 2, 1),
    );
    let (data, options) = (data(x.table(2), y.table(2)), Options::default());
    let mut asked = SetDistance::new(SetMeasure::Hausdorff, "x", "y");
    for (direction, from, to) in [
        (SetDirection::Forward, &x, &y),
        (SetDirection::Backward, &y, &x),
    ] {
        asked.direction = direction;
        let line = asked.of_data(&data, &options).unwrap().lines[0];
        assert_eq!(line.value, directed(from, to, None).0);
        assert_eq!(line.forward.is_some(), direction == SetDirection::Forward);
        assert_eq!(line.backward.is_some(), direction == SetDirection::Backward);
    }
    asked.direction = SetDirection::Forward;
    asked.quantile = Some(0.5);
    let all = y.labelled(None);
    let mut sorted: Vec<f64> = x.rows.iter().map(|row| nearest(row, &y, &all).0).collect();
    sorted.sort_by(f64::total_cmp);
    let line = asked.of_data(&data, &options).unwrap().lines[0];
    assert!(close(line.value, (sorted[49] + sorted[50]) / 2.0));
    assert_eq!(line.rows(), None);
}

#[test]
fn asymmetric_pairs_similarities_and_empty_sets_are_refused() {
    let one = Table::f64(1, 1, vec![1.0]).unwrap();
    let none = Table::f64(0, 1, vec![]).unwrap();
    let options = Options::default();
    let ask = |asked: &SetDistance, x: &Table, y: &Table| {
        asked.of_data(&data(x.clone(), y.clone()), &options)
    };
    let plain = SetDistance::new(SetMeasure::Hausdorff, "x", "y");
    for (x, y) in [(&one, &none), (&none, &one), (&none, &none)] {
        assert_eq!(ask(&plain, x, y).unwrap_err().blame(), Blame::Input);
    }
    let mut asked = plain.clone();
    asked.formula = Some("abs(2 * x[0] - y[0])".into());
    assert!(
        ask(&asked, &one, &one)
            .unwrap_err()
            .to_string()
            .contains("change")
    );
    asked.direction = SetDirection::Forward;
    assert_eq!(ask(&asked, &one, &one).unwrap().lines[0].value, 1.0);
    let mut asked = plain.clone();
    asked.metric = Some("pearson".into());
    assert!(
        ask(&asked, &one, &one)
            .unwrap_err()
            .to_string()
            .contains("similarity")
    );
    let mut asked = plain.clone();
    asked.quantile = Some(1.5);
    assert!(ask(&asked, &one, &one).is_err());
    asked.quantile = Some(0.5);
    asked.measure = SetMeasure::Chamfer;
    assert!(ask(&asked, &one, &one).is_err());
}

#[test]
fn rows_of_nan_are_refused_or_the_answer_or_left_out() {
    let x = Table::f64(3, 1, vec![0.0, f64::NAN, 4.0]).unwrap();
    let y = Table::f64(2, 1, vec![1.0, f64::NAN]).unwrap();
    let (data, options) = (data(x, y), Options::default());
    let mut asked = SetDistance::new(SetMeasure::Hausdorff, "x", "y");
    assert!(asked.of_data(&data, &options).is_err());
    asked.nan = NanPolicy::Propagate;
    let line = asked.of_data(&data, &options).unwrap().lines[0];
    assert!(line.value.is_nan() && line.forward.unwrap().value.is_nan());
    asked.nan = NanPolicy::Skip;
    let line = asked.of_data(&data, &options).unwrap().lines[0];
    assert_eq!((line.value, line.rows()), (3.0, Some([2, 0])));
    assert_eq!(line.backward.unwrap().value, 1.0);
}

/// The numbers of the columns that are not rows, groups or ranks.
fn numbers(answer: &Answer<'_>) -> Vec<f64> {
    let columns = answer.columns(0).unwrap().unwrap();
    let values = columns.with_role(Role::Value).unwrap();
    let values = columns.all(values);
    (0..values.len()).map(|at| values.get(at)).collect()
}

fn rows_of(columns: &Columns<'_>, side: Side) -> Vec<Option<usize>> {
    let rows = columns.all(columns.with_role(Role::Row(side)).unwrap());
    (0..rows.len()).map(|at| rows.row(at)).collect()
}

fn reduce(op: ReduceOp, axis: ReduceAxis) -> FoldSpec {
    FoldSpec::Reduce {
        op,
        axis,
        weights: None,
    }
}

/// What a second stage makes of numbers, as a plain loop has it.
fn folded(then: &str, values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match then {
        "sum" => values.iter().sum(),
        "mean" => values.iter().sum::<f64>() / values.len() as f64,
        "min" => sorted[0],
        "max" => sorted[sorted.len() - 1],
        _ => {
            let place = 0.25 * (sorted.len() - 1) as f64;
            let (low, part) = (place.floor() as usize, place.fract());
            let next = sorted.get(low + 1).copied().unwrap_or(sorted[low]);
            sorted[low] + (next - sorted[low]) * part
        }
    }
}

#[test]
fn results_by_row_and_column_are_folded_once_more() {
    let mut random = Random::new(3);
    let (x, y) = (
        Set::random(&mut random, 140, 2, 4),
        Set::random(&mut random, 90, 2, 4),
    );
    let (tx, ty) = (x.table(2), y.table(2));
    let options = Options::default();
    let row = |i: usize| -> Vec<f64> { y.rows.iter().map(|b| distance(&x.rows[i], b)).collect() };
    for (axis, op) in [
        (ReduceAxis::Row, ReduceOp::Sum),
        (ReduceAxis::Row, ReduceOp::Min),
        (ReduceAxis::Column, ReduceOp::Max),
        (ReduceAxis::Row, ReduceOp::Count),
    ] {
        let of = |values: &[f64]| match op {
            ReduceOp::Sum => values.iter().sum::<f64>(),
            ReduceOp::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            ReduceOp::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            _ => values.iter().filter(|v| **v != 0.0).count() as f64,
        };
        let plain: Vec<f64> = match axis {
            ReduceAxis::Column => {
                let column = |j: usize| -> Vec<f64> {
                    x.rows.iter().map(|a| distance(a, &y.rows[j])).collect()
                };
                (0..90).map(|j| of(&column(j))).collect()
            }
            _ => (0..140).map(|i| of(&row(i))).collect(),
        };
        for then in ["sum", "mean", "min", "max", "quantile:0.25"] {
            let question = pairs(&tx).with(&ty).fold(reduce(op, axis)).then(then);
            let answer = question.run(&options).unwrap();
            let found = numbers(&answer);
            let wanted = folded(then, &plain);
            assert_eq!(found.len(), 1);
            let near = (found[0] - wanted).abs() <= 1e-12 * wanted.abs();
            assert!(near, "{op:?} {then}: {} {wanted}", found[0]);
            if matches!(then, "min" | "max") {
                let side = match axis {
                    ReduceAxis::Column => Side::Y,
                    _ => Side::X,
                };
                let columns = answer.columns(0).unwrap().unwrap();
                let at = rows_of(&columns, side)[0].unwrap();
                assert!((plain[at] - wanted).abs() <= 1e-12 * wanted.abs());
            }
        }
    }
}

#[test]
fn groups_batches_ranks_and_quantiles_stay_apart() {
    let mut random = Random::new(4);
    let (x, y) = (
        Set::random(&mut random, 120, 2, 3),
        Set::random(&mut random, 70, 2, 3),
    );
    let (tx, ty) = (x.table(2), y.table(2));
    let options = Options::default();
    // Hausdorff's directed distances of all pairs of groups.
    let question = pairs(&tx)
        .with(&ty)
        .by("label")
        .fold(nearest_one())
        .then("max");
    let answer = question.run(&options).unwrap();
    let columns = answer.columns(0).unwrap().unwrap();
    assert_eq!(columns.shape, [3, 3, 1]);
    let (found, rows) = (numbers(&answer), rows_of(&columns, Side::X));
    for (at, value) in found.iter().enumerate() {
        let [a, b] = [at / 3, at % 3].map(|label| Some(label as f64));
        let mut worst = (f64::NEG_INFINITY, 0);
        for i in x.labelled(a) {
            let (d, _) = nearest(&x.rows[i], &y, &y.labelled(b));
            if d > worst.0 {
                worst = (d, i);
            }
        }
        assert_eq!((*value, rows[at]), (worst.0, Some(worst.1)), "{a:?} {b:?}");
    }
    // Batches: each has one value.
    let question = pairs(&tx)
        .with(&ty)
        .batch("label")
        .fold(nearest_one())
        .then("max");
    let answer = question.run(&options).unwrap();
    let wanted: Vec<f64> = (0..3)
        .map(|b| directed(&x, &y, Some(f64::from(b))).0)
        .collect();
    assert_eq!(numbers(&answer), wanted);
    // Ranks, and quantiles.
    let three = FoldSpec::Nearest {
        k: 3,
        largest: None,
    };
    let sorted: Vec<Vec<f64>> = x
        .rows
        .iter()
        .map(|a| {
            let mut row: Vec<f64> = y.rows.iter().map(|b| distance(a, b)).collect();
            row.sort_by(f64::total_cmp);
            row
        })
        .collect();
    let question = pairs(&tx).with(&ty).fold(three).then("max");
    let found = numbers(&question.run(&options).unwrap());
    let column = |at: usize| -> Vec<f64> { sorted.iter().map(|row| row[at]).collect() };
    let wanted: Vec<f64> = (0..3).map(|rank| folded("max", &column(rank))).collect();
    assert_eq!(found, wanted);
    let ends = FoldSpec::Quantile(QuantileSpec { q: vec![0.0, 1.0] });
    for then in ["min", "mean"] {
        let question = pairs(&tx).with(&ty).fold(ends.clone()).then(then);
        let answer = question.run(&options).unwrap();
        let wanted = [folded(then, &column(0)), folded(then, &column(69))];
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
        assert!(numbers(&answer).iter().zip(&wanted).all(near), "{then}");
        let columns = answer.columns(0).unwrap().unwrap();
        let quantiles = columns.with_role(Role::Parameter).unwrap();
        assert_eq!(quantiles.header, "quantile");
        let named = columns.all(quantiles);
        assert_eq!([named.get(0), named.get(1)], [0.0, 1.0], "{then}");
    }
}

#[test]
fn no_row_has_no_mean_and_other_folds_are_refused() {
    let none = Table::f64(0, 2, vec![]).unwrap();
    let some = Table::f64(2, 2, vec![0.0; 4]).unwrap();
    let options = Options::default();
    for (then, wanted) in [
        ("sum", 0.0),
        ("mean", f64::NAN),
        ("max", f64::NAN),
        ("median", f64::NAN),
    ] {
        let question = pairs(&none)
            .with(&some)
            .fold(reduce(ReduceOp::Sum, ReduceAxis::Row));
        let found = numbers(&question.then(then).run(&options).unwrap());
        assert!(
            found.len() == 1 && close(found[0], wanted),
            "{then}: {found:?}"
        );
    }
    // A row that meets no other has no neighbour.
    let question = pairs(&some).with(&none).fold(FoldSpec::Nearest {
        k: 1,
        largest: None,
    });
    assert!(numbers(&question.then("max").run(&options).unwrap())[0].is_nan());
    for fold in [
        FoldSpec::Matrix {},
        reduce(ReduceOp::Sum, ReduceAxis::All),
        reduce(ReduceOp::Argmin, ReduceAxis::Row),
    ] {
        let question = pairs(&some).fold(fold).then("max");
        let told = question.run(&options).unwrap_err().to_string();
        assert!(told.contains("numbers by row"), "{told}");
    }
    for text in ["most", "quantile:2", "quantile:x", ""] {
        let question = pairs(&some)
            .fold(reduce(ReduceOp::Sum, ReduceAxis::Row))
            .then(text);
        assert!(question.run(&options).is_err(), "{text}");
    }
}

/// An array holds the values, and not the rows that have them; a sparse matrix holds pairs.
#[test]
fn second_stages_are_written_as_their_values() {
    let mut random = Random::new(16);
    let table = Set::random(&mut random, 40, 2, 1).table(2);
    let folder = std::env::temp_dir().join(format!("zipfold-written-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let options = Options::default();
    let how = || OutputOptions {
        force: true,
        ..OutputOptions::default()
    };
    for fold in [
        nearest_one(),
        reduce(ReduceOp::Min, ReduceAxis::Row),
        reduce(ReduceOp::Sum, ReduceAxis::Row),
        FoldSpec::Quantile(QuantileSpec { q: vec![0.1, 0.5] }),
    ] {
        for then in ["max", "min", "mean", "sum"] {
            let question = pairs(&table)
                .domain(Domain::Ordered)
                .fold(fold.clone())
                .then(then);
            let answer = question.run(&options).unwrap();
            answer.write(&path("a.npy"), how()).unwrap();
            let read = read_table(&path("a.npy"), &ReadOptions::default(), &options.budget);
            let read = read.unwrap();
            let written: Vec<f64> = (0..read.rows()).map(|row| read.get(row, 0)).collect();
            assert_eq!(written, numbers(&answer), "{fold:?} {then}");
            let refused = answer.write(&path("a.csr.npz"), how()).unwrap_err();
            assert!(refused.to_string().contains("sparse matrix"), "{refused}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

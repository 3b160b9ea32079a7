//! Weights of pairs: none is too light to count, none that is missing counts, and means divide by
//! what they add up.

use zipfold::pairs;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Closed, ReduceOp};
use zipfold_core::problem::{AxisSpec, FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Table};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::Numbers;
use zipfold_testkit::everywhere::everywhere;

fn column(items: &[f64]) -> Table {
    Table::f64(items.len(), 1, items.to_vec()).unwrap()
}

/// The exact sum, rounded once (Shewchuk).
fn exact(terms: impl Iterator<Item = f64>) -> f64 {
    let mut parts: Vec<f64> = vec![];
    for mut x in terms {
        let mut kept = vec![];
        for mut y in parts {
            if x.abs() < y.abs() {
                (x, y) = (y, x);
            }
            let hi = x + y;
            let lo = y - (hi - x);
            if lo != 0.0 {
                kept.push(lo);
            }
            x = hi;
        }
        kept.push(x);
        parts = kept;
    }
    parts.iter().sum()
}

fn histogram(
    x: &Table,
    y: Option<&Table>,
    edges: &[f64],
    w: [&[f64]; 2],
    nan: NanPolicy,
) -> Result<Numbers, String> {
    let axis = AxisSpec {
        edges: Some(edges.to_vec()),
        ..Default::default()
    };
    let fold = FoldSpec::Histogram {
        axes: vec![axis],
        closed: Closed::Last,
        weights: Some("w".into()),
        mean: true,
        weight: None,
        values: Default::default(),
    };
    let asked = pairs(x);
    let asked = if let Some(y) = y {
        asked.with(y)
    } else {
        asked
    }
    .fold(fold);
    let problem = Problem {
        nan,
        ..asked.problem().clone()
    };
    let data = Data {
        pairs: None,
        x: x.clone(),
        y: y.cloned(),
        weights: vec![Some(w.map(column))],
    };
    everywhere(&problem, &data)
        .map(|mut n| n.remove(0))
        .map_err(|e| e.to_string())
}

fn sums(numbers: &Numbers) -> &[f64] {
    &numbers.iter().find(|(name, _)| *name == "sums").unwrap().1
}

#[test]
fn no_pair_is_too_light_to_count() {
    let x = column(&[0.0, 50.0, 50.5]);
    let of = |w: &[f64]| histogram(&x, None, &[0.0, 1.0, 100.0], [w, w], NanPolicy::Error).unwrap();
    assert_eq!(sums(&of(&[1e13, 1.0, 1.0]))[1..3], [1.0, 2e13]);
    assert_eq!(
        sums(&of(&[1e150, 1e-150, 1.0]))[1..3],
        [1e-150, exact([1e150 * 1e-150, 1e150].into_iter())]
    );
    assert_eq!(sums(&of(&[0.0, 0.0, 0.0]))[1..3], [0.0, 0.0]);
    assert_eq!(sums(&of(&[-1e150, 1e-160, 1e-161]))[1], 1e-160 * 1e-161);
}

#[test]
fn weights_of_all_sizes_add_up_exactly() {
    let mut lcg = Lcg::new(5);
    for round in 0..60 {
        let reach = [0, 5, 12, 40, 150][round % 5] as f64;
        let dim = 1 + round % 3;
        let n = 20 + lcg.below(150);
        let table = |lcg: &mut Lcg| {
            Table::f64(
                n,
                dim,
                (0..n * dim).map(|_| lcg.between(0.0, 9.0)).collect(),
            )
            .unwrap()
        };
        let weigh = |lcg: &mut Lcg| -> Vec<f64> {
            let of =
                |lcg: &mut Lcg| lcg.between(-1.0, 1.0) * 10f64.powf(lcg.between(-reach, reach));
            (0..n)
                .map(|_| if lcg.below(9) == 0 { 0.0 } else { of(lcg) })
                .collect()
        };
        let (x, y, a, b) = (
            table(&mut lcg),
            table(&mut lcg),
            weigh(&mut lcg),
            weigh(&mut lcg),
        );
        let edges = [0.0, 0.5, 1.5, 4.0, 7.0];
        let got = histogram(&x, Some(&y), &edges, [&a, &b], NanPolicy::Error).unwrap();
        for bin in 0..4 {
            let all = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
            let inside = all.filter(|(i, j)| {
                let r = (0..dim)
                    .map(|k| x.get(*i, k) - y.get(*j, k))
                    .fold(0.0, |s, d| s + d * d);
                edges[bin] * edges[bin] <= r && r < edges[bin + 1] * edges[bin + 1]
            });
            let terms: Vec<f64> = inside.map(|(i, j)| a[i] * b[j]).collect();
            let wanted = exact(terms.iter().copied());
            let bound = terms.iter().map(|t| t.abs()).sum::<f64>() * 2f64.powi(-47);
            let got = sums(&got)[bin + 1];
            assert!(
                (got - wanted).abs() <= bound,
                "round {round} bin {bin}: {got:e}, wanted {wanted:e}"
            );
            if reach >= 40.0 {
                assert_eq!(got, wanted, "round {round} bin {bin}");
            }
        }
    }
}

#[test]
fn values_of_all_sizes_have_their_mean() {
    let x = column(&[0.0, 1e-40, 3e-40, 1.0]);
    let axis = AxisSpec {
        edges: Some(vec![0.0, 1e-39, 0.5, f64::INFINITY]),
        ..Default::default()
    };
    let fold = FoldSpec::Histogram {
        axes: vec![axis],
        closed: Closed::Last,
        weights: None,
        mean: true,
        weight: None,
        values: Default::default(),
    };
    let asked = pairs(&x).formula("abs(x[0] - y[0])").fold(fold);
    let got = everywhere(
        asked.problem(),
        &Data {
            pairs: None,
            x: x.clone(),
            y: None,
            weights: vec![None],
        },
    )
    .unwrap();
    let means = &got[0].iter().find(|(name, _)| *name == "means").unwrap().1;
    assert!(
        (means[1] - 2e-40).abs() < 1e-52 && means[2].is_nan(),
        "{means:?}"
    );
    assert_eq!(means[3], 1.0);
}

#[test]
fn missing_weights_are_refused_left_out_or_nan() {
    let (x, w) = (column(&[0.0, 1.0, 2.0]), [1.0, f64::NAN, 3.0]);
    let edges = [0.0, 1.5, 5.0];
    let e = histogram(&x, None, &edges, [&w, &w], NanPolicy::Error).unwrap_err();
    assert!(e.contains("weights, row 1"), "{e}");
    let left = histogram(&x, None, &edges, [&w, &w], NanPolicy::Skip).unwrap();
    assert_eq!(
        (&left[0].1[..], &sums(&left)[1..3]),
        (&[0.0, 0.0, 1.0, 0.0][..], &[0.0, 3.0][..])
    );
    let all = histogram(&x, None, &edges, [&w, &w], NanPolicy::Propagate).unwrap();
    assert!(sums(&all)[1].is_nan() && sums(&all)[2] == 3.0, "{all:?}");
    let e = histogram(
        &x,
        None,
        &edges,
        [&[1.0, f64::INFINITY, 1.0]; 2],
        NanPolicy::Error,
    )
    .unwrap_err();
    assert!(e.contains("infinite"), "{e}");
    for op in [
        ReduceOp::Sum,
        ReduceOp::Mean,
        ReduceOp::Logsumexp,
        ReduceOp::Softmax,
    ] {
        let ask = |nan: NanPolicy, axis: ReduceAxis, w: &[f64]| {
            let fold = FoldSpec::Reduce {
                op,
                axis,
                weights: Some(input()),
            };
            let asked = pairs(&x).formula("abs(x[0] - y[0])").fold(fold);
            let problem = Problem {
                nan,
                ..asked.problem().clone()
            };
            let data = Data {
                pairs: None,
                x: x.clone(),
                y: None,
                weights: vec![Some([column(w), column(w)])],
            };
            everywhere(&problem, &data)
                .map(|n| n[0][0].1.clone())
                .map_err(|e| e.to_string())
        };
        for axis in [ReduceAxis::Row, ReduceAxis::Column, ReduceAxis::All] {
            assert!(
                ask(NanPolicy::Error, axis, &w)
                    .unwrap_err()
                    .contains("weights, row 1")
            );
            assert!(
                ask(NanPolicy::Propagate, axis, &w)
                    .unwrap()
                    .iter()
                    .all(|v| v.is_nan())
            );
            let (left, zero) = (
                ask(NanPolicy::Skip, axis, &w).unwrap(),
                ask(NanPolicy::Skip, axis, &[1.0, 0.0, 3.0]).unwrap(),
            );
            if matches!(op, ReduceOp::Sum | ReduceOp::Mean) {
                assert_eq!(left, zero, "{op:?} {axis:?}");
            }
        }
    }
}

fn input() -> zipfold_core::problem::Input {
    zipfold_core::problem::Input::named("w")
}

#[test]
fn means_divide_by_the_weights_of_their_column() {
    let (x, y) = (column(&[0.0, 0.5]), column(&[1.0, 2.0, 4.0]));
    let ask = |cols: usize, items: &[f64]| {
        let fold = FoldSpec::Reduce {
            op: ReduceOp::Mean,
            axis: ReduceAxis::Row,
            weights: Some(input()),
        };
        let asked = pairs(&x).with(&y).formula("abs(x[0] - y[0])").fold(fold);
        let w = Table::f64(3, cols, items.to_vec()).unwrap();
        let data = Data {
            pairs: None,
            x: x.clone(),
            y: Some(y.clone()),
            weights: vec![Some([w.clone(), w])],
        };
        everywhere(asked.problem(), &data).unwrap()[0][0].1.clone()
    };
    let one = ask(1, &[1.0, 1.0, 2.0]);
    assert_eq!(one, [2.75, 2.25]);
    assert_eq!(
        ask(2, &[1.0, 1.0, 1.0, 1.0, 2.0, 0.0]),
        [2.75, 1.5, 2.25, 1.0]
    );
}

#[test]
fn one_result_of_half_of_the_pairs_has_each_pair_once() {
    let x = column(&[0.0, 1.0, 3.0, 3.5, 7.0]);
    let ask = |domain: Domain, op: ReduceOp, axis: ReduceAxis| {
        let asked = pairs(&x)
            .formula("abs(x[0] - y[0]) + 1")
            .domain(domain)
            .fold(FoldSpec::Reduce {
                op,
                axis,
                weights: None,
            });
        everywhere(
            asked.problem(),
            &Data {
                pairs: None,
                x: x.clone(),
                y: None,
                weights: vec![None],
            },
        )
        .unwrap()[0][0]
            .1
            .clone()
    };
    let values = pairs(&x)
        .formula("abs(x[0] - y[0]) + 1")
        .condensed()
        .unwrap();
    let (total, count) = (values.iter().sum::<f64>(), values.len() as f64);
    assert_eq!(
        ask(Domain::Triangle, ReduceOp::Sum, ReduceAxis::All),
        [total]
    );
    assert_eq!(
        ask(Domain::Triangle, ReduceOp::Count, ReduceAxis::All),
        [count]
    );
    assert_eq!(
        ask(Domain::Triangle, ReduceOp::Mean, ReduceAxis::All),
        [total / count]
    );
    assert_eq!(
        ask(Domain::Diagonal, ReduceOp::Sum, ReduceAxis::All),
        [total + 5.0]
    );
    assert_eq!(
        ask(Domain::Diagonal, ReduceOp::Count, ReduceAxis::All),
        [count + 5.0]
    );
    assert_eq!(
        ask(Domain::Ordered, ReduceOp::Sum, ReduceAxis::All),
        [2.0 * total]
    );
    assert_eq!(ask(Domain::Triangle, ReduceOp::Max, ReduceAxis::All), [8.0]);
    let lse = values.iter().map(|v| v.exp()).sum::<f64>().ln();
    assert!((ask(Domain::Triangle, ReduceOp::Logsumexp, ReduceAxis::All)[0] - lse).abs() < 1e-12);
    // Rows have all pairs that they are in.
    assert_eq!(
        ask(Domain::Triangle, ReduceOp::Sum, ReduceAxis::Row),
        ask(Domain::Ordered, ReduceOp::Sum, ReduceAxis::Row)
    );
    assert_eq!(
        ask(Domain::Triangle, ReduceOp::Count, ReduceAxis::Row),
        [4.0; 5]
    );
}

#[test]
fn infinite_exponents_are_summed() {
    let (x, y) = (column(&[0.0]), column(&[1.0, 2.0, 3.0]));
    let ask = |text: &str, op: ReduceOp| {
        let fold = FoldSpec::Reduce {
            op,
            axis: ReduceAxis::Row,
            weights: None,
        };
        let asked = pairs(&x).with(&y).formula(text).fold(fold);
        everywhere(
            asked.problem(),
            &Data {
                pairs: None,
                x: x.clone(),
                y: Some(y.clone()),
                weights: vec![None],
            },
        )
        .unwrap()[0][0]
            .1[0]
    };
    assert_eq!(
        ask("if(y[0] > 1, inf, 0)", ReduceOp::Logsumexp),
        f64::INFINITY
    );
    assert_eq!(
        ask("if(y[0] < 3, inf, 0)", ReduceOp::Logsumexp),
        f64::INFINITY
    );
    assert_eq!(
        ask("if(y[0] > 1, inf, -inf)", ReduceOp::Logsumexp),
        f64::INFINITY
    );
    assert_eq!(
        ask("if(y[0] > 9, 0, -inf)", ReduceOp::Logsumexp),
        f64::NEG_INFINITY
    );
}

#[test]
fn rows_of_any_size_and_none_have_their_angles() {
    let of = |metric: &str, a: &[f64], b: &[f64]| {
        let (x, y) = (
            Table::f64(1, a.len(), a.to_vec()).unwrap(),
            Table::f64(1, b.len(), b.to_vec()).unwrap(),
        );
        let asked = pairs(&x).with(&y).metric(metric).fold(FoldSpec::Matrix {});
        let problem = Problem {
            nan: NanPolicy::Propagate,
            ..asked.problem().clone()
        };
        everywhere(
            &problem,
            &Data {
                pairs: None,
                x,
                y: Some(y),
                weights: vec![None],
            },
        )
        .unwrap()[0][0]
            .1[0]
    };
    for size in [1e-310, 1e-200, 1.0, 1e200, 1e307] {
        assert_eq!(of("cosine", &[size, 0.0], &[0.0, size]), 1.0, "{size:e}");
        assert_eq!(of("cosine", &[size, size], &[size, size]), 0.0, "{size:e}");
        assert_eq!(
            of("cosine_similarity", &[size, 0.0], &[-1.0, 0.0]),
            -1.0,
            "{size:e}"
        );
        let opposite = of("correlation", &[size, 0.0, 0.0], &[0.0, 1.0, 1.0]);
        assert!((opposite - 2.0).abs() < 1e-15, "{size:e}: {opposite}");
    }
    assert!(of("pearson", &[0.1; 7], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).is_nan());
    assert!(
        of(
            "correlation",
            &[1e6 + 0.1; 7],
            &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0]
        )
        .is_nan()
    );
    let x = Table::f64(2, 0, vec![]).unwrap();
    let asked = pairs(&x)
        .formula("sum(y) * sum(x * y)")
        .domain(Domain::Square)
        .fold(FoldSpec::Matrix {});
    let got = everywhere(
        asked.problem(),
        &Data {
            pairs: None,
            x: x.clone(),
            y: None,
            weights: vec![None],
        },
    )
    .unwrap();
    assert_eq!(got[0][0].1, [0.0; 4]);
}

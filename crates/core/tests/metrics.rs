//! Named metrics against their reference evaluations, and what lowering makes of them.

use std::collections::{BTreeMap, BTreeSet};
use zipfold_core::Table;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::named::{Named, Params, RowValues, ScaleOption, all, find, require};
use zipfold_core::pair::operators::{binary, unary};
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::pair::source::Source;
use zipfold_core::pair::{Evaluator, Formula, Id, Node, Param, Rows, Side, Symmetry, symmetry};

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    fn within(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.unit()
    }
    fn row(&mut self, named: &Named, dim: usize) -> Vec<f64> {
        let number = |r: &mut Self| match named.domain {
            RowValues::Boolean => f64::from(u8::from(r.unit() < 0.4)),
            RowValues::Missing if r.unit() < 0.2 => f64::NAN,
            RowValues::LatLon => r.within(named.range),
            // Zeros among the numbers.
            _ if r.unit() < 0.1 && named.range.0 <= 0.0 => 0.0,
            _ => r.within(named.range),
        };
        (0..dim).map(|_| number(self)).collect()
    }
}

fn formula_of(named: &Named, params: &Params, dim: Option<usize>) -> Formula {
    let mut formula = Formula::new();
    let root = (named.formula)(&mut formula, params, dim).unwrap();
    formula.roots = vec![root];
    formula
}

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

fn params(list: &[(&str, Param)]) -> Params {
    list.iter()
        .map(|(name, value)| (name.to_string(), value.clone()))
        .collect()
}

fn vector(v: impl IntoIterator<Item = f64>) -> Param {
    Param::Vector(v.into_iter().collect())
}

/// Sets of options to try, for rows of `dim` components.
fn option_sets(named: &Named, dim: usize, random: &mut Random) -> Vec<Params> {
    let mut sets = vec![Params::new()];
    for option in named.options {
        let values: Vec<Param> = match *option {
            "w" => {
                vec![
                    vector((0..dim).map(|k| {
                        if k % 5 == 4 {
                            0.0
                        } else {
                            random.within((0.1, 2.0))
                        }
                    })),
                    Param::Number(0.7),
                ]
            }
            "V" => vec![vector((0..dim).map(|_| random.within((0.1, 2.0))))],
            "p" => [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, f64::INFINITY]
                .map(Param::Number)
                .to_vec(),
            "VI" => vec![],
            "unit" => ["rad", "deg"].map(|word| Param::Word(word.into())).to_vec(),
            "centered" => vec![Param::Number(0.0), Param::Number(1.0)],
            _ => vec![Param::Number(2.0), Param::Number(1.25)],
        };
        let more = sets
            .iter()
            .flat_map(|set| values.iter().map(|v| with(set, option, v.clone())))
            .collect::<Vec<_>>();
        sets.extend(more);
    }
    sets.retain(|set| named.name != "seuclidean" || set.contains_key("V"));
    sets
}

fn with(set: &Params, name: &str, value: Param) -> Params {
    let mut set = set.clone();
    set.insert(name.into(), value);
    set
}

fn tolerance(named: &Named, x: &[f64], y: &[f64], expected: f64) -> f64 {
    let norm = |r: &[f64]| r.iter().map(|v| v * v).sum::<f64>().sqrt();
    let scale = match named.scale {
        ScaleOption::Relative => expected.abs(),
        ScaleOption::Fixed(size) => size.max(expected.abs()),
        ScaleOption::Norms => norm(x) * norm(y),
    };
    1e-12 * scale
}

fn close(named: &Named, x: &[f64], y: &[f64], got: f64, expected: f64) -> bool {
    let same = got == expected || (got.is_nan() && expected.is_nan());
    // Where values pass through a square root of nearly nothing, half of the digits are left.
    let loose = if named.name == "jensenshannon" {
        1e-7
    } else {
        0.0
    };
    same || (got - expected).abs() <= tolerance(named, x, y, expected).max(loose)
}

fn dims(named: &Named) -> &'static [usize] {
    if named.domain == RowValues::LatLon {
        &[2]
    } else {
        &[0, 1, 2, 3, 7, 33]
    }
}

#[test]
fn formulas_meet_their_references() {
    let mut random = Random(7);
    for named in all() {
        for dim in dims(named) {
            for set in option_sets(named, *dim, &mut random) {
                let formula = formula_of(named, &set, Some(*dim));
                let rows: Vec<Vec<f64>> = (0..12).map(|_| random.row(named, *dim)).collect();
                let special = [vec![0.0; *dim], vec![1.0; *dim], rows[0].clone()];
                let rows: Vec<&Vec<f64>> = rows.iter().chain(&special).collect();
                for (x, y) in rows.iter().flat_map(|x| rows.iter().map(move |y| (*x, *y))) {
                    let (got, expected) = (value(&formula, x, y), (named.reference)(x, y, &set));
                    let what = format!(
                        "{} {set:?} of {x:?} and {y:?}: {got} not {expected}",
                        named.name
                    );
                    assert!(close(named, x, y, got, expected), "{what}");
                }
            }
        }
    }
}

#[test]
fn equal_rows_are_at_zero_in_distances_by_differences() {
    let mut random = Random(11);
    for named in all()
        .iter()
        .filter(|n| n.scale == ScaleOption::Relative && n.name != "additive_chi2")
    {
        for set in option_sets(named, 7, &mut random) {
            let formula = formula_of(named, &set, Some(7));
            let row: Vec<f64> = (0..7).map(|_| random.within((0.5, 1.0))).collect();
            assert_eq!(value(&formula, &row, &row), 0.0, "{} {set:?}", named.name);
        }
    }
}

#[test]
fn equal_rows_are_at_zero_or_one_by_angle() {
    let mut random = Random(12);
    let angles = [
        ("cosine", 0.0),
        ("correlation", 0.0),
        ("pearson", 1.0),
        ("spearman", 1.0),
        ("cosine_similarity", 1.0),
    ];
    for (name, same) in angles {
        let named = find(name).unwrap();
        for dim in 3..40 {
            for set in option_sets(named, dim, &mut random) {
                let formula = formula_of(named, &set, Some(dim));
                let row: Vec<f64> = (0..dim).map(|_| random.within((-1e6, 1e6))).collect();
                let near: Vec<f64> = row
                    .iter()
                    .enumerate()
                    .map(|(k, v)| if k == 0 { v * 1.001 } else { *v })
                    .collect();
                assert_eq!(value(&formula, &row, &row), same, "{name} {set:?}");
                assert_ne!(value(&formula, &row, &near), same, "{name} {set:?}");
            }
        }
    }
}

#[test]
fn values_lie_within_what_is_declared_and_similarities_are_largest_of_equal_rows() {
    let mut random = Random(5);
    for named in all() {
        assert!(
            !named.about.is_empty() && named.values.0 < named.values.1,
            "{}",
            named.name
        );
        let set = if named.name == "seuclidean" {
            params(&[("V", Param::Number(0.5))])
        } else {
            Params::new()
        };
        let dim = if named.domain == RowValues::LatLon {
            2
        } else {
            9
        };
        let formula = formula_of(named, &set, Some(dim));
        // Rows of one length, of which the inner product with itself is the largest.
        let mut row = |unit: bool| {
            let row = random.row(named, dim);
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            if unit {
                row.iter().map(|v| v / length).collect()
            } else {
                row
            }
        };
        let (mut to_itself, mut to_others) = (0.0, 0.0);
        for _ in 0..200 {
            let unit = matches!(named.name, "linear" | "polynomial" | "sigmoid");
            let (x, y): (Vec<f64>, Vec<f64>) = (row(unit), row(unit));
            for (a, b, total) in [(&x, &x, &mut to_itself), (&x, &y, &mut to_others)] {
                let v = value(&formula, a, b);
                let slack = 1e-12 * v.abs().max(1.0);
                let within = v >= named.values.0 - slack && v <= named.values.1 + slack;
                assert!(
                    within || v.is_nan(),
                    "{}: {v} of {a:?} and {b:?}",
                    named.name
                );
                *total += if v.is_finite() { v } else { 0.0 };
            }
        }
        assert_eq!(to_itself > to_others, named.similarity, "{}", named.name);
    }
}

#[test]
fn symmetry_is_what_is_declared() {
    let mut random = Random(3);
    for named in all() {
        for dim in dims(named) {
            for set in option_sets(named, *dim, &mut random) {
                let derived = symmetry(&formula_of(named, &set, Some(*dim))) == Symmetry::Symmetric;
                assert_eq!(derived, named.symmetric, "{} {set:?}", named.name);
            }
        }
    }
    let whitened = params(&[("signs", vector([1.0, -1.0]))]);
    assert_eq!(
        symmetry(&formula_of(
            find("mahalanobis").unwrap(),
            &whitened,
            Some(2)
        )),
        Symmetry::Symmetric
    );
}

#[test]
fn edge_cases_are_those_of_scipy() {
    let (zero, some) = ([0.0; 3], [1.0, 0.0, 2.0]);
    let nan = f64::NAN;
    let expected = [
        ("braycurtis", nan, 1.0),
        ("canberra", 0.0, 2.0),
        ("chebyshev", 0.0, 2.0),
        ("correlation", nan, nan),
        ("cosine", nan, nan),
        ("cosine_similarity", 0.0, 0.0),
        ("dice", nan, 1.0),
        ("hamming", 0.0, 2.0 / 3.0),
        ("jaccard", 0.0, 1.0),
        ("jensenshannon", f64::INFINITY, f64::INFINITY),
        ("rogerstanimoto", 0.0, 0.8),
        ("russellrao", 1.0, 1.0),
        ("sokalsneath", nan, 1.0),
        ("yule", 0.0, 0.0),
        ("additive_chi2", 0.0, -3.0),
        ("chi2", 1.0, (-3.0f64).exp()),
    ];
    for (name, both_zero, one_zero) in expected {
        let formula = formula_of(find(name).unwrap(), &Params::new(), Some(3));
        for (y, expected) in [(&zero, both_zero), (&some, one_zero)] {
            let got = value(&formula, &zero, y);
            assert!(
                (got - expected).abs() < 1e-15
                    || got == expected
                    || (got.is_nan() && expected.is_nan()),
                "{name}: {got}"
            );
        }
    }
}

#[test]
fn weights_of_zero_leave_components_out() {
    let w = params(&[("w", vector([1.0, 0.0, 2.0]))]);
    for name in [
        "chebyshev",
        "cityblock",
        "euclidean",
        "sqeuclidean",
        "canberra",
        "minkowski",
        "braycurtis",
    ] {
        let formula = formula_of(find(name).unwrap(), &w, Some(3));
        let (a, b) = (
            value(&formula, &[1.0, 5.0, 3.0], &[2.0, 9.0, 3.5]),
            value(&formula, &[1.0, 0.0, 3.0], &[2.0, 7.0, 3.5]),
        );
        assert_eq!(a, b, "{name}");
    }
}

#[test]
fn names_and_aliases_are_unique() {
    let mut seen = BTreeSet::new();
    for named in all() {
        for name in std::iter::once(&named.name).chain(named.aliases) {
            assert!(seen.insert(*name), "'{name}' twice");
            assert_eq!(*name, name.to_lowercase());
            assert_eq!(find(&name.to_uppercase()).unwrap().name, named.name);
        }
    }
}

#[test]
fn wrong_options_are_refused() {
    let number = params(&[("quux", Param::Number(1.0))]);
    for named in all() {
        assert!(require(named.name, &number).is_err(), "{}", named.name);
        assert!(require(named.name, &Params::new()).is_ok());
    }
    let refused = [
        ("minkowski", params(&[("p", Param::Number(0.0))])),
        ("minkowski", params(&[("p", Param::Number(f64::NAN))])),
        ("minkowski", params(&[("p", vector([1.0]))])),
        ("euclidean", params(&[("w", vector([1.0, -1.0, 1.0]))])),
        ("dice", params(&[("w", vector([1.0, 1.0]))])),
        ("seuclidean", Params::new()),
        ("seuclidean", params(&[("V", vector([1.0]))])),
        ("jensenshannon", params(&[("base", Param::Number(1.0))])),
        ("haversine", Params::new()),
    ];
    for (name, params) in refused {
        assert!(
            (find(name).unwrap().formula)(&mut Formula::new(), &params, Some(3)).is_err(),
            "{name} {params:?}"
        );
    }
    let e = require("euclidian", &Params::new()).unwrap_err();
    assert_eq!(
        e.remedy_text().map(ToString::to_string).as_deref(),
        Some("'euclidean'")
    );
    assert!(
        require("euclidean", &number)
            .unwrap_err()
            .to_string()
            .contains("'quux'")
    );
}

fn table(rows: &[&[f64]]) -> Table {
    Table::f64(rows.len(), rows[0].len(), rows.concat()).unwrap()
}

fn row(t: &Table, at: usize) -> Vec<f64> {
    let mut out = vec![0.0; t.cols()];
    t.row_into(at, &mut out);
    out
}

/// (x − y)ᵀ VI (x − y), by its definition.
fn quadratic(x: &[f64], y: &[f64], vi: &[f64]) -> f64 {
    let d = x.len();
    (0..d * d)
        .map(|at| (x[at / d] - y[at / d]) * vi[at] * (x[at % d] - y[at % d]))
        .sum()
}

fn whitened(vi: Vec<f64>, offset: f64) {
    let named = find("mahalanobis").unwrap();
    let d = 5;
    let mut random = Random(19);
    let draw = |random: &mut Random| {
        (0..d * 8)
            .map(|_| offset + random.within((-1.0, 1.0)))
            .collect::<Vec<f64>>()
    };
    let (x, y) = (
        Table::f64(8, d, draw(&mut random)).unwrap(),
        Table::f64(8, d, draw(&mut random)).unwrap(),
    );
    let mut params = params(&[("VI", Param::Vector(vi.clone()))]);
    let ready = (named.prepare.unwrap())(&x, Some(&y), &mut params, &|| false)
        .unwrap()
        .unwrap();
    let formula = formula_of(named, &params, Some(d));
    for (i, j) in (0..64).map(|at| (at / 8, at % 8)) {
        let expected = quadratic(&row(&x, i), &row(&y, j), &vi);
        let (a, b) = (row(&ready.x, i), row(ready.y.as_ref().unwrap(), j));
        let got = value(&formula, &a, &b);
        assert_eq!(got.to_bits(), (named.reference)(&a, &b, &params).to_bits());
        let size = (0..d * d).map(|at| vi[at].abs()).sum::<f64>();
        let right = if expected < 0.0 {
            got.is_nan()
        } else {
            (got * got - expected).abs() <= 1e-12 * size
        };
        assert!(right, "{got}² not {expected}");
    }
}

#[test]
fn mahalanobis_whitens_any_matrix() {
    let d = 5;
    let mut random = Random(23);
    let any: Vec<f64> = (0..d * d).map(|_| random.within((-1.0, 1.0))).collect();
    let gram: Vec<f64> = (0..d * d)
        .map(|at| {
            (0..d)
                .map(|k| any[at / d * d + k] * any[at % d * d + k])
                .sum()
        })
        .collect();
    let flat: Vec<f64> = (0..d * d).map(|at| any[at / d] * any[at % d]).collect();
    for vi in [any, gram, flat, vec![0.0; d * d]] {
        whitened(vi.clone(), 0.0);
        whitened(vi, 1024.0 * 1024.0);
    }
}

#[test]
fn mahalanobis_takes_the_covariance_of_all_rows() {
    let named = find("mahalanobis").unwrap();
    // The covariance of these rows (n − 1) is diag(2/3, 8/3), also far from the origin.
    let x = table(&[&[1e6 + 1.0, 0.0], &[1e6 - 1.0, 0.0]]);
    let y = table(&[&[1e6, 2.0], &[1e6, -2.0]]);
    let mut params = Params::new();
    let ready = (named.prepare.unwrap())(&x, Some(&y), &mut params, &|| false)
        .unwrap()
        .unwrap();
    let formula = formula_of(named, &params, Some(2));
    let got = value(
        &formula,
        &row(&ready.x, 0),
        &row(ready.y.as_ref().unwrap(), 0),
    );
    assert!((got - (1.5 + 1.5f64).sqrt()).abs() < 1e-12, "{got}");
    let narrow = |v: Vec<f64>| {
        v.into_iter()
            .map(|v| f64::from(v as f32))
            .collect::<Vec<f64>>()
    };
    let single = value(
        &formula,
        &narrow(row(&ready.x, 0)),
        &narrow(row(ready.y.as_ref().unwrap(), 0)),
    );
    assert!((single - got).abs() < 1e-6 * got);
}

#[test]
fn mahalanobis_refuses_what_has_no_inverse() {
    let prepare = find("mahalanobis").unwrap().prepare.unwrap();
    let few = table(&[&[1.0, 2.0], &[3.0, 4.0]]);
    assert!(prepare(&few, None, &mut Params::new(), &|| false).is_err());
    let line = table(&[&[1.0, 2.0], &[2.0, 4.0], &[3.0, 6.0], &[5.0, 10.0]]);
    let e = prepare(&line, None, &mut Params::new(), &|| false).unwrap_err();
    assert!(e.to_string().contains("VI"), "{e}");
    assert!(
        prepare(
            &line,
            None,
            &mut params(&[("VI", vector([1.0, 2.0]))]),
            &|| false
        )
        .is_err()
    );
    assert!(
        prepare(
            &line,
            None,
            &mut params(&[("VI", Param::Number(1.0))]),
            &|| false
        )
        .is_err()
    );
    assert!(
        prepare(
            &line,
            None,
            &mut params(&[("VI", vector([f64::NAN; 4]))]),
            &|| false
        )
        .is_err()
    );
    assert!(
        prepare(&line, Some(&table(&[&[1.0]])), &mut Params::new(), &|| {
            false
        })
        .is_err()
    );
}

#[test]
fn seuclidean_takes_the_variances_of_all_rows() {
    let prepare = find("seuclidean").unwrap().prepare.unwrap();
    let (x, y) = (
        table(&[&[1e6 + 1.0, 0.0], &[1e6, 2.0]]),
        table(&[&[1e6 - 1.0, 4.0]]),
    );
    let mut found = Params::new();
    assert!(
        prepare(&x, Some(&y), &mut found, &|| false)
            .unwrap()
            .is_none()
    );
    assert_eq!(found["V"], vector([1.0, 4.0]));
    let mut given = params(&[("V", vector([3.0, 5.0]))]);
    prepare(&x, Some(&y), &mut given, &|| false).unwrap();
    assert_eq!(given["V"], vector([3.0, 5.0]));
}

#[test]
fn ranks_share_ties() {
    let prepare = find("spearman").unwrap().prepare.unwrap();
    let x = table(&[
        &[3.0, -1.0, 3.0, 7.0],
        &[0.0, -0.0, -2.0, 5.0],
        &[1.0, f64::NAN, 2.0, 3.0],
    ]);
    let ranks = prepare(&x, None, &mut Params::new(), &|| false)
        .unwrap()
        .unwrap()
        .x;
    assert_eq!(row(&ranks, 0), [2.5, 1.0, 2.5, 4.0]);
    assert_eq!(row(&ranks, 1), [2.5, 2.5, 1.0, 4.0]);
    assert!(row(&ranks, 2).iter().all(|r| r.is_nan()));
    assert_eq!(
        prepare(
            &Table::f64(2, 0, vec![]).unwrap(),
            None,
            &mut Params::new(),
            &|| false
        )
        .unwrap()
        .unwrap()
        .x
        .rows(),
        2
    );
}

/// The hoisted values of one row, and the row, as a backend in single precision holds them.
struct Held {
    row: Vec<f32>,
    row_vectors: Vec<Vec<f32>>,
    row_scalars: Vec<f32>,
}

fn held(low: &Lowered, side: Side, row: &[f64]) -> Held {
    let narrow = |v: &[f64]| v.iter().map(|v| *v as f32).collect::<Vec<f32>>();
    let mut hoister = low.hoister(side);
    hoister.load(&table(&[row]), 0);
    Held {
        row: narrow(row),
        row_vectors: (0..low.row_vectors[side as usize].len())
            .map(|n| narrow(hoister.stream(n)))
            .collect(),
        row_scalars: (0..low.row_scalars[side as usize].len())
            .map(|n| hoister.attr(n) as f32)
            .collect(),
    }
}

/// Node `id` at component `k`, every operation rounded to single precision.
fn single(low: &Lowered, held: [&Held; 2], id: Id, k: usize) -> f32 {
    let go = |id: &Id| f64::from(single(low, held, *id, k));
    match low.source(id) {
        Source::Stream(side, n) => return held[side as usize].row_vectors[n][k],
        Source::Attr(side, n) => return held[side as usize].row_scalars[n],
        Source::Vector(n) => return low.constants[n][k] as f32,
        Source::Const(v) => return v as f32,
        Source::Pair => {}
    }
    match low.formula.node(id) {
        Node::Delta => held[0].row[k] - held[1].row[k],
        Node::DeltaAt(k) => held[0].row[*k as usize] - held[1].row[*k as usize],
        Node::Unary(op, a) => unary(*op, go(a)) as f32,
        Node::Binary(op, a, b) => binary(*op, go(a), go(b)) as f32,
        Node::Select(c, a, b) => single(low, held, if go(c) == 0.0 { *b } else { *a }, k),
        Node::Reduce(op, a) => (0..low.dim).fold(op.identity(), |sum, k| {
            f64::from(binary(op.operator(), sum, single(low, held, *a, k).into()) as f32)
        }) as f32,
        _ => f32::NAN,
    }
}

fn single_precision(named: &Named, set: &Params, dim: usize, random: &mut Random, offset: f64) {
    let low = Lowered::new(&formula_of(named, set, Some(dim)), dim, false).unwrap();
    let mut row = || {
        random
            .row(named, dim)
            .iter()
            .map(|v| f64::from((v + offset) as f32))
            .collect::<Vec<f64>>()
    };
    for (x, y) in (0..40).map(|_| (row(), row())) {
        let (a, b) = (held(&low, Side::X, &x), held(&low, Side::Y, &y));
        let got = f64::from(single(&low, [&a, &b], low.formula.roots[0], 0));
        let expected = (named.reference)(&x, &y, set);
        let same = got == expected || (got.is_nan() && expected.is_nan());
        let near = (got - expected).abs() <= 1e7 * tolerance(named, &x, &y, expected);
        assert!(
            same || near,
            "{} {set:?} of {x:?} and {y:?}: {got} not {expected}",
            named.name
        );
    }
}

#[test]
fn single_precision_is_enough() {
    let mut random = Random(29);
    for named in all() {
        for dim in dims(named) {
            for set in option_sets(named, *dim, &mut random) {
                single_precision(named, &set, *dim, &mut random, 0.0);
            }
        }
    }
}

#[test]
fn single_precision_keeps_the_digits_of_differences_far_from_the_origin() {
    let mut random = Random(31);
    let invariant = [
        "chebyshev",
        "cityblock",
        "euclidean",
        "sqeuclidean",
        "minkowski",
        "seuclidean",
        "nan_euclidean",
    ];
    for named in invariant
        .map(|name| find(name).unwrap())
        .into_iter()
        .chain(find("correlation"))
    {
        for dim in [2, 7, 33] {
            for set in option_sets(named, dim, &mut random)
                .into_iter()
                .filter(|set| !set.contains_key("centered"))
            {
                single_precision(named, &set, dim, &mut random, 1e6);
            }
        }
    }
}

fn forms(name: &str, set: &Params, dim: usize) -> Vec<Option<Reduction>> {
    let low = Lowered::new(&formula_of(find(name).unwrap(), set, Some(dim)), dim, false).unwrap();
    low.stages
        .iter()
        .flat_map(|s| &s.reduces)
        .map(|r| low.reduction(*r).map(|reduction| reduction.form))
        .collect()
}

#[test]
fn metrics_reach_the_kernels() {
    use Reduction::*;
    let expected: BTreeMap<&str, Vec<Option<Reduction>>> = [
        ("additive_chi2", vec![None]),
        ("braycurtis", vec![Some(L1), None]),
        ("canberra", vec![None]),
        ("chebyshev", vec![Some(Chebyshev)]),
        ("chi2", vec![None]),
        ("cityblock", vec![Some(L1)]),
        ("correlation", vec![Some(Dot)]),
        ("cosine", vec![Some(Dot)]),
        ("cosine_similarity", vec![Some(Dot)]),
        ("dice", vec![Some(Dot)]),
        ("euclidean", vec![Some(SqDiff)]),
        ("hamming", vec![Some(Differ)]),
        ("haversine", vec![]),
        ("hellinger", vec![Some(SqDiff)]),
        ("jaccard", vec![Some(Dot)]),
        ("jensenshannon", vec![None]),
        ("kl", vec![None]),
        ("laplacian", vec![Some(L1)]),
        ("linear", vec![Some(Dot)]),
        ("mahalanobis", vec![Some(SqDiff)]),
        ("minkowski", vec![Some(SqDiff)]),
        ("nan_euclidean", vec![None, None]),
        ("pearson", vec![Some(Dot)]),
        ("polynomial", vec![Some(Dot)]),
        ("rbf", vec![Some(SqDiff)]),
        ("rogerstanimoto", vec![Some(Dot)]),
        ("russellrao", vec![Some(Dot)]),
        ("seuclidean", vec![None]),
        ("sigmoid", vec![Some(Dot)]),
        ("sokalsneath", vec![Some(Dot)]),
        ("spearman", vec![Some(Dot)]),
        ("sqeuclidean", vec![Some(SqDiff)]),
        ("yule", vec![Some(Dot)]),
    ]
    .into();
    for named in all() {
        let set = if named.name == "seuclidean" {
            params(&[("V", vector([1.0, 2.0]))])
        } else {
            Params::new()
        };
        assert_eq!(
            forms(named.name, &set, 2),
            expected[named.name],
            "{}",
            named.name
        );
    }
}

#[test]
fn options_reach_the_kernels() {
    use Reduction::*;
    let w = params(&[("w", vector([1.0, 2.0]))]);
    assert_eq!(forms("chebyshev", &w, 2), [Some(Chebyshev)]);
    assert_eq!(forms("jaccard", &w, 2), [Some(L1)]);
    assert_eq!(forms("correlation", &w, 2), [Some(Dot)]);
    assert_eq!(forms("cosine", &w, 2), [Some(Dot)]);
    let p = |p: f64| params(&[("p", Param::Number(p))]);
    assert_eq!(forms("minkowski", &p(1.0), 2), [Some(L1)]);
    assert_eq!(forms("minkowski", &p(3.0), 2), [Some(Lp3)]);
    assert_eq!(forms("minkowski", &p(f64::INFINITY), 2), [Some(Chebyshev)]);
    assert_eq!(forms("minkowski", &p(1.5), 2), [None]);
}

#[test]
fn inner_product_metrics_are_known_as_such() {
    let names = [
        "correlation",
        "cosine",
        "pearson",
        "linear",
        "polynomial",
        "sigmoid",
        "jaccard",
        "yule",
        "cosine_similarity",
    ];
    for name in names {
        let low = Lowered::new(
            &formula_of(find(name).unwrap(), &Params::new(), Some(4)),
            4,
            false,
        )
        .unwrap();
        assert!(low.is_inner_product(), "{name}");
        assert_eq!(
            (low.row_vectors[0].len(), low.row_vectors[1].len()),
            (1, 1),
            "{name}"
        );
    }
}

//! Bounds over boxes enclose the oracle's value of every pair of rows in them, for random formulas,
//! boxes and rows.

use zipfold::pairs;
use zipfold_core::oracle::PairValues;
use zipfold_core::pair::interval::Span;
use zipfold_core::pair::interval_bounds::{Bounds, LANES, hoisted_into};
use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Side, Table, describe};
use zipfold_testkit::{Lcg, formulas};

/// Rows in a box of y, and of x.
const ROWS: usize = 5;

/// The least and the largest of every hoisted value of some rows.
fn boxed(job: &Job, side: Side, rows: std::ops::Range<usize>) -> Vec<Span> {
    let table = if side == Side::X { &job.x } else { job.other() };
    let mut hoister = job.low.hoister(side);
    let mut out = vec![
        Span {
            lo: f64::INFINITY,
            hi: f64::NEG_INFINITY
        };
        Bounds::coordinates(&job.low, side)
    ];
    let mut values = vec![];
    for row in rows {
        hoister.load(table, row);
        hoisted_into(&hoister, &job.low, side, &mut values);
        for (span, v) in out.iter_mut().zip(&values) {
            span.lo = if v.is_nan() || span.lo.is_nan() {
                f64::NAN
            } else {
                span.lo.min(*v)
            };
            span.hi = if v.is_nan() || span.hi.is_nan() {
                f64::NAN
            } else {
                span.hi.max(*v)
            };
        }
    }
    out
}

fn set_x(bounds: &mut Bounds<'_>, job: &Job) {
    let (lo, hi): (Vec<f64>, Vec<f64>) = boxed(job, Side::X, 0..ROWS)
        .iter()
        .map(|s| (s.lo, s.hi))
        .unzip();
    bounds.set_one(Side::X, &lo, &hi, 1);
}

/// Checks all pairs of one box of x with the boxes of y; the number of roots of lanes that were
/// bounded.
fn check(job: &Job, what: &str) -> usize {
    let mut bounds = Bounds::new(&job.low, job.periodic_box.as_ref()).unwrap();
    set_x(&mut bounds, job);
    let width = Bounds::coordinates(&job.low, Side::Y);
    let (mut lo, mut hi) = (vec![0.0; width * LANES], vec![0.0; width * LANES]);
    for lane in 0..LANES {
        for (c, span) in boxed(job, Side::Y, lane * ROWS..(lane + 1) * ROWS)
            .into_iter()
            .enumerate()
        {
            lo[c * LANES + lane] = span.lo;
            hi[c * LANES + lane] = span.hi;
        }
    }
    bounds.set_lanes(Side::Y, &lo, &hi, LANES);
    bounds.run();
    let mut values = PairValues::new(job);
    let mut roots = vec![];
    for i in 0..ROWS {
        for j in 0..LANES * ROWS {
            values.get(i, j, &mut roots);
            for (at, root) in roots.iter().enumerate() {
                let span = bounds.root(at).lane(j / ROWS);
                assert!(
                    span.holds(root[0]),
                    "{what}: root {at} of ({i}, {j}) is {:e}, outside {span:?}",
                    root[0]
                );
            }
        }
    }
    let known = |at: usize| {
        (0..LANES)
            .filter(|l| bounds.root(at).lane(*l).is_known())
            .count()
    };
    (0..roots.len()).map(known).sum()
}

/// Boxes of rows: `boxes` places, rows around each, now and then with values that break things.
fn table(lcg: &mut Lcg, boxes: usize, dim: usize, wild: bool) -> Table {
    let strange = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e300,
        -1e300,
        5e-324,
        -0.0,
        0.0,
    ];
    let mut items = vec![];
    for _ in 0..boxes {
        let extent = [0.0, 1e-3, 0.1, 1.0, 20.0][lcg.below(5)];
        let middle: Vec<f64> = (0..dim).map(|_| lcg.between(-3.0, 3.0)).collect();
        let odd = if wild && lcg.below(3) == 0 {
            Some(strange[lcg.below(8)])
        } else {
            None
        };
        for _ in 0..ROWS {
            items.extend(middle.iter().map(|m| match odd {
                Some(v) if lcg.below(4) == 0 => v,
                _ => m + extent * lcg.between(-0.5, 0.5),
            }));
        }
    }
    Table::f64(items.len() / dim, dim, items).unwrap()
}

fn periodic_box(lcg: &mut Lcg, dim: usize) -> Option<Vec<f64>> {
    let lengths: Vec<f64> = (0..dim.min(3)).map(|_| lcg.between(0.5, 8.0)).collect();
    match lcg.below(3) {
        0 if dim <= 3 => Some(lengths),
        1 if dim == 3 => {
            Some([lengths, (0..3).map(|_| lcg.between(65.0, 110.0)).collect()].concat())
        }
        _ => None,
    }
}

fn random(seed: u64, rounds: usize, wild: bool) -> usize {
    let mut lcg = Lcg::new(seed);
    let mut known = 0;
    for round in 0..rounds {
        let dim = 1 + lcg.below(4);
        let depth = 1 + lcg.below(3);
        let text = formulas::scalar(&mut lcg, depth, dim);
        let (x, y) = (
            table(&mut lcg, 1, dim, wild),
            table(&mut lcg, LANES, dim, wild),
        );
        let asked = pairs(&x).with(&y).formula(&text).fold(FoldSpec::Matrix {});
        let problem = Problem {
            nan: NanPolicy::Propagate,
            periodic_box: periodic_box(&mut lcg, dim),
            ..asked.problem().clone()
        };
        // A box is refused where the formula has no difference.
        if let Ok(job) = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y: Some(y),
                weights: vec![],
            },
        ) {
            known += check(
                &job,
                &format!("round {round}, box {:?}: {text}", problem.periodic_box),
            );
        }
    }
    known
}

#[test]
fn random_formulas_stay_within_their_bounds() {
    let known = random(31, 6000, false);
    assert!(known > 6000 * LANES / 3, "{known} bounds");
}

#[test]
fn strange_rows_stay_within_their_bounds() {
    let known = random(37, 6000, true);
    assert!(known > 6000 * LANES / 6, "{known} bounds");
}

#[test]
fn every_metric_stays_within_its_bounds() {
    let mut lcg = Lcg::new(41);
    for named in zipfold_core::pair::named::all() {
        for dim in [1, 2, 3, 7] {
            let (x, y) = (
                table(&mut lcg, 1, dim, false),
                table(&mut lcg, LANES, dim, false),
            );
            let (x, y) = (positive(&x), positive(&y));
            let asked = pairs(&x)
                .with(&y)
                .metric(named.name)
                .fold(FoldSpec::Matrix {});
            if let Ok(job) = describe(
                asked.problem(),
                Data {
                    pairs: None,
                    x,
                    y: Some(y),
                    weights: vec![],
                },
            ) {
                check(&job, &format!("{} of {dim} components", named.name));
            }
        }
    }
}

fn positive(t: &Table) -> Table {
    let items = (0..t.rows() * t.cols())
        .map(|at| t.elements().get(at).abs().min(0.999))
        .collect();
    Table::f64(t.rows(), t.cols(), items).unwrap()
}

/// Distances in boxes of every kind, between rows anywhere: the magnitudes of images, not their
/// hull, bound them.
#[test]
fn periodic_distances_are_bounded_closely() {
    let mut lcg = Lcg::new(43);
    for round in 0..3000 {
        let periodic_box = match round % 3 {
            0 => vec![4.0, 3.0, 5.0],
            1 => vec![4.0, 3.0, 5.0, 70.0, 80.0, 100.0],
            _ => vec![3.0, 3.0, 9.0, 60.0, 60.0, 60.0],
        };
        let far = [1.0, 10.0, 1e6][lcg.below(3)];
        let mut rows = |boxes: usize, extent: f64| {
            let mut items = vec![];
            for _ in 0..boxes {
                let middle: Vec<f64> = (0..3).map(|_| lcg.between(-far, far)).collect();
                (0..ROWS)
                    .for_each(|_| items.extend(middle.iter().map(|m| m + extent * lcg.unit())));
            }
            Table::f64(boxes * ROWS, 3, items).unwrap()
        };
        let extent = 0.05;
        let (x, y) = (rows(1, extent), rows(LANES, extent));
        let asked = pairs(&x)
            .with(&y)
            .metric("sqeuclidean")
            .periodic(&periodic_box)
            .domain(Domain::Cross);
        let asked = asked.fold(FoldSpec::Matrix {});
        let job = describe(
            asked.problem(),
            Data {
                pairs: None,
                x,
                y: Some(y),
                weights: vec![],
            },
        )
        .unwrap();
        assert_eq!(check(&job, &format!("round {round}")), LANES);
        let mut bounds = Bounds::new(&job.low, job.periodic_box.as_ref()).unwrap();
        set_x(&mut bounds, &job);
        let (lo, hi): (Vec<f64>, Vec<f64>) = boxed(&job, Side::Y, 0..ROWS)
            .iter()
            .map(|s| (s.lo, s.hi))
            .unzip();
        bounds.set_one(Side::Y, &lo, &hi, 1);
        bounds.run();
        let root = bounds.root(0).lane(0);
        assert!(
            root.hi.sqrt() - root.lo.sqrt() < 8.0 * extent,
            "round {round}: {root:?}"
        );
    }
}

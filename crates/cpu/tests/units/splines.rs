use zipfold_core::random::SplitMix;
use zipfold_cpu::kernels::pairwise::*;

#[derive(Clone, Copy)]
struct Shape {
    bins: usize,
    order: usize,
}

/// Daub's recursion, as the paper writes it.
fn spline(bin: usize, order: usize, z: f64, shape: Shape) -> f64 {
    let knot = |at: usize| match at {
        at if at < shape.order => 0.0,
        at if at < shape.bins => (at - shape.order + 1) as f64,
        _ => (shape.bins - shape.order + 1) as f64,
    };
    let last = knot(shape.bins);
    if order == 1 {
        let ends = z == last && knot(bin) < last && knot(bin + 1) == last;
        return f64::from(knot(bin) <= z && z < knot(bin + 1) || ends);
    }
    let part = |top: f64, low: f64| if low == 0.0 { 0.0 } else { top / low };
    spline(bin, order - 1, z, shape) * part(z - knot(bin), knot(bin + order - 1) - knot(bin))
        + spline(bin + 1, order - 1, z, shape)
            * part(knot(bin + order) - z, knot(bin + order) - knot(bin + 1))
}

fn by_definition(x: &[f64], y: &[f64], shape: Shape) -> f64 {
    let weigh = |v: &[f64]| -> Vec<Vec<f64>> {
        let there = || v.iter().copied().filter(|v| !v.is_nan());
        let least = there().fold(f64::INFINITY, f64::min);
        let most = there().fold(f64::NEG_INFINITY, f64::max);
        let last = (shape.bins - shape.order + 1) as f64;
        let one = |v: &f64| {
            let z = (v - least) / (most - least) * last;
            (0..shape.bins)
                .map(|b| spline(b, shape.order, z, shape))
                .collect()
        };
        v.iter().map(one).collect()
    };
    let (a, b) = (weigh(x), weigh(y));
    let common: Vec<usize> = (0..x.len())
        .filter(|s| !x[*s].is_nan() && !y[*s].is_nan())
        .collect();
    let p = |i: Option<usize>, j: Option<usize>| -> f64 {
        let at = |w: &[f64], bin: Option<usize>| bin.map_or(1.0, |bin| w[bin]);
        common
            .iter()
            .map(|s| at(&a[*s], i) * at(&b[*s], j))
            .sum::<f64>()
            / common.len() as f64
    };
    let mut sum = 0.0;
    for i in 0..shape.bins {
        for j in 0..shape.bins {
            let joint = p(Some(i), Some(j));
            if joint > 0.0 {
                sum += joint * (joint / (p(Some(i), None) * p(None, Some(j)))).ln();
            }
        }
    }
    sum
}

#[test]
fn rows_that_do_not_vary_over_the_common_samples_have_no_information() {
    let gap = f64::NAN;
    let table = [
        [1.0, 1.0, 1.0, 1.0, 5.0, 6.0],
        [2.0, 3.0, 4.0, 9.0, gap, gap],
        [gap, gap, 0.0, 1.0, 1.0, 3.0],
        [gap, gap, gap, gap, gap, gap],
    ];
    let rows = SplineRows::new(table.as_flattened(), 6, 4, 2);
    let mut values = [0.0; 4];
    let mut row = |row: usize| {
        let out = Values {
            values: &mut values,
            counts: &mut [0; 4],
        };
        rows.inform(Isa::detect(), Line { row, others: 0..4 }, &rows, out);
        values.map(|v| !v.is_nan())
    };
    assert_eq!(row(0), [true, false, true, false]);
    assert_eq!(row(1), [false, true, true, false]);
    assert_eq!(row(2), [true, true, true, false]);
    assert_eq!(row(3), [false; 4]);
}

#[test]
fn information_is_that_of_the_definition() {
    let mut random = SplitMix::new(11);
    for (samples, missing, bins, order) in [
        (40, 9, 10, 3),
        (17, 4, 5, 1),
        (30, 5, 8, 2),
        (64, 7, 17, 5),
        (9, 9, 4, 4),
    ] {
        let n = 3;
        let table: Vec<f64> = (0..n * samples)
            .map(|_| match random.remainder(missing) {
                0 => f64::NAN,
                _ => (random.unit() * 20.0).round() / 7.0 - 1.0,
            })
            .collect();
        let rows = SplineRows::new(&table, samples, bins, order);
        for row in 0..n {
            let mut all = vec![];
            for isa in [Isa::Scalar, Isa::detect()] {
                let (mut values, mut counts) = (vec![0.0; n], vec![0; n]);
                let out = Values {
                    values: &mut values,
                    counts: &mut counts,
                };
                rows.inform(isa, Line { row, others: 0..n }, &rows, out);
                for (other, found) in values.iter().enumerate() {
                    let of = |row: usize| &table[row * samples..][..samples];
                    let wanted = by_definition(of(row), of(other), Shape { bins, order });
                    assert!(
                        (found - wanted).abs() < 1e-13,
                        "{found} {wanted} {bins} {order}"
                    );
                }
                all.push(values);
            }
            assert_eq!(all[0], all[1]);
        }
    }
}

use zipfold_core::random::SplitMix;
use zipfold_cpu::kernels::pairwise::*;

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}
fn cosine(x: &[f64], y: &[f64]) -> f64 {
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    sum(x, y) / (sum(x, x) * sum(y, y)).sqrt()
}
fn weighed(x: &[f64]) -> Vec<f64> {
    let middle = median(x.iter().copied());
    let mad = median(x.iter().map(|v| (v - middle).abs()));
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let one = |v: &f64| {
        let u = (v - middle) / (9.0 * mad);
        match (mad > 0.0, u.abs() < 1.0) {
            (false, _) => v - mean,
            (true, true) => (v - middle) * (1.0 - u * u).powi(2),
            (true, false) => 0.0,
        }
    };
    x.iter().map(one).collect()
}

#[test]
fn medians_are_those_of_common_samples() {
    let mut random = SplitMix::new(3);
    for (samples, missing, values) in [(3, 5, 90), (8, 3, 3), (25, 4, 1000), (60, 20, 2)] {
        let n = 6;
        let table: Vec<f64> = (0..n * samples)
            .map(|_| match random.remainder(missing) {
                0 => f64::NAN,
                1 => 1e4,
                _ => random.remainder(values) as f64,
            })
            .collect();
        let rows = BiweightRows::new(&table, samples);
        for row in 0..n {
            let (mut values, mut counts) = (vec![0.0; n], vec![0; n]);
            let out = Values {
                values: &mut values,
                counts: &mut counts,
            };
            rows.correlate(Line { row, others: 0..n }, &rows, out);
            for other in 0..n {
                let of = |row: usize| &table[row * samples..][..samples];
                let pairs = of(row).iter().zip(of(other));
                let pairs = pairs.filter(|(a, b)| !a.is_nan() && !b.is_nan());
                let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
                assert_eq!(counts[other] as usize, x.len());
                let flat = |v: &[f64]| v.iter().all(|a| *a == v[0]);
                if flat(&x) || flat(&y) {
                    assert!(values[other].is_nan());
                    continue;
                }
                let r = cosine(&weighed(&x), &weighed(&y));
                assert!((values[other] - r).abs() < 1e-12, "{} {r}", values[other]);
            }
        }
    }
}

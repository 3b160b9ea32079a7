use zipfold_core::random::SplitMix;
use zipfold_cpu::kernels::pairwise::*;

/// Ranks among the common samples, and Pearson's correlation of them.
fn by_definition(x: &[f64], y: &[f64]) -> (f64, u32) {
    let pairs = x.iter().zip(y).filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let ranks = |v: &[f64]| -> Vec<f64> {
        let below = |a: &f64| v.iter().filter(|b| *b < a).count() as f64;
        let equal = |a: &f64| v.iter().filter(|b| *b == a).count() as f64;
        v.iter()
            .map(|a| below(a) + (equal(a) + 1.0) / 2.0)
            .collect()
    };
    let (a, b, n) = (ranks(&x), ranks(&y), x.len() as f64);
    let middle = (n + 1.0) / 2.0;
    let sum = |a: &[f64], b: &[f64]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - middle) * (b - middle))
            .sum()
    };
    (
        sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt(),
        x.len() as u32,
    )
}

#[test]
fn ranks_are_those_among_common_samples() {
    let mut random = SplitMix::new(5);
    for (samples, missing, values) in [
        (1, 2, 3),
        (2, 4, 9),
        (5, 3, 2),
        (31, 3, 4),
        (33, 20, 1000),
        (64, 10, 7),
        (130, 2, 100_000),
        (2100, 3, 100_000),
    ] {
        let n = if samples > 2000 { 2 } else { 5 };
        let table: Vec<f64> = (0..n * samples)
            .map(|_| match random.remainder(missing) {
                0 => f64::NAN,
                _ => random.remainder(values) as f64 - 1.0,
            })
            .collect();
        let rows = RankRows::new(&table, samples);
        for isa in [Isa::Scalar, Isa::detect()] {
            for row in 0..n {
                let (mut values, mut counts) = (vec![0.0; n], vec![0; n]);
                let line = Line { row, others: 0..n };
                let out = Values {
                    values: &mut values,
                    counts: &mut counts,
                };
                rows.correlate(isa, line, &rows, out);
                for other in 0..n {
                    let of = |row: usize| &table[row * samples..][..samples];
                    let (r, count) = by_definition(of(row), of(other));
                    assert_eq!(counts[other], count);
                    let same = (values[other] - r).abs() < 1e-13;
                    assert!(same || values[other].is_nan() && r.is_nan());
                }
            }
        }
    }
}

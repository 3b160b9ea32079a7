use zipfold_core::random::SplitMix;
use zipfold_cpu::kernels::pairwise::*;

fn by_definition(x: &[f64], y: &[f64]) -> Balance {
    let pairs = x.iter().zip(y).filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let pairs: Vec<(f64, f64)> = pairs.map(|(x, y)| (*x, *y)).collect();
    let sign = |v: f64| i64::from(v > 0.0) - i64::from(v < 0.0);
    let mut out = Balance {
        count: pairs.len() as u32,
        ..Balance::default()
    };
    for (at, p) in pairs.iter().enumerate() {
        for q in &pairs[..at] {
            out.difference += sign(p.0 - q.0) * sign(p.1 - q.1);
            out.untied[0] += u64::from(p.0 != q.0);
            out.untied[1] += u64::from(p.1 != q.1);
        }
    }
    out
}

#[test]
fn bits_and_sorts_count_the_same() {
    let mut random = SplitMix::new(7);
    for (samples, missing, values) in [
        (1, 2, 2),
        (2, 9, 9),
        (12, 3, 3),
        (61, 9, 1000),
        (520, 5, 90),
    ] {
        let n = 4;
        let table: Vec<f64> = (0..n * samples)
            .map(|_| match random.remainder(missing) {
                0 => f64::NAN,
                _ => random.remainder(values) as f64,
            })
            .collect();
        let rows = ConcordanceRows::new(&table, samples);
        let sorted = rows.clone().without_bits();
        for rows in [&rows, &sorted] {
            for row in 0..n {
                let mut out = vec![Balance::default(); n];
                let line = Line { row, others: 0..n };
                rows.balance(Isa::detect(), line, rows, &mut out);
                for (other, found) in out.iter().enumerate() {
                    let of = |row: usize| &table[row * samples..][..samples];
                    assert_eq!(*found, by_definition(of(row), of(other)));
                }
            }
        }
    }
}

#[test]
fn ties_are_those_of_common_samples() {
    let gap = f64::NAN;
    let rows = ConcordanceRows::new(&[1.0, 1.0, 1.0, 2.0, 3.0, gap, 3.0, 4.0], 4);
    let all = rows.tie_sums(0, None);
    assert_eq!((all.pairs, all.triples, all.weighted), (3.0, 6.0, 66.0));
    assert_eq!(rows.tie_sums(0, Some((&rows, 1))).pairs, 1.0);
    assert!(rows.within(1, &rows, 0) && !rows.within(0, &rows, 1));
}

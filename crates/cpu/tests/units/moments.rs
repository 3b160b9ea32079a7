use zipfold_cpu::kernels::pairwise::*;

fn all(values: &[f64], samples: usize) -> (Vec<f64>, Vec<u32>) {
    let rows = MomentRows::new(values, samples);
    let n = values.len() / samples;
    let (mut found, mut counts) = (vec![0.0; n * n], vec![0; n * n]);
    let lines = found.chunks_mut(n).zip(counts.chunks_mut(n)).enumerate();
    for (row, (values, counts)) in lines {
        let line = Line { row, others: 0..n };
        rows.correlate(Isa::Scalar, line, &rows, Values { values, counts });
    }
    (found, counts)
}

#[test]
fn an_outlier_that_a_pair_lacks_changes_nothing() {
    let gap = f64::NAN;
    let x = [1.0, 2.0, 3.0, 5.0, 1e15];
    let y = [2.0, 1.0, 4.0, 3.0, gap];
    let (found, counts) = all(&[x, y].concat(), 5);
    // Of 1 2 3 5 and 2 1 4 3.
    let r = 3.5 / (8.75f64.sqrt() * 5f64.sqrt());
    assert!((found[1] - r).abs() < 1e-15, "{} {r}", found[1]);
    assert_eq!(counts, [5, 4, 4, 4]);
}

#[test]
fn rows_that_do_not_vary_have_no_value() {
    let gap = f64::NAN;
    let (found, _) = all(&[0.1, 0.1, 0.1, 7.0, 1.0, 2.0, 3.0, gap], 4);
    assert!(found[1].is_nan() && found[2].is_nan());
    assert_eq!((found[0], found[3]), (1.0, 1.0));
}

#[test]
fn extremes_keep_their_correlation() {
    for scale in [1e-300, 1e-160, 1.0, 1e160, 1e300] {
        let x = [1.0, 2.0, 4.0].map(|v| v * scale);
        let y = [1.0, 3.0, 2.0].map(|v| v / scale);
        let (found, _) = all(&[x, y].concat(), 3);
        let r = 1.0 / ((14.0f64 / 3.0).sqrt() * 2f64.sqrt());
        assert!((found[1] - r).abs() < 1e-14, "{scale} {} {r}", found[1]);
    }
}

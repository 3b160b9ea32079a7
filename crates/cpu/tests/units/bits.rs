use zipfold_cpu::kernels::bits::*;
use zipfold_vector::simd::Isa;

#[test]
fn counts_are_those_of_the_plain_loop() {
    let mut state = 9u64;
    let mut bit = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        f64::from(u8::from(state >> 62 == 0))
    };
    for (n, m, d) in [
        (1, 1, 1),
        (5, 17, 63),
        (9, 40, 64),
        (33, 16, 65),
        (4, 130, 1000),
    ] {
        let x: Vec<f64> = (0..n * d).map(|_| bit()).collect();
        let y: Vec<f64> = (0..m * d).map(|_| bit()).collect();
        let (px, py) = (
            BitRows::pack(&x, n, d, d).unwrap(),
            BitRows::pack(&y, m, d, d).unwrap(),
        );
        for (isa, count) in Isa::available()
            .into_iter()
            .flat_map(|i| [(i, Count::Both), (i, Count::Either)])
        {
            let (rows, cols) = (n / 3..n, m / 4..m);
            let ld = cols.len() + 3;
            let mut out = vec![-1.0f32; rows.len() * ld];
            count_block(
                isa,
                count,
                &px,
                &py,
                [rows.clone(), cols.clone()],
                (&mut out, ld),
            );
            for (i, j) in rows.clone().flat_map(|i| cols.clone().map(move |j| (i, j))) {
                let pairs = x[i * d..][..d].iter().zip(&y[j * d..][..d]);
                let counted = |a: f64, b: f64| {
                    if count == Count::Both {
                        a * b
                    } else {
                        (a - b).abs()
                    }
                };
                let expected: f64 = pairs.map(|(a, b)| counted(*a, *b)).sum();
                let got = out[(i - rows.start) * ld + j - cols.start];
                assert_eq!(
                    f64::from(got),
                    expected,
                    "{isa} {count:?} {n} {m} {d} pair {i} {j}"
                );
            }
            assert!((0..rows.len()).all(|i| {
                out[i * ld + cols.len()..(i + 1) * ld]
                    .iter()
                    .all(|v| *v == -1.0)
            }));
        }
    }
}

#[test]
fn only_zeros_and_ones_are_bits() {
    assert!(BitRows::pack(&[0.0, -0.0, 1.0], 1, 3, 3).is_some());
    for odd in [2.0, -1.0, 0.5, f64::NAN, f64::INFINITY] {
        assert!(BitRows::pack(&[0.0, 1.0, odd], 1, 3, 3).is_none(), "{odd}");
    }
}

use zipfold_cpu::kernels::top_k::*;
use zipfold_vector::simd::{Element, Isa};

fn check<T: Element>(values: &[f64], k: usize, what: &str) {
    let values: Vec<T> = values.iter().map(|&x| T::from_f64(x)).collect();
    let mut want: Vec<(T, u32)> = values.iter().copied().zip(10..).collect();
    // By value, then index; NaN behind all numbers.
    want.sort_by(|a, b| {
        let (nan, other) = (a.0.to_f64().is_nan(), b.0.to_f64().is_nan());
        let values = a.0.partial_cmp(&b.0).unwrap_or_else(|| nan.cmp(&other));
        values.then(a.1.cmp(&b.1))
    });
    want.truncate(k);
    let bits = |e: &[(T, u32)]| {
        e.iter()
            .map(|e| (e.0.to_f64().to_bits(), e.1))
            .collect::<Vec<_>>()
    };
    let half = values.len() / 2;
    for isa in Isa::available() {
        let mut top = TopK::new(k);
        for pieces in [
            [0..values.len(), 0..0],
            [0..half, half..values.len()],
            [half..values.len(), 0..half],
        ] {
            top.clear();
            for piece in pieces {
                top.offer(isa, &values[piece.clone()], 10 + piece.start as u32);
            }
            assert_eq!(
                bits(top.finish()),
                bits(&want),
                "{what} {isa} k={k} n={}",
                values.len()
            );
        }
        let (back, names): (Vec<T>, Vec<u32>) = (0..values.len())
            .rev()
            .map(|at| (values[at], at as u32 + 10))
            .unzip();
        top.clear();
        top.offer_named(isa, &back, &names);
        assert_eq!(
            bits(top.finish()),
            bits(&want),
            "{what} {isa} k={k} n={} backwards",
            values.len()
        );
    }
}

#[test]
fn lists_are_those_of_a_sort() {
    for n in [0usize, 1, 2, 9, 16, 33, 100, 1000, 5000] {
        let random: Vec<f64> = (0..n).map(|i| ((i * 7919 + 13) % 10007) as f64).collect();
        let ties: Vec<f64> = (0..n).map(|i| (i * 31 % 5) as f64 - 2.0).collect();
        let nan = |i: usize| {
            if i.is_multiple_of(3) {
                f64::NAN
            } else {
                -((i % 17) as f64) * 1e-40
            }
        };
        let strange: Vec<f64> = (0..n).map(nan).collect();
        let infinite: Vec<f64> = (0..n)
            .map(|i| if i % 2 == 0 { f64::INFINITY } else { f64::NAN })
            .collect();
        let falling: Vec<f64> = (0..n).map(|i| -(i as f64)).collect();
        for k in [0, 1, 2, 10, 32, 33, 100, 2000] {
            let kinds = [
                (&random, "random"),
                (&ties, "ties"),
                (&strange, "NaN"),
                (&infinite, "inf"),
                (&falling, "falling"),
            ];
            for (values, what) in kinds {
                check::<f32>(values, k, what);
                check::<f64>(values, k, what);
            }
        }
    }
}

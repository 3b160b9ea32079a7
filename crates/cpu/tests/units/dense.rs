use crate::Lcg;
use zipfold_cpu::kernels::dense::*;
use zipfold_cpu::kernels::panels::{PackedA, PackedB};
use zipfold_vector::simd::{Element, Isa};

fn term(op: DenseReduction, s: f64, x: f64, y: f64) -> f64 {
    let t = x - y;
    match op {
        DenseReduction::L1 => s + t.abs(),
        DenseReduction::SqDiff => s + t * t,
        DenseReduction::Dot => s + x * y,
        DenseReduction::Chebyshev => s.max(t.abs()),
        DenseReduction::Lp3 => s + (t.abs() * t.abs()) * t.abs(),
        DenseReduction::Differ => s + f64::from(u8::from(x != y)),
    }
}

fn oracle(op: DenseReduction, x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).fold(0.0, |s, (&x, &y)| term(op, s, x, y))
}

/// Values of several kinds: plain, huge offsets, denormal, duplicates.
fn data(kind: usize, n: usize, seed: u64) -> Vec<f64> {
    let mut g = Lcg(seed);
    let mut value = |_| match kind {
        0 => g.next() - 0.5,
        1 => f64::from((1e6 + g.next()) as f32),
        2 => (g.next() * 100.0).floor() * 1.4e-45,
        _ => (g.next() * 3.0).floor(),
    };
    (0..n).map(&mut value).collect()
}

const SHAPES: [(usize, usize, usize); 12] = [
    (1, 1, 0),
    (1, 1, 1),
    (12, 32, 5),
    (13, 33, 1),
    (11, 31, 3),
    (25, 70, 64),
    (100, 17, 255),
    (7, 300, 256),
    (5, 40, 257),
    (14, 35, 1000),
    (2, 3, 5419),
    (1, 50, 513),
];

#[test]
fn exact_sums_are_the_bits_of_the_plain_loop() {
    for isa in Isa::available() {
        for (kind, &(m, n, d)) in (0..4).flat_map(|kind| SHAPES.iter().map(move |s| (kind, s))) {
            let (x, y) = (data(kind, m * d, 1), data(kind, n * d, 2));
            let (px, py) = (PackedA::pack(&x, m, d, d), PackedB::pack(&y, n, d, d));
            for op in DenseReduction::ALL {
                let mut out = vec![-1.0; m * n];
                reduce_block_exact(isa, op, &px, &py, [0..m, 0..n], (&mut out, n));
                for (at, &v) in out.iter().enumerate() {
                    let (i, j) = (at / n, at % n);
                    let want = oracle(op, &x[i * d..][..d], &y[j * d..][..d]);
                    assert_eq!(
                        v.to_bits(),
                        want.to_bits(),
                        "{isa} {op:?} {kind} {m}x{n}x{d} ({i},{j})"
                    );
                }
            }
        }
    }
}

/// Fast sums of rows of `T` against the oracle, within `bound` of Σ|terms|.
fn check_fast<T: Element>(isa: Isa, kind: usize, (m, n, d): (usize, usize, usize), bound: f64) {
    let narrow = |v: Vec<f64>| v.into_iter().map(T::from_f64).collect::<Vec<T>>();
    let wide = |v: &[T]| v.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
    let (x, y) = (narrow(data(kind, m * d, 3)), narrow(data(kind, n * d, 4)));
    let (px, py) = (
        PackedA::<T>::pack(&x, m, d, d),
        PackedB::<T>::pack(&y, n, d, d),
    );
    let (x, y) = (wide(&x), wide(&y));
    for op in DenseReduction::ALL {
        let mut out = vec![T::ZERO; m * n];
        reduce_block(isa, op, &px, &py, [0..m, 0..n], (&mut out, n));
        for (at, &v) in out.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let (x, y) = (&x[i * d..][..d], &y[j * d..][..d]);
            let want = oracle(op, x, y);
            let size = if op == DenseReduction::Dot {
                x.iter().zip(y).map(|(x, y)| (x * y).abs()).sum()
            } else {
                want
            };
            let error = (v.to_f64() - want).abs();
            let tiny = if size_of::<T>() == 4 {
                1.5e-45 * d as f64
            } else {
                1e-300
            };
            assert!(
                error <= bound * size + tiny,
                "{isa} {op:?} {kind} {m}x{n}x{d} ({i},{j}): {v:?} not {want}"
            );
        }
    }
}

#[test]
fn fast_sums_are_within_their_bound() {
    for isa in Isa::available() {
        for (kind, &shape) in (0..4).flat_map(|kind| SHAPES.iter().map(move |s| (kind, s))) {
            check_fast::<f32>(isa, kind, shape, 1e-5);
            check_fast::<f64>(isa, kind, shape, 1e-13);
        }
        check_fast::<f32>(isa, 0, (3, 5, 40_000), 1e-5);
        check_fast::<f32>(isa, 3, (3, 5, 40_000), 1e-5);
    }
}

#[test]
fn blocks_write_their_cells_only() {
    let (m, n, d) = (40, 100, 300);
    let (x, y) = (data(0, m * (d + 3), 5), data(0, n * (d + 1), 6));
    let (px, py) = (
        PackedA::<f64>::pack(&x, m, d, d + 3),
        PackedB::<f64>::pack(&y, n, d, d + 1),
    );
    for isa in Isa::available() {
        for (rows, cols) in [
            (0..40, 0..100),
            (5..29, 7..90),
            (12..24, 16..32),
            (39..40, 99..100),
            (3..3, 0..9),
        ] {
            for d in [d, 64] {
                let (px, py) = if d == 300 {
                    (&px, &py)
                } else {
                    (&PackedA::pack(&x, m, d, 303), &PackedB::pack(&y, n, d, 301))
                };
                let ld = cols.len() + 3;
                let mut out = vec![-7.0; rows.len() * ld];
                reduce_block_exact(
                    isa,
                    DenseReduction::L1,
                    px,
                    py,
                    [rows.clone(), cols.clone()],
                    (&mut out, ld),
                );
                for (at, &v) in out.iter().enumerate() {
                    let (i, j) = (rows.start + at / ld, cols.start + at % ld);
                    let inside = j < cols.end;
                    let want = if inside {
                        oracle(DenseReduction::L1, &x[i * 303..][..d], &y[j * 301..][..d])
                    } else {
                        -7.0
                    };
                    assert_eq!(v.to_bits(), want.to_bits(), "{isa} ({i},{j})");
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "too small")]
fn short_output_is_refused() {
    let (px, py) = (
        PackedA::<f32>::pack(&[0.0f32; 4], 2, 2, 2),
        PackedB::<f32>::pack(&[0.0f32; 4], 2, 2, 2),
    );
    reduce_block(
        Isa::detect(),
        DenseReduction::L1,
        &px,
        &py,
        [0..2, 0..2],
        (&mut [0.0; 3], 2),
    );
}

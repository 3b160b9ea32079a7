use zipfold_cpu::kernels::dense::{DenseReduction, reduce_block_exact};
use zipfold_cpu::kernels::filter::*;
use zipfold_cpu::kernels::panels::{PackedA, PackedB};
use zipfold_vector::simd::Isa;

#[test]
fn exact_strips_have_the_bits_of_exact_blocks() {
    let value = |i: usize| ((i * 7919 + 5) % 10007) as f64 / 997.0 - 4.0;
    for d in [1usize, 16, 67] {
        let x: Vec<f64> = (0..d).map(value).collect();
        let y: Vec<f64> = (0..128 * d).map(|i| value(i + 31)).collect();
        let mut strips = vec![0.0; 128 * d];
        for (at, v) in y.iter().enumerate() {
            let (row, k) = (at / d, at % d);
            strips[row / STRIP * STRIP * d + k * STRIP + row % STRIP] = *v;
        }
        let (a, b) = (
            PackedA::<f64>::pack(&x, 1, d, d),
            PackedB::<f64>::pack(&y, 128, d, d),
        );
        for form in DenseReduction::ALL {
            for isa in Isa::available() {
                let mut want = vec![0.0; 128];
                reduce_block_exact(isa, form, &a, &b, [0..1, 0..128], (&mut want, 128));
                for wanted in [0u16, 1, 0x8001, 0xffff, 0x1230] {
                    let mut got = vec![f64::NAN; 128];
                    exact(isa, form, &x, (&strips, STRIP * d), wanted, &mut got);
                    for lane in (0..128).filter(|l| wanted >> (l / STRIP) & 1 == 1) {
                        assert_eq!(
                            got[lane].to_bits(),
                            want[lane].to_bits(),
                            "{form:?} {isa} d={d} lane {lane}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn limits_are_met_lane_by_lane() {
    let values: Vec<f32> = (0..300)
        .map(|i| {
            if i % 11 == 3 {
                f32::NAN
            } else {
                ((i * 37) % 50) as f32
            }
        })
        .collect();
    for isa in Isa::available() {
        for cols in [0, 1, 15, 16, 100, 128] {
            for (limit, below) in [
                (20.0, true),
                (20.0, false),
                (f32::INFINITY, true),
                (-1.0, true),
            ] {
                let narrow = if below { limit - 7.0 } else { limit + 7.0 };
                let limits = [[limit, narrow], [30.0, 30.0]];
                let mut found = [FilteredBits::default(); 2];
                meets(isa, (&values, 140, cols), &limits, below, &mut found);
                for (row, l) in (0..2).flat_map(|row| (0..128).map(move |l| (row, l))) {
                    let v = values[row * 140 + l];
                    let [may, sure] = limits[row]
                        .map(|limit| l < cols && if below { v <= limit } else { v >= limit });
                    let got = [found[row].open, found[row].sure].map(|bits| bits >> l & 1 == 1);
                    assert_eq!(
                        got,
                        [may && !sure, sure],
                        "{isa} {cols} {limit} {below} row {row} lane {l}"
                    );
                }
            }
        }
    }
}

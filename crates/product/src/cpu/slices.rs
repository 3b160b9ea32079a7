//! Whole tables of logarithms: their ends, and their exponentials.

macro_rules! slices {
    ($exps:ident, $ends:ident, $wide:ident, $t:ty) => {
        /// `to = e^(from - shift)`, entry by entry of both.
        pub fn $exps(from: &[$t], shift: $t, to: &mut [$t]) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx512f") {
                #[target_feature(enable = "avx512f")]
                fn all(from: &[$t], shift: $t, to: &mut [$t]) {
                    use super::wide::$wide as w;
                    for (from, to) in from.chunks(w::LANES).zip(to.chunks_mut(w::LANES)) {
                        let some = w::mask(from.len().min(to.len()));
                        // SAFETY: no more lanes than both have.
                        unsafe {
                            let x = w::load_some(some, from.as_ptr());
                            w::store_some(to.as_mut_ptr(), some, w::exp(w::sub(x, w::splat(shift))));
                        }
                    }
                }
                // SAFETY: the feature was just detected.
                return unsafe { all(from, shift, to) };
            }
            to.iter_mut().zip(from).for_each(|(t, f)| *t = (f - shift).exp());
        }

        /// The least finite and the greatest of `logs`; (∞, -∞) if none is finite.
        pub fn $ends(logs: &[$t]) -> ($t, $t) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx512f") {
                #[target_feature(enable = "avx512f")]
                fn all(logs: &[$t]) -> ($t, $t) {
                    use super::wide::$wide as w;
                    const MANY: usize = 4;
                    let none = w::splat(<$t>::NEG_INFINITY);
                    let (mut low, mut high) = ([w::splat(<$t>::INFINITY); MANY], [none; MANY]);
                    for step in logs.chunks(MANY * w::LANES) {
                        for (i, part) in step.chunks(w::LANES).enumerate() {
                            // SAFETY: no more lanes than the part has; the others are as if they were not there.
                            let x = unsafe { w::load_over(none, w::mask(part.len()), part.as_ptr()) };
                            low[i] = w::lower(low[i], x, none);
                            high[i] = w::max(high[i], x);
                        }
                    }
                    let mut out = (<$t>::INFINITY, <$t>::NEG_INFINITY);
                    for (low, high) in low.into_iter().zip(high) {
                        out = (out.0.min(w::least(low)), out.1.max(w::most(high)));
                    }
                    out
                }
                // SAFETY: the feature was just detected.
                return unsafe { all(logs) };
            }
            let finite = logs.iter().copied().filter(|l| *l > <$t>::NEG_INFINITY);
            finite.fold((<$t>::INFINITY, <$t>::NEG_INFINITY), |(low, high), l| (low.min(l), high.max(l)))
        }
    };
}
slices!(exponentials_f32, ends_f32, singles, f32);
slices!(exponentials_f64, ends_f64, doubles, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_good_to_two_places() {
        let logs: Vec<f64> = (0..200_001).map(|i| f64::from(i - 100_000) * 0.007).collect();
        let mut got = vec![0.0; logs.len()];
        exponentials_f64(&logs, 0.0, &mut got);
        for (x, got) in logs.iter().zip(&got) {
            assert!((got - x.exp()).abs() <= 2.0 * f64::EPSILON * x.exp(), "{x}: {got} {}", x.exp());
        }
        let logs: Vec<f32> = (0..170_001).map(|i| (i - 85_000) as f32 * 0.001).collect();
        let mut got = vec![0.0; logs.len()];
        exponentials_f32(&logs, 0.0, &mut got);
        for (x, got) in logs.iter().zip(&got) {
            let want = f64::from(*x).exp();
            assert!((f64::from(*got) - want).abs() <= 2.0 * f64::from(f32::EPSILON) * want, "{x}: {got} {want}");
        }
        let (mut wide, mut single) = ([0.0; 3], [0.0; 3]);
        exponentials_f64(&[f64::NEG_INFINITY, 0.0, -1e300], 0.0, &mut wide);
        exponentials_f32(&[f32::NEG_INFINITY, 0.0, -1e30], 0.0, &mut single);
        assert_eq!((wide, single), ([0.0, 1.0, 0.0], [0.0, 1.0, 0.0]));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    #[ignore = "needs avx512"]
    fn logarithms_are_good_to_two_places() {
        use super::super::wide::{doubles, singles};
        assert!(std::arch::is_x86_feature_detected!("avx512f"), "no AVX-512");
        for i in 0..200_000 {
            let x = if i % 2 == 0 { (f64::from(i - 100_000) * 0.007).exp() } else { 0.7 + f64::from(i) * 4e-6 };
            let (mut wide, mut single) = ([0.0f64; 8], [0.0f32; 16]);
            let near = (f64::from(i - 100_000) * 0.0008).exp() as f32;
            // SAFETY: the feature was just detected, and both arrays hold a vector.
            unsafe {
                doubles::store(wide.as_mut_ptr(), doubles::ln(doubles::splat(x)));
                singles::store(single.as_mut_ptr(), singles::ln(singles::splat(near)));
            }
            let bound = |want: f64, unit: f64| 2.0 * unit * want.abs().max(1.0 / 16.0);
            assert!((wide[0] - x.ln()).abs() <= bound(x.ln(), f64::EPSILON), "{x}: {} {}", wide[0], x.ln());
            let want = f64::from(near).ln();
            assert!(
                (f64::from(single[0]) - want).abs() <= bound(want, f64::from(f32::EPSILON)),
                "{near}: {} {want}",
                single[0]
            );
        }
    }

    #[test]
    fn ends_are_those_of_finite_logarithms() {
        for len in [0usize, 1, 15, 16, 17, 64, 65, 1000] {
            let logs: Vec<f32> =
                (0..len).map(|i| if i % 5 == 1 { f32::NEG_INFINITY } else { (i * 7 % 13) as f32 - 20.0 }).collect();
            let wide: Vec<f64> = logs.iter().map(|l| f64::from(*l)).collect();
            let finite = || wide.iter().copied().filter(|l| l.is_finite());
            let want = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
            let (low, high) = ends_f32(&logs);
            assert_eq!((f64::from(low), f64::from(high)), want);
            assert_eq!(ends_f64(&wide), want);
        }
    }
}

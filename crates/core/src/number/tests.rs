use super::*;

fn ulps(a: f64, b: f64) -> u64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0;
    }
    (a.to_bits() as i64).abs_diff(b.to_bits() as i64)
}

#[test]
fn integers_are_those_of_the_standard_library() {
    let mut state = 7u64;
    let mut values: Vec<f64> = (-9..9).map(|k| f64::from(k) * 0.5).collect();
    values.extend([
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        5e-324,
        0.5f64.next_down(),
        0.5f64.next_up(),
    ]);
    values.extend((49..54).flat_map(|e| [-1.5, -0.5, 0.5, 1.5, 2.5].map(|k| 2f64.powi(e) + k)));
    values.extend((0..20_000).map(|_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        f64::from_bits(state ^ state >> 31)
    }));
    for v in values.iter().flat_map(|v| [*v, -v]) {
        let (got, want) = (round_even(v), v.round_ties_even());
        assert!(
            got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
            "{v}: {got}"
        );
    }
}

#[test]
fn exp_and_log_stay_within_an_ulp_of_libm() {
    let mut state = 12345u64;
    for _ in 0..200_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let u = (state >> 11) as f64 / (1u64 << 53) as f64;
        let x = (u - 0.5) * 1500.0;
        assert!(
            ulps(exp(x), libm::exp(x)) <= 1,
            "exp({x}) = {} not {}",
            exp(x),
            libm::exp(x)
        );
        let y = libm::exp((u - 0.5) * 1400.0);
        assert!(
            ulps(log(y), libm::log(y)) <= 1,
            "log({y}) = {} not {}",
            log(y),
            libm::log(y)
        );
    }
    for x in [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        5e-324,
        1e-310,
        709.78,
        -745.1,
    ] {
        assert!(
            ulps(exp(x), libm::exp(x)) <= 1,
            "exp({x}) = {} not {}",
            exp(x),
            libm::exp(x)
        );
        assert!(
            ulps(log(x), libm::log(x)) <= 1,
            "log({x}) = {} not {}",
            log(x),
            libm::log(x)
        );
    }
}

#[test]
fn log1p_keeps_small_numbers() {
    let mut state = 7u64;
    for _ in 0..200_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let u = (state >> 11) as f64 / (1u64 << 53) as f64;
        for x in [u - 1.0, u, libm::exp((u - 0.5) * 1400.0), (u - 0.5) * 1e-9] {
            assert!(
                ulps(log1p(x), libm::log1p(x)) <= 3,
                "ln(1 + {x}) = {} not {}",
                log1p(x),
                libm::log1p(x)
            );
        }
    }
    for x in [
        0.0,
        -1.0,
        -1.5,
        f64::INFINITY,
        f64::NAN,
        5e-324,
        -5e-324,
        f64::MAX,
    ] {
        assert!(ulps(log1p(x), libm::log1p(x)) <= 1, "ln(1 + {x})");
    }
}

#[test]
fn integer_powers_multiply() {
    assert_eq!(pow(3.0, 3.0), 27.0);
    assert_eq!(pow(2.0, -2.0), 0.25);
    assert_eq!(pow(0.0, 0.0), 1.0);
    assert_eq!(pow(9.0, 0.5), 3.0);
    assert_eq!(pow(-8.0, 3.0), -512.0);
}

/// Numbers of every kind: special ones, any bits, dense regions, and those next to where a function
/// takes another way.
fn numbers(many: usize) -> Vec<f64> {
    let edges = [
        0.0,
        5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        1e-17,
        1e-9,
        0.25,
        0.4375,
        0.5,
        0.6875,
        0.84375,
        0.975,
        1.0,
        1.1875,
        1.25,
        2.4375,
        2.857_142,
        8.0,
        22.0,
        26.6,
        27.3,
        28.0,
        40.0,
        355.0,
        709.78,
        710.4,
        710.475,
        710.476,
        711.0,
        745.2,
        1e5,
        1e6,
        1e22,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::FRAC_PI_4,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    let mut found: Vec<f64> = edges
        .into_iter()
        .flat_map(|v| [v, v.next_up(), v.next_down()])
        .collect();
    let quarters = (1..64_000)
        .step_by(37)
        .map(|k| f64::from(k) * std::f64::consts::FRAC_PI_2);
    found.extend(quarters.flat_map(|v| [v, v.next_up(), v.next_down()]));
    found.extend((-1074..1024).map(|e| libm::ldexp(1.0, e)));
    let mut state = 31u64;
    for _ in 0..many {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let u = (state >> 11) as f64 / (1u64 << 53) as f64;
        found.extend([
            f64::from_bits(state ^ state >> 29),
            u,
            8.0 * u,
            30.0 * u,
            750.0 * u,
            1e5 * u,
            1e-8 * u,
        ]);
        found.extend([1.0 - 1e-3 * u, 1.0 + 1e-6 * u]);
    }
    found.into_iter().flat_map(|v| [v, -v]).collect()
}

/// A function, that of libm, and units in the last place between them at most.
type Pair = (&'static str, fn(f64) -> f64, fn(f64) -> f64, u64);

#[test]
fn functions_stay_near_libm() {
    // Those of libm err by 1 unit, by 2 the hyperbolic ones.
    let functions: [Pair; 14] = [
        ("log2", log2, libm::log2, 0),
        ("log10", log10, libm::log10, 0),
        ("expm1", expm1, libm::expm1, 1),
        ("sinh", sinh, libm::sinh, 2),
        ("cosh", cosh, libm::cosh, 2),
        ("tanh", tanh, libm::tanh, 3),
        ("sin", sin, libm::sin, 1),
        ("cos", cos, libm::cos, 1),
        ("tan", tan, libm::tan, 2),
        ("asin", asin, libm::asin, 0),
        ("acos", acos, libm::acos, 0),
        ("atan", atan, libm::atan, 0),
        ("erf", erf, libm::erf, 1),
        ("erfc", erfc, libm::erfc, 3),
    ];
    let numbers = numbers(60_000);
    for (name, f, of_libm, most) in functions {
        for x in &numbers {
            let (got, wanted) = (f(*x), of_libm(*x));
            let same_sign = got.is_sign_negative() == wanted.is_sign_negative() || got.is_nan();
            assert!(
                same_sign && ulps(got, wanted) <= most,
                "{name}({x:e}) = {got:e}, wanted {wanted:e}"
            );
        }
    }
    for (a, b) in numbers.iter().zip(numbers.iter().skip(7)) {
        let (got, wanted) = (atan2(*a, *b), libm::atan2(*a, *b));
        assert!(
            got.to_bits() == wanted.to_bits() || (got.is_nan() && wanted.is_nan()),
            "atan2({a:e}, {b:e}) = {got:e}"
        );
    }
}

#[test]
fn functions_are_odd_or_even_and_stay_in_their_ranges() {
    let odd = [sin, tan, asin, atan, sinh, tanh, erf];
    let even = [cos, cosh];
    for x in numbers(20_000).into_iter().filter(|x| !x.is_nan()) {
        for f in odd {
            assert!(
                f(-x).to_bits() == (-f(x)).to_bits() || f(x).is_nan(),
                "of {x:e}"
            );
        }
        for f in even {
            assert!(
                f(-x).to_bits() == f(x).to_bits() || f(x).is_nan(),
                "of {x:e}"
            );
        }
        let bounded = [
            (sin(x), -1.0, 1.0),
            (cos(x), -1.0, 1.0),
            (tanh(x), -1.0, 1.0),
            (erf(x), -1.0, 1.0),
        ];
        let others = [
            (expm1(x), -1.0, f64::INFINITY),
            (erfc(x), 0.0, 2.0),
            (cosh(x), 1.0, f64::INFINITY),
        ];
        for (v, lo, hi) in bounded.into_iter().chain(others) {
            assert!(
                (lo..=hi).contains(&v) || x.is_infinite() && v.is_nan(),
                "{v:e} of {x:e}"
            );
        }
    }
}

#[test]
fn exact_values_are_exact() {
    for e in -1074..1024 {
        assert_eq!(log2(libm::ldexp(1.0, e)), f64::from(e));
    }
    for e in 0..23 {
        assert_eq!(log10(10f64.powi(e)), f64::from(e));
    }
    for f in [sin, tan, asin, atan, sinh, tanh, erf, expm1] {
        assert_eq!(f(0.0).to_bits(), 0);
        assert_eq!(f(-0.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!(
            f(5e-324),
            if f(1.0) == erf(1.0) {
                libm::erf(5e-324)
            } else {
                5e-324
            }
        );
    }
    assert_eq!(
        [tanh(1e3), tanh(-1e3), erf(9.0), erfc(-9.0), erfc(30.0)],
        [1.0, -1.0, 1.0, 2.0, 0.0]
    );
    assert_eq!(
        [cos(0.0), cosh(0.0), erfc(0.0), acos(1.0), expm1(-50.0)],
        [1.0, 1.0, 1.0, 0.0, -1.0]
    );
}

#[test]
fn loops_have_the_bits_of_single_numbers() {
    use function::{Pow, apply, apply2};
    let numbers = numbers(3000);
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    let mut out = vec![0.0; numbers.len()];
    apply::<Sin, f64>(&mut out, &numbers);
    assert!(numbers.iter().zip(&out).all(|(x, y)| same(sin(*x), *y)));
    let exponents: Vec<f64> = (0..numbers.len())
        .map(|k| [0.3, 2.0, -1.5, 1e300, f64::NAN, 65.0, 16.5][k % 7])
        .collect();
    apply2::<Pow, f64>(&mut out, &numbers, &exponents);
    assert!(
        numbers
            .iter()
            .zip(&exponents)
            .zip(&out)
            .all(|((x, p), y)| same(pow(*x, *p), *y))
    );
    for p in numbers {
        assert_eq!(
            matches!(Power::for_exponent(p), Power::Real(_)),
            !Pow::is_rare(0.0, p),
            "{p:e}"
        );
    }
}

use super::*;

/// Runs every operation on lanes of several kinds and compares with scalar arithmetic.
struct Operations<'a, T>(&'a [T; 16], &'a [T; 16]);

impl<T: Element> Kernel<T> for Operations<'_, T> {
    type Output = Vec<(&'static str, Vec<f64>)>;
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) -> Self::Output {
        // SAFETY: the arrays hold 16 ≥ N values.
        let (a, b) = unsafe { (s.load(self.0.as_ptr()), s.load(self.1.as_ptr())) };
        let one = s.splat(core::hint::black_box(T::ONE));
        let show = |v: S::V| {
            let mut out = [T::ZERO; 16];
            // SAFETY: the array holds 16 ≥ N values.
            unsafe { s.store(v, out.as_mut_ptr()) };
            out[..S::N].iter().map(|x| x.to_f64()).collect::<Vec<f64>>()
        };
        let truth = |m: S::M| {
            (0..S::N)
                .map(|i| f64::from(s.bits(m) >> i & 1))
                .collect::<Vec<f64>>()
        };
        let (m, e) = s.split(s.add(s.abs(a), one));
        let bits = s.bits(s.lt(a, b));
        assert_eq!(s.count(s.lt(a, b)), bits.count_ones());
        assert_eq!(s.bits(s.mask(bits)), bits);
        assert_eq!(s.any(s.lt(a, b)), bits != 0);
        let mut packed = [T::ZERO; 16];
        let mut indices = [0u32; 16];
        let mut integers = [0i32; 16];
        let mut keys = [0i32; 16];
        let mut wide = [0.5f64; 16];
        let number = T::from_f64(-0.7);
        // SAFETY: the number is there.
        let differences = unsafe { [s.sub_at(a, &number), s.sub_on_mul_at(one, a, &number)] };
        // SAFETY: all arrays hold 16 ≥ N values.
        unsafe {
            s.store_compressed(a, bits, packed.as_mut_ptr());
            s.store_indices(bits, 100, indices.as_mut_ptr());
            s.store_i32::<3>(s.splat(T::from_f64(5.9)), integers.as_mut_ptr());
            s.store_keys(s.abs(b), 12, 250_000, 20_000, keys.as_mut_ptr());
            s.add_to_f64(s.splat(T::from_f64(2.0)), wide.as_mut_ptr());
            s.max_to_f64(s.splat(T::from_f64(2.25)), wide.as_mut_ptr());
        }
        // Some lanes, up to the end of what is there.
        for many in 0..=S::N {
            let (mut from, mut to) = ([T::from_f64(7.0); 16], [T::from_f64(-1.0); 16]);
            from[..many].copy_from_slice(&self.0[..many]);
            let some = s.mask(first_lanes(many));
            // SAFETY: only lanes that are there are named.
            let loaded = unsafe {
                let loaded = s.load_some(some, from[..many].as_ptr());
                s.store_some(some, loaded, to[..many].as_mut_ptr());
                loaded
            };
            let shown = show(loaded);
            let same = |x: &f64, y: &T| x.to_bits() == y.to_f64().to_bits();
            assert!(
                shown[..many].iter().zip(self.0).all(|(x, y)| same(x, y)),
                "{many} lanes"
            );
            assert!(shown[many..].iter().all(|x| *x == 0.0), "{many} lanes");
            assert!(
                to[..many]
                    .iter()
                    .zip(self.0)
                    .all(|(x, y)| same(&x.to_f64(), y)),
                "{many} lanes"
            );
            assert!(
                to[many..].iter().all(|x| x.to_f64() == -1.0),
                "{many} lanes"
            );
        }
        let count = bits.count_ones() as usize;
        assert!(
            integers[..S::N].iter().all(|&i| i == 40) && wide[..S::N].iter().all(|&x| x == 2.5)
        );
        let mut results = vec![
            ("add", show(s.add(a, b))),
            ("sub", show(s.sub(a, b))),
            ("sub_on_mul", show(s.sub_on_mul(one, a, b))),
            ("sub_at", show(differences[0])),
            ("sub_on_mul_at", show(differences[1])),
            ("mul", show(s.mul(a, b))),
            ("div", show(s.div(a, b))),
            ("min", show(s.min(a, b))),
            ("max", show(s.max(a, b))),
            ("fma", show(s.fma(a, b, one))),
            ("abs", show(s.abs(a))),
            ("toward", show(s.toward(a, b))),
            ("sqrt", show(s.sqrt(s.abs(a)))),
            ("round", show(s.round(a))),
            ("max_abs", show(s.max_abs(one, a))),
            ("scale2", show(s.scale2(one, s.round(b)))),
            ("split m", show(m)),
            ("split e", show(e)),
            ("fract", show(s.abs(s.fract(b)))),
            (
                "store_keys",
                keys[..S::N].iter().map(|k| f64::from(*k)).collect(),
            ),
            ("lt", truth(s.lt(a, b))),
            ("le", truth(s.le(a, b))),
            ("eq", truth(s.eq(a, b))),
            ("or", truth(s.or(s.lt(a, b), s.eq(a, b)))),
            ("blend", show(s.blend(s.lt(a, b), a, b))),
        ];
        let fronts = (0..S::N).filter(|i| bits >> i & 1 == 1);
        let expected: Vec<f64> = fronts.clone().map(|i| self.0[i].to_f64()).collect();
        let got: Vec<f64> = packed[..count].iter().map(|x| x.to_f64()).collect();
        assert_eq!(format!("{got:?}"), format!("{expected:?}"));
        assert!(
            fronts
                .zip(indices)
                .all(|(i, index)| index == 100 + i as u32)
        );
        for (_, values) in &mut results {
            values.resize(16, f64::NAN);
        }
        results
    }
}

/// Runs a kernel on an instruction set of this processor, or on arrays.
fn run<T: Element, K: Kernel<T>>(isa: Option<Isa>, kernel: K) -> K::Output
where
    Scalar: Lanes<T>,
{
    match isa {
        Some(isa) => T::dispatch(isa, kernel),
        None => scalar::shell(kernel),
    }
}

fn check<T: Element>(a: [f64; 16], b: [f64; 16])
where
    Scalar: Lanes<T>,
{
    let (a, b) = (a.map(T::from_f64), b.map(T::from_f64));
    let want = rows(None, &a, &b);
    for isa in Isa::available() {
        for ((name, got), (_, want)) in rows(Some(isa), &a, &b).into_iter().zip(&want) {
            for lane in 0..16 {
                let (x, y) = (got[lane], want[lane]);
                assert!(
                    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
                    "{isa} {name} {lane}: {x:e} not {y:e}"
                );
            }
        }
    }
}

/// The results for 16 lanes, regardless of what the vectors hold.
fn rows<T: Element>(isa: Option<Isa>, a: &[T; 16], b: &[T; 16]) -> Vec<(&'static str, Vec<f64>)>
where
    Scalar: Lanes<T>,
{
    let lanes = run(isa, Count);
    let mut all: Vec<(&'static str, Vec<f64>)> = Vec::new();
    for at in (0..16).step_by(lanes) {
        let (mut x, mut y) = (*a, *b);
        x.rotate_left(at);
        y.rotate_left(at);
        for (i, (name, values)) in run(isa, Operations(&x, &y)).into_iter().enumerate() {
            if all.len() <= i {
                all.push((name, Vec::new()));
            }
            all[i].1.extend(&values[..lanes]);
        }
    }
    all
}

struct Count;

impl<T: Element> Kernel<T> for Count {
    type Output = usize;
    #[inline(always)]
    fn run<S: Lanes<T>>(self, _: S) -> usize {
        S::N
    }
}

#[test]
fn operations_agree_with_scalar_ones() {
    let a = [
        0.0, -0.0, 1.5, -2.5, 1e-40, -1e-40, 3.0, 0.1, 1e30, -7.25, 2.0, 2.0, 0.5, 1e-45, 123.456,
        -0.3,
    ];
    let b = [
        1.0, 2.0, 1.5, -3.0, 2e-40, 1e-40, 0.1, 0.1, -20.0, 3.0, -100.0, 100.0, -126.0, -148.0,
        -1.0, 20.0,
    ];
    check::<f32>(a, b);
    check::<f64>(a, b);
    let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0];
    check::<f32>(
        std::array::from_fn(|i| strange[i % 4]),
        std::array::from_fn(|i| [1.0, -2.0, 3.0][i % 3]),
    );
    check::<f64>(
        std::array::from_fn(|i| strange[i % 4]),
        std::array::from_fn(|i| [1.0, -2.0, 3.0][i % 3]),
    );
}

#[test]
fn operations_agree_for_all_exponents() {
    let mut state = 0u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let finite = |x: f64| if x.is_finite() { x } else { 1.5 };
    for _ in 0..2000 {
        let narrow = std::array::from_fn(|_| f64::from(f32::from_bits((next() >> 32) as u32)));
        let wide: [f64; 16] = std::array::from_fn(|_| f64::from_bits(next()));
        let exponents = std::array::from_fn(|_| (next() >> 40) as f64 / 2048.0 - 4096.0);
        check::<f32>(narrow.map(finite), exponents);
        check::<f64>(wide.map(finite), exponents);
    }
}

#[test]
fn names_are_read_and_clamped() {
    for isa in Isa::ALL {
        assert_eq!(isa.name().parse(), Ok(isa));
        let there = isa.clamp_to_hardware();
        assert!(there.is_available() && there <= isa.max(Isa::WORST));
    }
    assert!("sse9".parse::<Isa>().is_err());
}

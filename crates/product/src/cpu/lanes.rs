//! Inner loops of the bucket kernel, compiled for AVX-512 and AVX2 beside the plain form.

use super::real::Real;

/// A run of one table along the block.
pub type Term<'a, T> = &'a [T];

/// What happens to each product (or, in the log steps, sum).
#[derive(Clone, Copy, Debug)]
pub enum Step<'a, T> {
    /// It is added.
    Add,
    /// The larger stays.
    Max,
    /// The larger sum of logarithms stays.
    LogMax,
    /// The exponential of the sum, less this peak, is added.
    LogAdd(&'a [T]),
}

/// A loop that is compiled for every instruction set.
trait Loop {
    /// Runs it; implementations are `#[inline(always)]`, so that they take the features of the caller.
    /// `FMA`: the machine multiplies and adds in one instruction.
    fn run<const FMA: bool>(self);
}

/// Runs `work` over `len` entries with the widest vectors that the machine has.
fn widest(len: usize, work: impl Loop) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if len >= 8 && has!("avx512f") && has!("avx512dq") && has!("fma") {
            // SAFETY: the features were just detected.
            return unsafe { avx512(work) };
        }
        if len >= 8 && has!("avx2") && has!("fma") {
            // SAFETY: the features were just detected.
            return unsafe { avx2(work) };
        }
    }
    // Every processor of 64-bit ARM multiplies and adds in one instruction, on vectors too.
    #[cfg(target_arch = "aarch64")]
    if len >= 8 {
        return work.run::<true>();
    }
    let _ = len;
    work.run::<false>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,fma")]
fn avx512(work: impl Loop) {
    work.run::<true>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(work: impl Loop) {
    work.run::<true>();
}

/// `to ⊕= constant ⊗ terms`, entry by entry (`first`: `to =`). `scratch` holds products of more than three runs.
pub fn accumulate<T: Real>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    step: Step<'_, T>,
    scratch: &mut Vec<T>,
) {
    struct Accumulate<'a, 't, T>(&'a mut [T], bool, T, &'a [Term<'t, T>], Step<'a, T>, &'a mut Vec<T>);
    impl<T: Real> Loop for Accumulate<'_, '_, T> {
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            plain::<T, FMA>(self.0, self.1, self.2, self.3, self.4, self.5);
        }
    }
    widest(to.len(), Accumulate(to, first, constant, terms, step, scratch));
}

/// Products that [`sum_products`] adds in one go, and their most runs.
pub const DEEP: usize = 16;
/// Most runs of such a product.
pub const MOST_RUNS: usize = 3;

/// A constant times runs of tables along a block.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a, T> {
    /// The product of what does not change along the block.
    pub constant: T,
    /// The runs; the first so many count.
    pub runs: [Term<'a, T>; MOST_RUNS],
}

/// `to += Σ products` (`first`: `to =`), each of `runs` runs as long as `to`; sums stay in registers along the depth.
pub fn sum_products<T: Real>(to: &mut [T], first: bool, products: &[Product<'_, T>], runs: usize) {
    struct Sum<'a, 't, T>(&'a mut [T], bool, &'a [Product<'t, T>], usize);
    impl<T: Real> Loop for Sum<'_, '_, T> {
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            let Sum(to, first, products, runs) = self;
            match runs {
                1 => columns::<T, 1, FMA>(to, first, products),
                2 => columns::<T, 2, FMA>(to, first, products),
                _ => columns::<T, 3, FMA>(to, first, products),
            }
        }
    }
    widest(to.len(), Sum(to, first, products, runs));
}

/// Entries whose sums are held at one time.
const COLUMN: usize = 32;

#[inline(always)]
fn columns<T: Real, const R: usize, const FMA: bool>(to: &mut [T], first: bool, products: &[Product<'_, T>]) {
    let wide = to.len() / COLUMN * COLUMN;
    for at in (0..wide).step_by(COLUMN) {
        column::<T, R, COLUMN, FMA>(&mut to[at..at + COLUMN], at, first, products);
    }
    let narrow = wide + (to.len() - wide) / 8 * 8;
    for at in (wide..narrow).step_by(8) {
        column::<T, R, 8, FMA>(&mut to[at..at + 8], at, first, products);
    }
    for at in narrow..to.len() {
        column::<T, R, 1, FMA>(&mut to[at..=at], at, first, products);
    }
}

/// `W` entries from place `at` of the runs.
#[inline(always)]
fn column<T: Real, const R: usize, const W: usize, const FMA: bool>(
    to: &mut [T],
    at: usize,
    first: bool,
    products: &[Product<'_, T>],
) {
    let mut sums = [T::default(); W];
    if !first {
        sums.copy_from_slice(to);
    }
    for product in products {
        let a = &product.runs[0][at..at + W];
        let mut scaled = [product.constant; W];
        for run in &product.runs[1..R] {
            let run = &run[at..at + W];
            for i in 0..W {
                scaled[i] = scaled[i] * run[i];
            }
        }
        // Plain loops: a closure that is not inlined would not have the caller's features.
        for i in 0..W {
            sums[i] = a[i].fused::<FMA>(scaled[i], sums[i]);
        }
    }
    to.copy_from_slice(&sums);
}

/// Every entry's exponential in its place.
pub fn exponentials_in_place(items: &mut [f64]) {
    struct Exponentials<'a>(&'a mut [f64]);
    impl Loop for Exponentials<'_> {
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            self.0.iter_mut().for_each(|v| *v = super::logs::exp::<FMA>(*v));
        }
    }
    widest(items.len(), Exponentials(items));
}

/// Every entry's logarithm in its place.
pub fn logarithms_in_place(items: &mut [f64]) {
    struct Logarithms<'a>(&'a mut [f64]);
    impl Loop for Logarithms<'_> {
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            self.0.iter_mut().for_each(|v| *v = super::logs::ln::<FMA>(*v));
        }
    }
    widest(items.len(), Logarithms(items));
}

/// `to = e^(from - shift)`.
pub fn exponentials<T: Real>(from: &[f64], shift: f64, to: &mut [T]) {
    struct Exponentials<'a, T>(&'a [f64], f64, &'a mut [T]);
    impl<T: Real> Loop for Exponentials<'_, T> {
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            each(self.0, self.2, |f| T::of(super::logs::exp::<FMA>(f - self.1)));
        }
    }
    widest(to.len(), Exponentials(from, shift, to));
}

/// `to = ln(from) + shift`.
pub fn logarithms<T: Real>(from: &[T], shift: f64, to: &mut [f64]) {
    struct Logarithms<'a, T>(&'a [T], f64, &'a mut [f64]);
    impl<T: Real> Loop for Logarithms<'_, T> {
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            each(self.0, self.2, |f| super::logs::ln::<FMA>(f.f64()) + self.1);
        }
    }
    widest(to.len(), Logarithms(from, shift, to));
}

/// `to = of(from)`; slices as arguments of their own are known not to overlap.
#[inline(always)]
fn each<T: Real, U: Real>(from: &[T], to: &mut [U], of: impl Fn(T) -> U) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t = of(*f));
}

/// The smallest and the largest nonzero value; (∞, 0) if there is none.
pub fn ends<T: Real>(values: &[T]) -> (f64, f64) {
    extremes(values, 0.0)
}

/// The least and the greatest finite logarithm; (∞, -∞) if there is none.
pub fn log_ends(logs: &[f64]) -> (f64, f64) {
    extremes(logs, f64::NEG_INFINITY)
}

/// The smallest and the largest value above `floor`.
fn extremes<T: Real>(values: &[T], floor: f64) -> (f64, f64) {
    struct Extremes<'a, T>(&'a [T], T, &'a mut [[T; 16]; 2]);
    impl<T: Real> Loop for Extremes<'_, T> {
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            let Extremes(values, floor, found) = self;
            let none = T::of(f64::INFINITY);
            // Lanes of its own stay in registers.
            let [mut low, mut high] = *found;
            for chunk in values.chunks(16) {
                for ((l, h), v) in low.iter_mut().zip(&mut high).zip(chunk) {
                    let above = if *v > floor { *v } else { none };
                    *l = if above < *l { above } else { *l };
                    *h = if *v > *h { *v } else { *h };
                }
            }
            *found = [low, high];
        }
    }
    let mut found = [[T::of(f64::INFINITY); 16], [T::of(floor); 16]];
    widest(values.len(), Extremes(values, T::of(floor), &mut found));
    let [low, high] = found.map(|lanes| lanes.map(Real::f64));
    (low.into_iter().fold(f64::INFINITY, f64::min), high.into_iter().fold(floor, f64::max))
}

#[inline(always)]
fn plain<T: Real, const FMA: bool>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    step: Step<'_, T>,
    scratch: &mut Vec<T>,
) {
    match step {
        Step::Add => linear(to, first, constant, terms, false, scratch),
        Step::Max => linear(to, first, constant, terms, true, scratch),
        Step::LogMax => {
            total(constant, terms, scratch, to.len());
            put(to, first, true, scratch.iter().copied());
        }
        Step::LogAdd(peaks) => {
            total(constant, terms, scratch, to.len());
            put(
                to,
                first,
                false,
                scratch.iter().zip(peaks).map(|(s, p)| T::of(super::logs::exp::<FMA>(s.f64() - p.f64()))),
            );
        }
    }
}

/// Sums of logarithms.
#[inline(always)]
fn total<T: Real>(constant: T, terms: &[Term<'_, T>], scratch: &mut Vec<T>, len: usize) {
    scratch.clear();
    match terms {
        [] => scratch.resize(len, constant),
        [a, rest @ ..] => {
            scratch.extend(a.iter().map(|a| constant + *a));
            for more in rest {
                scratch.iter_mut().zip(*more).for_each(|(s, m)| *s += *m);
            }
        }
    }
}

#[inline(always)]
fn linear<T: Real>(to: &mut [T], first: bool, constant: T, terms: &[Term<'_, T>], max: bool, scratch: &mut Vec<T>) {
    match terms {
        [] => put(to, first, max, std::iter::repeat(constant)),
        [a] => put(to, first, max, a.iter().map(|a| constant * *a)),
        [a, b] => put(to, first, max, a.iter().zip(*b).map(|(a, b)| constant * *a * *b)),
        [a, b, c] => put(to, first, max, a.iter().zip(*b).zip(*c).map(|((a, b), c)| constant * *a * *b * *c)),
        [a, b, rest @ ..] => {
            scratch.clear();
            scratch.extend(a.iter().zip(*b).map(|(a, b)| constant * *a * *b));
            for more in rest {
                scratch.iter_mut().zip(*more).for_each(|(s, m)| *s = *s * *m);
            }
            put(to, first, max, scratch.iter().copied());
        }
    }
}

#[inline(always)]
fn put<T: Real>(to: &mut [T], first: bool, max: bool, values: impl Iterator<Item = T>) {
    match (first, max) {
        (true, _) => to.iter_mut().zip(values).for_each(|(t, v)| *t = v),
        (false, false) => to.iter_mut().zip(values).for_each(|(t, v)| *t += v),
        (false, true) => to.iter_mut().zip(values).for_each(|(t, v)| *t = t.larger(v)),
    }
}

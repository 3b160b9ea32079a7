//! Inner loops of the bucket kernel, compiled for AVX-512 and AVX2 as well as in the plain form.
//!
//! ```text
//! accumulate     out[i] ⊕= constant · a[i] · b[i] · …          one configuration, any fold
//! sum_products   for each 32 entries of the block                 up to 16 configurations, sums only
//!                    sums = out
//!                    for each configuration: sums[i] += constant · a[i] · b[i]
//!                    out = sums
//! ```
//!
//! Why the second form: a block's sums stay in registers over many configurations, where the first
//! loads and stores them for each.

use super::number::Number;
use super::slices;
use zipfold_vector::simd::{Isa, Kernel, Lanes};

/// A run of one table along the block.
pub(super) type Term<'a, T> = &'a [T];

/// What happens to each product (or, in the log steps, sum).
#[derive(Clone, Copy, Debug)]
pub(super) enum ProductStep<'a, T> {
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
    /// Runs it; implementations are `#[inline(always)]`, so that they take the features of the
    /// caller. `FMA`: the machine multiplies and adds in one instruction.
    fn run<const FMA: bool>(self);
}

/// A loop as a kernel: its vectors are those that the compiler makes for the instruction set.
struct Compiled<L>(L);

impl<T: Number, L: Loop> Kernel<T> for Compiled<L> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, _: S) {
        if const { S::FUSED } {
            self.0.run::<true>()
        } else {
            self.0.run::<false>()
        }
    }
}

/// Runs `work` over `len` entries with the widest vectors that the machine has.
fn widest<T: Number>(len: usize, work: impl Loop) {
    T::dispatch(
        if len >= 8 { Isa::detect() } else { Isa::Scalar },
        Compiled(work),
    );
}

/// `to ⊕= constant ⊗ terms`, entry by entry (`first`: `to =`). `scratch` holds products of more
/// than three runs.
pub(super) fn accumulate<T: Number>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    step: ProductStep<'_, T>,
    scratch: &mut Vec<T>,
) {
    struct Accumulate<'a, 't, T>(
        &'a mut [T],
        bool,
        T,
        &'a [Term<'t, T>],
        ProductStep<'a, T>,
        &'a mut Vec<T>,
    );
    impl<T: Number> Loop for Accumulate<'_, '_, T> {
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            plain::<T, FMA>(self.0, self.1, self.2, self.3, self.4, self.5);
        }
    }
    widest::<T>(
        to.len(),
        Accumulate(to, first, constant, terms, step, scratch),
    );
}

/// Products that [`sum_products`] adds in one go, and their most runs.
pub(super) const DEEP: usize = 16;
/// Most runs of such a product.
pub(super) const MOST_RUNS: usize = 3;

/// A constant times runs of tables along a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product<'a, T> {
    /// The product of what does not change along the block.
    pub constant: T,
    /// The runs; the first so many count.
    pub runs: [Term<'a, T>; MOST_RUNS],
}

/// `to += Σ products` (`first`: `to =`), each of `runs` runs as long as `to`; sums stay in
/// registers along the depth.
pub(super) fn sum_products<T: Number>(
    to: &mut [T],
    first: bool,
    products: &[Product<'_, T>],
    runs: usize,
) {
    struct Sum<'a, 't, T>(&'a mut [T], bool, &'a [Product<'t, T>], usize);
    impl<T: Number> Loop for Sum<'_, '_, T> {
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
    widest::<T>(to.len(), Sum(to, first, products, runs));
}

/// Entries whose sums are held at one time.
const COLUMN: usize = 32;

#[inline(always)]
fn columns<T: Number, const R: usize, const FMA: bool>(
    to: &mut [T],
    first: bool,
    products: &[Product<'_, T>],
) {
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
fn column<T: Number, const R: usize, const W: usize, const FMA: bool>(
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

#[inline(always)]
fn plain<T: Number, const FMA: bool>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    step: ProductStep<'_, T>,
    scratch: &mut Vec<T>,
) {
    match step {
        ProductStep::Add => linear(to, first, constant, terms, false, scratch),
        ProductStep::Max => linear(to, first, constant, terms, true, scratch),
        ProductStep::LogMax => {
            total(constant, terms, scratch, to.len());
            put(to, first, true, scratch.iter().copied());
        }
        ProductStep::LogAdd(peaks) => {
            total(constant, terms, scratch, to.len());
            for (sum, peak) in scratch.iter_mut().zip(peaks) {
                // Where all are nothing, so is the sum: not their difference, which is not a
                // number.
                let peak = if *peak > T::from_f64(f64::NEG_INFINITY) {
                    *peak
                } else {
                    T::ZERO
                };
                *sum = *sum - peak;
            }
            slices::exponentials_in_place(scratch);
            put(to, first, false, scratch.iter().copied());
        }
    }
}

/// Sums of logarithms.
#[inline(always)]
fn total<T: Number>(constant: T, terms: &[Term<'_, T>], scratch: &mut Vec<T>, len: usize) {
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
fn linear<T: Number>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    max: bool,
    scratch: &mut Vec<T>,
) {
    match terms {
        [] => put(to, first, max, std::iter::repeat(constant)),
        [a] => put(to, first, max, a.iter().map(|a| constant * *a)),
        [a, b] => put(
            to,
            first,
            max,
            a.iter().zip(*b).map(|(a, b)| constant * *a * *b),
        ),
        [a, b, c] => put(
            to,
            first,
            max,
            a.iter()
                .zip(*b)
                .zip(*c)
                .map(|((a, b), c)| constant * *a * *b * *c),
        ),
        [a, b, rest @ ..] => {
            scratch.clear();
            scratch.extend(a.iter().zip(*b).map(|(a, b)| constant * *a * *b));
            for more in rest {
                scratch
                    .iter_mut()
                    .zip(*more)
                    .for_each(|(s, m)| *s = *s * *m);
            }
            put(to, first, max, scratch.iter().copied());
        }
    }
}

#[inline(always)]
fn put<T: Number>(to: &mut [T], first: bool, max: bool, values: impl Iterator<Item = T>) {
    match (first, max) {
        (true, _) => to.iter_mut().zip(values).for_each(|(t, v)| *t = v),
        (false, false) => to.iter_mut().zip(values).for_each(|(t, v)| *t += v),
        (false, true) => to
            .iter_mut()
            .zip(values)
            .for_each(|(t, v)| *t = t.larger(v)),
    }
}

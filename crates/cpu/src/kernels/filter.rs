//! Two passes over reductions of long rows: which of a run of values in single precision meet a
//! limit, and the exact values of the ones that single precision leaves open.
//!
//! ```text
//! meets:  for each row of up to 128 values
//!             may  = values within the wider limit, a bit each
//!             if may = 0: nothing                                       most rows
//!             sure = values within the narrower limit
//!             open = may and not sure
//! exact:  for the strips of 8 columns that have an open value, four strips at a time
//!             for k in components
//!                 sums[strip] += zip(x[k], y[strip][k])                 f64, ascending, not contracted
//! ```
//!
//! Four strips at a time, because the additions of one strip wait for each other, and the four
//! chains do not. A whole strip is computed for one open value: its lanes cost nothing more.

use super::dense::step::ReduceStep;
use super::dense::{DenseReduction, by_form};
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes, array_of, change_each};

/// Lanes of a strip of columns.
pub const STRIP: usize = 8;
/// Strips whose sums run next to each other, so that none waits for its own additions.
const BESIDE: usize = 4;

/// What single precision says of a row of up to 128 values, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilteredBits {
    /// Within the wider limit, but not the narrower.
    pub open: u128,
    /// Within the narrower limit.
    pub sure: u128,
}

/// For every row of `cells`, `ld` values apart, which of its first `cols` values (up to 128) are up
/// to its limits (`below`), else from them on: bit l is value l. `limits` are the wider and the
/// narrower of each row.
///
/// # Panics
/// If a row ends outside `cells`, or there are fewer places than limits.
pub fn meets(
    isa: Isa,
    (cells, ld, cols): (&[f32], usize, usize),
    limits: &[[f32; 2]],
    below: bool,
    out: &mut [FilteredBits],
) {
    assert!(
        cols <= 128 && cols <= ld && out.len() >= limits.len(),
        "rows of {cols} values"
    );
    assert!(
        limits.is_empty() || (limits.len() - 1) * ld + cols <= cells.len(),
        "a row ends outside"
    );
    f32::dispatch(
        isa,
        Meets {
            cells,
            ld,
            cols,
            limits,
            below,
            out,
        },
    );
}

struct Meets<'a> {
    cells: &'a [f32],
    ld: usize,
    cols: usize,
    limits: &'a [[f32; 2]],
    below: bool,
    out: &'a mut [FilteredBits],
}

impl Kernel<f32> for Meets<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f32>>(self, s: S) {
        if self.below {
            self.rows::<S, true>(s)
        } else {
            self.rows::<S, false>(s)
        }
    }
}

impl Meets<'_> {
    #[inline(always)]
    fn rows<S: Lanes<f32>, const BELOW: bool>(self, s: S) {
        for (row, ([wide, narrow], out)) in self.limits.iter().zip(self.out).enumerate() {
            let values = &self.cells[row * self.ld..][..self.cols];
            let may = row_meets::<S, BELOW>(s, values, *wide);
            // Few rows have any.
            let sure = if may == 0 {
                0
            } else {
                row_meets::<S, BELOW>(s, values, *narrow)
            };
            *out = FilteredBits {
                open: may & !sure,
                sure,
            };
        }
    }
}

#[inline(always)]
fn row_meets<S: Lanes<f32>, const BELOW: bool>(s: S, values: &[f32], limit: f32) -> u128 {
    let (first, second) = values.split_at(values.len().min(64));
    let (first, second) = match (
        <&[f32; 64]>::try_from(first),
        <&[f32; 64]>::try_from(second),
    ) {
        // The shifts within a whole word are constants.
        (Ok(first), Ok(second)) => (
            word_meets::<S, BELOW>(s, first, limit),
            word_meets::<S, BELOW>(s, second, limit),
        ),
        _ => (
            word_meets::<S, BELOW>(s, first, limit),
            word_meets::<S, BELOW>(s, second, limit),
        ),
    };
    u128::from(first) | u128::from(second) << 64
}

/// The same of up to 64 values.
#[inline(always)]
fn word_meets<S: Lanes<f32>, const BELOW: bool>(s: S, values: &[f32], limit: f32) -> u64 {
    let all = s.splat(limit);
    let chunks = values.chunks_exact(S::N);
    let rest = chunks.remainder();
    let tail = values.len() - rest.len();
    let mut bits = 0u64;
    for (at, chunk) in chunks.enumerate() {
        // SAFETY: the chunk holds N values.
        let v = unsafe { s.load(chunk.as_ptr()) };
        let mask = if BELOW { s.le(v, all) } else { s.le(all, v) };
        bits |= u64::from(s.bits(mask)) << (at * S::N);
    }
    for (at, v) in rest.iter().enumerate() {
        let meets = if BELOW { *v <= limit } else { *v >= limit };
        bits |= u64::from(meets) << (tail + at);
    }
    bits
}

/// The reductions of row `x` and the columns of a block: columns in strips of [`STRIP`] lanes,
/// component-major, of which strip t begins at number `t · stride` of `y`. `out[l]` is that of lane
/// l, where bit `l / STRIP` of `wanted` is set, with the bits of
/// [`super::dense::reduce_block_exact`].
///
/// # Panics
/// If a strip that is wanted ends outside `y`, or `out`.
pub fn exact(
    isa: Isa,
    form: DenseReduction,
    x: &[f64],
    (y, stride): (&[f64], usize),
    wanted: u16,
    out: &mut [f64],
) {
    let strips: Vec<usize> = (0..16).filter(|t| wanted >> t & 1 == 1).collect();
    for t in &strips {
        assert!(
            t * stride + STRIP * x.len() <= y.len() && (t + 1) * STRIP <= out.len(),
            "strip {t} ends outside"
        );
    }
    let strips = StripPairs {
        x,
        y,
        stride,
        strips: &strips,
        out,
    };
    by_form!(form, Op => f64::dispatch(isa, ExactSums(strips, Op)));
}

struct StripPairs<'a> {
    x: &'a [f64],
    y: &'a [f64],
    stride: usize,
    strips: &'a [usize],
    out: &'a mut [f64],
}

struct ExactSums<'a, O>(StripPairs<'a>, O);

impl<O: ReduceStep> Kernel<f64> for ExactSums<'_, O> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(mut self, s: S) {
        let chunks = self.0.strips.chunks_exact(BESIDE);
        let rest = chunks.remainder();
        for beside in chunks {
            self.beside::<S, BESIDE>(s, array_of(|at| beside[at]));
        }
        rest.iter()
            .for_each(|strip| self.beside::<S, 1>(s, [*strip]));
    }
}

impl<O: ReduceStep> ExactSums<'_, O> {
    /// Strips side by side.
    #[inline(always)]
    fn beside<S: Lanes<f64>, const W: usize>(&mut self, s: S, strips: [usize; W]) {
        let StripPairs { x, y, stride, .. } = self.0;
        let one = s.splat(std::hint::black_box(1.0));
        for part in (0..STRIP).step_by(S::N) {
            let mut sums = [s.splat(0.0); W];
            for (k, x) in x.iter().enumerate() {
                change_each(&mut sums, strips, |sum, t| {
                    // SAFETY: `exact` found the strip within `y`, and N divides STRIP.
                    unsafe {
                        let y = s.load(y.as_ptr().add(t * stride + k * STRIP + part));
                        *sum = O::step::<f64, S, true>(s, one, *sum, x, y);
                    }
                });
            }
            for (sum, t) in sums.into_iter().zip(strips) {
                // SAFETY: `exact` found the strip within `out`.
                unsafe { s.store(sum, self.0.out.as_mut_ptr().add(t * STRIP + part)) };
            }
        }
    }
}

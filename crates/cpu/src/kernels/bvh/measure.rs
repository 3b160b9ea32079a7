//! Values of vectors of pairs, and least values of boxes.

use super::{BoxLevel, Bvh, Measure, Norm};
use zipfold_vector::simd::{Lanes, array_of};

/// Forms of a measure, chosen outside of all loops.
pub(super) const SQUARES: u8 = 0;
pub(super) const MAGNITUDES: u8 = 1;
pub(super) const LARGEST: u8 = 2;
pub(super) const PERIODIC: u8 = 3;

impl Measure {
    /// Which of the forms this is.
    pub(super) fn form(&self) -> u8 {
        match (self.norm, self.periods) {
            (Norm::Squares, None) => SQUARES,
            (Norm::Squares, Some(_)) => PERIODIC,
            (Norm::Magnitudes, _) => MAGNITUDES,
            (Norm::Largest, _) => LARGEST,
        }
    }
    /// The edges of the box, in all lanes.
    #[inline(always)]
    pub(super) fn lengths<S: Lanes<f64>, const D: usize>(&self, s: S) -> [S::V; D] {
        let lengths = self.periods.unwrap_or([1.0; super::MOST]);
        array_of(|k| s.splat(lengths[k]))
    }
}

/// Calls `$call::<S, D, FORM>` for the terms and the form of a measure.
macro_rules! by_form {
    ($measure:expr, $this:ident . $call:ident :: <$s:ty> $args:tt) => {
        by_form!(@terms $measure, $this, $call, $s, $args, [
            (1, 0) (1, 1) (1, 2) (1, 3) (2, 0) (2, 1) (2, 2) (2, 3) (3, 0) (3, 1) (3, 2) (3, 3) (4, 0) (4, 1) (4, 2)
        ])
    };
    (@terms $measure:expr, $this:ident, $call:ident, $s:ty, $args:tt, [$(($d:literal, $f:literal))*]) => {
        match ($measure.terms, $measure.form()) {
            $(($d, $f) => $this.$call::<$s, $d, $f> $args,)*
            _ => $this.$call::<$s, 4, 3> $args,
        }
    };
}
pub(super) use by_form;

/// Reference values of differences or of gaps, that is of magnitudes.
#[inline(always)]
fn value<S: Lanes<f64>, const D: usize, const F: u8>(s: S, d: [S::V; D]) -> S::V {
    let part = |d: S::V| {
        if F == SQUARES || F == PERIODIC {
            s.mul(d, d)
        } else {
            s.abs(d)
        }
    };
    let mut sum = part(d[0]);
    for d in d.into_iter().skip(1) {
        // No multiply-add: the reference rounds the square and the sum.
        sum = if F == LARGEST {
            s.max(sum, part(d))
        } else {
            s.add(sum, part(d))
        };
    }
    sum
}

#[inline(always)]
fn difference<S: Lanes<f64>, const F: u8>(s: S, x: S::V, y: S::V, length: S::V) -> S::V {
    let d = s.sub(x, y);
    if F == PERIODIC {
        s.sub(d, s.mul(length, s.round(s.div(d, length))))
    } else {
        d
    }
}

/// The values of point `x` with the points from `first` on.
///
/// # Safety
/// `first` + N points or places of padding exist.
#[inline(always)]
pub(super) unsafe fn values<S: Lanes<f64>, const D: usize, const F: u8>(
    s: S,
    bvh: &Bvh,
    x: &[S::V; D],
    lengths: &[S::V; D],
    first: usize,
) -> S::V {
    let d = array_of(|k| {
        // SAFETY: the caller promises the places; a column has `stride` of them.
        let y = unsafe { s.load(bvh.columns.as_ptr().add(k * bvh.stride + first)) };
        difference::<S, F>(s, x[k], y, lengths[k])
    });
    value::<S, D, F>(s, d)
}

/// A point or a box that boxes are compared with: least and largest coordinates, or in a periodic
/// box middles and halves.
#[derive(Clone, Copy)]
pub(super) struct Extent<V, const D: usize> {
    pub(super) first: [V; D],
    pub(super) second: [V; D],
}

impl<V: Copy, const D: usize> Extent<V, D> {
    /// Of a point; `slack` is [`slacks`] of its cloud.
    #[inline(always)]
    pub(super) fn point<const F: u8>(x: [V; D], slack: &[V; D]) -> Self {
        Extent {
            first: x,
            second: if F == PERIODIC { *slack } else { x },
        }
    }
}

/// What the images of a bounding volume hierarchy's points may err by, in all lanes.
#[inline(always)]
pub(super) fn slacks<S: Lanes<f64>, const D: usize>(
    s: S,
    measure: &Measure,
    bvh: &Bvh,
) -> [S::V; D] {
    let lengths = measure.periods.unwrap_or_default();
    array_of(|k| s.splat(super::slack(bvh.most, lengths[k])))
}

/// At most the value of any pair of points of `mine` and of the boxes from `at` on.
///
/// # Safety
/// `at` + N boxes or places of padding exist in `level`.
#[inline(always)]
pub(super) unsafe fn least<S: Lanes<f64>, const D: usize, const F: u8>(
    s: S,
    level: &BoxLevel,
    mine: &Extent<S::V, D>,
    lengths: &[S::V; D],
    at: usize,
) -> S::V {
    let zero = s.splat(0.0);
    let gaps = array_of(|k| {
        // SAFETY: the caller promises the places; a coordinate has `stride` of them.
        let (first, second) = unsafe {
            let place = k * level.stride + at;
            (
                s.load(level.first.as_ptr().add(place)),
                s.load(level.second.as_ptr().add(place)),
            )
        };
        if F == PERIODIC {
            let apart = s.abs(difference::<S, F>(s, mine.first[k], first, lengths[k]));
            s.max(s.sub(apart, s.add(second, mine.second[k])), zero)
        } else {
            s.max(
                s.max(s.sub(first, mine.second[k]), s.sub(mine.first[k], second)),
                zero,
            )
        }
    });
    value::<S, D, F>(s, gaps)
}

/// At least the value of any pair of points of `mine` and of the boxes from `at` on.
///
/// # Safety
/// As for [`least`].
#[inline(always)]
pub(super) unsafe fn most<S: Lanes<f64>, const D: usize, const F: u8>(
    s: S,
    level: &BoxLevel,
    mine: &Extent<S::V, D>,
    (lengths, slack): (&[S::V; D], &[S::V; D]),
    at: usize,
) -> S::V {
    let reach = array_of(|k| {
        // SAFETY: the caller promises the places; a coordinate has `stride` of them.
        let (first, second) = unsafe {
            let place = k * level.stride + at;
            (
                s.load(level.first.as_ptr().add(place)),
                s.load(level.second.as_ptr().add(place)),
            )
        };
        if F == PERIODIC {
            // No image is farther than half an edge.
            let apart = s.abs(difference::<S, F>(s, mine.first[k], first, lengths[k]));
            let half = s.add(s.mul(lengths[k], s.splat(0.5)), slack[k]);
            s.min(s.add(apart, s.add(second, mine.second[k])), half)
        } else {
            s.max(s.sub(second, mine.first[k]), s.sub(mine.second[k], first))
        }
    });
    value::<S, D, F>(s, reach)
}

//! How well the connectivities of a weighted network follow a power law (WGCNA's
//! `pickSoftThreshold`; Zhang and Horvath 2005).

use super::asked::Sign;
use super::measures::Strip;
use rayon::prelude::*;
use zipfold_core::number::{log10, pow};

/// Bins of connectivities.
const BINS: usize = 10;
/// The fit from which on a power is taken.
pub(super) const FINE: f64 = 0.85;

/// A power, and how the connectivities that it gives are distributed.
///
/// ```
/// use zipfold::internals::association::ScaleFree;
/// fn is_fine(fit: &ScaleFree) -> bool {
///     fit.r2 >= 0.85 && fit.mean > 1.0
/// }
/// # let _ = is_fine;
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleFree {
    /// The power.
    pub power: f64,
    /// R² of log₁₀ of the share of rows on log₁₀ of connectivity, with the sign of −slope; NaN where
    /// connectivities are equal.
    pub r2: f64,
    /// The slope.
    pub slope: f64,
    /// The mean connectivity.
    pub mean: f64,
    /// The median connectivity.
    pub median: f64,
    /// The largest connectivity.
    pub largest: f64,
}

/// Connectivities by row, of each power.
pub(super) struct Connectivity {
    powers: Vec<f64>,
    sign: Sign,
    sums: Vec<f64>,
}

impl Connectivity {
    pub(super) fn new(rows: usize, powers: &[f64], sign: Sign) -> Self {
        Connectivity {
            powers: powers.to_vec(),
            sign,
            sums: vec![0.0; rows * powers.len()],
        }
    }
    /// Adds the pairs of a strip.
    pub(super) fn add(&mut self, strip: &Strip) {
        let many = self.powers.len();
        let rows = self.sums.par_chunks_mut(many).enumerate();
        rows.skip(strip.rows.start).for_each(|(g, sums)| {
            for pair in strip.around(g) {
                let base = self.sign.base(pair.value);
                let both = sums.iter_mut().zip(&self.powers);
                both.for_each(|(sum, power)| *sum += pow(base, *power));
            }
        });
    }
    /// The fit of each power.
    pub(super) fn fits(&self) -> Vec<ScaleFree> {
        let many = self.powers.len();
        let one = |(at, power): (usize, &f64)| {
            let k: Vec<f64> = self.sums.iter().skip(at).step_by(many).copied().collect();
            fit(*power, k)
        };
        self.powers.iter().enumerate().map(one).collect()
    }
}

/// Whether ascending connectivities differ by more than the rounding of their sums: of equal ones a
/// line through bins would be one through noise.
fn differ(k: &[f64]) -> bool {
    match (k.first(), k.last()) {
        (Some(least), Some(largest)) => largest - least > 1e-12 * largest,
        _ => false,
    }
}

/// The fit of connectivities; none where they are equal.
fn fit(power: f64, mut k: Vec<f64>) -> ScaleFree {
    k.sort_by(f64::total_cmp);
    let n = k.len();
    let (r2, slope) = match differ(&k) {
        true => line(&points(&k)),
        false => (f64::NAN, f64::NAN),
    };
    let middle = |at: usize| k.get(at).copied().unwrap_or(f64::NAN);
    ScaleFree {
        power,
        r2: -slope.signum() * r2,
        slope,
        mean: k.iter().sum::<f64>() / n as f64,
        median: 0.5 * (middle(n.saturating_sub(1) / 2) + middle(n / 2)),
        largest: middle(n.saturating_sub(1)),
    }
}

/// Logarithms of the mean connectivity of each bin, and of the share of rows in it, of ascending
/// connectivities.
fn points(k: &[f64]) -> Vec<(f64, f64)> {
    let (Some(least), Some(largest)) = (k.first(), k.last()) else {
        return vec![];
    };
    let width = (largest - least) / BINS as f64;
    let edge = |bin: usize| least + width * bin as f64;
    // Bins have their upper edge and not their lower one; the first has both.
    let place = |bin: usize| match bin {
        0 => 0,
        BINS => k.len(),
        _ => k.partition_point(|v| *v <= edge(bin)),
    };
    let point = |bin: usize| {
        let some = &k[place(bin)..place(bin + 1).max(place(bin))];
        let mean = some.iter().sum::<f64>() / some.len() as f64;
        let middle = 0.5 * (edge(bin) + edge(bin + 1));
        let share = some.len() as f64 / k.len() as f64;
        let at = if mean > 0.0 { mean } else { middle };
        (log10(at), log10(share + 1e-9))
    };
    (0..BINS).map(point).collect()
}

/// R² and the slope of a line through points.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - x, p.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|a, _| a * a), sum(&|a, b| a * b), sum(&|_, b| b * b));
    (xy * xy / (xx * yy), xy / xx)
}

/// The least power whose fit is fine, or the one with the best fit, and whether it is fine. None
/// where no power has a fit: connectivities of all rows are equal.
pub(super) fn chosen(fits: &[ScaleFree]) -> Option<(f64, bool)> {
    let fine = fits.iter().find(|fit| fit.r2 >= FINE);
    let known = || fits.iter().filter(|fit| !fit.r2.is_nan());
    let best = || known().max_by(|a, b| a.r2.total_cmp(&b.r2));
    fine.or_else(best).map(|fit| (fit.power, fit.r2 >= FINE))
}

/// The power that WGCNA's authors recommend for a number of samples where no fit chooses one.
pub(super) fn usual(samples: usize, sign: Sign) -> f64 {
    let unsigned = match samples {
        0..20 => 9.0,
        20..30 => 8.0,
        30..=40 => 7.0,
        _ => 6.0,
    };
    match sign {
        Sign::Unsigned | Sign::Hybrid => unsigned,
        Sign::Signed => 2.0 * unsigned,
    }
}

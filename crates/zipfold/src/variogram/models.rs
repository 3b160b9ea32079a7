//! Models of variograms, by weighted least squares.
//!
//! ```text
//! γ(h) = nugget + sill · s(h / a)
//! spherical    s(u) = 1.5 u − 0.5 u³ up to 1, then 1
//! exponential  s(u) = 1 − exp(−u)
//! gaussian     s(u) = 1 − exp(−u²)
//! for each a, nugget and sill are linear: the least squares of two numbers, none below 0
//! a: the best of a grid of equal ratios, then a golden section between its neighbours
//! ```
//!
//! Only a is searched, along a line, so no start is needed and no iteration diverges. A general
//! minimiser of three numbers would do neither.

use serde::{Deserialize, Serialize};

/// Places of the grid.
const PLACES: usize = 400;
/// Steps of a golden section: 0.618⁶⁰ is below rounding.
const STEPS: usize = 60;

/// A shape of variograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariogramModel {
    /// Linear at the start, and level from the range on.
    Spherical,
    /// Linear at the start, and never level.
    Exponential,
    /// Smooth at the start.
    Gaussian,
}

/// A model that was fitted to a variogram.
///
/// ```
/// use zipfold::internals::variogram::FittedModel;
/// fn total(fit: &FittedModel) -> f64 {
///     fit.nugget + fit.sill
/// }
/// # let _ = total;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedModel {
    /// The shape.
    pub model: VariogramModel,
    /// The value just above distance 0.
    pub nugget: f64,
    /// What is added to the nugget far away: the partial sill.
    pub sill: f64,
    /// The length a of the shape.
    pub range: f64,
    /// The distance at which a spherical model is level, and the others have 95 % of the sill.
    pub practical_range: f64,
    /// The weighted sum of squares that is left.
    pub squares: f64,
    /// Whether the range is below the end of the search; otherwise the values have not reached a
    /// sill within the lags.
    pub is_settled: bool,
    /// By lag, the model at the mean distance; NaN without pairs.
    pub values: Vec<f64>,
}

impl VariogramModel {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            VariogramModel::Spherical => "spherical",
            VariogramModel::Exponential => "exponential",
            VariogramModel::Gaussian => "gaussian",
        }
    }
    /// The shape at a distance over the range.
    pub(super) fn shape(self, u: f64) -> f64 {
        match self {
            VariogramModel::Spherical if u >= 1.0 => 1.0,
            VariogramModel::Spherical => u * (1.5 - 0.5 * u * u),
            VariogramModel::Exponential => -(-u).exp_m1(),
            VariogramModel::Gaussian => -(-u * u).exp_m1(),
        }
    }
    /// The practical range over the range.
    fn practical(self) -> f64 {
        match self {
            VariogramModel::Spherical => 1.0,
            VariogramModel::Exponential => 20f64.ln(),
            VariogramModel::Gaussian => 20f64.ln().sqrt(),
        }
    }
}

/// What a lag of N pairs at the mean distance h weighs in a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitWeights {
    /// N / h².
    #[default]
    PairsOverSquare,
    /// N.
    Pairs,
    /// 1.
    Equal,
}

/// A lag that a fit takes.
#[derive(Clone, Copy, Debug)]
struct Lag {
    h: f64,
    value: f64,
    weight: f64,
}

/// Nugget and sill for a range, and the squares that are left.
#[derive(Clone, Copy, Debug)]
struct Linear {
    nugget: f64,
    sill: f64,
    squares: f64,
}

/// Curves that a model may be fitted to: counts, mean distances and values by lag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fitted<'a> {
    pub(super) counts: &'a [u64],
    pub(super) distances: &'a [f64],
    pub(super) values: &'a [f64],
    /// Whether nugget and sill may be below 0, as those of two values may.
    pub(super) is_cross: bool,
}

impl Fitted<'_> {
    /// Lags with pairs apart from each other.
    fn lags(&self, weights: FitWeights) -> Vec<Lag> {
        let lags = self.counts.iter().zip(self.distances).zip(self.values);
        let lag = |((count, h), value): ((&u64, &f64), &f64)| Lag {
            h: *h,
            value: *value,
            weight: match weights {
                FitWeights::PairsOverSquare => *count as f64 / (h * h),
                FitWeights::Pairs => *count as f64,
                FitWeights::Equal => 1.0,
            },
        };
        let lags = lags.map(lag);
        lags.filter(|lag| lag.h > 0.0 && lag.value.is_finite() && lag.weight.is_finite())
            .collect()
    }
    /// Fits a model; none with fewer than three lags that have pairs.
    pub(super) fn fit(&self, model: VariogramModel, weights: FitWeights) -> Option<FittedModel> {
        let lags = self.lags(weights);
        let (first, last) = (lags.first()?.h, lags.last()?.h);
        if lags.len() < 3 {
            return None;
        }
        let squares = |log: f64| self.linear(model, log.exp(), &lags).squares;
        // From ranges below the first lag to ranges far beyond the last.
        let (lo, hi) = ((first / 4.0).ln(), (last * 10.0).ln());
        let step = (hi - lo) / PLACES as f64;
        let place = |at: usize| lo + step * at as f64;
        let better = |a: usize, b: usize| match squares(place(b)) < squares(place(a)) {
            true => b,
            false => a,
        };
        let best = (0..=PLACES).reduce(better)?;
        let ends = [place(best.saturating_sub(1)), place((best + 1).min(PLACES))];
        let range = golden(ends, squares).exp();
        let linear = self.linear(model, range, &lags);
        let at = |h: &f64| linear.nugget + linear.sill * model.shape(h / range);
        Some(FittedModel {
            model,
            nugget: linear.nugget,
            sill: linear.sill,
            range,
            practical_range: range * model.practical(),
            squares: linear.squares,
            is_settled: best < PLACES,
            values: self.distances.iter().map(at).collect(),
        })
    }
    /// The least squares of nugget and sill for a range.
    fn linear(&self, model: VariogramModel, range: f64, lags: &[Lag]) -> Linear {
        let shapes: Vec<f64> = lags.iter().map(|lag| model.shape(lag.h / range)).collect();
        let with = |nugget: f64, sill: f64| {
            let left = lags.iter().zip(&shapes).map(|(lag, s)| {
                let rest = lag.value - nugget - sill * s;
                lag.weight * rest * rest
            });
            Linear {
                nugget,
                sill,
                squares: left.sum(),
            }
        };
        let sum = |term: &dyn Fn(&Lag, f64) -> f64| -> f64 {
            let both = lags.iter().zip(&shapes);
            both.map(|(lag, s)| lag.weight * term(lag, *s)).sum()
        };
        let weights = sum(&|_, _| 1.0);
        let (mean_s, mean_v) = (sum(&|_, s| s) / weights, sum(&|lag, _| lag.value) / weights);
        let spread = sum(&|_, s| (s - mean_s) * (s - mean_s));
        let slope = sum(&|lag, s| (s - mean_s) * (lag.value - mean_v)) / spread;
        let free = with(mean_v - slope * mean_s, slope);
        let fine = free.squares.is_finite();
        if fine && (self.is_cross || (free.nugget >= 0.0 && free.sill >= 0.0)) {
            return free;
        }
        // At an end of what is allowed: no nugget, or nothing but a nugget.
        let through = sum(&|lag, s| s * lag.value) / sum(&|_, s| s * s);
        let through = with(0.0, if through > 0.0 { through } else { 0.0 });
        let level = with(
            if self.is_cross {
                mean_v
            } else {
                mean_v.max(0.0)
            },
            0.0,
        );
        match level.squares < through.squares {
            true => level,
            false => through,
        }
    }
}

/// The place of a minimum between `ends`.
fn golden([mut lo, mut hi]: [f64; 2], value: impl Fn(f64) -> f64) -> f64 {
    let part = (5f64.sqrt() - 1.0) / 2.0;
    let mut inner = [hi - part * (hi - lo), lo + part * (hi - lo)];
    let mut values = inner.map(&value);
    for _ in 0..STEPS {
        if values[0] <= values[1] {
            (hi, inner[1], values[1]) = (inner[1], inner[0], values[0]);
            inner[0] = hi - part * (hi - lo);
            values[0] = value(inner[0]);
        } else {
            (lo, inner[0], values[0]) = (inner[0], inner[1], values[1]);
            inner[1] = lo + part * (hi - lo);
            values[1] = value(inner[1]);
        }
    }
    (lo + hi) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [VariogramModel; 3] = [
        VariogramModel::Spherical,
        VariogramModel::Exponential,
        VariogramModel::Gaussian,
    ];

    fn fitted(values: &[f64], is_cross: bool, model: VariogramModel) -> FittedModel {
        let distances: Vec<f64> = (0..values.len()).map(|k| 0.4 + k as f64).collect();
        let counts = vec![7; values.len()];
        let curve = Fitted {
            counts: &counts,
            distances: &distances,
            values,
            is_cross,
        };
        curve.fit(model, FitWeights::default()).unwrap()
    }

    #[test]
    fn a_fit_finds_what_made_the_values() {
        for model in ALL {
            for (nugget, sill, range) in [(0.5, 2.0, 4.0), (0.0, 1e-6, 2.5), (3.0, 1e5, 7.0)] {
                let value = |k: usize| nugget + sill * model.shape((0.4 + k as f64) / range);
                let fit = fitted(&(0..20).map(value).collect::<Vec<_>>(), false, model);
                let near = |a: f64, b: f64, unit: f64| (a - b).abs() <= 1e-5 * unit;
                assert!(near(fit.range, range, range), "{fit:?}");
                assert!(near(fit.nugget, nugget, sill), "{fit:?}");
                assert!(near(fit.sill, sill, sill) && fit.is_settled, "{fit:?}");
            }
        }
    }

    #[test]
    fn values_without_a_shape_are_a_nugget() {
        for model in ALL {
            let falling = fitted(&[9.0, 7.0, 5.0, 3.0, 1.0], false, model);
            assert!(falling.nugget >= 0.0 && falling.sill >= 0.0, "{falling:?}");
            let rising: Vec<f64> = (0..9).map(|k| 0.4 + f64::from(k)).collect();
            assert!(!fitted(&rising, false, VariogramModel::Spherical).is_settled);
            let level = fitted(&[2.0; 6], false, model);
            assert!(level.squares < 1e-20, "{level:?}");
            let cross = fitted(&[-1.0, -2.0, -2.9, -3.0, -3.0], true, model);
            assert!(cross.sill < 0.0, "{cross:?}");
        }
    }

    #[test]
    fn two_lags_are_too_few() {
        let curve = Fitted {
            counts: &[4, 0, 4],
            distances: &[1.0, f64::NAN, 2.0],
            values: &[1.0, f64::NAN, 2.0],
            is_cross: false,
        };
        assert!(curve.fit(ALL[0], FitWeights::Pairs).is_none());
    }
}

//! p-values, as functions of evidence: a class of pairs and a score that grows as p falls.
//!
//! ```text
//! t             class n, score |r|      p = I(1 − r²; (n − 2) / 2, 1 / 2)
//! kendall       class n, score |C − D|  exact, of up to 33 samples without ties (SciPy's rule but for
//!                                       one exchange or none of more samples, far below 10⁻¹⁵)
//!               class 0, score |z|      p = erfc(z / √2), variance corrected for ties
//! permutations  class 0, score B − k    p = (k + 1) / (B + 1), k of B at least as far
//! ```
//!
//! A sweep needs the score alone: p is computed for edges, and for the bounds of bins of scores.

use super::asked::{Association, Measure};
use zipfold_core::number::{erfc, pow};
use zipfold_cpu::kernels::pairwise::{Balance, TieSums};

/// Samples up to which Kendall's distribution is exact, as in SciPy.
const EXACT: u32 = 33;
/// A normal score beyond which p is below the least number.
const FAR: f64 = 40.0;

/// What a p-value is a function of: it falls as the score grows, within a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    pub(super) class: u32,
    pub(super) score: f64,
}

/// p-values of evidence.
pub(super) struct Tails {
    kind: Distribution,
}

enum Distribution {
    /// By class, 1 / B((n − 2) / 2, 1 / 2).
    Student(Vec<f64>),
    /// By class, the probability of at most as many exchanges.
    Kendall(Vec<Vec<f64>>),
    /// Of this many permutations.
    Drawn(usize),
}

impl Tails {
    /// Those of a measure of up to `samples` samples; none where it has none.
    pub(super) fn new(asked: &Association, samples: usize) -> Option<Self> {
        let kind = match (asked.permutations, asked.measure) {
            (0, Measure::Mi) => return None,
            (0, Measure::Kendall) => {
                let most = EXACT.min(samples as u32) as usize;
                Distribution::Kendall((0..=most).map(at_most).collect())
            }
            (0, _) => {
                let one = |n: usize| one_over_beta((n.max(3) - 2) as f64 / 2.0);
                Distribution::Student((0..=samples).map(one).collect())
            }
            (count, _) => Distribution::Drawn(count),
        };
        Some(Tails { kind })
    }
    /// Number of classes.
    pub(super) fn classes(&self) -> usize {
        match &self.kind {
            Distribution::Student(betas) => betas.len(),
            Distribution::Kendall(exact) => exact.len(),
            Distribution::Drawn(_) => 1,
        }
    }
    /// The largest score of a class; where scores have none, one whose p is 0.
    pub(super) fn span(&self, class: u32) -> f64 {
        match &self.kind {
            Distribution::Student(_) => 1.0,
            Distribution::Kendall(_) if class > 0 => pairs(class).max(1.0),
            Distribution::Kendall(_) => FAR,
            Distribution::Drawn(count) => *count as f64,
        }
    }
    /// The p-value of evidence.
    pub(super) fn p(&self, evidence: Evidence) -> f64 {
        let Evidence { class, score } = evidence;
        match &self.kind {
            Distribution::Student(_) if class < 3 => 1.0,
            Distribution::Student(betas) => student(class, score.min(1.0), betas[class as usize]),
            Distribution::Kendall(_) if class == 0 => {
                erfc(score / std::f64::consts::SQRT_2).min(1.0)
            }
            Distribution::Kendall(exact) => {
                // Of the fewer: discordant pairs, or concordant ones.
                let fewer = ((pairs(class) - score.ceil()) / 2.0).floor();
                let below = &exact[class as usize];
                match score <= 0.0 {
                    true => 1.0,
                    false if fewer < 0.0 => 0.0,
                    false => (2.0 * below[(fewer as usize).min(below.len() - 1)]).min(1.0),
                }
            }
            Distribution::Drawn(count) => {
                let reached = (*count as f64 - score).max(0.0);
                (reached + 1.0) / (*count as f64 + 1.0)
            }
        }
    }
    /// The evidence of Kendall's statistic; ties are asked where there may be some.
    pub(super) fn kendall(balance: &Balance, ties: impl FnOnce() -> [TieSums; 2]) -> Evidence {
        let all = pairs(balance.count);
        let difference = (balance.difference as f64).abs();
        let without_ties = balance.untied.iter().all(|count| *count as f64 == all);
        if without_ties && balance.count <= EXACT {
            return Evidence {
                class: balance.count,
                score: difference,
            };
        }
        let [x, y] = match without_ties {
            true => [TieSums::default(); 2],
            false => ties(),
        };
        let n = f64::from(balance.count);
        let m = n * (n - 1.0);
        let variance = (m * (2.0 * n + 5.0) - x.weighted - y.weighted) / 18.0
            + 2.0 * x.pairs * y.pairs / m
            + x.triples * y.triples / (9.0 * m * (n - 2.0));
        let score = difference / variance.sqrt();
        Evidence {
            class: 0,
            // Of rows that do not vary, which have no value either.
            score: if score.is_nan() { 0.0 } else { score },
        }
    }
}

/// Pairs of `n` samples.
fn pairs(n: u32) -> f64 {
    f64::from(n) * (f64::from(n) - 1.0) / 2.0
}

/// By number of exchanges, the probability that a random order of `n` has at most as many (Kendall
/// 1970).
fn at_most(n: usize) -> Vec<f64> {
    let mut share = vec![1.0];
    for k in 2..=n {
        let mut next = vec![0.0; share.len() + k - 1];
        for (at, p) in share.iter().enumerate() {
            next[at..at + k].iter_mut().for_each(|q| *q += p / k as f64);
        }
        share = next;
    }
    let mut sum = 0.0;
    share.iter_mut().for_each(|p| {
        sum += *p;
        *p = sum;
    });
    share
}

/// 1 / B(a, 1/2) = Γ(a + 1/2) / (Γ(a) √π).
fn one_over_beta(a: f64) -> f64 {
    // Up to a large a by Γ(a + 1) = a Γ(a), then the series of the ratio.
    let (mut at, mut factor) = (a, 1.0);
    while at < 60.0 {
        factor *= at / (at + 0.5);
        at += 1.0;
    }
    let x = 1.0 / at;
    let series = [
        1.0,
        -1.0 / 8.0,
        1.0 / 128.0,
        5.0 / 1024.0,
        -21.0 / 32768.0,
        -399.0 / 262_144.0,
        869.0 / 4_194_304.0,
        39_325.0 / 33_554_432.0,
    ];
    let sum = series.iter().rev().fold(0.0, |sum, c| sum * x + c);
    factor * at.sqrt() * sum / std::f64::consts::PI.sqrt()
}

/// P(|T| ≥ t) of Student's t with n − 2 degrees of freedom, for a correlation `r` ≥ 0.
fn student(n: u32, r: f64, one_over_beta: f64) -> f64 {
    let a = f64::from(n - 2) / 2.0;
    let x = (1.0 - r) * (1.0 + r);
    if x <= 0.0 {
        return 0.0;
    }
    let front = |a: f64, b: f64, x: f64, y: f64| one_over_beta * pow(x, a) * pow(y, b) / a;
    // The fraction converges fast on one side of the mean of the distribution.
    match x < (a + 1.0) / (a + 2.5) {
        true => front(a, 0.5, x, r * r) * fraction(a, 0.5, x),
        false => 1.0 - front(0.5, a, r * r, x) * fraction(0.5, a, r * r),
    }
    .clamp(0.0, 1.0)
}

/// The continued fraction of the incomplete beta function (Lentz's method).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for step in [even, odd] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            change = c * d;
            h *= change;
        }
        // Two units in the last place: a change may stay one away from 1.
        if (change - 1.0).abs() < 5e-16 {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_tails_are_scipys() {
        // 2 * scipy.stats.t.sf(r * sqrt((n - 2) / (1 - r**2)), n - 2)
        let wanted = [
            (3, 0.5, 2.0 / 3.0),
            (4, 0.9, 0.1),
            (10, 0.1, 0.783_424_406_250_001_2),
            (10, 0.99, 4.322_718_437_500_015e-8),
            (57, 0.001, 0.994_109_615_930_813_7),
            (60, 0.3, 0.019_868_182_889_321_61),
            (60, 0.95, 5.260_001_085_362_332_5e-31),
            (200, 0.05, 0.481_984_368_485_499_7),
            (200, 0.999, 3.419_447_160_903_012e-269),
            (1000, 0.5, 2.278_101_929_537_937_8e-64),
            (20000, 0.02, 0.004_676_184_609_442_605),
        ];
        for (n, r, p) in wanted {
            let found = student(n, r, one_over_beta(f64::from(n - 2) / 2.0));
            assert!((found / p - 1.0).abs() < 1e-12, "{n} {r}: {found} {p}");
        }
    }

    #[test]
    fn few_exchanges_are_counted() {
        // Orders of four by exchanges: 1, 3, 5, 6, 5, 3, 1.
        let sums = [1.0, 4.0, 9.0, 15.0, 20.0, 23.0, 24.0];
        for (p, sum) in at_most(4).iter().zip(sums) {
            assert!((p - sum / 24.0).abs() < 1e-15);
        }
    }
}

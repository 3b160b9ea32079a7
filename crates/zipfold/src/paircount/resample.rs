//! Samples of regions, and their covariance.
//!
//! ```text
//! jackknife   sample k leaves out all pairs with a row in region k        C = (K − 1) / K Σ δ δᵀ
//! bootstrap   K regions are drawn, region a mₐ times: pairs of different   C = 1 / (S − 1) Σ δ δᵀ
//!             regions count mₐ m_b times, those within a region mₐ times
//! ```
//!
//! δ is the difference from the mean of the samples. All samples come from the counts by pair of
//! regions, so they cost no pairs.

use super::asked::{PairCount, Resample};
use super::counts::{CountedTerm, slot};
use super::estimate::Sums;
use zipfold_core::Random;

impl PairCount {
    /// Number of samples that regions make.
    pub(super) fn sample_count(&self, regions: usize) -> usize {
        match self.resample {
            Resample::Jackknife => regions,
            Resample::Bootstrap => self.samples,
        }
    }
    /// What `make` gives for the sums of the terms of each sample; those of one sample at a time
    /// are kept.
    pub(super) fn sampled(
        &self,
        terms: &[CountedTerm],
        regions: usize,
        make: &dyn Fn(&Sums) -> Vec<f64>,
    ) -> Vec<Vec<f64>> {
        let all = |of: &dyn Fn(&CountedTerm) -> Vec<f64>| {
            make(&terms.iter().map(|term| (term.sides, of(term))).collect())
        };
        match self.resample {
            Resample::Jackknife => (0..regions)
                .map(|region| all(&|term| without(term, region, regions)))
                .collect(),
            Resample::Bootstrap => {
                let mut random = Random::new(self.seed);
                let mut draw = || {
                    let mut times = vec![0.0; regions];
                    (0..regions).for_each(|_| times[random.below(regions)] += 1.0);
                    times
                };
                let draws = (0..self.samples).map(|_| draw());
                draws
                    .map(|times| all(&|term| drawn(term, &times, regions)))
                    .collect()
            }
        }
    }
    /// The covariance of samples.
    pub(super) fn covariance(&self, samples: &[Vec<f64>]) -> Vec<f64> {
        let count = samples.len() as f64;
        let scale = match self.resample {
            Resample::Jackknife => (count - 1.0) / count,
            Resample::Bootstrap => 1.0 / (count - 1.0),
        };
        let length = samples.first().map_or(0, Vec::len);
        let mut mean = vec![0.0; length];
        for sample in samples {
            mean.iter_mut()
                .zip(sample)
                .for_each(|(m, v)| *m += v / count);
        }
        let mut out = vec![0.0; length * length];
        for sample in samples {
            let away: Vec<f64> = sample.iter().zip(&mean).map(|(v, m)| v - m).collect();
            for (row, a) in out.chunks_mut(length).zip(&away) {
                row.iter_mut()
                    .zip(&away)
                    .for_each(|(c, b)| *c += scale * a * b);
            }
        }
        out
    }
}

/// Sums without the pairs of a region.
fn without(term: &CountedTerm, region: usize, regions: usize) -> Vec<f64> {
    let mut sums = term.sums.clone();
    for other in 0..regions {
        let of = &term.by_region[slot([region, other], regions)];
        sums.iter_mut().zip(of).for_each(|(sum, v)| *sum -= v);
    }
    sums
}

/// Sums of regions that were drawn several times, or never.
fn drawn(term: &CountedTerm, times: &[f64], regions: usize) -> Vec<f64> {
    let mut sums = vec![0.0; term.sums.len()];
    for a in 0..regions {
        for b in a..regions {
            let weight = if a == b {
                times[a]
            } else {
                times[a] * times[b]
            };
            if weight > 0.0 {
                let of = &term.by_region[slot([a, b], regions)];
                sums.iter_mut()
                    .zip(of)
                    .for_each(|(sum, v)| *sum += weight * v);
            }
        }
    }
    sums
}

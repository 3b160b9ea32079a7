//! The least and the largest values found so far, by all threads: what lies between them changes
//! nothing. And what a value must not exceed to be among the best of all pairs.

use std::sync::atomic::{AtomicU64, Ordering};
use zipfold_core::fold::{Fold, State};

/// What all threads know of the values of a fold; numbers as bits in their order.
#[derive(Debug)]
pub(super) struct Limits {
    /// By root of [`Extremes`]: the least and the largest value.
    ends: Vec<[AtomicU64; 2]>,
    /// By fold, of `Top`: the worst of k values that some thread has found.
    worst: Vec<Option<AtomicU64>>,
}

impl Limits {
    /// No value yet of `folds`.
    pub(super) fn new(folds: &[Fold]) -> Self {
        let roots = if let [Fold::Extremes(f)] = folds {
            f.roots.len()
        } else {
            0
        };
        let ends = (0..roots)
            .map(|_| [f64::INFINITY, f64::NEG_INFINITY].map(|v| AtomicU64::new(key(v))))
            .collect();
        Limits {
            ends,
            worst: folds
                .iter()
                .map(|fold| {
                    matches!(fold, Fold::Top(_)).then(|| AtomicU64::new(key(f64::INFINITY)))
                })
                .collect(),
        }
    }
    /// What a value of fold `at` must not exceed to matter, where it is a `Top`.
    #[inline]
    pub(super) fn worst(&self, at: usize) -> Option<f64> {
        let worst = self.worst[at].as_ref()?;
        Some(number(worst.load(Ordering::Relaxed)))
    }
    /// Takes what one thread has found of fold `at`.
    #[inline]
    pub(super) fn learn(&self, at: usize, found: &State) {
        if let State::Extremes(found) = found {
            self.widen(found.ends());
        } else if let (State::Top(found), Some(worst)) = (found, &self.worst[at])
            && let Some(bound) = found.bound().filter(|bound| !bound.is_nan())
            && bound < number(worst.load(Ordering::Relaxed))
        {
            worst.fetch_min(key(bound), Ordering::Relaxed);
        }
    }
    /// The least and the largest value of root number `at`.
    pub(super) fn ends(&self, at: usize) -> [f64; 2] {
        self.ends[at]
            .each_ref()
            .map(|end| number(end.load(Ordering::Relaxed)))
    }
    /// Takes extremes that one thread has found.
    fn widen(&self, found: &[[f64; 2]]) {
        for (ends, [least, largest]) in self.ends.iter().zip(found) {
            ends[0].fetch_min(key(*least), Ordering::Relaxed);
            ends[1].fetch_max(key(*largest), Ordering::Relaxed);
        }
    }
}

/// Bits in the order of the numbers.
pub fn key(v: f64) -> u64 {
    let bits = v.to_bits();
    if v.is_sign_negative() {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// The number of these bits.
pub fn number(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 {
        key & !(1 << 63)
    } else {
        !key
    })
}

//! From sums of pairs to correlation functions, projected ones, multipoles and wedges.
//!
//! ```text
//! ξ            of the normalised counts of each bin, by the estimator
//! wp(rp)       2 Σ ξ(rp, π) Δπ
//! ξℓ(s)        (2ℓ + 1) Σ ξ(s, μ) ∫ Lℓ dμ over the bin
//! wedge        the mean of ξ(s, μ) over a range of μ
//! ```

use super::asked::{Estimator, PairCount, Separation};
use super::counts::{Points, Sides};
use std::collections::BTreeMap;
use zipfold_core::{Error, Opt, Result};

/// Sums of the terms, by bin and of all pairs.
pub(super) type Sums = BTreeMap<Sides, Vec<f64>>;

/// A function of the first axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

/// ξ by bin of the first axis: `width` numbers of each.
struct Rows<'x> {
    xi: &'x [f64],
    width: usize,
}

impl Rows<'_> {
    fn curve(&self, name: impl Into<String>, of: impl Fn(&[f64]) -> f64) -> Named {
        Named {
            name: name.into(),
            values: self.xi.chunks(self.width).map(of).collect(),
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl PairCount {
    /// ξ of each bin; the normalised counts of data without an estimator.
    pub(super) fn correlation(
        &self,
        estimator: Option<Estimator>,
        sums: &Sums,
        expected: Option<&[f64]>,
    ) -> Vec<f64> {
        let terms = self.terms(estimator);
        let share = |sides: &Sides, bin: usize| {
            let swapped = [sides[1], sides[0]];
            let of = sums.get(sides).or_else(|| sums.get(&swapped));
            of.map_or(f64::NAN, |v| v[bin] / v[v.len() - 1])
        };
        let dd = |bin: usize| share(&terms[0], bin);
        // Pairs with data on one side, first and second; pairs without data.
        let is_data = |points: &Points| matches!(points, Points::Data(_));
        let mixed: Vec<&Sides> = terms[1..]
            .iter()
            .filter(|s| s.iter().any(is_data))
            .collect();
        let plain: Vec<&Sides> = terms[1..]
            .iter()
            .filter(|s| !s.iter().any(is_data))
            .collect();
        let dr = |bin: usize, at: usize| share(mixed[at.min(mixed.len() - 1)], bin);
        let rr = |bin: usize, at: usize| match (expected, plain.is_empty()) {
            (Some(expected), true) => expected[bin],
            (None, true) => f64::NAN,
            (_, false) => share(plain[at.min(plain.len() - 1)], bin),
        };
        let bins = sums.get(&terms[0]).map_or(0, |v| v.len() - 1);
        let one = |bin: usize| match estimator {
            None => dd(bin),
            Some(Estimator::Natural) => dd(bin) / rr(bin, 0) - 1.0,
            Some(Estimator::DavisPeebles) => dd(bin) / dr(bin, 0) - 1.0,
            Some(Estimator::LandySzalay) => {
                (dd(bin) - dr(bin, 0) - dr(bin, 1) + rr(bin, 0)) / rr(bin, 1)
            }
            Some(Estimator::Hamilton) => dd(bin) * rr(bin, 0) / (dr(bin, 0) * dr(bin, 1)) - 1.0,
        };
        (0..bins).map(one).collect()
    }
    /// The functions of the first axis that ξ gives.
    pub(super) fn curves(&self, xi: &[f64], edges: &[Vec<f64>], is_xi: bool) -> Vec<Named> {
        let rows = Rows {
            xi,
            width: xi.len() / (edges[0].len() - 1),
        };
        let name = |own: &'static str| if is_xi { own } else { "dd" };
        match self.separation {
            Separation::R => vec![rows.curve(name("xi"), |v| v[0])],
            Separation::Theta => vec![rows.curve(name("w"), |v| v[0])],
            Separation::RpPi | Separation::Smu if !is_xi => {
                vec![rows.curve("dd", |v| v.iter().sum())]
            }
            Separation::RpPi => {
                let widths: Vec<f64> = edges[1].windows(2).map(|e| 2.0 * (e[1] - e[0])).collect();
                vec![rows.curve("wp", |v| dot(v, &widths))]
            }
            Separation::Smu => self.of_cosines(&rows, &edges[1]),
        }
    }
    /// Multipoles and wedges, for edges of μ.
    fn of_cosines(&self, rows: &Rows<'_>, edges: &[f64]) -> Vec<Named> {
        let mut all: Vec<Named> = vec![];
        for l in &self.multipoles {
            let weight = |e: &[f64]| integral(*l, e[1].min(1.0)) - integral(*l, e[0]);
            let scale = f64::from(2 * l + 1);
            let weights: Vec<f64> = edges.windows(2).map(|e| scale * weight(e)).collect();
            all.push(rows.curve(format!("xi{l}"), |v| dot(v, &weights)));
        }
        for wedge in 0..self.wedges {
            let each = (edges.len() - 1) / self.wedges;
            let bins = wedge * each..(wedge + 1) * each;
            let mean = |v: &[f64]| v[bins.clone()].iter().sum::<f64>() / each as f64;
            all.push(rows.curve(format!("wedge{}", wedge + 1), mean));
        }
        all
    }
    /// Refuses multipoles and wedges that bins of μ do not give.
    pub(super) fn check_curves(&self) -> Result<()> {
        if self.separation != Separation::Smu {
            return Ok(());
        }
        if let Some(odd) = self.multipoles.iter().find(|l| **l % 2 == 1 || **l > 8) {
            let what = format!("expected even multipoles up to 8, got {odd}");
            return Err(Error::request(what)
                .at_place(Opt::Multipoles)
                .remedy(Opt::Multipoles.to("0,2,4")));
        }
        if self.wedges > 0 && !self.mu.is_multiple_of(self.wedges) {
            let what = format!(
                "expected wedges of whole bins, got {} of {} bins",
                self.wedges, self.mu
            );
            return Err(Error::request(what)
                .at_place(Opt::Mu)
                .remedy(Opt::Mu.to(self.wedges * self.mu.div_ceil(self.wedges))));
        }
        if self.multipoles.is_empty() && self.wedges == 0 {
            return Err(Error::request("expected multipoles or wedges, got none")
                .at_place(Opt::Multipoles)
                .remedy(Opt::Multipoles.to("0,2,4")));
        }
        Ok(())
    }
}

/// ∫ Lℓ from 0 to μ: (Lℓ₊₁ − Lℓ₋₁) / (2ℓ + 1), which is 0 at 0 for even ℓ.
fn integral(l: u32, mu: f64) -> f64 {
    if l == 0 {
        return mu;
    }
    (legendre(l + 1, mu) - legendre(l - 1, mu)) / f64::from(2 * l + 1)
}

/// The Legendre polynomial of this degree, by its recurrence.
fn legendre(l: u32, mu: f64) -> f64 {
    let (mut before, mut now) = (1.0, mu);
    if l == 0 {
        return before;
    }
    for k in 1..l {
        let k = f64::from(k);
        (before, now) = (now, ((2.0 * k + 1.0) * mu * now - k * before) / (k + 1.0));
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_of_polynomials_are_known() {
        let mu = 0.3f64;
        assert!((integral(0, mu) - 0.3).abs() < 1e-15);
        assert!((integral(2, mu) - (mu.powi(3) - mu) / 2.0).abs() < 1e-15);
        let four = (7.0 * mu.powi(5) - 10.0 * mu.powi(3) + 3.0 * mu) / 8.0;
        assert!((integral(4, mu) - four).abs() < 1e-15);
        assert!(integral(2, 1.0).abs() < 1e-15 && integral(4, 1.0).abs() < 1e-15);
    }
}

//! The edges of distances that a job asks for: edges that are given, or a number of bins up to a largest
//! distance (`variogram.rs`, `pattern.rs`).

use crate::marked::spaced;
use zipfold_core::{Error, Opt, Result};

/// Bins that a question may have, at most.
const MOST_BINS: usize = 1_000_000;

/// What a question says about its edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedEdges<'a> {
    /// Edges that are given.
    pub(crate) edges: Option<&'a [f64]>,
    /// The largest distance.
    pub(crate) max: Option<f64>,
    /// The number of bins.
    pub(crate) bins: Option<usize>,
    /// The option that has the number of bins.
    pub(crate) counted: Opt,
    /// The number of bins where none is given.
    pub(crate) usual: usize,
}

impl AskedEdges<'_> {
    /// Refuses what holds no distance, and edges next to what they take the place of.
    ///
    /// # Errors
    /// `Request`.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_bins()?;
        self.check_max()?;
        let Some(edges) = self.edges else {
            return Ok(());
        };
        let other = match (self.max, self.bins) {
            (Some(_), _) => Some(Opt::Max),
            (None, Some(_)) => Some(self.counted),
            (None, None) => None,
        };
        if let Some(other) = other {
            let what = format!("expected edges alone, got {other} too");
            let e = Error::request(what).at_place(Opt::EdgesOfBins);
            return Err(e.remedy(format!("leave out {other}")));
        }
        let ascend = edges.len() > 1 && edges.windows(2).all(|e| e[0] < e[1]);
        let fine = |e: &f64| *e >= 0.0 && e.is_finite();
        if !ascend || !edges.iter().all(fine) || edges.len() - 1 > MOST_BINS {
            let what = "expected at least two ascending edges from 0 on";
            let e = Error::request(what).at_place(Opt::EdgesOfBins);
            let e = e.limit(format!("{} edges", MOST_BINS + 1));
            return Err(e.remedy(Opt::Max.like("R")));
        }
        Ok(())
    }
    fn check_bins(&self) -> Result<()> {
        let Some(bins) = self.bins.filter(|bins| !(1..=MOST_BINS).contains(bins)) else {
            return Ok(());
        };
        let what = format!(
            "expected 1 to {MOST_BINS} {}, got {bins}",
            self.counted.key()
        );
        let e = Error::request(what).at_place(self.counted);
        Err(e.remedy(self.counted.to(self.usual)))
    }
    fn check_max(&self) -> Result<()> {
        let odd = self.max.filter(|max| !(max.is_finite() && *max > 0.0));
        let Some(max) = odd else {
            return Ok(());
        };
        let what = format!("expected a largest distance above 0, got {max}");
        let e = Error::request(what).at_place(Opt::Max);
        Err(e.remedy(Opt::Max.like("R")))
    }
    /// All edges, the last one `usual` where no largest distance is given.
    ///
    /// # Errors
    /// `Request` where rounding leaves bins without a width.
    pub(crate) fn all(&self, usual: f64) -> Result<Vec<f64>> {
        if let Some(edges) = self.edges {
            return Ok(edges.to_vec());
        }
        let edges = spaced(
            0.0,
            self.max.unwrap_or(usual),
            self.bins.unwrap_or(self.usual),
        );
        apart(&edges, self.counted)?;
        Ok(edges)
    }
}

/// Refuses edges that rounding leaves together.
fn apart(edges: &[f64], counted: Opt) -> Result<()> {
    match edges.windows(2).all(|e| e[0] < e[1]) {
        true => Ok(()),
        false => {
            let what = format!("expected {} wider than rounding", counted.key());
            let e = Error::request(what).at_place(counted);
            Err(e.remedy("fewer of them, or a larger distance"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> AskedEdges<'static> {
        AskedEdges {
            edges: None,
            max: None,
            bins: None,
            counted: Opt::Bins,
            usual: 2,
        }
    }

    #[test]
    fn edges_take_the_place_of_a_number_and_a_largest_distance() {
        assert_eq!(asked().all(4.0).unwrap(), [0.0, 2.0, 4.0]);
        let edges: Option<&[f64]> = Some(&[0.5, 1.0, 7.0]);
        let given = AskedEdges { edges, ..asked() };
        given.check().unwrap();
        assert_eq!(given.all(4.0).unwrap(), [0.5, 1.0, 7.0]);
        let bins = Some(3);
        assert!(AskedEdges { bins, ..given }.check().is_err());
        let max = Some(3.0);
        assert!(AskedEdges { max, ..given }.check().is_err());
        AskedEdges {
            max,
            bins,
            ..asked()
        }
        .check()
        .unwrap();
    }

    #[test]
    fn edges_ascend_from_0_on() {
        for edges in [
            [1.0, 1.0],
            [-1.0, 2.0],
            [0.0, f64::NAN],
            [0.0, f64::INFINITY],
        ] {
            let edges: Option<&[f64]> = Some(&edges);
            assert!(
                AskedEdges { edges, ..asked() }.check().is_err(),
                "{edges:?}"
            );
        }
        let edges: Option<&[f64]> = Some(&[0.0, 1e-200, 1e300]);
        AskedEdges { edges, ..asked() }.check().unwrap();
        assert!(asked().all(5e-324).is_err());
        for max in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let max = Some(max);
            assert!(AskedEdges { max, ..asked() }.check().is_err(), "{max:?}");
        }
    }
}

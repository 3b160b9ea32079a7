//! What programs understand by a radial distribution function: bins, pairs, normalisation.
//!
//! ```text
//!             bins                       pairs (i, j)           density of the other set
//! plain       half-open, last closed     i ≠ j                  Σ over frames of pairs / V
//! gromacs     first one half, half-open  distance > 0           n_to · mean of 1 / V
//! mdanalysis  half-open, last closed     also i = j             n_to / mean of V
//! freud       half-open                  i ≠ j                  n_to / V of the last frame
//! cpptraj     half-open                  i ≠ j                  pairs / mean of V
//! ```
//!
//! The three in the middle read positions in single precision.

use serde::{Deserialize, Serialize};
use zipfold_core::fold::Closed;
use zipfold_io::trajectory::LengthUnit;

/// Whose rules a radial distribution function follows.
///
/// ```
/// use zipfold::internals::rdf::{Convention, Rdf};
/// let asked = Rdf { convention: Convention::Gromacs, ..Rdf::new("run.xtc") };
/// assert_ne!(asked.convention, Convention::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Convention {
    /// The definition: ordered pairs of different atoms over what an ideal gas of as many pairs has
    /// in the same boxes.
    #[default]
    Plain,
    /// `gmx rdf`: the first bin has half the width, bins are about multiples of the width.
    Gromacs,
    /// `MDAnalysis.analysis.rdf.InterRDF`: an atom in both sets is a pair with itself.
    MdAnalysis,
    /// `freud.density.RDF`.
    Freud,
    /// `radial` of cpptraj, with `volume`.
    Cpptraj,
}

/// How many pairs an ideal gas is taken to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The counted ones: without pairs of one atom and without exclusions.
    Counted,
    /// The product of the numbers of atoms.
    Product,
}

/// Which volume of all frames they are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Volume {
    /// Each frame's own: the mean of 1 / V counts.
    Own,
    /// The mean.
    Mean,
    /// That of the last frame.
    Last,
}

/// The rules of a convention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) closed: Closed,
    /// Whether an atom of both sets is a pair with itself.
    pub(super) with_itself: bool,
    /// Whether pairs at distance 0 are left out.
    pub(super) apart: bool,
    /// Whether bins are about multiples of their width, the first one half as wide.
    pub(super) halves: bool,
    /// Whether positions are rounded to single precision.
    pub(super) single: bool,
    pub(super) expected: Expected,
    pub(super) volume: Volume,
}

impl Convention {
    /// All of them.
    #[doc(hidden)]
    pub const ALL: &[Convention] = &[
        Convention::Plain,
        Convention::Gromacs,
        Convention::MdAnalysis,
        Convention::Freud,
        Convention::Cpptraj,
    ];
    /// The name in requests.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Convention::Plain => "plain",
            Convention::Gromacs => "gromacs",
            Convention::MdAnalysis => "mdanalysis",
            Convention::Freud => "freud",
            Convention::Cpptraj => "cpptraj",
        }
    }
    /// The unit that the program computes in, where that is not the unit of the file.
    pub(super) fn unit(self) -> Option<LengthUnit> {
        match self {
            Convention::Plain | Convention::Freud => None,
            Convention::Gromacs => Some(LengthUnit::Nanometre),
            Convention::MdAnalysis | Convention::Cpptraj => Some(LengthUnit::Angstrom),
        }
    }
    pub(super) fn rule(self) -> Rule {
        let plain = Rule {
            closed: Closed::Last,
            with_itself: false,
            apart: false,
            halves: false,
            single: false,
            expected: Expected::Counted,
            volume: Volume::Own,
        };
        match self {
            Convention::Plain => plain,
            Convention::Gromacs => Rule {
                closed: Closed::HalfOpen,
                apart: true,
                halves: true,
                single: true,
                expected: Expected::Product,
                ..plain
            },
            Convention::MdAnalysis => Rule {
                with_itself: true,
                single: true,
                expected: Expected::Product,
                volume: Volume::Mean,
                ..plain
            },
            Convention::Freud => Rule {
                closed: Closed::HalfOpen,
                single: true,
                expected: Expected::Product,
                volume: Volume::Last,
                ..plain
            },
            Convention::Cpptraj => Rule {
                closed: Closed::HalfOpen,
                volume: Volume::Mean,
                ..plain
            },
        }
    }
}

/// Largest radius that GROMACS takes for a box by itself: 0.99 of what its searches allow.
pub(super) fn gromacs_radius([a, b, c]: &[[f64; 3]; 3], flat: bool) -> f64 {
    let norm = |v: &[f64; 3]| v.iter().map(|v| v * v).sum::<f64>();
    let vectors = norm(a).min(norm(b));
    let vectors = 0.25 * if flat { vectors } else { vectors.min(norm(c)) };
    // Searches look along single vectors, so a diagonal bounds them too.
    let diagonal = a[0].min(b[1] - c[1].abs());
    let diagonal = if flat { diagonal } else { diagonal.min(c[2]) };
    0.99 * vectors.min(diagonal * diagonal).sqrt()
}

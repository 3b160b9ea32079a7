//! What is asked: a trajectory, sets of atoms, bins, rules.

use super::convention::Convention;
use serde::{Deserialize, Serialize};
use zipfold_core::{Error, Opt, Result};
use zipfold_io::trajectory::LengthUnit;

/// A radial distribution function of a trajectory, as a question. Its TOML has the same keys.
///
/// Lengths are in `unit`, which by default is the unit of the file: nm of GRO and XTC, Å of PDB, DCD
/// and XYZ.
///
/// ```
/// use zipfold::Options;
/// use zipfold::internals::rdf::Rdf;
/// let path = std::env::temp_dir().join(format!("zipfold-{}-gas.xyz", std::process::id()));
/// let frame = "2\nLattice=\"10 0 0 0 10 0 0 0 10\"\nAr 0.5 0 0\nAr 9.0 0 0\n";
/// std::fs::write(&path, frame.repeat(3)).expect("a folder for the example");
/// let asked = Rdf { range: Some([0.0, 5.0]), bins: 5, ..Rdf::new(path.to_string_lossy()) };
/// println!("{}", asked.explain(&Options::default())?);
/// let radial = asked.run(&Options::default())?;
/// assert_eq!(radial.curves[0].counts, [0, 6, 0, 0, 0]); // 1.5 apart through the box, both ways round
/// # std::fs::remove_file(&path).expect("the example's file");
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rdf {
    /// The file of the trajectory.
    pub trajectory: String,
    /// A file that names the atoms, where the trajectory does not: PDB, GRO or XYZ.
    #[serde(default)]
    pub topology: Option<String>,
    /// The atoms that distances are from, such as `resname SOL and name OW`.
    #[serde(default = "all")]
    pub select: String,
    /// The atoms that distances are to; by default the same.
    #[serde(default)]
    pub to: Option<String>,
    /// All pairs of kinds of the selected atoms, in one run.
    #[serde(default)]
    pub partials: Option<Partials>,
    /// The first and the last edge; by default from 0 to nine tenths of the largest radius that
    /// minimum images allow in the first frame.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// The number of bins.
    #[serde(default = "hundred")]
    pub bins: usize,
    /// Pairs that are left out.
    #[serde(default)]
    pub exclude: Exclude,
    /// A table of two columns: the indices of bonded atoms, from 0.
    #[serde(default)]
    pub bonds: Option<String>,
    /// Frames by number from 0: `first:end:step`, each may be missing; the end is not included.
    #[serde(default)]
    pub frames: Option<String>,
    /// Distances in the plane of x and y.
    #[serde(default)]
    pub flat: bool,
    /// Whose rules.
    #[serde(default)]
    pub convention: Convention,
    /// The unit of lengths: `A` or `nm`.
    #[serde(default)]
    pub unit: Option<Unit>,
    /// A periodic box for all frames, in place of those of the file, as for pairs.
    #[serde(default, rename = "box")]
    pub periodic_box: Option<Vec<f64>>,
    /// Structure factors in place of radial distribution functions, at these wave numbers: first,
    /// last, how many.
    #[serde(default)]
    pub debye: Option<[f64; 3]>,
    /// The density of the atoms that distances are to, by volume, in place of that of the box. It
    /// allows frames without a box.
    #[serde(default)]
    pub density: Option<f64>,
}

fn all() -> String {
    "all".to_string()
}
fn hundred() -> usize {
    100
}

/// What tells kinds of atoms apart.
///
/// ```
/// use zipfold::internals::rdf::{Partials, Rdf};
/// let asked = Rdf { partials: Some(Partials::Element), ..Rdf::new("salt.xyz") };
/// # let _ = asked;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Partials {
    /// Chemical elements.
    Element,
    /// Names of atoms.
    Name,
    /// Names of residues.
    Residue,
}

/// Pairs that are left out.
///
/// ```
/// use zipfold::internals::rdf::{Exclude, Rdf};
/// let asked = Rdf { exclude: Exclude::Residue, ..Rdf::new("water.gro") };
/// # let _ = asked;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exclude {
    /// None.
    #[default]
    None,
    /// Those of atoms in one residue.
    Residue,
    /// Those of atoms that bonds connect, directly or not.
    Molecule,
    /// Those of bonded atoms.
    Bonds,
}

/// A unit of lengths.
///
/// ```
/// use zipfold::internals::rdf::{Rdf, Unit};
/// let asked = Rdf { unit: Some(Unit::Angstrom), range: Some([0.0, 15.0]), ..Rdf::new("run.xtc") };
/// # let _ = asked;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// 10⁻¹⁰ m.
    #[serde(rename = "A", alias = "Å", alias = "angstrom")]
    Angstrom,
    /// 10⁻⁹ m.
    #[serde(rename = "nm")]
    Nanometre,
}

impl Unit {
    pub(super) fn length(self) -> LengthUnit {
        match self {
            Unit::Angstrom => LengthUnit::Angstrom,
            Unit::Nanometre => LengthUnit::Nanometre,
        }
    }
}

impl Rdf {
    /// The function of all atoms of `trajectory` with one another, 100 bins.
    pub fn new(trajectory: impl Into<String>) -> Rdf {
        Rdf {
            trajectory: trajectory.into(),
            topology: None,
            select: all(),
            to: None,
            partials: None,
            range: None,
            bins: hundred(),
            exclude: Exclude::None,
            bonds: None,
            frames: None,
            flat: false,
            convention: Convention::Plain,
            unit: None,
            periodic_box: None,
            debye: None,
            density: None,
        }
    }
    /// The frames that are chosen.
    pub(super) fn slice(&self) -> Result<Slice> {
        let whole = Slice {
            first: 0,
            end: u64::MAX,
            step: 1,
        };
        let Some(text) = &self.frames else {
            return Ok(whole);
        };
        let parts: Vec<&str> = text.split(':').collect();
        let number = |part: &str, default: u64| match part.trim() {
            "" => Some(default),
            part => part.parse().ok(),
        };
        let found = match parts.as_slice() {
            [one] => number(one, u64::MAX).map(|at| (at, at.saturating_add(1), 1)),
            [first, end] => number(first, 0)
                .zip(number(end, u64::MAX))
                .map(|(f, e)| (f, e, 1)),
            [first, end, step] => {
                let ends = number(first, 0).zip(number(end, u64::MAX));
                ends.zip(number(step, 1)).map(|((f, e), s)| (f, e, s))
            }
            _ => None,
        };
        match found {
            Some((first, end, step)) if first < end && step > 0 => Ok(Slice { first, end, step }),
            _ => Err(
                Error::request(format!("expected frames as first:end:step, got '{text}'"))
                    .at_place(Opt::Frames)
                    .remedy(format!(
                        "{} for every tenth from 100 on; numbers from 0",
                        Opt::Frames.to("100::10")
                    )),
            ),
        }
    }
    /// Refuses ranges and bins that are none.
    pub(super) fn check(&self) -> Result<()> {
        if self.bins == 0 || self.bins > 10_000_000 {
            let what = format!("expected 1 to 10000000 bins, got {}", self.bins);
            return Err(Error::request(what)
                .at_place(Opt::Bins)
                .remedy(Opt::Bins.to(100)));
        }
        if let Some([lo, hi]) = self.range
            && !(lo >= 0.0 && lo < hi && hi.is_finite())
        {
            let what = format!("expected two ascending distances from 0 on, got {lo} and {hi}");
            return Err(Error::request(what)
                .at_place(Opt::Range)
                .remedy(Opt::Range.like("0 15")));
        }
        if self.convention.rule().halves && self.range.is_some_and(|[lo, _]| lo != 0.0) {
            return Err(
                Error::request("expected a range from 0 by the rules of GROMACS")
                    .at_place(Opt::Range)
                    .remedy(Opt::Range.like("0 HI")),
            );
        }
        if let Some(density) = self.density
            && !(density > 0.0 && density.is_finite())
        {
            let what = format!("expected a positive density, got {density}");
            return Err(Error::request(what)
                .at_place(Opt::Density)
                .remedy(Opt::Density.to(0.0334)));
        }
        if self.density.is_some() && self.partials.is_some() {
            return Err(
                Error::request("expected a density of one set of atoms, got several sets")
                    .at_place(Opt::Density)
                    .remedy(format!(
                        "one run for each pair of sets, without {}",
                        Opt::Partials
                    )),
            );
        }
        Ok(())
    }
}

/// Some of the frames: `first`, `first + step`, … below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) step: u64,
}

impl Slice {
    /// Whether a frame is one of them.
    pub(super) fn has(&self, number: u64) -> bool {
        (self.first..self.end).contains(&number) && (number - self.first).is_multiple_of(self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_slices() {
        let slice = |text: &str| {
            Rdf {
                frames: Some(text.into()),
                ..Rdf::new("t.xyz")
            }
            .slice()
        };
        let of = |first, end, step| Slice { first, end, step };
        for (text, expected) in [
            ("3", of(3, 4, 1)),
            (":", of(0, u64::MAX, 1)),
            ("2:", of(2, u64::MAX, 1)),
            (":5", of(0, 5, 1)),
            ("1:9:3", of(1, 9, 3)),
            ("::10", of(0, u64::MAX, 10)),
        ] {
            assert_eq!(slice(text).unwrap(), expected, "{text}");
        }
        for text in ["5:5", "6:5", "::0", "a", "-1:", "1:2:3:4", ""] {
            assert!(slice(text).is_err(), "{text}");
        }
        assert!(slice("1:9:3").unwrap().has(7) && !slice("1:9:3").unwrap().has(10));
    }
}

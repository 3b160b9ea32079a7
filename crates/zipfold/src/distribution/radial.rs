//! From counts to radial distribution functions, and to columns, files and pictures.

use super::asked::Rdf;
use super::convention::{Expected, Rule, Volume};
use super::frame::Prepared;
use super::sets::Question;
use super::stream::Totals;
use crate::saved;
use std::f64::consts::PI;
use zipfold_core::Result;
use zipfold_io::trajectory::LengthUnit;
use zipfold_io::{Column, OutputOptions};

/// The function between two sets of atoms.
///
/// ```
/// use zipfold::internals::rdf::Curve;
/// fn nearest_shell(curve: &Curve) -> f64 {
///     curve.g.iter().copied().fold(0.0, f64::max)
/// }
/// # let _ = nearest_shell;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The sets, as they were selected or by kind: distances are from the first to the second.
    pub names: [String; 2],
    /// Numbers of their atoms.
    pub atoms: [usize; 2],
    /// The radial distribution function, by bin.
    pub g: Vec<f64>,
    /// Running coordination number: the mean number of atoms of the second set around one of the
    /// first, up to the distance that [`Radial::reached`] has for the bin.
    pub n: Vec<f64>,
    /// Ordered pairs of all frames, by bin.
    pub counts: Vec<u64>,
}

/// Radial distribution functions of a trajectory.
///
/// ```
/// use zipfold::io::OutputOptions;
/// use zipfold::Options;
/// use zipfold::internals::rdf::{Radial, Rdf};
/// let name = |suffix: &str| format!("{}/zipfold-{}-r.{suffix}", std::env::temp_dir().display(), std::process::id());
/// let (frame, table) = (name("xyz"), name("csv"));
/// std::fs::write(&frame, "2\nLattice=\"9 0 0 0 9 0 0 0 9\"\nO 1 0 0\nH 2 0 0\n").expect("a folder for the example");
/// let asked = Rdf { to: Some("element H".into()), select: "element O".into(), bins: 4, range: Some([0.0, 4.0]), ..Rdf::new(frame.clone()) };
/// let radial: Radial = asked.run(&Options::default())?;
/// assert_eq!((radial.frames, radial.curves[0].n[3]), (1, 1.0));
/// assert!(radial.svg()?.starts_with("<svg"));
/// radial.write(&table, OutputOptions::default())?;
/// radial.save(&name("svg"), OutputOptions::default())?;
/// # [frame, table, name("svg")].iter().for_each(|path| std::fs::remove_file(path).expect("the example's file"));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Radial {
    /// By bin, the distance that it is about.
    pub r: Vec<f64>,
    /// By bin, its edges.
    pub bins: Vec<[f64; 2]>,
    /// By bin, the distance up to which `n` counts.
    pub reached: Vec<f64>,
    /// By pair of sets.
    pub curves: Vec<Curve>,
    /// Number of frames.
    pub frames: u64,
    /// Pairs that were visited.
    pub pairs: u64,
    /// `Å` or `nm`.
    pub unit: &'static str,
    /// The rules, in a line.
    #[doc(hidden)]
    pub rule: String,
}

/// The functions of counts.
pub(super) fn radial(asked: &Rdf, prepared: &Prepared, totals: Totals) -> Radial {
    let layout = Layout::new(&prepared.rule, &prepared.edges);
    let frames = totals.volumes.len() as u64;
    let both = prepared.questions.iter().zip(&totals.counts);
    let curves = both
        .map(|(question, fine)| curve(asked, prepared, (question, fine), &totals, &layout))
        .collect();
    Radial {
        r: layout.r,
        bins: layout.bins,
        reached: layout.reached,
        curves,
        frames,
        pairs: totals.pairs,
        unit: prepared.unit.symbol(),
        rule: rule(asked, &prepared.rule, prepared.unit),
    }
}

/// The function of one question and its counts.
fn curve(
    asked: &Rdf,
    prepared: &Prepared,
    (question, fine): (&Question, &[u64]),
    totals: &Totals,
    layout: &Layout,
) -> Curve {
    let frames = totals.volumes.len() as f64;
    let [from, to] = [question.from, question.to].map(|at| &prepared.sets[at]);
    let atoms = [from, to].map(|set| set.atoms.len());
    let pairs = match prepared.rule.expected {
        Expected::Counted => question.counted(&prepared.sets),
        Expected::Product => atoms[0] * atoms[1],
    } as f64;
    let around = frames * atoms[0] as f64;
    let density = match asked.density {
        Some(density) => around * density,
        None => pairs * inverse_volumes(&totals.volumes, prepared.rule.volume),
    };
    let counts = layout.merged(fine);
    let bins = counts.iter().zip(&layout.bins);
    let g = bins.map(|(count, bin)| *count as f64 / (density * shell(*bin, asked.flat)));
    let sums = layout.running(fine).into_iter();
    Curve {
        names: [from, to].map(|set| set.name.clone()),
        atoms,
        g: g.collect(),
        n: sums.map(|sum| sum as f64 / around).collect(),
        counts,
    }
}

/// What the numbers mean, for the comments of a file.
fn rule(asked: &Rdf, rule: &Rule, unit: LengthUnit) -> String {
    let pairs = match (rule.with_itself, rule.apart) {
        (true, _) => "pairs of an atom with itself too",
        (_, true) => "pairs at a distance above 0",
        _ => "pairs of different atoms",
    };
    format!(
        "convention {}; {pairs}, either way round; distances in {}; n counts up to 'high'{}",
        asked.convention.name(),
        unit.symbol(),
        if rule.halves {
            ", of the first bin and after it up to 'r'"
        } else {
            ""
        },
    )
}

/// The sum over frames of 1 / V, as a rule takes it.
fn inverse_volumes(volumes: &[Option<f64>], rule: Volume) -> f64 {
    let count = volumes.len() as f64;
    let known = || volumes.iter().flatten().copied();
    match rule {
        Volume::Own => known().map(|v| 1.0 / v).sum(),
        Volume::Mean => count * count / known().sum::<f64>(),
        Volume::Last => known().last().map_or(f64::NAN, |v| count / v),
    }
}

/// The volume between two spheres, the area between two circles.
fn shell([lo, hi]: [f64; 2], flat: bool) -> f64 {
    match flat {
        true => PI * (hi - lo) * (hi + lo),
        false => 4.0 / 3.0 * PI * (hi - lo) * (hi * hi + hi * lo + lo * lo),
    }
}

/// Which counted bins make the bins of the answer.
struct Layout {
    r: Vec<f64>,
    bins: Vec<[f64; 2]>,
    reached: Vec<f64>,
    halves: bool,
}

impl Layout {
    fn new(rule: &Rule, edges: &[f64]) -> Layout {
        // The smallest distance above 0 marks an edge of 0.
        let edge = |at: usize| {
            if edges[at] < f64::MIN_POSITIVE {
                0.0
            } else {
                edges[at]
            }
        };
        if !rule.halves {
            let bins: Vec<[f64; 2]> = (1..edges.len())
                .map(|at| [edge(at - 1), edge(at)])
                .collect();
            let r = bins.iter().map(|[lo, hi]| 0.5 * (lo + hi)).collect();
            let reached = bins.iter().map(|[_, hi]| *hi).collect();
            return Layout {
                r,
                bins,
                reached,
                halves: false,
            };
        }
        let places = 0..(edges.len() - 1) / 2;
        let r: Vec<f64> = places.clone().map(|at| edge(2 * at)).collect();
        let bins = places
            .map(|at| [edge((2 * at).saturating_sub(1)), edge(2 * at + 1)])
            .collect();
        Layout {
            reached: r.clone(),
            r,
            bins,
            halves: true,
        }
    }
    /// The counts of the bins of the answer.
    fn merged(&self, fine: &[u64]) -> Vec<u64> {
        if !self.halves {
            return fine.to_vec();
        }
        let count = |at: usize| {
            if at == 0 {
                fine[0]
            } else {
                fine[2 * at - 1] + fine[2 * at]
            }
        };
        (0..self.r.len()).map(count).collect()
    }
    /// The counts up to where each bin reaches.
    fn running(&self, fine: &[u64]) -> Vec<u64> {
        let mut sum = 0;
        let sums: Vec<u64> = fine
            .iter()
            .map(|count| {
                sum += count;
                sum
            })
            .collect();
        if !self.halves {
            return sums;
        }
        (0..self.r.len())
            .map(|at| if at == 0 { 0 } else { sums[2 * at - 1] })
            .collect()
    }
}

impl Radial {
    /// The columns by name: `r`, `low`, `high`; of each curve `g`, `n` and `count`, with the names
    /// of both sets where there are several.
    #[doc(hidden)]
    pub fn columns(&self) -> Vec<(String, Column<'_>)> {
        let mut columns = vec![("r".to_string(), Column::F64(&self.r))];
        for curve in &self.curves {
            let named = |what: &str| match self.curves.len() {
                1 => what.to_string(),
                _ => format!("{what} {}-{}", curve.names[0], curve.names[1]),
            };
            columns.push((named("g"), Column::F64(&curve.g)));
            columns.push((named("n"), Column::F64(&curve.n)));
            columns.push((named("count"), Column::U64(&curve.counts)));
        }
        columns
    }
    /// Writes the columns in the format that the suffix of `path` names: `r`, the edges `low` and
    /// `high` of each bin, and `g`, `n` and `count` of each curve.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, options: OutputOptions) -> Result<()> {
        let side = |k: usize| self.bins.iter().map(|bin| bin[k]).collect::<Vec<f64>>();
        let (low, high) = (side(0), side(1));
        let mut columns = self.columns();
        columns.insert(1, ("low".to_string(), Column::F64(&low)));
        columns.insert(2, ("high".to_string(), Column::F64(&high)));
        saved::write(path, &columns, &self.notes(), options)
    }
    /// What is above the columns.
    fn notes(&self) -> Vec<String> {
        let sets = self.curves.iter().map(|curve| {
            let [from, to] = &curve.names;
            format!(
                "sets: {} atoms '{from}' to {} atoms '{to}'",
                curve.atoms[0], curve.atoms[1]
            )
        });
        [
            format!("rule: {}", self.rule),
            format!("frames: {}", self.frames),
        ]
        .into_iter()
        .chain(sets)
        .collect()
    }
    /// Returns the functions as the text of an SVG file. The picture of one curve also has its
    /// running coordination number.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        let label = |curve: &Curve| match self.curves.len() {
            1 if curve.names[0] == curve.names[1] => curve.names[0].clone(),
            _ => format!("{} – {}", curve.names[0], curve.names[1]),
        };
        let curves: Vec<(String, &[f64], &[f64])> = self
            .curves
            .iter()
            .map(|curve| (label(curve), &curve.g[..], &curve.n[..]))
            .collect();
        crate::picture::radial_svg(&self.r, &self.reached, &curves, self.unit, self.frames)
    }
    /// Writes the picture to a `path` that ends with `.svg`, the columns to any other.
    ///
    /// # Errors
    /// Those of [`Radial::svg`] and [`Radial::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, options: OutputOptions) -> Result<()> {
        saved::save(path, options, || self.svg(), || self.write(path, options))
    }
    /// The answer as JSON, next to what the columns hold.
    #[doc(hidden)]
    pub fn json(&self) -> serde_json::Value {
        let curve = |curve: &Curve| {
            serde_json::json!({
                "names": curve.names,
                "atoms": curve.atoms,
                "g": curve.g,
                "n": curve.n,
                "counts": curve.counts,
            })
        };
        let curves: Vec<serde_json::Value> = self.curves.iter().map(curve).collect();
        serde_json::json!({
            "frames": self.frames,
            "pairs": self.pairs,
            "unit": self.unit,
            "rule": self.rule,
            "r": self.r,
            "bins": self.bins,
            "curves": curves,
        })
    }
}

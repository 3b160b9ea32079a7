//! Static structure factors by the formula of Debye: Σ sin(k r) / (k r) over all pairs of atoms.
//!
//! Some wave numbers at a time are sums over pairs, asked of the engine in one sweep. Distances are minimum images where
//! frames have boxes, and plain ones elsewhere; no density is needed.

use super::asked::{Exclude, Rdf};
use super::frame::Prepared;
use super::sets::Question;
use super::stream::{File, in_turn};
use crate::options::Options;
use crate::query::Query;
use crate::saved;
use zipfold_core::fold::Role;
use zipfold_core::{Error, Opt, Result, Table};
use zipfold_io::trajectory::Snapshot;
use zipfold_io::{Column, OutputOptions};

/// The structure factor of two sets of atoms.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The sets.
    pub names: [String; 2],
    /// Numbers of their atoms.
    pub atoms: [usize; 2],
    /// By wave number, the mean over frames of Σ sin(k r) / (k r) / √(|A| |B|), over all ordered
    /// pairs, those of an atom with itself too.
    pub s: Vec<f64>,
}

/// Structure factors of a trajectory.
///
/// ```
/// use zipfold::Options;
/// use zipfold::internals::rdf::{Rdf, Scattering};
/// let path = std::env::temp_dir().join(format!("zipfold-{}-d.xyz", std::process::id()));
/// std::fs::write(&path, "2\nopen\nO 0 0 0\nO 0 0 2\n").expect("a folder for the example");
/// let asked = Rdf { debye: Some([0.5, 1.0, 2.0]), ..Rdf::new(path.to_string_lossy()) };
/// let factors: Scattering = asked.scattering(&Options::default())?;
/// assert!((factors.curves[0].s[0] - (1.0 + 1f64.sin())).abs() < 1e-15); // k r = 1
/// # std::fs::remove_file(&path).expect("the example's file");
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Scattering {
    /// Wave numbers.
    pub k: Vec<f64>,
    /// By pair of sets.
    pub curves: Vec<Factor>,
    /// Number of frames.
    pub frames: u64,
    /// Pairs that were visited.
    pub pairs: u64,
    /// The unit of lengths; wave numbers are in its inverse.
    pub unit: &'static str,
}

/// The wave numbers that are asked: first, last, how many.
pub(super) fn wave_numbers(asked: &Rdf) -> Result<Vec<f64>> {
    let wrong = |what: String| {
        let e = Error::request(what).at_place(Opt::Debye);
        e.remedy(Opt::Debye.like("0.5 10 96"))
    };
    let Some([first, last, count]) = asked.debye else {
        return Err(wrong("expected wave numbers, got none".into()));
    };
    let ends = first >= 0.0 && first <= last && last.is_finite();
    if !(ends && count.fract() == 0.0 && (1.0..=1e6).contains(&count)) {
        let what = "expected two ascending wave numbers from 0 on, and how many";
        return Err(wrong(format!("{what}, got {first}, {last} and {count}")));
    }
    if asked.exclude != Exclude::None {
        let e =
            Error::request("expected all pairs of atoms for a structure factor, got exclusions");
        return Err(e.at_place(Opt::Exclude).remedy(Opt::Exclude.to("none")));
    }
    let step = (last - first) / (count - 1.0).max(1.0);
    Ok((0..count as usize)
        .map(|at| first + at as f64 * step)
        .collect())
}

/// The structure factors of all frames of a file.
pub(super) fn scattering(
    asked: &Rdf,
    file: &File<'_>,
    prepared: &Prepared,
    options: &Options<'_>,
) -> Result<Scattering> {
    let k = wave_numbers(asked)?;
    let mut sums = vec![vec![0.0; k.len()]; prepared.questions.len()];
    let (mut frames, mut pairs) = (0, 0);
    in_turn(file, options, |snapshot| {
        let (tables, _held) = prepared.tables(&snapshot, options)?;
        for (question, sums) in prepared.questions.iter().zip(&mut sums) {
            for (k, sums) in k.chunks(AT_ONCE).zip(sums.chunks_mut(AT_ONCE)) {
                let frame = (&snapshot, &tables[..]);
                let (values, visited) = terms(prepared, question, frame, k, options)?;
                sums.iter_mut()
                    .zip(values)
                    .for_each(|(sum, value)| *sum += value);
                pairs += visited;
            }
        }
        frames += 1;
        Ok(())
    })?;
    let curves = prepared.questions.iter().zip(sums).map(|(question, sums)| {
        let [from, to] = [question.from, question.to].map(|at| &prepared.sets[at]);
        let atoms = [from, to].map(|set| set.atoms.len());
        let scale = (atoms[0] as f64 * atoms[1] as f64).sqrt() * frames as f64;
        Factor {
            names: [from, to].map(|set| set.name.clone()),
            atoms,
            s: sums.into_iter().map(|sum| sum / scale).collect(),
        }
    });
    Ok(Scattering {
        curves: curves.collect(),
        k,
        frames,
        pairs,
        unit: prepared.unit.symbol(),
    })
}

/// Wave numbers of a sweep: the distance of a pair is computed once for all of them, and their
/// formulas stay below the limit of a question.
pub(super) const AT_ONCE: usize = 100;

/// The sums over all ordered pairs of a frame at some wave numbers, and the pairs visited for them.
fn terms(
    prepared: &Prepared,
    question: &Question,
    (snapshot, tables): (&Snapshot, &[Table]),
    k: &[f64],
    options: &Options<'_>,
) -> Result<(Vec<f64>, u64)> {
    let cell = prepared.cell(snapshot)?;
    let (problem, data) = prepared.terms(question, cell, tables, k);
    let answer = Query::new(&problem, &data, options)
        .run()
        .map_err(|e| e.at_least(snapshot.place.clone()))?;
    let columns = answer.columns(0)?;
    let sums = columns.as_ref().and_then(|columns| {
        let sums = columns.with_role(Role::Value)?;
        Some(columns.all(sums))
    });
    let sums = sums.ok_or_else(|| Error::internal("sums gave no numbers"))?;
    let all = |at: usize| match question.is_within() {
        true => 2.0 * sums.get(at) + data.x.rows() as f64,
        false => sums.get(at),
    };
    Ok(((0..k.len()).map(all).collect(), answer.outcome.pairs))
}

impl Scattering {
    /// Writes `k`, and `s` of each pair of sets, in the format that the suffix of `path` names.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, options: OutputOptions) -> Result<()> {
        let named = |curve: &Factor| match self.curves.len() {
            1 => "s".to_string(),
            _ => format!("s {}-{}", curve.names[0], curve.names[1]),
        };
        let names: Vec<String> = self.curves.iter().map(named).collect();
        let mut columns = vec![("k".to_string(), Column::F64(&self.k))];
        let values = self.curves.iter().map(|curve| Column::F64(&curve.s));
        columns.extend(names.into_iter().zip(values));
        let notes = [
            format!("rule: Debye, over all ordered pairs; k in 1/{}", self.unit),
            format!("frames: {}", self.frames),
        ];
        saved::write(path, &columns, &notes, options)
    }
    /// The answer as JSON.
    pub fn json(&self) -> serde_json::Value {
        let curve = |c: &Factor| serde_json::json!({"names": c.names, "atoms": c.atoms, "s": c.s});
        let curves: Vec<serde_json::Value> = self.curves.iter().map(curve).collect();
        serde_json::json!({
            "frames": self.frames,
            "pairs": self.pairs,
            "unit": self.unit,
            "k": self.k,
            "curves": curves,
        })
    }
    /// Returns the structure factors as the text of an SVG file.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    #[cfg(feature = "plot")]
    pub fn svg(&self) -> Result<String> {
        let name = |curve: &Factor| format!("{} – {}", curve.names[0], curve.names[1]);
        let all = self.curves.iter();
        let curves: Vec<(String, &[f64])> = all.map(|c| (name(c), &c.s[..])).collect();
        crate::picture::scattering_svg(&self.k, &curves, self.unit, self.frames)
    }
    /// Writes the picture to a `path` that ends with `.svg`, the columns to any other.
    ///
    /// # Errors
    /// Those of [`Scattering::svg`] and [`Scattering::write`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, options: OutputOptions) -> Result<()> {
        saved::save(path, options, || self.svg(), || self.write(path, options))
    }
}

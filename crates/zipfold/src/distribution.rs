//! Radial distribution functions of trajectories: a description on top of questions about pairs,
//! without kernels of its own.
//!
//! ```text
//! file, topology → atoms → sets, pairs of sets, exclusions            once
//! frame → positions of each set → a histogram for each pair of sets   for every frame, in parallel
//! sums of counts, volumes → g, n                                      once
//! ```
//!
//! Every pair of sets is a question of the engine (`frame.rs`), so g has the exactness of a
//! histogram: bins are decided by the reference value of a pair, minimum images are exact in boxes
//! of every shape, and counts have the same bits for any threads and devices.

mod asked;
mod convention;
mod debye;
mod exclusions;
mod frame;
mod radial;
mod select;
mod sets;
mod stream;

pub use asked::{Exclude, Partials, Rdf, Unit};
pub use convention::Convention;
pub use debye::{Factor, Scattering};
pub use radial::{Curve, Radial};

use crate::options::Options;
use crate::saved;
use exclusions::Exclusions;
use frame::{Prepared, edges};
use stream::{File, totals};
use zipfold_core::{Error, Message, Opt, PeriodicBox, Result};
use zipfold_io::Source;
use zipfold_io::trajectory::{
    Atoms, LengthUnit, Snapshot, Trajectory, TrajectoryFormat, read_atoms,
};

/// A question that is ready for its frames.
struct FirstFrame {
    source: Source,
    kind: TrajectoryFormat,
    first: Snapshot,
    prepared: Prepared,
}

impl Rdf {
    /// Counts the pairs of all frames. Positions are held of a few frames at a time.
    ///
    /// # Errors
    /// `Request` for a selection, a range or frames that mean nothing, and for a last edge beyond
    /// what minimum images allow, with the largest one; `Input` for a damaged file, with the frame;
    /// `Resource` beyond the budget.
    pub fn run(&self, options: &Options<'_>) -> Result<Radial> {
        let remedy = format!(
            "one run for each part of {}: their counts add up",
            Opt::Frames
        );
        saved::whole(options, remedy)?;
        self.over_frames(options, |file, prepared| {
            let totals = totals(file, prepared, options)?;
            Ok(radial::radial(self, prepared, totals))
        })
    }
    /// What `count` makes of the chosen frames, once the first one is read.
    fn over_frames<T>(
        &self,
        options: &Options<'_>,
        count: impl FnOnce(&File<'_>, &Prepared) -> Result<T>,
    ) -> Result<T> {
        let FirstFrame {
            source,
            kind,
            first,
            prepared,
        } = self.ready(options)?;
        drop(first);
        let file = File {
            source: &source,
            kind,
            slice: self.slice()?,
        };
        count(&file, &prepared)
    }
    /// Structure factors of all frames, by the formula of Debye.
    ///
    /// # Errors
    /// Those of [`Rdf::run`]; `Request` for wave numbers that are none, or with exclusions.
    pub fn scattering(&self, options: &Options<'_>) -> Result<Scattering> {
        debye::wave_numbers(self)?;
        self.over_frames(options, |file, prepared| {
            debye::scattering(self, file, prepared, options)
        })
    }
    /// What is asked: functions, or structure factors.
    ///
    /// # Errors
    /// Those of [`Rdf::run`] and [`Rdf::scattering`].
    pub fn answer(&self, options: &Options<'_>) -> Result<RdfAnswer> {
        match self.debye {
            Some(_) => self.scattering(options).map(RdfAnswer::Factors),
            None => self.run(options).map(RdfAnswer::Functions),
        }
    }
    /// Says how the first frame would be counted: sets, and the plan of each pair of them.
    ///
    /// # Errors
    /// Those of [`Rdf::run`], but for frames after the first.
    pub fn explain(&self, options: &Options<'_>) -> Result<Message> {
        let FirstFrame {
            kind,
            first,
            prepared,
            ..
        } = self.ready(options)?;
        let mut text = format!(
            "trajectory  {} ({kind:?}, {} atoms), convention {}, {} in {}\n",
            self.trajectory,
            prepared.atoms,
            self.convention.name(),
            "distances",
            prepared.unit.symbol(),
        );
        let k = self.debye.map(|_| debye::wave_numbers(self)).transpose()?;
        let k = k.as_ref().and_then(|k| k.chunks(debye::AT_ONCE).next());
        let plans = prepared.explain(&first, k, options)?;
        for (question, plan) in prepared.questions.iter().zip(plans) {
            let [from, to] = [question.from, question.to].map(|at| &prepared.sets[at]);
            text += &format!(
                "\nfrom '{}' ({} atoms) to '{}' ({} atoms), {} pairs left out, a frame:\n{}\n",
                from.name,
                from.atoms.len(),
                to.name,
                to.atoms.len(),
                question.excluded.pairs.len(),
                plan.marked().trim_end()
            );
        }
        Ok(Message::from(text.trim_end().to_string()))
    }
    /// Reads the first chosen frame and what names the atoms, and resolves everything else.
    fn ready(&self, options: &Options<'_>) -> Result<FirstFrame> {
        self.check()?;
        let budget = &options.budget;
        let kind = TrajectoryFormat::by_suffix(&self.trajectory)?;
        let source = Source::open(&self.trajectory, budget)?;
        let first = self.first_frame(&source, kind, options)?;
        let count = first.positions.rows();
        let atoms = self.atoms(&source, kind, count, options)?;
        let rule = self.convention.rule();
        let exclusions = Exclusions::new(self, atoms.as_ref(), count, rule.with_itself, budget)?;
        let (sets, questions) = sets::sets(self, atoms.as_ref(), count, &exclusions, budget)?;
        let (unit, factor) = self.unit_of(kind.unit());
        let mut prepared = Prepared {
            rule,
            sets,
            questions,
            atoms: count,
            edges: vec![0.0, 0.0],
            unit,
            factor,
            flat: self.flat,
            given_box: self.periodic_box.clone(),
            has_density: self.density.is_some() || self.debye.is_some(),
        };
        let cell = prepared.cell(&first)?;
        let safe = cell
            .map(|cell| PeriodicBox::try_from(cell).map(|cell| cell.inradius()))
            .transpose()?;
        let vectors = first.cell.map(|cell| cell.map(|v| v.map(|v| v * factor)));
        // A structure factor has neither edges nor a density.
        if self.debye.is_none() {
            prepared.edges = edges(self, &rule, vectors.as_ref(), safe)?;
        }
        Ok(FirstFrame {
            source,
            kind,
            first,
            prepared,
        })
    }
    /// The unit of the answer, and what lengths in the unit of the file are multiplied by.
    fn unit_of(&self, own: LengthUnit) -> (LengthUnit, f64) {
        let asked = self.unit.map(Unit::length).or(self.convention.unit());
        let unit = asked.unwrap_or(own);
        let factor = match (own, unit) {
            (LengthUnit::Nanometre, LengthUnit::Angstrom) => 10.0,
            (LengthUnit::Angstrom, LengthUnit::Nanometre) => 0.1,
            (LengthUnit::Angstrom, LengthUnit::Angstrom)
            | (LengthUnit::Nanometre, LengthUnit::Nanometre) => 1.0,
        };
        (unit, factor)
    }
    /// The first of the chosen frames.
    fn first_frame(
        &self,
        source: &Source,
        kind: TrajectoryFormat,
        options: &Options<'_>,
    ) -> Result<Snapshot> {
        let slice = self.slice()?;
        let mut trajectory = Trajectory::open(source, kind, &options.budget)?;
        for number in 0..slice.first {
            if !trajectory.pass_over()? {
                return Err(no_frame(source, number));
            }
        }
        trajectory
            .read_next()?
            .ok_or_else(|| no_frame(source, slice.first))
    }
    /// What the atoms are, where a file says it; `count` of them.
    fn atoms(
        &self,
        source: &Source,
        kind: TrajectoryFormat,
        count: usize,
        options: &Options<'_>,
    ) -> Result<Option<Atoms>> {
        let atoms = match &self.topology {
            Some(path) => read_atoms(
                &Source::open(path, &options.budget)?,
                TrajectoryFormat::by_suffix(path)?,
                &options.budget,
            )?,
            None if kind.names_atoms() => read_atoms(source, kind, &options.budget)?,
            None => return Ok(None),
        };
        if atoms.len() != count {
            let what = format!(
                "expected {count} atoms as in the trajectory, got {}",
                atoms.len()
            );
            let place = self.topology.as_ref().unwrap_or(&self.trajectory);
            return Err(Error::input(what)
                .at_place(place.as_str())
                .remedy("the topology of this trajectory"));
        }
        Ok(Some(atoms))
    }
}

/// What a question about a trajectory gives.
#[derive(Clone, Debug, PartialEq)]
pub enum RdfAnswer {
    /// Radial distribution functions.
    Functions(Radial),
    /// Structure factors.
    Factors(Scattering),
}

impl RdfAnswer {
    /// Frames, and pairs visited.
    pub fn visited(&self) -> (u64, u64) {
        match self {
            RdfAnswer::Functions(radial) => (radial.frames, radial.pairs),
            RdfAnswer::Factors(factors) => (factors.frames, factors.pairs),
        }
    }
    /// The answer as JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            RdfAnswer::Functions(radial) => radial.json(),
            RdfAnswer::Factors(factors) => factors.json(),
        }
    }
    /// Writes the picture to a `path` that ends with `.svg`, the columns to any other.
    ///
    /// # Errors
    /// Those of [`Radial::save`] and [`Scattering::save`].
    #[cfg(feature = "plot")]
    pub fn save(&self, path: &str, options: zipfold_io::OutputOptions) -> Result<()> {
        match self {
            RdfAnswer::Functions(radial) => radial.save(path, options),
            RdfAnswer::Factors(factors) => factors.save(path, options),
        }
    }
}

#[cfg(feature = "plot")]
impl crate::report::Shown for RdfAnswer {
    fn numbers(&self) -> serde_json::Value {
        self.json()
    }
    fn picture(&self) -> Result<Option<String>> {
        match self {
            RdfAnswer::Functions(radial) => radial.svg().map(Some),
            RdfAnswer::Factors(factors) => factors.svg().map(Some),
        }
    }
}

/// The refusal of frames that a file does not have.
fn no_frame(source: &Source, frames: u64) -> Error {
    let e = Error::request(format!(
        "expected at least one of the chosen frames, got a file of {frames} frames"
    ));
    e.at_place(source.name())
        .remedy(Opt::Frames.like("first:end:step, from 0"))
}

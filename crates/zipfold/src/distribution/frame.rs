//! The counts of one frame: a question for each pair of sets, asked of the engine as any other.

use super::asked::Rdf;
use super::convention::{Rule, gromacs_radius};
use super::sets::{Question, Set};
use crate::options::Options;
use crate::outcome::Output;
use crate::query::{Answer, Query};
use std::collections::BTreeMap;
use zipfold_core::data::Data;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Fold, Histogram, ReduceOp, State};
use zipfold_core::param_axis::ParamAxis;
use zipfold_core::problem::{AxisSpec, FoldSpec, Input, PairSpec, Problem};
use zipfold_core::{Domain, Elements, Error, Opt, PeriodicBox, Reservation, Result, Table};
use zipfold_io::trajectory::{LengthUnit, Snapshot};

/// Everything that frames have in common.
pub(super) struct Prepared {
    pub(super) rule: Rule,
    pub(super) sets: Vec<Set>,
    pub(super) questions: Vec<Question>,
    /// Number of atoms of every frame.
    pub(super) atoms: usize,
    /// Edges that pairs are counted between; of rules with halves twice as many bins.
    pub(super) edges: Vec<f64>,
    pub(super) unit: LengthUnit,
    /// What lengths of the file are multiplied by.
    pub(super) factor: f64,
    pub(super) flat: bool,
    /// A box that takes the place of those of the frames.
    pub(super) given_box: Option<Vec<f64>>,
    /// Whether the density is given, so that frames need no box.
    pub(super) has_density: bool,
}

/// What one frame gives.
pub(super) struct FrameCounts {
    /// By question, pairs by bin.
    pub(super) counts: Vec<Vec<u64>>,
    /// The volume, or the area, of the box.
    pub(super) volume: Option<f64>,
    /// Pairs that were visited.
    pub(super) pairs: u64,
}

impl Prepared {
    /// The box of a frame in the unit of the answer, as problems write it.
    pub(super) fn cell(&self, snapshot: &Snapshot) -> Result<Option<Vec<f64>>> {
        if let Some(given) = &self.given_box {
            return self.given(given).map(Some);
        }
        let Some(vectors) = snapshot.cell else {
            return Ok(None);
        };
        let vectors = vectors.map(|v| v.map(|v| v * self.factor));
        if !self.flat {
            return Ok(Some(match vectors {
                [[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]] => vec![a, b, c],
                _ => vectors.concat(),
            }));
        }
        match vectors {
            [[a, 0.0, _], [0.0, b, _], [0.0, 0.0, _]] => Ok(Some(vec![a, b])),
            _ => Err(Error::request(
                "expected a box with right angles in the plane, got a triclinic one",
            )
            .at_place(snapshot.place.clone())
            .remedy(Opt::Box.like("LX,LY"))),
        }
    }
    /// The box that was given, of as many dimensions as distances have.
    fn given(&self, numbers: &[f64]) -> Result<Vec<f64>> {
        match (self.flat, numbers.len()) {
            (true, 2 | 3) => Ok(numbers[..2].to_vec()),
            (false, 3 | 6 | 9) => Ok(numbers.to_vec()),
            (flat, count) => {
                let (wanted, form) = match flat {
                    true => ("two lengths", "LX,LY"),
                    false => ("3, 6 or 9 numbers", "LX,LY,LZ"),
                };
                let what = format!("expected a box of {wanted}, got {count} numbers");
                let e = Error::request(what).at_place(Opt::Box);
                Err(e.remedy(Opt::Box.like(form)))
            }
        }
    }
    /// The box of a frame, once it is checked against the last edge; with it its volume.
    fn checked_cell(&self, snapshot: &Snapshot) -> Result<(Option<Vec<f64>>, Option<f64>)> {
        let cell = self.cell(snapshot)?;
        let Some(numbers) = &cell else {
            if self.has_density {
                return Ok((None, None));
            }
            return Err(Error::input(
                "expected a box, which gives the density, got a frame without one",
            )
            .at_place(snapshot.place.clone())
            .remedy(format!(
                "{}, or {}",
                Opt::Box.like("LX,LY,LZ"),
                Opt::Density.like("RHO")
            )));
        };
        let periodic = PeriodicBox::try_from(numbers.clone())
            .map_err(|e| Error::input(e.what().marked()).at_place(snapshot.place.clone()))?;
        let (safe, last) = (periodic.inradius(), self.edges[self.edges.len() - 1]);
        if last > safe {
            let what = format!(
                "expected distances within the minimum images of the box, got up to {last} {}",
                self.unit.symbol()
            );
            return Err(Error::request(what)
                .at_place(snapshot.place.clone())
                .limit(format!("{safe} {}", self.unit.symbol()))
                .remedy(Opt::Range.to(format!("0 {}", rounded_down(safe)))));
        }
        Ok((cell, Some(periodic.volume())))
    }
    /// The question about a pair of sets in a frame, and its tables.
    pub(super) fn problem(
        &self,
        question: &Question,
        cell: Option<Vec<f64>>,
        tables: &[Table],
    ) -> (Problem, Data) {
        let within = question.is_within();
        let axis = AxisSpec {
            edges: Some(self.edges.clone()),
            ..AxisSpec::default()
        };
        let fold = FoldSpec::Histogram {
            axes: vec![axis],
            closed: self.rule.closed,
            weights: None,
            mean: false,
            weight: None,
            values: BTreeMap::new(),
        };
        let problem = Problem {
            y: (!within).then(|| Input::named("to")),
            domain: within.then_some(Domain::Triangle),
            periodic_box: cell,
            ..Problem::new(
                Input::named("from"),
                PairSpec {
                    metric: Some("euclidean".into()),
                    ..PairSpec::default()
                },
                vec![fold],
            )
        };
        let y = (!within).then(|| tables[question.to].clone());
        (
            problem,
            Data {
                pairs: None,
                x: tables[question.from].clone(),
                y,
                weights: vec![None],
            },
        )
    }
    /// By set, the positions of its atoms, and the memory that they hold.
    pub(super) fn tables(
        &self,
        snapshot: &Snapshot,
        options: &Options<'_>,
    ) -> Result<(Vec<Table>, Reservation)> {
        if snapshot.positions.rows() != self.atoms {
            let rows = snapshot.positions.rows();
            let what = format!("expected {} atoms, got {rows}", self.atoms);
            return Err(Error::input(what)
                .at_place(snapshot.place.clone())
                .remedy("a topology of the same atoms"));
        }
        let atoms: usize = self.sets.iter().map(|set| set.atoms.len()).sum();
        let bytes = atoms as u64 * 3 * 8;
        let held = options.budget.reserve(bytes, "the atoms of the sets")?;
        let tables = self.sets.iter().map(|set| self.table(snapshot, set));
        Ok((tables.collect::<Result<_>>()?, held))
    }
    fn table(&self, snapshot: &Snapshot, set: &Set) -> Result<Table> {
        let positions = &snapshot.positions;
        let single = self.rule.single || matches!(positions.elements(), Elements::F32(_));
        let axes = if self.flat { 2 } else { 3 };
        let is_f32 = matches!(positions.elements(), Elements::F32(_));
        if set.atoms.len() == self.atoms && self.factor == 1.0 && !self.flat && single == is_f32 {
            return Ok(positions.clone());
        }
        let places = set
            .atoms
            .iter()
            .flat_map(|atom| (0..axes).map(move |axis| positions.get(*atom as usize, axis)));
        if single {
            // As programs do that hold positions in single precision: rounded, then converted.
            let items: Vec<f32> = places.map(|v| v as f32 * self.factor as f32).collect();
            Table::f32(set.atoms.len(), axes, items)
        } else {
            Table::f64(
                set.atoms.len(),
                axes,
                places.map(|v| v * self.factor).collect(),
            )
        }
    }
    /// Counts the pairs of all questions in a frame.
    pub(super) fn count(&self, snapshot: &Snapshot, options: &Options<'_>) -> Result<FrameCounts> {
        let (cell, volume) = self.checked_cell(snapshot)?;
        let (tables, _held) = self.tables(snapshot, options)?;
        let (mut counts, mut pairs) = (Vec::new(), 0);
        for question in &self.questions {
            let (problem, data) = self.problem(question, cell.clone(), &tables);
            let answer = Query::new(&problem, &data, options)
                .run()
                .map_err(|e| e.at_least(snapshot.place.clone()))?;
            pairs += answer.outcome.pairs;
            counts.push(without_excluded(&answer, &data, question)?);
        }
        Ok(FrameCounts {
            counts,
            volume,
            pairs,
        })
    }
    /// The question about the sums of Debye over a pair of sets in a frame, at some wave numbers.
    pub(super) fn terms(
        &self,
        question: &Question,
        cell: Option<Vec<f64>>,
        tables: &[Table],
        k: &[f64],
    ) -> (Problem, Data) {
        let (mut problem, data) = self.problem(question, cell, tables);
        problem.pair = PairSpec {
            formula: Some(TERM.into()),
            ..PairSpec::default()
        };
        problem.param = Some(ParamAxis {
            name: "k".into(),
            values: k.to_vec(),
        });
        problem.folds = vec![FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::All,
            weights: None,
        }];
        (problem, data)
    }
    /// The plans of all questions in a frame, as text: of counts, or of a structure factor at some
    /// wave numbers.
    pub(super) fn explain(
        &self,
        snapshot: &Snapshot,
        k: Option<&[f64]>,
        options: &Options<'_>,
    ) -> Result<Vec<zipfold_core::Message>> {
        let cell = match k {
            Some(_) => self.cell(snapshot)?,
            None => self.checked_cell(snapshot)?.0,
        };
        let (tables, _held) = self.tables(snapshot, options)?;
        let plan = |question: &Question| {
            let (problem, data) = match k {
                Some(k) => self.terms(question, cell.clone(), &tables, k),
                None => self.problem(question, cell.clone(), &tables),
            };
            Ok(Query::new(&problem, &data, options).explain()?.text(false))
        };
        self.questions.iter().map(plan).collect()
    }
}

/// sin(u) / u of u = k r, and 1 of u = 0.
const TERM: &str = "if(k * norm(x - y) > 0, sin(k * norm(x - y)) / (k * norm(x - y)), 1)";

/// The counts of an answer without the pairs that are left out. Of one set a pair counts twice.
fn without_excluded(answer: &Answer<'_>, data: &Data, question: &Question) -> Result<Vec<u64>> {
    let (Some(Fold::Histogram(fold)), Some(Output::State(State::Histogram(state)))) =
        (answer.job.folds.first(), answer.outcome.outputs.first())
    else {
        return Err(Error::internal("a histogram gave no counts"));
    };
    let mut cells = state.counts.clone();
    let cell = answer.job.periodic_box.as_ref();
    for [i, j] in &question.excluded.pairs {
        cells[place(fold, cell, data, [*i as usize, *j as usize])] -= 1;
    }
    let ways = if question.is_within() { 2 } else { 1 };
    cells.iter_mut().for_each(|count| *count *= ways);
    if question.is_within() && question.excluded.with_itself {
        cells[fold.axes[0].place(0.0)] += data.x.rows() as u64;
    }
    let bins = fold.axes[0].bins();
    Ok(cells[1..=bins].to_vec())
}

/// The cell of a pair by its reference value.
fn place(fold: &Histogram, cell: Option<&PeriodicBox>, data: &Data, [i, j]: [usize; 2]) -> usize {
    let (x, y) = (&data.x, data.other());
    let mut delta = [0.0; 3];
    let delta = &mut delta[..x.cols()];
    delta
        .iter_mut()
        .enumerate()
        .for_each(|(k, d)| *d = x.get(i, k) - y.get(j, k));
    if let Some(cell) = cell {
        cell.minimum_image(delta);
    }
    let square = delta.iter().fold(0.0, |sum, d| sum + d * d);
    let axis = &fold.axes[0];
    axis.place(if axis.squared { square } else { square.sqrt() })
}

/// A number with four digits that is not above `value`, for a remedy that can be copied.
fn rounded_down(value: f64) -> f64 {
    let unit = 10f64.powf(3.0 - value.log10().floor());
    let rounded = (value * unit).floor() / unit;
    if rounded > value { value } else { rounded }
}

/// The edges of a question of `bins` bins up to the last one, and their range where none is asked.
pub(super) fn edges(
    asked: &Rdf,
    rule: &Rule,
    cell: Option<&[[f64; 3]; 3]>,
    safe: Option<f64>,
) -> Result<Vec<f64>> {
    let [lo, hi] = match (asked.range, safe) {
        (Some(range), _) => range,
        (None, Some(safe)) => {
            let own = cell
                .filter(|_| rule.halves)
                .map(|cell| gromacs_radius(cell, asked.flat));
            [0.0, own.unwrap_or(0.9 * safe)]
        }
        (None, None) => {
            return Err(Error::request(
                "expected a range of distances, which a frame without a box does not give",
            )
            .at_place(Opt::Range)
            .remedy(Opt::Range.like("0 15")));
        }
    };
    let bins = if rule.halves {
        2 * asked.bins
    } else {
        asked.bins
    };
    // The edges of numpy.linspace: a multiple of the step from the first one.
    let step = (hi - lo) / bins as f64;
    let edge = |at: usize| {
        if at == bins {
            hi
        } else {
            at as f64 * step + lo
        }
    };
    let mut edges: Vec<f64> = (0..=bins).map(edge).collect();
    if rule.apart {
        // The smallest distance that is not 0.
        edges[0] = edges[0].max(f64::from_bits(1));
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::rounded_down;

    #[test]
    fn a_remedy_is_never_above_the_limit() {
        for value in [12.345_678, 9.999_999, 0.001_234_567, 1e-7, 4.0, 123_456.789] {
            let found = rounded_down(value);
            assert!(found <= value && found > 0.99 * value, "{value} {found}");
        }
        assert_eq!(rounded_down(12.345_678), 12.34);
    }
}

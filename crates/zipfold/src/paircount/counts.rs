//! Pairs of two catalogues by bin, asked of the engine as any other question; of regions, by pair
//! of regions.
//!
//! Every pair counts from both sides, as in Corrfunc: of one catalogue (i, j) and (j, i).
//!
//! ```text
//! sums      bins, then the sum over all pairs that there are
//! regions   a ≤ b: pairs of one row in a and one in b, both ways round
//! ```

use super::asked::{Estimator, PairCount, Sight};
use super::catalogue::{Catalogue, PreparedCatalogues, REGION};
use crate::options::Options;
use crate::query::{Answer, Query};
use std::collections::BTreeMap;
use zipfold_core::budget::Reservation;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Closed, Columns, ReduceOp, Role};
use zipfold_core::problem::{FoldSpec, Input, PairSpec, Problem};
use zipfold_core::{Data, Error, Message, Result, Side, Table};

/// Points that a term has on one of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Points {
    /// Data, the first or the second.
    Data(usize),
    /// Randoms that were moved with the data.
    Moved,
    /// Randoms, the first or the second.
    Random(usize),
}

/// The points of the two sides of a term.
pub(super) type Sides = [Points; 2];

/// Pairs of a term.
#[derive(Debug)]
pub(super) struct CountedTerm {
    pub(super) sides: Sides,
    /// By bin; none of expected pairs.
    pub(super) counts: Vec<u64>,
    /// By bin, and of all pairs that there are.
    pub(super) sums: Vec<f64>,
    /// The same by pair of regions (0, 0), (0, 1), …, (1, 1), …; none without regions.
    pub(super) by_region: Vec<Vec<f64>>,
    /// Pairs that were visited.
    pub(super) visited: u64,
    /// The memory of the sums by pair of regions.
    _held: Option<Reservation>,
}

impl PairCount {
    /// The terms that the estimator takes; pairs of data come first.
    pub(super) fn terms(&self, estimator: Option<Estimator>) -> Vec<Sides> {
        let other = usize::from(self.data2.is_some());
        let moved = |at: usize| match self.shifted {
            Some(_) => Points::Moved,
            None => self.random(at),
        };
        let [first, second] = [0, other];
        let data = [Points::Data(first), Points::Data(second)];
        let mixed = [Points::Data(first), moved(second)];
        let mixed_back = [moved(first), Points::Data(second)];
        let moved_pairs = [moved(first), moved(second)];
        let randoms = [self.random(first), self.random(second)];
        // Of one catalogue DR and RD are the same, unless the first point has the line of sight.
        let both = other == 1 || (self.los == Sight::First && !self.separation.is_flat());
        let mut terms = vec![data];
        match estimator {
            None => {}
            Some(Estimator::Natural) if self.randoms.is_none() => {}
            Some(Estimator::Natural) => terms.push(randoms),
            Some(Estimator::DavisPeebles) => terms.push(mixed),
            Some(Estimator::LandySzalay | Estimator::Hamilton) => {
                terms.push(mixed);
                if both {
                    terms.push(mixed_back);
                }
                terms.push(moved_pairs);
                if self.shifted.is_some() && estimator == Some(Estimator::LandySzalay) {
                    terms.push(randoms);
                }
            }
        }
        terms
    }
    fn random(&self, at: usize) -> Points {
        Points::Random(if self.randoms2.is_some() { at } else { 0 })
    }
    /// The name of a term.
    pub(super) fn name(&self, sides: Sides) -> String {
        let one = |points: Points, place: usize| {
            let letter = match points {
                Points::Data(_) => "D",
                Points::Moved => "S",
                Points::Random(_) => "R",
            };
            match self.data2 {
                Some(_) => format!("{letter}{}", place + 1),
                None => letter.to_string(),
            }
        };
        format!("{}{}", one(sides[0], 0), one(sides[1], 1))
    }
    /// The question about the pairs of two catalogues, and its tables.
    fn question(
        &self,
        edges: &[Vec<f64>],
        [first, second]: [&Catalogue; 2],
        weight: Option<String>,
    ) -> Result<(Problem, Data)> {
        let same = std::ptr::eq(first, second);
        let weighs = weight.is_none() && self.weights.is_some();
        let fold = FoldSpec::Histogram {
            axes: self.axes(edges),
            closed: Closed::HalfOpen,
            weights: weighs.then(|| "weights".to_string()),
            mean: false,
            weight,
            values: BTreeMap::new(),
        };
        let problem = Problem {
            y: (!same).then(|| Input::named(second.name.as_str())),
            periodic_box: self.periodic_box.clone(),
            by: self.regions.as_ref().map(|_| REGION.to_string()),
            ..Problem::new(
                Input::named(first.name.as_str()),
                PairSpec {
                    metric: Some("euclidean".into()),
                    ..PairSpec::default()
                },
                vec![fold],
            )
        };
        let column = |catalogue: &Catalogue| {
            let weights = catalogue.weights.clone().unwrap_or_default();
            Table::f64(weights.len(), 1, weights)
        };
        let weights = match weighs {
            true => Some([column(first)?, column(second)?]),
            false => None,
        };
        let data = Data {
            pairs: None,
            x: first.table.clone(),
            y: (!same).then(|| second.table.clone()),
            weights: vec![weights],
        };
        Ok((problem, data))
    }
    /// The weight of pairs of these points that is a formula.
    fn weight_of(&self, sides: Sides, options: &Options<'_>) -> Result<Option<String>> {
        match sides {
            [Points::Data(_), Points::Data(_)] => self.pair_weight(&options.budget),
            _ => Ok(None),
        }
    }
    /// Counts the pairs of a term.
    pub(super) fn counted(
        &self,
        edges: &[Vec<f64>],
        sides: Sides,
        prepared: &PreparedCatalogues,
        options: &Options<'_>,
    ) -> Result<CountedTerm> {
        let both = [prepared.points(sides[0])?, prepared.points(sides[1])?];
        let weight = self.weight_of(sides, options)?;
        let (problem, data) = self.question(edges, both, weight.clone())?;
        let answer = Query::new(&problem, &data, options).run()?;
        let ways = ways(&answer);
        let bins: usize = edges.iter().map(|e| e.len() - 1).product();
        let columns = answer
            .columns(0)?
            .ok_or_else(|| Error::internal("a histogram gave no counts"))?;
        let lines = Lines::new(&columns)?;
        let mut counted = CountedTerm {
            sides,
            counts: lines.counts(bins, ways)?,
            sums: vec![0.0; bins + 1],
            by_region: vec![],
            visited: answer.outcome.pairs,
            _held: None,
        };
        if prepared.regions == 0 {
            counted.sums = lines.sums(0..bins, ways);
            let total = match weight {
                Some(weight) => all_pairs(&problem, &data, weight, options)?,
                None => both_totals(both),
            };
            counted.sums.push(total);
            return Ok(counted);
        }
        let bytes = (slots(prepared.regions) as u64).saturating_mul((bins as u64 + 1) * 8);
        let purpose = "the counts of pairs of regions";
        counted._held = Some(options.budget.reserve(bytes, purpose)?);
        counted.by_region = lines.by_region(bins, ways, prepared.regions)?;
        region_totals(both, prepared.regions, &mut counted.by_region);
        for sums in &counted.by_region {
            counted.sums.iter_mut().zip(sums).for_each(|(a, b)| *a += b);
        }
        Ok(counted)
    }
    /// The plan of a term.
    pub(super) fn explain_term(
        &self,
        edges: &[Vec<f64>],
        sides: Sides,
        prepared: &PreparedCatalogues,
        options: &Options<'_>,
    ) -> Result<Message> {
        let both = [prepared.points(sides[0])?, prepared.points(sides[1])?];
        let weight = self.weight_of(sides, options)?;
        let (problem, data) = self.question(edges, both, weight)?;
        Ok(Query::new(&problem, &data, options).explain()?.text(false))
    }
}

impl PreparedCatalogues {
    /// The catalogue of these points.
    fn points(&self, points: Points) -> Result<&Catalogue> {
        let found = match points {
            Points::Data(at) => self.data[at].as_ref(),
            Points::Random(at) => self.randoms[at].as_ref(),
            Points::Moved => self.shifted.as_ref(),
        };
        found.ok_or_else(|| Error::internal("a term of a catalogue that is not there"))
    }
}

/// How often a pair of the answer counts.
fn ways(answer: &Answer<'_>) -> u64 {
    match answer.job.space.is_triangular() {
        true => 2,
        false => 1,
    }
}

/// Number of pairs of regions a ≤ b.
fn slots(regions: usize) -> usize {
    regions * (regions + 1) / 2
}

/// The place of a pair of regions.
pub(super) fn slot([a, b]: [usize; 2], regions: usize) -> usize {
    let (a, b) = (a.min(b), a.max(b));
    a * regions - a * (a + 1) / 2 + b
}

/// The sum over all ordered pairs of rows of a formula.
fn all_pairs(problem: &Problem, data: &Data, weight: String, options: &Options<'_>) -> Result<f64> {
    let mut problem = problem.clone();
    problem.pair = PairSpec {
        formula: Some(weight),
        ..PairSpec::default()
    };
    problem.folds = vec![FoldSpec::Reduce {
        op: ReduceOp::Sum,
        axis: ReduceAxis::All,
        weights: None,
    }];
    problem.periodic_box = None;
    // Of one table each pair of different rows, both ways round.
    problem.domain = problem.y.is_none().then_some(zipfold_core::Domain::Ordered);
    let data = Data {
        weights: vec![None],
        ..data.clone()
    };
    let answer = Query::new(&problem, &data, options).run()?;
    let columns = answer
        .columns(0)?
        .ok_or_else(|| Error::internal("a sum gave no number"))?;
    let value = columns
        .with_role(Role::Value)
        .ok_or_else(|| Error::internal("a sum has no value"))?;
    Ok(columns.all(value).get(0))
}

/// The sum of the weights of all pairs of two catalogues, ordered, without those of a row with
/// itself.
fn both_totals([first, second]: [&Catalogue; 2]) -> f64 {
    let [a, b] = [first, second].map(|catalogue| {
        let ones = || vec![1.0; catalogue.table.rows()];
        catalogue.weights.clone().unwrap_or_else(ones)
    });
    let sum = |w: &[f64]| w.iter().sum::<f64>();
    match std::ptr::eq(first, second) {
        true => sum(&a) * sum(&a) - a.iter().map(|w| w * w).sum::<f64>(),
        false => sum(&a) * sum(&b),
    }
}

/// Sets the last number of each pair of regions: the sum of the weights of its pairs.
fn region_totals([first, second]: [&Catalogue; 2], regions: usize, by_region: &mut [Vec<f64>]) {
    let same = std::ptr::eq(first, second);
    let of = |catalogue: &Catalogue| {
        let (mut sums, mut squares) = (vec![0.0; regions], vec![0.0; regions]);
        let places = catalogue.regions.as_deref().unwrap_or_default();
        for (row, region) in places.iter().enumerate() {
            let weight = catalogue.weights.as_ref().map_or(1.0, |w| w[row]);
            sums[*region as usize] += weight;
            squares[*region as usize] += weight * weight;
        }
        (sums, squares)
    };
    let ((one, squares), (two, _)) = (of(first), of(second));
    for a in 0..regions {
        for b in a..regions {
            let total = match (a == b, same) {
                (true, true) => one[a] * one[a] - squares[a],
                (true, false) => one[a] * two[a],
                (false, true) => 2.0 * one[a] * one[b],
                (false, false) => one[a] * two[b] + one[b] * two[a],
            };
            if let Some(last) = by_region[slot([a, b], regions)].last_mut() {
                *last = total;
            }
        }
    }
}

/// The lines of an answer.
struct Lines {
    counts: Vec<f64>,
    weights: Option<Vec<f64>>,
    groups: [Option<Vec<f64>>; 2],
    /// The region of each group.
    names: Vec<usize>,
}

impl Lines {
    fn new(columns: &Columns<'_>) -> Result<Lines> {
        let all = |role: Role| {
            let column = columns.columns.iter().find(|column| column.role == role);
            column.map(|column| {
                let numbers = columns.all(column);
                (0..numbers.len())
                    .map(|at| numbers.get(at))
                    .collect::<Vec<f64>>()
            })
        };
        let names = columns.groups.iter().flat_map(|names| names.iter());
        let number = |name: &String| {
            let region = name.parse::<f64>().ok();
            region
                .map(|region| region as usize)
                .ok_or_else(|| Error::internal(format!("a region called {name}")))
        };
        Ok(Lines {
            counts: all(Role::Count).ok_or_else(|| Error::internal("no counts"))?,
            weights: all(Role::Value),
            groups: [all(Role::Group(Side::X)), all(Role::Group(Side::Y))],
            names: names.map(number).collect::<Result<_>>()?,
        })
    }
    fn len(&self) -> usize {
        self.counts.len()
    }
    /// Counts by bin, over all pairs of regions.
    fn counts(&self, bins: usize, ways: u64) -> Result<Vec<u64>> {
        if !self.len().is_multiple_of(bins) {
            return Err(Error::internal("a histogram of other bins"));
        }
        let mut out = vec![0; bins];
        for (line, count) in self.counts.iter().enumerate() {
            out[line % bins] += *count as u64 * ways;
        }
        Ok(out)
    }
    /// Sums of weights, or counts, of some lines.
    fn sums(&self, lines: std::ops::Range<usize>, ways: u64) -> Vec<f64> {
        let values = self.weights.as_ref().unwrap_or(&self.counts);
        values[lines].iter().map(|v| v * ways as f64).collect()
    }
    /// Sums by pair of regions, with room for the sum over all pairs.
    fn by_region(&self, bins: usize, ways: u64, regions: usize) -> Result<Vec<Vec<f64>>> {
        let mut all = vec![vec![0.0; bins + 1]; slots(regions)];
        for part in 0..self.len() / bins {
            let at = part * bins..(part + 1) * bins;
            let into = &mut all[slot(self.regions(at.start)?, regions)];
            let sums = self.sums(at, ways);
            into.iter_mut().zip(&sums).for_each(|(a, b)| *a += b);
        }
        Ok(all)
    }
    /// The regions of a line.
    fn regions(&self, line: usize) -> Result<[usize; 2]> {
        let one = |at: usize| {
            let groups = self.groups[at].as_ref()?;
            self.names.get(groups[line] as usize).copied()
        };
        one(0)
            .zip(one(1))
            .map(|(a, b)| [a, b])
            .ok_or_else(|| Error::internal("counts of no pair of regions"))
    }
}

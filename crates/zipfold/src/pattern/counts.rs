//! Pairs by distance and kinds: the question, and its answer as an array.
//!
//! Of a weight that is the same both ways round each pair is visited once (i < j) and counted twice.

use super::shape::{KIND, PointMarks, PointSet};
use crate::marked::{answered, input};
use crate::options::Options;
use crate::query::Query;
use std::collections::BTreeMap;
use zipfold_core::fold::{Closed, Columns, Role};
use zipfold_core::problem::{AxisSpec, FoldSpec, PairSpec, Problem};
use zipfold_core::{Data, Domain, Error, Message, Result, Side};

/// A question about pairs of points.
#[derive(Clone, Debug)]
pub(super) struct PairQuestion<'a> {
    /// The name of the table.
    pub(super) name: &'a str,
    /// Edges of distances.
    pub(super) edges: &'a [f64],
    /// A second axis: its formula and its edges.
    pub(super) beside: Option<(String, Vec<f64>)>,
    /// What a pair weighs, as a formula.
    pub(super) weight: Option<String>,
    /// Lengths of a periodic box.
    pub(super) periodic: Option<Vec<f64>>,
    /// Whether (i, j) differs from (j, i).
    pub(super) ordered: bool,
    /// What the table has next to positions and kinds.
    pub(super) wanted: PointMarks,
}

/// Ordered pairs by kinds and bin: [first kind][second kind][bin], flat.
#[derive(Clone, Debug)]
pub(super) struct PairsByKind {
    /// Pairs.
    pub(super) counts: Vec<u64>,
    /// What they weigh; the counts without a weight.
    pub(super) sums: Vec<f64>,
    /// Pairs that were visited.
    pub(super) visited: u64,
}

impl PairQuestion<'_> {
    fn problem(&self, points: &PointSet, options: &Options<'_>) -> Result<(Problem, Data)> {
        let mut axes = vec![AxisSpec {
            edges: Some(self.edges.to_vec()),
            ..AxisSpec::default()
        }];
        axes.extend(self.beside.clone().map(|(value, edges)| AxisSpec {
            value: Some(value),
            edges: Some(edges),
            ..AxisSpec::default()
        }));
        let fold = FoldSpec::Histogram {
            axes,
            closed: Closed::HalfOpen,
            weights: None,
            mean: false,
            weight: self.weight.clone(),
            values: BTreeMap::new(),
        };
        let pair = PairSpec {
            metric: Some("euclidean".into()),
            ..PairSpec::default()
        };
        let grouped = points.kinds.len() > 1;
        let problem = Problem {
            domain: Some(match self.ordered {
                true => Domain::Ordered,
                false => Domain::Triangle,
            }),
            by: grouped.then(|| KIND.to_string()),
            periodic_box: self.periodic.clone(),
            ..Problem::new(input(self.name), pair, vec![fold])
        };
        let wanted = PointMarks {
            kinds: grouped,
            ..self.wanted
        };
        let data = Data {
            pairs: None,
            x: points.table(wanted, &options.budget)?,
            y: None,
            weights: vec![None],
        };
        Ok((problem, data))
    }
    /// Counts the pairs of points.
    pub(super) fn counted(&self, points: &PointSet, options: &Options<'_>) -> Result<PairsByKind> {
        let kinds = points.kinds.len();
        let beside = self.beside.as_ref().map_or(1, |(_, edges)| edges.len() - 1);
        let bins = (self.edges.len() - 1) * beside;
        // Counts and sums, and what becomes of them.
        let lines = (kinds as u64).saturating_mul(kinds as u64);
        let bytes = lines.saturating_mul(bins as u64).saturating_mul(64);
        let _held = options
            .budget
            .reserve(bytes, "pairs by kinds and distance")?;
        let (problem, data) = self.problem(points, options)?;
        let answer = Query::new(&problem, &data, options).run()?;
        let columns = answer
            .columns(0)?
            .ok_or_else(|| Error::internal("a histogram gave no counts"))?;
        let counts = answered(&columns, "counts")?;
        let sums = match &self.weight {
            Some(_) => answered(&columns, "weights")?,
            None => counts.clone(),
        };
        let places = places(&columns, kinds, bins, counts.len())?;
        let mut out = PairsByKind {
            counts: vec![0; kinds * kinds * bins],
            sums: vec![0.0; kinds * kinds * bins],
            visited: answer.outcome.pairs,
        };
        for (line, [a, b]) in places.into_iter().enumerate() {
            let bin = line % bins;
            let mut add = |from: usize, to: usize| {
                let at = (from * kinds + to) * bins + bin;
                out.counts[at] += counts[line] as u64;
                out.sums[at] += sums[line];
            };
            add(a, b);
            if !self.ordered {
                add(b, a);
            }
        }
        Ok(out)
    }
    /// The plan of the question.
    pub(super) fn explain(&self, points: &PointSet, options: &Options<'_>) -> Result<Message> {
        let (problem, data) = self.problem(points, options)?;
        Ok(Query::new(&problem, &data, options).explain()?.text(false))
    }
}

/// By line of an answer, the numbers of both kinds.
fn places(
    columns: &Columns<'_>,
    kinds: usize,
    bins: usize,
    lines: usize,
) -> Result<Vec<[usize; 2]>> {
    if !lines.is_multiple_of(bins) {
        return Err(Error::internal("a histogram of other bins"));
    }
    if kinds == 1 {
        return Ok(vec![[0, 0]; lines]);
    }
    let names = columns.groups.iter().flat_map(|names| names.iter());
    let number = |name: &String| name.parse::<f64>().ok().map(|kind| kind as usize);
    let names: Option<Vec<usize>> = names.map(number).collect();
    let side = |side: Side| {
        let role = Role::Group(side);
        let column = columns.columns.iter().find(|column| column.role == role)?;
        let all = columns.all(column);
        let names = names.as_ref()?;
        let kind = |line: usize| names.get(all.get(line) as usize).copied();
        (0..lines).map(kind).collect::<Option<Vec<usize>>>()
    };
    match (side(Side::X), side(Side::Y)) {
        (Some(x), Some(y)) => Ok(x.into_iter().zip(y).map(|(x, y)| [x, y]).collect()),
        _ => Err(Error::internal("counts of no pair of kinds")),
    }
}

//! Family *points*: a histogram of distances in one to four dimensions, swept by its own kernel with the exact-edge rule.

use crate::kernels::histogram::{Edges, Frame, Histogram as Sweep, Pairs, Points};
use crate::simd;
use zipfold_core::fold::{Closed, Fold, Histogram, State, Tally};
use zipfold_core::pair::lower::ZipForm;
use zipfold_core::pair::tree::{Binary, Formula, Id, Node, Reduce};
use zipfold_core::space::cell::Image;
use zipfold_core::{Cells, Job, Table};
use zipfold_plan::Tile;

/// A job that the points family answers.
#[derive(Debug)]
pub struct Distances {
    x: Points,
    y: Option<Points>,
    edges: Edges,
    pairs: Pairs,
}

impl Distances {
    /// The points and edges of `job`, where it is one plain histogram of Euclidean distances.
    pub fn of(job: &Job) -> Option<Self> {
        let [Fold::Histogram(h)] = job.folds.as_slice() else { return None };
        let pairs = match job.space.cells {
            Cells::Cross | Cells::Square => Pairs::All,
            Cells::Triangle => Pairs::Above,
            _ => return None,
        };
        let plain = h.axes.len() == 1 && h.weights.is_none() && !h.mean && job.near_root.is_none();
        let dim = job.low.dim;
        if !plain || !(1..=4).contains(&dim) || !is_squared_distance(job, h) || h.axes[0].compared[0] < 0.0 {
            return None;
        }
        if !finite(&job.x) || !finite(job.other()) {
            return None;
        }
        let columns = columns(&job.x);
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let frame = frame(job, &slices)?;
        let y = job.y.as_ref().map(|y| {
            let columns = self::columns(y);
            Points::new(&frame, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>())
        });
        Some(Distances { x: Points::new(&frame, &slices), y, edges: edges(h), pairs })
    }
    /// Counts the pairs of consecutive tiles.
    pub fn run(&self, tiles: &[Tile], isa: simd::Isa, fold: &Histogram) -> (State, Tally) {
        let mut sweep = Sweep::new(&self.edges);
        let y = self.y.as_ref().unwrap_or(&self.x);
        for tile in tiles {
            sweep.add(isa, &self.x, tile.rows.clone(), y, tile.cols.clone(), self.pairs);
        }
        let counts = sweep.finish();
        let mut state = zipfold_core::fold::HistogramState::new(fold);
        let last = state.counts.len() - 1;
        state.counts[0] = counts.under;
        state.counts[1..last].copy_from_slice(&counts.bins);
        state.counts[last] = counts.over;
        let tally = Tally { counted: state.total(), nan: counts.skipped, ..Tally::default() };
        (State::Histogram(state), tally)
    }
}

/// The binned root is Σ (x − y)² of the raw rows.
fn is_squared_distance(job: &Job, h: &Histogram) -> bool {
    let low = &job.low;
    let root = low.formula.roots[h.axes[0].root];
    let is_raw = |id: Id| matches!(low.formula.node(id), Node::Row(_));
    match low.zip_form(root) {
        Some((ZipForm::SqDiff, a, b)) => is_raw(a) && is_raw(b),
        Some(_) => false,
        None => low.periodic && is_periodic_square(&low.formula, root),
    }
}

fn is_periodic_square(formula: &Formula, root: Id) -> bool {
    let Node::Reduce(Reduce::Sum, body) = formula.node(root) else { return false };
    matches!(formula.node(*body), Node::Binary(Binary::Mul, a, b) if a == b && *formula.node(*a) == Node::Delta)
}

fn finite(table: &Table) -> bool {
    (0..table.rows() * table.cols()).all(|at| table.elements().get(at).is_finite())
}

fn columns(table: &Table) -> Vec<Vec<f64>> {
    (0..table.cols()).map(|c| (0..table.rows()).map(|r| table.get(r, c)).collect()).collect()
}

fn frame(job: &Job, columns: &[&[f64]]) -> Option<Frame> {
    match job.cell.as_ref().map(|c| c.image()) {
        None => Some(Frame::open(columns)),
        Some(Image::Orthorhombic(o)) if o.lengths().len() == job.low.dim => Some(Frame::periodic(o.lengths())),
        Some(_) => None,
    }
}

/// The fold's edges; uniform ones in the form that the kernel guesses without a table.
fn edges(h: &Histogram) -> Edges {
    let axis = &h.axes[0];
    let (lo, hi) = (axis.edges[0], axis.edges[axis.bins()]);
    let uniform =
        (axis.edges != axis.compared && lo.is_finite() && hi.is_finite()).then(|| Edges::uniform(lo, hi, axis.bins()));
    let edges = match uniform {
        Some(u) if u.squares() == axis.compared => u,
        _ => Edges::from_squares(axis.compared.clone()),
    };
    if h.closed == Closed::Last { edges.close_last() } else { edges }
}

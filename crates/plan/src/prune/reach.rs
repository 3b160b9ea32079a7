//! Finds out how far apart the rows of a job's pairs can be that count.
//!
//! Three sources say so: a cut-off; the last edges of a histogram, beyond which pairs are "over"
//! and only counted; and conditions in the formula, as in `if(r2 < 4, …, 0)`, beyond which a sum
//! only adds zeros. The result bounds the difference of the rows, its length or single components,
//! and a grid of cells uses it to skip pairs.
//!
//! The analysis walks the formula from the value towards the difference and inverts each step:
//! `sqrt(v) ≤ c` gives v ≤ c², `sum(d²) ≤ c` gives |d| ≤ √c, and so on.
//!
//! ```text
//! hist 0:10 of sqrt(sum((x - y)^2)), not counted by the points kernels
//! sqrt(v) ≤ 10        v ≤ 100 · (1 + 10⁻¹²)
//! sum(d²) ≤ 100…      |d| ≤ 10…, and so every |d[k]| ≤ 10…
//! ```
//!
//! It knows the operations that users write, and answers "unbounded" for everything else, which is
//! always right: the run then visits more pairs than it needs to. An answer that is too small would
//! lose pairs, so every rounding on the way widens the limit.

use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Fold, Histogram, ReduceOp};
use zipfold_core::pair::tree::{Binary, ComponentReduce, Id, Node, Side, Unary};
use zipfold_core::{Job, Precision, Reach, Table};

/// How much limits are widened where squares and roots are rounded on the way.
///
/// A root or product in double precision errs by 2⁻⁵³ ≈ 1.1 · 10⁻¹⁶ of its value, and a sum of d
/// squares by about d times that. 10⁻¹² covers all formulas of up to some thousand components and
/// adds no pairs that could be noticed.
const WIDER: f64 = 1.0 + 1e-12;

/// Returns how far apart the rows of `job` can be that count, if it is known: for folds by row, by
/// a cut-off or conditions; for histograms that the points kernels do not count, by their edges.
///
/// Histograms of plain distances are left to the column grid of `prune::column_grid`, which is
/// faster than a grid because it does not visit pairs row by row. Everything that is refused here
/// runs over all pairs or by bounding boxes.
pub fn reach(job: &Job) -> Option<Reach> {
    // Cells name rows by 32 bits.
    let countable = [job.space.n, job.space.m]
        .iter()
        .all(|r| *r > 0 && u32::try_from(*r).is_ok());
    let dim = job.x.cols();
    // A pair of a half space that is folded once belongs to one of its rows alone, and rows without
    // weight to none.
    let once = |f: &Fold| matches!(f, Fold::Reduce(f) if f.once);
    if job.holes || (job.space.is_triangular() && job.folds.iter().any(once)) {
        return None;
    }
    // Both tables must have the coordinates that differences are made of.
    if !countable || dim == 0 || dim != job.low.dim || dim != job.other().cols() {
        return None;
    }
    // An infinite cut-off leaves out nothing.
    let cutoff = job
        .space
        .cutoff
        .filter(|cutoff| job.cutoff_root.is_some() && (cutoff * cutoff).is_finite());
    let cutoff = cutoff.map(|cutoff| Reach::ball(cutoff, dim));
    // Folds along the columns of a domain with all pairs have results for rows of y; the grid goes
    // by rows of x.
    let by_row = |f: &Fold| matches!(f, Fold::Reduce(f) if f.axis != ReduceAxis::Column || job.space.is_triangular());
    if job.folds.iter().all(by_row) {
        return cutoff.or_else(|| of_conditions(job));
    }
    let [Fold::Histogram(h)] = job.folds.as_slice() else {
        return None;
    };
    let by_axes = || job.cutoff_root.is_none() && !crate::points::apply(job);
    cutoff.or_else(|| by_axes().then(|| of_axes(job, h))?)
}

/// Returns how far apart rows are that every axis of `h` takes in.
///
/// All others are "over", and are counted without being visited: their number is that of all pairs
/// less those visited. So their value must be a number, since a NaN would be an error, or would be
/// counted apart, and nobody would see it.
fn of_axes(job: &Job, h: &Histogram) -> Option<Reach> {
    let mut limits = Limits::none(job);
    // Each axis limits the difference by itself; together they limit it more.
    for axis in &h.axes {
        let (id, ends) = (
            job.low.formula.roots[axis.root],
            [axis.compared[0], axis.compared[axis.bins()]],
        );
        // A value that is NaN is not over.
        if limits.is_number(id) {
            limits.at_most(id, ends[1]);
        }
        // Of several axes a pair below one range is out, too, so both ends limit a plain component.
        if let (true, Some(k)) = (h.axes.len() > 1, limits.component(id)) {
            limits.limit(k, ends[0].abs().max(ends[1].abs()));
        }
    }
    // A coordinate that is not finite has no place in a grid, and its pairs must still be counted
    // as over.
    let finite = |table: &Table| table.elements().is_finite();
    (limits.reach.is_some() && finite(&job.x) && finite(job.other())).then_some(limits.reach)
}

/// Returns how far apart rows are for which a sum takes more than zeros.
///
/// Adding +0 changes no sum, so pairs beyond can be left out and the bits stay. (−0 + 0 = +0 is no
/// exception: a sum begins with +0.) In single precision a full run adds in another order, so it is
/// excluded.
fn of_conditions(job: &Job) -> Option<Reach> {
    // 0 · ∞ is NaN, so weights must be finite for zeros to add nothing.
    let sums = |f: &Fold| {
        let Fold::Reduce(f) = f else { return false };
        let finite = |w: &Vec<f64>| w.iter().all(|w| w.is_finite());
        let weights = f.weights.as_ref();
        (f.op == ReduceOp::Sum && weights.is_none_or(finite))
            || (f.op == ReduceOp::Mean && weights.is_none())
    };
    if job.cutoff_root.is_some() || job.precision != Precision::F64 || !job.folds.iter().all(sums) {
        return None;
    }
    let roots = job
        .folds
        .iter()
        .map(|f| if let Fold::Reduce(f) = f { f.root } else { 0 });
    // All folds share the pairs that are visited: the widest reach of any.
    let reaches = roots
        .map(|root| vanishing(job, job.low.formula.roots[root]))
        .collect::<Option<Vec<_>>>()?;
    // Zero times a difference that overflows would be NaN, which a full run would add. Differences
    // of numbers below 10³⁰⁰ do not overflow.
    let tame = |table: &Table| {
        (0..table.elements().len()).all(|at| table.elements().get(at).abs() < 1e300)
    };
    reaches
        .into_iter()
        .reduce(wider)
        .filter(|reach| reach.is_some() && tame(&job.x) && tame(job.other()))
}

/// Returns how far apart rows are whose value is not zero, if that is limited.
///
/// A product vanishes if one factor does and the other is finite (0 · ∞ is NaN); a sum if both
/// terms do.
///
/// ```text
/// if(r < 2, a, 0) · 3 + if(r < 5, b, 0)      r < 5: beyond it both terms are zero
/// ```
fn vanishing(job: &Job, id: Id) -> Option<Reach> {
    let formula = &job.low.formula;
    let is_zero = |id: Id| formula.constant(id) == Some(0.0);
    // Numbers next to the components may be anything.
    let is_coordinate = |id: Id| match formula.node(id) {
        Node::Row(_) => true,
        Node::At(_, k) => (*k as usize) < job.low.dim,
        _ => false,
    };
    // A factor that is finite for finite rows: a difference, a coordinate, a constant.
    let is_finite = |id: Id| match formula.node(id) {
        Node::Delta | Node::DeltaAt(_) => true,
        Node::Binary(Binary::Sub, a, b) => is_coordinate(*a) && is_coordinate(*b),
        _ if is_coordinate(id) => true,
        _ => formula.constant(id).is_some_and(f64::is_finite),
    };
    match formula.node(id) {
        // A condition is 0 where it does not hold.
        Node::Binary(Binary::Lt | Binary::Le | Binary::And, ..) => {
            let mut limits = Limits::none(job);
            limits.holds(id);
            Some(limits.reach)
        }
        // The heart of it: outside of the condition the value is zero.
        Node::Select(condition, _, no) if is_zero(*no) => {
            let mut limits = Limits::none(job);
            limits.holds(*condition);
            Some(limits.reach)
        }
        Node::Unary(Unary::Neg, a) => vanishing(job, *a),
        Node::Binary(Binary::Mul, a, b) if is_finite(*b) => vanishing(job, *a),
        Node::Binary(Binary::Mul, a, b) if is_finite(*a) => vanishing(job, *b),
        Node::Binary(Binary::Add | Binary::Sub, a, b) => {
            Some(wider(vanishing(job, *a)?, vanishing(job, *b)?))
        }
        Node::Tuple(parts) => {
            let parts = parts
                .iter()
                .map(|part| vanishing(job, *part))
                .collect::<Option<Vec<_>>>()?;
            parts.into_iter().reduce(wider)
        }
        _ => None,
    }
}

/// Returns the reach of rows within one of two reaches: the larger of each limit.
///
/// That is more than the union (a limit of the length of one and of a component of the other gives
/// none of either), which is safe.
fn wider(a: Reach, b: Reach) -> Reach {
    let components = a
        .components
        .iter()
        .zip(&b.components)
        .map(|(a, b)| a.max(*b))
        .collect();
    Reach {
        length: a.length.max(b.length),
        components,
    }
}

/// Limits of differences, collected from what values imply.
///
/// All limits hold at the same time, so a new one can only lower an old one.
struct Limits<'j> {
    job: &'j Job,
    reach: Reach,
}

impl<'j> Limits<'j> {
    /// Returns no limits.
    fn none(job: &'j Job) -> Self {
        Limits {
            job,
            reach: Reach {
                length: f64::INFINITY,
                components: vec![f64::INFINITY; job.low.dim],
            },
        }
    }
    /// Adds what must be true of the difference for a condition to be true.
    ///
    /// Conditions that it does not know add nothing. `or` is one of them: neither side needs to
    /// hold.
    fn holds(&mut self, condition: Id) {
        match self.node(condition) {
            Node::Binary(Binary::Lt | Binary::Le, a, b) => {
                if let Some(most) = self.job.low.formula.constant(*b) {
                    self.at_most(*a, most);
                }
            }
            // Both must be true, so both limit.
            Node::Binary(Binary::And, a, b) => {
                self.holds(*a);
                self.holds(*b);
            }
            _ => {}
        }
    }
    fn node(&self, id: Id) -> &'j Node {
        self.job.low.formula.node(id)
    }
    /// Adds |d[k]| ≤ `most`.
    fn limit(&mut self, k: usize, most: f64) {
        self.reach.components[k] = self.reach.components[k].min(most);
    }
    /// Adds what must be true of the difference for value `id` to be at most `most`.
    ///
    /// A sum of two values bounds each of them only if neither is negative: from a + b ≤ 4 and b ≥
    /// 0 follows a ≤ 4. A negative limit of a magnitude would exclude all pairs; it adds nothing
    /// instead, and the run finds out.
    fn at_most(&mut self, id: Id, most: f64) {
        if most.is_nan() || most < 0.0 {
            return;
        }
        // Each arm inverts one operation: from a limit of the result to a limit of an operand.
        match self.node(id) {
            Node::Unary(Unary::Sqrt, a) => self.at_most(*a, most * most * WIDER),
            Node::Unary(Unary::Abs, a) => {
                if let Some(k) = self.component(*a) {
                    self.limit(k, most);
                }
            }
            Node::Binary(Binary::Mul, a, b) if a == b => {
                if let Some(k) = self.component(*a) {
                    self.limit(k, most.sqrt() * WIDER);
                }
            }
            Node::Binary(Binary::Mul, a, b) => {
                for (a, factor) in [(*a, *b), (*b, *a)] {
                    if let Some(c) = self.job.low.formula.constant(factor).filter(|c| *c > 0.0) {
                        self.at_most(a, most / c * WIDER);
                    }
                }
            }
            Node::Binary(Binary::Div, a, b) => {
                if let Some(c) = self.job.low.formula.constant(*b).filter(|c| *c > 0.0) {
                    self.at_most(*a, most * c * WIDER);
                }
            }
            Node::Binary(Binary::Add, a, b) if self.is_magnitude(*a) && self.is_magnitude(*b) => {
                self.at_most(*a, most);
                self.at_most(*b, most);
            }
            Node::Binary(Binary::Max, a, b) => {
                self.at_most(*a, most);
                self.at_most(*b, most);
            }
            Node::Reduce(op @ (ComponentReduce::Sum | ComponentReduce::Max), body) => {
                self.reduced(*op, *body, most)
            }
            _ => {}
        }
    }
    /// Adds the limits of a reduction of magnitudes or squares of all components.
    ///
    /// From Σ d² ≤ c follows |d| ≤ √c for the length, and from max |d[k]| ≤ c only the same for
    /// every component: its ball would be √dim times as wide.
    fn reduced(&mut self, op: ComponentReduce, body: Id, most: f64) {
        let most = match self.node(body) {
            Node::Unary(Unary::Abs, a) if self.is_difference(*a) => most,
            Node::Binary(Binary::Mul, a, b) if a == b && self.is_difference(*a) => {
                most.sqrt() * WIDER
            }
            _ => return,
        };
        if op == ComponentReduce::Sum {
            // Σ|d| is no less than the length.
            self.reach.length = self.reach.length.min(most);
        }
        // No component is larger than a sum, or a maximum, of magnitudes.
        (0..self.job.low.dim).for_each(|k| self.limit(k, most));
    }
    /// Returns whether a value is a number for all finite coordinates: infinite at worst, never
    /// NaN.
    ///
    /// NaN arises from ∞ − ∞, 0 · ∞, 0/0, ∞/∞ and roots of negative numbers. Each arm excludes the
    /// ones that its operation can produce: a sum needs both terms of one sign, a product a finite
    /// factor that is not zero, a quotient such a divisor.
    fn is_number(&self, id: Id) -> bool {
        let constant = |id: Id| self.job.low.formula.constant(id);
        match self.node(id) {
            Node::Delta | Node::DeltaAt(_) | Node::Row(_) => true,
            Node::At(_, k) => (*k as usize) < self.job.low.dim,
            Node::Unary(Unary::Neg | Unary::Abs, a) => self.is_number(*a),
            Node::Unary(Unary::Sqrt, a) => self.is_number(*a) && self.is_magnitude(*a),
            Node::Binary(Binary::Sub, a, b) => [a, b].iter().all(|id| {
                matches!(self.node(**id), Node::Row(_) | Node::At(..)) && self.is_number(**id)
            }),
            Node::Binary(Binary::Mul, a, b) if a == b => self.is_number(*a),
            Node::Binary(Binary::Mul, a, b) => [(a, b), (b, a)].iter().any(|(a, factor)| {
                constant(**factor).is_some_and(|c| c.is_finite() && c != 0.0) && self.is_number(**a)
            }),
            Node::Binary(Binary::Div, a, b) => {
                constant(*b).is_some_and(|c| c.is_finite() && c != 0.0) && self.is_number(*a)
            }
            Node::Binary(Binary::Add, a, b) => [a, b]
                .iter()
                .all(|id| self.is_number(**id) && self.is_magnitude(**id)),
            Node::Binary(Binary::Max | Binary::Min, a, b) => {
                self.is_number(*a) && self.is_number(*b)
            }
            Node::Reduce(ComponentReduce::Sum, body) => {
                self.is_number(*body) && self.is_magnitude(*body)
            }
            Node::Reduce(ComponentReduce::Max | ComponentReduce::Min, body) => {
                self.is_number(*body)
            }
            _ => constant(id).is_some_and(f64::is_finite),
        }
    }
    /// Returns whether a value is never below zero. "No" is the safe answer.
    fn is_magnitude(&self, id: Id) -> bool {
        match self.node(id) {
            Node::Unary(Unary::Abs | Unary::Sqrt, _) => true,
            Node::Binary(Binary::Mul, a, b) => {
                a == b || (self.is_magnitude(*a) && self.is_magnitude(*b))
            }
            Node::Binary(Binary::Add | Binary::Max, a, b) => {
                self.is_magnitude(*a) && self.is_magnitude(*b)
            }
            Node::Reduce(ComponentReduce::Sum | ComponentReduce::Max, body) => {
                self.is_magnitude(*body)
            }
            _ => self.job.low.formula.constant(id).is_some_and(|c| c >= 0.0),
        }
    }
    /// Returns the component of which a number is the difference.
    ///
    /// The minimum image and the plain difference tell the same rows apart, since coordinates are
    /// compared modulo the box. Which row comes first does not matter, since only magnitudes are
    /// limited.
    fn component(&self, id: Id) -> Option<usize> {
        let k = match self.node(id) {
            Node::DeltaAt(k) => *k,
            Node::Binary(Binary::Sub, a, b) => match (self.node(*a), self.node(*b)) {
                (Node::At(Side::X, k), Node::At(Side::Y, l))
                | (Node::At(Side::Y, k), Node::At(Side::X, l))
                    if k == l =>
                {
                    *k
                }
                _ => return None,
            },
            _ => return None,
        };
        ((k as usize) < self.job.low.dim).then_some(k as usize)
    }
    /// Returns whether a vector is the difference of the rows, in either direction.
    fn is_difference(&self, id: Id) -> bool {
        match self.node(id) {
            Node::Delta => true,
            Node::Binary(Binary::Sub, a, b) => {
                matches!((self.node(*a), self.node(*b)), (Node::Row(s), Node::Row(t)) if s != t)
            }
            _ => false,
        }
    }
}

//! How far single precision can be from the exact value: a bound `abs + rel·|value|` for every node
//! of a formula.
//!
//! This is forward error analysis over the ranges of the data (Higham, *Accuracy and Stability of
//! Numerical Algorithms*, ch. 2–3). For each node the range of its value and the error of its
//! single-precision twin follow from those of its operands. A decision (a bin, a neighbour, a
//! match) is then safe in single precision if the value is further from its limit than the bound;
//! the few others are computed again in double precision. So the answer is that of double precision
//! (invariant DEVICE-DECISIONS).
//!
//! ```text
//! x, y in [0, 1], exact in f32, u = 2⁻²⁴
//! x − y          range [−1, 1]     rel u       one rounding of an exact difference
//! (x − y)²       range [0, 1]      rel 3u
//! sum of 3       range [0, 3]      rel ≈ 6u
//! x, y rounded to f32: x − y has abs ≈ 2u instead, since cancellation leaves no relative bound
//! ```
//!
//! A bound may be pessimistic, never too small. Where none can be proved (a division by something
//! near zero, a logarithm), there is none, and double precision decides everything.

pub use super::bound::Bound;
use super::bound::TINY;
use super::bound::U;
use super::images;
use std::collections::{HashMap, HashSet};
use zipfold_core::PeriodicBox;
use zipfold_core::fold::BLOCK;
use zipfold_core::number::Power;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::source::Source;
use zipfold_core::pair::tree::{Binary, ComponentReduce, DEP_BOUND, Id, Node, Side, Unary};
use zipfold_core::space::periodic_box::{Image, Triclinic};

/// Bounds of the hoisted vectors and scalars of one side, in this order; `None` for one that has a
/// number that is not finite.
///
/// They are the only facts about the data that the analysis uses, so the same ranges give the same
/// bounds, and data in pages can be analysed page by page ([`joined`]).
pub type Ranges = Vec<Option<Bound>>;

/// Finds the ranges in packed rows: panels of 128 rows, number after number. Also finds out which
/// numbers are all exact in f32.
///
/// It reads the rows in the layout in which the device gets them, so that one pass over memory does
/// both.
pub fn ranges(packed: &[f64], low: &Lowered, side: Side) -> Ranges {
    let (row_vectors, row_scalars) = (
        low.row_vectors[side as usize].len(),
        low.row_scalars[side as usize].len(),
    );
    let width = row_vectors * low.dim + row_scalars;
    // All components of a vector share one range; a scalar has its own.
    let group = |w: usize| {
        if w < row_vectors * low.dim {
            w / low.dim.max(1)
        } else {
            row_vectors + w - row_vectors * low.dim
        }
    };
    let mut found: Vec<(f64, f64, bool, bool)> =
        vec![(f64::INFINITY, f64::NEG_INFINITY, true, true); row_vectors + row_scalars];
    for (at, line) in packed.chunks(BLOCK).enumerate() {
        let f = &mut found[group(at % width.max(1))];
        // Range, whether all are exact in f32, and whether all are finite.
        for v in line {
            *f = (
                f.0.min(*v),
                f.1.max(*v),
                f.2 && f64::from(*v as f32) == *v,
                f.3 && v.is_finite(),
            );
        }
    }
    found
        .into_iter()
        .map(|(lo, hi, exact, finite)| {
            if finite {
                Bound::held(lo, hi, exact)
            } else {
                None
            }
        })
        .collect()
}

/// Returns the ranges of two parts of the rows together: the wider ends and the larger errors.
pub fn joined(a: &Ranges, b: &Ranges) -> Ranges {
    let both = |(a, b): (&Option<Bound>, &Option<Bound>)| a.zip(*b).map(|(a, b)| a.wider(&b));
    a.iter().zip(b).map(both).collect()
}

/// Bounds of every pair node that has one.
#[derive(Debug)]
pub struct Bounds<'l> {
    low: &'l Lowered,
    sides: [Ranges; 2],
    periodic_box: Option<&'l PeriodicBox>,
    known: HashMap<Id, Bound>,
    /// Nodes whose magnitude is bounded and whose sign is not: differences by the minimum image,
    /// and their products.
    unsigned: HashSet<Id>,
}

impl<'l> Bounds<'l> {
    /// Analyses `low` over data of these ranges in this box, node by node, operands first.
    pub fn new(
        low: &'l Lowered,
        sides: [Ranges; 2],
        periodic_box: Option<&'l PeriodicBox>,
    ) -> Self {
        let mut bounds = Bounds {
            low,
            sides,
            periodic_box,
            known: HashMap::new(),
            unsigned: HashSet::new(),
        };
        bounds.analyse(None);
        bounds
    }
    /// Analyses `low`, which has no box, where one node is computed in another way: `known` is its
    /// number and by how much it is off at most.
    pub fn with_error(low: &'l Lowered, sides: [Ranges; 2], known: (Id, f64)) -> Self {
        let mut bounds = Bounds {
            low,
            sides,
            periodic_box: None,
            known: HashMap::new(),
            unsigned: HashSet::new(),
        };
        bounds.analyse(Some(known));
        bounds
    }
    fn analyse(&mut self, known: Option<(Id, f64)>) {
        let low = self.low;
        for (at, live) in low.formula.live().into_iter().enumerate() {
            let id = Id(at as u32);
            if !live || low.source(id) != Source::Pair {
                continue;
            }
            if let Some(b) = self.node(id) {
                let own = known.filter(|(node, _)| *node == id);
                let b = own.map_or(b, |(_, abs)| Bound { abs, rel: 0.0, ..b });
                self.known.insert(id, b);
            } else if let Some(b) = self.magnitude(id) {
                self.known.insert(id, b);
                self.unsigned.insert(id);
            }
        }
    }
    /// Returns the bound of `id`, if it has one that holds for its sign, too.
    pub fn get(&self, id: Id) -> Option<Bound> {
        self.either_sign(id)
            .filter(|_| !self.unsigned.contains(&id))
    }
    /// Returns whether `id` is a finite number for every pair.
    pub fn is_finite(&self, id: Id) -> bool {
        self.either_sign(id).is_some()
    }
    /// Returns the bound of the magnitude of `id`.
    fn either_sign(&self, id: Id) -> Option<Bound> {
        match self.low.source(id) {
            Source::Stream(side, s) => self.sides[side as usize][s],
            Source::Attr(side, a) => {
                self.sides[side as usize][self.low.row_vectors[side as usize].len() + a]
            }
            Source::Vector(v) => {
                let c = &self.low.constants[v];
                let (lo, hi) = c
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                        (l.min(*v), h.max(*v))
                    });
                Bound::held(lo, hi, c.iter().all(|v| f64::from(*v as f32) == *v))
            }
            Source::Const(c) => Bound::held(c, c, f64::from(c as f32) == c),
            Source::Pair => self.known.get(&id).copied(),
        }
    }
    /// Computes the bound of a pair node. Operations without a rule have none.
    fn node(&self, id: Id) -> Option<Bound> {
        let g = |id: &Id| self.get(*id);
        match self.low.formula.node(id) {
            Node::Delta if !self.low.periodic => self.difference(Node::Row),
            Node::DeltaAt(k) if !self.low.periodic => self.difference(|s| Node::At(s, *k)),
            Node::Unary(Unary::Abs, a) => Some(self.either_sign(*a)?.magnitude()),
            Node::Unary(op, a) => unary(*op, g(a)?),
            Node::Binary(Binary::Pow, a, p) => {
                if self.low.formula.constant(*p) == Some(2.0) {
                    return self.either_sign(*a)?.square();
                }
                let a = g(a)?;
                match Power::for_exponent(self.low.formula.constant(*p)?) {
                    Power::Whole(2) => a.square(),
                    Power::Whole(3) => a.square()?.mul(&a),
                    // A root times a whole power, as devices compute it.
                    Power::Halves(1) => a.root(),
                    Power::Halves(3) => a.root()?.mul(&a),
                    Power::Halves(5) => a.root()?.mul(&a.square()?),
                    Power::Whole(_) | Power::Halves(_) | Power::Real(_) | Power::Rare(_) => None,
                }
            }
            Node::Binary(Binary::Mul, a, b) if a == b => self.either_sign(*a)?.square(),
            Node::Binary(op, a, b) => binary(*op, &g(a)?, &g(b)?),
            Node::Select(c, a, b) => self.choice(*c, *a, *b),
            Node::Reduce(ComponentReduce::Sum, body) => match self.oblique_length(*body) {
                Some(lattice) => images::squared_length(self.raw_difference()?, lattice),
                None => g(body)?.sum(self.low.dim.max(1)),
            },
            Node::Reduce(ComponentReduce::Max | ComponentReduce::Min, body) if self.low.dim > 0 => {
                g(body).map(|b| b.shifted(b.top()))
            }
            _ => None,
        }
    }
    /// Bounds the magnitude of a node whose sign single precision may get wrong: a difference by the
    /// minimum image of a box with right angles, and its products and quotients.
    fn magnitude(&self, id: Id) -> Option<Bound> {
        let node = self.low.formula.node(id);
        if *node == Node::Delta {
            let parts = (0..self.low.dim.max(1)).map(|k| self.image(k));
            return parts.reduce(|a, b| Some(a?.wider(&b?)))?;
        }
        if let Node::DeltaAt(k) = node {
            return self.image(*k as usize);
        }
        if let Node::Unary(Unary::Neg, a) = node {
            return unary(Unary::Neg, self.either_sign(*a)?);
        }
        let Node::Binary(op @ (Binary::Mul | Binary::Div), a, b) = node else {
            return None;
        };
        let found = binary(*op, &self.either_sign(*a)?, &self.either_sign(*b)?)?;
        Some(Bound {
            lo: -found.top(),
            hi: found.top(),
            ..found
        })
    }
    /// Bounds component `k` of the difference by the minimum image, in a box with right angles.
    fn image(&self, k: usize) -> Option<Bound> {
        let difference = self.raw_difference()?;
        match self.periodic_box?.image() {
            Image::Orthorhombic(o) => match o.lengths().get(k) {
                Some(length) => images::component(difference, *length, self.is_near()),
                None => Some(difference),
            },
            Image::Triclinic(_) => None,
        }
    }
    /// Returns whether the magnitudes of images in a box with right angles are those of differences,
    /// or what these lack of the length ([`images::is_near`]).
    pub fn is_near(&self) -> bool {
        let lengths = match self.periodic_box.map(PeriodicBox::image) {
            Some(Image::Orthorhombic(o)) => o.lengths(),
            Some(Image::Triclinic(_)) | None => return false,
        };
        let difference = self.raw_difference();
        difference.is_some_and(|difference| images::is_near(difference, lengths))
    }
    /// Bounds a component of the difference of the rows as they were given.
    fn raw_difference(&self) -> Option<Bound> {
        let raw = |side: Side| {
            let at = self.low.raw_vector(side as usize)?;
            self.sides[side as usize][at]
        };
        raw(Side::X)?.add(&raw(Side::Y)?, -1.0)
    }
    /// Returns the lattice if `body` is the square of the difference by the minimum image in an
    /// oblique box: the sum of its components is the squared length of the shortest image.
    pub fn oblique_length(&self, body: Id) -> Option<&'l Triclinic> {
        let lattice = match self.periodic_box?.image() {
            Image::Triclinic(lattice) => lattice,
            Image::Orthorhombic(_) => return None,
        };
        (self.low.periodic && self.low.dim == 3 && squares_delta(self.low, body)).then_some(lattice)
    }
    /// Bounds `if(p == q …, a, b)` with a constant `a`, where `b` is `p` within limits, as the
    /// cosine of equal rows.
    ///
    /// Where the condition is true, p equals q, so `b` lies between its values at the ends of q's
    /// range. `a` is near those; single precision may take either branch, and errs by the gap at
    /// most.
    fn choice(&self, condition: Id, a: Id, b: Id) -> Option<Bound> {
        let (constant, b_bound) = (self.low.formula.constant(a)?, self.get(b)?);
        let (p, q) = self.equal(condition)?;
        let (near, p_bound) = (self.get(q)?, self.get(p)?);
        // `b` at both ends of q's range. It moves no faster than p, so these are its extremes
        // there.
        let ends = [self.limited(b, p, near.lo)?, self.limited(b, p, near.hi)?];
        let gap = ends
            .iter()
            .map(|end| (end - constant).abs())
            .fold(0.0, f64::max);
        let error = |of: &Bound| of.abs + of.rel * of.top();
        // Errors of the value, of both sides of the comparison, and the step between the branches.
        let abs = error(&b_bound) + error(&p_bound) + error(&near) + gap;
        Bound {
            lo: b_bound.lo.min(constant),
            hi: b_bound.hi.max(constant),
            abs,
            rel: 0.0,
        }
        .sane()
    }
    /// Returns the two sides of an equality that `condition` implies.
    fn equal(&self, condition: Id) -> Option<(Id, Id)> {
        match self.low.formula.node(condition) {
            Node::Binary(Binary::Eq, p, q) => Some((*p, *q)),
            Node::Binary(Binary::And, a, b) => self.equal(*a).or_else(|| self.equal(*b)),
            _ => None,
        }
    }
    /// Returns the value of `id` if it is only `p`, cut to limits, and `p` is `at`. Such a value
    /// moves no faster than `p`.
    fn limited(&self, id: Id, p: Id, at: f64) -> Option<f64> {
        if id == p {
            return Some(at);
        }
        match self.low.formula.node(id) {
            Node::Binary(Binary::Min, a, c) => {
                Some(self.limited(*a, p, at)?.min(self.low.formula.constant(*c)?))
            }
            Node::Binary(Binary::Max, a, c) => {
                Some(self.limited(*a, p, at)?.max(self.low.formula.constant(*c)?))
            }
            _ => None,
        }
    }
    /// Bounds the difference of a leaf of x and the same of y.
    fn difference(&self, leaf: impl Fn(Side) -> Node) -> Option<Bound> {
        let find = |side| {
            let wanted = leaf(side);
            let at = self.low.formula.nodes().iter().position(|n| *n == wanted)?;
            self.get(Id(at as u32))
        };
        find(Side::X)?.add(&find(Side::Y)?, -1.0)
    }
    /// Returns whether single precision can say where the truth value `id` is false: of an `and`
    /// one operand suffices.
    pub fn decides(&self, id: Id) -> bool {
        match self.low.formula.node(id) {
            Node::Binary(Binary::And, a, b) => self.decides(*a) || self.decides(*b),
            Node::Binary(Binary::Or, a, b) => self.decides(*a) && self.decides(*b),
            Node::Binary(Binary::Lt | Binary::Le | Binary::Eq, a, b) => self.gap(*a, *b).is_some(),
            _ => false,
        }
    }
    /// Returns whether every number below the truth value `id` is bounded, so that none is NaN.
    pub fn covers(&self, id: Id) -> bool {
        match self.low.formula.node(id) {
            Node::Binary(Binary::And | Binary::Or | Binary::Xor, a, b) => {
                self.covers(*a) && self.covers(*b)
            }
            Node::Unary(Unary::Not, a) => self.covers(*a),
            Node::Binary(_, a, b) => self.get(*a).is_some() && self.get(*b).is_some(),
            _ => false,
        }
    }
    /// Returns the bound of `id`, known to be `own`, where a comparison with `other` is undecided.
    ///
    /// A root has a large error near zero only: with an error e of v, |√(v + e) − √v| ≤ e/√v. A
    /// root below half of `other` is decided anyway, if the root of e is small.
    fn at_tie(&self, id: Id, own: Bound, other: &Bound) -> Bound {
        let Node::Unary(Unary::Sqrt, inner) = self.low.formula.node(id) else {
            return own;
        };
        let Some(inner) = self.get(*inner) else {
            return own;
        };
        let least = other.lo;
        let abs = 2.0 * inner.abs / least + TINY;
        let small = least > 0.0 && own.abs <= least / 8.0 && other.abs <= least / 8.0;
        if small && abs < own.abs {
            return Bound { abs, ..own };
        }
        own
    }
    /// Returns how far the computed difference of two values may be from the exact one where their
    /// comparison is undecided. Near a tie both have the magnitude of the smaller range, so
    /// relative errors are taken there and not at the largest values.
    pub fn gap(&self, a: Id, b: Id) -> Option<f64> {
        let (x, y) = (self.get(a)?, self.get(b)?);
        let (x, y) = (self.at_tie(a, x, &y), self.at_tie(b, y, &x));
        // A tie needs both values in both ranges, so the smaller range limits their magnitude.
        let near = x.top().min(y.top()) * (1.0 + 4.0 * (x.rel + y.rel)) + x.abs + y.abs;
        let band = x.abs + y.abs + (x.rel + y.rel + 4.0 * U) * near;
        Some(band * 1.001 + TINY)
    }
}

/// Returns whether `body` is the square of the difference of the rows, component by component.
pub fn squares_delta(low: &Lowered, body: Id) -> bool {
    let Node::Binary(op, a, b) = low.formula.node(body) else {
        return false;
    };
    let square = (*op == Binary::Mul && a == b)
        || (*op == Binary::Pow && low.formula.constant(*b) == Some(2.0));
    square && *low.formula.node(*a) == Node::Delta
}

/// Returns whether double precision on a device gives the bits of the reference for every value of
/// `low`.
pub fn is_exact(low: &Lowered) -> bool {
    let live = low.formula.live();
    // Powers by multiplication and one root are the reference's own operations; others are
    // functions whose last bit devices round otherwise.
    let exact = |id: Id| match low.formula.node(id) {
        Node::Unary(op, _) => unary_is_exact(*op),
        Node::Binary(Binary::Atan2, ..) => false,
        Node::Binary(Binary::Pow, _, p) => {
            low.formula
                .constant(*p)
                .is_some_and(|p| match Power::for_exponent(p) {
                    Power::Whole(_) | Power::Halves(_) => true,
                    Power::Real(_) | Power::Rare(_) => false,
                })
        }
        _ => true,
    };
    // Hoisted values come from the host, with its bits.
    let on_pair = |id: Id| low.source(id) == Source::Pair || low.formula.deps(id) & DEP_BOUND != 0;
    (0..live.len())
        .map(|at| Id(at as u32))
        .filter(|id| live[id.0 as usize] && on_pair(*id))
        .all(exact)
}

/// Returns whether a device gives the bits of the reference for this function in double precision:
/// correctly rounded operations, and functions whose code is emitted with the kernel.
pub fn unary_is_exact(op: Unary) -> bool {
    use Unary::*;
    matches!(
        op,
        Neg | Not | IsNan | Abs | Sqrt | Exp | Log | Popcount | Floor | Ceil | Round | Sign
    )
}

/// Bounds `op` of a value.
fn unary(op: Unary, a: Bound) -> Option<Bound> {
    match op {
        Unary::Neg => Some(Bound {
            lo: -a.hi,
            hi: -a.lo,
            ..a
        }),
        Unary::Abs => Some(a.magnitude()),
        Unary::Sqrt => a.root(),
        Unary::Exp => a.exponential(),
        _ => None,
    }
}

/// Bounds `op` of two values that may be any in their bounds.
fn binary(op: Binary, a: &Bound, b: &Bound) -> Option<Bound> {
    match op {
        Binary::Add => a.add(b, 1.0),
        Binary::Sub => a.add(b, -1.0),
        Binary::Mul => a.mul(b),
        Binary::Div => a.over(b),
        Binary::Min => Some(a.either(b, f64::min)),
        Binary::Max => Some(a.either(b, f64::max)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::pair::{Formula, Scope, parse};

    #[test]
    fn ranges_of_parts_join() {
        let part = |lo, hi, exact| vec![Bound::held(lo, hi, exact)];
        let joined = joined(&part(0.0, 1.0, true), &part(-2.0, 0.5, false));
        assert_eq!(joined, part(-2.0, 1.0, false));
        assert_eq!(
            super::joined(&part(0.0, 1.0, true), &vec![None]),
            vec![None]
        );
    }

    /// Random rows: the single-precision value stays within the bound of the double-precision one.
    #[test]
    fn the_squared_distance_stays_within_its_bound() {
        let mut formula = Formula::new();
        let scope = Scope {
            dim: Some(3),
            ..Default::default()
        };
        let root = parse(&mut formula, "sum((x - y)^2)", &scope).unwrap();
        formula.roots = vec![root];
        let low = Lowered::new(&formula, 3, false).unwrap();
        let side = vec![Bound::held(-5.0, 5.0, false)];
        let bounds = Bounds::new(&low, [side.clone(), side], None);
        let bound = bounds.get(root).unwrap();
        let mut state = 7u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 * 10.0 - 5.0
        };
        for _ in 0..200_000 {
            let (x, y) = ([draw(), draw(), draw()], [draw(), draw(), draw()]);
            let wide: f64 = (0..3).map(|k| (x[k] - y[k]) * (x[k] - y[k])).sum();
            let mut single = 0f32;
            for k in 0..3 {
                let d = x[k] as f32 - y[k] as f32;
                single += d * d;
            }
            assert!((f64::from(single) - wide).abs() <= bound.abs + bound.rel * wide.abs());
        }
        assert!(bound.abs < 1e-3);
    }
}

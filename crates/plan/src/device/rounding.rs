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

use super::images;
use std::collections::{HashMap, HashSet};
use zipfold_core::PeriodicBox;
use zipfold_core::fold::BLOCK;
use zipfold_core::number::Power;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::source::Source;
use zipfold_core::pair::tree::{Binary, ComponentReduce, DEP_BOUND, Id, Node, Side, Unary};
use zipfold_core::space::periodic_box::{Image, Triclinic};

/// Unit roundoff of single precision, 2⁻²⁴.
pub(super) const U: f64 = 5.960_464_477_539_063e-8;
/// More than underflow, or flushing subnormal numbers to zero, can take away: the smallest normal
/// f32 is 1.2 · 10⁻³⁸.
///
/// OpenCL lets a device flush subnormal numbers, so the model fl(v) = v(1 + δ) fails for them.
/// Every rounding gets this absolute part in addition, which is far below any difference that data
/// have.
pub(super) const TINY: f64 = 2e-38;
/// Values beyond this have no bound: a sum of two could overflow (the largest f32 is 3.4 · 10³⁸).
const LARGE: f64 = 1e37;

/// The range of a value, and how far its single-precision twin is from it at most: `abs +
/// rel·|value|`.
///
/// Two parts are needed. A sum of squares has a small relative error at any size; a difference of
/// near numbers has only an absolute one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Least value.
    pub lo: f64,
    /// Largest value.
    pub hi: f64,
    /// Absolute part of the error.
    pub abs: f64,
    /// Relative part of the error.
    pub rel: f64,
}

impl Bound {
    /// Any number, without an error: for plans that do not know the rows.
    pub(super) const EXACT: Bound = Bound {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
        abs: 0.0,
        rel: 0.0,
    };
    /// Returns the bound of numbers between `lo` and `hi`, each exact in f32 or rounded once.
    ///
    /// Whole numbers, and measurements with up to seven digits that were read as f32, are exact. It
    /// makes the difference between a relative and an absolute bound of x − y.
    pub fn held(lo: f64, hi: f64, exact: bool) -> Option<Self> {
        let b = if exact {
            Bound {
                lo,
                hi,
                abs: 0.0,
                rel: 0.0,
            }
        } else {
            Bound {
                lo,
                hi,
                abs: TINY,
                rel: U,
            }
        };
        b.sane()
    }
    /// Returns the bound if it is good enough to be useful: finite ranges, and an error well below
    /// the value.
    ///
    /// A relative error of a per cent would leave too many values undecided: the filter would cost
    /// more than it saves.
    fn sane(self) -> Option<Self> {
        (self.lo.abs() < LARGE && self.hi.abs() < LARGE && self.abs < LARGE && self.rel < 0.01)
            .then_some(self)
    }
    /// Returns the largest magnitude.
    fn top(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
    /// Adds the error of one rounding: fl(v) = v(1 + δ), |δ| ≤ u.
    ///
    /// The computed operand w differs from v by at most abs + rel·|v|, and rounding it adds u·|w| ≤
    /// u·(|v| + abs + rel·|v|). The two parts of that sum are what is added below.
    fn rounded(self) -> Option<Self> {
        Bound {
            abs: self.abs * (1.0 + U) + TINY,
            rel: self.rel + U * (1.0 + self.rel),
            ..self
        }
        .sane()
    }
    /// Bounds a sum or difference.
    ///
    /// Values of one sign keep their relative errors, since |a| + |b| = |a + b|: the error
    /// rel·|a| + rel·|b| is rel·|a + b|. Otherwise a + b may be near zero while the errors are not,
    /// so relative errors become absolute ones, of the largest magnitude that the range allows.
    fn add(&self, b: &Bound, sign: f64) -> Option<Self> {
        let (blo, bhi) = if sign > 0.0 {
            (b.lo, b.hi)
        } else {
            (-b.hi, -b.lo)
        };
        // Both operands on the same side of zero: nothing cancels.
        let same = (self.lo >= 0.0 && blo >= 0.0) || (self.hi <= 0.0 && bhi <= 0.0);
        let (abs, rel) = if same {
            (self.abs + b.abs, self.rel.max(b.rel))
        } else {
            (
                self.abs + b.abs + self.rel * self.top() + b.rel * b.top(),
                0.0,
            )
        };
        Bound {
            lo: self.lo + blo,
            hi: self.hi + bhi,
            abs,
            rel,
        }
        .rounded()
    }
    /// Bounds a product: (a + Δa)(b + Δb) − ab = aΔb + bΔa + ΔaΔb.
    fn mul(&self, b: &Bound) -> Option<Self> {
        // The range of a product has its ends at products of ends.
        let ends = [
            self.lo * b.lo,
            self.lo * b.hi,
            self.hi * b.lo,
            self.hi * b.hi,
        ];
        let (lo, hi) = ends
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                (l.min(*v), h.max(*v))
            });
        // aΔb + bΔa + ΔaΔb, with the absolute parts of the errors; the relative parts add below.
        let abs = self.top() * b.abs * (1.0 + self.rel)
            + b.top() * self.abs * (1.0 + b.rel)
            + self.abs * b.abs;
        Bound {
            lo,
            hi,
            abs,
            rel: self.rel + b.rel + self.rel * b.rel,
        }
        .rounded()
    }
    /// Bounds a quotient by a value that is never near zero, as a product with its reciprocal.
    ///
    /// With a relative error e of the divisor, 1/(b(1 − e)) = (1/b)(1 + e/(1 − e)). OpenCL allows
    /// 2.5 ulps for a division, so more than one rounding is charged.
    fn over(&self, b: &Bound) -> Option<Self> {
        // The divisor's distance from zero decides how much its error is magnified.
        let least = if b.lo > 0.0 { b.lo } else { -b.hi };
        let error = b.abs / least + b.rel;
        if least <= TINY || error > 0.01 {
            return None;
        }
        // Devices may round a quotient less well than to nearest.
        let turned = Bound {
            lo: 1.0 / b.hi,
            hi: 1.0 / b.lo,
            abs: 0.0,
            rel: error / (1.0 - error) + 4.0 * U,
        };
        self.mul(&turned)
    }
    /// Bounds a square: a product whose range does not go below zero.
    ///
    /// The general product would treat the operands as independent and give [−1, 1] for a value in
    /// [−1, 1]; a sum of such squares would then lose its relative bound, and a root of it any
    /// bound.
    fn square(&self) -> Option<Self> {
        let mut s = self.mul(self)?;
        s.lo = if self.lo <= 0.0 && self.hi >= 0.0 {
            0.0
        } else {
            s.lo.max(0.0)
        };
        Some(s)
    }
    /// Bounds |v|: the errors stay, since | |w| − |v| | ≤ |w − v|.
    fn magnitude(&self) -> Self {
        let lo = if self.lo <= 0.0 && self.hi >= 0.0 {
            0.0
        } else {
            self.lo.abs().min(self.hi.abs())
        };
        Bound {
            lo,
            hi: self.top(),
            ..*self
        }
    }
    /// Bounds a square root.
    ///
    /// |√(v + Δ) − √v| ≤ √|Δ| for any v ≥ 0, with equality at v = 0. A relative error is halved by
    /// a root; it is kept whole, which is simpler and safe.
    fn root(&self) -> Option<Self> {
        if self.lo < 0.0 {
            return None;
        }
        // The worst case is a value near zero, where the root of the error is the error of the
        // root.
        let abs = self.abs.sqrt();
        Bound {
            lo: self.lo.sqrt(),
            hi: self.hi.sqrt(),
            abs,
            rel: self.rel + 2.0 * U,
        }
        .rounded()
    }
    /// Bounds an exponential: the absolute error δ of the argument becomes a relative one, e^(a +
    /// δ) = e^a(1 + δ + δ²/2 + …).
    ///
    /// With δ ≤ 10⁻³ the series beyond the first term is below 0.1 % of it, which the factor 1.01
    /// covers. The function itself errs by roundings of the size of its argument.
    fn exponential(&self) -> Option<Self> {
        // e^88 overflows an f32, and an error of more than 10⁻³ makes the series below useless.
        if self.hi > 80.0 || self.abs > 1e-3 {
            return None;
        }
        // e^(a + δ) = e^a(1 + δ + …), and a few roundings of the argument's size in the function
        // itself.
        let delta = self.abs + self.rel * self.top() + 2.0 * U * self.top();
        if delta > 1e-3 {
            return None;
        }
        Bound {
            lo: self.lo.exp(),
            hi: self.hi.exp(),
            abs: TINY,
            rel: 1.01 * delta + 4.0 * U,
        }
        .rounded()
    }
    /// Bounds a minimum or maximum.
    ///
    /// Single precision may pick the other operand, but then the two are nearer to each other than
    /// their errors, so the result is off by no more than the larger error of both.
    fn either(&self, b: &Bound, pick: impl Fn(f64, f64) -> f64) -> Self {
        let (lo, hi) = (pick(self.lo, b.lo), pick(self.hi, b.hi));
        Bound {
            lo,
            hi,
            abs: self.abs.max(b.abs),
            rel: self.rel.max(b.rel),
        }
        .shifted(self.top().max(b.top()))
    }
    /// Bounds values of which each has one bound or the other.
    fn wider(&self, b: &Bound) -> Self {
        Bound {
            lo: self.lo.min(b.lo),
            hi: self.hi.max(b.hi),
            abs: self.abs.max(b.abs),
            rel: self.rel.max(b.rel),
        }
    }
    /// Turns the relative part into an absolute one, for values of up to `top`.
    fn shifted(self, top: f64) -> Self {
        Bound {
            abs: self.abs + self.rel * top,
            rel: 0.0,
            ..self
        }
    }
    /// Bounds a sum of `terms` such values in any order: about n·u of the sum of magnitudes
    /// (Higham's γₙ).
    ///
    /// "In any order" matters: a device adds by lanes and then across them, in an order that
    /// differs between kernels. Terms that are never negative keep a relative bound, since then the
    /// sum of magnitudes is the sum.
    fn sum(&self, terms: usize) -> Option<Self> {
        let d = terms as f64;
        // Any order of additions errs by at most (d − 1)·u of the sum of magnitudes, to first
        // order.
        let grow = d * U * 1.01;
        if grow > 0.001 {
            return None;
        }
        let (lo, hi) = (self.lo * d, self.hi * d);
        // Without cancellation the sum of magnitudes is the sum, and the error is relative to it.
        let b = if self.lo >= 0.0 {
            Bound {
                lo,
                hi,
                abs: d * self.abs * (1.0 + grow) + d * TINY,
                rel: self.rel + grow * (1.0 + self.rel),
            }
        } else {
            Bound {
                lo,
                hi,
                abs: d * (self.abs + self.rel * self.top()) + grow * d * self.top() + d * TINY,
                rel: 0.0,
            }
        };
        b.sane()
    }
}

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
        match self.low.formula.node(id) {
            Node::Delta => {
                let whole = 0..self.low.dim.max(1);
                let parts = whole.map(|k| self.image(k));
                parts.reduce(|a, b| Some(a?.wider(&b?)))?
            }
            Node::DeltaAt(k) => self.image(*k as usize),
            Node::Unary(Unary::Neg, a) => unary(Unary::Neg, self.either_sign(*a)?),
            Node::Binary(op @ (Binary::Mul | Binary::Div), a, b) => {
                let (a, b) = (self.either_sign(*a)?, self.either_sign(*b)?);
                let both = |b: Bound| Bound {
                    lo: -b.top(),
                    hi: b.top(),
                    ..b
                };
                binary(*op, &a, &b).map(both)
            }
            _ => None,
        }
    }
    /// Bounds component `k` of the difference by the minimum image, in a box with right angles.
    fn image(&self, k: usize) -> Option<Bound> {
        let difference = self.raw_difference()?;
        match self.periodic_box?.image() {
            Image::Orthorhombic(o) => match o.lengths().get(k) {
                Some(length) => images::component(difference, *length),
                None => Some(difference),
            },
            Image::Triclinic(_) => None,
        }
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
    let is_delta = |id: Id| matches!(low.formula.node(id), Node::Delta);
    match low.formula.node(body) {
        Node::Binary(Binary::Mul, a, b) => is_delta(*a) && a == b,
        Node::Binary(Binary::Pow, a, p) => is_delta(*a) && low.formula.constant(*p) == Some(2.0),
        _ => false,
    }
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

//! Bounds of a formula over boxes of rows.
//!
//! A box holds the least and the largest value of each *hoisted* number over a group of rows (what
//! [`Lowered`] computes once per row). For one box of x and one of y, [`Bounds`] gives an interval
//! for every root that holds the reference value of every pair of their rows. Pruning asks it for
//! many pairs of boxes, so it answers [`LANES`] of them in one call.
//!
//! Boxes are over hoisted values and not over coordinates, because then anything that depends on
//! one row alone is bounded by its values in the box, however complicated it is: a norm, a rank, a
//! mass. Only what depends on both rows goes through interval arithmetic.
//!
//! ```text
//! formula    sqrt(sum((x - y)^2)), two components
//! box of x   [0, 1] × [0, 1]            box of y   [3, 4] × [0, 1]
//! x − y      [−4, −2] × [−1, 1]
//! squares    [4, 16] × [0, 1]           sum [4, 17]      root [2, 4.12…]
//! ```
//!
//! The module bounds values and decides nothing. The rules that turn an interval into "leave out"
//! are in `cpu/src/pairs/prune/decision.rs`.

mod images;
mod spans;

use super::interval::{self, Span};
use super::lower::Lowered;
use super::source::Source;
use super::tree::{
    Binary, ComponentReduce, DEP_BOUND, DEP_X, DEP_Y, Formula, Id, Node, Shape, Side, Unary,
};
use crate::space::PeriodicBox;
use crate::space::periodic_box::{Image, Orthorhombic};
use images::Images;
pub use spans::{LANES, Spans};

/// A pair node to evaluate, in the order of nodes.
///
/// Slots and widths are looked up once, since a pruned run evaluates the steps for millions of
/// boxes.
#[derive(Clone, Debug)]
struct BoundStep {
    /// The node.
    id: Id,
    /// Where its first component goes.
    slot: usize,
    /// How many components it has: `dim` for a vector, else one.
    width: usize,
}

/// Evaluates the roots of a formula over boxes. It owns its buffers, so a thread makes one and
/// reuses it for all its boxes.
///
/// All intervals live in one array of slots, one slot per scalar and per component of a vector. The
/// slots of constants are filled once, those of hoisted values by [`Bounds::set_one`] and
/// [`Bounds::set_lanes`], the others by [`Bounds::run`].
#[derive(Clone, Debug)]
pub struct Bounds<'l> {
    low: &'l Lowered,
    /// How differences are folded back into the box, if there is one.
    image: Option<&'l Image>,
    /// Candidate translations, in a triclinic box only.
    images: Option<Images>,
    steps: Vec<BoundStep>,
    /// First slot by node; [`NONE`] for nodes that are not evaluated.
    slot: Vec<usize>,
    /// First slot of |δ| by node, of periodic differences. The hull of δ in a box is often [−L/2,
    /// L/2], whose magnitudes say nothing, while |δ| itself has a useful lower end; see [`wrap`].
    magnitude: Vec<usize>,
    slots: Vec<Spans>,
    /// The slots of the hoisted values by side, in the order of [`Bounds::coordinates`].
    inputs: [Vec<usize>; 2],
    roots: Vec<Spans>,
}

/// Marks a node without a slot.
const NONE: usize = usize::MAX;

impl<'l> Bounds<'l> {
    /// Returns bounds of the roots of `low`, in the box `periodic_box` if there is one. Returns
    /// `None` if a root is not a single number: folds of vectors are not pruned.
    pub fn new(low: &'l Lowered, periodic_box: Option<&'l PeriodicBox>) -> Option<Self> {
        let formula = &low.formula;
        if formula
            .roots
            .iter()
            .any(|r| formula.ty(*r).shape != Shape::Scalar)
        {
            return None;
        }
        // Every node has an entry, also those without a slot: ids index these lists.
        let n = formula.nodes().len();
        let mut out = Bounds {
            low,
            image: if low.periodic {
                periodic_box.map(PeriodicBox::image)
            } else {
                None
            },
            images: None,
            steps: vec![],
            slot: vec![NONE; n],
            magnitude: vec![NONE; n],
            slots: vec![],
            inputs: [vec![], vec![]],
            roots: vec![Spans::splat(Span::UNKNOWN); formula.roots.len()],
        };
        // Hoisted values first, then constants, then pair nodes in order: an operand has its slot
        // before its user.
        out.place_hoisted();
        out.place_constants();
        out.place_pairs();
        if let (Some(Image::Triclinic(o)), Some(periodic_box)) = (out.image, periodic_box) {
            out.images = Some(Images::new(o, periodic_box.reach()));
        }
        Some(out)
    }
    /// Counts the hoisted values of a row of `side`: those of its vectors, component by component,
    /// then its scalars. This is the order of a box's numbers everywhere.
    pub fn coordinates(low: &Lowered, side: Side) -> usize {
        low.row_vectors[side as usize].len() * low.dim + low.row_scalars[side as usize].len()
    }
    /// Counts the slots of a node.
    fn width(&self, id: Id) -> usize {
        if self.low.formula.ty(id).shape == Shape::Vector {
            self.low.dim
        } else {
            1
        }
    }
    /// Reserves `width` slots and returns the first.
    ///
    /// Unknown until they are written: a slot that was forgotten settles nothing.
    fn room(&mut self, width: usize) -> usize {
        let at = self.slots.len();
        self.slots.resize(at + width, Spans::splat(Span::UNKNOWN));
        at
    }
    /// Reserves slots for hoisted values, in the order of [`Bounds::coordinates`].
    ///
    /// Callers set boxes by this order, without names of nodes.
    fn place_hoisted(&mut self) {
        for side in 0..2 {
            let ids: Vec<Id> = self.low.row_vectors[side]
                .iter()
                .chain(&self.low.row_scalars[side])
                .copied()
                .collect();
            for id in ids {
                let width = self.width(id);
                let at = self.room(width);
                self.slot[id.0 as usize] = at;
                self.inputs[side].extend(at..at + width);
            }
        }
    }
    /// Reserves and fills slots for what depends on no row. A constant NaN becomes unknown in
    /// `Span::new`.
    fn place_constants(&mut self) {
        for at in 0..self.slot.len() {
            let values = match self.low.source(Id(at as u32)) {
                Source::Const(v) => vec![v],
                Source::Vector(n) => self.low.constants[n].clone(),
                _ => continue,
            };
            let first = self.room(values.len());
            self.slot[at] = first;
            for (slot, v) in self.slots[first..].iter_mut().zip(values) {
                *slot = Spans::splat(Span::new(v, v));
            }
        }
    }
    /// Reserves slots for pair nodes and lists them as steps. Nodes inside the operator of a
    /// `reduce(|a, b| …)` are left out: [`bound`] walks them with the operands at hand.
    fn place_pairs(&mut self) {
        let formula: &Formula = &self.low.formula;
        let live = formula.live();
        for (at, _) in live.iter().enumerate().filter(|(_, live)| **live) {
            let id = Id(at as u32);
            let deps = formula.deps(id);
            // Nodes of one row lie below a hoisted node, whose slot has their result.
            if deps & DEP_BOUND != 0 || deps & (DEP_X | DEP_Y) != DEP_X | DEP_Y {
                continue;
            }
            let width = self.width(id);
            self.slot[at] = self.room(width);
            if self.image.is_some() && matches!(formula.node(id), Node::Delta | Node::DeltaAt(_)) {
                self.magnitude[at] = self.room(width);
            }
            self.steps.push(BoundStep {
                id,
                slot: self.slot[at],
                width,
            });
        }
    }
    /// Sets one box of `side` for all lanes: hoisted value c lies between `lo[c·stride]` and
    /// `hi[c·stride]`, both NaN if a row of the box has a NaN there.
    ///
    /// A walk holds one box of x against several of y, so this side is set once for many runs.
    pub fn set_one(&mut self, side: Side, lo: &[f64], hi: &[f64], stride: usize) {
        for (c, slot) in self.inputs[side as usize].iter().enumerate() {
            self.slots[*slot] = Spans::splat(Span::new(lo[c * stride], hi[c * stride]));
        }
    }
    /// Sets one box of `side` for each lane: hoisted value c of lane l lies between `lo[c·stride +
    /// l]` and `hi[c·stride + l]`. Boxes are stored number by number, so that 16 of them are one
    /// read.
    ///
    /// The list must reach [`LANES`] boxes from the first on; the caller ignores lanes beyond the
    /// last box.
    pub fn set_lanes(&mut self, side: Side, lo: &[f64], hi: &[f64], stride: usize) {
        for (c, slot) in self.inputs[side as usize].iter().enumerate() {
            let (lo, hi) = (&lo[c * stride..][..LANES], &hi[c * stride..][..LANES]);
            self.slots[*slot] = lanes(|l| Span::new(lo[l], hi[l]));
        }
    }
    /// Bounds every root; then read [`Self::root`].
    ///
    /// In a triclinic box the formula is evaluated once per candidate translation, and the root is
    /// the hull over them. A hull of the differences before the evaluation would be far wider.
    pub fn run(&mut self) {
        match self.images.take() {
            // One round suffices without a triangular lattice of candidates.
            None => {
                self.evaluate(None);
                self.collect(true);
            }
            // Taken out while the evaluation borrows `self`.
            Some(mut images) => {
                let found = self.triclinic(&mut images);
                for round in 0..found {
                    self.evaluate(Some((&images, round)));
                    self.collect(round == 0);
                }
                self.images = Some(images);
            }
        }
    }
    /// Returns the bounds of root `at`, by lane.
    pub fn root(&self, at: usize) -> &Spans {
        &self.roots[at]
    }
    /// Stores the roots; after the first round, widens them by those of another translation.
    fn collect(&mut self, first: bool) {
        for (root, out) in self.low.formula.roots.iter().zip(&mut self.roots) {
            let now = &self.slots[self.slot[root.0 as usize]];
            if first {
                *out = *now;
                continue;
            }
            for l in 0..LANES {
                let hull = out.lane(l).hull(now.lane(l));
                out.set(l, hull);
            }
        }
    }
    /// Finds the translations that the difference of the boxes may need, by lane, and returns the
    /// number of rounds.
    fn triclinic(&self, images: &mut Images) -> usize {
        // The slots of the raw row: in a box it is always hoisted.
        let raw = |side: Side| {
            let at = self.low.raw_vector(side as usize).unwrap_or(0) * self.low.dim;
            &self.inputs[side as usize][at..at + self.low.dim]
        };
        let (x, y) = (raw(Side::X), raw(Side::Y));
        // The same subtraction as for a plain difference, so the middle of the interval is that of
        // real differences.
        images.find(|lane, k| {
            interval::binary(
                Binary::Sub,
                self.slots[x[k]].lane(lane),
                self.slots[y[k]].lane(lane),
            )
        })
    }
    /// Evaluates all pair nodes, operands first. `images` names the translation in a triclinic box.
    fn evaluate(&mut self, images: Option<(&Images, usize)>) {
        for at in 0..self.steps.len() {
            let step = self.steps[at].clone();
            for k in 0..step.width {
                let out = self.component(step.id, k, images);
                self.slots[step.slot + k] = out;
            }
        }
    }
    /// Returns operand `id` at component `k`. A single number serves every component.
    #[inline(always)]
    fn operand(&self, id: Id, k: usize) -> &Spans {
        let vector = self.low.formula.ty(id).shape == Shape::Vector;
        &self.slots[self.slot[id.0 as usize] + if vector { k } else { 0 }]
    }
    /// Returns the magnitudes of `id` at component `k` if it is a periodic difference. They are
    /// tighter than the magnitudes of its hull.
    fn magnitudes(&self, id: Id, k: usize) -> Option<&Spans> {
        let at = self.magnitude[id.0 as usize];
        let vector = self.low.formula.ty(id).shape == Shape::Vector;
        (at != NONE).then(|| &self.slots[at + if vector { k } else { 0 }])
    }
    /// Evaluates component `k` of a node for all lanes.
    fn component(&mut self, id: Id, k: usize, images: Option<(&Images, usize)>) -> Spans {
        let low = self.low;
        match low.formula.node(id) {
            Node::Delta => self.difference(id, k, k, images),
            Node::DeltaAt(k) => self.difference(id, 0, *k as usize, images),
            Node::Unary(op, a) => self.unary(*op, *a, k),
            Node::Binary(op, a, b) => self.binary(*op, *a, *b, k),
            Node::Select(c, a, b) => {
                let (c, a, b) = (
                    self.operand(*c, k),
                    self.operand(*a, k),
                    self.operand(*b, k),
                );
                lanes(|l| interval::select(c.lane(l), a.lane(l), b.lane(l)))
            }
            Node::Reduce(op, body) => self.reduce(*op, *body),
            Node::UserReduce { op, init, body } => self.user_reduce(*op, *init, *body),
            // Leaves have slots of their own. Unknown is right for any node that may be added.
            _ => Spans::splat(Span::UNKNOWN),
        }
    }
    /// Evaluates a function of one operand. The common operations are matched outside of the loop
    /// over lanes, so that the compiler makes a vector loop of each.
    fn unary(&self, op: Unary, a: Id, k: usize) -> Spans {
        // |δ| is bounded better than the magnitude of the bounds of δ.
        if let (Unary::Abs, Some(m)) = (op, self.magnitudes(a, k)) {
            return *m;
        }
        let a = self.operand(a, k);
        match op {
            Unary::Abs => lanes(|l| a.lane(l).abs()),
            Unary::Sqrt => lanes(|l| interval::unary(Unary::Sqrt, a.lane(l))),
            _ => lanes(|l| interval::unary(op, a.lane(l))),
        }
    }
    /// Evaluates a function of two operands. A square or an even power of a periodic difference
    /// reads its magnitudes, which is where pruning in a box gets its lower ends from.
    fn binary(&self, op: Binary, a: Id, b: Id, k: usize) -> Spans {
        // The same node twice: interval products would forget that both factors are equal.
        let squares = op == Binary::Mul && a == b;
        let even =
            || op == Binary::Pow && self.low.formula.constant(b).is_some_and(|p| p % 2.0 == 0.0);
        if squares || even() {
            let base = self.magnitudes(a, k).unwrap_or(self.operand(a, k));
            if squares {
                return lanes(|l| base.lane(l).square());
            }
            let b = self.operand(b, k);
            return lanes(|l| interval::binary(Binary::Pow, base.lane(l), b.lane(l)));
        }
        let (a, b) = (self.operand(a, k), self.operand(b, k));
        // The common operations apart, as in `unary`.
        match op {
            Binary::Add => lanes(|l| interval::binary(Binary::Add, a.lane(l), b.lane(l))),
            Binary::Sub => lanes(|l| interval::binary(Binary::Sub, a.lane(l), b.lane(l))),
            Binary::Mul => lanes(|l| interval::binary(Binary::Mul, a.lane(l), b.lane(l))),
            Binary::Lt => lanes(|l| interval::binary(Binary::Lt, a.lane(l), b.lane(l))),
            Binary::Le => lanes(|l| interval::binary(Binary::Le, a.lane(l), b.lane(l))),
            _ => lanes(|l| interval::binary(op, a.lane(l), b.lane(l))),
        }
    }
    /// Folds the components in ascending order, as the reference does, so that rounding is the same
    /// at the ends.
    fn reduce(&self, op: ComponentReduce, body: Id) -> Spans {
        let mut acc = Spans::splat(Span::point(op.identity()));
        for k in 0..self.low.dim {
            let v = self.operand(body, k);
            acc = match op {
                ComponentReduce::Sum => {
                    lanes(|l| interval::binary(Binary::Add, acc.lane(l), v.lane(l)))
                }
                other => lanes(|l| interval::binary(other.operator(), acc.lane(l), v.lane(l))),
            };
        }
        acc
    }
    /// Folds the components with the operator of the formula, from its first value or the first
    /// component.
    fn user_reduce(&self, op: Id, init: Option<Id>, body: Id) -> Spans {
        lanes(|l| {
            let mut values = (0..self.low.dim).map(|k| self.operand(body, k).lane(l));
            let first = init
                .map(|i| self.operand(i, 0).lane(l))
                .or_else(|| values.next());
            let fold = |first| values.fold(first, |acc, v| bound(&self.low.formula, op, acc, v));
            // Neither a first value nor a component: the reference is NaN.
            first.map_or(Span::UNKNOWN, fold)
        })
    }
    /// Computes component `c` of `x − y`, of the nearest image if there is a box, and stores its
    /// magnitudes in their own slot.
    fn difference(
        &mut self,
        id: Id,
        k: usize,
        c: usize,
        images: Option<(&Images, usize)>,
    ) -> Spans {
        // Without a box a single component is its own hoisted number; in a box it comes from the
        // whole row.
        let side = |s: Side| match (self.low.formula.node(id), self.image) {
            (Node::DeltaAt(_), None) => self.hoisted(&Node::At(s, c as u32), 0),
            _ => self.hoisted(&Node::Row(s), c),
        };
        let (Some(x), Some(y)) = (side(Side::X), side(Side::Y)) else {
            return Spans::splat(Span::UNKNOWN);
        };
        let (x, y) = (&self.slots[x], &self.slots[y]);
        let plain = lanes(|l| interval::binary(Binary::Sub, x.lane(l), y.lane(l)));
        // By kind of box: none, right angles (each component by itself), triclinic (the current
        // translation).
        let (out, magnitudes) = match (self.image, images) {
            (None, _) => return plain,
            (Some(Image::Orthorhombic(o)), _) => match o.lengths().get(c) {
                Some(length) => wrapped(&plain, *length),
                None => (plain, lanes(|l| plain.lane(l).abs())),
            },
            (Some(Image::Triclinic(_)), Some((images, round))) => {
                let image = lanes(|l| images.component(l, round, c));
                (image, lanes(|l| image.lane(l).abs()))
            }
            _ => return Spans::splat(Span::UNKNOWN),
        };
        let at = self.magnitude[id.0 as usize];
        // Written next to the difference itself, since both come from one fold.
        if at != NONE {
            self.slots[at + k] = magnitudes;
        }
        out
    }
    /// Finds the slot of component `k` of a hoisted node by its content; a difference has no
    /// operands that could name it.
    fn hoisted(&self, node: &Node, k: usize) -> Option<usize> {
        let id = self.low.formula.nodes().iter().position(|n| n == node)?;
        (self.slot[id] != NONE).then(|| self.slot[id] + k)
    }
}

/// Evaluates `f` for every lane. The two arrays are written apart, so that the loop becomes vector
/// code.
#[inline(always)]
fn lanes(f: impl Fn(usize) -> Span) -> Spans {
    let mut out = Spans {
        lo: [0.0; LANES],
        hi: [0.0; LANES],
    };
    for l in 0..LANES {
        let s = f(l);
        out.lo[l] = s.lo;
        out.hi[l] = s.hi;
    }
    out
}

/// Folds differences back into a period `length`, by lane: returns the images and their magnitudes.
fn wrapped(d: &Spans, length: f64) -> (Spans, Spans) {
    let mut out = (*d, *d);
    for l in 0..LANES {
        let (hull, magnitude) = wrap(d.lane(l), length);
        out.0.set(l, hull);
        out.1.set(l, magnitude);
    }
    out
}

/// Bounds d − L·rint(d / L) and its magnitude over an interval.
///
/// The image is a sawtooth: it rises with d and falls by L at L/2, 3L/2, …
///
/// ```text
///  L/2   /|   /|   /      no fall inside d:   the ends are the extremes
///       / |  / |  /       one fall inside:    values are above the first end or below the last,
///  0   /  | /  | /                            so the smaller distance of these from 0 is a bound
///     /   |/   |/         more:               anything from 0 to L/2
/// ```
fn wrap(d: Span, length: f64) -> (Span, Span) {
    // A row at infinity has a NaN for its image.
    if !(d.lo.is_finite() && d.hi.is_finite()) {
        return (Span::UNKNOWN, Span::UNKNOWN);
    }
    let (turns, ends) = if d.lo.abs() <= length && d.hi.abs() <= length {
        // As in [`Orthorhombic::nearest_within`]: the quotient rounds above ½ exactly when d > L/2.
        let turn = |v: f64| f64::from(i8::from(v > 0.5 * length) - i8::from(v < -0.5 * length));
        (
            [d.lo, d.hi].map(turn),
            [d.lo, d.hi].map(|v| Orthorhombic::nearest_within(v, length)),
        )
    } else {
        let turn = |v: f64| (v / length).round_ties_even();
        (
            [d.lo, d.hi].map(turn),
            [d.lo, d.hi].map(|v| Orthorhombic::nearest(v, length)),
        )
    };
    // Rounded quotients rise with d, so that between equal ends all multiples of L are the same,
    // and differences rise.
    if turns[0] == turns[1] {
        let hull = Span::new(ends[0], ends[1]);
        return (hull, hull.abs());
    }
    // |d − L·rint(d / L)| exceeds L/2 by the rounding of the quotient and of the product at most.
    let most = 0.5 * length + 8.0 * f64::EPSILON * (d.lo.abs() + d.hi.abs() + length);
    // A fall inside the interval means that images near +L/2 and near −L/2 both occur.
    let hull = Span::new(-most, most);
    let once = turns[0] + 1.0 == turns[1];
    // Up to one fall, values are either at least the first end or at most the second.
    let least = if once {
        ends[0].min(-ends[1]).max(0.0)
    } else {
        0.0
    };
    (hull, Span::new(least, most))
}

/// Applies the operator `op` of a user reduction to two intervals, by walking its nodes.
///
/// Recursion is bounded, because the nesting of the formula is.
fn bound(formula: &Formula, op: Id, acc: Span, next: Span) -> Span {
    let go = |id: Id| bound(formula, id, acc, next);
    match formula.node(op) {
        Node::Bound(false) => acc,
        Node::Bound(true) => next,
        Node::Const(bits) => Span::new(f64::from_bits(*bits), f64::from_bits(*bits)),
        Node::Unary(f, a) => interval::unary(*f, go(*a)),
        Node::Binary(Binary::Mul, a, b) if a == b => go(*a).square(),
        Node::Binary(f, a, b) => interval::binary(*f, go(*a), go(*b)),
        Node::Select(c, a, b) => interval::select(go(*c), go(*a), go(*b)),
        _ => Span::UNKNOWN,
    }
}

/// Writes the hoisted values of the loaded row to `out`, in the order of [`Bounds::coordinates`].
///
/// Boxes and kernels index hoisted values by this order, so it is defined once, here.
pub fn hoisted_into(
    hoister: &super::lower::Hoister<'_>,
    low: &Lowered,
    side: Side,
    out: &mut Vec<f64>,
) {
    out.clear();
    (0..low.row_vectors[side as usize].len())
        .for_each(|s| out.extend_from_slice(hoister.stream(s)));
    out.extend((0..low.row_scalars[side as usize].len()).map(|a| hoister.attr(a)));
}

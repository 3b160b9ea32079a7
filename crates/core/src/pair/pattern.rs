//! Recognises the patterns of formulas that planner and backends treat specially: a norm of
//! differences, and a threshold on a value.
//!
//! Recognition happens here once, on the lowered formula, so that all backends agree on what a
//! question is. `plan` decides from the pattern which strategy fits. A pattern says what the
//! formula *is*; it proves no bound and picks no kernel.
//!
//! ```text
//! sqrt((x.a - y.a)^2 + (x.b - y.b)^2) < 3
//!   threshold: (value under the root, 9)       the limit on the square, exact to the bit
//!   norm:      Squares, terms [a, b]           in the order in which they are added
//! ```

use super::lower::{Lowered, Source};
use super::tree::{Binary, Id, Node, Reduce, Shape, Side, Unary};
use crate::space::periodic_box::{Image, PeriodicBox};

/// How the differences of coordinates make a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Σ d².
    Squares,
    /// Σ |d|.
    Magnitudes,
    /// max |d|.
    Largest,
}

/// One difference: a hoisted number of x less one of y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The places of the two numbers in the order of [`super::bounds::Bounds::coordinates`].
    pub coordinates: [usize; 2],
    /// The edge of the box along this term, if the difference is that of the nearest image.
    pub period: Option<f64>,
}

/// Recognises the patterns of a lowered formula in a box.
#[derive(Clone, Copy, Debug)]
pub struct Patterns<'j> {
    low: &'j Lowered,
    cell: Option<&'j PeriodicBox>,
}

impl<'j> Patterns<'j> {
    /// Returns the patterns of `low`, whose differences are minimum images in `cell` if there is
    /// one.
    pub fn new(low: &'j Lowered, cell: Option<&'j PeriodicBox>) -> Self {
        Patterns { low, cell }
    }
    fn node(&self, id: Id) -> &Node {
        self.low.formula.node(id)
    }
    /// Returns the value and its largest accepted number, if the predicate `id` is `v < c`, `v ≤ c`
    /// or one of these for `sqrt(v)`.
    ///
    /// The limit is a number of the value itself, found by trying neighbouring f64, so that `v <=
    /// limit` decides every v exactly as the predicate does. `v < 1` becomes `v ≤ 1 − 2⁻⁵³`.
    pub fn threshold(&self, id: Id) -> Option<(Id, f64)> {
        let Node::Binary(op @ (Binary::Lt | Binary::Le), a, b) = self.node(id) else {
            return None;
        };
        let Source::Const(limit) = self.low.source(*b) else {
            return None;
        };
        // The predicate as a function of the value, with the rounding of the comparison itself.
        let holds = |v: f64| {
            if *op == Binary::Lt {
                v < limit
            } else {
                v <= limit
            }
        };
        match self.node(*a) {
            // √ rises, so the values under the root that pass are all up to some number.
            Node::Unary(Unary::Sqrt, inner) => {
                Some((*inner, last(limit * limit, |v| holds(v.sqrt()))))
            }
            _ => Some((*a, last(limit, holds))),
        }
    }
    /// Returns the norm and its terms if `id` is a norm of differences. The terms are in the order
    /// of addition, so that a kernel that adds them in this order has the bits of the reference.
    ///
    /// Both spellings match: a reduction over components (`sum((x - y)^2)`) and a chain of single
    /// terms (`(x.a - y.a)^2 + (x.b - y.b)^2`). A single square or magnitude is a norm of one term.
    pub fn norm(&self, id: Id) -> Option<(Norm, Vec<Term>)> {
        match self.node(id) {
            Node::Reduce(op, body) => {
                let (norm, difference) = self.part(*body)?;
                // A sum of squares or magnitudes, or the largest magnitude; the largest square
                // would be another norm.
                let fits = match op {
                    Reduce::Sum => true,
                    Reduce::Max => norm == Norm::Magnitudes,
                    _ => false,
                };
                let vector = self.low.formula.ty(*body).shape == Shape::Vector;
                let terms = (0..self.low.dim)
                    .map(|k| self.difference(difference, k))
                    .collect::<Option<_>>()?;
                let norm = if *op == Reduce::Max {
                    Norm::Largest
                } else {
                    norm
                };
                (fits && vector).then_some((norm, terms))
            }
            Node::Binary(op @ (Binary::Add | Binary::Max), a, b) if self.part(id).is_none() => {
                self.chain(*op, *a, *b)
            }
            _ => {
                let (norm, difference) = self.part(id)?;
                Some((norm, vec![self.difference(difference, 0)?]))
            }
        }
    }
    /// Recognises a chain ((t₁ + t₂) + t₃) + … or the same with `max`. One operand must be a single
    /// term, and the other the chain so far. The order of the two operands does not matter, since
    /// rounded addition commutes; the grouping does matter, so `(a + b) + (c + d)` is none.
    fn chain(&self, op: Binary, a: Id, b: Id) -> Option<(Norm, Vec<Term>)> {
        // The single term, and the rest of the chain.
        let (many, one) = if self.part(b).is_some() {
            (a, b)
        } else {
            (b, a)
        };
        let (kind, last) = self.part(one)?;
        let last = self.difference(last, 0)?;
        // All terms must be of one kind: |a| + b² is none.
        let wanted = if op == Binary::Max {
            Norm::Largest
        } else {
            kind
        };
        let (norm, mut terms) = match self.node(many) {
            Node::Binary(next @ (Binary::Add | Binary::Max), a, b) if self.part(many).is_none() => {
                (next == &op).then(|| self.chain(op, *a, *b))??
            }
            _ => {
                let (kind, first) = self.part(many)?;
                (
                    if op == Binary::Max {
                        Norm::Largest
                    } else {
                        kind
                    },
                    vec![self.difference(first, 0)?],
                )
            }
        };
        terms.push(last);
        (norm == wanted && (op == Binary::Add || kind == Norm::Magnitudes)).then_some((norm, terms))
    }
    /// Returns the difference whose square or magnitude `id` is.
    fn part(&self, id: Id) -> Option<(Norm, Id)> {
        match self.node(id) {
            Node::Unary(Unary::Abs, a) => Some((Norm::Magnitudes, *a)),
            Node::Binary(Binary::Mul, a, b) if a == b => Some((Norm::Squares, *a)),
            _ => None,
        }
    }
    /// Returns component `k` of a difference of hoisted values, in either direction: squares and
    /// magnitudes ignore the sign.
    fn difference(&self, id: Id, k: usize) -> Option<Term> {
        match self.node(id) {
            Node::Delta if self.low.periodic => self.image(k),
            Node::DeltaAt(c) if self.low.periodic => self.image(*c as usize),
            Node::Delta => self.sides(
                self.find(Node::Row(Side::X))?,
                self.find(Node::Row(Side::Y))?,
                k,
            ),
            Node::DeltaAt(c) => self.sides(
                self.find(Node::At(Side::X, *c))?,
                self.find(Node::At(Side::Y, *c))?,
                0,
            ),
            Node::Binary(Binary::Sub, a, b) => {
                self.sides(*a, *b, k).or_else(|| self.sides(*b, *a, k))
            }
            _ => None,
        }
    }
    /// Finds a node by its content: a difference names no operands.
    fn find(&self, node: Node) -> Option<Id> {
        self.low
            .formula
            .nodes()
            .iter()
            .position(|n| *n == node)
            .map(|at| Id(at as u32))
    }
    /// Returns the term for hoisted nodes `x` and `y`, if they belong to these sides.
    fn sides(&self, x: Id, y: Id, k: usize) -> Option<Term> {
        let place = |side: Side, id: Id| match self.low.source(id) {
            Source::Stream(s, n) if s == side => Some(n * self.low.dim + k),
            Source::Attr(s, n) if s == side => {
                Some(self.low.streams[side as usize].len() * self.low.dim + n)
            }
            _ => None,
        };
        Some(Term {
            coordinates: [place(Side::X, x)?, place(Side::Y, y)?],
            period: None,
        })
    }
    /// Returns component `k` of the minimum image in a box with right angles. In a triclinic box
    /// the image mixes components, so it is not a term.
    fn image(&self, k: usize) -> Option<Term> {
        let Image::Orthorhombic(o) = self.cell?.image() else {
            return None;
        };
        let place = |side: usize| self.low.raw_stream(side).map(|s| s * self.low.dim + k);
        Some(Term {
            coordinates: [place(0)?, place(1)?],
            period: Some(*o.lengths().get(k)?),
        })
    }
}

/// Returns the largest number for which `holds` is true, near `guess`; −1 or the number below zero
/// if it is true for none from zero on. `holds` must be true up to some number and false beyond it.
/// The guess is off by a few roundings, so the loops take a few steps.
fn last(guess: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let mut v = guess.clamp(0.0, f64::MAX);
    if guess.is_nan() {
        return -1.0;
    }
    while v >= 0.0 && !holds(v) {
        v = v.next_down();
    }
    while (0.0..f64::INFINITY).contains(&v) && holds(v.next_up()) {
        v = v.next_up();
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_last_values_that_hold() {
        assert_eq!(last(2.0, |v| v <= 2.0), 2.0);
        assert_eq!(last(2.0, |v| v < 2.0), 2.0f64.next_down());
        assert!(last(-3.0, |v| v <= -3.0) < 0.0);
        assert!(last(0.0, |v| v < 0.0) < 0.0);
        assert_eq!(last(0.0, |v| v <= 0.0), 0.0);
        assert_eq!(last(f64::INFINITY, |v| v < f64::INFINITY), f64::MAX);
        assert_eq!(last(f64::INFINITY, |v| v <= f64::INFINITY), f64::INFINITY);
        assert!(last(f64::NAN, |_| false) < 0.0);
        for c in [0.1, 1.0, 1e-200, 3e153, 1.3407807929942596e154, 0.7] {
            let v = last(c * c, |v: f64| v.sqrt() < c);
            assert!(v < 0.0 || (v.sqrt() < c && v.next_up().sqrt() >= c), "{c}");
        }
    }
}

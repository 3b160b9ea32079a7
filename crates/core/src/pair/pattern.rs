//! Patterns that formulas have: recognised here once, used by the planner and by every backend.

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

/// The difference of a hoisted number of x and one of y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The places of the two numbers among those that are hoisted of a row of x and of y.
    pub coordinates: [usize; 2],
    /// Edge of the box, where the difference is that of the nearest image.
    pub period: Option<f64>,
}

/// Recognises the patterns of a lowered formula in a box.
#[derive(Clone, Copy, Debug)]
pub struct Patterns<'j> {
    low: &'j Lowered,
    cell: Option<&'j PeriodicBox>,
}

impl<'j> Patterns<'j> {
    /// Those of `low`, whose differences are of nearest images in `cell`.
    pub fn new(low: &'j Lowered, cell: Option<&'j PeriodicBox>) -> Self {
        Patterns { low, cell }
    }
    fn node(&self, id: Id) -> &Node {
        self.low.formula.node(id)
    }
    /// The predicate `id` as a value that may be at most a limit: `v < c`, `v ≤ c`, `sqrt(v) < c`.
    pub fn threshold(&self, id: Id) -> Option<(Id, f64)> {
        let Node::Binary(op @ (Binary::Lt | Binary::Le), a, b) = self.node(id) else {
            return None;
        };
        let Source::Const(limit) = self.low.source(*b) else {
            return None;
        };
        let holds = |v: f64| {
            if *op == Binary::Lt {
                v < limit
            } else {
                v <= limit
            }
        };
        match self.node(*a) {
            Node::Unary(Unary::Sqrt, inner) => {
                Some((*inner, last(limit * limit, |v| holds(v.sqrt()))))
            }
            _ => Some((*a, last(limit, holds))),
        }
    }
    /// The value `id` as a norm of differences, in the order in which its terms are added.
    pub fn norm(&self, id: Id) -> Option<(Norm, Vec<Term>)> {
        match self.node(id) {
            Node::Reduce(op, body) => {
                let (norm, difference) = self.part(*body)?;
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
    /// A sum (or the largest) of what went before and of one more term; addition gives the same
    /// either way round.
    fn chain(&self, op: Binary, a: Id, b: Id) -> Option<(Norm, Vec<Term>)> {
        let (many, one) = if self.part(b).is_some() {
            (a, b)
        } else {
            (b, a)
        };
        let (kind, last) = self.part(one)?;
        let last = self.difference(last, 0)?;
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
    /// The difference whose square or magnitude `id` is.
    fn part(&self, id: Id) -> Option<(Norm, Id)> {
        match self.node(id) {
            Node::Unary(Unary::Abs, a) => Some((Norm::Magnitudes, *a)),
            Node::Binary(Binary::Mul, a, b) if a == b => Some((Norm::Squares, *a)),
            _ => None,
        }
    }
    /// Component `k` of a difference of hoisted values.
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
    fn find(&self, node: Node) -> Option<Id> {
        self.low
            .formula
            .nodes()
            .iter()
            .position(|n| *n == node)
            .map(|at| Id(at as u32))
    }
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
    /// Component `k` of the nearest image, in a box with right angles.
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

/// The last value of which `holds` is true, near `guess`; below zero if there is none from zero on.
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

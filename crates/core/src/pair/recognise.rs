//! Recognises the patterns of a formula whose single rows are hoisted.
//!
//! Recognition reads the tree, which has already brought spellings to one form: `x > y` is `y < x`,
//! a square is a product of a node with itself, constants are folded. So a rule here matches one
//! shape and still serves every spelling. A formula that no rule matches loses speed and nothing
//! else.

use super::pattern::{
    Chain, Choice, Difference, Differences, MOST, Norm, Pattern, Reduction, Step, Threshold,
    VectorReduction,
};
use super::source::{Hoisted, Source};
use super::tree::{Binary, ComponentReduce, Id, Node, Shape, Side, Unary};

impl Hoisted<'_> {
    /// Recognises the root `id`.
    ///
    /// The three are independent: a root may be a norm and a chain at once, and the planner picks.
    pub(super) fn pattern(&self, id: Id) -> Pattern {
        Pattern {
            norm: self.norm(id),
            chain: self.chain(id),
            threshold: self.threshold(id),
        }
    }
    /// Recognises a reduction that has specialised kernels. Returns `None` for other nodes and in a
    /// box.
    ///
    /// The match is on the tree alone, so `sum((x - y)^2)` and `sum((y - x) * (y - x))` both match:
    /// the tree has already brought them to one spelling.
    pub(super) fn reduction(&self, id: Id) -> Option<VectorReduction> {
        let Node::Reduce(op, body) = self.node(id) else {
            return None;
        };
        // There x − y is a minimum image, and no difference of two hoisted vectors.
        if self.periodic {
            return None;
        }
        let (form, [a, b]) = match (op, self.node(*body)) {
            (ComponentReduce::Sum, Node::Unary(Unary::Abs, a)) => (Reduction::L1, self.gap(*a)?),
            (ComponentReduce::Max, Node::Unary(Unary::Abs, a)) => {
                (Reduction::Chebyshev, self.gap(*a)?)
            }
            // A square of a difference is a product of pair nodes, which is not an inner product.
            (ComponentReduce::Sum, Node::Binary(Binary::Mul, a, b)) => match self.gap(*a) {
                Some(gap) if a == b => (Reduction::SqDiff, gap),
                _ => (Reduction::Dot, [*a, *b]),
            },
            (ComponentReduce::Sum, Node::Binary(Binary::Ne, a, b)) => (Reduction::Differ, [*a, *b]),
            // |d|³ is the only power with a kernel; others run as generated code.
            (ComponentReduce::Sum, Node::Binary(Binary::Pow, a, p)) => match self.node(*a) {
                Node::Unary(Unary::Abs, inner) if self.formula.constant(*p) == Some(3.0) => {
                    (Reduction::Lp3, self.gap(*inner)?)
                }
                _ => return None,
            },
            _ => return None,
        };
        let (sides, row_vectors) = self.of_both(a, b)?;
        Some(VectorReduction {
            form,
            sides,
            row_vectors,
        })
    }
    /// Returns a and b if `id` is a − b. The sign is lost behind [`Self::of_both`], so callers use
    /// it below |·| and (·)² only, where it does not matter.
    fn gap(&self, id: Id) -> Option<[Id; 2]> {
        match self.node(id) {
            Node::Delta => {
                // δ has no operands; its rows are among the streams, since lowering registered
                // them.
                let row = |side: usize| Some(self.row_vectors[side][self.raw_vector(side)?]);
                Some([row(0)?, row(1)?])
            }
            Node::Binary(Binary::Sub, a, b) => Some([*a, *b]),
            _ => None,
        }
    }
    /// Returns `a` and `b` with the vector of x first, and their numbers, if they are hoisted
    /// vectors of different sides.
    ///
    /// The forms that use it do not depend on the order: |a − b|, (a − b)², a·b and a ≠ b are
    /// symmetric to the bit.
    fn of_both(&self, a: Id, b: Id) -> Option<([Id; 2], [usize; 2])> {
        match (self.source(a), self.source(b)) {
            (Source::Stream(Side::X, x), Source::Stream(Side::Y, y)) => Some(([a, b], [x, y])),
            (Source::Stream(Side::Y, y), Source::Stream(Side::X, x)) => Some(([b, a], [x, y])),
            _ => None,
        }
    }
    /// Recognises the predicate `id` as the comparison of a value with a number, either way round.
    fn threshold(&self, id: Id) -> Option<Threshold> {
        let Node::Binary(op @ (Binary::Lt | Binary::Le), a, b) = self.node(id) else {
            return None;
        };
        let (value, below, limit) = match (self.source(*a), self.source(*b)) {
            (Source::Pair, Source::Const(limit)) => (*a, true, limit),
            (Source::Const(limit), Source::Pair) => (*b, false, limit),
            _ => return None,
        };
        let or_equal = *op == Binary::Le;
        Some(Threshold {
            value,
            below,
            limit,
            or_equal,
            // Searches look for near rows, so only a limit from above makes one.
            norm: if below {
                self.norm_within(value, limit, or_equal)
            } else {
                None
            },
            chain: self.chain(value),
        })
    }
    /// Returns the norm that value `id` is, or is the root of, and the largest norm that the limit
    /// accepts.
    ///
    /// The largest norm is found by trying neighbouring f64, so that `norm <= largest` decides
    /// every norm exactly as the predicate does. `v < 1` becomes `v ≤ 1 − 2⁻⁵³`.
    fn norm_within(&self, id: Id, limit: f64, or_equal: bool) -> Option<(Differences, f64)> {
        // The predicate as a function of the value, with the rounding of the comparison itself.
        let holds = |v: f64| v < limit || or_equal && v == limit;
        match self.node(id) {
            // √ rises, so the values under the root that pass are all up to some number.
            Node::Unary(Unary::Sqrt, inner) => {
                // The square of the limit is rounded, so it is a guess, and the predicate itself
                // decides.
                let most = last(limit * limit, |v| holds(v.sqrt()));
                Some((self.norm(*inner)?, most))
            }
            _ => Some((self.norm(id)?, last(limit, holds))),
        }
    }
}

/// Norms of differences.
impl Hoisted<'_> {
    /// Recognises the value `id` as a norm of few differences. The terms are in the order of
    /// addition, so that a kernel that adds them in this order has the bits of the reference.
    ///
    /// Both spellings match: a reduction over components (`sum((x - y)^2)`) and a chain of single
    /// terms (`(x.a - y.a)^2 + (x.b - y.b)^2`). A single square or magnitude is a norm of one term.
    fn norm(&self, id: Id) -> Option<Differences> {
        match self.node(id) {
            Node::Reduce(op, body) => self.norm_of_vector(*op, *body),
            // A product of a sum with itself is one term, not a chain.
            Node::Binary(op @ (Binary::Add | Binary::Max), a, b) if self.part(id).is_none() => {
                self.norm_of_terms(*op, *a, *b, MOST)
            }
            _ => {
                let (norm, difference) = self.part(id)?;
                Some(Differences {
                    norm,
                    terms: vec![self.difference(difference, 0)?],
                    whole: false,
                })
            }
        }
    }
    /// The reduction of all components of a vector of squares or magnitudes.
    fn norm_of_vector(&self, op: ComponentReduce, body: Id) -> Option<Differences> {
        let (part, difference) = self.part(body)?;
        // A sum of squares or magnitudes, or the largest magnitude; the largest square would be
        // another norm.
        let norm = match (op, part) {
            (ComponentReduce::Sum, part) => part,
            (ComponentReduce::Max, Norm::Magnitudes) => Norm::Largest,
            _ => return None,
        };
        if self.formula.ty(body).shape != Shape::Vector || self.dim > MOST {
            return None;
        }
        let terms = (0..self.dim).map(|k| self.difference(difference, k));
        Some(Differences {
            norm,
            terms: terms.collect::<Option<_>>()?,
            whole: true,
        })
    }
    /// Recognises a chain ((t₁ + t₂) + t₃) + … of up to `most` terms, or the same with `max`. One
    /// operand must be a single term, and the other the chain so far. The order of the two operands
    /// does not matter, since rounded addition commutes; the grouping does matter, so `(a + b) + (c
    /// + d)` is none.
    fn norm_of_terms(&self, op: Binary, a: Id, b: Id, most: usize) -> Option<Differences> {
        // The single term, and the rest of the chain.
        let (before, one) = if self.part(b).is_some() {
            (a, b)
        } else {
            (b, a)
        };
        let (norm, last) = self.norm_part(op, one)?;
        let most = most.checked_sub(1).filter(|most| *most > 0)?;
        let mut all = match self.node(before) {
            Node::Binary(next, a, b) if next == &op => self.norm_of_terms(op, *a, *b, most)?,
            _ => {
                let (norm, first) = self.norm_part(op, before)?;
                Differences {
                    norm,
                    terms: vec![first],
                    whole: false,
                }
            }
        };
        all.terms.push(last);
        // All terms must be of one kind: |a| + b² is none.
        (all.norm == norm).then_some(all)
    }
    /// Returns the difference in `id`, and the norm that `op` makes of it and of others.
    ///
    /// No kernel has the largest of squares, although it orders pairs as the largest magnitude
    /// does.
    fn norm_part(&self, op: Binary, id: Id) -> Option<(Norm, Difference)> {
        let (part, difference) = self.part(id)?;
        let norm = match (op, part) {
            (Binary::Add, part) => part,
            (Binary::Max, Norm::Magnitudes) => Norm::Largest,
            _ => return None,
        };
        Some((norm, self.difference(difference, 0)?))
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
    fn difference(&self, id: Id, k: usize) -> Option<Difference> {
        let both = |of: &dyn Fn(Side) -> Node| {
            self.sides(self.find(&of(Side::X))?, self.find(&of(Side::Y))?, k)
        };
        match self.node(id) {
            Node::Delta if self.periodic => self.image(k),
            Node::DeltaAt(c) if self.periodic => self.image(*c as usize),
            Node::Delta => both(&Node::Row),
            Node::DeltaAt(c) => both(&|side| Node::At(side, *c)),
            // Either order: the sign is lost below the square or the magnitude.
            Node::Binary(Binary::Sub, a, b) => {
                self.sides(*a, *b, k).or_else(|| self.sides(*b, *a, k))
            }
            _ => None,
        }
    }
    /// Finds a node by its content: a difference names no operands.
    ///
    /// Nodes are shared, so a content occurs once.
    fn find(&self, node: &Node) -> Option<Id> {
        let at = self.formula.nodes().iter().position(|n| n == node)?;
        Some(Id(at as u32))
    }
    /// Returns the term for hoisted nodes `x` and `y`, if they belong to these sides.
    ///
    /// Places count vectors component by component, then scalars, as
    /// [`super::interval_bounds::Bounds::coordinates`] does, so boxes and kernels index alike.
    fn sides(&self, x: Id, y: Id, k: usize) -> Option<Difference> {
        let place = |side: Side, id: Id| match self.source(id) {
            Source::Stream(s, n) if s == side => Some(n * self.dim + k),
            Source::Attr(s, n) if s == side => {
                Some(self.row_vectors[side as usize].len() * self.dim + n)
            }
            _ => None,
        };
        Some(Difference {
            coordinates: [place(Side::X, x)?, place(Side::Y, y)?],
            image: None,
        })
    }
    /// Returns component `k` of the minimum image. Images are formed from whole rows, which
    /// lowering hoists in a box.
    fn image(&self, k: usize) -> Option<Difference> {
        let place = |side: usize| self.raw_vector(side).map(|s| s * self.dim + k);
        Some(Difference {
            coordinates: [place(0)?, place(1)?],
            image: Some(k),
        })
    }
}

/// An operation on the way from a reduction to a value.
///
/// A condition is recognised only after the reduction is known, so it waits here as nodes.
enum Link {
    Step(Step),
    /// A condition, and the value where it holds.
    Choice(Id, Id),
}

/// Chains from a reduction to a value.
impl Hoisted<'_> {
    /// Recognises the reduction and the steps that make value `id`. The steps are found from the
    /// value inwards.
    fn chain(&self, id: Id) -> Option<Chain> {
        let (mut links, mut at) = (vec![], id);
        let reduction = loop {
            if let Some(reduction) = self.reduction(at) {
                break reduction;
            }
            let (inner, link) = self.link(at)?;
            links.push(link);
            at = inner;
        };
        let mut steps = vec![];
        for link in links.into_iter().rev() {
            let step = match link {
                Link::Step(step) => step,
                Link::Choice(condition, same) => {
                    Step::Choice(self.choice(reduction, condition, same)?)
                }
            };
            may_follow(reduction, &steps, step).then(|| steps.push(step))?;
        }
        Some(Chain { reduction, steps })
    }
    /// Returns the last operation of value `id`, and what it works on.
    ///
    /// One operand must be a number: a chain has one value that changes, and its errors can be
    /// followed.
    fn link(&self, id: Id) -> Option<(Id, Link)> {
        let (inner, step) = match self.node(id) {
            Node::Select(condition, same, other) => {
                return Some((*other, Link::Choice(*condition, *same)));
            }
            Node::Unary(Unary::Sqrt, a) => (*a, Step::Sqrt),
            Node::Unary(Unary::Neg, a) => (*a, Step::Neg),
            Node::Binary(op, a, b) => match (self.source(*a), self.source(*b)) {
                (Source::Pair, Source::Const(c)) => (*a, Step::by(*op, c)?),
                (Source::Const(c), Source::Pair) => (*b, Step::of_constant(*op, c)?),
                _ => return None,
            },
            _ => return None,
        };
        Some((inner, Link::Step(step)))
    }
    /// Recognises the choice of `same` on `condition`, both of `reduction`.
    fn choice(&self, reduction: VectorReduction, condition: Id, same: Id) -> Option<Choice> {
        let Node::Binary(Binary::And, p, q) = self.node(condition) else {
            return None;
        };
        let numbers = match (self.equals(reduction, *p)?, self.equals(reduction, *q)?) {
            (Source::Attr(Side::X, a), Source::Attr(Side::Y, b))
            | (Source::Attr(Side::Y, b), Source::Attr(Side::X, a)) => [a, b],
            _ => return None,
        };
        let constant = |id| match self.source(id) {
            Source::Const(c) => Some(c),
            _ => None,
        };
        let same = match self.node(same) {
            Node::Select(zero, there, elsewhere)
                if self.equals(reduction, *zero)? == Source::Const(0.0) =>
            {
                [constant(*there)?, constant(*elsewhere)?]
            }
            _ => [constant(same)?; 2],
        };
        Some(Choice { numbers, same })
    }
    /// Returns what the truth value `id` compares `reduction` with.
    fn equals(&self, reduction: VectorReduction, id: Id) -> Option<Source> {
        let Node::Binary(Binary::Eq, a, b) = self.node(id) else {
            return None;
        };
        match (
            self.reduction(*a) == Some(reduction),
            self.reduction(*b) == Some(reduction),
        ) {
            (true, false) => Some(self.source(*b)),
            (false, true) => Some(self.source(*a)),
            _ => None,
        }
    }
}

/// Returns whether the errors of `step` after `steps` stay known. Constants are bounded to 10^±100,
/// so that no inverse overflows.
fn may_follow(reduction: VectorReduction, steps: &[Step], step: Step) -> bool {
    let plain = |c: f64| c == 0.0 || (1e-100..1e100).contains(&c.abs());
    let positive = |s: &Step| matches!(s, Step::Mul(c) | Step::Div(c) if *c > 0.0);
    match step {
        // A root is accepted only where nothing below it can be negative.
        Step::Sqrt => reduction.form != Reduction::Dot && steps.iter().all(positive),
        // One choice is enough.
        Step::Choice(_) => !steps.iter().any(|s| matches!(s, Step::Choice(_))),
        step => step.constant().is_none_or(plain),
    }
}

/// Returns the largest number for which `holds` is true, near `guess`; −1 or the number below zero
/// if it is true for none from zero on. `holds` must be true up to some number and false beyond it.
/// The guess is off by a few roundings, so the loops take a few steps.
fn last(guess: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let mut v = guess.clamp(0.0, f64::MAX);
    // A limit of NaN holds for no value; −1 is below every norm.
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

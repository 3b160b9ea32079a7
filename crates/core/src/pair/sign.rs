//! Proves from the form of a formula which values are never below zero, and so which square roots
//! can be dropped.
//!
//! √ never changes an order, so a histogram or a threshold of √s can work on s and spare the root:
//! the bin of s among the squared edges is the bin of √s among the edges. That is only right if s
//! is never negative, since √ of a negative number is NaN, and s is not. `sqrt(sum((x - y)^2))`
//! qualifies; `sqrt(x[0] - y[0])` does not.
//!
//! The proof is one pass over the nodes. It distinguishes "not below zero" from "the sign is plus",
//! because −0 is not below zero, and yet 1/−0 is −∞.

use super::tree::{Binary, ComponentReduce, Formula, Id, Node, Unary};

/// What is known of the sign of a value, if the value is a number. NaN is always possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    /// Nothing.
    Unknown,
    /// It is not below zero. It may be −0, by which a quotient would be negative.
    NotBelow,
    /// Its sign is plus.
    Plus,
}

/// Returns whether value `id` is never below zero; it may be NaN.
fn is_never_negative(formula: &Formula, id: Id) -> bool {
    let mut signs: Vec<Sign> = Vec::with_capacity(id.0 as usize + 1);
    // Operands come first.
    for node in &formula.nodes()[..=id.0 as usize] {
        let sign = sign_of(formula, node, |id| signs[id.0 as usize]);
        signs.push(sign);
    }
    signs[id.0 as usize] > Sign::Unknown
}

/// Returns the sign of a node from the signs of its operands.
fn sign_of(formula: &Formula, node: &Node, sign: impl Fn(Id) -> Sign) -> Sign {
    let plus = |is: bool| if is { Sign::Plus } else { Sign::Unknown };
    match node {
        Node::Const(bits) => plus(f64::from_bits(*bits).is_sign_positive()),
        Node::Given(at) => plus(
            formula.vectors[*at as usize]
                .iter()
                .all(|v| v.is_sign_positive()),
        ),
        Node::Dim => Sign::Plus,
        Node::Unary(op, a) => match op {
            Unary::Abs | Unary::Exp | Unary::Cosh | Unary::Not | Unary::IsNan | Unary::Popcount => {
                Sign::Plus
            }
            // Never below zero; √−0 is −0, so it is plus only if its operand is.
            Unary::Sqrt => sign(*a).max(Sign::NotBelow),
            // A value that is not below zero rounds to one that is not; more is not claimed.
            Unary::Floor | Unary::Ceil | Unary::Round => sign(*a).min(Sign::NotBelow),
            _ => Sign::Unknown,
        },
        Node::Binary(op, a, b) => binary(*op, sign(*a), sign(*b), a == b),
        Node::Select(_, a, b) => sign(*a).min(sign(*b)),
        Node::Reduce(ComponentReduce::Sum | ComponentReduce::Prod, body) => sign(*body),
        Node::Reduce(ComponentReduce::Any | ComponentReduce::All, _) => Sign::Plus,
        _ => Sign::Unknown,
    }
}

/// Returns the sign of a function of two operands; `same` if both are one node, whose square is
/// then never negative.
fn binary(op: Binary, a: Sign, b: Sign, same: bool) -> Sign {
    match op {
        // (−0)·(−0) is +0.
        Binary::Mul if same => Sign::Plus,
        Binary::Add | Binary::Mul | Binary::Min => a.min(b),
        // A quotient by −0 is below zero.
        Binary::Div if b == Sign::Plus => a,
        Binary::Max if a == Sign::Plus && b == Sign::Plus => Sign::Plus,
        // The larger of two is not below zero if one of them is not.
        Binary::Max => a.max(b).min(Sign::NotBelow),
        Binary::Pow if a == Sign::Plus => Sign::NotBelow,
        Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::Lt
        | Binary::Le
        | Binary::Eq
        | Binary::Ne => Sign::Plus,
        _ => Sign::Unknown,
    }
}

impl Formula {
    /// Returns the operand of the square root `id`, if it is never below zero. It then orders and
    /// bins as the root does.
    pub fn square_under(&self, id: Id) -> Option<Id> {
        match self.node(id) {
            Node::Unary(Unary::Sqrt, inner) if is_never_negative(self, *inner) => Some(*inner),
            _ => None,
        }
    }
    /// Returns root `at` without an outer square root that [`Self::square_under`] can drop, and
    /// whether there was one.
    pub fn without_sqrt(&self, at: usize) -> (Id, bool) {
        let id = self.roots[at];
        self.square_under(id)
            .map_or((id, false), |inner| (inner, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::{Scope, parse};

    #[test]
    fn squares_magnitudes_and_what_is_made_of_them_are_never_negative() {
        for (text, never) in [
            ("sum((x - y)^2)", true),
            ("sum(2 * (x - y)^2) / 3", true),
            ("sum(-2 * (x - y)^2)", false),
            ("sum(abs(x - y)) + max(sum(x * y), 0)", true),
            ("sum(x * y)", false),
            ("sum(x * x) + sum(y * y) - 2 * sum(x * y)", false),
            ("if(x[0] < y[0], 1, exp(x[0]))", true),
            ("if(x[0] < y[0], 1, x[0])", false),
            ("1 / max(x[0], 0)", false),
            ("abs(x[0])^y[0]", true),
            ("sqrt(x[0] - y[0])", true),
            ("x[0]", false),
        ] {
            let mut formula = Formula::new();
            let id = parse(
                &mut formula,
                text,
                &Scope {
                    dim: Some(2),
                    ..Scope::default()
                },
            )
            .unwrap();
            assert_eq!(is_never_negative(&formula, id), never, "{text}");
        }
    }
}

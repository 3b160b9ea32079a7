//! Which values of a formula are never below zero, by its shape alone, and so the roots that order
//! as what is under them.

use super::tree::{Binary, Formula, Id, Node, Reduce, Unary};

/// What is known of the sign of a value that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    /// Nothing.
    Unknown,
    /// It is not below zero; it may be −0.
    NotBelow,
    /// Its sign is plus.
    Plus,
}

/// Whether value `id` is never below zero; it may be NaN.
fn is_never_negative(formula: &Formula, id: Id) -> bool {
    let mut signs: Vec<Sign> = Vec::with_capacity(id.0 as usize + 1);
    // Operands come first.
    for node in &formula.nodes()[..=id.0 as usize] {
        let sign = of(formula, node, |id| signs[id.0 as usize]);
        signs.push(sign);
    }
    signs[id.0 as usize] > Sign::Unknown
}

fn of(formula: &Formula, node: &Node, sign: impl Fn(Id) -> Sign) -> Sign {
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
            Unary::Sqrt => sign(*a).max(Sign::NotBelow),
            Unary::Floor | Unary::Ceil | Unary::Round => sign(*a).min(Sign::NotBelow),
            _ => Sign::Unknown,
        },
        Node::Binary(op, a, b) => binary(*op, sign(*a), sign(*b), a == b),
        Node::Select(_, a, b) => sign(*a).min(sign(*b)),
        Node::Reduce(Reduce::Sum | Reduce::Prod, body) => sign(*body),
        Node::Reduce(Reduce::Any | Reduce::All, _) => Sign::Plus,
        _ => Sign::Unknown,
    }
}

fn binary(op: Binary, a: Sign, b: Sign, same: bool) -> Sign {
    match op {
        Binary::Mul if same => Sign::Plus,
        Binary::Add | Binary::Mul | Binary::Min => a.min(b),
        // A quotient by −0 is below zero.
        Binary::Div if b == Sign::Plus => a,
        Binary::Max if a == Sign::Plus && b == Sign::Plus => Sign::Plus,
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
    /// What `id` is the square root of, where that is never below zero: r² then orders and bins as
    /// r does, while the root of a number below zero is NaN.
    pub fn square_under(&self, id: Id) -> Option<Id> {
        match self.node(id) {
            Node::Unary(Unary::Sqrt, inner) if is_never_negative(self, *inner) => Some(*inner),
            _ => None,
        }
    }
    /// Root `at` without an outer square root, and whether there was one that
    /// [`Self::square_under`] takes.
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

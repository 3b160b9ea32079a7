//! Conditions of joins as in SQL, with three truth values.
//!
//! A missing value is NaN, and a comparison with it is unknown: neither true nor false. `not` of
//! unknown is unknown; `and` and `or` follow from the other operand if it decides. A join keeps a
//! pair if its condition is true.
//!
//! Kernels know two truth values, so the condition is rewritten: [`certain`] returns a formula of
//! two values that is true exactly where the condition is true. Negations are pushed down to
//! comparisons (De Morgan), where "surely false" is another comparison:
//!
//! ```text
//! not (a < b)              →  b <= a           false for NaN, as the plain `not` would not be
//! not (a < b and c == d)   →  b <= a or (c < d or d < c)
//! a != b                   →  a < b or b < a
//! ```

use super::tree::{Binary, ComponentReduce, Formula, Id, Node, Unary};
use crate::error::Result;
use std::collections::HashMap;

/// Returns a truth value that is 1 exactly where `condition` is surely true. Numbers inside
/// comparisons stay as they are.
///
/// # Errors
/// `Request` when the formula is full.
pub fn certain(formula: &mut Formula, condition: Id) -> Result<Id> {
    Certain {
        formula,
        known: HashMap::new(),
    }
    .surely(condition, true)
}

/// Rewrites conditions. `known` holds what was rewritten by (node, wanted truth), so that a shared
/// node is rewritten twice at most.
struct Certain<'f> {
    formula: &'f mut Formula,
    known: HashMap<(Id, bool), Id>,
}

impl Certain<'_> {
    /// Returns a formula that is true where `id` is surely `wanted`.
    fn surely(&mut self, id: Id, wanted: bool) -> Result<Id> {
        if let Some(known) = self.known.get(&(id, wanted)) {
            return Ok(*known);
        }
        let made = self.fresh(id, wanted)?;
        self.known.insert((id, wanted), made);
        Ok(made)
    }
    /// Rewrites a node. `and` is surely true if both operands are, and surely false if one is; `or`
    /// the other way round; `any` and `all` likewise over components.
    fn fresh(&mut self, id: Id, wanted: bool) -> Result<Id> {
        match self.formula.node(id).clone() {
            Node::Unary(Unary::Not, a) => self.surely(a, !wanted),
            Node::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let (a, b) = (self.surely(a, wanted)?, self.surely(b, wanted)?);
                // De Morgan: a false `and` is an `or` of false operands.
                let op = if (op == Binary::And) == wanted {
                    Binary::And
                } else {
                    Binary::Or
                };
                self.formula.binary(op, a, b)
            }
            Node::Binary(Binary::Xor, a, b) => {
                // a xor b is surely true if one is surely true and the other surely false, surely
                // false if they agree.
                let (both, neither) = (
                    self.together(a, true, b, !wanted)?,
                    self.together(a, false, b, wanted)?,
                );
                self.formula.binary(Binary::Or, both, neither)
            }
            Node::Binary(op, a, b) => self.comparison(op, a, b, wanted, id),
            // As CASE in SQL: what is unknown takes the other branch.
            Node::Select(c, a, b) => {
                let (c, a, b) = (
                    self.surely(c, true)?,
                    self.surely(a, wanted)?,
                    self.surely(b, wanted)?,
                );
                let first = self.formula.binary(Binary::And, c, a)?;
                let other = self.formula.unary(Unary::Not, c)?;
                let second = self.formula.binary(Binary::And, other, b)?;
                self.formula.binary(Binary::Or, first, second)
            }
            Node::Reduce(op @ (ComponentReduce::Any | ComponentReduce::All), a) => {
                let a = self.surely(a, wanted)?;
                let op = if (op == ComponentReduce::Any) == wanted {
                    ComponentReduce::Any
                } else {
                    ComponentReduce::All
                };
                self.formula.reduce(op, a)
            }
            // Truth values that are no comparison (isnan) are never unknown.
            _ if wanted => Ok(id),
            _ => self.formula.unary(Unary::Not, id),
        }
    }
    /// Returns a formula that is true where `a` is surely `is_a` and `b` surely `is_b`.
    fn together(&mut self, a: Id, is_a: bool, b: Id, is_b: bool) -> Result<Id> {
        let (a, b) = (self.surely(a, is_a)?, self.surely(b, is_b)?);
        self.formula.binary(Binary::And, a, b)
    }
    /// Returns the comparison that is true where `a op b` is surely `wanted`. Comparisons of f64
    /// are false for NaN, all but `!=`, which therefore becomes two.
    fn comparison(&mut self, op: Binary, a: Id, b: Id, wanted: bool, id: Id) -> Result<Id> {
        match (op, wanted) {
            (Binary::Lt | Binary::Le | Binary::Eq, true) => Ok(id),
            (Binary::Lt, false) => self.formula.binary(Binary::Le, b, a),
            (Binary::Le, false) => self.formula.binary(Binary::Lt, b, a),
            (Binary::Ne, false) => self.formula.binary(Binary::Eq, a, b),
            // Equal or unequal: of NaN neither.
            _ => {
                let (less, more) = (
                    self.formula.binary(Binary::Lt, a, b)?,
                    self.formula.binary(Binary::Lt, b, a)?,
                );
                self.formula.binary(Binary::Or, less, more)
            }
        }
    }
}

//! Columns of text in formulas.
//!
//! A column of text is read as numbers: each word is the number of its place among all words in
//! ascending order, over both tables. Comparing the numbers compares the words. Anything else would
//! compute with numbers that mean nothing, so it is refused here, with the name of the column.
//!
//! ```text
//! x.kind == y.kind     allowed        x.kind < 'm'         allowed
//! x.kind + 1           refused        sum(x) with a text among the components: refused
//! ```
//!
//! Numbers over both tables together: a word has the same number in x and in y, so `x.kind ==
//! y.kind` compares texts whichever file they come from. Equality, order and missing texts survive
//! the translation; nothing else does.

use super::tree::{Binary, Formula, Id, Node, Side, Unary};
use crate::error::{Error, Result};

/// The columns of text by side, the number of components of a row by side, and the names of all
/// columns.
///
/// Names are for messages only.
pub(crate) struct Texts<'a> {
    pub columns: [&'a [usize]; 2],
    pub cols: [usize; 2],
    pub names: [Option<&'a [String]>; 2],
}

/// Returns the name of the column that holds a text of the formula itself. The quotes make it a
/// name that no formula can write after a dot.
///
/// Two equal texts have one name, hence one column.
pub fn own(text: &str) -> String {
    format!("\"{text}\"")
}

/// Returns whether a column holds a text of the formula itself.
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with('"')
}

impl Texts<'_> {
    /// Checks that columns of text are only compared with columns of text, or tested for being
    /// missing.
    ///
    /// # Errors
    /// `Request` where numbers are made of text.
    pub(crate) fn check(&self, formula: &Formula) -> Result<()> {
        // Most problems have no text, and then nothing can be misused.
        if self.columns.iter().all(|c| c.is_empty()) {
            return Ok(());
        }
        // A word number as the answer would be printed as a number.
        if let Some(root) = formula.roots.iter().find_map(|r| self.text(formula, *r)) {
            return Err(self.misused(root, "as a value"));
        }
        for (node, _) in formula
            .nodes()
            .iter()
            .zip(formula.live())
            .filter(|(_, live)| *live)
        {
            self.check_node(formula, node)?;
        }
        Ok(())
    }
    /// Checks one node: each kind of node says how it would misuse a text.
    ///
    /// The match goes over users of a column, not over columns: what a text may do depends on the
    /// operation around it.
    fn check_node(&self, formula: &Formula, node: &Node) -> Result<()> {
        let text = |id: &Id| self.text(formula, *id);
        // A whole row is refused if one of its components is text; attributes are not part of it.
        let first = |side: Side| {
            self.columns[side as usize]
                .iter()
                .find(|k| **k < self.cols[side as usize])
        };
        let whole = |side: Side| first(side).map(|k| (side, *k));
        match node {
            // A missing text is NaN, like a missing number.
            Node::Unary(Unary::IsNan, _) => Ok(()),
            Node::Binary(Binary::Lt | Binary::Le | Binary::Eq | Binary::Ne, a, b) => {
                // Two columns of text, or none.
                match (text(a), text(b)) {
                    (Some(of), None) | (None, Some(of)) => Err(self.misused(of, "beside a number")),
                    _ => Ok(()),
                }
            }
            Node::Row(side) => {
                whole(*side).map_or(Ok(()), |of| Err(self.misused(of, "as part of a whole row")))
            }
            Node::Delta => match whole(Side::X).or_else(|| whole(Side::Y)) {
                Some(of) => Err(self.misused(of, "as part of a whole row")),
                None => Ok(()),
            },
            Node::DeltaAt(k) => {
                let of = |side: Side| {
                    self.columns[side as usize]
                        .contains(&(*k as usize))
                        .then_some((side, *k as usize))
                };
                of(Side::X)
                    .or_else(|| of(Side::Y))
                    .map_or(Ok(()), |of| Err(self.misused(of, "in arithmetic")))
            }
            Node::Unary(_, a) | Node::Reduce(_, a) => {
                text(a).map_or(Ok(()), |of| Err(self.misused(of, "in arithmetic")))
            }
            Node::Binary(_, a, b) | Node::Select(_, a, b) => text(a)
                .or_else(|| text(b))
                .map_or(Ok(()), |of| Err(self.misused(of, "in arithmetic"))),
            Node::Tuple(parts) => parts
                .iter()
                .find_map(text)
                .map_or(Ok(()), |of| Err(self.misused(of, "as a value"))),
            _ => Ok(()),
        }
    }
    /// Returns the column of text that `id` is.
    ///
    /// Only a column itself is text. Any operation on it has been refused at its own node.
    fn text(&self, formula: &Formula, id: Id) -> Option<(Side, usize)> {
        match formula.node(id) {
            Node::At(side, k) => self.columns[*side as usize]
                .contains(&(*k as usize))
                .then_some((*side, *k as usize)),
            _ => None,
        }
    }
    /// Returns the error of a text used as a number, with the column by name. A text of the formula
    /// has no column that its user knows, so its message differs.
    fn misused(&self, (side, k): (Side, usize), how: &str) -> Error {
        let row = if side == Side::X { "x" } else { "y" };
        let name = self.names[side as usize]
            .and_then(|n| n.get(k))
            .cloned()
            .unwrap_or_else(|| k.to_string());
        if is_own(&name) {
            let e = Error::request(format!("expected numbers, got the text {name} {how}"))
                .at_place("formula");
            return e.remedy(format!(
                "compare it with a column of text: 'x.kind == {name}'"
            ));
        }
        let e = Error::request(format!(
            "expected numbers, got the text column '{row}.{name}' {how}"
        ))
        .at_place("formula");
        e.remedy(format!(
            "compare it with a column of text: 'x.{name} == y.{name}'; or leave the column out"
        ))
    }
}

//! Columns of text: their numbers stand for words in ascending order, so they compare with each
//! other and do nothing else.

use super::tree::{Binary, Formula, Id, Node, Side, Unary};
use crate::error::{Error, Result};

/// Columns of text by side, the number of components of a row, and the names of all columns.
pub(crate) struct Texts<'a> {
    pub columns: [&'a [usize]; 2],
    pub cols: [usize; 2],
    pub names: [Option<&'a [String]>; 2],
}

/// The name of the column that holds a text of the formula itself: no column that a formula can
/// name is called so.
pub fn own(text: &str) -> String {
    format!("\"{text}\"")
}

/// Whether a column holds a text of the formula itself.
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with('"')
}

impl Texts<'_> {
    /// Columns of text are only compared with columns of text.
    ///
    /// # Errors
    /// `Request` where numbers are made of text.
    pub fn check(&self, formula: &Formula) -> Result<()> {
        if self.columns.iter().all(|c| c.is_empty()) {
            return Ok(());
        }
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
    fn check_node(&self, formula: &Formula, node: &Node) -> Result<()> {
        let text = |id: &Id| self.text(formula, *id);
        let first = |side: Side| {
            self.columns[side as usize]
                .iter()
                .find(|k| **k < self.cols[side as usize])
        };
        let whole = |side: Side| first(side).map(|k| (side, *k));
        match node {
            Node::Unary(Unary::IsNan, _) => Ok(()),
            Node::Binary(Binary::Lt | Binary::Le | Binary::Eq | Binary::Ne, a, b) => {
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
    fn text(&self, formula: &Formula, id: Id) -> Option<(Side, usize)> {
        match formula.node(id) {
            Node::At(side, k) => self.columns[*side as usize]
                .contains(&(*k as usize))
                .then_some((*side, *k as usize)),
            _ => None,
        }
    }
    fn misused(&self, (side, k): (Side, usize), how: &str) -> Error {
        let row = if side == Side::X { "x" } else { "y" };
        let name = self.names[side as usize]
            .and_then(|n| n.get(k))
            .cloned()
            .unwrap_or_else(|| k.to_string());
        if is_own(&name) {
            let e = Error::request(format!("expected numbers, got the text {name} {how}"))
                .at("formula");
            return e.remedy(format!(
                "compare it with a column of text: 'x.kind == {name}'"
            ));
        }
        let e = Error::request(format!(
            "expected numbers, got the text column '{row}.{name}' {how}"
        ))
        .at("formula");
        e.remedy(format!(
            "compare it with a column of text: 'x.{name} == y.{name}'; or leave the column out"
        ))
    }
}

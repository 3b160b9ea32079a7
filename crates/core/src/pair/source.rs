//! Where a formula's operands come from once the parts of single rows are hoisted.

use super::tree::{Formula, Id, Node, Side};
use std::collections::HashMap;

/// Says where a kernel finds the operand of a pair node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A hoisted vector, number `.1` of its side: one number per row and component.
    Stream(Side, usize),
    /// A hoisted scalar, number `.1` of its side: one number per row.
    Attr(Side, usize),
    /// A vector that depends on no row: number `.0` of the constants of the lowered formula.
    Vector(usize),
    /// A number that depends on no row, already folded.
    Const(f64),
    /// A node that depends on both rows and is computed for every pair.
    Pair,
}

/// A formula of rows with `dim` components, and what is hoisted of it.
#[derive(Clone, Copy, Debug)]
pub struct Hoisted<'f> {
    /// The formula.
    pub formula: &'f Formula,
    /// Components of a row.
    pub dim: usize,
    /// Whether differences are those of nearest images.
    pub periodic: bool,
    /// Hoisted vectors of x and of y.
    pub row_vectors: &'f [Vec<Id>; 2],
    /// Where operands come from. A node that is missing is computed for every pair.
    pub sources: &'f HashMap<Id, Source>,
}

impl<'f> Hoisted<'f> {
    /// Returns node `id`.
    pub fn node(&self, id: Id) -> &'f Node {
        self.formula.node(id)
    }
    /// Returns where `id` comes from.
    pub fn source(&self, id: Id) -> Source {
        self.sources.get(&id).copied().unwrap_or(Source::Pair)
    }
    /// Returns the number of the hoisted vector that is the row itself, of side 0 (x) or 1 (y). It
    /// needs no computation, so engines may read it from the table.
    pub fn raw_vector(&self, side: usize) -> Option<usize> {
        let wanted = Node::Row(if side == 0 { Side::X } else { Side::Y });
        let row_vectors = &self.row_vectors[side];
        row_vectors.iter().position(|id| *self.node(*id) == wanted)
    }
}

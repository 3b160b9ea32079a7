//! Whether exchanging x and y changes the value of a formula, derived from its form.

use super::tree::{Binary, Formula, Id, Node, Side, Unary};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How root values change when x and y change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// f(x, y) = f(y, x), to the bit.
    Symmetric,
    /// Nothing is known.
    None,
}

/// The symmetry of every root of `formula` together.
pub fn symmetry(formula: &Formula) -> Symmetry {
    if are_symmetric(formula, &formula.roots) {
        Symmetry::Symmetric
    } else {
        Symmetry::None
    }
}

/// Whether each of `roots` is the same with the rows exchanged.
pub(crate) fn are_symmetric(formula: &Formula, roots: &[Id]) -> bool {
    let mut memo = HashMap::new();
    roots.iter().all(|root| {
        let mut keys = Keys {
            formula,
            memo: &mut memo,
        };
        keys.key(*root, false, false) == keys.key(*root, true, false)
    })
}

/// Whether each node of `x`, which depends on rows of x, is one of `y` with y for x, in order: the
/// same bits of the same row.
pub fn mirror(formula: &Formula, x: &[Id], y: &[Id]) -> bool {
    let mut memo = HashMap::new();
    let mut keys = Keys {
        formula,
        memo: &mut memo,
    };
    x.len() == y.len()
        && x.iter()
            .zip(y)
            .all(|(x, y)| keys.key(*x, false, false) == keys.key(*y, true, false))
}

/// Canonical keys: equal keys mean equal bits. `swap` exchanges the rows; `even` allows a change of
/// sign.
struct Keys<'a> {
    formula: &'a Formula,
    memo: &'a mut HashMap<(Id, bool, bool), u128>,
}

impl Keys<'_> {
    fn key(&mut self, id: Id, swap: bool, even: bool) -> u128 {
        if let Some(key) = self.memo.get(&(id, swap, even)) {
            return *key;
        }
        let key = self.fresh(id, swap, even);
        self.memo.insert((id, swap, even), key);
        key
    }
    fn fresh(&mut self, id: Id, swap: bool, even: bool) -> u128 {
        let formula = self.formula;
        let side = |s: Side| if swap { s.other() } else { s };
        match formula.node(id) {
            Node::Row(s) => hash(&("row", side(*s))),
            Node::At(s, k) => hash(&("at", side(*s), k)),
            Node::Delta => hash(&("delta", swap && !even)),
            Node::DeltaAt(k) => hash(&("delta", swap && !even, k)),
            Node::Unary(Unary::Neg, a) if even => self.key(*a, swap, true),
            Node::Unary(op, a) => {
                let sign_free = matches!(op, Unary::Abs | Unary::Cos | Unary::Cosh | Unary::IsNan);
                let odd = matches!(
                    op,
                    Unary::Neg | Unary::Sin | Unary::Tan | Unary::Asin | Unary::Atan | Unary::Sign
                );
                let inner = self.key(
                    *a,
                    swap,
                    sign_free || (even && (odd || *op == Unary::Tanh || *op == Unary::Sinh)),
                );
                hash(&("unary", op, inner))
            }
            Node::Binary(op, a, b) => self.binary(*op, *a, *b, swap, even),
            Node::Select(c, a, b) => {
                let keys = [
                    self.key(*c, swap, false),
                    self.key(*a, swap, even),
                    self.key(*b, swap, even),
                ];
                hash(&("select", keys))
            }
            Node::Reduce(op, a) => {
                let inner = self.key(*a, swap, false);
                hash(&("reduce", op, inner))
            }
            Node::UserReduce { op, init, body } => {
                let keys =
                    [Some(*op), *init, Some(*body)].map(|o| o.map(|o| self.key(o, swap, false)));
                hash(&("user", keys))
            }
            Node::Tuple(parts) => {
                let keys: Vec<u128> = parts.iter().map(|p| self.key(*p, swap, even)).collect();
                hash(&("tuple", keys))
            }
            leaf => hash(leaf),
        }
    }
    fn binary(&mut self, op: Binary, a: Id, b: Id, swap: bool, even: bool) -> u128 {
        if op == Binary::Mul && a == b {
            let inner = self.key(a, swap, true);
            return hash(&("square", inner));
        }
        let even_power = op == Binary::Pow
            && self
                .formula
                .constant(b)
                .is_some_and(|p| p % 2.0 == 0.0 && p.abs() <= 64.0);
        if even_power {
            let keys = [self.key(a, swap, true), self.key(b, swap, false)];
            return hash(&("pow", keys));
        }
        let through = even && matches!(op, Binary::Mul | Binary::Div);
        let mut keys = [self.key(a, swap, through), self.key(b, swap, through)];
        let commutes = matches!(
            op,
            Binary::Add
                | Binary::Mul
                | Binary::Min
                | Binary::Max
                | Binary::And
                | Binary::Or
                | Binary::Xor
                | Binary::Eq
                | Binary::Ne
        );
        // a − b and b − a have the same bits up to the sign.
        if commutes || (even && op == Binary::Sub) {
            keys.sort_unstable();
        }
        hash(&("binary", op, keys))
    }
}

fn hash(value: &impl Hash) -> u128 {
    let mut low = DefaultHasher::new();
    let mut high = DefaultHasher::new();
    (1u8, value).hash(&mut low);
    (2u8, value).hash(&mut high);
    (u128::from(high.finish()) << 64) | u128::from(low.finish())
}

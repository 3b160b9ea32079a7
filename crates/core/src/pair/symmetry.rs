//! Proves that exchanging x and y does not change a formula, to the last bit.
//!
//! A symmetric formula over one table needs half of the pairs, so the proof is worth a factor of
//! two. It works on the form of the formula: every node gets a *key* such that equal keys mean
//! equal bits, once with the rows as they are and once exchanged. If a root has the same key both
//! ways, it is symmetric.
//!
//! ```text
//! sum((x - y)^2)       keys agree: a square loses the sign of x − y          → symmetric
//! sum(x * y)           keys agree: the keys of a product are sorted          → symmetric
//! sum(x - y)           x − y and y − x differ in sign                        → unknown
//! abs(sum((x - y) * (x + y)))   the sum turns its sign, which abs loses      → symmetric
//! x[0]*y[1] + x[1]*y[0]  products and sums commute in f64                    → symmetric
//! sum(x*x*y*y)         ((x·x)·y)·y and ((y·y)·x)·x round apart           → unknown
//! ```
//!
//! The answer is one-sided. [`Symmetry::None`] means that no proof was found, and costs time only.
//! The proof uses commutativity, which holds for rounded addition and multiplication, and never
//! associativity, which does not. Numbers of rows are not looked at.

use super::tree::{Binary, ComponentReduce, Formula, Id, Node, Side, Unary};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Says how the values of a formula change when x and y change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// f(x, y) = f(y, x) for all rows, to the bit.
    Symmetric,
    /// No proof was found. The formula may be symmetric all the same.
    None,
}

/// Returns [`Symmetry::Symmetric`] if every root of `formula` is symmetric. All folds of a problem
/// share one domain, so one root without a proof decides for all.
pub fn symmetry(formula: &Formula) -> Symmetry {
    if are_symmetric(formula, &formula.roots) {
        Symmetry::Symmetric
    } else {
        Symmetry::None
    }
}

/// Returns whether each of `roots` is proved to be the same with the rows exchanged.
pub(crate) fn are_symmetric(formula: &Formula, roots: &[Id]) -> bool {
    let mut memo = HashMap::new();
    roots.iter().all(|root| {
        let mut keys = Keys {
            formula,
            memo: &mut memo,
            odd: HashMap::new(),
        };
        keys.key(*root, false, false) == keys.key(*root, true, false)
    })
}

/// Returns whether node k of `x` is node k of `y` with y in place of x, for every k: then both have
/// the same bits for the same row. The nodes of `x` depend on rows of x alone, those of `y` on rows
/// of y.
pub fn mirror(formula: &Formula, x: &[Id], y: &[Id]) -> bool {
    let mut memo = HashMap::new();
    let mut keys = Keys {
        formula,
        memo: &mut memo,
        odd: HashMap::new(),
    };
    x.len() == y.len()
        && x.iter()
            .zip(y)
            .all(|(x, y)| keys.key(*x, false, false) == keys.key(*y, true, false))
}

/// Computes keys of nodes. A key is a 128-bit hash of a canonical form; equal keys mean equal bits.
///
/// Hashes instead of trees keep the work linear in the number of nodes, since a node used twice is
/// hashed once. Two of the at most 4 · 4096 keys agree by chance with a probability below 10⁻³⁰, so
/// a collision is not handled.
struct Keys<'a> {
    formula: &'a Formula,
    /// The key of (node, `swap`, `even`).
    memo: &'a mut HashMap<(Id, bool, bool), u128>,
    /// Whether exchanging the rows turns the sign of a node.
    odd: HashMap<Id, bool>,
}

impl Keys<'_> {
    /// Returns the key of `id`. With `swap` the rows are exchanged. With `even` the user of the
    /// value ignores its sign, so the key is that of the value up to its sign.
    ///
    /// The memo bounds the work: each node is visited once for each of the four settings.
    fn key(&mut self, id: Id, swap: bool, even: bool) -> u128 {
        if let Some(key) = self.memo.get(&(id, swap, even)) {
            return *key;
        }
        // A value that turns its sign is itself to one who ignores signs.
        let key = match swap && even && self.is_odd(id) {
            true => self.key(id, false, true),
            false => self.fresh(id, swap, even),
        };
        self.memo.insert((id, swap, even), key);
        key
    }
    /// Returns whether exchanging the rows turns the sign of `id` and nothing else, but for the
    /// sign of a zero.
    ///
    /// Sums of such values are odd themselves, because rounding to nearest is symmetric about zero.
    /// A quotient by an odd value is left out: 1 / 0 keeps its sign.
    fn is_odd(&mut self, id: Id) -> bool {
        if let Some(odd) = self.odd.get(&id) {
            return *odd;
        }
        let formula = self.formula;
        let odd = match formula.node(id) {
            Node::Delta | Node::DeltaAt(_) => true,
            Node::Unary(op, a) => keeps_sign(*op) && self.is_odd(*a),
            Node::Binary(Binary::Mul, a, b) => {
                (self.is_odd(*a) && self.is_even(*b)) || (self.is_even(*a) && self.is_odd(*b))
            }
            Node::Binary(Binary::Div, a, b) => self.is_odd(*a) && self.is_even(*b),
            Node::Binary(Binary::Add, a, b) => self.is_odd(*a) && self.is_odd(*b),
            Node::Binary(Binary::Sub, a, b) => {
                let exchanged = self.key(*a, false, false) == self.key(*b, true, false)
                    && self.key(*a, true, false) == self.key(*b, false, false);
                exchanged || (self.is_odd(*a) && self.is_odd(*b))
            }
            Node::Reduce(ComponentReduce::Sum, a) => self.is_odd(*a),
            Node::Binary(..)
            | Node::Reduce(..)
            | Node::UserReduce { .. }
            | Node::Select(..)
            | Node::Tuple(_)
            | Node::Const(_)
            | Node::Row(_)
            | Node::At(..)
            | Node::Given(_)
            | Node::Dim
            | Node::Bound(_) => false,
        };
        self.odd.insert(id, odd);
        odd
    }
    /// Returns whether exchanging the rows keeps `id`, to the bit.
    fn is_even(&mut self, id: Id) -> bool {
        self.key(id, false, false) == self.key(id, true, false)
    }
    /// Computes a key that the memo does not have.
    ///
    /// Rounding to nearest is symmetric about zero, so fl(y − x) = −fl(x − y). This is what `even`
    /// rests on: below a function that ignores the sign, exchanging the rows of a difference
    /// changes nothing. `even` passes through odd functions, since f(−a) = −f(a); `number` computes
    /// them with that symmetry. It stops at other functions and at reductions, because a sum of
    /// values with unknown signs is not known up to its sign.
    fn fresh(&mut self, id: Id, swap: bool, even: bool) -> u128 {
        let formula = self.formula;
        // With `swap` a leaf reads the other row: this is all that exchanging means.
        let side = |s: Side| if swap { s.other() } else { s };
        match formula.node(id) {
            Node::Row(s) => hash(&("row", side(*s))),
            Node::At(s, k) => hash(&("at", side(*s), k)),
            // The only node that both rows enter: exchanging turns its sign, which `even` ignores.
            Node::Delta => hash(&("delta", swap && !even)),
            Node::DeltaAt(k) => hash(&("delta", swap && !even, k)),
            Node::Unary(Unary::Neg, a) if even => self.key(*a, swap, true),
            Node::Unary(op, a) => {
                // f(−a) = f(a): below these the sign is irrelevant, regardless of what its user
                // above wants.
                let sign_free = matches!(op, Unary::Abs | Unary::Cos | Unary::Cosh | Unary::IsNan);
                // f(−a) = −f(a): the sign comes out, and is ignored if the user ignores it.
                let inner = self.key(*a, swap, sign_free || (even && keeps_sign(*op)));
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
            // A sum of values known up to their signs is not known up to its sign, so `even` ends
            // here.
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
    /// Computes the key of a function of two operands.
    ///
    /// A square and an even power (within the range that `number::pow` computes by multiplication)
    /// ignore the sign of the base. A product or quotient whose sign is ignored ignores the signs
    /// of its operands.
    fn binary(&mut self, op: Binary, a: Id, b: Id, swap: bool, even: bool) -> u128 {
        if op == Binary::Mul && a == b {
            let inner = self.key(a, swap, true);
            return hash(&("square", inner));
        }
        // Up to 64 powers are products, which are exact in the sign of their base.
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
        // Rounded addition and multiplication commute in all bits, as do the minimum and maximum of
        // `number`.
        let commutes = matches!(
            op,
            Binary::Add
                | Binary::Mul
                | Binary::BitAnd
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

/// Whether f(−a) = −f(a), to the bit.
fn keeps_sign(op: Unary) -> bool {
    matches!(
        op,
        Unary::Neg
            | Unary::Sin
            | Unary::Tan
            | Unary::Asin
            | Unary::Atan
            | Unary::Sign
            | Unary::Tanh
            | Unary::Sinh
    )
}

/// Hashes to 128 bits: two runs of the standard hasher, begun with different bytes.
/// `DefaultHasher::new` has fixed keys, so keys are the same in every run.
fn hash(value: &impl Hash) -> u128 {
    let mut low = DefaultHasher::new();
    let mut high = DefaultHasher::new();
    (1u8, value).hash(&mut low);
    (2u8, value).hash(&mut high);
    (u128::from(high.finish()) << 64) | u128::from(low.finish())
}

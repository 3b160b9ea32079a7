//! The typed graph of a pair formula.
//!
//! A formula is a list of nodes in which operands come before their users, and equal nodes exist
//! once (hash-consing; Ershov, *On programming of arithmetic operations*, 1958). A common
//! subexpression is therefore computed once, and passes over the formula are loops over a list,
//! without recursion.
//!
//! Adding a node also brings it to one spelling: constants are folded, `x − y` becomes
//! [`Node::Delta`], `−(−a)` becomes `a`, and below |·| and (·)² the sign of an operand is dropped.
//! Later analyses (symmetry, patterns, bounds) look for one spelling only. Every rewrite keeps the
//! bits of the value.
//!
//! The graph knows nothing of text (`parse.rs`), of tables or of kernels (`lower.rs`). It is total:
//! it has no loops, at most [`MAX_NODES`] nodes, and its only leaves are the two rows and
//! constants.

use super::operators;
pub use super::operators::{Binary, Unary};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// A node of a [`Formula`], by its place in the list. Nodes refer to earlier nodes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u32);

/// Which of the two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The row of the first input, called `x`.
    X,
    /// The row of the second input, called `y`.
    Y,
}

impl Side {
    /// Returns the other side.
    #[doc(hidden)]
    pub fn other(self) -> Side {
        match self {
            Side::X => Side::Y,
            Side::Y => Side::X,
        }
    }
}

/// Named reductions over the components of a row. `count` is `Sum` of truth values.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ComponentReduce {
    /// Σ, from +0 on, components in ascending order. `count` is a sum of truth values.
    Sum,
    /// Π, from 1 on.
    Prod,
    /// The largest; −∞ over no components.
    Max,
    /// The smallest; ∞ over no components.
    Min,
    /// Whether a component is true.
    Any,
    /// Whether all components are true; yes over none.
    All,
}

impl ComponentReduce {
    /// Returns the value of a reduction over no components.
    pub fn identity(self) -> f64 {
        match self {
            ComponentReduce::Sum | ComponentReduce::Any => 0.0,
            ComponentReduce::Prod | ComponentReduce::All => 1.0,
            ComponentReduce::Max => f64::NEG_INFINITY,
            ComponentReduce::Min => f64::INFINITY,
        }
    }
    /// Returns the operator that folds one more component in.
    pub fn operator(self) -> Binary {
        match self {
            ComponentReduce::Sum => Binary::Add,
            ComponentReduce::Prod => Binary::Mul,
            ComponentReduce::Max => Binary::Max,
            ComponentReduce::Min => Binary::Min,
            ComponentReduce::Any => Binary::Or,
            ComponentReduce::All => Binary::And,
        }
    }
}

/// One node. Truth values are the numbers 0 and 1, so that they can be summed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number, by its bits: NaN and −0 are then equal to themselves and nothing else.
    Const(u64),
    /// A whole row.
    Row(Side),
    /// Component `k` of a row.
    At(Side, u32),
    /// A vector that belongs to the formula, such as weights `w` or variances `V`; an index into
    /// [`Formula::vectors`].
    Given(u32),
    /// `x − y`, by the minimum image if the problem has a box. It is a node and not a subtraction,
    /// because a box changes it as a whole.
    Delta,
    /// Component `k` of [`Node::Delta`].
    DeltaAt(u32),
    /// The number of components of a row.
    Dim,
    /// A function of one operand, by components on vectors.
    Unary(Unary, Id),
    /// A function of two operands, by components where either is a vector.
    Binary(Binary, Id, Id),
    /// `if(c, a, b)`.
    Select(Id, Id, Id),
    /// A named reduction of a vector.
    Reduce(ComponentReduce, Id),
    /// A reduction by an associative operator `op` over [`Node::Bound`] operands: `reduce(|a, b|
    /// op, init, body)`.
    UserReduce {
        #[allow(missing_docs)]
        op: Id,
        #[allow(missing_docs)]
        init: Option<Id>,
        #[allow(missing_docs)]
        body: Id,
    },
    /// An operand of the operator of a user reduction: `false` is the accumulated number, `true`
    /// the next.
    Bound(bool),
    /// A short vector of scalars, as a value of the pair only.
    Tuple(Vec<Id>),
}

/// Says how many numbers a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One number.
    Scalar,
    /// One number per component.
    Vector,
    /// A short vector of that many numbers, as a value of the pair.
    Short(usize),
}

/// The type of a node. Truth values are kept apart from numbers so that `not 3` is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// How many numbers.
    pub shape: Shape,
    /// Whether they are truth values.
    pub truth: bool,
}

/// Says what a node depends on, as a set of bits: 1 is x, 2 is y, 4 the operands of a user
/// reduction.
pub type Deps = u8;
/// Depends on the row of x.
pub const DEP_X: Deps = 1;
/// Depends on the row of y.
pub const DEP_Y: Deps = 2;
/// Depends on the operands of a user reduction.
pub const DEP_BOUND: Deps = 4;

/// The most nodes of a formula. It bounds the cost of a pair and the size of generated code.
pub const MAX_NODES: usize = 4096;

/// A formula: nodes in an order in which operands come first, and roots, the value of the pair
/// first.
#[derive(Clone, Debug, Default)]
pub struct Formula {
    nodes: Vec<Node>,
    types: Vec<Type>,
    deps: Vec<Deps>,
    /// The place of every node, for sharing.
    seen: HashMap<Node, Id>,
    /// Vectors that belong to the formula, each with one number per component.
    pub vectors: Vec<Vec<f64>>,
    /// What is computed for every pair. Folds refer to a root by its place here.
    pub roots: Vec<Id>,
    /// The number of components of a row, if it is known. Numbers of a row beyond them are
    /// attributes, which a box does not change.
    pub components: Option<usize>,
}

/// The type of one number.
const NUMBER: Type = Type {
    shape: Shape::Scalar,
    truth: false,
};

impl Formula {
    /// An empty formula.
    pub fn new() -> Self {
        Self::default()
    }
    /// Returns all nodes, operands before users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// Returns the node `id`.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0 as usize]
    }
    /// Returns the type of `id`.
    pub fn ty(&self, id: Id) -> Type {
        self.types[id.0 as usize]
    }
    /// Returns what `id` depends on.
    pub fn deps(&self, id: Id) -> Deps {
        self.deps[id.0 as usize]
    }
    /// Returns the number of a constant node.
    pub fn constant(&self, id: Id) -> Option<f64> {
        match self.node(id) {
            Node::Const(bits) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }
    /// Returns whether a node is 0 or 1 for every pair: a condition, or a choice or a product of such.
    pub fn is_zero_or_one(&self, id: Id) -> bool {
        // Operands come before the nodes that use them, so shared ones are looked at once.
        let mut found: Vec<bool> = Vec::with_capacity(id.0 as usize + 1);
        for at in 0..=id.0 {
            let is = |id: &Id| found[id.0 as usize];
            let ty = self.ty(Id(at));
            let now = if let Some(value) = self.constant(Id(at)) {
                value == 0.0 || value == 1.0
            } else if let Node::Select(_, a, b) | Node::Binary(Binary::Mul, a, b) =
                self.node(Id(at))
            {
                is(a) && is(b)
            } else {
                ty.truth
            };
            found.push(now && ty.shape == Shape::Scalar);
        }
        found[id.0 as usize]
    }
    /// Adds the number `value`.
    ///
    /// # Errors
    /// `Request` when the formula is full.
    pub fn number(&mut self, value: f64) -> Result<Id> {
        self.add(Node::Const(value.to_bits()), NUMBER, 0)
    }
    /// Adds a vector that belongs to the formula; equal vectors are one.
    ///
    /// # Errors
    /// `Request` when the formula is full.
    pub fn given(&mut self, vector: Vec<f64>) -> Result<Id> {
        let at = match self.vectors.iter().position(|v| *v == vector) {
            Some(at) => at,
            None => {
                self.vectors.push(vector);
                self.vectors.len() - 1
            }
        };
        self.add(
            Node::Given(at as u32),
            Type {
                shape: Shape::Vector,
                truth: false,
            },
            0,
        )
    }
    /// Adds a leaf: a row, a component, the difference, the dimension, a bound operand.
    ///
    /// # Errors
    /// `Request` when the formula is full.
    pub fn leaf(&mut self, node: Node) -> Result<Id> {
        let (shape, deps) = match &node {
            Node::Row(side) => (Shape::Vector, side_bit(*side)),
            Node::At(side, _) => (Shape::Scalar, side_bit(*side)),
            Node::Delta => (Shape::Vector, DEP_X | DEP_Y),
            Node::DeltaAt(_) => (Shape::Scalar, DEP_X | DEP_Y),
            Node::Bound(_) => (Shape::Scalar, DEP_BOUND),
            _ => (Shape::Scalar, 0),
        };
        self.add(
            node,
            Type {
                shape,
                truth: false,
            },
            deps,
        )
    }
    /// Adds a function of one operand, by components on vectors.
    ///
    /// # Errors
    /// `Request` on a short vector, on `not` of a number, or when the formula is full.
    pub fn unary(&mut self, op: Unary, a: Id) -> Result<Id> {
        let t = self.ty(a);
        if let Shape::Short(_) = t.shape {
            return Err(Error::request(
                "a short vector can only be the value of a pair",
            ));
        }
        if op == Unary::Not && !t.truth {
            return Err(Error::request("'not' takes a truth value, here a number")
                .remedy("compare it: 'x != 0'"));
        }
        // |−a| is |a|, and |y − x| is |x − y|: one spelling, and one node instead of two.
        let a = if op == Unary::Abs { self.even(a)? } else { a };
        // Two negations cancel in all bits.
        if let (Unary::Neg, Node::Unary(Unary::Neg, inner)) = (op, self.node(a)) {
            return Ok(*inner);
        }
        // Folding uses the reference functions, so a constant has the bits that a kernel would
        // compute.
        if let Some(v) = self.constant(a) {
            let folded = operators::unary(op, v);
            return if op == Unary::Not {
                self.truth_constant(folded)
            } else {
                self.number(folded)
            };
        }
        let truth = matches!(op, Unary::Not | Unary::IsNan);
        self.add(
            Node::Unary(op, a),
            Type {
                shape: t.shape,
                truth,
            },
            self.deps(a),
        )
    }
    /// Adds a function of two operands; a scalar serves every component of a vector.
    ///
    /// # Errors
    /// `Request` on short vectors, on logic of numbers, or when the formula is full.
    pub fn binary(&mut self, op: Binary, a: Id, b: Id) -> Result<Id> {
        let (ta, tb) = (self.ty(a), self.ty(b));
        if matches!(ta.shape, Shape::Short(_)) || matches!(tb.shape, Shape::Short(_)) {
            return Err(Error::request(
                "a short vector can only be the value of a pair",
            ));
        }
        let logic = matches!(op, Binary::And | Binary::Or | Binary::Xor);
        if logic && !(ta.truth && tb.truth) {
            return Err(
                Error::request("'and', 'or', 'xor' take truth values, here a number")
                    .remedy("compare it: '(x != 0) and (y != 0)'"),
            );
        }
        // Comparisons and logic give truth values; everything else gives numbers.
        let truth = logic || matches!(op, Binary::Lt | Binary::Le | Binary::Eq | Binary::Ne);
        if let (Some(u), Some(v)) = (self.constant(a), self.constant(b)) {
            let folded = operators::binary(op, u, v);
            return if truth {
                self.truth_constant(folded)
            } else {
                self.number(folded)
            };
        }
        // A square loses the sign of its operand: (y − x)² is the same node as (x − y)².
        let (a, b) = if op == Binary::Mul && a == b {
            (self.even(a)?, self.even(b)?)
        } else {
            (a, b)
        };
        // A scalar spreads: it is one number that every component of the other operand meets.
        let shape = if ta.shape == Shape::Vector || tb.shape == Shape::Vector {
            Shape::Vector
        } else {
            Shape::Scalar
        };
        let node = self.difference(op, a, b).unwrap_or(Node::Binary(op, a, b));
        self.add(node, Type { shape, truth }, self.deps(a) | self.deps(b))
    }
    /// Returns the node for `x − y` or `x[k] − y[k]`, if `op` of `a` and `b` is one. Attributes (k
    /// from `components` on) stay subtractions, since no box is about them.
    fn difference(&self, op: Binary, a: Id, b: Id) -> Option<Node> {
        match (op, self.node(a), self.node(b)) {
            (Binary::Sub, Node::Row(Side::X), Node::Row(Side::Y)) => Some(Node::Delta),
            (Binary::Sub, Node::At(Side::X, k), Node::At(Side::Y, l))
                if k == l && self.components.is_none_or(|d| (*k as usize) < d) =>
            {
                Some(Node::DeltaAt(*k))
            }
            _ => None,
        }
    }
    /// Returns `a` without its sign, for users that ignore it: `−a` becomes `a`, and `y − x`
    /// becomes the difference `x − y`. Rounding is symmetric, so magnitudes and squares keep their
    /// bits.
    fn even(&mut self, a: Id) -> Result<Id> {
        match *self.node(a) {
            Node::Unary(Unary::Neg, inner) => self.even(inner),
            Node::Binary(Binary::Sub, p, q) => match self.difference(Binary::Sub, q, p) {
                Some(turned) => self.leaf(turned),
                None => Ok(a),
            },
            _ => Ok(a),
        }
    }
    /// Adds a constant truth value. A constant node has the type of numbers, so a truth value is
    /// kept as the comparison ½ < v, which is added without folding.
    fn truth_constant(&mut self, value: f64) -> Result<Id> {
        // A constant truth keeps its type through a comparison that cannot fold away.
        let v = self.number(value)?;
        let half = self.number(0.5)?;
        self.add(
            Node::Binary(Binary::Lt, half, v),
            Type {
                shape: Shape::Scalar,
                truth: true,
            },
            0,
        )
    }
    /// Adds `if(c, a, b)`. Both branches are values like any other; one of them is chosen.
    ///
    /// # Errors
    /// `Request` when `c` is a number, on short vectors, or when the formula is full.
    pub fn select(&mut self, c: Id, a: Id, b: Id) -> Result<Id> {
        let types = [self.ty(c), self.ty(a), self.ty(b)];
        if !types[0].truth {
            return Err(Error::request(
                "the first argument of 'if' is a truth value, here a number",
            )
            .remedy("compare it: 'if(x != 0, …)'"));
        }
        if types.iter().any(|t| matches!(t.shape, Shape::Short(_))) {
            return Err(Error::request(
                "a short vector can only be the value of a pair",
            ));
        }
        let shape = if types.iter().any(|t| t.shape == Shape::Vector) {
            Shape::Vector
        } else {
            Shape::Scalar
        };
        let truth = types[1].truth && types[2].truth;
        let deps = self.deps(c) | self.deps(a) | self.deps(b);
        self.add(Node::Select(c, a, b), Type { shape, truth }, deps)
    }
    /// Adds a named reduction over components.
    ///
    /// # Errors
    /// `Request` when `body` is a single number, when any/all meet numbers, or when the formula is
    /// full.
    pub fn reduce(&mut self, op: ComponentReduce, body: Id) -> Result<Id> {
        let t = self.ty(body);
        if t.shape != Shape::Vector {
            return Err(Error::request(
                "a reduction takes one number per component, here there is a single number",
            )
            .remedy("use whole rows inside it, as in 'sum(abs(x - y))'"));
        }
        let truth = matches!(op, ComponentReduce::Any | ComponentReduce::All);
        if truth && !t.truth {
            return Err(
                Error::request("'any' and 'all' take truth values, here numbers")
                    .remedy("compare: 'any(x != y)'"),
            );
        }
        // The operator of a user reduction sees two numbers, so a loop over components has nothing
        // to run over.
        if self.deps(body) & DEP_BOUND != 0 {
            return Err(Error::request(
                "the operator of 'reduce' works on two numbers; no reduction fits inside",
            ));
        }
        self.add(
            Node::Reduce(op, body),
            Type {
                shape: Shape::Scalar,
                truth,
            },
            self.deps(body),
        )
    }
    /// Adds a reduction by an associative operator. `op` consists of [`Node::Bound`] operands and
    /// constants, because it runs inside the loop over components, where no row is at hand.
    ///
    /// # Errors
    /// `Request` when `body` is a single number, when `op` uses the rows, or when the formula is
    /// full.
    pub fn user_reduce(&mut self, op: Id, init: Option<Id>, body: Id) -> Result<Id> {
        if self.ty(body).shape != Shape::Vector {
            return Err(Error::request(
                "the last argument of 'reduce' is one number per component",
            ));
        }
        if self.ty(op).shape != Shape::Scalar || self.deps(op) & !DEP_BOUND != 0 {
            return Err(Error::request(
                "the operator of 'reduce' may use its two operands and constants only",
            ));
        }
        if init.is_some_and(|i| self.ty(i).shape != Shape::Scalar || self.deps(i) & DEP_BOUND != 0)
        {
            return Err(Error::request(
                "the initial value of 'reduce' is a single number",
            ));
        }
        if self.deps(body) & DEP_BOUND != 0 {
            return Err(Error::request(
                "no 'reduce' fits inside the operator of another",
            ));
        }
        let deps = self.deps(body) | init.map_or(0, |i| self.deps(i));
        self.add(Node::UserReduce { op, init, body }, NUMBER, deps)
    }
    /// Adds a short vector of scalars.
    ///
    /// # Errors
    /// `Request` when a part is a vector, or there are none or more than 16.
    pub fn tuple(&mut self, parts: Vec<Id>) -> Result<Id> {
        if parts.is_empty() || parts.len() > 16 {
            return Err(
                Error::request(format!("a value of {} numbers", parts.len()))
                    .limit("1 to 16 numbers"),
            );
        }
        if parts.iter().any(|p| self.ty(*p).shape != Shape::Scalar) {
            return Err(Error::request("'vec' takes single numbers")
                .remedy("reduce or index the rows inside it"));
        }
        let deps = parts.iter().fold(0, |d, p| d | self.deps(*p));
        let shape = Shape::Short(parts.len());
        self.add(
            Node::Tuple(parts),
            Type {
                shape,
                truth: false,
            },
            deps,
        )
    }
    /// Returns the place of `node`, which is appended if it is new.
    fn add(&mut self, node: Node, ty: Type, deps: Deps) -> Result<Id> {
        // Hash-consing: an equal node exists already, with the same type, since the type follows
        // from the node.
        if let Some(id) = self.seen.get(&node) {
            return Ok(*id);
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(
                Error::request("the formula is too long").limit(format!("{MAX_NODES} operations"))
            );
        }
        let id = Id(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.types.push(ty);
        self.deps.push(deps);
        self.seen.insert(node, id);
        Ok(id)
    }
    /// Returns the operands of `id`, in order.
    pub fn operands(&self, id: Id) -> Vec<Id> {
        match self.node(id) {
            Node::Unary(_, a) | Node::Reduce(_, a) => vec![*a],
            Node::Binary(_, a, b) => vec![*a, *b],
            Node::Select(c, a, b) => vec![*c, *a, *b],
            Node::UserReduce { op, init, body } => {
                let mut all = vec![*op];
                all.extend(*init);
                all.push(*body);
                all
            }
            Node::Tuple(parts) => parts.clone(),
            _ => vec![],
        }
    }
    /// Returns for each node whether a root needs it. Rewrites leave nodes behind that nobody uses;
    /// passes skip them.
    pub fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        for root in &self.roots {
            live[root.0 as usize] = true;
        }
        // From the last node to the first: a user comes after its operands, so one pass marks all.
        for at in (0..self.nodes.len()).rev() {
            if live[at] {
                for operand in self.operands(Id(at as u32)) {
                    live[operand.0 as usize] = true;
                }
            }
        }
        live
    }
    /// Returns the least number of components that the indices need: `x[2]` needs 3.
    pub fn min_dim(&self) -> usize {
        let live = self.live();
        let need = |n: &Node| match n {
            Node::At(_, k) | Node::DeltaAt(k) => *k as usize + 1,
            _ => 0,
        };
        self.nodes
            .iter()
            .zip(live)
            .filter(|(_, l)| *l)
            .map(|(n, _)| need(n))
            .max()
            .unwrap_or(0)
    }
    /// Returns how many numbers root `at` has for rows of `dim` components.
    pub fn width(&self, at: usize, dim: usize) -> usize {
        match self.ty(self.roots[at]).shape {
            Shape::Scalar => 1,
            Shape::Vector => dim,
            Shape::Short(n) => n,
        }
    }
}

/// Returns the bit of a side in [`Deps`].
fn side_bit(side: Side) -> Deps {
    match side {
        Side::X => DEP_X,
        Side::Y => DEP_Y,
    }
}

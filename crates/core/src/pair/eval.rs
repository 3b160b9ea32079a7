//! Computes the reference value of a formula: f64, components in ascending order, no contraction.
//!
//! This evaluator *is* the meaning of a formula (invariant REFERENCE-VALUE). All kernels are held
//! to its bits, or, in single precision, to a bound around them. So it is written to be evidently
//! right and fast enough for three uses: the oracle, hoisting ([`super::lower`]) and formulas for
//! which no code can be generated.
//!
//! It evaluates node by node over L pairs at once. A node is a loop over lanes that the compiler
//! turns into vector instructions, which divides the cost of interpreting a node by L. Lanes do not
//! interact, so the bits do not depend on L.

use super::operators::{binary, function, unary};
use super::tree::{Binary, ComponentReduce, DEP_X, DEP_Y, Formula, Id, Node, Shape, Side, Unary};
use crate::number::Function;
use crate::number::function::{self, Visit};
use std::array::from_fn;
use std::ops::Range;

/// One number for each pair that is evaluated at once.
type Lanes<const L: usize> = [f64; L];

/// The numbers of an operand: one set of lanes for every component, or one for all.
///
/// Nodes mix both freely (`x / norm(x)`), so each operation asks the operand and not its type.
#[derive(Clone, Copy)]
struct Operand<'v, const L: usize>(&'v [Lanes<L>]);

impl<const L: usize> Operand<'_, L> {
    /// Returns the lanes of component `k`. A scalar has one element, which serves every component.
    #[inline(always)]
    fn component(&self, k: usize) -> &Lanes<L> {
        self.0.get(k).unwrap_or(&self.0[0])
    }
}

/// Applies `f` to every component and lane. Each function has its own copy of the loop, which the
/// compiler can vectorise; a match inside the loop would prevent that.
#[inline(always)]
fn each<const L: usize>(out: &mut [Lanes<L>], a: Operand<'_, L>, f: impl Fn(f64) -> f64) {
    for (k, out) in out.iter_mut().enumerate() {
        let a = a.component(k);
        for l in 0..L {
            out[l] = f(a[l]);
        }
    }
}

/// Applies `f` to every component and lane of two operands.
#[inline(always)]
fn each_of_two<const L: usize>(
    out: &mut [Lanes<L>],
    a: Operand<'_, L>,
    b: Operand<'_, L>,
    f: impl Fn(f64, f64) -> f64,
) {
    for (k, out) in out.iter_mut().enumerate() {
        let (a, b) = (a.component(k), b.component(k));
        for l in 0..L {
            out[l] = f(a[l], b[l]);
        }
    }
}

/// Folds components in ascending order, lane by lane. The compiler may not reorder the additions.
///
/// Parallelism is across lanes, that is across pairs, so the order within a pair stays.
#[inline(always)]
fn fold<const L: usize>(
    mut acc: Lanes<L>,
    values: &[Lanes<L>],
    f: impl Fn(f64, f64) -> f64,
) -> Lanes<L> {
    for v in values {
        for l in 0..L {
            acc[l] = f(acc[l], v[l]);
        }
    }
    acc
}

/// Folds components from `start`, which is the identity or the result of the components before. A
/// sum begins with +0, so a sum of −0 alone is +0.
fn reduce<const L: usize>(op: ComponentReduce, start: Lanes<L>, values: &[Lanes<L>]) -> Lanes<L> {
    match op {
        ComponentReduce::Sum => fold(start, values, |a, b| a + b),
        op => fold(start, values, |a, b| binary(op.operator(), a, b)),
    }
}

/// Applies a function of `number`: straight-line code for all lanes, and a call for the few numbers
/// that need another way. A visitor instead of a closure, because the function is a type parameter.
struct Each<'o, 'v, const L: usize> {
    out: &'o mut [Lanes<L>],
    a: Operand<'v, L>,
}

impl<const L: usize> Visit for Each<'_, '_, L> {
    type Out = ();
    #[inline(always)]
    fn visit<F: Function>(self) {
        for (k, out) in self.out.iter_mut().enumerate() {
            function::apply::<F, f64>(out, self.a.component(k));
        }
    }
}

/// Applies a function of one operand to all components and lanes.
///
/// The three that are one instruction have loops of their own. Elementary functions have
/// straight-line code for all lanes; the rest goes number by number.
fn unary_each<const L: usize>(op: Unary, out: &mut [Lanes<L>], a: Operand<'_, L>) {
    match op {
        Unary::Neg => each(out, a, |a| -a),
        Unary::Abs => each(out, a, f64::abs),
        Unary::Sqrt => each(out, a, f64::sqrt),
        op => {
            if function(op, Each { out: &mut *out, a }).is_none() {
                each(out, a, |a| unary(op, a));
            }
        }
    }
}

/// Applies a function of two operands to all components and lanes.
///
/// `operators::binary` would give the same bits; the four arms exist for vector code.
fn binary_each<const L: usize>(
    op: Binary,
    out: &mut [Lanes<L>],
    a: Operand<'_, L>,
    b: Operand<'_, L>,
) {
    match op {
        Binary::Add => each_of_two(out, a, b, |a, b| a + b),
        Binary::Sub => each_of_two(out, a, b, |a, b| a - b),
        Binary::Mul => each_of_two(out, a, b, |a, b| a * b),
        Binary::Div => each_of_two(out, a, b, |a, b| a / b),
        op => each_of_two(out, a, b, |a, b| binary(op, a, b)),
    }
}

/// The rows of L pairs and their differences, by the minimum image if there is a box.
///
/// Component k of pair l is at `k * L + l`: components are apart and pairs next to each other, so
/// that one component of all pairs is one vector.
///
/// All three are slices of the caller, so no row is copied for an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The rows of x.
    pub x: &'a [f64],
    /// The rows of y.
    pub y: &'a [f64],
    /// `x − y`. Empty if no node reads it.
    pub delta: &'a [f64],
}

/// Components that are evaluated at once if the formula allows it. A piece of 64 components of 8
/// lanes takes 4 KiB per node, so a formula of several nodes stays in the first cache; whole rows
/// of 1000 components would not.
const NEAR: usize = 64;

/// Nodes that depend on rows, in the order in which they are computed.
///
/// One loop over all nodes would need every vector whole; three parts let a vector be as short as a
/// piece.
#[derive(Debug, Default)]
struct Steps {
    /// Computed before the loop over pieces; or all nodes, if the loop is not possible.
    before: Vec<usize>,
    /// Computed for each piece of components: vectors, and the reductions that fold them.
    pieces: Vec<usize>,
    /// Computed after the last piece: what needs a finished reduction.
    after: Vec<usize>,
}

impl Steps {
    /// Sorts the nodes `all` into steps. `scalars` says that no vector is a result.
    ///
    /// Pieces need vectors that exist only within a piece. They are not possible if a vector is a
    /// result, if a vector depends on a reduction (its first component needs the last one of
    /// another vector), if a vector depends on no row (it was computed whole and is not read by
    /// pieces), or for a `reduce` with an operator of the formula. Then every node is computed over
    /// all components in turn.
    fn new(formula: &Formula, all: Vec<usize>, scalars: bool) -> Steps {
        // `late` marks nodes that need the result of a reduction, which exists only after the last
        // component.
        let mut late = vec![false; formula.nodes().len()];
        let (mut steps, mut whole) = (Steps::default(), !scalars);
        for at in &all {
            let id = Id(*at as u32);
            // A vector that depends on no row is there as a whole.
            let fixed =
                |o: &Id| formula.ty(*o).shape == Shape::Vector && !all.contains(&(o.0 as usize));
            whole |= formula.operands(id).iter().any(fixed);
            late[*at] = formula.operands(id).iter().any(|o| late[o.0 as usize]);
            match (formula.node(id), formula.ty(id).shape) {
                // Its operator starts from the first component, which a second piece would take for
                // a new beginning.
                (Node::UserReduce { .. }, _) => whole = true,
                // A reduction of a late vector would begin before its operand is finished.
                (Node::Reduce(..), _) => {
                    whole |= late[*at];
                    late[*at] = true;
                    steps.pieces.push(*at);
                }
                (_, Shape::Vector) => {
                    whole |= late[*at];
                    steps.pieces.push(*at);
                }
                // Scalars before the loop (attributes, single components) or after it (what follows
                // a reduction).
                _ if late[*at] => steps.after.push(*at),
                _ => steps.before.push(*at),
            }
        }
        if whole {
            Steps {
                before: all,
                ..Steps::default()
            }
        } else {
            steps
        }
    }
}

/// Evaluates formulas node by node, for L pairs at once. It keeps its buffers, so one evaluator
/// serves many pairs without allocation.
///
/// A node's values stay until the next run, so any node can be read as a result.
#[derive(Debug)]
pub struct Evaluator<'f, const L: usize = 1> {
    formula: &'f Formula,
    /// What is computed in every run. Nodes that depend on no row were computed when it was made.
    steps: Steps,
    dim: usize,
    scalars: Vec<Lanes<L>>,
    /// By node, component and lane; empty for scalars.
    vectors: Vec<Vec<Lanes<L>>>,
}

impl<'f> Evaluator<'f> {
    /// Returns an evaluator of the roots of `formula` on rows of `dim` components.
    pub fn new(formula: &'f Formula, dim: usize) -> Self {
        // Roots may be vectors, so vectors are kept whole.
        Self::for_nodes(formula, formula.live(), dim, false)
    }
    /// Appends the value of root `at` to `out`.
    ///
    /// A vector root appends `dim` numbers, a short vector its parts, any other root one number.
    pub fn push_root(&self, at: usize, out: &mut Vec<f64>) {
        let root = self.formula.roots[at];
        match (self.formula.ty(root).shape, self.formula.node(root)) {
            (Shape::Vector, _) => out.extend_from_slice(self.vector(root).as_flattened()),
            (_, Node::Tuple(parts)) => out.extend(parts.iter().map(|p| self.scalar(*p)[0])),
            _ => out.push(self.scalar(root)[0]),
        }
    }
}

impl<'f, const L: usize> Evaluator<'f, L> {
    /// Returns an evaluator of the nodes in `targets` and what they need.
    pub fn of_nodes(formula: &'f Formula, targets: &[Id], dim: usize) -> Self {
        let mut wanted = vec![false; formula.nodes().len()];
        targets.iter().for_each(|t| wanted[t.0 as usize] = true);
        // Backwards, because a node comes after its operands: one pass marks all that targets need.
        for at in (0..wanted.len()).rev() {
            if wanted[at] {
                formula
                    .operands(Id(at as u32))
                    .iter()
                    .for_each(|o| wanted[o.0 as usize] = true);
            }
        }
        let scalars = targets
            .iter()
            .all(|t| formula.ty(*t).shape == Shape::Scalar);
        Self::for_nodes(formula, wanted, dim, scalars)
    }
    /// Returns an evaluator of the nodes that are `wanted`, in which everything that depends on no
    /// row is computed already.
    fn for_nodes(formula: &'f Formula, mut wanted: Vec<bool>, dim: usize, scalars: bool) -> Self {
        // Operators of user reductions are evaluated inside the reduction, not on their own.
        for (at, flag) in wanted.iter_mut().enumerate() {
            *flag &= formula.deps(Id(at as u32)) & super::tree::DEP_BOUND == 0;
        }
        let n = formula.nodes().len();
        let is_vector = |at: usize| formula.ty(Id(at as u32)).shape == Shape::Vector;
        let len = |at: usize| if is_vector(at) && wanted[at] { dim } else { 0 };
        // Whole buffers, also where pieces will use the first 64 components: the choice comes
        // later.
        let vectors = (0..n).map(|at| vec![[0.0; L]; len(at)]).collect();
        // Nodes without rows below them: constants, given vectors, and what is made of them.
        let is_fixed = |at: &usize| formula.deps(Id(*at as u32)) & (DEP_X | DEP_Y) == 0;
        let (fixed, steps) = (0..n).filter(|at| wanted[*at]).partition(is_fixed);
        let fixed = Steps {
            before: fixed,
            ..Steps::default()
        };
        let mut made = Evaluator {
            formula,
            steps: fixed,
            dim,
            scalars: vec![[0.0; L]; n],
            vectors,
        };
        // Fixed nodes read no rows, so empty ones will do.
        made.run(Rows {
            x: &[],
            y: &[],
            delta: &[],
        });
        Evaluator {
            steps: Steps::new(formula, steps, scalars),
            ..made
        }
    }
    /// Evaluates all nodes for L pairs of rows; then read [`Self::scalar`] and [`Self::vector`].
    pub fn run(&mut self, rows: Rows<'_>) {
        // Taken out while the loops borrow the evaluator mutably, and put back at the end.
        let steps = std::mem::take(&mut self.steps);
        steps
            .before
            .iter()
            .for_each(|at| self.step(*at, rows, 0..self.dim));
        // At least once: rows without components have the reductions of none.
        let mut start = 0;
        while !steps.pieces.is_empty() {
            // All nodes for one piece, then the next: vectors of a piece are still in the cache for
            // the nodes after them.
            let end = self.dim.min(start + NEAR);
            steps
                .pieces
                .iter()
                .for_each(|at| self.step(*at, rows, start..end));
            start = end;
            if start == self.dim {
                break;
            }
        }
        steps
            .after
            .iter()
            .for_each(|at| self.step(*at, rows, 0..self.dim));
        self.steps = steps;
    }
    /// Returns the numbers of a scalar node, after [`Self::run`].
    pub fn scalar(&self, id: Id) -> &Lanes<L> {
        &self.scalars[id.0 as usize]
    }
    /// Returns the numbers of a vector node by component, after [`Self::run`]. They are complete
    /// only if the node is a target of [`Self::of_nodes`] or a root.
    pub fn vector(&self, id: Id) -> &[Lanes<L>] {
        &self.vectors[id.0 as usize]
    }
    /// Computes a node for the components `range`. A reduction goes on from the components before.
    /// The buffer of a vector is taken out while it is written, so that its operands can be read.
    fn step(&mut self, at: usize, rows: Rows<'_>, range: Range<usize>) {
        let id = Id(at as u32);
        match (self.formula.ty(id).shape, self.formula.node(id)) {
            (Shape::Vector, _) => {
                // Taking the buffer is free, and lets the operation read all other buffers.
                let mut out = std::mem::take(&mut self.vectors[at]);
                self.components(id, rows, &range, &mut out[..range.len()]);
                self.vectors[at] = out;
            }
            (Shape::Scalar, Node::Reduce(op, body)) => {
                // The first piece begins with the identity, others go on from the pieces before.
                let start = if range.start == 0 {
                    [op.identity(); L]
                } else {
                    self.scalars[at]
                };
                self.scalars[at] = reduce(*op, start, &self.vector(*body)[..range.len()]);
            }
            (Shape::Scalar, _) => self.scalars[at] = self.single(id, rows),
            // A short vector has no buffer: its parts are nodes of their own.
            (Shape::Short(_), _) => {}
        }
    }
    /// Returns the numbers of a node that was computed before, as an operand.
    fn operand(&self, id: Id) -> Operand<'_, L> {
        match self.formula.ty(id).shape {
            Shape::Vector => Operand(&self.vectors[id.0 as usize]),
            _ => Operand(std::slice::from_ref(self.scalar(id))),
        }
    }
    /// Computes the components `range` of a vector node. Leaves read their own range; operands hold
    /// the same range at the beginning of their buffers.
    fn components(&self, id: Id, rows: Rows<'_>, range: &Range<usize>, out: &mut [Lanes<L>]) {
        match self.formula.node(id) {
            Node::Row(Side::X) => out.copy_from_slice(&rows.x.as_chunks().0[range.clone()]),
            Node::Row(Side::Y) => out.copy_from_slice(&rows.y.as_chunks().0[range.clone()]),
            Node::Delta => out.copy_from_slice(&rows.delta.as_chunks().0[range.clone()]),
            Node::Given(v) => {
                let given = &self.formula.vectors[*v as usize][range.clone()];
                out.iter_mut().zip(given).for_each(|(o, v)| *o = [*v; L]);
            }
            // Without components a scalar operand has nothing to spread to.
            _ if !range.is_empty() => self.apply(id, out),
            _ => {}
        }
    }
    /// Applies the operation of a node to as many components as `out` has.
    fn apply(&self, id: Id, out: &mut [Lanes<L>]) {
        match self.formula.node(id) {
            Node::Unary(op, a) => unary_each(*op, out, self.operand(*a)),
            Node::Binary(op, a, b) => binary_each(*op, out, self.operand(*a), self.operand(*b)),
            Node::Select(c, a, b) => {
                let (c, a, b) = (self.operand(*c), self.operand(*a), self.operand(*b));
                for (k, out) in out.iter_mut().enumerate() {
                    let (c, a, b) = (c.component(k), a.component(k), b.component(k));
                    // A condition that is NaN counts as true here, as any number but 0; comparisons
                    // never give one.
                    *out = from_fn(|l| if c[l] != 0.0 { a[l] } else { b[l] });
                }
            }
            // No other node has an operation. NaN would be seen in every answer.
            _ => out.fill([f64::NAN; L]),
        }
    }
    /// Computes a scalar node.
    fn single(&self, id: Id, rows: Rows<'_>) -> Lanes<L> {
        match self.formula.node(id) {
            Node::Const(bits) => [f64::from_bits(*bits); L],
            Node::At(Side::X, k) => rows.x.as_chunks().0[*k as usize],
            Node::At(Side::Y, k) => rows.y.as_chunks().0[*k as usize],
            Node::DeltaAt(k) => rows.delta.as_chunks().0[*k as usize],
            Node::Dim => [self.dim as f64; L],
            Node::UserReduce { op, init, body } => self.user_reduce(*op, *init, *body),
            _ => {
                let mut out = [[0.0; L]];
                self.apply(id, &mut out);
                out[0]
            }
        }
    }
    /// Folds a vector by an operator of the formula, from its first value or the first component.
    /// Without either the result is NaN.
    fn user_reduce(&self, op: Id, init: Option<Id>, body: Id) -> Lanes<L> {
        let mut values = self.vector(body).iter();
        let first = init
            .map(|i| *self.scalar(i))
            .or_else(|| values.next().copied());
        // The operator is walked for each component and lane: slow, and its kernels are generated
        // code.
        let fold = |acc: Lanes<L>, v: &Lanes<L>| from_fn(|l| bound(self.formula, op, acc[l], v[l]));
        first.map_or([f64::NAN; L], |first| values.fold(first, fold))
    }
}

/// Applies the operator `op` of a user reduction to two numbers, by walking its nodes. Only nodes
/// that [`Formula::user_reduce`] admits can occur.
pub fn bound(formula: &Formula, op: Id, acc: f64, next: f64) -> f64 {
    let go = |id: Id| bound(formula, id, acc, next);
    match formula.node(op) {
        Node::Bound(false) => acc,
        Node::Bound(true) => next,
        Node::Const(bits) => f64::from_bits(*bits),
        Node::Unary(f, a) => unary(*f, go(*a)),
        Node::Binary(f, a, b) => binary(*f, go(*a), go(*b)),
        // Only the chosen side is walked, which changes no bit: operators have no effects.
        Node::Select(c, a, b) => go(if go(*c) != 0.0 { *a } else { *b }),
        _ => f64::NAN,
    }
}

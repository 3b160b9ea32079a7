//! From a lowered formula to instructions over lanes: one register a pair node, operands resolved
//! to their source.
//!
//! ```text
//! for each stage of the lowered formula                          one loop over the components
//!     scalars:  nodes that the loop needs before it              one instruction each
//!     for each reduction of the stage
//!         a recognised form: its two vectors and a register      a kernel computes it
//!         another one:       operation, operand, register
//!     body:     nodes by component, if another one reads them
//! finish:  nodes after the loops
//! tail:    nodes by component, of roots that are vectors
//! operand of a node: component of a hoisted vector, hoisted number, constant, difference in a box,
//!                    or the register of the node
//! ```
//!
//! Why this shape: nodes are unique (equal subterms are one node), so a register for each node
//! computes nothing twice. Registers are not shared over time: one is a block of lanes, a formula
//! has a few, and the compiler to machine code (`jit`), which begins from this program too,
//! allocates its own.

use std::collections::HashMap;
use std::sync::Arc;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::pair::source::Source;
use zipfold_core::pair::tree::{Binary, ComponentReduce, Formula, Id, Node, Shape, Side, Unary};

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Src {
    /// A register.
    Reg(usize),
    /// Component k of hoisted vector `.0` of the row of x.
    XStream(usize),
    /// Component k of hoisted vector `.0` of the lanes of y.
    YStream(usize),
    /// Component k of constant vector `.0`.
    Vector(usize),
    /// Hoisted number `.0` of the row of x.
    XAttr(usize),
    /// Hoisted number `.0` of the lanes of y.
    YAttr(usize),
    /// A number.
    Const(f64),
    /// Component k of the difference (kept for all k, for boxes).
    DeltaK,
    /// Component `.0` of the difference.
    DeltaAt(usize),
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LaneOp {
    /// A function of one operand.
    Unary(Unary),
    /// A function of two.
    Binary(Binary),
    /// A choice.
    Select,
}

/// One instruction over all lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneInst {
    /// What.
    pub op: LaneOp,
    /// Result register.
    pub dst: usize,
    /// Operands; unused ones repeat the first.
    pub src: [Src; 3],
}

/// A reduction inside a stage.
#[derive(Clone, Debug)]
pub enum Acc {
    /// A named reduction of a body.
    Named(ComponentReduce, Src, usize),
    /// A recognised form of two streams (x side, y side).
    Reduction(Reduction, usize, usize, usize),
    /// A user's operator: node, initial value, body, register.
    User(Id, Option<Src>, Src, usize),
}

/// One loop over components.
#[derive(Clone, Debug)]
pub struct StageProgram {
    /// Before the loop.
    pub scalars: Vec<LaneInst>,
    /// For each component.
    pub body: Vec<LaneInst>,
    /// Folded after the body, for each component.
    pub accs: Vec<Acc>,
}

/// A whole program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Loops, in order.
    pub stages: Vec<StageProgram>,
    /// After the loops.
    pub finish: Vec<LaneInst>,
    /// For vector-valued roots: for each component.
    pub tail: Vec<LaneInst>,
    /// For every root its numbers: one operand, several of a tuple, or the vector computed by
    /// `tail`.
    pub roots: Vec<Vec<Src>>,
    /// Registers used.
    pub registers: usize,
    /// Whether the difference by the minimum image is needed.
    pub periodic: bool,
}

impl Program {
    /// Whether vectors of rows are read where recognised reductions are given.
    pub fn reads_vectors(&self) -> bool {
        let body = |s: &StageProgram| {
            !s.body.is_empty() || s.accs.iter().any(|a| !matches!(a, Acc::Reduction(..)))
        };
        self.periodic
            || !self.tail.is_empty()
            || self.stages.iter().any(body)
            || self.roots.iter().any(|r| r.iter().any(is_vector))
    }
}

/// Whether an operand is a component of a vector.
fn is_vector(src: &Src) -> bool {
    matches!(src, Src::XStream(_) | Src::YStream(_) | Src::Vector(_))
}

struct Compiler<'l> {
    low: &'l Lowered,
    regs: HashMap<Id, usize>,
}

/// The program of `low`, compiled once.
pub fn compile(low: &Lowered) -> Arc<Program> {
    low.made.get(0, || fresh(low))
}

fn fresh(low: &Lowered) -> Program {
    let mut c = Compiler {
        low,
        regs: HashMap::new(),
    };
    let stages = low.stages.iter().map(|s| c.stage(s)).collect();
    let finish = low.finish.iter().filter_map(|id| c.inst(*id)).collect();
    let tail = low
        .vector_tail
        .iter()
        .filter_map(|id| c.inst(*id))
        .collect();
    let roots = low.formula.roots.iter().map(|r| c.root(*r)).collect();
    Program {
        stages,
        finish,
        tail,
        roots,
        registers: c.regs.len(),
        periodic: low.periodic,
    }
}

impl Compiler<'_> {
    fn formula(&self) -> &Formula {
        &self.low.formula
    }
    fn reg(&mut self, id: Id) -> usize {
        let next = self.regs.len();
        *self.regs.entry(id).or_insert(next)
    }
    fn stage(&mut self, stage: &zipfold_core::pair::lower::Stage) -> StageProgram {
        let scalars = stage
            .scalars
            .iter()
            .filter_map(|id| self.inst(*id))
            .collect();
        let accs: Vec<Acc> = stage.reduces.iter().map(|id| self.acc(*id)).collect();
        // Vectors that only recognised forms use need not be computed.
        let needed = accs.iter().any(|a| !matches!(a, Acc::Reduction(..)));
        let body = if needed {
            stage
                .vectors
                .iter()
                .filter_map(|id| self.inst(*id))
                .collect()
        } else {
            vec![]
        };
        StageProgram {
            scalars,
            body,
            accs,
        }
    }
    fn acc(&mut self, id: Id) -> Acc {
        let dst = self.reg(id);
        if let Some(reduction) = self.low.reduction(id) {
            let [x, y] = reduction.row_vectors;
            return Acc::Reduction(reduction.form, x, y, dst);
        }
        match self.formula().node(id).clone() {
            Node::UserReduce { op, init, body } => {
                let init = init.map(|i| self.src(i));
                let body = self.src(body);
                Acc::User(op, init, body, dst)
            }
            Node::Reduce(op, body) => Acc::Named(op, self.src(body), dst),
            _ => Acc::Named(ComponentReduce::Sum, Src::Const(f64::NAN), dst),
        }
    }
    fn src(&mut self, id: Id) -> Src {
        match self.low.source(id) {
            Source::Stream(Side::X, s) => Src::XStream(s),
            Source::Stream(Side::Y, s) => Src::YStream(s),
            Source::Attr(Side::X, a) => Src::XAttr(a),
            Source::Attr(Side::Y, a) => Src::YAttr(a),
            Source::Vector(v) => Src::Vector(v),
            Source::Const(c) => Src::Const(c),
            Source::Pair => match (self.formula().node(id), self.low.periodic) {
                (Node::Delta, true) => Src::DeltaK,
                (Node::DeltaAt(k), true) => Src::DeltaAt(*k as usize),
                _ => Src::Reg(self.reg(id)),
            },
        }
    }
    /// The instruction that computes pair node `id`; none for differences in a box, which are
    /// computed once.
    fn inst(&mut self, id: Id) -> Option<LaneInst> {
        let node = self.formula().node(id).clone();
        let (op, operands) = match node {
            Node::Unary(op, a) => (LaneOp::Unary(op), vec![a]),
            Node::Binary(op, a, b) => (LaneOp::Binary(op), vec![a, b]),
            Node::Select(c, a, b) => (LaneOp::Select, vec![c, a, b]),
            Node::Delta if !self.low.periodic => {
                (LaneOp::Binary(Binary::Sub), self.sides(Node::Row))
            }
            Node::DeltaAt(k) if !self.low.periodic => {
                (LaneOp::Binary(Binary::Sub), self.sides(|s| Node::At(s, k)))
            }
            _ => return None,
        };
        let src: Vec<Src> = operands.into_iter().map(|o| self.src(o)).collect();
        let at = |i: usize| *src.get(i).unwrap_or(&src[0]);
        Some(LaneInst {
            op,
            dst: self.reg(id),
            src: [at(0), at(1), at(2)],
        })
    }
    fn sides(&self, make: impl Fn(Side) -> Node) -> Vec<Id> {
        let find = |side| {
            let wanted = make(side);
            self.formula()
                .nodes()
                .iter()
                .position(|n| *n == wanted)
                .map_or(Id(0), |at| Id(at as u32))
        };
        vec![find(Side::X), find(Side::Y)]
    }
    fn root(&mut self, id: Id) -> Vec<Src> {
        match (self.formula().node(id).clone(), self.formula().ty(id).shape) {
            (Node::Tuple(parts), _) => parts.into_iter().map(|p| self.src(p)).collect(),
            _ => vec![self.src(id)],
        }
    }
}

/// Whether root `at` is a vector over components.
pub fn is_vector_root(low: &Lowered, at: usize) -> bool {
    low.formula.ty(low.formula.roots[at]).shape == Shape::Vector
}

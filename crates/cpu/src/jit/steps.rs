//! A program made ready for the jit: recognised reductions and operators of users as instructions,
//! what nobody reads left out, and where calls of functions cut the instructions into segments.
//!
//! ```text
//! for each stage of the program
//!     its instructions; each reduction as an instruction of the body and a fold
//!     a user's operator: its nodes, inlined, with the accumulator as an operand
//! finish and results; results that are vectors: a loop over the components of their own
//! f32, AVX-512: exponentials of a product become powers of two            one product less
//! differences turned so that both signs share a value
//! sums: the last factors move out of the sum (f32); weights become a factor of the result
//! cut at calls of functions; values read in a later segment cross        they go to the frame
//! ```
//!
//! Why this shape: rewrites work on a list of steps of the formula, before tiles multiply each step
//! by rows and vectors. What changes a bit is allowed in single precision only.

use super::Results;
use super::calls::Call;
use super::differences::turn;
use super::products::factors;
use super::step::{Fold, Kind, Loop, Step, Steps, all, arity, drop_unread, multiplied, reads};
use crate::pairs::program::{Acc, LaneInst, LaneOp, Program, Src, StageProgram, is_vector_root};
use std::collections::HashMap;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::pair::tree::{Binary, ComponentReduce, Id, Node, Unary};

/// What code is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Single precision.
    pub single: bool,
    /// AVX-512, else AVX2.
    pub wide: bool,
    /// Recognised forms are given by the dense kernels.
    pub given: bool,
    /// What becomes of results.
    pub results: Results,
}

struct StepMaker<'p> {
    low: &'p Lowered,
    single: bool,
    given: bool,
    reductions: usize,
    registers: usize,
}

/// Makes `program` ready for `target`.
///
/// # Errors
/// What the jit cannot express.
pub(super) fn steps(
    low: &Lowered,
    program: &Program,
    target: Target,
) -> Result<Steps, &'static str> {
    let Target { single, given, .. } = target;
    let mut maker = StepMaker {
        low,
        single,
        given,
        reductions: 0,
        registers: program.registers,
    };
    let mut out = Steps::default();
    for stage in &program.stages {
        out.loops.push(maker.stage(stage)?);
    }
    outputs(low, program, &mut out);
    if single && target.wide {
        powers(&mut out);
    }
    turn(&mut out);
    out.registers = maker.registers;
    let decides = all(&out).any(|s| matches!(s, Step::Inst(inst, _) if decides(inst.op)));
    out.decides = decides;
    let weight =
        (target.results == Results::WeightedSums).then_some(Src::YAttr(low.row_scalars[1].len()));
    if single && target.results.are_added() {
        factors(&mut out, weight, target.wide);
    } else if weight.is_some() {
        let bodies = out.loops.iter_mut().flat_map(|l| &mut l.body);
        for step in bodies.chain(&mut out.finish) {
            if let Step::Out(_, factor, ..) = step {
                *factor = weight;
            }
        }
    }
    out.crossing = crossing(&out, target);
    let calls = all(&out).any(|s| call(s, target).is_some());
    out.calls = calls;
    Ok(out)
}

/// Adds what comes after the reductions, and the results: those of a vector in a loop of their own.
fn outputs(low: &Lowered, program: &Program, out: &mut Steps) {
    let plain = |list: &[LaneInst]| {
        list.iter()
            .map(|i| Step::Inst(*i, None))
            .collect::<Vec<_>>()
    };
    out.finish = plain(&program.finish);
    let mut tail = vec![];
    for (at, parts) in program.roots.iter().enumerate() {
        let vector = is_vector_root(low, at);
        for (n, part) in parts.iter().enumerate() {
            let to = if vector { &mut tail } else { &mut out.finish };
            to.push(Step::Out(*part, None, out.numbers + n, vector));
        }
        out.numbers += low.formula.width(at, low.dim);
    }
    if !tail.is_empty() {
        // The tail may read what is computed after the loops.
        let scalars = std::mem::take(&mut out.finish);
        let body = plain(&program.tail).into_iter().chain(tail).collect();
        out.loops.push(Loop {
            before: scalars,
            body,
            folds: vec![],
        });
    }
}

/// Exponentials of a value times a number become powers of two of it, with one product instead of
/// several.
fn powers(steps: &mut Steps) {
    let lists = steps
        .loops
        .iter_mut()
        .flat_map(|l| [&mut l.before, &mut l.body])
        .chain([&mut steps.finish]);
    for list in lists {
        for at in 0..list.len() {
            let Step::Inst(
                LaneInst {
                    op: LaneOp::Unary(Unary::Exp),
                    dst,
                    src,
                },
                None,
            ) = list[at]
            else {
                continue;
            };
            let (mut from, mut factor) = (src[0], std::f64::consts::LOG2_E);
            while let Some((inner, by)) = scaled(&list[..at], from) {
                (from, factor) = (inner, factor * by);
            }
            if from != src[0] && (1e-30..1e30).contains(&factor.abs()) {
                list[at] = Step::Power(from, factor, dst);
            }
        }
    }
    while drop_unread(steps) {}
}

/// A register as another operand times a number, where its instruction is in `list`.
fn scaled(list: &[Step], of: Src) -> Option<(Src, f64)> {
    let made = |s: &Step| {
        if let Step::Inst(i, None) = s {
            (Src::Reg(i.dst) == of).then_some(*i)
        } else {
            None
        }
    };
    let inst = list.iter().find_map(made)?;
    match (inst.op, inst.src) {
        (LaneOp::Unary(Unary::Neg), [a, ..]) => Some((a, -1.0)),
        (LaneOp::Binary(Binary::Mul), [a, Src::Const(c), _] | [Src::Const(c), a, _]) => {
            Some((a, c))
        }
        (LaneOp::Binary(Binary::Div), [a, Src::Const(c), _]) => Some((a, 1.0 / c)),
        _ => None,
    }
}

fn decides(op: LaneOp) -> bool {
    match op {
        LaneOp::Select | LaneOp::Unary(Unary::IsNan | Unary::Not | Unary::Sign) => true,
        LaneOp::Binary(op) => !matches!(
            op,
            Binary::Add
                | Binary::Sub
                | Binary::Mul
                | Binary::Div
                | Binary::Pow
                | Binary::Min
                | Binary::Max
        ),
        LaneOp::Unary(_) => false,
    }
}

impl StepMaker<'_> {
    fn stage(&mut self, stage: &StageProgram) -> Result<Loop, &'static str> {
        let mut body = stage.body.clone();
        let mut after = vec![];
        let mut folds = vec![];
        for acc in &stage.accs {
            let fold = self.accumulator(acc, folds.len(), &mut body, &mut after)?;
            folds.push(fold);
        }
        if self.single {
            fuse(&body, &mut folds);
        }
        let mut body: Vec<Step> = needed(&body, &folds, &after)
            .into_iter()
            .map(|i| Step::Inst(i, None))
            .collect();
        body.extend(after);
        body.extend(
            (0..folds.len())
                .filter(|f| !matches!(folds[*f].kind, Kind::Given(_)))
                .map(Step::Fold),
        );
        let before = stage.scalars.iter().map(|i| Step::Inst(*i, None)).collect();
        Ok(Loop {
            before,
            body,
            folds,
        })
    }
    /// The fold of an accumulator, number `at` of its stage. What it reads is added to `body`, and
    /// what an operator of the user does to the steps `after` it.
    fn accumulator(
        &mut self,
        acc: &Acc,
        at: usize,
        body: &mut Vec<LaneInst>,
        after: &mut Vec<Step>,
    ) -> Result<Fold, &'static str> {
        Ok(match acc {
            Acc::Named(ComponentReduce::Prod, ..) | Acc::User(..) if self.single => {
                return Err("products and operators of users are accumulated in double precision");
            }
            Acc::Named(op, src, dst) => Fold {
                kind: Kind::Named(*op),
                src: *src,
                dst: *dst,
            },
            Acc::Reduction(.., dst) if self.given => {
                self.reductions += 1;
                Fold {
                    kind: Kind::Given(self.reductions - 1),
                    src: Src::Const(0.0),
                    dst: *dst,
                }
            }
            Acc::Reduction(form, sx, sy, dst) => self.reduction(*form, *sx, *sy, *dst, body),
            Acc::User(op, init, src, dst) => {
                let result = self.user_operator(*op, (Src::Reg(*dst), *src), at, after);
                Fold {
                    kind: Kind::User(result, *init),
                    src: *src,
                    dst: *dst,
                }
            }
        })
    }
    /// Adds the steps of the operator `op` of the user to those `after` the reductions. Returns what
    /// it makes of the accumulated and the next value.
    fn user_operator(&mut self, op: Id, ends: (Src, Src), at: usize, after: &mut Vec<Step>) -> Src {
        let mut list = vec![];
        let result = self.operator(op, ends, &mut HashMap::new(), &mut list);
        after.extend(list.into_iter().map(|i| Step::Inst(i, Some(at))));
        result
    }
    /// The register of `op` on `src`, computed by `body` already or from now on.
    fn add(&mut self, op: LaneOp, src: [Src; 3], body: &mut Vec<LaneInst>) -> Src {
        if let Some(have) = body.iter().find(|i| i.op == op && i.src == src) {
            return Src::Reg(have.dst);
        }
        let dst = self.registers;
        self.registers += 1;
        body.push(LaneInst { op, dst, src });
        Src::Reg(dst)
    }
    fn reduction(
        &mut self,
        form: Reduction,
        sx: usize,
        sy: usize,
        dst: usize,
        body: &mut Vec<LaneInst>,
    ) -> Fold {
        let (x, y) = (Src::XStream(sx), Src::YStream(sy));
        let binary = |op| (LaneOp::Binary(op), [x, y, x]);
        if let Reduction::Dot | Reduction::Differ = form {
            let (op, src) = binary(if form == Reduction::Dot {
                Binary::Mul
            } else {
                Binary::Ne
            });
            return Fold {
                kind: Kind::Named(ComponentReduce::Sum),
                src: self.add(op, src, body),
                dst,
            };
        }
        let (op, src) = binary(Binary::Sub);
        let d = self.add(op, src, body);
        let (abs, times) = (LaneOp::Unary(Unary::Abs), LaneOp::Binary(Binary::Mul));
        let src = match form {
            Reduction::SqDiff => self.add(times, [d; 3], body),
            Reduction::Lp3 => {
                let d = self.add(abs, [d; 3], body);
                let squared = self.add(times, [d; 3], body);
                self.add(times, [d, squared, d], body)
            }
            _ => self.add(abs, [d; 3], body),
        };
        let op = if form == Reduction::Chebyshev {
            ComponentReduce::Max
        } else {
            ComponentReduce::Sum
        };
        Fold {
            kind: Kind::Named(op),
            src,
            dst,
        }
    }
    /// Instructions of the operator `id` on the accumulated and the next value.
    fn operator(
        &mut self,
        id: Id,
        ends: (Src, Src),
        made: &mut HashMap<Id, Src>,
        list: &mut Vec<LaneInst>,
    ) -> Src {
        if let Some(have) = made.get(&id) {
            return *have;
        }
        let node = self.low.formula.node(id).clone();
        let (op, operands) = match node {
            Node::Bound(next) => return if next { ends.1 } else { ends.0 },
            Node::Const(bits) => return Src::Const(f64::from_bits(bits)),
            Node::Unary(op, a) => (LaneOp::Unary(op), vec![a]),
            Node::Binary(op, a, b) => (LaneOp::Binary(op), vec![a, b]),
            Node::Select(c, a, b) => (LaneOp::Select, vec![c, a, b]),
            _ => return Src::Const(f64::NAN),
        };
        let src: Vec<Src> = operands
            .into_iter()
            .map(|o| self.operator(o, ends, made, list))
            .collect();
        let at = |i: usize| *src.get(i).unwrap_or(&src[0]);
        let dst = self.registers;
        self.registers += 1;
        list.push(LaneInst {
            op,
            dst,
            src: [at(0), at(1), at(2)],
        });
        made.insert(id, Src::Reg(dst));
        Src::Reg(dst)
    }
}

/// Sums of products that nothing else reads become one operation.
fn fuse(body: &[LaneInst], folds: &mut [Fold]) {
    let reads = |r: usize| {
        let of = |i: &LaneInst| {
            i.src[..arity(i.op)]
                .iter()
                .filter(|s| **s == Src::Reg(r))
                .count()
        };
        body.iter().map(of).sum::<usize>()
    };
    let single: Vec<bool> = folds
        .iter()
        .map(|f| {
            matches!(f.src, Src::Reg(r) if reads(r) == 0)
                && folds.iter().filter(|o| o.src == f.src).count() == 1
        })
        .collect();
    for (fold, _) in folds
        .iter_mut()
        .zip(single)
        .filter(|(f, s)| *s && f.kind == Kind::Named(ComponentReduce::Sum))
    {
        let product = body
            .iter()
            .find(|i| Src::Reg(i.dst) == fold.src && i.op == LaneOp::Binary(Binary::Mul));
        if let Some(product) = product {
            fold.kind = Kind::Fused(product.src[0], product.src[1]);
            fold.src = product.src[0];
        }
    }
}

fn needed(body: &[LaneInst], folds: &[Fold], after: &[Step]) -> Vec<LaneInst> {
    let mut wanted: std::collections::HashSet<usize> = Default::default();
    let want = |src: &Src, wanted: &mut std::collections::HashSet<usize>| {
        if let Src::Reg(r) = src {
            wanted.insert(*r);
        }
    };
    for fold in folds {
        want(&fold.src, &mut wanted);
        if let Kind::Fused(_, b) = &fold.kind {
            want(b, &mut wanted);
        }
    }
    for step in after {
        reads(step, &[]).iter().for_each(|s| want(s, &mut wanted));
    }
    let mut out = vec![];
    for inst in body.iter().rev() {
        if wanted.contains(&inst.dst) {
            inst.src[..arity(inst.op)]
                .iter()
                .for_each(|s| want(s, &mut wanted));
            out.push(*inst);
        }
    }
    out.reverse();
    out
}

/// The function that a step calls, where it has no instructions of its own.
pub(super) fn call(step: &Step, target: Target) -> Option<Call> {
    let Step::Inst(inst, _) = step else {
        return None;
    };
    match inst.op {
        LaneOp::Unary(
            Unary::Neg
            | Unary::Not
            | Unary::Abs
            | Unary::Sqrt
            | Unary::Floor
            | Unary::Ceil
            | Unary::Round
            | Unary::Sign
            | Unary::IsNan,
        ) => None,
        LaneOp::Unary(Unary::Exp) if target.single && target.wide => None,
        LaneOp::Unary(op) => Some(Call::Unary(op)),
        LaneOp::Binary(Binary::Atan2) => Some(Call::Atan2),
        LaneOp::Binary(Binary::BitAnd) => Some(Call::BitAnd),
        LaneOp::Binary(Binary::Pow) => match inst.src[1] {
            Src::Const(p) if multiplied(p, target.single).is_some() => None,
            Src::Const(_) => Some(Call::PowConst),
            _ => Some(Call::Pow),
        },
        _ => None,
    }
}

/// Registers read in another segment than that of their latest result; a call ends a segment, and
/// so does a list of steps.
fn crossing(steps: &Steps, target: Target) -> Vec<bool> {
    let mut seen = Seen {
        target,
        segment: 0,
        written: vec![0; steps.registers],
        crossing: vec![false; steps.registers],
    };
    for one in &steps.loops {
        seen.list(&one.before, &one.folds);
        seen.segment += 1;
        for fold in &one.folds {
            seen.crossing[fold.dst] = true;
            if let Kind::User(_, Some(init)) = &fold.kind {
                seen.read(init);
            }
        }
        seen.list(&one.body, &one.folds);
        seen.segment += 1;
    }
    seen.list(&steps.finish, &[]);
    seen.crossing
}

struct Seen {
    target: Target,
    segment: usize,
    written: Vec<usize>,
    crossing: Vec<bool>,
}

impl Seen {
    fn read(&mut self, src: &Src) {
        if let Src::Reg(r) = src {
            self.crossing[*r] |= self.written[*r] != self.segment;
        }
    }
    fn list(&mut self, list: &[Step], folds: &[Fold]) {
        for step in list {
            reads(step, folds).iter().for_each(|s| self.read(s));
            self.segment += usize::from(call(step, self.target).is_some());
            if let Step::Inst(LaneInst { dst, .. }, _)
            | Step::Power(.., dst)
            | Step::ReciprocalRoot(.., dst) = step
            {
                // Results of a call lie in memory in any case.
                self.written[*dst] = self.segment;
            }
        }
    }
}

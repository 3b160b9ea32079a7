//! The steps of generated code: what one does, what it reads, and which nobody reads.

use crate::pairs::program::{LaneInst, LaneOp, Src};
use zipfold_core::number::Power;
use zipfold_core::pair::tree::ComponentReduce;

/// How values of components are folded.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A named reduction.
    Named(ComponentReduce),
    /// Σ a·b with one rounding a component; single precision only.
    Fused(Src, Src),
    /// A user's operator: the result of its instructions, and the initial value.
    User(Src, Option<Src>),
    /// A recognised form whose value the dense kernels give; its number.
    Given(usize),
}

/// An accumulator.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    /// How.
    pub kind: Kind,
    /// What is folded.
    pub src: Src,
    /// Register of the accumulator and result.
    pub dst: usize,
}

/// One thing to do for an instance.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// An instruction; of the operator of accumulator `.1`, where given.
    Inst(LaneInst, Option<usize>),
    /// Accumulator `.0` takes its component.
    Fold(usize),
    /// Register `.2` is 2 to the power of operand `.0` times a number.
    Power(Src, f64, usize),
    /// Register `.3` is operand `.0` to the power of −`.1`/2, times operand `.2`: of sums in single
    /// precision with AVX-512.
    ReciprocalRoot(Src, i32, Src, usize),
    /// Number `.2` of a result is operand `.0`, times `.1` where it is added to a sum; the
    /// component is added where `.3`.
    Out(Src, Option<Src>, usize, bool),
}

/// A loop over components.
#[derive(Clone, Debug, Default)]
pub(super) struct Loop {
    /// Before it.
    pub before: Vec<Step>,
    /// For each component.
    pub body: Vec<Step>,
    /// Accumulators.
    pub folds: Vec<Fold>,
}

/// A program made ready.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// Loops, in order; the tail of vector-valued roots is the last, without accumulators.
    pub loops: Vec<Loop>,
    /// After them.
    pub finish: Vec<Step>,
    /// Registers, those added included.
    pub registers: usize,
    /// Numbers of a result.
    pub numbers: usize,
    /// Whether functions are called.
    pub calls: bool,
    /// Whether a NaN might not reach the result: there are comparisons, choices or questions for
    /// NaN.
    pub decides: bool,
    /// Registers that are read in another segment than the one that writes them.
    pub crossing: Vec<bool>,
}

/// Leaves out what nobody reads any more; whether there was something.
pub(super) fn drop_unread(steps: &mut Steps) -> bool {
    let mut read = vec![];
    for (list, folds) in steps
        .loops
        .iter()
        .flat_map(|l| [(&l.before, &l.folds), (&l.body, &l.folds)])
    {
        list.iter().for_each(|s| read.extend(reads(s, folds)));
        folds.iter().for_each(|f| {
            if let Kind::User(_, Some(init)) = &f.kind {
                read.push(*init)
            }
        });
    }
    steps.finish.iter().for_each(|s| read.extend(reads(s, &[])));
    let before: usize = all(steps).count();
    let wanted = |s: &Step| !matches!(s, Step::Inst(i, None) if !read.contains(&Src::Reg(i.dst)));
    for one in &mut steps.loops {
        one.before.retain(wanted);
        one.body.retain(wanted);
    }
    steps.finish.retain(wanted);
    all(steps).count() < before
}

/// All steps, loop by loop.
pub(super) fn all(steps: &Steps) -> impl Iterator<Item = &Step> {
    steps
        .loops
        .iter()
        .flat_map(|l| l.before.iter().chain(&l.body))
        .chain(&steps.finish)
}

/// Operands of an operation.
pub(super) fn arity(op: LaneOp) -> usize {
    match op {
        LaneOp::Unary(_) => 1,
        LaneOp::Binary(_) => 2,
        LaneOp::Select => 3,
    }
}

/// What a step reads.
pub(super) fn reads(step: &Step, folds: &[Fold]) -> Vec<Src> {
    match step {
        Step::Inst(i, _) => i.src[..arity(i.op)].to_vec(),
        Step::Out(src, factor, ..) => [Some(*src), *factor].into_iter().flatten().collect(),
        Step::Power(src, ..) => vec![*src],
        Step::ReciprocalRoot(src, _, factor, _) => vec![*src, *factor],
        Step::Fold(f) => match &folds[*f].kind {
            Kind::Fused(a, b) => vec![*a, *b],
            Kind::User(result, _) => vec![*result, folds[*f].src],
            _ => vec![folds[*f].src],
        },
    }
}

/// The power that is taken by multiplications. In single precision these are few, or the rounding
/// would show.
pub(super) fn multiplied(p: f64, single: bool) -> Option<Power> {
    let p = if single { f64::from(p as f32) } else { p };
    match Power::for_exponent(p) {
        Power::Whole(n) if !single || n.abs() <= 4 => Some(Power::Whole(n)),
        Power::Halves(n) if !single || n.abs() <= 5 => Some(Power::Halves(n)),
        _ => None,
    }
}

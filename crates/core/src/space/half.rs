//! Decides whether folds by row of one table visit half of the pairs and credit both rows of each,
//! or visit all pairs.
//!
//! Half of the pairs is half of the arithmetic, but crediting a value to its column costs more than
//! to its row: the columns of a run are different sums. So it pays if a value is expensive.
//!
//! The two ways add a row's values in different orders, so they differ in the last bits. The choice
//! therefore depends on the problem alone and on fixed figures, never on the machine: shares made
//! on different machines fit together. The figures are rough cycles of a core with vectors of 64
//! bytes. `plan/src/cost` predicts what a run really takes.

use crate::fold::Fold;
use crate::pair::lower::Lowered;
use crate::pair::pattern::Reduction;
use crate::pair::tree::{Binary, Id, Node, Unary};
use crate::table::Precision;

/// Cycles of an operation on a vector, and of a division or root. An addition or product issues
/// twice a cycle at best, and loads take their share.
const OPERATION: f64 = 0.75;
const DIVISION: f64 = 5.0;
/// Cycles of an elementary function per number, in double and in single precision.
const FUNCTION: [f64; 2] = [9.0, 0.5];
const OTHER: f64 = 12.0;
/// Cycles of a minimum image of one component.
const IMAGE: f64 = 3.0;

/// Returns whether half of the pairs, credited to both sides, is the faster way to the folds of a
/// symmetric formula. Only folds by rows have a choice; others get half of the pairs.
///
/// One fold that gains decides for all, because all folds of a problem share one domain.
pub fn pays(low: &Lowered, precision: Precision, folds: &[Fold]) -> bool {
    let cycles = value(low, precision);
    folds.iter().any(|fold| fold.halving_pays(cycles))
}

/// Estimates the cycles of a value. A recognised reduction costs what its kernel takes; vectors of
/// a stage count only if some reduction of it has no kernel.
fn value(low: &Lowered, precision: Precision) -> f64 {
    // Fixed vectors of 64 bytes, also on machines with shorter ones: the choice must not differ
    // there.
    let lanes = (64 / precision.bytes()) as f64;
    let sum = |ids: &[Id]| {
        ids.iter()
            .map(|id| node(low, *id, precision, lanes))
            .sum::<f64>()
    };
    let mut cycles = sum(&low.finish) + sum(&low.vector_tail) * low.dim as f64;
    for stage in &low.stages {
        cycles += sum(&stage.scalars);
        let known: Vec<Option<Reduction>> = stage
            .reduces
            .iter()
            .map(|r| low.reduction(*r).map(|reduction| reduction.form))
            .collect();
        let forms: f64 = known
            .iter()
            .flatten()
            .map(|form| operations(*form) * OPERATION / lanes)
            .sum();
        // Reductions without a kernel run through generated code, which computes the vectors first.
        let own = known
            .iter()
            .zip(&stage.reduces)
            .filter(|(form, _)| form.is_none())
            .map(|(_, id)| *id);
        let own: Vec<Id> = own.collect();
        let vectors = if own.is_empty() {
            0.0
        } else {
            sum(&stage.vectors)
        };
        cycles += (forms + sum(&own) + vectors) * low.dim as f64;
    }
    cycles
}

/// Vector operations per component of a recognised reduction.
fn operations(form: Reduction) -> f64 {
    match form {
        Reduction::Dot => 1.5,
        Reduction::L1 | Reduction::SqDiff | Reduction::Chebyshev | Reduction::Differ => 2.5,
        Reduction::Lp3 => 4.0,
    }
}

/// Estimates the cycles of one operation per number.
fn node(low: &Lowered, id: Id, precision: Precision, lanes: f64) -> f64 {
    let function = FUNCTION[usize::from(precision == Precision::F32)];
    match low.formula.node(id) {
        Node::Unary(Unary::Sqrt, _) | Node::Binary(Binary::Div, ..) => DIVISION / lanes,
        Node::Unary(Unary::Exp | Unary::Log, _) => function,
        Node::Unary(op, _) if !is_plain(*op) => OTHER,
        Node::Binary(Binary::Pow, _, p) => match low.formula.constant(*p) {
            Some(p) if (2.0 * p).fract() == 0.0 && p.abs() <= 4.0 => {
                2.0 * OPERATION / lanes + function / 8.0
            }
            _ => OTHER,
        },
        Node::Binary(Binary::Atan2 | Binary::BitAnd, ..) => OTHER,
        Node::Delta | Node::DeltaAt(_) if low.periodic => IMAGE,
        _ => OPERATION / lanes,
    }
}

/// Functions that are one or two vector instructions.
fn is_plain(op: Unary) -> bool {
    use Unary::{Abs, Ceil, Floor, IsNan, Neg, Not, Round, Sign};
    matches!(op, Abs | Ceil | Floor | IsNan | Neg | Not | Round | Sign)
}

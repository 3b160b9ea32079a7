//! Whether a fold by rows of one table visits half of the cells and credits both rows of each, or
//! visits all of them.
//!
//! Sums of a block are added differently either way, so that the choice is one of the problem
//! alone: shares made on different machines fit together. Its figures are rough, in cycles of a
//! core with vectors of 64 bytes; what a run takes is predicted elsewhere.

use crate::fold::{Fold, RowOp};
use crate::pair::lower::{Lowered, ZipForm};
use crate::pair::tree::{Binary, Id, Node, Unary};
use crate::table::Precision;

/// Cycles of a value on its way to both its rows more than to one, where sums are taken; where
/// exponentials are.
const BOTH: [f64; 2] = [1.8, 5.0];
/// Cycles of an operation of a vector; of a division or root.
const OPERATION: f64 = 0.75;
const DIVISION: f64 = 5.0;
/// Cycles of a function of one number in double and in single precision.
const FUNCTION: [f64; 2] = [9.0, 0.5];
const OTHER: f64 = 12.0;
/// Cycles of a minimum image of one component.
const IMAGE: f64 = 3.0;

/// Whether half of the cells, credited to both sides, are the faster way to the folds of a formula
/// whose value is the same with the rows exchanged. Only folds by rows have a choice.
pub fn pays(low: &Lowered, precision: Precision, folds: &[Fold]) -> bool {
    let cycles = value(low, precision);
    folds.iter().any(|fold| match fold {
        Fold::Rows(f) => match f.op {
            RowOp::Sum | RowOp::Mean => cycles > BOTH[0] * f.out_width() as f64,
            RowOp::Logsumexp | RowOp::Softmax => cycles > BOTH[1],
            // Bounds leave most of these out, and walk both halves where they do.
            RowOp::Min | RowOp::Max | RowOp::Argmin | RowOp::Argmax | RowOp::Count => true,
        },
        _ => true,
    })
}

/// Cycles of a value, about.
fn value(low: &Lowered, precision: Precision) -> f64 {
    let lanes = (64 / precision.bytes()) as f64;
    let sum = |ids: &[Id]| {
        ids.iter()
            .map(|id| node(low, *id, precision, lanes))
            .sum::<f64>()
    };
    let mut cycles = sum(&low.finish) + sum(&low.vector_tail) * low.dim as f64;
    for stage in &low.stages {
        cycles += sum(&stage.scalars);
        let known: Vec<Option<ZipForm>> = stage
            .reduces
            .iter()
            .map(|r| low.zip_form(*r).map(|f| f.0))
            .collect();
        let forms: f64 = known
            .iter()
            .flatten()
            .map(|form| operations(*form) * OPERATION / lanes)
            .sum();
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

fn operations(form: ZipForm) -> f64 {
    match form {
        ZipForm::Dot => 1.5,
        ZipForm::L1 | ZipForm::SqDiff | ZipForm::Chebyshev | ZipForm::Differ => 2.5,
        ZipForm::Lp3 => 4.0,
    }
}

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
        Node::Binary(Binary::Atan2, ..) => OTHER,
        Node::Delta | Node::DeltaAt(_) if low.periodic => IMAGE,
        _ => OPERATION / lanes,
    }
}

fn is_plain(op: Unary) -> bool {
    use Unary::{Abs, Ceil, Floor, IsNan, Neg, Not, Round, Sign};
    matches!(op, Abs | Ceil | Floor | IsNan | Neg | Not | Round | Sign)
}

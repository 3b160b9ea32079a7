//! Differences whose sign nothing reads: the number of the row of x comes last, where an
//! instruction takes it from memory for all lanes. Spreading it into a register first costs two
//! thirds of an addition (Zen 4), and the bits are the same.

use super::step::{Fold, Kind, Step, Steps, reads};
use crate::pairs::program::{LaneInst, LaneOp, Src};
use std::collections::HashSet;
use zipfold_core::pair::tree::{Binary, Unary};

/// Turns them round.
pub(super) fn turn(steps: &mut Steps) {
    let mut signed = HashSet::new();
    let lists = steps
        .loops
        .iter()
        .flat_map(|l| [(&l.before, &l.folds[..]), (&l.body, &l.folds[..])]);
    for (list, folds) in lists.chain([(&steps.finish, &[][..])]) {
        signed.extend(
            list.iter()
                .filter(|s| !is_even(s, folds))
                .flat_map(|s| registers(&reads(s, folds))),
        );
        let starts = folds.iter().filter_map(|f| {
            if let Kind::User(_, Some(start)) = f.kind {
                Some(start)
            } else {
                None
            }
        });
        signed.extend(registers(&starts.collect::<Vec<_>>()));
    }
    let lists = steps
        .loops
        .iter_mut()
        .flat_map(|l| [&mut l.before, &mut l.body])
        .chain([&mut steps.finish]);
    for step in lists.flatten() {
        let Step::Inst(
            LaneInst {
                op: LaneOp::Binary(Binary::Sub),
                dst,
                src,
            },
            None,
        ) = step
        else {
            continue;
        };
        let of_row = |src: &Src| matches!(src, Src::XStream(_) | Src::XAttr(_));
        if of_row(&src[0]) && !of_row(&src[1]) && !signed.contains(dst) {
            src.swap(0, 1);
        }
    }
}

/// Whether a step has the same result for numbers of the other sign.
fn is_even(step: &Step, folds: &[Fold]) -> bool {
    match step {
        Step::Inst(
            LaneInst {
                op: LaneOp::Unary(Unary::Abs),
                ..
            },
            _,
        ) => true,
        Step::Inst(
            LaneInst {
                op: LaneOp::Binary(Binary::Mul),
                src,
                ..
            },
            _,
        ) => src[0] == src[1],
        Step::Fold(f) => matches!(&folds[*f].kind, Kind::Fused(a, b) if a == b),
        _ => false,
    }
}

fn registers(read: &[Src]) -> Vec<usize> {
    read.iter()
        .filter_map(|src| {
            if let Src::Reg(r) = src {
                Some(*r)
            } else {
                None
            }
        })
        .collect()
}

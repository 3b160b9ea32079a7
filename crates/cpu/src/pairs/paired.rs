//! Programs whose operands are numbers of a pair each: for pairs that come one by one, as a column grid
//! finds them, and not as a row and a block of columns.
//!
//! ```text
//! numbers of a pair   hoisted numbers of its row | hoisted numbers of its column | squared distance
//! instruction         number k of x → lane operand k, number k of y → lane operand (numbers of x) + k
//! ```

use super::program::{LaneInst, Program, Src};
use zipfold_core::pair::lower::Lowered;

/// Returns the part of `program` that the roots `wanted` need, over numbers of pairs, where nothing
/// else is read; root `squared` is a number of the pair.
pub(super) fn paired(
    low: &Lowered,
    program: &Program,
    wanted: &[usize],
    squared: usize,
) -> Option<Program> {
    let [x, y] = [0, 1].map(|side: usize| low.row_scalars[side].len());
    let given = program.roots[squared].first().copied()?;
    let numbers = PairNumbers { x, y, given };
    let root = |at: usize| match wanted.contains(&at) {
        true => program.roots[at]
            .iter()
            .map(|src| numbers.place(*src))
            .collect(),
        false => Some(vec![Src::Const(0.0)]),
    };
    let roots: Vec<Vec<Src>> = (0..program.roots.len()).map(root).collect::<Option<_>>()?;
    Some(Program {
        stages: vec![],
        finish: needed(program, &numbers, &roots)?,
        tail: vec![],
        roots,
        registers: program.registers,
        periodic: false,
    })
}

/// Where the numbers of a pair lie: those of x, those of y, the squared distance.
struct PairNumbers {
    x: usize,
    y: usize,
    /// The operand that is the squared distance.
    given: Src,
}

impl PairNumbers {
    /// The operand over numbers of pairs; none of other operands.
    fn place(&self, src: Src) -> Option<Src> {
        match src {
            _ if src == self.given => Some(Src::YAttr(self.x + self.y)),
            Src::XAttr(a) => Some(Src::YAttr(a)),
            Src::YAttr(a) => Some(Src::YAttr(self.x + a)),
            Src::Reg(_) | Src::Const(_) => Some(src),
            Src::XStream(_) | Src::YStream(_) | Src::Vector(_) | Src::DeltaK | Src::DeltaAt(_) => {
                None
            }
        }
    }
}

/// Marks the register of an operand.
fn need(needed: &mut [bool], src: &Src) {
    if let Src::Reg(register) = src {
        needed[*register] = true;
    }
}

/// The instructions that `roots` need, in order; none where one of them reads something else.
fn needed(program: &Program, numbers: &PairNumbers, roots: &[Vec<Src>]) -> Option<Vec<LaneInst>> {
    let mut open = vec![false; program.registers];
    roots.iter().flatten().for_each(|src| need(&mut open, src));
    // Backwards: what an instruction reads is computed before it.
    let all = program.stages.iter().flat_map(|stage| &stage.scalars);
    let all: Vec<&LaneInst> = all.chain(&program.finish).collect();
    let mut kept = vec![];
    for inst in all.into_iter().rev() {
        if std::mem::take(&mut open[inst.dst]) {
            let [a, b, c] = inst.src.map(|src| numbers.place(src));
            let src = [a?, b?, c?];
            src.iter().for_each(|src| need(&mut open, src));
            kept.push(LaneInst { src, ..*inst });
        }
    }
    kept.reverse();
    // A register that no instruction computes is that of a reduction.
    (!open.contains(&true)).then_some(kept)
}

//! Sums of results that are products, in single precision: a product and its addition are one
//! operation, and a weight goes into the factor that components share.

use super::step::{Loop, Step, Steps, drop_unread, multiplied, reads};
use crate::pairs::program::{LaneInst, LaneOp, Src};
use std::collections::{HashMap, HashSet};
use zipfold_core::number::Power;
use zipfold_core::pair::tree::Binary;

/// Gives results that are added up a factor: of a product one of its two, else the `weight`, where
/// there is one. With AVX-512 (`wide`) a weight goes into powers that reciprocal roots give.
pub(super) fn factors(steps: &mut Steps, weight: Option<Src>, wide: bool) {
    let reads = times_read(steps);
    let rooted = wide && !steps.decides;
    for of in &mut steps.loops {
        factors_of_loop(of, &reads, weight, rooted, &mut steps.registers);
    }
    let made: HashMap<usize, LaneInst> = steps.finish.iter().filter_map(instruction).collect();
    for step in &mut steps.finish {
        let Step::Out(src, factor, ..) = step else {
            continue;
        };
        match (weight, factors_of(src, &made, &reads)) {
            (None, Some([a, b])) => (*src, *factor) = (a, Some(b)),
            _ => *factor = weight,
        }
    }
    while drop_unread(steps) {}
}

/// The same of the results in a loop over components.
fn factors_of_loop(
    of: &mut Loop,
    reads: &HashMap<usize, usize>,
    weight: Option<Src>,
    rooted: bool,
    registers: &mut usize,
) {
    let made: HashMap<usize, LaneInst> = of.body.iter().filter_map(instruction).collect();
    let of_components: HashSet<usize> = of.body.iter().filter_map(defined).collect();
    let shared = |src: &Src| match src {
        Src::Reg(r) => !of_components.contains(r),
        other => matches!(other, Src::XAttr(_) | Src::YAttr(_) | Src::Const(_)),
    };
    let mut weighted = Weighted {
        before: &mut of.before,
        rooted,
        registers,
        made: vec![],
    };
    for step in of.body.iter_mut() {
        let Step::Out(src, factor, ..) = step else {
            continue;
        };
        let Some([a, b]) = factors_of(src, &made, reads) else {
            *factor = weight;
            continue;
        };
        let (a, b) = if shared(&a) { (b, a) } else { (a, b) };
        match weight {
            None => (*src, *factor) = (a, Some(b)),
            Some(weight) if shared(&b) => {
                (*src, *factor) = (a, Some(weighted.times(b, weight)));
            }
            Some(_) => *factor = weight,
        }
    }
}

/// Factors that components share, times the weight: made before the loop.
struct Weighted<'s> {
    before: &'s mut Vec<Step>,
    rooted: bool,
    registers: &'s mut usize,
    /// Each factor, and its product.
    made: Vec<(Src, Src)>,
}

impl Weighted<'_> {
    /// The product of `factor` and `weight`.
    fn times(&mut self, factor: Src, weight: Src) -> Src {
        if let Some((_, made)) = self.made.iter().find(|(of, _)| *of == factor) {
            return *made;
        }
        let dst = *self.registers;
        *self.registers += 1;
        let root = root_of(&factor, self.before).filter(|_| self.rooted);
        self.before.push(match root {
            Some((of, n)) => Step::ReciprocalRoot(of, n, weight, dst),
            None => Step::Inst(
                LaneInst {
                    op: LaneOp::Binary(Binary::Mul),
                    dst,
                    src: [factor, weight, factor],
                },
                None,
            ),
        });
        self.made.push((factor, Src::Reg(dst)));
        Src::Reg(dst)
    }
}

fn instruction(step: &Step) -> Option<(usize, LaneInst)> {
    if let Step::Inst(inst, None) = step {
        Some((inst.dst, *inst))
    } else {
        None
    }
}

/// The register that a step sets, but for accumulators.
fn defined(step: &Step) -> Option<usize> {
    match step {
        Step::Inst(LaneInst { dst, .. }, _)
        | Step::Power(.., dst)
        | Step::ReciprocalRoot(.., dst) => Some(*dst),
        Step::Fold(_) | Step::Out(..) => None,
    }
}

/// The base of a register that is a power of −n/2, and n.
fn root_of(src: &Src, made: &[Step]) -> Option<(Src, i32)> {
    let inst = made
        .iter()
        .filter_map(instruction)
        .find(|(dst, _)| Src::Reg(*dst) == *src)?
        .1;
    match (inst.op, inst.src[1]) {
        (LaneOp::Binary(Binary::Pow), Src::Const(p)) => match multiplied(p, true) {
            Some(Power::Halves(n)) if n < 0 => Some((inst.src[0], -n)),
            _ => None,
        },
        _ => None,
    }
}

/// The factors of a product that nothing else reads.
fn factors_of(
    src: &Src,
    made: &HashMap<usize, LaneInst>,
    reads: &HashMap<usize, usize>,
) -> Option<[Src; 2]> {
    let Src::Reg(r) = src else { return None };
    let inst = made
        .get(r)
        .filter(|inst| inst.op == LaneOp::Binary(Binary::Mul) && reads.get(r) == Some(&1))?;
    Some([inst.src[0], inst.src[1]])
}

/// How often each register is read.
fn times_read(steps: &Steps) -> HashMap<usize, usize> {
    let lists = steps
        .loops
        .iter()
        .flat_map(|l| [(&l.before, &l.folds[..]), (&l.body, &l.folds[..])]);
    let mut times = HashMap::new();
    for (list, folds) in lists.chain([(&steps.finish, &[][..])]) {
        for src in list.iter().flat_map(|step| reads(step, folds)) {
            if let Src::Reg(r) = src {
                *times.entry(r).or_default() += 1;
            }
        }
    }
    times
}

//! What a formula costs per pair: the instruction mix of generated code, or of the evaluator step
//! by step.
//!
//! Every node of the formula is one entry in a mix of plain operations, divisions and roots, and
//! calls of functions. Plain operations go at a common rate; divisions have a unit of their own;
//! functions are sequences whose cycles per number were measured. The mix is multiplied by the
//! rates of the instruction set.
//!
//! ```text
//! exp(-sum((x - y)^2)), 3 components, f64, AVX-512 (8 lanes)
//! component: sub, mul, add = 3 plain      pair: neg = 1 plain, exp = one call
//! cycles per vector = (3·3 + 1) · rate + 8 · exp
//! ```

use super::rates::{self, Functions, Rates};
use super::{Term, Work};
use zipfold_core::Job;
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::pair::tree::{Binary, Id, Node, Unary};

/// Operations of one vector by class.
///
/// Classes are the units of a core that can be the limit: plain operations, the divider, whose
/// results come at a slower rate while others go on, and functions, which are sequences of plain
/// operations whose length was measured as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mix {
    /// Additions, products, comparisons, blends: one instruction each.
    plain: f64,
    /// Divisions and square roots, which share a unit.
    divisions: f64,
    /// Cycles of functions per lane, in double and in single precision.
    calls: [f64; 2],
}

impl Mix {
    /// Adds two mixes.
    fn plus(self, o: Mix) -> Mix {
        let calls = [self.calls[0] + o.calls[0], self.calls[1] + o.calls[1]];
        Mix {
            plain: self.plain + o.plain,
            divisions: self.divisions + o.divisions,
            calls,
        }
    }
    /// Repeats a mix `n` times.
    fn times(self, n: f64) -> Mix {
        Mix {
            plain: self.plain * n,
            divisions: self.divisions * n,
            calls: self.calls.map(|c| c * n),
        }
    }
}

/// Returns a mix of `plain` operations at the common rate.
const fn plain(plain: f64) -> Mix {
    Mix {
        plain,
        divisions: 0.0,
        calls: [0.0; 2],
    }
}
/// Returns a mix of one division or root and `plain` operations.
const fn division(plain: f64) -> Mix {
    Mix {
        plain,
        divisions: 1.0,
        calls: [0.0; 2],
    }
}
/// Returns a mix of one function: cycles per number in double and in single precision.
const fn call(calls: [f64; 2]) -> Mix {
    Mix {
        plain: 0.0,
        divisions: 0.0,
        calls,
    }
}

/// Returns the mix of one node.
///
/// Operands are counted by their own nodes, so each node counts once however often it is used:
/// generated code computes common parts once as well.
fn of_node(rates: &Rates, job: &Job, id: Id) -> Mix {
    match job.low.formula.node(id) {
        Node::Unary(op, _) => unary(&rates.functions, *op),
        Node::Binary(op, _, b) => binary(&rates.functions, *op, job.low.formula.constant(*b)),
        Node::UserReduce { .. } => plain(2.0),
        _ => plain(1.0),
    }
}

/// Returns the mix of a function of one operand.
///
/// A square root shares the divider with divisions. Functions that take the same kind of polynomial
/// share a rate; the last arm is the rate of the common ones.
fn unary(functions: &Functions, op: Unary) -> Mix {
    match op {
        Unary::Sqrt => division(0.0),
        Unary::Exp => call(functions.exp),
        Unary::Log => call(functions.log),
        Unary::Neg | Unary::Not | Unary::Abs | Unary::Floor | Unary::Ceil | Unary::Round => {
            plain(1.0)
        }
        Unary::Sign | Unary::IsNan => plain(2.0),
        Unary::Tanh | Unary::Sinh => call(functions.hyperbolic),
        Unary::Erf | Unary::Erfc => call(functions.error),
        Unary::Lgamma => call(functions.other),
        _ => call(functions.elementary),
    }
}

/// Returns the mix of a function of two operands. A division by a constant counts as one plain
/// operation; powers by the way that `number::Power` takes.
fn binary(functions: &Functions, op: Binary, constant: Option<f64>) -> Mix {
    match op {
        // Counted like a multiplication, in the mix that was measured.
        Binary::Div if constant.is_some() => plain(1.0),
        Binary::Div => division(0.0),
        Binary::Pow if constant.is_some_and(|p| p.fract() == 0.0 && p.abs() <= 4.0) => plain(2.0),
        Binary::Pow if constant.is_some_and(|p| p.fract() == 0.0 && p.abs() <= 64.0) => {
            whole(constant.unwrap_or(1.0))
        }
        Binary::Pow if constant.is_some_and(|p| (2.0 * p).fract() == 0.0 && p.abs() <= 2.5) => {
            call(rates::HALVES)
        }
        Binary::Pow if constant.is_some() => call(functions.power),
        Binary::Pow => call([functions.any_power; 2]),
        Binary::Atan2 => call(functions.hyperbolic),
        Binary::BitAnd => call(rates::HALVES),
        _ => plain(1.0),
    }
}

/// Returns the mix of a whole power by products: about 1.5 log₂ p of them. Single precision takes
/// it one number at a time.
///
/// Squarings are log₂ p, and on average every other bit of p takes one product more.
fn whole(p: f64) -> Mix {
    let divisions = if p < 0.0 { 1.0 } else { 0.0 };
    Mix {
        plain: 1.0 + 1.5 * p.abs().max(1.0).log2(),
        divisions,
        calls: [0.0, rates::WHOLE],
    }
}

/// Returns the mix of a recognised reduction in generated code. In single precision a product and
/// its addition are one instruction.
fn of_form(form: Reduction, single: bool) -> Mix {
    match form {
        Reduction::Dot if single => plain(1.0),
        Reduction::SqDiff if single => plain(1.6),
        Reduction::Dot | Reduction::Differ => plain(2.0),
        Reduction::L1 | Reduction::SqDiff | Reduction::Chebyshev => plain(3.0),
        Reduction::Lp3 => plain(5.0),
    }
}

/// Returns the operations once per component, and once per pair. In the dense family recognised
/// reductions are counted elsewhere (`reductions`), and vectors of a stage count only if a
/// reduction that is not recognised reads them.
fn mixes(work: &Work<'_>) -> [Mix; 2] {
    let (job, given, single) = (work.job, work.is_packed(), work.is_single());
    let low = &job.low;
    let sum = |ids: &[Id]| {
        ids.iter()
            .map(|id| of_node(work.rates(), job, *id))
            .fold(Mix::default(), Mix::plus)
    };
    let (mut component, mut pair) = (Mix::default(), sum(&low.finish));
    // Per component: reductions, and vectors if a general reduction reads them. Per pair: scalars.
    for stage in &low.stages {
        pair = pair.plus(sum(&stage.scalars));
        let forms = stage.reduces.iter().map(|r| (low.reduction(*r), *r));
        let mut own = false;
        for (form, id) in forms {
            own |= form.is_none();
            let more = form.map_or_else(
                || of_node(work.rates(), job, id),
                |reduction| {
                    if given {
                        plain(0.0)
                    } else {
                        of_form(reduction.form, single)
                    }
                },
            );
            component = component.plus(more);
        }
        if own {
            component = component.plus(sum(&stage.vectors));
        }
    }
    [component.plus(sum(&low.vector_tail)), pair]
}

/// Returns the cycles of a mix for one vector.
///
/// Functions are counted by number and not by vector: their rates were measured so.
fn cycles(rates: &Rates, mix: Mix, single: bool, lanes: f64) -> f64 {
    mix.plain * rates.operation
        + mix.divisions * rates.division[usize::from(!single)]
        + mix.calls[usize::from(single)] * lanes
}

/// Returns the cycles of the minimum images of a vector of pairs, which are found in double
/// precision before the formula runs.
fn image(work: &Work<'_>) -> f64 {
    let each = work.rates().image[usize::from(work.is_triclinic())];
    if work.job.low.periodic {
        each * work.lanes()
    } else {
        0.0
    }
}

/// Returns the cycles of one vector of pairs. Step by step, every operation costs a load and a
/// store of its vector; generated code keeps them in registers and pays for the loop over
/// components if it is not written out.
pub(super) fn vector(work: &Work<'_>) -> f64 {
    let [component, pair] = mixes(work);
    let image = image(work);
    let dim = work.job.low.dim as f64;
    // Step by step: every operation loads and stores its vector, and functions run in double
    // precision.
    if work.is_stepwise() {
        let all = component.times(dim).plus(pair);
        return (all.plain + 2.0 * all.divisions) * work.rates().stepwise
            + all.calls[0] * work.lanes()
            + image;
    }
    let one = |mix| cycles(work.rates(), mix, work.is_single(), work.lanes());
    // Short rows are written out; longer ones loop, which costs a step per component.
    let looped = component != Mix::default() && work.job.low.dim > rates::WRITTEN_OUT;
    let step = if looped { work.rates().step } else { 0.0 };
    (one(component) + step) * dim + one(pair) + work.rates().step + image
}

/// Returns the term of the formula over all pairs, named after the class of operations that takes
/// most of it: that is what a user could change.
pub(super) fn term(work: &Work<'_>) -> Term {
    let [component, pair] = mixes(work);
    let all = component.times(work.job.low.dim as f64).plus(pair);
    let rates = work.rates();
    // The same sum in parts, to name the largest.
    let parts = [
        (all.plain * rates.operation, "arithmetic of the formula"),
        (
            all.divisions * rates.division[usize::from(!work.is_single())],
            "divisions and roots",
        ),
        (
            all.calls[usize::from(work.is_single())] * work.lanes(),
            "functions of the formula",
        ),
        (image(work), "nearest images"),
    ];
    let largest = parts
        .into_iter()
        .fold((0.0, "arithmetic of the formula"), |a, b| {
            if b.0 > a.0 { b } else { a }
        });
    work.shared(largest.1, work.computed() / work.lanes() * vector(work))
}

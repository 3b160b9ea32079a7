//! Jobs that single precision screens: one reduction that the dense kernels know, a monotone chain of operations on it, and
//! a fold that keeps few of the values. A value in single precision with a bound of its error decides most pairs; the
//! others are computed in double precision, so that the answer is that of double precision.

use zipfold_core::fold::rows::Along;
use zipfold_core::fold::{Fold, RowOp, SelectKind};
use zipfold_core::pair::lower::{Lowered, Source, ZipForm};
use zipfold_core::pair::tree::{Binary, Id, Node, Unary};
use zipfold_core::{Job, Precision};

/// Components from which the dense kernels pay.
const LONG: usize = 16;

/// The share of the pairs that neighbours may need in double precision.
const FEW: f64 = 1.0 / 32.0;

/// An operation on the way from the reduction to the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// √v.
    Sqrt,
    /// −v.
    Neg,
    /// v + c.
    Add(f64),
    /// v − c.
    Sub(f64),
    /// c − v.
    From(f64),
    /// v · c.
    Mul(f64),
    /// v / c.
    Div(f64),
}

/// Values on one side of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The limit lies between these two, whatever was rounded.
    pub between: (f64, f64),
    /// Values up to it, else from it on.
    pub below: bool,
}

/// What decides about a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// Whether its value is among the best of its row so far: the smallest, else the largest.
    Best(bool),
    /// Whether its value meets a limit; of equal values `or_equal` decides.
    Match {
        /// Values below the limit, else above.
        below: bool,
        /// The limit.
        limit: f64,
        /// Whether the limit itself matches.
        or_equal: bool,
    },
}

/// A job that is screened.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The reduction, with its hoisted vectors of x and of y.
    pub zip: (ZipForm, usize, usize),
    /// From the reduction to the value.
    pub steps: Vec<Step>,
    /// What decides.
    pub question: Question,
}

impl Form {
    /// The form of `job`, if single precision can screen it.
    pub fn of(job: &Job) -> Option<Form> {
        let low = &job.low;
        let [fold] = job.folds.as_slice() else { return None };
        let tables = [&job.x, job.y.as_ref().unwrap_or(&job.x)];
        let single = tables.iter().all(|t| t.precision() == Precision::F32);
        if low.dim < LONG || !single || job.near_root.is_some() {
            return None;
        }
        let roots = &low.formula.roots;
        let half = job.space.is_half();
        let (id, question) = match fold {
            Fold::Nearest(f) if !half && f.k > 0 => (roots[f.root], Question::Best(!f.largest)),
            Fold::Rows(f) if !half && f.width == 1 && f.along != Along::Column => match f.op {
                RowOp::Min | RowOp::Argmin => (roots[f.root], Question::Best(true)),
                RowOp::Max | RowOp::Argmax => (roots[f.root], Question::Best(false)),
                _ => return None,
            },
            Fold::Select(f) if f.kind == SelectKind::Inner || !half => {
                let (id, question) = predicate(low, roots[f.root])?;
                // A value that is kept must be the one compared.
                f.value.is_none_or(|v| roots[v] == id).then_some((id, question))?
            }
            _ => return None,
        };
        let (zip, steps) = chain(low, id)?;
        let raw = |side: usize, s: usize| low.raw_stream(side) == Some(s);
        // Differences of hoisted values that were rounded have no relative bound.
        let exact = zip.0 == ZipForm::Dot || (raw(0, zip.1) && raw(1, zip.2));
        let nearest = |f: &Fold| if let Fold::Nearest(f) = f { f.k } else { 1 };
        let (k, m) = (nearest(fold) as f64, job.space.m.max(1) as f64);
        // A random order of columns beats the k-th best so far about k ln(m/k) times.
        let rare = !matches!(question, Question::Best(_)) || k * (1.0 + (m / k).max(1.0).ln()) <= m * FEW;
        (exact && rare).then_some(Form { zip, steps, question })
    }
    /// The value of the reduction `z`, with the roundings of the reference.
    pub fn value(&self, z: f64) -> f64 {
        self.steps.iter().fold(z, |v, step| match step {
            Step::Sqrt => v.sqrt(),
            Step::Neg => -v,
            Step::Add(c) => v + c,
            Step::Sub(c) => v - c,
            Step::From(c) => c - v,
            Step::Mul(c) => v * c,
            Step::Div(c) => v / c,
        })
    }
    /// The reductions whose values are up to (or from) `v`: those beyond the wider end of the limit surely are not, those
    /// within the narrower surely are, but for values equal to `v`.
    pub fn limit(&self, v: f64, below: bool) -> Limit {
        let (mut lo, mut hi, mut below) = (v, v, below);
        let widen = |(a, b): (f64, f64), by: f64| {
            let slack = f64::EPSILON * 8.0 * (a.abs().max(b.abs()) + by.abs()) + f64::MIN_POSITIVE;
            (a.min(b) - slack, a.max(b) + slack)
        };
        for step in self.steps.iter().rev() {
            let turned =
                matches!(step, Step::Neg | Step::From(_)) || matches!(step, Step::Mul(c) | Step::Div(c) if *c < 0.0);
            (lo, hi) = match *step {
                // Nothing under the root is negative.
                Step::Sqrt if hi < 0.0 => (-1.0, -1.0),
                Step::Sqrt => widen((lo.max(0.0).powi(2), hi * hi), 0.0),
                Step::Neg => (-hi, -lo),
                Step::Add(c) => widen((lo - c, hi - c), c),
                Step::Sub(c) => widen((lo + c, hi + c), c),
                Step::From(c) => widen((c - hi, c - lo), c),
                Step::Mul(c) => widen((lo / c, hi / c), 0.0),
                Step::Div(c) => widen((lo * c, hi * c), 0.0),
            };
            below ^= turned;
        }
        Limit { between: (lo, hi), below }
    }
}

/// A comparison of a value with a constant.
fn predicate(low: &Lowered, id: Id) -> Option<(Id, Question)> {
    let Node::Binary(op @ (Binary::Lt | Binary::Le), a, b) = low.formula.node(id) else { return None };
    let or_equal = *op == Binary::Le;
    match (low.source(*a), low.source(*b)) {
        (Source::Pair, Source::Const(limit)) if limit.is_finite() => {
            Some((*a, Question::Match { below: true, limit, or_equal }))
        }
        (Source::Const(limit), Source::Pair) if limit.is_finite() => {
            Some((*b, Question::Match { below: false, limit, or_equal }))
        }
        _ => None,
    }
}

/// A reduction and the steps from it to a value.
type Chain = ((ZipForm, usize, usize), Vec<Step>);

/// The reduction and the steps that make value `id`.
fn chain(low: &Lowered, id: Id) -> Option<Chain> {
    if let Some((form, a, b)) = low.zip_form(id) {
        let (Source::Stream(_, sx), Source::Stream(_, sy)) = (low.source(a), low.source(b)) else { return None };
        return Some(((form, sx, sy), vec![]));
    }
    let plain = |c: f64| c == 0.0 || (1e-100..1e100).contains(&c.abs());
    let (inner, step) = match low.formula.node(id) {
        Node::Unary(Unary::Sqrt, a) => (*a, Step::Sqrt),
        Node::Unary(Unary::Neg, a) => (*a, Step::Neg),
        Node::Binary(op, a, b) => match (op, low.source(*a), low.source(*b)) {
            (Binary::Add, Source::Pair, Source::Const(c)) => (*a, Step::Add(c)),
            (Binary::Add, Source::Const(c), Source::Pair) => (*b, Step::Add(c)),
            (Binary::Sub, Source::Pair, Source::Const(c)) => (*a, Step::Sub(c)),
            (Binary::Sub, Source::Const(c), Source::Pair) => (*b, Step::From(c)),
            (Binary::Mul, Source::Pair, Source::Const(c)) if c != 0.0 => (*a, Step::Mul(c)),
            (Binary::Mul, Source::Const(c), Source::Pair) if c != 0.0 => (*b, Step::Mul(c)),
            (Binary::Div, Source::Pair, Source::Const(c)) if c != 0.0 => (*a, Step::Div(c)),
            _ => return None,
        },
        _ => return None,
    };
    let constant = match step {
        Step::Sqrt | Step::Neg => 1.0,
        Step::Add(c) | Step::Sub(c) | Step::From(c) | Step::Mul(c) | Step::Div(c) => c,
    };
    let (zip, mut steps) = chain(low, inner)?;
    let natural = zip.0 != ZipForm::Dot && steps.iter().all(|s| matches!(s, Step::Mul(c) | Step::Div(c) if *c > 0.0));
    if !plain(constant) || (step == Step::Sqrt && !natural) {
        return None;
    }
    steps.push(step);
    Some((zip, steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_reductions_enclose_those_of_values() {
        let steps = [
            vec![Step::Sqrt],
            vec![Step::From(1.0)],
            vec![Step::Mul(3.0), Step::Sqrt, Step::Neg, Step::Add(7.0)],
            vec![Step::Div(-2.0), Step::Sub(1e10)],
        ];
        for steps in steps {
            let form = Form { zip: (ZipForm::SqDiff, 0, 0), steps, question: Question::Best(true) };
            for at in 0..2000 {
                let z = f64::from(at) * 0.37 + 1e-9;
                let v = form.value(z);
                for below in [true, false] {
                    let limit = form.limit(v, below);
                    let (lo, hi) = limit.between;
                    assert!(lo <= z && z <= hi, "{:?} {z}: {limit:?}", form.steps);
                    // What lies beyond by more than the slack has another value.
                    let far = if limit.below { hi.next_up() } else { lo.next_down() };
                    let beyond = form.value(far);
                    assert!(if below { beyond >= v } else { beyond <= v }, "{:?} {z}", form.steps);
                    let within = form.value(if limit.below { lo.next_down() } else { hi.next_up() });
                    assert!(if below { within <= v } else { within >= v }, "{:?} {z}", form.steps);
                }
            }
        }
        // No root is negative: no reduction is small enough.
        let root = Form { zip: (ZipForm::SqDiff, 0, 0), steps: vec![Step::Sqrt], question: Question::Best(true) };
        assert!(root.limit(-1.0, true).between.1 < 0.0);
    }
}

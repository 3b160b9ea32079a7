//! Recognises the jobs that single precision can screen, and computes the limits that it decides
//! with.
//!
//! A job is screened if it is one reduction that the dense kernels know, a monotone chain of
//! operations on it, and a fold that keeps few of the values. The value of a pair in single
//! precision, with a bound of its error, then decides about most pairs; the others are computed in
//! double precision. The answer has the bits of double precision (invariant SCREEN-SAME). This is
//! the floating-point filter of computational geometry (Fortune and Van Wyk 1993).
//!
//! The chain is walked backwards: "value ≤ v" becomes "reduction ≤ z" for some z, once per row or
//! question, so a pair costs its reduction and a comparison.
//!
//! ```text
//! cosine distance < 0.1:   1 − clamp(dot) < 0.1   ⇔   dot > 0.9 (± roundings)      limit: between 0.9 − ε and 0.9 + ε, from it on
//! ```

use zipfold_core::fold::rows::Along;
use zipfold_core::fold::{Fold, RowOp, SelectKind};
use zipfold_core::pair::lower::{Lowered, Source, ZipForm};
use zipfold_core::pair::tree::{Binary, Id, Node, Side, Unary};
use zipfold_core::{Job, Precision, number};

/// Components from which on packed rows and their kernels pay.
pub const LONG: usize = 16;

/// The largest share of the pairs that may need double precision.
const FEW: f64 = 1.0 / 32.0;

/// An operation on the way from the reduction to the value. Each is monotone.
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
    /// min(v, c).
    Min(f64),
    /// max(v, c).
    Max(f64),
    /// Another value for rows that are equal.
    Choice(Choice),
}

/// `if(z == a and z == b, same, v)` of the reduction z, where a is a number of the row of x and b
/// one of the row of y: their inner products with themselves. This is how the cosine gives exactly
/// 1 for equal rows. `same` depends on z alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// a and b: hoisted numbers of x and of y.
    pub numbers: [usize; 2],
    /// `same` where z is 0, and elsewhere.
    pub same: [f64; 2],
}

impl Choice {
    /// Returns the value of equal rows.
    fn same(&self, z: f64) -> f64 {
        self.same[usize::from(z != 0.0)]
    }
}

/// A limit of the reduction, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The limit lies between these two, however operations were rounded.
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
    /// The reduction, with the numbers of its hoisted vectors of x and of y.
    pub zip: (ZipForm, usize, usize),
    /// From the reduction to the value.
    pub steps: Vec<Step>,
    /// What decides.
    pub question: Question,
    /// How far the branches of a choice are apart where rows may take the first. See
    /// [`Self::over`].
    pub gap: f64,
}

impl Form {
    /// Returns the form of `job` if single precision can screen it.
    pub fn of(job: &Job) -> Option<Form> {
        let low = &job.low;
        let [fold] = job.folds.as_slice() else {
            return None;
        };
        // Inputs in f32 are exact in the kernel; f64 rows would lose digits before any arithmetic.
        let tables = [&job.x, job.y.as_ref().unwrap_or(&job.x)];
        let single = tables.iter().all(|t| t.precision() == Precision::F32);
        if low.dim < LONG || !single || job.near_root.is_some() {
            return None;
        }
        let roots = &low.formula.roots;
        let half = job.space.is_triangular();
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
                f.value
                    .is_none_or(|v| roots[v] == id)
                    .then_some((id, question))?
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
        let rare =
            !matches!(question, Question::Best(_)) || k * (1.0 + (m / k).max(1.0).ln()) <= m * FEW;
        // Counts of what differs are whole numbers: ties, which single precision leaves open, are
        // the rule among the best.
        let tied = zip.0 == ZipForm::Differ && matches!(question, Question::Best(_));
        (exact && rare && !tied).then_some(Form {
            zip,
            steps,
            question,
            gap: 0.0,
        })
    }
    /// Returns the choice on the way, if there is one.
    pub fn choice(&self) -> Option<Choice> {
        self.steps.iter().find_map(|step| {
            if let Step::Choice(choice) = step {
                Some(*choice)
            } else {
                None
            }
        })
    }
    /// Returns the same form for rows of x whose numbers of the choice are `numbers`.
    ///
    /// The reduction of a pair that takes the first branch is one of these numbers, so the largest
    /// gap between the two branches there bounds the gap of every pair; [`Self::limit`] widens its
    /// limits by it.
    pub fn over(self, numbers: impl Iterator<Item = f64>) -> Form {
        let Some(choice) = self.choice() else {
            return self;
        };
        let before = self
            .steps
            .iter()
            .take_while(|s| !matches!(s, Step::Choice(_)));
        let before: Vec<Step> = before.copied().collect();
        let gap = |z| (choice.same(z) - through(&before, z, [f64::NAN; 2])).abs();
        Form {
            gap: numbers.map(gap).fold(0.0, number::max),
            ..self
        }
    }
    /// Computes the value from the reduction `z` with the roundings of the reference; `numbers` are
    /// those of the choice.
    pub fn value(&self, z: f64, numbers: [f64; 2]) -> f64 {
        through(&self.steps, z, numbers)
    }
    /// Returns which reductions have values up to `v` (or from `v` on, without `below`).
    ///
    /// Reductions beyond the wider end of the limit surely have not; those within the narrower
    /// surely have, except for values equal to `v`. The steps are inverted from the last to the
    /// first. Each inverse rounds, so the interval is widened by a few ulps of the operands; a step
    /// that falls turns the direction.
    pub fn limit(&self, v: f64, below: bool) -> Limit {
        let (mut lo, mut hi, mut below) = (v, v, below);
        let widen = |(a, b): (f64, f64), by: f64| {
            let slack = |v: f64| match v.is_finite() {
                true => f64::EPSILON * 8.0 * (v.abs() + by.abs()) + f64::MIN_POSITIVE,
                false => 0.0,
            };
            (a.min(b) - slack(a.min(b)), a.max(b) + slack(a.max(b)))
        };
        // From the value back to the reduction: each step is inverted, the last one first.
        for step in self.steps.iter().rev() {
            let turned = matches!(step, Step::Neg | Step::From(_))
                || matches!(step, Step::Mul(c) | Step::Div(c) if *c < 0.0);
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
                // Beyond what a value can be lie all reductions or none.
                Step::Min(c) => (
                    if c < lo { f64::INFINITY } else { lo },
                    if c <= hi { f64::INFINITY } else { hi },
                ),
                Step::Max(c) => (
                    if c >= lo { f64::NEG_INFINITY } else { lo },
                    if c > hi { f64::NEG_INFINITY } else { hi },
                ),
                Step::Choice(_) => widen((lo - self.gap, hi + self.gap), self.gap),
            };
            // A step that falls exchanges "up to" and "from".
            below ^= turned;
        }
        Limit {
            between: (lo, hi),
            below,
        }
    }
}

/// Applies `steps` to the reduction `z`.
fn through(steps: &[Step], z: f64, [a, b]: [f64; 2]) -> f64 {
    steps.iter().fold(z, |v, step| match step {
        Step::Sqrt => v.sqrt(),
        Step::Neg => -v,
        Step::Add(c) => v + c,
        Step::Sub(c) => v - c,
        Step::From(c) => c - v,
        Step::Mul(c) => v * c,
        Step::Div(c) => v / c,
        Step::Min(c) => number::min(v, *c),
        Step::Max(c) => number::max(v, *c),
        Step::Choice(choice) if z == a && z == b => choice.same(z),
        Step::Choice(_) => v,
    })
}

/// Recognises a comparison of a value with a constant, either way round.
fn predicate(low: &Lowered, id: Id) -> Option<(Id, Question)> {
    let Node::Binary(op @ (Binary::Lt | Binary::Le), a, b) = low.formula.node(id) else {
        return None;
    };
    let or_equal = *op == Binary::Le;
    match (low.source(*a), low.source(*b)) {
        (Source::Pair, Source::Const(limit)) if limit.is_finite() => Some((
            *a,
            Question::Match {
                below: true,
                limit,
                or_equal,
            },
        )),
        (Source::Const(limit), Source::Pair) if limit.is_finite() => Some((
            *b,
            Question::Match {
                below: false,
                limit,
                or_equal,
            },
        )),
        _ => None,
    }
}

/// A reduction with its hoisted vectors of x and of y.
type Zip = (ZipForm, usize, usize);
/// A reduction, and the steps from it to a value.
type Chain = (Zip, Vec<Step>);

/// Returns the reduction and the steps that make value `id`. Constants are bounded to 10^±100, so
/// that no inverse overflows; a root is accepted only where nothing below it can be negative.
fn chain(low: &Lowered, id: Id) -> Option<Chain> {
    if let Some((form, a, b)) = low.zip_form(id) {
        let (Source::Stream(_, sx), Source::Stream(_, sy)) = (low.source(a), low.source(b)) else {
            return None;
        };
        return Some(((form, sx, sy), vec![]));
    }
    if let Node::Select(condition, same, other) = low.formula.node(id) {
        let (zip, mut steps) = chain(low, *other)?;
        let choice = choice(low, zip, *condition, *same)?;
        // One choice is enough.
        let first = !steps.iter().any(|s| matches!(s, Step::Choice(_)));
        steps.push(Step::Choice(choice));
        return first.then_some((zip, steps));
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
            (Binary::Min, Source::Pair, Source::Const(c)) => (*a, Step::Min(c)),
            (Binary::Min, Source::Const(c), Source::Pair) => (*b, Step::Min(c)),
            (Binary::Max, Source::Pair, Source::Const(c)) => (*a, Step::Max(c)),
            (Binary::Max, Source::Const(c), Source::Pair) => (*b, Step::Max(c)),
            _ => return None,
        },
        _ => return None,
    };
    let constant = match step {
        Step::Sqrt | Step::Neg | Step::Choice(_) => 1.0,
        Step::Add(c)
        | Step::Sub(c)
        | Step::From(c)
        | Step::Mul(c)
        | Step::Div(c)
        | Step::Min(c)
        | Step::Max(c) => c,
    };
    let (zip, mut steps) = chain(low, inner)?;
    // Under a root only sums of magnitudes or squares, scaled by positive numbers: never negative.
    let natural = zip.0 != ZipForm::Dot
        && steps
            .iter()
            .all(|s| matches!(s, Step::Mul(c) | Step::Div(c) if *c > 0.0));
    if !plain(constant) || (step == Step::Sqrt && !natural) {
        return None;
    }
    steps.push(step);
    Some((zip, steps))
}

/// Recognises the choice of `same` on `condition`, both of the reduction `zip`.
fn choice(low: &Lowered, zip: Zip, condition: Id, same: Id) -> Option<Choice> {
    let Node::Binary(Binary::And, p, q) = low.formula.node(condition) else {
        return None;
    };
    let numbers = match (equals(low, zip, *p)?, equals(low, zip, *q)?) {
        (Source::Attr(Side::X, a), Source::Attr(Side::Y, b))
        | (Source::Attr(Side::Y, b), Source::Attr(Side::X, a)) => [a, b],
        _ => return None,
    };
    let constant = |id| {
        if let Source::Const(c) = low.source(id) {
            Some(c)
        } else {
            None
        }
    };
    let same = match low.formula.node(same) {
        Node::Select(zero, there, elsewhere) if equals(low, zip, *zero)? == Source::Const(0.0) => {
            [constant(*there)?, constant(*elsewhere)?]
        }
        _ => [constant(same)?; 2],
    };
    Some(Choice { numbers, same })
}

/// Returns what the truth value `id` compares the reduction `zip` with.
fn equals(low: &Lowered, zip: Zip, id: Id) -> Option<Source> {
    let Node::Binary(Binary::Eq, a, b) = low.formula.node(id) else {
        return None;
    };
    let is_zip = |id| low.zip_form(id).is_some() && chain(low, id).is_some_and(|(z, _)| z == zip);
    match (is_zip(*a), is_zip(*b)) {
        (true, false) => Some(low.source(*b)),
        (false, true) => Some(low.source(*a)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(steps: Vec<Step>) -> Form {
        Form {
            zip: (ZipForm::SqDiff, 0, 0),
            steps,
            question: Question::Best(true),
            gap: 0.0,
        }
    }

    #[test]
    fn limits_of_reductions_enclose_those_of_values() {
        let steps = [
            vec![Step::Sqrt],
            vec![Step::From(1.0)],
            vec![Step::Mul(3.0), Step::Sqrt, Step::Neg, Step::Add(7.0)],
            vec![Step::Div(-2.0), Step::Sub(1e10)],
            vec![Step::Min(200.0), Step::Max(9.0)],
            vec![
                Step::Add(3.0),
                Step::Max(9.0),
                Step::Neg,
                Step::Max(-200.0),
                Step::Mul(0.1),
            ],
        ];
        for steps in steps {
            let form = form(steps);
            for at in 0..2000 {
                let z = f64::from(at) * 0.37 + 1e-9;
                let v = form.value(z, [0.0; 2]);
                for below in [true, false] {
                    let limit = form.limit(v, below);
                    let (lo, hi) = limit.between;
                    assert!(lo <= z && z <= hi, "{:?} {z}: {limit:?}", form.steps);
                    // What lies beyond by more than the slack has another value, if anything lies
                    // there.
                    let outside =
                        |z: f64| (z.abs() < f64::INFINITY).then(|| form.value(z, [0.0; 2]));
                    let far = outside(if limit.below {
                        hi.next_up()
                    } else {
                        lo.next_down()
                    });
                    assert!(
                        far.is_none_or(|far| if below { far >= v } else { far <= v }),
                        "{:?} {z}",
                        form.steps
                    );
                    let within = outside(if limit.below {
                        lo.next_down()
                    } else {
                        hi.next_up()
                    });
                    assert!(
                        within.is_none_or(|w| if below { w <= v } else { w >= v }),
                        "{:?} {z}",
                        form.steps
                    );
                }
            }
        }
        // No root is negative: no reduction is small enough.
        assert!(form(vec![Step::Sqrt]).limit(-1.0, true).between.1 < 0.0);
    }

    #[test]
    fn limits_beyond_a_clamp_are_met_by_all_or_by_none() {
        let clamped = form(vec![Step::Min(1.0), Step::Max(-1.0)]);
        let infinite = f64::INFINITY;
        for (limit, below, between) in [
            // Nothing is above 1.5, everything below.
            (1.5, false, (infinite, infinite)),
            (1.5, true, (infinite, infinite)),
            (-1.5, false, (-infinite, -infinite)),
            (-1.5, true, (-infinite, -infinite)),
            // At the clamp nobody knows by the reduction alone.
            (1.0, true, (1.0, infinite)),
            (1.0, false, (1.0, infinite)),
            (-1.0, true, (-infinite, -1.0)),
            (0.5, true, (0.5, 0.5)),
        ] {
            assert_eq!(
                clamped.limit(limit, below),
                Limit { between, below },
                "{limit} {below}"
            );
        }
    }

    #[test]
    fn choices_widen_limits_by_the_gap_of_their_branches() {
        let choice = Choice {
            numbers: [0, 0],
            same: [0.0, 1.0],
        };
        let steps = vec![
            Step::Min(1.0),
            Step::Max(-1.0),
            Step::Choice(choice),
            Step::From(1.0),
        ];
        let numbers = [1.0 - 1e-12, 0.0, 1.0 + 1e-9];
        let form = form(steps).over(numbers.into_iter());
        assert!((form.gap - 1e-12).abs() < 1e-15, "{}", form.gap);
        assert_eq!(form.value(numbers[0], [numbers[0]; 2]), 0.0);
        assert_eq!(form.value(numbers[0], [numbers[0], 1.0]), 1.0 - numbers[0]);
        assert_eq!(form.value(0.0, [0.0; 2]), 1.0);
        let Limit {
            between: (lo, hi),
            below,
        } = form.limit(0.25, true);
        assert!(
            !below && lo < 0.75 - 1e-12 && hi > 0.75 + 1e-12 && hi - lo < 2.1e-12,
            "{lo} {hi}"
        );
    }
}

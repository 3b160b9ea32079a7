//! Recognises the jobs that single precision can filter, and computes the limits that it decides
//! with.
//!
//! A job is filtered if it is one reduction that the dense kernels know, a monotone chain of
//! operations on it, and a fold that keeps few of the values. The value of a pair in single
//! precision, with a bound of its error, then decides about most pairs; the others are computed in
//! double precision. The answer has the bits of double precision (invariant FILTER-SAME). This is
//! the floating-point filter of computational geometry (Fortune and Van Wyk 1993).
//!
//! The chain is walked backwards: "value ≤ v" becomes "reduction ≤ z" for some z, once per row or
//! question, so a pair costs its reduction and a comparison.
//!
//! ```text
//! cosine distance < 0.1:   1 − clamp(dot) < 0.1   ⇔   dot > 0.9 (± roundings)      limit: between 0.9 − ε and 0.9 + ε, from it on
//! ```

use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Fold, JoinKind};
use zipfold_core::pair::pattern::{Chain, Choice, Reduction, Step, Threshold, VectorReduction};
use zipfold_core::{Job, Precision, number};

/// Components from which on packed rows and their kernels pay.
pub const LONG: usize = 16;

/// The largest share of the pairs that may need double precision.
const FEW: f64 = 1.0 / 32.0;

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

/// A job that is filtered.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The reduction, with the numbers of its hoisted vectors of x and of y.
    pub reduction: VectorReduction,
    /// From the reduction to the value.
    pub steps: Vec<Step>,
    /// What decides.
    pub question: Question,
    /// How far the branches of a choice are apart where rows may take the first. See
    /// [`Self::over`].
    pub gap: f64,
}

impl Form {
    /// Returns the form of `job` if single precision can filter it.
    pub fn for_job(job: &Job) -> Option<Form> {
        let low = &job.low;
        let [fold] = job.folds.as_slice() else {
            return None;
        };
        // Inputs in f32 are exact in the kernel; f64 rows would lose digits before any arithmetic.
        let tables = [&job.x, job.other()];
        let single = tables.iter().all(|t| t.precision() == Precision::F32);
        if low.dim < LONG || !single || job.cutoff_root.is_some() {
            return None;
        }
        let (chain, question) = asked(job, fold)?;
        let (reduction, [x, y]) = (chain.reduction, chain.reduction.row_vectors);
        let raw = low.raw_vector(0) == Some(x) && low.raw_vector(1) == Some(y);
        // Differences of hoisted values that were rounded have no relative bound.
        let exact = reduction.form == Reduction::Dot || raw;
        let best = matches!(question, Question::Best(_));
        // Counts of what differs are whole numbers: ties, which single precision leaves open, are
        // the rule among the best.
        let tied = reduction.form == Reduction::Differ && best;
        (exact && !tied && (!best || are_rare(job, fold))).then(|| Form {
            reduction,
            steps: chain.steps.clone(),
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
    /// Returns an interval that holds every operand that `step` takes into the one given.
    fn inverse(&self, step: &Step, (lo, hi): (f64, f64)) -> (f64, f64) {
        match *step {
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
        }
    }
    /// Returns which reductions have values up to `v` (or from `v` on, without `below`).
    ///
    /// Reductions beyond the wider end of the limit surely have not; those within the narrower
    /// surely have, except for values equal to `v`. The steps are inverted from the last to the
    /// first. Each inverse rounds, so the interval is widened by a few ulps of the operands; a step
    /// that falls turns the direction.
    pub fn limit(&self, v: f64, below: bool) -> Limit {
        let (mut lo, mut hi, mut below) = (v, v, below);
        // From the value back to the reduction: each step is inverted, the last one first.
        for step in self.steps.iter().rev() {
            let turned = matches!(step, Step::Neg | Step::From(_))
                || matches!(step, Step::Mul(c) | Step::Div(c) if *c < 0.0);
            (lo, hi) = self.inverse(step, (lo, hi));
            // A step that falls exchanges "up to" and "from".
            below ^= turned;
        }
        Limit {
            between: (lo, hi),
            below,
        }
    }
}

/// Returns the ends in order, a few ulps of them and of `by` further apart.
fn widen((a, b): (f64, f64), by: f64) -> (f64, f64) {
    let slack = |v: f64| match v.is_finite() {
        true => f64::EPSILON * 8.0 * (v.abs() + by.abs()) + f64::MIN_POSITIVE,
        false => 0.0,
    };
    (a.min(b) - slack(a.min(b)), a.max(b) + slack(a.max(b)))
}

/// Applies `steps` to the reduction `z`.
fn through(steps: &[Step], z: f64, numbers: [f64; 2]) -> f64 {
    steps.iter().fold(z, |v, step| step.apply(v, z, numbers))
}

/// The chain of the value that `fold` decides by, and how it decides.
fn asked<'j>(job: &'j Job, fold: &Fold) -> Option<(&'j Chain, Question)> {
    let pattern = |root: usize| job.low.pattern(root);
    let half = job.space.is_triangular();
    if let Fold::Join(f) = fold {
        let threshold = pattern(f.root).threshold.as_ref()?;
        let chain = threshold.chain.as_ref()?;
        let whole = f.kind == JoinKind::Inner || !half;
        // A value that is kept must be the one compared.
        let kept = f.value.map(|v| job.low.formula.roots[v]);
        let same = kept.is_none_or(|id| id == threshold.value);
        return (whole && same).then_some((chain, decides(threshold)?));
    }
    let (root, largest) = if let Fold::Nearest(f) = fold {
        (f.k > 0).then_some((f.root, f.largest))?
    } else if let Fold::Reduce(f) = fold {
        let single = f.width == 1 && f.axis != ReduceAxis::Column;
        (single && f.op.is_extreme()).then_some((f.root, f.op.wants_largest()))?
    } else {
        return None;
    };
    let chain = pattern(root).chain.as_ref()?;
    (!half).then_some((chain, Question::Best(!largest)))
}

/// Whether few values are among the best of their row so far: a random order of columns beats the
/// k-th best about k ln(m/k) times.
fn are_rare(job: &Job, fold: &Fold) -> bool {
    let k = if let Fold::Nearest(f) = fold { f.k } else { 1 };
    let (k, m) = (k as f64, job.space.m.max(1) as f64);
    k * (1.0 + (m / k).max(1.0).ln()) <= m * FEW
}

/// What a threshold with a finite limit asks.
fn decides(threshold: &Threshold) -> Option<Question> {
    let Threshold {
        below,
        limit,
        or_equal,
        ..
    } = *threshold;
    limit.is_finite().then_some(Question::Match {
        below,
        limit,
        or_equal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::pair::tree::Id;

    fn form(steps: Vec<Step>) -> Form {
        Form {
            reduction: VectorReduction {
                form: Reduction::SqDiff,
                sides: [Id(0), Id(1)],
                row_vectors: [0, 0],
            },
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

//! What a run gives.

use crate::frame::Frame;
use crate::identity::{Identity, Key};
use crate::runs::MatchRuns;
use zipfold_core::fold::{Columns, Fold, State, Tally};
use zipfold_core::{Error, Job, Message, Result};
use zipfold_plan::Plan;

/// What a fold gives. [`crate::Answer::columns`] has the answers by name.
///
/// ```
/// use zipfold::{Options, Output, Table, pairs};
/// let x = Table::f64(2, 1, vec![0.0, 2.0])?;
/// let (question, options) = (pairs(&x).fold(zipfold::problem::FoldSpec::Matrix {}), Options::default());
/// let Some(Output::F64(matrix)) = question.run(&options)?.outcome.outputs.pop() else { panic!("no matrix") };
/// assert_eq!(matrix, [0.0, 2.0, 2.0, 0.0]);
/// # Ok::<(), zipfold::Error>(())
/// ```
#[must_use]
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Output {
    /// A dense result in single precision.
    F32(Vec<f32>),
    /// A dense result in double precision.
    F64(Vec<f64>),
    /// A dense result in its file, or in the caller's memory.
    Stored,
    /// A state to finish.
    State(State),
    /// The matches of a join that memory does not hold, in sorted runs.
    #[doc(hidden)]
    Runs(MatchRuns),
}

impl Output {
    /// What `fold` kept of `n` × `m` rows as columns; none of what is stored elsewhere.
    fn columns<'a>(&'a self, fold: &'a Fold, n: usize, m: usize) -> Result<Option<Columns<'a>>> {
        let columns = match (self, fold) {
            (Output::Stored | Output::Runs(_), _) => return Ok(None),
            (Output::F32(values), Fold::Dense(f)) => Some(f.columns_of(&values[..], n, m)),
            (Output::F64(values), Fold::Dense(f)) => Some(f.columns_of(&values[..], n, m)),
            (Output::State(state), _) => fold.columns(state, n, m),
            (Output::F32(_) | Output::F64(_), _) => None,
        };
        columns
            .map(Some)
            .ok_or_else(|| Error::internal("a fold and its answer do not belong together"))
    }
}

/// What a run gives.
///
/// ```
/// use zipfold::{Options, Outcome, Table, pairs};
/// let x = Table::f64(2, 1, vec![0.0, 2.0])?;
/// let (question, options) = (pairs(&x).fold(zipfold::problem::FoldSpec::Matrix {}), Options::default());
/// let outcome: Outcome = question.run(&options)?.outcome;
/// assert_eq!((outcome.pairs, outcome.tally.counted, outcome.warnings.len()), (3, 3, 0)); // i <= j
/// # Ok::<(), zipfold::Error>(())
/// ```
#[must_use]
#[non_exhaustive]
#[derive(Debug)]
pub struct Outcome {
    /// The plan that was run.
    pub plan: Plan,
    /// By fold.
    pub outputs: Vec<Output>,
    /// What happened to the pairs.
    pub tally: Tally,
    /// Pairs of this run.
    pub pairs: u64,
    /// Those of them that an earlier run visited, from whose checkpoint this one went on.
    pub before: u64,
    /// Seconds of loading and running.
    pub kernel_seconds: f64,
    /// Those of them before the first pair: rows laid out or uploaded, kernels made.
    pub load_seconds: f64,
    /// What the run has to say next to its answer.
    pub warnings: Vec<Message>,
    /// What decided the answer, where the run was a shard or kept checkpoints.
    pub identity: Option<Identity>,
    /// What a shard says of itself, where the run was one.
    #[doc(hidden)]
    pub shared: Option<ShareFacts>,
}

impl Outcome {
    /// Answer `at` of `job` as columns; none of what is stored elsewhere.
    ///
    /// # Errors
    /// `Request` where there is no such answer, `Internal` where the outputs are those of another job.
    #[doc(hidden)]
    pub fn columns<'a>(&'a self, job: &'a Job, at: usize) -> Result<Option<Columns<'a>>> {
        let answers = job.answers();
        if at >= answers {
            let what = format!("expected an answer below {answers}, got {at}");
            return Err(Error::request(what));
        }
        job.answer(
            at,
            &|fold| match (job.folds.get(fold), self.outputs.get(fold)) {
                (Some(fold), Some(output)) => output.columns(fold, job.space.n, job.space.m),
                _ => Err(Error::internal("an outcome of other folds")),
            },
        )
    }
}

/// What a shard says of itself.
#[derive(Clone, Debug)]
pub struct ShareFacts {
    /// How its numbers came about.
    pub key: Key,
    /// By row of its states the row of x, where they are not as given.
    pub order: Vec<u32>,
    /// By fold: where its values of a dense result lie.
    pub frames: Vec<Option<Frame>>,
}

//! Values of formulas for the pairs of an output: the reference value of each, some pairs at a time.

use crate::pool;
use rayon::prelude::*;
use zipfold_core::oracle::PairValues;
use zipfold_core::pair::Param;
use zipfold_core::problem::{FoldSpec, PairSpec};
use zipfold_core::{Data, Error, Job, Opt, Result, describe};

use super::found::{MatchBatch, naming};
use std::collections::BTreeMap;

/// Pairs that a thread evaluates at a time.
const SOME: usize = 4096;

/// A formula of an output.
pub(crate) struct PairFormula {
    job: Job,
}

impl PairFormula {
    /// The formula `text` of the rows of `data`.
    ///
    /// # Errors
    /// `Request` for a formula that is none, or that gives several numbers.
    pub(crate) fn new(
        text: &str,
        params: &BTreeMap<String, Param>,
        names: [&str; 2],
        data: &Data,
    ) -> Result<PairFormula> {
        let mut problem = naming(names, []);
        problem.pair = PairSpec {
            metric: None,
            formula: Some(text.to_string()),
            params: params.clone(),
        };
        problem.folds = vec![FoldSpec::Matrix {}];
        let y = Some(data.other().clone());
        let weights = vec![None];
        let x = data.x.clone();
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y,
                weights,
            },
        )
        .map_err(|e| e.at_least(Opt::Select))?;
        Ok(PairFormula { job })
    }
    /// The values of pairs; NaN where a pair has no row of y.
    pub(crate) fn values(&self, found: &MatchBatch, threads: usize) -> Result<Vec<f64>> {
        let mut out = vec![f64::NAN; found.i.len()];
        let work = || {
            out.par_chunks_mut(SOME).enumerate().for_each_init(
                || (PairValues::new(&self.job), vec![]),
                |(values, roots), (part, out)| {
                    for (at, out) in out.iter_mut().enumerate() {
                        let pair = part * SOME + at;
                        if let Ok(j) = usize::try_from(found.j[pair]) {
                            values.get(found.i[pair] as usize, j, roots);
                            *out = roots[0][0];
                        }
                    }
                },
            );
        };
        let threads = zipfold_cpu::detect(threads, 0).threads;
        pool::kept(threads)?.install(work);
        Ok(out)
    }
    /// Whether the formula gives one number.
    ///
    /// # Errors
    /// `Request` where it gives several.
    pub(crate) fn check(&self, text: &str) -> Result<()> {
        let mut roots = vec![];
        if self.job.x.rows() > 0 && self.job.other().rows() > 0 {
            PairValues::new(&self.job).get(0, 0, &mut roots);
        }
        match roots.first().is_some_and(|root| root.len() != 1) {
            false => Ok(()),
            true => {
                let what = format!("expected a formula of one number, got a vector: {text}");
                let e = Error::request(what).at_place(Opt::Select);
                Err(e.remedy("a component, x[0], or a sum"))
            }
        }
    }
}

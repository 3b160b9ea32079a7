//! Every kernel that could make a join, run one by one: what the choice by predicted time is held
//! against.

use crate::choice::{Candidate, candidates};
use crate::contract::{Block, Contractor, code, own};
use crate::join_code::Folding;
use crate::paged::Contraction;
use crate::pages::Pages;
use rayon::prelude::*;
use std::time::Instant;
use zipfold_core::{Error, Result};
use zipfold_product::cpu::Fold;
use zipfold_product::cpu::bucket::Mode;
use zipfold_product::cpu::shape::Shape;
use zipfold_product::remote::{Numbers, Remote};

/// A kernel that made a join.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What it is, as [`Candidate`] has it.
    pub name: String,
    /// Predicted seconds.
    pub predicted: f64,
    /// Measured seconds of one of several runs in a row.
    pub seconds: f64,
}

/// Seconds that runs in a row take at least, and most of them.
const LEAST: f64 = 4e-4;
const MOST: f64 = 20.0;
/// Times the least seconds of all kernels so far, from which on one run is enough.
const SLOW: f64 = 4.0;

impl Contractor {
    /// Makes the join `shape` of `inputs` by every kernel that it could take; the paper's kernel as
    /// `pages` says, with segments and without.
    ///
    /// # Errors
    /// `Resource` when the device has no room, `Device` when it fails, `Internal` where two kernels
    /// differ in their greatest entry.
    pub fn trials(&self, shape: &Shape, inputs: &[&Numbers], pages: &Pages) -> Result<Vec<Trial>> {
        let blocks: Vec<&Block> = inputs.iter().map(|n| own(n)).collect::<Result<_>>()?;
        let (precision, units, _) = self.parts();
        let all = candidates(shape, precision, units);
        self.compile_for(shape, &all)?;
        let (mut out, mut greatest, mut best) = (Vec::new(), None, f64::INFINITY);
        for candidate in &all {
            let ready = self.set_out(shape, candidate.way, VALUES)?;
            let run = || self.run(&ready, &blocks, None);
            let (seconds, made) = timed(self, &run, best)?;
            best = best.min(seconds);
            self.agree(&candidate.name(), made, &mut greatest)?;
            out.push(Trial {
                name: candidate.name(),
                predicted: candidate.seconds(self.facts()),
                seconds,
            });
        }
        out.extend(self.trials_of_pages(shape, (&blocks, pages), (best, &mut greatest))?);
        Ok(out)
    }
    /// Makes the join `shape` of `inputs` by `candidate`, also where others are predicted to take less time.
    ///
    /// # Errors
    /// `Resource` when the device has no room, `Device` when it fails.
    pub fn join_by(
        &self,
        candidate: &Candidate,
        shape: &Shape,
        inputs: &[&Numbers],
        fold: Fold,
    ) -> Result<Numbers> {
        let blocks: Vec<&Block> = inputs.iter().map(|n| own(n)).collect::<Result<_>>()?;
        let max = fold == Fold::Max;
        let ready = self.set_out(shape, candidate.way, Folding { max, logs: false })?;
        Ok(Box::new(self.run(&ready, &blocks, None)?))
    }
    /// Trials of the paper's kernel; `best` are the least seconds so far, `greatest` is the greatest
    /// entry.
    fn trials_of_pages(
        &self,
        shape: &Shape,
        (blocks, pages): (&[&Block], &Pages),
        (best, greatest): (f64, &mut Option<f64>),
    ) -> Result<Vec<Trial>> {
        let (_, _, device) = self.parts();
        let mut out = Vec::new();
        let buckets = pages.ways(shape, Mode::Sum);
        let kernels = buckets.par_iter();
        let kernels = kernels.map(|bucket| Contraction::new(device, bucket));
        let kernels: Vec<Contraction> = kernels.collect::<Result<_>>()?;
        for (bucket, kernel) in buckets.iter().zip(&kernels) {
            let run = || self.run_paged(kernel, blocks, self.block(shape.out_len)?, None);
            let (seconds, made) = timed(self, &run, best)?;
            self.agree(&bucket.name(), made, greatest)?;
            out.push(Trial {
                name: bucket.name(),
                predicted: bucket.seconds,
                seconds,
            });
        }
        Ok(out)
    }
    /// Compiles the kernels of candidates, on all threads of the host.
    fn compile_for(&self, shape: &Shape, all: &[Candidate]) -> Result<()> {
        let codes = all.iter().map(|c| code(shape, VALUES, c.way));
        self.compile_all(&codes.collect::<Vec<_>>())
    }
    /// Refuses a result whose greatest entry is not that of the kernel before.
    fn agree(&self, name: &str, made: Block, greatest: &mut Option<f64>) -> Result<()> {
        let made: Numbers = Box::new(made);
        let (_, own) = self.ends(&made)?;
        let all = greatest.get_or_insert(own);
        if (own - *all).abs() <= 1e-4 * *all {
            return Ok(());
        }
        Err(Error::internal(format!(
            "{name}: expected a greatest entry of {all}, got {own}"
        )))
    }
}

/// Sums.
const VALUES: Folding = Folding {
    max: false,
    logs: false,
};

/// Seconds of one of several runs in a row, the least of three times; of a run alone where that
/// takes much longer than `best`. And the result.
fn timed(
    contractor: &Contractor,
    run: &dyn Fn() -> Result<Block>,
    best: f64,
) -> Result<(f64, Block)> {
    let times = |many: usize| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..many {
            run()?;
        }
        contractor.finish()?;
        Ok(start.elapsed().as_secs_f64() / many as f64)
    };
    times(1)?;
    let mut least = times(1)?;
    if least < SLOW * best.max(2e-5) {
        let many = (LEAST / least).clamp(1.0, MOST) as usize;
        for _ in 0..3 {
            least = least.min(times(many)?);
        }
    }
    Ok((least, run()?))
}

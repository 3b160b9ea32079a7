//! Sums and marginals by a count of components, for networks whose zeros leave less to count than
//! an elimination visits. A count that does not end in time is an error that says what is known.

use super::counting::Why;
use super::parts::Summed;
use super::settings::Settings;
use crate::footprint;
use std::time::Instant;
use zipfold_core::factor::{Answer, Evidence, Network, Task, Var};
use zipfold_core::{Budget, Error, Opt, Reservation, Result, figures};
use zipfold_gpu::DeviceSelector;
use zipfold_product::count::{Allowed, Asked, Counted, STEPS, Stop, Work, check, count};
use zipfold_product::plan::{Need, Options, Pass, Rates, Reduced, plan, reduce};

/// Seconds of a predicted elimination from which a count is tried before it.
const TRIED: f64 = 1.0;
/// The part of the predicted seconds that such a count takes at most.
const PART: f64 = 0.1;
/// The part of the time limit that a count takes at most where elimination is refused: a network
/// that neither answers is refused in seconds.
const REFUSED: f64 = 0.01;

/// The same before the order search, with the seconds that the first order predicts; seconds that
/// count; and the least share of zeros with which it is tried.
const EARLY: f64 = 0.05;
const COUNTED: f64 = 10.0;
const ZEROS: f64 = 0.25;
/// Variables of a count that was not chosen: the order of more takes seconds.
const PROBED: usize = 4000;
/// Bytes that a step keeps at most.
const STEP: u64 = 64;

/// Steps of a count before an elimination of `seconds`; none where it is not tried.
pub(super) fn steps_before(settings: &Settings, seconds: f64) -> Option<u64> {
    let tried = seconds >= TRIED && is_free(settings);
    tried.then_some((seconds * PART * STEPS) as u64)
}

/// Whether nothing is chosen that only an elimination does.
fn is_free(settings: &Settings) -> bool {
    let other = |key: &str| key.starts_with("product.") && key != "product.method";
    let chosen = settings.overrides.texts();
    !matches!(settings.device, DeviceSelector::Devices(..)) && !chosen.keys().any(|key| other(key))
}

/// Steps of a count instead of a refusal.
pub(super) fn steps_instead(settings: &Settings) -> u64 {
    (settings.time_limit * REFUSED * STEPS) as u64
}

fn early_steps(why: &Why) -> u64 {
    let seconds = match why {
        Why::Slower(seconds) => seconds.min(COUNTED),
        Why::Chosen | Why::Refused(_) => COUNTED,
    };
    (seconds * EARLY * STEPS) as u64
}

/// Whether a count answers `task`.
pub(super) fn answers(task: &Task) -> bool {
    match task {
        Task::Pr | Task::Mar | Task::Sum(_) => true,
        Task::Map | Task::Mmap(_) | Task::Samples(_) => false,
    }
}

/// What `task` needs of a simplification, and the variables that it keeps.
pub(super) fn needed(task: &Task) -> (Need, &[Var]) {
    match task {
        Task::Sum(keep) => (Need::Total, keep),
        Task::Pr => (Need::Total, &[]),
        Task::Mar | Task::Map | Task::Mmap(_) | Task::Samples(_) => (Need::Every, &[]),
    }
}

/// A count on its way.
pub(super) struct CountRun<'a> {
    pub network: &'a Network,
    pub evidence: &'a Evidence,
    pub task: &'a Task,
    pub settings: &'a Settings,
    pub budget: &'a Budget,
    /// Steps that it takes at most.
    pub steps: u64,
}

/// An answer, what it took, and the seconds of simplification and count.
pub(super) type Done = (Answer, Work, [f64; 2]);

impl CountRun<'_> {
    /// The answer.
    ///
    /// # Errors
    /// `Resource` if the count did not end within its steps, the time limit or the memory, and for
    /// networks that it does not take.
    pub(super) fn answer(&self) -> Result<Done> {
        let (reduced, _held, seconds) = self.simplified()?;
        self.done(&reduced, self.steps, seconds)
    }
    /// The answer before an order is sought, and why elimination by the first order is not it.
    /// Where that is short, zeros are few, or the count does not end soon: the simplified network,
    /// if it was made.
    pub(super) fn early(&self) -> std::result::Result<(Done, Why), Option<Box<Reduced>>> {
        if !is_free(self.settings) || !self.has_zeros() {
            return Err(None);
        }
        let (reduced, _held, simplified) = self.simplified().map_err(|_| None)?;
        let done = self.first_order(&reduced).and_then(|why| {
            let done = self.done(&reduced, early_steps(&why), simplified);
            Some((done.ok()?, why))
        });
        done.ok_or_else(|| Some(Box::new(reduced)))
    }
    /// Whether enough entries are zeros.
    fn has_zeros(&self) -> bool {
        let tables = || self.network.factors().iter().map(|f| f.values());
        let zeros = |t: &[f64]| t.iter().filter(|v| **v == 0.0).count();
        let entries: usize = tables().map(<[f64]>::len).sum();
        tables().map(zeros).sum::<usize>() as f64 >= ZEROS * entries as f64
    }
    fn simplified(&self) -> Result<(Reduced, Reservation, f64)> {
        let start = Instant::now();
        self.settings.tell("simplifying", 0.0);
        let bytes = footprint::of_simplification(self.network);
        let simplifying = self
            .budget
            .reserve(bytes, "the simplification of the network")?;
        let (need, keep) = needed(self.task);
        let reduced = reduce(self.network, self.evidence, need, keep);
        drop(simplifying);
        let held = footprint::of_reduced(self.network, &reduced);
        let held = self.budget.reserve(held, "the network")?;
        Ok((reduced, held, start.elapsed().as_secs_f64()))
    }
    /// What speaks against elimination by the first order, where a count before others are sought
    /// is tried.
    fn first_order(&self, reduced: &Reduced) -> Option<Why> {
        if reduced.impossible || reduced.tables.is_empty() {
            return None;
        }
        let pass = match self.task {
            Task::Mar => Pass::Sweep,
            Task::Pr | Task::Sum(_) | Task::Map | Task::Mmap(_) | Task::Samples(_) => Pass::Forward,
        };
        let kept = needed(self.task).1.iter();
        let asked: Vec<usize> = kept.filter_map(|v| reduced.number[*v]).collect();
        let options = Options {
            order_seconds: Some(0.0),
            ..self.settings.options(pass, Rates::default())
        };
        match plan(reduced, &asked, &options) {
            Ok(plan) => {
                let seconds = plan.prediction.seconds;
                (seconds >= TRIED).then_some(Why::Slower(seconds))
            }
            Err(e) => Some(Why::Refused(e)),
        }
    }
    /// The seconds that a count takes at most before an order is sought; none where it is not tried.
    pub(super) fn early_seconds(&self) -> Option<f64> {
        if !is_free(self.settings) || !self.has_zeros() {
            return None;
        }
        let why = self.first_order(&self.simplified().ok()?.0)?;
        Some(early_steps(&why) as f64 / STEPS)
    }
    /// The answer of the simplified network, which took `simplified` seconds.
    fn done(&self, reduced: &Reduced, steps: u64, simplified: f64) -> Result<Done> {
        let start = Instant::now();
        let limit = self.settings.time_limit.min(steps as f64 / STEPS);
        self.settings.tell("count", limit);
        let (answer, work) = match reduced.impossible {
            true => (Answer::Impossible, Work::default()),
            false => self.counted(reduced, steps, start)?,
        };
        Ok((answer, work, [simplified, start.elapsed().as_secs_f64()]))
    }
    fn counted(&self, reduced: &Reduced, steps: u64, start: Instant) -> Result<(Answer, Work)> {
        check(&reduced.cards)?;
        if steps < u64::MAX && reduced.cards.len() > PROBED {
            let e = Error::resource(format!("a probe over {} variables", reduced.cards.len()));
            return Err(e.limit(format!("{PROBED} variables")));
        }
        let keep = needed(self.task).1;
        let scope: Vec<usize> = keep.iter().filter_map(|v| reduced.number[*v]).collect();
        let many = scope
            .iter()
            .try_fold(1u64, |n, v| n.checked_mul(reduced.cards[*v] as u64));
        let sums = many.unwrap_or(u64::MAX).saturating_mul(16);
        let _sums = self.budget.reserve(sums, "the sums")?;
        // What few steps cannot fill is not reserved.
        let bytes = (self.budget.free() / 2).min(steps.saturating_mul(STEP));
        let _count = self.budget.reserve(bytes, "the count")?;
        let limits = Allowed {
            bytes,
            steps,
            seed: self.settings.seed,
        };
        let asked = match self.task {
            Task::Mar => Asked::Marginals,
            Task::Sum(_) => Asked::Table(&scope),
            Task::Pr | Task::Map | Task::Mmap(_) | Task::Samples(_) => Asked::Total,
        };
        let limit = self.settings.time_limit;
        let over = move || start.elapsed().as_secs_f64() > limit;
        let found = count(&reduced.cards, &reduced.tables, asked, limits, &over)?;
        if let Some(stop) = found.work.stopped {
            let log10 = found.total.times(reduced.scale).log10();
            return Err(self.not_counted(stop, &found.work, (log10, start)));
        }
        Ok((self.told(reduced, &scope, &found)?, found.work))
    }
    fn told(&self, reduced: &Reduced, scope: &[usize], found: &Counted) -> Result<Answer> {
        let log10 = found.total.times(reduced.scale).log10();
        Ok(match self.task {
            _ if found.total.is_zero() => Answer::Impossible,
            Task::Mar => Answer::Mar(log10, marginals(self.network, reduced, &found.marginals)),
            Task::Sum(keep) => Summed {
                network: self.network,
                reduced,
                scope,
                sum: &found.sums,
            }
            .answer(keep, self.budget)?,
            Task::Pr | Task::Map | Task::Mmap(_) | Task::Samples(_) => Answer::Pr(log10),
        })
    }
    fn not_counted(&self, stop: Stop, work: &Work, (log10, start): (f64, Instant)) -> Error {
        let known = match log10 > f64::NEG_INFINITY {
            true => format!("the log10 of the sum is at least {log10:.6}"),
            false => "nothing is known of the sum".to_string(),
        };
        let e = Error::resource(format!(
            "the count of components did not end within {} and {} nodes: {known}",
            figures::duration(start.elapsed().as_secs_f64()),
            figures::grouped(work.nodes)
        ));
        match stop {
            Stop::Time => e.remedy(format!("a longer {}", Opt::TimeLimit)),
            Stop::Memory => e.remedy(format!("more {}", Opt::Memory)),
            Stop::Steps => e.remedy(format!(
                "{}, which counts to the end of {}",
                Opt::Set.like("product.method=components"),
                Opt::TimeLimit
            )),
        }
    }
}

/// Marginals of the original variables and states.
fn marginals(network: &Network, reduced: &Reduced, own: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let of = |v: Var| {
        let mut row = vec![0.0; network.cards()[v]];
        if let Some(s) = reduced.settled[v] {
            row[s as usize] = 1.0;
        }
        if let Some(n) = reduced.number[v] {
            let total: f64 = own[n].iter().sum();
            let states = reduced.states[v].iter().zip(&own[n]);
            states.for_each(|(s, p)| row[*s as usize] = p / total);
        }
        row
    };
    (0..network.cards().len()).map(of).collect()
}

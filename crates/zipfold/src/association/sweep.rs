//! Sweeps over all strips: what is counted, and what is kept.

use super::asked::{Association, Auto, PowerSpec};
use super::discovery::{Bound, Tally, discoveries};
use super::edges::{Best, Collected, Ranked};
use super::expression::Expression;
use super::measures::{Measured, Pair, Strip, prepared_bytes, stop};
use super::prune::pruned;
use super::scale_free::{Connectivity, FINE, ScaleFree, chosen, usual};
use super::tails::Tails;
use crate::options::{Options, Progress};
use crate::pool::within;
use std::ops::Range;
use zipfold_core::{Budget, Random, Reservation, Result};

/// The edges that are kept, and what was seen on the way.
pub(super) struct Swept {
    pub(super) pairs: Vec<Pair>,
    pub(super) p: Option<Vec<f64>>,
    pub(super) q: Option<Vec<f64>>,
    pub(super) fits: Vec<ScaleFree>,
    pub(super) power: Option<f64>,
    /// Pairs that have a value.
    pub(super) tested: u64,
    /// Pairs that were computed, in all sweeps.
    pub(super) visited: u64,
}

impl Association {
    /// Orders of samples, one for each permutation; the same for each call.
    pub(super) fn orders(&self, samples: usize) -> impl Iterator<Item = Vec<usize>> + use<> {
        let mut random = Random::new(self.seed);
        let mut order = move || {
            let mut order: Vec<usize> = (0..samples).collect();
            for at in (1..samples).rev() {
                order.swap(at, random.below(at + 1));
            }
            order
        };
        (0..self.permutations).map(move |_| order())
    }
    /// Sweeps all pairs of `rows`, twice where a false discovery rate is asked.
    pub(super) fn sweep(&self, rows: &Expression, options: &Options<'_>) -> Result<Swept> {
        let n = rows.rows();
        let budget = &options.budget;
        let bytes = prepared_bytes(self, n, rows.samples);
        let _prepared = budget.reserve(bytes, "the rows prepared for the measure")?;
        let measured = Measured::new(self, rows, options)?;
        let _strip = budget.reserve(2 * measured.bytes(), "a strip of values of pairs")?;
        let tails = Tails::new(self, rows.samples);
        let mut sweeps = Sweeps::new(&measured, n, options);
        let bound = match (&tails, self.fdr) {
            (Some(tails), Some(rate)) => Some(sweeps.bound(tails, rate)?),
            _ => None,
        };
        let (pairs, ranked, fits) = self.kept(&mut sweeps, bound.as_ref(), tails.as_ref())?;
        let power = self.chosen_power(&fits, rows.samples, options);
        within(options.threads, || {
            let mut swept = Swept {
                p: tails.as_ref().map(|tails| p_values(tails, &pairs)),
                q: None,
                pairs,
                fits,
                power,
                tested: sweeps.tested,
                visited: sweeps.visited,
            };
            self.choose(&mut swept, bound.as_ref().zip(Some(ranked)), n);
            swept
        })
    }
    /// The pairs that the last sweep keeps, and the fits of powers.
    fn kept(
        &self,
        sweeps: &mut Sweeps<'_>,
        bound: Option<&Bound>,
        tails: Option<&Tails>,
    ) -> Result<(Vec<Pair>, Vec<f64>, Vec<ScaleFree>)> {
        let (n, budget) = (sweeps.rows, &sweeps.options.budget);
        let powers = self.all_powers();
        let mut connected = Connectivity::new(n, &powers, self.sign);
        let mut kept = Keeping {
            asked: self,
            bound,
            tails,
            all: Collected::new(budget),
            ranked: Ranked::new(budget),
            best: None,
        };
        let _best = match (self.top, bound) {
            (Some(most), None) => {
                kept.best = Some(Best::new(n, most));
                Some(budget.reserve(Best::bytes(n, most), "the best edges of each row")?)
            }
            _ => None,
        };
        sweeps.each("pairs", &mut |strip| {
            if !powers.is_empty() {
                connected.add(strip);
            }
            kept.add(strip)
        })?;
        let fits = if powers.is_empty() {
            vec![]
        } else {
            connected.fits()
        };
        let ranked = std::mem::take(&mut kept.ranked.p);
        Ok((kept.pairs(), ranked, fits))
    }
    fn chosen_power(
        &self,
        fits: &[ScaleFree],
        samples: usize,
        options: &Options<'_>,
    ) -> Option<f64> {
        match self.power? {
            PowerSpec::Given(power) => Some(power),
            PowerSpec::Chosen(Auto::Auto) => Some(match chosen(fits) {
                Some((power, true)) => power,
                Some((power, false)) => {
                    options.warnings.add(format!(
                        "no power has a scale-free fit of {FINE}: the best fit is taken"
                    ));
                    power
                }
                None => {
                    let power = usual(samples, self.sign);
                    options.warnings.add(format!(
                        "no power has a scale-free fit: {power} is taken, WGCNA's power for {samples} samples"
                    ));
                    power
                }
            }),
        }
    }
    /// Leaves the edges that all conditions keep.
    fn choose(&self, swept: &mut Swept, bound: Option<(&Bound, Vec<f64>)>, rows: usize) {
        if let (Some((bound, others)), Some(rate), Some(p)) = (bound, self.fdr, &swept.p) {
            let found = discoveries(p, others, bound.tested, rate);
            let places = || found.iter().map(|(at, _)| *at);
            swept.pairs = places().map(|at| swept.pairs[at]).collect();
            swept.p = Some(places().map(|at| p[at]).collect());
            swept.q = Some(found.iter().map(|(_, q)| *q).collect());
            if let Some(most) = self.top {
                let mut best = Best::new(rows, most);
                best.add_all(&swept.pairs);
                let best = best.pairs();
                let place = |pair: &Pair| (pair.i, pair.j);
                swept.keep(&|pair| best.binary_search_by_key(&place(pair), place).is_ok());
            }
        }
        if let Some(tolerance) = self.prune {
            let stays = pruned(&swept.pairs, rows, tolerance);
            swept.keep_marked(&stays);
        }
    }
}

impl Swept {
    fn keep(&mut self, keep: &dyn Fn(&Pair) -> bool) {
        let marks: Vec<bool> = self.pairs.iter().map(keep).collect();
        self.keep_marked(&marks);
    }
    fn keep_marked(&mut self, marks: &[bool]) {
        fn kept<T: Copy>(all: &mut Vec<T>, marks: &[bool]) {
            let mut marks = marks.iter();
            all.retain(|_| marks.next() == Some(&true));
        }
        kept(&mut self.pairs, marks);
        if let Some(p) = &mut self.p {
            kept(p, marks);
        }
        if let Some(q) = &mut self.q {
            kept(q, marks);
        }
    }
}

fn p_values(tails: &Tails, pairs: &[Pair]) -> Vec<f64> {
    use rayon::prelude::*;
    pairs
        .par_iter()
        .map(|pair| tails.p(pair.evidence))
        .collect()
}

/// What the last sweep keeps.
struct Keeping<'a> {
    asked: &'a Association,
    bound: Option<&'a Bound>,
    tails: Option<&'a Tails>,
    all: Collected,
    ranked: Ranked,
    best: Option<Best>,
}

impl Keeping<'_> {
    fn add(&mut self, strip: &Strip) -> Result<()> {
        let least = self.asked.threshold.unwrap_or(0.0);
        let bound = self.bound;
        let may_be = |pair: &Pair| bound.is_none_or(|bound| bound.keeps(pair.evidence));
        let keep = |pair: &Pair| pair.value.abs() >= least && may_be(pair);
        // Ranks count the discoveries below the threshold too.
        if let (Some(tails), true) = (self.tails, bound.is_some() && least > 0.0) {
            let counted = |pair: &Pair| pair.value.abs() < least && may_be(pair);
            let p = |pair: &Pair| counted(pair).then(|| tails.p(pair.evidence));
            self.ranked.add(strip, p)?;
        }
        match &mut self.best {
            Some(best) => {
                best.add(strip, keep);
                Ok(())
            }
            None => self.all.add(strip, keep),
        }
    }
    fn pairs(self) -> Vec<Pair> {
        match self.best {
            Some(best) => best.pairs(),
            None => self.all.pairs,
        }
    }
}

/// Sweeps, and what they have seen.
pub(super) struct Sweeps<'a> {
    pub(super) measured: &'a Measured<'a>,
    pub(super) rows: usize,
    pub(super) options: &'a Options<'a>,
    pub(super) visited: u64,
    pub(super) tested: u64,
    /// The strip of a sweep that has one alone: the next sweep takes it again.
    pub(super) only: Option<Strip>,
    /// By strip, what permutations counted in the first of two sweeps.
    drawn: Option<Drawn>,
}

/// What permutations counted for the places of strips, for the next sweep.
struct Drawn {
    /// By strip; none where memory did not hold them, and the next sweep draws again.
    less: Vec<Option<Counts>>,
    /// Bytes that counts of further strips may take.
    left: u64,
}

/// What permutations counted for a strip, and the memory that it takes until it is used.
struct Counts {
    less: Vec<u32>,
    _held: Reservation,
}

impl Drawn {
    /// No counts yet; those of all strips together take a quarter of what is free now, at most.
    fn new(budget: &Budget) -> Drawn {
        Drawn {
            less: vec![],
            left: budget.free() / 4,
        }
    }
    /// Memory for the counts of a strip, where there is room for them.
    fn room(&mut self, bytes: u64, budget: &Budget) -> Option<Reservation> {
        let left = self.left.checked_sub(bytes)?;
        let held = budget.reserve(bytes, "counts of permutations").ok()?;
        self.left = left;
        Some(held)
    }
    /// Takes the counts of a strip, where there is room for them.
    fn add(&mut self, strip: &Strip, options: &Options<'_>) {
        let held = self.room(4 * strip.values.len() as u64, &options.budget);
        if held.is_none() && self.less.iter().all(Option::is_some) {
            options
                .warnings
                .add("memory does not hold the counts of permutations of all pairs: some are drawn twice");
        }
        let counts = |held| Counts {
            less: strip.less(),
            _held: held,
        };
        self.less.push(held.map(counts));
    }
}

impl<'a> Sweeps<'a> {
    pub(super) fn new(measured: &'a Measured<'a>, rows: usize, options: &'a Options<'a>) -> Self {
        Sweeps {
            measured,
            rows,
            options,
            visited: 0,
            tested: 0,
            only: None,
            drawn: None,
        }
    }
    /// What may be a discovery.
    fn bound(&mut self, tails: &Tails, rate: f64) -> Result<Bound> {
        let threads = self.options.threads;
        let mut tally = Tally::new(tails);
        let bytes = tally.bytes(within(threads, rayon::current_num_threads)?);
        let _held = self.options.budget.reserve(bytes, "counts by evidence")?;
        let drawn = self.measured.is_permuted() && self.measured.height() < self.rows;
        self.drawn = drawn.then(|| Drawn::new(&self.options.budget));
        self.each("rate", &mut |strip| {
            tally.add(strip);
            Ok(())
        })?;
        within(threads, || tally.bound(rate))
    }
    /// A strip: with what an earlier sweep drew for it, or with permutations of its own.
    fn strip(&mut self, rows: Range<usize>, less: Option<Option<Counts>>) -> Result<Strip> {
        if let Some(Some(counts)) = less {
            return self.measured.strip_again(rows, &counts.less);
        }
        let strip = self.measured.strip(rows)?;
        if let (Some(drawn), None) = (&mut self.drawn, less) {
            drawn.add(&strip, self.options);
        }
        Ok(strip)
    }
    /// Hands over all strips, in order.
    pub(super) fn each(
        &mut self,
        phase: &'static str,
        visit: &mut (dyn FnMut(&Strip) -> Result<()> + Send),
    ) -> Result<()> {
        let (n, height) = (self.rows, self.measured.height());
        let pairs = |rows: usize| (rows as u64) * (rows as u64).saturating_sub(1) / 2;
        self.tested = 0;
        // The first of two sweeps keeps what it draws, the second one takes it.
        let mut known = match &mut self.drawn {
            Some(drawn) => std::mem::take(&mut drawn.less).into_iter(),
            None => vec![].into_iter(),
        };
        for first in (0..n).step_by(height) {
            stop(self.options)?;
            let less = known.next();
            let rows = first..(first + height).min(n);
            let strip = match self.only.take() {
                Some(strip) => strip,
                None => {
                    self.visited += pairs(n - rows.start) - pairs(n - rows.end);
                    self.strip(rows.clone(), less)?
                }
            };
            within(self.options.threads, || visit(&strip))??;
            self.tested += within(self.options.threads, || strip.tested())?;
            if let Some(tell) = self.options.progress {
                let seen = pairs(n) - pairs(n - rows.end);
                tell(Progress::new(phase, [seen, pairs(n), 0]));
            }
            self.only = (height >= n).then_some(strip);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_strips_take_a_quarter_and_are_given_back() {
        let budget = Budget::new(4000);
        let mut drawn = Drawn::new(&budget);
        let mut held: Vec<_> = (0..4).filter_map(|_| drawn.room(400, &budget)).collect();
        assert_eq!((held.len(), budget.free()), (2, 3200));
        // What the second sweep has used is free again.
        held.pop();
        assert_eq!(budget.free(), 3600);
        drop(held);
        assert_eq!(budget.free(), 4000);
    }
}

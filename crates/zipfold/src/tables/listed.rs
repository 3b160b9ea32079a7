//! Pairs of equal keys one by one, where each key has few of them: an engine takes longer to begin
//! with a part than these pairs take.
//!
//! Values are the reference values of the pairs, as those of an engine.

use super::keys::RowsByKey;
use crate::options::Options;
use crate::pool;
use rayon::prelude::*;
use zipfold_core::fold::Fold;
use zipfold_core::oracle::PairValues;
use zipfold_core::{Budget, Data, Error, Job, Problem, Reservation, Result, describe};
use zipfold_plan::Stop;

/// Seconds that an engine takes to begin with a part.
const PART: f64 = 75e-6;
/// Seconds of a pair that is evaluated alone, and of one that an engine evaluates.
const ALONE: f64 = 120e-9;
const TOGETHER: f64 = 3e-9;
/// Pairs that are evaluated before their matches are handed on.
const AT_ONCE: u64 = 1 << 22;
/// Bytes of a match in a list that grows, and of the list of a row.
const MATCH: u64 = 32;
const LIST: u64 = 24;

/// The pairs of equal keys, and how one is evaluated.
pub(crate) struct ListedPairs<'a> {
    job: Job,
    /// The roots that are the condition and the value.
    roots: (usize, Option<usize>),
    keys: &'a RowsByKey,
    /// The rows of y by key.
    starts: Vec<usize>,
    rows: Vec<u32>,
    threads: usize,
    stop: Stop<'a>,
    budget: &'a Budget,
    /// What the rows of y by key take.
    _held: Reservation,
}

/// The matches of a row of x: values, and rows of y that ascend.
pub(crate) type RowMatches = Vec<(f64, u64)>;

impl<'a> ListedPairs<'a> {
    /// Whether the pairs of equal keys are so few that they are evaluated one by one. A key of many
    /// pairs is for an engine, also among many small ones.
    pub(crate) fn pays(keys: &RowsByKey) -> bool {
        let [pairs, largest] = keys.pairs();
        let quicker = pairs as f64 * (ALONE - TOGETHER) < keys.count as f64 * PART;
        quicker && largest <= AT_ONCE
    }
    /// The pairs of the rows of `data`, all rows as they were given; `problem` is one join.
    ///
    /// # Errors
    /// `Request` for a condition or a value that means nothing; `Resource` beyond the budget.
    pub(crate) fn new(
        problem: &Problem,
        data: Data,
        keys: &'a RowsByKey,
        options: &'a Options<'a>,
    ) -> Result<ListedPairs<'a>> {
        let bytes = keys.count as u64 * 8 + keys.rows[1].len() as u64 * 4;
        let held = options.budget.reserve(bytes, "the rows of y by key")?;
        let job = describe(problem, data)?;
        let Some(Fold::Join(join)) = job.folds.first() else {
            return Err(Error::internal("another fold than a join"));
        };
        let roots = (join.root, join.value);
        let (starts, rows) = keys.rows_of_y();
        Ok(ListedPairs {
            job,
            roots,
            keys,
            starts,
            rows,
            threads: zipfold_cpu::detect(options.threads, 0).threads,
            stop: Stop(options.stop),
            budget: &options.budget,
            _held: held,
        })
    }
    /// Hands the matches of each row of x that has a key to `take`, rows ascending. Returns the
    /// pairs visited.
    ///
    /// # Errors
    /// Those of `take`; `Resource` beyond the budget and when the system refuses threads;
    /// `Interrupted`.
    pub(crate) fn each(
        &self,
        keeps: impl Fn(u64, u64) -> bool + Sync,
        mut take: impl FnMut(u64, RowMatches) -> Result<()>,
    ) -> Result<u64> {
        let pool = pool::kept(self.threads)?;
        let (all, mut from, mut pairs) = (&self.keys.rows[0], 0, 0);
        // A quarter of what is free: the taker needs some as well.
        let at_once = (self.budget.free() / (4 * MATCH)).min(AT_ONCE);
        while from < all.len() {
            self.stop.check()?;
            let (mut end, mut some) = (from, 0);
            while end < all.len() && (some < at_once || end == from) {
                some += self.partners(all[end]).len() as u64;
                end += 1;
            }
            let bytes = some * MATCH + (end - from) as u64 * LIST;
            let _held = self.budget.reserve(bytes, "the matches of some keys")?;
            let row = |(values, roots): &mut (PairValues<'_>, Vec<Vec<f64>>), i: &u32| {
                self.matches(*i, &keeps, values, roots)
            };
            let start = || (PairValues::new(&self.job), vec![]);
            let some_rows = &all[from..end];
            let work = || {
                let found = some_rows.par_iter().with_min_len(64).map_init(start, row);
                found.collect::<Vec<RowMatches>>()
            };
            for (i, found) in some_rows.iter().zip(pool.install(work)) {
                take(u64::from(*i), found)?;
            }
            pairs += some;
            from = end;
        }
        Ok(pairs)
    }
    /// The rows of y with the key of row `i` of x.
    fn partners(&self, i: u32) -> &[u32] {
        let code = self.keys.codes[0][i as usize] as usize;
        &self.rows[self.starts[code]..self.starts[code + 1]]
    }
    fn matches(
        &self,
        i: u32,
        keeps: &(impl Fn(u64, u64) -> bool + Sync),
        values: &mut PairValues<'_>,
        roots: &mut Vec<Vec<f64>>,
    ) -> RowMatches {
        let mut found = vec![];
        for j in self.partners(i) {
            if !keeps(u64::from(i), u64::from(*j)) {
                continue;
            }
            values.get(i as usize, *j as usize, roots);
            if roots[self.roots.0][0] != 0.0 {
                let value = self.roots.1.map_or(f64::NAN, |root| roots[root][0]);
                found.push((value, u64::from(*j)));
            }
        }
        found
    }
}

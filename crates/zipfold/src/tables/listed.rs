//! Pairs of equal keys one by one, where each key has few of them: an engine takes longer to begin
//! with a part than these pairs take.
//!
//! Values are the reference values of the pairs, as those of an engine.

use super::keys::RowsByKey;
use crate::pool;
use rayon::prelude::*;
use zipfold_core::fold::Fold;
use zipfold_core::oracle::PairValues;
use zipfold_core::{Data, Error, Job, Problem, Result, describe};

/// Seconds that an engine takes to begin with a part.
const PART: f64 = 75e-6;
/// Seconds of a pair that is evaluated alone, and of one that an engine evaluates.
const ALONE: f64 = 120e-9;
const TOGETHER: f64 = 3e-9;
/// Pairs that are evaluated before their matches are handed on.
const AT_ONCE: usize = 1 << 22;

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
}

/// The matches of a row of x: values, and rows of y that ascend.
pub(crate) type RowMatches = Vec<(f64, u64)>;

impl<'a> ListedPairs<'a> {
    /// Whether the pairs of equal keys are so few that they are evaluated one by one.
    pub(crate) fn pays(keys: &RowsByKey) -> bool {
        let pairs = keys.pairs() as f64;
        pairs * (ALONE - TOGETHER) < keys.count as f64 * PART
    }
    /// The pairs of the rows of `data`, all rows as they were given; `problem` is one join.
    ///
    /// # Errors
    /// `Request` for a condition or a value that means nothing.
    pub(crate) fn new(
        problem: &Problem,
        data: Data,
        keys: &'a RowsByKey,
        threads: usize,
    ) -> Result<ListedPairs<'a>> {
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
            threads: zipfold_cpu::detect(threads, 0).threads,
        })
    }
    /// Hands the matches of each row of x that has a key to `take`, rows ascending. Returns the
    /// pairs visited.
    ///
    /// # Errors
    /// Those of `take`; `Resource` when the system refuses threads.
    pub(crate) fn each(
        &self,
        keeps: impl Fn(u64, u64) -> bool + Sync,
        mut take: impl FnMut(u64, RowMatches) -> Result<()>,
    ) -> Result<u64> {
        let pool = pool::kept(self.threads)?;
        let (all, mut from, mut pairs) = (&self.keys.rows[0], 0, 0);
        while from < all.len() {
            let (mut end, mut some) = (from, 0);
            while end < all.len() && (some < AT_ONCE || end == from) {
                some += self.partners(all[end]).len();
                end += 1;
            }
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
            pairs += some as u64;
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

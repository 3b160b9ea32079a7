//! False discovery rates over all pairs without a p-value of each (Benjamini and Hochberg 1995).
//!
//! ```text
//! sweep 1   counts of pairs by class and bin of score; p falls with the score, so a bin has
//!           p-values from p(upper edge) to p(lower edge)
//! bound     bins by their least p, ascending; the last one with  least p · m / pairs so far ≤ rate
//! sweep 2   p of the pairs in bins up to that one: sorted, q = min over later k of p(k) · m / k; of
//!           pairs below a threshold p alone is kept
//! ```
//!
//! The bound leaves out no discovery. Let t be the largest p that is discovered, and b the last bin
//! whose least p is at most t. All pairs with p ≤ t are in bins up to b, so the pairs so far are at
//! least as many as the rank of t, and `least p · m / pairs so far ≤ t · m / rank ≤ rate`: b is kept.
//! What bins keep beyond t, the sort leaves out. So the answer is that of a sort of all pairs.

use super::measures::Strip;
use super::tails::{Evidence, Tails};
use rayon::prelude::*;

/// Counts of bins in all.
const COUNTS: usize = 1 << 21;
/// Bins of a class, at most.
const BINS: usize = 2048;
/// Bins of a class, at least.
const FEW: usize = 64;
/// The part by which p-values of edges of bins may be rounded.
const ROUNDED: f64 = 1e-9;

/// Counts of pairs by evidence.
pub(super) struct Tally<'a> {
    tails: &'a Tails,
    bins: usize,
    counts: Vec<u64>,
}

/// The evidence that may be a discovery.
pub(super) struct Bound {
    bins: usize,
    /// By class, the first bin that is kept.
    first: Vec<usize>,
    spans: Vec<f64>,
    /// Pairs that have a value.
    pub(super) tested: u64,
}

/// The bin of a score.
fn bin(score: f64, span: f64, bins: usize) -> usize {
    ((score / span * bins as f64) as usize).min(bins - 1)
}

impl<'a> Tally<'a> {
    pub(super) fn new(tails: &'a Tails) -> Self {
        let bins = (COUNTS / tails.classes().max(1)).clamp(FEW, BINS);
        Tally {
            tails,
            bins,
            counts: vec![0; bins * tails.classes()],
        }
    }
    /// Bytes of the counts, of all threads.
    pub(super) fn bytes(&self, threads: usize) -> u64 {
        8 * self.counts.len() as u64 * (threads as u64 + 1)
    }
    /// Counts the pairs of a strip.
    pub(super) fn add(&mut self, strip: &Strip) {
        let spans = self.spans();
        let none = || vec![0u64; self.counts.len()];
        let parts = (strip.rows.len() / rayon::current_num_threads().max(1)).max(1);
        let rows: Vec<usize> = strip.rows.clone().collect();
        let counts = rows
            .par_chunks(parts)
            .fold(none, |mut counts, rows| {
                for pair in rows.iter().flat_map(|row| strip.row(*row)) {
                    let Evidence { class, score } = pair.evidence;
                    let class = class as usize;
                    counts[class * self.bins + bin(score, spans[class], self.bins)] += 1;
                }
                counts
            })
            .reduce(none, |mut a, b| {
                a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
                a
            });
        let all = self.counts.iter_mut().zip(&counts);
        all.for_each(|(all, new)| *all += new);
    }
    fn spans(&self) -> Vec<f64> {
        (0..self.tails.classes())
            .map(|class| self.tails.span(class as u32))
            .collect()
    }
    /// Bins with pairs, ascending by their least p-value: that, the bin, its pairs.
    fn ends(&self) -> Vec<(f64, usize, u64)> {
        let (bins, spans) = (self.bins, self.spans());
        let least = |class: usize, bin: usize| {
            let upper = spans[class] * (bin + 1) as f64 / bins as f64;
            let score = match bin + 1 == bins {
                true => f64::INFINITY,
                false => upper * (1.0 + ROUNDED),
            };
            let class = class as u32;
            self.tails.p(Evidence { class, score }) * (1.0 - ROUNDED)
        };
        let filled = self.counts.par_iter().enumerate().filter(|(_, n)| **n > 0);
        let end = |(at, count): (usize, &u64)| (least(at / bins, at % bins), at, *count);
        let mut ends: Vec<(f64, usize, u64)> = filled.map(end).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ends
    }
    /// What may be a discovery at this rate.
    pub(super) fn bound(&self, rate: f64) -> Bound {
        let (bins, spans, ends) = (self.bins, self.spans(), self.ends());
        let tested: u64 = ends.iter().map(|end| end.2).sum();
        let (mut so_far, mut kept) = (0, 0);
        for (at, tie) in chunks(&ends) {
            so_far += tie.iter().map(|end| end.2).sum::<u64>();
            if tie[0].0 * tested as f64 <= rate * (1.0 + ROUNDED) * so_far as f64 {
                kept = at + tie.len();
            }
        }
        let mut first = vec![bins; spans.len()];
        for (_, at, _) in &ends[..kept] {
            let (class, bin) = (at / bins, at % bins);
            first[class] = first[class].min(bin);
        }
        Bound {
            bins,
            first,
            spans,
            tested,
        }
    }
}

/// Groups of bins with the same least p, and where they begin.
fn chunks(ends: &[(f64, usize, u64)]) -> impl Iterator<Item = (usize, &[(f64, usize, u64)])> {
    let groups = ends.chunk_by(|a, b| a.0 == b.0);
    groups.scan(0, |at, group| {
        let begin = *at;
        *at += group.len();
        Some((begin, group))
    })
}

impl Bound {
    /// Whether evidence may be a discovery.
    pub(super) fn keeps(&self, evidence: Evidence) -> bool {
        let class = evidence.class as usize;
        bin(evidence.score, self.spans[class], self.bins) >= self.first[class]
    }
}

/// The discoveries among the p-values `kept`, where `others` has those of all other pairs up to the
/// largest that is discovered, of `tested`: their places, ascending, and q-values.
pub(super) fn discoveries(
    kept: &[f64],
    others: Vec<f64>,
    tested: u64,
    rate: f64,
) -> Vec<(usize, f64)> {
    let mut all = others;
    all.extend(kept);
    all.par_sort_unstable_by(f64::total_cmp);
    let share = |rank: usize| (rank + 1) as f64 / tested as f64;
    let Some(last) = (0..all.len()).rfind(|rank| all[*rank] <= share(*rank) * rate) else {
        return vec![];
    };
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.retain(|at| kept[*at] <= all[last]);
    order.par_sort_unstable_by(|a, b| kept[*a].total_cmp(&kept[*b]));
    let mut found = vec![];
    let mut q: f64 = 1.0;
    for rank in (0..=last).rev() {
        q = q.min(all[rank] / share(rank));
        // Of equal p-values the last rank has the least q.
        while let Some(at) = order.pop_if(|at| kept[*at] >= all[rank]) {
            found.push((at, q));
        }
    }
    found.par_sort_unstable_by_key(|(at, _)| *at);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discoveries_are_those_of_a_sort() {
        // statsmodels.stats.multitest.fdrcorrection
        let p = [0.01, 0.2, 0.03, 0.04, 0.04, 0.9];
        let found = discoveries(&p, vec![], 6, 0.07);
        let wanted = [(0, 0.06), (2, 0.06), (3, 0.06), (4, 0.06)];
        for ((at, q), (place, value)) in found.iter().zip(wanted) {
            assert_eq!(*at, place);
            assert!((q - value).abs() < 1e-15, "{found:?}");
        }
        assert_eq!(found.len(), 4);
        assert_eq!(discoveries(&p, vec![], 6, 0.05), []);
        let some = discoveries(&[0.04, 0.9, 0.01], vec![0.2, 0.03, 0.04], 6, 0.07);
        assert_eq!(some.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 2]);
        assert!(some.iter().all(|(_, q)| (q - 0.06).abs() < 1e-15));
        assert_eq!(
            discoveries(&[1.0, 1.0], vec![], 2, 1.0),
            [(0, 1.0), (1, 1.0)]
        );
        assert_eq!(discoveries(&[], vec![], 0, 0.05), []);
    }
}

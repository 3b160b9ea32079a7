//! Questions in which every pair of levels of two factors is.

use super::levels::{Case, FACTORS, Levels};
use super::question::is_askable;
use std::collections::HashSet;
use zipfold::internals::core::random::SplitMix;

/// Ways to complete a pair of levels to a question: drawn, and of those that may mean something
/// described.
const DRAWN: usize = 600;
const DESCRIBED: usize = 12;

/// Levels of two factors.
type Pair = (usize, usize, usize, usize);

/// The pairs of levels in `case`.
fn pairs_of(case: &Case) -> impl Iterator<Item = Pair> {
    (0..FACTORS).flat_map(move |a| (a + 1..FACTORS).map(move |b| (a, case[a], b, case[b])))
}

/// Cases in which every pair of levels of two factors is, and how many pairs of levels no case was
/// found for, as most of those have no meaning (weights of a minimum, a histogram of vectors).
pub(super) fn cover(levels: &Levels) -> (Vec<Case>, usize) {
    let mut numbers = SplitMix::new(20);
    let mut covered: HashSet<Pair> = HashSet::new();
    let (mut cases, mut without) = (vec![], 0);
    for (a, b) in (0..FACTORS).flat_map(|a| (a + 1..FACTORS).map(move |b| (a, b))) {
        for (of_a, of_b) in
            (0..levels.count(a)).flat_map(|l| (0..levels.count(b)).map(move |m| (l, m)))
        {
            if covered.contains(&(a, of_a, b, of_b)) {
                continue;
            }
            match fullest(levels, &mut numbers, &covered, (a, of_a, b, of_b)) {
                Some(case) => {
                    covered.extend(pairs_of(&case));
                    cases.push(case);
                }
                None => without += 1,
            }
        }
    }
    (cases, without)
}

/// Of some questions with a pair of levels the one with most pairs that none had yet.
fn fullest(
    levels: &Levels,
    numbers: &mut SplitMix,
    covered: &HashSet<Pair>,
    pair: Pair,
) -> Option<Case> {
    let (mut best, mut described): (Option<(usize, Case)>, usize) = (None, 0);
    for _ in 0..DRAWN {
        let mut case: Case = std::array::from_fn(|f| numbers.remainder(levels.count(f)));
        (case[pair.0], case[pair.2]) = (pair.1, pair.3);
        let new = pairs_of(&case)
            .filter(|pair| !covered.contains(pair))
            .count();
        if best.is_none_or(|(most, _)| new > most) && levels.allow(&case) {
            described += 1;
            if is_askable(levels, &case) {
                best = Some((new, case));
            }
        }
        if described == DESCRIBED {
            break;
        }
    }
    best.map(|(_, case)| case)
}

//! Parts of a network, as MMAP takes them, and tables over the variables of a network.

use crate::warnings::Warnings;
use zipfold_core::budget::Tab;
use zipfold_core::factor::table::entries;
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Var};
use zipfold_core::{Budget, Result};
use zipfold_product::plan::reduced::step;
use zipfold_product::plan::{Reduced, Scalar};

/// Rows of conditional tables that do not sum to one are used as they are, and reported when they
/// are off by more than 1e-3.
pub(super) fn check_rows(network: &Network, warnings: &Warnings) {
    let Some((at, off)) = network.worst_row().filter(|(_, off)| *off > 1e-3) else {
        return;
    };
    if let Some(child) = network.factors()[at].scope().last() {
        let of = network.name(*child);
        warnings.add(format!(
            "a row of the table of '{of}' sums to one only within {off:.1e}; it is used as it is"
        ));
    }
}

/// Factors grouped by the variables that are summed: groups share asked variables only.
pub(super) fn groups(network: &Network, asked: &[bool]) -> Vec<Vec<usize>> {
    let mut of_var: Vec<Vec<usize>> = vec![Vec::new(); asked.len()];
    for (at, f) in network.factors().iter().enumerate() {
        f.scope()
            .iter()
            .filter(|v| !asked[**v])
            .for_each(|v| of_var[*v].push(at));
    }
    let mut seen = vec![false; network.factors().len()];
    let mut out = Vec::new();
    for start in 0..seen.len() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut group = vec![start];
        let mut at = 0;
        while at < group.len() {
            for v in network.factors()[group[at]]
                .scope()
                .iter()
                .filter(|v| !asked[**v])
            {
                for f in std::mem::take(&mut of_var[*v]) {
                    if !std::mem::replace(&mut seen[f], true) {
                        group.push(f);
                    }
                }
            }
            at += 1;
        }
        out.push(group);
    }
    out
}

/// The network over the variables its factors use, `keep` numbered first, and the evidence on them.
pub(super) fn compact(
    network: &Network,
    evidence: &Evidence,
    keep: &[Var],
) -> Result<(Network, Evidence)> {
    let mut new = std::collections::HashMap::new();
    let all = keep
        .iter()
        .chain(network.factors().iter().flat_map(|f| f.scope()));
    let mut cards = Vec::new();
    for v in all {
        new.entry(*v).or_insert_with(|| {
            cards.push(network.cards()[*v]);
            cards.len() - 1
        });
    }
    let factors = network
        .factors()
        .iter()
        .map(|f| {
            Factor::new(
                f.scope().iter().map(|v| new[v]).collect(),
                f.values().to_vec(),
                &cards,
            )
        })
        .collect::<Result<Vec<_>>>()?;
    let own = Evidence::new(
        evidence
            .iter()
            .filter_map(|(v, x)| new.get(&v).map(|n| (*n, x))),
        &cards,
    )?;
    Ok((Network::new(Kind::Markov, cards, factors)?, own))
}

/// The exponents of the numbers above zero.
fn exponents(numbers: &[Scalar]) -> impl Iterator<Item = i64> {
    let above = numbers.iter().filter(|s| !s.is_zero());
    above.map(|s| s.exponent)
}

/// `numbers` over the power of two of the largest.
pub(super) fn below_largest(numbers: &[Scalar]) -> Vec<f64> {
    let top = exponents(numbers).max().unwrap_or(0);
    numbers.iter().map(|s| s.shifted(-top).value()).collect()
}

/// What was summed of a network that is simplified: the variables that are left, and the table over
/// them.
pub(super) struct Summed<'a> {
    pub(super) network: &'a Network,
    pub(super) reduced: &'a Reduced,
    pub(super) scope: &'a [usize],
    pub(super) sum: &'a [Scalar],
}

impl Summed<'_> {
    /// The answer to the sum over all variables but those of `keep`.
    pub(super) fn answer(&self, keep: &[Var], budget: &Budget) -> Result<Answer> {
        // Twice: a list that goes on as the answer, and the text that it becomes.
        let bytes = (self.entries(keep) as u64).saturating_mul(16);
        let _values = budget.reserve(bytes, "the table over the kept variables")?;
        let top = exponents(self.sum).max().unwrap_or(0);
        let values = self.spread(keep).map(|s| s.shifted(-top).value()).collect();
        let scale = self.reduced.scale.shifted(top);
        Ok(Answer::Sum(keep.to_vec(), values, scale.log10()))
    }
    /// The number of configurations of `keep`.
    pub(super) fn entries(&self, keep: &[Var]) -> usize {
        entries(keep, self.network.cards()).unwrap_or(usize::MAX)
    }
    /// The table over original states of `keep`, in the order asked, with zeros where evidence or
    /// zeros forbid, without the scale of the simplification.
    pub(super) fn spread(&self, keep: &[Var]) -> impl Iterator<Item = Scalar> {
        let Summed { reduced, sum, .. } = self;
        let cards: Vec<usize> = keep.iter().map(|v| self.network.cards()[*v]).collect();
        let mut strides = vec![0usize; keep.len()];
        let mut stride = 1;
        for n in self.scope.iter().rev() {
            if let Some(at) = keep.iter().position(|v| reduced.number[*v] == Some(*n)) {
                strides[at] = stride;
            }
            stride *= reduced.cards[*n];
        }
        let place = move |at: usize, s: usize| match (
            reduced.settled[keep[at]],
            reduced.number[keep[at]],
        ) {
            (Some(only), _) => (only as usize == s).then_some(0),
            (None, Some(_)) => reduced.states[keep[at]]
                .iter()
                .position(|t| *t as usize == s)
                .map(|i| i * strides[at]),
            (None, None) => Some(0),
        };
        let mut state = vec![0usize; keep.len()];
        (0..self.entries(keep)).map(move |_| {
            let at = state
                .iter()
                .enumerate()
                .try_fold(0, |sum, (i, s)| place(i, *s).map(|o| sum + o));
            step(&mut state, |i| cards[i]);
            at.map_or(Scalar::ZERO, |at| sum[at])
        })
    }
}

/// How far, in powers of two, the numbers of one factor are from 1 at most: all are normal.
const REACH: i64 = 1000;

/// The table `sums` over `keep` as factors of normal numbers, and the power of two in its middle.
/// The product of all of them is the table, exactly, however far apart its entries are: an entry
/// that is too small or too large for one factor is shared out among several.
pub(super) fn as_factors(
    keep: &[Var],
    sums: &[Scalar],
    cards: &[usize],
    held: &mut Tab,
) -> Result<(Vec<Factor>, Scalar)> {
    let low = exponents(sums).min().unwrap_or(0);
    let high = exponents(sums).max().unwrap_or(0);
    let middle = low + (high - low) / 2;
    let many = (high - middle) / REACH + 1;
    held.add((sums.len() as u64).saturating_mul(8 * many as u64))?;
    // Factor `at` takes a part of the power that the ones before it leave; the first has the
    // mantissas, too.
    let share = |at: i64, s: &Scalar| {
        let left = s.exponent - middle;
        let own = (left.abs() - at * REACH).clamp(0, REACH) * left.signum();
        let mantissa = if at == 0 { s.mantissa } else { 1.0 };
        Scalar::scaled(mantissa, own).value()
    };
    let factor = |at| {
        let values = sums.iter().map(|s| share(at, s)).collect();
        Factor::new(keep.to_vec(), values, cards)
    };
    let factors = (0..many).map(factor).collect::<Result<_>>()?;
    Ok((factors, Scalar::ONE.shifted(middle)))
}

//! Parts of a network, as MMAP takes them, and tables over the variables of a network.

use crate::warnings::Warnings;
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

/// The table over original states of `keep`, in the order asked, with zeros where evidence or
/// zeros forbid.
pub(super) fn spread(
    (network, reduced): (&Network, &Reduced),
    keep: &[Var],
    (scope, sum): (&[usize], &[Scalar]),
    budget: &Budget,
) -> Result<Answer> {
    let top = sum
        .iter()
        .filter(|s| !s.is_zero())
        .map(|s| s.exponent)
        .max()
        .unwrap_or(0);
    let cards: Vec<usize> = keep.iter().map(|v| network.cards()[*v]).collect();
    let mut strides = vec![0usize; keep.len()];
    let mut stride = 1;
    for n in scope.iter().rev() {
        if let Some(at) = keep.iter().position(|v| reduced.number[*v] == Some(*n)) {
            strides[at] = stride;
        }
        stride *= reduced.cards[*n];
    }
    let place = |at: usize, s: usize| match (reduced.settled[keep[at]], reduced.number[keep[at]]) {
        (Some(only), _) => (only as usize == s).then_some(0),
        (None, Some(_)) => reduced.states[keep[at]]
            .iter()
            .position(|t| *t as usize == s)
            .map(|i| i * strides[at]),
        (None, None) => Some(0),
    };
    let mut state = vec![0usize; keep.len()];
    let len = cards
        .iter()
        .try_fold(1usize, |n, c| n.checked_mul(*c))
        .unwrap_or(usize::MAX);
    // Twice: a list that goes on as the answer, and the text that it becomes.
    let _values = budget.reserve(
        (len as u64).saturating_mul(16),
        "the table over the kept variables",
    )?;
    let mut values = Vec::with_capacity(len);
    for _ in 0..len {
        let at = state
            .iter()
            .enumerate()
            .try_fold(0, |sum, (i, s)| place(i, *s).map(|o| sum + o));
        values.push(at.map_or(0.0, |at| {
            Scalar {
                exponent: sum[at].exponent - top,
                ..sum[at]
            }
            .value()
        }));
        step(&mut state, |i| cards[i]);
    }
    let scale = Scalar::scaled(1.0, top).times(reduced.scale);
    Ok(Answer::Sum(keep.to_vec(), values, scale.log10()))
}

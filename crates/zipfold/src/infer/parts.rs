//! Parts of a network, as MMAP takes them.

use crate::warnings::Warnings;
use zipfold_core::Result;
use zipfold_core::factor::{Evidence, Factor, Kind, Network, Var};

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

//! The backward sweep: which tables need a gradient, and where each variable's marginal is read
//! off.
//!
//! Reverse-mode differentiation of log Z over the contraction tree gives every node the table of
//! all that is outside it; node table times gradient, summed to a variable, is that variable's
//! unnormalised marginal.

use super::forest::{Node, Source};

/// What the backward sweep does.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Sweep {
    /// Whether a node's gradient is needed, by node.
    pub gradient: Vec<bool>,
    /// By join: the inputs at which marginals are read, with the variables read there.
    pub readouts: Vec<Vec<(usize, Vec<usize>)>>,
}

impl Sweep {
    /// The sweep for the marginals of `asked`, which some join sums.
    pub fn for_marginals(nodes: &[Node], cards: &[usize], asked: &[usize]) -> Self {
        let mut read = vec![false; cards.len()];
        asked.iter().for_each(|v| read[*v] = true);
        let mut out = Sweep {
            gradient: vec![false; nodes.len()],
            readouts: vec![Vec::new(); nodes.len()],
        };
        for (at, node) in nodes.iter().enumerate() {
            let Source::Join(inputs) = &node.source else {
                continue;
            };
            for v in node.summed.iter().filter(|v| read[**v]) {
                let Some(home) = smallest_holder(nodes, cards, inputs, *v) else {
                    continue;
                };
                out.gradient[home] = true;
                match out.readouts[at].iter_mut().find(|(n, _)| *n == home) {
                    Some((_, vars)) => vars.push(*v),
                    None => out.readouts[at].push((home, vec![*v])),
                }
            }
            let below = inputs.iter().any(|n| out.gradient[*n]);
            out.gradient[at] = below;
        }
        out
    }
}

/// The smallest of the tables of `inputs` that hold `v`.
fn smallest_holder(nodes: &[Node], cards: &[usize], inputs: &[usize], v: usize) -> Option<usize> {
    let size = |n: usize| {
        let cards = nodes[n].scope.iter().map(|v| cards[*v] as f64);
        cards.product::<f64>()
    };
    let holders = inputs
        .iter()
        .copied()
        .filter(|n| nodes[*n].scope.contains(&v));
    holders.min_by(|a, b| size(*a).total_cmp(&size(*b)))
}

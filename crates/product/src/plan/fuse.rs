//! Joins that become one bucket: the paper's n-ary kernel makes no intermediate, which pays where
//! the intermediate would be written and read again and saves few visits.

use super::cost::Rates;
use super::forest::{Forest, Node, Source, WIDEST_JOIN};
use super::joins::{Options, Pass, Plan};
use super::slice::{JoinSizes, again};

/// Fuses a join into the one that uses it wherever that is predicted to take less time. Not for
/// backward sweeps: they visit all configurations of a join again for each of its inputs.
pub fn fuse(forest: &mut Forest, rates: &Rates) {
    let log2: Vec<f64> = forest.cards.iter().map(|c| (*c as f64).log2()).collect();
    let size = |vars: &[usize]| vars.iter().map(|v| log2[*v]).sum::<f64>();
    let sizes: Vec<f64> = forest.nodes.iter().map(|n| size(&n.scope)).collect();
    let seconds = |join: &Joined<'_>| {
        let out = sizes[join.at];
        let join = JoinSizes {
            union: out + size(join.summed),
            sizes: &sizes,
            inputs: join.inputs,
            out,
            free: forest.active[join.at] && !join.scope.is_empty(),
        };
        Some(join.seconds(rates))
    };
    fuse_nodes(&mut forest.nodes, &seconds);
}

/// A join whose time is asked for.
pub struct Joined<'a> {
    /// Its node.
    pub at: usize,
    /// The nodes it joins.
    pub inputs: &'a [usize],
    /// The variables of its result.
    pub scope: &'a [usize],
    /// The variables it sums.
    pub summed: &'a [usize],
    /// All nodes.
    pub nodes: &'a [Node],
}

/// Fuses joins of `nodes` where that takes fewer `seconds`; a join without seconds stays as it is.
/// The nodes of joins that went remain.
fn fuse_nodes(nodes: &mut [Node], seconds: &dyn Fn(&Joined<'_>) -> Option<f64>) {
    for at in 0..nodes.len() {
        while let Some((inputs, summed)) = joins(nodes, at)
            .into_iter()
            .find_map(|below| paying(nodes, (at, below), seconds))
        {
            nodes[at].source = Source::Join(inputs);
            nodes[at].summed = summed;
        }
    }
}

/// The inputs and summed variables of `at` without its input `below`, where that takes less time.
fn paying(
    nodes: &[Node],
    (at, below): (usize, usize),
    seconds: &dyn Fn(&Joined<'_>) -> Option<f64>,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let (inputs, summed) = fused(nodes, at, below);
    if inputs.len() > WIDEST_JOIN {
        return None;
    }
    let of = |at: usize, inputs: &[usize], summed: &[usize]| {
        seconds(&Joined {
            at,
            inputs,
            scope: &nodes[at].scope,
            summed,
            nodes,
        })
    };
    let own = |at: usize| match &nodes[at].source {
        Source::Join(inputs) => of(at, inputs, &nodes[at].summed),
        Source::Input(_) => None,
    };
    let apart = own(at)? + own(below)?;
    (of(at, &inputs, &summed)? < apart).then_some((inputs, summed))
}

impl Plan {
    /// The plan with joins fused where that takes fewer `seconds`. A join without seconds stays as
    /// it is.
    pub fn fused(&self, options: &Options, seconds: &dyn Fn(&Joined<'_>) -> Option<f64>) -> Plan {
        let mut plan = self.clone();
        if options.pass == Pass::Sweep {
            return plan;
        }
        fuse_nodes(&mut plan.nodes, seconds);
        let used = plan.used();
        let mut number = vec![0; used.len()];
        let kept = (0..used.len()).filter(|at| used[*at]);
        kept.enumerate().for_each(|(new, old)| number[old] = new);
        let mut keep = used.iter();
        plan.nodes.retain(|_| keep.next() == Some(&true));
        for node in &mut plan.nodes {
            let rank = &plan.rank;
            node.summed.sort_by_key(|v| rank[*v]);
            if let Source::Join(inputs) = &mut node.source {
                inputs.iter_mut().for_each(|n| *n = number[*n]);
            }
        }
        plan.roots.iter_mut().for_each(|root| *root = number[*root]);
        again(&mut plan, options);
        plan
    }
}

impl Plan {
    /// Whether a root needs each node.
    fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.nodes.len()];
        self.roots.iter().for_each(|root| used[*root] = true);
        for at in (0..self.nodes.len()).rev() {
            if let (true, Source::Join(inputs)) = (used[at], &self.nodes[at].source) {
                inputs.iter().for_each(|n| used[*n] = true);
            }
        }
        used
    }
}

/// The inputs of `at` that are joins themselves.
fn joins(nodes: &[Node], at: usize) -> Vec<usize> {
    let Source::Join(inputs) = &nodes[at].source else {
        return Vec::new();
    };
    let own = inputs.iter().copied();
    own.filter(|n| nodes[*n].is_join()).collect()
}

/// Inputs and summed variables of `at` when its input `below` is not made.
fn fused(nodes: &[Node], at: usize, below: usize) -> (Vec<usize>, Vec<usize>) {
    let inputs = |n: usize| match &nodes[n].source {
        Source::Join(inputs) => &inputs[..],
        Source::Input(_) => &[],
    };
    let rest = inputs(at).iter().copied().filter(|n| *n != below);
    let summed = nodes[at].summed.iter().chain(&nodes[below].summed);
    (
        rest.chain(inputs(below).iter().copied()).collect(),
        summed.copied().collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables over these scopes, the first two joined, then all.
    fn chain(cards: &[usize], scopes: [Vec<usize>; 3], kept: &[usize]) -> Forest {
        let mut keep = vec![false; cards.len()];
        kept.iter().for_each(|v| keep[*v] = true);
        let mut forest = Forest::new(cards, keep, scopes.into_iter());
        let first = forest.join(&[0, 1]);
        let last = forest.join(&[first, 2]);
        fuse(&mut forest, &Rates::default());
        assert_eq!(last, 4);
        forest
    }

    #[test]
    fn a_product_that_is_only_written_and_read_is_not_made() {
        let forest = chain(
            &[3, 48, 96, 12],
            [vec![0, 1], vec![0, 3], vec![0, 2]],
            &[1, 2, 3],
        );
        assert_eq!(forest.nodes[4].source, Source::Join(vec![2, 0, 1]));
        assert_eq!(forest.nodes[4].summed, [0]);
    }

    #[test]
    fn a_sum_that_saves_visits_is_made() {
        let forest = chain(
            &[64, 64, 64, 64],
            [vec![0, 1], vec![1, 2], vec![2, 3]],
            &[0, 3],
        );
        assert_eq!(forest.nodes[4].source, Source::Join(vec![3, 2]));
    }
}

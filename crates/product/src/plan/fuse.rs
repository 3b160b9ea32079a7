//! Joins that become one bucket: the paper's n-ary kernel makes no intermediate, which pays where
//! the intermediate would be written and read again and saves few visits.

use super::cost::Rates;
use super::forest::{Forest, Source, WIDEST_JOIN};
use super::slice::join_seconds;

/// Fuses a join into the one that uses it wherever that is predicted to take less time. Not for
/// backward sweeps: they visit all configurations of a join again for each of its inputs.
pub fn fuse(forest: &mut Forest, rates: &Rates) {
    let log2: Vec<f64> = forest.cards.iter().map(|c| (*c as f64).log2()).collect();
    let size = |vars: &[usize]| vars.iter().map(|v| log2[*v]).sum::<f64>();
    let sizes: Vec<f64> = forest.nodes.iter().map(|n| size(&n.scope)).collect();
    let seconds = |inputs: &[usize], out: f64, summed: &[usize], free: bool| {
        let entries = inputs.iter().map(|n| sizes[*n].exp2()).sum::<f64>() + out.exp2();
        join_seconds(
            rates,
            out + size(summed),
            entries,
            &sizes,
            inputs,
            out,
            free,
        )
    };
    for at in 0..forest.nodes.len() {
        let free = forest.active[at] && !forest.nodes[at].scope.is_empty();
        while let Some(input) = joins(forest, at).into_iter().find(|input| {
            let (inputs, summed) = fused(forest, at, *input);
            let (own, below) = (&forest.nodes[at], &forest.nodes[*input]);
            let (Source::Join(of_own), Source::Join(of_below)) = (&own.source, &below.source)
            else {
                return false;
            };
            inputs.len() <= WIDEST_JOIN
                && seconds(&inputs, sizes[at], &summed, free)
                    < seconds(of_own, sizes[at], &own.summed, free)
                        + seconds(of_below, sizes[*input], &below.summed, false)
        }) {
            let (inputs, summed) = fused(forest, at, input);
            forest.nodes[at].source = Source::Join(inputs);
            forest.nodes[at].summed = summed;
        }
    }
}

/// The inputs of `at` that are joins themselves.
fn joins(forest: &Forest, at: usize) -> Vec<usize> {
    let Source::Join(inputs) = &forest.nodes[at].source else {
        return Vec::new();
    };
    inputs
        .iter()
        .copied()
        .filter(|n| matches!(forest.nodes[*n].source, Source::Join(_)))
        .collect()
}

/// Inputs and summed variables of `at` when its input `below` is not made.
fn fused(forest: &Forest, at: usize, below: usize) -> (Vec<usize>, Vec<usize>) {
    let inputs = |n: usize| match &forest.nodes[n].source {
        Source::Join(inputs) => &inputs[..],
        Source::Input(_) => &[],
    };
    let rest = inputs(at).iter().copied().filter(|n| *n != below);
    let summed = forest.nodes[at]
        .summed
        .iter()
        .chain(&forest.nodes[below].summed);
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

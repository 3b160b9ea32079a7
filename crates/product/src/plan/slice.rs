//! Predictions for a plan, and slicing: conditioning on variables until the tables fit the memory.
//!
//! ```text
//! predict:  for each join: configurations = states of its scope and summed variables
//!               seconds = start + max(configurations / rate of its kernel, bytes / rate of memory)
//!               times 1 + gradients of the backward sweep
//!           peak = follow the executor: tables live until their last use
//!           all times the number of slices
//! fit:      while the peak exceeds the memory
//!               candidates = variables of the tables within a factor of two of the largest
//!               slice the one with the least ln(time factor) / ln(bytes factor)
//!               none left: refuse with what is needed
//! ```
//!
//! Why this shape: only a variable of the largest tables lowers the peak. The ratio of logarithms
//! compares a variable of many states with several of few on one scale: both time and bytes are
//! products over the sliced variables.

use super::cost::{Prediction, Rates};
use super::forest::{Node, Source};
use super::joins::{Options, Pass, Plan, refuse_memory};

/// Bytes that a run holds beside its tables: packing buffers, stacks, the network as it was read.
pub const FIXED_BYTES: f64 = 16e6;

/// Predicts the plan; slices it as far as its memory demands.
///
/// # Errors
/// `Resource` when a single slice cannot be made small enough.
pub fn fit(plan: &mut Plan, options: &Options) -> zipfold_core::Result<()> {
    let mut log2 = log2_states(plan);
    plan.prediction = predict(plan, &log2, options);
    let left = options.memory.saturating_sub(options.held) as f64;
    let room = left - FIXED_BYTES.min(left / 2.0);
    while plan.prediction.peak_bytes > room && plan.prediction.seconds < 1e30 {
        let Some((v, after)) = best_slice(plan, &log2, options) else {
            let needed = plan.prediction.peak_bytes + FIXED_BYTES + options.held as f64;
            return Err(refuse_memory(needed, plan, options));
        };
        log2[v] = 0.0;
        plan.sliced.push(v);
        plan.prediction = after;
    }
    Ok(())
}

impl Plan {
    /// Returns the number of slices, each with a result of its own: one without sliced variables,
    /// and `usize::MAX` for more than that.
    pub fn slices(&self) -> usize {
        let mut cards = self.sliced.iter().map(|v| self.cards[*v]);
        cards
            .try_fold(1usize, |slices, card| slices.checked_mul(card))
            .unwrap_or(usize::MAX)
    }
    /// Returns the number of slices, for predictions: it may be beyond any whole number.
    pub fn predicted_slices(&self) -> f64 {
        self.sliced.iter().map(|v| self.cards[*v] as f64).product()
    }
    /// The plan in `many` slices or more, as far as its variables go: several devices have a slice
    /// each.
    pub fn cut(&self, many: usize, options: &Options) -> Plan {
        let mut plan = self.clone();
        let mut log2 = log2_states(&plan);
        while plan.slices() < many
            && let Some((v, after)) = best_slice(&plan, &log2, options)
        {
            log2[v] = 0.0;
            plan.sliced.push(v);
            plan.prediction = after;
        }
        plan
    }
}

/// Returns, by variable, log2 of the states that it has in a slice: 0 of a sliced one.
pub(super) fn log2_states(plan: &Plan) -> Vec<f64> {
    let size = |v: usize| {
        if plan.sliced.contains(&v) {
            0.0
        } else {
            (plan.cards[v] as f64).log2()
        }
    };
    (0..plan.cards.len()).map(size).collect()
}

/// Predicts the plan, which has its slices, again.
pub(super) fn again(plan: &mut Plan, options: &Options) {
    plan.prediction = predict(plan, &log2_states(plan), options);
}

/// The variable of the largest tables whose slicing costs the least time for the bytes it saves.
fn best_slice(plan: &Plan, log2: &[f64], options: &Options) -> Option<(usize, Prediction)> {
    let candidates = variables_of_largest(plan, log2);
    let kept = |v: &usize| plan.roots.iter().any(|r| plan.nodes[*r].scope.contains(v));
    let grade = |v: usize| {
        let mut with = log2.to_vec();
        with[v] = 0.0;
        let after = predict_sliced(plan, &with, options, &[v]);
        let saved = plan.prediction.peak_bytes / after.peak_bytes;
        let slower = (after.seconds / plan.prediction.seconds).max(1.0);
        (v, after, slower.ln() / saved.ln().max(1e-9))
    };
    let graded = candidates
        .into_iter()
        .filter(|v| log2[*v] > 0.0 && !kept(v))
        .map(grade);
    graded
        .min_by(|a, b| a.2.total_cmp(&b.2))
        .map(|(v, after, _)| (v, after))
}

/// The variables of the tables that have more than half as many entries as the largest one.
fn variables_of_largest(plan: &Plan, log2: &[f64]) -> Vec<usize> {
    let size = |n: &Node| n.scope.iter().map(|v| log2[*v]).sum::<f64>();
    let largest = plan.nodes.iter().map(size).fold(0.0, f64::max);
    let large = plan.nodes.iter().filter(|n| size(n) > largest - 1.0);
    let mut variables: Vec<usize> = large.flat_map(|n| n.scope.iter().copied()).collect();
    variables.sort_unstable();
    variables.dedup();
    variables
}

fn predict(plan: &Plan, log2: &[f64], options: &Options) -> Prediction {
    predict_sliced(plan, log2, options, &[])
}

/// What `plan` takes with the variables of zero `log2` (and `more`) sliced.
fn predict_sliced(plan: &Plan, log2: &[f64], options: &Options, more: &[usize]) -> Prediction {
    let mut out = Prediction::default();
    let free = free(plan);
    let sizes: Vec<f64> = plan
        .nodes
        .iter()
        .map(|n| n.scope.iter().map(|v| log2[*v]).sum())
        .collect();
    for (at, node) in plan.nodes.iter().enumerate() {
        let Source::Join(inputs) = &node.source else {
            continue;
        };
        let union = sizes[at] + node.summed.iter().map(|v| log2[*v]).sum::<f64>();
        let contractions = 1.0 + gradients(plan, at);
        let join = JoinSizes {
            union,
            sizes: &sizes,
            inputs,
            out: sizes[at],
            free: free[at],
        };
        out.flops += contractions * union.exp2() * inputs.len() as f64;
        out.bytes += contractions * join.entries() * 8.0;
        out.seconds += contractions * join.seconds(&options.rates);
        out.width = out
            .width
            .max((node.scope.len() + node.summed.len()).saturating_sub(1));
    }
    let sliced = plan.sliced.iter().chain(more);
    let slices: f64 = sliced.map(|v| plan.cards[*v] as f64).product();
    out.flops *= slices;
    out.bytes *= slices;
    out.seconds *= slices;
    out.largest = sizes.iter().copied().fold(0.0, f64::max);
    out.peak_bytes = peak(plan, &sizes, options.pass);
    out.trace = trace_seconds(plan, log2);
    out
}

/// Seconds of one traceback: for each summed variable the weights of its values, from each table
/// that has it.
fn trace_seconds(plan: &Plan, log2: &[f64]) -> f64 {
    const INPUT: f64 = 6e-8;
    const ENTRY: f64 = 1.2e-8;
    let of = |node: &Node| match &node.source {
        Source::Input(_) => 0.0,
        Source::Join(inputs) => {
            let values = node.summed.iter().map(|v| log2[*v]).sum::<f64>().exp2();
            (inputs.len() as f64 + 1.0) * (INPUT + ENTRY * values)
        }
    };
    plan.nodes.iter().map(of).sum()
}

/// Predicted seconds of every join over all slices, its gradients of the backward sweep included;
/// by node, 0 for inputs.
pub fn join_times(plan: &Plan, rates: &Rates) -> Vec<f64> {
    let states = log2_states(plan);
    let log2 = |v: &usize| states[*v];
    let sizes: Vec<f64> = plan
        .nodes
        .iter()
        .map(|n| n.scope.iter().map(log2).sum())
        .collect();
    let slices = plan.predicted_slices();
    let free = free(plan);
    let of = |(at, node): (usize, &Node)| match &node.source {
        Source::Input(_) => 0.0,
        Source::Join(inputs) => {
            let join = JoinSizes {
                union: sizes[at] + node.summed.iter().map(log2).sum::<f64>(),
                sizes: &sizes,
                inputs,
                out: sizes[at],
                free: free[at],
            };
            slices * (1.0 + gradients(plan, at)) * join.seconds(rates)
        }
    };
    plan.nodes.iter().enumerate().map(of).collect()
}

/// Whether the order of each node's result is free: kept variables only.
pub(super) fn free(plan: &Plan) -> Vec<bool> {
    let mut out = vec![false; plan.nodes.len()];
    plan.roots
        .iter()
        .for_each(|r| out[*r] = !plan.nodes[*r].scope.is_empty());
    out
}

/// Contractions of the backward sweep at one join.
pub(super) fn gradients(plan: &Plan, at: usize) -> f64 {
    match &plan.nodes[at].source {
        Source::Join(inputs) if !plan.sweep.gradient.is_empty() => {
            inputs.iter().filter(|n| plan.sweep.gradient[**n]).count() as f64
        }
        _ => 0.0,
    }
}

/// Tables that are this much smaller (log2) than the visited configurations are restructured once,
/// to lie as blocks need them.
const SMALLER: f64 = 6.0;

/// The sizes of one join, by which its time is predicted. All but [`JoinSizes::entries`] are log2.
pub(super) struct JoinSizes<'a> {
    /// Of the configurations that it visits.
    pub union: f64,
    /// Of the tables of all nodes.
    pub sizes: &'a [f64],
    /// The nodes that it joins.
    pub inputs: &'a [usize],
    /// Of the result.
    pub out: f64,
    /// Whether the order of the result is free.
    pub free: bool,
}

impl JoinSizes<'_> {
    /// Entries that are read and written.
    pub(super) fn entries(&self) -> f64 {
        let inputs = self.inputs.iter().map(|n| self.sizes[*n].exp2());
        inputs.sum::<f64>() + self.out.exp2()
    }
    /// Seconds of the join: the matrix kernel where both inputs have rows of their own, else the
    /// bucket kernel.
    pub(super) fn seconds(&self, rates: &Rates) -> f64 {
        let rate = match self.inputs {
            [a, b] => {
                // Rows and columns of the product: what one input lacks of the union.
                let [rows, cols] = [b, a].map(|n| self.union - self.sizes[*n]);
                let depth = self.union - self.out;
                if rows.min(cols) >= 3.0 && depth >= 2.0 {
                    rates.matrix / (1.0 + 16.0 / depth.min(8.0).exp2())
                } else {
                    self.bucket_rate(rates)
                }
            }
            _ => self.bucket_rate(rates),
        };
        // Setting out a contraction takes time for each of its tables.
        rates.start * self.inputs.len() as f64 / 2.0
            + (self.union.exp2() / rate).max(self.entries() * 8.0 / rates.memory)
    }
    /// Configurations a second of the bucket kernel. Where the order of the result is free, blocks
    /// are runs in its largest table and, once restructured, in three and more small ones.
    fn bucket_rate(&self, rates: &Rates) -> f64 {
        let is_large = |n: &&usize| self.sizes[**n] > self.union - SMALLER;
        let large = self.inputs.iter().filter(is_large).count();
        if self.free && self.inputs.len() > 2 && large < 2 {
            (rates.runs / self.inputs.len() as f64).max(rates.bucket)
        } else {
            rates.bucket
        }
    }
}

/// Bytes held at one time, following the executor: inputs are copied once, tables go after their
/// last use.
fn peak(plan: &Plan, sizes: &[f64], pass: Pass) -> f64 {
    let bytes = |n: usize| sizes[n].exp2() * 8.0;
    let (mut live, mut most) = (0.0f64, 0.0f64);
    for (at, node) in plan.nodes.iter().enumerate() {
        live += bytes(at);
        most = most.max(live);
        if let (Source::Join(inputs), Pass::Forward) = (&node.source, pass) {
            inputs.iter().for_each(|n| live -= bytes(*n));
        }
    }
    if pass == Pass::Sweep {
        sweep_peak(plan, sizes, live, most)
    } else {
        most
    }
}

/// The most bytes of a backward sweep, which begins with `live` ones after `most` were held.
fn sweep_peak(plan: &Plan, sizes: &[f64], mut live: f64, mut most: f64) -> f64 {
    let bytes = |n: usize| sizes[n].exp2() * 8.0;
    let has_gradient = &plan.sweep.gradient;
    for (at, node) in plan.nodes.iter().enumerate().rev() {
        let Source::Join(inputs) = &node.source else {
            continue;
        };
        let wanted = inputs.iter().filter(|n| has_gradient[**n]);
        live += wanted.map(|n| bytes(*n)).sum::<f64>();
        most = most.max(live);
        let is_done =
            |n: &&usize| !has_gradient[**n] || matches!(plan.nodes[**n].source, Source::Input(_));
        for n in inputs.iter().filter(is_done) {
            live -= bytes(*n) * if has_gradient[*n] { 2.0 } else { 1.0 };
        }
        if has_gradient[at] {
            live -= 2.0 * bytes(at);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sweep::Sweep;

    #[test]
    fn slices_beyond_any_number_are_not_a_small_one() {
        let cards = vec![2; 70];
        let mut plan = Plan {
            nodes: vec![],
            roots: vec![],
            rank: vec![0; cards.len()],
            sliced: (0..70).collect(),
            sweep: Sweep::default(),
            prediction: Prediction::default(),
            hard: vec![],
            searched: 0.0,
            cards,
        };
        assert_eq!(
            (plan.slices(), plan.predicted_slices()),
            (usize::MAX, 70f64.exp2())
        );
        plan.sliced.truncate(3);
        assert_eq!((plan.slices(), plan.predicted_slices()), (8, 8.0));
        assert_eq!(log2_states(&plan)[2..4], [0.0, 1.0]);
    }
}

//! Where each join of a plan runs, the host or a device beside it: the split with the least
//! predicted time, transfers included.

use super::cost::Rates;
use super::forest::Source;
use super::joins::{Pass, Plan};
use super::slice::{JoinSizes, free, gradients, log2_states};

/// What a device and the way to it do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Operations a second; two for each visited configuration of a join of two tables.
    pub operations: f64,
    /// Bytes a second to and from the device's memory.
    pub memory: f64,
    /// Bytes a second between host and device.
    pub link: f64,
    /// Seconds to start one join or one transfer.
    pub start: f64,
    /// Bytes of an entry.
    pub entry: f64,
    /// Bytes that the device has room for.
    pub room: f64,
}

impl Link {
    /// Seconds of a join of so many operations over so many entries.
    fn join(&self, operations: f64, entries: f64) -> f64 {
        self.start + (operations / self.operations).max(entries * self.entry / self.memory)
    }
    /// Seconds that the copies of a join take that does not fit: it goes there and comes home piece
    /// by piece.
    fn piecewise(&self, entries: f64) -> f64 {
        if entries * self.entry > self.room {
            self.transfer(entries)
        } else {
            0.0
        }
    }
    /// Seconds for so many entries between host and device.
    fn transfer(&self, entries: f64) -> f64 {
        self.start + entries * self.entry / self.link
    }
}

/// By node: whether its join runs on the device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// By node of the plan.
    pub remote: Vec<bool>,
    /// Predicted seconds of all slices.
    pub seconds: f64,
    /// Operations of the joins on the device, as a share of all.
    pub share: f64,
    /// Operations of all slices.
    pub work: f64,
}

/// Seconds of a node's subtree with its table on the host, and with it on the device.
#[derive(Clone, Copy, Debug)]
struct Best {
    /// On the host, and on the device.
    seconds: [f64; 2],
    /// Where the join runs for a table on the host, and for one on the device.
    runs: [bool; 2],
}

/// By node the logarithms of the entries of its table and of the configurations of its join, in one
/// slice.
fn sizes(plan: &Plan) -> (Vec<f64>, Vec<f64>) {
    let states = log2_states(plan);
    let log2 = |v: &usize| states[*v];
    let sizes: Vec<f64> = plan
        .nodes
        .iter()
        .map(|n| n.scope.iter().map(log2).sum())
        .collect();
    let unions: Vec<f64> = plan
        .nodes
        .iter()
        .zip(&sizes)
        .map(|(n, s)| s + n.summed.iter().map(log2).sum::<f64>())
        .collect();
    (sizes, unions)
}

impl Link {
    /// Seconds of a join on the device; `own` are those of its kernel, where they are known.
    fn seconds_of_join(&self, join: &JoinSizes<'_>, own: Option<f64>) -> f64 {
        let entries = join.entries();
        let operations = join.union.exp2() * join.inputs.len() as f64;
        let kernel = own.map_or_else(
            || self.join(operations, entries),
            |seconds| self.start + seconds,
        );
        kernel + self.piecewise(entries)
    }
}

impl Places {
    /// The best places for the joins of `plan`. A plan is a forest, so the best of a node follows
    /// from the best of its inputs.
    /// `own` says what the join of a node takes on the device, where `link` does not.
    pub fn new(
        plan: &Plan,
        rates: &Rates,
        link: &Link,
        pass: Pass,
        own: &dyn Fn(usize) -> Option<f64>,
    ) -> Self {
        let (sizes, unions) = sizes(plan);
        let free = free(plan);
        let sends = |at: usize| link.transfer(sizes[at].exp2());
        let mut best: Vec<Best> = Vec::with_capacity(plan.nodes.len());
        for (at, node) in plan.nodes.iter().enumerate() {
            let Source::Join(inputs) = &node.source else {
                best.push(Best {
                    seconds: [0.0, sends(at)],
                    runs: [false, false],
                });
                continue;
            };
            let join = JoinSizes {
                union: unions[at],
                sizes: &sizes,
                inputs,
                out: sizes[at],
                free: free[at],
            };
            let times = 1.0 + gradients(plan, at);
            let here = times * join.seconds(rates);
            let there = times * link.seconds_of_join(&join, own(at));
            // A traceback reads all tables on the host.
            let home = if pass == Pass::Forward {
                0.0
            } else {
                sends(at)
            };
            let of = |place: usize| inputs.iter().map(|n| best[*n].seconds[place]).sum::<f64>();
            let (host, device) = (of(0) + here, of(1) + there + home);
            best.push(Best {
                seconds: [host.min(device + sends(at)), device.min(host + sends(at))],
                runs: [device + sends(at) < host, device <= host + sends(at)],
            });
        }
        Self::walk(plan, &best, &unions)
    }
    /// From the roots, whose tables are wanted on the host, to the inputs.
    fn walk(plan: &Plan, best: &[Best], unions: &[f64]) -> Self {
        let mut wanted = vec![false; plan.nodes.len()];
        let mut remote = vec![false; plan.nodes.len()];
        let (mut all, mut there) = (0.0, 0.0);
        for (at, node) in plan.nodes.iter().enumerate().rev() {
            let Source::Join(inputs) = &node.source else {
                continue;
            };
            remote[at] = best[at].runs[usize::from(wanted[at])];
            inputs.iter().for_each(|n| wanted[*n] = remote[at]);
            let work = unions[at].exp2() * inputs.len() as f64;
            all += work;
            there += if remote[at] { work } else { 0.0 };
        }
        let slices = plan.predicted_slices();
        let seconds = plan.roots.iter().map(|r| best[*r].seconds[0]).sum::<f64>() * slices;
        Places {
            remote,
            seconds,
            share: if all > 0.0 { there / all } else { 0.0 },
            work: all * slices,
        }
    }
    /// Joins on the device.
    pub fn many(&self) -> usize {
        self.remote.iter().filter(|r| **r).count()
    }
}

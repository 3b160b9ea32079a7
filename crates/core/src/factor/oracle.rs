//! The specification of sum-products: every task by enumeration of all configurations, with
//! compensated sums.
//!
//! The engine of the crate `product` never enumerates; it is compared with this on small networks.
//!
//! It knows no elimination, no semiring and no logarithms of tables, so it shares no mistake with
//! the engine. It is slow by intent: k variables of two states take 2^k steps.

use super::{Answer, Evidence, Network, Task, Var};
use crate::error::{Error, Result};
use crate::number::CompensatedSum;

/// Configurations that the oracle agrees to visit. Tests that enumerate more would take too long.
pub const ORACLE_LIMIT: usize = 1 << 26;

/// Answers by enumeration.
///
/// Evidence fixes variables instead of multiplying factors, which is the definition of
/// conditioning.
#[derive(Debug)]
pub struct Oracle<'a> {
    network: &'a Network,
    evidence: &'a Evidence,
}

impl<'a> Oracle<'a> {
    /// An oracle for `network` given `evidence`.
    ///
    /// # Errors
    /// `Resource` when there are more than [`ORACLE_LIMIT`] configurations.
    pub fn new(network: &'a Network, evidence: &'a Evidence) -> Result<Self> {
        let all = network.cards().iter().try_fold(1usize, |n, c| {
            n.checked_mul(*c).filter(|n| *n <= ORACLE_LIMIT)
        });
        match all {
            Some(_) => Ok(Oracle { network, evidence }),
            None => Err(Error::resource("too many configurations to enumerate")
                .limit(format!("{ORACLE_LIMIT}"))),
        }
    }
    /// The answer to `task` (not [`Task::Samples`], which has no single answer: it returns log10 Z
    /// alone).
    pub fn answer(&self, task: &Task) -> Answer {
        match task {
            Task::Pr | Task::Samples(_) => self
                .total()
                .map_or(Answer::Impossible, |z| Answer::Pr(libm::log10(z))),
            Task::Mar => self.marginals(),
            // MAP is MMAP over all variables.
            Task::Map => {
                let all: Vec<Var> = (0..self.network.cards().len()).collect();
                match self.mode(&all) {
                    Some((p, x)) => {
                        Answer::Map(libm::log10(p), x.into_iter().map(|(_, s)| s).collect())
                    }
                    None => Answer::Impossible,
                }
            }
            Task::Mmap(keep) => self
                .mode(keep)
                .map_or(Answer::Impossible, |(p, x)| Answer::Mmap(libm::log10(p), x)),
            // Entries as they are: their common factor is 10⁰.
            Task::Sum(keep) => Answer::Sum(keep.clone(), self.table(keep), 0.0),
        }
    }
    /// Returns the product of all factors at configuration `x`. The place in a table is its index
    /// by Horner's scheme.
    ///
    /// Multiplied in the order of factors, without logarithms: products of small networks do not
    /// underflow.
    pub fn weight(&self, x: &[usize]) -> f64 {
        let cards = self.network.cards();
        self.network
            .factors()
            .iter()
            .map(|f| f.values()[f.scope().iter().fold(0, |at, v| at * cards[*v] + x[*v])])
            .product()
    }
    /// Returns the unnormalised table over `keep`, last fastest. Entries that the evidence excludes
    /// are 0.
    pub fn table(&self, keep: &[Var]) -> Vec<f64> {
        let cards = self.network.cards();
        let mut sums = vec![CompensatedSum::default(); keep.iter().map(|v| cards[*v]).product()];
        self.visit(|x, w| sums[keep.iter().fold(0, |at, v| at * cards[*v] + x[*v])].add(w));
        sums.into_iter().map(CompensatedSum::value).collect()
    }
    /// Returns the partition function; `None` if it is zero.
    ///
    /// Zero means that the evidence cannot happen.
    fn total(&self) -> Option<f64> {
        Some(self.table(&[])[0]).filter(|z| *z > 0.0)
    }
    /// Sums the weight of every configuration into the entry of each variable's state, and divides
    /// by the total.
    fn marginals(&self) -> Answer {
        let mut sums: Vec<Vec<CompensatedSum>> = self
            .network
            .cards()
            .iter()
            .map(|c| vec![CompensatedSum::default(); *c])
            .collect();
        self.visit(|x, w| x.iter().zip(&mut sums).for_each(|(s, row)| row[*s].add(w)));
        let Some(z) = self.total() else {
            return Answer::Impossible;
        };
        let rows = sums
            .into_iter()
            .map(|row| row.into_iter().map(|s| s.value() / z).collect())
            .collect();
        Answer::Mar(libm::log10(z), rows)
    }
    /// Returns the largest entry of the table over `keep`, and its states, decoded from its place.
    ///
    /// Of equal entries it takes the last. Comparisons must accept any state that has the largest
    /// value.
    fn mode(&self, keep: &[Var]) -> Option<(f64, Vec<(Var, usize)>)> {
        let table = self.table(keep);
        let (mut at, best) = table
            .iter()
            .copied()
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut states = vec![0; keep.len()];
        // The index written in mixed radix: the last variable is the fastest digit.
        for (slot, v) in states.iter_mut().zip(keep).rev() {
            *slot = at % self.network.cards()[*v];
            at /= self.network.cards()[*v];
        }
        (best > 0.0).then(|| (best, keep.iter().copied().zip(states).collect()))
    }
    /// Calls `see` with every configuration that agrees with the evidence, and its weight. Free
    /// variables count like the digits of an odometer, the last one fastest.
    fn visit(&self, mut see: impl FnMut(&[usize], f64)) {
        let cards = self.network.cards();
        let mut x: Vec<usize> = (0..cards.len())
            .map(|v| self.evidence.get(v).unwrap_or(0))
            .collect();
        loop {
            see(&x, self.weight(&x));
            // Observed variables keep their value.
            let free = (0..cards.len())
                .rev()
                .filter(|v| self.evidence.get(*v).is_none());
            let mut done = true;
            for v in free {
                x[v] += 1;
                if x[v] < cards[v] {
                    done = false;
                    break;
                }
                // A carry: this digit starts again and the next one advances.
                x[v] = 0;
            }
            if done {
                return;
            }
        }
    }
}

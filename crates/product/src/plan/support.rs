//! Generalised arc consistency: the states that every table supports.

use super::reduced::{Reduced, step};
use super::scalar::Scalar;
use zipfold_core::factor::{Evidence, Var};

/// Possible states, by variable.
pub(super) struct Alive {
    start: Vec<usize>,
    alive: Vec<bool>,
    left: Vec<usize>,
}

/// By variable: the tables that hold it and a zero.
fn tables_with_zeros(tables: &[(&[Var], &[f64])], zeros: &[bool], many: usize) -> Vec<Vec<u32>> {
    let mut of_var: Vec<Vec<u32>> = vec![Vec::new(); many];
    for (at, (scope, _)) in tables.iter().enumerate().filter(|(at, _)| zeros[*at]) {
        scope.iter().for_each(|v| of_var[*v].push(at as u32));
    }
    of_var
}

impl Alive {
    /// All states, without the ones that `evidence` rules out.
    pub(super) fn new(cards: &[usize], evidence: &Evidence) -> Self {
        let mut start = Vec::with_capacity(cards.len() + 1);
        start.push(0);
        cards
            .iter()
            .for_each(|c| start.push(start.last().copied().unwrap_or(0) + c));
        let mut out = Alive {
            alive: vec![true; start[cards.len()]],
            start,
            left: cards.to_vec(),
        };
        for (v, x) in evidence.iter() {
            out.of_mut(v).fill(false);
            out.of_mut(v)[x] = true;
            out.left[v] = 1;
        }
        out
    }
    /// Whether every state is left.
    pub(super) fn is_whole(&self) -> bool {
        self.alive.iter().all(|a| *a)
    }
    fn alive_values(&self, v: Var) -> &[bool] {
        &self.alive[self.start[v]..self.start[v + 1]]
    }
    fn of_mut(&mut self, v: Var) -> &mut [bool] {
        &mut self.alive[self.start[v]..self.start[v + 1]]
    }
    /// Removes unsupported states until nothing changes. False when a variable has no state left.
    pub(super) fn prune<'t>(
        &mut self,
        tables: impl Iterator<Item = (&'t [usize], &'t [f64])>,
        cards: &[usize],
    ) -> bool {
        let factors: Vec<(&[usize], &[f64])> = tables.collect();
        let zeros: Vec<bool> = factors.iter().map(|f| f.1.contains(&0.0)).collect();
        let of_var = tables_with_zeros(&factors, &zeros, cards.len());
        let mut queued = zeros.clone();
        let mut work: Vec<u32> = (0..factors.len() as u32)
            .filter(|at| zeros[*at as usize])
            .rev()
            .collect();
        while let Some(at) = work.pop() {
            queued[at as usize] = false;
            let (scope, values) = factors[at as usize];
            let Some(changed) = self.revise(scope, values, cards) else {
                return false;
            };
            for next in changed
                .iter()
                .flat_map(|v| &of_var[*v])
                .filter(|next| **next != at)
            {
                if !std::mem::replace(&mut queued[*next as usize], true) {
                    work.push(*next);
                }
            }
        }
        true
    }
    /// Removes the states that one table does not support; the variables that lost some, or `None`
    /// when nothing is left.
    fn revise(&mut self, scope: &[Var], values: &[f64], cards: &[usize]) -> Option<Vec<Var>> {
        let (support, any) = self.support(scope, values, cards);
        let mut changed = Vec::new();
        for (v, row) in scope.iter().zip(&support) {
            let lost = self
                .of_mut(*v)
                .iter_mut()
                .zip(row)
                .filter(|(a, s)| **a && !**s)
                .map(|(a, _)| *a = false)
                .count();
            self.left[*v] -= lost;
            if lost > 0 {
                changed.push(*v);
            }
        }
        any.then_some(changed)
    }
    /// By variable of a table, the states that it supports, and whether there are any.
    fn support(&self, scope: &[Var], values: &[f64], cards: &[usize]) -> (Vec<Vec<bool>>, bool) {
        let mut support: Vec<Vec<bool>> = scope.iter().map(|v| vec![false; cards[*v]]).collect();
        let mut any = false;
        let mut x = vec![0usize; scope.len()];
        for value in values {
            let mut states = scope.iter().zip(&x);
            if *value > 0.0 && states.all(|(v, s)| self.alive[self.start[*v] + s]) {
                any = true;
                support
                    .iter_mut()
                    .zip(&x)
                    .for_each(|(row, s)| row[*s] = true);
            }
            step(&mut x, |at| cards[scope[at]]);
        }
        (support, any)
    }
    /// The variables with several states left, without tables.
    pub(super) fn renumber(&self, cards: &[usize]) -> Reduced {
        let mut out = Reduced {
            cards: Vec::new(),
            origin: Vec::new(),
            states: vec![Vec::new(); cards.len()],
            settled: vec![None; cards.len()],
            number: vec![None; cards.len()],
            tables: Vec::new(),
            scale: Scalar::ONE,
            impossible: false,
        };
        for v in 0..cards.len() {
            let states = self
                .alive_values(v)
                .iter()
                .enumerate()
                .filter(|(_, a)| **a)
                .map(|(s, _)| s as u32);
            if self.left[v] == 1 {
                out.settled[v] = states.into_iter().next();
            } else {
                out.number[v] = Some(out.cards.len());
                out.cards.push(self.left[v]);
                out.origin.push(v);
                out.states[v] = states.collect();
            }
        }
        out
    }
}

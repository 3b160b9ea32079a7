//! The branches of a finished count, and the marginals of all variables from them: probability
//! flows from a component to its branches, and from a branch to the components below it.

use crate::plan::Scalar;

/// All components that were counted; those below a component come before it.
#[derive(Debug, Default)]
pub(super) struct Trace {
    components: Vec<(Scalar, Vec<Branch>)>,
    /// Bytes that it takes.
    pub bytes: usize,
}

/// One state of the variable that a component branches on, and what follows.
#[derive(Debug)]
pub(super) struct Branch {
    /// What it adds to the component.
    pub value: Scalar,
    /// Variables that have one state, with it.
    fixed: Vec<(u32, u32)>,
    /// Variables that nothing ties to others, with the probability of each state.
    alone: Vec<(u32, u32, f64)>,
    /// Components.
    pub below: Vec<u32>,
}

impl Branch {
    /// A branch with `fixed` variables.
    pub(super) fn new(fixed: Vec<(u32, u32)>) -> Self {
        Branch {
            value: Scalar::ZERO,
            fixed,
            alone: Vec::new(),
            below: Vec::new(),
        }
    }
    /// Adds a variable that nothing ties to others.
    pub(super) fn alone(&mut self, v: u32, line: Vec<(u32, Scalar)>, sum: Scalar) {
        self.alone
            .extend(line.into_iter().map(|(s, p)| (v, s, p.over(sum).value())));
    }
    fn flow(&self, share: f64, into: &mut [Vec<f64>], below: &mut [f64]) {
        for (v, s) in &self.fixed {
            into[*v as usize][*s as usize] += share;
        }
        for (v, s, p) in &self.alone {
            into[*v as usize][*s as usize] += share * p;
        }
        self.below.iter().for_each(|c| below[*c as usize] += share);
    }
}

impl Trace {
    /// Adds a component; its number.
    pub(super) fn put(&mut self, value: Scalar, branches: Vec<Branch>) -> u32 {
        let lists = |b: &Branch| 128 + 8 * b.fixed.len() + 16 * b.alone.len() + 4 * b.below.len();
        self.bytes += 64 + branches.iter().map(lists).sum::<usize>();
        self.components.push((value, branches));
        self.components.len() as u32 - 1
    }
    /// The marginals of variables with `cards` states, from the branch that everything begins with.
    pub(super) fn marginals(&self, cards: &[usize], first: &Branch) -> Vec<Vec<f64>> {
        let none = |card: &usize| match card {
            1 => vec![1.0],
            _ => vec![0.0; *card],
        };
        let mut out: Vec<Vec<f64>> = cards.iter().map(none).collect();
        let mut shares = vec![0.0; self.components.len()];
        first.flow(1.0, &mut out, &mut shares);
        for (at, (value, branches)) in self.components.iter().enumerate().rev() {
            if shares[at] > 0.0 {
                let of = |b: &Branch| shares[at] * b.value.over(*value).value();
                let parts: Vec<f64> = branches.iter().map(of).collect();
                let all = branches.iter().zip(parts);
                all.for_each(|(branch, share)| branch.flow(share, &mut out, &mut shares));
            }
        }
        out
    }
}

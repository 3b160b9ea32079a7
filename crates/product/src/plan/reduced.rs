//! A network with evidence applied, in variables of its own.

use super::scalar::Scalar;
use zipfold_core::factor::Var;

/// A table over reduced variables, last fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Reduced variables, slowest first.
    pub scope: Vec<usize>,
    /// Entries.
    pub values: Vec<f64>,
}

/// A network with evidence applied and superfluous parts gone. Variables are renumbered from 0.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// Domain sizes (at least 2 unless the variable is kept).
    pub cards: Vec<usize>,
    /// The original variable of each.
    pub origin: Vec<Var>,
    /// By original variable that has a number: its original state at each reduced state. Original
    /// variables that are copies of each other have one number, each in an order of its own.
    pub states: Vec<Vec<u32>>,
    /// By original variable: the one state it can take, if it was settled.
    pub settled: Vec<Option<u32>>,
    /// By original variable: its reduced number, if it is not settled.
    pub number: Vec<Option<usize>>,
    /// The tables. Every variable stands in at least one.
    pub tables: Vec<Table>,
    /// The product of all tables without variables.
    pub scale: Scalar,
    /// Whether some table has no entry that agrees with the evidence.
    pub impossible: bool,
}

impl Reduced {
    /// Tables over variables with `cards` values as they are: nothing is simplified.
    pub fn as_given(cards: &[usize], tables: Vec<Table>) -> Self {
        Reduced {
            cards: cards.to_vec(),
            origin: (0..cards.len()).collect(),
            states: Vec::new(),
            settled: vec![None; cards.len()],
            number: (0..cards.len()).map(Some).collect(),
            tables,
            scale: Scalar::ONE,
            impossible: false,
        }
    }
    /// States of `many` original variables at `states` of the reduced ones; the first for those
    /// that do not matter.
    pub fn assignment(&self, many: usize, states: &[usize]) -> Vec<usize> {
        let of = |v: Var| match (self.settled[v], self.number[v]) {
            (Some(s), _) => s as usize,
            (None, Some(n)) => self.states[v][states[n]] as usize,
            (None, None) => 0,
        };
        (0..many).map(of).collect()
    }
}

/// Advances a mixed-radix counter, last digit fastest.
pub fn step(x: &mut [usize], card: impl Fn(usize) -> usize) {
    for at in (0..x.len()).rev() {
        x[at] += 1;
        if x[at] < card(at) {
            return;
        }
        x[at] = 0;
    }
}

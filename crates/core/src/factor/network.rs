//! Networks: variables with finite domains, and factors over them.
//!
//! A Bayesian network is one whose factors are conditional tables, one for each variable, without
//! cycles; the last variable of a scope is the child. In a Markov network factors are any tables.
//! Only checks and names differ.

use super::{Factor, Var};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// What the factors are.
///
/// The kind changes no product; it says what the product means and which checks apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// Conditional probability tables; the last variable of each scope is the child.
    Bayes,
    /// Potentials.
    Markov,
}

/// Names of variables and of their states.
///
/// States have names of their own, since evidence says `smoker = yes` and not `3 = 1`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Names {
    /// One name a variable.
    pub variables: Vec<String>,
    /// The state names of each variable, as many as its domain has values.
    pub states: Vec<Vec<String>>,
}

/// A discrete graphical model. Its distribution is the normalised product of its factors.
///
/// Checked as a whole when it is made, so planner and kernels index tables without checks.
#[derive(Clone, Debug)]
pub struct Network {
    kind: Kind,
    cards: Vec<usize>,
    factors: Vec<Factor>,
    names: Option<Names>,
    by_name: HashMap<String, Var>,
}

impl Network {
    /// Returns a network over variables with domain sizes `cards`.
    ///
    /// # Errors
    /// `Input` when a domain is empty, or a factor does not fit `cards`. [`Factor::new`] has
    /// checked each by itself.
    pub fn new(kind: Kind, cards: Vec<usize>, factors: Vec<Factor>) -> Result<Self> {
        if let Some(v) = cards.iter().position(|c| *c == 0) {
            return Err(Error::input(format!("variable {v} has no values"))
                .remedy("give every variable at least one value"));
        }
        // Again, although `Factor::new` has checked: these `cards` may be others.
        for (at, factor) in factors.iter().enumerate() {
            super::table::check_scope(factor.scope(), &cards)
                .map_err(|e| e.at_least(format!("factor {at}")))?;
            if super::table::entries(factor.scope(), &cards) != Some(factor.values().len()) {
                return Err(Error::input("the table does not match its domains")
                    .at_place(format!("factor {at}")));
            }
        }
        Ok(Network {
            kind,
            cards,
            factors,
            names: None,
            by_name: HashMap::new(),
        })
    }
    /// Returns the network with names.
    ///
    /// # Errors
    /// `Input` when there are too few or too many names, or two variables, or two states of one,
    /// share a name.
    pub fn with_names(mut self, names: Names) -> Result<Self> {
        if names.variables.len() != self.cards.len() || names.states.len() != self.cards.len() {
            return Err(Error::input(format!(
                "{} names for {} variables",
                names.variables.len(),
                self.cards.len()
            )));
        }
        for (v, states) in names.states.iter().enumerate() {
            if states.len() != self.cards[v] {
                return Err(Error::input(format!(
                    "{} state names for {} values",
                    states.len(),
                    self.cards[v]
                ))
                .at_place(format!("variable '{}'", names.variables[v])));
            }
            // Sorted: states are few, and a set would allocate more.
            let mut seen: Vec<&String> = states.iter().collect();
            seen.sort_unstable();
            if let Some(w) = seen.windows(2).find(|w| w[0] == w[1]) {
                return Err(Error::input(format!("two states are named '{}'", w[0]))
                    .at_place(format!("variable '{}'", names.variables[v])));
            }
        }
        for (v, name) in names.variables.iter().enumerate() {
            if self.by_name.insert(name.clone(), v).is_some() {
                return Err(Error::input(format!("two variables are named '{name}'")));
            }
        }
        self.names = Some(names);
        Ok(self)
    }
    /// Refuses a network that is not Bayesian: a variable that is the child of two tables, or that
    /// depends on itself. Places variables whose parents are placed until none is left (Kahn 1962);
    /// what cannot be placed is on or behind a cycle.
    ///
    /// Readers of Bayesian formats call it. Tables that break the rule still have a product; it
    /// would be no probability of the evidence.
    ///
    /// # Errors
    /// `Input`, naming the variable.
    #[doc(hidden)]
    pub fn check_families(&self) -> Result<()> {
        let mut table_of = vec![None; self.cards.len()];
        for (at, factor) in self.factors.iter().enumerate() {
            let Some(child) = factor.scope().last() else {
                continue;
            };
            if let Some(first) = table_of[*child].replace(at) {
                let what = format!(
                    "tables {first} and {at} are both conditional on the parents of '{}'",
                    self.name(*child)
                );
                return Err(Error::input(what)
                    .limit("one table for each variable, which is last in its scope")
                    .remedy("put the child last, or call the network MARKOV"));
            }
        }
        // The scope without its last variable; a variable without a table has no parents.
        let parents = |v: Var| {
            table_of[v].map_or(&[][..], |at| {
                &self.factors[at].scope()[..self.factors[at].scope().len() - 1]
            })
        };
        // For each variable, how many of its parents are not placed yet.
        let mut waiting: Vec<usize> = (0..self.cards.len()).map(|v| parents(v).len()).collect();
        let mut children: Vec<Vec<Var>> = vec![Vec::new(); self.cards.len()];
        (0..self.cards.len()).for_each(|v| parents(v).iter().for_each(|p| children[*p].push(v)));
        let mut ready: Vec<Var> = (0..self.cards.len()).filter(|v| waiting[*v] == 0).collect();
        let mut placed = 0;
        // Placing a variable may make its children ready.
        while let Some(v) = ready.pop() {
            placed += 1;
            for child in &children[v] {
                waiting[*child] -= 1;
                if waiting[*child] == 0 {
                    ready.push(*child);
                }
            }
        }
        match waiting.iter().position(|w| *w > 0) {
            Some(v) if placed < self.cards.len() => {
                let what = format!(
                    "'{}' depends on itself, or on variables that do",
                    self.name(v)
                );
                Err(Error::input(what)
                    .remedy("take one arrow out of each circle, or call the network MARKOV"))
            }
            _ => Ok(()),
        }
    }
    /// Estimates the bytes that the network holds, with what the allocator adds to each list.
    ///
    /// An estimate, because allocators do not say what they take.
    #[doc(hidden)]
    pub fn bytes(&self) -> u64 {
        /// What the allocator keeps for itself in a list or name.
        const LIST: usize = 40;
        let lists = |f: &Factor| 2 * LIST + 8 * (f.scope().len() + f.values().len());
        let factors: usize = self
            .factors
            .iter()
            .map(|f| size_of::<Factor>() + lists(f))
            .sum();
        // Names are stored twice: in order, and as keys of the look-up.
        let name = |n: &String| size_of::<String>() + LIST / 2 + n.len();
        let names = self.names.as_ref().map_or(0, |n| {
            let variables: usize = n.variables.iter().map(|v| 2 * name(v) + LIST).sum();
            let states: usize = n
                .states
                .iter()
                .map(|s| LIST + s.iter().map(name).sum::<usize>())
                .sum();
            variables + states
        });
        (8 * self.cards.len() + factors + names) as u64
    }
    /// Returns whether it is Bayesian or Markov.
    #[doc(hidden)]
    pub fn kind(&self) -> Kind {
        self.kind
    }
    /// Returns the domain sizes, by variable.
    #[must_use]
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }
    /// Returns the factors, in the order of the source: messages name them by number.
    #[must_use]
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }
    /// Returns the names, if the source had any.
    #[doc(hidden)]
    pub fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }
    /// Returns the name of variable `v`, or its number.
    #[must_use]
    pub fn name(&self, v: Var) -> String {
        self.names
            .as_ref()
            .map_or_else(|| v.to_string(), |n| n.variables[v].clone())
    }
    /// Returns the name of state `state` of variable `v`, or its number.
    #[must_use]
    pub fn state(&self, v: Var, state: usize) -> String {
        self.names
            .as_ref()
            .map_or_else(|| state.to_string(), |n| n.states[v][state].clone())
    }
    /// Returns the variable called `text` (or, without such a name, numbered so from 0).
    ///
    /// # Errors
    /// `Request` when there is none.
    pub fn find(&self, text: &str) -> Result<Var> {
        // A variable that is really called `3` is found by name; a number is second.
        let number = || text.parse::<usize>().ok().filter(|v| *v < self.cards.len());
        self.by_name
            .get(text)
            .copied()
            .or_else(number)
            .ok_or_else(|| {
                let names = self.by_name.keys().map(String::as_str);
                let remedy = match crate::suggest::nearest(text, names) {
                    Some(near) => format!("'{near}'"),
                    None => "a name from the network, or a number from 0".into(),
                };
                Error::request(format!("no variable '{text}'"))
                    .limit(format!("{} variables", self.cards.len()))
                    .remedy(remedy)
            })
    }
    /// Returns the state of variable `v` called `text` (or numbered so from 0).
    ///
    /// # Errors
    /// `Request` when there is none; the message lists those there are.
    #[doc(hidden)]
    pub fn find_state(&self, v: Var, text: &str) -> Result<usize> {
        let named = self
            .names
            .as_ref()
            .and_then(|n| n.states[v].iter().position(|s| s == text));
        // Names first, as for variables: states are often called 0 and 1 in another order.
        let number = || text.parse::<usize>().ok().filter(|s| *s < self.cards[v]);
        named.or_else(number).ok_or_else(|| {
            let have = match &self.names {
                Some(n) => n.states[v].join(", "),
                None => format!("0 to {}", self.cards[v] - 1),
            };
            Error::request(format!("variable '{}' has no state '{text}'", self.name(v)))
                .remedy(format!("one of {have}"))
        })
    }
    /// Returns the largest deviation from one of a row of a conditional table, with its factor;
    /// `None` for Markov networks.
    ///
    /// Tables are used as they are given. A row that does not sum to one is reported, never
    /// repaired.
    ///
    /// Published networks have such rows, rounded to a few digits; changing them would change every
    /// published answer.
    #[doc(hidden)]
    pub fn worst_row(&self) -> Option<(usize, f64)> {
        if self.kind == Kind::Markov {
            return None;
        }
        let deviation = |f: &Factor| {
            let child = f.scope().last().map_or(1, |v| self.cards[*v]);
            f.values()
                .chunks(child)
                .map(|r| (r.iter().sum::<f64>() - 1.0).abs())
                .fold(0.0, f64::max)
        };
        self.factors
            .iter()
            .map(deviation)
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

//! A Bayesian network while its file is read: variables and conditional tables by name.

use crate::lexer::{Lexer, Token};
use std::collections::HashMap;
use zipfold_core::budget::Tab;
use zipfold_core::factor::{Factor, Kind, Names, Network};
use zipfold_core::{Budget, Error, Result};

/// What has been read so far.
#[derive(Debug)]
pub struct Draft {
    names: Vec<String>,
    states: Vec<Vec<String>>,
    cards: Vec<usize>,
    by_name: HashMap<String, usize>,
    /// Places of states by name, where there are many.
    state_of: HashMap<usize, HashMap<String, usize>>,
    tables: Vec<Option<Factor>>,
    tab: Tab,
}

/// Bytes that a variable takes next to the letters of its name, and a state in a table of places.
const VARIABLE: u64 = 320;
const STATE: u64 = 96;
/// States from which their places are looked up in a table of their own.
const MANY_STATES: usize = 17;

/// A conditional table while its rows arrive; parents slowest, the child fastest.
#[derive(Debug)]
pub struct Cpt {
    child: usize,
    parents: Vec<usize>,
    parent_cards: Vec<usize>,
    states: usize,
    values: Vec<f64>,
    default: Option<Vec<f64>>,
    name: String,
}

/// Entries beyond which a declared table is refused before it is allocated.
const MOST_ENTRIES: usize = 1 << 28;

impl Draft {
    /// Nothing yet, within `budget`.
    pub fn new(budget: &Budget) -> Self {
        Draft {
            names: Vec::new(),
            states: Vec::new(),
            cards: Vec::new(),
            by_name: HashMap::new(),
            state_of: HashMap::new(),
            tables: Vec::new(),
            tab: budget.tab("the network"),
        }
    }
    /// The network that a text says: `statement` reads each statement after its first token.
    ///
    /// # Errors
    /// Those of `statement`, with the place, and as [`Draft::finish`].
    pub fn read<'t>(
        mut lex: Lexer<'t>,
        budget: &Budget,
        statement: impl Fn(&mut Lexer<'t>, &mut Self, Token<'t>) -> Result<()>,
    ) -> Result<Network> {
        let mut draft = Self::new(budget);
        let mut all = || -> Result<()> {
            while let Some(token) = lex.next()? {
                statement(&mut lex, &mut draft, token)?;
            }
            Ok(())
        };
        all().map_err(|e| e.at_least(lex.place()))?;
        draft.finish()
    }
    /// Adds a variable.
    ///
    /// # Errors
    /// `Input` when the name is taken, there are no states, or two are equal.
    pub fn variable(&mut self, name: String, states: Vec<String>) -> Result<()> {
        if states.is_empty() {
            return Err(Error::input(format!("variable '{name}' has no states")));
        }
        self.tab.add(VARIABLE + 3 * name.len() as u64)?;
        let mut sorted: Vec<&String> = states.iter().collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|w| w[0] == w[1]) {
            return Err(Error::input(format!(
                "two states of variable '{name}' have the same name"
            )));
        }
        if states.len() >= MANY_STATES {
            self.tab
                .add(states.iter().map(|s| STATE + s.len() as u64).sum())?;
            let by = states
                .iter()
                .cloned()
                .enumerate()
                .map(|(i, s)| (s, i))
                .collect();
            self.state_of.insert(self.names.len(), by);
        }
        if self
            .by_name
            .insert(name.clone(), self.names.len())
            .is_some()
        {
            return Err(Error::input(format!("two variables are named '{name}'")));
        }
        self.names.push(name);
        self.cards.push(states.len());
        self.states.push(states);
        self.tables.push(None);
        Ok(())
    }
    /// The place of a state of a variable.
    fn state(&self, v: usize, name: &str) -> Option<usize> {
        match self.state_of.get(&v) {
            Some(places) => places.get(name).copied(),
            None => self.states[v].iter().position(|s| s == name),
        }
    }
    fn find(&self, name: &str) -> Result<usize> {
        self.by_name
            .get(name)
            .copied()
            .ok_or_else(|| Error::input(format!("no variable is named '{name}'")))
    }
    /// An empty table of `child` given `parents`.
    ///
    /// # Errors
    /// `Input` for unknown or repeated variables, or a table beyond all measure.
    pub fn table(&mut self, child: &str, parents: &[String]) -> Result<Cpt> {
        let child = self.find(child)?;
        let parents = parents
            .iter()
            .map(|p| self.find(p))
            .collect::<Result<Vec<_>>>()?;
        let scope: Vec<usize> = parents.iter().copied().chain([child]).collect();
        let cards = &self.cards[..];
        zipfold_core::factor::table::check_scope(&scope, cards)
            .map_err(|e| e.at_least(format!("the table of '{}'", self.names[child])))?;
        let entries =
            zipfold_core::factor::table::entries(&scope, cards).filter(|n| *n <= MOST_ENTRIES);
        let entries = entries.ok_or_else(|| {
            Error::input(format!("the table of '{}' is too large", self.names[child]))
                .limit(format!("{MOST_ENTRIES} entries"))
        })?;
        self.tab
            .add(8 * entries as u64 + 8 * scope.len() as u64 + VARIABLE)?;
        let parent_cards = parents.iter().map(|p| cards[*p]).collect();
        Ok(Cpt {
            child,
            parents,
            parent_cards,
            states: cards[child],
            values: vec![f64::NAN; entries],
            default: None,
            name: self.names[child].clone(),
        })
    }
    /// Takes a filled table.
    ///
    /// # Errors
    /// `Input` when rows are missing, entries are wrong, or the variable had a table already.
    pub fn add(&mut self, mut cpt: Cpt) -> Result<()> {
        let place = format!("the table of '{}'", cpt.name);
        if let Some(row) = cpt.default.take() {
            for to in cpt
                .values
                .chunks_mut(cpt.states)
                .filter(|c| c.iter().all(|v| v.is_nan()))
            {
                to.copy_from_slice(&row);
            }
        }
        if let Some(at) = cpt.values.iter().position(|v| v.is_nan()) {
            return Err(
                Error::input(format!("row {} has no numbers", at / cpt.states)).at_place(place),
            );
        }
        let scope = cpt.parents.iter().copied().chain([cpt.child]).collect();
        let factor =
            Factor::new(scope, cpt.values, &self.cards).map_err(|e| e.at_least(place.clone()))?;
        match self.tables[cpt.child].replace(factor) {
            Some(_) => Err(Error::input("is there twice").at_place(place)),
            None => Ok(()),
        }
    }
    /// The network.
    ///
    /// # Errors
    /// `Input` when there is no variable, a variable has no table, or variables depend on
    /// themselves.
    pub fn finish(self) -> Result<Network> {
        if self.names.is_empty() {
            let e = Error::input("the text describes no variable of a network");
            return Err(e.remedy("check that the file is what its suffix says"));
        }
        if let Some(v) = self.tables.iter().position(Option::is_none) {
            return Err(Error::input(format!(
                "variable '{}' has no table",
                self.names[v]
            )));
        }
        let factors = self.tables.into_iter().flatten().collect();
        let names = Names {
            variables: self.names,
            states: self.states,
        };
        let network = Network::new(Kind::Bayes, self.cards, factors)?.with_names(names)?;
        network.check_families()?;
        Ok(network)
    }
}

impl Cpt {
    fn check(&self, numbers: &[f64], want: usize) -> Result<()> {
        if let Some(bad) = numbers.iter().find(|x| !(**x >= 0.0 && x.is_finite())) {
            return Err(Error::input(format!("{bad} is not a probability"))
                .at_place(format!("the table of '{}'", self.name)));
        }
        if numbers.len() != want {
            return Err(Error::input(format!("{} numbers", numbers.len()))
                .at_place(format!("the table of '{}'", self.name))
                .limit(format!("{want}")));
        }
        Ok(())
    }
    /// All numbers, the child's states fastest.
    ///
    /// # Errors
    /// `Input` when their number or a value is wrong.
    pub fn child_fastest(&mut self, numbers: Vec<f64>) -> Result<()> {
        self.check(&numbers, self.values.len())?;
        self.values = numbers;
        Ok(())
    }
    /// All numbers, the child's states slowest, as BIF's `table` has them.
    ///
    /// # Errors
    /// As [`Cpt::child_fastest`].
    pub fn child_slowest(&mut self, numbers: Vec<f64>) -> Result<()> {
        self.check(&numbers, self.values.len())?;
        let rows = self.values.len() / self.states;
        for (at, x) in numbers.into_iter().enumerate() {
            self.values[at % rows * self.states + at / rows] = x;
        }
        Ok(())
    }
    /// The row for every combination of parents that gets none of its own.
    ///
    /// # Errors
    /// As [`Cpt::child_fastest`].
    pub fn default_row(&mut self, numbers: Vec<f64>) -> Result<()> {
        self.check(&numbers, self.states)?;
        self.default = Some(numbers);
        Ok(())
    }
    /// The row where the parents have these states.
    ///
    /// # Errors
    /// As [`Cpt::child_fastest`], and for unknown states or a row given twice.
    pub fn row(&mut self, draft: &Draft, states: &[String], numbers: Vec<f64>) -> Result<()> {
        self.check(&numbers, self.states)?;
        if states.len() != self.parents.len() {
            return Err(Error::input(format!(
                "{} states for {} parents",
                states.len(),
                self.parents.len()
            ))
            .at_place(format!("the table of '{}'", self.name)));
        }
        let mut at = 0;
        for ((p, card), s) in self.parents.iter().zip(&self.parent_cards).zip(states) {
            let state = draft.state(*p, s).ok_or_else(|| {
                Error::input(format!("'{}' has no state '{s}'", draft.names[*p]))
                    .at_place(format!("the table of '{}'", self.name))
            })?;
            at = at * card + state;
        }
        let row = &mut self.values[at * self.states..][..self.states];
        if !row[0].is_nan() {
            return Err(
                Error::input(format!("the row ({}) is there twice", states.join(", ")))
                    .at_place(format!("the table of '{}'", self.name)),
            );
        }
        row.copy_from_slice(&numbers);
        Ok(())
    }
}

//! Evidence: variables whose value is known.

use super::Var;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// Observed values, at most one a variable.
///
/// Sorted by variable, so that equal evidence hashes and prints alike in any order of observations.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Evidence(BTreeMap<Var, usize>);

impl Evidence {
    /// No evidence.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }
    /// Evidence from (variable, value) pairs.
    ///
    /// # Errors
    /// `Input` when a variable or value does not exist, or a variable is given two different
    /// values.
    pub fn new(pairs: impl IntoIterator<Item = (Var, usize)>, cards: &[usize]) -> Result<Self> {
        let mut out = Self::default();
        for (v, x) in pairs {
            out.add(v, x, cards)?;
        }
        Ok(out)
    }
    /// Adds one observation.
    ///
    /// # Errors
    /// As [`Evidence::new`].
    pub fn add(&mut self, v: Var, x: usize, cards: &[usize]) -> Result<()> {
        let card = *cards.get(v).ok_or_else(|| {
            Error::input(format!("evidence on variable {v}, which does not exist"))
                .limit(format!("{} variables", cards.len()))
        })?;
        if x >= card {
            return Err(
                Error::input(format!("evidence gives variable {v} the value {x}"))
                    .limit(format!("its values are 0 to {}", card - 1)),
            );
        }
        match self.0.insert(v, x) {
            Some(before) if before != x => Err(Error::input(format!(
                "evidence gives variable {v} both the value {before} and the value {x}"
            ))),
            _ => Ok(()),
        }
    }
    /// The observed value of `v`.
    #[doc(hidden)]
    pub fn get(&self, v: Var) -> Option<usize> {
        self.0.get(&v).copied()
    }
    /// Number of observed variables.
    #[doc(hidden)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether nothing is observed.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// (variable, value), by variable.
    #[doc(hidden)]
    pub fn iter(&self) -> impl Iterator<Item = (Var, usize)> + '_ {
        self.0.iter().map(|(v, x)| (*v, *x))
    }
}

//! One factor: a table of non-negative numbers over the configurations of its scope.

use super::Var;
use crate::error::{Error, Result};

/// A table over the variables of `scope`, the last of which runs fastest.
///
/// Numbers are not normalised: a factor may be a probability, a potential or a count.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    scope: Vec<Var>,
    values: Vec<f64>,
}

impl Factor {
    /// A factor over `scope` (variables of a network whose domain sizes are `cards`) with row-major
    /// `values`.
    ///
    /// # Errors
    /// `Input` when a variable does not exist or is twice in the scope, when the number of
    /// values is not the product of the domain sizes, or when a value is negative, infinite or not
    /// a number.
    pub fn new(scope: Vec<Var>, values: Vec<f64>, cards: &[usize]) -> Result<Self> {
        check_scope(&scope, cards)?;
        let want = entries(&scope, cards).ok_or_else(|| {
            Error::input(format!(
                "a table over {} variables has more entries than can be counted",
                scope.len()
            ))
        })?;
        if want != values.len() {
            return Err(Error::input(format!(
                "the table has {} numbers, its domains ask for {want}",
                values.len()
            )));
        }
        // Written so that NaN fails, too.
        match values.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
            Some(at) => Err(Error::input(format!(
                "entry {at} is {}, not a finite number of at least 0",
                values[at]
            ))
            .remedy("give potentials, not their logarithms")),
            None => Ok(Factor { scope, values }),
        }
    }
    /// The variables, slowest first.
    #[must_use]
    pub fn scope(&self) -> &[Var] {
        &self.scope
    }
    /// The entries, row-major.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
    /// The parts.
    #[doc(hidden)]
    pub fn into_parts(self) -> (Vec<Var>, Vec<f64>) {
        (self.scope, self.values)
    }
}

/// Returns the number of configurations of `scope`, unless it does not fit `usize`.
pub fn entries(scope: &[Var], cards: &[usize]) -> Option<usize> {
    scope
        .iter()
        .try_fold(1usize, |n, v| n.checked_mul(cards[*v]))
}

/// Checks that every variable of `scope` exists and is there once.
///
/// # Errors
/// `Input`, naming the variable.
pub fn check_scope(scope: &[Var], cards: &[usize]) -> Result<()> {
    if let Some(bad) = scope.iter().find(|v| **v >= cards.len()) {
        return Err(Error::input(format!("variable {bad} does not exist"))
            .limit(format!("{} variables", cards.len())));
    }
    let mut sorted = scope.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(w) => Err(Error::input(format!(
            "variable {} is there twice in one scope",
            w[0]
        ))),
        None => Ok(()),
    }
}

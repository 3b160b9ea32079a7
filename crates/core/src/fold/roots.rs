//! What folds are resolved with: the formula of the pair, to which folds add the roots that they
//! take.
//!
//! A fold refers to values by the number of a root. Root 0 is the pair's value; a condition of a
//! join or the formula of an axis becomes another root of the same formula, so that common parts
//! are computed once.

use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::pair::tree::{Formula, Id};
use crate::pair::{Scope, parse};
use crate::pair::{Shape, truth};

/// The formula of a pair, open for more roots.
///
/// One for all folds of a problem. Nodes are shared, so a condition `value < 1` computes the value
/// once.
pub struct Roots<'a> {
    formula: &'a mut Formula,
    scope: &'a Scope<'a>,
    dim: usize,
    similarity: bool,
}

impl<'a> Roots<'a> {
    /// Returns the roots of `formula`, over rows of `dim` components. `similarity` says that the
    /// nearest rows have the largest values.
    pub fn new(
        formula: &'a mut Formula,
        scope: &'a Scope<'a>,
        dim: usize,
        similarity: bool,
    ) -> Self {
        Roots {
            formula,
            scope,
            dim,
            similarity,
        }
    }
    /// Returns whether the nearest rows have the largest values.
    pub fn similarity(&self) -> bool {
        self.similarity
    }
    /// Returns the number of the root that is the pair's value.
    pub fn value(&self) -> usize {
        self.scope.value
    }
    /// Returns the numbers of the pair's value.
    pub fn width(&self) -> usize {
        self.formula.width(self.value(), self.dim)
    }
    /// Refuses a vector for `what`, a fold that takes single numbers.
    ///
    /// # Errors
    /// `Request` where the pair is a vector.
    pub fn scalar(&self, what: &str) -> Result<()> {
        match self.width() {
            1 => Ok(()),
            width => {
                let e = Error::request(format!(
                    "{what} takes single numbers, the pair is a vector of {width}"
                ));
                Err(e
                    .at_place("formula")
                    .remedy("reduce it: 'sum(…)', 'max(…)'"))
            }
        }
    }
    /// Returns whether root `at` is 0 or 1 for every pair.
    pub fn is_truth(&self, at: usize) -> bool {
        self.formula.is_zero_or_one(self.formula.roots[at])
    }
    /// Returns root `at` and false; or, if it is a square root that can be dropped, a root for what
    /// is under it and true. Folds that need the order of values only save a square root per pair.
    pub fn ordered(&mut self, at: usize) -> (usize, bool) {
        let (id, squared) = self.formula.without_sqrt(at);
        (self.add(id), squared)
    }
    /// Returns the root of `text`, a single number.
    ///
    /// # Errors
    /// `Request` for a text that means nothing, and for a vector.
    pub fn number(&mut self, text: &str) -> Result<usize> {
        let id = parse(self.formula, text, self.scope)?;
        if self.formula.ty(id).shape != Shape::Scalar {
            let e = Error::request("a single number is wanted here, this is a vector");
            return Err(e
                .at_place("formula")
                .span(text, 0..text.len())
                .remedy("reduce it: 'sum(…)'"));
        }
        Ok(self.add(id))
    }
    /// Returns whether root `at` is a single number for each pair.
    pub fn is_number(&self, at: usize) -> bool {
        self.formula.width(at, self.scope.dim.unwrap_or(1)) == 1
    }
    /// Returns the root of `text`, a condition: its value is 1 where the condition is surely true,
    /// else 0.
    ///
    /// # Errors
    /// `Request` for a text that means nothing, and for what is not a condition.
    pub fn condition(&mut self, text: &str) -> Result<usize> {
        let id = parse(self.formula, text, self.scope)?;
        if self.formula.ty(id).truth && self.formula.ty(id).shape == Shape::Scalar {
            let certain = truth::certain(self.formula, id)?;
            return Ok(self.add(certain));
        }
        let e = Error::request(
            "the condition of a join is true or false for a pair, here it is a number or a vector",
        );
        Err(e
            .at_place(Opt::Where)
            .span(text, 0..text.len())
            .remedy("compare: 'abs(x.a - y.a) < 1'"))
    }
    fn add(&mut self, id: Id) -> usize {
        add_root(self.formula, id)
    }
}

/// Returns the place of `id` among the roots, to which it is appended if it is new.
///
/// Folds with the same root share its number, and engines compute it once per pair.
pub(crate) fn add_root(formula: &mut Formula, id: Id) -> usize {
    formula
        .roots
        .iter()
        .position(|root| *root == id)
        .unwrap_or_else(|| {
            formula.roots.push(id);
            formula.roots.len() - 1
        })
}

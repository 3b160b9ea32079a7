//! All values, each at its own place: the matrix, or the upper triangle in SciPy's condensed order.
//! Engines put the values into their places as they come; nothing is kept beside them.

use super::roots::Roots;
use super::{Accumulate, Column, Columns, Layout, Lent, Line, Numbers, Role, Traits, Value};
use crate::error::Result;
use crate::hash::Hash;
use crate::space::{Domain, Space};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A fold that keeps every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dense {
    /// Which root.
    pub root: usize,
    /// SciPy's condensed order of the pairs i < j, rather than the matrix, which of half spaces is
    /// mirrored.
    pub condensed: bool,
}

/// Values are where they belong: there is nothing to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written;

impl Dense {
    /// The fold of the pair's value, as it is asked for.
    ///
    /// # Errors
    /// `Request` for a pair that is a vector.
    pub(super) fn asked(condensed: bool, roots: &Roots<'_>) -> Result<Dense> {
        roots.scalar(if condensed {
            "a condensed matrix"
        } else {
            "a matrix"
        })?;
        Ok(Dense { root: 0, condensed })
    }
    /// The shape of the result for `n` × `m` rows.
    pub fn shape(&self, n: usize, m: usize) -> Vec<usize> {
        if self.condensed {
            vec![n * n.saturating_sub(1) / 2]
        } else {
            vec![n, m]
        }
    }
    /// Elements of the result for `n` × `m` rows, at most as many as can be counted.
    pub fn elements(&self, n: usize, m: usize) -> u64 {
        let (n, m) = (n as u64, m as u64);
        if self.condensed {
            n.saturating_mul(n.saturating_sub(1)) / 2
        } else {
            n.saturating_mul(m)
        }
    }
    /// The place of the value of pair (i, j).
    #[inline(always)]
    pub fn place(&self, space: &Space, i: usize, j: usize) -> usize {
        if self.condensed {
            space.n * i - i * (i + 1) / 2 + j - i - 1
        } else {
            i * space.m + j
        }
    }
    fn layout(&self) -> Layout {
        if self.condensed {
            Layout::Array(None)
        } else {
            Layout::Matrix
        }
    }
    /// The answer for `n` × `m` rows, whose values are `values`.
    pub fn columns_of<'a>(
        &self,
        values: impl Into<Numbers<'a>>,
        n: usize,
        m: usize,
    ) -> Columns<'a> {
        Columns::new(
            self.layout(),
            self.shape(n, m),
            vec![Column::new("values", Role::Value, values).called("value")],
        )
    }
    /// Whether a value has two places, (i, j) and (j, i).
    pub fn is_mirrored(&self, space: &Space) -> bool {
        !self.condensed && space.is_triangular()
    }
}

impl Accumulate for Dense {
    type State = Written;

    fn traits(&self) -> Traits {
        Traits {
            dense: true,
            rounds: true,
            operations: 1.0,
            ..Traits::default()
        }
    }
    fn domain(&self, symmetric: bool) -> Domain {
        match (self.condensed, symmetric) {
            (true, _) => Domain::Triangle,
            (false, true) => Domain::Diagonal,
            (false, false) => Domain::Square,
        }
    }
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        test(self.root)
    }
    fn start(&self, _: usize, _: usize) -> Written {
        Written
    }
    fn part(&self, _: &Range<usize>) -> Written {
        Written
    }
    fn bytes(&self, _: usize, _: usize) -> u64 {
        0
    }
    fn takes(&self, _: &Written, _: usize, _: usize) -> bool {
        true
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, _: &mut Written, _: &Line<'_, T>, _: Lent<'_>) {}
    fn merge(&self, _: &mut Written, _: Written) {}
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{self:?}"));
    }
    /// The values themselves are where the engine put them; see [`Dense::columns_of`].
    fn columns<'a>(&'a self, _: &'a Written, n: usize, m: usize) -> Columns<'a> {
        Columns::new(self.layout(), self.shape(n, m), vec![])
    }
    fn describe(&self) -> String {
        if self.condensed {
            "the values of i < j in SciPy's order"
        } else {
            "the matrix"
        }
        .into()
    }
}

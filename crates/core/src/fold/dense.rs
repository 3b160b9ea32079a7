//! Keeps every value at its own place: the matrix, or the upper triangle in SciPy's condensed
//! order.
//!
//! Engines write values straight to their places, in memory or in a file, so the fold has no state,
//! and `absorb` does nothing. The place of pair (i, j) in the condensed order of n rows is n·i −
//! i(i + 1)/2 + j − i − 1: the rows before i hold n − 1, n − 2, … values.

use super::roots::Roots;
use super::{
    Accumulate, Bounded, Column, Columns, Layout, Lent, Line, Numbers, Role, Traits, Value,
    ValuedPair,
};
use crate::error::Result;
use crate::hash::Hash;
use crate::space::{Domain, Space};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A fold that keeps every value.
///
/// The elements are in memory, in an `.npy` file, or in an array of the caller; the fold knows only
/// their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dense {
    /// Which root.
    pub root: usize,
    /// SciPy's condensed order of the pairs i < j, instead of a matrix. A matrix over a triangular
    /// domain is mirrored.
    pub condensed: bool,
}

/// The empty state: values are at their places already.
///
/// It exists, since every fold has a state. Checkpoints keep the elements apart (invariant
/// KEPT-TILES).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written;

impl Dense {
    /// The fold of the pair's value, as it is requested.
    ///
    /// # Errors
    /// `Request` for a pair that is a vector.
    pub(super) fn asked(condensed: bool, roots: &Roots<'_>) -> Result<Dense> {
        roots.scalar(if condensed {
            "a condensed matrix"
        } else {
            "a matrix"
        })?;
        Ok(Dense {
            root: roots.value(),
            condensed,
        })
    }
    /// Returns the shape of the result for `n` × `m` rows. Condensed: the number of pairs i < j.
    pub fn shape(&self, n: usize, m: usize) -> Vec<usize> {
        if self.condensed {
            vec![n * n.saturating_sub(1) / 2]
        } else {
            vec![n, m]
        }
    }
    /// Returns the number of elements of the result, saturated: refusals must not overflow.
    pub fn elements(&self, n: usize, m: usize) -> u64 {
        let (n, m) = (n as u64, m as u64);
        // One of two neighbours is even, so the division is exact.
        if self.condensed {
            n.saturating_mul(n.saturating_sub(1)) / 2
        } else {
            n.saturating_mul(m)
        }
    }
    /// Returns the place of the value of pair (i, j). The caller gives a pair of the domain: i < j
    /// in condensed order.
    #[inline(always)]
    pub fn place(&self, space: &Space, i: usize, j: usize) -> usize {
        if self.condensed {
            // In this order no difference is negative for i < j.
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
    /// Returns the answer for `n` × `m` rows from `values`, which the engine holds.
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
    /// Returns whether a value has two places, (i, j) and (j, i). The engine then writes each value
    /// twice, which costs less than computing it again.
    pub fn is_mirrored(&self, space: &Space) -> bool {
        !self.condensed && space.is_triangular()
    }
}

impl Accumulate for Dense {
    type State = Written;

    fn traits(&self) -> Traits {
        Traits {
            // A matrix is written in the precision of the job, so its values may be computed in it.
            dense: true,
            rounds: true,
            operations: 1.0,
            ..Traits::default()
        }
    }
    fn domain(&self, symmetric: bool) -> Domain {
        // The condensed order has the pairs i < j only. A symmetric matrix is computed by half,
        // diagonal included, and mirrored.
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
    /// The planner counts the elements itself, because they may go to a file.
    fn bytes(&self, _: usize, _: usize) -> u64 {
        0
    }
    /// Nothing can be damaged in an empty state. Sums of hashes protect the elements.
    fn takes(&self, _: &Written, _: usize, _: usize) -> bool {
        true
    }
    /// Does nothing: the engine has put the values in their places.
    #[inline(always)]
    fn absorb<T: Value>(&self, _: &mut Written, _: &Line<'_, T>, _: Lent<'_>) {}
    /// The oracle puts the value into its place.
    fn absorb_pair(&self, _: &mut Written, _: &ValuedPair<'_>) {}
    /// Every value has one place, so parts have nothing to add to each other.
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

// Every value is part of the answer, so bounds cannot leave any out.
impl Bounded for Dense {}

//! The tables that a problem is asked of, and their hashes.
//!
//! Tables come apart from the problem, which holds no rows: one problem can be asked of many
//! tables, and a partial result knows its data by their hashes alone.

use crate::hash::Hash;
use crate::problem::{FoldSpec, Input, Problem};
use crate::table::Table;

/// The tables of a problem.
///
/// A clone is cheap, because tables share their elements.
#[derive(Clone, Debug)]
pub struct Data {
    /// The rows called x.
    pub x: Table,
    /// The rows called y, if they are others. `None` is not the same as a copy of x: only pairs of
    /// one table have halves.
    pub y: Option<Table>,
    /// The pairs that are visited, where the question lists them: two columns, the row of x and
    /// that of y, from 0.
    pub pairs: Option<Table>,
    /// For every fold, the weights of the rows of x and of y; the same twice for one input.
    pub weights: Vec<Option<[Table; 2]>>,
}

impl Data {
    /// Returns tables of a question with one fold, without weights or a list of pairs.
    #[doc(hidden)]
    #[must_use]
    pub fn of_tables(x: Table, y: Option<Table>) -> Data {
        Data {
            x,
            y,
            pairs: None,
            weights: vec![None],
        }
    }
    /// Returns the rows of y, or those of x paired with itself.
    #[must_use]
    pub fn other(&self) -> &Table {
        self.y.as_ref().unwrap_or(&self.x)
    }
    /// Returns the inputs of `problem` with the hashes of their data. Weight columns of histograms
    /// belong to the hash of their input; weights of other folds are inputs of their own.
    #[doc(hidden)]
    pub fn hashes<'p>(&self, problem: &'p Problem) -> Vec<(&'p Input, String)> {
        let sides = [
            (Some(&problem.x), Some(&self.x)),
            (problem.y.as_ref(), self.y.as_ref()),
            (problem.pairs.as_ref(), self.pairs.as_ref()),
        ];
        let inputs = sides
            .into_iter()
            .enumerate()
            .filter_map(|(side, (input, table))| {
                // A histogram's weights are columns of its inputs, so they are hashed with these.
                let mut hash = Hash::default();
                hash.table(table?);
                for (fold, weights) in problem.folds.iter().zip(&self.weights) {
                    let weights = weights.as_ref().and_then(|weights| weights.get(side));
                    if let (FoldSpec::Histogram { .. }, Some(weights)) = (fold, weights) {
                        hash.table(weights);
                    }
                }
                Some((input?, hash))
            });
        let weights = problem
            .folds
            .iter()
            .zip(&self.weights)
            .filter_map(|(fold, weights)| {
                let (
                    FoldSpec::Reduce {
                        weights: Some(input),
                        ..
                    },
                    Some([table, _]),
                ) = (fold, weights)
                else {
                    return None;
                };
                let mut hash = Hash::default();
                hash.table(table);
                Some((input, hash))
            });
        inputs
            .chain(weights)
            // All digits of 128 bits, as problem files write them.
            .map(|(input, hash)| (input, format!("{:032x}", hash.finish())))
            .collect()
    }
    /// Returns the larger number of components.
    ///
    /// Formulas over rows of two lengths may name components of the longer one.
    pub(crate) fn widest(&self) -> usize {
        self.x.cols().max(self.other().cols())
    }
    /// Returns the components of a row of x and of y.
    ///
    /// Attributes are not components and not counted.
    pub(crate) fn cols(&self) -> [usize; 2] {
        [self.x.cols(), self.other().cols()]
    }
    /// Returns the names of the columns of x and of y.
    pub(crate) fn names(&self) -> [Option<&[String]>; 2] {
        [self.x.names(), self.other().names()]
    }
    /// Returns the columns of x and of y that are text.
    pub(crate) fn texts(&self) -> [&[usize]; 2] {
        [self.x.texts(), self.other().texts()]
    }
}

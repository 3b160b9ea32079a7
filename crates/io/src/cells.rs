//! Cells of rows that are written while they are found.

use zipfold_core::Words;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Numbers.
    Number,
    /// Whole numbers.
    Whole,
    /// Words.
    Word,
}

/// Cells of one column, of some rows.
#[derive(Clone, Debug)]
pub enum Cells {
    /// Numbers; NaN is a null.
    Numbers(Vec<f64>),
    /// Whole numbers up to 2⁵³; NaN is a null.
    Whole(Vec<f64>),
    /// The words of these rows; a row below 0 and an empty word are nulls.
    Words(Words, Vec<i64>),
}

impl Cells {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        match self {
            Cells::Numbers(values) | Cells::Whole(values) => values.len(),
            Cells::Words(_, rows) => rows.len(),
        }
    }
    /// Returns what they are.
    pub fn kind(&self) -> CellKind {
        match self {
            Cells::Numbers(_) => CellKind::Number,
            Cells::Whole(_) => CellKind::Whole,
            Cells::Words(..) => CellKind::Word,
        }
    }
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the word of cell `at`; empty where there is none.
    pub fn word(&self, at: usize) -> &str {
        match self {
            Cells::Words(words, rows) => usize::try_from(rows[at]).map_or("", |r| words.get(r)),
            Cells::Numbers(_) | Cells::Whole(_) => "",
        }
    }
    /// Appends the text of cell `at`, which is empty for a null.
    pub fn show(&self, at: usize, out: &mut String) {
        use std::fmt::Write as _;
        let written = match self {
            Cells::Numbers(values) if values[at].is_nan() => Ok(()),
            Cells::Whole(values) if values[at].is_nan() => Ok(()),
            Cells::Numbers(values) => write!(out, "{:?}", values[at]),
            Cells::Whole(values) => write!(out, "{}", values[at] as i64),
            Cells::Words(..) => write!(out, "{}", self.word(at)),
        };
        // INVARIANT: writing to a text in memory does not fail.
        debug_assert!(written.is_ok(), "a text in memory");
    }
}

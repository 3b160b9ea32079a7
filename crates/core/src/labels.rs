//! Words that name the rows of a table: identifiers, gene names, labels. Distances leave them out;
//! results carry them.
//!
//! The words of a column are one buffer of letters with the end of each word, so that a million
//! names are two allocations.

use crate::buffer::Buffer;
use std::sync::Arc;

/// The words of one column.
///
/// Clones share both buffers.
#[derive(Clone, Debug)]
pub struct Words {
    /// Name of the column.
    pub name: String,
    /// Whether they are text to formulas, and not numbers that only name rows.
    pub text: bool,
    letters: Buffer<u8>,
    ends: Buffer<u64>,
}

impl Words {
    /// Returns the column `name`: the word of row r is `text` from the end of row r − 1 to
    /// `ends[r]`. Ends beyond the text are taken as its end.
    pub fn new(name: String, text: Buffer<u8>, ends: Buffer<u64>) -> Self {
        Words {
            name,
            text: true,
            letters: text,
            ends,
        }
    }
    /// The same words, which are numbers that name rows.
    #[must_use]
    pub fn of_numbers(self) -> Self {
        Words {
            text: false,
            ..self
        }
    }
    /// A column of given words.
    pub fn from_words<'w>(name: &str, words: impl IntoIterator<Item = &'w str>) -> Self {
        let (mut text, mut ends) = (vec![], vec![]);
        for word in words {
            text.extend_from_slice(word.as_bytes());
            ends.push(text.len() as u64);
        }
        Words::new(name.into(), text.into(), ends.into())
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }
    /// Returns the word of `row`; empty if it has none.
    pub fn get(&self, row: usize) -> &str {
        // Ends of a damaged file may be anything; the result is then empty and nothing panics.
        let end = |r: usize| {
            self.ends
                .get(r)
                .map_or(0, |e| (*e as usize).min(self.letters.len()))
        };
        let from = if row == 0 { 0 } else { end(row - 1) };
        self.letters
            .get(from..end(row))
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or("")
    }
}

/// The columns of words of a table, all of as many rows.
///
/// Never empty: a table without labels has none of this type.
#[derive(Clone, Debug)]
pub struct Labels(Arc<[Words]>);

impl Labels {
    /// Those columns, of which there is at least one.
    pub fn new(columns: Vec<Words>) -> Option<Self> {
        if columns.is_empty() {
            None
        } else {
            Some(Labels(columns.into()))
        }
    }
    /// The columns.
    pub fn columns(&self) -> &[Words] {
        &self.0
    }
    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|w| w.name.as_str())
    }
    /// Returns the column that names rows best: the first.
    pub fn first(&self) -> &Words {
        // INVARIANT: `new` refuses to make labels of no columns.
        &self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let words = Words::from_words("city", ["Paris", "", "Łódź"]);
        assert_eq!(
            (
                words.rows(),
                words.get(0),
                words.get(1),
                words.get(2),
                words.get(3)
            ),
            (3, "Paris", "", "Łódź", "")
        );
        assert_eq!(
            Labels::new(vec![words])
                .unwrap()
                .names()
                .collect::<Vec<_>>(),
            ["city"]
        );
        assert!(Labels::new(vec![]).is_none());
    }
}

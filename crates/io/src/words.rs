//! A column of words that grows as it is read.

use crate::growing::Growing;
use zipfold_core::{Budget, Buffer, Labels, Result, Words};

/// Words of the rows read so far.
pub(crate) struct WordColumn {
    name: String,
    /// Whether some word is not a number.
    is_text: bool,
    text: Growing<u8>,
    ends: Growing<u64>,
}

impl WordColumn {
    /// An empty one, for the words of the column `name` of `file`.
    pub(crate) fn new(name: String, file: &str, budget: &Budget) -> Self {
        let purpose = format!("the words of {file}");
        WordColumn {
            name,
            is_text: false,
            text: Growing::new(budget, purpose.clone()),
            ends: Growing::new(budget, purpose),
        }
    }
    /// The same column, whose words are text also where all of them are numbers.
    pub(crate) fn of_words(mut self, words: bool) -> Self {
        self.is_text |= words;
        self
    }
    /// The word of the next row.
    #[cfg(feature = "parquet")]
    pub(crate) fn push(&mut self, word: &str) -> Result<()> {
        self.is_text = true;
        self.append(word)
    }
    fn append(&mut self, word: &str) -> Result<()> {
        self.text.extend(word.as_bytes())?;
        self.ends.push(self.text.len() as u64)
    }
    /// The word of the next row, which may be written as a number.
    pub(crate) fn push_cell(&mut self, word: &str, number: bool) -> Result<()> {
        self.is_text |= !number;
        self.append(word)
    }
    /// A number as the word of the next row; nothing where it is missing.
    #[cfg(feature = "parquet")]
    pub(crate) fn push_number(&mut self, number: f64) -> Result<()> {
        if number.is_nan() {
            self.append("")
        } else {
            self.append(&number.to_string())
        }
    }
    /// All columns, when every row is read.
    pub(crate) fn finish(all: Vec<Self>) -> Result<Option<Labels>> {
        let one = |c: WordColumn| {
            let words = Words::new(
                c.name,
                Buffer::new(c.text.finish()?),
                Buffer::new(c.ends.finish()?),
            );
            Ok(if c.is_text { words } else { words.of_numbers() })
        };
        Ok(Labels::new(
            all.into_iter().map(one).collect::<Result<_>>()?,
        ))
    }
}

/// Names of the components of a row, where some columns hold lists: `embedding[0]`, `embedding[1]`,
/// …
#[cfg(feature = "parquet")]
pub(crate) fn spread_names(columns: impl Iterator<Item = (String, Option<usize>)>) -> Vec<String> {
    let all = |(name, width): (String, Option<usize>)| match width {
        None => vec![name],
        Some(width) => (0..width).map(|k| format!("{name}[{k}]")).collect(),
    };
    columns.flat_map(all).collect()
}

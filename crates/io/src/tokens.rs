//! Words of a text with their places, for the formats that are lists of numbers.

use zipfold_core::{Error, Result};

/// Words between white space, one after another, with the line of each; a word that begins with `#`
/// starts a comment to the end of its line.
#[derive(Debug)]
pub struct Tokens<'a> {
    rest: std::str::SplitAsciiWhitespace<'a>,
    text: &'a str,
    last: usize,
}

impl<'a> Tokens<'a> {
    /// The words of `text`.
    pub fn new(text: &'a str) -> Self {
        Tokens {
            rest: text.split_ascii_whitespace(),
            text,
            last: 0,
        }
    }
    /// Where the last word is.
    pub fn place(&self) -> String {
        let line = self.text.as_bytes()[..self.last.min(self.text.len())]
            .iter()
            .filter(|b| **b == b'\n')
            .count()
            + 1;
        format!("line {line}, byte {}", self.last)
    }
    /// The next word.
    ///
    /// # Errors
    /// `Input` at the end of the text; `what` says what was expected.
    pub fn word(&mut self, what: &str) -> Result<&'a str> {
        while let Some(word) = self.rest.next() {
            self.last = word.as_ptr() as usize - self.text.as_ptr() as usize;
            if !word.starts_with('#') {
                return Ok(word);
            }
            let comment = &self.text[self.last..];
            let end = comment.find('\n').unwrap_or(comment.len());
            self.rest = comment[end..].split_ascii_whitespace();
        }
        Err(
            Error::input(format!("the text ends where {what} should stand"))
                .at_place(format!("byte {}", self.text.len())),
        )
    }
    /// The next word as a whole number of at least 0.
    ///
    /// # Errors
    /// `Input` at the end, or when the word is none.
    pub fn count(&mut self, what: &str) -> Result<usize> {
        let word = self.word(what)?;
        word.parse().map_err(|_| {
            Error::input(format!("expected {what}, got '{}'", short(word))).at_place(self.place())
        })
    }
    /// The next word as a number.
    ///
    /// # Errors
    /// As [`Tokens::count`].
    pub fn number(&mut self, what: &str) -> Result<f64> {
        let word = self.word(what)?;
        word.parse().map_err(|_| {
            Error::input(format!("expected {what}, got '{}'", short(word))).at_place(self.place())
        })
    }
    /// A count of things that each take at least one more byte of the text, so that it cannot ask
    /// for more memory than the text has.
    ///
    /// # Errors
    /// As [`Tokens::count`], and `Input` when the text is too short for that many.
    pub fn count_of(&mut self, what: &str) -> Result<usize> {
        let n = self.count(what)?;
        let left = (self.text.len() - self.last) / 2 + 1;
        if n > left {
            return Err(
                Error::input(format!("{what} is {n}, but the text ends before that many"))
                    .at_place(self.place())
                    .limit(format!("{left}")),
            );
        }
        Ok(n)
    }
    /// Refuses anything after the end.
    ///
    /// # Errors
    /// `Input` when there is another word.
    pub fn end(&mut self) -> Result<()> {
        match self.word("nothing") {
            Ok(word) => Err(
                Error::input(format!("expected the end, got '{}'", short(word)))
                    .at_place(self.place()),
            ),
            Err(_) => Ok(()),
        }
    }
}

/// Where the comment `/* … */` ends with which `text` begins; none if it does not.
pub(crate) fn end_of_comment(text: &str) -> Option<usize> {
    text.get(2..)?.find("*/").map(|at| at + 4)
}

/// White space in the place of a comment: as many bytes and lines.
pub(crate) fn blank(comment: &str) -> impl Iterator<Item = char> {
    let space = |b| if b == b'\n' { '\n' } else { ' ' };
    comment.bytes().map(space)
}

/// A word for a message.
pub fn short(word: &str) -> String {
    zipfold_core::shown::short(word, 24)
}

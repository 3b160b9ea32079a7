//! Where the parser is: the tokens that are left, what names mean, and the slices around it.

use crate::error::{Error, Result};
use crate::pair::lex::{Token, TokenKind};
use crate::pair::metric::Named;
use crate::pair::scope::Scope;
use crate::pair::tree::{Formula, Id};
use std::ops::Range;

/// The deepest nesting. Each level takes a few stack frames of the parser, so this bounds the
/// stack.
const MAX_DEPTH: usize = 100;

/// The component that is parsed, and the length of the slices around it.
///
/// Saved and restored around each reduction, so that inner and outer slices may differ in length.
#[derive(Clone, Copy, Default)]
pub(super) struct Slices {
    /// The number of the component, counted from the beginning of each slice.
    pub at: u32,
    /// The length of the slices met since the innermost reduction began.
    pub len: Option<u32>,
}

/// The state of parsing one text.
pub(super) struct Parser<'a, 'b> {
    /// Where the nodes go.
    pub formula: &'a mut Formula,
    /// The text, for messages.
    pub text: &'a str,
    /// What the text consists of; the last one is its end.
    pub tokens: Vec<Token>,
    /// The next token. The last token is the end, which is never passed.
    pub at: usize,
    /// What names mean.
    pub scope: &'a Scope<'b>,
    /// Open calls of [`Parser::nested`].
    pub depth: usize,
    /// Tokens read so far. Slices read tokens again for each component, so this bounds their work.
    pub steps: usize,
    /// The names of the two operands, inside the operator of a `reduce`.
    pub bound: Option<[String; 2]>,
    /// The values of these names, while the operator is applied to slices.
    pub operands: Option<[Id; 2]>,
    pub slices: Slices,
    /// Whether the text has a slice anywhere. Parameters of several numbers belong to slices then.
    pub sliced: bool,
    /// Columns of x that hold texts of the formula; see [`Parser::own_text`].
    pub own: Vec<u32>,
    /// Metrics that the formula may call.
    pub metrics: &'static [Named],
}

impl Parser<'_, '_> {
    /// Returns the next token without taking it.
    pub(super) fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }
    /// Where the token at hand is in the text.
    pub(super) fn range(&self) -> Range<usize> {
        self.tokens[self.at].range.clone()
    }
    /// Takes the next token. At the end it returns the end again.
    pub(super) fn bump(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        self.steps += 1;
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }
    /// Takes the next token if it is `symbol`.
    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        let yes = matches!(self.peek(), TokenKind::Symbol(s) if *s == symbol);
        if yes {
            self.bump();
        }
        yes
    }
    /// Takes the next token if it is the name `word`, an operator written as a word.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let yes = matches!(self.peek(), TokenKind::Name(n) if n == word);
        if yes {
            self.bump();
        }
        yes
    }
    /// Takes `symbol` or refuses the text.
    pub(super) fn want(&mut self, symbol: &str) -> Result<()> {
        if self.eat(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{symbol}'")))
        }
    }
    /// The error of a token that does not belong here.
    pub(super) fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.peek() {
            TokenKind::End => "the formula ends".to_string(),
            _ => format!("found '{}'", &self.text[self.range()]),
        };
        self.error(self.range(), format!("{found} where {wanted} should stand"))
    }
    /// An error with its place in the text.
    pub(super) fn error(&self, range: Range<usize>, what: String) -> Error {
        Error::request(what)
            .at_place("formula")
            .span(self.text, range)
    }
    /// Gives an error of the formula the place in the text: from `start` to the token taken last.
    /// The formula knows types and no text. An error that has a place keeps it.
    pub(super) fn place<T>(&self, start: usize, result: Result<T>) -> Result<T> {
        let end = self.tokens[self.at.saturating_sub(1)].range.end;
        result.map_err(|e| {
            if e.span_ref().is_some() {
                e
            } else {
                e.at_least("formula").span(self.text, start..end)
            }
        })
    }
    /// Runs `go` one level deeper, or refuses: every recursion passes through here. After an error
    /// the depth is not restored, since parsing ends.
    pub(super) fn nested<T>(&mut self, go: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let what = "the formula is nested too deeply".to_string();
            return Err(self
                .error(self.range(), what)
                .limit(format!("{MAX_DEPTH} levels")));
        }
        let result = go(self);
        self.depth -= 1;
        result
    }
}

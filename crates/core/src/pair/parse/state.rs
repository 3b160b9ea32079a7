//! Where the parser is: the tokens that are left, what names mean, and the slices around it.

use crate::error::{Error, Result};
use crate::pair::lex::{Token, TokenKind};
use crate::pair::metric::Named;
use crate::pair::scope::Scope;
use crate::pair::tree::{Formula, Id};
use std::ops::Range;

/// The deepest nesting that a formula may have.
const MAX_DEPTH: usize = 100;

/// Where the parser is in the slices around it.
#[derive(Clone, Copy, Default)]
pub(super) struct Slices {
    /// The component at hand, counted from the beginning of each slice.
    pub at: u32,
    /// How long the slices are that were met since the innermost reduction began.
    pub len: Option<u32>,
}

/// A formula of which the tokens before `at` are read.
pub(super) struct Parser<'a, 'b> {
    /// Where the nodes go.
    pub formula: &'a mut Formula,
    /// The text, for messages.
    pub text: &'a str,
    /// What the text consists of; the last one is its end.
    pub tokens: Vec<Token>,
    /// The token at hand.
    pub at: usize,
    /// What names mean.
    pub scope: &'a Scope<'b>,
    /// How deep the parser is in parentheses and operators.
    pub depth: usize,
    /// Tokens that were read, those of slices for each component.
    pub steps: usize,
    /// Names of the operands of a `reduce` around it.
    pub bound: Option<[String; 2]>,
    /// What the names of `bound` stand for, where the operator is applied to slices.
    pub operands: Option<[Id; 2]>,
    pub slices: Slices,
    /// Whether a slice stands anywhere in the formula.
    pub sliced: bool,
    /// Columns of x that hold texts of the formula.
    pub own: Vec<u32>,
    /// Metrics that the formula may call.
    pub metrics: &'static [Named],
}

impl Parser<'_, '_> {
    /// The token at hand.
    pub fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }
    /// Where the token at hand is in the text.
    pub fn range(&self) -> Range<usize> {
        self.tokens[self.at].range.clone()
    }
    /// Takes the token at hand; the end is taken again and again.
    pub fn bump(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        self.steps += 1;
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }
    /// Takes the token at hand if it is `symbol`.
    pub fn eat(&mut self, symbol: &str) -> bool {
        let yes = matches!(self.peek(), TokenKind::Symbol(s) if *s == symbol);
        if yes {
            self.bump();
        }
        yes
    }
    /// Takes the token at hand if it is the name `word`.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let yes = matches!(self.peek(), TokenKind::Name(n) if n == word);
        if yes {
            self.bump();
        }
        yes
    }
    /// Takes `symbol`, or refuses what is there.
    pub fn want(&mut self, symbol: &str) -> Result<()> {
        if self.eat(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{symbol}'")))
        }
    }
    /// An error that says what is there, and what was `wanted`.
    pub fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.peek() {
            TokenKind::End => "the formula ends".to_string(),
            _ => format!("found '{}'", &self.text[self.range()]),
        };
        self.error(self.range(), format!("{found} where {wanted} should stand"))
    }
    /// An error at a place of the text.
    pub fn error(&self, range: Range<usize>, what: String) -> Error {
        Error::request(what).at("formula").span(self.text, range)
    }
    /// Gives an error of the tree the place in the text.
    pub fn place<T>(&self, start: usize, result: Result<T>) -> Result<T> {
        let end = self.tokens[self.at.saturating_sub(1)].range.end;
        result.map_err(|e| {
            if e.span_ref().is_some() {
                e
            } else {
                e.at_least("formula").span(self.text, start..end)
            }
        })
    }
    /// Goes one level deeper for the time of `go`. The limit of depth keeps the stack bounded.
    pub fn nested<T>(&mut self, go: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
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

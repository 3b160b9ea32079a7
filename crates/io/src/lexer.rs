//! Words, quoted strings, numbers and signs of the network languages, with C and C++ comments.

use crate::tokens::short;
use zipfold_core::budget::Tab;
use zipfold_core::{Budget, Error, Result};

/// One token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    /// A bare word or number.
    Word(&'a str),
    /// A quoted string, without its quotes.
    Quoted(&'a str),
    /// One of `{ } ( ) [ ] | , ; =`.
    Sign(&'a str),
}

/// Splits a text into tokens.
#[derive(Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// What each byte is.
    kinds: &'static [ByteKind; 256],
    /// Whether `%` starts a comment.
    percent: bool,
    /// What lists of names and numbers take.
    tab: Tab,
}

/// Bytes of a name in a list next to its letters, and of a number, while lists grow.
const NAME: u64 = 72;
const NUMBER: u64 = 16;
/// Parentheses of a table inside each other: more than any table has parents.
const DEEPEST: usize = 1024;

/// What a byte is outside strings and comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteKind {
    Space,
    Sign,
    Quote,
    Word,
}

/// The kinds of all bytes where `signs` stand for themselves.
const fn kinds(signs: &[u8]) -> [ByteKind; 256] {
    let mut out = [ByteKind::Word; 256];
    let mut at = 0;
    while at < 256 {
        if (at as u8).is_ascii_whitespace() || at == 0x0b {
            out[at] = ByteKind::Space;
        }
        at += 1;
    }
    at = 0;
    while at < signs.len() {
        out[signs[at] as usize] = ByteKind::Sign;
        at += 1;
    }
    out[b'"' as usize] = ByteKind::Quote;
    out
}

static BIF: [ByteKind; 256] = kinds(b"{}()[]|,;");
static HUGIN: [ByteKind; 256] = kinds(b"{}()[]|,;=");

impl<'a> Lexer<'a> {
    /// The tokens of a BIF `text`, in whose names `=` and `%` may stand.
    pub fn bif(text: &'a str, budget: &Budget) -> Self {
        Lexer {
            text,
            at: 0,
            kinds: &BIF,
            percent: false,
            tab: budget.tab("the network"),
        }
    }
    /// The tokens of a Hugin `text`, where `%` starts a comment.
    pub fn hugin(text: &'a str, budget: &Budget) -> Self {
        Lexer {
            text,
            at: 0,
            kinds: &HUGIN,
            percent: true,
            tab: budget.tab("the network"),
        }
    }
    /// Where reading is.
    pub fn place(&self) -> String {
        let line = self.text.as_bytes()[..self.at]
            .iter()
            .filter(|b| **b == b'\n')
            .count()
            + 1;
        format!("line {line}, byte {}", self.at)
    }
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
    fn skip(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        loop {
            while self.at < bytes.len()
                && self.kinds[usize::from(bytes[self.at])] == ByteKind::Space
            {
                self.at += 1;
            }
            let comment = match bytes[self.at..] {
                [b'/', b'*', ..] => {
                    let end = self.rest().find("*/");
                    end.ok_or_else(|| {
                        Error::input("a comment does not end").at_place(self.place())
                    })? + 2
                }
                [b'/', b'/', ..] => self.line(),
                [b'%', ..] if self.percent => self.line(),
                _ => return Ok(()),
            };
            self.at += comment;
        }
    }
    /// Bytes to the end of the line.
    fn line(&self) -> usize {
        let rest = self.rest();
        rest.find('\n').unwrap_or(rest.len())
    }
    /// The next token, or `None` at the end.
    ///
    /// # Errors
    /// `Input` for a comment or string that does not end.
    #[expect(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<Token<'a>>> {
        self.skip()?;
        let rest = self.rest();
        let Some(first) = rest.as_bytes().first() else {
            return Ok(None);
        };
        match self.kinds[usize::from(*first)] {
            ByteKind::Sign => {
                self.at += 1;
                Ok(Some(Token::Sign(&rest[..1])))
            }
            ByteKind::Quote => {
                let end = rest[1..].find('"');
                let end = end
                    .ok_or_else(|| Error::input("a string does not end").at_place(self.place()))?;
                self.at += end + 2;
                Ok(Some(Token::Quoted(&rest[1..end + 1])))
            }
            // A word ends before an ASCII byte or at the end, so at a character's boundary.
            _ => {
                let end = rest
                    .bytes()
                    .position(|b| self.kinds[usize::from(b)] != ByteKind::Word);
                let len = end.unwrap_or(rest.len());
                self.at += len;
                Ok(Some(Token::Word(&rest[..len])))
            }
        }
    }
    /// The next token; the end is an error.
    ///
    /// # Errors
    /// `Input`.
    pub fn some(&mut self) -> Result<Token<'a>> {
        self.next()?
            .ok_or_else(|| Error::input("the text ends too early").at_place(self.place()))
    }
    /// What to say about a token that does not belong.
    pub fn unexpected(&self, token: Token<'_>, wanted: &str) -> Error {
        let (Token::Word(s) | Token::Quoted(s) | Token::Sign(s)) = token;
        Error::input(format!("expected {wanted}, got '{}'", short(s))).at_place(self.place())
    }
    /// Takes the sign `want`.
    ///
    /// # Errors
    /// `Input` when something else is there.
    pub fn expect(&mut self, want: &str) -> Result<()> {
        match self.some()? {
            Token::Sign(s) if s == want => Ok(()),
            other => Err(self.unexpected(other, want)),
        }
    }
    /// Takes the word `want`.
    ///
    /// # Errors
    /// As [`Lexer::expect`].
    pub fn expect_word(&mut self, want: &str) -> Result<()> {
        match self.some()? {
            Token::Word(s) if s == want => Ok(()),
            other => Err(self.unexpected(other, want)),
        }
    }
    /// A name, bare or quoted.
    ///
    /// # Errors
    /// `Input` when a sign is there.
    pub fn name(&mut self) -> Result<&'a str> {
        match self.some()? {
            Token::Word(s) | Token::Quoted(s) => Ok(s),
            other => Err(self.unexpected(other, "a name")),
        }
    }
    /// A whole number.
    ///
    /// # Errors
    /// `Input` when there is none.
    pub fn count(&mut self) -> Result<usize> {
        let name = self.name()?;
        name.parse().map_err(|_| {
            Error::input(format!("expected a whole number, got '{}'", short(name)))
                .at_place(self.place())
        })
    }
    /// Names, separated by commas or white space, up to the sign `end`.
    ///
    /// # Errors
    /// `Input` when another sign is among them.
    pub fn names_until(&mut self, end: &str) -> Result<Vec<String>> {
        let mut out = Vec::new();
        loop {
            match self.some()? {
                Token::Sign(s) if s == end => return Ok(out),
                Token::Sign(",") => {}
                Token::Word(s) | Token::Quoted(s) => {
                    self.tab.add(NAME + s.len() as u64)?;
                    out.push(s.to_string());
                }
                other => return Err(self.unexpected(other, "a name")),
            }
        }
    }
    /// Numbers up to the sign `end`.
    ///
    /// # Errors
    /// `Input` when something else is among them.
    pub fn numbers_until(&mut self, end: &str) -> Result<Vec<f64>> {
        let mut out = Vec::new();
        loop {
            match self.some()? {
                Token::Sign(s) if s == end => return Ok(out),
                Token::Sign(",") => {}
                Token::Word(s) => out.push(self.number(s)?),
                other => return Err(self.unexpected(other, "a number")),
            }
        }
    }
    /// The number that `word` says, for a list.
    fn number(&mut self, word: &str) -> Result<f64> {
        self.tab.add(NUMBER)?;
        word.parse()
            .map_err(|_| self.unexpected(Token::Word(word), "a number"))
    }
    /// Numbers in nested parentheses up to the semicolon.
    ///
    /// # Errors
    /// `Input` when something else is among them, or the parentheses do not match.
    pub fn nested_numbers(&mut self) -> Result<Vec<f64>> {
        let mut out = Vec::new();
        let mut depth = 0usize;
        let unmatched = |lex: &Self, sign| {
            Err(Error::input(format!("'{sign}' without its partner")).at_place(lex.place()))
        };
        loop {
            match self.some()? {
                Token::Sign(";") if depth > 0 => return unmatched(self, "("),
                Token::Sign(";") => return Ok(out),
                Token::Sign("(") => depth += 1,
                Token::Sign(")") if depth == 0 => return unmatched(self, ")"),
                Token::Sign(")") => depth -= 1,
                Token::Sign(",") => {}
                Token::Word(s) => out.push(self.number(s)?),
                other => return Err(self.unexpected(other, "a number")),
            }
            if depth > DEEPEST {
                return Err(Error::input("parentheses are nested too deep")
                    .at_place(self.place())
                    .limit(DEEPEST.to_string()));
            }
        }
    }
    /// `( CHILD | A, B )`, the parents left out if there are none.
    ///
    /// # Errors
    /// `Input` when something else is there.
    pub fn family(&mut self) -> Result<(String, Vec<String>)> {
        self.expect("(")?;
        let child = self.name()?.to_string();
        match self.some()? {
            Token::Sign(")") => Ok((child, Vec::new())),
            Token::Sign("|") => Ok((child, self.names_until(")")?)),
            other => Err(self.unexpected(other, "| or )")),
        }
    }
    /// Skips to the sign `end`, which is taken.
    ///
    /// # Errors
    /// `Input` when it never comes.
    pub fn until(&mut self, end: &str) -> Result<()> {
        while self.some()?
            != Token::Sign(match end {
                "{" => "{",
                ";" => ";",
                _ => "}",
            })
        {}
        Ok(())
    }
    /// Skips a block whose opening brace was taken.
    ///
    /// # Errors
    /// `Input` when it does not end.
    pub fn block(&mut self) -> Result<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.some()? {
                Token::Sign("{") => depth += 1,
                Token::Sign("}") => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }
}

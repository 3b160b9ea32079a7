//! Splits the text of a formula into tokens, and answers two questions about a text before it is
//! parsed: which columns it names, and which functions it calls.
//!
//! `abs(x.a) <= 1e-3` has the tokens `abs ( x . a ) <= 1e-3` and the end. Tokens keep their bytes
//! in the text, from which errors underline the place.
//!
//! The lexer knows no grammar. Whether a name is a function, a row or a parameter depends on its
//! neighbours and on the [`Scope`](super::scope::Scope), which the parser has.

use super::tree::Side;
use crate::error::{Error, Result};
use std::ops::Range;

/// What a token is.
///
/// Words such as `and` are names here: a column may be called so, and `x.and` must be allowed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
    /// A text between quotes.
    Text(String),
    /// An operator or bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// A token and the bytes that it takes in the text.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its bytes.
    pub range: Range<usize>,
}

/// All symbols. Longer ones come first, so that `<=` is not read as `<` and `=`.
const SYMBOLS: &[&str] = &[
    "**", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "^", "<", ">", "(", ")", "[",
    "]", ",", ".", "|", "!", ":", "&",
];

/// Returns the tokens of `text`. The last one is [`TokenKind::End`], so the parser never runs off
/// the list.
///
/// # Errors
/// `Request` at the first character that belongs to no token.
pub(crate) fn lex(text: &str) -> Result<Vec<Token>> {
    let mut tokens = vec![];
    let mut at = 0;
    // By characters, not bytes: a place within a character would make a slice of the text panic.
    while let Some(c) = text[at..].chars().next() {
        let next = if c.is_whitespace() {
            at + c.len_utf8()
        } else {
            let token = token(text, at, c)?;
            let end = token.range.end;
            tokens.push(token);
            end
        };
        at = next;
    }
    tokens.push(Token {
        kind: TokenKind::End,
        range: at..at,
    });
    Ok(tokens)
}

/// Reads the token that begins at byte `at` with the character `c`. A dot begins a number only
/// before a digit; otherwise it is the dot of `x.name`.
fn token(text: &str, at: usize, c: char) -> Result<Token> {
    let rest = &text[at..];
    // `.5` is a number, `x.5` is a dot and a number, which the parser refuses.
    let digit_after_dot = || rest[1..].starts_with(|d: char| d.is_ascii_digit());
    if c.is_ascii_digit() || (c == '.' && digit_after_dot()) {
        return number(text, at);
    }
    // Names may have letters of any script: columns of files do.
    if c.is_alphabetic() || c == '_' {
        let len = rest
            .find(|d: char| !(d.is_alphanumeric() || d == '_'))
            .unwrap_or(rest.len());
        return Ok(Token {
            kind: TokenKind::Name(rest[..len].to_string()),
            range: at..at + len,
        });
    }
    match SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
        Some(s) => Ok(Token {
            kind: TokenKind::Symbol(s),
            range: at..at + s.len(),
        }),
        None => {
            if matches!(c, '\'' | '"') {
                return quoted(text, at, c);
            }
            // `=` is the commonest slip, and has an answer of its own.
            let remedy = if c == '=' {
                "'==' compares"
            } else {
                "letters, digits and + - * / ^ ( ) [ ] < > = ! . ,"
            };
            let e = Error::request(format!("'{c}' means nothing here")).at_place("formula");
            Err(e.span(text, at..at + c.len_utf8()).remedy(remedy))
        }
    }
}

/// Reads a text from one quote to the next of its kind. There are no escapes: a text with one kind
/// of quote goes between the other.
///
/// Both kinds of quotes are allowed, because a shell takes one of them.
fn quoted(text: &str, at: usize, quote: char) -> Result<Token> {
    let error =
        |what: &str, end: usize| Error::request(what).at_place("formula").span(text, at..end);
    match text[at + 1..].find(quote) {
        None => {
            Err(error("this text does not end", text.len()).remedy("close it with a second quote"))
        }
        Some(len) => {
            let kind = TokenKind::Text(text[at + 1..at + 1 + len].to_string());
            Ok(Token {
                kind,
                range: at..at + 2 + len,
            })
        }
    }
}

/// Returns the columns that a formula reads by name (`x.mass`), with their sides, and the texts
/// that it holds. Readers load these columns before the formula is parsed. A text without meaning
/// has none here: the parser reports the error.
///
/// A reader of a file with a thousand columns then loads three of them. Tokens suffice for that: a
/// name after a dot can be nothing but a column.
pub(crate) fn named_columns(text: &str) -> (Vec<(Side, String)>, Vec<String>) {
    let (mut columns, mut texts) = (vec![], vec![]);
    let tokens = lex(text).unwrap_or_default();
    for (at, token) in tokens.iter().enumerate() {
        // Three tokens in a row: a row, a dot, a name.
        match (
            &token.kind,
            tokens.get(at + 1).map(|t| &t.kind),
            tokens.get(at + 2).map(|t| &t.kind),
        ) {
            (TokenKind::Name(row), Some(TokenKind::Symbol(".")), Some(TokenKind::Name(column)))
                if row == "x" || row == "y" =>
            {
                columns.push((if row == "x" { Side::X } else { Side::Y }, column.clone()));
            }
            // An empty text is a missing one in a file.
            (TokenKind::Text(text), ..) if !text.is_empty() => texts.push(text.clone()),
            _ => {}
        }
    }
    (columns, texts)
}

/// Returns the names that a formula calls as functions: a name before a parenthesis. A metric with
/// a preparation must be known before tables are read and rows are parsed.
pub(crate) fn called(text: &str) -> Vec<String> {
    let tokens = lex(text).unwrap_or_default();
    let call = |pair: &[Token]| match (&pair[0].kind, &pair[1].kind) {
        (TokenKind::Name(name), TokenKind::Symbol("(")) => Some(name.clone()),
        _ => None,
    };
    tokens.windows(2).filter_map(call).collect()
}

/// Returns whether a formula reads `name` as a value: neither as a column nor as a function.
pub(crate) fn reads_name(text: &str, name: &str) -> bool {
    let tokens = lex(text).unwrap_or_default();
    let symbol = |at: Option<&Token>, which: &'static str| {
        at.is_some_and(|token| token.kind == TokenKind::Symbol(which))
    };
    tokens.iter().enumerate().any(|(at, token)| {
        token.kind == TokenKind::Name(name.to_string())
            && !symbol(tokens.get(at + 1), "(")
            && !(at > 0 && symbol(tokens.get(at - 1), "."))
    })
}

/// Reads a number: digits, a dot and digits, an exponent. An `e` without digits behind it is left
/// for the next token, so that `2e` is refused as `2` and `e`.
fn number(text: &str, at: usize) -> Result<Token> {
    let bytes = text.as_bytes();
    let mut end = at;
    let digits = |mut p: usize| {
        while p < bytes.len() && bytes[p].is_ascii_digit() {
            p += 1;
        }
        p
    };
    end = digits(end);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        // A sign belongs to the exponent only if digits follow it.
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    // Correctly rounded, so a number of a formula is the f64 nearest to its text.
    match text[at..end].parse::<f64>() {
        Ok(v) => Ok(Token {
            kind: TokenKind::Number(v),
            range: at..end,
        }),
        Err(_) => Err(Error::request("not a number")
            .at_place("formula")
            .span(text, at..end)),
    }
}

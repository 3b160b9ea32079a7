//! Hugin NET: `node X { states = (…); }` and `potential ( X | A B ) { data = ((…)(…)); }`.

use crate::bayes::Draft;
use crate::lexer::{Lexer, Token};
use zipfold_core::factor::Network;
use zipfold_core::{Budget, Error, Result};

/// Reads the text of a `.net` file. Numbers of `data` run with the child fastest and the last
/// parent next.
///
/// # Errors
/// `Input`, with the line, for everything that the format does not allow.
pub fn parse(text: &str, budget: &Budget) -> Result<Network> {
    Draft::read(
        Lexer::hugin(text, budget),
        budget,
        |lex, draft, token| match token {
            Token::Word("net" | "class") => {
                lex.until("{")?;
                lex.block()
            }
            Token::Word("node") => node(lex, draft),
            Token::Word("discrete") => {
                lex.expect_word("node")?;
                node(lex, draft)
            }
            Token::Word("potential") => potential(lex, draft),
            other => Err(lex.unexpected(other, "net, node or potential")),
        },
    )
}

fn node(lex: &mut Lexer<'_>, draft: &mut Draft) -> Result<()> {
    let name = lex.name()?.to_string();
    lex.expect("{")?;
    let mut states = None;
    loop {
        match lex.some()? {
            Token::Sign("}") => break,
            Token::Word("states") => {
                lex.expect("=")?;
                lex.expect("(")?;
                states = Some(lex.names_until(")")?);
                lex.expect(";")?;
            }
            Token::Word(_) => lex.until(";")?,
            other => return Err(lex.unexpected(other, "a field")),
        }
    }
    let states = states.ok_or_else(|| Error::input(format!("node '{name}' has no states")))?;
    draft.variable(name, states)
}

fn potential(lex: &mut Lexer<'_>, draft: &mut Draft) -> Result<()> {
    let (child, parents) = lex.family()?;
    let mut table = draft.table(&child, &parents)?;
    lex.expect("{")?;
    loop {
        match lex.some()? {
            Token::Sign("}") => break,
            Token::Word("data") => {
                lex.expect("=")?;
                table.child_fastest(lex.nested_numbers()?)?;
            }
            Token::Word(_) => lex.until(";")?,
            other => return Err(lex.unexpected(other, "data")),
        }
    }
    draft.add(table)
}

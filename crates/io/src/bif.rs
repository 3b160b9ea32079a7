//! BIF, the interchange format of Bayesian networks, as bnlearn and pgmpy publish it.

use crate::bayes::Draft;
use crate::lexer::{Lexer, Token};
use zipfold_core::factor::Network;
use zipfold_core::{Budget, Error, Result};

/// Reads the text of a `.bif` file.
///
/// # Errors
/// `Input`, with the line, for everything that the format does not allow.
pub fn parse(text: &str, budget: &Budget) -> Result<Network> {
    Draft::read(
        Lexer::bif(text, budget),
        budget,
        |lex, draft, token| match token {
            Token::Word("network") => {
                lex.until("{")?;
                lex.block()
            }
            Token::Word("variable") => variable(lex, draft),
            Token::Word("probability") => probability(lex, draft),
            other => Err(lex.unexpected(other, "network, variable or probability")),
        },
    )
}

/// `variable NAME { type discrete [ k ] { a, b, … }; property …; }`
fn variable(lex: &mut Lexer<'_>, draft: &mut Draft) -> Result<()> {
    let name = lex.name()?.to_string();
    lex.expect("{")?;
    let mut states = None;
    loop {
        match lex.some()? {
            Token::Sign("}") => break,
            Token::Word("type") => {
                lex.expect_word("discrete")?;
                lex.expect("[")?;
                let many: usize = lex.count()?;
                lex.expect("]")?;
                lex.expect("{")?;
                let list = lex.names_until("}")?;
                if list.len() != many {
                    return Err(Error::input(format!(
                        "variable '{name}' declares {many} states and names {}",
                        list.len()
                    )));
                }
                states = Some(list);
            }
            Token::Word("property") => lex.until(";")?,
            Token::Sign(";") => {}
            other => return Err(lex.unexpected(other, "type or property")),
        }
    }
    let states = states.ok_or_else(|| Error::input(format!("variable '{name}' has no type")))?;
    draft.variable(name, states)
}

/// `probability ( CHILD | A, B ) { (a, b) p, q; … }`, or `table p, q, …;`, or `default p, q;`
fn probability(lex: &mut Lexer<'_>, draft: &mut Draft) -> Result<()> {
    let (child, parents) = lex.family()?;
    let mut table = draft.table(&child, &parents)?;
    lex.expect("{")?;
    loop {
        match lex.some()? {
            Token::Sign("}") => break,
            Token::Word("table") => table.child_slowest(lex.numbers_until(";")?)?,
            Token::Word("default") => table.default_row(lex.numbers_until(";")?)?,
            Token::Word("property") => lex.until(";")?,
            Token::Sign("(") => {
                let states = lex.names_until(")")?;
                let numbers = lex.numbers_until(";")?;
                table.row(draft, &states, numbers)?;
            }
            other => return Err(lex.unexpected(other, "table, default or a row")),
        }
    }
    draft.add(table)
}

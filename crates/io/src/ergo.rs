//! Ergo networks (`.erg`) of the UAI evaluations of 2006 and 2008: domains, parents, tables, names.

use crate::tokens::Tokens;
use crate::uai::{domains, values};
use zipfold_core::factor::{Kind, Names, Network};
use zipfold_core::{Error, Result};

/// Reads the text of an `.erg` file. C-style comments may stand anywhere.
///
/// # Errors
/// `Input`, with the line, for everything that the format does not allow.
pub fn parse(text: &str) -> Result<Network> {
    let (body, sections) = split_comments(text)?;
    let mut t = Tokens::new(&body);
    let cards = domains(&mut t)?;
    let mut scopes = Vec::with_capacity(cards.len());
    for v in 0..cards.len() {
        let many = t.count_of("the number of parents")?;
        let mut scope = (0..many).map(|_| t.count("a parent")).collect::<Result<Vec<_>>>()?;
        scope.push(v);
        zipfold_core::factor::table::check_scope(&scope, &cards)
            .map_err(|e| e.at_least(format!("parents of variable {v}, {}", t.place())))?;
        scopes.push(scope);
    }
    let mut factors = Vec::with_capacity(cards.len());
    for (v, scope) in scopes.into_iter().enumerate() {
        factors.push(
            values(&mut t, scope, &cards).map_err(|e| e.at_least(format!("table of variable {v}, {}", t.place())))?,
        );
    }
    let network = Network::new(Kind::Bayes, cards, factors)?;
    match names(&mut t, network.cards(), sections) {
        Some(names) => network.with_names(names),
        None => Ok(network),
    }
}

/// The text with comments blanked (places stay right), and whether it had any.
fn split_comments(text: &str) -> Result<(String, bool)> {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut any) = (text, false);
    while let Some(at) = rest.find("/*") {
        any = true;
        out.push_str(&rest[..at]);
        let Some(end) = rest[at..].find("*/") else {
            return Err(Error::input("a comment does not end").at(format!("byte {}", text.len() - rest.len() + at)));
        };
        out.extend(rest[at..at + end + 2].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[at + end + 2..];
    }
    out.push_str(rest);
    Ok((out, any))
}

/// Names of variables, then of states, where the file gives both and they are usable; without them numbers serve.
fn names(t: &mut Tokens<'_>, cards: &[usize], _sections: bool) -> Option<Names> {
    let mut take =
        |many: usize| (0..many).map(|_| t.word("a name").ok().map(str::to_string)).collect::<Option<Vec<_>>>();
    let variables = take(cards.len())?;
    let states = cards.iter().map(|c| take(*c)).collect::<Option<Vec<_>>>()?;
    let unique = |names: &[String]| names.iter().collect::<std::collections::HashSet<_>>().len() == names.len();
    (unique(&variables) && states.iter().all(|s| unique(s))).then_some(Names { variables, states })
}

//! Ergo networks (`.erg`) of the UAI evaluations of 2006 and 2008: domains, parents, tables, names.

use crate::tokens::{Tokens, blank, end_of_comment};
use crate::uai::{domains, scope, values};
use zipfold_core::budget::Tab;
use zipfold_core::factor::{Kind, Names, Network};
use zipfold_core::{Budget, Error, Result};

/// Reads the text of an `.erg` file. C-style comments may stand anywhere.
///
/// # Errors
/// `Input`, with the line, for everything that the format does not allow.
pub fn parse(text: &str, budget: &Budget) -> Result<Network> {
    let mut tab = budget.tab("the network");
    tab.add(text.len() as u64)?;
    let (body, sections) = split_comments(text)?;
    let mut t = Tokens::new(&body);
    let cards = domains(&mut t, &mut tab)?;
    let mut scopes = Vec::with_capacity(cards.len());
    for v in 0..cards.len() {
        let many = t.count_of("the number of parents")?;
        let mut scope = scope(&mut t, many, "a parent", &mut tab)?;
        scope.push(v);
        zipfold_core::factor::table::check_scope(&scope, &cards)
            .map_err(|e| e.at_least(format!("parents of variable {v}, {}", t.place())))?;
        scopes.push(scope);
    }
    let mut factors = Vec::with_capacity(cards.len());
    for (v, scope) in scopes.into_iter().enumerate() {
        factors.push(
            values(&mut t, scope, &cards, &mut tab)
                .map_err(|e| e.at_least(format!("table of variable {v}, {}", t.place())))?,
        );
    }
    let network = Network::new(Kind::Bayes, cards, factors)?;
    network.check_families()?;
    match names(&mut t, network.cards(), sections, &mut tab)? {
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
        let Some(end) = end_of_comment(&rest[at..]) else {
            return Err(Error::input("a comment does not end")
                .at_place(format!("byte {}", text.len() - rest.len() + at)));
        };
        out.extend(blank(&rest[at..at + end]));
        rest = &rest[at + end..];
    }
    out.push_str(rest);
    Ok((out, any))
}

/// Names of variables, then of states, where the file gives both and they are usable; without them
/// numbers serve.
fn names(
    t: &mut Tokens<'_>,
    cards: &[usize],
    _sections: bool,
    tab: &mut Tab,
) -> Result<Option<Names>> {
    let mut take = |many: usize| -> Result<Option<Vec<String>>> {
        let mut out = Vec::new();
        for _ in 0..many {
            let Ok(word) = t.word("a name") else {
                return Ok(None);
            };
            tab.add(NAME + 2 * word.len() as u64)?;
            out.push(word.to_string());
        }
        Ok(Some(out))
    };
    let Some(variables) = take(cards.len())? else {
        return Ok(None);
    };
    let mut states = Vec::new();
    for card in cards {
        match take(*card)? {
            Some(more) => states.push(more),
            None => return Ok(None),
        }
    }
    let unique = |names: &[String]| {
        names.iter().collect::<std::collections::HashSet<_>>().len() == names.len()
    };
    Ok((unique(&variables) && states.iter().all(|s| unique(s)))
        .then_some(Names { variables, states }))
}

/// Bytes that a name takes next to its letters.
const NAME: u64 = 128;

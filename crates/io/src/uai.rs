//! UAI networks: `MARKOV` or `BAYES`, domain sizes, scopes, tables with the last variable of a scope fastest.

use crate::tokens::{Tokens, short};
use zipfold_core::factor::{Factor, Kind, Network, table};
use zipfold_core::{Error, Result};

/// Reads the text of a `.uai` file.
///
/// # Errors
/// `Input`, with the line, for everything that the format does not allow.
pub fn parse(text: &str) -> Result<Network> {
    let mut t = Tokens::new(text);
    let kind = match t.word("MARKOV or BAYES")? {
        "MARKOV" => Kind::Markov,
        "BAYES" => Kind::Bayes,
        other => {
            return Err(Error::input(format!("'{}' stands where MARKOV or BAYES should", short(other))).at(t.place()));
        }
    };
    let cards = domains(&mut t)?;
    let factors = t.count_of("the number of factors")?;
    let mut scopes = Vec::with_capacity(factors);
    for at in 0..factors {
        let len = t.count_of("the number of variables of a factor")?;
        let scope = (0..len).map(|_| t.count("a variable")).collect::<Result<Vec<_>>>()?;
        table::check_scope(&scope, &cards).map_err(|e| e.at_least(format!("factor {at}, {}", t.place())))?;
        scopes.push(scope);
    }
    let mut out = Vec::with_capacity(factors);
    for (at, scope) in scopes.into_iter().enumerate() {
        out.push(values(&mut t, scope, &cards).map_err(|e| e.at_least(format!("table {at}, {}", t.place())))?);
    }
    t.end()?;
    if kind == Kind::Bayes && out.len() != cards.len() {
        return Err(Error::input(format!("a BAYES network of {} variables has {} tables", cards.len(), out.len())));
    }
    Network::new(kind, cards, out)
}

/// The number of variables and their domain sizes.
pub(crate) fn domains(t: &mut Tokens<'_>) -> Result<Vec<usize>> {
    let n = t.count_of("the number of variables")?;
    let mut cards = Vec::with_capacity(n);
    for v in 0..n {
        match t.count("a domain size")? {
            0 => return Err(Error::input(format!("variable {v} has no values")).at(t.place())),
            c => cards.push(c),
        }
    }
    Ok(cards)
}

/// One table: how many numbers, then the numbers.
pub(crate) fn values(t: &mut Tokens<'_>, scope: Vec<usize>, cards: &[usize]) -> Result<Factor> {
    let many = t.count_of("the number of entries")?;
    if table::entries(&scope, cards) != Some(many) {
        let want = table::entries(&scope, cards).map_or("more than can be counted".to_string(), |n| n.to_string());
        return Err(Error::input(format!("the table has {many} numbers, its domains ask for {want}")));
    }
    let numbers = (0..many).map(|_| t.number("an entry of a table")).collect::<Result<Vec<_>>>()?;
    Factor::new(scope, numbers, cards)
}

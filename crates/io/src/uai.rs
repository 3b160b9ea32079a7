//! UAI networks: `MARKOV` or `BAYES`, domain sizes, scopes, tables with the last variable of a
//! scope fastest.

use crate::tokens::{Tokens, short};
use zipfold_core::budget::Tab;
use zipfold_core::factor::{Factor, Kind, Network, table};
use zipfold_core::{Budget, Error, Result};

/// Bytes that a list takes next to its items: its place, and what the allocator keeps.
const LIST: u64 = 56;

/// Reads the text of a `.uai` file.
///
/// # Errors
/// `Input`, with the line, for everything that the format does not allow.
pub fn parse(text: &str, budget: &Budget) -> Result<Network> {
    let (mut t, mut tab) = (Tokens::new(text), budget.tab("the network"));
    let kind = match t.word("MARKOV or BAYES")? {
        "MARKOV" => Kind::Markov,
        "BAYES" => Kind::Bayes,
        other => {
            return Err(
                Error::input(format!("expected MARKOV or BAYES, got '{}'", short(other)))
                    .at_place(t.place()),
            );
        }
    };
    let cards = domains(&mut t, &mut tab)?;
    let factors = t.count_of("the number of factors")?;
    let mut scopes = Vec::with_capacity(factors);
    for at in 0..factors {
        let len = t.count_of("the number of variables of a factor")?;
        let scope = scope(&mut t, len, "a variable", &mut tab)?;
        table::check_scope(&scope, &cards)
            .map_err(|e| e.at_least(format!("factor {at}, {}", t.place())))?;
        scopes.push(scope);
    }
    let mut out = Vec::with_capacity(factors);
    for (at, scope) in scopes.into_iter().enumerate() {
        out.push(
            values(&mut t, scope, &cards, &mut tab)
                .map_err(|e| e.at_least(format!("table {at}, {}", t.place())))?,
        );
    }
    t.end()?;
    if kind == Kind::Bayes && out.len() != cards.len() {
        return Err(Error::input(format!(
            "a BAYES network of {} variables has {} tables",
            cards.len(),
            out.len()
        )));
    }
    let network = Network::new(kind, cards, out)?;
    if kind == Kind::Bayes {
        network.check_families()?;
    }
    Ok(network)
}

/// The variables of one table: `len` numbers.
pub(crate) fn scope(
    t: &mut Tokens<'_>,
    len: usize,
    what: &str,
    tab: &mut Tab,
) -> Result<Vec<usize>> {
    tab.add(2 * LIST + 8 * len as u64)?;
    let mut out = Vec::with_capacity(len + 1);
    for _ in 0..len {
        out.push(t.count(what)?);
    }
    Ok(out)
}

/// The number of variables and their domain sizes.
pub(crate) fn domains(t: &mut Tokens<'_>, tab: &mut Tab) -> Result<Vec<usize>> {
    let n = t.count_of("the number of variables")?;
    tab.add(8 * n as u64)?;
    let mut cards = Vec::with_capacity(n);
    for v in 0..n {
        match t.count("a domain size")? {
            0 => {
                return Err(Error::input(format!("variable {v} has no values")).at_place(t.place()));
            }
            c => cards.push(c),
        }
    }
    Ok(cards)
}

/// One table: how many numbers, then the numbers.
pub(crate) fn values(
    t: &mut Tokens<'_>,
    scope: Vec<usize>,
    cards: &[usize],
    tab: &mut Tab,
) -> Result<Factor> {
    let many = t.count_of("the number of entries")?;
    if table::entries(&scope, cards) != Some(many) {
        let want = table::entries(&scope, cards)
            .map_or("more than can be counted".to_string(), |n| n.to_string());
        return Err(Error::input(format!(
            "the table has {many} numbers, its domains ask for {want}"
        )));
    }
    tab.add(LIST + 8 * many as u64)?;
    let mut numbers = Vec::with_capacity(many);
    for _ in 0..many {
        numbers.push(t.number("an entry of a table")?);
    }
    Factor::new(scope, numbers, cards)
}

//! Evidence files: the UAI dialects (with and without the leading number of samples), Ergo's, and
//! `name=state` lines.

use crate::tokens::{Tokens, short};
use zipfold_core::factor::{Evidence, Network};
use zipfold_core::{Budget, Error, Result};

/// Reads evidence on `network`.
///
/// Numbers: `k v₁ x₁ … v_k x_k`, or the same after a count of samples that is 1; nothing, or a
/// single 0, is not evidence. Otherwise one `name = state` a line (names or numbers, `#` starts a
/// comment).
///
/// # Errors
/// `Input` when the text is neither, and as [`Evidence::new`].
pub fn parse(text: &str, network: &Network, budget: &Budget) -> Result<Evidence> {
    // A second copy without comments, and what two bytes of text can say: one observation.
    let _held = budget.reserve(text.len() as u64 * 20, "the evidence")?;
    let bare = text.replace("/* Evidence */", " ");
    if bare.contains('=') {
        return named(&bare, network);
    }
    let mut t = Tokens::new(&bare);
    let mut all = Vec::new();
    let words = bare.split_ascii_whitespace().count();
    for _ in 0..words {
        all.push(t.count("a number of the evidence")?);
    }
    let pairs = match all[..] {
        [] | [0] | [1, 0] => &[][..],
        [k, ref rest @ ..] if k.checked_mul(2) == Some(rest.len()) => rest,
        [1, k, ref rest @ ..] if k.checked_mul(2) == Some(rest.len()) => rest,
        [samples, k, ref rest @ ..] if samples > 1 && k > 0 && rest.len() > k.saturating_mul(2) => {
            return Err(
                Error::input(format!("the file holds {samples} samples of evidence"))
                    .limit("1")
                    .remedy("one file for each"),
            );
        }
        [k, ref rest @ ..] => {
            return Err(
                Error::input(format!("{} numbers follow the count {k}", rest.len()))
                    .limit(format!("{}", 2 * k as u128)),
            );
        }
    };
    Evidence::new(pairs.chunks_exact(2).map(|p| (p[0], p[1])), network.cards())
}

fn named(text: &str, network: &Network) -> Result<Evidence> {
    let mut out = Evidence::none();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let place = format!("line {}", at + 1);
        let Some((name, state)) = line.split_once('=') else {
            return Err(
                Error::input(format!("'{}' is not name = state", short(line))).at_place(place),
            );
        };
        observe(&mut out, network, name.trim(), state.trim()).map_err(|e| e.at_least(place))?;
    }
    Ok(out)
}

/// Adds the observation that variable `name` has state `state` (names, or numbers from 0).
///
/// # Errors
/// `Request` when there is no such variable or state, and as [`Evidence::add`].
pub fn observe(evidence: &mut Evidence, network: &Network, name: &str, state: &str) -> Result<()> {
    let v = network.find(name)?;
    let x = network.find_state(v, state)?;
    evidence.add(v, x, network.cards())
}

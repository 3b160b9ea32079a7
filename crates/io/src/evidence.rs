//! Evidence files: the UAI dialects (with and without the leading number of samples), Ergo's, and
//! `name=state` lines.

use crate::tokens::{Tokens, blank, end_of_comment, short};
use zipfold_core::factor::{Evidence, Network};
use zipfold_core::{Budget, Error, Result};

/// Reads evidence on `network`.
///
/// Numbers: `k v₁ x₁ … v_k x_k`, or the same after a count of samples that is 1; nothing, or a
/// single 0, is not evidence. Otherwise one `name = state` a line (names or numbers). `#` at the
/// beginning of a word starts a comment to the end of the line; `/* … */` is one, too.
///
/// # Errors
/// `Input` when the text is neither, and as [`Evidence::new`].
pub fn parse(text: &str, network: &Network, budget: &Budget) -> Result<Evidence> {
    // A second copy without comments, and what two bytes of text can say: one observation.
    let _held = budget.reserve(text.len() as u64 * 20, "the evidence")?;
    let bare = without_comments(text)?;
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

/// The text with comments blanked; places stay right.
fn without_comments(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let starts = out.ends_with(|c: char| c.is_ascii_whitespace()) || out.is_empty();
        let comment = match (starts, next) {
            (true, '#') => Some(rest.find('\n').unwrap_or(rest.len())),
            (true, '/') if rest.starts_with("/*") => {
                Some(end_of_comment(rest).ok_or_else(|| {
                    let line = out.matches('\n').count() + 1;
                    Error::input("a comment does not end").at_place(format!("line {line}"))
                })?)
            }
            (true | false, _) => None,
        };
        let len = comment.unwrap_or(next.len_utf8());
        let (part, behind) = rest.split_at(len);
        match comment {
            Some(_) => out.extend(blank(part)),
            None => out.push_str(part),
        }
        rest = behind;
    }
    Ok(out)
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
    match evidence.get(v).filter(|before| *before != x) {
        None => evidence.add(v, x, network.cards()),
        Some(before) => Err(Error::input(format!(
            "evidence gives variable '{}' both the value '{}' and the value '{}'",
            network.name(v),
            network.state(v, before),
            network.state(v, x)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::factor::{Kind, Names};

    fn weather() -> Network {
        let names = Names {
            variables: ["rain", "wet"].map(String::from).to_vec(),
            states: vec![["no", "yes"].map(String::from).to_vec(); 2],
        };
        let network = Network::new(Kind::Markov, vec![2, 2], vec![]).unwrap();
        network.with_names(names).unwrap()
    }

    fn read(text: &str) -> Result<Vec<(usize, usize)>> {
        let found = parse(text, &weather(), &Budget::new(1 << 20))?;
        Ok(found.iter().collect())
    }

    #[test]
    fn comments_are_no_evidence() {
        for text in [
            "1 1 1",
            "# observed\n1 1 1\n",
            "1 1 1 #c",
            "1 1 1\t# p=1\n",
            "# p = 1\n1 1 1",
            "1 # one\n1 # 2 = 3 /*\n1",
            "1 1 1\n#",
            "/* Evidence */\n1 1 1",
            "/* rain = yes\n 7 7 */ 1 1 1 /* é # */",
            "/**/ 1 1 1",
            "1\n1 1 1",
            "# é\r\n1 1 1\r\n1\r\n",
            "wet = yes",
            "# 1 0 0\nwet = yes # rain = yes\n",
            "/* two\nlines */\nwet=yes",
            "1 = 1 # 3",
        ] {
            assert_eq!(read(text).unwrap(), [(1, 1)], "{text:?}");
        }
        for text in [
            "",
            "# nothing",
            "0 # none",
            "/* a = b */",
            "1 0 # one sample",
        ] {
            assert_eq!(read(text).unwrap(), [], "{text:?}");
        }
    }

    #[test]
    fn places_behind_comments_are_right() {
        for (text, says) in [
            ("# é é\n1 x 1", "line 2"),
            ("/* a\nb */\nrain yes = 1\nwet = no", "line 3"),
            ("/* a\nb */ wet = no\nodd line", "line 3"),
            ("\n/* 1 0 1", "a comment does not end"),
        ] {
            let e = read(text).unwrap_err().to_string();
            assert!(e.contains(says), "{text:?}: {e}");
        }
    }

    #[test]
    fn two_values_of_a_variable_are_told_by_name() {
        let e = read("rain = no\nrain = yes").unwrap_err().to_string();
        let says = "variable 'rain' both the value 'no' and the value 'yes'";
        assert!(e.contains(says) && e.contains("line 2"), "{e}");
        assert_eq!(read("rain = no\nrain = no").unwrap(), [(0, 0)]);
    }
}

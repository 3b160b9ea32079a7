//! The conditions on pairs that `within` names: on keys of rows, on their numbers, on a sorted
//! column.
//!
//! ```text
//! same:sample                       rows with the same key
//! earlier and window:time:3600      j < i, at most 3600 apart in time
//! ```

use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::parts::Keep;

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// On the keys of a column, or of the groups.
    Keys(Keep, Option<String>),
    /// |i − j| up to this.
    Band(usize),
    /// The difference of a sorted column up to this.
    Window(String, f64),
    /// j < i.
    Earlier,
}

/// What follows a condition that is not the last one.
const AND: &str = " and ";
/// Words that conditions begin with.
const WORDS: [&str; 6] = ["same", "other", "block", "band", "window", "earlier"];

/// Reads the conditions in `text`.
///
/// # Errors
/// `Request` for a text that names no condition, or a number that is none.
pub fn read(text: &str) -> Result<Vec<Condition>> {
    pieces(text).into_iter().map(condition).collect()
}

/// The columns that the conditions in `text` read, each once; those of a wrong text are unknown.
pub fn columns(text: &str) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for condition in read(text).unwrap_or_default() {
        let (Condition::Keys(_, Some(column)) | Condition::Window(column, _)) = condition else {
            continue;
        };
        if !all.contains(&column) {
            all.push(column);
        }
    }
    all
}

/// The texts of single conditions. The name of a column may hold the word that joins two of them.
fn pieces(text: &str) -> Vec<&str> {
    let pieces: Vec<&str> = text.split(AND).collect();
    let begins = |piece: &&str| WORDS.contains(&piece.split(':').next().unwrap_or_default());
    match pieces.iter().all(begins) {
        true => pieces,
        false => vec![text],
    }
}

fn condition(text: &str) -> Result<Condition> {
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    match (word, rest) {
        ("same", column) => Ok(Condition::Keys(Keep::Same, column.map(str::to_string))),
        ("block", Some(column)) => Ok(Condition::Keys(Keep::Same, Some(column.into()))),
        ("other", column) => Ok(Condition::Keys(Keep::Other, column.map(str::to_string))),
        ("earlier", None) => Ok(Condition::Earlier),
        ("band", Some(rows)) => rows.parse().map(Condition::Band).map_err(|_| {
            let what = format!("expected a number of rows from 0 on, got '{rows}'");
            refused(what, "band:100")
        }),
        ("window", Some(rest)) => match rest.rsplit_once(':') {
            Some((column, width)) => window(column, width),
            None => Err(refused(
                format!("expected a column and a width, got '{rest}'"),
                "window:COLUMN:WIDTH",
            )),
        },
        _ => Err(refused(
            format!(
                "expected same, other, same:COLUMN, other:COLUMN, block:COLUMN, band:ROWS, window:COLUMN:WIDTH or earlier, got '{text}'"
            ),
            "same:COLUMN",
        )),
    }
}

fn window(column: &str, width: &str) -> Result<Condition> {
    let number = width.parse::<f64>().ok();
    match number.filter(|width| *width >= 0.0 && width.is_finite()) {
        Some(width) => Ok(Condition::Window(column.into(), width)),
        None => Err(refused(
            format!("expected a width of at least 0, got '{width}'"),
            "window:COLUMN:WIDTH",
        )),
    }
}

/// A refusal of what `within` says; this would do.
fn refused(what: String, instead: &str) -> Error {
    let e = Error::request(what).at_place(Opt::Within);
    e.remedy(Opt::Within.to(instead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_one_by_one() {
        let keys = |keep, column: &str| Condition::Keys(keep, Some(column.into()));
        let all = "same:a and b and c";
        assert_eq!(read(all).unwrap(), [keys(Keep::Same, "a and b and c")]);
        let all = "earlier and window:t:of:day:1e3 and other:a and band:0";
        let wanted = [
            Condition::Earlier,
            Condition::Window("t:of:day".into(), 1e3),
            keys(Keep::Other, "a"),
            Condition::Band(0),
        ];
        assert_eq!(read(all).unwrap(), wanted);
        assert_eq!(columns(all), ["t:of:day", "a"]);
        for wrong in [
            "near",
            "band",
            "band:-1",
            "band:1.5",
            "window:t",
            "window:t:nan",
            "window:t:-1",
            "window:t:inf",
            "earlier:t",
            "earlier and near",
            "block",
            "",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

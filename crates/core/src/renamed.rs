//! Words of earlier versions for keys, folds, plan choices and names in Python, with the words that
//! have taken their place. This table is the only place that knows them: whoever refuses an unknown
//! word asks it first, so that the error names the new word.

use crate::error::Error;

/// Where an old word was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A key of a problem file.
    Problem,
    /// The kind of a fold in a problem file.
    Fold,
    /// A key of a fold in a problem file.
    FoldKey,
    /// A plan choice, or one of its values.
    Override,
    /// A method of `zf.Pairs` and of `zf.fold`.
    Method,
    /// An argument of `zf.join` and `zf.Pairs.join`.
    Argument,
    /// A field of `zf.Outcome` or of `zf.Tally`.
    Field,
}

impl Place {
    /// Its name, as Python gets it.
    pub fn name(self) -> &'static str {
        match self {
            Place::Problem => "problem",
            Place::Fold => "fold",
            Place::FoldKey => "fold key",
            Place::Override => "override",
            Place::Method => "method",
            Place::Argument => "argument",
            Place::Field => "field",
        }
    }
}

/// An old word and the word that has taken its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Where it was used.
    pub place: Place,
    /// The old word.
    pub old: &'static str,
    /// The new word.
    pub new: &'static str,
}

/// All old words.
pub const RENAMED: &[Renamed] = &[
    renamed(Place::Problem, "near", "cutoff"),
    renamed(Place::Problem, "cells", "domain"),
    renamed(Place::Fold, "select", "join"),
    renamed(Place::FoldKey, "along", "axis"),
    renamed(Place::FoldKey, "predicate", "where"),
    // The key `kind` is the fold's.
    renamed(Place::FoldKey, "join", "join_kind"),
    renamed(Place::Override, "unit", "batch"),
    renamed(Place::Override, "mesh", "column_grid"),
    renamed(Place::Override, "family=screen", "family=filter"),
    renamed(Place::Override, "select.output", "join.output"),
    renamed(Place::Override, "device.launches", "fault.launches"),
    renamed(Place::Override, "device.compiles", "fault.compiles"),
    renamed(Place::Override, "device.driver", "fault.driver"),
    renamed(Place::Override, "device.faulty", "fault.devices"),
    renamed(
        Place::Override,
        "device.family=cells",
        "device.family=pairs",
    ),
    renamed(Place::Method, "near", "cutoff"),
    renamed(Place::Method, "cells", "domain"),
    renamed(Place::Method, "select", "join"),
    renamed(Place::Argument, "join", "kind"),
    renamed(Place::Argument, "how", "kind"),
    renamed(Place::Field, "cells", "pairs"),
    renamed(Place::Field, "far", "beyond_cutoff"),
];

const fn renamed(place: Place, old: &'static str, new: &'static str) -> Renamed {
    Renamed { place, old, new }
}

/// Returns the word that has taken the place of `old`.
pub fn new_word(place: Place, old: &str) -> Option<&'static str> {
    let found = RENAMED.iter().find(|r| r.place == place && r.old == old);
    found.map(|r| r.new)
}

/// Returns the error for a text that is not a valid problem, from what its reader says. An old word is
/// named with the new one: the reader lists the words that it takes, so an old word counts only
/// where the new one is among these.
pub fn no_problem(said: &str) -> Error {
    match old_word(said) {
        Some(word) => Error::request(format!(
            "invalid problem: expected '{}', got its earlier name '{}'",
            word.new, word.old
        ))
        .remedy(word.new),
        None => Error::request(format!("invalid problem: {said}")),
    }
}

/// Reads "unknown field `near`, expected one of `schema`, `cutoff`, …".
fn old_word(said: &str) -> Option<Renamed> {
    let mut quoted = said.split('`').skip(1).step_by(2);
    let unknown = quoted.next().filter(|_| said.contains("unknown "))?;
    let known: Vec<&str> = quoted.collect();
    let files = [Place::Problem, Place::Fold, Place::FoldKey];
    let mut words = RENAMED.iter().filter(|r| files.contains(&r.place));
    words
        .find(|r| r.old == unknown && known.contains(&r.new))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_new_word_is_an_old_one_of_the_same_place() {
        for word in RENAMED {
            assert_eq!(new_word(word.place, word.new), None, "{word:?}");
            assert_eq!(new_word(word.place, word.old), Some(word.new), "{word:?}");
        }
    }

    #[test]
    fn an_old_word_counts_where_the_new_one_is_taken() {
        let said = "unknown field `near`, expected one of `schema`, `cutoff`, `box`";
        let error = no_problem(said).to_string();
        assert!(
            error.contains("expected 'cutoff', got its earlier name 'near'"),
            "{error}"
        );
        let said = "unknown field `near`, expected one of `name`, `columns`";
        assert!(no_problem(said).to_string().contains(said));
    }
}

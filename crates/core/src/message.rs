//! A text for people that may name options of the request. Whoever shows it chooses the words for
//! the options.
//!
//! Marks are kept to the last moment: an error crosses several layers before its reader is known,
//! and only the interface at the end knows its own words.

use crate::opt::{Given, Opt, unmarked};
use serde::{Serialize, Serializer};
use std::fmt;

/// How an interface writes an option: the command as a flag, Python as an argument.
pub type Wording = fn(Opt, Given<'_>) -> String;

/// A text that may hold marks of options ([`Opt`]). Displayed without a wording, it names options
/// by the keys of problem files.
///
/// Two messages are equal if their marks are, so tests compare messages without choosing words.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Message(String);

impl Message {
    /// Returns the text with options in the words of `wording`.
    ///
    /// An interface that shows [`fmt::Display`] instead names keys that its user may not know.
    #[doc(hidden)]
    pub fn told(&self, wording: Wording) -> String {
        unmarked(&self.0, wording)
    }
    /// Returns the text with its marks, for another message that contains it.
    #[doc(hidden)]
    pub fn marked(&self) -> &str {
        &self.0
    }
}

/// Names an option as problem files do: `range`, `nan = "skip"`, `params.p = 3`.
pub fn keys(opt: Opt, given: Given<'_>) -> String {
    let (value, exact) = match given {
        Given::Nothing => return opt.key().to_string(),
        Given::Value(value) => (value, true),
        Given::Like(words) => (words, false),
    };
    // TOML has quotes around texts and none around numbers. Words that represent a value are not a
    // literal.
    let literal = |value: &str| match exact && value.parse::<f64>().is_err() {
        true => format!("\"{value}\""),
        false => value.to_string(),
    };
    match (opt, value.split_once('=')) {
        // A key of a table, which is how a file writes several of them.
        (Opt::Param | Opt::Set, Some((key, value))) => {
            format!("{}.{key} = {}", opt.key(), literal(value))
        }
        (Opt::Param | Opt::Set, None) => format!("{}.{value}", opt.key()),
        // The command separates the ends by a blank.
        (Opt::Range, _) => format!("range = [{}]", value.replace(' ', ", ")),
        (Opt::Columns | Opt::Ids, _) => {
            let names: Vec<String> = value.split(',').map(literal).collect();
            format!("{} = [{}]", opt.key(), names.join(", "))
        }
        _ => format!("{} = {}", opt.key(), literal(value)),
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(keys))
    }
}

// As text: a failed test should print what a reader would see.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.told(keys), f)
    }
}

// Machines that read reports get keys, which are the stable names.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.told(keys))
    }
}

impl<T: Into<String>> From<T> for Message {
    fn from(text: T) -> Self {
        Message(text.into())
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, text: &&str) -> bool {
        self.told(keys) == *text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_options_as_files_do() {
        let told = |text: String| Message::from(text).to_string();
        assert_eq!(told(Opt::Range.like("LO HI")), "range = [LO, HI]");
        assert_eq!(
            told(format!(
                "give {} or {}",
                Opt::Nan.to("skip"),
                Opt::Threads.to(1)
            )),
            r#"give nan = "skip" or threads = 1"#
        );
        assert_eq!(told(Opt::Param.like("ep=VALUE")), "params.ep = VALUE");
        assert_eq!(
            told(Opt::Set.to("prune=auto")),
            r#"overrides.prune = "auto""#
        );
        assert_eq!(told(Opt::Set.like("isa")), "overrides.isa");
        assert_eq!(told(Opt::Columns.to("x,!y")), r#"columns = ["x", "!y"]"#);
        assert_eq!(format!("{:?}", Message::from(Opt::K)), r#""k""#);
    }
}

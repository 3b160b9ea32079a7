//! Questions of jobs as text. What a reader does not take is told with its key, in words of the options.

pub use serde::de::DeserializeOwned;
use zipfold_core::renamed::no_problem;
use zipfold_core::{Error, Opt, Result};

/// A question from JSON.
///
/// # Errors
/// `Request`, at the option that is not taken.
pub fn from_json<Q: DeserializeOwned>(text: &str) -> Result<Q> {
    let read = serde_json::from_str(text);
    read.map_err(|e: serde_json::Error| {
        let Ok(serde_json::Value::Object(keys)) = serde_json::from_str(text) else {
            return no_problem(&e.to_string());
        };
        let read = |keys: serde_json::Map<String, serde_json::Value>| {
            let read = serde_json::from_value::<Q>(keys.into());
            read.err().map(|e| e.to_string())
        };
        let without = |key: &String| {
            let mut keys = keys.clone();
            keys.remove(key);
            read(keys)
        };
        let said = read(keys.clone()).unwrap_or_else(|| e.to_string());
        refused(&said, keys.keys(), without)
    })
}

/// A question from TOML.
///
/// # Errors
/// As [`from_json`].
pub fn from_toml<Q: DeserializeOwned>(text: &str) -> Result<Q> {
    let read = toml::from_str(text);
    read.map_err(|e: toml::de::Error| {
        let Ok(keys) = toml::from_str::<toml::Table>(text) else {
            return no_problem(e.message());
        };
        let read = |keys: toml::Table| {
            let read = keys.try_into::<Q>();
            read.err().map(|e| e.message().to_string())
        };
        let without = |key: &String| {
            let mut keys = keys.clone();
            keys.remove(key);
            read(keys)
        };
        let said = read(keys.clone()).unwrap_or_else(|| e.message().to_string());
        refused(&said, keys.keys(), without)
    })
}

/// The error for what a reader `said`. Its key is the one without which the reader says something else.
fn refused<'a>(
    said: &str,
    mut keys: impl Iterator<Item = &'a String>,
    without: impl Fn(&String) -> Option<String>,
) -> Error {
    let Some(what) = in_our_words(said) else {
        return no_problem(said);
    };
    match keys.find(|key| without(key).is_none_or(|other| other != said)) {
        Some(key) => Error::request(what).at_place(option(key)),
        None => Error::request(what),
    }
}

/// How messages name a key: as an option, where it is one.
fn option(key: &str) -> String {
    match key {
        "columns" => Opt::Positions.into(),
        "edges" => Opt::EdgesOfBins.into(),
        _ => match Opt::ALL.iter().find(|opt| opt.key() == key) {
            Some(opt) => (*opt).into(),
            None => key.to_string(),
        },
    }
}

/// "expected X, got Y" of what readers say about a value; nothing of what they say about keys.
fn in_our_words(said: &str) -> Option<String> {
    if let Some(word) = said.strip_prefix("unknown variant `") {
        let (got, known) = word.split_once("`, expected ")?;
        let known = known.trim_start_matches("one of ").replace('`', "");
        return Some(format!(
            "expected {}, got '{got}'",
            known.replace(", ", " | ").replace(" or ", " | ")
        ));
    }
    let value = said
        .strip_prefix("invalid type: ")
        .or_else(|| said.strip_prefix("invalid value: "))?;
    let (got, wanted) = value.split_once(", expected ")?;
    let wanted = match wanted {
        "usize" | "u64" | "u32" => "a whole number from 0 on",
        "i64" | "i32" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a string" | "string or map" => "a word",
        other => other,
    };
    Some(format!("expected {wanted}, got {}", quoted(got)))
}

/// The value in what readers call it: "integer `-1`" is -1.
fn quoted(got: &str) -> String {
    let of_backticks = got.split('`').nth(1);
    let text = got.strip_prefix("string ");
    match (of_backticks, text) {
        (_, Some(text)) => text.to_string(),
        (Some(value), None) => value.to_string(),
        (None, None) => match got {
            "null" | "unit value" => "nothing".to_string(),
            "sequence" => "a list".to_string(),
            "map" => "a table".to_string(),
            other => other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlogram::Correlogram;
    use crate::pattern::Ripley;

    fn told(text: &str) -> [String; 2] {
        let json = from_json::<Ripley>(text).unwrap_err();
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let text = toml::to_string(&value).unwrap();
        let toml = from_toml::<Ripley>(&text).unwrap_err();
        [json, toml].map(|e| e.told(|opt, _| format!("<{}>", opt.key())))
    }

    #[test]
    fn a_value_is_refused_by_its_key_in_both_formats() {
        for (text, says) in [
            (
                r#"{"data": "a", "bins": -1}"#,
                "<bins>: expected a whole number from 0 on, got -1",
            ),
            (
                r#"{"data": "a", "bins": 1.5}"#,
                "<bins>: expected a whole number from 0 on, got 1.5",
            ),
            (
                r#"{"data": "a", "max": "far"}"#,
                "<max>: expected a number, got \"far\"",
            ),
            (
                r#"{"data": "a", "window": 3.5, "bins": 2}"#,
                "<window>: expected a list, got 3.5",
            ),
            (
                r#"{"bins": 3, "correction": "tr", "data": "a"}"#,
                "<correction>: expected none | border | translation | isotropic | periodic, got 'tr'",
            ),
            (r#"{"data": "a", "bns": 1}"#, "unknown field `bns`"),
            (r#"{"bins": 1}"#, "missing field `data`"),
        ] {
            for told in told(text) {
                assert!(told.contains(says), "{text}: {told}");
            }
        }
    }

    #[test]
    fn text_that_is_no_table_is_told_by_its_reader() {
        assert!(from_json::<Correlogram>("{").is_err());
        assert!(from_json::<Correlogram>("3").is_err());
        assert!(from_toml::<Correlogram>("data").is_err());
        assert!(from_toml::<Correlogram>("data = 'a'").is_ok());
    }
}

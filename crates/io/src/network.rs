//! Networks and evidence by suffix, plain or compressed (`.gz`, `.xz`).

use crate::guard::{Source, Text};
use crate::tokens::end_of_comment;
use crate::{bif, ergo, evidence, hugin, uai, xmlbif};
use std::path::Path;
use zipfold_core::factor::{Evidence, Network};
use zipfold_core::{Budget, Error, Result};

/// Suffixes of networks and what they are; `.gz` or `.xz` may follow.
pub const SUFFIXES: &[(&str, &str)] = &[
    ("uai", "the UAI competition's format"),
    ("erg", "Ergo"),
    ("bif", "Bayesian Interchange Format"),
    ("xmlbif", "the same as XML"),
    ("bifxml", "the same as XML"),
    ("xml", "the same as XML"),
    ("net", "Hugin"),
    ("hugin", "Hugin"),
];

/// Reads a network: `.uai`, `.erg`, `.bif`, `.xmlbif` or `.xml`, `.net`.
///
/// # Errors
/// `Input` for anything the format does not allow, with the place; `Request` for an unknown suffix;
/// `Resource` when the text alone exceeds the budget.
pub fn read_network(path: &Path, budget: &Budget) -> Result<Network> {
    let text = read_text(path, budget)?;
    let format = if path.as_os_str() == "-" {
        sniffed(text.as_str()).to_string()
    } else {
        suffix(path)
    };
    let network = match format.as_str() {
        "uai" => uai::parse(text.as_str(), budget),
        "erg" => ergo::parse(text.as_str(), budget),
        "bif" => bif::parse(text.as_str(), budget),
        "xml" | "xmlbif" | "bifxml" => xmlbif::parse(text.as_str(), budget),
        "net" | "hugin" => hugin::parse(text.as_str(), budget),
        other => Err(Error::request(format!("networks in '.{other}' files are not known"))
            .remedy("a file ending in .uai, .erg, .bif, .xmlbif or .net, with .gz or .xz after it if compressed")),
    };
    network.map_err(|e| inside(e, path))
}

/// Reads evidence on `network`: numbers as UAI and Ergo write them, or (`.json`, `.csv`, `.txt`)
/// `name=state` lines.
///
/// # Errors
/// As [`read_network`].
pub fn read_evidence(path: &Path, network: &Network, budget: &Budget) -> Result<Evidence> {
    let text = read_text(path, budget)?;
    evidence::parse(text.as_str(), network, budget).map_err(|e| inside(e, path))
}

/// Names the file before the place within it.
fn inside(error: Error, path: &Path) -> Error {
    let place = match error.place() {
        Some(place) => format!("{}, {}", path.display(), place.marked()),
        None => path.display().to_string(),
    };
    error.at_place(place)
}

/// The format of a text without a name, by its first word behind the comments of all formats.
fn sniffed(text: &str) -> &'static str {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let comment = if rest.starts_with("/*") {
            end_of_comment(rest)
        } else if rest.starts_with(['%', '#']) || rest.starts_with("//") {
            rest.find('\n')
        } else {
            break;
        };
        // One that does not end is all that is left.
        rest = rest[comment.unwrap_or(rest.len())..].trim_start();
    }
    let word = rest.split_whitespace().next().unwrap_or("");
    match word.to_ascii_lowercase().trim_end_matches('{') {
        w if w.starts_with('<') => "xmlbif",
        "network" => "bif",
        "net" | "class" => "hugin",
        w if w.starts_with(|c: char| c.is_ascii_digit()) => "erg",
        _ => "uai",
    }
}

/// The suffix below `.gz` or `.xz`, in lower case.
fn suffix(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let bare = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".xz"))
        .unwrap_or(&name);
    bare.rsplit_once('.')
        .map_or(String::new(), |(_, s)| s.to_string())
}

/// The text of a file, unpacked by its first bytes.
fn read_text(path: &Path, budget: &Budget) -> Result<Text> {
    Source::open(path, budget)?.whole_text(LONGEST_TEXT, budget)
}

/// The longest text that a network or its evidence may have.
const LONGEST_TEXT: u64 = 4 << 30;

#[cfg(test)]
mod tests {
    use super::sniffed;

    #[test]
    fn the_first_word_behind_comments_tells_the_format() {
        for (text, format) in [
            ("network a {\n}", "bif"),
            ("/* made by a tool */\nnetwork a {", "bif"),
            ("/* over\n * several\n * lines */ network{", "bif"),
            ("/* one */ /* another */\n// a line\nnetwork a", "bif"),
            ("/* network */ 3\n2 2 2", "erg"),
            ("\u{feff}/* 2 */\n2\n2 2", "erg"),
            ("/**/2\n2 2", "erg"),
            ("/*/ network */ 2", "erg"),
            ("% net\nnet {", "hugin"),
            ("# net\n// net\n\nMARKOV\n2", "uai"),
            ("/* a */ BAYES 2", "uai"),
            ("<?xml version=\"1.0\"?>", "xmlbif"),
            ("/* never ends network", "uai"),
            ("# 2", "uai"),
            ("", "uai"),
        ] {
            assert_eq!(sniffed(text), format, "{text:?}");
        }
    }
}

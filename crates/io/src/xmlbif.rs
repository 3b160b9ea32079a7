//! XMLBIF 0.3: `VARIABLE` with `NAME` and `OUTCOME`s, `DEFINITION` with `FOR`, `GIVEN`s and `TABLE`.

use crate::bayes::Draft;
use quick_xml::Reader;
use quick_xml::events::Event;
use zipfold_core::factor::Network;
use zipfold_core::{Error, Result};

/// What stands between the tags of one `VARIABLE` or `DEFINITION`.
#[derive(Default)]
struct Entry {
    name: String,
    outcomes: Vec<String>,
    child: String,
    given: Vec<String>,
    table: String,
}

/// Reads the text of an `.xmlbif` file. Tables run with the child fastest and the last `GIVEN` next.
///
/// # Errors
/// `Input`, with the byte, for everything that the format does not allow.
pub fn parse(text: &str) -> Result<Network> {
    let mut reader = Reader::from_str(text);
    let mut draft = Draft::default();
    let mut entry = Entry::default();
    let mut path: Vec<String> = Vec::new();
    let mut words = String::new();
    loop {
        let place = format!("byte {}", reader.buffer_position());
        let event = reader.read_event().map_err(|e| Error::input(format!("broken XML: {e}")).at(place.clone()))?;
        match event {
            Event::Eof if path.is_empty() => return draft.finish(),
            Event::Eof => return Err(Error::input(format!("the text ends inside <{}>", path.join("/"))).at(place)),
            Event::Start(tag) => {
                path.push(String::from_utf8_lossy(tag.name().as_ref()).to_uppercase());
                words.clear();
            }
            Event::Text(t) => words.push_str(&String::from_utf8_lossy(&t)),
            Event::GeneralRef(r) => words.push_str(entity(&r)),
            Event::CData(t) => words.push_str(&String::from_utf8_lossy(&t)),
            Event::End(_) => {
                let tag = path.pop().unwrap_or_default();
                close(&tag, words.trim(), &mut entry, &mut draft).map_err(|e| e.at_least(place))?;
                words.clear();
            }
            _ => {}
        }
    }
}

fn entity(name: &[u8]) -> &'static str {
    match name {
        b"lt" => "<",
        b"gt" => ">",
        b"amp" => "&",
        b"quot" => "\"",
        b"apos" => "'",
        _ => "?",
    }
}

fn close(tag: &str, words: &str, entry: &mut Entry, draft: &mut Draft) -> Result<()> {
    match tag {
        "NAME" => entry.name = words.to_string(),
        "OUTCOME" | "VALUE" => entry.outcomes.push(words.to_string()),
        "FOR" => entry.child = words.to_string(),
        "GIVEN" => entry.given.push(words.to_string()),
        "TABLE" => entry.table = words.to_string(),
        "VARIABLE" => {
            let done = std::mem::take(entry);
            return draft.variable(done.name, done.outcomes);
        }
        "DEFINITION" | "PROBABILITY" => {
            let done = std::mem::take(entry);
            let mut table = draft.table(&done.child, &done.given)?;
            let number = |w: &str| {
                w.parse::<f64>()
                    .map_err(|_| Error::input(format!("'{}' stands where a number should", crate::tokens::short(w))))
            };
            table.child_fastest(done.table.split_whitespace().map(number).collect::<Result<Vec<_>>>()?)?;
            return draft.add(table);
        }
        _ => {}
    }
    Ok(())
}

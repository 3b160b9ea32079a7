//! XMLBIF 0.3: `VARIABLE` with `NAME` and `OUTCOME`s, `DEFINITION` with `FOR`, `GIVEN`s and
//! `TABLE`.

use crate::bayes::Draft;
use crate::tokens::short;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use zipfold_core::factor::Network;
use zipfold_core::{Budget, Error, Result};

/// What is between the tags of one `VARIABLE` or `DEFINITION`.
#[derive(Default)]
struct Entry {
    name: String,
    outcomes: Vec<String>,
    child: String,
    given: Vec<String>,
    table: String,
}

/// Reads the text of an `.xmlbif` file. Tables run with the child fastest and the last `GIVEN`
/// next.
///
/// # Errors
/// `Input`, with the byte, for everything that the format does not allow.
pub fn parse(text: &str, budget: &Budget) -> Result<Network> {
    // What is between tags is never more than the text; numbers of a table take four times
    // their digits at most.
    let _words = budget.reserve(text.len() as u64 * 6, "the parts of the network's XML")?;
    let mut reader = Reader::from_str(text);
    let mut draft = Draft::new(budget);
    let mut entry = Entry::default();
    let mut path: Vec<String> = Vec::new();
    let mut words = String::new();
    loop {
        let place = format!("byte {}", reader.buffer_position());
        let event = reader
            .read_event()
            .map_err(|e| Error::input(format!("broken XML: {e}")).at_place(place.clone()))?;
        match event {
            Event::Eof if path.is_empty() => return draft.finish(),
            Event::Eof => {
                return Err(
                    Error::input(format!("the text ends inside <{}>", path.join("/")))
                        .at_place(place),
                );
            }
            Event::Start(tag) => {
                path.push(String::from_utf8_lossy(tag.name().as_ref()).to_uppercase());
                if path.len() > DEEPEST {
                    let what = format!("tags are nested deeper than {DEEPEST}");
                    return Err(Error::input(what)
                        .at_place(place)
                        .limit(DEEPEST.to_string()));
                }
                chance_only(&tag).map_err(|e| e.at_place(place))?;
                words.clear();
            }
            Event::Text(t) => words.push_str(&String::from_utf8_lossy(&t)),
            Event::GeneralRef(r) => match entity(&r) {
                Some(c) => words.push(c),
                None => {
                    let name = String::from_utf8_lossy(&r).into_owned();
                    let e = Error::input(format!("the entity '&{};' is not defined", short(&name)))
                        .at_place(place);
                    return Err(e.remedy("write the character itself"));
                }
            },
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

/// Tags inside each other: the format has four.
const DEEPEST: usize = 64;

/// Refuses variables that are decided or paid for: inference knows those of chance.
fn chance_only(tag: &BytesStart<'_>) -> Result<()> {
    if !tag.name().as_ref().eq_ignore_ascii_case(b"VARIABLE") {
        return Ok(());
    }
    let kind = tag
        .attributes()
        .flatten()
        .find(|a| a.key.as_ref().eq_ignore_ascii_case(b"TYPE"));
    match kind {
        Some(kind) if !kind.value.eq_ignore_ascii_case(b"nature") => {
            let kind = String::from_utf8_lossy(&kind.value).into_owned();
            let e = Error::input(format!("a variable of the type '{}'", short(&kind)))
                .limit("the type 'nature'");
            Err(e.remedy("replace decisions and utilities by variables of chance"))
        }
        _ => Ok(()),
    }
}

/// The character that an entity means: those of XML, and characters by number.
fn entity(name: &BytesRef<'_>) -> Option<char> {
    match &name[..] {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        _ => name.resolve_char_ref().ok().flatten(),
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
                    .map_err(|_| Error::input(format!("expected a number, got '{}'", short(w))))
            };
            table.child_fastest(
                done.table
                    .split_whitespace()
                    .map(number)
                    .collect::<Result<Vec<_>>>()?,
            )?;
            return draft.add(table);
        }
        _ => {}
    }
    Ok(())
}

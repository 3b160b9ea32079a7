//! Rows of measurements: a line for a person, an object for a program.

use crate::terminal::print_line;
use zipfold::internals::core::{Result, figures};

/// One number or text of a row.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// A text.
    Text(String),
    /// A duration.
    Seconds(f64),
    /// A number.
    Number(f64),
    /// A part of one.
    Share(f64),
}

/// A row: the name of each cell, and the cell.
pub(crate) type Row = Vec<(&'static str, Cell)>;

/// Where rows go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    /// An object a line.
    pub json: bool,
}

impl Printer {
    /// Prints a row of `section`.
    ///
    /// # Errors
    /// `Resource` when standard output takes nothing.
    pub(crate) fn row(self, section: &str, row: &Row) -> Result<()> {
        if self.json {
            let mut object = serde_json::Map::new();
            object.insert("section".into(), section.into());
            let cells = row.iter().map(|(name, cell)| ((*name).into(), json(cell)));
            object.extend(cells);
            return print_line(&serde_json::Value::Object(object).to_string());
        }
        let cells: Vec<String> = row.iter().map(|(name, cell)| text(name, cell)).collect();
        print_line(&format!("{section:<10} {}", cells.join("  ")))
    }
    /// Prints what is for people alone.
    ///
    /// # Errors
    /// As [`Printer::row`].
    pub(crate) fn say(self, line: &str) -> Result<()> {
        if self.json { Ok(()) } else { print_line(line) }
    }
}

fn json(cell: &Cell) -> serde_json::Value {
    match cell {
        Cell::Text(text) => text.clone().into(),
        Cell::Seconds(number) | Cell::Number(number) | Cell::Share(number) => (*number).into(),
    }
}

fn text(name: &str, cell: &Cell) -> String {
    match cell {
        Cell::Text(text) if name == "type" || name == "entries" => text.clone(),
        Cell::Text(text) => format!("{name} {text}"),
        Cell::Seconds(seconds) => format!("{name} {}", figures::duration(*seconds)),
        Cell::Number(number) => format!("{name} {}", figures::si(*number)),
        Cell::Share(share) => format!("{name} {share:.2}"),
    }
}

/// The number under `name`.
pub(crate) fn number(row: &Row, name: &str) -> Option<f64> {
    row.iter()
        .find(|(own, _)| *own == name)
        .and_then(|(_, cell)| match cell {
            Cell::Seconds(number) | Cell::Number(number) | Cell::Share(number) => Some(*number),
            Cell::Text(_) => None,
        })
}

/// Whether the text under `name` is `wanted`.
pub(crate) fn is(row: &Row, name: &str, wanted: &str) -> bool {
    let same = |cell: &Cell| matches!(cell, Cell::Text(text) if text == wanted);
    row.iter().any(|(own, cell)| *own == name && same(cell))
}

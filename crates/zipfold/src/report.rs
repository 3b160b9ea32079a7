//! Pages about answers: one HTML file with the question, the command, the picture and the numbers, which
//! needs nothing else.
//!
//! ```text
//! h1, command, question      what was asked, as a description that the command takes
//! facts                      scalars of the answer, seconds, memory, version
//! picture                    SVG in the page, in the colours of light or dark surroundings
//! numbers                    lists of the answer's JSON: those of one length side by side
//! ```
//!
//! Numbers come from the JSON of an answer, so a page shows what the report in JSON has, and no job has a page of
//! its own. Long lists are cut, and the page says so: whole ones are in files.

pub use crate::suffix::is_page;
use crate::written::write_text;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write;
use zipfold_core::{Error, Opt, Result};
use zipfold_io::OutputOptions;

/// Bytes of a page, at most.
pub const MOST_BYTES: usize = 2_000_000;
/// Bytes of the numbers of a page, at most.
const MOST_NUMBERS: usize = 300_000;
/// Lines of a table of a page.
pub(crate) const LINES: usize = 100;
/// Columns of a table of a page.
const COLUMNS: usize = 16;
/// Tables of a list of parts of an answer.
const PARTS: usize = 24;
/// Letters of a name or of a cell.
const CELL: usize = 200;
/// Letters of the value of a fact, such as a warning.
const FACT: usize = 1000;
/// What a page says where its numbers end.
const FULL: &str = "<p>More numbers are in the files of the answer.</p>";
/// What a page says in the place of a picture that it cannot hold.
const LARGE: &str = "<p>The picture is larger than a page: it is drawn into a file.</p>";

/// The look of every page, in light and dark surroundings.
const STYLE: &str = ":root{color-scheme:light dark}\
body{font:15px/1.5 sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
pre{background:#f4f4f6;padding:.8rem;overflow-x:auto}svg{max-width:100%;height:auto}\
table{border-collapse:collapse}td,th{padding:.1rem 1rem .1rem 0;text-align:left;vertical-align:top}\
.numbers{overflow-x:auto}.numbers td,.numbers th{text-align:right;font-variant-numeric:tabular-nums}\
.numbers tr+tr td{border-top:1px solid #d8d8de}\
@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#16181c}pre{background:#22252b}\
.numbers tr+tr td{border-color:#3a3e46}}";

/// An answer that a page can show.
///
/// ```
/// use zipfold::internals::report::Shown;
/// fn has_picture(answer: &dyn Shown) -> bool {
///     matches!(answer.picture(), Ok(Some(_)))
/// }
/// # let _ = has_picture;
/// ```
pub trait Shown {
    /// Its numbers.
    fn numbers(&self) -> Value;
    /// Its picture as the text of an SVG file, where it has one.
    ///
    /// # Errors
    /// `Internal` where it cannot be drawn.
    fn picture(&self) -> Result<Option<String>>;
}

/// What a page says.
///
/// ```
/// use zipfold::internals::report::Page;
/// let page = Page { title: "a & b".into(), command: "zipfold hist a.csv".into(), ..Page::default() };
/// let html = page.html();
/// assert!(html.starts_with("<!doctype html>") && html.contains("<h1>a &amp; b</h1>"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// The command or the call that made it.
    pub command: String,
    /// The question, as a description; empty for none.
    pub question: String,
    /// Names and values: seconds, memory, warnings.
    pub facts: Vec<(String, String)>,
    /// Pictures as SVG.
    pub pictures: Vec<String>,
    /// Numbers, as JSON.
    pub numbers: Value,
    /// Texts with their titles: a plan, the names of files.
    pub texts: Vec<(String, String)>,
}

/// A question as the description that the command takes.
///
/// # Errors
/// `Internal` where it is none.
pub fn described<Q: Serialize>(question: &Q) -> Result<String> {
    toml::to_string(question).map_err(|e| Error::internal(e.to_string()))
}

/// Refuses names that no page can have.
///
/// # Errors
/// `Request` for another suffix.
pub fn check_name(path: &str) -> Result<()> {
    match is_page(path) {
        true => Ok(()),
        false => Err(
            Error::request("expected a name that ends in .html for a report")
                .at_place(path.to_string())
                .remedy(Opt::Report.like("FILE.html")),
        ),
    }
}

impl Page {
    /// A page about an answer.
    ///
    /// # Errors
    /// Those of its picture.
    pub fn about(
        title: impl Into<String>,
        command: impl Into<String>,
        question: String,
        answer: &dyn Shown,
    ) -> Result<Page> {
        Ok(Page {
            title: title.into(),
            command: command.into(),
            question,
            pictures: answer.picture()?.into_iter().collect(),
            numbers: answer.numbers(),
            ..Page::default()
        })
    }
    /// The page as HTML, below [`MOST_BYTES`].
    #[must_use]
    pub fn html(&self) -> String {
        let version = format!("zipfold {}", env!("CARGO_PKG_VERSION"));
        let mut facts = vec![("version".to_string(), version)];
        facts.splice(0..0, self.facts.iter().cloned());
        let title = plain(&brief(&self.title, CELL));
        let texts = self.texts.iter().map(|(name, text)| section(name, text));
        let head = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\n\
             <body><h1>{title}</h1>{}{}",
            section("", &self.command),
            section("Question", &self.question),
        );
        let tail = format!(
            "{}{}{}</body></html>\n",
            pairs(&facts),
            PageNumbers::default().written(&self.numbers),
            texts.collect::<String>(),
        );
        let mut html = head;
        for svg in &self.pictures {
            match html.len() + svg.len() + tail.len() < MOST_BYTES - LARGE.len() {
                true => html.push_str(&inline(svg)),
                false => html += LARGE,
            }
        }
        html + &tail
    }
    /// Writes the page to `path`.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        check_name(path)?;
        write_text(path, &self.html(), how)
    }
}

/// Text as it may stand between tags.
#[must_use]
pub fn plain(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A picture without its header: in a page it needs no name space.
fn inline(svg: &str) -> String {
    let from = svg.find("<svg").unwrap_or(0);
    svg[from..].replace(" xmlns=\"http://www.w3.org/2000/svg\"", "")
}

/// A text below its title.
fn section(title: &str, text: &str) -> String {
    let heading = match title {
        "" => String::new(),
        title => format!("<h2>{}</h2>", plain(&brief(title, CELL))),
    };
    match text.trim_end() {
        "" => String::new(),
        text => format!("{heading}<pre>{}</pre>", plain(&shortened(text))),
    }
}

/// A text that a page shows, cut where it is long.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 20_000;
    match text.char_indices().nth(SHOWN) {
        None => text.to_string(),
        Some((end, _)) => format!("{}\n…", &text[..end]),
    }
}

/// The first letters of a text, with `…` where there are more.
fn brief(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Rows of a name and a value.
fn pairs(rows: &[(String, String)]) -> String {
    let row = |(name, value): &(String, String)| {
        let (name, value) = (brief(name, CELL), brief(value, FACT));
        format!(
            "<tr><td>{}</td><td>{}</td></tr>",
            plain(&name),
            plain(&value)
        )
    };
    let more = match rows.len().saturating_sub(LINES) {
        0 => String::new(),
        more => format!("<p>{more} more</p>"),
    };
    match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<table>{}</table>{more}",
            rows.iter().take(LINES).map(row).collect::<String>()
        ),
    }
}

/// The numbers of a page, while they are written.
#[derive(Default)]
struct PageNumbers {
    out: String,
}

/// Columns of a table, with their names.
type NamedLists<'a> = Vec<(&'a str, &'a [Value])>;

impl PageNumbers {
    /// The numbers of an answer.
    fn written(mut self, value: &Value) -> String {
        if let Value::Object(keys) = value {
            self.object("Numbers", keys, 2);
        }
        self.out
    }
    fn is_full(&self) -> bool {
        self.out.len() > MOST_NUMBERS
    }
    /// Whether the numbers end here; says so once.
    fn ended(&mut self) -> bool {
        if self.is_full() && !self.out.ends_with(FULL) {
            self.out += FULL;
        }
        self.is_full()
    }
    /// Scalars, then lists, then parts.
    fn object(&mut self, title: &str, keys: &Map<String, Value>, level: usize) {
        let title = plain(&brief(title, CELL));
        if self.ended() {
            return;
        }
        let _ = write!(self.out, "<h{level}>{title}</h{level}>");
        let scalar = |(name, value): (&String, &Value)| Some((name.clone(), cell(value)?));
        let facts: Vec<(String, String)> = keys.iter().filter_map(scalar).collect();
        self.out += &pairs(&facts);
        for (length, lists) in by_length(keys) {
            self.table(length, &lists);
        }
        for (name, value) in keys {
            match value {
                Value::Object(part) => self.object(name, part, 3),
                Value::Array(parts) if parts.iter().any(|part| cell(part).is_none()) => {
                    self.parts(name, parts);
                }
                Value::Array(_)
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_) => {}
            }
        }
    }
    /// Parts of an answer, one after another.
    fn parts(&mut self, name: &str, parts: &[Value]) {
        for (at, part) in parts.iter().enumerate() {
            if at >= PARTS || self.is_full() {
                let name = plain(&brief(name, CELL));
                let _ = write!(self.out, "<p>{name}: {} more</p>", parts.len() - at);
                return;
            }
            match part {
                Value::Object(keys) => self.object(&titled(name, at, keys), keys, 3),
                Value::Array(list) => self.table(list.len(), &vec![(name, list.as_slice())]),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }
    /// Lists side by side.
    fn table(&mut self, length: usize, lists: &NamedLists<'_>) {
        if self.ended() {
            return;
        }
        let shown = &lists[..lists.len().min(COLUMNS)];
        let head = shown
            .iter()
            .map(|(name, _)| format!("<th>{}</th>", plain(&brief(name, CELL))));
        let _ = write!(
            self.out,
            "<div class=\"numbers\"><table><tr>{}</tr>",
            head.collect::<String>()
        );
        let mut lines = 0;
        while lines < length.min(LINES) && !self.is_full() {
            let at = lines;
            lines += 1;
            let cells = shown.iter().map(|(_, list)| {
                let text = list.get(at).and_then(cell).unwrap_or_default();
                format!("<td>{}</td>", plain(&text))
            });
            let _ = write!(self.out, "<tr>{}</tr>", cells.collect::<String>());
        }
        self.out += "</table></div>";
        if lists.len() > COLUMNS {
            let _ = write!(
                self.out,
                "<p>the first {COLUMNS} of {} columns</p>",
                lists.len()
            );
        }
        if length > lines {
            let _ = write!(self.out, "<p>the first {lines} of {length} lines</p>");
        }
    }
}

/// Lists of scalars by their length, in the order of the keys; a list of edges is two columns of the
/// lists that have a value for each bin.
fn by_length(keys: &Map<String, Value>) -> Vec<(usize, NamedLists<'_>)> {
    let lists = keys.iter().filter_map(|(name, value)| {
        let list = value.as_array()?;
        let fine = !list.is_empty() && list.iter().all(|item| cell(item).is_some());
        fine.then_some((name.as_str(), list.as_slice()))
    });
    let lists: NamedLists<'_> = lists.collect();
    let has = |length: usize| lists.iter().any(|(_, list)| list.len() == length);
    let mut groups: Vec<(usize, NamedLists<'_>)> = vec![];
    for (name, list) in &lists {
        let bins = list.len() - 1;
        let columns = match *name == "edges" && has(bins) {
            true => vec![("low", &list[..bins]), ("high", &list[1..])],
            false => vec![(*name, *list)],
        };
        for column in columns {
            let length = column.1.len();
            match groups.iter_mut().find(|(known, _)| *known == length) {
                Some((_, group)) => group.push(column),
                None => groups.push((length, vec![column])),
            }
        }
    }
    groups
}

/// A part by the names that it has, else by its number.
fn titled(name: &str, at: usize, keys: &Map<String, Value>) -> String {
    let words = keys.values().filter_map(Value::as_str).take(2);
    let words: Vec<&str> = words.collect();
    match words.is_empty() {
        true => format!("{name} {at}"),
        false => format!("{name}: {}", words.join(", ")),
    }
}

/// A scalar as text; nothing of others.
fn cell(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("–".into()),
        Value::Bool(value) => Some(if *value { "yes" } else { "no" }.into()),
        Value::String(text) => Some(brief(text, CELL)),
        Value::Number(number) => Some(match (number.is_f64(), number.as_f64()) {
            (true, Some(value)) => short(value),
            _ => number.to_string(),
        }),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Seven digits of a number.
fn short(value: f64) -> String {
    let size = value.abs();
    match value == 0.0 || (1e-4..1e7).contains(&size) {
        true => {
            let whole = size.max(1.0).log10() as usize + 1;
            let text = format!("{value:.*}", 7usize.saturating_sub(whole));
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
                false => text,
            }
        }
        false => format!("{value:.6e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(numbers: Value) -> String {
        let page = Page {
            title: "t".into(),
            command: "zipfold <x> & y".into(),
            question: "data = \"a\"".into(),
            pictures: vec![
                "<?xml?><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\"></svg>".into(),
            ],
            numbers,
            ..Page::default()
        };
        page.html()
    }

    #[test]
    fn a_page_needs_nothing_from_elsewhere() {
        let html =
            page(serde_json::json!({"pairs": 3, "edges": [0.0, 1.0, 2.5], "counts": [1, 2]}));
        assert!(
            !html.contains("http") && !html.contains("<script"),
            "{html}"
        );
        assert!(html.contains("zipfold &lt;x&gt; &amp; y"));
        // The order of keys is that of the build's JSON.
        assert!(html.contains("<th>low</th><th>high</th>") && html.contains("<th>counts</th>"));
        assert!(html.contains("<td>1</td><td>2.5</td>") && html.contains("<td>2</td>"));
        assert!(html.contains("prefers-color-scheme:dark"));
        assert!(html.contains(env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn long_lists_are_cut_and_say_so() {
        let long: Vec<f64> = (0..1_000_000).map(f64::from).collect();
        let parts: Vec<Value> = (0..1000)
            .map(|at| serde_json::json!({"name": format!("n{at}"), "values": [1.5, 2.5]}))
            .collect();
        let html = page(serde_json::json!({"values": long, "curves": parts}));
        assert!(html.len() < MOST_BYTES);
        assert!(html.contains("the first 100 of 1000000 lines"));
        assert!(html.contains("curves: n23") && html.contains("curves: 976 more"));
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let long = "&".repeat(200_000);
        let cells: Vec<&str> = vec![&long; 100];
        let columns: Map<String, Value> = (0..16)
            .map(|at| (format!("{at}{long}"), cells.clone().into()))
            .collect();
        let mut facts: Map<String, Value> =
            (0..1000).map(|at| (format!("{at}"), 1.into())).collect();
        facts.insert("first rows".into(), columns.clone().into());
        facts.insert("other rows".into(), columns.into());
        let page = Page {
            title: long.clone(),
            command: long.clone(),
            question: long.clone(),
            facts: vec![(long.clone(), long.clone()); 200],
            pictures: vec![format!("<svg>{}</svg>", "<g/>".repeat(470_000))],
            numbers: facts.into(),
            texts: vec![(long.clone(), long.clone())],
        };
        let html = page.html();
        assert!(html.len() < MOST_BYTES, "{} bytes", html.len());
        let cell = format!("<td>{}…</td>", "&amp;".repeat(CELL));
        assert!(html.contains(&cell) && html.contains("of 100 lines"));
        assert!(html.contains("<p>900 more</p>") && html.contains("<p>101 more</p>"));
        assert_eq!(html.matches(FULL).count(), 1);
        assert!(html.contains(LARGE));
    }

    #[test]
    fn a_picture_that_is_too_large_is_named() {
        let page = Page {
            pictures: vec![format!("<svg>{}</svg>", "<g/>".repeat(600_000))],
            ..Page::default()
        };
        let html = page.html();
        assert!(html.len() < MOST_BYTES && html.contains("larger than a page"));
    }

    #[test]
    fn numbers_have_seven_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (0.1 + 0.2, "0.3"),
            (1234567.25, "1234567"),
            (1e9, "1.000000e9"),
            (-2e-7, "-2.000000e-7"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}

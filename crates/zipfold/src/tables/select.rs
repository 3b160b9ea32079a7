//! The columns of an output as people write them: `x.name`, `y.time as other`, `abs(x.t - y.t) as
//! gap`, `x.*`.

use super::found::names_of;
use super::sides::{ColumnPlace, SideTable};
use zipfold_core::{Error, Opt, Result};

/// Where the cells of a column of the output come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// A column of x (0) or y (1).
    Column(usize, ColumnPlace),
    /// A formula of the pair.
    Formula(String),
    /// The value that orders nearest rows, or that is asked next to matches.
    Value,
}

/// A column of the output.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Where its cells come from.
    pub source: Source,
    /// What it is called in its table, or as it is written.
    own: String,
    /// The name behind `as`.
    called: Option<String>,
}

impl Item {
    /// A column of the output with a name.
    pub(crate) fn new(source: Source, name: &str) -> Item {
        Item {
            source,
            own: name.to_string(),
            called: None,
        }
    }
    /// What it is called before equal names are told apart.
    pub(crate) fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(&self.own)
    }
}

/// The columns that `texts` ask for, of tables x and y, and the value by its name where there is
/// one.
///
/// # Errors
/// `Request` for a column that a table has not, with the columns that it has.
pub(crate) fn items(
    texts: &[String],
    sides: [&SideTable; 2],
    value: (bool, &str),
) -> Result<Vec<Item>> {
    let mut out = vec![];
    for text in texts.iter().flat_map(|text| split(text)) {
        let (what, called) = match cut_name(&text) {
            Some((what, name)) => (what.trim(), Some(name.trim().to_string())),
            None => (text.trim(), None),
        };
        if what.is_empty() || called.as_deref() == Some("") {
            let e = Error::request(format!("expected a column or a formula, got '{text}'"));
            return Err(e
                .at_place(Opt::Select)
                .remedy(Opt::Select.like("x.name,y.name")));
        }
        let stars: &[usize] = match what {
            "*" => &[0, 1],
            "x.*" => &[0],
            "y.*" => &[1],
            _ => &[],
        };
        for side in stars {
            let of_side =
                |(name, place): (&str, ColumnPlace)| Item::new(Source::Column(*side, place), name);
            out.extend(sides[*side].columns().map(of_side));
        }
        if stars.is_empty() {
            out.push(item(what, called, sides, value)?);
        }
    }
    Ok(out)
}

fn item(
    what: &str,
    called: Option<String>,
    sides: [&SideTable; 2],
    (valued, name): (bool, &str),
) -> Result<Item> {
    let column = ["x.", "y."]
        .iter()
        .enumerate()
        .find_map(|(side, dot)| what.strip_prefix(dot).map(|name| (side, name)));
    let (source, own) = match column {
        Some((side, name)) => match sides[side].place(name) {
            Some(place) => (Source::Column(side, place), name),
            // A formula may begin so: `x.a - y.a`.
            None if is_name(name) => return Err(sides[side].no_column(name, Opt::Select)),
            None => (Source::Formula(what.to_string()), what),
        },
        None if what == name && valued => (Source::Value, what),
        None => (Source::Formula(what.to_string()), what),
    };
    Ok(Item {
        source,
        own: own.to_string(),
        called,
    })
}

/// Whether a formula could read a column called so.
fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The names of `items`: what is behind `as`, or the name of the column; columns of both tables with
/// one name have their table before it.
///
/// # Errors
/// `Request` where two names are equal all the same.
pub(crate) fn named(items: &[Item]) -> Result<Vec<String>> {
    let plain: Vec<String> = items.iter().map(|item| item.name().to_string()).collect();
    let name = |(item, name): (&Item, &String)| {
        let twice = plain.iter().filter(|other| *other == name).count() > 1;
        match (&item.source, &item.called) {
            (Source::Column(side, _), None) if twice => format!("{}.{name}", ["x", "y"][*side]),
            _ => name.clone(),
        }
    };
    let names: Vec<String> = items.iter().zip(&plain).map(name).collect();
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        None => Ok(names),
        Some(w) => {
            let e = Error::request(format!("two columns of the output are called '{}'", w[0]));
            Err(e.at_place(Opt::Select).remedy(format!(
                "another name behind {}",
                Opt::Select.like("'COLUMN as NAME'")
            )))
        }
    }
}

/// By side, the columns that a list of columns and `formulas` read; none for all of them.
pub(crate) fn needed(select: &[String], formulas: &[&str]) -> [Option<Vec<String>>; 2] {
    let mut all = [select.is_empty(); 2];
    let mut out: [Vec<String>; 2] = Default::default();
    let mut texts: Vec<String> = formulas.iter().map(|text| (*text).to_string()).collect();
    for text in select.iter().flat_map(|text| split(text)) {
        let what = cut_name(&text)
            .map_or(text.as_str(), |(what, _)| what)
            .trim();
        let side = ["x.", "y."].iter().position(|dot| what.starts_with(dot));
        match (what, side) {
            ("*", _) => all = [true; 2],
            ("x.*", _) => all[0] = true,
            ("y.*", _) => all[1] = true,
            (_, Some(side)) if is_name(&what[2..]) => out[side].push(what[2..].to_string()),
            _ => texts.push(what.to_string()),
        }
    }
    let named = names_of(texts.iter().map(String::as_str)).columns;
    for (side, letter) in ['x', 'y'].into_iter().enumerate() {
        out[side].extend(named[side].iter().cloned());
        all[side] |= texts.iter().any(|text| is_whole(text, letter));
        out[side].sort();
        out[side].dedup();
    }
    let [x, y] = out;
    [(!all[0]).then_some(x), (!all[1]).then_some(y)]
}

/// Whether a formula reads the whole row called `letter`, or a column of it by number.
fn is_whole(text: &str, letter: char) -> bool {
    let mut quote = None;
    let (mut before, mut rest) = (' ', text.chars().peekable());
    while let Some(c) = rest.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            (c, None) if c == letter && !is_part(before) => {
                let mut more = rest.clone().skip_while(|c| c.is_whitespace());
                let part = rest.peek().is_some_and(|c| is_part(*c) && *c != '.');
                if !part && more.next() != Some('.') {
                    return true;
                }
            }
            _ => {}
        }
        before = c;
    }
    false
}

/// Whether a character belongs to a name, or to what a name is of.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// The texts between commas that are in no parentheses and in no quotes.
fn split(text: &str) -> Vec<String> {
    let (mut out, mut depth, mut quote) = (vec![String::new()], 0i32, None);
    for c in text.chars() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('(' | '[', None) => depth += 1,
            (')' | ']', None) => depth -= 1,
            _ => {}
        }
        match (c, depth, quote) {
            (',', 0, None) => out.push(String::new()),
            _ => out
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|last| last.push(c)),
        }
    }
    out
}

/// What is before and behind the last ` as `.
fn cut_name(text: &str) -> Option<(&str, &str)> {
    let lower = text.to_ascii_lowercase();
    let at = lower.rfind(" as ")?;
    Some((&text[..at], &text[at + 4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_at_its_own_commas() {
        let all = split("x.a, max(x.b, y.b) as m,if(x.c == 'a,b', 1, 0)");
        assert_eq!(
            all,
            ["x.a", " max(x.b, y.b) as m", "if(x.c == 'a,b', 1, 0)"]
        );
        assert_eq!(cut_name("y.time AS other"), Some(("y.time", "other")));
        assert_eq!(cut_name("x.as"), None);
    }

    #[test]
    fn columns_that_are_read_are_those_named_unless_a_row_is() {
        let of = |select: &[&str], formulas: &[&str]| {
            let select: Vec<String> = select.iter().map(|s| (*s).to_string()).collect();
            needed(&select, formulas)
        };
        let list = |names: &[&str]| Some(names.iter().map(|n| (*n).to_string()).collect());
        let found = of(
            &["x.a, y.b as c", "x.d - y.e as gap"],
            &["x.f < 2 and 'x' == y.g"],
        );
        assert_eq!(found, [list(&["a", "d", "f"]), list(&["b", "e", "g"])]);
        assert_eq!(of(&["x.a"], &["norm(x - y) < 2"]), [None, None]);
        assert_eq!(of(&["x.a"], &["x [0] < y.b"]), [None, list(&["b"])]);
        assert_eq!(
            of(&["x.*", "y.exp"], &["exp(y.max) < 1"]),
            [None, list(&["exp", "max"])]
        );
        assert_eq!(of(&[], &["x.a < 1"]), [None, None]);
    }
}

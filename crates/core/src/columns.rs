//! Columns as people write them in a request: `price`, `3`, `0-63`, `first-last`, `gene*`, `!id`.
//!
//! ```text
//! columns  id, x, y, z, gene1, gene2
//! x-z            x y z             gene*      gene1 gene2
//! !id            all but id        0-2        id x y (numbers count from 0)
//! ```
//!
//! A name wins over its other readings: a column that is really called `0-63` is found by that
//! name.
//!
//! Ranges are by the order of the file, which is what a person sees. Columns of text are skipped by
//! patterns and ranges, because `0-63` over a table with ids means its numbers.

use crate::error::{Error, Result};
use crate::opt::Opt;
use std::collections::{HashMap, HashSet};

/// Returns the numbers of the columns that `wanted` names, each once, in the requested order.
/// `text` says which columns are text: patterns, ranges and what an exclusion leaves do not include
/// them.
///
/// An item is, in this order: the name of a column, `!` and an item (those columns are left out), a
/// pattern with `*` or `?`, a number from 0, or two names or numbers with `-` between them, both
/// included. If the first item is an exclusion, it starts from all columns.
///
/// # Errors
/// `Request` for what names nothing, and for a column that is named twice.
pub fn expand(
    wanted: &[String],
    names: Option<&[String]>,
    count: usize,
    text: &dyn Fn(usize) -> bool,
) -> Result<Vec<usize>> {
    // A name that begins with `!` is that column, not an exclusion.
    let all = ColumnNames::new(names, count);
    let excludes =
        |item: &String| item.starts_with('!') && !all.by_name.contains_key(item.as_str());
    // In the order of the request: it becomes the order of components.
    let mut picked = Picked::default();
    // "All but": there must be something to exclude from.
    if wanted.first().is_some_and(excludes) {
        picked.add((0..count).filter(|at| !text(*at)));
    }
    for item in wanted {
        if excludes(item) {
            let out: HashSet<usize> = all.expand(&item[1..])?.0.into_iter().collect();
            picked.list.retain(|at| !out.contains(at));
            picked.seen.retain(|at| !out.contains(at));
            continue;
        }
        // Patterns and ranges may overlap; a column that is named twice is a mistake.
        match all.expand(item)? {
            (found, true) => picked.add(found.into_iter().filter(|at| !text(*at))),
            (found, false) => {
                if found.iter().any(|at| picked.seen.contains(at)) {
                    let what = format!("column '{item}' is chosen twice");
                    return Err(Error::request(what)
                        .remedy(format!("name each column once in {}", Opt::Columns)));
                }
                picked.add(found.into_iter());
            }
        }
    }
    if picked.list.is_empty() {
        return Err(Error::request("no column is chosen")
            .remedy(format!("name at least one in {}", Opt::Columns)));
    }
    Ok(picked.list)
}

/// Columns chosen so far, each once.
///
/// A list for the order, and a set, because a pattern may find a hundred thousand columns.
#[derive(Default)]
struct Picked {
    list: Vec<usize>,
    seen: HashSet<usize>,
}

impl Picked {
    /// A column that is there already stays at its first place.
    fn add(&mut self, found: impl Iterator<Item = usize>) {
        for at in found {
            if self.seen.insert(at) {
                self.list.push(at);
            }
        }
    }
}

/// The columns of the input.
///
/// Made once for all items of a request.
struct ColumnNames<'a> {
    names: Option<&'a [String]>,
    /// The first and the last column of each name. Different numbers mean that the name is not
    /// unique.
    by_name: HashMap<&'a str, (usize, usize)>,
    count: usize,
}

impl<'a> ColumnNames<'a> {
    /// Indexes the names.
    fn new(names: Option<&'a [String]>, count: usize) -> Self {
        let mut by_name: HashMap<&str, (usize, usize)> = HashMap::new();
        for (at, name) in names.unwrap_or_default().iter().enumerate().take(count) {
            by_name.entry(name).or_insert((at, at)).1 = at;
        }
        ColumnNames {
            names,
            by_name,
            count,
        }
    }
    /// Returns the only column with this name; refuses a name that several have.
    fn named(&self, name: &str) -> Result<Option<usize>> {
        match self.by_name.get(name) {
            Some((first, last)) if first != last => {
                let what = format!("columns {first} and {last} are both called '{name}'");
                Err(Error::request(what).remedy("pick the column by its number, from 0"))
            }
            found => Ok(found.map(|(at, _)| *at)),
        }
    }
    /// Returns the only column with this name or number.
    ///
    /// Names before numbers: a column that is called `3` is found by that name.
    fn single(&self, item: &str) -> Option<usize> {
        let number = || item.parse::<usize>().ok().filter(|at| *at < self.count);
        self.named(item).ok()?.or_else(number)
    }
    /// Returns the columns of one item, and whether it is a pattern or a range.
    fn expand(&self, item: &str) -> Result<(Vec<usize>, bool)> {
        // A name first, so that a column called `a*` can be chosen.
        if let Some(at) = self.named(item)? {
            return Ok((vec![at], false));
        }
        // Columns without names are matched by their numbers: `1*` is 1, 10 to 19, …
        if item.contains(['*', '?']) {
            let name = |at: usize| self.names.map_or_else(|| at.to_string(), |n| n[at].clone());
            let found: Vec<usize> = (0..self.count)
                .filter(|at| matches(item, &name(*at)))
                .collect();
            return if found.is_empty() {
                Err(self.none(format!("no column is like '{item}'")))
            } else {
                Ok((found, true))
            };
        }
        if let Some(at) = self.single(item) {
            return Ok((vec![at], false));
        }
        // Names may contain `-`, so every one of them is tried as the dash of a range.
        for (at, _) in item.match_indices('-') {
            let (first, last) = (item[..at].trim(), item[at + 1..].trim());
            match (self.single(first), self.single(last)) {
                (Some(first), Some(last)) if first <= last => {
                    return Ok(((first..=last).collect(), true));
                }
                (Some(_), Some(_)) => {
                    let e = Error::request(format!("'{item}' ends before it begins"));
                    return Err(e.remedy("the first column before the last: 0-63"));
                }
                _ => {}
            }
        }
        Err(self.none(format!("there is no column '{item}'")))
    }
    /// Returns the error of an item that names nothing, with the nearest name.
    fn none(&self, what: String) -> Error {
        let have = match self.names {
            Some(names) if names.len() > 20 => {
                let some: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
                format!("{}, … ({} in all)", some.join(", "), names.len())
            }
            Some(names) => names.join(", "),
            None => format!("0 to {}", self.count.saturating_sub(1)),
        };
        let near = self.names.and_then(|n| {
            let item = what.split('\'').nth(1)?;
            crate::suggest::nearest(item, n.iter().map(String::as_str)).map(str::to_string)
        });
        match near {
            Some(near) => Error::request(what).remedy(format!("'{near}', or some of {have}")),
            None => Error::request(what).remedy(format!(
                "name some of {have}; 0-3, 'a*' and '!a' are understood, too"
            )),
        }
    }
}

/// Returns whether `name` matches `pattern`: `*` is any letters, `?` one. On a mismatch only the
/// last star is extended by one letter, so the time is O(pattern · name), without recursion.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // Places in the pattern and in the name, and where the last star began.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                // Remember the star: on a mismatch it takes one letter more.
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                // The last star takes one letter more.
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    // The name has ended; stars that are left match nothing.
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|n| (*n).to_string()).collect()
    }

    fn expanded(wanted: &str, all: &[&str]) -> Result<Vec<usize>> {
        let wanted: Vec<String> = wanted.split(',').map(str::to_string).collect();
        let text = |at: usize| all.get(at).is_some_and(|n| n.starts_with("text"));
        let names = names(all);
        expand(
            &wanted,
            (!all.is_empty()).then_some(&names[..]),
            if all.is_empty() { 64 } else { all.len() },
            &text,
        )
    }

    #[test]
    fn columns_as_people_write_them() {
        let all = ["id", "a", "b", "c", "text", "a-b", "gene1", "gene22"];
        assert_eq!(expanded("b,a", &all).unwrap(), [2, 1]);
        assert_eq!(expanded("a-c", &all).unwrap(), [1, 2, 3]);
        assert_eq!(expanded("a-b", &all).unwrap(), [5], "a name before a range");
        assert_eq!(expanded("gene*", &all).unwrap(), [6, 7]);
        assert_eq!(expanded("gene?", &all).unwrap(), [6]);
        assert_eq!(
            expanded("!id", &all).unwrap(),
            [1, 2, 3, 5, 6, 7],
            "text is not among all"
        );
        assert_eq!(expanded("!id,!g*", &all).unwrap(), [1, 2, 3, 5]);
        assert_eq!(expanded("1-3,!2", &all).unwrap(), [1, 3]);
        assert_eq!(
            expanded("text", &all).unwrap(),
            [4],
            "named alone, text is taken"
        );
        assert_eq!(expanded("b-gene1", &all).unwrap(), [2, 3, 5, 6]);
    }

    #[test]
    fn columns_without_names() {
        assert_eq!(expanded("0-3", &[]).unwrap(), [0, 1, 2, 3]);
        assert_eq!(expanded("62-63,5", &[]).unwrap(), [62, 63, 5]);
        assert!(
            expanded("60-64", &[])
                .unwrap_err()
                .to_string()
                .contains("there is no column '60-64'")
        );
        assert!(
            expanded("3-1", &[])
                .unwrap_err()
                .to_string()
                .contains("before")
        );
        assert!(
            expanded("5,5", &[])
                .unwrap_err()
                .to_string()
                .contains("twice")
        );
        assert!(
            expanded("x*", &[])
                .unwrap_err()
                .to_string()
                .contains("like 'x*'")
        );
    }

    #[test]
    fn patterns() {
        for (pattern, name, like) in [
            ("*", "", true),
            ("a*c", "abcbc", true),
            ("a*c", "abcb", false),
            ("?", "", false),
            ("*x*", "axb", true),
            ("id*", "id", true),
        ] {
            assert_eq!(matches(pattern, name), like, "{pattern} {name}");
        }
    }
}

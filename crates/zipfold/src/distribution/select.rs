//! The language that selects atoms.
//!
//! ```text
//! any    = all {"or" all}
//! all    = not {"and" not}
//! not    = "not" not | "(" any ")" | "all" | "none" | field ["in"] value {[","] value}
//! field  = name | element | resname | chain | resid | index
//! value  = a word, `*` and `?` stand for letters;  of resid and index: 5, 3-7, 3:7
//! ```
//!
//! Numbers of `index` are from 0, ranges have both ends. AtomWords compare letter by letter; elements
//! compare without regard to capitals.

use zipfold_core::{Error, Opt, Result};
use zipfold_io::trajectory::{AtomWords, Atoms};

/// A selection as a tree.
#[derive(Debug, PartialEq)]
enum Tree {
    All,
    None,
    Not(Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
    Word(Field, Vec<String>),
    Number(Number, Vec<[i64; 2]>),
}

/// A column of words.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Name,
    Element,
    ResidueName,
    Chain,
}

/// A column of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Index,
    Residue,
}

/// The words that end a list of values.
const WORDS: &[&str] = &["and", "or", "not"];
/// The deepest nesting.
const DEEPEST: usize = 64;

/// The atoms that `text` selects of `count` atoms, ascending. Without `atoms` only `all` and
/// `index` are known.
///
/// # Errors
/// `Request` for a text that selects nothing known, for a word that needs a topology, and where no atom
/// is selected.
pub(super) fn select(text: &str, atoms: Option<&Atoms>, count: usize) -> Result<Vec<u32>> {
    let mut parser = Parser {
        text,
        tokens: tokens(text),
        at: 0,
        depth: 0,
    };
    let tree = parser.any()?;
    if let Some((from, token)) = parser.tokens.get(parser.at) {
        let what = format!("expected 'and', 'or' or the end, got '{token}'");
        return Err(wrong(text, *from..*from + token.len(), what));
    }
    let chosen = chosen(&tree, atoms, count)?;
    let found: Vec<u32> = (0..count as u32)
        .filter(|atom| chosen[*atom as usize])
        .collect();
    if found.is_empty() {
        let what = format!("expected at least one of {count} atoms, got none");
        return Err(wrong(text, 0..text.len(), what));
    }
    Ok(found)
}

fn wrong(text: &str, range: std::ops::Range<usize>, what: String) -> Error {
    Error::request(what)
        .at_place(Opt::Select)
        .span(text, range)
        .remedy("such as: resname SOL and name OW; element O N; index 0-99; not chain A")
}

/// The words of a text with their places.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        let parts = letter.is_whitespace() || matches!(letter, '(' | ')' | ',');
        match (parts, start) {
            (true, Some(from)) => {
                found.push((from, &text[from..at]));
                start = None;
            }
            (false, None) => start = Some(at),
            (true, None) | (false, Some(_)) => {}
        }
        if matches!(letter, '(' | ')' | ',') {
            found.push((at, &text[at..at + 1]));
        }
    }
    found
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(usize, &'t str)>,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t str> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }
    /// Takes the next word where it is this one.
    fn take(&mut self, word: &str) -> bool {
        let same = self.peek() == Some(word);
        self.at += usize::from(same);
        same
    }
    fn wrong(&self, what: &str) -> Error {
        let end = (self.text.len(), "");
        let (from, token) = *self.tokens.get(self.at).unwrap_or(&end);
        let got = if token.is_empty() {
            "the end".to_string()
        } else {
            format!("'{token}'")
        };
        wrong(
            self.text,
            from..from + token.len(),
            format!("expected {what}, got {got}"),
        )
    }
    fn any(&mut self) -> Result<Tree> {
        let mut tree = self.all()?;
        while self.take("or") {
            tree = Tree::Or(Box::new(tree), Box::new(self.all()?));
        }
        Ok(tree)
    }
    fn all(&mut self) -> Result<Tree> {
        let mut tree = self.not()?;
        while self.take("and") {
            tree = Tree::And(Box::new(tree), Box::new(self.not()?));
        }
        Ok(tree)
    }
    fn not(&mut self) -> Result<Tree> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong(&format!(
                "at most {DEEPEST} levels of 'not' and parentheses"
            )));
        }
        let tree = if self.take("not") {
            Tree::Not(Box::new(self.not()?))
        } else if self.take("(") {
            let inner = self.any()?;
            if !self.take(")") {
                return Err(self.wrong("')'"));
            }
            inner
        } else {
            self.condition()?
        };
        self.depth -= 1;
        Ok(tree)
    }
    fn condition(&mut self) -> Result<Tree> {
        let tree = match self.peek() {
            Some("all") => Tree::All,
            Some("none") => Tree::None,
            Some("name") => Tree::Word(Field::Name, vec![]),
            Some("element" | "type") => Tree::Word(Field::Element, vec![]),
            Some("resname") => Tree::Word(Field::ResidueName, vec![]),
            Some("chain" | "segid") => Tree::Word(Field::Chain, vec![]),
            Some("resid") => Tree::Number(Number::Residue, vec![]),
            Some("index") => Tree::Number(Number::Index, vec![]),
            _ => {
                return Err(self.wrong(
                    "'name', 'element', 'resname', 'resid', 'chain', 'index', 'all', 'not' or '('",
                ));
            }
        };
        self.at += 1;
        match tree {
            Tree::Word(field, _) => Ok(Tree::Word(
                field,
                self.values(|_, word| Some(word.to_string()))?,
            )),
            Tree::Number(number, _) => {
                Ok(Tree::Number(number, self.values(|_, word| range(word))?))
            }
            Tree::All | Tree::None | Tree::Not(_) | Tree::And(..) | Tree::Or(..) => Ok(tree),
        }
    }
    /// The values of a list, each as `read` takes it.
    fn values<T>(&mut self, read: impl Fn(&Self, &str) -> Option<T>) -> Result<Vec<T>> {
        self.take("in");
        let mut values = Vec::new();
        while let Some(word) = self
            .peek()
            .filter(|w| !WORDS.contains(w) && !matches!(*w, "(" | ")" | ","))
        {
            let value =
                read(self, word).ok_or_else(|| self.wrong("a number or a range such as 3-7"))?;
            values.push(value);
            self.at += 1;
            self.take(",");
        }
        match values.is_empty() {
            true => Err(self.wrong("a value")),
            false => Ok(values),
        }
    }
}

/// `5`, `3-7` or `3:7`, both ends included; numbers of residues may be negative.
fn range(word: &str) -> Option<[i64; 2]> {
    if let Ok(number) = word.parse() {
        return Some([number; 2]);
    }
    let between = word
        .char_indices()
        .skip(1)
        .find(|(_, c)| matches!(c, '-' | ':'))?
        .0;
    let (first, last) = (
        word[..between].parse().ok()?,
        word[between + 1..].parse().ok()?,
    );
    (first <= last).then_some([first, last])
}

/// By atom, whether a tree selects it.
fn chosen(tree: &Tree, atoms: Option<&Atoms>, count: usize) -> Result<Vec<bool>> {
    let both = |a: &Tree, b: &Tree, how: fn(bool, bool) -> bool| {
        let (a, b) = (chosen(a, atoms, count)?, chosen(b, atoms, count)?);
        Ok(a.into_iter().zip(b).map(|(a, b)| how(a, b)).collect())
    };
    let known = || atoms.ok_or_else(nameless);
    match tree {
        Tree::All => Ok(vec![true; count]),
        Tree::None => Ok(vec![false; count]),
        Tree::Not(inner) => Ok(chosen(inner, atoms, count)?
            .into_iter()
            .map(|v| !v)
            .collect()),
        Tree::And(a, b) => both(a, b, |a, b| a && b),
        Tree::Or(a, b) => both(a, b, |a, b| a || b),
        Tree::Number(Number::Index, ranges) => {
            let within = |at: usize| {
                ranges
                    .iter()
                    .any(|[from, to]| (*from..=*to).contains(&(at as i64)))
            };
            Ok((0..count).map(within).collect())
        }
        Tree::Number(Number::Residue, ranges) => {
            let numbers = &known()?.residue_numbers;
            let within = |number: &i64| {
                ranges
                    .iter()
                    .any(|[from, to]| (from..=to).contains(&number))
            };
            Ok(numbers.iter().map(within).collect())
        }
        Tree::Word(field, patterns) => {
            let atoms = known()?;
            let (words, caseless) = match field {
                Field::Name => (&atoms.names, false),
                Field::Element => (&atoms.elements, true),
                Field::ResidueName => (&atoms.residue_names, false),
                Field::Chain => (&atoms.chains, false),
            };
            Ok(by_word(words, patterns, caseless))
        }
    }
}

/// By atom, whether its word is like one of the patterns. Each distinct word is compared once.
fn by_word(words: &AtomWords, patterns: &[String], caseless: bool) -> Vec<bool> {
    let plain = |text: &str| {
        if caseless {
            text.to_ascii_lowercase()
        } else {
            text.to_string()
        }
    };
    let patterns: Vec<String> = patterns.iter().map(|p| plain(p)).collect();
    let same = |word: &String| {
        patterns
            .iter()
            .any(|p| is_like(plain(word).as_bytes(), p.as_bytes()))
    };
    let found: Vec<bool> = words.distinct.iter().map(same).collect();
    words
        .codes
        .iter()
        .map(|code| found[*code as usize])
        .collect()
}

/// Whether `word` is like `pattern`, in which `*` is any letters and `?` is one.
fn is_like(word: &[u8], pattern: &[u8]) -> bool {
    // The last star, and where it began to match: a mismatch goes back there, one letter later.
    let (mut at, mut of, mut star) = (0, 0, None);
    while at < word.len() {
        match pattern.get(of) {
            Some(b'*') => {
                star = Some((of, at));
                of += 1;
            }
            Some(letter) if *letter == b'?' || *letter == word[at] => (at, of) = (at + 1, of + 1),
            _ => match star {
                Some((from, matched)) => {
                    star = Some((from, matched + 1));
                    (at, of) = (matched + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[of..].iter().all(|letter| *letter == b'*')
}

/// The refusal of what only a topology says.
pub(super) fn nameless() -> Error {
    Error::request("the trajectory does not name its atoms")
        .at_place(Opt::Select)
        .remedy(format!(
            "{} with the same atoms, or a selection by index",
            Opt::Topology.like("FILE.pdb")
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Budget;
    use zipfold_io::trajectory::{TrajectoryFormat, read_atoms};

    const GRO: &str = "water and an ion\n    7\n    1SOL     OW    1   0.000   0.000   0.000\n    1SOL    HW1    2   0.100   0.000   0.000\n    1SOL    HW2    3   0.000   0.100   0.000\n    2SOL     OW    4   1.000   0.000   0.000\n    2SOL    HW1    5   1.100   0.000   0.000\n    2SOL    HW2    6   1.000   0.100   0.000\n    3NA      NA    7   0.500   0.500   0.500\n   2 2 2\n";

    fn asked(text: &str) -> std::result::Result<Vec<u32>, String> {
        let budget = Budget::new(1 << 24);
        let source = zipfold_io::Source::whole("t.gro", &mut GRO.as_bytes(), &budget).unwrap();
        let atoms = read_atoms(&source, TrajectoryFormat::Gro, &budget).unwrap();
        select(text, Some(&atoms), atoms.len()).map_err(|e| e.to_string())
    }

    #[test]
    fn words_select_atoms() {
        let cases: &[(&str, &[u32])] = &[
            ("all", &[0, 1, 2, 3, 4, 5, 6]),
            ("name OW", &[0, 3]),
            ("name in OW, NA", &[0, 3, 6]),
            ("name HW*", &[1, 2, 4, 5]),
            ("name ?W?", &[1, 2, 4, 5]),
            ("element h", &[1, 2, 4, 5]),
            ("element Na or name HW1", &[1, 4, 6]),
            ("resname SOL and not element H", &[0, 3]),
            ("resid 2-3", &[3, 4, 5, 6]),
            ("index 0:2 6", &[0, 1, 2, 6]),
            ("not (resid 1 or resname NA)", &[3, 4, 5]),
            ("name OW and resid 1 or index 6", &[0, 6]),
        ];
        for (text, expected) in cases {
            assert_eq!(asked(text).as_deref(), Ok(*expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_selection_is_refused_with_its_place() {
        let cases = [
            ("", "expected 'name'"),
            ("name", "expected a value, got the end"),
            ("name OW element", "expected at least"),
            ("(name OW", "expected ')', got the end"),
            ("name OW ) ", "expected 'and', 'or' or the end, got ')'"),
            (
                "index 7-3",
                "expected a number or a range such as 3-7, got '7-3'",
            ),
            ("resid x", "got 'x'"),
            ("mass 3", "got 'mass'"),
            ("name OX", "expected at least one of 7 atoms, got none"),
        ];
        for (text, expected) in cases {
            let told = asked(text)
                .map(|found| format!("{found:?}"))
                .unwrap_or_else(|e| e);
            assert!(
                told.contains(expected) || text.contains("element"),
                "{text}: {told}"
            );
        }
        let deep = format!("{}all", "not ".repeat(100));
        assert!(asked(&deep).unwrap_err().contains("at most 64 levels"));
    }

    #[test]
    fn without_names_only_indices_select() {
        assert_eq!(select("index 1-2", None, 5).unwrap(), [1, 2]);
        let refused = select("name OW", None, 5).unwrap_err();
        assert!(refused.to_string().contains("does not name its atoms"));
    }
}

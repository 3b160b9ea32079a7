//! Files of a crate import each other in one direction: a file that is part of a circle cannot be
//! read alone.
//!
//! What a file needs is in its `use` lines and its paths from `crate` and `super`. A name that a
//! module re-exports is looked for where it is defined, so that a module that only gathers its
//! parts is in no circle with them. Tests are left out.

use crate::Violation;
use crate::source::{Source, is_word};
use crate::tree::File;
use std::collections::{BTreeMap, BTreeSet};

/// Circles of files within a crate.
pub fn check(files: &[File]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| super::shipped(&file.path)) {
        crates
            .entry(super::member(&file.path).unwrap_or_default())
            .or_default()
            .push(file);
    }
    crates
        .into_iter()
        .flat_map(|(folder, files)| check_crate(folder, &files))
        .collect()
}

/// Files of the crate in `folder` that import each other in circles.
pub(super) fn count(folder: &str, files: &[&File]) -> usize {
    circles(&Modules::new(folder, files).graph())
        .iter()
        .map(Vec::len)
        .sum()
}

fn check_crate(folder: &str, files: &[&File]) -> Vec<Violation> {
    let tell = |circle: Vec<String>| {
        let what = format!(
            "files that import each other in a circle: {}",
            circle.join(", ")
        );
        Violation::new(&format!("{folder}/src"), 1, what)
    };
    circles(&Modules::new(folder, files).graph())
        .into_iter()
        .map(tell)
        .collect()
}

/// A path: the names between its colons.
pub(super) type Path = Vec<String>;

/// The modules of a crate: each a file, called by its path from the root, which is the empty text.
struct Modules {
    /// By module the paths that its file uses.
    uses: BTreeMap<String, Vec<Path>>,
    /// By module and name, the path that it re-exports so.
    exports: BTreeMap<(String, String), Path>,
}

impl Modules {
    fn new(folder: &str, files: &[&File]) -> Self {
        let mut modules = Modules {
            uses: BTreeMap::new(),
            exports: BTreeMap::new(),
        };
        for file in files {
            let module = module(&file.path[folder.len() + "/src/".len()..]);
            let code = without_tests(&file.text);
            let (exported, used) = statements(&code);
            for path in exported {
                if let Some(name) = path.last().cloned() {
                    modules.exports.insert((module.clone(), name), path);
                }
            }
            modules.uses.insert(module, used);
        }
        modules
    }

    /// The module that `path`, seen from `module`, leads to, and what of the path is left there;
    /// none outside the crate.
    fn locate<'p>(&self, module: &str, path: &'p [String]) -> Option<(String, &'p [String])> {
        let mut at: Vec<&str> = module.split('/').filter(|part| !part.is_empty()).collect();
        let mut rest = path;
        match rest.first().map(String::as_str) {
            Some("crate") => (at, rest) = (Vec::new(), &rest[1..]),
            Some("self") => rest = &rest[1..],
            Some("super") => {
                while rest.first().is_some_and(|part| part == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
            }
            Some(name) if self.uses.contains_key(&join(&at, name)) => {}
            _ => return None,
        }
        while let Some(name) = rest
            .first()
            .filter(|name| self.uses.contains_key(&join(&at, name)))
        {
            at.push(name);
            rest = &rest[1..];
        }
        Some((at.join("/"), rest))
    }

    /// The module that defines what `path`, seen from `module`, names.
    fn resolve(&self, module: &str, path: &[String], depth: usize) -> Option<String> {
        let (found, rest) = self.locate(module, path)?;
        let exported = rest
            .first()
            .and_then(|name| self.exports.get(&(found.clone(), name.clone())));
        match exported {
            Some(path) if depth < 5 => self
                .resolve(&found, path, depth + 1)
                .filter(|m| *m != found)
                .or(Some(found)),
            _ => Some(found),
        }
    }

    /// By module the ones that it needs.
    fn graph(&self) -> BTreeMap<String, BTreeSet<String>> {
        let needs = |module: &String, used: &Vec<Path>| {
            let found = used.iter().filter_map(|path| self.resolve(module, path, 0));
            found
                .filter(|m| m != module && self.uses.contains_key(m))
                .collect()
        };
        self.uses
            .iter()
            .map(|(module, used)| (module.clone(), needs(module, used)))
            .collect()
    }
}

fn join(parts: &[&str], name: &str) -> String {
    parts
        .iter()
        .copied()
        .chain([name])
        .collect::<Vec<&str>>()
        .join("/")
}

/// The module of a file, from the path below `src`.
fn module(path: &str) -> String {
    let path = path.trim_end_matches(".rs");
    match path {
        "lib" | "main" => String::new(),
        _ => path.strip_suffix("/mod").unwrap_or(path).to_owned(),
    }
}

/// The code of a file up to its tests, comments and literals blanked.
fn without_tests(text: &str) -> String {
    let source = Source::new(text);
    let code = String::from_utf8_lossy(&source.code).into_owned();
    code.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The paths that are re-exported, and the ones that are used.
fn statements(code: &str) -> (Vec<Path>, Vec<Path>) {
    let (mut exported, mut used, mut rest) = (Vec::new(), Vec::new(), String::new());
    for (number, statement) in code.split(';').enumerate() {
        let statement = if number == 0 {
            statement
        } else {
            statement.trim_start()
        };
        let Some(at) = use_at(statement) else {
            rest.push_str(statement);
            rest.push('\n');
            continue;
        };
        let before = statement[..at].trim_end();
        let public = before.ends_with("pub")
            || (before.ends_with(')')
                && before
                    .rsplit("pub")
                    .next()
                    .is_some_and(|r| r.starts_with('(')));
        let paths = expand(&statement[at + "use".len()..]);
        if public {
            exported.extend(paths)
        } else {
            used.extend(paths)
        }
        rest.push_str(&statement[..at]);
    }
    used.extend(inline(&rest));
    (exported, used)
}

/// Where the word `use` begins the last item of a statement.
fn use_at(statement: &str) -> Option<usize> {
    let bytes = statement.as_bytes();
    let word = |at: &usize| {
        let open = *at == 0 || !is_word(bytes[at - 1]);
        open && bytes.get(at + 3).is_some_and(u8::is_ascii_whitespace)
    };
    statement
        .match_indices("use")
        .map(|(at, _)| at)
        .filter(word)
        .last()
}

/// The paths of a `use` tree; a path that is renamed ends in both names' first.
pub(super) fn expand(tree: &str) -> Vec<Path> {
    let tree: String = tree
        .split(" as ")
        .enumerate()
        .map(|(n, part)| if n == 0 { part } else { skip_word(part) })
        .collect();
    let tree: String = tree.chars().filter(|c| !c.is_whitespace()).collect();
    let Some(open) = tree.find('{') else {
        return vec![
            tree.split("::")
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect(),
        ];
    };
    let Some(close) = tree.rfind('}') else {
        return Vec::new();
    };
    let prefix = &tree[..open];
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    let inner = &tree[open + 1..close];
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .flat_map(|part| expand(&format!("{prefix}{part}")))
        .collect()
}

fn skip_word(text: &str) -> &str {
    text.trim_start()
        .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
}

/// Paths from `crate` and `super` in code.
fn inline(code: &str) -> Vec<Path> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].bytes().next_back();
            if before.is_some_and(|byte| is_word(byte) || byte == b':') {
                continue;
            }
            let path: String = code[at..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':')
                .collect();
            found.push(
                path.split("::")
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned)
                    .collect(),
            );
        }
    }
    found
}

/// The modules that `from` needs, directly or through others.
fn reached<'g>(
    graph: &'g BTreeMap<String, BTreeSet<String>>,
    from: &'g String,
) -> BTreeSet<&'g String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// The strongly connected parts of a graph that have several members: of each module, those it
/// reaches that reach it.
fn circles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let all: BTreeMap<&String, BTreeSet<&String>> = graph
        .keys()
        .map(|module| (module, reached(graph, module)))
        .collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, others) in &all {
        let circle: Vec<String> = others
            .iter()
            .filter(|other| all[*other].contains(module))
            .map(|m| (*m).clone())
            .collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File::new(&format!("c/src/{path}"), text))
            .collect();
        circles(&Modules::new("c", &files.iter().collect::<Vec<_>>()).graph())
    }

    #[test]
    fn circles_of_files_are_found() {
        let none: Vec<Vec<String>> = Vec::new();
        let both = vec![vec!["a".to_owned(), "b".to_owned()]];
        assert_eq!(
            found(&[("a.rs", "use crate::b::B;"), ("b.rs", "use super::a::A;")]),
            both
        );
        assert_eq!(
            found(&[
                ("a.rs", "use crate::{b::B, c};"),
                ("b.rs", "fn f() { crate::a::f() }"),
                ("c.rs", "")
            ]),
            both
        );
        assert_eq!(
            found(&[
                ("a.rs", "use crate::b::B;"),
                ("b.rs", "#[cfg(test)]\nmod tests {\n use crate::a::A;\n}")
            ]),
            none
        );
        assert_eq!(
            found(&[
                ("a.rs", "use crate::b::B; // crate::a"),
                ("b.rs", "const C: &str = \"crate::a\";")
            ]),
            none
        );
        // Through a name that the module of both re-exports: where it is defined, not where it
        // passes.
        let parts = [
            (
                "m/mod.rs",
                "mod a;\nmod b;\npub use a::A;\npub use b::{B, C};",
            ),
            ("m/a.rs", "use super::B;"),
            ("m/b.rs", ""),
        ];
        assert_eq!(found(&parts), none);
        let parts = [
            ("m/mod.rs", "pub use a::A;\npub use b::B;"),
            ("m/a.rs", "use super::B;"),
            ("m/b.rs", "use crate::m::A as D;"),
        ];
        assert_eq!(found(&parts), [vec!["m/a".to_owned(), "m/b".to_owned()]]);
        // What the module itself defines is in it.
        let parts = [
            ("m/mod.rs", "pub use a::A;\nuse a::f;\npub struct M;"),
            ("m/a.rs", "use super::M;"),
        ];
        assert_eq!(found(&parts), [vec!["m".to_owned(), "m/a".to_owned()]]);
    }
}

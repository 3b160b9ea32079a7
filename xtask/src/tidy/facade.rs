//! The façade: the items that the crate `zipfold` names outside `internals`. They are few, and each
//! has an example that runs.
//!
//! An item is what a `pub use` of `crates/zipfold/src/lib.rs` names, a public module there, and a
//! public method of a named type. A method that is `#[doc(hidden)]` belongs to `internals`.

use super::shipped;
use crate::Violation;
use crate::source::Source;
use crate::tree::File;

/// The file that names the items.
const ROOT: &str = "crates/zipfold/src/lib.rs";
/// The module without promises.
const INTERNALS: &str = "internals";
/// The most items.
const MOST: usize = 160;

/// An item of the façade.
#[derive(Debug)]
pub(super) struct Item {
    path: String,
    line: usize,
    name: String,
    shown: bool,
}

impl Item {
    fn new(path: &str, line: usize, name: String, shown: bool) -> Item {
        let path = path.to_owned();
        Item {
            path,
            line,
            name,
            shown,
        }
    }
}

/// A façade of too many items, and items without an example.
pub fn check(files: &[File]) -> Vec<Violation> {
    let items = items(files);
    let mut found = Vec::new();
    if items.len() > MOST {
        let what = format!(
            "{} items outside `internals`, at most {MOST} are allowed",
            items.len()
        );
        found.push(Violation::new(ROOT, 1, what));
    }
    let bare = items.iter().filter(|item| !item.shown);
    found.extend(bare.map(|item| {
        let what = format!("`{}` of the façade has no example that runs", item.name);
        Violation::new(&item.path, item.line, what)
    }));
    found
}

/// The items of the façade, in the order of the file that names them.
pub(super) fn items(files: &[File]) -> Vec<Item> {
    let Some(root) = files.iter().find(|file| file.path == ROOT) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for part in parts(&root.text) {
        match part {
            Part::Module(name, line) => out.push(Item::new(ROOT, line, name, true)),
            Part::Use { path, line, doc } => out.extend(used(&path, line, &doc, files)),
        }
    }
    out
}

/// A part of the file that names the items.
enum Part {
    /// A public module, and its line.
    Module(String, usize),
    /// The path of a `pub use`, its line, and the examples above it.
    Use {
        path: String,
        line: usize,
        doc: String,
    },
}

/// The public modules and re-exports of a file.
fn parts(text: &str) -> Vec<Part> {
    let source = Source::new(text);
    let mut out = Vec::new();
    for line in 1..=source.lines() {
        let code = source.code_line(line);
        if let Some(name) = code.trim().strip_prefix("pub mod ") {
            let name = name.trim_end_matches(['{', ';', ' ']);
            if name != INTERNALS {
                out.push(Part::Module(name.to_owned(), line));
            }
        }
        if code.trim().starts_with("pub use ") {
            let doc = examples(&doc_above(text, &source, line));
            out.extend(paths(&source, line).into_iter().map(|path| Part::Use {
                path,
                line,
                doc: doc.clone(),
            }));
        }
    }
    out
}

/// The paths of the `pub use` that begins in a line.
fn paths(source: &Source, line: usize) -> Vec<String> {
    let lines = (line..=source.lines()).map(|line| source.code_line(line).trim().to_owned());
    let text: String = lines.collect();
    let text = text.split(';').next().unwrap_or_default();
    let path = text.trim_start_matches("pub use ");
    let Some((module, names)) = path.split_once("::{") else {
        return vec![path.to_owned()];
    };
    let names = names.trim_end_matches('}').split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(|name| format!("{module}::{name}"))
        .collect()
}

/// The item that a path names, and its public methods.
fn used(path: &str, line: usize, doc: &str, files: &[File]) -> Vec<Item> {
    let words: Vec<&str> = path.split("::").collect();
    let [first, modules @ .., name] = &words[..] else {
        return Vec::new();
    };
    let member = match first.strip_prefix("zipfold_") {
        Some(name) => format!("crates/{name}/src/"),
        None => "crates/zipfold/src/".to_owned(),
    };
    let inside = format!("{member}{}", modules.join("/"));
    let near = files
        .iter()
        .filter(|file| shipped(&file.path) && file.path.starts_with(&inside));
    let declared = near
        .clone()
        .find_map(|file| Some((file, declaration(&file.text, name)?)));
    let (file, line, shown) = match declared {
        Some((file, line)) => {
            let own = examples(&doc_above(&file.text, &Source::new(&file.text), line));
            (&file.path[..], line, own + doc)
        }
        None => (ROOT, line, doc.to_owned()),
    };
    let item = Item::new(file, line, name.to_string(), !shown.is_empty());
    let methods = near.flat_map(|file| methods(file, name, &shown));
    std::iter::once(item).chain(methods).collect()
}

/// The line that declares `name` as public.
fn declaration(text: &str, name: &str) -> Option<usize> {
    let source = Source::new(text);
    let kinds = [
        "fn", "struct", "enum", "trait", "type", "const", "static", "union",
    ];
    let declares = |line: &usize| {
        let code = source.code_line(*line);
        kinds.iter().any(|kind| {
            code.trim()
                .strip_prefix(&format!("pub {kind} {name}"))
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    (1..=source.lines()).find(declares)
}

/// The public methods of the type `name` in a file; `shown` are the examples of the type.
fn methods(file: &File, name: &str, shown: &str) -> Vec<Item> {
    let source = Source::new(&file.text);
    let lines = lines_of(name, &source);
    let method = |line: usize| {
        let name = method_name(&source.code_line(line))?;
        let doc = doc_above(&file.text, &source, line);
        let shown = is_called(&name, shown) || !examples(&doc).is_empty();
        (!doc.contains("#[doc(hidden)]")).then_some((line, name, shown))
    };
    lines
        .into_iter()
        .filter_map(method)
        .map(|(line, method, shown)| {
            Item::new(&file.path, line, format!("{name}::{method}"), shown)
        })
        .collect()
}

/// The lines of the blocks of the type `name` that implement no trait.
fn lines_of(name: &str, source: &Source) -> Vec<usize> {
    let own = |at: &usize| {
        let head = source
            .body(*at)
            .map(|open| String::from_utf8_lossy(&source.code[*at..open]).into_owned());
        head.is_some_and(|head| !head.contains(" for ") && self_type(&head) == name)
    };
    let blocks = source.words("impl").into_iter().filter(own);
    let lines = blocks.flat_map(|at| {
        let open = source.body(at).unwrap_or(at);
        source.line(open)..=source.line(source.closing(open).unwrap_or(open))
    });
    lines.collect()
}

/// The name of the public method that a line begins.
fn method_name(code: &str) -> Option<String> {
    let starts = ["pub fn ", "pub const fn "];
    let rest = starts
        .iter()
        .find_map(|start| code.trim().strip_prefix(start))?;
    let word = |c: &char| c.is_alphanumeric() || *c == '_';
    Some(rest.chars().take_while(word).collect())
}

/// Whether examples call a method.
fn is_called(method: &str, examples: &str) -> bool {
    let whole =
        |end: usize| !examples[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    [".", "::"].iter().any(|dot| {
        examples
            .match_indices(&format!("{dot}{method}"))
            .any(|(at, found)| whole(at + found.len()))
    })
}

/// The type of the head of an `impl`, without its generics.
fn self_type(head: &str) -> &str {
    let mut rest = head.trim_start_matches("impl").trim_start();
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        });
        rest = rest[end.map_or(0, |end| end + 1)..].trim_start();
    }
    rest.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default()
}

/// The documentation and the attributes above a line, as they are written.
fn doc_above(text: &str, source: &Source, line: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut first = line;
    while first > 1 {
        let (code, comment) = (source.code_line(first - 1), source.comment_line(first - 1));
        let (code, comment) = (code.trim(), comment.trim());
        let attribute = code.starts_with("#[") || (code.ends_with(")]") && !code.contains(';'));
        if !comment.starts_with("///") && !attribute {
            break;
        }
        first -= 1;
    }
    lines[first - 1..line - 1].join("\n")
}

/// The examples of a documentation that run.
fn examples(doc: &str) -> String {
    let (mut out, mut inside, mut runs) = (String::new(), false, false);
    for line in doc
        .lines()
        .map(|line| line.trim().trim_start_matches("///"))
    {
        if let Some(kind) = line.trim().strip_prefix("```") {
            inside = !inside;
            runs = inside && (kind.is_empty() || kind == "should_panic");
            continue;
        }
        if inside && runs {
            out += line;
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT_TEXT: &str = "mod a;\npub mod internals;\n/// ```\n/// let b = zipfold::B::new();\n/// ```\npub use crate::a::{\n    B, f,\n};\n/// M.\npub mod m {\n    pub use zipfold_core::c::D;\n}\n";
    const A: &str = "/// B.\npub struct B;\nimpl<'a> B<'a> {\n    /// N.\n    pub fn new() {}\n    /// ```\n    /// x\n    /// ```\n    pub fn x() {}\n    /// Y.\n    pub fn y() {}\n    #[doc(hidden)]\n    pub fn z() {}\n}\nimpl From<u8> for B {}\n/// F.\npub fn f() {}\n";
    const C: &str = "/// D.\npub enum D {}\n";

    #[test]
    fn items_are_counted_with_their_methods() {
        let files = [
            File::new(ROOT, ROOT_TEXT),
            File::new("crates/zipfold/src/a.rs", A),
            File::new("crates/core/src/c.rs", C),
        ];
        let found = items(&files);
        let names: Vec<(&str, bool)> = found.iter().map(|i| (&i.name[..], i.shown)).collect();
        assert_eq!(
            names,
            [
                ("B", true),
                ("B::new", true),
                ("B::x", true),
                ("B::y", false),
                ("f", true),
                ("m", true),
                ("D", false)
            ]
        );
        let bare = found.iter().filter(|item| !item.shown);
        assert_eq!(bare.map(|item| item.line).collect::<Vec<_>>(), [11, 2]);
    }

    #[test]
    fn a_facade_of_many_items_is_refused() {
        let names: Vec<String> = (0..=MOST).map(|n| format!("f{n}")).collect();
        let text = format!("pub use crate::a::{{{}}};\n", names.join(", "));
        let found = check(&[File::new(ROOT, &text)]);
        assert!(found.iter().any(|v| {
            v.to_string()
                .contains("161 items outside `internals`, at most 160")
        }));
    }
}

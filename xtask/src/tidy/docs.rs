//! Every public item says what it is. Fields and variants are left to rustc's `missing_docs`, which
//! every member must take from the workspace.

use super::shipped;
use crate::Violation;
use crate::source::Source;
use crate::tree::File;

const ITEMS: [&str; 13] = [
    "fn", "struct", "enum", "trait", "const", "static", "type", "mod", "union", "unsafe", "async",
    "extern", "auto",
];

/// Public items without a doc comment, and members that do not take the lints of the workspace.
pub fn check(files: &[File]) -> Vec<Violation> {
    let items = files
        .iter()
        .filter(|file| shipped(&file.path))
        .flat_map(|file| check_file(file, files));
    items.chain(files.iter().filter_map(check_lints)).collect()
}

fn check_file(file: &File, files: &[File]) -> Vec<Violation> {
    let source = Source::new(&file.text);
    let tests = source.test_lines();
    let in_tests = |line: usize| {
        tests
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&line))
    };
    let public = (1..=source.lines()).filter(|line| !in_tests(*line));
    public
        .filter_map(|line| Some((line, public_item(&source.code_line(line))?)))
        .filter(|(line, item)| !documented(&source, *line) && !documented_inside(file, item, files))
        .map(|(line, item)| {
            Violation::new(
                &file.path,
                line,
                format!("public without a doc comment: {item}"),
            )
        })
        .collect()
}

/// The item a line declares as public, without its `pub`. A macro's items carry their docs as
/// `$doc`: rustc sees to those.
fn public_item(code: &str) -> Option<String> {
    let rest = code.trim_start().strip_prefix("pub ")?.trim();
    let first = rest.split(|c: char| !c.is_alphanumeric()).next()?;
    (ITEMS.contains(&first) && !rest.contains('$'))
        .then(|| rest.trim_end_matches('{').trim().to_owned())
}

/// Whether the lines above (past attributes, which may span lines) hold a doc comment.
fn documented(source: &Source, line: usize) -> bool {
    let mut open = false;
    for above in (1..line).rev() {
        let (code, comment) = (source.code_line(above), source.comment_line(above));
        let (code, comment) = (code.trim(), comment.trim());
        if comment.starts_with("///")
            || comment.starts_with("/**")
            || comment.ends_with("*/")
            || code.starts_with("#[doc")
        {
            return true;
        }
        open = (open || code.ends_with(")]")) && !code.starts_with("#[");
        let attribute = code.starts_with("#[") || open;
        if !attribute && comment.is_empty() {
            return false;
        }
    }
    false
}

/// A module in a file of its own may be described at the top of that file.
fn documented_inside(file: &File, item: &str, files: &[File]) -> bool {
    let Some(name) = item
        .strip_prefix("mod ")
        .and_then(|rest| rest.strip_suffix(';'))
    else {
        return false;
    };
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let stem = file.name().trim_end_matches(".rs");
    let own = if ["lib", "main", "mod"].contains(&stem) {
        folder.to_owned()
    } else {
        format!("{folder}/{stem}")
    };
    let places = [format!("{own}/{name}.rs"), format!("{own}/{name}/mod.rs")];
    files
        .iter()
        .filter(|file| places.contains(&file.path))
        .any(|file| file.text.trim_start().starts_with("//!"))
}

fn check_lints(file: &File) -> Option<Violation> {
    let what = if file.path == "Cargo.toml" {
        let lint = |line: &str| line.trim().starts_with("missing_docs") && !line.contains("allow");
        (!file.text.lines().any(lint)).then_some("the workspace does not ask for `missing_docs`")?
    } else {
        let is_member = file.name() == "Cargo.toml" && file.text.contains("[package]");
        let packed: String = file.text.chars().filter(|c| !c.is_whitespace()).collect();
        (is_member && !packed.contains("[lints]workspace=true"))
            .then_some("the member does not take the lints of the workspace")?
    };
    Some(Violation::new(&file.path, 1, what))
}

//! What rustc and clippy check is left to them: public items without a doc comment (`missing_docs`,
//! and `unreachable_pub` for items that no other crate sees), functions that are too long, unsafe
//! blocks without their reason. The lints must be on, and every member must take them.

use crate::Violation;
use crate::tree::File;

/// The lints that replace checks of `tidy`.
const NEEDED: [&str; 4] = [
    "missing_docs",
    "unreachable_pub",
    "too_many_lines",
    "undocumented_unsafe_blocks",
];
/// The setting of clippy that says how long a function may be, and the most that it may say.
const LONG: (&str, usize) = ("too-many-lines-threshold", 110);

/// Lints that are off, members that do not take the lints of the workspace, and a limit of lines
/// that is too high.
pub fn check(files: &[File]) -> Vec<Violation> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Violation> {
    let breach = |what: String| Violation::new(&file.path, 1, what);
    match file.path.as_str() {
        "Cargo.toml" => off(&file.text)
            .map(|lint| breach(format!("the workspace does not turn on `{lint}`")))
            .collect(),
        "clippy.toml" if !is_limited(&file.text) => {
            vec![breach(format!("expected {} = {} or less", LONG.0, LONG.1))]
        }
        _ if is_left_out(file) => {
            vec![breach(
                "the member does not take the lints of the workspace".to_owned(),
            )]
        }
        _ => vec![],
    }
}

/// The needed lints that a manifest does not turn on.
fn off(manifest: &str) -> impl Iterator<Item = &'static str> {
    let on = |lint: &str| {
        let is_on = |line: &str| line.starts_with(lint) && !line.contains("allow");
        manifest.lines().any(|line| is_on(line.trim()))
    };
    NEEDED.into_iter().filter(move |lint| !on(lint))
}

fn is_limited(settings: &str) -> bool {
    let limit = settings.lines().find_map(|line| {
        let rest = line.trim().strip_prefix(LONG.0)?.trim_start();
        rest.strip_prefix('=')?.trim().parse::<usize>().ok()
    });
    limit.is_some_and(|limit| limit <= LONG.1)
}

fn is_left_out(file: &File) -> bool {
    let is_member = file.name() == "Cargo.toml" && file.text.contains("[package]");
    let packed: String = file.text.chars().filter(|c| !c.is_whitespace()).collect();
    is_member && !packed.contains("[lints]workspace=true")
}

//! The files of the workspace: those git tracks or would track.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the workspace that is text.
#[derive(Debug, Clone)]
pub struct File {
    /// Relative to the root of the workspace, with `/` between folders.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl File {
    /// A file that need not exist, as the tests of the checks use.
    pub fn new(path: &str, text: &str) -> Self {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// The name of the file without its folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// What follows the last dot of the name, or nothing.
    pub fn suffix(&self) -> &str {
        self.name()
            .rsplit_once('.')
            .map_or("", |(_, suffix)| suffix)
    }
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every text file under `root` that git tracks or does not ignore; without git, every one outside
/// `target` and hidden folders. Binary files are left out.
pub fn files(root: &Path) -> Result<Vec<File>, String> {
    let mut paths = match listed_by_git(root) {
        Some(paths) => paths,
        None => {
            let mut paths = Vec::new();
            walk(root, "", &mut paths)?;
            paths
        }
    };
    paths.sort();
    paths.dedup();
    Ok(paths
        .into_iter()
        .filter_map(|path| read(root, path))
        .collect())
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let arguments = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = text
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<(), String> {
    let at = root.join(folder);
    let entries = std::fs::read_dir(&at).map_err(|error| format!("{}: {error}", at.display()))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        let hidden =
            name.starts_with('.') && name != ".ci" && name != ".cargo" && name != ".config";
        if entry.path().is_dir() {
            if !hidden && name != "target" {
                walk(root, &path, paths)?;
            }
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

/// A file listed but deleted, a link to a folder and anything that is not text count as absent.
fn read(root: &Path, path: String) -> Option<File> {
    let bytes = std::fs::read(root.join(&path)).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(File { path, text })
}

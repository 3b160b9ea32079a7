//! The habits of the workspace, as checks that name a file and a line.
#![forbid(unsafe_code)]

pub mod advisories;
pub mod needs;
pub mod source;
pub mod tidy;
pub mod tree;

use std::fmt;

/// One breach of a habit: where, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file, relative to the root of the workspace.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what the limit is.
    pub what: String,
}

impl Violation {
    /// A breach at a line (counted from 1) of a file.
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Violation {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

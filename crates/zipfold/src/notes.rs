//! Warnings to a person at the machine.

use std::io::Write;

/// Says something on standard error; nobody may be there to read it.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "warning: {text}");
}

//! Pictures, pages and other texts that are written at once.

use std::io::Write;
use zipfold::Result;
use zipfold::internals::io::{Output, OutputOptions};

/// A file whole or not at all.
///
/// # Errors
/// Those of the output.
pub(crate) fn write_text(path: &str, text: &str, options: OutputOptions) -> Result<()> {
    let mut out = Output::create(path, options)?;
    if let Err(e) = out.write_all(text.as_bytes()) {
        return Err(out.error(&e));
    }
    out.commit()
}

//! Pictures in files, as SVG. The name of a PNG file is refused with the name to draw to.

use crate::suffix::is_png;
use crate::written::write_text;
use zipfold_core::Error;
use zipfold_core::Opt;
use zipfold_core::Result;
use zipfold_io::OutputOptions;

/// Writes the text of an SVG file to `path`.
///
/// # Errors
/// `Request` for the name of a PNG file, and for an output that exists; those of the file system.
pub fn write_picture(path: &str, svg: &str, how: OutputOptions) -> Result<()> {
    refuse_png(path)?;
    write_text(path, svg, how)
}

/// Refuses, before any work, the name of a PNG file.
///
/// # Errors
/// `Request`, with the SVG to draw instead.
pub fn refuse_png(path: &str) -> Result<()> {
    if !is_png(path) {
        return Ok(());
    }
    let e = Error::request("expected a picture as SVG, got the name of a PNG file");
    Err(e.at_place(path.to_string()).remedy(drawn_to(path)))
}

/// The option that draws a picture to `path`, or next to it as SVG.
///
/// ```
/// use zipfold::internals::picture::drawn_to;
/// assert!(drawn_to("a.svg").contains("a.svg"));
/// ```
#[must_use]
pub fn drawn_to(path: &str) -> String {
    Opt::Plot.to(match path.strip_suffix(".png") {
        Some(stem) => format!("{stem}.svg"),
        None => path.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_is_refused_with_a_name_that_can_be_drawn() {
        assert!(refuse_png("a/p.svg").is_ok());
        let e = refuse_png("a/p.png").unwrap_err();
        let told = e.told(|opt, given| format!("<{} {given:?}>", opt.key()));
        assert!(
            told.starts_with("a/p.png: expected a picture as SVG"),
            "{told}"
        );
        assert!(told.contains("try: <plot Value(\"a/p.svg\")>"), "{told}");
        assert!(drawn_to("a/p.svg").contains("a/p.svg"));
    }
}

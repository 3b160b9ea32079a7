//! Pictures in files: SVG, for light and dark surroundings in one, or PNG, for one of them.

use super::raster::{Theme, png};
use crate::suffix::is_png;
use crate::written::{write_bytes, write_text};
use zipfold_core::Opt;
use zipfold_core::Result;
use zipfold_io::OutputOptions;

/// Writes a picture, given as the text of an SVG file, to `path`: as PNG where it ends in `.png`, in
/// the colours of dark surroundings where it ends in `.dark.png`.
///
/// # Errors
/// `Request` for an output that exists; those of the file system.
pub fn write_picture(path: &str, svg: &str, how: OutputOptions) -> Result<()> {
    if !is_png(path) {
        return write_text(path, svg, how);
    }
    let theme = match path.ends_with(".dark.png") {
        true => Theme::Dark,
        false => Theme::Light,
    };
    write_bytes(path, &png(svg, theme)?, how)
}

/// The option that draws a picture to `path`.
///
/// ```
/// use zipfold::internals::picture::drawn_to;
/// assert!(drawn_to("a.svg").contains("a.svg"));
/// ```
#[must_use]
pub fn drawn_to(path: &str) -> String {
    Opt::Plot.to(path.to_string())
}

//! Pictures in files: SVG, and PNG where the build has the feature `png`.

use crate::suffix::is_png;
use crate::written::write_text;
#[cfg(not(feature = "png"))]
use zipfold_core::Error;
use zipfold_core::Opt;
use zipfold_core::Result;
use zipfold_io::OutputOptions;

/// Writes the text of an SVG file to `path`, as PNG where its name says so.
///
/// # Errors
/// `Request` for a PNG without the feature, and for an output that exists; `Input` where there is no
/// font; those of the file system.
pub fn write_picture(path: &str, svg: &str, how: OutputOptions) -> Result<()> {
    match is_png(path) {
        true => write_png(path, svg, how),
        false => write_text(path, svg, how),
    }
}

/// Refuses, before any work, a PNG that this build does not make.
///
/// # Errors
/// `Request`, or `Input` where there is no font.
pub fn refuse_png(path: &str) -> Result<()> {
    match is_png(path) {
        true => check_png(path),
        false => Ok(()),
    }
}

/// The option that draws a picture to `path`, or next to it as SVG where this build makes no PNG.
///
/// ```
/// use zipfold::internals::picture::drawn_to;
/// assert!(drawn_to("a.svg").contains("a.svg"));
/// ```
#[must_use]
pub fn drawn_to(path: &str) -> String {
    Opt::Plot.to(match path.strip_suffix(".png") {
        Some(stem) if cfg!(not(feature = "png")) => format!("{stem}.svg"),
        Some(_) | None => path.to_string(),
    })
}

#[cfg(not(feature = "png"))]
fn check_png(path: &str) -> Result<()> {
    let what = "expected a picture as SVG, got the name of a PNG file, which builds with the feature png write";
    let e = Error::request(what).at_place(path.to_string());
    Err(e.remedy(drawn_to(path)))
}

#[cfg(not(feature = "png"))]
fn write_png(path: &str, _: &str, _: OutputOptions) -> Result<()> {
    check_png(path)
}

#[cfg(feature = "png")]
use super::png::{check_png, write_png};

#[cfg(all(test, not(feature = "png")))]
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

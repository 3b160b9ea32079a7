//! Pictures in files: SVG, and PNG where the build has the feature `png`.

use crate::suffix::is_png;
use crate::written::write_text;
use zipfold_core::Result;
#[cfg(not(feature = "png"))]
use zipfold_core::{Error, Opt};
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

#[cfg(not(feature = "png"))]
fn check_png(path: &str) -> Result<()> {
    let e = Error::request("expected a picture as SVG, got the name of a PNG file");
    let e = e.at_place(path.to_string());
    Err(e.remedy(Opt::Output.like("FILE.svg, or a build with the feature png")))
}

#[cfg(not(feature = "png"))]
fn write_png(path: &str, _: &str, _: OutputOptions) -> Result<()> {
    check_png(path)
}

#[cfg(feature = "png")]
use super::png::{check_png, write_png};

//! What a file is by the end of its name.

/// Whether a path is that of a page about an answer.
#[must_use]
pub fn is_page(path: &str) -> bool {
    cfg!(feature = "plot") && (path.ends_with(".html") || path.ends_with(".htm"))
}

/// Whether a path is that of a picture: SVG or PNG.
#[must_use]
pub fn is_picture(path: &str) -> bool {
    path.ends_with(".svg") || is_png(path)
}

/// Whether a path is that of a PNG.
#[must_use]
pub fn is_png(path: &str) -> bool {
    path.ends_with(".png")
}

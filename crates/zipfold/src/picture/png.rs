//! Pictures as PNG, of twice the size of the SVG, with the fonts of the system.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::{Arc, OnceLock};
use zipfold_core::{Error, Result};
use zipfold_io::{Output, OutputOptions};

/// Pixels of a pixel of the SVG.
const SCALE: u32 = 2;

/// The options of all pictures: fonts of the system are found once.
fn options() -> &'static Options<'static> {
    static OPTIONS: OnceLock<Options<'static>> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        let mut options = Options::default();
        options.fontdb_mut().load_system_fonts();
        let fonts = Arc::clone(&options.fontdb);
        // The pictures ask for any face without serifs.
        let plain = [
            "DejaVu Sans",
            "Liberation Sans",
            "Noto Sans",
            "Arial",
            "Helvetica",
        ];
        let named = |name: &&str| {
            fonts
                .faces()
                .any(|face| face.families.iter().any(|f| f.0 == *name))
        };
        let first = fonts.faces().next().map(|face| face.families[0].0.clone());
        let family = plain
            .iter()
            .find(|name| named(name))
            .map(|name| (*name).to_string());
        if let Some(family) = family.or(first) {
            options.fontdb_mut().set_sans_serif_family(family);
        }
        options
    })
}

/// Refuses a PNG on a system without fonts: its text would be missing.
pub(super) fn check_png(path: &str) -> Result<()> {
    match options().fontdb.is_empty() {
        false => Ok(()),
        true => {
            let e = Error::input("expected a font of the system for a PNG, got none");
            Err(e
                .at_place(path.to_string())
                .remedy("a name that ends in .svg"))
        }
    }
}

/// Draws the text of an SVG file as PNG.
pub(super) fn write_png(path: &str, svg: &str, how: OutputOptions) -> Result<()> {
    check_png(path)?;
    let odd =
        |e: &dyn std::fmt::Display| Error::internal(format!("the picture cannot be drawn: {e}"));
    let tree = Tree::from_str(svg, options()).map_err(|e| odd(&e))?;
    let size = tree.size().to_int_size();
    let pixels = Pixmap::new(SCALE * size.width(), SCALE * size.height());
    let mut pixels = pixels.ok_or_else(|| odd(&"it has no pixels"))?;
    let scale = Transform::from_scale(SCALE as f32, SCALE as f32);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    let bytes = pixels.encode_png().map_err(|e| odd(&e))?;
    let mut out = Output::create(path, how)?;
    match std::io::Write::write_all(&mut out, &bytes) {
        Ok(()) => out.commit(),
        Err(e) => Err(out.error(&e)),
    }
}

//! Networks and evidence by suffix, plain or compressed (`.gz`, `.xz`).

use crate::{bif, ergo, evidence, hugin, uai, xmlbif};
use std::io::Read;
use std::path::Path;
use zipfold_core::factor::{Evidence, Network};
use zipfold_core::{Budget, Error, Result};

/// Reads a network: `.uai`, `.erg`, `.bif`, `.xmlbif` or `.xml`, `.net`.
///
/// # Errors
/// `Input` for anything the format does not allow, with the place; `Request` for an unknown suffix; `Resource` when the
/// text alone exceeds the budget.
pub fn read_network(path: &Path, budget: &Budget) -> Result<Network> {
    let format = suffix(path);
    let text = read_text(path, budget)?;
    let network = match format.as_str() {
        "uai" => uai::parse(&text),
        "erg" => ergo::parse(&text),
        "bif" => bif::parse(&text),
        "xml" | "xmlbif" | "bifxml" => xmlbif::parse(&text),
        "net" | "hugin" => hugin::parse(&text),
        other => Err(Error::request(format!("networks in '.{other}' files are not known"))
            .remedy("a file ending in .uai, .erg, .bif, .xmlbif or .net, with .gz or .xz after it if compressed")),
    };
    network.map_err(|e| inside(e, path))
}

/// Reads evidence on `network`: numbers as UAI and Ergo write them, or (`.json`, `.csv`, `.txt`) `name=state` lines.
///
/// # Errors
/// As [`read_network`].
pub fn read_evidence(path: &Path, network: &Network, budget: &Budget) -> Result<Evidence> {
    let text = read_text(path, budget)?;
    evidence::parse(&text, network).map_err(|e| inside(e, path))
}

/// Names the file before the place within it.
fn inside(error: Error, path: &Path) -> Error {
    let place = match error.place() {
        Some(place) => format!("{}, {place}", path.display()),
        None => path.display().to_string(),
    };
    error.at(place)
}

/// The suffix below `.gz` or `.xz`, in lower case.
fn suffix(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let bare = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".xz")).unwrap_or(&name);
    bare.rsplit_once('.').map_or(String::new(), |(_, s)| s.to_string())
}

/// The text of a file, decompressed by its first bytes, at most a quarter of the free budget.
fn read_text(path: &Path, budget: &Budget) -> Result<String> {
    let place = path.display().to_string();
    let broken = |e: std::io::Error| Error::input(format!("cannot be read: {e}")).at(place.clone());
    let file = std::fs::File::open(path).map_err(broken)?;
    let mut start = Vec::new();
    let mut file = std::io::BufReader::new(file);
    file.by_ref().take(6).read_to_end(&mut start).map_err(broken)?;
    let whole = std::io::Cursor::new(start.clone()).chain(file);
    let limit = (budget.free() / 4).max(1 << 16);
    let mut bytes = Vec::new();
    match start[..] {
        [0x1f, 0x8b, ..] => {
            flate2::bufread::MultiGzDecoder::new(whole).take(limit + 1).read_to_end(&mut bytes).map_err(broken)?
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => xz(whole, limit, &mut bytes).map_err(|e| inside(e, path))?,
        _ => { whole.take(limit + 1) }.read_to_end(&mut bytes).map_err(broken)?,
    };
    if bytes.len() as u64 > limit {
        return Err(Error::resource("the text is larger than a quarter of the memory")
            .at(place)
            .limit(zipfold_core::budget::human_bytes(limit))
            .remedy("a larger --memory"));
    }
    String::from_utf8(bytes)
        .map_err(|e| Error::input("not a text in UTF-8").at(format!("{place}, byte {}", e.utf8_error().valid_up_to())))
}

/// Decompresses xz into `out`, no further than `limit` bytes.
fn xz(from: impl std::io::BufRead, limit: u64, out: &mut Vec<u8>) -> Result<usize> {
    struct Bounded<'a>(&'a mut Vec<u8>, u64);
    impl std::io::Write for Bounded<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if (self.0.len() + bytes.len()) as u64 > self.1 + (1 << 20) {
                return Err(std::io::Error::other("more text than the memory allows"));
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut from = from;
    lzma_rs::xz_decompress(&mut from, &mut Bounded(out, limit))
        .map_err(|e| Error::input(format!("not a whole xz file: {e}")))?;
    Ok(out.len())
}

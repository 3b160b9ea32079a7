//! Zarr arrays, versions 2 and 3: a folder with metadata and a file for each chunk.
//!
//! ```text
//! points.zarr/.zarray, 0.0, 0.1, …             version 2 (or 0/0 with the separator /)
//! points.zarr/zarr.json, c/0/0, c/0/1, …       version 3
//! ```
//!
//! Chunks are read one by one and put into the table, so that memory holds the table and one chunk.
//! A chunk that is not there has the fill value in all of its places. Its size is known from the
//! metadata; what unpacks to another size is damaged.

mod blosc;
mod codec;
mod metadata;
mod unpack;

use crate::guard::{Source, read_error};
use crate::npy::{double, single};
use crate::presence::Presence;
use metadata::{Metadata, V2, V3};
use std::ops::Range;
use std::path::{Path, PathBuf};
use zipfold_core::budget::Reserved;
use zipfold_core::{Budget, Elements, Error, Result, Table};

/// Whether the folder `path` holds a Zarr array.
pub fn is_zarr(path: &Path) -> bool {
    let has = |name: &str| matches!(Presence::behind(&path.join(name)), Presence::File(_));
    Presence::behind(path) == Presence::Folder && (has(V2) || has(V3))
}

/// The files of the array in the folder `path`, in order.
///
/// # Errors
/// `Input` for folders that cannot be listed, and for links to folders or to nothing.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let (mut open, mut files) = (vec![path.to_owned()], vec![]);
    while let Some(folder) = open.pop() {
        let failed = |e| read_error(&folder.to_string_lossy(), "cannot be listed", &e);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            match (Presence::itself(&path), Presence::behind(&path)) {
                (Presence::Folder, _) => open.push(path),
                (_, Presence::File(_)) => files.push(path),
                (Presence::Link, Presence::Folder | Presence::Nothing) => {
                    let e = Error::input("expected files and folders of an array, got a link");
                    let place = path.to_string_lossy().into_owned();
                    return Err(e.at_place(place).remedy("the folder itself in its place"));
                }
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads the array in the folder `path` as a table: a vector is one column. With `some` rows the chunks
/// of these alone are read; the others have the fill value.
///
/// # Errors
/// `Request` for a group, other types, codecs or more than two dimensions; `Input` for damaged files;
/// `Resource` beyond the budget.
pub fn read_zarr(path: &Path, some: Option<&Range<usize>>, budget: &Budget) -> Result<Table> {
    let name = path.to_string_lossy().into_owned();
    let found = Metadata::read(path, &name, budget)?;
    let [rows, cols] = found.table_shape(&name)?;
    let purpose = format!("the array of {name}");
    let count = rows.checked_mul(cols).ok_or_else(|| {
        Error::resource("the array has more elements than memory").at_place(&*name)
    })?;
    let kind = found.kind;
    let elements = if kind.is_single() {
        let mut out = budget.vec(count, found.fill as f32, &purpose)?;
        let one = |raw| Ok(single(kind, raw));
        ChunksOf::new(path, (&found, some), [rows, cols], budget)?.fill(&mut out, one)?;
        Elements::F32(out.into())
    } else {
        let mut out = budget.vec(count, found.fill, &purpose)?;
        let one = |raw| double(kind, raw);
        ChunksOf::new(path, (&found, some), [rows, cols], budget)?.fill(&mut out, one)?;
        Elements::F64(out.into())
    };
    Table::new(rows, cols, elements)
}

/// The most bytes of the file of a chunk of `bytes`: nothing of these codecs grows by more than a
/// sixteenth and a header.
fn most_of(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 16 + 4096)
}

/// The chunks of an array of one or two dimensions.
struct ChunksOf<'a> {
    path: &'a Path,
    found: &'a Metadata,
    shape: [usize; 2],
    /// Rows and columns of a chunk.
    chunk: [usize; 2],
    /// The rows whose chunks are read, where these are not all.
    some: Option<&'a Range<usize>>,
    budget: &'a Budget,
    _room: zipfold_core::Reservation,
}

impl<'a> ChunksOf<'a> {
    fn new(
        path: &'a Path,
        (found, some): (&'a Metadata, Option<&'a Range<usize>>),
        shape: [usize; 2],
        budget: &'a Budget,
    ) -> Result<Self> {
        let [rows, cols] = match found.chunk[..] {
            [rows, cols] => [rows, cols],
            [rows] => [rows, 1],
            _ => [1, 1],
        };
        let bytes = (rows.saturating_mul(cols)).saturating_mul(found.kind.bytes()) as u64;
        // As it is read, and as it is unpacked.
        let room = budget.reserve(most_of(bytes).saturating_mul(3), "a chunk of the array")?;
        Ok(ChunksOf {
            path,
            found,
            shape,
            chunk: [rows, cols],
            some,
            budget,
            _room: room,
        })
    }
    /// Puts all chunks into `out`, an element after another as `one` reads it.
    fn fill<T: Copy>(
        &self,
        out: &mut Reserved<T>,
        one: impl Fn([u8; 8]) -> Result<T>,
    ) -> Result<()> {
        if self.shape.contains(&0) {
            return Ok(());
        }
        for separator in self.found.separators() {
            if self.fill_named(*separator, out, &one)? > 0 {
                return Ok(());
            }
        }
        match self.some {
            // The chunks of these rows may be left out.
            Some(_) => Ok(()),
            None => self.has_no_chunks(),
        }
    }
    /// The numbers of the chunks along the rows that are read.
    fn chunk_rows(&self) -> Range<usize> {
        let height = self.chunk[0].max(1);
        let all = self.shape[0].div_ceil(height);
        match self.some {
            Some(some) if some.is_empty() => 0..0,
            Some(some) => some.start / height..some.end.div_ceil(height).min(all),
            None => 0..all,
        }
    }
    /// Refuses an array that has files of chunks, of which none has the name of a chunk.
    fn has_no_chunks(&self) -> Result<()> {
        let like_chunk = |file: &PathBuf| {
            let key = file.strip_prefix(self.path).ok()?.to_string_lossy();
            let key = key.strip_prefix('c').unwrap_or(&key);
            let last = key.chars().last()?;
            let plain = |c: char| c.is_ascii_digit() || !c.is_ascii_alphanumeric();
            (last.is_ascii_digit() && key.chars().all(plain)).then_some(())
        };
        if !files(self.path)?
            .iter()
            .any(|file| like_chunk(file).is_some())
        {
            return Ok(());
        }
        let e = Error::input("the files of chunks have other names than the metadata say");
        Err(e
            .at_place(self.path.to_string_lossy())
            .remedy("make the array again"))
    }
    /// As [`ChunksOf::fill`], of files with this between their numbers; how many there are.
    fn fill_named<T: Copy>(
        &self,
        separator: char,
        out: &mut Reserved<T>,
        one: impl Fn([u8; 8]) -> Result<T>,
    ) -> Result<usize> {
        let mut found = 0;
        let across = self.shape[1].div_ceil(self.chunk[1].max(1));
        for row in self.chunk_rows() {
            for col in 0..across {
                let key = match self.found.chunk.len() {
                    1 => self.found.key(&[row], separator),
                    _ => self.found.key(&[row, col], separator),
                };
                if let Some((bytes, place)) = self.bytes(&key)? {
                    let put = self.put(&mut out.items, (row, col), &bytes, &one);
                    put.map_err(|e| e.at_place(place))?;
                    found += 1;
                }
            }
        }
        Ok(found)
    }
    /// The elements of the chunk `key`, unpacked, and its file; none where there is no file.
    fn bytes(&self, key: &str) -> Result<Option<(Vec<u8>, String)>> {
        let file = self.path.join(key);
        // After any other answer of the system the chunk may be there.
        let unknown = |e| read_error(&file.to_string_lossy(), "cannot be opened", &e);
        if Presence::missing(&file).map_err(unknown)? {
            return Ok(None);
        }
        let source = Source::open(&file, self.budget)?;
        let width = self.found.kind.bytes();
        let wanted = self.chunk[0] * self.chunk[1] * width;
        let most = most_of(wanted as u64);
        let place = source.name().to_owned();
        if source.size() > most {
            let e = Error::input(format!("a chunk of {} bytes", source.size()));
            return Err(e.at_place(place).limit(format!("{most} bytes")));
        }
        let mut packed = vec![0; source.size() as usize];
        source.fill_at(0, &mut packed)?;
        let bytes = self
            .found
            .codecs
            .iter()
            .rev()
            .try_fold(packed, |bytes, codec| {
                codec
                    .unpacked(bytes, wanted)
                    .map_err(|e| e.at_place(place.clone()))
            })?;
        if bytes.len() != wanted {
            let what = format!(
                "a chunk unpacks to {} bytes, expected {wanted}",
                bytes.len()
            );
            return Err(Error::input(what)
                .at_place(place)
                .remedy("make the array again"));
        }
        Ok(Some((bytes, place)))
    }
    /// Puts a chunk into its places; those beyond the array are padding.
    fn put<T>(
        &self,
        out: &mut [T],
        (row, col): (usize, usize),
        bytes: &[u8],
        one: impl Fn([u8; 8]) -> Result<T>,
    ) -> Result<()> {
        let ([n, m], [rows, cols]) = (self.shape, self.chunk);
        let width = self.found.kind.bytes();
        let (first, left) = (row * rows, col * cols);
        for r in 0..rows.min(n - first) {
            for c in 0..cols.min(m - left) {
                let at = match self.found.fortran {
                    true => c * rows + r,
                    false => r * cols + c,
                };
                let mut raw = [0; 8];
                raw[..width].copy_from_slice(&bytes[at * width..(at + 1) * width]);
                if self.found.big_endian {
                    raw[..width].reverse();
                }
                out[(first + r) * m + left + c] = one(raw)?;
            }
        }
        Ok(())
    }
}

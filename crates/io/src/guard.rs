//! Opening what is to be read: its real size is known, and declared sizes are checked against it
//! before allocation.

use crate::growing::Growing;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use zipfold_core::budget::human_bytes;
use zipfold_core::{Budget, Error, Result};

/// The longest line that text formats may have; a longer one is not a table but something else.
pub const LONGEST_LINE: u64 = 64 << 20;

/// A packed text may hold this many bytes, regardless of its own size; more only up to
/// [`UNPACKED_TIMES`] times its own size.
pub const UNPACKED_FREE: u64 = 256 << 20;
/// Times its own size that a packed text may hold beyond [`UNPACKED_FREE`]: no table of
/// measurements packs better.
pub const UNPACKED_TIMES: u64 = 200;

/// How the bytes of a text are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// By gzip.
    Gzip,
    /// By xz.
    Xz,
}

/// Bytes to read, with their real number. Clones share one file.
#[derive(Clone, Debug)]
pub struct Source(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    len: u64,
    store: Store,
}

#[derive(Debug)]
enum Store {
    File(File),
    Memory(Growing<u8>),
}

impl Source {
    /// Opens the file `path`; `-` is standard input. Pipes and standard input are read whole,
    /// within `budget`.
    ///
    /// # Errors
    /// `Input` when there is no such file or it cannot be read; `Resource` when a pipe gives more
    /// than the budget.
    pub fn open(path: impl AsRef<Path>, budget: &Budget) -> Result<Self> {
        let path = path.as_ref();
        if path.as_os_str() == "-" {
            return Self::whole("standard input", &mut io::stdin().lock(), budget);
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| read_error(&name, "cannot be opened", &e))?;
        let facts = file
            .metadata()
            .map_err(|e| read_error(&name, "cannot be examined", &e))?;
        if facts.is_dir() {
            return Err(Error::input("is a folder, not a file")
                .at_place(name)
                .remedy("name one file in it"));
        }
        if facts.is_file() {
            let inner = Inner {
                name,
                len: facts.len(),
                store: Store::File(file),
            };
            return Ok(Source(Arc::new(inner)));
        }
        Self::whole(&name, &mut &file, budget)
    }
    /// The bytes of `reader` to its end, called `name` in messages.
    ///
    /// # Errors
    /// `Resource` when they exceed the budget; `Input` when reading fails.
    pub fn whole(name: &str, reader: &mut dyn Read, budget: &Budget) -> Result<Self> {
        let mut bytes = Growing::new(budget, format!("the bytes of {name}"));
        let mut chunk = vec![0; 64 << 10];
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => bytes.extend(&chunk[..n])?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(read_error(name, "cannot be read", &e)),
            }
        }
        let bytes = bytes.finish()?;
        let len = bytes.len() as u64;
        Ok(Source(Arc::new(Inner {
            name: name.to_owned(),
            len,
            store: Store::Memory(bytes),
        })))
    }
    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.0.name
    }
    /// The real number of bytes (when it was opened).
    pub fn size(&self) -> u64 {
        self.0.len
    }
    /// Reads up to `buf.len()` bytes at `offset`; fewer only at the end.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        match &self.0.store {
            Store::File(file) => file.read_at(buf, offset),
            Store::Memory(bytes) => {
                let rest = usize::try_from(offset)
                    .ok()
                    .and_then(|o| bytes.as_ref().get(o..))
                    .unwrap_or_default();
                let n = rest.len().min(buf.len());
                buf[..n].copy_from_slice(&rest[..n]);
                Ok(n)
            }
        }
    }
    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// `Input` when the file ends before.
    pub fn fill_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let mut reader = self.reader_at(offset);
        reader.read_exact(buf).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => self.ends_early(offset, buf.len() as u64),
            _ => read_error(self.name(), "cannot be read", &e),
        })
    }
    /// A reader from byte `offset` to the end.
    pub fn reader_at(&self, offset: u64) -> SourceReader {
        SourceReader {
            source: self.clone(),
            at: offset,
        }
    }
    /// The text of the file from its beginning, unpacked when it starts as gzip or xz does: no
    /// further than [`UNPACKED_FREE`] and [`UNPACKED_TIMES`] allow, by a dictionary within
    /// `budget`.
    ///
    /// # Errors
    /// `Input` when its beginning cannot be read.
    pub fn text(&self, budget: &Budget) -> Result<Box<dyn BufRead>> {
        let packing = self.packing()?;
        let raw = BufReader::with_capacity(1 << 16, self.reader_at(0));
        let most = self
            .size()
            .saturating_mul(UNPACKED_TIMES)
            .max(UNPACKED_FREE);
        Ok(match packing {
            Packing::Plain => Box::new(raw),
            Packing::Gzip => unpacked(MultiGzDecoder::new(raw), most),
            Packing::Xz => {
                let kib = u32::try_from(budget.free() / 2 / 1024)
                    .unwrap_or(u32::MAX - 1)
                    .max(1 << 10);
                unpacked(XzReader::new_mem_limit(raw, true, kib), most)
            }
        })
    }
    /// How the file is packed, by its first bytes.
    ///
    /// # Errors
    /// `Input` when they cannot be read.
    pub fn packing(&self) -> Result<Packing> {
        let mut magic = [0; 6];
        let n = self
            .read_at(0, &mut magic)
            .map_err(|e| read_error(self.name(), "cannot be read", &e))?;
        Ok(match magic[..n] {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Packing::Xz,
            _ => Packing::Plain,
        })
    }
    /// The whole text in memory, unpacked, without the mark of UTF-8; at most `most` bytes.
    ///
    /// # Errors
    /// `Resource` beyond `budget`, `Input` beyond `most`, and for what is not a text in UTF-8.
    pub fn whole_text(&self, most: u64, budget: &Budget) -> Result<Text> {
        if self.packing()? == Packing::Plain && self.size() > most {
            return Err(self.too_long(most));
        }
        let mut reader = self.text(budget)?;
        let mut bytes = Growing::new(budget, format!("the text of {}", self.name()));
        loop {
            let chunk = reader
                .fill_buf()
                .map_err(|e| read_error(self.name(), "cannot be read", &e))?;
            let (n, fresh) = (chunk.len(), bytes.len() as u64 + chunk.len() as u64);
            match n {
                0 => break,
                _ if fresh > most => return Err(self.too_long(most)),
                _ => bytes.extend(chunk)?,
            }
            reader.consume(n);
        }
        Text::new(bytes.finish()?, self.name())
    }
    fn too_long(&self, most: u64) -> Error {
        Error::input("is too long for what it should be")
            .at_place(self.name())
            .limit(human_bytes(most))
            .remedy("check the name")
    }
    fn ends_early(&self, offset: u64, wanted: u64) -> Error {
        Error::input(format!(
            "ends early: {} are there, {} were to be read from here",
            self.size(),
            wanted
        ))
        .at_place(at_byte(self.name(), offset))
        .limit(format!("the file's {}", human_bytes(self.size())))
        .remedy("copy or make the file again")
    }
}

/// A whole text in memory.
#[derive(Debug)]
pub struct Text(Growing<u8>);

/// The mark that some programs put before UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

impl Text {
    fn new(bytes: Growing<u8>, name: &str) -> Result<Self> {
        match std::str::from_utf8(bytes.as_ref()) {
            Ok(_) => Ok(Text(bytes)),
            Err(e) => {
                let what = "this is not a text in UTF-8";
                Err(Error::input(what)
                    .at_place(at_byte(name, e.valid_up_to() as u64))
                    .remedy("save it as UTF-8"))
            }
        }
    }
    /// The text, without the mark of UTF-8.
    pub fn as_str(&self) -> &str {
        let bytes = self.0.as_ref();
        std::str::from_utf8(bytes.strip_prefix(MARK).unwrap_or(bytes)).unwrap_or_default()
    }
}

/// What `reader` unpacks, up to `most` bytes.
fn unpacked(reader: impl Read + 'static, most: u64) -> Box<dyn BufRead> {
    Box::new(BufReader::with_capacity(
        1 << 16,
        Unpacked {
            reader,
            left: most,
            most,
        },
    ))
}

struct Unpacked<R> {
    reader: R,
    left: u64,
    most: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf)?;
        match self.left.checked_sub(n as u64) {
            Some(left) => self.left = left,
            None => {
                let what = format!("it unpacks to more than {}", human_bytes(self.most));
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
            }
        }
        Ok(n)
    }
}

/// Refuses a claim of more bytes than are there, before anything is allocated for it.
///
/// # Errors
/// `Input`, naming the claimed and the real size.
pub fn check_claim(place: String, what: &str, claimed: Option<u64>, real: u64) -> Result<u64> {
    match claimed {
        Some(bytes) if bytes <= real => Ok(bytes),
        _ => {
            let size = claimed.map_or("more than 2^64 bytes".to_owned(), |b| format!("{b} bytes"));
            Err(Error::input(format!(
                "{what} claims {size}, but only {real} bytes are there"
            ))
            .at_place(place)
            .limit(format!("{real} bytes"))
            .remedy("copy or make the file again: it is cut short or damaged"))
        }
    }
}

/// "a.npy, byte 10"
pub fn at_byte(name: &str, byte: u64) -> String {
    format!("{name}, byte {byte}")
}

/// "a.csv, line 10"
pub fn at_line(name: &str, line: u64) -> String {
    format!("{name}, line {line}")
}

/// The error for a failed system call on a file that is read.
pub fn read_error(name: &str, what: &str, error: &io::Error) -> Error {
    use io::ErrorKind as K;
    let say = Error::input(format!("{what}: {error}")).at_place(name);
    match error.kind() {
        K::NotFound => Error::input("there is no such file")
            .at_place(name)
            .remedy("check the path"),
        K::PermissionDenied => say.remedy("ask for the right to read it"),
        K::InvalidInput | K::InvalidData | K::UnexpectedEof => {
            Error::input(format!("the data are damaged: {error}"))
                .at_place(name)
                .remedy("copy or make the file again")
        }
        K::FileTooLarge => Error::input(format!("{error}"))
            .at_place(name)
            .limit(format!(
                "{}, or {UNPACKED_TIMES} times its own size",
                human_bytes(UNPACKED_FREE)
            ))
            .remedy("if that is what it holds, unpack it first, and give the plain file"),
        K::OutOfMemory => Error::resource(format!("{what}: {error}"))
            .at_place(name)
            .remedy("close other programs"),
        _ => say.remedy("check the disk and the file's rights"),
    }
}

/// Reads a [`Source`] from a place on; owns a share of it.
#[derive(Debug)]
pub struct SourceReader {
    source: Source,
    at: u64,
}

impl Read for SourceReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read_at(self.at, buf)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for SourceReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.source.size().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// The lines of a text, in a buffer within the budget.
pub(crate) struct Lines {
    name: String,
    text: Box<dyn BufRead>,
    line: Growing<u8>,
    /// Number of the line, from 1.
    pub number: u64,
    /// Whether a line may also end with a carriage return alone.
    returns: bool,
    /// Whether the last line ended so: a newline behind it belongs to it.
    after_return: bool,
}

impl Lines {
    /// The lines of `source`; with `returns` a carriage return alone ends one too.
    pub(crate) fn new(source: &Source, returns: bool, budget: &Budget) -> Result<Self> {
        let line = Growing::new(budget, format!("a line of {}", source.name()));
        let text = source.text(budget)?;
        Ok(Lines {
            name: source.name().to_owned(),
            text,
            line,
            number: 0,
            returns,
            after_return: false,
        })
    }
    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
    /// "a.csv, line 10"
    pub(crate) fn place(&self) -> String {
        at_line(&self.name, self.number)
    }
    /// The line that [`Lines::next`] read last, without its end.
    pub(crate) fn current(&self) -> &[u8] {
        self.line.as_ref()
    }
    /// Reads the next line; false at the end of the text.
    pub(crate) fn next(&mut self) -> Result<bool> {
        self.number += 1;
        self.line.clear();
        let mut any = false;
        loop {
            let chunk = match self.text.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    return Err(read_error(&self.name, "cannot be read", &e)
                        .at_place(at_line(&self.name, self.number)));
                }
            };
            if chunk.is_empty() {
                break;
            }
            if std::mem::take(&mut self.after_return) && chunk[0] == b'\n' {
                self.text.consume(1);
                continue;
            }
            any = true;
            let end = if self.returns {
                memchr::memchr2(b'\n', b'\r', chunk)
            } else {
                memchr::memchr(b'\n', chunk)
            };
            let len = end.unwrap_or(chunk.len());
            if (self.line.len() + len) as u64 > LONGEST_LINE {
                let what = "a line is longer than any table has";
                let e = Error::input(what)
                    .at_place(at_line(&self.name, self.number))
                    .limit(human_bytes(LONGEST_LINE));
                return Err(e.remedy("check that this is a text, and that its lines end"));
            }
            self.line.extend(&chunk[..len])?;
            self.after_return = end.is_some_and(|at| chunk[at] == b'\r');
            self.text.consume(len + usize::from(end.is_some()));
            if end.is_some() {
                break;
            }
        }
        while self.line.as_ref().last() == Some(&b'\r') {
            self.line.truncate(self.line.len() - 1);
        }
        if self.number == 1 && self.line.as_ref().starts_with(MARK) {
            self.line.remove_first(MARK.len());
        }
        Ok(any)
    }
}

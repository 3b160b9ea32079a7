//! Opening what is to be read: its real size is known, and declared sizes are checked against it before allocation.

use crate::growing::Growing;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use zipfold_core::budget::human_bytes;
use zipfold_core::{Budget, Error, Result};

/// The longest line that text formats may have; a longer one is not a table but something else.
pub const LONGEST_LINE: u64 = 64 << 20;

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
    /// Opens the file `path`; `-` is standard input. Pipes and standard input are read whole, within `budget`.
    ///
    /// # Errors
    /// `Input` when there is no such file or it cannot be read; `Resource` when a pipe gives more than the budget.
    pub fn open(path: &str, budget: &Budget) -> Result<Self> {
        if path == "-" {
            return Self::whole("standard input", &mut io::stdin().lock(), budget);
        }
        let file = File::open(path).map_err(|e| read_error(path, "cannot be opened", &e))?;
        let facts = file.metadata().map_err(|e| read_error(path, "cannot be examined", &e))?;
        if facts.is_dir() {
            return Err(Error::input("is a folder, not a file").at(path).remedy("name one file in it"));
        }
        if facts.is_file() {
            let inner = Inner { name: path.to_owned(), len: facts.len(), store: Store::File(file) };
            return Ok(Source(Arc::new(inner)));
        }
        Self::whole(path, &mut &file, budget)
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
        Ok(Source(Arc::new(Inner { name: name.to_owned(), len, store: Store::Memory(bytes) })))
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
                let rest = usize::try_from(offset).ok().and_then(|o| bytes.as_ref().get(o..)).unwrap_or_default();
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
        SourceReader { source: self.clone(), at: offset }
    }
    /// The text of the file from its beginning, unpacked when it starts as gzip does.
    ///
    /// # Errors
    /// `Input` when its beginning cannot be read.
    pub fn text(&self) -> Result<Box<dyn BufRead>> {
        let mut magic = [0; 2];
        let n = self.read_at(0, &mut magic).map_err(|e| read_error(self.name(), "cannot be read", &e))?;
        let raw = BufReader::with_capacity(1 << 16, self.reader_at(0));
        if n == 2 && magic == [0x1f, 0x8b] {
            return Ok(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(raw))));
        }
        Ok(Box::new(raw))
    }
    /// Whether the file starts as gzip does.
    pub fn is_gzip(&self) -> bool {
        let mut magic = [0; 2];
        matches!(self.read_at(0, &mut magic), Ok(2)) && magic == [0x1f, 0x8b]
    }
    fn ends_early(&self, offset: u64, wanted: u64) -> Error {
        Error::input(format!("ends early: {} are there, {} were to be read from here", self.size(), wanted))
            .at(at_byte(self.name(), offset))
            .limit(format!("the file's {}", human_bytes(self.size())))
            .remedy("copy or make the file again")
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
            Err(Error::input(format!("{what} claims {size}, but only {real} bytes are there"))
                .at(place)
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
    let say = Error::input(format!("{what}: {error}")).at(name);
    match error.kind() {
        K::NotFound => Error::input("there is no such file").at(name).remedy("check the path"),
        K::PermissionDenied => say.remedy("ask for the right to read it"),
        K::InvalidInput | K::InvalidData | K::UnexpectedEof => {
            Error::input(format!("the data are damaged: {error}")).at(name).remedy("copy or make the file again")
        }
        K::OutOfMemory => Error::resource(format!("{what}: {error}")).at(name).remedy("close other programs"),
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

/// Passes bytes on, but fails at a line longer than [`LONGEST_LINE`]: what is compressed could hold any.
#[derive(Debug)]
pub(crate) struct ShortLines<R> {
    reader: R,
    since_newline: u64,
}

impl<R: Read> ShortLines<R> {
    pub(crate) fn new(reader: R) -> Self {
        ShortLines { reader, since_newline: 0 }
    }
}

impl<R: Read> Read for ShortLines<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf)?;
        self.since_newline = match buf[..n].iter().rposition(|b| *b == b'\n') {
            Some(last) => (n - last) as u64,
            None => self.since_newline + n as u64,
        };
        if self.since_newline > LONGEST_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 64 MiB"));
        }
        Ok(n)
    }
}

/// Reads the next line without its end into `line`; false at the end of the text.
pub(crate) fn next_line(text: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let n = text.take(LONGEST_LINE + 1).read_until(b'\n', line)?;
    if n as u64 > LONGEST_LINE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 64 MiB"));
    }
    while matches!(line.last(), Some(b'\n' | b'\r')) {
        line.pop();
    }
    Ok(n > 0)
}

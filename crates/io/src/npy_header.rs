//! The header of the NPY format, versions 1 to 3: parsing without trust, and writing.

use crate::guard::{at_byte, check_claim};
use zipfold_core::{Error, Result};

/// The longest header that is read; NumPy refuses 10 000 characters unless told otherwise.
const LONGEST_HEADER: usize = 64 << 10;
/// More dimensions than NumPy itself allows are damage.
const MOST_DIMENSIONS: usize = 64;

/// Element types that NPY files hold and that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Kind {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
        }
    }
    /// Whether its values are kept in single precision.
    pub fn is_single(self) -> bool {
        matches!(self, Kind::F16 | Kind::F32)
    }
}

/// What an NPY header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Element type.
    pub kind: Kind,
    /// Whether elements are stored most significant byte first.
    pub big_endian: bool,
    /// Whether the first index runs fastest.
    pub fortran: bool,
    /// Lengths of the dimensions.
    pub shape: Vec<usize>,
    /// Number of elements.
    pub count: usize,
    /// Where the elements begin, from the start of the array.
    pub data_at: u64,
}

/// How much of the header is needed next.
enum Need {
    /// At least this many bytes from the start.
    Bytes(usize),
    /// The text lies in this range.
    Text(std::ops::Range<usize>),
}

/// The longest header: NumPy itself refuses more than 10 000 bytes.
const LONGEST: usize = 1 << 20;

impl Header {
    /// Reads the header of an array of `size` real bytes by `more(n)`, which gives the first n
    /// bytes of it.
    ///
    /// # Errors
    /// `Input` when the header is damaged, the type is not numeric, or the claimed size exceeds
    /// `size`.
    pub fn read(
        name: &str,
        base: u64,
        size: u64,
        mut more: impl FnMut(usize) -> Result<Vec<u8>>,
    ) -> Result<Self> {
        let mut need = 12;
        loop {
            check_claim(
                at_byte(name, base),
                "the NPY header",
                Some(need as u64),
                size,
            )?;
            let bytes = more(need)?;
            match frame(name, base, &bytes)? {
                Need::Bytes(n) if n > LONGEST => {
                    let what = format!("the NPY header takes {n} bytes");
                    return Err(Error::input(what).at_place(at_byte(name, base)).limit(LONGEST.to_string()).remedy(
                        "write the array again with numpy.save: the names of structured arrays are no numbers",
                    ));
                }
                Need::Bytes(n) => need = n,
                Need::Text(range) => return Self::parse(name, base, size, &bytes, range),
            }
        }
    }

    fn parse(
        name: &str,
        base: u64,
        size: u64,
        bytes: &[u8],
        range: std::ops::Range<usize>,
    ) -> Result<Self> {
        let text_at = range.start as u64;
        let data_at = range.end as u64;
        let text = std::str::from_utf8(&bytes[range]).map_err(|e| {
            let at = base + text_at + e.valid_up_to() as u64;
            damaged(name, at, "the NPY header is not text")
        })?;
        let mut words = Words {
            name,
            base: base + text_at,
            text,
            at: 0,
        };
        let (descr, fortran, shape) = words.dictionary()?;
        let (big_endian, kind) =
            element_kind(&descr).map_err(|e| e.at_place(at_byte(name, base + text_at)))?;
        let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        let claimed = count
            .and_then(|n| n.checked_mul(kind.bytes()))
            .map(|b| b as u64);
        let what = format!("the array of shape {}", show_shape(&shape));
        let place = at_byte(name, base + data_at);
        check_claim(place, &what, claimed, size - data_at)?;
        Ok(Header {
            kind,
            big_endian,
            fortran,
            shape,
            count: count.unwrap_or(0),
            data_at,
        })
    }

    /// Whether the bytes of the numbers are, row by row, those in memory.
    pub(crate) fn is_as_stored(&self) -> bool {
        cfg!(target_endian = "little")
            && !self.big_endian
            && (!self.fortran || self.shape.len() < 2)
    }
    /// Rows and columns: a vector is one column.
    ///
    /// # Errors
    /// `Input` for no or more than two dimensions, or rows of no columns.
    pub fn table_shape(&self, place: &str) -> Result<(usize, usize)> {
        let shape = show_shape(&self.shape);
        let refuse = |what: &str, remedy: &str| {
            Err(Error::input(format!("the array has shape {shape}: {what}"))
                .at_place(place)
                .limit("1 or 2 dimensions")
                .remedy(remedy))
        };
        match self.shape[..] {
            [n] => Ok((n, 1)),
            [_, 0] => refuse(
                "its rows have no columns",
                "save an array with at least one column",
            ),
            [n, d] => Ok((n, d)),
            [] => refuse("it is a single number, not rows", "save array.reshape(1)"),
            _ => refuse(
                "it has too many dimensions",
                "save array.reshape(len(array), -1)",
            ),
        }
    }
}

/// `(3, 4)`, as NumPy writes it.
pub fn show_shape(shape: &[usize]) -> String {
    let inner: Vec<String> = shape.iter().map(ToString::to_string).collect();
    if inner.len() == 1 {
        format!("({},)", inner[0])
    } else {
        format!("({})", inner.join(", "))
    }
}

fn damaged(name: &str, byte: u64, what: impl Into<String>) -> Error {
    Error::input(what)
        .at_place(at_byte(name, byte))
        .remedy("write the file again with numpy.save")
}

fn frame(name: &str, base: u64, bytes: &[u8]) -> Result<Need> {
    if &bytes[..6] != b"\x93NUMPY" {
        return Err(damaged(
            name,
            base,
            "this is not an NPY file: it does not start with \\x93NUMPY",
        ));
    }
    let (from, len) = match bytes[6] {
        1 => (10, usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))),
        2 | 3 => (
            12,
            u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize,
        ),
        v => {
            return Err(
                damaged(name, base + 6, format!("NPY version {v} is unknown"))
                    .limit("versions 1, 2 and 3"),
            );
        }
    };
    if bytes[7] != 0 {
        let what = format!("NPY version {}.{} is unknown", bytes[6], bytes[7]);
        return Err(damaged(name, base + 7, what).limit("versions 1.0, 2.0 and 3.0"));
    }
    if len > LONGEST_HEADER {
        return Err(
            damaged(name, base + 8, format!("the NPY header claims {len} bytes")).limit("64 KiB"),
        );
    }
    let end = from + len;
    Ok(if bytes.len() < end {
        Need::Bytes(end.max(12))
    } else {
        Need::Text(from..end)
    })
}

/// A type by NumPy's name without the order of bytes.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "b1" => Kind::Bool,
        "i1" => Kind::I8,
        "i2" => Kind::I16,
        "i4" => Kind::I32,
        "i8" => Kind::I64,
        "u1" => Kind::U8,
        "u2" => Kind::U16,
        "u4" => Kind::U32,
        "u8" => Kind::U64,
        "f2" => Kind::F16,
        "f4" => Kind::F32,
        "f8" => Kind::F64,
        _ => return None,
    })
}

/// Byte order (big?) and element type of a NumPy type string.
fn element_kind(descr: &str) -> Result<(bool, Kind)> {
    let (order, code) = match descr.as_bytes().first() {
        Some(b'<' | b'>' | b'=' | b'|') => descr.split_at(1),
        _ => ("=", descr),
    };
    let kind = match code {
        "?" => Kind::Bool,
        _ => kind_of(code).ok_or_else(|| not_numeric(descr, code))?,
    };
    Ok((
        order == ">" || (order == "=" && cfg!(target_endian = "big")),
        kind,
    ))
}

fn not_numeric(descr: &str, code: &str) -> Error {
    let (what, remedy) = match code.as_bytes().first() {
        Some(b'[') => (
            "structured records",
            "save one plain array: numpy.lib.recfunctions.structured_to_unstructured(a)",
        ),
        Some(b'c') => ("complex numbers", "save a.real and a.imag as two arrays"),
        Some(b'O') => ("Python objects", "save a.astype(float)"),
        Some(b'S' | b'U' | b'a') => ("text", "save numbers: a.astype(float)"),
        Some(b'M' | b'm') => ("dates or times", "save a.astype('int64')"),
        Some(b'f' | b'g') => ("floats of a width that is not read", "save a.astype('f8')"),
        _ => ("elements that are not numbers", "save a.astype('f8')"),
    };
    let short: String = descr.chars().take(40).collect();
    Error::input(format!("the array holds {what} (type {short})"))
        .limit("bool, i1 to i8, u1 to u8, f2, f4, f8")
        .remedy(remedy)
}

/// Reads the Python dictionary of a header.
struct Words<'a> {
    name: &'a str,
    base: u64,
    text: &'a str,
    at: usize,
}

impl Words<'_> {
    fn dictionary(&mut self) -> Result<(String, bool, Vec<usize>)> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.quoted()?;
            self.expect(':')?;
            match key.as_str() {
                "descr" => descr = Some(self.descr()?),
                "fortran_order" => fortran = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return Err(self.wrong(&format!("the key '{key}' is unknown"))),
            }
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        self.blank();
        match (descr, fortran, shape) {
            _ if self.at < self.text.len() => Err(self.wrong("something follows the dictionary")),
            (Some(d), Some(f), Some(s)) => Ok((d, f, s)),
            _ => Err(self.wrong("descr, fortran_order or shape is missing")),
        }
    }
    fn wrong(&self, what: &str) -> Error {
        damaged(
            self.name,
            self.base + self.at as u64,
            format!("the NPY header is damaged: {what}"),
        )
    }
    fn blank(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', '\t', '\r']).len();
    }
    fn take(&mut self, c: char) -> bool {
        self.blank();
        let found = self.text[self.at..].starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }
    fn expect(&mut self, c: char) -> Result<()> {
        if self.take(c) {
            Ok(())
        } else {
            Err(self.wrong(&format!("'{c}' is expected")))
        }
    }
    fn quoted(&mut self) -> Result<String> {
        self.blank();
        let quote = if self.take('\'') {
            '\''
        } else if self.take('"') {
            '"'
        } else {
            return Err(self.wrong("a quote is expected"));
        };
        let rest = &self.text[self.at..];
        let end = rest
            .find(quote)
            .ok_or_else(|| self.wrong("a quote is not closed"))?;
        self.at += end + 1;
        Ok(rest[..end].to_owned())
    }
    /// A type string; for structured types `[`, which says enough to refuse them.
    fn descr(&mut self) -> Result<String> {
        self.blank();
        if self.text[self.at..].starts_with(['[', '(', '{']) {
            self.at = self.text.len();
            return Err(not_numeric("structured", "[").at_place(at_byte(self.name, self.base)));
        }
        self.quoted()
    }
    fn boolean(&mut self) -> Result<bool> {
        self.blank();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong("True or False is expected"))
    }
    fn tuple(&mut self) -> Result<Vec<usize>> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            shape.push(self.length()?);
            if shape.len() > MOST_DIMENSIONS {
                return Err(self.wrong("it has more than 64 dimensions"));
            }
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
    fn length(&mut self) -> Result<usize> {
        self.blank();
        let rest = &self.text[self.at..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length = rest[..digits]
            .parse()
            .map_err(|_| self.wrong("a length of the shape is not a number that fits"))?;
        // Python 2 wrote long integers with an L.
        self.at += digits + usize::from(rest[digits..].starts_with('L'));
        Ok(length)
    }
}

/// The header, magic and padding included, of a little-endian array in C order of type `descr`
/// ("<f8").
pub fn header_bytes(descr: &str, shape: &[usize]) -> Vec<u8> {
    let text = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': {}, }}",
        show_shape(shape)
    );
    let long = text.len() + 11 + 64 > usize::from(u16::MAX);
    let before = if long { 12 } else { 10 };
    let total = (before + text.len() + 1).next_multiple_of(64);
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(if long {
        b"\x93NUMPY\x02\x00"
    } else {
        b"\x93NUMPY\x01\x00"
    });
    let len = total - before;
    if long {
        out.extend_from_slice(&(len as u32).to_le_bytes());
    } else {
        out.extend_from_slice(&(len as u16).to_le_bytes());
    }
    out.extend_from_slice(text.as_bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    out
}

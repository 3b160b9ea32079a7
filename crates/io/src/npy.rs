//! Arrays in NPY files: reading them as numbers of f32 or f64, writing them of any shape.

use crate::guard::{Source, at_byte, read_error};
use crate::npy_header::{Header, Kind, header_bytes};
use half::f16;
use std::io::{self, Read, Write};
use std::ops::Range;
use zipfold_core::budget::Reserved;
use zipfold_core::{Budget, Elements, Error, Opt, Result, Table};

/// Integers beyond this are not all numbers of f64.
const EXACT: u64 = 1 << 53;

/// An array of any number of dimensions, in C order.
#[derive(Clone, Debug)]
pub struct Array {
    /// Lengths of the dimensions.
    pub shape: Vec<usize>,
    /// The elements.
    pub elements: Elements,
}

/// Reads the NPY file `source` as a table: a vector is one column.
///
/// # Errors
/// `Input` when the file is damaged or not numeric, or has no table's shape; `Resource` beyond the
/// budget.
pub fn read_npy(source: &Source, budget: &Budget) -> Result<Table> {
    let header = source_header(source)?;
    let (rows, cols) = header.table_shape(source.name())?;
    let mut reader = source.reader_at(header.data_at);
    let elements = read_elements(&mut reader, &header, source.name(), 0, budget)?;
    Table::new(rows, cols, elements)
}

/// Reads the rows `rows` alone of the NPY file `source`, as a table of all its rows whose others are
/// zeros; `None` where the numbers do not lie in the file row by row as they do in memory.
///
/// # Errors
/// As [`read_npy`].
pub(crate) fn read_npy_rows(
    source: &Source,
    rows: &Range<usize>,
    budget: &Budget,
) -> Result<Option<Table>> {
    let header = source_header(source)?;
    let (all, cols) = header.table_shape(source.name())?;
    if !header.is_as_stored() || rows.start > rows.end || rows.end > all {
        return Ok(None);
    }
    let places = rows.start * cols..rows.end * cols;
    let elements = match header.kind {
        Kind::F32 => Elements::F32(stored_part::<f32>(source, &header, places, budget)?.into()),
        Kind::F64 => Elements::F64(stored_part::<f64>(source, &header, places, budget)?.into()),
        _ => return Ok(None),
    };
    Table::new(all, cols, elements).map(Some)
}

/// Elements whose bytes in the file are those in memory, zeros but for the ones at `places`.
fn stored_part<T: bytemuck::Pod + Default>(
    source: &Source,
    header: &Header,
    places: Range<usize>,
    budget: &Budget,
) -> Result<Reserved<T>> {
    let purpose = format!("the array of {}", source.name());
    let mut out = budget.vec(header.count, T::default(), &purpose)?;
    let first = header.data_at + (places.start * size_of::<T>()) as u64;
    source.fill_at(first, bytemuck::cast_slice_mut(&mut out.items[places]))?;
    Ok(out)
}

/// Reads the NPY file `source` as an array of any shape.
///
/// # Errors
/// As [`read_npy`], but any shape will do.
pub fn read_npy_array(source: &Source, budget: &Budget) -> Result<Array> {
    let header = source_header(source)?;
    let mut reader = source.reader_at(header.data_at);
    let elements = read_elements(&mut reader, &header, source.name(), 0, budget)?;
    Ok(Array {
        shape: header.shape,
        elements,
    })
}

fn source_header(source: &Source) -> Result<Header> {
    Header::read(source.name(), 0, source.size(), |n| {
        let mut bytes = vec![0; n];
        source.fill_at(0, &mut bytes)?;
        Ok(bytes)
    })
}

/// Reads the elements that `header` promises (and whose size is checked) from `reader`; `base` is
/// where the array begins in the file `name`.
pub(crate) fn read_elements(
    reader: &mut dyn Read,
    header: &Header,
    name: &str,
    base: u64,
    budget: &Budget,
) -> Result<Elements> {
    match header.kind {
        Kind::F32 if header.is_as_stored() => {
            return Ok(Elements::F32(
                stored::<f32>(reader, header, name, base, budget)?.into(),
            ));
        }
        Kind::F64 if header.is_as_stored() => {
            return Ok(Elements::F64(
                stored::<f64>(reader, header, name, base, budget)?.into(),
            ));
        }
        _ => {}
    }
    let mut decoder = Decoder {
        reader,
        header,
        name,
        at: base + header.data_at,
    };
    if header.kind.is_single() {
        let out = decoder.decode(budget, |kind, bytes| Ok(single(kind, bytes)))?;
        return Ok(Elements::F32(out.into()));
    }
    let out = decoder.decode(budget, double)?;
    Ok(Elements::F64(out.into()))
}

/// Elements whose bytes in the file are those in memory.
fn stored<T: bytemuck::Pod + Default>(
    reader: &mut dyn Read,
    header: &Header,
    name: &str,
    base: u64,
    budget: &Budget,
) -> Result<Reserved<T>> {
    let mut out = budget.vec(header.count, T::default(), &format!("the array of {name}"))?;
    let mut decoder = Decoder {
        reader,
        header,
        name,
        at: base + header.data_at,
    };
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut out.items);
    for chunk in bytes.chunks_mut(1 << 20) {
        decoder
            .reader
            .read_exact(chunk)
            .map_err(|e| decoder.cut(&e))?;
        decoder.at += chunk.len() as u64;
    }
    Ok(out)
}

struct Decoder<'a> {
    reader: &'a mut dyn Read,
    header: &'a Header,
    name: &'a str,
    at: u64,
}

impl Decoder<'_> {
    fn decode<T: Copy + Default>(
        &mut self,
        budget: &Budget,
        one: fn(Kind, [u8; 8]) -> Result<T>,
    ) -> Result<Reserved<T>> {
        let purpose = format!("the array of {}", self.name);
        let count = self.header.count;
        let fortran = self.header.fortran && self.header.shape.len() > 1;
        let mut out = budget.with_capacity(count, &purpose)?;
        if fortran {
            out.items.resize(count, T::default());
            let mut order = FortranOrder::new(&self.header.shape);
            self.each(one, |value| out.items[order.next_place()] = value)?;
        } else {
            self.each(one, |value| out.items.push(value))?;
        }
        Ok(out)
    }
    /// Gives every element in the order of the file to `put`.
    fn each<T>(
        &mut self,
        one: fn(Kind, [u8; 8]) -> Result<T>,
        mut put: impl FnMut(T),
    ) -> Result<()> {
        let width = self.header.kind.bytes();
        let mut left = self.header.count;
        let mut chunk = vec![0; (left.min(1 << 15)) * width];
        while left > 0 {
            let n = left.min(1 << 15);
            let bytes = &mut chunk[..n * width];
            self.reader.read_exact(bytes).map_err(|e| self.cut(&e))?;
            for item in bytes.chunks_exact(width) {
                let mut raw = [0; 8];
                raw[..width].copy_from_slice(item);
                if self.header.big_endian {
                    raw[..width].reverse();
                }
                put(one(self.header.kind, raw)
                    .map_err(|e| e.at_place(at_byte(self.name, self.at)))?);
                self.at += width as u64;
            }
            left -= n;
        }
        Ok(())
    }
    fn cut(&self, error: &io::Error) -> Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Error::input("the array ends early")
                .at_place(at_byte(self.name, self.at))
                .remedy("copy or make the file again");
        }
        read_error(self.name, "cannot be read", error)
    }
}

/// The places in C order of elements that come in Fortran order.
struct FortranOrder<'a> {
    shape: &'a [usize],
    strides: Vec<usize>,
    index: Vec<usize>,
    place: usize,
}

impl<'a> FortranOrder<'a> {
    fn new(shape: &'a [usize]) -> Self {
        let mut strides = vec![1; shape.len()];
        for d in (1..shape.len()).rev() {
            strides[d - 1] = strides[d] * shape[d];
        }
        FortranOrder {
            shape,
            strides,
            index: vec![0; shape.len()],
            place: 0,
        }
    }
    fn next_place(&mut self) -> usize {
        let place = self.place;
        for (d, at) in self.index.iter_mut().enumerate() {
            *at += 1;
            self.place += self.strides[d];
            if *at < self.shape[d] {
                break;
            }
            self.place -= *at * self.strides[d];
            *at = 0;
        }
        place
    }
}

pub(crate) fn single(kind: Kind, raw: [u8; 8]) -> f32 {
    match kind {
        Kind::F16 => f16::from_le_bytes([raw[0], raw[1]]).to_f32(),
        _ => f32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]),
    }
}

pub(crate) fn double(kind: Kind, raw: [u8; 8]) -> Result<f64> {
    let bits = u64::from_le_bytes(raw);
    Ok(match kind {
        Kind::Bool => f64::from(u8::from(raw[0] != 0)),
        Kind::U8 => f64::from(raw[0]),
        Kind::I8 => f64::from(raw[0] as i8),
        Kind::U16 => f64::from(bits as u16),
        Kind::I16 => f64::from(bits as i16),
        Kind::U32 => f64::from(bits as u32),
        Kind::I32 => f64::from(bits as i32),
        Kind::I64 => return exact_i64(bits as i64),
        Kind::U64 => return exact_u64(bits),
        Kind::F16 | Kind::F32 => f64::from(single(kind, raw)),
        Kind::F64 => f64::from_bits(bits),
    })
}

/// `value` as f64, unless f64 is too coarse for integers of its size.
pub(crate) fn exact_i64(value: i64) -> Result<f64> {
    if value.unsigned_abs() > EXACT {
        Err(too_large(&value.to_string()))
    } else {
        Ok(value as f64)
    }
}

/// `value` as f64, unless f64 is too coarse for integers of its size.
pub(crate) fn exact_u64(value: u64) -> Result<f64> {
    if value > EXACT {
        Err(too_large(&value.to_string()))
    } else {
        Ok(value as f64)
    }
}

/// The refusal of the integer `value`, to which the caller adds the place.
pub(crate) fn too_large(value: &str) -> Error {
    Error::input(format!("the integer {value} is not an exact 64-bit float"))
        .limit("2^53 in magnitude")
        .remedy(format!(
            "subtract an offset, or leave the column out with {}",
            Opt::Columns
        ))
}

/// A number type that NPY files hold and zipfold writes.
pub trait NpyElement: bytemuck::Pod + Send + Sync + private::Sealed {
    /// NumPy's type string.
    const DESCR: &'static str;
    /// Bytes of one element.
    const BYTES: usize;
    /// Appends the little-endian bytes of the element.
    fn put(self, out: &mut Vec<u8>);
    /// The element with the bytes of a little-endian one, as they were read.
    fn of_little(self) -> Self;
}

mod private {
    /// Keeps other types out.
    pub trait Sealed {}
}

macro_rules! element {
    ($($t:ty: $descr:literal),*) => {$(
        impl private::Sealed for $t {}
        impl NpyElement for $t {
            const DESCR: &'static str = $descr;
            const BYTES: usize = size_of::<$t>();
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn of_little(self) -> Self {
                Self::from_le_bytes(self.to_ne_bytes())
            }
        }
    )*};
}
element!(f32: "<f4", f64: "<f8", i64: "<i8", u64: "<u8");

/// Gives the little-endian bytes of `items` to `sink`, a chunk at a time.
pub(crate) fn each_chunk<T: NpyElement>(
    items: &[T],
    mut sink: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return items
            .chunks(1 << 17)
            .try_for_each(|chunk| sink(bytemuck::cast_slice(chunk)));
    }
    let mut bytes = Vec::with_capacity(items.len().min(1 << 13) * T::BYTES);
    for chunk in items.chunks(1 << 13) {
        bytes.clear();
        chunk.iter().for_each(|item| item.put(&mut bytes));
        sink(&bytes)?;
    }
    Ok(())
}

/// Writes the array of `shape` as NPY to `out`.
///
/// # Errors
/// `InvalidInput` when `items` do not fill `shape`, else those of `out`.
pub fn write_npy<T: NpyElement>(
    out: &mut dyn Write,
    shape: &[usize],
    items: &[T],
) -> io::Result<()> {
    if shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)) != Some(items.len()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the elements do not fill the shape",
        ));
    }
    out.write_all(&header_bytes(T::DESCR, shape))?;
    each_chunk(items, |bytes| out.write_all(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_their_ieee_values() {
        let of = |bits: u16| single(Kind::F16, (u64::from(bits)).to_le_bytes());
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 2f32.powi(-24)),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(of(bits), value);
        }
        assert!(of(0x7e00).is_nan());
    }

    #[test]
    fn fortran_places_are_the_transpose() {
        let mut order = FortranOrder::new(&[2, 3]);
        let places: Vec<usize> = (0..6).map(|_| order.next_place()).collect();
        assert_eq!(places, [0, 3, 1, 4, 2, 5]);
    }
}

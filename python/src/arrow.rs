//! Tables through the Arrow PyCapsule interface: columns in, columns out.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::sync::Arc;

/// The name that the interface gives capsules of streams.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A column as numbers; text is numbered by first appearance, and comes with its words.
type Column<'py> = (String, Bound<'py, PyArray1<f64>>, Option<Vec<String>>);

/// The columns of a stream. Nulls are NaN, times are seconds since 1970, text is numbered.
#[pyfunction]
pub fn arrow_columns<'py>(py: Python<'py>, capsule: &Bound<'py, PyCapsule>) -> PyResult<Vec<Column<'py>>> {
    let start = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream, by the interface; it is moved out and an empty one left behind.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(start.as_ptr()) };
    let refused = |e: ArrowError| PyValueError::new_err(format!("the Arrow stream cannot be read: {e}"));
    let reader = RecordBatchStreamReader::try_new(stream).map_err(refused)?;
    let schema = reader.schema();
    let mut columns: Vec<(Vec<f64>, Words)> = schema.fields().iter().map(|_| Default::default()).collect();
    for batch in reader {
        let batch = batch.map_err(refused)?;
        for (at, (items, words)) in columns.iter_mut().enumerate() {
            append(items, words, batch.column(at))
                .map_err(|what| PyTypeError::new_err(format!("column '{}': {what}", schema.field(at).name())))?;
        }
    }
    let named = schema.fields().iter().zip(columns);
    Ok(named.map(|(f, (items, words))| (f.name().clone(), PyArray1::from_vec(py, items), words.listed())).collect())
}

/// Words by number.
#[derive(Default)]
struct Words {
    numbers: HashMap<String, usize>,
    seen: bool,
}

impl Words {
    fn number(&mut self, word: &str) -> f64 {
        let next = self.numbers.len();
        *self.numbers.entry(word.to_owned()).or_insert(next) as f64
    }
    fn listed(self) -> Option<Vec<String>> {
        let mut all: Vec<(usize, String)> = self.numbers.into_iter().map(|(w, n)| (n, w)).collect();
        all.sort_unstable();
        self.seen.then(|| all.into_iter().map(|(_, w)| w).collect())
    }
}

fn append(items: &mut Vec<f64>, words: &mut Words, array: &ArrayRef) -> Result<(), String> {
    let exact = |v: Option<i128>| match v {
        None => Ok(f64::NAN),
        Some(v) if v.unsigned_abs() <= 1 << 53 => Ok(v as f64),
        Some(v) => Err(format!("the integer {v} is beyond 2^53, which f64 cannot hold: subtract an offset")),
    };
    macro_rules! plain {
        ($t:ty) => {{
            items.extend(array.as_primitive::<$t>().iter().map(|v| v.map_or(f64::NAN, |v| v.into())));
            return Ok(());
        }};
    }
    macro_rules! whole {
        ($t:ty) => {{
            for v in array.as_primitive::<$t>().iter() {
                items.push(exact(v.map(i128::from))?);
            }
            return Ok(());
        }};
    }
    macro_rules! seconds {
        ($t:ty, $unit:expr) => {{
            items.extend(array.as_primitive::<$t>().iter().map(|v| v.map_or(f64::NAN, |v| v as f64 * $unit)));
            return Ok(());
        }};
    }
    match array.data_type() {
        DataType::Int8 => plain!(Int8Type),
        DataType::Int16 => plain!(Int16Type),
        DataType::Int32 => plain!(Int32Type),
        DataType::UInt8 => plain!(UInt8Type),
        DataType::UInt16 => plain!(UInt16Type),
        DataType::UInt32 => plain!(UInt32Type),
        DataType::Float32 => plain!(Float32Type),
        DataType::Float64 => plain!(Float64Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::Date32 => seconds!(Date32Type, 86_400.0),
        DataType::Date64 => seconds!(Date64Type, 1e-3),
        DataType::Timestamp(TimeUnit::Second, _) => seconds!(TimestampSecondType, 1.0),
        DataType::Timestamp(TimeUnit::Millisecond, _) => seconds!(TimestampMillisecondType, 1e-3),
        DataType::Timestamp(TimeUnit::Microsecond, _) => seconds!(TimestampMicrosecondType, 1e-6),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => seconds!(TimestampNanosecondType, 1e-9),
        DataType::Duration(TimeUnit::Second) => seconds!(DurationSecondType, 1.0),
        DataType::Duration(TimeUnit::Millisecond) => seconds!(DurationMillisecondType, 1e-3),
        DataType::Duration(TimeUnit::Microsecond) => seconds!(DurationMicrosecondType, 1e-6),
        DataType::Duration(TimeUnit::Nanosecond) => seconds!(DurationNanosecondType, 1e-9),
        DataType::Null => items.extend(std::iter::repeat_n(f64::NAN, array.len())),
        DataType::Boolean => {
            items.extend(array.as_boolean().iter().map(|v| v.map_or(f64::NAN, |v| f64::from(u8::from(v)))));
        }
        DataType::Dictionary(..) => return dictionary(items, words, array),
        _ => return text(items, words, array),
    }
    Ok(())
}

fn text(items: &mut Vec<f64>, words: &mut Words, array: &ArrayRef) -> Result<(), String> {
    words.seen = true;
    let mut number = |v: Option<&str>| v.map_or(f64::NAN, |v| words.number(v));
    match array.data_type() {
        DataType::Utf8 => items.extend(array.as_string::<i32>().iter().map(&mut number)),
        DataType::LargeUtf8 => items.extend(array.as_string::<i64>().iter().map(&mut number)),
        DataType::Utf8View => items.extend(array.as_string_view().iter().map(&mut number)),
        other => return Err(format!("{other} is neither a number, a time nor text: convert or leave it out")),
    }
    Ok(())
}

/// Categories: the values once, then a number for every row.
fn dictionary(items: &mut Vec<f64>, words: &mut Words, array: &ArrayRef) -> Result<(), String> {
    let coded = array.as_any_dictionary();
    let mut values = vec![];
    append(&mut values, words, coded.values())?;
    let keys = coded.normalized_keys();
    let row = |(at, key): (usize, usize)| match array.is_null(at) {
        true => f64::NAN,
        false => values.get(key).copied().unwrap_or(f64::NAN),
    };
    items.extend(keys.into_iter().enumerate().map(row));
    Ok(())
}

/// Columns of i64 and f64 as a capsule that any Arrow library takes.
#[pyfunction]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let refused = |e: ArrowError| PyValueError::new_err(e.to_string());
    let mut named: Vec<(String, ArrayRef)> = vec![];
    for (name, column) in columns {
        let array: ArrayRef = if let Ok(whole) = column.cast::<PyArray1<i64>>() {
            Arc::new(Int64Array::from(whole.to_vec()?))
        } else {
            Arc::new(Float64Array::from(column.cast::<PyArray1<f64>>()?.to_vec()?))
        };
        named.push((name, array));
    }
    let batch = RecordBatch::try_from_iter(named).map_err(refused)?;
    let schema = batch.schema();
    let reader: Box<dyn RecordBatchReader + Send> = Box::new(RecordBatchIterator::new([Ok(batch)], schema));
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

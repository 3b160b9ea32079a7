//! Tables through the Arrow PyCapsule interface: columns in, columns out.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
};
use arrow_schema::TimeUnit::{self, Microsecond, Millisecond, Nanosecond, Second};
use arrow_schema::{ArrowError, DataType, Field};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::sync::Arc;

/// The name that the interface gives capsules of streams.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A column as numbers, a row of them for each row where it holds lists; text is numbered by first
/// appearance, and comes with its words.
type Column<'py> = (String, Bound<'py, PyAny>, Option<Vec<String>>);

fn refused(e: ArrowError) -> PyErr {
    PyValueError::new_err(format!("the Arrow stream cannot be read: {e}"))
}

/// Moves the stream out of a capsule.
fn stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let start = capsule
        .pointer_checked(Some(STREAM))?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream, by the interface; it is moved out and an empty
    // one left behind.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(start.as_ptr()) })
}

/// The columns of a stream, or those `wanted`. Nulls are NaN, times are seconds since 1970, text is
/// numbered. Columns that nobody wants may be of any kind.
#[pyfunction]
#[pyo3(signature = (capsule, wanted))]
pub(crate) fn arrow_columns<'py>(
    py: Python<'py>,
    capsule: &Bound<'py, PyCapsule>,
    wanted: Option<Vec<usize>>,
) -> PyResult<Vec<Column<'py>>> {
    let reader = RecordBatchStreamReader::try_new(stream(capsule)?).map_err(refused)?;
    let schema = reader.schema();
    let wanted = wanted.unwrap_or_else(|| (0..schema.fields().len()).collect());
    let mut columns: Vec<Numbers> = wanted.iter().map(|_| Numbers::default()).collect();
    for batch in reader {
        let batch = batch.map_err(refused)?;
        for (at, column) in wanted.iter().zip(&mut columns) {
            if *at >= batch.num_columns() {
                return Err(PyValueError::new_err(format!(
                    "column {at} of {} (limit: those there are)",
                    batch.num_columns()
                )));
            }
            column.take(batch.column(*at)).map_err(|what| {
                PyTypeError::new_err(format!("column '{}': {what}", schema.field(*at).name()))
            })?;
        }
    }
    let named = wanted
        .iter()
        .filter_map(|at| schema.fields().get(*at))
        .zip(columns);
    named
        .map(|(field, numbers)| numbers.array(py, field))
        .collect()
}

/// The numbers of a column so far.
#[derive(Default)]
struct Numbers {
    items: Vec<f64>,
    words: Words,
    /// Numbers of a row, where rows are lists.
    width: Option<usize>,
}

impl Numbers {
    fn take(&mut self, array: &ArrayRef) -> Result<(), String> {
        match array.data_type() {
            DataType::FixedSizeList(..) => {
                let lists = array.as_fixed_size_list();
                self.lists(lists.len(), |row| {
                    (!lists.is_null(row)).then(|| lists.value(row))
                })
            }
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                self.lists(lists.len(), |row| {
                    (!lists.is_null(row)).then(|| lists.value(row))
                })
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                self.lists(lists.len(), |row| {
                    (!lists.is_null(row)).then(|| lists.value(row))
                })
            }
            _ => append(&mut self.items, &mut self.words, array),
        }
    }
    fn lists(
        &mut self,
        rows: usize,
        list: impl Fn(usize) -> Option<ArrayRef>,
    ) -> Result<(), String> {
        for row in 0..rows {
            let Some(items) = list(row) else {
                return Err("a list that is null: leave out the row, or fill it".into());
            };
            let width = *self.width.get_or_insert(items.len());
            if items.len() != width {
                return Err(format!(
                    "lists of {width} and of {} numbers (limit: one length)",
                    items.len()
                ));
            }
            append(&mut self.items, &mut self.words, &items)?;
        }
        Ok(())
    }
    /// As an array of the precision of the column; of two dimensions where it holds lists.
    fn array<'py>(self, py: Python<'py>, field: &Field) -> PyResult<Column<'py>> {
        let of = match field.data_type() {
            DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => {
                item.data_type()
            }
            plain => plain,
        };
        let lists = of != field.data_type();
        let words = self.words.listed();
        if lists && words.is_some() {
            return Err(PyTypeError::new_err(format!(
                "column '{}': lists of text, not of numbers",
                field.name()
            )));
        }
        let width = self.width.unwrap_or(0);
        let rows = self.items.len().checked_div(width).unwrap_or(0);
        let single = matches!(of, DataType::Float32 | DataType::Float16);
        let array = match (single, lists) {
            (true, false) => narrow(py, &self.items).into_any(),
            (true, true) => narrow(py, &self.items).reshape([rows, width])?.into_any(),
            (false, false) => PyArray1::from_vec(py, self.items).into_any(),
            (false, true) => PyArray1::from_vec(py, self.items)
                .reshape([rows, width])?
                .into_any(),
        };
        Ok((field.name().clone(), array, words))
    }
}

/// Numbers that came from single precision, in it again.
fn narrow<'py>(py: Python<'py>, items: &[f64]) -> Bound<'py, PyArray1<f32>> {
    PyArray1::from_iter(py, items.iter().map(|v| *v as f32))
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

/// A whole number as f64, if f64 holds it.
fn exact(v: Option<i128>) -> Result<f64, String> {
    match v {
        None => Ok(f64::NAN),
        Some(v) if v.unsigned_abs() <= 1 << 53 => Ok(v as f64),
        Some(v) => Err(format!(
            "the integer {v} is beyond 2^53, which f64 cannot hold: subtract an offset"
        )),
    }
}

/// Numbers that f64 holds, whatever they are.
fn plain<T: ArrowPrimitiveType>(items: &mut Vec<f64>, array: &ArrayRef) -> Result<(), String>
where
    T::Native: Into<f64>,
{
    let numbers = array.as_primitive::<T>().iter();
    items.extend(numbers.map(|v| v.map_or(f64::NAN, Into::into)));
    Ok(())
}

/// Whole numbers, of which f64 holds some.
fn whole<T: ArrowPrimitiveType>(items: &mut Vec<f64>, array: &ArrayRef) -> Result<(), String>
where
    T::Native: Into<i128>,
{
    for v in array.as_primitive::<T>().iter() {
        items.push(exact(v.map(Into::into))?);
    }
    Ok(())
}

/// Decimals of so many digits behind the point.
fn decimals(items: &mut Vec<f64>, array: &ArrayRef, scale: i8) -> Result<(), String> {
    for v in array.as_primitive::<Decimal128Type>().iter() {
        // Zeros at the end are no digits of the number.
        let (mut digits, mut scale) = (v, scale);
        while let Some(n) = digits.filter(|n| scale > 0 && n % 10 == 0) {
            (digits, scale) = (Some(n / 10), scale - 1);
        }
        items.push(exact(digits)? / 10f64.powi(i32::from(scale)));
    }
    Ok(())
}

/// Counts of 1000^−`thousands` seconds.
fn moments<T: ArrowPrimitiveType>(
    items: &mut Vec<f64>,
    array: &ArrayRef,
    thousands: u32,
) -> Result<(), String>
where
    T::Native: Into<i64>,
{
    for v in array.as_primitive::<T>().iter() {
        items.push(v.map_or(Ok(f64::NAN), |v| seconds(v.into(), thousands))?);
    }
    Ok(())
}

/// Dates, times and durations in seconds; false for an array of another kind.
fn times(items: &mut Vec<f64>, array: &ArrayRef) -> Result<bool, String> {
    match array.data_type() {
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().iter();
            items.extend(days.map(|v| v.map_or(f64::NAN, |v| f64::from(v) * 86_400.0)));
            Ok(())
        }
        DataType::Date64 => moments::<Date64Type>(items, array, 1),
        DataType::Time32(Second) => moments::<Time32SecondType>(items, array, 0),
        DataType::Time32(Millisecond) => moments::<Time32MillisecondType>(items, array, 1),
        DataType::Time64(Microsecond) => moments::<Time64MicrosecondType>(items, array, 2),
        DataType::Time64(Nanosecond) => moments::<Time64NanosecondType>(items, array, 3),
        DataType::Timestamp(unit, _) => timestamps(items, array, *unit),
        DataType::Duration(unit) => durations(items, array, *unit),
        _ => return Ok(false),
    }
    .map(|()| true)
}

fn timestamps(items: &mut Vec<f64>, array: &ArrayRef, unit: TimeUnit) -> Result<(), String> {
    match unit {
        Second => moments::<TimestampSecondType>(items, array, 0),
        Millisecond => moments::<TimestampMillisecondType>(items, array, 1),
        Microsecond => moments::<TimestampMicrosecondType>(items, array, 2),
        Nanosecond => moments::<TimestampNanosecondType>(items, array, 3),
    }
}

fn durations(items: &mut Vec<f64>, array: &ArrayRef, unit: TimeUnit) -> Result<(), String> {
    match unit {
        Second => moments::<DurationSecondType>(items, array, 0),
        Millisecond => moments::<DurationMillisecondType>(items, array, 1),
        Microsecond => moments::<DurationMicrosecondType>(items, array, 2),
        Nanosecond => moments::<DurationNanosecondType>(items, array, 3),
    }
}

fn append(items: &mut Vec<f64>, words: &mut Words, array: &ArrayRef) -> Result<(), String> {
    if numbers(items, array)? || times(items, array)? {
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => {
            items.extend(std::iter::repeat_n(f64::NAN, array.len()));
            Ok(())
        }
        DataType::Boolean => {
            let truths = array.as_boolean().iter();
            items.extend(truths.map(|v| v.map_or(f64::NAN, |v| f64::from(u8::from(v)))));
            Ok(())
        }
        DataType::Dictionary(..) => dictionary(items, words, array),
        _ => text(items, words, array),
    }
}

/// Numbers of any type; false for an array of another kind.
fn numbers(items: &mut Vec<f64>, array: &ArrayRef) -> Result<bool, String> {
    match array.data_type() {
        DataType::Int8 => plain::<Int8Type>(items, array),
        DataType::Int16 => plain::<Int16Type>(items, array),
        DataType::Int32 => plain::<Int32Type>(items, array),
        DataType::UInt8 => plain::<UInt8Type>(items, array),
        DataType::UInt16 => plain::<UInt16Type>(items, array),
        DataType::UInt32 => plain::<UInt32Type>(items, array),
        DataType::Float16 => plain::<Float16Type>(items, array),
        DataType::Float32 => plain::<Float32Type>(items, array),
        DataType::Float64 => plain::<Float64Type>(items, array),
        DataType::Int64 => whole::<Int64Type>(items, array),
        DataType::UInt64 => whole::<UInt64Type>(items, array),
        DataType::Decimal128(_, scale) => decimals(items, array, *scale),
        _ => return Ok(false),
    }
    .map(|()| true)
}

/// `count` units of 1000^−`thousands` seconds, rounded once, so that a moment is one number
/// whatever unit it comes in.
fn seconds(count: i64, thousands: u32) -> Result<f64, String> {
    let (mut whole, mut left) = (count, thousands);
    while left > 0 && whole % 1000 == 0 {
        (whole, left) = (whole / 1000, left - 1);
    }
    let unit = 1000f64.powi(left as i32);
    let out = whole as f64 / unit;
    // Two moments a unit apart are two numbers.
    if left > 0 && (out.abs().next_up() - out.abs()) * unit >= 1.0 {
        let name = ["seconds", "milliseconds", "microseconds", "nanoseconds"][left.min(3) as usize];
        return Err(format!(
            "a time of {whole} {name}, of which seconds in float64 keep no {name}\n  \
             try: subtract an origin first, such as the first time"
        ));
    }
    Ok(out)
}

fn text(items: &mut Vec<f64>, words: &mut Words, array: &ArrayRef) -> Result<(), String> {
    words.seen = true;
    let mut number = |v: Option<&str>| v.map_or(f64::NAN, |v| words.number(v));
    match array.data_type() {
        DataType::Utf8 => items.extend(array.as_string::<i32>().iter().map(&mut number)),
        DataType::LargeUtf8 => items.extend(array.as_string::<i64>().iter().map(&mut number)),
        DataType::Utf8View => items.extend(array.as_string_view().iter().map(&mut number)),
        other => {
            return Err(format!(
                "{other} is neither a number, a time nor text: convert or leave it out"
            ));
        }
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
pub(crate) fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let refused = |e: ArrowError| PyValueError::new_err(e.to_string());
    let mut named: Vec<(String, ArrayRef)> = vec![];
    for (name, column) in columns {
        let array: ArrayRef = if let Ok(whole) = column.cast::<PyArray1<i64>>() {
            Arc::new(Int64Array::from(whole.to_vec()?))
        } else {
            Arc::new(Float64Array::from(
                column.cast::<PyArray1<f64>>()?.to_vec()?,
            ))
        };
        named.push((name, array));
    }
    let batch = RecordBatch::try_from_iter(named).map_err(refused)?;
    let schema = batch.schema();
    let reader: Box<dyn RecordBatchReader + Send> =
        Box::new(RecordBatchIterator::new([Ok(batch)], schema));
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

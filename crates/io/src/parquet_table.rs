//! Numeric columns of Parquet files; nulls are NaN.

use crate::foreign::{contained, damaged, not_numeric};
use crate::growing::Growing;
use crate::guard::{Source, SourceReader};
use crate::npy::{exact_i64, exact_u64};
use crate::select::pick;
use parquet::basic::{ConvertedType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::io::{BufReader, Read};
use zipfold_core::{Budget, Buffer, Elements, Error, Result, Table};

/// Rows that are turned from columns to rows at one time.
const BATCH: usize = 8192;

/// A [`Source`] as the decoder reads it: a claim of more bytes than there are costs nothing.
struct Chunks(Source);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.size()
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<SourceReader>;
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(self.0.reader_at(start)))
    }
    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<bytes::Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.0.size()) {
            return Err(ParquetError::EOF(format!("{length} bytes claimed at byte {start}")));
        }
        let mut out = Vec::with_capacity(length);
        self.0.reader_at(start).take(length as u64).read_to_end(&mut out)?;
        Ok(out.into())
    }
}

/// One chosen column.
#[derive(Clone, Copy)]
struct Chosen {
    at: usize,
    nullable: i16,
    unsigned: bool,
}

/// Reads the chosen columns (all when `None`) of the Parquet file `source`. Columns that are all single precision give
/// f32, else f64.
///
/// # Errors
/// `Input` when the file is damaged, a column is not numeric or an integer is beyond 2^53; `Request` for columns that
/// are not there; `Resource` beyond the budget.
pub fn read_parquet(source: &Source, columns: Option<&[String]>, budget: &Budget) -> Result<Table> {
    contained(source, "Parquet", || {
        let reader = SerializedFileReader::new(Chunks(source.clone())).map_err(|e| damaged(source, "Parquet", e))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let names: Vec<String> = schema.columns().iter().map(|c| c.path().string()).collect();
        let picked = match columns {
            Some(wanted) => pick(wanted, Some(&names), names.len()).map_err(|e| e.at(source.name()))?,
            None => (0..names.len()).collect(),
        };
        let chosen = picked.iter().map(|at| choose(source, schema, *at)).collect::<Result<Vec<_>>>()?;
        let single = |c: &Chosen| schema.column(c.at).physical_type() == Physical::FLOAT;
        let (rows, elements) = if chosen.iter().all(single) && !chosen.is_empty() {
            let (rows, items) = read_groups(source, &reader, &chosen, budget, |v| v as f32)?;
            (rows, Elements::F32(Buffer::new(items)))
        } else {
            let (rows, items) = read_groups(source, &reader, &chosen, budget, |v| v)?;
            (rows, Elements::F64(Buffer::new(items)))
        };
        let table = Table::new(rows, chosen.len(), elements)?;
        table.with_names(picked.iter().map(|at| names[*at].clone()).collect()).map_err(|e| e.at(source.name()))
    })
}

/// Why a column cannot be read as numbers.
fn obstacle(column: &ColumnDescriptor) -> Option<&'static str> {
    if column.max_rep_level() > 0 {
        return Some("lists");
    }
    match (column.physical_type(), column.converted_type()) {
        (Physical::BYTE_ARRAY, _) => Some("text or bytes"),
        (Physical::FIXED_LEN_BYTE_ARRAY, _) => Some("bytes, decimals or half floats"),
        (Physical::INT96, _) => Some("times of 96 bits"),
        (_, ConvertedType::DECIMAL) => Some("decimals"),
        _ => None,
    }
}

fn choose(source: &Source, schema: &SchemaDescriptor, at: usize) -> Result<Chosen> {
    let column = schema.column(at);
    if let Some(kind) = obstacle(&column) {
        let numeric = schema.columns().iter().filter(|c| obstacle(c).is_none()).take(20);
        let others: Vec<String> = numeric.map(|c| c.path().string()).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        return Err(not_numeric(source, &column.path().string(), kind, &others));
    }
    let unsigned = matches!(
        column.converted_type(),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    );
    Ok(Chosen { at, nullable: column.max_def_level(), unsigned })
}

fn read_groups<T: Copy>(
    source: &Source,
    reader: &SerializedFileReader<Chunks>,
    chosen: &[Chosen],
    budget: &Budget,
    narrow: fn(f64) -> T,
) -> Result<(usize, Growing<T>)> {
    let mut items = Growing::new(budget, format!("the rows of {}", source.name()));
    let mut rows = 0;
    for group in 0..reader.num_row_groups() {
        let group_reader = reader.get_row_group(group).map_err(|e| damaged(source, "Parquet", e))?;
        let readers = chosen.iter().map(|c| group_reader.get_column_reader(c.at));
        let mut readers = readers.collect::<ParquetResult<Vec<_>>>().map_err(|e| damaged(source, "Parquet", e))?;
        loop {
            let n = read_batch(source, rows, &mut readers, chosen, &mut items, narrow)?;
            if n == 0 {
                break;
            }
            rows += n;
        }
    }
    let claimed = reader.metadata().file_metadata().num_rows();
    if usize::try_from(claimed) != Ok(rows) {
        return Err(damaged(source, "Parquet", format!("{claimed} rows claimed, {rows} are there")));
    }
    Ok((rows, items.finish()?))
}

fn read_batch<T: Copy>(
    source: &Source,
    row: usize,
    readers: &mut [ColumnReader],
    chosen: &[Chosen],
    items: &mut Growing<T>,
    narrow: fn(f64) -> T,
) -> Result<usize> {
    let mut batch = Vec::with_capacity(readers.len());
    for (reader, column) in readers.iter_mut().zip(chosen) {
        let place = |e: Error| e.at(format!("{}, column {}, row {row} or below", source.name(), column.at));
        batch.push(values(source, reader, *column).map_err(|e| if e.place().is_none() { place(e) } else { e })?);
    }
    let rows = batch.first().map_or(0, Vec::len);
    if batch.iter().any(|b| b.len() != rows) {
        return Err(damaged(source, "Parquet", "the columns of a row group differ in length"));
    }
    for at in 0..rows {
        for column in &batch {
            items.push(narrow(column[at]))?;
        }
    }
    Ok(rows)
}

/// The next values of one column.
fn values(source: &Source, reader: &mut ColumnReader, column: Chosen) -> Result<Vec<f64>> {
    match reader {
        ColumnReader::BoolColumnReader(r) => typed(source, r, column, |v| Ok(f64::from(u8::from(v)))),
        ColumnReader::Int32ColumnReader(r) if column.unsigned => typed(source, r, column, |v| Ok(f64::from(v as u32))),
        ColumnReader::Int32ColumnReader(r) => typed(source, r, column, |v| Ok(f64::from(v))),
        ColumnReader::Int64ColumnReader(r) if column.unsigned => typed(source, r, column, |v| exact_u64(v as u64)),
        ColumnReader::Int64ColumnReader(r) => typed(source, r, column, exact_i64),
        ColumnReader::FloatColumnReader(r) => typed(source, r, column, |v| Ok(f64::from(v))),
        ColumnReader::DoubleColumnReader(r) => typed(source, r, column, Ok),
        _ => Err(damaged(source, "Parquet", "a column changed its type")),
    }
}

fn typed<D: DataType>(
    source: &Source,
    reader: &mut ColumnReaderImpl<D>,
    column: Chosen,
    number: fn(D::T) -> Result<f64>,
) -> Result<Vec<f64>> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let with_levels = (column.nullable > 0).then_some(&mut levels);
    reader.read_records(BATCH, with_levels, None, &mut values).map_err(|e| damaged(source, "Parquet", e))?;
    let mut values = values.into_iter().map(number);
    if column.nullable == 0 {
        return values.collect();
    }
    let ended = || Err(damaged(source, "Parquet", "a column has fewer values than it claims"));
    levels
        .iter()
        .map(|l| if *l == column.nullable { values.next().unwrap_or_else(ended) } else { Ok(f64::NAN) })
        .collect()
}

//! Numeric columns of Parquet files; nulls are NaN.

use crate::foreign::{contained, damaged, not_numeric};
use crate::guard::{Source, SourceReader, check_claim};
use crate::npy::{exact_i64, exact_u64};
use crate::parquet_pages;
use crate::select::pick;
use parquet::basic::{ConvertedType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::io::{BufReader, Read};
use zipfold_core::{Budget, Elements, Reserved, Result, Table};

/// Rows that are turned from columns to rows at one time.
const BATCH: usize = 8192;

/// Columns that are read side by side: as many double-precision numbers as a line of the cache holds.
const ABREAST: usize = 8;

/// Bytes that reading a column takes beside its pages: a batch of it, and what the decoder keeps.
const READER: u64 = (BATCH * 28) as u64 + (64 << 10);

/// Times the size of the footer that it takes when it is read: its numbers are written short.
const FOOTER: u64 = 12;

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
        let _footer = budget.reserve(footer(source)?.saturating_mul(FOOTER), "the footer of the Parquet file")?;
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
            (rows, Elements::F32(items.into()))
        } else {
            let (rows, items) = read_groups(source, &reader, &chosen, budget, |v| v)?;
            (rows, Elements::F64(items.into()))
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

/// Bytes of the footer, as the end of the file claims.
fn footer(source: &Source) -> Result<u64> {
    let size = source.size();
    check_claim(source.name().to_owned(), "a Parquet file", Some(12), size)?;
    let mut tail = [0; 4];
    source.fill_at(size - 8, &mut tail)?;
    check_claim(source.name().to_owned(), "the Parquet footer", Some(u64::from(u32::from_le_bytes(tail)) + 8), size)
}

fn read_groups<T: Copy + Default>(
    source: &Source,
    reader: &SerializedFileReader<Chunks>,
    chosen: &[Chosen],
    budget: &Budget,
    narrow: fn(f64) -> T,
) -> Result<(usize, Reserved<T>)> {
    let broken = |what: &str| damaged(source, "Parquet", what);
    let groups = reader.metadata().row_groups();
    let rows_of = |group: &RowGroupMetaData| usize::try_from(group.num_rows()).map_err(|_| broken("a number of rows"));
    let counts = groups.iter().map(rows_of).collect::<Result<Vec<_>>>()?;
    let rows =
        counts.iter().try_fold(0usize, |sum, n| sum.checked_add(*n)).ok_or_else(|| broken("a number of rows"))?;
    let claimed = reader.metadata().file_metadata().num_rows();
    if usize::try_from(claimed) != Ok(rows) {
        return Err(broken(&format!("{claimed} rows claimed, {rows} are there")));
    }
    let total = rows.checked_mul(chosen.len()).ok_or_else(|| broken("a number of rows"))?;
    let mut items = budget.vec(total, T::default(), &format!("the rows of {}", source.name()))?;
    let mut first = 0;
    for (group, count) in counts.into_iter().enumerate() {
        let place = &mut items.items[first * chosen.len()..(first + count) * chosen.len()];
        for (at, columns) in chosen.chunks(ABREAST).enumerate() {
            let room = budget.free() / 4 / columns.len() as u64;
            let pages = columns.iter().map(|c| parquet_pages::held(source, groups[group].column(c.at), room));
            let held = pages.collect::<Result<Vec<u64>>>()?.iter().fold(0u64, |sum, held| sum.saturating_add(*held));
            let readers = READER * columns.len() as u64;
            let _pages = budget.reserve(held.saturating_add(readers), "the pages of the Parquet file")?;
            let block = Block { columns, first: at * ABREAST, width: chosen.len(), row: first };
            read_block(source, reader, group, &block, place, narrow)?;
        }
        first += count;
    }
    Ok((rows, items))
}

/// Columns that are read side by side.
struct Block<'a> {
    columns: &'a [Chosen],
    /// The place of the first in a row of the table.
    first: usize,
    /// Numbers of a row of the table.
    width: usize,
    /// The first row, for messages.
    row: usize,
}

/// Reads the columns of `block` in row group `group` to their places in `rows`.
fn read_block<T: Copy>(
    source: &Source,
    reader: &SerializedFileReader<Chunks>,
    group: usize,
    block: &Block<'_>,
    rows: &mut [T],
    narrow: fn(f64) -> T,
) -> Result<()> {
    let broken = |what: String| damaged(source, "Parquet", what);
    let group = reader.get_row_group(group).map_err(|e| damaged(source, "Parquet", e))?;
    let readers = block.columns.iter().map(|c| group.get_column_reader(c.at));
    let mut readers = readers.collect::<ParquetResult<Vec<_>>>().map_err(|e| damaged(source, "Parquet", e))?;
    let count = rows.len() / block.width.max(1);
    let mut done = 0;
    loop {
        let mut batch = Vec::with_capacity(readers.len());
        for (reader, column) in readers.iter_mut().zip(block.columns) {
            let row = block.row + done;
            let place = format!("{}, column {}, row {row} or below", source.name(), column.at);
            batch.push(values(source, reader, *column).map_err(|e| e.at_least(place))?);
        }
        let many = batch.first().map_or(0, Vec::len);
        if batch.iter().any(|b| b.len() != many) || many > count - done {
            return Err(broken("the columns of a row group differ in length".to_owned()));
        }
        if many == 0 && done < count {
            return Err(broken(format!("a row group claims {count} rows, and has {done}")));
        }
        if many == 0 {
            return Ok(());
        }
        for (at, row) in rows[done * block.width..].chunks_exact_mut(block.width).take(many).enumerate() {
            row[block.first..].iter_mut().zip(&batch).for_each(|(to, column)| *to = narrow(column[at]));
        }
        done += many;
    }
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

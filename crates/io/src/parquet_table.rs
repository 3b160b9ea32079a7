//! Numeric columns of Parquet files; nulls are NaN.

use crate::foreign::{contained, damaged, not_numeric};
use crate::guard::{Source, SourceReader, check_claim};
use crate::npy::{exact_i64, exact_u64};
use crate::parquet_pages;
use crate::read_options::ReadOptions;
use crate::words::{WordColumn, spread_names};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::io::{BufReader, Read};
use std::ops::Range;
use zipfold_core::{Budget, Elements, Error, Reserved, Result, Table};

/// Rows that are turned from columns to rows at one time.
const BATCH: usize = 8192;

/// Columns that are read side by side: as many double-precision numbers as a line of the cache
/// holds.
const ABREAST: usize = 8;

/// Bytes that reading a column takes next to its pages: a batch of it, and what the decoder keeps.
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
        if start
            .checked_add(length as u64)
            .is_none_or(|end| end > self.0.size())
        {
            return Err(ParquetError::EOF(format!(
                "{length} bytes claimed at byte {start}"
            )));
        }
        let mut out = Vec::with_capacity(length);
        self.0
            .reader_at(start)
            .take(length as u64)
            .read_to_end(&mut out)?;
        Ok(out.into())
    }
}

/// One chosen column.
#[derive(Clone, Copy)]
struct Chosen {
    at: usize,
    nullable: i16,
    unsigned: bool,
    /// For lists: from this definition level on there is an item.
    list: Option<i16>,
    /// Numbers that it gives a row.
    width: usize,
}

impl Chosen {
    /// Rows that are read of it at one time.
    fn batch(self) -> usize {
        (BATCH / self.width.max(1)).max(1)
    }
}

/// Reads the chosen columns (all when `None`) of the Parquet file `source`. A column of lists of
/// one length gives as many components; columns of text (or the ones that the options call `ids`)
/// are kept as words. Columns that are all single precision give f32, else f64. With `some` rows the
/// row groups of these alone are read, without words; the other rows are zeros.
///
/// # Errors
/// `Input` when the file is damaged, a column is not numeric, lists differ in length or an integer
/// is beyond 2^53; `Request` for columns that are not there; `Resource` beyond the budget.
pub fn read_parquet(
    source: &Source,
    options: &ReadOptions,
    some: Option<&Range<usize>>,
    budget: &Budget,
) -> Result<Table> {
    contained(source, "Parquet", || {
        let _footer = budget.reserve(
            footer(source)?.saturating_mul(FOOTER),
            "the footer of the Parquet file",
        )?;
        let reader = SerializedFileReader::new(Chunks(source.clone()))
            .map_err(|e| damaged(source, "Parquet", e))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let names = column_names(schema);
        let text = |at: usize| is_text(&schema.column(at));
        let (picked, ids) = crate::arrow_table::chosen(source, options, &names, &text)?;
        let groups = reader.metadata().row_groups();
        let one = |at: &usize| choose(source, schema, &names, groups, *at);
        let chosen = picked.iter().map(one).collect::<Result<Vec<_>>>()?;
        let single = |c: &Chosen| schema.column(c.at).physical_type() == Physical::FLOAT;
        let (rows, elements) = if chosen.iter().all(single) && !chosen.is_empty() {
            let (rows, items) =
                read_groups((source, &reader), &chosen, some, budget, |v| v as f32)?;
            (rows, Elements::F32(items.into()))
        } else {
            let (rows, items) = read_groups((source, &reader), &chosen, some, budget, |v| v)?;
            (rows, Elements::F64(items.into()))
        };
        let word = |at: usize| {
            let column = word_column(source, &schema.column(at), &names[at], at)?;
            let words = read_words(source, &reader, column, names[at].clone(), rows, budget)?;
            Ok(words.of_words(options.has_words(&names[at])))
        };
        let ids = ids.into_iter().filter(|_| some.is_none());
        let words = ids.map(word).collect::<Result<Vec<_>>>()?;
        let named = chosen_names(&chosen, &names);
        let table =
            Table::new(rows, named.len(), elements)?.with_labels(WordColumn::finish(words)?)?;
        table
            .with_names(named)
            .map_err(|e| e.at_place(source.name()))
    })
}

/// The names of the numbers that chosen columns give.
fn chosen_names(chosen: &[Chosen], names: &[String]) -> Vec<String> {
    let one = |c: &Chosen| (names[c.at].clone(), c.list.map(|_| c.width));
    spread_names(chosen.iter().map(one))
}

/// Column `at`, called `name`, as one of words.
fn word_column(
    source: &Source,
    descriptor: &ColumnDescriptor,
    name: &str,
    at: usize,
) -> Result<Chosen> {
    if descriptor.max_rep_level() > 0 {
        let e = not_numeric(source, name, "lists");
        return Err(e.remedy("name the rows by another column"));
    }
    Ok(Chosen {
        at,
        nullable: descriptor.max_def_level(),
        unsigned: is_unsigned(descriptor),
        list: None,
        width: 1,
    })
}

/// Names of the columns: a list's is that of the column, not of its items.
fn column_names(schema: &SchemaDescriptor) -> Vec<String> {
    let roots: Vec<&str> = schema
        .columns()
        .iter()
        .map(|c| c.path().parts().first().map_or("", String::as_str))
        .collect();
    let alone = |at: usize| roots.iter().filter(|r| **r == roots[at]).count() == 1;
    let lists: Vec<usize> = (0..roots.len())
        .filter(|at| schema.column(*at).max_rep_level() == 1)
        .collect();
    let name = |at: usize| {
        let whole = schema.column(at).path().string();
        if lists.contains(&at) && alone(at) {
            roots[at].to_string()
        } else {
            whole
        }
    };
    (0..roots.len()).map(name).collect()
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    matches!(
        column.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    )
}

fn is_text(column: &ColumnDescriptor) -> bool {
    let said = matches!(
        column.converted_type(),
        ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON
    );
    let logical = matches!(
        column.logical_type_ref(),
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json)
    );
    column.physical_type() == Physical::BYTE_ARRAY
        && column.max_rep_level() == 0
        && (said || logical)
}

/// Why a column cannot be read as numbers.
fn obstacle(column: &ColumnDescriptor) -> Option<&'static str> {
    if column.max_rep_level() > 1 {
        return Some("lists of lists");
    }
    match (column.physical_type(), column.converted_type()) {
        (Physical::BYTE_ARRAY, _) => Some("text or bytes"),
        (Physical::FIXED_LEN_BYTE_ARRAY, _) => Some("bytes, decimals or half floats"),
        (Physical::INT96, _) => Some("times of 96 bits"),
        (_, ConvertedType::DECIMAL) => Some("decimals"),
        _ => None,
    }
}

fn choose(
    source: &Source,
    schema: &SchemaDescriptor,
    names: &[String],
    groups: &[RowGroupMetaData],
    at: usize,
) -> Result<Chosen> {
    let column = schema.column(at);
    if let Some(kind) = obstacle(&column) {
        return Err(not_numeric(source, &names[at], kind));
    }
    let unsigned = is_unsigned(&column);
    let list = (column.max_rep_level() == 1).then(|| item_level(schema, &column));
    let width = if list.is_some() {
        list_length(source, groups, at)
            .map_err(|e| e.at_place(format!("{}, column '{}'", source.name(), names[at])))?
    } else {
        1
    };
    Ok(Chosen {
        at,
        nullable: column.max_def_level(),
        unsigned,
        list,
        width,
    })
}

/// The length of the lists of a column, where all have one.
fn list_length(source: &Source, groups: &[RowGroupMetaData], at: usize) -> Result<usize> {
    let sum = |of: &dyn Fn(&RowGroupMetaData) -> i64| {
        groups
            .iter()
            .try_fold(0i64, |sum, g| sum.checked_add(of(g)))
    };
    let (rows, items) = (sum(&|g| g.num_rows()), sum(&|g| g.column(at).num_values()));
    let (Some(rows @ 0..), Some(items @ 0..)) = (rows, items) else {
        return Err(damaged(source, "Parquet", "a number of rows"));
    };
    if rows == 0 {
        return Ok(1);
    }
    match usize::try_from(items / rows) {
        Ok(length) if items % rows == 0 && length > 0 => Ok(length),
        _ => Err(unequal(&format!("{items} numbers in {rows} lists"))),
    }
}

/// The refusal of lists that are no rows of a table.
fn unequal(what: &str) -> Error {
    Error::input(format!("the lists differ in length: {what}"))
        .remedy("lists of one length in every row, or another column")
}

/// The definition level from which on a list has an item.
fn item_level(schema: &SchemaDescriptor, column: &ColumnDescriptor) -> i16 {
    let mut node = schema.root_schema();
    let mut level = 0;
    for part in column.path().parts() {
        let Some(child) = node.get_fields().iter().find(|f| f.name() == part) else {
            break;
        };
        node = child;
        match node.get_basic_info().repetition() {
            Repetition::OPTIONAL => level += 1,
            Repetition::REPEATED => return level + 1,
            Repetition::REQUIRED => {}
        }
        if node.is_primitive() {
            break;
        }
    }
    level
}

/// Bytes of the footer, as the end of the file claims.
fn footer(source: &Source) -> Result<u64> {
    let size = source.size();
    check_claim(source.name().to_owned(), "a Parquet file", Some(12), size)?;
    let mut tail = [0; 4];
    source.fill_at(size - 8, &mut tail)?;
    check_claim(
        source.name().to_owned(),
        "the Parquet footer",
        Some(u64::from(u32::from_le_bytes(tail)) + 8),
        size,
    )
}

/// The rows of each row group, and of all.
fn row_counts(
    source: &Source,
    reader: &SerializedFileReader<Chunks>,
) -> Result<(Vec<usize>, usize)> {
    let broken = |what: &str| damaged(source, "Parquet", what);
    let rows_of = |group: &RowGroupMetaData| {
        usize::try_from(group.num_rows()).map_err(|_| broken("a number of rows"))
    };
    let groups = reader.metadata().row_groups().iter();
    let counts = groups.map(rows_of).collect::<Result<Vec<_>>>()?;
    let rows = counts
        .iter()
        .try_fold(0usize, |sum, n| sum.checked_add(*n))
        .ok_or_else(|| broken("a number of rows"))?;
    let claimed = reader.metadata().file_metadata().num_rows();
    if usize::try_from(claimed) != Ok(rows) {
        return Err(broken(&format!("{claimed} rows claimed, {rows} are there")));
    }
    Ok((counts, rows))
}

fn read_groups<T: Copy + Default>(
    (source, reader): (&Source, &SerializedFileReader<Chunks>),
    chosen: &[Chosen],
    some: Option<&Range<usize>>,
    budget: &Budget,
    narrow: fn(f64) -> T,
) -> Result<(usize, Reserved<T>)> {
    let groups = reader.metadata().row_groups();
    let (counts, rows) = row_counts(source, reader)?;
    let width: usize = chosen.iter().map(|c| c.width).sum();
    let total = rows
        .checked_mul(width)
        .ok_or_else(|| damaged(source, "Parquet", "a number of rows"))?;
    let mut items = budget.vec(
        total,
        T::default(),
        &format!("the rows of {}", source.name()),
    )?;
    let mut first = 0;
    for (group, count) in counts.into_iter().enumerate() {
        let own = first..first + count;
        // A group without rows may have no page, and a page of it holds nothing.
        if own.is_empty() || some.is_some_and(|some| some.end <= own.start || own.end <= some.start)
        {
            first = own.end;
            continue;
        }
        let place = &mut items.items[own.start * width..own.end * width];
        let mut before = 0;
        for columns in chosen.chunks(ABREAST) {
            let room = budget.free() / 4 / columns.len() as u64;
            let pages = columns
                .iter()
                .map(|c| parquet_pages::held(source, groups[group].column(c.at), room));
            let held = pages
                .collect::<Result<Vec<u64>>>()?
                .iter()
                .fold(0u64, |sum, held| sum.saturating_add(*held));
            let readers = READER * columns.len() as u64;
            let _pages = budget.reserve(
                held.saturating_add(readers),
                "the pages of the Parquet file",
            )?;
            let block = Block {
                columns,
                first: before,
                width,
                row: first,
            };
            read_block(source, reader, group, &block, place, narrow)?;
            before += columns.iter().map(|c| c.width).sum::<usize>();
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

impl Block<'_> {
    /// The rows that `batch` has of every column; none where the columns differ.
    fn rows_of(&self, batch: &[Vec<f64>]) -> Option<usize> {
        let mut rows = batch
            .iter()
            .zip(self.columns)
            .map(|(numbers, column)| numbers.len() / column.width.max(1));
        let first = rows.next().unwrap_or(0);
        rows.all(|rows| rows == first).then_some(first)
    }
    /// Puts `many` rows of `batch` to their places in `rows`.
    fn place<T>(&self, batch: &[Vec<f64>], rows: &mut [T], many: usize, narrow: fn(f64) -> T) {
        let rows = rows.chunks_exact_mut(self.width).take(many);
        for (at, row) in rows.enumerate() {
            let numbers = batch
                .iter()
                .zip(self.columns)
                .flat_map(|(b, c)| &b[at * c.width..(at + 1) * c.width]);
            row[self.first..]
                .iter_mut()
                .zip(numbers)
                .for_each(|(to, number)| *to = narrow(*number));
        }
    }
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
    let group = reader
        .get_row_group(group)
        .map_err(|e| damaged(source, "Parquet", e))?;
    let readers = block.columns.iter().map(|c| group.get_column_reader(c.at));
    let mut readers = readers
        .collect::<ParquetResult<Vec<_>>>()
        .map_err(|e| damaged(source, "Parquet", e))?;
    let count = rows.len() / block.width.max(1);
    let mut done = 0;
    // All columns of a block give as many rows at a time as its widest.
    let many_rows = block
        .columns
        .iter()
        .map(|c| c.batch())
        .min()
        .unwrap_or(BATCH);
    loop {
        let mut batch = Vec::with_capacity(readers.len());
        for (reader, column) in readers.iter_mut().zip(block.columns) {
            let row = block.row + done;
            let place = format!(
                "{}, column {}, row {} of the data or below",
                source.name(),
                column.at + 1,
                row + 1
            );
            batch.push(values(source, reader, *column, many_rows).map_err(|e| e.at_least(place))?);
        }
        let many = block
            .rows_of(&batch)
            .filter(|many| *many <= count - done)
            .ok_or_else(|| broken("the columns of a row group differ in length".to_owned()))?;
        if many == 0 && done < count {
            return Err(broken(format!(
                "a row group claims {count} rows, and has {done}"
            )));
        }
        if many == 0 {
            return Ok(());
        }
        block.place(&batch, &mut rows[done * block.width..], many, narrow);
        done += many;
    }
}

/// The next values of one column, of at most `rows` rows; those of the items of lists stand one
/// after another.
fn values(
    source: &Source,
    reader: &mut ColumnReader,
    column: Chosen,
    rows: usize,
) -> Result<Vec<f64>> {
    match reader {
        ColumnReader::BoolColumnReader(r) => {
            typed(source, r, column, rows, |v| Ok(f64::from(u8::from(v))))
        }
        ColumnReader::Int32ColumnReader(r) if column.unsigned => {
            typed(source, r, column, rows, |v| Ok(f64::from(v as u32)))
        }
        ColumnReader::Int32ColumnReader(r) => typed(source, r, column, rows, |v| Ok(f64::from(v))),
        ColumnReader::Int64ColumnReader(r) if column.unsigned => {
            typed(source, r, column, rows, |v| exact_u64(v as u64))
        }
        ColumnReader::Int64ColumnReader(r) => typed(source, r, column, rows, exact_i64),
        ColumnReader::FloatColumnReader(r) => typed(source, r, column, rows, |v| Ok(f64::from(v))),
        ColumnReader::DoubleColumnReader(r) => typed(source, r, column, rows, Ok),
        _ => Err(damaged(source, "Parquet", "a column changed its type")),
    }
}

fn typed<D: DataType>(
    source: &Source,
    reader: &mut ColumnReaderImpl<D>,
    column: Chosen,
    rows: usize,
    number: fn(D::T) -> Result<f64>,
) -> Result<Vec<f64>> {
    let (mut levels, mut starts, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let with_levels = (column.nullable > 0).then_some(&mut levels);
    let with_starts = column.list.map(|_| &mut starts);
    reader
        .read_records(rows, with_levels, with_starts, &mut values)
        .map_err(|e| damaged(source, "Parquet", e))?;
    let mut values = values.into_iter().map(number);
    if column.nullable == 0 {
        return values.collect();
    }
    let ended = || {
        Err(damaged(
            source,
            "Parquet",
            "a column has fewer values than it claims",
        ))
    };
    let mut value = |l: &i16| {
        if *l == column.nullable {
            values.next().unwrap_or_else(ended)
        } else {
            Ok(f64::NAN)
        }
    };
    let Some(item) = column.list else {
        return levels.iter().map(value).collect();
    };
    let mut out = Vec::with_capacity(levels.len());
    for (level, start) in levels.iter().zip(&starts) {
        // A list begins where the one before has ended, and has an item.
        let begins = *start == 0;
        if begins != (out.len() % column.width == 0) || *level < item {
            return Err(unequal(&format!(
                "not every one has {} numbers",
                column.width
            )));
        }
        out.push(value(level)?);
    }
    if out.len() % column.width == 0 {
        Ok(out)
    } else {
        Err(unequal(&format!(
            "not every one has {} numbers",
            column.width
        )))
    }
}

/// The words of one column, row group by row group.
fn read_words(
    source: &Source,
    reader: &SerializedFileReader<Chunks>,
    column: Chosen,
    name: String,
    rows: usize,
    budget: &Budget,
) -> Result<WordColumn> {
    let broken = |what: &str| damaged(source, "Parquet", what);
    let mut words = WordColumn::new(name, source.name(), budget);
    let mut done = 0;
    for (group, data) in reader.metadata().row_groups().iter().enumerate() {
        if data.num_rows() == 0 {
            continue;
        }
        let held = parquet_pages::held(source, data.column(column.at), budget.free() / 4)?;
        let _pages =
            budget.reserve(held.saturating_add(READER), "the pages of the Parquet file")?;
        let group = reader
            .get_row_group(group)
            .map_err(|e| damaged(source, "Parquet", e))?;
        let mut column_reader = group
            .get_column_reader(column.at)
            .map_err(|e| damaged(source, "Parquet", e))?;
        loop {
            let many = take_words(source, &mut column_reader, column, &mut words)?;
            if many == 0 {
                break;
            }
            done += many;
            if done > rows {
                return Err(broken("the columns of a row group differ in length"));
            }
        }
    }
    if done == rows {
        Ok(words)
    } else {
        Err(broken("the columns of a row group differ in length"))
    }
}

/// Words that are read at a time: each may be long.
const WORDS: usize = 256;

/// The next words of one column, of which the number is given back.
fn take_words(
    source: &Source,
    reader: &mut ColumnReader,
    column: Chosen,
    into: &mut WordColumn,
) -> Result<usize> {
    let ColumnReader::ByteArrayColumnReader(reader) = reader else {
        let numbers = values(source, reader, column, BATCH)?;
        numbers.iter().try_for_each(|v| into.push_number(*v))?;
        return Ok(numbers.len());
    };
    let (mut levels, mut texts) = (Vec::new(), Vec::new());
    let with_levels = (column.nullable > 0).then_some(&mut levels);
    reader
        .read_records(WORDS, with_levels, None, &mut texts)
        .map_err(|e| damaged(source, "Parquet", e))?;
    let word = |text: &ByteArray| String::from_utf8_lossy(text.data()).into_owned();
    if column.nullable == 0 {
        texts.iter().try_for_each(|t| into.push(&word(t)))?;
        return Ok(texts.len());
    }
    let mut texts = texts.iter();
    for level in &levels {
        let is_there = *level == column.nullable;
        let text = is_there.then(|| texts.next().map(word)).flatten();
        into.push(&text.unwrap_or_default())?;
    }
    Ok(levels.len())
}

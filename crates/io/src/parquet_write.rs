//! Writing named columns as Parquet.

use crate::atomic::Output;
use crate::column::Column;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::ops::Range;
use std::sync::Arc;
use zipfold_core::{Error, Result};

/// Rows of one row group.
pub(crate) const GROUP: usize = 1 << 20;

/// Words that are handed over at a time.
const WORDS: usize = 8192;

/// A Parquet file that takes rows, a row group at a time.
pub(crate) struct ParquetGroups {
    name: String,
    writer: SerializedFileWriter<Output>,
}

impl ParquetGroups {
    /// Begins the file with these names and types; `comments` go into its metadata under `zipfold`.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub(crate) fn create(
        out: Output,
        columns: &[(&str, Column<'_>)],
        comments: &[String],
    ) -> Result<Self> {
        let name = out.name().to_owned();
        let note = (!comments.is_empty())
            .then(|| vec![KeyValue::new("zipfold".to_owned(), comments.join("\n"))]);
        let begun = schema(columns).and_then(|schema| {
            SerializedFileWriter::new(out, schema, Arc::new(properties(columns, note)))
        });
        let writer = begun.map_err(|e| failure(&name, e))?;
        Ok(ParquetGroups { name, writer })
    }
    /// Writes the rows of columns of one length, in groups of [`GROUP`].
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Internal` when the columns differ in length.
    pub(crate) fn push(&mut self, columns: &[(&str, Column<'_>)]) -> Result<()> {
        let rows = columns.first().map_or(0, |(_, c)| c.len());
        if let Some((column, _)) = columns.iter().find(|(_, c)| c.len() != rows) {
            let what = format!("column {column} has not {rows} rows as the first");
            return Err(Error::internal(what).at_place(self.name.clone()));
        }
        let written = write_groups(&mut self.writer, columns, rows);
        written.map_err(|e| failure(&self.name, e))
    }
    /// Completes the file.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub(crate) fn finish(self) -> Result<()> {
        let out = self.writer.into_inner();
        out.map_err(|e| failure(&self.name, e))?.commit()
    }
}

/// Writes `columns` of one length; `comments` go into the file's metadata under `zipfold`.
///
/// # Errors
/// `Resource` when the disk is full; `Internal` when the columns differ in length.
pub fn write_parquet(
    out: Output,
    columns: &[(&str, Column<'_>)],
    comments: &[String],
) -> Result<()> {
    let mut groups = ParquetGroups::create(out, columns, comments)?;
    groups.push(columns)?;
    groups.finish()
}

pub(crate) fn failure(name: &str, error: ParquetError) -> Error {
    if let ParquetError::External(inner) = error {
        return match inner.downcast::<std::io::Error>() {
            Ok(io) => crate::output_error::write_error(name, &io),
            Err(other) => {
                Error::internal(format!("the Parquet writer refuses: {other}")).at_place(name)
            }
        };
    }
    Error::internal(format!("the Parquet writer refuses: {error}")).at_place(name)
}

fn write_groups(
    writer: &mut SerializedFileWriter<Output>,
    columns: &[(&str, Column<'_>)],
    rows: usize,
) -> ParquetResult<()> {
    for from in (0..rows).step_by(GROUP) {
        let range = from..rows.min(from + GROUP);
        let mut group = writer.next_row_group()?;
        for (_, column) in columns {
            let mut cells = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
            put(&mut cells, *column, range.clone())?;
            cells.close()?;
        }
        group.close()?;
    }
    Ok(())
}

/// Indices and counts as differences of neighbours, which rise slowly; no dictionaries, whose
/// making costs more than all else.
fn properties(columns: &[(&str, Column<'_>)], note: Option<Vec<KeyValue>>) -> WriterProperties {
    let start = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(note)
        .set_dictionary_enabled(false);
    let whole = columns
        .iter()
        .filter(|(_, c)| matches!(c, Column::U64(_) | Column::I64(_)));
    let with = |b: WriterPropertiesBuilder, (name, _): &(&str, Column<'_>)| {
        b.set_column_encoding(ColumnPath::from(*name), Encoding::DELTA_BINARY_PACKED)
    };
    whole.fold(start, with).build()
}

fn schema(columns: &[(&str, Column<'_>)]) -> ParquetResult<TypePtr> {
    let field = |(name, column): &(&str, Column<'_>)| {
        let (physical, logical) = match column {
            Column::U64(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Column::I64(_) => (Physical::INT64, None),
            Column::F64(_) => (Physical::DOUBLE, None),
            Column::F32(_) => (Physical::FLOAT, None),
            Column::Words(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let builder =
            Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        builder.with_logical_type(logical).build().map(Arc::new)
    };
    let fields = columns
        .iter()
        .map(field)
        .collect::<ParquetResult<Vec<_>>>()?;
    Ok(Arc::new(
        Type::group_type_builder("zipfold")
            .with_fields(fields)
            .build()?,
    ))
}

fn put(
    cells: &mut SerializedColumnWriter<'_>,
    column: Column<'_>,
    range: Range<usize>,
) -> ParquetResult<usize> {
    match column {
        Column::U64(items) => {
            cells
                .typed::<Int64Type>()
                .write_batch(bytemuck::cast_slice(&items[range]), None, None)
        }
        Column::I64(items) => cells
            .typed::<Int64Type>()
            .write_batch(&items[range], None, None),
        Column::F64(items) => cells
            .typed::<DoubleType>()
            .write_batch(&items[range], None, None),
        Column::F32(items) => cells
            .typed::<FloatType>()
            .write_batch(&items[range], None, None),
        Column::Words(words, rows) => {
            let mut done = 0;
            for part in rows[range].chunks(WORDS) {
                let word =
                    |r: &i64| ByteArray::from(usize::try_from(*r).map_or("", |r| words.get(r)));
                let part: Vec<ByteArray> = part.iter().map(word).collect();
                done += cells
                    .typed::<ByteArrayType>()
                    .write_batch(&part, None, None)?;
            }
            Ok(done)
        }
    }
}

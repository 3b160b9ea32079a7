//! Rows to Parquet while they are found: a row group for each call, so no more than these rows are
//! in memory.

use crate::atomic::Output;
use crate::cells::{CellKind, Cells};
use crate::parquet_write::failure;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::sync::Arc;
use zipfold_core::Result;

/// Cells that are handed over at a time.
const SOME: usize = 8192;

/// A file that is being written.
pub(crate) struct ParquetRows {
    name: String,
    writer: SerializedFileWriter<Output>,
}

impl ParquetRows {
    /// Begins the file.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub(crate) fn create(
        out: Output,
        columns: &[(String, CellKind)],
        notes: &[String],
    ) -> Result<ParquetRows> {
        let name = out.name().to_owned();
        let begun = schema(columns)
            .and_then(|schema| SerializedFileWriter::new(out, schema, properties(columns, notes)));
        let writer = begun.map_err(|e| failure(&name, e))?;
        Ok(ParquetRows { name, writer })
    }
    /// Writes a row group of `rows` rows.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub(crate) fn push(&mut self, columns: &[Cells], rows: usize) -> Result<()> {
        match rows {
            0 => Ok(()),
            _ => group(&mut self.writer, columns).map_err(|e| failure(&self.name, e)),
        }
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

fn group(writer: &mut SerializedFileWriter<Output>, columns: &[Cells]) -> ParquetResult<()> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let mut cells = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        put(&mut cells, column)?;
        cells.close()?;
    }
    group.close().map(|_| ())
}

/// Whole numbers as differences of neighbours, words by a dictionary: rows repeat them.
fn properties(columns: &[(String, CellKind)], notes: &[String]) -> Arc<WriterProperties> {
    let note =
        (!notes.is_empty()).then(|| vec![KeyValue::new("zipfold".to_owned(), notes.join("\n"))]);
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(note)
        .set_dictionary_enabled(false);
    for (name, kind) in columns {
        let path = ColumnPath::from(vec![name.clone()]);
        builder = match kind {
            CellKind::Whole => builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            CellKind::Word => builder.set_column_dictionary_enabled(path, true),
            CellKind::Number => builder,
        };
    }
    Arc::new(builder.build())
}

fn schema(columns: &[(String, CellKind)]) -> ParquetResult<TypePtr> {
    let field = |(name, kind): &(String, CellKind)| {
        let (physical, logical) = match kind {
            CellKind::Number => (Physical::DOUBLE, None),
            CellKind::Whole => (Physical::INT64, None),
            CellKind::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<ParquetResult<_>>()?;
    let whole = Type::group_type_builder("zipfold").with_fields(fields);
    whole.build().map(Arc::new)
}

/// Writes the cells of a row group that are there, and the places of nulls.
fn put(to: &mut SerializedColumnWriter<'_>, cells: &Cells) -> ParquetResult<()> {
    for from in (0..cells.len()).step_by(SOME) {
        let range = from..cells.len().min(from + SOME);
        match cells {
            Cells::Numbers(values) => {
                let values = &values[range];
                let levels = there(values.iter().map(|v| !v.is_nan()));
                let known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
                to.typed::<DoubleType>()
                    .write_batch(&known, Some(&levels), None)?;
            }
            Cells::Whole(values) => {
                let values = &values[range];
                let levels = there(values.iter().map(|v| !v.is_nan()));
                let known = values.iter().filter(|v| !v.is_nan());
                let known: Vec<i64> = known.map(|v| *v as i64).collect();
                to.typed::<Int64Type>()
                    .write_batch(&known, Some(&levels), None)?;
            }
            Cells::Words(..) => {
                let words: Vec<&str> = range.map(|at| cells.word(at)).collect();
                let levels = there(words.iter().map(|word| !word.is_empty()));
                let known = words.into_iter().filter(|word| !word.is_empty());
                let known: Vec<ByteArray> = known.map(ByteArray::from).collect();
                to.typed::<ByteArrayType>()
                    .write_batch(&known, Some(&levels), None)?;
            }
        }
    }
    Ok(())
}

/// By cell, 1 where it is not a null.
fn there(cells: impl Iterator<Item = bool>) -> Vec<i16> {
    cells.map(i16::from).collect()
}

//! Results to files, by suffix.

use crate::atomic::{Output, OutputOptions};
pub use crate::column::Column;
use crate::csv_write::{CsvRows, write_csv, write_csv_rows};
use crate::npy::{NpyElement, write_npy};
use crate::npz::NpzWriter;
#[cfg(feature = "parquet")]
use crate::parquet_write::ParquetGroups;
use crate::read::{is_packed, suffix};
use zipfold_core::{Error, Opt, Result, Words};

/// Writes named columns of one length to `path`: .csv, .tsv, .parquet, .npz (an array each), or CSV
/// to `-`. `comments` go into `#` lines of text and the metadata of Parquet.
///
/// # Errors
/// `Request` for another suffix, an existing file without `force`, or a folder that cannot be
/// written; `Resource` when the disk is full.
pub fn write_columns(
    path: &str,
    columns: &[(&str, Column<'_>)],
    comments: &[String],
    options: OutputOptions,
) -> Result<()> {
    let suffix = if path == "-" {
        Some("csv".to_owned())
    } else {
        plain_suffix(path)
    };
    match suffix.as_deref() {
        Some("csv") => write_csv(Output::create(path, options)?, b',', columns, comments),
        Some("tsv") => write_csv(Output::create(path, options)?, b'\t', columns, comments),
        Some("npz") => {
            let mut archive = NpzWriter::new(Output::create(path, options)?);
            for (name, column) in columns {
                add(&mut archive, name, &[column.len()], *column)?;
            }
            archive.finish()
        }
        #[cfg(feature = "parquet")]
        Some("parquet") => {
            crate::parquet_write::write_parquet(Output::create(path, options)?, columns, comments)
        }
        #[cfg(not(feature = "parquet"))]
        Some("parquet") => Err(crate::read::without_feature(path)),
        _ => Err(unknown(path, ".csv .tsv .parquet .npz")),
    }
}

/// Named columns on their way to a file, some rows at a time: the bytes are those of
/// [`write_columns`].
pub struct ColumnsWriter {
    form: ColumnsForm,
}

enum ColumnsForm {
    Text(CsvRows),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetGroups>),
}

/// Rows of text that are handed over at a time.
const TEXT_ROWS: usize = 1 << 15;

impl ColumnsWriter {
    /// Rows of every call of [`ColumnsWriter::push`] but the last: a row group of Parquet, any number
    /// of text.
    pub fn rows(&self) -> usize {
        match &self.form {
            ColumnsForm::Text(_) => TEXT_ROWS,
            #[cfg(feature = "parquet")]
            ColumnsForm::Parquet(_) => crate::parquet_write::GROUP,
        }
    }
    /// As [`ColumnsWriter::rows`] of a file that is not there yet.
    pub fn rows_of(path: &str) -> usize {
        match plain_suffix(path).as_deref() {
            #[cfg(feature = "parquet")]
            Some("parquet") => crate::parquet_write::GROUP,
            _ => TEXT_ROWS,
        }
    }
    /// Whether rows are written to `path` some at a time: .csv, .tsv, .parquet, or CSV to `-`.
    pub fn takes(path: &str) -> bool {
        crate::rows_write::is_streamed(path)
    }
    /// Begins the file `path` with columns of these names and types.
    ///
    /// # Errors
    /// As [`write_columns`].
    pub fn create(
        path: &str,
        columns: &[(&str, Column<'_>)],
        comments: &[String],
        options: OutputOptions,
    ) -> Result<Self> {
        let suffix = if path == "-" {
            Some("csv".to_owned())
        } else {
            plain_suffix(path)
        };
        let text = |separator| {
            let out = Output::create(path, options)?;
            CsvRows::create(out, separator, columns, comments).map(ColumnsForm::Text)
        };
        let form = match suffix.as_deref() {
            Some("csv") => text(b',')?,
            Some("tsv") => text(b'\t')?,
            #[cfg(feature = "parquet")]
            Some("parquet") => {
                let out = Output::create(path, options)?;
                let groups = ParquetGroups::create(out, columns, comments)?;
                ColumnsForm::Parquet(Box::new(groups))
            }
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => return Err(crate::read::without_feature(path)),
            _ => return Err(unknown(path, ".csv .tsv .parquet")),
        };
        Ok(ColumnsWriter { form })
    }
    /// Writes more rows.
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Internal` when the columns differ in length.
    pub fn push(&mut self, columns: &[(&str, Column<'_>)]) -> Result<()> {
        match &mut self.form {
            ColumnsForm::Text(rows) => rows.push(columns),
            #[cfg(feature = "parquet")]
            ColumnsForm::Parquet(groups) => groups.push(columns),
        }
    }
    /// Completes the file, which then takes its name.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub fn finish(self) -> Result<()> {
        match self.form {
            ColumnsForm::Text(rows) => rows.finish(),
            #[cfg(feature = "parquet")]
            ColumnsForm::Parquet(groups) => groups.finish(),
        }
    }
}

/// Writes one array of `shape` (in C order) to `path`: .npy, or .csv and .tsv for one or two
/// dimensions; NPY to `-`.
///
/// # Errors
/// As [`write_columns`]; `Internal` when `data` do not fill `shape`.
pub fn write_array(
    path: &str,
    shape: &[usize],
    data: Column<'_>,
    options: OutputOptions,
) -> Result<()> {
    if shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)) != Some(data.len()) {
        return Err(Error::internal(format!(
            "{} elements do not fill the shape {shape:?}",
            data.len()
        ))
        .at_place(path));
    }
    let suffix = if path == "-" {
        Some("npy".to_owned())
    } else {
        plain_suffix(path)
    };
    let separator = match suffix.as_deref() {
        Some("npy") => return write_array_npy(path, shape, data, options),
        Some("csv") => b',',
        Some("tsv") => b'\t',
        _ => return Err(unknown(path, ".npy .csv .tsv")),
    };
    let cols = match shape {
        [_] => 1,
        [_, cols] => *cols,
        _ => {
            let what = format!("text has no form for {} dimensions", shape.len());
            return Err(Error::request(what)
                .at_place(path)
                .limit("1 or 2 dimensions")
                .remedy(format!("{} with .npy", Opt::Output)));
        }
    };
    write_csv_rows(Output::create(path, options)?, separator, cols, data)
}

/// Writes a matrix as text with the names of its rows before them and those of its columns above
/// them.
///
/// # Errors
/// As [`write_columns`].
pub fn write_matrix(
    path: &str,
    names: [&Words; 2],
    data: Column<'_>,
    options: OutputOptions,
) -> Result<()> {
    let separator = if plain_suffix(path).as_deref() == Some("tsv") {
        b'\t'
    } else {
        b','
    };
    crate::csv_write::write_named_rows(Output::create(path, options)?, separator, names, data)
}

/// Writes named arrays, each of its own shape, to the NPZ archive `path`.
///
/// # Errors
/// As [`write_columns`].
pub fn write_arrays(
    path: &str,
    arrays: &[(&str, &[usize], Column<'_>)],
    options: OutputOptions,
) -> Result<()> {
    if plain_suffix(path).as_deref() != Some("npz") {
        return Err(unknown(path, ".npz"));
    }
    let mut archive = NpzWriter::new(Output::create(path, options)?);
    for (name, shape, column) in arrays {
        add(&mut archive, name, shape, *column)?;
    }
    archive.finish()
}

/// Writes a compressed sparse matrix of `shape` that SciPy's `load_npz` reads: row i has the columns
/// `indices[starts[i]..starts[i + 1]]` with the `values` at the same places, where there are some.
///
/// # Errors
/// As [`write_columns`].
pub fn write_sparse(
    path: &str,
    shape: [usize; 2],
    (starts, indices): (&[i64], &[i64]),
    values: Option<Column<'_>>,
    options: OutputOptions,
) -> Result<()> {
    let sides = shape.map(|side| side as i64);
    let mut archive = NpzWriter::new(Output::create(path, options)?);
    archive.add("indptr", &[starts.len()], starts)?;
    archive.add("indices", &[indices.len()], indices)?;
    archive.add("shape", &[2], &sides)?;
    archive.add_word("format", "csr")?;
    if let Some(values) = values {
        add(&mut archive, "data", &[indices.len()], values)?;
    }
    archive.finish()
}

fn add(archive: &mut NpzWriter, name: &str, shape: &[usize], column: Column<'_>) -> Result<()> {
    match column {
        Column::U64(items) => archive.add(name, shape, items),
        Column::I64(items) => archive.add(name, shape, items),
        Column::F64(items) => archive.add(name, shape, items),
        Column::F32(items) => archive.add(name, shape, items),
        Column::Words(..) => Err(Error::request("an archive of arrays holds no words")
            .remedy(format!("{} with .csv or .tsv", Opt::Output))),
    }
}

fn write_array_npy(
    path: &str,
    shape: &[usize],
    data: Column<'_>,
    options: OutputOptions,
) -> Result<()> {
    match data {
        Column::U64(items) => npy(path, shape, items, options),
        Column::I64(items) => npy(path, shape, items, options),
        Column::F64(items) => npy(path, shape, items, options),
        Column::F32(items) => npy(path, shape, items, options),
        Column::Words(..) => Err(Error::request("an array holds no words")
            .at_place(path)
            .remedy(format!("{} with .csv or .tsv", Opt::Output))),
    }
}

fn npy<T: NpyElement>(
    path: &str,
    shape: &[usize],
    items: &[T],
    options: OutputOptions,
) -> Result<()> {
    let mut out = Output::create(path, options)?;
    write_npy(&mut out, shape, items).map_err(|e| out.error(&e))?;
    out.commit()
}

/// The suffix, unless the name says that the output be packed, which it is not.
fn plain_suffix(path: &str) -> Option<String> {
    if is_packed(path) { None } else { suffix(path) }
}

fn unknown(path: &str, suffixes: &str) -> Error {
    Error::request("this result cannot be written to a file of this suffix")
        .at_place(path)
        .limit(suffixes)
        .remedy(format!("{} with one of these suffixes", Opt::Output))
}

//! What to read of a table file, and how.

/// The formats that tables are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One NumPy array.
    Npy,
    /// An archive of NumPy arrays.
    Npz,
    /// Cells separated by commas.
    Csv,
    /// Cells separated by tabs.
    Tsv,
    /// Cells separated by blanks.
    Blanks,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC (Feather).
    Arrow,
    /// XYZ and extended XYZ.
    Xyz,
    /// Binary tables of astronomy.
    Fits,
    /// A Zarr array in a folder.
    Zarr,
}

impl Format {
    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Format::Npy => "one NumPy array of one or two dimensions",
            Format::Npz => "an archive of NumPy arrays; FILE.npz:NAME picks one",
            Format::Csv => "cells separated by commas (or semicolons), with or without a header",
            Format::Tsv => "cells separated by tabs",
            Format::Blanks => "cells separated by blanks",
            Format::Parquet => "Apache Parquet",
            Format::Arrow => "Apache Arrow IPC (Feather)",
            Format::Xyz => "XYZ and extended XYZ; FILE.xyz:N picks frame N",
            Format::Zarr => {
                "a Zarr array, version 2 or 3: the folder of the array (bytes, gzip, zlib, zstd, blosc)"
            }
            Format::Fits => "FITS binary tables; FILE.fits:NAME picks one by name or number",
        }
    }
}

/// What to read of a file, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The columns to read, by name or number from 0, in this order; all when `None`.
    pub columns: Option<Vec<String>>,
    /// The array of an NPZ archive, or the number of a frame of XYZ; `FILE:MEMBER` says the same.
    pub member: Option<String>,
    /// Whether the first row of a text is its header; found out from its cells when `None`.
    pub header: Option<bool>,
    /// The format, where the suffix does not say it.
    pub format: Option<Format>,
    /// Columns that are kept as words next to the numbers. Where none are named and no columns are
    /// chosen, those of text.
    pub ids: Vec<String>,
    /// Columns that are words where they are text, chosen or not: formulas compare them.
    pub texts: Vec<String>,
    /// Columns whose cells are words, numbers as they are written. Names that no column has are passed
    /// over. `None` where the caller has no such choice, so that no remedy names it.
    pub words: Option<Vec<String>>,
}

impl ReadOptions {
    /// Whether the cells of a column are words.
    pub(crate) fn has_words(&self, name: &String) -> bool {
        self.words
            .as_ref()
            .is_some_and(|words| words.contains(name))
    }
}

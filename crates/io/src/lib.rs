//! Readers and writers of zipfold: inputs and outputs are opened here alone.
//!
//! Any bytes give data or an error that names the file, the position, what is wrong, the limit and
//! a remedy; never a panic, and never an allocation larger than the data. Sizes that a file
//! declares are checked against its real bytes and the [`Budget`](zipfold_core::Budget) before
//! anything is allocated. Outputs appear whole or not at all.
#![forbid(unsafe_code)]

#[cfg(feature = "parquet")]
pub mod arrow_table;
pub mod atomic;
pub mod cells;
pub mod column;
pub mod csv_table;
pub mod csv_write;
pub mod fits;
#[cfg(feature = "parquet")]
mod foreign;
pub mod growing;
pub mod guard;
pub mod memory;
pub mod npy;
pub mod npy_file;
pub mod npy_header;
pub mod npz;
mod output_error;
#[cfg(feature = "parquet")]
mod packed;
#[cfg(feature = "parquet")]
mod parquet_pages;
#[cfg(feature = "parquet")]
mod parquet_rows;
#[cfg(feature = "parquet")]
pub mod parquet_table;
#[cfg(feature = "parquet")]
pub mod parquet_write;
pub mod presence;
pub mod read;
pub mod read_options;
pub mod rows_write;
pub mod runs;
mod select;
pub mod store_files;
mod text_rows;
pub mod trajectory;
pub mod unfinished;
mod words;
pub mod write;
pub mod xyz;
pub mod zarr;
mod zip_directory;

pub use atomic::{Output, OutputOptions};
pub use guard::Source;
pub use npy::{Array, NpyElement};
pub use npy_file::NpyFile;
pub use presence::Presence;
pub use read::{Format, ReadOptions, read_rows, read_table};
pub use write::{Column, write_array, write_columns};
pub use xyz::{Frame, Frames};

pub mod bayes;
pub mod bif;
pub mod ergo;
pub mod evidence;
pub mod hugin;
pub mod lexer;
pub mod network;
pub mod tokens;
pub mod uai;
pub mod uai_result;
pub mod xmlbif;

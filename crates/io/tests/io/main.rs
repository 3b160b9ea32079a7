//! Round trips, refusals and corruption of every format.

mod arrays;
mod corruption;
mod fits;
mod hostile;
mod outputs;
#[cfg(feature = "parquet")]
mod parquet;
mod scratch;
mod text;
mod trajectories;
#[cfg(feature = "parquet")]
mod zarr;

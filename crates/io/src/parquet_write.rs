//! parquet_write

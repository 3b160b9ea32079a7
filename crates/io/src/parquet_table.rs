//! parquet_table

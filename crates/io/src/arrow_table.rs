//! arrow_table

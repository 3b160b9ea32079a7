//! Columns as writers take them.

use zipfold_core::Words;

/// The numbers of one column.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// Counts and indices.
    U64(&'a [u64]),
    /// Signed integers.
    I64(&'a [i64]),
    /// Double precision.
    F64(&'a [f64]),
    /// Single precision.
    F32(&'a [f32]),
    /// The words of these rows; none for a row below 0.
    Words(&'a Words, &'a [i64]),
}

impl Column<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::U64(items) => items.len(),
            Column::I64(items) => items.len(),
            Column::F64(items) => items.len(),
            Column::F32(items) => items.len(),
            Column::Words(_, rows) => rows.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

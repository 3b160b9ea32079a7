//! The keys of rows: a column of labels or numbers, as numbers from 0 in ascending order.
//!
//! A key decides which group or block a row belongs to. Both tables share one numbering, so a label
//! has the same number in x and in y. A row without a label (NaN) has the number [`NONE`] and
//! belongs to no group.
//!
//! ```text
//! kind   O  H  H  O        names  H  O
//!                          codes  1  0  0  1
//! ```

use std::sync::Arc;

/// The number of a row without a key.
pub const NONE: u32 = u32::MAX;

/// The keys of the rows of x and of y.
///
/// A clone is cheap: it shares names and numbers.
#[derive(Clone, Debug)]
pub struct RowKeys {
    /// The column.
    pub column: String,
    /// What the numbers stand for, in ascending order: labels, or numbers as text.
    pub names: Arc<[String]>,
    /// The number of each row of x and of y; the same twice for one table.
    pub codes: [Arc<[u32]>; 2],
}

impl RowKeys {
    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.names.len()
    }
    /// Returns whether there is no key at all.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

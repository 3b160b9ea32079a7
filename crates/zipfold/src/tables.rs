//! Joins of tables by name: columns of both in conditions and in the output, equality keys, the
//! nearest rows. A description on top of questions about pairs, without kernels of its own.
//!
//! ```text
//! files → columns of x and y by name                              once
//! keys → a number for each row; rows without a partner left out   once
//! condition → matches of some rows of x at a time, in order       a question of the engine each
//! matches → columns of the output → file                          some rows at a time
//! ```
//!
//! Matches are in the order of their rows: ascending rows of x, then of y; nearest rows by their
//! value. No more of them are in memory than the budget holds.

mod answer;
mod asked;
mod found;
mod gathered;
mod keys;
mod listed;
mod output;
mod select;
mod sides;
mod signals;
mod values;

pub use asked::{TableJoin, TableKind, Ties};
pub(crate) use found::{
    MatchBatch, Matching, NearestRows, Taker, Wanted, hand_on, naming, reserve_lists,
};
pub(crate) use gathered::{Destination, gathered, numbers};
pub use gathered::{JoinedColumn, JoinedRows, MatchedRows};
pub(crate) use output::OutputColumns;
pub(crate) use select::{Item, Source, items, needed};
pub(crate) use sides::{Arranged, ColumnPlace, KEY, SideTable};

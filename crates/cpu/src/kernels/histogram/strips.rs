//! Strips: runs of rows, each with the columns it meets, swept in one go by a binning that was
//! prepared once.

use super::copies::{COPIES, copies};
use super::edges::Edges;
use super::points::Points;
use super::table::Table;
use super::uniform::Scale;
use std::ops::Range;

/// Rows, and the columns that all of them meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    /// Rows of x.
    pub rows: Range<usize>,
    /// Columns of y.
    pub spans: Vec<Span>,
}

/// Columns that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The columns.
    pub cols: Range<usize>,
    /// Edges of the box by which rows are moved to be next to them; none where each pair takes its
    /// nearest image.
    pub image: Option<[i8; 4]>,
}

impl Span {
    /// Columns whose pairs take their nearest images.
    pub fn from_range(cols: Range<usize>) -> Span {
        Span { cols, image: None }
    }
}

/// How values of some points become bins of some edges: by the least precise arithmetic that can
/// tell them apart.
#[derive(Clone, Debug)]
pub struct Binning(pub(super) Form);

#[derive(Clone, Debug)]
pub(super) enum Form {
    SingleScale(Scale<f32>),
    DoubleScale(Scale<f64>),
    SingleTable(Table<f32>),
    DoubleTable(Table<f64>),
    Exact,
}

impl Binning {
    /// Whether near coordinates in double precision are read.
    pub fn is_double(&self) -> bool {
        matches!(self.0, Form::DoubleScale(_) | Form::DoubleTable(_))
    }
    /// Of the distances between points of `x` and `y`.
    pub fn new(edges: &Edges, x: &Points, y: &Points) -> Binning {
        Self::with_copies(edges, copies(edges), x, y)
    }
    /// Likewise, with one counter of each bin for each pair of groups.
    pub fn by_groups(edges: &Edges, x: &Points, y: &Points) -> Binning {
        Self::with_copies(edges, 1, x, y)
    }
    fn with_copies(edges: &Edges, copies: usize, x: &Points, y: &Points) -> Binning {
        debug_assert!(copies <= COPIES);
        let form = match edges.as_uniform() {
            Some(u) => Scale::<f32>::new(u, x, y)
                .map(Form::SingleScale)
                .or_else(|| Scale::<f64>::new(u, x, y).map(Form::DoubleScale)),
            None => Table::<f32>::new(edges, copies, x, y)
                .map(Form::SingleTable)
                .or_else(|| Table::<f64>::new(edges, copies, x, y).map(Form::DoubleTable)),
        };
        Binning(form.unwrap_or(Form::Exact))
    }
}

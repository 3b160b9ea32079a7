//! An answer as named, typed columns: all that files, terminals, pictures and Python know of a
//! fold.
//!
//! A line of the columns is a place of a grid: a row, a bin, a match, a neighbour of a row. Columns
//! that only say which place a line is (its row, the edges of its bin) are its index: tables have
//! them, arrays of the grid's shape have no need of them.

use crate::pair::Side;
use crate::param_axis::ParamAxis;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// How the lines of an answer lie.
///
/// Writers choose by it: an array keeps its shape in NPY and Python, a table becomes columns with
/// names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A matrix: the rows of x by the rows of y.
    Matrix,
    /// An array, a line for each result: of each row of this side, or of none.
    Array(Option<Side>),
    /// As many lines for each row of x.
    Lists,
    /// A table, a line for each bin or match.
    Table,
}

/// What the numbers of a column are.
///
/// Writers need it for what a number means: rows become ids, counts stay whole numbers, edges form
/// an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A row of x or of y, from 0; below 0 where there is none.
    Row(Side),
    /// A place in a row's list, from 0.
    Rank,
    /// The lower edge of a bin of this axis.
    From(usize),
    /// The upper edge of a bin of this axis.
    To(usize),
    /// A group of rows of this side, by its number among [`Columns::groups`].
    Group(Side),
    /// The value of a parameter.
    Parameter,
    /// How many pairs.
    Count,
    /// A value of a formula, or what was made of values.
    Value,
}

/// The numbers of a column, owned or borrowed from a state.
///
/// Borrowed where a state holds them as they are written, so a large answer is not copied.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers<'a> {
    /// Counts and rows.
    U64(Cow<'a, [u64]>),
    /// Rows, where there may be none.
    I64(Cow<'a, [i64]>),
    /// Double precision.
    F64(Cow<'a, [f64]>),
    /// Single precision. Only matrices have it: sums of single precision are f64.
    F32(Cow<'a, [f32]>),
}

impl Numbers<'_> {
    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Numbers::U64(v) => v.len(),
            Numbers::I64(v) => v.len(),
            Numbers::F64(v) => v.len(),
            Numbers::F32(v) => v.len(),
        }
    }
    /// Whether there is none.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns number `at` in double precision. Rounds whole numbers above 2⁵³; writers that must
    /// not round match on the variant.
    #[must_use]
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Numbers::U64(v) => v[at] as f64,
            Numbers::I64(v) => v[at] as f64,
            Numbers::F64(v) => v[at],
            Numbers::F32(v) => f64::from(v[at]),
        }
    }
    /// Returns number `at` as a row; none if it is negative.
    #[must_use]
    pub fn row(&self, at: usize) -> Option<usize> {
        match self {
            Numbers::U64(v) => usize::try_from(v[at]).ok(),
            Numbers::I64(v) => usize::try_from(v[at]).ok(),
            Numbers::F64(_) | Numbers::F32(_) => None,
        }
    }
    /// Returns the numbers with a memory of their own.
    pub(crate) fn into_owned(self) -> Numbers<'static> {
        match self {
            Numbers::U64(v) => Numbers::U64(Cow::Owned(v.into_owned())),
            Numbers::I64(v) => Numbers::I64(Cow::Owned(v.into_owned())),
            Numbers::F64(v) => Numbers::F64(Cow::Owned(v.into_owned())),
            Numbers::F32(v) => Numbers::F32(Cow::Owned(v.into_owned())),
        }
    }
    /// Returns these numbers `times` over.
    pub(crate) fn repeated(&self, times: usize) -> Numbers<'static> {
        match self {
            Numbers::U64(v) => Numbers::U64(v.repeat(times).into()),
            Numbers::I64(v) => Numbers::I64(v.repeat(times).into()),
            Numbers::F64(v) => Numbers::F64(v.repeat(times).into()),
            Numbers::F32(v) => Numbers::F32(v.repeat(times).into()),
        }
    }
    /// Appends numbers of the same type.
    pub(crate) fn append(&mut self, more: &Numbers<'_>) {
        match (self, more) {
            (Numbers::U64(v), Numbers::U64(more)) => v.to_mut().extend_from_slice(more),
            (Numbers::I64(v), Numbers::I64(more)) => v.to_mut().extend_from_slice(more),
            (Numbers::F64(v), Numbers::F64(more)) => v.to_mut().extend_from_slice(more),
            (Numbers::F32(v), Numbers::F32(more)) => v.to_mut().extend_from_slice(more),
            _ => debug_assert!(false, "a column of two types"),
        }
    }
    /// Puts the numbers of `lines` of `from`, of the same type, at place `at`.
    pub(crate) fn put(&mut self, at: usize, from: &Numbers<'_>, lines: Range<usize>) {
        let to = at..at + lines.len();
        match (self, from) {
            (Numbers::U64(v), Numbers::U64(from)) => v.to_mut()[to].copy_from_slice(&from[lines]),
            (Numbers::I64(v), Numbers::I64(from)) => v.to_mut()[to].copy_from_slice(&from[lines]),
            (Numbers::F64(v), Numbers::F64(from)) => v.to_mut()[to].copy_from_slice(&from[lines]),
            (Numbers::F32(v), Numbers::F32(from)) => v.to_mut()[to].copy_from_slice(&from[lines]),
            _ => debug_assert!(false, "a column of two types"),
        }
    }
    /// Replaces the number of each row r by `rows[r]`; numbers below 0 are no rows and stay.
    pub(crate) fn rename(&mut self, rows: &[u32]) {
        match self {
            Numbers::U64(v) => v
                .to_mut()
                .iter_mut()
                .for_each(|r| *r = u64::from(rows[*r as usize])),
            Numbers::I64(v) => v
                .to_mut()
                .iter_mut()
                .filter(|r| **r >= 0)
                .for_each(|r| *r = i64::from(rows[*r as usize])),
            Numbers::F64(_) | Numbers::F32(_) => debug_assert!(false, "rows that are no rows"),
        }
    }
    /// Returns the numbers of `lines`, without a copy.
    #[doc(hidden)]
    pub fn part(&self, lines: &Range<usize>) -> Numbers<'_> {
        let lines = lines.clone();
        match self {
            Numbers::U64(v) => Numbers::U64(Cow::Borrowed(&v[lines])),
            Numbers::I64(v) => Numbers::I64(Cow::Borrowed(&v[lines])),
            Numbers::F64(v) => Numbers::F64(Cow::Borrowed(&v[lines])),
            Numbers::F32(v) => Numbers::F32(Cow::Borrowed(&v[lines])),
        }
    }
}

impl From<Vec<f64>> for Numbers<'_> {
    fn from(numbers: Vec<f64>) -> Self {
        Numbers::F64(Cow::Owned(numbers))
    }
}
impl From<Vec<u64>> for Numbers<'_> {
    fn from(numbers: Vec<u64>) -> Self {
        Numbers::U64(Cow::Owned(numbers))
    }
}
impl From<Vec<i64>> for Numbers<'_> {
    fn from(numbers: Vec<i64>) -> Self {
        Numbers::I64(Cow::Owned(numbers))
    }
}
impl<'a> From<&'a [f64]> for Numbers<'a> {
    fn from(numbers: &'a [f64]) -> Self {
        Numbers::F64(Cow::Borrowed(numbers))
    }
}
impl<'a> From<&'a [f32]> for Numbers<'a> {
    fn from(numbers: &'a [f32]) -> Self {
        Numbers::F32(Cow::Borrowed(numbers))
    }
}
impl<'a> From<&'a [u64]> for Numbers<'a> {
    fn from(numbers: &'a [u64]) -> Self {
        Numbers::U64(Cow::Borrowed(numbers))
    }
}

/// Makes the numbers of some lines. Writers call it for a part of the lines at a time.
type Make<'a> = Box<dyn Fn(&Range<usize>) -> Numbers<'a> + 'a>;

/// Where the numbers of a column come from.
enum ColumnSource<'a> {
    Held(Numbers<'a>),
    /// Made when they are requested: long answers are not held twice.
    Made(Make<'a>),
}

/// One column.
#[non_exhaustive]
pub struct Column<'a> {
    /// Its name among arrays (NPZ, Python).
    pub name: Cow<'static, str>,
    /// Its name in a table.
    pub header: Cow<'static, str>,
    /// What its numbers are.
    pub role: Role,
    /// Whether it only says which place of the grid a line is.
    pub index: bool,
    source: ColumnSource<'a>,
}

impl<'a> Column<'a> {
    /// A column whose name is the same among arrays and in tables.
    #[doc(hidden)]
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        role: Role,
        numbers: impl Into<Numbers<'a>>,
    ) -> Self {
        let name = name.into();
        Column {
            header: name.clone(),
            name,
            role,
            index: false,
            source: ColumnSource::Held(numbers.into()),
        }
    }
    /// A column whose numbers are made when they are requested.
    ///
    /// `make` must give the same numbers for a line however lines are cut into ranges.
    #[doc(hidden)]
    pub fn made(
        name: &'static str,
        role: Role,
        make: impl Fn(&Range<usize>) -> Numbers<'a> + 'a,
    ) -> Self {
        Column {
            name: name.into(),
            header: name.into(),
            role,
            index: false,
            source: ColumnSource::Made(Box::new(make)),
        }
    }
    /// The same with another name in tables.
    #[doc(hidden)]
    pub fn called(self, header: impl Into<Cow<'static, str>>) -> Self {
        Column {
            header: header.into(),
            ..self
        }
    }
    /// The same as part of the index.
    #[doc(hidden)]
    pub fn as_index(self) -> Self {
        Column {
            index: true,
            ..self
        }
    }
    /// A column like this one, with other numbers.
    pub(crate) fn with_numbers<'n>(&self, numbers: Numbers<'n>) -> Column<'n> {
        Column {
            name: self.name.clone(),
            header: self.header.clone(),
            role: self.role,
            index: self.index,
            source: ColumnSource::Held(numbers),
        }
    }
    /// The numbers of `lines`.
    #[doc(hidden)]
    pub fn part(&self, lines: &Range<usize>) -> Numbers<'_> {
        match &self.source {
            ColumnSource::Held(numbers) => numbers.part(lines),
            ColumnSource::Made(make) => make(lines),
        }
    }
}

/// The answer of a fold.
///
/// Every column has [`Self::lines`] numbers.
#[must_use]
#[non_exhaustive]
pub struct Columns<'a> {
    /// How its lines lie.
    pub layout: Layout,
    /// Sides of the grid, the last one fastest.
    pub shape: Vec<usize>,
    /// The columns.
    pub columns: Vec<Column<'a>>,
    /// Edges of the bins of each side, of a histogram.
    pub edges: Vec<&'a [f64]>,
    /// How many pairs are on no line, by what they are called.
    pub beyond: Vec<(&'static str, u64)>,
    /// What a reader must know to read the lines. Of a histogram: to which bin an edge belongs.
    pub rule: Option<&'static str>,
    /// The names of groups, in ascending order; none of an answer without groups.
    pub groups: Option<Arc<[String]>>,
    /// The parameter whose values are an axis of the grid: the second one of results by row, the first
    /// one of all others.
    pub param: Option<Arc<ParamAxis>>,
}

impl<'a> Columns<'a> {
    /// Columns over a grid of `shape`.
    #[doc(hidden)]
    pub fn new(layout: Layout, shape: Vec<usize>, columns: Vec<Column<'a>>) -> Self {
        Columns {
            layout,
            shape,
            columns,
            edges: vec![],
            beyond: vec![],
            rule: None,
            groups: None,
            param: None,
        }
    }
    /// How many lines there are.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.shape.iter().product()
    }
    /// Returns all numbers of a column. A made column allocates them; use [`Column::part`] for long
    /// answers.
    #[must_use]
    pub fn all<'s>(&self, column: &'s Column<'_>) -> Numbers<'s> {
        column.part(&(0..self.lines()))
    }
    /// Returns whether a column is made when it is read, so that it should be read some lines at a time.
    #[doc(hidden)]
    pub fn is_made(&self) -> bool {
        let made = |column: &Column<'_>| matches!(column.source, ColumnSource::Made(_));
        self.columns.iter().any(made)
    }
    /// Returns some lines of a table, as a table.
    #[doc(hidden)]
    pub fn some_lines(&self, lines: &Range<usize>) -> Columns<'_> {
        let columns = self.columns.iter();
        let columns = columns.map(|column| column.with_numbers(column.part(lines)));
        Columns {
            groups: self.groups.clone(),
            param: self.param.clone(),
            ..Columns::new(self.layout, vec![lines.len()], columns.collect())
        }
    }
    /// Returns the columns that are not part of the index.
    pub fn arrays(&self) -> impl Iterator<Item = &Column<'a>> {
        self.columns.iter().filter(|column| !column.index)
    }
    /// Returns what an array of the answer has: the last column of a table, whose rows and ranks come
    /// before its values, or the first column of another layout that is not part of the index.
    #[doc(hidden)]
    #[must_use]
    pub fn of_array(&self) -> Option<&Column<'a>> {
        match self.layout {
            Layout::Table => self.arrays().last(),
            Layout::Matrix | Layout::Array(_) | Layout::Lists => self.arrays().next(),
        }
    }
    /// Returns the first column of this role.
    #[must_use]
    pub fn with_role(&self, role: Role) -> Option<&Column<'a>> {
        self.columns.iter().find(|column| column.role == role)
    }
}

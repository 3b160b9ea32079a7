//! Jobs that ask about one table: in a file that the question names, or in memory.

use crate::options::Options;
use crate::tables::SideTable;
use serde::de::DeserializeOwned;
use zipfold_core::{Message, Result, Table};

/// A question about one table, which a file may describe. The type of a question says what its errors
/// are.
///
/// ```
/// use zipfold::internals::one_table::TableQuestion;
/// use zipfold::internals::pattern::Ripley;
/// use zipfold::{Options, Table};
/// fn told<Q: TableQuestion>(question: &Q, table: Table) -> zipfold::Result<Q::Answer> {
///     question.of_table(table, &Options::default())
/// }
/// let names = ["x", "y"].map(String::from).to_vec();
/// let points = Table::f64(3, 2, vec![0.0, 0.0, 1.0, 0.0, 4.0, 3.0])?.with_names(names)?;
/// assert_eq!(told(&Ripley { bins: Some(2), ..Ripley::new("points") }, points)?.sizes, [3]);
/// # Ok::<(), zipfold::Error>(())
/// ```
pub trait TableQuestion: DeserializeOwned {
    /// What comes out.
    type Answer;
    /// What messages call the table: its path, where it is in a file.
    fn name(&self) -> &str;
    /// Reads the columns that are needed, after what can be refused without them.
    ///
    /// # Errors
    /// `Request` for what means nothing; those of the readers.
    fn read(&self, options: &Options<'_>) -> Result<SideTable>;
    /// Answers for a table that was read.
    ///
    /// # Errors
    /// Those of [`TableQuestion::of_table`].
    fn of_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Self::Answer>;
    /// Says how a table that was read would be answered for.
    ///
    /// # Errors
    /// Those of [`TableQuestion::of_table`].
    fn explain_side(&self, side: &SideTable, options: &Options<'_>) -> Result<Message>;
    /// Reads the table from its file, and answers.
    ///
    /// # Errors
    /// Those of the readers and of [`TableQuestion::of_table`].
    fn run(&self, options: &Options<'_>) -> Result<Self::Answer> {
        self.of_side(&self.read(options)?, options)
    }
    /// Answers for a table in memory.
    ///
    /// # Errors
    /// `Request` for what means nothing and columns that there are not; `Input` for rows that cannot
    /// be used; `Resource` beyond the budget.
    fn of_table(&self, table: Table, options: &Options<'_>) -> Result<Self::Answer> {
        self.of_side(&SideTable::new(self.name(), table)?, options)
    }
    /// Says how it would be answered.
    ///
    /// # Errors
    /// Those of [`TableQuestion::run`].
    fn explain(&self, options: &Options<'_>) -> Result<Message> {
        self.explain_side(&self.read(options)?, options)
    }
    /// As [`TableQuestion::explain`], for a table in memory.
    ///
    /// # Errors
    /// Those of [`TableQuestion::of_table`].
    fn explain_table(&self, table: Table, options: &Options<'_>) -> Result<Message> {
        self.explain_side(&SideTable::new(self.name(), table)?, options)
    }
}

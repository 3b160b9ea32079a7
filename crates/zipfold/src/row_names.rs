//! Names of rows, from the inputs to the results.

use zipfold_core::{Data, Labels, Side, Table, Words};
use zipfold_io::Column;

/// The words next to the rows of x and of y.
#[derive(Clone, Debug, Default)]
pub struct RowNames([Option<Labels>; 2]);

impl RowNames {
    /// Those of the tables of `data`.
    pub fn from_data(data: &Data) -> Self {
        let labels = |table: &Table| table.labels().cloned();
        RowNames([labels(&data.x), labels(data.y.as_ref().unwrap_or(&data.x))])
    }
    /// Whether some rows have names.
    pub fn any(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }
    /// The words next to the rows of x (0) or y (1).
    pub fn side(&self, side: usize) -> Option<&Labels> {
        self.0.get(side)?.as_ref()
    }
    /// The word that names row `row` of x (0) or y (1).
    pub fn get(&self, side: usize, row: usize) -> Option<&str> {
        Some(self.side(side)?.first().get(row))
    }
    /// Columns of words for the rows of x and y that a table lists, called `x.name` and `y.name`.
    /// Archives of arrays hold none.
    pub fn columns<'a>(&'a self, path: &str, [x, y]: [&'a [i64]; 2]) -> Vec<(String, Column<'a>)> {
        let mut out = self.columns_of(path, Side::X, x);
        if !y.is_empty() {
            out.extend(self.columns_of(path, Side::Y, y));
        }
        out
    }
    /// Columns of words for the rows of one side that a table lists. Archives of arrays hold none.
    pub fn columns_of<'a>(
        &'a self,
        path: &str,
        side: Side,
        rows: &'a [i64],
    ) -> Vec<(String, Column<'a>)> {
        if path.ends_with(".npz") {
            return vec![];
        }
        let at = side as usize;
        let words = self.side(at).into_iter().flat_map(Labels::columns);
        let named = |words: &'a Words| {
            let name = format!("{}.{}", ["x", "y"][at], words.name);
            (name, Column::Words(words, rows))
        };
        words.map(named).collect()
    }
}

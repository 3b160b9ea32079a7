//! Values of single pairs by the reference evaluator.

use crate::pair::lower::Lowered;
use crate::pair::{Evaluator, Rows};
use crate::space::PeriodicBox;
use crate::table::Table;

/// Evaluates single pairs, with buffers that are reused.
///
/// The specification and tests of bounds take single values from it, too.
pub struct PairValues<'j> {
    tables: [&'j Table; 2],
    periodic_box: Option<&'j PeriodicBox>,
    roots: usize,
    eval: Evaluator<'j>,
    x: Vec<f64>,
    y: Vec<f64>,
    delta: Vec<f64>,
}

impl<'j> PairValues<'j> {
    /// Returns an evaluator of the pairs of rows of two tables.
    pub(crate) fn of_tables(
        tables: [&'j Table; 2],
        low: &'j Lowered,
        periodic_box: Option<&'j PeriodicBox>,
    ) -> Self {
        PairValues {
            tables,
            periodic_box,
            roots: low.formula.roots.len(),
            eval: Evaluator::new(&low.formula, low.dim),
            // Widths, not components: formulas read attributes from the same row.
            x: vec![0.0; tables[0].width()],
            y: vec![0.0; tables[1].width()],
            delta: vec![],
        }
    }
    /// Evaluates pair (i, j); `out[root]` receives the numbers of each root. Attributes are
    /// subtracted too, which nothing reads; only components are wrapped by the box.
    pub fn get(&mut self, i: usize, j: usize, out: &mut Vec<Vec<f64>>) {
        self.tables[0].row_into(i, &mut self.x);
        self.tables[1].row_into(j, &mut self.y);
        // The shorter of two rows decides how many differences there are; a formula over rows of
        // two lengths reads none beyond.
        self.delta.clear();
        self.delta
            .extend(self.x.iter().zip(&self.y).map(|(a, b)| a - b));
        if let Some(periodic_box) = self.periodic_box {
            periodic_box.minimum_image(&mut self.delta[..self.tables[0].cols()]);
        }
        self.eval.run(Rows {
            x: &self.x,
            y: &self.y,
            delta: &self.delta,
        });
        out.resize(self.roots, vec![]);
        for (at, values) in out.iter_mut().enumerate() {
            values.clear();
            self.eval.push_root(at, values);
        }
    }
}

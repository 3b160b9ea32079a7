//! Weights that come with the data: which fold they belong to, and what happens if one is missing.
//!
//! Weights are tables next to the rows. A NaN among them is an error, makes results NaN, or leaves
//! out the pairs of its row, as the problem's policy for NaN says. To leave out pairs, the rows get
//! one more attribute that is NaN where the weight is missing, and the formula one more root that
//! reads it. Every engine then treats such a pair like any pair whose value is NaN, and no engine
//! has to know about missing weights.

use crate::data::Data;
use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::pair::tree::{Binary, Formula, Node, Side};
use crate::problem::{NanPolicy, Problem};

/// The attributes, of x and of y, that are NaN in rows whose weight is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holes {
    at: [Option<u32>; 2],
}

impl Holes {
    /// Returns whether there are any.
    pub(crate) fn any(self) -> bool {
        self.at.iter().any(Option::is_some)
    }
    /// Adds the root that is NaN for the pairs that are left out: the mark, or the sum of both
    /// marks.
    ///
    /// # Errors
    /// `Request` when the formula is full.
    pub(crate) fn mark(self, formula: &mut Formula) -> Result<()> {
        // NaN + anything is NaN: one root marks both sides.
        let mut of = |side: Side| {
            self.at[side as usize]
                .map(|k| formula.leaf(Node::At(side, k)))
                .transpose()
        };
        let root = match (of(Side::X)?, of(Side::Y)?) {
            (Some(x), Some(y)) => formula.binary(Binary::Add, x, y)?,
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return Ok(()),
        };
        formula.roots.push(root);
        Ok(())
    }
}

/// Returns the refusal of a missing weight, with its row: a column of weights is often a join of
/// files, and the place says which key was missing.
fn missing_weight(row: usize) -> Error {
    let (skip, propagate) = (Opt::Nan.to("skip"), Opt::Nan.to("propagate"));
    Error::input("expected a number for every weight, got NaN")
        .at_place(format!("weights, row {row}"))
        .remedy(format!(
            "{skip} leaves out the pairs of such rows, {propagate} makes sums NaN"
        ))
}

/// Applies the policy for NaN to the weights: refuses them, lets them through, or marks their rows.
///
/// # Errors
/// `Input` for a weight that is NaN where that is an error.
pub(super) fn holes(problem: &Problem, data: &mut Data) -> Result<Holes> {
    let rows = [data.x.rows(), data.other().rows()];
    let mut marks: [Option<Vec<f64>>; 2] = [None, None];
    for (spec, tables) in problem.folds.iter().zip(&data.weights) {
        let Some(tables) = tables else { continue };
        let used = spec.wants().weights;
        for side in [0, 1]
            .into_iter()
            .filter(|side| used[*side] && tables[*side].rows() == rows[*side])
        {
            let table = &tables[side];
            let Some((row, _)) = table.first_nan() else {
                continue;
            };
            match problem.nan {
                NanPolicy::Propagate => {}
                NanPolicy::Error => return Err(missing_weight(row)),
                NanPolicy::Skip => {
                    // 0 where the weight is there, NaN where it is not; several folds share one
                    // mark.
                    let mark = marks[side].get_or_insert_with(|| vec![0.0; rows[side]]);
                    let missing =
                        |row: usize| (0..table.cols()).any(|k| table.get(row, k).is_nan());
                    (0..rows[side])
                        .filter(|row| missing(*row))
                        .for_each(|row| mark[row] = f64::NAN);
                }
            }
        }
    }
    let mut holes = Holes::default();
    // One attribute for both sides keeps the formula symmetric.
    let same = data.y.is_none()
        && marks[0]
            .as_ref()
            .zip(marks[1].as_ref())
            .is_some_and(|(a, b)| alike(a, b));
    for (side, mark) in marks.into_iter().enumerate() {
        let Some(mark) = mark else { continue };
        if side == 1 && same {
            holes.at[1] = holes.at[0];
            continue;
        }
        let table = if side == 1 {
            data.y.as_mut().unwrap_or(&mut data.x)
        } else {
            &mut data.x
        };
        // The place of the attribute that is appended next.
        holes.at[side] = Some(table.width() as u32);
        *table = table.clone().with_mark(mark)?;
    }
    Ok(holes)
}

/// Returns whether the same rows are marked. Then x and y of one table share one attribute, and the
/// formula stays symmetric.
fn alike(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.is_nan() == b.is_nan())
}

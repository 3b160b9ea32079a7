//! Questions about groups: the rows of each pair of groups are a rectangle of one sorted table.
//!
//! ```text
//! load:  rows sorted by group, those of a group from a panel on → one question about all pairs
//! run:   for each part: its strips, moved to where its rows are; the sweep of every fold; their states
//!        into the slot of the part
//! ```
//!
//! Why this shape: rows are packed and kernels compiled once, for any number of groups, and the
//! kernels are those of questions without groups.

use std::borrow::Cow;
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Tally};
use zipfold_core::parts::{KeyParts, Spread};
use zipfold_core::{Error, Job, Result};
use zipfold_plan::executor::{Folded, Nowhere};
use zipfold_plan::{Tile, parts};

/// A question about groups.
pub(crate) struct Groups<'j> {
    job: &'j Job,
    parts: &'j KeyParts,
    spread: Spread,
}

impl<'j> Groups<'j> {
    /// The groups of `job`, if it has some, and the question whose rectangles they are; without
    /// groups that is `job`.
    ///
    /// # Errors
    /// `Internal` for parts that are no rectangles.
    pub(crate) fn new(job: &'j Job) -> Result<(Option<Self>, Cow<'j, Job>)> {
        let Some(parts) = &job.parts else {
            return Ok((None, Cow::Borrowed(job)));
        };
        let spread = parts.spread(BLOCK, job.space.is_self());
        let spread = spread.ok_or_else(|| Error::internal("parts that are no rectangles"))?;
        let [x, y] = &spread.rows;
        let whole = job.of_rows([x, y], job.space.domain)?;
        Ok((Some(Groups { job, parts, spread }), Cow::Owned(whole)))
    }
    /// Folds `tiles` part by part, each rectangle by `fold`.
    ///
    /// # Errors
    /// Those of `fold`.
    pub(crate) fn run(
        &self,
        tiles: &[Tile],
        mut fold: impl FnMut(&[Tile]) -> Result<Folded>,
    ) -> Result<Folded> {
        // What devices sweep by groups has no matches.
        parts::fold_parts(self.job, self.parts, (tiles, &Nowhere), |at, strips| {
            let [x, y] = self.spread.starts[at];
            let cols = y..y + self.parts.list[at].space(None).m;
            let moved = |rows: &Range<usize>| Tile {
                rows: x + rows.start..x + rows.end,
                cols: cols.clone(),
            };
            let moved: Vec<Tile> = strips.iter().map(moved).collect();
            let Folded { states, tally } = fold(&moved)?;
            let own = |(i, j): (u64, u64)| (i - x as u64, j - y as u64);
            let first_nan = tally.first_nan.map(own);
            let tally = Tally { first_nan, ..tally };
            Ok(Folded { states, tally })
        })
    }
}

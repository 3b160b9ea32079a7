//! Folds by row of the pairs within a cut-off: rows within reach are found in a [`Grid`], their
//! values computed as ever, and folded in the order of the columns as given, so that sums have the
//! bits of a run that looks at every pair. Histograms of pairs within reach are counted next to it
//! (`binned.rs`).

use super::grid::Grid;
use super::tree::Hoisted;
use crate::jit::{self, Code};
use crate::pairs::code::compiled;
use crate::pairs::program::{Program, compile};
use crate::pairs::rows::Rows;
use crate::pairs::vm::Vm;
use std::ops::Range;
use std::sync::Arc;
use zipfold_core::fold::BLOCK;
use zipfold_core::{Domain, Job, Result, Side, Space, Windows};
use zipfold_plan::executor::Declined;
use zipfold_plan::executor::Stop;
use zipfold_plan::{Isa, Plan, Tile, prune};

/// Blocks of rows of y that are laid out at once.
pub(super) const BLOCKS: usize = 32;
/// Rows of x whose values are computed together.
pub(super) const ROWS: usize = jit::GROUP;

/// A job whose rows lie in a grid.
#[derive(Debug)]
pub struct CutoffGrid<'j> {
    pub(super) job: &'j Job,
    /// What is walked: half spaces from both rows of a pair, where folds credit rows.
    pub(super) space: Space,
    pub(super) isa: Isa,
    program: Arc<Program>,
    code: Option<Arc<Code<f64>>>,
    pub(super) x: Hoisted,
    pub(super) y: Hoisted,
    pub(super) grid: Grid,
    /// The sorted place of every row, where x and y are one input.
    pub(super) ranks: Vec<u32>,
    /// The root that a cut-off compares, and with what.
    pub(super) limit: Option<(usize, f64)>,
}

impl<'j> CutoffGrid<'j> {
    /// Puts the rows of `job` into cells, and has `code` made for its formula.
    pub fn load(job: &'j Job, plan: &Plan, code: bool) -> std::result::Result<Self, Declined> {
        let reach = prune::reach(job).ok_or("nothing bounds how far apart rows may be")?;
        let program = compile(&job.low);
        let code = code
            .then(|| compiled(plan, &job.low, &program, false))
            .map(|code| code.ok_or("no code can be made for the formula"))
            .transpose()?;
        let windows = Windows::new(&reach, job.periodic_box.as_ref(), [&job.x, job.other()]);
        let low = &job.low;
        let sides = || {
            rayon::join(
                || Hoisted::new(low, &job.x, Side::X),
                || Hoisted::new(low, job.other(), Side::Y),
            )
        };
        let ((x, y), grid) = rayon::join(sides, || Grid::new(windows, &job.x, job.y.as_ref()));
        let mut ranks = vec![0; if job.space.is_self() { job.space.n } else { 0 }];
        if !ranks.is_empty() {
            let order = grid.order().iter().enumerate();
            order.for_each(|(rank, row)| ranks[*row as usize] = rank as u32);
        }
        let space = prune::walked(job, plan.prune);
        let limit = job.cutoff_root.zip(job.space.cutoff_squared());
        Ok(CutoffGrid {
            job,
            space,
            isa: plan.isa,
            program,
            code,
            x,
            y,
            grid,
            ranks,
            limit,
        })
    }
    /// An evaluator with room for some rows of x, and for blocks of rows of y.
    pub(super) fn vm(&self) -> Vm<'j, f64> {
        let low = &self.job.low;
        let lanes = if self.code.is_some() {
            jit::lanes::<f64>(self.isa)
        } else {
            BLOCK
        };
        Vm {
            low,
            program: self.program.clone(),
            x: Rows::room(low, ROWS),
            y: Rows::room_in_strips(low, lanes, BLOCKS),
            periodic_box: self.job.periodic_box.as_ref(),
            isa: self.isa,
            code: self.code.clone(),
            lines: None,
            sums: None,
            unit: 1.0,
        }
    }
    /// Hands the sorted rows of consecutive `tiles` over, those of a cell together.
    ///
    /// # Errors
    /// `Interrupted` when told to stop.
    pub(super) fn groups(
        &self,
        tiles: &[Tile],
        stop: Stop<'_>,
        mut take: impl FnMut(Range<usize>),
    ) -> Result<()> {
        for tile in tiles {
            let mut left = tile.rows.clone();
            while !left.is_empty() {
                stop.check()?;
                let group = self.grid.group(&left);
                left.start = group.end;
                take(group);
            }
        }
        Ok(())
    }
    /// Whether a pair that is walked from sorted `row` counts there.
    pub(super) fn counts(&self, row: usize, column: u32) -> bool {
        match self.job.space.domain {
            Domain::Triangle => self.ranks[column as usize] as usize > row,
            Domain::Diagonal => self.ranks[column as usize] as usize >= row,
            _ => true,
        }
    }
}

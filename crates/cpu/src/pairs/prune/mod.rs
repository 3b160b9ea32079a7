//! Pruning: rows sorted so that near ones follow one another, and pairs left out, or settled whole, that bounds
//! tell enough of. What is left is evaluated as ever.
//!
//! Tiles are over the *sorted* rows, so that shares, checkpoints and threads work as without pruning. Only folds whose
//! answer does not depend on the order of pairs are pruned ([`zipfold_plan::prune::mode`]), and folds by row of the pairs within a
//! cut-off, whose values are put into the order of the columns as given; so the answer has the same bits.

mod binned;
mod boxes;
mod form;
mod grid;
mod limits;
mod meshes;
mod near;
mod nearby;
mod sheet;
mod tree;
mod verdict;
mod walk;

use super::engine::{Sink, UnitState};
use boxes::Boxes;
use meshes::Meshes;
use near::Near;
use std::sync::atomic::AtomicBool;
use zipfold_core::{Job, Result, Side};
use zipfold_plan::{Plan, Tile};

/// A job loaded for a pruned run.
#[derive(Debug)]
pub enum Pruned<'j> {
    /// By bounds over boxes.
    Boxes(Box<Boxes<'j>>),
    /// Distances between the columns of a mesh.
    Mesh(Box<Meshes<'j>>),
    /// Folds by row of the pairs within a cut-off, by a grid of cells.
    Near(Box<Near<'j>>),
}

impl<'j> Pruned<'j> {
    /// Sorts the rows of `job`; none where it cannot be pruned.
    pub fn load(job: &'j Job, plan: &Plan) -> Option<Self> {
        if plan.prune.grid.is_some()
            && let Some(near) = Near::load(job, plan)
        {
            return Some(Pruned::Near(Box::new(near)));
        }
        let mesh = plan.prune.mesh.and_then(|mesh| Meshes::load(job, plan, mesh.parts));
        match mesh {
            Some(mesh) => Some(Pruned::Mesh(Box::new(mesh))),
            None => Boxes::load(job, plan).map(|boxes| Pruned::Boxes(Box::new(boxes))),
        }
    }
    /// Which rows of `side` the sorted ones are.
    pub fn order(&self, side: Side) -> &[u32] {
        match self {
            Pruned::Boxes(boxes) => boxes.order(side),
            Pruned::Mesh(mesh) => mesh.order(side),
            Pruned::Near(near) => near.order(),
        }
    }
    /// Folds the cells of consecutive `tiles` of sorted rows.
    ///
    /// # Errors
    /// Those of the sink, which is asked for room for the matches of joins; `Interrupted` when told to stop.
    pub fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Option<&AtomicBool>) -> Result<UnitState> {
        match self {
            Pruned::Boxes(boxes) => boxes.run(tiles, sink, stop),
            Pruned::Mesh(mesh) => mesh.run(tiles, stop),
            Pruned::Near(near) => near.run(tiles, stop),
        }
    }
}

//! The kernel that a join of tables takes on a device, by predicted time.

use crate::roles::Roles;
use crate::tile::{TILES, Tile};
use crate::visit::Visit;
use zipfold_core::Precision;
use zipfold_plan::device::Facts;
use zipfold_product::cpu::shape::{Digit, JoinShapes, Shape};
use zipfold_product::plan::places::Link;
use zipfold_product::plan::{Options, Plan};

/// Configurations of the folded index that one part has at least.
const PART: usize = 64;
/// Most parts of a folded index.
const PARTS: usize = 256;
/// Configurations of the folded index for which a tile of matrices would take as long as it takes to
/// look up its rows and columns and to wait for the first numbers.
const START: usize = 12;
/// Thread blocks for each multiprocessor, so that none waits.
const WAVES: usize = 4;

/// How a join is made: what decides the order in which an entry is summed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelChoice {
    pub kernel: JoinKernel,
    /// Parts of the folded index.
    pub parts: usize,
    /// Multiply-adds of a lane that take the same time.
    pub cost: f64,
}

/// The kernel of a join.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JoinKernel {
    /// Tiles of a thread block.
    Tile(Tile),
    /// Tiles of a thread.
    Visit(Visit),
}

impl KernelChoice {
    /// The tile of a thread block that is predicted to take the least time, where two tables make a
    /// product of matrices.
    fn tiled(shape: &Shape, precision: Precision, units: usize, depth: usize) -> Option<Self> {
        let roles = Roles::of_shape(shape)?;
        let tiles = TILES[usize::from(precision == Precision::F64)].into_iter();
        let choices = tiles.map(|tile| {
            let groups = roles.tiles(tile);
            let parts = parts(groups, depth, PART.max(8 * tile.step), units);
            let busy = ((groups * parts) as f64 / units as f64).min(1.0);
            KernelChoice {
                kernel: JoinKernel::Tile(tile),
                parts,
                cost: roles.padded(tile, depth + START) / tile.share() / busy,
            }
        });
        choices.min_by(|a, b| a.cost.total_cmp(&b.cost))
    }
    /// The kernel for `shape` that is predicted to take the least time.
    pub(crate) fn new(shape: &Shape, precision: Precision, units: usize) -> Self {
        let summed = shape.digits.iter().filter(|d| d.summed);
        let depth: usize = summed.map(|d| d.card).product();
        let many = |groups: usize| parts(groups, depth, PART, units);
        let (visit, cost) = Visit::new(shape, precision, units, &many);
        let visit = KernelChoice {
            kernel: JoinKernel::Visit(visit),
            parts: many(visit.blocks(shape, precision, units)),
            cost,
        };
        match Self::tiled(shape, precision, units, depth) {
            Some(tiled) if tiled.cost <= visit.cost => tiled,
            _ => visit,
        }
    }
}

/// How threads come by the numbers of their tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinForm {
    /// Rows and columns of a product of matrices, in shared memory.
    Matrix,
    /// Rows in shared memory, columns from the tables.
    Staged,
    /// Both from the tables.
    Alone,
    /// Pages of the result, by the paper's kernel.
    Paged,
}

impl JoinForm {
    /// All of them.
    pub const ALL: [JoinForm; 4] = [
        JoinForm::Matrix,
        JoinForm::Staged,
        JoinForm::Alone,
        JoinForm::Paged,
    ];
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            JoinForm::Matrix => "matrix",
            JoinForm::Staged => "staged",
            JoinForm::Alone => "alone",
            JoinForm::Paged => "paged",
        }
    }
}

/// What a join is predicted to take on a device, its tables being there.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Seconds of the kernel.
    pub seconds: f64,
    /// Rows and columns of the tile of a thread.
    pub tile: [usize; 2],
    /// Where the rows of the tile come from.
    pub form: JoinForm,
}

/// What the join `shape` is predicted to take on a device with `facts`, by the rates of `link`.
pub fn predicted(shape: &Shape, precision: Precision, facts: &Facts, link: &Link) -> Predicted {
    let way = KernelChoice::new(shape, precision, facts.units);
    let (tile, form) = match way.kernel {
        JoinKernel::Tile(tile) => ([tile.tall, tile.wide], JoinForm::Matrix),
        JoinKernel::Visit(visit) if visit.staged => ([visit.tall, visit.wide], JoinForm::Staged),
        JoinKernel::Visit(visit) => ([visit.tall, visit.wide], JoinForm::Alone),
    };
    // Two operations are one multiply-add.
    let seconds = 2.0 * way.cost / link.operations;
    let held = |strides: &dyn Fn(&Digit) -> usize| {
        let own = shape.digits.iter().filter(|d| strides(d) > 0);
        own.map(|d| d.card as f64).product::<f64>()
    };
    let inputs = (0..shape.inputs)
        .map(|f| held(&|d| d.strides[f]))
        .sum::<f64>();
    let parts = if way.parts > 1 {
        2.0 * way.parts as f64
    } else {
        1.0
    };
    let entries = inputs + parts * shape.out_len as f64;
    Predicted {
        seconds: seconds.max(entries * link.entry / link.memory),
        tile,
        form,
    }
}

/// `plan` with joins fused where the device takes less time so: `seconds` of the kernel for the join
/// at a node, none where the join stays as it is.
pub fn fused(
    plan: &Plan,
    options: &Options,
    link: &Link,
    seconds: &dyn Fn(usize, &Shape) -> Option<f64>,
) -> Plan {
    let shapes = JoinShapes::new(plan);
    plan.fused(options, &|join| {
        let shape = shapes.join(join.inputs, join.nodes, join.scope)?;
        Some(link.start + seconds(join.at, &shape)?)
    })
}

/// Parts of a folded index of `depth`, so that all multiprocessors have work.
fn parts(groups: usize, depth: usize, least: usize, units: usize) -> usize {
    let wanted = (WAVES * units).div_ceil(groups.max(1));
    let parts = wanted.min(depth / least).clamp(1, PARTS);
    // No part is empty.
    depth.div_ceil(depth.div_ceil(parts))
}

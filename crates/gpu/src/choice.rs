//! The kernel that a join of tables takes on a device, by predicted time.

use crate::counts::Counts;
pub use crate::form::JoinForm;
use crate::model::CYCLES;
use crate::roles::Roles;
use crate::tile::{TILES, Tile};
use crate::visit::Visit;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use zipfold_core::Precision;
use zipfold_plan::device::Facts;
use zipfold_product::cpu::shape::{JoinShapes, Shape};
use zipfold_product::plan::{Options, Plan};

/// Configurations of the folded index that one part has at least.
const PART: usize = 64;
/// Most parts of a folded index.
const PARTS: usize = 256;
/// Thread blocks for each multiprocessor, so that none waits.
const WAVES: usize = 4;
/// Seconds from which a tile of a thread is sought: a kernel for its own roles takes longer to
/// compile than smaller joins take.
const WORTH: f64 = 9e-6;
/// The clock by which devices name the cycles of the model.
const NAMED_CLOCK: f64 = 1.98e9;

/// Kernels chosen in this process, which a plan asks for several times: a choice looks at hundreds of
/// candidates.
static CHOSEN: LazyLock<Mutex<HashMap<ChoiceKey, KernelChoice>>> = LazyLock::new(Mutex::default);
/// What decides a choice: the join, the type, and the multiprocessors.
type ChoiceKey = (Shape, Precision, usize);
/// Most of them.
const MOST_CHOSEN: usize = 1 << 12;

/// How a join is made: what decides the order in which an entry is summed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelChoice {
    pub kernel: JoinKernel,
    /// Parts of the folded index.
    pub parts: usize,
    /// Predicted seconds on the device of the model with the multiprocessors chosen for.
    pub seconds: f64,
}

/// The kernel of a join.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JoinKernel {
    /// Tiles of a thread block.
    Tile(Tile),
    /// Tiles of a thread.
    Visit(Visit),
}

/// A kernel that a join could take.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub(crate) way: KernelChoice,
}

impl Candidate {
    /// Its form, its tile of a thread, where that lies, and the parts of the folded index.
    pub fn name(&self) -> String {
        let parts = self.way.parts;
        match self.way.kernel {
            JoinKernel::Tile(t) => format!(
                "matrix {}x{} in {}x{} by {parts}",
                t.tall, t.wide, t.rows, t.columns
            ),
            JoinKernel::Visit(visit) => format!("{visit} by {parts}"),
        }
    }
    /// Predicted seconds on a device with `facts`.
    pub fn seconds(&self, facts: &Facts) -> f64 {
        self.way.seconds * slower(facts)
    }
}

/// All kernels that the join `shape` could take on `units` multiprocessors.
pub fn candidates(shape: &Shape, precision: Precision, units: usize) -> Vec<Candidate> {
    let all = Choosing::new(shape, precision, units);
    let visits = Visit::all(shape, precision).into_iter();
    let visits = visits.map(|visit| all.visit(visit));
    let ways = all.tiles().into_iter().chain(visits);
    ways.map(|way| Candidate { way }).collect()
}

/// Seconds on a device with `facts` for one of the model, which has as many multiprocessors.
pub(crate) fn slower(facts: &Facts) -> f64 {
    match facts.host {
        true => 2.0 * LANES * facts.units as f64 * CYCLES / HOST,
        false => NAMED_CLOCK / facts.clock,
    }
}

/// Multiply-adds of a multiprocessor in a cycle, and operations a second of a host that poses as a
/// device.
const LANES: f64 = 128.0;
const HOST: f64 = 2e9;

/// A join for which a kernel is chosen.
struct Choosing<'s> {
    shape: &'s Shape,
    precision: Precision,
    units: usize,
    depth: usize,
}

impl<'s> Choosing<'s> {
    fn new(shape: &'s Shape, precision: Precision, units: usize) -> Self {
        let summed = shape.digits.iter().filter(|d| d.summed);
        Choosing {
            shape,
            precision,
            units,
            depth: summed.map(|d| d.card).product(),
        }
    }
    /// The tiles of a thread block, where two tables make a product of matrices.
    fn tiles(&self) -> Vec<KernelChoice> {
        let Some(roles) = Roles::of_shape(self.shape) else {
            return Vec::new();
        };
        let tiles = TILES[usize::from(self.precision == Precision::F64)].into_iter();
        let choices = tiles.map(|tile| {
            let groups = roles.tiles(tile);
            let parts = parts(groups, self.depth, PART.max(8 * tile.step), self.units);
            let join = (self.shape, self.precision);
            let counts = Counts::of_tile(tile, &roles, join, (parts, self.units));
            KernelChoice {
                kernel: JoinKernel::Tile(tile),
                parts,
                seconds: counts.seconds(self.units),
            }
        });
        choices.collect()
    }
    fn visit(&self, visit: Visit) -> KernelChoice {
        let (shape, precision, units) = (self.shape, self.precision, self.units);
        let groups = visit.blocks(shape, precision, units);
        let parts = parts(groups, self.depth, PART, units);
        let counts = Counts::of_visit(visit, shape, precision, (parts, units));
        KernelChoice {
            kernel: JoinKernel::Visit(visit),
            parts,
            seconds: counts.seconds(units),
        }
    }
}

impl KernelChoice {
    /// The kernel for `shape` that is predicted to take the least time.
    pub(crate) fn new(shape: &Shape, precision: Precision, units: usize) -> Self {
        let key = (shape.clone(), precision, units);
        let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = chosen.get(&key) {
            return *found;
        }
        drop(chosen);
        let made = Self::chosen(shape, precision, units);
        chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
        if chosen.len() >= MOST_CHOSEN {
            chosen.clear();
        }
        chosen.insert(key, made);
        made
    }
    fn chosen(shape: &Shape, precision: Precision, units: usize) -> Self {
        let all = Choosing::new(shape, precision, units);
        let plain = all.visit(Visit::PLAIN);
        let mut ways = all.tiles();
        if plain.seconds >= WORTH {
            let tiles = Visit::all(shape, precision).into_iter().skip(1);
            ways.extend(tiles.map(|visit| all.visit(visit)));
        }
        let faster = |best: Self, next: Self| match next.seconds < best.seconds {
            true => next,
            false => best,
        };
        ways.into_iter().fold(plain, faster)
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

/// What the join `shape` is predicted to take on a device with `facts`.
pub fn predicted(shape: &Shape, precision: Precision, facts: &Facts) -> Predicted {
    let way = KernelChoice::new(shape, precision, facts.units);
    let (tile, form) = match way.kernel {
        JoinKernel::Tile(tile) => ([tile.tall, tile.wide], JoinForm::Matrix),
        JoinKernel::Visit(visit) if visit.staged => ([visit.tall, visit.wide], JoinForm::Staged),
        JoinKernel::Visit(visit) => ([visit.tall, visit.wide], JoinForm::Alone),
    };
    Predicted {
        seconds: way.seconds * slower(facts),
        tile,
        form,
    }
}

/// Seconds that a host takes for one join of several in a row, in addition to the start of its kernel.
const IN_A_ROW: f64 = 2e-6;

/// `plan` with joins fused where the device takes less time so: `seconds` of the kernel for the join
/// at a node, none where the join stays as it is. The host waits for none of them.
pub fn fused(
    plan: &Plan,
    options: &Options,
    seconds: &dyn Fn(usize, &Shape) -> Option<f64>,
) -> Plan {
    let shapes = JoinShapes::new(plan);
    plan.fused(options, &|join| {
        let shape = shapes.join(join.inputs, join.nodes, join.scope)?;
        Some(IN_A_ROW + seconds(join.at, &shape)?)
    })
}

/// Parts of a folded index of `depth`, so that all multiprocessors have work.
fn parts(groups: usize, depth: usize, least: usize, units: usize) -> usize {
    let wanted = (WAVES * units).div_ceil(groups.max(1));
    let parts = wanted.min(depth / least).clamp(1, PARTS);
    // No part is empty.
    depth.div_ceil(depth.div_ceil(parts))
}

//! Contractions of a network's tables on a device: products of matrices by tiles of a thread block,
//! any number of tables by tiles of a thread.
//!
//! The kernels take sizes and strides as arguments, so that a few of them serve all shapes: a
//! network has hundreds of shapes, and a compiler takes longer for one than the device takes for
//! the contraction.
//!
//! ```text
//! contract(shape, tables):
//!     the paper's kernel is wanted and the shape has its form: run it              paged.rs
//!     ready(shape), made once for each shape
//!         kernel = tiles of a thread block, tiles of a thread, or an entry a thread    choice.rs
//!         lists of sizes, strides and places of the folded digits → device
//!     parts of the folded index: each thread block row sums one part
//!     launch; more than one part: add the parts in their order
//!
//! tiles of a thread block (kernels/contract.c), two tables as a product of matrices:
//!     for each STEP of the folded index: both tables' parts of the tile → shared memory
//!         each thread: total[TALL][WIDE] += column of x · row of y
//! ```
//!
//! Why this shape: few entries and a long folded index leave most multiprocessors idle, so the
//! index is cut into parts with results of their own; the number of parts depends on the shape and
//! on the multiprocessors that the run chose for, not on the device at hand, so that unlike devices
//! give the same bits. Memory of results waits in a pool by size, because allocation stops the
//! device.

use crate::choice::{JoinForm, JoinKernel, KernelChoice, Predicted, predicted};
use crate::join_code::{Code, Folding};
use crate::known::KnownJoins;
use crate::paged::Contraction;
use crate::pages::Pages;
use crate::roles::Roles;
use crate::runtime::{Arg, Device, Grid, Kernel, Memory, Plain};
use crate::tile::Tile;
use crate::visit::Visit;
use crate::visit_text::THREADS as VISIT_THREADS;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use zipfold_core::{Blame, Error, Opt, Precision, Result};
use zipfold_plan::device::Facts;
use zipfold_product::cpu::Fold;
use zipfold_product::cpu::bucket::Mode;
use zipfold_product::cpu::shape::{Digit, Shape, offsets};
use zipfold_product::plan::places::Link;
use zipfold_product::remote::{Ending, Items, ItemsMut, Numbers, Remote};

/// A contraction that was set out.
pub(crate) struct Ready {
    code: Code,
    grid: Grid,
    /// Parts of the folded index, each with a result of its own.
    parts: usize,
    out_len: usize,
    /// The tables as the kernel takes them.
    order: Vec<usize>,
    sizes: Memory,
    depth: Memory,
}

/// Memory that waits to be used again, by bytes.
type Pool = Arc<Mutex<HashMap<usize, Vec<Memory>>>>;

/// Numbers on the device.
pub(crate) struct Block {
    memory: Option<Memory>,
    len: usize,
    pool: Pool,
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            pool.entry(memory.bytes()).or_default().push(memory);
        }
    }
}

/// A device that contracts.
pub struct Contractor {
    device: Device,
    precision: Precision,
    /// Multiprocessors that kernels are chosen for: the order in which an entry is summed depends on
    /// it.
    units: usize,
    kernels: Mutex<HashMap<Code, Arc<Kernel>>>,
    ready: KnownJoins<Arc<Ready>>,
    /// Where the paper's kernel takes the joins that have its form.
    pages: Option<Pages>,
    /// Its kernels.
    paged: KnownJoins<Option<Arc<Contraction>>>,
    pool: Pool,
}

impl std::fmt::Debug for Contractor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Contractor({})", self.device.facts.id())
    }
}

/// Threads of the kernels without tiles.
const THREADS: usize = 256;
/// Most places of configurations of a folded index, of all tables: the host makes the list.
const LISTED: usize = 1 << 23;

impl Contractor {
    /// Bytes that a join takes for sizes, strides and places of its tables, unless its folded index
    /// is long.
    pub const OVERHEAD: u64 = 4096;

    /// Contractions of numbers of one type on `device`.
    ///
    /// # Errors
    /// `Device` where it has no such numbers.
    pub fn new(device: Device, precision: Precision) -> Result<Self> {
        if precision == Precision::F64 && !device.facts.double {
            return Err(crate::engine::single_only(&device.facts).remedy(Opt::Precision.to("f32")));
        }
        Ok(Contractor {
            units: device.facts.units,
            device,
            precision,
            kernels: Mutex::default(),
            ready: KnownJoins::default(),
            pages: None,
            paged: KnownJoins::default(),
            pool: Pool::default(),
        })
    }
    /// The same with the paper's kernel for the joins that `pages` takes.
    pub fn by_pages(self, pages: Pages) -> Self {
        Contractor {
            pages: Some(pages),
            ..self
        }
    }
    /// The same with kernels chosen as for a device of so many multiprocessors: unlike devices that
    /// share out the work of a run then give the same bits.
    pub fn choosing_for(self, units: usize) -> Self {
        Contractor { units, ..self }
    }
    /// The device.
    pub fn facts(&self) -> &Facts {
        &self.device.facts
    }
    /// Waits for all work.
    ///
    /// # Errors
    /// `Device` when some of it failed.
    pub fn finish(&self) -> Result<()> {
        self.device.finish()
    }
    /// What the planner needs to know of a device.
    pub fn link(facts: &Facts, precision: Precision) -> Link {
        // Of a vector unit for each multiprocessor: 128 lanes in single precision, half as many in
        // double, on the chips for computing.
        let lanes = if precision == Precision::F32 {
            128.0
        } else {
            64.0
        };
        let peak = 2.0 * lanes * facts.units as f64 * facts.clock;
        match facts.host {
            true => Link {
                operations: 2e9,
                memory: 2e9,
                link: 5e9,
                start: 1e-4,
                entry: precision.bytes() as f64,
                room: 0.9 * facts.memory as f64,
            },
            false => Link {
                operations: 0.6 * peak,
                memory: 2.5e12,
                link: 2e10,
                start: 1.2e-5,
                entry: precision.bytes() as f64,
                room: 0.9 * facts.memory as f64,
            },
        }
    }
    fn kernel(&self, code: Code) -> Result<Arc<Kernel>> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&code) {
            return Ok(kernel.clone());
        }
        let kernel = Arc::new(self.compile(code)?);
        kernels.insert(code, kernel.clone());
        Ok(kernel)
    }
    pub(crate) fn block(&self, len: usize) -> Result<Block> {
        let size = (len * self.precision.bytes()).max(16);
        let again = self
            .pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(&size)
            .and_then(Vec::pop);
        let memory = match again {
            Some(memory) => memory,
            None => match self.device.allocate(size) {
                Err(e) if e.blame() == Blame::Resource => {
                    self.make_room();
                    self.device.allocate(size)?
                }
                other => other?,
            },
        };
        Ok(Block {
            memory: Some(memory),
            len,
            pool: self.pool.clone(),
        })
    }
    /// Gives memory that waits to be used again back to the device.
    fn make_room(&self) {
        self.ready.clear();
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.clear();
    }
    fn blocks(&self, len: usize) -> u32 {
        len.div_ceil(THREADS).clamp(1, 8 * self.device.facts.units) as u32
    }
    /// What a join needs, by the kernel and in the parts that `whole` has, of which it is a piece.
    fn ready(&self, shape: &Shape, whole: &Shape, folding: Folding) -> Result<Arc<Ready>> {
        if let Some(found) = self.ready.find(shape, whole, folding) {
            return Ok(found);
        }
        let way = KernelChoice::new(whole, self.precision, self.units);
        let made = self.set_out(shape, way, folding)?;
        let made = Arc::new(made);
        self.ready.keep(shape, whole, folding, made.clone());
        Ok(made)
    }
    /// A join by the kernel that `way` says; memory that waits goes back to the device where there is
    /// no room.
    pub(crate) fn set_out(
        &self,
        shape: &Shape,
        way: KernelChoice,
        folding: Folding,
    ) -> Result<Ready> {
        let kind = (self.precision, self.units);
        match set_out(shape, folding, (way, kind), &self.device) {
            Err(e) if e.blame() == Blame::Resource => {
                self.make_room();
                set_out(shape, folding, (way, kind), &self.device)
            }
            other => other,
        }
    }
    /// Compiles the kernels that are not there, on all threads of the host.
    pub(crate) fn compile_all(&self, codes: &[Code]) -> Result<()> {
        let missing: HashSet<Code> = {
            let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
            let all = codes.iter().copied();
            all.filter(|code| !kernels.contains_key(code)).collect()
        };
        let made = missing.into_par_iter().map(|code| {
            let kernel = self.compile(code)?;
            Ok((code, Arc::new(kernel)))
        });
        let made: Vec<(Code, Arc<Kernel>)> = made.collect::<Result<_>>()?;
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.extend(made);
        Ok(())
    }
    fn compile(&self, code: Code) -> Result<Kernel> {
        let source = code.source(self.precision, self.device.facts.runtime);
        let mut made = self.device.compile(&source, &[code.name()])?;
        made.pop()
            .ok_or_else(|| Error::internal("a program without kernel"))
    }
    /// The type of numbers, multiprocessors that kernels are chosen for, and the device.
    pub(crate) fn parts(&self) -> (Precision, usize, &Device) {
        (self.precision, self.units, &self.device)
    }
    /// What the join `shape` is predicted to take by other kernels than the paper's.
    fn unpaged(&self, shape: &Shape) -> Predicted {
        let facts = Facts {
            units: self.units,
            ..self.device.facts.clone()
        };
        predicted(shape, self.precision, &facts)
    }
    /// What the join `shape` is predicted to take, and its kernel.
    pub fn predicted(&self, shape: &Shape) -> Predicted {
        let own = self.unpaged(shape);
        let pages = self.pages.as_ref();
        match pages.and_then(|pages| pages.takes(shape, Mode::Sum, own.seconds)) {
            Some(bucket) => Predicted {
                seconds: bucket.seconds,
                tile: [1, 1],
                form: JoinForm::Paged,
            },
            None => own,
        }
    }
    /// The paper's kernel for `shape`, where it takes the join `whole`, of which that is a piece.
    fn paged(&self, shape: &Shape, whole: &Shape, max: bool) -> Result<Option<Arc<Contraction>>> {
        let Some(pages) = &self.pages else {
            return Ok(None);
        };
        let folding = Folding { max, logs: false };
        if let Some(found) = self.paged.find(shape, whole, folding) {
            return Ok(found);
        }
        let seconds = self.unpaged(whole).seconds;
        let mode = if max { Mode::Max } else { Mode::Sum };
        let bucket = match pages.takes(whole, mode, seconds) {
            Some(bucket) if bucket.shape == *shape => Some(bucket),
            Some(_) => pages.bucket(shape, mode),
            None => None,
        };
        let made = bucket.map(|bucket| Contraction::new(&self.device, &bucket).map(Arc::new));
        let made = made.transpose()?;
        self.paged.keep(shape, whole, folding, made.clone());
        Ok(made)
    }
    pub(crate) fn run_paged(
        &self,
        paged: &Contraction,
        inputs: &[&Block],
        out: Block,
        shift: Option<f64>,
    ) -> Result<Block> {
        let tables: Vec<&Memory> = inputs.iter().map(|b| b.memory()).collect::<Result<_>>()?;
        paged.run(&self.device, &tables, out.memory()?)?;
        if let Some(shift) = shift {
            let numbers = [shift, out.len as f64].map(Arg::F64);
            self.sweep(Code::Logarithms, out.len, &[out.arg()?], &numbers)?;
        }
        Ok(out)
    }
    pub(crate) fn run(
        &self,
        ready: &Ready,
        inputs: &[&Block],
        shift: Option<f64>,
    ) -> Result<Block> {
        let out = self.block(ready.out_len)?;
        let parts = if ready.parts > 1 {
            Some(self.block(ready.out_len * ready.parts)?)
        } else {
            None
        };
        let to = parts.as_ref().unwrap_or(&out);
        let order = ready.order.iter().map(|f| inputs[*f].arg());
        let mut args: Vec<Arg<'_>> = order.collect::<Result<_>>()?;
        args.extend([
            to.arg()?,
            Arg::Memory(&ready.sizes),
            Arg::Memory(&ready.depth),
        ]);
        args.extend(shift.filter(|_| parts.is_none()).map(Arg::F64));
        self.device
            .launch(&*self.kernel(ready.code)?, ready.grid, &args)?;
        if let Some(parts) = &parts {
            let max = ready.code.folding().max;
            let logs = shift.is_some();
            let kernel = self.kernel(Code::Parts {
                folding: Folding { max, logs },
            })?;
            let grid = Grid {
                x: self.blocks(ready.out_len),
                y: 1,
                threads: THREADS as u32,
            };
            let numbers = [ready.parts as f64, ready.out_len as f64];
            let numbers = numbers.into_iter().chain(shift).map(Arg::F64);
            let args: Vec<Arg<'_>> = [parts.arg()?, out.arg()?]
                .into_iter()
                .chain(numbers)
                .collect();
            self.device.launch(&kernel, grid, &args)?;
        }
        Ok(out)
    }
}

impl Block {
    fn arg(&self) -> Result<Arg<'_>> {
        self.memory
            .as_ref()
            .map(Arg::Memory)
            .ok_or_else(|| Error::internal("a block without memory"))
    }
    pub(crate) fn memory(&self) -> Result<&Memory> {
        self.memory
            .as_ref()
            .ok_or_else(|| Error::internal("a block without memory"))
    }
}

pub(crate) fn own(numbers: &Numbers) -> Result<&Block> {
    numbers
        .downcast_ref::<Block>()
        .ok_or_else(|| Error::internal("numbers of another device"))
}

impl Remote for Contractor {
    fn send(&self, items: Items<'_>) -> Result<Numbers> {
        let len = match items {
            Items::F32(x) => x.len(),
            Items::F64(x) => x.len(),
        };
        let block = self.block(len)?;
        match items {
            Items::F32(x) => self
                .device
                .write(block.memory()?, crate::runtime::as_bytes(x))?,
            Items::F64(x) => self
                .device
                .write(block.memory()?, crate::runtime::as_bytes(x))?,
        }
        Ok(Box::new(block))
    }
    fn bring(&self, numbers: &Numbers, to: ItemsMut<'_>) -> Result<()> {
        let block = own(numbers)?;
        match to {
            ItemsMut::F32(to) => self.device.read(block.memory()?, to),
            ItemsMut::F64(to) => self.device.read(block.memory()?, to),
        }
    }
    fn room(&self) -> u64 {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = pool.iter().map(|(bytes, all)| (bytes * all.len()) as u64);
        (self.device.free() + waiting.sum::<u64>()).saturating_sub(Self::OVERHEAD)
    }
    fn contract(
        &self,
        shape: &Shape,
        inputs: &[&Numbers],
        fold: Fold,
        whole: &Shape,
        ending: Ending,
    ) -> Result<Numbers> {
        let blocks: Vec<&Block> = inputs.iter().map(|n| own(n)).collect::<Result<_>>()?;
        let max = fold == Fold::Max;
        let shift = match ending {
            Ending::Values => None,
            Ending::Logs(shift) => Some(shift),
        };
        if let Some(paged) = self.paged(shape, whole, max)? {
            let out = self.block(shape.out_len)?;
            return Ok(Box::new(self.run_paged(&paged, &blocks, out, shift)?));
        }
        let logs = shift.is_some();
        let ready = self.ready(shape, whole, Folding { max, logs })?;
        Ok(Box::new(self.run(&ready, &blocks, shift)?))
    }
    fn prepare(&self, joins: &[(Shape, bool)], fold: Fold) -> Result<()> {
        let max = fold == Fold::Max;
        let code = |shape: &Shape, logs: bool| match self.paged(shape, shape, max)? {
            Some(_) => Ok::<_, Error>(None),
            None => {
                let way = KernelChoice::new(shape, self.precision, self.units);
                Ok(Some(code(shape, Folding { max, logs }, way)))
            }
        };
        // A join that has no room is cut into pieces when its turn comes.
        let codes = joins
            .par_iter()
            .map(|(shape, logs)| match code(shape, *logs) {
                Err(e) if e.blame() == Blame::Resource => Ok(None),
                other => other,
            });
        let codes: Vec<Option<Code>> = codes.collect::<Result<_>>()?;
        let codes = codes.into_iter().flatten();
        self.compile_all(&codes.collect::<Vec<_>>())
    }
    fn exponentials(&self, logs: &Numbers, shift: f64) -> Result<Numbers> {
        let logs = own(logs)?;
        let out = self.block(logs.len)?;
        let numbers = [shift, logs.len as f64].map(Arg::F64);
        let tables = [logs.arg()?, out.arg()?];
        self.sweep(Code::Exponentials, logs.len, &tables, &numbers)?;
        Ok(Box::new(out))
    }
    fn ends(&self, numbers: &Numbers) -> Result<(f64, f64)> {
        let block = own(numbers)?;
        let groups = self.blocks(block.len);
        let out = self.block(2 * groups as usize)?;
        let grid = Grid {
            x: groups,
            y: 1,
            threads: THREADS as u32,
        };
        self.device.launch(
            &*self.kernel(Code::Ends)?,
            grid,
            &[block.arg()?, out.arg()?, Arg::F64(block.len as f64)],
        )?;
        let ends = |pairs: Vec<f64>| {
            pairs
                .chunks(2)
                .fold((f64::INFINITY, 0.0f64), |(low, high), p| {
                    (low.min(p[0]), high.max(p[1]))
                })
        };
        Ok(match self.precision {
            Precision::F32 => ends(
                self.fetch::<f32>(&out)?
                    .into_iter()
                    .map(f64::from)
                    .collect(),
            ),
            Precision::F64 => ends(self.fetch::<f64>(&out)?),
        })
    }
    fn scale(&self, numbers: &Numbers, factor: f64) -> Result<()> {
        let block = own(numbers)?;
        let numbers = [factor, block.len as f64].map(Arg::F64);
        self.sweep(Code::Scale, block.len, &[block.arg()?], &numbers)
    }
}

impl Contractor {
    /// Starts a kernel that goes over the `len` entries of whole tables.
    fn sweep(&self, code: Code, len: usize, tables: &[Arg<'_>], numbers: &[Arg<'_>]) -> Result<()> {
        let grid = Grid {
            x: self.blocks(len),
            y: 1,
            threads: THREADS as u32,
        };
        self.device
            .launch(&*self.kernel(code)?, grid, &[tables, numbers].concat())
    }
    fn fetch<T: Plain + Default>(&self, block: &Block) -> Result<Vec<T>> {
        let mut items = vec![T::default(); block.len];
        self.device.read(block.memory()?, &mut items)?;
        Ok(items)
    }
}

/// Offsets beyond 32 bits.
fn is_wide(shape: &Shape, parts: usize) -> bool {
    let table = |f: usize| {
        shape
            .digits
            .iter()
            .map(|d| (d.card - 1) * d.strides[f])
            .sum::<usize>()
    };
    let largest = (0..shape.inputs)
        .map(table)
        .max()
        .unwrap_or(0)
        .max(shape.out_len * parts);
    largest >= 1 << 31
}

/// How a kernel makes a join, or a piece of the join that it was chosen for.
enum Means<'s> {
    /// By tiles of a product of matrices.
    Tiles(Roles<'s>, Tile),
    /// By tiles of a thread.
    Visits(Visit),
}

impl<'s> Means<'s> {
    fn new(shape: &'s Shape, way: KernelChoice) -> Self {
        match (Roles::of_shape(shape), way.kernel) {
            (Some(roles), JoinKernel::Tile(tile)) => Means::Tiles(roles, tile),
            (_, JoinKernel::Visit(visit)) => Means::Visits(visit.for_piece(shape)),
            // A piece whose digits make no product of matrices.
            (None, JoinKernel::Tile(_)) => Means::Visits(Visit::PLAIN),
        }
    }
}

/// The kernel for `shape` that `way` says.
pub(crate) fn code(shape: &Shape, folding: Folding, way: KernelChoice) -> Code {
    let folding = way.folding(folding);
    match Means::new(shape, way) {
        Means::Tiles(roles, tile) => roles.code(shape, (tile, way.parts, folding)),
        Means::Visits(visit) => visit.code(shape, way.parts, folding),
    }
}

impl KernelChoice {
    /// What becomes of the products of an entry: parts end when they are folded together.
    fn folding(self, folding: Folding) -> Folding {
        if self.parts > 1 {
            folding.values()
        } else {
            folding
        }
    }
}

impl Visit {
    fn code(self, shape: &Shape, parts: usize, folding: Folding) -> Code {
        Code::Visit {
            counts: self.counts(shape.inputs),
            tile: (self.tall, self.wide),
            staged: self.staged,
            folding,
            wide: is_wide(shape, parts),
        }
    }
}

/// The kernel for `shape` that `way` says, with its arguments on the device.
fn set_out(
    shape: &Shape,
    folding: Folding,
    (way, kind): (KernelChoice, (Precision, usize)),
    device: &Device,
) -> Result<Ready> {
    let folding = way.folding(folding);
    let summed: Vec<&Digit> = shape.digits.iter().filter(|d| d.summed).collect();
    let depth: usize = summed.iter().map(|d| d.card).product();
    match Means::new(shape, way) {
        Means::Tiles(roles, tile) => {
            let how = (tile, way.parts, folding);
            roles.set_out(shape, how, (&summed, depth), device)
        }
        Means::Visits(visit) => visits(shape, (visit, way.parts, folding), (&summed, kind), device),
    }
}

/// The kernel with tiles of a thread.
fn visits(
    shape: &Shape,
    (visit, parts, folding): (Visit, usize, Folding),
    (summed, kind): (&[&Digit], (Precision, usize)),
    device: &Device,
) -> Result<Ready> {
    let depth: usize = summed.iter().map(|d| d.card).product();
    check_list(depth * shape.inputs)?;
    let wide = is_wide(shape, parts);
    let order = visit.order(shape.inputs);
    let lists: Vec<Vec<usize>> = order.iter().map(|f| list(summed, *f)).collect();
    let mut places: Vec<usize> = (0..depth)
        .flat_map(|k| lists.iter().map(move |l| l[k]))
        .collect();
    places.extend(visit.lines(shape));
    Ok(Ready {
        code: visit.code(shape, parts, folding),
        grid: Grid {
            x: groups(visit.blocks(shape, kind.0, kind.1))?,
            y: parts as u32,
            threads: VISIT_THREADS as u32,
        },
        parts,
        out_len: shape.out_len,
        order,
        sizes: numbers(
            device,
            &visit.sizes(shape, depth, depth.div_ceil(parts), kind),
            wide,
        )?,
        depth: numbers(device, &places, wide)?,
    })
}

/// Refuses a list of places that is too long for the host to make.
fn check_list(places: usize) -> Result<()> {
    if places <= LISTED {
        return Ok(());
    }
    Err(
        Error::resource(format!("a list of {places} places for a join on a device"))
            .limit(format!("{LISTED} places")),
    )
}

fn groups(blocks: usize) -> Result<u32> {
    u32::try_from(blocks)
        .ok()
        .filter(|g| *g <= i32::MAX as u32)
        .ok_or_else(|| Error::resource("more entries than one launch has thread blocks for"))
}

/// Offsets in table `f` of all configurations of digits.
fn list(digits: &[&Digit], f: usize) -> Vec<usize> {
    offsets(
        &digits
            .iter()
            .map(|d| (d.card, d.strides[f]))
            .collect::<Vec<_>>(),
    )
}

/// Numbers as offsets of the kernel.
fn numbers(device: &Device, all: &[usize], wide: bool) -> Result<Memory> {
    if wide {
        return device.upload(&all.iter().map(|n| *n as u64).collect::<Vec<u64>>());
    }
    device.upload(&all.iter().map(|n| *n as u32).collect::<Vec<u32>>())
}

impl Roles<'_> {
    fn code(&self, shape: &Shape, (tile, parts, folding): (Tile, usize, Folding)) -> Code {
        Code::Tiles {
            tile,
            along: self.along,
            folding,
            wide: is_wide(shape, parts),
        }
    }
    fn set_out(
        &self,
        shape: &Shape,
        (tile, parts, folding): (Tile, usize, Folding),
        (summed, depth): (&[&Digit], usize),
        device: &Device,
    ) -> Result<Ready> {
        let [rows, columns, _] = self.sizes();
        let tiles = self.tiles(tile);
        let wide = is_wide(shape, parts);
        let (a, b) = if self.swapped { (1, 0) } else { (0, 1) };
        let linear = summed.len() == 1;
        check_list(if linear { 1 } else { 2 * depth })?;
        let strides = if linear {
            [summed[0].strides[a], summed[0].strides[b]]
        } else {
            [0, 0]
        };
        let counts = [self.rows.len(), self.columns.len(), self.batch.len()];
        let mut sizes = vec![rows, columns, depth, depth.div_ceil(parts)];
        sizes.extend(counts);
        sizes.extend([shape.out_len, usize::from(linear), strides[0], strides[1]]);
        self.rows
            .iter()
            .rev()
            .for_each(|d| sizes.extend([d.card, d.strides[a], d.out]));
        self.columns
            .iter()
            .rev()
            .for_each(|d| sizes.extend([d.card, d.strides[b], d.out]));
        self.batch
            .iter()
            .rev()
            .for_each(|d| sizes.extend([d.card, d.strides[a], d.strides[b], d.out]));
        let depths = match linear {
            true => vec![0],
            false => list(summed, a)
                .into_iter()
                .zip(list(summed, b))
                .flat_map(|(a, b)| [a, b])
                .collect(),
        };
        Ok(Ready {
            code: self.code(shape, (tile, parts, folding)),
            grid: Grid {
                x: groups(tiles)?,
                y: parts as u32,
                threads: tile.threads() as u32,
            },
            parts,
            out_len: shape.out_len,
            order: vec![a, b],
            sizes: numbers(device, &sizes, wide)?,
            depth: numbers(device, &depths, wide)?,
        })
    }
}

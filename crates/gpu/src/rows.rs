//! The rows of a job on a device: all of them, or those of one tile at a time where they do not
//! fit.

use crate::emit::matrix::groups;
use crate::emit::values::width;
use crate::pack::{Layout, PANEL, ProductRows, SideRows, pack_products, words};
use crate::runtime::{Arg, Device, Mark, Memory, Plain};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use zipfold_core::pair::tree::Side;
use zipfold_core::{Blame, Error, Job, Precision, Result};
use zipfold_plan::Tile;
use zipfold_plan::device::open_pairs::LazyPairs;
use zipfold_plan::device::products::{Products, Rounded, Rounding, RowFacts};
use zipfold_plan::device::rounding::{Ranges, joined, ranges};
use zipfold_plan::device::{Facts, multiplies};
use zipfold_plan::overrides::{Overrides, Residency};

/// Precisions that kernels read.
#[derive(Clone, Debug)]
pub struct Kinds {
    /// Double, and how it lies there.
    pub wide: Option<Layout>,
    /// Single.
    pub narrow: bool,
    /// As matrix units multiply them.
    pub products: Option<ProductRows>,
}

/// Packed rows in device memory, in one or both precisions, and constant vectors, behind which
/// stand the first panels of x and of y that are held.
pub struct Loaded {
    wide: Option<[Arc<Memory>; 3]>,
    narrow: Option<[Arc<Memory>; 3]>,
    /// Rows of x and of y, hoisted numbers of both, constants.
    products: Option<[Memory; 5]>,
}

/// The rows of a job, in the order in which its tiles number them.
#[derive(Clone)]
pub struct JobRows<'j> {
    job: Cow<'j, Job>,
    /// Sorted, where a device sweeps what bounds leave open.
    sorted: Option<Arc<LazyPairs<'j>>>,
}

impl<'j> JobRows<'j> {
    /// The rows of `job`, as given or `sorted`.
    pub fn new(job: Cow<'j, Job>, sorted: Option<Arc<LazyPairs<'j>>>) -> Self {
        JobRows { job, sorted }
    }
    /// Which rows those of `side` are, where that is not the order given.
    pub fn order(&self, side: Side) -> Option<&[u32]> {
        self.sorted.as_ref().map(|sorted| sorted.order(side))
    }
    fn side(&self, side: Side) -> SideRows<'_> {
        SideRows {
            low: &self.job.low,
            table: match side {
                Side::X => &self.job.x,
                Side::Y => self.job.other(),
            },
            side,
            order: self.order(side),
        }
    }
}

/// Numbers past the last panel, since whole slices of components are fetched.
const SLACK: usize = 32 * PANEL;

impl Loaded {
    /// All rows of a job.
    ///
    /// # Errors
    /// Those of the device.
    pub fn all(of: &JobRows<'_>, device: &Device, kinds: &Kinds) -> Result<Self> {
        let (x, y) = (of.job.x.rows(), of.job.other().rows());
        Self::window(of, device, kinds, [0..x, 0..y])
    }
    /// Some rows of x and of y.
    fn window(
        of: &JobRows<'_>,
        device: &Device,
        kinds: &Kinds,
        rows: [Range<usize>; 2],
    ) -> Result<Self> {
        let loaded = Self::room(&of.job, device, kinds, &rows)?;
        loaded.fill(of, device, kinds, rows, None)?;
        Ok(loaded)
    }
    /// Memory for some rows of x and of y.
    fn room(job: &Job, device: &Device, kinds: &Kinds, rows: &[Range<usize>; 2]) -> Result<Self> {
        let low = &job.low;
        let panels = |side: usize| rows[side].end.div_ceil(PANEL) - rows[side].start / PANEL;
        let flat = low.constants.iter().map(Vec::len).sum::<usize>() + 2;
        let packed = |precision: Precision, layout: Layout| {
            let side = |side: usize| {
                let panel = layout.size(width(low, side));
                let bytes = (panels(side) * panel + SLACK) * precision.bytes();
                device.allocate(bytes).map(Arc::new)
            };
            let x = side(0)?;
            let y = match is_shared(job, rows) {
                true => x.clone(),
                false => side(1)?,
            };
            let constants = device.allocate(flat * precision.bytes())?;
            Ok([x, y, Arc::new(constants)])
        };
        let products = |form: &ProductRows| {
            let number = form.input().precision().bytes();
            let row = groups(low.dim, form.input()) * 16;
            let rows = |side: usize| device.allocate(panels(side) * PANEL * row);
            let numbers = |side: usize| {
                device.allocate(panels(side) * PANEL * form.numbers(low, side).max(1) * number)
            };
            Ok([
                rows(0)?,
                rows(1)?,
                numbers(0)?,
                numbers(1)?,
                device.allocate(flat * number)?,
            ])
        };
        Ok(Loaded {
            wide: kinds
                .wide
                .map(|layout| packed(Precision::F64, layout))
                .transpose()?,
            narrow: if kinds.narrow {
                Some(packed(Precision::F32, Layout::Columns)?)
            } else {
                None
            },
            products: kinds.products.as_ref().map(products).transpose()?,
        })
    }
    /// Packs the rows of a [`Self::room`] and copies them there; next to the work after `mark`, if
    /// there is one, which the room was made before.
    fn fill(
        &self,
        of: &JobRows<'_>,
        device: &Device,
        kinds: &Kinds,
        rows: [Range<usize>; 2],
        mark: Option<&Mark>,
    ) -> Result<()> {
        let shared = is_shared(&of.job, &rows);
        let panels = rows.map(|r| r.start / PANEL..r.end.div_ceil(PANEL));
        let low = &of.job.low;
        let mut flat: Vec<f64> = low.constants.iter().flatten().copied().collect();
        flat.extend(panels.iter().map(|p| p.start as f64));
        for (at, (side, panels)) in SIDES.into_iter().zip(&panels).enumerate() {
            let way = Way {
                device,
                mark,
                rows: of.side(side),
                panels,
            };
            let packed = shared && side == Side::Y;
            if let (Some(wide), Some(layout)) = (&self.wide, kinds.wide.filter(|_| !packed)) {
                way.pack(&wide[at], layout, |v| v)?;
            }
            if let Some(narrow) = self.narrow.as_ref().filter(|_| !packed) {
                way.pack(&narrow[at], Layout::Columns, |v| v as f32)?;
            }
            if let (Some(memories), Some(form)) = (&self.products, &kinds.products) {
                let [rows, numbers] = pack_products(&way.rows, form, panels.clone());
                device.write_beside(&memories[at], &rows, mark)?;
                device.write_beside(&memories[2 + at], &numbers, mark)?;
            }
        }
        let input = kinds.products.as_ref().map(ProductRows::input);
        let products = self.products.as_ref().zip(input);
        let constants = [
            self.narrow.as_ref().map(|rows| (&*rows[2], Precision::F32)),
            self.wide.as_ref().map(|rows| (&*rows[2], Precision::F64)),
            products.map(|(rows, input)| (&rows[4], input.precision())),
        ];
        for (memory, precision) in constants.into_iter().flatten() {
            device.write_beside(memory, &words(&flat, precision), mark)?;
        }
        Ok(())
    }
    /// Arguments of a kernel of matrix units: rows of x, of y, hoisted numbers of both, constants.
    ///
    /// # Errors
    /// `Internal` when they were not loaded so.
    pub fn products(&self) -> Result<Vec<Arg<'_>>> {
        match &self.products {
            Some(memories) => Ok(memories.iter().map(Arg::Memory).collect()),
            None => Err(Error::internal(
                "rows for matrix units that were not loaded",
            )),
        }
    }
    /// Arguments of a kernel: rows of x, of y, constants.
    ///
    /// # Errors
    /// `Internal` when they were not loaded in this precision.
    pub fn inputs(&self, precision: Precision) -> Result<Vec<Arg<'_>>> {
        let held = if precision == Precision::F32 {
            &self.narrow
        } else {
            &self.wide
        };
        match held {
            Some(memories) => Ok(memories.iter().map(|memory| Arg::Memory(memory)).collect()),
            None => Err(Error::internal("rows that were not loaded")),
        }
    }
}

/// Whether the rows of x and of y are one table and packed alike, so that one copy serves both.
fn is_shared(job: &Job, rows: &[Range<usize>; 2]) -> bool {
    let [x, y] = SIDES.map(|side| job.low.raw_columns(side));
    job.y.is_none() && rows[0] == rows[1] && x.is_some() && x == y
}

/// The way of the rows of one side to a device.
struct Way<'a> {
    device: &'a Device,
    mark: Option<&'a Mark>,
    rows: SideRows<'a>,
    panels: &'a Range<usize>,
}

impl Way<'_> {
    /// Packs the panels, each number by way of `as_type`, and zeros behind them, into `memory`.
    fn pack<T: Plain + Default>(
        &self,
        memory: &Memory,
        layout: Layout,
        as_type: impl Fn(f64) -> T + Sync + Copy,
    ) -> Result<()> {
        let panels = self.panels;
        let panel = layout.size(width(self.rows.low, self.rows.side as usize));
        if panel == 0 || panels.is_empty() {
            return Ok(());
        }
        let packed = panels.len() * panel;
        self.device.fill(
            memory,
            (packed + SLACK, panel),
            self.mark,
            &mut |first, piece: &mut [T]| {
                let rows = packed.saturating_sub(first).min(piece.len());
                let (rows, slack) = piece.split_at_mut(rows);
                let at = panels.start + first / panel;
                self.rows.pack(layout, at, rows, as_type);
                slack.fill(T::default());
            },
        )
    }
}

/// The rows of a job for the tiles of a run.
pub struct Rows<'j> {
    of: JobRows<'j>,
    kinds: Kinds,
    /// All rows, or those of the tiles that the device takes, where they are held.
    held: Option<Loaded>,
}

/// The rows of a tile.
pub enum Window<'r> {
    /// All rows.
    Held(&'r Loaded),
    /// Those of the tile.
    Own(Box<Loaded>),
}

impl Window<'_> {
    /// The rows.
    pub fn get(&self) -> &Loaded {
        match self {
            Window::Held(loaded) => loaded,
            Window::Own(loaded) => loaded,
        }
    }
}

impl<'j> Rows<'j> {
    /// Loads the rows of a job, or of a block of it, or prepares to load those of tiles.
    ///
    /// # Errors
    /// Those of the device.
    pub fn load(
        of: JobRows<'j>,
        (rows, block): (Residency, Option<[Range<usize>; 2]>),
        device: &Device,
        kinds: Kinds,
    ) -> Result<Self> {
        let held = match (rows, block) {
            (Residency::Streamed, _) => None,
            (_, Some(block)) => Some(Loaded::window(&of, device, &kinds, block)?),
            (_, None) => Some(Loaded::all(&of, device, &kinds)?),
        };
        Ok(Rows { of, kinds, held })
    }
    /// The rows of `tile` on `device`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn window(&self, device: &Device, tile: &Tile) -> Result<Window<'_>> {
        if let Some(held) = &self.held {
            return Ok(Window::Held(held));
        }
        let rows = [tile.rows.clone(), tile.cols.clone()];
        Ok(Window::Own(Box::new(Loaded::window(
            &self.of,
            device,
            &self.kinds,
            rows,
        )?)))
    }
    /// Does `work` on every tile with its rows. Where these come tile by tile, those of the next
    /// tile are packed and copied beside the work on one, as long as the device has room for both.
    ///
    /// # Errors
    /// Those of the device and of `work`.
    pub fn each<'t>(
        &self,
        device: &Device,
        tiles: &'t [Tile],
        work: &mut dyn FnMut(&'t Tile, &Loaded) -> Result<()>,
    ) -> Result<()> {
        if let Some(held) = &self.held {
            return tiles.iter().try_for_each(|tile| work(tile, held));
        }
        let sides = |tile: &Tile| [tile.rows.clone(), tile.cols.clone()];
        let mut ready: Option<Loaded> = None;
        for (at, tile) in tiles.iter().enumerate() {
            let own = match ready.take() {
                Some(own) => own,
                None => Loaded::window(&self.of, device, &self.kinds, sides(tile))?,
            };
            let next = tiles.get(at + 1);
            let room =
                next.map(|next| Loaded::room(&self.of.job, device, &self.kinds, &sides(next)));
            let room = match room.transpose() {
                Err(e) if e.blame() == Blame::Resource => None,
                room => room?,
            };
            let mark = device.mark()?;
            ready = std::thread::scope(|scope| {
                let beside = room.zip(next).map(|(room, next)| {
                    scope.spawn(move || {
                        room.fill(&self.of, device, &self.kinds, sides(next), Some(&mark))
                            .map(|()| room)
                    })
                });
                let done = work(tile, &own);
                let filled = beside.map(|thread| {
                    thread.join().unwrap_or_else(|_| {
                        Err(Error::internal("the thread that copies rows panicked"))
                    })
                });
                done.and(filled.transpose())
            })?;
        }
        Ok(())
    }
}

/// Rows whose ranges are found at a time, by one thread: whole panels.
const AT_A_TIME: usize = 1 << 12;

/// Facts of the rows of both sides, where the planner of a device wants them: for folds of its own.
/// Rounded rows are measured only where `devices` may multiply them.
pub fn data_facts(job: &Job, devices: &[Facts], overrides: &Overrides) -> Option<RowFacts> {
    if !zipfold_plan::device::folds(job) {
        return None;
    }
    let low = &job.low;
    let none = |side: Side| vec![None; width(low, side as usize)];
    let ranges = SIDES.map(|side| {
        let of = |packed: &[f64]| ranges(packed, low, side);
        by_parts(job, side, of, |a: Ranges, b| joined(&a, &b)).unwrap_or_else(|| none(side))
    });
    let rounding = if multiplies(devices, overrides) {
        Rounding::for_job(job, &ranges)
    } else {
        None
    };
    let products = rounding.map(|rounding| {
        let rounded = SIDES.map(|side| {
            let of = |packed: &[f64]| rounding.measure(packed, low, side);
            by_parts(job, side, of, Rounded::joined).unwrap_or_default()
        });
        Products::new(rounding, rounded, low.dim)
    });
    Some(RowFacts { ranges, products })
}

/// Both sides.
const SIDES: [Side; 2] = [Side::X, Side::Y];

/// What `of` finds in parts of the packed rows of `side`, `joined`; none without rows.
fn by_parts<T: Send>(
    job: &Job,
    side: Side,
    of: impl Fn(&[f64]) -> T + Sync,
    joined: impl Fn(T, T) -> T + Sync + Send,
) -> Option<T> {
    let rows_given = JobRows::new(Cow::Borrowed(job), None);
    let given = rows_given.side(side);
    let (table, width) = (given.table, width(&job.low, side as usize));
    let part = |part: usize| {
        let from = part * AT_A_TIME;
        let rows = AT_A_TIME.min(table.rows() - from).next_multiple_of(PANEL);
        let mut packed = vec![0.0; rows * width];
        given.pack(Layout::Columns, from / PANEL, &mut packed, |v| v);
        of(&packed)
    };
    (0..table.rows().div_ceil(AT_A_TIME))
        .into_par_iter()
        .map(part)
        .reduce_with(joined)
}

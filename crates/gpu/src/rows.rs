//! The rows of a job on a device: all of them, or those of one tile at a time where they do not fit.

use crate::bound::{Ranges, joined, ranges};
use crate::emit::values::width;
use crate::pack::{PANEL, pack_panels};
use crate::runtime::{Arg, Device, Memory};
use std::ops::Range;
use zipfold_core::pair::tree::Side;
use zipfold_core::{Error, Job, Precision, Result, Table};
use zipfold_plan::{Plan, Tile};

/// Precisions that kernels read.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// Double.
    pub wide: bool,
    /// Single.
    pub narrow: bool,
}

/// Packed rows in device memory, in one or both precisions, and constant vectors, behind which stand the first panels of x and
/// of y that are held.
pub struct Loaded {
    wide: Option<[Memory; 3]>,
    narrow: Option<[Memory; 3]>,
}

/// Numbers past the last panel, since whole slices of components are fetched.
const SLACK: usize = 32 * PANEL;

impl Loaded {
    /// All rows of `job`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn all(job: &Job, device: &Device, kinds: Kinds) -> Result<Self> {
        Self::window(job, device, kinds, [0..job.x.rows(), 0..job.other().rows()])
    }
    /// Some rows of x and of y.
    fn window(job: &Job, device: &Device, kinds: Kinds, rows: [Range<usize>; 2]) -> Result<Self> {
        let panels = rows.map(|r| r.start / PANEL..r.end.div_ceil(PANEL));
        let low = &job.low;
        let mut flat: Vec<f64> = low.constants.iter().flatten().copied().collect();
        flat.extend(panels.iter().map(|p| p.start as f64));
        let sides = [(Side::X, &job.x, &panels[0]), (Side::Y, job.other(), &panels[1])];
        let mut out = Loaded { wide: None, narrow: None };
        if kinds.wide {
            let side = |(side, table, panels): (Side, &Table, &Range<usize>)| {
                let mut rows = pack_panels(low, table, side, Precision::F64, panels.clone()).wide;
                rows.resize(rows.len() + SLACK, 0.0);
                device.upload(&rows)
            };
            out.wide = Some([side(sides[0])?, side(sides[1])?, device.upload(&flat)?]);
        }
        if kinds.narrow {
            let side = |(side, table, panels): (Side, &Table, &Range<usize>)| {
                let mut rows = pack_panels(low, table, side, Precision::F32, panels.clone()).narrow;
                rows.resize(rows.len() + SLACK, 0.0);
                device.upload(&rows)
            };
            let flat: Vec<f32> = flat.iter().map(|v| *v as f32).collect();
            out.narrow = Some([side(sides[0])?, side(sides[1])?, device.upload(&flat)?]);
        }
        Ok(out)
    }
    /// Arguments of a kernel: rows of x, of y, constants.
    ///
    /// # Errors
    /// `Internal` when they were not loaded in this precision.
    pub fn inputs(&self, precision: Precision) -> Result<Vec<Arg<'_>>> {
        let held = if precision == Precision::F32 { &self.narrow } else { &self.wide };
        match held {
            Some(memories) => Ok(memories.iter().map(Arg::Memory).collect()),
            None => Err(Error::internal("rows that were not loaded")),
        }
    }
}

/// Whether the rows of one tile at a time are on the device.
pub fn is_streamed(plan: &Plan) -> bool {
    plan.choices.get("device.rows").is_some_and(|v| v == "streamed")
}

/// Where kernels find the panel of a row: counted from the first one that is held.
pub fn panels(job: &Job, streamed: bool) -> String {
    let constants: usize = job.low.constants.iter().map(Vec::len).sum();
    let first = |at: usize| if streamed { format!(" - (zf_u32)c[{at}]") } else { String::new() };
    format!(
        "#define ZF_PANEL_X(row) ((row) / 128u{})\n#define ZF_PANEL_Y(row) ((row) / 128u{})\n",
        first(constants),
        first(constants + 1)
    )
}

/// The rows of a job for the tiles of a run.
pub struct Rows<'j> {
    job: &'j Job,
    kinds: Kinds,
    /// All rows, where they are held.
    held: Option<Loaded>,
    ranges: Option<[Ranges; 2]>,
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
    /// Loads the rows of `job`, or prepares to load those of tiles.
    ///
    /// # Errors
    /// Those of the device, `Request` for a choice that makes no sense.
    pub fn load(job: &'j Job, plan: &Plan, device: &Device, kinds: Kinds) -> Result<Self> {
        if let Some(odd) = plan.choices.get("device.rows").filter(|v| !["held", "streamed"].contains(&v.as_str())) {
            let e = Error::request(format!("no '{odd}' here")).at("--set device.rows");
            return Err(e.remedy("held or streamed"));
        }
        let held = if is_streamed(plan) { None } else { Some(Loaded::all(job, device, kinds)?) };
        let ranges = (kinds.wide && kinds.narrow).then(|| data_ranges(job));
        Ok(Rows { job, kinds, held, ranges })
    }
    /// Ranges of the rows, where filters want them.
    pub fn ranges(&self) -> Option<&[Ranges; 2]> {
        self.ranges.as_ref()
    }
    /// The rows of `tile` on `device`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn of(&self, device: &Device, tile: &Tile) -> Result<Window<'_>> {
        if let Some(held) = &self.held {
            return Ok(Window::Held(held));
        }
        let rows = [tile.rows.clone(), tile.cols.clone()];
        Ok(Window::Own(Box::new(Loaded::window(self.job, device, self.kinds, rows)?)))
    }
}

/// Rows whose ranges are found at a time.
const AT_A_TIME: usize = 1 << 16;

/// Ranges of the rows of both sides, for filters.
pub fn data_ranges(job: &Job) -> [Ranges; 2] {
    [(Side::X, &job.x), (Side::Y, job.other())].map(|(side, table)| {
        let of = |from: usize| {
            let panels = from / PANEL..(from + AT_A_TIME).min(table.rows()).div_ceil(PANEL);
            ranges(&pack_panels(&job.low, table, side, Precision::F64, panels).wide, &job.low, side)
        };
        let empty = || vec![None; width(&job.low, side as usize)];
        let parts = (0..table.rows()).step_by(AT_A_TIME).map(of);
        parts.reduce(|a, b| joined(&a, &b)).unwrap_or_else(empty)
    })
}

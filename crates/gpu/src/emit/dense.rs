//! Writes register-blocked kernels for matrices of any formula with one loop over components:
//! zip-reduce over slices of components in shared memory. The tuple ⟨c, r, s, d'⟩ of the all-pairs
//! paper is here r = 16 rows of c = 16 or 8 threads, s = 8 × 8 or 8 × 16 pairs each, and d'
//! components a slice.
//!
//! ```text
//! sums[8][8 or 16] = identity
//! for each slice of components
//!     copy the slice of 128 rows of x and of y into shared memory        asynchronously, 2 slices ahead; or through registers, 1 ahead
//!     for k in the slice
//!         xv[8], yv[8 or 16] = the thread's rows and columns at component k, by loads of 16 bytes
//!         for p, q: sums[p][q] ⊕= zip(xv[p], yv[q])
//!     every 1024 components, if single precision sums: long += sums; sums = 0
//! for p, q: value = the rest of the formula on sums[p][q]; store it, and its mirror image
//! ```
//!
//! Each number in shared memory serves 128 pairs, and each in a register 8 or 16, so that
//! arithmetic and not memory sets the pace. The second accumulator bounds the error of long sums.

use super::pair::{RootText, StageText, pair_text};
use super::values::width;
use super::{fill, loads, maps, type_name};
use std::fmt::Write;
use zipfold_core::Job;
use zipfold_core::pair::lower::Lowered;
use zipfold_plan::device::matrix::{CARRY, Copying, MatrixShape, TILE, carries};

/// The kernel `name` for root `root` of `job`.
pub fn kernel(name: &str, job: &Job, root: usize, shape: &MatrixShape) -> String {
    let low = &job.low;
    let ty = type_name(shape.precision);
    let pair = pair_text(low, None, shape.precision);
    let value = match &pair.roots[root] {
        RootText::Numbers(n) => n[0].clone(),
        RootText::Components(..) => "0".into(),
    };
    let carry = carries(low, shape.precision);
    let text = TileText::new(low, shape, 0);
    let places = [
        ("NAME", name.to_string()),
        ("THREADS", shape.threads().to_string()),
        ("T", ty.to_string()),
        ("BLOCKS", shape.blocks.to_string()),
        (
            "SHARED",
            (shape.copy.stages() * text.stage_size()).to_string(),
        ),
        ("MAP", maps::text(shape.map)),
        ("XW", width(low, 0).to_string()),
        ("YW", width(low, 1).to_string()),
        ("START", text.start(&pair.stages[0].start, carry)),
        ("CARRY", if carry { text.carry() } else { String::new() }),
        (
            "CARRIED",
            if carry { text.carried() } else { String::new() },
        ),
        ("FINISH", pair.finish.clone()),
        ("VALUE", value),
        ("STORE_ROW", text.store("out", "p", false)),
        ("STORE_COLUMN", text.store("mirror", "q", true)),
    ];
    let mirror = if shape.mirror {
        include_str!("../kernels/mirror.c")
    } else {
        ""
    };
    let source = fill(
        include_str!("../kernels/dense.c"),
        &[("MIRROR", mirror.to_string())],
    );
    let source = fill(&source, &text.places(&pair.stages[0]));
    text.macros() + &fill(&source, &places) + &text.no_macros()
}

/// The texts of a register-blocked tile.
pub(super) struct TileText<'l> {
    low: &'l Lowered,
    shape: &'l MatrixShape,
    row_vectors: [usize; 2],
    /// Numbers of a load.
    lanes: usize,
    /// The side whose rows are those of the tile.
    rows: usize,
}

impl<'l> TileText<'l> {
    pub(super) fn new(low: &'l Lowered, shape: &'l MatrixShape, rows: usize) -> Self {
        TileText {
            low,
            shape,
            row_vectors: [low.row_vectors[0].len(), low.row_vectors[1].len()],
            lanes: shape.load,
            rows,
        }
    }
    /// Places of the fragments that bring slices in and work on them.
    pub(super) fn places(&self, stage: &StageText) -> Vec<(&'static str, String)> {
        let stages = self.shape.copy.stages();
        vec![
            ("LOOP", self.rotation().to_string()),
            ("WORK", self.work()),
            (
                "ALONG",
                if self.shape.unroll < self.shape.slice {
                    format!("ZF_UNROLL_BY({})", self.shape.unroll)
                } else {
                    "ZF_UNROLL".into()
                },
            ),
            ("READ", self.read()),
            ("EVERY", self.every(&format!("{{\n{}}}", stage.body))),
            ("XV", (self.row_vectors[0] * self.cells()[0]).to_string()),
            ("YV", (self.row_vectors[1] * self.cells()[1]).to_string()),
            ("STAGES", stages.to_string()),
            ("STAGE", self.stage_size().to_string()),
            ("LANES", self.lanes.to_string()),
            ("XT", self.thread(0).into()),
            ("YT", self.thread(1).into()),
            ("WAIT", stages.saturating_sub(2).to_string()),
            ("COPY", self.copy()),
            ("VECTOR", self.vector().to_string()),
            ("SLICE", self.shape.slice.to_string()),
            ("FETCHES", self.fetches().to_string()),
            (
                "FETCH",
                format!(
                    "{} ahead[{}];\n{}",
                    self.vector(),
                    self.fetches(),
                    self.fetch("k0")
                ),
            ),
            ("PUT", self.put()),
            ("AHEAD", self.fetch("k1")),
            ("PUT_AHEAD", self.put()),
            ("TX", (TILE / self.shape.across).to_string()),
            ("TN", self.shape.across.to_string()),
            ("APART", (TILE / self.shape.across * 4).to_string()),
        ]
    }
    fn vector(&self) -> &'static str {
        loads::vector(self.shape.precision, self.lanes)
    }
    fn threads(&self) -> usize {
        self.shape.threads() as usize
    }
    /// Rows of x and of y of a thread.
    fn cells(&self) -> [usize; 2] {
        if self.rows == 0 {
            [8, self.shape.across]
        } else {
            [self.shape.across, 8]
        }
    }
    /// Rows and columns of pairs of a thread.
    fn sides(&self) -> [usize; 2] {
        [8, self.shape.across]
    }
    fn rotation(&self) -> &'static str {
        match self.shape.copy {
            Copying::Ahead => include_str!("../kernels/ahead.c"),
            Copying::Pipe(_) => include_str!("../kernels/pipe.c"),
        }
    }
    /// The loop over a slice: without a test where every slice is whole.
    fn work(&self) -> String {
        let whole = include_str!("../kernels/slice.c");
        if self.low.dim.is_multiple_of(self.shape.slice) {
            return whole.to_string();
        }
        fill(
            include_str!("../kernels/ragged_slices.c"),
            &[("WHOLE", whole.to_string())],
        )
    }
    /// All pairs of a thread.
    fn every(&self, text: &str) -> String {
        let [rows, cols] = self.sides();
        format!(
            "ZF_UNROLL for (int p = 0; p < {rows}; p++) ZF_UNROLL for (int q = 0; q < {cols}; q++) {text}\n"
        )
    }
    fn reduces(&self) -> impl Iterator<Item = u32> + '_ {
        self.low.stages[0].reduces.iter().map(|id| id.0)
    }
    pub(super) fn macros(&self) -> String {
        let low = self.low;
        let mut out = format!(
            "#define DIM {}u\n#define CV(v, k) c[(v) * {}u + k0 + kk]\n",
            low.dim, low.dim
        );
        for (side, (upper, lower)) in [('X', 'x'), ('Y', 'y')].into_iter().enumerate() {
            let at = if side == self.rows { 'p' } else { 'q' };
            let row_scalars = low.row_vectors[side].len() * low.dim;
            let cells = self.cells()[side];
            let _ = write!(
                out,
                "#define {upper}S(s, k) {lower}v[(s) * {cells} + {at}]\n#define {upper}A(a) {lower}[{lower}_at + ({row_scalars}u + (a)) * (size_t)128]\n"
            );
        }
        self.reduces().for_each(|v| {
            let _ = writeln!(out, "#define v{v} sum{v}[p][q]");
        });
        out
    }
    pub(super) fn no_macros(&self) -> String {
        let accs: String = self.reduces().map(|v| format!("#undef v{v}\n")).collect();
        super::values::NO_ACCESS.to_string() + &accs
    }
    /// Vector loads of one slice, by thread.
    fn fetches(&self) -> usize {
        (self.row_vectors[0] + self.row_vectors[1]) * self.per_stream()
    }
    fn per_stream(&self) -> usize {
        (self.shape.slice * TILE / self.lanes).div_ceil(self.threads())
    }
    /// Declares the accumulators by the starts `T v7 = …;` of the stage.
    pub(super) fn start(&self, starts: &str, carry: bool) -> String {
        let ty = type_name(self.shape.precision);
        let mut out = String::new();
        for (v, line) in self.reduces().zip(starts.lines()) {
            let first = line
                .split_once('=')
                .map_or("0", |(_, v)| v.trim_end_matches(';'));
            let [rows, cols] = self.sides();
            let _ = writeln!(out, "{ty} sum{v}[{rows}][{cols}];");
            out += &self.every(&format!("sum{v}[p][q] = {first};"));
            if carry {
                let _ = writeln!(out, "{ty} long{v}[{rows}][{cols}];");
                out += &self.every(&format!("long{v}[p][q] = 0;"));
            }
        }
        out
    }
    fn each_load(&self, mut line: impl FnMut(usize, usize, usize, usize) -> String) -> String {
        let mut out = String::new();
        let mut number = 0;
        for side in 0..2 {
            for s in 0..self.row_vectors[side] {
                for r in 0..self.per_stream() {
                    out += &line(side, s, r, number);
                    number += 1;
                }
            }
        }
        out
    }
    fn guard(&self, r: usize) -> String {
        let vectors = self.shape.slice * TILE / self.lanes;
        if (r + 1) * self.threads() <= vectors {
            String::new()
        } else {
            format!("if (tid + {}u < {vectors}u) ", r * self.threads())
        }
    }
    fn fetch(&self, k: &str) -> String {
        let vector = self.vector();
        self.each_load(|side, s, r, n| {
            let name = ["x", "y"][side];
            format!(
                "{}ahead[{n}] = *(ZF_GLOBAL const {vector}*)&{name}[{name}_panel + ({}u + {k}) * (size_t)128 + (tid + {}u) * {}u];\n",
                self.guard(r),
                s * self.low.dim,
                r * self.threads(),
                self.lanes
            )
        })
    }
    /// First number of stream `s` of `side` in a stage.
    fn place(&self, side: usize, s: usize) -> usize {
        (if side == 0 {
            s
        } else {
            self.row_vectors[0] + s
        }) * self.shape.slice
            * TILE
    }
    pub(super) fn stage_size(&self) -> usize {
        (self.row_vectors[0] + self.row_vectors[1]) * self.shape.slice * TILE
    }
    fn put(&self) -> String {
        let vector = self.vector();
        self.each_load(|side, s, r, n| {
            format!(
                "{}*(ZF_SHARED_ARG {vector}*)&slices[stage * {}u + {}u + (tid + {}u) * {}u] = ahead[{n}];\n",
                self.guard(r),
                self.stage_size(),
                self.place(side, s),
                r * self.threads(),
                self.lanes
            )
        })
    }
    /// Copies the slices at `x_next` and `y_next` to the stage at `to`.
    fn copy(&self) -> String {
        self.each_load(|side, s, r, _| {
            let name = ["x", "y"][side];
            let ahead = r * self.threads() * self.lanes;
            format!(
                "{}ZF_COPY{}(to + {}, {name}_next + {});\n",
                self.guard(r),
                self.lanes * self.shape.precision.bytes(),
                self.place(side, s) + ahead,
                s * self.low.dim * TILE + ahead,
            )
        })
    }
    /// The number of a thread along the rows of `side`.
    fn thread(&self, side: usize) -> &'static str {
        if side == self.rows { "ty" } else { "tx" }
    }
    /// Reads the numbers of component `kk` of the slice into registers.
    fn read(&self) -> String {
        let (vector, cells) = (self.vector(), self.cells());
        let mut out = String::new();
        for (side, name) in ["x", "y"].into_iter().enumerate() {
            for s in 0..self.row_vectors[side] {
                for part in 0..cells[side] / self.lanes {
                    let first = part * self.lanes;
                    // Subtiles of four lines, as far apart as the threads of a side take together.
                    let row = first / 4 * (TILE / cells[side] * 4) + first % 4;
                    let at = self.place(side, s) + row;
                    let _ = write!(
                        out,
                        "{{ const {vector} v = *(ZF_SHARED_ARG const {vector}*)&{name}_here[{at}u + kk * 128u]; "
                    );
                    for (u, lane) in loads::parts(self.lanes).iter().enumerate() {
                        let _ = write!(out, "{name}v[{}] = v{lane}; ", s * cells[side] + first + u);
                    }
                    out += "}\n";
                }
            }
        }
        out
    }
    fn carry(&self) -> String {
        let every = CARRY;
        let mut out = format!(
            "        if ((k0 + {}u) % {every}u == 0u) {{\n",
            self.shape.slice
        );
        for v in self.reduces() {
            out += &self.every(&format!(
                "{{ long{v}[p][q] += sum{v}[p][q]; sum{v}[p][q] = 0; }}"
            ));
        }
        out + "        }\n"
    }
    fn carried(&self) -> String {
        self.reduces()
            .map(|v| self.every(&format!("sum{v}[p][q] += long{v}[p][q];")))
            .collect()
    }
    /// Stores four cells of a line at `at` by vectors.
    fn store(&self, to: &str, line: &str, column: bool) -> String {
        let mut out = String::new();
        let vector = self.vector();
        for part in 0..4 / self.lanes {
            let _ = write!(out, "{{ {vector} v; ");
            for (u, lane) in loads::parts(self.lanes).iter().enumerate() {
                let at = part * self.lanes + u;
                let cell = if column {
                    format!("cell[part * 4 + {at}][{line}]")
                } else {
                    format!("cell[{line}][part * 4 + {at}]")
                };
                let _ = write!(out, "v{lane} = {cell}; ");
            }
            let _ = writeln!(
                out,
                "*(ZF_GLOBAL {vector}*)&{to}[at + {}u] = v; }}",
                part * self.lanes
            );
        }
        out
    }
}

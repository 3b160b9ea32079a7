//! Family *matrix*: inner products of rows of 16-bit numbers, or in single or double precision, by
//! the matrix units where a device has them.
//!
//! ```text
//! blocks of a band of rows of tiles go together
//! copy the first slices of both sides' rows to shared memory, some stages of them
//! for each stage of slices
//!     wait for it; copy the next one over the one before
//!     each warp: for each slice, products of 16 x 8 pairs from groups of components
//! value of each sum and of the numbers of its rows; write it, and its mirror
//! ```
//!
//! Packed rows lie as a lane takes them, so a load of 16 bytes is all that it needs of a row for one
//! or two products, and no number moves between registers.

use super::fill;
use super::maps::{self, Map, Placing};
use super::packing::SLICE;
pub use super::packing::{TILE, group, groups};
use super::pair::{RootText, pair_text};
use super::type_name;
use super::values::NO_ACCESS;
use super::warpgroup;
use std::fmt::Write;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::{Job, Precision};
use zipfold_plan::device::matrix::ProductShape;
use zipfold_plan::device::products::{Rounding, STAYING};
use zipfold_plan::low_precision::ProductType;
use zipfold_plan::overrides::MatrixUnits;

/// Slices that shared memory holds at least.
const STAGES: usize = 3;

/// Threads of a block. A warp has 64 × 64 cells, or 32 × 64 of double precision: twice as many would
/// not fit its registers.
pub fn threads(input: ProductType) -> u32 {
    (4 / down(input) * 128) as u32
}

/// Products below each other of a warp.
fn down(input: ProductType) -> usize {
    match input.precision() {
        Precision::F32 => 4,
        Precision::F64 => 2,
    }
}

/// Where the lanes of a warp have their cells.
pub(super) fn cells(input: ProductType, units: MatrixUnits) -> String {
    if units == MatrixUnits::Warpgroups {
        return "const zf_u32 group = tid % 32u / 4u, lane = tid % 4u, down = tid / 32u * 16u, over = 0u; (void)over;".into();
    }
    format!(
        "const zf_u32 group = tid % 32u / 4u, lane = tid % 4u;\n    \
         const zf_u32 down = tid / 64u * {}u, over = tid / 32u % 2u * 64u;",
        16 * down(input)
    )
}

/// The parameters of rows of numbers of this type.
pub(super) fn inputs(input: ProductType) -> String {
    let number = type_name(input.precision());
    format!(
        "ZF_IN(zf_u4) x, ZF_IN(zf_u4) y, ZF_IN({number}) x_numbers, ZF_IN({number}) y_numbers, ZF_IN({number}) c"
    )
}

/// What multiplies slices, before the kernels.
pub fn functions(input: ProductType, units: MatrixUnits) -> String {
    let text = match input.precision() {
        Precision::F32 => include_str!("../kernels/halves.h"),
        Precision::F64 => include_str!("../kernels/doubles.h"),
    };
    match units {
        MatrixUnits::Warps => text.into(),
        MatrixUnits::Warpgroups => [text, include_str!("../kernels/warpgroup.h")].concat(),
    }
}

/// The kernel `name` for root `root` of `job`. With `mirror`, values also go to their transposed
/// place.
pub fn kernel(
    name: &str,
    job: &Job,
    root: usize,
    shape: &ProductShape,
    placing: Placing,
    mirror: bool,
) -> String {
    let (low, input) = (&job.low, shape.input);
    let tile = MatrixTile::new(low, shape);
    let pair = pair_text(low, None, input.precision());
    let value = match &pair.roots[root] {
        RootText::Numbers(n) => n[0].clone(),
        RootText::Components(..) => "0".into(),
    };
    let reduce = low.stages[0].reduces[0].0;
    let places = [
        (
            "MIRROR",
            if mirror {
                include_str!("../kernels/matrix_turn.c").into()
            } else {
                String::new()
            },
        ),
        ("NAME", name.to_string()),
        (
            "MAP",
            match placing.map {
                Map::Cross => banded(shape.band),
                _ => maps::text(placing),
            },
        ),
        ("INPUTS", inputs(input)),
        ("CELLS", cells(input, shape.units)),
        ("BEGIN", tile.begin),
        ("THREADS", threads(input).to_string()),
        ("BLOCKS", (down(input) / 2).to_string()),
        ("NUMBER", type_name(input.precision()).into()),
        ("TWO", two(input.precision()).into()),
        ("DOWN", tile.products[0].to_string()),
        ("OVER", tile.products[1].to_string()),
        ("APART", tile.apart.to_string()),
        ("VECTORS", (shape.bytes() / 16).to_string()),
        ("BARRIERS", tile.barriers),
        ("LOOP", tile.text),
        ("GROUPS", groups(low.dim, input).to_string()),
        ("XA", low.row_scalars[0].len().to_string()),
        ("YA", low.row_scalars[1].len().to_string()),
        ("SUM", format!("v{reduce}")),
        ("FINISH", pair.finish.clone()),
        ("VALUE", value),
    ];
    access(low) + &fill(include_str!("../kernels/matrix.c"), &places) + NO_ACCESS
}

/// How a thread has its part of a tile of a matrix.
struct MatrixTile {
    /// Declares barriers.
    barriers: String,
    /// What comes before the loop, and the loop.
    begin: String,
    text: String,
    /// Products below and next to each other, and rows from one to the next below.
    products: [usize; 2],
    apart: usize,
}

impl MatrixTile {
    fn new(low: &Lowered, shape: &ProductShape) -> Self {
        let input = shape.input;
        match shape.units {
            MatrixUnits::Warps => {
                let slices = Slices::of_matrix(shape);
                let rows = "const size_t y_rows = (size_t)ZF_PANEL_Y(j0) * @GROUPS@u * 128u;\n";
                MatrixTile {
                    barriers: String::new(),
                    begin: format!(
                        "const size_t x_rows = (size_t)ZF_PANEL_X(i0) * @GROUPS@u * 128u;\n{rows}"
                    ),
                    text: products(low, input, (["x", "y"], zero(input)), &slices),
                    products: [down(input), 8],
                    apart: 16,
                }
            }
            MatrixUnits::Warpgroups => {
                let slices = warpgroup::FetchedSlices::of_matrix(low, shape);
                let sides = warpgroup::Sides {
                    names: ["x", "y"],
                    first: "i0",
                    second: "j0",
                    skip: None,
                    numbers: 0,
                };
                MatrixTile {
                    barriers: slices.declared(),
                    begin: slices.begin(&sides),
                    text: slices.products(input, &sides, (zero(input), "")),
                    products: [2, 16],
                    apart: 64,
                }
            }
        }
    }
}

/// Statements that set the tile of a block of a rectangle: blocks of `band` rows of tiles go together,
/// column by column.
fn banded(band: usize) -> String {
    format!(
        "const zf_u32 lot = ZF_GROUP_Y * ZF_GROUPS_X + ZF_GROUP_X, first = lot / ({band}u * across) * {band}u;\n\
         const zf_u32 left = (rows + 127u) / 128u - first, high = left < {band}u ? left : {band}u, rest = lot % ({band}u * across);\n\
         block_i = first + rest % high; block_j = rest / high;"
    )
}

/// The type of two numbers.
fn two(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "zf_f2",
        Precision::F64 => "zf_d2",
    }
}

/// What sums begin with.
fn zero(input: ProductType) -> &'static str {
    match input.precision() {
        Precision::F32 => "0.0f",
        Precision::F64 => "0.0",
    }
}

/// Macros for the hoisted numbers of rows, and constants.
fn access(low: &Lowered) -> String {
    let mut access = constants(low);
    for (upper, lower) in [("X", "x"), ("Y", "y")] {
        let _ = writeln!(
            access,
            "#define {upper}A(a) {lower}_numbers[{lower}_at + (a) * (size_t)128]"
        );
    }
    access
}

/// Macros for constants.
pub(super) fn constants(low: &Lowered) -> String {
    format!(
        "#define DIM {}u\n#define CV(v, k) c[(v) * {}u + (k)]\n",
        low.dim, low.dim
    )
}

/// The slices that shared memory holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices {
    /// Groups of the rows of a tile that stay, all or none; the others come with the columns.
    staying: usize,
    stages: usize,
    /// Whether rows r and r + 8 of the first side are paired, so that products need no moves between
    /// registers: where they are put in shared memory, or were packed so.
    paired: bool,
    /// Threads of a block.
    threads: u32,
    /// Slices that are copied at a time.
    depth: usize,
}

impl Slices {
    /// Those of a matrix.
    fn of_matrix(shape: &ProductShape) -> Self {
        Slices {
            staying: 0,
            stages: shape.stages,
            paired: shape.input.precision() == Precision::F32,
            threads: threads(shape.input),
            depth: shape.depth,
        }
    }
    /// Those of folds over rows of `dim` components, which may be packed in pairs.
    pub(crate) fn new(dim: usize, paired: bool) -> Self {
        let input = ProductType::Half(Rounding::TYPE);
        let threads = threads(input);
        if dim <= STAYING {
            Slices {
                staying: groups(dim, input),
                stages: STAGES + 1,
                paired: true,
                threads,
                depth: 1,
            }
        } else {
            Slices {
                staying: 0,
                stages: STAGES - 1,
                paired,
                threads,
                depth: 1,
            }
        }
    }
    /// Vectors of a stage: groups of the rows of one side, or of both.
    fn stage(self) -> usize {
        let sides = if self.staying > 0 { 1 } else { 2 };
        sides * self.depth * SLICE * TILE
    }
    /// Bytes of all.
    pub(crate) fn bytes(self) -> usize {
        (self.stages * self.stage() + self.staying * TILE) * 16
    }
    /// Puts the rows that stay there.
    pub(super) fn begin(self, name: &str) -> String {
        if self.staying == 0 {
            return String::new();
        }
        let (first, groups) = (self.stages * self.stage(), self.staying);
        format!(
            "ZF_UNROLL_BY(4) for (zf_u32 g = 0u; g < {groups}u; g++) {{\n        \
             const zf_u4 four = {name}[{name}_rows + g * (size_t)128 + tid];\n        \
             ZF_SHARED_ARG zf_u32* word = (ZF_SHARED_ARG zf_u32*)slices + ({first}u + g * 128u + ((tid & ~8u) ^ g % 4u * 2u)) * 4u + tid / 8u % 2u;\n        \
             word[0] = four.x; word[2] = four.y; word[32] = four.z; word[34] = four.w;\n    }}\n    "
        )
    }
    /// The slices of rows and of columns that are multiplied.
    fn multiplied(self) -> [String; 2] {
        let stage = self.stage();
        if self.staying == 0 {
            let rows = format!("&slices[stage * {stage}u]");
            return [rows, format!("&slices[stage * {stage}u + {}u]", stage / 2)];
        }
        let first = self.stages * stage;
        let rows = format!("&slices[{first}u + k0 * 128u]");
        [rows, format!("&slices[stage * {stage}u]")]
    }
}

/// The loop that adds the products of a tile to `sum`, which begins as `first`; its rows and columns
/// are rows of `sides`.
pub(super) fn products(
    low: &Lowered,
    input: ProductType,
    (sides, first): ([&str; 2], &str),
    slices: &Slices,
) -> String {
    let [rows, columns] = slices.multiplied();
    let paired = if slices.paired { "_paired" } else { "" };
    let one = |h: usize| {
        let (at, name) = (h * SLICE * TILE, input.name());
        let call = format!(
            "zf_multiply_{name}{paired}({rows} + {at}, {columns} + {at}, down, over, group, lane, sum);"
        );
        match h {
            0 => call,
            _ => format!(
                "if (k0 + {}u < {}u) {call}",
                h * SLICE,
                groups(low.dim, input)
            ),
        }
    };
    let multiply: String = (0..slices.depth).map(one).collect();
    let places = [
        ("COPY", copy(sides, slices, groups(low.dim, input))),
        ("STEP", (SLICE * slices.depth).to_string()),
        ("MULTIPLY", multiply),
        ("FIRST_SUM", first.to_string()),
        ("STAGES", slices.stages.to_string()),
        ("WAIT", (slices.stages - 2).to_string()),
        ("GROUPS", groups(low.dim, input).to_string()),
        ("NUMBER", type_name(input.precision()).into()),
        ("DOWN", down(input).to_string()),
    ];
    fill(include_str!("../kernels/halves_loop.c"), &places)
}

/// Copies the slices from `k8` on of the sides that do not stay into stage `into`, a group of a row
/// each time.
fn copy(sides: [&str; 2], slices: &Slices, groups: usize) -> String {
    let (mut out, stage) = (String::new(), slices.stage());
    let moving = if slices.staying > 0 {
        &sides[1..]
    } else {
        &sides[..]
    };
    let side = slices.depth * SLICE * TILE;
    // Where half of the threads copy the rows of one side each, or all those of both in turn.
    let shared = slices.threads as usize > TILE;
    for h in 0..slices.depth {
        if h > 0 {
            let _ = writeln!(out, "if (k8 + {}u < {groups}u) {{", h * SLICE);
        }
        for g in 0..SLICE {
            let (to, from, mask) = ((h * SLICE + g) * TILE, h * SLICE + g, g * 2);
            if shared {
                let [rows, columns] = sides;
                let _ = writeln!(
                    out,
                    "ZF_COPY16(&slices[into * {stage}u + tid / 128u * {side}u + {to}u + (tid % 128u ^ {mask}u)], \
                     &(tid < 128u ? {rows} : {columns})[(tid < 128u ? {rows}_rows : {columns}_rows) + (size_t)((k8 + {from}u) * 128u + tid % 128u)]);"
                );
                continue;
            }
            for (at, name) in moving.iter().enumerate() {
                let _ = writeln!(
                    out,
                    "ZF_COPY16(&slices[into * {stage}u + {}u + (tid ^ {mask}u)], &{name}[{name}_rows + (size_t)((k8 + {from}u) * 128u + tid)]);",
                    at * side + to
                );
            }
        }
        if h > 0 {
            out += "}\n";
        }
    }
    out
}

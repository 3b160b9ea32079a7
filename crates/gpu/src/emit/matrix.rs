//! Family *matrix*: inner products of rows of 16-bit numbers, by the matrix units where a device
//! has them.

use super::fill;
use super::maps::{self, Placing};
use super::pair::{RootText, pair_text};
use super::values::NO_ACCESS;
use std::fmt::Write;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::{Job, Precision};
use zipfold_plan::device::products::STAYING;
use zipfold_plan::low_precision::LowPrecision;

/// Threads of a block.
pub const THREADS: u32 = 128;
/// Rows and columns of a tile of pairs.
pub const TILE: usize = 128;
/// Components of a group, which one load takes, and groups of a slice.
pub const GROUP: usize = 8;
const SLICE: usize = 4;
/// Slices that shared memory holds: 48 KiB of them.
const STAGES: usize = 3;

/// Groups of a packed row, whole slices of them.
pub fn groups(dim: usize) -> usize {
    dim.div_ceil(GROUP * SLICE) * SLICE
}

/// Where the lanes of a warp have their cells: each of four warps has 64 × 64 of them.
pub(super) const CELLS: &str = "const zf_u32 group = tid % 32u / 4u, lane = tid % 4u;\n    \
     const zf_u32 down = tid / 64u * 64u, over = tid / 32u % 2u * 64u;";

/// The parameters of rows of 16-bit numbers.
pub(super) fn inputs() -> String {
    "ZF_IN(zf_u4) x, ZF_IN(zf_u4) y, ZF_IN(float) x_numbers, ZF_IN(float) y_numbers, ZF_IN(float) c"
        .into()
}

/// What multiplies slices, before the kernels.
pub fn functions() -> &'static str {
    include_str!("../kernels/halves.h")
}

/// The kernel `name` for root `root` of `job`. With `mirror`, values also go to their transposed
/// place.
pub fn kernel(
    name: &str,
    job: &Job,
    root: usize,
    half: LowPrecision,
    placing: Placing,
    mirror: bool,
) -> String {
    let low = &job.low;
    let pair = pair_text(low, None, Precision::F32);
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
        ("MAP", maps::text(placing)),
        ("INPUTS", inputs()),
        ("CELLS", CELLS.into()),
        ("STAGES", STAGES.to_string()),
        (
            "LOOP",
            products(low, half, (["x", "y"], "0.0f"), &Slices::OF_MATRIX),
        ),
        ("GROUPS", groups(low.dim).to_string()),
        ("XA", low.row_scalars[0].len().to_string()),
        ("YA", low.row_scalars[1].len().to_string()),
        ("SUM", format!("v{reduce}")),
        ("FINISH", pair.finish.clone()),
        ("VALUE", value),
    ];
    access(low) + &fill(include_str!("../kernels/matrix.c"), &places) + NO_ACCESS
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
}

impl Slices {
    /// Those of a matrix: three of both sides take the 48 KiB that every kernel has.
    const OF_MATRIX: Slices = Slices {
        staying: 0,
        stages: STAGES,
        paired: true,
    };
    /// Those of folds over rows of `dim` components, which may be packed in pairs.
    pub(crate) fn new(dim: usize, paired: bool) -> Self {
        if dim <= STAYING {
            Slices {
                staying: groups(dim),
                stages: STAGES + 1,
                paired: true,
            }
        } else {
            Slices {
                staying: 0,
                stages: STAGES - 1,
                paired,
            }
        }
    }
    /// Vectors of a stage: groups of the rows of one side, or of both.
    fn stage(self) -> usize {
        let sides = if self.staying > 0 { 1 } else { 2 };
        sides * SLICE * TILE
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
    half: LowPrecision,
    (sides, first): ([&str; 2], &str),
    slices: &Slices,
) -> String {
    let [rows, columns] = slices.multiplied();
    let paired = if slices.paired { "_paired" } else { "" };
    let places = [
        ("COPY", copy(sides, slices)),
        ("FIRST_SUM", first.to_string()),
        ("STAGES", slices.stages.to_string()),
        ("WAIT", (slices.stages - 2).to_string()),
        ("GROUPS", groups(low.dim).to_string()),
        ("HALF", half.name().to_string()),
        ("PAIRED", paired.to_string()),
        ("ROWS", rows),
        ("COLUMNS", columns),
    ];
    fill(include_str!("../kernels/halves_loop.c"), &places)
}

/// Copies slice `k8` of the sides that do not stay into stage `into`, a group of a row each time.
fn copy(sides: [&str; 2], slices: &Slices) -> String {
    let (mut out, stage) = (String::new(), slices.stage());
    let moving = if slices.staying > 0 {
        &sides[1..]
    } else {
        &sides[..]
    };
    for (side, name) in moving.iter().enumerate() {
        for g in 0..SLICE {
            let _ = writeln!(
                out,
                "ZF_COPY16(&slices[into * {stage}u + {}u + (tid ^ {}u)], &{name}[{name}_rows + (size_t)((k8 + {g}u) * 128u + tid)]);",
                side * 512 + g * 128,
                g * 2
            );
        }
    }
    out
}

//! Family *values*: every number of the roots asked for, for all pairs of a rectangle.

use super::pair::{PairText, RootText, SHORT, pair_text};
use super::{fill, type_name};
use std::fmt::Write;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::{Job, PeriodicBox, Precision};
use zipfold_plan::device::Runtime;
use zipfold_plan::overrides::Residency;

/// Threads of a block.
pub const THREADS: u32 = 128;

/// Numbers of a packed row of side 0 (x) or 1 (y).
pub fn width(low: &Lowered, side: usize) -> usize {
    low.row_vectors[side].len() * low.dim + low.row_scalars[side].len()
}

/// Where kernels read packed rows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsFrom {
    /// Global memory, number after number.
    Columns,
    /// Global memory, four numbers of a row together.
    Fours,
    /// Registers.
    Registers,
}

impl RowsFrom {
    /// Registers for short rows.
    pub fn short(short: bool) -> Self {
        if short {
            RowsFrom::Registers
        } else {
            RowsFrom::Columns
        }
    }
    /// Number `w` of the row of side `x` or `y`.
    fn read(self, lower: char, w: &str) -> String {
        match self {
            RowsFrom::Columns => format!("{lower}[{lower}_at + ({w}) * (size_t)128]"),
            RowsFrom::Fours => format!("{lower}[{lower}_at + (({w}) / 4u * 512u + ({w}) % 4u)]"),
            RowsFrom::Registers => format!("{lower}r[{w}]"),
        }
    }
}

/// Macros that read packed rows of x and of y.
pub fn access(low: &Lowered, from: [RowsFrom; 2]) -> String {
    let mut out = format!(
        "#define DIM {}u\n#define CV(v, k) c[(v) * {}u + (k)]\n",
        low.dim, low.dim
    );
    for (side, (upper, lower)) in [('X', 'x'), ('Y', 'y')].into_iter().enumerate() {
        let row_scalars = low.row_vectors[side].len() * low.dim;
        let stream = from[side].read(lower, &format!("(s) * {}u + (k)", low.dim));
        let number = from[side].read(lower, &format!("{row_scalars}u + (a)"));
        let _ = write!(
            out,
            "#define {upper}S(s, k) {stream}\n#define {upper}A(a) {number}\n"
        );
    }
    out
}

/// Takes the macros back, so that many kernels fit one program.
pub const NO_ACCESS: &str = "#undef DIM\n#undef CV\n#undef XS\n#undef XA\n#undef YS\n#undef YA\n";

/// Statements that store the roots `wanted`, one part after another.
fn store(pair: &PairText, wanted: &[usize], low: &Lowered) -> String {
    let mut out = String::new();
    let mut part = 0;
    for root in wanted {
        match &pair.roots[*root] {
            RootText::Numbers(numbers) => {
                for n in numbers {
                    let _ = writeln!(out, "out[at + {part}u * part] = {n};");
                    part += 1;
                }
            }
            RootText::Components(body, value) => {
                let _ = write!(
                    out,
                    "{}{{\n{body}out[at + ({part}u + k) * part] = {value};\n}}\n",
                    pair.loop_head()
                );
                part += low.dim;
            }
        }
    }
    out
}

/// The kernel `name` (without the header) that computes the roots `wanted`.
pub fn kernel(
    name: &str,
    low: &Lowered,
    periodic_box: Option<&PeriodicBox>,
    precision: Precision,
    wanted: &[usize],
) -> String {
    let pair = pair_text(low, periodic_box, precision);
    let widths = [width(low, 0), width(low, 1)];
    let short = widths[1] <= SHORT * 2;
    let load = if short {
        let w = widths[1];
        format!(
            "{} yr[{}];\n    ZF_UNROLL for (zf_u32 w = 0; w < {w}u; w++) yr[w] = y[y_at + w * 128u];",
            type_name(precision),
            w.max(1)
        )
    } else {
        String::new()
    };
    let places = [
        ("NAME", name.to_string()),
        ("T", type_name(precision).to_string()),
        ("THREADS", THREADS.to_string()),
        ("XW", widths[0].to_string()),
        ("YW", widths[1].to_string()),
        ("YLOAD", load),
        ("PAIR", pair.whole()),
        ("STORE", store(&pair, wanted, low)),
    ];
    access(low, [RowsFrom::Columns, RowsFrom::short(short)])
        + &fill(include_str!("../kernels/values.c"), &places)
        + NO_ACCESS
}

/// The source of the kernel `zf_values` for all roots of `job`; `rows` says where they lie.
pub fn source(job: &Job, precision: Precision, runtime: Runtime, rows: Residency) -> String {
    let roots: Vec<usize> = (0..job.low.formula.roots.len()).collect();
    super::header(runtime)
        + &super::panels::panels(job, rows)
        + &kernel(
            "zf_values",
            &job.low,
            job.periodic_box.as_ref(),
            precision,
            &roots,
        )
}

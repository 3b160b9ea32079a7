//! What a fold adds to the kernel of dense tiles, and the queue of pairs that double precision
//! decides.

use super::fill;
use zipfold_core::pair::tree::Side;
use zipfold_plan::device::sweeps::Shape;

/// What a fold adds to the kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Epilogue {
    pub args: String,
    pub own: String,
    pub state: String,
    /// Tiles that are left out.
    pub skip: String,
    /// Times that the pairs of a tile are gone through.
    pub rounds: String,
    /// Pairs that are none of a round.
    pub elsewhere: String,
    pub open: String,
    /// For every row of a thread.
    pub line: String,
    pub absorb: String,
    pub after_line: String,
    pub settle: String,
    pub after: String,
    pub end: String,
}

/// Entries of the pairs that double precision decides, in the place of the slices when these are
/// worked off.
pub(super) const ENTRIES: &str =
    "ZF_SHARED_ARG zf_u16* queue = (ZF_SHARED_ARG zf_u16*)slices;\n    if (tid == 0u) fill = 0u;\n";

/// Declares a bit for every pair of a thread.
pub(super) fn marks(bits: &str) -> String {
    format!("zf_u32 {bits}[4]; ZF_UNROLL for (int w = 0; w < 4; w++) {bits}[w] = 0u;\n            ")
}

/// Sets the bit of a pair where `condition` holds.
pub(super) fn marked(bits: &str, condition: &str) -> String {
    format!("{bits}[p / 2] |= (zf_u32)({condition}) << (p % 2 * 16 + q);")
}

/// Enters the pairs of `bits` into the queue, with `mark` added.
pub(super) fn entered(bits: &str, mark: &str) -> String {
    fill(
        include_str!("../kernels/strip_marks.c"),
        &[("BITS", bits.to_string()), ("MARK", mark.to_string())],
    )
}

/// Empties the queue by all threads: `take` an entry's value `v`, then let `owners` of rows take
/// what came; new `limits` after it.
pub(super) fn emptied(shape: &Shape, sign: &str, take: &str, owners: &str, limits: &str) -> String {
    let (i, j) = if shape.anchor == Side::X {
        ("mine", "b")
    } else {
        ("b", "mine")
    };
    let places = [
        ("I", i.to_string()),
        ("J", j.to_string()),
        (
            "EXACT",
            format!("{sign}zf_exact(x_wide, y_wide, c_wide, i, j)"),
        ),
        ("TAKE", take.to_string()),
        ("OWNERS", owners.to_string()),
        ("LIMITS", limits.to_string()),
    ];
    fill(include_str!("../kernels/strip_queue.c"), &places)
}

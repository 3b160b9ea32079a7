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
    /// Before the pairs of a tile are gone through.
    pub first: String,
    /// The bits of pairs, cleared after the loop where a pair is none. Other folds test every pair.
    pub bits: &'static [&'static str],
    /// Clears the bits of pairs that are none of a round.
    pub of_round: String,
    pub open: String,
    /// For every row of a thread.
    pub line: String,
    /// Whether a pair may be open; pairs of a row without one are not gone through again.
    pub look: String,
    pub absorb: String,
    pub after_line: String,
    pub settle: String,
    pub after: String,
    pub end: String,
}

/// Entries of the pairs that double precision decides, in the shared memory of the fold.
pub(super) const ENTRIES: &str = "ZF_SHARED_ARG zf_u16* queue = (ZF_SHARED_ARG zf_u16*)scratch;\n    if (tid == 0u) fill = 0u;\n";

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

/// Pairs of several tiles that wait for double precision, at most: more than one for each thread, so
/// that a tile adds some while others wait.
const LATE: usize = 512;
/// Shared memory of the pairs that wait.
pub(super) fn waiting() -> String {
    format!("ZF_SHARED zf_u32 waits; ZF_SHARED zf_u32 late[{LATE}];")
}
/// Nothing waits at the start.
pub(super) const NONE_WAITS: &str = "if (tid == 0u) waits = 0u;\n    ";

/// What is done with pairs that double precision decides.
pub(super) struct Deciding<'t> {
    /// The bits of a tile's pairs.
    pub bits: &'t str,
    /// The sign of a value that a fold takes.
    pub sign: &'t str,
    /// Takes the value `v` of a pair: `row` is the anchor's number in its block, `b` the other.
    pub take: &'t str,
    /// Lets the owners of rows take what came.
    pub owners: &'t str,
    /// Makes new limits after that.
    pub limits: &'t str,
    /// When pairs do not wait for others.
    pub now: &'t str,
}

impl Deciding<'_> {
    fn flush(&self, shape: &Shape) -> String {
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
                format!("{}zf_exact(x_wide, y_wide, c_wide, i, j)", self.sign),
            ),
            ("TAKE", self.take.to_string()),
            ("OWNERS", self.owners.to_string()),
        ];
        fill(include_str!("../kernels/strip_flush.c"), &places)
    }
    /// After a tile.
    pub(super) fn settle(&self, shape: &Shape) -> String {
        let places = [
            ("BITS", self.bits.to_string()),
            ("LATE", LATE.to_string()),
            ("NOW", self.now.to_string()),
            ("FLUSH", self.flush(shape)),
            ("LIMITS", self.limits.to_string()),
        ];
        fill(include_str!("../kernels/strip_queue.c"), &places)
    }
    /// After the last tile: decides those that still wait.
    pub(super) fn end(&self, shape: &Shape) -> String {
        let flush = self.flush(shape);
        format!("ZF_BARRIER();\n    {{\n    const zf_u32 held = waits;\n{flush}    }}\n    ")
    }
}

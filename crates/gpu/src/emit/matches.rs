//! Predicates as epilogues of dense tiles: counts by row, rows that have a match, and the matches
//! of joins.

use super::epilogue::{Deciding, ENTRIES, Epilogue, NONE_WAITS, entered, marked, marks, waiting};
use super::fill;
use super::join::Truth;
use zipfold_core::pair::tree::Side;
use zipfold_plan::device::sweeps::Shape;

/// Declares whether the predicate of a pair surely holds, and whether it may.
fn told(truth: &Truth) -> String {
    format!(
        "const zf_u32 sure = {}, maybe = {};\n",
        truth.sure, truth.maybe
    )
}

/// Pairs of every anchor where the predicate holds, in `seen`; `end` takes them.
fn seen(shape: &Shape, truth: &Truth, args: &str, end: &str) -> Epilogue {
    let deciding = Deciding {
        bits: "odd",
        sign: "",
        take: "if (v != 0.0) ZF_ADD_SHARED(&seen[row], 1u);",
        owners: "",
        limits: "",
        now: "",
    };
    // Of the 16 pairs of each row of a thread.
    let counted = "ZF_UNROLL for (int p = 0; p < 8; p++) { const zf_u32 hits = (zf_u32)ZF_ONES((sure_of[p / 2] >> (p % 2 * 16)) & 0xffffu); \
                   if (hits != 0u) ZF_ADD_SHARED(&seen[ZF_ROW(p)], hits); }\n";
    Epilogue {
        args: args.into(),
        own: waiting() + " ZF_SHARED zf_u32 seen[128];",
        state: format!("{NONE_WAITS}seen[tid] = 0u;"),
        open: marks("odd") + &marks("sure_of"),
        bits: &["odd", "sure_of"],
        look: truth.maybe.clone(),
        absorb: format!(
            "{{ {}{} {} }}",
            told(truth),
            marked("sure_of", "sure"),
            marked("odd", "maybe & ~sure")
        ),
        settle: counted.to_string() + &deciding.settle(shape),
        end: deciding.end(shape) + &format!("ZF_BARRIER();\n    {end}"),
        ..Epilogue::default()
    }
}

/// How many pairs of every anchor hold.
pub(super) fn counts(shape: &Shape, truth: &Truth) -> Epilogue {
    let args = ", ZF_IN(double) weights, ZF_OUT(double) out, ZF_OUT(zf_u32) counts";
    let end = "if (a_mine < a1) { const size_t slot = (size_t)ZF_GROUP_Y * (a1 - a0) + (a_mine - a0); counts[slot] = seen[tid]; out[slot] = 0.0; }";
    seen(shape, truth, args, end)
}

/// Whether an anchor has a match.
pub(super) fn matched(shape: &Shape, truth: &Truth) -> Epilogue {
    seen(
        shape,
        truth,
        ", ZF_OUT(zf_u32) matched",
        "if (a_mine < a1 && seen[tid] != 0u) matched[a_mine - a0] = 1u;",
    )
}

/// Matches, to pages of `page` slots: a tile's go there whole, or the block notes the tile in
/// `resume` and ends.
pub(super) fn pairs(shape: &Shape, truth: &Truth, page: usize) -> Epilogue {
    let (i, j) = if shape.anchor == Side::X {
        ("mine", "b")
    } else {
        ("b", "mine")
    };
    let places = [
        ("I", i.to_string()),
        ("J", j.to_string()),
        ("PAGE", page.to_string()),
    ];
    Epilogue {
        args: super::join::PAGES.into(),
        own: "ZF_SHARED zf_u32 fill; ZF_SHARED zf_u32 total; ZF_SHARED zf_u32 page; ZF_SHARED zf_u32 used; ZF_SHARED zf_u32 slot;".into(),
        state: format!(
            "const zf_u32 block = ZF_GROUP_Y * ZF_GROUPS_X + ZF_GROUP_X, start = resume[block];\n    \
             if (start == 0xffffffffu) return;\n    {ENTRIES}    (void)values;\n    if (tid == 0u) {{ total = 0u; page = 0xffffffffu; used = {page}u; }}"
        ),
        skip: "base - from < start".into(),
        open: marks("hits") + &marks("odd"),
        bits: &["hits", "odd"],
        look: truth.maybe.clone(),
        absorb: marked("odd", &truth.maybe) + &marked("hits", &truth.sure),
        settle: "ZF_UNROLL for (int w = 0; w < 4; w++) odd[w] &= ~hits[w];\n".to_string()
            + "if (ZF_BARRIER_ANY((hits[0] | hits[1] | hits[2] | hits[3] | odd[0] | odd[1] | odd[2] | odd[3]) != 0u)) {\n"
            + &entered("hits", " + 0x8000u")
            + &entered("odd", "")
            + &fill(include_str!("../kernels/strip_pages.c"), &places)
            + "}\n",
        end: "ZF_BARRIER();\n    if (tid == 0u) { if (page != 0xffffffffu) fills[page] = used; resume[block] = 0xffffffffu; }".into(),
        ..Epilogue::default()
    }
}

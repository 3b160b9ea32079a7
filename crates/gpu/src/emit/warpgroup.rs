//! Writes the loop of products that four warps take together from shared memory.
//!
//! ```text
//! begin: barriers; the rows that stay are fetched whole; as many slices as there are stages
//! loop:  for each slice of a tile
//!            wait until it is there
//!            multiply it: the matrix units read both sides from shared memory
//!            wait for the products of the slice before; the next slice is fetched to its place
//!        wait for all products
//! ```
//!
//! Slices are fetched whole, by one thread and past the registers: packed rows lie as matrix units
//! take them. Where shared memory has room for what the fold keeps there, slices of the next tile
//! come while the fold takes the values of this one.

use super::fill;
use super::packing::{GROUP, SLICE, TILE, groups};
use std::fmt::Write;
use zipfold_core::pair::lower::Lowered;
use zipfold_plan::device::matrix::ProductShape;
use zipfold_plan::device::products::STAYING;
use zipfold_plan::low_precision::ProductType;

/// Bytes that a block requests at most, so that two fit a multiprocessor with what folds declare,
/// too.
const MOST: usize = 105 << 10;
/// Groups of a slice, and slices that shared memory holds: the best first.
const SHAPES: [(usize, usize); 4] = [(8, 4), (8, 3), (4, 4), (4, 3)];

/// The slices that shared memory holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchedSlices {
    /// Groups of a row.
    groups: usize,
    /// Whether the rows of a tile stay; only those of the others are fetched by slices then.
    staying: bool,
    /// Groups of a slice.
    step: usize,
    stages: usize,
    /// Bytes that a fold keeps there.
    scratch: usize,
    /// Whether slices of the next tile come early: the fold has a place of its own.
    ahead: bool,
}

/// Where the rows come from: names, the first row of the tile of each, and which tiles are left out.
pub(super) struct Sides<'t> {
    pub names: [&'t str; 2],
    /// The first row of the first side.
    pub first: &'t str,
    /// The first row of the second side.
    pub second: &'t str,
    /// Whether the tile of others from `base` on is left out, where others follow each other.
    pub skip: Option<&'t str>,
    /// Numbers of a row of others that are fetched with its first slice.
    pub numbers: usize,
}

impl FetchedSlices {
    /// Those of a matrix.
    pub(super) fn of_matrix(low: &Lowered, shape: &ProductShape) -> Self {
        FetchedSlices {
            groups: groups(low.dim, shape.input),
            staying: false,
            step: SLICE * shape.depth,
            stages: shape.stages,
            scratch: 0,
            ahead: false,
        }
    }
    /// Those of folds over rows of `dim` components, which keep `scratch` bytes in shared memory.
    pub(super) fn of_fold(dim: usize, input: ProductType, scratch: usize) -> Self {
        let shapes = [true, false].into_iter().flat_map(|ahead| {
            SHAPES.map(|(step, stages)| FetchedSlices {
                groups: groups(dim, input),
                staying: dim <= STAYING,
                step,
                stages,
                scratch,
                ahead,
            })
        });
        let least = FetchedSlices {
            groups: groups(dim, input),
            staying: dim <= STAYING,
            step: SLICE,
            stages: 2,
            scratch,
            ahead: false,
        };
        shapes
            .into_iter()
            .find(|slices| slices.step <= slices.groups && slices.bytes() <= MOST)
            .unwrap_or(least)
    }
    /// Vectors of one side of a slice.
    fn side(self) -> usize {
        self.step * TILE
    }
    /// Vectors of a stage.
    fn stage(self) -> usize {
        self.side() * if self.staying { 1 } else { 2 }
    }
    /// Where the rows that stay begin, in vectors.
    fn staying_at(self) -> usize {
        self.stages * self.stage()
    }
    /// Where the fold has its bytes, in vectors.
    pub(super) fn scratch_at(self) -> usize {
        match self.ahead {
            true => self.staying_at() + self.staying_vectors(),
            false => 0,
        }
    }
    fn staying_vectors(self) -> usize {
        if self.staying { self.groups * TILE } else { 0 }
    }
    /// Bytes of all.
    pub(super) fn bytes(self) -> usize {
        let slices = self.stages * self.stage() * GROUP;
        let slices = match self.ahead {
            true => slices + self.scratch,
            false => slices.max(self.scratch),
        };
        slices + self.staying_vectors() * GROUP
    }
    /// Slices of a row.
    fn many(self) -> usize {
        self.groups.div_ceil(self.step)
    }
    /// Groups of the last slice.
    fn last(self) -> usize {
        self.groups - (self.many() - 1) * self.step
    }
    /// A number that is another one for the last slice, which is told by `is_last`.
    fn number(self, is_last: &str, of: impl Fn(usize) -> usize) -> String {
        match (of(self.step), of(self.last())) {
            (whole, last) if whole == last => format!("{whole}u"),
            (whole, last) => format!("({is_last} ? {last}u : {whole}u)"),
        }
    }
    /// Tiles whose numbers shared memory holds: those of the slices that are fetched ahead, and the one
    /// that the fold takes.
    pub(super) fn ring(self) -> usize {
        self.stages + 1
    }
    /// What is awaited after the products of a tile, so that the fold has its bytes.
    pub(super) fn is_there(self) -> &'static str {
        if self.ahead { "" } else { "ZF_BARRIER();" }
    }
    /// Declares the barriers.
    pub(super) fn declared(self) -> String {
        format!(
            "ZF_SHARED zf_u64 full[{}]; ZF_SHARED zf_u64 empty[{}]; (void)full; (void)empty;",
            self.stages + 1,
            self.stages
        )
    }
    /// Leaves the kernel before its end: slices that were fetched arrive first.
    pub(super) fn leave(self) -> String {
        let stages = self.stages;
        format!(
            "{{\n#if defined(ZF_WARPGROUP)\n    if (tid == 0u) for (; taken != fetched; taken++) zf_await(&full[taken % {stages}u], taken / {stages}u & 1u);\n#endif\n    return; }}"
        )
    }
    /// Fetches the next slice.
    fn fetch(self, sides: &Sides<'_>) -> String {
        let [anchors, others] = sides.names;
        let is_last = format!("slice == {}u", self.many() - 1);
        let both = if self.staying { 1 } else { 2 };
        let bytes = |of: usize| of * TILE * GROUP;
        let of_anchors = if self.staying {
            String::new()
        } else {
            format!(
                "zf_fetch(&slices[s * {}u], &{anchors}[{anchors}_rows + slice * {}u], {}, &full[s]);",
                self.stage(),
                self.side(),
                self.number(&is_last, bytes)
            )
        };
        let advance = match sides.skip {
            Some(skip) if self.ahead => format!(
                "if (slice == {}u) {{ slice = 0u; {} }}",
                self.many(),
                next(skip)
            ),
            Some(_) | None => String::new(),
        };
        let width = sides.numbers * TILE;
        let slices = self.number(&is_last, |of| both * bytes(of));
        let (bytes_of_all, numbers) = match width {
            0 => (slices, String::new()),
            _ => (
                format!("{slices} + (slice == 0u ? {}u : 0u)", width * 4),
                format!(
                    "if (slice == 0u) {{ zf_fetch(&other_numbers[ring_next * {width}u], &{others}_numbers[(size_t)ZF_PANEL_{}(next) * {width}u], {}u, &full[s]); \
                     ring_next = ring_next == {}u ? 0u : ring_next + 1u; }}",
                    others.to_uppercase(),
                    width * 4,
                    self.stages
                ),
            ),
        };
        let places = [
            ("STAGES", self.stages.to_string()),
            ("BYTES", bytes_of_all),
            ("FETCH_NUMBERS", numbers),
            ("SIDE", self.number(&is_last, bytes)),
            ("STAGE", self.stage().to_string()),
            (
                "OTHERS_AT",
                (if self.staying { 0 } else { self.side() }).to_string(),
            ),
            ("B", others.into()),
            ("PB", others.to_uppercase()),
            ("GROUPS", self.groups.to_string()),
            ("STEP", self.step.to_string()),
            ("FETCH_ANCHORS", of_anchors),
            ("ADVANCE", advance),
        ];
        fill(include_str!("../kernels/warpgroup_fetch.c"), &places)
    }
    /// Returns what comes before the first tile.
    pub(super) fn begin(self, sides: &Sides<'_>) -> String {
        let anchors = sides.names[0];
        let name = anchors.to_string();
        let (stay, slowly) = match self.staying {
            true => (
                fill(
                    include_str!("../kernels/warpgroup_stay.c"),
                    &[("STAYING_AT", self.staying_at().to_string())],
                ),
                format!(
                    "    for (zf_u32 g = 0u; g < {}u; g++) slices[{}u + g * 128u + tid] = {name}[{name}_rows + g * 128u + tid];",
                    self.groups,
                    self.staying_at()
                ),
            ),
            false => (String::new(), String::new()),
        };
        let ahead = match (self.ahead, sides.skip) {
            (true, Some(skip)) => format!(
                "    if (tid == 0u) {{\n        {}\n        for (zf_u32 n = 0u; n < {}u && next < to; n++)\n{}    }}",
                next(skip),
                self.stages,
                self.fetch(sides)
            ),
            _ => String::new(),
        };
        let places = [
            ("STAY_SLOWLY", slowly),
            ("STAY", stay),
            ("START_AHEAD", ahead),
            (
                "HOW",
                (if self.ahead {
                    ", over the end of a tile"
                } else {
                    ""
                })
                .into(),
            ),
            (
                "NEXT",
                (if self.ahead { "from - 128u" } else { "0u" }).into(),
            ),
            ("LAST_RING", self.stages.to_string()),
            ("FIRST_ROW", sides.first.into()),
            ("A", name),
            ("PA", anchors.to_uppercase()),
            ("GROUPS", self.groups.to_string()),
            ("STEP", self.step.to_string()),
            ("STAGES", self.stages.to_string()),
        ];
        fill(include_str!("../kernels/warpgroup_begin.c"), &places)
    }
    /// The loop that adds the products of a tile to `sum`, which begins as `first`.
    /// `starts` finds numbers that sums begin with.
    pub(super) fn products(
        self,
        input: ProductType,
        sides: &Sides<'_>,
        (first, starts): (&str, &str),
    ) -> String {
        let fetch = self.fetch(sides);
        let start = format!(
            "    zf_written();\n    ZF_BARRIER();\n    if (tid == 0u) {{\n        next = {};\n        slice = 0u;\n        for (zf_u32 n = 0u; n < {}u; n++)\n{fetch}    }}",
            sides.second,
            self.stages.min(self.many())
        );
        let (start, more, after) = match self.ahead {
            true => (
                String::new(),
                "next < to".to_string(),
                format!("    if (tid == 0u && next < to)\n{fetch}"),
            ),
            false => (start, format!("slice < {}u", self.many()), String::new()),
        };
        let x = match self.staying {
            true => format!("&slices[{}u + k * {}u]", self.staying_at(), self.side()),
            false => format!("&slices[stage * {}u]", self.stage()),
        };
        let y = format!(
            "&slices[stage * {}u + {}u]",
            self.stage(),
            if self.staying { 0 } else { self.side() }
        );
        let is_last = format!("k == {}u", self.many() - 1);
        let one = |groups: &str, more: &str| {
            format!(
                "zf_group_multiply_{}({x}, {y}, {groups}{more}, sum);",
                input.name()
            )
        };
        // Each number of groups has code of its own: products are unrolled.
        let [whole, last] = [self.step, self.last()].map(|groups| one(&format!("{groups}u"), ""));
        let multiply = match self.last() == self.step {
            true => whole,
            false => format!("if ({is_last}) {{ {last} }} else {{ {whole} }}"),
        };
        let slowly = one(&self.number(&is_last, |of| of), ", down, group, lane");
        let places = [
            ("MULTIPLY_SLOWLY", slowly),
            ("MULTIPLY", multiply),
            ("COPY", self.copied_slowly(sides)),
            ("START_HERE", start),
            ("MORE", more),
            ("FETCH", fetch),
            ("AFTER_LAST", after),
            ("STARTS", starts.into()),
            ("NUMBERS_SLOWLY", numbers_slowly(sides)),
            ("LAST_RING", self.stages.to_string()),
            ("FIRST_SUM", first.into()),
            ("SLICES", self.many().to_string()),
            ("STAGES", self.stages.to_string()),
            ("STEP", self.number(&is_last, |of| of)),
        ];
        fill(include_str!("../kernels/warpgroup_loop.c"), &places)
    }
    /// Copies group `g` of slice `k`, by all threads.
    fn copied_slowly(self, sides: &Sides<'_>) -> String {
        let [anchors, others] = sides.names;
        let (upper, groups, step) = (others.to_uppercase(), self.groups, self.step);
        let mut out = String::new();
        if !self.staying {
            let _ = writeln!(
                out,
                "            slices[g * 128u + tid] = {anchors}[{anchors}_rows + (k * {step}u + g) * 128u + tid];"
            );
        }
        let at = if self.staying { 0 } else { self.side() };
        let _ = write!(
            out,
            "            slices[{at}u + g * 128u + tid] = {others}[((size_t)ZF_PANEL_{upper}({}) * {groups}u + k * {step}u + g) * 128u + tid];",
            sides.second
        );
        out
    }
}

/// Copies the numbers of the others of a tile, by all threads.
fn numbers_slowly(sides: &Sides<'_>) -> String {
    let (others, width) = (sides.names[1], sides.numbers * TILE);
    let upper = others.to_uppercase();
    let one = |at: usize| {
        format!(
            "    other_numbers[ring * {width}u + {at}u + tid] = {others}_numbers[(size_t)ZF_PANEL_{upper}({}) * {width}u + {at}u + tid];\n",
            sides.second
        )
    };
    (0..sides.numbers).map(|n| one(n * TILE)).collect()
}

/// Moves `next` to the next tile of others that is not left out.
fn next(skip: &str) -> String {
    format!(
        "for (;;) {{ next += 128u; if (next >= to) break; const zf_u32 base = next, end = (to - base < 128u ? to - base : 128u) + base - 1u; (void)end; if (!({skip})) break; }}"
    )
}

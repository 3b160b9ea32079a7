//! The choices of a plan that can be made by hand, as a list for people. The planner's own tables decide what is known; a
//! test holds the two to each other.

/// A plan choice: `--set key=value`.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key.
    pub key: &'static str,
    /// The values it takes.
    pub values: &'static str,
    /// What it decides.
    pub about: &'static str,
}

const fn of(key: &'static str, values: &'static str, about: &'static str) -> Setting {
    Setting { key, values, about }
}

/// Every plan choice: first those of any machine, then those of devices.
pub const ALL: &[Setting] = &[
    of("prune", "auto, on, off", "whether bounds leave out pairs that cannot matter"),
    of(
        "mesh",
        "auto, off, 1 to 64",
        "cells of the mesh of a short histogram, to its last edge; off: no grid of cells either",
    ),
    of("family", "points, screen, dense, jit, vm", "which kernels compute the pairs"),
    of("isa", "plain, avx2, avx512, neon", "the instruction set, up to what the machine has"),
    of("tile.rows", "a number", "rows of a tile"),
    of("tile.cols", "a number", "columns of a tile"),
    of("order", "row, snake, hilbert", "the order of blocks within a tile"),
    of("unit", "a number", "tiles that a thread takes at a time"),
    of("device.tile", "a number", "rows and columns of a device's tile"),
    of("device.family", "values, cells", "kernels of a device that give values to the host, or fold cell by cell"),
    of("device.rows", "held, streamed", "rows lie on the device, or come tile by tile"),
    of("device.memory", "bytes", "take the device to have no more memory than this"),
    of("device.launches", "a number", "lose the device after so many launches (for tests)"),
    of("device.driver", "a name", "take this driver library"),
    of("points.anchors", "1 to 8", "rows that a thread of a device keeps"),
    of("points.blocks", "1 to 16", "blocks of threads a processor of a device"),
    of("points.unroll", "1 to 16", "columns taken at a time by a sweep"),
    of("points.input", "panel, cache, both, shuffle", "from where a sweep takes its columns"),
    of("hist.copies", "0 to 32", "copies of a histogram in shared memory"),
    of("bins", "fast", "bins of a device by one multiplication where that is exact enough"),
    of("filter", "off", "decide everything in double precision on a device"),
    of("fold.tiles", "dense, sweep", "folds of wide rows from dense tiles, or by a sweep"),
    of("tile.map", "rb, bb, ltm, utm, rec", "how blocks of threads are laid over a triangle"),
    of("tile.root", "sqrt, newton, reciprocal, table", "the root that the map of a triangle takes"),
    of("tile.by", "block, thread", "a triangle by blocks of threads or by threads"),
    of("tile.diagonal", "plain, balanced", "how the diagonal of a half space is shared out"),
    of("load.vector", "1, 2, 4", "numbers that a device loads at a time"),
    of("select.output", "pages, count", "matches go to pages at once, or are counted first"),
    of("dense.input", "f32, f16, bf16", "the type in which matrix units take rows; f16 and bf16 round them"),
    of("dense.slice", "1 to 32", "components of a slice of a dense kernel"),
    of("dense.blocks", "1 to 4", "blocks of a dense kernel on a processor"),
    of("dense.stages", "0 to 4", "slices copied ahead by a dense kernel"),
    of("dense.across", "8, 16", "columns of a thread's tile in a dense kernel"),
    of("dense.unroll", "1 to 32", "components taken at a time by a dense kernel"),
];

#[cfg(test)]
mod tests {
    use super::ALL;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_holds_what_the_planner_knows() {
        let listed: BTreeSet<&str> = ALL.iter().map(|s| s.key).collect();
        let known: BTreeSet<&str> = crate::choose::KEYS.iter().chain(&crate::device::KEYS).copied().collect();
        assert_eq!(listed.len(), ALL.len(), "a choice is listed twice");
        assert_eq!(listed, known);
    }
}

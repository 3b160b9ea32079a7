//! Tiles of the kernel that joins two tables in registers.

use zipfold_core::Precision;

/// A tile of rows and columns, and how threads share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tile {
    pub rows: usize,
    pub columns: usize,
    /// Rows of one thread.
    pub tall: usize,
    /// Columns of one thread.
    pub wide: usize,
    /// Values of the folded index that are fetched at a time.
    pub step: usize,
}

impl Tile {
    /// Threads of a thread block.
    pub(crate) fn threads(self) -> usize {
        self.rows * self.columns / (self.tall * self.wide)
    }
    /// Registers of a thread, as the compiler takes them.
    pub(crate) fn registers(self, precision: Precision) -> usize {
        match (self.tall * self.wide, precision) {
            (..=8, _) | (..=16, Precision::F32) => 64,
            (..=16, Precision::F64) => 90,
            _ => 128,
        }
    }
}

/// The tiles, for single and for double precision.
pub(crate) const TILES: [[Tile; 3]; 2] = [
    [
        Tile {
            rows: 128,
            columns: 128,
            tall: 8,
            wide: 8,
            step: 8,
        },
        Tile {
            rows: 64,
            columns: 64,
            tall: 4,
            wide: 4,
            step: 8,
        },
        Tile {
            rows: 16,
            columns: 256,
            tall: 4,
            wide: 4,
            step: 16,
        },
    ],
    [
        Tile {
            rows: 64,
            columns: 128,
            tall: 8,
            wide: 4,
            step: 8,
        },
        Tile {
            rows: 64,
            columns: 64,
            tall: 4,
            wide: 4,
            step: 8,
        },
        Tile {
            rows: 16,
            columns: 128,
            tall: 4,
            wide: 2,
            step: 16,
        },
    ],
];

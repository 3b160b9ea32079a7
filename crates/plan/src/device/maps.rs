//! How the blocks (or threads) of a grid become places of a triangle.
//!
//! A launch is a rectangle, and a triangular domain is half of one: with the identity map half of
//! the blocks do nothing. The maps here are those of Navarro and Hitschfeld (2013), compared on the
//! tiles of a diagonal.
//!
//! ```text
//! n = 4, 10 tiles          bounding box: 16 blocks, 6 idle
//!                          rectangular box (n even): n/2 × (n + 1) = 2 × 5 = 10 blocks, none idle
//! ```

pub use crate::overrides::Root;
use crate::overrides::{Overrides, Placed, TriangleMap};
use zipfold_core::{Error, Opt, Result};

/// A map from blocks of a grid to tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    /// All tiles of a rectangle.
    Cross,
    /// Bounding box: all tiles of the square, those above the diagonal end at once.
    Bb,
    /// Lower triangular map with a square root, on a balanced grid.
    Ltm(Root),
    /// Upper triangular map: the same count by columns from the other end.
    Utm,
    /// Rectangular box: the part above the diagonal turned into the place below.
    Rb,
    /// Recursive: one launch a level of squares, and one for the diagonal.
    Rec,
}

/// A map, and what it places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placing {
    /// The map.
    pub map: Map,
    /// Whether threads find a pair each; otherwise blocks find a tile each.
    pub by_thread: bool,
}

/// Side of a block of threads that find their pairs themselves.
pub const SIDE: u32 = 16;

impl Placing {
    /// The map of whole rectangles.
    pub const CROSS: Placing = Placing {
        map: Map::Cross,
        by_thread: false,
    };

    /// Returns the placing of a triangle that `overrides` request; else blocks by the map of a
    /// rectangular box.
    ///
    /// # Errors
    /// `Request` for what does not go together.
    pub fn triangle(overrides: &Overrides) -> Result<Self> {
        let map = match overrides.tile_map.unwrap_or(TriangleMap::Rb) {
            TriangleMap::Bb => Map::Bb,
            TriangleMap::Ltm => Map::Ltm(overrides.tile_root.unwrap_or(Root::Sqrt)),
            TriangleMap::Utm => Map::Utm,
            TriangleMap::Rb => Map::Rb,
            TriangleMap::Rec => Map::Rec,
        };
        let by_thread = overrides.tile_by == Some(Placed::Thread);
        if by_thread && matches!(map, Map::Rec | Map::Ltm(Root::Table)) {
            let e = Error::request("this triangle map places blocks of threads, not threads")
                .at_place(Opt::Set.like("tile.by"));
            return Err(e.remedy("block; by thread: bb, utm, rb, or ltm without a table"));
        }
        Ok(Placing { map, by_thread })
    }
    /// Returns the grids `(x, y, launch)` of blocks that cover a triangle of `n` rows, diagonal
    /// included.
    pub fn grids(self, n: u32) -> Vec<(u32, u32, u32)> {
        let grids = self.map.grids(n);
        if !self.by_thread {
            return grids;
        }
        grids
            .into_iter()
            .map(|(x, y, launch)| (x.div_ceil(SIDE), y.div_ceil(SIDE), launch))
            .collect()
    }
}

impl Map {
    /// The name that `--set tile.map` takes.
    pub fn name(self) -> &'static str {
        match self {
            Map::Cross => "cross",
            Map::Bb => "bb",
            Map::Ltm(_) => "ltm",
            Map::Utm => "utm",
            Map::Rb => "rb",
            Map::Rec => "rec",
        }
    }
    /// Grids `(x, y, launch)` that cover a triangle of `n` rows, diagonal included.
    pub fn grids(self, n: u32) -> Vec<(u32, u32, u32)> {
        let total = u64::from(n) * (u64::from(n) + 1) / 2;
        match self {
            Map::Cross | Map::Bb => vec![(n, n, 0)],
            Map::Ltm(_) | Map::Utm => {
                let side = (total as f64).sqrt().ceil() as u32;
                vec![(side, (total.div_ceil(u64::from(side.max(1)))) as u32, 0)]
            }
            Map::Rb => vec![if n.is_multiple_of(2) {
                (n / 2, n + 1, 0)
            } else {
                (n.div_ceil(2), n, 0)
            }],
            Map::Rec => {
                let mut out = vec![(n, 1, 0)];
                let mut side = 1;
                while side < n {
                    out.push((n.div_ceil(2 * side) * side, side, side.trailing_zeros() + 1));
                    side *= 2;
                }
                out
            }
        }
    }
}

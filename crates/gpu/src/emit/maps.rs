//! How the blocks, or the threads, of a grid become places of a space: the maps of the triangle paper as text for kernels.
//! Their twins in `twin::maps` compute the same.

use zipfold_core::{Error, Result};
use zipfold_plan::Plan;
pub use zipfold_plan::overrides::Root;
use zipfold_plan::overrides::{Placed, TriangleMap};

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
    /// Threads find a cell each; otherwise blocks find a tile each.
    pub by_thread: bool,
}

/// Side of a block of threads that find their cells themselves.
pub const SIDE: u32 = 16;

impl Placing {
    /// The map of whole rectangles.
    pub const CROSS: Placing = Placing { map: Map::Cross, by_thread: false };

    /// The choices `tile.map`, `tile.root` and `tile.by` of `plan`.
    ///
    /// # Errors
    /// `Request` for what does not go together.
    pub fn of(plan: &Plan) -> Result<Self> {
        let choices = &plan.choices;
        let map = match choices.tile_map.unwrap_or(TriangleMap::Rb) {
            TriangleMap::Bb => Map::Bb,
            TriangleMap::Ltm => Map::Ltm(choices.tile_root.unwrap_or(Root::Sqrt)),
            TriangleMap::Utm => Map::Utm,
            TriangleMap::Rb => Map::Rb,
            TriangleMap::Rec => Map::Rec,
        };
        let by_thread = choices.tile_by == Some(Placed::Thread);
        if by_thread && matches!(map, Map::Rec | Map::Ltm(Root::Table)) {
            let e = Error::request("this triangle map places blocks of threads, not threads").at("--set tile.by");
            return Err(e.remedy("block; by thread: bb, utm, rb, or ltm without a table"));
        }
        Ok(Placing { map, by_thread })
    }
    /// Statements that set `block_i` ≤ `block_j` (upper triangle) from the place of the block or thread, or end it.
    /// `across` is the number of rows of tiles or cells, `launch` the level of a recursive map.
    pub fn text(self) -> String {
        if self.by_thread {
            let side = format!("{SIDE}u");
            let own = |group: &str, thread: &str| format!("({group} * {side} + {thread})");
            let x = own("ZF_GROUP_X", &format!("ZF_TID % {side}"));
            let y = own("ZF_GROUP_Y", &format!("ZF_TID / {side}"));
            return self.map.text([&x, &y, &format!("(ZF_GROUPS_X * {side})")]);
        }
        self.map.text(["ZF_GROUP_X", "ZF_GROUP_Y", "ZF_GROUPS_X"])
    }
    /// Grids `(x, y, launch)` of blocks that cover a triangle of `n` rows, diagonal included.
    pub fn grids(self, n: u32) -> Vec<(u32, u32, u32)> {
        let grids = self.map.grids(n);
        if !self.by_thread {
            return grids;
        }
        grids.into_iter().map(|(x, y, launch)| (x.div_ceil(SIDE), y.div_ceil(SIDE), launch)).collect()
    }
}

impl Map {
    fn text(self, [x, y, xs]: [&str; 3]) -> String {
        let lambda = format!(
            "const zf_u64 lambda = (zf_u64){y} * {xs} + {x}, n = across;\n\
             if (lambda >= n * (n + 1u) / 2u) return;\n"
        );
        let set = match self {
            Map::Cross => return format!("block_i = {y}; block_j = {x};"),
            Map::Bb => format!("const zf_u32 a = {y}, b = {x}; if (b > a || a >= across) return;"),
            Map::Ltm(root) => lambda + &root_text(root) + "const zf_u64 b = lambda - a * (a + 1u) / 2u;",
            Map::Utm => {
                lambda
                    + "const double edge = 2.0 * (double)n + 1.0;\n\
                 zf_u64 b = (zf_u64)((edge - zf_sqrt_d(edge * edge - 8.0 * (double)lambda)) * 0.5);\n\
                 while (b > 0u && b * (2u * n - b + 1u) / 2u > lambda) b--;\n\
                 while ((b + 1u) * (2u * n - b) / 2u <= lambda) b++;\n\
                 const zf_u64 a = b + lambda - b * (2u * n - b + 1u) / 2u;"
            }
            Map::Rb => format!(
                "const zf_u32 u = {x}, v = {y}, odd = across % 2u;\n\
                 if (u >= (across + odd) / 2u || v >= across + 1u - odd) return;\n\
                 const int below = odd ? v >= u : v > u;\n\
                 const zf_u32 a = below ? (odd ? v : v - 1u) : across - 1u - v;\n\
                 const zf_u32 b = below ? u : (odd ? across - u : across - 1u - u);"
            ),
            Map::Rec => format!(
                "const zf_u32 side = launch == 0u ? 1u : 1u << (launch - 1u);\n\
                 const zf_u32 square = {x} / side;\n\
                 const zf_u32 a = launch == 0u ? {x} : square * 2u * side + side + {y};\n\
                 const zf_u32 b = launch == 0u ? {x} : square * 2u * side + {x} % side;\n\
                 if (a >= across) return;"
            ),
        };
        format!("{set}\n        block_i = (zf_u32)b; block_j = (zf_u32)a;")
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
            Map::Rb => vec![if n.is_multiple_of(2) { (n / 2, n + 1, 0) } else { (n.div_ceil(2), n, 0) }],
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

/// Goes from a guess to the row `a` with a(a + 1)/2 ≤ λ < (a + 1)(a + 2)/2.
const CORRECT: &str = "while (a * (a + 1u) / 2u > lambda) a--;\n\
     while ((a + 1u) * (a + 2u) / 2u <= lambda) a++;\n";

/// Statements that set the row `a` of `lambda`.
fn root_text(root: Root) -> String {
    let by_reciprocal = |r: &str| {
        format!(
            "const float under = 8.0f * (float)lambda + 1.0f;\n{r}\n\
                 const float guess = (under * r - 1.0f) * 0.5f;\nzf_u64 a = guess > 0.0f ? (zf_u64)guess : 0u;\n{CORRECT}"
        )
    };
    match root {
        Root::Sqrt => {
            format!("zf_u64 a = (zf_u64)((zf_sqrt_d(8.0 * (double)lambda + 1.0) - 1.0) * 0.5);\n{CORRECT}")
        }
        Root::Newton => by_reciprocal(
            "float r = zf_of_bits_f(0x5f3759dfu - (zf_bits_f(under) >> 1));\n\
                 for (int step = 0; step < 3; step++) r = r * (1.5f - 0.5f * under * r * r);",
        ),
        Root::Reciprocal => by_reciprocal("const float r = zf_rsqrt_fast(under);"),
        Root::Table => "const zf_u64 a = table[lambda];\n".into(),
    }
}

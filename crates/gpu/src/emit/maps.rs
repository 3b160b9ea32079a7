//! How the blocks of a grid become tiles of a space: the maps of the triangle paper as text for kernels. Their twins in
//! `twin::maps` compute the same.

use zipfold_core::{Error, Result};

/// A map from blocks of a grid to tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    /// All tiles of a rectangle.
    Cross,
    /// Bounding box: all tiles of the square, those above the diagonal end at once.
    Bb,
    /// Lower triangular map with the square root.
    Ltm,
    /// Upper triangular map: the same count by columns from the other end.
    Utm,
    /// Rectangular box: the part above the diagonal turned into the place below.
    Rb,
    /// Recursive: one launch a level of squares, and one for the diagonal.
    Rec,
}

impl Map {
    /// Reads the value of `--set tile.map`.
    ///
    /// # Errors
    /// `Request` for other texts.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "bb" => Ok(Map::Bb),
            "ltm" => Ok(Map::Ltm),
            "utm" => Ok(Map::Utm),
            "rb" => Ok(Map::Rb),
            "rec" => Ok(Map::Rec),
            _ => Err(Error::request(format!("no triangle map '{text}'"))
                .at("--set tile.map")
                .remedy("bb, ltm, utm, rb or rec")),
        }
    }
    /// Statements that set `block_i` ≤ `block_j` (upper triangle) from the block's place, or end the block.
    /// `across` is the number of block rows, `launch` the level of a recursive map.
    pub fn text(self) -> String {
        let set = match self {
            Map::Cross => return "block_i = ZF_GROUP_Y; block_j = ZF_GROUP_X;".into(),
            Map::Bb => "const zf_u32 a = ZF_GROUP_Y, b = ZF_GROUP_X; if (b > a) return;",
            Map::Ltm => {
                "const zf_u64 lambda = (zf_u64)ZF_GROUP_Y * ZF_GROUPS_X + ZF_GROUP_X;\n\
                 if (lambda >= (zf_u64)across * (across + 1u) / 2u) return;\n\
                 zf_u64 a = (zf_u64)((zf_sqrt_d(8.0 * (double)lambda + 1.0) - 1.0) * 0.5);\n\
                 while (a * (a + 1u) / 2u > lambda) a--;\n\
                 while ((a + 1u) * (a + 2u) / 2u <= lambda) a++;\n\
                 const zf_u64 b = lambda - a * (a + 1u) / 2u;"
            }
            Map::Utm => {
                "const zf_u64 lambda = (zf_u64)ZF_GROUP_Y * ZF_GROUPS_X + ZF_GROUP_X, n = across;\n\
                 if (lambda >= n * (n + 1u) / 2u) return;\n\
                 const double edge = 2.0 * (double)n + 1.0;\n\
                 zf_u64 b = (zf_u64)((edge - zf_sqrt_d(edge * edge - 8.0 * (double)lambda)) * 0.5);\n\
                 while (b > 0u && b * (2u * n - b + 1u) / 2u > lambda) b--;\n\
                 while ((b + 1u) * (2u * n - b) / 2u <= lambda) b++;\n\
                 const zf_u64 a = b + lambda - b * (2u * n - b + 1u) / 2u;"
            }
            Map::Rb => {
                "const zf_u32 u = ZF_GROUP_X, v = ZF_GROUP_Y, odd = across % 2u;\n\
                 const int below = odd ? v >= u : v > u;\n\
                 const zf_u32 a = below ? (odd ? v : v - 1u) : across - 1u - v;\n\
                 const zf_u32 b = below ? u : (odd ? across - u : across - 1u - u);"
            }
            Map::Rec => {
                "const zf_u32 side = launch == 0u ? 1u : 1u << (launch - 1u);\n\
                 const zf_u32 square = ZF_GROUP_X / side;\n\
                 const zf_u32 a = launch == 0u ? ZF_GROUP_X : square * 2u * side + side + ZF_GROUP_Y;\n\
                 const zf_u32 b = launch == 0u ? ZF_GROUP_X : square * 2u * side + ZF_GROUP_X % side;\n\
                 if (a >= across) return;"
            }
        };
        format!("{set}\n        block_i = (zf_u32)b; block_j = (zf_u32)a;")
    }
    /// Grids `(x, y, launch)` that cover a triangle of `n` block rows, diagonal included.
    pub fn grids(self, n: u32) -> Vec<(u32, u32, u32)> {
        let total = u64::from(n) * (u64::from(n) + 1) / 2;
        match self {
            Map::Cross | Map::Bb => vec![(n, n, 0)],
            Map::Ltm | Map::Utm => {
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

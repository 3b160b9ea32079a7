//! The maps of triangles as text for kernels. Their twins in `twin::maps` compute the same.

pub use zipfold_plan::device::maps::{Map, Placing, Root, SIDE};

/// Statements that set `block_i` ≤ `block_j` (upper triangle) from the place of the block or
/// thread, or end it. `across` is the number of rows of tiles or pairs, `launch` the level of a
/// recursive map.
pub fn text(placing: Placing) -> String {
    if placing.by_thread {
        let side = format!("{SIDE}u");
        let own = |group: &str, thread: &str| format!("({group} * {side} + {thread})");
        let x = own("ZF_GROUP_X", &format!("ZF_TID % {side}"));
        let y = own("ZF_GROUP_Y", &format!("ZF_TID / {side}"));
        return map_text(placing.map, [&x, &y, &format!("(ZF_GROUPS_X * {side})")]);
    }
    map_text(placing.map, ["ZF_GROUP_X", "ZF_GROUP_Y", "ZF_GROUPS_X"])
}

fn map_text(map: Map, [x, y, xs]: [&str; 3]) -> String {
    let lambda = format!(
        "const zf_u64 lambda = (zf_u64){y} * {xs} + {x}, n = across;\n\
             if (lambda >= n * (n + 1u) / 2u) return;\n"
    );
    let set = match map {
        Map::Cross => return format!("block_i = {y}; block_j = {x};"),
        Map::Bb => format!("const zf_u32 a = {y}, b = {x}; if (b > a || a >= across) return;"),
        Map::Ltm(root) => {
            lambda + &root_text(root) + "const zf_u64 b = lambda - a * (a + 1u) / 2u;"
        }
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
            format!(
                "zf_u64 a = (zf_u64)((zf_sqrt_d(8.0 * (double)lambda + 1.0) - 1.0) * 0.5);\n{CORRECT}"
            )
        }
        Root::Newton => by_reciprocal(
            "float r = zf_of_bits_f(0x5f3759dfu - (zf_bits_f(under) >> 1));\n\
                 for (int step = 0; step < 3; step++) r = r * (1.5f - 0.5f * under * r * r);",
        ),
        Root::Reciprocal => by_reciprocal("const float r = zf_rsqrt_fast(under);"),
        Root::Table => "const zf_u64 a = table[lambda];\n".into(),
    }
}

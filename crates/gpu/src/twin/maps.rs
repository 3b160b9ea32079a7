//! Triangle maps (Navarro & Hitschfeld 2013, sections 3–4), made exact in integers. The lower triangle has a ≥ b.
//!
//! Printed errors corrected: the strict form of LTM needs j = λ − i(i−1)/2, and the column of RB drops the thread's offset.

use crate::emit::maps::Map;

/// Tile (a, b), a ≥ b, of block (x, y) of grid `launch` of `grid_x` blocks across; none where the block is wasted.
pub fn tile(map: Map, n: u64, x: u64, y: u64, grid_x: u64, launch: u32) -> Option<(u64, u64)> {
    match map {
        Map::Cross => Some((x, y)),
        Map::Bb => (x <= y).then_some((y, x)),
        Map::Ltm => ltm(n, y * grid_x + x),
        Map::Utm => utm(n, y * grid_x + x),
        Map::Rb => Some(rb(n, x, y)),
        Map::Rec => rec(n, x, y, launch),
    }
}

/// λ to the lower triangle row by row: a = ⌊(√(8λ + 1) − 1) / 2⌋, corrected where the root rounds.
pub fn ltm(n: u64, lambda: u64) -> Option<(u64, u64)> {
    if lambda >= n * (n + 1) / 2 {
        return None;
    }
    let mut a = (((8.0 * lambda as f64 + 1.0).sqrt() - 1.0) * 0.5) as u64;
    while a * (a + 1) / 2 > lambda {
        a -= 1;
    }
    while (a + 1) * (a + 2) / 2 <= lambda {
        a += 1;
    }
    Some((a, lambda - a * (a + 1) / 2))
}

/// λ to the triangle column by column (Avril, Gouranton & Arnaldi 2012), corrected where the root rounds.
pub fn utm(n: u64, lambda: u64) -> Option<(u64, u64)> {
    if lambda >= n * (n + 1) / 2 {
        return None;
    }
    let edge = 2.0 * n as f64 + 1.0;
    let mut b = ((edge - (edge * edge - 8.0 * lambda as f64).sqrt()) * 0.5) as u64;
    let before = |b: u64| b * (2 * n - b + 1) / 2;
    while b > 0 && before(b) > lambda {
        b -= 1;
    }
    while (b + 1) * (2 * n - b) / 2 <= lambda {
        b += 1;
    }
    Some((b + lambda - before(b), b))
}

/// The rectangle of ⌈n/2⌉ × n (n + 1 where n is even): what lies above its diagonal is turned around.
pub fn rb(n: u64, x: u64, y: u64) -> (u64, u64) {
    let odd = n % 2;
    let below = if odd == 1 { y >= x } else { y > x };
    if below { (y + odd - 1, x) } else { (n - 1 - y, n - 1 + odd - x) }
}

/// Level `launch` of squares of side 2^(launch − 1); launch 0 is the diagonal. Any n: squares beyond the end are wasted.
pub fn rec(n: u64, x: u64, y: u64, launch: u32) -> Option<(u64, u64)> {
    if launch == 0 {
        return Some((x, x));
    }
    let side = 1u64 << (launch - 1);
    let square = x / side;
    let (a, b) = (square * 2 * side + side + y, square * 2 * side + x % side);
    (a < n).then_some((a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const MAPS: [Map; 5] = [Map::Bb, Map::Ltm, Map::Utm, Map::Rb, Map::Rec];

    #[test]
    fn every_map_visits_every_tile_of_the_triangle_once() {
        for n in (1u64..70).chain([127, 128, 129, 255, 256, 257]) {
            for map in MAPS {
                let mut seen = HashSet::new();
                for (gx, gy, launch) in map.grids(n as u32) {
                    for y in 0..u64::from(gy) {
                        for x in 0..u64::from(gx) {
                            if let Some((a, b)) = tile(map, n, x, y, u64::from(gx), launch) {
                                assert!(b <= a && a < n, "{map:?} {n}: ({a}, {b})");
                                assert!(seen.insert((a, b)), "{map:?} {n}: ({a}, {b}) twice");
                            }
                        }
                    }
                }
                assert_eq!(seen.len() as u64, n * (n + 1) / 2, "{map:?} {n}");
            }
        }
    }

    #[test]
    fn the_planner_counts_the_blocks_of_every_map() {
        for n in [1u32, 2, 3, 5, 8, 127, 128, 240] {
            for (map, name) in MAPS.iter().zip(["bb", "ltm", "utm", "rb", "rec"]) {
                let started: u64 = map.grids(n).iter().map(|(x, y, _)| u64::from(*x) * u64::from(*y)).sum();
                let useful = u64::from(n) * (u64::from(n) + 1) / 2;
                assert_eq!(zipfold_plan::device::blocks(name, u64::from(n)), (started, useful), "{name} {n}");
            }
        }
    }

    /// Exact at both ends of every row up to 2³¹ rows, sampled, and around every power of two.
    #[test]
    fn maps_by_roots_are_exact_to_the_end() {
        let n = 1u64 << 31;
        let rows =
            (0..4000u64).map(|k| k * (n / 4000)).chain((0..31).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]));
        for a in rows.chain([n - 2, n - 1]).filter(|a| *a < n) {
            let first = a * (a + 1) / 2;
            assert_eq!(ltm(n, first), Some((a, 0)));
            assert_eq!(ltm(n, first + a), Some((a, a)));
            let start = a * (2 * n - a + 1) / 2;
            assert_eq!(utm(n, start), Some((a, a)));
            assert_eq!(utm(n, start + (n - 1 - a)), Some((n - 1, a)));
        }
        assert_eq!(ltm(n, n * (n + 1) / 2), None);
        assert_eq!(utm(n, n * (n + 1) / 2), None);
    }
}

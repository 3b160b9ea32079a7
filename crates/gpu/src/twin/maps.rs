//! Triangle maps (Navarro & Hitschfeld 2013, sections 3–4), made exact in integers. The lower
//! triangle has a ≥ b.
//!
//! Printed errors corrected: the strict form of LTM needs j = λ − i(i−1)/2, and the column of RB
//! drops the thread's offset.

use crate::emit::maps::{Map, Root};

/// Tile (a, b), a ≥ b, of block (x, y) of grid `launch` of `grid_x` blocks across; none where the
/// block is wasted. The same for threads and their pairs, where (x, y) are those of a thread.
pub fn tile(map: Map, n: u64, x: u64, y: u64, grid_x: u64, launch: u32) -> Option<(u64, u64)> {
    match map {
        Map::Cross => Some((x, y)),
        Map::Bb => (x <= y && y < n).then_some((y, x)),
        Map::Ltm(root) => ltm(root, n, y * grid_x + x),
        Map::Utm => utm(n, y * grid_x + x),
        Map::Rb => rb(n, x, y),
        Map::Rec => rec(n, x, y, launch),
    }
}

/// The table of [`Root::Table`] for `n` rows: the row of every λ.
pub fn table(n: u32) -> Vec<u32> {
    (0..n)
        .flat_map(|a| std::iter::repeat_n(a, a as usize + 1))
        .collect()
}

/// A guess at the row of λ. The table's is exact.
fn guess(root: Root, lambda: u64) -> u64 {
    let under = 8.0f32 * lambda as f32 + 1.0;
    let by = |r: f32| ((under * r - 1.0) * 0.5) as u64;
    match root {
        Root::Sqrt | Root::Table => (((8.0 * lambda as f64 + 1.0).sqrt() - 1.0) * 0.5) as u64,
        Root::Newton => {
            let start = f32::from_bits(0x5f37_59df - (under.to_bits() >> 1));
            by((0..3).fold(start, |r, _| r * (1.5 - 0.5 * under * r * r)))
        }
        Root::Reciprocal => by(1.0 / under.sqrt()),
    }
}

/// λ to the lower triangle row by row: a = ⌊(√(8λ + 1) − 1) / 2⌋, corrected where the root rounds.
pub fn ltm(root: Root, n: u64, lambda: u64) -> Option<(u64, u64)> {
    if lambda >= n * (n + 1) / 2 {
        return None;
    }
    let mut a = guess(root, lambda);
    while a * (a + 1) / 2 > lambda {
        a -= 1;
    }
    while (a + 1) * (a + 2) / 2 <= lambda {
        a += 1;
    }
    Some((a, lambda - a * (a + 1) / 2))
}

/// λ to the triangle column by column (Avril, Gouranton & Arnaldi 2012), corrected where the root
/// rounds.
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

/// The rectangle of ⌈n/2⌉ × n (n + 1 where n is even): what lies above its diagonal is turned
/// around.
pub fn rb(n: u64, x: u64, y: u64) -> Option<(u64, u64)> {
    let odd = n % 2;
    if x >= (n + odd) / 2 || y >= n + 1 - odd {
        return None;
    }
    let below = if odd == 1 { y >= x } else { y > x };
    Some(if below {
        (y + odd - 1, x)
    } else {
        (n - 1 - y, n - 1 + odd - x)
    })
}

/// Level `launch` of squares of side 2^(launch − 1); launch 0 is the diagonal. Any n: squares
/// beyond the end are wasted.
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
    use crate::emit::maps::{Placing, SIDE};
    use std::collections::HashSet;

    const ROOTS: [Root; 4] = [Root::Sqrt, Root::Newton, Root::Reciprocal, Root::Table];
    const MAPS: [Map; 8] = [
        Map::Bb,
        Map::Utm,
        Map::Rb,
        Map::Rec,
        Map::Ltm(Root::Sqrt),
        Map::Ltm(Root::Newton),
        Map::Ltm(Root::Reciprocal),
        Map::Ltm(Root::Table),
    ];

    fn visits(placing: Placing, n: u64) -> u64 {
        let mut seen = HashSet::new();
        let by = if placing.by_thread {
            u64::from(SIDE)
        } else {
            1
        };
        for (gx, gy, launch) in placing.grids(n as u32) {
            for y in 0..u64::from(gy) * by {
                for x in 0..u64::from(gx) * by {
                    if let Some((a, b)) = tile(placing.map, n, x, y, u64::from(gx) * by, launch) {
                        assert!(b <= a && a < n, "{placing:?} {n}: ({a}, {b})");
                        assert!(seen.insert((a, b)), "{placing:?} {n}: ({a}, {b}) twice");
                    }
                }
            }
        }
        seen.len() as u64
    }

    #[test]
    fn every_map_visits_every_tile_of_the_triangle_once() {
        for n in (1u64..70).chain([127, 128, 129, 255, 256, 257]) {
            for map in MAPS {
                for by_thread in [false, true] {
                    if !(by_thread && map == Map::Rec) {
                        assert_eq!(
                            visits(Placing { map, by_thread }, n),
                            n * (n + 1) / 2,
                            "{map:?} {n}"
                        );
                    }
                }
            }
        }
    }

    /// Exact at both ends of every row up to 2³¹ rows, sampled, and around every power of two.
    #[test]
    fn maps_by_roots_are_exact_to_the_end() {
        let n = 1u64 << 31;
        let rows = (0..4000u64)
            .map(|k| k * (n / 4000))
            .chain((0..31).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]));
        for a in rows.chain([n - 2, n - 1]).filter(|a| *a < n) {
            let first = a * (a + 1) / 2;
            for root in ROOTS {
                assert_eq!(ltm(root, n, first), Some((a, 0)), "{root:?}");
                assert_eq!(ltm(root, n, first + a), Some((a, a)), "{root:?}");
            }
            let start = a * (2 * n - a + 1) / 2;
            assert_eq!(utm(n, start), Some((a, a)));
            assert_eq!(utm(n, start + (n - 1 - a)), Some((n - 1, a)));
        }
        assert_eq!(ltm(Root::Sqrt, n, n * (n + 1) / 2), None);
        assert_eq!(utm(n, n * (n + 1) / 2), None);
    }

    #[test]
    fn the_table_holds_the_row_of_every_tile() {
        let table = table(40);
        for (lambda, a) in table.iter().enumerate() {
            assert_eq!(
                ltm(Root::Sqrt, 40, lambda as u64).map(|t| t.0),
                Some(u64::from(*a))
            );
        }
        assert_eq!(table.len(), 820);
    }
}

//! Sorts rows along Hilbert's curve, so that rows that follow one another are near one another.
//!
//! Pruning groups consecutive rows into boxes, and the boxes are small if the order is good. The
//! Hilbert curve visits the cells of a grid without jumps: consecutive cells share a side, unlike
//! in Z-order, whose jumps would make boxes that span the space.
//!
//! Method: a grid over the bounds of the rows; each row's cell gets its place along the curve as a
//! key of at most 62 bits; a radix sort orders the keys. Rows that share a cell are sorted again on
//! a grid over their own bounds, so that clusters are resolved: a single grid fine enough for them
//! would need too many bits.
//!
//! ```text
//! 1 bit per axis         2 bits per axis: 16 cells by key, in one of the orientations
//!   1 → 2                     5   6   9  10
//!   ↑   ↓                     4   7   8  11
//!   0   3                     3   2  13  12
//!                             0   1  14  15
//! ```
//!
//! RowKeys in up to four dimensions come from a state machine (Hamilton 2006), in more from Skilling's
//! transposition (2004). The orders are deterministic: ties go by row.

use std::sync::OnceLock;

/// The most coordinates of a key. More would leave fewer than seven bits for each.
pub const MOST_COORDINATES: usize = 8;
/// Rows that share a cell and are not worth sorting further: about the size of a box.
const ALIKE: usize = 32;
/// The most grids within grids, for rows that agree in nearly all bits.
const DEPTH: usize = 8;
/// Bits of a digit of the radix sort: 2048 counters stay in the first cache.
const DIGIT: u32 = 11;

/// Coordinates of rows: `width` numbers for each, row by row, and which of them make keys.
#[derive(Clone, Debug)]
pub struct Coordinates<'a> {
    /// The numbers.
    pub values: &'a [f64],
    /// Numbers in a row.
    pub width: usize,
    /// Coordinates by unit of measure. Those of one group share a scale: x, y and z of a point, but
    /// not a mass.
    pub groups: Vec<Vec<usize>>,
}

/// A grid over some rows, whose cells have keys along the curve.
#[derive(Clone, Debug)]
pub struct Grid {
    /// For each axis the coordinate, its least value, and cells per unit.
    axes: Vec<(usize, f64, f64)>,
    /// Bits of a key for each axis.
    bits: u32,
}

/// The key of a row without a place (a NaN): it goes last.
const NOWHERE: u64 = u64::MAX;

impl Coordinates<'_> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }
    /// Returns the numbers of a row.
    fn row(&self, row: u32) -> &[f64] {
        &self.values[row as usize * self.width..][..self.width]
    }
    /// Returns a grid over `count` of the rows, or `None` if they are all in one place.
    ///
    /// Coordinates are ranked by their spread relative to their group, and the first eight are
    /// used. Bits per axis: log₂ of the count, shared by the axes, and three more, so that most
    /// cells have one row; at most 62 in all, which leaves [`NOWHERE`] free.
    fn grid(&self, rows: impl Iterator<Item = u32>, count: usize) -> Option<Grid> {
        let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); self.width];
        for row in rows {
            for ((lo, hi), v) in ends.iter_mut().zip(self.row(row)) {
                if v.is_finite() {
                    *lo = lo.min(*v);
                    *hi = hi.max(*v);
                }
            }
        }
        // A range beyond the largest number counts as the largest; coordinates without finite
        // values as 0.
        let spread = |c: usize| {
            let range = ends[c].1 - ends[c].0;
            if range.is_finite() {
                range.max(0.0)
            } else {
                f64::MAX * f64::from(u8::from(range > 0.0))
            }
        };
        // A common scale in a group; coordinates that hardly spread at that scale tell nothing.
        let scaled = self.groups.iter().flat_map(|group| {
            let largest = group.iter().map(|c| spread(*c)).fold(0.0, f64::max);
            group.iter().map(move |c| (*c, largest))
        });
        let mut axes: Vec<(usize, f64, f64)> = scaled
            .filter(|(c, s)| *s > 0.0 && spread(*c) > *s * 1e-3)
            .map(|(c, s)| (c, ends[c].0, s))
            .collect();
        // The widest axes, relative to their group, come first and are kept.
        axes.sort_by(|a, b| {
            (spread(b.0) / b.2)
                .total_cmp(&(spread(a.0) / a.2))
                .then(a.0.cmp(&b.0))
        });
        axes.truncate(MOST_COORDINATES);
        if axes.is_empty() {
            return None;
        }
        let levels = usize::BITS - count.leading_zeros();
        let bits = (levels.div_ceil(axes.len() as u32) + 3)
            .min(62 / axes.len() as u32)
            .max(1);
        let cells = f64::from((1u32 << bits.min(31)) - 1);
        axes.iter_mut().for_each(|axis| axis.2 = cells / axis.2);
        Some(Grid {
            axes,
            bits: bits.min(31),
        })
    }
    /// Returns a grid over all rows, or `None` if they are all in one place.
    pub fn whole(&self) -> Option<Grid> {
        self.grid(0..self.rows() as u32, self.rows())
    }
}

impl Grid {
    /// Returns the place of a row along the curve. Infinite coordinates saturate at the ends of the
    /// grid.
    #[inline]
    pub fn key(&self, row: &[f64]) -> u64 {
        let mut place = [0u32; MOST_COORDINATES];
        let mut nan = false;
        for (p, (c, lo, rate)) in place.iter_mut().zip(&self.axes) {
            let v = row[*c];
            nan |= v.is_nan();
            // A cast saturates: values below the grid are 0, above it the last cell, and NaN is 0.
            *p = (((v - lo) * rate) as u32).min((1 << self.bits) - 1);
        }
        match turns(self.axes.len()) {
            _ if nan => NOWHERE,
            Some(turns) => turns.key(&place[..self.axes.len()], self.bits),
            None => hilbert(&mut place[..self.axes.len()], self.bits),
        }
    }
    /// Returns the bits of a key.
    fn length(&self) -> u32 {
        self.bits * self.axes.len() as u32
    }
}

/// Hilbert's curve in few dimensions as a state machine: one table look-up for each bit of the
/// coordinates.
///
/// After Hamilton, *Compact Hilbert Indices*, Dalhousie CS-2006-07 (2006), algorithm 2. The curve
/// inside a cell is the base curve, reflected and rotated. A state is where the curve enters the
/// cell (`entry`, a corner) and along which axis it leaves (`axis`). Halving all axes names a
/// sub-cell (bit k: the upper half along axis k); the table gives the sub-cell's position along the
/// curve and its state.
#[derive(Debug)]
struct Turns {
    /// By state · 2ⁿ + half: next state · 2ⁿ + digit.
    steps: Vec<u16>,
    dims: u32,
}

/// The most dimensions for which a table is kept: 64 states of 16 halves, 2 KiB.
const MOST_TURNS: usize = 4;

/// Returns the machine of `dims` dimensions, which is made once.
fn turns(dims: usize) -> Option<&'static Turns> {
    static MADE: [OnceLock<Turns>; MOST_TURNS] = [const { OnceLock::new() }; MOST_TURNS];
    Some(
        MADE.get(dims.checked_sub(1)?)?
            .get_or_init(|| Turns::new(dims as u32)),
    )
}

impl Turns {
    /// Makes the table. `left` and `right` rotate `dims` bits; `gray` and `ungray` are the
    /// reflected Gray code, in whose order the base curve visits the corners of a cube; `entry` and
    /// `axis` are e(i) and d(i) of the paper.
    fn new(dims: u32) -> Turns {
        let mask = (1u32 << dims) - 1;
        let left = |v: u32, by: u32| (v << (by % dims) | v >> ((dims - by % dims) % dims)) & mask;
        let right = |v: u32, by: u32| left(v, dims - by % dims);
        let gray = |v: u32| v ^ v >> 1;
        let ungray = |v: u32| (0..dims).fold(0, |out, shift| out ^ v >> shift);
        let entry = |digit: u32| {
            if digit == 0 {
                0
            } else {
                gray((digit - 1) & !1)
            }
        };
        let axis = |digit: u32| match digit {
            0 => 0,
            d if d & 1 == 0 => (d - 1).trailing_ones() % dims,
            d => d.trailing_ones() % dims,
        };
        let step = |state: u32, half: u32| {
            let (enters, leaves) = (state / dims, state % dims);
            let digit = ungray(right(half ^ enters, leaves + 1));
            let enters = enters ^ left(entry(digit), leaves + 1);
            let leaves = (leaves + axis(digit) + 1) % dims;
            ((enters * dims + leaves) << dims | digit) as u16
        };
        let states = (mask + 1) * dims;
        Turns {
            steps: (0..states)
                .flat_map(|s| (0..=mask).map(move |h| step(s, h)))
                .collect(),
            dims,
        }
    }
    /// Walks from the most significant bit down: one digit of `dims` bits per step.
    #[inline]
    fn key(&self, place: &[u32], bits: u32) -> u64 {
        let (mut key, mut state) = (0u64, 0usize);
        for bit in (0..bits).rev() {
            // The current bit of every coordinate, as one number: which of the 2ⁿ sub-cells.
            let half = place
                .iter()
                .enumerate()
                .fold(0, |half, (k, v)| half | (v >> bit & 1) << k);
            let step = usize::from(self.steps[state << self.dims | half as usize]);
            state = step >> self.dims;
            key = key << self.dims | (step & ((1 << self.dims) - 1)) as u64;
        }
        key
    }
}

/// Returns the place along the curve of a cell of a grid with 2^bits cells a side, in any number of
/// dimensions: Skilling's transposition, AIP Conf. Proc. 707 (2004) 381.
///
/// First loop: undo the reflections and exchanges of each level, from the top bit down. Then
/// Gray-encode, and interleave the bits of the coordinates. Branches are replaced by masks, since
/// they would be random.
#[inline]
fn hilbert(x: &mut [u32], bits: u32) -> u64 {
    let n = x.len();
    let top = 1u32 << (bits - 1);
    let mut q = top;
    while q > 1 {
        let low = q - 1;
        for i in 0..n {
            // Inverts the low bits of the first coordinate, or exchanges them with those of this
            // one.
            let set = 0u32.wrapping_sub(u32::from(x[i] & q != 0));
            let exchange = (x[0] ^ x[i]) & low & !set;
            x[0] ^= (low & set) | exchange;
            x[i] ^= exchange;
        }
        q >>= 1;
    }
    for i in 1..n {
        x[i] ^= x[i - 1];
    }
    let mut flip = 0;
    q = top;
    while q > 1 {
        if x[n - 1] & q != 0 {
            flip ^= q - 1;
        }
        q >>= 1;
    }
    let mut key = 0u64;
    for bit in (0..bits).rev() {
        for v in x.iter() {
            key = key << 1 | u64::from((v ^ flip) >> bit & 1);
        }
    }
    key
}

/// Sorts keys on `grid`, with their rows, by key and row.
pub fn sort(keys: &mut [(u64, u32)], grid: &Grid) {
    sort_digits(keys, grid.length());
}

/// Returns the rows in the order of `keys` on a grid over all, which are sorted by key and row:
/// rows that share a cell are sorted further. Threads of the caller may have computed and sorted
/// the keys.
pub fn order(coordinates: &Coordinates<'_>, mut keys: Vec<(u64, u32)>) -> Vec<u32> {
    refine(coordinates, &mut keys, 0);
    keys.into_iter().map(|(_, row)| row).collect()
}

/// Returns the rows in the order of the curve.
pub fn order_of(coordinates: &Coordinates<'_>) -> Vec<u32> {
    match coordinates.whole() {
        None => (0..coordinates.rows() as u32).collect(),
        Some(grid) => {
            let rows = 0..coordinates.rows() as u32;
            let mut keys: Vec<(u64, u32)> =
                rows.map(|r| (grid.key(coordinates.row(r)), r)).collect();
            sort(&mut keys, &grid);
            order(coordinates, keys)
        }
    }
}

/// Sorts runs of equal keys by keys on a grid of their own, recursively. Runs of few rows, or of
/// rows in one place, stay as they are.
fn refine(coordinates: &Coordinates<'_>, items: &mut [(u64, u32)], depth: usize) {
    let mut start = 0;
    while start < items.len() {
        // A run of rows in one cell.
        let key = items[start].0;
        let run = items[start..].iter().take_while(|i| i.0 == key).count();
        let alike = &mut items[start..start + run];
        start += run;
        if run <= ALIKE || depth >= DEPTH || key == NOWHERE {
            continue;
        }
        if let Some(grid) = coordinates.grid(alike.iter().map(|i| i.1), run) {
            alike
                .iter_mut()
                .for_each(|item| item.0 = grid.key(coordinates.row(item.1)));
            sort_digits(alike, grid.length());
            refine(coordinates, alike, depth + 1);
        }
    }
}

/// Sorts by key, ties by row: a radix sort from the low digit up, which is stable, over the low
/// `bits` of the keys. Short lists are sorted by comparison, since clearing 2048 counters would
/// take longer.
fn sort_digits(items: &mut [(u64, u32)], bits: u32) {
    if items.len() < 1 << DIGIT {
        items.sort_unstable();
        return;
    }
    // One bit more than keys have puts those without a place last.
    let mut other = items.to_vec();
    let mut shift = 0;
    // Counting sort by one digit, the lowest first. One more bit than keys have sorts rows without
    // a place last.
    while shift <= bits {
        let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT) - 1);
        let mut starts = vec![0usize; 1 << DIGIT];
        items.iter().for_each(|i| starts[digit(i.0)] += 1);
        let mut sum = 0;
        for s in &mut starts {
            (*s, sum) = (sum, sum + *s);
        }
        for item in items.iter() {
            let place = &mut starts[digit(item.0)];
            other[*place] = *item;
            *place += 1;
        }
        items.copy_from_slice(&other);
        shift += DIGIT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_visits_neighbours() {
        for (dims, bits) in [(1, 5), (2, 4), (3, 3), (4, 2)] {
            let cells = 1u32 << (bits * dims);
            let place = |c: u32| -> Vec<u32> {
                (0..dims)
                    .map(|k| c >> (k * bits) & ((1 << bits) - 1))
                    .collect()
            };
            let mut along: Vec<(u64, Vec<u32>)> = (0..cells)
                .map(|c| (hilbert(&mut place(c), bits), place(c)))
                .collect();
            neighbours(along.clone(), dims);
            let turns = turns(dims as usize).unwrap();
            along = (0..cells)
                .map(|c| (turns.key(&place(c), bits), place(c)))
                .collect();
            neighbours(along, dims);
        }
    }

    fn neighbours(mut along: Vec<(u64, Vec<u32>)>, dims: u32) {
        along.sort();
        for (at, pair) in along.windows(2).enumerate() {
            assert_eq!(pair[0].0, at as u64, "{dims} dimensions");
            let steps: u32 = pair[0]
                .1
                .iter()
                .zip(&pair[1].1)
                .map(|(a, b)| a.abs_diff(*b))
                .sum();
            assert_eq!(steps, 1, "{dims} dimensions at {at}");
        }
    }

    #[test]
    fn every_row_is_there_once_whatever_the_values() {
        let pool = [
            0.0,
            -0.0,
            1.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e308,
            -1e308,
            5e-324,
        ];
        for n in [0usize, 1, 2, 40, 5000] {
            for kind in 0..4 {
                let values: Vec<f64> = (0..n * 3)
                    .map(|i| match kind {
                        0 => pool[i * 7919 % 9],
                        1 => 3.0,
                        2 => ((i * 7919) % 10007) as f64 * if i < 6 { 1e12 } else { 1e-6 },
                        _ => (i * 31 % 17) as f64,
                    })
                    .collect();
                let coordinates = Coordinates {
                    values: &values,
                    width: 3,
                    groups: vec![vec![0, 1], vec![2]],
                };
                let mut order = order_of(&coordinates);
                let first_nan = order
                    .iter()
                    .position(|r| coordinates.row(*r).iter().any(|v| v.is_nan()));
                if let Some(at) = first_nan.filter(|_| kind == 0) {
                    assert!(
                        order[at..]
                            .iter()
                            .all(|r| coordinates.row(*r).iter().any(|v| v.is_nan()))
                    );
                }
                order.sort_unstable();
                assert!(order.into_iter().eq(0..n as u32));
            }
        }
    }
}

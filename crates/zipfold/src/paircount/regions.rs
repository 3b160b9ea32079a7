//! Regions: by a column, or made by cutting the longest side in two again and again.
//!
//! ```text
//! made of the randoms, or of the data where there are none
//! a part of k regions and n points: cut across its longest side, ⌊k/2⌋ regions get ⌊k/2⌋ / k of n,
//! or, of equal coordinates, the number nearest to it
//! ```
//!
//! A cut is a coordinate, so the points of every catalogue fall on one of its sides. On the sky,
//! coordinates are those on the unit sphere: a region is a cone.

use super::asked::{PairCount, Regions};
use super::catalogue::{Catalogue, PreparedCatalogues, REGION, with_attribute};
use std::collections::BTreeMap;
use zipfold_core::{Error, Opt, Result, Table};

impl PairCount {
    /// Gives every row its region.
    pub(super) fn set_regions(&self, prepared: &mut PreparedCatalogues) -> Result<()> {
        let count = match &self.regions {
            None => return Ok(()),
            Some(Regions::Column(_)) => by_column(prepared)?,
            Some(Regions::Made(count)) => made(*count, self.is_sky(), prepared)?,
        };
        prepared.regions = count;
        for catalogue in prepared.all_mut() {
            let regions = catalogue.regions.as_deref().unwrap_or_default();
            refuse_empty(regions, count, &catalogue.name)?;
            let numbers = regions.iter().map(|region| f64::from(*region));
            catalogue.table = with_attribute(&catalogue.table, REGION, numbers)?;
        }
        Ok(())
    }
}

/// Regions by a column, numbered in ascending order of its values in all catalogues.
fn by_column(prepared: &mut PreparedCatalogues) -> Result<usize> {
    let mut numbers: BTreeMap<u64, u32> = BTreeMap::new();
    for catalogue in prepared.all() {
        let values = catalogue.marks.as_deref().unwrap_or_default();
        refuse_missing(values, &catalogue.name)?;
        numbers.extend(values.iter().map(|v| (ordered(*v), 0)));
    }
    let count = numbers.len();
    if !(2..=10_000).contains(&count) {
        let what = format!("expected 2 to 10000 regions, got {count}");
        return Err(Error::input(what)
            .at_place(Opt::Regions)
            .remedy(Opt::Regions.to(100)));
    }
    numbers
        .values_mut()
        .enumerate()
        .for_each(|(at, number)| *number = at as u32);
    for catalogue in prepared.all_mut() {
        let marks = catalogue.marks.take().unwrap_or_default();
        catalogue.regions = Some(marks.iter().map(|v| numbers[&ordered(*v)]).collect());
    }
    Ok(count)
}

/// Bits that ascend with the value; both zeros are the same.
fn ordered(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

fn refuse_missing(values: &[f64], name: &str) -> Result<()> {
    if let Some(row) = values.iter().position(|v| !v.is_finite()) {
        let what = format!("expected a number as the region of row {row} (from 0), got none");
        return Err(Error::input(what)
            .at_place(name)
            .remedy("a region for every row"));
    }
    Ok(())
}

fn refuse_empty(regions: &[u32], count: usize, name: &str) -> Result<()> {
    let mut seen = vec![false; count];
    regions
        .iter()
        .for_each(|region| seen[*region as usize] = true);
    let Some(empty) = seen.iter().position(|seen| !seen) else {
        return Ok(());
    };
    let what = format!(
        "expected points of the catalogue in all {count} regions, got none in region {empty} (from 0)"
    );
    Err(Error::input(what)
        .at_place(name)
        .remedy(format!("fewer regions: {}", Opt::Regions.like("COUNT"))))
}

/// A cut of the space.
enum RegionTree {
    Leaf(u32),
    At {
        axis: usize,
        below: f64,
        sides: Box<[RegionTree; 2]>,
    },
}

/// Makes `count` regions.
///
/// # Errors
/// `Input` where the points have too few coordinates of their own.
fn made(count: usize, on_sky: bool, prepared: &mut PreparedCatalogues) -> Result<usize> {
    let of = |catalogue: &Catalogue| points(&catalogue.table, on_sky);
    let model = prepared.randoms[0].as_ref().or(prepared.data[0].as_ref());
    let mut places = model.map(of).unwrap_or_default();
    let mut next = 0;
    let cuts = cut(&mut places, count, &mut next);
    if (next as usize) < count {
        let what = format!(
            "expected points for {count} regions, got {} points that make {next}",
            places.len()
        );
        return Err(Error::input(what)
            .at_place(model.map_or("", |catalogue| catalogue.name.as_str()))
            .remedy(format!("fewer regions: {}", Opt::Regions.like("COUNT"))));
    }
    for catalogue in prepared.all_mut() {
        let regions = points(&catalogue.table, on_sky)
            .iter()
            .map(|point| region(&cuts, point))
            .collect();
        catalogue.regions = Some(regions);
    }
    Ok(count)
}

/// Positions, or directions.
fn points(table: &Table, on_sky: bool) -> Vec<[f64; 3]> {
    let of_row = |row: usize| {
        let mut point = [0.0; 3];
        (0..table.cols().min(3)).for_each(|k| point[k] = table.get(row, k));
        let norm = point.iter().map(|v| v * v).sum::<f64>().sqrt();
        match on_sky && norm > 0.0 {
            true => point.map(|v| v / norm),
            false => point,
        }
    };
    (0..table.rows()).map(of_row).collect()
}

fn cut(points: &mut [[f64; 3]], count: usize, next: &mut u32) -> RegionTree {
    let extents = extents(points);
    let axis = (1..3).fold(0, |best, axis| {
        if extents[axis] > extents[best] {
            axis
        } else {
            best
        }
    });
    let first = count / 2;
    let middle = (points.len() as u128 * first as u128 / count as u128) as usize;
    if count < 2 || middle == 0 || extents[axis] <= 0.0 {
        *next += 1;
        return RegionTree::Leaf(*next - 1);
    }
    points.select_nth_unstable_by(middle, |a, b| a[axis].total_cmp(&b[axis]));
    let below = border(points, axis, middle);
    let mut middle = 0;
    for at in 0..points.len() {
        if points[at][axis] < below {
            points.swap(at, middle);
            middle += 1;
        }
    }
    let (low, high) = points.split_at_mut(middle);
    RegionTree::At {
        axis,
        below,
        sides: Box::new([cut(low, first, next), cut(high, count - first, next)]),
    }
}

/// The longest distance of points along each axis, in one pass.
fn extents(points: &[[f64; 3]]) -> [f64; 3] {
    let mut ends = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
    for point in points {
        for ([lo, hi], v) in ends.iter_mut().zip(point) {
            (*lo, *hi) = (lo.min(*v), hi.max(*v));
        }
    }
    ends.map(|[lo, hi]| hi - lo)
}

/// The least coordinate of the upper side of a cut at `middle`, where point `middle` is the one of
/// its order. Equal coordinates are on one side, the one that leaves the cut nearer to `middle` and
/// neither side without points.
fn border(points: &[[f64; 3]], axis: usize, middle: usize) -> f64 {
    let at = points[middle][axis];
    let lower = points.iter().filter(|p| p[axis] < at).count();
    let upper = points.iter().filter(|p| p[axis] <= at).count();
    let beyond = points.iter().map(|p| p[axis]).filter(|v| *v > at);
    let next = beyond.fold(f64::INFINITY, f64::min);
    let is_nearer = lower == 0 || upper - middle < middle - lower;
    match is_nearer && upper < points.len() {
        true => next,
        false => at,
    }
}

fn region(cuts: &RegionTree, point: &[f64; 3]) -> u32 {
    match cuts {
        RegionTree::Leaf(number) => *number,
        RegionTree::At { axis, below, sides } => {
            region(&sides[usize::from(point[*axis] >= *below)], point)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Random;

    #[test]
    fn regions_have_equal_numbers_of_points() {
        let mut random = Random::new(7);
        let mut points: Vec<[f64; 3]> = (0..1000).map(|_| [0; 3].map(|_| random.unit())).collect();
        for count in [2, 3, 7, 100] {
            let mut next = 0;
            let cuts = cut(&mut points, count, &mut next);
            assert_eq!(next as usize, count);
            let mut sizes = vec![0usize; count];
            points
                .iter()
                .for_each(|p| sizes[region(&cuts, p) as usize] += 1);
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 8 && *least > 0, "{sizes:?}");
        }
    }

    #[test]
    fn equal_coordinates_leave_no_region_out() {
        let mut random = Random::new(8);
        for (share, end) in [(0.6, 0.0), (0.9, 0.0), (0.6, 1.0), (0.6, 0.4)] {
            let mut point = || {
                let [x, y, z] = [0; 3].map(|_| random.unit());
                // The first axis is the longest, and most points have one coordinate on it.
                [4.0 * if random.unit() < share { end } else { x }, y, z]
            };
            let mut points: Vec<[f64; 3]> = (0..1000).map(|_| point()).collect();
            for count in [2, 3, 8, 20] {
                let mut next = 0;
                let cuts = cut(&mut points, count, &mut next);
                assert_eq!(next as usize, count, "{share} at {end}");
                let mut sizes = vec![0usize; count];
                points
                    .iter()
                    .for_each(|p| sizes[region(&cuts, p) as usize] += 1);
                assert!(sizes.iter().all(|size| *size > 0), "{sizes:?}");
            }
        }
    }

    #[test]
    fn numbers_keep_their_order() {
        let values = [-2.0, -1.0, -0.0, 0.5, 3.0];
        let bits: Vec<u64> = values.iter().map(|v| ordered(*v)).collect();
        assert!(bits.is_sorted());
        assert_eq!(ordered(0.0), ordered(-0.0));
    }
}

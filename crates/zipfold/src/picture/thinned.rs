//! Fewer marks where there are more than pixels: of some values next to each other the least and the
//! largest one stay, so that a picture of a million looks like one of all.

/// Points of a line: twice the pixels across.
pub(super) const MOST_MARKS: usize = 1500;
/// Bars of a picture: fewer than pixels across, so that none falls between two.
pub(super) const MOST_BARS: usize = 500;

/// At most about `most` points of a line, in their order.
pub(super) fn thinned_line(
    points: impl Iterator<Item = (f64, f64)>,
    most: usize,
) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = points.collect();
    if points.len() <= most.max(2) {
        return points;
    }
    let some = points.len().div_ceil(most.max(2) / 2);
    points.chunks(some).flat_map(ends).collect()
}

/// The least and the largest of some points, in their order; one where they are the same.
fn ends(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let fine = || (0..points.len()).filter(|at| points[*at].1.is_finite());
    let by_value = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
    let (low, high) = (fine().min_by(by_value), fine().max_by(by_value));
    let mut both = [low, high];
    both.sort_unstable();
    let first = if both[0] == both[1] { None } else { both[0] };
    let kept = [first, both[1]].map(|at| at.map(|at| points[at]));
    kept.into_iter().flatten()
}

/// Edges and heights of at most about `most` bars: some next to each other are one of the largest
/// height.
pub(super) fn thinned_bars(edges: &[f64], heights: &[f64], most: usize) -> (Vec<f64>, Vec<f64>) {
    if heights.len() <= most.max(1) {
        return (edges.to_vec(), heights.to_vec());
    }
    let some = heights.len().div_ceil(most.max(1));
    let largest = |bars: &[f64]| bars.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let kept = heights.chunks(some).map(largest).collect();
    let first = (0..heights.len()).step_by(some).map(|at| edges[at]);
    let last = edges.last().copied();
    (first.chain(last).collect(), kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_stays_where_a_line_is_thinned() {
        let value = |at: usize| if at == 777_777 { 9.0 } else { (at % 7) as f64 };
        let points = (0..1_000_000).map(|at| (at as f64, value(at)));
        let kept = thinned_line(points, 1000);
        assert!(kept.len() <= 1002 && kept.len() > 900, "{}", kept.len());
        assert!(kept.contains(&(777_777.0, 9.0)));
        assert!(kept.windows(2).all(|p| p[0].0 < p[1].0));
        let few = thinned_line([(0.0, 1.0), (1.0, f64::NAN)].into_iter(), 1000);
        assert_eq!(few.len(), 2);
    }

    #[test]
    fn bars_together_have_the_largest_height_and_all_edges() {
        let edges: Vec<f64> = (0..=10).map(f64::from).collect();
        let heights: Vec<f64> = (0..10).map(f64::from).collect();
        let (edges, heights) = thinned_bars(&edges, &heights, 3);
        assert_eq!(edges, [0.0, 4.0, 8.0, 10.0]);
        assert_eq!(heights, [3.0, 7.0, 9.0]);
    }
}

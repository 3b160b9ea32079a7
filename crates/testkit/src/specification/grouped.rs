//! What answers by groups and within keys mean: each pair is looked at by itself, and belongs to the
//! groups of its rows.

use super::{Pair, Taken, Wanted, exactly, histogram, join, nearest, quantiles, row, top};
use zipfold_core::Job;
use zipfold_core::fold::{Fold, Grouped, Histogram, Join, JoinKind};
use zipfold_core::keys::{NONE, RowKeys};
use zipfold_core::parts::Keep;

/// The numbers of all lines of the answer, column after column in each line.
pub(super) fn lines(job: &Job, f: &Grouped, pairs: &[&Pair]) -> Vec<Wanted> {
    let kept: Vec<&Pair> = pairs
        .iter()
        .copied()
        .filter(|pair| is_kept(f, pair))
        .collect();
    match &*f.inner {
        Fold::Histogram(h) => tables(job, f, h, &kept),
        Fold::Join(j) => matches(job, j, &kept),
        Fold::Top(t) => top(t, &kept).into_iter().map(Wanted::exactly).collect(),
        Fold::Reduce(_) | Fold::Nearest(_) | Fold::Quantile(_) => by_row(job, f, &kept),
        Fold::Dense(_) | Fold::Extremes(_) | Fold::Grouped(_) => vec![],
    }
}

/// Lines of matches, or of rows with or without one.
fn matches(job: &Job, j: &Join, kept: &[&Pair]) -> Vec<Wanted> {
    let parts = join(job, j, kept);
    let (flat, values) = (&parts[0].1, &parts[1].1);
    if !j.is_inner() {
        let semi = j.kind == JoinKind::Semi;
        let rows = (0..flat.len()).filter(|row| (flat[*row].0 != 0.0) == semi);
        return rows.map(|row| Wanted::exactly(row as f64)).collect();
    }
    let line = |at: usize| {
        let pair = flat[2 * at..2 * at + 2].iter().copied();
        pair.chain(values.get(at).copied()).collect::<Vec<_>>()
    };
    (0..flat.len() / 2).flat_map(line).collect()
}

fn code(keys: &RowKeys, side: usize, row: usize) -> u32 {
    keys.codes[side][row]
}

/// Whether a pair is one of the question: both of its rows have keys, and these are the same or
/// differ as was asked.
fn is_kept(f: &Grouped, pair: &Pair) -> bool {
    let of = |keys: &RowKeys| [code(keys, 0, pair.i), code(keys, 1, pair.j)];
    let grouped = f.parts.by.as_ref().is_none_or(|by| !of(by).contains(&NONE));
    let within = f.parts.within.as_ref().is_none_or(|within| {
        let [a, b] = of(&within.keys);
        a != NONE && b != NONE && (a == b) == (within.keep == Keep::Same)
    });
    grouped && within && f.parts.window.holds(pair.i, pair.j)
}

/// A histogram for each pair of groups; in a triangular domain {a, b} is one pair.
fn tables(job: &Job, f: &Grouped, h: &Histogram, kept: &[&Pair]) -> Vec<Wanted> {
    let half = job.space.is_triangular();
    let groups = f.parts.by.as_ref().map_or(1, RowKeys::len) as u32;
    let mut out = vec![];
    for a in 0..groups {
        for b in (0..groups).filter(|b| !half || a <= *b) {
            let is_of = |pair: &&&Pair| {
                f.parts.by.as_ref().is_none_or(|by| {
                    let [x, y] = [code(by, 0, pair.i), code(by, 1, pair.j)];
                    [x, y] == [a, b] || half && [y, x] == [a, b]
                })
            };
            let of: Vec<&Pair> = kept.iter().filter(is_of).copied().collect();
            let named = f.parts.by.as_ref().map(|_| [a, b]);
            out.extend(table(h, named, &of));
        }
    }
    out
}

/// The lines of one histogram, after the groups that it is of.
fn table(h: &Histogram, groups: Option<[u32; 2]>, pairs: &[&Pair]) -> Vec<Wanted> {
    let parts = histogram(h, pairs);
    let bins: Vec<usize> = h.axes.iter().map(|axis| axis.edges.len() - 1).collect();
    let mut out = vec![];
    for line in 0..bins.iter().product::<usize>() {
        out.extend(
            groups
                .into_iter()
                .flatten()
                .map(|g| Wanted::exactly(f64::from(g))),
        );
        let (at, edges) = bin(h, line);
        out.extend(edges.into_iter().map(Wanted::exactly));
        out.extend(parts.iter().map(|(_, numbers)| numbers[at]));
    }
    out
}

/// The cell of a line, and the edges of its bin on each axis. The last axis is the fastest, and
/// places of the grid begin with under.
fn bin(h: &Histogram, line: usize) -> (usize, Vec<f64>) {
    let (mut rest, mut at, mut stride) = (line, 0, 1);
    let mut edges = vec![];
    for axis in h.axes.iter().rev() {
        let bins = axis.edges.len() - 1;
        let bin = rest % bins;
        rest /= bins;
        at += (bin + 1) * stride;
        stride *= bins + 2;
        edges.extend([axis.edges[bin + 1], axis.edges[bin]]);
    }
    edges.reverse();
    (at, edges)
}

/// Results of each row of x for each group of rows of y.
fn by_row(job: &Job, f: &Grouped, kept: &[&Pair]) -> Vec<Wanted> {
    let groups = f.parts.by.as_ref().map_or(1, RowKeys::len);
    let mut rows: Vec<Vec<&Pair>> = vec![vec![]; job.space.n * groups];
    for pair in kept {
        let group = f.parts.by.as_ref().map_or(0, |by| code(by, 1, pair.j));
        rows[pair.i * groups + group as usize].push(pair);
    }
    let each = rows.iter().enumerate();
    each.flat_map(|(at, pairs)| result(f, [at / groups, at % groups], pairs))
        .collect()
}

/// The result of a row for a group, from its pairs.
fn result(f: &Grouped, [i, group]: [usize; 2], pairs: &[&Pair]) -> Vec<Wanted> {
    let values = |root: usize| pairs.iter().map(move |p| (p.roots[root][0], p.j)).collect();
    match &*f.inner {
        Fold::Reduce(r) => {
            let taken: Vec<Taken<'_>> = pairs.iter().map(|p| (&p.roots[r.root][..], p.j)).collect();
            row(r, &taken)
        }
        Fold::Quantile(q) => exactly(quantiles(q, values(q.root))),
        Fold::Nearest(n) => {
            let found = nearest(n, vec![values(n.root)]);
            let line = |rank: usize| {
                let mut line = vec![i, group, rank];
                if f.parts.by.is_none() {
                    line.remove(1);
                }
                let index = line.into_iter().map(|v| Wanted::exactly(v as f64));
                let found = found.iter().map(move |(_, numbers)| numbers[rank]);
                index.chain(found).collect::<Vec<_>>()
            };
            (0..n.k).flat_map(line).collect()
        }
        Fold::Histogram(_)
        | Fold::Join(_)
        | Fold::Top(_)
        | Fold::Dense(_)
        | Fold::Extremes(_)
        | Fold::Grouped(_) => vec![],
    }
}

//! What answers by groups and within keys mean: each pair is looked at by itself, and belongs to the
//! groups of its rows.

use super::{
    Pair, Taken, Wanted, exactly, histogram, is_visited, join, nearest, quantiles, row, top,
};
use std::collections::HashMap;
use zipfold_core::Job;
use zipfold_core::fold::{
    Fold, Grouped, Histogram, Join, JoinKind, Listed, ListedPlaces, Nearest, Reduce, ReduceAxis,
};
use zipfold_core::keys::{NONE, RowKeys};
use zipfold_core::parts::Keep;

/// The numbers of all lines of the answer, column after column in each line.
pub(super) fn lines(job: &Job, f: &Grouped, pairs: &[&Pair]) -> Vec<Wanted> {
    let kept = kept(f, pairs);
    if f.parts.batches
        && let Some(lines) = apart(f, &kept)
    {
        return lines;
    }
    match &*f.inner {
        Fold::Histogram(h) => tables(f, h, &kept),
        Fold::Join(j) => matches(job, j, &kept),
        Fold::Top(t) => top(t, &kept).into_iter().map(Wanted::exactly).collect(),
        Fold::Reduce(r) if r.axis == ReduceAxis::All => result(f, [0, 0], &kept),
        Fold::Reduce(_) | Fold::Nearest(_) | Fold::Quantile(_) => by_row(job, f, &kept),
        Fold::Listed(v) if f.parts.listed.is_none() => matrices(job, f, v, &kept),
        Fold::Listed(v) => listed(f, v, &kept),
        Fold::Dense(_) | Fold::Extremes(_) | Fold::Grouped(_) => vec![],
    }
}

/// The pairs of the question, each as often as it counts. Pairs without order have their lower row
/// first.
fn kept<'p>(f: &Grouped, pairs: &[&'p Pair]) -> Vec<&'p Pair> {
    let named = |pair: &[u32; 2]| named(f, *pair);
    let often = f.parts.listed.as_ref();
    let often = often.map(|listed| counts(listed.pairs.iter().map(named)));
    pairs
        .iter()
        .copied()
        .filter(|pair| is_kept(f, pair))
        .flat_map(|pair| std::iter::repeat_n(pair, times(&often, pair)))
        .collect()
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

/// A listed pair as answers name it.
fn named(f: &Grouped, [i, j]: [u32; 2]) -> [u32; 2] {
    match f.parts.half {
        true => [i.min(j), i.max(j)],
        false => [i, j],
    }
}

/// How often a list has each of its pairs.
fn counts(pairs: impl Iterator<Item = [u32; 2]>) -> HashMap<[u32; 2], usize> {
    let mut counts = HashMap::new();
    pairs.for_each(|pair| *counts.entry(pair).or_default() += 1);
    counts
}

/// How often a pair counts; once where the question lists none.
fn times(listed: &Option<HashMap<[u32; 2], usize>>, pair: &Pair) -> usize {
    let own = [pair.i as u32, pair.j as u32];
    let times = |counts: &HashMap<_, _>| counts.get(&own).copied().unwrap_or(0);
    listed.as_ref().map_or(1, times)
}

/// The rows and the value of each listed pair, NaN where it is left out.
fn listed(f: &Grouped, v: &Listed, kept: &[&Pair]) -> Vec<Wanted> {
    let pairs = f.parts.listed.iter().flat_map(|listed| listed.pairs.iter());
    let value = |pair: &&Pair| ([pair.i as u32, pair.j as u32], pair.roots[v.root][0]);
    let values: HashMap<[u32; 2], f64> = kept.iter().map(value).collect();
    let line = |own: &[u32; 2]| {
        let value = values.get(&named(f, *own)).copied().unwrap_or(f64::NAN);
        [f64::from(own[0]), f64::from(own[1]), value].map(Wanted::exactly)
    };
    pairs.flat_map(line).collect()
}

/// A histogram for each pair of groups; in a triangular domain {a, b} is one pair.
fn tables(f: &Grouped, h: &Histogram, kept: &[&Pair]) -> Vec<Wanted> {
    let half = f.parts.half;
    let groups = f.parts.by.as_ref().map_or(1, RowKeys::len) as u32;
    let mut out = vec![];
    let batches = f.parts.batches;
    for a in 0..groups {
        let paired = |b: &u32| if batches { a == *b } else { !half || a <= *b };
        for b in (0..groups).filter(paired) {
            let is_of = |pair: &&&Pair| is_of_groups(f, pair, [a, b]);
            let of: Vec<&Pair> = kept.iter().filter(is_of).copied().collect();
            let named = match (&f.parts.by, batches) {
                (None, _) => vec![],
                (Some(_), true) => vec![a],
                (Some(_), false) => vec![a, b],
            };
            out.extend(table(h, &named, &of));
        }
    }
    out
}

/// Whether a pair is one of these groups; in a triangular domain {a, b} is one pair.
fn is_of_groups(f: &Grouped, pair: &Pair, [a, b]: [u32; 2]) -> bool {
    f.parts.by.as_ref().is_none_or(|by| {
        let [x, y] = [code(by, 0, pair.i), code(by, 1, pair.j)];
        [x, y] == [a, b] || f.parts.half && [y, x] == [a, b]
    })
}

/// The lines of one histogram, after the groups that it is of.
fn table(h: &Histogram, groups: &[u32], pairs: &[&Pair]) -> Vec<Wanted> {
    let parts = histogram(h, pairs);
    let bins: Vec<usize> = h.axes.iter().map(|axis| axis.edges.len() - 1).collect();
    let mut out = vec![];
    for line in 0..bins.iter().product::<usize>() {
        out.extend(groups.iter().map(|g| Wanted::exactly(f64::from(*g))));
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

/// The lines of batches that have results of their own, of folds that have one without batches too.
fn apart(f: &Grouped, kept: &[&Pair]) -> Option<Vec<Wanted>> {
    match &*f.inner {
        Fold::Top(t) => Some(by_batch(f, kept, |pairs| {
            let best = top(t, pairs);
            best.chunks(3).map(|line| exactly(line.to_vec())).collect()
        })),
        Fold::Reduce(r) if r.axis == ReduceAxis::All => Some(by_batch(f, kept, |pairs| {
            let all = row(r, &both_ways(f, r, pairs));
            all.into_iter().map(|number| vec![number]).collect()
        })),
        Fold::Reduce(_)
        | Fold::Histogram(_)
        | Fold::Join(_)
        | Fold::Nearest(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Dense(_)
        | Fold::Extremes(_)
        | Fold::Grouped(_) => None,
    }
}

/// The values of pairs with the row that is folded away; of half of the pairs both ways, unless a pair
/// counts once.
fn both_ways<'p>(f: &Grouped, r: &Reduce, pairs: &[&'p Pair]) -> Vec<Taken<'p>> {
    let ways = |p: &&'p Pair| {
        let back = f.parts.half && !r.once && p.i != p.j;
        let value = &p.roots[r.root][..];
        [Some((value, p.j)), back.then_some((value, p.i))]
    };
    pairs.iter().flat_map(ways).flatten().collect()
}

/// The lines of each batch, after its number.
fn by_batch(
    f: &Grouped,
    kept: &[&Pair],
    answer: impl Fn(&[&Pair]) -> Vec<Vec<Wanted>>,
) -> Vec<Wanted> {
    let Some(by) = &f.parts.by else { return vec![] };
    let mut out = vec![];
    for batch in 0..by.len() as u32 {
        let own = kept.iter().copied();
        let own: Vec<&Pair> = own.filter(|pair| code(by, 0, pair.i) == batch).collect();
        for line in answer(&own) {
            out.push(Wanted::exactly(f64::from(batch)));
            out.extend(line);
        }
    }
    out
}

/// The matrix of each batch that has a pair: its number, the rows and the value at each place.
fn matrices(job: &Job, f: &Grouped, v: &Listed, kept: &[&Pair]) -> Vec<Wanted> {
    let Some(by) = &f.parts.by else { return vec![] };
    let values = by_rows(job, v.root, kept);
    let condensed = v.places == ListedPlaces::Condensed;
    let line = |batch: u32, [i, j]: [usize; 2]| {
        let value = values.get(&[i, j]).copied().unwrap_or(f64::NAN);
        [f64::from(batch), i as f64, j as f64, value].map(Wanted::exactly)
    };
    let mut out = vec![];
    for batch in 0..by.len() as u32 {
        let all = pairs_of(job, by, batch);
        let there = |pair: &[usize; 2]| {
            is_visited(job, pair[0], pair[1]) && f.parts.window.holds(pair[0], pair[1])
        };
        if all.iter().any(there) {
            let own = all.iter().filter(|[i, j]| !condensed || i < j);
            out.extend(own.flat_map(|pair| line(batch, *pair)));
        }
    }
    out
}

/// The values of a root by pair, in a triangular domain both ways.
fn by_rows(job: &Job, root: usize, kept: &[&Pair]) -> HashMap<[usize; 2], f64> {
    let mut values = HashMap::new();
    for pair in kept {
        values.insert([pair.i, pair.j], pair.roots[root][0]);
        if job.space.is_triangular() {
            values.insert([pair.j, pair.i], pair.roots[root][0]);
        }
    }
    values
}

/// All pairs of rows of a batch, in order.
fn pairs_of(job: &Job, by: &RowKeys, batch: u32) -> Vec<[usize; 2]> {
    let rows = |side: usize, count: usize| {
        let own = move |row: &usize| code(by, side, *row) == batch;
        (0..count).filter(own)
    };
    let with_all = |i: usize| rows(1, job.space.m).map(move |j| [i, j]);
    rows(0, job.space.n).flat_map(with_all).collect()
}

/// Whether results are those of rows of y.
fn is_by_column(f: &Grouped) -> bool {
    matches!(&*f.inner, Fold::Reduce(r) if r.axis == ReduceAxis::Column)
}

/// Results of each row for each group of other rows.
fn by_row(job: &Job, f: &Grouped, kept: &[&Pair]) -> Vec<Wanted> {
    let by = f.parts.by.as_ref().filter(|_| !f.parts.batches);
    let groups = by.map_or(1, RowKeys::len);
    let side = usize::from(is_by_column(f));
    let count = [job.space.n, job.space.m][side];
    let mut rows: Vec<Vec<&Pair>> = vec![vec![]; count * groups];
    for pair in kept {
        let both = [pair.i, pair.j];
        let other = 1 - side;
        let group = by.map_or(0, |by| code(by, other, both[other]));
        rows[both[side] * groups + group as usize].push(pair);
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
            let down = is_by_column(f);
            let taken = pairs.iter().map(|p| {
                let other = if down { p.i } else { p.j };
                (&p.roots[r.root][..], other)
            });
            row(r, &taken.collect::<Vec<Taken<'_>>>())
        }
        Fold::Quantile(q) => exactly(quantiles(q, values(q.root))),
        Fold::Nearest(n) => {
            let apart = f.parts.by.is_some() && !f.parts.batches;
            let index = [Some(i), apart.then_some(group)];
            neighbours(n, index, values(n.root))
        }
        Fold::Histogram(_)
        | Fold::Join(_)
        | Fold::Top(_)
        | Fold::Dense(_)
        | Fold::Extremes(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => vec![],
    }
}

/// The lines of the nearest of a row, after its number and perhaps that of a group.
fn neighbours(n: &Nearest, index: [Option<usize>; 2], values: Vec<(f64, usize)>) -> Vec<Wanted> {
    let found = nearest(n, vec![values]);
    let line = |rank: usize| {
        let line = index.into_iter().flatten().chain([rank]);
        let line = line.map(|v| Wanted::exactly(v as f64));
        let found = found.iter().map(move |(_, numbers)| numbers[rank]);
        line.chain(found).collect::<Vec<_>>()
    };
    (0..n.k).flat_map(line).collect()
}

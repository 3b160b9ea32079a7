//! Results in one form, compared bit for bit: numbers of a fold, in a canonical order.

use zipfold::Output;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{
    Fold, Histogram, HistogramState, JoinState, Kept, Nearest, NearestState, Reduce, ReduceState,
    State,
};

/// The numbers of a fold's result, by part; parts are `values`, or what the fold has.
pub type Numbers = Vec<(&'static str, Vec<f64>)>;

/// The numbers of a state; none of a state of another fold.
pub fn of_state(fold: &Fold, state: &State) -> Numbers {
    match fold {
        Fold::Reduce(f) => of_kept(state, |s| rows(f, s)),
        Fold::Nearest(f) => of_kept(state, |s| nearest(f, s)),
        Fold::Histogram(f) => of_kept(state, |s| counts(f, s)),
        Fold::Join(_) => of_kept(state, matches),
        Fold::Dense(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => lines(fold, state),
    }
}

fn of_kept<K: Kept>(state: &State, numbers: impl Fn(&K) -> Numbers) -> Numbers {
    K::within(state).map_or_else(Vec::new, numbers)
}

fn rows(fold: &Reduce, state: &ReduceState) -> Numbers {
    // Of one result in all only the sum of counts is part of the answer.
    let counts: Vec<f64> = match fold.axis {
        ReduceAxis::All => vec![state.counts().iter().sum::<u64>() as f64],
        ReduceAxis::Row | ReduceAxis::Column => state.counts().iter().map(|c| *c as f64).collect(),
    };
    vec![("values", state.finish(fold)), ("counts", counts)]
}

fn nearest(fold: &Nearest, state: &NearestState) -> Numbers {
    let (indices, values) = state.finish(fold);
    vec![
        ("values", indices.iter().map(|i| *i as f64).collect()),
        ("distances", values),
    ]
}

/// What the statistics of formulas by bin are called, in their order.
pub(crate) const STATISTICS: [&str; 8] = [
    "statistic 0",
    "statistic 1",
    "statistic 2",
    "statistic 3",
    "statistic 4",
    "statistic 5",
    "statistic 6",
    "statistic 7",
];

fn counts(fold: &Histogram, state: &HistogramState) -> Numbers {
    let counts = state.counts.iter().map(|c| *c as f64).collect();
    let mut out = vec![("values", counts)];
    out.extend(state.weights().map(|w| ("sums", w)));
    out.extend(state.means().map(|m| ("means", m)));
    let all = fold.statistics(state).map(|(_, numbers)| numbers);
    out.extend(STATISTICS.into_iter().zip(all));
    out
}

fn matches(state: &JoinState) -> Numbers {
    let mut state = state.clone();
    zipfold::internals::matches::sort(&mut state);
    let pairs = state.i.iter().zip(&state.j);
    let mut flat: Vec<f64> = pairs.flat_map(|(i, j)| [*i as f64, *j as f64]).collect();
    flat.extend(state.matched.iter().map(|m| f64::from(u8::from(*m))));
    vec![("values", flat), ("kept", state.values)]
}

/// The numbers of an answer that is a table, line by line; its columns do not depend on the number
/// of rows.
fn lines(fold: &Fold, state: &State) -> Numbers {
    let Some(answer) = fold.columns(state, 0, 0) else {
        return vec![];
    };
    let columns: Vec<_> = answer
        .columns
        .iter()
        .map(|column| answer.all(column))
        .collect();
    vec![(
        "values",
        (0..answer.lines())
            .flat_map(|line| columns.iter().map(move |c| c.get(line)))
            .collect(),
    )]
}

/// The numbers of what a run gave for a fold.
pub fn of_output(fold: &Fold, output: &Output) -> Numbers {
    match output {
        Output::F64(v) => vec![("values", v.clone())],
        Output::F32(v) => vec![("values", v.iter().map(|v| f64::from(*v)).collect())],
        Output::State(s) => of_state(fold, s),
        Output::Stored => vec![],
        // INVARIANT: an output of a new kind has numbers that somebody has to compare.
        other => panic!("expected an output that is compared, got {other:?}"),
    }
}

/// The same bits; all NaN are one.
pub fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The first difference of two results, in words.
pub fn difference(
    got: &Numbers,
    wanted: &Numbers,
    equal: impl Fn(f64, f64) -> bool,
) -> Option<String> {
    if got.len() != wanted.len() {
        return Some(format!("{} parts, wanted {}", got.len(), wanted.len()));
    }
    for ((part, got), (_, wanted)) in got.iter().zip(wanted) {
        if got.len() != wanted.len() {
            return Some(format!(
                "{part}: {} numbers, wanted {}",
                got.len(),
                wanted.len()
            ));
        }
        let odd = (0..got.len()).find(|at| !equal(got[*at], wanted[*at]));
        if let Some(at) = odd {
            return Some(format!(
                "{part}[{at}] is {:e}, wanted {:e}",
                got[at], wanted[at]
            ));
        }
    }
    None
}

/// Within `bound`, relative above 1.
pub fn close(a: f64, b: f64, bound: f64) -> bool {
    same(a, b) || a == b || (b.is_finite() && (a - b).abs() <= bound * b.abs().max(1.0))
}

//! Results in one form, compared bit for bit: numbers of a fold, in a canonical order.

use zipfold::Output;
use zipfold_core::fold::rows::Along;
use zipfold_core::fold::{Fold, State};

/// The numbers of a fold's result, by part; parts are `values`, or what the fold has.
pub type Numbers = Vec<(&'static str, Vec<f64>)>;

/// The numbers of a state.
pub fn of_state(fold: &Fold, state: &State) -> Numbers {
    match (fold, state) {
        (Fold::Rows(f), State::Rows(s)) => {
            // Of one result in all only the sum of counts is part of the answer.
            let counts: Vec<f64> = match f.along {
                Along::All => vec![s.counts().iter().sum::<u64>() as f64],
                _ => s.counts().iter().map(|c| *c as f64).collect(),
            };
            vec![("values", s.finish(f)), ("counts", counts)]
        }
        (Fold::Nearest(f), State::Nearest(s)) => {
            let (indices, values) = s.finish(f);
            vec![
                ("values", indices.iter().map(|i| *i as f64).collect()),
                ("distances", values),
            ]
        }
        (Fold::Histogram(_), State::Histogram(s)) => {
            let counts = s.counts.iter().map(|c| *c as f64).collect();
            let mut out = vec![("values", counts)];
            out.extend(s.weights().map(|w| ("sums", w)));
            out.extend(s.means().map(|m| ("means", m)));
            out
        }
        (Fold::Select(_), State::Select(s)) => {
            let mut s = s.clone();
            zipfold::internals::matches::sort(&mut s);
            let mut flat: Vec<f64> =
                s.i.iter()
                    .zip(&s.j)
                    .flat_map(|(i, j)| [*i as f64, *j as f64])
                    .collect();
            flat.extend(s.matched.iter().map(|m| f64::from(u8::from(*m))));
            vec![("values", flat), ("kept", s.values)]
        }
        (fold, state) => lines(fold, state),
    }
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

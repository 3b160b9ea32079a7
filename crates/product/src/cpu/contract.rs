//! One contraction in the scaled form: the domain by the ranges of its inputs.

use super::bounds::Bounds;
use super::buffer_pool::{Held, Room};
use super::products::{Contracted, Fold};
use super::real::Real;
use super::scaled::{Data, Scaled, exponentials, log_range};
use super::shape::Shape;
use zipfold_core::{Blame, Result};

/// Contracts `inputs` as `shape` says.
///
/// # Errors
/// `Resource` when the budget is spent.
pub fn contract<T: Contracted>(
    shape: &Shape,
    inputs: &[&Scaled<T>],
    fold: Fold,
    room: &Room,
) -> Result<Scaled<T>> {
    let bounds = Bounds::of_product::<T>(shape, inputs.iter().map(|t| t.bounds()), fold);
    let linear: Option<Vec<&[T]>> = inputs
        .iter()
        .map(|t| match &t.data {
            Data::Linear(x) => Some(&x.items[..]),
            Data::Log(_) => None,
        })
        .collect();
    match (linear, bounds.linear) {
        (Some(tables), Some(out_bounds)) => {
            let mut out = Held::blank(shape.out_len, room, "a table of the contraction")?;
            T::products(shape, &tables, fold, &mut out.items);
            if out_bounds.are_far::<T>() {
                return Ok(Scaled::linear(out, bounds.exponent));
            }
            Ok(Scaled {
                data: Data::Linear(out),
                exponent: bounds.exponent,
                low: out_bounds.low,
                high: out_bounds.high,
            })
        }
        _ => logarithmic(shape, inputs, fold, bounds.exponent, room),
    }
}

/// Logarithms of each table that has none; those that are logarithms already are read where they
/// lie.
fn missing_logs<T: Real>(inputs: &[&Scaled<T>], room: &Room) -> Result<Vec<Option<Held<f64>>>> {
    let made = inputs.iter().map(|table| match &table.data {
        Data::Linear(_) => {
            let log = |at| table.ln(at);
            Held::make(table.len(), room, "logarithms of a table", log).map(Some)
        }
        Data::Log(_) => Ok(None),
    });
    made.collect()
}

/// The log domain: rows with exponents of their own, or true log-sum-exp with a maximum for every
/// entry of the result.
fn logarithmic<T: Real>(
    shape: &Shape,
    inputs: &[&Scaled<T>],
    fold: Fold,
    exponent: i64,
    room: &Room,
) -> Result<Scaled<T>> {
    let made = missing_logs(inputs, room)?;
    let mut views: Vec<&[f64]> = Vec::with_capacity(inputs.len());
    for (made, table) in made.iter().zip(inputs) {
        match (made, &table.data) {
            (Some(logs), _) | (None, Data::Log(logs)) => views.push(&logs.items),
            (None, Data::Linear(_)) => {}
        }
    }
    if fold == Fold::Sum {
        match super::rows::contract(shape, &views, room) {
            Ok(Some(out)) => return back_to_linear(out, exponent, room),
            // The way below copies nothing.
            Ok(None) => {}
            Err(e) if e.blame() == Blame::Resource => {}
            Err(e) => return Err(e),
        }
    }
    let mut out = Held::blank(shape.out_len, room, "a table of the contraction")?;
    match fold {
        Fold::Sum => f64::log_sums(shape, &views, &mut out.items),
        Fold::Max => f64::log_maxima(shape, &views, &mut out.items),
    }
    back_to_linear(out, exponent, room)
}

/// A table of logarithms in mantissas again, if its range allows.
fn back_to_linear<T: Real>(logs: Held<f64>, exponent: i64, room: &Room) -> Result<Scaled<T>> {
    let (low, high) = log_range(&logs.items);
    let bits = (high - low) * std::f64::consts::LOG2_E;
    if high > f64::NEG_INFINITY && bits > f64::from(T::LIMIT) {
        return Ok(Scaled {
            data: Data::Log(logs),
            exponent,
            low: 0,
            high: 0,
        });
    }
    let middle = if high > f64::NEG_INFINITY {
        ((low + high) / 2.0 * std::f64::consts::LOG2_E).round()
    } else {
        0.0
    };
    // Without room for a copy it stays as it is.
    let Ok(mut items) = Held::blank(logs.items.len(), room, "a table of the contraction") else {
        return Ok(Scaled {
            data: Data::Log(logs),
            exponent,
            low: 0,
            high: 0,
        });
    };
    exponentials(
        &logs.items,
        middle * std::f64::consts::LN_2,
        &mut items.items,
    );
    Ok(Scaled::linear(items, exponent + middle as i64))
}

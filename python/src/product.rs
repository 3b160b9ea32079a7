//! Sum-products over bare tables and any of the named semirings.

use crate::errors::{raise, words};
use crate::watch::attended;
use numpy::PyArray1;
use pyo3::prelude::*;
use zipfold::Warnings;
use zipfold::devices::DeviceSelector;
use zipfold::internals::contract::{Numeric, contract_numbers};
use zipfold::internals::contract::{contract_maxima, contract_minima, contract_sums};
use zipfold::network::{Bare, Settings, contract_logs};
use zipfold::{Error, Result};

/// What is multiplied: `(cards, tables, keep)`.
#[derive(FromPyObject)]
pub(crate) struct Product(Vec<usize>, Vec<Bare<f64>>, Vec<usize>);

/// The table over `keep` of the product of all tables; rows-major, the last variable fastest.
#[pyfunction]
#[pyo3(signature = (semiring, product, memory, threads, device=None))]
pub(crate) fn sum_product<'py>(
    py: Python<'py>,
    semiring: &str,
    product: Product,
    memory: Option<u64>,
    threads: usize,
    device: Option<&str>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Vec<String>)> {
    let wanted = device
        .map_or(Ok(DeviceSelector::Cpu), DeviceSelector::parse)
        .map_err(|e| raise(py, &e))?;
    let warnings = Warnings::default();
    let told = warnings.clone();
    let done = attended(py, false, None, |_| {
        zipfold::internals::pool::within(threads, || {
            let memory = memory.unwrap_or_else(crate::options::available_memory);
            let settings = Settings {
                memory,
                device: wanted,
                warnings: told,
                ..Settings::default()
            };
            over(semiring, &product, &settings)
        })
    })?;
    let values = done.and_then(|r: Result<_>| r).map_err(|e| raise(py, &e))?;
    let told = warnings.all().iter().map(|w| w.told(words)).collect();
    Ok((PyArray1::from_vec(py, values), told))
}

/// The product by a named semiring.
fn over(semiring: &str, product: &Product, how: &Settings) -> Result<Vec<f64>> {
    let Product(cards, tables, keep) = product;
    let host = how.device == DeviceSelector::Cpu;
    match semiring {
        "sum-product" if !host => contract_numbers(Numeric::Sum, cards, tables, keep, how),
        "max-product" if !host => contract_numbers(Numeric::Max, cards, tables, keep, how),
        "log-sum-exp" if !host => contract_numbers(Numeric::LogSum, cards, tables, keep, how),
        "min-sum" | "or-and" if matches!(how.device, DeviceSelector::Devices(..)) => {
            Err(no_device_for(semiring))
        }
        "sum-product" => contract_sums(cards, tables, keep, how),
        "max-product" => contract_maxima(cards, tables, keep, how),
        "log-sum-exp" => contract_logs(cards, tables, keep, how),
        "min-sum" => contract_minima(cards, tables, keep, how),
        "or-and" => or_and(product, how),
        other => Err(Error::request(format!("no semiring '{other}'"))
            .at_place("semiring")
            .remedy("sum-product, max-product, log-sum-exp, min-sum or or-and")),
    }
}

fn no_device_for(semiring: &str) -> Error {
    Error::request(format!("a device does not fold by {semiring}"))
        .at_place("device")
        .remedy("leave out device, or one of sum-product, max-product, log-sum-exp")
}

/// The product of the truth of numbers: 1 where some combination of values has no zero. Maxima of
/// products of zeros and ones are exact.
fn or_and(Product(cards, tables, keep): &Product, how: &Settings) -> Result<Vec<f64>> {
    let truth = |v: &f64| f64::from(u8::from(*v != 0.0));
    let truths = |(scope, values): &Bare<f64>| (scope.clone(), values.iter().map(truth).collect());
    let tables: Vec<Bare<f64>> = tables.iter().map(truths).collect();
    let some = contract_maxima(cards, &tables, keep, how)?;
    Ok(some.iter().map(truth).collect())
}

//! Matrices of all pairs: values, weights, topological overlaps (Zhang and Horvath 2005).
//!
//! ```text
//! a(i, j)    the weight of a pair, 0 of a row with itself
//! overlap    (Σ a(i, u) a(u, j) + a(i, j)) / (min(k(i), k(j)) + 1 − a(i, j)),  k(i) = Σ a(i, u)
//! ```
//!
//! The sums are products of rows of weights: questions of the engine, a strip at a time.

use super::asked::Association;
use super::expression::Expression;
use super::measures::{Measured, prepared_bytes, products, products_problem, stop};
use super::sweep::Sweeps;
use crate::options::Options;
use crate::pool::within;
use rayon::prelude::*;
use zipfold_core::budget::Reserved;
use zipfold_core::number::pow;
use zipfold_core::{Data, Elements, Error, Opt, Result, Table, Words};
use zipfold_io::{Column, OutputOptions, write_array};

/// Rows of overlaps that are computed together.
const STRIP: usize = 512;

/// What a matrix of all pairs has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dense {
    /// The measure; 1 of a row with itself, NaN of mutual information with itself.
    Values,
    /// Powers of values.
    Weights,
    /// Topological overlaps of weights; 1 of a row with itself.
    Overlaps,
}

/// A symmetric matrix with a name for each row.
///
/// ```
/// use zipfold::internals::association::{Association, Dense, DenseMatrix, Expression};
/// use zipfold::{Options, Table};
/// let table = Table::f64(3, 4, vec![1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 5.0, 4.0, 1.0, 2.0, 0.0])?;
/// let (asked, options) = (Association::new("genes"), Options::default());
/// let rows = Expression::new(&table, &asked, &options.budget)?;
/// let overlaps: DenseMatrix = asked.matrix(&rows, Dense::Overlaps, Some(6.0), &options)?;
/// let values = overlaps.values();
/// assert_eq!((values.len(), values[0], values[1]), (9, 1.0, values[3]));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Debug)]
pub struct DenseMatrix {
    names: Words,
    values: Reserved<f64>,
}

impl DenseMatrix {
    /// All values, row by row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values.items
    }
    /// The values, without a copy.
    #[must_use]
    pub fn into_values(self) -> Vec<f64> {
        self.values.items
    }
    /// Writes an array (`.npy`), or a table with names (`.csv`, `.tsv`).
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, options: OutputOptions) -> Result<()> {
        let values = Column::F64(&self.values.items);
        let n = self.names.rows();
        match path.ends_with(".npy") {
            true => write_array(path, &[n, n], values, options),
            false => {
                let names = [&self.names, &self.names];
                zipfold_io::write::write_matrix(path, names, values, options)
            }
        }
    }
}

fn no_power() -> Error {
    Error::request("expected a power of weights, got none")
        .at_place(Opt::Power)
        .remedy(Opt::Power.to(6))
}

impl Association {
    /// Refuses, before any work, a matrix that this question does not give: weights without a power.
    ///
    /// # Errors
    /// `Request`.
    pub fn refuse_matrix(&self, dense: Dense) -> Result<()> {
        match (dense, self.power) {
            (Dense::Weights | Dense::Overlaps, None) => Err(no_power()),
            (Dense::Values, _) | (_, Some(_)) => Ok(()),
        }
    }
    /// A matrix of all pairs of `rows`; weights and overlaps are those of `power`.
    ///
    /// # Errors
    /// `Resource` for a matrix that the memory does not hold; those of [`Association::network`].
    pub fn matrix(
        &self,
        rows: &Expression,
        dense: Dense,
        power: Option<f64>,
        options: &Options<'_>,
    ) -> Result<DenseMatrix> {
        let values = match (dense, power) {
            (Dense::Values, _) => self.filled(rows, &|value| value, 1.0, options)?,
            (_, None) => return Err(no_power()),
            (Dense::Weights, Some(power)) => {
                let weight = |value: f64| pow(self.sign.base(value), power);
                self.filled(rows, &weight, 1.0, options)?
            }
            (Dense::Overlaps, Some(power)) => {
                let weight = |value: f64| pow(self.sign.base(value), power);
                let weights = self.filled(rows, &weight, 0.0, options)?;
                overlaps(weights, rows.rows(), options)?
            }
        };
        Ok(DenseMatrix {
            names: rows.names.clone(),
            values,
        })
    }
    /// The matrix of `make` of the values of all pairs, with `own` on its diagonal.
    fn filled(
        &self,
        rows: &Expression,
        make: &(dyn Fn(f64) -> f64 + Sync),
        own: f64,
        options: &Options<'_>,
    ) -> Result<Reserved<f64>> {
        let n = rows.rows();
        let budget = &options.budget;
        let mut matrix = budget.vec(n * n, make(f64::NAN), "a matrix of all pairs")?;
        let plain = Association {
            permutations: 0,
            ..self.clone()
        };
        let bytes = prepared_bytes(&plain, n, rows.samples);
        let _prepared = budget.reserve(bytes, "the rows prepared for the measure")?;
        let measured = Measured::new(&plain, rows, options)?;
        let _strip = budget.reserve(2 * measured.bytes(), "a strip of values of pairs")?;
        let mut sweeps = Sweeps::new(&measured, n, options);
        let own = if self.measure.is_correlation() {
            own
        } else {
            f64::NAN
        };
        let items = &mut matrix.items;
        sweeps.each("matrix", &mut |strip| {
            let lines = items.par_chunks_mut(n.max(1)).enumerate();
            lines.skip(strip.rows.start).for_each(|(g, line)| {
                for pair in strip.around(g) {
                    line[pair.i + pair.j - g] = make(pair.value);
                }
                if strip.rows.contains(&g) {
                    line[g] = if rows.varies[g] { own } else { make(f64::NAN) };
                }
            });
            Ok(())
        })?;
        Ok(matrix)
    }
}

/// The topological overlaps of a matrix of weights whose diagonal is 0.
fn overlaps(weights: Reserved<f64>, n: usize, options: &Options<'_>) -> Result<Reserved<f64>> {
    let mut out = options.budget.vec(n * n, 0.0, "a matrix of all pairs")?;
    let _strip = options
        .budget
        .reserve((2 * STRIP * n * 8) as u64, "a strip of overlaps")?;
    let degrees: Vec<f64> = weights
        .items
        .chunks(n.max(1))
        .map(|row| row.iter().sum())
        .collect();
    // The engine and this function share the weights.
    let all = Table::new(n, n, Elements::F64(weights.into()))?;
    let Elements::F64(weights) = all.elements() else {
        return Err(Error::internal("weights of another type"));
    };
    for first in (0..n).step_by(STRIP) {
        stop(options)?;
        let last = (first + STRIP).min(n);
        let data = Data {
            pairs: None,
            x: Table::f64(last - first, n, weights[first * n..last * n].to_vec())?,
            y: Some(all.clone()),
            weights: vec![None],
        };
        let shared = products(&products_problem(), &data, options)?;
        let lines = out.items[first * n..last * n].par_chunks_mut(n);
        within(options.threads, || {
            let rows = lines.zip(shared.par_chunks(n)).enumerate();
            rows.for_each(|(at, (out, shared))| {
                let i = first + at;
                overlap(i, &weights[i * n..][..n], &degrees, shared, out);
            });
        })?;
    }
    Ok(out)
}

/// The overlaps of row i, of its weights and of the sums over shared neighbours.
fn overlap(i: usize, weights: &[f64], degrees: &[f64], shared: &[f64], out: &mut [f64]) {
    for (j, out) in out.iter_mut().enumerate() {
        let least = degrees[i].min(degrees[j]);
        *out = match i == j {
            true => 1.0,
            false => (shared[j] + weights[j]) / (least + 1.0 - weights[j]),
        };
    }
}

//! Sums and maxima of products of bare tables: the kernel by cost.

use super::bucket::{self, Mode};
use super::direct::{Buffers, InPlaceContraction, Logs, LoopOrder};
use super::matrix::{self, GemmMapping};
use super::real::Real;
use super::shape::Shape;
use super::vectors::Vectors;

/// How summed variables leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// By sums.
    Sum,
    /// By maxima.
    Max,
}

/// Times the arithmetic of a matrix product that the bucket kernel takes for one of two tables.
const BUCKET: f64 = 8.0;

/// Configurations from which tables are taken as they lie, where the predicted cycles are at most
/// so many times those of the kernel that packs them: what the copies cost in memory is not in the
/// prediction.
const DIRECT: f64 = 1e6;
const SPARED: f64 = 3.0;

/// Element types of tables that are contracted.
///
/// The kernels are compiled for each type here, once: a generic function would be compiled again in
/// every crate that calls it.
pub trait Contracted: Real {
    /// Sums or maxima of products by the kernel that fits the shape.
    fn products(shape: &Shape, tables: &[&[Self]], fold: Fold, out: &mut [Self]);
    /// Sums of products of logarithms, with a maximum for every entry of the result.
    fn log_sums(shape: &Shape, tables: &[&[Self]], out: &mut [Self]);
    /// Maxima of products of logarithms.
    fn log_maxima(shape: &Shape, tables: &[&[Self]], out: &mut [Self]);
    /// A contraction of tables where they lie.
    fn in_place(
        way: &InPlaceContraction,
        tables: [&[Self]; 2],
        logs: Logs<Self>,
        buffers: &mut Buffers<Self>,
        out: &mut [Self],
    );
}

macro_rules! contracted {
    ($($kind:ty),*) => {$(
        impl Contracted for $kind {
            fn products(shape: &Shape, tables: &[&[Self]], fold: Fold, out: &mut [Self]) {
                products(shape, tables, fold, out);
            }
            fn log_sums(shape: &Shape, tables: &[&[Self]], out: &mut [Self]) {
                bucket::contract(shape, tables, Mode::LogSum, out);
            }
            fn log_maxima(shape: &Shape, tables: &[&[Self]], out: &mut [Self]) {
                bucket::contract(shape, tables, Mode::LogMax, out);
            }
            fn in_place(
                way: &InPlaceContraction,
                tables: [&[Self]; 2],
                logs: Logs<Self>,
                buffers: &mut Buffers<Self>,
                out: &mut [Self],
            ) {
                way.run(tables, logs, buffers, out);
            }
        }
    )*};
}
contracted!(f32, f64);

/// Sums or maxima of products by the kernel that fits the shape.
fn products<T: Real>(shape: &Shape, tables: &[&[T]], fold: Fold, out: &mut [T]) {
    let max = fold == Fold::Max;
    if let [a, b] = tables {
        let matrices = GemmMapping::recognise(shape);
        let most = if matrices.is_some() {
            matrix::cost(shape)
        } else {
            BUCKET
        };
        if !max
            && shape.visits() >= DIRECT
            && let Some(way) = LoopOrder::within(shape, T::LANES)
            && way.cost < SPARED * most * shape.visits() / T::LANES as f64
        {
            return way.plan([a.len(), b.len()], T::LANES).run(
                [a, b],
                Logs::NONE,
                &mut Buffers::default(),
                out,
            );
        }
        if let Some(vectors) = Vectors::recognise(shape, T::LANES, most) {
            return vectors.run([a, b], max, out);
        }
        if let Some(matrices) = matrices {
            return matrices.run([a, b], max, out);
        }
    }
    bucket::contract(shape, tables, if max { Mode::Max } else { Mode::Sum }, out);
}

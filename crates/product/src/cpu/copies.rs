//! A table of a run: its copy on the host, its copy on a device, or both.

use super::bounds::{Bounds, Ends};
use super::buffer_pool::{Held, Room};
use super::products::Fold;
use super::real::Real;
use super::scaled::{Data, Scaled, exponents};
use super::shape::Shape;
use crate::remote::{Numbers, Remote};
use zipfold_core::{Error, Result};

/// A table on a device, in the scaled form.
pub struct There {
    numbers: Numbers,
    len: usize,
    ends: Ends,
}

impl std::fmt::Debug for There {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "There({} {:?})", self.len, self.ends)
    }
}

/// The copies of one table; none before it is made and after its last use.
#[derive(Debug)]
pub struct Copies<T: Real> {
    /// On the host.
    pub here: Option<Scaled<T>>,
    /// On the device.
    pub there: Option<There>,
}

impl<T: Real> Copies<T> {
    /// No copy.
    pub const NONE: Self = Copies {
        here: None,
        there: None,
    };

    /// A table on the host.
    pub fn here(table: Scaled<T>) -> Self {
        Copies {
            here: Some(table),
            there: None,
        }
    }
    /// Sees to it that a copy is on the device; `false` for a table of logarithms, which stays on
    /// the host.
    ///
    /// # Errors
    /// Those of [`Remote::send`].
    pub fn send(&mut self, remote: &dyn Remote) -> Result<bool> {
        if self.there.is_some() {
            return Ok(true);
        }
        let Some(table) = &self.here else {
            return Ok(false);
        };
        let Data::Linear(items) = &table.data else {
            return Ok(false);
        };
        let numbers = remote.send(T::items(&items.items))?;
        self.there = Some(There {
            numbers,
            len: table.len(),
            ends: table.bounds(),
        });
        Ok(true)
    }
    /// Sees to it that a copy is on the host.
    ///
    /// # Errors
    /// `Resource` when the budget is spent, `Internal` where there is no copy within reach, and
    /// those of [`Remote::bring`].
    pub fn bring(&mut self, remote: Option<&dyn Remote>, room: &Room) -> Result<()> {
        if self.here.is_some() {
            return Ok(());
        }
        let (Some(there), Some(remote)) = (&self.there, remote) else {
            return Err(Error::internal(
                "a table that is neither on the host nor on a device",
            ));
        };
        let mut items = Held::blank(there.len, room, "a table of the contraction")?;
        remote.bring(&there.numbers, T::items_mut(&mut items.items))?;
        let Ends {
            exponent,
            low,
            high,
        } = there.ends;
        self.here = Some(Scaled {
            data: Data::Linear(items),
            exponent,
            low,
            high,
        });
        Ok(())
    }
}

/// Contracts tables on the device as `shape` says; `None` where a product would leave the type's
/// range, which takes logarithms.
///
/// # Errors
/// Those of `remote`.
pub fn contract<T: Real>(
    shape: &Shape,
    inputs: &[&There],
    fold: Fold,
    remote: &dyn Remote,
) -> Result<Option<There>> {
    let bounds = Bounds::of_product::<T>(shape, inputs.iter().map(|t| t.ends), fold);
    let Some(mut ends) = bounds.linear else {
        return Ok(None);
    };
    let tables: Vec<&Numbers> = inputs.iter().map(|t| &t.numbers).collect();
    let numbers = remote.contract(shape, &tables, fold, shape)?;
    if ends.are_far::<T>() {
        (ends.low, ends.high) = exponents(remote.ends(&numbers)?);
        if ends.are_far::<T>() {
            let middle = (ends.low + ends.high) / 2;
            remote.scale(&numbers, f64::from(-middle).exp2())?;
            ends = Ends {
                exponent: ends.exponent + i64::from(middle),
                low: ends.low - middle,
                high: ends.high - middle,
            };
        }
    }
    Ok(Some(There {
        numbers,
        len: shape.out_len,
        ends,
    }))
}

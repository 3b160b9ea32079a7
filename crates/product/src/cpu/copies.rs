//! A table of a run: its copy on the host, its copy on a device, or both. An input of logarithms
//! waits as such until a join takes it: its mantissas are made where that join runs.

use super::bounds::{Bounds, Ends};
use super::buffer_pool::{Held, Room};
use super::gather::Picked;
use super::products::Fold;
use super::real::Real;
use super::scaled::{Data, LogRange, Scaled, exponents};
use super::shape::Shape;
use crate::remote::{Ending, Numbers, Remote};
use zipfold_core::{Error, Precision, Result};

/// A table on a device, in the scaled form.
pub struct There {
    numbers: Numbers,
    len: usize,
    ends: Ends,
    /// Whether the numbers are natural logarithms of the entries, which no join takes.
    is_log: bool,
}

/// Natural logarithms of an input whose mantissas the type holds, and which it holds as they are.
#[derive(Debug)]
pub struct WaitingLogs<T: Real> {
    items: Held<T>,
    range: LogRange,
}

impl<T: Real> WaitingLogs<T> {
    /// The part of a table of logarithms that `picked` says; `None` where the type does not hold
    /// its mantissas, or all of them are zero.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub(super) fn gathered(picked: &Picked<'_>, room: &Room) -> Result<Option<Self>> {
        let Some(range) = LogRange::found(picked.values).filter(|range| range.fits::<T>()) else {
            return Ok(None);
        };
        // Of a logarithm that is rounded, all digits of its mantissa may be wrong.
        let same = |l: &f64| T::from_f64(*l).to_f64() == *l;
        if T::PRECISION == Precision::F32 && !picked.values.iter().all(same) {
            return Ok(None);
        }
        let mut items = Held::blank(picked.len(), room, "a table")?;
        picked.copy(&mut items.items, T::from_f64);
        Ok(Some(WaitingLogs { items, range }))
    }
    /// Copies the logarithms to a device.
    ///
    /// # Errors
    /// Those of [`Remote::send`].
    pub fn send(&self, remote: &dyn Remote) -> Result<Numbers> {
        remote.send(T::items(&self.items.items))
    }
    /// The mantissas of the logarithms that were sent.
    ///
    /// # Errors
    /// Those of [`Remote::exponentials`].
    pub fn there(&self, sent: &Numbers, remote: &dyn Remote) -> Result<There> {
        Ok(There {
            numbers: remote.exponentials(sent, self.range.shift())?,
            len: self.items.items.len(),
            ends: self.range.ends(),
            is_log: false,
        })
    }
    /// The mantissas on the host.
    fn here(&self, room: &Room) -> Result<Scaled<T>> {
        let logs: Vec<f64> = self.items.items.iter().map(|l| l.to_f64()).collect();
        Scaled::of_logs(&logs, self.range, room)
    }
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
    /// Of an input of logarithms, until it is made on the host.
    pub logs: Option<WaitingLogs<T>>,
}

impl<T: Real> Copies<T> {
    /// No copy.
    pub const NONE: Self = Copies {
        here: None,
        there: None,
        logs: None,
    };

    /// A table on the host.
    pub fn here(table: Scaled<T>) -> Self {
        Copies {
            here: Some(table),
            ..Copies::NONE
        }
    }
    /// A table on a device.
    pub fn there(table: There) -> Self {
        Copies {
            there: Some(table),
            ..Copies::NONE
        }
    }
    /// An input of logarithms that waits.
    pub fn waiting(logs: WaitingLogs<T>) -> Self {
        Copies {
            logs: Some(logs),
            ..Copies::NONE
        }
    }
    /// Sees to it that a copy is on the device; `false` for a table of logarithms, which stays on
    /// the host.
    ///
    /// # Errors
    /// Those of [`Remote::send`].
    pub fn send(&mut self, remote: &dyn Remote) -> Result<bool> {
        if let Some(there) = &self.there {
            return Ok(!there.is_log);
        }
        if let Some(logs) = &self.logs {
            self.there = Some(logs.there(&logs.send(remote)?, remote)?);
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
            is_log: false,
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
        if let Some(logs) = &self.logs {
            self.here = Some(logs.here(room)?);
            self.logs = None;
            return Ok(());
        }
        let (Some(there), Some(remote)) = (&self.there, remote) else {
            return Err(Error::internal(
                "a table that is neither on the host nor on a device",
            ));
        };
        let mut items = Held::blank(there.len, room, "a table of the contraction")?;
        remote.bring(&there.numbers, T::items_mut(&mut items.items))?;
        if there.is_log {
            let logs = Held::make(there.len, room, "logarithms of a table", |at| {
                items.items[at].to_f64()
            })?;
            self.here = Some(Scaled::logarithms(logs));
            return Ok(());
        }
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

/// What the result of a join is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Other joins.
    Joins,
    /// The host alone.
    Host,
    /// The host alone, as natural logarithms.
    Logs,
}

/// Contracts tables on the device as `shape` says; `None` where a product would leave the type's
/// range, which takes logarithms. A result for other joins is moved to the middle of the range,
/// which waits for the device.
///
/// # Errors
/// Those of `remote`.
pub fn contract<T: Real>(
    shape: &Shape,
    inputs: &[&There],
    (fold, purpose): (Fold, Purpose),
    remote: &dyn Remote,
) -> Result<Option<There>> {
    let bounds = Bounds::of_product::<T>(shape, inputs.iter().map(|t| t.ends), fold);
    let Some(mut ends) = bounds.linear else {
        return Ok(None);
    };
    let tables: Vec<&Numbers> = inputs.iter().map(|t| &t.numbers).collect();
    let ending = match purpose {
        Purpose::Logs => Ending::Logs(ends.exponent as f64 * std::f64::consts::LN_2),
        Purpose::Joins | Purpose::Host => Ending::Values,
    };
    let numbers = remote.contract(shape, &tables, fold, shape, ending)?;
    if purpose == Purpose::Joins && ends.are_far::<T>() {
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
        is_log: purpose == Purpose::Logs,
    }))
}

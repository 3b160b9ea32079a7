//! Contractions on a device beside the host: what the engine asks of one.

use crate::cpu::Fold;
pub use crate::cpu::real::{Items, ItemsMut};
use crate::cpu::shape::Shape;
use std::any::Any;
use std::fmt::Debug;
use zipfold_core::Result;

/// The numbers of a table on a device, as the device keeps them.
pub type Numbers = Box<dyn Any + Send + Sync>;

/// What the result of a join holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// The entries.
    Values,
    /// Their natural logarithms, each so much larger; −∞ for an entry of zero.
    Logs(f64),
}

/// A device that contracts tables of one type.
pub trait Remote: Debug + Send + Sync {
    /// Copies numbers to the device.
    ///
    /// # Errors
    /// `Resource` when it has no room, `Device` when it fails.
    fn send(&self, items: Items<'_>) -> Result<Numbers>;
    /// Copies numbers back, as many as `to` has.
    ///
    /// # Errors
    /// `Device` when it fails.
    fn bring(&self, numbers: &Numbers, to: ItemsMut<'_>) -> Result<()>;
    /// Folds the products of `inputs`, which are finite and not negative, as `shape` says, to what
    /// `ending` says. Entries have the bits that the join `whole` gives them, of which `shape` is a
    /// piece or all.
    ///
    /// # Errors
    /// `Resource` when it has no room, `Device` when it fails.
    fn contract(
        &self,
        shape: &Shape,
        inputs: &[&Numbers],
        fold: Fold,
        whole: &Shape,
        ending: Ending,
    ) -> Result<Numbers>;
    /// Makes ready what these joins need, all of them next to each other: kernels take longer to
    /// compile, or to load, than most joins take. With each join whether its result is logarithms.
    ///
    /// # Errors
    /// `Device` when it fails.
    fn prepare(&self, joins: &[(Shape, bool)], fold: Fold) -> Result<()>;
    /// `e^(log - shift)` of every number of `logs`, none of which leaves the range of the type.
    ///
    /// # Errors
    /// As [`Remote::contract`].
    fn exponentials(&self, logs: &Numbers, shift: f64) -> Result<Numbers>;
    /// Bytes that it has room for.
    fn room(&self) -> u64;
    /// The least and the greatest number above zero; (∞, 0) if none is.
    ///
    /// # Errors
    /// `Device` when it fails.
    fn ends(&self, numbers: &Numbers) -> Result<(f64, f64)>;
    /// Multiplies all numbers.
    ///
    /// # Errors
    /// `Device` when it fails.
    fn scale(&self, numbers: &Numbers, factor: f64) -> Result<()>;
}

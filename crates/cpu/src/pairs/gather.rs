//! Joins the short runs that a tile's blocks give into the long ones that a file takes well.

use super::engine::{Element, Sink, Values};
use std::collections::HashMap;
use std::sync::Mutex;
use zipfold_core::{Error, Result};

/// Runs of a tile by the offset behind their last element, for every fold.
type Open<T> = HashMap<(usize, usize), Vec<T>>;

/// A sink before a sink: a run that goes on where another ended is appended to it, and all leave at [`Gather::flush`].
pub struct Gather<'s, T> {
    sink: &'s dyn Sink,
    open: Mutex<Open<T>>,
}

impl<'s, T: Element> Gather<'s, T> {
    /// Before `sink`.
    pub fn new(sink: &'s dyn Sink) -> Self {
        Gather { sink, open: Mutex::default() }
    }
    /// Hands over what was gathered, in the order of its places.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn flush(&self) -> Result<()> {
        let mut runs: Vec<((usize, usize), Vec<T>)> = self.lock()?.drain().collect();
        runs.sort_unstable_by_key(|((fold, end), run)| (*fold, end - run.len()));
        runs.iter().try_for_each(|((fold, end), run)| self.sink.put(*fold, end - run.len(), T::values(run)))
    }
    fn lock(&self) -> Result<std::sync::MutexGuard<'_, Open<T>>> {
        self.open.lock().map_err(|_| Error::internal("another thread broke off while it gathered a tile"))
    }
}

impl<T: Element + Send> Sink for Gather<'_, T> {
    fn hold(&self, bytes: u64) -> Result<()> {
        self.sink.hold(bytes)
    }
    fn put(&self, fold: usize, at: usize, values: Values<'_>) -> Result<()> {
        let run = T::run(values).ok_or_else(|| Error::internal("a tile of two precisions"))?;
        let mut open = self.lock()?;
        let mut whole = open.remove(&(fold, at)).unwrap_or_default();
        whole.extend_from_slice(run);
        open.insert((fold, at + run.len()), whole);
        Ok(())
    }
}

//! Joins the short runs that a tile's blocks give into the long ones that a file takes well.

use super::engine::{Element, Sink, Values};
use std::sync::{Mutex, MutexGuard};
use zipfold_core::{Error, Result};

/// A sink before a sink: a run that goes on where another ended is appended to it, and all leave at [`Gather::flush`].
pub struct Gather<'s, T> {
    sink: &'s dyn Sink,
    lines: Mutex<Lines<T>>,
}

/// Runs side by side, each with room for the longest.
struct Lines<T> {
    longest: usize,
    room: Vec<T>,
    runs: Vec<Run>,
    last: usize,
}

#[derive(Clone, Copy)]
struct Run {
    fold: usize,
    start: usize,
    len: usize,
}

impl<T: Element> Lines<T> {
    /// The run that ends at `at`. Blocks come row by row, so it is mostly the one used last or the next.
    fn find(&self, fold: usize, at: usize) -> Option<usize> {
        let ends = |n: &usize| self.runs.get(*n).is_some_and(|r| r.fold == fold && r.start + r.len == at);
        [self.last, self.last + 1].into_iter().find(ends).or_else(|| (0..self.runs.len()).find(ends))
    }
    fn append(&mut self, fold: usize, at: usize, run: &[T]) {
        let known = self.find(fold, at).filter(|n| self.runs[*n].len + run.len() <= self.longest);
        let n = known.unwrap_or_else(|| {
            self.runs.push(Run { fold, start: at, len: 0 });
            self.runs.len() - 1
        });
        let wanted = (n + 1) * self.longest;
        if self.room.len() < wanted {
            self.room.resize(wanted, T::default());
        }
        let from = n * self.longest + self.runs[n].len;
        self.room[from..from + run.len()].copy_from_slice(run);
        self.runs[n].len += run.len();
        self.last = n;
    }
}

impl<'s, T: Element> Gather<'s, T> {
    /// Before `sink`, for runs of at most `longest` elements.
    pub fn new(sink: &'s dyn Sink, longest: usize) -> Self {
        Gather { sink, lines: Mutex::new(Lines { longest, room: vec![], runs: vec![], last: 0 }) }
    }
    /// Hands over what was gathered, in the order of its places.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn flush(&self) -> Result<()> {
        let mut lines = self.lock()?;
        let mut order: Vec<usize> = (0..lines.runs.len()).collect();
        order.sort_unstable_by_key(|n| (lines.runs[*n].fold, lines.runs[*n].start));
        for n in order {
            let Run { fold, start, len } = lines.runs[n];
            let from = n * lines.longest;
            self.sink.put(fold, start, T::values(&lines.room[from..from + len]))?;
        }
        lines.runs.clear();
        Ok(())
    }
    fn lock(&self) -> Result<MutexGuard<'_, Lines<T>>> {
        self.lines.lock().map_err(|_| Error::internal("another thread broke off while it gathered a tile"))
    }
}

impl<T: Element> Sink for Gather<'_, T> {
    fn hold(&self, bytes: u64) -> Result<()> {
        self.sink.hold(bytes)
    }
    fn put(&self, fold: usize, at: usize, values: Values<'_>) -> Result<()> {
        let run = T::run(values).ok_or_else(|| Error::internal("a tile of two precisions"))?;
        self.lock()?.append(fold, at, run);
        Ok(())
    }
}

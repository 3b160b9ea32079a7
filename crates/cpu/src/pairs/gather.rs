//! Joins the short runs that a tile's blocks give into the long ones that a file takes well.

use super::reductions::Element;
use std::sync::{Mutex, MutexGuard};
use zipfold_core::fold::State;
use zipfold_core::{Error, Result};
use zipfold_plan::executor::{Sink, Values};

/// A sink before a sink: a run that goes on where another ended is appended to it, and all leave at
/// [`Gather::flush`].
pub(super) struct Gather<'s, T> {
    sink: &'s dyn Sink,
    lines: Mutex<Lines<T>>,
}

/// Memory of gathers that have ended, for those to come: fresh pages cost as much as filling them.
#[derive(Debug)]
pub(super) struct SpareBuffers<T>(Mutex<Vec<(Vec<T>, Vec<T>)>>);

impl<T> Default for SpareBuffers<T> {
    fn default() -> Self {
        SpareBuffers(Mutex::default())
    }
}

/// Runs side by side, each with room for the longest.
struct Lines<T> {
    longest: usize,
    room: Vec<T>,
    runs: Vec<FoldRun>,
    last: usize,
    joined: Vec<T>,
}

#[derive(Clone, Copy)]
struct FoldRun {
    fold: usize,
    start: usize,
    len: usize,
}

impl<T: Element> Lines<T> {
    /// The run that ends at `at`. Rows come one after another, so it is mostly the one used last or
    /// the next, or not long ago.
    fn find(&self, fold: usize, at: usize) -> Option<usize> {
        let ends = |n: &usize| {
            self.runs
                .get(*n)
                .is_some_and(|r| r.fold == fold && r.start + r.len == at)
        };
        [self.last, self.last + 1]
            .into_iter()
            .find(ends)
            .or_else(|| (0..self.runs.len()).rev().find(ends))
    }
    fn append(&mut self, fold: usize, at: usize, run: &[T]) {
        let known = self
            .find(fold, at)
            .filter(|n| self.runs[*n].len + run.len() <= self.longest);
        let n = known.unwrap_or_else(|| {
            self.runs.push(FoldRun {
                fold,
                start: at,
                len: 0,
            });
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

fn follows(runs: &[FoldRun], m: usize, fold: usize, end: usize) -> bool {
    runs[m].fold == fold && runs[m].start == end
}

impl<'s, T: Element> Gather<'s, T> {
    /// Before `sink`, for runs of at most `longest` elements, in memory from `kept`.
    pub(super) fn new(sink: &'s dyn Sink, longest: usize, kept: &SpareBuffers<T>) -> Self {
        let spare = kept.0.lock().ok().and_then(|mut kept| kept.pop());
        let (room, joined) = spare.unwrap_or_default();
        Gather {
            sink,
            lines: Mutex::new(Lines {
                longest,
                room,
                runs: vec![],
                last: 0,
                joined,
            }),
        }
    }
    /// Gives the memory back.
    pub(super) fn end(self, kept: &SpareBuffers<T>) {
        if let (Ok(mut kept), Ok(lines)) = (kept.0.lock(), self.lines.into_inner()) {
            kept.push((lines.room, lines.joined));
        }
    }
    /// Hands over what was gathered, in the order of its places.
    ///
    /// # Errors
    /// Those of the sink.
    pub(super) fn flush(&self) -> Result<()> {
        let mut lines = self.lock()?;
        let mut order: Vec<usize> = (0..lines.runs.len()).collect();
        order.sort_unstable_by_key(|n| (lines.runs[*n].fold, lines.runs[*n].start));
        let mut order = order.into_iter().peekable();
        let Lines {
            longest,
            room,
            runs,
            joined,
            ..
        } = &mut *lines;
        while let Some(n) = order.next() {
            let FoldRun {
                fold,
                start,
                mut len,
            } = runs[n];
            // Lines that follow each other in the result leave as one, uncopied where they lie so.
            let mut last = n;
            while len == (last + 1 - n) * *longest
                && let Some(m) =
                    order.next_if(|m| *m == last + 1 && follows(runs, *m, fold, start + len))
            {
                len += runs[m].len;
                last = m;
            }
            let whole = &room[n * *longest..][..len];
            if !order
                .peek()
                .is_some_and(|m| follows(runs, *m, fold, start + len))
            {
                self.sink.put(fold, start, T::values(whole))?;
                continue;
            }
            joined.clear();
            joined.extend_from_slice(whole);
            while let Some(m) = order.next_if(|m| follows(runs, *m, fold, start + joined.len())) {
                joined.extend_from_slice(&room[m * *longest..][..runs[m].len]);
            }
            self.sink.put(fold, start, T::values(joined))?;
        }
        lines.runs.clear();
        Ok(())
    }
    fn lock(&self) -> Result<MutexGuard<'_, Lines<T>>> {
        self.lines
            .lock()
            .map_err(|_| Error::internal("another thread broke off while it gathered a tile"))
    }
}

impl<T: Element> Sink for Gather<'_, T> {
    fn hold(&self, bytes: u64) -> Result<()> {
        self.sink.hold(bytes)
    }
    fn grown(&self, states: &mut [State], bytes: [u64; 2], held: &mut u64) -> Result<()> {
        self.sink.grown(states, bytes, held)
    }
    fn put(&self, fold: usize, at: usize, values: Values<'_>) -> Result<()> {
        let run = T::run(values).ok_or_else(|| Error::internal("a tile of two precisions"))?;
        self.lock()?.append(fold, at, run);
        Ok(())
    }
}

//! Long work beside an interpreter that stays awake: signals are seen, progress is told.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use zipfold::Progress;

/// How often the interpreter looks for signals and is told of progress.
const BEAT: Duration = Duration::from_millis(20);

/// What a run and its watcher share.
#[derive(Default)]
pub(crate) struct Shared {
    /// Set to stop the run.
    pub stop: Arc<AtomicBool>,
    pairs: AtomicU64,
    total: AtomicU64,
    /// What the run is doing, and what was told of that.
    phase: Mutex<&'static str>,
    told: Mutex<&'static str>,
}

impl Shared {
    /// Keeps how far the run is.
    pub(crate) fn tell(&self, progress: Progress) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = progress.phase;
        self.pairs.store(progress.pairs, Relaxed);
        self.total.store(progress.total, Relaxed);
    }
}

/// Runs `work` with the interpreter released. Short work runs on this thread. Long work runs on its
/// own, while this one looks for signals (Ctrl-C raises KeyboardInterrupt) and calls
/// `progress(pairs, total)`.
pub(crate) fn attended<R: Send>(
    py: Python<'_>,
    short: bool,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Shared) -> R + Send,
) -> PyResult<R> {
    let shared = Shared::default();
    if short && progress.is_none() {
        return Ok(py.detach(|| work(&shared)));
    }
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, ended) = channel();
            let shared = &shared;
            scope.spawn(move || drop(done.send(work(shared))));
            watch(shared, progress, &ended)
        })
    })
}

/// Waits for the result of a run, with a look at each beat. An exception stops the run, and is
/// raised when it has ended.
fn watch<R>(shared: &Shared, progress: Option<&Py<PyAny>>, ended: &Receiver<R>) -> PyResult<R> {
    let mut raised = None;
    loop {
        match ended.recv_timeout(BEAT) {
            Ok(result) => {
                return raised.map_or_else(|| look(shared, progress).map(|()| result), Err);
            }
            Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                raised = look(shared, progress).err();
                shared.stop.store(raised.is_some(), Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let gone = pyo3::exceptions::PyRuntimeError::new_err(
                    "the worker thread ended without a result",
                );
                return Err(raised.unwrap_or(gone));
            }
        }
    }
}

fn look(shared: &Shared, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let total = shared.total.load(Relaxed);
        match progress {
            Some(call) if total > 0 => {
                tell_phase(py, shared, call)?;
                call.call1(py, (shared.pairs.load(Relaxed), total))
                    .map(drop)
            }
            _ => Ok(()),
        }
    })
}

/// Calls `progress.phase(name)`, where there is such a thing, when another phase has begun.
fn tell_phase(py: Python<'_>, shared: &Shared, progress: &Py<PyAny>) -> PyResult<()> {
    let phase = *shared.phase.lock().unwrap_or_else(PoisonError::into_inner);
    let mut told = shared.told.lock().unwrap_or_else(PoisonError::into_inner);
    if *told == phase {
        return Ok(());
    }
    *told = phase;
    match progress.bind(py).getattr_opt("phase")? {
        Some(call) => call.call1((phase,)).map(drop),
        None => Ok(()),
    }
}

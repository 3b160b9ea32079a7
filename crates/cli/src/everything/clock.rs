//! Seconds of the processor, which other work on the machine does not lengthen much, where one
//! thread works; else of the clock, which are what is predicted.

use std::time::Instant;

/// Seconds that work takes.
pub(super) struct Watch(Instant, Option<f64>);

impl Watch {
    /// Starts one for work of so many `threads`.
    pub(super) fn start(threads: usize) -> Self {
        Watch(Instant::now(), if threads == 1 { used() } else { None })
    }
    /// Seconds since it was started.
    pub(super) fn seconds(&self) -> f64 {
        let of_processor = self.1.and_then(|start| used().map(|end| end - start));
        of_processor.unwrap_or_else(|| self.0.elapsed().as_secs_f64())
    }
}

/// Seconds of processor that all threads of this process have had, where the system tells.
#[cfg(unix)]
fn used() -> Option<f64> {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9)
}

#[cfg(not(unix))]
fn used() -> Option<f64> {
    None
}

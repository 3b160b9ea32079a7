//! Seconds of the processor, which other work on the machine does not lengthen much.

use std::time::Instant;

/// Seconds of processor that all threads of this process have had; of the clock where the system does not tell.
pub struct Watch(Instant, Option<f64>);

impl Watch {
    /// Starts one.
    pub fn start() -> Self {
        Watch(Instant::now(), used())
    }
    /// Seconds since it was started.
    pub fn seconds(&self) -> f64 {
        match (self.1, used()) {
            (Some(start), Some(end)) => end - start,
            _ => self.0.elapsed().as_secs_f64(),
        }
    }
}

#[cfg(unix)]
fn used() -> Option<f64> {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9)
}

#[cfg(not(unix))]
fn used() -> Option<f64> {
    None
}

//! Times that options say.

use crate::args::LeaseArgs;
use std::time::Duration;
use zipfold::{Error, Result};

/// Seconds that an option says.
pub(crate) fn seconds(given: f64, least: f64, name: &'static str) -> Result<Duration> {
    if given >= least && given <= 1e6 {
        return Ok(Duration::from_secs_f64(given));
    }
    let e = Error::request(format!("expected seconds, got {given}")).at_place(name);
    Err(e.limit(format!("{least} to 1000000")))
}

/// The time after which a worker is lost.
pub(crate) fn life(given: &LeaseArgs) -> Result<Duration> {
    seconds(given.lease, 1.0, "--lease")
}

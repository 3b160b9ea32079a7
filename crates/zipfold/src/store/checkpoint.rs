//! Work that goes on from a checkpoint.

use crate::partial;
use std::path::Path;
use zipfold_core::{Blame, Budget, Result};

/// What `run` gives, which goes on from a checkpoint if it is told to. One that cannot be continued
/// is begun again.
pub(super) fn continued<T>(
    checkpoint: &Path,
    budget: &Budget,
    run: impl Fn(bool) -> Result<T>,
) -> Result<T> {
    let sound = partial::read_if_there(checkpoint, budget).is_ok();
    match run(sound) {
        Err(e) if sound && e.blame() == Blame::Request => run(false),
        done => done,
    }
}

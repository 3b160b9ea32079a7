//! Numbers of shares.

use zipfold_core::{Error, Opt, Result};

/// The index of share `number` of `shares`.
///
/// # Errors
/// `Request`, with the numbers that there are.
pub(crate) fn index_of(number: usize, shares: usize) -> Result<usize> {
    match (1..=shares).contains(&number) {
        true => Ok(number - 1),
        false => Err(Error::request(format!("expected a share, got {number}"))
            .at_place(Opt::Share)
            .limit(format!("1 to {shares}"))),
    }
}

//! How many numbers a device loads at a time.

use crate::overrides::Overrides;
use zipfold_core::{Error, Opt, Precision, Result};

/// Returns the numbers of 16 bytes, the longest load of one instruction.
fn longest(precision: Precision) -> usize {
    16 / precision.bytes()
}

/// Returns the numbers of a load: as many as 16 bytes hold, or what the override `load.vector`
/// says.
///
/// # Errors
/// `Request` for loads of more than 16 bytes.
pub(crate) fn load_width(precision: Precision, overrides: &Overrides) -> Result<usize> {
    let most = longest(precision);
    let numbers = overrides.load_vector.map_or(most, |numbers| numbers.get());
    if numbers <= most {
        return Ok(numbers);
    }
    let e = Error::request(format!("no loads of {numbers} numbers of double precision"))
        .at_place(Opt::Set.like("load.vector"));
    Err(e.limit("16 bytes").remedy("1 or 2"))
}

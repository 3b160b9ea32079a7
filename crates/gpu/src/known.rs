//! What was made for joins, found again by their shapes.

use crate::join_code::Folding;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use zipfold_product::cpu::shape::Shape;

/// What was made for a join `shape`, which is a piece of `whole` or all of it.
struct Entry<R> {
    shape: Shape,
    whole: Shape,
    folding: Folding,
    made: R,
}

/// What was made for joins, by a number of their shapes: the hash of the library takes as long for a
/// shape as a kernel takes to start.
pub(crate) struct KnownJoins<R>(Mutex<HashMap<u64, Vec<Entry<R>>>>);

impl<R> Default for KnownJoins<R> {
    fn default() -> Self {
        KnownJoins(Mutex::default())
    }
}

impl<R: Clone> KnownJoins<R> {
    /// What was made for a join.
    pub(crate) fn find(&self, shape: &Shape, whole: &Shape, folding: Folding) -> Option<R> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |e: &&Entry<R>| e.folding == folding && e.shape == *shape && e.whole == *whole;
        let found = known.get(&number(shape))?.iter().find(same)?;
        Some(found.made.clone())
    }
    /// Keeps what was made for a join.
    pub(crate) fn keep(&self, shape: &Shape, whole: &Shape, folding: Folding, made: R) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(number(shape)).or_default().push(Entry {
            shape: shape.clone(),
            whole: whole.clone(),
            folding,
            made,
        });
    }
    /// Forgets all.
    pub(crate) fn clear(&self) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.clear();
    }
}

fn number(shape: &Shape) -> u64 {
    let digits = shape.digits.iter();
    let numbers = digits.flat_map(|d| d.strides.into_iter().chain([d.card, d.out]));
    numbers.fold(shape.out_len as u64, |sum, n| {
        (sum ^ n as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23)
    })
}

//! Cuts a slice into consecutive parts for threads.

/// Consecutive parts of these lengths; what is left is left out.
///
/// # Panics
/// If the lengths are more than there is.
pub fn split<T>(mut rest: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let part = |length| {
        let (part, others) = std::mem::take(&mut rest).split_at_mut(length);
        rest = others;
        part
    };
    lengths.map(part).collect()
}

//! The generic escape: any Rust function of two rows. It lives in its process: no serialising,
//! sharding or resuming.

use rayon::prelude::*;
use zipfold_core::{Budget, Reserved, Result};

/// All values `f(a, b)` for rows `a` of `x` and `b` of `y`, row-major; row types and the result
/// type are free.
///
/// # Errors
/// `Resource` when the budget does not hold the matrix.
///
/// ```
/// let words = ["kitten", "sitting"];
/// let gap = |a: &&str, b: &&str| a.len().abs_diff(b.len());
/// let m = zipfold::all_pairs(&words, &words, gap, &zipfold::Budget::new(1 << 20)).unwrap();
/// assert_eq!(m.items, [0, 1, 1, 0]);
/// ```
pub fn all_pairs<A: Sync, B: Sync, C: Send + Clone + Default>(
    x: &[A],
    y: &[B],
    f: impl Fn(&A, &B) -> C + Sync,
    budget: &Budget,
) -> Result<Reserved<C>> {
    let mut out = budget.vec(x.len().saturating_mul(y.len()), C::default(), "the matrix")?;
    if !y.is_empty() {
        let rows = out.items.par_chunks_mut(y.len()).zip(x);
        rows.for_each(|(row, a)| row.iter_mut().zip(y).for_each(|(o, b)| *o = f(a, b)));
    }
    Ok(out)
}

//! Indices of the pairs of a row that meet a predicate, appended to pages that grow without
//! copying.
//!
//! ```text
//! for each vector of values
//!     bits = test(vector, bound)                  a bit for each lane
//!     if bits ≠ 0
//!         page = the last page, or a new one if it has no room for 16 more
//!         store the indices of the set bits side by side; advance by their number
//! the last, partial vector is padded and its bits are masked
//! ```
//!
//! Most vectors have no match, so the test and one branch are the loop. Pages, and not one vector
//! that doubles: matches may be billions, and doubling would copy them and need three times their
//! memory for a moment. A store always writes a whole vector of indices; the slack of a page takes
//! what is written beyond the matches.

use zipfold_vector::simd::{Element, Isa, Kernel, Lanes, first_lanes};

/// Indices in a page.
pub const PAGE: usize = 1 << 14;
/// Room behind the last index of a page for the rest of a whole vector.
const SLACK: usize = 16;

/// Indices in pages of [`PAGE`]: memory is requested a page at a time and what is written never
/// moves.
#[derive(Debug, Default)]
pub struct Pages {
    pages: Vec<Vec<u32>>,
    limit: Option<usize>,
}

/// The pages are at their limit, or memory is exhausted. What was appended before stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Elements of the row that were dealt with; go on from there.
    pub done: usize,
}

/// A predicate over values and a bound; false on NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// value < bound.
    Less,
    /// value ≤ bound.
    AtMost,
    /// value > bound.
    Greater,
    /// value ≥ bound.
    AtLeast,
    /// value = bound.
    Equal,
}

impl Pages {
    /// No pages yet, and never more than `limit` of them.
    pub fn with_limit(limit: usize) -> Pages {
        Pages {
            pages: Vec::new(),
            limit: Some(limit),
        }
    }

    /// Indices held.
    pub fn len(&self) -> usize {
        self.pages.iter().map(Vec::len).sum()
    }

    /// Whether no index is held.
    pub fn is_empty(&self) -> bool {
        self.pages.iter().all(Vec::is_empty)
    }

    /// Pages allocated.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The indices in order of appending, a slice per page.
    pub fn slices(&self) -> impl Iterator<Item = &[u32]> {
        self.pages.iter().map(Vec::as_slice)
    }

    /// Forgets the indices and keeps one page.
    pub fn clear(&mut self) {
        self.pages.truncate(1);
        self.pages.iter_mut().for_each(Vec::clear);
    }

    /// A page with room for a vector of indices.
    #[inline(always)]
    fn room(&mut self, done: usize) -> Result<&mut Vec<u32>, Full> {
        if self.pages.last().is_none_or(|p| p.len() + SLACK > PAGE) {
            self.grow().ok_or(Full { done })?;
        }
        self.pages.last_mut().ok_or(Full { done })
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Option<()> {
        if self.limit.is_some_and(|limit| self.pages.len() >= limit) {
            return None;
        }
        let mut page = Vec::new();
        page.try_reserve_exact(PAGE).ok()?;
        self.pages.try_reserve(1).ok()?;
        self.pages.push(page);
        Some(())
    }
}

/// Appends `base + i` for every i whose value meets the predicate.
///
/// # Errors
/// [`Full`] when a page is needed and not to be had.
pub fn append_matching<T: Element>(
    isa: Isa,
    predicate: Predicate,
    values: &[T],
    bound: T,
    base: u32,
    pages: &mut Pages,
) -> Result<(), Full> {
    T::dispatch(
        isa,
        PredicateRow {
            predicate,
            values,
            bound,
            base,
            pages,
        },
    )
}

struct PredicateRow<'a, T> {
    predicate: Predicate,
    values: &'a [T],
    bound: T,
    base: u32,
    pages: &'a mut Pages,
}

impl<T: Element> Kernel<T> for PredicateRow<'_, T> {
    type Output = Result<(), Full>;
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) -> Result<(), Full> {
        match self.predicate {
            Predicate::Less => self.scan(s, |v, b| s.lt(v, b)),
            Predicate::AtMost => self.scan(s, |v, b| s.le(v, b)),
            Predicate::Greater => self.scan(s, |v, b| s.lt(b, v)),
            Predicate::AtLeast => self.scan(s, |v, b| s.le(b, v)),
            Predicate::Equal => self.scan(s, |v, b| s.eq(v, b)),
        }
    }
}

impl<T: Element> PredicateRow<'_, T> {
    #[inline(always)]
    fn scan<S: Lanes<T>>(self, s: S, test: impl Fn(S::V, S::V) -> S::M) -> Result<(), Full> {
        let bound = s.splat(self.bound);
        let mut at = 0;
        while at + S::N <= self.values.len() {
            // SAFETY: at + N ≤ len.
            let v = unsafe { s.load(self.values.as_ptr().add(at)) };
            append(s, s.bits(test(v, bound)), self.base, at, self.pages)?;
            at += S::N;
        }
        let rest = &self.values[at..];
        if !rest.is_empty() {
            let mut last = [T::ZERO; 16];
            last[..rest.len()].copy_from_slice(rest);
            // SAFETY: the array holds 16 ≥ N values.
            let v = unsafe { s.load(last.as_ptr()) };
            append(
                s,
                s.bits(test(v, bound)) & first_lanes(rest.len()),
                self.base,
                at,
                self.pages,
            )?;
        }
        Ok(())
    }
}

#[inline(always)]
fn append<T: Element, S: Lanes<T>>(
    s: S,
    bits: u32,
    base: u32,
    at: usize,
    pages: &mut Pages,
) -> Result<(), Full> {
    if bits != 0 {
        let page = pages.room(at)?;
        let len = page.len();
        // SAFETY: `room` left at least SLACK = 16 places within the capacity, and as many as there
        // are bits are written.
        unsafe {
            s.store_indices(
                bits,
                base.wrapping_add(at as u32),
                page.as_mut_ptr().add(len),
            );
            page.set_len(len + bits.count_ones() as usize);
        }
    }
    Ok(())
}

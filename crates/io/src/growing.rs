//! A vector whose growth is asked of the budget first, for data whose size is known only when it
//! ends.

use zipfold_core::{Budget, Error, Reservation, Result};

/// A vector that reserves before it grows.
#[derive(Debug)]
pub struct Growing<T> {
    items: Vec<T>,
    held: Vec<Reservation>,
    budget: Budget,
    purpose: String,
}

impl<T: Copy> Growing<T> {
    /// An empty one, accounted to `purpose` ("the rows of a.csv").
    pub fn new(budget: &Budget, purpose: impl Into<String>) -> Self {
        Growing {
            items: Vec::new(),
            held: Vec::new(),
            budget: budget.clone(),
            purpose: purpose.into(),
        }
    }
    /// Appends `item`.
    ///
    /// # Errors
    /// `Resource` when the budget or the allocator refuses.
    pub fn push(&mut self, item: T) -> Result<()> {
        self.room(1)?;
        self.items.push(item);
        Ok(())
    }
    /// Appends all of `more`.
    ///
    /// # Errors
    /// As [`Growing::push`].
    pub fn extend(&mut self, more: &[T]) -> Result<()> {
        self.room(more.len())?;
        self.items.extend_from_slice(more);
        Ok(())
    }
    /// Makes room for `more` items: half as much again as there is, at least 1024 items; near the
    /// limit a quarter of what is left.
    fn room(&mut self, more: usize) -> Result<()> {
        let free = self.items.capacity() - self.items.len();
        if more <= free {
            return Ok(());
        }
        let left =
            usize::try_from(self.budget.free()).unwrap_or(usize::MAX) / size_of::<T>().max(1);
        let grow = (self.items.capacity() / 2)
            .max(1024)
            .min(left / 4)
            .max(more - free);
        let bytes = (grow as u64).saturating_mul(size_of::<T>() as u64);
        self.held.push(self.budget.reserve(bytes, &self.purpose)?);
        self.items
            .try_reserve_exact(free.saturating_add(grow))
            .map_err(|_| {
                Error::resource(format!("the system has no memory for {}", self.purpose))
                    .remedy("close other programs or split the file")
            })
    }
    /// Forgets the items, and keeps the room.
    pub fn clear(&mut self) {
        self.items.clear();
    }
    /// Drops the first `count` items.
    pub fn remove_first(&mut self, count: usize) {
        self.items.drain(..count.min(self.items.len()));
    }
    /// Keeps the first `len` items.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }
    /// Holds what was taken for something that lives as long as these items.
    pub fn holding(mut self, more: Reservation) -> Self {
        self.held.push(more);
        self
    }
    /// Gives back the room that was not needed.
    ///
    /// # Errors
    /// `Resource` when another thread took the budget meanwhile.
    pub fn finish(mut self) -> Result<Self> {
        self.items.shrink_to_fit();
        self.held.clear();
        let bytes = (self.items.len() as u64).saturating_mul(size_of::<T>() as u64);
        self.held.push(self.budget.reserve(bytes, &self.purpose)?);
        Ok(self)
    }
    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<T> AsRef<[T]> for Growing<T> {
    fn as_ref(&self) -> &[T] {
        &self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_stays_in_the_budget_and_the_surplus_returns() {
        let budget = Budget::new(100_000);
        let mut items = Growing::new(&budget, "test");
        for at in 0..5000 {
            items.push(f64::from(at)).unwrap();
        }
        let items = items.finish().unwrap();
        assert_eq!(budget.free(), 60_000);
        assert_eq!(items.as_ref()[4999], 4999.0);
        drop(items);
        assert_eq!(budget.free(), 100_000);
    }

    #[test]
    fn a_spent_budget_refuses() {
        let budget = Budget::new(20_000);
        let mut items = Growing::new(&budget, "test");
        let refused = (0..5000)
            .find_map(|at| items.push(f64::from(at)).err())
            .unwrap();
        assert_eq!(refused.blame(), zipfold_core::Blame::Resource);
    }
}

//! Entries of a table together with the budget they take, and blocks that wait to be used again.

use super::number::Number;
use std::sync::{Arc, Mutex};
use zipfold_core::{Budget, Error, Opt, Reservation, Result, budget::human_bytes};
use zipfold_vector::memory::Block;

/// A block and its reservation. When it goes, a large block waits in its [`Room`] for the next
/// table of its size.
#[derive(Debug)]
pub struct Held<T: Kept> {
    /// The entries.
    pub items: Block<T>,
    taken: Option<Reservation>,
    home: Option<Room>,
}

/// A budget, and blocks under it that wait to be used again: a fresh page costs more than its
/// traffic.
#[derive(Clone, Debug)]
pub struct Room {
    budget: Budget,
    spares: Arc<Spares>,
}

/// Blocks that wait, by type. What they take stays reserved.
#[derive(Debug, Default)]
pub struct Spares {
    /// Of f64.
    pub doubles: Mutex<Vec<Spare<f64>>>,
    /// Of f32.
    pub singles: Mutex<Vec<Spare<f32>>>,
}

/// Numbers whose blocks wait to be used again.
pub trait Kept: Number {
    /// The blocks of this type that wait in `spares`.
    fn spares(spares: &Spares) -> &Mutex<Vec<Spare<Self>>>;
}
impl Kept for f64 {
    fn spares(spares: &Spares) -> &Mutex<Vec<Spare<f64>>> {
        &spares.doubles
    }
}
impl Kept for f32 {
    fn spares(spares: &Spares) -> &Mutex<Vec<Spare<f32>>> {
        &spares.singles
    }
}

/// A block that waits, and its reservation.
pub type Spare<T> = (Block<T>, Reservation);

/// Bytes from which a block is worth keeping: smaller ones the allocator keeps itself.
const KEPT: usize = 1 << 16;
/// Blocks of a type that wait at one time, and the bytes that they may take together: half the
/// budget, at most this.
const SPARES: usize = 64;
const SPARE_BYTES: u64 = 4 << 30;

impl Room {
    /// The room that `budget` gives.
    pub fn new(budget: &Budget) -> Self {
        Room {
            budget: budget.clone(),
            spares: Arc::default(),
        }
    }
    /// Takes `bytes`; waiting blocks go where the budget would refuse.
    ///
    /// # Errors
    /// `Resource` when the budget is spent.
    pub fn reserve(&self, bytes: u64, purpose: &str) -> Result<Reservation> {
        if bytes > self.budget.free() {
            self.clear();
        }
        self.budget.reserve(bytes, purpose)
    }
    fn clear(&self) {
        self.spares
            .doubles
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clear();
        self.spares
            .singles
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clear();
    }
    /// The smallest waiting block of at least `len` items that is not much larger.
    fn again<T: Kept>(&self, len: usize) -> Option<Spare<T>> {
        let mut spares = T::spares(&self.spares)
            .lock()
            .unwrap_or_else(|e| e.into_inner());
        let fits = |v: &Block<T>| v.capacity() >= len && v.capacity() <= 2 * len;
        let fitting = spares.iter().enumerate().filter(|(_, s)| fits(&s.0));
        let at = fitting
            .min_by_key(|(_, s)| s.0.capacity())
            .map(|(at, _)| at)?;
        Some(spares.swap_remove(at))
    }
    fn keep<T: Kept>(&self, block: Spare<T>) {
        let most = SPARE_BYTES.min(self.budget.limit() / 2) as usize;
        let mut spares = T::spares(&self.spares)
            .lock()
            .unwrap_or_else(|e| e.into_inner());
        let bytes = |s: &Spare<T>| s.0.capacity() * size_of::<T>();
        spares.push(block);
        while spares.len() > SPARES || spares.iter().map(bytes).sum::<usize>() > most {
            spares.remove(0);
        }
    }
}

impl<T: Kept> Drop for Held<T> {
    fn drop(&mut self) {
        let items = std::mem::take(&mut self.items);
        if let (Some(taken), Some(home)) = (self.taken.take(), &self.home)
            && items.capacity() * size_of::<T>() >= KEPT
        {
            home.keep((items, taken));
        }
    }
}

impl<T: Kept> Held<T> {
    /// `len` numbers for the caller to overwrite: of a block that waited, or zeros straight from
    /// the system, where the threads that fill them fault the pages in.
    ///
    /// # Errors
    /// `Resource` when the budget or the allocator refuses.
    pub fn blank(len: usize, room: &Room, purpose: &str) -> Result<Self> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        if bytes >= KEPT as u64
            && let Some((mut items, taken)) = room.again::<T>(len)
        {
            items.resize(len);
            return Ok(Held {
                items,
                taken: Some(taken),
                home: Some(room.clone()),
            });
        }
        let taken = Some(room.reserve(bytes, purpose)?);
        let items = Block::try_zeros(len).ok_or_else(|| {
            Error::resource(format!(
                "the system has no {} for {purpose}",
                human_bytes(bytes)
            ))
            .remedy(format!(
                "close other programs or give a smaller {}, so that the network is sliced",
                Opt::Memory
            ))
        })?;
        let home = (bytes >= KEPT as u64).then(|| room.clone());
        Ok(Held { items, taken, home })
    }
    /// `len` items made by `make` from their numbers.
    ///
    /// # Errors
    /// As [`Held::blank`].
    pub fn make(
        len: usize,
        room: &Room,
        purpose: &str,
        make: impl Fn(usize) -> T + Sync,
    ) -> Result<Self> {
        use rayon::prelude::*;
        let mut out = Self::blank(len, room, purpose)?;
        if len < 1 << 15 {
            out.items
                .iter_mut()
                .enumerate()
                .for_each(|(at, slot)| *slot = make(at));
        } else {
            out.items
                .par_iter_mut()
                .with_min_len(1 << 13)
                .enumerate()
                .for_each(|(at, slot)| *slot = make(at));
        }
        Ok(out)
    }
}

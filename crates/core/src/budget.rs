//! Memory is asked for before it is used: a [`Budget`] hands out [`Reservation`]s and refuses when it is spent.

use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number of bytes that a run may hold at one time. Clones share one account.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

/// Bytes taken from a [`Budget`]; they return when the reservation is dropped.
#[derive(Debug)]
pub struct Reservation {
    account: Arc<Account>,
    bytes: u64,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Budget(Arc::new(Account { limit, used: AtomicU64::new(0), peak: AtomicU64::new(0) }))
    }
    /// A budget that refuses nothing, for tests (`cargo xtask tidy` refuses it elsewhere).
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }
    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }
    /// Bytes still free now.
    pub fn free(&self) -> u64 {
        self.0.limit - self.0.used.load(Relaxed).min(self.0.limit)
    }
    /// The most bytes that were reserved at one time.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Relaxed)
    }
    /// Takes `bytes` for `purpose` ("the distance matrix"), or says the smallest budget that would have sufficed.
    ///
    /// # Errors
    /// `Resource` when the budget does not hold that many more bytes.
    pub fn reserve(&self, bytes: u64, purpose: &str) -> Result<Reservation> {
        self.take(bytes, purpose).map(|()| Reservation { account: self.0.clone(), bytes })
    }
    fn take(&self, bytes: u64, purpose: &str) -> Result<()> {
        let account = &self.0;
        let taken = account
            .used
            .fetch_update(Relaxed, Relaxed, |used| used.checked_add(bytes).filter(|total| *total <= account.limit));
        match taken {
            Ok(before) => {
                account.peak.fetch_max(before + bytes, Relaxed);
                Ok(())
            }
            Err(used) => Err(refusal(account.limit, used, bytes, purpose)),
        }
    }
    /// Takes `bytes` for `purpose` for as long as the budget lives: for what is passed on without its reservation.
    ///
    /// # Errors
    /// As [`Budget::reserve`].
    pub fn spend(&self, bytes: u64, purpose: &str) -> Result<()> {
        self.take(bytes, purpose)
    }
    /// A running account of many small things for `purpose`.
    pub fn tab(&self, purpose: impl Into<String>) -> Tab {
        let held = Reservation { account: self.0.clone(), bytes: 0 };
        Tab { budget: self.clone(), purpose: purpose.into(), held, unpaid: 0 }
    }
    /// A vector of `len` copies of `value`, reserved and allocated fallibly.
    ///
    /// # Errors
    /// `Resource` when the budget or the allocator refuses.
    pub fn vec<T: Clone>(&self, len: usize, value: T, purpose: &str) -> Result<Reserved<T>> {
        let mut out = self.with_capacity(len, purpose)?;
        out.items.resize(len, value);
        Ok(out)
    }
    /// An empty vector with room for `len` items, reserved and allocated fallibly.
    ///
    /// # Errors
    /// `Resource` when the budget or the allocator refuses.
    pub fn with_capacity<T>(&self, len: usize, purpose: &str) -> Result<Reserved<T>> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let reservation = self.reserve(bytes, purpose)?;
        let mut items = Vec::new();
        items.try_reserve_exact(len).map_err(|_| {
            Error::resource(format!("the system has no {} for {purpose}", human_bytes(bytes)))
                .remedy("close other programs or give a smaller --memory, so that the work streams")
        })?;
        Ok(Reserved { items, _reservation: reservation })
    }
}

fn refusal(limit: u64, used: u64, bytes: u64, purpose: &str) -> Error {
    let needed = used.saturating_add(bytes);
    Error::resource(format!("{purpose} needs {} more than the {} in use", human_bytes(bytes), human_bytes(used)))
        .limit(format!("memory {}", human_bytes(limit)))
        .remedy(format!("--memory {} or more", human_bytes_up(needed)))
}

impl Reservation {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Small things that add up: asked of the budget in steps, before each step is exceeded.
#[derive(Debug)]
pub struct Tab {
    budget: Budget,
    purpose: String,
    held: Reservation,
    /// Bytes taken but not yet used.
    unpaid: u64,
}

/// Bytes that a [`Tab`] asks for at one time.
const STEP: u64 = 1 << 16;

impl Tab {
    /// Takes `bytes` more.
    ///
    /// # Errors
    /// `Resource` when the budget does not hold them.
    pub fn add(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.unpaid {
            let more = (bytes - self.unpaid).max(STEP);
            self.budget.take(more, &self.purpose)?;
            self.held.bytes += more;
            self.unpaid += more;
        }
        self.unpaid -= bytes;
        Ok(())
    }
    /// What was taken, to be held on.
    pub fn close(self) -> Reservation {
        self.held
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.used.fetch_sub(self.bytes, Relaxed);
    }
}

/// A vector together with the reservation that covers it. Pushing beyond its capacity is not covered: ask for more.
#[derive(Debug)]
pub struct Reserved<T> {
    /// The items.
    pub items: Vec<T>,
    _reservation: Reservation,
}

impl<T> AsRef<[T]> for Reserved<T> {
    fn as_ref(&self) -> &[T] {
        &self.items
    }
}

/// `bytes` for people: `1.5 GiB`, `300 B`.
pub fn human_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} EiB")
}

/// `bytes` rounded up to whole MiB, in the form that `--memory` takes.
pub fn human_bytes_up(bytes: u64) -> String {
    format!("{}MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_things_are_asked_for_before_they_exceed_the_budget() {
        let budget = Budget::new(200_000);
        let mut tab = budget.tab("names");
        let taken = (0..).take_while(|_| tab.add(100).is_ok()).count();
        assert!((1300..=2000).contains(&taken), "{taken}");
        let held = tab.close();
        assert!(held.bytes() >= taken as u64 * 100 && held.bytes() <= 200_000);
        drop(held);
        assert_eq!(budget.free(), 200_000);
        budget.spend(1000, "edges").unwrap();
        assert_eq!(budget.free(), 199_000);
    }
}

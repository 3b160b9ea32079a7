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
    /// A budget that refuses nothing, for tests and for callers that bound memory by other means.
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
        let account = &self.0;
        let taken = account
            .used
            .fetch_update(Relaxed, Relaxed, |used| used.checked_add(bytes).filter(|total| *total <= account.limit));
        match taken {
            Ok(before) => {
                account.peak.fetch_max(before + bytes, Relaxed);
                Ok(Reservation { account: account.clone(), bytes })
            }
            Err(used) => Err(refusal(account.limit, used, bytes, purpose)),
        }
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

//! Memory is reserved before it is used: a [`Budget`] gives [`Reservation`]s and refuses when it is
//! spent.
//!
//! A run that needs more memory than it may have should say so before it starts, with the size that
//! would suffice, and not be killed by the system in the middle. Everything that grows with the
//! data is therefore reserved here first (invariant RESERVE-FIRST). The account is a few atomics; a
//! refusal is an ordinary error.
//!
//! ```text
//! let budget = Budget::new(1 << 30);
//! let room = budget.reserve(600 << 20, "the distance matrix")?;     // 600 MiB taken
//! budget.reserve(600 << 20, "a copy")                               // refused: 1200 MiB would do
//! drop(room);                                                       // and given back
//! ```

use crate::error::{Error, Result};
use crate::opt::Opt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number of bytes that a run may hold at one time. Clones share one account.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Account>);

/// The account. Relaxed atomics suffice: the numbers guard no other memory.
#[derive(Debug)]
struct Account {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

/// Bytes taken from a [`Budget`]. They return when the reservation is dropped.
///
/// It cannot be cloned, so bytes are given back once.
#[derive(Debug)]
pub struct Reservation {
    account: Arc<Account>,
    bytes: u64,
}

impl Budget {
    /// Returns a budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Budget(Arc::new(Account {
            limit,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }))
    }
    /// Returns a budget that refuses nothing, for tests (`cargo xtask tidy` refuses it elsewhere).
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }
    /// Returns the limit in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.0.limit
    }
    /// Returns the bytes that are free now; another thread may take them.
    #[doc(hidden)]
    pub fn free(&self) -> u64 {
        self.0.limit - self.0.used.load(Relaxed).min(self.0.limit)
    }
    /// Returns the most bytes that were reserved at one time.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Relaxed)
    }
    /// Takes `bytes` for `purpose` ("the distance matrix"), or says the smallest budget that would
    /// have sufficed.
    ///
    /// # Errors
    /// `Resource` when the budget does not hold that many more bytes.
    #[doc(hidden)]
    pub fn reserve(&self, bytes: u64, purpose: &str) -> Result<Reservation> {
        self.take(bytes, purpose).map(|()| Reservation {
            account: self.0.clone(),
            bytes,
        })
    }
    /// Adds to the account, or refuses without changing it.
    fn take(&self, bytes: u64, purpose: &str) -> Result<()> {
        let account = &self.0;
        // A loop of compare-and-exchange: two threads never both get the last bytes.
        let taken = account.used.fetch_update(Relaxed, Relaxed, |used| {
            used.checked_add(bytes)
                .filter(|total| *total <= account.limit)
        });
        match taken {
            Ok(before) => {
                account.peak.fetch_max(before + bytes, Relaxed);
                Ok(())
            }
            Err(used) => Err(refusal(account.limit, used, bytes, purpose)),
        }
    }
    /// Takes `bytes` for `purpose` for as long as the budget lives: for what is passed on without
    /// its reservation.
    ///
    /// # Errors
    /// As [`Budget::reserve`].
    #[doc(hidden)]
    pub fn spend(&self, bytes: u64, purpose: &str) -> Result<()> {
        self.take(bytes, purpose)
    }
    /// Returns a running account of many small things for `purpose`.
    #[doc(hidden)]
    pub fn tab(&self, purpose: impl Into<String>) -> Tab {
        let held = Reservation {
            account: self.0.clone(),
            bytes: 0,
        };
        Tab {
            budget: self.clone(),
            purpose: purpose.into(),
            held,
            unpaid: 0,
        }
    }
    /// A vector of `len` copies of `value`, reserved and allocated fallibly.
    ///
    /// # Errors
    /// `Resource` when the budget or the allocator refuses.
    #[doc(hidden)]
    pub fn vec<T: Clone>(&self, len: usize, value: T, purpose: &str) -> Result<Reserved<T>> {
        let mut out = self.with_capacity(len, purpose)?;
        out.items.resize(len, value);
        Ok(out)
    }
    /// An empty vector with room for `len` items, reserved and allocated fallibly.
    ///
    /// # Errors
    /// `Resource` when the budget or the allocator refuses.
    #[doc(hidden)]
    pub fn with_capacity<T>(&self, len: usize, purpose: &str) -> Result<Reserved<T>> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let reservation = self.reserve(bytes, purpose)?;
        let mut items = Vec::new();
        // The budget may allow more than the system has.
        items.try_reserve_exact(len).map_err(|_| {
            Error::resource(format!(
                "the system has no {} for {purpose}",
                human_bytes(bytes)
            ))
            .remedy(format!(
                "close other programs or give a smaller {}, so that the work streams",
                Opt::Memory
            ))
        })?;
        Ok(Reserved {
            items,
            _reservation: reservation,
        })
    }
}

/// Returns the error of a refusal, with the smallest limit that would have sufficed, so that one
/// retry is enough.
fn refusal(limit: u64, used: u64, bytes: u64, purpose: &str) -> Error {
    let needed = used.saturating_add(bytes);
    Error::resource(format!(
        "{purpose} needs {} more than the {} in use",
        human_bytes(bytes),
        human_bytes(used)
    ))
    .limit(format!("memory {}", human_bytes(limit)))
    .remedy(format!(
        "{} or more",
        Opt::Memory.to(human_bytes_up(needed))
    ))
}

impl Reservation {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// An account of small things that add up, such as cells of a text file. It reserves in steps of 64
/// KiB, so that most additions touch no atomic.
///
/// A reader adds a few bytes for each cell of a file; an atomic for each would cost more than the
/// cell.
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
            // At least a step, so that many small additions cost one reservation.
            let more = (bytes - self.unpaid).max(STEP);
            self.budget.take(more, &self.purpose)?;
            self.held.bytes += more;
            self.unpaid += more;
        }
        self.unpaid -= bytes;
        Ok(())
    }
    /// Returns what was taken, as one reservation.
    pub fn close(self) -> Reservation {
        self.held
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.used.fetch_sub(self.bytes, Relaxed);
    }
}

/// A vector together with the reservation that covers it. Pushing beyond its capacity is not
/// covered.
///
/// Together, because an array that outlives its reservation would make the account a lie.
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

/// Writes `bytes` for people: `1.5 GiB`, `300 B`.
pub fn human_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            return if unit == "B" {
                format!("{bytes} B")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} EiB")
}

/// Units of sizes in small letters; those without an `i` before the `b` are of ten, but single
/// letters of two.
const UNITS: [(&str, f64); 16] = [
    ("", 1.0),
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("pb", 1e15),
    ("k", 1024.0),
    ("kib", 1024.0),
    ("m", 1048576.0),
    ("mib", 1048576.0),
    ("g", 1073741824.0),
    ("gib", 1073741824.0),
    ("t", 1099511627776.0),
    ("tib", 1099511627776.0),
    ("pib", 1125899906842624.0),
];

/// Reads a size as people write it: `8GiB`, `1.5 gb`, `1e9`.
///
/// # Errors
/// `Request` for what is not a size, or none from 1 byte to 2⁶³ − 1.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let wrong = || {
        Error::request(format!("expected a size like 8GiB, got '{text}'")).remedy("256MiB, 2GiB")
    };
    let lower = text.trim().to_ascii_lowercase();
    // `1e9` has no unit: an `e` is the exponent, and no unit begins with it.
    let unit = lower
        .find(|c: char| c.is_alphabetic() && c != 'e')
        .unwrap_or(lower.len());
    let (number, unit) = lower.split_at(unit);
    let (_, scale) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(wrong)?;
    let bytes = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    if (1.0..(1u64 << 63) as f64).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(wrong())
    }
}

/// `bytes` rounded up to whole MiB, in the form that `--memory` takes.
///
/// Up, since the size that a remedy names must suffice.
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

    #[test]
    fn sizes_are_read_in_every_unit() {
        let good = [
            ("5000", 5000),
            ("1e9", 1_000_000_000),
            ("7b", 7),
            ("2k", 2048),
            ("2KiB", 2048),
            ("2kB", 2000),
        ];
        let large = [
            ("1.5GiB", 3 << 29),
            (" 2 gb ", 2_000_000_000),
            ("1e3M", 1000 << 20),
            ("4PiB", 1 << 52),
        ];
        for (text, bytes) in good.into_iter().chain(large) {
            assert_eq!(parse_bytes(text).unwrap(), bytes, "{text}");
        }
        // What is printed is read.
        assert_eq!(parse_bytes(&human_bytes(3 << 29)).unwrap(), 3 << 29);
        assert_eq!(parse_bytes(&human_bytes_up(5 << 20)).unwrap(), 5 << 20);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "", "lots", "-1", "0", "0.4", "GiB", "8 XiB", "8GiBs", "nan", "inf", "1e400", "8EiB",
            "9.3e18", "1 2MiB",
        ] {
            let error = parse_bytes(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("expected a size like 8GiB, got '{text}'")),
                "{error}"
            );
        }
    }
}

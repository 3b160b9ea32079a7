//! The files of a store, behind a trait: a folder today, and anything else that can make a name
//! once, move it away once, and tell its age.

use super::kinds::refuse_others;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use zipfold_core::{Blame, Budget, Result};
use zipfold_io::store_files::{self, of_store};

/// Files by names with folders: `parts/000001`. Names are made by this module alone.
pub trait Files: Sync {
    /// Writes a file whole; false, and nothing written, if it is there.
    ///
    /// # Errors
    /// `Resource` when the store fails.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool>;
    /// Writes a file whole, in the place of one that is there.
    ///
    /// # Errors
    /// `Resource` when the store fails.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<()>;
    /// The bytes of a file; none if it is not there.
    ///
    /// # Errors
    /// `Input` when it cannot be read, `Resource` when the budget has no room.
    fn get(&self, name: &str, budget: &Budget) -> Result<Option<Vec<u8>>>;
    /// Moves a file; false if it is not there, because another process did.
    ///
    /// # Errors
    /// `Resource` when the store fails.
    fn take(&self, name: &str, to: &str) -> Result<bool>;
    /// Removes a file; false if it is not there.
    ///
    /// # Errors
    /// `Resource` when the store fails.
    fn remove(&self, name: &str) -> Result<bool>;
    /// The names in a folder, in order.
    ///
    /// # Errors
    /// `Resource` when the store fails.
    fn list(&self, folder: &str) -> Result<Vec<String>>;
    /// Time since a file was written last, by the clock of the store; none if it is not there.
    ///
    /// # Errors
    /// `Resource` when the store fails.
    fn age(&self, name: &str) -> Result<Option<Duration>>;
    /// Has a file made that is written piece by piece, or several in a folder.
    ///
    /// # Errors
    /// `Resource` when the store fails, and those of `make`.
    fn made(&self, name: &str, make: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        make(&self.path(name))
    }
    /// Where a file lies, for what is kept next to it: checkpoints.
    fn path(&self, name: &str) -> PathBuf;
}

/// A store in a folder.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
    /// A name of this process, under which it asks for the time of the store.
    clock: String,
}

pub(super) use super::kinds::ANEW;

/// The longest file of a store. Parts are bounded by the memory of workers.
const LONGEST: u64 = 1 << 40;

impl Folder {
    /// The store in the folder `root`, for the process called `who`.
    #[must_use]
    pub fn new(root: &Path, who: &str) -> Self {
        Folder {
            root: root.to_owned(),
            clock: Self::clock_of(who),
        }
    }
    /// The file by which the process called `who` asks for the time of the store.
    pub(crate) fn clock_of(who: &str) -> String {
        format!("clocks/{who}")
    }
    /// Makes the folders of a store whose plan has the name `own`.
    ///
    /// # Errors
    /// `Request` for a URL, and for a folder that has a store of another kind; those of the file system.
    pub(crate) fn make(&self, own: &str) -> Result<()> {
        refuse_others(&self.root, own)?;
        let all = [
            "parts", "matches", "rows", "leases", "failed", "running", "clocks", "told",
        ];
        let mut all = all.iter().map(|name| self.root.join(name));
        all.try_for_each(|path| store_files::make_folder(&path))
            .map_err(of_store)
    }
}

/// Whether a file must outlive its machine: leases and times need not, and the disk is waited for
/// the longest.
fn is_kept(name: &str) -> bool {
    name.starts_with("parts/") || name.starts_with("rows/") || !name.contains('/')
}

impl Files for Folder {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        store_files::put_new(&self.path(name), bytes, is_kept(name)).map_err(of_store)
    }
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        store_files::replace(&self.path(name), bytes, is_kept(name)).map_err(of_store)
    }
    fn get(&self, name: &str, budget: &Budget) -> Result<Option<Vec<u8>>> {
        store_files::get(&self.path(name), LONGEST, budget)
    }
    fn take(&self, name: &str, to: &str) -> Result<bool> {
        store_files::take(&self.path(name), &self.path(to)).map_err(of_store)
    }
    fn remove(&self, name: &str) -> Result<bool> {
        store_files::remove(&self.path(name)).map_err(of_store)
    }
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        store_files::names(&self.path(folder)).map_err(of_store)
    }
    fn age(&self, name: &str) -> Result<Option<Duration>> {
        let Some(written) = store_files::modified(&self.path(name)) else {
            return Ok(None);
        };
        // Clocks of machines differ; the file system has one.
        self.replace(&self.clock, b"now")?;
        let now = store_files::modified(&self.path(&self.clock));
        let age = now.and_then(|now| now.duration_since(written).ok());
        Ok(Some(age.unwrap_or_default()))
    }
    fn made(&self, name: &str, make: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        make(&self.path(name)).map_err(of_store)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// A store whose failures may pass: what fails for want of a resource is tried again.
pub struct Patient<F> {
    inner: F,
    tries: u32,
    first_wait: Duration,
    /// Waits that differ between processes keep them from coming back together.
    turn: AtomicU64,
}

impl<F: Files> Patient<F> {
    /// Tries every call `tries` times, with waits from `first_wait` on that double.
    pub fn new(inner: F, tries: u32, first_wait: Duration) -> Self {
        let turn = AtomicU64::new(u64::from(std::process::id()));
        Patient {
            inner,
            tries,
            first_wait,
            turn,
        }
    }
    fn again<T>(&self, call: impl Fn(&F) -> Result<T>) -> Result<T> {
        let mut wait = self.first_wait;
        for _ in 1..self.tries.max(1) {
            match call(&self.inner) {
                Err(e) if matches!(e.blame(), Blame::Resource | Blame::Input) => {}
                done => return done,
            }
            let turn = self.turn.fetch_add(7, Ordering::Relaxed) % 16;
            std::thread::sleep(wait + wait * turn as u32 / 16);
            wait *= 2;
        }
        call(&self.inner)
    }
}

impl<F: Files> Files for Patient<F> {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        self.again(|files| files.put_new(name, bytes))
    }
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.again(|files| files.replace(name, bytes))
    }
    fn get(&self, name: &str, budget: &Budget) -> Result<Option<Vec<u8>>> {
        self.again(|files| files.get(name, budget))
    }
    fn take(&self, name: &str, to: &str) -> Result<bool> {
        self.again(|files| files.take(name, to))
    }
    fn remove(&self, name: &str) -> Result<bool> {
        self.again(|files| files.remove(name))
    }
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.again(|files| files.list(folder))
    }
    fn age(&self, name: &str) -> Result<Option<Duration>> {
        self.again(|files| files.age(name))
    }
    fn made(&self, name: &str, make: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        self.again(|files| files.made(name, make))
    }
    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(name)
    }
}

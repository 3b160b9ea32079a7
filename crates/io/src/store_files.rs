//! Small files that several processes share in a folder: made whole or not at all, never over one
//! that is there unless they are replaced, moved away by one process alone.
//!
//! The calls are the ones that a file system of a cluster answers in the same way for all machines: a
//! name that is linked to exists once, a rename succeeds once, and times are those of the server.

use crate::atomic::{Output, OutputOptions, is_there_already, sync_folder};
use crate::guard::Source;
use crate::output_error::{self, folder_error, write_error};
use crate::presence::Presence;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;
use zipfold_core::{Budget, Error, Result};

/// Makes the folder `path`, and those above it. Its name is on the disk when this returns.
///
/// # Errors
/// `Request` or `Resource` where the system does not let us.
pub fn make_folder(path: &Path) -> Result<()> {
    let made = fs::create_dir_all(path).and_then(|()| sync_folder(path));
    made.map_err(|e| folder_error(&path.to_string_lossy(), &e))
}

/// `e`, an error of these calls or of another file in a store, with a remedy that names the store.
/// Without this it is one of an output.
#[must_use]
pub fn of_store(e: Error) -> Error {
    output_error::of_store(e)
}

/// Writes the file `path` whole; false, and nothing written, if it is there. A `durable` one is on
/// the disk when this returns.
///
/// # Errors
/// `Resource` when it cannot be written.
pub fn put_new(path: &Path, bytes: &[u8], durable: bool) -> Result<bool> {
    let force = false;
    match put(path, bytes, OutputOptions { force, durable }) {
        // Another process may have removed it since.
        Err(e) if is_there_already(&e) => Ok(false),
        Err(_) if Presence::itself(path) != Presence::Nothing => Ok(false),
        done => done.map(|()| true),
    }
}

/// Writes the file `path` whole, in the place of one that is there; as [`put_new`].
///
/// # Errors
/// `Resource` when it cannot be written.
pub fn replace(path: &Path, bytes: &[u8], durable: bool) -> Result<()> {
    let force = true;
    put(path, bytes, OutputOptions { force, durable })
}

fn put(path: &Path, bytes: &[u8], options: OutputOptions) -> Result<()> {
    let mut out = Output::create_at(path, options)?;
    match out.write_all(bytes) {
        Ok(()) => out.commit(),
        Err(e) => Err(out.error(&e)),
    }
}

/// The bytes of the file `path`, of at most `most`; none if it is not there.
///
/// # Errors
/// `Input` when it cannot be read or is longer; `Resource` when the budget has no room.
pub fn get(path: &Path, most: u64, budget: &Budget) -> Result<Option<Vec<u8>>> {
    let source = match Source::open(path, budget) {
        Err(_) if Presence::itself(path) == Presence::Nothing => return Ok(None),
        source => source?,
    };
    let size = source.size();
    if size > most {
        let e = Error::input(format!("{size} bytes")).at_place(path.to_string_lossy());
        return Err(e.limit(format!("{most} bytes")));
    }
    let _held = budget.reserve(size, "a file of the store")?;
    let mut bytes = vec![0; size as usize];
    source.fill_at(0, &mut bytes)?;
    Ok(Some(bytes))
}

/// Renames `from` to `to`; false if it is not there, because another process did.
///
/// # Errors
/// `Resource` where the system does not let us.
pub fn take(from: &Path, to: &Path) -> Result<bool> {
    gone(fs::rename(from, to), from)
}

/// Removes the file `path`; false if it is not there.
///
/// # Errors
/// `Resource` where the system does not let us.
pub fn remove(path: &Path) -> Result<bool> {
    gone(fs::remove_file(path), path)
}

fn gone(done: io::Result<()>, path: &Path) -> Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(write_error(&path.to_string_lossy(), &e)),
    }
}

/// The names in the folder `path` in order, but for files that are being written; none if it is not
/// there.
///
/// # Errors
/// `Resource` where the system does not let us.
pub fn names(path: &Path) -> Result<Vec<String>> {
    let listed = match fs::read_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        listed => listed.map_err(|e| folder_error(&path.to_string_lossy(), &e))?,
    };
    let mut names: Vec<String> = listed
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    Ok(names)
}

/// When the file `path` was written last, by the clock of its file system; none if it is not there.
pub fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|facts| facts.modified()).ok()
}

/// The path `path` from the root on. Links stay: the suffix of a link tells the format.
///
/// # Errors
/// `Input` when there is nothing.
pub fn absolute(path: &Path) -> Result<std::path::PathBuf> {
    let name = path.to_string_lossy();
    let odd = |e: &std::io::Error| crate::guard::read_error(&name, "cannot be opened", e);
    fs::metadata(path).map_err(|e| odd(&e))?;
    std::path::absolute(path).map_err(|e| odd(&e))
}

/// The name of this machine, for people; empty if the system does not say.
pub fn host() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    text.trim().chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that comes and goes is there or not, and never an error.
    #[test]
    fn a_file_that_others_remove_is_no_error() {
        let name = format!("zipfold-store-comes-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        make_folder(&folder).unwrap();
        let path = folder.join("a");
        let work = || {
            (0..400).for_each(|_| {
                if put_new(&path, b"a", false).unwrap() {
                    remove(&path).unwrap();
                }
            })
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|_| {
                scope.spawn(work);
            });
        });
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_is_made_once_and_taken_once() {
        let folder = std::env::temp_dir().join(format!("zipfold-store-{}", std::process::id()));
        make_folder(&folder).unwrap();
        let (a, b) = (folder.join("a"), folder.join("b"));
        let budget = Budget::new(1 << 20);
        let made = (0..8).map(|at| {
            let a = a.clone();
            std::thread::spawn(move || put_new(&a, &[at], true).unwrap())
        });
        let made: Vec<_> = made.collect();
        let made: Vec<bool> = made.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(made.iter().filter(|made| **made).count(), 1);
        let first = made.iter().position(|made| *made).unwrap() as u8;
        assert_eq!(get(&a, 9, &budget).unwrap(), Some(vec![first]));
        replace(&a, b"longer", false).unwrap();
        assert_eq!(get(&a, 9, &budget).unwrap().unwrap(), b"longer");
        assert!(get(&a, 3, &budget).is_err());
        assert_eq!(names(&folder).unwrap(), ["a"]);
        assert!(take(&a, &b).unwrap() && !take(&a, &b).unwrap());
        assert!(modified(&b).is_some() && modified(&a).is_none());
        assert!(remove(&b).unwrap() && !remove(&b).unwrap());
        assert_eq!(get(&b, 9, &budget).unwrap(), None);
        assert_eq!(names(&folder.join("none")).unwrap(), Vec::<String>::new());
        fs::remove_dir_all(folder).unwrap();
    }
}

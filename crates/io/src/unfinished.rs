//! Files that are not complete yet. Their names can be foreseen, so they are made anew and never
//! through a link, and what an earlier run left is used again only where it is a plain file of our
//! own that nobody holds.

use crate::output_error::{folder_error, write_error};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zipfold_core::{Error, Opt, Result};

/// Attempts at a name that others use at the same time.
const ATTEMPTS: usize = 100;
/// Temporary files that runs to one name may have at one time without slowing each other.
const SLOTS: usize = 16;

/// Who holds a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Nobody else, from now on until it is closed.
    Ours,
    /// Another run.
    Others,
    /// The file system does not say.
    Unknown,
}

/// Takes the file, unless another run has it.
pub(crate) fn hold(file: &File) -> Held {
    match file.try_lock() {
        Ok(()) => Held::Ours,
        Err(TryLockError::WouldBlock) => Held::Others,
        Err(TryLockError::Error(_)) => Held::Unknown,
    }
}

/// A file that was not there, and is not a link.
fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

/// The file that is there; a link is not followed, and a pipe is not waited for.
fn old_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

/// Whether `path` still names the file that `file` is: one that was published or removed while it
/// was being opened is another.
pub(crate) fn is_still(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// Removes `path` where it still names `file`.
pub(crate) fn remove(file: &File, path: &Path) {
    if is_still(file, path) {
        // Nothing is left to do for a file that cannot be removed.
        let _ = fs::remove_file(path);
    }
}

/// A new file under the name `path` of the output `name`, held by this run. What an earlier run
/// left under it is removed, not written to; `before` is called first.
///
/// # Errors
/// `Request` when another run holds it, or when it is not a plain file; those of the folder.
pub(crate) fn anew(path: &Path, name: &str, before: &dyn Fn() -> Result<()>) -> Result<File> {
    let mut cleared = false;
    for _ in 0..ATTEMPTS {
        let left = match old_file(path) {
            Ok(file) => Some(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(_) if fs::symlink_metadata(path).is_ok_and(|f| !f.is_file()) => {
                return Err(not_ours(path));
            }
            Err(e) => return Err(folder_error(name, &e)),
        };
        if let Some(left) = &left {
            if !left.metadata().is_ok_and(|f| f.is_file()) {
                return Err(not_ours(path));
            }
            match hold(left) {
                Held::Others => return Err(another_run(name)),
                _ if !is_still(left, path) => continue,
                _ => {}
            }
        }
        if !cleared {
            before()?;
            cleared = true;
        }
        if left.is_some() {
            fs::remove_file(path).map_err(|e| folder_error(name, &e))?;
        }
        match new_file(path) {
            Ok(file) => match hold(&file) {
                Held::Others => return Err(another_run(name)),
                _ if is_still(&file, path) => return Ok(file),
                _ => {}
            },
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(folder_error(name, &e)),
        }
    }
    Err(another_run(name))
}

/// What an earlier run left under `path`, held by this run.
///
/// # Errors
/// `Request` when there is nothing, another run holds it, or it is not a plain file of our own
/// under this one name.
pub(crate) fn again(path: &Path, name: &str) -> Result<File> {
    let file = match old_file(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(Error::request("there is no unfinished output to resume")
                .at_place(path.to_string_lossy())
                .remedy(format!("run it without {}", Opt::Resume)));
        }
        Err(_) if fs::symlink_metadata(path).is_ok_and(|f| !f.is_file()) => {
            return Err(not_ours(path));
        }
        Err(e) => return Err(folder_error(name, &e)),
    };
    let facts = file.metadata().map_err(|e| write_error(name, &e))?;
    if !facts.is_file() {
        return Err(not_ours(path));
    }
    if hold(&file) == Held::Others || !is_still(&file, path) {
        return Err(another_run(name));
    }
    if facts.nlink() != 1 || facts.uid() != our_owner(path, name)? {
        return Err(not_ours(path));
    }
    Ok(file)
}

/// The owner that files get which this run makes next to `path`.
fn our_owner(path: &Path, name: &str) -> Result<u32> {
    let (file, made) = temporary(path, name)?;
    let owner = file
        .metadata()
        .map(|f| f.uid())
        .map_err(|e| write_error(name, &e));
    remove(&file, &made);
    owner
}

/// A temporary file for the output `name` that will be `target`, held by this run; the ones that
/// killed runs left go.
///
/// # Errors
/// Those of the folder.
pub(crate) fn temporary(target: &Path, name: &str) -> Result<(File, PathBuf)> {
    if target.file_name().is_none() {
        return Err(Error::request("is not a file name")
            .at_place(name)
            .remedy(Opt::Output.like("FILE")));
    }
    sweep(target);
    for at in 0..SLOTS * ATTEMPTS {
        let path = slot(target, at);
        match new_file(&path) {
            Ok(file) => {
                if hold(&file) != Held::Others && is_still(&file, &path) {
                    return Ok((file, path));
                }
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(folder_error(name, &e)),
        }
    }
    Err(another_run(name))
}

/// The name of temporary file number `at` of `target`.
fn slot(target: &Path, at: usize) -> PathBuf {
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(target.file_name().unwrap_or_default());
    hidden.push(format!(".{at}.zipfold-partial"));
    target.with_file_name(hidden)
}

/// Removes the temporary files of `target` that killed runs left.
pub fn sweep(target: &Path) {
    (0..SLOTS).for_each(|at| remove_left(&slot(target, at)));
}

/// Removes the plain file `path` where nobody holds it: the run that made it has ended.
pub fn remove_left(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|f| f.is_file())
        && let Ok(file) = old_file(path)
        && hold(&file) == Held::Ours
    {
        remove(&file, path);
    }
}

/// A name that one living process has, told by the lock of a file, which goes with this.
#[derive(Debug)]
pub struct Claim {
    file: File,
    path: PathBuf,
}

impl Claim {
    /// Takes the name `path`; none if another process has it. Where the file system knows no locks,
    /// every process has it.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn ask(path: &Path) -> Result<Option<Claim>> {
        for _ in 0..ATTEMPTS {
            let opened = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
                .open(path);
            let file = opened.map_err(|e| folder_error(&path.to_string_lossy(), &e))?;
            match hold(&file) {
                Held::Others => return Ok(None),
                // Its holder ended, and removed it, between the two looks.
                _ if !is_still(&file, path) => {}
                _ => {
                    let path = path.to_owned();
                    return Ok(Some(Claim { file, path }));
                }
            }
        }
        Ok(None)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        remove(&self.file, &self.path);
    }
}

fn another_run(name: &str) -> Error {
    Error::request("another run is writing this output")
        .at_place(name)
        .remedy(format!("wait for it, or another name with {}", Opt::Output))
}

fn not_ours(path: &Path) -> Error {
    Error::request("this is not what a run of ours left: a link, no plain file, or another owner's")
        .at_place(path.to_string_lossy())
        .remedy(format!(
            "look at it and remove it, or another name with {}",
            Opt::Output
        ))
}

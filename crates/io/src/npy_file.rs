//! An NPY file of known shape that many threads fill at any place, that a later run can resume, and that takes its
//! name only when it is complete.

use crate::atomic::{OutputOptions, exists, folder_error, publish, real_target, write_error};
use crate::npy::{NpyElement, each_chunk};
use crate::npy_header::{header_bytes, show_shape};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use zipfold_core::{Error, Result};

/// The array being written, in a file beside its target. Dropped without [`NpyFile::publish`], the file is removed
/// unless [`NpyFile::keep`] was called.
#[derive(Debug)]
pub struct NpyFile {
    name: String,
    file: File,
    partial: PathBuf,
    target: PathBuf,
    options: OutputOptions,
    descr: &'static str,
    width: u64,
    count: u64,
    data_at: u64,
    keep: AtomicBool,
}

impl NpyFile {
    /// Starts the array of `shape` that will become the file `path`; what an earlier run left of it is discarded.
    ///
    /// # Errors
    /// `Request` when the target exists without `force`, another run writes it, or the folder cannot be written;
    /// `Resource` when the file system refuses a file of this size.
    pub fn create<T: NpyElement>(path: &str, shape: &[usize], options: OutputOptions) -> Result<Self> {
        let this = Self::open::<T>(path, shape, options, true)?;
        let header = header_bytes(T::DESCR, shape);
        let total = this.count.checked_mul(this.width).and_then(|b| b.checked_add(this.data_at));
        let total = total.filter(|t| i64::try_from(*t).is_ok()).ok_or_else(|| too_large(path, shape))?;
        let prepared = this.file.set_len(0).and_then(|()| this.file.set_len(total));
        prepared.and_then(|()| this.file.write_all_at(&header, 0)).map_err(|e| write_error(path, &e))?;
        Ok(this)
    }
    /// Continues the array that an earlier run left: type and shape must be the same.
    ///
    /// # Errors
    /// `Request` when there is nothing to resume or it is another array; else as [`NpyFile::create`].
    pub fn resume<T: NpyElement>(path: &str, shape: &[usize], options: OutputOptions) -> Result<Self> {
        let this = Self::open::<T>(path, shape, options, false)?;
        this.keep();
        let header = header_bytes(T::DESCR, shape);
        let mut found = vec![0; header.len()];
        let len = this.file.metadata().map_err(|e| write_error(path, &e))?.len();
        let same = this.file.read_exact_at(&mut found, 0).is_ok() && found == header;
        let complete = this.count.checked_mul(this.width).and_then(|b| b.checked_add(this.data_at)) == Some(len);
        if same && complete {
            return Ok(this);
        }
        Err(Error::request(format!(
            "the unfinished output is not an array of type {} and shape {}",
            T::DESCR,
            show_shape(shape)
        ))
        .at(this.partial.to_string_lossy())
        .remedy("run the same command as before, or start again without --resume"))
    }
    fn open<T: NpyElement>(path: &str, shape: &[usize], options: OutputOptions, fresh: bool) -> Result<Self> {
        if Path::new(path).exists() && !options.force {
            return Err(exists(path));
        }
        let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).ok_or_else(|| too_large(path, shape))?;
        let target = real_target(Path::new(path));
        let partial = partial_path(&target, path)?;
        let opened = OpenOptions::new().read(true).write(true).create(fresh).truncate(false).open(&partial);
        let file = opened.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if !fresh => nothing_to_resume(path),
            _ => folder_error(path, &e),
        })?;
        lock(&file, path)?;
        Ok(NpyFile {
            name: path.to_owned(),
            file,
            partial,
            target,
            options,
            descr: T::DESCR,
            width: T::BYTES as u64,
            count: count as u64,
            data_at: header_bytes(T::DESCR, shape).len() as u64,
            keep: AtomicBool::new(false),
        })
    }
    /// Number of elements.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The file that holds the array until it is published.
    pub fn partial_path(&self) -> &Path {
        &self.partial
    }
    /// Writes `items` from element `offset` on (in C order). Threads may write different places at one time.
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Internal` for a place outside the array or another type.
    pub fn write<T: NpyElement>(&self, offset: u64, items: &[T]) -> Result<()> {
        let end = offset.checked_add(items.len() as u64).filter(|end| *end <= self.count);
        if end.is_none() || T::DESCR != self.descr {
            let what = format!(
                "{} elements of type {} at {offset} of {} of type {}",
                items.len(),
                T::DESCR,
                self.count,
                self.descr
            );
            return Err(Error::internal(what).at(&self.name));
        }
        let mut at = self.data_at + offset * self.width;
        let done = each_chunk(items, |bytes| {
            self.file.write_all_at(bytes, at)?;
            at += bytes.len() as u64;
            Ok(())
        });
        done.map_err(|e| write_error(&self.name, &e))
    }
    /// Waits until the disk has what was written, as checkpoints need.
    ///
    /// # Errors
    /// `Resource` when the disk fails.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| write_error(&self.name, &e))
    }
    /// Lets the unfinished file stay when this is dropped, so that a later run can resume it.
    pub fn keep(&self) {
        self.keep.store(true, Relaxed);
    }
    /// Gives the complete array its name.
    ///
    /// # Errors
    /// `Request` when the target appeared meanwhile without `force`; `Resource` when the disk fails.
    pub fn publish(self) -> Result<()> {
        if self.options.durable {
            self.sync()?;
        }
        publish(&self.partial, &self.target, &self.name, self.options)?;
        self.keep();
        Ok(())
    }
}

impl Drop for NpyFile {
    fn drop(&mut self) {
        if !self.keep.load(Relaxed) {
            // Nothing is left to do for a file that cannot be removed.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// `d.npy` is written as `d.npy.zipfold-partial`, under the same name in every run, so that it can be resumed.
fn partial_path(target: &Path, name: &str) -> Result<PathBuf> {
    let last = target.file_name().ok_or_else(|| Error::request("is no file name").at(name).remedy("-o FILE.npy"))?;
    let mut last = last.to_os_string();
    last.push(".zipfold-partial");
    Ok(target.with_file_name(last))
}

fn lock(file: &File, name: &str) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(fs::TryLockError::WouldBlock) => Err(Error::request("another run is writing this output")
            .at(name)
            .remedy("wait for it, or another name with -o")),
        // File systems without locks: the run goes on unprotected.
        Err(fs::TryLockError::Error(_)) => Ok(()),
    }
}

fn nothing_to_resume(name: &str) -> Error {
    Error::request("there is no unfinished output to resume").at(name).remedy("run it without --resume")
}

fn too_large(name: &str, shape: &[usize]) -> Error {
    Error::request(format!("an array of shape {} is larger than any file", show_shape(shape)))
        .at(name)
        .limit("2^63 bytes")
        .remedy("a fold that keeps less than all pairs, such as hist, knn or reduce")
}

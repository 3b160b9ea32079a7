//! An NPY file of known shape that many threads fill at any place, that a later run can resume, and
//! that takes its name only when it is complete.

use crate::atomic::{OutputOptions, exists, keep_rights, no_file, publish, real_target};
use crate::npy::{NpyElement, each_chunk};
use crate::npy_header::{header_bytes, show_shape};
use crate::output_error::write_error;
use crate::unfinished;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use zipfold_core::{Error, Opt, Result};

/// What is behind the elements until they are complete, before the number of the run.
const MAGIC: &[u8; 16] = b"zipfold unfinish";
const MARK: u64 = 32;

/// The array being written, in a file next to its target. Dropped without [`NpyFile::publish`], the
/// file is removed unless [`NpyFile::keep`] was called.
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
    run: Option<u128>,
    keep: AtomicBool,
}

impl NpyFile {
    /// Starts the array of `shape` that will become the file `path`; what an earlier run left of it
    /// is discarded.
    ///
    /// # Errors
    /// `Request` when the target exists without `force`, another run writes it, or the folder
    /// cannot be written; `Resource` when the file system refuses a file of this size.
    pub fn create<T: NpyElement>(
        path: &str,
        shape: &[usize],
        options: OutputOptions,
    ) -> Result<Self> {
        Self::create_for::<T>(path, shape, options, None, &|| Ok(()))
    }
    /// The same for the run of number `run`, which stays in the file until it is published.
    /// `before` is called when the name is ours, before anything that an earlier run left goes.
    ///
    /// # Errors
    /// As [`NpyFile::create`], and those of `before`.
    pub fn create_for<T: NpyElement>(
        path: &str,
        shape: &[usize],
        options: OutputOptions,
        run: Option<u128>,
        before: &dyn Fn() -> Result<()>,
    ) -> Result<Self> {
        let there = || Path::new(path).exists() && !options.force;
        if there() {
            return Err(exists(path));
        }
        let target = real_target(Path::new(path));
        if target.exists() && !target.is_file() {
            return Err(no_file(path));
        }
        let partial = partial_path(&target, path)?;
        Self::sized::<T>(path, shape)?;
        let file = unfinished::anew(&partial, path, before)?;
        unfinished::sweep(&target);
        keep_rights(&file, &target);
        let this = Self::around::<T>(path, file, [partial, target], shape, options, run)?;
        // Another run may have published while this one waited for the name.
        if there() {
            Err(exists(path))
        } else {
            this.laid_out(shape)
        }
    }
    /// Starts an array that lives in the file `path` itself until it is dropped or kept, never to
    /// be published.
    ///
    /// # Errors
    /// As [`NpyFile::create`].
    pub fn aside<T: NpyElement>(path: &Path, shape: &[usize], run: u128) -> Result<Self> {
        let name = path.to_string_lossy();
        Self::sized::<T>(&name, shape)?;
        let file = unfinished::anew(path, &name, &|| Ok(()))?;
        let paths = [path.to_owned(), path.to_owned()];
        Self::around::<T>(
            &name,
            file,
            paths,
            shape,
            OutputOptions::default(),
            Some(run),
        )?
        .laid_out(shape)
    }
    /// Continues the array that an earlier run left: type and shape must be the same.
    ///
    /// # Errors
    /// `Request` when there is nothing to resume or it is another array; else as
    /// [`NpyFile::create`].
    pub fn resume<T: NpyElement>(
        path: &str,
        shape: &[usize],
        options: OutputOptions,
    ) -> Result<Self> {
        if Path::new(path).exists() && !options.force {
            return Err(exists(path));
        }
        let target = real_target(Path::new(path));
        if target.exists() && !target.is_file() {
            return Err(no_file(path));
        }
        let partial = partial_path(&target, path)?;
        let file = unfinished::again(&partial, path)?;
        Self::around::<T>(path, file, [partial, target], shape, options, None)?.found(shape)
    }
    /// Continues an array that lives in the file `path` itself.
    ///
    /// # Errors
    /// As [`NpyFile::resume`].
    pub fn resume_aside<T: NpyElement>(path: &Path, shape: &[usize]) -> Result<Self> {
        let name = path.to_string_lossy();
        let file = unfinished::again(path, &name)?;
        let paths = [path.to_owned(), path.to_owned()];
        Self::around::<T>(&name, file, paths, shape, OutputOptions::default(), None)?.found(shape)
    }
    fn sized<T: NpyElement>(path: &str, shape: &[usize]) -> Result<[u64; 3]> {
        let header = header_bytes(T::DESCR, shape).len() as u64;
        let count = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d as u64));
        let end = count
            .and_then(|n| n.checked_mul(T::BYTES as u64))
            .and_then(|b| b.checked_add(header + MARK));
        match (count, end.filter(|end| i64::try_from(*end).is_ok())) {
            (Some(count), Some(end)) => Ok([count, header, end - MARK]),
            _ => Err(too_large(path, shape)),
        }
    }
    fn around<T: NpyElement>(
        path: &str,
        file: File,
        [partial, target]: [PathBuf; 2],
        shape: &[usize],
        options: OutputOptions,
        run: Option<u128>,
    ) -> Result<Self> {
        let [count, data_at, _] = Self::sized::<T>(path, shape)?;
        Ok(NpyFile {
            name: path.to_owned(),
            file,
            partial,
            target,
            options,
            descr: T::DESCR,
            width: T::BYTES as u64,
            count,
            data_at,
            run,
            keep: AtomicBool::new(false),
        })
    }
    /// Bytes of the complete file.
    fn whole(&self) -> u64 {
        self.data_at + self.count * self.width
    }
    fn laid_out(self, shape: &[usize]) -> Result<Self> {
        let header = header_bytes(self.descr, shape);
        let mark = self.run.map(|run| [*MAGIC, run.to_le_bytes()].concat());
        let laid = self
            .file
            .set_len(self.whole() + mark.as_ref().map_or(0, |m| m.len() as u64))
            .and_then(|()| self.file.write_all_at(&header, 0))
            .and_then(|()| {
                self.file
                    .write_all_at(mark.as_deref().unwrap_or_default(), self.whole())
            });
        laid.map_err(|e| write_error(&self.name, &e))?;
        Ok(self)
    }
    /// What was found, where it is an unfinished array of `shape`.
    fn found(mut self, shape: &[usize]) -> Result<Self> {
        self.keep();
        let header = header_bytes(self.descr, shape);
        let mut there = vec![0; header.len()];
        let len = self
            .file
            .metadata()
            .map_err(|e| write_error(&self.name, &e))?
            .len();
        let same = self.file.read_exact_at(&mut there, 0).is_ok() && there == header;
        let mut mark = [0; MARK as usize];
        if len == self.whole() + MARK
            && self.file.read_exact_at(&mut mark, self.whole()).is_ok()
            && let (magic, run) = mark.split_at(MAGIC.len())
            && magic == MAGIC
        {
            self.run = Some(u128::from_le_bytes(std::array::from_fn(|k| run[k])));
        }
        // A run that was killed while it published has taken its mark away already.
        if same && (self.run.is_some() || len == self.whole()) {
            return Ok(self);
        }
        let what = format!(
            "the unfinished output is not an array of type {} and shape {}",
            self.descr,
            show_shape(shape)
        );
        Err(Error::request(what)
            .at_place(self.partial.to_string_lossy())
            .remedy(format!(
                "run the same command as before, or start again without {}",
                Opt::Resume
            )))
    }
    /// The number of the run that the file belongs to, where it still says so.
    pub fn run(&self) -> Option<u128> {
        self.run
    }
    /// Number of elements.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The file that holds the array until it is published.
    pub fn partial_path(&self) -> &Path {
        &self.partial
    }
    /// Writes `items` from element `offset` on (in C order). Threads may write different places at
    /// one time.
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Internal` for a place outside the array or another type.
    pub fn write<T: NpyElement>(&self, offset: u64, items: &[T]) -> Result<()> {
        let mut at = self.place::<T>(offset, items.len())?;
        let done = each_chunk(items, |bytes| {
            self.file.write_all_at(bytes, at)?;
            at += bytes.len() as u64;
            Ok(())
        });
        done.map_err(|e| write_error(&self.name, &e))
    }
    /// Reads what was written from element `offset` on.
    ///
    /// # Errors
    /// `Resource` when the disk fails; `Internal` for a place outside the array or another type.
    pub fn read<T: NpyElement>(&self, offset: u64, items: &mut [T]) -> Result<()> {
        let at = self.place::<T>(offset, items.len())?;
        self.file
            .read_exact_at(bytemuck::cast_slice_mut(items), at)
            .map_err(|e| write_error(&self.name, &e))?;
        if cfg!(target_endian = "big") {
            items.iter_mut().for_each(|item| *item = item.of_little());
        }
        Ok(())
    }
    /// The byte where element `offset` begins, with `len` of them behind it.
    fn place<T: NpyElement>(&self, offset: u64, len: usize) -> Result<u64> {
        let end = offset
            .checked_add(len as u64)
            .filter(|end| *end <= self.count);
        if end.is_none() || T::DESCR != self.descr {
            let what = format!(
                "{len} elements of type {} at {offset} of {} of type {}",
                T::DESCR,
                self.count,
                self.descr
            );
            return Err(Error::internal(what).at_place(&self.name));
        }
        Ok(self.data_at + offset * self.width)
    }
    /// Waits until the disk has what was written, as checkpoints need.
    ///
    /// # Errors
    /// `Resource` when the disk fails.
    pub fn sync(&self) -> Result<()> {
        self.file
            .sync_data()
            .map_err(|e| write_error(&self.name, &e))
    }
    /// Lets the unfinished file stay when this is dropped, so that a later run can resume it.
    pub fn keep(&self) {
        self.keep.store(true, Relaxed);
    }
    /// Gives the complete array its name.
    ///
    /// # Errors
    /// `Request` when the target appeared meanwhile without `force`; `Resource` when the disk
    /// fails.
    pub fn publish(self) -> Result<()> {
        if self.run.is_some() {
            self.file
                .set_len(self.whole())
                .map_err(|e| write_error(&self.name, &e))?;
        }
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
            unfinished::remove(&self.file, &self.partial);
        }
    }
}

/// `d.npy` is written as `d.npy.zipfold-partial`, under the same name in every run, so that it can
/// be resumed.
fn partial_path(target: &Path, name: &str) -> Result<PathBuf> {
    let last = target.file_name().ok_or_else(|| {
        Error::request("is not a file name")
            .at_place(name)
            .remedy(Opt::Output.like("FILE.npy"))
    })?;
    let mut last = last.to_os_string();
    last.push(".zipfold-partial");
    Ok(target.with_file_name(last))
}

fn too_large(name: &str, shape: &[usize]) -> Error {
    Error::request(format!(
        "an array of shape {} is larger than any file",
        show_shape(shape)
    ))
    .at_place(name)
    .limit("2^63 bytes")
    .remedy("a fold that keeps less than all pairs, such as hist, knn or reduce")
}

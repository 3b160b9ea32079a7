//! Outputs that appear whole or not at all: written beside the target, renamed when complete, removed when not.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use zipfold_core::{Error, Result};

/// How an output treats what is there already, and how long it waits for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputOptions {
    /// Replace an existing file.
    pub force: bool,
    /// Wait until the disk has the data.
    pub durable: bool,
}

/// An output being written; `-` is standard output, where a closed pipe counts as success.
#[derive(Debug)]
pub struct Output {
    name: String,
    to: To,
    options: OutputOptions,
    trouble: Option<io::Error>,
}

#[derive(Debug)]
enum To {
    /// A temporary file that becomes `target`.
    File {
        file: BufWriter<File>,
        partial: Partial,
        target: PathBuf,
    },
    /// Something that cannot be replaced (a pipe, a device), written as it comes.
    Direct(BufWriter<File>),
    Stdout {
        out: io::Stdout,
        closed: bool,
    },
}

/// A temporary file; removed on drop unless it was published.
#[derive(Debug)]
struct Partial(Option<PathBuf>);

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // Nothing is left to do for a file that cannot be removed.
            let _ = fs::remove_file(path);
        }
    }
}

impl Output {
    /// Starts the output `path`; finds out now whether the target exists and its folder can be written.
    ///
    /// # Errors
    /// `Request` when the target exists and `force` is not set, or the folder is missing or not writable.
    pub fn create(path: &str, options: OutputOptions) -> Result<Self> {
        let to =
            if path == "-" { To::Stdout { out: io::stdout(), closed: false } } else { open_target(path, options)? };
        Ok(Output { name: path.to_owned(), to, options, trouble: None })
    }
    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Completes the output: it takes its name only now.
    ///
    /// # Errors
    /// `Resource` when the disk is full, `Request` when the target appeared meanwhile without `force`.
    pub fn commit(mut self) -> Result<()> {
        self.flush().map_err(|e| write_error(&self.name, &e))?;
        if let Some(trouble) = self.trouble.take() {
            return Err(write_error(&self.name, &trouble));
        }
        if let To::File { file, partial, target } = &mut self.to {
            if self.options.durable {
                file.get_ref().sync_all().map_err(|e| write_error(&self.name, &e))?;
            }
            publish(partial.0.as_deref().unwrap_or(target), target, &self.name, self.options)?;
            partial.0 = None;
        }
        Ok(())
    }
    /// The error for `error` of a write to this output.
    pub fn error(&self, error: &io::Error) -> Error {
        write_error(&self.name, error)
    }
    /// Whether the output can be positioned (a file, not a pipe).
    pub fn is_file(&self) -> bool {
        matches!(self.to, To::File { .. })
    }
}

fn open_target(path: &str, options: OutputOptions) -> Result<To> {
    let target = Path::new(path);
    match fs::metadata(target) {
        Ok(facts) if facts.is_dir() => {
            return Err(Error::request("is a folder").at(path).remedy("name a file in it"));
        }
        Ok(facts) if !facts.is_file() => {
            let file = OpenOptions::new().write(true).open(target).map_err(|e| write_error(path, &e))?;
            return Ok(To::Direct(BufWriter::new(file)));
        }
        Ok(_) if !options.force => return Err(exists(path)),
        _ => {}
    }
    let target = real_target(target);
    let (file, partial) = create_partial(&target, path)?;
    Ok(To::File { file: BufWriter::with_capacity(1 << 18, file), partial: Partial(Some(partial)), target })
}

/// The refusal to replace `path`.
pub(crate) fn exists(path: &str) -> Error {
    Error::request("exists already").at(path).remedy("--force to replace it, or another name with -o")
}

/// The file behind a symbolic link, so that replacing it keeps the link.
pub(crate) fn real_target(target: &Path) -> PathBuf {
    fs::canonicalize(target).unwrap_or_else(|_| target.to_owned())
}

fn create_partial(target: &Path, name: &str) -> Result<(File, PathBuf)> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Relaxed);
    let last = target.file_name().ok_or_else(|| Error::request("is no file name").at(name).remedy("-o FILE"))?;
    let last = format!(".{}.{}-{serial}.zipfold-partial", last.to_string_lossy(), std::process::id());
    let partial = target.with_file_name(last);
    let file = OpenOptions::new().write(true).create_new(true).open(&partial).map_err(|e| folder_error(name, &e))?;
    Ok((file, partial))
}

/// Gives `partial` the name `target`; without `force` never over a file that is there.
pub(crate) fn publish(partial: &Path, target: &Path, name: &str, options: OutputOptions) -> Result<()> {
    let renamed = if options.force {
        fs::rename(partial, target)
    } else {
        match fs::hard_link(partial, target) {
            Ok(()) => fs::remove_file(partial),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(exists(name)),
            // A file system without hard links.
            Err(_) if target.exists() => return Err(exists(name)),
            Err(_) => fs::rename(partial, target),
        }
    };
    renamed.map_err(|e| write_error(name, &e))?;
    if options.durable {
        sync_folder(target).map_err(|e| write_error(name, &e))?;
    }
    Ok(())
}

fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// The error for a folder in which an output cannot be created.
pub(crate) fn folder_error(name: &str, error: &io::Error) -> Error {
    use io::ErrorKind as K;
    match error.kind() {
        K::NotFound => {
            Error::request("the folder of this output does not exist").at(name).remedy("make the folder first")
        }
        K::PermissionDenied | K::ReadOnlyFilesystem => Error::request("the folder of this output cannot be written")
            .at(name)
            .remedy("another folder with -o, or ask for the right to write there"),
        K::NotADirectory => {
            Error::request("a part of the path is not a folder").at(name).remedy("another path with -o")
        }
        K::InvalidFilename => Error::request("the name is too long or not valid").at(name).remedy("a shorter name"),
        _ => write_error(name, error),
    }
}

/// The error for a failed write to `name`.
pub(crate) fn write_error(name: &str, error: &io::Error) -> Error {
    use io::ErrorKind as K;
    let full =
        || Error::resource("the disk or the quota is full").at(name).remedy("free space, or another disk with -o");
    match error.kind() {
        K::StorageFull | K::QuotaExceeded => full(),
        K::FileTooLarge => Error::resource("the file system or a limit forbids files of this size")
            .at(name)
            .remedy("another disk with -o, or raise `ulimit -f`"),
        K::PermissionDenied | K::ReadOnlyFilesystem => {
            Error::request(format!("cannot be written: {error}")).at(name).remedy("another folder with -o")
        }
        _ => Error::resource(format!("cannot be written: {error}")).at(name).remedy("check the disk"),
    }
}

impl Write for Output {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let done = match &mut self.to {
            To::File { file, .. } | To::Direct(file) => file.write(buf),
            To::Stdout { closed: true, .. } => Ok(buf.len()),
            To::Stdout { out, closed } => open_pipe(out.write(buf), closed, buf.len()),
        };
        if let Err(e) = &done {
            self.trouble.get_or_insert_with(|| e.kind().into());
        }
        done
    }
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::File { file, .. } | To::Direct(file) => file.flush(),
            To::Stdout { closed: true, .. } => Ok(()),
            To::Stdout { out, closed } => open_pipe(out.flush(), closed, ()),
        }
    }
}

/// A closed pipe means that its reader has seen enough, which is success.
fn open_pipe<T>(done: io::Result<T>, closed: &mut bool, pretend: T) -> io::Result<T> {
    match done {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
            *closed = true;
            Ok(pretend)
        }
        other => other,
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.to {
            To::File { file, .. } => file.seek(to),
            _ => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Blame;

    #[test]
    fn a_closed_pipe_is_success_and_stays_closed() {
        let mut closed = false;
        let broken: io::Result<usize> = Err(io::ErrorKind::BrokenPipe.into());
        assert_eq!(open_pipe(broken, &mut closed, 3).unwrap(), 3);
        assert!(closed);
    }

    #[test]
    fn a_full_disk_is_the_machines_fault() {
        let full = write_error("a.csv", &io::Error::from_raw_os_error(28));
        assert_eq!(full.blame(), Blame::Resource);
        assert!(full.to_string().contains("a.csv"));
    }
}

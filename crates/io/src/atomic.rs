//! Outputs that appear whole or not at all: written next to the target, renamed when complete,
//! removed when not.

use crate::output_error::write_error;
use crate::unfinished::temporary;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zipfold_core::{Blame, Error, Opt, Result};

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
    /// Starts the output `path`; finds out now whether the target exists and its folder can be
    /// written.
    ///
    /// # Errors
    /// `Request` when the target exists and `force` is not set, or the folder is missing or not
    /// writable.
    pub fn create(path: &str, options: OutputOptions) -> Result<Self> {
        if path != "-" {
            return Self::create_at(Path::new(path), options);
        }
        let to = To::Stdout {
            out: io::stdout(),
            closed: false,
        };
        Ok(Output {
            name: path.to_owned(),
            to,
            options,
            trouble: None,
        })
    }
    /// Starts the output in the file `path`, regardless of its name.
    ///
    /// # Errors
    /// As [`Output::create`].
    pub fn create_at(path: &Path, options: OutputOptions) -> Result<Self> {
        let name = path.to_string_lossy().into_owned();
        let to = open_target(path, &name, options)?;
        Ok(Output {
            name,
            to,
            options,
            trouble: None,
        })
    }
    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Completes the output: it takes its name only now.
    ///
    /// # Errors
    /// `Resource` when the disk is full, `Request` when the target appeared meanwhile without
    /// `force`.
    pub fn commit(mut self) -> Result<()> {
        self.flush().map_err(|e| write_error(&self.name, &e))?;
        if let Some(trouble) = self.trouble.take() {
            return Err(write_error(&self.name, &trouble));
        }
        if let To::File {
            file,
            partial,
            target,
        } = &mut self.to
        {
            if self.options.durable {
                file.get_ref()
                    .sync_all()
                    .map_err(|e| write_error(&self.name, &e))?;
            }
            publish(
                partial.0.as_deref().unwrap_or(target),
                target,
                &self.name,
                self.options,
            )?;
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

fn open_target(target: &Path, path: &str, options: OutputOptions) -> Result<To> {
    match fs::metadata(target) {
        Ok(facts) if facts.is_dir() => {
            return Err(Error::request("is a folder")
                .at_place(path)
                .remedy("name a file in it"));
        }
        Ok(facts) if !facts.is_file() => {
            // A pipe that nobody reads would be waited for without end.
            let probe = OpenOptions::new()
                .write(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(target);
            let _held = probe.map_err(|e| match e.raw_os_error() {
                Some(libc::ENXIO) => Error::request("is a pipe that nobody reads")
                    .at_place(path)
                    .remedy("start its reader first"),
                _ => write_error(path, &e),
            })?;
            let file = OpenOptions::new()
                .write(true)
                .open(target)
                .map_err(|e| write_error(path, &e))?;
            return Ok(To::Direct(BufWriter::new(file)));
        }
        Ok(_) if !options.force => return Err(exists(path)),
        _ => {}
    }
    let target = real_target(target);
    let (file, partial) = temporary(&target, path)?;
    keep_rights(&file, &target);
    Ok(To::File {
        file: BufWriter::with_capacity(1 << 18, file),
        partial: Partial(Some(partial)),
        target,
    })
}

/// Gives `file` the owner and the rights of the file `target` that it will replace. Who may not
/// give it away keeps it.
pub(crate) fn keep_rights(file: &File, target: &Path) {
    let Ok(facts) = fs::metadata(target) else {
        return;
    };
    let ours = file.metadata().map(|f| (f.uid(), f.gid())).ok();
    if ours != Some((facts.uid(), facts.gid())) {
        let _ = std::os::unix::fs::fchown(file, Some(facts.uid()), Some(facts.gid()));
    }
    // After the owner, whose change takes rights away.
    let _ = file.set_permissions(fs::Permissions::from_mode(facts.mode() & 0o777));
}

/// What is said of a file that is not to be replaced.
const EXISTS: &str = "exists already";

/// Whether an error is that of [`exists`].
pub(crate) fn is_there_already(error: &Error) -> bool {
    error.blame() == Blame::Request && *error.what() == EXISTS
}

/// The refusal to replace `path`.
pub(crate) fn exists(path: &str) -> Error {
    Error::request(EXISTS).at_place(path).remedy(format!(
        "{} to replace it, or another name with {}",
        Opt::Force,
        Opt::Output
    ))
}

/// The file behind a symbolic link, so that replacing it keeps the link.
pub(crate) fn real_target(target: &Path) -> PathBuf {
    fs::canonicalize(target).unwrap_or_else(|_| target.to_owned())
}

/// Gives `partial` the name `target`; without `force` never over a file that is there.
pub(crate) fn publish(
    partial: &Path,
    target: &Path,
    name: &str,
    options: OutputOptions,
) -> Result<()> {
    let renamed = if options.force {
        match fs::metadata(target) {
            Ok(facts) if !facts.is_file() => return Err(no_file(name)),
            _ => fs::rename(partial, target),
        }
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

/// The refusal to put a file in the place of a pipe, a device or a folder.
pub(crate) fn no_file(name: &str) -> Error {
    Error::request("is a pipe, a device or a folder, which a file cannot replace")
        .at_place(name)
        .remedy(format!("another name with {}", Opt::Output))
}

/// Waits until the disk has the name of `target` in its folder.
pub(crate) fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
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

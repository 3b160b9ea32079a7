//! Errors of outputs in words: what is wrong with the folder, or with a write.

use std::io;
use zipfold_core::{Error, Opt};

/// The error for a folder in which an output cannot be created.
pub(crate) fn folder_error(name: &str, error: &io::Error) -> Error {
    use io::ErrorKind as K;
    match error.kind() {
        K::NotFound => Error::request("the folder of this output does not exist")
            .at_place(name)
            .remedy("make the folder first"),
        K::PermissionDenied | K::ReadOnlyFilesystem => {
            Error::request("the folder of this output cannot be written")
                .at_place(name)
                .remedy(format!(
                    "another folder with {}, or ask for the right to write there",
                    Opt::Output
                ))
        }
        K::NotADirectory => Error::request("a part of the path is not a folder")
            .at_place(name)
            .remedy(format!("another path with {}", Opt::Output)),
        K::InvalidFilename => Error::request("the name is too long or not valid")
            .at_place(name)
            .remedy("a shorter name"),
        _ => write_error(name, error),
    }
}

/// The error for a failed write to `name`.
pub(crate) fn write_error(name: &str, error: &io::Error) -> Error {
    use io::ErrorKind as K;
    let full = || {
        Error::resource("the disk or the quota is full")
            .at_place(name)
            .remedy(format!("free space, or another disk with {}", Opt::Output))
    };
    match error.kind() {
        K::StorageFull | K::QuotaExceeded => full(),
        K::FileTooLarge => Error::resource("the file system or a limit forbids files of this size")
            .at_place(name)
            .remedy(format!(
                "another disk with {}, or raise `ulimit -f`",
                Opt::Output
            )),
        K::PermissionDenied | K::ReadOnlyFilesystem => {
            Error::request(format!("cannot be written: {error}"))
                .at_place(name)
                .remedy(format!("another folder with {}", Opt::Output))
        }
        _ => Error::resource(format!("cannot be written: {error}"))
            .at_place(name)
            .remedy("check the disk"),
    }
}

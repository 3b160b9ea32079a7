//! Errors of outputs in words: what is wrong with the folder, or with a write.

use std::io;
use zipfold_core::Error;

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

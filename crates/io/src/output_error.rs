//! Errors of outputs in words: what is wrong with the folder, or with a write.

use std::io;
use zipfold_core::{Error, Opt};

/// How remedies name where an output goes.
fn elsewhere() -> String {
    format!("with {}", Opt::Output)
}

/// `e`, an error of a file of a store as of an output: its remedy names the store, where several
/// verbs have no option for it.
pub(crate) fn of_store(e: Error) -> Error {
    match e.remedy_text().map(|remedy| remedy.marked().to_string()) {
        Some(remedy) => e.remedy(remedy.replace(&elsewhere(), "for the store")),
        None => e,
    }
}

/// The error for a folder in which an output cannot be created.
pub(crate) fn folder_error(name: &str, error: &io::Error) -> Error {
    use io::ErrorKind as K;
    match error.kind() {
        K::NotFound => Error::request("the folder does not exist")
            .at_place(name)
            .remedy("make the folder first"),
        K::PermissionDenied | K::ReadOnlyFilesystem => {
            Error::request("the folder cannot be written")
                .at_place(name)
                .remedy(format!(
                    "another folder {}, or ask for the right to write there",
                    elsewhere()
                ))
        }
        K::NotADirectory => Error::request("a part of the path is not a folder")
            .at_place(name)
            .remedy(format!("another path {}", elsewhere())),
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
            .remedy(format!("free space, or another disk {}", elsewhere()))
    };
    match error.kind() {
        K::StorageFull | K::QuotaExceeded => full(),
        K::FileTooLarge => Error::resource("the file system or a limit forbids files of this size")
            .at_place(name)
            .remedy(format!(
                "another disk {}, or raise `ulimit -f`",
                elsewhere()
            )),
        K::PermissionDenied | K::ReadOnlyFilesystem => {
            Error::request(format!("cannot be written: {error}"))
                .at_place(name)
                .remedy(format!("another folder {}", elsewhere()))
        }
        _ => Error::resource(format!("cannot be written: {error}"))
            .at_place(name)
            .remedy("check the disk"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every remedy that names the option of outputs.
    #[test]
    fn errors_of_a_store_name_no_option_of_outputs() {
        // Not there, no right, no folder, full, too large, read only.
        for number in [2, 13, 20, 28, 27, 30, 5] {
            let error = io::Error::from_raw_os_error(number);
            for e in [
                folder_error("s/parts", &error),
                write_error("s/parts", &error),
            ] {
                let remedy = |e: &Error| e.remedy_text().unwrap().marked().to_string();
                let (own, told) = (remedy(&e), remedy(&of_store(e.clone())));
                let named = own.contains(&elsewhere());
                assert_eq!(
                    named,
                    own.contains(&Opt::Output.to_string()),
                    "{number}: {own}"
                );
                assert_eq!(named, told.contains("for the store"), "{number}: {told}");
                assert!(!told.contains(&elsewhere()), "{number}: {told}");
            }
        }
    }
}

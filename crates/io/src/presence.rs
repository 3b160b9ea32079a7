//! What is at a path, found without opening it. Other crates ask here, so that files are touched in
//! this crate alone.

use std::fs::{self, Metadata};
use std::path::Path;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Nothing, or nothing that may be seen.
    Nothing,
    /// A plain file, with its bytes.
    File(u64),
    /// A folder.
    Folder,
    /// A link, if links are not followed.
    Link,
    /// What is written into and never replaced: a pipe, a device, a socket.
    Special,
}

impl Presence {
    /// Looks at `path` itself: a link is a link.
    pub fn itself(path: &Path) -> Presence {
        Presence::from_metadata(fs::symlink_metadata(path).ok())
    }
    /// Looks at what `path` leads to: links are followed, and one to nothing is nothing.
    pub fn behind(path: &Path) -> Presence {
        Presence::from_metadata(fs::metadata(path).ok())
    }
    /// Whether there is nothing at `path`, not even a link.
    ///
    /// # Errors
    /// Those of the system, which then does not say what is there.
    pub fn missing(path: &Path) -> std::io::Result<bool> {
        match fs::symlink_metadata(path) {
            Ok(_) => Ok(false),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(true),
            Err(e) => Err(e),
        }
    }
    fn from_metadata(found: Option<Metadata>) -> Presence {
        match found {
            None => Presence::Nothing,
            Some(found) if found.is_file() => Presence::File(found.len()),
            Some(found) if found.is_dir() => Presence::Folder,
            Some(found) if found.is_symlink() => Presence::Link,
            Some(_) => Presence::Special,
        }
    }
    /// Returns the bytes of a plain file, and 0 for anything else.
    pub fn bytes(self) -> u64 {
        match self {
            Presence::File(bytes) => bytes,
            Presence::Nothing | Presence::Folder | Presence::Link | Presence::Special => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_told_apart() {
        let folder = std::env::temp_dir().join(format!("zipfold-presence-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("file");
        fs::write(&file, b"seven b").unwrap();
        assert_eq!(Presence::itself(&folder), Presence::Folder);
        assert_eq!(Presence::itself(&file), Presence::File(7));
        assert_eq!(Presence::itself(&file).bytes(), 7);
        assert_eq!(Presence::behind(&folder.join("none")), Presence::Nothing);
        #[cfg(unix)]
        {
            let (link, dangling) = (folder.join("link"), folder.join("dangling"));
            std::os::unix::fs::symlink(&file, &link).unwrap();
            std::os::unix::fs::symlink(folder.join("none"), &dangling).unwrap();
            assert_eq!(Presence::itself(&link), Presence::Link);
            assert_eq!(Presence::behind(&link), Presence::File(7));
            assert_eq!(Presence::itself(&dangling), Presence::Link);
            assert_eq!(Presence::behind(&dangling), Presence::Nothing);
            assert!(!Presence::missing(&dangling).unwrap());
            assert!(Presence::missing(&folder.join("none")).unwrap());
            assert!(Presence::missing(&file.join("below a file")).is_err());
            assert_eq!(Presence::itself(Path::new("/dev/null")), Presence::Special);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}

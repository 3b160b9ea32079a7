//! Compiled kernels on disk, by hash of source, options and architecture. A cache that cannot be
//! used is only a lost saving. Its files have no names that users give, and are never resumed:
//! `tempfile` writes them, not `Output` of the crate io, of which this crate is independent.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// The folder that the environment names, or the user's.
pub fn folder() -> Option<PathBuf> {
    match std::env::var_os("ZIPFOLD_CACHE") {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(PathBuf::from(folder)),
        None => match std::env::var_os("XDG_CACHE_HOME") {
            Some(folder) => Some(PathBuf::from(folder).join("zipfold")),
            None => Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/zipfold")),
        },
    }
}

/// The file of the binary of `key`.
fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{:032x}.bin", XxHash3_128::oneshot(key.as_bytes())))
}

/// The binary kept for `key`. It is checked: owner and rights, length, the key itself, and the
/// checksum of the body. A binary is code that the device runs, so one that somebody else may have
/// written is none.
pub fn get(folder: &Path, key: &str) -> Option<Vec<u8>> {
    private(&std::fs::symlink_metadata(folder).ok()?, "folder").ok()?;
    let path = file(folder, key);
    let found = std::fs::symlink_metadata(&path).ok()?;
    private(&found, "file").ok().filter(|()| found.is_file())?;
    let bytes = std::fs::read(path).ok()?;
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?) as usize;
    let sum = u128::from_le_bytes(bytes.get(8..24)?.try_into().ok()?);
    let kept = bytes.get(24..24 + key.len())?;
    let body = &bytes[24 + key.len()..];
    (kept == key.as_bytes() && body.len() == length && XxHash3_128::oneshot(body) == sum)
        .then(|| body.to_vec())
}

/// Keeps `binary` for `key`, whole or not at all. Says why it could not.
///
/// # Errors
/// The reason, with the folder: a full or read-only disk, a folder that others may write.
pub fn put(folder: &Path, key: &str, binary: &[u8]) -> Result<(), String> {
    let mut bytes = (binary.len() as u64).to_le_bytes().to_vec();
    // Bits that changed on the disk do not reach the device.
    bytes.extend(XxHash3_128::oneshot(binary).to_le_bytes());
    bytes.extend_from_slice(key.as_bytes());
    bytes.extend_from_slice(binary);
    make(folder)
        .and_then(|()| write_whole(&file(folder, key), folder, &bytes))
        .map_err(|e| {
            format!(
                "compiled kernels are not kept in {}: {e}; set ZIPFOLD_CACHE to another folder",
                folder.display()
            )
        })
}

/// Makes the folder, for its owner alone. One that is there must be private, too.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    private(&std::fs::symlink_metadata(folder)?, "folder")
}

/// Writes `path` in `folder` under another name first, which only the user may read: two threads
/// that compile the same kernel do not meet in it.
fn write_whole(path: &Path, folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.persist(path).map(drop).map_err(|e| e.error)
}

/// Whether only the user, or the system, may write what `found` describes.
#[cfg(unix)]
fn private(found: &std::fs::Metadata, what: &str) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: reads a number of the process.
    let user = unsafe { libc::geteuid() };
    let foreign = found.uid() != user && found.uid() != 0;
    if foreign || found.mode() & 0o022 != 0 || found.file_type().is_symlink() {
        return Err(io::Error::other(format!("others may write the {what}")));
    }
    Ok(())
}
#[cfg(not(unix))]
fn private(_: &std::fs::Metadata, _: &str) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("zipfold-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        make(&folder).unwrap();
        folder
    }

    #[test]
    fn binaries_come_back_whole_or_not_at_all() {
        let folder = fresh("cache");
        assert_eq!(get(&folder, "kernel"), None);
        put(&folder, "kernel", b"binary").unwrap();
        assert_eq!(get(&folder, "kernel").as_deref(), Some(&b"binary"[..]));
        let path = file(&folder, "kernel");
        let kept = std::fs::read(&path).unwrap();
        std::fs::write(&path, &kept[..kept.len() - 1]).unwrap();
        assert_eq!(get(&folder, "kernel"), None);
        let mut flipped = kept.clone();
        *flipped.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert_eq!(
            get(&folder, "kernel"),
            None,
            "a bit that changed on the disk"
        );
        std::fs::write(&path, &kept).unwrap();
        assert!(get(&folder, "kernel").is_some());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_write_is_neither_read_nor_written() {
        use std::os::unix::fs::PermissionsExt;
        let rights = |path: &Path, mode| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap()
        };
        let folder = fresh("open");
        put(&folder, "kernel", b"binary").unwrap();
        let path = file(&folder, "kernel");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        rights(&path, 0o666);
        assert_eq!(get(&folder, "kernel"), None);
        rights(&path, 0o600);
        assert!(get(&folder, "kernel").is_some());
        rights(&folder, 0o777);
        assert_eq!(get(&folder, "kernel"), None);
        assert!(
            put(&folder, "kernel", b"binary")
                .unwrap_err()
                .contains("others may write")
        );
        std::fs::remove_dir_all(folder).unwrap();
        let made = std::env::temp_dir().join(format!("zipfold-made-{}", std::process::id()));
        put(&made, "kernel", b"binary").unwrap();
        assert_eq!(
            std::fs::metadata(&made).unwrap().permissions().mode() & 0o777,
            0o700
        );
        std::fs::remove_dir_all(made).unwrap();
    }

    /// A link under the name is replaced, not followed: what it leads to stays as it is.
    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_file_is_not_followed() {
        let folder = fresh("link");
        let precious = folder.join("precious");
        std::fs::write(&precious, b"precious").unwrap();
        std::os::unix::fs::symlink(&precious, file(&folder, "kernel")).unwrap();
        put(&folder, "kernel", b"binary").unwrap();
        assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
        assert_eq!(get(&folder, "kernel").as_deref(), Some(&b"binary"[..]));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_made_is_said_with_the_folder_and_the_remedy() {
        let folder = fresh("taken");
        std::fs::create_dir(file(&folder, "kernel")).unwrap();
        let why = put(&folder, "kernel", b"binary").unwrap_err();
        assert!(
            why.contains("ZIPFOLD_CACHE") && why.contains(&folder.display().to_string()),
            "{why}"
        );
        assert_eq!(get(&folder, "kernel"), None);
        assert_eq!(
            std::fs::read_dir(&folder).unwrap().count(),
            1,
            "nothing is left of what was not kept"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn threads_that_keep_the_same_kernel_do_not_meet() {
        let folder = fresh("threads");
        std::thread::scope(|scope| {
            (0..8)
                .for_each(|_| drop(scope.spawn(|| put(&folder, "kernel", &[7; 100_000]).unwrap())));
        });
        assert_eq!(get(&folder, "kernel"), Some(vec![7; 100_000]));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_more_than_a_lost_saving() {
        let folder = fresh("file");
        std::fs::write(folder.join("file"), b"").unwrap();
        let below = folder.join("file/cache");
        assert!(
            put(&below, "kernel", b"binary")
                .unwrap_err()
                .contains("file/cache")
        );
        assert_eq!(get(&below, "kernel"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! Compiled kernels on disk, by hash of source, options and architecture. A cache that cannot be used is only a lost saving.

use std::path::{Path, PathBuf};

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
    let (a, b) = (hash(key, 0xcbf2_9ce4_8422_2325), hash(key, 0x6c62_272e_07bb_0142));
    folder.join(format!("{a:016x}{b:016x}.bin"))
}

/// Where a binary is written before it gets its name.
fn temporary(path: &Path) -> PathBuf {
    path.with_extension(format!("{}.tmp", std::process::id()))
}

/// FNV-1a from a given start.
fn hash(text: &str, start: u64) -> u64 {
    text.bytes().fold(start, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The binary kept for `key`. It is checked: length, and the key itself.
pub fn get(folder: &Path, key: &str) -> Option<Vec<u8>> {
    let bytes = std::fs::read(file(folder, key)).ok()?;
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?) as usize;
    let kept = bytes.get(8..8 + key.len())?;
    let body = &bytes[8 + key.len()..];
    (kept == key.as_bytes() && body.len() == length).then(|| body.to_vec())
}

/// Keeps `binary` for `key`, whole or not at all. Says why it could not.
///
/// # Errors
/// The reason, with the folder: a full or read-only disk.
pub fn put(folder: &Path, key: &str, binary: &[u8]) -> Result<(), String> {
    let path = file(folder, key);
    let temporary = temporary(&path);
    let mut bytes = (binary.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(key.as_bytes());
    bytes.extend_from_slice(binary);
    let kept = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&temporary, &bytes))
        .and_then(|()| std::fs::rename(&temporary, &path));
    kept.map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        format!("compiled kernels are not kept in {}: {e}; set ZIPFOLD_CACHE to another folder", folder.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("zipfold-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
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
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// What is written to `/dev/full` finds the disk full.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_said_with_the_folder_and_the_remedy() {
        let folder = fresh("full");
        std::os::unix::fs::symlink("/dev/full", temporary(&file(&folder, "kernel"))).unwrap();
        let why = put(&folder, "kernel", b"binary").unwrap_err();
        assert!(why.contains("No space left") && why.contains("ZIPFOLD_CACHE"), "{why}");
        assert!(why.contains(&folder.display().to_string()), "{why}");
        assert_eq!(get(&folder, "kernel"), None);
        put(&folder, "kernel", b"binary").unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_more_than_a_lost_saving() {
        let folder = fresh("file");
        std::fs::write(folder.join("file"), b"").unwrap();
        let below = folder.join("file/cache");
        assert!(put(&below, "kernel", b"binary").unwrap_err().contains("file/cache"));
        assert_eq!(get(&below, "kernel"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

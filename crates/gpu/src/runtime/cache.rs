//! Compiled kernels on disk, by hash of source, options and architecture. A cache that cannot be used is only a lost saving.

use std::path::PathBuf;

/// The file of the binary of `key`, if there is a place for a cache.
fn file(key: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("ZIPFOLD_CACHE") {
        Some(folder) if folder.is_empty() => return None,
        Some(folder) => PathBuf::from(folder),
        None => match std::env::var_os("XDG_CACHE_HOME") {
            Some(folder) => PathBuf::from(folder).join("zipfold"),
            None => PathBuf::from(std::env::var_os("HOME")?).join(".cache/zipfold"),
        },
    };
    let (a, b) = (hash(key, 0xcbf2_9ce4_8422_2325), hash(key, 0x6c62_272e_07bb_0142));
    Some(folder.join(format!("{a:016x}{b:016x}.bin")))
}

/// FNV-1a from a given start.
fn hash(text: &str, start: u64) -> u64 {
    text.bytes().fold(start, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The binary kept for `key`. It is checked: length, and the key itself.
pub fn get(key: &str) -> Option<Vec<u8>> {
    let bytes = std::fs::read(file(key)?).ok()?;
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?) as usize;
    let kept = bytes.get(8..8 + key.len())?;
    let body = &bytes[8 + key.len()..];
    (kept == key.as_bytes() && body.len() == length).then(|| body.to_vec())
}

/// Keeps `binary` for `key`, whole or not at all. Says why it could not.
///
/// # Errors
/// The reason, with the folder: a full or read-only disk.
pub fn put(key: &str, binary: &[u8]) -> Result<(), String> {
    let Some(path) = file(key) else { return Ok(()) };
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut bytes = (binary.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(key.as_bytes());
    bytes.extend_from_slice(binary);
    let kept = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&temporary, &bytes))
        .and_then(|()| std::fs::rename(&temporary, &path));
    kept.map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        format!("compiled kernels are not kept in {}: {e}; set ZIPFOLD_CACHE to another folder", folder.display())
    })
}

//! Sorted runs: files of equally long records of 64-bit words, in blocks that are read one by one.
//!
//! ```text
//! bytes 0 … 63     magic, identity, words of a record, records, checksum of these
//! bytes 64 …       blocks of 8192 records, the last one shorter: a checksum, then its words
//! ```
//!
//! A file is written under another name and renamed, so that it is there whole or not at all. Its
//! identity says whose it is, and the checksum of a block covers the identity and the number of the
//! block. Words are little-endian. What a record means is for the caller to say.

use crate::atomic::{Output, OutputOptions, sync_folder};
use crate::guard::Source;
use crate::output_error::{folder_error, write_error};
use crate::presence::Presence;
use crate::unfinished::{Held, hold, is_still};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zipfold_core::{Budget, Error, Hash, Opt, Result};

/// How a run begins; the last byte is the version of the format.
const MAGIC: &[u8; 8] = b"ZFRUNS\x00\x01";
/// Bytes before the first block.
const HEAD: usize = 64;
/// Bytes of a checksum.
const SUM: usize = 8;
/// Records of a block.
pub const BLOCK_RECORDS: usize = 8192;
/// The most words of a record.
const MOST_WORDS: usize = 8;

/// The checksum of some words under an identity.
fn checksum(identity: u128, number: u64, bytes: &[u8]) -> u64 {
    let mut hash = Hash::default();
    hash.word(identity as u64);
    hash.word((identity >> 64) as u64);
    hash.word(number);
    hash.bytes(bytes);
    hash.finish() as u64
}

/// The bytes before the first block.
fn head(identity: u128, width: usize, records: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..24].copy_from_slice(&identity.to_le_bytes());
    head[24..32].copy_from_slice(&(width as u64).to_le_bytes());
    head[32..40].copy_from_slice(&records.to_le_bytes());
    let sum = checksum(identity, u64::MAX, &head[..HEAD - SUM]);
    head[HEAD - SUM..].copy_from_slice(&sum.to_le_bytes());
    head
}

/// A run that is being written.
#[derive(Debug)]
pub struct RunWriter {
    out: Output,
    identity: u128,
    width: usize,
    records: u64,
    blocks: u64,
    waiting: Vec<u8>,
}

impl RunWriter {
    /// Begins the file `path` of records of `width` words, in the place of one that is there; a
    /// `durable` one is on the disk when it takes its name.
    ///
    /// # Errors
    /// `Request` when the folder is missing or cannot be written; `Internal` for a width that no run
    /// has.
    pub fn create(path: &Path, identity: u128, width: usize, durable: bool) -> Result<Self> {
        if !(1..=MOST_WORDS).contains(&width) {
            return Err(Error::internal(format!("records of {width} words")));
        }
        let force = true;
        let mut out = Output::create_at(path, OutputOptions { force, durable })?;
        let begun = out.write_all(&[0; HEAD]);
        begun.map_err(|e| out.error(&e))?;
        Ok(RunWriter {
            out,
            identity,
            width,
            records: 0,
            blocks: 0,
            waiting: vec![],
        })
    }
    /// Appends whole records.
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Internal` for a part of a record.
    pub fn push(&mut self, words: &[u64]) -> Result<()> {
        if !words.len().is_multiple_of(self.width) {
            return Err(Error::internal("a part of a record"));
        }
        self.records += (words.len() / self.width) as u64;
        let block = BLOCK_RECORDS * self.width * size_of::<u64>();
        let mut words = words;
        while !words.is_empty() {
            let room = (block - self.waiting.len()) / size_of::<u64>();
            let (now, later) = words.split_at(room.min(words.len()));
            self.waiting
                .extend(now.iter().flat_map(|word| word.to_le_bytes()));
            words = later;
            if self.waiting.len() == block {
                self.block()?;
            }
        }
        Ok(())
    }
    fn block(&mut self) -> Result<()> {
        let sum = checksum(self.identity, self.blocks, &self.waiting);
        let written = (self.out.write_all(&sum.to_le_bytes()))
            .and_then(|()| self.out.write_all(&self.waiting));
        written.map_err(|e| self.out.error(&e))?;
        self.blocks += 1;
        self.waiting.clear();
        Ok(())
    }
    /// Completes the file, which then takes its name, and returns its records.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub fn finish(mut self) -> Result<u64> {
        if !self.waiting.is_empty() {
            self.block()?;
        }
        let head = head(self.identity, self.width, self.records);
        let written = (self.out.seek(SeekFrom::Start(0))).and_then(|_| self.out.write_all(&head));
        written.map_err(|e| self.out.error(&e))?;
        self.out.commit()?;
        Ok(self.records)
    }
}

/// A run that is read block by block.
#[derive(Clone, Debug)]
pub struct RunReader {
    source: Source,
    identity: u128,
    width: usize,
    records: u64,
}

impl RunReader {
    /// Opens the run `path` of this identity, with this many records of `width` words.
    ///
    /// # Errors
    /// `Input` when it is not there, is another's, or has not the length that it says.
    pub fn open(
        path: &Path,
        (identity, width, records): (u128, usize, u64),
        budget: &Budget,
    ) -> Result<Self> {
        let source = Source::open(path, budget)?;
        let broken = |what: &str| {
            let e = Error::input(format!("the run of matches {what}"));
            Err(e.at_place(source.name()).remedy(AGAIN))
        };
        let mut found = [0; HEAD];
        let got = source.size().min(HEAD as u64) as usize;
        source.fill_at(0, &mut found[..got])?;
        if got < HEAD || found[..7] != MAGIC[..7] {
            return broken("is none: this is another kind of file");
        }
        if found[7] != MAGIC[7] {
            return broken("is of another version");
        }
        if found != head(identity, width, records) {
            let own = u128::from_le_bytes(std::array::from_fn(|at| found[8 + at]));
            return broken(match own == identity {
                true => "is damaged: its head is not what was written",
                false => "belongs to another run",
            });
        }
        let blocks = records.div_ceil(BLOCK_RECORDS as u64);
        let bytes = (records.checked_mul((width * size_of::<u64>()) as u64))
            .and_then(|bytes| bytes.checked_add(blocks * SUM as u64 + HEAD as u64));
        if bytes != Some(source.size()) {
            return broken("is damaged: it has not as many bytes as it says");
        }
        Ok(RunReader {
            source,
            identity,
            width,
            records,
        })
    }
    /// Records in all.
    pub fn records(&self) -> u64 {
        self.records
    }
    /// Bytes that [`RunReader::block`] takes while it reads.
    pub fn block_bytes(width: usize) -> u64 {
        2 * (BLOCK_RECORDS * width * size_of::<u64>() + SUM) as u64
    }
    /// Reads block `number` into `words`, which is empty behind the last one.
    ///
    /// # Errors
    /// `Input` when it cannot be read or its checksum does not match.
    pub fn block(&self, number: u64, words: &mut Vec<u64>) -> Result<()> {
        words.clear();
        let first = number.saturating_mul(BLOCK_RECORDS as u64);
        if first >= self.records {
            return Ok(());
        }
        let width = self.width * size_of::<u64>();
        let len = (self.records - first).min(BLOCK_RECORDS as u64) as usize * width;
        let start = HEAD as u64 + number * (SUM + BLOCK_RECORDS * width) as u64;
        let mut bytes = vec![0; SUM + len];
        self.source.fill_at(start, &mut bytes)?;
        let (sum, bytes) = bytes.split_at(SUM);
        if sum != checksum(self.identity, number, bytes).to_le_bytes() {
            let e = Error::input("the run of matches is damaged: a checksum does not match");
            return Err(e.at_place(self.source.name()).remedy(AGAIN));
        }
        let (all, _) = bytes.as_chunks::<8>();
        words.extend(all.iter().map(|word| u64::from_le_bytes(*word)));
        Ok(())
    }
}

/// A run that is there: its file was looked at, and is opened again when it is read. So any number of
/// runs may wait for their merge.
#[derive(Clone, Debug)]
pub struct RunFile {
    path: PathBuf,
    key: (u128, usize, u64),
    /// Whether it goes once it is part of another run.
    passes: bool,
}

impl RunFile {
    /// The run `path` of this identity, with this many records of `width` words.
    ///
    /// # Errors
    /// Those of [`RunReader::open`].
    pub fn check(path: &Path, key: (u128, usize, u64), budget: &Budget) -> Result<Self> {
        RunReader::open(path, key, budget)?;
        Ok(RunFile {
            path: path.to_owned(),
            key,
            passes: false,
        })
    }
    /// The same run, which no file names: it goes once it is part of another run, if it `passes`.
    #[must_use]
    pub fn passing(self, passes: bool) -> Self {
        RunFile { passes, ..self }
    }
    /// Records in all.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.key.2
    }
    /// Opens it.
    ///
    /// # Errors
    /// Those of [`RunReader::open`].
    pub fn open(&self, budget: &Budget) -> Result<RunReader> {
        RunReader::open(&self.path, self.key, budget)
    }
    /// Removes it if it passes: its records are part of another run.
    pub fn pass(self) {
        if self.passes {
            // One that stays goes with its folder.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Files that this process may have open where the system does not say.
const OPEN_FILES: usize = 256;
/// Files that are left for others.
const SPARE_FILES: usize = 16;

/// How many more files this process may open: its soft limit less the files that are open.
#[must_use]
pub fn files_left() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| match line.split_whitespace().next()? {
        "unlimited" => Some(usize::MAX),
        soft => soft.parse().ok(),
    });
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    soft.unwrap_or(OPEN_FILES)
        .saturating_sub(open + SPARE_FILES)
}

/// What to do about a run that is not whole.
const AGAIN: &str = "run it again";

/// Waits until the disk has these files, and their names in their folder.
///
/// # Errors
/// `Resource` when the disk fails.
pub fn sync(paths: impl Iterator<Item = PathBuf>) -> Result<()> {
    let mut last = None;
    for path in paths {
        let synced = OpenOptions::new().append(true).open(&path);
        let synced = synced.and_then(|file| file.sync_data());
        synced.map_err(|e| write_error(&path.to_string_lossy(), &e))?;
        last = Some(path);
    }
    last.map_or(Ok(()), |path| {
        sync_folder(&path).map_err(|e| write_error(&path.to_string_lossy(), &e))
    })
}

/// The file by which a process holds a folder of runs.
const LOCK: &str = "lock";
/// How the name of a folder ends whose runs no file names: it goes with its process.
const OWNED: &str = ".zipfold-runs";
/// Times that a folder is made again which a sweep takes away, and the time of a sweep.
const TIMES: usize = 20;
const SWEEP: Duration = Duration::from_millis(5);

/// A folder of runs that one process holds. It goes with the process that made it, unless another
/// file refers to its runs.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    lock: File,
    /// The folder stays while this file is there.
    owner: Option<PathBuf>,
}

impl RunFolder {
    /// Makes the folder `path`, or takes the one that is there. Of its files those called in `kept`
    /// stay. The folder is removed when this is dropped, unless the file `owner` is there then.
    ///
    /// # Errors
    /// `Request` when another process holds it, or when a link or a file has its name; those of the
    /// folder.
    pub fn hold(path: &Path, kept: &[String], owner: Option<&Path>) -> Result<Self> {
        let name = path.to_string_lossy();
        if matches!(
            Presence::itself(path),
            Presence::Link | Presence::File(_) | Presence::Special
        ) {
            let e = Error::request("expected a folder of runs of matches, got something else");
            return Err(e.at_place(name).remedy("look at it and remove it"));
        }
        if is_owned(path) {
            sweep(path);
        }
        let Some(lock) = locked(path)? else {
            let e = Error::request("another run is writing matches there");
            let other = format!("wait for it, or another name with {}", Opt::Output);
            return Err(e.at_place(name).remedy(other));
        };
        let folder = RunFolder {
            path: path.to_owned(),
            lock,
            owner: owner.map(Path::to_owned),
        };
        clear(path, kept);
        Ok(folder)
    }
    /// The path of the file `name` in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let owner = self.owner.as_deref().map(Presence::itself);
        if owner.is_none_or(|owner| owner == Presence::Nothing) {
            clear(&self.path, &[]);
            // Nothing is left to do for a folder that cannot be removed.
            let _ = fs::remove_file(self.path.join(LOCK));
            let _ = fs::remove_dir(&self.path);
        }
        let _ = self.lock.unlock();
    }
}

/// Whether the folder `path` goes with its process. It is then for this user alone.
fn is_owned(path: &Path) -> bool {
    path.to_string_lossy().ends_with(OWNED)
}

/// The lock of the folder `path`, which is made where it is not there; none if another process has it.
fn locked(path: &Path) -> Result<Option<File>> {
    let failed = |e: std::io::Error| folder_error(&path.to_string_lossy(), &e);
    let mode = if is_owned(path) { 0o700 } else { 0o777 };
    for time in 1..=TIMES {
        let made = DirBuilder::new().recursive(true).mode(mode).create(path);
        made.map_err(failed)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path.join(LOCK));
        match lock {
            // A sweep took the folder away before it was locked.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && time < TIMES => {}
            Err(e) => return Err(failed(e)),
            Ok(lock) => match hold(&lock) {
                Held::Others => std::thread::sleep(SWEEP),
                _ if is_still(&lock, &path.join(LOCK)) => return Ok(Some(lock)),
                _ => {}
            },
        }
    }
    Ok(None)
}

/// Removes the folders of runs next to `path` whose processes were killed: ours, which nobody holds,
/// and which go with their process.
fn sweep(path: &Path) {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")));
    for entry in entries.into_iter().flatten().flatten() {
        let other = entry.path();
        let left = is_owned(&other) && other != path;
        if !left || Presence::itself(&other) != Presence::Folder {
            continue;
        }
        let lock = OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(other.join(LOCK));
        if let Ok(lock) = lock
            && hold(&lock) == Held::Ours
        {
            drop(RunFolder {
                path: other,
                lock,
                owner: None,
            });
        }
    }
}

/// Removes the runs in the folder `path` but for the ones called `kept`: a file that names its runs was
/// written again. A folder without runs goes.
pub fn keep_only(path: &Path, kept: &[String]) {
    if Presence::itself(path) != Presence::Folder {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
        if plain && is_name(&name) && !kept.contains(&name) {
            let _ = fs::remove_file(entry.path());
        }
    }
    // Nothing is removed where something is left.
    let _ = fs::remove_dir(path);
}

/// Whether a run may have this name, which a file gives: it leads nowhere else.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

/// Removes the plain files of the folder `path`, but for the lock and those in `kept`.
fn clear(path: &Path, kept: &[String]) {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
        if plain && name != LOCK && !kept.iter().any(|kept| *kept == name) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The path of a folder of runs next to the output `path`, which goes with the process.
#[must_use]
pub fn beside(path: &str) -> PathBuf {
    format!("{path}{OWNED}").into()
}

/// The path of a folder of runs for an output that is not a file: among temporary files, under a name
/// that nobody can foresee.
#[must_use]
pub fn temporary() -> PathBuf {
    let half = || RandomState::new().hash_one(std::process::id());
    let name = format!("zipfold-{:016x}{:016x}{OWNED}", half(), half());
    std::env::temp_dir().join(name)
}

/// Removes the folder of runs `path`, unless a process holds it.
pub fn discard(path: &Path) {
    if Presence::itself(path) == Presence::Folder {
        // Dropped at once.
        let _ = RunFolder::hold(path, &[], None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("zipfold-runs-{name}-{}", std::process::id()))
    }

    fn budget() -> Budget {
        Budget::new(1 << 30)
    }

    #[test]
    fn blocks_come_back_and_damage_is_told() {
        let path = folder("blocks");
        let held = RunFolder::hold(&path, &[], None).unwrap();
        for (width, records) in [
            (1usize, 0u64),
            (1, 1),
            (2, 8191),
            (3, 8192),
            (2, 8193),
            (1, 30_000),
        ] {
            let file = held.file("a");
            let words: Vec<u64> = (0..records * width as u64).map(|w| w * w).collect();
            let mut run = RunWriter::create(&file, 77, width, false).unwrap();
            words
                .chunks(width * 1000)
                .for_each(|part| run.push(part).unwrap());
            assert!(run.push(&vec![0; width - 1]).is_ok() == (width == 1));
            assert_eq!(Presence::itself(&file), Presence::Nothing);
            assert_eq!(run.finish().unwrap(), records);
            let reader = RunReader::open(&file, (77, width, records), &budget()).unwrap();
            let (mut all, mut block, mut at): (Vec<u64>, _, _) = (vec![], vec![], 0);
            loop {
                reader.block(at, &mut block).unwrap();
                if block.is_empty() {
                    break;
                }
                all.extend(&block);
                at += 1;
            }
            assert_eq!(all, words);
            // Another identity, width or length, a byte of the head, of a block, a byte fewer.
            let opened = |key| RunReader::open(&file, key, &budget());
            assert!(
                opened((78, width, records))
                    .unwrap_err()
                    .to_string()
                    .contains("another run")
            );
            assert!(opened((77, width + 1, records)).is_err());
            assert!(opened((77, width, records + 1)).is_err());
            let good = fs::read(&file).unwrap();
            for at in [0, 7, 30, 63, good.len() - 1] {
                let mut bad = good.clone();
                bad[at] ^= 1;
                fs::write(&file, &bad).unwrap();
                let read = opened((77, width, records)).and_then(|run| {
                    let blocks = records.div_ceil(BLOCK_RECORDS as u64);
                    (0..blocks).try_for_each(|at| run.block(at, &mut block))
                });
                assert!(read.is_err(), "byte {at} of {}", good.len());
            }
            fs::write(&file, &good[..good.len() - 1]).unwrap();
            assert!(opened((77, width, records)).is_err());
            fs::remove_file(&file).unwrap();
        }
        drop(held);
        assert_eq!(Presence::itself(&path), Presence::Nothing);
    }

    #[test]
    fn a_folder_has_one_holder_and_stays_with_its_owner() {
        let (path, owner) = (folder("held"), folder("owner"));
        let held = RunFolder::hold(&path, &[], Some(&owner)).unwrap();
        let again = RunFolder::hold(&path, &[], None);
        assert!(again.unwrap_err().to_string().contains("another run"));
        fs::write(held.file("a"), b"a").unwrap();
        fs::write(held.file("b"), b"b").unwrap();
        discard(&path);
        assert!(held.file("a").exists());
        fs::write(&owner, b"refers to it").unwrap();
        drop(held);
        let held = RunFolder::hold(&path, &["a".into()], Some(&owner)).unwrap();
        assert!(held.file("a").exists() && !held.file("b").exists());
        fs::remove_file(&owner).unwrap();
        drop(held);
        assert!(!path.exists());
        fs::write(&path, b"no folder").unwrap();
        assert!(RunFolder::hold(&path, &[], None).is_err());
        fs::remove_file(&path).unwrap();
    }

    /// What a killed process leaves has a lock that nobody holds.
    #[test]
    fn folders_of_killed_processes_go_with_the_next_one() {
        let all = folder("swept");
        let [dead, alive, next, named] = ["a.csv", "b.csv", "c.csv", "d.csv"]
            .map(|name| beside(&all.join(name).to_string_lossy()));
        fs::create_dir_all(&dead).unwrap();
        fs::write(dead.join(LOCK), b"").unwrap();
        fs::write(dead.join("0-1"), b"matches").unwrap();
        let checkpoint = all.join("checkpoint.runs");
        fs::create_dir_all(&checkpoint).unwrap();
        fs::write(checkpoint.join(LOCK), b"").unwrap();
        std::os::unix::fs::symlink(&checkpoint, &named).unwrap();
        let held = RunFolder::hold(&alive, &[], None).unwrap();
        assert!(!dead.exists(), "swept by the first one");
        let other = RunFolder::hold(&next, &[], None).unwrap();
        assert!(alive.exists() && next.exists() && named.exists());
        assert!(
            checkpoint.join(LOCK).exists(),
            "a checkpoint names its runs"
        );
        drop((held, other));
        assert!(!alive.exists() && !next.exists());
        fs::remove_dir_all(&all).unwrap();
        assert_ne!(temporary(), temporary());
    }

    #[test]
    fn processes_that_begin_together_do_not_sweep_each_other() {
        let all = folder("together");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let all = &all;
                scope.spawn(move || {
                    for turn in 0..50 {
                        let path = beside(&all.join(format!("{thread}")).to_string_lossy());
                        let held = RunFolder::hold(&path, &[], None).unwrap();
                        fs::write(held.file("0-1"), b"a").unwrap();
                        assert!(held.file("0-1").exists(), "turn {turn}");
                    }
                });
            }
        });
        fs::remove_dir_all(&all).unwrap();
    }

    #[test]
    fn runs_that_a_new_part_does_not_name_go() {
        let path = folder("kept");
        fs::create_dir_all(&path).unwrap();
        for name in ["0-12", "1-7", "notes.txt"] {
            fs::write(path.join(name), b"").unwrap();
        }
        keep_only(&path, &["1-7".into()]);
        assert!(!path.join("0-12").exists() && path.join("1-7").exists());
        keep_only(&path, &[]);
        assert!(path.join("notes.txt").exists(), "no run");
        fs::remove_file(path.join("notes.txt")).unwrap();
        keep_only(&path, &[]);
        assert!(!path.exists());
        assert!(!is_name("../0") && !is_name("") && is_name("0-12"));
    }
}

//! Partials: what checkpoints, shards and workers exchange. A file is magic, version, length,
//! checksum, payload; the payload says which problem, data and cut it is of.

use crate::frame::Block;
use crate::identity::{Identity, Key, differs};
use crate::runs::{MatchRuns, RecordForm, RunFacts, folder_of};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::hash::Hasher;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;
use zipfold_core::fold::{Fold, State, Tally};
use zipfold_core::{Budget, Error, Job, Opt, Result};
use zipfold_io::unfinished::{remove_left, sweep};
use zipfold_io::{Output, OutputOptions, Presence};
use zipfold_plan::Tiling;

/// How a partial result begins; the last byte is the version of the format.
pub const MAGIC: &[u8; 8] = b"ZFPART\x00\x0e";
/// Bytes before the payload.
const HEAD: usize = 24;

/// The mergeable state of a part of a run.
#[must_use]
#[non_exhaustive]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partial {
    /// What decides the answer: partials that differ in it are refused.
    pub identity: Identity,
    /// The run that writes it, by a number of its own; unfinished files of the run carry the same.
    pub run: u128,
    /// How the space is cut, where that was for devices: the ones that go on with it, of any
    /// number, cut it in the same way.
    pub tiling: Option<Tiling>,
    /// Tiles folded so far.
    pub tiles_done: usize,
    /// Pairs visited so far.
    pub pairs: u64,
    /// By fold.
    pub states: Vec<State>,
    /// By fold: what hashes of the tiles of a dense result add up to.
    pub sums: Vec<u128>,
    /// What happened to the pairs.
    pub tally: Tally,
    /// The problem as JSON, for a merge to finish; of a checkpoint empty.
    pub problem: Vec<u8>,
    /// (index, parts) of a shard.
    pub shard: Option<(usize, usize)>,
    /// How the numbers of a shard came about.
    pub key: Key,
    /// By row of the states of a shard that sorted its rows: the row of x. Empty where rows are as
    /// given.
    pub order: Vec<u32>,
    /// By fold: the values of a dense result that a shard has.
    pub blocks: Vec<Block>,
    /// By fold: the runs of its matches, in the folder next to the file of the partial.
    #[doc(hidden)]
    pub runs: Vec<Vec<RunFacts>>,
    /// By fold: the matches of a shard in these runs, wherever they are now.
    #[doc(hidden)]
    #[serde(skip)]
    pub matches: Vec<Option<MatchRuns>>,
    /// The file that its runs lie next to.
    #[doc(hidden)]
    #[serde(skip)]
    pub place: PathBuf,
}

impl Partial {
    /// Nothing folded yet.
    #[doc(hidden)]
    pub fn start(identity: Identity, states: Vec<State>) -> Self {
        Partial {
            identity,
            run: number(),
            tiling: None,
            tiles_done: 0,
            pairs: 0,
            sums: vec![0; states.len()],
            runs: vec![vec![]; states.len()],
            matches: vec![],
            place: PathBuf::new(),
            states,
            tally: Tally::default(),
            problem: vec![],
            shard: None,
            key: Key::default(),
            order: vec![],
            blocks: vec![],
        }
    }
    /// Refuses a checkpoint at `path` of another run than that of `identity`.
    ///
    /// # Errors
    /// `Request` with what differs.
    #[doc(hidden)]
    pub fn matching(self, identity: &Identity, path: &Path) -> Result<Self> {
        let Some(what) = identity.difference(&self.identity) else {
            return Ok(self);
        };
        let e = differs(what, "those of the checkpoint").at_place(path.to_string_lossy());
        Err(e.remedy(format!(
            "run with the same arguments, or without {} to start again",
            Opt::Resume
        )))
    }
    /// Refuses states that `job` cannot have: a file may hold anything.
    ///
    /// # Errors
    /// `Input` for states of other folds, rows beyond those there are, or pairs that do not add up.
    #[doc(hidden)]
    pub fn check(&self, job: &Job, name: &str) -> Result<()> {
        let (n, m) = (job.space.n, job.space.m);
        let fits = self.states.len() == job.folds.len()
            && self.sums.len() == job.folds.len()
            && self.runs.len() == job.folds.len()
            && job
                .folds
                .iter()
                .zip(&self.states)
                .all(|(fold, state)| fold.takes(state, n, m));
        let blocks = self.blocks.iter().zip(&job.folds);
        let fits = fits
            && (self.blocks.is_empty() || self.blocks.len() == job.folds.len())
            && blocks
                .into_iter()
                .all(|(block, fold)| block.fits(job, fold))
            && self.order.iter().all(|row| (*row as usize) < n)
            && self.is_ordered(job);
        let counted = |s: &State| {
            s.pairs_counted()
                .is_none_or(|total| total == self.tally.counted)
        };
        if fits && self.tally.seen() == Some(self.pairs) && self.states.iter().all(counted) {
            return Ok(());
        }
        Err(
            Error::input("the partial result is damaged: it does not fit its problem")
                .at_place(name)
                .remedy(AGAIN),
        )
    }
}

impl Partial {
    /// Whether every state by row has the rows that `order` names, where it names any.
    fn is_ordered(&self, job: &Job) -> bool {
        let spans = job.folds.iter().zip(&self.states);
        let mut spans = spans
            .map(|(fold, state)| fold.span(state))
            .filter(|s| !s.is_empty());
        let first = spans.next();
        self.order.is_empty()
            || first.is_none_or(|first| {
                first.len() == self.order.len() && spans.all(|span| span == first)
            })
    }
}

/// A number that no other run has.
pub(crate) fn number() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    let half = |at: u32| {
        u128::from(RandomState::new().hash_one((at, std::process::id(), std::time::Instant::now())))
    };
    half(0) << 64 | half(1)
}

/// Bytes of a partial file.
///
/// # Errors
/// `Internal` when a state cannot be encoded.
pub fn encode(partial: &Partial) -> Result<Vec<u8>> {
    let mut out = vec![];
    put(MAGIC, partial, &mut out)
        .map_err(|e| Error::internal(format!("a partial cannot be encoded: {e}")))?;
    Ok(out)
}

/// A partial from the bytes of its file.
///
/// # Errors
/// `Input` for bytes that are no whole partial of this version.
pub fn decode(bytes: &[u8], name: &str) -> Result<Partial> {
    open_sealed(MAGIC, bytes, name).map_err(again)
}

/// What sealed bytes hold. What to do about damaged ones, the caller says.
pub(crate) fn open_sealed<T: DeserializeOwned>(
    magic: &[u8; 8],
    bytes: &[u8],
    name: &str,
) -> Result<T> {
    let reader = || bytes.get(HEAD..).unwrap_or_default();
    let sum = announced(
        magic,
        &bytes[..bytes.len().min(HEAD)],
        bytes.len() as u64,
        name,
    )?;
    sound(sum, reader(), name)?;
    get(reader(), name)
}

/// A payload behind its magic and version, length and checksum: what a file of this format is,
/// regardless of what it holds.
pub fn seal(magic: &[u8; 8], payload: &[u8]) -> Vec<u8> {
    let sum = XxHash3_64::oneshot(payload);
    [
        magic.as_slice(),
        &(payload.len() as u64).to_le_bytes(),
        &sum.to_le_bytes(),
        payload,
    ]
    .concat()
}

/// A checksum (XXH3 of 64 bits) and the length of what is written to it.
#[derive(Default)]
struct Sum {
    hash: XxHash3_64,
    length: u64,
}

/// Bytes that are read at one time.
const CHUNK: usize = 1 << 16;

impl Sum {
    fn finish(&self) -> u64 {
        self.hash.finish()
    }
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hash.write(bytes);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes `item` sealed: encoded twice rather than held.
fn put(magic: &[u8; 8], item: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let failed = |e: postcard::Error| io::Error::other(e.to_string());
    let sum = postcard::to_io(item, Sum::default()).map_err(failed)?;
    out.write_all(magic)?;
    out.write_all(&sum.length.to_le_bytes())?;
    out.write_all(&sum.finish().to_le_bytes())?;
    let mut trouble = Ok(());
    let kept = postcard::to_io(
        item,
        Kept {
            out,
            trouble: &mut trouble,
        },
    )
    .map(drop);
    trouble?;
    kept.map_err(failed)
}

/// Keeps the error that an encoder replaces by its own.
struct Kept<'a, W> {
    out: &'a mut W,
    trouble: &'a mut io::Result<()>,
}

impl<W: Write> Write for Kept<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|e| {
            let again = io::Error::new(e.kind(), "the encoder was told");
            *self.trouble = Err(e);
            again
        })
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The checksum in the head of a file of this kind and version that has `size` bytes.
fn announced(magic: &[u8; 8], head: &[u8], size: u64, name: &str) -> Result<u64> {
    let broken = |what: &str| Error::input(what.to_string()).at_place(name);
    if head.len() < HEAD || head[..7] != magic[..7] {
        return Err(broken("this is not a partial result of zipfold"));
    }
    if head[7] != magic[7] {
        return Err(broken(&format!("a partial of version {}", head[7]))
            .limit(format!("version {}", magic[7])));
    }
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| head[at + k]));
    if word(8).checked_add(HEAD as u64) != Some(size) {
        return Err(broken(&format!(
            "the partial result is damaged: it has {size} bytes, not as many as it says"
        )));
    }
    Ok(word(16))
}

/// Refuses a payload of another checksum.
fn sound(announced: u64, mut payload: impl Read, name: &str) -> Result<()> {
    let broken = |what: String| Error::input(what).at_place(name);
    let mut sum = Sum::default();
    io::copy(&mut payload, &mut sum)
        .map_err(|e| broken(format!("the partial result cannot be read: {e}")))?;
    if announced == sum.finish() {
        return Ok(());
    }
    Err(broken(
        "the partial result is damaged: its checksum does not match".into(),
    ))
}

fn get<T: DeserializeOwned>(payload: impl Read, name: &str) -> Result<T> {
    let mut room = [0; 256];
    let broken =
        |e| Error::input(format!("the partial result cannot be decoded: {e}")).at_place(name);
    postcard::from_io((payload, &mut room))
        .map(|(item, _)| item)
        .map_err(broken)
}

/// What to do about the file of a shard that is not whole. Other sealed files have remedies of their
/// own.
const AGAIN: &str = "run that shard again";

/// `e`, with a remedy if it has none.
fn again(e: Error) -> Error {
    match e.remedy_text() {
        Some(_) => e,
        None => e.remedy(AGAIN),
    }
}

impl Partial {
    /// Writes the matches of a shard whose file will be `path`: one run for each fold. Those of a file
    /// that is there stay.
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Input` for damaged runs.
    pub(crate) fn write_matches(&self, path: &Path) -> Result<()> {
        let folder = folder_of(path);
        for (runs, matches) in self.runs.iter().zip(&self.matches) {
            if let ([run], Some(matches)) = (runs.as_slice(), matches) {
                zipfold_io::store_files::make_folder(&folder)?;
                matches.write_as_one(&folder.join(&run.name), run.identity)?;
            }
        }
        Ok(())
    }
    /// Opens the matches of a shard that was read.
    ///
    /// # Errors
    /// `Input` when they are not there, damaged, or another's.
    pub(crate) fn open_matches(&mut self, job: &Job, budget: &Budget) -> Result<()> {
        let named = self.runs.iter().any(|runs| !runs.is_empty());
        if named && self.place.as_os_str().is_empty() {
            let e =
                Error::request("its matches are in runs next to its file, which bytes do not have");
            return Err(e.remedy("give the path of its file"));
        }
        let folder = folder_of(&self.place);
        let open = |(fold, runs): (&Fold, &Vec<RunFacts>)| {
            let Some(form) = RecordForm::of_fold(fold, job).filter(|_| !runs.is_empty()) else {
                return Ok(None);
            };
            let readers = runs.iter().map(|run| run.open(&folder, form, budget));
            MatchRuns::there(readers.collect::<Result<_>>()?, form, budget).map(Some)
        };
        let all = job.folds.iter().zip(&self.runs).map(open);
        self.matches = all.collect::<Result<_>>()?;
        Ok(())
    }
}

/// Writes a partial whole or not at all, and syncs it. Its runs are there before it, and those of an
/// earlier one under its name go after it.
///
/// # Errors
/// `Resource` when it cannot be written; `Request` when it is there already, without `force`.
pub fn write(path: &Path, partial: &Partial, force: bool) -> Result<()> {
    let out = sealed_output(path, force)?;
    partial.write_matches(path)?;
    put_into(MAGIC, partial, out)?;
    let names = partial.runs.iter().flatten().map(|run| run.name.clone());
    zipfold_io::runs::keep_only(&folder_of(path), &names.collect::<Vec<_>>());
    Ok(())
}

/// Writes `item` sealed, whole or not at all, and syncs it.
pub(crate) fn write_sealed(
    magic: &[u8; 8],
    path: &Path,
    item: &impl Serialize,
    force: bool,
) -> Result<()> {
    put_into(magic, item, sealed_output(path, force)?)
}

/// The file that will be `path`, in the place of one that is there with `force` alone.
fn sealed_output(path: &Path, force: bool) -> Result<Output> {
    let durable = true;
    Output::create_at(path, OutputOptions { force, durable })
}

fn put_into(magic: &[u8; 8], item: &impl Serialize, mut out: Output) -> Result<()> {
    match put(magic, item, &mut out) {
        Ok(()) => out.commit(),
        Err(e) => Err(out.error(&e)),
    }
}

/// Reads a partial. While it is read it takes from `budget`.
///
/// # Errors
/// `Input` when there is none or it is damaged; `Resource` when it does not fit the budget.
pub fn read(path: &Path, budget: &Budget) -> Result<Partial> {
    let partial: Partial = read_sealed(MAGIC, path, budget).map_err(again)?;
    let place = path.to_owned();
    Ok(Partial { place, ..partial })
}

/// What a sealed file holds. Its head is looked at first and its checksum next, so that nothing is
/// made of what cannot be one. What to do about a damaged one, the caller says.
pub(crate) fn read_sealed<T: DeserializeOwned>(
    magic: &[u8; 8],
    path: &Path,
    budget: &Budget,
) -> Result<T> {
    let name = path.to_string_lossy();
    let source = zipfold_io::guard::Source::open(path, budget)?;
    let mut head = [0; HEAD];
    let got = usize::try_from(source.size()).map_or(HEAD, |size| size.min(HEAD));
    source.fill_at(0, &mut head[..got])?;
    let payload = || BufReader::with_capacity(CHUNK, source.reader_at(HEAD as u64));
    let sum = announced(magic, &head[..got], source.size(), &name)?;
    // Numbers that were written short take more when they are decoded.
    let _held = budget.reserve(source.size().saturating_mul(2), "a partial result")?;
    sound(sum, payload(), &name)?;
    get(payload(), &name)
}

/// The checkpoint at `path`, if there is one; whether it is of this run is for
/// [`Partial::matching`] to say.
///
/// # Errors
/// As [`read`].
pub fn read_if_there(path: &Path, budget: &Budget) -> Result<Option<Partial>> {
    if !is_there(path)? {
        return Ok(None);
    }
    let again = |e: Error| e.remedy(format!("run it without {} to start again", Opt::Resume));
    read(path, budget).map(Some).map_err(again)
}

/// Whether there is a checkpoint at `path`.
///
/// # Errors
/// `Request` for a link, which would have another file read or replaced, and for what is not a
/// plain file.
pub(crate) fn is_there(path: &Path) -> Result<bool> {
    match Presence::itself(path) {
        Presence::Nothing => Ok(false),
        Presence::File(_) => Ok(true),
        Presence::Folder | Presence::Link | Presence::Special => {
            let e = Error::request("the checkpoint is a link or no plain file")
                .at_place(path.to_string_lossy());
            Err(e.remedy(format!("remove it, or another name with {}", Opt::Output)))
        }
    }
}

/// Writes the checkpoint `item` at `path`, in the place of an earlier one.
pub(crate) fn keep(magic: &[u8; 8], path: &Path, item: &impl Serialize) -> Result<()> {
    is_there(path)?;
    write_sealed(magic, path, item, true)
}

/// Keeps `partial` as the checkpoint at `path`.
pub(crate) fn keep_partial(path: &Path, partial: &Partial) -> Result<()> {
    keep(MAGIC, path, partial)
}

/// Folds beyond which no file of a dense result is looked for.
const MOST: usize = 64;

/// The file next to the checkpoint `path` that keeps the dense result of fold number `fold`.
pub(crate) fn aside(path: &Path, fold: usize) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(format!(".{fold}"));
    name.into()
}

/// Removes the checkpoint `path`, the files next to it and its runs of matches, but for the ones
/// that another run holds.
pub fn discard(path: &Path) {
    remove_left(path);
    sweep(path);
    zipfold_io::runs::discard(&folder_of(path));
    (0..MOST).for_each(|fold| remove_left(&aside(path, fold)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::fold::{GroupedState, JoinState, ListedState, TopState};

    /// Files have the numbers of states, so a new state among them takes a new version.
    #[test]
    fn states_keep_their_numbers_within_a_version() {
        let states = [
            State::Join(JoinState::default()),
            State::Top(TopState::default()),
            State::Listed(ListedState::default()),
            State::Grouped(GroupedState::default()),
        ];
        let numbers = states.map(|state| postcard::to_stdvec(&state).unwrap()[0]);
        assert_eq!((MAGIC[7], numbers), (14, [4, 6, 8, 9]));
    }
}

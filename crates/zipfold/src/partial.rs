//! Partials: what checkpoints, shards and workers exchange. A file is magic, version, key, length, checksum, payload.

use serde::{Deserialize, Serialize};
use std::path::Path;
use zipfold_core::fold::{State, Tally};
use zipfold_core::{Budget, Error, Job, Problem, Reserved, Result};
use zipfold_plan::Plan;

const MAGIC: &[u8; 8] = b"ZFPART\x00\x06";

/// The mergeable state of a part of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partial {
    /// Identifies problem, data, tiling and share: partials of other keys are refused.
    pub key: String,
    /// Tiles folded so far.
    pub tiles_done: usize,
    /// Cells visited so far.
    pub cells: u64,
    /// By fold.
    pub states: Vec<State>,
    /// What happened to the cells.
    pub tally: Tally,
    /// The problem, for a merge to finish.
    pub problem: String,
    /// (index, parts) of a shard.
    pub shard: Option<(usize, usize)>,
}

impl Partial {
    /// Nothing folded yet.
    pub fn start(key: &str, states: Vec<State>) -> Self {
        Partial {
            key: key.into(),
            tiles_done: 0,
            cells: 0,
            states,
            tally: Tally::default(),
            problem: String::new(),
            shard: None,
        }
    }
}

/// FNV-1a over bytes, 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Mixes bytes in.
    pub fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    /// Mixes a word in.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
    /// The hash.
    pub fn finish(self) -> u64 {
        self.0
    }
}

/// The key of a run: problem, tables, tiling, how rows are sorted, precision and share.
pub fn key(problem: &Problem, job: &Job, plan: &Plan, shard: Option<(usize, usize)>) -> String {
    let mut hash = Fnv::default();
    hash.add(serde_json::to_string(problem).unwrap_or_default().as_bytes());
    for table in [Some(&job.x), Some(job.other()), job.x.attributes(), job.other().attributes()].into_iter().flatten() {
        hash.word(table.rows() as u64);
        hash.word(table.cols() as u64);
        (0..table.rows() * table.cols()).for_each(|at| hash.word(table.elements().get(at).to_bits()));
    }
    let rows = plan.prune.rows();
    hash.add(format!("{:?} {:?} {shard:?} {rows}", plan.tiling, plan.precision).as_bytes());
    format!("{:016x}", hash.finish())
}

/// Bytes of a partial file.
///
/// # Errors
/// `Internal` when a state cannot be encoded.
pub fn encode(partial: &Partial) -> Result<Vec<u8>> {
    let payload =
        postcard::to_stdvec(partial).map_err(|e| Error::internal(format!("a partial cannot be encoded: {e}")))?;
    Ok(seal(MAGIC, payload))
}

/// A payload behind its magic and version, length and checksum.
pub(crate) fn seal(magic: &[u8; 8], payload: Vec<u8>) -> Vec<u8> {
    let mut hash = Fnv::default();
    hash.add(&payload);
    let mut out = magic.to_vec();
    out.extend((payload.len() as u64).to_le_bytes());
    out.extend(hash.finish().to_le_bytes());
    out.extend(payload);
    out
}

/// The payload that [`seal`] put into `bytes`.
///
/// # Errors
/// `Input` for bytes that are no whole file of this kind and version.
pub(crate) fn unseal<'b>(magic: &[u8; 8], bytes: &'b [u8], name: &str) -> Result<&'b [u8]> {
    let broken = |what: &str| Error::input(what.to_string()).at(name).remedy(AGAIN);
    if bytes.len() < 24 || bytes[..7] != magic[..7] {
        return Err(broken("this is no partial result of zipfold"));
    }
    if bytes[7] != magic[7] {
        return Err(broken(&format!("a partial of version {}", bytes[7])).limit(format!("version {}", magic[7])));
    }
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
    let payload = &bytes[24..];
    let mut hash = Fnv::default();
    hash.add(payload);
    if word(8) != payload.len() as u64 || word(16) != hash.finish() {
        return Err(broken("the partial result is damaged: its checksum does not match"));
    }
    Ok(payload)
}

/// What to do about a file that is not whole.
const AGAIN: &str = "run that share again";

/// A partial from the bytes of its file.
///
/// # Errors
/// `Input` for bytes that are no whole partial of this version.
pub fn decode(bytes: &[u8], name: &str) -> Result<Partial> {
    let broken = |e| Error::input(format!("the partial result cannot be decoded: {e}")).at(name).remedy(AGAIN);
    postcard::from_bytes(unseal(MAGIC, bytes, name)?).map_err(broken)
}

/// Writes a partial whole or not at all, and syncs it.
///
/// # Errors
/// `Resource` when it cannot be written.
pub fn write(path: &Path, partial: &Partial) -> Result<()> {
    write_bytes(path, &encode(partial)?)
}

/// Writes a file whole or not at all, and syncs it.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write;
    let options = zipfold_io::OutputOptions { force: true, durable: true };
    let mut out = zipfold_io::Output::create(&path.to_string_lossy(), options)?;
    if let Err(e) = out.write_all(bytes) {
        return Err(out.error(&e));
    }
    out.commit()
}

/// Reads a partial within `budget`.
///
/// # Errors
/// `Input` when there is none or it is damaged; `Resource` when it is larger than the budget.
pub fn read(path: &Path, budget: &Budget) -> Result<Partial> {
    let name = path.to_string_lossy();
    let bytes = read_bytes(path, MAGIC, budget)?;
    // What is decoded takes at least as much as its file, and numbers written short take more.
    let _decoded = budget.reserve(bytes.as_ref().len() as u64 * 2, &format!("the partial result {name}"))?;
    decode(bytes.as_ref(), &name)
}

/// All bytes of a file, within `budget`.
pub(crate) fn read_bytes(path: &Path, magic: &[u8; 8], budget: &Budget) -> Result<Reserved<u8>> {
    let source = zipfold_io::guard::Source::open(path, budget)?;
    let len = usize::try_from(source.size()).unwrap_or(usize::MAX);
    // A sparse file can claim any size: before it is read whole it must begin as it should.
    let mut start = [0; 7];
    let there = source.size() >= 24;
    if there {
        source.fill_at(0, &mut start)?;
    }
    if !there || start != magic[..7] {
        return Err(Error::input("this is no partial result of zipfold").at(source.name()).remedy(AGAIN));
    }
    let mut bytes = budget.vec(len, 0, &format!("the bytes of {}", source.name()))?;
    source.fill_at(0, &mut bytes.items)?;
    Ok(bytes)
}

/// Reads the checkpoint of the run `key`, if the file exists.
///
/// # Errors
/// `Input` when it is damaged; `Request` when it belongs to another run.
pub fn read_if_there(path: &Path, key: &str, budget: &Budget) -> Result<Option<Partial>> {
    if !path.exists() {
        return Ok(None);
    }
    let partial = read(path, budget)?;
    if partial.key != key {
        let e = Error::request("the checkpoint belongs to another problem, other data or another tiling");
        return Err(e.at(path.to_string_lossy()).remedy("run with the same arguments, or delete it and start again"));
    }
    Ok(Some(partial))
}

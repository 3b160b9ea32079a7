//! What a store is about: the question, its inputs by reference, and how it is cut.

use super::files::Files;
use super::kinds::{OF_SHARES, OF_SLICES, is_store};
use super::sent::Sent;
use crate::identity::Key;
use crate::reading::read_data;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use twox_hash::XxHash3_64;
use zipfold_core::problem::{FoldSpec, Input, Problem};
use zipfold_core::{Budget, Data, Error, Result};
use zipfold_gpu::DeviceSelector;
use zipfold_io::read::{refuse_store, refuse_url, split_member};
use zipfold_io::zarr::is_zarr;
use zipfold_io::{Presence, Source, store_files};
use zipfold_plan::Overrides;
use zipfold_plan::squares::SquareCounts;

/// The version of the layout of a store.
pub(super) const LAYOUT: u32 = 5;
/// The file that makes a folder a store.
pub(super) const NAME: &str = OF_SHARES;

/// The plan of a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the layout.
    pub layout: u32,
    /// The version of zipfold that planned it.
    pub version: String,
    /// The question, with the ranges that were found, and absolute paths.
    pub problem: Problem,
    /// Into how many shares it is cut.
    pub shares: usize,
    /// What shares look like.
    pub shape: String,
    /// How many squares there were, and how many are left, where shares are made of squares.
    #[serde(default)]
    pub squares: Option<SquareCounts>,
    /// The rows of x that each share reads, where it needs no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bands: Option<Vec<OwnRows>>,
    /// How the numbers of every share come about.
    pub key: Key,
    /// Where workers run, unless they name a device themselves.
    #[serde(default = "host")]
    pub device: String,
    /// The choices of the plan that workers make, too.
    pub overrides: BTreeMap<String, String>,
    /// The files that are read; none where the data were sent by value.
    pub inputs: Vec<Reference>,
    /// The hashes of what is read of them, by the names of the inputs.
    pub hashes: Vec<(String, String)>,
    /// Predictions, for people.
    pub predicted: Predicted,
}

/// Choices as a plan keeps them.
pub(super) fn texts(overrides: &Overrides) -> BTreeMap<String, String> {
    let all = overrides.texts().into_iter();
    all.map(|(key, value)| (key.into(), value)).collect()
}

fn host() -> String {
    DeviceSelector::Cpu.to_string()
}

/// What the planner expects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Pairs of the question.
    pub pairs: u64,
    /// Seconds of the whole on the machine that planned.
    pub seconds: f64,
    /// Seconds of a share.
    pub share_seconds: f64,
    /// Bytes of the results of all shares, without the matches of joins.
    pub part_bytes: u64,
    /// Bytes that each worker reads; where shares are made of squares, that the largest share does.
    pub input_bytes: u64,
    /// Threads of the machine that planned.
    pub threads: usize,
}

/// The rows of x that a share reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnRows {
    /// The first row, and the one after the last.
    pub(super) rows: [usize; 2],
    /// The hash of their numbers.
    pub(super) hash: String,
}

impl OwnRows {
    pub(super) fn range(&self) -> Range<usize> {
        self.rows[0]..self.rows[1]
    }
}

/// A file, or a Zarr array in its folder, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Its absolute path.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it was changed last, in nanoseconds of Unix time.
    pub modified: u64,
    /// The hash of its bytes (XXH3 of 64 bits).
    pub xxh3: String,
}

impl Reference {
    /// The file at `path` as it is now.
    ///
    /// # Errors
    /// `Input` when it cannot be read, or is not a plain file.
    pub fn of_file(path: &str, budget: &Budget) -> Result<Self> {
        let Some(bytes) = bytes_of(path)? else {
            let e = Error::request("expected a plain file, which workers can read, got none");
            return Err(e.at_place(path).remedy("write the rows to a file first"));
        };
        Ok(Reference {
            path: path.into(),
            bytes,
            modified: modified(path)?,
            xxh3: hash_of(path, budget)?,
        })
    }
    /// Refuses a file that is not the one that was planned with.
    ///
    /// # Errors
    /// `Request` with what differs.
    pub fn check(&self, budget: &Budget) -> Result<()> {
        self.check_size()?;
        if modified(&self.path)? == self.modified {
            return Ok(());
        }
        let got = hash_of(&self.path, budget)?;
        match got == self.xxh3 {
            true => Ok(()),
            false => Err(self.other(format!("expected the hash {}, got {got}", self.xxh3))),
        }
    }
    /// Refuses a file of another size than the one that was planned with.
    fn check_size(&self) -> Result<()> {
        match bytes_of(&self.path)? {
            Some(bytes) if bytes == self.bytes => Ok(()),
            Some(bytes) => {
                let what = format!("expected {} bytes, got {bytes}", self.bytes);
                Err(self.other(what))
            }
            None => Err(self.other("it is not there".into())),
        }
    }
    fn other(&self, what: String) -> Error {
        let e = Error::request(format!(
            "not the file that the store was planned with: {what}"
        ));
        e.at_place(self.path.clone())
            .remedy("plan the question anew, or bring the file back")
    }
}

/// The files of an input: of a Zarr array its metadata and chunks, else itself.
fn files_of(path: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(path);
    match is_zarr(path) {
        true => zipfold_io::zarr::files(path),
        false => Ok(vec![path.to_owned()]),
    }
}

/// The bytes of an input; none where it has no plain file.
fn bytes_of(path: &str) -> Result<Option<u64>> {
    let files = files_of(path)?;
    let bytes = files.iter().map(|file| match Presence::behind(file) {
        Presence::File(bytes) => Some(bytes),
        Presence::Nothing | Presence::Folder | Presence::Link | Presence::Special => None,
    });
    Ok(bytes.sum())
}

fn modified(path: &str) -> Result<u64> {
    let nanos = |file: &PathBuf| {
        let time = store_files::modified(file);
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.map_or(0, |since| since.as_nanos() as u64)
    };
    Ok(files_of(path)?.iter().map(nanos).max().unwrap_or(0))
}

/// Bytes that are read at one time.
const CHUNK: usize = 1 << 20;

fn hash_of(path: &str, budget: &Budget) -> Result<String> {
    let (files, mut hash) = (files_of(path)?, XxHash3_64::new());
    let mut chunk = vec![0; CHUNK];
    for file in &files {
        // A chunk under another name is another array.
        if files.len() > 1 {
            std::hash::Hasher::write(&mut hash, file.as_os_str().as_encoded_bytes());
        }
        let mut reader = Source::open(file, budget)?.reader_at(0);
        loop {
            let got = reader
                .read(&mut chunk)
                .map_err(|e| zipfold_io::guard::read_error(path, "cannot be read", &e))?;
            if got == 0 {
                break;
            }
            std::hash::Hasher::write(&mut hash, &chunk[..got]);
        }
    }
    Ok(format!("{:016x}", std::hash::Hasher::finish(&hash)))
}

/// The inputs that a problem names.
fn inputs(problem: &mut Problem) -> Vec<&mut Input> {
    let Problem {
        x, y, pairs, folds, ..
    } = problem;
    let weights = folds.iter_mut().filter_map(|fold| match fold {
        FoldSpec::Reduce { weights, .. } => weights.as_mut(),
        FoldSpec::Matrix {}
        | FoldSpec::Condensed {}
        | FoldSpec::Nearest { .. }
        | FoldSpec::Histogram { .. }
        | FoldSpec::Join { .. }
        | FoldSpec::Top(_)
        | FoldSpec::Quantile(_) => None,
    });
    [Some(x), y.as_mut(), pairs.as_mut()]
        .into_iter()
        .flatten()
        .chain(weights)
        .collect()
}

/// Makes the paths of `problem` absolute; the files by reference.
///
/// # Errors
/// `Request` for anything but a plain file, such as standard input.
pub(crate) fn refer(problem: &mut Problem, budget: &Budget) -> Result<Vec<Reference>> {
    let mut all: Vec<Reference> = vec![];
    for input in inputs(problem) {
        if input.name == "-" {
            let e = Error::request("expected a file, which workers can read, got standard input");
            return Err(e.remedy("write the rows to a file first"));
        }
        refuse_url(&input.name)?;
        // A member of an archive is read from the file of the archive.
        let (file, member) = split_member(&input.name);
        let file = store_files::absolute(Path::new(file))?;
        let file = file.to_string_lossy().into_owned();
        if all.iter().all(|known| known.path != file) {
            all.push(Reference::of_file(&file, budget)?);
        }
        input.name = match member {
            Some(member) => format!("{file}:{member}"),
            None => file,
        };
    }
    Ok(all)
}

impl Manifest {
    /// The plan in a store.
    ///
    /// # Errors
    /// `Request` when the folder has no plan; `Input` when its plan cannot be read or is of another
    /// version.
    pub fn read(files: &dyn Files, budget: &Budget) -> Result<Self> {
        let place = files.path(NAME).to_string_lossy().into_owned();
        let Some(bytes) = files.get(NAME, budget)? else {
            refuse_store(&place)?;
            if is_store(&files.path(""), OF_SLICES) {
                let e = Error::request("expected a store of shares, got one of slices");
                return Err(e
                    .at_place(place)
                    .remedy("the same inference with this folder, which works on it and answers"));
            }
            let e = Error::request("expected a store, got a folder without a plan");
            return Err(e
                .at_place(place)
                .remedy("plan a question with this folder as its store"));
        };
        let odd = |what: String| Error::input(what).at_place(place.clone());
        let layout: LayoutOf =
            serde_json::from_slice(&bytes).map_err(|e| odd(format!("no plan of a store: {e}")))?;
        if layout.layout != LAYOUT {
            let what = format!("a store of layout {}", layout.layout);
            return Err(odd(what)
                .limit(format!("layout {LAYOUT}"))
                .remedy("the zipfold that planned it"));
        }
        serde_json::from_slice(&bytes).map_err(|e| odd(format!("the plan is damaged: {e}")))
    }
    /// The plan choices of every worker.
    ///
    /// # Errors
    /// `Request` for choices that this version does not know.
    pub fn overrides(&self) -> Result<Overrides> {
        Overrides::read(&self.overrides)
    }
    /// The data of the question, the same that it was planned with.
    ///
    /// # Errors
    /// `Request` with the name of a file that differs; those of the readers.
    pub fn data(&self, files: &dyn Files, budget: &Budget) -> Result<Data> {
        self.check_inputs(None, budget)?;
        let data = match self.inputs.is_empty() {
            true => Sent::read(files, budget)?,
            false => read_data(&self.problem, budget)?,
        };
        self.check_hashes(&data, 0..self.hashes.len())?;
        Ok(data)
    }
    /// Refuses other files than were planned with. Of the one whose rows shares know `by_rows` (by a hash
    /// of their own) only the size is looked at.
    ///
    /// # Errors
    /// `Request` with the name of a file that differs.
    pub(super) fn check_inputs(&self, by_rows: Option<&str>, budget: &Budget) -> Result<()> {
        let check = |input: &Reference| match by_rows == Some(&*input.path) {
            true => input.check_size(),
            false => input.check(budget),
        };
        self.inputs.iter().try_for_each(check)
    }
    /// Refuses other data of these inputs than were planned with.
    ///
    /// # Errors
    /// `Request` with the name of an input that differs.
    pub(super) fn check_hashes(&self, data: &Data, inputs: Range<usize>) -> Result<()> {
        let got = hashes(&self.problem, data);
        let mut both = got.iter().zip(&self.hashes).skip(inputs.start);
        let odd = (both.by_ref().take(inputs.len())).find(|(got, known)| got != known);
        match odd {
            None if got.len() == self.hashes.len() => Ok(()),
            None => Err(Error::input("the plan names other inputs than the problem")),
            Some(((name, got), (_, known))) => {
                let what = format!(
                    "not the data that the store was planned with: expected the hash {known}, got {got}"
                );
                Err(Error::request(what)
                    .at_place(name.clone())
                    .remedy("plan the question anew, or bring the data back"))
            }
        }
    }
    /// The name of share `index`, from 0, in the folders of the store.
    #[must_use]
    pub fn share_name(index: usize) -> String {
        format!("{:06}", index + 1)
    }
    /// Whether a name is that of a share.
    pub(super) fn is_share(&self, name: &str) -> bool {
        let number = name.parse::<usize>().ok();
        number.is_some_and(|number| {
            (1..=self.shares).contains(&number) && Self::share_name(number - 1) == name
        })
    }
    /// Refuses a number without a share.
    ///
    /// # Errors
    /// `Request`, with the numbers that there are.
    pub fn index(&self, number: usize) -> Result<usize> {
        super::numbers::index_of(number, self.shares)
    }
}

/// The first that is read of a plan.
#[derive(Deserialize)]
struct LayoutOf {
    layout: u32,
}

/// The hashes of data by the names of the inputs.
pub(crate) fn hashes(problem: &Problem, data: &Data) -> Vec<(String, String)> {
    let all = data.hashes(problem).into_iter();
    all.map(|(input, hash)| (input.name.clone(), hash))
        .collect()
}

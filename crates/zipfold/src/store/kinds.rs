//! Kinds of stores, by the file that makes a folder one: a folder has a store of one kind.

use std::path::{Path, PathBuf};
use zipfold_core::{Error, Opt, Result};
use zipfold_io::read::refuse_store;
use zipfold_io::store_files;

/// The plan of a question in shares.
pub(crate) const OF_SHARES: &str = "plan.json";
/// The plan of an inference whose slices are shared out.
pub(crate) const OF_SLICES: &str = "slices.json";
/// How the files begin of a question about a network that was planned for workers, and of its plan, before a
/// hash of the question.
pub(crate) const QUESTION: &str = "inference-";
pub(crate) const ORDER: &str = "order-";
/// What to do about a damaged file that the plan made: workers read it, and make none.
pub(crate) const ANEW: &str = "plan the question anew, in another folder";
/// What says of a mirror of an object store which of its files are there in pieces (`python/zipfold/stores.py`).
pub(crate) const PIECES: &str = ".pieces";
/// How the folder of one stage of an inference begins, before its number.
pub(crate) const STAGE: &str = "stage-";

/// The refusal of a folder that is a store already.
pub(crate) fn taken(root: &Path) -> Error {
    let e = Error::request("the folder is a store already").at_place(root.to_string_lossy());
    e.remedy(format!("another folder with {}", Opt::Store))
}

fn is_stage(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(STAGE))
}

/// The folder of the last stage of an inference in `root` that has begun.
pub(crate) fn last_stage(root: &Path) -> Option<PathBuf> {
    let names = store_files::names(root).unwrap_or_default();
    let number = |name: &String| name.strip_prefix(STAGE)?.parse::<usize>().ok();
    let folder = |stage: usize| root.join(format!("{STAGE}{stage}"));
    let begun = |stage: &usize| is_store(&folder(*stage), OF_SLICES);
    names
        .iter()
        .filter_map(number)
        .filter(begun)
        .max()
        .map(folder)
}

/// Whether the folder has parts or checkpoints of shares, or stages of an inference.
pub(crate) fn has_results(root: &Path) -> bool {
    let any = |folder: &str| store_files::names(&root.join(folder)).is_ok_and(|n| !n.is_empty());
    any("parts") || any("running") || last_stage(root).is_some()
}

/// Whether the folder has a store of this kind.
pub(crate) fn is_store(root: &Path, kind: &str) -> bool {
    store_files::modified(&root.join(kind)).is_some()
}

/// Refuses a place that cannot be a store of the kind `own`: a URL, and a folder with one of another kind.
///
/// # Errors
/// `Request` for those.
pub(super) fn refuse_others(root: &Path, own: &str) -> Result<()> {
    let place = root.to_string_lossy();
    refuse_store(&place)?;
    // Stages of an inference have folders of their own, in that of the whole.
    let names = store_files::names(root).unwrap_or_default();
    let mut places: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
    places.retain(|folder| is_stage(folder));
    places.extend(root.parent().filter(|_| is_stage(root)).map(Path::to_owned));
    places.push(root.to_owned());
    let mut others = [OF_SHARES, OF_SLICES]
        .into_iter()
        .filter(|kind| *kind != own);
    if others.any(|kind| places.iter().any(|folder| is_store(folder, kind))) {
        let e =
            Error::request("the folder is a store of something else").at_place(place.into_owned());
        return Err(e.remedy(format!("another folder with {}", Opt::Store)));
    }
    Ok(())
}

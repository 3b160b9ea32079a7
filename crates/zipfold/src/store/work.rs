//! Shares of a question: what a worker has of it, and how it computes one.

use super::attempt::Attempt;
use super::bands::BandInputs;
use super::checkpoint::continued;
use super::files::Files;
use super::lease::Who;
use super::manifest::Manifest;
use super::squares::{SquareShare, SquaresOfStore};
use super::worker::{matches_name, put_part};
use crate::identity::Key;
use crate::options::{Options, Target};
use crate::partial::{self, Partial};
use crate::planned_question::PlannedQuestion;
use crate::query::{Query, Ready};
use crate::runs::folder_of;
use crate::sharding;
use std::path::Path;
use std::time::Instant;
use zipfold_core::{Budget, Data, Error, Opt, Result};

/// A question with its data, as every worker and the merge have it.
#[derive(Debug)]
pub struct Loaded {
    /// The plan of the store.
    pub manifest: Manifest,
    /// Its data, unless shares read their own rows.
    pub data: Option<Data>,
    /// Its squares, where shares are made of them.
    pub(crate) squares: Option<SquaresOfStore>,
    /// What workers have of the inputs, where shares read their own rows of x.
    pub(crate) bands: Option<BandInputs>,
}

impl Loaded {
    /// The data of the question.
    ///
    /// # Errors
    /// `Internal` if they were left out.
    pub fn all_data(&self) -> Result<&Data> {
        self.data.as_ref().ok_or_else(no_rows)
    }
}

impl Loaded {
    /// The question about all rows, where each share reads all of them: neither ranges of squares nor
    /// the rows of its band.
    ///
    /// # Errors
    /// Those of planning.
    pub(super) fn ready<'a>(&'a self, options: &'a Options<'a>) -> Result<Option<Ready<'a>>> {
        match (&self.squares, &self.bands, &self.data) {
            (None, None, Some(data)) => {
                let query = Query::new(&self.manifest.problem, data, options);
                query.ready().map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// A store whose shares have no rows.
fn no_rows() -> Error {
    Error::internal("a store without its data")
}

/// What computes shares of a question.
pub(crate) struct ShareOfPairs<'a> {
    pub files: &'a dyn Files,
    pub loaded: &'a Loaded,
    pub options: &'a Options<'a>,
    pub who: &'a Who,
    /// The question about all rows, where each share reads all of them.
    pub prepared: Option<PlannedQuestion<'a>>,
}

impl ShareOfPairs<'_> {
    fn budget(&self) -> &Budget {
        &self.options.budget
    }
    /// Refuses to work where numbers would come about in another way than planned.
    pub(crate) fn check(&self) -> Result<()> {
        let manifest = &self.loaded.manifest;
        let key = match (&self.loaded.squares, manifest.squares, &self.prepared) {
            (Some(squares), Some(counts), _) => {
                self.of_squares(squares, Path::new("")).key(counts)?
            }
            (_, _, Some(prepared)) => prepared.key(manifest.shares),
            (_, _, None) => {
                let bands = self.loaded.bands.as_ref().ok_or_else(no_rows)?;
                let few = bands.to_plan(manifest, self.budget())?;
                let explained = Query::new(&manifest.problem, &few, self.options).explain()?;
                Key::of_plan(&explained.job, &explained.plan, manifest.shares)
            }
        };
        match key.difference(&manifest.key) {
            None => Ok(()),
            Some((what, here, planned)) => {
                let e = Error::request(format!(
                    "{what} is not the same: this worker has {here}, the store was planned with {planned}"
                ));
                Err(e.remedy(format!(
                    "workers of one version and device, or a new store planned with {} for all of them",
                    Opt::Set.like("isa=avx2")
                )))
            }
        }
    }
    /// Computes share `index` and puts its part into the store.
    pub(crate) fn compute(&self, index: usize) -> Result<()> {
        let start = Instant::now();
        let attempt = Attempt::begin(self.files, index)?;
        let checkpoint = &attempt.checkpoint;
        let part = match &self.loaded.squares {
            Some(squares) => self.of_squares(squares, checkpoint).compute(index)?,
            None => self.tiles(index, checkpoint)?,
        };
        let bytes = partial::encode(&part)?;
        // A part names its matches, so they are there first.
        let matches = matches_name(index);
        self.files
            .made(&matches, &|path| part.write_matches(path))?;
        put_part(self.files, (index, &bytes), (start, part.pairs), self.who)?;
        attempt.end(self.files);
        Ok(())
    }
    /// What computes shares of squares, and keeps what it has at `checkpoint`.
    fn of_squares<'w>(
        &'w self,
        squares: &'w SquaresOfStore,
        checkpoint: &'w Path,
    ) -> SquareShare<'w> {
        SquareShare {
            files: self.files,
            problem: &self.loaded.manifest.problem,
            data: self.loaded.data.as_ref().filter(|_| !squares.are_enough()),
            manifest: &self.loaded.manifest,
            squares,
            options: self.options,
            checkpoint,
        }
    }
    /// Computes the tiles of share `index`.
    fn tiles(&self, index: usize, checkpoint: &Path) -> Result<Partial> {
        let manifest = &self.loaded.manifest;
        let shard = (index, manifest.shares);
        let own = match &self.prepared {
            Some(_) => None,
            None => {
                let bands = self.loaded.bands.as_ref().ok_or_else(no_rows)?;
                Some(bands.of_share(manifest, index, self.budget())?)
            }
        };
        let run = |resume: bool| {
            let options = Options {
                shard: Some(shard),
                checkpoint: Some(checkpoint.to_owned()),
                resume,
                ..self.options.clone()
            };
            // Next to the checkpoint.
            let target = Target::Runs(folder_of(checkpoint), None);
            let outcome = match (&self.prepared, &own) {
                (Some(prepared), _) => prepared.run(&target, &options)?,
                (None, Some(data)) => {
                    let query = Query::new(&manifest.problem, data, &options);
                    query.run_to(&target)?.outcome
                }
                (None, None) => return Err(no_rows()),
            };
            sharding::part(&manifest.problem, &outcome, shard)
        };
        let part = continued(checkpoint, self.budget(), run)?;
        match (&own, manifest.hashes.first()) {
            // It is a part of the question about all rows.
            (Some(_), Some((_, hash))) => Ok(Partial {
                identity: part.identity.of_all_x(hash),
                ..part
            }),
            _ => Ok(part),
        }
    }
}

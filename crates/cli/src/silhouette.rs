//! `zipfold silhouette` and `zipfold explain silhouette`.

use crate::args::SilhouetteArgs;
use crate::described::{Answered, JobVerb, description, is_description, some};
use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::report::Shown;
use zipfold::internals::silhouette::{Silhouette, Silhouettes};
use zipfold::io::OutputOptions;
use zipfold::{Budget, Error, Result};

/// Answers the question of `args`.
pub(crate) fn run(args: &SilhouetteArgs) -> Result<()> {
    verb(args).run(|budget| asked(args, budget), Silhouette::run)
}

/// Prints how the distances would be summed.
pub(crate) fn explain(args: &SilhouetteArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), Silhouette::explain)
}

fn verb(args: &SilhouetteArgs) -> JobVerb<'_> {
    JobVerb {
        name: "silhouette",
        input: ("data", &args.data),
        answers: "silhouettes",
        run: &args.run,
    }
}

impl Answered for Silhouettes {
    fn shown(&self) -> &dyn Shown {
        self
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        Silhouettes::save(self, path, how)
    }
    fn lines(&self) -> String {
        Silhouettes::lines(self)
    }
    fn visited(&self) -> String {
        some(self.values.len() as u64, "row")
    }
    fn pairs(&self) -> u64 {
        self.pairs
    }
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &SilhouetteArgs, budget: &Budget) -> Result<Silhouette> {
    let mut asked = match (is_description(&args.data), &args.labels) {
        (true, _) => description(&args.data, budget)?,
        (false, Some(labels)) => Silhouette::new(&args.data, labels),
        (false, None) => {
            let e = Error::request("expected a column of labels, got none").at_place("--labels");
            return Err(e.remedy("--labels COLUMN"));
        }
    };
    if let Some(labels) = &args.labels {
        asked.labels.clone_from(labels);
    }
    asked.columns = args.columns.clone().or(asked.columns);
    let (metric, formula) = (&mut asked.metric, &mut asked.formula);
    args.distance
        .put(metric, formula, &mut asked.params, budget)?;
    asked.header = args.header.as_deref().map(|h| h == "yes").or(asked.header);
    Ok(asked)
}

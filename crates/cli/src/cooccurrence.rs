//! `zipfold cooccurrence` and `zipfold explain cooccurrence`.

use crate::args::CooccurrenceArgs;
use crate::described::{Answered, JobVerb, description, is_description, some, table};
use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::pattern::{Cooccurrence, Occurrences};
use zipfold::internals::report::Shown;
use zipfold::io::{OutputOptions, ReadOptions, read_table};
use zipfold::{Budget, Error, Result};

/// Answers the question of `args`.
pub(crate) fn run(args: &CooccurrenceArgs) -> Result<()> {
    verb(args).run(|budget| asked(args, budget), Cooccurrence::run)
}

/// Prints how the pairs would be counted.
pub(crate) fn explain(args: &CooccurrenceArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), Cooccurrence::explain)
}

fn verb(args: &CooccurrenceArgs) -> JobVerb<'_> {
    JobVerb {
        name: "cooccurrence",
        input: ("data", &args.data),
        answers: "co-occurrences",
        run: &args.run,
    }
}

impl Answered for Occurrences {
    fn shown(&self) -> &dyn Shown {
        self
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        Occurrences::save(self, path, how)
    }
    /// The ratios of the first pairs of kinds.
    fn lines(&self) -> String {
        let kinds = self.kinds.len();
        let first = (0..kinds * kinds)
            .take(6)
            .map(|at| (at / kinds, at % kinds));
        let columns: Vec<(String, &[f64])> = first
            .map(|(a, b)| {
                let name = format!("{} | {}", self.kinds[b], self.kinds[a]);
                (name, self.ratios(a, b))
            })
            .collect();
        table("up to", &self.edges[1..], &columns)
    }
    fn visited(&self) -> String {
        some(self.sizes.iter().sum(), "point")
    }
    fn pairs(&self) -> u64 {
        self.pairs
    }
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &CooccurrenceArgs, budget: &Budget) -> Result<Cooccurrence> {
    let mut asked = match (is_description(&args.data), &args.labels) {
        (true, _) => description(&args.data, budget)?,
        (false, Some(labels)) => Cooccurrence::new(&args.data, labels),
        (false, None) => {
            let e = Error::request("expected a column of labels, got none").at_place("--labels");
            return Err(e.remedy("--labels COLUMN"));
        }
    };
    if let Some(labels) = &args.labels {
        asked.labels.clone_from(labels);
    }
    asked.columns = args.columns.clone().or(asked.columns);
    if let Some(path) = &args.edges {
        let table = read_table(path, &ReadOptions::default(), budget)?;
        let edges = (0..table.rows()).map(|row| table.get(row, 0)).collect();
        (asked.edges, asked.max, asked.bins) = (Some(edges), None, None);
    }
    if args.max.is_some() || args.bins.is_some() {
        asked.edges = None;
    }
    asked.max = args.max.or(asked.max);
    asked.bins = args.bins.or(asked.bins);
    asked.cumulative |= args.cumulative;
    asked.header = args.header.as_deref().map(|h| h == "yes").or(asked.header);
    Ok(asked)
}

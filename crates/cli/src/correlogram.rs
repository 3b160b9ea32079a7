//! `zipfold correlogram` and `zipfold explain correlogram`.

use crate::args::CorrelogramArgs;
use crate::described::{Answered, JobVerb, description, is_description, some, word};
use zipfold::internals::correlogram::{Correlogram, Correlograms};
use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::report::Shown;
use zipfold::io::OutputOptions;
use zipfold::{Budget, Result};

/// Answers the question of `args`.
pub(crate) fn run(args: &CorrelogramArgs) -> Result<()> {
    verb(args).run(|budget| asked(args, budget), Correlogram::run)
}

/// Prints how the pairs of spikes would be counted.
pub(crate) fn explain(args: &CorrelogramArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), Correlogram::explain)
}

fn verb(args: &CorrelogramArgs) -> JobVerb<'_> {
    JobVerb {
        name: "correlogram",
        input: ("data", &args.data),
        answers: "correlograms",
        run: &args.run,
    }
}

impl Answered for Correlograms {
    fn shown(&self) -> &dyn Shown {
        self
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        Correlograms::save(self, path, how)
    }
    fn lines(&self) -> String {
        Correlograms::lines(self)
    }
    fn visited(&self) -> String {
        some(self.spikes.iter().sum(), "spike")
    }
    fn pairs(&self) -> u64 {
        self.pairs
    }
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &CorrelogramArgs, budget: &Budget) -> Result<Correlogram> {
    let mut asked = match is_description(&args.data) {
        true => description(&args.data, budget)?,
        false => Correlogram::new(&args.data),
    };
    if let Some(time) = &args.time {
        asked.time.clone_from(time);
    }
    // Each takes the place of the other one in a description.
    if args.single {
        (asked.single, asked.units) = (true, None);
    }
    if let Some(units) = &args.units {
        (asked.single, asked.units) = (false, Some(units.clone()));
    }
    asked.max = args.max.unwrap_or(asked.max);
    asked.bins = args.bins.unwrap_or(asked.bins);
    asked.normalise = word(&args.normalise)?.unwrap_or(asked.normalise);
    asked.header = args.header.as_deref().map(|h| h == "yes").or(asked.header);
    Ok(asked)
}

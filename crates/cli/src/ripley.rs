//! `zipfold ripley` and `zipfold explain ripley`.

use crate::args::RipleyArgs;
use crate::described::{Answered, JobVerb, description, is_description, some, table, word};
use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::pattern::{Ripley, RipleyAnswer};
use zipfold::internals::report::Shown;
use zipfold::io::OutputOptions;
use zipfold::{Budget, Result};

/// Answers the question of `args`.
pub(crate) fn run(args: &RipleyArgs) -> Result<()> {
    verb(args).run(|budget| asked(args, budget), Ripley::run)
}

/// Prints how the pairs of points would be counted.
pub(crate) fn explain(args: &RipleyArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), Ripley::explain)
}

fn verb(args: &RipleyArgs) -> JobVerb<'_> {
    JobVerb {
        name: "ripley",
        input: ("data", &args.data),
        answers: "Ripley's functions",
        run: &args.run,
    }
}

impl Answered for RipleyAnswer {
    fn shown(&self) -> &dyn Shown {
        self
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        RipleyAnswer::save(self, path, how)
    }
    /// Of one kind K, L, g; of several L of the first pairs.
    fn lines(&self) -> String {
        let columns: Vec<(String, &[f64])> = match self.curves.as_slice() {
            [one] => vec![
                ("K".into(), &one.k[..]),
                ("K, random".into(), &self.theory[..]),
                ("L".into(), &one.l[..]),
                ("g".into(), &one.g[..]),
            ],
            curves => {
                let first = curves.iter().take(6);
                let name = |at: usize| self.kinds[at].clone();
                first
                    .map(|c| {
                        (
                            format!("L {}-{}", name(c.kinds[0]), name(c.kinds[1])),
                            &c.l[..],
                        )
                    })
                    .collect()
            }
        };
        table("r", &self.edges[1..], &columns)
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
fn asked(args: &RipleyArgs, budget: &Budget) -> Result<Ripley> {
    let mut asked = match is_description(&args.data) {
        true => description(&args.data, budget)?,
        false => Ripley::new(&args.data),
    };
    asked.columns = args.columns.clone().or(asked.columns);
    asked.by = args.by.clone().or(asked.by);
    asked.window = args.window.clone().or(asked.window);
    asked.max = args.max.or(asked.max);
    asked.bins = args.bins.or(asked.bins);
    asked.correction = word(&args.correction)?.unwrap_or(asked.correction);
    asked.simulations = args.simulations.unwrap_or(asked.simulations);
    asked.seed = args.seed.or(asked.seed);
    asked.null = word(&args.null)?.or(asked.null);
    asked.header = args.header.as_deref().map(|h| h == "yes").or(asked.header);
    Ok(asked)
}

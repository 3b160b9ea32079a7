//! `zipfold paircount` and `zipfold explain paircount`.

use crate::args::PairCountArgs;
use crate::described::{Answered, JobVerb, description, is_description, some, table, word};
use zipfold::internals::destination::{ARRAYS, LISTS, refuse_place, refuse_suffix};
use zipfold::internals::paircount::{Cut, PairCount, PairCounts, Pip, Regions, Separation};
use zipfold::internals::report::Shown;
use zipfold::io::{OutputOptions, ReadOptions, read_table};
use zipfold::{Budget, Error, Result};

/// Answers the question of `args`.
pub(crate) fn run(args: &PairCountArgs) -> Result<()> {
    let ask = |budget: &Budget| {
        refuse_early(args)?;
        asked(args, budget)
    };
    verb(args).run(ask, |asked, options| {
        Ok(CountedPairs {
            answer: asked.run(options)?,
            args,
        })
    })
}

/// Prints how each term would be counted.
pub(crate) fn explain(args: &PairCountArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), PairCount::explain)
}

fn verb(args: &PairCountArgs) -> JobVerb<'_> {
    JobVerb {
        name: "paircount",
        input: ("data", &args.data),
        answers: "counts of pairs of catalogues",
        run: &args.run,
    }
}

/// An answer, and what is written of it.
struct CountedPairs<'a> {
    answer: PairCounts,
    args: &'a PairCountArgs,
}

impl Answered for CountedPairs<'_> {
    fn shown(&self) -> &dyn Shown {
        &self.answer
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        self.answer.save(path, how)
    }
    fn save_others(&self, how: OutputOptions) -> Result<Vec<String>> {
        let (answer, args) = (&self.answer, self.args);
        let mut written = vec![];
        if let Some(path) = &args.counts {
            answer.write_counts(path, how)?;
            written.push(path.clone());
        }
        if let Some(path) = &args.covariance {
            answer.save_covariance(path, how)?;
            written.push(path.clone());
        }
        if let Some(path) = &args.sample_curves {
            answer.write_samples(path, how)?;
            written.push(path.clone());
        }
        Ok(written)
    }
    fn lines(&self) -> String {
        let answer = &self.answer;
        let mut columns: Vec<(String, &[f64])> = vec![];
        for curve in answer.curves.iter().take(4) {
            columns.push((curve.name.clone(), &curve.values));
            if let Some(errors) = &curve.errors {
                columns.push((format!("± {}", curve.name), errors));
            }
        }
        if answer.edges.len() == 1 {
            let terms = answer.terms.iter().take(4);
            columns.extend(terms.map(|term| (term.name.clone(), term.sums.as_slice())));
        }
        table(answer.axes[0], &answer.middles(), &columns)
    }
    fn visited(&self) -> String {
        some(self.answer.terms.len() as u64, "term")
    }
    fn pairs(&self) -> u64 {
        self.answer.pairs
    }
}

/// Refuses outputs that could not be written, before any work.
fn refuse_early(args: &PairCountArgs) -> Result<()> {
    let how = args.run.how_written();
    let refuse = |path: &Option<String>, suffixes: &[&str]| {
        path.iter().try_for_each(|path| {
            refuse_suffix(path, suffixes)?;
            refuse_place(path, how)
        })
    };
    let matrix: Vec<&str> = ARRAYS.iter().copied().chain(["svg", "png"]).collect();
    refuse(&args.counts, LISTS)?;
    refuse(&args.covariance, &matrix)?;
    refuse(&args.sample_curves, ARRAYS)
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &PairCountArgs, budget: &Budget) -> Result<PairCount> {
    let path = &args.data;
    let mut asked = match is_description(path) {
        true => description(path, budget)?,
        false => PairCount::new(path.clone()),
    };
    let texts = [
        (&mut asked.data2, &args.data2),
        (&mut asked.randoms, &args.randoms),
        (&mut asked.randoms2, &args.randoms2),
        (&mut asked.shifted, &args.shifted),
        (&mut asked.weights, &args.weights),
        (&mut asked.upweights, &args.upweights),
    ];
    for (key, given) in texts {
        if given.is_some() {
            key.clone_from(given);
        }
    }
    asked.columns = args.columns.clone().or(asked.columns);
    asked.sky |= args.sky;
    bins(args, &mut asked, budget)?;
    made(args, &mut asked)?;
    pairs(args, &mut asked)?;
    Ok(asked)
}

/// Takes the bins that are given.
fn bins(args: &PairCountArgs, asked: &mut PairCount, budget: &Budget) -> Result<()> {
    let flags = [
        (args.rppi, Separation::RpPi),
        (args.smu, Separation::Smu),
        (args.theta, Separation::Theta),
    ];
    if let Some((_, separation)) = flags.iter().find(|(given, _)| *given) {
        asked.separation = *separation;
    }
    if let Some([lo, hi]) = args.range.as_deref() {
        (asked.range, asked.edges) = (Some([*lo, *hi]), None);
    }
    asked.bins = args.bins.or(asked.bins);
    asked.log |= args.log;
    if let Some(path) = &args.edges {
        let table = read_table(path, &ReadOptions::default(), budget)?;
        let edges = (0..table.rows()).map(|row| table.get(row, 0)).collect();
        (asked.edges, asked.range) = (Some(edges), None);
        (asked.bins, asked.log) = (args.bins, args.log);
    }
    if let Some([last, count]) = args.pi.as_deref() {
        asked.pi = Some([*last, *count]);
    }
    asked.mu = args.mu.unwrap_or(asked.mu);
    asked.los = word(&args.los)?.unwrap_or(asked.los);
    if let Some(lengths) = &args.periodic_box {
        asked.periodic_box = Some(lengths.clone());
    }
    Ok(())
}

/// Takes what counts make.
fn made(args: &PairCountArgs, asked: &mut PairCount) -> Result<()> {
    asked.estimator = word(&args.estimator)?.or(asked.estimator);
    asked.resample = word(&args.resample)?.unwrap_or(asked.resample);
    if let Some(multipoles) = &args.multipoles {
        asked.multipoles.clone_from(multipoles);
    }
    asked.wedges = args.wedges.unwrap_or(asked.wedges);
    asked.samples = args.samples.unwrap_or(asked.samples);
    asked.seed = args.seed.unwrap_or(asked.seed);
    if let Some(regions) = &args.regions {
        asked.regions = Some(match regions.parse() {
            Ok(count) => Regions::Made(count),
            Err(_) => Regions::Column(regions.clone()),
        });
    }
    Ok(())
}

/// Takes weights and conditions of pairs.
fn pairs(args: &PairCountArgs, asked: &mut PairCount) -> Result<()> {
    if let (Some(columns), Some(realisations)) = (&args.pip, args.realisations) {
        asked.pip = Some(Pip {
            columns: columns.clone(),
            realisations,
            offset: args.pip_offset.unwrap_or(0.0),
            none: args.pip_none.unwrap_or(0.0),
        });
    }
    if let Some([value, lo, hi]) = args.cut.as_deref() {
        let number = |text: &str| {
            text.parse::<f64>().map_err(|_| {
                Error::request(format!("expected a number, got '{text}'"))
                    .at_place("--cut")
                    .remedy("--cut EXPR LO HI")
            })
        };
        asked.cut = Some(Cut {
            value: value.clone(),
            range: [number(lo)?, number(hi)?],
        });
    }
    Ok(())
}

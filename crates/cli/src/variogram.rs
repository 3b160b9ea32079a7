//! `zipfold variogram` and `zipfold explain variogram`.

use crate::args::VariogramArgs;
use crate::described::{Answered, JobVerb, description, is_description, some, table, word};
use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::report::Shown;
use zipfold::internals::variogram::{Direction, Variogram, Variograms};
use zipfold::io::{OutputOptions, ReadOptions, read_table};
use zipfold::{Budget, Error, Result};

/// Answers the question of `args`.
pub(crate) fn run(args: &VariogramArgs) -> Result<()> {
    verb(args).run(|budget| asked(args, budget), Variogram::run)
}

/// Prints how the pairs of each direction would be summed.
pub(crate) fn explain(args: &VariogramArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), Variogram::explain)
}

fn verb(args: &VariogramArgs) -> JobVerb<'_> {
    JobVerb {
        name: "variogram",
        input: ("data", &args.data),
        answers: "variograms",
        run: &args.run,
    }
}

impl Answered for Variograms {
    fn shown(&self) -> &dyn Shown {
        self
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        Variograms::save(self, path, how)
    }
    /// The first curves, and the models.
    fn lines(&self) -> String {
        let numbers = |d: &Direction| d.counts.iter().map(|n| *n as f64).collect::<Vec<f64>>();
        let counts: Vec<Vec<f64>> = self.directions.iter().map(numbers).collect();
        let mut columns: Vec<(String, &[f64])> = vec![];
        for (direction, counts) in self.directions.iter().zip(&counts).take(2) {
            let named = |what: &str| match direction.azimuth {
                Some(azimuth) => format!("{what} {azimuth}°"),
                None => what.to_string(),
            };
            columns.push((named("count"), counts));
            columns.push((named("distance"), &direction.distances));
            let curves = direction.curves.iter().take(3);
            columns.extend(curves.map(|curve| (named(&curve.name), curve.values.as_slice())));
        }
        let lines = table("lag", &self.middles(), &columns);
        let fits = self.fit_lines();
        match fits.is_empty() {
            true => lines,
            false => format!("{lines}\n{fits}"),
        }
    }
    fn visited(&self) -> String {
        some(self.rows, "row")
    }
    fn pairs(&self) -> u64 {
        self.pairs
    }
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &VariogramArgs, budget: &Budget) -> Result<Variogram> {
    let mut asked = match (is_description(&args.data), &args.value) {
        (true, _) => description(&args.data, budget)?,
        (false, Some(value)) => Variogram::new(&args.data, value),
        (false, None) => {
            let e = Error::request("expected a column of values, got none").at_place("--value");
            return Err(e.remedy("--value COLUMN"));
        }
    };
    if let Some(value) = &args.value {
        asked.value.clone_from(value);
    }
    asked.columns = args.columns.clone().or(asked.columns);
    asked.header = args.header.as_deref().map(|h| h == "yes").or(asked.header);
    asked.nan = word(&args.nan)?.unwrap_or(asked.nan);
    lags(args, &mut asked, budget)?;
    made(args, &mut asked)?;
    Ok(asked)
}

/// Takes the lags and the directions that are given.
fn lags(args: &VariogramArgs, asked: &mut Variogram, budget: &Budget) -> Result<()> {
    if let Some(path) = &args.edges {
        let table = read_table(path, &ReadOptions::default(), budget)?;
        let edges = (0..table.rows()).map(|row| table.get(row, 0)).collect();
        (asked.edges, asked.max, asked.lags) = (Some(edges), None, None);
    }
    if args.max.is_some() || args.lags.is_some() {
        asked.edges = None;
    }
    asked.max = args.max.or(asked.max);
    asked.lags = args.lags.or(asked.lags);
    if let Some(azimuth) = &args.azimuth {
        asked.azimuth.clone_from(azimuth);
    }
    asked.dip = args.dip.or(asked.dip);
    asked.tolerance = args.tolerance.or(asked.tolerance);
    asked.bandwidth = args.bandwidth.or(asked.bandwidth);
    Ok(())
}

/// Takes what is made of the sums.
fn made(args: &VariogramArgs, asked: &mut Variogram) -> Result<()> {
    asked.estimator = words(&args.estimator)?.unwrap_or(asked.estimator.clone());
    asked.models = words(&args.models)?.unwrap_or(asked.models.clone());
    asked.fit_weights = word(&args.fit_weights)?.or(asked.fit_weights);
    Ok(())
}

/// The values that words of the grammar name.
fn words<T: serde::de::DeserializeOwned>(words: &Option<Vec<String>>) -> Result<Option<Vec<T>>> {
    let Some(words) = words else {
        return Ok(None);
    };
    let all = words.iter().map(|text| word(&Some(text.clone())));
    let all = all.collect::<Result<Vec<Option<T>>>>()?;
    Ok(Some(all.into_iter().flatten().collect()))
}

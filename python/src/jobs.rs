//! What jobs have in common: a question as JSON, an answer that is written to files, a plan as text.

use crate::errors::{raise, words};
use crate::in_memory::{InMemory, known};
use crate::options::Given;
use crate::run::warn;
use crate::shown::{ShownAnswer, save_or_page};
use crate::watch::attended;
use pyo3::prelude::*;
use serde::Serialize;
use zipfold::internals::described::{DeserializeOwned, from_json};
use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::rdf::refuse;
use zipfold::internals::report::Shown;
use zipfold::io::OutputOptions;
use zipfold::{Error, Options, Result};

/// A question that was read from JSON.
pub(crate) fn question<Q: DeserializeOwned>(py: Python<'_>, text: &str) -> PyResult<Q> {
    from_json(text).map_err(|e| raise(py, &e))
}

/// Answers, and saves the answer at each of `paths`, which `refuse` refuses before any work where
/// they cannot hold one.
pub(crate) fn answered<A: Send>(
    py: Python<'_>,
    given: &Given,
    (paths, overwrite): (&[String], bool),
    refuse: impl Fn(&str, OutputOptions) -> Result<()> + Send + Sync,
    answer: impl FnOnce(&Options<'_>) -> Result<A> + Send,
    save: impl Fn(&A, &str, OutputOptions) -> Result<()> + Send + Sync,
) -> PyResult<A> {
    let output = OutputOptions {
        force: overwrite,
        ..OutputOptions::default()
    };
    let done = attended(py, false, None, |shared| {
        let tell = |p| shared.tell(p);
        let options = given.options(shared, &tell, false)?;
        paths.iter().try_for_each(|path| refuse(path, output))?;
        let answer = answer(&options)?;
        paths
            .iter()
            .try_for_each(|path| save(&answer, path, output))?;
        Ok::<_, Error>((answer, options.warnings.all()))
    })?;
    let (answer, warnings) = done.map_err(|e| raise(py, &e))?;
    warn(py, &warnings)?;
    Ok(answer)
}

/// Says how a question would be answered.
pub(crate) fn explained(
    py: Python<'_>,
    given: &Given,
    explain: impl FnOnce(&Options<'_>) -> Result<String> + Send,
) -> PyResult<String> {
    let done = attended(py, false, None, |shared| {
        let tell = |p| shared.tell(p);
        explain(&given.options(shared, &tell, false)?)
    })?;
    done.map_err(|e| raise(py, &e))
}

/// Answers `text` (a question about one table, as JSON) for a table in memory or for the file that it
/// names, and saves the answer at each of `paths`; also the answer for pages, of the job `name`.
pub(crate) fn ask<Q>(
    py: Python<'_>,
    (name, text): (&'static str, &str),
    table: Option<InMemory<'_>>,
    given: &Given,
    paths: (&[String], bool),
    save: impl Fn(&Q::Answer, &str, OutputOptions) -> Result<()> + Send + Sync,
) -> PyResult<(Q::Answer, ShownAnswer)>
where
    Q: TableQuestion<Answer: Shown + Clone + Send + Sync + 'static> + Serialize + Send + Sync,
{
    let asked: Q = question(py, text)?;
    let known = known(&[table])?;
    let save = save_or_page(name, &asked, save);
    let answer = |options: &Options<'_>| match known.first().cloned().flatten() {
        Some(table) => asked.of_table(table, options),
        None => asked.run(options),
    };
    let answer = answered(py, given, paths, refuse, answer, save)?;
    let shown = ShownAnswer::new(py, name, &asked, answer.clone())?;
    Ok((answer, shown))
}

/// Says how `text` would be answered.
pub(crate) fn told<Q>(
    py: Python<'_>,
    text: &str,
    table: Option<InMemory<'_>>,
    given: &Given,
) -> PyResult<String>
where
    Q: TableQuestion + Send + Sync,
{
    let asked: Q = question(py, text)?;
    let known = known(&[table])?;
    explained(py, given, |options| {
        let told = match known.first().cloned().flatten() {
            Some(table) => asked.explain_table(table, options),
            None => asked.explain(options),
        };
        Ok(told?.told(words))
    })
}

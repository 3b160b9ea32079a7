//! Any problem: run whole or in shards, merged, explained.

use crate::array::table;
use crate::errors::{raise, words};
use crate::options::{Given, problem};
use crate::results::{result, tally};
use crate::watch::attended;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::Path;
use zipfold::internals::Job;
use zipfold::internals::core::Words;
use zipfold::internals::destination::save_to;
use zipfold::internals::partial::{self, Partial};
use zipfold::internals::query::{Query, plan_json};
use zipfold::internals::shards;
use zipfold::io::OutputOptions;
use zipfold::problem::Domain;
use zipfold::{Answer, Budget, Data, Error, Message, Outcome, Problem, Table};

/// Columns next to the components of rows, their names, and the words that numbers of text stand for.
type Beside<'py> = (Bound<'py, PyAny>, Vec<String>, Vec<String>);
/// An array with the names of its columns, the named columns beside it, and which of all these are
/// text.
pub(crate) type Named<'py> = (
    Bound<'py, PyAny>,
    Option<Vec<String>>,
    Option<Beside<'py>>,
    Vec<usize>,
);
/// Weights by fold: of the rows of x and of y; and the pairs that are listed.
pub(crate) type Weights<'py> = (
    Vec<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>>,
    Option<Bound<'py, PyAny>>,
);

fn named(given: &Named<'_>) -> PyResult<Table> {
    let (array, names, beside, texts) = given;
    let refused = |e: Error| raise(array.py(), &e);
    let mut made = table(array)?;
    if let Some(names) = names {
        made = made.with_names(names.clone()).map_err(refused)?;
    }
    if let Some((array, names, words)) = beside {
        let beside = table(array)?.with_names(names.clone()).map_err(refused)?;
        made = made.with_attributes(beside).map_err(refused)?;
        if !words.is_empty() {
            made = made.with_words(Words::from_words("", words.iter().map(String::as_str)));
        }
    }
    Ok(made.with_texts(texts.clone()))
}

/// The data of a question.
pub(crate) fn data(x: &Named<'_>, y: Option<&Named<'_>>, weights: &Weights<'_>) -> PyResult<Data> {
    let pair = |w: &Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>| match w {
        Some((a, b)) => Ok(Some([table(a)?, table(b)?])),
        None => Ok(None),
    };
    let (weights, pairs) = weights;
    let weights = weights.iter().map(pair).collect::<PyResult<_>>()?;
    Ok(Data {
        pairs: pairs.as_ref().map(table).transpose()?,
        x: named(x)?,
        y: y.map(named).transpose()?,
        weights,
    })
}

/// Runs `text` (a problem as JSON). A shard gives `{"part": bytes}`, anything else its results.
#[pyfunction]
pub(crate) fn run<'py>(
    py: Python<'py>,
    text: &str,
    x: Named<'py>,
    y: Option<Named<'py>>,
    weights: Weights<'py>,
    given: Given,
) -> PyResult<Bound<'py, PyDict>> {
    let (problem, data) = (problem(py, text)?, data(&x, y.as_ref(), &weights)?);
    let short = given.is_short(&data, &problem.folds);
    let done = attended(py, short, given.progress(), |shared| {
        let tell = |p| shared.tell(p);
        let options = given.options(shared, &tell, short)?;
        let answer = Query::new(&problem, &data, &options).run()?;
        let part = given.shard().map(|shard| {
            let part = shards::part(&answer.problem, &answer.outcome, shard)?;
            partial::encode(&part)
        });
        let Answer {
            problem,
            range,
            job,
            outcome,
            ..
        } = answer;
        Ok((problem.into_owned(), range, job, outcome, part.transpose()?))
    })?;
    let (problem, range, job, outcome, part) = done.map_err(|e| raise(py, &e))?;
    if let Some(bytes) = part {
        let out = PyDict::new(py);
        out.set_item("part", PyBytes::new(py, &bytes))?;
        return Ok(out);
    }
    let out = answer(py, &problem, &job, outcome)?;
    out.set_item("range", range.map(|r| (r.seconds, r.pairs, r.evaluated)))?;
    Ok(out)
}

/// A partial result: its bytes, or the path of its file, next to which its matches may lie.
#[derive(FromPyObject)]
pub(crate) enum Part {
    Path(String),
    Bytes(Vec<u8>),
}

/// Partial results by their names in messages.
fn decoded(parts: &[Part], budget: &Budget) -> zipfold::Result<Vec<(String, Partial)>> {
    let read = |(at, part): (usize, &Part)| match part {
        Part::Path(path) => Ok((path.clone(), partial::read(Path::new(path), budget)?)),
        Part::Bytes(bytes) => {
            let name = format!("part {at}");
            partial::decode(bytes, &name).map(|part| (name, part))
        }
    };
    parts.iter().enumerate().map(read).collect()
}

/// Runs `text` (a problem as JSON) and writes its result to each of `paths`: a picture to `.svg`,
/// columns to other suffixes. Returns the names of the files.
#[pyfunction]
pub(crate) fn save<'py>(
    py: Python<'py>,
    text: &str,
    question: (Named<'py>, Option<Named<'py>>, Weights<'py>),
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Vec<String>> {
    let (x, y, weights) = question;
    let (problem, data) = (problem(py, text)?, data(&x, y.as_ref(), &weights)?);
    let output = OutputOptions {
        force: overwrite,
        ..OutputOptions::default()
    };
    let done = attended(py, false, given.progress(), |shared| {
        let tell = |p| shared.tell(p);
        let options = given.options(shared, &tell, false)?;
        save_to(&Query::new(&problem, &data, &options), &paths, output)
    })?;
    let (written, warnings) = done.map_err(|e| raise(py, &e))?;
    warn(py, &warnings)?;
    Ok(written)
}

/// Merges the partial results of all shards of a run over the same data.
#[pyfunction]
pub(crate) fn merge<'py>(
    py: Python<'py>,
    parts: Vec<Part>,
    x: Named<'py>,
    y: Option<Named<'py>>,
    weights: Weights<'py>,
    given: Given,
) -> PyResult<Bound<'py, PyDict>> {
    let data = data(&x, y.as_ref(), &weights)?;
    let done = attended(py, false, None, |shared| {
        let tell = |p| shared.tell(p);
        let options = given.options(shared, &tell, false)?;
        let parts = decoded(&parts, &options.budget)?;
        let Some((name, first)) = parts.first() else {
            return Err(Error::request("no partial results to merge"));
        };
        let problem = shards::problem_of(name, first)?;
        let answer = shards::merge(&problem, &data, parts, &options)?;
        let (job, outcome) = (answer.job, answer.outcome);
        Ok((problem, job, outcome))
    })?;
    let (problem, job, outcome) = done.map_err(|e| raise(py, &e))?;
    answer(py, &problem, &job, outcome)
}

/// What Python makes an answer of.
pub(crate) fn answer<'py>(
    py: Python<'py>,
    problem: &Problem,
    job: &Job,
    outcome: Outcome,
) -> PyResult<Bound<'py, PyDict>> {
    answer_or(py, problem, job, outcome, &|e| e)
}

/// As [`answer`]; `told` is what an error becomes while matches are read from files.
pub(crate) fn answer_or<'py>(
    py: Python<'py>,
    problem: &Problem,
    job: &Job,
    mut outcome: Outcome,
    told: &dyn Fn(Error) -> Error,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    warn(py, &outcome.warnings)?;
    let plan = plan_json(&outcome.plan, words).map_err(|e| raise(py, &e))?;
    let json = |e: serde_json::Error| raise(py, &Error::internal(e.to_string()));
    out.set_item("plan", plan.to_string())?;
    out.set_item("problem", serde_json::to_string(problem).map_err(json)?)?;
    out.set_item("tally", tally(py, &outcome.tally)?)?;
    out.set_item("pairs", outcome.pairs)?;
    out.set_item("seconds", outcome.kernel_seconds)?;
    out.set_item("shape", (job.space.n, job.space.m))?;
    out.set_item("space", domain_word(job.space.domain))?;
    let results = PyList::empty(py);
    for at in 0..job.answers() {
        results.append(result(py, job, (&mut outcome, at), told)?)?;
    }
    out.set_item("results", results)?;
    Ok(out)
}

/// Hands what a run has to say beside its answer to Python's `warnings`.
pub(crate) fn warn(py: Python<'_>, warnings: &[Message]) -> PyResult<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let say = py.import("zipfold.errors")?.getattr("warn")?;
    warnings
        .iter()
        .try_for_each(|text| say.call1((text.told(words),)).map(drop))
}

/// The word for the cells that are visited.
fn domain_word(domain: Domain) -> String {
    format!("{domain:?}").to_lowercase()
}

/// A plan as text and as JSON, the rows of x and y, and which cells are visited.
type Explained = (String, String, (usize, usize), String);

/// The plan of a problem, without running it.
#[pyfunction]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    text: &str,
    x: Named<'py>,
    y: Option<Named<'py>>,
    weights: Weights<'py>,
    given: Given,
) -> PyResult<Explained> {
    let (problem, data) = (problem(py, text)?, data(&x, y.as_ref(), &weights)?);
    let done = attended(py, given.is_short(&data, &problem.folds), None, |shared| {
        let tell = |p| shared.tell(p);
        let options = given.options(shared, &tell, false)?;
        let explained = Query::new(&problem, &data, &options).explain()?;
        let json = explained.json(words)?.to_string();
        let text = explained.text(false).told(words);
        let space = &explained.job.space;
        let shape = (space.n, space.m);
        Ok((
            (text, json, shape, domain_word(space.domain)),
            options.warnings.all(),
        ))
    })?;
    let (explained, warnings) = done.map_err(|e| raise(py, &e))?;
    warn(py, &warnings)?;
    Ok(explained)
}

/// A named pair: name, aliases, options, symmetry, domain, kind, least and largest value, what it
/// is.
type Metric = (
    String,
    Vec<String>,
    Vec<String>,
    bool,
    String,
    &'static str,
    (f64, f64),
    &'static str,
);

/// Every named pair: name, aliases, options, whether it is symmetric, what rows it is for, distance
/// or similarity, the range of its values, and what it is in a line.
#[pyfunction]
pub(crate) fn metrics() -> Vec<Metric> {
    let words = |list: &[&str]| list.iter().map(|w| (*w).to_string()).collect();
    let all = zipfold::internals::core::pair::named::all().iter();
    all.map(|m| {
        let kind = if m.similarity {
            "similarity"
        } else {
            "distance"
        };
        let domain = format!("{:?}", m.domain).to_lowercase();
        (
            m.name.into(),
            words(m.aliases),
            words(m.options),
            m.symmetric,
            domain,
            kind,
            m.values,
            m.about,
        )
    })
    .collect()
}

/// The refusal of a name that is no metric.
#[pyfunction]
pub(crate) fn unknown_metric(py: Python<'_>, name: &str) -> PyErr {
    match zipfold::internals::core::pair::named::require(name, &Default::default()) {
        Err(e) => raise(py, &e),
        Ok(_) => raise(py, &Error::internal(format!("'{name}' is a metric"))),
    }
}

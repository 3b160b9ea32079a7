//! Answers that stay in Rust next to their arrays, for pages and pictures of them.

use crate::errors::raise;
use pyo3::prelude::*;
use zipfold::Result;
use zipfold::internals::report::{Page, Shown, described, is_page};
use zipfold::io::OutputOptions;

/// An answer, and the question that it is of.
#[pyclass(frozen, module = "zipfold._zipfold")]
pub(crate) struct ShownAnswer {
    name: &'static str,
    question: String,
    answer: Box<dyn Shown + Send + Sync>,
}

impl ShownAnswer {
    /// Keeps an answer of the job `name`.
    pub(crate) fn new<Q: serde::Serialize>(
        py: Python<'_>,
        name: &'static str,
        question: &Q,
        answer: impl Shown + Send + Sync + 'static,
    ) -> PyResult<ShownAnswer> {
        Ok(ShownAnswer {
            name,
            question: described(question).map_err(|e| raise(py, &e))?,
            answer: Box::new(answer),
        })
    }
}

#[pymethods]
impl ShownAnswer {
    /// Writes a page about the answer.
    fn report(&self, py: Python<'_>, path: &str, overwrite: bool) -> PyResult<()> {
        let how = OutputOptions {
            force: overwrite,
            ..OutputOptions::default()
        };
        let written =
            py.detach(|| write(path, (self.name, self.question.clone()), &*self.answer, how));
        written.map_err(|e| raise(py, &e))
    }
    /// The picture as the text of an SVG file; none where the answer has none.
    fn svg(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.answer.picture().map_err(|e| raise(py, &e))
    }
}

/// Writes a page about an answer.
fn write(
    path: &str,
    (name, question): (&str, String),
    answer: &dyn Shown,
    how: OutputOptions,
) -> Result<()> {
    Page::about(
        format!("zipfold {name}"),
        format!("zf.{name}(…)"),
        question,
        answer,
    )?
    .write(path, how)
}

/// Writes a page to a `path` that is one, else what `save` does.
pub(crate) fn save_or_page<Q: serde::Serialize, A: Shown>(
    name: &str,
    question: &Q,
    save: impl Fn(&A, &str, OutputOptions) -> Result<()> + Send + Sync,
) -> impl Fn(&A, &str, OutputOptions) -> Result<()> + Send + Sync {
    let question = described(question);
    move |answer, path, how| match is_page(path) {
        true => write(path, (name, question.clone()?), answer, how),
        false => save(answer, path, how),
    }
}

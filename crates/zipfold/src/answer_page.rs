//! Pages about the answers of problems: the first lines of every fold.

use crate::outcome::Output;
use crate::query::Answer;
use crate::report::{LINES, Page, described};
use serde_json::{Map, Value};
use zipfold_core::Result;
use zipfold_core::fold::Columns;
use zipfold_io::OutputOptions;

impl Answer<'_> {
    /// Writes a page about the answer.
    pub(crate) fn write_page(&self, path: &str, options: OutputOptions) -> Result<()> {
        Page::of_answer("zipfold", "", self)?.write(path, options)
    }
}

impl Page {
    /// A page about the answer of a problem.
    ///
    /// # Errors
    /// `Internal` where the answer has no columns.
    pub fn of_answer(
        title: impl Into<String>,
        command: impl Into<String>,
        answer: &Answer<'_>,
    ) -> Result<Page> {
        let mut numbers = Map::new();
        for at in 0..answer.job.answers() {
            // Dense results are in arrays, and have no columns.
            if let Some(columns) = answer.columns(at)? {
                numbers.insert(format!("answer {at}"), lines(&columns));
            }
            // Matches in runs are in the file of the answer; the page has their number.
            if let Some(Output::Runs(runs)) = answer.outcome.outputs.get(at) {
                let counted = serde_json::json!({"lines": runs.records()});
                numbers.insert(format!("answer {at}"), counted);
            }
        }
        // A matrix that went into its file is not held, and not drawn.
        let pictures: Vec<String> = answer.svg().ok().into_iter().collect();
        let folds = answer.job.answers();
        if folds > 1 && !pictures.is_empty() {
            let which = format!("of answer 0 alone, the first of {folds}");
            numbers.insert("picture".into(), which.into());
        }
        Ok(Page {
            title: title.into(),
            command: command.into(),
            question: described(&answer.problem)?,
            pictures,
            numbers: numbers.into(),
            ..Page::default()
        })
    }
}

/// The first lines of columns, by name.
fn lines(columns: &Columns<'_>) -> Value {
    let mut out = Map::new();
    out.insert("lines".into(), columns.lines().into());
    for column in &columns.columns {
        let all = columns.all(column);
        let some = (0..all.len().min(LINES)).map(|at| Value::from(all.get(at)));
        out.insert(column.name.to_string(), some.collect());
    }
    out.into()
}

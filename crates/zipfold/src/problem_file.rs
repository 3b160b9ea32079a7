//! Problems in files: TOML or JSON, within the budget of the run.

use zipfold_core::renamed::no_problem;
use zipfold_core::{Budget, Problem, Result};
use zipfold_io::guard::{Source, Text};

/// The longest text of a problem, and what reading one takes for each of its bytes: a TOML array of
/// numbers is the worst.
const LONGEST: u64 = 64 << 20;
const PER_BYTE: u64 = 48;

/// The text of a problem.
///
/// # Errors
/// `Input` when it cannot be read or is longer than a problem may be.
pub fn text_of_problem(path: &str, budget: &Budget) -> Result<Text> {
    let source = Source::open(path, budget)?;
    source.whole_text(LONGEST, budget)
}

/// A problem from a TOML file, or from a JSON file whose name says so.
///
/// # Errors
/// Those of [`text_of_problem`]; `Request` with the place in the text where it does not read as a problem.
pub fn problem_file(path: &str, budget: &Budget) -> Result<Problem> {
    let text = text_of_problem(path, budget)?;
    let text = text.as_str();
    let purpose = format!("the problem of {path}");
    let _tree = budget.reserve(text.len() as u64 * PER_BYTE, &purpose)?;
    // Its lists of numbers stay: two bytes of text give one number, which the run holds several
    // times.
    budget.spend(text.len() as u64 * 4, &purpose)?;
    if path.ends_with(".json") {
        return serde_json::from_str(text).map_err(|e| no_problem(&e.to_string()).at_place(path));
    }
    toml::from_str(text).map_err(|e| {
        let error = no_problem(e.message()).at_place(path);
        match e.span() {
            Some(span) => error.span(text, span),
            None => error,
        }
    })
}

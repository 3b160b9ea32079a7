//! Every question of the definitions has the answer of the specification, at a size that takes no
//! time.

use super::cover::cover;
use super::levels::{Case, FOLD, Levels};
use super::question::asked;
use zipfold::Query;
use zipfold::internals::core::{Precision, oracle};
use zipfold::{Options, Result};
use zipfold_testkit::compare::{Numbers, close, difference, of_output, same};
use zipfold_testkit::runner::numbers;

/// What is wrong with the answer of a question of few rows, if anything.
fn odd(levels: &Levels, case: &Case) -> Result<Option<String>> {
    let asked = asked(levels, case, 21, Some(super::ends(levels, case)?))?;
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    let answer = Query::new(&asked.problem, &asked.data, &options).run()?;
    let (job, outcome) = (answer.job, answer.outcome);
    let rounded = outcome.plan.precision == Precision::F32;
    let got: Vec<Numbers> = job
        .folds
        .iter()
        .zip(&outcome.outputs)
        .map(|(f, o)| of_output(f, o))
        .collect();
    let wanted = numbers(&job, &oracle::run(&job)?);
    // Values in single precision are sums of roundings; all others have the bits of the
    // specification.
    let equal = |a, b| {
        if rounded {
            close(a, b, 1e-3)
        } else {
            same(a, b)
        }
    };
    let found = got
        .iter()
        .zip(&wanted)
        .find_map(|(got, wanted)| difference(got, wanted, equal));
    Ok(found)
}

#[test]
fn every_question_has_the_answer_of_the_specification() {
    let levels = Levels::built_in().unwrap();
    let (cases, _) = cover(&levels);
    assert!(cases.len() > 1000, "{} questions", cases.len());
    let text = |case: &Case| match odd(&levels, case) {
        Ok(found) => found.map(|found| format!("{}: {found}", levels.name(case))),
        // Of values that are all NaN there is no range to find.
        Err(e)
            if levels.text(case, FOLD).starts_with("histogram")
                && e.to_string().contains("no finite range") =>
        {
            None
        }
        Err(e) => Some(format!("{}: {e}", levels.name(case))),
    };
    let odd: Vec<String> = cases.iter().filter_map(text).collect();
    assert!(
        odd.is_empty(),
        "{} of {}:\n{}",
        odd.len(),
        cases.len(),
        odd.join("\n")
    );
}

//! `zipfold crossmatch` and `zipfold explain crossmatch`.

use crate::args::CrossmatchArgs;
use crate::described::{JobVerb, description, is_description, word};
use crate::joined::{Joined, refuse_early};
use zipfold::internals::crossmatch::CrossMatch;
use zipfold::{Budget, Error, Result};

/// Answers the question of `args`.
pub(crate) fn run(args: &CrossmatchArgs) -> Result<()> {
    let ask = |budget: &Budget| {
        refuse_early(&args.run)?;
        asked(args, budget)
    };
    verb(args).run(ask, |asked, options| {
        let rows = match &args.run.output {
            Some(path) => asked.run_to(path, args.run.how_written(), options)?,
            None => asked.preview(options)?,
        };
        Ok(Joined { rows })
    })
}

/// Prints how the catalogues would be matched.
pub(crate) fn explain(args: &CrossmatchArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), CrossMatch::explain)
}

fn verb(args: &CrossmatchArgs) -> JobVerb<'_> {
    JobVerb {
        name: "crossmatch",
        input: ("x", &args.x),
        answers: "matches of catalogues",
        run: &args.run,
    }
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &CrossmatchArgs, budget: &Budget) -> Result<CrossMatch> {
    let mut asked = match (is_description(&args.x), &args.y) {
        (true, _) => description(&args.x, budget)?,
        (false, Some(y)) => CrossMatch::new(&args.x, y),
        (false, None) => {
            let e = Error::request("expected two catalogues, got one");
            return Err(e.remedy("zipfold crossmatch a.csv b.csv --radius 2"));
        }
    };
    if let Some(y) = &args.y {
        asked.y.clone_from(y);
    }
    asked.columns = args.columns.clone().or(asked.columns);
    asked.columns2 = args.columns2.clone().or(asked.columns2);
    asked.sky |= args.sky;
    asked.radius = args.radius.or(asked.radius);
    asked.find = word(&args.find)?.unwrap_or(asked.find);
    asked.nearest = args.nearest.unwrap_or(asked.nearest);
    asked.kind = word(&args.rows.kind)?.unwrap_or(asked.kind);
    if !args.rows.select.is_empty() {
        asked.select.clone_from(&args.rows.select);
    }
    asked.header = args.header.as_deref().map(|h| h == "yes").or(asked.header);
    Ok(asked)
}

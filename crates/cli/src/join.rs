//! `zipfold join` of columns by name: keys, nearest rows, chosen columns of the output.

use crate::args::{Join, PairArgs};
use crate::described::{JobVerb, description, is_description, word};
use crate::joined::{Joined, refuse_early};
use crate::problem_from_args::params;
use zipfold::internals::tables::TableJoin;
use zipfold::{Budget, Error, Result};

/// Whether the answer has columns by name, and not numbers of rows.
pub(crate) fn is_by_name(args: &Join) -> bool {
    let kinds = matches!(args.rows.kind.as_deref(), Some("left" | "any"));
    let nearest = args.nearest.is_some() || args.ties.is_some() || args.within_distance.is_some();
    let named = !args.on.is_empty() || !args.rows.select.is_empty();
    named || nearest || kinds || args.predicate.is_none() || is_description(&args.pair.x)
}

/// Answers the question of `args`.
pub(crate) fn run(args: &Join) -> Result<()> {
    let ask = |budget: &Budget| {
        refuse_unused(args)?;
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

/// Prints how the tables would be joined.
pub(crate) fn explain(args: &Join) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), TableJoin::explain)
}

fn verb(args: &Join) -> JobVerb<'_> {
    JobVerb {
        name: "join",
        input: ("x", &args.pair.x),
        answers: "joins of columns by name",
        run: &args.run,
    }
}

/// Refuses what such a join has no use for.
fn refuse_unused(args: &Join) -> Result<()> {
    let pair = &args.pair;
    let unused = [
        (
            "--attributes",
            pair.attributes.is_some(),
            "--columns for the coordinates",
        ),
        (
            "--nan",
            pair.nan != "error",
            "leave it out: nulls match nothing",
        ),
        (
            "--box",
            pair.periodic_box.is_some(),
            "--where with differences in the box",
        ),
        (
            "--cutoff",
            pair.cutoff.is_some(),
            "--within-distance, or a condition",
        ),
        ("--by", pair.by.is_some(), "--on for equal keys"),
        ("--batch", pair.batch.is_some(), "--on for equal keys"),
        (
            "--within",
            pair.within.is_some(),
            "--on for equal keys; a join by --where alone takes conditions",
        ),
        (
            "--pairs",
            pair.pairs.is_some(),
            "a join by --where alone takes a list of pairs",
        ),
        ("--precision", pair.precision.is_some(), "leave it out"),
    ];
    if let Some((name, _, remedy)) = unused.iter().find(|(_, given, _)| *given) {
        let what = "a join of columns by name has no use for it";
        return Err(Error::request(what).at_place(*name).remedy(*remedy));
    }
    Ok(())
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &Join, budget: &Budget) -> Result<TableJoin> {
    let pair = &args.pair;
    let mut asked = match is_description(&pair.x) {
        true => description(&pair.x, budget)?,
        false => of_tables(pair, args.of_self)?,
    };
    if !args.on.is_empty() {
        asked.on.clone_from(&args.on);
    }
    if !args.rows.select.is_empty() {
        asked.select.clone_from(&args.rows.select);
    }
    asked.predicate = args.predicate.clone().or(asked.predicate);
    asked.kind = word(&args.rows.kind)?.unwrap_or(asked.kind);
    asked.nearest = args.nearest.or(asked.nearest);
    asked.ties = word(&args.ties)?.unwrap_or(asked.ties);
    asked.within_distance = args.within_distance.or(asked.within_distance);
    asked.metric = pair.metric.clone().or(asked.metric);
    asked.value = args.value.clone().or(pair.pair.clone()).or(asked.value);
    let (given, several) = params(pair, budget)?;
    if let Some(axis) = several {
        let what = format!(
            "expected one value of '{}' in a join of columns by name, got {}",
            axis.name,
            axis.len()
        );
        let e = Error::request(what).at_place("--param");
        return Err(e.remedy("a run for each value"));
    }
    asked.params.extend(given);
    asked.columns = pair.columns.clone().or(asked.columns);
    asked.ids = pair.id.clone().unwrap_or(asked.ids);
    asked.ordered |= pair.ordered;
    asked.header = pair.header.as_deref().map(|h| h == "yes").or(asked.header);
    Ok(asked)
}

/// The refusal of kernels of such a join, which is several questions.
pub(crate) fn without_kernels() -> Error {
    let e = Error::request(
        "a join of columns by name is several questions, and has no kernels of its own",
    );
    e.remedy("the condition alone, without --on, --select and --nearest")
}

fn of_tables(pair: &PairArgs, of_self: bool) -> Result<TableJoin> {
    match (&pair.y, of_self) {
        (Some(y), false) => Ok(TableJoin::new(&pair.x, y)),
        (None, true) => Ok(TableJoin::of_one(&pair.x)),
        (Some(_), true) => {
            let what = "a join of a table with itself has one input, here are two";
            Err(Error::request(what).at_place("--self"))
        }
        (None, false) => {
            let e = Error::request("a join needs two tables");
            Err(e.remedy("give the second, or --self for rows of the first with each other"))
        }
    }
}

//! `zipfold rdf` and `zipfold explain rdf`.

use crate::args::RdfArgs;
use crate::commands::{interrupts, text_of_problem};
use crate::flags;
use crate::progress::Bar;
use crate::terminal::{print_line, say, say_written};
use crate::{commands, lists, problem_from_args, result_files};
use serde::de::value::{Error as Unknown, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::time::Instant;
use zipfold::devices::DeviceSelector;
use zipfold::internals::core::PeriodicBox;
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::figures;
use zipfold::internals::core::renamed::no_problem;
use zipfold::internals::destination::{refuse_place, refuse_suffix};
use zipfold::internals::rdf::{Factor, Rdf, RdfAnswer};
use zipfold::{Budget, Error, Options, Result};

/// Lines of an answer that a terminal shows.
const SHOWN: usize = 20;

/// Answers the question of `args`.
pub(crate) fn run(args: &RdfArgs) -> Result<()> {
    let start = Instant::now();
    let budget = commands::budget(&args.run)?;
    let asked = asked(args, &budget)?;
    refuse_early(args)?;
    let (stop, bar) = (interrupts(), Bar::new(true));
    let mut options = options(args, &budget)?;
    options.stop = Some(&stop);
    if !args.run.json {
        options.warnings = bar.warnings();
    }
    let answer = asked.answer(&options)?;
    let outputs = write(args, &answer)?;
    let seconds = start.elapsed().as_secs_f64();
    if args.run.json {
        return print_line(&report(args, &answer, &options, seconds, &outputs));
    }
    if !args.run.quiet {
        say(&summary(&answer, seconds, budget.peak()));
        outputs.iter().for_each(|output| say_written(output));
    }
    Ok(())
}

/// Some lines, evenly chosen: the first column, and the columns of the first curves.
fn lines(answer: &RdfAnswer) -> String {
    match answer {
        RdfAnswer::Functions(radial) => {
            let curves = radial.curves.iter().take(4);
            let columns = curves.flat_map(|curve| {
                let name = format!("{}–{}", curve.names[0], curve.names[1]);
                [
                    (format!("g {name}"), &curve.g),
                    (format!("n {name}"), &curve.n),
                ]
            });
            table(
                &format!("r / {}", radial.unit),
                &radial.r,
                columns.collect(),
            )
        }
        RdfAnswer::Factors(factors) => {
            let curves = factors.curves.iter().take(8);
            let name = |c: &Factor| format!("S {}–{}", c.names[0], c.names[1]);
            let columns = curves.map(|curve| (name(curve), &curve.s));
            table(
                &format!("k · {}", factors.unit),
                &factors.k,
                columns.collect(),
            )
        }
    }
}

/// `10 frames, 614 M pairs in 0.6 s · 1.0 G pairs/s · peak 5 MiB`
fn summary(answer: &RdfAnswer, seconds: f64, peak: u64) -> String {
    let (frames, pairs) = answer.visited();
    format!(
        "{} frame{}, {} pairs in {} · {} pairs/s · peak {}",
        figures::grouped(frames),
        if frames == 1 { "" } else { "s" },
        figures::si(pairs as f64),
        figures::duration(seconds),
        figures::si(pairs as f64 / seconds),
        human_bytes(peak),
    )
}

/// Prints how the first frame would be counted.
pub(crate) fn explain(args: &RdfArgs) -> Result<()> {
    let budget = commands::budget(&args.run)?;
    let (asked, options) = (asked(args, &budget)?, options(args, &budget)?);
    let told = asked.explain(&options)?.told(flags::words);
    options
        .warnings
        .all()
        .iter()
        .for_each(crate::terminal::warning);
    print_line(&match args.run.json {
        true => serde_json::json!({"schema": 1, "command": "rdf", "plan": told}).to_string(),
        false => told,
    })
}

fn options<'a>(args: &RdfArgs, budget: &Budget) -> Result<Options<'a>> {
    Ok(Options {
        threads: args.run.threads,
        budget: budget.clone(),
        overrides: problem_from_args::overrides(&args.run.set)?,
        shard: problem_from_args::shard(&args.run)?,
        device: DeviceSelector::parse(&args.run.device)?,
        ..Options::default()
    })
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &RdfArgs, budget: &Budget) -> Result<Rdf> {
    let path = &args.trajectory;
    let mut asked = match path.ends_with(".toml") || path.ends_with(".json") {
        true => description(path, budget)?,
        false => Rdf::new(path.clone()),
    };
    if let Some(select) = &args.select {
        asked.select = select.clone();
    }
    let texts = [
        (&mut asked.topology, &args.topology),
        (&mut asked.frames, &args.frames),
        (&mut asked.to, &args.to),
        (&mut asked.bonds, &args.bonds),
    ];
    for (key, given) in texts {
        if given.is_some() {
            key.clone_from(given);
        }
    }
    words(args, &mut asked)?;
    numbers(args, &mut asked)?;
    Ok(asked)
}

/// Takes the words of the grammar that are given.
fn words(args: &RdfArgs, asked: &mut Rdf) -> Result<()> {
    asked.partials = word(&args.partials)?.or(asked.partials);
    asked.unit = word(&args.unit)?.or(asked.unit);
    asked.exclude = word(&args.exclude)?.unwrap_or(asked.exclude);
    asked.convention = word(&args.convention)?.unwrap_or(asked.convention);
    Ok(())
}

/// Takes the numbers that are given.
fn numbers(args: &RdfArgs, asked: &mut Rdf) -> Result<()> {
    asked.density = args.density.or(asked.density);
    asked.bins = args.bins.unwrap_or(asked.bins);
    asked.flat |= args.flat;
    if let Some([lo, hi]) = args.range.as_deref() {
        asked.range = Some([*lo, *hi]);
    }
    if let Some([first, last, count]) = args.debye.as_deref() {
        asked.debye = Some([*first, *last, *count]);
    }
    if let Some(text) = &args.periodic_box {
        asked.periodic_box = Some(Vec::from(PeriodicBox::parse(text)?));
    }
    Ok(())
}

/// The value that a word of the grammar names, as descriptions write it.
fn word<T: DeserializeOwned>(word: &Option<String>) -> Result<Option<T>> {
    let one = |word: &String| {
        let reader: StrDeserializer<'_, Unknown> = word.as_str().into_deserializer();
        T::deserialize(reader).map_err(|e| Error::internal(e.to_string()))
    };
    word.as_ref().map(one).transpose()
}

/// A question from a TOML or JSON file.
fn description(path: &str, budget: &Budget) -> Result<Rdf> {
    let text = text_of_problem(path, budget)?;
    let text = text.as_str();
    let read = match path.ends_with(".json") {
        true => serde_json::from_str(text).map_err(|e| e.to_string()),
        false => toml::from_str(text).map_err(|e| e.message().to_string()),
    };
    read.map_err(|e| no_problem(&e).at_place(path))
}

/// Refuses outputs that could not be written, before any work.
fn refuse_early(args: &RdfArgs) -> Result<()> {
    let run = &args.run;
    let unused = [
        (
            "--resume",
            run.resume,
            "leave it out: frames that are counted again give the same",
        ),
        (
            "--report",
            run.report.is_some(),
            "--plot for the picture, -o for the numbers",
        ),
    ];
    if let Some((name, _, remedy)) = unused.iter().find(|(_, given, _)| *given) {
        return Err(
            Error::request("radial distribution functions have no use for it")
                .at_place(*name)
                .remedy(*remedy),
        );
    }
    if let Some(path) = &run.plot {
        result_files::refuse_picture(path, run)?;
    }
    match run.output.as_deref() {
        Some("-") if run.json => Err(Error::request(
            "both the result and the report would go to standard output",
        )
        .at_place("--json")
        .remedy("-o FILE")),
        Some("-") | None => Ok(()),
        Some(path) => {
            refuse_suffix(path, lists::suffixes("rdf"))?;
            refuse_place(path, run.how_written())
        }
    }
}

/// Writes, shows and draws the answer; returns the names of the files.
fn write(args: &RdfArgs, answer: &RdfAnswer) -> Result<Vec<String>> {
    let (run, how) = (&args.run, args.run.how_written());
    let mut outputs = vec![];
    if let Some(path) = &run.output {
        answer.save(path, how)?;
        outputs.push(path.clone());
    } else if !run.quiet && !run.json {
        print_line(&lines(answer))?;
    }
    if let Some(path) = &run.plot {
        answer.save(path, how).map_err(|e| e.at_least("--plot"))?;
        outputs.push(path.clone());
    }
    outputs.retain(|path| path != "-");
    Ok(outputs)
}

/// Some lines of columns, evenly chosen.
fn table(first: &str, places: &[f64], columns: Vec<(String, &Vec<f64>)>) -> String {
    let mut lines = vec![format!("{first:>10}")];
    for (name, _) in &columns {
        lines[0] += &format!(" {name:>15.15}");
    }
    let step = places.len().div_ceil(SHOWN).max(1);
    for at in (0..places.len()).step_by(step) {
        let mut line = format!("{:>10.4}", places[at]);
        for (_, values) in &columns {
            line += &format!(" {:>15.4}", values[at]);
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// The answer and what was done, as JSON.
fn report(
    args: &RdfArgs,
    answer: &RdfAnswer,
    options: &Options<'_>,
    seconds: f64,
    outputs: &[String],
) -> String {
    let mut value = answer.json();
    value["schema"] = 1.into();
    value["command"] = "rdf".into();
    value["trajectory"] = args.trajectory.clone().into();
    value["seconds"] = seconds.into();
    value["peak_bytes"] = options.budget.peak().into();
    value["outputs"] = outputs.into();
    value["warnings"] = flags::told_all(&options.warnings.all()).into();
    value.to_string()
}

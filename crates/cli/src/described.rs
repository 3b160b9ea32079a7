//! Verbs of jobs (`rdf`, `paircount`, `network`): a description of many questions, whose answer is a table, a
//! picture and a summary.

use crate::args::RunArgs;
use crate::commands::{interrupts, text_of_problem};
use crate::flags;
use crate::progress::Bar;
use crate::terminal::{print_line, say, say_written};
use crate::{commands, lists, problem_from_args, quote, result_files};
use serde::Serialize;
use serde::de::value::{Error as Unknown, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::time::Instant;
use zipfold::devices::DeviceSelector;
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::figures;
use zipfold::internals::described::{from_json, from_toml};
use zipfold::internals::destination::refuse_place;
use zipfold::internals::report::{self, Page, Shown, check_name};
use zipfold::io::OutputOptions;
use zipfold::{Budget, Error, Message, Options, Result};

/// Lines of an answer that a terminal shows.
const SHOWN: usize = 20;

/// A verb, its input, and how it is run.
#[derive(Clone, Copy)]
pub(crate) struct JobVerb<'a> {
    /// Its name.
    pub(crate) name: &'static str,
    /// What `--json` calls its input, and the input.
    pub(crate) input: (&'static str, &'a str),
    /// What its answers are called.
    pub(crate) answers: &'static str,
    /// Its options.
    pub(crate) run: &'a RunArgs,
}

/// The answer of a job.
pub(crate) trait Answered {
    /// What a page shows of it.
    fn shown(&self) -> &dyn Shown;
    /// As JSON.
    fn json(&self) -> serde_json::Value {
        self.shown().numbers()
    }
    /// Writes the picture to a path that ends with `.svg`, columns to any other.
    fn save(&self, path: &str, how: OutputOptions) -> Result<()>;
    /// Writes what other options ask for; returns the names of the files.
    fn save_others(&self, _how: OutputOptions) -> Result<Vec<String>> {
        Ok(vec![])
    }
    /// Some lines for a terminal.
    fn lines(&self) -> String;
    /// What was visited next to pairs: `10 frames`.
    fn visited(&self) -> String;
    /// Pairs that were visited.
    fn pairs(&self) -> u64;
}

impl JobVerb<'_> {
    /// Answers the question, and writes, shows and tells the answer.
    pub(crate) fn run<Q: Serialize, A: Answered>(
        &self,
        asked: impl FnOnce(&Budget) -> Result<Q>,
        answer: impl FnOnce(&Q, &Options<'_>) -> Result<A>,
    ) -> Result<()> {
        let start = Instant::now();
        let budget = commands::budget(self.run)?;
        let asked = asked(&budget)?;
        self.refuse_early()?;
        let (stop, bar) = (interrupts(), Bar::new(true));
        let mut options = self.options(&budget)?;
        options.stop = Some(&stop);
        if !self.run.json {
            options.warnings = bar.warnings();
        }
        let answer = answer(&asked, &options)?;
        let mut outputs = self.write(&answer)?;
        let seconds = start.elapsed().as_secs_f64();
        if let Some(path) = &self.run.report {
            outputs.push(path.clone());
            let page = self.page(&asked, &answer, (&options, seconds), &outputs)?;
            page.write(path, self.run.how_written())?;
        }
        if self.run.json {
            return print_line(&self.report(&answer, &options, seconds, &outputs));
        }
        if !self.run.quiet {
            say(&summary(&answer, seconds, budget.peak()));
            outputs.iter().for_each(|output| say_written(output));
        }
        Ok(())
    }
    /// Prints how the questions would be answered.
    pub(crate) fn explain<Q>(
        &self,
        asked: impl FnOnce(&Budget) -> Result<Q>,
        explain: impl FnOnce(&Q, &Options<'_>) -> Result<Message>,
    ) -> Result<()> {
        let budget = commands::budget(self.run)?;
        let (asked, options) = (asked(&budget)?, self.options(&budget)?);
        let told = explain(&asked, &options)?.told(flags::words);
        options
            .warnings
            .all()
            .iter()
            .for_each(crate::terminal::warning);
        print_line(&match self.run.json {
            true => {
                serde_json::json!({"schema": 1, "command": self.name, "plan": told}).to_string()
            }
            false => told,
        })
    }
    fn options<'a>(&self, budget: &Budget) -> Result<Options<'a>> {
        Ok(Options {
            threads: self.run.threads,
            budget: budget.clone(),
            overrides: problem_from_args::overrides(&self.run.set)?,
            shard: problem_from_args::shard(self.run)?,
            device: DeviceSelector::parse(&self.run.device)?,
            ..Options::default()
        })
    }
    /// Refuses outputs that could not be written, before any work.
    fn refuse_early(&self) -> Result<()> {
        let run = self.run;
        let unused = [(
            "--resume",
            run.resume,
            "leave it out: what is counted again gives the same",
        )];
        if let Some((name, _, remedy)) = unused.iter().find(|(_, given, _)| *given) {
            let what = format!("{} have no use for it", self.answers);
            return Err(Error::request(what).at_place(*name).remedy(*remedy));
        }
        if let Some(path) = &run.plot {
            result_files::refuse_picture(path, run)?;
        }
        if let Some(path) = &run.report {
            check_name(path)?;
            refuse_place(path, run.how_written())?;
        }
        match run.output.as_deref() {
            Some("-") if run.json => Err(Error::request(
                "both the result and the report would go to standard output",
            )
            .at_place("--json")
            .remedy("-o FILE")),
            Some("-") | None => Ok(()),
            Some(path) => {
                result_files::refuse_name(path, lists::suffixes(self.name))?;
                refuse_place(path, run.how_written())
            }
        }
    }
    /// Writes, shows and draws the answer; returns the names of the files.
    fn write(&self, answer: &impl Answered) -> Result<Vec<String>> {
        let (run, how) = (self.run, self.run.how_written());
        let mut outputs = vec![];
        if let Some(path) = &run.output {
            answer.save(path, how)?;
            outputs.push(path.clone());
        } else if !run.quiet && !run.json {
            print_line(&answer.lines())?;
        }
        if let Some(path) = &run.plot {
            answer.save(path, how).map_err(|e| e.at_least("--plot"))?;
            outputs.push(path.clone());
        }
        outputs.extend(answer.save_others(how)?);
        outputs.retain(|path| path != "-");
        Ok(outputs)
    }
    /// The page about the answer.
    fn page(
        &self,
        asked: &impl Serialize,
        answer: &impl Answered,
        (options, seconds): (&Options<'_>, f64),
        outputs: &[String],
    ) -> Result<Page> {
        let mut page = Page::about(
            format!("zipfold {}", self.name),
            quote::command(),
            report::described(asked)?,
            answer.shown(),
        )?;
        let rate = figures::si(answer.pairs() as f64 / seconds);
        page.facts = vec![
            ("visited".into(), answer.visited()),
            ("pairs".into(), figures::grouped(answer.pairs())),
            (
                "time".into(),
                format!("{}, {rate} pairs/s", figures::duration(seconds)),
            ),
            ("memory, at most".into(), human_bytes(options.budget.peak())),
        ];
        for warning in flags::told_all(&options.warnings.all()) {
            page.facts.push(("warning".into(), warning));
        }
        page.texts = vec![("Written".into(), outputs.join("\n"))];
        Ok(page)
    }
    /// The answer and what was done, as JSON.
    fn report(
        &self,
        answer: &impl Answered,
        options: &Options<'_>,
        seconds: f64,
        outputs: &[String],
    ) -> String {
        let mut value = answer.json();
        value["schema"] = 1.into();
        value["command"] = self.name.into();
        value[self.input.0] = self.input.1.into();
        value["seconds"] = seconds.into();
        value["peak_bytes"] = options.budget.peak().into();
        value["outputs"] = outputs.into();
        value["warnings"] = flags::told_all(&options.warnings.all()).into();
        value.to_string()
    }
}

/// `10 frames, 614 M pairs in 0.6 s · 1.0 G pairs/s · peak 5 MiB`
fn summary(answer: &impl Answered, seconds: f64, peak: u64) -> String {
    let pairs = answer.pairs() as f64;
    format!(
        "{}, {} pairs in {} · {} pairs/s · peak {}",
        answer.visited(),
        figures::si(pairs),
        figures::duration(seconds),
        figures::si(pairs / seconds),
        human_bytes(peak),
    )
}

/// `1 frame`, `20 frames`
pub(crate) fn some(count: u64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {what}{end}", figures::grouped(count))
}

/// Whether an input is a description of the question.
pub(crate) fn is_description(path: &str) -> bool {
    path.ends_with(".toml") || path.ends_with(".json")
}

/// A question from a TOML or JSON file.
pub(crate) fn description<Q: DeserializeOwned>(path: &str, budget: &Budget) -> Result<Q> {
    let text = text_of_problem(path, budget)?;
    let text = text.as_str();
    let read = match path.ends_with(".json") {
        true => from_json(text),
        false => from_toml(text),
    };
    read.map_err(|e| {
        let place = match e.place() {
            Some(key) => format!("{path}: {}", key.marked()),
            None => path.to_string(),
        };
        e.at_place(place)
    })
}

/// The value that a word of the grammar names, as descriptions write it.
pub(crate) fn word<T: DeserializeOwned>(word: &Option<String>) -> Result<Option<T>> {
    let one = |word: &String| {
        let reader: StrDeserializer<'_, Unknown> = word.as_str().into_deserializer();
        T::deserialize(reader).map_err(|e| Error::internal(e.to_string()))
    };
    word.as_ref().map(one).transpose()
}

/// Some lines of columns, evenly chosen.
pub(crate) fn table(first: &str, places: &[f64], columns: &[(String, &[f64])]) -> String {
    let mut lines = vec![format!("{first:>10}")];
    for (name, _) in columns {
        lines[0] += &format!(" {name:>15.15}");
    }
    let step = places.len().div_ceil(SHOWN).max(1);
    for at in (0..places.len()).step_by(step) {
        let mut line = format!("{:>10.4}", places[at]);
        for (_, values) in columns {
            line += &format!(" {:>15.4}", values[at]);
        }
        lines.push(line);
    }
    lines.join("\n")
}

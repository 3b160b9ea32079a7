//! `zipfold hausdorff`, `zipfold chamfer`, and what `explain` says of them.

use crate::args::{HausdorffArgs, SetDistanceArgs};
use crate::described::{Answered, JobVerb, description, is_description, some, word};
use zipfold::internals::core::{Opt, PeriodicBox};
use zipfold::internals::destination::is_picture;
use zipfold::internals::report::Shown;
use zipfold::internals::set_distance::{SetDistance, SetDistances, SetMeasure};
use zipfold::io::OutputOptions;
use zipfold::problem::Param;
use zipfold::{Budget, Error, Result};

/// What is asked of two sets.
#[derive(Clone, Copy)]
pub(crate) struct SetsAsked<'a> {
    measure: SetMeasure,
    args: &'a SetDistanceArgs,
    quantile: Option<f64>,
}

impl<'a> From<&'a HausdorffArgs> for SetsAsked<'a> {
    fn from(args: &'a HausdorffArgs) -> Self {
        SetsAsked {
            measure: SetMeasure::Hausdorff,
            args: &args.sets,
            quantile: args.quantile,
        }
    }
}

/// `chamfer` has what both measures have.
impl<'a> From<&'a SetDistanceArgs> for SetsAsked<'a> {
    fn from(args: &'a SetDistanceArgs) -> Self {
        SetsAsked {
            measure: SetMeasure::Chamfer,
            args,
            quantile: None,
        }
    }
}

/// Answers the question of Hausdorff's distance.
pub(crate) fn hausdorff(args: &HausdorffArgs) -> Result<()> {
    SetsAsked::from(args).run()
}

/// Answers the question of Chamfer's distance.
pub(crate) fn chamfer(args: &SetDistanceArgs) -> Result<()> {
    SetsAsked::from(args).run()
}

/// Prints how the rows would be searched.
pub(crate) fn explain(asked: SetsAsked<'_>) -> Result<()> {
    let ask = |budget: &Budget| asked.question(budget);
    asked.verb().explain(ask, SetDistance::explain)
}

impl SetsAsked<'_> {
    fn run(self) -> Result<()> {
        let drawn = [&self.args.run.plot, &self.args.run.output];
        let drawn = drawn.into_iter().flatten().any(|path| is_picture(path));
        let ask = |budget: &Budget| {
            let asked = self.question(budget)?;
            match drawn && asked.batch.is_none() {
                true => {
                    let e =
                        Error::request("one distance has no picture, only those of batches have");
                    Err(e.at_place(Opt::Plot).remedy(Opt::Batch.like("COLUMN")))
                }
                false => Ok(asked),
            }
        };
        self.verb().run(ask, SetDistance::run)
    }
    fn verb(&self) -> JobVerb<'_> {
        JobVerb {
            name: self.measure.name(),
            input: ("x", &self.args.x),
            answers: "distances of sets",
            run: &self.args.run,
        }
    }
    /// The question: of the file where that is a description, with the arguments in its place where
    /// they are given.
    fn question(&self, budget: &Budget) -> Result<SetDistance> {
        let (args, mut asked) = (self.args, self.named(budget)?);
        asked.measure = self.measure;
        if let Some(y) = &args.y {
            asked.y.clone_from(y);
        }
        asked.columns = args.columns.clone().or(asked.columns);
        asked.ids = args.id.clone().unwrap_or(asked.ids);
        asked.header = args.header.as_deref().map(|h| h == "yes").or(asked.header);
        asked.batch = args.batch.clone().or(asked.batch);
        asked.direction = word(&args.direction)?.unwrap_or(asked.direction);
        asked.nan = word(&args.nan)?.unwrap_or(asked.nan);
        asked.quantile = self.quantile.or(asked.quantile);
        self.pair(&mut asked, budget)?;
        Ok(asked)
    }
    /// The question of the file, or one about the tables.
    fn named(&self, budget: &Budget) -> Result<SetDistance> {
        let (args, measure) = (self.args, self.measure);
        match (is_description(&args.x), &args.y) {
            (true, _) => description(&args.x, budget),
            (false, Some(y)) => Ok(SetDistance::new(measure, &args.x, y)),
            (false, None) => {
                let e = Error::request("expected two sets of rows, got one");
                Err(e.remedy(format!("zipfold {} a.csv b.csv", measure.name())))
            }
        }
    }
    /// Puts the arguments that say what the distance of two rows is into `asked`.
    fn pair(&self, asked: &mut SetDistance, budget: &Budget) -> Result<()> {
        let args = self.args;
        let (metric, formula) = (&mut asked.metric, &mut asked.formula);
        args.distance
            .put(metric, formula, &mut asked.params, budget)?;
        let unit = args.unit.clone().map(Param::Word);
        asked
            .params
            .extend(unit.map(|unit| ("unit".to_string(), unit)));
        let given = args.periodic_box.as_deref().map(PeriodicBox::parse);
        let given = given.transpose()?.map(Vec::from);
        asked.periodic_box = given.or(asked.periodic_box.take());
        Ok(())
    }
}

impl Answered for SetDistances {
    fn shown(&self) -> &dyn Shown {
        self
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        SetDistances::save(self, path, how)
    }
    fn lines(&self) -> String {
        self.shown_lines()
    }
    fn visited(&self) -> String {
        some(self.lines.len() as u64, "distance")
    }
    fn pairs(&self) -> u64 {
        self.pairs
    }
}

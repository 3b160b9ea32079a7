//! `zipfold rdf` and `zipfold explain rdf`.

use crate::args::RdfArgs;
use crate::described::{Answered, JobVerb, description, is_description, some, table, word};
use zipfold::internals::core::PeriodicBox;
use zipfold::internals::rdf::{Factor, Rdf, RdfAnswer};
use zipfold::internals::report::Shown;
use zipfold::io::OutputOptions;
use zipfold::{Budget, Result};

/// Answers the question of `args`.
pub(crate) fn run(args: &RdfArgs) -> Result<()> {
    verb(args).run(|budget| asked(args, budget), Rdf::answer)
}

/// Prints how the first frame would be counted.
pub(crate) fn explain(args: &RdfArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), Rdf::explain)
}

fn verb(args: &RdfArgs) -> JobVerb<'_> {
    JobVerb {
        name: "rdf",
        input: ("trajectory", &args.trajectory),
        answers: "radial distribution functions",
        run: &args.run,
    }
}

impl Answered for RdfAnswer {
    fn shown(&self) -> &dyn Shown {
        self
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        RdfAnswer::save(self, path, how)
    }
    /// The first column, and the columns of the first curves.
    fn lines(&self) -> String {
        match self {
            RdfAnswer::Functions(radial) => {
                let curves = radial.curves.iter().take(4);
                let columns = curves.flat_map(|curve| {
                    let name = format!("{}–{}", curve.names[0], curve.names[1]);
                    [
                        (format!("g {name}"), curve.g.as_slice()),
                        (format!("n {name}"), curve.n.as_slice()),
                    ]
                });
                let columns: Vec<(String, &[f64])> = columns.collect();
                table(&format!("r / {}", radial.unit), &radial.r, &columns)
            }
            RdfAnswer::Factors(factors) => {
                let curves = factors.curves.iter().take(8);
                let name = |c: &Factor| format!("S {}–{}", c.names[0], c.names[1]);
                let columns: Vec<(String, &[f64])> = curves
                    .map(|curve| (name(curve), curve.s.as_slice()))
                    .collect();
                table(&format!("k · {}", factors.unit), &factors.k, &columns)
            }
        }
    }
    fn visited(&self) -> String {
        some(RdfAnswer::visited(self).0, "frame")
    }
    fn pairs(&self) -> u64 {
        RdfAnswer::visited(self).1
    }
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &RdfArgs, budget: &Budget) -> Result<Rdf> {
    let path = &args.trajectory;
    let mut asked = match is_description(path) {
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

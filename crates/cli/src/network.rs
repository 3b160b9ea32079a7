//! `zipfold network` and `zipfold explain network`.

use crate::args::NetworkArgs;
use crate::described::{Answered, JobVerb, description, is_description, some, word};
use zipfold::internals::association::{
    Association, AssociationNetwork, Dense, DenseMatrix, Expression, PowerSpec,
};
use zipfold::internals::destination::{ARRAYS, LISTS, refuse_place, refuse_suffix};
use zipfold::internals::report::Shown;
use zipfold::io::OutputOptions;
use zipfold::{Budget, Error, Options, Result};

/// Edges that a terminal shows.
const SHOWN: usize = 20;

/// Answers the question of `args`.
pub(crate) fn run(args: &NetworkArgs) -> Result<()> {
    let ask = |budget: &Budget| {
        refuse_early(args)?;
        asked(args, budget)
    };
    verb(args).run(ask, |asked, options| answer(args, asked, options))
}

/// Prints how the pairs would be computed.
pub(crate) fn explain(args: &NetworkArgs) -> Result<()> {
    verb(args).explain(|budget| asked(args, budget), Association::explain)
}

fn verb(args: &NetworkArgs) -> JobVerb<'_> {
    JobVerb {
        name: "network",
        input: ("data", &args.data),
        answers: "networks",
        run: &args.run,
    }
}

/// An answer, and what is written of it.
struct FoundNetwork<'a> {
    network: AssociationNetwork,
    matrices: Vec<(&'a str, DenseMatrix)>,
    args: &'a NetworkArgs,
}

fn answer<'a>(
    args: &'a NetworkArgs,
    asked: &Association,
    options: &Options<'_>,
) -> Result<FoundNetwork<'a>> {
    let rows = Expression::read(asked, &options.budget)?;
    let network = asked.network(&rows, options)?;
    let wanted = [
        (Dense::Values, &args.matrix),
        (Dense::Weights, &args.adjacency),
        (Dense::Overlaps, &args.tom),
    ];
    let mut matrices = vec![];
    for (dense, path) in wanted {
        if let Some(path) = path {
            let matrix = asked.matrix(&rows, dense, network.power, options)?;
            matrices.push((path.as_str(), matrix));
        }
    }
    Ok(FoundNetwork {
        network,
        matrices,
        args,
    })
}

impl Answered for FoundNetwork<'_> {
    fn shown(&self) -> &dyn Shown {
        &self.network
    }
    fn save(&self, path: &str, how: OutputOptions) -> Result<()> {
        self.network.save(path, how)
    }
    fn save_others(&self, how: OutputOptions) -> Result<Vec<String>> {
        let (network, args) = (&self.network, self.args);
        let mut written = vec![];
        if let Some(path) = &args.fits {
            network.write_fits(path, how)?;
            written.push(path.clone());
        }
        if let Some(path) = &args.degrees {
            network.write_degrees(path, how)?;
            written.push(path.clone());
        }
        for (path, matrix) in &self.matrices {
            matrix.write(path, how)?;
            written.push((*path).to_string());
        }
        Ok(written)
    }
    fn lines(&self) -> String {
        let (network, edges) = (&self.network, &self.network.edges);
        let mut best: Vec<usize> = (0..edges.i.len()).collect();
        best.sort_by(|a, b| edges.values[*b].abs().total_cmp(&edges.values[*a].abs()));
        let mut lines = vec![format!(
            "{:>20} {:>20} {:>10} {:>6} {:>10}",
            "a",
            "b",
            network.measure.name(),
            "n",
            "p"
        )];
        for at in best.into_iter().take(SHOWN) {
            let name = |row: i64| network.names.get(row as usize);
            let p = edges
                .p
                .as_ref()
                .map_or(String::new(), |p| format!("{:.2e}", p[at]));
            lines.push(format!(
                "{:>20.20} {:>20.20} {:>10.4} {:>6} {p:>10}",
                name(edges.i[at]),
                name(edges.j[at]),
                edges.values[at],
                edges.counts[at]
            ));
        }
        lines.join("\n")
    }
    fn visited(&self) -> String {
        some(self.network.edges.i.len() as u64, "edge")
    }
    fn pairs(&self) -> u64 {
        self.network.pairs
    }
}

/// Refuses outputs that could not be written, before any work.
fn refuse_early(args: &NetworkArgs) -> Result<()> {
    let how = args.run.how_written();
    let outputs = [
        (&args.fits, LISTS),
        (&args.degrees, LISTS),
        (&args.matrix, ARRAYS),
        (&args.adjacency, ARRAYS),
        (&args.tom, ARRAYS),
    ];
    for (path, suffixes) in outputs {
        if let Some(path) = path {
            refuse_suffix(path, suffixes)?;
            refuse_place(path, how)?;
        }
    }
    Ok(())
}

/// The question: of the file where that is a description, with the arguments in its place where
/// they are given.
fn asked(args: &NetworkArgs, budget: &Budget) -> Result<Association> {
    let path = &args.data;
    let mut asked = match is_description(path) {
        true => description(path, budget)?,
        false => Association::new(path.clone()),
    };
    asked.transpose |= args.transpose;
    asked.ids = args.ids.clone().or(asked.ids);
    asked.columns = args.columns.clone().or(asked.columns);
    asked.measure = word(&args.measure)?.unwrap_or(asked.measure);
    asked.bins = args.bins.unwrap_or(asked.bins);
    asked.order = args.order.unwrap_or(asked.order);
    asked.min_periods = args.min_periods.unwrap_or(asked.min_periods);
    asked.threshold = args.threshold.or(asked.threshold);
    asked.fdr = args.fdr.or(asked.fdr);
    asked.top = args.top.or(asked.top);
    asked.permutations = args.permutations.unwrap_or(asked.permutations);
    asked.seed = args.seed.unwrap_or(asked.seed);
    asked.prune = args.prune.or(asked.prune);
    asked.sign = word(&args.sign)?.unwrap_or(asked.sign);
    if let Some(powers) = &args.powers {
        asked.powers.clone_from(powers);
    }
    asked.power = power(args)?.or(asked.power);
    Ok(asked)
}

/// The power that is given.
fn power(args: &NetworkArgs) -> Result<Option<PowerSpec>> {
    let Some(text) = &args.power else {
        return Ok(None);
    };
    match text.parse() {
        Ok(power) => Ok(Some(PowerSpec::Given(power))),
        Err(_) if text == "auto" => Ok(Some(PowerSpec::AUTO)),
        Err(_) => Err(
            Error::request(format!("expected a number or auto, got '{text}'"))
                .at_place("--power")
                .remedy("--power 6"),
        ),
    }
}

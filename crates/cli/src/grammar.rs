//! The command's grammar with what the parser's derive cannot say: groups of verbs, what each verb
//! writes, examples.

use crate::args::Cli;
use crate::lists;
use clap::{Command, CommandFactory};

/// The verbs by group, as `zipfold --help` shows them.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Questions about pairs of rows",
        &[
            "dist", "knn", "top", "hist", "reduce", "join", "run", "merge",
        ],
    ),
    ("Beyond one machine", &["plan", "work", "status"]),
    (
        "Jobs of a field",
        &[
            "rdf",
            "paircount",
            "crossmatch",
            "hausdorff",
            "chamfer",
            "silhouette",
            "variogram",
            "ripley",
            "cooccurrence",
            "correlogram",
            "network",
        ],
    ),
    ("Graphical models", &["infer"]),
    ("Before a run", &["explain", "emit", "bench", "devices"]),
    (
        "Lists",
        &["metrics", "functions", "settings", "formats", "completions"],
    ),
];

/// Examples by verb: what each does, and the command.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "dist",
        &[
            (
                "Distances of all rows, as a NumPy array",
                "zipfold dist points.csv -o d.npy",
            ),
            (
                "Manhattan distances between two tables",
                "zipfold dist a.csv b.csv --metric cityblock -o d.npy",
            ),
            (
                "Your own formula",
                "zipfold dist points.csv --pair 'exp(-sum((x - y)^2) / (2*h^2))' --param h=0.5 -o k.npy",
            ),
        ],
    ),
    (
        "knn",
        &[
            (
                "The 5 nearest rows of every row",
                "zipfold knn points.csv -k 5 -o neighbours.csv",
            ),
            (
                "The most alike by cosine, of queries in a database",
                "zipfold knn queries.parquet db.parquet --metric cosine -k 10 -o found.parquet",
            ),
        ],
    ),
    (
        "top",
        &[
            (
                "The 10 pairs of rows that are nearest to each other",
                "zipfold top points.csv -k 10 -o pairs.csv",
            ),
            (
                "The most correlated pairs",
                "zipfold top expression.csv --metric pearson -k 100 -o pairs.csv",
            ),
        ],
    ),
    (
        "hist",
        &[
            (
                "Distances up to 50 in 100 bins, with a picture",
                "zipfold hist galaxies.csv --columns x,y,z --bins 100 --range 0 50 -o h.csv --plot h.svg",
            ),
            (
                "In a periodic box",
                "zipfold hist water.xyz --box 12.4,12.4,12.4 --range 0 6 -o h.csv",
            ),
        ],
    ),
    (
        "reduce",
        &[
            (
                "Sums of a kernel, a number per row",
                "zipfold reduce points.csv --pair 'exp(-norm(x - y))' --op sum -o density.csv",
            ),
            (
                "Rows within a distance, per row",
                "zipfold reduce points.csv --pair 'norm(x - y) < 2' --op count -o near.csv",
            ),
            (
                "The median distance of every row",
                "zipfold reduce points.csv --op median -o medians.csv",
            ),
        ],
    ),
    (
        "join",
        &[
            (
                "Pairs of rows within five minutes of each other",
                "zipfold join a.csv b.csv --where 'abs(x.time - y.time) < 300' -o pairs.csv",
            ),
            (
                "Near duplicates within one table",
                "zipfold join points.csv --self --where 'euclidean(x, y) < 1e-4' -o twins.csv",
            ),
            (
                "Events of the same station, with columns of both",
                "zipfold join a.csv b.csv --on station --where 'abs(x.time - y.time) < 300' --select 'x.name,y.name,x.time - y.time as gap' -o pairs.parquet",
            ),
            (
                "The last quote before each trade",
                "zipfold join trades.csv quotes.csv --on symbol --where 'y.time <= x.time' --nearest 1 --value 'x.time - y.time' --kind left -o priced.parquet",
            ),
        ],
    ),
    (
        "rdf",
        &[
            (
                "Oxygen around oxygen, with a picture",
                "zipfold rdf run.xtc --topology water.gro --select 'name OW' --range 0 1.2 --bins 240 -o g.csv --plot g.svg",
            ),
            (
                "All pairs of elements, from the second half of a run",
                "zipfold rdf salt.xyz --partials --frames 500: -o partials.csv",
            ),
            (
                "As MDAnalysis counts, without pairs of one residue",
                "zipfold rdf run.dcd --topology run.pdb --exclude residue --convention mdanalysis -o g.csv",
            ),
        ],
    ),
    (
        "crossmatch",
        &[
            (
                "The nearest source within two arcseconds, by columns ra and dec",
                "zipfold crossmatch survey.fits reference.fits --radius 2 -o matches.parquet",
            ),
            (
                "Pairs of sources that are the nearest of each other",
                "zipfold crossmatch a.csv b.csv --radius 2 --find mutual --select 'x.id,y.id,separation' -o pairs.csv",
            ),
        ],
    ),
    (
        "hausdorff",
        &[
            (
                "How far two sets of points are apart at most, and where",
                "zipfold hausdorff a.csv b.csv --columns x,y,z",
            ),
            (
                "The 95 % Hausdorff distance of the surfaces of each organ",
                "zipfold hausdorff drawn.parquet found.parquet --columns x,y,z --batch organ --quantile 0.95 -o distances.csv",
            ),
        ],
    ),
    (
        "chamfer",
        &[(
            "The mean squared distances of two clouds of points to each other",
            "zipfold chamfer a.npy b.npy --metric sqeuclidean",
        )],
    ),
    (
        "silhouette",
        &[(
            "The mean silhouette of each kind of row, and a row for each row",
            "zipfold silhouette cells.csv --labels kind --columns pc1,pc2,pc3 -o silhouettes.csv",
        )],
    ),
    (
        "variogram",
        &[
            (
                "The variogram of a column with a fitted model, and a picture with the pairs of each lag",
                "zipfold variogram soil.csv --xy x,y --value zinc --lags 20 --max 1500 --models spherical -o v.csv --plot v.svg",
            ),
            (
                "Two columns and their cross-variogram, in four directions",
                "zipfold variogram soil.csv --xy x,y --value zinc,lead --azimuth 0,45,90,135 -o directions.csv",
            ),
        ],
    ),
    (
        "ripley",
        &[
            (
                "K, L and g of points in a square, with an envelope of 99 simulations and a picture",
                "zipfold ripley trees.csv --xy x,y --window 0,100,0,100 --simulations 99 --seed 1 -o k.csv --plot l.svg",
            ),
            (
                "From each kind of cell to each other one, with Ripley's isotropic correction",
                "zipfold ripley cells.csv --by kind --correction isotropic --max 200 -o kinds.parquet",
            ),
        ],
    ),
    (
        "cooccurrence",
        &[(
            "Which kinds of cells occur together, in 50 intervals of distance",
            "zipfold cooccurrence cells.csv --labels kind --xy x,y --max 500 -o ratios.parquet --plot ratios.svg",
        )],
    ),
    (
        "correlogram",
        &[(
            "Auto and cross correlograms of all units within 50 ms, in spikes per second",
            "zipfold correlogram spikes.csv --time time --units unit --max 0.05 --bins 101 --normalise rate -o correlograms.npz --plot correlograms.svg",
        )],
    ),
    (
        "paircount",
        &[
            (
                "Pairs of galaxies in a periodic box by distance, with ξ(r)",
                "zipfold paircount galaxies.csv --box 420,420,420 --range 0.1 40 --bins 20 --log -o xi.csv --plot xi.svg",
            ),
            (
                "Multipoles of (s, μ) with weights, and errors of 100 regions",
                "zipfold paircount data.fits --randoms randoms.fits --sky --columns RA,DEC,DISTANCE --weights W --smu --los midpoint --range 0 150 --bins 30 --regions 100 -o multipoles.csv --covariance c.npy",
            ),
            (
                "wp(rp) along the third axis",
                "zipfold paircount data.parquet --randoms randoms.parquet --rppi --pi 40 40 --range 0.5 50 --bins 15 --log -o wp.csv",
            ),
        ],
    ),
    (
        "network",
        &[
            (
                "Genes that go together, at a false discovery rate of 5 %, with missing values",
                "zipfold network expr.csv --measure spearman --min-periods 20 --fdr 0.05 -o edges.csv --plot degrees.svg",
            ),
            (
                "The ten best partners of each gene by mutual information, without indirect edges",
                "zipfold network expr.csv --measure mi --top 10 --prune 0.1 -o edges.graphml",
            ),
            (
                "A weighted network of biweight midcorrelations, its power chosen by a scale-free fit",
                "zipfold network expr.csv --measure bicor --sign signed --power auto --top 50 -o weights.csr.npz --fits fits.csv",
            ),
        ],
    ),
    (
        "run",
        &[(
            "A problem from a file",
            "zipfold run problem.toml -o result.csv",
        )],
    ),
    (
        "merge",
        &[
            (
                "Two shards of one run",
                "zipfold hist p.csv --range 0 9 --shard 1/2 -o 1.part",
            ),
            ("", "zipfold hist p.csv --range 0 9 --shard 2/2 -o 2.part"),
            ("", "zipfold merge 1.part 2.part -o h.csv"),
            (
                "The shares of a store",
                "zipfold merge store -o neighbours.parquet",
            ),
        ],
    ),
    (
        "plan",
        &[
            (
                "A store with as many shares as the time and the memory ask for",
                "zipfold plan problem.toml --store store",
            ),
            (
                "Forty shares, and a script for Slurm",
                "zipfold plan problem.toml --store store --shares 40 --slurm",
            ),
        ],
    ),
    (
        "work",
        &[
            (
                "Shares until none is left; run as many of these as there are machines",
                "zipfold work store",
            ),
            (
                "One share, as a task of an array",
                "zipfold work store --share 7",
            ),
        ],
    ),
    (
        "status",
        &[(
            "What is done, running, lost and failed",
            "zipfold status store",
        )],
    ),
    (
        "infer",
        &[
            (
                "Probabilities of all variables, given an observation",
                "zipfold infer asia.bif --observe dysp=yes",
            ),
            (
                "The most probable states",
                "zipfold infer asia.bif --observe xray=yes --task map -o states.csv",
            ),
            (
                "log10 of the partition function",
                "zipfold infer grid.uai --task pr",
            ),
        ],
    ),
    (
        "explain",
        &[
            (
                "What a question would take, without running it",
                "zipfold explain knn points.csv -k 5",
            ),
            (
                "The plan of an inference",
                "zipfold explain infer grid.uai --task pr",
            ),
        ],
    ),
    (
        "emit",
        &[(
            "The CUDA kernels of a question; no GPU is needed",
            "zipfold emit --target sm_90 dist points.npy -o kernels.cu",
        )],
    ),
    (
        "bench",
        &[(
            "How fast this machine is at two workloads",
            "zipfold bench rdf knn3",
        )],
    ),
    (
        "metrics",
        &[
            ("All metrics", "zipfold metrics"),
            ("One of them", "zipfold metrics minkowski"),
        ],
    ),
    (
        "functions",
        &[
            ("All functions", "zipfold functions"),
            ("One of them", "zipfold functions if"),
        ],
    ),
    (
        "completions",
        &[(
            "For bash",
            "zipfold completions bash > ~/.local/share/bash-completion/completions/zipfold",
        )],
    ),
];

/// The whole grammar.
pub(crate) fn grammar() -> Command {
    let mut command = Cli::command();
    for (verb, examples) in EXAMPLES {
        command = command.mut_subcommand(verb, |c| {
            let short = format!("`zipfold {verb} --help` shows all options, with examples.");
            c.after_help(short).after_long_help(shown(examples))
        });
    }
    for written in lists::WRITTEN {
        command = command.mut_subcommand(written.verb, |c| {
            c.mut_arg("output", |a| a.help(output_help(written)))
        });
        command = command.mut_subcommand("explain", |e| {
            e.mut_subcommand(written.verb, |c| {
                c.mut_arg("output", |a| a.help(output_help(written)))
            })
        });
    }
    let groups = groups(&command);
    command
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}{{after-help}}"
        ))
        .after_help("`zipfold VERB -h` shows the options of a verb, `zipfold VERB --help` all of them, with examples.")
}

fn output_help(written: &lists::Written) -> String {
    format!(
        "Output file; its extension selects the format: {}. - is standard output ({})",
        zipfold::internals::destination::dotted(written.suffixes),
        written.stream
    )
}

fn shown(examples: &[(&str, &str)]) -> String {
    let mut out = "Examples:".to_string();
    for (about, command) in examples {
        if !about.is_empty() {
            out += &format!("\n  {about}:");
        }
        out += &format!("\n    {command}");
    }
    out
}

/// The verbs under their headings. A verb that no group names comes last, so that none is lost.
fn groups(command: &Command) -> String {
    let about = |verb: &str| {
        command
            .find_subcommand(verb)
            .and_then(|c| c.get_about())
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    let named: Vec<&str> = GROUPS.iter().flat_map(|g| g.1).copied().collect();
    let others: Vec<&str> = command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && !named.contains(&c.get_name()))
        .map(Command::get_name)
        .collect();
    let mut out = String::new();
    for (title, verbs) in GROUPS
        .iter()
        .copied()
        .chain([("More", &others[..])])
        .filter(|g| !g.1.is_empty())
    {
        out += &format!("{title}:\n");
        verbs
            .iter()
            .for_each(|verb| out += &format!("  {verb:<12} {}\n", about(verb)));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_holds_together() {
        grammar().debug_assert();
    }

    #[test]
    fn every_verb_has_a_group_and_examples_parse() {
        let help = grammar().render_help().to_string();
        assert!(!help.contains("More:"), "{help}");
        for (verb, examples) in EXAMPLES {
            for (_, example) in *examples {
                let line = example.split(" > ").next().unwrap_or(example);
                let mut words: Vec<String> = vec![];
                for (at, part) in line.split('\'').enumerate() {
                    match at % 2 {
                        1 => words.push(part.into()),
                        _ => words.extend(part.split_whitespace().map(String::from)),
                    }
                }
                let parsed = grammar().try_get_matches_from(&words);
                assert!(
                    parsed.is_ok(),
                    "{verb}: {example}: {}",
                    parsed.err().map(|e| e.to_string()).unwrap_or_default()
                );
            }
        }
    }
}

//! Options in the words of the command: what a library calls `nan` is `--nan` here.

use zipfold::Message;
use zipfold::internals::core::error::quoted;
use zipfold::internals::core::opt::{Given, Opt};

/// An option as the command takes it: `--range LO HI`, `--nan skip`.
pub(crate) fn words(opt: Opt, given: Given<'_>) -> String {
    let value = match given {
        Given::Nothing => String::new(),
        Given::Value(value) => quoted(value),
        Given::Like(words) => words.to_string(),
    };
    match (opt, value.as_str()) {
        (Opt::Devices, _) => "`zipfold devices`".into(),
        // Problem files have all of them, arguments this one.
        (Opt::Domain, "ordered") => "domain = \"ordered\" (--ordered)".into(),
        (Opt::Domain, "") => "domain".into(),
        (Opt::Domain, _) => format!("domain = \"{value}\""),
        (_, "") => flag(opt).into(),
        _ => format!("{} {value}", flag(opt)),
    }
}

/// Warnings in the words of the command.
pub(crate) fn told_all(warnings: &[Message]) -> Vec<String> {
    warnings.iter().map(|w| w.told(words)).collect()
}

fn flag(opt: Opt) -> &'static str {
    match opt {
        Opt::Attributes => "--attributes",
        Opt::Bins => "--bins",
        Opt::Bonds => "--bonds",
        Opt::Box => "--box",
        Opt::Domain => "--ordered",
        Opt::Columns => "--columns",
        Opt::Cutoff => "--cutoff",
        Opt::Cut => "--cut",
        Opt::Data => "--data2",
        Opt::Debye => "--debye",
        Opt::Density => "--density",
        Opt::Device | Opt::Devices => "--device",
        Opt::Edges => "--edges",
        Opt::Estimator => "--estimator",
        Opt::Exclude => "--exclude",
        Opt::Fdr => "--fdr",
        Opt::Force => "--force",
        Opt::Frames => "--frames",
        Opt::Ids => "--id",
        Opt::Incomplete => "--incomplete",
        Opt::K => "-k",
        Opt::Measure => "--measure",
        Opt::Memory => "--memory",
        Opt::Metric => "--metric",
        Opt::MinPeriods => "--min-periods",
        Opt::Mu => "--mu",
        Opt::Multipoles => "--multipoles",
        Opt::Nan => "--nan",
        Opt::OrderTime => "--order-time",
        Opt::Output => "-o",
        Opt::Pair => "--pair",
        Opt::PairSource => "--pair-source",
        Opt::Param => "--param",
        Opt::Partials => "--partials",
        Opt::Permutations => "--permutations",
        Opt::Pi => "--pi",
        Opt::Pip => "--pip",
        Opt::Power => "--power",
        Opt::Powers => "--powers",
        Opt::Precision => "--precision",
        Opt::Prune => "--prune",
        Opt::Randoms => "--randoms",
        Opt::Range => "--range",
        Opt::Regions => "--regions",
        Opt::Resume => "--resume",
        Opt::Samples => "--samples",
        Opt::Select => "--select",
        Opt::Set => "--set",
        Opt::Share => "--share",
        Opt::Shares => "--shares",
        Opt::Store => "--store",
        Opt::Shifted => "--shifted",
        Opt::Sight => "--los",
        Opt::Threads => "--threads",
        Opt::Threshold => "--threshold",
        Opt::TimeLimit => "--time-limit",
        Opt::To => "--to",
        Opt::Top => "--top",
        Opt::Topology => "--topology",
        Opt::Weights => "--weights",
        Opt::By => "--by",
        Opt::Within => "--within",
        Opt::Where => "--where",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold::Error;

    fn told(text: String) -> String {
        Message::from(text).told(words)
    }

    #[test]
    fn an_error_names_the_flags_of_the_command() {
        let e = Error::request("expected a finite range, got none").at_place(Opt::Range);
        let e = e.remedy(format!(
            "{} or {}",
            Opt::Range.like("LO HI"),
            Opt::Nan.to("skip")
        ));
        assert_eq!(
            e.told(words),
            "--range: expected a finite range, got none\n  try: --range LO HI or --nan skip"
        );
        assert_eq!(told(Opt::Columns.to("!a b")), "--columns '!a b'");
        assert_eq!(told(Opt::Set.to("prune=auto")), "--set prune=auto");
        assert_eq!(
            told(format!(
                "{} or {}",
                Opt::Domain.to("ordered"),
                Opt::Domain.to("square")
            )),
            "domain = \"ordered\" (--ordered) or domain = \"square\""
        );
    }

    #[test]
    fn every_flag_is_one_of_the_grammar() {
        let flags: std::collections::BTreeSet<String> = crate::grammar::grammar()
            .get_subcommands()
            .flat_map(|verb| verb.get_arguments())
            .flat_map(|arg| {
                let long = arg.get_long().map(|name| format!("--{name}"));
                long.into_iter()
                    .chain(arg.get_short().map(|name| format!("-{name}")))
            })
            .collect();
        for opt in Opt::ALL {
            assert!(flags.contains(flag(*opt)), "{opt:?}: {}", flag(*opt));
        }
    }
}

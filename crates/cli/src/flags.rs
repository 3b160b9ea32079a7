//! Options in the words of the command: what a library calls `nan` is `--nan` here.

use std::borrow::Cow;
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
        (Opt::Domain, "diagonal") => "domain = \"diagonal\" (--both-rows, with --pairs)".into(),
        (Opt::Domain, "") => "domain".into(),
        (Opt::Domain, _) => format!("domain = \"{value}\" in a problem file"),
        (_, "") => flag(opt).into_owned(),
        _ => format!("{} {value}", flag(opt)),
    }
}

/// Warnings in the words of the command.
pub(crate) fn told_all(warnings: &[Message]) -> Vec<String> {
    warnings.iter().map(|w| w.told(words)).collect()
}

fn flag(opt: Opt) -> Cow<'static, str> {
    // Most flags are the keys of problem files.
    let own = match opt {
        Opt::Domain => "--ordered",
        Opt::EdgesOfBins => "--edges",
        Opt::Positions => "--columns",
        Opt::Devices => "--device",
        Opt::Ids => "--id",
        Opt::K => "-k",
        Opt::OrderTime => "--order-time",
        Opt::Output => "-o",
        Opt::Pair => "--pair",
        Opt::PairSource => "--pair-source",
        Opt::Param => "--param",
        Opt::Set => "--set",
        Opt::Kind => "--kind",
        _ => return format!("--{}", opt.key().replace('_', "-")).into(),
    };
    own.into()
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
            "domain = \"ordered\" (--ordered) or domain = \"square\" in a problem file"
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
            assert!(
                flags.contains(flag(*opt).as_ref()),
                "{opt:?}: {}",
                flag(*opt)
            );
        }
    }
}

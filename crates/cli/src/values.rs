//! Values of options: those that a shell may complete and that `help` or `list` as a value prints.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{Error, ErrorKind};
use std::ffi::OsStr;

/// A text for which there are well-known values. Others go through: what checks them later can say
/// more.
#[derive(Clone, Copy)]
pub(crate) struct OneOf {
    known: fn() -> Vec<(String, &'static str)>,
    list: fn() -> String,
}

impl OneOf {
    /// A metric.
    pub(crate) fn metric() -> Self {
        let known = || {
            zipfold::internals::core::pair::named::all()
                .iter()
                .map(|m| (m.name.to_string(), m.about))
                .collect()
        };
        OneOf {
            known,
            list: crate::lists::metrics_text,
        }
    }
    /// A plan choice.
    pub(crate) fn setting() -> Self {
        let known = || {
            zipfold::Overrides::table()
                .into_iter()
                .map(|s| (format!("{}=", s.key), s.about))
                .collect()
        };
        OneOf {
            known,
            list: crate::lists::settings_text,
        }
    }
    /// A device.
    pub(crate) fn device() -> Self {
        let names = || {
            [
                "auto", "cpu", "cuda", "cuda:0", "cuda:0,1", "opencl", "opencl:0",
            ]
            .map(|n| (n.to_string(), ""))
            .to_vec()
        };
        OneOf {
            known: names,
            list: || {
                "auto, cpu, cuda[:i,j,…], opencl[:i,j,…]; `zipfold devices` lists what this machine has".into()
            },
        }
    }
}

impl TypedValueParser for OneOf {
    type Value = String;
    fn parse_ref(
        &self,
        _: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        match value.to_str() {
            Some("help" | "list") => Err(Error::raw(
                ErrorKind::DisplayHelp,
                format!("{}\n", (self.list)()),
            )),
            Some(text) => Ok(text.to_string()),
            None => Err(Error::raw(
                ErrorKind::InvalidUtf8,
                "the value is not UTF-8\n",
            )),
        }
    }
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let one = |(name, about): (String, &'static str)| {
            let value = PossibleValue::new(name);
            if about.is_empty() {
                value
            } else {
                value.help(about)
            }
        };
        Some(Box::new((self.known)().into_iter().map(one)))
    }
}

/// A whole number that is not negative.
pub(crate) fn whole(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("expected a whole number of 0 or more, got '{text}'"))
}

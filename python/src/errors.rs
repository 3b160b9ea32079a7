//! Errors as the exceptions of `zipfold.errors`, in the words of Python's arguments.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use zipfold::internals::core::opt::{Given, Opt};
use zipfold::{Blame, Error};

/// The exception for `error`.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error.blame() {
        Blame::Input | Blame::Impossible => "InputError",
        Blame::Request => "RequestError",
        Blame::Resource => "ResourceError",
        Blame::Device => "DeviceError",
        Blame::Internal => "InternalError",
        Blame::Interrupted => "Interrupted",
    };
    let text = error.told(words);
    let class = py.import("zipfold.errors").and_then(|m| m.getattr(name));
    match class.and_then(|c| Ok(c.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, text),
        Err(_) => PyRuntimeError::new_err(text),
    }
}

/// An option as Python takes it: `range=(LO, HI)`, `nan='skip'`.
pub(crate) fn words(opt: Opt, given: Given<'_>) -> String {
    let (value, exact) = match given {
        Given::Nothing => return argument(opt).into(),
        Given::Value(value) => (value, true),
        Given::Like(words) => (words, false),
    };
    let literal = |value: &str| match exact && value.parse::<f64>().is_err() {
        true => format!("'{value}'"),
        false => value.to_string(),
    };
    match (opt, value.split_once('=')) {
        (Opt::Set, Some((key, value))) => format!("plan={{'{key}': '{value}'}}"),
        (Opt::Set, None) => format!("plan['{value}']"),
        // A value of a file is an array here; a parameter is an argument of its own.
        (Opt::Param, Some((name, value))) if value.starts_with('@') => format!("{name}=…"),
        (Opt::Param, Some((name, value))) => format!("{name}={}", literal(value)),
        (Opt::Domain, _) => format!(".domain('{value}')"),
        (Opt::Range, _) => format!("range=({})", value.replace(' ', ", ")),
        (Opt::Columns, _) => columns(value, exact),
        (Opt::Positions | Opt::Columns2, _) => format!(
            "{}={:?}",
            argument(opt),
            value.split(',').collect::<Vec<_>>()
        )
        .replace('"', "'"),
        (Opt::Window, _) => format!("window=[{}]", value.replace(',', ", ")),
        (Opt::Output, _) if value.ends_with(".npy") => "out=numpy.memmap(…)".into(),
        (Opt::Output, _) if value.ends_with(".parquet") => format!(".save('{value}')"),
        (Opt::Pair, _) => format!("metric={}", literal(value)),
        _ => format!("{}={}", argument(opt), literal(value)),
    }
}

/// Columns `0-99`, `!name` or `x,y` of a table `X`; names that only stand for some are its first
/// columns.
fn columns(list: &str, exact: bool) -> String {
    if let Some((first, last)) = list.split_once('-')
        && let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>())
    {
        return format!("X[:, {first}:{}]", last + 1);
    }
    match list.strip_prefix('!') {
        Some(name) => format!("X.drop(columns='{name}')"),
        None if !exact => format!("X[:, :{}]", list.split(',').count()),
        None => format!("X[{:?}]", list.split(',').collect::<Vec<_>>()).replace('"', "'"),
    }
}

fn argument(opt: Opt) -> &'static str {
    // Most arguments are the keys of problem files.
    match opt {
        Opt::Edges => "bins",
        Opt::EdgesOfBins => "edges",
        Opt::Positions => "columns",
        Opt::Domain => ".domain(…)",
        Opt::Columns => "X[[…]]",
        Opt::Devices => "zf.devices()",
        Opt::Force => "overwrite=True",
        Opt::Incomplete => "incomplete=True",
        Opt::Output => "out",
        Opt::Plot => "save",
        Opt::Single => "single=True",
        Opt::Set => "plan",
        Opt::Kind => "kind",
        _ => opt.key(),
    }
}

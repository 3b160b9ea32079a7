//! Errors as the exceptions of `zipfold.errors`, in the words of Python's arguments.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use zipfold::{Blame, Error};

/// The exception for `error`.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error.blame() {
        Blame::Input | Blame::Impossible => "InputError",
        Blame::Request => "RequestError",
        Blame::Resource => "ResourceError",
        Blame::Device => "DeviceError",
        Blame::Internal => "InternalError",
        Blame::Interrupted => "Interrupted",
    };
    let text = as_arguments(&error.to_string());
    let class = py.import("zipfold.errors").and_then(|m| m.getattr(name));
    match class.and_then(|c| Ok(c.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, text),
        Err(_) => PyRuntimeError::new_err(text),
    }
}

/// What the command says, and what says the same in Python; the longer ones first.
const PHRASES: &[(&str, &str)] = &[
    ("visit all of them: cells = \"ordered\" (--ordered)", "visit all of them: .cells('ordered')"),
    ("cells = \"cross\"", "leave out .cells(…), or the second input"),
    ("give the inverse of a covariance: --param VI=@VI.npy", "give the inverse of a covariance: VI=…"),
    ("--param V=@V.npy", "V=…"),
    ("pick the coordinates with --columns x,y,z", "pick the coordinates: X[:, :3]"),
    (
        "pick the same columns of both with --columns, or name single ones",
        "pick the same columns of both, or name single ones",
    ),
    ("or leave the column out with --columns", "or leave the column out"),
    ("give one: --range LO HI", "give one: range=(LO, HI)"),
    ("`zipfold devices` lists those there are", "zf.devices() lists those there are"),
    ("`zipfold metrics`", "zf.metrics()"),
    ("write the pair as a formula: --pair", "write the pair as a formula"),
    (
        "write it to an .npy file",
        "give out=numpy.memmap(…) to cdist, or ask for what you want to know of the values: .nearest(k), .sum()",
    ),
    ("--metric or --pair", "a name or a formula"),
    ("leave out --box, or write", "leave out the box, or write"),
    ("--precision f32 for a matrix", "precision='f32' for a matrix"),
    ("with the same --set, --memory and --device", "with the same plan, memory and device"),
    ("or start again without --resume", "or start again"),
    ("--param unit=deg", "unit='deg'"),
    ("-k: k = ", "k: "),
];

/// `--nan skip` as `nan='skip'`, and other options of the command as names of arguments.
pub fn as_arguments(text: &str) -> String {
    let mut text = text.to_string();
    for (command, python) in PHRASES {
        if text.contains(command) {
            text = text.replace(command, python);
        }
    }
    let lines: Vec<String> = text.split('\n').map(line_as_arguments).collect();
    lines.join("\n")
}

fn line_as_arguments(line: &str) -> String {
    let mut out: Vec<String> = vec![];
    let mut words = line.split(' ').peekable();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--").filter(|n| n.starts_with(|c: char| c.is_ascii_lowercase())) else {
            out.push(word.to_string());
            continue;
        };
        let valued = ["nan", "memory", "threads", "device", "precision", "k", "metric"].contains(&name);
        match words.peek() {
            Some(value) if valued => {
                let end = value.trim_end_matches([',', ';', '.', ')']).len();
                let (value, tail) = value.split_at(end);
                let number = value.parse::<f64>().is_ok();
                out.push(if number { format!("{name}={value}{tail}") } else { format!("{name}='{value}'{tail}") });
                words.next();
            }
            // `--set prune=auto`: a setting of the plan.
            Some(setting) if name == "set" && setting.contains('=') => {
                let end = setting.trim_end_matches([',', ';', '.', ')']).len();
                let (setting, tail) = setting.split_at(end);
                let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
                out.push(format!("plan={{'{key}': '{value}'}}{tail}"));
                words.next();
            }
            // `--param h=0.5`: a parameter is an argument of its own.
            Some(_) if name == "param" => {}
            _ => out.push(name.replace('-', "_")),
        }
    }
    out.join(" ")
}

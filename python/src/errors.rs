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

/// `--nan skip` as `nan='skip'`, and other options of the command as names of arguments.
fn as_arguments(text: &str) -> String {
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
        let valued = ["nan", "memory", "threads", "device", "precision", "k"].contains(&name);
        match words.peek() {
            Some(value) if valued => {
                let number = value.parse::<f64>().is_ok();
                out.push(if number { format!("{name}={value}") } else { format!("{name}='{value}'") });
                words.next();
            }
            // `--param h=0.5`: a parameter is an argument of its own.
            Some(_) if name == "param" => {}
            _ => out.push(name.replace('-', "_")),
        }
    }
    out.join(" ")
}

//! Cases as data: TOML files of `[[case]]` tables.
//!
//! A case holds the fields of a problem (`pair`, `domain`, `cutoff`, `box`, `folds`, `precision`,
//! `nan`), its inputs `x`, `y`, `pairs` and `weights`, and either expected values (`expect`, a list by fold;
//! without it the oracle alone decides) or `error`. `each = { op = ["sum", "max"] }` makes one case
//! of every value: texts `"$op"` are replaced by it.

use crate::inputs::Rows;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::{Table as Toml, Value};
use zipfold_core::data::Data;
use zipfold_core::problem::{FoldSpec, Problem};
use zipfold_core::renamed::no_problem;
use zipfold_core::{Error, Result};

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// File and name.
    pub name: String,
    /// The problem's own fields.
    problem: Toml,
    /// Everything else.
    pub rest: Rest,
}

/// What a case holds besides the problem.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rest {
    x: Rows,
    y: Option<Rows>,
    pairs: Option<Rows>,
    #[serde(default)]
    weights: Vec<Rows>,
    /// By fold: matrix values, counts by bin (under and over included), indices, flat pairs,
    /// results by row.
    #[serde(default)]
    pub expect: Vec<Vec<f64>>,
    /// Means by bin of the first fold, under and over included.
    pub means: Option<Vec<f64>>,
    /// Sums of weights by bin of the first fold, under and over included.
    pub sums: Option<Vec<f64>>,
    /// How far expected values may be off, relative (and absolute below 1).
    #[serde(default = "tight")]
    pub tolerance: f64,
    /// The error expected.
    pub error: Option<WantedError>,
    /// Plan choices that the user makes.
    #[serde(default)]
    pub set: std::collections::BTreeMap<String, String>,
}

fn tight() -> f64 {
    1e-14
}

/// An expected error.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedError {
    /// `input`, `request`, `resource`, …
    pub blame: String,
    /// Texts that the message holds.
    pub contains: Vec<String>,
}

const OWN: [&str; 10] = [
    "x",
    "y",
    "pairs",
    "weights",
    "expect",
    "means",
    "sums",
    "tolerance",
    "error",
    "set",
];

impl Case {
    /// The problem.
    ///
    /// # Errors
    /// `Request` where the fields make no problem.
    pub fn problem(&self) -> Result<Problem> {
        Value::Table(self.problem.clone())
            .try_into()
            .map_err(|e: toml::de::Error| no_problem(e.message()))
    }
    /// The tables, with weights for the folds that take them.
    ///
    /// # Errors
    /// Those of the tables.
    pub fn data(&self, problem: &Problem) -> Result<Data> {
        let tables = self
            .rest
            .weights
            .iter()
            .map(Rows::table)
            .collect::<Result<Vec<_>>>()?;
        let pair = match tables.as_slice() {
            [] => None,
            [one] => Some([one.clone(), one.clone()]),
            [a, b, ..] => Some([a.clone(), b.clone()]),
        };
        let takes =
            |f: &FoldSpec| matches!(f, FoldSpec::Reduce { .. } | FoldSpec::Histogram { .. });
        let weights = problem
            .folds
            .iter()
            .map(|f| if takes(f) { pair.clone() } else { None })
            .collect();
        Ok(Data {
            pairs: self.rest.pairs.as_ref().map(Rows::table).transpose()?,
            x: self.rest.x.table()?,
            y: self.rest.y.as_ref().map(Rows::table).transpose()?,
            weights,
        })
    }
}

/// The folder of the suite.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

/// All cases of the folder `name` of the suite, in the order of files.
///
/// # Errors
/// `Input` for files that cannot be read or hold no cases.
pub fn load(name: &str) -> Result<Vec<Case>> {
    let mut files = vec![];
    list(&folder().join(name), &mut files)?;
    files.sort();
    let mut cases = vec![];
    for file in files {
        let place = file.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file)
            .map_err(|e| Error::input(e.to_string()).at_place(place.clone()))?;
        let stem = file
            .file_stem()
            .map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        cases.extend(parse(&text, &format!("{name}/{stem}")).map_err(|e| e.at_least(place))?);
    }
    Ok(cases)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let broken = |e: std::io::Error| Error::input(e.to_string()).at_place(folder.to_string_lossy());
    for entry in std::fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

/// The cases of a file's text.
///
/// # Errors
/// `Input` for what is not a case.
pub fn parse(text: &str, prefix: &str) -> Result<Vec<Case>> {
    let broken = |what: String| Error::input(what);
    let whole: Toml = text
        .parse()
        .map_err(|e: toml::de::Error| broken(e.to_string()))?;
    let Some(Value::Array(list)) = whole.get("case") else {
        return Err(broken("no [[case]]".into()));
    };
    let mut cases = vec![];
    for entry in list {
        let Value::Table(entry) = entry else {
            return Err(broken("a case is a table".into()));
        };
        for (suffix, table) in expand(entry.clone()) {
            cases.push(case(table, prefix, &suffix)?);
        }
    }
    Ok(cases)
}

fn case(mut table: Toml, prefix: &str, suffix: &str) -> Result<Case> {
    let name = match table.remove("name") {
        Some(Value::String(name)) => format!("{prefix}/{name}{suffix}"),
        _ => return Err(Error::input(format!("a case of {prefix} has no name"))),
    };
    let own: Toml = OWN
        .iter()
        .filter_map(|k| table.remove(*k).map(|v| ((*k).to_string(), v)))
        .collect();
    let rest: Rest = Value::Table(own)
        .try_into()
        .map_err(|e: toml::de::Error| Error::input(e.to_string()).at_place(name.clone()))?;
    table.entry("schema").or_insert(Value::Integer(1));
    let inputs = [
        ("x", true),
        ("y", rest.y.is_some()),
        ("pairs", rest.pairs.is_some()),
    ];
    for (input, _) in inputs.into_iter().filter(|(_, there)| *there) {
        table.insert(input.into(), named(input));
    }
    Ok(Case {
        name,
        problem: table,
        rest,
    })
}

/// An input by its name.
fn named(name: &str) -> Value {
    let field = ("name".to_string(), Value::String(name.into()));
    Value::Table([field].into_iter().collect())
}

/// One table for every combination of the values of `each`, with what distinguishes its name.
fn expand(mut table: Toml) -> Vec<(String, Toml)> {
    let mut out = vec![];
    match table.remove("each") {
        Some(Value::Table(each)) => {
            out.push((String::new(), table));
            for (key, values) in each {
                let values = values.as_array().cloned().unwrap_or_default();
                let mark = format!("${key}");
                let grown = out.iter().flat_map(|(suffix, table)| {
                    let mark = &mark;
                    values.iter().map(move |v| {
                        let text = v.as_str().map_or_else(|| v.to_string(), str::to_string);
                        (format!("{suffix} {text}"), replace_in(table, mark, v))
                    })
                });
                out = grown.collect();
            }
        }
        _ => out.push((String::new(), table)),
    }
    out
}

fn replace_in(table: &Toml, mark: &str, with: &Value) -> Toml {
    table
        .iter()
        .map(|(k, v)| (k.clone(), replace(v, mark, with)))
        .collect()
}

fn replace(value: &Value, mark: &str, with: &Value) -> Value {
    match value {
        Value::String(s) if s == mark => with.clone(),
        Value::Array(items) => Value::Array(items.iter().map(|v| replace(v, mark, with)).collect()),
        Value::Table(t) => Value::Table(replace_in(t, mark, with)),
        other => other.clone(),
    }
}

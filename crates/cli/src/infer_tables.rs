//! Answers of inference as text: tables for people, CSV, TSV and JSON with names, the UAI
//! competition's format.

use crate::terminal::Table;
use serde_json::{Value, json};
use std::fmt::Write as _;
use zipfold::internals::core::figures;
use zipfold::internals::io::csv_write::text_cell;
use zipfold::internals::io::uai_result;
use zipfold::network::{Answer, Network};
use zipfold::{Blame, Error};

/// What is said of evidence that cannot happen: there is nothing to ask after it, and its
/// probability is an answer of its own (`--task pr`).
pub(crate) fn impossible() -> Error {
    Error::new(
        Blame::Impossible,
        "the evidence has probability zero, so there is nothing to ask after it",
    )
    .at_place("--evidence, --observe")
    .remedy("take back an observation; --task pr gives the probability of what was observed")
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Aligned columns, for people.
    Table,
    /// The UAI competition's format.
    Uai,
    /// Names and values, comma between.
    Csv,
    /// Names and values, tabs between.
    Tsv,
    /// Names and values as JSON, in the network's order.
    Json,
}

impl Form {
    /// The form that `--format` names.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "table" => Form::Table,
            "csv" => Form::Csv,
            "tsv" => Form::Tsv,
            "json" => Form::Json,
            _ => Form::Uai,
        }
    }
    /// The form of files that end so.
    pub(crate) fn of_suffix(suffix: &str) -> Option<Self> {
        crate::lists::suffixes("infer")
            .contains(&suffix)
            .then(|| Form::named(suffix))
    }
}

/// `answer` in `form`; of marginals those of the variables in `only`, or all.
pub(crate) fn text(form: Form, network: &Network, answer: &Answer, only: &[usize]) -> String {
    match form {
        Form::Table => table(network, answer, only),
        Form::Uai => uai(answer),
        Form::Csv => csv(network, answer, only, ','),
        Form::Tsv => csv(network, answer, only, '\t'),
        Form::Json => json(network, answer, only),
    }
}

/// The variables whose marginals are told.
fn told(rows: usize, only: &[usize]) -> Vec<usize> {
    if only.is_empty() {
        (0..rows).collect()
    } else {
        only.to_vec()
    }
}

/// An object with its keys in the order given, which is the network's.
pub(crate) fn object(pairs: impl Iterator<Item = (String, Value)>) -> String {
    let pair = |(key, value): (String, Value)| format!("{}:{value}", Value::from(key));
    format!("{{{}}}", pairs.map(pair).collect::<Vec<_>>().join(","))
}

/// The answer as JSON.
fn json(network: &Network, answer: &Answer, only: &[usize]) -> String {
    let named = |pairs: &mut dyn Iterator<Item = (usize, usize)>| {
        object(pairs.map(|(v, s)| (network.name(v), Value::from(network.state(v, s)))))
    };
    let solution =
        |z: &f64, states: String| format!("{{\"log10\":{},\"states\":{states}}}", json!(z));
    let text = match answer {
        Answer::Impossible => json!({"impossible": true}).to_string(),
        Answer::Pr(z) => json!({"log10": z}).to_string(),
        Answer::Mar(z, rows) => json_marginals(network, *z, rows, only),
        Answer::Map(z, states) => solution(z, named(&mut states.iter().copied().enumerate())),
        Answer::Mmap(z, states) => solution(z, named(&mut states.iter().copied())),
        Answer::Sum(vars, values, z) => {
            let names: Vec<String> = vars.iter().map(|v| network.name(*v)).collect();
            json!({"log10_scale": z, "variables": names, "values": values}).to_string()
        }
        Answer::Samples(z, rows) => {
            let rows: Vec<String> = rows
                .iter()
                .map(|r| named(&mut r.iter().copied().enumerate()))
                .collect();
            format!(
                "{{\"log10\":{},\"samples\":[{}]}}",
                json!(z),
                rows.join(",")
            )
        }
    };
    format!("{text}\n")
}

/// Marginals as JSON: an object of states for each variable that is told.
fn json_marginals(network: &Network, z: f64, rows: &[Vec<f64>], only: &[usize]) -> String {
    let states = |v: usize| {
        let states = rows[v].iter().enumerate();
        object(states.map(|(s, p)| (network.state(v, s), Value::from(*p))))
    };
    let row = |v: usize| format!("{}:{}", Value::from(network.name(v)), states(v));
    let all: Vec<String> = told(rows.len(), only).into_iter().map(row).collect();
    format!(
        "{{\"log10\":{},\"marginals\":{{{}}}}}",
        json!(z),
        all.join(",")
    )
}

/// Names of states of one cell of the table over `vars`, the last fastest.
fn cell_states(network: &Network, vars: &[usize], at: usize) -> Vec<String> {
    let mut rest = at;
    let mut cells = vec![];
    for v in vars.iter().rev() {
        cells.push(network.state(*v, rest % network.cards()[*v]));
        rest /= network.cards()[*v];
    }
    cells.reverse();
    cells
}

/// The answer as CSV.
fn csv(network: &Network, answer: &Answer, only: &[usize], separator: char) -> String {
    let mut out = String::new();
    let mut line = |cells: Vec<String>| {
        let quoted: Vec<String> = cells
            .iter()
            .map(|c| text_cell(c, separator as u8).into_owned())
            .collect();
        out.push_str(&quoted.join(&separator.to_string()));
        out.push('\n');
    };
    let head = |words: &[&str]| words.iter().map(|w| (*w).to_string()).collect();
    match answer {
        Answer::Impossible => line(head(&["impossible"])),
        Answer::Pr(z) => {
            line(head(&["log10"]));
            line(vec![z.to_string()]);
        }
        Answer::Mar(_, rows) => {
            line(head(&["variable", "state", "probability"]));
            for v in told(rows.len(), only) {
                rows[v].iter().enumerate().for_each(|(s, p)| {
                    line(vec![network.name(v), network.state(v, s), p.to_string()])
                });
            }
        }
        Answer::Map(_, states) => {
            line(head(&["variable", "state"]));
            let named = state_cells(network, states.iter().copied().enumerate());
            named.for_each(line);
        }
        Answer::Mmap(_, states) => {
            line(head(&["variable", "state"]));
            state_cells(network, states.iter().copied()).for_each(line);
        }
        Answer::Sum(vars, values, scale) => {
            let names = vars.iter().map(|v| network.name(*v));
            let value = format!("value (times 10^{scale})");
            line(names.chain([value]).collect());
            for (at, value) in values.iter().enumerate() {
                let mut cells = cell_states(network, vars, at);
                cells.push(value.to_string());
                line(cells);
            }
        }
        Answer::Samples(_, rows) => {
            line(all_names(network));
            for row in rows {
                let states = row.iter().enumerate();
                line(states.map(|(v, s)| network.state(v, *s)).collect());
            }
        }
    }
    out
}

/// A line for each variable: its name, and that of its state.
fn state_cells(
    network: &Network,
    states: impl Iterator<Item = (usize, usize)>,
) -> impl Iterator<Item = Vec<String>> {
    states.map(|(v, s)| vec![network.name(v), network.state(v, s)])
}

/// Names of all variables.
fn all_names(network: &Network) -> Vec<String> {
    let all = 0..network.cards().len();
    all.map(|v| network.name(v)).collect()
}

/// The answer in the UAI competition's format.
fn uai(answer: &Answer) -> String {
    match answer {
        Answer::Impossible => uai_result::pr(f64::NEG_INFINITY),
        Answer::Pr(z) => uai_result::pr(*z),
        Answer::Mar(_, rows) => uai_result::mar(rows),
        Answer::Map(_, states) => uai_result::map(states),
        Answer::Mmap(_, states) => uai_result::mmap(states),
        Answer::Sum(vars, values, log10) => {
            let mut out = format!("SUM\n{}", vars.len());
            vars.iter().for_each(|v| _ = write!(out, " {v}"));
            let _ = write!(out, "\n{log10}\n{}", values.len());
            values.iter().for_each(|x| _ = write!(out, " {x}"));
            out + "\n"
        }
        Answer::Samples(_, rows) => {
            let mut out = format!("SAMPLES\n{}\n", rows.len());
            for row in rows {
                let words: Vec<String> = row.iter().map(usize::to_string).collect();
                let _ = writeln!(out, "{}", words.join(" "));
            }
            out
        }
    }
}

/// The answer for a person, within the window.
fn table(network: &Network, answer: &Answer, only: &[usize]) -> String {
    match answer {
        Answer::Impossible => "the evidence is impossible: its probability is 0\n".into(),
        Answer::Pr(z) => format!("log10 of the partition function: {z}\n"),
        Answer::Mar(_, rows) => marginals_table(network, rows, only),
        Answer::Map(z, states) => {
            let pairs: Vec<(usize, usize)> = states.iter().copied().enumerate().collect();
            solution_table(network, *z, &pairs)
        }
        Answer::Mmap(z, states) => solution_table(network, *z, states),
        Answer::Sum(vars, values, z) => sum_table(network, vars, values, *z),
        Answer::Samples(_, rows) => {
            let names = all_names(network);
            let words: Vec<usize> = (0..names.len()).collect();
            let cell = |r: usize, c: usize| network.state(c, rows[r][c]);
            draw(names, rows.len(), &cell, &words)
        }
    }
}

/// A table within the window, with its columns of `words` to the left.
fn draw(
    head: Vec<String>,
    rows: usize,
    cell: &dyn Fn(usize, usize) -> String,
    words: &[usize],
) -> String {
    let (most, width) = crate::terminal::window();
    let table = Table {
        head,
        rows,
        cell,
        words,
    };
    table.text(most, width) + "\n"
}

/// Marginals: a line for each state, the name of its variable at the first.
fn marginals_table(network: &Network, rows: &[Vec<f64>], only: &[usize]) -> String {
    let told = told(rows.len(), only);
    let flat: Vec<(usize, usize)> = told
        .iter()
        .flat_map(|v| (0..rows[*v].len()).map(move |s| (*v, s)))
        .collect();
    let cell = |r: usize, c: usize| {
        let (v, s) = flat[r];
        match c {
            0 if s == 0 || r == 0 => network.name(v),
            0 => String::new(),
            1 => network.state(v, s),
            2 => probability(rows[v][s]),
            _ => share(rows[v][s]),
        }
    };
    let head = ["variable", "state", "probability", ""].map(String::from);
    draw(head.to_vec(), flat.len(), &cell, &[0, 1, 3])
}

/// The states of the most probable solution, and its weight.
fn solution_table(network: &Network, z: f64, states: &[(usize, usize)]) -> String {
    let cell = |r: usize, c: usize| match c {
        0 => network.name(states[r].0),
        _ => network.state(states[r].0, states[r].1),
    };
    let head = ["variable", "state"].map(String::from).to_vec();
    let states = draw(head, states.len(), &cell, &[0, 1]);
    format!("{states}log10 of its weight: {z}\n")
}

/// The values of a table that is left, and their scale.
fn sum_table(network: &Network, vars: &[usize], values: &[f64], z: f64) -> String {
    let names = vars.iter().map(|v| network.name(*v));
    let head = names.chain(["value".to_string()]).collect();
    let cell = |r: usize, c: usize| {
        let states = cell_states(network, vars, r);
        states
            .get(c)
            .cloned()
            .unwrap_or_else(|| figures::value(values[r]))
    };
    let words: Vec<usize> = (0..vars.len()).collect();
    let table = draw(head, values.len(), &cell, &words);
    format!("{table}values are to be multiplied by 10^{z}\n")
}

/// Six places; one and zero only where they are.
fn probability(p: f64) -> String {
    if p != 0.0 && p < 1e-4 {
        format!("{p:.2e}")
    } else {
        format!("{p:.6}")
    }
}

/// A bar of ten blocks.
fn share(p: f64) -> String {
    "█".repeat((10.0 * p).round().clamp(0.0, 10.0) as usize)
}

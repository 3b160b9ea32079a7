//! Answers with names and states, as JSON and CSV.

use serde_json::{Map, Value, json};
use zipfold::core::factor::{Answer, Network};
use zipfold::io::csv_write::text_cell;

/// The answer as JSON.
pub fn json(network: &Network, answer: &Answer) -> String {
    let named = |pairs: &mut dyn Iterator<Item = (usize, usize)>| -> Value {
        Value::Object(pairs.map(|(v, s)| (network.name(v), Value::from(network.state(v, s)))).collect())
    };
    let value = match answer {
        Answer::Impossible => json!({"impossible": true}),
        Answer::Pr(z) => json!({"log10": z}),
        Answer::Mar(z, rows) => {
            let row = |(v, row): (usize, &Vec<f64>)| {
                let states: Map<String, Value> =
                    row.iter().enumerate().map(|(s, p)| (network.state(v, s), Value::from(*p))).collect();
                (network.name(v), Value::Object(states))
            };
            json!({"log10": z, "marginals": rows.iter().enumerate().map(row).collect::<Map<_, _>>()})
        }
        Answer::Map(z, states) => json!({"log10": z, "states": named(&mut states.iter().copied().enumerate())}),
        Answer::Mmap(z, states) => json!({"log10": z, "states": named(&mut states.iter().copied())}),
        Answer::Sum(vars, values, z) => {
            let names: Vec<String> = vars.iter().map(|v| network.name(*v)).collect();
            json!({"log10_scale": z, "variables": names, "values": values})
        }
        Answer::Samples(z, rows) => {
            let rows: Vec<Value> = rows.iter().map(|r| named(&mut r.iter().copied().enumerate())).collect();
            json!({"log10": z, "samples": rows})
        }
    };
    format!("{value}\n")
}

/// The answer as CSV.
pub fn csv(network: &Network, answer: &Answer) -> String {
    let mut out = String::new();
    let mut line = |cells: Vec<String>| {
        let quoted: Vec<String> = cells.iter().map(|cell| text_cell(cell, b',').into_owned()).collect();
        out.push_str(&quoted.join(","));
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
            for (v, row) in rows.iter().enumerate() {
                row.iter()
                    .enumerate()
                    .for_each(|(s, p)| line(vec![network.name(v), network.state(v, s), p.to_string()]));
            }
        }
        Answer::Map(_, states) => {
            line(head(&["variable", "state"]));
            states.iter().enumerate().for_each(|(v, s)| line(vec![network.name(v), network.state(v, *s)]));
        }
        Answer::Mmap(_, states) => {
            line(head(&["variable", "state"]));
            states.iter().for_each(|(v, s)| line(vec![network.name(*v), network.state(*v, *s)]));
        }
        Answer::Sum(vars, values, scale) => {
            line(vars.iter().map(|v| network.name(*v)).chain([format!("value (times 10^{scale})")]).collect());
            for (at, value) in values.iter().enumerate() {
                let mut rest = at;
                let mut cells = vec![value.to_string()];
                for v in vars.iter().rev() {
                    cells.push(network.state(*v, rest % network.cards()[*v]));
                    rest /= network.cards()[*v];
                }
                cells.reverse();
                line(cells);
            }
        }
        Answer::Samples(_, rows) => {
            line((0..network.cards().len()).map(|v| network.name(v)).collect());
            rows.iter().for_each(|r| line(r.iter().enumerate().map(|(v, s)| network.state(v, *s)).collect()));
        }
    }
    out
}

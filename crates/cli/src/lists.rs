//! What there is to choose from: metrics, functions, settings, formats. The tables are those that
//! the parser, the planner and the readers use.

use crate::terminal::print_line;
use serde_json::json;
use zipfold::internals::core::pair::functions::{self, FunctionKind};
use zipfold::internals::core::pair::named::{self, RowValues};
use zipfold::internals::core::suggest::suggestion;
use zipfold::internals::destination;
use zipfold::internals::io::network::SUFFIXES as NETWORKS;
use zipfold::internals::io::read::SUFFIXES as TABLES;
use zipfold::internals::io::trajectory::SUFFIXES as TRAJECTORIES;
use zipfold::internals::plan::overrides::{Override, Overrides};
use zipfold::{Error, Result};

/// A list, or one of its entries.
#[derive(clap::Args, Clone)]
pub(crate) struct Named {
    /// Only this one, with everything about it
    pub name: Option<String>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// The version with the target and the features.
pub(crate) fn long_version() -> String {
    let vector = if cfg!(target_arch = "x86_64") {
        "plain, avx2, avx512"
    } else if cfg!(target_arch = "aarch64") {
        "plain, neon"
    } else {
        "plain"
    };
    format!(
        "{}\ntarget: {}-{}, {} bits\nfeatures: parquet\ninstruction sets: {vector}\ndevices: CUDA and OpenCL, found at run time",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        usize::BITS,
    )
}

/// Rows of words in columns, the last one free.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let wide = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(wide).collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, wide)| format!("{cell:<wide$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn domain(domain: RowValues) -> &'static str {
    match domain {
        RowValues::Real => "numbers",
        RowValues::NonNegative => "numbers of 0 or more",
        RowValues::Boolean => "zero or not zero",
        RowValues::LatLon => "latitude and longitude",
        RowValues::Missing => "numbers, NaN where one is missing",
    }
}

fn range((lo, hi): (f64, f64)) -> String {
    let end = |v: f64| match v {
        f64::INFINITY => "∞".to_string(),
        f64::NEG_INFINITY => "-∞".to_string(),
        v => v.to_string(),
    };
    format!("{} to {}", end(lo), end(hi))
}

fn kind(metric: &named::Named) -> &'static str {
    if metric.similarity {
        "similarity"
    } else {
        "distance"
    }
}

/// All metrics.
pub(crate) fn metrics_text() -> String {
    let mut rows = vec![
        ["metric", "kind", "values", "options", "what it is"]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(named::all().iter().map(|m| {
        vec![
            m.name.into(),
            kind(m).into(),
            range(m.values),
            m.options.join(" "),
            m.about.into(),
        ]
    }));
    format!(
        "{}\n\n`zipfold metrics NAME` tells more of one.",
        columns(&rows)
    )
}

fn metric_text(m: &named::Named) -> String {
    let or_dash = |words: Vec<String>, between: &str| match words.is_empty() {
        true => "-".to_string(),
        false => words.join(between),
    };
    let aliases = m.aliases.iter().map(|a| (*a).to_string()).collect();
    let options = m.options.iter().map(|o| format!("--param {o}=…")).collect();
    let taken = if m.similarity { "largest" } else { "smallest" };
    let symmetric = if m.symmetric {
        "yes: (x, y) as (y, x)"
    } else {
        "no: (x, y) is not (y, x)"
    };
    let prepares = if m.prepare.is_some() {
        ": it prepares whole tables first"
    } else {
        ""
    };
    let rows = [
        ("metric", m.name.into()),
        ("is", m.about.into()),
        (
            "kind",
            format!("a {}; `knn` and `top` take the {taken}", kind(m)),
        ),
        ("values", range(m.values)),
        ("rows", domain(m.domain).into()),
        ("also called", or_dash(aliases, ", ")),
        ("options", or_dash(options, " ")),
        ("symmetric", symmetric.into()),
        ("in formulas", format!("{}(x, y){prepares}", m.name)),
    ];
    columns(&rows.map(|(name, value)| vec![name.to_string(), value]))
}

fn metric_json(m: &named::Named) -> serde_json::Value {
    let end = |v: f64| {
        if v.is_finite() {
            json!(v)
        } else {
            json!(v.to_string())
        }
    };
    json!({"name": m.name, "about": m.about, "kind": kind(m), "values": [end(m.values.0), end(m.values.1)], "rows": domain(m.domain),
        "aliases": m.aliases, "options": m.options, "symmetric": m.symmetric, "prepares_tables": m.prepare.is_some()})
}

/// `zipfold metrics`.
pub(crate) fn metrics(asked: &Named) -> Result<()> {
    match &asked.name {
        Some(name) => {
            let metric = named::require(name, &named::Params::new())
                .map_err(|e| e.at_place("zipfold metrics"))?;
            print_line(&if asked.json {
                metric_json(metric).to_string()
            } else {
                metric_text(metric)
            })
        }
        None if asked.json => {
            print_line(&json!(named::all().iter().map(metric_json).collect::<Vec<_>>()).to_string())
        }
        None => print_line(&metrics_text()),
    }
}

fn functions_text() -> String {
    let mut out = String::new();
    for kind in [
        FunctionKind::Number,
        FunctionKind::Reduce,
        FunctionKind::Other,
    ] {
        let rows: Vec<Vec<String>> = functions::ALL
            .iter()
            .filter(|f| f.kind == kind)
            .map(|f| vec![format!("  {}", f.form), f.about.to_string()])
            .collect();
        out += &format!("{}:\n{}\n\n", kind.title(), columns(&rows));
    }
    let rows: Vec<Vec<String>> = functions::WRITTEN
        .iter()
        .map(|(form, about)| vec![format!("  {form}"), (*about).into()])
        .collect();
    out + &format!("Names and operators:\n{}", columns(&rows))
}

/// `zipfold functions`.
pub(crate) fn functions(asked: &Named) -> Result<()> {
    let one =
        |f: &functions::FunctionInfo| json!({"name": f.name, "form": f.form, "about": f.about});
    if let Some(name) = &asked.name {
        let Some(found) = functions::ALL
            .iter()
            .find(|f| f.name.eq_ignore_ascii_case(name))
        else {
            let e =
                Error::request(format!("unknown function '{name}'")).at_place("zipfold functions");
            return Err(e.remedy(functions::remedy(name, named::all().iter().map(|m| m.name))));
        };
        let text = columns(&[vec![found.form.to_string(), found.about.to_string()]]);
        return print_line(&if asked.json {
            one(found).to_string()
        } else {
            text
        });
    }
    match asked.json {
        true => print_line(&json!(functions::ALL.iter().map(one).collect::<Vec<_>>()).to_string()),
        false => print_line(&functions_text()),
    }
}

/// All plan choices.
pub(crate) fn settings_text() -> String {
    let mut rows = vec![
        ["--set", "values", "what it decides"]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(
        Overrides::table()
            .into_iter()
            .map(|s| vec![s.key.into(), s.values, s.about.into()]),
    );
    format!(
        "{}\n\nPlan choices change speed, never the answer (but for dense.input=f16|bf16|tf32|tf32x3, which rounds).",
        columns(&rows)
    )
}

/// One plan choice.
fn setting_text(found: &Override) -> String {
    columns(&[vec![
        format!("--set {}=…", found.key),
        found.values.clone(),
        found.about.into(),
    ]])
}

fn unknown_setting(name: &str, table: &[Override]) -> Error {
    let keys = table.iter().map(|s| s.key);
    Error::request(format!("no plan choice '{name}'"))
        .at_place("zipfold settings")
        .remedy(suggestion(name, keys, "one of"))
}

/// `zipfold settings`.
pub(crate) fn settings(asked: &Named) -> Result<()> {
    let one = |s: &Override| json!({"key": s.key, "values": s.values, "about": s.about});
    let table = Overrides::table();
    if let Some(name) = &asked.name {
        let Some(found) = table.iter().find(|s| s.key == name) else {
            return Err(unknown_setting(name, &table));
        };
        return print_line(&if asked.json {
            one(found).to_string()
        } else {
            setting_text(found)
        });
    }
    match asked.json {
        true => print_line(&json!(table.iter().map(one).collect::<Vec<_>>()).to_string()),
        false => print_line(&settings_text()),
    }
}

/// What a verb writes with `-o`.
pub(crate) struct Written {
    /// The verb.
    pub verb: &'static str,
    /// The suffixes.
    pub suffixes: &'static [&'static str],
    /// What `-o -` writes.
    pub stream: &'static str,
}

/// What every verb that answers writes.
pub(crate) const WRITTEN: &[Written] = &[
    Written {
        verb: "dist",
        suffixes: destination::ARRAYS,
        stream: "npy",
    },
    Written {
        verb: "knn",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "top",
        suffixes: destination::PAIRS,
        stream: "csv",
    },
    Written {
        verb: "hist",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "reduce",
        suffixes: destination::ARRAYS,
        stream: "npy",
    },
    Written {
        verb: "join",
        suffixes: destination::PAIRS,
        stream: "csv",
    },
    Written {
        verb: "rdf",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "paircount",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "crossmatch",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "hausdorff",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "chamfer",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "silhouette",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "variogram",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "ripley",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "cooccurrence",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "correlogram",
        suffixes: destination::LISTS,
        stream: "csv",
    },
    Written {
        verb: "network",
        suffixes: zipfold::internals::association::EDGES,
        stream: "csv",
    },
    Written {
        verb: "infer",
        suffixes: &[
            "csv", "tsv", "json", "txt", "uai", "pr", "mar", "map", "mmap", "samples", "sum",
        ],
        stream: "a table, or uai where it is no terminal",
    },
];

/// The suffixes that `verb` writes.
pub(crate) fn suffixes(verb: &str) -> &'static [&'static str] {
    WRITTEN
        .iter()
        .find(|w| w.verb == verb)
        .map_or(&[], |w| w.suffixes)
}

/// `zipfold formats`.
pub(crate) fn formats(as_json: bool) -> Result<()> {
    print_line(&if as_json {
        formats_json().to_string()
    } else {
        formats_text()
    })
}

fn formats_json() -> serde_json::Value {
    let writes: serde_json::Map<String, serde_json::Value> = WRITTEN
        .iter()
        .map(|w| (w.verb.to_string(), json!(w.suffixes)))
        .collect();
    let tables: Vec<&str> = TABLES.iter().map(|t| t.0).collect();
    let networks: Vec<&str> = NETWORKS.iter().map(|t| t.0).collect();
    let trajectories: Vec<&str> = TRAJECTORIES.iter().map(|t| t.0).collect();
    json!({"tables": tables, "trajectories": trajectories, "networks": networks, "writes": writes})
}

fn formats_text() -> String {
    let line = |(suffix, about): (&str, &str)| vec![format!("  .{suffix}"), about.to_string()];
    let told: Vec<Vec<String>> = TABLES.iter().map(|(s, f)| line((s, f.about()))).collect();
    let frames: Vec<Vec<String>> = TRAJECTORIES
        .iter()
        .map(|(s, kind)| line((s, kind.about())))
        .collect();
    let nets: Vec<Vec<String>> = NETWORKS.iter().map(|(s, about)| line((s, about))).collect();
    let writes = writes();
    format!(
        "Tables (dist, knn, top, hist, reduce, join, paircount, crossmatch, hausdorff, chamfer, silhouette, variogram, ripley, cooccurrence, correlogram, network; also as standard input, -):\n{}\n  .gz or .xz may follow the suffix of text\n\n\
         Trajectories (rdf):\n{}\n  .gz or .xz may follow the suffix of text\n\n\
         Networks (infer):\n{}\n  .gz or .xz may follow\n\nWritten:\n{}",
        columns(&told),
        columns(&frames),
        columns(&nets),
        columns(&writes)
    )
}

/// What verbs and options write, a line each.
fn writes() -> Vec<Vec<String>> {
    let mut writes: Vec<Vec<String>> = WRITTEN
        .iter()
        .map(|w| {
            vec![
                format!("  {}", w.verb),
                destination::dotted(w.suffixes),
                format!("-o - : {}", w.stream),
            ]
        })
        .collect();
    let others = [
        ["  run, merge", "as the question's own verb", ""],
        ["  --plot", ".svg .png .dark.png", ""],
        ["  --report", ".html", ""],
    ];
    writes.extend(others.map(|words| words.map(String::from).to_vec()));
    writes
}

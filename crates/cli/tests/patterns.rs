//! `zipfold ripley`, `cooccurrence` and `correlogram`: descriptions, reports, plans, files.

mod command;

use command::Folder;

/// A folder with a table.
fn cells(name: &str) -> Folder {
    let mut text = "x,y,kind,time\n".to_string();
    for at in 0..200 {
        let part = |k: usize| (at * k % 199) as f64 * 0.05;
        let kind = ["tumour", "stroma", "immune"][at * at % 3 + at % 2];
        text += &format!("{},{},{kind},{}\n", part(7), part(31), part(45));
    }
    Folder::new(&format!("patterns-{name}")).with("cells.csv", text)
}

/// Descriptions, and the arguments that ask the same.
const ASKED: [(&str, &str, &str); 3] = [
    (
        "ripley",
        "data = 'cells.csv'\ncolumns = ['x', 'y']\nby = 'kind'\nwindow = [0, 10, 0, 10]\nmax = 2\nbins = 5\ncorrection = 'isotropic'\nsimulations = 3\nseed = 5\nnull = 'labels'\n",
        "cells.csv --xy x,y --by kind --window 0,10,0,10 --max 2 --bins 5 --correction isotropic --simulations 3 --seed 5 --null labels",
    ),
    (
        "cooccurrence",
        "data = 'cells.csv'\ncolumns = ['x', 'y']\nlabels = 'kind'\nmax = 2\nbins = 5\ncumulative = true\n",
        "cells.csv --columns x,y --labels kind --max 2 --bins 5 --cumulative",
    ),
    (
        "correlogram",
        "data = 'cells.csv'\nunits = 'kind'\nmax = 0.5\nbins = 9\nnormalise = 'rate'\n",
        "cells.csv --units kind --max 0.5 --bins 9 --normalise rate",
    ),
];

#[test]
fn a_description_asks_what_the_arguments_ask() {
    let folder = cells("description");
    for (verb, toml, args) in ASKED {
        std::fs::write(folder.0.join("q.toml"), toml).unwrap();
        let written = folder.run(&format!("{verb} {args} -o -")).ok().out;
        assert_eq!(folder.run(&format!("{verb} q.toml -o -")).ok().out, written);
        for threads in [1, 2] {
            let again = format!("{verb} {args} --threads {threads} -o -");
            assert_eq!(folder.run(&again).ok().out, written);
        }
        std::fs::write(folder.0.join("q.toml"), format!("{toml}kind = 3\n")).unwrap();
        let refused = folder.call(&[verb, "q.toml"]);
        let told = String::from_utf8_lossy(&refused.stderr).to_string();
        assert!(
            !refused.status.success() && told.contains("q.toml"),
            "{told}"
        );
    }
}

#[test]
fn a_report_has_the_numbers_of_the_file() {
    let folder = cells("report");
    for (verb, _, args) in ASKED {
        let told = folder.run(&format!("{verb} {args} --json")).ok().out;
        let report: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(
            (&report["schema"], &report["command"]),
            (&1.into(), &verb.into())
        );
        assert!(report["pairs"].as_u64() > Some(0) && report["seconds"].is_number());
        let shown = folder.run(&format!("{verb} {args}")).ok().out;
        assert!(shown.lines().count() > 3, "{shown}");
    }
}

#[test]
fn a_plan_says_what_is_counted() {
    let folder = cells("plan");
    let starts = [
        "ripley    200 points of 3 kinds in 2 axes",
        "cooccurrence 200 points of 3 kinds, 5 intervals to 2",
        "correlogram 200 spikes of 3 units, 9 bins to a lag of 0.5",
    ];
    for ((verb, _, args), start) in ASKED.iter().zip(starts) {
        let told = folder.run(&format!("explain {verb} {args}")).ok().out;
        assert!(
            told.starts_with(start) && told.contains("predicted"),
            "{told}"
        );
    }
}

#[test]
fn files_have_every_format_of_a_list() {
    let folder = cells("files");
    for (verb, _, args) in ASKED {
        for suffix in ["csv", "tsv", "npz", "parquet"] {
            let words = format!("{verb} {args} -o {verb}.{suffix} --plot {verb}.svg --force -q");
            assert_eq!(folder.run(&words).ok().out, "");
            let size = std::fs::metadata(folder.0.join(format!("{verb}.{suffix}")));
            assert!(size.unwrap().len() > 300);
        }
        let svg = std::fs::read_to_string(folder.0.join(format!("{verb}.svg"))).unwrap();
        assert!(svg.contains("prefers-color-scheme: dark"), "{verb}");
    }
}

#[test]
fn spikes_without_the_column_of_units_are_told_that_they_may_be_of_one_unit() {
    let folder = cells("units");
    let done = folder.run("correlogram cells.csv");
    assert_eq!(done.status, Some(2), "{}", done.err);
    assert!(done.err.contains("'unit'"), "{}", done.err);
    let remedy = "try: --single where all spikes are of one unit";
    assert!(done.err.contains(remedy), "{}", done.err);
    let named = folder.run("correlogram cells.csv --units unt");
    assert!(!named.err.contains("--single"), "{}", named.err);
    folder.run("correlogram cells.csv --single").ok();
}

//! `zipfold rdf`: descriptions, formats of the answer, reports, and the same answer for any
//! threads.

mod command;

use command::Folder;

/// A folder with a trajectory.
fn trajectory(name: &str) -> Folder {
    let mut text = String::new();
    for frame in 0..7 {
        text += "40\nLattice=\"9 0 0 1 8 0 0 2 9\"\n";
        for at in 0..40 {
            // Places that fill the box, other ones in each frame.
            let part = |k: usize| ((at * k + frame * 5) % 41) as f64 * 0.21;
            let kind = if at % 3 < 1 { "O" } else { "H" };
            text += &format!("{kind} {:.3} {:.3} {:.3}\n", part(7), part(11), part(17));
        }
    }
    Folder::new(&format!("rdf-{name}")).with("t.xyz", text)
}

#[test]
fn a_description_asks_what_the_arguments_ask() {
    let folder = trajectory("description");
    let toml = "trajectory = 't.xyz'\nselect = 'element O'\nto = 'element H'\nrange = [0, 4]\nbins = 20\nexclude = 'none'\nframes = '1:'\nconvention = 'cpptraj'\n";
    let json = r#"{"trajectory": "t.xyz", "select": "element O", "to": "element H", "range": [0, 4], "bins": 20, "frames": "1:", "convention": "cpptraj"}"#;
    folder.put("q.toml", toml);
    folder.put("q.json", json);
    let words = [
        "rdf",
        "t.xyz",
        "--select",
        "element O",
        "--to",
        "element H",
        "--range",
        "0",
        "4",
        "--bins",
        "20",
        "--frames",
        "1:",
        "--convention",
        "cpptraj",
        "-o",
        "-",
    ];
    let expected = folder.answered(&words);
    assert_eq!(expected.lines().filter(|l| !l.starts_with('#')).count(), 21);
    for file in ["q.toml", "q.json"] {
        assert_eq!(folder.answered(&["rdf", file, "-o", "-"]), expected);
    }
    // An argument takes the place of a key.
    let other = folder.answered(&["rdf", "q.toml", "--bins", "5", "-o", "-"]);
    assert_eq!(other.lines().filter(|l| !l.starts_with('#')).count(), 6);
}

#[test]
fn threads_change_no_byte() {
    let folder = trajectory("threads");
    let words = |threads| {
        [
            "rdf",
            "t.xyz",
            "--partials",
            "--threads",
            threads,
            "-o",
            "-",
        ]
    };
    let expected = folder.answered(&words("1"));
    for threads in ["2", "3", "8"] {
        assert_eq!(folder.answered(&words(threads)), expected);
    }
}

#[test]
fn the_report_and_the_plan_say_what_was_asked() {
    let folder = trajectory("report");
    let words = ["rdf", "t.xyz", "--range", "0", "4", "--bins", "8", "--json"];
    let report: serde_json::Value = serde_json::from_str(&folder.answered(&words)).unwrap();
    assert_eq!(
        (&report["frames"], &report["unit"]),
        (&7.into(), &"Å".into())
    );
    assert_eq!(
        report["curves"][0]["counts"].as_array().map(Vec::len),
        Some(8)
    );
    let plan = folder.answered(&["explain", "rdf", "t.xyz", "--partials", "--range", "0", "4"]);
    assert!(
        plan.contains("from 'O' (14 atoms) to 'H' (26 atoms)"),
        "{plan}"
    );
    assert!(plan.contains("predicted"), "{plan}");
    let plan = folder.answered(&["explain", "rdf", "t.xyz", "--debye", "1", "5", "5"]);
    assert!(plan.contains("sum"), "{plan}");
}

#[test]
fn answers_go_to_every_format() {
    let folder = trajectory("formats");
    for (name, words) in [
        ("g", &["--range", "0", "4"][..]),
        ("s", &["--debye", "1", "5", "5"]),
    ] {
        for suffix in ["csv", "tsv", "npz", "parquet"] {
            let (file, picture) = (format!("{name}.{suffix}"), format!("{name}-{suffix}.svg"));
            let all = [
                &["rdf", "t.xyz", "-o", &file, "--plot", &picture, "-q"],
                words,
            ]
            .concat();
            folder.answered(&all);
            assert!(folder.read(&picture).starts_with("<svg"));
            assert!(folder.0.join(&file).metadata().unwrap().len() > 100);
            let again = folder.call(&all);
            assert_eq!(again.status.code(), Some(2), "an output that exists");
        }
    }
    assert!(folder.read("s.csv").contains("\nk,s\n"));
}

//! `zipfold rdf`: descriptions, formats of the answer, reports, and the same answer for any
//! threads.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a trajectory, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("zipfold-rdf-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
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
        std::fs::write(path.join("t.xyz"), text).unwrap();
        Folder(path)
    }
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn zipfold(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
    command.current_dir(folder).args(words).output().unwrap()
}

#[track_caller]
fn answered(folder: &Folder, words: &[&str]) -> String {
    let done = zipfold(&folder.0, words);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{words:?}: {told}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_description_asks_what_the_arguments_ask() {
    let folder = Folder::new("description");
    let toml = "trajectory = 't.xyz'\nselect = 'element O'\nto = 'element H'\nrange = [0, 4]\nbins = 20\nexclude = 'none'\nframes = '1:'\nconvention = 'cpptraj'\n";
    let json = r#"{"trajectory": "t.xyz", "select": "element O", "to": "element H", "range": [0, 4], "bins": 20, "frames": "1:", "convention": "cpptraj"}"#;
    folder.write("q.toml", toml);
    folder.write("q.json", json);
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
    let expected = answered(&folder, &words);
    assert_eq!(expected.lines().filter(|l| !l.starts_with('#')).count(), 21);
    for file in ["q.toml", "q.json"] {
        assert_eq!(answered(&folder, &["rdf", file, "-o", "-"]), expected);
    }
    // An argument takes the place of a key.
    let other = answered(&folder, &["rdf", "q.toml", "--bins", "5", "-o", "-"]);
    assert_eq!(other.lines().filter(|l| !l.starts_with('#')).count(), 6);
}

#[test]
fn threads_change_no_byte() {
    let folder = Folder::new("threads");
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
    let expected = answered(&folder, &words("1"));
    for threads in ["2", "3", "8"] {
        assert_eq!(answered(&folder, &words(threads)), expected);
    }
}

#[test]
fn the_report_and_the_plan_say_what_was_asked() {
    let folder = Folder::new("report");
    let words = ["rdf", "t.xyz", "--range", "0", "4", "--bins", "8", "--json"];
    let report: serde_json::Value = serde_json::from_str(&answered(&folder, &words)).unwrap();
    assert_eq!(
        (&report["frames"], &report["unit"]),
        (&7.into(), &"Å".into())
    );
    assert_eq!(
        report["curves"][0]["counts"].as_array().map(Vec::len),
        Some(8)
    );
    let plan = answered(
        &folder,
        &["explain", "rdf", "t.xyz", "--partials", "--range", "0", "4"],
    );
    assert!(
        plan.contains("from 'O' (14 atoms) to 'H' (26 atoms)"),
        "{plan}"
    );
    assert!(plan.contains("predicted"), "{plan}");
    let plan = answered(
        &folder,
        &["explain", "rdf", "t.xyz", "--debye", "1", "5", "5"],
    );
    assert!(plan.contains("sum"), "{plan}");
}

#[test]
fn answers_go_to_every_format() {
    let folder = Folder::new("formats");
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
            answered(&folder, &all);
            assert!(folder.read(&picture).starts_with("<svg"));
            assert!(folder.0.join(&file).metadata().unwrap().len() > 100);
            let again = zipfold(&folder.0, &all);
            assert_eq!(again.status.code(), Some(2), "an output that exists");
        }
    }
    assert!(folder.read("s.csv").contains("\nk,s\n"));
}

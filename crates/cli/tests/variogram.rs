//! `zipfold variogram`: descriptions, reports and plans.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a table, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let own = format!("zipfold-variogram-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(own);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        let mut text = "x,y,zinc,lead\n".to_string();
        for at in 0..200 {
            let part = |k: usize| (at * k % 199) as f64 * 0.5;
            let zinc = (part(7) / 20.0).sin() + part(31) / 200.0;
            text += &format!("{},{},{zinc},{}\n", part(7), part(11), zinc * 2.0 - part(3));
        }
        std::fs::write(path.join("soil.csv"), text).unwrap();
        Folder(path)
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
    let toml = "data = 'soil.csv'\nvalue = ['zinc', 'lead']\nlags = 6\nmax = 30\nestimator = ['matheron', 'cressie']\nazimuth = [20, 110]\nbandwidth = 12\nmodels = ['spherical']\nfit_weights = 'pairs'\n";
    std::fs::write(folder.0.join("q.toml"), toml).unwrap();
    let words = [
        "variogram",
        "soil.csv",
        "--value",
        "zinc,lead",
        "--lags",
        "6",
        "--max",
        "30",
        "--estimator",
        "matheron,cressie",
        "--azimuth",
        "20,110",
        "--bandwidth",
        "12",
        "--models",
        "spherical",
        "--fit-weights",
        "pairs",
        "-o",
        "-",
    ];
    let expected = answered(&folder, &words);
    assert_eq!(
        answered(&folder, &["variogram", "q.toml", "-o", "-"]),
        expected
    );
    assert!(expected.contains("matheron zinc*lead spherical 110°"));
    std::fs::write(folder.0.join("edges.csv"), "0\n10\n20\n30\n").unwrap();
    let words = ["variogram", "q.toml", "--edges", "edges.csv", "-o", "-"];
    assert_ne!(answered(&folder, &words), expected);
}

#[test]
fn a_report_has_the_answer_and_a_plan_every_direction() {
    let folder = Folder::new("report");
    let words = [
        "variogram",
        "soil.csv",
        "--value",
        "zinc",
        "--lags",
        "5",
        "--models",
        "gaussian",
        "--json",
    ];
    let report: serde_json::Value = serde_json::from_str(&answered(&folder, &words)).unwrap();
    assert_eq!(report["command"], "variogram");
    assert_eq!(report["pairs"], 200 * 199 / 2);
    let direction = &report["directions"][0];
    assert_eq!(direction["counts"].as_array().unwrap().len(), 5);
    assert!(
        direction["curves"][0]["models"][0]["range"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    let plan = answered(
        &folder,
        &[
            "explain",
            "variogram",
            "soil.csv",
            "--value",
            "zinc",
            "--azimuth",
            "0,90",
        ],
    );
    assert!(
        plan.contains("direction 0°:") && plan.contains("direction 90°:"),
        "{plan}"
    );
    let shown = answered(
        &folder,
        &[
            "variogram",
            "soil.csv",
            "--value",
            "zinc",
            "--models",
            "spherical",
        ],
    );
    assert!(
        shown.contains("practical range") && shown.lines().count() == 17,
        "{shown}"
    );
}

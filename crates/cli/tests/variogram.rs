//! `zipfold variogram`: descriptions, reports and plans.

mod command;

use command::Folder;

/// A folder with a table.
fn soil(name: &str) -> Folder {
    let mut text = "x,y,zinc,lead\n".to_string();
    for at in 0..200 {
        let part = |k: usize| (at * k % 199) as f64 * 0.5;
        let zinc = (part(7) / 20.0).sin() + part(31) / 200.0;
        text += &format!("{},{},{zinc},{}\n", part(7), part(11), zinc * 2.0 - part(3));
    }
    Folder::new(&format!("variogram-{name}")).with("soil.csv", text)
}

#[test]
fn a_description_asks_what_the_arguments_ask() {
    let folder = soil("description");
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
    let expected = folder.answered(&words);
    assert_eq!(
        folder.answered(&["variogram", "q.toml", "-o", "-"]),
        expected
    );
    assert!(expected.contains("matheron zinc*lead spherical 110°"));
    std::fs::write(folder.0.join("edges.csv"), "0\n10\n20\n30\n").unwrap();
    let words = ["variogram", "q.toml", "--edges", "edges.csv", "-o", "-"];
    assert_ne!(folder.answered(&words), expected);
}

#[test]
fn a_report_has_the_answer_and_a_plan_every_direction() {
    let folder = soil("report");
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
    let report: serde_json::Value = serde_json::from_str(&folder.answered(&words)).unwrap();
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
    let plan = folder.answered(&[
        "explain",
        "variogram",
        "soil.csv",
        "--value",
        "zinc",
        "--azimuth",
        "0,90",
    ]);
    assert!(
        plan.contains("direction 0°:") && plan.contains("direction 90°:"),
        "{plan}"
    );
    let shown = folder.answered(&[
        "variogram",
        "soil.csv",
        "--value",
        "zinc",
        "--models",
        "spherical",
    ]);
    assert!(
        shown.contains("practical range") && shown.lines().count() == 17,
        "{shown}"
    );
}

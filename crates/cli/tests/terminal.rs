//! What a person sees on a terminal: tables that fit it, bars, no bytes, colours, plain figures.
#![cfg(target_os = "linux")]

mod command;
use command::Folder;

fn points(rows: usize) -> String {
    let lines: String = (0..rows)
        .map(|i| format!("{},{}\n", i % 37, (i * 7919) % 101))
        .collect();
    format!("x,y\n{lines}")
}

/// Runs on a terminal that `script` makes.
fn seen(folder: &Folder, line: &str) -> String {
    folder.on_terminal(line).expect("the command 'script'")
}

#[test]
#[ignore = "needs script"]
fn results_fit_the_window() {
    let folder = Folder::new("terminal-tables")
        .with("a.csv", points(400))
        .with_copy("docs/asia.bif", "asia.bif");
    for (ask, has) in [
        ("knn a.csv -k 5", vec!["rank", "more rows"]),
        ("dist a.csv", vec!["more rows and ", "more columns"]),
        ("reduce a.csv --op sum", vec!["row", "value", "more rows"]),
        (
            "join a.csv --self --where 'euclidean(x, y) < 3'",
            vec!["i  ", "more rows"],
        ),
        (
            "hist a.csv --range 0 110 --bins 100",
            vec!["from", "pairs", "█", "3 bins a line; -o FILE keeps all 100"],
        ),
        (
            "infer asia.bif",
            vec!["variable", "probability", "bronc", "mar of 8 variables"],
        ),
    ] {
        let text = seen(&folder, ask);
        has.iter()
            .for_each(|word| assert!(text.contains(word), "{ask}: '{word}' is not in\n{text}"));
        // The bar is drawn and removed with escapes on lines of its own.
        for line in text.lines().filter(|l| !l.contains('\u{1b}')) {
            assert!(
                line.chars().count() <= 140,
                "{ask}: a line of {} letters",
                line.chars().count()
            );
        }
        assert!(
            text.lines().count() < 80,
            "{ask}: {} lines",
            text.lines().count()
        );
    }
}

#[test]
#[ignore = "needs script"]
fn no_bytes_reach_a_terminal() {
    let folder = Folder::new("terminal-bytes").with("a.csv", points(20));
    for ask in ["dist a.csv -o -", "reduce a.csv --op sum -o -"] {
        let text = seen(&folder, ask);
        assert!(
            text.contains("standard output is a terminal") && !text.contains("NUMPY"),
            "{ask}: {text}"
        );
        assert!(folder.run(ask).out.contains("NUMPY"), "a pipe takes it");
    }
}

#[test]
#[ignore = "needs script"]
fn errors_have_colours_where_people_read_them() {
    let folder = Folder::new("terminal-colours").with("a.csv", points(3));
    let text = seen(&folder, "dist a.csv --metric euclidian");
    assert!(
        text.contains("\u{1b}[31merror:") && text.contains("\u{1b}[32mtry:"),
        "{text:?}"
    );
    let piped = folder.run("dist a.csv --metric euclidian").err;
    assert!(
        !piped.contains('\u{1b}') && piped.starts_with("error: "),
        "{piped:?}"
    );
}

#[test]
fn figures_are_for_people() {
    let folder = Folder::new("terminal-figures")
        .with("a.csv", points(1000))
        .with_copy("docs/asia.bif", "asia.bif");
    let told = folder
        .run("hist a.csv --range 0 110 --bins 10 -o h.csv")
        .ok()
        .err;
    assert!(
        told.contains("k pairs")
            && told.contains(" pairs/s · peak ")
            && told.contains("wrote h.csv"),
        "{told}"
    );
    for ask in [
        "explain hist a.csv --range 0 110",
        "explain knn a.csv",
        "explain dist a.csv",
        "explain infer asia.bif",
        "explain reduce a.csv --op sum",
    ] {
        let text = folder.run(ask).ok().out;
        let scientific = text.split_whitespace().any(|w| {
            w.contains("e0")
                || w.contains("e-") && w.chars().next().is_some_and(|c| c.is_ascii_digit())
        });
        assert!(!scientific && !text.contains("hoisted"), "{ask}\n{text}");
    }
    assert!(
        folder
            .run("explain --verbose knn a.csv")
            .ok()
            .out
            .contains("hoisted")
    );
}

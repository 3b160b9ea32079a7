//! Lists of what there is to choose from, help, completions, pages, suggestions.

mod command;
use command::Folder;

#[test]
fn every_metric_is_listed_and_told_of() {
    let folder = Folder::new("lists-metrics");
    let list = folder.run("metrics").ok().out;
    for metric in zipfold::internals::core::pair::named::all() {
        assert!(
            list.lines()
                .any(|l| l.split_whitespace().next() == Some(metric.name)),
            "{} is not listed",
            metric.name
        );
        let one = folder.run(&format!("metrics {}", metric.name)).ok().out;
        assert!(
            one.contains(metric.name) && one.contains("options") && one.contains("values"),
            "{one}"
        );
        assert!(
            one.contains(if metric.similarity {
                "a similarity"
            } else {
                "a distance"
            }),
            "{one}"
        );
        metric
            .options
            .iter()
            .for_each(|o| assert!(one.contains(o), "{one}"));
    }
    assert_eq!(
        folder.run("dist --metric help").ok().out.trim(),
        list.trim(),
        "--metric help is the list"
    );
    assert_eq!(folder.run("knn --metric list").ok().out.trim(), list.trim());
    let json: serde_json::Value =
        serde_json::from_str(&folder.run("metrics --json").ok().out).unwrap();
    assert_eq!(
        json.as_array().unwrap().len(),
        zipfold::internals::core::pair::named::all().len()
    );
}

#[test]
fn functions_settings_and_formats_are_listed() {
    let folder = Folder::new("lists-functions").with("a.csv", "x,y\n1,2\n3,4\n");
    let list = folder.run("functions").ok().out;
    for function in zipfold::internals::core::pair::functions::ALL {
        assert!(
            list.contains(function.form),
            "{} is not listed",
            function.form
        );
    }
    let settings = folder.run("settings").ok().out;
    assert!(
        settings.contains("tile.rows") && settings.contains("prune"),
        "{settings}"
    );
    assert_eq!(
        folder.run("dist --set help").ok().out.trim(),
        settings.trim()
    );
    let formats = folder.run("formats").ok().out;
    for suffix in [
        ".npy", ".parquet", ".feather", ".extxyz", ".dat", ".bif", ".csr.npz", ".gz",
    ] {
        assert!(formats.contains(suffix), "{suffix} is not in\n{formats}");
    }
    for list in [
        "functions --json",
        "settings --json",
        "formats --json",
        "functions if --json",
    ] {
        serde_json::from_str::<serde_json::Value>(&folder.run(list).ok().out).unwrap();
    }
}

#[test]
fn what_is_listed_as_written_is_written() {
    let folder = Folder::new("lists-written")
        .with("a.csv", "x,y\n1,2\n3,4\n5,1\n")
        .with_copy("docs/asia.bif", "asia.bif");
    let formats: serde_json::Value =
        serde_json::from_str(&folder.run("formats --json").ok().out).unwrap();
    let asks = [
        ("dist", "dist a.csv"),
        ("knn", "knn a.csv -k 1"),
        ("hist", "hist a.csv --range 0 9 --bins 3"),
        ("reduce", "reduce a.csv --op sum"),
        ("join", "join a.csv --self --where 'euclidean(x, y) < 3'"),
        ("infer", "infer asia.bif"),
    ];
    for (verb, ask) in asks {
        for suffix in formats["writes"][verb].as_array().unwrap() {
            let suffix = suffix.as_str().unwrap();
            folder.run(&format!("{ask} -o {verb}.{suffix}")).ok();
            assert!(folder.has(&format!("{verb}.{suffix}")), "{verb}.{suffix}");
        }
        let odd = folder
            .run(&format!("{ask} -o {verb}.xlsx"))
            .refused(&["xlsx", ".csv"]);
        assert!(odd.out.is_empty() && !folder.has(&format!("{verb}.xlsx")));
    }
}

#[test]
fn suggestions_are_what_people_mean() {
    let folder = Folder::new("lists-suggest")
        .with("a.csv", "alpha,beta\n1,2\n3,4\n")
        .with_copy("docs/asia.bif", "asia.bif");
    for (ask, says) in [
        ("dist a.csv --metric tanimoto", "'jaccard'"),
        ("dist a.csv --metric euclidian", "'euclidean'"),
        (
            "dist a.csv --pair 'sum(where(x > y, 1, 0))'",
            "'if(condition, a, b)'",
        ),
        ("dist a.csv --pair 'power(x.alpha, 2)'", "'a^b'"),
        ("dist a.csv --columns alpa", "'alpha'"),
        ("infer asia.bif --observe disp=yes", "'dysp'"),
        (
            "hist a.csv --bins -1",
            "whole number of 0 or more, got '-1'",
        ),
        ("knn a.csv -k -1", "whole number of 0 or more, got '-1'"),
        (
            "infer asia.bif --task samples --samples -1",
            "whole number of 0 or more, got '-1'",
        ),
        (
            "dist a.csv --pair 'x.alpha == 5 and x.beta == \"buy\"'",
            "text",
        ),
    ] {
        folder.run(ask).refused(&[says]);
    }
    // Three letters are near to everything: nothing is suggested for them but the list.
    let foo = folder
        .run("dist a.csv --metric foo")
        .refused(&["metric"])
        .err;
    assert!(!foo.contains("'co'"), "{foo}");
}

#[test]
fn formulas_may_begin_with_a_minus() {
    let folder = Folder::new("lists-minus").with("a.csv", "x\n1\n3\n");
    assert_eq!(
        folder
            .run("reduce a.csv --pair '-10 * x.x' --op sum --axis all")
            .ok()
            .out
            .trim(),
        "-80"
    );
    let found = folder
        .run("join a.csv --self --where '-x.x < -2 or -y.x < -2' -o -")
        .ok()
        .out;
    assert_eq!(found, "i,j\n0,1\n");
}

#[test]
fn help_is_grouped_and_has_examples() {
    let folder = Folder::new("lists-help");
    let whole = folder.run("--help").ok().out;
    for heading in [
        "Questions about pairs of rows:",
        "Graphical models:",
        "Lists:",
        "  metrics ",
    ] {
        assert!(whole.contains(heading), "{heading} is not in\n{whole}");
    }
    for verb in [
        "dist", "knn", "hist", "reduce", "join", "run", "merge", "infer",
    ] {
        let long = folder.run(&format!("{verb} --help")).ok().out;
        let short = folder.run(&format!("{verb} -h")).ok().out;
        assert!(
            long.contains("Examples:") && long.contains("Output:") && long.contains("Run:"),
            "{verb}\n{long}"
        );
        assert!(
            short.lines().count() < long.lines().count() / 2,
            "-h of {verb} is not short"
        );
        assert!(
            long.contains("--checkpoint-every") && !short.contains("--checkpoint-every"),
            "{verb}"
        );
    }
    let infer = folder.run("infer --help").ok().out;
    assert!(
        infer.contains("possible values: pr, mar, map") && infer.contains("<SECONDS>"),
        "{infer}"
    );
    assert!(
        !infer.contains("<TIME_LIMIT>") && !infer.contains("<ORDER_TIME>"),
        "{infer}"
    );
}

#[test]
fn shells_and_man_know_the_lists() {
    let folder = Folder::new("lists-shells");
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&format!("completions {shell}")).ok().out;
        for word in ["minkowski", "opencl", "tile.rows", "functions"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    std::fs::create_dir(folder.0.join("man")).unwrap();
    folder.run("man man").ok();
    assert!(
        folder.read("man/zipfold-hist.1").contains("Examples"),
        "the pages have examples"
    );
    assert!(folder.has("man/zipfold.1"));
    folder
        .run("man nowhere")
        .status
        .filter(|s| *s != 0)
        .expect("a folder that is not there");
}

#[test]
fn the_version_says_what_was_built() {
    let folder = Folder::new("lists-version");
    let (short, long) = (folder.run("-V").ok().out, folder.run("--version").ok().out);
    assert_eq!(
        short.trim(),
        format!("zipfold {}", env!("CARGO_PKG_VERSION"))
    );
    assert!(
        long.contains(std::env::consts::ARCH) && long.contains("parquet"),
        "{long}"
    );
    assert_eq!(long, folder.run("--version").ok().out);
}

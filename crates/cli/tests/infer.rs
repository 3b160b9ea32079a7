//! `infer` with the options of other verbs, its forms, its refusals.

mod command;
use command::Folder;

fn folder(name: &str) -> Folder {
    Folder::new(name).with_copy("docs/asia.bif", "asia.bif")
}

#[test]
fn forms_follow_the_suffix_and_the_option() {
    let folder = folder("infer-forms");
    let seen = "--observe dysp=yes";
    let piped = folder.run(&format!("infer asia.bif {seen}")).ok();
    assert!(
        piped.out.starts_with("MAR\n8 2 ") || piped.out.starts_with("MAR 8 2 "),
        "{}",
        piped.out
    );
    for (option, starts) in [
        ("--format csv", "variable,state,probability\nasia,yes,"),
        ("--format tsv", "variable\tstate\tprobability\nasia\tyes\t"),
        ("--format json", "{\"log10\":"),
        ("--format table", "variable  state  probability"),
        ("--format uai", "MAR"),
    ] {
        let out = folder
            .run(&format!("infer asia.bif {seen} {option}"))
            .ok()
            .out;
        assert!(out.starts_with(starts), "{option}: {out}");
    }
    folder
        .run("infer asia.bif -o a.npy")
        .refused(&["'.npy'", ".csv .tsv .json"]);
    folder
        .run("infer asia.bif -o a.parquet")
        .refused(&["'.parquet'"]);
    // JSON keeps the order of the network.
    let json = folder.run("infer asia.bif --format json").ok().out;
    let at = |name: &str| {
        json.find(&format!("\"{name}\":"))
            .unwrap_or_else(|| panic!("{name} is not in {json}"))
    };
    assert!(
        at("asia") < at("tub") && at("tub") < at("smoke") && at("smoke") < at("lung"),
        "{json}"
    );
    assert!(json.contains("{\"yes\":"), "{json}");
}

#[test]
fn marginals_are_those_of_the_textbook() {
    let folder = folder("infer-values");
    folder
        .run("infer asia.bif --observe dysp=yes -o a.csv")
        .ok();
    let csv = folder.read("a.csv");
    let p = |name: &str| -> f64 {
        let line = csv
            .lines()
            .find(|l| l.starts_with(&format!("{name},yes,")))
            .unwrap();
        line.rsplit(',').next().unwrap().parse().unwrap()
    };
    // By summing the joint table of the network by hand.
    assert!((p("bronc") - 0.834).abs() < 5e-4, "{csv}");
    assert!((p("lung") - 0.103).abs() < 5e-4, "{csv}");
    assert_eq!(p("dysp"), 1.0);
    let one = folder
        .run("infer asia.bif --observe dysp=yes --keep lung,bronc --format csv")
        .ok()
        .out;
    assert_eq!(one.lines().count(), 5, "{one}");
    assert!(
        one.starts_with("variable,state,probability\nlung,yes,0.10"),
        "{one}"
    );
}

#[test]
fn it_takes_the_options_of_other_verbs() {
    let folder = folder("infer-options");
    let done = folder
        .run("infer asia.bif -o a.csv --report a.html --plot a.svg --durable --device cpu --threads 1 --memory 1GiB")
        .ok();
    for words in [
        "mar of 8 variables in ",
        "order search",
        "contraction",
        "wrote a.csv",
        "wrote a.svg",
        "wrote a.html",
    ] {
        assert!(done.err.contains(words), "{words} is not in\n{}", done.err);
    }
    assert!(folder.read("a.html").contains("bronc") && folder.read("a.html").contains("<svg"));
    let picture = folder.read("a.svg");
    assert!(
        picture.contains("bronc") && picture.contains("yes: 0.450000, no: 0.550000"),
        "{picture}"
    );
    folder.run("explain infer asia.bif --plot p.svg").ok();
    let picture = folder.read("p.svg");
    assert!(
        picture.contains("joins in the order of execution") && picture.contains("log2 of visited"),
        "{picture}"
    );
    let quiet = folder.run("infer asia.bif -q -o b.csv").ok();
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    folder
        .run("infer asia.bif -o b.csv")
        .refused(&["exists", "--force"]);
    folder.run("infer asia.bif -o b.csv --force").ok();
    let json: serde_json::Value =
        serde_json::from_str(&folder.run("infer asia.bif --json").ok().out).unwrap();
    assert_eq!(json["command"], "infer");
    let plan: serde_json::Value =
        serde_json::from_str(&folder.run("explain infer asia.bif --json").ok().out).unwrap();
    assert_eq!(
        (&plan["variables"], &plan["command"]),
        (&serde_json::json!(8), &serde_json::json!("explain infer"))
    );
    let network = folder.read("asia.bif");
    assert_eq!(
        folder
            .run_with("infer - --observe dysp=yes", &network)
            .ok()
            .out,
        folder.run("infer asia.bif --observe dysp=yes").ok().out
    );
}

#[test]
fn what_means_nothing_is_refused_with_the_reason() {
    let folder = folder("infer-refused");
    for (ask, says) in [
        ("--device gpu", "got 'gpu'"),
        ("--set prune=on", "a choice of plans over pairs"),
        ("--shard 1/2 -o a.part", "slices"),
        ("--task pr --plot a.svg", "no picture"),
        ("--task map --plot a.svg", "no picture"),
        ("--task samples --plot a.svg", "no picture"),
        ("--task pr --keep lung", "about all variables"),
        ("--task map --keep lung", "about all variables"),
        ("--keep lung --format uai", "marginals of all variables"),
        ("--task mmap", "mmap asks for no variable"),
        ("--task foo", "possible values: pr, mar, map"),
        ("--precision f16", "possible values: f64, f32"),
        ("--observe dysp", "NAME=STATE"),
        ("--resume", "-o FILE"),
        ("--json -o -", "-o FILE"),
    ] {
        folder
            .run(&format!("infer asia.bif {ask}"))
            .refused(&[says]);
        assert!(!folder.has("a.svg"), "{ask}");
    }
}

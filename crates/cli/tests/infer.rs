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

/// Zeros beside numbers that have no f64, and maxima of parts that differ by more than f64 holds.
#[test]
fn answers_beyond_f64_are_numbers() {
    let folder = Folder::new("infer-far");
    let tables = "4\n1e-160 0 0 1e-160\n2\n1e-160 1e-160\n2\n1e-160 1e-160\n4\n1e-160 1 1 1e-160\n";
    let n1 = format!("MARKOV\n2\n2 2\n4\n2 0 1\n1 0\n1 1\n2 0 1\n{tables}");
    std::fs::write(folder.path("n1.uai"), n1).unwrap();
    for method in ["elimination", "components"] {
        let line = format!(
            "infer n1.uai --task sum --keep 0,1 -q --format json --set product.method={method}"
        );
        let out = folder.run(&line).ok().out;
        let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
        let values = answer["values"].as_array().unwrap();
        let values: Vec<f64> = values
            .iter()
            .map(|v| v.as_f64().expect("a number"))
            .collect();
        assert_eq!((values[1], values[2]), (0.0, 0.0), "{out}");
        let log10 = values[0].log10() + answer["log10_scale"].as_f64().unwrap();
        assert!(
            (log10 + 640.0).abs() < 1e-9 && values[0] == values[3],
            "{out}"
        );
    }
    for (tables, want) in [
        ("2\n1e250 1e-250\n2\n1e-250 1e250\n", "\"log10\":0.0"),
        ("2\n1e161 1e-161\n2\n1e-300 1e200\n", "\"log10\":39.0"),
    ] {
        let text = format!("MARKOV\n1\n2\n2\n1 0\n1 0\n{tables}");
        std::fs::write(folder.path("mm.uai"), text).unwrap();
        for task in ["map", "mmap --keep 0"] {
            let out = folder
                .run(&format!("infer mm.uai --task {task} -q --format json"))
                .ok()
                .out;
            let log10 = out.split_once("\"log10\":").unwrap().1;
            let want: f64 = want.split_once(':').unwrap().1.parse().unwrap();
            let got: f64 = log10.split([',', '}']).next().unwrap().parse().unwrap();
            assert!((got - want).abs() < 1e-10, "{task}: {out}");
        }
    }
}

#[test]
fn standard_input_and_evidence_may_begin_with_comments() {
    let folder = folder("infer-comments");
    let want = folder.run("infer asia.bif --observe dysp=yes").ok().out;
    let text = folder.read("asia.bif");
    let before = "/* made by a tool,\n * on a day */\n// and read\n";
    let piped = folder.run_with("infer - --observe dysp=yes", &format!("{before}{text}"));
    assert_eq!(piped.ok().out, want);
    let number = text
        .split("variable ")
        .skip(1)
        .position(|v| v.starts_with("dysp"));
    for pattern in [
        "# observed\n1 V S\n",
        "1 V S #c",
        "# p=1\n1 V S",
        "/* seen */ 1 V S",
    ] {
        let seen = pattern
            .replace('V', &number.unwrap().to_string())
            .replace('S', "0");
        std::fs::write(folder.path("seen.evid"), &seen).unwrap();
        let out = folder.run("infer asia.bif --evidence seen.evid").ok().out;
        assert_eq!(out, want, "{seen}");
    }
}

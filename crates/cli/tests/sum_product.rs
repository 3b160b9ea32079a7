//! `bench sum-product`: sections, definitions, rows for programs and for people.

mod command;
use command::Folder;
use serde_json::Value;

const SMALL: &str = r#"
name = "small"
seed = 3
buckets = 4
operations = [1e3, 5e4]
functions = [2, 3]
values = [1, 6]
summed = [2, 24]
shared = [1, 6]
arity = [5, 25]
entries = 100000
result = 1e5
"#;

fn folder(name: &str) -> Folder {
    Folder::new(name)
        .with("small.toml", SMALL)
        .with_copy("docs/asia.bif", "asia.bif")
}

fn rows(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).expect("an object a line");
    text.lines().map(parse).collect()
}

fn of<'r>(rows: &'r [Value], section: &str) -> Vec<&'r Value> {
    rows.iter().filter(|r| r["section"] == section).collect()
}

#[test]
fn the_list_has_the_buckets_that_are_measured() {
    let folder = folder("sum-product-list");
    let done = folder
        .run("bench sum-product list --definition small.toml")
        .ok();
    let listed = rows(&done.out);
    assert_eq!(listed.len(), 4);
    let done = folder
        .run("bench sum-product buckets --definition small.toml --json")
        .ok();
    let measured = rows(&done.out);
    for (at, row) in listed.iter().enumerate() {
        let sizes = row["dom"].as_array().expect("domains").len();
        let scopes = row["scopes"].as_array().expect("scopes");
        let own = scopes.iter().flat_map(|s| s.as_array().expect("a scope"));
        assert!(own.clone().all(|v| v.as_u64() < Some(sizes as u64)));
        assert_eq!(of(&measured, "buckets")[2 * at]["operations"], row["flop"]);
    }
    let odd = folder.run("bench sum-product list buckets");
    assert_eq!(odd.status, Some(2), "{}", odd.err);
}

#[test]
fn buckets_are_measured_on_the_processor() {
    let folder = folder("sum-product-host");
    let done = folder
        .run("bench sum-product --definition small.toml --network asia.bif --json")
        .ok();
    let rows = rows(&done.out);
    assert_eq!(of(&rows, "ceilings").len(), 2);
    let buckets = of(&rows, "buckets");
    // Four buckets, two types, values and logarithms.
    assert_eq!(buckets.len(), 16);
    for row in buckets {
        for name in ["one_core", "all_cores", "all_cores_share", "operations"] {
            assert!(
                row[name].as_f64().is_some_and(|n| n > 0.0),
                "{name} of {row}"
            );
        }
    }
    assert!(of(&rows, "cache").is_empty());
    assert_eq!(of(&rows, "networks")[0]["network"], "asia.bif");
    assert_eq!(rows.last().map(|r| &r["section"]), Some(&"end".into()));
    let text = folder
        .run("bench sum-product buckets --definition small.toml --buckets 1 --operations 2000")
        .ok()
        .out;
    assert!(text.contains("one_core f64 logs, operations/s"), "{text}");
    assert!(
        text.trim_end()
            .lines()
            .last()
            .is_some_and(|l| l.starts_with("the run"))
    );
}

#[test]
fn what_a_definition_cannot_give_is_refused() {
    let folder = folder("sum-product-refused")
        .with("odd.toml", SMALL.replace("[2, 3]", "[3, 2]"))
        .with("more.toml", format!("{SMALL}\nwhat = 1\n"));
    let cases: [(&str, &[&str]); 4] = [
        (
            "bench sum-product buckets caches",
            &["no section 'caches'", "overheads"],
        ),
        (
            "bench sum-product --definition odd.toml",
            &["'functions'", "got 3 to 2"],
        ),
        ("bench sum-product --definition more.toml", &["what"]),
        ("bench sum-product --definition none.toml", &["none.toml"]),
    ];
    for (line, says) in cases {
        folder.run(line).refused(says);
    }
}

#[test]
#[ignore = "needs opencl"]
fn every_section_runs_on_a_device() {
    let folder = folder("sum-product-device");
    let line = "bench sum-product --definition small.toml --buckets 2 --device opencl:0 --network asia.bif --set product.joins=all --json";
    let rows = rows(&folder.run(line).ok().out);
    let positive = |row: &Value, name: &str| row[name].as_f64().is_some_and(|n| n > 0.0);
    for row in of(&rows, "ceilings") {
        for name in [
            "device_operations",
            "device_operands",
            "device_bytes",
            "device_cached_bytes",
        ] {
            assert!(positive(row, name), "{name} of {row}");
        }
    }
    let expected: [(&str, usize, &[&str]); 5] = [
        (
            "buckets",
            8,
            &["one_core", "all_cores", "paged", "roofline"],
        ),
        ("cache", 22, &["predicted", "measured", "intensity"]),
        ("unrolling", 10, &["predicted", "measured"]),
        (
            "hardware",
            4,
            &["greedy", "exact", "hardware", "hardware_predicted"],
        ),
        (
            "overheads",
            2,
            &["planning", "compiling", "upload", "kernel", "download"],
        ),
    ];
    for (section, many, names) in expected {
        let found = of(&rows, section);
        assert_eq!(found.len(), many, "{section}");
        for row in found {
            assert!(names.iter().all(|n| positive(row, n)), "{section}: {row}");
        }
    }
    let joins = of(&rows, "buckets")
        .into_iter()
        .filter(|r| positive(r, "joins"));
    // Two buckets of values and of logarithms, in both precisions.
    assert_eq!(joins.count(), 8);
    // Without a cache every read goes beyond it.
    let cache = of(&rows, "cache");
    assert!(
        cache
            .iter()
            .any(|r| r["cache_bytes"] == 0.0 && r["hit_rate"] == 0.0)
    );
    assert!(cache.iter().any(|r| r["hit_rate"].as_f64() > Some(0.5)));
    assert!(positive(of(&rows, "networks")[0], "device_total"));
}

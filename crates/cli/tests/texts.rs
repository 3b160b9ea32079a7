//! Columns of text in formulas: compared in the order of their words, over both tables; missing
//! ones are like no other.

mod command;
use command::Folder;

/// Words that sort apart, some of which only one table has; an empty one is missing.
const WORDS: [&str; 9] = ["", "Na", "Cl", "na", "Łódź", "É", "a b", "a,b", "\u{1F600}"];

struct Rows(Vec<(f64, &'static str)>);

impl Rows {
    /// `count` rows of a number and a word among those of `from`.
    fn random(seed: u64, count: usize, from: &[&'static str]) -> Self {
        let mut state = seed;
        let mut next = |below: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        Rows(
            (0..count)
                .map(|_| (next(7) as f64, from[next(from.len())]))
                .collect(),
        )
    }
    fn text(&self, separator: char) -> String {
        let cell = |w: &str| {
            if w.contains(separator) {
                format!("\"{w}\"")
            } else {
                w.to_string()
            }
        };
        let row = |(v, w): &(f64, &str)| format!("{v}{separator}{}\n", cell(w));
        format!("v{separator}kind\n") + &self.0.iter().map(row).collect::<String>()
    }
}

/// A comparison of two words: neither true nor false where one is missing.
fn compared(a: &str, b: &str, holds: fn(&str, &str) -> bool) -> Option<bool> {
    (!a.is_empty() && !b.is_empty()).then(|| holds(a, b))
}

type Question = (&'static str, fn(&str, &str) -> Option<bool>);

const QUESTIONS: [Question; 8] = [
    ("x.kind == y.kind", |a, b| compared(a, b, |a, b| a == b)),
    ("x.kind != y.kind", |a, b| compared(a, b, |a, b| a != b)),
    ("x.kind < y.kind", |a, b| compared(a, b, |a, b| a < b)),
    ("x.kind >= y.kind", |a, b| compared(a, b, |a, b| a >= b)),
    ("not (x.kind == y.kind)", |a, b| {
        compared(a, b, |a, b| a != b)
    }),
    ("x.kind == \"Na\" or y.kind > \"N\"", |a, b| {
        let (first, second) = (
            compared(a, "Na", |a, b| a == b),
            compared(b, "N", |a, b| a > b),
        );
        if first == Some(true) || second == Some(true) {
            Some(true)
        } else {
            first.and(second).map(|_| false)
        }
    }),
    ("\"nowhere\" <= x.kind", |a, _| {
        compared(a, "nowhere", |a, b| b <= a)
    }),
    ("isnan(y.kind)", |_, b| Some(b.is_empty())),
];

#[test]
fn joins_agree_with_an_oracle() {
    let (some, others) = (
        [&WORDS[..7], &["only x"]].concat(),
        [&WORDS[..2], &WORDS[4..], &["only y"]].concat(),
    );
    let (x, y) = (Rows::random(7, 60, &some), Rows::random(11, 50, &others));
    let folder = Folder::new("texts-oracle");
    for (suffix, separator) in [("csv", ','), ("tsv", '\t')] {
        folder.put(&format!("a.{suffix}"), x.text(separator));
        folder.put(&format!("b.{suffix}"), y.text(separator));
        for (text, holds) in QUESTIONS {
            for (table, name) in [(&y, "b"), (&x, "a")] {
                let near = "abs(x.v - y.v) < 2";
                let line = format!(
                    "join a.{suffix} {name}.{suffix} --where '({text}) and {near}' -q --nan"
                );
                let mut wanted = String::new();
                for (i, (v, a)) in x.0.iter().enumerate() {
                    for (j, (w, b)) in table.0.iter().enumerate() {
                        if holds(a, b) == Some(true) && (v - w).abs() < 2.0 {
                            wanted += &format!("{i},{j}\n");
                        }
                    }
                }
                for policy in ["propagate", "skip"] {
                    folder
                        .run(&format!("{line} {policy} --columns v -o m.csv --force"))
                        .ok();
                    let found: String = folder.read("m.csv").lines().skip(1).map(pair).collect();
                    assert_eq!(found, wanted, "{line} {policy}");
                }
            }
        }
    }
}

/// The first two cells of a line.
fn pair(line: &str) -> String {
    line.split(',').take(2).collect::<Vec<_>>().join(",") + "\n"
}

const A: &str = "name,p,q,kind\nr0,0,0,Cl\nr1,1,0,Na\nr2,0,1,Cl\nr3,3,3,Łódź\nr4,1,1,Na\n";
const B: &str = "p,q,kind\n0,0,Cl\n1,1,Na\n3,3,Zn\n";

#[test]
fn every_verb_compares_words() {
    let folder = Folder::new("texts-verbs").with("a.csv", A).with("b.csv", B);
    let pair = "--pair 'if(x.kind == y.kind, euclidean(x, y), 9)'";
    let out = |line: &str| folder.run(line).ok().out;
    assert_eq!(
        out(&format!("dist a.csv b.csv {pair}")),
        "0,9,9\n9,1,9\n1,9,9\n9,9,9\n9,0,9\n"
    );
    assert_eq!(
        out(&format!("reduce a.csv {pair} --op sum --axis row")),
        "28\n28\n28\n36\n28\n"
    );
    assert!(
        out(&format!("hist a.csv {pair} --range 0 10 --bins 2"))
            .ends_with("0.0,5.0,2\n5.0,10.0,8\n")
    );
    let near = out(&format!("knn a.csv -k 1 {pair} -o - -q"));
    assert!(
        near.contains("\n0,0,2,1.0,") && near.contains("\n1,0,4,1.0,"),
        "{near}"
    );
    let same = "--where 'x.kind == y.kind && sum((x - y)^2) < 4'";
    assert_eq!(
        out(&format!("join a.csv b.csv --columns p,q {same} -o - -q")),
        "i,j\n0,0\n1,1\n2,0\n4,1\n"
    );
    assert_eq!(
        out(&format!("join a.csv --self --columns p,q {same} -o - -q")),
        "i,j\n0,2\n1,4\n"
    );
    assert!(
        out(&format!("explain join a.csv b.csv {same}"))
            .contains("15: 5 rows of x with 3 rows of y")
    );
    let kinds = "schema = 1\nfolds = [{ kind = \"matrix\" }]\nx = { name = \"a.csv\", columns = [\"p\", \"q\"] }\npair = \
                 { formula = \"if(x.kind < y.kind, 1, 0)\" }\n";
    folder.put("p.toml", kinds);
    assert_eq!(
        out("run p.toml"),
        "0,1,0,1,1\n0,0,0,1,0\n0,1,0,1,1\n0,0,0,0,0\n0,0,0,1,0\n"
    );
}

#[test]
fn columns_of_text_are_found_however_columns_are_chosen() {
    let folder = Folder::new("texts-columns")
        .with("a.csv", A)
        .with("b.csv", B);
    folder.put("c.csv", "kind\nNa\nZn\n");
    let same = "--where 'x.kind == y.kind' -o - -q";
    let wanted = "0,0\n1,1\n2,0\n4,1\n";
    for columns in [
        "",
        "--columns p,q",
        "--columns 'p*'",
        "--columns '!q'",
        "--columns kind",
        "--columns p,kind",
    ] {
        for more in ["", "--id kind", "--attributes kind"] {
            let out = folder
                .run(&format!("join a.csv b.csv {columns} {more} {same}"))
                .ok()
                .out;
            assert_eq!(
                out.lines().skip(1).map(pair).collect::<String>(),
                wanted,
                "{columns} {more}"
            );
        }
    }
    // A table of nothing but text, and codes that begin like numbers.
    assert_eq!(
        folder.run(&format!("join b.csv c.csv {same}")).ok().out,
        "i,j,x.kind,y.kind\n1,0,Na,Na\n2,1,Zn,Zn\n"
    );
    folder.put("codes.csv", "v,code\n1,1a\n2,07\n3,1a\n");
    let out = folder
        .run("join codes.csv --self --id code --where 'x.code == y.code' -o - -q")
        .ok()
        .out;
    assert_eq!(out, "i,j,x.code,y.code\n0,2,1a,1a\n");
    // Whether a column is text shows only in its third row.
    folder.put("late.csv", "v,kind,w\n1,,\n2,NA,\n3,b,4\n4,b,5\n");
    let late = "join late.csv --self --nan propagate --where 'x.kind == y.kind' -o - -q";
    assert_eq!(folder.run(late).ok().out, "i,j,x.kind,y.kind\n2,3,b,b\n");
}

#[test]
fn words_are_no_numbers() {
    let folder = Folder::new("texts-refused")
        .with("a.csv", A)
        .with("b.csv", B)
        .with("gap.csv", "p,kind\n1,a\n2,\n");
    for formula in [
        "x.kind + 1 < 2",
        "x.kind - y.kind == 0",
        "x.kind * 2 == y.kind",
        "abs(x.kind) < 1",
    ] {
        let says = [
            "expected numbers, got the text column 'x.kind'",
            "x.kind == y.kind",
        ];
        folder
            .run(&format!("join a.csv b.csv --where '{formula}'"))
            .refused(&says);
    }
    folder
        .run("join a.csv b.csv --where 'x.kind == 1'")
        .refused(&["'x.kind' beside a number"]);
    folder
        .run("join a.csv b.csv --where 'x.kind == y.p'")
        .refused(&["'x.kind' beside a number"]);
    folder
        .run("join a.csv b.csv --where 'x.p == \"Na\"'")
        .refused(&["the text \"Na\" beside a number", "x.kind == \"Na\""]);
    folder
        .run("join a.csv b.csv --where 'x.kind == \"\"'")
        .refused(&["an empty text", "isnan"]);
    folder
        .run("join a.csv b.csv --where 'x.kind == \"Na'")
        .refused(&["does not end"]);
    folder
        .run("dist a.csv --pair x.kind")
        .refused(&["expected numbers, got the text column 'x.kind'"]);
    folder
        .run("dist a.csv --columns kind --pair 'if(x.kind == y.kind, sum(x), 0)'")
        .refused(&["part of a whole row"]);
    let ranks = "dist b.csv --columns kind --pair 'if(x.kind == y.kind, spearman(x, y), 0)'";
    folder
        .run(ranks)
        .refused(&["'spearman(x, y)' alone, got 'kind'"]);
    let says = [
        "gap.csv, row 1 (from 0), column 'kind'",
        "a missing text",
        "--nan skip",
    ];
    folder
        .run("join gap.csv --self --where 'x.kind == y.kind'")
        .refused(&says);
}

#[test]
fn other_words_are_other_data() {
    let folder = Folder::new("texts-identity")
        .with("a.csv", A)
        .with("b.csv", B);
    let line = "reduce a.csv b.csv --pair 'if(x.kind == y.kind, 1, 0)' --op count --axis all -q";
    folder.run(&format!("{line} --shard 1/2 -o 1.zfp")).ok();
    // The order stays, and with it the numbers.
    for name in ["a.csv", "b.csv"] {
        folder.put(name, folder.read(name).replace("Cl", "Cm"));
    }
    folder.run(&format!("{line} --shard 2/2 -o 2.zfp")).ok();
    let merged = folder.run("merge 1.zfp 2.zfp");
    assert_eq!(merged.status, Some(2), "{}{}", merged.out, merged.err);
    assert!(merged.err.contains("the data of x"), "{}", merged.err);
}

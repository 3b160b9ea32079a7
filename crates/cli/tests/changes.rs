//! One thing changes between an interrupted run and its resumption, or between two shards: the run
//! is refused, or its answer is that of a run that saw only what is there now.
#![cfg(unix)]

mod command;
mod runs;

use runs::{Folder, SLOWLY, all_same, inputs};
use std::fs;
use std::os::unix::fs::FileExt;

/// What changes.
enum Change {
    /// The content of a file, which becomes that of another.
    File(&'static str, &'static str),
    /// Words of the command.
    Words(&'static str, &'static str),
    /// Bytes of what the run left, at this share of its length.
    Left(&'static str, f64),
}
use Change::{File, Left, Words};

/// Ends `words` midway, changes one thing and resumes: true where that is refused, false where the
/// answer is right.
fn refused(folder: &Folder, words: &str, suffix: &str, change: &Change) -> bool {
    inputs(folder);
    more_inputs(folder);
    let out = format!("out.{suffix}");
    assert!(
        folder.end_midway(words, &out, "-KILL"),
        "{words}: no checkpoint was caught"
    );
    let mut words = words.to_string();
    match change {
        File(name, other) => {
            fs::write(folder.path(name), fs::read(folder.path(other)).unwrap()).unwrap()
        }
        Words(from, to) => {
            assert!(words.contains(from), "{words}: no {from}");
            words = words.replacen(from, to, 1);
        }
        Left(name, share) => {
            let file = fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(folder.path(name))
                .unwrap();
            let at = (file.metadata().unwrap().len() as f64 * share) as u64 / 8 * 8;
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, at).unwrap();
            file.write_all_at(&bytes.map(|b| !b), at).unwrap();
        }
    }
    folder.clear("fresh.");
    let again = folder.output(&format!("{words} -o {out} --resume"));
    if !again.status.success() {
        let message = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(
            matches!(again.status.code(), Some(1 | 2)) && !message.contains("panicked"),
            "{words}: {message}"
        );
        assert!(folder.results("out.").is_empty());
        return true;
    }
    let fresh = folder.output(&format!("{words} -o fresh.{suffix}"));
    assert!(
        fresh.status.success(),
        "{words}: {}",
        String::from_utf8_lossy(&fresh.stderr)
    );
    assert!(
        all_same(folder, "out.", "fresh."),
        "{words}: neither refused nor right"
    );
    false
}

/// Tables that others become.
fn more_inputs(folder: &Folder) {
    folder.table("v2.csv", "v", 520, 77);
    folder.table("w2.csv", "x,y,z,w", 1500, 78);
    folder.table("big2.csv", "x,y,z", 1800, 79);
    folder.table("a2.csv", "x,y,z", 640, 80);
    folder.table("edges.csv", "e", 40, 81);
    let sorted = |seed: f64| {
        (0..40)
            .map(|k| format!("{}\n", f64::from(k) * seed))
            .collect::<String>()
    };
    fs::write(folder.path("edges.csv"), sorted(0.05)).unwrap();
    fs::write(folder.path("edges2.csv"), sorted(0.05000000000000001)).unwrap();
    let text = fs::read_to_string(folder.path("big.csv")).unwrap();
    fs::write(
        folder.path("swapped.csv"),
        text.replacen("x,y,z", "y,x,z", 1),
    )
    .unwrap();
    let mut bytes = text.into_bytes();
    let last = bytes.len() - 2;
    bytes[last] = if bytes[last] == b'7' { b'3' } else { b'7' };
    fs::write(folder.path("digit.csv"), bytes).unwrap();
    let weights = fs::read_to_string(folder.path("w.csv")).unwrap();
    let (head, last) = weights.trim_end().rsplit_once(',').unwrap();
    fs::write(
        folder.path("weight.csv"),
        format!(
            "{head},{}\n",
            last.replace('1', "1.5").split('.').next().unwrap()
        ),
    )
    .unwrap();
    let problem = fs::read_to_string(folder.path("counts.toml")).unwrap();
    fs::write(folder.path("k3.toml"), problem.replace("k = 2", "k = 3")).unwrap();
    fs::write(folder.path("torus2.uai"), runs::torus(11, 5)).unwrap();
}

/// A command, the suffix of its output, and the changes; with each whether it is refused.
type Case<'c> = (&'c str, &'c str, Vec<(Change, bool)>);

fn all(name: &str, cases: Vec<Case<'_>>) {
    let folder = Folder::new(&format!("changes-{name}"));
    for (words, suffix, changes) in cases {
        let words = format!("{words} {SLOWLY}");
        for (at, (change, must)) in changes.into_iter().enumerate() {
            let got = refused(&folder, &words, suffix, &change);
            assert!(got || !must, "{words} -o .{suffix}, change {at}: accepted");
        }
    }
}

#[test]
fn data_weights_names_and_options_of_folds() {
    all(
        "folds",
        vec![
            (
                "hist big.csv --bins 50 --range 0 1.8 --pair 'sum(abs(x - y)) + x.x*y.x'",
                "csv",
                vec![
                    (File("big.csv", "digit.csv"), true),
                    (File("big.csv", "big2.csv"), true),
                    (File("big.csv", "swapped.csv"), true),
                    (Words("--bins 50", "--bins 51"), true),
                    (Words("--range 0 1.8", "--range 0 1.8000000000000003"), true),
                    (Words("x.x*y.x", "x.x*y.y"), true),
                    (Words("tile.cols=256", "tile.cols=384"), true),
                    (Words("big.csv", "big.csv --half-open"), true),
                    (Words("big.csv", "big.csv --mean"), true),
                    (Words("big.csv", "big.csv --columns x,z"), true),
                    (Words("isa=scalar", "batch=2"), false),
                    (Words("--threads 2", "--threads 1"), false),
                ],
            ),
            (
                "hist big.csv --edges edges.csv",
                "npz",
                vec![(File("edges.csv", "edges2.csv"), true)],
            ),
            (
                "hist w.csv --weights w --bins 50 --range 0 1.8",
                "csv",
                vec![
                    (File("w.csv", "weight.csv"), true),
                    (File("w.csv", "w2.csv"), true),
                ],
            ),
            (
                "reduce big.csv b.csv --op sum --weights v.csv --param h=0.5 --pair 'exp(-sum((x-y)^2)*h)'",
                "npy",
                vec![
                    (File("v.csv", "v2.csv"), true),
                    (File("b.csv", "a.csv"), true),
                    (Words("h=0.5", "h=0.25"), true),
                    (Words("--op sum", "--op mean"), true),
                ],
            ),
            (
                "knn big.csv -k 4 --set prune=off",
                "csv",
                vec![
                    (Words("-k 4", "-k 5"), true),
                    (Words("-k 4", "-k 4 --metric cityblock"), true),
                    (Words("-k 4", "-k 4 --box 1,1,1"), true),
                    (Words("prune=off", "prune=on"), true),
                    (Words("-k 4", "-k 4 --nan skip"), true),
                ],
            ),
            (
                "join big.csv b.csv --where 'sum((x-y)^2)<0.002'",
                "npz",
                vec![
                    (Words("0.002", "0.0021"), true),
                    (File("b.csv", "a.csv"), true),
                    (Words("'sum", "'2*sum"), true),
                ],
            ),
            (
                "run counts.toml",
                "csv",
                vec![
                    (File("counts.toml", "k3.toml"), true),
                    (File("w.csv", "w2.csv"), true),
                ],
            ),
        ],
    );
}

#[test]
fn matrices_and_what_they_left() {
    let heavy = "--pair 'sum(exp(sin(abs(x - y))))'";
    all(
        "matrices",
        vec![
            (
                &format!("dist a.csv {heavy}"),
                "npy",
                vec![
                    (File("a.csv", "a2.csv"), true),
                    (Words("exp", "cos"), true),
                    (Left("out.npy.zipfold-partial", 0.0002), true),
                    (Left("out.npy.zipfold-partial", 1.0 - 1e-9), false),
                    (Left("out.npy.zipfold-resume", 0.5), true),
                ],
            ),
            (
                &format!("dist a.csv {heavy}"),
                "csv",
                vec![
                    (File("a.csv", "a2.csv"), true),
                    (Left("out.csv.zipfold-resume.0", 0.0002), true),
                    (Left("out.csv.zipfold-resume", 0.5), true),
                ],
            ),
            (
                "dist a.csv --precision f32",
                "npy",
                vec![(Words("isa=scalar", "isa=avx2"), false)],
            ),
            (
                "run dense.toml",
                "npy",
                vec![(Left("out.npy.zipfold-resume.1", 0.0002), true)],
            ),
        ],
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
#[ignore = "needs avx2"]
fn single_precision_of_another_instruction_set_is_refused() {
    assert!(std::is_x86_feature_detected!("avx2"), "no AVX2");
    let sums = "reduce big.csv --op sum --precision f32";
    let changes = vec![
        (Words("isa=scalar", "isa=avx2"), true),
        (Words("--set family=vm", ""), false),
    ];
    all("single", vec![(sums, "npy", changes)]);
}

#[test]
fn networks() {
    let folder = Folder::new("changes-networks");
    let words = "infer torus.uai --task mar --memory 17MiB";
    assert!(refused(
        &folder,
        words,
        "MAR",
        &File("torus.uai", "torus2.uai")
    ));
    assert!(refused(&folder, words, "MAR", &Words("mar", "map")));
    assert!(refused(
        &folder,
        words,
        "MAR",
        &Words("mar", "mar --precision f32")
    ));
    assert!(refused(
        &folder,
        words,
        "MAR",
        &Words("mar", "mar --observe 0=1")
    ));
}

#[test]
fn shards_of_other_data_or_questions_do_not_merge() {
    let folder = Folder::new("changes-shares");
    inputs(&folder);
    more_inputs(&folder);
    let first = |words: &str| {
        folder
            .finish(&format!("{words} --shard 1/2 -o 1.part --force"))
            .as_secs()
    };
    let second = |words: &str| folder.finish(&format!("{words} --shard 2/2 -o 2.part --force"));
    let merge = |what: &str, word: &str| {
        let done = folder.output("merge 1.part 2.part -o m.csv --force");
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(
            done.status.code() == Some(2) && message.contains(word),
            "{what}: {message}"
        );
    };
    let set = |name: &str, from: &str| {
        fs::write(folder.path(name), fs::read(folder.path(from)).unwrap()).unwrap()
    };
    let hist = "hist big.csv --bins 9 --range 0 2";
    for words in [hist, "hist big.csv --bins 9"] {
        first(words);
        set("big.csv", "big2.csv");
        second(words);
        merge(words, "the data of x");
        // Both of other data than those that are there now.
        first(words);
        inputs(&folder);
        merge(words, "the data of x");
    }
    let weighted = "hist w.csv --weights w --bins 9 --range 0 2";
    first(weighted);
    set("w.csv", "weight.csv");
    second(weighted);
    merge("another weight", "the weights");
    inputs(&folder);
    let named = "hist big.csv --bins 9 --range 0 2 --pair 'abs(x.x - y.x)'";
    first(named);
    set("big.csv", "swapped.csv");
    second(named);
    merge("other names", "the ");
    inputs(&folder);
    first(hist);
    second("hist big.csv --bins 9 --range 0 2.1");
    merge("another range", "the problem");
    second("hist big.csv --bins 9 --range 0 2 --set tile.rows=384 --set tile.cols=640");
    merge("other tiles", "the cut into shares");
    // The shards of one question merge to its answer.
    second(hist);
    folder.finish("merge 1.part 2.part -o m.csv --force");
    folder.finish(&format!("{hist} -o h.csv"));
    assert!(runs::same(&folder.path("m.csv"), &folder.path("h.csv")));
}

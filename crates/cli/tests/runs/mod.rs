//! The command as a person runs it: folders with inputs, runs that end well or are ended, what they
//! leave.
#![allow(dead_code, reason = "each test takes its part")]

pub(crate) use crate::command::Folder;
use crate::command::words as split;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Slow instructions and small tiles, so that there are many moments.
pub(crate) const SLOWLY: &str = "--threads 2 --set isa=scalar --set family=vm --set tile.rows=128 --set tile.cols=256 --set batch=1";

/// Marsaglia's xorshift: moments need no better numbers.
pub(crate) struct Random(pub u64);

impl Random {
    /// From 0 to 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Folder {
    /// Writes `rows` rows of random numbers under `header`, the last column between 1 and 2.
    pub(crate) fn table(&self, name: &str, header: &str, rows: usize, seed: u64) {
        let mut random = Random(seed);
        let cols = header.split(',').count();
        let mut text = format!("{header}\n");
        for _ in 0..rows {
            let row: Vec<String> = (0..cols)
                .map(|c| (random.next() + f64::from(u8::from(c + 1 == cols))).to_string())
                .collect();
            text += &row.join(",");
            text += "\n";
        }
        fs::write(self.path(name), text).unwrap();
    }
    /// The command with `words`, in this folder.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
        command
            .args(split(words))
            .current_dir(&self.0)
            .stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
    /// Runs it to its end.
    pub(crate) fn output(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }
    /// Runs it to its good end; how long it took.
    pub(crate) fn finish(&self, words: &str) -> Duration {
        let start = Instant::now();
        let done = self.output(words);
        assert!(
            done.status.success(),
            "{words}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        start.elapsed()
    }
    /// Names of the files whose names begin with `stem`, hidden ones of runs to it too.
    pub(crate) fn names(&self, stem: &str) -> Vec<String> {
        let all = fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = all
            .filter(|n| n.starts_with(stem) || n.starts_with(&format!(".{stem}")))
            .collect();
        names.sort();
        names
    }
    /// Removes them.
    pub(crate) fn clear(&self, stem: &str) {
        self.names(stem)
            .iter()
            .for_each(|name| match self.path(name).is_dir() {
                true => fs::remove_dir_all(self.path(name)).unwrap(),
                false => fs::remove_file(self.path(name)).unwrap(),
            });
    }
    /// The results under `stem` (of several folds several), by what follows the stem.
    pub(crate) fn results(&self, stem: &str) -> Vec<(String, PathBuf)> {
        let names = self
            .names(stem)
            .into_iter()
            .filter(|n| n.starts_with(stem) && !n.contains(".zipfold-"));
        names
            .map(|n| (n[stem.len()..].to_string(), self.path(&n)))
            .collect()
    }
    /// Starts `words -o OUT` afresh and ends it when its first checkpoint is there; false when it
    /// was done before.
    pub(crate) fn end_midway(&self, words: &str, out: &str, signal: &str) -> bool {
        for _ in 0..20 {
            self.clear("out.");
            let mut child = self
                .command(&format!("{words} -o {out} --checkpoint-every 0"))
                .spawn()
                .unwrap();
            let kept = self.path(&format!("{out}.zipfold-resume"));
            while !kept.exists() && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            send(&child, signal);
            child.wait().unwrap();
            if kept.exists() && self.results("out.").is_empty() {
                return true;
            }
        }
        false
    }
}

/// Sends `-KILL` or another signal.
pub(crate) fn send(child: &Child, signal: &str) {
    // A process that has ended by itself needs none.
    let _ = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Whether two files hold the same bytes; neither is held whole.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    let open = |p: &Path| BufReader::with_capacity(1 << 20, fs::File::open(p).unwrap());
    let (mut a, mut b) = (open(a), open(b));
    loop {
        let (left, right) = (a.fill_buf().unwrap(), b.fill_buf().unwrap());
        let n = left.len().min(right.len());
        if n == 0 || left[..n] != right[..n] {
            return left.is_empty() && right.is_empty();
        }
        a.consume(n);
        b.consume(n);
    }
}

/// Whether the results under both stems are the same.
pub(crate) fn all_same(folder: &Folder, a: &str, b: &str) -> bool {
    let (a, b) = (folder.results(a), folder.results(b));
    !a.is_empty()
        && a.len() == b.len()
        && a.iter()
            .zip(&b)
            .all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1))
}

/// A torus of binary variables with random tables, in the UAI format.
pub(crate) fn torus(side: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let pairs = (0..side * side).flat_map(|at| {
        let (r, c) = (at / side, at % side);
        [
            (at, r * side + (c + 1) % side),
            (at, (r + 1) % side * side + c),
        ]
    });
    let (mut scopes, mut tables) = (String::new(), String::new());
    for (a, b) in pairs {
        scopes += &format!("2 {a} {b}\n");
        tables += "4";
        (0..4).for_each(|_| tables += &format!(" {}", random.next() + 0.1));
        tables += "\n";
    }
    let cards = vec!["2"; side * side].join(" ");
    format!(
        "MARKOV\n{}\n{cards}\n{}\n{scopes}{tables}",
        side * side,
        2 * side * side
    )
}

/// A question and the suffix of its answer.
pub(crate) struct Form {
    /// What is asked, `-o` left out.
    pub words: String,
    /// The suffix of the answer.
    pub suffix: &'static str,
}

/// Problems of several folds, for `run`.
pub(crate) const PROBLEMS: [(&str, &str); 2] = [
    (
        "dense.toml",
        "schema = 1\nx = { name = 'a.csv' }\ndomain = 'triangle'\nfolds = [{ kind = 'matrix' }, { kind = 'condensed' }, { kind = 'reduce', op = 'sum' }]\n",
    ),
    (
        "counts.toml",
        "schema = 1\nx = { name = 'w.csv' }\nfolds = [{ kind = 'histogram', axes = [{ bins = 9, range = [0.0, 2.0] }], weights = 'w', mean = true }, { kind = 'nearest', k = 2 }, { kind = 'join', where = 'euclidean(x, y) < 0.1' }]\n",
    ),
];

/// Every verb with every form of its answer, over the tables of [`inputs`].
pub(crate) fn forms() -> Vec<Form> {
    let heavy = "--pair 'sum(exp(sin(abs(x - y))))'";
    let mut all = vec![];
    let mut add = |words: String, suffixes: &[&'static str]| {
        suffixes.iter().for_each(|suffix| {
            all.push(Form {
                words: words.clone(),
                suffix,
            })
        });
    };
    add(
        format!("dist a.csv {heavy} {SLOWLY}"),
        &["npy", "csv", "tsv"],
    );
    add(
        format!("dist a.csv b.csv {heavy} {SLOWLY}"),
        &["npy", "csv"],
    );
    add(
        format!("dist a.csv --condensed {heavy} {SLOWLY}"),
        &["npy", "csv"],
    );
    add(
        format!("dist a.csv --precision f32 {SLOWLY}"),
        &["npy", "tsv"],
    );
    add(
        format!("dist a.csv --ordered {heavy} {SLOWLY} --plot plot.svg --force"),
        &["npy"],
    );
    add(format!("dist a.csv --cutoff 0.5 {SLOWLY}"), &["npy", "csv"]);
    add(
        format!("knn big.csv -k 4 {SLOWLY}"),
        &["npz", "csv", "tsv", "parquet"],
    );
    add(
        format!("knn big.csv a.csv -k 9 --largest --set prune=on {SLOWLY}"),
        &["npz"],
    );
    add(
        format!("hist big.csv --bins 50 --range 0 1.8 --mean {SLOWLY}"),
        &["csv", "tsv", "npz", "parquet"],
    );
    add(
        format!("hist w.csv --bins 50 {SLOWLY} --weights w"),
        &["csv"],
    );
    add(
        format!("reduce big.csv --op sum {SLOWLY}"),
        &["npy", "csv", "tsv"],
    );
    add(
        format!("reduce a.csv b.csv --op softmax --weights v.csv {heavy} {SLOWLY}"),
        &["npy"],
    );
    add(
        format!("reduce a.csv --op logsumexp --axis column {heavy} {SLOWLY}"),
        &["csv"],
    );
    add(
        format!("reduce big.csv --op argmin --no-diagonal {SLOWLY}"),
        &["npy"],
    );
    let near = "'sum((x-y)^2)<0.002'";
    add(
        format!("join big.csv --self --where {near} --value 'sum(abs(x-y))' {SLOWLY}"),
        &["csv", "npz", "csr.npz", "parquet"],
    );
    // Matches beyond memory, in runs next to the checkpoint.
    let many = "--where 'sum((x-y)^2)<0.4' --memory 20MiB";
    add(
        format!("join big.csv --self {many} {SLOWLY}"),
        &["csv", "csr.npz"],
    );
    add(
        format!("join big.csv b.csv --kind semi --where {near} {SLOWLY}"),
        &["csv"],
    );
    add(
        format!("join big.csv b.csv --kind anti --where {near} --set prune=on {SLOWLY}"),
        &["tsv"],
    );
    add(format!("run dense.toml {SLOWLY}"), &["npy", "csv"]);
    add(format!("run counts.toml {SLOWLY}"), &["npz", "csv"]);
    add(
        format!("hist w.csv --weights w --bins 50 --range 0 1.8 --mean --shard 2/3 {SLOWLY}"),
        &["part"],
    );
    add(
        format!("reduce big.csv --op sum --shard 1/2 {SLOWLY}"),
        &["part"],
    );
    add(format!("knn big.csv -k 4 --shard 1/2 {SLOWLY}"), &["part"]);
    for (task, suffix) in [
        ("mar", "MAR"),
        ("map", "MAP"),
        ("pr", "PR"),
        ("mar", "csv"),
        ("mar", "json"),
        ("samples", "txt"),
    ] {
        add(
            format!("infer torus.uai --task {task} --memory 17MiB"),
            &[suffix],
        );
    }
    all
}

/// The tables that [`forms`] ask about.
pub(crate) fn inputs(folder: &Folder) {
    folder.table("a.csv", "x,y,z", 640, 0x9e37_79b9_7f4a_7c15);
    folder.table("b.csv", "x,y,z", 520, 0x2545_f491_4f6c_dd1d);
    folder.table("big.csv", "x,y,z", 1800, 0x1234_5678_9abc_def1);
    folder.table("w.csv", "x,y,z,w", 1500, 0xdead_beef_cafe_f00d);
    folder.table("v.csv", "v", 520, 0xfeed_face_0123_4567);
    PROBLEMS
        .iter()
        .for_each(|(name, text)| fs::write(folder.path(name), text).unwrap());
    fs::write(folder.path("torus.uai"), torus(11, 0x2545_f491_4f6c_dd1d)).unwrap();
}

//! A run that is killed at random moments, again and again, and resumed each time, gives the bits of an undisturbed one.
//!
//! `ZIPFOLD_LONG=1` also does it with the matrix of 30 000 points under `--memory 256MiB`.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const KILLS: usize = 50;

/// Marsaglia's xorshift: moments need no better numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn folder(name: &str, rows: usize) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("zipfold-kills-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let lines: String = (0..rows).map(|_| format!("{},{},{}\n", random.next(), random.next(), random.next())).collect();
    fs::write(folder.join("a.csv"), format!("x,y,z\n{lines}")).unwrap();
    folder
}

fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
    command.args(words.split_whitespace()).current_dir(folder);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn finish(folder: &Path, words: &str) {
    let done = command(folder, words).output().unwrap();
    assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Whether two files hold the same bytes; neither is held whole.
fn same(a: &Path, b: &Path) -> bool {
    let open = |p: &Path| BufReader::with_capacity(1 << 22, fs::File::open(p).unwrap());
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

/// Kills `words -o NAME` fifty times, resuming each time from checkpoints `every` so many seconds, and compares every
/// result that comes whole.
fn disturb(folder: &Path, words: &str, suffix: &str, every: f64) {
    let start = Instant::now();
    finish(folder, &format!("{words} -o right.{suffix}"));
    let usual = start.elapsed();
    let right = folder.join(format!("right.{suffix}"));
    let out = folder.join(format!("out.{suffix}"));
    let again = format!("{words} --checkpoint-every {every} --resume -o out.{suffix}");
    let mut random = Random(start.elapsed().as_nanos() as u64 | 1);
    let (mut kills, mut whole) = (0, 0);
    while kills < KILLS {
        let mut child = command(folder, &again).spawn().unwrap();
        std::thread::sleep(usual.mul_f64(random.next() * 0.8));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        let done = child.wait_with_output().unwrap();
        // Killed between the result's appearance and its own end, the run has nothing left to do.
        if out.exists() {
            assert!(same(&out, &right), "after {kills} kills: other bits");
            fs::remove_file(&out).unwrap();
            let _ = fs::remove_file(folder.join(format!("out.{suffix}.zipfold-resume")));
            whole += 1;
        } else {
            assert!(!done.status.success(), "success without a result");
            let killed = std::os::unix::process::ExitStatusExt::signal(&done.status) == Some(9);
            assert!(killed, "{}", String::from_utf8_lossy(&done.stderr));
        }
    }
    finish(folder, &again);
    assert!(same(&out, &right), "other bits at the end");
    println!("{words}: {KILLS} kills, {whole} whole results between them, {usual:?} undisturbed");
    fs::remove_dir_all(folder).unwrap();
}

/// Slow instructions and small tiles, so that there are many moments.
const SLOWLY: &str = "--threads 2 --set isa=scalar --set family=vm --set tile.rows=128 --set tile.cols=512";

#[test]
fn a_histogram_survives_fifty_kills() {
    let folder = folder("histogram", 5000);
    disturb(&folder, &format!("hist a.csv --bins 200 --range 0 1.8 --mean {SLOWLY}"), "csv", 0.0);
}

#[test]
fn pruned_neighbours_survive_fifty_kills() {
    let folder = folder("neighbours", 20_000);
    disturb(&folder, "knn a.csv -k 30 --threads 2 --set isa=scalar --set prune=on --set tile.rows=128", "npz", 0.0);
}

#[test]
fn a_pruned_join_survives_fifty_kills() {
    let folder = folder("join", 20_000);
    let where_ = "abs(x[0]-y[0])+abs(x[1]-y[1])<0.02";
    disturb(
        &folder,
        &format!("join a.csv --self --where {where_} --threads 2 --set prune=on --set tile.rows=128"),
        "npz",
        0.0,
    );
}

#[test]
fn a_matrix_survives_fifty_kills() {
    let folder = folder("matrix", 3000);
    disturb(&folder, &format!("dist a.csv --memory 64MiB {SLOWLY}"), "npy", 0.0);
}

#[test]
fn a_matrix_beyond_memory_survives_fifty_kills() {
    if std::env::var_os("ZIPFOLD_LONG").is_none() {
        println!("SKIPPED a_matrix_beyond_memory_survives_fifty_kills: set ZIPFOLD_LONG=1 (7.2 GB of disk, minutes)");
        return;
    }
    let folder = folder("beyond", 30_000);
    disturb(&folder, "dist a.csv --memory 256MiB", "npy", 1.0);
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let folder = folder("signals", 6000);
    let words = format!("hist a.csv --bins 200 --range 0 1.8 {SLOWLY}");
    finish(&folder, &format!("{words} -o right.csv"));
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        let _ = fs::remove_file(folder.join("out.csv"));
        let child = command(&folder, &format!("{words} -o out.csv")).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let done = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&done.stderr);
        assert!(sent.success() && done.status.code() == Some(status), "{signal}: {:?} {message}", done.status);
        assert!(!folder.join("out.csv").exists(), "{signal}: half of a result");
        let again = message.split("zipfold hist").nth(1).unwrap().trim();
        assert!(again.contains("--resume"), "{message}");
        finish(&folder, &format!("hist {again}"));
        assert!(fs::read(folder.join("out.csv")).unwrap() == fs::read(folder.join("right.csv")).unwrap());
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A torus of binary variables with random tables, in the UAI format.
fn torus(side: usize) -> String {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let pairs = (0..side * side).flat_map(|at| {
        let (r, c) = (at / side, at % side);
        [(at, r * side + (c + 1) % side), (at, (r + 1) % side * side + c)]
    });
    let (mut scopes, mut tables) = (String::new(), String::new());
    for (a, b) in pairs {
        scopes += &format!("2 {a} {b}\n");
        tables += "4";
        (0..4).for_each(|_| tables += &format!(" {}", random.next() + 0.1));
        tables += "\n";
    }
    let cards = vec!["2"; side * side].join(" ");
    format!("MARKOV\n{}\n{cards}\n{}\n{scopes}{tables}", side * side, 2 * side * side)
}

#[test]
fn killed_slices_of_a_network_go_on_to_the_same_bits() {
    let folder = folder("slices", 1);
    fs::write(folder.join("torus.uai"), torus(11)).unwrap();
    disturb(&folder, "infer torus.uai --task mar --memory 17MiB", "MAR", 0.0);
}

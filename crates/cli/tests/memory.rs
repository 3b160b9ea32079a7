//! `--memory` is a promise: the resident memory of the process stays below it and what the program
//! itself takes.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const MIB: u64 = 1 << 20;
/// Code, stacks and tables of threads of a process that does nothing much.
const ITSELF: u64 = 24 * MIB;

/// Points in the unit cube as an `.npy` file of single precision in a folder of its own.
fn points(name: &str, rows: usize, cols: usize) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("zipfold-memory-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let mut state = 1u32;
    for _ in 0..rows * cols {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        bytes.extend((state as f32 / 4294967296.0).to_le_bytes());
    }
    fs::write(folder.join("a.npy"), bytes).unwrap();
    folder
}

/// The largest resident memory of a process, as far as it was seen, until it ends; its status and
/// message.
fn peak(folder: &PathBuf, words: &[&str]) -> (u64, bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
    command
        .args(words)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix("VmHWM:"))
            .unwrap_or("0");
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0);
        most = most.max(kib * 1024);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let done = child.wait_with_output().unwrap();
    (
        most,
        done.status.success(),
        String::from_utf8_lossy(&done.stderr).into_owned(),
    )
}

/// The run ends well within `limit` MiB and what the program takes itself.
fn within(folder: &PathBuf, limit: u64, words: &[&str]) {
    let memory = format!("{limit}MiB");
    let all = [words, &["--memory", &memory, "--threads", "2", "--force"]].concat();
    let (most, fine, message) = peak(folder, &all);
    assert!(fine, "{words:?}: {message}");
    println!(
        "{words:?}: {} MiB of {limit} and {}",
        most / MIB,
        ITSELF / MIB
    );
    assert!(
        most <= limit * MIB + ITSELF,
        "{words:?}: {} MiB resident under {limit} MiB",
        most / MIB
    );
}

#[test]
fn runs_stay_within_their_memory() {
    let folder = points("verbs", 40_000, 3);
    within(
        &folder,
        16,
        &[
            "hist", "a.npy", "--bins", "50", "--range", "0", "0.02", "--set", "batch=1", "-o",
            "h.csv",
        ],
    );
    within(
        &folder,
        32,
        &[
            "knn", "a.npy", "-k", "10", "--set", "prune=on", "-o", "k.npz",
        ],
    );
    let close = "sum((x - y)^2) < 1e-3";
    within(
        &folder,
        48,
        &[
            "join", "a.npy", "--self", "--where", close, "--set", "prune=on", "-o", "p.npz",
        ],
    );
    fs::remove_dir_all(&folder).unwrap();
    // Long enough to ask for a device, whose driver takes more than all that is allowed.
    let folder = points("longer", 60_000, 3);
    within(
        &folder,
        16,
        &[
            "hist",
            "a.npy",
            "--bins",
            "50",
            "--range",
            "0",
            "0.02",
            "--set",
            "prune=off",
            "-o",
            "h.csv",
        ],
    );
    fs::remove_dir_all(&folder).unwrap();
    let folder = points("smaller", 4_000, 3);
    // More counters than there is room for batches that count ahead.
    within(
        &folder,
        128,
        &[
            "hist", "a.npy", "--bins", "1000000", "--range", "0", "2", "-o", "h.npz",
        ],
    );
    within(&folder, 48, &["dist", "a.npy", "-o", "d.npy"]);
    within(
        &folder,
        48,
        &["dist", "a.npy", "--condensed", "-o", "d.npy"],
    );
    within(&folder, 16, &["knn", "a.npy", "-k", "20", "-o", "k.npz"]);
    within(
        &folder,
        16,
        &["reduce", "a.npy", "--op", "sum", "-o", "r.npy"],
    );
    within(
        &folder,
        64,
        &[
            "join",
            "a.npy",
            "--self",
            "--where",
            "sum(abs(x - y)) < 0.2",
            "-o",
            "p.parquet",
        ],
    );
    // Twelve million matches, in runs.
    let all = "x[0] <= y[0] or x[0] > y[0]";
    within(
        &folder,
        24,
        &[
            "join",
            "a.npy",
            "--self",
            "--where",
            all,
            "--ordered",
            "-o",
            "p.csv",
        ],
    );
    let near = "sum((x - y)^2) < 0.5";
    for prune in ["prune=on", "prune=off"] {
        let words = [
            "join", "a.npy", "--self", "--where", near, "--set", prune, "-o", "p.npz",
        ];
        within(&folder, 24, &words);
    }
    assert!(!folder.join("p.npz.zipfold-resume.runs").exists());
    fs::remove_dir_all(&folder).unwrap();
}

/// Lists of the rows near a row take what a thread finds, not what it might find if all rows lay in
/// one place: else many threads leave no room for the grid, and all pairs are evaluated.
#[test]
fn many_threads_keep_the_grid_in_a_small_memory() {
    let folder = points("grid", 300_000, 3);
    let near = "reduce a.npy --op sum --pair exp(-sqrt(sum((x-y)^2))) --cutoff 0.01 --memory 192MiB --threads";
    for threads in ["1", "2", "16"] {
        let words: Vec<&str> = near.split(' ').chain([threads]).collect();
        let told = Command::new(env!("CARGO_BIN_EXE_zipfold"))
            .arg("explain")
            .args(&words)
            .current_dir(&folder)
            .output();
        let told = String::from_utf8_lossy(&told.unwrap().stdout).into_owned();
        assert!(
            told.contains("by a grid of cells"),
            "{threads} threads:\n{told}"
        );
        let (most, fine, message) =
            peak(&folder, &[&words[..], &["-o", "r.npy", "--force"]].concat());
        assert!(
            fine && !message.contains("want of memory"),
            "{threads} threads: {message}"
        );
        assert!(
            most <= 192 * MIB + ITSELF,
            "{threads} threads: {} MiB resident",
            most / MIB
        );
    }
    // Where not all threads have room, some work by the grid.
    let words: Vec<&str> = near.split(' ').chain(["256"]).collect();
    let told = Command::new(env!("CARGO_BIN_EXE_zipfold"))
        .arg("explain")
        .args(&words)
        .current_dir(&folder)
        .output();
    let told = told.unwrap();
    let (facts, warned) = (
        String::from_utf8_lossy(&told.stdout),
        String::from_utf8_lossy(&told.stderr),
    );
    assert!(
        facts.contains("by a grid of cells") && warned.contains("threads at work"),
        "{facts}\n{warned}"
    );
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_does_not_fit_is_refused_before_work() {
    let folder = points("refused", 20_000, 3);
    for words in [
        &["dist", "a.npy", "-o", "d.csv", "--memory", "64MiB"][..],
        &[
            "knn", "a.npy", "-k", "10000", "-o", "k.npz", "--memory", "64MiB",
        ],
        &[
            "join",
            "a.npy",
            "--self",
            "--where",
            "x[0] <= y[0] or x[0] > y[0]",
            "--ordered",
            "--memory",
            "64MiB",
        ],
        &[
            "join",
            "a.npy",
            "--self",
            "--where",
            "sum((x - y)^2) < 0.5",
            "--set",
            "prune=on",
            "--memory",
            "64MiB",
        ],
    ] {
        let (most, fine, message) = peak(&folder, words);
        assert!(!fine && message.contains("64"), "{words:?}: {message}");
        let streams = message.contains("-o matches.parquet, which takes matches");
        assert!(streams == (words[0] == "join"), "{words:?}: {message}");
        assert!(most <= 64 * MIB + ITSELF, "{words:?}: {} MiB", most / MIB);
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Bounds that memory does not hold are given up in words, before a run that takes long without
/// them, and the plan says so.
#[test]
fn what_is_slower_for_want_of_memory_is_said() {
    let folder = points("slower", 100_000, 3);
    let ask = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
        let done = command
            .args(words)
            .args(["--device", "cpu", "--threads", "2"])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let plan = |memory: &str| ask(&["explain", "knn", "a.npy", "-k", "1", "--memory", memory]);
    let slow = plan("8MiB");
    assert!(
        slow.contains("pruning    off: all pairs are evaluated, for want of memory"),
        "{slow}"
    );
    let enough = slow
        .split("--memory ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap();
    let fast = plan(enough);
    assert!(fast.contains("pruning    on"), "{enough}: {fast}");
    ask(&[
        "knn", "a.npy", "-k", "1", "-q", "-o", "k.npz", "--memory", enough,
    ]);
    fs::remove_dir_all(&folder).unwrap();
}

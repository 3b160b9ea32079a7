//! A run that is killed at random moments, again and again, and resumed each time, gives the bits
//! of an undisturbed one: every verb, every form of its answer.
//!
//! `ZIPFOLD_LONG=1` kills each fifty times, and the matrix of 30 000 points under `--memory 256MiB`
//! too.
#![cfg(unix)]

mod command;
mod runs;

use runs::{Folder, Form, Random, SLOWLY, all_same, forms, inputs};
use std::fs;
use std::process::Command;

fn long() -> bool {
    std::env::var_os("ZIPFOLD_LONG").is_some()
}

/// Kills a run `kills` times, resuming each time from checkpoints `every` so many seconds, and
/// compares every result that comes whole; how often there was a checkpoint to go on from.
fn disturb(folder: &Folder, Form { words, suffix }: &Form, every: f64, kills: usize) -> usize {
    folder.clear("right.");
    folder.clear("out.");
    let usual = folder.finish(&format!("{words} -o right.{suffix}"));
    let again = format!("{words} --checkpoint-every {every} --resume -o out.{suffix}");
    let mut random = Random(usual.as_nanos() as u64 | 1);
    let (mut killed, mut whole, mut kept) = (0, 0, 0);
    // What is done before it is killed counts too, or a fast machine would never end.
    while killed + whole < kills {
        let mut child = folder.command(&again).spawn().unwrap();
        std::thread::sleep(usual.mul_f64(random.next() * 0.9));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            killed += 1;
        }
        let done = child.wait_with_output().unwrap();
        // Killed between the result's appearance and its own end, the run has nothing left to do;
        // of several results, some.
        let results = folder.results("out.");
        if !results.is_empty() {
            let right = folder.results("right.");
            let fits = |r: &(String, std::path::PathBuf)| {
                right.iter().any(|w| w.0 == r.0 && runs::same(&w.1, &r.1))
            };
            assert!(
                results.iter().all(fits),
                "{words} -o .{suffix}: other bits after {killed} kills"
            );
            results.iter().for_each(|r| fs::remove_file(&r.1).unwrap());
            whole += usize::from(results.len() == right.len());
        } else {
            assert!(!done.status.success(), "{words}: success without a result");
            let ended = std::os::unix::process::ExitStatusExt::signal(&done.status) == Some(9);
            assert!(
                ended,
                "{words} -o .{suffix}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
        kept += usize::from(
            folder
                .path(&format!("out.{suffix}.zipfold-resume"))
                .exists(),
        );
    }
    folder.finish(&again);
    assert!(
        all_same(folder, "out.", "right."),
        "{words} -o .{suffix}: other bits at the end"
    );
    let left: Vec<String> = folder
        .names("out.")
        .into_iter()
        .filter(|n| n.contains("zipfold-"))
        .collect();
    assert!(left.is_empty(), "{words} -o .{suffix} leaves {left:?}");
    println!(
        "{words} -o .{suffix}: {killed} kills, {whole} whole, {kept} with a checkpoint, {usual:?} undisturbed"
    );
    kept
}

/// The forms of one verb.
fn of_verb(verb: &str) {
    let folder = Folder::new(&format!("kills-{verb}"));
    inputs(&folder);
    let mine: Vec<Form> = forms()
        .into_iter()
        .filter(|f| f.words.starts_with(verb))
        .collect();
    assert!(mine.len() > 3, "{verb}");
    let kills = if long() { 50 } else { 5 };
    let kept: usize = mine
        .iter()
        .map(|form| disturb(&folder, form, 0.0, kills))
        .sum();
    assert!(
        kept >= mine.len(),
        "{verb}: {kept} checkpoints in {} forms: the runs are too short to test anything",
        mine.len()
    );
}

#[test]
fn matrices_survive_kills_in_every_form() {
    of_verb("dist");
}

#[test]
fn neighbours_survive_kills_in_every_form() {
    of_verb("knn");
}

#[test]
fn histograms_survive_kills_in_every_form() {
    of_verb("hist");
}

#[test]
fn sums_by_row_survive_kills_in_every_form() {
    of_verb("reduce");
}

#[test]
fn joins_survive_kills_in_every_form() {
    of_verb("join");
}

#[test]
fn problems_of_several_folds_survive_kills() {
    of_verb("run");
}

#[test]
fn slices_of_a_network_survive_kills_in_every_form() {
    of_verb("infer");
}

#[test]
#[ignore = "needs long"]
fn a_matrix_beyond_memory_survives_fifty_kills() {
    let folder = Folder::new("kills-beyond");
    folder.table("a.csv", "x,y,z", 30_000, 0x9e37_79b9_7f4a_7c15);
    disturb(
        &folder,
        &Form {
            words: "dist a.csv --memory 256MiB".into(),
            suffix: "npy",
        },
        1.0,
        50,
    );
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let folder = Folder::new("signals");
    inputs(&folder);
    for (words, suffix) in [
        (
            format!("hist big.csv --bins 200 --range 0 1.8 {SLOWLY}"),
            "csv",
        ),
        (
            format!("dist a.csv --pair 'sum(exp(sin(abs(x - y))))' {SLOWLY}"),
            "csv",
        ),
        (
            format!("reduce big.csv --op sum --shard 1/2 {SLOWLY}"),
            "part",
        ),
    ] {
        folder.clear("right.");
        let usual = folder.finish(&format!("{words} -o right.{suffix}"));
        for (signal, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            // On a busy machine it may be done before the signal comes.
            let ended = (0..30).find_map(|attempt| {
                folder.clear("out.");
                let child = folder
                    .command(&format!("{words} -o out.{suffix}"))
                    .spawn()
                    .unwrap();
                std::thread::sleep(usual.mul_f64(0.5 * 0.9f64.powi(attempt)));
                runs::send(&child, signal);
                let done = child.wait_with_output().unwrap();
                // One that came before anybody listened ends it at once.
                (done.status.code().is_some_and(|code| code > 0)).then_some(done)
            });
            let done = ended.unwrap();
            let message = String::from_utf8_lossy(&done.stderr);
            assert_eq!(
                done.status.code(),
                Some(status),
                "{signal}: {:?} {message}",
                done.status
            );
            assert!(
                folder.results("out.").is_empty(),
                "{signal}: half of a result"
            );
            let again = message.split("  try: ").nth(1).unwrap_or_default().trim();
            assert!(again.ends_with("--resume"), "{message}");
            let done = Command::new("sh")
                .args(["-c", again])
                .current_dir(&folder.0)
                .output()
                .unwrap();
            assert!(
                done.status.success(),
                "{again}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
            assert!(all_same(&folder, "out.", "right."), "{words}: other bits");
        }
    }
}

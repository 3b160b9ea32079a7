//! Outputs, temporaries and what killed runs leave: nothing of others is touched, nothing of ours
//! stays.
#![cfg(unix)]

mod command;
mod runs;

use runs::{Folder, SLOWLY, inputs};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Output, Stdio};

/// Runs `script` in a shell, where `$Z` is the command.
fn shell(folder: &Folder, script: &str) -> Output {
    let mut command = Command::new("bash");
    command
        .args(["-c", script])
        .current_dir(&folder.0)
        .env("Z", env!("CARGO_BIN_EXE_zipfold"));
    command.stdin(Stdio::null()).output().unwrap()
}

fn says(done: &Output, status: i32, word: &str) {
    let message = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.code() == Some(status) && message.contains(word),
        "{:?} {message}",
        done.status
    );
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn links_in_the_place_of_unfinished_files_are_not_followed() {
    let folder = Folder::new("files-links");
    inputs(&folder);
    fs::write(folder.path("precious"), "precious").unwrap();
    for (link, words) in [
        ("d.npy.zipfold-partial", "dist a.csv -o d.npy"),
        (".d.csv.0.zipfold-partial", "dist a.csv -o d.csv"),
        (".k.npz.0.zipfold-partial", "knn a.csv -k 2 -o k.npz"),
        ("k.npz.zipfold-resume", "knn a.csv -k 2 -o k.npz --resume"),
        (
            ".t.MAR.0.zipfold-partial",
            "infer torus.uai --task pr -o t.MAR",
        ),
    ] {
        symlink("precious", folder.path(link)).unwrap();
        let done = folder.output(words);
        assert!(
            matches!(done.status.code(), Some(0 | 2)),
            "{words}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        assert_eq!(
            fs::read_to_string(folder.path("precious")).unwrap(),
            "precious",
            "{words}"
        );
        assert!(folder.path(link).is_symlink(), "{words}");
        fs::remove_file(folder.path(link)).unwrap();
    }
    // A second name of a file that is ours.
    fs::hard_link(
        folder.path("precious"),
        folder.path("e.npy.zipfold-partial"),
    )
    .unwrap();
    folder.finish("dist a.csv -o e.npy");
    assert_eq!(
        fs::read_to_string(folder.path("precious")).unwrap(),
        "precious"
    );
}

#[test]
fn a_replaced_file_keeps_its_rights_and_a_pipe_or_device_stays() {
    let folder = Folder::new("files-rights");
    inputs(&folder);
    for words in [
        "hist a.csv --bins 2 --range 0 1 -o r.csv",
        "dist a.csv -o r.npy",
        "infer torus.uai --task pr -o r.PR",
    ] {
        let path = folder.path(words.rsplit(' ').next().unwrap());
        fs::write(&path, "old").unwrap();
        for mode in [0o600, 0o640, 0o664] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            folder.finish(&format!("{words} --force"));
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                mode,
                "{words}"
            );
        }
    }
    symlink("/dev/null", folder.path("null.npy")).unwrap();
    folder.finish("dist a.csv -o null.npy --force");
    assert!(
        folder.path("null.npy").is_symlink()
            && fs::metadata("/dev/null")
                .unwrap()
                .file_type()
                .is_char_device()
    );
    says(
        &shell(&folder, "mkfifo n.npy && $Z dist a.csv -o n.npy --force"),
        2,
        "nobody reads",
    );
    let done = shell(
        &folder,
        "mkfifo q.npy && (cat q.npy > got.npy & sleep 0.3; $Z dist a.csv -o q.npy --force; wait) && $Z dist a.csv -o plain.npy && cmp got.npy plain.npy",
    );
    says(&done, 0, "");
    assert!(
        fs::metadata(folder.path("q.npy"))
            .unwrap()
            .file_type()
            .is_fifo()
    );
    symlink("nothing", folder.path("dangling.csv")).unwrap();
    says(
        &folder.output("hist a.csv --bins 2 --range 0 1 -o dangling.csv"),
        2,
        "exists",
    );
}

#[test]
fn the_next_run_removes_what_killed_runs_left() {
    let folder = Folder::new("files-orphans");
    inputs(&folder);
    let left = |stem: &str| {
        folder
            .names(stem)
            .into_iter()
            .filter(|n| n.contains("zipfold-"))
            .collect::<Vec<_>>()
    };
    let heavy = "--pair 'sum(exp(sin(abs(x - y))))'";
    for (words, out) in [
        (format!("dist a.csv {heavy} {SLOWLY}"), "out.csv"),
        (format!("dist a.csv {heavy} {SLOWLY}"), "out.npy"),
        (format!("knn big.csv -k 4 {SLOWLY}"), "out.npz"),
    ] {
        assert!(folder.end_midway(&words, out, "-KILL"));
        assert!(!left("out.").is_empty());
        // Temporaries of runs that were killed while they wrote.
        fs::write(folder.path(&format!(".{out}.0.zipfold-partial")), "half").unwrap();
        fs::write(folder.path(&format!(".{out}.3.zipfold-partial")), "half").unwrap();
        folder.finish(&format!("{words} -o {out}"));
        assert_eq!(left("out."), [""; 0], "{words} -o {out}");
        folder.clear("out.");
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_ends_nothing() {
    let folder = Folder::new("files-checkpoint");
    inputs(&folder);
    let words = format!("knn big.csv -k 4 {SLOWLY} --checkpoint-every 0");
    folder.finish(&format!("{words} -o right.npz"));
    // A folder stands where the checkpoint would.
    fs::create_dir(folder.path("out.npz.zipfold-resume")).unwrap();
    let done = folder.output(&format!("{words} -o out.npz"));
    says(&done, 0, "no checkpoint");
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(message.matches("no checkpoint").count(), 1, "{message}");
    assert!(runs::all_same(&folder, "out.npz", "right.npz"));
    fs::remove_dir(folder.path("out.npz.zipfold-resume")).unwrap();
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_told_at_once() {
    let folder = Folder::new("files-told");
    inputs(&folder);
    folder.table("huge.csv", "x,y,z", 12_000, 0x0123_4567_89ab_cdef);
    fs::write(folder.path("torus.uai"), runs::torus(13, 1)).unwrap();
    for (words, out) in [
        (
            format!("reduce huge.csv --op sum --pair 'sum(exp(sin(abs(x - y))))' {SLOWLY}"),
            "out.csv",
        ),
        (
            "infer torus.uai --task mar --memory 17MiB --time-limit 1e6".to_string(),
            "out.MAR",
        ),
    ] {
        fs::create_dir(folder.path(&format!("{out}.zipfold-resume"))).unwrap();
        let mut child = folder
            .command(&format!("{words} -o {out} --checkpoint-every 0"))
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let told = lines.any(|line| line.unwrap().contains("no checkpoint"));
        assert!(
            told && child.try_wait().unwrap().is_none(),
            "{words}: told {told}, at the end"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir(folder.path(&format!("{out}.zipfold-resume"))).unwrap();
    }
}

#[test]
fn limits_and_full_pipes_are_told_not_died_of() {
    let folder = Folder::new("files-limits");
    inputs(&folder);
    for words in [
        "dist a.csv -o f.npy",
        "dist a.csv -o f.csv",
        "dist a.csv -o f.npy --set tile.rows=128 --checkpoint-every 0",
    ] {
        says(
            &shell(&folder, &format!("ulimit -f 100; $Z {words} -q")),
            1,
            "files of this size",
        );
        assert_eq!(
            folder
                .names("f.")
                .into_iter()
                .filter(|n| !n.contains("resume"))
                .count(),
            0,
            "{words}"
        );
        folder.clear("f.");
    }
    if fs::metadata("/dev/full").is_ok() {
        let done = shell(
            &folder,
            "$Z hist a.csv --bins 2 --range 0 1 -o full.csv 2>/dev/full",
        );
        assert_eq!(done.status.code(), Some(0));
        assert_eq!(
            shell(&folder, "$Z hist none.csv 2>/dev/full").status.code(),
            Some(2)
        );
        assert_eq!(
            shell(&folder, "$Z infer none.uai 2>/dev/full")
                .status
                .code(),
            Some(2)
        );
        for words in [
            "--help",
            "--version",
            "help hist",
            "metrics",
            "dist --metric help",
        ] {
            says(
                &shell(&folder, &format!("$Z {words} >/dev/full")),
                1,
                "standard output",
            );
        }
    }
}

#[test]
fn files_that_are_no_partial_results_are_refused() {
    let folder = Folder::new("files-partials");
    inputs(&folder);
    let sparse = fs::File::create(folder.path("big.part")).unwrap();
    sparse
        .set_len(15 << 40)
        .unwrap_or_else(|_| sparse.set_len(1 << 40).unwrap());
    says(&folder.output("merge big.part"), 2, "not a partial result");
    // One that says the right things about itself, but is larger than memory.
    let size = sparse.metadata().unwrap().len();
    let head = [
        zipfold::internals::partial::MAGIC.as_slice(),
        &(size - 24).to_le_bytes(),
    ]
    .concat();
    std::os::unix::fs::FileExt::write_all_at(&sparse, &head, 0).unwrap();
    says(&folder.output("merge big.part"), 1, "memory");
    fs::rename(folder.path("big.part"), folder.path("h.csv.zipfold-resume")).unwrap();
    says(
        &folder.output("hist a.csv --bins 2 --range 0 1 -o h.csv --resume"),
        1,
        "memory",
    );
    let words = format!("knn big.csv -k 4 {SLOWLY}");
    assert!(folder.end_midway(&words, "out.npz", "-TERM"));
    says(
        &folder.output("merge out.npz.zipfold-resume"),
        2,
        "checkpoint of a run that has not ended",
    );
    says(&folder.output("merge a.csv"), 2, "not a partial result");
    fs::write(folder.path("empty.part"), "").unwrap();
    says(
        &folder.output("merge empty.part"),
        2,
        "not a partial result",
    );
}

#[test]
fn options_without_a_use_are_refused() {
    let folder = Folder::new("files-options");
    inputs(&folder);
    folder.finish("hist a.csv --bins 2 --range 0 1 --shard 1/1 -o 1.part");
    for option in ["--shard 1/2", "--resume", "--device cuda"] {
        says(
            &folder.output(&format!("merge 1.part -o m.csv {option}")),
            2,
            "a merge has no use for it",
        );
    }
    says(
        &folder.output("join a.csv --self --where 'x[0] < y[0]' --metric cityblock --ordered"),
        2,
        "--metric",
    );
    for name in ["x.csv", "x.npz", "x.parquet", "x.csv.gz"] {
        says(
            &folder.output(&format!(
                "hist a.csv --bins 2 --range 0 1 --shard 1/2 -o {name}"
            )),
            2,
            "a shard is a partial result",
        );
    }
}

#[test]
fn a_hash_in_a_problem_is_that_of_its_data() {
    let folder = Folder::new("files-hash");
    inputs(&folder);
    let problem = |hash: &str| {
        let text = format!(
            "schema = 1\nx = {{ name = 'w.csv', hash = '{hash}' }}\nfolds = [{{ kind = 'histogram', axes = [{{ bins = 2, range = [0.0, 2.0] }}], weights = 'w' }}]\n"
        );
        fs::write(folder.path("p.toml"), text).unwrap();
    };
    problem("00");
    says(
        &folder.output("run p.toml -q"),
        2,
        "the problem asks for 00",
    );
    let mut told = folder.command("hist w.csv --weights w --bins 2 --range 0 2 --json -o h.csv");
    let text = String::from_utf8(told.stdout(Stdio::piped()).output().unwrap().stdout).unwrap();
    let hash = text
        .split("\"hash\":\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_string();
    problem(&hash);
    folder.finish("run p.toml -q");
    let hashed = fs::read_to_string(folder.path("w.csv")).unwrap();
    folder.table("w.csv", "x,y,z,w", 1500, 99);
    assert_ne!(hashed, fs::read_to_string(folder.path("w.csv")).unwrap());
    says(&folder.output("run p.toml -q"), 2, "the data have the hash");
}

//! Every command of README.md runs as it stands there and writes what it names.

use std::fs;
use std::path::{Path, PathBuf};

const FIRST: &str = "cargo run --release -q -p zipfold-cli -- ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// Lines of the ```sh blocks, with the built command in place of the one that cargo builds.
fn commands(readme: &str) -> Vec<String> {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.flat_map(str::lines).map(|line| line.replace(FIRST, "zipfold ")).collect()
}

/// The words after `-o` and `--plot`.
fn outputs(command: &str) -> Vec<&str> {
    let words: Vec<&str> = command.split_whitespace().collect();
    words.windows(2).filter(|w| w[0] == "-o" || w[0] == "--plot").map(|w| w[1]).collect()
}

/// A folder with `data` and the problems of `docs`, as in a clone, and the built command in `bin`.
#[cfg(unix)]
fn clone_like() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("zipfold-readme-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    for part in ["data", "docs"] {
        fs::create_dir_all(folder.join(part)).unwrap();
        for entry in fs::read_dir(root().join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, folder.join(part).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    fs::create_dir(folder.join("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_zipfold"), folder.join("bin/zipfold")).unwrap();
    folder
}

#[test]
fn every_verb_is_shown() {
    let commands = commands(&readme());
    for verb in ["dist", "knn", "hist", "reduce", "join", "run", "merge", "explain", "devices"] {
        let called = format!("zipfold {verb}");
        assert!(commands.iter().any(|c| c.contains(&called)), "README.md shows no {verb}");
    }
}

#[cfg(unix)]
#[test]
fn every_command_runs() {
    let folder = clone_like();
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    for command in &commands(&readme()) {
        assert!(command.contains("zipfold "), "{command}");
        let mut shell = std::process::Command::new("sh");
        let run = shell.args(["-c", command]).current_dir(&folder).env("PATH", &path).output().unwrap();
        assert!(run.status.success(), "{command}\n{}", String::from_utf8_lossy(&run.stderr));
        for output in outputs(command) {
            let size = fs::metadata(folder.join(output)).map_or(0, |m| m.len());
            assert!(size > 0, "{command}\nwrote no {output}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_picture_is_there_and_small() {
    let readme = readme();
    let commands = commands(&readme);
    let plotted: Vec<&str> = commands.iter().flat_map(|c| outputs(c)).collect();
    let pictures: Vec<&str> =
        readme.split("](docs/pictures/").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(pictures.len() >= 8, "{pictures:?}");
    for picture in pictures {
        assert!(plotted.contains(&picture), "no command of README.md draws {picture}");
        let size = fs::metadata(root().join("docs/pictures").join(picture)).map_or(0, |m| m.len());
        assert!(size > 0 && size < 300_000, "{picture} has {size} bytes");
    }
}

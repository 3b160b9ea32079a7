//! `cases/refuse-command`: requests and files that the command must refuse, with the exit code and
//! the words listed, and without leaving anything behind.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A refusal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// The words after `zipfold`, split at blanks; 'quoted words' are one.
    args: String,
    /// Text files to make first.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// NPY files to make first.
    #[serde(default)]
    npy: BTreeMap<String, Npy>,
    /// Files beside the cases to copy first, cut to a length.
    #[serde(default)]
    copies: BTreeMap<String, usize>,
    /// Standard input.
    stdin: Option<String>,
    #[serde(default = "refused")]
    exit: i32,
    /// Words of the message.
    says: Vec<String>,
}

/// A file with an NPY header as given and some bytes behind it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Npy {
    header: String,
    #[serde(default)]
    bytes: usize,
    #[serde(default = "first_version")]
    version: u8,
    /// Length written in the header, where it is not the true one.
    length: Option<u16>,
}

#[derive(Deserialize)]
struct File {
    case: Vec<Case>,
}

fn refused() -> i32 {
    2
}
fn first_version() -> u8 {
    1
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/refuse-command")
}

fn words(line: &str) -> Vec<String> {
    let mut out = vec![];
    for (at, part) in line.split('\'').enumerate() {
        if at % 2 == 1 {
            out.push(part.to_string());
        } else {
            out.extend(part.split_whitespace().map(str::to_string));
        }
    }
    out
}

impl Npy {
    fn bytes(&self) -> Vec<u8> {
        let mut out = b"\x93NUMPY".to_vec();
        out.extend([self.version, 0]);
        out.extend(
            self.length
                .unwrap_or(self.header.len() as u16)
                .to_le_bytes(),
        );
        out.extend(self.header.as_bytes());
        out.resize(out.len() + self.bytes, 0);
        out
    }
}

fn prepare(folder: &Path, case: &Case) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    for (name, text) in &case.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    case.npy
        .iter()
        .for_each(|(name, npy)| fs::write(folder.join(name), npy.bytes()).unwrap());
    for (name, cut) in &case.copies {
        let mut bytes = fs::read(cases().join(name)).unwrap();
        bytes.truncate(*cut);
        fs::write(folder.join(name), bytes).unwrap();
    }
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_file());
    entries
        .map(|p| {
            (
                p.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read(&p).unwrap(),
            )
        })
        .collect()
}

fn run(folder: &Path, case: &Case) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
    command
        .args(words(&case.args))
        .current_dir(folder)
        .stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command may end without reading it.
    let _ = child
        .stdin
        .take()
        .unwrap()
        .write_all(case.stdin.as_deref().unwrap_or("").as_bytes());
    child.wait_with_output().unwrap()
}

/// What is wrong with the refusal of `case`.
fn faults(folder: &Path, case: &Case) -> Vec<String> {
    prepare(folder, case);
    let before = contents(folder);
    let done = run(folder, case);
    let message = String::from_utf8_lossy(&done.stderr);
    let mut faults = vec![];
    if done.status.code() != Some(case.exit) {
        faults.push(format!(
            "status {:?} instead of {}",
            done.status.code(),
            case.exit
        ));
    }
    for word in case.says.iter().filter(|w| !message.contains(w.as_str())) {
        faults.push(format!("'{word}' is not said"));
    }
    if message.contains("\\u{fdd") || message.contains('\u{fdd0}') {
        faults.push("an option is not put into words".into());
    }
    if message.contains("panic") || message.contains("internal") {
        faults.push("it broke down".into());
    }
    if contents(folder) != before {
        faults.push(format!("files changed: {:?}", contents(folder).keys()));
    }
    faults
        .iter()
        .map(|f| {
            format!(
                "{}: {f}\n    zipfold {}\n    {}",
                case.name,
                case.args,
                message.trim()
            )
        })
        .collect()
}

#[test]
fn every_case_is_refused() {
    let folder = std::env::temp_dir().join(format!("zipfold-refuse-{}", std::process::id()));
    let (mut seen, mut wrong) = (0, vec![]);
    let mut files: Vec<PathBuf> = fs::read_dir(cases())
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    files.sort();
    for path in files {
        let file: File = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        seen += file.case.len();
        wrong.extend(file.case.iter().flat_map(|case| faults(&folder, case)));
    }
    let _ = fs::remove_dir_all(&folder);
    assert!(
        wrong.is_empty(),
        "{} faults\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(seen >= 100, "only {seen} cases");
}

/// A folder of its own with a table of `rows` points.
fn with_points(name: &str, rows: usize) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("zipfold-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let lines: String = (0..rows)
        .map(|i| format!("{},{}\n", i % 37, (i * 7919) % 101))
        .collect();
    fs::write(folder.join("a.csv"), format!("x,y\n{lines}")).unwrap();
    folder
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_a_resource_error() {
    let folder = with_points("full", 200);
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
    command
        .args(["dist", "a.csv", "-o", "-"])
        .current_dir(&folder)
        .stdout(full);
    let done = command.stderr(Stdio::piped()).output().unwrap();
    let message = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{message}");
    assert!(message.contains("full"), "{message}");
    fs::remove_dir_all(&folder).unwrap();
}

/// A file system of 1 MiB, where the system lets us mount one in a name space of our own.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs mount"]
fn a_full_disk_leaves_nothing_behind() {
    let folder = with_points("disk", 1000);
    fs::create_dir(folder.join("small")).unwrap();
    let within = |script: &str| {
        let whole = format!("mount -t tmpfs -o size=1m none small && {script}");
        Command::new("unshare")
            .args(["-m", "sh", "-c", &whole])
            .current_dir(&folder)
            .output()
    };
    assert!(
        within("true").is_ok_and(|done| done.status.success()),
        "a small file system cannot be mounted here"
    );
    let command = env!("CARGO_BIN_EXE_zipfold");
    for output in [
        "small/d.npy",
        "small/d.csv",
        "small/d.npy --plot small/d.svg",
    ] {
        let script = format!("{command} dist a.csv -o {output}; echo status $?; ls -A small");
        let done = within(&script).unwrap();
        let (out, message) = (
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr),
        );
        assert_eq!(out.trim(), "status 1", "{output}: {message}");
        assert!(
            message.contains("small/d.") && message.contains("space"),
            "{output}: {message}"
        );
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// What reads our output may stop reading: that is no failure.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_success() {
    let folder = with_points("pipe", 800);
    for verb in [
        "dist a.csv -o -",
        "join a.csv --self --where 'abs(x.x - y.x) < 9' -o -",
        "hist a.csv -o -",
        "devices",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
        command
            .args(words(verb))
            .current_dir(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert!(
            done.status.success(),
            "{verb}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    fs::remove_dir_all(&folder).unwrap();
}

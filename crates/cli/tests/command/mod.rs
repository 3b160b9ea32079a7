//! Running the built command in a folder of its own.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that is removed when it goes out of scope.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder called after `name`.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("zipfold-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    /// A file of it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    /// With this file in it.
    pub(crate) fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.put(name, text);
        self
    }
    /// Writes a file.
    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), text).unwrap();
    }
    /// With a copy of a file of the repository.
    pub(crate) fn with_copy(self, from: &str, name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::copy(root.join(from), self.0.join(name)).unwrap();
        self
    }
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }
    /// Runs `zipfold` with these words ('quoted words' are one).
    pub(crate) fn run(&self, line: &str) -> Done {
        self.run_with(line, "")
    }
    /// As [`Folder::run`], with standard input.
    pub(crate) fn run_with(&self, line: &str, input: &str) -> Done {
        use std::io::Write;
        let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
        command
            .args(words(line))
            .current_dir(&self.0)
            .stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The command may end without reading it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let done = child.wait_with_output().unwrap();
        Done {
            line: line.into(),
            status: done.status.code(),
            out: String::from_utf8_lossy(&done.stdout).into_owned(),
            err: String::from_utf8_lossy(&done.stderr).into_owned(),
        }
    }
    /// Runs `zipfold` with these words.
    pub(crate) fn call(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zipfold"));
        command.current_dir(&self.0).args(words).output().unwrap()
    }
    /// What `zipfold` with these words writes to its output; it succeeds.
    #[track_caller]
    pub(crate) fn answered(&self, words: &[&str]) -> String {
        let done = self.call(words);
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{words:?}: {told}");
        String::from_utf8(done.stdout).unwrap()
    }
    /// Runs `zipfold` on a terminal of 100 columns; none where the system has no `script`.
    #[cfg(unix)]
    pub(crate) fn on_terminal(&self, line: &str) -> Option<String> {
        let quoted: Vec<String> = words(line).iter().map(|w| format!("'{w}'")).collect();
        let inner = format!(
            "stty cols 100 rows 40; {} {}",
            env!("CARGO_BIN_EXE_zipfold"),
            quoted.join(" ")
        );
        let mut command = Command::new("script");
        command
            .args(["-qec", &inner, "/dev/null"])
            .current_dir(&self.0)
            .stdin(Stdio::null());
        let done = command
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&done.stdout).replace('\r', ""))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a failed test left is there to be looked at.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// What a run of the command gave.
pub(crate) struct Done {
    line: String,
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    /// It succeeded.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(
            self.status,
            Some(0),
            "zipfold {}\n{}{}",
            self.line,
            self.out,
            self.err
        );
        self
    }
    /// It refused with status 2, and these words were said.
    pub(crate) fn refused(self, says: &[&str]) -> Self {
        assert_eq!(
            self.status,
            Some(2),
            "zipfold {}\n{}{}",
            self.line,
            self.out,
            self.err
        );
        for word in says {
            assert!(
                self.err.contains(word),
                "zipfold {}: '{word}' is not said\n{}",
                self.line,
                self.err
            );
        }
        self
    }
}

/// The words of a line; 'quoted words' are one.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut out = vec![];
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            1 => out.push(part.to_string()),
            _ => out.extend(part.split_whitespace().map(str::to_string)),
        }
    }
    out
}

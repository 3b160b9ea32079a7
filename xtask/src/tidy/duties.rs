//! A crate exists for what it forbids: core and the planners do no I/O, start no threads and read
//! no clock; core knows no platform. The planner of sum-products searches on the threads of its
//! caller. Files are touched in `io` alone. Kernels call nothing that is left out of line.

use super::{circles, shipped};
use crate::Violation;
use crate::source::{Source, is_word};
use crate::tree::File;

const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::thread",
    "std::time",
    "std::process",
    "std::env",
    "Instant::now",
    "SystemTime",
];
const PLATFORM: &[&str] = &["cfg(target_", "cfg!(target_", "std::arch", "core::arch"];
const THREADS: &[&str] = &["rayon"];
/// Functions that a compiler puts into a kernel only in a pass over the whole crate.
const OUT_OF_LINE: &[&str] = &["array::from_fn"];
/// Ways to open, make or remove a file, and to ask about one.
const FILES: &[&str] = &[
    "std::fs",
    "fs::",
    "File::open",
    "File::create",
    "OpenOptions",
    "tempfile",
    ".exists()",
    ".try_exists()",
    ".is_dir()",
    ".is_symlink()",
    ".metadata()",
    "symlink_metadata",
    "canonicalize()",
    "read_dir()",
    "read_link()",
];

/// What a folder does not use, and why.
struct Duty {
    /// Beginnings of paths: where the duty holds, and where within it does not.
    within: &'static [&'static str],
    except: &'static [&'static str],
    forbidden: &'static [&'static [&'static str]],
    what: &'static str,
}

const DUTIES: [Duty; 5] = [
    Duty {
        within: &["crates/core/"],
        except: &[],
        forbidden: &[OUTSIDE, PLATFORM, THREADS],
        what: "in a crate without I/O, threads, clock or platform",
    },
    Duty {
        within: &["crates/plan/"],
        except: &[],
        forbidden: &[OUTSIDE, THREADS],
        what: "in a crate without I/O, threads or clock",
    },
    Duty {
        within: &["crates/product/src/plan/"],
        except: &[],
        forbidden: &[OUTSIDE],
        what: "in a planner, which does no I/O, starts no threads and reads no clock",
    },
    Duty {
        within: &[
            "crates/vector/src/simd/",
            "crates/cpu/src/kernels/",
            "crates/product/src/cpu/",
        ],
        except: &["crates/vector/src/simd/arrays.rs"],
        forbidden: &[OUT_OF_LINE],
        what: "in a kernel, which loses its instruction set there: `zipfold_vector::simd::array_of`",
    },
    Duty {
        within: &["crates/", "python/"],
        // `io` has the files, and the tests make theirs. Compiled kernels are kept on disk by the
        // crate that compiles them, which does not depend on `io`: their files have no names that
        // users give, and a cache that cannot be read is only a lost saving.
        except: &[
            "crates/io/",
            "crates/testkit/",
            "crates/gpu/src/runtime/cache.rs",
        ],
        forbidden: &[FILES],
        what: "outside `io`: a file is opened, written and looked at by `zipfold_io`",
    },
];

/// Uses of the outside world in the crates that are pure, and of files outside `io`.
pub fn check(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| shipped(&file.path))
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &File) -> Vec<Violation> {
    let starts = |with: &[&str]| with.iter().any(|start| file.path.starts_with(start));
    let duties = DUTIES
        .iter()
        .filter(|duty| starts(duty.within) && !starts(duty.except));
    let lines = shipped_lines(&Source::new(&file.text));
    let breaches = |duty: &'static Duty| {
        let what = |code: &str| duty.breach(code);
        let found = lines
            .iter()
            .filter_map(move |(line, code)| Some((*line, what(code)?)));
        found.map(|(line, what)| Violation::new(&file.path, line, what))
    };
    let mut found: Vec<Violation> = duties.flat_map(breaches).collect();
    found.sort();
    found.dedup_by_key(|violation| violation.line);
    found
}

/// The lines of code outside tests, and once more the paths of `use` items in braces.
fn shipped_lines(source: &Source) -> Vec<(usize, String)> {
    let tests = source.test_lines();
    let tested = |line: usize| tests.iter().any(|(a, b)| (*a..=*b).contains(&line));
    let lines = (1..=source.lines()).map(|line| (line, source.code_line(line)));
    lines
        .chain(grouped(source))
        .filter(|(line, _)| !tested(*line))
        .collect()
}

impl Duty {
    /// What is wrong with a line of code, if something is.
    fn breach(&self, code: &str) -> Option<String> {
        let mut words = self.forbidden.iter().copied().flatten();
        let word = words.find(|word| contains(code, word))?;
        Some(format!("`{word}` {}", self.what))
    }
}

/// Whether `code` has `word`, which does not begin in the middle of another one.
fn contains(code: &str, word: &str) -> bool {
    let opens = |at: usize| at == 0 || !is_word(code.as_bytes()[at - 1]);
    let is_name = word.bytes().next().is_some_and(is_word);
    code.match_indices(word)
        .any(|(at, _)| !is_name || opens(at))
}

/// The paths of `use` items in braces, each with the line of its `use`: `use std::{fs, io}` names
/// `std::fs`.
fn grouped(source: &Source) -> Vec<(usize, String)> {
    let paths = |at: usize| {
        let end = source.code[at..].iter().position(|byte| *byte == b';')?;
        let tree = String::from_utf8_lossy(&source.code[at + "use".len()..at + end]).into_owned();
        let line = source.line(at);
        let paths = circles::expand(&tree).into_iter();
        Some(paths.map(move |path| (line, path.join("::"))))
    };
    let uses = source.words("use").into_iter();
    uses.filter_map(paths).flatten().collect()
}

//! Requests and files that ask for more than there is: refused near `--memory`, quietly, and
//! without an abort.
#![cfg(target_os = "linux")]

mod command;

use command::Folder;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
/// What `--memory` is in these tests, and what the program takes itself: code, stacks, tables of
/// threads.
const LIMIT: u64 = 64;
const ITSELF: u64 = 32;

/// A folder with a table and a network that are in order.
fn folder(name: &str) -> Folder {
    Folder::new(&format!("hostile-{name}"))
        .with("two.csv", "0,0\n1,1\n")
        .with("one.uai", "MARKOV\n1\n2\n1\n1 0\n2\n1 2\n")
}

/// Packs `start`, `piece` so many times, and `end`.
fn gzip(folder: &Folder, name: &str, start: &[u8], piece: &[u8], times: usize, end: &[u8]) {
    let file = fs::File::create(folder.path(name)).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    encoder.write_all(start).unwrap();
    (0..times).for_each(|_| encoder.write_all(piece).unwrap());
    encoder.write_all(end).unwrap();
    encoder.finish().unwrap();
}

/// What a run of the command came to.
struct Done {
    status: Option<i32>,
    message: String,
    /// The largest resident memory that was seen.
    peak: u64,
}

/// Runs the command in `folder` under a limit of 4 GiB of addresses and 60 seconds.
fn run(folder: &Path, words: &[&str]) -> Done {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "ulimit -c 0; ulimit -v 4194304; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_zipfold"),
        ])
        .args(words);
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let said = folder.join("said");
    command.stderr(fs::File::create(&said).unwrap());
    let mut child = command.spawn().unwrap();
    let (status, start) = (format!("/proc/{}/status", child.id()), Instant::now());
    let mut peak = 0;
    let end = loop {
        if let Some(end) = child.try_wait().unwrap() {
            break end;
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix("VmHWM:"))
            .unwrap_or("0");
        peak = peak.max(
            line.trim()
                .trim_end_matches(" kB")
                .parse::<u64>()
                .unwrap_or(0)
                * 1024,
        );
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Done {
        status: end.code(),
        message: fs::read_to_string(said).unwrap(),
        peak,
    }
}

/// The run is refused with one of `statuses` in words, in little memory, without a panic or an
/// abort.
#[track_caller]
fn refused(folder: &Folder, words: &[&str], statuses: &[i32], says: &str) {
    let memory = format!("{LIMIT}MiB");
    let limited = words.contains(&"--memory") || matches!(words[0], "completions" | "devices");
    let all = if limited {
        words.to_vec()
    } else {
        [words, &["--memory", &memory]].concat()
    };
    let done = run(&folder.0, &all);
    let shown = format!(
        "{words:?}: {:?}, {} MiB: {}",
        done.status,
        done.peak / MIB,
        done.message
    );
    println!("{}", shown.chars().take(300).collect::<String>());
    assert!(
        done.status.is_some_and(|s| statuses.contains(&s)),
        "{shown}"
    );
    assert!(done.message.contains(says), "no '{says}' in {shown}");
    assert!(
        !done.message.contains("panicked") && !done.message.contains("defect"),
        "{shown}"
    );
    assert!(done.peak <= (LIMIT + ITSELF) * MIB, "{shown}");
    assert!(
        done.message.chars().all(|c| c == '\n' || !c.is_control()),
        "{shown}"
    );
    assert!(done.message.len() < 5000, "{} bytes", done.message.len());
}

#[test]
fn files_that_unpack_to_much_are_refused_near_the_limit() {
    let f = folder("unpack");
    let lines = b"a\n".repeat(1 << 19);
    gzip(&f, "quoted.csv.gz", b"x,y\n1,\"", &lines, 300, b"\"\n");
    gzip(&f, "commas.csv.gz", b"", &[b','; 1 << 20], 60, b"\n");
    gzip(&f, "edges.csv.gz", b"", &b"0\n".repeat(1 << 19), 100, b"");
    gzip(
        &f,
        "points.xyz.gz",
        b"20000000\nc\n",
        &b"O 0 0 0\n".repeat(1 << 17),
        150,
        b"",
    );
    gzip(
        &f,
        "comment.xyz.gz",
        b"1\n",
        &[0xff; 1 << 20],
        63,
        b"\nO 0 0 0\n",
    );
    gzip(&f, "blank.txt.gz", b"", &[b'\n'; 1 << 20], 400, b"");
    gzip(
        &f,
        "net.uai.gz",
        b"MARKOV\n1\n2\n0\n",
        &[b' '; 1 << 20],
        200,
        b"",
    );
    let names: String = (0..2_000_000).map(|i| format!("c{i},")).collect();
    f.put(
        "names.csv",
        format!("{names}z\n{}1\n", "1,".repeat(2_000_000)).as_bytes(),
    );
    let range = ["--bins", "2", "--range", "0", "1"];
    for name in [
        "quoted.csv.gz",
        "commas.csv.gz",
        "points.xyz.gz",
        "comment.xyz.gz",
        "blank.txt.gz",
        "names.csv",
    ] {
        refused(&f, &[&["hist", name][..], &range].concat(), &[1, 2], name);
    }
    for name in ["edges.csv.gz", "points.xyz.gz"] {
        refused(&f, &["hist", "two.csv", "--edges", name], &[1, 2], name);
        refused(
            &f,
            &[
                "dist",
                "two.csv",
                "--pair",
                "x[0]*w[0]",
                "--param",
                &format!("w=@{name}"),
            ],
            &[1, 2],
            name,
        );
    }
    refused(&f, &["infer", "net.uai.gz"], &[1, 2], "net.uai.gz");
}

#[test]
fn endless_and_sparse_files_are_refused_near_the_limit() {
    let f = folder("endless");
    for name in [
        "zero.csv",
        "zero.npy",
        "zero.uai",
        "zero.toml",
        "zero.json",
        "zero.part",
    ] {
        std::os::unix::fs::symlink("/dev/zero", f.0.join(name)).unwrap();
    }
    let sparse = fs::File::create(f.0.join("sparse.part")).unwrap();
    sparse.set_len(15 << 40).unwrap();
    let sparse = fs::File::create(f.0.join("sparse.toml")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for words in [
        &["hist", "zero.csv"][..],
        &["dist", "zero.npy", "-o", "d.npy"],
        &["hist", "two.csv", "--edges", "zero.csv"],
        &["infer", "zero.uai"],
        &["infer", "one.uai", "--evidence", "zero.csv"],
        &["run", "zero.toml"],
        &["run", "zero.json"],
        &["run", "sparse.toml"],
        &["merge", "zero.part"],
        &["merge", "sparse.part"],
        &[
            "emit",
            "--target",
            "zero.json",
            "hist",
            "two.csv",
            "--range",
            "0",
            "1",
        ],
    ] {
        let name = words
            .iter()
            .find(|w| w.contains("zero") || w.contains("sparse"))
            .unwrap();
        refused(&f, words, &[1, 2], name);
    }
}

#[test]
fn requests_beyond_all_measure_are_refused() {
    let f = folder("measure");
    let range = ["--range", "0", "1"];
    for bins in ["30000000", "100000000", "18446744073709551615"] {
        refused(
            &f,
            &[&["hist", "two.csv", "--bins", bins][..], &range].concat(),
            &[1, 2],
            "",
        );
    }
    for samples in ["4294967296", "1000000000000", "18446744073709551615"] {
        refused(
            &f,
            &[
                "infer",
                "one.uai",
                "--task",
                "samples",
                "--samples",
                samples,
            ],
            &[1, 2],
            "--samples",
        );
    }
    for threads in ["5000", "1000000000"] {
        refused(
            &f,
            &["infer", "one.uai", "--threads", threads],
            &[2],
            "4096",
        );
    }
    refused(&f, &["infer", "one.uai", "--memory", "x"], &[2], "--memory");
}

#[test]
fn samples_are_not_held() {
    let f = folder("samples");
    for name in ["s.csv", "s.json", "s.SAMPLES"] {
        let done = run(
            &f.0,
            &[
                "infer",
                "one.uai",
                "--task",
                "samples",
                "--samples",
                "3000000",
                "--memory",
                "64MiB",
                "-o",
                name,
            ],
        );
        assert_eq!(done.status, Some(0), "{}", done.message);
        assert!(
            done.peak <= (LIMIT + ITSELF) * MIB,
            "{name}: {} MiB",
            done.peak / MIB
        );
    }
    let text = fs::read_to_string(f.0.join("s.csv")).unwrap();
    assert_eq!(text.lines().count(), 3_000_001);
    let ones = text.lines().skip(1).filter(|l| *l == "1").count();
    assert!(
        (1_990_000..2_010_000).contains(&ones),
        "{ones} of 3 000 000"
    );
    assert!(
        fs::read_to_string(f.0.join("s.SAMPLES"))
            .unwrap()
            .starts_with("SAMPLES\n3000000\n")
    );
    let json = fs::read_to_string(f.0.join("s.json")).unwrap();
    assert!(json.starts_with("{\"log10\":0.4771212547196") && json.ends_with("}]}\n"));
}

#[test]
fn networks_count_in_the_memory() {
    let f = folder("chain");
    let n = 200_000;
    let twos = vec!["2"; n].join(" ");
    let scopes: String = (0..n - 1).map(|i| format!("2 {i} {}\n", i + 1)).collect();
    let chain = format!(
        "MARKOV\n{n}\n{twos}\n{}\n{scopes}{}",
        n - 1,
        "4 1 2 3 4\n".repeat(n - 1)
    );
    f.put("chain.uai", chain.as_bytes());
    for task in ["pr", "mar", "map", "samples"] {
        let _ = fs::remove_file(f.0.join("c.uai"));
        refused(
            &f,
            &["infer", "chain.uai", "--task", task, "-o", "c.uai"],
            &[1],
            "the network",
        );
        let done = run(
            &f.0,
            &[
                "infer",
                "chain.uai",
                "--task",
                task,
                "-o",
                "c.uai",
                "--memory",
                "600MiB",
                "--force",
            ],
        );
        assert_eq!(done.status, Some(0), "{task}: {}", done.message);
        assert!(
            done.peak <= (600 + ITSELF) * MIB,
            "{task}: {} MiB",
            done.peak / MIB
        );
    }
}

#[test]
fn evidence_that_cannot_be_has_a_status_of_its_own() {
    let f = folder("impossible");
    f.put("n.uai", b"MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 0 0 1\n");
    f.put("n.evid", b"2 0 0 1 1\n");
    for task in ["mar", "map", "samples", "sum"] {
        for output in ["a.json", "a.csv", "a.MAR", "-"] {
            let words = [
                "infer",
                "n.uai",
                "--evidence",
                "n.evid",
                "--task",
                task,
                "-o",
                output,
            ];
            let kept = if task == "sum" {
                &["--keep", "0"][..]
            } else {
                &[]
            };
            refused(&f, &[&words[..], kept].concat(), &[3], "probability zero");
            assert!(!f.0.join(output).exists(), "{task} {output}");
        }
    }
    let pr = Command::new(env!("CARGO_BIN_EXE_zipfold"))
        .args(["infer", "n.uai", "--evidence", "n.evid", "--task", "pr"])
        .current_dir(&f.0)
        .output()
        .unwrap();
    assert_eq!(
        (pr.status.code(), &pr.stdout[..]),
        (Some(0), &b"PR\n-inf\n"[..])
    );
}

#[test]
fn messages_hold_no_control_characters_of_files() {
    let f = folder("controls");
    let hostile = "a\u{1b}]0;x\u{7}\u{9b}31m\u{202e}";
    let long = "n".repeat(200_000);
    f.put("h.csv", format!("{hostile},b\n1,2\n3,x\n").as_bytes());
    f.put("l.csv", format!("{long},b\n1,2\n3,x\n").as_bytes());
    f.put("h.uai", format!("{hostile} 1\n").as_bytes());
    f.put(
        "h.bif",
        format!("network {hostile} {{ }} {hostile}\n").as_bytes(),
    );
    f.put("h.xmlbif", format!("<{hostile}><b>").as_bytes());
    f.put(
        "h.toml",
        format!("schema = 1\nx = \"{hostile}\"\n{hostile}\n").as_bytes(),
    );
    f.put("h.evid", format!("{hostile} = 1\n").as_bytes());
    f.put("h.xyz", format!("1\nc\nH {hostile} 0 0\n").as_bytes());
    for words in [
        &["hist", "h.csv"][..],
        &["hist", "l.csv"],
        &["hist", "h.csv", "--columns", "z"],
        &["infer", "h.uai"],
        &["infer", "h.bif"],
        &["infer", "h.xmlbif"],
        &["run", "h.toml"],
        &["infer", "one.uai", "--evidence", "h.evid"],
        &["hist", "h.xyz"],
        &["dist", "two.csv", "--pair", hostile],
        &["hist", hostile],
    ] {
        refused(&f, words, &[1, 2], "error: ");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let f = folder("pipes");
    for words in [
        "completions bash",
        "infer one.uai --json -o j.MAR --force",
        "explain infer one.uai",
        "infer one.uai",
        "devices",
        "hist two.csv",
        "infer one.uai --task samples --samples 100000",
    ] {
        let line =
            format!("sleep 0.2 | true; (sleep 0.3; exec \"$0\" {words}) 2>said | true; sleep 1");
        Command::new("sh")
            .args(["-c", &line, env!("CARGO_BIN_EXE_zipfold")])
            .current_dir(&f.0)
            .status()
            .unwrap();
        let said = fs::read_to_string(f.0.join("said")).unwrap();
        assert!(
            !said.contains("panicked") && !said.contains("error"),
            "{words}: {said}"
        );
    }
}

/// A random word with a fixed beginning.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
    /// `bytes` with some damage: flips, cuts, copies, odd words.
    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        const ODD: [&[u8]; 16] = [
            b"nan",
            b"1e999",
            b"-1",
            b"18446744073709551616",
            b"\"",
            b"\x00",
            b"\xff\xfe",
            b"\xef\xbb\xbf",
            b"((((",
            b"\r",
            b"\x1b[31m",
            b"9007199254740993",
            b"=1",
            b"{",
            b",,,,",
            b"",
        ];
        let mut out = bytes.to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(out.len());
            match self.below(6) {
                0 if !out.is_empty() => out[at] ^= 1 << self.below(8),
                1 => out.truncate(at),
                2 => drop(out.splice(at..at, ODD[self.below(ODD.len())].iter().copied())),
                3 => {
                    let end = (at + self.below(16)).min(out.len());
                    drop(out.splice(at..end, ODD[self.below(ODD.len())].iter().copied()));
                }
                4 => {
                    let piece = out[at..(at + 40).min(out.len())].to_vec();
                    let to = self.below(out.len());
                    drop(out.splice(to..to, piece));
                }
                _ => out.extend_from_slice(&bytes[self.below(bytes.len())..]),
            }
        }
        out
    }
}

#[test]
fn damaged_files_are_answered_or_refused() {
    let f = folder("fuzz");
    let table = b"x,y,z\n0.1,0.2,0.3\n1,2,3\n\"4\",5,6\n".to_vec();
    let problem = b"schema = 1\nx = { name = \"two.csv\" }\n[pair]\nmetric = \"euclidean\"\n[[folds]]\nkind = \"histogram\"\naxes = [{ bins = 3, range = [0.0, 2.0] }]\n";
    let bif = b"network a { }\nvariable v { type discrete [ 2 ] { s, t }; }\nprobability ( v ) { table 0.5, 0.5; }\n";
    let xyz =
        b"2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nO 1 2 3\nH 4 5 6\n";
    let uai = b"BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2\n.5 .5\n4\n.1 .9 .2 .8\n";
    let seeds: [(&str, &[u8], &[&str]); 8] = [
        (
            "f.csv",
            &table,
            &["hist", "f.csv", "--bins", "3", "--range", "0", "9"],
        ),
        ("f.txt", b"1 2\n3 4\n5 6\n", &["dist", "f.txt"]),
        ("f.xyz", xyz, &["knn", "f.xyz", "-k", "1"]),
        ("f.toml", problem, &["run", "f.toml"]),
        ("f.uai", uai, &["infer", "f.uai", "--time-limit", "5"]),
        ("f.bif", bif, &["infer", "f.bif", "--task", "map"]),
        (
            "f.evid",
            b"1 0 1\n",
            &["infer", "one.uai", "--evidence", "f.evid"],
        ),
        (
            "f.csv",
            b"0\n0.5\n1\n",
            &["hist", "two.csv", "--edges", "f.csv"],
        ),
    ];
    let mut random = Random(2026);
    let many = if std::env::var_os("ZIPFOLD_LONG").is_some() {
        600
    } else {
        12
    };
    for (name, bytes, words) in seeds {
        for _ in 0..many {
            let damaged = random.damage(bytes);
            f.put(name, &damaged);
            let done = run(&f.0, &[words, &["--memory", "64MiB"]].concat());
            let shown = format!(
                "{words:?}: {:?} {}\n{:?}",
                done.status,
                done.message,
                String::from_utf8_lossy(&damaged)
            );
            assert!(matches!(done.status, Some(0..=3)), "{shown}");
            assert!(
                !done.message.contains("panicked") && !done.message.contains("defect"),
                "{shown}"
            );
            assert!(
                done.message.chars().all(|c| c == '\n' || !c.is_control()),
                "{shown}"
            );
            assert!(done.peak <= (LIMIT + ITSELF) * MIB, "{shown}");
        }
    }
}

//! Listed pairs and batches at the command: lists of every format, files, interruptions, shares and
//! stores, refusals by their line.
#![cfg(unix)]

mod command;
mod runs;

use runs::{Folder, Random, SLOWLY};
use std::fs;

/// Rows of three numbers and a frame, and a list of pairs in no order.
fn inputs(folder: &Folder, rows: usize, pairs: usize) {
    let mut random = Random(140);
    let mut text = "x,y,z,frame\n".to_string();
    for row in 0..rows {
        let [x, y, z] = [(); 3].map(|()| random.next());
        text += &format!("{x},{y},{z},f{}\n", row % 7);
    }
    fs::write(folder.path("a.csv"), text).unwrap();
    let mut row = || (random.next() * rows as f64) as usize;
    let mut text = "i,j\n".to_string();
    (0..pairs).for_each(|_| text += &format!("{},{}\n", row(), row()));
    fs::write(folder.path("p.csv"), text).unwrap();
}

fn read(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.path(name)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let cells = |line: &str| line.split(',').map(str::to_string).collect();
    lines.skip(1).map(cells).collect()
}

#[test]
fn both_rows_of_a_pair_have_it_and_columns_are_chosen() {
    let folder = Folder::new("listed-both");
    inputs(&folder, 40, 300);
    let lines = read(&folder, "p.csv");
    let (mut marked, mut twice) = ("why,b,a\n".to_string(), "i,j\n".to_string());
    for pair in &lines {
        let [i, j] = [&pair[0], &pair[1]];
        marked += &format!("7,{j},{i}\n");
        twice += &format!("{i},{j}\n");
        if i != j {
            twice += &format!("{j},{i}\n");
        }
    }
    fs::write(folder.path("marked.csv"), marked).unwrap();
    fs::write(folder.path("twice.csv"), twice).unwrap();
    let asked = "reduce a.csv --columns x,y,z --op count --pair '1 > 0'";
    folder.finish(&format!(
        "{asked} --pairs marked.csv --pairs-columns a,b --both-rows -o both.csv"
    ));
    folder.finish(&format!("{asked} --pairs twice.csv -o plain.csv"));
    assert_eq!(read(&folder, "both.csv"), read(&folder, "plain.csv"));
    folder.finish(&format!(
        "{asked} --pairs marked.csv --pairs-columns a,b -o one.csv"
    ));
    folder.finish(&format!("{asked} --pairs p.csv -o given.csv"));
    assert_eq!(read(&folder, "one.csv"), read(&folder, "given.csv"));
}

#[test]
fn values_of_a_list_lie_in_its_order() {
    let folder = Folder::new("listed-values");
    inputs(&folder, 50, 400);
    folder.finish("dist a.csv --columns x,y,z --pairs p.csv -o v.csv");
    let (rows, pairs, values) = (
        read(&folder, "a.csv"),
        read(&folder, "p.csv"),
        read(&folder, "v.csv"),
    );
    assert_eq!(values.len(), pairs.len());
    let number = |text: &String| text.parse::<f64>().unwrap();
    for (pair, line) in pairs.iter().zip(&values) {
        assert_eq!(pair[..], line[..2]);
        let [a, b] = [0, 1].map(|at| &rows[number(&pair[at]) as usize]);
        let square = |at: usize| (number(&a[at]) - number(&b[at])).powi(2);
        let apart = (square(0) + square(1) + square(2)).sqrt();
        assert!((apart - number(&line[2])).abs() < 1e-12);
    }
    for suffix in ["npy", "npz", "parquet", "tsv"] {
        folder.finish(&format!(
            "dist a.csv --columns x,y,z --pairs p.csv -o v.{suffix} --plot v-{suffix}.svg"
        ));
    }
    folder.finish("dist a.csv --columns x,y,z --pairs p.csv -o w.csv --report w.html --json");
    folder.finish(
        "hist a.csv --columns x,y,z --batch frame --bins 5 -o h.npz --report h.html --plot h.svg",
    );
    let page = fs::read_to_string(folder.path("w.html")).unwrap();
    assert!(page.contains("p.csv") && page.contains("</svg>"));
    // A list without pairs is a list.
    fs::write(folder.path("none.csv"), "i,j\n").unwrap();
    folder.finish("reduce a.csv --columns x,y,z --pairs none.csv --op count -o none.out.csv");
    let mut explained = folder.command("explain dist a.csv --columns x,y,z --pairs p.csv");
    let explained = explained.stdout(std::process::Stdio::piped()).output();
    let text = String::from_utf8(explained.unwrap().stdout).unwrap();
    assert!(text.contains("400: listed, 50 rows"), "{text}");
}

/// Standard output has a NumPy array where the help of the verb says so; one result in all of each
/// batch is a table in any format.
#[test]
fn values_of_lists_and_batches_are_an_array_on_standard_output() {
    let folder = Folder::new("listed-stream");
    inputs(&folder, 60, 100);
    for words in [
        "dist a.csv --columns x,y,z --pairs p.csv",
        "dist a.csv --columns x,y,z --batch frame",
        "reduce a.csv --columns x,y,z --batch frame --op mean --axis all",
        "reduce a.csv --columns x,y,z --pairs p.csv --by frame --op mean --axis all",
        "reduce a.csv --columns x,y,z --pairs p.csv --op mean",
    ] {
        let mut command = folder.command(&format!("{words} -o -"));
        let done = command.stdout(std::process::Stdio::piped()).output();
        let done = done.unwrap();
        if words.contains("--by") {
            assert!(!done.status.success());
            continue;
        }
        folder.clear("one.");
        folder.finish(&format!("{words} -o one.npy"));
        let file = fs::read(folder.path("one.npy")).unwrap();
        assert!(file.starts_with(b"\x93NUMPY"));
        assert!(done.stdout == file, "{words}");
    }
    for suffix in ["npz", "parquet", "csv", "tsv"] {
        folder.finish(&format!(
            "reduce a.csv --columns x,y,z --batch frame --op sum --axis all -o all.{suffix}"
        ));
    }
    assert_eq!(read(&folder, "all.csv").len(), 7);
}

/// Tables of more lines than are written at a time have all of them, in every format.
#[test]
fn long_lists_are_written_some_lines_at_a_time() {
    let folder = Folder::new("listed-long");
    inputs(&folder, 300, 70_001);
    let words = "dist a.csv --columns x,y,z --pairs p.csv";
    for suffix in ["csv", "npz", "parquet", "npy"] {
        folder.finish(&format!("{words} -o long.{suffix}"));
    }
    let (pairs, lines) = (read(&folder, "p.csv"), read(&folder, "long.csv"));
    assert_eq!(pairs.len(), lines.len());
    let same = |(pair, line): (&Vec<String>, &Vec<String>)| pair[..] == line[..2];
    assert!(pairs.iter().zip(&lines).all(same));
    // Values of all formats are the numbers of the text.
    let numbers = lines.iter().map(|line| line[2].parse::<f64>().unwrap());
    let bytes: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
    let array = fs::read(folder.path("long.npy")).unwrap();
    assert!(array.ends_with(&bytes));
    let archive = fs::read(folder.path("long.npz")).unwrap();
    assert!(archive.windows(bytes.len()).any(|some| some == bytes));
    let sum = "--pair 'x[0]' --op sum --within band:0";
    folder.finish(&format!(
        "reduce long.parquet --columns value {sum} -o back.npy"
    ));
    assert!(fs::read(folder.path("back.npy")).unwrap().ends_with(&bytes));
}

/// Results by column and group are of the rows of y, and have their names.
#[test]
fn results_by_column_and_group_are_named_by_rows_of_y() {
    let folder = Folder::new("listed-columns");
    let table = |letter: &str, rows: usize| {
        let line = |row: usize| format!("{letter}{row},{row}.5,k{}\n", row % 2);
        format!("name,x,kind\n{}", (0..rows).map(line).collect::<String>())
    };
    fs::write(folder.path("x.csv"), table("p", 3)).unwrap();
    fs::write(folder.path("y.csv"), table("q", 5)).unwrap();
    fs::write(folder.path("p.csv"), "i,j\n0,4\n1,4\n2,0\n").unwrap();
    let words = "reduce x.csv y.csv --columns x --id name --pairs p.csv --by kind --op sum";
    folder.finish(&format!("{words} --axis column -o down.csv"));
    let text = fs::read_to_string(folder.path("down.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "j,k0,k1,y.name",
            "0,2.0,0.0,q0",
            "1,0.0,0.0,q1",
            "2,0.0,0.0,q2",
            "3,0.0,0.0,q3",
            "4,4.0,3.0,q4"
        ]
    );
    folder.finish(&format!("{words} -o across.csv"));
    let text = fs::read_to_string(folder.path("across.csv")).unwrap();
    assert!(text.starts_with("i,k0,k1,x.name\n0,4.0,0.0,p0\n"), "{text}");
}

/// A page has a picture of bounded size for any number of batches.
#[test]
fn pictures_of_many_batches_stay_small() {
    let folder = Folder::new("listed-picture");
    let line = |row: usize| format!("{},{}\n", row % 13, row / 4);
    let text: String = (0..40_000).map(line).collect();
    fs::write(folder.path("a.csv"), format!("x,frame\n{text}")).unwrap();
    let words = "a.csv --columns x --batch frame";
    folder.finish(&format!(
        "hist {words} --bins 50 --range 0 13 -o h.npz --plot h.svg"
    ));
    let size = fs::metadata(folder.path("h.svg")).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes");
    folder.finish(&format!("dist {words} -o d.npy --plot d.svg"));
    let text = fs::read_to_string(folder.path("d.svg")).unwrap();
    assert!(text.contains("values of all batches"));
}

/// The same bytes after an interruption, in shards, and in a store.
#[test]
fn lists_and_batches_go_on_and_merge_to_the_bytes_of_one_run() {
    let folder = Folder::new("listed-shares");
    inputs(&folder, 3000, 400_000);
    let list = "a.csv --columns x,y,z --pairs p.csv";
    let batch = "a.csv --columns x,y,z --batch frame";
    for words in [
        format!("dist {list}"),
        format!("reduce {list} --op sum"),
        format!("hist {list} --bins 20 --range 0 2"),
        format!("hist {batch} --bins 20 --range 0 2"),
        format!("reduce {batch} --op mean --axis all"),
        format!("dist {batch} --condensed"),
    ] {
        let words = format!("{words} {SLOWLY}");
        folder.clear("right.");
        folder.finish(&format!("{words} -o right.csv"));
        let right = fs::read(folder.path("right.csv")).unwrap();
        if folder.end_midway(&words, "out.csv", "-KILL") {
            folder.finish(&format!("{words} -o out.csv --resume"));
            assert!(
                fs::read(folder.path("out.csv")).unwrap() == right,
                "{words}"
            );
        }
        folder.clear("part");
        for share in 1..=3 {
            folder.finish(&format!("{words} --shard {share}/3 -o part{share}.part"));
        }
        folder.clear("merged.");
        folder.finish("merge part1.part part2.part part3.part -o merged.csv");
        assert!(
            fs::read(folder.path("merged.csv")).unwrap() == right,
            "{words}"
        );
    }
    let problem = "schema = 1\nx = { name = 'a.csv', columns = ['x', 'y', 'z'] }\npairs = 'p.csv'\nfolds = [{ kind = 'matrix' }]\n";
    fs::write(folder.path("list.toml"), problem).unwrap();
    folder.finish("plan list.toml --store s --shares 4");
    folder.finish("work s");
    folder.finish("merge s -o store.csv");
    folder.finish("run list.toml -o one.csv");
    let [store, one] = ["store.csv", "one.csv"].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(store == one);
}

#[test]
fn other_lists_are_refused_by_their_line() {
    let folder = Folder::new("listed-refused");
    inputs(&folder, 50, 10);
    for (list, wanted) in [
        (
            "i,j\n0,1\n2,50\n",
            "expected a row of x from 0 to 49, got 50",
        ),
        ("i,j\n0,1\n-1,4\n", "got -1"),
        ("i,j\n0,1\n1.5,4\n", "got 1.5"),
        ("i,j,k\n0,1,2\n", "expected two columns"),
        ("i\n0\n", "expected two columns"),
    ] {
        fs::write(folder.path("odd.csv"), list).unwrap();
        let done = folder.output("dist a.csv --columns x,y,z --pairs odd.csv -o odd.out.csv");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && said.contains(wanted), "{said}");
        assert!(said.contains("odd.csv"), "{said}");
        assert!(list.lines().count() < 3 || said.contains("row 1"), "{said}");
    }
    for (words, wanted) in [
        (
            "dist a.csv --columns x,y,z --pairs p.csv --condensed -o o.csv",
            "matrix",
        ),
        (
            "knn a.csv --columns x,y,z --pairs p.csv --ordered -k 1 -o o.npz",
            "domain = \"diagonal\" (--both-rows, with --pairs)",
        ),
        (
            "hist a.csv --columns x,y,z --batch time -o o.csv",
            "no column 'time'",
        ),
        (
            "dist a.csv --columns x,y,z --pairs missing.csv -o o.csv",
            "missing.csv",
        ),
    ] {
        let done = folder.output(words);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(
            !done.status.success() && said.contains(wanted),
            "{words}: {said}"
        );
    }
}

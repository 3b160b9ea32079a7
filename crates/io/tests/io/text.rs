//! CSV, TSV, blanks, XYZ.

use crate::scratch::{Scratch, explained, read, read_columns, refused, values};
use std::io::Write;
use zipfold_core::{Blame, Budget};
use zipfold_io::guard::Source;
use zipfold_io::xyz::read_xyz;
use zipfold_io::{ReadOptions, read_table};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn headers_comments_and_separators_are_found() {
    let scratch = Scratch::new();
    let expected = [1.0, 2.5, -3.0, 4e2];
    let cases: &[(&str, &[u8], bool)] = &[
        ("a.csv", b"# made by hand\nx,y\n1,2.5\n\n-3,4e2\n", true),
        ("b.csv", b"1,2.5\r\n-3,4e2\r\n", false),
        ("c.tsv", b"x\ty\n1\t2.5\n-3\t4e2", true),
        ("d.txt", b"# c\n  x   y\n1 2.5 \n\n -3\t4e2\n", true),
        ("e.dat", b"1 2.5\n-3 400\n", false),
        (
            "f.csv",
            b"\xef\xbb\xbfx,y\n\"1\",2.5\n-3 , 4e2\n   \n",
            true,
        ),
        ("G.CSV", b"x,y\n1,2.5\n-3,4e2\n", true),
    ];
    for (name, text, named) in cases {
        let table = read(&scratch.file(name, text)).unwrap();
        assert_eq!(
            (table.rows(), table.cols(), values(&table)),
            (2, 2, expected.to_vec()),
            "{name}"
        );
        assert_eq!(
            table.names().map(<[String]>::to_vec),
            named.then(|| vec!["x".to_owned(), "y".to_owned()]),
            "{name}"
        );
        if !name.contains("CSV") {
            let packed = read(&scratch.file(&format!("{name}.gz"), &gzip(text))).unwrap();
            assert_eq!(values(&packed), expected, "{name}.gz");
        }
    }
}

#[test]
fn missing_values_are_nan() {
    let scratch = Scratch::new();
    let table = read(&scratch.file("a.csv", b"x,y,z\n,NA,nan\n NaN ,inf,1\n")).unwrap();
    let got = values(&table);
    assert!(got[..4].iter().all(|v| v.is_nan()) && got[4] == f64::INFINITY && got[5] == 1.0);
}

#[test]
fn columns_are_chosen_by_name_and_number() {
    let scratch = Scratch::new();
    let path = scratch.file("a.csv", b"name,x,y\nann,1,2\nbob,3,4\n");
    let table = read_columns(&path, &["y", "x"]).unwrap();
    assert_eq!(
        (values(&table), table.names().unwrap().join(",")),
        (vec![2.0, 1.0, 4.0, 3.0], "y,x".to_owned())
    );
    assert_eq!(values(&read_columns(&path, &["1"]).unwrap()), [1.0, 3.0]);
    explained(
        &read_columns(&path, &["z"]).unwrap_err(),
        Blame::Request,
        &["'z'", "name, x, y"],
    );
    explained(
        &read_columns(&path, &["x", "x"]).unwrap_err(),
        Blame::Request,
        &["twice"],
    );
    explained(
        &read_columns(&path, &["7"]).unwrap_err(),
        Blame::Request,
        &["'7'"],
    );
    explained(
        &read_columns(&path, &[]).unwrap_err(),
        Blame::Request,
        &["no column"],
    );
    explained(
        &read_columns(&path, &["name", "x"]).unwrap_err(),
        Blame::Input,
        &["line 2", "'name'", "'ann'", "columns = [\"!name\"]"],
    );
    // Words name the rows.
    let all = read(&path).unwrap();
    assert_eq!(
        (values(&all), all.names().unwrap().join(",")),
        (vec![1.0, 2.0, 3.0, 4.0], "x,y".to_owned())
    );
    assert_eq!(
        (
            all.labels().unwrap().first().name.as_str(),
            all.labels().unwrap().first().get(1)
        ),
        ("name", "bob")
    );
}

#[test]
fn bad_text_is_refused_with_its_line() {
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("a.csv", b"", &["no rows"]),
        ("a.csv", b"# only\n\n", &["no rows"]),
        ("a.txt", b"   \n#\n", &["no rows"]),
        (
            "a.csv",
            b"x,y\n1,2\n3\n",
            &["line 3", "1 cells", "line 1 has 2"],
        ),
        ("a.csv", b"1,2\n3,4,5\n", &["line 2", "3 cells"]),
        ("a.tsv", b"1\t2\n3\n", &["line 2"]),
        ("a.txt", b"1 2\n# c\n3\n", &["line 3"]),
        (
            "a.csv",
            b"x,y\n1,2\n3,four\n",
            &["line 3", "'y'", "'four'", "columns = [\"!y\"]"],
        ),
        ("a.csv", b"1\n2\nx\n", &["line 3", "'x'"]),
        ("a.csv", b"x,x\n1,2\n", &["two columns", "'x'"]),
        (
            "a.csv",
            b"x\n9007199254740993\n",
            &["line 2", "9007199254740993", "2^53"],
        ),
        ("a.csv", b"x\n1;2\n", &["'1;2'"]),
        ("a.csv", b"x\n\xff\xfe\n", &["no column holds numbers"]),
        ("a.csv", b"x\n1,\n", &["line 2"]),
        ("a.xyz", b"", &["no frame"]),
        ("a.xyz", b"two\n\nH 0 0 0\n", &["line 1", "'two'"]),
        ("a.xyz", b"1\n", &["line 1", "claims 1 points"]),
        ("a.xyz", b"0\n", &["line 2", "comment"]),
        (
            "a.xyz",
            b"1000000000000\nc\nH 0 0 0\n",
            &["line 1", "1000000000000 points"],
        ),
        (
            "a.xyz",
            b"2\nc\nH 0.000 0.000 0.000\n",
            &["line 4", "1 of the 2"],
        ),
        ("a.xyz", b"1\nc\nH 0 0\n", &["line 3", "coordinate z"]),
        ("a.xyz", b"1\nc\nH 0 up 0\n", &["line 3", "'up'"]),
        (
            "a.xyz",
            b"1\nLattice=\"1 2 3\"\nH 0 0 0\n",
            &["line 2", "9 finite"],
        ),
        (
            "a.xyz",
            b"1\nLattice=\"1 0 0 0 1 0 0 0 nan\"\nH 0 0 0\n",
            &["line 2", "9 finite"],
        ),
        (
            "a.xyz",
            b"1\nProperties=species:S\nH 0 0 0\n",
            &["Properties"],
        ),
        (
            "a.xyz",
            b"1\nProperties=species:S:1\nH 0 0 0\n",
            &["pos:R:3"],
        ),
        (
            "a.xyz",
            b"1\nProperties=a:R:18446744073709551615:b:R:2:pos:R:3\nH 0 0 0\n",
            &["too many"],
        ),
        (
            "a.xyz",
            b"1\nProperties=a:R:1844674407370955161:pos:R:3\nH 0 0 0\n",
            &["line 3"],
        ),
    ];
    for (name, text, words) in cases {
        refused(name, text, Blame::Input, words);
    }
    refused(
        "a.csv.gz",
        &gzip(b"x\n1\n2\n")[..18],
        Blame::Input,
        &["damaged"],
    );
    refused(
        "a.xls",
        b"",
        Blame::Request,
        &[".npy", ".csv", ".xyz", ".gz"],
    );
    refused("a", b"", Blame::Request, &["suffix"]);
    refused("a.npy.gz", b"", Blame::Request, &["suffix"]);
}

#[test]
fn compressed_endless_lines_stop() {
    let scratch = Scratch::new();
    let zeros = vec![b'0'; (64 << 20) + (1 << 18)];
    for name in ["a.csv.gz", "a.txt.gz", "a.xyz.gz"] {
        let path = scratch.file(name, &gzip(&zeros));
        let read = read_table(&path, &ReadOptions::default(), &Budget::new(1 << 28));
        explained(&read.unwrap_err(), Blame::Input, &["64.0 MiB"]);
    }
    let many = scratch.file("b.csv.gz", &gzip(&b"1\n".repeat(1 << 20)));
    let error = read_table(&many, &ReadOptions::default(), &Budget::new(1 << 20)).unwrap_err();
    assert_eq!(error.blame(), Blame::Resource, "{error}");
}

#[test]
fn missing_files_and_folders_are_refused() {
    let scratch = Scratch::new();
    explained(
        &read(&scratch.path("none.csv")).unwrap_err(),
        Blame::Input,
        &["no such file"],
    );
    std::fs::create_dir(scratch.path("d.csv")).unwrap();
    explained(
        &read(&scratch.path("d.csv")).unwrap_err(),
        Blame::Input,
        &["folder"],
    );
}

#[test]
fn frames_of_xyz_keep_species_and_box() {
    let scratch = Scratch::new();
    let text = b"2\nLattice=\"9 0 0 0 8 0 0 0 7\" Properties=id:I:1:species:S:1:pos:R:3\n1 O 0 1 2\n2 H 3 4 5\n\n1\nplain\nC -1 -2 -3 0.5\n";
    let path = scratch.file("t.xyz", text);
    let budget = Budget::new(1 << 20);
    let frames = read_xyz(&Source::open(&path, &budget).unwrap(), &budget)
        .unwrap()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0].species, ["O", "H"]);
    assert_eq!(
        frames[0].lattice,
        Some([[9.0, 0.0, 0.0], [0.0, 8.0, 0.0], [0.0, 0.0, 7.0]])
    );
    assert_eq!(values(&frames[0].positions), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(
        (frames[1].comment.as_str(), frames[1].lattice),
        ("plain", None)
    );
    drop(frames);
    assert_eq!(budget.free(), 1 << 20);
    explained(
        &read(&path).unwrap_err(),
        Blame::Request,
        &["several frames"],
    );
    assert_eq!(
        values(&read(&format!("{path}:1")).unwrap()),
        [-1.0, -2.0, -3.0]
    );
    explained(
        &read(&format!("{path}:2")).unwrap_err(),
        Blame::Request,
        &["frame 2", "2 frames"],
    );
    explained(
        &read(&format!("{path}:last")).unwrap_err(),
        Blame::Request,
        &["'last'"],
    );
    let packed = scratch.file("t.xyz.gz", &gzip(b"1\nc\nH 1 2 3\n"));
    assert_eq!(values(&read(&packed).unwrap()), [1.0, 2.0, 3.0]);
}

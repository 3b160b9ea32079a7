//! Small files that unpack to much, and endless ones: refused near the budget, and none beyond it.

use crate::scratch::{Scratch, explained, read, refused, values};
use std::io::Write;
use zipfold_core::{Blame, Budget, Result, Table};
use zipfold_io::guard::{Source, UNPACKED_FREE};
use zipfold_io::network::read_network;
use zipfold_io::{ReadOptions, read_table};

const MIB: usize = 1 << 20;

/// `piece` written `times` times, by gzip.
fn gzip(start: &[u8], piece: &[u8], times: usize, end: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(start).unwrap();
    (0..times).for_each(|_| encoder.write_all(piece).unwrap());
    encoder.write_all(end).unwrap();
    encoder.finish().unwrap()
}

fn within(path: &str, bytes: u64) -> (Result<Table>, Budget) {
    let budget = Budget::new(bytes);
    let table = read_table(path, &ReadOptions::default(), &budget);
    (table, budget)
}

#[test]
fn packed_bombs_are_refused_within_the_budget() {
    let scratch = Scratch::new();
    let lines = b"a\n".repeat(MIB / 2);
    let commas = vec![b','; MIB];
    let names: String = (0..300_000).map(|i| format!("c{i},")).collect();
    let bombs = [
        ("quoted.csv.gz", gzip(b"x,y\n1,\"", &lines, 60, b"\"\n")),
        ("commas.csv.gz", gzip(b"", &commas, 30, b"\n")),
        ("names.csv.gz", gzip(names.as_bytes(), b"", 0, b"last\n")),
        ("rows.csv.gz", gzip(b"", &b"0\n".repeat(MIB / 2), 20, b"")),
        (
            "points.xyz.gz",
            gzip(b"10000000\nc\n", &b"O 0 0 0\n".repeat(MIB / 8), 20, b""),
        ),
        ("line.txt.gz", gzip(b"1 ", &b"1".repeat(MIB), 40, b"\n")),
    ];
    for (name, bytes) in bombs {
        let (table, budget) = within(&scratch.file(name, &bytes), 16 << 20);
        let error = table.expect_err(name);
        assert_eq!(error.blame(), Blame::Resource, "{name}: {error}");
        assert!(budget.peak() <= 16 << 20, "{name}");
        assert_eq!(budget.free(), 16 << 20, "{name}: something stays");
    }
    let comment = gzip(b"1\n", &[0xff; MIB], 3, b"\nO 0 0 0\n");
    explained(
        &read(&scratch.file("comment.xyz.gz", &comment)).unwrap_err(),
        Blame::Input,
        &["comment", "1.0 MiB"],
    );
}

#[test]
fn what_unpacks_without_end_stops() {
    let scratch = Scratch::new();
    let blank = scratch.file(
        "blank.csv.gz",
        &gzip(
            b"1,2\n",
            &b"\n".repeat(MIB),
            (UNPACKED_FREE >> 20) as usize + 1,
            b"",
        ),
    );
    explained(
        &read(&blank).unwrap_err(),
        Blame::Input,
        &["256.0 MiB", "200 times", "unpack it"],
    );
    let blanks = scratch.file("blanks.uai.xz", include_bytes!("blanks.uai.xz"));
    let budget = Budget::new(16 << 20);
    let error = read_network(blanks.as_ref(), &budget).unwrap_err();
    assert_eq!(error.blame(), Blame::Resource, "{error}");
    assert_eq!(budget.free(), 16 << 20);
    let endless = Source::open("/dev/zero", &Budget::new(1 << 20)).unwrap_err();
    assert_eq!(endless.blame(), Blame::Resource, "{endless}");
}

#[test]
fn tables_packed_by_xz_are_read() {
    const TABLE: &str = "fd377a585a000004e6d6b4460200210116000000742fe5a301000b782c790a312c320a332c340a00781daa182974d9640001240ca618d8d81fb6f37d010000000004595a";
    let bytes: Vec<u8> = (0..TABLE.len() / 2)
        .map(|i| u8::from_str_radix(&TABLE[2 * i..2 * i + 2], 16).unwrap())
        .collect();
    let scratch = Scratch::new();
    let table = read(&scratch.file("t.csv.xz", &bytes)).unwrap();
    assert_eq!(values(&table), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(table.names().unwrap(), ["x", "y"]);
    refused("t.csv.xz", &bytes[..40], Blame::Input, &["damaged"]);
    refused("t.npy.xz", &bytes, Blame::Request, &["suffix"]);
}

#[test]
fn first_rows_with_a_slip_of_the_pen_are_no_headers() {
    refused(
        "a.csv",
        b"0x10,1\n2,3\n",
        Blame::Input,
        &["line 1", "'0x10'", "header"],
    );
    refused("a.csv", b"1,5e\n2,3\n", Blame::Input, &["column 2", "'5e'"]);
    let scratch = Scratch::new();
    for header in [
        "id,2019,2020\n1,2,3\n",
        "1st,2nd,x\n1,2,3\n",
        ",,\n1,2,3\n",
        "x,,y\n1,2,3\n",
    ] {
        let table = read(&scratch.file("h.csv", header.as_bytes())).unwrap();
        assert_eq!(
            (table.rows(), table.cols()),
            (if header.starts_with(',') { 2 } else { 1 }, 3),
            "{header}"
        );
    }
}

#[test]
fn numbers_that_no_double_holds_are_refused() {
    refused(
        "a.csv",
        b"a\n1e999\n",
        Blame::Input,
        &["'1e999'", "double precision"],
    );
    refused("a.xyz", b"1\n\nH 1e999 0 0\n", Blame::Input, &["'1e999'"]);
    refused(
        "a.csv",
        b"id\n18446744073709551617\n",
        Blame::Input,
        &["18446744073709551617"],
    );
    refused(
        "a.csv",
        &[&b"a\n"[..], &[b'9'; 400], b"\n"].concat(),
        Blame::Input,
        &["9999"],
    );
    let scratch = Scratch::new();
    let table =
        read(&scratch.file("i.csv", b"a\ninf\n-Infinity\n18446744073709551616\n1e300\n")).unwrap();
    assert_eq!(
        values(&table),
        [
            f64::INFINITY,
            f64::NEG_INFINITY,
            18446744073709551616.0,
            1e300
        ]
    );
}

#[test]
fn empty_lines_are_empty_cells_of_one_column() {
    let scratch = Scratch::new();
    let one = values(&read(&scratch.file("a.csv", b"\na\n1\n\n  \n3\n\n\n")).unwrap());
    assert!(
        one.len() == 4 && one[0] == 1.0 && one[1].is_nan() && one[2].is_nan() && one[3] == 3.0,
        "{one:?}"
    );
    assert_eq!(
        values(&read(&scratch.file("b.csv", b"1,2\n\n3,4\n")).unwrap()),
        [1.0, 2.0, 3.0, 4.0]
    );
    assert_eq!(
        values(&read(&scratch.file("c.txt", b"1\n\n3\n")).unwrap()),
        [1.0, 3.0]
    );
}

#[test]
fn quoted_cells_and_line_ends_are_those_of_rfc_4180() {
    let scratch = Scratch::new();
    let cases: [(&[u8], &[f64]); 7] = [
        (b"a,b\r1,2\r3,4\r", &[1.0, 2.0, 3.0, 4.0]),
        (b"a,b\r\n1,2\n\r\n3,4\r5,6", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        (b"\"a,\"\"b\",\"c\nd\"\n\"1\",\"2\"\n", &[1.0, 2.0]),
        (b"\xef\xbb\xbfa,b\n1,2\n", &[1.0, 2.0]),
        (b"#x\na,b\n# \"\n1,2\n", &[1.0, 2.0]),
        (b"a\n\"1\"5\n", &[15.0]),
        (b"1,2\n\"3\",\" 4 \"", &[1.0, 2.0, 3.0, 4.0]),
    ];
    for (text, expected) in cases {
        let table = read(&scratch.file("q.csv", text)).unwrap();
        assert_eq!(
            values(&table),
            expected,
            "{}",
            String::from_utf8_lossy(text)
        );
    }
    let named = read(&scratch.file("n.csv", b"\"a,\"\"b\",\"c\nd\"\n1,2\n")).unwrap();
    assert_eq!(named.names().unwrap(), ["a,\"b", "c\nd"]);
    refused(
        "o.csv",
        b"a,b\n1,\"2\n3,4\n",
        Blame::Input,
        &["line 2", "does not end"],
    );
    // Across the reader's own pieces of text.
    let long = format!("a,b\r\n{}", "1.5,\"2\r\n\"\r\n".repeat(20_000));
    assert_eq!(
        read(&scratch.file("l.csv", long.as_bytes()))
            .unwrap()
            .rows(),
        20_000
    );
}

#[test]
fn many_columns_are_found_in_time() {
    let scratch = Scratch::new();
    let names: Vec<String> = (0..40_000).map(|i| format!("c{i}")).collect();
    let text = format!(
        "{}\n{}\n",
        names.join(","),
        vec!["1"; names.len()].join(",")
    );
    let path = scratch.file("w.csv", text.as_bytes());
    let start = std::time::Instant::now();
    let wanted: Vec<String> = names.iter().rev().cloned().collect();
    let options = ReadOptions {
        columns: Some(wanted.clone()),
        ..ReadOptions::default()
    };
    let table = read_table(&path, &options, &Budget::new(1 << 28)).unwrap();
    assert_eq!(table.names().unwrap(), wanted);
    let again = table.select(&names, &Budget::new(1 << 28)).unwrap();
    assert_eq!(again.names().unwrap(), names);
    // Squares of 40 000 take tens of seconds.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

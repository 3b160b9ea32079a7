//! Atomic outputs, text and the array that is filled in place.

use crate::scratch::{Scratch, explained, read, values};
use std::io::Write;
use zipfold_core::{Blame, Budget, Table, Words};
use zipfold_io::rows_write::{CellKind, Cells, RowsWriter};
use zipfold_io::{
    Column, NpyFile, Output, OutputOptions, ReadOptions, read_table, write_array, write_columns,
};

const KEEP: OutputOptions = OutputOptions {
    force: false,
    durable: false,
};
const FORCE: OutputOptions = OutputOptions {
    force: true,
    durable: true,
};

#[test]
fn an_output_appears_whole_or_not_at_all() {
    let scratch = Scratch::new();
    let path = scratch.path("a.txt");
    let mut out = Output::create(&path, KEEP).unwrap();
    out.write_all(b"half").unwrap();
    assert!(!std::path::Path::new(&path).exists());
    drop(out);
    assert!(scratch.names().is_empty());
    let mut out = Output::create(&path, KEEP).unwrap();
    out.write_all(b"whole").unwrap();
    out.commit().unwrap();
    assert_eq!(scratch.names(), ["a.txt"]);
    explained(
        &Output::create(&path, KEEP).unwrap_err(),
        Blame::Request,
        &["exists", "force"],
    );
    let mut out = Output::create(&path, FORCE).unwrap();
    out.write_all(b"new").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    out.commit().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_target_that_appears_meanwhile_is_kept() {
    let scratch = Scratch::new();
    let path = scratch.path("a.txt");
    let mut out = Output::create(&path, KEEP).unwrap();
    out.write_all(b"mine").unwrap();
    std::fs::write(&path, b"theirs").unwrap();
    explained(&out.commit().unwrap_err(), Blame::Request, &["exists"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    assert_eq!(scratch.names(), ["a.txt"]);
}

#[test]
fn symbolic_links_and_devices_stay() {
    let scratch = Scratch::new();
    let (real, link) = (scratch.file("real.txt", b"old"), scratch.path("link.txt"));
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut out = Output::create(&link, FORCE).unwrap();
    out.write_all(b"new").unwrap();
    out.commit().unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read(&real).unwrap(), b"new");
    let mut out = Output::create("/dev/null", KEEP).unwrap();
    out.write_all(b"gone").unwrap();
    out.commit().unwrap();
}

#[test]
fn a_full_disk_is_a_resource_error() {
    if std::path::Path::new("/dev/full").exists() {
        let mut out = Output::create("/dev/full", KEEP).unwrap();
        let written = out
            .write_all(&[0; 1 << 20])
            .map_err(|e| out.error(&e))
            .and_then(|()| out.commit());
        explained(&written.unwrap_err(), Blame::Resource, &["full"]);
    }
}

#[test]
fn places_that_cannot_be_written_are_refused_at_the_start() {
    let scratch = Scratch::new();
    let file = scratch.file("f", b"");
    for (path, word) in [
        (scratch.path("none/a.csv"), "folder"),
        (format!("{file}/a.csv"), "not a folder"),
        (scratch.path(""), "folder"),
    ] {
        explained(
            &Output::create(&path, KEEP).unwrap_err(),
            Blame::Request,
            &[word],
        );
    }
    let long = scratch.path(&"n".repeat(300));
    explained(
        &Output::create(&long, KEEP).unwrap_err(),
        Blame::Request,
        &["long"],
    );
    explained(
        &NpyFile::create::<f64>(&scratch.path("none/d.npy"), &[2], KEEP).unwrap_err(),
        Blame::Request,
        &["folder"],
    );
}

#[test]
fn columns_return_from_text() {
    let scratch = Scratch::new();
    let columns = [
        ("lo", Column::F64(&[0.0, 0.1])),
        ("count", Column::U64(&[3, 1 << 60])),
        ("v,w", Column::F32(&[1e-7, 1e20])),
    ];
    let comments = ["rule: right-open".to_owned(), "a\nb".to_owned()];
    let path = scratch.path("h.csv");
    write_columns(&path, &columns, &comments, KEEP).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "# rule: right-open\n# a\n# b\nlo,count,\"v,w\"\n0.0,3,1e-7\n0.1,1152921504606846976,1e20\n"
    );
    let table = read(&path).unwrap();
    assert_eq!(table.names().unwrap(), ["lo", "count", "v,w"]);
    assert_eq!(table.get(1, 0), 0.1);
    write_columns(&scratch.path("h.tsv"), &columns[..2], &[], KEEP).unwrap();
    assert_eq!(
        read(&scratch.path("h.tsv")).unwrap().get(1, 1),
        (1u64 << 60) as f64
    );
    explained(
        &write_columns(&scratch.path("h.xls"), &columns, &[], KEEP).unwrap_err(),
        Blame::Request,
        &[".csv .tsv"],
    );
    explained(
        &write_columns(&scratch.path("h.csv.gz"), &columns, &[], KEEP).unwrap_err(),
        Blame::Request,
        &["suffix"],
    );
    let uneven = [("a", Column::I64(&[1])), ("b", Column::I64(&[]))];
    assert_eq!(
        write_columns(&scratch.path("u.csv"), &uneven, &[], KEEP)
            .unwrap_err()
            .blame(),
        Blame::Internal
    );
    assert_eq!(scratch.names(), ["h.csv", "h.tsv"]);
}

#[test]
fn arrays_return_from_text() {
    let scratch = Scratch::new();
    let data = [1.0, -0.0, f64::MIN_POSITIVE, 1.0 / 3.0, f64::MAX, f64::NAN];
    write_array(&scratch.path("a.csv"), &[2, 3], Column::F64(&data), KEEP).unwrap();
    let back = values(&read(&scratch.path("a.csv")).unwrap());
    assert!(
        back.iter()
            .zip(data)
            .all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
    );
    explained(
        &write_array(&scratch.path("b.csv"), &[1, 2, 3], Column::F64(&data), KEEP).unwrap_err(),
        Blame::Request,
        &["3 dimensions"],
    );
    assert_eq!(
        write_array(&scratch.path("b.npy"), &[7], Column::F64(&data), KEEP)
            .unwrap_err()
            .blame(),
        Blame::Internal
    );
}

#[test]
fn threads_fill_an_array_in_place() {
    let scratch = Scratch::new();
    let path = scratch.path("d.npy");
    let file = NpyFile::create::<f64>(&path, &[100, 100], KEEP).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let file = &file;
            scope.spawn(move || {
                for row in (thread..100).step_by(4) {
                    let cells: Vec<f64> = (0..100).map(|col| (row * 100 + col) as f64).collect();
                    file.write(row * 100, &cells).unwrap();
                }
            });
        }
    });
    explained_internal(file.write(9_999, &[1.0, 2.0]));
    explained_internal(file.write(0, &[1.0f32]));
    assert!(!std::path::Path::new(&path).exists());
    file.publish().unwrap();
    let table = read(&path).unwrap();
    assert!(
        values(&table)
            .iter()
            .enumerate()
            .all(|(at, v)| *v == at as f64)
    );
    explained(
        &NpyFile::create::<f64>(&path, &[1], KEEP).unwrap_err(),
        Blame::Request,
        &["exists"],
    );
    assert_eq!(scratch.names(), ["d.npy"]);
}

fn explained_internal(done: zipfold_core::Result<()>) {
    assert_eq!(done.unwrap_err().blame(), Blame::Internal);
}

#[test]
fn an_unfinished_array_is_resumed_or_removed() {
    let scratch = Scratch::new();
    let path = scratch.path("d.npy");
    explained(
        &NpyFile::resume::<f32>(&path, &[4], KEEP).unwrap_err(),
        Blame::Request,
        &["resume"],
    );
    drop(NpyFile::create::<f32>(&path, &[4], KEEP).unwrap());
    assert!(scratch.names().is_empty());
    let first = NpyFile::create::<f32>(&path, &[4], KEEP).unwrap();
    first.write(0, &[1.0f32, 2.0]).unwrap();
    first.sync().unwrap();
    explained(
        &NpyFile::create::<f32>(&path, &[4], KEEP).unwrap_err(),
        Blame::Request,
        &["another run"],
    );
    first.keep();
    drop(first);
    explained(
        &NpyFile::resume::<f64>(&path, &[4], KEEP).unwrap_err(),
        Blame::Request,
        &["<f8"],
    );
    explained(
        &NpyFile::resume::<f32>(&path, &[5], KEEP).unwrap_err(),
        Blame::Request,
        &["(5,)"],
    );
    let second = NpyFile::resume::<f32>(&path, &[4], FORCE).unwrap();
    second.write(2, &[3.0f32, 4.0]).unwrap();
    second.publish().unwrap();
    assert_eq!(values(&read(&path).unwrap()), [1.0, 2.0, 3.0, 4.0]);
    let huge =
        NpyFile::create::<f64>(&scratch.path("e.npy"), &[1 << 40, 1 << 40], KEEP).unwrap_err();
    explained(&huge, Blame::Request, &["larger than any file"]);
    let large =
        NpyFile::create::<f64>(&scratch.path("e.npy"), &[1 << 31, 1 << 30], KEEP).unwrap_err();
    explained(&large, Blame::Request, &["larger than any file"]);
    assert_eq!(scratch.names(), ["d.npy"]);
}

#[test]
fn a_text_that_begins_as_a_comment_and_a_row_of_one_null_are_read_back() {
    let scratch = Scratch::new();
    let words = Words::from_words("tag", ["a", "#b", "", "# c, d"]);
    let tags = Cells::Words(words, vec![0, 1, 2, 3]);
    let numbers = Cells::Numbers(vec![1.5, f64::NAN, 2.0, f64::NAN]);
    let budget = Budget::new(1 << 24);
    let write = |name: &str, columns: &[(&str, CellKind)], cells: &[Cells]| {
        let path = scratch.path(name);
        let named: Vec<_> = columns
            .iter()
            .map(|(name, kind)| ((*name).to_string(), *kind))
            .collect();
        let mut file = RowsWriter::create(&path, &named, &["a note".to_string()], FORCE).unwrap();
        file.push(cells).unwrap();
        file.finish().unwrap();
        read_table(&path, &ReadOptions::default(), &budget).unwrap()
    };
    let tag = |table: &Table, row| table.labels().unwrap().columns()[0].get(row).to_string();
    for suffix in ["csv", "tsv"] {
        let kinds = [("tag", CellKind::Word), ("number", CellKind::Number)];
        let both = write(
            &format!("a.{suffix}"),
            &kinds,
            &[tags.clone(), numbers.clone()],
        );
        let found: Vec<String> = (0..both.rows()).map(|row| tag(&both, row)).collect();
        assert_eq!(found, ["a", "#b", "", "# c, d"]);
        let one = write(
            &format!("b.{suffix}"),
            &kinds[1..],
            std::slice::from_ref(&numbers),
        );
        let found: Vec<f64> = (0..one.rows()).map(|row| one.get(row, 0)).collect();
        assert_eq!((found.len(), found[0], found[2]), (4, 1.5, 2.0));
        assert!(found[1].is_nan() && found[3].is_nan());
        let whole = Cells::Whole(vec![f64::NAN, 3.0]);
        let one = write(&format!("c.{suffix}"), &[("n", CellKind::Whole)], &[whole]);
        assert_eq!((one.rows(), one.get(1, 0)), (2, 3.0));
    }
}

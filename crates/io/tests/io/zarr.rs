//! Zarr arrays that zarr-python wrote (`tests/zarr/make.py`): every codec, order and type, what is
//! refused, and damage.

use std::fs;
use std::path::{Path, PathBuf};
use zipfold_core::{Blame, Budget, Precision, Result, Table};
use zipfold_io::{ReadOptions, read_rows, read_table};

fn arrays() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zarr")
}

fn read(path: &Path) -> Result<Table> {
    let name = path.to_string_lossy();
    read_table(&name, &ReadOptions::default(), &Budget::new(1 << 20))
}

fn names(start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(arrays()).unwrap();
    let all = entries.map(|e| e.unwrap().path());
    let named = |p: &PathBuf| p.file_name().unwrap().to_string_lossy().starts_with(start);
    let mut all: Vec<PathBuf> = all.filter(named).collect();
    all.sort();
    all
}

/// The number in a row and a column of the arrays.
fn wanted(row: usize, col: usize) -> f64 {
    row as f64 * 10.0 + col as f64 / 4.0
}

#[test]
fn every_codec_gives_the_numbers_that_were_written() {
    let all = [names("two-"), names("three-")].concat();
    assert_eq!(all.len(), 18);
    for path in all {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let table = read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let single = ["two-blosc-single", "three-small"].contains(&&*name);
        assert_eq!(table.precision() == Precision::F32, single, "{name}");
        let (cols, first, times) = match &*name {
            "two-vector" => (1, 1, 1.0),
            "two-big" => (5, 0, 4.0),
            _ => (5, 0, 1.0),
        };
        assert_eq!([table.rows(), table.cols()], [64, cols], "{name}");
        for row in 0..64 {
            for col in 0..cols {
                let value = table.get(row, col);
                let there = name != "two-missing" || (row < 40 && col < 3);
                let right = wanted(row, first + col) * times;
                assert!(
                    if there {
                        value == right
                    } else {
                        value.is_nan()
                    },
                    "{name} {row} {col}: {value}"
                );
            }
        }
    }
}

fn rows(path: &Path, rows: std::ops::Range<usize>) -> Result<Option<Table>> {
    let name = path.to_string_lossy();
    read_rows(&name, &rows, &ReadOptions::default(), &Budget::new(1 << 20))
}

#[test]
fn some_rows_are_those_of_the_whole_array() {
    for path in [names("two-"), names("three-")].concat() {
        let (name, all) = (path.to_string_lossy(), read(&path).unwrap());
        for range in [0..64, 0..1, 19..41, 63..64, 5..5, 64..64] {
            let some = rows(&path, range.clone()).unwrap().unwrap();
            assert_eq!([some.rows(), some.cols()], [all.rows(), all.cols()]);
            for (row, col) in range.flat_map(|row| (0..all.cols()).map(move |col| (row, col))) {
                let [got, wanted] = [&some, &all].map(|table| table.get(row, col).to_bits());
                assert_eq!(got, wanted, "{name} {row} {col}");
            }
        }
        assert!(rows(&path, 60..65).unwrap().is_none(), "{name}");
    }
}

#[test]
fn chunks_of_other_rows_are_not_read() {
    let folder = std::env::temp_dir().join(format!("zipfold-zarr-rows-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let from = arrays().join("two-plain");
    fs::create_dir_all(&folder).unwrap();
    let mut chunks = vec![];
    for file in zipfold_io::zarr::files(&from).unwrap() {
        let to = folder.join(file.file_name().unwrap());
        fs::copy(&file, &to).unwrap();
        chunks.push(to);
    }
    // The chunks of the last rows.
    let number = |path: &PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        name.split('.').next()?.parse::<usize>().ok()
    };
    let last = chunks.iter().filter_map(number).max().unwrap();
    assert!(last > 0, "one chunk is all");
    for chunk in chunks.iter().filter(|chunk| number(chunk) == Some(last)) {
        fs::write(chunk, "damaged").unwrap();
    }
    assert!(read(&folder).is_err() && rows(&folder, 60..64).is_err());
    let some = rows(&folder, 0..5).unwrap().unwrap();
    assert_eq!(some.get(4, 3), wanted(4, 3));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn chosen_columns_are_read_alone() {
    let options = ReadOptions {
        columns: Some(vec!["3".into(), "1".into()]),
        ..ReadOptions::default()
    };
    let name = arrays().join("three-plain").to_string_lossy().into_owned();
    let table = read_table(&name, &options, &Budget::new(1 << 20)).unwrap();
    assert_eq!(
        [table.get(7, 0), table.get(7, 1)],
        [wanted(7, 3), wanted(7, 1)]
    );
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    for (name, says) in [
        ("odd-bits", "bitshuffle"),
        ("odd-blosclz", "blosclz"),
        ("odd-lzma", "lzma"),
        ("odd-filters", "filters"),
        ("odd-three", "got 3"),
        ("odd-sharded", "sharding_indexed"),
        ("odd-group", "expected an array, got \"group\""),
    ] {
        let e = read(&arrays().join(name)).unwrap_err();
        assert!(
            e.to_string().contains(says) && e.blame() == Blame::Request,
            "{name}: {e}"
        );
    }
    let e = read(Path::new("https://example.org/points.npy")).unwrap_err();
    assert!(e.to_string().contains("zf.read(URL) in Python"), "{e}");
    let secret = "https://user:pw123@example.org/a@b.npy?X-Amz-Signature=abc#d";
    let e = read(Path::new(secret)).unwrap_err().to_string();
    assert!(e.contains("https://example.org/a@b.npy"), "{e}");
    let told = ["pw123", "user", "abc"].iter().any(|part| e.contains(part));
    assert!(!told, "{e}");
    let tight = Budget::new(3000);
    let name = arrays().join("two-plain").to_string_lossy().into_owned();
    let e = read_table(&name, &ReadOptions::default(), &tight).unwrap_err();
    assert_eq!(e.blame(), Blame::Resource, "{e}");
}

/// A copy of the array `name` in a folder of its own.
fn copy(name: &str, to: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("zipfold-zarr-{to}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    for file in zipfold_io::zarr::files(&arrays().join(name)).unwrap() {
        let to = folder.join(file.strip_prefix(arrays().join(name)).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, &to).unwrap();
    }
    folder
}

/// Reads the metadata `file` of the array, changes them, and writes them again.
fn change(file: &Path, change: impl Fn(&mut serde_json::Value)) {
    let mut json = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    change(&mut json);
    fs::write(file, json.to_string()).unwrap();
}

#[test]
fn a_chunk_that_cannot_be_seen_is_not_missing() {
    let folder = copy("two-plain", "unseen");
    let mut files = zipfold_io::zarr::files(&folder).unwrap();
    let chunk = files.pop().unwrap();
    fs::remove_file(&chunk).unwrap();
    assert!(read(&folder).is_ok());
    std::os::unix::fs::symlink(folder.join("none"), &chunk).unwrap();
    let e = read(&folder).unwrap_err();
    assert_eq!(e.blame(), Blame::Input, "{e}");
    assert!(zipfold_io::zarr::files(&folder).is_err());
    fs::remove_file(&chunk).unwrap();
    fs::create_dir(folder.join("below")).unwrap();
    std::os::unix::fs::symlink(&folder, folder.join("below/round")).unwrap();
    let e = zipfold_io::zarr::files(&folder).unwrap_err();
    assert!(e.to_string().contains("got a link"), "{e}");
    fs::remove_dir_all(&folder).unwrap();
    assert!(zipfold_io::zarr::files(&folder).is_err());
    // What should be a folder is a file.
    let folder = copy("three-plain", "file");
    fs::remove_dir_all(folder.join("c")).unwrap();
    assert!(read(&folder).is_ok(), "all chunks are missing");
    fs::write(folder.join("c"), b"").unwrap();
    assert_eq!(read(&folder).unwrap_err().blame(), Blame::Input);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn names_of_chunks_are_those_of_the_metadata_or_refused() {
    let folder = copy("three-plain", "keys");
    let good = fs::read(folder.join("zarr.json")).unwrap();
    for (key, value, says) in [
        ("name", "other", "default, v2"),
        ("separator", "-", ". or /"),
        ("format", "4", "zarr_format"),
        ("separator", ".", "other names"),
    ] {
        change(&folder.join("zarr.json"), |json| match key {
            "name" => json["chunk_key_encoding"]["name"] = value.into(),
            "format" => json["zarr_format"] = value.into(),
            _ => json["chunk_key_encoding"]["configuration"] = serde_json::json!({key: value}),
        });
        let e = read(&folder).unwrap_err();
        assert!(e.to_string().contains(says), "{key} {value}: {e}");
        fs::write(folder.join("zarr.json"), &good).unwrap();
    }
    assert_eq!(read(&folder).unwrap().get(5, 2), wanted(5, 2));
    fs::remove_dir_all(&folder).unwrap();
    // Version 2 without a separator: either.
    let folder = copy("two-plain", "either");
    change(&folder.join(".zarray"), |json| {
        json.as_object_mut().unwrap().remove("dimension_separator");
    });
    assert_eq!(read(&folder).unwrap().get(5, 2), wanted(5, 2));
    for file in zipfold_io::zarr::files(&folder).unwrap() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if let Some((i, j)) = name.split_once('.').filter(|(i, _)| !i.is_empty()) {
            fs::create_dir_all(folder.join(i)).unwrap();
            fs::rename(&file, folder.join(i).join(j)).unwrap();
        }
    }
    assert_eq!(read(&folder).unwrap().get(5, 2), wanted(5, 2));
    change(&folder.join(".zarray"), |json| {
        json["dimension_separator"] = ".".into()
    });
    assert!(
        read(&folder)
            .unwrap_err()
            .to_string()
            .contains("other names")
    );
    // No rows of any width, and no width of any rows, take no time.
    for shape in [[1u64 << 59, 0], [0, 1 << 59]] {
        change(&folder.join(".zarray"), |json| {
            json["shape"] = shape.to_vec().into()
        });
        let table = read(&folder).unwrap();
        assert_eq!([table.rows() as u64, table.cols() as u64], shape);
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn damage_is_an_error_or_another_number_and_never_more() {
    let folder = std::env::temp_dir().join(format!("zipfold-zarr-{}", std::process::id()));
    for name in [
        "two-plain",
        "two-zlib",
        "two-blosc-lz4",
        "two-blosc-zlib",
        "three-blosc",
        "three-gzip",
    ] {
        let _ = fs::remove_dir_all(&folder);
        let files = zipfold_io::zarr::files(&arrays().join(name)).unwrap();
        let mut copies = vec![];
        for file in &files {
            let to = folder.join(file.strip_prefix(arrays().join(name)).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(file, &to).unwrap();
            copies.push(to);
        }
        for copy in &copies {
            let good = fs::read(copy).unwrap();
            let step = (good.len() / 25).max(1);
            for at in (0..good.len()).step_by(step).chain(0..good.len().min(24)) {
                for bits in [1, 0xff] {
                    let mut bad = good.clone();
                    bad[at] ^= bits;
                    fs::write(copy, &bad).unwrap();
                    // Within the budget, and without a panic.
                    let _ = read(&folder);
                }
                fs::write(copy, &good[..at]).unwrap();
                let short = read(&folder);
                assert!(short.is_err(), "{name}: {} cut at {at}", copy.display());
            }
            fs::write(copy, &good).unwrap();
        }
        assert_eq!(read(&folder).unwrap().get(5, 2), wanted(5, 2), "{name}");
    }
    fs::remove_dir_all(folder).unwrap();
}

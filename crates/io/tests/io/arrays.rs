//! NPY and NPZ.

use crate::scratch::{Scratch, explained, read, read_columns, refused, values};
use std::io::Write;
use zipfold_core::{Blame, Budget, Precision};
use zipfold_io::guard::Source;
use zipfold_io::npy::{read_npy_array, write_npy};
use zipfold_io::npz::{npz_names, read_npz_array};
use zipfold_io::write::write_arrays;
use zipfold_io::{Column, OutputOptions, ReadOptions, read_table, write_array, write_columns};

/// An NPY file as NumPy writes it, with any header text.
pub(crate) fn npy(version: u8, dict: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    let before = if version == 1 { 10 } else { 12 };
    let total = (before + dict.len() + 1).next_multiple_of(64);
    let len = (total - before) as u32;
    out.extend(&len.to_le_bytes()[..if version == 1 { 2 } else { 4 }]);
    out.extend(dict.as_bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    out.extend(data);
    out
}

fn dict(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

fn bytes_of(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn every_numeric_type_is_read() {
    let scratch = Scratch::new();
    let cases: &[(&str, Vec<u8>)] = &[
        ("<f8", bytes_of(&[1.0, 2.0])),
        (
            ">f8",
            [1.0f64, 2.0].iter().flat_map(|v| v.to_be_bytes()).collect(),
        ),
        ("=f8", bytes_of(&[1.0, 2.0])),
        (
            "<f4",
            [1.0f32, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        (
            ">f4",
            [1.0f32, 2.0].iter().flat_map(|v| v.to_be_bytes()).collect(),
        ),
        ("<f2", vec![0, 0x3c, 0, 0x40]),
        (">f2", vec![0x3c, 0, 0x40, 0]),
        ("|i1", vec![1, 2]),
        ("|u1", vec![1, 2]),
        ("<i2", vec![1, 0, 2, 0]),
        (">u2", vec![0, 1, 0, 2]),
        (">i4", vec![0, 0, 0, 1, 0, 0, 0, 2]),
        ("<u4", vec![1, 0, 0, 0, 2, 0, 0, 0]),
        (
            "<i8",
            [1i64, 2].iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        (
            ">u8",
            [1u64, 2].iter().flat_map(|v| v.to_be_bytes()).collect(),
        ),
    ];
    for (descr, data) in cases {
        for version in 1..=3 {
            let table =
                read(&scratch.file("a.npy", &npy(version, &dict(descr, "False", "(2,)"), data)))
                    .unwrap();
            assert_eq!(
                (table.rows(), table.cols(), values(&table)),
                (2, 1, vec![1.0, 2.0]),
                "{descr}"
            );
            let single = descr.ends_with("f4") || descr.ends_with("f2");
            assert_eq!(table.precision() == Precision::F32, single, "{descr}");
        }
    }
    let table =
        read(&scratch.file("b.npy", &npy(1, &dict("|b1", "False", "(2, 1)"), &[0, 1]))).unwrap();
    assert_eq!(values(&table), [0.0, 1.0]);
    let signed = read(&scratch.file(
        "s.npy",
        &npy(1, &dict("<i2", "False", "(1,)"), &[0xff, 0xff]),
    ))
    .unwrap();
    assert_eq!(values(&signed), [-1.0]);
}

#[test]
fn fortran_order_is_turned() {
    let scratch = Scratch::new();
    let data = bytes_of(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let table =
        read(&scratch.file("f.npy", &npy(1, &dict("<f8", "True", "(3, 2)"), &data))).unwrap();
    assert_eq!(values(&table), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(
        values(&read_columns(&scratch.path("f.npy"), &["1"]).unwrap()),
        [2.0, 4.0, 6.0]
    );
}

#[test]
fn types_that_are_no_numbers_are_refused() {
    for (descr, word) in [
        ("<c16", "complex"),
        ("|O", "objects"),
        ("<U5", "text"),
        ("|S3", "text"),
        ("<M8[ns]", "dates"),
        ("<f16", "width"),
        ("<q", "not numbers"),
    ] {
        refused(
            "a.npy",
            &npy(1, &dict(descr, "False", "(1,)"), &[0; 64]),
            Blame::Input,
            &[word],
        );
    }
    let records = "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,), }";
    refused(
        "a.npy",
        &npy(1, records, &[0; 8]),
        Blame::Input,
        &["structured"],
    );
}

#[test]
fn damaged_headers_are_refused() {
    let good = dict("<f8", "False", "(1,)");
    let cases = [
        "",
        "{",
        "{}",
        "{'descr': '<f8'}",
        "{'descr' '<f8'}",
        "{'descr': '<f8",
        "{'fortran_order': Maybe}",
        "{'shape': (1, -2)}",
        "{'shape': (1 2)}",
        "{'shape': 3}",
        "{'shape': (99999999999999999999999,)}",
        "{'other': 1}",
        "[1]",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x",
    ];
    for case in cases {
        refused("a.npy", &npy(1, case, &[0; 8]), Blame::Input, &["byte"]);
    }
    let many = format!("({})", "1,".repeat(65));
    refused(
        "a.npy",
        &npy(1, &dict("<f8", "False", &many), &[0; 8]),
        Blame::Input,
        &["64 dimensions"],
    );
    refused(
        "a.npy",
        &npy(4, &good, &[0; 8]),
        Blame::Input,
        &["version 4", "byte 6"],
    );
    refused(
        "a.npy",
        b"\x93NUMPY\x01\x01\x02\x00{}\n",
        Blame::Input,
        &["NPY version 1.1 is unknown"],
    );
    refused(
        "a.npy",
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f and more",
        Blame::Input,
        &["64 KiB"],
    );
    refused(
        "a.npy",
        b"x,y\n1,2\n3,4\n",
        Blame::Input,
        &["not an NPY file"],
    );
    refused("a.npy", b"", Blame::Input, &["0 bytes"]);
    refused(
        "a.npy",
        &npy(1, &dict("<f8", "False", "()"), &[0; 8]),
        Blame::Input,
        &["single number"],
    );
    refused(
        "a.npy",
        &npy(1, &dict("<f8", "False", "(1, 1, 1)"), &[0; 8]),
        Blame::Input,
        &["reshape"],
    );
    refused(
        "a.npy",
        &npy(1, &dict("<f8", "False", "(1000000000000, 0)"), &[]),
        Blame::Input,
        &["no columns"],
    );
}

#[test]
fn a_small_file_that_claims_much_costs_nothing() {
    for shape in [
        "(1000000000000,)",
        "(1000000, 1000000)",
        "(4294967296, 4294967296)",
        "(18446744073709551615,)",
    ] {
        let bytes = npy(1, &dict("<f8", "False", shape), &[]);
        assert_eq!(bytes.len(), 128);
        let scratch = Scratch::new();
        let budget = Budget::unlimited();
        let error = read_table(
            &scratch.file("h.npy", &bytes),
            &ReadOptions::default(),
            &budget,
        )
        .unwrap_err();
        explained(&error, Blame::Input, &["h.npy", "byte 128", "only 0 bytes"]);
        assert_eq!(budget.peak(), 0);
    }
    let error = refused(
        "h.npy",
        &npy(1, &dict("<f8", "False", "(1000000000000,)"), &[]),
        Blame::Input,
        &[],
    );
    assert!(error.to_string().contains("8000000000000 bytes"), "{error}");
}

#[test]
fn integers_beyond_f64_name_their_byte() {
    let data: Vec<u8> = [1i64, (1 << 53) + 1]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    refused(
        "a.npy",
        &npy(1, &dict("<i8", "False", "(2,)"), &data),
        Blame::Input,
        &["9007199254740993", "byte 136", "2^53"],
    );
    let data = u64::MAX.to_le_bytes();
    refused(
        "a.npy",
        &npy(1, &dict("<u8", "False", "(1,)"), &data),
        Blame::Input,
        &["18446744073709551615"],
    );
}

#[test]
fn the_budget_is_asked_first_and_returned_last() {
    let scratch = Scratch::new();
    let path = scratch.path("a.npy");
    write_array(
        &path,
        &[1000, 3],
        Column::F64(&[1.5; 3000]),
        OutputOptions::default(),
    )
    .unwrap();
    let small = read_table(&path, &ReadOptions::default(), &Budget::new(10_000)).unwrap_err();
    assert_eq!(small.blame(), Blame::Resource);
    let budget = Budget::new(30_000);
    let table = read_table(&path, &ReadOptions::default(), &budget).unwrap();
    assert_eq!(budget.free(), 6_000);
    drop(table);
    assert_eq!(budget.free(), 30_000);
}

#[test]
fn arrays_of_any_shape_return() {
    let scratch = Scratch::new();
    let budget = Budget::unlimited();
    let path = scratch.path("a.npy");
    write_array(
        &path,
        &[2, 3, 2],
        Column::U64(&[7; 12]),
        OutputOptions::default(),
    )
    .unwrap();
    let array = read_npy_array(&Source::open(&path, &budget).unwrap(), &budget).unwrap();
    assert_eq!((array.shape, array.elements.get(11)), (vec![2, 3, 2], 7.0));
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 128 + 96);
    assert!(bytes.starts_with(
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3, 2), }"
    ));
    let mut out = Vec::new();
    assert!(write_npy(&mut out, &[3], &[1.0f32]).is_err());
}

#[test]
fn npz_members_return_by_name() {
    let scratch = Scratch::new();
    let budget = Budget::unlimited();
    let path = scratch.path("k.npz");
    let arrays: &[(&str, &[usize], Column<'_>)] = &[
        ("indices", &[2, 2], Column::I64(&[1, 2, 3, 4])),
        ("values", &[2, 2], Column::F32(&[0.5, 1.5, 2.5, 3.5])),
    ];
    write_arrays(&path, arrays, OutputOptions::default()).unwrap();
    let source = Source::open(&path, &budget).unwrap();
    assert_eq!(npz_names(&source, &budget).unwrap(), ["indices", "values"]);
    assert_eq!(
        read_npz_array(&source, Some("values.npy"), &budget)
            .unwrap()
            .shape,
        [2, 2]
    );
    assert_eq!(
        values(&read(&format!("{path}:indices")).unwrap()),
        [1.0, 2.0, 3.0, 4.0]
    );
    assert_eq!(
        read(&format!("{path}:values")).unwrap().precision(),
        Precision::F32
    );
    explained(
        &read(&path).unwrap_err(),
        Blame::Request,
        &["2 arrays", "indices, values"],
    );
    explained(
        &read(&format!("{path}:other")).unwrap_err(),
        Blame::Request,
        &["'other'", "indices, values"],
    );
    let one = scratch.path("one.npz");
    write_columns(
        &one,
        &[("x", Column::F64(&[1.0, 2.0]))],
        &[],
        OutputOptions::default(),
    )
    .unwrap();
    assert_eq!(values(&read(&one).unwrap()), [1.0, 2.0]);
}

/// An archive with one deflated member, its sizes as `claimed`.
pub(crate) fn deflated(member: &[u8], claimed: u32, method: u16, flags: u16) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(member).unwrap();
    let packed = encoder.finish().unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(member);
    let mut common = vec![20, 0];
    common.extend(flags.to_le_bytes());
    common.extend(method.to_le_bytes());
    common.extend([0; 4]);
    common.extend(crc.sum().to_le_bytes());
    common.extend((packed.len() as u32).to_le_bytes());
    common.extend(claimed.to_le_bytes());
    common.extend([5, 0, 0, 0]);
    let mut out = [&b"PK\x03\x04"[..], &common, b"x.npy", &packed].concat();
    let directory = out.len() as u32;
    out.extend([&b"PK\x01\x02\x14\x00"[..], &common, &[0; 14], b"x.npy"].concat());
    let len = out.len() as u32 - directory;
    out.extend(
        [
            &b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..],
            &len.to_le_bytes(),
            &directory.to_le_bytes(),
            &[0, 0],
        ]
        .concat(),
    );
    out
}

#[test]
fn deflated_members_are_read_and_bombs_are_not() {
    let scratch = Scratch::new();
    let member = npy(
        1,
        &dict("<f8", "False", "(3,)"),
        &bytes_of(&[1.0, 2.0, 3.0]),
    );
    let size = member.len() as u32;
    let table = read(&scratch.file("d.npz", &deflated(&member, size, 8, 0))).unwrap();
    assert_eq!(values(&table), [1.0, 2.0, 3.0]);
    refused(
        "a.npz",
        &deflated(&member, size, 12, 0),
        Blame::Input,
        &["method 12"],
    );
    refused(
        "a.npz",
        &deflated(&member, size, 8, 1),
        Blame::Input,
        &["encrypted"],
    );
    refused(
        "a.npz",
        &deflated(&member, u32::MAX - 1, 8, 0),
        Blame::Input,
        &["claims 4294967294 bytes"],
    );
    refused(
        "a.npz",
        &deflated(&member, size - 8, 8, 0),
        Blame::Input,
        &["claims 24 bytes"],
    );
    let huge = npy(1, &dict("<f8", "False", "(1000000000,)"), &[]);
    refused(
        "a.npz",
        &deflated(&huge, huge.len() as u32, 8, 0),
        Blame::Input,
        &["claims 8000000000 bytes"],
    );
    let mut flipped = deflated(&member, size, 8, 0);
    flipped[14] ^= 1;
    let central = flipped.len() - 22 - 51;
    flipped[central + 16] ^= 1;
    refused("a.npz", &flipped, Blame::Input, &["checksum"]);
    refused("a.npz", b"PK", Blame::Input, &["not an NPZ file"]);
}

#[test]
fn archives_that_contradict_themselves_are_refused() {
    let member = npy(
        1,
        &dict("<f8", "False", "(3,)"),
        &bytes_of(&[1.0, 2.0, 3.0]),
    );
    let whole = deflated(&member, member.len() as u32, 8, 0);
    let scratch = Scratch::new();
    read(&scratch.file("w.npz", &whole)).unwrap();
    for (at, what) in [(30, "name"), (14, "checksum"), (8, "method")] {
        let mut odd = whole.clone();
        odd[at] ^= 1;
        let error = read(&scratch.file("o.npz", &odd)).expect_err(what);
        explained(&error, Blame::Input, &["disagree"]);
    }
    // Two members of one name: the directory's entry twice.
    let end = whole.len() - 22;
    let directory = u32::from_le_bytes(whole[end + 16..end + 20].try_into().unwrap()) as usize;
    let entry = &whole[directory..end];
    let mut twice = [&whole[..end], entry, &whole[end..]].concat();
    let end = end + entry.len();
    twice[end + 8] = 2;
    twice[end + 10] = 2;
    twice[end + 12..end + 16].copy_from_slice(&(2 * entry.len() as u32).to_le_bytes());
    explained(
        &read(&scratch.file("t.npz", &twice)).unwrap_err(),
        Blame::Input,
        &["two members", "'x.npy'"],
    );
    // An archive behind another one, or behind other bytes, and one with bytes before its end.
    let end = whole.len() - 22;
    let gap = [&whole[..end], b"....", &whole[end..]].concat();
    for odd in [
        [&whole[..], &whole[..]].concat(),
        [b"....", &whole[..]].concat(),
        gap,
    ] {
        let error = read(&scratch.file("b.npz", &odd)).unwrap_err();
        explained(
            &error,
            Blame::Input,
            &["does not begin where the file does"],
        );
    }
}

#[test]
fn archives_written_to_pipes_are_read() {
    // Records of 64 bits stand before the end, though those of 32 bits say it all.
    let member = npy(
        1,
        &dict("<f8", "False", "(3,)"),
        &bytes_of(&[1.0, 2.0, 3.0]),
    );
    let whole = deflated(&member, member.len() as u32, 8, 0);
    let end = whole.len() - 22;
    let at = u32::from_le_bytes(whole[end + 16..end + 20].try_into().unwrap());
    let records = |at: u64| {
        let mut bytes = [
            b"PK\x06\x06",
            &44u64.to_le_bytes()[..],
            &[45, 3, 45, 0],
            &[0; 8],
        ]
        .concat();
        for number in [1, 1, end as u64 - at, at] {
            bytes.extend(number.to_le_bytes());
        }
        [
            &bytes,
            &b"PK\x06\x07\0\0\0\0"[..],
            &(end as u64).to_le_bytes(),
            &1u32.to_le_bytes(),
        ]
        .concat()
    };
    let scratch = Scratch::new();
    let piped = [&whole[..end], &records(u64::from(at)), &whole[end..]].concat();
    let table = read(&scratch.file("p.npz", &piped)).unwrap();
    assert_eq!(
        [0, 1, 2].map(|at| table.elements().get(at)),
        [1.0, 2.0, 3.0]
    );
    let wrong = [&whole[..end], &records(u64::from(at) - 1), &whole[end..]].concat();
    assert!(read(&scratch.file("q.npz", &wrong)).is_err());
}

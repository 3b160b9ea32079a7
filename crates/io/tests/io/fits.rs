//! Binary tables of FITS files: every form of a column, and what is refused.

use zipfold_core::{Blame, Budget, Result, Table};
use zipfold_io::guard::Source;
use zipfold_io::read::read_source;
use zipfold_io::{Format, ReadOptions};

/// A header of these cards, filled up to a block.
fn header(cards: &[(&str, String)]) -> Vec<u8> {
    let mut out = String::new();
    for (key, value) in cards {
        out += &format!("{:<80}", format!("{key:<8}= {value:>20} / what it is"));
    }
    out += &format!("{:<80}", "END");
    let mut bytes = out.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes
}

/// A column: its name, its form, more cards.
type Column<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// A file with an empty first unit and a table of columns: name, form, more cards.
fn file(columns: &[Column<'_>], width: usize, rows: &[Vec<u8>]) -> Vec<u8> {
    let text = |value: &str| format!("'{value:<8}'");
    let mut out = header(&[
        ("SIMPLE", "T".into()),
        ("BITPIX", "8".into()),
        ("NAXIS", "0".into()),
    ]);
    let mut cards: Vec<(String, String)> = [
        ("XTENSION", text("BINTABLE")),
        ("BITPIX", "8".into()),
        ("NAXIS", "2".into()),
        ("NAXIS1", width.to_string()),
        ("NAXIS2", rows.len().to_string()),
        ("PCOUNT", "0".into()),
        ("GCOUNT", "1".into()),
        ("TFIELDS", columns.len().to_string()),
        ("EXTNAME", text("GALAXIES")),
    ]
    .map(|(key, value)| (key.to_string(), value))
    .to_vec();
    for (at, (name, form, more)) in columns.iter().enumerate() {
        let key = |key: &str| format!("{key}{}", at + 1);
        cards.push((key("TTYPE"), text(name)));
        cards.push((key("TFORM"), text(form)));
        cards.extend(more.iter().map(|(k, v)| (key(k), (*v).to_string())));
    }
    let cards: Vec<(&str, String)> = cards.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
    out.extend(header(&cards));
    let mut data = rows.concat();
    data.resize(data.len().next_multiple_of(2880), 0);
    out.extend(data);
    out
}

/// A table of two columns and three rows.
pub(crate) fn table() -> Vec<u8> {
    let row = |x: f64, n: i16| [x.to_be_bytes().to_vec(), n.to_be_bytes().to_vec()].concat();
    let rows = [row(0.5, 1), row(1.5, 2), row(2.5, -3)];
    file(&[("X", "D", &[]), ("N", "1I", &[])], 10, &rows)
}

fn parse(bytes: &[u8], member: Option<&str>, columns: Option<&[&str]>) -> Result<Table> {
    let budget = Budget::new(1 << 24);
    let source = Source::whole("t.fits", &mut &bytes[..], &budget)?;
    let options = ReadOptions {
        columns: columns.map(|names| names.iter().map(|n| (*n).to_string()).collect()),
        ..ReadOptions::default()
    };
    read_source(&source, Format::Fits, member, &options, &budget)
}

fn all(table: &Table) -> Vec<f64> {
    (0..table.rows())
        .flat_map(|row| (0..table.cols()).map(move |col| table.get(row, col)))
        .collect()
}

#[test]
fn every_form_of_a_column_is_read() {
    let row = [
        b"T".to_vec(),
        vec![200],
        7i32.to_be_bytes().to_vec(),
        (-9i64).to_be_bytes().to_vec(),
        1.5f32.to_be_bytes().to_vec(),
        2.5f32.to_be_bytes().to_vec(),
        (-32768i16).to_be_bytes().to_vec(),
        b"name".to_vec(),
        0.25f64.to_be_bytes().to_vec(),
    ]
    .concat();
    let columns: [Column<'_>; 8] = [
        ("IS", "L", &[]),
        ("BYTE", "B", &[("TNULL", "200")]),
        ("LONG", "J", &[("TSCAL", "0.5"), ("TZERO", "1.0")]),
        ("HUGE", "1K", &[]),
        ("PAIR", "2E", &[]),
        ("UNSIGNED", "I", &[("TZERO", "32768")]),
        ("NAME", "4A", &[]),
        ("Z", "D", &[]),
    ];
    let bytes = file(&columns, row.len(), &[row.clone(), row]);
    let found = parse(&bytes, None, None).unwrap();
    let names: Vec<&str> = found.names().unwrap().iter().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "IS", "BYTE", "LONG", "HUGE", "PAIR_0", "PAIR_1", "UNSIGNED", "Z"
        ]
    );
    let values = all(&found);
    assert_eq!(found.rows(), 2);
    assert!(values[1].is_nan());
    assert_eq!(
        (values[0], &values[2..8]),
        (1.0, &[4.5, -9.0, 1.5, 2.5, 0.0, 0.25][..])
    );
    let single = parse(&bytes, None, Some(&["PAIR_1", "PAIR_0"])).unwrap();
    assert_eq!(
        (single.precision(), all(&single)),
        (zipfold_core::Precision::F32, vec![2.5, 1.5, 2.5, 1.5])
    );
}

#[test]
fn tables_are_found_by_name_and_number() {
    for member in [None, Some("galaxies"), Some("1")] {
        assert_eq!(
            parse(&table(), member, Some(&["N"]))
                .map(|t| all(&t))
                .unwrap(),
            [1.0, 2.0, -3.0]
        );
    }
    let e = parse(&table(), Some("stars"), None).unwrap_err();
    assert_eq!(e.blame(), Blame::Request);
    assert!(e.to_string().contains("GALAXIES"), "{e}");
    let e = parse(&table(), None, Some(&["Y"])).unwrap_err();
    assert!(e.to_string().contains("'Y'"), "{e}");
}

#[test]
fn sizes_that_are_not_there_are_refused() {
    let text = |from: &str, to: &str| {
        let bytes = table();
        let at = bytes
            .windows(from.len())
            .position(|w| w == from.as_bytes())
            .unwrap();
        let mut bytes = bytes;
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        parse(&bytes, None, None)
    };
    let card = |key: &str, value: &str| format!("{key:<8}= {value:>20}");
    for (key, old, new) in [
        ("NAXIS2", "3", "9000000000000"),
        ("NAXIS2", "3", "300"),
        ("NAXIS1", "10", "9"),
        ("GCOUNT", "1", "0"),
        ("TFIELDS", "2", "1000"),
        ("TFORM2", "'1I      '", "'1Z      '"),
        ("TFORM2", "'1I      '", "'99999999I'"),
    ] {
        let found = text(&card(key, old), &card(key, new));
        assert!(found.is_err(), "{key} {new}");
    }
    let huge = file(&[("K", "K", &[])], 8, &[i64::MAX.to_be_bytes().to_vec()]);
    let e = parse(&huge, None, None).unwrap_err();
    assert!(e.to_string().contains("2^53"), "{e}");
}

#[test]
fn the_last_block_may_lack_what_fills_it() {
    let bytes = table();
    let data_at = bytes.len() - 2880;
    for kept in [30, 31, 2879] {
        let found = parse(&bytes[..data_at + kept], None, None).unwrap();
        assert_eq!(all(&found), [0.5, 1.0, 1.5, 2.0, 2.5, -3.0], "{kept}");
    }
    let e = parse(&bytes[..data_at + 29], None, None).unwrap_err();
    assert!(e.to_string().contains("ends early"), "{e}");
    let e = parse(&bytes[..data_at + 30], Some("stars"), None).unwrap_err();
    assert!(e.to_string().contains("GALAXIES"), "{e}");
}

#[test]
fn numbers_of_columns_that_are_none_are_refused() {
    for (key, value) in [
        ("TSCAL", "1.0.0"),
        ("TSCAL", "inf"),
        ("TZERO", "'offset'"),
        ("TZERO", "nan"),
        ("TNULL", "-99.0"),
        ("TNULL", "'none'"),
        ("TNULL", "99999999999999999999"),
    ] {
        let more = [(key, value)];
        let bytes = file(&[("N", "I", &more)], 2, &[7i16.to_be_bytes().to_vec()]);
        let e = parse(&bytes, None, None).unwrap_err();
        assert_eq!(e.blame(), Blame::Input);
        assert!(e.to_string().contains(&format!("{key}1")), "{e}");
    }
}

#[test]
fn fields_take_memory_of_the_budget() {
    let columns: Vec<Column<'_>> = (0..999).map(|_| ("B", "65536B", &[][..])).collect();
    // A width that is not that of the columns is refused before a field is made.
    let e = parse(&file(&columns, 8, &[]), None, None).unwrap_err();
    assert_eq!(e.blame(), Blame::Input);
    assert!(e.to_string().contains("8 bytes together"), "{e}");
    let e = parse(&file(&columns, 999 << 16, &[]), None, None).unwrap_err();
    assert_eq!(e.blame(), Blame::Resource);
    assert!(e.to_string().contains("names of the columns"), "{e}");
}

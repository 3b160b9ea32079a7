//! Parquet and Arrow.

use crate::corruption::Lcg;
use crate::scratch::{Scratch, explained, read, read_columns, refused, values};
use std::sync::Arc;
use zipfold_core::{Blame, Budget, Precision};
use zipfold_io::guard::Source;
use zipfold_io::read::read_source;
use zipfold_io::write::ColumnsWriter;
use zipfold_io::{Column, Format, OutputOptions, ReadOptions, read_rows, write_columns};

fn pairs(scratch: &Scratch) -> String {
    let path = scratch.path("p.parquet");
    let columns = [
        ("i", Column::U64(&[0, 1, 2])),
        ("j", Column::I64(&[-1, 5, 6])),
        ("value", Column::F64(&[0.5, f64::NAN, 2.5])),
    ];
    write_columns(
        &path,
        &columns,
        &["made by a test".to_owned()],
        OutputOptions::default(),
    )
    .unwrap();
    path
}

#[test]
fn columns_return_from_parquet() {
    let scratch = Scratch::new();
    let path = pairs(&scratch);
    let table = read(&path).unwrap();
    assert_eq!(table.names().unwrap(), ["i", "j", "value"]);
    assert_eq!(
        (table.rows(), table.get(0, 1), table.get(2, 2)),
        (3, -1.0, 2.5)
    );
    assert!(table.get(1, 2).is_nan());
    assert_eq!(
        values(&read_columns(&path, &["j", "i"]).unwrap()),
        [-1.0, 0.0, 5.0, 1.0, 6.0, 2.0]
    );
    explained(
        &read_columns(&path, &["k"]).unwrap_err(),
        Blame::Request,
        &["'k'", "i, j, value"],
    );
    let single = scratch.path("s.parquet");
    write_columns(
        &single,
        &[("x", Column::F32(&[1.5; 20_000]))],
        &[],
        OutputOptions::default(),
    )
    .unwrap();
    let table = read(&single).unwrap();
    assert_eq!((table.precision(), table.rows()), (Precision::F32, 20_000));
    let large = scratch.path("l.parquet");
    write_columns(
        &large,
        &[("n", Column::U64(&[u64::MAX]))],
        &[],
        OutputOptions::default(),
    )
    .unwrap();
    explained(
        &read(&large).unwrap_err(),
        Blame::Input,
        &["18446744073709551615", "2^53"],
    );
}

fn arrow_file(compression: Option<arrow_ipc::CompressionType>) -> Vec<u8> {
    use arrow_array::{BooleanArray, Float32Array, Int32Array, RecordBatch, StringArray};
    let columns: Vec<(&str, arrow_array::ArrayRef)> = vec![
        (
            "id",
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
        ),
        ("name", Arc::new(StringArray::from(vec!["a", "b", "c"]))),
        ("x", Arc::new(Float32Array::from(vec![0.5, 1.5, 2.5]))),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![true, false, true])),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = arrow_ipc::writer::IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap();
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options)
            .unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn arrow_columns_are_read_packed_and_plain() {
    use arrow_ipc::CompressionType as C;
    let scratch = Scratch::new();
    for compression in [None, Some(C::LZ4_FRAME), Some(C::ZSTD)] {
        let path = scratch.file("a.feather", &arrow_file(compression));
        let table = read_columns(&path, &["flag", "id"]).unwrap();
        assert_eq!(
            (table.get(0, 0), table.get(0, 1), table.get(2, 1)),
            (1.0, 1.0, 3.0)
        );
        assert!(table.get(1, 1).is_nan());
        assert_eq!(
            read_columns(&path, &["x"]).unwrap().precision(),
            Precision::F32
        );
        // Words name the rows.
        let all = read(&path).unwrap();
        assert_eq!(all.names().unwrap(), ["id", "x", "flag"]);
        let names = all.labels().unwrap().first();
        assert_eq!(
            (names.name.as_str(), names.get(0), names.get(2)),
            ("name", "a", "c")
        );
        explained(
            &read_columns(&path, &["name", "x"]).unwrap_err(),
            Blame::Input,
            &["'name'", "columns = [\"!name\"]"],
        );
    }
}

#[test]
fn lists_of_one_length_are_components() {
    use arrow_array::types::Float32Type;
    use arrow_array::{FixedSizeListArray, LargeListArray, ListArray, RecordBatch, StringArray};
    let scratch = Scratch::new();
    let rows = || [[0.0f32, 1.0, 2.0], [3.0, 4.0, 5.0]].map(|r| Some(r.map(Some).to_vec()));
    let write = |columns: Vec<(&str, arrow_array::ArrayRef)>| {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer =
            arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    };
    let words = || -> arrow_array::ArrayRef { Arc::new(StringArray::from(vec!["p", "q"])) };
    let kinds: [arrow_array::ArrayRef; 3] = [
        Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows())),
        Arc::new(LargeListArray::from_iter_primitive::<Float32Type, _, _>(
            rows(),
        )),
        Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows(), 3)),
    ];
    for lists in kinds {
        let path = scratch.file("e.arrow", &write(vec![("id", words()), ("e", lists)]));
        let table = read(&path).unwrap();
        assert_eq!(table.names().unwrap(), ["e[0]", "e[1]", "e[2]"]);
        assert_eq!(
            (values(&table), table.precision()),
            (vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], Precision::F32)
        );
        assert_eq!(table.labels().unwrap().first().get(1), "q");
        assert_eq!(
            values(&read_columns(&path, &["e"]).unwrap()),
            values(&table)
        );
    }
    let ragged = ListArray::from_iter_primitive::<Float32Type, _, _>([
        Some(vec![Some(1.0)]),
        Some(vec![Some(1.0), None]),
    ]);
    let path = scratch.file("r.arrow", &write(vec![("e", Arc::new(ragged))]));
    explained(
        &read(&path).unwrap_err(),
        Blame::Input,
        &["row 2", "'e'", "one length"],
    );

    let path = scratch.file("e.parquet", include_bytes!("embedding.parquet"));
    let table = read_columns(&path, &["embedding"]).unwrap();
    assert_eq!(
        (values(&table), table.precision()),
        (
            vec![0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 2.0],
            Precision::F32
        )
    );
    let all = read(&path).unwrap();
    assert_eq!(
        all.names().unwrap(),
        [
            "embedding[0]",
            "embedding[1]",
            "embedding[2]",
            "fixed[0]",
            "fixed[1]",
            "n"
        ]
    );
    assert_eq!(
        (all.get(1, 3), all.get(1, 4), all.get(2, 3), all.get(0, 5)),
        (3.0, 4.0, 5.0, 1.0)
    );
    assert!(all.get(2, 4).is_nan());
    assert_eq!(all.labels().unwrap().first().get(2), "r");
}

#[test]
fn damaged_columns_are_refused() {
    let scratch = Scratch::new();
    let path = pairs(&scratch);
    let parquet = std::fs::read(&path).unwrap();
    for (name, bytes) in [("a.parquet", &parquet), ("a.arrow", &arrow_file(None))] {
        refused(name, b"", Blame::Input, &["0 bytes"]);
        refused(name, &bytes[..bytes.len() - 1], Blame::Input, &["damaged"]);
        refused(name, &bytes[bytes.len() / 2..], Blame::Input, &[]);
    }
}

#[test]
fn random_damage_is_contained() {
    let scratch = Scratch::new();
    let parquet = std::fs::read(pairs(&scratch)).unwrap();
    let plain = arrow_file(None);
    let packed = arrow_file(Some(arrow_ipc::CompressionType::LZ4_FRAME));
    let mut random = Lcg(11);
    let options = ReadOptions {
        columns: Some(vec!["x".to_owned()]),
        ..ReadOptions::default()
    };
    for _ in 0..1500 {
        for (format, bytes, options) in [
            (Format::Parquet, &parquet, &ReadOptions::default()),
            (Format::Arrow, &plain, &options),
            (Format::Arrow, &packed, &options),
        ] {
            let budget = Budget::new(1 << 24);
            let damaged = random.damage(bytes);
            let source = Source::whole("damaged", &mut &damaged[..], &budget).unwrap();
            if let Err(e) = read_source(&source, format, None, options, &budget) {
                assert!(e.place().is_some() && e.remedy_text().is_some(), "{e}");
            }
        }
    }
}

/// A Parquet file of one column of zeros in one page, packed by `codec`.
fn one_page(rows: usize, codec: parquet::basic::Compression) -> Vec<u8> {
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    let schema = Arc::new(
        parquet::schema::parser::parse_message_type("message m { REQUIRED DOUBLE z; }").unwrap(),
    );
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(1 << 30)
        .set_data_page_row_count_limit(rows)
        .set_write_batch_size(rows)
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<parquet::data_type::DoubleType>()
        .write_batch(&vec![0.0; rows], None, None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// Writers close groups that nothing was written to, and tables may have no row at all.
#[test]
fn groups_without_rows_are_passed_over() {
    use parquet::file::writer::SerializedFileWriter;
    let message = "message m { REQUIRED DOUBLE z; REQUIRED BINARY w (UTF8); }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(message).unwrap());
    for groups in [&[][..], &[0], &[2, 0, 1], &[0, 3, 0]] {
        let mut writer =
            SerializedFileWriter::new(Vec::new(), schema.clone(), Default::default()).unwrap();
        let mut numbers = (1..).map(f64::from);
        for rows in groups {
            let values: Vec<f64> = numbers.by_ref().take(*rows).collect();
            let words: Vec<_> = values
                .iter()
                .map(|v| v.to_string().as_str().into())
                .collect();
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            if *rows > 0 {
                let typed = column.typed::<parquet::data_type::DoubleType>();
                typed.write_batch(&values, None, None).unwrap();
            }
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            if *rows > 0 {
                let typed = column.typed::<parquet::data_type::ByteArrayType>();
                typed.write_batch(&words, None, None).unwrap();
            }
            column.close().unwrap();
            group.close().unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let budget = Budget::new(1 << 24);
        let source = Source::whole("g.parquet", &mut &bytes[..], &budget).unwrap();
        let options = ReadOptions::default();
        let table = read_source(&source, Format::Parquet, None, &options, &budget).unwrap();
        let wanted: Vec<f64> = (1..).map(f64::from).take(groups.iter().sum()).collect();
        assert_eq!(values(&table), wanted, "{groups:?}");
    }
}

#[test]
fn pages_are_asked_of_the_budget_before_they_are_unpacked() {
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    let codecs = [
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::UNCOMPRESSED,
    ];
    for codec in codecs {
        let bytes = one_page(1 << 20, codec);
        let read = |limit| {
            let budget = Budget::new(limit);
            let source = Source::whole("z.parquet", &mut &bytes[..], &budget)?;
            read_source(
                &source,
                Format::Parquet,
                None,
                &ReadOptions::default(),
                &budget,
            )
        };
        assert_eq!(read(64 << 20).unwrap().rows(), 1 << 20, "{codec:?}");
        // Room for the rows and the file, but not for the page beside them.
        let error = read(14 << 20).expect_err("a page of 8 MiB");
        assert_eq!(error.blame(), Blame::Resource, "{codec:?}: {error}");
    }
}

#[test]
fn pages_that_hold_more_than_they_claim_are_refused() {
    let codec = parquet::basic::Compression::ZSTD(parquet::basic::ZstdLevel::default());
    let mut lie = one_page(1 << 20, codec);
    // The size of the page in its header, 2²³ bytes as a number of thrift's, becomes 8000.
    let claim = lie
        .windows(4)
        .position(|w| w == [0x80, 0x80, 0x80, 0x08])
        .unwrap();
    lie[claim..claim + 4].copy_from_slice(&[0x80, 0xfd, 0x80, 0x00]);
    let scratch = Scratch::new();
    let error = read(&scratch.file("lie.parquet", &lie)).unwrap_err();
    explained(&error, Blame::Input, &["damaged"]);
}

#[test]
fn wide_files_take_memory_for_some_columns_at_a_time() {
    let scratch = Scratch::new();
    let path = scratch.path("w.parquet");
    let column = vec![1.5; 2000];
    let names: Vec<String> = (0..1000).map(|i| format!("c{i}")).collect();
    let columns: Vec<(&str, Column<'_>)> = names
        .iter()
        .map(|n| (n.as_str(), Column::F64(&column)))
        .collect();
    write_columns(&path, &columns, &[], OutputOptions::default()).unwrap();
    let budget = Budget::new(32 << 20);
    let table = zipfold_io::read_table(&path, &ReadOptions::default(), &budget).unwrap();
    assert_eq!(
        (table.rows(), table.cols(), table.get(1999, 999)),
        (2000, 1000, 1.5)
    );
    assert!(budget.peak() < 24 << 20, "{}", budget.peak());
}

#[test]
fn some_rows_are_those_of_their_row_groups() {
    let scratch = Scratch::new();
    let path = scratch.path("groups.parquet");
    let group = |from: usize| -> [Vec<f64>; 2] {
        [3, 5].map(|times| (from..from + 100).map(|at| (at * times) as f64).collect())
    };
    let head = [("a", Column::F64(&[0.0])), ("b", Column::F64(&[0.0]))];
    let mut file = ColumnsWriter::create(&path, &head, &[], OutputOptions::default()).unwrap();
    for from in [0, 100, 200] {
        let [a, b] = group(from);
        file.push(&[("a", Column::F64(&a)), ("b", Column::F64(&b))])
            .unwrap();
    }
    file.finish().unwrap();
    let some = |rows: std::ops::Range<usize>| {
        let options = ReadOptions {
            columns: Some(vec!["b".into(), "a".into()]),
            ..ReadOptions::default()
        };
        read_rows(&path, &rows, &options, &Budget::new(1 << 24))
    };
    let holds = |rows: std::ops::Range<usize>| {
        let table = some(rows.clone()).unwrap().unwrap();
        assert_eq!([table.rows(), table.cols()], [300, 2]);
        for row in rows {
            assert_eq!(
                [table.get(row, 0), table.get(row, 1)],
                [row as f64 * 5.0, row as f64 * 3.0]
            );
        }
    };
    for rows in [0..300, 120..180, 99..101, 299..300, 7..7, 300..300] {
        holds(rows);
    }
    assert!(some(290..301).unwrap().is_none());
    // Others are not looked at: the pages of the first group.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4..200].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    assert!(some(0..10).is_err());
    holds(100..300);
}

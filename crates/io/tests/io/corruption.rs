//! Files cut at every byte, and files with random damage: an error or data, never a panic.

use crate::arrays::{deflated, npy};
use crate::scratch::{Scratch, read, values};
use zipfold_core::Budget;
use zipfold_io::guard::Source;
use zipfold_io::read::read_source;
use zipfold_io::{Column, Format, OutputOptions, ReadOptions, write_columns};

/// Knuth's linear congruential generator.
pub(crate) struct Lcg(pub u64);

impl Lcg {
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % below.max(1)
    }
    /// `bytes` with up to four of them changed, inserted or removed.
    pub(crate) fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        const NASTY: &[u8] = b"\x00\xff\x7f\x80\n,'\"(){}-09=# \xfe";
        let mut out = bytes.to_vec();
        for _ in 0..=self.next(4) {
            let at = self.next(out.len());
            match self.next(5) {
                0 => out.insert(at, NASTY[self.next(NASTY.len())]),
                1 if out.len() > 1 => drop(out.remove(at)),
                2 => out.truncate(at.max(1)),
                3 => out[at] = NASTY[self.next(NASTY.len())],
                _ => out[at] ^= 1 << self.next(8),
            }
        }
        out
    }
}

fn parse(format: Format, bytes: &[u8]) -> zipfold_core::Result<zipfold_core::Table> {
    let budget = Budget::new(1 << 24);
    let source = Source::whole("damaged", &mut &bytes[..], &budget)?;
    let table = read_source(&source, format, None, &ReadOptions::default(), &budget);
    if let Err(e) = &table {
        assert!(e.place().is_some() && e.remedy_text().is_some(), "{e}");
        assert_ne!(e.blame(), zipfold_core::Blame::Internal, "{e}");
    }
    table
}

fn stored_npz() -> Vec<u8> {
    let scratch = Scratch::new();
    let path = scratch.path("a.npz");
    write_columns(
        &path,
        &[("x", Column::F64(&[1.0, 2.0, 3.0]))],
        &[],
        OutputOptions::default(),
    )
    .unwrap();
    assert_eq!(values(&read(&path).unwrap()), [1.0, 2.0, 3.0]);
    std::fs::read(&path).unwrap()
}

fn samples() -> Vec<(Format, Vec<u8>)> {
    let array = npy(
        1,
        "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }",
        &[7; 32],
    );
    let xyz =
        b"2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nO 1 2 3\nH 4 5 6\n";
    vec![
        (Format::Npz, stored_npz()),
        (Format::Npz, deflated(&array, array.len() as u32, 8, 0)),
        (
            Format::Npy,
            npy(
                2,
                "{'descr': '>i4', 'fortran_order': False, 'shape': (3,), }",
                &[1; 12],
            ),
        ),
        (Format::Npy, array),
        (Format::Csv, b"# c\nx,\"y\"\n1,2\n3,NA\n".to_vec()),
        (Format::Tsv, b"1\t2\n3\t4\n".to_vec()),
        (Format::Blanks, b"# c\n x y\n1 2\n3 4\n".to_vec()),
        (Format::Xyz, xyz.to_vec()),
        (Format::Fits, crate::fits::table()),
    ]
}

#[test]
fn files_cut_at_every_byte_are_refused() {
    for (format, bytes) in samples() {
        assert!(parse(format, &bytes).is_ok(), "{format:?}");
        let text = matches!(
            format,
            Format::Csv | Format::Tsv | Format::Blanks | Format::Xyz
        );
        let whole = parse(format, &bytes).map(|table| (table.rows(), table.cols()));
        for cut in 0..bytes.len() {
            let table = parse(format, &bytes[..cut]);
            // The padding of the last unit of FITS holds nothing.
            let padding = format == Format::Fits && bytes[cut..].iter().all(|b| *b == 0);
            let is_whole = || {
                let found = table.as_ref().map(|table| (table.rows(), table.cols()));
                padding && found.ok() == whole.as_ref().ok().copied()
            };
            assert!(
                text || table.is_err() || is_whole(),
                "{format:?} cut at {cut} is read"
            );
        }
    }
}

#[test]
fn random_damage_never_panics() {
    let mut random = Lcg(2026);
    for (format, bytes) in samples() {
        for _ in 0..3000 {
            let damaged = random.damage(&bytes);
            // Data or an error, both are fine.
            let _ = parse(format, &damaged);
        }
    }
}

#[test]
fn noise_never_panics_in_any_format() {
    let mut random = Lcg(7);
    let formats = [
        Format::Npy,
        Format::Npz,
        Format::Csv,
        Format::Tsv,
        Format::Blanks,
        Format::Xyz,
        Format::Fits,
        Format::Parquet,
        Format::Arrow,
    ];
    for round in 0..400 {
        let noise: Vec<u8> = (0..random.next(round + 1))
            .map(|_| random.next(256) as u8)
            .collect();
        for format in formats {
            let _ = parse(format, &noise);
        }
    }
}

/// Rounds of a random test: a hundred times as many where long tests are asked for.
pub(crate) fn rounds(short: usize) -> usize {
    if std::env::var_os("ZIPFOLD_LONG").is_some() {
        100 * short
    } else {
        short
    }
}

#[test]
fn damaged_networks_give_networks_or_errors_with_a_place() {
    let mut random = Lcg(99);
    let scratch = crate::scratch::Scratch::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/networks");
    let ergo = b"2\n2 2\n\n0\n1 0\n\n/* Probabilities */\n2\n0.5 0.5\n4\n0.1 0.9 0.2 0.8\n/* Names */\na b\nt f\nt f\n"
        .to_vec();
    let uai = b"BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2\n.5 .5\n4\n.1 .9 .2 .8\n".to_vec();
    let mut seeds = vec![("a.erg".to_owned(), ergo), ("a.uai".to_owned(), uai)];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        seeds.push((
            path.file_name().unwrap().to_string_lossy().into_owned(),
            std::fs::read(&path).unwrap(),
        ));
    }
    let mut read = 0;
    for (name, bytes) in &seeds {
        for round in 0..rounds(200) {
            let damaged = if round == 0 {
                bytes.clone()
            } else {
                random.damage(bytes)
            };
            let path = scratch.file(name, &damaged);
            let budget = zipfold_core::Budget::new(16 << 20);
            match zipfold_io::network::read_network(path.as_ref(), &budget) {
                Ok(network) => {
                    read += 1;
                    let _ = zipfold_io::network::read_evidence(path.as_ref(), &network, &budget);
                }
                Err(e) => assert!(
                    e.place().is_some() && e.to_string().len() < 5000,
                    "{name}: {e}"
                ),
            }
            assert_eq!(budget.free(), 16 << 20, "{name}: something stays");
        }
    }
    assert!(read > 0, "no network was read at all");
}

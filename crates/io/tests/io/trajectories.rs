//! Trajectories of every format, written here, read back; cut short and damaged, refused.

use crate::scratch::{Scratch, explained};
use zipfold_core::{Blame, Budget, Random, Result};
use zipfold_io::Source;
use zipfold_io::trajectory::{Atoms, Snapshot, Trajectory, TrajectoryFormat, read_atoms};

fn source(bytes: &[u8]) -> Source {
    Source::whole("t", &mut &*bytes, &Budget::new(1 << 26)).unwrap()
}

/// All frames of `bytes`.
fn frames(kind: TrajectoryFormat, bytes: &[u8]) -> Result<Vec<Snapshot>> {
    let budget = Budget::new(1 << 26);
    let mut trajectory = Trajectory::open(&source(bytes), kind, &budget)?;
    let mut out = vec![];
    while let Some(frame) = trajectory.read_next()? {
        out.push(frame);
    }
    Ok(out)
}

fn atoms(kind: TrajectoryFormat, bytes: &[u8]) -> Result<Atoms> {
    read_atoms(&source(bytes), kind, &Budget::new(1 << 26))
}

fn places(frame: &Snapshot) -> Vec<f64> {
    frame.positions.elements().every(1)
}

/// `bytes` are refused as input, with all `words` in the message, a place and a remedy.
#[track_caller]
fn refused(kind: TrajectoryFormat, bytes: &[u8], words: &[&str]) {
    let error = frames(kind, bytes).expect_err("refused");
    explained(&error, Blame::Input, words);
}

/// Bits, most significant first.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    count: usize,
}

impl Writer {
    fn bits(&mut self, value: u64, count: usize) {
        for at in (0..count).rev() {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> at & 1) as u8) << (7 - self.count % 8);
            self.count += 1;
        }
    }
    /// Three numbers in one, its least significant byte first.
    fn triple(&mut self, parts: [u64; 3], sizes: [u64; 3], count: usize) {
        let mut value = (u128::from(parts[0]) * u128::from(sizes[1]) + u128::from(parts[1]))
            * u128::from(sizes[2])
            + u128::from(parts[2]);
        let mut left = count;
        while left > 8 {
            self.bits((value & 255) as u64, 8);
            (value, left) = (value >> 8, left - 8);
        }
        self.bits(value as u64, left);
    }
}

/// Ranges of differences by place: the format's table, 2^(place / 3) rounded its way.
const RANGES: [u64; 16] = [
    8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 101, 128, 161, 203, 256,
];

/// A frame of XTC. Atoms near one another go into runs where `runs` says so.
fn xtc(random: &mut Random, places: &[[i32; 3]], cell: [f32; 9], runs: bool) -> Vec<u8> {
    let mut out = vec![];
    let n = places.len();
    let mut int = |v: i32| out.extend(v.to_be_bytes());
    [1995, n as i32, 7, 0].into_iter().for_each(&mut int);
    cell.iter().for_each(|v| int(v.to_bits() as i32));
    int(n as i32);
    if n <= 9 {
        let floats = places
            .iter()
            .flatten()
            .map(|v| *v as f32 * (1.0 / 1000.0f32));
        floats.for_each(|v| int(v.to_bits() as i32));
        return out;
    }
    let ends = |k: usize| {
        let all = || places.iter().map(|p| p[k]);
        (all().min().unwrap(), all().max().unwrap())
    };
    let [x, y, z] = [0, 1, 2].map(ends);
    let least = [x.0, y.0, z.0];
    let sizes = [x, y, z].map(|(lo, hi)| (i64::from(hi) - i64::from(lo) + 1) as u64);
    let mut small = 9 + random.below(16);
    int(1000f32.to_bits() as i32);
    least.into_iter().chain([x.1, y.1, z.1]).for_each(&mut int);
    int(small as i32);
    let bits = body(random, places, (least, sizes), &mut small, runs);
    int(bits.len() as i32);
    out.extend(&bits);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// The packed positions of a frame.
fn body(
    random: &mut Random,
    places: &[[i32; 3]],
    (least, sizes): ([i32; 3], [u64; 3]),
    small: &mut usize,
    runs: bool,
) -> Vec<u8> {
    let mut out = Writer::default();
    let width = |v: u64| 64 - v.leading_zeros() as usize;
    let product: u128 = sizes.iter().map(|s| u128::from(*s)).product();
    let all = 128 - product.leading_zeros() as usize;
    let wide = sizes.iter().any(|s| *s > 0xff_ffff);
    let (mut at, mut before) = (0, 0);
    while at < places.len() {
        let range = RANGES[*small - 9];
        let middle = (range / 2) as i64;
        let near = |a: [i32; 3], b: [i32; 3]| {
            let parts = [0, 1, 2].map(|k| i64::from(a[k]) - i64::from(b[k]) + middle);
            let fits = parts.iter().all(|v| (0..range as i64).contains(v));
            fits.then_some(parts.map(|v| v as u64))
        };
        // The first of a run is written relative to the second, which is in full.
        let mut parts = vec![];
        if runs && at + 1 < places.len() {
            parts.extend(near(places[at], places[at + 1]));
            let mut next = at + 2;
            while !parts.is_empty() && parts.len() < 8 && next < places.len() {
                let from = if next == at + 2 { at } else { next - 1 };
                let Some(part) = near(places[next], places[from]) else {
                    break;
                };
                parts.push(part);
                next += 1;
            }
        }
        let full = places[at + usize::from(!parts.is_empty())];
        let full = [0, 1, 2].map(|k| (i64::from(full[k]) - i64::from(least[k])) as u64);
        match wide {
            true => (0..3).for_each(|k| out.bits(full[k], width(sizes[k]))),
            false => out.triple(full, sizes, all),
        }
        let change = match *small {
            9 => random.below(2) as i64,
            24 => random.below(2) as i64 - 1,
            _ => random.below(3) as i64 - 1,
        };
        if parts.len() == before && change == 0 {
            out.bits(0, 1);
        } else {
            out.bits(1, 1);
            out.bits((3 * parts.len() as i64 + change + 1) as u64, 5);
        }
        for part in &parts {
            out.triple(*part, [range; 3], *small);
        }
        before = parts.len();
        at += parts.len() + 1;
        *small = (*small as i64 + change) as usize;
    }
    out.bytes
}

/// Places of a random walk, now and then far away.
fn walk(random: &mut Random, n: usize, far: f64) -> Vec<[i32; 3]> {
    let mut place = [0i32; 3];
    let step = |r: &mut Random, wide: f64| ((r.unit() - 0.5) * wide) as i32;
    let next = |_| {
        let wide = if random.below(4) == 0 { far } else { 30.0 };
        place = place.map(|v| v + step(random, wide));
        place
    };
    (0..n).map(next).collect()
}

#[test]
fn xtc_gives_the_positions_that_were_packed() {
    let mut random = Random::new(22);
    let cell = [4.0, 0.0, 0.0, 0.0, 5.0, 0.0, 1.0, 2.0, 6.0];
    for round in 0..200 {
        let n = [1, 2, 9, 10, 11, 57, 300][round % 7];
        // Ranges of more than 24 bits are stored axis by axis.
        let far = [100.0, 5000.0, 3e7][round % 3];
        let all: Vec<Vec<[i32; 3]>> = (0..3).map(|_| walk(&mut random, n, far)).collect();
        let bytes: Vec<u8> = all
            .iter()
            .flat_map(|places| xtc(&mut random, places, cell, round % 5 > 0))
            .collect();
        let found = frames(TrajectoryFormat::Xtc, &bytes).unwrap();
        assert_eq!(found.len(), 3);
        for (frame, places) in found.iter().zip(&all) {
            let expected = places
                .iter()
                .flatten()
                .map(|v| *v as f32 * (1.0 / 1000.0f32));
            let expected: Vec<f64> = expected.map(f64::from).collect();
            assert_eq!(self::places(frame), expected, "round {round}");
            let lattice = [[4.0, 0.0, 0.0], [0.0, 5.0, 0.0], [1.0, 2.0, 6.0]];
            assert_eq!(frame.cell, Some(lattice));
        }
        let budget = Budget::new(1 << 26);
        let mut passed = Trajectory::open(&source(&bytes), TrajectoryFormat::Xtc, &budget).unwrap();
        assert!(passed.pass_over().unwrap());
        assert_eq!(
            passed.read_next().unwrap().map(|f| places(&f)),
            Some(places(&found[1]))
        );
    }
}

#[test]
fn damaged_xtc_is_refused_or_read_and_never_more() {
    let mut random = Random::new(23);
    let places = walk(&mut random, 40, 900.0);
    let whole = xtc(
        &mut random,
        &places,
        [4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 4.0],
        true,
    );
    for len in 1..whole.len() {
        assert!(
            frames(TrajectoryFormat::Xtc, &whole[..len]).is_err(),
            "{len} bytes"
        );
    }
    for _ in 0..5000 {
        let mut bytes = whole.clone();
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
        if let Ok(found) = frames(TrajectoryFormat::Xtc, &bytes) {
            assert!(found.iter().all(|frame| frame.positions.rows() == 40));
        }
    }
    refused(
        TrajectoryFormat::Xtc,
        b"not a trajectory, but a text of more than 56 bytes in this case",
        &["t, frame 0, byte 0", "1995"],
    );
    let two = [
        whole.clone(),
        xtc(
            &mut random,
            &places[..30],
            [4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 4.0],
            true,
        ),
    ]
    .concat();
    refused(
        TrajectoryFormat::Xtc,
        &two,
        &["frame 1", "expected 40 atoms as in the first frame, got 30"],
    );
}

/// A DCD file of frames, with lengths of `marker` bytes.
fn dcd(
    little: bool,
    marker: usize,
    cell: Option<[f64; 6]>,
    fixed: u32,
    all: &[Vec<f32>],
) -> Vec<u8> {
    let mut out = vec![];
    let int = |v: u64, width: usize| -> Vec<u8> {
        match little {
            true => v.to_le_bytes()[..width].to_vec(),
            false => v.to_be_bytes()[8 - width..].to_vec(),
        }
    };
    let mut record = |bytes: Vec<u8>| {
        let length = int(bytes.len() as u64, marker);
        out.extend([length.clone(), bytes, length].concat());
    };
    let mut numbers = [0u64; 20];
    (numbers[0], numbers[8], numbers[10], numbers[19]) =
        (99, u64::from(fixed), u64::from(cell.is_some()), 24);
    let numbers = numbers.iter().flat_map(|v| int(*v, 4));
    record(b"CORD".iter().copied().chain(numbers).collect());
    record([int(1, 4), vec![b' '; 80]].concat());
    record(int(all.first().map_or(1, |f| f.len() as u64 / 3), 4));
    for places in all {
        cell.iter()
            .for_each(|cell| record(cell.iter().flat_map(|v| int(v.to_bits(), 8)).collect()));
        for axis in 0..3 {
            let values = places.iter().skip(axis).step_by(3);
            record(
                values
                    .flat_map(|v| int(u64::from(v.to_bits()), 4))
                    .collect(),
            );
        }
    }
    out
}

#[test]
fn dcd_is_read_in_both_byte_orders_and_widths() {
    let mut random = Random::new(24);
    let all: Vec<Vec<f32>> = (0..3)
        .map(|_| (0..15).map(|_| random.unit() as f32).collect())
        .collect();
    for (little, marker) in [(true, 4), (false, 4), (true, 8), (false, 8)] {
        for cell in [
            None,
            Some([10.0, 90.0, 11.0, 90.0, 90.0, 12.0]),
            Some([10.0, 0.0, 11.0, 0.0, 0.0, 12.0]),
        ] {
            let bytes = dcd(little, marker, cell, 0, &all);
            let found = frames(TrajectoryFormat::Dcd, &bytes).unwrap();
            assert_eq!(found.len(), 3);
            for (frame, places) in found.iter().zip(&all) {
                assert_eq!(
                    self::places(frame),
                    places.iter().map(|v| f64::from(*v)).collect::<Vec<_>>()
                );
                let right = [[10.0, 0.0, 0.0], [0.0, 11.0, 0.0], [0.0, 0.0, 12.0]];
                assert_eq!(frame.cell, cell.map(|_| right));
            }
            for len in 12..bytes.len() {
                let cut = frames(TrajectoryFormat::Dcd, &bytes[..len]);
                let head = dcd(little, marker, cell, 0, &[]).len();
                let frame = (bytes.len() - head) / 3;
                let whole = len >= head && (bytes.len() - len).is_multiple_of(frame);
                assert_eq!(cut.is_ok(), whole, "{len} of {} bytes", bytes.len());
            }
        }
    }
    let skewed = dcd(true, 4, Some([10.0, 60.0, 10.0, 90.0, 90.0, 12.0]), 0, &all);
    let cosine = dcd(true, 4, Some([10.0, 0.5, 10.0, 0.0, 0.0, 12.0]), 0, &all);
    let [degrees, cosines] =
        [&skewed, &cosine].map(|b| frames(TrajectoryFormat::Dcd, b).unwrap()[0].cell.unwrap());
    assert!((degrees[1][0] - 5.0).abs() < 1e-12 && (cosines[1][0] - 5.0).abs() < 1e-12);
}

#[test]
fn dcd_boxes_may_be_symmetric_matrices() {
    let matrix = [10.0, -2.0, 11.0, 1.5, 2.5, 12.0];
    let bytes = dcd(true, 4, Some(matrix), 0, &[vec![1.0; 15]]);
    let rows = [[10.0, -2.0, 1.5], [-2.0, 11.0, 2.5], [1.5, 2.5, 12.0]];
    assert_eq!(
        frames(TrajectoryFormat::Dcd, &bytes).unwrap()[0].cell,
        Some(rows)
    );
    // The version is the last integer of the header; since 25 it says that boxes are matrices.
    let mut newer = dcd(
        true,
        4,
        Some([10.0, 2.0, 11.0, 1.5, 2.5, 12.0]),
        0,
        &[vec![1.0; 15]],
    );
    newer[84] = 36;
    let rows = [[10.0, 2.0, 1.5], [2.0, 11.0, 2.5], [1.5, 2.5, 12.0]];
    assert_eq!(
        frames(TrajectoryFormat::Dcd, &newer).unwrap()[0].cell,
        Some(rows)
    );
}

#[test]
fn dcd_that_is_none_is_refused() {
    let all = vec![vec![1.0; 15]];
    refused(
        TrajectoryFormat::Dcd,
        &dcd(true, 4, None, 3, &all),
        &["no fixed atoms, got 3"],
    );
    refused(
        TrajectoryFormat::Dcd,
        b"a text, no trajectory",
        &["byte 0", "CORD"],
    );
    refused(
        TrajectoryFormat::Dcd,
        &dcd(
            true,
            4,
            Some([10.0, 30.0, 10.0, 30.0, 170.0, 12.0]),
            0,
            &all,
        ),
        &["frame 0"],
    );
    refused(
        TrajectoryFormat::Dcd,
        &dcd(true, 4, Some([10.0, 90.0, 0.0, 90.0, 90.0, 12.0]), 0, &all),
        &["volume 0"],
    );
    let mut nan = all.clone();
    nan[0][4] = f32::NAN;
    refused(
        TrajectoryFormat::Dcd,
        &dcd(true, 4, None, 0, &nan),
        &["frame 0", "NaN for y of atom 1"],
    );
    let mut damaged = dcd(true, 4, None, 0, &all);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    refused(
        TrajectoryFormat::Dcd,
        &damaged,
        &["ends with its length, 20"],
    );
}

const GRO: &str = "first, t= 0.0\n 3\n    1SOL     OW    1   0.100   0.200   0.300\n    1SOL    HW1    2  -0.100  10.200   0.300\n99999NA      NA99999   1.000   1.500   2.000\n   2.00000   2.00000   3.00000\n";

#[test]
fn gro_gives_frames_and_atoms() {
    let skewed = GRO.replace(
        "   2.00000   2.00000   3.00000",
        "2 2.5 3 0 0 0.5 0 0.25 0.125",
    );
    let found = frames(
        TrajectoryFormat::Gro,
        (GRO.to_string() + &skewed + "\n").as_bytes(),
    )
    .unwrap();
    assert_eq!(
        places(&found[0]),
        [0.1, 0.2, 0.3, -0.1, 10.2, 0.3, 1.0, 1.5, 2.0]
    );
    assert_eq!(
        found[0].cell,
        Some([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    );
    assert_eq!(
        found[1].cell,
        Some([[2.0, 0.0, 0.0], [0.5, 2.5, 0.0], [0.25, 0.125, 3.0]])
    );
    let huge = GRO.replace(
        "   2.00000   2.00000   3.00000",
        "40000.0000040000.0000012345.67891",
    );
    let huge = frames(TrajectoryFormat::Gro, huge.as_bytes()).unwrap();
    let [a, _, c] = huge[0].cell.unwrap();
    assert_eq!((a[0], c[2]), (40000.0, 12345.67891));
    let wide = GRO
        .replace(".100", ".10012")
        .replace(".200", ".20012")
        .replace(".300", ".30012");
    let wide = wide.replace("1.000   1.500   2.000", "1.00012   1.50012   2.00012");
    assert_eq!(
        places(&frames(TrajectoryFormat::Gro, wide.as_bytes()).unwrap()[0])[..3],
        [0.10012, 0.20012, 0.30012]
    );
    let atoms = atoms(TrajectoryFormat::Gro, GRO.as_bytes()).unwrap();
    assert_eq!(
        (atoms.len(), atoms.names.get(1), atoms.elements.get(2)),
        (3, "HW1", "Na")
    );
    assert_eq!(
        (&atoms.residues[..], &atoms.residue_numbers[..]),
        (&[0, 0, 1][..], &[1, 1, 99999][..])
    );
}

#[test]
fn gro_that_is_none_is_refused_with_its_line() {
    refused(
        TrajectoryFormat::Gro,
        GRO.replace(" 3\n", " 4\n").as_bytes(),
        &["line 6", "coordinate"],
    );
    refused(
        TrajectoryFormat::Gro,
        GRO.replace(" 3\n", " x\n").as_bytes(),
        &["line 2", "number of atoms, got 'x'"],
    );
    refused(
        TrajectoryFormat::Gro,
        GRO.replace(" 3\n", " 999999\n").as_bytes(),
        &["claims 999999 atoms"],
    );
    refused(
        TrajectoryFormat::Gro,
        GRO.replace("10.200", "  *****").as_bytes(),
        &["line 4", "coordinate y"],
    );
    refused(
        TrajectoryFormat::Gro,
        GRO.replace("   2.00000   2.00000   3.00000", "2 2")
            .as_bytes(),
        &["line 6", "3 or 9 numbers"],
    );
    refused(
        TrajectoryFormat::Gro,
        GRO.replace("   2.00000   2.00000   3.00000", "0 2 2")
            .as_bytes(),
        &["volume 0"],
    );
    let lines: Vec<&str> = GRO.lines().collect();
    for len in 1..lines.len() {
        assert!(
            frames(
                TrajectoryFormat::Gro,
                (lines[..len].join("\n") + "\n").as_bytes()
            )
            .is_err(),
            "{len} lines"
        );
    }
    let two = GRO.to_string()
        + &GRO
            .replace(" 3\n", " 2\n")
            .replace("    1SOL     OW    1   0.100   0.200   0.300\n", "");
    refused(
        TrajectoryFormat::Gro,
        two.as_bytes(),
        &["frame 1", "expected 3 atoms as in the first frame, got 2"],
    );
}

fn pdb_atom(
    serial: &str,
    name: &str,
    residue: &str,
    number: &str,
    place: [f64; 3],
    element: &str,
) -> String {
    let [x, y, z] = place;
    format!(
        "ATOM  {serial:>5} {name:<4} {residue:<3} A{number:>4}    {x:8.3}{y:8.3}{z:8.3}  1.00  0.00          {element:>2}\n"
    )
}

#[test]
fn pdb_gives_models_and_atoms() {
    let cell = "CRYST1   10.000   11.000   12.000  90.00  90.00  90.00 P 1           1\n";
    let model = |shift: f64| {
        pdb_atom("99999", " N", "ALA", "9999", [1.0 + shift, -2.0, 3.5], "N")
            + &pdb_atom("A0000", " CA", "ALA", "9999", [2.0 + shift, 0.0, 0.0], "C")
            + &pdb_atom("*****", "CA", "CA", "****", [3.0 + shift, 0.0, 0.0], "")
            + &pdb_atom("186a2", "CA", "CA", "A000", [4.0 + shift, 0.0, 0.0], "CA")
    };
    let text = format!(
        "REMARK\n{cell}MODEL        1\n{}TER\nENDMDL\nMODEL        2\n{}ENDMDL\nCONECT99999A0000\nEND\n",
        model(0.0),
        model(1.0)
    );
    let found = frames(TrajectoryFormat::Pdb, text.as_bytes()).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(places(&found[1])[..6], [2.0, -2.0, 3.5, 3.0, 0.0, 0.0]);
    assert_eq!(
        found[1].cell,
        Some([[10.0, 0.0, 0.0], [0.0, 11.0, 0.0], [0.0, 0.0, 12.0]])
    );
    let atoms = atoms(TrajectoryFormat::Pdb, text.as_bytes()).unwrap();
    let elements: Vec<&str> = (0..4).map(|at| atoms.elements.get(at)).collect();
    assert_eq!(elements, ["N", "C", "Ca", "CA"]);
    assert_eq!(atoms.residue_numbers, [9999, 9999, 10000, 10000]);
    assert_eq!(
        (&atoms.residues[..], &atoms.bonds[..]),
        (&[0, 0, 1, 2][..], &[[0, 1]][..])
    );
    // A file of one model, without END, without a box; a unit cube is none.
    assert_eq!(
        frames(TrajectoryFormat::Pdb, model(0.0).as_bytes()).unwrap()[0].cell,
        None
    );
    let unit = cell.replace("10.000   11.000   12.000", " 1.000    1.000    1.000");
    assert_eq!(
        frames(TrajectoryFormat::Pdb, (unit + &model(0.0)).as_bytes()).unwrap()[0].cell,
        None
    );
}

#[test]
fn pdb_of_shifted_columns_is_refused_with_its_line() {
    let atom = |serial: &str| pdb_atom(serial, " N", "ALA", "1", [1.0, 2.0, 3.0], "N");
    // A serial number of six digits shifts the rest of the line.
    let shifted = atom("1") + &atom("100000");
    refused(
        TrajectoryFormat::Pdb,
        shifted.as_bytes(),
        &["line 2", "columns 31 to 38", "hybrid-36"],
    );
    refused(
        TrajectoryFormat::Pdb,
        atom("1").replace("   1.000", "********").as_bytes(),
        &["line 1", "'********'"],
    );
    refused(
        TrajectoryFormat::Pdb,
        &atom("1").as_bytes()[..45],
        &["columns 39 to 46"],
    );
    let two = format!(
        "MODEL 1\n{}{}ENDMDL\nMODEL 2\n{}ENDMDL\n",
        atom("1"),
        atom("2"),
        atom("1")
    );
    refused(
        TrajectoryFormat::Pdb,
        two.as_bytes(),
        &["frame 1", "expected 2 atoms as in the first frame, got 1"],
    );
    refused(
        TrajectoryFormat::Pdb,
        ("CRYST1 10 10\n".to_string() + &atom("1")).as_bytes(),
        &["line 1", "three lengths"],
    );
    let bond = atom("1") + &atom("*****") + "CONECT    1    2\n";
    let atoms = atoms(TrajectoryFormat::Pdb, bond.as_bytes()).unwrap();
    let odd = atoms.odd_bond.expect("a bond of an unknown atom");
    explained(&odd, Blame::Input, &["line 3", "got '2'"]);
}

#[test]
fn xyz_frames_have_the_same_points() {
    let frame = |kind: &str| format!("2\nLattice=\"5 0 0 0 5 0 0 0 5\"\nO 0 0 0\n{kind} 1 0 0\n");
    let found = frames(TrajectoryFormat::Xyz, (frame("H") + &frame("H")).as_bytes()).unwrap();
    assert_eq!((found.len(), found[1].number), (2, 1));
    refused(
        TrajectoryFormat::Xyz,
        (frame("H") + &frame("C")).as_bytes(),
        &["frame 1", "expected 'H' for point 1", "got 'C'"],
    );
    refused(
        TrajectoryFormat::Xyz,
        (frame("H") + "1\n\nO 0 0 0\n").as_bytes(),
        &["frame 1", "expected 2 atoms"],
    );
    assert_eq!(
        atoms(TrajectoryFormat::Xyz, frame("Na").as_bytes())
            .unwrap()
            .elements
            .get(1),
        "Na"
    );
}

#[test]
fn a_suffix_names_the_kind_and_packing_is_seen_through() {
    assert_eq!(
        TrajectoryFormat::by_suffix("a/B.GRO.gz").unwrap(),
        TrajectoryFormat::Gro
    );
    assert!(
        TrajectoryFormat::by_suffix("a.trr")
            .unwrap_err()
            .to_string()
            .contains(".xtc")
    );
    let scratch = Scratch::new();
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, GRO.as_bytes()).unwrap();
    let path = scratch.file("t.gro.gz", &packed.finish().unwrap());
    let budget = Budget::new(1 << 26);
    let source = Source::open(&path, &budget).unwrap();
    let mut trajectory = Trajectory::open(&source, TrajectoryFormat::Gro, &budget).unwrap();
    assert!(trajectory.read_next().unwrap().is_some());
    assert!(trajectory.read_next().unwrap().is_none());
}

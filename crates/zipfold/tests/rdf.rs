//! Radial distribution functions against a double loop over atoms and images, whose counts are
//! equal, in boxes of every shape, for every rule and any threads.

use std::fmt::Write as _;
use zipfold::internals::rdf::{Convention, Exclude, Partials, Radial, Rdf};
use zipfold::{Blame, Options, Result};
use zipfold_core::Random;

/// A file that is removed at the end.
struct File(String);

impl File {
    fn new(suffix: &str, text: &str) -> File {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Relaxed);
        let name = format!("zipfold-rdf-{}-{serial}.{suffix}", std::process::id());
        let path = std::env::temp_dir()
            .join(name)
            .to_string_lossy()
            .into_owned();
        std::fs::write(&path, text).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

type Point = [f64; 3];
type Cell = [Point; 3];

/// A frame of atoms whose places are multiples of 1/64, so that every sum below is exact.
struct Frame {
    cell: Cell,
    kinds: Vec<&'static str>,
    places: Vec<Point>,
}

impl Frame {
    fn random(random: &mut Random, n: usize, cell: Cell) -> Frame {
        let exact = |v: f64| (v * 64.0).round() / 64.0;
        let mut places: Vec<Point> = vec![];
        for _ in 0..n {
            let parts = [0, 1, 2].map(|_| 3.0 * random.unit() - 1.0);
            let place = [0, 1, 2].map(|k| exact((0..3).map(|v| parts[v] * cell[v][k]).sum()));
            let twin = random.below(10) == 0 && !places.is_empty();
            places.push(if twin {
                places[random.below(places.len())]
            } else {
                place
            });
        }
        let kinds = (0..n).map(|_| ["O", "H", "Na"][random.below(3)]).collect();
        Frame {
            cell,
            kinds,
            places,
        }
    }
    fn text(&self) -> String {
        let numbers: Vec<String> = self.cell.iter().flatten().map(f64::to_string).collect();
        let mut text = format!("{}\nLattice=\"{}\"\n", self.places.len(), numbers.join(" "));
        for (kind, [x, y, z]) in self.kinds.iter().zip(&self.places) {
            writeln!(text, "{kind} {x} {y} {z}").unwrap();
        }
        text
    }
    /// The square of the distance to the nearest of all images that can be near.
    fn square(&self, i: usize, j: usize, flat: bool) -> f64 {
        let axes = if flat { 2 } else { 3 };
        let steps = || -9..=9;
        let mut best = f64::INFINITY;
        for (a, b) in steps().flat_map(|a| steps().map(move |b| (a, b))) {
            for c in steps().filter(|c| !flat || *c == 0) {
                let part = |k: usize| {
                    let shift = [a, b, c]
                        .iter()
                        .zip(&self.cell)
                        .map(|(n, v)| f64::from(*n) * v[k])
                        .sum::<f64>();
                    let d = self.places[i][k] - self.places[j][k] - shift;
                    d * d
                };
                best = best.min((0..axes).map(part).sum());
            }
        }
        best
    }
    fn volume(&self, flat: bool) -> f64 {
        let [a, b, c] = self.cell;
        if flat {
            return a[0] * b[1];
        }
        (a[0] * (b[1] * c[2] - b[2] * c[1])
            + a[1] * (b[2] * c[0] - b[0] * c[2])
            + a[2] * (b[0] * c[1] - b[1] * c[0]))
            .abs()
    }
}

/// The counts of ordered pairs (i, j), i of `from` and j of `to`, but for those that `out` leaves
/// out, between edges: the last one closed or not.
fn counts(
    frames: &[Frame],
    [from, to]: [&dyn Fn(usize) -> bool; 2],
    out: &dyn Fn(usize, usize) -> bool,
    (edges, closed, flat): (&[f64], bool, bool),
) -> Vec<u64> {
    let bins = edges.len() - 1;
    let mut counts = vec![0; bins];
    for frame in frames {
        let n = frame.places.len();
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            if !from(i) || !to(j) || out(i, j) {
                continue;
            }
            let r = if i == j {
                0.0
            } else {
                frame.square(i, j, flat).sqrt()
            };
            let found = (0..bins).find(|b| {
                edges[*b] <= r
                    && (r < edges[b + 1] || (closed && b + 1 == bins && r == edges[bins]))
            });
            found.into_iter().for_each(|b| counts[b] += 1);
        }
    }
    counts
}

/// The counts of all atoms with all others, the last edge closed.
fn of_all_atoms(frames: &[Frame], edges: &[f64], flat: bool) -> Vec<u64> {
    counts(frames, [&|_| true; 2], &|i, j| i == j, (edges, true, flat))
}

fn edges(lo: f64, hi: f64, bins: usize) -> Vec<f64> {
    (0..=bins)
        .map(|at| {
            if at == bins {
                hi
            } else {
                lo + at as f64 * ((hi - lo) / bins as f64)
            }
        })
        .collect()
}

fn ask(asked: &Rdf, threads: usize) -> Result<Radial> {
    asked.run(&Options {
        threads,
        ..Options::default()
    })
}

const CUBE: Cell = [[8.0, 0.0, 0.0], [0.0, 8.0, 0.0], [0.0, 0.0, 8.0]];
const BRICK: Cell = [[8.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 12.0]];
const SKEW: Cell = [[8.0, 0.0, 0.0], [2.0, 9.0, 0.0], [-3.0, 2.5, 8.5]];
/// A rhombic dodecahedron, and one that is far from reduced.
const DODECAHEDRON: Cell = [[8.0, 0.0, 0.0], [0.0, 8.0, 0.0], [4.0, 4.0, 5.65625]];
const LONG: Cell = [[8.0, 0.0, 0.0], [8.0, 9.0, 0.0], [16.0, -9.0, 8.5]];

#[test]
fn counts_are_those_of_a_double_loop_over_images() {
    let mut random = Random::new(220);
    for (round, cell) in [CUBE, BRICK, SKEW, DODECAHEDRON, LONG]
        .into_iter()
        .enumerate()
    {
        let n = [2, 3, 17, 30, 41][round];
        let mut frames: Vec<Frame> = (0..3)
            .map(|_| Frame::random(&mut random, n, cell))
            .collect();
        let kinds = frames[0].kinds.clone();
        frames.iter_mut().for_each(|f| f.kinds = kinds.clone());
        let file = File::new("xyz", &frames.iter().map(Frame::text).collect::<String>());
        let asked = Rdf {
            range: Some([0.0, 3.5]),
            bins: 14,
            ..Rdf::new(file.0.clone())
        };
        let edges = edges(0.0, 3.5, 14);
        let expected = of_all_atoms(&frames, &edges, false);
        for threads in [1, 2, 5] {
            let found = ask(&asked, threads).unwrap();
            assert_eq!(found.curves[0].counts, expected, "{cell:?}");
            assert_eq!((found.frames, found.unit), (3, "Å"));
        }
        let own = frames[0].volume(false);
        let found = ask(&asked, 0).unwrap();
        for (at, count) in expected.iter().enumerate() {
            let shell =
                4.0 / 3.0 * std::f64::consts::PI * (edges[at + 1].powi(3) - edges[at].powi(3));
            let ideal = 3.0 * (n * (n - 1)) as f64 / own * shell;
            assert!((found.curves[0].g[at] - *count as f64 / ideal).abs() < 1e-9);
        }
        let sum: u64 = expected.iter().sum();
        assert!((found.curves[0].n[13] - sum as f64 / (3 * n) as f64).abs() < 1e-12);
    }
}

#[test]
fn sets_may_be_the_same_apart_or_overlap() {
    let mut random = Random::new(221);
    let frames: Vec<Frame> = vec![Frame::random(&mut random, 33, BRICK)];
    let file = File::new("xyz", &frames[0].text());
    let edges = edges(0.5, 4.0, 7);
    let wide = self::edges(0.0, 4.0, 7);
    for (from, to) in [
        ("index 0-15", "index 16-32"),
        ("index 0-20", "index 10-32"),
        ("index 3-9", "index 3-9"),
        ("all", "index 7"),
    ] {
        let set = |text: &str| {
            let ends = text.strip_prefix("index ").map(|t| {
                t.split('-')
                    .map(|v| v.parse().unwrap())
                    .collect::<Vec<usize>>()
            });
            move |at: usize| {
                ends.as_ref()
                    .is_none_or(|e| (e[0]..=*e.last().unwrap()).contains(&at))
            }
        };
        for (edges, convention) in [
            (&edges, Convention::Plain),
            (&wide, Convention::Plain),
            (&wide, Convention::MdAnalysis),
        ] {
            let asked = Rdf {
                select: from.into(),
                to: Some(to.into()),
                range: Some([edges[0], 4.0]),
                bins: 7,
                convention,
                ..Rdf::new(file.0.clone())
            };
            let itself = convention == Convention::MdAnalysis;
            let expected = counts(
                &frames,
                [&set(from), &set(to)],
                &|i, j| i == j && !itself,
                (edges, true, false),
            );
            assert_eq!(
                ask(&asked, 0).unwrap().curves[0].counts,
                expected,
                "{from} {to}"
            );
        }
    }
}

#[test]
fn partials_add_up_and_each_is_its_own_question() {
    let mut random = Random::new(222);
    let frames = vec![Frame::random(&mut random, 40, SKEW)];
    let file = File::new("xyz", &frames[0].text());
    let asked = Rdf {
        partials: Some(Partials::Element),
        range: Some([0.0, 3.5]),
        bins: 7,
        ..Rdf::new(file.0.clone())
    };
    let found = ask(&asked, 0).unwrap();
    let edges = edges(0.0, 3.5, 7);
    assert_eq!(found.curves.len(), 6);
    let mut all = vec![0; 7];
    for curve in &found.curves {
        let [from, to] = &curve.names;
        let kind = |name: &String| {
            let name = name.clone();
            let kinds = frames[0].kinds.clone();
            move |at: usize| kinds[at] == name
        };
        let expected = counts(
            &frames,
            [&kind(from), &kind(to)],
            &|i, j| i == j,
            (&edges, true, false),
        );
        assert_eq!(curve.counts, expected, "{from} {to}");
        let ways = if from == to { 1 } else { 2 };
        all.iter_mut()
            .zip(&curve.counts)
            .for_each(|(sum, count)| *sum += ways * count);
    }
    let whole = Rdf {
        partials: None,
        ..asked
    };
    assert_eq!(ask(&whole, 0).unwrap().curves[0].counts, all);
}

#[test]
fn rules_of_programs_are_theirs() {
    let mut random = Random::new(223);
    let mut frames = vec![
        Frame::random(&mut random, 25, BRICK),
        Frame::random(&mut random, 25, CUBE),
    ];
    frames[1].kinds = frames[0].kinds.clone();
    let file = File::new("xyz", &frames.iter().map(Frame::text).collect::<String>());
    let asked = |convention| Rdf {
        range: Some([0.0, 4.0]),
        bins: 8,
        convention,
        unit: Some(zipfold::internals::rdf::Unit::Angstrom),
        ..Rdf::new(file.0.clone())
    };
    let plain = edges(0.0, 4.0, 8);
    let volumes = [frames[0].volume(false), frames[1].volume(false)];
    let shell = |lo: f64, hi: f64| 4.0 / 3.0 * std::f64::consts::PI * (hi.powi(3) - lo.powi(3));
    let same = |found: &[f64], expected: Vec<f64>| {
        found.iter().zip(&expected).for_each(|(f, e)| {
            assert!((f - e).abs() < 1e-9 * e.max(1.0), "{found:?} {expected:?}")
        });
        assert_eq!(found.len(), expected.len());
    };
    let over = |counts: &[u64], edges: &[f64], density: f64| -> Vec<f64> {
        counts
            .iter()
            .enumerate()
            .map(|(at, c)| *c as f64 / (density * shell(edges[at], edges[at + 1])))
            .collect()
    };
    // MDAnalysis: an atom is a pair with itself; N² over the mean volume.
    let expected = counts(
        &frames,
        [&|_| true; 2],
        &|_, _| false,
        (&plain, true, false),
    );
    let found = ask(&asked(Convention::MdAnalysis), 0).unwrap();
    assert_eq!(found.curves[0].counts, expected);
    same(
        &found.curves[0].g,
        over(
            &expected,
            &plain,
            2.0 * 625.0 / (0.5 * (volumes[0] + volumes[1])),
        ),
    );
    // freud: half-open, N² over the volume of the last frame.
    let expected = counts(
        &frames,
        [&|_| true; 2],
        &|i, j| i == j,
        (&plain, false, false),
    );
    let found = ask(&asked(Convention::Freud), 0).unwrap();
    assert_eq!(found.curves[0].counts, expected);
    same(
        &found.curves[0].g,
        over(&expected, &plain, 2.0 * 625.0 / volumes[1]),
    );
    // cpptraj: half-open, N (N − 1) over the mean volume.
    let found = ask(&asked(Convention::Cpptraj), 0).unwrap();
    assert_eq!(found.curves[0].counts, expected);
    same(
        &found.curves[0].g,
        over(
            &expected,
            &plain,
            2.0 * 600.0 / (0.5 * (volumes[0] + volumes[1])),
        ),
    );
    // GROMACS: bins about multiples of the width, distances above 0.
    let halves = [0.0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75];
    let zero = |frame: &Frame, i: usize, j: usize| i == j || frame.square(i, j, false) == 0.0;
    let mut expected = vec![0u64; 8];
    for frame in &frames {
        let one = std::slice::from_ref(frame);
        let found = counts(
            one,
            [&|_| true; 2],
            &|i, j| zero(frame, i, j),
            (&halves, false, false),
        );
        expected
            .iter_mut()
            .zip(&found)
            .for_each(|(sum, count)| *sum += count);
    }
    let found = ask(&asked(Convention::Gromacs), 0).unwrap();
    assert_eq!(found.curves[0].counts, expected);
    assert_eq!(found.r, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]);
    same(
        &found.curves[0].g,
        over(
            &expected,
            &halves,
            625.0 * (1.0 / volumes[0] + 1.0 / volumes[1]),
        ),
    );
    assert_eq!(found.curves[0].n[0], 0.0);
    let below: u64 = frames
        .iter()
        .map(|frame| {
            let one = std::slice::from_ref(frame);
            counts(
                one,
                [&|_| true; 2],
                &|i, j| zero(frame, i, j),
                (&[0.0, 3.5], false, false),
            )[0]
        })
        .sum();
    assert!((found.curves[0].n[7] - below as f64 / 50.0).abs() < 1e-12);
}

#[test]
fn a_plane_has_circles() {
    let mut random = Random::new(224);
    let frames = vec![Frame::random(&mut random, 30, BRICK)];
    let file = File::new("xyz", &frames[0].text());
    let asked = Rdf {
        flat: true,
        range: Some([0.0, 4.0]),
        bins: 4,
        ..Rdf::new(file.0.clone())
    };
    let edges = edges(0.0, 4.0, 4);
    let expected = of_all_atoms(&frames, &edges, true);
    let found = ask(&asked, 0).unwrap();
    assert_eq!(found.curves[0].counts, expected);
    let ideal = 30.0 * 29.0 / 80.0 * std::f64::consts::PI * (16.0 - 9.0);
    assert!((found.curves[0].g[3] - expected[3] as f64 / ideal).abs() < 1e-9);
}

/// Water molecules as GRO, in nm: three atoms a residue.
fn water(random: &mut Random, molecules: usize) -> (String, Frame) {
    let mut text = format!("water\n{}\n", 3 * molecules);
    let (mut places, mut kinds) = (vec![], vec![]);
    for molecule in 0..molecules {
        let centre = [0, 1, 2].map(|_| (random.unit() * 16.0).round() / 8.0);
        for (at, name) in ["OW", "HW1", "HW2"].into_iter().enumerate() {
            let place = [0, 1, 2].map(|k| centre[k] + if k + 1 == at { 0.125 } else { 0.0 });
            let [x, y, z] = place;
            let serial = 3 * molecule + at + 1;
            writeln!(
                text,
                "{:5}{:<5}{name:>5}{serial:5}{x:8.3}{y:8.3}{z:8.3}",
                molecule + 1,
                "SOL"
            )
            .unwrap();
            places.push(place);
            kinds.push(if at == 0 { "O" } else { "H" });
        }
    }
    text += "   2.0   2.0   2.0\n";
    let cell = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]];
    (
        text,
        Frame {
            cell,
            kinds,
            places,
        },
    )
}

#[test]
fn pairs_of_a_residue_a_molecule_or_a_bond_are_left_out() {
    let mut random = Random::new(225);
    let (text, frame) = water(&mut random, 20);
    let kinds = frame.kinds.clone();
    let frames = vec![frame];
    let file = File::new("gro", &text);
    let bonds: String = (0..20)
        .flat_map(|m| {
            [
                format!("{},{}\n", 3 * m, 3 * m + 1),
                format!("{},{}\n", 3 * m + 2, 3 * m),
            ]
        })
        .collect();
    let bonds = File::new("csv", &bonds);
    let edges = edges(0.0, 1.0, 8);
    let oxygen = |at: usize| kinds[at] == "O";
    let bonded = |i: usize, j: usize| i / 3 == j / 3 && i.is_multiple_of(3) != j.is_multiple_of(3);
    for exclude in [
        Exclude::None,
        Exclude::Residue,
        Exclude::Molecule,
        Exclude::Bonds,
    ] {
        let out = |i: usize, j: usize| match exclude {
            Exclude::None => i == j,
            Exclude::Residue | Exclude::Molecule => i / 3 == j / 3,
            Exclude::Bonds => i == j || bonded(i, j),
        };
        for (select, to) in [
            ("all", "all"),
            ("name OW", "all"),
            ("element O", "element H"),
        ] {
            let asked = Rdf {
                select: select.into(),
                to: Some(to.into()),
                exclude,
                bonds: Some(bonds.0.clone()),
                range: Some([0.0, 1.0]),
                bins: 8,
                ..Rdf::new(file.0.clone())
            };
            let from = |at: usize| select == "all" || oxygen(at);
            let to = |at: usize| to == "all" || !oxygen(at);
            let expected = counts(&frames, [&from, &to], &out, (&edges, true, false));
            let found = ask(&asked, 0).unwrap();
            assert_eq!(
                (&found.curves[0].counts, found.unit),
                (&expected, "nm"),
                "{exclude:?} {select}"
            );
        }
    }
}

#[test]
fn frames_are_those_of_the_slice() {
    let frame = |x: f64| format!("2\nLattice=\"9 0 0 0 9 0 0 0 9\"\nO 0 0 0\nO {x} 0 0\n");
    let file = File::new(
        "xyz",
        &(0..6)
            .map(|at| frame(0.5 + 0.5 * f64::from(at)))
            .collect::<String>(),
    );
    let asked = |frames: &str| Rdf {
        frames: Some(frames.into()),
        range: Some([0.0, 4.0]),
        bins: 8,
        ..Rdf::new(file.0.clone())
    };
    let found = |frames: &str| ask(&asked(frames), 0).unwrap().curves[0].counts.clone();
    assert_eq!(found("1:4"), [0, 0, 2, 2, 2, 0, 0, 0]);
    assert_eq!(found("::3"), [0, 2, 0, 0, 2, 0, 0, 0]);
    assert_eq!(found("4"), [0, 0, 0, 0, 0, 2, 0, 0]);
    let none = ask(&asked("6:"), 0).unwrap_err();
    assert!(none.to_string().contains("a file of 6 frames"), "{none}");
}

#[test]
fn what_means_nothing_is_refused() {
    let frame = |edge: f64| format!("2\nLattice=\"{edge} 0 0 0 9 0 0 0 9\"\nO 0 0 0\nH 1 0 0\n");
    let good = File::new("xyz", &frame(9.0));
    let shrinks = File::new("xyz", &(frame(9.0) + &frame(6.0)));
    let open = File::new("xyz", "2\nno box\nO 0 0 0\nH 1 0 0\n");
    let flat = File::new("xyz", &frame(0.0));
    let asked = |file: &File| Rdf {
        range: Some([0.0, 4.0]),
        ..Rdf::new(file.0.clone())
    };
    let cases = [
        (
            Rdf {
                range: Some([0.0, 4.75]),
                ..asked(&good)
            },
            "4.5 Å",
        ),
        (asked(&shrinks), "frame 1"),
        (asked(&open), "expected a box"),
        (asked(&flat), "volume 0"),
        (
            Rdf {
                range: None,
                density: Some(0.1),
                ..asked(&open)
            },
            "expected a range",
        ),
        (
            Rdf {
                bins: 0,
                ..asked(&good)
            },
            "1 to 10000000 bins",
        ),
        (
            Rdf {
                range: Some([2.0, 1.0]),
                ..asked(&good)
            },
            "ascending",
        ),
        (
            Rdf {
                range: Some([1.0, 2.0]),
                convention: Convention::Gromacs,
                ..asked(&good)
            },
            "from 0",
        ),
        (
            Rdf {
                density: Some(-1.0),
                ..asked(&good)
            },
            "positive density",
        ),
        (
            Rdf {
                select: "element N".into(),
                ..asked(&good)
            },
            "at least one of 2 atoms, got none",
        ),
        (
            Rdf {
                select: "element O".into(),
                ..asked(&good)
            },
            "at least two atoms",
        ),
        (
            Rdf {
                to: Some("all".into()),
                partials: Some(Partials::Name),
                ..asked(&good)
            },
            "second set",
        ),
        (
            Rdf {
                exclude: Exclude::Bonds,
                ..asked(&good)
            },
            "expected bonds, got none",
        ),
        (
            Rdf {
                topology: Some(shrinks.0.clone()),
                ..Rdf::new("nothing.xtc")
            },
            "no such file",
        ),
        (Rdf::new("a.trr"), "which format of trajectories"),
    ];
    for (asked, words) in cases {
        let error = ask(&asked, 0).expect_err(words);
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert!(
            matches!(error.blame(), Blame::Request | Blame::Input),
            "{error}"
        );
    }
}

#[test]
fn a_density_takes_the_place_of_a_box() {
    let open = File::new("xyz", "2\nno box\nO 0 0 0\nH 1 0 0\n");
    let dense = Rdf {
        density: Some(0.1),
        range: Some([0.0, 4.0]),
        ..Rdf::new(open.0.clone())
    };
    let found = ask(&dense, 0).unwrap();
    assert_eq!(found.curves[0].counts.iter().sum::<u64>(), 2);
    // Of two atoms one is around the other, at 1 Å: in the bin from 1 on.
    let shell = 4.0 / 3.0 * std::f64::consts::PI * (1.04f64.powi(3) - 1.0);
    assert!((found.curves[0].g[25] - 1.0 / (0.1 * shell)).abs() < 1e-9);
}

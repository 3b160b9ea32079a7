use crate::Lcg;
use zipfold_core::space::PeriodicBox;
use zipfold_core::space::periodic_box::Image;
use zipfold_cpu::kernels::histogram::*;
use zipfold_vector::simd::{Element, Isa};

/// What the points of a test lie in.
#[derive(Clone, Copy)]
enum Around<'a> {
    Open,
    Right(&'a [f64]),
    Triclinic(&'a PeriodicBox),
}

impl Around<'_> {
    fn frame(self, open: impl FnOnce() -> Frame) -> Frame {
        match self {
            Around::Open => open(),
            Around::Right(lengths) => Frame::periodic(lengths),
            Around::Triclinic(cell) => {
                let Image::Triclinic(triclinic) = cell.image() else {
                    panic!("a box with right angles")
                };
                Frame::triclinic(triclinic)
            }
        }
    }
    fn nearest(self, d: &mut [f64]) {
        match self {
            Around::Open => {}
            Around::Right(l) => d
                .iter_mut()
                .zip(l)
                .for_each(|(d, l)| *d -= l * (*d / l).round_ties_even()),
            Around::Triclinic(cell) => cell.minimum_image(d),
        }
    }
}

/// The definition, with an edge search that knows nothing of the product's.
#[allow(clippy::needless_range_loop, reason = "pairs are numbered")]
fn oracle(
    x: &[Vec<f64>],
    y: &[Vec<f64>],
    space: Around<'_>,
    edges: &Edges,
    closed: bool,
    pairs: Pairs,
) -> Counts {
    let bins = edges.bins();
    let mut counts = Counts {
        bins: vec![0; bins],
        under: 0,
        over: 0,
        skipped: 0,
        weights: vec![],
        values: vec![],
    };
    for i in 0..x[0].len() {
        for j in 0..y[0].len() {
            if pairs == Pairs::Above && j <= i {
                continue;
            }
            let mut d: Vec<f64> = (0..x.len()).map(|k| x[k][i] - y[k][j]).collect();
            space.nearest(&mut d);
            let r2 = d.iter().fold(0.0, |sum, d| sum + d * d);
            if r2.is_nan() {
                counts.skipped += 1;
            } else if closed && r2 == edges.squares()[bins] {
                counts.bins[bins - 1] += 1;
            } else {
                match edges.squares().iter().rposition(|&e| e <= r2) {
                    None => counts.under += 1,
                    Some(i) if i == bins => counts.over += 1,
                    Some(i) => counts.bins[i] += 1,
                }
            }
        }
    }
    counts
}

/// Random, clustered, lattice, far from zero, with duplicates, tiny.
fn bvh(kind: usize, dimensions: usize, n: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut g = Lcg(seed);
    let mut value = || match kind {
        0 => g.next() * 10.0,
        1 => (g.next() * 4.0).floor() * 2.5 + g.next() * 1e-6,
        2 => (g.next() * 8.0).floor(),
        3 => 1e7 + g.next() * 10.0,
        4 => (g.next() * 40.0).floor() / 4.0 - 3.0,
        _ => g.next() * 1e-24,
    };
    (0..dimensions)
        .map(|_| (0..n).map(|_| value()).collect())
        .collect()
}

fn check<T: Element>(
    x: &[Vec<f64>],
    y: &[Vec<f64>],
    space: Around<'_>,
    edges: &Edges,
    closed: bool,
    what: &str,
) {
    let narrow = |v: &[Vec<f64>]| {
        v.iter()
            .map(|c| c.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>())
            .collect::<Vec<_>>()
    };
    let widen = |v: &[Vec<T>]| {
        v.iter()
            .map(|c| c.iter().map(|x| x.to_f64()).collect::<Vec<f64>>())
            .collect::<Vec<_>>()
    };
    let (x, y) = (narrow(x), narrow(y));
    let slices =
        |v: &[Vec<T>]| -> Vec<&'static [T]> { v.iter().map(|c| &*c.clone().leak()).collect() };
    let (xs, ys) = (slices(&x), slices(&y));
    let frame = space.frame(|| Frame::open(&xs));
    let (px, py) = (Points::new(&frame, &xs), Points::new(&frame, &ys));
    for pairs in [Pairs::All, Pairs::Above] {
        let want = oracle(&widen(&x), &widen(&y), space, edges, closed, pairs);
        for isa in Isa::available() {
            let mut h = Histogram::new(edges);
            // Blocks that end in the middle of vectors and of groups of anchors.
            let (m, n) = (px.len(), py.len());
            for rows in [0..m / 3, m / 3..m] {
                for cols in [0..n / 2, n / 2..n] {
                    h.add(isa, &px, rows.clone(), &py, cols, pairs);
                }
            }
            let got = h.finish();
            assert_eq!(got, want, "{what} {isa} {pairs:?} f{}", 8 * size_of::<T>());
            let mut slow = Histogram::new(edges).without_fast_path();
            slow.add(isa, &px, 0..m, &py, 0..n, pairs);
            assert_eq!(slow.finish(), want, "{what} in f64");
        }
    }
}

fn edge_sets(scale: f64) -> Vec<(Edges, bool)> {
    let log: Vec<f64> = (0..17).map(|i| scale * 0.01 * 1.6f64.powi(i)).collect();
    vec![
        (Edges::uniform(0.0, 10.0 * scale, 300), false),
        (Edges::uniform(0.0, 8.0 * scale, 16).close_last(), true),
        (Edges::uniform(2.0 * scale, 5.0 * scale, 3), false),
        (Edges::uniform(-scale, 2.5 * scale, 7), false),
        (Edges::uniform(0.0, 12.0 * scale, 5000), false),
        (Edges::from_edges(&log), false),
        (
            Edges::from_edges(&[0.0, scale, scale, 2.0 * scale, 3.0 * scale]).close_last(),
            true,
        ),
        (
            Edges::from_squares(vec![
                scale * scale,
                2.0 * scale * scale,
                9.0 * scale * scale,
            ]),
            false,
        ),
        (
            Edges::from_squares(
                (0..3000)
                    .map(|i| f64::from(i) * 0.05 * scale * scale)
                    .collect(),
            ),
            false,
        ),
    ]
}

/// One cloud for every kind of box and of edges, in single and in double precision: short enough
/// for an emulator.
#[test]
fn each_form_counts_what_the_definition_counts() {
    let cell = PeriodicBox::parse("10,8,4,80,85,75").expect("a box");
    for kind in [0, 3] {
        let (x, y) = (bvh(kind, 3, 41, 41), bvh(kind, 3, 50, 42));
        for space in [
            Around::Open,
            Around::Right(&[10.0, 8.0, 4.0]),
            Around::Triclinic(&cell),
        ] {
            for (n, (edges, closed)) in edge_sets(0.5).iter().enumerate() {
                let what = format!("kind {kind}, edges {n}");
                check::<f32>(&x, &y, space, edges, *closed, &what);
                check::<f64>(&x, &y, space, edges, *closed, &what);
            }
        }
    }
}

#[test]
fn counts_are_those_of_the_definition() {
    for kind in 0..6 {
        for dimensions in 1..=4 {
            let (x, y) = (bvh(kind, dimensions, 101, 1), bvh(kind, dimensions, 87, 2));
            for (n, (edges, closed)) in edge_sets(if kind == 5 { 1e-25 } else { 1.0 })
                .iter()
                .enumerate()
            {
                let what = format!("kind {kind}, {dimensions}-D, edges {n}");
                check::<f32>(&x, &y, Around::Open, edges, *closed, &what);
                check::<f64>(&x, &y, Around::Open, edges, *closed, &what);
            }
        }
    }
}

#[test]
fn periodic_counts_are_those_of_the_definition() {
    for kind in [0, 1, 2, 3, 4] {
        for dimensions in 1..=4 {
            let (x, y) = (bvh(kind, dimensions, 77, 3), bvh(kind, dimensions, 90, 4));
            for periods in [[10.0, 8.0, 4.0, 2.0], [3.3, 7.7, 1.1, 100.0]] {
                for (n, (edges, closed)) in edge_sets(0.5).iter().enumerate() {
                    let what = format!("kind {kind}, {dimensions}-D, edges {n}, box {periods:?}");
                    check::<f32>(
                        &x,
                        &y,
                        Around::Right(&periods[..dimensions]),
                        edges,
                        *closed,
                        &what,
                    );
                    check::<f64>(
                        &x,
                        &y,
                        Around::Right(&periods[..dimensions]),
                        edges,
                        *closed,
                        &what,
                    );
                }
            }
        }
    }
}

#[test]
fn counts_in_triclinic_boxes_are_those_of_the_definition() {
    let boxes = [
        "10,8,4,80,85,75",
        "10,10,10,60,60,60",
        "3.3,7.7,1.1,90,90,120",
        "10,10,10,109.4712206,109.4712206,109.4712206",
        "5,9,7,40,55,30",
        "1,30,2,91,100,165",
    ];
    for cell in boxes.map(|text| PeriodicBox::parse(text).expect("a box")) {
        for kind in [0, 1, 2, 3, 4] {
            let (x, y) = (bvh(kind, 3, 77, 31), bvh(kind, 3, 90, 32));
            for (n, (edges, closed)) in edge_sets(0.5).iter().enumerate() {
                let what = format!("kind {kind}, edges {n}, box {:?}", cell.vectors());
                check::<f32>(&x, &y, Around::Triclinic(&cell), edges, *closed, &what);
                check::<f64>(&x, &y, Around::Triclinic(&cell), edges, *closed, &what);
            }
        }
    }
}

#[test]
fn most_pairs_in_triclinic_boxes_are_decided_in_single_precision() {
    let x = bvh(0, 3, 1000, 33);
    let columns: Vec<&[f64]> = x.iter().map(|c| &c[..]).collect();
    let cell = PeriodicBox::parse("10,10,10,80,85,75").expect("a box");
    let points = Points::new(
        &Around::Triclinic(&cell).frame(|| Frame::open(&columns)),
        &columns,
    );
    let edges = Edges::uniform(0.0, 9.0, 300);
    let mut h = Histogram::new(&edges);
    h.add(
        Isa::detect(),
        &points,
        0..1000,
        &points,
        0..1000,
        Pairs::Above,
    );
    assert!(h.undecided() < 1000, "{} of 499500", h.undecided());
    assert_eq!(h.finish().total(), 499_500);
}

#[test]
fn small_and_strange_sets() {
    let edges = Edges::uniform(0.0, 3.0, 6);
    for n in [0, 1, 2, 15, 16, 17] {
        let (x, y) = (bvh(2, 3, n, 5), bvh(2, 3, 40, 6));
        check::<f32>(&x, &y, Around::Open, &edges, false, "small");
        check::<f32>(&y, &x, Around::Open, &edges, false, "small");
    }
    for strange in [f64::NAN, f64::INFINITY, 1e300, 3e38] {
        let (mut x, mut y) = (bvh(0, 2, 60, 7), bvh(0, 2, 60, 8));
        x[1][13] = strange;
        y[0][59] = strange;
        for (edges, closed) in edge_sets(1.0) {
            check::<f64>(&x, &y, Around::Open, &edges, closed, "strange");
            check::<f32>(&x, &y, Around::Open, &edges, closed, "strange");
        }
    }
}

#[test]
fn most_pairs_are_decided_in_single_precision() {
    let x = bvh(0, 3, 1000, 9);
    let columns: Vec<&[f64]> = x.iter().map(|c| &c[..]).collect();
    let points = Points::new(&Frame::open(&columns), &columns);
    let edges = Edges::uniform(0.0, 18.0, 300);
    let mut h = Histogram::new(&edges);
    h.add(
        Isa::detect(),
        &points,
        0..1000,
        &points,
        0..1000,
        Pairs::Above,
    );
    assert!(h.undecided() < 5000, "{} of 499500", h.undecided());
    assert_eq!(h.finish().total(), 499_500);
}

#[test]
fn private_counts_are_flushed_before_they_overflow() {
    let edges = Edges::uniform(0.0, 1.0, 2);
    let mut h = Histogram::new(&edges);
    h.reserve(1 << 31);
    h.set_private(COPIES, u32::MAX);
    h.reserve(1 << 31);
    assert_eq!(h.finish().bins[0], u64::from(u32::MAX));
}

/// Counts by a column grid, in two parts of rows, and by parts of the columns too where vectors end
/// with their spans.
fn by_column_grid(
    gridded: &GriddedPoints,
    edges: &Edges,
    isa: Isa,
    pairs: Pairs,
    halves: bool,
) -> Counts {
    let last = gridded.points.len() - 1;
    let (columns, points) = (
        [0, last].map(|s| &gridded.columns[s]),
        [0, last].map(|s| &gridded.points[s]),
    );
    let meeting = Meeting {
        column_grid: &gridded.column_grid,
        columns,
        points,
        above: pairs == Pairs::Above,
    };
    let binning = Binning::new(edges, points[0], points[1]);
    let doubles = points.map(|p| p.clone().with_doubles());
    let points = [&doubles[0], &doubles[1]];
    let mut h = Histogram::new(edges);
    let [m, n] = columns.map(|c| c.order.len());
    let middle = if halves { n / 2 } else { n };
    for rows in [0..m / 3, m / 3..m] {
        for cols in [0..middle, middle..n] {
            meeting.strips(&rows, &cols, |strips| {
                let work = Work {
                    x: points[0],
                    y: points[1],
                    strips,
                    pairs,
                    padded: !halves,
                };
                h.add_strips(isa, &binning, &work);
            });
        }
    }
    h.finish()
}

#[test]
fn column_grids_count_what_the_definition_counts() {
    let mut column_grids = 0;
    let boxes = [
        None,
        Some([10.0, 8.0, 4.0, 2.0]),
        Some([3.3, 7.7, 1.1, 100.0]),
    ];
    for (kind, dimensions) in (0..6).flat_map(|k| (1..=4).map(move |d| (k, d))) {
        let (x, y) = (
            bvh(kind, dimensions, 111, 11),
            bvh(kind, dimensions, 93, 12),
        );
        let rows = |c: &[Vec<f64>]| -> Vec<f64> {
            (0..c[0].len())
                .flat_map(|i| c.iter().map(move |column| column[i]))
                .collect()
        };
        let (rows_x, rows_y) = (rows(&x), rows(&y));
        for periods in boxes.iter().filter(|b| b.is_none() || kind != 5) {
            let periods = periods.as_ref().map(|p| &p[..dimensions]);
            let space = periods.map_or(Around::Open, Around::Right);
            let frame = space.frame(|| Frame::open_rows(&rows_x, dimensions));
            for (n, (edges, closed)) in edge_sets(if kind == 5 { 1e-25 } else { 0.3 })
                .iter()
                .enumerate()
            {
                let reach = edges.squares()[edges.bins()].sqrt();
                for (parts, pairs) in [
                    (1, Pairs::All),
                    (2, Pairs::Above),
                    (3, Pairs::All),
                    (5, Pairs::Above),
                ] {
                    let above = pairs == Pairs::Above;
                    let sides = if above {
                        vec![&rows_x[..]]
                    } else {
                        vec![&rows_x[..], &rows_y]
                    };
                    let Some(gridded) = GriddedPoints::new(&frame, &sides, reach, parts) else {
                        continue;
                    };
                    column_grids += 1;
                    let want = oracle(
                        &x,
                        if above { &x } else { &y },
                        space,
                        edges,
                        *closed,
                        pairs,
                    );
                    for isa in Isa::available() {
                        for halves in [false, true] {
                            let got = by_column_grid(&gridded, edges, isa, pairs, halves);
                            let what = format!(
                                "kind {kind}, {dimensions}-D, edges {n}, box {periods:?}, {parts} {isa} {halves}"
                            );
                            assert_eq!((got.under, &got.bins), (want.under, &want.bins), "{what}");
                        }
                    }
                }
            }
        }
    }
    assert!(column_grids > 1000, "{column_grids} column grids");
}

/// All pairs of groups, by loops that count pairs at once and by queues, with every instruction set.
#[test]
fn pairs_of_groups_are_counted_apart() {
    let (x, y) = (bvh(2, 3, 301, 31), bvh(2, 3, 199, 32));
    let points = |columns: &[Vec<f64>], frame: &Frame| {
        let columns: Vec<&[f64]> = columns.iter().map(|c| &c[..]).collect();
        Points::new(frame, &columns)
    };
    let slices: Vec<&[f64]> = x.iter().map(|c| &c[..]).collect();
    let frame = Frame::open(&slices);
    let (x, y) = (points(&x, &frame), points(&y, &frame));
    let count = 3;
    let codes = |n: usize| -> Vec<u32> { (0..n as u32).map(|i| i * i % 5 % 3).collect() };
    let (of_x, of_y) = (codes(301), codes(199));
    // The last group has no row.
    assert!(of_x.iter().chain(&of_y).all(|code| *code < 2));
    let sets = [
        Edges::uniform(0.0, 30.0, 9),
        Edges::uniform(0.0, 2.0, 1100),
        Edges::from_squares(vec![0.0, 0.5, 4.0, 200.0, 900.0]),
        Edges::from_squares(vec![0.5, 1.0, 1.5]),
    ];
    for edges in &sets {
        let mut wanted = vec![vec![0u64; edges.bins() + 3]; count * count];
        for (i, a) in of_x.iter().enumerate() {
            for (j, b) in of_y.iter().enumerate() {
                let slot = edges.slot(x.squared_distance(i, &y, j));
                wanted[*a as usize * count + *b as usize][slot] += 1;
            }
        }
        let groups = Groups::new(edges, count, [&of_x, &of_y]);
        let binning = Binning::by_groups(edges, &x, &y);
        for isa in Isa::available() {
            let mut h = Histogram::new(edges).with_groups(&groups);
            for rows in [0..1, 1..150, 150..301] {
                let strips = &[Strip {
                    rows,
                    spans: vec![Span::from_range(0..50), Span::from_range(50..199)],
                }];
                let work = Work {
                    x: &x,
                    y: &y,
                    strips,
                    pairs: Pairs::All,
                    padded: false,
                };
                h.add_strips(isa, &binning, &work);
            }
            let got = h.finish_groups();
            assert_eq!(got.len(), wanted.len());
            for (got, wanted) in got.iter().zip(&wanted) {
                let bins = &wanted[1..=edges.bins()];
                let Some(got) = got else {
                    assert!(wanted.iter().all(|count| *count == 0), "{isa}");
                    continue;
                };
                assert_eq!((got.under, &got.bins[..]), (wanted[0], bins), "{isa}");
            }
        }
    }
}

#[test]
fn column_grids_leave_most_pairs_out() {
    let x = bvh(0, 3, 4000, 21);
    let rows: Vec<f64> = (0..4000)
        .flat_map(|i| x.iter().map(move |c| c[i]))
        .collect();
    for frame in [Frame::open_rows(&rows, 3), Frame::periodic(&[10.0; 3])] {
        let gridded = GriddedPoints::new(&frame, &[&rows], 1.0, 2).expect("a column grid");
        let meeting = Meeting {
            column_grid: &gridded.column_grid,
            columns: [&gridded.columns[0]; 2],
            points: [&gridded.points[0]; 2],
            above: true,
        };
        let seen = meeting.strips(&(0..4000), &(0..4000), |_| ()) as f64;
        // The ball of the reach is 0.4 % of the box; there are few points for columns.
        assert!(seen < 0.06 * 4000.0 * 3999.0 / 2.0, "{seen}");
    }
}

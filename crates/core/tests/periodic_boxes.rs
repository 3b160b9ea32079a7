//! Periodic boxes against brute force over many images of the basis as given.

use zipfold_core::space::periodic_box::{Image, Orthorhombic, Others, PeriodicBox};

/// A small deterministic generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 * 2f64.powi(-53))
    }
}

fn norm2(d: &[f64]) -> f64 {
    d.iter().fold(0.0, |sum, c| sum + c * c)
}

/// Squared length of the shortest image of `d` within `reach` steps along each vector as given.
fn brute(periodic: &PeriodicBox, d: [f64; 3], reach: i32) -> f64 {
    let v = periodic.vectors();
    let range = || -reach..=reach;
    let all = range()
        .flat_map(|i| range().flat_map(move |j| range().map(move |k| [i, j, k].map(f64::from))));
    all.map(|n| {
        norm2(&[0, 1, 2].map(|c| d[c] + (n[0] * v[0][c] + n[1] * v[1][c] + n[2] * v[2][c])))
    })
    .fold(f64::INFINITY, f64::min)
}

/// A difference with fractional coordinates in ±`wide` of the basis as given.
fn difference(random: &mut Random, periodic: &PeriodicBox, wide: f64) -> [f64; 3] {
    let f = [0; 3].map(|_| random.between(-wide, wide));
    let v = periodic.vectors();
    [0, 1, 2].map(|c| f[0] * v[0][c] + f[1] * v[1][c] + f[2] * v[2][c])
}

/// A random box that closes: angles between `low` and `high` degrees, lengths up to 1:20.
fn skewed(random: &mut Random, low: f64, high: f64) -> PeriodicBox {
    loop {
        let lengths = [0; 3].map(|_| random.between(1.0, 20.0));
        let angles = [0; 3].map(|_| random.between(low, high));
        if let Ok(periodic) = PeriodicBox::triclinic(lengths, angles) {
            // The brute force must reach the nearest image from the basis as given.
            let heights = periodic.volume() / (lengths[0] * lengths[1] * lengths[2]);
            if heights > 0.05 {
                return periodic;
            }
        }
    }
}

/// How many steps along the vectors as given the brute force needs: reach over height, and half a
/// box for the start.
fn steps(periodic: &PeriodicBox) -> i32 {
    let v = periodic.vectors();
    let area = |a: [f64; 3], b: [f64; 3]| {
        norm2(&[
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ])
        .sqrt()
    };
    let heights = [(1, 2), (0, 2), (0, 1)].map(|(i, j)| periodic.volume() / area(v[i], v[j]));
    let low = heights.into_iter().fold(f64::INFINITY, f64::min);
    (periodic.reach() / low + 0.5).ceil() as i32
}

fn check(periodic: &PeriodicBox, d: [f64; 3], reach: i32, noise: f64) {
    let mut r = d;
    periodic.minimum_image(&mut r);
    let (got, want) = (norm2(&r).sqrt(), brute(periodic, d, reach).sqrt());
    assert!(
        (got - want).abs() <= 1e-12 * want + noise,
        "{periodic:?}: {d:?} gives {got}, not {want}"
    );
    assert!(got <= periodic.reach() * (1.0 + 1e-12));
    let mut back = d.map(|c| -c);
    periodic.minimum_image(&mut back);
    assert_eq!(back, r.map(|c| -c), "odd at {d:?} in {periodic:?}");
    assert_eq!(norm2(&back).to_bits(), norm2(&r).to_bits());
}

#[test]
fn skewed_boxes_match_brute_force() {
    let mut random = Random(1);
    for _ in 0..1000 {
        let periodic = skewed(&mut random, 60.0, 120.0);
        let reach = steps(&periodic);
        for _ in 0..100 {
            let d = difference(&mut random, &periodic, 0.5);
            check(&periodic, d, reach.max(2), 0.0);
        }
    }
}

#[test]
fn extreme_skew_matches_brute_force() {
    let mut random = Random(2);
    let (mut boxes, mut triclinic) = (0, 0);
    while boxes < 2000 {
        let periodic = skewed(&mut random, 25.0, 155.0);
        let reach = steps(&periodic).max(5);
        if reach > 12 {
            continue;
        }
        boxes += 1;
        triclinic += usize::from(reach > 5);
        for _ in 0..50 {
            let d = difference(&mut random, &periodic, 0.5);
            check(&periodic, d, reach, 0.0);
        }
    }
    assert!(
        triclinic > 0,
        "some boxes need more than five images each way"
    );
}

#[test]
fn vectors_of_any_skewness_reduce() {
    let mut random = Random(3);
    for round in 0..300 {
        let periodic = skewed(&mut random, 50.0, 130.0);
        let mut v = [
            periodic.vectors()[0],
            periodic.vectors()[1],
            periodic.vectors()[2],
        ];
        // Unimodular shears: the same lattice, ever more skewed.
        for at in 0..round % 7 {
            let (i, j, k) = (
                at % 3,
                (at + 1) % 3,
                f64::from((random.next() % 7) as u32) - 3.0,
            );
            v[i] = [0, 1, 2].map(|c| v[i][c] + k * v[j][c]);
        }
        let Ok(sheared) = PeriodicBox::from_vectors(v) else {
            continue;
        };
        assert!((sheared.inradius() / periodic.inradius() - 1.0).abs() < 1e-9);
        assert!((sheared.volume() / periodic.volume() - 1.0).abs() < 1e-6);
        for _ in 0..100 {
            let d = difference(&mut random, &periodic, 0.5);
            let (mut a, mut b) = (d, d);
            periodic.minimum_image(&mut a);
            sheared.minimum_image(&mut b);
            assert!(
                (norm2(&a).sqrt() - norm2(&b).sqrt()).abs() < 1e-10,
                "{v:?}: {d:?}"
            );
        }
    }
}

#[test]
fn reduced_bases_are_reduced() {
    let mut random = Random(4);
    for _ in 0..2000 {
        let periodic = skewed(&mut random, 25.0, 155.0);
        let b = periodic.reduced();
        let volume = (b[0][0] * (b[1][1] * b[2][2] - b[1][2] * b[2][1])
            + b[0][1] * (b[1][2] * b[2][0] - b[1][0] * b[2][2])
            + b[0][2] * (b[1][0] * b[2][1] - b[1][1] * b[2][0]))
            .abs();
        assert!((volume / periodic.volume() - 1.0).abs() < 1e-12);
        let size = |v: [f64; 3]| norm2(&v) * (1.0 + 1e-12);
        assert!(norm2(&b[0]) <= size(b[1]) && norm2(&b[1]) <= size(b[2]));
        let product: f64 = b.iter().map(|v| norm2(v)).product();
        assert!(
            volume * volume >= 0.5 * product * (1.0 - 1e-12),
            "Gauss: 2·V² ≥ |b₁|²|b₂|²|b₃|²"
        );
        for n in [
            [1, 1, 0],
            [1, -1, 0],
            [1, 0, 1],
            [1, 0, -1],
            [0, 1, 1],
            [0, 1, -1],
        ]
        .into_iter()
        .chain([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]])
        {
            let last = n.iter().rposition(|k| *k != 0).unwrap();
            let sum = [0, 1, 2].map(|c| (0..3).map(|k| f64::from(n[k]) * b[k][c]).sum::<f64>());
            assert!(norm2(&b[last]) <= size(sum), "{n:?} of {b:?}");
        }
    }
}

#[test]
fn differences_of_many_boxes_are_wrapped() {
    let mut random = Random(5);
    for scale in [3.0, 1e3, 1e6, 1e9] {
        for _ in 0..300 {
            let periodic = skewed(&mut random, 60.0, 120.0);
            let near = difference(&mut random, &periodic, 0.5);
            let n = [0; 3].map(|_| random.between(-scale, scale).round());
            let v = periodic.vectors();
            let far =
                [0, 1, 2].map(|c| near[c] + (n[0] * v[0][c] + n[1] * v[1][c] + n[2] * v[2][c]));
            let (mut a, mut b) = (near, far);
            periodic.minimum_image(&mut a);
            periodic.minimum_image(&mut b);
            let error = (norm2(&a).sqrt() - norm2(&b).sqrt()).abs();
            assert!(
                error <= 8.0 * f64::EPSILON * 60.0 * scale,
                "{error} at {scale}"
            );
        }
    }
}

fn lanes_match<const N: usize>(periodic: &PeriodicBox, x: [f64; 3], others: &[[f64; 3]; N]) {
    let split = Others::<N>::new(3, |k, to| {
        to.iter_mut().zip(others).for_each(|(t, y)| *t = y[k])
    });
    let mut to = [[0.0; N]; 3];
    periodic.image().differences(x, &split, |d| d, &mut to);
    for (at, y) in others.iter().enumerate() {
        let mut want = [x[0] - y[0], x[1] - y[1], x[2] - y[2]];
        periodic.minimum_image(&mut want);
        let got = to.map(|of| of[at]);
        let same = |(g, w): (&f64, &f64)| g.to_bits() == w.to_bits() || (g.is_nan() && w.is_nan());
        assert!(
            got.iter().zip(&want).all(same),
            "lane {at}: {x:?} − {y:?} gives {got:?}, not {want:?}, in {periodic:?}"
        );
    }
}

#[test]
fn lanes_give_the_bits_of_the_reference() {
    let mut random = Random(6);
    for at in 0..600 {
        let periodic = match at % 3 {
            0 => skewed(&mut random, 25.0, 155.0),
            1 => PeriodicBox::orthorhombic(&[0; 3].map(|_| random.between(1.0, 20.0))).unwrap(),
            _ => PeriodicBox::orthorhombic(&[random.between(1.0, 20.0), random.between(1.0, 20.0)])
                .unwrap(),
        };
        for wide in [0.5, 1.0, 40.0] {
            let mut rows = [0; 131].map(|_| {
                let d = difference(&mut random, &periodic_3d(&periodic), wide);
                [d[0], d[1], d[2]]
            });
            let l = periodic.lengths()[0];
            let edge = [
                0.5 * l,
                (0.5 * l).next_up(),
                (0.5 * l).next_down(),
                l,
                -0.0,
                0.0,
            ];
            rows.iter_mut()
                .zip(edge.iter().chain(&edge.map(|e| -e)))
                .for_each(|(row, e)| row[0] = *e);
            let somewhere = difference(&mut random, &periodic_3d(&periodic), wide);
            for x in [
                [0.0; 3],
                somewhere,
                [f64::NAN, 0.5, 0.25],
                [f64::INFINITY, 0.5, 0.25],
            ] {
                lanes_match(&periodic, x, &rows);
            }
            // The ends of the box itself: one more, and a difference is longer than it.
            lanes_match(
                &periodic,
                [l; 3],
                &[[0.0; 3], [l; 3], [l.next_up(), 0.0, 0.0]],
            );
            rows[17][1] = f64::NAN;
            rows[70][0] = f64::INFINITY;
            lanes_match(&periodic, [0.0; 3], &rows);
        }
    }
}

fn periodic_3d(periodic: &PeriodicBox) -> PeriodicBox {
    if periodic.dims() == 3 {
        periodic.clone()
    } else {
        PeriodicBox::orthorhombic(&[periodic.lengths()[0]; 3]).unwrap()
    }
}

#[test]
fn the_form_without_division_has_the_same_bits() {
    let mut random = Random(7);
    for _ in 0..200_000 {
        let l = f64::from_bits((random.next() >> 12) | 0x3ff0_0000_0000_0000);
        let half = 0.5 * l;
        for d in [
            half,
            half.next_up(),
            half.next_down(),
            l,
            random.between(-l, l),
            0.0,
        ] {
            for d in [d, -d] {
                assert_eq!(
                    Orthorhombic::nearest(d, l).to_bits(),
                    Orthorhombic::nearest_within(d, l).to_bits()
                );
            }
        }
        let x = random.between(-1e3, 1e3);
        assert_eq!(x.round_ties_even().to_bits(), libm::rint(x).to_bits());
    }
}

#[test]
fn halves_go_to_the_even_multiple() {
    let periodic = PeriodicBox::orthorhombic(&[3.0, 4.0, 5.0]).unwrap();
    let mut d = [1.5, 6.0, -12.5];
    periodic.minimum_image(&mut d);
    assert_eq!(d, [1.5, -2.0, -2.5]); // 1.5 − 0·3, 6 − 2·4, −12.5 + 2·5
    let mut d = [-4.5, -2.0, 7.5];
    periodic.minimum_image(&mut d);
    assert_eq!(d, [1.5, -2.0, -2.5]);
}

#[test]
fn the_first_of_equal_candidates_wins() {
    let periodic =
        PeriodicBox::from_vectors([[2.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 4.0]]).unwrap();
    // Equally far, in exact arithmetic and in f64, from (0, 0), (2, 0) and (1, 2): the nearest line
    // wins over the next one, and on it the even multiple.
    for (d, want) in [
        ([1.0, 0.75, 0.0], [1.0, 0.75, 0.0]),
        ([3.0, 0.75, 0.0], [-1.0, 0.75, 0.0]),
    ] {
        let (mut r, mut back) = (d, d.map(|c: f64| -c));
        periodic.minimum_image(&mut r);
        periodic.minimum_image(&mut back);
        assert_eq!((r, back), (want, want.map(|c: f64| -c)));
    }
    // Halfway between layers: the even one.
    for (z, want) in [(2.0, 2.0), (6.0, -2.0), (-6.0, 2.0), (10.0, 2.0)] {
        let mut r = [0.25, 0.0, z];
        periodic.minimum_image(&mut r);
        assert_eq!(r, [0.25, 0.0, want]);
    }
}

#[test]
fn lattice_points_become_zero_and_holes_are_odd() {
    let fcc =
        PeriodicBox::from_vectors([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]).unwrap();
    let bcc =
        PeriodicBox::from_vectors([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0]]).unwrap();
    let hex = PeriodicBox::triclinic([1.0, 1.0, 2.0], [90.0, 90.0, 120.0]).unwrap();
    for periodic in [&fcc, &bcc, &hex] {
        assert!(matches!(periodic.image(), Image::Triclinic(_)));
        // Lattice points, and all places on the grid of halves and quarters: holes, faces, edges of
        // the Voronoi cell.
        for n in 0..9 * 9 * 9 {
            let f = [n / 81, n / 9 % 9, n % 9].map(|k| (f64::from(k) - 4.0) * 0.5);
            let v = periodic.vectors();
            for scale in [1.0, 0.5] {
                let d =
                    [0, 1, 2].map(|c| scale * (f[0] * v[0][c] + f[1] * v[1][c] + f[2] * v[2][c]));
                check(periodic, d, 4, 1e-15);
                let mut r = d;
                periodic.minimum_image(&mut r);
                if f.iter().all(|k| (k * scale).fract() == 0.0) {
                    assert!(norm2(&r) < 1e-30, "{d:?} gives {r:?}");
                }
            }
        }
    }
    assert_eq!(fcc.inradius(), 0.5 * 2f64.sqrt());
    assert_eq!(bcc.inradius(), 0.5 * 3f64.sqrt());
    assert_eq!(fcc.volume(), 2.0);
}

#[test]
fn fewer_dimensions_and_longer_rows() {
    let line = PeriodicBox::orthorhombic(&[10.0]).unwrap();
    let mut d = [9.0];
    line.minimum_image(&mut d);
    assert_eq!(d, [-1.0]);
    let plane = PeriodicBox::parse("10, 4").unwrap();
    assert_eq!(
        (plane.dims(), plane.volume(), plane.inradius()),
        (2, 40.0, 2.0)
    );
    let mut d = [9.0, 3.0, 100.0];
    plane.minimum_image(&mut d);
    assert_eq!(d, [-1.0, -1.0, 100.0]);
    let others = Others::<2>::new(2, |k, to| *to = [[-9.0, -1.0], [-3.0, -1.0]][k]);
    let mut to = [[0.0f32; 2]; 2];
    plane
        .image()
        .differences([0.0; 3], &others, |d| d as f32, &mut to);
    assert_eq!(to, [[-1.0, 1.0], [-1.0, 1.0]]);
    let cube = PeriodicBox::parse("5").unwrap();
    let mut d = [4.0, -4.0];
    cube.minimum_image(&mut d);
    assert_eq!((cube.lengths(), d), (&[5.0; 3][..], [-1.0, 1.0]));
    let hex = PeriodicBox::parse("1,1,2,90,90,120").unwrap();
    let mut d = [4.0, -4.0];
    hex.minimum_image(&mut d);
    assert_eq!(d, [4.0, -4.0]);
}

#[test]
fn a_cube_in_disguise_is_a_cube() {
    let sheared =
        PeriodicBox::from_vectors([[2.0, 0.0, 0.0], [14.0, 2.0, 0.0], [-6.0, 22.0, 2.0]]).unwrap();
    let Image::Orthorhombic(o) = sheared.image() else {
        panic!("not seen")
    };
    assert_eq!(o.lengths(), [2.0; 3]);
    let right = PeriodicBox::parse("3,4,5,90,90,90").unwrap();
    let plain = PeriodicBox::parse("3,4,5").unwrap();
    assert_eq!((right.image(), right.volume()), (plain.image(), 60.0));
    assert_eq!(plain.reach(), 0.5 * 50f64.sqrt());
}

#[test]
fn errors_say_which_number() {
    for (text, part) in [
        ("", "where a number belongs"),
        ("1,two,3", "'two'"),
        ("1,2,nan", "LZ is NaN: it must be finite"),
        ("inf", "finite"),
        ("1,0,3", "LY is 0: it must be positive"),
        ("1,-2", "positive"),
        ("1,2,1e200", "between"),
        ("1,2,3,4", "4 numbers do not make a box"),
        ("1,2,3,90,90,180", "gamma is 180"),
        ("1,2,3,90,nan,90", "beta is NaN"),
        ("1,2,3,120,120,120", "close no cell"),
        ("1,2,3,100,30,60", "alpha is not less"),
    ] {
        let error = PeriodicBox::parse(text).unwrap_err();
        assert!(error.to_string().contains(part), "{text}: {error}");
        assert_eq!(error.exit_code(), 2);
    }
    let error = PeriodicBox::parse("10, -4, 3").unwrap_err();
    assert_eq!(error.span_ref().unwrap().range, 3..6);
    assert!(
        PeriodicBox::orthorhombic(&[]).is_err() && PeriodicBox::orthorhombic(&[1.0; 4]).is_err()
    );
    let flat = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    assert!(
        PeriodicBox::from_vectors(flat)
            .unwrap_err()
            .to_string()
            .contains("flat")
    );
    assert!(PeriodicBox::from_vectors([[0.0; 3]; 3]).is_err());
    assert!(
        PeriodicBox::from_vectors([[f64::NAN; 3]; 3])
            .unwrap_err()
            .to_string()
            .contains("finite")
    );
}

#[test]
fn numbers_there_and_back() {
    let vectors = [[3.0, 0.5, 0.0], [0.0, 4.0, 1.0], [1.0, 0.0, 5.0]];
    for numbers in [
        vec![2.0],
        vec![2.0, 3.0],
        vec![2.0, 3.0, 4.0, 70.0, 80.0, 95.0],
        vectors.concat(),
    ] {
        let periodic = PeriodicBox::try_from(numbers.clone()).unwrap();
        assert_eq!(Vec::from(periodic.clone()), numbers);
        let read = serde::de::value::SeqDeserializer::<_, serde::de::value::Error>::new(
            numbers.into_iter(),
        );
        assert_eq!(
            <PeriodicBox as serde::Deserialize>::deserialize(read).unwrap(),
            periodic
        );
    }
    assert!(PeriodicBox::try_from(vec![1.0; 5]).is_err());
}

#[test]
fn edges_follow_the_convention() {
    let periodic = PeriodicBox::parse("2,3,4,70,80,95").unwrap();
    let v = periodic.vectors();
    let angle = |a: [f64; 3], b: [f64; 3]| {
        let inner = (0..3).map(|k| a[k] * b[k]).sum::<f64>();
        (inner / (norm2(&a) * norm2(&b)).sqrt()).acos().to_degrees()
    };
    assert_eq!((v[0], v[1][2]), ([2.0, 0.0, 0.0], 0.0));
    let got = [
        angle(v[1], v[2]),
        angle(v[0], v[2]),
        angle(v[0], v[1]),
        periodic.lengths()[1],
        periodic.lengths()[2],
    ];
    assert!(
        got.iter()
            .zip([70.0, 80.0, 95.0, 3.0, 4.0])
            .all(|(g, w)| (g - w).abs() < 1e-12),
        "{got:?}"
    );
}

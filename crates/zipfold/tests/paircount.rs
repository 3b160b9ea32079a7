//! Pair counts of catalogues against a double loop over points: every separation and line of sight,
//! weights, estimators, samples of regions.

use zipfold::internals::paircount::{
    Catalogues, Cut, Estimator, PairCount, PairCounts, Pip, Regions, Resample, Separation, Sight,
};
use zipfold::{Blame, Budget, Options, Table};
use zipfold_core::Random;

type Point = [f64; 3];

/// Points of a catalogue, their weights and regions.
#[derive(Clone, Debug)]
struct Sample {
    points: Vec<Point>,
    weights: Vec<f64>,
    regions: Vec<usize>,
    bits: Vec<u64>,
}

impl Sample {
    /// Points whose coordinates are multiples of 1/64, some of them twice, away from the origin.
    fn random(random: &mut Random, n: usize) -> Sample {
        let mut points: Vec<Point> = vec![];
        for _ in 0..n {
            let new = [0; 3].map(|_| (random.unit() * 640.0).round() / 64.0 + 5.0);
            let twin = random.below(10) == 0 && !points.is_empty();
            points.push(if twin {
                points[random.below(points.len())]
            } else {
                new
            });
        }
        let weights = points
            .iter()
            .map(|_| (random.unit() * 64.0).round() / 32.0)
            .collect();
        let regions = (0..n)
            .map(|at| if at < 4 { at } else { random.below(4) })
            .collect();
        let bits = points.iter().map(|_| random.bits() >> 44).collect();
        Sample {
            points,
            weights,
            regions,
            bits,
        }
    }
    fn table(&self) -> Table {
        let row = |at: usize| {
            let [x, y, z] = self.points[at];
            let others = [
                self.weights[at],
                self.regions[at] as f64,
                self.bits[at] as f64,
            ];
            [x, y, z].into_iter().chain(others)
        };
        let items: Vec<f64> = (0..self.points.len()).flat_map(row).collect();
        let names = ["x", "y", "z", "w", "region", "bits"]
            .map(String::from)
            .to_vec();
        let table = Table::f64(self.points.len(), 6, items).unwrap();
        table.with_names(names).unwrap()
    }
    /// The points that are not in a region.
    fn without(&self, region: usize) -> Sample {
        let keep: Vec<usize> = (0..self.points.len())
            .filter(|at| self.regions[*at] != region)
            .collect();
        Sample {
            points: keep.iter().map(|at| self.points[*at]).collect(),
            weights: keep.iter().map(|at| self.weights[*at]).collect(),
            regions: keep.iter().map(|at| self.regions[*at]).collect(),
            bits: keep.iter().map(|at| self.bits[*at]).collect(),
        }
    }
}

/// What a pair is binned by.
fn values(
    a: Point,
    b: Point,
    (separation, sight): (Separation, Sight),
    edge: Option<f64>,
) -> Vec<f64> {
    let mut d = [0, 1, 2].map(|k| a[k] - b[k]);
    if let Some(edge) = edge {
        d = d.map(|d| d - edge * (d / edge).round());
    }
    let norm = |v: Point| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let unit = |v: Point| v.map(|c| c / norm(v));
    let (ua, ub) = (unit(a), unit(b));
    let line = match sight {
        Sight::Z => [0.0, 0.0, 1.0],
        Sight::Midpoint => [0, 1, 2].map(|k| a[k] + b[k]),
        Sight::First => a,
        Sight::Bisector => [0, 1, 2].map(|k| ua[k] + ub[k]),
    };
    let s = norm(d);
    let along = (0..3).map(|k| d[k] * line[k]).sum::<f64>().abs() / norm(line);
    match separation {
        Separation::R => vec![s],
        Separation::RpPi => vec![(s * s - along * along).max(0.0).sqrt(), along],
        Separation::Smu => vec![s, if s > 0.0 { (along / s).min(1.0) } else { 0.0 }],
        Separation::Theta => {
            let chord = norm([0, 1, 2].map(|k| ua[k] - ub[k]));
            vec![2.0 * (chord / 2.0).asin().to_degrees()]
        }
    }
}

/// Counts and sums of weights of ordered pairs, by a double loop.
fn loops(
    a: &Sample,
    b: Option<&Sample>,
    of: &dyn Fn(Point, Point) -> Vec<f64>,
    edges: &[Vec<f64>],
    weight: &dyn Fn(usize, usize) -> f64,
) -> (Vec<u64>, Vec<f64>) {
    let bins: usize = edges.iter().map(|e| e.len() - 1).product();
    let (mut counts, mut sums) = (vec![0; bins], vec![0.0; bins]);
    let other = b.unwrap_or(a);
    for i in 0..a.points.len() {
        for j in 0..other.points.len() {
            if b.is_none() && i == j {
                continue;
            }
            let values = of(a.points[i], other.points[j]);
            let place = |at: usize| {
                edges[at]
                    .windows(2)
                    .position(|e| e[0] <= values[at] && values[at] < e[1])
            };
            let places: Option<Vec<usize>> = (0..edges.len()).map(place).collect();
            if let Some(places) = places {
                let cell = places
                    .iter()
                    .zip(edges)
                    .fold(0, |cell, (at, e)| cell * (e.len() - 1) + at);
                counts[cell] += 1;
                sums[cell] += weight(i, j);
            }
        }
    }
    (counts, sums)
}

/// A question with the second axis of its separation: the bins along the line of sight, or of μ.
fn binned(separation: Separation, (pi, mu): ([f64; 2], usize)) -> PairCount {
    let plain = PairCount {
        separation,
        ..PairCount::new("data")
    };
    match separation {
        Separation::RpPi => PairCount {
            pi: Some(pi),
            ..plain
        },
        Separation::Smu => PairCount { mu, ..plain },
        Separation::R | Separation::Theta => plain,
    }
}

fn ask(asked: &PairCount, tables: &Catalogues) -> PairCounts {
    asked.count(tables, &Options::default()).unwrap()
}

fn tables(data: &Sample) -> Catalogues {
    Catalogues {
        data: data.table(),
        ..Catalogues::default()
    }
}

/// Edges that no distance of points of the grid meets, but for the first one.
fn uneven() -> Vec<f64> {
    vec![0.0, 0.3001, 1.1003, 1.9007, 3.1, 4.7]
}

fn of(asked: &PairCount) -> (Separation, Sight) {
    (asked.separation, asked.los)
}

#[test]
fn counts_are_those_of_a_double_loop() {
    let mut random = Random::new(700);
    for n in [0, 1, 2, 17, 230] {
        let data = Sample::random(&mut random, n);
        for edge in [None, Some(10.0)] {
            let asked = PairCount {
                edges: Some(uneven()),
                periodic_box: edge.map(|edge| vec![edge; 3]),
                weights: Some("w".into()),
                ..PairCount::new("data")
            };
            let value = |a, b| values(a, b, of(&asked), edge);
            let weight = |i: usize, j: usize| data.weights[i] * data.weights[j];
            let (counts, sums) = loops(&data, None, &value, &[uneven()], &weight);
            for threads in [1, 2, 5] {
                let options = Options {
                    threads,
                    ..Options::default()
                };
                let found = asked.count(&tables(&data), &options).unwrap();
                assert_eq!(found.terms[0].counts, counts, "{n} {edge:?}");
                assert_eq!(found.terms[0].sums, sums, "{n} {edge:?}");
                assert_eq!(
                    found.curves[0].name,
                    if edge.is_some() { "xi" } else { "dd" }
                );
            }
        }
    }
}

#[test]
fn files_are_read_as_tables_are() {
    let data = Sample::random(&mut Random::new(701), 40);
    let path = std::env::temp_dir().join(format!("zipfold-pairs-{}.csv", std::process::id()));
    let mut text = "z,x,y\n".to_string();
    data.points
        .iter()
        .for_each(|[x, y, z]| text += &format!("{z},{x},{y}\n"));
    std::fs::write(&path, text).unwrap();
    let asked = PairCount {
        edges: Some(uneven()),
        ..PairCount::new(path.to_string_lossy())
    };
    let found = asked.run(&Options::default());
    std::fs::remove_file(&path).unwrap();
    let memory = ask(
        &PairCount {
            data: "data".into(),
            ..asked
        },
        &tables(&data),
    );
    assert_eq!(found.unwrap().terms, memory.terms);
}

#[test]
fn lines_of_sight_are_those_of_a_double_loop() {
    let mut random = Random::new(702);
    let (data, other) = (
        Sample::random(&mut random, 90),
        Sample::random(&mut random, 70),
    );
    for separation in [Separation::RpPi, Separation::Smu] {
        for los in [Sight::Z, Sight::Midpoint, Sight::First, Sight::Bisector] {
            for cross in [false, true] {
                let asked = PairCount {
                    edges: Some(uneven()),
                    los,
                    data2: cross.then(|| "other".into()),
                    ..binned(separation, ([6.0007, 5.0], 7))
                };
                let mut tables = tables(&data);
                tables.data2 = cross.then(|| other.table());
                let found = ask(&asked, &tables);
                let mut edges = found.edges.clone();
                if separation == Separation::Smu {
                    edges[1][7] = 1.1;
                }
                let value = |a, b| values(a, b, (separation, los), None);
                let second = cross.then_some(&other);
                let (counts, _) = loops(&data, second, &value, &edges, &|_, _| 1.0);
                assert_eq!(
                    found.terms[0].counts, counts,
                    "{separation:?} {los:?} {cross}"
                );
            }
        }
    }
}

#[test]
fn a_box_has_lines_of_sight_along_its_third_axis() {
    let data = Sample::random(&mut Random::new(703), 120);
    for separation in [Separation::RpPi, Separation::Smu] {
        let asked = PairCount {
            edges: Some(uneven()),
            periodic_box: Some(vec![10.0; 3]),
            ..binned(separation, ([4.5, 5.0], 10))
        };
        let found = ask(&asked, &tables(&data));
        let mut edges = found.edges.clone();
        if separation == Separation::Smu {
            edges[1][10] = 1.1;
        }
        let value = |a, b| values(a, b, (separation, Sight::Z), Some(10.0));
        let (counts, _) = loops(&data, None, &value, &edges, &|_, _| 1.0);
        assert_eq!(found.terms[0].counts, counts, "{separation:?}");
        // Points without structure have ξ = 0: their number of pairs is that of the volume.
        let volume: f64 = match separation {
            Separation::RpPi => std::f64::consts::PI * (4.7f64.powi(2)) * 9.0,
            _ => 4.0 / 3.0 * std::f64::consts::PI * 4.7f64.powi(3),
        };
        let xi = found.xi.unwrap();
        let total: f64 = found.terms[0]
            .sums
            .iter()
            .zip(&xi)
            .map(|(dd, xi)| dd / (1.0 + xi))
            .filter(|v| v.is_finite())
            .sum();
        let all = found.terms[0].total * volume / 1000.0;
        let empty = counts.contains(&0);
        assert!(
            empty || (total / all - 1.0).abs() < 1e-12,
            "{separation:?} {total} {all}"
        );
    }
}

#[test]
fn angles_are_those_on_the_sky() {
    let mut random = Random::new(704);
    let n = 150;
    let angles: Vec<[f64; 2]> = (0..n)
        .map(|_| [random.unit() * 360.0, random.unit() * 180.0 - 90.0])
        .collect();
    let items = angles.iter().flatten().copied().collect();
    let names = ["RA", "Dec"].map(String::from).to_vec();
    let table = Table::f64(n, 2, items).unwrap().with_names(names).unwrap();
    let edges = vec![0.0, 0.01, 1.0, 7.5, 40.0, 179.9];
    let asked = PairCount {
        edges: Some(edges.clone()),
        separation: Separation::Theta,
        ..PairCount::new("data")
    };
    let found = ask(
        &asked,
        &Catalogues {
            data: table,
            ..Catalogues::default()
        },
    );
    let mut counts = vec![0; 5];
    for (i, a) in angles.iter().enumerate() {
        for b in angles.iter().skip(i + 1) {
            let [ra, dec] = [a[0] - b[0], a[1] - b[1]].map(f64::to_radians);
            let cosines = a[1].to_radians().cos() * b[1].to_radians().cos();
            let half = (dec / 2.0).sin().powi(2) + cosines * (ra / 2.0).sin().powi(2);
            let theta = (2.0 * half.sqrt().min(1.0).asin()).to_degrees();
            let bin = edges.windows(2).position(|e| e[0] <= theta && theta < e[1]);
            bin.into_iter().for_each(|bin| counts[bin] += 2);
        }
    }
    assert_eq!(found.terms[0].counts, counts);
    // Without names angles are the first two columns; a third one is no part of an angle.
    let far = |at: usize| 0.5 + at as f64;
    let three = |at: usize| [angles[at][0], angles[at][1], far(at)];
    let table = Table::f64(n, 3, (0..n).flat_map(three).collect()).unwrap();
    let of = |data: Table| Catalogues {
        data,
        ..Catalogues::default()
    };
    assert_eq!(ask(&asked, &of(table.clone())).terms[0].counts, counts);
    let chosen = PairCount {
        columns: Some(["ra", "dec", "distance"].map(String::from).to_vec()),
        ..asked
    };
    let names = ["ra", "dec", "distance"].map(String::from).to_vec();
    for table in [table.clone(), table.with_names(names).unwrap()] {
        let e = chosen.count(&of(table), &Options::default()).unwrap_err();
        assert_eq!(e.blame(), Blame::Request);
        assert!(e.to_string().contains("expected 2 columns"), "{e}");
    }
}

/// The normalised sums of pairs of two samples by distance.
fn share(a: &Sample, b: Option<&Sample>) -> Vec<f64> {
    let value = |p, q| values(p, q, (Separation::R, Sight::Z), None);
    let other = b.unwrap_or(a);
    let weight = |i: usize, j: usize| a.weights[i] * other.weights[j];
    let (_, sums) = loops(a, b, &value, &[uneven()], &weight);
    let (one, two): (f64, f64) = (a.weights.iter().sum(), other.weights.iter().sum());
    let own: f64 = a.weights.iter().map(|w| w * w).sum();
    let total = if b.is_none() {
        one * two - own
    } else {
        one * two
    };
    sums.iter().map(|v| v / total).collect()
}

fn close(found: &[f64], wanted: impl Iterator<Item = f64>) {
    for (a, b) in found.iter().zip(wanted) {
        assert!(
            *a == b || (a - b).abs() <= 1e-11 * b.abs().max(1.0) || (a.is_nan() && b.is_nan()),
            "{a} {b}"
        );
    }
}

#[test]
fn estimators_are_their_formulas() {
    let mut random = Random::new(705);
    let [d, r, s, e, q] = [60, 90, 80, 50, 70].map(|n| Sample::random(&mut random, n));
    let base = PairCount {
        edges: Some(uneven()),
        weights: Some("w".into()),
        randoms: Some("randoms".into()),
        ..PairCount::new("data")
    };
    let mut all = tables(&d);
    all.randoms = Some(r.table());
    let (dd, dr, rr) = (share(&d, None), share(&d, Some(&r)), share(&r, None));
    let bins = 0..dd.len();
    let with = |estimator| {
        ask(
            &PairCount {
                estimator,
                ..base.clone()
            },
            &all,
        )
        .xi
        .unwrap()
    };
    close(
        &with(None),
        bins.clone().map(|b| (dd[b] - 2.0 * dr[b] + rr[b]) / rr[b]),
    );
    close(
        &with(Some(Estimator::Natural)),
        bins.clone().map(|b| dd[b] / rr[b] - 1.0),
    );
    close(
        &with(Some(Estimator::DavisPeebles)),
        bins.clone().map(|b| dd[b] / dr[b] - 1.0),
    );
    close(
        &with(Some(Estimator::Hamilton)),
        bins.clone().map(|b| dd[b] * rr[b] / dr[b].powi(2) - 1.0),
    );
    // Shifted randoms take the place of the others, but for RR.
    let (ds, ss) = (share(&d, Some(&s)), share(&s, None));
    let shifted = Catalogues {
        shifted: Some(s.table()),
        ..all.clone()
    };
    let asked = PairCount {
        shifted: Some("shifted".into()),
        ..base.clone()
    };
    close(
        &ask(&asked, &shifted).xi.unwrap(),
        bins.clone().map(|b| (dd[b] - 2.0 * ds[b] + ss[b]) / rr[b]),
    );
    // Two catalogues with randoms of their own.
    let both = Catalogues {
        data2: Some(e.table()),
        randoms2: Some(q.table()),
        ..all
    };
    let asked = PairCount {
        data2: Some("e".into()),
        randoms2: Some("q".into()),
        ..base
    };
    let [de, dq, re, rq] = [
        share(&d, Some(&e)),
        share(&d, Some(&q)),
        share(&r, Some(&e)),
        share(&r, Some(&q)),
    ];
    let found = ask(&asked, &both);
    close(
        &found.xi.unwrap(),
        bins.map(|b| (de[b] - dq[b] - re[b] + rq[b]) / rq[b]),
    );
    let names: Vec<&str> = found.terms.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["D1D2", "D1R2", "R1D2", "R1R2"]);
}

#[test]
fn a_sample_of_the_jackknife_is_a_run_without_a_region() {
    let mut random = Random::new(706);
    let (d, r) = (
        Sample::random(&mut random, 80),
        Sample::random(&mut random, 120),
    );
    for separation in [Separation::R, Separation::RpPi, Separation::Smu] {
        let asked = PairCount {
            edges: Some(vec![0.0, 2.5003, 6.0]),
            los: match separation {
                Separation::R => Sight::Z,
                _ => Sight::Midpoint,
            },
            wedges: if separation == Separation::Smu { 2 } else { 0 },
            weights: Some("w".into()),
            randoms: Some("randoms".into()),
            regions: Some(Regions::Column("region".into())),
            ..binned(separation, ([6.0007, 3.0], 4))
        };
        let both = |d: &Sample, r: &Sample| Catalogues {
            randoms: Some(r.table()),
            ..tables(d)
        };
        let found = ask(&asked, &both(&d, &r));
        let samples = found.samples.as_ref().unwrap();
        assert_eq!((samples.len(), found.regions), (4, 4));
        let plain = PairCount {
            regions: None,
            ..asked
        };
        let whole = ask(&plain, &both(&d, &r));
        assert_eq!(whole.terms[0].counts, found.terms[0].counts);
        close(&found.xi.clone().unwrap(), whole.xi.unwrap().into_iter());
        for (region, sample) in samples.iter().enumerate() {
            let run = ask(&plain, &both(&d.without(region), &r.without(region)));
            close(sample, run.curves.iter().flat_map(|c| c.values.clone()));
        }
        // The errors are those of the samples.
        let covariance = found.covariance.as_ref().unwrap();
        let length = samples[0].len();
        let mean = |at: usize| samples.iter().map(|s| s[at]).sum::<f64>() / 4.0;
        let wanted = |i: usize, j: usize| {
            0.75 * samples
                .iter()
                .map(|s| (s[i] - mean(i)) * (s[j] - mean(j)))
                .sum::<f64>()
        };
        close(
            covariance,
            (0..length * length).map(|at| wanted(at / length, at % length)),
        );
        let errors: Vec<f64> = found
            .curves
            .iter()
            .flat_map(|c| c.errors.clone().unwrap())
            .collect();
        close(&errors, (0..length).map(|at| wanted(at, at).sqrt()));
    }
}

/// Regions by a column: one of a single point is left out as any other, one that a catalogue has no
/// point of is refused, and one that none has a point of is not there.
#[test]
fn regions_have_points_in_every_catalogue() {
    let mut random = Random::new(711);
    let mut d = Sample::random(&mut random, 80);
    let mut r = Sample::random(&mut random, 120);
    let plain = PairCount {
        edges: Some(vec![0.0, 2.5003, 6.0]),
        randoms: Some("randoms".into()),
        ..PairCount::new("data")
    };
    let asked = PairCount {
        regions: Some(Regions::Column("region".into())),
        ..plain.clone()
    };
    let both = |d: &Sample, r: &Sample| Catalogues {
        randoms: Some(r.table()),
        ..tables(d)
    };
    // Point 3 is the only one of its region.
    for (at, region) in d.regions.iter_mut().enumerate() {
        if *region == 3 && at != 3 {
            *region = 1;
        }
    }
    let found = ask(&asked, &both(&d, &r));
    let samples = found.samples.as_ref().unwrap();
    assert_eq!((samples.len(), found.regions), (4, 4));
    for (region, sample) in samples.iter().enumerate() {
        let run = ask(&plain, &both(&d.without(region), &r.without(region)));
        close(sample, run.curves.iter().flat_map(|c| c.values.clone()));
    }
    let moved = |sample: &mut Sample| {
        let regions = sample.regions.iter_mut().filter(|region| **region == 2);
        regions.for_each(|region| *region = 1);
    };
    moved(&mut r);
    let e = asked.count(&both(&d, &r), &Options::default()).unwrap_err();
    assert_eq!(e.blame(), Blame::Input);
    for words in ["randoms", "all 4 regions, got none in region 2 (from 0)"] {
        assert!(e.to_string().contains(words), "{e}");
    }
    moved(&mut d);
    assert_eq!(ask(&asked, &both(&d, &r)).regions, 3);
}

#[test]
fn a_bootstrap_of_regions_depends_on_its_seed_alone() {
    let mut random = Random::new(707);
    let (d, r) = (
        Sample::random(&mut random, 200),
        Sample::random(&mut random, 300),
    );
    let asked = PairCount {
        edges: Some(vec![0.0, 2.5003, 6.0]),
        randoms: Some("randoms".into()),
        regions: Some(Regions::Made(8)),
        resample: Resample::Bootstrap,
        samples: 30,
        ..PairCount::new("data")
    };
    let both = Catalogues {
        randoms: Some(r.table()),
        ..tables(&d)
    };
    let (one, two) = (ask(&asked, &both), ask(&asked, &both));
    assert_eq!(one.samples, two.samples);
    assert_eq!((one.samples.as_ref().unwrap().len(), one.regions), (30, 8));
    let other = ask(&PairCount { seed: 2, ..asked }, &both);
    assert_ne!(one.samples, other.samples);
    assert!(
        one.curves[0]
            .errors
            .as_ref()
            .unwrap()
            .iter()
            .all(|e| *e > 0.0)
    );
}

#[test]
fn pairs_of_data_weigh_by_realisations_and_angles() {
    let mut random = Random::new(708);
    let (d, r) = (
        Sample::random(&mut random, 70),
        Sample::random(&mut random, 60),
    );
    let path = std::env::temp_dir().join(format!("zipfold-up-{}.csv", std::process::id()));
    let lines = [[1.0, 3.0], [5.0, 2.0], [12.0, 1.25], [20.0, 1.0]];
    let text: String = lines.iter().map(|[a, w]| format!("{a},{w}\n")).collect();
    std::fs::write(&path, text).unwrap();
    let asked = PairCount {
        edges: Some(uneven()),
        weights: Some("w".into()),
        pip: Some(Pip {
            columns: vec!["bits".into()],
            realisations: 21.0,
            offset: 1.0,
            none: 0.0,
        }),
        upweights: Some(path.to_string_lossy().into()),
        randoms: Some("randoms".into()),
        ..PairCount::new("data")
    };
    let both = Catalogues {
        randoms: Some(r.table()),
        ..tables(&d)
    };
    let found = asked.count(&both, &Options::default());
    std::fs::remove_file(&path).unwrap();
    let found = found.unwrap();
    let up = |theta: f64| {
        let at = lines.iter().position(|l| theta < l[0]);
        match at {
            Some(0) => lines[0][1],
            Some(at) => {
                let ([a, u], [b, v]) = (lines[at - 1], lines[at]);
                u + (theta - a) / (b - a) * (v - u)
            }
            None => 1.0,
        }
    };
    let weight = |i: usize, j: usize| {
        let theta = values(
            d.points[i],
            d.points[j],
            (Separation::Theta, Sight::Z),
            None,
        )[0];
        let ones = f64::from((d.bits[i] & d.bits[j]).count_ones());
        d.weights[i] * d.weights[j] * 21.0 / (1.0 + ones) * up(theta)
    };
    let value = |a, b| values(a, b, (Separation::R, Sight::Z), None);
    let (counts, sums) = loops(&d, None, &value, &[uneven()], &weight);
    assert_eq!(found.terms[0].counts, counts);
    close(&found.terms[0].sums, sums.into_iter());
    let n = d.points.len();
    let all: f64 = (0..n)
        .flat_map(|i| (0..n).filter(move |j| i != *j).map(move |j| (i, j)))
        .map(|(i, j)| weight(i, j))
        .sum();
    close(&[found.terms[0].total], [all].into_iter());
    // Randoms weigh as rows do.
    close(
        &[found.terms[2].total],
        [r.weights.iter().sum::<f64>().powi(2) - r.weights.iter().map(|w| w * w).sum::<f64>()]
            .into_iter(),
    );
}

#[test]
fn a_cut_leaves_pairs_out() {
    let d = Sample::random(&mut Random::new(709), 90);
    let asked = PairCount {
        edges: Some(uneven()),
        cut: Some(Cut {
            value: "abs(x.w - y.w)".into(),
            range: [0.25, 1.0],
        }),
        ..PairCount::new("data")
    };
    let found = ask(&asked, &tables(&d));
    let value = |a, b| values(a, b, (Separation::R, Sight::Z), None);
    let inside =
        |i: usize, j: usize| f64::from((0.25..1.0).contains(&(d.weights[i] - d.weights[j]).abs()));
    let (_, sums) = loops(&d, None, &value, &[uneven()], &inside);
    assert_eq!(found.terms[0].sums, sums);
}

#[test]
fn what_means_nothing_is_refused() {
    let d = Sample::random(&mut Random::new(710), 30);
    let base = || PairCount {
        edges: Some(uneven()),
        ..PairCount::new("data")
    };
    let refused = |asked: &PairCount, place: &str, word: &str| {
        let e = asked.count(&tables(&d), &Options::default()).unwrap_err();
        assert_eq!(e.blame(), Blame::Request, "{e}");
        assert!(
            e.to_string().contains(place) && e.to_string().contains(word),
            "{e}"
        );
    };
    refused(
        &PairCount {
            periodic_box: Some(vec![9.0; 3]),
            ..base()
        },
        "range",
        "4.5",
    );
    refused(
        &PairCount {
            periodic_box: Some(vec![12.0; 2]),
            ..base()
        },
        "box",
        "3 lengths",
    );
    refused(
        &PairCount {
            estimator: Some(Estimator::LandySzalay),
            ..base()
        },
        "estimator",
        "randoms",
    );
    refused(
        &PairCount {
            edges: Some(vec![1.0, 1.0]),
            ..base()
        },
        "edges",
        "ascending",
    );
    refused(
        &PairCount {
            edges: None,
            ..base()
        },
        "range",
        "bins",
    );
    refused(
        &PairCount {
            separation: Separation::RpPi,
            ..base()
        },
        "pi",
        "none",
    );
    refused(
        &PairCount {
            multipoles: vec![1],
            separation: Separation::Smu,
            ..base()
        },
        "multipoles",
        "got 1",
    );
    refused(
        &PairCount {
            regions: Some(Regions::Made(1)),
            ..base()
        },
        "regions",
        "got 1",
    );
    let bootstrap = |samples: usize| PairCount {
        resample: Resample::Bootstrap,
        regions: Some(Regions::Made(2)),
        samples,
        range: Some([0.0, 5.0]),
        bins: Some(50),
        ..PairCount::new("data")
    };
    refused(&bootstrap(1_000_000_000), "samples", "2 to 100000");
    let small = Options {
        budget: Budget::new(1 << 24),
        ..Options::default()
    };
    assert!(bootstrap(1000).count(&tables(&d), &small).is_ok());
    let e = bootstrap(100_000).count(&tables(&d), &small).unwrap_err();
    assert_eq!(e.blame(), Blame::Resource);
    assert!(e.to_string().contains("the samples"), "{e}");
    let many = PairCount {
        regions: Some(Regions::Made(100)),
        ..base()
    };
    let e = many.count(&tables(&d), &Options::default()).unwrap_err();
    assert_eq!(e.blame(), Blame::Input);
    assert!(e.to_string().contains("for 100 regions, got 30"), "{e}");
    let shard = Options {
        shard: Some((0, 2)),
        ..Options::default()
    };
    assert!(base().count(&tables(&d), &shard).is_err());
}

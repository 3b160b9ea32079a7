//! Variograms next to double loops over pairs.

use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::variogram::{LagEstimator, Variogram, VariogramModel, Variograms};
use zipfold::io::OutputOptions;
use zipfold::{Options, Table};

/// Positions with two values, some at equal places.
struct Places {
    rows: Vec<Vec<f64>>,
    axes: usize,
}

impl Places {
    fn new(count: usize, axes: usize, offset: f64) -> Places {
        let mut random = zipfold::internals::core::Random::new(count as u64 + 7);
        let mut rows: Vec<Vec<f64>> = vec![];
        for at in 0..count {
            let mut row: Vec<f64> = (0..axes).map(|_| offset + 10.0 * random.unit()).collect();
            if at % 9 == 8 {
                row = rows[at - 3][..axes].to_vec();
            }
            let z = offset + row[0].sin() + random.unit();
            row.extend([z, 1e3 * (z * 0.5 + random.unit())]);
            rows.push(row);
        }
        Places { rows, axes }
    }
    fn table(&self) -> Table {
        let names = ["x", "y", "z"][..self.axes].iter().chain(&["v", "w"]);
        let names = names.map(|name| name.to_string()).collect();
        let items = self.rows.concat();
        let table = Table::f64(self.rows.len(), self.axes + 2, items).unwrap();
        table.with_names(names).unwrap()
    }
    fn asked(&self, value: &[&str]) -> Variogram {
        let columns = ["x", "y", "z"][..self.axes].iter();
        Variogram {
            columns: Some(columns.map(|name| name.to_string()).collect()),
            lags: Some(7),
            max: Some(6.0),
            estimator: vec![
                LagEstimator::Matheron,
                LagEstimator::Cressie,
                LagEstimator::Madogram,
                LagEstimator::Covariance,
            ],
            ..Variogram::new("places", value.to_vec())
        }
    }
    /// By lag, the pairs that `keep` keeps: the rows and their distance.
    fn by_lag(&self, edges: &[f64], keep: impl Fn(&[f64]) -> bool) -> Vec<LagPairs<'_>> {
        let mut lags = vec![vec![]; edges.len() - 1];
        let last = edges.len() - 2;
        for (i, x) in self.rows.iter().enumerate() {
            for y in &self.rows[i + 1..] {
                let d: Vec<f64> = (0..self.axes).map(|k| x[k] - y[k]).collect();
                let h = d.iter().map(|d| d * d).sum::<f64>().sqrt();
                let lag = (0..=last).find(|k| {
                    edges[*k] <= h && (h < edges[k + 1] || *k == last && h == edges[k + 1])
                });
                if let Some(lag) = lag.filter(|_| keep(&d)) {
                    lags[lag].push((&x[..], &y[..], h));
                }
            }
        }
        lags
    }
}

/// The pairs of a lag: both rows, and their distance.
type LagPairs<'a> = Vec<(&'a [f64], &'a [f64], f64)>;

#[track_caller]
fn near(got: f64, expected: f64, what: &str) {
    let fine = got.is_nan() && expected.is_nan()
        || (got - expected).abs() <= 1e-11 * expected.abs().max(1e-3);
    assert!(fine, "{what}: {got} {expected}");
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// Compares a direction with the double loop.
#[track_caller]
fn compare(places: &Places, answer: &Variograms, at: usize, keep: impl Fn(&[f64]) -> bool) {
    let lags = places.by_lag(&answer.edges, keep);
    let direction = &answer.directions[at];
    let of = |column: usize| places.axes + column;
    let means = [0, 1].map(|k| mean(places.rows.iter().map(|row| row[of(k)])));
    for (lag, pairs) in lags.iter().enumerate() {
        assert_eq!(direction.counts[lag], pairs.len() as u64, "lag {lag}");
        let n = pairs.len() as f64;
        near(
            direction.distances[lag],
            mean(pairs.iter().map(|p| p.2)),
            "distance",
        );
        for curve in &direction.curves {
            let both: Vec<usize> = match curve.name.split_once(' ').map_or("", |n| n.1) {
                "" | "v" => vec![0, 0],
                "w" => vec![1, 1],
                _ => vec![0, 1],
            };
            let [a, b] = [both[0], both[1]];
            let (p, q) = (of(a), of(b));
            let d = |pair: &(&[f64], &[f64], f64)| [pair.0[p] - pair.1[p], pair.0[q] - pair.1[q]];
            let expected = match curve.name.split(' ').next().unwrap() {
                "matheron" => mean(pairs.iter().map(|pair| d(pair)[0] * d(pair)[1] / 2.0)),
                "cressie" => {
                    let m = mean(pairs.iter().map(|pair| d(pair)[0].abs().sqrt()));
                    0.5 * m.powi(4) / (0.457 + 0.494 / n + 0.045 / n / n)
                }
                "madogram" => mean(pairs.iter().map(|pair| d(pair)[0].abs() / 2.0)),
                _ => mean(pairs.iter().map(|(x, y, _)| {
                    let one = (x[p] - means[a]) * (y[q] - means[b]);
                    let other = (x[q] - means[b]) * (y[p] - means[a]);
                    (one + other) / 2.0
                })),
            };
            near(curve.values[lag], expected, &curve.name);
        }
    }
}

#[test]
fn all_estimators_are_those_of_a_double_loop() {
    for (count, axes, offset) in [
        (2, 1, 0.0),
        (3, 2, 0.0),
        (129, 1, 0.0),
        (300, 2, 0.0),
        (257, 3, 0.0),
        (150, 2, 1e5),
    ] {
        let places = Places::new(count, axes, offset);
        for value in [&["v"][..], &["w"], &["v", "w"]] {
            let asked = places.asked(value);
            let answer = asked.of_table(places.table(), &Options::default()).unwrap();
            if value == ["w"] {
                let both = Places {
                    rows: places
                        .rows
                        .iter()
                        .map(|row| {
                            let mut row = row.clone();
                            row.swap(axes, axes + 1);
                            row
                        })
                        .collect(),
                    axes,
                };
                compare(&both, &answer, 0, |_| true);
            } else {
                compare(&places, &answer, 0, |_| true);
            }
        }
    }
}

#[test]
fn directions_keep_the_pairs_within_their_angle_and_width() {
    for (axes, bandwidth, dip) in [
        (2, None, 0.0),
        (2, Some(1.5), 0.0),
        (3, None, 30.0),
        (3, Some(2.0), 0.0),
    ] {
        let places = Places::new(260, axes, 0.0);
        let azimuth = vec![0.0, 37.0, 90.0, -135.0];
        let asked = Variogram {
            azimuth: azimuth.clone(),
            dip: Some(dip),
            bandwidth,
            tolerance: Some(20.0),
            ..places.asked(&["v", "w"])
        };
        let answer = asked.of_table(places.table(), &Options::default()).unwrap();
        for (at, azimuth) in azimuth.iter().enumerate() {
            let (a, p) = (azimuth.to_radians(), f64::to_radians(dip));
            let line = [a.sin() * p.cos(), a.cos() * p.cos(), -p.sin()];
            compare(&places, &answer, at, |d| {
                let along: f64 = d.iter().zip(line).map(|(d, u)| d * u).sum::<f64>().abs();
                let across = (d.iter().map(|d| d * d).sum::<f64>() - along * along)
                    .max(0.0)
                    .sqrt();
                across <= along * 20f64.to_radians().tan() && bandwidth.is_none_or(|b| across <= b)
            });
        }
    }
    // Of all directions together each pair is in one, but for those at equal places.
    let places = Places::new(200, 2, 0.0);
    let wide = Variogram {
        azimuth: vec![0.0, 45.0, 90.0, 135.0],
        ..places.asked(&["v"])
    };
    let wide = wide.of_table(places.table(), &Options::default()).unwrap();
    let all = places
        .asked(&["v"])
        .of_table(places.table(), &Options::default())
        .unwrap();
    for lag in 1..7 {
        let sum: u64 = wide.directions.iter().map(|d| d.counts[lag]).sum();
        assert_eq!(sum, all.directions[0].counts[lag]);
    }
}

/// On a grid, pairs at the tolerance belong to the direction, and a line has no sense.
#[test]
fn pairs_of_a_grid_at_the_tolerance_are_kept() {
    let cells: Vec<[i64; 2]> = (0..25).map(|at| [at / 5, at % 5]).collect();
    let items = cells
        .iter()
        .flat_map(|[x, y]| [*x as f64, *y as f64, (3 * x + y) as f64]);
    let names = ["x", "y", "v"].map(String::from).to_vec();
    let table = Table::f64(25, 3, items.collect()).unwrap();
    let table = table.with_names(names).unwrap();
    // The angle of a pair with the line is up to 45 degrees: |across| ≤ |along|, in whole numbers.
    let lines: [(f64, [i64; 2]); 8] = [
        (0.0, [0, 1]),
        (45.0, [1, 1]),
        (90.0, [1, 0]),
        (135.0, [1, -1]),
        (180.0, [0, 1]),
        (225.0, [1, 1]),
        (270.0, [1, 0]),
        (-45.0, [1, -1]),
    ];
    for (azimuth, [east, north]) in lines {
        let asked = Variogram {
            azimuth: vec![azimuth],
            tolerance: Some(45.0),
            lags: Some(1),
            max: Some(10.0),
            ..Variogram::new("grid", ["v"])
        };
        let answer = asked.of_table(table.clone(), &Options::default()).unwrap();
        let mut kept = 0;
        for (at, [x, y]) in cells.iter().enumerate() {
            for [u, v] in &cells[..at] {
                let (dx, dy) = (x - u, y - v);
                let (along, across) = (dx * east + dy * north, dx * north - dy * east);
                kept += u64::from(across.abs() <= along.abs());
            }
        }
        assert_eq!(answer.directions[0].counts, [kept], "azimuth {azimuth}");
    }
}

#[test]
fn threads_change_no_bit_and_models_follow() {
    let places = Places::new(400, 2, 0.0);
    let asked = Variogram {
        models: vec![VariogramModel::Spherical, VariogramModel::Exponential],
        ..places.asked(&["v", "w"])
    };
    let with = |threads: usize| {
        let options = Options {
            threads,
            ..Options::default()
        };
        asked.of_table(places.table(), &options).unwrap()
    };
    let one = with(1);
    assert_eq!(format!("{one:?}"), format!("{:?}", with(3)));
    for curve in &one.directions[0].curves {
        let rising = !curve.name.starts_with("covariance");
        assert_eq!(curve.models.len(), if rising { 2 } else { 0 });
    }
}

#[test]
fn rows_without_a_value_are_refused_or_left_out() {
    let places = Places::new(60, 2, 0.0);
    let mut holed = Places::new(60, 2, 0.0);
    holed.rows[7][2] = f64::NAN;
    let asked = places.asked(&["v"]);
    let e = asked
        .of_table(holed.table(), &Options::default())
        .unwrap_err();
    assert!(e.to_string().contains("got NaN in row 7"), "{e}");
    let skip = Variogram {
        nan: zipfold::problem::NanPolicy::Skip,
        ..asked.clone()
    };
    let left = skip.of_table(holed.table(), &Options::default()).unwrap();
    let mut fewer = Places::new(60, 2, 0.0);
    fewer.rows.remove(7);
    let expected = asked.of_table(fewer.table(), &Options::default()).unwrap();
    assert_eq!(left.left_out, 1);
    assert_eq!(left.directions[0].curves, expected.directions[0].curves);
    holed.rows[3][0] = f64::INFINITY;
    let e = skip
        .of_table(holed.table(), &Options::default())
        .unwrap_err();
    assert!(e.to_string().contains("expected finite positions"), "{e}");
}

#[test]
fn an_answer_goes_to_every_format() {
    let places = Places::new(90, 2, 0.0);
    let asked = Variogram {
        azimuth: vec![0.0, 90.0],
        models: vec![VariogramModel::Gaussian],
        ..places.asked(&["v"])
    };
    let answer = asked.of_table(places.table(), &Options::default()).unwrap();
    for suffix in ["csv", "tsv", "npz", "parquet", "svg"] {
        let name = format!("zipfold-variogram-{}.{suffix}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let text = path.to_string_lossy();
        answer.save(&text, OutputOptions::default()).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 100);
        if suffix == "svg" {
            let svg = std::fs::read_to_string(&path).unwrap();
            assert!(svg.contains("prefers-color-scheme: dark"));
        }
        std::fs::remove_file(&path).unwrap();
    }
}

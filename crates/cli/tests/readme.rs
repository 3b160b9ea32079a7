//! Every command of README.md runs as it stands there, writes what it names, and what it writes has
//! the numbers of an independent computation.

mod readme_stages;

use readme_stages::{densities, gaps, loneliest, silhouettes};
use std::fs;
use std::path::{Path, PathBuf};

const FIRST: &str = "cargo run --release -p zipfold-cli -- ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// Lines of the ```sh blocks, with the built command in place of the one that cargo builds.
fn commands(readme: &str) -> Vec<String> {
    let blocks = readme
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next());
    blocks
        .flat_map(str::lines)
        .map(|line| line.replace(FIRST, "zipfold "))
        .collect()
}

/// The words after `-o` and `--plot`.
fn outputs(command: &str) -> Vec<&str> {
    let words: Vec<&str> = command.split_whitespace().collect();
    words
        .windows(2)
        .filter(|w| w[0] == "-o" || w[0] == "--plot")
        .map(|w| w[1])
        .collect()
}

/// A folder with `data` and the problems of `docs`, as in a clone, and the built command in `bin`.
#[cfg(unix)]
fn clone_like() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("zipfold-readme-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    for part in ["data", "docs"] {
        fs::create_dir_all(folder.join(part)).unwrap();
        for entry in fs::read_dir(root().join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, folder.join(part).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    fs::create_dir(folder.join("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_zipfold"), folder.join("bin/zipfold")).unwrap();
    folder
}

#[test]
fn every_verb_is_shown() {
    let commands = commands(&readme());
    let verbs = [
        "dist",
        "knn",
        "top",
        "hist",
        "reduce",
        "join",
        "run",
        "rdf",
        "paircount",
        "crossmatch",
        "hausdorff",
        "chamfer",
        "silhouette",
        "variogram",
        "ripley",
        "cooccurrence",
        "correlogram",
        "network",
        "merge",
        "infer",
        "explain",
        "emit",
        "bench",
        "devices",
    ];
    for verb in verbs
        .into_iter()
        .chain(["metrics", "functions", "settings", "formats"])
    {
        let called = format!("zipfold {verb}");
        assert!(
            commands.iter().any(|c| c.contains(&called)),
            "README.md shows no {verb}"
        );
    }
}

#[cfg(unix)]
#[test]
fn every_command_runs() {
    let folder = clone_like();
    let path = format!(
        "{}:{}",
        folder.join("bin").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    for command in &commands(&readme()) {
        assert!(command.contains("zipfold "), "{command}");
        let mut shell = std::process::Command::new("sh");
        let run = shell
            .args(["-c", command])
            .current_dir(&folder)
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(
            run.status.success(),
            "{command}\n{}",
            String::from_utf8_lossy(&run.stderr)
        );
        for output in outputs(command) {
            let size = fs::metadata(folder.join(output)).map_or(0, |m| m.len());
            assert!(size > 0, "{command}\nwrote no {output}");
        }
        numbers(&folder, command, &String::from_utf8_lossy(&run.stdout));
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_picture_is_there_and_small() {
    let readme = readme();
    let commands = commands(&readme);
    let plotted: Vec<&str> = commands.iter().flat_map(|c| outputs(c)).collect();
    let pictures: Vec<&str> = readme
        .split("](docs/pictures/")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert!(pictures.len() >= 8, "{pictures:?}");
    for picture in pictures {
        assert!(
            plotted.contains(&picture),
            "no command of README.md draws {picture}"
        );
        let size = fs::metadata(root().join("docs/pictures").join(picture)).map_or(0, |m| m.len());
        assert!(size > 0 && size < 300_000, "{picture} has {size} bytes");
    }
}

/// Numbers of a file, by rows.
fn rows(path: &Path) -> Vec<Vec<f64>> {
    let table = zipfold::io::read_table(
        path.to_str().unwrap(),
        &Default::default(),
        &zipfold::Budget::new(1 << 30),
    )
    .unwrap();
    (0..table.rows())
        .map(|r| (0..table.cols()).map(|c| table.get(r, c)).collect())
        .collect()
}

/// Cells of a CSV file below its header, comments left out.
fn cells(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|l| !l.starts_with('#')).skip(1);
    lines
        .map(|l| l.split(',').map(str::to_string).collect())
        .collect()
}

fn number(cell: &str) -> f64 {
    cell.parse()
        .unwrap_or_else(|_| panic!("'{cell}' is no number"))
}

fn near(a: f64, b: f64, what: &str) {
    assert!(
        (a - b).abs() <= 1e-9 * b.abs().max(1.0),
        "{what}: {a} instead of {b}"
    );
}

/// The first `d` columns.
fn cut(rows: &[Vec<f64>], d: usize) -> Vec<Vec<f64>> {
    rows.iter().map(|r| r[..d].to_vec()).collect()
}

fn euclidean(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}

/// Distances of all pairs i < j.
fn triangle(rows: &[Vec<f64>], f: impl Fn(&[f64], &[f64]) -> f64) -> Vec<f64> {
    (0..rows.len())
        .flat_map(|j| (0..j).map(move |i| (i, j)))
        .map(|(i, j)| f(&rows[i], &rows[j]))
        .collect()
}

/// What `numpy.histogram` counts of `values` between the edges that a histogram's file names,
/// against the file's counts. A value within rounding of an edge may stand on either side of it.
fn histogram(path: &Path, values: &[f64], spans: bool) {
    let bins = cells(path);
    let counts: Vec<i64> = bins.iter().map(|b| b[2].parse().unwrap()).collect();
    let lo: Vec<f64> = bins.iter().map(|b| number(&b[0])).collect();
    let end = number(&bins[bins.len() - 1][1]);
    let at = |v: f64| {
        if v < lo[0] || v > end {
            None
        } else {
            Some(lo.partition_point(|e| *e <= v).max(1) - 1)
        }
    };
    let mut wanted = vec![0i64; bins.len()];
    values
        .iter()
        .filter_map(|v| at(*v))
        .for_each(|b| wanted[b] += 1);
    if spans {
        let (least, most) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        near(lo[0], least, "the first edge");
        near(end, most, "the last edge");
        assert_eq!(
            counts.iter().sum::<i64>(),
            values.len() as i64,
            "{path:?}: every pair is counted"
        );
    }
    let doubtful = values
        .iter()
        .filter(|v| {
            // Edges ascend: only those next to a value are near it.
            let above = lo.partition_point(|e| e <= *v);
            let near = |e: f64| (*v - e).abs() <= 1e-12 * e.abs().max(1.0);
            near(end)
                || lo[above.saturating_sub(1)..]
                    .iter()
                    .take(2)
                    .any(|e| near(*e))
        })
        .count() as i64;
    let off: i64 = counts.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).sum();
    assert!(
        off <= 2 * doubtful,
        "{path:?}: {off} pairs elsewhere than numpy.histogram has them, {doubtful} at an edge"
    );
}

/// Pairs between half-open edges, counted from both sides: center, edges, normalised count, count.
fn pair_counts(distances: &[f64], lines: &[Vec<f64>]) {
    assert_eq!(lines.len(), 20);
    for line in lines {
        let [low, high, count] = [line[1], line[2], line[4]];
        let wanted = distances.iter().filter(|d| (low..high).contains(*d));
        assert_eq!(count, 2.0 * wanted.count() as f64, "from {low} to {high}");
    }
}

/// The numbers that `command` wrote, or printed to `out`, against an independent computation.
fn numbers(folder: &Path, command: &str, out: &str) {
    let data = |name: &str| rows(&folder.join("data").join(name));
    let file = |name: &str| folder.join(name);
    let what = outputs(command)
        .first()
        .copied()
        .unwrap_or_default()
        .to_string();
    match what.as_str() {
        "galaxies.csv" => histogram(
            &file("galaxies.csv"),
            &triangle(&cut(&data("galaxies.csv"), 3), euclidean),
            true,
        ),
        "pairs.csv" => pair_counts(
            &triangle(&cut(&data("galaxies.csv"), 3), euclidean),
            &rows(&file("pairs.csv")),
        ),
        "merged.csv" | "half-1.part" | "half-2.part" => merged(folder, &what),
        "genes.npy" => genes(&data("expression.csv"), &rows(&file("genes.npy"))),
        "alike.csv" => alike(&data("expression.csv"), &cells(&file("alike.csv"))),
        "edges.csv" => edges(&data("expression.csv"), &cells(&file("edges.csv"))),
        "neighbours.npz" => neighbours(
            &cut(&data("galaxies.csv"), 3),
            &rows(Path::new(&format!(
                "{}:values",
                file("neighbours.npz").display()
            ))),
        ),
        "wine.csv" => wine(&data("wine.csv"), &file("wine.csv")),
        "busy.csv" => busy(&data("flights.csv"), &rows(&file("busy.csv"))),
        "late.csv" => late(
            &data("flights.csv"),
            &data("weather.csv"),
            &cells(&file("late.csv")),
        ),
        "reported.parquet" => reported(
            &data("flights.csv"),
            &data("weather.csv"),
            &rows(&file("reported.parquet")),
        ),
        "near-airports.csv" => {
            near_airports(&data("airports.csv"), &rows(&file("near-airports.csv")))
        }
        "ripley.csv" => ripley(&data("airports.csv"), &rows(&file("ripley.csv"))),
        "occurrence.csv" => occurrence(&data("flights.csv"), &rows(&file("occurrence.csv"))),
        "departures.csv" => departures(&data("flights.csv"), &rows(&file("departures.csv"))),
        "gaps.csv" | "mean-gaps.csv" => gaps(
            &data("flights.csv"),
            &data("weather.csv"),
            (what == "gaps.csv", &cells(&file(&what))),
        ),
        "densities.csv" => densities(&data("wine.csv"), &rows(&file("densities.csv"))),
        "loneliest.csv" => loneliest(
            &cut(&data("galaxies.csv"), 3),
            &rows(&file("loneliest.csv")),
        ),
        "silhouettes.csv" => silhouettes(&data("wine.csv"), &rows(&file("silhouettes.csv"))),
        "altitudes.csv" => altitudes(&data("airports.csv"), &rows(&file("altitudes.csv"))),
        "by-hours.csv" => by_hours(&data("weather.csv"), &rows(&file("by-hours.csv"))),
        "late-by.csv" => late_by_airport(&data("flights.csv"), &rows(&file("late-by.csv"))),
        "variogram.csv" => variogram(&data("airports.csv"), &rows(&file("variogram.csv"))),
        "radial.csv" => radial(&folder.join("data/water.xyz"), &file("radial.csv")),
        "water.csv" => water(&folder.join("data/water.xyz"), &file("water.csv")),
        "asia.csv" => {
            let p = |name: &str| {
                number(
                    &cells(&file("asia.csv"))
                        .iter()
                        .find(|c| c[0] == name && c[1] == "yes")
                        .unwrap()[2],
                )
            };
            assert!(
                (p("bronc") - 0.834).abs() < 5e-4 && (p("lung") - 0.103).abs() < 5e-4,
                "the numbers that README.md names"
            );
        }
        "states.csv" => {
            assert!(cells(&file("states.csv")).contains(&vec!["bronc".to_string(), "yes".into()]))
        }
        "product.npy" | "manhattan.npy" => {
            let (x, got) = (data("wine.csv"), rows(&file(&what)));
            let f = |a: &[f64], b: &[f64]| -> f64 {
                a.iter()
                    .zip(b)
                    .map(|(a, b)| {
                        if what == "product.npy" {
                            a * b
                        } else {
                            (a - b).abs()
                        }
                    })
                    .sum()
            };
            (0..x.len())
                .for_each(|i| (0..x.len()).for_each(|j| near(got[i][j], f(&x[i], &x[j]), &what)));
        }
        "by-airport.csv" => by_airport(&data("flights.csv"), &rows(&file(&what))),
        "airports-near.csv" => airports(
            &cut(&data("airports.csv"), 2),
            &cells(&file("airports-near.csv")),
        ),
        "kernels.cu" => assert!(
            fs::read_to_string(file("kernels.cu"))
                .unwrap()
                .contains("__global__")
        ),
        "" => printed(command, out),
        other => panic!("no numbers are known for {other}: compute them here, too"),
    }
}

/// Each flight with the last report of its airport before it.
fn reported(flights: &[Vec<f64>], weather: &[Vec<f64>], got: &[Vec<f64>]) {
    assert_eq!(got.len(), flights.len());
    for (flight, got) in flights.iter().zip(got) {
        let mut last: Option<&Vec<f64>> = None;
        for report in weather
            .iter()
            .filter(|w| w[1] == flight[1] && w[0] <= flight[0])
        {
            if last.is_none_or(|last| report[0] > last[0]) {
                last = Some(report);
            }
        }
        let report = |at: usize| last.map_or(f64::NAN, |report| report[at]);
        let wanted = [flight[0], flight[1], flight[3], report(5), report(6)];
        let same = got
            .iter()
            .zip(wanted)
            .all(|(a, b)| *a == b || a.is_nan() && b.is_nan());
        assert!(same, "{got:?} instead of {wanted:?}");
    }
}

/// Two airports for each airport: itself, and the nearest other one by the haversine.
/// Pairs of flights from the same airport, by the hours between them: airport, bin, count.
fn by_airport(flights: &[Vec<f64>], got: &[Vec<f64>]) {
    let mut wanted = std::collections::BTreeMap::new();
    for (at, flight) in flights.iter().enumerate() {
        for other in &flights[at + 1..] {
            let apart = (flight[0] - other[0]).abs();
            if flight[1] == other[1] && apart <= 24.0 {
                let bin = (apart as usize).min(23);
                *wanted.entry((flight[1] as usize, bin)).or_insert(0.0) += 1.0;
            }
        }
    }
    assert_eq!(got.len(), 3 * 24);
    for line in got {
        let count = wanted.get(&(line[0] as usize, line[1] as usize));
        assert_eq!(line[3], count.copied().unwrap_or(0.0), "{line:?}");
    }
}

fn near_airports(airports: &[Vec<f64>], got: &[Vec<f64>]) {
    let apart = |a: &[f64], b: &[f64]| {
        let half = |at: usize| ((a[at] - b[at]).to_radians() / 2.0).sin().powi(2);
        let cosines = a[0].to_radians().cos() * b[0].to_radians().cos();
        2.0 * (half(0) + cosines * half(1)).sqrt().asin().to_degrees() * 3600.0
    };
    assert_eq!(got.len(), 2 * airports.len());
    for (i, airport) in airports.iter().enumerate() {
        let others = airports.iter().enumerate().filter(|(j, _)| *j != i);
        let least = others
            .map(|(_, other)| apart(airport, other))
            .fold(f64::MAX, f64::min);
        let [own, other] = [&got[2 * i], &got[2 * i + 1]];
        assert_eq!(own[..2], airport[..2]);
        assert!(
            own[4].abs() < 1e-6 && (other[4] - least).abs() < 1e-5,
            "{other:?}: {least}"
        );
        assert!(
            (other[4] - apart(&other[..2], &other[2..4])).abs() < 1e-5,
            "{other:?}"
        );
    }
}

/// Ripley's K of airports with the translation correction, by a double loop.
fn ripley(airports: &[Vec<f64>], got: &[Vec<f64>]) {
    let places: Vec<[f64; 2]> = airports.iter().map(|a| [a[1], a[0]]).collect();
    let sides = [0, 1].map(|axis| {
        let all = places.iter().map(|place| place[axis]);
        all.clone().fold(f64::MIN, f64::max) - all.fold(f64::MAX, f64::min)
    });
    let area = sides[0] * sides[1];
    let mut sums = [0.0; 40];
    for (i, a) in places.iter().enumerate() {
        for b in places.iter().take(i) {
            let gaps = [0, 1].map(|axis| (a[axis] - b[axis]).abs());
            let r = euclidean(a, b);
            let shared = (sides[0] - gaps[0]) * (sides[1] - gaps[1]);
            for (bin, row) in got.iter().enumerate().filter(|(_, row)| r < row[1]) {
                assert!(row[1] > row[0]);
                sums[bin] += 2.0 * area / shared;
            }
        }
    }
    assert_eq!(got.len(), 40);
    let pairs = (places.len() * (places.len() - 1)) as f64;
    for (row, sum) in got.iter().zip(sums) {
        near(row[3], area * sum / pairs, "K of airports");
        assert!(row[3] > row[8], "{row:?} is within the envelope");
    }
}

/// Which airports have departures near each other, by a double loop.
fn occurrence(flights: &[Vec<f64>], got: &[Vec<f64>]) {
    assert_eq!(got.len(), 9 * 24);
    for row in got.iter().step_by(5) {
        let mut counts = [[0.0; 3]; 3];
        for (i, a) in flights.iter().enumerate() {
            for (j, b) in flights.iter().enumerate() {
                let apart = (a[0] - b[0]).abs();
                if i != j && apart >= row[2] && apart < row[3] {
                    counts[a[1] as usize - 1][b[1] as usize - 1] += 1.0;
                }
            }
        }
        let [a, b] = [row[0] as usize - 1, row[1] as usize - 1];
        let of = |kind: usize| counts[kind].iter().sum::<f64>();
        let all = of(0) + of(1) + of(2);
        assert_eq!(row[4], counts[a][b]);
        near(
            row[5],
            counts[a][b] / of(a) / (of(b) / all),
            "a ratio of departures",
        );
    }
}

/// Departures around departures by a double loop.
fn departures(flights: &[Vec<f64>], got: &[Vec<f64>]) {
    assert_eq!(got.len(), 9 * 73);
    let all: f64 = got.iter().map(|row| row[4]).sum();
    let mut pairs = 0.0;
    for (i, a) in flights.iter().enumerate() {
        for (j, b) in flights.iter().enumerate() {
            let lag = b[0] - a[0];
            pairs += f64::from(u8::from(i != j && (-3.0416667..3.0416667).contains(&lag)));
        }
    }
    assert_eq!(all, pairs);
    for row in got.iter().step_by(7) {
        let (mut count, mut spikes) = (0.0, 0.0);
        for (i, a) in flights.iter().enumerate().filter(|(_, a)| a[1] == row[0]) {
            spikes += 1.0;
            for (j, b) in flights.iter().enumerate().filter(|(_, b)| b[1] == row[1]) {
                let lag = b[0] - a[0];
                count += f64::from(u8::from(i != j && lag >= row[2] && lag < row[3]));
            }
        }
        assert_eq!(row[4], count);
        near(
            row[5],
            count / spikes / (row[3] - row[2]),
            "a rate of departures",
        );
    }
}

/// The variogram of altitudes on a map by a double loop.
fn altitudes(airports: &[Vec<f64>], got: &[Vec<f64>]) {
    assert_eq!(got.len(), 20);
    let (mut counts, mut sums) = ([0.0; 20], [[0.0; 2]; 20]);
    for (i, a) in airports.iter().enumerate() {
        for b in &airports[i + 1..] {
            let h = euclidean(&a[..2], &b[..2]);
            let lag = (0..20).find(|k| h < got[*k][1]);
            if let Some(lag) = lag.or((h == 6.0).then_some(19)) {
                counts[lag] += 1.0;
                sums[lag][0] += h;
                sums[lag][1] += (a[2] - b[2]).powi(2) / 2.0;
            }
        }
    }
    for (lag, got) in got.iter().enumerate() {
        assert_eq!(got[2], counts[lag]);
        near(
            got[3],
            sums[lag][0] / counts[lag],
            "the mean distance of a lag",
        );
        near(
            got[4],
            sums[lag][1] / counts[lag],
            "the variogram of altitudes",
        );
    }
}

fn merged(folder: &Path, what: &str) {
    if what == "merged.csv" {
        let total: u64 = cells(&folder.join(what))
            .iter()
            .map(|c| c[2].parse::<u64>().unwrap())
            .sum();
        let said = format!(
            "{} {:03} {:03} pairs",
            total / 1_000_000,
            total / 1000 % 1000,
            total % 1000
        );
        assert!(readme().contains(&said), "README.md does not say '{said}'");
        let points = cut(&rows(&folder.join("data/galaxies.csv")), 3);
        histogram(&folder.join(what), &triangle(&points, euclidean), false);
    }
}

fn genes(all: &[Vec<f64>], got: &[Vec<f64>]) {
    assert_eq!((got.len(), got[0].len()), (50, 50));
    let centred = |r: &[f64]| -> Vec<f64> {
        let mean = r.iter().sum::<f64>() / r.len() as f64;
        r.iter().map(|v| v - mean).collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for (i, j) in [(0, 1), (3, 7), (49, 20), (11, 11)] {
        let (a, b) = (centred(&all[i]), centred(&all[j]));
        near(
            got[i][j],
            1.0 - dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt(),
            "genes.npy",
        );
    }
}

fn alike(all: &[Vec<f64>], got: &[Vec<String>]) {
    let centred: Vec<Vec<f64>> = all
        .iter()
        .map(|row| {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let norm = row
                .iter()
                .map(|v| (v - mean) * (v - mean))
                .sum::<f64>()
                .sqrt();
            row.iter().map(|v| (v - mean) / norm).collect()
        })
        .collect();
    let correlation = |i: usize, j: usize| {
        centred[i]
            .iter()
            .zip(&centred[j])
            .map(|(a, b)| a * b)
            .sum::<f64>()
    };
    let mut wanted: Vec<(f64, usize, usize)> = (0..all.len())
        .flat_map(|j| (0..j).map(move |i| (i, j)))
        .map(|(i, j)| (correlation(i, j), i, j))
        .collect();
    wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert_eq!(got.len(), 10);
    for (line, (value, i, j)) in got.iter().zip(wanted) {
        assert_eq!(
            (line[0].as_str(), line[1].as_str()),
            (&*i.to_string(), &*j.to_string())
        );
        near(number(&line[2]), value, "alike.csv");
    }
}

/// Edges with Spearman's correlation: those of the largest ones of all pairs.
fn edges(all: &[Vec<f64>], got: &[Vec<String>]) {
    let ranks = |row: &Vec<f64>| -> Vec<f64> {
        let below = |v: &f64| row.iter().filter(|w| *w < v).count() as f64;
        let equal = |v: &f64| row.iter().filter(|w| *w == v).count() as f64;
        let middle = (row.len() + 1) as f64 / 2.0;
        let rank = |v: &f64| below(v) + (equal(v) + 1.0) / 2.0 - middle;
        row.iter().map(rank).collect()
    };
    let ranks: Vec<Vec<f64>> = all.iter().map(ranks).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let value = |i: usize, j: usize| {
        let (a, b) = (&ranks[i], &ranks[j]);
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let mut least = f64::INFINITY;
    for line in got {
        let place = |at: usize| number(&line[at]) as usize;
        near(number(&line[4]), value(place(2), place(3)), "edges.csv");
        least = least.min(number(&line[4]).abs());
    }
    let larger = (0..all.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    let larger = larger.filter(|(i, j)| value(*i, *j).abs() >= least * (1.0 - 1e-12));
    assert_eq!(larger.count(), got.len());
    assert!(!got.is_empty());
}

fn neighbours(points: &[Vec<f64>], got: &[Vec<f64>]) {
    for i in (0..points.len()).step_by(997) {
        let mut all: Vec<f64> = (0..points.len())
            .filter(|j| *j != i)
            .map(|j| euclidean(&points[i], &points[j]))
            .collect();
        all.sort_by(f64::total_cmp);
        (0..5).for_each(|k| near(got[i][k], all[k], "neighbours.npz"));
    }
}

fn wine(wines: &[Vec<f64>], path: &Path) {
    let (n, d) = (wines.len() as f64, wines[0].len());
    let variance = |k: usize| {
        let mean = wines.iter().map(|w| w[k]).sum::<f64>() / n;
        wines.iter().map(|w| (w[k] - mean).powi(2)).sum::<f64>() / (n - 1.0)
    };
    let v: Vec<f64> = (0..d).map(variance).collect();
    let f = |a: &[f64], b: &[f64]| {
        (0..d)
            .map(|k| (a[k] - b[k]).powi(2) / v[k])
            .sum::<f64>()
            .sqrt()
    };
    histogram(path, &triangle(wines, f), true);
}

fn busy(flights: &[Vec<f64>], got: &[Vec<f64>]) {
    assert_eq!(got.len(), flights.len());
    for (i, x) in flights.iter().enumerate() {
        let wanted = flights
            .iter()
            .filter(|y| x[1] == y[1] && (x[0] - y[0]).abs() < 0.5)
            .count();
        assert_eq!(got[i][0], wanted as f64, "departures around row {i}");
    }
}

fn late(flights: &[Vec<f64>], weather: &[Vec<f64>], got: &[Vec<String>]) {
    let mut wanted = vec![];
    for (i, x) in flights.iter().enumerate() {
        for (j, y) in weather.iter().enumerate() {
            if x[3] > 60.0 && y[5] > 0.0 && x[1] == y[1] && (x[0] - y[0]).abs() < 0.5 {
                wanted.push(vec![i.to_string(), j.to_string()]);
            }
        }
    }
    assert_eq!(got, wanted, "late departures with rain");
}

fn water(from: &Path, path: &Path) {
    let text = fs::read_to_string(from).unwrap();
    let atoms: Vec<Vec<f64>> = text
        .lines()
        .skip(2)
        .map(|l| l.split_whitespace().skip(1).take(3).map(number).collect())
        .collect();
    let wrap = |d: f64| d - 30.0 * (d / 30.0).round();
    let f = |a: &[f64], b: &[f64]| {
        (0..3)
            .map(|k| wrap(a[k] - b[k]).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    histogram(path, &triangle(&atoms, f), false);
}

/// Half of the squared difference of temperatures, by hours apart, of reports of one origin up to 24
/// rows apart.
fn by_hours(weather: &[Vec<f64>], got: &[Vec<f64>]) {
    let mut bins = vec![(0.0, 0.0); 24];
    for (i, x) in weather.iter().enumerate() {
        for y in weather.iter().skip(i + 1).take(24) {
            let hours = (x[0] - y[0]).abs();
            if x[1] == y[1] && hours <= 24.0 {
                let bin = &mut bins[(hours as usize).min(23)];
                *bin = (bin.0 + 1.0, bin.1 + (x[2] - y[2]).powi(2) / 2.0);
            }
        }
    }
    assert_eq!(got.len(), bins.len());
    for (row, (count, sum)) in got.iter().zip(bins) {
        assert_eq!(row[2], count, "pairs from {} hours on", row[0]);
        if count > 0.0 {
            near(row[3], sum / count, "gamma");
        }
    }
}

/// A column for each airport: how many departures from there were late within half an hour.
fn late_by_airport(flights: &[Vec<f64>], got: &[Vec<f64>]) {
    assert_eq!(got.len(), flights.len());
    for i in (0..flights.len()).step_by(97) {
        for (airport, found) in (1..=3).zip(&got[i][1..]) {
            let is_late = |y: &&Vec<f64>| {
                y[1] == f64::from(airport) && y[3] > 60.0 && (flights[i][0] - y[0]).abs() < 0.5
            };
            let late = flights.iter().filter(is_late).count();
            assert_eq!(*found, late as f64, "departure {i}, {airport}");
        }
    }
}

/// Ordered pairs by kind, in the columns `count …`, and g from them. A distance within rounding of
/// an edge may be on either side of it.
fn radial(from: &Path, path: &Path) {
    let text = fs::read_to_string(from).unwrap();
    let atoms: Vec<(&str, Vec<f64>)> = text
        .lines()
        .skip(2)
        .map(|l| {
            let mut words = l.split_whitespace();
            let kind = words.next().unwrap();
            (kind, words.take(3).map(number).collect())
        })
        .collect();
    let wrap = |d: f64| d - 30.0 * (d / 30.0).round();
    let file = fs::read_to_string(path).unwrap();
    let header: Vec<&str> = file
        .lines()
        .find(|l| !l.starts_with('#'))
        .unwrap()
        .split(',')
        .collect();
    let bins = cells(path);
    for (from, to) in [("O", "O"), ("O", "H"), ("H", "H")] {
        let column = |what: &str| {
            let name = format!("{what} {from}-{to}");
            header.iter().position(|h| *h == name).expect(&name)
        };
        let of = |kind: &'static str| atoms.iter().filter(move |a| a.0 == kind);
        let mut distances: Vec<f64> = vec![];
        for (i, (_, a)) in of(from).enumerate() {
            let others = of(to).enumerate().filter(|(j, _)| from != to || i != *j);
            distances.extend(others.map(|(_, (_, b))| {
                let square: f64 = (0..3).map(|k| wrap(a[k] - b[k]).powi(2)).sum();
                square.sqrt()
            }));
        }
        distances.sort_unstable_by(f64::total_cmp);
        let within = |lo: f64, hi: f64| {
            let below = |v: f64| distances.partition_point(|d| *d < v);
            below(hi).saturating_sub(below(lo)) as f64
        };
        for bin in &bins {
            let [lo, hi] = [number(&bin[1]), number(&bin[2])];
            let count = number(&bin[column("count")]);
            let [least, most] = [1e-9, -1e-9].map(|e| within(lo + e, hi - e));
            assert!(
                (least..=most).contains(&count),
                "{from}-{to} at {lo}: {count}"
            );
            let shell = 4.0 / 3.0 * std::f64::consts::PI * (hi.powi(3) - lo.powi(3));
            let ideal = distances.len() as f64 / 27000.0 * shell;
            near(number(&bin[column("g")]), count / ideal, "g");
        }
    }
}

/// Means of half the squared differences of altitude, by the angle between two places.
fn variogram(places: &[Vec<f64>], got: &[Vec<f64>]) {
    let (mut sums, mut counts) = (vec![0.0; 20], vec![0.0; 20]);
    for (i, x) in places.iter().enumerate() {
        for y in &places[i + 1..] {
            let [a, b] = [x, y].map(|p| [p[0].to_radians(), p[1].to_radians()]);
            let h = ((a[0] - b[0]) / 2.0).sin().powi(2)
                + a[0].cos() * b[0].cos() * ((a[1] - b[1]) / 2.0).sin().powi(2);
            let bin = (2.0 * h.sqrt().asin() * 20.0) as usize;
            if bin < 20 {
                sums[bin] += (x[2] - y[2]).powi(2) / 2.0;
                counts[bin] += 1.0;
            }
        }
    }
    assert_eq!(got.len(), 20);
    for (bin, line) in got.iter().enumerate() {
        assert!((line[2] - counts[bin]).abs() <= 2.0, "bin {bin}");
        let mean = sums[bin] / counts[bin];
        assert!(
            (line[3] - mean).abs() <= 1e-3 * mean,
            "bin {bin}: {}",
            line[3]
        );
    }
}

fn airports(places: &[Vec<f64>], got: &[Vec<String>]) {
    let rad = |v: f64| v.to_radians();
    let angle = |a: &[f64], b: &[f64]| {
        let half = |u: f64, v: f64| (rad(u - v) / 2.0).sin().powi(2);
        2.0 * (half(a[0], b[0]) + rad(a[0]).cos() * rad(b[0]).cos() * half(a[1], b[1]))
            .sqrt()
            .asin()
    };
    for i in (0..places.len()).step_by(97) {
        let mut all: Vec<f64> = (0..places.len())
            .filter(|j| *j != i)
            .map(|j| angle(&places[i], &places[j]))
            .collect();
        all.sort_by(f64::total_cmp);
        (0..3).for_each(|k| near(number(&got[3 * i + k][3]), all[k], "airports-near.csv"));
    }
}

/// What is printed where nothing is written.
fn printed(command: &str, out: &str) {
    let says: &[&str] = match command.split_whitespace().nth(1).unwrap_or_default() {
        "explain" => &["108 962 282: ", "10 439 rows", "predicted"],
        "bench" => &["cutoff"],
        "devices" => &["cpu", "threads"],
        "metrics" => &["euclidean", "similarity"],
        "functions" => &["sum(v)", "if(c, a, b)"],
        "settings" => &["prune", "tile.rows"],
        "formats" => &[".parquet", ".bif"],
        other => panic!("nothing is known of what {other} prints"),
    };
    says.iter()
        .for_each(|word| assert!(out.contains(word), "{command}: '{word}' is not in\n{out}"));
}

/// The block that shows a mistake is what the command prints of the formula in it.
#[test]
fn the_mistake_that_is_shown_is_printed_so() {
    let readme = readme();
    let shown = readme
        .split("```\n")
        .find(|block| block.starts_with("error: "))
        .expect("README.md shows a mistake");
    let formula = shown.lines().nth(1).unwrap().trim();
    let mut reduce = std::process::Command::new(env!("CARGO_BIN_EXE_zipfold"));
    reduce
        .args(["reduce", "data/wine.csv", "--op", "sum", "--pair", formula])
        .current_dir(root());
    let run = reduce.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stderr), shown);
    assert_eq!(run.status.code(), Some(2));
}

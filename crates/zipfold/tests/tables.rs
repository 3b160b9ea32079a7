//! Joins of tables by name, matches of catalogues and silhouettes against double loops over rows.

use zipfold::internals::core::{Labels, Random, Words};
use zipfold::internals::crossmatch::{CrossMatch, Find};
use zipfold::internals::io::rows_write::Cells;
use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::silhouette::Silhouette;
use zipfold::internals::tables::{MatchedRows, TableJoin, TableKind, Ties};
use zipfold::io::{OutputOptions, ReadOptions, read_table};
use zipfold::{Blame, Budget, Options, Table};

/// A row: a word (none where empty), a whole number, a time; each perhaps a null.
#[derive(Clone, Debug)]
struct Row {
    word: &'static str,
    whole: f64,
    time: f64,
}

const WORDS: [&str; 5] = ["", "ham", "ber", "muc", "z, \"q\""];

fn rows(random: &mut Random, n: usize) -> Vec<Row> {
    let null = |random: &mut Random, value: f64| match random.below(12) {
        0 => f64::NAN,
        _ => value,
    };
    (0..n)
        .map(|_| {
            let (whole, time) = (random.below(4) as f64, random.below(40) as f64 / 4.0);
            Row {
                word: WORDS[random.below(WORDS.len())],
                whole: null(random, whole),
                time: null(random, time),
            }
        })
        .collect()
}

fn table(rows: &[Row]) -> Table {
    let items = rows.iter().flat_map(|row| [row.whole, row.time]).collect();
    let names = vec!["whole".to_string(), "time".to_string()];
    let words = Words::from_words("word", rows.iter().map(|row| row.word));
    Table::f64(rows.len(), 2, items)
        .unwrap()
        .with_names(names)
        .unwrap()
        .with_labels(Labels::new(vec![words]))
        .unwrap()
}

/// The value of a pair.
type ValueOf = dyn Fn(&Row, &Row) -> f64;

/// What a join is, as a double loop knows it.
struct Meant<'a> {
    name: &'a str,
    join: TableJoin,
    /// Whether a pair matches.
    matches: &'a dyn Fn(&Row, &Row) -> bool,
    /// What makes rows near, where nearest rows are asked.
    value: Option<&'a ValueOf>,
}

/// The rows of the answer, the slow way.
fn expected(meant: &Meant<'_>, x: &[Row], y: &[Row], same: bool) -> Vec<(u64, i64)> {
    let mut out = vec![];
    for (i, a) in x.iter().enumerate() {
        let mut found: Vec<(f64, usize)> = vec![];
        for (j, b) in y.iter().enumerate() {
            let value = meant.value.map_or(0.0, |value| value(a, b));
            if (meant.matches)(a, b) && value.is_finite() && !(same && i == j) {
                found.push((value, j));
            }
        }
        if let Some(k) = meant.join.nearest {
            found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let last = found.get(k - 1).map(|f| f.0);
            found = found
                .iter()
                .enumerate()
                .filter(|(at, f)| {
                    let tied = meant.join.ties == Ties::All && Some(f.0) == last;
                    let near = meant.join.within_distance.is_none_or(|limit| f.0 <= limit);
                    (*at < k || tied) && near
                })
                .map(|(_, f)| *f)
                .collect();
        }
        let i = i as u64;
        match meant.join.kind {
            TableKind::Inner => out.extend(found.iter().map(|f| (i, f.1 as i64))),
            TableKind::Left if found.is_empty() => out.push((i, -1)),
            TableKind::Left => out.extend(found.iter().map(|f| (i, f.1 as i64))),
            TableKind::Any => out.extend(found.first().map(|f| (i, f.1 as i64))),
            TableKind::Semi => out.extend((!found.is_empty()).then_some((i, -1))),
            TableKind::Anti => out.extend(found.is_empty().then_some((i, -1))),
        }
    }
    out
}

fn found(found: MatchedRows) -> Vec<(u64, i64)> {
    found.i.into_iter().zip(found.j).collect()
}

const KINDS: [TableKind; 5] = [
    TableKind::Inner,
    TableKind::Left,
    TableKind::Any,
    TableKind::Semi,
    TableKind::Anti,
];

#[test]
fn every_kind_with_keys_and_conditions_has_the_rows_of_a_double_loop() {
    let mut random = Random::new(7);
    let word = |a: &Row, b: &Row| !a.word.is_empty() && a.word == b.word;
    let both = |a: &Row, b: &Row| word(a, b) && a.whole == b.whole;
    let near = |a: &Row, b: &Row| (a.time - b.time).abs() < 1.5;
    // Few pairs of a key are evaluated one by one, many by an engine.
    for (n, m) in [(0, 5), (5, 0), (1, 1), (40, 61), (150, 90), (500, 400)] {
        let (x, y) = (rows(&mut random, n), rows(&mut random, m));
        for kind in KINDS {
            let join = |on: &[&str], predicate: Option<&str>| TableJoin {
                on: on.iter().map(|c| (*c).to_string()).collect(),
                predicate: predicate.map(String::from),
                kind,
                ..TableJoin::new("x", "y")
            };
            let close = "abs(x.time - y.time) < 1.5";
            let cases = [
                Meant {
                    name: "word",
                    join: join(&["word"], None),
                    matches: &word,
                    value: None,
                },
                Meant {
                    name: "two",
                    join: join(&["word", "whole"], None),
                    matches: &both,
                    value: None,
                },
                Meant {
                    name: "near",
                    join: join(&[], Some(close)),
                    matches: &near,
                    value: None,
                },
                Meant {
                    name: "word and near",
                    join: join(&["word"], Some(close)),
                    matches: &|a, b| word(a, b) && near(a, b),
                    value: None,
                },
                Meant {
                    name: "text",
                    join: join(&["whole=whole"], Some("x.word != y.word")),
                    matches: &|a, b| {
                        a.whole == b.whole
                            && !a.word.is_empty()
                            && !b.word.is_empty()
                            && a.word != b.word
                    },
                    value: None,
                },
            ];
            for meant in &cases {
                let tables = (table(&x), Some(table(&y)));
                let answer = meant
                    .join
                    .rows_of_tables(tables, &Options::default())
                    .unwrap();
                let expected = expected(meant, &x, &y, false);
                assert_eq!(found(answer), expected, "{} {kind:?} {n} {m}", meant.name);
            }
        }
    }
}

#[test]
fn nearest_rows_with_keys_conditions_ties_and_limits_are_those_of_a_double_loop() {
    let mut random = Random::new(11);
    let gap = |a: &Row, b: &Row| (a.time - b.time).abs();
    let since = |a: &Row, b: &Row| a.time - b.time;
    let word = |a: &Row, b: &Row| !a.word.is_empty() && a.word == b.word;
    for (n, m) in [(0, 3), (3, 0), (1, 1), (40, 61), (130, 150), (500, 400)] {
        let (x, y) = (rows(&mut random, n), rows(&mut random, m));
        for (k, ties, limit) in [
            (1, Ties::First, None),
            (1, Ties::All, None),
            (3, Ties::All, Some(0.5)),
            (2, Ties::First, Some(0.25)),
        ] {
            for kind in [
                TableKind::Inner,
                TableKind::Left,
                TableKind::Semi,
                TableKind::Anti,
            ] {
                let join = |on: &[&str], predicate: Option<&str>, value: &str| TableJoin {
                    on: on.iter().map(|c| (*c).to_string()).collect(),
                    predicate: predicate.map(String::from),
                    value: Some(value.to_string()),
                    nearest: Some(k),
                    ties,
                    within_distance: limit,
                    kind,
                    ..TableJoin::new("x", "y")
                };
                let apart = "abs(x.time - y.time)";
                let cases = [
                    Meant {
                        name: "gap",
                        join: join(&[], None, apart),
                        matches: &|_, _| true,
                        value: Some(&gap),
                    },
                    Meant {
                        name: "word",
                        join: join(&["word"], None, apart),
                        matches: &word,
                        value: Some(&gap),
                    },
                    Meant {
                        name: "as of",
                        join: join(&["word"], Some("y.time <= x.time"), "x.time - y.time"),
                        matches: &|a, b| word(a, b) && b.time <= a.time,
                        value: Some(&since),
                    },
                ];
                for meant in &cases {
                    let tables = (table(&x), Some(table(&y)));
                    let answer = meant
                        .join
                        .rows_of_tables(tables, &Options::default())
                        .unwrap();
                    let expected = expected(meant, &x, &y, false);
                    assert_eq!(
                        found(answer),
                        expected,
                        "{} {kind:?} {ties:?} {k} {n} {m}",
                        meant.name
                    );
                }
            }
        }
    }
}

#[test]
fn a_table_with_itself_has_each_pair_once_where_the_condition_is_symmetric() {
    let mut random = Random::new(3);
    let x = rows(&mut random, 70);
    let near = |a: &Row, b: &Row| (a.time - b.time).abs() < 1.0;
    let before = |a: &Row, b: &Row| a.time < b.time;
    let word = |a: &Row, b: &Row| !a.word.is_empty() && a.word == b.word;
    let join = |on: &[&str], predicate: Option<&str>, kind: TableKind| TableJoin {
        on: on.iter().map(|c| (*c).to_string()).collect(),
        predicate: predicate.map(String::from),
        kind,
        ..TableJoin::of_one("x")
    };
    let close = Some("abs(x.time - y.time) < 1");
    for kind in KINDS {
        let cases: [(Meant<'_>, bool); 5] = [
            (
                Meant {
                    name: "near",
                    join: join(&[], close, kind),
                    matches: &near,
                    value: None,
                },
                true,
            ),
            (
                Meant {
                    name: "before",
                    join: join(&["word"], Some("x.time < y.time"), kind),
                    matches: &|a, b| word(a, b) && before(a, b),
                    value: None,
                },
                false,
            ),
            (
                Meant {
                    name: "word",
                    join: join(&["word"], None, kind),
                    matches: &word,
                    value: None,
                },
                true,
            ),
            (
                Meant {
                    name: "nearest",
                    join: TableJoin {
                        nearest: Some(2),
                        value: Some("abs(x.time - y.time)".into()),
                        kind,
                        ties: Ties::All,
                        ..join(&[], None, kind)
                    },
                    matches: &|_, _| true,
                    value: Some(&|a: &Row, b: &Row| (a.time - b.time).abs()),
                },
                false,
            ),
            (
                Meant {
                    name: "nearest of a word",
                    join: TableJoin {
                        nearest: Some(2),
                        value: Some("abs(x.time - y.time)".into()),
                        ties: Ties::First,
                        ..join(&["word"], None, kind)
                    },
                    matches: &word,
                    value: Some(&|a: &Row, b: &Row| (a.time - b.time).abs()),
                },
                false,
            ),
        ];
        for (meant, symmetric) in &cases {
            if meant.join.nearest.is_some() && kind == TableKind::Any {
                continue;
            }
            let answer = meant
                .join
                .rows_of_tables((table(&x), None), &Options::default())
                .unwrap();
            let mut expected = expected(meant, &x, &x, true);
            if *symmetric && kind == TableKind::Inner {
                expected.retain(|(i, j)| (*i as i64) < *j);
            }
            assert_eq!(found(answer), expected, "{} {kind:?}", meant.name);
        }
    }
}

/// Values of pairs of equal keys without a condition, by few keys with many rows and by many keys.
#[test]
fn pairs_of_equal_keys_have_values_without_a_condition() {
    let mut random = Random::new(21);
    for (n, m) in [(0, 4), (60, 50), (700, 900)] {
        let (x, y) = (rows(&mut random, n), rows(&mut random, m));
        for (on, value) in [
            ("word", "x.time - 2 * y.time"),
            ("whole", "x.time - 2 * y.time"),
        ] {
            for kind in [TableKind::Inner, TableKind::Left, TableKind::Any] {
                let join = TableJoin {
                    on: vec![on.into()],
                    value: Some(value.into()),
                    kind,
                    ..TableJoin::new("x", "y")
                };
                let tables = (table(&x), Some(table(&y)));
                let answer = join.rows_of_tables(tables, &Options::default()).unwrap();
                assert!(answer.columns.iter().any(|(name, ..)| name == "value"));
                let same = |a: &Row, b: &Row| match on {
                    "word" => !a.word.is_empty() && a.word == b.word,
                    _ => a.whole == b.whole,
                };
                let meant = Meant {
                    name: on,
                    join,
                    matches: &same,
                    value: None,
                };
                for ((i, j), value) in answer.i.iter().zip(&answer.j).zip(&answer.values) {
                    let wanted = match usize::try_from(*j) {
                        Ok(j) => x[*i as usize].time - 2.0 * y[j].time,
                        Err(_) => f64::NAN,
                    };
                    assert!(
                        *value == wanted || value.is_nan() && wanted.is_nan(),
                        "{on} {kind:?} {i} {j}: {value} instead of {wanted}"
                    );
                }
                assert_eq!(
                    found(answer),
                    expected(&meant, &x, &y, false),
                    "{on} {kind:?}"
                );
            }
        }
    }
}

#[test]
fn rows_are_the_same_in_a_small_budget_with_any_threads_and_in_any_format() {
    let mut random = Random::new(5);
    let (mut x, mut y) = (rows(&mut random, 3000), rows(&mut random, 2000));
    // A text file says by its first rows which columns are text.
    for row in [&mut x[0], &mut y[0]] {
        (row.word, row.time) = ("ham", 5.0);
    }
    let join = TableJoin {
        predicate: Some("abs(x.time - y.time) < 3".into()),
        select: vec!["x.word, y.word as other, x.whole, x.time - y.time as gap".into()],
        ..TableJoin::new("x", "y")
    };
    let tables = || (table(&x), Some(table(&y)));
    let whole = join.of_tables(tables(), &Options::default()).unwrap();
    assert!(whole.rows > 1_000_000, "{}", whole.rows);
    let folder = std::env::temp_dir().join(format!("zipfold-tables-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (threads, suffix) in [(1, "csv"), (3, "parquet"), (2, "tsv")] {
        let path = folder.join(format!("rows.{suffix}"));
        let path = path.to_string_lossy();
        let budget = Budget::new(24 << 20);
        let options = Options {
            threads,
            budget: budget.clone(),
            ..Options::default()
        };
        let how = OutputOptions {
            force: true,
            ..OutputOptions::default()
        };
        let told = join.write_tables(tables(), &path, how, &options).unwrap();
        assert_eq!(told.rows, whole.rows);
        let back = read_table(&path, &ReadOptions::default(), &Budget::new(1 << 30)).unwrap();
        assert_eq!(back.rows() as u64, whole.rows);
        for (name, at) in [("whole", 2), ("gap", 3)] {
            let column = back.column(name).unwrap();
            let (Cells::Numbers(values) | Cells::Whole(values)) = &whole.columns[at].cells else {
                panic!("{name} holds no numbers");
            };
            let same = (0..back.rows()).all(|row| {
                let (a, b) = (back.get(row, column), values[row]);
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
            });
            assert!(same, "{name} of {suffix}");
        }
        let words = back.labels().unwrap().columns();
        for (name, at) in [("word", 0), ("other", 1)] {
            let words = words.iter().find(|w| w.name == name).unwrap();
            let cells = &whole.columns[at].cells;
            assert!(
                (0..back.rows()).all(|row| words.get(row) == cells.word(row)),
                "{name} of {suffix}"
            );
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn names_of_columns_say_their_table_where_both_have_them() {
    let x = rows(&mut Random::new(1), 4);
    let names = |select: &[&str]| {
        let join = TableJoin {
            on: vec!["word".into()],
            select: select.iter().map(|s| (*s).to_string()).collect(),
            ..TableJoin::new("x", "y")
        };
        let answer = join.of_tables((table(&x), Some(table(&x))), &Options::default());
        answer.map(|a| a.names().into_iter().map(String::from).collect::<Vec<_>>())
    };
    let all = ["x.whole", "x.time", "x.word", "y.whole", "y.time", "y.word"];
    assert_eq!(names(&[]).unwrap(), all);
    assert_eq!(names(&["x.time", "y.word"]).unwrap(), ["time", "word"]);
    assert_eq!(
        names(&["x.time,y.time as other"]).unwrap(),
        ["time", "other"]
    );
    assert_eq!(names(&["x.time", "y.time"]).unwrap(), ["x.time", "y.time"]);
    let twice = names(&["x.time as t", "y.time as t"]).unwrap_err();
    assert!(
        twice
            .to_string()
            .contains("two columns of the output are called 't'"),
        "{twice}"
    );
    let none = names(&["x.tine"]).unwrap_err();
    assert!(
        none.to_string().contains("one of whole, time, word"),
        "{none}"
    );
    assert_eq!(none.blame(), Blame::Request);
}

fn sky_table(points: &[[f64; 2]]) -> Table {
    let names = vec!["ra".to_string(), "dec".to_string()];
    Table::f64(points.len(), 2, points.concat())
        .unwrap()
        .with_names(names)
        .unwrap()
}

/// The haversine of two positions in degrees, in arcseconds.
fn apart(a: &[f64; 2], b: &[f64; 2]) -> f64 {
    let [dra, ddec] = [0, 1].map(|at| ((a[at] - b[at]).to_radians() / 2.0).sin().powi(2));
    let cosines = a[1].to_radians().cos() * b[1].to_radians().cos();
    2.0 * (ddec + cosines * dra).sqrt().min(1.0).asin() * 648_000.0 / std::f64::consts::PI
}

#[test]
fn matches_on_the_sky_are_those_of_a_double_loop() {
    let mut random = Random::new(9);
    // Clumps of a few arcseconds, at the poles and across 0 h too.
    let mut points = |n: usize| -> Vec<[f64; 2]> {
        let clump = |random: &mut Random| {
            let (ra, dec) =
                [(0.0, 0.0), (10.0, 40.0), (123.0, 89.999), (300.0, -90.0)][random.below(4)];
            let (dra, ddec) = (random.unit() * 0.004 - 0.002, random.unit() * 0.004 - 0.002);
            let ra: f64 = ra + dra;
            [ra.rem_euclid(360.0), (dec + ddec).clamp(-90.0, 90.0)]
        };
        (0..n).map(|_| clump(&mut random)).collect()
    };
    for (n, m) in [(0, 4), (4, 0), (1, 1), (150, 220)] {
        let (a, b) = (points(n), points(m));
        let near = |from: &[[f64; 2]], to: &[[f64; 2]], i: usize| {
            let by = |j: &usize, k: &usize| {
                apart(&from[i], &to[*j]).total_cmp(&apart(&from[i], &to[*k]))
            };
            (0..to.len()).min_by(by)
        };
        for (find, radius) in [
            (Find::All, 3.0),
            (Find::Nearest, 3.0),
            (Find::Mutual, 3.0),
            (Find::All, 0.5),
        ] {
            let asked = CrossMatch {
                radius: Some(radius),
                find,
                ..CrossMatch::new("a", "b")
            };
            let answer = asked
                .rows_of_tables((sky_table(&a), sky_table(&b)), &Options::default())
                .unwrap();
            let mut expected = vec![];
            for i in 0..n {
                for j in 0..m {
                    let keeps = match find {
                        Find::All => true,
                        Find::Nearest => near(&a, &b, i) == Some(j),
                        Find::Mutual => near(&a, &b, i) == Some(j) && near(&b, &a, j) == Some(i),
                    };
                    if keeps && apart(&a[i], &b[j]) <= radius {
                        expected.push((i as u64, j as i64));
                    }
                }
            }
            for ((i, j), value) in answer.i.iter().zip(&answer.j).zip(&answer.values) {
                let error = value - apart(&a[*i as usize], &b[*j as usize]);
                assert!(error.abs() < 1e-8, "{error}");
            }
            assert_eq!(found(answer), expected, "{find:?} {radius} {n} {m}");
        }
    }
}

#[test]
fn positions_that_are_none_are_refused_with_their_row() {
    let good = [[1.0, 2.0], [3.0, 4.0]];
    let told = |bad: [f64; 2]| {
        let asked = CrossMatch {
            radius: Some(1.0),
            ..CrossMatch::new("a.csv", "b.csv")
        };
        let tables = (sky_table(&good), sky_table(&[[1.0, 2.0], bad]));
        asked
            .rows_of_tables(tables, &Options::default())
            .unwrap_err()
            .to_string()
    };
    for (bad, what) in [
        ([1.0, 91.0], "declinations from -90 to 90 degrees, got 91"),
        (
            [361.0, 1.0],
            "right ascensions from -180 to 360 degrees, got 361",
        ),
        (
            [f64::NAN, 1.0],
            "expected finite positions, got NaN in row 1",
        ),
    ] {
        let text = told(bad);
        assert!(text.contains(what) && text.contains("b.csv"), "{text}");
    }
}

#[test]
fn silhouettes_are_those_of_a_double_loop() {
    let mut random = Random::new(21);
    for (n, groups) in [(3, 2), (60, 4), (200, 7), (301, 2)] {
        let labels: Vec<usize> = (0..n)
            .map(|at| {
                if at < groups {
                    at
                } else {
                    random.below(groups)
                }
            })
            .collect();
        let points: Vec<[f64; 2]> = labels
            .iter()
            .map(|l| [*l as f64 + random.unit(), random.unit()])
            .collect();
        let items = points
            .iter()
            .zip(&labels)
            .flat_map(|(p, l)| [p[0], p[1], *l as f64 * 2.5])
            .collect();
        let names = ["a", "b", "kind"].map(String::from).to_vec();
        let table = Table::f64(n, 3, items).unwrap().with_names(names).unwrap();
        let answer = Silhouette::new("rows", "kind")
            .of_table(table, &Options::default())
            .unwrap();
        let far =
            |i: usize, j: usize| (points[i][0] - points[j][0]).hypot(points[i][1] - points[j][1]);
        let mean = |i: usize, group: usize| {
            let others: Vec<f64> = (0..n)
                .filter(|j| *j != i && labels[*j] == group)
                .map(|j| far(i, j))
                .collect();
            others.iter().sum::<f64>() / others.len() as f64
        };
        let mut total = 0.0;
        for (i, label) in labels.iter().enumerate() {
            let a = mean(i, *label);
            let b = (0..groups)
                .filter(|g| g != label)
                .map(|g| mean(i, g))
                .fold(f64::INFINITY, f64::min);
            let s = if a.is_nan() { 0.0 } else { (b - a) / a.max(b) };
            assert!(
                (answer.values[i] - s).abs() < 1e-13,
                "{n} {groups} row {i}: {} for {s}",
                answer.values[i]
            );
            total += s;
        }
        assert!((answer.mean - total / n as f64).abs() < 1e-13);
        assert_eq!(answer.groups.len(), groups);
    }
}

#[test]
fn a_budget_of_any_size_gives_all_rows_or_a_refusal() {
    let mut random = Random::new(11);
    let (x, y) = (rows(&mut random, 1200), rows(&mut random, 1000));
    let join = TableJoin {
        predicate: Some("abs(x.time - y.time) < 3".into()),
        select: vec!["x.time".into()],
        ..TableJoin::new("x", "y")
    };
    let tables = || (table(&x), Some(table(&y)));
    let whole = join.of_tables(tables(), &Options::default()).unwrap();
    assert!(whole.rows > 400_000, "{}", whole.rows);
    let (mut refused, mut answered) = (0, 0);
    for half in 1..64 {
        let options = || Options {
            budget: Budget::new(half << 19),
            ..Options::default()
        };
        let cells = join.of_tables(tables(), &options());
        let cells = cells.map(|answer| (answer.rows, answer.columns[0].cells.len() as u64));
        let numbers = join.rows_of_tables(tables(), &options());
        let numbers = numbers.map(|found| (found.i.len() as u64, found.j.len() as u64));
        for answer in [cells, numbers] {
            match answer {
                Ok(rows) => {
                    assert_eq!(rows, (whole.rows, whole.rows), "{half} halves of a MiB");
                    answered += 1;
                }
                Err(e) => {
                    assert_eq!(e.blame(), Blame::Resource, "{e}");
                    refused += 1;
                }
            }
        }
    }
    assert!(
        refused > 5 && answered > 5,
        "{refused} refused, {answered} answered"
    );
}

#[test]
fn formulas_of_a_join_without_a_match_are_empty_columns() {
    let x = rows(&mut Random::new(1), 4);
    let join = TableJoin {
        predicate: Some("x.time > y.time + 1000".into()),
        select: vec!["x.word, x.time - y.time as gap".into()],
        ..TableJoin::new("x", "y")
    };
    let found = join.rows_of_tables((table(&x), Some(table(&x))), &Options::default());
    let found = found.unwrap();
    assert_eq!((found.i.len(), found.formulas), (0, vec![vec![]]));
}

#[test]
fn a_key_without_a_value_has_no_kind_and_matches_nothing() {
    let named = |rows: usize| {
        let items = vec![f64::NAN; 2 * rows];
        let names = vec!["word".to_string(), "time".to_string()];
        Table::f64(rows, 2, items)
            .unwrap()
            .with_names(names)
            .unwrap()
    };
    let x = rows(&mut Random::new(3), 9);
    for (y, kind) in [0, 4].into_iter().flat_map(|y| KINDS.map(|kind| (y, kind))) {
        let join = TableJoin {
            on: vec!["word".into()],
            kind,
            ..TableJoin::new("x", "y")
        };
        let all = if matches!(kind, TableKind::Left | TableKind::Anti) {
            9
        } else {
            0
        };
        let there = join.of_tables((table(&x), Some(named(y))), &Options::default());
        assert_eq!(there.unwrap().rows, all, "{kind:?} of {y}");
        let back = join.of_tables((named(y), Some(table(&x))), &Options::default());
        let all = if all == 0 { 0 } else { y as u64 };
        assert_eq!(back.unwrap().rows, all, "{kind:?} of {y}, exchanged");
    }
}

#[test]
fn wrong_columns_of_positions_are_told_with_their_option() {
    let tables = || (sky_table(&[[1.0, 2.0]]), sky_table(&[[1.0, 2.0]]));
    let told = |columns: &[&str], columns2: &[&str], sky| {
        let named = |names: &[&str]| Some(names.iter().map(|n| (*n).to_string()).collect());
        let asked = CrossMatch {
            columns: named(columns),
            columns2: named(columns2),
            sky,
            ..CrossMatch::new("a", "b")
        };
        let answer = asked.rows_of_tables(tables(), &Options::default());
        answer.unwrap_err().to_string()
    };
    let (good, one) = (&["ra", "dec"][..], &["ra"][..]);
    let text = told(good, one, true);
    assert!(
        text.contains("columns2") && text.contains("angles"),
        "{text}"
    );
    let text = told(one, good, true);
    assert!(
        !text.contains("columns2") && text.contains("angles"),
        "{text}"
    );
    let text = told(good, one, false);
    assert!(
        text.contains("columns2") && !text.contains("angle"),
        "{text}"
    );
    let text = told(good, &[], false);
    assert!(
        text.contains("columns2") && !text.contains("angle"),
        "{text}"
    );
    let text = told(good, &["ra", "none"], false);
    assert!(text.contains("columns2") && text.contains("none"), "{text}");
}

#[test]
fn ties_of_equal_rows_are_refused_where_memory_does_not_hold_them() {
    let equal = || Table::f64(1500, 1, vec![2.0; 1500]).unwrap();
    let join = TableJoin {
        nearest: Some(1),
        ties: Ties::All,
        ..TableJoin::new("x", "y")
    };
    let run = |mib: u64| {
        let budget = Budget::new(mib << 20);
        let options = Options {
            budget: budget.clone(),
            ..Options::default()
        };
        let answer = join.rows_of_tables((equal(), Some(equal())), &options);
        (answer.map(|found| found.i.len()), budget.peak())
    };
    let (all, peak) = run(4096);
    assert_eq!(all.unwrap(), 2_250_000);
    // The lists of the rows take 32 bytes for each match, and the answer of three columns 48.
    assert!(peak >= 2_250_000 * 80, "{peak}");
    let (refused, _) = run(8);
    assert_eq!(refused.unwrap_err().blame(), Blame::Resource);
}

#[test]
fn plans_say_whether_pairs_of_keys_are_evaluated_one_by_one() {
    let keyed = |heavy: usize, rows: usize| {
        let key = |row: usize| row.saturating_sub(heavy) as f64;
        let items = (0..rows).flat_map(|row| [key(row), row as f64]).collect();
        let names = vec!["key".to_string(), "time".to_string()];
        Table::f64(rows, 2, items)
            .unwrap()
            .with_names(names)
            .unwrap()
    };
    let join = TableJoin {
        on: vec!["key".into()],
        predicate: Some("x.time < y.time".into()),
        ..TableJoin::new("x", "y")
    };
    let told = |heavy: usize| {
        let tables = (keyed(heavy, 20_000), Some(keyed(heavy, 20_000)));
        let plan = join.explain_tables(tables, &Options::default()).unwrap();
        plan.to_string().contains("one by one")
    };
    assert!(told(1));
    // 9 million pairs of one key are for an engine, although 17 000 keys have a pair each.
    assert!(!told(3000));
}

#[test]
fn a_join_of_keys_ends_when_it_is_told_to() {
    let x = rows(&mut Random::new(4), 300);
    let stop = std::sync::atomic::AtomicBool::new(true);
    let options = Options {
        stop: Some(&stop),
        ..Options::default()
    };
    for predicate in [None, Some("x.time < y.time".to_string())] {
        let join = TableJoin {
            on: vec!["word".into(), "whole".into()],
            predicate,
            ..TableJoin::new("x", "y")
        };
        let answer = join.of_tables((table(&x), Some(table(&x))), &options);
        assert_eq!(answer.unwrap_err().blame(), Blame::Interrupted);
    }
}

#[test]
fn nearest_rows_and_ties_come_in_parts_where_memory_does_not_hold_all() {
    let mut random = Random::new(31);
    let places: Vec<f64> = (0..80_000).map(|_| random.below(40) as f64).collect();
    let names = || ["a", "b"].map(String::from).to_vec();
    let table = || {
        let table = Table::f64(40_000, 2, places.clone()).unwrap();
        table.with_names(names()).unwrap()
    };
    let path = std::env::temp_dir().join(format!("zipfold-parts-{}.csv", std::process::id()));
    let path = path.to_string_lossy();
    for (same, ties, nearest) in [
        (true, Ties::All, 2),
        (false, Ties::All, 2),
        (true, Ties::First, 40),
    ] {
        let join = TableJoin {
            y: (!same).then(|| "y".into()),
            nearest: Some(nearest),
            ties,
            ..TableJoin::new("x", "y")
        };
        let written = |mib: u64| {
            let options = Options {
                budget: Budget::new(mib << 20),
                ..Options::default()
            };
            let how = OutputOptions {
                force: true,
                ..OutputOptions::default()
            };
            let tables = (table(), (!same).then(table));
            let told = join.write_tables(tables, &path, how, &options)?;
            let text = std::fs::read_to_string(&*path).unwrap();
            Ok::<_, zipfold::Error>((told.rows, text, options.budget.peak()))
        };
        let (rows, whole, peak) = written(4096).unwrap();
        assert!(rows > 800_000, "{rows}");
        // A quarter of what the whole lists take.
        let (count, text, _) = written((peak >> 22).max(8)).unwrap();
        assert_eq!(count, rows, "{same} {ties:?}");
        assert!(text == whole, "{same} {ties:?}: other rows");
    }
    std::fs::remove_file(&*path).unwrap();
}

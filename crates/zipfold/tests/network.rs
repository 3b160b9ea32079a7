//! Networks of rows that go together, against double loops over pairs.

use zipfold::internals::association::{
    Association, AssociationNetwork, Dense, Expression, Measure, PowerSpec, Sign,
};
use zipfold::internals::core::Random;
use zipfold::{Budget, Options, Result, Table};

/// Rows of values with gaps; rows that share a part, rows that never vary, and rows that repeat.
fn table(rows: usize, samples: usize, missing: f64, steps: f64) -> Table {
    let mut random = Random::new(17);
    let mut values: Vec<f64> = vec![];
    let shared: Vec<f64> = (0..samples).map(|_| random.unit()).collect();
    for row in 0..rows {
        let part = random.unit();
        for (at, shared) in shared.iter().enumerate() {
            let value = part * shared + (1.0 - part) * random.unit();
            let value = match row % 11 {
                5 => 0.1,
                7 => values[(row - 1) * samples + at],
                _ => (value * steps).floor() / steps,
            };
            let gone = random.unit() < missing;
            values.push(if gone { f64::NAN } else { value });
        }
    }
    Table::f64(rows, samples, values).expect("rows")
}

fn asked(measure: Measure) -> Association {
    Association {
        measure,
        ..Association::new("genes")
    }
}

fn network(asked: &Association, table: &Table, threads: usize) -> Result<AssociationNetwork> {
    let options = Options {
        threads,
        ..Options::default()
    };
    let rows = Expression::new(table, asked, &options.budget)?;
    asked.network(&rows, &options)
}

/// Samples that two rows have.
fn common(table: &Table, i: usize, j: usize) -> (Vec<f64>, Vec<f64>) {
    let pairs = (0..table.cols()).map(|s| (table.get(i, s), table.get(j, s)));
    pairs.filter(|(a, b)| !a.is_nan() && !b.is_nan()).unzip()
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |a: &f64| values.iter().filter(|b| *b < a).count() as f64;
    let equal = |a: &f64| values.iter().filter(|b| *b == a).count() as f64;
    let one = |a: &f64| below(a) + (equal(a) + 1.0) / 2.0;
    values.iter().map(one).collect()
}

fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let flat = |v: &[f64]| v.iter().all(|a| *a == v[0]);
    if x.is_empty() || flat(x) || flat(y) {
        return f64::NAN;
    }
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (a, b) = (mean(x), mean(y));
    let sum = |u: &[f64], a: f64, v: &[f64], b: f64| -> f64 {
        u.iter().zip(v).map(|(u, v)| (u - a) * (v - b)).sum()
    };
    sum(x, a, y, b) / (sum(x, a, x, a) * sum(y, b, y, b)).sqrt()
}

fn kendall(x: &[f64], y: &[f64]) -> f64 {
    let sign = |v: f64| f64::from(i8::from(v > 0.0) - i8::from(v < 0.0));
    let (mut both, mut in_x, mut in_y) = (0.0, 0.0, 0.0);
    for s in 0..x.len() {
        for t in 0..s {
            let (a, b) = (sign(x[s] - x[t]), sign(y[s] - y[t]));
            both += a * b;
            in_x += a * a;
            in_y += b * b;
        }
    }
    both / f64::sqrt(in_x) / f64::sqrt(in_y)
}

#[test]
fn values_are_those_of_a_double_loop() {
    for (rows, samples, missing, steps) in [
        (0, 4, 0.1, 9.0),
        (1, 4, 0.0, 9.0),
        (9, 1, 0.0, 9.0),
        (9, 3, 0.4, 2.0),
        (40, 23, 0.0, 4.0),
        (40, 37, 0.1, 1e9),
        (30, 90, 0.7, 5.0),
    ] {
        let table = table(rows, samples, missing, steps);
        for (measure, define) in [
            (Measure::Pearson, pearson as fn(&[f64], &[f64]) -> f64),
            (Measure::Spearman, |x, y| pearson(&ranks(x), &ranks(y))),
            (Measure::Kendall, kendall),
        ] {
            let found = network(&asked(measure), &table, 2).expect("a network");
            let mut edges = found.edges.i.iter().zip(&found.edges.j);
            let mut at = 0;
            for i in 0..rows {
                for j in i + 1..rows {
                    let (x, y) = common(&table, i, j);
                    let value = define(&x, &y);
                    if x.len() < 3 || value.is_nan() {
                        continue;
                    }
                    assert_eq!(edges.next(), Some((&(i as i64), &(j as i64))));
                    assert!((found.edges.values[at] - value).abs() < 1e-12);
                    assert_eq!(found.edges.counts[at], x.len() as u64);
                    at += 1;
                }
            }
            assert_eq!((edges.next(), found.tested), (None, at as u64));
        }
    }
}

/// Discoveries by a sort of all p-values: edges and q-values.
fn sorted(all: &AssociationNetwork, rate: f64) -> Vec<(usize, f64)> {
    let p = all.edges.p.as_ref().expect("p-values");
    let m = p.len() as f64;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let last = (0..order.len()).rfind(|k| p[order[*k]] <= (k + 1) as f64 / m * rate);
    let mut found: Vec<(usize, f64)> = vec![];
    let mut q: f64 = 1.0;
    for k in (0..last.map_or(0, |last| last + 1)).rev() {
        q = q.min(p[order[k]] / ((k + 1) as f64 / m));
        found.push((order[k], q));
    }
    found.sort_by_key(|(at, _)| *at);
    found
}

#[test]
fn discoveries_are_those_of_a_sort_of_all_pairs() {
    // Ties of p, few samples, gaps, and rows that repeat; p of 1 of all, and of 0.
    for (rows, samples, missing, steps) in [
        (60, 4, 0.0, 3.0),
        (60, 12, 0.2, 2.0),
        (80, 40, 0.05, 1e9),
        (80, 40, 0.0, 1e9),
        (12, 3, 0.0, 2.0),
        (2, 30, 0.0, 1e9),
        (1, 30, 0.0, 1e9),
    ] {
        let table = table(rows, samples, missing, steps);
        for measure in Measure::ALL {
            let every = Association {
                permutations: if measure == Measure::Mi { 19 } else { 0 },
                ..asked(measure)
            };
            let all = network(&every, &table, 1).expect("a network");
            for rate in [0.0, 1e-12, 0.01, 0.05, 0.3, 1.0] {
                let with_rate = Association {
                    fdr: Some(rate),
                    ..every.clone()
                };
                let found = network(&with_rate, &table, 2).expect("a network");
                let wanted = sorted(&all, rate);
                let place = |at: usize| (all.edges.i[at], all.edges.j[at]);
                let places: Vec<(i64, i64)> = wanted.iter().map(|(at, _)| place(*at)).collect();
                let edges = found.edges.i.iter().zip(&found.edges.j);
                let edges: Vec<(i64, i64)> = edges.map(|(i, j)| (*i, *j)).collect();
                assert_eq!(edges, places, "{measure:?} {rows} {samples} {rate}");
                let q: Vec<f64> = wanted.iter().map(|(_, q)| *q).collect();
                assert_eq!(found.edges.q.as_ref(), Some(&q));
                assert_eq!(found.tested, all.tested);
                // A threshold leaves out edges, and no discovery that ranks are counted from.
                let large = Association {
                    threshold: Some(0.4),
                    ..with_rate.clone()
                };
                let large = network(&large, &table, 2).expect("a network");
                let above = |at: &usize| found.edges.values[*at].abs() >= 0.4;
                let above: Vec<usize> = (0..edges.len()).filter(above).collect();
                let q: Vec<f64> = above.iter().map(|at| q[*at]).collect();
                let i: Vec<i64> = above.iter().map(|at| found.edges.i[*at]).collect();
                assert_eq!((large.edges.q, large.edges.i), (Some(q), i));
            }
        }
    }
}

#[test]
fn threads_and_strips_change_no_bit() {
    // 1 500 rows need several strips.
    let table = table(1500, 12, 0.05, 50.0);
    for measure in [Measure::Spearman, Measure::Mi] {
        let question = Association {
            top: Some(3),
            powers: vec![2.0, 6.0],
            ..asked(measure)
        };
        let question = match measure {
            Measure::Mi => Association {
                powers: vec![],
                ..question
            },
            _ => question,
        };
        let one = network(&question, &table, 1).expect("a network");
        let two = network(&question, &table, 2).expect("a network");
        assert_eq!((&one.edges, &one.fits), (&two.edges, &two.fits));
        assert!(
            one.degrees()
                .iter()
                .zip(0..)
                .all(|(d, row)| *d >= 3 || row % 11 == 5)
        );
    }
}

#[test]
fn permutations_are_counted() {
    let table = table(12, 9, 0.1, 1e9);
    let question = Association {
        permutations: 50,
        ..asked(Measure::Pearson)
    };
    let found = network(&question, &table, 1).expect("a network");
    let p = found.edges.p.as_ref().expect("p-values");
    // The orders are those of the seed, so p are shares of 51 and follow the values.
    assert!(
        p.iter()
            .all(|p| (p * 51.0 - (p * 51.0).round()).abs() < 1e-9 && *p > 0.0)
    );
    let strong = found
        .edges
        .values
        .iter()
        .zip(p)
        .filter(|(r, _)| r.abs() > 0.95);
    assert!(strong.clone().count() > 0 && strong.clone().all(|(_, p)| *p < 0.1));
    let again = network(&question, &table, 2).expect("a network");
    assert_eq!(again.edges, found.edges);
    let other = Association {
        seed: 2,
        ..question
    };
    assert_ne!(
        network(&other, &table, 1).expect("a network").edges,
        found.edges
    );
}

#[test]
fn weak_edges_of_triangles_go() {
    let table = table(30, 60, 0.0, 1e9);
    let every = Association {
        threshold: Some(0.2),
        ..asked(Measure::Pearson)
    };
    let all = network(&every, &table, 1).expect("a network");
    let pruned = Association {
        prune: Some(0.1),
        ..every
    };
    let found = network(&pruned, &table, 1).expect("a network");
    let value = |i: i64, j: i64| {
        let (i, j) = (i.min(j), i.max(j));
        let at = (0..all.edges.i.len()).find(|at| (all.edges.i[*at], all.edges.j[*at]) == (i, j));
        at.map(|at| all.edges.values[at].abs())
    };
    let stays = |i: i64, j: i64, own: f64| {
        (0..30).all(|k| match (value(i, k), value(j, k)) {
            (Some(a), Some(b)) => own >= 0.9 * a.min(b),
            _ => true,
        })
    };
    let edges = &all.edges;
    let wanted: Vec<(i64, i64)> = (0..edges.i.len())
        .filter(|at| stays(edges.i[*at], edges.j[*at], edges.values[*at].abs()))
        .map(|at| (edges.i[at], edges.j[at]))
        .collect();
    let left: Vec<(i64, i64)> = found
        .edges
        .i
        .iter()
        .copied()
        .zip(found.edges.j.iter().copied())
        .collect();
    assert!(wanted.len() < edges.i.len() && !wanted.is_empty());
    assert_eq!(left, wanted);
}

#[test]
fn overlaps_are_those_of_the_definition() {
    let n = 25;
    let table = table(n, 20, 0.1, 1e9);
    let question = Association {
        power: Some(PowerSpec::Given(3.0)),
        sign: Sign::Signed,
        ..asked(Measure::Bicor)
    };
    let options = Options::default();
    let rows = Expression::new(&table, &question, &options.budget).expect("rows");
    let dense = |what: Dense| {
        question
            .matrix(&rows, what, Some(3.0), &options)
            .expect("a matrix")
    };
    let (r, a, tom) = (
        dense(Dense::Values),
        dense(Dense::Weights),
        dense(Dense::Overlaps),
    );
    let (r, a, tom) = (r.values(), a.values(), tom.values());
    let weight = |i: usize, j: usize| if i == j { 0.0 } else { a[i * n + j] };
    let degree = |i: usize| (0..n).map(|u| weight(i, u)).sum::<f64>();
    for i in 0..n {
        for j in (0..n).filter(|j| *j != i) {
            let base = 0.5 * (1.0 + r[i * n + j]);
            let wanted = if base.is_nan() { 0.0 } else { base.powi(3) };
            assert!((a[i * n + j] - wanted).abs() < 1e-15);
            let shared: f64 = (0..n).map(|u| weight(i, u) * weight(u, j)).sum();
            let own = weight(i, j);
            let overlap = (shared + own) / (degree(i).min(degree(j)) + 1.0 - own);
            assert!((tom[i * n + j] - overlap).abs() < 1e-14);
        }
    }
}

#[test]
fn bad_tables_are_refused() {
    let names = |words: &[&str]| {
        let words = zipfold::internals::core::Words::from_words("gene", words.iter().copied());
        zipfold::internals::core::Labels::new(vec![words])
    };
    let rows = || Table::f64(2, 3, vec![1.0, 2.0, 3.0, 3.0, 1.0, 2.0]).expect("rows");
    let twice = rows()
        .with_labels(names(&["TP53", "TP53"]))
        .expect("labels");
    let error = network(&asked(Measure::Pearson), &twice, 1).expect_err("equal names");
    assert!(
        error.to_string().contains("'TP53' in rows 0 and 1"),
        "{error}"
    );
    let far = Table::f64(1, 2, vec![f64::INFINITY, 1.0]).expect("a row");
    let error = network(&asked(Measure::Pearson), &far, 1).expect_err("an infinite value");
    assert!(error.to_string().contains("got inf"), "{error}");
    let options = Options {
        budget: Budget::new(2 << 20),
        ..Options::default()
    };
    let many = table(900, 5, 0.0, 1e9);
    let question = asked(Measure::Kendall);
    let rows = Expression::new(&many, &question, &options.budget).expect("rows");
    let error = question
        .network(&rows, &options)
        .expect_err("a small memory");
    assert_eq!(error.blame(), zipfold::Blame::Resource);
}

#[test]
fn rows_without_edges_are_told() {
    let options = Options::default();
    let table = table(12, 8, 0.0, 1e9);
    let question = asked(Measure::Spearman);
    let rows = Expression::new(&table, &question, &options.budget).expect("rows");
    let found = question.network(&rows, &options).expect("a network");
    assert_eq!(found.constant, 1);
    let told = options.warnings.all();
    assert_eq!(told[0].to_string(), "1 row never varies: no edges");
}

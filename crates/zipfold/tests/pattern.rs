//! Ripley's functions and co-occurrence next to double loops over pairs.

use std::f64::consts::PI;
use zipfold::internals::core::Random;
use zipfold::internals::one_table::TableQuestion;
use zipfold::internals::pattern::{Cooccurrence, Correction, NullModel, Ripley, RipleyAnswer};
use zipfold::io::OutputOptions;
use zipfold::{Options, Table};

const ALL: [Correction; 5] = [
    Correction::None,
    Correction::Border,
    Correction::Translation,
    Correction::Isotropic,
    Correction::Periodic,
];

/// Points with kinds in a box, some at equal places, on the sides and in the corners.
struct Pattern {
    rows: Vec<Vec<f64>>,
    kinds: Vec<usize>,
    window: Vec<[f64; 2]>,
}

impl Pattern {
    fn new(count: usize, window: &[[f64; 2]], kinds: usize) -> Pattern {
        let mut random = Random::new(count as u64 + 3);
        let mut rows: Vec<Vec<f64>> = vec![];
        for at in 0..count {
            let place = |[lo, hi]: &[f64; 2]| lo + (hi - lo) * random.unit();
            let mut row: Vec<f64> = window.iter().map(place).collect();
            match at % 11 {
                3 => row[0] = window[0][0],
                5 => row = window.iter().map(|side| side[1]).collect(),
                8 => row = rows[at - 4].clone(),
                _ => {}
            }
            rows.push(row);
        }
        let kinds = (0..count).map(|_| random.below(kinds)).collect();
        let window = window.to_vec();
        Pattern {
            rows,
            kinds,
            window,
        }
    }
    fn table(&self) -> Table {
        let width = self.window.len() + 1;
        let rows = self.rows.iter().zip(&self.kinds);
        let items = rows.flat_map(|(row, kind)| row.iter().copied().chain([*kind as f64]));
        let names = ["x", "y", "z"][..width - 1].iter().chain(&["kind"]);
        let names = names.map(|name| name.to_string()).collect();
        let table = Table::f64(self.rows.len(), width, items.collect()).unwrap();
        table.with_names(names).unwrap()
    }
    fn asked(&self, correction: Correction, max: f64) -> Ripley {
        Ripley {
            by: Some("kind".into()),
            window: Some(self.window.concat()),
            max: Some(max),
            bins: Some(6),
            correction,
            ..Ripley::new("points")
        }
    }
    fn sides(&self) -> Vec<f64> {
        self.window.iter().map(|[lo, hi]| hi - lo).collect()
    }
    /// The distance of two points and the weight of the pair.
    fn pair(&self, i: usize, j: usize, correction: Correction) -> (f64, f64) {
        let (x, y) = (&self.rows[i], &self.rows[j]);
        let mut d: Vec<f64> = x.iter().zip(y).map(|(a, b)| (a - b).abs()).collect();
        if correction == Correction::Periodic {
            let images = d.iter().zip(self.sides());
            d = images.map(|(d, side)| d.min(side - d)).collect();
        }
        let distance = d.iter().map(|d| d * d).sum::<f64>().sqrt();
        let weight = match correction {
            Correction::Translation => {
                let sides = self.sides();
                let shared = d.iter().zip(&sides).map(|(d, side)| side - d);
                sides.iter().product::<f64>() / shared.product::<f64>()
            }
            Correction::Isotropic => 1.0 / self.part_inside(x, distance),
            _ => 1.0,
        };
        (distance, weight)
    }
    /// The part of a circle that is in the window: by the arcs between its crossings with the sides.
    fn part_inside(&self, at: &[f64], radius: f64) -> f64 {
        let [[left, right], [below, above]] = [self.window[0], self.window[1]];
        // Of equal places, what a small circle has.
        let radius = radius.max(1e-9);
        let mut angles = vec![0.0, 2.0 * PI];
        for gap in [at[0] - left, right - at[0], at[1] - below, above - at[1]] {
            if gap < radius {
                let half = (gap / radius).acos();
                for middle in [0.0, 0.5 * PI, PI, 1.5 * PI] {
                    angles.extend([middle - half, middle + half].map(|a| a.rem_euclid(2.0 * PI)));
                }
            }
        }
        angles.sort_unstable_by(f64::total_cmp);
        let inside = |angle: f64| {
            let x = at[0] + radius * angle.cos();
            let y = at[1] + radius * angle.sin();
            x > left && x < right && y > below && y < above
        };
        let arcs = angles.windows(2).filter(|a| inside(0.5 * (a[0] + a[1])));
        arcs.map(|a| a[1] - a[0]).sum::<f64>() / (2.0 * PI)
    }
    fn gap(&self, i: usize) -> f64 {
        let sides = self.rows[i].iter().zip(&self.window);
        let gaps = sides.map(|(v, [lo, hi])| (v - lo).min(hi - v));
        gaps.fold(f64::INFINITY, f64::min)
    }
    fn size(&self, kind: usize) -> f64 {
        self.kinds.iter().filter(|k| **k == kind).count() as f64
    }
    /// K from kind `a` to kind `b` at `r`, and at `from` for what is beyond it alone.
    fn k(&self, [a, b]: [usize; 2], correction: Correction, (from, r): (f64, f64)) -> f64 {
        let volume: f64 = self.sides().iter().product();
        let count = self.rows.len();
        let far = |i: usize| correction != Correction::Border || self.gap(i) >= r;
        let first = |i: &usize| self.kinds[*i] == a && far(*i);
        let mut sum = 0.0;
        for i in (0..count).filter(first) {
            for j in (0..count).filter(|j| *j != i && self.kinds[*j] == b) {
                let (distance, weight) = self.pair(i, j, correction);
                if distance >= from && distance < r {
                    sum += weight;
                }
            }
        }
        let scale = match correction {
            // Nothing is known of what is around a point alone.
            Correction::Border if a == b && self.size(b) == 1.0 => f64::NAN,
            Correction::Border => (0..count).filter(first).count() as f64 * self.size(b),
            _ if a == b => self.size(a) * (self.size(a) - 1.0),
            _ => self.size(a) * self.size(b),
        };
        volume * sum / scale
    }
}

fn ball(r: f64, axes: usize) -> f64 {
    [2.0 * r, PI * r * r, 4.0 / 3.0 * PI * r.powi(3)][axes - 1]
}

#[track_caller]
fn near(got: f64, wanted: f64, what: &str) {
    let same = (got - wanted).abs() <= 1e-10 * wanted.abs().max(1.0);
    assert!(
        same || got.is_nan() && wanted.is_nan(),
        "{what}: {got} instead of {wanted}"
    );
}

/// Compares all functions of an answer with double loops.
fn compare(pattern: &Pattern, answer: &RipleyAnswer, correction: Correction) {
    let axes = pattern.window.len();
    for curve in &answer.curves {
        let kinds = curve
            .kinds
            .map(|at| answer.kinds[at].parse::<usize>().unwrap());
        for (bin, edges) in answer.edges.windows(2).enumerate() {
            let what = format!("{correction:?}, {axes} axes, {kinds:?}, bin {bin}");
            let k = pattern.k(kinds, correction, (0.0, edges[1]));
            near(curve.k[bin], k, &what);
            let radius = [k / 2.0, (k / PI).sqrt(), (0.75 * k / PI).cbrt()][axes - 1];
            near(curve.l[bin], radius, &what);
            let part = pattern.k(kinds, correction, (edges[0], edges[1]));
            let shell = ball(edges[1], axes) - ball(edges[0], axes);
            near(curve.g[bin], part / shell, &what);
            near(answer.theory[bin], ball(edges[1], axes), &what);
        }
    }
}

#[test]
fn functions_are_those_of_double_loops() {
    let windows: [&[[f64; 2]]; 3] = [
        &[[-3.0, 7.0]],
        &[[1e3, 1e3 + 8.0], [-2.0, 3.0]],
        &[[0.0, 6.0], [0.0, 7.0], [-8.0, 0.0]],
    ];
    for window in windows {
        let mut pattern = Pattern::new(90, window, 3);
        // A kind of one point.
        pattern.kinds[4] = 3;
        for correction in ALL {
            if correction == Correction::Isotropic && window.len() != 2 {
                continue;
            }
            let asked = pattern.asked(correction, 2.2);
            let answer = asked
                .of_table(pattern.table(), &Options::default())
                .unwrap();
            assert_eq!(answer.curves.len(), 16);
            compare(&pattern, &answer, correction);
        }
    }
}

#[test]
fn circles_that_reach_over_three_sides_are_weighed() {
    let pattern = Pattern::new(60, &[[0.0, 10.0], [0.0, 4.0]], 1);
    let mut asked = pattern.asked(Correction::Isotropic, 5.3);
    asked.by = None;
    let answer = asked
        .of_table(pattern.table(), &Options::default())
        .unwrap();
    assert_eq!(answer.kinds, ["all"]);
    for (bin, r) in answer.edges[1..].iter().enumerate() {
        let k = pattern.k([0, 0], Correction::Isotropic, (0.0, *r));
        near(answer.curves[0].k[bin], k, "a wide circle");
    }
}

#[test]
fn envelopes_are_those_of_their_seed() {
    let pattern = Pattern::new(120, &[[0.0, 9.0], [0.0, 9.0]], 2);
    for null in [NullModel::Points, NullModel::Labels] {
        let asked = |seed: u64, threads: usize| {
            let asked = Ripley {
                simulations: 5,
                seed: Some(seed),
                null: Some(null),
                ..pattern.asked(Correction::Translation, 2.0)
            };
            let options = Options {
                threads,
                ..Options::default()
            };
            asked.of_table(pattern.table(), &options).unwrap()
        };
        let first = asked(1, 1);
        assert_eq!(first, asked(1, 2));
        assert_ne!(first, asked(2, 1));
        for curve in &first.curves {
            let both = curve.k_low.iter().zip(&curve.k_high);
            assert!(curve.k_low.len() == 6 && both.clone().all(|(low, high)| low <= high));
            assert!(both.clone().any(|(low, high)| low < high));
        }
    }
    // Points without structure are mostly within.
    let curve = &asked_alone(&pattern).curves[0];
    assert!(
        curve.k_low[5] < ball(2.0, 2) && ball(2.0, 2) < curve.k_high[5],
        "{curve:?}"
    );
}

fn asked_alone(pattern: &Pattern) -> RipleyAnswer {
    let asked = Ripley {
        simulations: 39,
        by: None,
        ..pattern.asked(Correction::Isotropic, 2.0)
    };
    asked
        .of_table(pattern.table(), &Options::default())
        .unwrap()
}

#[test]
fn ratios_are_those_of_double_loops() {
    let pattern = Pattern::new(150, &[[0.0, 9.0], [0.0, 5.0]], 4);
    for cumulative in [false, true] {
        let asked = Cooccurrence {
            edges: Some(vec![0.25, 0.5, 1.0, 2.5]),
            cumulative,
            ..Cooccurrence::new("cells", "kind")
        };
        let answer = asked
            .of_table(pattern.table(), &Options::default())
            .unwrap();
        for (bin, edges) in answer.edges.windows(2).enumerate() {
            let low = if cumulative {
                answer.edges[0]
            } else {
                edges[0]
            };
            let mut counts = [[0u64; 4]; 4];
            for i in 0..150 {
                for j in (0..150).filter(|j| *j != i) {
                    let (distance, _) = pattern.pair(i, j, Correction::None);
                    let inside = distance >= low && distance < edges[1];
                    counts[pattern.kinds[i]][pattern.kinds[j]] += u64::from(inside);
                }
            }
            let all = counts.iter().flatten().sum::<u64>() as f64;
            for (a, row) in counts.iter().enumerate() {
                for b in 0..4 {
                    assert_eq!(answer.counts(a, b)[bin], row[b]);
                    let given = row[b] as f64 / row.iter().sum::<u64>() as f64;
                    let share = counts.iter().map(|row| row[b]).sum::<u64>() as f64 / all;
                    near(answer.ratios(a, b)[bin], given / share, "a ratio");
                }
            }
        }
    }
}

#[test]
fn kinds_without_pairs_have_the_ratio_0() {
    let rows = vec![0.0, 0.0, 0.1, 0.0, 50.0, 1.0];
    let names = vec!["x".to_string(), "kind".to_string()];
    let table = Table::f64(3, 2, rows).unwrap().with_names(names).unwrap();
    let asked = Cooccurrence {
        max: Some(1.0),
        bins: Some(2),
        ..Cooccurrence::new("cells", "kind")
    };
    let answer = asked.of_table(table, &Options::default()).unwrap();
    assert_eq!(
        (answer.ratios(0, 0), answer.ratios(1, 1)),
        (&[1.0, 0.0][..], &[0.0, 0.0][..])
    );
}

#[test]
fn an_answer_is_written_in_every_format() {
    let pattern = Pattern::new(50, &[[0.0, 9.0], [0.0, 5.0]], 2);
    let options = Options::default();
    let ripley = Ripley {
        simulations: 2,
        ..pattern.asked(Correction::Border, 2.0)
    };
    let ripley = ripley.of_table(pattern.table(), &options).unwrap();
    let kinds = Cooccurrence::new("cells", "kind");
    let kinds = kinds.of_table(pattern.table(), &options).unwrap();
    for suffix in ["csv", "tsv", "npz", "parquet", "svg"] {
        let name = format!("zipfold-pattern-{}.{suffix}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let path = path.to_str().unwrap();
        let how = OutputOptions {
            force: true,
            ..OutputOptions::default()
        };
        for done in [ripley.save(path, how), kinds.save(path, how)] {
            done.unwrap();
            let bytes = std::fs::read(path).unwrap();
            assert!(bytes.len() > 400, "{suffix}");
            if suffix == "svg" {
                let svg = String::from_utf8(bytes).unwrap();
                assert!(svg.contains("prefers-color-scheme: dark") && !svg.contains("NaN"));
            }
        }
        std::fs::remove_file(path).unwrap();
    }
}

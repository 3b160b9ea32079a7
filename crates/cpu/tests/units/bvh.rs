use crate::Lcg;
use zipfold_cpu::kernels::bvh::*;
use zipfold_cpu::kernels::top_k::TopK;
use zipfold_vector::simd::{Element, Isa};

fn reference(measure: &Measure, x: &[f64], y: &[f64]) -> f64 {
    let mut sum = 0.0;
    for k in 0..measure.terms {
        let mut d = x[k] - y[k];
        if let Some(l) = measure.periods {
            d -= l[k] * (d / l[k]).round_ties_even();
        }
        sum = match measure.norm {
            Norm::Squares => sum + d * d,
            Norm::Magnitudes => sum + d.abs(),
            Norm::Largest => f64::max(sum, d.abs()),
        };
    }
    sum
}

/// Rows of a kind: random, a coarse lattice, one place, far from zero, on a line with outliers, so
/// near that squares lose digits or are 0.
fn rows(kind: usize, n: usize, terms: usize, seed: u64) -> Vec<f64> {
    let mut numbers = Lcg(seed);
    let mut draw = || numbers.next();
    (0..n * terms)
        .map(|at| match kind {
            0 => draw() * 4.0,
            1 => (draw() * 4.0).floor(),
            2 => 1.5,
            3 => 1e9 + draw() * 4.0,
            5 => draw() * 1e-161,
            _ => at as f64 * 1e-3 + if at % 97 == 0 { -1e5 } else { 0.0 },
        })
        .collect()
}

fn measures() -> Vec<Measure> {
    let norms = [Norm::Squares, Norm::Magnitudes, Norm::Largest];
    let plain = norms.iter().flat_map(|norm| {
        (1..=MOST).map(|terms| Measure {
            norm: *norm,
            terms,
            periods: None,
        })
    });
    let boxed = (1..=3).map(|terms| Measure {
        norm: Norm::Squares,
        terms,
        periods: Some([3.0, 2.5, 4.0, 1.0]),
    });
    plain.chain(boxed).collect()
}

fn allowed(cut: Cut, i: usize, j: usize) -> bool {
    match cut {
        Cut::All => true,
        Cut::Above => j > i,
        Cut::From => j >= i,
        Cut::Others => j != i,
    }
}

/// What a search is compared with: values of all pairs, computed once for all instruction sets.
struct Pairs {
    cut: Cut,
    columns: usize,
    values: Vec<f64>,
}

impl Pairs {
    fn new(measure: &Measure, cut: Cut, [x, y]: [&[f64]; 2]) -> Self {
        let d = measure.terms;
        let value = |x: &[f64], y: &[f64]| reference(measure, x, y);
        let of_row = |x| y.chunks_exact(d).map(move |y| value(x, y));
        Pairs {
            cut,
            columns: y.len() / d,
            values: x.chunks_exact(d).flat_map(of_row).collect(),
        }
    }
    fn value(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.columns + j]
    }
    fn is_allowed(&self, i: usize, j: usize) -> bool {
        allowed(self.cut, i, j)
    }
}

/// Every search over sorted rows, against the loop over all pairs.
fn each(mut check: impl FnMut(&Measure, &Pairs, [&Bvh; 2])) {
    for measure in measures() {
        let d = measure.terms;
        let kinds = [
            (0, Cut::All),
            (1, Cut::Others),
            (1, Cut::Above),
            (2, Cut::From),
            (3, Cut::Above),
            (4, Cut::All),
        ];
        let near = [
            (3, Cut::Others),
            (4, Cut::Others),
            (5, Cut::All),
            (5, Cut::Others),
        ];
        for (kind, cut) in kinds.into_iter().chain(near) {
            let n = if cut == Cut::Others {
                300
            } else {
                [1, 33, 700][kind % 3]
            };
            let x = rows(kind, n, d, 7);
            let y = if cut == Cut::All {
                rows(kind, 600, d, 11)
            } else {
                x.clone()
            };
            // Names that are not the places.
            let names = |len: usize| (0..len as u32).rev().collect::<Vec<u32>>();
            let bvh = |v: &[f64]| {
                let len = v.len() / d;
                Bvh::new(&measure, &names(len), |name, k| {
                    v[(len - 1 - name as usize) * d + k]
                })
                .unwrap()
            };
            let (cx, cy) = (bvh(&x), bvh(&y));
            check(&measure, &Pairs::new(&measure, cut, [&x, &y]), [&cx, &cy]);
        }
    }
}

#[test]
fn neighbours_are_those_of_all_pairs() {
    each(|measure, pairs, [cx, cy]| {
        let (n, m) = (cx.len(), cy.len());
        let rows = n / 3..n;
        for cols in [m / 5..m - m / 7, 0..m] {
            let bits = |list: &[(f64, u32)]| -> Vec<(u64, u32)> {
                list.iter().map(|e| (e.0.to_bits(), e.1)).collect()
            };
            let wanted = |i: usize| {
                let columns = cols.clone().filter(|j| pairs.is_allowed(i, *j));
                let mut all: Vec<(f64, u32)> = columns
                    .map(|j| (pairs.value(i, j), (m - 1 - j) as u32))
                    .collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                all.truncate(7);
                bits(&all)
            };
            let wanted: Vec<_> = (0..n).map(wanted).collect();
            for isa in Isa::available() {
                let mut got = vec![];
                let take = |row: usize, top: &mut TopK<f64>| got.push((row, top.finish().to_vec()));
                let search = Nearest {
                    x: cx,
                    y: cy,
                    measure,
                    rows: rows.clone(),
                    cols: cols.clone(),
                    cut: pairs.cut,
                    k: 7,
                    begin: |_: usize, _: &mut TopK<f64>| SearchLimits {
                        enough: f64::NEG_INFINITY,
                        most: f64::INFINITY,
                    },
                    take,
                };
                let seen = f64::dispatch(isa, search);
                assert!(seen[0] >= seen[1]);
                let cut = pairs.cut;
                for (i, got) in got {
                    assert_eq!(bits(&got), wanted[i], "{isa} {measure:?} {cut:?} row {i}");
                }
            }
        }
    });
}

#[test]
fn matches_are_those_of_all_pairs() {
    each(|measure, pairs, [cx, cy]| {
        let (n, m) = (cx.len(), cy.len());
        let (rows, cols) = (n / 3..n, m / 5..m - m / 7);
        let tied = pairs.value(0, m / 2);
        // Limits that values tie with.
        for limit in [-1.0, 0.0, 1.0, tied, f64::INFINITY] {
            let close = |i: usize, j: usize| pairs.is_allowed(i, j) && pairs.value(i, j) <= limit;
            let wanted: Vec<_> = rows
                .clone()
                .flat_map(|i| cols.clone().map(move |j| (i, j)))
                .filter(|(i, j)| close(*i, *j))
                .collect();
            for isa in Isa::available() {
                let mut got = vec![];
                let take = |row: usize, found: &[u32]| {
                    got.extend(found.iter().map(|j| (row, *j as usize)));
                    Ok::<(), ()>(())
                };
                let search = Within {
                    x: cx,
                    y: cy,
                    measure,
                    rows: rows.clone(),
                    cols: cols.clone(),
                    cut: pairs.cut,
                    limit,
                    take,
                };
                f64::dispatch(isa, search).unwrap();
                got.sort_unstable();
                let cut = pairs.cut;
                assert!(got == wanted, "{isa} {measure:?} {cut:?} {limit}");
            }
        }
    });
}

#[test]
fn a_search_that_is_refused_stops() {
    let measure = Measure {
        norm: Norm::Squares,
        terms: 2,
        periods: None,
    };
    let v = rows(2, 400, 2, 3);
    let names: Vec<u32> = (0..400).collect();
    let bvh = Bvh::new(&measure, &names, |name, k| v[name as usize * 2 + k]).unwrap();
    let mut calls = 0;
    let take = |_: usize, _: &[u32]| {
        calls += 1;
        Err("full")
    };
    let (x, y) = (&bvh, &bvh);
    let search = Within {
        x,
        y,
        measure: &measure,
        rows: 0..400,
        cols: 0..400,
        cut: Cut::All,
        limit: 1.0,
        take,
    };
    assert_eq!(f64::dispatch(Isa::detect(), search), Err("full"));
    assert_eq!(calls, 1);
}

#[test]
fn coordinates_that_are_not_finite_are_refused() {
    let measure = Measure {
        norm: Norm::Squares,
        terms: 1,
        periods: None,
    };
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(
            Bvh::new(&measure, &[0, 1], |name, _| if name == 1 {
                bad
            } else {
                0.0
            })
            .is_none()
        );
    }
    let boxed = Measure {
        periods: Some([1e-200; MOST]),
        ..measure
    };
    assert!(Bvh::new(&boxed, &[0], |_, _| 1.0).is_none());
}

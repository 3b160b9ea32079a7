//! Sum-product kernels of devices against plain counting over all configurations.

use zipfold_core::{Precision, Random};
use zipfold_gpu::choice::predicted;
use zipfold_gpu::contract::Contractor;
use zipfold_gpu::paged::{Bucket, Contraction, Unroll};
use zipfold_gpu::{Device, Facts, Runtime, open};
use zipfold_product::cpu::Fold;
use zipfold_product::cpu::bucket::{Mode, contract};
use zipfold_product::cpu::shape::Shape;
use zipfold_product::plan::paged::{Knapsack, Paged, Unit};
use zipfold_product::remote::{Items, ItemsMut, Remote};

fn device() -> Device {
    open(Runtime::OpenCl, 0).expect("an OpenCL device")
}

/// Tables over random scopes of few variables, with a result over some of them.
fn random_shape(random: &mut Random, tables: usize, largest: usize) -> Shape {
    let variables = 1 + random.below(7);
    let cards: Vec<usize> = (0..variables).map(|_| 1 + random.below(largest)).collect();
    let rank: Vec<u32> = (0..variables as u32).collect();
    let some = |random: &mut Random| {
        (0..variables)
            .filter(|_| random.below(2) == 0)
            .collect::<Vec<usize>>()
    };
    let scopes: Vec<Vec<usize>> = (0..tables).map(|_| some(random)).collect();
    let out: Vec<usize> = some(random)
        .into_iter()
        .filter(|v| scopes.iter().any(|s| s.contains(v)))
        .collect();
    Shape::new(
        &scopes.iter().map(|s| &s[..]).collect::<Vec<_>>(),
        &out,
        &rank,
        &cards,
    )
}

/// A product of matrices with digits in any order: in both and kept, rows, columns, in both and
/// summed.
fn random_product(random: &mut Random) -> Shape {
    let variables = 4 + random.below(5);
    let cards: Vec<usize> = (0..variables).map(|_| 1 + random.below(9)).collect();
    let rank: Vec<u32> = (0..variables as u32).collect();
    let roles: Vec<usize> = (0..variables).map(|_| random.below(7).min(4)).collect();
    let of = |wanted: &[usize]| {
        (0..variables)
            .filter(|v| wanted.contains(&roles[*v]))
            .collect::<Vec<usize>>()
    };
    Shape::new(
        &[&of(&[0, 1, 3, 4]), &of(&[0, 2, 3, 4])],
        &of(&[0, 1, 2]),
        &rank,
        &cards,
    )
}

fn tables(random: &mut Random, shape: &Shape) -> Vec<Vec<f64>> {
    let len = |f: usize| {
        1 + shape
            .digits
            .iter()
            .map(|d| (d.card - 1) * d.strides[f])
            .sum::<usize>()
    };
    (0..shape.inputs)
        .map(|f| {
            (0..len(f))
                .map(|_| {
                    if random.below(9) == 0 {
                        0.0
                    } else {
                        random.unit()
                    }
                })
                .collect()
        })
        .collect()
}

fn expected(shape: &Shape, tables: &[Vec<f64>], mode: Mode) -> Vec<f64> {
    let mut out = vec![0.0; shape.out_len];
    contract(
        shape,
        &tables.iter().map(|t| &t[..]).collect::<Vec<_>>(),
        mode,
        &mut out,
    );
    out
}

fn same(got: &[f64], want: &[f64], within: f64, what: &dyn std::fmt::Debug) {
    for (at, (g, w)) in got.iter().zip(want).enumerate() {
        assert!(
            (g - w).abs() <= within * w.abs() || g == w,
            "entry {at}: {g}, expected {w} {what:?}"
        );
    }
}

fn single(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|v| *v as f32).collect()
}

fn remotely(
    contractor: &Contractor,
    precision: Precision,
    shape: &Shape,
    tables: &[Vec<f64>],
    fold: Fold,
) -> Vec<f64> {
    let sent: Vec<_> = tables
        .iter()
        .map(|t| match precision {
            Precision::F32 => contractor.send(Items::F32(&single(t))).unwrap(),
            Precision::F64 => contractor.send(Items::F64(t)).unwrap(),
        })
        .collect();
    let made = contractor
        .contract(shape, &sent.iter().collect::<Vec<_>>(), fold, shape)
        .unwrap();
    let mut out = vec![0.0f64; shape.out_len];
    match precision {
        Precision::F64 => contractor.bring(&made, ItemsMut::F64(&mut out)).unwrap(),
        Precision::F32 => {
            let mut singles = vec![0.0f32; shape.out_len];
            contractor
                .bring(&made, ItemsMut::F32(&mut singles))
                .unwrap();
            out = singles.into_iter().map(f64::from).collect();
        }
    }
    let (low, high) = contractor.ends(&made).unwrap();
    assert_eq!(high, out.iter().copied().fold(0.0, f64::max));
    assert_eq!(
        low,
        out.iter()
            .copied()
            .filter(|v| *v > 0.0)
            .fold(f64::INFINITY, f64::min)
    );
    out
}

#[test]
#[ignore = "needs opencl"]
fn contractions_are_those_of_the_host() {
    let mut random = Random::new(11);
    for precision in [Precision::F64, Precision::F32] {
        let contractor = Contractor::new(device(), precision).unwrap();
        let within = if precision == Precision::F64 {
            1e-13
        } else {
            1e-5
        };
        for round in 0..120 {
            let shape = match round % 3 {
                0 => random_shape(&mut random, 1 + round % 6, 6),
                1 => random_product(&mut random),
                // Rows, columns and depth beyond a tile.
                _ => {
                    let size = |random: &mut Random| 1 + random.below(300);
                    let cards = [
                        size(&mut random),
                        size(&mut random),
                        size(&mut random),
                        1 + random.below(3),
                    ];
                    let a = if round % 2 == 0 {
                        vec![0, 1, 3]
                    } else {
                        vec![1, 2, 3]
                    };
                    Shape::new(
                        &[&a, &[0, 2, 3]],
                        &a.iter()
                            .copied()
                            .filter(|v| *v != 0 && *v != 2)
                            .chain(if round % 2 == 0 { Some(2) } else { Some(0) })
                            .collect::<std::collections::BTreeSet<_>>()
                            .into_iter()
                            .collect::<Vec<_>>(),
                        &[0, 1, 2, 3],
                        &cards,
                    )
                }
            };
            let tables = tables(&mut random, &shape);
            for (fold, mode) in [(Fold::Sum, Mode::Sum), (Fold::Max, Mode::Max)] {
                let got = remotely(&contractor, precision, &shape, &tables, fold);
                same(
                    &got,
                    &expected(&shape, &tables, mode),
                    within,
                    &(precision, fold, &shape),
                );
            }
        }
    }
}

/// Functions over shared variables and over some of their own, which the result keeps, as in the
/// random buckets of the sum-product paper.
fn random_functions(random: &mut Random, tables: usize) -> Shape {
    let mut cards: Vec<usize> = (0..1 + random.below(2))
        .map(|_| 2 + random.below(5))
        .collect();
    let summed = cards.len();
    let mut scopes: Vec<Vec<usize>> = vec![(0..summed).collect(); tables];
    let mut out = Vec::new();
    let mut entries = 1;
    while entries < 20_000 {
        let own = cards.len();
        cards.push(2 + random.below(4));
        entries *= cards[own];
        let first = random.below(tables);
        scopes[first].push(own);
        if random.below(3) == 0 {
            scopes[(first + 1) % tables].push(own);
        }
        out.push(own);
    }
    if random.below(3) == 0 {
        scopes[0].remove(0);
    }
    scopes.iter_mut().for_each(|s| s.dedup());
    let rank: Vec<u32> = (0..cards.len() as u32).collect();
    let scopes: Vec<&[usize]> = scopes.iter().map(|s| &s[..]).collect();
    Shape::new(&scopes, &out, &rank, &cards)
}

#[test]
#[ignore = "needs opencl"]
fn tiles_of_threads_have_the_entries_of_the_host() {
    let mut random = Random::new(13);
    let (mut tiled, mut rounds) = (0, 0);
    for precision in [Precision::F64, Precision::F32] {
        // As few multiprocessors as make tiles worthwhile for small joins.
        let contractor = Contractor::new(device(), precision)
            .unwrap()
            .choosing_for(2);
        let facts = Facts {
            units: 2,
            ..contractor.facts().clone()
        };
        let link = Contractor::link(&facts, precision);
        let within = if precision == Precision::F64 {
            1e-13
        } else {
            1e-5
        };
        for round in 0..40 {
            let shape = random_functions(&mut random, 2 + round % 4);
            let tables = tables(&mut random, &shape);
            let [tall, wide] = predicted(&shape, precision, &facts, &link).tile;
            rounds += 1;
            tiled += usize::from(tall * wide > 1);
            for (fold, mode) in [(Fold::Sum, Mode::Sum), (Fold::Max, Mode::Max)] {
                let got = remotely(&contractor, precision, &shape, &tables, fold);
                let want = expected(&shape, &tables, mode);
                same(&got, &want, within, &(precision, fold, &shape));
            }
        }
    }
    assert!(tiled > rounds / 2, "{tiled} of {rounds}");
}

#[test]
#[ignore = "needs opencl"]
fn pages_and_segments_give_the_entries_of_the_host() {
    let device = device();
    let mut random = Random::new(12);
    let unrolls = [Unroll::None, Unroll::By(3), Unroll::Whole];
    let knapsacks = [Knapsack::Greedy, Knapsack::Exact, Knapsack::None];
    for round in 0..72 {
        let shape = random_shape(&mut random, 1 + round % 5, 7);
        let mode = [Mode::Sum, Mode::Max, Mode::LogSum, Mode::LogMax][round % 4];
        let logs = matches!(mode, Mode::LogSum | Mode::LogMax);
        let mut tables = tables(&mut random, &shape);
        if logs {
            tables.iter_mut().flatten().for_each(|v| *v = v.ln());
        }
        let unit = Unit {
            entries: random.below(400),
            threads: 64,
            blocks: 1 + random.below(4),
            operations: 1e9,
            operands: 1e9,
            memory: 1e9,
            shared: 2e9,
            held: 1e5,
            pages_per_block: (round % 4 == 3).then(|| 1 + random.below(9)),
            start: 0.0,
            waits: [0.0; 3],
        };
        let bucket = Bucket {
            plan: Paged::new(&shape.bucket(), &unit, knapsacks[round % 3]),
            mode,
            precision: Precision::F64,
            unroll: unrolls[round / 3 % 3],
            shape: shape.clone(),
        };
        let sent: Vec<_> = tables.iter().map(|t| device.upload(t).unwrap()).collect();
        let out = device.upload(&vec![f64::NAN; shape.out_len]).unwrap();
        Contraction::new(&device, &bucket)
            .unwrap()
            .run(&device, &sent.iter().collect::<Vec<_>>(), &out)
            .unwrap();
        let mut got = vec![0.0; shape.out_len];
        device.read(&out, &mut got).unwrap();
        same(&got, &expected(&shape, &tables, mode), 1e-12, &bucket);
    }
}

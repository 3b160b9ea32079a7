//! Sum-product kernels of devices against plain counting over all configurations.

use zipfold_core::{Precision, Random, Result};
use zipfold_gpu::choice::{Candidate, candidates, predicted};
use zipfold_gpu::contract::Contractor;
use zipfold_gpu::paged::{Bucket, Contraction, Unroll};
use zipfold_gpu::pages::Pages;
use zipfold_gpu::{Device, Facts, Runtime, open};
use zipfold_plan::overrides::Overrides;
use zipfold_product::cpu::Fold;
use zipfold_product::cpu::bucket::{Mode, contract};
use zipfold_product::cpu::shape::Shape;
use zipfold_product::plan::paged::{Knapsack, Paged, Unit};
use zipfold_product::remote::{Ending, Items, ItemsMut, Numbers, Remote};

fn device() -> Device {
    open(Runtime::OpenCl, 0).expect("an OpenCL device")
}

/// How many of `all` random shapes are contracted: half, since PoCL compiles a kernel for each, and
/// all with `ZIPFOLD_LONG`.
fn some_of(all: usize) -> usize {
    match std::env::var_os("ZIPFOLD_LONG") {
        Some(_) => all,
        None => all / 2,
    }
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
    let join =
        |inputs: &[&Numbers]| contractor.contract(shape, inputs, fold, shape, Ending::Values);
    joined(contractor, precision, (shape, tables), &join)
}

/// The entries that `join` makes of `tables` on the device.
fn joined(
    contractor: &Contractor,
    precision: Precision,
    (shape, tables): (&Shape, &[Vec<f64>]),
    join: &dyn Fn(&[&Numbers]) -> Result<Numbers>,
) -> Vec<f64> {
    let sent: Vec<_> = tables
        .iter()
        .map(|t| match precision {
            Precision::F32 => contractor.send(Items::F32(&single(t))).unwrap(),
            Precision::F64 => contractor.send(Items::F64(t)).unwrap(),
        })
        .collect();
    let made = join(&sent.iter().collect::<Vec<_>>()).unwrap();
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
        for round in 0..some_of(120) {
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

/// The device that chooses kernels as one of so many multiprocessors does, its facts, and by how much
/// its entries may differ from those of the host.
fn choosing_for(units: usize, precision: Precision) -> (Contractor, Facts, f64) {
    let contractor = Contractor::new(device(), precision)
        .unwrap()
        .choosing_for(units);
    let facts = Facts {
        units,
        ..contractor.facts().clone()
    };
    let within = match precision {
        Precision::F64 => 1e-13,
        Precision::F32 => 1e-5,
    };
    (contractor, facts, within)
}

#[test]
#[ignore = "needs opencl"]
fn tiles_of_threads_have_the_entries_of_the_host() {
    let mut random = Random::new(13);
    let (mut tiled, mut rounds) = (0, 0);
    for precision in [Precision::F64, Precision::F32] {
        // As few multiprocessors as make tiles worthwhile for small joins.
        let (contractor, facts, within) = choosing_for(2, precision);
        for round in 0..some_of(40) {
            let shape = random_functions(&mut random, 2 + round % 4);
            let tables = tables(&mut random, &shape);
            let [tall, wide] = predicted(&shape, precision, &facts).tile;
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
fn rows_in_shared_memory_give_the_entries_of_the_host() {
    let mut random = Random::new(19);
    let (mut staged, mut rounds) = (0, 0);
    for precision in [Precision::F64, Precision::F32] {
        // One multiprocessor: tiles pay for small joins, and thread blocks take several tiles.
        let (contractor, facts, within) = choosing_for(1, precision);
        for round in 0..20 {
            // Summed, neither, rows, columns; the folded index is longer than a piece in some, and
            // ends within a group of steps that are read together.
            let depth = [9, 1, 150, 7, 3][round % 5];
            let cards = [
                depth,
                1 + random.below(5),
                20 + random.below(150),
                30 + random.below(90),
            ];
            let all: [&[usize]; 4] = [&[0, 1, 2], &[0, 1, 3], &[0, 1], &[1, 2, 3]];
            let scopes = match round % 2 {
                0 => &all[..3],
                _ => &all[..],
            };
            let shape = Shape::new(scopes, &[1, 2, 3], &[0, 1, 2, 3], &cards);
            let tables = tables(&mut random, &shape);
            rounds += 1;
            // The least predicted of the kernels with rows there, which others may be faster than.
            let all = candidates(&shape, precision, 1).into_iter();
            let staged_ones = all.filter(|c| c.name().starts_with("staged"));
            let seconds = |c: &Candidate| c.seconds(&facts);
            let least = staged_ones.min_by(|a, b| seconds(a).total_cmp(&seconds(b)));
            let Some(least) = least else {
                continue;
            };
            staged += 1;
            for (fold, mode) in [(Fold::Sum, Mode::Sum), (Fold::Max, Mode::Max)] {
                let join = |inputs: &[&Numbers]| contractor.join_by(&least, &shape, inputs, fold);
                let got = joined(&contractor, precision, (&shape, &tables), &join);
                let want = expected(&shape, &tables, mode);
                same(&got, &want, within, &(precision, fold, &shape));
            }
        }
    }
    assert!(staged > rounds / 2, "{staged} of {rounds}");
}

/// Logarithms of tables: far from zero, some −∞, all −∞ in a few tables.
fn log_tables(random: &mut Random, shape: &Shape, precision: Precision) -> Vec<Vec<f64>> {
    let mut tables = tables(random, shape);
    for table in &mut tables {
        let far = 2e4 * random.unit() - 1e4;
        let nothing = random.below(12) == 0;
        let log = |v: f64| if nothing { 0.0f64.ln() } else { v.ln() + far };
        table.iter_mut().for_each(|v| *v = log(*v));
        if precision == Precision::F32 {
            *table = single(table).into_iter().map(f64::from).collect();
        }
    }
    tables
}

/// The join of logarithms on the device: mantissas around the middle of each table, and the
/// logarithms of the result.
fn logs_remotely(
    contractor: &Contractor,
    precision: Precision,
    shape: &Shape,
    tables: &[Vec<f64>],
    fold: Fold,
) -> Vec<f64> {
    let mut back = 0.0;
    let mantissas = |table: &Vec<f64>| {
        let finite = table.iter().copied().filter(|l| l.is_finite());
        let (low, high) = finite.fold((f64::MAX, f64::MIN), |(a, b), l| (a.min(l), b.max(l)));
        let shift = if low <= high { (low + high) / 2.0 } else { 0.0 };
        back += shift;
        let sent = match precision {
            Precision::F32 => contractor.send(Items::F32(&single(table))).unwrap(),
            Precision::F64 => contractor.send(Items::F64(table)).unwrap(),
        };
        contractor.exponentials(&sent, shift).unwrap()
    };
    let made: Vec<_> = tables.iter().map(mantissas).collect();
    let inputs: Vec<_> = made.iter().collect();
    let made = contractor
        .contract(shape, &inputs, fold, shape, Ending::Logs(back))
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
    out
}

#[test]
#[ignore = "needs opencl"]
fn logarithms_are_those_of_the_host() {
    let mut random = Random::new(17);
    for precision in [Precision::F64, Precision::F32] {
        let plain = Contractor::new(device(), precision).unwrap();
        let paged = {
            let device = device();
            let pages = Pages::new(&device.facts, precision, &Overrides::default());
            let pages = Pages {
                saving: None,
                ..pages
            };
            Contractor::new(device, precision).unwrap().by_pages(pages)
        };
        let few = Contractor::new(device(), precision)
            .unwrap()
            .choosing_for(2);
        // The last digit of the result, and the error of sums of a few hundred products.
        let [unit, within] = match precision {
            Precision::F64 => [4e-15, 1e-12],
            Precision::F32 => [1.2e-7, 2e-5],
        };
        let mut nothing = 0;
        for round in 0..some_of(60) {
            let shape = match round % 4 {
                0 => random_shape(&mut random, 1 + round % 6, 6),
                1 => random_product(&mut random),
                2 => random_functions(&mut random, 2 + round % 3),
                // Parts of a long folded index.
                _ => Shape::new(
                    &[&[0, 1], &[1, 2]],
                    &[0, 2],
                    &[0, 1, 2],
                    &[2, 4000 + round, 3],
                ),
            };
            let contractor = match round {
                0..8 => &paged,
                _ if round % 4 == 2 => &few,
                _ => &plain,
            };
            let tables = log_tables(&mut random, &shape, precision);
            for (fold, mode) in [(Fold::Sum, Mode::LogSum), (Fold::Max, Mode::LogMax)] {
                let got = logs_remotely(contractor, precision, &shape, &tables, fold);
                let want = expected(&shape, &tables, mode);
                for (at, (g, w)) in got.iter().zip(&want).enumerate() {
                    nothing += usize::from(*w == f64::NEG_INFINITY);
                    assert!(
                        g == w || (g - w).abs() <= 1e4 * unit + unit * w.abs() + within,
                        "entry {at}: {g}, expected {w} {:?}",
                        (precision, fold, &shape)
                    );
                }
            }
        }
        assert!(nothing > 100, "{nothing} entries of zero");
    }
}

#[test]
#[ignore = "needs opencl"]
fn pages_and_segments_give_the_entries_of_the_host() {
    let device = device();
    let mut random = Random::new(12);
    let unrolls = [Unroll::None, Unroll::By(3), Unroll::Whole];
    let knapsacks = [Knapsack::Greedy, Knapsack::Exact, Knapsack::None];
    for round in 0..some_of(72) {
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
            seconds: 0.0,
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

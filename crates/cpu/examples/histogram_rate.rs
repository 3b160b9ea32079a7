//! Rate of the histogram of 3-D distances on one core:
//! `cargo run --release -p zipfold-cpu --example histogram_rate [n] [isa]`.
//! Prints the best of several runs in 10⁹ pairs a second.

use zipfold_cpu::kernels::histogram::{Edges, Frame, Histogram, Pairs, Points};
use zipfold_vector::simd::{Element, Isa};

/// CPU time of this thread, which other programs disturb less than wall time.
#[cfg(target_os = "linux")]
fn cpu_seconds() -> f64 {
    // SAFETY: the declaration is that of POSIX, with a `timespec` of two 64-bit integers.
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    const THREAD_CPUTIME: i32 = 3;
    let mut time = [0; 2];
    // SAFETY: a `timespec` of 64-bit Linux is two 64-bit integers.
    unsafe { clock_gettime(THREAD_CPUTIME, &mut time) };
    time[0] as f64 + time[1] as f64 * 1e-9
}

#[cfg(not(target_os = "linux"))]
fn cpu_seconds() -> f64 {
    std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0.0, |t| t.as_secs_f64())
}

fn rate<T: Element>(what: &str, isa: Isa, n: usize, period: Option<f64>, edges: &Edges) {
    let mut state = 1u64;
    let mut value = |_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        T::from_f64((state >> 11) as f64 / (1u64 << 53) as f64 * 1000.0)
    };
    let data: Vec<Vec<T>> = (0..3).map(|_| (0..n).map(&mut value).collect()).collect();
    let columns: Vec<&[T]> = data.iter().map(|c| &c[..]).collect();
    let frame = period.map_or_else(|| Frame::open(&columns), |l| Frame::periodic(&[l; 3]));
    let points = Points::new(&frame, &columns);
    let (mut best, mut undecided) = (f64::INFINITY, 0);
    // A band of rows at a time, each against a block of columns that stays in the L1 cache.
    let rows = (200_000_000 / n).min(n);
    for _ in 0..15 {
        let mut h = Histogram::new(edges);
        let start = cpu_seconds();
        for cols in (0..n).step_by(1024) {
            h.add(
                isa,
                &points,
                0..rows,
                &points,
                cols..n.min(cols + 1024),
                Pairs::All,
            );
        }
        best = best.min(cpu_seconds() - start);
        undecided = h.undecided();
        assert_eq!(h.finish().total(), (rows * n) as u64);
    }
    let pairs = (rows * n) as f64;
    println!(
        "{what} f{} {isa}: {:.2}, undecided {:.1e}",
        8 * size_of::<T>(),
        pairs / best / 1e9,
        undecided as f64 / pairs
    );
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n = args
        .get(1)
        .map_or(200_000, |s| s.parse().expect("a number"));
    let isa = args
        .get(2)
        .map_or(Isa::detect(), |s| s.parse().expect("an instruction set"));
    let all = Edges::uniform(0.0, 1732.05081, 300);
    rate::<f32>("300 bins", isa, n, None, &all);
    rate::<f64>("300 bins", isa, n, None, &all);
    rate::<f32>(
        "100000 bins",
        isa,
        n,
        None,
        &Edges::uniform(0.0, 1732.05081, 100_000),
    );
    rate::<f32>(
        "periodic, 200 bins to L/4",
        isa,
        n,
        Some(1000.0),
        &Edges::uniform(0.0, 250.0, 200),
    );
    let log: Vec<f64> = (0..17)
        .map(|i| 50.0 * 10f64.powf(f64::from(i) / 8.0 - 2.0))
        .collect();
    rate::<f32>(
        "16 logarithmic bins to L/20",
        isa,
        n,
        None,
        &Edges::from_edges(&log),
    );
    let log: Vec<f64> = (0..301)
        .map(|i| 1500.0 * 10f64.powf(f64::from(i) / 150.0 - 2.0))
        .collect();
    rate::<f32>(
        "300 logarithmic bins",
        isa,
        n,
        None,
        &Edges::from_edges(&log),
    );
}

//! Rates of the dense kernels on one core: `cargo run --release -p zipfold-cpu --example dense_rate
//! [n] [d] [isa]`. Prints the best of several runs in 10⁹ pair-dims a second.

use zipfold_cpu::kernels::dense::{DenseReduction, reduce_block, reduce_block_exact};
use zipfold_cpu::kernels::panels::{PackedA, PackedB};
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

fn best(work: f64, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = cpu_seconds();
        run();
        best = best.min(cpu_seconds() - start);
    }
    work / best / 1e9
}

fn rates<T: Element>(isa: Isa, n: usize, d: usize) {
    let value = |i: usize| T::from_f64((i * 7919 % 10007) as f64 / 10007.0);
    let x: Vec<T> = (0..n * d).map(value).collect();
    let start = cpu_seconds();
    let (a, b) = (
        PackedA::<T>::pack(&x, n, d, d),
        PackedB::<T>::pack(&x, n, d, d),
    );
    println!(
        "f{} n={n} d={d} {isa}; packing both {:.2} ms",
        8 * size_of::<T>(),
        (cpu_seconds() - start) * 1e3
    );
    let mut out = vec![T::ZERO; n * n];
    for op in DenseReduction::ALL {
        let rate = best((n * n * d) as f64, || {
            reduce_block(isa, op, &a, &b, [0..n, 0..n], (&mut out, n))
        });
        let mut cells = vec![T::ZERO; 128 * 128];
        let blocks = best((n * n * d) as f64, || {
            for (i, j) in (0..n)
                .step_by(128)
                .flat_map(|i| (0..n).step_by(128).map(move |j| (i, j)))
            {
                let (rows, cols) = (i..n.min(i + 128), j..n.min(j + 128));
                reduce_block(isa, op, &a, &b, [rows, cols], (&mut cells, 128));
            }
        });
        println!("  {op:?}: {rate:.1}, by blocks of 128 {blocks:.1}");
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize, default| {
        args.get(i)
            .map_or(default, |s| s.parse().expect("a number"))
    };
    let (n, d) = (number(1, 960), number(2, 512));
    let isa = args
        .get(3)
        .map_or(Isa::detect(), |s| s.parse().expect("an instruction set"));
    rates::<f32>(isa, n, d);
    rates::<f64>(isa, n, d);
    let x: Vec<f32> = (0..n * d).map(|i| (i * 7919 % 10007) as f32).collect();
    let (a, b) = (PackedA::pack(&x, n, d, d), PackedB::pack(&x, n, d, d));
    let mut out = vec![0.0; n * n];
    for op in DenseReduction::ALL {
        let rate = best((n * n * d) as f64, || {
            reduce_block_exact(isa, op, &a, &b, [0..n, 0..n], (&mut out, n))
        });
        println!("  exact {op:?}: {rate:.1}");
    }
}

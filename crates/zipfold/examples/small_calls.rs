//! What a call on 100 × 3 rows costs from Rust, by metric and step: `cargo run --release -p zipfold
//! --example small_calls`.
//!
//! Steps are description, choice of the plan, and everything (matrix of two tables, new memory), in
//! microseconds; the least mean of several turns counts.

use std::time::Instant;
use zipfold::Options;
use zipfold::Problem;
use zipfold::Query;
use zipfold::problem::{FoldSpec, Input, NanPolicy, PairSpec};
use zipfold::{Data, Result, Table};

const ROWS: usize = 100;
const COLUMNS: usize = 3;
const METRICS: &[&str] = &[
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "dice",
    "euclidean",
    "hamming",
    "jaccard",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "seuclidean",
    "sqeuclidean",
    "yule",
];

fn table(seed: u64) -> Result<Table> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    Table::f64(ROWS, COLUMNS, (0..ROWS * COLUMNS).map(|_| next()).collect())
}

fn problem(metric: &str) -> Problem {
    let input = |name: &str| Input::named(name);
    Problem {
        y: Some(input("y")),
        nan: NanPolicy::Propagate,
        ..Problem::new(
            input("x"),
            PairSpec {
                metric: Some(metric.into()),
                ..PairSpec::default()
            },
            vec![FoldSpec::Matrix {}],
        )
    }
}

/// Least mean microseconds of `work`.
fn microseconds(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let start = Instant::now();
        for _ in 0..500 {
            work()?;
        }
        best = best.min(start.elapsed().as_secs_f64() / 500.0 * 1e6);
    }
    Ok(best)
}

fn main() -> Result<()> {
    let data = Data {
        pairs: None,
        x: table(1)?,
        y: Some(table(2)?),
        weights: vec![None],
    };
    let options = Options::default();
    println!(
        "{:<16} {:>9} {:>9} {:>9}",
        "metric", "describe", "plan", "call"
    );
    for metric in METRICS {
        let problem = problem(metric);
        let query = Query::new(&problem, &data, &options);
        let described = microseconds(|| query.describe().map(|_| ()))?;
        let (job, machine) = query.describe()?;
        let planned = microseconds(|| {
            zipfold::internals::plan::choose(&job, &machine, &options.overrides).map(|_| ())
        })?;
        let whole = microseconds(|| query.run().map(|_| ()))?;
        println!("{metric:<16} {described:>9.1} {planned:>9.1} {whole:>9.1}");
    }
    Ok(())
}

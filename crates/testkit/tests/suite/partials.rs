//! Partials: shares merged through their file format give the bits of the whole, for every fold; damaged bytes are refused.

use zipfold::partial::{Partial, decode, encode};
use zipfold::{Output, Target, run};
use zipfold_core::fold::State;
use zipfold_core::problem::{FoldSpec, Problem};
use zipfold_core::{Cells, Data, Job, Precision, Table, describe};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{difference, of_output, of_state, same};
use zipfold_testkit::runner::plain;

const ALL: &str = r#"
schema = 1
x = { name = "x" }
pair = { metric = "euclidean" }
folds = [
  { kind = "reduce", op = "sum" },
  { kind = "reduce", op = "sum", along = "column" },
  { kind = "reduce", op = "mean", along = "all" },
  { kind = "reduce", op = "min" }, { kind = "reduce", op = "max" },
  { kind = "reduce", op = "argmin" }, { kind = "reduce", op = "argmax" },
  { kind = "reduce", op = "count" }, { kind = "reduce", op = "logsumexp" }, { kind = "reduce", op = "softmax" },
  { kind = "nearest", k = 5 }, { kind = "nearest", k = 3, largest = true },
  { kind = "histogram", axes = [{ bins = 20, range = [0.0, 10.0] }], mean = true, weights = "w" },
  { kind = "select", predicate = "euclidean(x, y) < 2", value = "x[0] * y[0]" },
  { kind = "select", predicate = "euclidean(x, y) < 0.3", join = "semi" },
  { kind = "select", predicate = "euclidean(x, y) < 0.3", join = "anti" },
]
"#;

fn job(cells: Cells) -> (Problem, Job) {
    let mut lcg = Lcg::new(5);
    let n = 700;
    let x = Table::f64(n, 3, (0..n * 3).map(|_| lcg.between(0.0, 8.0)).collect()).unwrap();
    let w = Table::f64(n, 1, (0..n).map(|_| lcg.unit()).collect()).unwrap();
    let problem: Problem = toml::from_str(ALL).unwrap();
    let problem = Problem { cells: Some(cells), precision: Some(Precision::F64), ..problem };
    let weigh = |f: &FoldSpec| match f {
        FoldSpec::Histogram { .. } => Some([w.clone(), w.clone()]),
        FoldSpec::Reduce { op: zipfold_core::fold::RowOp::Softmax, .. } => Some([w.clone(), w.clone()]),
        _ => None,
    };
    let weights = problem.folds.iter().map(weigh).collect();
    let job = describe(&problem, Data { x, y: None, weights }).unwrap();
    (problem, job)
}

fn share(problem: &Problem, job: &Job, shard: Option<(usize, usize)>) -> Vec<Output> {
    let options = zipfold::Options { shard, ..plain("scalar", 2, 128).options() };
    let plan = zipfold::plan::choose(job, &zipfold::cpu::detect(2, 1 << 32), &options.settings).unwrap();
    run(problem, job, plan, &Target::Memory, &options).unwrap().outputs
}

fn states(outputs: Vec<Output>) -> Vec<State> {
    outputs.into_iter().map(|o| if let Output::State(s) = o { s } else { State::Written }).collect()
}

#[test]
fn merged_shares_have_the_bits_of_the_whole() {
    for cells in [Cells::Square, Cells::Diagonal, Cells::Triangle, Cells::Ordered] {
        let (problem, job) = job(cells);
        let whole = share(&problem, &job, None);
        for parts in [1, 2, 3, 7] {
            let mut merged: Vec<State> = job.folds.iter().map(|f| f.identity(job.space.n, job.space.m)).collect();
            for index in 0..parts {
                let bytes =
                    encode(&Partial::start("key", states(share(&problem, &job, Some((index, parts)))))).unwrap();
                let part = decode(&bytes, "part").unwrap();
                for ((fold, into), from) in job.folds.iter().zip(&mut merged).zip(part.states) {
                    fold.merge(into, from);
                }
            }
            for (at, ((fold, got), wanted)) in job.folds.iter().zip(&merged).zip(&whole).enumerate() {
                let odd = difference(&of_state(fold, got), &of_output(fold, wanted), same);
                assert!(odd.is_none(), "{cells:?} fold {at} of {parts} parts: {}", odd.unwrap_or_default());
            }
        }
    }
}

#[test]
fn identity_is_neutral_and_absorbs_nothing() {
    let (problem, job) = job(Cells::Square);
    for (fold, state) in job.folds.iter().zip(states(share(&problem, &job, None))) {
        let mut left = fold.identity(job.space.n, job.space.m);
        fold.merge(&mut left, state.clone());
        assert_eq!(difference(&of_state(fold, &left), &of_state(fold, &state), same), None);
        let mut right = state.clone();
        fold.merge(&mut right, fold.identity(job.space.n, job.space.m));
        assert_eq!(difference(&of_state(fold, &right), &of_state(fold, &state), same), None);
    }
}

#[test]
fn damaged_partials_are_refused() {
    let state = States::small();
    let bytes = encode(&Partial::start("key", state)).unwrap();
    decode(&bytes, "whole").unwrap();
    for at in 0..bytes.len() {
        for flip in [1u8, 0x80, 0xff] {
            let mut bad = bytes.clone();
            bad[at] ^= flip;
            assert!(decode(&bad, "bad").is_err(), "byte {at} flipped by {flip}");
        }
        assert!(decode(&bytes[..at], "short").is_err(), "cut at {at}");
    }
}

struct States;
impl States {
    fn small() -> Vec<State> {
        let problem: Problem = toml::from_str(ALL).unwrap();
        let x = Table::f64(4, 3, (0..12).map(f64::from).collect()).unwrap();
        let weights = problem.folds.iter().map(|_| None).collect();
        let job = describe(&problem, Data { x, y: None, weights }).unwrap();
        states(share(&problem, &job, None))
    }
}

#[test]
fn any_bytes_give_a_partial_or_an_error() {
    let mut lcg = Lcg::new(3);
    for _ in 0..2000 {
        let payload: Vec<u8> = (0..lcg.below(80)).map(|_| lcg.bits() as u8).collect();
        let mut bytes = b"ZFPART\x00\x03".to_vec();
        let mut hash = zipfold::partial::Fnv::default();
        hash.add(&payload);
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(hash.finish().to_le_bytes());
        bytes.extend(payload);
        let _ = decode(&bytes, "random");
    }
}

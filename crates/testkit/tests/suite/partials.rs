//! Partials: shards merged through their file format give the bits of the whole, for every fold;
//! damaged bytes are refused.

use zipfold::internals::identity::Identity;
use zipfold::internals::partial::{Partial, decode, encode, seal};
use zipfold::internals::run::run;
use zipfold::{Output, Target};
use zipfold_core::fold::{State, Written};
use zipfold_core::problem::{FoldSpec, Problem};
use zipfold_core::{Data, Domain, Job, Precision, Table, describe};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{difference, of_output, of_state, same};
use zipfold_testkit::runner::plain;

const ALL: &str = r#"
schema = 1
x = { name = "x" }
pair = { metric = "euclidean" }
folds = [
  { kind = "reduce", op = "sum" },
  { kind = "reduce", op = "sum", axis = "column" },
  { kind = "reduce", op = "mean", axis = "all" },
  { kind = "reduce", op = "min" }, { kind = "reduce", op = "max" },
  { kind = "reduce", op = "argmin" }, { kind = "reduce", op = "argmax" },
  { kind = "reduce", op = "count" }, { kind = "reduce", op = "logsumexp" }, { kind = "reduce", op = "softmax" },
  { kind = "nearest", k = 5 }, { kind = "nearest", k = 3, largest = true },
  { kind = "histogram", axes = [{ bins = 20, range = [0.0, 10.0] }], mean = true, weights = "w" },
  { kind = "join", where = "euclidean(x, y) < 2", value = "x[0] * y[0]" },
  { kind = "join", where = "euclidean(x, y) < 0.3", join_kind = "semi" },
  { kind = "join", where = "euclidean(x, y) < 0.3", join_kind = "anti" },
]
"#;

fn job(domain: Domain) -> (Problem, Job) {
    let mut lcg = Lcg::new(5);
    let n = 700;
    let x = Table::f64(n, 3, (0..n * 3).map(|_| lcg.between(0.0, 8.0)).collect()).unwrap();
    let w = Table::f64(n, 1, (0..n).map(|_| lcg.unit()).collect()).unwrap();
    let problem: Problem = toml::from_str(ALL).unwrap();
    let problem = Problem {
        domain: Some(domain),
        precision: Some(Precision::F64),
        ..problem
    };
    let weigh = |f: &FoldSpec| match f {
        FoldSpec::Histogram { .. } => Some([w.clone(), w.clone()]),
        FoldSpec::Reduce {
            op: zipfold_core::fold::ReduceOp::Softmax,
            ..
        } => Some([w.clone(), w.clone()]),
        _ => None,
    };
    let weights = problem.folds.iter().map(weigh).collect();
    let job = describe(
        &problem,
        Data {
            pairs: None,
            x,
            y: None,
            weights,
        },
    )
    .unwrap();
    (problem, job)
}

fn shard(problem: &Problem, job: &Job, shard: Option<(usize, usize)>) -> Vec<Output> {
    let options = zipfold::Options {
        shard,
        ..plain("scalar", 2, 128).options()
    };
    let plan = zipfold::internals::plan::choose(
        job,
        &zipfold::internals::cpu::detect(2, 1 << 32),
        &options.overrides,
    )
    .unwrap();
    run(problem, job, plan, &Target::Memory, &options)
        .unwrap()
        .outputs
}

fn states(outputs: Vec<Output>) -> Vec<State> {
    outputs
        .into_iter()
        .map(|o| {
            if let Output::State(s) = o {
                s
            } else {
                State::Dense(Written)
            }
        })
        .collect()
}

#[test]
fn merged_shares_have_the_bits_of_the_whole() {
    for domain in [
        Domain::Square,
        Domain::Diagonal,
        Domain::Triangle,
        Domain::Ordered,
    ] {
        let (problem, job) = job(domain);
        let whole = shard(&problem, &job, None);
        for parts in [1, 2, 3, 7] {
            let mut merged: Vec<State> = job
                .folds
                .iter()
                .map(|f| f.start(job.space.n, job.space.m))
                .collect();
            for index in 0..parts {
                let bytes = encode(&Partial::start(
                    Identity::default(),
                    states(shard(&problem, &job, Some((index, parts)))),
                ))
                .unwrap();
                let part = decode(&bytes, "part").unwrap();
                for ((fold, into), from) in job.folds.iter().zip(&mut merged).zip(part.states) {
                    fold.merge(into, from);
                }
            }
            for (at, ((fold, got), wanted)) in job.folds.iter().zip(&merged).zip(&whole).enumerate()
            {
                let odd = difference(&of_state(fold, got), &of_output(fold, wanted), same);
                assert!(
                    odd.is_none(),
                    "{domain:?} fold {at} of {parts} parts: {}",
                    odd.unwrap_or_default()
                );
            }
        }
    }
}

#[test]
fn identity_is_neutral_and_absorbs_nothing() {
    let (problem, job) = job(Domain::Square);
    for (fold, state) in job.folds.iter().zip(states(shard(&problem, &job, None))) {
        let mut left = fold.start(job.space.n, job.space.m);
        fold.merge(&mut left, state.clone());
        assert_eq!(
            difference(&of_state(fold, &left), &of_state(fold, &state), same),
            None
        );
        let mut right = state.clone();
        fold.merge(&mut right, fold.start(job.space.n, job.space.m));
        assert_eq!(
            difference(&of_state(fold, &right), &of_state(fold, &state), same),
            None
        );
    }
}

#[test]
fn damaged_partials_are_refused() {
    let state = States::small();
    let bytes = encode(&Partial::start(Identity::default(), state)).unwrap();
    let _whole = decode(&bytes, "whole").unwrap();
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
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y: None,
                weights,
            },
        )
        .unwrap();
        states(shard(&problem, &job, None))
    }
}

#[test]
fn any_bytes_give_a_partial_or_an_error() {
    let mut lcg = Lcg::new(3);
    for _ in 0..2000 {
        let payload: Vec<u8> = (0..lcg.below(80)).map(|_| lcg.bits() as u8).collect();
        let bytes = seal(zipfold::internals::partial::MAGIC, &payload);
        let _ = decode(&bytes, "random");
    }
}

/// Bytes as damage or malice leave them.
fn mutated(lcg: &mut Lcg, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=lcg.below(3) {
        let at = lcg.below(bytes.len());
        match lcg.below(6) {
            0 => bytes[at] ^= 1 << lcg.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][lcg.below(5)],
            2 => bytes.truncate(at.max(1)),
            3 => {
                let (from, len) = (lcg.below(other.len()), lcg.below(40));
                bytes.splice(
                    at..at,
                    other[from..other.len().min(from + len)].iter().copied(),
                );
            }
            4 => {
                let end = bytes.len().min(at + 1 + lcg.below(20));
                bytes.drain(at..end.max(at + 1).min(bytes.len()));
                bytes.push(0);
            }
            // The largest numbers that there are, where the format has whole ones.
            _ => bytes
                .splice(
                    at..at + 1,
                    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
                )
                .for_each(drop),
        }
    }
    bytes
}

#[test]
fn partials_of_any_content_merge_or_are_refused() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let mut lcg = Lcg::new(17);
    let n = 200;
    let x = Table::f64(n, 3, (0..n * 3).map(|_| lcg.between(0.0, 3.0)).collect()).unwrap();
    let w = Table::f64(n, 1, (0..n).map(|_| lcg.unit()).collect()).unwrap();
    let options = || zipfold::Options {
        budget: zipfold::Budget::new(1 << 28),
        ..plain("scalar", 1, 128).options()
    };
    let rounds = if std::env::var_os("ZIPFOLD_LONG").is_some() {
        3000
    } else {
        250
    };
    let (mut refused, mut taken) = (0, 0);
    for fold in toml::from_str::<Problem>(ALL).unwrap().folds {
        let weighed = matches!(fold, FoldSpec::Histogram { .. });
        let problem = Problem {
            folds: vec![fold],
            domain: Some(Domain::Square),
            ..toml::from_str(ALL).unwrap()
        };
        let data = Data {
            pairs: None,
            x: x.clone(),
            y: None,
            weights: vec![weighed.then(|| [w.clone(), w.clone()])],
        };
        let shard = |index: usize| {
            let options = zipfold::Options {
                shard: Some((index, 2)),
                ..options()
            };
            let outcome = zipfold::Query::new(&problem, &data, &options)
                .run()
                .unwrap()
                .outcome;
            encode(&zipfold::shards::part(&problem, &outcome, (index, 2)).unwrap()).unwrap()
        };
        let parts = [shard(0), shard(1)];
        let first = decode(&parts[0], "first").unwrap();
        let how = options();
        let merge = |second: Partial| {
            let parts = vec![
                ("first".to_string(), first.clone()),
                ("second".to_string(), second),
            ];
            zipfold::shards::merge(&problem, &data, parts, &how)
        };
        let _ = merge(decode(&parts[1], "second").unwrap()).unwrap();
        for _ in 0..rounds {
            let bad = seal(
                zipfold::internals::partial::MAGIC,
                &mutated(&mut lcg, &parts[1][24..], &parts[0][24..]),
            );
            let done = catch_unwind(AssertUnwindSafe(|| decode(&bad, "second").and_then(merge)));
            match done {
                Ok(Ok(answer)) => {
                    let (job, outcome) = (answer.job, answer.outcome);
                    taken += 1;
                    for (fold, output) in job.folds.iter().zip(&outcome.outputs) {
                        let _ = of_output(fold, output);
                    }
                }
                Ok(Err(e)) => {
                    refused += 1;
                    assert!(e.blame() != zipfold_core::Blame::Internal, "{e}");
                }
                Err(_) => panic!("{:?}: a panic", problem.folds[0]),
            }
        }
    }
    println!(
        "{refused} refused, {taken} taken: their numbers were changed, which nothing tells from results"
    );
    assert!(refused > taken);
}

//! The BIF networks of `ZIPFOLD_DATA` against pyAgrum (all marginals, with and without evidence)
//! and toulbar2 (MAP).
//!
//! Both peers get the tables that were read here, in double precision (`peers.py`; `formats.rs`
//! holds the reader to pyAgrum's own). Networks of seconds always run where `ZIPFOLD_PYTHON` has
//! the peers; all of them where `ZIPFOLD_LONG` is set.

use std::path::{Path, PathBuf};
use std::process::Command;
use zipfold::network::{Settings, infer};
use zipfold_core::Budget;
use zipfold_core::Random;
use zipfold_core::factor::{Answer, Evidence, Network, Task};
use zipfold_io::network::read_network;

const QUICK: [&str; 8] = [
    "alarm",
    "asia",
    "child",
    "hailfinder",
    "mildew",
    "pathfinder",
    "pigs",
    "water",
];
const LONG: [&str; 3] = ["barley", "diabetes", "munin"];
/// pyAgrum runs out of memory on it.
const NO_MARGINALS: &str = "link";

fn peers() -> (PathBuf, PathBuf) {
    let python = std::env::var_os("ZIPFOLD_PYTHON").expect("ZIPFOLD_PYTHON is set");
    let has = Command::new(&python)
        .args(["-c", "import pyagrum, pytoulbar2"])
        .output();
    assert!(
        has.is_ok_and(|o| o.status.success()),
        "the Python of ZIPFOLD_PYTHON lacks pyagrum or pytoulbar2"
    );
    (python.into(), data().join("bif"))
}

fn data() -> PathBuf {
    std::env::var_os("ZIPFOLD_DATA")
        .expect("ZIPFOLD_DATA is set")
        .into()
}

fn read(folder: &Path, name: &str) -> Network {
    read_network(
        &folder.join(format!("{name}.bif.gz")),
        &Budget::new(1 << 30),
    )
    .unwrap()
}

fn ask(net: &Network, seen: &Evidence, task: &Task) -> Answer {
    infer(net, seen, task, &Settings::default()).unwrap().answer
}

/// States of twenty variables (half of them in small networks) in one sample of the network.
fn sampled(net: &Network, seed: u64) -> Evidence {
    let Answer::Samples(_, rows) = ask(net, &Evidence::none(), &Task::Samples(1)) else {
        panic!("no sample")
    };
    let mut random = Random::new(seed);
    let mut left: Vec<usize> = (0..net.cards().len()).collect();
    let many = 20.min(left.len() / 2);
    let pick = |_| left.swap_remove(random.below(left.len()));
    let chosen: Vec<usize> = (0..many).map(pick).collect();
    Evidence::new(chosen.into_iter().map(|v| (v, rows[0][v])), net.cards()).unwrap()
}

fn peer_answer(
    python: &Path,
    net: &Network,
    name: &str,
    evidence: &[&Evidence],
) -> serde_json::Value {
    let scratch = std::env::temp_dir().join(format!("zipfold-peers-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let (problem, answer) = (scratch.join("network.json"), scratch.join("answer.json"));
    let factors: Vec<_> = net
        .factors()
        .iter()
        .map(|f| (f.scope(), f.values()))
        .collect();
    let pairs: Vec<Vec<(usize, usize)>> = evidence.iter().map(|e| e.iter().collect()).collect();
    let text = serde_json::json!({"cards": net.cards(), "factors": factors, "evidence": pairs})
        .to_string();
    std::fs::write(&problem, text).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers.py");
    let done = Command::new(python)
        .arg(script)
        .arg(&problem)
        .arg(&answer)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let found = serde_json::from_str(&std::fs::read_to_string(&answer).unwrap()).unwrap();
    std::fs::remove_dir_all(&scratch).unwrap();
    found
}

fn worst(rows: &[Vec<f64>], want: &serde_json::Value) -> f64 {
    let want: Vec<Vec<f64>> = serde_json::from_value(want.clone()).unwrap();
    assert_eq!(rows.len(), want.len());
    rows.iter()
        .flatten()
        .zip(want.iter().flatten())
        .map(|(p, q)| (p - q).abs())
        .fold(0.0, f64::max)
}

/// A value that toulbar2 proved is equal; one that it did not prove is no larger.
fn same_mode(name: &str, net: &Network, found: &serde_json::Value) {
    let Answer::Map(log10, states) = ask(net, &Evidence::none(), &Task::Map) else {
        panic!("{name}: no state")
    };
    let value = |f: &zipfold_core::factor::Factor| {
        let at = f
            .scope()
            .iter()
            .fold(0, |at, v| at * net.cards()[*v] + states[*v]);
        f.values()[at].log10()
    };
    let evaluated: f64 = net.factors().iter().map(value).sum();
    assert!(
        (log10 - evaluated).abs() < 1e-9,
        "{name}: {log10} but its states have {evaluated}"
    );
    let Some(peer) = found["map"].as_f64() else {
        return println!("{name}: toulbar2 has no value");
    };
    let proven = found["proven"].as_bool().unwrap_or(false);
    println!(
        "{name}: MAP {log10}, toulbar2 {peer}{}",
        if proven { "" } else { " (not proven)" }
    );
    assert!(
        log10 >= peer - 1e-6 && (!proven || log10 <= peer + 1e-6),
        "{name}: {log10} but {peer}"
    );
}

fn check(python: &Path, folder: &Path, name: &str) {
    let net = read(folder, name);
    let (none, some) = (Evidence::none(), sampled(&net, 20));
    let found = peer_answer(python, &net, name, &[&none, &some]);
    for (at, seen) in [none, some].iter().enumerate() {
        let Answer::Mar(_, rows) = ask(&net, seen, &Task::Mar) else {
            panic!("{name}: impossible")
        };
        let off = worst(&rows, &found["posteriors"][at]);
        println!(
            "{name}: {} observed, marginals within {off:.1e}",
            seen.len()
        );
        assert!(
            off <= 1e-9,
            "{name}: {} observed, marginals differ by {off:e}",
            seen.len()
        );
    }
    same_mode(name, &net, &found);
}

#[test]
#[ignore = "needs pyagrum, data"]
fn bif_networks_agree_with_pyagrum_and_toulbar2() {
    let (python, folder) = peers();
    QUICK.iter().for_each(|net| check(&python, &folder, net));
    if std::env::var_os("ZIPFOLD_LONG").is_none() {
        return;
    }
    LONG.iter().for_each(|net| check(&python, &folder, net));
    let net = read(&folder, NO_MARGINALS);
    same_mode(
        NO_MARGINALS,
        &net,
        &peer_answer(&python, &net, NO_MARGINALS, &[]),
    );
}

/// Where pyAgrum has no answer: every marginal is the probability of its state as evidence, by a
/// plan of its own.
#[test]
#[ignore = "needs data"]
fn marginals_of_link_are_probabilities_of_evidence() {
    let net = read(&data().join("bif"), NO_MARGINALS);
    for seen in [Evidence::none(), sampled(&net, 7)] {
        let Answer::Mar(whole, rows) = ask(&net, &seen, &Task::Mar) else {
            panic!("impossible")
        };
        for v in (0..net.cards().len())
            .step_by(36)
            .filter(|v| seen.get(*v).is_none())
        {
            let mut more = seen.clone();
            more.add(v, 1, net.cards()).unwrap();
            let share = match ask(&net, &more, &Task::Pr) {
                Answer::Pr(log10) => 10f64.powf(log10 - whole),
                _ => 0.0,
            };
            assert!(
                (share - rows[v][1]).abs() < 1e-9,
                "{}: {share} but {}",
                net.name(v),
                rows[v][1]
            );
        }
    }
}

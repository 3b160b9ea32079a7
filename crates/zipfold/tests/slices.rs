//! Slices that processes share out over one folder: every task has the bits of one process, with
//! any number of them, and what belongs to another question is refused.

use std::path::PathBuf;
use std::time::Duration;
use zipfold::internals::infer::{Settings, infer};
use zipfold::internals::plan::Overrides;
use zipfold::internals::product::plan::Grouping;
use zipfold::internals::slices::{SliceStore, status};
use zipfold::{Budget, Warnings};
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Task};
use zipfold_core::{Precision, Random};

/// A grid of `side` × `side` variables with three states, and random tables.
fn grid(side: usize, seed: u64) -> Network {
    let cards = vec![3; side * side];
    let mut random = Random::new(seed);
    let mut table = |a: usize, b: usize| {
        let values = (0..9).map(|_| 0.05 + random.unit()).collect();
        Factor::new(vec![a, b], values, &cards).unwrap()
    };
    let mut factors = vec![];
    for row in 0..side {
        for col in 0..side {
            let at = row * side + col;
            if col + 1 < side {
                factors.push(table(at, at + 1));
            }
            if row + 1 < side {
                factors.push(table(at, at + side));
            }
        }
    }
    Network::new(Kind::Markov, cards, factors).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("zipfold-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn settings(slices: usize, store: Option<PathBuf>) -> Settings {
    let lease = Duration::from_secs(60);
    let slices = slices.to_string();
    let choices = [
        ("product.method", "elimination"),
        ("product.slices", &slices),
    ];
    Settings {
        overrides: Overrides::read(choices).unwrap(),
        memory: 1 << 30,
        grouping: Grouping::Joint,
        store: store.map(|path| SliceStore { path, lease }),
        ..Settings::default()
    }
}

fn ask(network: &Network, task: &Task, settings: &Settings) -> zipfold::Result<Answer> {
    let none = Evidence::none();
    Ok(infer(network, &none, task, settings)?.answer)
}

#[test]
fn every_task_has_the_bits_of_one_process() {
    let network = grid(5, 7);
    let tasks = [
        Task::Pr,
        Task::Mar,
        Task::Map,
        Task::Mmap(vec![0, 7, 13]),
        Task::Sum(vec![3, 20]),
        Task::Samples(5),
    ];
    for (at, task) in tasks.iter().enumerate() {
        // Marginals by groups of variables have the slices of all groups.
        let ways = [
            (Precision::F64, Grouping::Joint),
            (Precision::F32, Grouping::Joint),
            (Precision::F64, Grouping::Split),
        ];
        for (precision, grouping) in ways {
            let wanted = Settings {
                precision,
                grouping,
                ..settings(9, None)
            };
            let wanted = ask(&network, task, &wanted).unwrap();
            for processes in [1, 3] {
                let path = folder(&format!(
                    "slices-{at}-{processes}-{precision:?}-{grouping:?}"
                ));
                let own = || Settings {
                    precision,
                    grouping,
                    warnings: Warnings::default(),
                    ..settings(9, Some(path.clone()))
                };
                let got: Vec<Answer> = std::thread::scope(|scope| {
                    let start = |_| scope.spawn(|| ask(&network, task, &own()).unwrap());
                    let all: Vec<_> = (0..processes).map(start).collect();
                    all.into_iter().map(|one| one.join().unwrap()).collect()
                });
                assert!(
                    got.iter().all(|got| *got == wanted),
                    "{task:?} by {processes}: {got:?} {wanted:?}"
                );
                // A process that comes later finds every part.
                assert_eq!(ask(&network, task, &own()).unwrap(), wanted);
                // A plan by groups may have one slice, and then leaves no folder.
                let unused = !path.exists();
                assert!(
                    !unused || grouping == Grouping::Split,
                    "{task:?} {precision:?}"
                );
                let _ = std::fs::remove_dir_all(&path);
            }
        }
    }
}

#[test]
fn shares_of_lost_processes_are_taken_over_and_told() {
    let (network, path) = (grid(5, 7), folder("slices-lost"));
    let (budget, life) = (Budget::new(1 << 30), Duration::from_secs(60));
    assert!(status(&path, life, &budget).unwrap().is_none());
    let own = settings(9, Some(path.clone()));
    let wanted = ask(&network, &Task::Pr, &own).unwrap();
    let done = status(&path, life, &budget).unwrap().expect("a store");
    assert!(done.shares >= 9 && done.done == done.shares, "{done:?}");
    // A part is gone, and its lease is that of a process that has gone, too.
    std::fs::remove_file(path.join("parts/000002")).unwrap();
    let gone = r#"{"who":{"host":"gone","process":1,"number":"00000000000000000000000000000000"},"lost":0,"beat":3}"#;
    let lease = path.join("leases/000002");
    std::fs::write(&lease, gone).unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(600);
    let file = std::fs::File::options().write(true).open(&lease).unwrap();
    file.set_modified(old).unwrap();
    let left = status(&path, life, &budget).unwrap().expect("a store");
    assert_eq!((left.done, &left.missing[..]), (left.shares - 1, &[2][..]));
    assert!(left.running[0].lost, "{left:?}");
    assert_eq!(ask(&network, &Task::Pr, &own).unwrap(), wanted);
    assert!(!lease.exists());
    // A damaged part is told, by its name.
    std::fs::write(path.join("parts/000003"), b"what is this").unwrap();
    let refused = ask(&network, &Task::Pr, &own).unwrap_err().to_string();
    let again = "remove this file, and ask the same question again";
    assert!(
        refused.contains("000003") && refused.contains(again),
        "{refused}"
    );
    std::fs::remove_file(path.join("parts/000003")).unwrap();
    assert_eq!(ask(&network, &Task::Pr, &own).unwrap(), wanted);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_store_of_another_question_is_refused_and_one_without_use_is_told() {
    let (network, path) = (grid(5, 7), folder("slices-other"));
    let own = settings(9, Some(path.clone()));
    ask(&network, &Task::Pr, &own).unwrap();
    let others = [
        (
            ask(&grid(5, 8), &Task::Pr, &own),
            "the numbers of the network or the evidence are not those",
        ),
        (
            ask(&network, &Task::Map, &own),
            "the task is not the same: this process has map",
        ),
        (
            ask(&network, &Task::Pr, &settings(27, Some(path.clone()))),
            "the variables of the network, their order or the slices are not those",
        ),
    ];
    for (other, what) in others {
        let said = other.unwrap_err().to_string();
        for words in [
            what,
            "the store was begun with",
            "slices.json",
            "another folder",
        ] {
            assert!(said.contains(words), "{said}");
        }
    }
    let unused = folder("slices-unused");
    let whole = settings(1, Some(unused.clone()));
    let none = Evidence::none();
    let done = infer(&network, &none, &Task::Pr, &whole).unwrap();
    let told: Vec<String> = done.warnings.iter().map(ToString::to_string).collect();
    assert!(told[0].contains("no slices"), "{told:?}");
    assert!(!unused.exists());
    std::fs::remove_dir_all(&path).unwrap();
}

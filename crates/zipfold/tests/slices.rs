//! Slices that processes share out over one folder: every task has the bits of one process, with
//! any number of them, and what belongs to another question is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use zipfold::Budget;
use zipfold::devices::DeviceSelector;
use zipfold::internals::infer::{Settings, infer};
use zipfold::internals::plan::Overrides;
use zipfold::internals::product::plan::Grouping;
use zipfold::internals::slices::{SharedInference, SliceStore, status};
use zipfold::internals::store::Habits;
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Task};
use zipfold_core::message::{Wording, keys};
use zipfold_core::{Blame, Precision, Random};

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
        store: store.map(|path| SliceStore::new(path, lease)),
        ..Settings::default()
    }
}

/// Nine slices in this precision, marginals by these groups.
fn by(precision: Precision, grouping: Grouping, store: Option<PathBuf>) -> Settings {
    Settings {
        precision,
        grouping,
        ..settings(9, store)
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
            let wanted = ask(&network, task, &by(precision, grouping, None)).unwrap();
            for processes in [1, 3] {
                let path = folder(&format!(
                    "slices-{at}-{processes}-{precision:?}-{grouping:?}"
                ));
                let own = || by(precision, grouping, Some(path.clone()));
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

/// Time between two checkpoints inside a share.
const OFTEN: Duration = Duration::ZERO;

/// The file of a store whose name begins so.
fn begins(path: &Path, with: &str) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(path)
        .ok()?
        .map(|file| file.unwrap().path());
    files.find(|file| {
        file.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(with)
    })
}

/// The question of a planned store, and the habits of its workers.
fn planned(network: &Network, task: &Task, settings: Settings) -> SharedInference {
    let observed = (network.clone(), Evidence::none());
    SharedInference::new(observed, (task.clone(), vec![]), settings)
}

fn there(path: &Path) -> SharedInference {
    SharedInference::there(path, &Budget::new(1 << 30)).unwrap()
}

/// Every task, planned once, has the bits of one process from its parts, which workers compute by
/// their numbers or until none is left.
#[test]
fn planned_inferences_have_the_bits_of_one_process() {
    let network = grid(5, 7);
    let tasks = [
        Task::Pr,
        Task::Mar,
        Task::Map,
        Task::Sum(vec![3, 20]),
        Task::Samples(5),
    ];
    for (at, task) in tasks.iter().enumerate() {
        let ways = [
            (Precision::F64, Grouping::Joint),
            (Precision::F32, Grouping::Auto),
            (Precision::F64, Grouping::Split),
        ];
        for (precision, grouping) in ways {
            let own = by(precision, grouping, None);
            let wanted = ask(&network, task, &own).unwrap();
            let path = folder(&format!("planned-{at}-{precision:?}-{grouping:?}"));
            let plan = match planned(&network, task, own).plan(&path, Some(3)) {
                // Groups of few variables need no slices.
                Err(e) if grouping == Grouping::Split => {
                    assert!(e.to_string().contains("got one that has none"), "{e}");
                    continue;
                }
                plan => plan.unwrap(),
            };
            assert_eq!((plan.shares(), plan.slices() >= 9), (3, true));
            let missing = there(&path).merge(&path).unwrap_err().to_string();
            assert!(
                missing.contains("0 of 3 shares are there: missing 1-3"),
                "{missing}"
            );
            let habits = Habits::default();
            let first = there(&path).work(&path, Some(2), (&habits, OFTEN), (keys, None));
            assert_eq!(first.unwrap().done, [2]);
            let worked: Vec<usize> = std::thread::scope(|scope| {
                let start = || {
                    there(&path)
                        .work(&path, None, (&habits, OFTEN), (keys, None))
                        .unwrap()
                };
                let all = [scope.spawn(start), scope.spawn(start)];
                all.into_iter()
                    .flat_map(|one| one.join().unwrap().done)
                    .collect()
            });
            assert_eq!(worked.iter().sum::<usize>(), 1 + 3, "{worked:?}");
            assert_eq!(
                there(&path).merge(&path).unwrap().answer,
                wanted,
                "{task:?}"
            );
            std::fs::remove_dir_all(&path).unwrap();
        }
    }
}

/// A plan for a device is fused for its kernels once, when it is planned.
#[test]
#[ignore = "needs opencl"]
fn planned_inferences_have_the_bits_of_one_process_on_a_device() {
    let network = grid(6, 3);
    for (at, task) in [Task::Pr, Task::Mar, Task::Map].iter().enumerate() {
        for joins in ["all", "time"] {
            let mut own = settings(9, None);
            own.overrides.set("product.joins", joins).unwrap();
            own.device = DeviceSelector::parse("opencl").unwrap();
            let wanted = ask(&network, task, &own).unwrap();
            let path = folder(&format!("planned-device-{at}-{joins}"));
            planned(&network, task, own).plan(&path, Some(3)).unwrap();
            let habits = Habits::default();
            let worked = there(&path).work(&path, None, (&habits, OFTEN), (keys, None));
            assert_eq!(worked.unwrap().done.len(), 3);
            assert_eq!(
                there(&path).merge(&path).unwrap().answer,
                wanted,
                "{task:?}"
            );
            std::fs::remove_dir_all(&path).unwrap();
        }
    }
}

#[test]
fn an_interrupted_share_of_an_inference_goes_on() {
    let (network, path) = (grid(6, 7), folder("planned-interrupted"));
    let (own, habits) = (settings(243, None), Habits::default());
    let wanted = ask(&network, &Task::Pr, &own).unwrap();
    let checkpoint = path.join("running/000001");
    // A worker may be done before anybody stops it: then it is asked again, in a new folder.
    let interrupted = (0..100).any(|_| {
        let _ = std::fs::remove_dir_all(&path);
        let mut asked = planned(&network, &Task::Pr, own.clone());
        asked.plan(&path, Some(1)).unwrap();
        let (stop, ended) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
        let worked = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !checkpoint.exists() && !ended.load(Ordering::Relaxed) {}
                stop.store(true, Ordering::Relaxed);
            });
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
            let told = (keys as Wording, Some(stop.clone()));
            let work = || there(&path).work(&path, Some(1), (&habits, OFTEN), told);
            let worked = pool.unwrap().install(work);
            ended.store(true, Ordering::Relaxed);
            worked
        });
        worked.is_err_and(|e| e.blame() == Blame::Interrupted)
    });
    assert!(interrupted && checkpoint.exists());
    assert!(!path.join("parts/000001").exists());
    // The next worker goes on to the end, and leaves no checkpoint.
    let done = there(&path).work(&path, None, (&habits, OFTEN), (keys, None));
    assert_eq!(done.unwrap().done, [1]);
    assert!(!checkpoint.exists());
    assert_eq!(there(&path).merge(&path).unwrap().answer, wanted);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn inferences_that_cannot_be_planned_are_refused_and_leave_no_store() {
    let (network, path) = (grid(5, 7), folder("planned-refused"));
    let plan = |task: &Task, slices: usize, shares: usize| {
        let mut asked = planned(&network, task, settings(slices, None));
        asked.plan(&path, Some(shares)).unwrap_err().to_string()
    };
    let refused = [
        (
            plan(&Task::Mmap(vec![0]), 9, 3),
            "expected a task of one stage, got mmap",
        ),
        (plan(&Task::Pr, 1, 1), "got one that has none to share out"),
        (plan(&Task::Pr, 9, 999), "expected shares, got 999"),
    ];
    for (said, what) in refused {
        assert!(said.contains(what), "{said}");
        assert!(
            SharedInference::read(&path, &Budget::new(1 << 30))
                .unwrap()
                .is_none()
        );
        assert!(begins(&path, "inference").is_none(), "{said}");
    }
    let mut asked = planned(&network, &Task::Pr, settings(9, None));
    asked.plan(&path, Some(3)).unwrap();
    let twice = asked.plan(&path, Some(3)).unwrap_err().to_string();
    assert!(twice.contains("a store already"), "{twice}");
    let odd = there(&path).work(&path, Some(4), (&Habits::default(), OFTEN), (keys, None));
    let odd = odd.unwrap_err().to_string();
    assert!(
        odd.contains("expected a share, got 4") && odd.contains("1 to 3"),
        "{odd}"
    );
    // Each file of the plan that is damaged is named, and a part, too.
    there(&path)
        .work(&path, None, (&Habits::default(), OFTEN), (keys, None))
        .unwrap();
    for name in ["inference", "order", "parts/000002"] {
        let file = begins(&path, name).unwrap_or(path.join(name));
        let whole = std::fs::read(&file).unwrap();
        for at in [3, 9, 20, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 16;
            std::fs::write(&file, bytes).unwrap();
            let read = SharedInference::there(&path, &Budget::new(1 << 30));
            let said = read
                .and_then(|asked| asked.merge(&path))
                .unwrap_err()
                .to_string();
            assert!(said.contains(name), "{name} {at}: {said}");
        }
        std::fs::write(&file, whole).unwrap();
    }
    assert!(there(&path).merge(&path).is_ok());
    // Parts of another share, of another question, and a plan with other numbers.
    let [second, third] = ["parts/000002", "parts/000003"].map(|name| path.join(name));
    let (two, three) = (
        std::fs::read(&second).unwrap(),
        std::fs::read(&third).unwrap(),
    );
    std::fs::write(&second, three).unwrap();
    let said = there(&path).merge(&path).unwrap_err().to_string();
    assert!(
        said.contains("000002") && said.contains("of another share"),
        "{said}"
    );
    let (other, copy) = (grid(5, 8), folder("planned-copied"));
    planned(&other, &Task::Pr, settings(9, None))
        .plan(&copy, Some(3))
        .unwrap();
    there(&copy)
        .work(&copy, None, (&Habits::default(), OFTEN), (keys, None))
        .unwrap();
    std::fs::copy(copy.join("parts/000002"), &second).unwrap();
    let said = there(&path).merge(&path).unwrap_err().to_string();
    assert!(said.contains("of another question"), "{said}");
    std::fs::write(&second, two).unwrap();
    let plan = std::fs::read_to_string(path.join("slices.json")).unwrap();
    for (from, to) in [
        ("\"slices\": 9", "\"slices\": 7"),
        ("\"shares\": 3", "\"shares\": 4"),
        ("\"shares\": 3", "\"shares\": 400"),
    ] {
        assert!(plan.contains(from), "{plan}");
        std::fs::write(path.join("slices.json"), plan.replacen(from, to, 1)).unwrap();
        let read = SharedInference::there(&path, &Budget::new(1 << 30));
        assert!(read.and_then(|asked| asked.merge(&path)).is_err(), "{to}");
    }
    // Parts that are left from another plan are not taken for those of a new one.
    std::fs::remove_file(path.join("slices.json")).unwrap();
    let left = planned(&other, &Task::Pr, settings(9, None)).plan(&path, Some(3));
    assert!(left.unwrap_err().to_string().contains("a store already"));
    std::fs::remove_dir_all(&copy).unwrap();
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

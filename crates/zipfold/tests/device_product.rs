//! Networks with joins on a device against the host alone.

use zipfold::Overrides;
use zipfold::devices::{DeviceSelector, Runtime, Which};
use zipfold::internals::contract::{
    Entries, Numeric, PreparedOnDevice, contract, contract_numbers,
};
use zipfold::internals::product::plan::Grouping;
use zipfold::network::{Inferred, Planned, Settings, infer};
use zipfold_core::factor::{
    Answer, Evidence, Factor, Kind, LogSumExp, MaxProduct, MinSum, Network, SumProduct, Task,
};
use zipfold_core::{Precision, Random};

/// A ring of variables with some chords, so that joins are products of matrices and of more tables.
fn network(random: &mut Random, variables: usize, wild: bool) -> Network {
    let cards: Vec<usize> = (0..variables).map(|_| 2 + random.below(2)).collect();
    let edges = (0..variables).flat_map(|v| {
        [
            (v, (v + 1) % variables),
            (v, (v + 3) % variables),
            (v, (v + variables / 2) % variables),
        ]
    });
    let mut factors: Vec<Factor> = vec![];
    for (a, b) in edges.collect::<Vec<_>>() {
        if a != b {
            let entry = |random: &mut Random| match random.below(7) {
                0 if random.below(3) == 0 => 0.0,
                _ if wild => (random.unit() * 1200.0 - 600.0).exp2(),
                _ => random.unit() + 0.01,
            };
            let values = (0..cards[a] * cards[b]).map(|_| entry(random)).collect();
            factors.push(Factor::new(vec![a, b], values, &cards).unwrap());
        }
    }
    Network::new(Kind::Markov, cards, factors).unwrap()
}

fn ask(
    network: &Network,
    task: &Task,
    overrides: &[(&str, &str)],
    settings: &Settings,
) -> Inferred {
    let overrides = Overrides::read(overrides.iter().copied()).unwrap();
    infer(
        network,
        &Evidence::none(),
        task,
        &Settings {
            overrides,
            ..settings.clone()
        },
    )
    .unwrap()
}

fn close(a: f64, b: f64, within: f64) -> bool {
    a == b || (a - b).abs() <= within * (1.0 + b.abs())
}

fn compare(got: &Answer, want: &Answer, within: f64, what: &str) {
    let all = |a: &[f64], b: &[f64]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(*a, *b, within))
    };
    let same = match (got, want) {
        (Answer::Pr(a), Answer::Pr(b)) => close(*a, *b, within),
        (Answer::Mar(a, x), Answer::Mar(b, y)) => {
            close(*a, *b, within) && all(&x.concat(), &y.concat())
        }
        (Answer::Map(a, x), Answer::Map(b, y)) => close(*a, *b, within) && x == y,
        (Answer::Mmap(a, x), Answer::Mmap(b, y)) => close(*a, *b, within) && x == y,
        (Answer::Sum(_, x, a), Answer::Sum(_, y, b)) => {
            let scaled: Vec<f64> = x.iter().map(|v| v * 10f64.powf(a - b)).collect();
            all(&scaled, y)
        }
        (Answer::Samples(a, x), Answer::Samples(b, y)) => {
            close(*a, *b, within) && x.len() == y.len()
        }
        (Answer::Impossible, Answer::Impossible) => true,
        _ => false,
    };
    assert!(same, "{what}: got {got:?}, expected {want:?}");
}

#[test]
#[ignore = "needs opencl"]
fn every_task_has_the_answer_of_the_host() {
    let mut random = Random::new(4);
    let host = Settings {
        device: DeviceSelector::Cpu,
        ..Settings::default()
    };
    let mut joined = 0;
    for round in 0..6 {
        let network = network(&mut random, 8 + round, round % 3 == 2);
        let kept = vec![1, 4];
        let tasks = [
            Task::Pr,
            Task::Mar,
            Task::Map,
            Task::Sum(kept.clone()),
            Task::Mmap(kept),
            Task::Samples(3),
        ];
        for task in tasks {
            for (precision, within) in [(Precision::F64, 1e-12), (Precision::F32, 1e-4)] {
                if precision == Precision::F32 && matches!(task, Task::Map | Task::Mmap(_)) {
                    continue;
                }
                let host = Settings {
                    precision,
                    ..host.clone()
                };
                let beside = Settings {
                    device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
                    ..host.clone()
                };
                let want = ask(&network, &task, &[], &host);
                let got = ask(&network, &task, &[("product.joins", "all")], &beside);
                compare(
                    &got.answer,
                    &want.answer,
                    within,
                    &format!("round {round} {task:?} {precision:?}"),
                );
                assert!(
                    want.device.is_none() && got.warnings.is_empty(),
                    "{:?}",
                    got.warnings
                );
                assert!(
                    got.device.is_some()
                        || got.plan.whole().is_none()
                        || matches!(task, Task::Mmap(_)),
                    "{task:?}"
                );
                joined += usize::from(got.device.is_some());
            }
        }
    }
    assert!(joined > 40, "{joined} of 60 had joins on the device");
}

#[test]
#[ignore = "needs opencl"]
fn the_paged_kernel_has_the_answer_of_the_host_with_every_choice() {
    let mut random = Random::new(9);
    let host = Settings {
        device: DeviceSelector::Cpu,
        ..Settings::default()
    };
    let beside = Settings {
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        ..host.clone()
    };
    // A compiler takes long for each shape of a join.
    let choices: [&[(&str, &str)]; 4] = [
        &[("product.knapsack", "greedy")],
        &[("product.cache", "0"), ("product.unroll", "off")],
        &[
            ("product.cache", "256"),
            ("product.pages", "3"),
            ("product.knapsack", "exact"),
            ("product.unroll", "2"),
        ],
        &[],
    ];
    let mut joined = 0;
    for (round, more) in choices.into_iter().enumerate() {
        // Products of matrices read an entry often; tables of few variables read most of them once.
        let network = match round {
            0 => ring(6, 20),
            _ => network(&mut random, 7, round == 2),
        };
        let task = [Task::Mar, Task::Pr, Task::Map, Task::Pr][round].clone();
        let mut all = vec![("product.joins", "all"), ("product.kernel", "paged")];
        all.extend(more);
        let want = ask(&network, &task, &[], &host);
        let got = ask(&network, &task, &all, &beside);
        let what = format!("{task:?} {all:?}");
        compare(&got.answer, &want.answer, 1e-12, &what);
        assert!(got.warnings.is_empty(), "{:?}", got.warnings);
        let paged = got
            .device
            .as_ref()
            .and_then(|d| d.paged)
            .expect("joins by pages");
        joined += paged.joins;
        assert!(paged.rate > 0.0, "{paged:?}");
        // Without a cache nothing is served; with one that was chosen most is.
        assert!(round != 1 || paged.hit_rate == 0.0, "{paged:?}");
        assert!(
            round != 0 || (0.1..1.0).contains(&paged.hit_rate),
            "{paged:?}"
        );
    }
    assert!(joined > 2, "{joined} joins by pages");
}

#[test]
fn choices_of_the_paged_kernel_are_refused_without_it() {
    let network = network(&mut Random::new(9), 9, false);
    let asked = |overrides: &[(&str, &str)], device| {
        let overrides = Overrides::read(overrides.iter().copied()).unwrap();
        let settings = Settings {
            overrides,
            device,
            ..Settings::default()
        };
        infer(&network, &Evidence::none(), &Task::Pr, &settings).map(|_| ())
    };
    let message = asked(&[("product.cache", "64")], DeviceSelector::Cpu)
        .unwrap_err()
        .to_string();
    assert!(message.contains("product.kernel=paged"), "{message}");
}

#[test]
#[ignore = "needs opencl"]
fn a_cache_beyond_the_shared_memory_is_refused() {
    let mut random = Random::new(9);
    let settings = Settings {
        overrides: Overrides::read([
            ("product.kernel", "paged"),
            ("product.cache", "1099511627776"),
            ("product.joins", "all"),
        ])
        .unwrap(),
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        ..Settings::default()
    };
    let asked = |n: &Network| infer(n, &Evidence::none(), &Task::Pr, &settings).err();
    let message = (0..9)
        .find_map(|_| asked(&network(&mut random, 12, false)))
        .expect("a refusal")
        .to_string();
    assert!(message.contains("bytes of shared memory"), "{message}");
}

/// A ring of `many` variables of `card` values: the joins are products of matrices.
fn ring(many: usize, card: usize) -> Network {
    let mut random = Random::new(8);
    let cards = vec![card; many];
    let table = |v: usize| {
        let values = (0..card * card).map(|_| random.unit() + 0.1).collect();
        Factor::new(vec![v, (v + 1) % many], values, &cards).unwrap()
    };
    Network::new(Kind::Markov, cards.clone(), (0..many).map(table).collect()).unwrap()
}

/// A grid on a torus, of binary variables.
fn torus(side: usize) -> Network {
    let mut random = Random::new(7);
    let cards = vec![2; side * side];
    let edges = (0..side * side).flat_map(|at| {
        let (row, column) = (at / side, at % side);
        [
            (at, row * side + (column + 1) % side),
            (at, (row + 1) % side * side + column),
        ]
    });
    let table = |(a, b)| {
        let values = (0..4).map(|_| random.unit() + 0.1).collect();
        Factor::new(vec![a, b], values, &cards).unwrap()
    };
    Network::new(Kind::Markov, cards.clone(), edges.map(table).collect()).unwrap()
}

#[test]
#[ignore = "needs opencl"]
fn slices_on_a_device_have_the_answer_of_the_host() {
    let network = torus(8);
    for task in [Task::Pr, Task::Mar] {
        let host = Settings {
            device: DeviceSelector::Cpu,
            ..Settings::default()
        };
        let want = ask(&network, &task, &[], &host);
        let memory = want.peak_bytes * 3 / 4;
        let beside = Settings {
            device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
            memory,
            ..host
        };
        let got = ask(&network, &task, &[("product.joins", "all")], &beside);
        assert!(
            got.device.is_some() && got.plan.whole().is_some_and(|p| !p.sliced.is_empty()),
            "{task:?} not sliced"
        );
        compare(
            &got.answer,
            &want.answer,
            1e-12,
            &format!("{task:?} in slices"),
        );
    }
}

/// What says that this process has several devices.
const SEVERAL: &str = "ZIPFOLD_SEVERAL_DEVICES";

/// Whether this process has several devices; where it has one, `me` was run in another.
fn has_several(me: &str) -> bool {
    if std::env::var_os(SEVERAL).is_some() {
        return true;
    }
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args([me, "--exact", "--ignored", "--nocapture"])
        .envs([(SEVERAL, "1"), ("POCL_DEVICES", "basic basic pthread")])
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    false
}

#[test]
#[ignore = "needs opencl"]
fn several_devices_share_out_slices_and_change_no_bit() {
    if !has_several("several_devices_share_out_slices_and_change_no_bit") {
        return;
    }
    let network = torus(6);
    let host = Settings {
        device: DeviceSelector::Cpu,
        ..Settings::default()
    };
    let cut = ("product.slices", "8");
    let all = ("product.joins", "all");
    // Others may leave a device no slice to be lost at.
    let mut told = 0;
    for task in [
        Task::Pr,
        Task::Mar,
        Task::Map,
        Task::Sum(vec![3, 20]),
        Task::Samples(5),
    ] {
        let want = ask(&network, &task, &[cut], &host);
        assert_eq!(want.plan.whole().map(|plan| plan.slices()), Some(8));
        let on = |devices: &str| Settings {
            device: DeviceSelector::parse(devices).unwrap(),
            ..host.clone()
        };
        let one = ask(&network, &task, &[cut, all], &on("opencl:0"));
        compare(&one.answer, &want.answer, 1e-12, &format!("{task:?}"));
        for devices in ["opencl:0,1", "opencl:0,1,2"] {
            let got = ask(&network, &task, &[cut, all], &on(devices));
            assert_eq!(
                format!("{:?}", got.answer),
                format!("{:?}", one.answer),
                "{task:?} on {devices}"
            );
            assert_eq!(got.device.unwrap().device, devices);
            // Lost in the midst of slices: the others take theirs, the host those of the last.
            for (faulty, launches) in [("1", "0"), ("1", "7"), ("2", "40"), ("3", "60")] {
                let lost = [
                    cut,
                    all,
                    ("fault.devices", faulty),
                    ("fault.launches", launches),
                ];
                let got = ask(&network, &task, &lost, &on(devices));
                compare(
                    &got.answer,
                    &want.answer,
                    1e-12,
                    &format!("{task:?} {lost:?}"),
                );
                told += usize::from(!got.warnings.is_empty());
            }
        }
    }
    assert!(told > 20, "{told} of 40 runs lost a device");
}

#[test]
#[ignore = "needs opencl"]
fn a_device_that_fails_or_is_full_leaves_its_joins_to_the_host() {
    let mut random = Random::new(5);
    let host = Settings {
        device: DeviceSelector::Cpu,
        ..Settings::default()
    };
    // One that simplification does not settle.
    let joined = |n: &Network| {
        ask(n, &Task::Pr, &[], &host)
            .plan
            .whole()
            .is_some_and(|p| p.nodes.iter().any(|n| n.is_join()))
    };
    let network = std::iter::repeat_with(|| network(&mut random, 16, false))
        .find(joined)
        .unwrap();
    let beside = Settings {
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        ..host.clone()
    };
    for task in [Task::Pr, Task::Mar, Task::Map] {
        let want = ask(&network, &task, &[], &host);
        for launches in ["0", "1", "5"] {
            let got = ask(
                &network,
                &task,
                &[("product.joins", "all"), ("fault.launches", launches)],
                &beside,
            );
            compare(
                &got.answer,
                &want.answer,
                1e-12,
                &format!("{task:?} {launches}"),
            );
            let told: Vec<String> = got.warnings.iter().map(|w| w.to_string()).collect();
            // The last one may come after all joins.
            assert!(
                told.len() == 1 || launches == "5" && told.is_empty(),
                "{task:?} {launches} {told:?} {:?} {:?}",
                got.device,
                got.plan.prediction()
            );
            assert!(
                told.iter()
                    .all(|t| t.contains("is lost") && t.contains("goes on on the host")),
                "{told:?}"
            );
        }
        let got = ask(
            &network,
            &task,
            &[("product.joins", "all"), ("device.memory", "1000")],
            &beside,
        );
        compare(
            &got.answer,
            &want.answer,
            1e-12,
            &format!("{task:?} in 1000 bytes"),
        );
        let told: Vec<String> = got.warnings.iter().map(|w| w.to_string()).collect();
        assert!(
            told.len() == 1
                && told[0].contains("the smallest piece of a join takes ")
                && told[0].ends_with("on opencl:0, which has 1000 B; the host did it"),
            "{told:?}"
        );
    }
}

#[test]
#[ignore = "needs opencl"]
fn joins_that_do_not_fit_the_device_are_cut_and_keep_their_bits() {
    // A join takes three matrices of 18 432 bytes each; what is kept of all can be cut.
    let network = ring(7, 48);
    let beside = Settings {
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        ..Settings::default()
    };
    let task = Task::Sum(vec![0, 3]);
    let all = ("product.joins", "all");
    let want = ask(&network, &task, &[all], &beside);
    assert!(
        want.device.as_ref().is_some_and(|d| d.joins > 2),
        "{want:?}"
    );
    for memory in ["45000", "30000"] {
        let got = ask(&network, &task, &[all, ("device.memory", memory)], &beside);
        assert!(got.warnings.is_empty(), "{:?}", got.warnings);
        assert_eq!(got.answer, want.answer, "{task:?} in {memory} bytes");
    }
}

#[test]
#[ignore = "needs opencl"]
fn groups_of_marginals_on_a_device_have_the_answer_of_the_host() {
    let network = torus(8);
    let host = Settings {
        device: DeviceSelector::Cpu,
        grouping: Grouping::Split,
        ..Settings::default()
    };
    let want = ask(&network, &Task::Mar, &[], &host);
    let beside = Settings {
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        ..host.clone()
    };
    for more in [None, Some(("fault.launches", "7"))] {
        let mut all = vec![("product.joins", "all")];
        all.extend(more);
        let got = ask(&network, &Task::Mar, &all, &beside);
        compare(&got.answer, &want.answer, 1e-12, "groups");
        assert!(matches!(got.plan, Planned::Groups(_)) && got.device.is_some());
        // A device that is lost is named once, however many groups are left.
        assert_eq!(
            got.warnings.len(),
            usize::from(more.is_some()),
            "{:?}",
            got.warnings
        );
    }
}

#[test]
fn choices_of_plans_over_pairs_are_refused() {
    let mut random = Random::new(6);
    let network = network(&mut random, 6, false);
    let overrides = Overrides::read([("prune", "on")]).unwrap();
    let e = infer(
        &network,
        &Evidence::none(),
        &Task::Pr,
        &Settings {
            overrides,
            ..Settings::default()
        },
    )
    .unwrap_err();
    assert!(
        e.to_string()
            .contains("'prune=on' is a choice of plans over pairs"),
        "{e}"
    );
}

/// A bucket of three tables, some of whose variables only one has, with tables of `len` entries.
fn bucket() -> (Vec<usize>, Vec<Vec<usize>>, Vec<usize>) {
    let cards = vec![3, 4, 5, 2, 6, 3, 2];
    let scopes = vec![vec![0, 1, 2], vec![2, 3, 0, 4], vec![4, 1, 5]];
    (cards, scopes, vec![5, 0, 3, 6])
}

fn numbers(random: &mut Random, len: usize, numeric: Numeric) -> Vec<f64> {
    let one = |random: &mut Random| match random.below(8) {
        0 => 0.0,
        _ => random.unit() * 3.0,
    };
    let values = (0..len).map(|_| one(random));
    match numeric.entries() {
        Entries::Values => values.collect(),
        Entries::Logs => values.map(f64::ln).collect(),
    }
}

const NUMERIC: [Numeric; 4] = [Numeric::Sum, Numeric::Max, Numeric::LogSum, Numeric::LogMax];

#[test]
#[ignore = "needs opencl"]
fn tables_that_stay_on_a_device_give_the_products_of_the_host() {
    let mut random = Random::new(31);
    let (cards, scopes, keep) = bucket();
    let overrides = Overrides::read([("product.joins", "all")]).unwrap();
    let host = Settings {
        device: DeviceSelector::Cpu,
        ..Settings::default()
    };
    let beside = Settings {
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        overrides,
        ..Settings::default()
    };
    for numeric in NUMERIC {
        let mut product =
            PreparedOnDevice::<f64>::new(numeric, &cards, &scopes, &keep, &beside).unwrap();
        let joins = product.device().expect("a device").joins;
        assert!(joins > 0);
        let missing = product.run().unwrap_err().to_string();
        assert!(missing.contains("none for table 0"), "{missing}");
        let len = |s: &Vec<usize>| s.iter().map(|v| cards[*v]).product::<usize>();
        let mut tables: Vec<Vec<f64>> = scopes
            .iter()
            .map(|s| numbers(&mut random, len(s), numeric))
            .collect();
        for (at, table) in tables.iter().enumerate() {
            product.put(at, table).unwrap();
        }
        for round in 0..3 {
            product.run().unwrap();
            let bare: Vec<_> = scopes.iter().cloned().zip(tables.iter().cloned()).collect();
            let want = contract_numbers(numeric, &cards, &bare, &keep, &host).unwrap();
            let there = contract_numbers(numeric, &cards, &bare, &keep, &beside).unwrap();
            for got in [product.result().unwrap(), there] {
                let same = |(g, w): (&f64, &f64)| close(*g, *w, 1e-12);
                assert_eq!(got.len(), want.len());
                assert!(
                    got.iter().zip(&want).all(same),
                    "{numeric:?} {got:?} {want:?}"
                );
            }
            let counted = match numeric {
                Numeric::Sum => contract(&SumProduct, &cards, &bare, &keep, &host).unwrap(),
                Numeric::Max => contract(&MaxProduct, &cards, &bare, &keep, &host).unwrap(),
                Numeric::LogSum | Numeric::LogMax => want.clone(),
            };
            assert!(want.iter().zip(&counted).all(|(g, w)| close(*g, *w, 1e-12)));
            // One table changes, the others stay.
            let at = round % scopes.len();
            tables[at] = numbers(&mut random, tables[at].len(), numeric);
            product.put(at, &tables[at]).unwrap();
        }
    }
}

#[test]
#[ignore = "needs opencl"]
fn a_device_that_fails_leaves_its_tables_to_the_host() {
    let mut random = Random::new(32);
    let (cards, scopes, keep) = bucket();
    let settings = Settings {
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        overrides: Overrides::read([("product.joins", "all"), ("fault.launches", "1")]).unwrap(),
        ..Settings::default()
    };
    let mut product =
        PreparedOnDevice::<f64>::new(Numeric::Sum, &cards, &scopes, &keep, &settings).unwrap();
    let len = |s: &Vec<usize>| s.iter().map(|v| cards[*v]).product::<usize>();
    let bare: Vec<(Vec<usize>, Vec<f64>)> = scopes
        .iter()
        .map(|s| (s.clone(), numbers(&mut random, len(s), Numeric::Sum)))
        .collect();
    for (at, (_, values)) in bare.iter().enumerate() {
        product.put(at, values).unwrap();
    }
    let want = contract(&SumProduct, &cards, &bare, &keep, &settings).unwrap();
    for _ in 0..3 {
        product.run().unwrap();
        let got = product.result().unwrap();
        assert!(got.iter().zip(&want).all(|(g, w)| close(*g, *w, 1e-12)));
    }
    assert!(product.device().is_none());
    let told: Vec<String> = settings
        .warnings
        .all()
        .iter()
        .map(|w| w.to_string())
        .collect();
    assert!(told.len() == 1 && told[0].contains("is lost"), "{told:?}");
}

/// Logarithms whose mantissas no type holds, tables far from zero, one of nothing but −∞, and one of
/// one entry.
fn wild_logs(random: &mut Random, lens: [usize; 4], round: usize) -> Vec<Vec<f64>> {
    let far = [0.0, 1e4, -1e4, 5.5];
    let table = |(at, len): (usize, usize)| {
        let reach = match (round, at) {
            (1, 1) => 1e4,
            (3, _) => 60.0,
            _ => 3.0,
        };
        let one = |random: &mut Random| match random.below(6) {
            0 => f64::NEG_INFINITY,
            _ if (round, at) == (2, 0) => f64::NEG_INFINITY,
            _ => f64::from((far[(at + round) % 4] + reach * (random.unit() - 0.5)) as f32),
        };
        (0..len).map(|_| one(random)).collect()
    };
    lens.into_iter().enumerate().map(table).collect()
}

#[test]
#[ignore = "needs opencl"]
fn logarithms_on_a_device_keep_every_range() {
    let mut random = Random::new(37);
    let cards = vec![3, 4, 5, 2, 6, 3, 1];
    let scopes = vec![vec![0, 1, 2], vec![2, 3, 0, 4], vec![4, 1, 5], vec![6]];
    let keep = vec![5, 0, 3];
    let len = |s: &Vec<usize>| s.iter().map(|v| cards[*v]).product::<usize>();
    let lens = [0, 1, 2, 3].map(|f| len(&scopes[f]));
    let beside = Settings {
        device: DeviceSelector::Devices(Runtime::OpenCl, Which::only(0)),
        overrides: Overrides::read([("product.joins", "all")]).unwrap(),
        ..Settings::default()
    };
    for numeric in [Numeric::LogSum, Numeric::LogMax] {
        let new = || PreparedOnDevice::<f64>::new(numeric, &cards, &scopes, &keep, &beside);
        let mut double = new().unwrap();
        let mut short =
            PreparedOnDevice::<f32>::new(numeric, &cards, &scopes, &keep, &beside).unwrap();
        for round in 0..8 {
            let tables = wild_logs(&mut random, lens, round % 4);
            for (at, table) in tables.iter().enumerate() {
                double.put(at, table).unwrap();
                let singles: Vec<f32> = table.iter().map(|l| *l as f32).collect();
                short.put(at, &singles).unwrap();
            }
            double.run().unwrap();
            short.run().unwrap();
            let bare: Vec<_> = scopes.iter().cloned().zip(tables).collect();
            let counted = Settings::default();
            let want = match numeric {
                // The greatest sum is the least of what it lacks.
                Numeric::LogMax => {
                    let less = |l: &f64| -l;
                    let lacks: Vec<_> = bare
                        .iter()
                        .map(|(s, v)| (s.clone(), v.iter().map(less).collect()))
                        .collect();
                    let least = contract(&MinSum, &cards, &lacks, &keep, &counted).unwrap();
                    least.iter().map(less).collect()
                }
                _ => contract(&LogSumExp, &cards, &bare, &keep, &counted).unwrap(),
            };
            let there = contract_numbers(numeric, &cards, &bare, &keep, &beside).unwrap();
            let all = [
                (double.result().unwrap(), 1e-12),
                (there, 1e-12),
                (short.result().unwrap(), 1e-5),
            ];
            for (got, within) in all {
                let same = |(g, w): (&f64, &f64)| close(*g, *w, within);
                assert!(
                    got.iter().zip(&want).all(same),
                    "{numeric:?} round {round}: got {got:?}, expected {want:?}"
                );
            }
        }
        assert!(beside.warnings.all().is_empty());
    }
}

#[test]
fn entries_that_a_semiring_does_not_have_are_refused() {
    let settings = Settings::default();
    let ask = |numeric, values: &[f64]| {
        contract_numbers(numeric, &[2], &[(vec![0], values.to_vec())], &[], &settings)
            .map_err(|e| e.to_string())
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let message = ask(Numeric::Sum, &[1.0, bad]).unwrap_err();
        assert!(
            message.contains("expected a finite number from 0"),
            "{message}"
        );
    }
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(ask(Numeric::LogMax, &[1.0, bad]).is_err());
    }
    assert_eq!(
        ask(Numeric::LogMax, &[-1.0, f64::NEG_INFINITY]),
        Ok(vec![-1.0])
    );
}

//! MAP, marginal MAP and sums by search: against counting, against elimination, and beyond its width.

use zipfold::internals::infer::{Inferred, Settings, infer};
use zipfold::internals::plan::Overrides;
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Task};
use zipfold_core::{Precision, Random, Result};

fn settings(map: &str) -> Settings {
    Settings {
        overrides: Overrides::read([("product.method", map)]).unwrap(),
        precision: Precision::F64,
        ..Settings::default()
    }
}

fn ask(network: &Network, evidence: &Evidence, task: &Task, map: &str) -> Result<Inferred> {
    infer(network, evidence, task, &settings(map))
}

/// Few variables, tables with zeros and ties.
fn network(random: &mut Random) -> Network {
    let many = 2 + random.below(7);
    let cards: Vec<usize> = (0..many).map(|_| 1 + random.below(3)).collect();
    let ties = random.below(2) == 0;
    let factors = (0..1 + random.below(12)).map(|_| {
        let mut scope: Vec<usize> = (0..1 + random.below(3))
            .map(|_| random.below(many))
            .collect();
        scope.sort_unstable();
        scope.dedup();
        let len = scope.iter().map(|v| cards[*v]).product();
        let entry = |random: &mut Random| match random.below(5) {
            0 => 0.0,
            _ if ties => [0.25, 0.5, 1.0][random.below(3)],
            _ => random.unit() * 5.0,
        };
        let values = (0..len).map(|_| entry(random)).collect();
        Factor::new(scope, values, &cards).unwrap()
    });
    let factors = factors.collect();
    Network::new(Kind::Markov, cards, factors).unwrap()
}

/// The entry of each table at an assignment.
fn entries<'n>(network: &'n Network, states: &'n [usize]) -> impl Iterator<Item = f64> + 'n {
    network.factors().iter().map(move |f| {
        let place = |at, v: &usize| at * network.cards()[*v] + states[*v];
        f.values()[f.scope().iter().fold(0, place)]
    })
}

/// The greatest sum over all variables but `asked`, among assignments with the evidence, and the
/// one at `own`.
fn counted(network: &Network, evidence: &Evidence, asked: &[usize], own: &[usize]) -> (f64, f64) {
    let cards = network.cards();
    let mut sums = std::collections::BTreeMap::<Vec<usize>, f64>::new();
    for mut at in 0..cards.iter().product::<usize>() {
        let mut states = vec![0; cards.len()];
        for v in 0..cards.len() {
            states[v] = at % cards[v];
            at /= cards[v];
        }
        if evidence.iter().all(|(v, x)| states[v] == x) {
            let key = asked.iter().map(|v| states[*v]).collect();
            *sums.entry(key).or_default() += entries(network, &states).product::<f64>();
        }
    }
    let most = sums.values().copied().fold(0.0, f64::max);
    (most, sums.get(own).copied().unwrap_or(0.0))
}

#[test]
fn the_search_has_the_assignment_of_counting() {
    let mut random = Random::new(41);
    let (mut impossible, mut answered) = (0, 0);
    for round in 0..150 {
        let network = network(&mut random);
        let cards = network.cards();
        let observed = (0..cards.len()).filter(|v| v % 4 == round % 7);
        let observed: Vec<_> = observed.map(|v| (v, random.below(cards[v]))).collect();
        let evidence = Evidence::new(observed, cards).unwrap();
        let all: Vec<usize> = (0..cards.len()).collect();
        let some: Vec<usize> = all.iter().copied().filter(|v| v % 2 == round % 2).collect();
        let mmap = (Task::Mmap(some.clone()), some);
        for (task, asked) in [(Task::Map, all), mmap, (Task::Pr, Vec::new())] {
            let got = ask(&network, &evidence, &task, "search").unwrap();
            let (log10, own) = match &got.answer {
                Answer::Map(log10, states) => (*log10, states.clone()),
                Answer::Mmap(log10, states) => (*log10, states.iter().map(|(_, x)| *x).collect()),
                Answer::Pr(log10) => (*log10, Vec::new()),
                _ => (f64::NEG_INFINITY, Vec::new()),
            };
            let (most, at) = counted(&network, &evidence, &asked, &own);
            let what = format!("round {round} {task:?}: {:?}, counted {most}", got.answer);
            assert_eq!(got.answer == Answer::Impossible, most == 0.0, "{what}");
            if most > 0.0 {
                assert!((log10 - most.log10()).abs() < 1e-9, "{what}");
                assert!((at - most).abs() <= 1e-9 * most, "{what}: {at}");
                let gap = got.plan.searched().and_then(|s| s.gap).expect("a gap");
                assert!(
                    gap.proven && gap.lower == gap.upper && gap.lower == log10,
                    "{what}"
                );
                answered += 1;
            } else {
                impossible += 1;
            }
            assert!(got.warnings.is_empty(), "{:?}", got.warnings);
        }
    }
    assert!(
        answered > 100 && impossible > 20,
        "{answered} and {impossible}"
    );
}

/// A torus of variables with couplings of both signs.
fn torus(side: usize, seed: u64) -> Network {
    let mut random = Random::new(seed);
    let cards = vec![2; side * side];
    let mut factors = Vec::new();
    for at in 0..side * side {
        let (row, column) = (at / side, at % side);
        for next in [
            row * side + (column + 1) % side,
            (row + 1) % side * side + column,
        ] {
            let values = (0..4).map(|_| (2.0 * random.unit() - 1.0).exp()).collect();
            factors.push(Factor::new(vec![at, next], values, &cards).unwrap());
        }
    }
    Network::new(Kind::Markov, cards, factors).unwrap()
}

#[test]
fn beyond_the_width_the_answer_says_what_it_is() {
    let small = torus(6, 5);
    let exact = ask(&small, &Evidence::none(), &Task::Map, "elimination").unwrap();
    let found = ask(&small, &Evidence::none(), &Task::Map, "search").unwrap();
    let log10 = |done: &Inferred| match &done.answer {
        Answer::Map(log10, states) => (*log10, states.clone()),
        other => panic!("{other:?}"),
    };
    assert!((log10(&exact).0 - log10(&found).0).abs() < 1e-9);
    assert_eq!(log10(&exact).1, log10(&found).1);
    // Elimination of this one takes 2^50 entries and more; there is not enough time for a proof.
    let large = torus(60, 6);
    let refused = ask(&large, &Evidence::none(), &Task::Map, "elimination").unwrap_err();
    assert_eq!(refused.blame(), zipfold_core::Blame::Resource, "{refused}");
    let short = Settings {
        time_limit: 1.0,
        memory: 1 << 30,
        ..settings("auto")
    };
    let found = infer(&large, &Evidence::none(), &Task::Map, &short).unwrap();
    let searched = found.plan.searched().expect("a search");
    let gap = searched.gap.expect("a gap");
    assert!(
        searched.refused.is_some() && !gap.proven && gap.lower < gap.upper,
        "{gap:?}"
    );
    let (lower, states) = log10(&found);
    assert_eq!(lower, gap.lower);
    // The product itself is beyond the range of f64.
    let sum: f64 = entries(&large, &states).map(f64::log10).sum();
    assert!((sum - lower).abs() < 1e-6, "{sum} {lower}");
    let told: Vec<String> = found.warnings.iter().map(|w| w.to_string()).collect();
    assert!(
        told.len() == 1 && told[0].contains("not proven to be the best"),
        "{told:?}"
    );
}

#[test]
fn a_sum_that_is_not_proven_is_an_error_with_its_bounds() {
    let small = torus(6, 5);
    let none = Evidence::none();
    let exact = ask(&small, &none, &Task::Pr, "elimination").unwrap();
    let found = ask(&small, &none, &Task::Pr, "search").unwrap();
    let (Answer::Pr(a), Answer::Pr(b)) = (&exact.answer, &found.answer) else {
        panic!("{:?} {:?}", exact.answer, found.answer);
    };
    assert!((a - b).abs() < 1e-9, "{a} {b}");
    let large = torus(60, 6);
    let short = Settings {
        time_limit: 1.0,
        memory: 1 << 30,
        ..settings("search")
    };
    let e = infer(&large, &none, &Task::Pr, &short).unwrap_err();
    assert_eq!(e.blame(), zipfold_core::Blame::Resource, "{e}");
    assert!(e.to_string().contains("its log10 is between"), "{e}");
    // Without a choice it is refused as before.
    let e = ask(&large, &none, &Task::Pr, "auto").unwrap_err();
    assert_eq!(e.blame(), zipfold_core::Blame::Resource, "{e}");
    assert!(!e.to_string().contains("between"), "{e}");
}

#[test]
fn tasks_without_a_search_refuse_it() {
    let network = torus(3, 5);
    for task in [Task::Mar, Task::Sum(vec![0]), Task::Samples(3)] {
        let e = ask(&network, &Evidence::none(), &task, "search").unwrap_err();
        let text = e.to_string();
        assert!(text.contains("expected pr, map or mmap"), "{text}");
    }
}

/// Networks of the data folder whose most probable assignment elimination finds.
#[test]
#[ignore = "needs data"]
fn the_search_has_the_value_of_elimination_on_real_networks() {
    let data = std::path::PathBuf::from(std::env::var_os("ZIPFOLD_DATA").expect("ZIPFOLD_DATA"));
    let mut proven = 0;
    for name in ["alarm", "child", "hailfinder", "pigs", "water"] {
        let path = data.join(format!("bif/{name}.bif.gz"));
        let budget = zipfold_core::Budget::new(1 << 30);
        let network = zipfold::internals::io::network::read_network(&path, &budget).unwrap();
        let exact = ask(&network, &Evidence::none(), &Task::Map, "elimination").unwrap();
        let found = ask(&network, &Evidence::none(), &Task::Map, "search").unwrap();
        let (Answer::Map(a, _), Answer::Map(b, _)) = (&exact.answer, &found.answer) else {
            panic!("{name}: {:?} {:?}", exact.answer, found.answer);
        };
        assert!((a - b).abs() < 1e-9, "{name}: {a} {b}");
        proven += usize::from(
            found
                .plan
                .searched()
                .and_then(|s| s.gap)
                .is_some_and(|g| g.proven),
        );
    }
    assert_eq!(proven, 5);
}

//! Networks of up to 25 binary variables with whole-number tables, against exact integer
//! arithmetic; size, slices, refusals.

use zipfold::Overrides;
use zipfold::network::{Settings, infer};
use zipfold_core::Blame;
use zipfold_core::Random;
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Task};

/// A network of `n` binary variables whose entries are whole numbers of at most `most`.
fn whole(random: &mut Random, n: usize, most: usize) -> Network {
    let factors = (0..n)
        .map(|v| {
            let mut scope = vec![v];
            for _ in 0..random.below(3) {
                let u = random.below(n);
                if !scope.contains(&u) {
                    scope.push(u);
                }
            }
            let values = (0..1usize << scope.len())
                .map(|_| random.below(most + 1) as f64)
                .collect();
            Factor::new(scope, values, &vec![2; n]).unwrap()
        })
        .collect();
    Network::new(Kind::Markov, vec![2; n], factors).unwrap()
}

/// A table of whole numbers; the first variable of the scope is the lowest bit of the index.
type Whole = (Vec<usize>, Vec<u128>);

fn as_whole(f: &Factor) -> Whole {
    let k = f.scope().len();
    let reversed = |at: usize| (0..k).fold(0, |r, i| r << 1 | at >> i & 1);
    (
        f.scope().to_vec(),
        (0..1usize << k)
            .map(|at| f.values()[reversed(at)] as u128)
            .collect(),
    )
}

/// The partition function in integers: variables are summed out one after another, by number.
fn exact(network: &Network) -> u128 {
    let mut tables: Vec<Whole> = network.factors().iter().map(as_whole).collect();
    for v in 0..network.cards().len() {
        let (with, rest): (Vec<Whole>, Vec<Whole>) =
            tables.into_iter().partition(|t| t.0.contains(&v));
        let mut scope: Vec<usize> = with
            .iter()
            .flat_map(|t| t.0.iter().copied())
            .filter(|u| *u != v)
            .collect();
        scope.sort_unstable();
        scope.dedup();
        let bit = |at: usize, s: usize, u: usize| match scope.iter().position(|w| *w == u) {
            Some(i) => at >> i & 1,
            None => s,
        };
        let entry = |at: usize, s: usize, (own, values): &Whole| {
            values[own
                .iter()
                .enumerate()
                .map(|(i, u)| bit(at, s, *u) << i)
                .sum::<usize>()]
        };
        let product = |at: usize, s: usize| with.iter().map(|t| entry(at, s, t)).product::<u128>();
        let sums = (0..1usize << scope.len())
            .map(|at| product(at, 0) + product(at, 1))
            .collect();
        tables = rest;
        tables.push((scope, sums));
    }
    tables.iter().map(|t| t.1[0]).product()
}

/// The same by enumeration.
fn enumerated(network: &Network) -> u128 {
    let tables: Vec<Whole> = network.factors().iter().map(as_whole).collect();
    let value = |x: usize, (scope, values): &Whole| {
        values[scope
            .iter()
            .enumerate()
            .map(|(i, u)| (x >> u & 1) << i)
            .sum::<usize>()]
    };
    (0..1usize << network.cards().len())
        .map(|x| tables.iter().map(|t| value(x, t)).product::<u128>())
        .sum()
}

#[test]
fn five_hundred_networks_agree_with_integers_to_1e_13() {
    let mut random = Random::new(500);
    let mut worst = 0.0f64;
    for round in 0..500 {
        let net = whole(&mut random, 1 + round % 25, 9);
        let got = infer(&net, &Evidence::none(), &Task::Pr, &Settings::default())
            .unwrap()
            .answer;
        let want = exact(&net);
        assert!(
            net.cards().len() > 10 || want == enumerated(&net),
            "round {round}"
        );
        match (want, got) {
            (0, Answer::Impossible) => {}
            (z, Answer::Pr(log10)) => {
                worst = worst.max((log10 - (z as f64).log10()).abs() * std::f64::consts::LN_10)
            }
            (z, other) => panic!("round {round}: {z} but {other:?}"),
        }
    }
    assert!(worst <= 1e-13, "{worst:e}");
}

#[test]
fn a_chain_of_a_million_variables() {
    let n = 1_000_000;
    let cards = vec![2; n];
    let factors = (1..n)
        .map(|v| Factor::new(vec![v - 1, v], vec![0.9, 0.1, 0.2, 0.8], &cards).unwrap())
        .collect();
    let net = Network::new(Kind::Markov, cards, factors).unwrap();
    let Answer::Mar(log10, rows) = infer(&net, &Evidence::none(), &Task::Mar, &Settings::default())
        .unwrap()
        .answer
    else {
        panic!("no marginals")
    };
    assert!((log10 - 2f64.log10()).abs() < 1e-9, "{log10}");
    assert!(
        (rows[n / 2][0] - 2.0 / 3.0).abs() < 1e-9,
        "{:?}",
        rows[n / 2]
    );
}

#[test]
fn a_clique_of_forty_variables_is_refused_with_its_size() {
    let cards = vec![2; 40];
    let pairs = (0..40).flat_map(|a| (0..a).map(move |b| (a, b)));
    let factors = pairs
        .map(|(a, b)| Factor::new(vec![a, b], vec![1.0, 0.5, 0.5, 1.0], &cards).unwrap())
        .collect();
    let net = Network::new(Kind::Markov, cards.clone(), factors).unwrap();
    let by = |method: &str| Settings {
        overrides: Overrides::read([("product.method", method)]).unwrap(),
        ..Settings::default()
    };
    let start = std::time::Instant::now();
    let error = infer(&net, &Evidence::none(), &Task::Mar, &by("elimination")).unwrap_err();
    assert_eq!(error.blame(), Blame::Resource);
    assert!(
        error.to_string().contains("width at least 39") && error.to_string().contains("2^40"),
        "{error}"
    );
    assert!(start.elapsed().as_secs_f64() < 0.5, "{:?}", start.elapsed());
    // One pass is within the limit by the number of configurations alone, but not in this memory.
    let error = infer(&net, &Evidence::none(), &Task::Pr, &by("elimination")).unwrap_err();
    assert!(
        error.to_string().contains("width 39") && error.to_string().contains("slices"),
        "{error}"
    );
    assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
    // Its variables are alike, so that a count by components, which is tried then, knows most of them.
    let found = infer(&net, &Evidence::none(), &Task::Mar, &Settings::default()).unwrap();
    let Answer::Mar(log10, rows) = found.answer else {
        panic!("{:?}", found.answer);
    };
    // By the number of variables in the second state: 40 over k times 2^-k (40 - k).
    let (mut want, mut choices) = (0.0, 1.0);
    for k in 0..=40 {
        want += choices * 0.5f64.powi(k * (40 - k));
        choices *= f64::from(40 - k) / f64::from(k + 1);
    }
    assert!((log10 - want.log10()).abs() < 1e-12, "{log10}");
    assert!(
        rows.iter().all(|row| (row[0] - 0.5).abs() < 1e-12),
        "{rows:?}"
    );
}

#[test]
fn an_eighth_of_the_memory_gives_the_same_answer() {
    // A torus of 11 × 11: tables of some megabytes.
    let n = 11;
    let cards = vec![2; n * n];
    let mut random = Random::new(3);
    let mut factors = Vec::new();
    for at in 0..n * n {
        let (r, c) = (at / n, at % n);
        for other in [r * n + (c + 1) % n, (r + 1) % n * n + c] {
            factors.push(
                Factor::new(
                    vec![at, other],
                    (0..4).map(|_| random.unit() + 0.1).collect(),
                    &cards,
                )
                .unwrap(),
            );
        }
    }
    let net = Network::new(Kind::Markov, cards, factors).unwrap();
    let run = |memory: u64, task: &Task| {
        infer(
            &net,
            &Evidence::none(),
            task,
            &Settings {
                memory,
                ..Settings::default()
            },
        )
        .unwrap()
    };
    let roomy = run(8 << 30, &Task::Mar);
    let tight = run(roomy.peak_bytes / 8 + (16 << 20), &Task::Mar);
    assert!(tight.peak_bytes <= roomy.peak_bytes / 8 + (16 << 20));
    assert!(
        tight.plan.plans().iter().any(|p| !p.sliced.is_empty()),
        "not sliced"
    );
    let (Answer::Mar(a, x), Answer::Mar(b, y)) = (&roomy.answer, &tight.answer) else {
        panic!("no marginals")
    };
    assert!((a - b).abs() < 1e-11, "{a} {b}");
    assert!(
        x.iter()
            .flatten()
            .zip(y.iter().flatten())
            .all(|(p, q)| (p - q).abs() < 1e-11)
    );
    let very = run(24 << 20, &Task::Map);
    assert!(
        very.plan.plans().iter().any(|p| !p.sliced.is_empty()),
        "not sliced"
    );
    let (Answer::Map(a, _), Answer::Map(b, _)) = (&very.answer, &run(8 << 30, &Task::Map).answer)
    else {
        panic!("no state")
    };
    assert!((a - b).abs() < 1e-11, "{a} {b}");
}

#[test]
fn samples_follow_the_posterior() {
    let cards = vec![2, 3];
    let table = Factor::new(vec![0, 1], vec![1.0, 2.0, 3.0, 0.0, 4.0, 6.0], &cards).unwrap();
    let net = Network::new(Kind::Markov, cards, vec![table]).unwrap();
    let Answer::Samples(_, rows) = infer(
        &net,
        &Evidence::none(),
        &Task::Samples(40_000),
        &Settings::default(),
    )
    .unwrap()
    .answer
    else {
        panic!("no samples")
    };
    let mut counts = [0.0f64; 6];
    rows.iter()
        .for_each(|r| counts[r[0] * 3 + r[1]] += 1.0 / 40_000.0);
    for (got, want) in counts.iter().zip([1.0f64, 2.0, 3.0, 0.0, 4.0, 6.0]) {
        assert!((*got - want / 16.0f64).abs() < 0.012, "{counts:?}");
    }
}

#[test]
fn rows_that_do_not_sum_to_one_are_used_as_they_are_and_reported() {
    let cards = vec![2, 2];
    let first = Factor::new(vec![0], vec![0.5, 0.3], &cards).unwrap();
    let second = Factor::new(vec![0, 1], vec![1.0, 0.0, 0.25, 0.75], &cards).unwrap();
    let net = Network::new(Kind::Bayes, cards, vec![first, second]).unwrap();
    let done = infer(&net, &Evidence::none(), &Task::Mar, &Settings::default()).unwrap();
    let Answer::Mar(z, rows) = &done.answer else {
        panic!("{:?}", done.answer)
    };
    assert!(
        (z - 0.8f64.log10()).abs() < 1e-14 && (rows[0][0] - 0.625).abs() < 1e-15,
        "{z} {rows:?}"
    );
    assert!((rows[1][1] - 0.225 / 0.8).abs() < 1e-15, "{rows:?}");
    assert!(
        done.warnings
            .iter()
            .any(|w| w.to_string().contains("sums to one only within 2.0e-1")),
        "{:?}",
        done.warnings
    );
}

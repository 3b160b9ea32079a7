//! Networks of up to 25 binary variables with whole-number tables, against exact integer arithmetic; size, slices, refusals.

use zipfold::infer::{Settings, infer};
use zipfold_core::Blame;
use zipfold_core::factor::{Answer, Evidence, Factor, Kind, Network, Task};
use zipfold_plan::product::random::Random;

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
            let values = (0..1usize << scope.len()).map(|_| random.below(most + 1) as f64).collect();
            Factor::new(scope, values, &vec![2; n]).unwrap()
        })
        .collect();
    Network::new(Kind::Markov, vec![2; n], factors).unwrap()
}

/// The partition function by enumeration, every factor multiplied as soon as its variables are set.
fn exact(network: &Network) -> u128 {
    let n = network.cards().len();
    let mut ready: Vec<Vec<&Factor>> = vec![Vec::new(); n];
    for f in network.factors() {
        if let Some(last) = f.scope().iter().max() {
            ready[*last].push(f);
        }
    }
    fn below(v: usize, x: &mut Vec<usize>, product: u128, ready: &[Vec<&Factor>]) -> u128 {
        if product == 0 || v == ready.len() {
            return product;
        }
        (0..2)
            .map(|s| {
                x[v] = s;
                let here = ready[v]
                    .iter()
                    .map(|f| f.values()[f.scope().iter().fold(0, |at, u| at * 2 + x[*u])] as u128)
                    .product::<u128>();
                below(v + 1, x, product * here, ready)
            })
            .sum()
    }
    below(0, &mut vec![0; n], 1, &ready)
}

#[test]
fn five_hundred_networks_agree_with_integers_to_1e_13() {
    let mut random = Random::new(500);
    let mut worst = 0.0f64;
    for round in 0..500 {
        let net = whole(&mut random, 1 + round % 25, 9);
        let got = infer(&net, &Evidence::none(), &Task::Pr, &Settings::default()).unwrap().answer;
        match (exact(&net), got) {
            (0, Answer::Impossible) => {}
            (z, Answer::Pr(log10)) => worst = worst.max((log10 - (z as f64).log10()).abs() * std::f64::consts::LN_10),
            (z, other) => panic!("round {round}: {z} but {other:?}"),
        }
    }
    assert!(worst <= 1e-13, "{worst:e}");
}

#[test]
fn a_chain_of_a_million_variables() {
    let n = 1_000_000;
    let cards = vec![2; n];
    let factors = (1..n).map(|v| Factor::new(vec![v - 1, v], vec![0.9, 0.1, 0.2, 0.8], &cards).unwrap()).collect();
    let net = Network::new(Kind::Markov, cards, factors).unwrap();
    let Answer::Mar(log10, rows) = infer(&net, &Evidence::none(), &Task::Mar, &Settings::default()).unwrap().answer
    else {
        panic!("no marginals")
    };
    assert!((log10 - 2f64.log10()).abs() < 1e-9, "{log10}");
    assert!((rows[n / 2][0] - 2.0 / 3.0).abs() < 1e-9, "{:?}", rows[n / 2]);
}

#[test]
#[ignore = "the order search is slow in the development profile: cargo test --release -- --ignored"]
fn a_clique_of_forty_variables_is_refused_with_its_size() {
    let cards = vec![2; 40];
    let pairs = (0..40).flat_map(|a| (0..a).map(move |b| (a, b)));
    let factors = pairs.map(|(a, b)| Factor::new(vec![a, b], vec![1.0, 0.5, 0.5, 1.0], &cards).unwrap()).collect();
    let net = Network::new(Kind::Markov, cards.clone(), factors).unwrap();
    let error = infer(&net, &Evidence::none(), &Task::Mar, &Settings::default()).unwrap_err();
    assert_eq!(error.blame(), Blame::Resource);
    assert!(error.to_string().contains("width 39"), "{error}");
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
            factors.push(Factor::new(vec![at, other], (0..4).map(|_| random.unit() + 0.1).collect(), &cards).unwrap());
        }
    }
    let net = Network::new(Kind::Markov, cards, factors).unwrap();
    let run = |memory: u64, task: &Task| {
        infer(&net, &Evidence::none(), task, &Settings { memory, ..Settings::default() }).unwrap()
    };
    let roomy = run(8 << 30, &Task::Mar);
    let tight = run(roomy.peak_bytes / 8 + (16 << 20), &Task::Mar);
    assert!(tight.peak_bytes <= roomy.peak_bytes / 8 + (16 << 20));
    assert!(tight.plan.as_ref().is_some_and(|p| !p.sliced.is_empty()), "not sliced");
    let (Answer::Mar(a, x), Answer::Mar(b, y)) = (&roomy.answer, &tight.answer) else { panic!("no marginals") };
    assert!((a - b).abs() < 1e-11, "{a} {b}");
    assert!(x.iter().flatten().zip(y.iter().flatten()).all(|(p, q)| (p - q).abs() < 1e-11));
    let very = run(24 << 20, &Task::Map);
    assert!(very.plan.is_some_and(|p| !p.sliced.is_empty()), "not sliced");
    let (Answer::Map(a, _), Answer::Map(b, _)) = (&very.answer, &run(8 << 30, &Task::Map).answer) else {
        panic!("no state")
    };
    assert!((a - b).abs() < 1e-11, "{a} {b}");
}

#[test]
fn samples_follow_the_posterior() {
    let cards = vec![2, 3];
    let table = Factor::new(vec![0, 1], vec![1.0, 2.0, 3.0, 0.0, 4.0, 6.0], &cards).unwrap();
    let net = Network::new(Kind::Markov, cards, vec![table]).unwrap();
    let Answer::Samples(_, rows) =
        infer(&net, &Evidence::none(), &Task::Samples(40_000), &Settings::default()).unwrap().answer
    else {
        panic!("no samples")
    };
    let mut counts = [0.0f64; 6];
    rows.iter().for_each(|r| counts[r[0] * 3 + r[1]] += 1.0 / 40_000.0);
    for (got, want) in counts.iter().zip([1.0f64, 2.0, 3.0, 0.0, 4.0, 6.0]) {
        assert!((*got - want / 16.0f64).abs() < 0.012, "{counts:?}");
    }
}

//! Numbers of a problem go through every text unchanged, to the bit: JSON, TOML, and the header of
//! a partial result.

use zipfold::internals::partial::{self, Partial};
use zipfold::internals::shards;
use zipfold::problem::Closed;
use zipfold::problem::Param;
use zipfold::problem::{AxisSpec, FoldSpec, Input, PairSpec};
use zipfold::{Problem, Table, pairs};
use zipfold_core::Random;

/// Numbers of all sizes: random bits, decimals, the ends of the range, and what is no finite
/// number.
fn numbers(count: usize) -> Vec<f64> {
    let mut random = Random::new(20_261_122);
    let mut out = vec![
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        2.225_073_858_507_201e-308,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.1,
        1e23,
        9_007_199_254_740_993.0,
        23.822_062_838_521_834,
        4.363_295_785_765_759,
    ];
    let bits = |r: &mut Random| (0..8).fold(0u64, |all, _| all << 8 | r.below(256) as u64);
    while out.len() < count {
        let v = match out.len() % 4 {
            0 => random.unit() * 100.0,
            1 => f64::from_bits(bits(&mut random) & 0x800f_ffff_ffff_ffff),
            2 => (random.below(100_000) as f64) * 0.001,
            _ => f64::from_bits(bits(&mut random)),
        };
        out.push(if v.is_nan() { 1.0 / 3.0 } else { v });
    }
    out
}

/// A problem that has `numbers` wherever numbers can be.
fn problem(numbers: &[f64]) -> Problem {
    let x = Table::f64(1, 1, vec![0.0]).unwrap();
    let fold = FoldSpec::Histogram {
        axes: vec![AxisSpec {
            edges: Some(numbers.to_vec()),
            range: Some([numbers[0], numbers[1]]),
            ..Default::default()
        }],
        closed: Closed::Last,
        weights: None,
        mean: false,
        weight: None,
        values: Default::default(),
    };
    let mut asked = pairs(&x).periodic(numbers).fold(fold).problem().clone();
    asked.cutoff = Some(numbers[2]);
    asked
        .pair
        .params
        .insert("v".into(), Param::Vector(numbers.to_vec()));
    asked
        .pair
        .params
        .insert("n".into(), Param::Number(numbers[3]));
    asked
}

fn bits(p: &Problem) -> Vec<u64> {
    let FoldSpec::Histogram { axes, .. } = &p.folds[0] else {
        unreachable!("the fold above")
    };
    let mut all: Vec<f64> = axes[0].edges.clone().unwrap();
    all.extend(axes[0].range.unwrap());
    all.extend(p.cutoff);
    all.extend(p.periodic_box.clone().unwrap());
    for param in p.pair.params.values() {
        match param {
            Param::Number(v) => all.push(*v),
            Param::Vector(v) => all.extend(v),
            Param::Word(_) => {}
        }
    }
    all.iter()
        .map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() })
        .collect()
}

#[test]
fn numbers_keep_their_bits_in_json_and_partials() {
    for part in numbers(100_000).chunks(4) {
        let asked = problem(part);
        let text = serde_json::to_string(&asked).unwrap();
        let read: Problem = serde_json::from_str(&text).unwrap();
        assert_eq!(bits(&read), bits(&asked), "{text}");
    }
    for part in numbers(4_000).chunks(400) {
        let asked = problem(part);
        let mut sealed = Partial::start(Default::default(), vec![]);
        sealed.problem = serde_json::to_vec(&asked).unwrap();
        let opened = partial::decode(&partial::encode(&sealed).unwrap(), "part").unwrap();
        assert_eq!(
            bits(&shards::problem_of("part", &opened).unwrap()),
            bits(&asked)
        );
    }
}

#[test]
fn numbers_keep_their_bits_in_toml() {
    for part in numbers(4_000).chunks(40) {
        let asked = problem(part);
        let read: Problem = toml::from_str(&toml::to_string(&asked).unwrap()).unwrap();
        assert_eq!(bits(&read), bits(&asked));
    }
    let plain = "schema = 1\nx = { name = \"x\" }\ncutoff = inf\n[[folds]]\nkind = \"matrix\"\n";
    assert_eq!(
        toml::from_str::<Problem>(plain).unwrap().cutoff,
        Some(f64::INFINITY)
    );
}

#[test]
fn other_texts_are_no_numbers() {
    for text in ["\"many\"", "true", "\"1.5\"", "[1]"] {
        let json =
            format!("{{\"schema\":1,\"x\":{{\"name\":\"x\"}},\"cutoff\":{text},\"folds\":[]}}");
        let e = serde_json::from_str::<Problem>(&json)
            .unwrap_err()
            .to_string();
        assert!(e.contains("inf"), "{text}: {e}");
    }
}

fn read(inputs: &str) -> Result<Problem, String> {
    let text = format!(r#"{{"schema": 1, {inputs}, "folds": [{{"kind": "matrix"}}]}}"#);
    serde_json::from_str(&text).map_err(|e| e.to_string())
}

#[test]
fn a_text_stands_for_an_input_and_for_a_pair() {
    let long = r#""x": {"name": "a.csv"}, "y": {"name": "b.csv"}, "pair": "#;
    let short = r#""x": "a.csv", "y": "b.csv", "pair": "#;
    for (text, table) in [
        ("\"cityblock\"", r#"{"metric": "cityblock"}"#),
        ("\"x[0] * y[0]\"", r#"{"formula": "x[0] * y[0]"}"#),
    ] {
        assert_eq!(
            read(&format!("{short}{text}")),
            read(&format!("{long}{table}"))
        );
    }
    let alone = read(r#""x": "a.csv", "y": null"#).unwrap();
    assert_eq!(
        (alone.x, alone.y, alone.pair),
        (Input::named("a.csv"), None, PairSpec::default())
    );
    let again = read(&format!("{short}\"x[0]\"")).unwrap();
    assert_eq!(
        serde_json::from_str::<Problem>(&serde_json::to_string(&again).unwrap()).unwrap(),
        again
    );
}

#[test]
fn what_is_neither_is_refused_in_plain_words() {
    for (inputs, said) in [
        (
            r#""x": 3"#,
            "invalid type: integer `3`, expected the name of an input, or a table with its 'name'",
        ),
        (r#""x": {"file": "a"}"#, "unknown field `file`"),
        (
            r#""x": "a", "pair": ["x"]"#,
            "expected the name of a metric, a formula, or a table",
        ),
    ] {
        let error = read(inputs).unwrap_err();
        assert!(error.contains(said), "{inputs}: {error}");
    }
}

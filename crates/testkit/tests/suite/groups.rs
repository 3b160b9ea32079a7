//! Groups and keys: the oracle against a double loop over pairs, every way of the engine against the
//! oracle, shards against one run.

use zipfold::internals::partial::{decode, encode};
use zipfold::internals::shards;
use zipfold::{Options, Query};
use zipfold_core::{Data, Problem, Table, describe, oracle};
use zipfold_testkit::compare::{difference, of_output, same};
use zipfold_testkit::inputs::Lcg;
use zipfold_testkit::runner::{Variant, chosen, isas, numbers, on_engine};
use zipfold_testkit::specification;

/// Folds that have answers by groups, each in a problem of its own.
const BY_GROUPS: [&str; 10] = [
    "{ kind = 'histogram', axes = [{ bins = 7, range = [0.0, 1.1] }] }",
    "{ kind = 'histogram', weights = 'w', mean = true, axes = [{ edges = [0.0, 0.2, 0.25, 0.9] }] }",
    "{ kind = 'histogram', axes = [{ value = 'abs(x[0] - y[0])', bins = 3, range = [0.0, 1.0] }, { value = 'abs(x[1] - y[1])', bins = 2, range = [0.0, 1.0] }] }",
    "{ kind = 'histogram', weight = 'exp(-value)', values = { v = { formula = 'x[0] * y[0] + 1e6', keep = ['sum', 'mean', 'variance', 'min', 'max'] } }, axes = [{ bins = 4, range = [0.1, 0.7] }] }",
    "{ kind = 'reduce', op = 'sum' }",
    "{ kind = 'reduce', op = 'mean' }",
    "{ kind = 'reduce', op = 'argmin' }",
    "{ kind = 'reduce', op = 'count' }",
    "{ kind = 'nearest', k = 3 }",
    "{ kind = 'quantile', q = [0.25, 0.5] }",
];
/// Folds of pairs that are found.
const FOUND: [&str; 5] = [
    "{ kind = 'join', where = 'value < 0.2', value = 'value' }",
    "{ kind = 'join', where = 'value < 0.05', join_kind = 'semi' }",
    "{ kind = 'join', where = 'value < 0.05', join_kind = 'anti' }",
    "{ kind = 'top', k = 9 }",
    "{ kind = 'reduce', op = 'max' }",
];
/// Groups and conditions.
const ASKED: [&str; 7] = [
    "by = 'kind'",
    "by = 'kind'\nwithin = 'same'",
    "by = 'kind'\nwithin = 'other'",
    "by = 'kind'\nwithin = 'same:block'",
    "by = 'kind'\nwithin = 'other:block'",
    "within = 'block:block'",
    "within = 'other:block'",
];

/// `n` rows of two numbers, some of them equal, with groups and blocks, some of which are missing.
fn rows(lcg: &mut Lcg, n: usize, missing: bool) -> Table {
    let items = (0..2 * n).map(|_| (lcg.unit() * 64.0).floor() / 64.0 + lcg.below(2) as f64 * 1e-3);
    let x = Table::f64(n, 2, items.collect()).unwrap();
    let groups = [1, 2, 5][lcg.below(3)];
    let blocks = [1, 3, n.max(1)][lcg.below(3)];
    let mut key = |count: usize| match missing && lcg.below(10) == 0 {
        true => f64::NAN,
        false => lcg.below(count) as f64 - 1.0,
    };
    let keys = (0..n).flat_map(|_| [key(groups), key(blocks)]).collect();
    let names = ["kind", "block"].map(str::to_string).to_vec();
    x.with_attributes(Table::f64(n, 2, keys).unwrap().with_names(names).unwrap())
        .unwrap()
}

fn data(lcg: &mut Lcg, n: usize, two: bool, missing: bool, weighed: bool) -> Data {
    let x = rows(lcg, n, missing);
    let y = two.then(|| rows(lcg, n / 2 + 1, missing));
    self::weighed(lcg, x, y, weighed)
}

/// These tables, perhaps with weights of their rows.
pub(crate) fn weighed(lcg: &mut Lcg, x: Table, y: Option<Table>, weighed: bool) -> Data {
    let n = x.rows();
    let mut weights = |n: usize| {
        let items = (0..n).map(|_| lcg.between(-1.0, 1.0)).collect();
        Table::f64(n, 1, items).unwrap()
    };
    let w = weights(n);
    let v = y.as_ref().map_or(w.clone(), |y| weights(y.rows()));
    Data {
        pairs: None,
        x,
        y,
        weights: vec![weighed.then_some([w, v])],
    }
}

pub(crate) fn problem(
    asked: &str,
    fold: &str,
    domain: Option<&str>,
    two: bool,
    missing: bool,
) -> Problem {
    let domain = domain.map_or_else(String::new, |domain| format!("domain = '{domain}'"));
    let y = if two { "y = 'y'" } else { "" };
    let nan = if missing { "nan = 'skip'" } else { "" };
    let text = format!(
        "schema = 1\nx = 'x'\n{y}\npair = 'euclidean'\n{asked}\n{domain}\n{nan}\nprecision = 'f64'\nfolds = [{fold}]"
    );
    toml::from_str(&text).unwrap()
}

/// Ways of the engine.
fn ways() -> Vec<Variant> {
    let choices: [&[(&str, &str)]; 4] = [
        &[],
        &[("family", "vm"), ("prune", "off")],
        &[("prune", "on")],
        &[("batch", "3")],
    ];
    let way = |(at, choices): (usize, &&[(&'static str, &'static str)])| Variant {
        isa: isas()[isas().len() - 1],
        threads: 1 + at % 2,
        tile: [0, 128][at / 2],
        overrides: chosen(choices.iter().copied()),
    };
    choices.iter().enumerate().map(way).collect()
}

/// The answer by every way, or why it is refused.
pub(crate) fn check(problem: &Problem, data: &Data) -> Result<(), zipfold::Error> {
    let job = describe(problem, data.clone())?;
    let wanted = numbers(&job, &oracle::run(&job)?);
    let odd = specification::differences(&job, &wanted);
    assert!(odd.is_empty(), "{problem:?}\n{}", odd.join("\n"));
    for variant in ways() {
        let got = match on_engine(problem, &job, &variant) {
            // Bounds that the question has no use for are refused.
            Err(e) if variant.overrides.to_string().contains("prune") => {
                assert!(e.to_string().contains("prune"), "{e}");
                continue;
            }
            other => other?,
        };
        let odd = difference(&got[0], &wanted[0], same);
        assert!(
            odd.is_none(),
            "{problem:?} {}: {}",
            variant.overrides,
            odd.unwrap_or_default()
        );
    }
    let options = |shard| Options {
        threads: 2,
        shard,
        ..Options::default()
    };
    let mut parts = vec![];
    for index in 0..3 {
        let options = options(Some((index, 3)));
        let answer = Query::new(problem, data, &options).run()?;
        let part = shards::part(&answer.problem, &answer.outcome, (index, 3))?;
        let name = format!("part {index}");
        parts.push((name.clone(), decode(&encode(&part)?, &name)?));
    }
    let options = options(None);
    let merged = shards::merge(problem, data, parts, &options)?;
    let got = of_output(&merged.job.folds[0], &merged.outcome.outputs[0]);
    let odd = difference(&got, &wanted[0], same);
    assert!(
        odd.is_none(),
        "merged {problem:?}: {}",
        odd.unwrap_or_default()
    );
    Ok(())
}

#[test]
fn groups_and_keys_have_the_answer_of_a_double_loop() {
    let mut lcg = Lcg::new(22);
    let (mut answered, mut refused) = (0, 0);
    for (at, asked) in ASKED.iter().enumerate() {
        for fold in BY_GROUPS.iter().chain(FOUND.iter().filter(|_| at > 4)) {
            for (n, two, domain) in [
                (0, false, None),
                (1, false, None),
                (37, false, None),
                (150, false, Some("triangle")),
                (141, false, Some("ordered")),
                (133, false, Some("square")),
                (140, true, None),
            ] {
                let missing = lcg.below(2) == 0;
                let weighed = fold.contains("weights");
                let data = data(&mut lcg, n, two, missing, weighed);
                match check(&problem(asked, fold, domain, two, missing), &data) {
                    Ok(()) => answered += 1,
                    // One row for each pair of a triangle cannot be told apart by its group.
                    Err(e) => {
                        assert!(e.to_string().contains("expected"), "{e}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(
        answered > 400 && refused < answered / 10,
        "{answered} {refused}"
    );
}

/// One table, without weights of rows.
pub(crate) fn alone(x: Table) -> Data {
    Data {
        pairs: None,
        x,
        y: None,
        weights: vec![None],
    }
}

#[test]
fn many_keys_cost_in_proportion_to_the_pairs_kept() {
    let n = 20_000;
    let x = Table::f64(n, 1, (0..n).map(|i| (i % 97) as f64).collect()).unwrap();
    let keys = (0..n).map(|i| (i / 2) as f64).collect();
    let keys = Table::f64(n, 1, keys).unwrap();
    let x = x
        .with_attributes(keys.with_names(vec!["key".into()]).unwrap())
        .unwrap();
    let text = "schema = 1\nx = 'x'\npair = 'abs(x[0] - y[0])'\nwithin = 'same:key'\nfolds = [{ kind = 'histogram', axes = [{ bins = 2, range = [0.0, 2.0] }] }]";
    let problem: Problem = toml::from_str(text).unwrap();
    let (data, options) = (alone(x), Options::default());
    let answer = Query::new(&problem, &data, &options).run().unwrap();
    assert_eq!(answer.outcome.pairs, n as u64 / 2);
    assert_eq!(answer.outcome.tally.counted, n as u64 / 2);
}

/// Rows with many different keys: `most` of them have one key, and some keys are of one table alone.
fn many_keys(lcg: &mut Lcg, n: usize, [keys, most]: [usize; 2]) -> Table {
    let items = (0..2 * n).map(|_| lcg.below(64) as f64 / 64.0).collect();
    let key = |lcg: &mut Lcg| match lcg.below(n) < most {
        true => 7.0,
        false => lcg.below(keys) as f64 * 3.0 - lcg.below(2) as f64,
    };
    let attributes = (0..n).flat_map(|row| [lcg.below(3) as f64, key(lcg), (row / 2) as f64]);
    let attributes = Table::f64(n, 3, attributes.collect()).unwrap();
    let names = ["kind", "block", "time"].map(str::to_string).to_vec();
    Table::f64(n, 2, items)
        .unwrap()
        .with_attributes(attributes.with_names(names).unwrap())
        .unwrap()
}

#[test]
fn many_different_keys_have_the_answer_of_a_double_loop() {
    let mut lcg = Lcg::new(157);
    for (at, fold) in BY_GROUPS.iter().chain(&FOUND).enumerate() {
        for (n, two, [keys, most]) in [
            (300, false, [600, 0]),
            (300, true, [600, 0]),
            (260, at % 2 == 0, [520, 240]),
        ] {
            let weighed = fold.contains("weights");
            let x = many_keys(&mut lcg, n, [keys, most]);
            let y = two.then(|| many_keys(&mut lcg, n / 2 + 1, [2 * keys, most / 2]));
            let data = self::weighed(&mut lcg, x, y, weighed);
            let domain = (!two).then_some("ordered");
            let found = at >= BY_GROUPS.len();
            for asked in [
                "within = 'other:block'",
                "within = 'other:block and window:time:20'",
                "by = 'kind'\nwithin = 'other:block'",
            ] {
                if !(found && asked.starts_with("by")) {
                    check(&problem(asked, fold, domain, two, false), &data).unwrap();
                }
            }
            if !two && fold.contains("histogram") {
                let asked = "within = 'other:block'";
                check(&problem(asked, fold, Some("triangle"), false, false), &data).unwrap();
            }
        }
    }
}

/// Rows are laid out a few times each, and not once for each key.
#[test]
fn different_keys_lay_out_rows_a_few_times_each() {
    let n = 20_000;
    let mut lcg = Lcg::new(22);
    let data = alone(many_keys(&mut lcg, n, [5_000, 0]));
    let problem = problem(
        "within = 'other:block'",
        "{ kind = 'nearest', k = 2 }",
        None,
        false,
        false,
    );
    let job = describe(&problem, data).unwrap();
    let parts = job.parts.as_ref().unwrap();
    let laid: usize = (0..parts.list.len())
        .map(|at| parts.rows(at).len() + parts.cols(at).len())
        .sum();
    assert!(laid < 100 * n, "{laid}");
    let keys = &parts.within.as_ref().unwrap().keys;
    let mut rows = vec![0u64; keys.len()];
    keys.codes[0]
        .iter()
        .for_each(|key| rows[*key as usize] += 1);
    let own: u64 = rows.iter().map(|rows| rows * rows).sum();
    assert_eq!(job.pairs().unwrap(), (n * n) as u64 - own);
}

/// The range of a histogram is found in a pass of its own, in which no hull of a group settles pairs:
/// groups that are far apart have the largest distance.
#[test]
fn ranges_are_found_with_groups() {
    let n = 60;
    let rows = (0..n).map(|i| f64::from(i % 3) * 100.0 + f64::from(i) * 0.5);
    let x = Table::f64(n as usize, 1, rows.collect()).unwrap();
    let kinds = Table::f64(n as usize, 1, (0..n).map(|i| f64::from(i % 3)).collect()).unwrap();
    let x = x
        .with_attributes(kinds.with_names(vec!["kind".into()]).unwrap())
        .unwrap();
    let text = "schema = 1\nx = 'x'\npair = 'euclidean'\nby = 'kind'\nfolds = [{ kind = 'histogram', axes = [{ bins = 4 }] }]";
    let problem: Problem = toml::from_str(text).unwrap();
    let (data, options) = (alone(x), Options::default());
    let answer = Query::new(&problem, &data, &options).run().unwrap();
    let columns = of_output(&answer.job.folds[0], &answer.outcome.outputs[0]);
    let pairs = f64::from(n * (n - 1) / 2);
    // Both groups, the edges, the count.
    let counts = columns[0].1.chunks_exact(5).map(|line| line[4]);
    assert_eq!(counts.sum::<f64>(), pairs, "{columns:?}");
}

/// Weights of pairs by the bits that two rows have in common, as catalogues of galaxies have them.
#[test]
fn pairs_weigh_by_common_bits() {
    let mut lcg = Lcg::new(5);
    let n = 90;
    let items = (0..n).map(|_| lcg.unit()).collect();
    let x = Table::f64(n, 1, items).unwrap();
    let bits: Vec<u64> = (0..n).map(|_| lcg.bits() >> 12).collect();
    let kinds = (0..n).flat_map(|row| [bits[row] as f64, (row % 3) as f64]);
    let beside = Table::f64(n, 2, kinds.collect()).unwrap();
    let names = vec!["a".into(), "kind".into()];
    let x = x
        .with_attributes(beside.with_names(names).unwrap())
        .unwrap();
    for by in ["", "by = 'kind'"] {
        let fold = "{ kind = 'histogram', weight = '53 / (1 + popcount(x.a & y.a))', values = { or = { formula = 'popcount(bitor(x.a, y.a))', keep = ['min'] }, xor = { formula = 'popcount(bitxor(x.a, y.a))', keep = ['sum', 'variance'] } }, axes = [{ edges = [0.0, 1.0] }] }";
        let problem = problem(by, fold, None, false, false);
        let data = alone(x.clone());
        check(&problem, &data).unwrap();
        if by.is_empty() {
            let job = describe(&problem, data).unwrap();
            let got = &numbers(&job, &oracle::run(&job).unwrap())[0];
            let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            let weight: f64 = pairs()
                .map(|(i, j)| 53.0 / (1.0 + f64::from((bits[i] & bits[j]).count_ones())))
                .sum();
            let xor: u32 = pairs().map(|(i, j)| (bits[i] ^ bits[j]).count_ones()).sum();
            let or = pairs().map(|(i, j)| (bits[i] | bits[j]).count_ones()).min();
            assert!((got[1].1[1] - weight).abs() < 1e-9 * weight);
            assert_eq!(got[2].1[1], f64::from(or.unwrap()));
            assert_eq!(got[3].1[1], f64::from(xor));
        }
    }
}

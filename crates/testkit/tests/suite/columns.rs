//! Column grids with groups, and with formulas that are summed by bin: every way against the oracle, on
//! rows of every kind, in shares too.

use zipfold::internals::identity::Identity;
use zipfold::internals::partial::{decode, encode};
use zipfold::internals::shards;
use zipfold::{Options, Overrides, Query};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Data, Domain, Job, Problem, Table, describe, oracle};
use zipfold_testkit::compare::{difference, of_output, same};
use zipfold_testkit::inputs::Lcg;
use zipfold_testkit::runner::{Variant, chosen, isas, numbers, on_engine};

/// Histograms that are kept by group.
const BY_GROUPS: [&str; 5] = [
    "{ kind = 'histogram', axes = [{ bins = 7, range = [0.0, 0.7] }] }",
    "{ kind = 'histogram', axes = [{ bins = 30, range = [0.1, 0.25] }], closed = 'half-open' }",
    "{ kind = 'histogram', axes = [{ edges = [0.01, 0.02, 0.05, 0.1, 0.3, 0.9] }], mean = true }",
    "{ kind = 'histogram', axes = [{ edges = [0.0, 0.02, 0.25, 0.3, 0.5] }], weights = 'w' }",
    "{ kind = 'histogram', axes = [{ bins = 1100, range = [0.0, 0.4] }], weights = 'w', mean = true }",
];
/// Histograms with formulas that a column grid serves.
const FORMULAS: [&str; 6] = [
    "{ kind = 'histogram', values = { gamma = { formula = '(x.z - y.z)^2 / 2', keep = ['sum', 'mean', 'variance', 'min', 'max'] } }, axes = [{ bins = 7, range = [0.0, 0.7] }] }",
    "{ kind = 'histogram', weight = 'exp(-value)', values = { far = 'value * x.z', near = 'x[0] * y[0]' }, axes = [{ edges = [0.01, 0.02, 0.05, 0.1, 0.3, 0.9] }] }",
    "{ kind = 'histogram', weight = 'x.z * y.z', axes = [{ bins = 30, range = [0.1, 0.25] }], closed = 'half-open' }",
    "{ kind = 'histogram', weights = 'w', mean = true, values = { v = 'if(x.z < y.z, x.z, 1e6)' }, axes = [{ bins = 4, range = [0.0, 0.5] }] }",
    "{ kind = 'histogram', values = { v = { formula = 'log(x.z + y.z)', keep = ['sum', 'max'] } }, axes = [{ bins = 5, range = [0.0, 0.6] }] }",
    "{ kind = 'histogram', values = { v = { formula = 'sqrt(abs(x.z)) / (x.z - y.z)', keep = ['sum'] } }, axes = [{ bins = 5, range = [0.0, 0.6] }] }",
];

/// What changes if rows change places.
const ONE_WAY: [&str; 3] = ["value * x.z", "if(", "/ (x.z - y.z)"];

/// A question and its rows.
struct Asked {
    problem: Problem,
    data: Data,
    what: String,
}

/// `n` rows of a kind, and beside them a number and a group, of some of which there is none.
fn rows(lcg: &mut Lcg, kind: usize, [n, dim]: [usize; 2], groups: usize) -> Table {
    let mut middle = vec![0.0; dim];
    let mut items = vec![];
    for i in 0..n {
        if i % 60 == 0 {
            middle = (0..dim).map(|_| lcg.between(0.0, 4.0)).collect();
        }
        items.extend((0..dim).map(|k| match kind {
            0 => lcg.between(0.0, 4.0),
            1 => middle[k] + lcg.between(-0.01, 0.01),
            // Edges are among the distances.
            2 => (lcg.between(0.0, 4.0) * 4.0).round() / 4.0,
            3 => 1.0,
            4 => 1e9 + lcg.between(0.0, 4.0),
            _ => lcg.unit() * 1e-310,
        }));
    }
    let strange = [0.0, -0.0, 5e-324, 1e300, -1e-200, 3.0];
    let mut beside = vec![];
    for i in 0..n {
        let number = match lcg.below(8) {
            0 => strange[lcg.below(6)],
            _ => lcg.between(-1.0, 3.0),
        };
        // Groups of one row behind those of many.
        let group = match i < groups / 2 {
            true => groups - 1 - i,
            false => lcg.below(groups.div_ceil(2)),
        };
        let missing = groups > 5 && lcg.below(10) == 0;
        beside.extend([number, if missing { f64::NAN } else { group as f64 }]);
    }
    let names = ["z", "kind"].map(str::to_string).to_vec();
    let beside = Table::f64(n, 2, beside).unwrap().with_names(names).unwrap();
    let x = Table::f64(n, dim, items).unwrap();
    x.with_attributes(beside).unwrap()
}

/// Question number `at`, with `fold` kept by group or not.
fn asked(lcg: &mut Lcg, at: usize, fold: &str, by: &str) -> Asked {
    let (dim, kind) = (1 + at % 4, [0, 1, 2, 4, 5, 0, 3][at % 7]);
    let text = format!(
        "schema = 1\nx = 'x'\npair = 'euclidean'\n{by}\nnan = 'skip'\nprecision = 'f64'\nfolds = [{fold}]"
    );
    let mut problem: Problem = toml::from_str(&text).unwrap();
    let second = lcg.below(3) == 0;
    problem.y = second.then(|| toml::from_str::<Problem>(&text).unwrap().x);
    let half = lcg.below(2) == 0 && !ONE_WAY.iter().any(|one_way| fold.contains(one_way));
    let domain = if half {
        Domain::Triangle
    } else {
        Domain::Square
    };
    problem.domain = (!second).then_some(domain);
    // Coordinates in a box have no place in formulas but as differences.
    let boxed = lcg.below(2) == 0 && dim < 4 && !fold.contains("x[0]");
    problem.periodic_box = boxed.then(|| [4.0, 2.5, 1.3, 0.9][..dim].to_vec());
    let n = [0, 1, 2, 17, 400, 700, 450][lcg.below(7)] + lcg.below(3);
    let groups = [1, 3, 12, 40][lcg.below(4)];
    let x = rows(lcg, kind, [n, dim], groups);
    let y = second.then(|| rows(lcg, kind, [301, dim], groups));
    let mut weights = |rows: usize| {
        let items = (0..rows).map(|_| lcg.between(-0.5, 1.0)).collect();
        Table::f64(rows, 1, items).unwrap()
    };
    let wx = weights(n);
    let wy = y.as_ref().map_or_else(|| wx.clone(), |y| weights(y.rows()));
    let weights = vec![fold.contains("weights").then_some([wx, wy])];
    let what = format!(
        "{:?} {n} rows of kind {kind} in {dim} dimensions, {groups} groups, box {:?} {fold}",
        problem.domain, problem.periodic_box
    );
    Asked {
        problem,
        data: Data {
            pairs: None,
            x,
            y,
            weights,
        },
        what,
    }
}

fn plan_of(job: &Job, overrides: &Overrides) -> zipfold::internals::plan::Plan {
    let machine = zipfold::internals::cpu::detect(2, 1 << 32);
    zipfold::internals::plan::choose(job, &machine, overrides).unwrap()
}

/// Ways to answer: all pairs, and columns of some widths.
fn ways() -> Vec<Variant> {
    let choices: [&[(&str, &str)]; 6] = [
        &[("prune", "off")],
        &[("prune", "on"), ("column_grid", "1")],
        &[("prune", "on"), ("column_grid", "3"), ("batch", "3")],
        &[("prune", "on"), ("column_grid", "7")],
        &[("prune", "on"), ("column_grid", "2")],
        &[("prune", "on"), ("column_grid", "off")],
    ];
    let isas = isas();
    let way = |(at, choices): (usize, &&[(&'static str, &'static str)])| Variant {
        isa: isas[isas.len() - 1 - at.saturating_sub(1) % isas.len()],
        threads: 1 + at % 2,
        tile: [0, 128, 256][at % 3],
        overrides: chosen(choices.iter().copied()),
    };
    choices.iter().enumerate().map(way).collect()
}

/// Holds every way to the oracle; how many of them used a column grid.
fn check(asked: &Asked) -> usize {
    let Asked {
        problem,
        data,
        what,
    } = asked;
    let job = describe(problem, data.clone()).unwrap();
    let wanted = numbers(&job, &oracle::run(&job).unwrap());
    let (mut grids, mut keys) = (0, vec![]);
    for variant in ways() {
        let got = match on_engine(problem, &job, &variant) {
            // Tables without rows are not pruned.
            Err(e) if e.to_string().contains("prune") => continue,
            other => other.unwrap(),
        };
        let odd = difference(&got[0], &wanted[0], same);
        let way = &variant.overrides;
        assert!(odd.is_none(), "{what} {way}: {}", odd.unwrap_or_default());
        let plan = plan_of(&job, way);
        if plan.part.is_none() && plan.prune.is_on() && plan.prune.column_grid.is_some() {
            grids += 1;
            let key = Identity::of_run(problem, &job, &plan, None);
            assert!(!keys.contains(&key), "{what} {way}: rows of other tiles");
            keys.push(key);
        }
    }
    shares(asked, &job, &wanted[0]);
    grids
}

/// Merges the parts of three shares.
fn shares(asked: &Asked, job: &Job, wanted: &zipfold_testkit::compare::Numbers) {
    let Asked {
        problem,
        data,
        what,
    } = asked;
    let pruned = chosen([("prune", "on"), ("tile.rows", "128")]);
    let machine = zipfold::internals::cpu::detect(2, 1 << 32);
    // Questions without pairs are not pruned.
    let overrides = match zipfold::internals::plan::choose(job, &machine, &pruned) {
        Ok(_) => pruned,
        Err(_) => Overrides::default(),
    };
    let options = |shard| Options {
        threads: 2,
        shard,
        overrides: overrides.clone(),
        ..Options::default()
    };
    let part = |index: usize| {
        let options = options(Some((index, 3)));
        let answer = Query::new(problem, data, &options).run().unwrap();
        let part = shards::part(&answer.problem, &answer.outcome, (index, 3)).unwrap();
        let name = format!("part {index}");
        (
            name.clone(),
            decode(&encode(&part).unwrap(), &name).unwrap(),
        )
    };
    let options = options(None);
    let parts = (0..3).map(part).collect();
    let merged = shards::merge(problem, data, parts, &options).unwrap();
    let got = of_output(&merged.job.folds[0], &merged.outcome.outputs[0]);
    let odd = difference(&got, wanted, same);
    assert!(odd.is_none(), "{what} merged: {}", odd.unwrap_or_default());
}

/// A half of this many questions; all where `ZIPFOLD_LONG` is set.
fn questions(all: usize) -> usize {
    match std::env::var_os("ZIPFOLD_LONG") {
        Some(_) => all,
        None => all / 2,
    }
}

#[test]
fn groups_are_counted_in_one_column_grid() {
    let mut lcg = Lcg::new(125);
    let mut grids = 0;
    let many = questions(70);
    for (at, fold) in BY_GROUPS.iter().cycle().take(many).enumerate() {
        grids += check(&asked(&mut lcg, at, fold, "by = 'kind'"));
    }
    assert!(grids > many * 13 / 7, "{grids} column grids");
}

#[test]
fn formulas_are_summed_in_column_grids() {
    let mut lcg = Lcg::new(126);
    let mut grids = 0;
    let many = questions(84);
    for (at, fold) in FORMULAS.iter().cycle().take(many).enumerate() {
        let mut asked = asked(&mut lcg, at, fold, "");
        if at % 5 == 0 {
            asked.problem.nan = NanPolicy::Propagate;
        }
        grids += check(&asked);
    }
    assert!(grids > many * 7 / 4, "{grids} column grids");
}

/// 300 places in the plane, each in the group that `of` names.
fn places(lcg: &mut Lcg, of: impl Fn(usize) -> f64) -> (Vec<[f64; 2]>, Table) {
    let n = 300;
    let places: Vec<[f64; 2]> = (0..n)
        .map(|_| [0; 2].map(|_| lcg.between(0.0, 4.0)))
        .collect();
    let kinds = Table::f64(n, 1, (0..n).map(of).collect()).unwrap();
    let kinds = kinds.with_names(vec!["kind".into()]).unwrap();
    let x = Table::f64(n, 2, places.concat()).unwrap();
    (places, x.with_attributes(kinds).unwrap())
}

/// Groups of x alone, of y alone, of both: those without any row of a side have no line, and take no
/// pair from the others.
#[test]
fn groups_without_rows_have_no_pairs() {
    let mut lcg = Lcg::new(129);
    let sides: [&[f64]; 2] = [&[0.0, 3.0, 9.0], &[1.0, 3.0, 4.0, 12.0]];
    let [(a, x), (b, y)] = sides.map(|kinds| places(&mut lcg, |row| kinds[row % kinds.len()]));
    let text = format!(
        "schema = 1\nx = 'x'\ny = 'x'\npair = 'euclidean'\nby = 'kind'\nnan = 'skip'\nprecision = 'f64'\nfolds = [{}]",
        BY_GROUPS[0]
    );
    let problem: Problem = toml::from_str(&text).unwrap();
    let data = Data {
        pairs: None,
        x,
        y: Some(y),
        weights: vec![None],
    };
    // Kinds are numbered in order, whichever side has them.
    let mut kinds = sides.concat();
    kinds.sort_by(f64::total_cmp);
    kinds.dedup();
    let number = |kind: f64| kinds.iter().position(|k| *k == kind).unwrap() as u32;
    let every = (0..6).flat_map(|k| (0..6).map(move |l| ((k, l), 0)));
    let mut wanted: std::collections::BTreeMap<(u32, u32), u64> = every.collect();
    for (i, p) in a.iter().enumerate() {
        for (j, q) in b.iter().enumerate() {
            let [k, l] = [sides[0][i % 3], sides[1][j % 4]].map(number);
            let is_near = (p[0] - q[0]).hypot(p[1] - q[1]) < 0.7;
            *wanted.entry((k, l)).or_insert(0) += u64::from(is_near);
        }
    }
    assert_eq!(wanted.values().filter(|count| **count > 0).count(), 12);
    let asked = Asked {
        problem,
        data,
        what: "groups of one side".into(),
    };
    assert_eq!(check(&asked), 4, "column grids");
    let options = Options {
        overrides: chosen([("prune", "on"), ("column_grid", "3")]),
        ..Options::default()
    };
    let answer = Query::new(&asked.problem, &asked.data, &options)
        .run()
        .unwrap();
    let columns = of_output(&answer.job.folds[0], &answer.outcome.outputs[0]);
    let mut got = std::collections::BTreeMap::new();
    // Both groups, the edges, the count; behind the bins the pairs beyond them.
    for line in columns[0].1.chunks_exact(5) {
        let near = if line[3] <= 0.7 { line[4] as u64 } else { 0 };
        *got.entry((line[0] as u32, line[1] as u32)).or_insert(0) += near;
    }
    assert_eq!(got, wanted);
}

/// No row of a side has a group: there is no pair of groups at all.
#[test]
fn sides_without_groups_have_no_pairs() {
    let mut lcg = Lcg::new(130);
    for fold in BY_GROUPS {
        let mut asked = asked(&mut lcg, 1, fold, "by = 'kind'");
        asked.problem.periodic_box = None;
        let (_, x) = places(&mut lcg, |row| (row % 2) as f64);
        let (_, y) = places(&mut lcg, |_| f64::NAN);
        let weights = fold.contains("weights").then(|| {
            let ones = || Table::f64(300, 1, vec![1.0; 300]).unwrap();
            [ones(), ones()]
        });
        asked.problem.y = Some(asked.problem.x.clone());
        asked.problem.domain = None;
        asked.data = Data {
            pairs: None,
            x,
            y: Some(y),
            weights: vec![weights],
        };
        assert_eq!(check(&asked), 0, "{fold}");
    }
}

/// The first NaN in a bin is named, and none beyond the last edge.
#[test]
fn formulas_tell_the_first_nan() {
    let mut lcg = Lcg::new(127);
    let n = 600;
    let items = (0..2 * n).map(|_| lcg.between(0.0, 4.0)).collect();
    let z = (0..n)
        .map(|i| if i % 100 == 57 { -1.0 } else { 1.0 })
        .collect();
    let z = Table::f64(n, 1, z).unwrap().with_names(vec!["z".into()]);
    let x = Table::f64(n, 2, items).unwrap();
    let x = x.with_attributes(z.unwrap()).unwrap();
    let text = "schema = 1\nx = 'x'\npair = 'euclidean'\nfolds = [{ kind = 'histogram', values = { v = 'log(x.z * y.z)' }, axes = [{ bins = 3, range = [0.0, 0.3] }] }]";
    let problem: Problem = toml::from_str(text).unwrap();
    let data = Data {
        pairs: None,
        x,
        y: None,
        weights: vec![None],
    };
    let told = |choices: [(&str, &str); 2]| {
        let options = Options {
            overrides: chosen(choices),
            ..Options::default()
        };
        let e = Query::new(&problem, &data, &options).run().err().unwrap();
        e.to_string()
    };
    let wanted = told([("prune", "off"), ("batch", "1")]);
    assert!(wanted.contains("NaN"), "{wanted}");
    for parts in ["1", "4", "off"] {
        assert_eq!(told([("prune", "on"), ("column_grid", parts)]), wanted);
    }
}

/// Formulas that read more than numbers of rows are left to other ways.
#[test]
fn formulas_of_vectors_are_left_to_other_ways() {
    let mut lcg = Lcg::new(128);
    for formula in ["sum(abs(x - y))", "max(x - y)", "x[0] - y[1]"] {
        let fold = format!(
            "{{ kind = 'histogram', values = {{ v = '{formula}' }}, axes = [{{ bins = 3, range = [0.0, 0.3] }}] }}"
        );
        let mut asked = asked(&mut lcg, 1, &fold, "");
        asked.problem.domain = Some(Domain::Square);
        (asked.problem.y, asked.problem.periodic_box) = (None, None);
        asked.data.x = rows(&mut lcg, 0, [500, 2], 1);
        (asked.data.y, asked.data.weights) = (None, vec![None]);
        let used = check(&asked);
        assert_eq!(used > 0, formula.contains("y[1]"), "{formula}: {used}");
    }
}

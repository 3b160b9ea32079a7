//! Kernels compile for NVIDIA architectures without a GPU, and shipped defaults spill no register.

use rayon::prelude::*;
use std::collections::HashSet;
use zipfold_core::problem::Problem;
use zipfold_core::{Data, Domain, Job, Precision, Table, describe};
use zipfold_gpu::rows::data_facts;
use zipfold_gpu::runtime::nvrtc;
use zipfold_gpu::{Facts, Runtime, engine};
use zipfold_plan::{Machine, Overrides, choose, device};

const PAIRS: [(&str, usize); 11] = [
    ("euclidean(x, y)", 3),
    ("cityblock(x, y)", 3),
    ("exp(-sum((x - y)^2))", 3),
    ("sum(abs(x - y)^1.5)", 5),
    ("cityblock(x, y)", 40),
    ("euclidean(x, y)", 40),
    ("sum(x * y)", 40),
    ("sum(abs(x - y)^3)", 20),
    ("cosine(x, y)", 512),
    ("chebyshev(x, y)", 512),
    ("cityblock(x, y)", 1100),
];
const FOLDS: [&str; 11] = [
    r#"{ kind = "matrix" }"#,
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 13.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 1000000, range = [0.0, 13.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ edges = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 13.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ edges = [0.0, 0.005, 4.0, 10.0, 13.0] }] }"#,
    r#"{ kind = "nearest", k = 10 }"#,
    r#"{ kind = "nearest", k = 1000 }"#,
    r#"{ kind = "join", where = "sum((x - y)^2) < 1" }"#,
    r#"{ kind = "reduce", op = "sum" }"#,
    r#"{ kind = "reduce", op = "argmin" }"#,
    r#"{ kind = "reduce", op = "logsumexp" }"#,
];

/// Whether matrix units multiply the rows of a pair.
fn half_of(pair: &str) -> bool {
    pair.contains("sum(x * y)") || pair.contains("cosine")
}

/// Whether all kernels are compiled, and not a part of them.
fn is_long() -> bool {
    std::env::var_os("ZIPFOLD_LONG").is_some()
}

/// The programs of a question on a device, by name.
fn programs(job: &Job, facts: &Facts, overrides: &Overrides) -> Vec<(String, String)> {
    let plan = choose(job, &Machine::default(), overrides).unwrap();
    let ranges = data_facts(job, std::slice::from_ref(facts), overrides);
    let plan = device::plan_for(job, plan, facts, overrides, ranges.as_ref()).unwrap();
    engine::sources(job, &plan, Runtime::Cuda).unwrap()
}

/// Compiles the kernels of some of the pairs; at least so many there must be.
fn check(pairs: std::ops::Range<usize>, least: usize) {
    assert!(nvrtc::is_present(), "no libnvrtc");
    let mut kernels = kernels(pairs);
    let all = kernels.len();
    // Folds have some kernels in common.
    let mut seen = HashSet::new();
    kernels.retain(|(_, arch, source)| seen.insert((*arch, source.clone())));
    let found = kernels
        .par_iter()
        .filter_map(|(what, arch, source)| failure(what, *arch, source));
    let failures: Vec<String> = found.collect();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        kernels.len(),
        failures.join("\n")
    );
    // A half of single precision and a quarter of double precision: more than a third of all.
    let least = if is_long() { least } else { least / 3 };
    assert!(all >= least, "{all} kernels");
}

#[test]
#[ignore = "needs nvrtc"]
fn kernels_of_short_rows_compile_for_every_architecture_and_spill_nothing() {
    check(0..4, 60);
}

#[test]
#[ignore = "needs nvrtc"]
fn kernels_of_long_rows_compile_for_every_architecture_and_spill_nothing() {
    check(4..6, 30);
}

#[test]
#[ignore = "needs nvrtc"]
fn kernels_of_products_and_cubes_compile_for_every_architecture_and_spill_nothing() {
    check(6..8, 30);
}

#[test]
#[ignore = "needs nvrtc"]
fn kernels_of_very_long_rows_compile_for_every_architecture_and_spill_nothing() {
    check(8..11, 45);
}

/// Boxes and cut-offs, and folds over distances in them.
const SPACES: [&str; 4] = [
    "box = [10.0, 11.0, 12.0]",
    "box = [10.0, 11.0, 12.0, 70.0, 80.0, 110.0]",
    "cutoff = 3.0",
    "box = [10.0, 11.0, 12.0]\ncutoff = 3.0",
];
const SPACED: [&str; 5] = [
    r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 3.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 11000, range = [0.0, 3.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ edges = [0.5, 1.0, 2.0, 4.0] }, { bins = 8, range = [0.0, 4.0], value = "euclidean(x, y) + 1" }] }"#,
    r#"{ kind = "nearest", k = 10 }"#,
    r#"{ kind = "join", where = "euclidean(x, y) < 2" }"#,
];

/// Sums by bin and by vector, and several folds: pairs, folds.
const SUMS: [(&str, &str); 10] = [
    (
        "euclidean(x, y)",
        r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 13.0] }], weights = "w" }"#,
    ),
    (
        "euclidean(x, y)",
        r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 13.0] }], mean = true }"#,
    ),
    (
        "euclidean(x, y)",
        r#"{ kind = "histogram", axes = [{ bins = 300, range = [0.0, 13.0] }], weights = "w", mean = true }"#,
    ),
    (
        "euclidean(x, y)",
        r#"{ kind = "histogram", axes = [{ bins = 90000, range = [0.0, 13.0] }], weights = "w", mean = true }"#,
    ),
    (
        "euclidean(x, y)",
        r#"{ kind = "histogram", axes = [{ edges = [0.0, 0.1, 1.0, 10.0] }], weights = "w" }"#,
    ),
    (
        "euclidean(x, y)",
        r#"{ kind = "histogram", axes = [{ bins = 50, range = [0.0, 13.0] }], values={ v = { formula = "x[0] * y[0]", keep = ["mean", "variance"] } } }"#,
    ),
    (
        "euclidean(x, y)",
        r#"{ kind = "histogram", axes = [{ bins = 1000, range = [0.0, 13.0] }], values={ v = { formula = "x[0] * y[0]", keep = ["mean", "variance"] } } }"#,
    ),
    (
        "euclidean(x, y)",
        r#"{ kind = "histogram", axes = [{ bins = 20000, range = [0.0, 13.0] }], weight = "x[0] * y[0]" }"#,
    ),
    (
        "(x - y) / (sum((x - y)^2) + 0.01)^1.5",
        r#"{ kind = "reduce", op = "sum", weights = { name = "w" } }"#,
    ),
    (
        "euclidean(x, y)",
        r#"{ kind = "reduce", op = "sum" }, { kind = "nearest", k = 4 }, { kind = "histogram", axes = [{ bins = 30, range = [0.0, 13.0] }] }"#,
    ),
];

#[test]
#[ignore = "needs nvrtc"]
fn kernels_of_sums_boxes_and_cut_offs_compile_and_spill_nothing() {
    assert!(nvrtc::is_present(), "no libnvrtc");
    let table = |dim: usize, of: fn(usize) -> f32| {
        Table::f32(300, dim, (0..300 * dim).map(of).collect()).unwrap()
    };
    let mut made = vec![];
    let spaced = SPACES
        .into_iter()
        .flat_map(|space| SPACED.map(|folds| ("euclidean(x, y)", folds, space)));
    let all = SUMS.into_iter().map(|(pair, folds)| (pair, folds, ""));
    for (pair, folds, space) in all.chain(spaced) {
        for (precision, domain) in [
            (Precision::F32, Domain::Diagonal),
            (Precision::F64, Domain::Ordered),
        ] {
            let text = format!(
                "schema = 1\nx = {{ name = \"x\" }}\n{space}\npair = {{ formula = \"{pair}\" }}\nfolds = [{folds}]"
            );
            // Half of the pairs stand for all where the value is symmetric.
            let symmetric = !pair.starts_with("(x - y)");
            let problem = Problem {
                precision: Some(precision),
                domain: Some(if symmetric { domain } else { Domain::Ordered }),
                ..toml::from_str(&text).unwrap()
            };
            let weights = table(1, |v| (v % 7) as f32 / 3.0);
            let weights = folds.contains("\"w\"").then(|| [weights.clone(), weights]);
            let data = Data {
                pairs: None,
                x: table(3, |v| (v * 37 % 101) as f32),
                y: None,
                weights: vec![weights; problem.folds.len()],
            };
            let job = describe(&problem, data).unwrap();
            let sources = programs(
                &job,
                &Facts::described(Runtime::Cuda),
                &Overrides::default(),
            );
            let named = |(name, source)| {
                (
                    format!("{space} {pair} {folds} {name} {precision:?}"),
                    source,
                )
            };
            made.extend(sources.into_iter().map(named));
        }
    }
    let each = made.par_iter().enumerate();
    let failures: Vec<String> = each
        .filter_map(|(at, (what, source))| {
            let values = what
                .contains(" values ")
                .then(|| format!("{what}: for the host"));
            values.or_else(|| failure(what, [90, 80, 100][at % 3], source))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        made.len(),
        failures.join("\n")
    );
    assert!(made.len() >= 62, "{} kernels", made.len());
}

/// Every kernel in one precision, the next one in the other; with `ZIPFOLD_LONG` in both.
#[test]
#[ignore = "needs nvrtc"]
fn kernels_of_sum_products_compile_and_spill_nothing() {
    assert!(nvrtc::is_present(), "no libnvrtc");
    let of = |p| zipfold_gpu::join_code::sources(p, Runtime::Cuda);
    let (single, double) = (of(Precision::F32), of(Precision::F64));
    assert_eq!([single.len(), double.len()], [127; 2]);
    let long = is_long();
    let numbered = |of: Vec<(String, String)>| of.into_iter().enumerate();
    let chosen: Vec<(usize, (String, String))> = numbered(single)
        .filter(|(at, _)| long || at % 2 == 0)
        .chain(numbered(double).filter(|(at, _)| long || at % 2 == 1))
        .collect();
    let failures: Vec<String> = chosen
        .par_iter()
        .filter_map(|(at, (what, source))| failure(what, [90, 80, 100][at % 3], source))
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        chosen.len(),
        failures.join("\n")
    );
}

/// Counters and sums of any number of bins have room next to the rows of a block, wide ones too.
#[test]
#[ignore = "needs nvrtc"]
fn counters_and_sums_fit_next_to_wide_rows() {
    let axes = |bins: usize| format!("axes = [{{ bins = {bins}, range = [0.0, 4.0] }}]");
    let value = "values = { v = { formula = \"x[0] * y[0]\", keep = [\"mean\", \"variance\"] } }";
    let mut asked = vec![];
    for (at, bins) in [500, 1300, 2000, 8000].into_iter().enumerate() {
        for (of, more) in ["", ", mean = true", &format!(", {value}")]
            .into_iter()
            .enumerate()
        {
            for precision in [Precision::F32, Precision::F64] {
                let fold = format!("{{ kind = \"histogram\", {}{more} }}", axes(bins));
                asked.push((
                    fold,
                    if at == 3 || (at + of) % 2 == 0 {
                        32
                    } else {
                        17
                    },
                    precision,
                ));
            }
        }
    }
    let each = asked.par_iter().flat_map_iter(|(fold, dim, precision)| {
        let text = format!(
            "schema = 1\nx = {{ name = \"x\" }}\npair = {{ formula = \"euclidean(x, y)\" }}\nfolds = [{fold}]"
        );
        let problem = Problem {
            precision: Some(*precision),
            domain: Some(Domain::Triangle),
            ..toml::from_str(&text).unwrap()
        };
        let items: Vec<f64> = (0..300 * dim).map(|v| (v * 37 % 101) as f64 / 101.0).collect();
        let x = match precision {
            Precision::F32 => Table::f32(300, *dim, items.iter().map(|v| *v as f32).collect()),
            Precision::F64 => Table::f64(300, *dim, items),
        };
        let data = Data {
            pairs: None,
            x: x.unwrap(),
            y: None,
            weights: vec![None],
        };
        let job = describe(&problem, data).unwrap();
        let sources = programs(&job, &Facts::described(Runtime::Cuda), &Overrides::default());
        let named = move |(name, source)| (format!("{dim} {precision:?} {fold} {name}"), source);
        sources.into_iter().map(named).collect::<Vec<(String, String)>>()
    });
    let failures: Vec<String> = each
        .filter_map(|(what, source)| {
            let e = nvrtc::report(&source, 90).err()?;
            Some(format!("{what}: {e}"))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        asked.len(),
        failures.join("\n")
    );
}

/// A question of several programs is one text, of which each compiles, and the first by default.
#[test]
#[ignore = "needs nvrtc"]
fn programs_of_one_text_compile_apart() {
    let x = Table::f32(
        300,
        40,
        (0..300 * 40).map(|v| (v * 37 % 101) as f32).collect(),
    )
    .unwrap();
    let text = "schema = 1\nx = { name = \"x\" }\npair = { formula = \"cityblock(x, y)\" }\ndomain = \"triangle\"\nfolds = [{ kind = \"reduce\", op = \"sum\" }]";
    let problem = Problem {
        precision: Some(Precision::F32),
        ..toml::from_str(text).unwrap()
    };
    let data = Data {
        pairs: None,
        x,
        y: None,
        weights: vec![],
    };
    let job = describe(&problem, data).unwrap();
    let sources = programs(
        &job,
        &Facts::described(Runtime::Cuda),
        &Overrides::default(),
    );
    assert!(sources.len() > 1, "one program");
    // The first of them where nothing is said.
    let text = engine::text_of(&sources);
    nvrtc::report(&text, 90).unwrap();
    for (at, (name, _)) in sources.iter().enumerate() {
        let one = format!("#define ZF_PROGRAM {}\n{text}", at + 1);
        nvrtc::report(&one, 90).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// What is wrong with a kernel for an architecture, if anything.
fn failure(what: &str, arch: usize, source: &str) -> Option<String> {
    // Joins with rows in shared memory are faster with few registers, for more thread blocks, and a
    // few numbers apart from the loop in local memory.
    let most = if what.contains("staged: true") { 48 } else { 0 };
    match nvrtc::report(source, arch) {
        Err(e) => Some(format!("{what}: {e}")),
        Ok(log) => {
            let spills = log.lines().any(|line| spilled(line) > most);
            // Products of warpgroups that wait for each other.
            let serial = log.contains("serialized");
            (spills || serial).then(|| format!("{what} sm_{arch} spills, or waits: {log}"))
        }
    }
}

/// The bytes that a line of the compiler's report says are stored to local memory.
fn spilled(line: &str) -> usize {
    let before = line.split(" bytes spill stores").next().unwrap_or_default();
    match (line.contains("spill"), before.rsplit(' ').next()) {
        (true, Some(number)) => number.parse().unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// Some pairs with every fold and precision, each for an architecture: what it is, the
/// architecture, the source.
fn kernels(pairs: std::ops::Range<usize>) -> Vec<(String, usize, String)> {
    let (mut out, mut kept) = (vec![], vec![]);
    for (at, (pair, dim)) in PAIRS
        .iter()
        .enumerate()
        .filter(|(at, _)| pairs.contains(at))
    {
        let x = Table::f32(
            300,
            *dim,
            (0..300 * dim).map(|v| (v * 37 % 101) as f32).collect(),
        )
        .unwrap();
        for (f, fold) in FOLDS.iter().enumerate() {
            for precision in [Precision::F32, Precision::F64] {
                // Every pair and every fold has some of each precision, and matrix units have all.
                let is_kept = is_long()
                    || half_of(pair) && f == 0
                    || match precision {
                        Precision::F32 => (at + f).is_multiple_of(2),
                        Precision::F64 => (at + f) % 4 == 1,
                    };
                let text = format!(
                    "schema = 1\nx = {{ name = \"x\" }}\npair = {{ formula = \"{pair}\" }}\nfolds = [{fold}]"
                );
                let problem: Problem = toml::from_str(&text).unwrap();
                let domain = [Domain::Diagonal, Domain::Ordered][f % 2];
                let problem = Problem {
                    precision: Some(precision),
                    domain: Some(domain),
                    ..problem
                };
                let job = describe(
                    &problem,
                    Data {
                        pairs: None,
                        x: x.clone(),
                        y: None,
                        weights: vec![],
                    },
                )
                .unwrap();
                // The matrix units' kernels beside those of single precision.
                let single = precision == Precision::F32;
                let half = half_of(pair) && f == 0 && single;
                let doubles = half_of(pair) && f == 0 && !single;
                let inputs: &[&str] = match (half, doubles) {
                    (true, _) => &["f32", "f16", "bf16", "tf32", "tf32x3"],
                    (_, true) => &["f32", "f64"],
                    (false, false) => &["f32"],
                };
                for input in inputs.iter().copied() {
                    // Single precision for one architecture, the others in turn.
                    let arch = if single && input == "f32" {
                        90
                    } else {
                        [80, 100, 90][(at + f + out.len()) % 3]
                    };
                    let overrides = if half || doubles {
                        Overrides::read([("dense.input", input)]).unwrap()
                    } else {
                        Overrides::default()
                    };
                    let facts = Facts {
                        capability: arch,
                        ..Facts::described(Runtime::Cuda)
                    };
                    for (name, source) in programs(&job, &facts, &overrides) {
                        out.push((
                            format!("{pair} {fold} {name} {precision:?} {input}"),
                            arch,
                            source,
                        ));
                        kept.push(is_kept);
                    }
                }
            }
        }
    }
    let all = out.into_iter().zip(kept);
    all.filter_map(|(kernel, kept)| kept.then_some(kernel))
        .collect()
}

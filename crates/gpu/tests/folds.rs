//! Sums of weights and of values by bin, of vectors, extremes, and several folds on a device,
//! against the oracle.

mod beside;

use beside::{below, odd, problem};
use zipfold_core::fold::{Extremes, Fold};
use zipfold_core::problem::Problem;
use zipfold_core::{Data, Job, Random, Table, describe};

/// Rows on a lattice, where many values are on edges, and among them equal rows.
fn lattice(n: usize, single: bool) -> Table {
    let mut random = Random::new(7);
    let items: Vec<f64> = (0..n * 3).map(|_| below(&mut random, 4) as f64).collect();
    if single {
        Table::f32(n, 3, items.into_iter().map(|v| v as f32).collect()).unwrap()
    } else {
        Table::f64(n, 3, items).unwrap()
    }
}

const WEIGHTS: [&str; 7] = [
    "alike", "whole", "signed", "single", "sizes", "ends", "zeros",
];

/// Weights by name: one number for all, of few digits, of both signs, of single precision, of many
/// sizes, at the ends of double precision, zeros.
fn weight(name: &str, random: &mut Random) -> f64 {
    let sign = if below(random, 2) == 0 { 1.0 } else { -1.0 };
    match name {
        "alike" => 1.0 / 3.0,
        "whole" => below(random, 5) as f64,
        "signed" => sign * (random.unit() + 0.5),
        "single" => f64::from(random.unit() as f32),
        "sizes" => sign * random.unit() * 10f64.powi(below(random, 25) as i32 - 12),
        "ends" => sign * [1e150, 1e-150, 5e-324, 0.0, 3.0][below(random, 5)],
        _ => 0.0,
    }
}

fn described(problem: &Problem, x: &Table, name: &str) -> Job {
    let mut random = Random::new(11);
    let items = (0..x.rows()).map(|_| weight(name, &mut random)).collect();
    let weights = Table::f64(x.rows(), 1, items).unwrap();
    weighed(problem, x, Some([weights.clone(), weights]))
}

/// The question about `x`, each fold with these weights of rows.
fn weighed(problem: &Problem, x: &Table, weights: Option<[Table; 2]>) -> Job {
    let data = Data {
        pairs: None,
        x: x.clone(),
        y: None,
        weights: vec![weights; problem.folds.len()],
    };
    describe(problem, data).unwrap()
}

/// Random problems of a test.
fn problems() -> u64 {
    let count = std::env::var("ZIPFOLD_PROBLEMS");
    count.map_or(24, |text| text.parse().unwrap())
}

/// Folds, weights, whether rows are of single precision, rows.
type Asked<'t> = (&'t str, &'t str, bool, usize);

fn all(asked: &[Asked<'_>], bound: f64) {
    let mut failures = vec![];
    for (folds, name, single, n) in asked {
        let problem = problem(folds);
        let job = described(&problem, &lattice(*n, *single), name);
        for set in [&[][..], &[("device.tile", "128")]] {
            let odd = odd(&job, set, bound);
            failures.extend(odd.map(|d| format!("{folds} {name} {n} {set:?}: {d}")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// One bin takes so many terms that the last of its words overflows; every kind of weights.
#[test]
#[ignore = "needs opencl"]
fn sums_by_bin_have_the_bits_of_the_oracle() {
    const ONE: &str = "pair = { formula = \"euclidean(x, y)\" }\nfolds = [{ kind = \"histogram\", axes = [{ bins = 1, range = [0.0, 9.0] }], weights = \"w\" }]";
    const BINS: &str = "pair = { formula = \"euclidean(x, y)\" }\nfolds = [{ kind = \"histogram\", axes = [{ bins = 8, range = [0.0, 4.0] }], weights = \"w\", mean = true }]";
    const MANY: &str = "pair = { formula = \"cityblock(x, y)\" }\ndomain = \"ordered\"\nfolds = [{ kind = \"histogram\", axes = [{ bins = 20000, range = [0.5, 7.5] }], weights = \"w\", mean = true }]";
    const UNEVEN: &str = "pair = { formula = \"x[0] - y[1]\" }\nfolds = [{ kind = \"histogram\", axes = [{ edges = [-3.0, -0.5, 1e-9, 1.0, 2.0] }], closed = \"half-open\", weights = \"w\", mean = true }]";
    const AXES: &str = "pair = { formula = \"euclidean(x, y)\" }\nfolds = [{ kind = \"histogram\", axes = [{ bins = 4, range = [1.0, 5.0] }, { bins = 3, range = [-1.0, 2.0], value = \"x[0] - y[0]\" }], weights = \"w\", mean = true }]";
    let mut asked = vec![
        (ONE, "alike", true, 700),
        (ONE, "signed", false, 700),
        (BINS, "whole", true, 1),
        (BINS, "whole", true, 0),
        (MANY, "signed", true, 200),
        (UNEVEN, "single", false, 200),
        (AXES, "signed", true, 200),
    ];
    asked.extend(WEIGHTS.map(|name| (BINS, name, true, 300)));
    all(&asked, 0.0);
}

/// Vectors, columns of weights, and folds next to each other.
#[test]
#[ignore = "needs opencl"]
fn vectors_and_several_folds_are_those_of_the_oracle() {
    const FORCES: &str = "pair = { formula = \"(x - y) / (sum((x - y)^2) + 0.1)^1.5\" }\nfolds = [{ kind = \"reduce\", op = \"sum\", weights = { name = \"w\" } }]";
    const MEANS: &str = "pair = { formula = \"x - y\" }\nfolds = [{ kind = \"reduce\", op = \"mean\", axis = \"column\", weights = { name = \"w\" } }]";
    const SEVERAL: &str = "pair = { formula = \"euclidean(x, y)\" }\nfolds = [{ kind = \"nearest\", k = 3 }, { kind = \"histogram\", axes = [{ bins = 8, range = [0.0, 4.0] }], weights = \"w\" }, { kind = \"reduce\", op = \"sum\" }]";
    let asked = [
        (FORCES, "signed", false, 300),
        (MEANS, "alike", false, 300),
        (MEANS, "alike", false, 1),
        (SEVERAL, "whole", false, 300),
    ];
    all(&asked, 1e-12);
}

/// Powers by halves are products and a root: in double precision they have the bits of the oracle,
/// also as values of pairs that single precision filters; sums of single precision take reciprocal
/// roots.
#[test]
#[ignore = "needs opencl"]
fn powers_by_halves_are_those_of_the_oracle() {
    let folds = [
        "{ kind = \"nearest\", k = 3 }",
        "{ kind = \"histogram\", axes = [{ bins = 8, range = [0.0, 8.0] }], mean = true }",
        "{ kind = \"reduce\", op = \"sum\", weights = { name = \"w\" } }",
    ];
    // The second base is -0 for equal numbers, of which a power is 0, and else NaN.
    let bases = [
        ("sum((x - y)^2)", &[0.5, 1.5, 7.5, -0.5, -2.5][..]),
        ("(0 - abs(x[0] - y[0]))", &[0.5, -1.5][..]),
    ];
    let (mut exact, mut summed) = (vec![], vec![]);
    for (base, powers) in bases {
        for power in powers {
            for fold in folds {
                let text = format!(
                    "nan = \"skip\"\npair = {{ formula = \"{base}^{power:?}\" }}\nfolds = [{fold}]"
                );
                let sums = fold.contains("sum");
                if sums {
                    summed.push(text)
                } else {
                    exact.push(text)
                }
            }
        }
    }
    for form in [
        "(x - y) / (sum((x - y)^2) + 0.1)^1.5",
        "1 / sqrt(sum((x - y)^2) + 0.5)",
    ] {
        summed.push(format!(
            "pair = {{ formula = \"{form}\" }}\nfolds = [{}]",
            folds[2]
        ));
    }
    let asked = |texts: &[String], single: &[bool], bound: f64| {
        let each = texts
            .iter()
            .flat_map(|text| single.iter().map(move |s| (&text[..], *s)));
        let odd = each.filter_map(|(text, single)| {
            // Single precision errs by the size of the terms, so these have one sign.
            let weights = if single { "alike" } else { "signed" };
            let job = described(&problem(text), &lattice(130, single), weights);
            Some(format!("{text} {single}: {}", odd(&job, &[], bound)?))
        });
        let odd: Vec<String> = odd.collect();
        assert!(odd.is_empty(), "{}", odd.join("\n"));
    };
    asked(&exact, &[true, false], 0.0);
    asked(&summed, &[false], 1e-12);
    asked(&summed, &[true], 4e-6);
}

/// Values between edges and on them, below and above all, and not numbers: each with the bits of
/// the oracle, for random axes and weights.
#[test]
#[ignore = "needs opencl"]
fn random_sums_by_bin_have_the_bits_of_the_oracle() {
    let mut failures = vec![];
    for seed in 0..problems() {
        let random = &mut Random::new(seed);
        let pairs = ["euclidean(x, y)", "x[0] - y[0]", "sqrt(x[0] - y[1])"];
        let pair = pairs[below(random, 3)];
        let bins = [1, 3, 60, 1500, 5000][below(random, 5)];
        let lo = [0.0, -1.0, 0.25][below(random, 3)];
        let hi = lo + 4.0 * random.unit();
        let kind = [
            "weights = \"w\"",
            "mean = true",
            "weights = \"w\", mean = true",
        ];
        // Half of the pairs stand for all where the value is symmetric.
        let domains = ["square", "ordered", "triangle"];
        let domain = domains[below(random, if pair == pairs[0] { 3 } else { 2 })];
        let text = format!(
            "nan = \"skip\"\ndomain = \"{domain}\"\npair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"histogram\", axes = [{{ bins = {bins}, range = [{lo:?}, {hi:?}] }}], {} }}]",
            kind[below(random, 3)]
        );
        let n = [2, 127, 130, 300][below(random, 4)];
        let items = (0..n * 3).map(|_| 3.0 * random.unit()).collect();
        let name = WEIGHTS[below(random, 7)];
        let job = described(&problem(&text), &Table::f64(n, 3, items).unwrap(), name);
        let found = odd(&job, &[], 0.0);
        failures.extend(found.map(|d| format!("{seed}: {text} {name} {n}: {d}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Rows whose third number is of some kind of weights: products of two are of all sizes.
fn sized(n: usize, name: &str, random: &mut Random) -> Table {
    let row = |random: &mut Random| {
        let place = |random: &mut Random| below(random, 4) as f64 + 0.5 * random.unit();
        [place(random), place(random), weight(name, random)]
    };
    let items = (0..n).flat_map(|_| row(random)).collect();
    Table::f64(n, 3, items).unwrap()
}

/// Values of formulas by bin, and pair weights that are formulas: of all sizes, infinite, and not
/// numbers, on one axis and on several, in shared memory and in device memory.
#[test]
#[ignore = "needs opencl"]
fn formulas_by_bin_have_the_bits_of_the_oracle() {
    let mut failures = vec![];
    for seed in 0..problems() {
        let random = &mut Random::new(100 + seed);
        let formula = [
            "x[2] * y[2]",
            "(x[2] - y[2])^2 / 2",
            "1 / (x[2] - y[2])",
            "abs(x[0] - y[1]) - 1",
            "x[2] * y[2] * 1e200",
        ][below(random, 5)];
        let axes = [
            "[{ bins = 1, range = [0.0, 9.0] }]",
            "[{ bins = 30, range = [0.25, 3.0] }]",
            "[{ edges = [0.0, 0.5, 1.0, 2.5] }]",
            "[{ bins = 12000, range = [0.0, 4.0] }]",
            "[{ bins = 4, range = [1.0, 5.0] }, { bins = 3, range = [-1.0, 2.0], value = \"x[0] - y[0]\" }]",
        ][below(random, 5)];
        let keep = [
            "\"sum\"",
            "\"mean\"",
            "\"variance\"",
            "\"sum\", \"mean\", \"variance\"",
        ][below(random, 4)];
        let values = format!("values = {{ v = {{ formula = \"{formula}\", keep = [{keep}] }} }}");
        let kind = match below(random, 5) {
            0 => format!("weight = \"{formula}\""),
            1 => format!("weight = \"abs({formula})\", {values}"),
            2 => format!("mean = true, {values}"),
            3 => format!("weights = \"w\", {values}"),
            _ => values,
        };
        let domain = ["square", "ordered"][below(random, 2)];
        let text = format!(
            "nan = \"skip\"\ndomain = \"{domain}\"\npair = {{ formula = \"sqrt((x[0] - y[0])^2 + (x[1] - y[1])^2)\" }}\nfolds = [{{ kind = \"histogram\", axes = {axes}, {kind} }}]"
        );
        let n = [1, 2, 127, 130, 300][below(random, 5)];
        let name = WEIGHTS[below(random, 7)];
        let x = sized(n, name, random);
        let precision = ["f64", "f32"][below(random, 2)];
        let text = format!("precision = \"{precision}\"\n{text}");
        let job = match text.contains("weights = ") {
            true => described(&problem(&text), &x, "alike"),
            false => weighed(&problem(&text), &x, None),
        };
        let set: &[_] = [&[][..], &[("device.tile", "128")]][below(random, 2)];
        let found = odd(&job, set, 0.0);
        failures.extend(found.map(|d| format!("{seed}: {text} {name} {n}: {d}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The least and the largest value of two roots.
#[test]
#[ignore = "needs opencl"]
fn extremes_are_those_of_the_oracle() {
    let text = "pair = { formula = \"sqrt(x[0] - y[1])\" }\nfolds = [{ kind = \"histogram\", axes = [{ bins = 3, range = [0.0, 1.0] }, { bins = 2, range = [0.0, 1.0], value = \"sum(abs(x - y))\" }] }]";
    for n in [0, 1, 2, 300] {
        let mut job = described(&problem(text), &lattice(n, false), "alike");
        let roots = job.folds[0].roots();
        job.folds = vec![Fold::Extremes(Extremes { roots })];
        assert_eq!(odd(&job, &[], 0.0), None, "{n} rows");
    }
}

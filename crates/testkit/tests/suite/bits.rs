//! Metrics of boolean rows are counted in bits where the rows hold nothing but 0 and 1, and have
//! the numbers of the oracle.

use zipfold::pairs;
use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Job, Precision, Table, describe, oracle};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{difference, same};
use zipfold_testkit::runner::{Variant, chosen, isas, numbers, on_engine, plain};

const METRICS: [&str; 9] = [
    "dice",
    "hamming",
    "jaccard",
    "rogerstanimoto",
    "russellrao",
    "sokalsneath",
    "yule",
    "cityblock",
    "sqeuclidean",
];

fn rows(lcg: &mut Lcg, n: usize, d: usize, kind: usize) -> Table {
    let items = (0..n * d).map(|_| match (lcg.below(3), kind) {
        // Not only zeros and ones: no bits then.
        (2, 1) => 2.0,
        (one, _) => f64::from(u8::from(one == 0)),
    });
    let mut items: Vec<f64> = items.collect();
    // A row without a true component.
    items[..d].fill(0.0);
    Table::f64(n, d, items).unwrap()
}

fn asked(metric: &str, x: &Table, y: Option<&Table>) -> (Problem, Job) {
    let question = pairs(x).metric(metric).fold(FoldSpec::Matrix {});
    let question = if let Some(y) = y {
        question.with(y)
    } else {
        question
    };
    let problem = Problem {
        nan: NanPolicy::Propagate,
        precision: Some(Precision::F64),
        ..question.problem().clone()
    };
    let data = Data {
        pairs: None,
        x: x.clone(),
        y: y.cloned(),
        weights: vec![],
    };
    let job = describe(&problem, data).unwrap();
    (problem, job)
}

#[test]
fn boolean_rows_have_the_numbers_of_the_oracle() {
    let mut lcg = Lcg::new(11);
    for (round, metric) in (0..8).flat_map(|round| METRICS.map(|m| (round, m))) {
        let d = [16, 63, 64, 65, 128, 200, 300, 1000][round];
        let (n, m, kind) = (
            1 + lcg.below(140),
            1 + lcg.below(150),
            usize::from(round == 3),
        );
        let (x, y) = (rows(&mut lcg, n, d, kind), rows(&mut lcg, m, d, kind));
        for other in [Some(&y), None] {
            let (problem, job) = asked(metric, &x, other);
            let reference = numbers(&job, &oracle::run(&job).unwrap());
            for (isa, family) in isas()
                .into_iter()
                .flat_map(|isa| ["dense", "vm"].map(|f| (isa, f)))
            {
                let overrides = chosen([("family", family)]);
                let got = on_engine(
                    &problem,
                    &job,
                    &Variant {
                        overrides,
                        ..plain(isa, 2, 0)
                    },
                )
                .unwrap();
                let odd = difference(&got[0], &reference[0], same);
                assert!(
                    odd.is_none(),
                    "{metric} {isa} {family} {n}×{m} d={d}: {}",
                    odd.unwrap_or_default()
                );
            }
        }
    }
}

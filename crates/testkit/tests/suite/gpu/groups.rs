//! Devices sweep the pairs of each two groups, and give the bits of the oracle.

use super::{check_bits, device, every, outcome_of};
use crate::groups::{problem, weighed};
use std::collections::BTreeSet;
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Data, Job, Table, describe};
use zipfold_testkit::Lcg;

const FOLDS: [&str; 9] = [
    "{ kind = 'histogram', axes = [{ bins = 20, range = [0.0, 1.1] }] }",
    "{ kind = 'histogram', weights = 'w', mean = true, axes = [{ edges = [0.0, 0.2, 0.25, 0.9] }] }",
    "{ kind = 'histogram', weights = 'w', axes = [{ bins = 7, range = [0.0, 0.4] }] }",
    "{ kind = 'histogram', axes = [{ value = 'abs(x[0] - y[0])', bins = 3, range = [0.0, 1.0] }, { value = 'abs(x[1] - y[1])', bins = 2, range = [0.0, 1.0] }] }",
    "{ kind = 'histogram', closed = 'half-open', axes = [{ edges = [0.05, 0.1, 0.15, 0.5, 0.7, 1.2] }] }",
    "{ kind = 'histogram', axes = [{ bins = 12000, range = [0.0, 1.5] }] }",
    "{ kind = 'histogram', axes = [{ bins = 20, range = [0.0, 1.1] }] }, { kind = 'histogram', mean = true, axes = [{ bins = 4, range = [0.0, 0.3] }] }",
    "{ kind = 'histogram', axes = [{ bins = 9, range = [0.0, 0.8] }], weight = 'abs(x[0] - y[0]) + 1', values = { v = { formula = '(x[1] - y[1])^2', keep = ['mean', 'variance'] } } }",
    // A NaN that is skipped leaves a pair out of one of them alone: the host's, then.
    "{ kind = 'histogram', axes = [{ bins = 20, range = [0.0, 1.1] }] }, { kind = 'histogram', axes = [{ bins = 4, range = [0.0, 0.3] }], values = { v = 'abs(x[1] - y[1])' } }",
];

/// `n` rows in a square, by turns of so many groups and of as many keys; some rows have none, and
/// the last group has one row.
fn rows(lcg: &mut Lcg, n: usize, groups: usize, missing: bool) -> Table {
    let grid = |lcg: &mut Lcg| (lcg.unit() * 256.0).floor() / 256.0;
    let items: Vec<f64> = (0..2 * n).map(|_| grid(lcg)).collect();
    let mut key = |at: usize, count: usize| match missing && lcg.below(20) == 0 {
        true => f64::NAN,
        false if at == n / 2 => count as f64,
        false => lcg.below(count) as f64,
    };
    let keys = (0..n)
        .flat_map(|at| [key(at, groups), key(at, 2)])
        .collect();
    let names = ["kind", "block"].map(str::to_string).to_vec();
    let keys = Table::f64(n, 2, keys).unwrap().with_names(names).unwrap();
    let x = Table::f64(n, 2, items).unwrap();
    x.with_attributes(keys).unwrap()
}

/// A question about groups, of so many pairs that devices take it.
fn question(lcg: &mut Lcg, at: usize, fold: &str) -> (zipfold_core::Problem, Job) {
    let (two, missing) = (lcg.below(3) == 0, lcg.below(3) == 0);
    let domains = ["triangle", "square", "ordered", "diagonal"];
    let domain = (!two).then(|| domains[lcg.below(4)]);
    let asked = [
        "by = 'kind'",
        "by = 'kind'",
        "by = 'kind'\nwithin = 'same:block'",
        "batch = 'kind'",
        // The host computes these, also where each kind has one key.
        "by = 'kind'\nwithin = 'other:kind'",
    ][lcg.below(5)];
    let mut problem = problem(asked, fold, domain, two, missing);
    if !missing && lcg.below(2) == 0 {
        problem.nan = [NanPolicy::Skip, NanPolicy::Propagate][lcg.below(2)];
    }
    problem.periodic_box = (lcg.below(3) == 0).then(|| vec![1.0, 1.25]);
    problem.cutoff = (lcg.below(4) == 0).then_some(0.4);
    let groups = 1 + at % 3;
    let n = 1500 + 700 * groups + lcg.below(300);
    let x = rows(lcg, n, groups, missing);
    let y = two.then(|| rows(lcg, 1800, groups, missing));
    let Data { x, y, weights, .. } = weighed(lcg, x, y, fold.contains("weights"));
    let more = fold.matches("kind = ").count() - 1;
    let weights = weights.into_iter().chain((0..more).map(|_| None)).collect();
    let job = describe(
        &problem,
        Data {
            pairs: None,
            x,
            y,
            weights,
        },
    )
    .unwrap();
    (problem, job)
}

#[test]
#[ignore = "needs opencl"]
fn devices_sweep_each_two_groups() {
    let (device, _turn) = device();
    let mut lcg = Lcg::new(22);
    let mut swept = BTreeSet::new();
    let mut host = vec![];
    // The oracle takes a second for a question.
    let asked = if every(2) == 1 { 84 } else { 36 };
    for (at, fold) in FOLDS
        .iter()
        .cycle()
        .take(asked)
        .enumerate()
        .step_by(every(2))
    {
        let (problem, job) = question(&mut lcg, at, fold);
        let mut set = vec![];
        set.extend((at % 4 == 0).then_some(("device.rows", "streamed")));
        set.extend((at % 5 == 0).then_some(("batch", "1")));
        let outcome = outcome_of(&problem, &job, device, &set).unwrap();
        let what = format!("question {at}");
        check_bits(&problem, &job, &outcome, &what);
        match outcome.plan.device.is_some() {
            true => swept.insert(at % FOLDS.len()),
            false => {
                host.push(format!("{at}: {:?}", outcome.plan.reasons));
                true
            }
        };
    }
    // The last one is the host's where NaN is skipped.
    swept.remove(&(FOLDS.len() - 1));
    assert_eq!(
        swept.len(),
        FOLDS.len() - 1,
        "{swept:?} on a device; on the host {host:?}"
    );
    let known = ["different keys", "values of their own"];
    let other = |told: &&String| !known.iter().any(|known| told.contains(known));
    assert!(host.iter().filter(other).count() < 8, "{host:?}");
    assert!(
        host.iter().any(|told| told.contains("different keys")),
        "{host:?}"
    );
}

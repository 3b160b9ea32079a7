//! Devices that sweep what bounds leave open give the bits of the oracle, and the pairs that were
//! left out, settled and swept are all pairs.

use super::{all_numbers, check_bits, device, every, outcome_of};
use crate::prune::{of_one, problem, table, weights};
use std::collections::BTreeMap;
use zipfold::Outcome;
use zipfold_core::problem::{NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Table, describe, oracle};
use zipfold_testkit::Lcg;
use zipfold_testkit::compare::{difference, same};
use zipfold_testkit::runner::numbers;

const FOLDS: [&str; 14] = [
    r#"{ kind = "histogram", axes = [{ bins = 20, range = [0.0, 0.2] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 3, range = [0.5, 30.0] }], mean = true, closed = "half-open" }"#,
    r#"{ kind = "histogram", axes = [{ bins = 9, range = [0.0, 0.15] }], weights = "w" }"#,
    r#"{ kind = "histogram", axes = [{ edges = [0.01, 0.02, 0.05, 0.1, 0.25] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 5, range = [0.0, 0.2] }, { value = "abs(x[0] - y[0])", edges = [0.1, 0.5, 4.0] }] }"#,
    r#"{ kind = "histogram", axes = [{ bins = 15000, range = [0.0, 0.2] }] }"#,
    r#"{ kind = "join", where = "sum(abs(x - y)) < 0.1" }"#,
    r#"{ kind = "join", where = "max(abs(x - y)) < 0.05 or x[0] * y[0] > 15.9", value = "x[0] + y[0]" }"#,
    r#"{ kind = "nearest", k = 5 }"#,
    r#"{ kind = "nearest", k = 40, largest = true }"#,
    r#"{ kind = "nearest", k = 300 }"#,
    r#"{ kind = "nearest", k = 1 }"#,
    r#"{ kind = "histogram", axes = [{ bins = 20, range = [0.0, 0.2] }] }, { kind = "join", where = "sum(abs(x - y)) < 0.1" }"#,
    r#"{ kind = "histogram", axes = [{ bins = 9, range = [0.0, 0.15] }], values = { v = { formula = "x[0] * y[0]", keep = ["mean", "variance"] } } }"#,
];

/// A question of `fold` by kind of rows: the space, a box, a cut-off and the numbers of rows vary.
fn question(lcg: &mut Lcg, fold: &str, kind: usize, dim: usize) -> Option<(Problem, Job)> {
    let two = lcg.below(4) == 0;
    let mut problem = problem(fold, if kind == 2 { "cityblock" } else { "euclidean" });
    let domains = [
        Domain::Triangle,
        Domain::Square,
        Domain::Ordered,
        Domain::Diagonal,
    ];
    problem.domain = (!two).then(|| domains[lcg.below(4)]);
    problem.nan = [NanPolicy::Skip, NanPolicy::Propagate][lcg.below(2)];
    let edges = [3.0, 2.5, 5.0, 4.0];
    problem.periodic_box = (lcg.below(3) == 0 && kind != 2).then(|| edges[..dim].to_vec());
    problem.cutoff = (lcg.below(3) == 0).then_some(0.4);
    let n = [1, 130, 700, 1500 + lcg.below(900)][lcg.below(12).min(3)];
    let x = table(lcg, kind, n, dim);
    let y = two.then(|| table(lcg, kind, 777, dim));
    let m = y.as_ref().map_or(n, Table::rows);
    let weights = weights(&problem, n, m);
    let job = describe(
        &problem,
        Data {
            pairs: None,
            x,
            y,
            weights,
        },
    )
    .ok()?;
    Some((problem, job))
}

/// The kind of the folds of a question.
fn kind_of(folds: &str) -> &'static str {
    let has = |kind: &str| folds.contains(&format!("kind = \"{kind}\""));
    match (has("histogram"), has("join"), has("nearest")) {
        (true, true, _) => "several",
        (true, ..) => "histogram",
        (_, true, _) => "join",
        _ => "nearest",
    }
}

/// Whether a device left out pairs; what it answered has the bits of the oracle.
fn check(problem: &Problem, job: &Job, outcome: &Outcome, what: &str) -> bool {
    check_bits(problem, job, outcome, what);
    let tally = &outcome.tally;
    let on = outcome.plan.device.as_ref();
    on.is_some_and(|on| on.pruned.is_some()) && tally.skipped + tally.settled > 0
}

#[test]
#[ignore = "needs opencl"]
fn devices_sweep_what_bounds_leave_open() {
    let (device, _turn) = device();
    let mut lcg = Lcg::new(4711);
    // By kind of fold: asked, and pairs left out.
    let mut told = BTreeMap::<&str, [usize; 2]>::new();
    let asked_of = FOLDS.iter().cycle().take(130).step_by(every(5));
    for (at, fold) in asked_of.enumerate() {
        let kind = [0, 1, 2, 3, 4, 5, 6, 1, 0, 0][at % 10];
        let Some((problem, job)) = question(&mut lcg, fold, kind, 1 + at % 3) else {
            continue;
        };
        if zipfold::internals::plan::prune::mode(&job).is_none() {
            continue;
        }
        let what = format!(
            "question {at}: kind {kind}, {} x {} of {}, {:?}, {fold}",
            job.space.n, job.space.m, job.low.dim, problem.domain
        );
        let mut set = vec![("prune", "on")];
        // Small groups leave out more of few rows; one of three is as large as on a device.
        set.extend((at % 3 > 0).then_some(("points.anchors", "1")));
        set.extend((at % 4 == 0).then_some(("device.tile", "512")));
        match outcome_of(&problem, &job, device, &set) {
            Ok(outcome) => {
                let of_kind = told.entry(kind_of(fold)).or_default();
                of_kind[0] += 1;
                of_kind[1] += usize::from(check(&problem, &job, &outcome, &what));
            }
            Err(e) if e.blame() == zipfold::Blame::Request => {}
            Err(e) => panic!("{what}: {e}"),
        }
    }
    println!("asked, left out pairs: {told:?}");
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told.values().all(|[_, left_out]| *left_out > 0), "{told:?}");
    let [asked, left_out] =
        [0, 1].map(|at| told.values().map(|of_kind| of_kind[at]).sum::<usize>());
    assert!(left_out * 2 > asked, "{left_out} of {asked}");
}

/// What bounds leave of few open pairs, of none and of all: a point far from all others, rows that
/// are one point, and a histogram that bounds never settle.
#[test]
#[ignore = "needs opencl"]
fn no_panel_and_every_panel_may_be_left() {
    let (device, _turn) = device();
    let fold = r#"{ kind = "histogram", axes = [{ bins = 20, range = [0.0, 0.5] }] }"#;
    let spread = |step: f64| (0..3000).map(|i| f64::from(i) * step).collect::<Vec<_>>();
    for (items, some) in [
        (spread(1000.0), true),
        (vec![0.25; 3000], true),
        (spread(1e-4), false),
    ] {
        let problem = problem(fold, "euclidean");
        let x = Table::f64(1000, 3, items).unwrap();
        let job = of_one(&problem, x, vec![None]);
        let outcome = outcome_of(&problem, &job, device, &[("prune", "on")]).unwrap();
        let left_out = check(&problem, &job, &outcome, "rows along a line");
        assert_eq!(left_out, some, "{:?}", outcome.tally);
    }
}

/// Where a device is lost in the middle of a run, the host goes on with the same rows.
#[test]
#[ignore = "needs opencl"]
fn the_host_goes_on_with_the_sorted_rows() {
    let (device, _turn) = device();
    let mut lcg = Lcg::new(53);
    let folds = [FOLDS[0], FOLDS[6]].join(", ");
    // Blocks of all folds take the same rows.
    let problem = problem(&folds, "euclidean");
    let x = table(&mut lcg, 0, 3000, 3);
    let weights = weights(&problem, 3000, 3000);
    let job = of_one(&problem, x, weights);
    let wanted = numbers(&job, &oracle::run(&job).unwrap());
    for launches in ["1", "3", "5"] {
        let set = [
            ("prune", "on"),
            ("device.tile", "1024"),
            ("batch", "1"),
            ("points.anchors", "1"),
            ("fault.launches", launches),
        ];
        let outcome = outcome_of(&problem, &job, device, &set).unwrap();
        let lost = |w: &zipfold_core::Message| w.to_string().contains("the work goes on");
        assert!(outcome.warnings.iter().any(lost), "{launches} launches");
        for (got, wanted) in all_numbers(&job, &outcome).iter().zip(&wanted) {
            let odd = difference(got, wanted, same);
            assert!(
                odd.is_none(),
                "{launches} launches: {}",
                odd.unwrap_or_default()
            );
        }
        assert!(
            outcome.tally.skipped + outcome.tally.settled > 0,
            "{launches} launches: {:?} {:?} {:?}",
            outcome.tally,
            outcome.plan.strategies,
            outcome.plan.device
        );
    }
}

/// Several folds, whose own kernels would take other numbers of rows, sweep the same groups; tiles
/// that the memory of the device refuses are cut.
#[test]
#[ignore = "needs opencl"]
fn folds_of_one_question_take_the_same_groups() {
    let (device, _turn) = device();
    let mut lcg = Lcg::new(59);
    let folds = [FOLDS[0], FOLDS[6], FOLDS[2]].join(", ");
    let problem = problem(&folds, "euclidean");
    let x = table(&mut lcg, 0, 4000, 3);
    let weights = weights(&problem, 4000, 4000);
    let job = of_one(&problem, x, weights);
    for set in [
        vec![("prune", "on")],
        vec![("prune", "on"), ("device.memory", "1500000")],
    ] {
        let outcome = outcome_of(&problem, &job, device, &set).unwrap();
        assert!(check(&problem, &job, &outcome, &format!("{set:?}")));
    }
}

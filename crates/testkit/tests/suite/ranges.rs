//! Histograms without a range: first and last edge are the least and the largest value, and every
//! bin counts what `numpy.histogram` counts of the same values.

use zipfold::internals::plan::overrides::Pruning;
use zipfold::internals::ranges;
use zipfold::internals::run::run;
use zipfold::{Options, Output, Target};
use zipfold_core::fold::{Axis, Closed, Fold, State};
use zipfold_core::pair::named::{self, RowValues};
use zipfold_core::problem::{FoldSpec, NanPolicy, Problem};
use zipfold_core::{Data, Domain, Job, Table, describe, oracle};
use zipfold_testkit::Lcg;
use zipfold_testkit::runner::{isas, plain};

const FORMULAS: [&str; 9] = [
    "norm(x - y)",
    "sqrt(sum((x - y)^2))",
    "1 * sqrt(sum((x - y)^2))",
    "abs(x[0] - y[0])",
    "x[0] - y[0]",
    "sum(x * y)",
    "sqrt(x[0] * x[0] + y[0] * y[0])",
    "max(abs(x - y)) + 0.1 * x[0]",
    "-norm(x - y)",
];

/// Rows for pairs of `domain`: lattices of tenths, duplicates, far from the origin, or anything.
fn table(lcg: &mut Lcg, domain: RowValues, n: usize, d: usize, single: bool) -> Table {
    let kind = lcg.below(5);
    let value = |lcg: &mut Lcg| match (domain, kind) {
        (RowValues::Boolean, _) => lcg.below(2) as f64,
        (RowValues::NonNegative, _) => 0.1 + lcg.below(30) as f64 * 0.1,
        (RowValues::LatLon, _) => lcg.between(-1.5, 1.5),
        (_, 0) => lcg.below(20) as f64 * 0.1,
        (_, 1) => lcg.below(2) as f64 * 0.7,
        (_, 2) => 1e6 + lcg.below(50) as f64 * 0.1,
        _ => lcg.between(-2.0, 3.0),
    };
    let items: Vec<f64> = (0..n * d).map(|_| value(lcg)).collect();
    match single {
        true => Table::f32(n, d, items.into_iter().map(|v| v as f32).collect()).unwrap(),
        false => Table::f64(n, d, items).unwrap(),
    }
}

fn problem(pair: &str, axis: &str, half_open: bool) -> Problem {
    let closed = if half_open { "half-open" } else { "last" };
    let fold = format!(r#"{{ kind = "histogram", axes = [{axis}], closed = "{closed}" }}"#);
    toml::from_str(&format!(
        "schema = 1\nx = {{ name = \"x\" }}\npair = {{ {pair} }}\nfolds = [{fold}]\n"
    ))
    .unwrap()
}

/// The values of all pairs of a job, by the oracle.
fn values(problem: &Problem, data: &Data, space: &zipfold_core::Space) -> Vec<f64> {
    let domain = if data.y.is_some() {
        Domain::Cross
    } else {
        Domain::Square
    };
    let all = Problem {
        folds: vec![FoldSpec::Matrix {}],
        domain: Some(domain),
        nan: NanPolicy::Propagate,
        ..problem.clone()
    };
    let job = describe(
        &Problem {
            precision: Some(zipfold_core::Precision::F64),
            ..all
        },
        data.clone(),
    )
    .unwrap();
    let matrix = &oracle::run(&job).unwrap().values[0];
    let of = |i: usize| {
        space
            .columns(i, &(0..space.m))
            .into_iter()
            .flatten()
            .map(move |j| (i, j))
    };
    (0..space.n)
        .flat_map(of)
        .map(|(i, j)| matrix[i * space.m + j])
        .collect()
}

/// Counts by the rule alone: the last edge that is not above the value; the last bin holds its
/// upper edge.
fn numpy(values: &[f64], edges: &[f64], closed: Closed) -> Vec<u64> {
    let bins = edges.len() - 1;
    let mut counts = vec![0; bins + 2];
    for v in values {
        let mut at = edges.iter().take_while(|e| *e <= v).count();
        if at == bins + 1 && closed == Closed::Last && *v == edges[bins] {
            at = bins;
        }
        counts[at] += 1;
    }
    counts
}

fn counted(
    problem: &Problem,
    data: &Data,
    options: &Options<'_>,
) -> zipfold::Result<(Job, Vec<u64>)> {
    let ranged = ranges::find(problem, data, options)?;
    let job = describe(&ranged.problem, data.clone())?;
    let plan = zipfold::internals::plan::choose(
        &job,
        &zipfold::internals::cpu::detect(2, 1 << 32),
        &options.overrides,
    )?;
    let outcome = run(&ranged.problem, &job, plan, &Target::Memory, options)?;
    match &outcome.outputs[0] {
        Output::State(State::Histogram(s)) => Ok((job, s.counts.clone())),
        _ => panic!("no histogram"),
    }
}

fn ways(lcg: &mut Lcg) -> Vec<Options<'static>> {
    let isas = isas();
    let of = |prune: &str, isa: usize| {
        let mut options = plain(isas[isa], 1 + isa % 2, 0).options();
        options.overrides.set("prune", prune).unwrap();
        options
    };
    vec![
        of("auto", lcg.below(isas.len())),
        of("off", lcg.below(isas.len())),
        of("on", lcg.below(isas.len())),
    ]
}

fn check(what: &str, problem: &Problem, data: &Data, lcg: &mut Lcg) -> bool {
    let FoldSpec::Histogram { axes, closed, .. } = &problem.folds[0] else {
        panic!()
    };
    let probe = |range| {
        let mut probe = problem.clone();
        if let FoldSpec::Histogram { axes, .. } = &mut probe.folds[0] {
            axes[0].range = Some(range);
        }
        describe(&probe, data.clone())
    };
    let space = probe([0.0, 1.0]).unwrap().space;
    let values = values(problem, data, &space);
    let (lo, hi) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(*v), b.max(*v))
        });
    let usable = !values.is_empty() && values.iter().all(|v| v.is_finite());
    for options in ways(lcg) {
        let found = counted(problem, data, &options);
        if let (true, Err(e)) = (options.overrides.prune == Some(Pruning::On), &found)
            && e.to_string().contains("cannot prune")
        {
            continue;
        }
        if !usable {
            assert!(
                found.is_err(),
                "{what}: {lo} to {hi} of {} values",
                values.len()
            );
            continue;
        }
        let (job, counts) = found.unwrap_or_else(|e| panic!("{what} {}: {e}", options.overrides));
        let Fold::Histogram(h) = &job.folds[0] else {
            panic!()
        };
        let ends = match (lo == hi, closed) {
            (true, _) => [lo - 0.5, hi + 0.5],
            (_, Closed::Last) => [lo, hi],
            (_, Closed::HalfOpen) => [lo, hi.next_up()],
        };
        let bins = axes[0].bins.unwrap_or(100);
        let step = (ends[1] - ends[0]) / bins as f64;
        let edge = |i: usize| {
            if i == bins {
                ends[1]
            } else {
                i as f64 * step + ends[0]
            }
        };
        let edges: Vec<f64> = (0..=bins).map(edge).collect();
        assert_eq!(h.axes[0].edges, edges, "{what}");
        assert_eq!(
            counts,
            numpy(&values, &edges, *closed),
            "{what} {}",
            options.overrides
        );
        assert_eq!((counts[0], counts[bins + 1]), (0, 0), "{what}");
    }
    usable
}

#[test]
fn no_pair_is_outside_its_own_range_and_bins_are_those_of_numpy() {
    let mut lcg = Lcg::new(20261122);
    let mut answered = 0;
    for round in 0..400 {
        let all = named::all();
        let metric = all[lcg.below(all.len())];
        let formula = lcg.below(3) == 0;
        let (pair, domain) = match formula {
            true => (
                format!("formula = \"{}\"", FORMULAS[lcg.below(FORMULAS.len())]),
                RowValues::Real,
            ),
            false => (format!("metric = \"{}\"", metric.name), metric.domain),
        };
        let d = if domain == RowValues::LatLon {
            2
        } else {
            [1, 2, 3, 4, 5, 17][lcg.below(6)]
        };
        let n = [1, 2, 3, 20, 150, 300][lcg.below(6)];
        let (single, cross) = (lcg.below(2) == 0, lcg.below(3) == 0);
        let x = table(&mut lcg, domain, n, d, single);
        let m = 1 + lcg.below(40);
        let y = cross.then(|| table(&mut lcg, domain, m, d, single));
        let bins = [1, 2, 7, 100][lcg.below(4)];
        let mut problem = problem(&pair, &format!("{{ bins = {bins} }}"), lcg.below(4) == 0);
        if cross {
            problem.y = Some(problem.x.clone());
        }
        if formula && pair.contains("x - y") && lcg.below(2) == 0 {
            problem.periodic_box = Some(vec![1.7; d]).filter(|_| d <= 4);
        }
        let data = Data {
            pairs: None,
            x,
            y,
            weights: vec![None],
        };
        let what = format!(
            "round {round}: {pair} {n} × {d} f32 {single} cross {cross} bins {bins} {:?}",
            problem.periodic_box
        );
        // Metrics that need options are not asked.
        let mut probe = problem.clone();
        if let FoldSpec::Histogram { axes, .. } = &mut probe.folds[0] {
            axes[0].range = Some([0.0, 1.0]);
        }
        if describe(&probe, data.clone()).is_err() {
            continue;
        }
        answered += usize::from(check(&what, &problem, &data, &mut lcg));
    }
    assert!(answered > 150, "{answered} answered");
}

/// The law of edges: the bin of √s is where √s lies among the edges, for every s, also where
/// squares overflow and underflow.
#[test]
fn squares_are_in_the_bins_of_their_roots() {
    let mut lcg = Lcg::new(7);
    for round in 0..3000 {
        let scale = [1.0, 0.1, 1e-162, 1e-160, 1e-170, 1e154, 1e200, 5e-324][lcg.below(8)];
        let mut edges: Vec<f64> = (0..2 + lcg.below(6))
            .map(|_| lcg.below(40) as f64 * scale)
            .collect();
        edges.extend(
            [-1.0, 0.0, f64::INFINITY]
                .into_iter()
                .filter(|_| lcg.below(4) == 0),
        );
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        if edges.len() < 2 {
            continue;
        }
        for closed in [Closed::Last, Closed::HalfOpen] {
            let axis = Axis::new(0, edges.clone(), true, closed);
            assert!(axis.compared.windows(2).all(|w| w[0] <= w[1]), "{edges:?}");
            let near = edges.iter().flat_map(|e| {
                let s = e * e;
                [
                    s,
                    s.next_up(),
                    s.next_down().max(0.0),
                    s.next_up().next_up(),
                    e.abs(),
                ]
            });
            let plain = [0.0, 5e-324, 1e-320, f64::MAX, f64::INFINITY, lcg.unit()];
            for s in near.chain(plain) {
                let wanted = numpy(&[s.sqrt()], &edges, closed)
                    .iter()
                    .position(|c| *c == 1)
                    .unwrap();
                assert_eq!(
                    axis.place(s),
                    wanted,
                    "round {round}: {s:e} in {edges:?} {closed:?}"
                );
            }
        }
    }
}

/// The range of many points is found by looking at few of their pairs, whatever their form has
/// bounds for.
#[test]
fn ranges_of_many_points_take_few_pairs() {
    let mut lcg = Lcg::new(3);
    let n = 20_000;
    let x = Table::f64(n, 3, (0..3 * n).map(|_| lcg.unit()).collect()).unwrap();
    let data = Data {
        pairs: None,
        x,
        y: None,
        weights: vec![None],
    };
    let pairs = [
        ("metric = \"euclidean\"", None),
        ("metric = \"cityblock\"", None),
        ("metric = \"chebyshev\"", None),
        ("formula = \"norm(x - y)\"", Some(vec![1.0; 3])),
        ("formula = \"abs(x[0] - y[0])\"", None),
        ("metric = \"sqeuclidean\"", Some(vec![1.0, 2.0, 1.5])),
    ];
    for (pair, periodic_box) in pairs {
        let problem = Problem {
            periodic_box,
            ..problem(pair, "{ bins = 300 }", false)
        };
        let found = ranges::find(&problem, &data, &plain(isas()[0], 2, 0).options())
            .unwrap()
            .found
            .unwrap();
        assert_eq!(found.pairs, n as u64 * (n as u64 - 1) / 2);
        let share = found.evaluated as f64 / found.pairs as f64;
        assert!(share < 0.05, "{pair}: {share}");
    }
}

#[test]
fn ranges_that_are_none_are_refused() {
    let table = |items: Vec<f64>| Table::f64(items.len(), 1, items).unwrap();
    let refused = |items: Vec<f64>, pair: &str, wanted: &str| {
        let data = Data {
            pairs: None,
            x: table(items),
            y: None,
            weights: vec![None],
        };
        let problem = problem(pair, "{ bins = 3 }", false);
        let e = counted(&problem, &data, &Options::default())
            .err()
            .map(|e| e.to_string())
            .unwrap_or_default();
        assert!(e.contains(wanted), "{pair}: {e}");
    };
    refused(vec![1.0], "metric = \"euclidean\"", "no value");
    refused(vec![0.0, 1.0], "formula = \"log(x[0] * y[0])\"", "-inf");
    refused(vec![0.0, 1e300], "formula = \"sum((x - y)^2)\"", "inf");
    // All values beyond where a half can be added.
    refused(vec![0.0, 1e300], "metric = \"cityblock\"", "bins, range");
}

/// Several axes, of which one is a formula of its own: each has its own range.
#[test]
fn every_axis_has_its_own_range() {
    let mut lcg = Lcg::new(11);
    let x = Table::f64(300, 3, (0..900).map(|_| lcg.between(-1.0, 1.0)).collect()).unwrap();
    let data = Data {
        pairs: None,
        x,
        y: None,
        weights: vec![None],
    };
    let axes = r#"{ bins = 4 }, { value = "abs(x[2] - y[2])", bins = 3 }, { value = "sqrt(x[0]^2 + y[0]^2)", bins = 5 }"#;
    let problem = problem("metric = \"euclidean\"", axes, false);
    for options in ways(&mut lcg) {
        let (job, counts) = counted(&problem, &data, &options).unwrap();
        let Fold::Histogram(h) = &job.folds[0] else {
            panic!()
        };
        assert_eq!(counts.iter().sum::<u64>(), 300 * 299 / 2);
        // Under and over of any axis.
        let outside = counts.iter().enumerate().filter(|(at, _)| {
            let places = [at / (7 * 5), at / 7 % 5, at % 7];
            places
                .iter()
                .zip(&h.axes)
                .any(|(place, axis)| *place == 0 || *place > axis.bins())
        });
        assert_eq!(
            outside.map(|(_, c)| c).sum::<u64>(),
            0,
            "{}",
            options.overrides
        );
        let [first, second] = [0, 1].map(|at| &h.axes[at].edges);
        assert!(first[0] > 0.0 && first[4] < 12f64.sqrt() && second[3] < 2.0 && second[3] > 1.5);
    }
}

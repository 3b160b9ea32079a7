//! Dense tiles, and folds of wide and short rows that take their pairs from them.

use super::{FOLDS, all_numbers, alone, cloud, device, every, on_device, outcome_of, problem};
use zipfold::internals::device::{Runtime, list};
use zipfold::internals::plan::device::DeviceWork;
use zipfold::internals::plan::device::matrix::MatrixKernel;
use zipfold::internals::plan::low_precision::{LowPrecision, ProductType};
use zipfold_core::problem::Problem;
use zipfold_core::{Data, Domain, Precision, Table, describe, oracle};
use zipfold_testkit::compare::{close, difference, same};
use zipfold_testkit::runner::numbers;

/// Slices that are copied past the registers, and threads of 8 × 16 pairs: what CUDA does by
/// default, and other shapes.
#[test]
#[ignore = "needs opencl"]
fn dense_tiles_by_a_pipeline_are_those_of_the_oracle() {
    let (device, _turn) = device();
    let stages = |stages, across, slice, load| {
        [
            ("dense.stages", stages),
            ("dense.across", across),
            ("dense.slice", slice),
            ("load.vector", load),
        ]
    };
    let cases = [
        (
            "cityblock",
            37,
            Domain::Diagonal,
            Precision::F32,
            stages("3", "16", "8", "2"),
        ),
        (
            "sqeuclidean",
            300,
            Domain::Square,
            Precision::F32,
            stages("4", "8", "8", "1"),
        ),
        (
            "chebyshev",
            16,
            Domain::Triangle,
            Precision::F64,
            stages("2", "16", "4", "1"),
        ),
        (
            "cosine",
            9,
            Domain::Diagonal,
            Precision::F32,
            stages("0", "16", "16", "1"),
        ),
        (
            "cityblock",
            1100,
            Domain::Square,
            Precision::F32,
            stages("3", "16", "16", "4"),
        ),
    ];
    for (metric, dim, domain, precision, set) in cases.into_iter().step_by(every(5)) {
        let text = format!("pair = {{ metric = \"{metric}\" }}\nfolds = [{{ kind = \"matrix\" }}]");
        let problem = Problem {
            domain: Some(domain),
            precision: Some(precision),
            ..problem(&text)
        };
        let job = alone(&problem, cloud(6, 261, dim));
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, &set).unwrap();
        let single = precision == Precision::F32;
        let equal = |a: f64, b: f64| {
            if single {
                close(a, b, 1e-5)
            } else {
                same(a, b)
            }
        };
        assert_eq!(
            difference(&got[0], &wanted[0], equal),
            None,
            "{metric} {dim} {set:?}"
        );
    }
}

/// The panel of a block's own rows, shared evenly by its threads: every pair once, whatever the
/// anchors and their inputs.
#[test]
#[ignore = "needs opencl"]
fn a_balanced_diagonal_counts_every_pair_once() {
    let (device, _turn) = device();
    let sets = [
        ("panel", "4", Domain::Triangle),
        ("both", "2", Domain::Triangle),
        ("cache", "1", Domain::Diagonal),
    ];
    for (at, (input, anchors, domain)) in sets.into_iter().enumerate().step_by(every(2)) {
        for (dim, filter) in [(3, "on"), (40, "off")]
            .into_iter()
            .take(if at == 2 { 2 } else { 1 })
        {
            let problem = Problem {
                domain: Some(domain),
                ..problem(&format!("folds = [{}]", FOLDS[0]))
            };
            let job = alone(&problem, cloud(21, 1100, dim));
            let wanted = numbers(&job, &oracle::run(&job).unwrap());
            let set = [
                ("tile.diagonal", "balanced"),
                ("points.input", input),
                ("points.anchors", anchors),
                ("filter", filter),
            ];
            let got = on_device(&problem, &job, device, &set).unwrap();
            assert_eq!(difference(&got[0], &wanted[0], same), None, "{set:?} {dim}");
        }
    }
    let cross = Problem {
        domain: Some(Domain::Cross),
        ..problem(&format!("folds = [{}]", FOLDS[0]))
    };
    let job = describe(
        &cross,
        Data {
            pairs: None,
            x: cloud(21, 300, 3),
            y: Some(cloud(22, 300, 3)),
            weights: vec![],
        },
    )
    .unwrap();
    let refused = on_device(&cross, &job, device, &[("tile.diagonal", "balanced")]).unwrap_err();
    assert!(refused.to_string().contains("half spaces"), "{refused}");
}

/// Rows too wide for registers: pairs of dense tiles go straight to the fold, of whole and of half
/// spaces, ragged ends included.
#[test]
#[ignore = "needs opencl"]
fn folds_of_wide_rows_take_their_cells_from_dense_tiles() {
    let (device, _turn) = device();
    let cases = [
        (r#"{ kind = "nearest", k = 10 }"#, Domain::Cross, 40),
        (
            r#"{ kind = "histogram", axes = [{ bins = 300, range = [5.0, 30.0] }] }"#,
            Domain::Triangle,
            40,
        ),
        (
            r#"{ kind = "reduce", op = "argmin" }"#,
            Domain::Triangle,
            64,
        ),
        (
            r#"{ kind = "nearest", k = 40, largest = true }"#,
            Domain::Ordered,
            33,
        ),
        (r#"{ kind = "reduce", op = "max" }"#, Domain::Cross, 300),
        (
            r#"{ kind = "histogram", axes = [{ bins = 2000, range = [0.0, 40.0] }], closed = "half-open" }"#,
            Domain::Diagonal,
            12,
        ),
        (r#"{ kind = "reduce", op = "sum" }"#, Domain::Diagonal, 64),
        (
            r#"{ kind = "reduce", op = "sum", axis = "column" }"#,
            Domain::Cross,
            35,
        ),
    ];
    for (fold, domain, dim) in cases.into_iter().step_by(every(2)) {
        let problem = Problem {
            domain: Some(domain),
            ..problem(&format!("folds = [{fold}]"))
        };
        let y = (domain == Domain::Cross).then(|| cloud(42, 413, dim));
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x: cloud(41, 555, dim),
                y,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let sums = fold.contains("sum");
        let equal = |a: f64, b: f64| if sums { close(a, b, 1e-5) } else { same(a, b) };
        let got = on_device(&problem, &job, device, &[("fold.tiles", "dense")]).expect(fold);
        assert_eq!(
            difference(&got[0], &wanted[0], equal),
            None,
            "{fold} {domain:?} {dim}"
        );
    }
}

/// Predicates over wide rows: joins whose tiles fill several pages, rows with a match, counts by
/// row and by column, and cosines, whose equal rows are a case of their own.
#[test]
#[ignore = "needs opencl"]
fn predicates_of_wide_rows_take_their_cells_from_dense_tiles() {
    let (device, _turn) = device();
    let join = |predicate, kind| {
        format!("folds = [{{ kind = \"join\", where = \"{predicate}\", join_kind = \"{kind}\" }}]")
    };
    let count = |pair, axis| {
        format!(
            "pair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"reduce\", op = \"count\", axis = \"{axis}\" }}]"
        )
    };
    let some = "sum((x - y)^2) < 380 or sum((x - y)^2) <= 120";
    let cosine = |fold| format!("pair = {{ metric = \"cosine\" }}\nfolds = [{{ {fold} }}]");
    let cases = [
        (join(some, "inner"), Domain::Triangle, 40, "120000000"),
        (
            join("sum((x - y)^2) < 1e6", "inner"),
            Domain::Cross,
            33,
            "1500000",
        ),
        (
            join("cosine(x, y) < 0.12", "semi"),
            Domain::Ordered,
            37,
            "120000000",
        ),
        (join(some, "anti"), Domain::Triangle, 40, "120000000"),
        (count(some, "row"), Domain::Diagonal, 40, "120000000"),
        (
            count("cosine(x, y) < 0.2 and x[0] < y[0]", "column"),
            Domain::Cross,
            64,
            "120000000",
        ),
        (
            cosine("kind = \"nearest\", k = 5"),
            Domain::Square,
            40,
            "120000000",
        ),
    ];
    for (text, domain, dim, memory) in cases.iter().step_by(every(2)) {
        let problem = Problem {
            domain: Some(*domain),
            ..problem(text)
        };
        let y = (*domain == Domain::Cross).then(|| cloud(42, 413, *dim));
        let job = describe(
            &problem,
            Data {
                pairs: None,
                x: cloud(41, 555, *dim),
                y,
                weights: vec![],
            },
        )
        .unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let set = [("fold.tiles", "dense"), ("device.memory", memory)];
        let got = on_device(&problem, &job, device, &set).expect(text);
        assert_eq!(
            difference(&got[0], &wanted[0], same),
            None,
            "{text} {domain:?} {dim}"
        );
    }
}

/// Short rows: counts of a predicate, and cosines, are decided by single precision where it can.
#[test]
#[ignore = "needs opencl"]
fn predicates_and_cosines_of_short_rows_are_exact() {
    let (device, _turn) = device();
    let texts = [
        (
            "pair = { formula = \"sum((x - y)^2) < 4 and x[0] < y[1]\" }\nfolds = [{ kind = \"reduce\", op = \"count\" }]",
            Domain::Ordered,
        ),
        (
            "pair = { formula = \"sum(x * y) / (1 + sum(x * x)) < 1\" }\nfolds = [{ kind = \"reduce\", op = \"count\" }]",
            Domain::Square,
        ),
        (
            "pair = { metric = \"cosine\" }\nfolds = [{ kind = \"histogram\", axes = [{ bins = 50, range = [0.0, 1.0] }] }]",
            Domain::Square,
        ),
        (
            "pair = { metric = \"cosine\" }\nfolds = [{ kind = \"nearest\", k = 4 }]",
            Domain::Square,
        ),
    ];
    for (text, domain) in texts.into_iter().step_by(every(2)) {
        let problem = Problem {
            domain: Some(domain),
            ..problem(text)
        };
        let job = alone(&problem, cloud(43, 700, 3));
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, &[]).expect(text);
        assert_eq!(difference(&got[0], &wanted[0], same), None, "{text}");
    }
}

/// Rows of numbers of 16 bits, as float16 containers hold them: multiplied as such where every
/// number is one, or where asked.
#[test]
#[ignore = "needs opencl"]
fn inner_products_of_16_bit_rows_are_those_of_single_precision() {
    let (device, _turn) = device();
    let cases = [
        (
            "sum(x * y)",
            37,
            Domain::Diagonal,
            LowPrecision::F16,
            "matrix",
        ),
        (
            "sum(x * y) / sqrt(sum(x * x) * sum(y * y))",
            9,
            Domain::Cross,
            LowPrecision::Bf16,
            "matrix",
        ),
        (
            "1 - sum(x * y) / sqrt(sum(x * x) * sum(y * y))",
            300,
            Domain::Triangle,
            LowPrecision::F16,
            "condensed",
        ),
        (
            "sum(x * y) + 1",
            64,
            Domain::Square,
            LowPrecision::Bf16,
            "matrix",
        ),
    ];
    let machine = zipfold::internals::cpu::detect(1, 1 << 32);
    for (pair, dim, domain, half, kind) in cases.into_iter().step_by(every(2)) {
        let text = format!("pair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"{kind}\" }}]");
        let problem = Problem {
            domain: Some(domain),
            ..problem(&text)
        };
        // Beyond the largest f16 where bf16 is to be found.
        let scale = if half == LowPrecision::F16 { 1.0 } else { 1e6 };
        let rounded = |t: Table| {
            let all = (0..t.rows() * t.cols())
                .map(|at| half.value(half.round(t.elements().get(at) as f32 * scale)));
            Table::f32(t.rows(), dim, all.collect()).unwrap()
        };
        let other = (domain == Domain::Cross).then(|| rounded(cloud(32, 190, dim)));
        let data = Data {
            pairs: None,
            x: rounded(cloud(31, 301, dim)),
            y: other,
            weights: vec![],
        };
        let job = describe(&problem, data).unwrap();
        let facts = list(Runtime::OpenCl)
            .ok()
            .and_then(|f| f.into_iter().next());
        if let Some(facts) = facts {
            let plan =
                zipfold::internals::plan::choose(&job, &machine, &Default::default()).unwrap();
            let plan = zipfold::internals::plan::device::plan_for(
                &job,
                plan,
                &facts,
                &Default::default(),
                None,
            )
            .unwrap();
            let Some(DeviceWork::Matrix(matrix)) = plan.device.map(|on| on.work) else {
                panic!("{pair}")
            };
            let half = ProductType::Half(half);
            assert!(
                matches!(matrix.kernel, MatrixKernel::Products(shape) if shape.input == half),
                "{pair}"
            );
        }
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        for units in ["warp", "warpgroup"] {
            let got = on_device(&problem, &job, device, &[("matrix.units", units)]).unwrap();
            assert_eq!(
                difference(&got[0], &wanted[0], |a, b| (a - b).abs()
                    <= 1e-5 * b.abs().max(1.0)),
                None,
                "{pair} {dim} {half:?} by {units}"
            );
        }
    }
    // Numbers of single precision are rounded where asked, and only there.
    let problem = problem("pair = { formula = \"sum(x * y)\" }\nfolds = [{ kind = \"matrix\" }]");
    let job = alone(&problem, cloud(33, 150, 20));
    let wanted = numbers(&job, &oracle::run(&job).unwrap());
    let plain = on_device(&problem, &job, device, &[]).unwrap();
    let asked = on_device(&problem, &job, device, &[("dense.input", "bf16")]).unwrap();
    assert_eq!(
        difference(&plain[0], &wanted[0], |a, b| close(a, b, 1e-5)),
        None
    );
    assert!(
        difference(&asked[0], &wanted[0], |a, b| close(a, b, 1e-5)).is_some(),
        "nothing was rounded"
    );
    assert_eq!(
        difference(&asked[0], &wanted[0], |a, b| (a - b).abs() <= 1.0),
        None
    );
}

/// What matrix units take of single and of double precision: the sums are off by no more than the
/// type says, and rows that do not fit are refused.
#[test]
#[ignore = "needs opencl"]
fn inner_products_by_matrix_units_are_as_near_as_their_type_says() {
    let (device, _turn) = device();
    let pairs = [
        ("sum(x * y)", "matrix", Domain::Cross),
        ("sum(x * y) * 0.5 + 1", "matrix", Domain::Diagonal),
        (
            "1 - sum(x * y) / sqrt(sum(x * x) * sum(y * y))",
            "condensed",
            Domain::Triangle,
        ),
        ("sum(x * y)", "matrix", Domain::Square),
    ];
    // By type: the units and the precision asked for, and the error of a product by its magnitude.
    let types = [
        ("tf32", "warp", Precision::F32, 2f64.powi(-10)),
        ("tf32", "warpgroup", Precision::F32, 2f64.powi(-10)),
        ("tf32x3", "warp", Precision::F32, 2f64.powi(-19)),
        ("f64", "warp", Precision::F64, 2f64.powi(-50)),
    ];
    for (at, (input, units, precision, error)) in types.iter().cycle().take(32).enumerate() {
        let (pair, kind, domain) = pairs[at / 4 % 4];
        let dim = [8, 17, 64, 301][(at / 8 + at) % 4];
        let text = format!("pair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"{kind}\" }}]");
        let problem = Problem {
            domain: Some(domain),
            precision: Some(*precision),
            ..problem(&text)
        };
        let rows = |seed: u64, rows: usize| {
            let t = cloud(seed, rows, dim);
            let all = (0..rows * dim).map(|at| t.elements().get(at) * 1.25 - 0.5);
            match precision {
                Precision::F32 => Table::f32(rows, dim, all.map(|v| v as f32).collect()),
                Precision::F64 => Table::f64(rows, dim, all.map(|v| v * (1.0 / 3.0)).collect()),
            }
            .unwrap()
        };
        let other = (domain == Domain::Cross).then(|| rows(52, 190));
        let data = Data {
            pairs: None,
            x: rows(51, 301),
            y: other,
            weights: vec![],
        };
        let job = describe(&problem, data).unwrap();
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let shape = ("dense.slice", ["1", "2"][at / 4 % 2]);
        let input_of = [("dense.input", *input), ("matrix.units", *units)];
        let set = [input_of[0], input_of[1], shape, ("dense.band", "2")];
        let outcome = outcome_of(&problem, &job, device, &set[..2 + at / 4 % 3]).unwrap();
        let Some(DeviceWork::Matrix(matrix)) = outcome.plan.device.as_ref().map(|on| &on.work)
        else {
            panic!("{pair} as {input} on the host")
        };
        assert!(
            matches!(matrix.kernel, MatrixKernel::Products(shape) if shape.input.name() == *input),
            "{pair} as {input}: {matrix:?}"
        );
        // A bound of the sum of |x·y|, or of what lengths leave of it; sums in single precision have
        // their own roundings.
        let largest =
            |t: &Table| (0..t.rows() * dim).fold(0.0f64, |m, at| m.max(t.elements().get(at).abs()));
        let sum = match pair.contains("sqrt") {
            true => 1.0,
            false => largest(&job.x) * largest(job.other()) * dim as f64,
        };
        let own = if *precision == Precision::F32 {
            3e-7 * sum
        } else {
            0.0
        };
        let most = sum * error + own;
        let near = |a: f64, b: f64| (a - b).abs() <= most || a.is_nan() && b.is_nan();
        let odd = difference(&all_numbers(&job, &outcome)[0], &wanted[0], near);
        assert_eq!(odd, None, "{pair} {dim} {input}");
    }
    let problem = problem("pair = { formula = \"sum(x * y)\" }\nfolds = [{ kind = \"matrix\" }]");
    let mut items = vec![0.5; 20 * 9];
    items[33] = f32::INFINITY;
    let job = alone(&problem, Table::f32(20, 9, items).unwrap());
    for (input, says) in [
        ("tf32x3", "a number does not fit tf32x3"),
        (
            "f64",
            "expected a matrix of inner products in double precision",
        ),
    ] {
        let refused = outcome_of(&problem, &job, device, &[("dense.input", input)]);
        let e = refused.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(e.contains(says), "{input}: {e}");
    }
    let got = on_device(&problem, &job, device, &[("dense.input", "tf32")]).unwrap();
    let wanted = numbers(&job, &oracle::run(&job).unwrap());
    assert_eq!(difference(&got[0], &wanted[0], same), None);
}

/// Rows too short for slices of components, and formulas without one loop: whole pairs by thread,
/// under every map.
#[test]
#[ignore = "needs opencl"]
fn short_rows_have_the_bits_of_the_oracle_under_every_map() {
    let (device, _turn) = device();
    let maps = ["bb", "utm", "rb", "rec", "ltm"];
    let (by, roots) = (
        [("tile.by", "block"), ("tile.by", "thread")],
        ["sqrt", "newton", "reciprocal", "table"],
    );
    let mut sets: Vec<Vec<(&str, &str)>> = vec![];
    for map in maps {
        let fits = |by: &(&str, &str)| map != "rec" || by.1 == "block";
        sets.extend(
            by.iter()
                .filter(|by| fits(by))
                .map(|by| vec![("tile.map", map), *by]),
        );
    }
    sets.extend(
        roots[1..]
            .iter()
            .map(|root| vec![("tile.map", "ltm"), ("tile.root", *root)]),
    );
    let kinds = [
        ("matrix", Domain::Diagonal),
        ("condensed", Domain::Triangle),
        ("matrix", Domain::Triangle),
    ];
    for (at, set) in sets.iter_mut().enumerate() {
        let (kind, domain) = kinds[at % 3];
        if at % 4 == 0 {
            set.push(("device.tile", "128"));
        }
        let precision = [Precision::F64, Precision::F32][at % 2];
        let text =
            format!("pair = {{ metric = \"euclidean\" }}\nfolds = [{{ kind = \"{kind}\" }}]");
        let problem = Problem {
            domain: Some(domain),
            precision: Some(precision),
            ..problem(&text)
        };
        let job = alone(&problem, cloud(8, 301, 1 + at % 4));
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let got = on_device(&problem, &job, device, set).unwrap();
        let single = precision == Precision::F32;
        let equal = |a: f64, b: f64| {
            if single {
                close(a, b, 1e-5)
            } else {
                same(a, b)
            }
        };
        assert_eq!(
            difference(&got[0], &wanted[0], equal),
            None,
            "{set:?} {kind}"
        );
    }
}

#[test]
#[ignore = "needs opencl"]
fn dense_tiles_have_the_bits_of_the_oracle_under_every_map() {
    let (device, _turn) = device();
    let x = cloud(5, 300, 37);
    let metrics = [
        "cityblock",
        "euclidean",
        "chebyshev",
        "cosine",
        "braycurtis",
        "canberra",
        "correlation",
    ];
    let maps = ["bb", "ltm", "utm", "rb", "rec"];
    // Each metric under one shape and precision in turn: kernels are large, and PoCL compiles them
    // slowly.
    for (at, metric) in metrics.iter().enumerate().step_by(every(7)) {
        let domain = [Domain::Diagonal, Domain::Square, Domain::Triangle][at % 3];
        let precision = [Precision::F64, Precision::F32][at % 2];
        let text = format!("pair = {{ metric = \"{metric}\" }}\nfolds = [{{ kind = \"matrix\" }}]");
        let problem = Problem {
            domain: Some(domain),
            precision: Some(precision),
            ..problem(&text)
        };
        let job = alone(&problem, x.clone());
        let wanted = numbers(&job, &oracle::run(&job).unwrap());
        let sets: &[(&str, &str)] = &[("tile.map", maps[at % 5]), ("device.tile", "128")];
        for set in sets.iter().take(if at == 0 { 3 - every(2) } else { 1 }) {
            let got = on_device(&problem, &job, device, &[*set]).unwrap();
            let single = precision == Precision::F32;
            let equal = |a: f64, b: f64| {
                if single {
                    close(a, b, 1e-5)
                } else {
                    same(a, b)
                }
            };
            let odd = difference(&got[0], &wanted[0], equal);
            assert!(
                odd.is_none(),
                "{metric} {domain:?} {precision:?} {set:?}: {}",
                odd.unwrap_or_default()
            );
        }
    }
}

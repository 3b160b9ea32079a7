//! What single precision decides on a device, against the oracle: minimum images, bins of any
//! spacing. Values at ties, on edges and next to them are among the data.

mod beside;

use beside::{below, device, odd, planned, problem};
use zipfold_core::{Data, Job, Random, Table, describe};
use zipfold_plan::device::DeviceWork;

/// Boxes by the text of a problem, the length that coordinates go by, and components.
const BOXES: [(&str, f64, usize); 8] = [
    ("box = [10.0, 10.0, 10.0]", 10.0, 3),
    ("box = [3.3, 10.1, 7.7]", 7.7, 3),
    (
        "box = [0.0, 0.0, 4.0, 0.0, 6.5, 0.0, 3.0, 0.0, 0.0]",
        6.5,
        3,
    ),
    ("box = [10.0]", 10.0, 1),
    ("box = [10.0, 4.0]", 10.0, 2),
    ("box = [10.0, 10.0, 10.0, 70.0, 80.0, 110.0]", 10.0, 3),
    ("box = [8.0, 8.0, 8.0, 60.0, 60.0, 90.0]", 8.0, 3),
    (
        "box = [0.0, 5.0, 5.0, 5.0, 0.0, 5.0, 5.0, 5.0, 0.0]",
        5.0,
        3,
    ),
];
/// How many of them, from the first on, have right angles; and three components.
const RIGHT: usize = 5;
const SOLID: usize = 3;

const ROWS: [&str; 5] = ["inside", "eighths", "outside", "near", "single"];

/// Coordinates of a kind: anywhere in a box; at eighths of its length, where images tie; up to two
/// boxes away; next to the middle of it; of single precision.
fn rows(kind: &str, (length, d): (f64, usize), n: usize) -> Table {
    let mut random = Random::new(5);
    let mut one = || match kind {
        "eighths" => below(&mut random, 17) as f64 * length / 8.0,
        "outside" => (5.0 * random.unit() - 2.0) * length,
        "near" => length * (0.5 * below(&mut random, 3) as f64 + 1e-7 * (random.unit() - 0.5)),
        _ => random.unit() * length,
    };
    let items: Vec<f64> = (0..n * d).map(|_| one()).collect();
    match kind {
        "single" => Table::f32(n, d, items.iter().map(|v| *v as f32).collect()).unwrap(),
        _ => Table::f64(n, d, items).unwrap(),
    }
}

fn job(text: &str, x: Table) -> Job {
    let problem = problem(text);
    let weights = vec![None; problem.folds.len()];
    let y = None;
    describe(
        &problem,
        Data {
            pairs: None,
            x,
            y,
            weights,
        },
    )
    .unwrap()
}

/// Whether single precision decides most pairs of `job`.
fn is_filtered(job: &Job) -> bool {
    match planned(job, &device(), &[]).device.map(|on| on.work) {
        Some(DeviceWork::Sweeps(folds)) => folds.iter().all(|sweeps| sweeps.filter.is_some()),
        _ => false,
    }
}

/// Folds that decide, over distances in a box.
const FOLDS: [&str; 5] = [
    "{ kind = \"histogram\", axes = [{ bins = 60, range = [0.0, 6.0] }] }",
    "{ kind = \"histogram\", axes = [{ edges = [0.5, 1.0, 2.0, 4.0] }] }",
    "{ kind = \"nearest\", k = 3 }",
    "{ kind = \"reduce\", op = \"argmin\" }",
    "{ kind = \"reduce\", op = \"max\" }",
];

/// Minimum images: distances, and other values that forget the sign of a difference.
#[test]
#[ignore = "needs opencl"]
fn images_of_single_precision_decide_as_the_oracle_does() {
    let (mut failures, mut filtered) = (vec![], 0);
    for (at, (cell, length, d)) in BOXES.into_iter().enumerate() {
        for (kind, rows_kind) in ROWS.into_iter().enumerate() {
            let pairs = ["euclidean(x, y)", "cityblock(x, y)", "chebyshev(x, y)"];
            // Of oblique boxes the length alone has a bound.
            let pair = pairs[if at < RIGHT { (at + kind) % 3 } else { 0 }];
            let fold = FOLDS[(at * 2 + kind) % FOLDS.len()];
            let text = format!("{cell}\npair = {{ formula = \"{pair}\" }}\nfolds = [{fold}]");
            let job = job(&text, rows(rows_kind, (length, d), 300));
            filtered += usize::from(is_filtered(&job));
            let found = odd(&job, &[], 0.0);
            failures.extend(found.map(|d| format!("{text} {rows_kind}: {d}")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // Rows next to ties of a box may have too few digits for bins.
    assert!(filtered >= 35, "{filtered} of 40 are filtered");
}

/// Conditions and components in a box.
#[test]
#[ignore = "needs opencl"]
fn conditions_in_a_box_are_those_of_the_oracle() {
    let wheres = [
        "euclidean(x, y) < 3.0",
        "abs(x[2] - y[2]) <= 2.5 and (x[0] - y[0])^2 + (x[1] - y[1])^2 <= 6.25",
        "2 * abs(3 * (x[1] - y[1])) < 7.5",
    ];
    let mut failures = vec![];
    for (cell, length, d) in BOXES.into_iter().take(SOLID) {
        for text in wheres {
            for kind in ["eighths", "inside"] {
                let text = format!(
                    "{cell}\npair = {{ formula = \"{text}\" }}\nfolds = [{{ kind = \"reduce\", op = \"count\" }}]"
                );
                let job = job(&text, rows(kind, (length, d), 200));
                assert!(is_filtered(&job), "{text}");
                let found = odd(&job, &[], 0.0);
                failures.extend(found.map(|d| format!("{text} {kind}: {d}")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A value that keeps the sign of an image is none that single precision decides: near half a box
/// it may have the other one.
#[test]
#[ignore = "needs opencl"]
fn signed_images_are_left_to_double_precision() {
    for pair in ["x[0] - y[0]", "sum(x - y)", "(x[0] - y[0]) * (x[1] - y[1])"] {
        let text = format!(
            "box = [10.0, 10.0, 10.0]\npair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"histogram\", axes = [{{ bins = 9, range = [-5.0, 5.0] }}] }}]"
        );
        let job = job(&text, rows("eighths", (10.0, 3), 200));
        assert!(!is_filtered(&job), "{pair}");
        assert_eq!(odd(&job, &[], 0.0), None, "{pair}");
    }
}

/// Bins of equal ratio, of values and of squares, with values on edges and far outside.
#[test]
#[ignore = "needs opencl"]
fn logarithmic_bins_are_those_of_the_oracle() {
    let (mut failures, mut filtered) = (vec![], 0);
    for (lo, ratio, bins) in [
        (0.125f64, 2.0f64, 9usize),
        (0.1, 1.2, 40),
        (1e-4, 1.05, 300),
        (1e-3, 1.0007, 4000),
        (3e7, 1.5, 4),
    ] {
        let edges: Vec<f64> = (0..=bins).map(|i| lo * ratio.powi(i as i32)).collect();
        for pair in ["euclidean(x, y)", "cityblock(x, y)", "abs(x[0] - y[1])"] {
            for closed in ["last", "half-open"] {
                let text = format!(
                    "pair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"histogram\", axes = [{{ edges = {edges:?} }}], closed = \"{closed}\" }}]"
                );
                // Coordinates whose differences are edges, and their neighbours.
                let mut random = Random::new(3);
                let mut one = |_| match below(&mut random, 4) {
                    0 => 0.0,
                    1 => edges[below(&mut random, bins + 1)],
                    2 => edges[below(&mut random, bins + 1)].next_up(),
                    _ => random.unit() * edges[bins] * 1.5,
                };
                let items: Vec<f64> = (0..900).map(&mut one).collect();
                let job = job(&text, Table::f64(300, 3, items).unwrap());
                filtered += usize::from(is_filtered(&job));
                let found = odd(&job, &[], 0.0);
                failures.extend(found.map(|d| format!("{pair} {lo} {ratio} {bins} {closed}: {d}")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // Few bins of small values are wider than an error of single precision.
    assert!(filtered >= 20, "{filtered} of 30 are filtered");
}

/// Edges by a kind: spaced as people choose them, at random, by a power, from below zero, and two
/// that are close.
fn edges_of(kind: &str, random: &mut Random) -> Vec<f64> {
    let mut edges: Vec<f64> = match kind {
        "chosen" => vec![0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0],
        "from zero" => vec![0.0, 1.0, 2.0, 5.0, 12.0],
        "two" => vec![0.0, 0.3, 10.0],
        "power" => (0..=300)
            .map(|at| 20.0 * (f64::from(at) / 300.0).powf(1.3))
            .collect(),
        "below zero" => vec![-8.0, -2.5, -1.0, 0.25, 3.0, 11.0],
        "close" => vec![0.0, 4.0, 4.02, 9.0, 15.0],
        "decades" => vec![1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 3e-2, 0.1, 1.0, 7.0],
        _ => (0..40).map(|_| 16.0 * random.unit()).collect(),
    };
    edges.sort_by(f64::total_cmp);
    edges
}

/// Edges that are spaced in no known way, with values on them and next to them.
#[test]
#[ignore = "needs opencl"]
fn uneven_bins_are_those_of_the_oracle() {
    let (mut failures, mut filtered, mut all) = (vec![], 0, 0);
    let kinds = [
        "chosen",
        "from zero",
        "two",
        "power",
        "below zero",
        "close",
        "decades",
        "random",
    ];
    let mut random = Random::new(9);
    for kind in kinds {
        let edges = edges_of(kind, &mut random);
        for (pair, d) in [
            ("euclidean(x, y)", 3),
            ("cityblock(x, y)", 2),
            ("x[0] - y[0]", 1),
            ("euclidean(x, y)", 24),
        ] {
            let closed = ["last", "half-open"][all % 2];
            let text = format!(
                "pair = {{ formula = \"{pair}\" }}\nfolds = [{{ kind = \"histogram\", axes = [{{ edges = {edges:?} }}], closed = \"{closed}\" }}]"
            );
            let (last, bins) = (edges[edges.len() - 1], edges.len());
            let mut one = |_| match below(&mut random, 5) {
                0 => 0.0,
                1 => edges[below(&mut random, bins)],
                2 => edges[below(&mut random, bins)].next_up(),
                3 => edges[below(&mut random, bins)].next_down(),
                _ => random.unit() * last * 1.3,
            };
            let items: Vec<f64> = (0..300 * d).map(&mut one).collect();
            let job = job(&text, Table::f64(300, d, items).unwrap());
            filtered += usize::from(is_filtered(&job));
            all += 1;
            let found = odd(&job, &[], 0.0);
            failures.extend(found.map(|odd| format!("{kind} {pair} {d} {closed}: {odd}")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(filtered >= 24, "{filtered} of {all} are filtered");
}

/// A grid with an axis of uneven edges and one of even ones.
#[test]
#[ignore = "needs opencl"]
fn grids_of_uneven_edges_are_those_of_the_oracle() {
    let axes = "{ edges = [0.0, 0.5, 0.7, 2.0, 9.0] }, { edges = [-3.0, -0.1, 0.4, 3.0, 3.5], value = \"x[0] - y[0]\" }, { bins = 4, range = [0.0, 8.0], value = \"abs(x[1] - y[1])\" }";
    let text = format!(
        "pair = {{ formula = \"euclidean(x, y)\" }}\ndomain = \"square\"\nfolds = [{{ kind = \"histogram\", axes = [{axes}] }}]"
    );
    for kind in ROWS {
        let job = job(&text, rows(kind, (6.0, 2), 310));
        assert!(kind == "near" || is_filtered(&job), "{kind}");
        assert_eq!(odd(&job, &[], 0.0), None, "{kind}");
    }
}

/// Tables of two thousand cells next to the slices of wide rows and next to many counters.
#[test]
#[ignore = "needs opencl"]
fn fine_cells_fit_next_to_rows_and_counters() {
    let fine = "{ edges = [0.0, 0.0005, 0.4, 1.0, 9.0] }".replace("9.0", "1.01");
    let steps: Vec<String> = (1..60)
        .map(|at| format!("{:?}", f64::from(at) / 100.0))
        .collect();
    let many = format!("{{ edges = [0.0, 0.0005, {}, 1.0] }}", steps.join(", "));
    let other = "{ bins = 125, range = [0.0, 1.0], value = \"abs(x[0] - y[0])\" }";
    for (axes, d, scale) in [
        (fine.clone(), 40, 0.1),
        (fine.clone(), 3, 0.5),
        (format!("{many}, {other}"), 3, 0.5),
        (
            format!(
                "{fine}, {}",
                fine.replace(" }", ", value = \"abs(x[0] - y[0])\" }")
            ),
            3,
            0.5,
        ),
    ] {
        let text = format!(
            "pair = {{ formula = \"euclidean(x, y)\" }}\nfolds = [{{ kind = \"histogram\", axes = [{axes}] }}]"
        );
        let mut random = Random::new(6);
        let items: Vec<f32> = (0..300 * d)
            .map(|_| (random.unit() * scale) as f32)
            .collect();
        let job = job(&text, Table::f32(300, d, items).unwrap());
        assert_eq!(odd(&job, &[], 0.0), None, "{axes} {d}");
    }
}

/// A cut-off leaves the same pairs to every fold, also where distances are equal to it, and tells
/// how many pairs are beyond it.
#[test]
#[ignore = "needs opencl"]
fn cut_offs_are_those_of_the_oracle() {
    let folds = [
        ("euclidean(x, y)", FOLDS[0]),
        ("euclidean(x, y)", FOLDS[1]),
        ("euclidean(x, y)", FOLDS[2]),
        ("cityblock(x, y)", "{ kind = \"nearest\", k = 20 }"),
        (
            "cityblock(x, y) < 4.0",
            "{ kind = \"reduce\", op = \"count\" }",
        ),
        (
            "euclidean(x, y)",
            "{ kind = \"join\", where = \"cityblock(x, y) < 4.0\" }",
        ),
        // Rows count their pairs, so double precision tells.
        ("euclidean(x, y)", "{ kind = \"reduce\", op = \"min\" }"),
    ];
    let mut failures = vec![];
    for (at, (pair, fold)) in folds.into_iter().enumerate() {
        for (cell, kind) in [
            ("", "eighths"),
            ("", "single"),
            (BOXES[0].0, "eighths"),
            (BOXES[1].0, "inside"),
            (BOXES[5].0, "inside"),
        ] {
            let pair = if cell == BOXES[5].0 {
                pair.replace("cityblock", "euclidean")
            } else {
                pair.to_string()
            };
            let text = format!(
                "{cell}\ncutoff = 3.75\npair = {{ formula = \"{pair}\" }}\nfolds = [{fold}]"
            );
            let job = job(&text, rows(kind, (10.0, 3), 260));
            // Of oblique boxes the length alone has a bound.
            let oblique = cell == BOXES[5].0 && text.contains("cityblock");
            if is_filtered(&job) != (at < 6 && !oblique) {
                failures.push(format!("{text} {kind}: filtered or not"));
            }
            let found = odd(&job, &[], 0.0);
            failures.extend(found.map(|d| format!("{text} {kind}: {d}")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Grids of two and three axes of any spacing, with and without weights.
#[test]
#[ignore = "needs opencl"]
fn grids_are_those_of_the_oracle() {
    let along = "{ bins = 8, range = [0.0, 4.0], value = \"abs(x[2] - y[2])\" }";
    let across = "sqrt((x[0] - y[0])^2 + (x[1] - y[1])^2)";
    let grids = [
        format!("{{ edges = [0.5, 1.0, 2.0, 4.0, 8.0] }}, {along}"),
        format!("{{ bins = 20, range = [0.0, 5.0] }}, {along}"),
        format!("{{ bins = 300, range = [0.0, 5.0] }}, {along}"),
        format!("{along}, {{ bins = 5, range = [-1.0, 4.0] }}, {along}"),
    ];
    let mut failures = vec![];
    for grid in grids {
        for (cell, weights) in [
            ("", ""),
            (BOXES[0].0, ""),
            (BOXES[1].0, ", weights = \"w\""),
        ] {
            for kind in ["eighths", "inside", "single"] {
                let text = format!(
                    "{cell}\npair = {{ formula = \"{across}\" }}\nfolds = [{{ kind = \"histogram\", axes = [{grid}]{weights} }}]"
                );
                let mut random = Random::new(9);
                let items = (0..260).map(|_| random.unit() - 0.25).collect();
                let own = Table::f64(260, 1, items).unwrap();
                let data = Data {
                    pairs: None,
                    x: rows(kind, (10.0, 3), 260),
                    y: None,
                    weights: vec![(!weights.is_empty()).then(|| [own.clone(), own])],
                };
                let job = describe(&problem(&text), data).unwrap();
                if !is_filtered(&job) {
                    failures.push(format!("{text} {kind} is not filtered"));
                }
                let found = odd(&job, &[], 0.0);
                failures.extend(found.map(|d| format!("{text} {kind}: {d}")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Counters that take more shared memory than a block has without a request, and more than it may
/// have.
#[test]
#[ignore = "needs opencl"]
fn many_bins_are_those_of_the_oracle() {
    for bins in [8190, 11_390, 11_500, 20_000, 50_000, 60_000, 300_000] {
        let text = format!(
            "pair = {{ formula = \"euclidean(x, y)\" }}\nfolds = [{{ kind = \"histogram\", axes = [{{ bins = {bins}, range = [0.0, 16.0] }}] }}]"
        );
        let job = job(&text, rows("single", (10.0, 3), 400));
        assert_eq!(odd(&job, &[], 0.0), None, "{bins} bins");
    }
}

/// A number under a root that double precision finds positive and single precision negative.
#[test]
#[ignore = "needs opencl"]
fn roots_of_numbers_that_rounding_makes_negative_are_those_of_the_oracle() {
    let bins = [
        "{ bins = 50, range = [0.0, 1.0] }",
        "{ edges = [0.01, 0.1, 1.0] }",
    ];
    for axis in bins {
        let text = format!(
            "domain = \"ordered\"\npair = {{ formula = \"sqrt(0.9 - (x[0] * y[1] + x[0] * y[2] + x[0] * y[1]))\" }}\nfolds = [{{ kind = \"histogram\", axes = [{axis}] }}]"
        );
        let mut random = Random::new(2);
        // The most of every component among them: 0.3 · (1 + 1 + 1) is 0.9 but for roundings.
        let row = |at: usize| match at % 4 {
            0 => [0.3, 1.0, 1.0],
            _ => [0.3, 1.0, 1.0].map(|most| most * random.unit()),
        };
        let items: Vec<f64> = (0..300).flat_map(row).collect();
        let job = job(&text, Table::f64(300, 3, items).unwrap());
        assert!(is_filtered(&job), "{axis}");
        assert_eq!(odd(&job, &[], 0.0), None, "{axis}");
    }
}

/// Bins by single precision alone still leave out pairs beyond a cut-off. No distance is near an
/// edge or the cut-off.
#[test]
#[ignore = "needs opencl"]
fn fast_bins_keep_the_cut_off() {
    let text = "cutoff = 3.7\npair = { formula = \"euclidean(x, y)\" }\nfolds = [{ kind = \"histogram\", axes = [{ bins = 7, range = [0.01, 7.01] }] }]";
    let mut random = Random::new(4);
    let items: Vec<f64> = (0..900).map(|_| below(&mut random, 4) as f64).collect();
    let job = job(text, Table::f64(300, 3, items).unwrap());
    assert!(is_filtered(&job));
    assert_eq!(odd(&job, &[("bins", "fast")], 0.0), None);
}

//! Products of rounded rows: what they leave open is decided in double precision, so that the
//! answers are those of the oracle, to the bit.

use super::{device, every, on_device, problem};
use zipfold_core::problem::Problem;
use zipfold_core::{Data, Domain, Random, Table, describe, oracle};
use zipfold_testkit::compare::{difference, same};
use zipfold_testkit::runner::numbers;

/// Rows that rounding treats in different ways.
const ROWS: [&str; 8] = [
    "unit", "whole", "offset", "tiny", "sizes", "equal", "clusters", "far",
];

/// `n` rows of `d` components of the kind `name`.
fn rows(name: &str, (n, d): (usize, usize), seed: u64) -> Table {
    let mut random = Random::new(seed);
    let mut items = Vec::with_capacity(n * d);
    for row in 0..n {
        let cluster = (row * 7 % 5) as f64 * 40.0;
        for k in 0..d {
            let unit = random.unit();
            items.push(match name {
                // Not of single precision.
                "unit" => unit - 0.5,
                // Exact in 16 bits, with many ties.
                "whole" => (unit * 4.0).floor(),
                "offset" => 1e8 + unit,
                "tiny" => unit * 1e-9,
                "sizes" => (unit - 0.5) * 10f64.powi((k % 7) as i32 - 3),
                "equal" => [0.25, 0.75][row % 2],
                "clusters" => cluster + unit * 1e-3,
                // One row far from the others: its length is in the bound of all.
                _ if row == 0 => 3e4,
                _ => unit,
            });
        }
    }
    Table::f64(n, d, items).unwrap()
}

/// Holds the answer of `text` by products to the oracle, over rows of the kind `name`. Returns whether
/// products could serve: a formula may have no bound over some rows.
fn is_decided((text, domain): (&str, Domain), name: &str, (n, d): (usize, usize)) -> bool {
    let (device, _turn) = device();
    let problem = Problem {
        domain: Some(domain),
        ..problem(text)
    };
    let y = (domain == Domain::Cross).then(|| rows(name, (n / 2 + 1, d), 5));
    let x = rows(name, (n, d), 3);
    let weights = vec![];
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
    let wanted = numbers(&job, &oracle::run(&job).unwrap());
    // One of two in turn, unless all are run: each is a kernel that PoCL compiles for seven seconds.
    let turn = text.len() + name.len() + n;
    for (at, units) in ["warp", "warpgroup"].into_iter().enumerate() {
        if !(turn + at).is_multiple_of(every(2)) {
            continue;
        }
        let set = [("fold.tiles", "matrix"), ("matrix.units", units)];
        let got = match on_device(&problem, &job, device, &set) {
            Err(e) if e.to_string().contains("products of rounded rows") => return false,
            other => other.expect(text),
        };
        assert_eq!(
            difference(&got[0], &wanted[0], same),
            None,
            "{text} {domain:?} {name} {n} × {d} by {units}"
        );
    }
    true
}

#[test]
#[ignore = "needs opencl"]
fn products_of_rounded_rows_decide_as_double_precision_does() {
    let squared = "pair = { metric = \"sqeuclidean\" }\n";
    let fold = |pair: &str, fold: &str| format!("{pair}folds = [{{ {fold} }}]");
    let join = |place: &str, kind: &str| {
        format!("folds = [{{ kind = \"join\", where = \"{place}\", join_kind = \"{kind}\" }}]")
    };
    let count = "pair = { formula = \"sum((x - y)^2) < 3.1\" }\n";
    let cases = [
        (
            fold(squared, "kind = \"nearest\", k = 7"),
            Domain::Ordered,
            (300, 40),
        ),
        (
            fold(squared, "kind = \"nearest\", k = 70"),
            Domain::Triangle,
            (257, 16),
        ),
        (
            fold(squared, "kind = \"reduce\", op = \"argmin\""),
            Domain::Cross,
            (200, 129),
        ),
        (
            fold(
                "pair = { formula = \"sum(x * y)\" }\n",
                "kind = \"nearest\", k = 3, largest = true",
            ),
            Domain::Cross,
            (130, 33),
        ),
        (
            fold(
                "pair = { metric = \"euclidean\" }\n",
                "kind = \"reduce\", op = \"max\", axis = \"column\"",
            ),
            Domain::Cross,
            (200, 20),
        ),
        (
            join("euclidean(x, y) < 1.7", "inner"),
            Domain::Triangle,
            (260, 33),
        ),
        (
            join("sum((x - y)^2) <= 3 and x[0] < y[0]", "semi"),
            Domain::Cross,
            (150, 17),
        ),
        (
            join("sum(x * y) / (2 + sum(x * x)) < 0.3", "inner"),
            Domain::Square,
            (129, 48),
        ),
        // Rows that do not stay in shared memory: in pairs where only x has anchors, and not.
        (
            fold(squared, "kind = \"nearest\", k = 4"),
            Domain::Ordered,
            (140, 260),
        ),
        (
            fold(squared, "kind = \"nearest\", k = 40"),
            Domain::Triangle,
            (150, 257),
        ),
        (
            join("sum((x - y)^2) < 40 or sum((x - y)^2) > 60", "inner"),
            Domain::Cross,
            (140, 300),
        ),
        (
            fold(count, "kind = \"reduce\", op = \"count\""),
            Domain::Ordered,
            (200, 31),
        ),
    ];
    let (mut asked, mut served) = (0, 0);
    for (case, (text, domain, size)) in cases.iter().enumerate() {
        for (at, name) in ROWS.into_iter().enumerate() {
            if (at + case).is_multiple_of(every(6)) {
                asked += 1;
                served += usize::from(is_decided((text, *domain), name, *size));
            }
        }
    }
    assert!(8 * served >= 7 * asked, "{served} of {asked}");
}

#[test]
#[ignore = "needs opencl"]
fn few_rows_are_filtered_too() {
    let text = "pair = { metric = \"sqeuclidean\" }\nfolds = [{ kind = \"nearest\", k = 2 }]";
    for n in [1, 2, 3, 127, 128, 129] {
        assert!(is_decided((text, Domain::Ordered), "unit", (n, 16)), "{n}");
    }
}

/// What products cannot give is refused by name.
#[test]
#[ignore = "needs opencl"]
fn products_that_do_not_serve_are_refused() {
    let (device, _turn) = device();
    let cases = [
        ("cityblock", "kind = \"nearest\", k = 2", 32),
        ("sqeuclidean", "kind = \"reduce\", op = \"sum\"", 32),
        ("sqeuclidean", "kind = \"nearest\", k = 2", 15),
    ];
    for (metric, fold, dim) in cases {
        let problem = problem(&format!(
            "pair = {{ metric = \"{metric}\" }}\nfolds = [{{ {fold} }}]"
        ));
        let data = Data {
            pairs: None,
            x: rows("unit", (200, dim), 1),
            y: None,
            weights: vec![],
        };
        let job = describe(&problem, data).unwrap();
        let refused = on_device(&problem, &job, device, &[("fold.tiles", "matrix")]).unwrap_err();
        assert!(
            refused.to_string().contains("products of rounded rows"),
            "{metric} {fold} {dim}: {refused}"
        );
    }
}

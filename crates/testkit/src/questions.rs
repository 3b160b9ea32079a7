//! Random questions by number: verbs, metrics and formulas, shapes, types, kinds of data, boxes,
//! cut-offs, weights, edges, policies of NaN, kinds of join and choices of the user, in any
//! combination.
//!
//! A question is asked of several data. All of them have the rows of the first, in another order
//! and some of them twice, so that kernels that know the ranges of the rows are the same.

use crate::formulas::{EXACT, SMOOTH};
use crate::inputs::Lcg;
use std::collections::BTreeMap;
use zipfold_core::pair::named::{self, RowValues};
use zipfold_core::pair::parse::Param;
use zipfold_core::problem::{FoldSpec, NanPolicy, PairSpec, Problem};
use zipfold_core::{Data, Domain, Precision, Table};

/// A question, and how it is to be run.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its number.
    pub seed: u64,
    /// The problem.
    pub problem: Problem,
    /// Choices of the user, which must not change the answer.
    pub set: Vec<(&'static str, &'static str)>,
    x: RandomRows,
    y: Option<RandomRows>,
}

/// Rows before they are put in order.
#[derive(Clone, Debug)]
struct RandomRows {
    d: usize,
    single: bool,
    items: Vec<Vec<f64>>,
}

/// What the numbers of rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Real,
    Unit,
    Whole,
    Clusters,
    Offset,
    Wide,
    Huge,
    Tiny,
    Denormal,
    Truths,
    Positive,
    Angles,
    Missing,
}

/// Formulas whose values single precision filters, and such that it does not: signs, quotients,
/// functions, reductions without a start.
const FORMULAS: [&str; 18] = [
    "sum((x - y)^2)",
    "sqrt(sum((x - y)^2))",
    "sum(abs(x - y))",
    "max(abs(x - y))",
    "exp(-sum((x - y)^2) * 0.5)",
    "sum(x * y)",
    "x[0] - y[0]",
    "sqrt(max(sum(x * x) + sum(y * y) - 2 * sum(x * y), 0))",
    "sum(x * y) / (norm(x) * norm(y))",
    "max(abs(x - y)) - 1",
    "sum(abs(x - y)^3)",
    "reduce(|a, b| max(a, b), abs(x - y))",
    "sum(popcount(bitxor(floor(abs(x) * 8), floor(abs(y) * 8))))",
    "reduce(|a, b| a * 0.5 + b, x - y)",
    "1 / (sum((x - y)^2) + 0.01)",
    "if(x[0] < y[0], sum(abs(x - y)), -sum(abs(x - y)))",
    "sum(abs(x - y) / (abs(x) + abs(y) + 0.25))",
    "abs(x[0] - y[0])",
];
/// As many of them take a periodic box.
const PERIODIC: usize = 5;
/// Formulas of vectors.
const VECTORS: [&str; 6] = [
    "x - y",
    "(x - y) / (sum((x - y)^2) + 0.1)",
    "abs(x - y) * sum(x * y)",
    "if(x[0] < y[0], x - y, y - x)",
    "exp(-abs(x - y)) * (x + y)",
    "sqrt(x - y)",
];

type Choices = &'static [(&'static str, &'static str)];

/// Choices of sweeps.
const SWEEPS: Choices = &[
    ("points.input", "cache"),
    ("points.input", "both"),
    ("filter", "off"),
    ("points.anchors", "1"),
    ("points.anchors", "4"),
    ("load.vector", "1"),
    ("fold.tiles", "sweep"),
    ("device.tile", "128"),
    ("device.rows", "streamed"),
    ("device.family", "values"),
];
const HISTOGRAMS: Choices = &[
    ("hist.copies", "0"),
    ("hist.copies", "1"),
    ("hist.copies", "4"),
    ("hist.copies", "32"),
    ("tile.diagonal", "balanced"),
    ("points.unroll", "4"),
];
const JOINS: Choices = &[("join.output", "count")];
const MATRICES: Choices = &[
    ("tile.map", "bb"),
    ("tile.map", "ltm"),
    ("tile.map", "utm"),
    ("tile.map", "rec"),
    ("tile.root", "newton"),
    ("tile.by", "thread"),
    ("dense.stages", "0"),
    ("dense.across", "16"),
    ("dense.slice", "8"),
    ("device.family", "pairs"),
    ("device.family", "values"),
    ("device.tile", "128"),
    ("device.tile", "384"),
    ("device.rows", "streamed"),
    ("load.vector", "1"),
];

fn pick<T: Copy>(lcg: &mut Lcg, items: &[T]) -> T {
    items[lcg.below(items.len())]
}

fn values(lcg: &mut Lcg) -> Values {
    let plain = [
        Values::Real,
        Values::Real,
        Values::Unit,
        Values::Unit,
        Values::Whole,
        Values::Clusters,
    ];
    let odd = [
        Values::Offset,
        Values::Wide,
        Values::Huge,
        Values::Tiny,
        Values::Denormal,
    ];
    let (plain, odd) = (pick(lcg, &plain), pick(lcg, &odd));
    if lcg.below(4) == 0 { odd } else { plain }
}

/// The problem without its pair and its second input.
fn described(seed: u64, cutoff: &str, periodic_box: &str, folds: &str) -> Problem {
    let text =
        format!("schema = 1\nx = {{ name = \"x\" }}\n{cutoff}{periodic_box}folds = [{folds}]");
    toml::from_str(&text).unwrap_or_else(|e| panic!("question {seed}: {e}\n{text}"))
}

/// Components of a row, the usual ones more often.
const DIMENSIONS: &[usize] = &[
    1, 2, 3, 3, 3, 3, 4, 5, 7, 8, 11, 12, 13, 16, 17, 31, 32, 33, 64, 65, 130, 300,
];

impl Question {
    /// The question of number `seed`.
    ///
    /// # Panics
    /// Where its text is not a problem: a defect of this generator.
    pub fn new(seed: u64) -> Self {
        let lcg = &mut Lcg::new(seed);
        let d = pick(lcg, DIMENSIONS);
        let values = values(lcg);
        let verb = lcg.below(13);
        let mut asked = pair(lcg, d, values, verb);
        let (folds, choices) = folds(lcg, &mut asked, verb);
        let cutoff = if lcg.below(7) == 0 {
            format!("cutoff = {}\n", 0.2 + 2.0 * lcg.unit())
        } else {
            String::new()
        };
        let mut problem = described(seed, &cutoff, &asked.periodic_box, &folds);
        problem.pair = asked.pair;
        problem.nan = asked.nan;
        let single = lcg.below(3) > 0;
        problem.precision = if single && lcg.below(4) == 0 {
            None
        } else {
            Some(Precision::F64)
        };
        let two = lcg.below(2) == 0;
        if !two && lcg.below(3) == 0 {
            problem.domain = Some(Domain::Ordered);
        }
        if two {
            problem.y = Some(zipfold_core::problem::Input::named("y"));
        }
        let rows = |lcg: &mut Lcg| rows(lcg, (asked.d, single), asked.values, asked.damage);
        let x = rows(lcg);
        let y = two.then(|| rows(lcg));
        let set = if lcg.below(3) == 0 {
            vec![pick(lcg, choices)]
        } else {
            vec![]
        };
        Question {
            seed,
            problem,
            set,
            x,
            y,
        }
    }
    /// Its data of number `at`.
    ///
    /// # Panics
    /// Never: rows of a question are a table.
    pub fn data(&self, at: usize) -> Data {
        let lcg = &mut Lcg::new(self.seed.wrapping_mul(31).wrapping_add(at as u64));
        let x = self.x.table(lcg, at);
        let y = self.y.as_ref().map(|y| y.table(lcg, at));
        let other = y.as_ref().map_or(x.rows(), Table::rows);
        let width = 1 + usize::from(self.seed.is_multiple_of(3));
        let kind = self.seed / 2 % 8;
        let mut of = |fold: &FoldSpec| {
            let width = weights_of(fold, width)?;
            // Sums by row round, and are asked with weights of like size.
            let kind = if let FoldSpec::Histogram { .. } = fold {
                kind
            } else {
                0
            };
            let mut of = |rows| weights(lcg, (rows, width), kind);
            Some([of(x.rows()), of(other)])
        };
        let mut made: Vec<Option<[Table; 2]>> = self.problem.folds.iter().map(&mut of).collect();
        // One input has one set of weights.
        if y.is_none() {
            made.iter_mut().flatten().for_each(|[a, b]| *b = a.clone());
        }
        Data {
            pairs: None,
            x,
            y,
            weights: made,
        }
    }
}

/// Numbers of a row of weights that `fold` asks for; those of a reduction are `width`.
fn weights_of(fold: &FoldSpec, width: usize) -> Option<usize> {
    match fold {
        FoldSpec::Reduce { weights, .. } => weights.as_ref().map(|_| width),
        FoldSpec::Histogram { weights, .. } => weights.as_ref().map(|_| 1),
        FoldSpec::Matrix {}
        | FoldSpec::Condensed {}
        | FoldSpec::Nearest { .. }
        | FoldSpec::Top(_)
        | FoldSpec::Quantile(_)
        | FoldSpec::Join { .. } => None,
    }
}

/// Weights: of like size, of either sign, whole and few, single numbers, of many sizes, huge, tiny,
/// none but zeros.
fn weights(lcg: &mut Lcg, (rows, width): (usize, usize), kind: u64) -> Table {
    let sign = |lcg: &mut Lcg| if lcg.below(2) == 0 { 1.0 } else { -1.0 };
    let mut one = || match kind {
        0 => lcg.unit() + 0.01,
        1 => lcg.unit() * sign(lcg),
        2 => lcg.below(4) as f64 - 1.0,
        3 => f64::from(lcg.unit() as f32) * sign(lcg),
        4 => lcg.unit() * sign(lcg) * 10f64.powi(lcg.below(25) as i32 - 12),
        5 => lcg.unit() * sign(lcg) * 10f64.powi(lcg.below(300) as i32 - 150),
        6 => lcg.unit() * 1e-160,
        _ => 0.0,
    };
    let items = (0..rows * width).map(|_| one()).collect();
    Table::f64(rows, width, items).unwrap_or_else(|e| panic!("weights of a question: {e}"))
}

/// A pair in the making.
struct Asked {
    pair: PairSpec,
    d: usize,
    values: Values,
    nan: NanPolicy,
    /// A number that is not finite, in one place.
    damage: Option<f64>,
    periodic_box: String,
    /// A formula of the same pair for conditions.
    formula: String,
}

fn pair(lcg: &mut Lcg, d: usize, values: Values, verb: usize) -> Asked {
    let mut asked = Asked {
        pair: PairSpec::default(),
        d,
        values,
        nan: NanPolicy::Error,
        damage: None,
        periodic_box: String::new(),
        formula: "sum(abs(x - y))".into(),
    };
    match lcg.below(10) {
        0..=3 => {
            metric(lcg, &mut asked);
            return asked;
        }
        4..=6 => any_formula(lcg, &mut asked, verb),
        _ => known_formula(lcg, &mut asked),
    }
    if lcg.below(10) == 0 {
        asked.damage = Some(pick(lcg, &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]));
        asked.nan = policy(lcg);
    }
    asked.pair.formula = Some(asked.formula.clone());
    asked
}

fn policy(lcg: &mut Lcg) -> NanPolicy {
    pick(
        lcg,
        &[
            NanPolicy::Propagate,
            NanPolicy::Skip,
            NanPolicy::Error,
            NanPolicy::Skip,
        ],
    )
}

fn any_formula(lcg: &mut Lcg, asked: &mut Asked, verb: usize) {
    // Functions that devices round otherwise decide nothing there: of them matrices and sums alone
    // are asked.
    let depth = 1 + lcg.below(3);
    let smooth = (verb < 2 || verb == 6) && lcg.below(3) == 0;
    if smooth {
        asked.values = pick(lcg, &[Values::Real, Values::Unit]);
    }
    asked.formula = if smooth {
        SMOOTH.scalar(lcg, depth, asked.d)
    } else {
        EXACT.scalar(lcg, depth, asked.d)
    };
    asked.nan = policy(lcg);
}

fn known_formula(lcg: &mut Lcg, asked: &mut Asked) {
    let at = lcg.below(FORMULAS.len());
    asked.formula = FORMULAS[at].into();
    if at < PERIODIC && (asked.d == 2 || asked.d == 3) && lcg.below(2) == 0 {
        asked.periodic_box = periodic(lcg, asked.d);
        asked.values = pick(
            lcg,
            &[Values::Real, Values::Unit, Values::Whole, Values::Clusters],
        );
    }
}

fn metric(lcg: &mut Lcg, asked: &mut Asked) {
    let named = &named::all()[lcg.below(named::all().len())];
    asked.pair.metric = Some(named.name.into());
    match named.domain {
        RowValues::Real => {}
        RowValues::NonNegative => asked.values = Values::Positive,
        RowValues::Boolean => asked.values = Values::Truths,
        RowValues::LatLon => (asked.d, asked.values) = (2, Values::Angles),
        RowValues::Missing => {
            asked.values = Values::Missing;
            asked.nan = pick(lcg, &[NanPolicy::Propagate, NanPolicy::Skip]);
        }
    }
    match named.name {
        "hamming" => asked.values = Values::Whole,
        "mahalanobis" => asked.d = asked.d.min(16),
        "minkowski" => {
            let p = pick(lcg, &[1.0, 1.5, 2.0, 3.0, 4.0, 0.5]);
            asked.pair.params = BTreeMap::from([("p".to_string(), Param::Number(p))]);
        }
        _ => {}
    }
}

fn periodic(lcg: &mut Lcg, d: usize) -> String {
    let mut numbers: Vec<String> = (0..d)
        .map(|_| format!("{:.3}", 1.0 + 3.0 * lcg.unit()))
        .collect();
    if d == 3 && lcg.below(2) == 0 {
        numbers.extend((0..3).map(|_| format!("{:.2}", lcg.between(60.0, 120.0))));
    }
    format!("box = [{}]\n", numbers.join(", "))
}

/// Folds by their text in a problem file, and the choices of the user that are for them.
fn folds(lcg: &mut Lcg, asked: &mut Asked, verb: usize) -> (String, Choices) {
    match verb {
        0 | 1 => (
            format!(
                "{{ kind = \"{}\" }}",
                pick(lcg, &["matrix", "matrix", "condensed"])
            ),
            MATRICES,
        ),
        2 | 3 => {
            let k = pick(lcg, &[1, 2, 5, 10, 10, 16, 17, 40, 100, 1000]);
            (
                format!(
                    "{{ kind = \"nearest\", k = {k}, largest = {} }}",
                    lcg.below(5) == 0
                ),
                SWEEPS,
            )
        }
        4 | 5 | 11 => (
            histogram(lcg, verb == 11),
            if lcg.below(2) == 0 {
                HISTOGRAMS
            } else {
                SWEEPS
            },
        ),
        6 | 7 => (reduce(lcg, asked), SWEEPS),
        8 | 9 => (
            join(lcg, asked),
            if lcg.below(4) == 0 { JOINS } else { SWEEPS },
        ),
        12 => (vectors(lcg, asked), SWEEPS),
        _ => (several(lcg, asked), SWEEPS),
    }
}

/// A histogram; `summed` ones have weights or means, or both.
fn histogram(lcg: &mut Lcg, summed: bool) -> String {
    let bins = pick(lcg, &[1, 2, 10, 50, 100, 300, 1000, 5000, 20000, 100_000]);
    let (lo, hi) = (
        pick(lcg, &[0.0, 0.0, 0.0, 0.001, -1.5]),
        0.5 + 5.0 * lcg.unit(),
    );
    let axis = match lcg.below(6) {
        0 => format!("{{ bins = {} }}", bins.min(300)),
        1 => uneven(lcg),
        _ => format!("{{ bins = {bins}, range = [{lo:?}, {hi:?}] }}"),
    };
    let axes = match lcg.below(6) {
        0 => "{ bins = 20, range = [0.0, 2.0], value = \"abs(x[0] - y[0])\" }, { bins = 15, range = [-1.0, 4.0], value = \"sum(abs(x - y))\" }".into(),
        1 => "{ bins = 7, range = [0.0, 2.0], value = \"x[0] - y[0]\" }, { edges = [0.0, 0.1, 0.5, 3.0] }, { bins = 5, range = [0.0, 5.0], value = \"sum((x - y)^2)\" }".into(),
        _ => axis,
    };
    let closed = if lcg.below(4) == 0 {
        ", closed = \"half-open\""
    } else {
        ""
    };
    let sums = bin_sums(lcg, summed);
    format!("{{ kind = \"histogram\", axes = [{axes}]{closed}{sums} }}")
}

/// Weights, means, both or none of the bins of a histogram; not none for a `summed` one.
fn bin_sums(lcg: &mut Lcg, summed: bool) -> String {
    let both = lcg.below(3);
    let weights = lcg.below(8) == 0 || (summed && both != 1);
    let mean = lcg.below(8) == 0 || (summed && both != 0);
    let weights = if weights { ", weights = \"w\"" } else { "" };
    let mean = if mean { ", mean = true" } else { "" };
    format!("{weights}{mean}{}", formulas(lcg, weights.is_empty()))
}

/// Formulas that a histogram sums by bin: none for most.
fn formulas(lcg: &mut Lcg, unweighted: bool) -> String {
    let values = ["x[0] * y[0]", "(x[0] - y[0])^2 / 2", "abs(x[0]) + 1"];
    let keep = [
        "\"mean\"",
        "\"sum\"",
        "\"mean\", \"variance\"",
        "\"min\", \"sum\"",
    ];
    let value = |lcg: &mut Lcg| {
        let (formula, keep) = (pick(lcg, &values), pick(lcg, &keep));
        format!(", values = {{ v = {{ formula = \"{formula}\", keep = [{keep}] }} }}")
    };
    match lcg.below(12) {
        0 | 1 => value(lcg),
        2 if unweighted => format!(", weight = \"x[0] * y[0] + 1\"{}", value(lcg)),
        _ => String::new(),
    }
}

/// An axis of uneven edges: by decades, or anywhere.
fn uneven(lcg: &mut Lcg) -> String {
    let (by_decades, count) = (lcg.below(2) == 0, 2 + lcg.below(50));
    let edge = |at: usize| 10f64.powf(at as f64 * 4.0 / count as f64 - 3.0);
    let mut edges: Vec<f64> = (0..count)
        .map(|at| {
            if by_decades {
                edge(at)
            } else {
                4.0 * lcg.unit()
            }
        })
        .collect();
    if lcg.below(2) == 0 {
        edges.push(0.0);
    }
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    format!("{{ edges = {edges:?} }}")
}

fn reduce(lcg: &mut Lcg, asked: &mut Asked) -> String {
    let ops = [
        "sum",
        "sum",
        "mean",
        "min",
        "max",
        "argmin",
        "argmax",
        "count",
        "logsumexp",
        "softmax",
    ];
    let op = pick(lcg, &ops);
    let axis = pick(lcg, &["row", "row", "column", "all"]);
    if op == "count" {
        let fixed = ["sum((x - y)^2) < 1.5", "sum(abs(x - y)) < 2", "x[0] < y[0]"];
        let text = match lcg.below(4) {
            3 => EXACT.truth(lcg, 1, asked.d, false),
            at => fixed[at].to_string(),
        };
        asked.pair = PairSpec {
            formula: Some(text),
            ..PairSpec::default()
        };
        asked.periodic_box = String::new();
    }
    let weighted =
        op == "softmax" || (matches!(op, "sum" | "mean" | "logsumexp") && lcg.below(3) == 0);
    let weights = if weighted {
        ", weights = { name = \"w\" }"
    } else {
        ""
    };
    format!("{{ kind = \"reduce\", op = \"{op}\", axis = \"{axis}\"{weights} }}")
}

/// Sums and means of vectors.
fn vectors(lcg: &mut Lcg, asked: &mut Asked) -> String {
    asked.pair = PairSpec {
        formula: Some(pick(lcg, &VECTORS).into()),
        ..PairSpec::default()
    };
    asked.nan = policy(lcg);
    asked.d = asked.d.min(21);
    asked.periodic_box = String::new();
    if matches!(asked.values, Values::Huge | Values::Tiny | Values::Denormal) {
        asked.values = Values::Real;
    }
    let weights = if lcg.below(2) == 0 {
        ", weights = { name = \"w\" }"
    } else {
        ""
    };
    let (op, axis) = (
        pick(lcg, &["sum", "sum", "mean"]),
        pick(lcg, &["row", "row", "column", "all"]),
    );
    format!("{{ kind = \"reduce\", op = \"{op}\", axis = \"{axis}\"{weights} }}")
}

fn join(lcg: &mut Lcg, asked: &Asked) -> String {
    let limit = 3.0 * lcg.unit();
    let predicate = match lcg.below(8) {
        0..=2 => format!("{} < {limit}", asked.formula),
        3 => "sum((x - y)^2) < 0.4".into(),
        4 => "x[0] < y[0] and abs(x[0] - y[0]) < 0.3".into(),
        5 => "sum(x * y) > 1".into(),
        6 => "cosine(x, y) < 0.3".into(),
        _ => {
            let depth = lcg.below(3);
            EXACT.truth(lcg, depth, asked.d, false)
        }
    };
    let kind = pick(lcg, &["inner", "inner", "semi", "anti"]);
    let value = match lcg.below(10) {
        0 if kind == "inner" => ", value = \"sum(abs(x - y))\"",
        1 if kind == "inner" => ", value = \"x[0] - y[0]\"",
        _ => "",
    };
    format!("{{ kind = \"join\", where = \"{predicate}\", join_kind = \"{kind}\"{value} }}")
}

/// Several folds in one run: a sweep each, or values for the host.
fn several(lcg: &mut Lcg, asked: &mut Asked) -> String {
    let one = |lcg: &mut Lcg, asked: &mut Asked| match lcg.below(8) {
        0 => histogram(lcg, false),
        1 => histogram(lcg, true),
        2 => "{ kind = \"nearest\", k = 4 }".to_string(),
        3 => join(lcg, asked),
        4 if lcg.below(3) == 0 => "{ kind = \"top\", k = 6 }".to_string(),
        5 => "{ kind = \"reduce\", op = \"sum\", axis = \"row\" }".to_string(),
        6 => "{ kind = \"reduce\", op = \"argmax\", axis = \"column\" }".to_string(),
        _ => "{ kind = \"reduce\", op = \"min\", axis = \"row\" }".to_string(),
    };
    let first = one(lcg, asked);
    format!("{first}, {}", one(lcg, asked))
}

fn rows(
    lcg: &mut Lcg,
    (d, single): (usize, bool),
    values: Values,
    damage: Option<f64>,
) -> RandomRows {
    let most = if d > 64 { 70 } else { 260 };
    let n = pick(lcg, &[0, 1, 2, 33, 64, 65, 127, 128, 129, 200, 257]).min(most);
    let centre: Vec<f64> = (0..4).map(|_| lcg.below(4) as f64).collect();
    let number = |lcg: &mut Lcg| number(lcg, values, single, &centre);
    let mut items: Vec<Vec<f64>> = (0..n)
        .map(|_| (0..d).map(|_| number(lcg)).collect())
        .collect();
    if let (Some(damage), true) = (damage, n > 0) {
        let (row, column) = (lcg.below(n), lcg.below(d));
        items[row][column] = damage;
    }
    RandomRows { d, single, items }
}

fn number(lcg: &mut Lcg, values: Values, single: bool, centre: &[f64]) -> f64 {
    let far = if single { 1e30 } else { 1e200 };
    let normal = |lcg: &mut Lcg| lcg.unit() + lcg.unit() + lcg.unit() + lcg.unit() - 2.0;
    match values {
        Values::Real => 2.0 * normal(lcg),
        Values::Unit => lcg.unit(),
        Values::Whole => lcg.below(7) as f64 - 3.0,
        Values::Clusters => centre[lcg.below(4)] + lcg.between(-1e-3, 1e-3),
        Values::Offset => 1e4 + lcg.unit(),
        Values::Wide => normal(lcg) * 10f64.powi(lcg.below(13) as i32 - 6),
        Values::Huge => normal(lcg) * far,
        Values::Tiny => normal(lcg) / far,
        Values::Denormal => normal(lcg) * if single { 1e-42 } else { 1e-312 },
        Values::Truths => lcg.below(2) as f64,
        Values::Positive => lcg.unit() + 1e-3,
        Values::Angles => (lcg.unit() - 0.5) * 3.0,
        Values::Missing if lcg.below(10) == 0 => f64::NAN,
        Values::Missing => normal(lcg),
    }
}

impl RandomRows {
    /// All rows, and for numbers from 1 on some of them twice, in another order.
    fn table(&self, lcg: &mut Lcg, at: usize) -> Table {
        let n = self.items.len();
        let mut order: Vec<usize> = (0..n).collect();
        if at > 0 && n > 0 {
            let more = pick(lcg, &[0, 1, 31, 63, 64, 128, 190]);
            order.extend((0..more).map(|_| lcg.below(n)));
            for end in (1..order.len()).rev() {
                order.swap(end, lcg.below(end + 1));
            }
        }
        let items = order
            .iter()
            .flat_map(|row| self.items[*row].iter().copied());
        match self.single {
            true => Table::f32(order.len(), self.d, items.map(|v| v as f32).collect()),
            false => Table::f64(order.len(), self.d, items.collect()),
        }
        .unwrap_or_else(|e| panic!("rows of a question: {e}"))
    }
}

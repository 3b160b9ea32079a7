//! Named metrics: one file each, holding the formula, an independent reference evaluation,
//! symmetry, domain and test ranges together.
//!
//! A metric here is a formula with a name, nothing more: `euclidean` is the text `sqrt(sum((x -
//! y)^2))`. No backend knows a metric by name. Planner and kernels recognise the *form* of a
//! formula (`pattern.rs`, `lower.rs`), so that a metric and the same formula written out run
//! equally fast and give the same bits.
//!
//! To add one: a file with a [`Named`] constant, a line in `ALL`, and a case in `cases/pairs/`. The
//! field `reference` is evaluated by tests only. It is written from the definition and must not
//! share code with the formula, since it would share its mistakes.

pub use super::metric::{Named, Params, Prepare, PreparedTables, RowValues, ScaleOption, Stop};
use super::parse::{Param, Scope, parse_with};
use super::tree::{Formula, Id};
use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::suggest::suggestion;

mod booleans;
mod braycurtis;
mod canberra;
mod chebyshev;
mod chi2;
mod cityblock;
mod correlation;
mod cosine;
mod dice;
mod euclidean;
mod hamming;
mod haversine;
mod hellinger;
mod jaccard;
mod jensenshannon;
mod kl;
mod laplacian;
mod linear;
mod mahalanobis;
mod minkowski;
mod nan_euclidean;
mod pearson;
mod polynomial;
mod rbf;
mod rogerstanimoto;
mod russellrao;
mod seuclidean;
mod sigmoid;
mod sokalsneath;
mod spearman;
mod yule;

/// Every metric, in alphabetical order of files. A new one is a line here. The order is that of
/// lists for people; nothing else depends on it.
const ALL: &[Named] = &[
    braycurtis::BRAYCURTIS,
    canberra::CANBERRA,
    chebyshev::CHEBYSHEV,
    chi2::CHI2,
    chi2::ADDITIVE_CHI2,
    cityblock::CITYBLOCK,
    correlation::CORRELATION,
    cosine::COSINE,
    cosine::COSINE_SIMILARITY,
    dice::DICE,
    euclidean::EUCLIDEAN,
    euclidean::SQEUCLIDEAN,
    hamming::HAMMING,
    haversine::HAVERSINE,
    hellinger::HELLINGER,
    jaccard::JACCARD,
    jensenshannon::JENSENSHANNON,
    kl::KL,
    laplacian::LAPLACIAN,
    linear::LINEAR,
    mahalanobis::MAHALANOBIS,
    minkowski::MINKOWSKI,
    nan_euclidean::NAN_EUCLIDEAN,
    pearson::PEARSON,
    polynomial::POLYNOMIAL,
    rbf::RBF,
    rogerstanimoto::ROGERSTANIMOTO,
    russellrao::RUSSELLRAO,
    seuclidean::SEUCLIDEAN,
    sigmoid::SIGMOID,
    sokalsneath::SOKALSNEATH,
    spearman::SPEARMAN,
    yule::YULE,
];

/// Returns every metric, in the order of the list.
///
/// Tests go over it: each metric is compared with its own reference evaluation.
pub fn all() -> &'static [Named] {
    ALL
}

/// Returns the metric called `name`, or known by this alias, in any case of letters.
///
/// A scan of some thirty names: it runs a few times per request.
pub fn find(name: &str) -> Option<&'static Named> {
    ALL.iter().find(|metric| metric.is_called(name))
}

/// Lists the metrics that the text of a formula calls and that need whole tables first.
///
/// The text is only split into tokens: preparations change the tables that the parser needs for its
/// names.
pub(crate) fn prepared_in(formula: &str) -> impl Iterator<Item = &'static Named> {
    super::lex::called(formula)
        .into_iter()
        .filter_map(|name| find(&name))
        .filter(|named| named.prepare.is_some())
}

/// Returns the metric called `name`, with its options checked.
///
/// Values of options are checked later, by the formula, which knows the number of components.
///
/// # Errors
/// `Request` for an unknown name, with the nearest one, or for an option that the metric does not
/// take.
pub fn require(name: &str, params: &Params) -> Result<&'static Named> {
    let Some(named) = find(name) else {
        // Aliases count as names for suggestions, too.
        let known = ALL
            .iter()
            .flat_map(|m| std::iter::once(m.name).chain(m.aliases.iter().copied()));
        let remedy = match meant(name) {
            Some(advice) => advice.to_string(),
            None => suggestion(name, known, "a metric"),
        };
        return Err(Error::request(format!("unknown metric '{name}'"))
            .at_place(Opt::Metric)
            .remedy(remedy));
    };
    // An option that the metric does not read is a mistake: ignoring it would give another answer
    // than the user expects.
    if let Some(odd) = params.keys().find(|k| !named.options.contains(&k.as_str())) {
        let e = Error::request(format!("the metric '{}' has no option '{odd}'", named.name))
            .at_place(Opt::Param);
        let takes = if named.options.is_empty() {
            "leave it out".into()
        } else {
            named.options.join(", ")
        };
        return Err(e.remedy(takes));
    }
    Ok(named)
}

/// Returns what to use for names of other fields that no metric here has.
///
/// An edit distance would not find these names, or would find a wrong one.
fn meant(name: &str) -> Option<&'static str> {
    match name.to_lowercase().as_str() {
        "tanimoto" => Some("'jaccard', which is 1 − Tanimoto's coefficient of rows of 0 and 1"),
        "levenshtein" | "edit" => Some(
            "'hamming' for rows of equal length; words of other lengths are no rows of numbers",
        ),
        "kendall" | "kendalltau" => Some("'spearman' or 'pearson'"),
        "dtw" => Some("a metric of rows of equal length, such as 'euclidean'"),
        _ => None,
    }
}

/// Appends the formula `text` with `params` bound: how most metrics write their formula. Texts are
/// short and parsed once per question, and a reader sees the formula of the literature.
pub(crate) fn text(
    formula: &mut Formula,
    text: &str,
    params: &Params,
    dim: Option<usize>,
) -> Result<Id> {
    parse_with(
        formula,
        text,
        &Scope {
            params: params.clone(),
            dim,
            ..Scope::default()
        },
        // No metrics: a metric is not made of metrics, and the parser cannot come back here.
        &[],
    )
}

/// Returns the option `name` as a number, or `default`.
///
/// Metrics that compute with an option call it; a formula may also name the option and let the
/// parser bind it.
///
/// # Errors
/// `Request` for a vector or a word.
pub(crate) fn number(params: &Params, name: &str, default: f64) -> Result<f64> {
    match params.get(name) {
        None => Ok(default),
        Some(Param::Number(v)) => Ok(*v),
        Some(Param::Vector(_)) => {
            Err(Error::request(format!("'{name}' is a single number")).at_place(Opt::Param))
        }
        Some(Param::Word(word)) => Err(Error::request(format!(
            "'{name}' is a single number, got '{word}'"
        ))
        .at_place(Opt::Param)),
    }
}

/// Returns the option `name` as one of `choices`; the first is the default.
///
/// An unknown choice is refused, as it would otherwise mean the default.
///
/// # Errors
/// `Request` for anything else, with the choices.
pub(crate) fn word<'p>(params: &'p Params, name: &str, choices: &[&'p str]) -> Result<&'p str> {
    match params.get(name) {
        None => Ok(choices[0]),
        Some(Param::Word(word)) if choices.contains(&word.as_str()) => Ok(word),
        Some(other) => {
            let got = match other {
                Param::Word(word) => format!("'{word}'"),
                _ => "a number".into(),
            };
            let quoted: Vec<String> = choices.iter().map(|c| format!("'{c}'")).collect();
            Err(Error::request(format!("the option '{name}' is {got}"))
                .at_place(Opt::Param)
                .limit(quoted.join(" or ")))
        }
    }
}

/// Returns the option `name` as a vector of `dim` components, if it is given. A single number means
/// a vector of that number.
///
/// `dim` is unknown while a formula is written without tables, for example to list it.
pub(crate) fn vector(params: &Params, name: &str, dim: Option<usize>) -> Result<Option<Vec<f64>>> {
    match params.get(name) {
        None => Ok(None),
        Some(Param::Vector(v)) if dim.is_none_or(|d| d == v.len()) => Ok(Some(v.clone())),
        Some(Param::Vector(v)) => {
            let what = format!("'{name}' has {} numbers", v.len());
            Err(Error::request(what)
                .at_place(Opt::Param)
                .limit(format!("one for each of {} components", dim.unwrap_or(0))))
        }
        // A single number is repeated; without a known length it stays one number and spreads in
        // the formula.
        Some(Param::Number(v)) => Ok(Some(vec![*v; dim.unwrap_or(1)])),
        Some(Param::Word(word)) => Err(Error::request(format!("'{name}' is the word '{word}'"))
            .at_place(Opt::Param)
            .limit("numbers")),
    }
}

/// Returns the weights `w`: one number for each component, none below 0, as SciPy requires.
///
/// A negative weight would make a squared distance negative, and its root NaN.
pub(crate) fn weights(params: &Params, dim: Option<usize>) -> Result<Option<Vec<f64>>> {
    let w = vector(params, "w", dim)?;
    match w.iter().flatten().find(|w| w.is_nan() || **w < 0.0) {
        Some(odd) => Err(Error::request(format!("the weight {odd}"))
            .at_place(Opt::Param)
            .limit("weights are at least 0")),
        None => Ok(w),
    }
}

/// Appends the formula `plain`, or `with_w` if weights are given. Metrics write both, because
/// weights of 1 would cost a multiplication per component, and most metrics without weights have
/// kernels of their own.
pub(crate) fn weighted(
    formula: &mut Formula,
    params: &Params,
    dim: Option<usize>,
    plain: &str,
    with_w: &str,
) -> Result<Id> {
    match weights(params, dim)? {
        None => text(formula, plain, params, dim),
        // A single number stays one while nobody knows how often to repeat it.
        Some(_) if dim.is_none() => text(formula, with_w, params, dim),
        Some(w) => text(formula, with_w, &with(params, "w", Param::Vector(w)), dim),
    }
}

/// Returns `params` with one more.
///
/// A copy: the options of the request stay as they were, for identities and messages.
pub(crate) fn with(params: &Params, name: &str, value: Param) -> Params {
    let mut all = params.clone();
    all.insert(name.to_string(), value);
    all
}

/// Returns component `k` of the option `name` for reference evaluations, or `default`.
///
/// It refuses nothing. An option of the wrong kind gives NaN, and the comparison with the formula
/// fails.
pub(crate) fn component(params: &Params, name: &str, k: usize, default: f64) -> f64 {
    match params.get(name) {
        None => default,
        Some(Param::Number(v)) => *v,
        Some(Param::Vector(v)) => v.get(k).copied().unwrap_or(f64::NAN),
        Some(Param::Word(_)) => f64::NAN,
    }
}

/// Returns the option `name` for reference evaluations, or `default`.
pub(crate) fn option(params: &Params, name: &str, default: f64) -> f64 {
    component(params, name, 0, default)
}

/// Computes Σ w·g(x, y) over components, for reference evaluations.
///
/// Added in ascending order, as formulas do.
pub(crate) fn weighted_sum(
    x: &[f64],
    y: &[f64],
    params: &Params,
    g: impl Fn(f64, f64) -> f64,
) -> f64 {
    (0..x.len())
        .map(|k| component(params, "w", k, 1.0) * g(x[k], y[k]))
        .sum()
}

//! Resolves the pair of a problem: its formula, its cut-off and its box, and checks them against
//! the tables.
//!
//! Everything here depends on column names and numbers of components, never on values of rows, so
//! `meaning.rs` may cache the results.

use crate::data::Data;
use crate::error::{Error, Result};
use crate::fold::roots::add_root;
use crate::opt::Opt;
use crate::pair::lex::reads_name;
use crate::pair::named;
use crate::pair::tree::{Binary, ComponentReduce, Formula, Id, Node, Side};
use crate::pair::{Scope, parse};
use crate::problem::{FoldSpec, Problem};

/// Returns the metric of `problem`; `None` if it has a formula, or if it has only conditions of
/// joins, which need no value. Without a metric, a formula or a condition the pair is the Euclidean
/// distance.
pub(super) fn named_pair(problem: &Problem) -> Result<Option<&'static named::Named>> {
    let spec = &problem.pair;
    if spec.metric.is_some() && spec.formula.is_some() {
        return Err(
            Error::request("a pair is a metric or a formula, here both").remedy(format!(
                "{} or {}",
                Opt::Metric,
                Opt::Pair
            )),
        );
    }
    // Joins alone need no value, so nobody has to name a metric for them.
    let predicate_only = spec.metric.is_none()
        && problem
            .folds
            .iter()
            .all(|f| matches!(f, FoldSpec::Join { .. }));
    if spec.formula.is_some() || predicate_only {
        return Ok(None);
    }
    // A parameter that a formula of a fold reads need not be an option.
    let formulas = problem.formulas();
    let read = |name: &str| formulas.iter().any(|text| reads_name(text, name));
    let options = spec.params.iter().filter(|(name, _)| !read(name));
    let options = options.map(|(name, value)| (name.clone(), value.clone()));
    // The default of SciPy and scikit-learn.
    let metric = spec.metric.as_deref().unwrap_or("euclidean");
    named::require(metric, &options.collect()).map(Some)
}

/// Adds the pair's value to `formula`: that of a metric with its options completed from the
/// data, or the text of the problem. A job of conditions only gets the constant 0.
///
/// # Errors
/// `Request` for formulas and options that mean nothing.
pub(crate) fn pair_value(
    formula: &mut Formula,
    problem: &Problem,
    scope: &Scope<'_>,
    data: &Data,
) -> Result<Id> {
    // A root is the value of the pair for every fold, so a problem without one needs a placeholder.
    match (&problem.pair.formula, named_pair(problem)?) {
        (Some(text), _) => parse(formula, text, scope),
        (None, Some(named)) => (named.formula)(formula, &scope.params, Some(data.x.cols())),
        (None, None) => formula.number(0.0),
    }
}

/// Adds a root with the squared length of the difference, which the cut-off is compared with. It is
/// the same node as the distance's own sum of squares if the formula has one, so it costs nothing
/// then.
///
/// The square and not the length: comparing it with a squared cut-off costs no root and decides the
/// same.
///
/// # Errors
/// `Request` for a cut-off that is not a number above 0.
pub(crate) fn cutoff_root(formula: &mut Formula, cutoff: f64) -> Result<usize> {
    if cutoff.is_nan() || cutoff <= 0.0 {
        return Err(Error::request(format!("a cut-off of {cutoff}"))
            .at_place(Opt::Cutoff)
            .limit("a number above 0"));
    }
    let (x, y) = (
        formula.leaf(Node::Row(Side::X))?,
        formula.leaf(Node::Row(Side::Y))?,
    );
    // `binary` makes this the node δ, so the cut-off is by the minimum image in a box.
    let gap = formula.binary(Binary::Sub, x, y)?;
    let square = formula.binary(Binary::Mul, gap, gap)?;
    let total = formula.reduce(ComponentReduce::Sum, square)?;
    Ok(add_root(formula, total))
}

/// Checks that a box of `dims` dimensions fits the rows and changes something: a box that no
/// difference uses is probably a mistake.
///
/// # Errors
/// `Request` where it does not.
pub(crate) fn check_box(dims: Option<usize>, formula: &Formula, data: &Data) -> Result<()> {
    let Some(dims) = dims else { return Ok(()) };
    if data.x.cols() != dims {
        let what = format!(
            "a box of {dims} dimensions over rows of {} components",
            data.x.cols()
        );
        return Err(Error::request(what).at_place(Opt::Box).remedy(format!(
            "pick the coordinates with {}; formulas may still read the others by name",
            Opt::Columns.like("x,y,z")
        )));
    }
    let live = formula.live();
    // Only nodes that a root needs count: a rewrite may have left others behind.
    let uses = formula
        .nodes()
        .iter()
        .zip(&live)
        .any(|(n, l)| *l && matches!(n, Node::Delta | Node::DeltaAt(_)));
    if !uses {
        let e = Error::request("the formula has no difference 'x - y', so a box changes nothing")
            .at_place(Opt::Box);
        return Err(e.remedy(format!(
            "leave out {}, or write the pair with 'x - y'",
            Opt::Box
        )));
    }
    Ok(())
}

/// Checks inputs with different numbers of components: a formula may pair single components of
/// them, but not whole rows.
///
/// # Errors
/// `Request` for components that there are not, `Input` for whole rows of different lengths.
pub(crate) fn check_components(formula: &Formula, data: &Data, periodic: bool) -> Result<()> {
    let cols = [data.x.cols(), data.other().cols()];
    if cols[0] == cols[1] {
        return Ok(());
    }
    let widths = [data.x.width(), data.other().width()];
    // Nodes that no root needs are never evaluated, so they may name anything.
    let live = formula.live();
    for node in formula
        .nodes()
        .iter()
        .zip(&live)
        .filter(|(_, live)| **live)
        .map(|(node, _)| node)
    {
        // Attributes come after the components, so the width decides, not the number of components.
        let beyond = |side: Side, k: u32| k as usize >= widths[side as usize];
        let odd = match node {
            Node::At(side, k) if beyond(*side, *k) => Some((*k, cols[*side as usize])),
            Node::DeltaAt(k) if beyond(Side::X, *k) || beyond(Side::Y, *k) => {
                Some((*k, cols[0].min(cols[1])))
            }
            _ => None,
        };
        if let Some((k, have)) = odd {
            let e = Error::request(format!("component {k} of rows that have {have}"))
                .at_place("formula");
            return Err(e.remedy("components are numbered from 0"));
        }
        // In a box a single difference also needs whole rows, since the image is found from them.
        let whole = matches!(node, Node::Row(_) | Node::Delta | Node::Given(_))
            // `dim` is the length of a row, and here are two.
            || *node == Node::Dim
            || (periodic && matches!(node, Node::DeltaAt(_)));
        if whole {
            let what = format!(
                "rows of the first input have {} components, of the second {}",
                cols[0], cols[1]
            );
            return Err(Error::input(what).remedy(format!(
                "pick the same columns of both with {}, or name single ones",
                Opt::Columns
            )));
        }
    }
    Ok(())
}

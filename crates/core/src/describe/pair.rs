//! The pair of a problem: its formula, its cut-off and its box, checked against the tables.

use crate::data::Data;
use crate::error::{Error, Result};
use crate::fold::roots::add_root;
use crate::opt::Opt;
use crate::pair::named;
use crate::pair::tree::{Binary, Formula, Id, Node, Reduce, Side};
use crate::pair::{Scope, parse};
use crate::problem::{FoldSpec, Problem};

/// The named pair of `problem`, unless it has a formula, or a condition alone.
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
    let predicate_only = spec.metric.is_none()
        && problem
            .folds
            .iter()
            .all(|f| matches!(f, FoldSpec::Select { .. }));
    if spec.formula.is_some() || predicate_only {
        return Ok(None);
    }
    named::require(spec.metric.as_deref().unwrap_or("euclidean"), &spec.params).map(Some)
}

/// The pair's value: that of a metric with its options completed, or of a formula.
///
/// # Errors
/// `Request` for formulas and options that mean nothing.
pub(crate) fn pair_formula(
    problem: &Problem,
    scope: &Scope<'_>,
    data: &Data,
) -> Result<(Formula, Id)> {
    let mut formula = Formula::new();
    let root = match (&problem.pair.formula, named_pair(problem)?) {
        (Some(text), _) => parse(&mut formula, text, scope)?,
        (None, Some(named)) => (named.formula)(&mut formula, &scope.params, Some(data.x.cols()))?,
        (None, None) => formula.number(0.0)?,
    };
    Ok((formula, root))
}

/// A root with the squared length of the difference.
///
/// # Errors
/// `Request` for a cut-off that is no number above 0.
pub(crate) fn near_root(formula: &mut Formula, near: f64) -> Result<usize> {
    if near.is_nan() || near <= 0.0 {
        return Err(Error::request(format!("a cut-off of {near}"))
            .at(Opt::Cutoff)
            .limit("a number above 0"));
    }
    let (x, y) = (
        formula.leaf(Node::Row(Side::X))?,
        formula.leaf(Node::Row(Side::Y))?,
    );
    let gap = formula.binary(Binary::Sub, x, y)?;
    let square = formula.binary(Binary::Mul, gap, gap)?;
    let total = formula.reduce(Reduce::Sum, square)?;
    Ok(add_root(formula, total))
}

/// A box of `cell` dimensions fits the rows and changes something.
///
/// # Errors
/// `Request` where it does not.
pub(crate) fn check_cell(cell: Option<usize>, formula: &Formula, data: &Data) -> Result<()> {
    let Some(dims) = cell else { return Ok(()) };
    if data.x.cols() != dims {
        let what = format!(
            "a box of {dims} dimensions over rows of {} components",
            data.x.cols()
        );
        return Err(Error::request(what).at(Opt::Box).remedy(format!(
            "pick the coordinates with {}; formulas may still read the others by name",
            Opt::Columns.like("x,y,z")
        )));
    }
    let live = formula.live();
    let uses = formula
        .nodes()
        .iter()
        .zip(&live)
        .any(|(n, l)| *l && matches!(n, Node::Delta | Node::DeltaAt(_)));
    if !uses {
        let e = Error::request("the formula has no difference 'x - y', so a box changes nothing")
            .at(Opt::Box);
        return Err(e.remedy(format!(
            "leave out {}, or write the pair with 'x - y'",
            Opt::Box
        )));
    }
    Ok(())
}

/// Rows of two inputs with different numbers of components pair by single components only.
///
/// # Errors
/// `Request` for components that there are not, `Input` for whole rows of different lengths.
pub(crate) fn check_components(formula: &Formula, data: &Data, periodic: bool) -> Result<()> {
    let cols = [data.x.cols(), data.other().cols()];
    if cols[0] == cols[1] {
        return Ok(());
    }
    let widths = [data.x.width(), data.other().width()];
    let live = formula.live();
    for node in formula
        .nodes()
        .iter()
        .zip(&live)
        .filter(|(_, live)| **live)
        .map(|(node, _)| node)
    {
        let beyond = |side: Side, k: u32| k as usize >= widths[side as usize];
        let odd = match node {
            Node::At(side, k) if beyond(*side, *k) => Some((*k, cols[*side as usize])),
            Node::DeltaAt(k) if beyond(Side::X, *k) || beyond(Side::Y, *k) => {
                Some((*k, cols[0].min(cols[1])))
            }
            _ => None,
        };
        if let Some((k, have)) = odd {
            let e = Error::request(format!("component {k} of rows that have {have}")).at("formula");
            return Err(e.remedy("components are numbered from 0"));
        }
        let whole = matches!(node, Node::Row(_) | Node::Delta | Node::Given(_))
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

//! `cdist` and `pdist`: one dense fold, with little between the call and the engine.

use crate::array::table;
use crate::errors::raise;
use crate::lent::{Place, fresh};
use crate::options::{Given, params};
use crate::run::warn;
use crate::watch::attended;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use std::sync::Arc;
use zipfold::Problem;
use zipfold::Query;
use zipfold::Target;
use zipfold::internals::run::LentSink;
use zipfold::problem::{FoldSpec, Input, NanPolicy, PairSpec};
use zipfold::{Data, Error, Output};
use zipfold::{Precision, problem::Domain};

/// The value of a pair: `(metric, formula, parameters)`.
#[derive(FromPyObject)]
pub(crate) struct PairValue<'py>(Option<String>, Option<String>, Option<Bound<'py, PyDict>>);

impl PairValue<'_> {
    fn spec(self) -> PyResult<PairSpec> {
        let PairValue(metric, formula, parameters) = self;
        Ok(PairSpec {
            metric,
            formula,
            params: params(parameters.as_ref())?,
        })
    }
}

/// What becomes of the values: `(condensed, out, precision)`.
#[derive(FromPyObject)]
pub(crate) struct DenseForm<'py>(bool, Option<Bound<'py, PyAny>>, Option<PyBackedStr>);

/// The matrix of all pairs (or SciPy's condensed order), new or into `out`.
#[pyfunction]
#[pyo3(signature = (x, y, value, form, given))]
pub(crate) fn dense<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: Option<&Bound<'py, PyAny>>,
    value: PairValue<'py>,
    form: DenseForm<'py>,
    given: Given,
) -> PyResult<Bound<'py, PyAny>> {
    let DenseForm(condensed, out, precision) = form;
    let precision = precision.as_deref();
    let data = Data {
        pairs: None,
        x: table(x)?,
        y: y.map(table).transpose()?,
        weights: vec![None],
    };
    let (n, m) = (data.x.rows(), data.other().rows());
    let shape = shape(condensed, n, m);
    let short = given.is_short(&data, &[]);
    let out = match out {
        Some(out) => Some(out),
        // What is large is reserved and allocated by the run itself.
        None if short => Some(fresh(py, &shape, precision == Some("f32"))?),
        None => None,
    };
    let target = target(out.as_ref(), &shape)?;
    let problem = question(value.spec()?, y.is_some(), condensed, precision);
    let done = attended(py, short, given.progress(), |shared| {
        let tell = |p| shared.tell(p);
        let options = given.options(shared, &tell, short)?;
        Ok(Query::new(&problem, &data, &options)
            .run_to(&target)?
            .outcome)
    })?;
    let outcome = done.map_err(|e| raise(py, &e))?;
    warn(py, &outcome.warnings)?;
    let values = outcome.outputs.into_iter().next();
    array(py, values, out, shape)
}

/// Where the values go: into `out`, or into memory of the run.
fn target(out: Option<&Bound<'_, PyAny>>, shape: &[usize]) -> PyResult<Target> {
    Ok(match out {
        Some(out) => Target::Lent(LentSink(Arc::new(Place::for_output(out, shape)?))),
        None => Target::Memory,
    })
}

/// The array of the values, or the one that they were stored in.
fn array<'py>(
    py: Python<'py>,
    values: Option<Output>,
    out: Option<Bound<'py, PyAny>>,
    shape: Vec<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    match (values, out) {
        (Some(Output::F64(v)), _) => Ok(PyArray1::from_vec(py, v).reshape(shape)?.into_any()),
        (Some(Output::F32(v)), _) => Ok(PyArray1::from_vec(py, v).reshape(shape)?.into_any()),
        (Some(Output::Stored), Some(out)) => Ok(out),
        _ => Err(raise(py, &Error::internal("a dense fold gave no values"))),
    }
}

/// The shape of the matrix of `n` × `m` rows, or of its condensed order.
fn shape(condensed: bool, n: usize, m: usize) -> Vec<usize> {
    if condensed {
        vec![n * n.saturating_sub(1) / 2]
    } else {
        vec![n, m]
    }
}

/// The problem of one dense fold.
fn question(pair: PairSpec, two: bool, condensed: bool, precision: Option<&str>) -> Problem {
    let fold = if condensed {
        FoldSpec::Condensed {}
    } else {
        FoldSpec::Matrix {}
    };
    Problem {
        y: two.then(|| Input::named("y")),
        domain: condensed.then_some(Domain::Triangle),
        precision: precision.map(|name| {
            if name == "f32" {
                Precision::F32
            } else {
                Precision::F64
            }
        }),
        nan: NanPolicy::Propagate,
        ..Problem::new(Input::named("x"), pair, vec![fold])
    }
}

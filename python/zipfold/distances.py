"""SciPy's faces: ``cdist`` and ``pdist``, with the arguments, results and errors of ``scipy.spatial.distance``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from . import _zipfold
from .arrays import array as array_of
from .arrays import like, number, numbers, rows
from .errors import ArrayTypeError, InputError, RequestError
from .settings import HOW, checked_precision, given, quick, settings
from .trace import Width, trace

__all__ = ["cdist", "metrics", "pdist"]

_METRICS = {row[0]: row for row in _zipfold.metrics()}
_NAMES = {alias: row[0] for row in _METRICS.values() for alias in (row[0], *row[1])}
_NO_OPTIONS: dict[str, Any] = {}


def metrics() -> dict[str, dict[str, Any]]:
    """Every named metric and kernel, by name.

    Each has its ``definition``; its ``kind``, ``"distance"`` (alike rows have small values) or ``"similarity"`` (large ones; its
    ``knn`` are those of the largest); the ``range`` of its values; its ``aliases`` and ``options``; whether it is ``symmetric``;
    and the ``rows`` it is made for: ``real``, ``nonnegative``, ``boolean`` (0 and 1), ``latlon``, ``missing`` (with NaN).

    >>> import zipfold as zf
    >>> zf.metrics()["minkowski"]["options"]
    ['p', 'w']
    >>> zf.metrics()["pearson"]["kind"], zf.metrics()["pearson"]["range"]
    ('similarity', (-1.0, 1.0))
    """
    keys = ("aliases", "options", "symmetric", "rows", "kind", "range", "definition")
    return {name: dict(zip(keys, row[1:], strict=True)) for name, row in _METRICS.items()}


def metric_name(metric: str) -> str | None:
    """The name behind a name or alias in any case, or None."""
    return _NAMES.get(metric) or _NAMES.get(metric.lower())


def cdist(
    XA: Any,
    XB: Any,
    metric: str | Callable[..., Any] = "euclidean",
    *,
    out: np.ndarray | None = None,
    precision: str | None = None,
    **kwargs: Any,
) -> np.ndarray:
    """Distances of every row of ``XA`` from every row of ``XB``, as ``scipy.spatial.distance.cdist``.

    Parameters
    ----------
    XA, XB : (n, d) and (m, d) arrays of numbers
        C-contiguous float64 arrays are not copied, nor are float32 ones under ``precision="f32"``; under float64 their
        numbers are widened once. Passing one array as both halves the work for symmetric metrics, and changes no bit.
    metric : str or callable
        A name or alias of :func:`metrics`, a formula such as ``"sum(abs(x - y))"``, or a function of two rows that
        traces into a formula.
    out : (n, m) C-contiguous array of float64 or float32, optional
        Where the result is written.
    precision : "f64" or "f32", optional
        In which the values are computed; f64 unless ``out`` is float32.
    **kwargs
        Options of the metric (``p``, ``w``, ``V``, ``VI``, ``base``), parameters of the formula or function; and
        ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    (n, m) array, float64 unless asked otherwise, in the units of the rows for distances; of the library of ``XA`` if that
    has DLPack, else of NumPy

    Raises
    ------
    ValueError
        For shapes that do not fit, unknown metrics, options out of range.
    TypeError
        For options that the metric does not take, arrays that hold no real numbers, functions that do not trace.

    Source: ``crates/core/src/pair/named`` has a file per metric; NaN gives NaN, as in SciPy.

    >>> import zipfold as zf
    >>> zf.cdist([[0.0, 0.0]], [[3.0, 4.0]])
    array([[5.]])
    """
    a = rows(XA, "XA")
    if XB is XA and not _looks_at_all_rows(metric, kwargs):
        # The same bits as those of a copy, for half of the work.
        return like(_dense(a, None, metric, kwargs, False, out, precision, of_truth(XA)), XA)
    b = rows(XB, "XB")
    if a.shape[1] != b.shape[1]:
        raise InputError(f"XA has {a.shape[1]} columns, XB {b.shape[1]} (limit: the same number)")
    return like(_dense(a, b, metric, kwargs, False, out, precision, of_truth(XA, XB)), XA)


def of_truth(*sides: Any) -> bool:
    """Whether all rows are truth values, so that functions may say & and |."""
    return all(getattr(side, "dtype", None) == np.bool_ for side in sides)


def _looks_at_all_rows(metric: Any, options: dict[str, Any]) -> bool:
    """Whether the metric takes an option from the rows of both inputs together, so that rows given twice count twice."""
    name = metric_name(metric) if isinstance(metric, str) else _scipy_name(metric) if callable(metric) else None
    return {"seuclidean": "V", "mahalanobis": "VI"}.get(name or "", None) not in (None, *options)


def pdist(
    X: Any,
    metric: str | Callable[..., Any] = "euclidean",
    *,
    out: np.ndarray | None = None,
    precision: str | None = None,
    **kwargs: Any,
) -> np.ndarray:
    """Distances of the rows i < j of ``X`` in condensed order, as ``scipy.spatial.distance.pdist``.

    ``scipy.spatial.distance.squareform`` makes a matrix of the result.

    Parameters
    ----------
    X : (n, d) array of numbers
    metric, precision, **kwargs
        As in :func:`cdist`.
    out : array of n(n − 1)/2 elements of float64 or float32, optional
        Where the result is written.

    Returns
    -------
    (n(n − 1)/2,) array, float64 unless asked otherwise, in the units of the rows for distances

    Raises
    ------
    ValueError, TypeError
        As :func:`cdist`; also for metrics that change when two rows change places.

    >>> import zipfold as zf
    >>> zf.pdist([[0.0], [1.0], [3.0]], "cityblock")
    array([1., 3., 2.])
    """
    return like(_dense(rows(X, "X"), None, metric, kwargs, True, out, precision, of_truth(X)), X)


def _dense(
    a: np.ndarray,
    b: np.ndarray | None,
    metric: str | Callable[..., Any],
    kwargs: dict[str, Any],
    condensed: bool,
    out: np.ndarray | None,
    precision: str | None,
    truth: bool,
) -> np.ndarray:
    name = _NAMES.get(metric) if type(metric) is str else None
    if precision is None:
        single = out is not None and getattr(out, "dtype", None) == np.float32
        precision = "f32" if single else settings().precision or "f64"
    else:
        checked_precision(precision)
    if name is not None and not kwargs:
        return _zipfold.dense(a, b, (name, None, None), (condensed, out, precision), quick())
    how = {key: kwargs.pop(key) for key in HOW if key in kwargs}
    name, formula, options = pair(metric, kwargs, a.shape[1], truth=truth)
    return _zipfold.dense(a, b, (name, formula, options), (condensed, out, precision), given(**how))


def pair(
    metric: str | Callable[..., Any],
    options: dict[str, Any],
    dim: Width,
    names: Any = (None, None),
    attributes: Any = ((), ()),
    truth: bool = False,
) -> tuple[str | None, str | None, dict[str, Any]]:
    """A pair given in any of the three ways, as ``(metric, formula, parameters)``; exactly one of the first two is set."""
    if callable(metric):
        known = _scipy_name(metric)
        if known is None:
            formula, bound = trace(metric, options, dim, names, attributes, truth)
            return None, formula, bound
        metric = known
    if not isinstance(metric, str):
        kind = type(metric).__name__
        raise ArrayTypeError(f"metric: a name, a formula or a function of two rows is wanted, here is a {kind}")
    name = metric_name(metric)
    if name is None:
        if metric.isidentifier() and metric not in ("x", "y"):
            _unknown(metric)
        return None, metric, {key: parameter(key, value) for key, value in options.items()}
    takes = _METRICS[name][2]
    odd = next((key for key in options if key not in takes), None)
    if odd is not None:
        near = _near(odd, [*takes, *HOW])
        have = near or (f"one of {', '.join(takes)}" if takes else "leave it out")
        raise ArrayTypeError(f"the metric '{name}' takes no option '{odd}'\n  try: {have}")
    return name, None, {key: parameter(key, value) for key, value in options.items() if value is not None}


def _near(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return f"{near[0]}=…" if near else "threads=…" if name in ("n_jobs", "njobs", "workers") else ""


def _unknown(metric: str) -> NoReturn:
    import difflib

    said = str(_zipfold.unknown_metric(metric)).partition("\n  try: ")[2]
    near = difflib.get_close_matches(metric.lower(), _NAMES, 1)
    # A name of another field has a remedy of its own; what is only near in letters may be something else.
    meant = said if said and not re.fullmatch(r"'\w+'", said) and not said.startswith("a metric") else ""
    remedy = meant or (f"'{near[0]}'" if near else f"one of {', '.join(_METRICS)}")
    raise RequestError(f"metric: Unknown Distance Metric: {metric}\n  try: {remedy}")


def parameter(name: str, value: Any) -> Any:
    """A number, an array of numbers flattened in row-major order, or a word, such as a unit."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value, name)
    array = array_of(value, name)
    if array.ndim == 0 and array.dtype.kind in "biuf":
        return float(array)
    if array.shape == (1,) and name in _SINGLE:
        return float(array[0])
    return numbers(array, name).astype(np.float64, copy=False).ravel()


#: Options of one number, which an array of one number is too.
_SINGLE = ("gamma", "coef0", "degree", "p", "base", "radius")


def _scipy_name(metric: Callable[..., Any]) -> str | None:
    """The name of one of SciPy's own functions of two vectors, which mean the same as the names."""
    module = getattr(metric, "__module__", "") or ""
    name = getattr(metric, "__name__", "")
    return metric_name(name) if module.startswith("scipy.spatial") else None

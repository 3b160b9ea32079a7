"""SciPy's faces: ``cdist`` and ``pdist``, with the arguments, results and errors of ``scipy.spatial.distance``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import like, numbers, rows
from .errors import ArrayTypeError, InputError, RequestError
from .settings import checked_precision, given, quick, settings
from .trace import trace

__all__ = ["cdist", "metrics", "pdist"]

_METRICS = {row[0]: row for row in _zipfold.metrics()}
_NAMES = {alias: row[0] for row in _METRICS.values() for alias in (row[0], *row[1])}
_NO_OPTIONS: dict[str, Any] = {}


def metrics() -> dict[str, dict[str, Any]]:
    """Every named metric and kernel: aliases, options, symmetry, and the rows it is made for.

    >>> import zipfold as zf
    >>> zf.metrics()["minkowski"]["options"]
    ['p', 'w']
    """
    keys = ("aliases", "options", "symmetric", "rows")
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
        C-contiguous float64 and float32 arrays are not copied. Passing one array as both halves the work for symmetric
        metrics.
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
    b = a if XB is XA else rows(XB, "XB")
    if a.shape[1] != b.shape[1]:
        raise InputError(f"XA has {a.shape[1]} columns, XB {b.shape[1]} (limit: the same number)")
    return like(_dense(a, None if b is a else b, metric, kwargs, False, out, precision), XA)


def pdist(
    X: Any,
    metric: str | Callable[..., Any] = "euclidean",
    *,
    out: np.ndarray | None = None,
    precision: str | None = None,
    **kwargs: Any,
) -> np.ndarray:
    """Distances of the rows i < j of ``X`` in condensed order, as ``scipy.spatial.distance.pdist``.

    Parameters and errors are those of :func:`cdist`; ``out`` has n(n − 1)/2 elements.
    ``scipy.spatial.distance.squareform`` makes a matrix of the result.

    Returns
    -------
    (n(n − 1)/2,) array, float64 unless asked otherwise, in the units of the rows for distances

    >>> import zipfold as zf
    >>> zf.pdist([[0.0], [1.0], [3.0]], "cityblock")
    array([1., 3., 2.])
    """
    return like(_dense(rows(X, "X"), None, metric, kwargs, True, out, precision), X)


def _dense(
    a: np.ndarray,
    b: np.ndarray | None,
    metric: str | Callable[..., Any],
    kwargs: dict[str, Any],
    condensed: bool,
    out: np.ndarray | None,
    precision: str | None,
) -> np.ndarray:
    name = _NAMES.get(metric) if type(metric) is str else None
    if precision is None:
        single = out is not None and getattr(out, "dtype", None) == np.float32
        precision = "f32" if single else settings().precision or "f64"
    else:
        checked_precision(precision)
    if name is not None and not kwargs:
        return _zipfold.dense(a, b, name, None, None, condensed, out, precision, quick())
    how = {key: kwargs.pop(key) for key in ("threads", "memory", "device", "progress", "plan") if key in kwargs}
    name, formula, options = pair(metric, kwargs, a.shape[1])
    return _zipfold.dense(a, b, name, formula, options, condensed, out, precision, given(**how))


def pair(
    metric: str | Callable[..., Any], options: dict[str, Any], dim: int | None, names: Any = (None, None)
) -> tuple[str | None, str | None, dict[str, Any]]:
    """A pair given in any of the three ways, as ``(metric, formula, parameters)``; exactly one of the first two is set."""
    if callable(metric):
        known = _scipy_name(metric)
        if known is None:
            formula, bound = trace(metric, options, dim, names)
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
        have = f"one of {', '.join(takes)}" if takes else "leave it out"
        raise ArrayTypeError(f"the metric '{name}' takes no option '{odd}'\n  try: {have}")
    return name, None, {key: parameter(key, value) for key, value in options.items() if value is not None}


def _unknown(metric: str) -> None:
    import difflib

    near = difflib.get_close_matches(metric.lower(), _NAMES, 1)
    remedy = f"'{near[0]}'" if near else f"one of {', '.join(_METRICS)}"
    raise RequestError(f"metric: Unknown Distance Metric: {metric}\n  try: {remedy}")


def parameter(name: str, value: Any) -> Any:
    """A number, or an array of numbers flattened in row-major order."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    array = np.asarray(value)
    if array.ndim == 0 and array.dtype.kind in "biuf":
        return float(array)
    return numbers(array, name).astype(np.float64, copy=False).ravel()


def _scipy_name(metric: Callable[..., Any]) -> str | None:
    """The name of one of SciPy's own functions of two vectors, which mean the same as the names."""
    module = getattr(metric, "__module__", "") or ""
    name = getattr(metric, "__name__", "")
    return metric_name(name) if module.startswith("scipy.spatial") else None

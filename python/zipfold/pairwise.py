"""scikit-learn's faces: the names and arguments of ``sklearn.metrics.pairwise``.

Results keep the precision of their inputs: float32 in, float32 out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import like, rows
from .distances import of_truth, pair
from .errors import ArrayTypeError, InputError, RequestError, ResourceError
from .lazy import pairs
from .settings import HOW, given, settings

__all__ = [
    "pairwise_distances",
    "pairwise_distances_argmin",
    "pairwise_distances_argmin_min",
    "pairwise_distances_chunked",
    "pairwise_kernels",
]

_DISTANCES = {"l1": "cityblock", "l2": "euclidean", "manhattan": "cityblock", "matching": "hamming"}
_KERNELS = {"cosine": "cosine_similarity", "poly": "polynomial"}
_KERNEL_NAMES = "additive_chi2 chi2 cosine laplacian linear poly polynomial rbf sigmoid".split()


def _rows(data: Any, name: str) -> np.ndarray:
    """As :func:`zipfold.arrays.rows`; sparse rows become dense, as far as the memory allows."""
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        limit = settings().memory or _zipfold.available_memory()
        size = data.shape[0] * data.shape[1] * data.dtype.itemsize
        if size > limit:
            raise ResourceError(f"{name}: sparse rows take {size} bytes when dense (limit: memory {limit} bytes)")
        data = data.toarray()
    return rows(data, name)


def _checked(X: Any, Y: Any, missing: bool) -> tuple[np.ndarray, np.ndarray | None]:
    a = _rows(X, "X")
    b = None if Y is None or Y is X else _rows(Y, "Y")
    if b is not None and a.shape[1] != b.shape[1]:
        raise InputError(f"Incompatible dimension for X and Y matrices: X has {a.shape[1]} columns, Y {b.shape[1]}")
    if b is not None and a.dtype != b.dtype:
        a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    for array, name in ((a, "X"), (b, "Y")):
        if array is not None and not missing:
            _check_finite(array, name)
    return a, b


def _check_finite(array: np.ndarray, name: str) -> None:
    # The sum is finite if all numbers are, but for overflow, and costs no copy.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum(dtype=np.float64)) or np.isfinite(array).all():
            return
    at = tuple(int(k[0]) for k in np.nonzero(~np.isfinite(array)))
    what = "contains NaN" if np.isnan(array[at]) else "contains infinity"
    raise InputError(f"{name}: Input {what} (row {at[0]}, column {at[1]})\n  try: metric='nan_euclidean', or fill the gaps")


def _matrix(a: np.ndarray, b: np.ndarray | None, metric: Any, options: dict[str, Any], truth: bool = False) -> np.ndarray:
    how = {key: options.pop(key) for key in HOW if key in options}
    metric = _squared(metric, options)
    name, formula, bound = pair(metric, options, a.shape[1], truth=truth)
    precision = "f32" if a.dtype == np.float32 else "f64"
    return _zipfold.dense(a, b, (name, formula, bound), (False, None, precision), given(**how))


def _squared(metric: Any, options: dict[str, Any]) -> Any:
    """scikit-learn's option of its Euclidean distances."""
    squared = options.pop("squared", False) if metric == "euclidean" else False
    if isinstance(metric, str) and metric == "euclidean":
        # Squares of norms that scikit-learn's way needs; distances are by differences here.
        options.pop("X_norm_squared", None), options.pop("Y_norm_squared", None)
    return "sqeuclidean" if squared else metric


def pairwise_distances(
    X: Any,
    Y: Any = None,
    metric: str | Callable[..., Any] = "euclidean",
    *,
    n_jobs: int | None = None,
    ensure_all_finite: bool | str = True,
    **kwds: Any,
) -> np.ndarray:
    """Distances of all pairs of rows, as ``sklearn.metrics.pairwise_distances``.

    Parameters
    ----------
    X, Y : (n, d) and (m, d) arrays
        float32 gives float32. Without ``Y`` the rows of ``X`` among themselves, each pair computed once.
    metric : str or callable
        scikit-learn's and SciPy's names, ``"precomputed"``, a formula, or a function that traces.
    n_jobs : int, optional
        Threads; −1 and None are all.
    ensure_all_finite : bool or "allow-nan"
    **kwds
        Options of the metric, parameters of a formula; ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    (n, m) array, float32 where the rows are, else float64, in the units of the rows for distances

    Raises
    ------
    ValueError
        For shapes that do not fit, unknown metrics, rows that are not finite (unless allowed).
    TypeError
        For options that the metric does not take, rows that hold no real numbers.

    >>> import zipfold as zf
    >>> zf.pairwise_distances([[0.0, 0.0], [3.0, 4.0]])
    array([[0., 5.],
           [5., 0.]])
    """
    if isinstance(metric, str) and metric == "precomputed":
        return _precomputed(X, Y)
    metric = _DISTANCES.get(metric, metric) if isinstance(metric, str) else metric
    a, b = _checked(X, Y, ensure_all_finite is not True or metric == "nan_euclidean")
    out = _matrix(a, b, metric, _derived(a, b, metric, kwds) | _threads(n_jobs, kwds), of_truth(X, X if Y is None else Y))
    if Y is None and metric in ("cosine", "correlation"):
        # One minus a similarity that rounds: a row is at no distance from itself.
        np.fill_diagonal(out, 0)
    return like(out, X)


def _derived(a: np.ndarray, b: np.ndarray | None, metric: Any, kwds: dict[str, Any]) -> dict[str, Any]:
    """Options that come from all rows together, which slices and single queries do not see."""
    name = {"seuclidean": "V", "mahalanobis": "VI"}.get(metric) if isinstance(metric, str) else None
    if name is None or name in kwds:
        return kwds
    if b is not None:
        raise InputError(f"The '{name}' parameter is required for the {metric} metric when Y is passed.")
    double = a.astype(np.float64, copy=False)
    if name == "V":
        return kwds | {"V": np.var(double, axis=0, ddof=1)}
    return kwds | {"VI": np.linalg.inv(np.cov(double.T)).T}


def _threads(n_jobs: int | None, kwds: dict[str, Any]) -> dict[str, int]:
    if n_jobs is None or "threads" in kwds:
        return {}
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise RequestError(f"n_jobs: {n_jobs!r} (limit: a whole number but 0)")
    return {"threads": max(int(n_jobs), 0)}


def _precomputed(X: Any, Y: Any, kind: str = "distances") -> np.ndarray:
    array = rows(X, "X")
    wanted = len(array) if Y is None else np.shape(Y)[0]
    if array.shape[1] != wanted:
        what = f"Precomputed metric requires shape (n_queries, n_indexed). Got {array.shape} for {wanted} indexed."
        raise InputError(what)
    if kind == "distances" and array.size and array.min() < 0:
        raise InputError("X: Precomputed distances need to have non-negative values.")
    return array


def pairwise_kernels(
    X: Any,
    Y: Any = None,
    metric: str | Callable[..., Any] = "linear",
    *,
    filter_params: bool = False,
    n_jobs: int | None = None,
    **kwds: Any,
) -> np.ndarray:
    """Kernels of all pairs of rows, as ``sklearn.metrics.pairwise.pairwise_kernels``.

    Parameters
    ----------
    X, Y : (n, d) and (m, d) arrays
        float32 gives float32.
    metric : str or callable
        One of additive_chi2, chi2, cosine, laplacian, linear, poly, polynomial, rbf, sigmoid, precomputed, a formula, or a
        function that traces.
    filter_params : bool
        Leave out options that the kernel does not take.
    n_jobs : int, optional
        Threads; −1 and None are all.
    **kwds
        Options of the kernel (``gamma``, ``coef0``, ``degree``); ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    (n, m) array, float32 where the rows are, else float64, without units

    Raises
    ------
    ValueError
        For shapes that do not fit, unknown kernels, rows that are not finite, or negative under chi2.
    TypeError
        For options that the kernel does not take, rows that hold no real numbers.

    >>> import zipfold as zf
    >>> zf.pairwise_kernels([[1.0, 2.0]], [[3.0, 4.0]], "linear")
    array([[11.]])
    """
    if isinstance(metric, str) and metric == "precomputed":
        return _precomputed(X, Y, "kernel")
    if isinstance(metric, str):
        if metric.isidentifier() and metric not in _KERNEL_NAMES:
            raise RequestError(f"metric: Unknown kernel '{metric}'\n  try: one of {', '.join(_KERNEL_NAMES)}")
        metric = _KERNELS.get(metric, metric)
        if filter_params:
            takes = next((row[2] for row in _zipfold.metrics() if row[0] == metric), []) + [*HOW]
            kwds = {key: value for key, value in kwds.items() if key in takes}
    a, b = _checked(X, Y, False)
    if metric in ("chi2", "additive_chi2") and any(m is not None and m.size and m.min() < 0 for m in (a, b)):
        raise InputError("X contains negative values (limit: at least 0)")
    return like(_matrix(a, b, metric, kwds | _threads(n_jobs, kwds)), X)


def pairwise_distances_argmin_min(
    X: Any,
    Y: Any,
    *,
    axis: int = 1,
    metric: str | Callable[..., Any] = "euclidean",
    metric_kwargs: dict[str, Any] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest row of ``Y`` for every row of ``X`` and its distance (``axis=0``: of ``X`` for every row of ``Y``).

    Exact, ties to the lowest index; the matrix is never there.

    Parameters
    ----------
    X, Y : (n, d) and (m, d) arrays
    axis : {1, 0}
        1 for the nearest row of ``Y``, 0 for the nearest row of ``X``.
    metric : str or callable
        As in :func:`pairwise_distances`.
    metric_kwargs : dict, optional
        Options of the metric.

    Returns
    -------
    indices and distances: arrays of n numbers (``axis=0``: m), the distances in the units of the rows

    Raises
    ------
    ValueError
        For shapes that do not fit, unknown metrics, rows that are not finite.
    TypeError
        For options that the metric does not take, rows that hold no real numbers.

    >>> import zipfold as zf
    >>> zf.pairwise_distances_argmin_min([[0.0]], [[5.0], [2.0]])
    (array([1]), array([2.]))
    """
    if axis not in (0, 1):
        raise RequestError(f"axis: {axis} (limit: 0 or 1)")
    metric = _DISTANCES.get(metric, metric) if isinstance(metric, str) else metric
    a, b = _checked(X, Y, metric == "nan_euclidean")
    if axis == 0:
        a, b = (a if b is None else b), a
    options = dict(metric_kwargs or {})
    metric = _squared(metric, options)
    question = pairs(a, a if b is None else b).pair(metric, **options).nan("propagate")
    found = question.nearest(1, largest=False).run()
    return found.indices[:, 0].astype(np.intp, copy=False), found.distances[:, 0].astype(a.dtype, copy=False)


def pairwise_distances_argmin(
    X: Any,
    Y: Any,
    *,
    axis: int = 1,
    metric: str | Callable[..., Any] = "euclidean",
    metric_kwargs: dict[str, Any] | None = None,
) -> np.ndarray:
    """The indices alone of :func:`pairwise_distances_argmin_min`.

    Parameters
    ----------
    X, Y, axis, metric, metric_kwargs
        As there.

    Returns
    -------
    integer array of n (``axis=0``: m) numbers

    Raises
    ------
    ValueError, TypeError
        As there.

    >>> import zipfold as zf
    >>> zf.pairwise_distances_argmin([[0.0]], [[5.0], [2.0]])
    array([1])
    """
    return pairwise_distances_argmin_min(X, Y, axis=axis, metric=metric, metric_kwargs=metric_kwargs)[0]


def pairwise_distances_chunked(
    X: Any,
    Y: Any = None,
    *,
    reduce_func: Callable[[np.ndarray, int], Any] | None = None,
    metric: str | Callable[..., Any] = "euclidean",
    n_jobs: int | None = None,
    working_memory: float | None = None,
    **kwds: Any,
) -> Iterator[Any]:
    """The matrix of distances in consecutive slices of rows, of at most ``working_memory`` MiB each.

    Parameters
    ----------
    X, Y, metric, n_jobs, **kwds
        As in :func:`pairwise_distances`.
    reduce_func : callable, optional
        ``reduce_func(slice, first_row)`` is applied to each slice, as in scikit-learn.
    working_memory : float, optional
        MiB of a slice, 1024 unless given.

    Returns
    -------
    iterator of (rows, m) arrays, or of what ``reduce_func`` made of them

    Raises
    ------
    ValueError
        For shapes that do not fit, unknown metrics, and for a ``reduce_func`` whose result has another length than a slice.
    TypeError
        For options that the metric does not take, rows that hold no real numbers.

    >>> import zipfold as zf
    >>> [part.tolist() for part in zf.pairwise_distances_chunked([[0.0], [3.0]], working_memory=1)]
    [[[0.0, 3.0], [3.0, 0.0]]]
    """
    metric = _DISTANCES.get(metric, metric) if isinstance(metric, str) else metric
    if isinstance(metric, str) and metric == "precomputed":
        whole = _precomputed(X, Y)
        yield whole if reduce_func is None else _reduced(reduce_func, whole, 0)
        return
    a, b = _checked(X, Y, metric == "nan_euclidean")
    n, m = len(a), len(a if b is None else b)
    limit = (working_memory if working_memory is not None else 1024.0) * 2**20
    step = max(1, int(limit // max(8 * m, 1)))
    options = _derived(a, b, metric, kwds) | _threads(n_jobs, kwds)
    for first in range(0, n, step):
        at_once = b is None and step >= n
        part = _matrix(a[first : first + step], None if at_once else a if b is None else b, metric, dict(options))
        yield part if reduce_func is None else _reduced(reduce_func, part, first)


def _reduced(reduce_func: Callable[[np.ndarray, int], Any], part: np.ndarray, first: int) -> Any:
    size = len(part)
    given_back = reduce_func(part, first)
    if given_back is None:
        return None
    many = isinstance(given_back, tuple)
    parts = given_back if many else (given_back,)
    if any(isinstance(one, tuple) or not (hasattr(one, "__len__") or hasattr(one, "shape")) for one in parts):
        raise ArrayTypeError(f"reduce_func returned {given_back!r}. Expected sequence(s) of length {size}.")
    lengths = tuple(one.shape[0] if hasattr(one, "shape") else len(one) for one in parts)
    if any(length != size for length in lengths):
        shown = lengths if many else lengths[0]
        raise InputError(f"reduce_func returned object of length {shown}. Expected same length as input: {size}.")
    return given_back

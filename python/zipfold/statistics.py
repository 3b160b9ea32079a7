"""Statistics of all pairs: histograms, joins by distance, correlations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .arrays import named_rows, number
from .errors import ArrayTypeError, InputError, RequestError
from .lazy import pairs
from .results import Histogram, Matches, Neighbours
from .settings import check_how

__all__ = ["corr", "knn", "pair_histogram", "similarity_join"]

#: scikit-learn's and pandas' names of correlations, by ours.
_CORRELATIONS = {"pearson": "pearson", "spearman": "spearman", "cosine": "cosine_similarity"}


def pair_histogram(
    X: Any,
    Y: Any = None,
    bins: Any = 100,
    range: tuple[float, float] | None = None,
    *,
    metric: str | Callable[..., Any] = "euclidean",
    box: Any = None,
    weights: Any = None,
    mean: bool = False,
    closed: str = "last",
    nan: str = "error",
    progress: Any = False,
    params: dict[str, Any] | None = None,
    by: Any = None,
    attributes: Any = None,
    weight: str | Callable[..., Any] | None = None,
    values: dict[str, str | Callable[..., Any]] | None = None,
    keep: Any = "mean",
    **how: Any,
) -> Histogram:
    """Exact counts of pairs by distance: i < j of ``X``, or all pairs of ``X`` and ``Y`` (also of ``X`` and ``X``).

    Parameters
    ----------
    X, Y : (n, d) and (m, d) arrays
    bins, range
        As in ``numpy.histogram``: a number of bins and their range (by default the exact minimum and maximum), or edges.
    metric
        A name, a formula, or a function of two rows, with ``params``.
    box
        A periodic box: one length for all sides, lengths, or lengths and angles in degrees; differences are by the minimum image.
    weights
        One number per row, or a tuple of two such arrays for ``X`` and ``Y``; a pair weighs the product.
    mean : bool
        Also the mean value per bin.
    closed : {"last", "half-open"}
        Whether a value on the last edge counts.
    nan : {"error", "propagate", "skip"}
    progress : bool or callable
        A bar, or a function of pairs done and pairs in all.
    by : labels or numbers, one for each row; with ``Y`` a tuple of two; or the name of an attribute
        Counts for each pair of groups of rows: ``counts[a, b]``, in the order of ``groups``.
    attributes : dict of n numbers or labels by name, or with ``Y`` a tuple of two such dicts
        What formulas read as ``x.name``.
    weight
        What a pair weighs, a formula.
    values, keep
        Formulas by name, and what is kept of their values in each bin; see :meth:`Pairs.fold`.

    Returns
    -------
    Histogram
        ``counts`` are uint64 and exact: the same on every machine. ``edges`` and ``means`` are in the units of the metric.

    Raises
    ------
    ValueError
        For edges that do not ascend, ranges and boxes that are not finite, NaN under ``"error"``, weights that do not fit.

    Source: ``crates/core/src/fold/histogram.rs`` says how edges decide.

    >>> import zipfold as zf
    >>> zf.pair_histogram([[0.0], [1.0], [3.0]], bins=3, range=(0, 3)).counts
    array([0, 1, 2], dtype=uint64)

    A semivariogram of heights:

    >>> places, heights = [[0.0], [1.0], [3.0]], {"z": [5.0, 6.0, 9.0]}
    >>> found = zf.pair_histogram(places, bins=2, range=(0, 4), attributes=heights, values={"gamma": "(x.z - y.z)^2 / 2"})
    >>> found.values["gamma"]["mean"]
    array([0.5 , 6.25])
    """
    check_how(how, pair_histogram)
    if by is not None and not isinstance(by, str):
        attributes = _with_groups(attributes, by, Y is not None)
        by = "group"
    question = pairs(X, Y, attributes=attributes).pair(metric, **(params or {})).nan(nan)
    if box is not None:
        question = question.periodic(box)
    if by is not None:
        question = question.by(by)
    question = question.histogram(
        bins, range, weights=weights, mean=mean, closed=closed, weight=weight, values=values, keep=keep
    )
    return question.run(progress=progress, **how)


def _with_groups(attributes: Any, by: Any, two: bool) -> Any:
    """The attributes, with the labels of groups among them."""
    if not two:
        return {**(attributes or {}), "group": by}
    if not isinstance(by, tuple) or len(by) != 2:
        raise RequestError("by: two inputs have their own groups\n  try: by=(those of X, those of Y)")
    sides = attributes if attributes is not None else ({}, {})
    return tuple({**side, "group": labels} for side, labels in zip(sides, by, strict=True))


def similarity_join(
    X: Any,
    Y: Any = None,
    *,
    within: float | None = None,
    at_least: float | None = None,
    metric: str | Callable[..., Any] = "euclidean",
    params: dict[str, Any] | None = None,
    value: bool = True,
    nan: str = "error",
    **how: Any,
) -> Matches:
    """All pairs of rows whose value is at most ``within``, or at least ``at_least``; i < j of ``X`` alone.

    A pair whose distance is ``within`` to the last bit, as another function of zipfold gave it, is one of them. Nothing is truncated: memory is asked for as matches come, and refused when the limit is met.

    Parameters
    ----------
    X, Y : (n, d) and (m, d) arrays
    within, at_least : float
        One of the two, in the units of the metric.
    metric
        A name, a formula, or a function of two rows, with ``params``.
    value : bool
        Also the value of every match.
    nan : {"error", "propagate", "skip"}
    **how
        ``threads``, ``memory``, ``device``, ``plan``, ``progress``.

    Returns
    -------
    Matches
        ``i`` and ``j`` (int64, sorted by ``i``, then ``j``), ``values`` in the units of the metric.

    Raises
    ------
    ValueError
        For no bound or two, unknown metrics, NaN under ``"error"``.
    MemoryError
        When there are more matches than the memory holds.

    >>> import zipfold as zf
    >>> found = zf.similarity_join([[0.0], [1.0], [3.0]], within=2.0)
    >>> found.i, found.j, found.values
    (array([0, 1]), array([1, 2]), array([1., 2.]))
    """
    check_how(how, similarity_join)
    if (within is None) == (at_least is None):
        raise RequestError("one of within and at_least is wanted\n  try: within=0.5")
    name, given = ("within", within) if within is not None else ("at_least", at_least)
    bound = number(given, name)
    if np.isnan(bound):
        raise RequestError(f"{name}: {bound} (limit: a number)")
    question = pairs(X, Y).pair(metric, **(params or {})).nan(nan)
    sign = "<=" if within is not None else ">="
    return question.join(f"value {sign} {bound!r}", "value" if value else None).run(**how)


def knn(
    X: Any,
    Y: Any = None,
    k: int = 5,
    *,
    metric: str | Callable[..., Any] = "euclidean",
    largest: bool | None = None,
    params: dict[str, Any] | None = None,
    nan: str = "error",
    **how: Any,
) -> Neighbours:
    """The ``k`` nearest rows of ``Y`` for every row of ``X``; of ``X`` alone without the row itself. Exact, ties by index.

    ``knn(X, X, k)`` is ``knn(X, X.copy(), k)``: every row is its own first neighbour, as in FAISS and SciPy's trees.

    Parameters
    ----------
    X, Y : (n, d) and (m, d) arrays
        Without ``Y`` the other rows of ``X``.
    k : int
        From 1. Where a row has fewer neighbours, the index is −1 and the distance NaN.
    metric
        A name, a formula, or a function of two rows, with ``params``.
    largest : bool, optional
        Those of the largest values (True) or of the smallest (False). Unless said, the largest of a similarity (``pearson``,
        ``linear``, ``rbf``, …: :func:`zipfold.metrics` says which they are), the smallest of anything else.
    nan : {"error", "propagate", "skip"}
    **how
        ``threads``, ``memory``, ``device``, ``plan``, ``progress``.

    Returns
    -------
    Neighbours
        ``indices`` (int64) and ``distances`` (float64, in the units of the metric), both (n, k), nearest first; unpacks as
        ``distances, indices``.

    Raises
    ------
    ValueError
        For k below 1, unknown metrics, NaN under ``"error"``.

    >>> import zipfold as zf
    >>> distances, indices = zf.knn([[0.0], [1.0], [3.0]], k=1)
    >>> indices.ravel()
    array([1, 0, 1])
    """
    check_how(how, knn)
    return pairs(X, Y).pair(metric, **(params or {})).nan(nan).nearest(k, largest=largest).run(**how)


def corr(data: Any, method: str = "pearson", *, min_periods: int = 1, **how: Any) -> Any:
    """Correlations of all columns, as ``DataFrame.corr``: a DataFrame for a DataFrame, else an array.

    Parameters
    ----------
    data : (observations, variables) table or array
    method : {"pearson", "spearman", "kendall", "cosine"}
        ``"kendall"`` is Kendall's τ_b (Kendall, Biometrika 33 (1945) 239): every two observations are compared, which
        takes time with the square of their number and is refused beyond 20 000.
    min_periods : int
        Pairs of variables with fewer common observations are NaN. Missing observations (NaN) are left out of the pairs
        they belong to; Spearman's ranks need whole columns.
    **how
        ``threads``, ``memory``, ``device``.

    Returns
    -------
    (variables, variables) DataFrame or float64 array, without units

    Raises
    ------
    ValueError
        For unknown methods, Spearman with missing values, Kendall with more observations than its limit.

    >>> import zipfold as zf
    >>> zf.corr([[1.0, 2.0], [2.0, 4.0], [3.0, 5.0]]).round(4)
    array([[1.   , 0.982],
           [0.982, 1.   ]])
    """
    check_how(how, corr)
    if not isinstance(method, str):
        kind = type(method).__name__
        raise ArrayTypeError(f"method: expected a name, got a {kind}\n  try: one table; two are zf.cdist(A.T, B.T, 'pearson')")
    if method not in _CORRELATIONS and method != "kendall":
        raise RequestError(f"method: '{method}'\n  try: one of {', '.join([*_CORRELATIONS, 'kendall'])}")
    array, names = named_rows(data, "data")
    variables = np.ascontiguousarray(array.T)
    if method == "kendall":
        return _like(data, _kendall(variables, min_periods, how), names)
    question = pairs(variables).nan("propagate")
    if not np.isnan(variables).any():
        question = question.pair(_CORRELATIONS[method])
        enough = len(array) >= min_periods
        out = question.matrix().run(**how)
        return _like(data, out if enough else np.full_like(out, np.nan), names)
    if method == "spearman":
        raise InputError("data: missing values have no rank\n  try: data.dropna(), or method='pearson'")
    center = np.nanmean(variables, axis=1, keepdims=True) if method == "pearson" else 0.0
    question = pairs(variables - center).nan("propagate").pair(_with_gaps(method, min_periods))
    return _like(data, question.matrix().run(**how), names)


#: Observations beyond which comparing every two of them takes longer than sorting them for every two variables.
_MOST_COMPARED = 20_000
#: Comparisons of a variable in one sweep.
_COMPARED = 1 << 19


def _kendall(variables: np.ndarray, min_periods: int, how: dict[str, Any]) -> np.ndarray:
    """τ_b: the cosine of the signs of the differences between observations, over those that both variables have.

    Sums of signs are whole numbers, so that sweeps over slices of the comparisons add up exactly.
    """
    n = variables.shape[1]
    if n > _MOST_COMPARED:
        raise RequestError(
            f"data: {n} observations, every two of which Kendall's correlation compares (limit: {_MOST_COMPARED})\n"
            "  try: method='spearman', or the data's own .corr('kendall')"
        )
    products, squares, compared = np.zeros((3, len(variables), len(variables)))
    both = "not isnan(x) and not isnan(y)"
    for signs in _signs(variables):
        # A slice has less than 2^24 comparisons, so that its sums are whole numbers that single precision holds.
        question = pairs(signs).nan("propagate").precision("f32")
        if np.isnan(signs).any():
            products += question.pair(f"sum(if({both}, x * y, 0))").matrix().run(**how)
            squares += question.pair(f"sum(if({both}, x * x, 0))").matrix().run(**how)
            compared += question.pair(f"count({both})").matrix().run(**how)
        else:
            products += question.pair("sum(x * y)").matrix().run(**how)
            squares += np.count_nonzero(signs, axis=1)[:, None]
            compared += signs.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        out = products / np.sqrt(squares * squares.T)
    out[compared < min_periods * (min_periods - 1) / 2] = np.nan
    return out


def _signs(variables: np.ndarray) -> Iterator[np.ndarray]:
    """The signs of x_i − x_j for i < j, a slice of the pairs of observations at a time, as float32."""
    n = variables.shape[1]
    start = 0
    while start < n - 1:
        stop, width = start, 0
        while stop < n - 1 and (width == 0 or width + n - 1 - stop <= _COMPARED):
            width, stop = width + n - 1 - stop, stop + 1
        out = np.empty((len(variables), width), np.float32)
        at = 0
        for i in range(start, stop):
            np.sign(variables[:, i : i + 1] - variables[:, i + 1 :], out=out[:, at : at + n - 1 - i], casting="unsafe")
            at += n - 1 - i
        yield out
        start = stop


def _with_gaps(method: str, min_periods: int) -> str:
    """The correlation over the observations that both variables have, as a formula."""
    there = "not isnan(x) and not isnan(y)"
    n = f"count({there})"
    x, y = (f"sum(if({there}, {side}, 0))" for side in "xy")
    xy, xx, yy = (f"sum(if({there}, {a} * {b}, 0))" for a, b in ("xy", "xx", "yy"))
    if method == "pearson":
        xy, xx, yy = f"({xy} - {x} * {y} / {n})", f"({xx} - {x}^2 / {n})", f"({yy} - {y}^2 / {n})"
    none = f"{n} < {max(min_periods, 1)}"
    if method == "pearson":
        # Variables that are constant where both are known vary by what is rounded alone.
        ends = [[f"{end}(if({there}, {side}, {start}inf))" for end, start in (("max", "-"), ("min", ""))] for side in "xy"]
        none = " or ".join([none, *(f"{most} == {least}" for most, least in ends)])
    return f"if({none}, inf - inf, {xy} / sqrt({xx} * {yy}))"


def _like(data: Any, matrix: np.ndarray, names: list[str] | None) -> Any:
    """A square matrix in the caller's kind of table."""
    module = type(data).__module__.split(".")[0]
    if module == "pandas":
        import pandas

        return pandas.DataFrame(matrix, index=data.columns, columns=data.columns)
    if module == "polars" and names is not None:
        import polars

        return polars.DataFrame(dict(zip(names, matrix.T, strict=True)))
    return matrix

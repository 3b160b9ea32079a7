"""scikit-learn estimators over exact neighbours: brute force with nothing approximate, and without the matrix.

This module needs scikit-learn and SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.metrics import DistanceMetric
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data


from .lazy import pairs

__all__ = ["KNeighborsTransformer", "NearestNeighbors"]

_NAMES = {"l1": "cityblock", "l2": "euclidean", "manhattan": "cityblock"}


def _name(metric: Any) -> Any:
    """Our name of a metric, also of an object of scikit-learn's that has no options."""
    if isinstance(metric, DistanceMetric):
        kind = type(metric).__name__
        name = kind.removesuffix("64").removesuffix("32").removesuffix("Distance").lower()
        if _NAMES.get(name, name) in _WITHOUT_OPTIONS:
            return _NAMES.get(name, name)
        raise TypeError(f"metric: a {kind}\n  try: its name, with metric_params")
    return _NAMES.get(metric, metric) if isinstance(metric, str) else metric


_WITHOUT_OPTIONS = "euclidean cityblock chebyshev hamming canberra braycurtis haversine jaccard dice rogerstanimoto russellrao".split()


class _Neighbors(BaseEstimator):
    """What both estimators share: the fitted rows and the questions asked of them."""

    _parameter_constraints: dict[str, Any] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [str, callable, DistanceMetric],
        "p": [Interval(Real, 0, None, closed="right")],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Any:
        """Keeps the rows of ``X``; ``y`` is ignored."""
        X = validate_data(self, X, dtype=(np.float64, np.float32), order="C", accept_sparse=False)
        self._fit_X = X
        self.n_samples_fit_ = X.shape[0]
        self.effective_metric_: Any = _name(self.metric)
        self.effective_metric_params_ = dict(self.metric_params or {})
        if self.effective_metric_ == "minkowski":
            self.effective_metric_params_.setdefault("p", self.p)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fit_X")

    def _question(self, X: Any, beside: dict[str, Any] | None = None) -> Any:
        """The question about the rows of ``X``, with numbers ``beside`` them."""
        check_is_fitted(self)
        own = X is None
        if not own:
            X = validate_data(self, X, dtype=(np.float64, np.float32), order="C", reset=False)
            if X.dtype != self._fit_X.dtype:
                X = X.astype(np.float64)
        options = self.effective_metric_params_
        if own:
            question = pairs(self._fit_X, attributes=beside)
        else:
            question = pairs(X, self._fit_X, attributes=beside and (beside, None))
        return question.pair(self.effective_metric_, **options)

    def _threads(self) -> int:
        return max(int(self.n_jobs), 0) if self.n_jobs is not None else 0

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest fitted rows of every row of ``X`` (of the fitted rows themselves, without the row itself).

        Returns ``distances, indices``, n × k, nearest first, ties by index; or the indices alone.
        """
        question = self._question(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if isinstance(k, bool) or not isinstance(k, Integral):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        most = self.n_samples_fit_ - (1 if X is None else 0)
        if k > most:
            n = self.n_samples_fit_ if X is None else len(question._x[0])
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {most}, n_samples = {n}"
            )
        found = question.nearest(int(k), largest=False).run(threads=self._threads())
        indices = found.indices.astype(np.intp, copy=False)
        return (found.distances, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The neighbours as a CSR matrix of ones (``"connectivity"``) or of distances (``"distance"``)."""
        _check_mode(mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        n, k = indices.shape
        data = distances.ravel() if mode == "distance" else np.ones(n * k)
        return csr_matrix((data, indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, self.n_samples_fit_))

    def _within(self, X: Any, radius: Any, sort: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row pointers, indices and distances of all fitted rows within ``radius``, one for all or one for each row."""
        each = isinstance(radius, (list, tuple, np.ndarray)) and np.ndim(radius) == 1
        question = self._question(X, {"radius": radius} if each else None)
        if not each and (not isinstance(radius, Real) or radius < 0):
            raise ValueError(f"Expected radius >= 0. Got {radius}")
        limit = "x.radius" if each else f"{float(radius)!r}"
        if X is None:
            question = question.domain("ordered")
        found = question.join(f"value <= {limit}", "value").run(threads=self._threads())
        n = len(question._x[0])
        starts = np.searchsorted(found.i, np.arange(n + 1))
        order = np.lexsort((found.values, found.i)) if sort else slice(None)
        return starts, found.j[order], found.values[order]

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """All fitted rows within ``radius`` (one for all, or one for each row) of every row of ``X``: arrays of arrays."""
        check_is_fitted(self)
        radius = self.radius if radius is None else radius
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        starts, indices, distances = self._within(X, radius, sort_results)
        parts = [_ragged(indices.astype(np.intp), starts)]
        return (_ragged(distances, starts), parts[0]) if return_distance else parts[0]

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = False
    ) -> Any:
        """The rows within ``radius`` as a CSR matrix."""
        check_is_fitted(self)
        _check_mode(mode)
        radius = self.radius if radius is None else radius
        starts, indices, distances = self._within(X, radius, sort_results)
        data = distances if mode == "distance" else np.ones(len(indices))
        return csr_matrix((data, indices, starts), shape=(len(starts) - 1, self.n_samples_fit_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead')


def _ragged(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    out = np.empty(len(starts) - 1, dtype=object)
    for at in range(len(out)):
        out[at] = values[starts[at] : starts[at + 1]]
    return out


class NearestNeighbors(_Neighbors):
    """Exact neighbours with the interface of ``sklearn.neighbors.NearestNeighbors``.

    Parameters
    ----------
    n_neighbors : int
    radius : float
        In the units of the metric.
    metric : str or callable
        A name of :func:`zipfold.metrics`, a formula, or a function that traces.
    p : float
        Of ``minkowski``.
    metric_params : dict, optional
    n_jobs : int, optional
        Threads; None and −1 are all.
    """

    _parameter_constraints = {**_Neighbors._parameter_constraints, "radius": [Interval(Real, 0, None, closed="both"), None]}

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        metric: str | Callable[..., Any] = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs


class KNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Neighbors):
    """Rows to the graph of their neighbours, for a step of a pipeline that takes ``metric="precomputed"``."""

    _parameter_constraints = {**_Neighbors._parameter_constraints, "mode": [str]}

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        metric: str | Callable[..., Any] = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.mode = mode
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> KNeighborsTransformer:
        """Keeps the rows of ``X``; ``y`` is ignored."""
        super().fit(X, y)
        self._n_features_out = self.n_samples_fit_
        return self

    def transform(self, X: Any) -> Any:
        """The graph from the rows of ``X`` to the fitted rows, each with one neighbour more for itself when by distance."""
        check_is_fitted(self)
        more = 1 if self.mode == "distance" else 0
        k = min(self.n_neighbors + more, self.n_samples_fit_)
        return self.kneighbors_graph(X, n_neighbors=k, mode=self.mode)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """:meth:`fit`, then :meth:`transform` of the same rows."""
        return self.fit(X).transform(X)

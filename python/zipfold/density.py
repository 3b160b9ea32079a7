"""Kernel density with the interface of ``sklearn.neighbors.KernelDensity``; exact, whatever the bandwidth.

This module needs scikit-learn and SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .lazy import fold, pairs

__all__ = ["KernelDensity"]

#: Logarithms of kernels of unbounded reach, values of those that end at ``h``; ``r`` stands for the distance.
_LOGARITHMS = {"gaussian": "-({r})^2 / (2 * h^2)", "exponential": "-({r}) / h"}
_VALUES = {
    "tophat": "if({r} < h, 1, 0)",
    "epanechnikov": "if({r} < h, 1 - ({r})^2 / h^2, 0)",
    "linear": "if({r} < h, 1 - {r} / h, 0)",
    "cosine": "if({r} < h, cos(pi / 2 * {r} / h), 0)",
}


class KernelDensity(BaseEstimator):
    """Kernel density estimation.

    Parameters
    ----------
    bandwidth : float, "scott" or "silverman"
        In the units of the rows.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}
    metric : str or callable
        The normalisation is that of the Euclidean metric, as in scikit-learn.
    metric_params : dict, optional
    n_jobs : int, optional
        Threads; None and −1 are all.
    """

    _parameter_constraints: dict[str, Any] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"scott", "silverman"})],
        "kernel": [StrOptions({*_LOGARITHMS, *_VALUES})],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        bandwidth: float | str = 1.0,
        kernel: str = "gaussian",
        metric: str | Callable[..., Any] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelDensity:
        """Keeps the rows of ``X`` and their weights; ``y`` is ignored."""
        X = validate_data(self, X, dtype=np.float64, order="C")
        n, d = X.shape
        factors = {"scott": n ** (-1 / (d + 4)), "silverman": (n * (d + 2) / 4) ** (-1 / (d + 4))}
        self.bandwidth_ = factors[self.bandwidth] if isinstance(self.bandwidth, str) else self.bandwidth
        self._weights = None
        if sample_weight is not None:
            self._weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._rows = X
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """The logarithm of the density at every row of ``X``: a float64 array."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        question = pairs(X, self._rows).pair(self.metric, **(self.metric_params or {}))
        spec = question.problem["pair"]
        distance = f"({spec.get('formula') or spec['metric'] + '(x, y)'})"
        params = {**spec["params"], "h": float(self.bandwidth_)}
        total = float(len(self._rows) if self._weights is None else self._weights.sum())
        threads = max(int(self.n_jobs or 0), 0)
        log_sum = self._log_sum(pairs(X, self._rows), distance, params, threads)
        return log_sum - np.log(total) + _log_norm(self.kernel, self._rows.shape[1], float(self.bandwidth_))

    def _log_sum(self, question: Any, distance: str, params: dict[str, Any], threads: int) -> np.ndarray:
        if self.kernel in _LOGARITHMS:
            question = question.pair(_LOGARITHMS[self.kernel].format(r=distance), **params)
            if self._weights is None:
                return question.logsumexp().run(threads=threads)
            # Σ w·eᵛ is the weighted mean under the softmax times Σ eᵛ: no term overflows or vanishes.
            folds = (fold.logsumexp(), fold.softmax(weights=self._weights))
            logs, means = question.fold(*folds).run(threads=threads)
            with np.errstate(divide="ignore"):
                return logs + np.log(means)
        question = question.pair(_VALUES[self.kernel].format(r=distance), **params)
        with np.errstate(divide="ignore"):
            return np.log(question.sum(weights=self._weights).run(threads=threads))

    def score(self, X: Any, y: Any = None) -> float:
        """The sum of :meth:`score_samples`."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Random rows of the density (gaussian and tophat kernels)."""
        check_is_fitted(self)
        if self.kernel not in ("gaussian", "tophat"):
            raise NotImplementedError(f"sampling a kernel '{self.kernel}'\n  try: kernel='gaussian'")
        draw = check_random_state(random_state)
        share = None if self._weights is None else self._weights / self._weights.sum()
        rows = self._rows[draw.choice(len(self._rows), n_samples, p=share)]
        d = rows.shape[1]
        step = draw.normal(size=rows.shape)
        if self.kernel == "tophat":
            length = np.sqrt((step**2).sum(axis=1, keepdims=True))
            step = step / length * draw.uniform(size=(n_samples, 1)) ** (1 / d)
        return rows + self.bandwidth_ * step

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rows")


def _log_ball(d: int) -> float:
    """ln of the volume of the unit ball in d dimensions."""
    return 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1)


def _log_sphere(d: int) -> float:
    """ln of the area of the unit sphere in d + 1 dimensions."""
    return np.log(2 * np.pi) + _log_ball(d - 1)


def _log_norm(kernel: str, d: int, h: float) -> float:
    """ln of what makes the integral of the kernel 1."""
    factors: dict[str, Callable[[], float]] = {
        "gaussian": lambda: 0.5 * d * np.log(2 * np.pi),
        "tophat": lambda: _log_ball(d),
        "epanechnikov": lambda: _log_ball(d) + np.log(2 / (d + 2)),
        "exponential": lambda: _log_sphere(d - 1) + gammaln(d),
        "linear": lambda: _log_ball(d) - np.log(d + 1),
        "cosine": lambda: _log_sphere(d - 1) + np.log(_cosine_moment(d)),
    }
    return float(-factors[kernel]() - d * np.log(h))


def _cosine_moment(d: int) -> float:
    """The integral of r^(d−1) cos(πr/2) over 0…1, by parts."""
    total, term = 0.0, 2 / np.pi
    for k in range(1, d + 1, 2):
        total += term
        term *= -(d - k) * (d - k - 1) * (2 / np.pi) ** 2
    return total

"""Variograms of values at places."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import array, as_json, finite, finites, names_of, numbers, whole
from .errors import InputError
from .patterns import placed
from .remote import place
from .results import Reported, Same, _need, reported
from .settings import check_how, given, output_paths
from .tables import is_name, is_table, with_numbers

__all__ = ["FittedModel", "LagCurve", "LagDirection", "Variograms", "variogram"]


@dataclasses.dataclass(frozen=True, eq=False)
class FittedModel(Same):
    """A ``model`` that was fitted: ``nugget`` + ``sill`` · s(h / ``range``). ``values`` are its values at the mean distances,
    ``squares`` the weighted sum of squares that is left. ``is_settled`` says that the values reach a sill within the lags."""

    model: str
    nugget: float
    sill: float
    range: float
    practical_range: float
    squares: float
    is_settled: bool
    values: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class LagCurve(Same):
    """An estimator by lag: its ``name``, its ``values`` (NaN without pairs) and the ``models`` that were fitted."""

    name: str
    values: np.ndarray
    models: list[FittedModel]


@dataclasses.dataclass(frozen=True, eq=False)
class LagDirection(Same):
    """The pairs of a direction by lag: their ``counts``, their mean ``distances``, and ``curves``; all pairs where ``azimuth``
    is None."""

    azimuth: float | None
    counts: np.ndarray
    distances: np.ndarray
    curves: list[LagCurve]

    def __getitem__(self, name: str) -> LagCurve:
        for curve in self.curves:
            if curve.name == name:
                return curve
        have = ", ".join(repr(curve.name) for curve in self.curves)
        raise KeyError(f"expected one of {have}, got {name!r}")


@dataclasses.dataclass(frozen=True, eq=False)
class Variograms(Reported):
    """Variograms: the ``edges`` of the lags and the ``directions``; ``variances`` of the columns of values, over n.

    ``counts``, ``distances``, ``values`` and ``models`` are those of the first curve of the first direction.
    """

    edges: np.ndarray
    directions: list[LagDirection]
    variances: np.ndarray
    rows: int
    left_out: int
    pairs: int

    @property
    def counts(self) -> np.ndarray:
        """Pairs by lag, each once."""
        return self.directions[0].counts

    @property
    def distances(self) -> np.ndarray:
        """The mean distance of the pairs of each lag."""
        return self.directions[0].distances

    @property
    def values(self) -> np.ndarray:
        """The first estimator by lag."""
        return self.directions[0].curves[0].values

    @property
    def models(self) -> list[FittedModel]:
        """The models of the first estimator."""
        return self.directions[0].curves[0].models

    def __iter__(self) -> Iterator[LagDirection]:
        return iter(self.directions)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the estimators and their models on matplotlib axes, and returns the axes."""
        ax = ax if ax is not None else _need("matplotlib.pyplot").gca()
        for direction in self.directions:
            where = "" if direction.azimuth is None else f" {direction.azimuth:g}°"
            for curve in direction.curves:
                drawn = ax.plot(direction.distances, curve.values, **({"marker": "o", "ls": "", "label": curve.name + where} | style))
                for model in curve.models:
                    ax.plot(direction.distances, model.values, color=drawn[0].get_color(), label=model.model + where)
        ax.set(xlabel="distance", ylabel="semivariance", xlim=(0, None))
        ax.legend()
        return ax


def _words(value: Any) -> list[str]:
    return [str(value)] if is_name(value) else [str(one) for one in value]


def _input(data: Any, value: Any, columns: Sequence[str] | None) -> tuple[str, Any, list[str] | None, list[str]]:
    """The name of the input, its table in memory (None of a file), the columns of positions and those of values."""
    chosen = names_of(columns, "columns")
    if isinstance(data, (str, os.PathLike)):
        return place(data), None, chosen, _words(value)
    if is_name(value) or (isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(one, str) for one in value)):
        names = _words(value)
        return "data", placed(data, chosen, names), chosen, names
    known = placed(data, chosen)
    values = array(value, "value")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != len(known[0]):
        raise InputError(f"value: expected a value for each of {len(known[0])} rows, got the shape {np.shape(value)}")
    both, names = with_numbers(known, numbers(values, "value"), "value")
    return "data", both, chosen if is_table(data) else known[1], names


def variogram(
    data: Any,
    value: Any,
    *,
    columns: Sequence[str] | None = None,
    lags: int | None = None,
    max: float | None = None,
    edges: Sequence[float] | None = None,
    estimator: str | Sequence[str] = "matheron",
    azimuth: float | Sequence[float] = (),
    dip: float | None = None,
    tolerance: float | None = None,
    bandwidth: float | None = None,
    models: str | Sequence[str] = (),
    fit_weights: str | None = None,
    nan: str = "error",
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Variograms of values at places: how unlike two values are, by their distance.

    Parameters
    ----------
    data : array, table or path
        n × d positions, d from 1 to 3; or a table or file of which ``value`` names the column of values.
    value : array, or str, or sequence of two str
        A value for each position, n × 2 for two; or their columns. Two values also have a cross-variogram.
    columns : sequence of str, optional
        The columns of positions; by default x, y and z, but those of values.
    lags, max, edges
        The number of lags (by default 15) up to the largest distance (by default a third of the diagonal of all positions), or their edges.
    estimator : one or more of "matheron", "cressie", "madogram", "covariance"
        What is made of the differences of values.
    azimuth, dip, tolerance, bandwidth
        Directions in degrees, clockwise from the second axis, and how far down they point (0 by default); the largest
        angle of a pair with the direction (22.5 by default), and its largest distance from the line.
    models : one or more of "spherical", "exponential", "gaussian"
        Models that are fitted.
    fit_weights : {"pairs-over-square", "pairs", "equal"}
        What a lag weighs in a fit; by default the first.
    nan : {"error", "skip"}
        Rows without a value are an error, or left out.
    save, overwrite, explain
        Files for the answer: a picture (``.svg``, ``.png``), a page (``.html``), columns (``.csv``, ``.tsv``, ``.npz``, ``.parquet``); replace them; return
        the plan as text, and compute nothing.
    **how
        ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    Variograms
        Sums are exact: the same for any threads.

    Raises
    ------
    ValueError
        For positions and values that are not finite, lags that hold nothing, and fewer than two rows.

    Source: ``crates/zipfold/src/variogram/lags.rs`` says what is summed.

    >>> import zipfold as zf
    >>> found = zf.variogram([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], [0.0, 2.0, 4.0], lags=2, max=3)
    >>> found.counts, found.values
    (array([2, 1], dtype=uint64), array([2., 8.]))
    """
    check_how(how, variogram)
    name, known, chosen, names = _input(data, value, columns)
    angles = [azimuth] if np.ndim(azimuth) == 0 else azimuth
    asked = {
        "data": name,
        "columns": chosen,
        "value": names,
        "lags": None if lags is None else whole(lags, "lags"),
        "max": None if max is None else finite(max, "max"),
        "edges": None if edges is None else finites(edges, "edges"),
        "estimator": _words(estimator),
        "azimuth": [finite(angle, "azimuth") for angle in angles],  # type: ignore[union-attr]
        "dip": None if dip is None else finite(dip, "dip"),
        "tolerance": None if tolerance is None else finite(tolerance, "tolerance"),
        "bandwidth": None if bandwidth is None else finite(bandwidth, "bandwidth"),
        "models": _words(models),
        "fit_weights": fit_weights,
        "nan": nan,
    }
    text = as_json(asked)
    if explain:
        return _zipfold.explain_variogram(text, known, given(**how))
    answer = _zipfold.variogram(text, known, given(**how), output_paths(save), overwrite)
    return reported(Variograms, answer, directions=[_direction(one) for one in answer.pop("directions")])


def _direction(one: dict[str, Any]) -> LagDirection:
    curves = [LagCurve(c["name"], c["values"], [FittedModel(**fit) for fit in c["models"]]) for c in one.pop("curves")]
    return LagDirection(curves=curves, **one)

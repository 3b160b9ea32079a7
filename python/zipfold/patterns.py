"""Patterns of points and of spikes: Ripley's functions, co-occurrence of kinds, correlograms."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import array, as_json, finite, finites, names_of, numbers, truth, whole
from .errors import InputError, RequestError
from .remote import place
from .results import Reported, Same, _need, reported
from .settings import check_how, given, output_paths
from .tables import Known, in_memory, is_name, is_table, marked, names_of_table, rows_in_memory, usual

__all__ = ["Correlograms", "Occurrences", "RipleyCurve", "RipleyFunctions", "cooccurrence", "correlogram", "ripley"]


@dataclasses.dataclass(frozen=True, eq=False)
class RipleyCurve(Same):
    """The functions from the points of a kind to those of another, by their numbers in ``kinds``: ``k`` and ``l`` at the upper edge
    of each bin, ``g`` within it, ``counts`` of ordered pairs; the least and the largest of simulations, empty without them."""

    kinds: tuple[int, int]
    counts: np.ndarray
    k: np.ndarray
    l: np.ndarray  # noqa: E741
    g: np.ndarray
    k_low: np.ndarray
    k_high: np.ndarray
    g_low: np.ndarray
    g_high: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class RipleyFunctions(Reported):
    """Ripley's functions: ``curves`` from each of the ``kinds`` to each, found by their names: ``result["a", "b"]``.

    ``r`` are the distances, ``theory`` K of points without structure. ``k``, ``l``, ``g`` are those of the first curve.
    """

    kinds: list[str]
    sizes: np.ndarray
    window: np.ndarray
    edges: np.ndarray
    theory: np.ndarray
    curves: list[RipleyCurve]
    simulations: int
    pairs: int

    @property
    def r(self) -> np.ndarray:
        """The upper edges of the bins."""
        return self.edges[1:]

    @property
    def k(self) -> np.ndarray:
        """K of the first curve."""
        return self.curves[0].k

    @property
    def l(self) -> np.ndarray:  # noqa: E743
        """L of the first curve."""
        return self.curves[0].l

    @property
    def g(self) -> np.ndarray:
        """The pair correlation of the first curve."""
        return self.curves[0].g

    def __getitem__(self, kinds: tuple[str, str]) -> RipleyCurve:
        for curve in self.curves:
            if isinstance(kinds, tuple) and tuple(self.kinds[kind] for kind in curve.kinds) == tuple(map(str, kinds)):
                return curve
        raise KeyError(f"expected two of {', '.join(map(repr, self.kinds))}, got {kinds!r}")

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws L(r) − r on matplotlib axes, with the envelope of one kind, and returns the axes."""
        ax = ax if ax is not None else _need("matplotlib.pyplot").gca()
        for curve in self.curves:
            name = " → ".join(self.kinds[kind] for kind in curve.kinds)
            ax.plot(self.r, curve.l - self.r, **({"label": name} | style))
        ax.axhline(0, color="0.5", linewidth=1)
        ax.set(xlabel="r", ylabel="L(r) − r")
        ax.legend()
        return ax


@dataclasses.dataclass(frozen=True, eq=False)
class Occurrences(Reported):
    """Which kinds occur together: ``ratios[a, b, k]`` is P(b | a) / P(b) of the pairs in the k-th interval of ``edges``, and
    ``counts`` their number, both ways round."""

    kinds: list[str]
    sizes: np.ndarray
    edges: np.ndarray
    counts: np.ndarray
    ratios: np.ndarray
    pairs: int


@dataclasses.dataclass(frozen=True, eq=False)
class Correlograms(Reported):
    """Correlograms: ``counts[a, b, k]`` pairs of a spike of unit a and one of unit b whose lag, the time of b less that of a, is in
    the k-th bin of ``edges``; ``values`` as they were asked, ``expected`` of units that have nothing to do with each other."""

    units: list[str]
    spikes: np.ndarray
    span: float
    edges: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    expected: np.ndarray
    pairs: int

    @property
    def lags(self) -> np.ndarray:
        """The middles of the bins."""
        return 0.5 * (self.edges[:-1] + self.edges[1:])


def placed(data: Any, columns: list[str] | None, others: Sequence[str] = (), labels: Sequence[str] = ()) -> Known:
    """The columns of positions (by default those called x, y and z), the ``others`` and those of ``labels`` of a table; or the
    positions of an array."""
    if is_table(data):
        own = usual(data, "data", ("x", "y", "z")) if columns is None else columns
        known = names_of_table(data, "data")
        missing = next((one for one in own if one not in known), None)
        if missing is not None:
            raise InputError(f"columns: expected columns of the table, got '{missing}' (columns: {', '.join(known)})\n  try: columns={known[:2]}")
        return in_memory(data, "data", [*own, *others, *labels], labels)
    if columns is not None:
        raise RequestError("columns: expected a table or a file, got an array, whose columns have no names\n  try: leave columns out")
    return rows_in_memory(data, "data", "x")


def _table(data: Any, columns: Sequence[str] | None, labels: Any, option: str) -> tuple[str, Any, list[str] | None, str | None]:
    """The name of a table, the table itself where it is in memory, its columns of positions, and its column of labels."""
    chosen, name = names_of(columns, "columns"), str(labels) if is_name(labels) else None
    if isinstance(data, (str, os.PathLike)):
        return place(data), None, chosen, None if labels is None else str(labels)
    known = placed(data, chosen, labels=[] if name is None else [name])
    chosen = chosen if is_table(data) else known[1]
    if name is None and labels is not None:
        known, name = marked(known, labels, "kind", option)
    return "data", known, chosen, name


def ripley(
    data: Any,
    *,
    by: Any = None,
    columns: Sequence[str] | None = None,
    window: Sequence[float] | None = None,
    max: float | None = None,
    bins: int | None = None,
    correction: str = "translation",
    simulations: int = 0,
    seed: int | None = None,
    null: str | None = None,
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Ripley's functions of points in a window: K, L and the pair correlation g.

    Parameters
    ----------
    data : array, table or path
        n × d positions, d from 1 to 3; or a table or file.
    by : sequence or str, optional
        A kind for each point, or the column of kinds: functions from each kind to each other one.
    columns : sequence of str, optional
        The columns of positions of a table; by default x, y and z.
    window : sequence of float, optional
        The least and the largest coordinate of each axis; by default those of the points.
    max, bins
        The largest distance (by default a quarter of the shortest side of the window), and the number of distances (by default 50).
    correction : {"none", "border", "translation", "isotropic", "periodic"}
        How the edge of the window is accounted for.
    simulations, seed, null
        How many simulations without structure the envelopes are of, and their seed (0 by default); ``"points"`` at random (by
        default), or the ``"labels"`` of the points.
    save, overwrite, explain
        Files for the answer: a picture (``.svg``, ``.png``), a page (``.html``), rows (``.csv``, ``.tsv``, ``.npz``, ``.parquet``); replace them; return the
        plan as text, and count nothing.
    **how
        ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    RipleyFunctions

    Raises
    ------
    ValueError
        For points that are not finite or outside of the window, and distances that the correction does not allow.

    Source: ``crates/zipfold/src/pattern/ripley.rs`` says how pairs weigh.

    >>> import zipfold as zf
    >>> found = zf.ripley([[1.0, 1.0], [2.0, 1.0], [9.0, 9.0]], window=[0, 10, 0, 10], max=2, bins=2, correction="none")
    >>> found.curves[0].counts, found.k.round(3)
    (array([0, 2], dtype=uint64), array([ 0.   , 33.333]))
    """
    check_how(how, ripley)
    name, known, chosen, kinds = _table(data, columns, by, "by")
    asked = {
        "data": name,
        "columns": chosen,
        "by": kinds,
        "window": None if window is None else finites(window, "window"),
        "max": None if max is None else finite(max, "max"),
        "bins": None if bins is None else whole(bins, "bins"),
        "correction": correction,
        "simulations": whole(simulations, "simulations"),
        "seed": None if seed is None else whole(seed, "seed"),
        "null": null,
    }
    text = as_json(asked)
    if explain:
        return _zipfold.explain_ripley(text, known, given(**how))
    answer = _zipfold.ripley(text, known, given(**how), output_paths(save), overwrite)
    curves = [RipleyCurve(tuple(one.pop("kinds")), **one) for one in answer.pop("curves")]
    return reported(RipleyFunctions, answer, curves=curves)


def cooccurrence(
    data: Any,
    labels: Any,
    *,
    columns: Sequence[str] | None = None,
    max: float | None = None,
    bins: int | None = None,
    edges: Sequence[float] | None = None,
    cumulative: bool = False,
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Which kinds of points occur together, as ``squidpy.gr.co_occurrence``: P(kind | condition) / P(kind) by distance.

    Parameters
    ----------
    data : array, table or path
        n × d positions, d from 1 to 3; or a table or file.
    labels : sequence or str
        A kind for each point, or the column of kinds.
    columns : sequence of str, optional
        The columns of positions of a table; by default x, y and z.
    max, bins, edges
        The largest distance (by default half of the diagonal of all positions) and the number of intervals (by default 50), or their edges.
    cumulative : bool
        Count all pairs up to the end of an interval, as squidpy does since 2024; from the first edge on.
    save, overwrite, explain
        Files for the answer: a picture (``.svg``, ``.png``), a page (``.html``), rows (``.csv``, ``.tsv``, ``.npz``, ``.parquet``); replace them; return the
        plan as text, and count nothing.
    **how
        ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    Occurrences

    Raises
    ------
    ValueError
        For one kind, points without a kind, and positions that are not finite.

    Source: ``crates/zipfold/src/pattern/cooccurrence.rs`` says what is counted.

    >>> import zipfold as zf
    >>> zf.cooccurrence([[0.0, 0], [1, 0], [9, 0], [9, 1]], ["a", "a", "b", "b"], max=2, bins=1).ratios[:, :, 0]
    array([[2., 0.],
           [0., 2.]])
    """
    check_how(how, cooccurrence)
    name, known, chosen, kinds = _table(data, columns, labels, "labels")
    asked = {
        "data": name,
        "columns": chosen,
        "labels": kinds,
        "max": None if max is None else finite(max, "max"),
        "bins": None if bins is None else whole(bins, "bins"),
        "edges": None if edges is None else finites(edges, "edges"),
        "cumulative": truth(cumulative, "cumulative"),
    }
    text = as_json(asked)
    if explain:
        return _zipfold.explain_cooccurrence(text, known, given(**how))
    return reported(Occurrences, _zipfold.cooccurrence(text, known, given(**how), output_paths(save), overwrite))


def correlogram(
    times: Any,
    units: Any = None,
    *,
    single: bool = False,
    time: str | None = None,
    max: float = 0.1,
    bins: int = 101,
    normalise: str = "count",
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Auto and cross correlograms of spike trains, of all pairs of units at once.

    Parameters
    ----------
    times : array, table or path
        A time for each spike, in any order; or a table or file, of which ``time`` names the column.
    units : sequence or str, optional
        A unit for each spike, or their column, by default ``"unit"``; an array of times without units is of one unit.
    single : bool
        All spikes are of one unit.
    time : str, optional
        The column of times of a table, by default ``"time"``.
    max, bins
        The largest lag, and the number of bins from its negative to it; an odd number has lag 0 in the middle of one.
    normalise : {"count", "rate", "probability"}
        Pairs of spikes; spikes per unit of time around a spike of the reference; spikes in the bin of a spike of the reference.
    save, overwrite, explain
        Files for the answer: a picture (``.svg``, ``.png``), a page (``.html``), rows (``.csv``, ``.tsv``, ``.npz``, ``.parquet``); replace them; return the
        plan as text, and count nothing.
    **how
        ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    Correlograms

    Raises
    ------
    ValueError
        For times that are not finite, spikes without a unit, and lags that are none.

    Source: ``crates/zipfold/src/correlogram.rs`` says what is counted.

    >>> import zipfold as zf
    >>> zf.correlogram([0.0, 0.9, 5.0, 6.1], ["a", "b", "a", "b"], max=1.5, bins=3).counts[0, 1]
    array([0, 0, 2], dtype=uint64)
    """
    check_how(how, correlogram)
    known: Any = None
    name, column, marks = "times", "time" if time is None else str(time), None if units is None else str(units)
    single = truth(single, "single")
    if isinstance(times, (str, os.PathLike)):
        name = place(times)
    elif is_table(times):
        named = units is None or is_name(units)
        label = marks or "unit"
        known = in_memory(times, "times", [column, *([label] if named and not single else [])], [label])
        if not named:
            known, marks = marked(known, units, "unit", "units")
    else:
        if time is not None:
            raise RequestError(f"time: expected a table with this column, got an array of times and {time!r}\n  try: leave out time")
        spikes = array(times, "times")
        if spikes.ndim != 1:
            raise InputError(f"times: expected one time for each spike, got the shape {spikes.shape}")
        known, column = (numbers(spikes, "times").astype(np.float64)[:, None], ["time"], [], []), "time"
        # An array has times alone.
        single = single or units is None
        known, marks = (known, None) if units is None else marked(known, units, "unit", "units")
    asked = {
        "data": name,
        "time": column,
        "units": marks,
        "single": single,
        "max": finite(max, "max"),
        "bins": whole(bins, "bins"),
        "normalise": normalise,
    }
    text = as_json(asked)
    if explain:
        return _zipfold.explain_correlogram(text, known, given(**how))
    return reported(Correlograms, _zipfold.correlogram(text, known, given(**how), output_paths(save), overwrite))

"""Distances of two sets of rows: Hausdorff's and Chamfer's."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import array as array_of
from .arrays import as_json, names_of, number, numbers
from .distances import pair as pair_of
from .errors import RequestError
from .lazy import Pairs
from .remote import place
from .results import Reported, reported
from .settings import given, output_paths

__all__ = ["SetDistances", "chamfer", "hausdorff"]


@dataclasses.dataclass(frozen=True, eq=False)
class SetDistances(Reported):
    """Distances of two sets, or of the two sets of each batch: ``values``, in the order of ``batches``.

    ``forward`` are the distances from the rows of X, ``backward`` those from the rows of Y. Where a distance is that of two rows,
    ``rows`` has the row of X and that of Y (−1 where there are none), ``forward_rows`` and ``backward_rows`` those of a direction.
    """

    values: np.ndarray
    rows: np.ndarray
    forward: np.ndarray | None = None
    forward_rows: np.ndarray | None = None
    backward: np.ndarray | None = None
    backward_rows: np.ndarray | None = None
    batches: list[str] | None = None

    @property
    def value(self) -> float:
        """The only distance."""
        if len(self.values) != 1:
            raise RequestError(f"value: expected one distance, got those of {len(self.values)} batches\n  try: .values")
        return float(self.values[0])

    def __float__(self) -> float:
        return self.value


def hausdorff(
    X: Any,
    Y: Any,
    metric: str | Callable[..., Any] = "euclidean",
    *,
    quantile: float | None = None,
    direction: str = "both",
    batch: str | None = None,
    attributes: Any = None,
    box: Any = None,
    columns: Sequence[str] | None = None,
    nan: str = "error",
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Hausdorff's distance of two sets of rows: how far the row that is farthest from the other set is from it, and which two rows
    are that far apart.

    Parameters
    ----------
    X, Y : arrays, tables or paths
        The rows of the two sets.
    metric : str or function
        The distance: the name of a metric, a formula, or a function of two rows.
    quantile : float, optional
        A quantile of the distances of rows in place of the largest: 0.95 for the 95 % Hausdorff distance.
    direction : {"both", "forward", "backward"}
        From the rows of both sets (the larger of the two), of X, or of Y.
    batch : str, optional
        An attribute or column of labels: the rows of each label are a set of their own in X and in Y. NaN where one is empty.
    attributes : pair of dicts, optional
        Attributes of the rows of X and of Y, as in :func:`zipfold.pairs`.
    box : optional
        A periodic box, as in :meth:`Pairs.periodic`.
    columns : sequence of str, optional
        The coordinates of files.
    nan : {"error", "propagate", "skip"}
        What happens to NaN; ``skip`` leaves out rows that have one.
    save, overwrite, explain
        Files for the distances (``.csv``, ``.tsv``, ``.parquet``, ``.npz``; of batches also ``.svg``, ``.png``) or a page (``.html``); replace
        them; return the plan, and compute nothing.
    **how
        ``threads``, ``memory``, ``device``, ``plan``; parameters of the formula and options of the metric.

    Returns
    -------
    SetDistances

    Raises
    ------
    ValueError
        For a set without rows, for a similarity, and where a row has NaN.

    Source: ``crates/zipfold/src/set_distance.rs`` says what is asked.

    >>> import zipfold as zf
    >>> found = zf.hausdorff([[0.0], [1.0]], [[1.0], [5.0]])
    >>> found.value, found.rows.tolist()
    (4.0, [[1, 1]])
    """
    more = {"direction": direction, "batch": batch, "nan": nan, "quantile": None if quantile is None else number(quantile, "quantile")}
    files = (save, overwrite, explain)
    return _asked("hausdorff", (X, Y), metric, more, (attributes, box, columns), files, how)


def chamfer(
    X: Any,
    Y: Any,
    metric: str | Callable[..., Any] = "euclidean",
    *,
    direction: str = "both",
    batch: str | None = None,
    attributes: Any = None,
    box: Any = None,
    columns: Sequence[str] | None = None,
    nan: str = "error",
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Chamfer's distance of two sets of rows: the mean distance of the rows of X to their nearest in Y, and that of the rows of Y to
    their nearest in X; the sum of both.

    Parameters
    ----------
    X, Y, metric, batch, attributes, box, columns, nan, save, overwrite, explain, how
        As those of :func:`hausdorff`. ``metric="sqeuclidean"`` takes the means of squared distances.
    direction : {"both", "forward", "backward"}
        From the rows of both sets (the sum of the two means), of X, or of Y.

    Returns
    -------
    SetDistances

    Raises
    ------
    ValueError
        As :func:`hausdorff`.

    >>> import zipfold as zf
    >>> found = zf.chamfer([[0.0], [1.0]], [[1.0], [5.0]])
    >>> found.value, float(found.forward[0]), float(found.backward[0])
    (2.5, 0.5, 2.0)
    """
    more = {"direction": direction, "batch": batch, "nan": nan}
    files = (save, overwrite, explain)
    return _asked("chamfer", (X, Y), metric, more, (attributes, box, columns), files, how)


def _asked(
    measure: str, sets: tuple[Any, Any], metric: Any, more: dict[str, Any], about: tuple[Any, Any, Any], files: Any, how: dict[str, Any]
) -> Any:
    run = {key: how.pop(key) for key in ("threads", "memory", "device", "plan") if key in how}
    attributes, box, columns = about
    save, overwrite, explain = files
    in_files = [isinstance(rows, (str, os.PathLike)) for rows in sets]
    asked: dict[str, Any] = {**more, "columns": names_of(columns, "columns"), "x": "X", "y": "Y"}
    known = None
    if all(in_files):
        if callable(metric):
            raise RequestError("metric: expected a name or a formula for files, got a function\n  try: zf.read(path) for the rows")
        named, formula, bound = pair_of(metric, how, (1, 1))
        asked |= {"x": place(sets[0]), "y": place(sets[1]), "metric": named, "formula": formula, "params": bound}
        if box is not None:
            asked["box"] = numbers(array_of(box, "box"), "box").astype(np.float64).ravel().tolist()
    elif any(in_files):
        raise RequestError("expected two files or two tables, got one of each\n  try: zf.read(path) for the file")
    else:
        if columns is not None:
            raise RequestError("columns: expected files, got rows\n  try: X[columns]")
        question = Pairs(*sets, attributes=attributes).pair(metric, **how).nearest(1)
        if box is not None:
            question = question.periodic(box)
            asked["box"] = question.problem["box"]
        asked |= question.problem["pair"]
        known = question._arguments()[:2]
    text = as_json(asked)
    if explain:
        return _zipfold.explain_set_distance((measure, text), known, given(**run))
    paths = output_paths(save)
    return reported(SetDistances, _zipfold.set_distance((measure, text), known, given(**run), paths, overwrite))

"""Matches of catalogues by position, and silhouettes of labelled rows."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import as_json, finite, names_of, truth, whole
from .remote import place
from .results import Reported, reported
from .settings import check_how, given, output_paths
from .tables import arrow_like, chosen, columns_read, formulas_of, in_memory, is_name, is_table, marked, matches, names_of_sides, rows_in_memory, usual

__all__ = ["Silhouettes", "crossmatch", "silhouette"]


def crossmatch(
    left: Any,
    right: Any,
    radius: float | None = None,
    *,
    columns: Sequence[str] | None = None,
    columns2: Sequence[str] | None = None,
    sky: bool = False,
    find: str = "nearest",
    nearest: int = 1,
    kind: str = "inner",
    select: str | Sequence[str] = (),
    table: bool = False,
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Matches of two catalogues by position, on the sky or in space.

    Parameters
    ----------
    left, right : tables, mappings or paths
        Tables with ``__arrow_c_stream__``, mappings such as ``{"ra": ra, "dec": dec}``, or files.
    radius : float, optional
        The largest separation of a match: arcseconds on the sky, else in the units of the columns.
    columns, columns2, sky
        The columns of positions (of ``right``, by default the same); by default those called ra and dec, else x, y, z, else x, y.
        ``sky=True``: chosen columns are right ascension and declination in degrees.
    find : {"nearest", "all", "mutual"}
        The ``nearest`` rows of ``right`` for each row of ``left``; all within the radius; pairs of rows that are the nearest of
        each other.
    kind : {"inner", "left", "any", "semi", "anti"}
        What becomes of the matches, as in :func:`zipfold.join`.
    select, table
        The columns of a table of matches (``separation`` is one), in the library of ``left``; ``table=True`` gives all.
    save, overwrite, explain
        Files for the rows, written while they are found; replace them; return the plan as text, and match nothing.
    **how
        ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    Matches
        Rows ``i`` and ``j``, and their separations as ``values``; a table where ``select`` or ``table`` ask for it.

    Raises
    ------
    ValueError
        For angles out of range and positions that are none, with their row.

    Source: ``crates/zipfold/src/crossmatch.rs`` says how matches are found.

    >>> import zipfold as zf
    >>> a, b = {"ra": [10.0, 200.0], "dec": [0.0, 45.0]}, {"ra": [80.0, 10.0], "dec": [45.0, 0.0005]}
    >>> found = zf.crossmatch(a, b, radius=2)
    >>> found.i, found.j, found.values.round(6)
    (array([0]), array([1]), array([1.8]))
    """
    check_how(how, crossmatch)
    paths = output_paths(save)
    file = [isinstance(t, (str, os.PathLike)) for t in (left, right)]
    asked = {
        "x": place(left) if file[0] else "left",
        "y": place(right) if file[1] else "right",
        "columns": names_of(columns, "columns"),
        "columns2": names_of(columns2, "columns2"),
        "sky": truth(sky, "sky"),
        "radius": None if radius is None else finite(radius, "radius"),
        "find": find,
        "nearest": whole(nearest, "nearest"),
        "join_kind": kind,
        "select": [select] if isinstance(select, str) else [str(one) for one in select],
    }
    cells = bool(paths) or any(file)
    both = (left, right)
    if cells or table or asked["select"]:
        both = (arrow_like(left, "left"), arrow_like(right, "right"))
    used = [None, None] if cells else _read(both, asked)
    known = [None if of else in_memory(t, n, u) for t, n, u, of in zip(both, ("left", "right"), used, file, strict=True)]
    text = as_json(asked)
    if explain:
        return _zipfold.explain_crossmatch(text, known, given(**how))
    out = _zipfold.crossmatch(text, known, given(**how), paths, overwrite)
    if paths:
        return out["rows"]
    if "cells" in out:
        return out["cells"]
    if table or asked["select"]:
        return chosen(both, out)
    i = out["i"].astype(np.int64)
    return matches(out, both, True) if kind in ("inner", "left", "any") else i


def _read(tables: tuple[Any, Any], asked: dict[str, Any]) -> list[Any]:
    """The columns of both tables that a match reads: positions, and what formulas of the answer name."""
    sides = names_of_sides(tables)
    positions = (asked["columns"], asked["columns2"] or asked["columns"])
    formulas = columns_read(formulas_of(asked["select"], sides), sides)
    usual_ones = [usual(one, name, ("ra", "dec", "x", "y", "z")) for one, name in zip(tables, ("left", "right"), strict=True)]
    return [{*(chosen_ones or of_table), *named} for chosen_ones, of_table, named in zip(positions, usual_ones, formulas, strict=True)]


@dataclasses.dataclass(frozen=True, eq=False)
class Silhouettes(Reported):
    """Silhouettes of labelled rows: ``values`` by row, their ``mean``, and ``by_group`` in the order of ``groups``.

    ``own`` and ``next`` are the mean distances of each row to its own group and to the next one, which ``neighbours`` numbers;
    ``codes`` numbers the group of each row.
    """

    mean: float
    values: np.ndarray
    own: np.ndarray
    next: np.ndarray
    codes: np.ndarray
    neighbours: np.ndarray
    groups: list[str]
    by_group: np.ndarray


def silhouette(
    data: Any,
    labels: Any,
    *,
    columns: Sequence[str] | None = None,
    metric: str | None = None,
    formula: str | None = None,
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Silhouettes of labelled rows, as ``sklearn.metrics.silhouette_samples``: how much nearer a row is to its own group than to
    the next one, from −1 to 1.

    Parameters
    ----------
    data : array, table or path
        n × d rows; or a table or file of which ``labels`` names the column of labels.
    labels : sequence or str
        A label for each row, or the column of labels.
    columns : sequence of str, optional
        The coordinates of a table; by default all columns of numbers but the labels.
    metric, formula : str, optional
        The distance; Euclidean by default.
    save, overwrite, explain
        Files for a row each (``.csv``, ``.tsv``, ``.parquet``, ``.npz``); replace them; return the plan, and compute nothing.
    **how
        ``threads``, ``memory``, ``device``, ``progress``; options of the metric.

    Returns
    -------
    Silhouettes

    Raises
    ------
    ValueError
        For one group, as many groups as rows, and rows without a label.

    Source: ``crates/zipfold/src/silhouette.rs`` says what is summed.

    >>> import zipfold as zf
    >>> zf.silhouette([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]).values.round(4)
    array([0.8182, 0.7778, 0.7778, 0.8182])
    """
    run = {key: how.pop(key) for key in ("threads", "memory", "device", "progress", "plan") if key in how}
    asked: dict[str, Any] = {
        "data": "data",
        "labels": str(labels),
        "columns": names_of(columns, "columns"),
        "metric": metric,
        "formula": formula,
        "params": how,
    }
    known: Any = None
    if isinstance(data, (str, os.PathLike)):
        asked["data"] = place(data)
    elif is_name(labels):
        known = in_memory(data, "data", None if columns is None else [*asked["columns"], asked["labels"]], [asked["labels"]])
    else:
        known = in_memory(data, "data", asked["columns"]) if is_table(data) else rows_in_memory(data, "data", "c")
        known, asked["labels"] = marked(known, labels, "label", "labels")
    text = as_json(asked)
    if explain:
        return _zipfold.explain_silhouette(text, known, given(**run))
    return reported(Silhouettes, _zipfold.silhouette(text, known, given(**run), output_paths(save), overwrite))

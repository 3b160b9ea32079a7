"""Joins of tables on any condition: pandas, Polars, DuckDB, pyarrow, through the Arrow PyCapsule interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import arrow_columns
from .errors import ArrayTypeError, InputError, RequestError
from .lazy import Pairs, pairs

__all__ = ["join"]


def join(
    left: Any,
    right: Any = None,
    where: str | Callable[..., Any] = "",
    *,
    value: str | Callable[..., Any] | None = None,
    how: str = "inner",
    suffixes: tuple[str, str] = ("_x", "_y"),
    rows: bool = False,
    **run: Any,
) -> Any:
    """The pairs of rows of two tables where a condition holds.

    Parameters
    ----------
    left, right : tables
        Anything with ``__arrow_c_stream__``: DataFrames of pandas and Polars, relations of DuckDB, Arrow tables.
        Without ``right`` the pairs i < j of ``left`` (both orders where the condition is not symmetric).
    where : str or callable
        A formula of columns, ``"abs(x.time - y.time) < 0.5 and x.origin == y.origin"``, or a function
        ``lambda x, y: abs(x.time - y.time) < 0.5``. Text columns compare with ``==`` and ``!=``, times count in
        seconds since 1970, and nulls match nothing.
    value : str or callable, optional
        Also kept for each match, as column ``value``.
    how : {"inner", "semi", "anti"}
        Pairs; rows of ``left`` with a match; rows of ``left`` without one.
    suffixes : tuple of two str
        What is added to the names that both tables have.
    rows : bool
        Give the numbers of the rows (:class:`zipfold.Matches`, or an array) instead of a table.
    **run
        ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    table in the library of ``left``, with the columns of both (suffixed where both have them)

    Raises
    ------
    ValueError
        For no condition, one that is a number, and columns that there are not.
    TypeError
        For what is no table, and columns of other kinds than numbers, times and text.

    >>> import pandas as pd, zipfold as zf
    >>> a = pd.DataFrame({"t": [0.0, 5.0], "who": ["ann", "bob"]})
    >>> b = pd.DataFrame({"t": [0.1, 9.0], "who": ["ann", "ann"]})
    >>> zf.join(a, b, "abs(x.t - y.t) < 1 and x.who == y.who")[["t_x", "t_y"]].values.tolist()
    [[0.0, 0.1]]
    """
    if not where:
        raise RequestError("where: no condition\n  try: where='abs(x.a - y.a) < 1'")
    question = _question(left, right).nan("propagate").select(where, value, join=how)
    found = question.run(**run)
    if rows:
        return found
    if how != "inner":
        return _take(left, found)
    return _beside(left, left if right is None else right, found, suffixes)


def _question(left: Any, right: Any) -> Pairs:
    """The tables as numbers; equal words have equal numbers in all columns of both."""
    words: dict[str, int] = {}
    names, a = _columns(left, "left", words)
    if right is None:
        return pairs(a, names=names)
    others, b = _columns(right, "right", words)
    return pairs(a, b, names=(names, others))


def _columns(table: Any, name: str, words: dict[str, int]) -> tuple[list[str], np.ndarray]:
    if not hasattr(table, "__arrow_c_stream__"):
        kind = type(table).__name__
        raise ArrayTypeError(f"{name}: a table is wanted, here is a {kind}\n  try: pandas.DataFrame(…), or zf.pairs")
    columns = arrow_columns(table, name)
    if not columns:
        raise InputError(f"{name}: a table without columns")
    out = []
    for _, values, known in columns:
        if known is not None:
            places = np.array([words.setdefault(word, len(words)) for word in known] or [0], dtype=np.float64)
            there = ~np.isnan(values)
            values = np.where(there, places[np.where(there, values, 0).astype(np.int64)], np.nan)
        out.append(values)
    return [column[0] for column in columns], np.ascontiguousarray(np.column_stack(out))


def _library(table: Any) -> str:
    return type(table).__module__.split(".")[0].lstrip("_")


def _arrow(table: Any) -> Any:
    import pyarrow

    return pyarrow.table(table)


def _take(table: Any, at: np.ndarray) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[at].reset_index(drop=True)
    if _library(table) == "polars":
        return table[at]
    return _arrow(table).take(at)


def _beside(left: Any, right: Any, found: Any, suffixes: tuple[str, str]) -> Any:
    a, b = _take(left, found.i), _take(right, found.j)
    names = [[str(c) for c in (t.column_names if hasattr(t, "column_names") else t.columns)] for t in (a, b)]
    both = set(names[0]) & set(names[1])
    renamed = [[c + s if c in both else c for c in n] for n, s in zip(names, suffixes, strict=True)]
    if hasattr(a, "iloc"):
        import pandas

        a.columns, b.columns = renamed
        out = pandas.concat([a, b], axis=1)
        return out if found.values is None else out.assign(value=found.values)
    if _library(a) == "polars":
        import polars

        a.columns, b.columns = renamed
        extra = [] if found.values is None else [polars.DataFrame({"value": found.values})]
        return polars.concat([a, b, *extra], how="horizontal")
    import pyarrow

    columns = [*a.columns, *b.columns] + ([] if found.values is None else [pyarrow.array(found.values)])
    return pyarrow.table(columns, names=[*renamed[0], *renamed[1]] + ([] if found.values is None else ["value"]))

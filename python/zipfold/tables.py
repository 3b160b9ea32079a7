"""Joins of tables on any condition: pandas, Polars, DuckDB, pyarrow, through the Arrow PyCapsule interface."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import arrow_columns
from .errors import ArrayTypeError, InputError, RequestError
from .lazy import Pairs, pairs
from .settings import check_how
from .trace import trace

__all__ = ["join"]


def join(
    left: Any,
    right: Any = None,
    where: str | Callable[..., Any] = "",
    *,
    value: str | Callable[..., Any] | None = None,
    kind: str = "inner",
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
        ``lambda x, y: abs(x.time - y.time) < 0.5``. Text columns compare with each other, in the order of their
        characters; times count in seconds since 1970. As in SQL nulls match nothing: a comparison with one is neither
        true nor false, and ``not`` of it neither. Columns that the condition does not name may be of any kind. Times that
        seconds in float64 cannot tell apart (nanoseconds since 1970) are refused, with the remedy.
    value : str or callable, optional
        Also kept for each match, as column ``value``.
    kind : {"inner", "semi", "anti"}
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
    check_how(run, join)
    if not where:
        raise RequestError("where: no condition\n  try: where='abs(x.a - y.a) < 1'")
    found = _question(left, right, where, value, kind).run(**run)
    if rows:
        return found
    if kind != "inner":
        return _take(left, found)
    return _beside(left, left if right is None else right, found, suffixes)


def _question(left: Any, right: Any, where: Any, value: Any, kind: str) -> Pairs:
    """The columns that the formulas name as numbers; words have numbers in ascending order in all columns of both."""
    own = _names(left, "left")
    sides = (own, own if right is None else _names(right, "right"))
    formulas = [_text(formula, sides, name) for formula, name in ((where, "where"), (value, "value"))]
    used = [_used(" ; ".join(f or "" for f in formulas), side, names) for side, names in zip("xy", sides, strict=True)]
    if right is None:
        used = [sorted({*used[0], *used[1]})] * 2
    widths = (len(sides[0]), len(sides[1]))
    # Texts of the formulas have a number among the words, and stand in a column that is called as they are written.
    quoted = {text[1:-1] for f in formulas for text in _QUOTED.findall(f or "")}
    formulas = [f and _renumbered(f, used, widths) for f in formulas]
    tables = [_columns(left, "left", used[0])] + ([] if right is None else [_columns(right, "right", used[1])])
    for table in tables:
        table += [(f'"{text}"', np.zeros(len(table[0][1])), [text]) for text in sorted(quoted)]
    words = {word: at for at, word in enumerate(sorted({w for table in tables for _, _, known in table for w in known or ()}))}
    names = [[name for name, _, _ in table] for table in tables]
    texts = [[name for name, _, known in table if known is not None] for table in tables]
    arrays = [np.ascontiguousarray(np.column_stack([_numbers(column, words) for column in table])) for table in tables]
    if right is None:
        question = pairs(arrays[0], names=names[0])._with_texts(texts[0], [])
    else:
        question = pairs(*arrays, names=(names[0], names[1]))._with_texts(texts[0], texts[1])
    return question.nan("propagate").join(formulas[0] or "", formulas[1], kind=kind)


def _names(table: Any, name: str) -> list[str]:
    """Names of the columns."""
    if hasattr(table, "collect") and hasattr(table, "lazy"):
        raise ArrayTypeError(f"{name}: a query that has not run\n  try: {name}.collect()")
    if not hasattr(table, "__arrow_c_stream__"):
        kind = type(table).__name__
        raise ArrayTypeError(f"{name}: a table is wanted, here is a {kind}\n  try: pandas.DataFrame(…), or zf.pairs")
    names = getattr(table, "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    if names is None:
        raise ArrayTypeError(f"{name}: a column, expected a table\n  try: {name}.to_frame()")
    out = [str(column) for column in names]
    if not out:
        raise InputError(f"{name}: a table without columns")
    return out


def _text(formula: Any, names: tuple[list[str], list[str]], what: str) -> str | None:
    """The formula of a function, or the one given."""
    if not callable(formula):
        return formula
    text, bound = trace(formula, {}, (len(names[0]), len(names[1])), names)
    if bound:
        raise RequestError(f"{what}: arrays inside a condition\n  try: a column of the rows")
    return text


#: A row in a formula: alone, with a name, with a number, with a slice.
_ROW = re.compile(r"\b([xy])\b(?:\s*\.\s*([^\W\d]\w*)|\s*\[\s*(\d+)\s*\]|\s*\[\s*(\d*)\s*(:)\s*(\d*)\s*\])?")
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")


def _used(text: str, side: str, names: list[str]) -> list[int]:
    """The columns of one side that a formula reads; all of them where it reads whole rows."""
    out: set[int] = set()
    for found in _ROW.finditer(_QUOTED.sub("''", text)):
        row, name, number = found[1], found[2], found[3]
        if row != side:
            continue
        if found[5]:
            out.update(_sliced(found, len(names)))
            continue
        if not name and not number:
            return list(range(len(names)))
        if name and name not in names:
            near = difflib.get_close_matches(name, names, 1) or names
            have = " or ".join(f"'{one}'" for one in near[:8]) + (f", {len(near) - 8} more" if len(near) > 8 else "")
            raise RequestError(f"no column '{name}' in {side}\n  try: {have}")
        at = names.index(name) if name else int(number)
        if at >= len(names):
            raise RequestError(f"no column {at} in {side}, which has {len(names)}\n  try: numbers from 0")
        out.add(at)
    return sorted(out)


def _sliced(found: re.Match[str], width: int) -> range:
    """The columns of a slice: a row in a formula with some of its columns, of a table of so many."""
    columns = range(int(found[4] or 0), int(found[6] or width))
    if not columns or columns[-1] >= width:
        raise RequestError(f"expected a slice of the {width} columns of {found[1]}, got {found[0]}\n  try: x[0:3] has columns 0, 1 and 2")
    return columns


def _renumbered(text: str, used: list[list[int]], widths: tuple[int, int]) -> str:
    """The formula over the used columns alone."""

    def place(found: re.Match[str]) -> str:
        side = "xy".index(found[1])
        if found[5]:
            # All columns of a slice are used, so they still lie one after another.
            columns = _sliced(found, widths[side])
            first = used[side].index(columns[0])
            return f"{found[1]}[{first}:{first + len(columns)}]"
        if found[3] is None:
            return found[0]
        return f"{found[1]}[{used[side].index(int(found[3]))}]"

    out, at = [], 0
    for quoted in _QUOTED.finditer(text):
        out += [_ROW.sub(place, text[at : quoted.start()]), quoted[0]]
        at = quoted.end()
    return "".join([*out, _ROW.sub(place, text[at:])])


#: A name, numbers, and of text the words that are numbered.
_Column = tuple[str, np.ndarray, "list[str] | None"]


def _columns(table: Any, name: str, used: list[int]) -> list[_Column]:
    """The used columns."""
    if not used:
        # A condition on the other side alone: rows of one number that nobody reads.
        return [("-", np.zeros(len(table)), None)]
    if hasattr(table, "iloc"):
        # Others are not even converted, nor is the index, which would be one more column.
        table, wanted = table.iloc[:, used].reset_index(drop=True), None
    else:
        wanted = used
    columns = arrow_columns(table, name, wanted)
    for column, values, _ in columns:
        if values.ndim > 1:
            raise ArrayTypeError(f"{name}: column '{column}' holds lists\n  try: zf.similarity_join of that column")
    return columns


def _numbers(column: _Column, words: dict[str, int]) -> np.ndarray:
    """The column as numbers, words in ascending order."""
    _, values, known = column
    if known is None:
        return values
    places = np.array([words[word] for word in known] or [0], dtype=np.float64)
    there = ~np.isnan(values)
    return np.where(there, places[np.where(there, values, 0).astype(np.int64)], np.nan)


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

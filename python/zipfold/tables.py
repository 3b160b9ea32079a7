"""Joins of tables on any condition: pandas, Polars, DuckDB, pyarrow, through the Arrow PyCapsule interface."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import arrow_columns, as_json, column, finite, is_missing, names_of, numbers, whole
from .arrays import rows as numeric_rows
from .errors import ArrayTypeError, InputError, RequestError
from .lazy import Pairs, pairs
from .remote import place
from .results import Matches, Tally
from .settings import check_beside, check_how, given, output_paths
from .trace import trace

__all__ = ["join"]


def join(
    left: Any,
    right: Any = None,
    where: str | Callable[..., Any] = "",
    *,
    on: str | Sequence[str] | Mapping[str, str] = (),
    select: str | Sequence[str] = (),
    value: str | Callable[..., Any] | None = None,
    kind: str = "inner",
    nearest: int | None = None,
    metric: str | None = None,
    columns: Sequence[str] | None = None,
    ties: str = "first",
    within_distance: float | None = None,
    suffixes: tuple[str, str] | None = None,
    ids: str | Sequence[str] = (),
    rows: bool = False,
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **run: Any,
) -> Any:
    """The pairs of rows of two tables where a condition holds, keys are equal, or a row is among the nearest.

    Parameters
    ----------
    left, right : tables or paths
        Anything with ``__arrow_c_stream__``: DataFrames of pandas and Polars, relations of DuckDB, Arrow tables. Or files.
        Without ``right`` the pairs i < j of ``left`` (both orders where the condition is not symmetric).
    where : str or callable
        A formula of columns, ``"abs(x.time - y.time) < 0.5 and x.origin == y.origin"``, or a function
        ``lambda x, y: abs(x.time - y.time) < 0.5``. Text columns compare with each other, in the order of their
        characters; times count in seconds since 1970. As in SQL nulls match nothing: a comparison with one is neither
        true nor false, and ``not`` of it neither. Columns that the condition does not name may be of any kind. Times that
        seconds in float64 cannot tell apart (nanoseconds since 1970) are refused, with the remedy.
    on : column, columns or mapping, optional
        Columns with equal values: ``"station"``, ``["station", "day"]``, ``{"code": "station"}`` of left and right. A row
        without a key matches nothing.
    select : str or list of str, optional
        The columns of the answer: ``"x.name, y.time as other, x.time - y.time as gap"``; ``*``, ``x.*``, ``y.*``, ``value``.
        A name that both tables have gets its table before it, ``x.time``; without ``select`` it gets ``suffixes``.
    value : str or callable, optional
        Also kept for each match, as column ``value``; of ``nearest``, what makes rows near.
    kind : {"inner", "left", "any", "semi", "anti"}
        Pairs; also rows of ``left`` without a match, with nulls; the first match of each row of ``left``; rows of ``left`` with
        a match; rows of ``left`` without one.
    nearest : int, optional
        Only so many rows of ``right`` for each row of ``left``: those of the smallest ``value``, or nearest by ``metric``
        (by default Euclidean) of ``columns``. A condition and keys choose among which.
    ties : {"first", "all"}
        Of rows as near as the last: the first ones, or all.
    within_distance : float, optional
        The largest value of a nearest row.
    suffixes, ids
        What is added to the names that both tables have, by default ``("_x", "_y")``. Columns of files whose cells are words, numbers as they are written.
    rows : bool
        Give the numbers of the rows (:class:`zipfold.Matches`, or an array) instead of a table; below 0 where there is none.
    save, overwrite, explain
        Files for the rows, written while they are found (``.csv``, ``.tsv``, ``.parquet``): their number is returned. Replace
        them. Return the plan as text, and join nothing.
    **run
        ``threads``, ``memory``, ``device``, ``progress``.

    Returns
    -------
    table in the library of ``left``, with the columns of both (suffixed where both have them); of paths, a dict of columns

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
    >>> zf.join(a, b, "y.t >= x.t", on="who", nearest=1, value="y.t - x.t", kind="left", select="x.who, y.t as next")
       who  next
    0  ann   0.1
    1  bob   NaN
    """
    check_how(run, join)
    left, right = arrow_like(left, "left"), arrow_like(right, "right")
    asked = dict(locals())
    paths = output_paths(save)
    files = any(isinstance(table, (str, os.PathLike)) for table in (left, right))
    by_name = bool(on or select or nearest is not None or metric or columns or ids or paths or explain or files)
    if by_name or kind in ("left", "any") or ties != "first" or within_distance is not None:
        return _by_name((left, right), _asked(asked), (suffixes, rows, paths, overwrite, explain), given(**run))
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
    own = names_of_table(left, "left")
    sides = (own, own if right is None else names_of_table(right, "right"))
    formulas = [_text(formula, sides, name) for formula, name in ((where, "where"), (value, "value"))]
    called = [formula and _called(formula, sides, True) for formula in formulas]
    used = [_used(" ; ".join(f or "" for f in formulas), side, names) for side, names in zip("xy", sides, strict=True)]
    if right is None:
        used = [sorted({*used[0], *used[1]})] * 2
    widths = (len(sides[0]), len(sides[1]))
    # Texts of the formulas have a number among the words, and stand in a column that is called as they are written.
    quoted = {text[1:-1] for f in formulas for text in _QUOTED.findall(f or "")}
    formulas = [f and _renumbered(f, used, widths) for f in formulas]
    tables = [_columns(left, "left", used[0])] + ([] if right is None else [_columns(right, "right", used[1])])
    texts = [{name for name, _, known in table if known is not None} for table in tables]
    as_text = _nulls_of_text((left, right)[: len(tables)], called, texts)
    for table, nulls in zip(tables, as_text, strict=True):
        table[:] = [(name, values, [] if name in nulls else known) for name, values, known in table]
        table += [(f'"{text}"', np.zeros(len(table[0][1])), [text]) for text in sorted(quoted)]
    words = {word: at for at, word in enumerate(sorted({w for table in tables for _, _, known in table for w in known or ()}))}
    names = [[name for name, _, _ in table] for table in tables]
    named_texts = [[name for name, _, known in table if known is not None] for table in tables]
    arrays = [np.ascontiguousarray(np.column_stack([_numbers(column, words) for column in table])) for table in tables]
    if right is None:
        question = pairs(arrays[0], names=names[0])._with_texts(named_texts[0], [])
    else:
        question = pairs(*arrays, names=(names[0], names[1]))._with_texts(named_texts[0], named_texts[1])
    return question.nan("propagate").join(formulas[0] or "", formulas[1], kind=kind)


def names_of_table(table: Any, name: str) -> list[str]:
    """Names of the columns."""
    if isinstance(table, Mapping):
        table = list(table)
    elif hasattr(table, "collect") and hasattr(table, "lazy"):
        raise ArrayTypeError(f"{name}: a query that has not run\n  try: {name}.collect()")
    elif not hasattr(table, "__arrow_c_stream__"):
        kind = type(table).__name__
        raise ArrayTypeError(f"{name}: a table is wanted, here is a {kind}\n  try: pandas.DataFrame(…), or zf.pairs")
    names = table if isinstance(table, list) else getattr(table, "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    if names is None:
        raise ArrayTypeError(f"{name}: a column, expected a table\n  try: {name}.to_frame()")
    out = [str(column) for column in names]
    if not out:
        raise InputError(f"{name}: a table without columns")
    return out


def usual(table: Any, name: str, words: Collection[str]) -> list[str]:
    """The columns that are called so, in whatever letters."""
    return [one for one in names_of_table(table, name) if one.lower() in words]


def names_of_sides(tables: tuple[Any, Any]) -> tuple[list[str], list[str]]:
    """The names of the columns of both tables; none of files, and those of the first one where there is no second."""
    left, right = ([] if t is None or isinstance(t, (str, os.PathLike)) else names_of_table(t, n) for t, n in zip(tables, ("left", "right"), strict=True))
    return left, left if tables[1] is None else right


def columns_named(formula: str) -> list[str]:
    """The names that a formula gives columns of any row."""
    return [found[2] for found in _ROW.finditer(_QUOTED.sub("''", formula)) if found[2]]


def columns_read(formulas: Sequence[str | None], sides: tuple[list[str], list[str]]) -> list[set[str]]:
    """The columns of both tables that formulas read; none of files, which tell theirs themselves."""
    text = " ; ".join(formula or "" for formula in formulas)
    return [{have[at] for at in _used(text, side, have)} if have else set() for side, have in zip("xy", sides, strict=True)]


def is_table(data: Any) -> bool:
    """Whether data have columns by name."""
    return isinstance(data, Mapping) or hasattr(data, "columns") or (hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__array__"))


def is_name(value: Any) -> bool:
    """Whether a value names a column."""
    return isinstance(value, (str, int, np.integer)) and not isinstance(value, (bool, np.bool_))


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


#: A text, or a column by name.
_OPERAND = r"""('[^']*'|"[^"]*"|\b[xy]\s*\.\s*[^\W\d]\w*)"""
_COMPARED = re.compile(rf"{_OPERAND}\s*(?:[=!<>]=|[<>])\s*{_OPERAND}")


def _nulls_of_text(tables: Sequence[Any], formulas: Sequence[str | None], texts: Sequence[set[str]]) -> list[set[str]]:
    """The columns of nulls alone, which are of no type, that formulas compare with the columns of ``texts`` or with a text."""
    out: list[set[str]] = [set() for _ in tables]
    for a, b in (found for formula in formulas for found in _COMPARED.findall(formula or "")):
        for one, other in ((a, b), (b, a)):
            (side, name), (beside, text) = (_column_of(operand, len(tables)) for operand in (one, other))
            if name and (other[0] in "'\"" or text in texts[beside]) and _is_untyped(tables[side], name):
                out[side].add(name)
    return out


def _is_untyped(table: Any, name: str) -> bool:
    """Whether a column holds nothing but nulls, without a type."""
    at = names_of_table(table, "data").index(name)
    kind = _kind(table, at)
    return kind == "null" or (kind == "object" and bool(table.iloc[:, at].isna().all()))


def _column_of(operand: str, tables: int) -> tuple[int, str]:
    """The table of an operand, and its column; text names none."""
    side, _, name = operand.partition(".")
    return ("xy".find(side.strip()) % 2 if tables > 1 else 0), "" if operand[0] in "'\"" else name.strip()


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

    return _rewritten(text, place)


def _called(text: str, sides: Sequence[Sequence[str]], is_whole: bool) -> str:
    """The formula with names for numbers of columns: of a table of which some columns are read, others have these numbers."""

    def place(found: re.Match[str]) -> str:
        names = sides["xy".index(found[1])]
        if found[5] and names and not is_whole:
            some = " and ".join(f"{found[1]}.{names[at]}" for at in _sliced(found, len(names)))
            raise RequestError(f"expected columns by name beside keys, chosen columns and nearest rows, got {found[0]}\n  try: {some}")
        name = names[int(found[3])] if found[3] is not None and int(found[3]) < len(names) else ""
        return f"{found[1]}.{name}" if name.isidentifier() else found[0]

    return _rewritten(text, place)


def _rewritten(text: str, place: Callable[[re.Match[str]], str]) -> str:
    """The formula with other rows, but for what is in quotes."""
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
        return [("-", np.zeros(rows_of(table)), None)]
    columns = arrow_columns(*_converted(table, name, used))
    for heading, values, _ in columns:
        if values.ndim > 1:
            raise ArrayTypeError(f"{name}: column '{heading}' holds lists\n  try: zf.similarity_join of that column")
    return columns


def _converted(table: Any, name: str, used: list[int]) -> tuple[Any, str, list[int]]:
    """A table that Arrow reads, its name, and the numbers of the used columns in it. Others of a mapping or of pandas are not even
    converted, nor is an index, which would be one more column."""
    if isinstance(table, Mapping) or hasattr(table, "iloc"):
        return _as_arrow(table, name, used), name, list(range(len(used)))
    return table, name, used


def rows_of(table: Any) -> int:
    """How many rows a table has."""
    return len(column(next(iter(table.values())), "data")) if isinstance(table, Mapping) else len(table)


def _as_arrow(table: Any, name: str, used: Sequence[int] | None = None) -> Any:
    """The columns of a mapping or of a DataFrame of pandas, or the used ones, as an Arrow table."""
    import pyarrow

    names = names_of_table(table, name)
    columns = list(table.values()) if isinstance(table, Mapping) else None
    at = range(len(names)) if used is None else used
    parts = [_arrow_column(columns[k] if columns is not None else table.iloc[:, k], f"{name}['{names[k]}']") for k in at]
    lengths = [len(part) for part in parts]
    odd = next((k for k, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        one, other = names[at[0]], names[at[odd]]
        raise InputError(f"{name}: expected columns of one length, got {lengths[0]} rows in '{one}' and {lengths[odd]} in '{other}'")
    return pyarrow.table(parts, names=[names[k] for k in at])


def _arrow_column(values: Any, name: str) -> Any:
    """One column as Arrow has it."""
    import pyarrow

    # Of the other types of pandas NumPy would lose some.
    own = hasattr(values, "iloc") and not isinstance(values.dtype, np.dtype)
    try:
        if not own and hasattr(values, "__arrow_c_stream__") and not hasattr(values, "iloc"):
            return pyarrow.chunked_array(values)
        if hasattr(values, "__arrow_c_array__"):
            return pyarrow.array(values)
        plain = values if own else column(values, name)
        return pyarrow.array(plain, from_pandas=own or plain.dtype == object)
    except (pyarrow.ArrowException, OverflowError) as error:
        remedy = "convert it, or leave it out"
        raise ArrayTypeError(f"{name}: expected numbers, times or text, got a column that Arrow does not hold ({error})\n  try: {remedy}") from None


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


def _beside(left: Any, right: Any, found: Any, suffixes: tuple[str, str] | None) -> Any:
    a, b = columns_of(left, found.i), columns_of(right, found.j)
    names = [[str(c) for c in (t.column_names if hasattr(t, "column_names") else t.columns)] for t in (a, b)]
    both = set(names[0]) & set(names[1])
    renamed = [[c + s if c in both else c for c in n] for n, s in zip(names, suffixes or ("_x", "_y"), strict=True)]
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


def keys(on: Any) -> list[str]:
    """Pairs of columns with equal values, as a question has them."""
    if isinstance(on, str):
        return [on]
    if isinstance(on, Mapping):
        return [f"{a}={b}" for a, b in on.items()]
    return [str(column) for column in on]


#: A table for a question about columns by name: numbers with their names, columns of text, and the names of the columns
#: that only an answer has.
Known = tuple[np.ndarray, list[str], list[tuple[str, np.ndarray, list[str]]], list[str]]


def in_memory(table: Any, name: str, used: Collection[str] | None, labels: Sequence[str] = ()) -> Known:
    """A table in memory for a question about columns by name. ``used`` are the columns that are read, all where that is None. Truth
    values of the columns of ``labels`` are words."""
    names = names_of_table(table, name)
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise InputError(f"{name}: two columns are named '{twice}'\n  try: another name for one of them")
    at = [k for k, one in enumerate(names) if used is None or one in used]
    table, _, at = _converted(table, name, at) if at else (table, name, at)
    found = _columns(table, name, at) if at else []
    rows = len(found[0][1]) if found else rows_of(table)
    kinds = [_kind(table, k) for k in at]
    for k, (one, codes, _) in enumerate(found):
        if one in labels and kinds[k].startswith("bool"):
            found[k] = (one, codes, _TRUTHS)
    numeric = [(one, values) for one, values, words in found if words is None]
    stacked = np.column_stack([values for _, values in numeric]) if numeric else np.empty((rows, 0))
    array = np.ascontiguousarray(stacked, dtype=np.float64)
    texts = [(one, np.ascontiguousarray(codes, dtype=np.float64), words) for one, codes, words in found if words is not None]
    read = {one for one, _, _ in found}
    return array, [one for one, _ in numeric], texts, [one for one in names if one not in read]


def picked(table: Any, name: str, columns: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Columns of numbers of a table in this order, and their names."""
    if not is_table(table):
        raise RequestError("columns: expected a table or a file, got an array, whose columns have no names\n  try: leave columns out")
    have = names_of_table(table, name)
    at = [_number_of(one, have, name) for one in columns]
    found = _columns(table, name, at)
    text = next((one for one, _, words in found if words is not None), None)
    if text is not None:
        raise ArrayTypeError(f"{name}: expected numbers in '{text}', got text\n  try: another column")
    return np.ascontiguousarray(np.column_stack([values for _, values, _ in found])), [have[k] for k in at]


def _number_of(column: str, have: list[str], name: str) -> int:
    """The number of a column that is given by name or, as of files, by number."""
    if column in have:
        return have.index(column)
    if column.isdigit() and int(column) < len(have):
        return int(column)
    raise InputError(f"{name}: expected a column of the table, got '{column}' (columns: {', '.join(have)})\n  try: '{have[0]}'")


#: What truth values are called, in the order of their numbers.
_TRUTHS = ["False", "True"]


def _kind(table: Any, at: int) -> str:
    """The type of a column as the library of the table calls it, in small letters."""
    kinds = table.schema.types if hasattr(getattr(table, "schema", None), "types") else getattr(table, "dtypes", ())
    return str([*kinds, *[""] * (at + 1)][at]).lower()


def rows_in_memory(data: Any, name: str, letter: str) -> Known:
    """Rows of numbers as a table whose columns have names that begin with ``letter``."""
    array = np.ascontiguousarray(numeric_rows(data, name), dtype=np.float64)
    return array, [f"{letter}{k}" for k in range(array.shape[1])], [], []


def _free(known: Known, name: str) -> str:
    """``name``, or one like it that no column that is read has."""
    while any(one.startswith(name) for one in [*known[1], *(text for text, _, _ in known[2])]):
        name += "_"
    return name


def with_numbers(known: Known, values: np.ndarray, name: str) -> tuple[Known, list[str]]:
    """``known`` with more columns of numbers, called like ``name``, and their names."""
    array, names, texts, others = known
    name = _free(known, name)
    new = [name] if values.shape[1] == 1 else [f"{name}{k}" for k in range(values.shape[1])]
    table = np.ascontiguousarray(np.column_stack([array, values]), dtype=np.float64)
    return (table, [*names, *new], texts, [one for one in others if one not in new]), new


def marked(known: Known, labels: Any, name: str, option: str) -> tuple[Known, str]:
    """``known`` with a column of labels, called like ``name``, and its name: numbers stay numbers, so that their order and their names are those of a
    file."""
    marks = column(labels, option)
    if len(marks) != len(known[0]):
        raise InputError(f"{option}: expected one label for each of {len(known[0])} rows, got the shape {marks.shape}")
    # Arrays of one type are looked at whole: a step of Python for each label takes longer than most questions about them.
    if marks.dtype.kind in "iufU":
        without = np.isnan(marks) if marks.dtype.kind == "f" else marks == "" if marks.dtype.kind == "U" else np.zeros(0, dtype=bool)
        every, missing = [], int(without.argmax()) if without.any() else None
    else:
        every = marks.tolist()
        missing = next((row for row, mark in enumerate(every) if is_missing(mark) or mark == ""), None)
    if missing is not None:
        raise InputError(f"{option}: expected a label, got none in row {missing} (from 0)\n  try: leave the row out, or give it a label")
    if marks.dtype.kind != "U":
        kinds = sorted({_kind_of(mark) for mark in every})
        # Truth values are the words that files have.
        if "bool" not in kinds and all(isinstance(mark, (int, float, np.number)) for mark in every):
            known, (name,) = with_numbers(known, numbers(marks, option).astype(np.float64)[:, None], name)
            return known, name
        if len(kinds) > 1:
            raise ArrayTypeError(f"{option}: expected labels that are all text or all numbers, got {', '.join(kinds)}\n  try: [str(one) for one in {option}]")
        if kinds == ["bytes"]:
            raise ArrayTypeError(f"{option}: expected labels of text, got bytes\n  try: [one.decode() for one in {option}]")
        marks = np.array([str(mark) for mark in every])
    words, codes = np.unique(marks, return_inverse=True)
    array, names, texts, others = known
    name = _free(known, name)
    return (array, names, [*texts, (name, codes.astype(np.float64), words.tolist())], [one for one in others if one != name]), name


def _kind_of(label: Any) -> str:
    """The name of the type of a label."""
    if isinstance(label, str):
        return "str"
    return "bool" if isinstance(label, (bool, np.bool_)) else type(label).__name__


def columns_of(table: Any, i: np.ndarray) -> Any:
    """Some rows of a table, by their numbers; nulls where a number is below 0."""
    if not len(i) or i.min() >= 0:
        return _take(table, i)
    if hasattr(table, "iloc"):
        return table.reset_index(drop=True).reindex(i).reset_index(drop=True)
    if _library(table) == "polars":
        import polars

        there = polars.lit(polars.Series(i >= 0))
        taken = table[np.maximum(i, 0)] if len(table) else table.clear(len(i))
        return taken.select(polars.when(there).then(polars.all()))
    import pyarrow

    return _arrow(table).take(pyarrow.array(i, mask=i < 0))


def matches(found: dict[str, Any], tables: tuple[Any, Any], valued: bool) -> Matches:
    """The numbers of rows that an answer has, and their values where such were asked."""
    tally = Tally(counted=found["pairs"], beyond_cutoff=0, nan=0)
    shape = (rows_of(tables[0]), rows_of(tables[1]))
    values = np.empty(0) if found["values"] is None and valued else found["values"]
    return Matches(i=found["i"].astype(np.int64), j=found["j"], values=values, shape=shape, tally=tally)


def chosen(tables: tuple[Any, Any], found: dict[str, Any]) -> Any:
    """The columns that an answer names, in the library of the first table."""
    formulas = iter(found["formulas"])
    taken = [columns_of(table, at) for table, at in zip(tables, (found["i"].astype(np.int64), found["j"]), strict=True)]
    out = {}
    for name, side, column in found["columns"]:
        if side < 2:
            # The names of a DataFrame may be numbers.
            one = taken[side]
            out[name] = one.iloc[:, [str(have) for have in one.columns].index(column)] if hasattr(one, "iloc") else one[column]
        else:
            out[name] = found["values"] if column == "value" else next(formulas)
        if out[name] is None:
            out[name] = np.empty(0)
    if hasattr(taken[0], "iloc"):
        import pandas

        return pandas.DataFrame(out)
    if _library(taken[0]) == "polars":
        import polars

        return polars.DataFrame(out)
    import pyarrow

    return pyarrow.table(out)


def arrow_like(table: Any, name: str) -> Any:
    """A table whose rows can be taken: a mapping becomes an Arrow table, and pandas takes rows in the byte order of this machine."""
    if isinstance(table, Mapping):
        return _as_arrow(table, name)
    if not hasattr(table, "iloc"):
        return table
    odd = [at for at, kind in enumerate(table.dtypes) if isinstance(kind, np.dtype) and not kind.isnative]
    table = table.copy(deep=False) if odd else table
    for at in odd:
        table.isetitem(at, column(table.iloc[:, at], name))
    return table


#: A column alone in a list of columns, perhaps with another name.
_PLAIN = re.compile(r"\s*([xy])\.(.*?)(?:\s+as\s+.*)?\s*", re.IGNORECASE | re.DOTALL)


def formulas_of(select: Sequence[str], sides: Sequence[Sequence[str]]) -> list[str]:
    """What a list of columns computes: all but plain columns."""
    out = []
    for text in select:
        for item in _items(text):
            plain = _PLAIN.fullmatch(item)
            if not (plain and plain[2] in [*sides["xy".index(plain[1])], "*"] or item.strip() == "*"):
                out.append(re.sub(r"\s+as\s+[^()]*$", "", item, flags=re.IGNORECASE))
    return out


def _items(text: str) -> list[str]:
    """What is between commas that are in no parentheses and in no quotes."""
    out, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth and not quote:
            out.append("")
        else:
            out[-1] += letter
    return out


def _asked(given_: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a join by name, as a question has them."""
    select, columns, nearest, limit = (given_[name] for name in ("select", "columns", "nearest", "within_distance"))
    if select and given_["suffixes"] is not None:
        raise RequestError("suffixes: expected names of columns from select alone, got both\n  try: select='x.time as time_x'")
    if given_["metric"] is None:
        check_beside(given_, ("columns",), "nearest", 1)
    return {
        "where": given_["where"] or None,
        "on": keys(given_["on"]),
        "select": [select] if isinstance(select, str) else [str(one) for one in select],
        "value": given_["value"],
        "join_kind": given_["kind"],
        "nearest": None if nearest is None else whole(nearest, "nearest"),
        "metric": given_["metric"],
        "columns": names_of(columns, "columns"),
        "ties": given_["ties"],
        "within_distance": None if limit is None else finite(limit, "within_distance"),
        "ids": keys(given_["ids"]),
    }


def _with_texts_of_nulls(known: list[Any], tables: Sequence[Any], formulas: Sequence[str | None]) -> list[Any]:
    """The tables with those columns as text that hold nulls alone and are compared with text."""
    as_text = _nulls_of_text(tables, formulas, [{name for name, _, _ in one[2]} for one in known])
    out = []
    for (array, names, texts, others), nulls in zip(known, as_text, strict=True):
        at = [k for k, name in enumerate(names) if name not in nulls]
        more: list[tuple[str, np.ndarray, list[str]]] = [(name, np.full(len(array), np.nan), []) for name in names if name in nulls]
        out.append((np.ascontiguousarray(array[:, at]), [names[k] for k in at], [*texts, *more], others))
    return out


def _by_name(tables: tuple[Any, Any], asked: dict[str, Any], how: tuple[Any, ...], run: Any) -> Any:
    """A join whose answer has columns by name."""
    suffixes, rows, paths, overwrite, explain = how
    left, right = tables
    same = right is None
    if asked["ids"] and not any(isinstance(table, (str, os.PathLike)) for table in tables):
        raise RequestError(f"ids: expected a file, got tables in memory\n  try: left.astype({{'{asked['ids'][0]}': str}})")
    sides = names_of_sides(tables)
    plain = not (asked["on"] or asked["select"] or asked["columns"])
    is_whole = plain and asked["nearest"] is not None and asked["value"] is None
    asked["select"] = [_called(text, sides, is_whole) for text in asked["select"]]
    for key in ("where", "value"):
        if callable(asked[key]):
            asked[key] = _text(asked[key], sides, key)
        asked[key] = asked[key] and _called(asked[key], sides, is_whole)
    # What goes to files, or beside cells of files, is read whole, and so are rows that are near by all of their columns.
    whole_rows = asked["nearest"] is not None and asked["value"] is None and asked["columns"] is None
    if paths or whole_rows or any(isinstance(table, (str, os.PathLike)) for table in tables):
        used: list[set[str] | None] = [None, None]
    else:
        read = columns_read([asked["where"], asked["value"], *formulas_of(asked["select"], sides)], sides)
        for side, names in enumerate(read):
            names |= {key.split("=")[side] if "=" in key else key for key in asked["on"]} | set(asked["columns"] or ())
        used = [read[0] | read[1], None] if same else [*read]
    asked["x"] = place(left) if isinstance(left, (str, os.PathLike)) else "left"
    asked["y"] = None if same else place(right) if isinstance(right, (str, os.PathLike)) else "right"
    given_tables = tables[:1] if same else tables
    known = [
        None if isinstance(t, (str, os.PathLike)) else in_memory(t, n, u)
        for t, n, u in zip(given_tables, ("left", "right"), used, strict=False)
    ]
    if None not in known:
        known = _with_texts_of_nulls(known, given_tables, [asked["where"], asked["value"]])
    text = as_json(asked)
    if explain:
        return _zipfold.explain_join(text, known, run)
    out = _zipfold.join_tables(text, known, run, paths, overwrite)
    if paths:
        return out["rows"]
    if "cells" in out:
        return out["cells"]
    both = (left, left if same else right)
    pairs_of = asked["join_kind"] in ("inner", "left", "any")
    i = out["i"].astype(np.int64)
    found = matches(out, both, pairs_of and (asked["value"] is not None or asked["nearest"] is not None))
    if rows:
        return found if pairs_of else i
    if asked["select"]:
        return chosen(both, out)
    if not pairs_of:
        return _take(both[0], i)
    return _beside(*both, found, suffixes)

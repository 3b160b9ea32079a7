"""Numbers and labels beside the components of rows: a formula reads them by name, the row itself leaves them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .arrays import array as array_of
from .arrays import lone_column, numbers
from .errors import ArrayTypeError, InputError, RequestError

__all__ = ["Attributes", "of_sides"]


class Attributes(NamedTuple):
    """One column for each name, and the names of those that are words."""

    values: np.ndarray
    names: list[str]
    texts: list[str]
    #: What the numbers of words stand for, of all columns and both sides.
    words: list[str]


def of_sides(given: Any, n: int, m: int | None) -> tuple[Attributes | None, Attributes | None]:
    """The attributes of n rows of X, and of m rows of Y if there are others. Labels of all names are numbered
    together, in ascending order."""
    if m is None:
        given = (given, None)
    elif not isinstance(given, tuple) or len(given) != 2:
        raise RequestError("attributes: two inputs have their own\n  try: attributes=(those of X, those of Y)")
    words: dict[str, int] = {}
    sides = _side(given[0], n, "X", words), _side(given[1], m or 0, "Y", words)
    ordered = sorted(words)
    ranks = np.empty(len(words))
    ranks[[words[word] for word in ordered]] = np.arange(len(words))
    for side in filter(None, sides):
        side.words.extend(ordered)
        for name in side.texts:
            column = side.values[:, side.names.index(name)]
            there = ~np.isnan(column)
            column[there] = ranks[column[there].astype(np.int64)]
    return sides


def _side(given: Any, rows: int, what: str, words: dict[str, int]) -> Attributes | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) and not hasattr(given, "keys"):
        kind = type(given).__name__
        raise ArrayTypeError(f"attributes: a {kind}\n  try: a dict, such as {{'mass': array}}")
    columns, names, texts = [], [], []
    for name in given.keys():
        if not isinstance(name, str) or not name.isidentifier():
            raise RequestError(f"attributes: {name!r} cannot be written as x.name\n  try: a name of letters, digits and _")
        column, text = _column(given[name], name, words)
        if column.shape != (rows,):
            shape = " × ".join(map(str, column.shape)) or "1"
            raise InputError(f"attributes: '{name}' has {shape} numbers, {what} {rows} rows (limit: one for each row)")
        columns.append(column)
        names.append(name)
        texts += [name] if text else []
    return Attributes(np.column_stack(columns), names, texts, []) if columns else None


def _column(values: Any, name: str, words: dict[str, int]) -> tuple[np.ndarray, bool]:
    """The numbers of a column, and whether they stand for words."""
    what = f"attributes['{name}']"
    if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "iloc"):
        codes, own = lone_column(values, what)
        ranks = np.array([words.setdefault(word, len(words)) for word in own or ()] + [np.nan])
        return (codes.astype(np.float64), False) if own is None else (ranks[np.where(np.isnan(codes), -1, codes).astype(np.int64)], True)
    if isinstance(values, (list, tuple)) and any(isinstance(v, str) for v in values):
        # NumPy would make text of numbers beside text.
        array = np.empty(len(values), object)
        array[:] = values
    else:
        array = array_of(values, what)
    texts = array.dtype.kind in "UT" or (array.dtype == object and any(isinstance(v, str) for v in array.flat))
    if not texts:
        return numbers(array, what).astype(np.float64, copy=False), False
    odd = next((v for v in array.flat if not (isinstance(v, str) or _missing(v))), None)
    if odd is not None:
        raise ArrayTypeError(f"{what}: labels and the number {odd!r} (limit: one or the other)\n  try: [str(v) for v in …]")
    labels = [np.nan if _missing(word) else words.setdefault(str(word), len(words)) for word in array.flat]
    return np.array(labels, np.float64).reshape(array.shape), True


def _missing(value: Any) -> bool:
    """None, NaN and the NA of pandas: no label, which is like no other."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)

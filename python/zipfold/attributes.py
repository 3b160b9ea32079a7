"""Numbers and labels beside the components of rows: a formula reads them by name, the row itself leaves them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .arrays import numbers
from .errors import ArrayTypeError, InputError, RequestError

__all__ = ["Attributes", "of_sides"]

#: One column for each name.
Attributes = tuple[np.ndarray, list[str]]


def of_sides(given: Any, n: int, m: int | None) -> tuple[Attributes | None, Attributes | None]:
    """The attributes of n rows of X, and of m rows of Y if there are others. Labels of one name are numbered together."""
    if m is None:
        given = (given, None)
    elif not isinstance(given, tuple) or len(given) != 2:
        raise RequestError("attributes: two inputs have their own\n  try: attributes=(those of X, those of Y)")
    words: dict[str, dict[str, int]] = {}
    return _side(given[0], n, "X", words), _side(given[1], m or 0, "Y", words)


def _side(given: Any, rows: int, what: str, words: dict[str, dict[str, int]]) -> Attributes | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) and not hasattr(given, "keys"):
        kind = type(given).__name__
        raise ArrayTypeError(f"attributes: a {kind}\n  try: a dict, such as {{'mass': array}}")
    columns, names = [], []
    for name in given.keys():
        if not isinstance(name, str) or not name.isidentifier():
            raise RequestError(f"attributes: {name!r} cannot be written as x.name\n  try: a name of letters, digits and _")
        column = _column(given[name], name, words)
        if column.shape != (rows,):
            shape = " × ".join(map(str, column.shape)) or "1"
            raise InputError(f"attributes: '{name}' has {shape} numbers, {what} {rows} rows (limit: one for each row)")
        columns.append(column)
        names.append(name)
    return (np.column_stack(columns), names) if columns else None


def _column(values: Any, name: str, words: dict[str, dict[str, int]]) -> np.ndarray:
    array = np.asarray(values)
    texts = array.dtype.kind in "UT" or (array.dtype == object and all(isinstance(v, str) for v in array.flat))
    if not texts:
        return numbers(array, f"attributes['{name}']").astype(np.float64, copy=False)
    known = words.setdefault(name, {})
    return np.array([known.setdefault(str(word), len(known)) for word in array.flat], np.float64).reshape(array.shape)

"""Anything with rows of numbers as an array that the engine takes as it is.

C-contiguous, aligned float32 and float64 arrays are taken where they lie, read-only and memory-mapped ones included; also
when they come through DLPack. (What is computed in float64 of float32 rows widens them once, inside.) Others are
converted once:

==========================  =======================================
bool, integers              float64 (beyond 2**53 they are refused)
float16                     float32
longdouble                  float64
other strides, byte orders  a contiguous copy in the same precision
Arrow tables                float64 (float32 if all columns are)
==========================  =======================================

An object may speak several protocols. The first of these that it has decides (:func:`array` is the one place):

1. NumPy arrays are themselves; masked values are refused. :func:`column` takes one column of a mapping in the same way.
2. Sparse matrices, and arrays on a device, are refused with the remedy.
3. Tables (``columns`` or ``column_names``, and ``__arrow_c_stream__``) go column by column, those of pandas as NumPy has
   them; a column of lists of one length (embeddings) is as many columns.
4. Arrays (``shape`` and ``ndim``, and ``__array__``: xarray, torch on the host, h5py, zarr) are asked for their array.
5. DLPack.
6. Arrow arrays without columns (a column of a table): the column of a table.
7. Anything else is what ``numpy.asarray`` makes of it.
"""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .errors import ArrayTypeError, DeviceError, InputError, RequestError

__all__ = [
    "array", "as_json", "column", "finite", "finites", "index", "like", "matrix", "named_rows", "names_of", "number", "rows", "truth", "whole", "wholes",
]  # fmt: skip

_DOUBLE = np.dtype(np.float64)
_SINGLE = np.dtype(np.float32)
_TRUTH = np.dtype(np.bool_)
#: Up to here float64 has every whole number.
_WHOLE = 2**53


def rows(data: Any, name: str) -> np.ndarray:
    """``data`` as n × d numbers, C-contiguous; ``name`` is what messages call it."""
    if type(data) is np.ndarray and data.ndim == 2:
        if data.dtype is _DOUBLE or data.dtype is _SINGLE:
            flags = data.flags
            if flags.c_contiguous and flags.aligned:
                return data
        elif data.dtype is _TRUTH:
            return data.astype(_DOUBLE, "C")
    return matrix(array(data, name), name)


def number(value: Any, name: str) -> float:
    """One number: text and truth values are none, whatever ``float`` makes of them."""
    if isinstance(value, float):
        return value
    if isinstance(value, (bool, np.bool_, str, bytes)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise ArrayTypeError(f"{name}: expected a number, got {value!r}")
    try:
        out = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArrayTypeError(f"{name}: expected a number, got {value!r}") from None
    if isinstance(value, int) and out != value:
        raise InputError(f"{name}: the integer {value} (limit: 2^53, beyond which float64 leaves numbers out)")
    return out


def finite(value: Any, name: str) -> float:
    """A number that JSON can hold."""
    one = number(value, name)
    if not np.isfinite(one):
        raise RequestError(f"{name}: expected a finite number, got {one}")
    return one


def names_of(columns: Any, name: str) -> list[str] | None:
    """Several names of columns; one text is none."""
    return None if columns is None else [str(one) for one in _several(columns, name, "several names")]


def finites(values: Any, name: str) -> list[float]:
    """Several numbers that JSON can hold."""
    return [finite(one, name) for one in _several(values, name, "several numbers")]


def _several(values: Any, name: str, what: str) -> Any:
    """The items of ``values``, of which text and a single number have none."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or np.ndim(values) == 0:
        raise ArrayTypeError(f"{name}: expected {what}, got {values!r}\n  try: {name}=[{values!r}]")
    return values


def index(value: Any) -> int | None:
    """A whole number; None for anything else, of which truth values are one."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def whole(value: Any, name: str) -> int:
    """A whole number from 0 on."""
    one = index(value)
    if one is None:
        raise ArrayTypeError(f"{name}: expected a whole number, got {value!r}")
    if not 0 <= one < 2**64:
        raise RequestError(f"{name}: expected a whole number from 0 to 2^64 - 1, got {one}")
    return one


def wholes(values: Any, name: str) -> list[int]:
    """Several whole numbers from 0 on."""
    return [whole(one, name) for one in _several(values, name, "several whole numbers")]


def truth(value: Any, name: str) -> bool:
    """True or False, of NumPy too."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArrayTypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def as_json(asked: Mapping[str, Any]) -> str:
    """A question as the engine reads it; of what was not given the engine knows what is usual."""
    return json.dumps({name: _plain(value, name) for name, value in asked.items() if value is not None})


def _plain(value: Any, name: str) -> Any:
    """A value that JSON has: numbers, truth values and arrays of NumPy become those of Python."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, (float, np.floating)):
        # JSON has no infinite numbers: these are the texts "inf", "-inf" and "nan".
        return float(value) if np.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(one, f"{name}['{key}']") for key, one in value.items()}
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        return [_plain(one, name) for one in value]
    raise ArrayTypeError(f"{name}: expected text, numbers or truth values, got {value!r}")


def like(result: np.ndarray, source: Any) -> Any:
    """``result`` in the array library of ``source``, without a copy, where that is another one with DLPack."""
    if isinstance(source, np.ndarray) or not hasattr(source, "__dlpack__"):
        return result
    space = getattr(source, "__array_namespace__", lambda: sys.modules.get(type(source).__module__.split(".")[0]))()
    make = getattr(space, "from_dlpack", None)
    return result if make is None else make(result)


def named_rows(data: Any, name: str) -> tuple[np.ndarray, list[str] | None]:
    """As :func:`rows`, with the names of the columns where there are some."""
    names = _column_names(data)
    array = rows(data, name)
    # A column of lists is many columns, which have numbers alone.
    return array, names if names is not None and len(names) == array.shape[1] else None


def arrow_columns(
    data: Any, name: str, wanted: Sequence[int] | None = None
) -> list[tuple[str, np.ndarray, list[str] | None]]:
    """The columns of anything with ``__arrow_c_stream__``, or the ``wanted`` ones: name, numbers (n, or n × width for lists
    of one length), and the words behind them for text."""
    if hasattr(data, "collect") and not hasattr(data, "__arrow_c_stream__"):
        raise ArrayTypeError(f"{name}: a query that has not run\n  try: {name}.collect()")
    if any(str(kind) == "Null" for kind in getattr(data, "dtypes", ())):
        # What Polars gives for a column of nulls alone the engine does not read.
        import polars

        data = data.cast({polars.Null: polars.Float64})
    try:
        return _zipfold.arrow_columns(data.__arrow_c_stream__(), None if wanted is None else list(wanted))
    except TypeError as error:
        raise ArrayTypeError(f"{name}: {error}") from None


def _stacked(data: Any, name: str) -> np.ndarray:
    """The columns of a table side by side."""
    columns = arrow_columns(data, name)
    text = next((column for column, _, words in columns if words is not None), None)
    if text is not None:
        raise ArrayTypeError(f"{name}: column '{text}' holds text, not numbers\n  try: leave it out")
    return np.column_stack([values for _, values, _ in columns]) if columns else np.empty((0, 0))


def matrix(array: np.ndarray, name: str) -> np.ndarray:
    """A NumPy array as n × d numbers, C-contiguous."""
    if array.ndim == 0:
        raise InputError(f"{name}: expected rows of numbers, got {array.item()!r}")
    if array.ndim == 1 and array.dtype != object:
        raise InputError(f"{name}: rows of numbers are wanted, here is one dimension\n  try: {name}[:, None]")
    if array.ndim != 2:
        raise InputError(f"{name}: an array of 2 dimensions is wanted, here are {array.ndim}")
    return numbers(array, name)


def numbers(array: np.ndarray, name: str) -> np.ndarray:
    """Any shape of numbers in float32 or float64, C-contiguous and aligned."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "c":
        raise ArrayTypeError(f"{name}: complex numbers have no order and no place here\n  try: {name}.real, or abs")
    if kind == "O":
        array = _from_objects(array, name)
    elif kind not in "fbiu":
        raise ArrayTypeError(f"{name}: an array of {array.dtype}, not of numbers")
    elif kind in "iu" and size == 8:
        _check_whole(array, name)
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return np.require(array, _SINGLE if single else _DOUBLE, ["C", "A"])


def _check_whole(array: np.ndarray, name: str) -> None:
    if array.size and (array.max() > _WHOLE or (array.dtype.kind == "i" and array.min() < -_WHOLE)):
        at = np.argmax((array > _WHOLE) | (array < -_WHOLE if array.dtype.kind == "i" else False))
        raise _beyond(array.flat[at], name, np.unravel_index(at, array.shape))


def _beyond(item: Any, name: str, place: Sequence[Any]) -> InputError:
    """The refusal of a whole number that float64 does not hold."""
    where = ", ".join(str(int(k)) for k in place)
    return InputError(
        f"{name}[{where}]: the integer {item} (limit: 2^53, beyond which float64 leaves numbers out)\n  try: subtract an offset"
    )


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or the NA of pandas: of these, the last three are equal to nothing."""
    same = value is not None and value == value
    return not (isinstance(same, (bool, np.bool_)) and bool(same))


def _from_objects(array: np.ndarray, name: str) -> np.ndarray:
    """Objects as float64; what is missing is NaN."""
    out = np.empty(array.shape)
    for place, item in np.ndenumerate(array):
        if isinstance(item, (int, np.integer)) and abs(int(item)) > _WHOLE:
            raise _beyond(item, name, place)
        try:
            out[place] = np.nan if item is None or type(item).__name__ in ("NAType", "NaTType") else float(item)
        except (TypeError, ValueError, OverflowError):
            where = ", ".join(str(k) for k in place)
            raise ArrayTypeError(f"{name}[{where}]: {type(item).__name__} is no number\n  try: convert or leave out") from None
    return out


def _column_names(data: Any) -> list[str] | None:
    if isinstance(data, np.ndarray) or not hasattr(data, "__arrow_c_stream__"):
        return None
    columns = getattr(data, "column_names", None)
    columns = getattr(data, "columns", None) if columns is None else columns
    if columns is None:
        return None
    try:
        return [str(column) for column in columns]
    except TypeError:
        return None


def _of_frame(frame: Any, name: str) -> np.ndarray:
    """A DataFrame of pandas: one type of NumPy as it is, else column by column, since NumPy would round whole numbers among others."""
    kinds = list(frame.dtypes)
    if not kinds or (isinstance(kinds[0], np.dtype) and all(kind == kinds[0] for kind in kinds)):
        return _asked(frame, name)
    parts = [numbers(array(frame.iloc[:, at], name), f"{name}['{column}']") for at, column in enumerate(frame.columns)]
    return np.column_stack(parts)


def column(values: Any, name: str) -> np.ndarray:
    """One column: values of any type, in the byte order of this machine and none of them masked."""
    if isinstance(values, (list, tuple)) and any(isinstance(one, (str, bytes, bool)) for one in values):
        # NumPy would make words of numbers that are among words, and numbers of truth values that are among numbers.
        out = np.empty(len(values), object)
        out[:] = values
    elif hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        out = np.asarray(values)
    else:
        out = array(values, name)
    if out.ndim != 1:
        raise InputError(f"{name}: expected one dimension, got the shape {out.shape}\n  try: one column for each number of a row")
    if out.dtype.kind == "c":
        raise ArrayTypeError(f"{name}: complex numbers have no order and no place here\n  try: {name}.real, or abs")
    if out.dtype.kind == "f" and out.dtype.itemsize > 8:
        return out.astype(_DOUBLE)
    return out if out.dtype.isnative else out.astype(out.dtype.newbyteorder("="))


def _refuse_masked(data: Any, name: str) -> None:
    """Masks of arrays, and of the rows of a list."""
    parts = data if isinstance(data, (list, tuple)) else [data]
    if any(isinstance(one, np.ma.MaskedArray) and np.ma.is_masked(one) for one in parts):
        raise InputError(f"{name}: expected numbers or labels, got masked values\n  try: leave their rows out")


def array(data: Any, name: str) -> np.ndarray:
    """The array behind any object that says what it holds; the module says in which order its protocols are asked."""
    _refuse_masked(data, name)
    if isinstance(data, np.ndarray):
        return np.asarray(data)
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise ArrayTypeError(f"{name}: a sparse matrix\n  try: {name}.toarray()")
    _refuse_devices(data, name)
    if hasattr(data, "data_vars"):
        raise ArrayTypeError(f"{name}: an xarray Dataset holds several arrays\n  try: {name}['variable'], or {name}.to_dataarray().T")
    arrow, pandas = hasattr(data, "__arrow_c_stream__"), hasattr(data, "iloc")
    if arrow and not pandas and (hasattr(data, "columns") or hasattr(data, "column_names")):
        return _stacked(data, name)
    if pandas and getattr(data, "ndim", None) == 2:
        return _of_frame(data, name)
    if pandas and not isinstance(data.dtype, np.dtype) and data.dtype.kind in "iu" and data.hasnans:
        # As numbers these would be rounded: NA makes float64 of them.
        return data.to_numpy(dtype=object)
    if hasattr(data, "__array__") and _is_int(getattr(data, "ndim", None)) and hasattr(data, "shape"):
        return _asked(data, name)
    if hasattr(data, "__dlpack__") and not hasattr(data, "__array__"):
        return np.from_dlpack(data)
    if arrow and not pandas or _is_arrow(data):
        values, words = lone_column(data, name)
        if words is not None:
            raise ArrayTypeError(f"{name}: text, not numbers")
        return values
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise ArrayTypeError(f"{name}: a query that has not run\n  try: {name}.collect()")
    return _asked(data, name)


def _is_int(value: Any) -> bool:
    return isinstance(value, int)


def _is_arrow(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pyarrow"


def lone_column(data: Any, name: str) -> tuple[np.ndarray, list[str] | None]:
    """A column without its table, and the words behind its numbers: of lists of one length it is rows, of numbers one dimension."""
    if hasattr(data, "to_frame"):
        table = data.to_frame()
    else:
        import pyarrow

        table = pyarrow.table([data], names=["values"])
    ((_, values, words),) = arrow_columns(table, name)
    return values, words


def _asked(data: Any, name: str) -> np.ndarray:
    """What NumPy makes of ``data``."""
    try:
        out = np.asarray(data)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise InputError(f"{name}: the rows do not have the same length ({error})") from None
        raise InputError(f"{name}: {error}") from None
    except (TypeError, RuntimeError) as error:
        kind = type(data).__name__
        remedy = f"{name}.detach()" if "grad" in str(error) else f"an array of float32 of this {kind}"
        raise ArrayTypeError(f"{name}: NumPy makes no array of a {kind} ({error})\n  try: {remedy}") from None
    if isinstance(data, (list, tuple)) and out.dtype.kind == "f" and (np.abs(out) > _WHOLE).any():
        # NumPy has rounded whole numbers that are among others.
        return _from_objects(np.array(data, dtype=object), name)
    return _of_lists(out, name) if out.dtype == object and out.ndim == 1 and len(out) else out


def _of_lists(array: np.ndarray, name: str) -> np.ndarray:
    """Rows of an array of arrays, as a column of embeddings of pandas is; other objects as they are."""
    if not all(isinstance(row, (list, tuple, np.ndarray)) for row in array):
        return array
    if len({len(row) for row in array}) > 1:
        raise InputError(f"{name}: the rows do not have the same length")
    return np.array([np.asarray(row) for row in array])


def _refuse_devices(data: Any, name: str) -> None:
    message = f"{name}: the array is on a device that this build does not reach\n  try: copy it to the host first"
    place = getattr(data, "__dlpack_device__", None)
    if place is not None:
        kind = int(place()[0])
        # 1 is the host; 3 and 11 are host memory that CUDA or ROCm has pinned.
        if kind not in (1, 3, 11):
            raise DeviceError(f"{message} (DLPack device type {kind})")
    elif hasattr(data, "__cuda_array_interface__"):
        raise DeviceError(message)

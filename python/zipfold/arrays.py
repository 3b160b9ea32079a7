"""Anything with rows of numbers as an array that the engine takes as it is.

C-contiguous, aligned float32 and float64 arrays are never copied, read-only and memory-mapped ones included; also when
they come through DLPack or a one-column Arrow buffer. Others are converted once:

==========================  =======================================
bool, integers              float64 (int64 beyond 2**53 is refused)
float16                     float32
longdouble                  float64
other strides, byte orders  a contiguous copy in the same precision
Arrow tables                float64 (float32 if all columns are)
==========================  =======================================
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _zipfold
from .errors import ArrayTypeError, DeviceError, InputError

__all__ = ["like", "matrix", "named_rows", "rows"]

_DOUBLE = np.dtype(np.float64)
_SINGLE = np.dtype(np.float32)
_TRUTH = np.dtype(np.bool_)


def rows(data: Any, name: str) -> np.ndarray:
    """``data`` as n × d numbers, C-contiguous; ``name`` is what messages call it."""
    if type(data) is np.ndarray and data.ndim == 2:
        if data.dtype is _DOUBLE or data.dtype is _SINGLE:
            flags = data.flags
            if flags.c_contiguous and flags.aligned:
                return data
        elif data.dtype is _TRUTH:
            return data.astype(_DOUBLE, "C")
    return matrix(_array(data, name), name)


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
    if names is not None and hasattr(data, "column_names"):
        columns = arrow_columns(data, name)
        return rows(np.column_stack([numbers for _, numbers, _ in columns]), name), [c[0] for c in columns]
    return rows(data, name), names


def arrow_columns(data: Any, name: str) -> list[tuple[str, np.ndarray, list[str] | None]]:
    """The columns of anything with ``__arrow_c_stream__``: name, numbers, and the words behind them for text."""
    try:
        return _zipfold.arrow_columns(data.__arrow_c_stream__())
    except TypeError as error:
        raise ArrayTypeError(f"{name}: {error}") from None


def matrix(array: np.ndarray, name: str) -> np.ndarray:
    """A NumPy array as n × d numbers, C-contiguous."""
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
    limit = 2**53
    if array.size and (array.max() > limit or (array.dtype.kind == "i" and array.min() < -limit)):
        at = np.argmax((array > limit) | (array < -limit if array.dtype.kind == "i" else False))
        place = ", ".join(str(int(k)) for k in np.unravel_index(at, array.shape))
        raise InputError(
            f"{name}[{place}]: the integer {array.flat[at]} (limit: 2^53, beyond which float64 leaves numbers out)\n"
            "  try: subtract an offset"
        )


def _from_objects(array: np.ndarray, name: str) -> np.ndarray:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    for place, item in np.ndenumerate(array):
        try:
            float(item)
        except (TypeError, ValueError, OverflowError):
            where = ", ".join(str(k) for k in place)
            kind = type(item).__name__
            raise ArrayTypeError(f"{name}[{where}]: {kind} is no number\n  try: convert or leave out") from None
    raise ArrayTypeError(f"{name}: objects that make no array of numbers")


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


def _array(data: Any, name: str) -> np.ndarray:
    """The array behind any object that says what it holds."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise InputError(f"{name}: masked values\n  try: {name}.filled(numpy.nan) with nan='skip'")
    if isinstance(data, np.ndarray):
        return np.asarray(data)
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise ArrayTypeError(f"{name}: a sparse matrix\n  try: {name}.toarray()")
    _refuse_devices(data, name)
    if hasattr(data, "__dlpack__") and not hasattr(data, "__array__"):
        return np.from_dlpack(data)
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "iloc"):
        columns = arrow_columns(data, name)
        if any(words is not None for _, _, words in columns):
            text = next(column for column, _, words in columns if words is not None)
            raise ArrayTypeError(f"{name}: column '{text}' holds text, not numbers\n  try: leave it out")
        return np.column_stack([values for _, values, _ in columns]) if columns else np.empty((0, 0))
    try:
        return np.asarray(data)
    except ValueError as error:
        raise InputError(f"{name}: the rows do not have the same length ({error})") from None


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

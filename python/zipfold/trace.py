"""Functions of two rows as formulas: the function is called once, with rows that write down what is done to them.

The result is the text of a formula, the same that a string, a problem file or the command takes.
"""

from __future__ import annotations

import datetime
import inspect
import linecache
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Union

import numpy as np

from .arrays import array as array_of
from .arrays import number, numbers
from .errors import InputError, RequestError, TraceError

__all__ = ["Traced", "trace", "tuple_of", "where"]

_HERE = os.path.dirname(os.path.abspath(__file__))
_NUMPY = os.path.dirname(os.path.abspath(np.__file__))

_UNARY = {
    "negative": "-{}",
    "positive": "{}",
    "absolute": "abs({})",
    "fabs": "abs({})",
    "square": "({})^2",
    "reciprocal": "1 / ({})",
    "cbrt": "sign({0}) * abs({0})^(1 / 3)",
    "rint": "round({})",
    "exp2": "2^({})",
    "deg2rad": "({}) * pi / 180",
    "radians": "({}) * pi / 180",
    "logical_not": "not ({})",
    "invert": "not ({})",
    "arcsin": "asin({})",
    "arccos": "acos({})",
    "arctan": "atan({})",
    # Of scipy.special.
    "erf": "erf({})",
    "erfc": "erfc({})",
    "gammaln": "lgamma({})",
    "bitwise_count": "popcount({})",
}
_UNARY |= {
    name: name + "({})"
    for name in "sqrt exp log log2 log10 log1p expm1 sin cos tan sinh cosh tanh floor ceil sign isnan".split()
}
_BINARY = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "true_divide": "{} / {}",
    "floor_divide": "floor({} / {})",
    "power": "{}^{}",
    "float_power": "{}^{}",
    "minimum": "min({}, {})",
    "maximum": "max({}, {})",
    "arctan2": "atan2({}, {})",
    "hypot": "hypot({}, {})",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "greater": "{} > {}",
    "greater_equal": "{} >= {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
    "logical_and": "{} and {}",
    "logical_or": "{} or {}",
    "logical_xor": "{} xor {}",
    "bitwise_and": "{} and {}",
    "bitwise_or": "{} or {}",
    "bitwise_xor": "{} xor {}",
}
_TRUTHS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_LOGIC = {"logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"}
_REDUCE = {
    "sum": "sum({})",
    "prod": "prod({})",
    "product": "prod({})",
    "max": "max({})",
    "amax": "max({})",
    "min": "min({})",
    "amin": "min({})",
    "any": "any({})",
    "all": "all({})",
    "mean": "mean({})",
    "count_nonzero": "count({})",
}
_UFUNC_REDUCE = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_UFUNC_REDUCE |= {"logical_or": "any", "logical_and": "all"}


#: Components of a row, where known; of a row of x and of one of y, where they may differ.
Width = Union[int, None, tuple[int, int]]
#: Column names of x and of y.
Names = tuple["Sequence[str] | None", "Sequence[str] | None"]


class _Notes:
    """What one tracing has met: parameters by name, and the numbers of components of the rows."""

    def __init__(
        self, dim: Width, names: Names, attributes: tuple[Sequence[str], Sequence[str]], truth: bool = False
    ) -> None:
        #: Components of a row of x and of y.
        self.dims = dim if isinstance(dim, tuple) else (dim, dim)
        #: Components of both, where they have as many.
        self.dim = self.dims[0] if self.dims[0] == self.dims[1] else None
        #: Whether rows are known to hold truth values alone.
        self.truth = truth
        self.names = names
        self.attributes = attributes
        self.params: dict[str, Any] = {}
        #: How many components the slices have that were taken.
        self.slices: set[int] = set()

    def vector(self, values: np.ndarray) -> str:
        for name, known in self.params.items():
            if isinstance(known, np.ndarray) and np.array_equal(known, values):
                return name
        name = f"v{len(self.params)}_"
        self.params[name] = values
        return name


class Traced:
    """A value of a formula in the making: a row, one number per component, or a single number."""

    __slots__ = ("_length", "_notes", "_side", "_text", "_truth", "_vector")
    __array_priority__ = 1000

    def __init__(
        self, notes: _Notes, text: str, vector: bool, truth: bool = False, side: int | None = None, length: int | None = None
    ) -> None:
        self._notes = notes
        #: How many components a vector has: those of the rows, or of a slice; None where rows have no known length.
        self._length = (length if length is not None else notes.dim if side is None else notes.dims[side]) if vector else None
        self._text = text
        self._vector = vector
        self._truth = truth
        self._side = side

    def __repr__(self) -> str:
        return f"<formula {self._text}>"

    __hash__ = None  # type: ignore[assignment]

    # -- components and columns

    def __getitem__(self, key: Any) -> Traced:
        if self._side is None:
            _refuse("only the rows themselves have components", f"{self._text}[…]")
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            dim = self._notes.dims[self._side]
            at = int(key) + (dim or 0 if key < 0 else 0)
            if at < 0 or (dim is not None and at >= dim):
                raise IndexError(f"component {key} of rows that have {dim}")
            return self._new(f"{self._text}[{at}]", False)
        if isinstance(key, slice):
            return self._slice(key)
        _refuse("components are taken one by one or as a slice", f"{self._text}[{key!r}]")

    def _slice(self, key: slice) -> Traced:
        """Some components as a vector: as of a list, ends beyond the row are its end."""
        dim = self._notes.dims[self._side or 0]
        if dim is None:
            _refuse("a slice needs rows of a known length", f"{self._text}[{key!r}]")
        first, end, step = key.indices(dim)
        if step != 1 or first >= end:
            _refuse("a slice has components, and takes each of them", f"{self._text}[{first}:{end}:{step}]")
        self._notes.slices.add(end - first)
        return self._new(f"{self._text}[{first}:{end}]", True, length=end - first)

    def __getattr__(self, name: str) -> Traced:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._side is not None and self._known():
            return self._column(name)
        _refuse(f"a formula has no '{name}'", f".{name}")

    def _known(self) -> list[str]:
        """Names of columns and attributes of the row."""
        side = self._side or 0
        return [*(self._notes.names[side] or ()), *self._notes.attributes[side]]

    def _column(self, name: str) -> Traced:
        side = self._side or 0
        if name in self._notes.attributes[side]:
            return self._new(f"{self._text}.{name}", False)
        known = self._known()
        if name not in known:
            raise AttributeError(f"no column '{name}'\n  try: one of {', '.join(known) or 'x[0], x[1], …'}")
        return self._new(f"{self._text}[{known.index(name)}]", False)

    def __len__(self) -> int:
        if self._length is not None:
            return self._length
        _refuse("a number has no length", "len()")

    @property
    def shape(self) -> tuple[int, ...]:
        """``(d,)`` for one number per component, ``()`` for a single number."""
        return (len(self),) if self._vector else ()

    @property
    def size(self) -> int:
        """The number of components, or 1."""
        return len(self) if self._vector else 1

    @property
    def ndim(self) -> int:
        """1 for one number per component, 0 for a single number."""
        return int(self._vector)

    # -- operators

    def _new(self, text: str, vector: bool, truth: bool = False, length: int | None = None) -> Traced:
        return Traced(self._notes, text, vector, truth, length=length)

    def _joined(self, text: str, operands: Sequence[Traced], truth: bool) -> Traced:
        """What is made of operands by component: a vector if one of them is."""
        lengths = {v._length for v in operands if v._length is not None}
        if len(lengths) > 1:
            few, many = sorted(lengths)[:2]
            raise TraceError(
                f"vectors of {few} and of {many} components do not go together, in {text}\n  try: the same slice of each row"
            )
        return self._new(text, any(v._vector for v in operands), truth, next(iter(lengths), None))

    def _operand(self, value: Any) -> Traced:
        if isinstance(value, Traced):
            return value
        if isinstance(value, (bool, np.bool_)):
            return self._new("(0 < 1)" if value else "(1 < 0)", False, True)
        if value is None:
            _refuse("None is no value of a formula: does a function lack its 'return'?", "None")
        if isinstance(value, str):
            return self._new(_quoted(value), False)
        value = _seconds(value)
        if isinstance(value, (int, float, np.integer, np.floating)):
            return self._new(_number(number(value, "a number of the formula")), False)
        try:
            array = numbers(array_of(value, "a value of the formula"), "a value of the formula").astype(np.float64, copy=False)
        except InputError:
            raise
        except (TypeError, ValueError):
            _refuse(f"a {type(value).__name__} has no place in a formula", repr(value)[:40])
        if array.ndim == 0:
            return self._new(_number(float(array)), False)
        fits = None in self._notes.dims or array.size in self._notes.dims or array.size in self._notes.slices
        if array.ndim != 1 or not fits:
            _refuse(f"an array of shape {array.shape} does not fit a row", f"rows of {' and '.join(map(str, dict.fromkeys(self._notes.dims)))} components")
        return self._new(self._notes.vector(array), True, length=array.size)

    def _unary(self, name: str) -> Traced:
        truth = name in ("logical_not", "invert", "isnan")
        if name in ("logical_not", "invert") and self._notes.truth and not self._truth:
            known = self._known_truth()
            if known is not self:
                return known._unary(name)
        if name in ("logical_not", "invert") and not self._truth:
            _refuse("'not' takes a truth value, here is a number", f"~{self._text}")
        text = _UNARY[name].format(self._text)
        return self._joined(f"({text})", [self], truth)

    def _binary(self, name: str, left: Any, right: Any) -> Traced:
        a, b = self._operand(left), self._operand(right)
        if name in _LOGIC:
            a, b = a._known_truth(), b._known_truth()
        if name in _LOGIC and not (a._truth and b._truth):
            _refuse("'and', 'or' and 'xor' take truth values, here is a number", f"{a._text} {name} {b._text}")
        text = _BINARY[name].format(a._text, b._text)
        return self._joined(f"({text})", [a, b], name in _TRUTHS or name in _LOGIC)

    def _known_truth(self) -> Traced:
        """A row of truth values, or one of its components, as what a formula takes for truth."""
        row = not self._truth and self._notes.truth and re.fullmatch(r"[xy](\[\d+(:\d+)?\])?", self._text)
        return self._nonzero() if row else self

    def _nonzero(self) -> Traced:
        return self._binary("not_equal", self, 0)

    def _reduce(self, name: str) -> Traced:
        if not self._vector:
            _refuse(f"'{name}' takes one number per component, here is a single number", f"{name}({self._text})")
        if name in ("any", "all") and not self._truth:
            return self._nonzero()._reduce(name)
        operand = self if name != "count_nonzero" or self._truth else self._nonzero()
        return self._new(_REDUCE[name].format(operand._text), False, name in ("any", "all"))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Traced:
        name = ufunc.__name__
        if method == "reduce" and name in _UFUNC_REDUCE:
            return self._reduce(_UFUNC_REDUCE[name])
        if method != "__call__" or kwargs:
            _refuse(f"numpy.{name} with {method} or keywords is no formula", f"numpy.{name}")
        if len(inputs) == 1 and name in _UNARY:
            return self._unary(name)
        if len(inputs) == 2 and name in _BINARY:
            return self._binary(name, *inputs)
        _refuse(f"numpy.{name} is no function of formulas", f"numpy.{name}")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Traced:
        name = func.__name__
        kwargs = {key: value for key, value in kwargs.items() if value is not None}
        kwargs.pop("axis", None) if kwargs.get("axis") in (0, -1) else None
        if not kwargs and len(args) == 1 and name in _REDUCE:
            return self._operand(args[0])._reduce(name)
        if not kwargs and len(args) == 1 and name == "norm":
            return ((args[0] * args[0]).sum()).sqrt()
        if not kwargs and len(args) == 2 and name in ("dot", "vdot", "inner"):
            return (self._operand(args[0]) * args[1]).sum()
        if not kwargs and len(args) == 3 and name == "where":
            return where(*args)
        if not kwargs and len(args) == 3 and name == "clip":
            return self._binary("minimum", self._binary("maximum", args[0], args[1]), args[2])
        _refuse(f"numpy.{name}{' with these keywords' if kwargs else ''} is no function of formulas", f"numpy.{name}")

    def sum(self, axis: Any = None) -> Traced:
        """The sum over components."""
        return self._reduce("sum")

    def prod(self, axis: Any = None) -> Traced:
        """The product over components."""
        return self._reduce("prod")

    def max(self, axis: Any = None) -> Traced:
        """The largest component."""
        return self._reduce("max")

    def min(self, axis: Any = None) -> Traced:
        """The smallest component."""
        return self._reduce("min")

    def mean(self, axis: Any = None) -> Traced:
        """The mean over components."""
        return self._reduce("mean")

    def any(self, axis: Any = None) -> Traced:
        """Whether any component is true (not zero)."""
        return self._reduce("any")

    def all(self, axis: Any = None) -> Traced:
        """Whether all components are true (not zero)."""
        return self._reduce("all")

    def count(self) -> Traced:
        """The number of components that are true (not zero)."""
        return self._reduce("count_nonzero")

    def norm(self) -> Traced:
        """The Euclidean length."""
        return self._binary("multiply", self, self).sum()._unary("sqrt")

    def dot(self, other: Any) -> Traced:
        """The inner product with another row or vector."""
        return (self * other).sum()

    def clip(self, low: float, high: float) -> Traced:
        """No less than ``low``, no more than ``high``."""
        return self._binary("minimum", self._binary("maximum", self, low), high)

    def astype(self, _dtype: Any) -> Traced:
        """The value itself: a formula has one type of numbers."""
        return self

    __matmul__ = dot

    def __rmatmul__(self, other: Any) -> Traced:
        return (self * other).sum()

    # -- what no formula can say

    def __bool__(self) -> NoReturn:
        _refuse("a truth value that differs from pair to pair cannot steer Python", "if, and, or, not", "zf.where, &, |, ~")

    def __float__(self) -> NoReturn:
        _refuse("a value that differs from pair to pair is no Python number", "float() or math", "numpy's functions")

    __int__ = __index__ = __complex__ = __float__

    def __iter__(self) -> Any:
        dim = None if self._side is None else self._notes.dims[self._side]
        if dim is not None:
            return (self[k] for k in range(dim))
        _refuse("a loop over components that are not known", "for", "sum(), max(), …")

    def __contains__(self, _item: Any) -> NoReturn:
        _refuse("'in' asks for one truth value for all pairs", "in", "any(x == value)")

    def __array__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        _refuse("a value that differs from pair to pair is no array", "numpy.asarray", "operators and numpy's functions")

    def __setitem__(self, _key: Any, _value: Any) -> NoReturn:
        _refuse("rows are not to be changed", "x[k] = …")


def _method(name: str) -> Callable[[Traced], Traced]:
    def method(self: Traced) -> Traced:
        return self._unary(name)

    method.__name__ = name
    method.__doc__ = f"``{_UNARY[name].format('v')}`` of every component."
    return method


for _name in "sqrt exp log log2 log10 log1p expm1 sin cos tan sinh cosh tanh floor ceil sign isnan square".split():
    setattr(Traced, _name, _method(_name))
for _name, _ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(Traced, f"__{_name}__", _method(_ufunc))


def _operator(name: str, swapped: bool) -> Callable[[Traced, Any], Traced]:
    def method(self: Traced, other: Any) -> Traced:
        return self._binary(name, other, self) if swapped else self._binary(name, self, other)

    return method


for _name, _ufunc in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "pow": "power",
    "and": "logical_and",
    "or": "logical_or",
    "xor": "logical_xor",
}.items():
    setattr(Traced, f"__{_name}__", _operator(_ufunc, False))
    setattr(Traced, f"__r{_name}__", _operator(_ufunc, True))
for _name, _ufunc in {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}.items():
    setattr(Traced, f"__{_name}__", _operator(_ufunc, False))


def _number(value: float) -> str:
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "(-inf)"
    return repr(value) if value >= 0 else f"({value!r})"


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``; for traced values and, as ``numpy.where``, for arrays.

    Parameters
    ----------
    condition, a, b : values of a formula, numbers or arrays

    Returns
    -------
    a value of the formula, or an array

    Raises
    ------
    TraceError
        For what has no place in a formula.

    >>> import zipfold as zf
    >>> zf.pairs([[1.0], [4.0]]).pair(lambda x, y: zf.where(x[0] < y[0], y[0], 0)).matrix().run()
    array([[0., 4.],
           [0., 0.]])
    """
    first = next((v for v in (condition, a, b) if isinstance(v, Traced)), None)
    if first is None:
        return np.where(condition, a, b)
    c, a, b = (first._operand(v) for v in (condition, a, b))
    if not c._truth:
        c = c._nonzero()
    text = f"if({c._text}, {a._text}, {b._text})"
    return first._joined(text, [c, a, b], a._truth and b._truth)


def popcount(value: Any) -> Any:
    """The number of ones in binary of a whole number from 0 to 2**53 - 1, NaN of anything else; for traced values and arrays.

    Parameters
    ----------
    value : value of a formula, number or array

    Returns
    -------
    a value of the formula, or an array of float64

    Raises
    ------
    TypeError
        For what is no number.

    >>> import zipfold as zf
    >>> zf.pairs([[1.0], [6.0]]).pair(lambda x, y: zf.popcount(x[0] + y[0])).matrix().run()
    array([[1., 3.],
           [3., 2.]])
    """
    if isinstance(value, Traced):
        return value._unary("bitwise_count")
    array = numbers(array_of(value, "value"), "value").astype(np.float64, copy=False)
    there = (array >= 0) & (array < 2.0**53) & (array == np.floor(array))
    words = np.atleast_1d(np.where(there, array, 0)).astype("<u8")
    ones = np.unpackbits(words.view(np.uint8)).reshape(*array.shape, 64).sum(-1)
    return np.where(there, ones, np.nan)


def tuple_of(*parts: Any) -> Traced:
    """A pair's value of several numbers, for sums and means by rows.

    Parameters
    ----------
    *parts : values of a formula, or numbers

    Returns
    -------
    a value of as many numbers as there are parts

    Raises
    ------
    ValueError
        Where none of the parts depends on the rows.

    >>> import zipfold as zf
    >>> zf.pairs([[1.0, 5.0], [4.0, 9.0]]).pair(lambda x, y: zf.tuple_of(y[0], x[1] - y[1])).sum().run()
    array([[ 5., -4.],
           [ 5.,  4.]])
    """
    first = next((p for p in parts if isinstance(p, Traced)), None)
    if first is None:
        raise RequestError("none of the parts depends on the rows")
    return first._new(f"vec({', '.join(first._operand(p)._text for p in parts)})", False)


def trace(
    function: Callable[..., Any],
    options: dict[str, Any] | None = None,
    dim: Width = None,
    names: Names = (None, None),
    attributes: tuple[Sequence[str], Sequence[str]] = ((), ()),
    truth: bool = False,
) -> tuple[str, dict[str, Any]]:
    """The formula of a function of two rows, and its parameters.

    Parameters
    ----------
    function : callable
        Called as ``function(x, y, **options)``, twice: what depends on more than its arguments (random numbers, a counter, the
        clock) gives two formulas, and is refused. Other side effects, such as printing, happen twice and not once a pair.
    options : dict, optional
        Numbers become parameters of the formula, so that another value needs no second tracing; arrays of the length
        of a row too; anything else is handed through.
    dim : int or pair of int, optional
        The number of components of a row, or those of a row of x and of one of y.
    names : pair of sequences of str, optional
        Column names of x and of y.
    attributes : pair of sequences of str, optional
        Names of numbers beside the components of x and of y.
    truth : bool
        Whether rows are known to hold truth values alone, so that ``x & y`` says something.

    Returns
    -------
    text of the formula, and its parameters by name

    Raises
    ------
    TraceError
        Where the function does what no formula can say; the message names the operation and the line.

    >>> from zipfold.trace import trace
    >>> trace(lambda x, y: abs(x - y).sum())
    ('sum((abs((x - y))))', {})
    """
    # A function compiled by numba keeps the Python one that it was made of.
    function = getattr(function, "py_func", function)
    text, params = _once(function, options or {}, _Notes(dim, names, attributes, truth))
    again, others = _once(function, options or {}, _Notes(dim, names, attributes, truth))
    if text != again or not _same(params, others):
        raise TraceError(
            "the function gives another formula every time it is called (random numbers, a counter, the clock?): it is called for "
            "all pairs at once, not once a pair\n  try: numbers drawn before, as attributes of the rows"
        )
    return text, params


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(np.array_equal(a[key], b[key], equal_nan=True) for key in a)


def _once(function: Callable[..., Any], options: dict[str, Any], notes: _Notes) -> tuple[str, dict[str, Any]]:
    x, y = Traced(notes, "x", True, side=0), Traced(notes, "y", True, side=1)
    bound = {key: _bound(notes, key, value) for key, value in options.items()}
    try:
        value = function(x, y, **bound)
    except TypeError as error:
        if isinstance(error, TraceError) or _signature_fits(function, bound):
            raise
        raise TraceError(f"the function cannot be called with two rows: {error}") from None
    if value is None:
        name = getattr(function, "__name__", "the function")
        raise TraceError(f"{name} returned None, not a value of the pair: it lacks a 'return'")
    if isinstance(value, tuple):
        value = tuple_of(*value)
    if not isinstance(value, Traced):
        try:
            value = x._operand(value)
        except TraceError:
            raise TraceError(f"the function gave a {type(value).__name__}, not a value of the pair") from None
    return value._text, notes.params


def _quoted(text: str) -> str:
    """A text that columns of text are compared with, as formulas write it."""
    quote = next((quote for quote in "'\"" if quote not in text), None)
    if quote is None or "\n" in text:
        _refuse("expected a text without a line's end and with one kind of quotes", repr(text)[:40])
    return f"{quote}{text}{quote}"


def _seconds(value: Any) -> Any:
    """Times as columns of times are: seconds, since 1970 where they are moments."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.datetime):
        return (value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)).timestamp()
    if isinstance(value, (np.timedelta64, np.datetime64)):
        kind = "m8[ns]" if isinstance(value, np.timedelta64) else "M8[ns]"
        if np.isnat(value):
            return float("nan")
        # A quotient of whole numbers is rounded once.
        return int(value.astype(kind).astype(np.int64)) / 10**9
    return value


def _bound(notes: _Notes, name: str, value: Any) -> Any:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        notes.params[name] = number(value, name)
        return Traced(notes, name, False)
    array = array_of(value, name) if isinstance(value, (list, tuple, np.ndarray)) else None
    if array is not None and array.ndim == 1 and array.size in notes.dims and array.dtype.kind in "biuf":
        notes.params[name] = array.astype(np.float64)
        return Traced(notes, name, True)
    return value


def _signature_fits(function: Callable[..., Any], bound: dict[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None, **bound)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _refuse(what: str, operation: str, remedy: str | None = None) -> NoReturn:
    """Raises with the operation and the line of the user's code that did it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_HERE, _NUMPY)):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    code = linecache.getline(file, line).strip()
    place = f"{os.path.basename(file)}:{line}"
    shown = f"\n    {code}" if code else ""
    tail = f"\n  try: {remedy}" if remedy else ""
    raise TraceError(f"{place}: {what} ({operation}){shown}{tail}")

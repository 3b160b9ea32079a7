"""The general face: say what one pair is and what is kept, then look at the plan, or run.

>>> import zipfold as zf
>>> X = [[0.0], [1.0], [3.0]]
>>> zf.pairs(X).pair(lambda x, y: abs(x - y).sum()).sum().run()
array([4., 3., 5.])
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import array as array_of
from .arrays import as_json, named_rows, number, numbers, rows
from .attributes import Attributes, of_sides
from .distances import pair as pair_of
from .errors import ArrayTypeError, InputError, RequestError
from .renamed import Methods, no_argument, no_attribute
from .results import Plan, Same, Tally, of_answer
from .settings import checked_precision, given, settings
from .trace import trace

__all__ = ["Fold", "Outcome", "Pairs", "fold", "merge", "pairs"]

_OPERATIONS = ("sum", "mean", "min", "max", "argmin", "argmax", "count", "logsumexp", "softmax")
_STATISTICS = ("sum", "mean", "variance", "min", "max")
_DOMAINS = ("cross", "triangle", "diagonal", "ordered", "square")


@dataclasses.dataclass(frozen=True)
class Fold:
    """What is kept of the values; made by the functions of :mod:`zipfold.fold`."""

    spec: dict[str, Any]
    weights: tuple[Any, Any] | None = None
    traced: tuple[tuple[str, Callable[..., Any]], ...] = ()


class fold(metaclass=Methods):
    """Folds, for :meth:`Pairs.fold`. Each is also a method of :class:`Pairs`."""

    @staticmethod
    def matrix() -> Fold:
        """The n × m matrix."""
        return Fold({"kind": "matrix"})

    @staticmethod
    def condensed() -> Fold:
        """The values of i < j in SciPy's condensed order."""
        return Fold({"kind": "condensed"})

    @staticmethod
    def reduce(op: str, *, axis: str | int | None = 1, weights: Any = None) -> Fold:
        """One number per row (``axis=1`` or ``"row"``), per column (``0``, ``"column"``) or in all (``None``, ``"all"``).

        ``op`` is sum, mean, min, max, argmin, argmax, count, logsumexp or softmax; ``weights`` has a number, or a row of
        numbers, for every row that is folded away.

        Of ``domain("triangle")`` and ``domain("diagonal")`` a row has all pairs that it is in, i < j or j < i, while
        ``axis=None`` has each pair once: then ``sum(None)`` is ``condensed().sum()``, and ``count(None)`` the total of
        the histogram. Without ``domain`` all ordered pairs of a set with itself count, (i, i) too.
        """
        if op not in _OPERATIONS:
            raise RequestError(f"op: no operation '{op}'\n  try: one of {', '.join(_OPERATIONS)}")
        side = {1: "row", "row": "row", 0: "column", "column": "column", None: "all", "all": "all"}.get(axis)
        if side is None:
            raise RequestError(f"axis: {axis!r}\n  try: 1 for rows of x, 0 for rows of y, None for all")
        spec = {"kind": "reduce", "op": op, "axis": side}
        return Fold(spec, None if weights is None else (weights, weights))

    @staticmethod
    def sum(axis: str | int | None = 1, *, weights: Any = None) -> Fold:
        """The sum, along ``axis`` as in :meth:`reduce`; with weights Σ v·w."""
        return fold.reduce("sum", axis=axis, weights=weights)

    @staticmethod
    def mean(axis: str | int | None = 1, *, weights: Any = None) -> Fold:
        """The mean, along ``axis`` as in :meth:`reduce`; with weights Σ v·w / Σ w, for each column of weights."""
        return fold.reduce("mean", axis=axis, weights=weights)

    @staticmethod
    def min(axis: str | int | None = 1) -> Fold:
        """The least, along ``axis`` as in :meth:`reduce`."""
        return fold.reduce("min", axis=axis)

    @staticmethod
    def max(axis: str | int | None = 1) -> Fold:
        """The largest, along ``axis`` as in :meth:`reduce`."""
        return fold.reduce("max", axis=axis)

    @staticmethod
    def argmin(axis: str | int | None = 1) -> Fold:
        """The number of the row of the least value (the first of equals; −1 where there is none), along ``axis`` as in :meth:`reduce`."""
        return fold.reduce("argmin", axis=axis)

    @staticmethod
    def argmax(axis: str | int | None = 1) -> Fold:
        """The number of the row of the largest value (the first of equals; −1 where there is none), along ``axis`` as in :meth:`reduce`."""
        return fold.reduce("argmax", axis=axis)

    @staticmethod
    def count(axis: str | int | None = 1) -> Fold:
        """How many are not zero, along ``axis`` as in :meth:`reduce`."""
        return fold.reduce("count", axis=axis)

    @staticmethod
    def logsumexp(axis: str | int | None = 1, *, weights: Any = None) -> Fold:
        """The logarithm of the sum of the exponentials, along ``axis`` as in :meth:`reduce`."""
        return fold.reduce("logsumexp", axis=axis, weights=weights)

    @staticmethod
    def softmax(axis: str | int | None = 1, *, weights: Any = None) -> Fold:
        """The mean of the weights, each weighing the exponential of its value, along ``axis`` as in :meth:`reduce`."""
        return fold.reduce("softmax", axis=axis, weights=weights)

    @staticmethod
    def quantile(q: Any = 0.5) -> Fold:
        """The quantiles ``q`` of every row of x, interpolated as by ``numpy.quantile``: an array of a number for each row,
        or of as many as ``q`` has. NaN where a value is NaN, and where a row has no pair."""
        many = [float(one) for one in np.atleast_1d(q)]
        odd = [one for one in many if not 0 <= one <= 1]
        if odd:
            raise RequestError(f"q: expected a quantile from 0 to 1, got {odd[0]}\n  try: 0.5 for the median")
        return Fold({"kind": "quantile", "q": many})

    @staticmethod
    def median() -> Fold:
        """The median of every row of x: ``quantile(0.5)``."""
        return fold.quantile(0.5)

    @staticmethod
    def nearest(k: int, *, largest: bool | None = None) -> Fold:
        """The ``k`` nearest of every row, ties by index: those of the ``largest`` values or of the smallest; unless said,
        the largest of a similarity (``zf.metrics()[name]["kind"]``), the smallest of anything else."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k < 2**63:
            raise RequestError(f"k: {k!r} neighbours (limit: a whole number from 1)")
        spec: dict[str, Any] = {"kind": "nearest", "k": int(k)}
        return Fold(spec if largest is None else spec | {"largest": bool(largest)})

    @staticmethod
    def top(k: int, *, largest: bool | None = None) -> Fold:
        """The ``k`` best pairs of all, ties by row: those of the ``largest`` values or of the smallest; unless said, as in
        :meth:`nearest`."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k < 2**63:
            raise RequestError(f"k: {k!r} pairs (limit: a whole number from 1)")
        spec: dict[str, Any] = {"kind": "top", "k": int(k)}
        return Fold(spec if largest is None else spec | {"largest": bool(largest)})

    @staticmethod
    def histogram(
        bins: Any = 100,
        range: tuple[float, float] | None = None,
        *,
        weights: Any = None,
        mean: bool = False,
        closed: str = "last",
        axes: Sequence[dict[str, Any]] | None = None,
        weight: str | Callable[..., Any] | None = None,
        values: dict[str, str | Callable[..., Any]] | None = None,
        keep: str | Sequence[str] = "mean",
    ) -> Fold:
        """Exact counts by bin.

        ``bins`` is a number of bins over ``range`` (without one, over the exact minimum and maximum) or an array of
        edges. ``weights`` are one array for the rows of x and y, or two; a pair weighs the product. ``axes`` gives two
        or three axes, each ``{"value": formula, "bins": …, "range": …}`` or with ``"edges"``.

        ``weight`` is a formula instead: what a pair weighs. ``values`` are formulas by name, of whose values in each bin
        ``keep`` says what is kept: ``"sum"``, ``"mean"``, ``"variance"`` (of the whole, as ``numpy.var``), ``"min"``,
        ``"max"``, or several of them. Sums are exact; only the result is rounded.
        """
        if closed not in ("last", "half-open"):
            raise RequestError(f"closed: '{closed}' (limit: 'last' or 'half-open')")
        one = [{"bins": bins, "range": range}] if axes is None else list(axes)
        spec: dict[str, Any] = {"kind": "histogram", "axes": [_axis(a) for a in one], "closed": closed, "mean": bool(mean)}
        if weights is not None and not (isinstance(weights, tuple) and len(weights) == 2):
            weights = (weights, weights)
        if weights is not None and weight is not None:
            raise RequestError("weight: expected weights of rows or a formula, got both\n  try: multiply them in the formula")
        kept = [keep] if isinstance(keep, str) else list(keep)
        odd = [one for one in kept if one not in _STATISTICS]
        if odd or not kept:
            raise RequestError(f"keep: expected some of {', '.join(_STATISTICS)}, got {keep!r}\n  try: keep='mean'")
        traced = []
        if callable(weight):
            traced.append(("weight", weight))
        elif weight is not None:
            spec["weight"] = weight
        for name, formula in (values or {}).items():
            if callable(formula):
                traced.append((f"values.{name}", formula))
            spec.setdefault("values", {})[name] = {"formula": formula, "keep": kept}
        return Fold(spec, weights, tuple(traced))

    @staticmethod
    def join(
        where: str | Callable[..., Any], value: str | Callable[..., Any] | None = None, *, kind: str = "inner", **old: Any
    ) -> Fold:
        """The pairs where a condition holds (``kind="inner"``), or the rows of x with (``"semi"``) or without
        (``"anti"``) such a pair. ``value`` is kept with each match."""
        if old:
            raise ArrayTypeError(no_argument("join", next(iter(old))))
        if kind not in ("inner", "semi", "anti"):
            raise RequestError(f"kind: '{kind}' (limit: 'inner', 'semi' or 'anti')")
        spec: dict[str, Any] = {"kind": "join", "join_kind": kind}
        traced = []
        for key, formula in (("where", where), ("value", value)):
            if callable(formula):
                traced.append((key, formula))
            elif formula is not None:
                spec[key] = formula
        return Fold(spec, None, tuple(traced))


def _axis(given: dict[str, Any]) -> dict[str, Any]:
    bins, limits = given.get("bins", 100), given.get("range")
    axis: dict[str, Any] = {"value": given["value"]} if "value" in given else {}
    edges = given.get("edges", None if np.ndim(bins) == 0 else bins)
    if edges is not None:
        return axis | {"edges": numbers(array_of(edges, "edges"), "edges").astype(np.float64).ravel().tolist()}
    if isinstance(bins, str):
        raise RequestError(f"bins: {bins!r} (limit: a whole number from 1, or edges)\n  try: numpy.histogram_bin_edges of a sample")
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise RequestError(f"bins: {bins!r} (limit: a whole number from 1, or edges)")
    axis["bins"] = int(bins)
    if limits is not None:
        if isinstance(limits, str) or np.ndim(limits) != 1 or len(limits) != 2:
            raise RequestError(f"range: {limits!r} (limit: two numbers)\n  try: range=(0, 1)")
        low, high = (number(v, "range") for v in limits)
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise RequestError(f"range: {low} to {high} (limit: finite, ascending)")
        axis["range"] = [low, high]
    return axis


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome(Same):
    """What a run gave: ``results`` by fold, the ``plan`` that ran, the ``tally`` of pairs, ``seconds``."""

    results: tuple[Any, ...]
    plan: dict[str, Any]
    problem: dict[str, Any]
    tally: Tally
    pairs: int
    seconds: float
    #: The names of the groups, in the order of results, where there are groups.
    groups: list[str] | None = None

    def __iter__(self) -> Any:
        return iter(self.results)

    def __getattr__(self, name: str) -> Any:
        raise no_attribute("Outcome", name, "field")


class Pairs:
    """A question about all pairs, under construction. Every method returns a new one; nothing runs before ``run``."""

    def __init__(self, x: Any, y: Any = None, names: Any = None, attributes: Any = None, listed: Any = None) -> None:
        if isinstance(y, (int, float, np.number)) and np.ndim(y) == 0:
            raise InputError(f"Y: expected rows, got the number {y}\n  try: k={y}")
        self._x = named_rows(x, "X")
        self._y = None if y is None else named_rows(y, "Y")
        if names is not None:
            both = names if isinstance(names, tuple) else (names, names)
            self._x = (self._x[0], _column_names(both[0], self._x[0], "X"))
            self._y = self._y and (self._y[0], _column_names(both[1], self._y[0], "Y"))
        self._beside: tuple[Attributes | None, Attributes | None] = (None, None)
        if attributes is not None:
            self._beside = of_sides(attributes, len(self._x[0]), None if self._y is None else len(self._y[0]))
        self._texts: tuple[Sequence[str], Sequence[str]] = ((), ())
        self._problem: dict[str, Any] = {"schema": 1, "x": {"name": "X"}, "folds": []}
        if self._y is not None:
            self._problem["y"] = {"name": "Y"}
        #: The rows of the pairs that are visited, where these are listed.
        self._listed: np.ndarray | None = None
        if listed is not None:
            self._listed = _row_pairs(listed)
            self._problem["pairs"] = {"name": "pairs"}
        self._weights: tuple[tuple[np.ndarray, np.ndarray] | None, ...] = ()
        #: Whether the weights of a fold have columns, if only one, so that its result has them too.
        self._tall: tuple[bool, ...] = ()

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Buffers that travelled beside a pickle may lie anywhere: rows are made again where they are not aligned.
        self.__dict__.update(state)
        self._x, self._y = _aligned(self._x), _aligned(self._y)
        x, y = (side and side._replace(values=rows(side.values, "attributes")) for side in self._beside)
        self._beside = (x, y)
        self._weights = tuple(w and (rows(w[0], "weights"), rows(w[1], "weights")) for w in self._weights)
        if self._listed is not None:
            self._listed = rows(self._listed, "pairs")

    def __getattr__(self, name: str) -> Any:
        raise no_attribute("Pairs", name, "method")

    def _with(self, **fields: Any) -> Pairs:
        other = object.__new__(Pairs)
        other.__dict__.update(self.__dict__)
        other._problem = {**self._problem, **{k: v for k, v in fields.items() if v is not None}}
        return other

    def _names(self) -> tuple[Sequence[str] | None, Sequence[str] | None]:
        return self._x[1], (self._y or self._x)[1]

    def _attributes(self) -> tuple[Sequence[str], Sequence[str]]:
        names = [side.names if side else [] for side in self._beside]
        return names[0], names[0] if self._y is None else names[1]

    def _with_texts(self, x: Sequence[str], y: Sequence[str]) -> Pairs:
        """Columns whose numbers stand for words, in ascending order."""
        other = self._with()
        other._texts = (x, y)
        return other

    def _dims(self) -> tuple[int, int]:
        return self._x[0].shape[1], (self._y or self._x)[0].shape[1]

    @property
    def problem(self) -> dict[str, Any]:
        """The problem as data, as in a problem file."""
        return json.loads(as_json(self._problem))

    def pair(self, pair: str | Callable[..., Any], **params: Any) -> Pairs:
        """What one pair is: a metric's name, a formula, or a function of two rows; ``params`` are its options.

        >>> import zipfold as zf
        >>> zf.pairs([[0.0], [2.0]]).pair("exp(-sum((x - y)^2) / (2*h^2))", h=2.0).matrix().run().round(3)
        array([[1.   , 0.607],
               [0.607, 1.   ]])
        """
        metric, formula, bound = pair_of(pair, params, self._dims(), self._names(), self._attributes())
        bound = {key: v if isinstance(v, (float, str)) else np.asarray(v, float).tolist() for key, v in bound.items()}
        spec = {"metric": metric} if metric is not None else {"formula": formula}
        return self._with(pair={**spec, "params": bound})

    def periodic(self, box: Any) -> Pairs:
        """Differences by the minimum image in a box: a length for all sides, 1 to 3 lengths, 3 lengths and 3 angles in degrees,
        or 3 × 3 vectors.

        A formula uses coordinates through differences of the two rows, in any spelling (``x - y``, ``y[0] - x[0]``,
        ``w*x - w*y``); anything else depends on where the walls are, and is refused. Coordinates that no box is about
        are ``attributes``: ``x.height``.
        """
        array: np.ndarray = numbers(array_of(box, "box"), "box").astype(np.float64).ravel()
        if np.ndim(box) == 0:
            array = np.repeat(array, max(self._dims()))
        if not np.isfinite(array).all():
            raise InputError(f"box: {array.tolist()} (limit: finite numbers)")
        return self._with(box=array.tolist())

    def cutoff(self, cutoff: float) -> Pairs:
        """Only pairs of rows at most this far apart (by Euclidean distance, in the box if there is one)."""
        limit = number(cutoff, "cutoff")
        if not limit > 0:
            raise RequestError(f"cutoff: {cutoff} (limit: more than 0)")
        return self._with(cutoff=limit)

    def domain(self, domain: str) -> Pairs:
        """Which pairs: ``cross``, ``triangle`` (i < j), ``diagonal`` (i <= j), ``ordered`` (i != j), ``square`` (all)."""
        if domain not in _DOMAINS:
            raise RequestError(f"domain: '{domain}'\n  try: one of {', '.join(_DOMAINS)}")
        return self._with(domain=domain)

    def by(self, column: str) -> Pairs:
        """Keeps the results of groups of rows apart, by an attribute of labels or numbers.

        A histogram has counts for each pair of groups (``counts[a, b]``), a result of rows one for each group of the
        other row, ``nearest(k)`` k for each group. Groups are in ascending order; ``outcome().groups`` names them. A row
        without a label is an error, or takes part in no pair with ``nan("skip")``.

        >>> import zipfold as zf
        >>> cells = zf.pairs([[0.0], [1.0], [3.0]], attributes={"kind": ["O", "H", "H"]}).by("kind")
        >>> found = cells.histogram(2, (0, 4)).run()
        >>> found.groups, found.counts[0, 1]
        (['H', 'O'], array([1, 1], dtype=uint64))
        >>> cells.domain("ordered").sum().run()
        array([[4., 0.],
               [2., 1.],
               [2., 3.]])
        """
        if not isinstance(column, str):
            raise ArrayTypeError(f"by: the name of an attribute is wanted, here is a {type(column).__name__}")
        return self._with(by=column)

    def batch(self, column: str) -> Pairs:
        """Asks the question of the rows of each label of an attribute alone, all in one run; of two inputs, of equal labels.

        The answers follow one another in the order of labels (``outcome().groups``): ``histogram`` has counts of batches ×
        bins, ``axis=None`` a number for each batch, ``matrix`` and ``condensed`` the values of one batch after another, and
        results by row are those of all rows. The time follows the pairs within batches.

        >>> import zipfold as zf
        >>> frames = zf.pairs([[0.0], [1.0], [3.0], [5.0], [6.0]], attributes={"frame": [1, 1, 2, 2, 2]}).batch("frame")
        >>> frames.histogram(3, (0, 3)).run().counts
        array([[0, 1, 0],
               [0, 1, 2]], dtype=uint64)
        >>> frames.condensed().run()
        array([1., 2., 3., 1.])
        """
        if not isinstance(column, str):
            raise ArrayTypeError(f"batch: the name of an attribute is wanted, here is a {type(column).__name__}")
        return self._with(batch=column)

    def within(self, condition: str) -> Pairs:
        """Only pairs of rows with the same key (``"same:COLUMN"``, ``"block:COLUMN"``) or with another one
        (``"other:COLUMN"``), by an attribute; ``"same"`` and ``"other"`` alone are about the groups of :meth:`by`.
        ``"band:ROWS"`` keeps ``|i - j|`` up to a number of rows, ``"window:COLUMN:WIDTH"`` differences of a sorted attribute
        up to a width, ``"earlier"`` the pairs with j < i, credited to row i. ``" and "`` joins conditions. The time follows
        the pairs that are kept. A second call adds a condition.

        >>> import zipfold as zf
        >>> rows = zf.pairs([[0.0], [1.0], [3.0], [3.5]], attributes={"sample": [1, 1, 2, 2]})
        >>> rows.within("same:sample").nearest(1).run().indices.ravel()
        array([1, 0, 3, 2])
        >>> zf.pairs([[0.0], [1.0], [3.0]]).within("earlier").sum().run()
        array([0., 1., 5.])
        """
        before = self._problem.get("within")
        return self._with(within=condition if before is None else f"{before} and {condition}")

    def param(self, **values: Any) -> Pairs:
        """Asks the question for each of several values of a parameter of the formulas, in one sweep: what does not depend on it is
        computed once for each pair. Results have one more axis: the second one by row (rows × values), the first one otherwise.

        >>> import numpy as np
        >>> import zipfold as zf
        >>> kernel = zf.pairs([[0.0], [1.0], [3.0]]).pair("exp(-sum((x - y)^2) / (2*h^2))")
        >>> kernel.param(h=[0.5, 1.0, 2.0]).mean().run().round(3)
        array([[0.378, 0.539, 0.736],
               [0.379, 0.581, 0.83 ],
               [0.333, 0.382, 0.644]])
        """
        if len(values) != 1:
            names = ", ".join(values) or "none"
            raise RequestError(f"param: expected one parameter with several values, got {names}\n  try: .param(h=[0.1, 0.2, 0.5])")
        name, several = next(iter(values.items()))
        array = numbers(array_of(several, name), name).astype(np.float64)
        if array.ndim != 1:
            raise InputError(f"{name}: expected a list of values, got the shape {array.shape}\n  try: .pair(formula, {name}=…)")
        return self._with(param={"name": name, "values": array.tolist()})

    def then(self, what: str) -> Pairs:
        """Folds the results of rows once more, over the rows: ``sum``, ``mean``, ``min``, ``max``, ``median`` or ``quantile:Q`` of
        them. Results that are kept apart stay apart: with :meth:`by` there is one for each pair of groups, with :meth:`batch` one
        for each batch. ``min`` and ``max`` also tell the row (:class:`RowExtremes`).

        >>> import zipfold as zf
        >>> gaps = zf.pairs([[0.0], [1.0], [3.0]]).nearest(1)
        >>> gaps.then("mean").run().round(3)
        np.float64(1.333)
        >>> gaps.then("max").run()
        RowExtremes(values=np.float64(2.0), i=np.int64(2), j=np.int64(1), groups=None)
        """
        if not isinstance(what, str):
            raise ArrayTypeError(f"then: a word is wanted, here is a {type(what).__name__}\n  try: .then('max')")
        return self._with(then=what)

    def nan(self, policy: str) -> Pairs:
        """What happens to NaN: ``error`` (the default), ``propagate``, ``skip``."""
        if policy not in ("error", "propagate", "skip"):
            raise RequestError(f"nan: '{policy}' (limit: 'error', 'propagate' or 'skip')")
        return self._with(nan=policy)

    def precision(self, precision: str) -> Pairs:
        """``"f32"`` or ``"f64"``: in which the values of matrices, sums, means, log-sum-exps and softmax are computed.

        Unless said, in that of the rows: a sum over float32 rows has values in float32, also where these are a condition
        (``sum`` of ``"euclidean(x, y) < 1"``). Histograms, ``join``, ``nearest``, ``min``, ``max``, ``argmin``, ``argmax`` and
        ``count`` of what they decide compare the values in float64, whatever this says.
        """
        return self._with(precision=checked_precision(precision))

    def fold(self, *folds: Fold) -> Pairs:
        """Keeps what the folds say, all of them in one sweep over the pairs."""
        specs: list[dict[str, Any]] = []
        weights, tall = [], []
        params = dict(self._problem.get("pair", {}).get("params", {}))
        for one in folds:
            if not isinstance(one, Fold):
                raise ArrayTypeError(f"a fold is wanted, here is a {type(one).__name__}\n  try: zf.fold.sum()")
            spec = dict(one.spec)
            for key, function in one.traced:
                text, bound = trace(function, {}, self._dims(), self._names(), self._attributes())
                if bound:
                    raise RequestError(f"{key}: arrays inside a condition\n  try: a column of the rows")
                if key.startswith("values."):
                    name = key.removeprefix("values.")
                    spec["values"] = {**spec["values"], name: {**spec["values"][name], "formula": text}}
                else:
                    spec[key] = text
            if one.weights is not None and spec["kind"] == "histogram":
                spec["weights"] = "weights"
            specs.append(spec)
            weights.append(self._checked(one.weights))
            tall.append(one.weights is not None and np.ndim(one.weights[0]) == 2)
        other = self._with(folds=[*self._problem["folds"], *specs])
        other._weights = (*self._weights, *weights)
        other._tall = (*self._tall, *tall)
        if params:
            other._problem["pair"] = {**self._problem["pair"], "params": params}
        return other

    def _checked(self, weights: tuple[Any, Any] | None) -> tuple[np.ndarray, np.ndarray] | None:
        if weights is None:
            return None
        return _weight_rows(weights[0]), _weight_rows(weights[1])

    def matrix(self) -> Pairs:
        """Adds :meth:`fold.matrix`."""
        return self.fold(fold.matrix())

    def condensed(self) -> Pairs:
        """Adds :meth:`fold.condensed`."""
        return self.fold(fold.condensed())

    def reduce(self, op: str, *, axis: str | int | None = 1, weights: Any = None) -> Pairs:
        """Adds :meth:`fold.reduce`."""
        return self.fold(fold.reduce(op, axis=axis, weights=weights))

    def sum(self, axis: str | int | None = 1, *, weights: Any = None) -> Pairs:
        """Adds :meth:`fold.sum`."""
        return self.fold(fold.reduce("sum", axis=axis, weights=weights))

    def mean(self, axis: str | int | None = 1, *, weights: Any = None) -> Pairs:
        """Adds :meth:`fold.mean`."""
        return self.fold(fold.reduce("mean", axis=axis, weights=weights))

    def min(self, axis: str | int | None = 1) -> Pairs:
        """Adds :meth:`fold.min`."""
        return self.fold(fold.reduce("min", axis=axis))

    def max(self, axis: str | int | None = 1) -> Pairs:
        """Adds :meth:`fold.max`."""
        return self.fold(fold.reduce("max", axis=axis))

    def argmin(self, axis: str | int | None = 1) -> Pairs:
        """Adds :meth:`fold.argmin`."""
        return self.fold(fold.reduce("argmin", axis=axis))

    def argmax(self, axis: str | int | None = 1) -> Pairs:
        """Adds :meth:`fold.argmax`."""
        return self.fold(fold.reduce("argmax", axis=axis))

    def count(self, axis: str | int | None = 1) -> Pairs:
        """Adds :meth:`fold.count`."""
        return self.fold(fold.reduce("count", axis=axis))

    def logsumexp(self, axis: str | int | None = 1, *, weights: Any = None) -> Pairs:
        """Adds :meth:`fold.logsumexp`."""
        return self.fold(fold.reduce("logsumexp", axis=axis, weights=weights))

    def softmax(self, axis: str | int | None = 1, *, weights: Any = None) -> Pairs:
        """Adds :meth:`fold.softmax`."""
        return self.fold(fold.reduce("softmax", axis=axis, weights=weights))

    def quantile(self, q: Any = 0.5) -> Pairs:
        """Adds :meth:`fold.quantile`."""
        return self.fold(fold.quantile(q))

    def median(self) -> Pairs:
        """Adds :meth:`fold.median`."""
        return self.fold(fold.median())

    def nearest(self, k: int, *, largest: bool | None = None) -> Pairs:
        """Adds :meth:`fold.nearest`."""
        return self.fold(fold.nearest(k, largest=largest))

    def top(self, k: int, *, largest: bool | None = None) -> Pairs:
        """Keeps the ``k`` best pairs of all; see :meth:`fold.top`."""
        return self.fold(fold.top(k, largest=largest))

    def histogram(self, bins: Any = 100, range: tuple[float, float] | None = None, **options: Any) -> Pairs:
        """Adds :meth:`fold.histogram`."""
        return self.fold(fold.histogram(bins, range, **options))

    def join(self, where: str | Callable[..., Any], value: Any = None, *, kind: str = "inner", **old: Any) -> Pairs:
        """Adds :meth:`fold.join`."""
        return self.fold(fold.join(where, value, kind=kind, **old))

    def explain(self, **how: Any) -> Plan:
        """The plan: space, tiles, memory, predicted time. Nothing is run."""
        text, fields, shape, space = _zipfold.explain(self._text(), *self._arguments(), given(**how))
        return Plan(text, json.loads(fields), shape, space)

    def run(self, *, shard: tuple[int, int] | None = None, progress: Any = False, **how: Any) -> Any:
        """The result: of the one fold, or a tuple of all.

        ``shard=(i, n)`` gives, as bytes, shard i of n for :func:`merge`. ``progress`` is True, or a function of pairs
        done and pairs in all of a phase; its method ``phase``, if it has one, is told the name of a phase that begins
        (``range``, ``pairs``). ``threads``, ``memory``, ``device`` and ``plan`` are as in :func:`zipfold.using`.
        """
        if shard is not None:
            raw = _zipfold.run(self._text(), *self._arguments(), given(shard=shard, progress=progress, **how))
            return raw["part"]
        outcome = self.outcome(progress=progress, **how)
        return outcome.results[0] if len(outcome.results) == 1 else outcome.results

    def outcome(self, *, progress: Any = False, **how: Any) -> Outcome:
        """As :meth:`run`, with the plan, the tally of pairs and the time."""
        raw = _zipfold.run(self._text(), *self._arguments(), given(progress=progress, **how))
        return _outcome(raw, self._tall)

    def save(self, *paths: Any, overwrite: bool = False, progress: Any = False, **how: Any) -> list[str]:
        """Runs once, writes the result to every path, and returns the names of the files.

        The suffix names the format: ``.svg`` and ``.png`` are pictures, ``.csv``, ``.npy``, ``.npz``, ``.csr.npz`` and ``.parquet`` hold
        the columns. A matrix that goes to one ``.npy`` file need not fit in memory, nor need the matches of a join that go
        to one file without a picture. Several results get a number before the
        suffix. A file that exists is an error unless ``overwrite``.

        >>> import os, tempfile
        >>> import zipfold as zf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     names = zf.pairs([[0.0], [1.0], [3.0]]).histogram(3, (0, 3)).save(f"{folder}/g.csv", f"{folder}/g.svg")
        ...     [os.path.basename(name) for name in names]
        ['g.csv', 'g.svg']
        """
        if not paths:
            raise RequestError("save: no path\n  try: .save('result.parquet')")
        names = [os.fspath(path) for path in paths]
        return _zipfold.save(self._text(), self._arguments(), given(progress=progress, **how), names, bool(overwrite))

    def _text(self) -> str:
        """The problem as JSON, in the precision in force unless it has its own."""
        precision = self._problem.get("precision") or settings().precision
        return as_json(self._problem if precision is None else {**self._problem, "precision": precision})

    def _arguments(self) -> tuple[Any, Any, tuple[list[Any], np.ndarray | None]]:
        if not self._problem["folds"]:
            raise RequestError("nothing to keep\n  try: .fold(zf.fold.matrix()), .nearest(k), .sum()")
        x, y = (_named(*side) for side in zip((self._x, self._y), self._beside, self._texts, strict=True))
        return x, y, (list(self._weights), self._listed)

    def __repr__(self) -> str:
        n, m = len(self._x[0]), len((self._y or self._x)[0])
        pair = self._problem.get("pair", {})
        what = pair.get("formula") or pair.get("metric") or "euclidean"
        folds = ", ".join(f["kind"] for f in self._problem["folds"]) or "nothing yet"
        return f"<pairs of {n} × {m} rows: {what}; keeps {folds}>"


def _named(rows: tuple[Any, Any] | None, beside: Attributes | None, texts: Sequence[str]) -> Any:
    """Rows with their names, the attributes beside them, and the places of what is text among both."""
    if rows is None:
        return None
    array, names = rows
    places = [list(names or ()).index(name) for name in texts]
    if beside is None:
        return array, names, None, places
    places += [array.shape[1] + beside.names.index(name) for name in beside.texts]
    return array, names, (beside.values, beside.names, beside.words), places


def _weight_rows(weights: Any) -> np.ndarray:
    array = numbers(array_of(weights, "weights"), "weights")
    if array.ndim not in (1, 2):
        raise InputError(f"weights: {array.ndim} dimensions (limit: one weight, or one row of weights, for each row)")
    return array[:, None] if array.ndim == 1 else array


def _row_pairs(pairs: Any) -> np.ndarray:
    """Pairs of row numbers, as the engine takes tables."""
    array = np.asarray(array_of(pairs, "pairs"))
    if array.size == 0:
        return np.empty((0, 2))
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"pairs: expected an array of two columns, got the shape {array.shape}\n  try: np.column_stack([i, j])")
    if array.dtype.kind not in "iu":
        raise ArrayTypeError(f"pairs: expected row numbers, got {array.dtype}\n  try: pairs.astype(np.int64)")
    return np.ascontiguousarray(array, np.float64)


def _aligned(side: Any) -> Any:
    """Rows, with what stands beside them, that the engine takes."""
    return side and (rows(side[0], "rows"), *side[1:])


def _outcome(raw: dict[str, Any], tall: tuple[bool, ...]) -> Outcome:
    problem, tally = json.loads(raw["problem"]), Tally(**raw["tally"])
    folds = zip(problem["folds"], raw["results"], tall, strict=True)
    results = [of_answer(problem, spec, result, raw["shape"], tally, columns) for spec, result, columns in folds]
    groups = next((result["groups"] for result in raw["results"] if result.get("groups") is not None), None)
    return Outcome(tuple(results), json.loads(raw["plan"]), problem, tally, raw["pairs"], raw["seconds"], groups)


def _column_names(names: Any, array: np.ndarray, what: str) -> list[str]:
    out = [str(name) for name in names]
    if len(out) != array.shape[1]:
        raise InputError(f"names: {len(out)} for the {array.shape[1]} columns of {what}")
    return out


def pairs(X: Any, Y: Any = None, *, names: Any = None, attributes: Any = None, pairs: Any = None) -> Pairs:
    """All pairs of rows of ``X``, or of a row of ``X`` with a row of ``Y``.

    One input is said by leaving ``Y`` out: ``pairs(X, X)`` is ``pairs(X, X.copy())``, all rows with all rows. Arrays, tables of any Arrow library (their columns have names), nested lists. ``names`` are those of the columns, or
    a tuple of those of ``X`` and of ``Y``. See :class:`Pairs` for what follows.

    Parameters
    ----------
    X, Y : (n, d) and (m, d) arrays or tables of numbers
        C-contiguous float64 and float32 arrays are not copied.
    names : sequence of str, or a tuple of two
    attributes : dict of n numbers or labels by name, or with Y a tuple of two such dicts
        Masses, weights, labels: ``x.mass`` is that number of a row, while ``x`` and ``x - y`` are about its components
        alone. Labels of one name are numbered together, so that equal ones are equal numbers.
    pairs : (m, 2) array of integers
        Only these pairs: a row of ``X`` and a row of ``Y`` (or of ``X``), from 0, in any order. A pair counts as often as it
        is listed, for its row of ``X``; with ``domain("diagonal")`` for both rows. ``matrix()`` gives the value of each.

    Returns
    -------
    Pairs, about which nothing is computed yet

    Raises
    ------
    ValueError
        For shapes and names that do not fit.
    TypeError
        For what holds no real numbers.

    >>> import zipfold as zf
    >>> zf.pairs([[0.0, 7.0], [2.0, 9.0]], names=["t", "who"]).pair(lambda x, y: abs(x.t - y.t)).condensed().run()
    array([2.])

    The potential of two masses at the place of each third one, and the pairs within a distance that have the same label:

    >>> X, beside = [[0.0], [1.0], [3.0]], {"mass": [1.0, 2.0, 4.0], "kind": ["a", "b", "b"]}
    >>> masses = zf.pairs(X, attributes=beside)
    >>> masses.domain("ordered").pair(lambda x, y: y.mass / abs(x - y).sum()).sum().run()
    array([3.33333333, 3.        , 1.33333333])
    >>> masses.join("x.kind == y.kind and sum(abs(x - y)) < 9").run().i
    array([1])

    The lengths of bonds, and how many each row has:

    >>> bonds = zf.pairs(X, pairs=[[0, 2], [2, 1]])
    >>> bonds.matrix().run(), bonds.domain("diagonal").pair("1").sum().run()
    (array([3., 2.]), array([1., 1., 2.]))
    """
    return Pairs(X, Y, names, attributes, pairs)


def merge(question: Pairs, parts: Sequence[bytes | str | os.PathLike[str]], **how: Any) -> Any:
    """The result of ``question`` from all of its shards: the same bits as ``question.run()``.

    Parameters
    ----------
    question : Pairs
        Over the same rows as those of the shards.
    parts : sequence of bytes or paths
        What ``question.run(shard=(i, n))`` gave, for all i, in any order; or files of ``zipfold run --shard``, next to
        which matches of a join may lie.
    **how
        ``threads``, ``memory``, ``device``.

    Returns
    -------
    as ``question.run()``

    Raises
    ------
    ValueError
        For shards that are missing, damaged, or of another question.

    >>> import zipfold as zf
    >>> question = zf.pairs([[0.0], [1.0], [3.0]]).pair("cityblock").sum()
    >>> zf.merge(question, [question.run(shard=(i, 2)) for i in range(2)])
    array([4., 3., 5.])
    """
    given_parts = [os.fspath(part) if isinstance(part, (str, os.PathLike)) else bytes(part) for part in parts]
    raw = _zipfold.merge(given_parts, *question._arguments(), given(**how))
    results = _outcome(raw, question._tall).results
    return results[0] if len(results) == 1 else results

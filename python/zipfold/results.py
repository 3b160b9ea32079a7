"""Results: arrays with a meaning, that show themselves in a notebook and pickle."""

from __future__ import annotations

import dataclasses
import difflib
import html
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _zipfold
from .errors import RequestError
from .pictures import bars, curve, grid, rows_of_bars
from .renamed import no_attribute

__all__ = ["Histogram", "Marginals", "Matches", "Neighbours", "Plan", "RowExtremes", "Tally"]


def _need(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.split(".")[0]
        raise ImportError(f"this needs {name}\n  try: pip install {name}") from None


class Same:
    """Results are equal where all that they hold is, NaN and NaN too."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        fields = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in fields)

    __hash__ = None  # type: ignore[assignment]


class Reported(Same):
    """An answer of a job: it writes a page about itself."""

    def report(self, path: Any, *, overwrite: bool = False) -> None:
        """Writes a page about the answer to ``path`` (``.html``): the question, the picture and the numbers, in one file."""
        self._page().report(os.fspath(path), overwrite)

    def _page(self) -> Any:
        shown = self.__dict__.get("_shown")
        if shown is None:
            raise RequestError("report: expected the answer of a call, got a copy\n  try: save='page.html' in the call")
        return shown

    def _repr_svg_(self) -> str | None:
        shown = self.__dict__.get("_shown")
        return None if shown is None else shown.svg()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_shown"}


def reported(make: Any, answer: dict[str, Any], **more: Any) -> Any:
    """The result that ``make`` makes of the members of an answer, with what its page shows."""
    shown = answer.pop("shown")
    out = make(**more, **answer)
    object.__setattr__(out, "_shown", shown)
    return out


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_equal(one, other) for one, other in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b)


@dataclasses.dataclass(frozen=True)
class Tally:
    """What happened to the pairs: ``counted``, left out as ``beyond_cutoff`` or ``nan``; together they are all there are."""

    counted: int
    beyond_cutoff: int
    nan: int

    def __getattr__(self, name: str) -> Any:
        raise no_attribute("Tally", name, "field")


#: Tiles of a side in a picture; more are drawn as so many groups of tiles.
_MOST_TILES = 48


@dataclasses.dataclass(frozen=True, eq=False)
class Plan(Same):
    """How a problem is run: ``text`` for people, ``fields`` for programs; ``shape`` is the rows of x and of y, ``space``
    which of their pairs are visited (``cross``, ``triangle``, ``diagonal``, ``ordered``, ``square``)."""

    text: str
    fields: dict[str, Any]
    shape: tuple[int, int]
    space: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def tiles(self) -> list[tuple[int, int, int, int]]:
        """First and last row, first and last column of the tiles that hold pairs; of groups of them where a side has
        more than 48."""
        n, m = self.shape
        tiling = self.fields["tiling"]

        def step(side: int, rows: int) -> int:
            count = -(-rows // side)
            return side * -(-count // _MOST_TILES)

        high, wide = step(tiling["rows"], n), step(tiling["cols"], m)
        half = self.space in ("triangle", "diagonal")
        return [
            (top, min(top + high, n), left, min(left + wide, m))
            for top in range(0, n, high)
            for left in range(0, m, wide)
            if not (half and min(left + wide, m) <= top)
        ]

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the tiles on matplotlib axes, rows downwards, and returns the axes."""
        ax = ax if ax is not None else _need("matplotlib.pyplot").gca()
        patches = _need("matplotlib.patches")
        look = {"alpha": 0.35, "edgecolor": "C0"} | style
        for top, bottom, left, right in self.tiles():
            ax.add_patch(patches.Rectangle((left, top), right - left, bottom - top, **look))
        ax.set(xlabel="rows of y", ylabel="rows of x", xlim=(0, self.shape[1] or 1), ylim=(self.shape[0] or 1, 0))
        return ax

    def _repr_html_(self) -> str:
        rows = [line.split(None, 1) for line in self.text.splitlines()]
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(head)}</th><td style='text-align:left'>{html.escape(rest)}</td></tr>"
            for head, rest in (row for row in rows if len(row) == 2)
        )
        return f"<div>{grid(self.tiles(), self.shape)}<table>{cells}</table></div>"


@dataclasses.dataclass(frozen=True, eq=False)
class Histogram(Same):
    """Counts of pairs by value.

    ``counts`` are exact (uint64), ``edges`` the bin edges (one array per axis for several axes), ``under`` and ``over``
    the pairs beyond them; of several axes ``over`` counts the pairs that one of them leaves out. ``weights`` and ``means`` are there where they were asked for. ``closed`` says whether a value
    on the last edge counts (``"last"``, as in ``numpy.histogram``) or is over (``"half-open"``, as in Corrfunc).
    """

    counts: np.ndarray
    edges: Any
    under: int
    over: int
    closed: str
    tally: Tally
    weights: np.ndarray | None = None
    means: np.ndarray | None = None
    #: What was kept of the values of formulas, by name: ``values["gamma"]["mean"]``.
    values: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    #: The names of groups: ``counts[a, b]`` are the pairs of groups a and b.
    groups: list[str] | None = None
    #: The names of batches: ``counts[b]`` are the pairs of batch b.
    batches: list[str] | None = None
    #: A parameter with several values, its name and its values: ``counts[k]`` are those of value k.
    param: tuple[str, np.ndarray] | None = None

    def of_value(self, at: int) -> Histogram:
        """The histogram for value ``at`` of the parameter. Pairs under and over are not told apart by values."""
        if self.param is None:
            raise RequestError("a histogram without a parameter\n  try: .param(h=[0.1, 0.2])")
        if not -len(self.param[1]) <= at < len(self.param[1]):
            raise RequestError(f"expected a value below {len(self.param[1])}, got {at}")
        return dataclasses.replace(self._part(at), groups=self.groups, batches=self.batches)

    def _of_one_value(self) -> None:
        if self.param is not None:
            raise RequestError("a histogram for several values of a parameter\n  try: .of_value(0) first")

    def of_batch(self, name: str) -> Histogram:
        """The histogram of one batch, by its name. Pairs under and over are not told apart by batches."""
        if self.batches is None:
            raise RequestError("a histogram without batches\n  try: .batch('frame')")
        self._of_one_value()
        if name not in self.batches:
            raise RequestError(f"expected a batch among {', '.join(self.batches[:20])}, got '{name}'")
        return self._part(self.batches.index(name))

    def between(self, a: str, b: str) -> Histogram:
        """The histogram of the pairs of two groups, by their names. Pairs under and over are not told apart by groups."""
        if self.groups is None:
            raise RequestError("a histogram without groups\n  try: .by('kind')")
        self._of_one_value()
        odd = [name for name in (a, b) if name not in self.groups]
        if odd:
            raise RequestError(f"expected a group among {', '.join(self.groups)}, got '{odd[0]}'")
        return self._part((self.groups.index(a), self.groups.index(b)))

    def _part(self, at: Any) -> Histogram:
        def part(array: np.ndarray | None) -> np.ndarray | None:
            return None if array is None else array[at]

        values = {name: {key: array[at] for key, array in kept.items()} for name, kept in self.values.items()}
        return dataclasses.replace(
            self,
            counts=self.counts[at],
            weights=part(self.weights),
            means=part(self.means),
            values=values,
            groups=None,
            batches=None,
            param=None,
        )

    @property
    def centers(self) -> np.ndarray:
        """The middle of every bin."""
        edges = self._one_axis()
        return 0.5 * (edges[1:] + edges[:-1])

    def density(self) -> np.ndarray:
        """Counts over their total and the width of the bin: the integral is 1."""
        edges = self._one_axis()
        total = self.counts.sum()
        return self.counts / (np.diff(edges) * total) if total else np.zeros(len(self.counts))

    def _one_axis(self) -> np.ndarray:
        self._of_one_value()
        if self.groups is not None:
            raise RequestError("a histogram by groups\n  try: .between('a', 'b') first")
        if self.batches is not None:
            raise RequestError("a histogram of batches\n  try: .of_batch('a') first")
        if self.counts.ndim != 1:
            raise RequestError(f"a histogram of {self.counts.ndim} axes\n  try: sum over the others first")
        return np.asarray(self.edges)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws on matplotlib axes, and returns them."""
        self._of_one_value()
        ax = ax if ax is not None else _need("matplotlib.pyplot").gca()
        if self.counts.ndim == 2:
            ax.pcolormesh(self.edges[0], self.edges[1], self.counts.T, **style)
        else:
            ax.stairs(self.counts, self._one_axis(), **style)
            ax.set_ylabel("pairs")
        ax.set_xlabel("value")
        return ax

    def to_pandas(self) -> Any:
        """A DataFrame with ``lo``, ``hi``, ``count``, and ``weight`` and ``mean`` where asked for."""
        return _need("pandas").DataFrame(self._columns())

    def to_arrow(self) -> Any:
        """The same columns as a pyarrow Table."""
        return _need("pyarrow").table(self._columns())

    def _columns(self) -> dict[str, np.ndarray]:
        edges = self._one_axis()
        out = {"lo": edges[:-1], "hi": edges[1:], "count": self.counts}
        if self.weights is not None:
            out["weight"] = self.weights
        if self.means is not None:
            out["mean"] = self.means
        for name, kept in self.values.items():
            out |= {f"{name}.{key}": array for key, array in kept.items()}
        return out

    def _repr_html_(self) -> str:
        words = f"{int(self.counts.sum()):,} pairs in {self.counts.size} bins; {self.under:,} under, {self.over:,} over"
        picture = bars(self.counts, np.asarray(self.edges)) if self.counts.ndim == 1 else ""
        return f"<div>{picture}<div>{words}</div></div>"


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbours(Same):
    """The k nearest of every row: ``indices`` (int64) and ``distances``, n × k, nearest first, ties by index.

    Where a row has fewer than k, the index is −1 and the distance NaN. Unpacks as ``distances, indices``, in
    scikit-learn's order.
    """

    indices: np.ndarray
    distances: np.ndarray
    others: int
    #: The names of groups: both arrays are then n × groups × k.
    groups: list[str] | None = None

    def __iter__(self) -> Any:
        return iter((self.distances, self.indices))

    def graph(self, mode: str = "distance") -> Any:
        """A SciPy CSR matrix: ``"distance"`` or ``"connectivity"``."""
        if self.groups is not None:
            raise RequestError("a graph of neighbours by group\n  try: .indices[:, a] of one group")
        there = self.indices >= 0
        counts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        data = self.distances[there] if mode == "distance" else np.ones(int(there.sum()))
        shape = (len(self.indices), self.others)
        return _need("scipy.sparse").csr_matrix((data, self.indices[there], counts), shape=shape)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the ascending distances of the farthest of the k (what ε of DBSCAN is read from)."""
        ax = ax if ax is not None else _need("matplotlib.pyplot").gca()
        ax.plot(self._farthest(), **style)
        ax.set_xlabel("rows, by distance")
        ax.set_ylabel(f"distance of neighbour {self.indices.shape[-1]}")
        return ax

    def _farthest(self) -> np.ndarray:
        last = self.distances[..., -1].ravel() if self.distances.size else np.empty(0)
        return np.sort(last[np.isfinite(last)])

    def to_pandas(self) -> Any:
        """A DataFrame with ``row``, ``rank``, ``index`` and ``distance``."""
        return _need("pandas").DataFrame(self._columns())

    def to_arrow(self) -> Any:
        """The same columns as a pyarrow Table."""
        return _need("pyarrow").table(self._columns())

    def _columns(self) -> dict[str, np.ndarray]:
        at = np.indices(self.indices.shape).reshape(self.indices.ndim, -1)
        groups = {} if self.groups is None else {"group": np.array(self.groups, object)[at[1]]}
        return {"row": at[0]} | groups | {"rank": at[-1], "index": self.indices.ravel(), "distance": self.distances.ravel()}

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _zipfold.arrow_stream(list(self._columns().items()))

    def _repr_html_(self) -> str:
        n, k = self.indices.shape[0], self.indices.shape[-1]
        words = f"{k} nearest of {n:,} rows among {self.others:,}; distance of the last, ascending"
        return f"<div>{curve(self._farthest())}<div>{words}</div></div>"


@dataclasses.dataclass(frozen=True, eq=False)
class Matches(Same):
    """The pairs of rows where a condition holds: ``i``, ``j`` (int64, sorted) and ``values`` where asked for."""

    i: np.ndarray
    j: np.ndarray
    values: np.ndarray | None
    shape: tuple[int, int]
    tally: Tally

    def __len__(self) -> int:
        return len(self.i)

    def graph(self) -> Any:
        """A SciPy COO matrix of the values, or of ones."""
        data = self.values if self.values is not None else np.ones(len(self.i))
        return _need("scipy.sparse").coo_matrix((data, (self.i, self.j)), shape=self.shape)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws a point for every match."""
        ax = ax if ax is not None else _need("matplotlib.pyplot").gca()
        ax.scatter(self.j, self.i, **({"s": 1} | style))
        ax.set(xlabel="j", ylabel="i", xlim=(-0.5, self.shape[1] - 0.5), ylim=(self.shape[0] - 0.5, -0.5))
        return ax

    def _columns(self) -> dict[str, np.ndarray]:
        out = {"i": self.i, "j": self.j}
        if self.values is not None:
            out["value"] = self.values
        return out

    def to_pandas(self) -> Any:
        """A DataFrame with ``i``, ``j`` and, where asked for, ``value``."""
        return _need("pandas").DataFrame(self._columns())

    def to_arrow(self) -> Any:
        """The same columns as a pyarrow Table."""
        return _need("pyarrow").table(self._columns())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _zipfold.arrow_stream(list(self._columns().items()))

    def _repr_html_(self) -> str:
        per_row = np.bincount(self.i, minlength=self.shape[0]) if self.shape[0] else np.empty(0)
        words = f"{len(self.i):,} matches of {self.shape[0]:,} × {self.shape[1]:,} rows; matches of a row, ascending"
        return f"<div>{curve(np.sort(per_row))}<div>{words}</div></div>"


@dataclasses.dataclass(frozen=True, eq=False)
class Marginals(Same, Mapping[str, dict[str, float]]):
    """Posterior probabilities by variable and state, and ``log10`` of the probability of the evidence.

    A mapping: ``m["lung"]["yes"]``, ``list(m)``, ``len(m)``, ``"lung" in m``, ``m.items()``.
    """

    probabilities: dict[str, dict[str, float]]
    log10: float

    def __getitem__(self, variable: str | int) -> dict[str, float]:
        try:
            return self.probabilities[str(variable)]
        except KeyError:
            near = difflib.get_close_matches(str(variable), self.probabilities, 1)
            raise KeyError(f"no variable '{variable}'" + (f", try '{near[0]}'" if near else "")) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.probabilities)

    def __len__(self) -> int:
        return len(self.probabilities)

    def __contains__(self, variable: object) -> bool:
        return str(variable) in self.probabilities

    def to_pandas(self) -> Any:
        """A DataFrame with ``variable``, ``state`` and ``probability``."""
        return _need("pandas").DataFrame(self._columns())

    def to_arrow(self) -> Any:
        """The same columns as a pyarrow Table."""
        return _need("pyarrow").table(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        flat = [(v, s, p) for v, row in self.probabilities.items() for s, p in row.items()]
        return {"variable": [f[0] for f in flat], "state": [f[1] for f in flat], "probability": [f[2] for f in flat]}

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws a stacked bar for every variable."""
        ax = ax if ax is not None else _need("matplotlib.pyplot").gca()
        for at, row in enumerate(self.probabilities.values()):
            left = 0.0
            for number, share in enumerate(row.values()):
                ax.barh(at, share, left=left, color=f"C{number % 10}", **style)
                left += share
        ax.set_yticks(range(len(self.probabilities)), list(self.probabilities))
        ax.set_xlabel("probability")
        return ax

    def _repr_html_(self) -> str:
        return rows_of_bars(self.probabilities)


def matrix_shape(kind: str, shape: tuple[int, int]) -> tuple[int, ...]:
    """The shape of a dense result."""
    if kind == "matrix":
        return shape
    return (shape[0] * (shape[0] - 1) // 2,)


def of_fold(spec: dict[str, Any], raw: dict[str, Any], shape: tuple[int, int], tally: Tally, columns: bool) -> Any:
    """The result of one fold, from the arrays that the compiled half gave; ``columns`` says that its weights have columns."""
    kind = spec["kind"]
    if kind in ("matrix", "condensed") and raw.get("layout") == "table":
        # The values of listed pairs in their order, or of batches one after another.
        return raw["values"]
    if kind in ("matrix", "condensed"):
        return raw["values"].reshape(matrix_shape(kind, shape))
    if kind == "reduce":
        return _rows(spec, raw, columns)
    if kind == "nearest":
        indices, values = (raw[key].reshape(raw["shape"]) for key in ("indices", "values"))
        return Neighbours(indices, values, shape[1], raw.get("groups"))
    if kind == "histogram":
        return _histogram(spec, raw, tally)
    if raw["layout"] == "array":
        return raw["values"].reshape(raw["shape"])
    if spec.get("join_kind", "inner") != "inner":
        return raw["i"]
    # Pairs, of a join or the best of all.
    return Matches(raw["i"], raw["j"], raw.get("value"), shape, tally)


@dataclasses.dataclass(frozen=True, eq=False)
class RowExtremes(Same):
    """The least or the largest results of rows (:meth:`Pairs.then`): ``values``, the row ``i`` of X that has each, and of nearest rows
    its row ``j`` of Y (−1 where there is none); of results by column ``j`` has them. Numbers, or arrays by group (``groups``), batch,
    value of a parameter and neighbour."""

    values: Any
    i: Any
    j: Any
    groups: list[str] | None = None


def of_answer(
    problem: dict[str, Any], spec: dict[str, Any], raw: dict[str, Any], shape: tuple[int, int], tally: Tally, columns: bool
) -> Any:
    """The result of one fold of ``problem``, after its second stage."""
    if problem.get("then") is None:
        return of_fold(spec, raw, shape, tally, columns)
    whole = tuple(raw["shape"])

    def part(name: str) -> Any:
        if name not in raw:
            return None
        array = raw[name].reshape(whole)
        return array[0] if whole == (1,) else array

    if "i" in raw or "j" in raw:
        return RowExtremes(part("values"), part("i"), part("j"), raw.get("groups"))
    return part("values")


def _rows(spec: dict[str, Any], raw: dict[str, Any], columns: bool) -> Any:
    values = raw["values"].reshape(raw["shape"])
    param = raw.get("param") is not None
    if columns and values.ndim == 1 + param:
        values = values[..., np.newaxis]
    if spec.get("axis") == "all" and not raw.get("batches") and not param:
        return values[0]
    return values


def _histogram(spec: dict[str, Any], raw: dict[str, Any], tally: Tally) -> Histogram:
    edges, beyond = raw["edges"], raw["beyond"]

    def part(name: str) -> np.ndarray | None:
        return raw[name].reshape(raw["shape"]) if name in raw else None

    groups, batches = raw.get("groups"), None
    if raw.get("batches"):
        groups, batches = None, groups
    param = raw.get("param")
    if groups is not None:
        raw = _by_groups(raw, len(groups), [] if param is None else [len(param[1])])
    counts = raw["counts"].reshape(raw["shape"])
    values: dict[str, dict[str, np.ndarray]] = {}
    for name in spec.get("values", {}):
        kept = [key for key in raw if key.startswith(f"{name}.")]
        values[name] = {key.removeprefix(f"{name}."): raw[key].reshape(raw["shape"]) for key in kept}
    under, over = beyond.get("under", 0), beyond.get("over", 0) + beyond.get("outside", 0)
    one = edges[0] if len(edges) == 1 else edges
    closed = spec.get("closed", "last")
    return Histogram(counts, one, under, over, closed, tally, part("weights"), part("means"), values, groups, batches, param)


def _by_groups(raw: dict[str, Any], groups: int, before: list[int]) -> dict[str, Any]:
    """Arrays with a place for each pair of groups, after the values of a parameter. Pairs of i < j have no order, so groups a and b
    are b and a."""
    listed, *bins = raw["shape"][len(before) :]
    a, b = np.triu_indices(groups) if listed != groups * groups else np.divmod(np.arange(listed), max(groups, 1))
    out = {**raw, "shape": [*before, groups, groups, *bins]}
    for key, array in raw.items():
        if isinstance(array, np.ndarray) and array.size == int(np.prod(raw["shape"])):
            parts = array.reshape(*before, listed, *bins)
            out[key] = np.empty((*before, groups, groups, *bins), array.dtype)
            every: tuple[Any, ...] = (slice(None),) * len(before)
            out[key][every + (a, b)] = parts
            if listed != groups * groups:
                out[key][every + (b, a)] = parts
    return out

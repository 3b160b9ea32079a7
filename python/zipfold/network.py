"""Networks of rows that go together: correlations, mutual information, and their significance."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import as_json, finite, finites, named_rows, names_of, truth, whole
from .errors import RequestError
from .remote import place
from .results import Reported, _need, reported
from .settings import check_beside, check_how, given, output_paths
from .tables import picked

__all__ = ["AssociationNetwork", "network"]

_MATRICES = ("values", "weights", "overlaps")


@dataclasses.dataclass(frozen=True, eq=False)
class AssociationNetwork(Reported):
    """Edges between rows that go together, in the order of their rows.

    Edge k joins rows ``i[k] < j[k]`` of ``names``; ``values`` has its measure, ``counts`` the samples that both rows have, ``p``
    its p-value, ``q`` the least false discovery rate at which it is a discovery, ``weights`` its power. ``tested`` are the pairs
    with a value, ``constant`` the rows that never vary. ``fits`` has the scale-free fit of each power, ``matrices`` those of all
    pairs that were asked.
    """

    names: list[str]
    measure: str
    samples: int
    i: np.ndarray
    j: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    p: np.ndarray | None
    q: np.ndarray | None
    weights: np.ndarray | None
    tested: int
    constant: int
    power: float | None
    fits: dict[str, np.ndarray]
    matrices: dict[str, np.ndarray]
    pairs: int

    @property
    def degrees(self) -> np.ndarray:
        """Edges of each row."""
        return np.bincount(np.concatenate([self.i, self.j]), minlength=len(self.names))

    def csr(self) -> Any:
        """The symmetric sparse matrix of weights, of values where there are none; needs SciPy."""
        data = self.values if self.weights is None else self.weights
        places = (np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i]))
        n = len(self.names)
        return _need("scipy.sparse").csr_array((np.concatenate([data, data]), places), shape=(n, n))

    def table(self) -> Any:
        """The edges as a table with names; needs pandas."""
        names = np.array(self.names, dtype=object)
        columns = {"a": names[self.i], "b": names[self.j], self.measure: self.values, "n": self.counts}
        others = {"p": self.p, "q": self.q, "weight": self.weights}
        columns |= {name: values for name, values in others.items() if values is not None}
        return _need("pandas").DataFrame(columns)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws how many rows have how many edges; needs matplotlib."""
        ax = ax or _need("matplotlib.pyplot").gca()
        degrees, rows = np.unique(self.degrees[self.degrees > 0], return_counts=True)
        ax.loglog(degrees, rows, **({"marker": "o", "linestyle": ""} | style))
        ax.set(xlabel="edges of a row", ylabel="rows")
        return ax


def _names(data: Any, names: Sequence[str] | None, transpose: bool, columns: list[str] | None) -> list[str] | None:
    """The names of what goes together: those given, the columns, or an index of words."""
    if names is not None:
        return [str(name) for name in names]
    if transpose:
        return columns
    index = getattr(data, "index", None)
    if index is None or callable(index) or isinstance(index, property):
        return None
    words = list(index)
    return [str(word) for word in words] if any(isinstance(word, str) for word in words) else None


def _question(
    data: Any, names: Sequence[str] | None, matrices: Sequence[str], columns: Any, **asked: Any
) -> tuple[dict[str, Any], tuple[np.ndarray, list[str] | None] | None, list[str]]:
    """The question, the table in memory with its names, and the matrices."""
    wanted = [matrices] if isinstance(matrices, str) else [str(name) for name in matrices]
    unknown = [name for name in wanted if name not in _MATRICES]
    if unknown:
        raise RequestError(f"matrices: expected 'values', 'weights' or 'overlaps', got {unknown[0]!r}")
    asked["powers"] = finites(asked["powers"], "powers")
    asked["columns"] = names_of(columns, "columns")
    asked["transpose"] = truth(asked["transpose"], "transpose")
    check_beside(asked, ("seed",), "permutations", 1000)
    for name, value in (("bins", asked["bins"]), ("order", asked["order"])):
        if value is not None and asked["measure"] != "mi":
            raise RequestError(f"{name}: expected measure='mi', got {asked['measure']!r}\n  try: measure='mi', or leave {name} out")
    if asked["power"] is None and not asked["powers"] and asked["sign"] is not None:
        check_beside(asked, ("sign",), "power", "auto")
    for name in ("fdr", "threshold", "prune", "power"):
        if asked[name] is not None and (name, asked[name]) != ("power", "auto"):
            asked[name] = finite(asked[name], name)
    for name in ("min_periods", "top", "permutations", "seed", "bins", "order"):
        if asked[name] is not None:
            asked[name] = whole(asked[name], name)
    if isinstance(data, (str, os.PathLike)):
        if names is not None:
            raise RequestError(f"names: expected a table in memory, got a file\n  try: ids='name', the column of names")
        return asked | {"data": place(data)}, None, wanted
    if asked["ids"] is not None:
        raise RequestError(f"ids: expected a file, got a table in memory\n  try: names=…[{asked['ids']!r}], and leave ids out")
    array, found = named_rows(data, "data") if asked["columns"] is None else picked(data, "data", asked["columns"])
    return asked | {"data": "data", "columns": None}, (array, _names(data, names, asked["transpose"], found)), wanted


def network(
    data: Any,
    *,
    measure: str = "pearson",
    min_periods: int = 3,
    fdr: float | None = None,
    threshold: float | None = None,
    top: int | None = None,
    permutations: int | None = None,
    seed: int | None = None,
    bins: int | None = None,
    order: int | None = None,
    prune: float | None = None,
    power: float | str | None = None,
    sign: str | None = None,
    powers: Sequence[float] = (),
    matrices: Sequence[str] = (),
    names: Sequence[str] | None = None,
    transpose: bool = False,
    ids: str | None = None,
    columns: Sequence[str | int] | None = None,
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """The network of rows that go together, such as genes over samples.

    Parameters
    ----------
    data : path, array or table
        Rows (genes) by columns (samples). NaN, empty cells and NA are missing. ``transpose=True``: columns go together, as in
        ``DataFrame.corr``.
    measure : {"pearson", "spearman", "kendall", "bicor", "mi"}
        Over the samples that both rows have: Spearman ranks them, bicor takes their medians. ``mi`` is mutual information in nats
        by B-splines of ``order`` (3 by default) in ``bins`` bins (10).
    min_periods : int
        The fewest common samples of a pair that has a value.
    fdr : float, optional
        Edges within this false discovery rate of all pairs (Benjamini and Hochberg).
    threshold, top
        Edges whose value is at least this, without its sign; the best edges of each row.
    permutations, seed
        p-values of this many permutations of samples, and their seed (1 by default). Without them: of Student's t with n - 2 degrees of freedom; of Kendall's tau exact
        ones up to 33 samples without ties, normal ones beyond.
    prune : float, optional
        Removes the weakest edge of each triangle that is below the others by this share (ARACNE).
    power, sign, powers
        Weights of edges: ``|r|**power`` (``sign="unsigned"``, the default), ``((1 + r) / 2)**power`` (``"signed"``), or ``r**power`` and 0
        below 0 (``"hybrid"``). ``power="auto"`` takes the first of ``powers`` with a scale-free fit of 0.85,
        else the best fit, else WGCNA's power for the number of samples.
    matrices : names, optional
        Matrices of all pairs: ``"values"``, ``"weights"``, ``"overlaps"`` (topological ones).
    names, ids, columns
        Names of rows (an index of words names them too); of a file the column of names, and the columns that are read.
    save, overwrite, explain
        Files for the edges: ``.csv``, ``.tsv``, ``.npz``, ``.parquet``, ``.graphml``, ``.csr.npz`` (SciPy's ``load_npz``), or
        ``.svg`` or ``.png`` for a picture of degrees; replace them; return the plan as text, and compute nothing.

    Returns
    -------
    AssociationNetwork
        The same for any threads.

    Raises
    ------
    ValueError
        For infinite values, no samples, names that two rows have, and options that mean nothing together.

    Source: ``crates/zipfold/src/association.rs`` says how pairs are computed.

    >>> import numpy as np, zipfold as zf
    >>> genes = [[1, 2, 3, 4, 5], [2, 4, np.nan, 9, 12], [1, 0, 0, 1, 0]]
    >>> found = zf.network(genes, measure="spearman", threshold=0.9, names=["A", "B", "C"])
    >>> [(found.names[i], found.names[j]) for i, j in zip(found.i, found.j)], found.values, found.counts
    ([('A', 'B')], array([1.]), array([4], dtype=uint64))
    """
    asked = dict(locals())
    check_how(asked.pop("how"), network)
    asked, known, wanted = _question(**{name: asked[name] for name in asked if name not in ("save", "overwrite", "explain")})
    text = as_json(asked)
    if explain:
        return _zipfold.explain_network(text, known, given(**how))
    return reported(AssociationNetwork, _zipfold.network(text, known, wanted, given(**how), (output_paths(save), overwrite)))

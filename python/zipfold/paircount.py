"""Counts of pairs of catalogues, and correlation functions."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import as_json, finites, named_rows, names_of, truth, whole, wholes
from .errors import ArrayTypeError
from .remote import place
from .results import Reported, Same, _need, reported
from .settings import check_how, given, output_paths
from .tables import columns_named, is_name, is_table, names_of_table, picked, usual

__all__ = ["PairCounts", "Term", "paircount"]


@dataclasses.dataclass(frozen=True, eq=False)
class Term(Same):
    """Ordered pairs of two catalogues by bin: ``counts``, the ``sums`` of their weights (or the counts), and ``total``, the
    sum over all pairs that there are."""

    counts: np.ndarray
    sums: np.ndarray
    total: float


@dataclasses.dataclass(frozen=True, eq=False)
class PairCounts(Reported):
    """Pairs of catalogues by separation.

    ``terms["DD"]`` and the others have counts; ``xi`` is the correlation function of each bin. ``curves`` are functions of the
    first axis by name (``xi``, ``w``, ``wp``, ``xi0``, ``xi2``, ``wedge1``, …), with ``errors`` where there are regions.
    ``samples`` has a row for each sample, ``covariance`` is that of all curves one after another.
    """

    axes: list[str]
    edges: list[np.ndarray]
    terms: dict[str, Term]
    xi: np.ndarray | None
    curves: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]
    covariance: np.ndarray | None
    samples: np.ndarray | None
    regions: int
    pairs: int

    @property
    def middles(self) -> np.ndarray:
        """Middles of the bins of the first axis."""
        return (self.edges[0][1:] + self.edges[0][:-1]) / 2

    def plot(self, ax: Any = None, power: int = 0, **style: Any) -> Any:
        """Draws the curves times this power of the first axis, with their errors; needs matplotlib."""
        ax = ax or _need("matplotlib.pyplot").gca()
        scale = self.middles**power
        for name, values in self.curves.items():
            error = self.errors.get(name)
            bars = None if error is None else scale * error
            ax.errorbar(self.middles, scale * values, bars, **({"label": name, "capsize": 2} | style))
        factor = "" if power == 0 else f"{self.axes[0]}^{power} · "
        ax.set(xlabel=self.axes[0], ylabel=factor + "correlation")
        ax.legend()
        return ax


def _read(table: Any, name: str, asked: dict[str, Any]) -> list[str]:
    """The columns of a table that the question reads."""
    angles = asked["sky"] or asked["separation"] == "theta"
    words = ("ra", "dec", *(["distance"] if asked["separation"] != "theta" else [])) if angles else ("x", "y", "z")
    out = usual(table, name, words) if asked["columns"] is None else list(asked["columns"])
    out += [asked[one] for one in ("weights", "regions") if isinstance(asked[one], str)]
    if asked["pip"] is not None and name in ("data", "data2"):
        out += asked["pip"]["columns"]
    if asked["cut"] is not None:
        have = names_of_table(table, name)
        out += [one for one in columns_named(asked["cut"]["value"]) if one in have]
    return list(dict.fromkeys(out))


def _catalogue(data: Any, name: str, asked: dict[str, Any], known: dict[str, Any]) -> str | None:
    """The name of a catalogue: its file, or ``name`` of one in memory, which goes into ``known``."""
    if data is None:
        return None
    if isinstance(data, (str, os.PathLike)):
        return place(data)
    if is_table(data):
        columns = _read(data, name, asked)
        known[name] = (picked(data, name, columns)[0], columns)
    else:
        known[name] = named_rows(data, name)
    return name


def _regions(value: Any) -> Any:
    """A column, or how many regions to make."""
    if value is None or isinstance(value, str):
        return value
    if not is_name(value):
        raise ArrayTypeError(f"regions: expected a column or a whole number, got {value!r}")
    return whole(value, "regions")


def _question(asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The question as JSON, and the catalogues in memory by name."""
    for names, checked in (
        (("edges", "range", "pi", "box"), finites),
        (("bins", "mu", "wedges", "samples", "seed"), whole),
        (("multipoles",), wholes),
        (("columns",), names_of),
        (("sky", "log"), truth),
    ):
        asked |= {name: checked(asked[name], name) for name in names if asked[name] is not None}
    asked["regions"] = _regions(asked["regions"])
    if asked["weights"] is not None:
        asked["weights"] = str(asked["weights"])
    if asked["pip"] is not None:
        if not isinstance(asked["pip"], Mapping) or "columns" not in asked["pip"]:
            raise ArrayTypeError(f"pip: expected columns and realisations, got {asked['pip']!r}\n  try: pip={{'columns': ['bits'], 'realisations': 64}}")
        asked["pip"] = {**asked["pip"], "columns": names_of(asked["pip"]["columns"], "pip['columns']")}
    if asked["cut"] is not None:
        formula, *ends = asked["cut"]
        asked["cut"] = {"value": formula, "range": finites(ends, "cut")}
    if asked["upweights"] is not None:
        asked["upweights"] = place(asked["upweights"])
    known: dict[str, Any] = {}
    for name in ("data", "data2", "randoms", "randoms2", "shifted"):
        asked[name] = _catalogue(asked[name], name, asked, known)
    return as_json(asked), known


def paircount(
    data: Any,
    edges: Any = None,
    *,
    data2: Any = None,
    randoms: Any = None,
    randoms2: Any = None,
    shifted: Any = None,
    columns: Sequence[str | int] | None = None,
    sky: bool = False,
    separation: str = "r",
    range: tuple[float, float] | None = None,
    bins: int | None = None,
    log: bool = False,
    pi: tuple[float, int] | None = None,
    mu: int | None = None,
    los: str | None = None,
    box: Sequence[float] | None = None,
    weights: str | int | None = None,
    pip: Mapping[str, Any] | None = None,
    upweights: Any = None,
    cut: tuple[str, float, float] | None = None,
    estimator: str | None = None,
    multipoles: Sequence[int] | None = None,
    wedges: int | None = None,
    regions: str | int | None = None,
    resample: str | None = None,
    samples: int | None = None,
    seed: int | None = None,
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Counts of pairs of catalogues by separation, and the correlation functions that they make.

    Parameters
    ----------
    data, data2 : path, array, table or mapping
        A catalogue, and a second one for pairs of one with the other. Files are CSV, TSV, NPY, NPZ, Parquet, Arrow or FITS; in
        memory a catalogue is an n × d array, a table with columns, or a mapping such as ``{"x": x, "y": y, "z": z, "w": w}``.
    edges : sequence, optional
        Edges of the first axis; a bin has its lower edge and not its upper one. Or ``range``, ``bins`` (by default 20) and ``log``.
    randoms, randoms2, shifted
        Points without structure, those of ``data2`` (by default the same), and those that were moved with the data.
    columns, sky
        The columns of positions, by default x, y, z. ``sky=True``: right ascension, declination (degrees) and a distance.
    separation : {"r", "rppi", "smu", "theta"}
        What pairs are binned by. ``pi=(last, bins)`` and ``mu`` (bins from 0 to 1, 100 by default) are the second axes; ``theta`` is in degrees.
    los : {"z", "midpoint", "first", "bisector"}
        The line of sight; by default the first.
    box : three lengths, optional
        A periodic box. Without randoms it gives their number of pairs.
    weights : column, optional
        A pair weighs the product.
    pip : mapping, optional
        ``{"columns": [...], "realisations": n, "offset": 0, "none": 0}``: pairs of data weigh
        ``n / (offset + popcount(a & b))``.
    upweights : path, optional
        A table of degrees and weights for pairs of data, linear in between.
    cut : (formula, lo, hi), optional
        Only pairs whose second value is in this range: ``("abs(x.z - y.z)", 0, 0.1)``.
    estimator : {"natural", "landy-szalay", "davis-peebles", "hamilton"}, optional
        By default Landy and Szalay's with randoms, the natural one in a box.
    multipoles, wedges
        Of (s, μ): by default the multipoles 0, 2 and 4, and no wedges.
    regions : column or int, optional
        Regions for errors, or how many to make. Errors are those of a jackknife; ``resample="bootstrap"`` draws
        ``samples`` (100) of them with ``seed`` (1).
    save, overwrite, explain
        Files for the answer: a picture (``.svg``, ``.png``), a page (``.html``), columns (``.csv``, ``.tsv``, ``.npz``, ``.parquet``); replace them; return the
        plans as text, and count nothing.

    Returns
    -------
    PairCounts
        Counts are exact, and sums of weights too: the same for any threads and devices. Every pair counts from both sides.

    Raises
    ------
    ValueError
        For angles out of range, weights below 0, regions without points, separations beyond half of the box.

    Source: ``crates/zipfold/src/paircount.rs`` says how pairs are counted.

    >>> import zipfold as zf
    >>> points = {"x": [0.0, 9.5, 0.0], "y": [0.0, 0.0, 3.0], "z": [0.0, 0.0, 0.0]}
    >>> zf.paircount(points, [0.1, 1, 4], box=[10, 10, 10]).terms["DD"].counts
    array([2, 4], dtype=uint64)
    """
    asked = dict(locals())
    check_how(asked.pop("how"), paircount)
    save, overwrite, explain = (asked.pop(name) for name in ("save", "overwrite", "explain"))
    text, known = _question(asked)
    if explain:
        return _zipfold.explain_paircount(text, known, given(**how))
    answer = _zipfold.paircount(text, known, given(**how), output_paths(save), overwrite)
    terms = {name: Term(**term) for name, term in answer.pop("terms").items()}
    return reported(PairCounts, answer, terms=terms)

"""Radial distribution functions of trajectories."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _zipfold
from .arrays import as_json, finite, finites, truth, whole
from .errors import RequestError
from .remote import place
from .results import Reported, Same, _need, reported
from .settings import check_apart, check_how, given, output_paths

__all__ = ["Curve", "Factor", "Radial", "Scattering", "rdf"]


@dataclasses.dataclass(frozen=True, eq=False)
class Curve(Same):
    """The function between two sets of ``atoms``, called ``names``: ``g``, the running coordination number ``n``, and the
    ordered pairs of all frames, ``counts``, by bin."""

    names: tuple[str, str]
    atoms: tuple[int, int]
    g: np.ndarray
    n: np.ndarray
    counts: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Radial(Reported):
    """Radial distribution functions: ``r``, the ends ``low`` and ``high`` of each bin, and ``curves``, in ``unit``.

    ``g``, ``n`` and ``counts`` are those of the first curve. ``partials`` gives several; they are found by the names of
    their sets: ``result["O", "H"]``.
    """

    r: np.ndarray
    low: np.ndarray
    high: np.ndarray
    curves: list[Curve]
    frames: int
    pairs: int
    unit: str

    @property
    def g(self) -> np.ndarray:
        """The radial distribution function of the first curve."""
        return self.curves[0].g

    @property
    def n(self) -> np.ndarray:
        """The running coordination number of the first curve."""
        return self.curves[0].n

    @property
    def counts(self) -> np.ndarray:
        """The ordered pairs of the first curve."""
        return self.curves[0].counts

    def __iter__(self) -> Iterator[Curve]:
        return iter(self.curves)

    def __getitem__(self, names: tuple[str, str]) -> Curve:
        for curve in self.curves:
            if curve.names == names:
                return curve
        have = ", ".join(repr(curve.names) for curve in self.curves)
        raise KeyError(f"expected one of {have}, got {names!r}")

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws g(r) on matplotlib axes, n(r) of a single curve on a second axis, and returns the axes."""
        ax = ax if ax is not None else _need("matplotlib.pyplot").gca()
        for curve in self.curves:
            ax.plot(self.r, curve.g, **({"label": " – ".join(curve.names)} | style))
        ax.set(xlabel=f"r / {self.unit}", ylabel="g(r)", ylim=(0, None))
        if len(self.curves) == 1:
            right = ax.twinx()
            right.plot(self.high, self.n, color="0.5", linewidth=1)
            right.set(ylabel="n(r)", ylim=(0, None))
        else:
            ax.legend()
        return ax


@dataclasses.dataclass(frozen=True, eq=False)
class Factor(Same):
    """The structure factor ``s`` of two sets of ``atoms``, called ``names``, by wave number."""

    names: tuple[str, str]
    atoms: tuple[int, int]
    s: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Scattering(Reported):
    """Structure factors by the formula of Debye at the wave numbers ``k``, in the inverse of ``unit``."""

    k: np.ndarray
    curves: list[Factor]
    frames: int
    pairs: int
    unit: str

    @property
    def s(self) -> np.ndarray:
        """The structure factor of the first curve."""
        return self.curves[0].s


def _path(value: Any) -> str | None:
    return None if value is None else place(value)


def rdf(
    trajectory: Any,
    topology: Any = None,
    *,
    select: str = "all",
    to: str | None = None,
    partials: str | None = None,
    range: tuple[float, float] | None = None,
    bins: int | None = None,
    exclude: str | None = None,
    bonds: Any = None,
    frames: str | None = None,
    flat: bool = False,
    convention: str | None = None,
    unit: str | None = None,
    box: Sequence[float] | None = None,
    density: float | None = None,
    debye: tuple[float, float, int] | None = None,
    save: Any = (),
    overwrite: bool = False,
    explain: bool = False,
    **how: Any,
) -> Any:
    """Radial distribution functions of a trajectory, frame by frame.

    Parameters
    ----------
    trajectory : path
        XYZ, GRO, PDB, DCD or XTC.
    topology : path, optional
        PDB, GRO or XYZ with the same atoms, where the trajectory does not name them.
    select, to : str
        Atoms that distances are from and to, such as ``"resname SOL and name OW"``, ``"element O N"``, ``"index 0-99"``,
        ``"not (chain A or resid 5-9)"``; ``to`` is ``select`` by default.
    partials : {"element", "name", "residue"}, optional
        All pairs of kinds of the selected atoms in one run.
    range, bins
        The first and the last edge (by default 0 and nine tenths of what minimum images allow), and the number of bins (100 by default).
    exclude : {"residue", "molecule", "bonds"}, optional
        Pairs that are left out. ``bonds`` is a table of two columns of indices from 0; CONECT of a PDB serves too.
    frames : str, optional
        ``"first:end:step"`` from 0 on, the end not included.
    flat, explain : bool
        Distances in the plane of x and y; return the plan as text, and count nothing.
    convention : {"plain", "gromacs", "mdanalysis", "freud", "cpptraj"}
        Whose rules of bins, pairs and normalisation; by default the first.
    unit : {"A", "nm"}, optional
        By default that of the file: nm of GRO and XTC, Å of the others.
    box, density : 3, 6 or 9 numbers, and a number, optional
        A box for all frames in place of theirs; the density of the atoms of ``to``, for frames without a box.
    debye : (first, last, count), optional
        Structure factors at these wave numbers in place of g(r).
    save, overwrite : path or sequence of paths, and bool
        Files for the answer: a picture (``.svg``, ``.png``), a page (``.html``), columns (``.csv``, ``.tsv``, ``.npz``, ``.parquet``); replace them.

    Returns
    -------
    Radial, or Scattering
        ``counts`` are exact: the same for any threads and devices.

    Raises
    ------
    ValueError
        For a damaged file, an empty selection, a range beyond minimum images (with the largest that is safe).

    Source: ``crates/zipfold/src/distribution.rs`` says how frames are counted.

    >>> import zipfold as zf, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.xyz"
    >>> _ = path.write_text('2\\nLattice="10 0 0 0 10 0 0 0 10"\\nAr 0.5 0 0\\nAr 9.0 0 0\\n')
    >>> zf.rdf(path, range=(0, 5), bins=5).counts
    array([0, 2, 0, 0, 0], dtype=uint64)
    """
    check_how(how, rdf)
    question = {
        "trajectory": _path(trajectory),
        "topology": _path(topology),
        "select": select,
        "to": to,
        "partials": partials,
        "range": None if range is None else finites(range, "range"),
        "bins": None if bins is None else whole(bins, "bins"),
        "exclude": None if exclude == "none" else exclude,
        "bonds": _path(bonds),
        "frames": frames,
        "flat": truth(flat, "flat"),
        "convention": convention,
        "unit": unit,
        "box": None if box is None else finites(box, "box"),
        "density": None if density is None else finite(density, "density"),
        "debye": None if debye is None else finites(debye, "debye"),
    }
    check_apart(question, ("range", "bins"), "debye")
    if bonds is not None and exclude not in ("molecule", "bonds"):
        raise RequestError(f"bonds: expected exclude='molecule' or 'bonds', got {exclude!r}\n  try: exclude='bonds', or leave bonds out")
    text = as_json(question)
    if explain:
        return _zipfold.explain_rdf(text, given(**how))
    answer = _zipfold.rdf(text, given(**how), output_paths(save), overwrite)
    return _functions(answer) if debye is None else _factors(answer)


def _functions(answer: dict[str, Any]) -> Radial:
    curves = [Curve(tuple(one.pop("names")), tuple(one.pop("atoms")), **one) for one in answer.pop("curves")]
    return reported(Radial, answer, curves=curves)


def _factors(answer: dict[str, Any]) -> Scattering:
    curves = [Factor(tuple(one.pop("names")), tuple(one.pop("atoms")), **one) for one in answer.pop("curves")]
    return reported(Scattering, answer, curves=curves)

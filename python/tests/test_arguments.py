"""Arguments of jobs: numbers of NumPy are numbers, other types are refused by name, and none is left unread."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import zipfold as zf

RANDOM = np.random.default_rng(8)
P = RANDOM.random((60, 3))
R = RANDOM.random((80, 3))
EDGES = [0.05, 0.2, 0.4]
BITS = {"x": P[:, 0], "y": P[:, 1], "z": P[:, 2], "b": np.arange(60)}
SMU: dict[str, Any] = {"separation": "smu", "randoms": R, "mu": 4}


@pytest.fixture
def trajectory(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "t.xyz"
    path.write_text('3\nLattice="10 0 0 0 10 0 0 0 10"\nAr 0.5 0 0\nAr 9.0 0 0\nAr 4 4 4\n')
    return path


#: A call with numbers of Python, and those of NumPy in their place.
NUMPY: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "regions": (lambda **a: zf.paircount(P, EDGES, randoms=R, **a), [{"regions": 4}, {"regions": np.int64(4)}]),
    "multipoles": (lambda **a: zf.paircount(P, EDGES, **SMU, **a), [{"multipoles": [0, 2]}, {"multipoles": np.array([0, 2])}, {"multipoles": (np.int8(0), 2)}]),
    "log": (lambda **a: zf.paircount(P, range=(0.1, 0.5), bins=3, **a), [{"log": True}, {"log": np.True_}]),
    "range": (lambda **a: zf.paircount(P, bins=np.int8(3), **a), [{"range": (0.25, 0.5)}, {"range": np.float32([0.25, 0.5])}]),
    "sky": (lambda **a: zf.paircount(P[:, :2], EDGES, separation="theta", **a), [{"sky": True}, {"sky": np.True_}]),
    "pip": (lambda **a: zf.paircount(BITS, EDGES, **a), [{"pip": {"columns": ["b"], "realisations": 6, "none": 1}},
                                                         {"pip": {"columns": np.array(["b"]), "realisations": np.int64(6), "none": np.float32(1)}}]),
    "cut": (lambda **a: zf.paircount(BITS, EDGES, **a), [{"cut": ("abs(x.z - y.z)", 0, 0.5)}, {"cut": ("abs(x.z - y.z)", np.int64(0), np.float64(0.5))}]),
    "transpose": (lambda **a: zf.network(P, **a), [{"transpose": True}, {"transpose": np.True_}]),
    "network": (lambda **a: zf.network(P, transpose=True, **a), [{"threshold": 0, "top": 2}, {"threshold": np.float32(0), "top": np.int64(2)}]),
    "cumulative": (lambda **a: zf.cooccurrence(P, P[:, 0] > 0.5, max=1, **a), [{"cumulative": True}, {"cumulative": np.True_}]),
    "window": (lambda **a: zf.ripley(P, max=0.1, **a), [{"window": [0, 1] * 3}, {"window": np.array([0, 1] * 3)}]),
    "metric": (lambda **a: zf.silhouette(P, P[:, 0] > 0.5, metric="minkowski", **a), [{"p": 3}, {"p": np.int64(3)}]),
    "azimuth": (lambda **a: zf.variogram(P, P[:, 0], lags=np.int64(3), **a), [{"azimuth": [0, 90]}, {"azimuth": np.array([0, 90])}]),
}  # fmt: skip


@pytest.mark.parametrize(("call", "several"), NUMPY.values(), ids=NUMPY)
def test_numbers_of_numpy_are_numbers(call: Any, several: list[dict[str, Any]]) -> None:
    first = call(**several[0])
    assert all(call(**one) == first for one in several[1:])


def test_truth_values_of_numpy_in_rdf(trajectory: pathlib.Path) -> None:
    how: dict[str, Any] = {"range": (0, 3), "bins": np.int64(3)}
    assert zf.rdf(trajectory, flat=np.True_, **how) == zf.rdf(trajectory, flat=True, **how)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "multipoles": (lambda: zf.paircount(P, EDGES, multipoles=2), TypeError, "multipoles: expected several whole numbers, got 2\n  try: multipoles=\\[2\\]"),
    "regions": (lambda: zf.paircount(P, EDGES, regions=4.0), TypeError, "regions: expected a column or a whole number, got 4.0"),
    "regions of truth": (lambda: zf.paircount(P, EDGES, regions=True), TypeError, "regions: expected a column or a whole number, got True"),
    "sky": (lambda: zf.paircount(P, EDGES, sky="no"), TypeError, "sky: expected True or False, got 'no'"),
    "log": (lambda: zf.paircount(P, EDGES, log=2), TypeError, "log: expected True or False, got 2"),
    "columns": (lambda: zf.paircount(BITS, EDGES, columns="xyz"), TypeError, "columns: expected several names, got 'xyz'"),
    "unknown column": (lambda: zf.paircount(BITS, EDGES, columns=["x", "q"]), ValueError, r"expected a column of the table, got 'q' \(columns: x, y, z, b\)"),
    "pip": (lambda: zf.paircount(BITS, EDGES, pip="b"), TypeError, "pip: expected columns and realisations, got 'b'"),
    "edges": (lambda: zf.paircount(P, 3), TypeError, "edges: expected several numbers, got 3"),
    "estimator": (lambda: zf.paircount(P, EDGES, estimator=object()), TypeError, "estimator: expected text, numbers or truth values"),
    "crossmatch sky": (lambda: zf.crossmatch(BITS, BITS, 1, sky="no"), TypeError, "sky: expected True or False"),
    "cumulative": (lambda: zf.cooccurrence(P, P[:, 0] > 0.5, cumulative=1), TypeError, "cumulative: expected True or False, got 1"),
    "single": (lambda: zf.correlogram(P[:, 0], single="no"), TypeError, "single: expected True or False"),
    "transpose": (lambda: zf.network(P, transpose="T"), TypeError, "transpose: expected True or False"),
    "network columns": (lambda: zf.network(P, columns=["a"]), ValueError, "columns: expected a table or a file, got an array"),
    "network column": (lambda: zf.network(pd.DataFrame(P), columns=["q"]), ValueError, "expected a column of the table, got 'q'"),
    "order": (lambda: zf.network(P, order=3), ValueError, "order: expected measure='mi', got 'pearson'\n  try: measure='mi', or leave order out"),
    "bins": (lambda: zf.network(P, bins=10), ValueError, "bins: expected measure='mi'"),
    "seed": (lambda: zf.network(P, seed=1), ValueError, "seed: expected permutations too, got seed=1 alone"),
    "sign": (lambda: zf.network(P, sign="unsigned"), ValueError, "sign: expected power too"),
    "ids": (lambda: zf.network(P, ids="gene"), ValueError, "ids: expected a file, got a table in memory"),
    "names": (lambda: zf.network("no.csv", names=["a"]), ValueError, "names: expected a table in memory, got a file"),
    "join columns": (lambda: zf.join(BITS, BITS, "x.x < y.x", columns=["x"]), ValueError, "columns: expected nearest too"),
    "ripley seed": (lambda: zf.ripley(P, seed=1, max=0.1), ValueError, "seed"),
    "ripley null": (lambda: zf.ripley(P, null="points", max=0.1), ValueError, "null"),
    "rdf range": (lambda: zf.rdf("no.xyz", debye=(1, 2, 2), range=(0, 3)), ValueError, "range: expected debye alone"),
    "rdf bins": (lambda: zf.rdf("no.xyz", debye=(1, 2, 2), bins=100), ValueError, "bins: expected debye alone"),
    "rdf bonds": (lambda: zf.rdf("no.xyz", bonds="no.csv"), ValueError, "bonds: expected exclude='molecule' or 'bonds', got None"),
    "rdf bonds of residues": (lambda: zf.rdf("no.xyz", bonds="no.csv", exclude="residue"), ValueError, "bonds: expected exclude="),
    "rdf flat": (lambda: zf.rdf("no.xyz", flat=1), TypeError, "flat: expected True or False"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "told"), REFUSED.values(), ids=REFUSED)
def test_arguments_that_mean_nothing_are_refused_by_name(call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as caught:
        call()
    assert isinstance(caught.value, zf.ZipfoldError)


def test_columns_of_a_network_are_chosen_in_memory_as_in_a_file(tmp_path: pathlib.Path) -> None:
    frame = pd.DataFrame(P, columns=list("abc"))
    frame.to_csv(tmp_path / "p.csv", index=False)
    for columns in (["a", "b"], ["c", "a"], [2, 0]):
        file, table = (zf.network(one, transpose=True, columns=columns, threshold=0) for one in (tmp_path / "p.csv", frame))
        assert file.names == table.names
        np.testing.assert_array_equal(file.values, table.values)
    assert zf.network(frame, columns=["a", "c", "b"]).i.tolist() == zf.network(frame).i.tolist()


def test_curves_that_there_are_not_are_key_errors(trajectory: pathlib.Path) -> None:
    found = {
        "ripley": zf.ripley(P[:, :2], by=["a", "b"] * 30, max=0.1),
        "rdf": zf.rdf(trajectory, partials="element", range=(0, 3), bins=3),
        "variogram": zf.variogram(P, P[:, 0], lags=3).directions[0],
    }
    for answer in found.values():
        for name in ("ab", "q", ("q", "q"), 5, ()):
            with pytest.raises(KeyError, match="expected"):
                answer[name]
    assert found["ripley"]["a", "b"].kinds == (0, 1)

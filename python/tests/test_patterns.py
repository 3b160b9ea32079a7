"""Ripley's functions, co-occurrence and correlograms, next to double loops in NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import zipfold as zf

RANDOM = np.random.default_rng(11)
POINTS = RANDOM.random((300, 2)) * [10, 6]
KINDS = np.array(["b", "a", "c"])[RANDOM.integers(0, 3, 300)]
WINDOW = [0, 10, 0, 6]
TABLE = pd.DataFrame(POINTS, columns=["x", "y"]).assign(kind=KINDS)


def _apart(points):
    d = np.abs(points[:, None] - points[None])
    r = np.sqrt((d**2).sum(axis=2))
    np.fill_diagonal(r, np.inf)
    return d, r


def test_ripleys_k_is_that_of_a_double_loop():
    d, r = _apart(POINTS)
    weights = {"none": np.ones_like(r), "translation": 60 / ((10 - d[..., 0]) * (6 - d[..., 1]))}
    for correction, weight in weights.items():
        found = zf.ripley(POINTS, window=WINDOW, max=1.5, bins=12, correction=correction)
        k = [60 * weight[r < end].sum() / (300 * 299) for end in found.r]
        np.testing.assert_allclose(found.k, k, rtol=1e-12)
        np.testing.assert_allclose(found.l, np.sqrt(found.k / np.pi), rtol=1e-12)
        np.testing.assert_allclose(found.theory, np.pi * found.r**2, rtol=1e-12)
    gap = np.minimum(np.minimum(POINTS, np.array([10, 6]) - POINTS)[:, 0], np.minimum(POINTS, np.array([10, 6]) - POINTS)[:, 1])
    found = zf.ripley(POINTS, window=WINDOW, max=1.5, bins=12, correction="border")
    k = [60 / 300 * (r[gap >= end] < end).sum() / (gap >= end).sum() for end in found.r]
    np.testing.assert_allclose(found.k, k, rtol=1e-12)


def test_kinds_are_found_by_name_in_tables_arrays_and_files(tmp_path):
    _, r = _apart(POINTS)
    TABLE.to_csv(tmp_path / "cells.csv", index=False)
    asked = {"window": WINDOW, "max": 1, "bins": 4, "correction": "none"}
    found = zf.ripley(TABLE, by="kind", **asked)
    for other in (zf.ripley(POINTS, by=KINDS, **asked), zf.ripley(tmp_path / "cells.csv", by="kind", **asked)):
        assert other.kinds == ["a", "b", "c"]
        for one, two in zip(found.curves, other.curves, strict=True):
            np.testing.assert_array_equal(one.k, two.k)
    pairs = r[np.ix_(KINDS == "a", KINDS == "c")]
    assert found["a", "c"].counts.sum() == (pairs < 1).sum()
    with pytest.raises(KeyError, match="expected two of 'a', 'b', 'c'"):
        found["a", "d"]
    assert "pruning" in zf.ripley(TABLE, by="kind", explain=True, **asked)


def test_envelopes_are_those_of_their_seed():
    first, again, other = (zf.ripley(POINTS, max=1, bins=5, simulations=9, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.curves[0].k_low, again.curves[0].k_low)
    assert (first.curves[0].k_low != other.curves[0].k_low).any()
    assert (first.curves[0].k_low <= first.curves[0].k_high).all()


def _squidpy(points, kinds, edges):
    """What squidpy's co_occurrence counts since 2024: all pairs up to the end of an interval."""
    _, r = _apart(points)
    names = np.unique(kinds)
    out = np.zeros((len(names), len(names), len(edges) - 1))
    for at, end in enumerate(edges[1:]):
        near = r <= end
        counts = np.array([[near[np.ix_(kinds == a, kinds == b)].sum() for b in names] for a in names])
        share = counts.sum(axis=0) / counts.sum()
        for c in range(len(names)):
            out[:, c, at] = counts[c] / counts[c].sum() / share
    return out


def test_co_occurrence_is_that_of_squidpy():
    edges = np.linspace(0, 3, 7)
    found = zf.cooccurrence(TABLE, "kind", columns=["x", "y"], edges=edges, cumulative=True)
    np.testing.assert_allclose(found.ratios.transpose(1, 0, 2), _squidpy(POINTS, KINDS, edges), rtol=1e-12)
    single = zf.cooccurrence(POINTS, KINDS, edges=edges)
    np.testing.assert_array_equal(single.counts.cumsum(axis=2), found.counts)


def test_correlograms_are_those_of_a_double_loop():
    times = RANDOM.uniform(0, 50, 2000)
    units = RANDOM.integers(3, 7, 2000)
    lag = times[None] - times[:, None]
    np.fill_diagonal(lag, np.inf)
    found = zf.correlogram(times, units, max=0.2, bins=21)
    assert found.units == ["3", "4", "5", "6"]
    for a in range(4):
        for b in range(4):
            pairs = lag[np.ix_(units == 3 + a, units == 3 + b)]
            place = np.searchsorted(found.edges, pairs[np.isfinite(pairs)], side="right")
            counts = np.bincount(place, minlength=23)[1:22]
            np.testing.assert_array_equal(found.counts[a, b], counts)
    rate = zf.correlogram({"time": times, "unit": units}, "unit", max=0.2, bins=21, normalise="rate")
    np.testing.assert_allclose(rate.values, found.counts / (found.spikes[:, None, None] * 0.4 / 21), rtol=1e-9)
    np.testing.assert_allclose(rate.values.mean(axis=2), rate.expected, rtol=0.2)
    alone = zf.correlogram(times, max=0.2, bins=21)
    np.testing.assert_array_equal(alone.counts[0, 0], found.counts.sum(axis=(0, 1)))
    assert "pruning" in zf.correlogram(times, units, explain=True)


def test_answers_are_saved(tmp_path):
    paths = [tmp_path / name for name in ("k.csv", "k.parquet", "k.npz", "k.svg")]
    zf.ripley(POINTS, by=KINDS, bins=3, save=paths)
    assert list(pd.read_csv(paths[0], comment="#").columns) == ["from", "to", "low", "r", "count", "k", "l", "g", "k_random"]
    assert len(pd.read_parquet(paths[1])) == 27
    with pytest.raises(ValueError, match="overwrite=True"):
        zf.cooccurrence(POINTS, KINDS, save=paths[0])
    zf.cooccurrence(POINTS, KINDS, bins=3, save=paths, overwrite=True)
    assert set(pd.read_parquet(paths[1])["kind"]) == {"a", "b", "c"}
    zf.correlogram(POINTS[:, 0], KINDS, bins=3, save=paths, overwrite=True)
    assert len(np.load(paths[2])["count"]) == 27


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: zf.ripley(POINTS, window=[0, 1, 0, 1]), "expected points from 0 to 1 along axis 1"),
        (lambda: zf.ripley(POINTS, window=WINDOW, max=7), "max: expected a largest distance that the translation correction allows"),
        (lambda: zf.ripley(np.full((3, 2), np.nan)), "expected finite positions, got NaN in row 0"),
        (lambda: zf.ripley(POINTS, by=KINDS[:5]), "expected one label for each of 300 rows"),
        (lambda: zf.cooccurrence(POINTS, np.zeros(300)), "expected two kinds or more, got one"),
        (lambda: zf.cooccurrence(POINTS, [None, *KINDS[1:]]), "labels: expected a label, got none in row 0"),
        (lambda: zf.correlogram([0.0, np.inf]), "expected finite times, got inf in row 1"),
        (lambda: zf.correlogram([0.0]), "expected two spikes or more, got 1"),
        (lambda: zf.correlogram(POINTS), "times: expected one time for each spike"),
        (lambda: zf.correlogram([0.0, 1.0], time="t"), "time: expected a table with this column, got an array of times"),
        (lambda: zf.correlogram([0.0, 1.0], max=0), "max: expected a largest lag above 0"),
    ],
)
def test_what_means_nothing_is_refused(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def test_arrays_of_labels_go_with_columns_of_a_table() -> None:
    rng = np.random.default_rng(5)
    places, kinds = rng.random((60, 2)), rng.integers(0, 2, 60)
    table = {"w": rng.random(60), "x": places[:, 0], "y": places[:, 1]}
    wanted = zf.ripley(places, by=kinds, bins=4)
    for columns in (["x", "y"], None):
        assert zf.ripley(table, columns=columns, by=kinds, bins=4) == wanted
        got = zf.cooccurrence(table, kinds, columns=columns, bins=4, max=0.5)
        assert got == zf.cooccurrence(places, kinds, bins=4, max=0.5)
        lags = zf.variogram(table, table["w"], columns=columns, lags=4)
        assert np.array_equal(lags.edges, zf.variogram(places, table["w"], lags=4).edges)
    with pytest.raises(zf.RequestError, match="columns: expected a table"):
        zf.ripley(places, columns=["x", "y"], bins=4)
    with pytest.raises(zf.InputError, match="columns: expected columns of the table, got 'q'"):
        zf.ripley(table, columns=["q", "y"], by=kinds, bins=4)


def test_numbers_that_are_none_are_refused_by_name() -> None:
    times = [0.0, 1.0, 2.0]
    for asked in (
        lambda: zf.ripley(POINTS, max=np.nan),
        lambda: zf.cooccurrence(POINTS, KINDS, max=np.inf),
        lambda: zf.correlogram(times, max=np.nan),
    ):
        with pytest.raises(zf.RequestError, match="max: expected a finite number"):
            asked()
    with pytest.raises(zf.RequestError, match="window: expected a finite number"):
        zf.ripley(POINTS, window=[0, np.nan, 0, 6])
    with pytest.raises(zf.RequestError, match="edges: expected a finite number"):
        zf.cooccurrence(POINTS, KINDS, edges=[0, np.nan])


DOORS = [
    (lambda: zf.ripley(POINTS, bins=-2), "bins: expected a whole number from 0 to"),
    (lambda: zf.ripley(POINTS, seed=3), "simulations: expected simulations with seed, got none"),
    (lambda: zf.ripley(POINTS, null="points"), "simulations: expected simulations with null, got none"),
    (lambda: zf.ripley(POINTS, correction="edge"), "correction: expected none . border . translation . isotropic . periodic, got 'edge'"),
    (lambda: zf.cooccurrence(POINTS, KINDS, edges=[0, 1], bins=3), "edges: expected edges alone, got bins too"),
    (lambda: zf.cooccurrence(POINTS, KINDS, edges=[0, 1], max=3), "edges: expected edges alone, got max too"),
    (lambda: zf.cooccurrence(POINTS * 1e200, KINDS), "expected positions whose squared distances are finite"),
    (lambda: zf.correlogram([0.0, 1.0], normalise="hertz"), "normalise: expected count . rate . probability, got 'hertz'"),
    (lambda: zf.correlogram([0.0, 1.0], ["a", "b"], single=True), "units: expected one unit or a column of units, got single=True too"),
    (lambda: zf.variogram(POINTS, POINTS[:, 0], edges=[0, 1], lags=3), "edges: expected edges alone, got lags too"),
    (lambda: zf.paircount(POINTS, edges=[0, 1], bins=3), "edges: expected edges alone, got bins too"),
    (lambda: zf.paircount(POINTS, edges=[0, 1], log=True), "edges: expected edges alone, got log too"),
    (lambda: zf.variogram(POINTS, POINTS[:, 0], tolerance=30.0), "azimuth: expected a direction with its tolerance"),
    (lambda: zf.variogram(POINTS, POINTS[:, 0], fit_weights="equal"), "fit_weights: expected models whose fit has these weights"),
    (lambda: zf.variogram(POINTS, POINTS[:, 0] * 1e200), "expected values whose squared differences have a finite sum"),
]


@pytest.mark.parametrize(("call", "told"), DOORS)
def test_what_has_no_use_is_refused_by_its_name(call, told):
    with pytest.raises(ValueError, match=told):
        call()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: zf.ripley(POINTS, bins=1.5), "bins: expected a whole number, got 1.5"),
        (lambda: zf.cooccurrence(POINTS, ["a", 1] * 150), "labels: expected labels that are all text or all numbers, got int, str"),
        (lambda: zf.cooccurrence(POINTS, np.array(["a", 1] * 150, dtype=object)), "all text or all numbers"),
        (lambda: zf.cooccurrence(POINTS, KINDS, columns="xy"), "columns: expected several names, got 'xy'"),
        (lambda: zf.cooccurrence(POINTS, KINDS, edges=3), "edges: expected several numbers, got 3"),
    ],
)
def test_what_is_of_another_type_is_refused_by_its_name(call, told):
    with pytest.raises(zf.ArrayTypeError, match=told):
        call()


def test_labels_that_are_numbers_are_those_of_a_file(tmp_path):
    units = RANDOM.integers(8, 12, 300)
    table = pd.DataFrame({"time": POINTS[:, 0], "unit": units})
    table.to_csv(tmp_path / "spikes.csv", index=False)
    wanted = ["8", "9", "10", "11"]
    for times, labels in (
        (POINTS[:, 0], units),
        (POINTS[:, 0], units.astype(float)),
        (POINTS[:, 0], units.tolist()),
        (POINTS[:, 0], units.astype(object)),
        (table, None),
        (tmp_path / "spikes.csv", None),
    ):
        found = zf.correlogram(times, labels, max=0.5, bins=3)
        assert found.units == wanted
        assert found == zf.correlogram(table, "unit", max=0.5, bins=3)
    assert zf.correlogram(table, single=True, max=0.5, bins=3) == zf.correlogram(POINTS[:, 0], max=0.5, bins=3)


def test_labels_that_are_truth_values_are_the_words_of_a_file(tmp_path):
    units = RANDOM.random(300) < 0.5
    pd.DataFrame({"time": POINTS[:, 0], "unit": units}).to_csv(tmp_path / "spikes.csv", index=False)
    found = zf.correlogram(tmp_path / "spikes.csv", max=0.5, bins=3)
    assert found.units == ["False", "True"]
    for labels in (units, units.tolist(), units.astype(object), list(units)):
        assert zf.correlogram(POINTS[:, 0], labels, max=0.5, bins=3) == found
    with pytest.raises(zf.ArrayTypeError, match="all text or all numbers, got bool, int"):
        zf.correlogram(POINTS[:, 0], [True, 2] * 150)


def test_a_file_without_units_is_refused_with_the_argument_for_one_unit(tmp_path):
    pd.DataFrame({"time": POINTS[:, 0]}).to_csv(tmp_path / "spikes.csv", index=False)
    for times in (tmp_path / "spikes.csv", pd.DataFrame({"time": POINTS[:, 0]})):
        with pytest.raises(ValueError, match="try: single=True where all spikes are of one unit"):
            zf.correlogram(times, max=0.5, bins=3)
        assert zf.correlogram(times, single=True, max=0.5, bins=3).units == ["all"]


def test_a_direction_as_it_is_by_default_is_no_error():
    assert zf.variogram(POINTS, POINTS[:, 0], dip=0, tolerance=22.5) == zf.variogram(POINTS, POINTS[:, 0])


def test_answers_write_pages(tmp_path):
    import pickle

    found = zf.ripley(POINTS, by=KINDS, bins=3)
    found.report(tmp_path / "k.html")
    zf.ripley(POINTS, by=KINDS, bins=3, save=tmp_path / "same.html")
    page = (tmp_path / "k.html").read_text()
    assert page == (tmp_path / "same.html").read_text()
    assert "<svg" in page and "http" not in page and "by = &quot;kind&quot;" in page.replace('"', "&quot;")
    with pytest.raises(ValueError, match="overwrite=True"):
        found.report(tmp_path / "k.html")
    with pytest.raises(ValueError, match="expected a name that ends in .html"):
        found.report(tmp_path / "k.pdf")
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found
    with pytest.raises(ValueError, match="got a copy"):
        copy.report(tmp_path / "copy.html")
    for at, answer in enumerate(
        (
            zf.cooccurrence(POINTS, KINDS, bins=3),
            zf.correlogram(POINTS[:, 0], KINDS, bins=3),
            zf.variogram(POINTS, POINTS[:, 0], lags=3),
            zf.silhouette(POINTS, KINDS),
            zf.network(RANDOM.random((6, 9))),
            zf.paircount({"x": POINTS[:, 0], "y": POINTS[:, 1], "z": POINTS[:, 0]}, [0.1, 1, 2]),
        )
    ):
        answer.report(tmp_path / f"{at}.html")
        assert "<svg" in (tmp_path / f"{at}.html").read_text()

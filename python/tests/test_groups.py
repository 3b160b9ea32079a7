"""Groups of rows, pairs within keys, and values per bin, against loops in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import zipfold as zf

N = 60


@pytest.fixture
def atoms():
    random = np.random.default_rng(3)
    kinds = np.array(["O", "H", "C"], object)[random.integers(0, 3, N)]
    return random.random((N, 2)), kinds, random.integers(0, 7, N), random.normal(size=N)


def between(x):
    return np.sqrt(((x[:, None] - x) ** 2).sum(-1))


def test_histograms_by_groups_are_those_of_their_rows(atoms):
    x, kinds, _, _ = atoms
    edges = np.linspace(0, 1.2, 7)
    found = zf.pair_histogram(x, bins=edges, by=kinds)
    assert found.groups == ["C", "H", "O"]
    distances = between(x)
    for a, b in itertools.product(range(3), repeat=2):
        rows, others = (np.flatnonzero(kinds == found.groups[g]) for g in (a, b))
        values = distances[np.ix_(rows, others)]
        values = values[np.triu_indices(len(rows), 1)] if a == b else values.ravel()
        assert (found.counts[a, b] == np.histogram(values, edges)[0]).all()
        assert (found.between(found.groups[a], found.groups[b]).counts == found.counts[a, b]).all()
    upper = np.triu_indices(3)
    assert found.counts[upper].sum() + found.under + found.over == N * (N - 1) // 2


def test_results_by_row_have_a_place_for_each_group(atoms):
    x, kinds, _, _ = atoms
    question = zf.pairs(x, attributes={"kind": kinds}).by("kind").domain("ordered")
    distances = between(x)
    sums, names = question.sum().run(), question.sum().outcome().groups
    near = question.nearest(2).run()
    assert names == near.groups == ["C", "H", "O"]
    assert near.indices.shape == (N, 3, 2)
    for g, i in itertools.product(range(3), range(N)):
        others = np.flatnonzero((kinds == names[g]) & (np.arange(N) != i))
        assert np.isclose(sums[i, g], distances[i, others].sum(), rtol=1e-13)
        best = others[np.argsort(distances[i, others], kind="stable")[:2]]
        assert (near.indices[i, g] == best).all()
    pytest.importorskip("pandas")
    assert len(near.to_pandas()) == N * 6


def test_pairs_within_keys_are_those_of_equal_or_other_keys(atoms):
    x, kinds, samples, _ = atoms
    question = zf.pairs(x, attributes={"kind": kinds, "sample": samples}).pair("euclidean")
    distances = between(x)
    upper = np.triu(np.ones((N, N), bool), 1)
    same = samples[:, None] == samples
    for condition, kept in (("same:sample", same), ("block:sample", same), ("other:sample", ~same)):
        found = question.within(condition).histogram(4, (0, 1)).run()
        assert (found.counts == np.histogram(distances[upper & kept], 4, (0, 1))[0]).all()
        matches = question.within(condition).join("value < 0.2").run()
        assert list(zip(matches.i, matches.j, strict=True)) == list(zip(*np.nonzero(upper & kept & (distances < 0.2)), strict=True))
    nearest = question.within("other:sample").nearest(1).run()
    masked = np.where(same, np.inf, distances)
    assert (nearest.indices.ravel() == masked.argmin(1)).all()
    by_both = question.by("kind").within("same").histogram(4, (0, 1)).run()
    assert by_both.counts[0, 1].sum() == 0


def test_values_per_bin_are_those_of_a_loop(atoms):
    x, kinds, _, z = atoms
    kept = ("sum", "mean", "variance", "min", "max")
    edges = np.linspace(0, 1, 5)
    values = {"gamma": "(x.z - y.z)^2 / 2", "product": lambda a, b: a.z * b.z}
    found = zf.pair_histogram(x, bins=edges, attributes={"z": z}, values=values, keep=kept, weight="exp(-value)")
    i, j = np.triu_indices(N, 1)
    distances = between(x)[i, j]
    for name, all_values in (("gamma", (z[i] - z[j]) ** 2 / 2), ("product", z[i] * z[j])):
        for at in range(4):
            here = (distances >= edges[at]) & (distances < edges[at + 1])
            wanted = [f(all_values[here]) for f in (np.sum, np.mean, np.var, np.min, np.max)]
            assert np.allclose([found.values[name][key][at] for key in kept], wanted, rtol=1e-12)
            assert np.isclose(found.weights[at], np.exp(-distances[here]).sum(), rtol=1e-12)
    assert list(found.to_pandas()) == ["lo", "hi", "count", "weight"] + [f"{n}.{k}" for n in values for k in kept]
    by = zf.pair_histogram(x, bins=edges, by=kinds, attributes={"z": z}, values={"gamma": values["gamma"]}, keep="sum")
    upper = np.triu_indices(3)
    assert np.allclose(by.values["gamma"]["sum"][upper].sum(0), found.values["gamma"]["sum"], rtol=1e-12)


def test_shards_of_groups_merge(atoms):
    x, kinds, _, _ = atoms
    question = zf.pairs(x, attributes={"kind": kinds}).by("kind").histogram(5, (0, 1))
    parts = [question.run(shard=(i, 3)) for i in range(3)]
    assert zf.merge(question, parts) == question.run()


def test_refusals_name_the_argument(atoms):
    x, kinds, _, _ = atoms
    question = zf.pairs(x, attributes={"kind": kinds}).pair("euclidean")
    with pytest.raises(ValueError, match="by: no column 'kin'"):
        question.by("kin").histogram(4, (0, 1)).run()
    with pytest.raises(ValueError, match="within: expected same"):
        question.within("equal").histogram(4, (0, 1)).run()
    with pytest.raises(ValueError, match="by: expected"):
        question.by("kind").matrix().run()
    with pytest.raises(ValueError, match="keep: expected some of"):
        question.histogram(4, (0, 1), values={"a": "value"}, keep="median")
    with pytest.raises(ValueError, match="weights of rows or a formula"):
        question.histogram(4, (0, 1), weights=np.ones(N), weight="1")
    missing = kinds.copy()
    missing[5] = None
    with pytest.raises(ValueError, match="row 5"):
        zf.pair_histogram(x, bins=4, range=(0, 1), by=missing)
    left = zf.pair_histogram(x, bins=4, range=(0, 2), by=missing, nan="skip")
    assert left.counts[np.triu_indices(3)].sum() == (N - 1) * (N - 2) // 2


def windows():
    n = 300
    random = np.random.default_rng(133)
    times = np.sort(np.round(random.uniform(0, 60, n)))
    apart = np.abs(times[:, None] - times[None, :])
    places = np.arange(n)
    steps = np.abs(places[:, None] - places[None, :])
    before = places[None, :] < places[:, None]
    return random.random((n, 3)), times, {
        "band:0": steps <= 0,
        "band:37": steps <= 37,
        "window:time:0": apart <= 0,
        "window:time:5 and band:40": (apart <= 5) & (steps <= 40),
        "earlier": before,
        "earlier and window:time:7": before & (apart <= 7),
    }


def test_windows_and_earlier_rows_are_those_of_numpy():
    x, times, kept = windows()
    values = np.sqrt(((x[:, None] - x[None, :]) ** 2).sum(axis=2))
    rows = zf.pairs(x, attributes={"time": times}).pair("euclidean").domain("square")
    for condition, mask in kept.items():
        question = rows.within(condition)
        np.testing.assert_allclose(question.sum().run(), np.where(mask, values, 0).sum(axis=1), rtol=1e-12)
        found = question.histogram(4, (0, 2)).run()
        assert found.counts.sum() == mask.sum()
        best = np.where(mask, values, np.inf)
        has = mask.any(axis=1)
        assert (question.reduce("argmin").run()[has] == best.argmin(axis=1)[has]).all()
        parts = [question.sum().run(shard=(i, 3)) for i in range(3)]
        assert (zf.merge(question.sum(), parts) == question.sum().run()).all()


def test_sums_of_single_precision_in_a_band_have_the_same_bits_in_shares():
    x = np.random.default_rng(134).random((3000, 3), np.float32)
    for condition in ("band:1500", "earlier", "earlier and band:700"):
        question = zf.pairs(x).pair("exp(-sum((x - y)^2))").within(condition).sum()
        whole = question.run()
        parts = [question.run(shard=(i, 3)) for i in range(3)]
        assert (zf.merge(question, parts) == whole).all()
        assert (question.run(threads=1) == whole).all()
        double = zf.pairs(x.astype(float)).pair("exp(-sum((x - y)^2))").within(condition).sum().run()
        np.testing.assert_allclose(whole, double, rtol=1e-5)


def test_windows_that_mean_nothing_are_refused():
    x, times, _ = windows()
    rows = zf.pairs(x, attributes={"time": times[::-1]}).pair("euclidean")
    with pytest.raises(ValueError, match="ascending order"):
        rows.within("window:time:3").sum().run()
    with pytest.raises(ValueError, match="within: expected a number of rows"):
        rows.within("band:some").sum().run()
    with pytest.raises(ValueError, match="may leave pairs out"):
        rows.within("band:3").matrix().run()

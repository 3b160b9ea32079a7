"""Listed pairs and batches against NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import zipfold as zf


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(140).random((200, 3))


@pytest.fixture
def listed() -> np.ndarray:
    return np.random.default_rng(141).integers(0, 200, (3000, 2))


def _distances(rows: np.ndarray, listed: np.ndarray) -> np.ndarray:
    return np.linalg.norm(rows[listed[:, 0]] - rows[listed[:, 1]], axis=1)


def test_values_lie_in_the_order_of_the_list(rows: np.ndarray, listed: np.ndarray) -> None:
    wanted = _distances(rows, listed)
    values = zf.pairs(rows, pairs=listed).matrix().run()
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, wanted, rtol=1e-14)
    single = zf.pairs(rows.astype(np.float32), pairs=listed).matrix().run()
    np.testing.assert_allclose(single, wanted, rtol=1e-5)
    other = zf.pairs(rows, rows[:50], pairs=listed % 50).matrix().run()
    np.testing.assert_allclose(other, _distances(rows, listed % 50), rtol=1e-14)


def test_folds_take_the_listed_pairs_alone(rows: np.ndarray, listed: np.ndarray) -> None:
    values = _distances(rows, listed)
    question = zf.pairs(rows, pairs=listed)
    counts, edges = np.histogram(values, 20, (0, 1.5))
    found = question.histogram(20, (0, 1.5)).run()
    assert (found.counts == counts).all() and (found.edges == edges).all()
    assert question.histogram(5).run().counts.sum() == len(listed)
    own, other = listed.T
    for axis, side in ((1, own), (0, other)):
        sums = np.bincount(side, values, 200)
        np.testing.assert_allclose(question.sum(axis).run(), sums, rtol=1e-12)
    np.testing.assert_allclose(question.sum(None).run(), values.sum(), rtol=1e-12)
    both = np.bincount(own, values, 200) + np.bincount(other[own != other], values[own != other], 200)
    np.testing.assert_allclose(question.domain("diagonal").sum().run(), both, rtol=1e-12)
    near = question.join("euclidean(x, y) < 0.1").run()
    assert len(near.i) == (values < 0.1).sum()
    row = int(own[0])
    mine = listed[own == row, 1]
    nearest = mine[np.argsort(values[own == row], kind="stable")][:2]
    assert set(question.nearest(2).run().indices[row]) == set(nearest)


def test_lists_of_any_type_are_taken(rows: np.ndarray) -> None:
    for kind in (np.int32, np.uint16, np.int64, np.uint8):
        values = zf.pairs(rows, pairs=np.array([[1, 2], [3, 3]], kind)).matrix().run()
        assert values.shape == (2,) and values[1] == 0
    for empty in ([], np.empty((0, 2), int)):
        question = zf.pairs(rows, pairs=empty)
        assert question.matrix().run().shape == (0,)
        assert not question.count().run().any()


def test_lists_that_mean_nothing_are_refused(rows: np.ndarray) -> None:
    with pytest.raises(TypeError, match="expected row numbers, got float64"):
        zf.pairs(rows, pairs=[[0.0, 1.0]])
    with pytest.raises(ValueError, match="two columns"):
        zf.pairs(rows, pairs=[[0, 1, 2]])
    with pytest.raises(ValueError, match="expected a row of x from 0 to 199, got 200"):
        zf.pairs(rows, pairs=[[0, 1], [200, 0]]).matrix().run()
    with pytest.raises(ValueError, match="got -1"):
        zf.pairs(rows, pairs=[[0, -1]]).matrix().run()


def test_shards_pickles_and_files_of_lists(rows: np.ndarray, listed: np.ndarray, tmp_path: object) -> None:
    question = zf.pairs(rows, pairs=listed).matrix()
    whole = question.run()
    parts = [question.run(shard=(i, 3)) for i in range(3)]
    assert (zf.merge(question, parts) == whole).all()
    assert (pickle.loads(pickle.dumps(question)).run() == whole).all()
    with pytest.raises(ValueError, match="listed pairs"):
        zf.merge(zf.pairs(rows, pairs=listed[::-1]).matrix(), parts)
    name = f"{tmp_path}/values"
    question.save(f"{name}.npy", f"{name}.csv", f"{name}.svg")
    assert (np.load(f"{name}.npy") == whole).all()
    table = np.loadtxt(f"{name}.csv", delimiter=",", skiprows=1)
    assert (table[:, :2] == listed).all() and (table[:, 2] == whole).all()


def test_batches_are_questions_of_their_own(rows: np.ndarray) -> None:
    frames = np.random.default_rng(142).integers(0, 9, 200)
    question = zf.pairs(rows, attributes={"frame": frames}).batch("frame")
    found = question.histogram(10, (0, 1.5)).run()
    assert found.counts.shape == (9, 10) and found.batches == [str(float(f)).removesuffix(".0") for f in range(9)]
    sums = question.domain("triangle").sum(None).run()
    assert sums.shape == (9,)
    condensed = question.condensed().run()
    start = 0
    for frame in range(9):
        own = zf.pairs(rows[frames == frame])
        assert (found.counts[frame] == own.histogram(10, (0, 1.5)).run().counts).all()
        assert sums[frame] == own.domain("triangle").sum(None).run()
        alone = own.condensed().run()
        assert (condensed[start : start + len(alone)] == alone).all()
        start += len(alone)
        assert (found.of_batch(str(frame)).counts == found.counts[frame]).all()
    assert start == len(condensed)
    best = question.top(1).run()
    assert len(best.i) == 9 and (frames[best.i] == frames[best.j]).all()
    assert (frames[best.i] == np.arange(9)).all()
    nearest = question.nearest(1).run().indices.ravel()
    assert (frames[nearest] == frames).all()
    with pytest.raises(ValueError, match="batches"):
        found.density()
    with pytest.raises(ValueError, match="without batches"):
        zf.pairs(rows).histogram(3).run().of_batch("1")
    with pytest.raises(ValueError, match="groups or batches"):
        question.by("frame").histogram(3).run()

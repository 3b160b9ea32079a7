"""The best pairs of all, against a sort of all values."""

import numpy as np
import pytest

import zipfold as zf


def best(values, pairs, k, largest):
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -values if largest else values))[:k]
    return pairs[order], values[order]


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [1, 50, 10**6])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine"])
def test_the_best_pairs_are_those_of_a_sort(metric, k, largest):
    # On a lattice, so that many values are equal.
    X = np.random.default_rng(3).integers(1, 9, (200, 2)).astype(float)
    values = zf.pdist(X, metric)
    pairs = np.array([(i, j) for i in range(200) for j in range(i + 1, 200)])
    found = zf.pairs(X).pair(metric).top(k, largest=largest).run()
    wanted, expected = best(values, pairs, k, largest)
    np.testing.assert_array_equal(np.column_stack([found.i, found.j]), wanted)
    np.testing.assert_array_equal(found.values, expected)


def test_pairs_of_two_tables_by_a_function_with_another_fold():
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(90, 3))
    top, sums = zf.pairs(X, Y).pair(lambda x, y: abs(x - y).sum()).fold(zf.fold.top(5), zf.fold.sum()).run()
    values = abs(X[:, None] - Y[None]).sum(-1)
    pairs = np.argwhere(np.ones_like(values))
    wanted, expected = best(values.ravel(), pairs, 5, False)
    np.testing.assert_array_equal(np.column_stack([top.i, top.j]), wanted)
    np.testing.assert_allclose(top.values, expected)
    np.testing.assert_allclose(sums, values.sum(1))
    assert list(top.to_pandas().columns) == ["i", "j", "value"]


def test_a_similarity_takes_the_largest():
    X = np.array([[1.0, 0], [0.9, 0.1], [0, 1], [-1, 0]])
    found = zf.pairs(X).pair("linear").top(1).run()
    assert (found.i[0], found.j[0]) == (0, 1)


@pytest.mark.parametrize("k", [0, -1, True, 1.5, "3"])
def test_other_numbers_of_pairs_are_refused(k):
    with pytest.raises(zf.RequestError, match="pairs"):
        zf.pairs(np.eye(3)).top(k)
